"""Measures of a scenario: each is what the library gives when it is asked directly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.privacy import budget, exposure
from peerpressure.recovery import Observation, Prior, recover
from peerpressure.scenario import MEASURES, Experiment, measure, measure_scenario, results, scenario_from, with_fields
from peerpressure.theory import consensus_error

DATA: dict[str, Any] = {
    "network": {"generator": "cycle", "n": 9},
    "noise": {"law": "gaussian", "std": 0.3},
    "run": {"steps": 60, "replicates": 3, "seed": 4},
    "observe": {"methods": ["innovations", "ols"], "prior": {"low": 0.0, "high": 1.0}},
    "privacy": {"sensitivity": 0.5, "delta": 1e-4},
}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return measure(Experiment(scenario_from(DATA), threshold=0.2), [*MEASURES])


def pick(rows: list[dict[str, Any]], name: str, detail: str = "") -> list[float]:
    return [row["value"] for row in rows if row["measure"] == name and row["detail"] == detail]


def test_measures_of_a_run_are_those_of_its_trajectory(rows: list[dict[str, Any]]) -> None:
    model = scenario_from(DATA).model()
    path = pp.simulate(model, 60, 3, seed=4)
    assert path.spread is not None
    assert path.max_distance is not None
    assert pick(rows, "spread") == path.spread[:, -1].tolist()
    assert pick(rows, "max_distance") == path.max_distance[:, -1].tolist()
    np.testing.assert_allclose(pick(rows, "mean"), path.final.public.mean(axis=1), rtol=1e-12)
    first = [float(path.times[np.flatnonzero(spread < 0.2)[0]]) for spread in path.spread]
    assert pick(rows, "time_to_consensus") == first
    near = [float(path.times[np.flatnonzero(distance < 0.2)[0]]) for distance in path.max_distance]
    assert pick(rows, "time_to_v") == near
    assert [row["replicate"] for row in rows if row["measure"] == "spread"] == [0, 1, 2]


def test_measures_without_sampling_are_those_of_the_theory(rows: list[dict[str, Any]]) -> None:
    model = scenario_from(DATA).model()
    assert pick(rows, "exact_error") == [consensus_error(model, 60)]
    assert pick(rows, "verdict", "consensus") == [1.0]
    assert pick(rows, "epsilon") == [budget(model, 60, 0.5, 1e-4).epsilon]
    bits = exposure(model, 60, Observation(), Prior.uniform(0, 1)).table["bits"]
    assert pick(rows, "exposure", "mean") == [bits.mean()]
    assert pick(rows, "exposure", "worst") == [bits.max()]


def test_insiders_are_part_of_the_observer() -> None:
    start = {"start": [0.0] * 9}
    experiment = Experiment(scenario_from(DATA | {"agents": start, "privacy": {"insiders": [0, 4]}}))
    expected = budget(experiment.model, 60, insiders=[0, 4])
    assert experiment.budget.epsilon == expected.epsilon
    shown = results(experiment)["agents"].set_index("agent")["epsilon"]
    assert shown.index[shown.isna()].tolist() == [0, 4]
    assert shown.max() == expected.epsilon
    assert "insider" in experiment.budget.definition.text


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({"privacy": {"insiders": [0, 11]}}, "a label must name an agent"),
        ({"privacy": {"insiders": [*range(9)]}}, "some agent must not be an insider"),
        ({"privacy": {"insiders": [0]}, "time": {"continuous": True}}, "discrete time"),
    ],
)
def test_insiders_that_cannot_be_accounted_for_are_refused(more: dict[str, Any], rule: str) -> None:
    with pytest.raises(pp.errors.PeerPressureError, match=rule):
        scenario_from({name: part for name, part in DATA.items() if name != "observe"} | more)


def test_measures_of_an_onlooker_are_those_of_its_estimates(rows: list[dict[str, Any]]) -> None:
    model = scenario_from(DATA).model()
    path = pp.simulate(model, 60, 3, seed=4)
    for method in ("innovations", "ols"):
        estimate = recover(path, model, method, Observation(), Prior.uniform(0, 1))
        off = estimate.residuals()
        np.testing.assert_allclose(pick(rows, "recovery_error", method), np.sqrt((off**2).mean(axis=1)), rtol=1e-9)
        np.testing.assert_allclose(pick(rows, "recovery_variance", method), off.var(axis=1), rtol=1e-9)
        assert pick(rows, "standard_error", method) == [pytest.approx(math.sqrt(estimate.variance.mean()))]
        assert pick(rows, "identified", method) == [1.0]


@pytest.mark.parametrize(("observe", "method"), [({}, "innovations"), ({"agents": [0, 1, 2]}, "kalman")])
def test_without_a_method_the_one_that_can_work_is_taken(observe: dict[str, Any], method: str) -> None:
    """A partial view was read by the innovations, which need all agents, and failed."""
    estimates = Experiment(scenario_from({**DATA, "observe": observe})).estimates
    assert list(estimates) == [method]


def test_agents_who_never_agree_have_no_time_to_consensus() -> None:
    loud = scenario_from(with_fields(DATA, {"noise.std": 5.0, "pressure.kind": "constant", "pressure.value": 1.0}))
    found = measure(Experiment(loud), ["time_to_consensus", "time_to_v", "verdict"])
    assert all(math.isnan(row["value"]) for row in found[:6])
    assert (found[6]["detail"], found[6]["value"]) == ("disagreement", 0.0)


def test_agents_who_agree_on_another_value_have_a_time_to_consensus_and_none_to_v() -> None:
    fast = scenario_from({**DATA, "pressure": {"formula": "2^t"}, "run": {**DATA["run"], "steps": 200}})
    found = measure(Experiment(fast, threshold=1e-3), ["time_to_consensus", "time_to_v", "verdict"])
    assert not any(math.isnan(row["value"]) for row in found[:3])
    assert all(math.isnan(row["value"]) for row in found[3:6])
    assert found[6]["detail"] == "biased_consensus"


def test_a_unit_sets_fields_and_draws_all_else_from_its_seed() -> None:
    base = {"scenario": DATA, "measures": ["spread"], "threshold": 0.01}
    one = measure_scenario(base | {"noise.std": 0.1}, seed=11)
    assert one == measure_scenario(base | {"noise.std": 0.1}, seed=11)
    assert one != measure_scenario(base | {"noise.std": 0.1}, seed=13)
    direct = scenario_from(with_fields(DATA, {"noise.std": 0.1, "run.seed": 5}))
    assert one == measure(Experiment(direct), ["spread"])
    assert DATA["noise"]["std"] == 0.3


def test_states_are_kept_only_where_a_measure_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = []

    def watched(*args: Any, **options: Any) -> pp.Trajectory:
        kept.append(options["record"].states)
        return pp.simulate(*args, **options)

    monkeypatch.setattr("peerpressure.scenario.experiment.simulate", watched)
    for names in (["spread", "exact_error"], ["recovery_error"]):
        measure_scenario({"scenario": DATA, "measures": names, "threshold": 0.01}, seed=1)
    assert kept == [False, True]


def test_a_field_inside_what_is_no_table_is_refused_by_the_scenario() -> None:
    with pytest.raises(pp.errors.InvalidInputError, match=r"run\.steps"):
        scenario_from(with_fields(DATA, {"run.steps.more": 1}))
