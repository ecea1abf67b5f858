"""Unknown parameters: found within intervals that cover as often as they claim, or refused with the reason."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.cli import data as command
from peerpressure.fitting import fit
from peerpressure.fitting._parameters import UNKNOWNS
from peerpressure.recovery import Observation, answers_of, limits
from peerpressure.recovery.innovations import innovations
from tests.builders import random_model

REPLICATES = 3
CASES: dict[str, tuple[pp.schedules.Schedule, tuple[str, ...]]] = {
    "both": (pp.Linear(0.4), ("std", "stubbornness")),
    "slope": (pp.Linear(0.4), ("slope",)),
    "stubbornness and exponent": (pp.Power(0.7, 0.4), ("stubbornness", "exponent")),
}


def six(pressure: pp.schedules.Schedule, **parts: Any) -> pp.Model:
    values: dict[str, Any] = {"noise": pp.Gaussian(0.7), "pressure": pressure, "start": np.linspace(-1, 1, 6)}
    return random_model(6, 3, **(values | parts))


def truth(model: pp.Model, name: str) -> Any:
    return (
        {"std": model.noise.std, "stubbornness": model.s}[name]
        if name in ("std", "stubbornness")
        else getattr(model.pressure, name)
    )


@pytest.mark.parametrize("case", CASES)
def test_parameters_are_found_and_their_errors_are_calibrated(case: str) -> None:
    pressure, unknown = CASES[case]
    model = six(pressure)
    fitted = fit(answers_of(pp.simulate(model, 80, REPLICATES, seed=3), model), model, unknown)
    for name, parameter in fitted.parameters.items():
        inside = (parameter.low <= truth(model, name)) & (truth(model, name) <= parameter.high)
        assert inside.mean() > 0.6
        assert ((parameter.low < parameter.value) & (parameter.value < parameter.high)).all()
    assert np.mean((fitted.hidden.low <= model.x0) & (model.x0 <= fitted.hidden.high)) >= 0.75
    fine = np.isfinite(fitted.hidden.std)
    assert 0.6 < np.sqrt(np.mean((fitted.estimate.residuals() / fitted.hidden.std)[fine] ** 2)) < 1.6


def test_with_nothing_unknown_it_is_the_average_of_innovations() -> None:
    model = six(pp.Linear())
    data = answers_of(pp.simulate(model, 30, 3, seed=1), model)
    one, other = fit(data, model).estimate, innovations(model, data)
    np.testing.assert_allclose(one.value, other.value, atol=1e-9)
    np.testing.assert_allclose(one.variance, other.variance, atol=1e-9)


def test_noise_by_agent_is_known_up_to_its_size() -> None:
    std = np.linspace(0.2, 1.2, 6)
    model = six(pp.Linear(), noise=pp.Gaussian(3 * std))
    data = answers_of(
        pp.simulate(six(pp.Linear(), noise=pp.Gaussian(std)), 200, 2), six(pp.Linear(), noise=pp.Gaussian(std))
    )
    parameter = fit(data, model, ["std"]).parameters["std"]
    assert parameter.value.shape == (2, 6)
    assert (np.abs(parameter.value - std) < 4 * parameter.std).all()


def test_who_sees_the_start_knows_x0_and_finds_the_rest() -> None:
    model = six(pp.Linear(0.4), start="hidden")
    data = answers_of(pp.simulate(model, 100, 4, seed=2), model, Observation(sees_start=True))
    fitted = fit(data, model, ("std", "stubbornness"))
    np.testing.assert_allclose(fitted.estimate.residuals(), 0.0, atol=1e-12)
    s = fitted.parameters["stubbornness"]
    # 6 agents in 4 replicates: 95 % of 24, within four standard errors.
    assert np.mean((s.low <= model.s) & (model.s <= s.high)) > 0.75


def test_agents_seen_too_little_are_named() -> None:
    model = six(pp.Linear(0.4))
    run = pp.simulate(model, 60, 2, seed=2)
    assert run.states is not None
    states = run.states.copy()
    states[:, 1:, 5] = np.nan
    fitted = fit(answers_of(replace(run, states=states), model), model, ("stubbornness",))
    assert not fitted.identifiable.any()
    assert np.isinf(fitted.hidden.std[:, 5]).all()
    np.testing.assert_array_equal(np.isinf(fitted.parameters["stubbornness"].std[0]), ~fitted.estimate.identified)


def test_a_fit_reads_as_a_table_and_as_a_line() -> None:
    model = six(pp.Linear(0.4))
    fitted = fit(answers_of(pp.simulate(model, 40, 2, seed=2), model), model, ("std", "stubbornness"))
    table = fitted.to_dataframe()
    assert list(table.columns) == ["parameter", "agent", "replicate", "value", "std", "low", "high", "identified"]
    # Whole numbers stay labels, and what all agents share names none.
    assert table["agent"][:2].tolist() == [None, None]
    assert [type(agent) for agent in table["agent"][2:]] == [int] * 24
    assert table["parameter"].value_counts().to_dict() == {"std": 2, "stubbornness": 12, "hidden": 12}
    assert "std" in repr(fitted)
    assert "2 replicates" in repr(fitted)


@pytest.mark.parametrize(
    ("pressure", "unknown", "match"),
    [
        (pp.Linear(), ("slope", "stubbornness"), "common factor changes nothing"),
        (pp.Power(1.0), ("slope",), "needs Linear"),
        (pp.Linear(), ("exponent",), "needs Power"),
        (pp.Linear(), ("noise",), "unknowns must be among"),
        (pp.Linear(), "std", "unknowns must be among"),
        (pp.Constant(0.0), ("stubbornness",), "agents with neighbours and peer pressure"),
        (pp.Linear(), ("pressure", "stubbornness"), "common factor"),
        (pp.Linear(), ("agent_std", "stubbornness"), "only the first steps"),
        (pp.Linear(), ("agent_std", "std"), "which it contains"),
        (pp.Linear(), ("slope", "pressure"), "at most one"),
    ],
)
def test_what_outputs_cannot_settle_is_refused(pressure: pp.schedules.Schedule, unknown: Any, match: str) -> None:
    model = six(pressure)
    with pytest.raises(pp.errors.InvalidInputError, match=match):
        fit(answers_of(pp.simulate(model, 20), model), model, unknown)


def test_an_offset_sets_the_unit_of_stubbornness() -> None:
    model = six(pp.Linear(0.3, 2.0))
    fitted = fit(answers_of(pp.simulate(model, 200, 2, seed=1), model), model, ("slope", "stubbornness"))
    slope = fitted.parameters["slope"]
    assert ((slope.low < 0.3) & (slope.high > 0.3)).all()


@pytest.mark.parametrize(("steps", "unknown"), [(1, ("std",)), (1, ("stubbornness",)), (2, ("std", "stubbornness"))])
def test_too_few_steps_are_refused(steps: int, unknown: tuple[str, ...]) -> None:
    model = six(pp.Linear())
    with pytest.raises(pp.errors.InvalidInputError, match="observe longer"):
        fit(answers_of(pp.simulate(model, steps), model), model, unknown)


def test_a_fit_needs_something_to_find_and_a_network_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    model = six(pp.Linear(), start="hidden")
    with pytest.raises(pp.errors.InvalidInputError, match="something must be unknown"):
        fit(answers_of(pp.simulate(model, 9), model, Observation(sees_start=True)), model)
    monkeypatch.setattr(limits, "FIT_NUMBERS", 50)
    with pytest.raises(pp.errors.TooLargeError, match="50 answers"):
        fit(answers_of(pp.simulate(model, 9), model), model, ("std",))


def _survey(still: bool) -> tuple[pp.Model, np.ndarray]:
    """Return six waves of people of whom some have no friends, or some and all their friends never move."""
    rng, ties = np.random.default_rng(1), pp.networks.barabasi_albert(9, 2, seed=1).adjacency.toarray()
    rows = rng.uniform(1, 5, 9) + 0.5 * rng.standard_normal((6, 9))
    if still:
        rows[:, np.r_[8, np.flatnonzero(ties[8])]] = 3.0
    else:
        ties[8] = ties[:, 8] = 0
    return pp.Model(pp.Network(ties), pressure=1.0, noise=pp.Gaussian(0.5)), rows


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("still", [False, True])
@pytest.mark.parametrize("unknown", [("stubbornness",), ("std", "stubbornness")])
def test_agents_of_whom_a_survey_says_nothing_are_left_as_they_are(still: bool, unknown: tuple[str, ...]) -> None:
    model, rows = _survey(still)
    found = fit(rows, model, unknown)
    assert np.isnan(found.parameters["stubbornness"].value[0, 8])
    assert not found.parameters["stubbornness"].identified[0, 8]
    assert found.model.s[8] == 1.0
    assert found.diagnostics is not None
    assert "nan" not in found.summary()
    assert found.log_likelihood[0] < 100


@pytest.mark.parametrize(
    ("unknown", "settled"), [("std", {"size"}), ("agent_std", {"size", "agents", "outlier"}), ("constant", set())]
)
def test_a_fit_is_not_tested_for_what_it_has_fitted(unknown: str, settled: set[str]) -> None:
    model = six(pp.Constant(0.5))
    tests = fit(pp.simulate(model, 30, seed=1), model, (unknown,)).diagnostics
    assert tests is not None
    assert {name for name, p in tests.tests.items() if p is None} == settled
    assert tests.p_value is not None


@pytest.mark.filterwarnings("error")
def test_intervals_without_an_end_say_so() -> None:
    found = fit(_survey(True)[1][:3], pp.Model(pp.Network(np.zeros((9, 9))), noise=pp.Gaussian(1.0)), ("constant",))
    assert "constant" in found.summary()
    assert "nan" not in found.summary()


@pytest.mark.parametrize(
    ("rows", "unknown", "match"),
    [
        (2, ("std", "stubbornness"), "needs 2 steps or more .* got at most 1 for an agent"),
        (3, ("std", "stubbornness"), "and all together 1 more, got 0 more"),
        (1, ("std",), "needs 1 step or more"),
    ],
)
def test_what_is_missing_is_counted(rows: int, unknown: tuple[str, ...], match: str) -> None:
    model, survey = _survey(False)
    with pytest.raises(pp.errors.InvalidInputError, match=match):
        fit(survey[:rows], model, unknown)


@pytest.mark.parametrize("noise", [pp.Laplace(1.0), pp.Gaussian(1.0, temporal="frozen"), pp.NoNoise()])
def test_parameters_need_gaussian_noise_that_changes(noise: pp.noise.Noise) -> None:
    model = six(pp.Linear(), noise=noise)
    with pytest.raises(pp.errors.InvalidInputError, match="Gaussian noise that every agent has"):
        fit(answers_of(pp.simulate(model, 20), model), model, ("std",))


def test_outputs_without_two_steps_in_a_row_are_refused_in_words() -> None:
    model = pp.Model(pp.networks.cycle(5), hidden=range(5), noise=pp.Gaussian(1.0))
    run = pp.simulate(model, 10, seed=1)
    with pytest.raises(pp.errors.InvalidInputError, match="observed from beginning to end"):
        fit(run, model, ("std",), observation=pp.Observation(times=[2, 4, 6]))


def test_every_row_of_the_table_is_in_the_documentation_and_among_the_options() -> None:
    option = get_type_hints(command.fit, include_extras=True)["unknown"].__metadata__[0].help
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "observer.md").read_text()
    for name in UNKNOWNS:
        assert f'"{name}"' in (fit.__doc__ or "")
        assert re.search(rf"\b{name}\b", option)
        assert re.search(rf"^\| .*`{name}`.* \|", page, re.MULTILINE)
