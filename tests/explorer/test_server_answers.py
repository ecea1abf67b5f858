"""What the server answers is what the library says, number by number."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import peerpressure as pp
from peerpressure.errors import CancelledError
from peerpressure.explorer import answers
from peerpressure.explorer.answers import (
    NEGATIVE,
    ONE_WAY,
    bench_answer,
    exact_answer,
    inference_answer,
    long_run,
    recovered_answer,
    run_answer,
)
from peerpressure.explorer.catalogue import presets
from peerpressure.explorer.models import ModelCache
from peerpressure.explorer.protocol import Limits
from peerpressure.reproduction import convergence
from peerpressure.scenario import Experiment, Scenario, parse_scenario, scenario_from
from peerpressure.simulation.trajectory import SUMMARIES
from peerpressure.support.progress import cancellable
from peerpressure.theory import agent_opinion, mean_opinion
from tests.explorer.asking import SMALL, Asker, Packed, served, unpack

ADAPTING = SMALL | {"agents": {"adaptation": 0.05}}
FLOWING = SMALL | {
    "time": {"continuous": True, "step": 0.25, "method": "euler"},
    "observe": {"methods": ["innovations"]},
}
TEMPORAL = SMALL | {"network": SMALL["network"] | {"dynamics": {"kind": "failing_edges", "probability": 0.3}}}


@pytest.fixture(scope="module")
def asker() -> Iterator[Asker]:
    with served(Limits()) as address, Asker(address) as one:
        yield one


def changed(scenario: dict[str, Any] = SMALL, **sections: Any) -> dict[str, Any]:
    return {name: value | sections.get(name, {}) for name, value in scenario.items()} | {
        name: value for name, value in sections.items() if name not in scenario
    }


def library(scenario: dict[str, Any]) -> tuple[Scenario, pp.Trajectory]:
    read = scenario_from(scenario)
    return read, pp.simulate(read.system(), read.run.steps, read.run.replicates, seed=read.run.seed)


@pytest.mark.parametrize(
    "scenario", [SMALL, ADAPTING, FLOWING, TEMPORAL], ids=["plain", "adapting", "flowing", "temporal"]
)
def test_a_run_is_the_librarys_run(asker: Asker, scenario: dict[str, Any]) -> None:
    facts, arrays = asker.packed("run", scenario)
    read, run = library(scenario)
    assert run.states is not None
    assert np.array_equal(arrays["times"], run.times)
    assert np.array_equal(arrays["states"], run.states[0].astype(np.float32))
    for name in SUMMARIES:
        assert np.array_equal(arrays[name], getattr(run, name).astype(np.float32)), name
    hidden = run.model.x0 if run.hidden_path is None else run.hidden_path[0]
    assert np.array_equal(arrays["hidden"], hidden.astype(np.float32))
    assert np.array_equal(arrays["stubbornness"], run.model.stubbornness.astype(np.float32))
    assert np.allclose(arrays["spread_mean"], np.asarray(run.spread).mean(axis=0), rtol=1e-6)
    assert np.allclose(arrays["max_distance_mean"], np.asarray(run.max_distance).mean(axis=0), rtol=1e-6)
    assert facts["consensus_value"] == run.model.consensus_value
    verdict = replace(pp.diagnose(read.system()), drawn=read.drawn_hidden)
    assert (facts["verdict"]["words"], facts["verdict"]["text"]) == (verdict.outcome.value, str(verdict))


@pytest.mark.parametrize("pressure", [{"kind": "constant", "value": 2.0}, {"kind": "table", "values": [1.0] * 40}])
def test_the_verdict_is_the_librarys_word_for_word(asker: Asker, pressure: dict[str, Any]) -> None:
    scenario = SMALL | {"pressure": pressure}
    for question, steps in (("run", None), ("exact", 40)):
        told = asker.packed(question, scenario).facts["verdict"]["text"]
        read = scenario_from(scenario)
        assert told == str(replace(pp.diagnose(read.model(), steps), drawn=read.drawn_hidden))


# Where agents are left alone in some steps, the common value is found by following it back over many of them.
FOLLOWED = SMALL | {
    "network": {
        "generator": "watts_strogatz",
        "n": 12,
        "k": 4,
        "p": 0.8103818371460603,
        "seed": 1,
        "dynamics": {"kind": "failing_edges", "probability": 0.14476767848828773, "steps": 40},
    }
}


@pytest.mark.parametrize(("limits", "scenario"), [(Limits(rounds=500), TEMPORAL), (Limits(verdict=0), FOLLOWED)])
def test_a_run_does_not_wait_for_a_verdict_that_takes_too_long(limits: Limits, scenario: dict[str, Any]) -> None:
    built = ModelCache(limits).build({"scenario": scenario})
    facts, arrays = unpack(run_answer(built, limits))
    assert arrays["times"][-1] == 40
    assert facts["verdict"]["outcome"] == "unknown"
    assert [reason["code"] for reason in facts["verdict"]["reasons"]] == ["not_computed"]
    assert "peerpressure diagnose" in facts["verdict"]["reason"]
    # The page may look for whatever a verdict has.
    assert set(facts["verdict"]) == {*pp.diagnose(scenario_from(SMALL).model()).to_dict(), "text", "summary", "outlook"}
    assert unpack(exact_answer(built, {}, limits)).facts["verdict"] is None


def test_many_replicates_are_averaged_over_all_and_some_are_drawn(asker: Asker) -> None:
    scenario = changed(run={"replicates": 60, "steps": 5})
    _, arrays = asker.packed("run", scenario)
    _, run = library(scenario)
    assert arrays["spread"].shape == (20, 6)
    assert np.array_equal(arrays["spread"], np.asarray(run.spread)[:20].astype(np.float32))
    assert np.allclose(arrays["max_distance_mean"], np.asarray(run.max_distance).mean(axis=0), rtol=1e-6)


@pytest.mark.parametrize("scenario", [SMALL, ADAPTING], ids=["plain", "adapting"])
def test_a_long_run_is_thinned_and_never_changed(asker: Asker, scenario: dict[str, Any]) -> None:
    scenario = changed(scenario, run={"steps": 7_001, "replicates": 2})
    facts, arrays = asker.packed("run", scenario)
    _, run = library(scenario)
    assert run.states is not None
    times = arrays["times"].astype(int)
    assert times.size <= 2_000
    assert (times[0], times[-1]) == (0, 7_001)
    assert np.array_equal(times[: facts["dense"] + 1], np.arange(facts["dense"] + 1))
    assert facts["every"] % 2 == 1
    assert np.array_equal(arrays["states"], run.states[0, times].astype(np.float32))
    assert np.array_equal(arrays["maximum"], np.asarray(run.maximum)[:, times].astype(np.float32))
    if run.hidden_path is not None:
        assert np.array_equal(arrays["hidden"], run.hidden_path[0, times].astype(np.float32))


@pytest.mark.parametrize("scenario", [SMALL, FLOWING, TEMPORAL], ids=["plain", "flowing", "temporal"])
def test_exact_laws_are_the_librarys(asker: Asker, scenario: dict[str, Any]) -> None:
    facts, arrays = asker.packed("exact", scenario, agents=[3, 7])
    read = scenario_from(scenario)
    system = read.system()
    of = [mean_opinion(system), agent_opinion(system, 3), agent_opinion(system, 7)]
    exact = pp.moments(system, 40, of=of, times=arrays["times"])
    assert facts["names"] == ["network mean", 3, 7]
    assert arrays["times"][-1] == (10 if scenario is FLOWING else 40)
    assert np.allclose(arrays["mean"], exact.mean.T, rtol=1e-12, atol=0)
    assert np.allclose(arrays["std"], exact.std.T, rtol=1e-12, atol=0)
    assert facts["verdict"]["forecast"]["steps"] == 40
    assert facts["verdict"]["text"] == str(replace(pp.diagnose(system, 40), drawn=read.drawn_hidden))


def test_the_network_is_drawn_within_its_frame(asker: Asker) -> None:
    facts, arrays = asker.packed("network")
    model = scenario_from(SMALL).model()
    sources, targets, _ = model.network.edges()
    assert np.array_equal(arrays["edges"], np.stack([sources, targets], axis=1))
    assert np.array_equal(arrays["degrees"], model.network.degrees.astype(np.float32))
    assert arrays["positions"].shape == (30, 2)
    assert np.abs(arrays["positions"]).max() == 1
    assert (facts["n"], facts["edge_count"], facts["edges_shown"]) == (30, 56, 56)
    assert facts["kappa"] == model.kappa
    assert (facts["labels"], facts["connected"], facts["bipartite"]) == (None, True, False)
    assert facts["facts"][0] == "30 agents"


def test_of_very_many_edges_some_are_drawn(asker: Asker) -> None:
    facts, arrays = asker.packed("network", SMALL | {"network": {"generator": "complete", "n": 400}})
    assert facts["edge_count"] == 400 * 399 // 2
    assert facts["edges_shown"] == len(arrays["edges"]) <= 60_000


@pytest.mark.parametrize(
    ("pressure", "text", "outcome"),
    [
        ({"kind": "linear", "slope": 2.0}, "ρ_t = 2 t", "consensus"),
        ({"formula": "2^sqrt(t)"}, "ρ_t = 2^sqrt(t)", "biased_consensus"),
        ({"kind": "constant", "value": 3.0}, "ρ_t = 3", "disagreement"),
    ],
)
def test_pressure_is_plotted_with_its_verdict(asker: Asker, pressure: Any, text: str, outcome: str) -> None:
    facts, arrays = asker.packed("run", SMALL | {"pressure": pressure})
    assert (facts["pressure"], facts["verdict"]["outcome"]) == (text, outcome)
    schedule = scenario_from(SMALL | {"pressure": pressure}).model().pressure
    np.testing.assert_array_equal(arrays["pressures"], schedule(arrays["pressure_times"]))


def test_pressure_beyond_doubles_is_infinite_and_not_a_fault(asker: Asker) -> None:
    _, arrays = asker.packed("run", SMALL | {"pressure": {"formula": "exp(t)^t"}})
    assert arrays["pressures"][0] == pytest.approx(math.e)
    assert arrays["pressures"][-1] == math.inf


def test_a_formula_that_is_none_is_told_where_it_stands(asker: Asker) -> None:
    error = asker.refused("check", SMALL | {"pressure": {"formula": "2^sqr(t)"}})
    assert "did you mean sqrt?" in error["text"]
    assert error["where"].startswith("pressure")


@pytest.mark.parametrize(
    "observe",
    [{}, {"agents": [0, 1, 2, 5, 8], "methods": ["kalman", "ols"]}, {"times": [1, 2, 3, 4, 5], "methods": ["kalman"]}],
)
def test_an_observer_finds_what_the_librarys_finds(asker: Asker, observe: dict[str, Any]) -> None:
    scenario = changed(
        observe={**observe, "prior": {"low": 0.0, "high": 1.0}}, privacy={"sensitivity": 2.0, "delta": 1e-6}
    )
    facts, arrays = asker.packed("observe", scenario)
    read, run = library(scenario)
    look, prior = read.observation(), read.prior()
    first = pp.simulate(read.model(), 40, seed=5)
    for method in facts["methods"]:
        estimate = pp.recover(first, run.model, method["id"], look, prior)
        assert np.allclose(arrays[f"estimate_{method['id']}"], estimate.value[0], equal_nan=True)
        assert np.allclose(arrays[f"std_{method['id']}"], estimate.std, equal_nan=True)
        assert method["rmse"] == pytest.approx(float(np.sqrt((estimate.residuals()[0] ** 2).mean())))
        assert method["expected_rmse"] == pytest.approx(float(np.sqrt(estimate.variance.mean())))
    last = max(look.times or [40])
    table = pp.privacy.exposure(run.model, last, look, prior).table
    assert np.array_equal(arrays["seen"], table["seen"].astype(int))
    assert np.array_equal(arrays["truth"], run.model.x0)
    learned = asker.packed("exposure", scenario).arrays
    assert np.allclose(learned["exposure"] ** 2, table["posterior_variance"])
    assert np.allclose(learned["bits"], table["bits"])
    facts, arrays = asker.packed("budget", scenario)
    promised = pp.privacy.budget(run.model, last, 2.0, 1e-6, observed=look)
    assert (arrays["budget_times"][0], arrays["budget_times"][-1]) == (
        max(1, min(look.times or [look.first_step])),
        last,
    )
    assert arrays["budget_epsilon"][-1] == pytest.approx(promised.epsilon)
    assert arrays["budget_mu"][-1] == pytest.approx(promised.mu)
    assert (facts["sensitivity"], facts["delta"]) == (2.0, 1e-6)
    # The seed of the page is in its link.
    known = replace(promised.definition, seed="known")
    assert all(sentence in facts["text"] for sentence in known.terms.values())
    exported = f"an export records, ε is ∞ at δ = 1e-06 and Δ = 2, {scenario['run']['replicates']} runs with y₀"
    assert exported in facts["text"]


def test_the_bench_shows_what_is_promised_beside_what_is_achieved(asker: Asker) -> None:
    """Against the observer that is chosen: whom it sees, from when, and in how many runs."""
    privacy = {"sensitivity": 0.5, "runs": 4}
    scenario = SMALL | {"observe": {"agents": list(range(20)), "first_step": 5}, "privacy": privacy}
    facts, arrays = asker.packed("bench", scenario)
    read = scenario_from(scenario)
    model, look = read.model(), read.observation()
    (now,) = np.flatnonzero(arrays["noise"] == facts["std"])
    for row in (0, now, -1):
        louder = replace(model, noise=pp.Gaussian(float(arrays["noise"][row])))
        told = pp.privacy.budget(louder, 40, 0.5, 1e-5, runs=4, observed=look)
        assert arrays["epsilon"][row] == pytest.approx(told.epsilon)
        estimate = pp.recover(pp.simulate(louder, 40, seed=5), louder, observation=look)
        assert arrays["error"][row] == pytest.approx(float(np.sqrt(estimate.variance[estimate.identified].mean() / 4)))
    assert (np.diff(arrays["epsilon"]) < 0).all()
    assert (np.diff(arrays["error"]) > 0).all()
    # The page and the scenario file say the same.
    said = asker.packed("budget", scenario)
    assert said.facts["epsilon"] == said.arrays["budget_epsilon"][-1] == pytest.approx(arrays["epsilon"][now])
    filed = Experiment(parse_scenario(asker.post("export/toml", scenario).text)).observer_budget
    assert filed is not None
    assert filed.epsilon == pytest.approx(said.facts["epsilon"])
    silent = SMALL | {"noise": {"law": "none"}}
    assert asker.packed("bench", silent).facts["failed"] == "there is no noise to vary"
    # Insiders tell what they see at every step.
    told_by = scenario | {"privacy": {"insiders": [3]}}
    assert "insiders observe every step" in asker.packed("bench", told_by).facts["failed"]
    everyone = told_by | {"observe": {}}
    assert asker.packed("bench", everyone).arrays["epsilon"][0] == math.inf
    assert pp.privacy.budget(model, 40, insiders=[3]).epsilon == math.inf


@pytest.mark.parametrize("look", [{}, {"agents": [0, 1, 2, 5, 8]}, {"first_step": 5}], ids=["all", "some", "late"])
def test_estimates_over_time_are_those_of_recover_up_to_each_of_the_times(asker: Asker, look: dict[str, Any]) -> None:
    scenario = SMALL | {"observe": look}
    facts, arrays = asker.packed("recovered", scenario)
    read = scenario_from(scenario)
    run, first = pp.simulate(read.model(), 40, seed=5), max(1, look.get("first_step", 1))
    assert (arrays["times"][0], arrays["times"][-1]) == (first, 40)
    assert (facts["method"], facts["failed"]) == ("innovations" if not look else "kalman", None)
    assert facts["title"] == pp.recovery.METHODS[facts["method"]].title
    assert ("kalman was chosen" in facts["note"]) == bool(look)
    assert np.array_equal(arrays["truth"], run.model.x0)
    for row in (1, len(arrays["times"]) - 1):
        seen = pp.Observation(look.get("agents"), range(first, int(arrays["times"][row]) + 1))
        estimate = pp.recover(run, run.model, observation=seen)
        for name, values in (("values", estimate.value[0]), ("std", estimate.std)):
            expected = np.where(estimate.identified, values, np.nan)
            assert np.allclose(arrays[name][row], expected, rtol=1e-5, atol=1e-5, equal_nan=True), name


def test_sizes_of_noise_are_fewer_where_there_is_more_work_whatever_the_machine() -> None:
    built = ModelCache(Limits()).build({"scenario": SMALL})
    sizes = [len(unpack(bench_answer(built, Limits(recovered=most))).arrays["noise"]) for most in (0, 20_000_000)]
    assert sizes == [1, 2]
    assert len(unpack(bench_answer(built, Limits())).arrays["noise"]) == 9


def test_estimates_over_time_are_fewer_where_there_is_more_work_whatever_the_machine(asker: Asker) -> None:
    built = ModelCache(Limits()).build({"scenario": SMALL})
    times = {
        most: unpack(recovered_answer(built, Limits(recovered=most))).arrays["times"].tolist()
        for most in (0, 12_000_000, 30_000_000, Limits().recovered)
    }
    assert times[0] == [40]
    assert len(times[Limits().recovered]) > 12
    counts = [len(one) for one in times.values()]
    assert counts == sorted(set(counts))
    # Unless only the whole run is affordable, they begin with the first step.
    assert all((one[0], one[-1]) == (1, 40) for most, one in times.items() if most)
    # Of a part of the agents they take the product of whole matrices in each step.
    scenario = {"network": {"generator": "cycle", "n": 200}, "run": {"steps": 200, "seed": 1}}
    whole, part = (
        ModelCache(Limits()).build({"scenario": SMALL | scenario | {"observe": look}})
        for look in ({}, {"agents": [0, 1]})
    )
    assert len(_counted(whole)) > len(_counted(part)) > 1


def _counted(built: Experiment) -> list[int]:
    look = built.scenario.observation().resolve(built.model, np.arange(built.steps + 1))
    return answers._recovery_counts(built.model.n, look.times.size, Limits(), complete=look.everyone)


def test_work_that_the_clock_does_not_count_gives_the_same_answers_on_a_slow_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if every look at the clock took a second."""
    built = ModelCache(Limits()).build({"scenario": SMALL})
    before = recovered_answer(built, Limits()), long_run(built, Limits()).outcome
    seconds = itertools.count()
    monkeypatch.setattr("peerpressure.explorer.answers.time.monotonic", lambda: float(next(seconds)))
    assert (recovered_answer(built, Limits()), long_run(built, Limits()).outcome) == before


def test_estimates_and_exposure_do_not_wait_for_the_budget(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: object, **__: object) -> None:
        raise CancelledError

    monkeypatch.setattr(Experiment, "budget_after", endless)
    # The budget of Laplace noise takes seconds, and is then cancelled alone.
    slow = changed(noise={"law": "laplace"}, privacy={"sensitivity": 1.0})
    assert asker.post("budget", slow).status_code == 422
    assert asker.packed("observe", slow).facts["methods"][0]["failed"] is None
    assert "exposure" in asker.packed("exposure", slow).arrays


def test_the_method_is_the_one_that_recover_takes_unless_one_is_named(asker: Asker) -> None:
    for look, used in (({}, "innovations"), ({"agents": [0, 1, 2]}, "kalman")):
        (method,) = asker.packed("observe", SMALL | {"observe": look}).facts["methods"]
        assert (method["id"], method["used"]) == ("auto", used)


OBSERVERS: dict[str, dict[str, Any]] = {
    "1 agent": {"agents": [4]},
    "15 agents": {"agents": list(range(15))},
    "30 agents": {},
    "from step 40": {"first_step": 40},
    "15 agents from step 40": {"agents": list(range(15)), "first_step": 40},
    "some steps": {"times": [3, 20, 60]},
}


def seen_by(look: dict[str, Any]) -> dict[str, Any]:
    network, run = {"generator": "barabasi_albert", "n": 30, "m": 2}, {"steps": 60, "replicates": 1, "seed": 1}
    return changed(network=network, run=run, observe=look | {"methods": ["kalman"]}, privacy={"sensitivity": 1.0})


def test_epsilon_is_that_of_the_observer(asker: Asker) -> None:
    found = {}
    for name, look in OBSERVERS.items():
        facts, arrays = asker.packed("budget", seen_by(look))
        read, run = library(seen_by(look))
        told = pp.privacy.budget(run.model, max(look.get("times", [60])), observed=read.observation())
        assert facts["epsilon"] == pytest.approx(told.epsilon), name
        assert arrays["budget_epsilon"][-1] == pytest.approx(told.epsilon), name
        # Over time, from the first step that is seen on.
        early = pp.privacy.budget(run.model, int(arrays["budget_times"][0]), observed=read.observation())
        assert arrays["budget_epsilon"][0] == pytest.approx(early.epsilon), name
        assert (np.diff(arrays["budget_epsilon"]) >= -1e-9).all(), name
        assert told.definition.terms["observer"] in facts["text"], name
        found[name] = told.epsilon
    assert len({round(epsilon, 2) for epsilon in found.values()}) == len(found)
    assert found["1 agent"] < found["15 agents"] < found["30 agents"]
    assert found["15 agents from step 40"] < found["from step 40"] < found["30 agents"]


def test_every_epsilon_says_what_it_does_not_cover(asker: Asker) -> None:
    facts, _ = asker.packed("budget", seen_by({}))
    assert all(facts["text"].count(limit) == 1 for limit in ("seed is known", "real numbers", "several agents"))
    assert "as long as the seed is secret" in facts["summary"]


def test_a_method_that_cannot_work_says_why_and_the_others_go_on(asker: Asker) -> None:
    look = {"agents": [1, 2], "times": [1, 2], "methods": ["innovations", "kalman"]}
    facts, arrays = asker.packed("observe", changed(observe=look))
    told = {method["id"]: method["failed"] for method in facts["methods"]}
    assert "kalman" in told["innovations"]
    assert told["kalman"] is None
    assert "estimate_innovations" not in arrays
    assert np.isnan(arrays["estimate_kalman"]).any()


# Few agents and times: each fit of an agent takes some milliseconds.
UNKNOWN: dict[str, Any] = SMALL | {
    "network": {"generator": "barabasi_albert", "n": 6, "m": 2},
    "run": {"steps": 60, "replicates": 2, "seed": 5},
    "observe": {"unknown_network": {}},
}
FEW = Limits(inferred=3 * 6 * 10_060)


def inferred(limits: Limits = FEW, **observe: Any) -> Packed:
    built = ModelCache(limits).build({"scenario": UNKNOWN | {"observe": UNKNOWN["observe"] | observe}})
    return unpack(inference_answer(built, limits))


@pytest.mark.parametrize("observe", [{}, {"sees_start": True, "unknown_network": {"std": "known", "symmetric": True}}])
def test_edges_are_inferred_from_more_and_more_steps_as_the_library_infers_them(observe: dict[str, Any]) -> None:
    facts, arrays = inferred(**observe)
    model = scenario_from(UNKNOWN).model()
    run, edges = pp.simulate(model, 60, seed=5), {(int(i), int(j)) for i, j in np.argwhere(model.network.adjacency)}
    pairs, sees_start = [(int(i), int(j)) for i, j in arrays["pairs"]], "sees_start" in observe
    settings = observe.get("unknown_network", {})
    known: dict[str, Any] = {"stubbornness": model.stubbornness} if "symmetric" in settings else {}
    assert facts["failed"] is None
    assert arrays["times"].tolist() == [8, 22, 60]
    selected = set()
    for k, time in enumerate(arrays["times"].astype(int)):
        look = pp.Observation(times=range(0 if sees_start else 1, time + 1), sees_start=sees_start)
        estimate = pp.infer_network(run, model.pressure, observation=look, **settings, **known)
        assert arrays["average_precision"][k] == estimate.average_precision(model.network)
        for p, (i, j) in enumerate(pairs):
            assert arrays["weights"][k, p] == np.float32(max(estimate.weights[i, j], estimate.weights[j, i]))
            sure = [c for c in (estimate.confidence[i, j], estimate.confidence[j, i]) if not np.isnan(c)]
            assert np.array_equal(arrays["confidence"][k, p], np.float32(max(sure, default=np.nan)), equal_nan=True)
        selected |= {(int(min(pair)), int(max(pair))) for pair in np.argwhere(estimate.weights > 0)}
    assert set(pairs) == selected | {(i, j) for i, j in edges if i < j}
    assert arrays["true"].tolist() == [int(pair in edges) for pair in pairs]


def test_edges_are_inferred_at_fewer_times_where_there_is_more_work_whatever_the_machine() -> None:
    _, arrays = inferred(replace(FEW, inferred=2 * 6 * 10_060))
    assert arrays["times"].tolist() == [8, 60]
    assert arrays["weights"].shape == (2, len(arrays["pairs"]))


def test_early_gaps_leave_times_without_an_inferred_network() -> None:
    _, arrays = inferred(times=[*range(1, 17, 2), *range(20, 61)])
    assert arrays["times"].tolist() == [31, 60]


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"observe": {"agents": [0, 1, 2], "unknown_network": {}}}, "got 3 of 6 unobserved"),
        ({"observe": {"rounding": 0.1, "unknown_network": {}}}, "got rounding 0.1"),
        ({"observe": {"times": [1, 2], "unknown_network": {}}}, "3 steps or more"),
        ({"noise": {"law": "none"}}, "got no noise"),
        ({"agents": {"adaptation": 0.1}}, "got hidden opinions that adapt"),
        ({"time": {"continuous": True, "step": 0.5, "method": "euler"}}, "discrete time"),
        ({"network": {"generator": "rival_camps", "n": 6, "degree": 3}}, "no weight is negative"),
    ],
)
def test_where_no_network_can_be_inferred_the_library_says_why(sections: dict[str, Any], words: str) -> None:
    facts, arrays = unpack(inference_answer(ModelCache(FEW).build({"scenario": UNKNOWN | sections}), FEW))
    assert words in facts["failed"]
    assert arrays["times"].size == 0


def test_edges_of_a_directed_network_are_true_in_either_direction() -> None:
    # Everybody listens to the next one, so half of the pairs are below the diagonal.
    ring = {"edges": [[k, (k + 5) % 6] for k in range(6)], "directed": True}
    _, arrays = unpack(inference_answer(ModelCache(FEW).build({"scenario": UNKNOWN | {"network": ring}}), FEW))
    true = arrays["pairs"][arrays["true"] > 0].tolist()
    assert sorted(true) == [[0, 1], [0, 5], [1, 2], [2, 3], [3, 4], [4, 5]]


def test_unobserved_agents_have_missed_edges() -> None:
    _, arrays = inferred(agents=[0, 1, 2, 3], unknown_network={"partial": True})
    outside = (arrays["pairs"] > 3).any(axis=1)
    assert arrays["true"][outside].all()
    assert (arrays["weights"][:, outside] == 0).all()
    assert (arrays["weights"] > 0).any()
    assert np.isnan(arrays["confidence"]).all()


def test_an_inferred_network_has_a_limit_and_can_be_cancelled(asker: Asker) -> None:
    large = UNKNOWN | {"network": UNKNOWN["network"] | {"n": 300}}
    error = asker.refused("inference", large)
    assert error["where"] == "observe.unknown_network"
    assert "must be at most 6,000,000 here, got 6,036,000; observe fewer steps" in error["text"]
    asked = iter([False] * 20)
    with cancellable(lambda: next(asked, True)), pytest.raises(CancelledError):
        inferred()


@pytest.mark.parametrize(
    ("name", "text", "labels"),
    [
        ("friends.csv", "ann,bob,2\nbob,cat,1.5\ncat,ann,1\n", ["ann", "bob", "cat"]),
        ("FRIENDS.TXT", "0 1\n1 2\n", None),
        ("x.edges", "7 9\n9 12\n", [7, 9, 12]),
    ],
)
def test_a_dropped_network_comes_back_as_a_section(asker: Asker, name: str, text: str, labels: Any) -> None:
    told = asker.http.post("api/upload", params={"name": name}, content=text.encode()).json()
    assert told["network"].get("labels") == labels
    network = scenario_from({"network": told["network"], "run": {"steps": 1}}).graph
    assert (list(network.labels), network.edge_count) == (labels or [0, 1, 2], len(told["network"]["edges"]))
    facts, _ = asker.packed("network", {"network": told["network"]})
    assert facts["labels"] == labels


def test_a_network_in_pieces_is_kept_whole(asker: Asker) -> None:
    told = asker.http.post("api/upload", params={"name": "a.csv"}, content=b"a,b\nb,c\nx,y\n").json()
    assert told["network"]["labels"] == ["a", "b", "c", "x", "y"]
    facts, _ = asker.packed("run", {"network": told["network"], "run": {"steps": 5}})
    assert facts["own_limits"]
    assert len(facts["class_values"]) == 2


@pytest.mark.parametrize(("edges", "listens"), [("listens", [[0, 1], [2, 1]]), ("influences", [[1, 0], [1, 2]])])
def test_a_dropped_edge_list_is_directed_if_its_edges_have_a_meaning(
    asker: Asker, edges: str, listens: list[list[int]]
) -> None:
    told = asker.http.post("api/upload", params={"name": "a.csv", "edges": edges}, content=b"ann,bob\ncat,bob\n").json()
    assert told["network"]["directed"]
    assert told["network"]["edges"] == listens
    _, arrays = asker.packed("network", {"network": told["network"]})
    assert arrays["edges"].tolist() == listens
    assert arrays["looks"].tolist() == [ONE_WAY] * 2
    refused = asker.http.post("api/upload", params={"name": "a.csv", "edges": "both"}, content=b"a,b\n")
    assert refused.status_code == 400


def test_signs_and_directions_of_a_dropped_file_are_read(asker: Asker, tmp_path: Path) -> None:
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("ann", "bob", 1.0), ("bob", "ann", 2.0), ("cat", "ann", -1.0), ("ann", "cat", 1.0)])
    nx.write_graphml(graph, tmp_path / "a.graphml")
    data = (tmp_path / "a.graphml").read_bytes()
    told = asker.http.post("api/upload", params={"name": "a.graphml"}, content=data).json()["network"]
    assert (told["directed"], told["signed"]) == (True, True)
    _, arrays = asker.packed("network", {"network": told})
    drawn = [*zip(arrays["edges"].tolist(), arrays["looks"].tolist(), strict=True)]
    # Two agents who trust and distrust each other are two edges.
    assert sorted(drawn) == [([0, 1], 0), ([0, 2], ONE_WAY), ([2, 0], ONE_WAY | NEGATIVE)]
    assert arrays["degrees"].tolist() == [2, 2, 1]
    # Weights of both directions count: 5, 3 and 2.
    assert (arrays["radii"] / arrays["radii"][2]) ** 2 == pytest.approx([1.5, 1 + 0.5 / 3, 1])
    # Files without negative weights are not signed.
    assert "signed" not in asker.http.post("api/upload", params={"name": "a.csv"}, content=b"a,b,2\n").json()["network"]


def test_distances_are_to_own_limits_in_all_replicates(asker: Asker) -> None:
    scenario = changed(agents={"zealots": [0, 33]}, run={"steps": 6, "replicates": 25})
    scenario["network"] = {"named": "karate"}
    facts, arrays = asker.packed("run", scenario)
    _, run = library(scenario)
    assert run.states is not None
    distances = np.abs(run.states - run.model.consensus_state).max(axis=2)
    assert facts["class_values"] == sorted(run.model.x0[[0, 33]].tolist())
    np.testing.assert_allclose(arrays["max_distance"], distances[:20], rtol=1e-6)
    np.testing.assert_allclose(arrays["max_distance_mean"], distances.mean(axis=0), rtol=1e-6)
    _, network = asker.packed("network", scenario)
    assert np.flatnonzero(network["degrees"] == 0).tolist() == [0, 33]


def test_the_papers_presets_show_the_papers_numbers(asker: Asker) -> None:
    figures = convergence(steps=150)
    for preset, run in (("first_steps", figures.runs[0]), ("too_fast_tree", figures.runs[1])):
        state = next(one for one in presets() if one.example.name == preset).state
        _, arrays = asker.packed("run", state["scenario"])
        assert np.array_equal(arrays["maximum"][0], np.asarray(run.path.maximum)[0].astype(np.float32))
        assert np.array_equal(arrays["minimum"][0], np.asarray(run.path.minimum)[0].astype(np.float32))


FAST = {"kind": "stretched_exponential", "base": 2.0, "exponent": 0.7}
RANDOM_PAIRS: dict[str, dict[str, Any]] = {
    "oscillation": {"generator": "star", "n": 9},
    "bipartite": {"edges": [[0, 1], [1, 2], [0, 2]], "weights": [1, -1, -1], "signed": True},
}


@pytest.mark.parametrize("outcome", RANDOM_PAIRS)
def test_two_random_values_have_deviations_and_are_told_with_those_of_this_run(outcome: str) -> None:
    scenario = {"network": RANDOM_PAIRS[outcome], "noise": {"law": "gaussian", "std": 0.5}, "pressure": FAST}
    built = ModelCache(Limits()).build({"scenario": scenario | {"run": {"steps": 60, "seed": 3}}})
    facts, arrays = unpack(run_answer(built, Limits()))
    verdict, law = facts["verdict"], pp.diagnose(built.model).law
    assert verdict["outcome"] == outcome
    pairs = re.findall(r"(−?\d[\d.]*) ± (\d\.\d+)", verdict["summary"])
    means = [float(value.replace("−", "-")) for value, _ in pairs]
    assert means == pytest.approx(sorted({*law.mean.ravel().round(12).tolist()}), abs=5e-4)
    assert [float(deviation) for _, deviation in pairs] == pytest.approx([float(law.std[0])] * 2, abs=5e-4)
    # All agents of a side, or of a camp, have come together by now.
    ends = sorted({*arrays["states"][-1].round(3).tolist()})
    parts = {"oscillation": "sides", "bipartite": "camps"}[outcome]
    sentence = rf"At the end of this run the means of the two {parts} are (−?[\d.]+) and (−?[\d.]+)\."
    told = re.fullmatch(sentence, facts["this_run"])
    assert told is not None
    assert [float(one.replace("−", "-")) for one in told.groups()] == pytest.approx(ends, abs=1e-3)


def test_values_that_are_the_same_in_all_runs_are_told_once() -> None:
    scenario = {"network": RANDOM_PAIRS["oscillation"], "pressure": FAST, "run": {"steps": 60, "seed": 3}}
    facts, _ = unpack(run_answer(ModelCache(Limits()).build({"scenario": scenario}), Limits()))
    assert "take turns forever" in facts["verdict"]["summary"]
    assert facts["this_run"] == ""
