"""Unknown parameters: found within their standard errors, which are calibrated, or refused with the reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.recovery import Observation, Prior, outputs_of
from peerpressure.recovery._innovations import innovations
from peerpressure.recovery._likelihood import fit, likelihood
from peerpressure.recovery._unknowns import LikelihoodFit
from tests.builders import random_model
from tests.recovery.cases import Array

REPLICATES = 30
CASES: dict[str, tuple[pp.schedules.Schedule, tuple[str, ...]]] = {
    "std": (pp.Linear(0.4), ("std",)),
    "stubbornness": (pp.Linear(0.4), ("stubbornness",)),
    "both": (pp.Linear(0.4), ("std", "stubbornness")),
    "slope": (pp.Linear(0.4), ("slope",)),
    "std and slope": (pp.Linear(0.4), ("std", "slope")),
    "exponent": (pp.Power(0.7, 0.4), ("exponent",)),
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
    found = fit(model, outputs_of(model, pp.simulate(model, 120, REPLICATES, seed=3)), unknown)
    assert found.identifiable.all()
    for name, parameter in found.parameters.items():
        z = (parameter.value - truth(model, name)) / parameter.std
        assert np.mean(np.abs(z) < 4) > 0.98
        assert 0.7 < np.sqrt(np.mean(z**2)) < 1.4
    z = found.estimate.residuals() / found.hidden_std
    assert 0.85 < np.sqrt(np.mean(z**2)) < 1.15
    np.testing.assert_allclose(found.estimate.std, found.hidden_std.mean(axis=0), rtol=0.2)


def test_with_nothing_unknown_it_is_the_average_of_innovations() -> None:
    model = six(pp.Linear())
    data = outputs_of(model, pp.simulate(model, 30, 3, seed=1))
    one, other = fit(model, data).estimate, innovations(model, data)
    np.testing.assert_allclose(one.value, other.value, atol=1e-9)
    np.testing.assert_allclose(one.variance, other.variance, atol=1e-9)


def direct_log_likelihood(model: pp.Model, states: Array, x0: Array) -> float:
    """Return Σ log p(y_t given y_{t−1}) as the model defines it."""
    total = 0.0
    for t in range(1, len(states)):
        update = model.update(t)
        mean = update.gain * x0 + update.couple(states[t - 1])
        std = update.gain * model.noise.deviations(model.n) * float(model.noise.scale(t))
        total += float((-0.5 * ((states[t] - mean) / std) ** 2 - np.log(std) - 0.5 * np.log(2 * np.pi)).sum())
    return total


def rebuilt(model: pp.Model, found: LikelihoodFit, shift: dict[str, Array]) -> tuple[pp.Model, Array]:
    """Return the model at the fitted parameters, moved by a shift, and the fitted x₀, moved too."""
    at = {name: p.value[0] + shift.get(name, 0.0) for name, p in found.parameters.items()}
    pressure = pp.Power(float(at["exponent"]), 0.4) if "exponent" in at else model.pressure
    parts: dict[str, Any] = {"stubbornness": at.get("stubbornness", model.s), "pressure": pressure}
    noise = pp.Gaussian(float(at.get("std", 0.7)), time_scale=model.noise.time_scale)
    moved = pp.Model(model.network, model.x0, noise=noise, start=model.start_state, **parts)
    return moved, found.estimate.value[0] + shift.get("hidden", np.zeros(model.n))


def test_maximum_and_curvature_are_those_of_the_likelihood_itself() -> None:
    model = six(pp.Power(0.7, 0.4), noise=pp.Gaussian(0.7, time_scale=pp.Power(-0.2)))
    run = pp.simulate(model, 100, seed=9)
    assert run.states is not None
    found = fit(model, outputs_of(model, run), ("std", "stubbornness", "exponent"))
    n = model.n
    sizes = {"std": 1, "stubbornness": n, "exponent": 1, "hidden": n}

    def height(step: Array) -> float:
        pieces = np.split(step, np.cumsum(list(sizes.values()))[:-1])
        shift = {name: piece if sizes[name] > 1 else piece[0] for name, piece in zip(sizes, pieces, strict=True)}
        return direct_log_likelihood(*_order(rebuilt(model, found, shift)))

    def _order(pair: tuple[pp.Model, Array]) -> tuple[pp.Model, Array, Array]:
        assert run.states is not None
        return pair[0], run.states[0], pair[1]

    errors = [found.parameters["std"].std, found.parameters["stubbornness"].std[0], found.parameters["exponent"].std]
    unit = np.diag(1e-2 * np.concatenate([*errors, found.hidden_std[0]]))
    top = height(np.zeros(len(unit)))
    assert top == pytest.approx(found.log_likelihood[0], rel=1e-10)
    ahead, behind = (np.array([height(sign * row) for row in unit]) for sign in (1, -1))
    assert (np.abs(ahead - behind) < 2e-3 * np.abs(ahead + behind - 2 * top) ** 0.5).all()
    mixed = np.zeros((len(unit), len(unit)))
    for i, j in zip(*np.triu_indices(len(unit)), strict=True):
        a, b = unit[i], unit[j]
        mixed[i, j] = mixed[j, i] = (height(a + b) - height(a - b) - height(b - a) + height(-a - b)) / 4
    covariance = np.linalg.inv(-mixed) * 1e-4
    np.testing.assert_allclose(np.sqrt(covariance.diagonal()), 1.0, rtol=0.02)


def test_noise_by_agent_is_known_up_to_its_size() -> None:
    std = np.linspace(0.2, 1.2, 6)
    model = six(pp.Linear(), noise=pp.Gaussian(3 * std))
    data = outputs_of(
        six(pp.Linear(), noise=pp.Gaussian(std)), pp.simulate(six(pp.Linear(), noise=pp.Gaussian(std)), 200, 2)
    )
    parameter = fit(model, data, ["std"]).parameters["std"]
    assert parameter.value.shape == (2, 6)
    assert (np.abs(parameter.value - std) < 4 * parameter.std).all()


def test_who_sees_the_start_knows_x0_and_finds_the_rest() -> None:
    model = six(pp.Linear(0.4), start="hidden")
    data = outputs_of(model, pp.simulate(model, 100, 20, seed=2), Observation(sees_start=True))
    found = fit(model, data, ("std", "stubbornness"))
    np.testing.assert_allclose(found.estimate.residuals(), 0.0, atol=1e-12)
    z = (found.parameters["stubbornness"].value - model.s) / found.parameters["stubbornness"].std
    assert 0.7 < np.sqrt(np.mean(z**2)) < 1.4


def test_agents_seen_too_little_are_named() -> None:
    model = six(pp.Linear(0.4))
    run = pp.simulate(model, 60, 2, seed=2)
    assert run.states is not None
    states = run.states.copy()
    states[:, 1:, 5] = np.nan
    found = fit(model, outputs_of(model, replace(run, states=states)), ("stubbornness",))
    assert not found.identifiable.any()
    assert np.isinf(found.hidden_std[:, 5]).all()
    np.testing.assert_array_equal(np.isinf(found.parameters["stubbornness"].std[0]), ~found.estimate.identified)


def test_the_estimate_alone_and_with_a_prior() -> None:
    model = six(pp.Linear(0.4))
    data = outputs_of(model, pp.simulate(model, 40, 2, seed=2))
    joint = likelihood(model, data, unknown=("std",))
    np.testing.assert_allclose(joint.value, fit(model, data, ("std",)).estimate.value)
    assert "std" in joint.note
    assert (likelihood(model, data, Prior(0.0, 0.1), ("std",)).variance < joint.variance).all()


def test_a_fit_reads_as_a_table_and_as_a_line() -> None:
    model = six(pp.Linear(0.4))
    found = fit(model, outputs_of(model, pp.simulate(model, 40, 2, seed=2)), ("std", "stubbornness"))
    table = found.to_dataframe()
    assert list(table.columns) == ["parameter", "agent", "replicate", "value", "std"]
    assert len(table) == 2 + 2 * 6
    assert "std" in repr(found)
    assert "2 replicates" in repr(found)


@pytest.mark.parametrize(
    ("pressure", "unknown", "match"),
    [
        (pp.Linear(), ("slope", "stubbornness"), "one factor changes nothing"),
        (pp.Power(1.0), ("slope",), "needs Linear"),
        (pp.Linear(), ("exponent",), "needs Power"),
        (pp.Linear(), ("noise",), "among std"),
        (pp.Linear(), "std", "among std"),
        (pp.Constant(0.0), ("stubbornness",), "settle every unknown"),
    ],
)
def test_what_outputs_cannot_settle_is_refused(pressure: pp.schedules.Schedule, unknown: Any, match: str) -> None:
    model = six(pressure)
    with pytest.raises(pp.errors.InvalidInputError, match=match):
        fit(model, outputs_of(model, pp.simulate(model, 20)), unknown)


def test_an_offset_sets_the_unit_of_stubbornness() -> None:
    model = six(pp.Linear(0.3, 2.0))
    found = fit(model, outputs_of(model, pp.simulate(model, 200, 2, seed=1)), ("slope", "stubbornness"))
    assert (np.abs(found.parameters["slope"].value - 0.3) < 4 * found.parameters["slope"].std).all()


@pytest.mark.parametrize(("steps", "unknown"), [(1, ("std",)), (1, ("stubbornness",)), (2, ("std", "stubbornness"))])
def test_too_few_steps_are_refused(steps: int, unknown: tuple[str, ...]) -> None:
    model = six(pp.Linear())
    with pytest.raises(pp.errors.InvalidInputError, match="observe longer"):
        fit(model, outputs_of(model, pp.simulate(model, steps)), unknown)


def test_a_fit_needs_something_to_find_and_a_network_that_fits() -> None:
    model = six(pp.Linear(), start="hidden")
    with pytest.raises(pp.errors.InvalidInputError, match="something must be unknown"):
        fit(model, outputs_of(model, pp.simulate(model, 9), Observation(sees_start=True)))
    large = pp.Model(pp.networks.cycle(1001), np.zeros(1001), noise=pp.Gaussian(1.0))
    with pytest.raises(pp.errors.TooLargeError, match="1,000 agents"):
        fit(large, outputs_of(large, pp.simulate(large, 9)), ("std",))


@pytest.mark.parametrize("noise", [pp.Laplace(1.0), pp.Gaussian(1.0, temporal=pp.AR1(0.3)), pp.NoNoise()])
def test_parameters_need_white_gaussian_noise(noise: pp.noise.Noise) -> None:
    model = six(pp.Linear(), noise=noise)
    with pytest.raises(pp.errors.InvalidInputError, match="white Gaussian"):
        fit(model, outputs_of(model, pp.simulate(model, 20)), ("std",))
