"""Answers on a grid that nobody declared: detected, said by every method, and never where a model makes a grid."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.fitting import fit
from peerpressure.recovery import METHODS, Observation, answers_of, diagnose_fit, infer_network, recover
from peerpressure.recovery.digits import spacing_of, undeclared_rounding

FROZEN = pp.Gaussian(0.3, temporal="frozen")
METHOD = [name for name in METHODS if name != "kalman"]


def cycle(noise: pp.noise.Noise = FROZEN, **parts: Any) -> pp.Model:
    return pp.Model(pp.networks.cycle(11), np.linspace(0, 1, 11) ** 1.5, noise=noise, **parts)


def rounded(run: pp.Trajectory, decimals: int) -> pp.Trajectory:
    assert run.states is not None
    return replace(run, states=np.round(run.states, decimals))


def detected(model: pp.Model, run: pp.Trajectory, look: Observation | None = None) -> float | None:
    return undeclared_rounding(model, answers_of(run, model, look))


@pytest.mark.parametrize("decimals", [2, 6, 11])
def test_the_filter_says_that_frozen_outputs_lack_digits(decimals: int) -> None:
    model = cycle()
    run = rounded(pp.simulate(model, 20, seed=1), decimals)
    try:
        estimate = recover(run, model, "kalman")
    except InvalidInputError as error:
        assert "rounding of" in str(error)  # noqa: PT017 — either the note or the error names the remedy
        return
    spacing = f"{10.0**-decimals:.10g}"
    assert f"grid of spacing {spacing}" in estimate.note
    assert f"declare a rounding of {spacing}" in str(estimate)
    # What is advised is right.
    declared = recover(run, model, "kalman", Observation(rounding=10.0**-decimals))
    assert (np.abs(declared.residuals()) < 5 * declared.std).all()
    assert "grid" not in declared.note


@pytest.mark.parametrize("method", METHOD)
def test_methods_that_refuse_name_rounding_first(method: str) -> None:
    model = cycle()
    with pytest.raises(InvalidInputError, match="declare a rounding of 1e-06"):
        recover(rounded(pp.simulate(model, 20, seed=1), 6), model, method)


@pytest.mark.parametrize("method", METHOD)
def test_other_contradictions_still_blame_the_model(method: str) -> None:
    model = cycle()
    other = replace(model, network=pp.networks.path(11))
    with pytest.raises(InvalidInputError, match=r"check network|check that model") as caught:
        recover(pp.simulate(model, 20, seed=1), other, method)
    assert "grid" not in str(caught.value)


def test_diagnostics_say_it() -> None:
    model = cycle()
    diagnostics = diagnose_fit(rounded(pp.simulate(model, 20, seed=1), 6), model)
    assert len(diagnostics.notes) == 1
    assert "grid of spacing 1e-06" in str(diagnostics)
    assert diagnose_fit(pp.simulate(model, 20, seed=1), model).notes == ()


def test_missing_outputs_and_parts_of_agents_are_read_alike() -> None:
    model = cycle()
    run = rounded(pp.simulate(model, 20, 2, seed=1), 5)
    states = np.array(run.states)
    states[:, 7, 3] = np.nan
    assert detected(model, replace(run, states=states)) == pytest.approx(1e-5)
    assert detected(model, run, Observation(agents=[1, 4])) == pytest.approx(1e-5)
    assert detected(model, run, Observation(rounding=1e-5)) is None
    single = replace(run, states=np.round(np.asarray(run.states), 2).astype(np.float32))
    assert detected(model, single) == pytest.approx(1e-2)


def test_one_output_off_the_grid_is_no_grid() -> None:
    model = cycle()
    run = rounded(pp.simulate(model, 20, seed=1), 5)
    states = np.array(run.states)
    states[0, 15, 3] += np.pi * 1e-7
    assert detected(model, replace(run, states=states)) is None


@pytest.mark.parametrize("levels", [3, 4, 7])
def test_answers_on_a_scale_of_any_spacing_are_a_grid(levels: int) -> None:
    model = cycle(pp.Gaussian(0.3), pressure=pp.Constant(0.5))
    run = pp.simulate(model, 60, seed=1)
    states = 0.2 + np.rint(np.clip(np.asarray(run.states), 0, 1) * (levels - 1)) / (levels - 1)
    run = replace(run, states=states)
    assert detected(model, run) == pytest.approx(1 / (levels - 1))
    for unknown in (("pressure",), ("std",)):
        fitted = fit(answers_of(run, model), model, unknown, pieces=(1,))
        assert any("grid of spacing" in note for note in fitted.notes)
        assert "grid of spacing" in fitted.estimate.note
        assert "grid of spacing" in str(fitted)
    assert "grid of spacing" in recover(run, model, "ols").note
    found_network = infer_network(run, model.pressure)
    assert found_network.spacing == pytest.approx(1 / (levels - 1))
    assert any("grid of spacing" in note for note in found_network.notes)


def test_digits_that_do_no_harm_are_not_mentioned() -> None:
    model = cycle(pp.Gaussian(0.3))
    run = rounded(pp.simulate(model, 60, seed=1), 6)
    data = answers_of(run, model)
    assert spacing_of(data) == pytest.approx(1e-6)
    assert detected(model, run) is None
    assert infer_network(run, model.pressure).spacing == 0.0
    # After sixty steps the noise of an output is 0.0025.
    assert detected(model, rounded(run, 2)) == pytest.approx(1e-2)


@pytest.mark.parametrize("noise", [FROZEN, pp.Gaussian(0.3), pp.Laplace(0.3), pp.Gaussian(0.3, temporal=pp.AR1(0.99))])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e3, 1e8, 1e13])
def test_exact_outputs_of_any_size_have_all_their_digits(noise: pp.noise.Noise, scale: float) -> None:
    model = replace(cycle(replace(noise, std=0.3 * scale)), hidden=scale * np.linspace(0, 1, 11))
    for record in (None, np.float32):
        run = pp.simulate(model, 12, seed=3)
        states = np.asarray(run.states) if record is None else np.asarray(run.states, dtype=record)
        assert spacing_of(answers_of(replace(run, states=states), replace(model, start="hidden"))) is None


HONEST: dict[str, dict[str, Any]] = {
    "zealots": {"hidden": [0, 1] * 3, "stubbornness": [np.inf] * 6, "noise": pp.NoNoise()},
    "zealots and noise of none": {"hidden": [0, 1] * 3, "stubbornness": [np.inf] * 6, "noise": pp.Gaussian(0.0)},
    "integers": {"hidden": range(6), "noise": pp.NoNoise(), "pressure": pp.Constant(0.0)},
    "halves": {"hidden": [0.0, 1.0] * 3, "noise": pp.NoNoise(), "pressure": pp.Constant(0.5)},
    "random signs": {"hidden": range(6), "noise": pp.noise.Rademacher(0.5), "pressure": pp.Constant(0.0)},
    "noise below the digits": {"hidden": range(6), "noise": pp.Gaussian(1e-20), "pressure": pp.Constant(0.0)},
    "frozen below the digits": {"hidden": range(6), "noise": pp.Gaussian(1e-20, temporal="frozen")},
    "noise of one agent": {"hidden": range(6), "noise": pp.Gaussian([0.3, 0, 0, 0, 0, 0]), "pressure": 0.0},
    "kept opinions": {"hidden": range(6), "noise": pp.Gaussian(0.3), "activation": "single"},
}


@pytest.mark.parametrize("case", HONEST)
def test_opinions_that_are_on_a_grid_of_their_own_raise_no_alarm(case: str) -> None:
    model = pp.Model(pp.networks.cycle(6), **HONEST[case])
    run = pp.simulate(model, 10, seed=1)
    assert "grid" not in recover(run, model, "kalman").note
    assert diagnose_fit(run, model).notes == ()


def test_decimals_of_kept_opinions_are_found() -> None:
    rng = np.random.default_rng(0)
    model = pp.Model(pp.networks.cycle(6), rng.uniform(size=6), noise=FROZEN, activation=rng.random((40, 6)) < 0.3)
    assert detected(model, pp.simulate(model, 40, seed=1)) is None
    assert detected(model, rounded(pp.simulate(model, 40, seed=1), 3)) == pytest.approx(1e-3)


def test_without_noise_a_grid_that_contradicts_the_model_is_named() -> None:
    model = cycle(pp.NoNoise())
    run = rounded(pp.simulate(model, 20, seed=1), 6)
    assert "grid of spacing 1e-06" in recover(run, model, "kalman").note
    with pytest.raises(InvalidInputError, match="a rounding of 1e-06"):
        recover(run, model, "innovations")


def test_outputs_in_continuous_time() -> None:
    equation = pp.SDE(cycle(pp.Gaussian(0.3)), step=0.1)
    run = pp.simulate(equation, 2, seed=1)
    assert "grid" not in recover(run, equation, "kalman").note
    assert "grid of spacing 0.1" in recover(rounded(run, 1), equation, "kalman").note
