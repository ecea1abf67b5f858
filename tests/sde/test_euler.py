"""Euler–Maruyama: the discrete model at step 1, its own moments, and the orders at which it comes to the equation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.typing import ArrayLike

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.model.step import Array
from peerpressure.sde import SDE, euler_moments, euler_step, moments_at
from peerpressure.sde.euler import shrinking_steps, step_count, weak_errors, with_step
from peerpressure.simulation.engine.narrow import draw_narrow
from peerpressure.simulation.engine.plan import STREAM_FRESH, draw_of
from tests.builders import SCHEDULES, random_model

STD = np.linspace(0.0, 2.0, 23)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_step_of_length_one_is_the_discrete_model(name: str) -> None:
    model = random_model(pressure=SCHEDULES[name], noise=pp.Gaussian(STD, time_scale="1 + 1/(1 + t)"))
    sde = SDE(model, step=1.0, scaling="model")
    rng = np.random.default_rng(0)
    for k in (1, 2, 30):
        y, z = rng.normal(size=(2, 23))
        expected = model.update(k)(y, STD * float(model.noise.scale(k)) * z)
        np.testing.assert_allclose(euler_step(sde, k, y, z), expected, rtol=1e-13, atol=1e-14)


def test_the_moments_are_those_of_the_steps() -> None:
    sde = SDE(random_model(5, noise=pp.Gaussian(np.linspace(0, 1, 5))), step=0.3)
    *_, (mean, covariance) = euler_moments(sde, 4)
    silent = sde.start_state
    for k in range(1, 5):
        silent = euler_step(sde, k, silent, np.zeros(5))
    np.testing.assert_allclose(mean, silent, rtol=1e-13)
    # The state is linear in the noise: its response to each draw by itself gives the covariance.
    total = np.zeros((5, 5))
    for at in range(1, 5):
        batch = np.tile(sde.start_state[:, None], (1, 5))
        for k in range(1, 5):
            batch = euler_step(sde, k, batch, np.eye(5) * (k == at))
        response = batch - silent[:, None]
        total += response @ response.T
    np.testing.assert_allclose(covariance, total, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("scaling", ["printed", "model"])
@pytest.mark.parametrize("name", ["linear", "power", "constant", "formula"])
def test_weak_errors_are_of_order_one(name: str, scaling: str) -> None:
    sde = SDE(random_model(6, pressure=SCHEDULES[name], noise=pp.Gaussian(0.8)), scaling=scaling)  # type: ignore[arg-type]
    errors = weak_errors(sde, 2.0, steps=[1 / 64, 1 / 128])
    assert observed_order(errors["step"], errors["mean_error"]) == pytest.approx(1.0, abs=0.05)
    assert observed_order(errors["step"], errors["std_error"]) == pytest.approx(1.0, abs=0.05)


def strong_errors(
    sde: SDE, until: float, steps: Sequence[float], *, replicates: int, seed: int, finer: int
) -> pd.DataFrame:
    """Return how far Euler's paths are at time ``until`` from the path that the same noise drives in fine steps.

    All lengths of step share one Brownian motion: its increments over the finest steps, ``finer`` times as short as the
    shortest of ``steps``, are summed over longer ones. Columns are step, error (root mean square over agents and
    replicates) and standard_error, by replicates.
    """
    # The reference path has an error of its own, 1/``finer`` of that of the finest step, as the order is 1.
    reference = min(steps) / finer
    lengths = [step_count(h, reference) for h in steps]
    paths = _coupled_paths(sde, until, reference, [*lengths, 1], replicates, seed)
    # Averaged over agents first: they are dependent, while replicates are independent and give the standard error.
    squares = [np.mean((path - paths[-1]) ** 2, axis=0) for path in paths[:-1]]
    rows = []
    for h, square in zip(steps, squares, strict=True):
        error = math.sqrt(float(square.mean()))
        spread = float(square.std(ddof=1)) / math.sqrt(replicates)
        # Delta method: the standard error of a square root is that of the square over twice the root.
        rows.append((h, error, spread / (2 * error) if error else 0.0))
    return pd.DataFrame(rows, columns=["step", "error", "standard_error"])


def _coupled_paths(
    sde: SDE, until: float, reference: float, lengths: list[int], replicates: int, seed: int
) -> list[Array]:
    """Return final states (agents, replicates) of Euler paths whose steps are these multiples of the finest."""
    draw, drawn = draw_of(sde.noise, seed), np.zeros((replicates, sde.n))
    equations = [with_step(sde, length * reference) for length in lengths]
    start = np.tile(sde.start_state[:, None], (1, replicates))
    # One array for all is safe, since a step returns a new one.
    paths = [start] * len(lengths)
    gathered = np.zeros((len(lengths), sde.n, replicates))
    for k in range(1, step_count(until, reference) + 1):
        draw_narrow(draw, k, 0, STREAM_FRESH, drawn)
        gathered += drawn.T
        for i, length in enumerate(lengths):
            if k % length == 0:
                # A sum of ``length`` unit increments, scaled back to the unit variance that a step expects.
                z = gathered[i] / math.sqrt(length)
                paths[i] = euler_step(equations[i], k // length, paths[i], z)
                gathered[i] = 0.0
    return paths


def observed_order(steps: ArrayLike, errors: ArrayLike) -> float:
    """Return the slope of log error against log step, by least squares."""
    return float(np.polyfit(np.log(np.asarray(steps, float)), np.log(np.asarray(errors, float)), 1)[0])


def test_strong_errors_are_of_order_one_because_noise_is_additive() -> None:
    sde = SDE(random_model(4, noise=pp.Gaussian(1.0)))
    errors = strong_errors(sde, 1.0, steps=[1 / 4, 1 / 8, 1 / 16], replicates=100, seed=3, finer=16)
    assert observed_order(errors["step"], errors["error"]) == pytest.approx(1.0, abs=0.1)
    assert (errors["standard_error"] < 0.1 * errors["error"]).all()


def test_the_strong_error_of_one_step_has_a_closed_form() -> None:
    # Without pressure each agent is alone: dy = (x − y) dt + σ dw, and one step of 1 is compared with N of 1/N.
    model = pp.Model(pp.networks.k2(), [0.0, 0.0], pressure=0.0, noise=pp.Gaussian(2.0))
    finer, count = 64, 4_000
    errors = strong_errors(SDE(model), 1.0, steps=[1.0], replicates=count, seed=1, finer=finer)
    weights = 1 - (1 - 1 / finer) ** np.arange(finer)[::-1]
    expected = 2.0 * np.sqrt(np.sum(weights**2) / finer)
    assert abs(errors["error"][0] - expected) < 5 * errors["standard_error"][0]


def test_shrinking_steps_lead_from_the_discrete_model_to_the_equation() -> None:
    model = random_model(5, noise=pp.Gaussian(0.5))
    sde = SDE(model, scaling="model")
    table = shrinking_steps(sde, 4.0, np.eye(5)[2], steps=[1.0, 0.25])
    assert sorted(table["step"].unique()) == [0.0, 0.25, 1.0]
    discrete, exact = pp.moments(model, 4), moments_at(sde, [4.0])
    last = table[table["time"] == 4.0].set_index("step")
    assert last.loc[1.0, "mean"] == pytest.approx(discrete.mean[-1, 2], rel=1e-12)
    assert last.loc[1.0, "std"] == pytest.approx(discrete.std[-1, 2], rel=1e-12)
    assert last.loc[0.0, "mean"] == pytest.approx(exact.mean[0, 2], rel=1e-9)
    assert last.loc[0.0, "std"] == pytest.approx(exact.variance[0, 2] ** 0.5, rel=1e-9)
    start = table[table["time"] == 0.0]
    assert (start["std"] == 0).all()
    assert np.allclose(start["mean"], model.x0[2])


def test_steps_must_lead_to_the_end() -> None:
    assert step_count(2.0, 0.1) == 20
    with pytest.raises(InvalidInputError, match=r"a whole number of steps must lead to 2, got steps of 0\.3"):
        weak_errors(SDE(random_model(4)), 2.0, steps=[0.3])
    assert with_step(SDE(random_model(4)), 0.25).path_method == "euler"


def test_step_one_with_the_printed_scaling_is_another_model() -> None:
    model = random_model(4, stubbornness=np.full(4, 2.0), noise=pp.Gaussian(1.0))
    printed = SDE(model, step=1.0)
    *_, (_, covariance) = euler_moments(printed, 3)
    *_, (_, twice) = euler_moments(replace(printed, scaling="model"), 3)
    np.testing.assert_allclose(twice, 4 * covariance, rtol=1e-12)
