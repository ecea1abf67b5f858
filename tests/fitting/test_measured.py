"""Comparisons of answers with errors: rounded, on a scale, and measured with noise of unknown size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

import peerpressure as pp
from peerpressure.cli import app
from peerpressure.errors import CancelledError, InvalidInputError, TooLargeError
from peerpressure.fitting._answer_likelihood import AnswerLikelihood
from peerpressure.fitting._courses import ADAPTING, course_of
from peerpressure.fitting._family import measured_likelihood, regressors_of
from peerpressure.fitting._integrated import fitted_law, integrated_height, sums_of
from peerpressure.fitting._parameters import Shared
from peerpressure.fitting._record import Errors, Panel, panel
from peerpressure.fitting._rivals import fit_average
from peerpressure.model import Model
from peerpressure.support.progress import announcing
from tests.fitting.long_records import graph, log_density, record, walk

Array = NDArray[np.float64]
RIVALS = ["none", "constant"]


def _panel(rows: Array, errors: Errors) -> Panel:
    network = graph(rows.shape[1])
    return panel(Model(network, np.zeros(network.n)), np.arange(1, len(rows) + 1), rows, errors=errors)


def _point(likelihood: AnswerLikelihood, own: list[float], noise: float = 0.2) -> Array:
    """Return coordinates: those of the course, and for the others any that are plausible."""
    values = {"spread": np.log(0.5), "measurement_noise": np.log(noise), "std": np.log(0.3)}
    rest = [values.get(name, 0.3) for name in likelihood.names[len(own) :]]
    return np.array([*own, *rest])


def _dense(data: Panel, likelihood: AnswerLikelihood, z: Array, noise: float) -> float:
    """Return the log density of the scored answers by matrices of all of them."""
    std, first, last = np.exp(z[-1]), likelihood.names.index("level 0"), likelihood.names.index("spread")
    centre = data.first.mean() + std * regressors_of(data) @ z[first:last]
    error = np.sqrt(noise**2 + likelihood.answers.spacing**2 / 12)
    return log_density(data, likelihood.shared(z), centre, std * np.exp(z[last]), std, error)


@pytest.mark.parametrize("adapts", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
def test_the_likelihood_is_the_density_of_answers_with_errors(adapts: bool, gaps: bool) -> None:
    rows = record(graph(6), 7, 3, lambda t: 0.5)
    if gaps:
        rows[[2, 4, 4], [1, 0, 3]] = np.nan
    data = _panel(rows, Errors(spacing=0.1, is_measured=True))
    likelihood = measured_likelihood(data, course_of(data, "linear" + ADAPTING * adapts))
    z = _point(likelihood, [-0.5, *([-2.0] * adapts)])
    height = likelihood.evidence(z[None])[0][0] - z @ likelihood.penalty
    assert height == pytest.approx(_dense(data, likelihood, z, 0.2), rel=1e-9)


def test_without_errors_it_is_the_likelihood_of_exact_answers() -> None:
    data = _panel(record(graph(8), 9, 3, lambda t: 0.5, hidden=np.linspace(-3, 3, 8)), Errors(spacing=1e-5))
    exact, course = replace(data, errors=None), course_of(data, "constant")
    likelihood = measured_likelihood(data, course)
    shared = Shared(course.rho(np.array([0.2]), np.zeros(data.length))[:, None])
    level = fitted_law(sums_of(exact, shared), exact.columns)
    assert level.spread > 0
    std = np.sqrt(level.variance)
    own = np.linalg.lstsq(regressors_of(data), (level.mean - data.first.mean()) / std, rcond=None)[0]
    z = np.array([0.2, *own, 0.5 * np.log(level.spread), np.log(std)])
    height = likelihood.evidence(z[None])[0][0] - z @ likelihood.penalty
    assert height == pytest.approx(integrated_height(exact, shared), rel=1e-6)


def test_measurement_noise_that_is_declared_does_not_hide_pressure() -> None:
    network = graph(10)
    rng = np.random.default_rng(1)
    rows = record(network, 50, 1, lambda t: 0.5, hidden=rng.uniform(0.2, 0.8, 10))
    rows = rows + 0.1 * rng.normal(size=rows.shape)
    ignored = pp.compare(rows, network, RIVALS).fits["constant"]
    found = pp.compare(rows, network, RIVALS, measurement_noise=True)
    fit = found.fits["constant"]
    assert ignored.parameters["pressure"].high[0] < 0.5
    assert fit.parameters["pressure"].low[0] < 0.5 < fit.parameters["pressure"].high[0]
    assert fit.measurement_noise is not None
    value, low, high = fit.measurement_noise
    assert low <= value <= high
    assert low < 0.1 < high
    assert found.best == "constant"
    assert "measurement noise" in list(found.parameters["parameter"])
    assert any(sentence.startswith("Answers have measurement errors") for sentence in found.sentences)
    assert found.p_value is None


def test_points_of_a_scale_are_ordered_categories() -> None:
    network = graph(10)
    rows = record(network, 40, 2, lambda t: 0.5, hidden=np.linspace(0.2, 0.8, 10))
    points = 1 + 4 * rows
    found = pp.compare(points, network, RIVALS, observation=pp.Observation(scale=(1, 5)))
    fit = found.fits["constant"]
    # The record itself was rounded to five points.
    assert set(np.unique(found.panel.rows)) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    assert fit.parameters["pressure"].low[0] < 0.5 < fit.parameters["pressure"].high[0]
    assert not any("grid" in note for note in found.notes)
    opinions = found.opinions
    truth = 1 + 4 * np.linspace(0.2, 0.8, 10)
    assert ((opinions["low"] < truth) & (truth < opinions["high"])).mean() >= 0.8
    assert found.model is not None
    assert np.isfinite(pp.simulate(found.model, 3, seed=1).final.public).all()


def test_averages_contain_the_walk() -> None:
    rows = walk(6, 40, 3)
    rows = rows + 0.2 * np.random.default_rng(1).normal(size=rows.shape)
    data = _panel(rows, Errors(is_measured=True))
    alone, average = (fit_average(data, alone=alone) for alone in (True, False))
    assert average.log_likelihood >= alone.log_likelihood - 0.05
    assert alone.error == pytest.approx(0.2, rel=0.25)
    assert alone.std == pytest.approx(0.1, rel=0.4)


def test_errors_of_measurement_are_not_told_from_the_noise_of_people_who_respond_to_nobody() -> None:
    found = pp.compare(record(graph(6), 12, 1), graph(6), ["none"], measurement_noise=True)
    assert "measurement errors cannot be distinguished from noise" in " ".join(found.sentences)
    assert not any("measurement errors of" in sentence for sentence in found.sentences)
    assert not {"noise std", "measurement noise"} & set(found.parameters["parameter"])


def test_models_of_the_user_and_pages_take_answers_with_errors() -> None:
    network = graph(6)
    rows = np.round(record(network, 12, 3, lambda t: 0.5), 1)
    mine = pp.Model(network, pressure=0.5, noise=pp.Gaussian(1.0))
    found = pp.compare(rows, network, ["none", mine], observation=pp.Observation(rounding=0.1))
    assert set(found.fits) == {"none", "model 1"}
    assert found.estimates(drawn=True).title == "Comparison of models"
    assert found.errors["error"].between(0, 1).all()


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"observation": pp.Observation(agents=[0])}, "all agents at all steps"),
        ({"observation": pp.Observation(first_step=3)}, "all agents at all steps"),
        ({"observation": (1, 5)}, "must be an Observation"),
        ({"measurement_noise": 0.1}, "must be True or False"),
        ({"observation": pp.Observation(scale=(1, 5)), "rivals": ["own-return"]}, "rivals of this record"),
    ],
)
def test_what_a_comparison_does_not_take_is_one_clear_line(given: dict[str, object], match: str) -> None:
    rows = np.clip(np.rint(1 + 4 * record(graph(6), 12, 3)), 1, 5)
    with pytest.raises(InvalidInputError, match=match):
        pp.compare(rows, graph(6), **given)  # type: ignore[arg-type]


def test_answers_off_the_scale_and_large_networks_are_refused() -> None:
    rows = np.clip(np.rint(1 + 4 * record(graph(6), 12, 3)), 1, 5)
    rows[3, 2] = 99
    with pytest.raises(InvalidInputError, match="scale from 1 to 5"):
        pp.compare(rows, graph(6), observation=pp.Observation(scale=(1, 5)))
    with pytest.raises(TooLargeError, match="up to 200 agents"):
        pp.compare(record(graph(201), 4, 3), graph(201), ["none"], measurement_noise=True)


def test_the_command_takes_the_options_of_fit(tmp_path: Path) -> None:
    network = graph(6)
    rows = np.clip(np.rint(1 + 4 * record(network, 12, 3, lambda t: 0.5)), 1, 5)
    frame = pd.DataFrame(rows, columns=[f"p{k}" for k in range(6)]).assign(time=np.arange(1, 13))
    frame.to_csv(tmp_path / "answers.csv", index=False)
    source, target, _ = network.edges()
    ties = pd.DataFrame({"source": [f"p{k}" for k in source], "target": [f"p{k}" for k in target]})
    ties.to_csv(tmp_path / "ties.csv", index=False)
    command = ["compare", str(tmp_path / "answers.csv"), "--network", str(tmp_path / "ties.csv"), "--rival", "none"]
    plain = CliRunner().invoke(app, command)
    assert "point of a scale" in plain.output
    declared = CliRunner().invoke(app, [*command, "--scale", "1:5"])
    assert declared.exit_code == 0
    assert "grid" not in declared.output
    wrong = CliRunner().invoke(app, [*command, "--scale", "5"])
    assert wrong.exit_code != 0


def _likert() -> tuple[Array, pp.Network]:
    """Return few answers of five points."""
    network = graph(8)
    model = Model(network, np.linspace(1, 5, 8), pressure=0.3, noise=pp.Gaussian(0.8))
    states = np.asarray(pp.simulate(model, 5, seed=2).states)[0, 1:]
    return np.clip(np.rint(states), 1, 5), network


def test_intervals_are_computed_on_one_thread_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    found: list[int] = []

    def watch() -> None:
        found.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")

    rows, network = _likert()
    answer = pp.compare(rows, network, RIVALS, observation=pp.Observation(scale=(1, 5)))
    monkeypatch.setattr("peerpressure.fitting._maximum.check_cancelled", watch)
    constant = answer.fits["constant"]
    with threadpool_limits(2, user_api="blas"):
        assert constant.parameters["pressure"].value.size
        assert len(answer.parameters)
        assert len(answer.opinions)
    if not found:
        pytest.skip("the threads of this library of linear algebra cannot be set")
    assert set(found) == {1}


def test_models_are_announced_while_they_are_fitted() -> None:
    shown: list[str] = []
    rows, network = _likert()
    with announcing(shown.append):
        answer = pp.compare(rows, network, RIVALS, observation=pp.Observation(scale=(1, 5)))
        assert "fitting none, model 1 of 2" in shown
        assert "fitting constant, model 2 of 2" in shown
        assert shown[-1] == ""
        assert len(answer.parameters)
        assert "how sure constant is" in shown
        assert shown[-1] == ""


def test_a_comparison_of_answers_stops_when_it_is_told_to() -> None:
    calls = 0

    def stop() -> bool:
        nonlocal calls
        calls += 1
        return calls > 50

    rows, network = _likert()
    with pytest.raises(CancelledError):
        pp.compare(rows, network, ["constant"], observation=pp.Observation(scale=(1, 5)), should_stop=stop)
    assert calls == 51
