"""The plain answer: few numbers, rounded, against recursions, and chance that is called so."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.networks import Network, cycle, k2, star
from peerpressure.scenario import scenario_from
from peerpressure.schedules import Constant, StretchedExponential
from peerpressure.theory import Outcome

FAST = StretchedExponential(2, 0.5)
APART = Network(np.kron(np.eye(2), [[0, 1], [1, 0]]))
FOES = Network([[0, 1, 0, 0], [1, 0, -1, 0], [0, -1, 0, 1], [0, 0, 1, 0]], signed=True)
THIRDS = [0.0, 1 / 3, 1.0]
MODELS = {
    Outcome.CONSENSUS: pp.Model(star(3), hidden=THIRDS),
    Outcome.BIASED_CONSENSUS: pp.Model(cycle(3), hidden=THIRDS, stubbornness=[1, 2, 4], pressure=FAST),
    Outcome.OSCILLATION: pp.Model(star(3), hidden=THIRDS, pressure=FAST),
    Outcome.DISAGREEMENT: pp.Model(star(3), hidden=THIRDS, pressure=Constant(2)),
    Outcome.CLUSTERS: pp.Model(APART, hidden=[0.0, 0.5, 0.5, 1.0]),
    Outcome.BIPARTITE: pp.Model(FOES, hidden=[0.0, 0.5, 0.5, 1.0]),
}


def numbers(text: str) -> list[float]:
    return [float(number.replace("−", "-").replace(",", "")) for number in re.findall(r"−?\d[\d.,]*\d|\d", text)]


def test_each_outcome_is_told_with_its_numbers() -> None:
    told = {}
    for outcome, model in MODELS.items():
        verdict = pp.diagnose(model)
        assert verdict.outcome is outcome
        text = verdict.summary
        assert len(numbers(text)) <= 3
        told[outcome] = (numbers(text), np.asarray(pp.simulate(model, 2_001).states)[0])
    # The law of large t, from a run without noise that is long enough.
    found, states = told[Outcome.CONSENSUS]
    assert found == pytest.approx([states[-1].mean()], abs=0.011)
    found, states = told[Outcome.BIASED_CONSENSUS]
    v = MODELS[Outcome.BIASED_CONSENSUS].consensus_value
    assert found == pytest.approx([states[-1].mean(), v], abs=0.006)
    found, states = told[Outcome.OSCILLATION]
    assert sorted(found) == pytest.approx(sorted(states[-2:, 0]), abs=0.006)
    found, states = told[Outcome.DISAGREEMENT]
    assert found == pytest.approx([states[-1].min(), states[-1].max()], abs=0.006)
    found, states = told[Outcome.CLUSTERS]
    assert found == pytest.approx([2, states[-1].min(), states[-1].max()], abs=0.011)
    found, states = told[Outcome.BIPARTITE]
    assert found == pytest.approx([states[-1].min(), states[-1].max()], abs=0.02)


def test_the_end_of_the_run_is_told_in_one_number() -> None:
    model = pp.Model(k2(), hidden=[0.0, 1.0], noise=pp.Gaussian(0.5))
    verdict = pp.diagnose(model, 1_234, advise=False)
    assert verdict.forecast is not None
    steps, distance = numbers(verdict.outlook or "")
    assert steps == 1_234
    assert distance == pytest.approx(verdict.forecast.rms_distance, rel=0.2)
    assert pp.diagnose(model).outlook is None
    # Groups that end apart are not told to miss a value that is none of theirs.
    verdict = pp.diagnose(MODELS[Outcome.CLUSTERS], 50, advise=False)
    assert verdict.forecast is not None
    assert verdict.forecast.own_limits
    assert numbers(verdict.outlook or "")[1] == pytest.approx(verdict.forecast.rms_distance, rel=0.2)


@pytest.mark.parametrize(("scale", "shown"), [(1.0, "0.33"), (1e-3, "0.00033"), (1e3, "333"), (1e6, "333,333")])
def test_decimals_follow_the_range_of_opinions(scale: float, shown: str) -> None:
    model = pp.Model(k2(), hidden=[0.0, scale], stubbornness=[2, 1])
    assert f"agree on {shown}, " in pp.diagnose(model).summary


def test_numbers_that_read_the_same_are_not_set_against_each_other() -> None:
    """Where edges fail the common value is off v by less than anybody would notice."""
    network = pp.networks.random_regular(100, 10, seed=1)
    hidden = np.random.default_rng(1).random(100)
    for repeat in (False, True):
        failing = pp.networks.failing_edges(network, 0.2, 50, seed=1, repeat=repeat)
        model = pp.Model(network, hidden, temporal_network=failing)
        found = numbers(pp.diagnose(model).summary)
        assert len(found) == len(set(found))


def test_a_record_of_a_random_process_is_no_cycle() -> None:
    parts = {
        "network": {"generator": "cycle", "n": 6, "dynamics": {"kind": "failing_edges", "probability": 0.5}},
        "run": {"steps": 30},
    }
    process = pp.diagnose(scenario_from(parts).system())
    assert process.outcome is Outcome.DISAGREEMENT
    assert "cycle" not in process.summary
    assert "keep moving at random" in process.summary
    # Steps that are asked to start again do repeat.
    parts["network"]["dynamics"]["steps"] = 8  # type: ignore[index]
    again = pp.diagnose(scenario_from(parts).system())
    assert again.outcome is Outcome.PERIODIC
    assert "a cycle of 8 steps" in again.summary
    # The run itself is the same, whether or not its steps start again after the last.
    for kind in ("failing_edges", "edge_markovian"):
        chances = {"probability": 0.5} if kind == "failing_edges" else {"birth": 0.2, "death": 0.3}
        runs = []
        for repeat in (None, True):
            dynamics = {"kind": kind, **chances} | ({} if repeat is None else {"repeat": repeat})
            network = {"generator": "cycle", "n": 6, "dynamics": dynamics}
            runs.append(pp.simulate(scenario_from({"network": network, "run": {"steps": 30}}).system(), 30).states)
        np.testing.assert_array_equal(np.asarray(runs[0]), np.asarray(runs[1]))


ODD = cycle(3)
NOISY = pp.Model(ODD, THIRDS, pressure=FAST, noise=pp.Gaussian(0.4))
RANDOM = {
    "noise": NOISY,
    "frozen": replace(NOISY, pressure=pp.Linear(1.0), noise=pp.Gaussian(0.4, temporal="frozen")),
    "updates": pp.Model(ODD, THIRDS, pressure=FAST, activation=0.5),
    "both": pp.Model(ODD, THIRDS, pressure=FAST, noise=NOISY.noise, activation=0.5),
}


@pytest.mark.parametrize("kind", RANDOM)
def test_a_random_limit_is_said_to_depend_on_what_it_depends_on(kind: str) -> None:
    model = RANDOM[kind]
    verdict = pp.diagnose(model)
    assert verdict.outcome is Outcome.BIASED_CONSENSUS
    final = pp.simulate(model, 300, 4_000, seed=1, record="final").final.public[:, 0]
    mean, std = numbers(verdict.summary)
    assert mean == pytest.approx(final.mean(), abs=4 * final.std() / 60 + 0.01)
    assert std == pytest.approx(final.std(), rel=0.15)
    assert "a value that depends on" in verdict.summary
    # What is named is what scatters runs: without it, and with nothing else, they agree.
    quiet = replace(model, noise=pp.noise.NoNoise())
    chosen = pp.simulate(quiet, 300, 50, seed=1, record="final").final.public[:, 0]
    assert ("who updates when" in verdict.summary) == (chosen.std() > 1e-6)
    assert ("the noise" in verdict.summary) == (not model.noise.is_zero)
    assert all("depends on" in str(reason) for reason in verdict.reasons if "±" in str(reason)) or kind == "frozen"


def test_a_bias_that_rounding_hides_is_told_by_its_size() -> None:
    network = pp.networks.named("karate")
    verdict = pp.diagnose(pp.Model(network, np.linspace(0, 1, 34) ** 2, pressure="t^1.04"))
    assert verdict.outcome is Outcome.BIASED_CONSENSUS
    assert "nearly" not in str(verdict)
    assert "not on" in verdict.summary or "differs by" in verdict.summary


def test_the_command_line_prints_what_python_prints(capsys: pytest.CaptureFixture[str]) -> None:
    model = pp.Model(pp.networks.named("karate"), np.linspace(0.0, 1.0, 34))
    answer, mathematics = str(pp.diagnose(model, 50)), pp.diagnose(model, 50).explain()
    assert answer.splitlines()[1].startswith("All agents come to agree on 0.5")
    assert "κ" not in answer
    assert "κ  " in mathematics.split("\n\n")[-1]
    print(pp.diagnose(model, 50))
    assert capsys.readouterr().out == f"{answer}\n"
