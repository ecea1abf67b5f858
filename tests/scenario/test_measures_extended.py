"""Measures, tables and outputs of opinions that adapt, networks that change and time that flows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import peerpressure as pp
from peerpressure.networks import shortest_window
from peerpressure.privacy import budget, exposure
from peerpressure.recovery import recover
from peerpressure.scenario import Experiment, measure, measure_scenario, read_answers, results, scenario_from
from peerpressure.scenario.experiment import network_counts
from peerpressure.theory import consensus_error, consensus_limit, diagnose

RING: dict[str, Any] = {
    "network": {"generator": "cycle", "n": 9},
    "noise": {"law": "gaussian", "std": 0.3},
    "run": {"steps": 40, "replicates": 3, "seed": 4},
}
GIVING_WAY = RING | {
    "agents": {"adaptation": 0.1},
    "observe": {"methods": ["innovations", "kalman"], "target": "current"},
    "privacy": {"sensitivity": 0.5},
}
FAILING = RING | {"network": RING["network"] | {"dynamics": {"kind": "failing_edges", "probability": 0.4}}}
FLOWING = RING | {
    "network": {"generator": "cycle", "n": 5},
    "run": RING["run"] | {"steps": 8},
    "time": {"step": 0.2},
    "observe": {"methods": ["kalman"]},
    "privacy": {},
}


def values(data: dict[str, Any], name: str, detail: str = "") -> list[float]:
    rows = measure(Experiment(scenario_from(data)), [name])
    return [row["value"] for row in rows if row["detail"] == detail]


@st.composite
def temporal(draw: Any) -> pp.TemporalNetwork:
    """Networks of six agents whose edges come, change and go at random, some of them periodic."""
    pairs = [(i, j) for i in range(6) for j in range(i)]
    events = draw(
        st.dictionaries(
            st.tuples(st.integers(1, 12), st.sampled_from(pairs)), st.sampled_from([0.0, 1.0, 2.0]), min_size=1
        )
    )
    rows = [(time, *pair, weight) for (time, pair), weight in sorted(events.items())]
    return pp.TemporalNetwork.from_events(np.array(rows), n=6, period=draw(st.sampled_from([None, 12, 15])))


@given(temporal())
def test_edges_and_isolated_agents_are_counted_as_in_the_matrices(network: pp.TemporalNetwork) -> None:
    times = np.arange(1, 40)
    found = network_counts(network, times)
    dense = [network.at(int(t)).toarray() for t in times]
    assert found.edges.tolist() == [np.count_nonzero(A) // 2 for A in dense]
    assert found.isolated.tolist() == [np.count_nonzero(A.sum(axis=1) == 0) for A in dense]


def test_who_is_alone_and_how_long_it_takes_to_be_joined() -> None:
    network = scenario_from(FAILING).model().temporal_network
    assert network is not None
    dense = [network.at(t).toarray() for t in range(1, 41)]
    share = np.array([(A.sum(axis=1) == 0).mean() for A in dense])
    assert values(FAILING, "isolated", "mean") == [pytest.approx(share.mean(), abs=1e-15)]
    assert values(FAILING, "isolated", "worst") == [share.max()]
    assert values(FAILING, "window") == [shortest_window(network, until=40)]
    assert values(RING, "isolated", "worst") == [0.0]
    assert values(RING, "window") == [1.0]


def test_agents_who_are_not_joined_within_the_run_have_no_window() -> None:
    network = RING["network"] | {"dynamics": {"kind": "failing_edges", "probability": 0.9, "steps": 400}}
    assert math.isnan(values(RING | {"network": network, "run": RING["run"] | {"steps": 2}}, "window")[0])


def test_what_agents_hold_is_measured_where_it_moves_and_where_it_does_not() -> None:
    run = pp.simulate(scenario_from(GIVING_WAY).model(), 40, 3, seed=4)
    assert run.final.hidden is not None
    assert values(GIVING_WAY, "hidden_spread") == np.ptp(run.final.hidden, axis=1).tolist()
    assert values(RING, "hidden_spread") == [np.ptp(scenario_from(RING).model().x0)] * 3


def test_what_is_left_of_first_opinions_is_known_in_closed_form() -> None:
    assert values(GIVING_WAY, "retention") == [pytest.approx(0.9**40, rel=1e-12)]
    assert values(RING | {"agents": {"adaptation": "1/(1 + t)"}}, "retention") == [pytest.approx(1 / 41, rel=1e-12)]
    deaf = {"rate": 0.1, "adaptation_weight": [0.0] * 3 + [1.0] * 6}
    assert values(RING | {"agents": {"adaptation": deaf}}, "retention") == [pytest.approx((3 + 6 * 0.9**40) / 9)]
    assert values(RING, "retention") == [1.0]


@pytest.mark.parametrize(
    "data",
    [
        GIVING_WAY,
        RING,
        RING | {"pressure": {"kind": "power", "exponent": 1.5}},
        RING | {"noise": {"law": "gaussian", "temporal": "frozen"}},
    ],
)
def test_consensus_limits_are_those_of_the_theory(data: dict[str, Any]) -> None:
    expected = consensus_limit(scenario_from(data).model())
    near = 1e-3 + 2 * expected.residual
    assert values(data, "consensus_limit", "mean") == [pytest.approx(expected.mean, abs=near)]
    assert values(data, "consensus_limit", "std") == [pytest.approx(expected.std, abs=near)]


def test_agents_who_do_not_agree_have_no_consensus_limit() -> None:
    apart = RING | {"pressure": {"kind": "constant", "value": 1.0}}
    assert math.isnan(values(apart, "consensus_limit", "mean")[0])


def test_continuous_time_has_the_consensus_limit_of_the_verdict() -> None:
    fast = FLOWING | {"pressure": {"kind": "power", "exponent": 2.0}}
    verdict = diagnose(scenario_from(fast).system())
    assert verdict.consensus_limit is not None
    assert values(fast, "consensus_limit", "mean") == [verdict.consensus_limit.mean]
    slow = scenario_from(FLOWING).model()
    assert values(FLOWING, "consensus_limit", "mean") == [slow.consensus_value]


def test_errors_and_verdicts_are_those_of_the_system_that_is_run() -> None:
    fast = FLOWING | {"pressure": {"kind": "power", "exponent": 2.0}, "network": {"generator": "star", "n": 5}}
    system = scenario_from(fast).system()
    assert values(fast, "exact_error") == [consensus_error(system, 8)]
    # In steps the two sides of a star would swing forever.
    assert measure(Experiment(scenario_from(fast)), ["verdict"])[0]["detail"] == "biased_consensus"


@pytest.mark.parametrize("target", ["initial", "current"])
def test_an_onlooker_is_judged_by_what_it_is_after(target: Any) -> None:
    looking = {"methods": ["innovations", "kalman"], "target": target}
    experiment = Experiment(scenario_from(GIVING_WAY | {"observe": looking}))
    model, run, rows = experiment.model, experiment.run, measure(experiment, ["recovery_error"])
    assert run.final.hidden is not None
    truth = run.final.hidden if target == "current" else np.broadcast_to(model.x0, run.final.hidden.shape)
    for method in looking["methods"]:
        off = recover(run, model, method, target=target).value - truth
        found = [row["value"] for row in rows if row["detail"] == method]
        np.testing.assert_allclose(found, np.sqrt((off**2).mean(axis=1)), rtol=1e-12)
    assert np.array_equal(results(experiment)["estimates"]["hidden"], np.tile(truth.ravel(), 2))


def test_an_onlooker_who_stops_early_is_after_what_was_held_then() -> None:
    early = {"methods": ["innovations"], "target": "current", "times": list(range(1, 21))}
    experiment = Experiment(scenario_from(GIVING_WAY | {"observe": early}))
    assert experiment.run.hidden is not None
    assert np.array_equal(experiment.truth, experiment.run.hidden[:, 20])


def test_tables_tell_what_agents_hold_and_what_is_given_away() -> None:
    experiment = Experiment(scenario_from(GIVING_WAY))
    tables, run = results(experiment), experiment.run
    assert run.hidden is not None
    summaries = tables["summaries"]
    assert np.array_equal(summaries["hidden_maximum"], run.hidden.max(axis=2).ravel())
    assert np.array_equal(summaries["hidden_spread"], np.ptp(run.hidden, axis=2).ravel())
    np.testing.assert_allclose(summaries["hidden_mean"], run.hidden.mean(axis=2).ravel(), rtol=1e-12)
    assert np.array_equal(tables["agents"]["final_hidden_mean"], run.hidden[:, -1].mean(axis=0))
    spent = tables["budget"]
    assert spent["time"].tolist()[:3] == [1, 2, 3]
    assert spent["epsilon"].iloc[-1] == budget(experiment.model, 40, 0.5).epsilon
    assert spent["epsilon"].is_monotonic_increasing
    # Ways of hiding are compared for the plain model alone.
    assert "frontier" not in tables
    assert "frontier" in results(Experiment(scenario_from(RING | {"privacy": {}})))


def test_a_record_without_the_states_of_all_tells_only_how_it_ended() -> None:
    data = {name: GIVING_WAY[name] for name in ("network", "noise", "agents")}
    for record in ("summaries", {"agents": [0, 1]}):
        tables = results(Experiment(scenario_from(data | {"run": RING["run"] | {"record": record}})))
        assert not [name for name in tables["summaries"] if name.startswith("hidden")]
        assert "final_hidden_mean" in tables["agents"]


def test_the_table_of_a_changing_network_has_every_round() -> None:
    experiment = Experiment(scenario_from(FAILING | {"run": RING["run"] | {"record": "final"}}))
    table, network = results(experiment)["network"], experiment.model.temporal_network
    assert network is not None
    assert table["time"].tolist() == list(range(1, 41))
    assert table["edges"].tolist() == [network.at(t).nnz // 2 for t in range(1, 41)]
    assert "network" not in results(Experiment(scenario_from(RING)))


def test_flowing_time_is_run_and_looked_at_as_the_library_does() -> None:
    experiment = Experiment(scenario_from(FLOWING))
    assert isinstance(experiment.system, pp.SDE)
    run = pp.simulate(experiment.system, 8, 3, seed=4)
    assert np.array_equal(experiment.run.states, run.states)  # type: ignore[arg-type]  # all states were asked for
    np.testing.assert_allclose(results(experiment)["summaries"]["time"].iloc[:3], [0.0, 0.2, 0.4])
    estimate = recover(run, experiment.system, "kalman")
    assert np.array_equal(experiment.estimates["kalman"].value, estimate.value)
    assert experiment.budget.epsilon == budget(experiment.system, 8).epsilon
    assert np.array_equal(experiment.exposure.table["bits"], exposure(experiment.system, 8).table["bits"])
    assert experiment.frontier is None


@pytest.mark.parametrize(
    ("data", "field", "choices"),
    [
        (RING, "agents.adaptation", [0.0, 0.5, "0.1/t"]),
        (FAILING, "network.dynamics.probability", [0.0, 0.5]),
        (FLOWING, "time.step", [0.1, 0.5]),
    ],
)
def test_a_sweep_may_go_over_them(data: dict[str, Any], field: str, choices: list[Any]) -> None:
    base = {"scenario": data, "measures": ["spread", "hidden_spread"], "threshold": 0.01}
    found = [measure_scenario(base | {field: choice}, seed=11) for choice in choices]
    assert all(found[0] != other for other in found[1:])
    assert found == [measure_scenario(base | {field: choice}, seed=11) for choice in choices]


def test_opinions_that_give_way_by_nothing_are_constant() -> None:
    still = values(RING | {"agents": {"adaptation": 0.0}}, "spread")
    assert still == values(RING, "spread")
    never = RING["network"] | {"dynamics": {"kind": "failing_edges", "probability": 0.0}}
    assert values(RING | {"network": never}, "spread") == still


def test_outputs_of_flowing_time_are_read_at_real_times(tmp_path: Path) -> None:
    system = scenario_from(FLOWING).system()
    run = pp.simulate(system, 8, 2, seed=1)
    file = tmp_path / "outputs.csv"
    run.to_dataframe().query("time > 0").to_csv(file, index=False)
    seen = read_answers(file, system).runs[""]
    np.testing.assert_allclose(seen.times, run.times[1:], rtol=1e-12)
    expected = recover(run, system, "kalman").value
    np.testing.assert_allclose(recover(seen, system, "kalman").value, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("time,agent,public\n0.2,0,0.5\n0.3,0,0.5\n", "time 0.3 in line 3"),
        ("time,agent,public\n0.2,99,0.5\n", "row 2"),
        ("time,agent,public\n,0,0.5\n", "line 2"),
    ],
)
def test_outputs_that_do_not_fit_flowing_time(rows: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "outputs.csv"
    file.write_text(rows)
    with pytest.raises(pp.errors.InvalidInputError, match=says):
        read_answers(file, scenario_from(FLOWING).system())


def test_a_failing_network_is_drawn_from_the_seed_of_the_unit() -> None:
    base = {"scenario": FAILING, "measures": ["isolated"], "threshold": 0.01}
    assert measure_scenario(base, seed=2) != measure_scenario(base, seed=4)
