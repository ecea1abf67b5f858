"""No ε without what it assumes: the start, the number of runs, the size of a move, and what is recorded."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.privacy import DEFINITION, budget, calibrate, exposure, frontier
from peerpressure.privacy._shifts import box_maximum
from peerpressure.report.run import privacy_definition, privacy_numbers
from peerpressure.scenario import Experiment, scenario_from
from tests.builders import random_model
from tests.cli.calling import run as command
from tests.oracles import outputs_law

N, T = 6, 5
LAWS = {"gaussian": pp.Gaussian, "laplace": pp.Laplace, "student_t": pp.StudentT, "uniform": pp.noise.Uniform}
QUESTIONS: dict[str, Callable[..., Any]] = {
    "budget": lambda model, **how: budget(model, T, **how),
    "exposure": lambda model, **how: exposure(model, T, **how),
    "calibrate": lambda model, **how: calibrate(model, T, mu=1.0, **how),
    "frontier": lambda model, **how: frontier(model, T, [1.0], **how),
    "in continuous time": lambda model, **how: budget(pp.SDE(model, step=0.1), T, **how),
}
DEPENDENT: dict[str, Callable[[Any], Any]] = {
    "equal": lambda x: x,
    "shifted": lambda x: x + 3.0,
    "affine": lambda x: 1.0 - 0.5 * x,
    "affine, from a file": lambda x: np.array([float(f"{value:.11g}") for value in 2.0 * x - 1.0]),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.parametrize("start", DEPENDENT.values(), ids=DEPENDENT)
def test_a_start_made_of_hidden_opinions_is_not_public(ask: Callable[..., Any], start: Callable[[Any], Any]) -> None:
    model = random_model(N, noise=pp.Gaussian(5.0))
    leaking = replace(model, start=start(model.x0))
    with pytest.raises(InvalidInputError, match="does not depend on the hidden opinions"):
        ask(leaking)
    assert pp.simulate(leaking, 3).final.step == 3
    # Nothing but the start is at fault.
    assert str(ask(replace(model, start=np.full(N, 0.5))))


@pytest.mark.parametrize("start", [[0.3, 0.9], [0.4, 1.0], [0.6, 1.8]], ids=["equal", "shifted", "scaled"])
def test_two_agents_reveal_themselves_too(start: list[float]) -> None:
    with pytest.raises(InvalidInputError, match="does not depend"):
        budget(pp.Model(pp.networks.k2(), [0.3, 0.9], noise=pp.Gaussian(1.0), start=start), T)


@pytest.mark.parametrize(
    ("hidden", "start"),
    [
        ([0.3, 0.9], [5.0, 1.0]),
        ([0.3, 0.9], [0.3, 0.3]),
        ([0.0, 1.0, 5.0], [0.0, 1.0, 2.0]),
        ([0.5, 0.5, 0.5], [0.0, 1.0, 2.0]),
        ([0.0, 1.0, 0.3], [1e6, 1e6 + 1e-4, 1e6 + 2e-4]),
    ],
)
def test_other_starts_are_public_where_they_are_declared(hidden: list[float], start: list[float]) -> None:
    network = pp.networks.complete(len(hidden))
    model = pp.Model(network, hidden, noise=pp.Gaussian(1.0), start=start)
    told = budget(model, T, public_start=True)
    assert told.information == pytest.approx(T)
    assert "declared to be public" in str(told)


FUNCTIONS: dict[str, Callable[[Any, pp.Model], Any]] = {
    "squares": lambda x, model: x**2,
    "reversed": lambda x, model: x[::-1],
    "neighbours' mean": lambda x, model: model.network.adjacency @ x / model.network.degrees,
    "another's": lambda x, model: np.roll(x, 1),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_start_that_differs_between_agents_has_to_be_declared_public(
    function: Callable[[Any, pp.Model], Any], ask: Callable[..., Any]
) -> None:
    model = random_model(N, noise=pp.Gaussian(5.0))
    started = replace(model, start=function(model.x0, model))
    with pytest.raises(InvalidInputError, match="not declared to be public; declare it"):
        ask(started)
    assert str(ask(started, public_start=True))


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
def test_one_number_is_a_declaration(ask: Callable[..., Any]) -> None:
    assert str(ask(random_model(N, noise=pp.Gaussian(5.0), start=0.25)))


@pytest.mark.parametrize("start", DEPENDENT.values(), ids=DEPENDENT)
def test_no_declaration_covers_a_start_that_is_the_opinions(start: Callable[[Any], Any]) -> None:
    model = random_model(N, noise=pp.Gaussian(5.0))
    with pytest.raises(InvalidInputError, match="does not depend on the hidden opinions"):
        budget(replace(model, start=start(model.x0)), T, public_start=True)


def test_a_hidden_start_is_no_assumption() -> None:
    told = budget(random_model(N, noise=pp.Gaussian(5.0)), T)
    assert "declared" not in str(told)
    assert not any("start" in sentence for sentence in told.definition.warnings)


LIMITS = ("seed 0", "real numbers", "several agents")
RUN_LIMITS = ("seed is known: there is no protection", "real numbers", "several agents")


def on_topics(count: int = 3) -> pp.Model:
    hidden = np.random.default_rng(1).uniform(size=(N, count))
    network = pp.networks.cycle(N).with_topics(["tax", "rent", "war"][:count])
    return pp.Model(network, hidden, noise=pp.Gaussian(5.0), start=0.0)


@pytest.mark.parametrize("ask", list(QUESTIONS)[:1] + list(QUESTIONS)[2:])
def test_every_account_says_what_it_does_not_cover(ask: str) -> None:
    words = " ".join(str(QUESTIONS[ask](random_model(N, noise=pp.Gaussian(5.0), start=np.zeros(N)))).split())
    assert all(words.count(limit) == 1 for limit in LIMITS)


def test_with_topics_an_account_is_of_a_person() -> None:
    told = budget(on_topics(), T)
    words = " ".join(str(told).split())
    assert (
        "The hidden opinions of one agent on all 3 topics change each" in told.definition.terms["neighbouring inputs"]
    )
    assert "The privacy unit is a person with all 3 topics." in told.definition.terms["person"]
    assert f"for agent 0 with 3 topics, the most exposed of {N} persons" in words
    assert list(told.table.index) == list(range(N))
    one = budget(on_topics(), T, unit="topic")
    words = " ".join(str(one).split())
    assert "The hidden opinion of one agent on one topic changes" in one.definition.terms["neighbouring inputs"]
    assert "The privacy unit is one topic of a person." in one.definition.terms["person"]
    assert "all 3 topics has up to 3 times" in words
    assert "on topic 'tax', the most exposed of 18 opinions" in words
    # Topics that are independent, each under noise of its own.
    assert told.mu == pytest.approx(math.sqrt(3) * one.mu)
    plain = budget(random_model(N, noise=pp.Gaussian(5.0)), T)
    assert "topic" not in plain.definition.terms["neighbouring inputs"]
    assert f"the most exposed of {N}:" in str(plain)


def test_a_unit_is_a_person_or_a_topic() -> None:
    with pytest.raises(InvalidInputError, match="unit must be 'person' or 'topic', got 'agent'"):
        budget(on_topics(), T, unit="agent")  # type: ignore[arg-type]


MATRIX = {"alike": [[0.6, 0.4], [0.4, 0.6]], "opposed": [[0.6, -0.4], [-0.4, 0.6]], "one way": [[1.0, 0.0], [0.5, 0.5]]}
WATCHED: dict[str, dict[str, Any]] = {
    "all": {},
    "a neighbour": {"observed": [(1, 0), (1, 1)]},
    "an insider": {"observed": [(1, 0)], "insiders": [2]},
}


@pytest.mark.parametrize("observer", WATCHED)
@pytest.mark.parametrize("start", ["hidden", 0.0])
@pytest.mark.parametrize("matrix", MATRIX.values(), ids=MATRIX)
def test_a_person_is_accounted_for_in_the_worst_direction(matrix: list[list[float]], start: Any, observer: str) -> None:
    network, seen = pp.networks.cycle(N).with_topics(2, matrix), WATCHED[observer]
    if observer == "an insider" and start == "hidden":
        seen = {"observed": [(1, 0)]}
    model = pp.Model(network, np.random.default_rng(1).uniform(size=(N, 2)), noise=pp.Gaussian(5.0), start=start)
    told, one = budget(model, T, **seen), budget(model, T, unit="topic", **seen)
    d = told.definition
    known = np.flatnonzero(d.is_insider).tolist()
    rows = outputs_law(model, T, np.flatnonzero(d.is_observed).tolist(), known=known)
    # The noise that insiders know leaves combinations of outputs without any.
    J = rows.B.T @ np.linalg.pinv(rows.covariance, rcond=1e-11, hermitian=True) @ rows.B
    for person, row in told.table.iterrows():
        block = J[2 * person : 2 * person + 2, 2 * person : 2 * person + 2]
        worst = max(sign @ block @ sign for sign in (np.array([1, 1]), np.array([1, -1])))
        assert row["mu"] == pytest.approx(math.sqrt(worst), rel=1e-6, abs=1e-9)
    assert one.mu <= told.mu <= 2 * one.mu * (1 + 1e-9)


def test_many_topics_are_bounded_from_above() -> None:
    rng = np.random.default_rng(4)
    for q in (1, 3, 10):
        J = np.cov(rng.normal(size=(q, 2 * q + 2))).reshape(q, q)
        every = max(float(d @ J @ d) for d in np.array(list(itertools.product([-1.0, 1.0], repeat=q))))
        assert box_maximum(J) == pytest.approx(every)
        assert every <= np.abs(J).sum() * (1 + 1e-12)
    wide = np.cov(rng.normal(size=(14, 30)))
    assert box_maximum(wide) == pytest.approx(np.abs(wide).sum())


@pytest.mark.parametrize("law", [pp.Laplace, pp.StudentT])
def test_a_person_under_other_laws_has_the_shifts_of_all_topics(law: type[pp.noise.Noise]) -> None:
    model = replace(on_topics(), noise=law(9.0))
    pd.testing.assert_series_equal(
        budget(model, T).table["epsilon"].reset_index(drop=True),
        budget(replace(on_topics(1), noise=law(9.0)), 3 * T).table["epsilon"].reset_index(drop=True),
    )
    mixed = pp.networks.cycle(N).with_topics(2, MATRIX["alike"])
    leaking = pp.Model(mixed, np.zeros((N, 2)), noise=law(9.0))
    told = budget(leaking, T)
    # Both topics act on the same draws of the neighbours at step 1, with the sum of the weights 0.6 and 0.4.
    alone = pp.Model(pp.networks.cycle(N).with_topics(1), np.zeros((N, 1)), noise=law(9.0))
    assert told.epsilon > budget(leaking, T, unit="topic").epsilon
    assert told.epsilon <= 2 * budget(alone, T).table["epsilon_basic"].max()
    assert "epsilon_low" not in told.table


@pytest.mark.parametrize("target", [{"epsilon": 1.0}, {"mu": 0.5}])
def test_noise_is_calibrated_for_persons(target: dict[str, Any]) -> None:
    calibrated = calibrate(on_topics(), T, **target)
    assert getattr(calibrated.budget, next(iter(target))) == pytest.approx(next(iter(target.values())), rel=1e-9)
    assert calibrated.std == pytest.approx(math.sqrt(3) * calibrate(on_topics(), T, unit="topic", **target).std)
    other = calibrate(replace(on_topics(), noise=pp.Laplace(1.0)), T, epsilon=2.0)
    assert other.budget.epsilon == pytest.approx(2.0, rel=1e-6)


def test_a_frontier_is_for_persons() -> None:
    network = pp.networks.complete(4).with_topics(2, MATRIX["alike"])
    model = pp.Model(network, np.random.default_rng(1).uniform(size=(4, 2)), start=0.0)
    person, topic = (frontier(model, 4, [1.0], unit=unit) for unit in ("person", "topic"))
    np.testing.assert_allclose(person.units["information"], 2 * topic.units["information"])
    assert person.limit == pytest.approx(math.sqrt(2) * topic.limit)


@pytest.mark.parametrize("insiders", [[(0, "tax")], [1, (0, "tax"), (0, "rent")]])
def test_an_insider_tells_all_of_its_topics(insiders: list[Any]) -> None:
    for ask in (budget, lambda *args, **how: calibrate(*args, mu=1.0, **how)):
        with pytest.raises(InvalidInputError, match="an insider tells its opinions on all topics"):
            ask(on_topics(), T, insiders=insiders)
    named = budget(on_topics(), T, insiders=[1, (0, "tax"), (0, "rent"), (0, "war")])
    assert len(named.table) == N - 2
    assert "2 of them are insiders" in named.definition.terms["observer"]


def test_insiders_on_topics_leave_somebody_to_protect() -> None:
    with pytest.raises(InvalidInputError, match="some agent must not be an insider"):
        budget(on_topics(), T, insiders=list(range(N)))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_who_sees_a_hidden_start_knows_everything(law: type[pp.noise.Noise]) -> None:
    model = random_model(N, noise=law(5.0))
    assert math.isinf(budget(model, T, sees_start=True).epsilon)
    assert math.isinf(budget(model, T, sees_start=True).information)
    public = replace(model, start=np.zeros(N))
    pd.testing.assert_frame_equal(budget(public, T, sees_start=True).table, budget(public, T).table)


def test_who_sees_a_hidden_start_knows_everything_in_continuous_time() -> None:
    equation = pp.SDE(random_model(N, noise=pp.Gaussian(5.0)), step=0.1)
    assert math.isfinite(budget(equation, T).epsilon)
    assert math.isinf(budget(equation, T, sees_start=True).epsilon)


@pytest.mark.parametrize("temporal", ["white", "frozen", pp.AR1(0.6)])
@pytest.mark.parametrize("start", ["hidden", np.linspace(-1, 1, N)], ids=["hidden", "public"])
def test_information_of_several_runs_is_that_of_their_joint_law(temporal: Any, start: Any) -> None:
    model = random_model(N, noise=pp.Gaussian(0.7, temporal=temporal), start=start)
    steps = 1 if temporal == "frozen" else T
    told = budget(model, steps, runs=4, public_start=True)
    # Runs are independent given x₀, so their joint law has a block for each.
    one = outputs_law(model, steps).information().diagonal()
    np.testing.assert_allclose(told.table["information"], 4 * one, rtol=1e-9)
    assert told.mu == pytest.approx(2 * math.sqrt(one.max()))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_runs_and_steps_of_white_noise_compose_alike(law: type[pp.noise.Noise]) -> None:
    model = random_model(N, noise=law(5.0), start=np.zeros(N))
    pd.testing.assert_frame_equal(budget(model, 3, runs=7).table, budget(model, 21).table)


def test_several_runs_in_continuous_time_add_up() -> None:
    equation = pp.SDE(random_model(N, noise=pp.Gaussian(5.0), start=np.zeros(N)), step=0.1)
    assert budget(equation, T, runs=9).mu == pytest.approx(3 * budget(equation, T).mu)


@pytest.mark.parametrize("runs", [0, -1, 2.5, True])
def test_runs_are_counted(runs: Any) -> None:
    with pytest.raises(InvalidInputError, match="runs must be a whole number of at least 1"):
        budget(random_model(N, noise=pp.Gaussian()), T, runs=runs)


def test_a_budget_says_what_it_assumes() -> None:
    model = pp.Model(pp.networks.complete(3), hidden=[0.0, 40.0, 100.0], noise=pp.Gaussian(10.0))
    told = budget(model, 12, runs=20)
    terms = told.definition.terms
    assert list(terms) == list(DEFINITION)
    assert "at most Δ = 1;" in terms["neighbouring inputs"]
    assert "steps 1 to 12" in terms["observer"]
    assert "20 runs" in terms["runs"]
    assert "not observed" in terms["start"]
    (warning,) = told.definition.warnings
    assert "range over 100" in warning
    words = " ".join(str(told).split())
    assert all(sentence in words for sentence in [*terms.values(), warning])
    assert not budget(model, 12, sensitivity=100.0).definition.warnings
    assert "steps 0 to 12" in budget(model, 12, sees_start=True).definition.terms["observer"]


@pytest.mark.parametrize(("std", "delta"), [(30.0, 0.2), (100.0, 0.1)])
def test_epsilon_is_never_negative(std: float, delta: float) -> None:
    told = budget(random_model(N, noise=pp.Laplace(std), start=np.zeros(N)), 10, delta=delta)
    assert told.epsilon >= 0
    assert (told.table["epsilon_low"] <= told.table["epsilon"]).all()


SCENARIO = """[network]
generator = "cycle"
n = 7
[agents]
start = {start}
[noise]
law = "gaussian"
std = 5.0
[run]
steps = 40
replicates = 20
record = "{record}"
[privacy]
[output]
figures = false
report = {report}
"""


def ran(
    capfd: pytest.CaptureFixture[str],
    folder: Path,
    *options: str,
    start: str = '"hidden"',
    record: str = "all",
    report: str = "false",
) -> Any:
    file = folder / "study.toml"
    file.write_text(SCENARIO.format(start=start, record=record, report=report), encoding="utf-8")
    return command(capfd, "run", file, *options)


HELD = "contains hidden opinions and the seed of all noise: for study, not for release"


def test_a_run_prints_the_epsilon_of_what_it_records_and_what_that_contains(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    answer, folder = ran(capfd, tmp_path, report="true"), tmp_path / "study-results"
    words = " ".join(answer.out.split())
    assert "ε of the recorded data ∞ at δ = 1e-05 and Δ = 1, 20 runs with y₀" in words
    assert "ε of one run, y₀ unobserved" in words
    # Two lines point to the page, which has the definition and its limits.
    assert "meaning of ε" in words
    assert "report.html" in words
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "20 runs with y" in page
    assert "changes by at most Δ = 1;" in page
    assert all(limit in page for limit in RUN_LIMITS)
    table = pd.read_csv(folder / "budget.csv")
    assert np.isinf(table["epsilon_recorded"]).all()
    assert np.isfinite(table["epsilon"]).all()
    assert (table["delta"] == 1e-5).all()
    assert (table["sensitivity"] == 1).all()
    assert HELD in words
    assert HELD in page
    assert HELD in (folder / "scenario.toml").read_text(encoding="utf-8").splitlines()[1]
    with xarray.open_dataset(folder / "run.nc") as data:
        assert data.attrs["contents"] == HELD


@pytest.mark.parametrize(
    ("start", "record"), [('{ law = "uniform", low = 0.5, high = 0.5 }', "all"), ('"hidden"', "final")]
)
def test_recorded_replicates_multiply_what_is_released(
    start: str, record: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = ran(capfd, tmp_path, "--json", start=start, record=record).json["privacy"]
    assert told["one_run"]["runs"] == 1
    assert told["recorded"]["runs"] == 20
    assert told["recorded"]["epsilon"] > 2 * told["one_run"]["epsilon"]
    assert list(told["recorded"]["definition"]) == list(DEFINITION)


def test_json_tells_an_infinite_epsilon_from_an_unknown_one(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    whole = ran(capfd, tmp_path, "--json").json
    assert whole["contains_hidden_opinions"] is True
    told = whole["privacy"]
    assert told["recorded"]["epsilon"] == "infinite"
    assert told["recorded"]["sees_start"] is True
    for account in told.values():
        assert all(limit in " ".join(account["definition"].values()) for limit in RUN_LIMITS)


@pytest.mark.parametrize(("law", "bounded"), [("gaussian", False), ("laplace", True), ("rademacher", True)])
def test_a_report_labels_bounds(law: str, bounded: bool) -> None:
    data = {
        "network": {"generator": "cycle", "n": 5},
        "agents": {"hidden": [0.0, 1.0, 2.0, 3.0, 4.0]},
        "noise": {"law": law, "std": 2.0},
        "run": {"steps": 4},
        "privacy": {},
    }
    experiment = Experiment(scenario_from(data))
    rows = dict(privacy_numbers(experiment) + privacy_definition(experiment))
    assert rows["mean information"].startswith("at least ") == bounded
    assert ("exposure" in rows) == bounded
    assert set(DEFINITION) < set(rows)
    assert "range over 4" in rows["warning"]
    assert "seed" in rows["results folder"]


def test_a_report_gives_the_limit_of_finer_observers() -> None:
    data = {
        "network": {"generator": "k2"},
        "agents": {"hidden": [0.0, 1.0], "start": [0.0, 0.0]},
        "pressure": {"kind": "constant", "value": 1.0},
        "noise": {"law": "gaussian", "std": 5.0},
        "time": {"continuous": True, "step": 5.0},
        "run": {"steps": 10},
        "privacy": {},
    }
    experiment = Experiment(scenario_from(data))
    rows = dict(privacy_numbers(experiment) + privacy_definition(experiment))
    assert rows["ε of one run, y₀ unobserved"].startswith("4.2")
    assert rows["ε of one run, all times"].startswith("6.5")
    assert "finer observer" in rows["grid"]


def test_a_scenario_whose_start_reveals_opinions_is_refused_before_it_runs(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "people.csv").write_text("agent,opinion\n" + "".join(f"{i},{i * i}\n" for i in range(7)))
    column = '{ file = "people.csv", column = "opinion" }'
    answer = ran(capfd, tmp_path, start=f"{column}\nhidden = {column}")
    assert answer.status == 2
    assert "does not depend on the hidden opinions" in answer.err
    assert not (tmp_path / "study-results").exists()
    # `check` runs nothing, and knows it all the same.
    checked = command(capfd, "check", tmp_path / "study.toml")
    assert checked.status == 2
    assert "does not depend on the hidden opinions" in checked.out


def test_what_is_wrong_with_agents_is_told_once(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    answer = ran(capfd, tmp_path, start='{ file = "nowhere.csv", column = "opinion" }')
    assert answer.status == 2
    assert answer.err.count("nowhere.csv") == 1


def test_a_run_without_states_contains_no_hidden_opinions() -> None:
    # A run without states has no hidden opinions in it, but its noise can be repeated.
    brief = pp.simulate(random_model(N, noise=pp.Gaussian()), 3, record="summaries").to_xarray()
    assert brief.attrs["contents"] == "contains the seed of all noise: for study, not for release"


def test_a_run_prints_the_epsilon_of_its_observer(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    text = (
        SCENARIO.format(start='"hidden"', record="all", report="false")
        + "[observe]\nagents = [0]\nmethods = ['kalman']\n"
    )
    file.write_text(text, encoding="utf-8")
    told = command(capfd, "run", file, "--json").json["privacy"]
    model = Experiment(scenario_from(tomllib.loads(text))).model
    assert told["observer"]["epsilon"] == pytest.approx(budget(model, 40, observed=[0]).epsilon)
    assert told["observer"]["epsilon"] < told["one_run"]["epsilon"]
    assert "1 of 7 agents" in told["observer"]["definition"]["observer"]
    words = " ".join(command(capfd, "run", file).out.split())
    assert "ε against the observer" in words
    assert "observer" not in ran(capfd, tmp_path, "--json").json["privacy"]


def test_an_observer_without_an_account_is_told_why() -> None:
    data = tomllib.loads(SCENARIO.format(start="0.5", record="all", report="false"))
    data |= {"observe": {"times": [3, 5]}, "privacy": {"insiders": [1]}}
    experiment = Experiment(scenario_from(data))
    rows = dict(privacy_numbers(experiment) + privacy_definition(experiment))
    assert "not computed: insiders observe every step" in rows["ε against the observer"]
