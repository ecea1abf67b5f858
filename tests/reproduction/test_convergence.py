"""The convergence experiment, at a small size, against what is exactly true of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from peerpressure import Linear, StretchedExponential
from peerpressure.errors import InvalidInputError
from peerpressure.reproduction import ConvergenceResult, convergence
from peerpressure.reproduction._convergence import kept_times
from peerpressure.reproduction._page import _agent_share
from peerpressure.reproduction.design import NOISE
from peerpressure.theory import diagnose
from peerpressure.theory.propagation import moments

STEPS = 2_000


@pytest.fixture(scope="module")
def result() -> ConvergenceResult:
    return convergence(seed=3, steps=STEPS, agents=30)


@pytest.fixture(scope="module")
def tables(result: ConvergenceResult) -> dict[str, pd.DataFrame]:
    return result.tables()


def test_all_runs_share_their_start_and_the_right_graphs_and_schedules(result: ConvergenceResult) -> None:
    slow, fast, triangle, cycles = (run.model for run in result.runs)
    for model in (fast, triangle, cycles):
        assert np.array_equal(model.x0, slow.x0)
        assert np.array_equal(model.s, slow.s)
    assert fast.network is slow.network
    assert slow.network.is_bipartite
    assert not cycles.network.is_bipartite
    assert not triangle.network.is_bipartite
    assert triangle.network.edge_count == fast.network.edge_count + 1
    assert triangle.pressure == StretchedExponential()
    assert (slow.pressure, fast.pressure, cycles.pressure) == (
        Linear(),
        StretchedExponential(),
        StretchedExponential(),
    )


def test_opinions_and_stubbornness_have_the_stated_ranges(tables: dict[str, pd.DataFrame]) -> None:
    agents = tables["agents"]
    assert agents["hidden"].between(0, 1).all()
    assert agents["stubbornness"].between(0.5, 1).all()
    assert agents["degree_tree"].sum() == 2 * (30 - 1)
    assert (tables["edges"]["network"] == "tree").sum() == 30 - 1


def test_agent_1_lies_between_the_extremes_and_spread_and_distance_follow_from_them(
    tables: dict[str, pd.DataFrame], result: ConvergenceResult
) -> None:
    paths, v = tables["paths"], result.runs[0].model.consensus_value
    assert (paths["minimum"] <= paths["agent_1"]).all()
    assert (paths["agent_1"] <= paths["maximum"]).all()
    assert (paths["minimum"] <= paths["mean"]).all()
    np.testing.assert_allclose(paths["spread"], paths["maximum"] - paths["minimum"], atol=1e-15)
    np.testing.assert_allclose(
        paths["max_distance"], np.maximum(paths["maximum"] - v, v - paths["minimum"]), atol=1e-15
    )


def test_every_run_begins_at_the_hidden_opinions(tables: dict[str, pd.DataFrame]) -> None:
    start, hidden = tables["paths"].query("time == 0"), tables["agents"]["hidden"]
    assert (start["minimum"] == hidden.min()).all()
    assert (start["maximum"] == hidden.max()).all()
    assert (start["agent_1"] == hidden[0]).all()


def test_expected_extremes_are_those_of_the_exact_mean(
    tables: dict[str, pd.DataFrame], result: ConvergenceResult
) -> None:
    for run in result.runs:
        rows = tables["paths"].query("run == @run.name and time <= 100")
        mean = moments(run.model, 100, times=rows["time"].to_numpy()).mean
        np.testing.assert_allclose(rows["expected_minimum"], mean.min(axis=1), rtol=1e-12)
        np.testing.assert_allclose(rows["expected_maximum"], mean.max(axis=1), rtol=1e-12)


def test_slow_pressure_ends_where_the_exact_law_puts_it(result: ConvergenceResult) -> None:
    run = result.runs[0]
    law = moments(run.model, STEPS, times=[STEPS])
    z = (run.path.final.public[0] - law.mean[0]) / law.std[0]
    # Thirty correlated normal scores: 5 standard errors leave less than 2e-5.
    assert np.abs(z).max() < 5


def test_fast_pressure_ends_at_its_limit(result: ConvergenceResult) -> None:
    for run in (result.runs[1], result.runs[3]):
        law = diagnose(run.model).law
        z = (run.path.final.public[0] - law.at(STEPS)) / law.std
        assert np.abs(z).max() < 5


def test_the_runs_differ_in_kind(tables: dict[str, pd.DataFrame]) -> None:
    summary = tables["summary"].set_index("run")
    assert summary["predicted"].to_dict() == {
        "slow_tree": "consensus",
        "fast_tree": "oscillation",
        "fast_triangle": "biased_consensus",
        "fast_cycles": "biased_consensus",
    }
    # On the tree each agent crosses from one extreme to the other at each step.
    tree = summary.loc["fast_tree"]
    assert tree["spread"] > 1e-4
    assert tree["oscillation"] == pytest.approx(tree["spread"], rel=1e-6)
    cycles = summary.loc["fast_cycles"]
    assert cycles["spread"] < 1e-9
    assert cycles["max_distance"] == pytest.approx(abs(cycles["mean"] - cycles["consensus_value"]))
    assert cycles["max_distance"] > 1e-4


def test_without_noise_the_path_is_the_expected_one() -> None:
    paths = convergence(seed=1, steps=100, agents=20, noise=0.0).tables()["paths"]
    np.testing.assert_allclose(paths["minimum"], paths["expected_minimum"], rtol=1e-13)
    np.testing.assert_allclose(paths["maximum"], paths["expected_maximum"], rtol=1e-13)
    assert NOISE > 0


@pytest.mark.parametrize("steps", [100, 149, 150, 151, 12_345, 10**6])
def test_kept_times_rise_from_0_to_the_end_and_hold_the_last_steps(steps: int) -> None:
    times = kept_times(steps)
    assert (times[0], times[-1]) == (0, steps)
    assert (np.diff(times) > 0).all()
    assert set(range(steps - 16, steps + 1)) <= set(times.tolist())
    assert times.size < 700


def test_too_few_steps_are_refused_with_the_rule() -> None:
    with pytest.raises(InvalidInputError, match="at least 100 steps, got 99"):
        convergence(steps=99)


def test_the_share_that_agent_1_crosses_is_the_least_on_trees_and_the_largest_elsewhere() -> None:
    columns = {"network": ["tree", "tree", "loops", "loops"], "time": 5, "agent_1": [1.0, 2.0] * 2, "spread": 10.0}
    transients = pd.DataFrame(columns)
    assert (_agent_share(transients, "tree", 5), _agent_share(transients, "loops", 5)) == (0.1, 0.2)
