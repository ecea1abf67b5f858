"""Adaptation, temporal networks and correlated noise in continuous time, against dense integration of their laws."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.sde import (
    euler_moments,
    exact_density,
    exact_transitions,
    moments_at,
    moments_of,
    solve_density,
    stationary,
    transition,
)
from peerpressure.sde.moments import state_path
from peerpressure.simulation.engine.plan import STREAM_FROZEN
from tests.oracles import fresh_draw
from tests.sde import extended
from tests.sde.extended import CASES, STD, X0, Case, N, law

TIMES = np.array([0.5, 2.0, 3.5])


def kept(case: Case) -> NDArray[np.int64]:
    """Return which entries of (y, x, u) are in the state of the equation."""
    at = case.sde.layout
    return np.concatenate([np.arange(N), N + np.arange(N * at.has_hidden), 2 * N + np.arange(N * at.has_memory)])


@pytest.mark.parametrize("name", CASES)
def test_moments_solve_the_equations_of_the_whole_state(name: str) -> None:
    case = CASES[name]
    sde = case.sde
    entries = kept(case)
    for t, (mean, covariance) in zip(TIMES, state_path(sde, TIMES), strict=True):
        expected = law(case, float(t))
        np.testing.assert_allclose(mean, expected[0][entries], atol=2e-10)
        np.testing.assert_allclose(covariance, expected[1][np.ix_(entries, entries)], atol=2e-10)
    weights = np.array([[1.0, 0, -1, 0, 0], [0.2] * N])
    W = np.zeros((2, 3 * N))
    W[:, :N] = weights
    result = moments_of(sde, weights, TIMES[[-1]])
    np.testing.assert_allclose(result.mean[0], W @ expected[0], atol=2e-10)
    np.testing.assert_allclose(result.covariance, W @ expected[1] @ W.T, atol=2e-10)
    np.testing.assert_allclose(moments_at(sde, TIMES).variance[-1], np.diag(expected[1])[:N], atol=2e-10)
    both = moments_of(sde, np.concatenate([weights, weights[::-1]], axis=1), TIMES[[-1]])
    W[:, N : 2 * N] = weights[::-1]
    np.testing.assert_allclose(both.mean[0], W @ expected[0], atol=2e-10)
    np.testing.assert_allclose(both.covariance, W @ expected[1] @ W.T, atol=2e-10)


@pytest.mark.parametrize("name", CASES)
def test_exact_steps_have_the_law_of_the_equation(name: str) -> None:
    case = CASES[name]
    sde, entries = case.sde, kept(case)
    F, Q = extended.transition(case, 2.0, 3.5)
    # Constant hidden opinions are an input, M, and otherwise a part of the state.
    step = transition(sde, 2.0, 3.5)
    np.testing.assert_allclose(step.matrix, F[np.ix_(entries, entries)], atol=1e-11)
    hidden = 0.0 if case.rate else F[np.ix_(entries, np.arange(N, 2 * N))]
    np.testing.assert_allclose(step.hidden, np.broadcast_to(hidden, step.hidden.shape), atol=1e-11)
    np.testing.assert_allclose(step.shift, step.hidden @ sde.x0, atol=1e-11)
    np.testing.assert_allclose(step.covariance, Q[np.ix_(entries, entries)], atol=1e-11)
    np.testing.assert_allclose(step.root @ step.root.T, step.covariance, atol=1e-12)
    first, *_, last = exact_transitions(sde, 8, 10)
    assert (first.begin, last.end) == (1.75, 2.5)


def _z(case: Case, run: pp.Trajectory, t: float) -> float:
    """Return the largest deviation of sample moments from the law, in standard errors."""
    mean, covariance = law(case, t)
    assert run.states is not None
    sample = run.states[:, -1]
    if run.hidden_path is not None:
        sample = np.concatenate([sample, run.hidden_path[:, -1]], axis=1)
    m, P, R = mean[: sample.shape[1]], covariance[: sample.shape[1], : sample.shape[1]], len(sample)
    of_mean = np.abs(sample.mean(axis=0) - m) / np.sqrt(np.diag(P) / R)
    found = (sample - m).T @ (sample - m) / R
    of_covariance = np.abs(found - P) / np.sqrt((P**2 + np.outer(np.diag(P), np.diag(P))) / R)
    return float(max(of_mean.max(), of_covariance.max()))


@pytest.mark.parametrize("name", ["all", "frozen", "adaptation", "keep"])
def test_exact_paths_are_draws_from_the_law(name: str) -> None:
    case = CASES[name]
    run = pp.simulate(case.sde, 14, 2000, seed=3)
    assert run.step_error == 0.0
    # About 65 numbers, alpha 1e-4.
    assert _z(case, run, 3.5) < 4.9


@pytest.mark.parametrize("method", ["exact", "euler"])
def test_runs_are_resumed_as_if_never_interrupted(method: Literal["exact", "euler"]) -> None:
    for case in (CASES["all"], CASES["frozen"]):
        sde = replace(case.sde, method=method)
        whole = pp.simulate(sde, 14, 3, seed=3)
        part = pp.simulate(sde, 9, start=pp.simulate(sde, 5, 3, seed=3))
        assert whole.states is not None
        assert part.states is not None
        np.testing.assert_array_equal(part.states, whole.states[:, 5:])
        np.testing.assert_array_equal(part.final.public, whole.final.public)
        if whole.hidden_path is not None:
            np.testing.assert_array_equal(part.hidden_path, whole.hidden_path[:, 5:])


@pytest.mark.parametrize("name", CASES)
def test_euler_steps_of_the_engine_are_those_of_the_equation(name: str) -> None:
    case = CASES[name]
    sde, steps, seed = replace(case.sde, method="euler", scaling="printed"), 14, 5
    run, at = pp.simulate(sde, steps, 2, seed=seed), sde.layout
    assert run.states is not None
    state = np.concatenate([case.start_state, X0[: N * at.has_hidden], np.zeros(N * at.has_memory)])
    phi = case.phi**sde.step
    for k in range(1, steps + 1):
        t = k * sde.step
        H, _ = case.coefficients(t, math.ceil(t - 1e-9))
        z = fresh_draw(sde.model, k, 1, seed)
        if at.has_memory and k == 1:
            state[at.memory] = fresh_draw(sde.model, 0, 1, seed, STREAM_FROZEN)
        y, x = state[at.public], state[at.hidden] if at.has_hidden else X0
        size = np.diag(H[:N, N : 2 * N]) * STD / sde.s * (1 + 0.1 * t)
        if at.has_memory:
            state[at.memory] = phi * state[at.memory] + np.sqrt(1 - phi**2) * z
        noise = sde.step * size * state[at.memory] if at.has_memory else np.sqrt(sde.step) * size * z
        state[at.public] = y + sde.step * (H[:N, :N] @ y + H[:N, N : 2 * N] @ x) + noise
        if at.has_hidden:
            state[at.hidden] = x + sde.step * np.diag(H[N : 2 * N, :N]) * (state[at.public] - x)
        np.testing.assert_allclose(run.states[1, k], state[at.public], atol=1e-13)
        if run.hidden_path is not None:
            np.testing.assert_allclose(run.hidden_path[1, k], state[at.hidden], atol=1e-13)


@pytest.mark.parametrize("name", ["all", "adaptation, coloured", "temporal"])
def test_euler_moments_converge_to_the_law(name: str) -> None:
    case = CASES[name]
    mean, covariance = law(case, 2.0)
    errors = []
    for h in (1 / 32, 1 / 64):
        *_, (m, P) = euler_moments(replace(case.sde, step=h, method="euler"), round(2 / h))
        errors.append(max(np.abs(m - mean[:N]).max(), np.abs(P - covariance[:N, :N]).max()))
    assert errors[1] < 0.02
    assert errors[1] < 0.6 * errors[0]


@pytest.mark.parametrize("name", ["adaptation", "coloured", "frozen", "temporal", "all"])
def test_an_euler_step_of_length_one_is_the_discrete_model(name: str) -> None:
    sde = replace(CASES[name].sde, step=1.0, method="euler")
    here, there = (pp.simulate(system, 7, 2, seed=4).states for system in (sde, sde.model))
    assert here is not None
    assert there is not None
    np.testing.assert_allclose(here, there, atol=1e-14)


@pytest.mark.parametrize("name", ["adaptation", "adaptation, temporal"])
def test_a_grid_of_the_fokker_planck_equation_agrees_with_the_law(name: str) -> None:
    case = CASES[name]
    found = solve_density(case.sde, [0.7, 2.5], [0], cells=200, time_step=0.1)
    mean, covariance = law(case, 2.5)
    assert found.exact[-1].mean[0] == pytest.approx(mean[0], abs=1e-9)
    assert found.exact[-1].covariance[0, 0] == pytest.approx(covariance[0, 0], abs=1e-9)
    assert found.error() < 4e-3
    assert found.density.shape[0] == 2


def test_correlated_noise_has_densities_but_no_diffusion() -> None:
    case = CASES["all"]
    density, (mean, covariance) = exact_density(case.sde, 2.5, [0, 2]), law(case, 2.5)
    np.testing.assert_allclose(density.mean, mean[[0, 2]], atol=1e-9)
    np.testing.assert_allclose(density.covariance, covariance[np.ix_([0, 2], [0, 2])], atol=1e-9)
    with pytest.raises(InvalidInputError, match=r"needs noise that diffuses opinions.*use exact_density"):
        solve_density(case.sde, [0.7, 2.5], [0])


def test_stationary_law_of_correlated_noise() -> None:
    for phi in (0.6, 1.0):
        model = replace(Case(phi=phi).sde.model, pressure=pp.Constant(2.0))
        model = replace(model, noise=pp.Gaussian(STD, temporal=pp.AR1(phi) if phi < 1 else "frozen"))
        mean, covariance = stationary(pp.SDE(model), 1.0)
        late = moments_at(pp.SDE(model), [80.0])
        np.testing.assert_allclose(mean, late.mean[0], atol=1e-6)
        np.testing.assert_allclose(covariance, late.covariance, atol=1e-6)
    with pytest.raises(InvalidInputError, match="no stationary law"):
        stationary(CASES["adaptation"].sde, 1.0)


def test_noise_that_is_unbounded_at_first() -> None:
    """A weight t^(−γ) of u gathers t^(1−γ)/(1−γ) at once, and its variance is known where nothing else moves."""
    model = pp.Model(pp.networks.k2(), [0.0, 0.0], pressure=0.0)
    for temporal, gamma, exponent, weight in (("frozen", 0.7, 0.6, 0.3), ("white", 0.3, 0.4, None)):
        noise = pp.Gaussian(1.0, time_scale=f"t^(-{gamma})", temporal=temporal)
        sde, t = pp.SDE(replace(model, noise=noise)), 1e-7
        expected = t**exponent / (weight**2 if weight else exponent)
        step = transition(sde, 0.0, t)
        spread = step.matrix[0, -2] ** 2 if weight else step.covariance[0, 0]
        for found in (spread, moments_at(sde, [t]).variance[0, 0], moments_of(sde, [1.0, 0.0], [t]).variance[0, 0]):
            assert found == pytest.approx(expected, rel=3e-6)
