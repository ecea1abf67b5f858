"""Exact moments against closed forms, a dense fine recursion, the adjoint, and the laws that they obey."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import integrate, linalg

import peerpressure as pp
from peerpressure.errors import InvalidInputError, ScheduleError
from peerpressure.model.step import Array
from peerpressure.sde import SDE, euler_moments, moments, moments_at, moments_of
from peerpressure.sde.moments import adjoint_moments
from tests.builders import SCHEDULES, random_model

TIMES = np.array([0.25, 1.0, 3.6])


def two_agents(t: float, hidden: tuple[float, float], start: tuple[float, float], sigma: float) -> tuple[Array, Array]:
    """Return mean and covariance for K₂ with s = w = 1 and ρ = t, in its two modes u = (y₁ + y₂)/2, w = (y₁ − y₂)/2.

    u′ = (x̄ − u)/(1 + t) and w′ = δ/(1 + t) − (1 + 2t)/(1 + t) w, both with noise of variance ½σ²/(1 + t)².
    """
    x, delta = np.mean(hidden), (hidden[0] - hidden[1]) / 2
    u = x + (np.mean(start) - x) / (1 + t)
    gathered = integrate.quad(lambda a: math.exp(2 * (a - t)) / (1 + a) ** 2, 0, t, epsabs=1e-14)[0]
    w = (1 + t) * (math.exp(-2 * t) * (start[0] - start[1]) / 2 + delta * gathered)
    noise = integrate.quad(lambda a: math.exp(4 * (a - t)) / (1 + a) ** 4, 0, t, epsabs=1e-14)[0]
    of_u, of_w = sigma**2 / 2 * t / (1 + t) ** 2, sigma**2 / 2 * (1 + t) ** 2 * noise
    return np.array([u + w, u - w]), np.array([[of_u + of_w, of_u - of_w], [of_u - of_w, of_u + of_w]])


def test_two_agents_have_a_closed_form() -> None:
    model = pp.Model(pp.networks.k2(), [1.0, 4.0], noise=pp.Gaussian(0.8), start=[2.0, -1.0])
    law = moments_at(SDE(model), [0.5, 2.0, 12.0])
    for i, t in enumerate((0.5, 2.0, 12.0)):
        mean, covariance = two_agents(t, (1.0, 4.0), (2.0, -1.0), 0.8)
        np.testing.assert_allclose(law.mean[i], mean, rtol=1e-10)
        np.testing.assert_allclose(law.variance[i], np.diag(covariance), rtol=1e-10)
    np.testing.assert_allclose(law.covariance, covariance, rtol=1e-10)


@pytest.mark.parametrize("scaling", ["printed", "model"])
def test_constant_pressure_is_an_ornstein_uhlenbeck_process(scaling: str) -> None:
    model = random_model(9, pressure=1.7, noise=pp.Gaussian(np.linspace(0.2, 1.4, 9)), start=np.linspace(-1, 3, 9))
    sde = SDE(model, scaling=scaling)  # type: ignore[arg-type]
    B, b = sde.drift(1.0)
    fixed, settled = np.linalg.solve(B.toarray(), b), stationary_by_lyapunov(sde)
    # Late steps are as long as stability allows, and their errors as large as the tolerance.
    for t, rtol in ((0.3, 1e-9), (4.0, 1e-9), (60.0, 1e-8)):
        F = linalg.expm(-t * B.toarray())
        law = moments_at(sde, [t])
        np.testing.assert_allclose(law.mean[0], fixed + F @ (model.start_state - fixed), rtol=rtol, atol=1e-9)
        np.testing.assert_allclose(law.covariance, settled - F @ settled @ F.T, rtol=rtol, atol=1e-12)


def stationary_by_lyapunov(sde: SDE) -> Array:
    B, G = sde.drift(1.0)[0].toarray(), sde.noise_size(1.0)
    return np.asarray(linalg.solve_continuous_lyapunov(B, np.diag(G**2)))


@pytest.mark.parametrize("name", SCHEDULES)
def test_fine_steps_lead_to_the_same_moments(name: str) -> None:
    noise = pp.Gaussian(np.linspace(0.0, 1.0, 7), time_scale=pp.Power(0.3))
    sde = SDE(random_model(7, pressure=SCHEDULES[name], noise=noise, start=np.arange(7.0)))
    # Euler's error is c·h + O(h²); two steps cancel the first term.
    coarse, fine = ([*euler_moments(replace(sde, step=h), round(3 / h))][-1] for h in (1 / 100, 1 / 200))
    law = moments_at(sde, [3.0])
    np.testing.assert_allclose(law.mean[0], 2 * fine[0] - coarse[0], atol=1e-3)
    np.testing.assert_allclose(law.covariance, 2 * fine[1] - coarse[1], atol=1e-4)


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_adjoint_agrees_with_the_whole_covariance(name: str) -> None:
    noise = pp.Gaussian(np.linspace(0.0, 1.0, 7), time_scale=pp.schedules.Table(np.linspace(0.5, 2.0, 4)))
    sde = SDE(random_model(7, pressure=SCHEDULES[name], noise=noise, start=np.arange(7.0)))
    weights = np.random.default_rng(1).normal(size=(2, 7))
    mean, variance, covariance = adjoint_moments(sde, weights, TIMES)
    law = moments_at(sde, TIMES)
    np.testing.assert_allclose(mean, law.mean @ weights.T, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(covariance, weights @ law.covariance @ weights.T, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(variance[-1], np.diag(covariance))


def test_few_sums_and_many_times_give_the_same_by_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    sde = SDE(random_model(12, noise=pp.Gaussian(1.0)))
    weights = np.random.default_rng(2).normal(size=(2, 12))
    times = np.linspace(0.0, 3.0, 9)
    many, few = moments_of(sde, weights, times), moments_of(sde, weights, times[-5:])
    for whole, part in zip(many, few, strict=True):
        np.testing.assert_allclose(whole[-part.shape[0] :], part, rtol=1e-8, atol=1e-10)
    monkeypatch.setattr(moments, "BLOCK", 50)  # two times a run
    np.testing.assert_allclose(adjoint_moments(sde, weights, times)[1], many.variance, rtol=1e-8, atol=1e-10)


def test_a_network_too_large_for_its_covariance() -> None:
    n = 3_000
    model = pp.Model(pp.networks.cycle(n), np.cos(2 * np.pi * np.arange(n) / 3), pressure=2.0, noise=pp.Gaussian(0.6))
    sde = SDE(model)
    mode = np.cos(2 * np.pi * np.arange(n) / 3)
    law = moments_of(sde, np.stack([np.full(n, 1 / n), mode * 2 / n]), [1.5])
    # The modes of a cycle are its waves: C has 4/5·cos(2π/3) = −2/5 on this one, 4/5 on the mean; G is 3/25.
    slow, fast = 1 / 5, 7 / 5
    np.testing.assert_allclose(law.mean[0], [0.0, np.exp(-fast * 1.5) + 0.2 / fast * -np.expm1(-fast * 1.5)], atol=1e-9)
    G2 = (0.6 / 5) ** 2
    expected = [G2 / n * -np.expm1(-2 * slow * 1.5) / (2 * slow), 2 * G2 / n * -np.expm1(-2 * fast * 1.5) / (2 * fast)]
    np.testing.assert_allclose(law.variance[0], expected, rtol=1e-8)
    with pytest.raises(InvalidInputError, match="up to 1,000 of them, got 3,000; ask for some weighted sums"):
        moments_at(sde, [1.0])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.floats(-50, 50), st.floats(0.1, 20))
def test_shifting_and_scaling_opinions_moves_the_mean_and_nothing_else(seed: int, shift: float, factor: float) -> None:
    model = random_model(5, seed, noise=pp.Gaussian(0.4))
    moved = replace(model, hidden=factor * model.x0 + shift)
    before, after = moments_at(SDE(model), [2.0]), moments_at(SDE(moved), [2.0])
    np.testing.assert_allclose(after.mean, factor * before.mean + shift, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(after.covariance, before.covariance, rtol=1e-7)


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(6)))
def test_agents_have_no_numbers(order: list[int]) -> None:
    model = random_model(6, noise=pp.Gaussian(np.linspace(0.1, 1, 6)))
    A = model.network.adjacency.toarray()[np.ix_(order, order)]
    turned = pp.Model(pp.Network(A), model.x0[order], model.s[order], noise=pp.Gaussian(np.linspace(0.1, 1, 6)[order]))
    before, after = (moments_at(SDE(one), [1.5]) for one in (model, turned))
    np.testing.assert_allclose(after.mean[0], before.mean[0][order], rtol=1e-8)
    np.testing.assert_allclose(after.covariance, before.covariance[np.ix_(order, order)], rtol=1e-7, atol=1e-11)


def test_time_zero_and_silence() -> None:
    model = random_model(5, start=np.arange(5.0))
    law = moments_at(SDE(model), [0.0, 1.0])
    np.testing.assert_array_equal(law.mean[0], np.arange(5.0))
    assert not law.variance.any()
    assert not law.covariance.any()
    noisy = moments_at(SDE(replace(model, noise=pp.Gaussian(1.0))), [0.0])
    assert not noisy.covariance.any()


@pytest.mark.parametrize("gamma", [0.1, 0.3, 0.45])
def test_noise_that_is_strongest_at_the_start(gamma: float) -> None:
    # Without pressure each agent is alone, with Var y = σ² ∫ e^(−2(t − a)) a^(−2γ) da.
    noise = pp.Gaussian(0.7, time_scale=pp.Power(-gamma))
    sde = SDE(pp.Model(pp.networks.k2(), [0.0, 1.0], pressure=0.0, noise=noise))
    expected = 0.49 * integrate.quad(lambda a: math.exp(2 * (a - 1.5)), 0, 1.5, weight="alg", wvar=(-2 * gamma, 0))[0]
    law = moments_at(sde, [0.0, 1.5])
    np.testing.assert_allclose(law.variance, [[0.0, 0.0], [expected, expected]], rtol=1e-8)
    _, variance, _ = adjoint_moments(sde, np.eye(2)[:1], np.array([0.0, 0.5, 1.5]))
    np.testing.assert_allclose(variance[[0, 2], 0], [0.0, expected], rtol=1e-8)
    assert not moments_at(sde, [0.0]).covariance.any()


def test_a_formula_that_jumps_is_followed_like_the_table_of_its_values() -> None:
    parts: dict[str, Any] = {"hidden": [0.0, 1.0], "stubbornness": [1.0, 2.0], "noise": pp.Gaussian(1.0)}
    formula, table = (pp.Model(pp.networks.k2(), pressure=p, **parts) for p in ("max(1, ceil(t))", [1.0, 2.0, 3.0]))
    one, other = (moments_at(SDE(model), [2.5]) for model in (formula, table))
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-8)
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-8)


@pytest.mark.parametrize("times", [[], [-1.0], [1.0, 1.0], [2.0, 1.0], [np.nan], [[1.0]], "soon"])
def test_bad_times_are_refused(times: object) -> None:
    with pytest.raises(InvalidInputError, match="increasing real numbers from 0 on"):
        moments_at(SDE(random_model(4)), times)  # type: ignore[arg-type]


def test_bad_weights_and_short_tables_are_refused() -> None:
    sde = SDE(random_model(4, pressure=[1.0, 2.0]))
    for weights in ([1.0, 2.0], [[1.0, 0.0, 0.0, np.nan]], "all"):
        with pytest.raises(InvalidInputError, match="rows of 4 finite numbers"):
            moments_of(sde, weights, 1.0)
    with pytest.raises(ScheduleError, match="2 values"):
        moments_at(sde, [3.0])
