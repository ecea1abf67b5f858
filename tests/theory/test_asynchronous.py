"""The long run where it is random who updates, against naive recursions of mean and covariance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.theory import Outcome, ReasonCode, Regime

N = 7
SIGMA = 0.3


def directed_network() -> pp.Network:
    rng = np.random.default_rng(5)
    A = (rng.random((N, N)) < 0.5) * rng.uniform(0.5, 2.0, (N, N))
    np.fill_diagonal(A, 0.0)
    A[np.arange(N), (np.arange(N) + 1) % N] = 1.0
    return pp.Network(A, directed=True)


def recursion(model: pp.Model, steps: int) -> dict[int, tuple[float, float, float]]:
    """Return bias, variance of the weighted mean with π/q, and spread of the means, at the last three octaves."""
    A, s, x, n = model.network.adjacency.toarray(), model.s, model.x0, model.n
    assert model.activation is not None
    q, d = model.activation.probabilities, A.sum(axis=1)
    masks = np.diag(q) - 1 / n**2 if model.activation.kind == "single" else np.diag(q * (1 - q))
    values, vectors = np.linalg.eig((A / d[:, None]).T)
    pi = np.real(vectors[:, np.argmax(values.real)])
    w = pi / q / np.sum(pi / q)
    v = np.sum(pi * s / d * x) / np.sum(pi * s / d)
    assert model.kappa == pytest.approx(np.sum(pi * s / d) / pi.sum() / np.sum(pi / pi.sum() / q))
    assert model.consensus_value == pytest.approx(v)
    np.testing.assert_allclose(model.mode_weights, w)
    y, P, out = x.copy(), np.zeros((n, n)), {}
    for t in range(1, steps + 1):
        rho = float(model.pressure(t))
        g, D = s / (s + rho * d), (rho / (s + rho * d))[:, None] * A - np.eye(n)
        change, noise = g * x + D @ y, g * SIGMA * (not model.noise.is_zero)
        both = D @ P @ D.T + np.diag(noise**2) + np.outer(change, change)
        lazy = np.eye(n) + q[:, None] * D
        P = lazy @ P @ lazy.T + np.diag((q * noise) ** 2) + masks * both
        y = y + q * change
        if t in (steps // 2, steps):
            out[t] = float(w @ y - v), float(w @ P @ w), float(np.ptp(y))
    return out


@pytest.mark.parametrize(("activation", "ratio"), [(0.3, 2.0), ("each", 0.25), ("single", 2.0)])
def test_value_and_exponents_are_those_of_the_recursion(activation: Any, ratio: float) -> None:
    rng = np.random.default_rng(1)
    given = rng.uniform(0.2, 0.9, N) if activation == "each" else activation
    parts: dict[str, Any] = {"activation": given, "noise": pp.Gaussian(SIGMA)}
    base = pp.Model(directed_network(), rng.random(N), rng.uniform(0.5, 2.0, N), **parts)
    model = pp.Model(base.network, base.hidden, base.s, pp.Linear(base.kappa / ratio), **parts)
    steps = 3_000
    found = recursion(model, steps)
    measured = np.log2(np.abs(np.divide(found[steps // 2], found[steps])))
    verdict = pp.diagnose(model)
    assert verdict.outcome is Outcome.CONSENSUS
    assert verdict.kappa == model.kappa
    assert verdict.rate.ratio == pytest.approx(ratio)
    laws = (verdict.rate.bias, verdict.rate.variance, verdict.rate.disagreement)
    expected = [law.exponent for law in laws if law is not None]
    assert expected == pytest.approx([min(1.0, ratio), min(1.0, 2 * ratio), 1.0])
    np.testing.assert_allclose(measured, expected, atol=0.03)
    # The exact moments are the same recursion.
    exact = pp.moments(model, 200, of=pp.theory.consensus_mode(model))
    short = recursion(model, 200)[200]
    np.testing.assert_allclose([exact.mean[0, 0] - model.consensus_value, exact.variance[0, 0]], short[:2], rtol=1e-9)


@pytest.mark.parametrize(("pressure", "noise"), [(pp.Power(2.0), pp.NoNoise()), (pp.Power(1.5), pp.Gaussian(0.5))])
def test_fast_pressure_has_a_random_limit_and_no_oscillation(pressure: Any, noise: Any) -> None:
    model = pp.Model(pp.networks.path(4), [0.0, 1.0, 0.2, 0.9], pressure=pressure, noise=noise, activation=0.5)
    assert pp.diagnose(model.synchronous).outcome is Outcome.OSCILLATION
    verdict = pp.diagnose(model)
    limit = verdict.consensus_limit
    assert verdict.outcome is Outcome.BIASED_CONSENSUS
    assert ReasonCode.RANDOM_LIMIT in [reason.code for reason in verdict.reasons]
    assert limit is not None
    count = 2_000
    final = pp.simulate(model, 600, replicates=count, seed=2, record="final").final.public
    assert np.ptp(final, axis=1).max() < 5e-3
    values = final.mean(axis=1)
    left = model.kappa * float(np.sum(1 / np.arange(601.0, 6e5) ** pressure.exponent))
    assert abs(values.mean() - limit.mean) < 4 * values.std() / np.sqrt(count) + left
    assert values.std() == pytest.approx(limit.std, rel=4 / np.sqrt(2 * count) + left)
    # The exact mean of a longer run is closer to the limit.
    late = pp.moments(model, 3_000, of=pp.theory.consensus_mode(model))
    tail = model.kappa * float(np.sum(1 / np.arange(3_001.0, 3e6) ** pressure.exponent))
    assert late.mean[0, 0] == pytest.approx(limit.mean, abs=tail + limit.residual)
    assert late.std[0, 0] == pytest.approx(limit.std, abs=tail + limit.residual)


def test_a_limit_that_is_far_away_is_where_exact_means_lead() -> None:
    """Pressure t^1.3 moves the mean for long: its distance from v falls like exp(c t^−0.3), read off two late steps."""
    model = pp.Model(pp.networks.k2(), [0.0, 1.0], start=[3.0, 3.0], pressure=pp.Power(1.3), activation=0.5)
    limit, v = pp.diagnose(model).consensus_limit, model.consensus_value
    assert limit is not None
    times = np.array([5_000, 20_000])
    far = np.log(pp.moments(model, 20_000, of=pp.theory.consensus_mode(model), times=times).mean[:, 0] - v)
    shares = times**-0.3
    slope = (far[0] - far[1]) / (shares[0] - shares[1])
    # The mean has some way to go still, and a limit that leaves that out is too far away.
    assert np.exp(far[1]) > 1.05 * (limit.mean - v)
    assert limit.mean == pytest.approx(v + np.exp(far[1] - slope * shares[1]), abs=1e-4)


def test_bounded_pressure_keeps_the_fixed_point() -> None:
    model = pp.Model(pp.networks.path(4), [0.0, 1.0, 0.2, 0.9], pressure=2.0, activation="single")
    verdict = pp.diagnose(model)
    assert verdict.outcome is Outcome.DISAGREEMENT
    assert verdict.limits is not None
    A = model.network.adjacency.toarray()
    fixed = np.linalg.solve(np.eye(4) + 2 * (np.diag(A.sum(axis=1)) - A), model.x0)
    np.testing.assert_allclose(verdict.limits, fixed, atol=1e-12)
    # Without noise it is common to all who update, so every run comes to it.
    final = pp.simulate(model, 2_000, replicates=5, seed=1, record="final").final.public
    np.testing.assert_allclose(final, np.tile(fixed, (5, 1)), atol=1e-9)
    assert ReasonCode.NO_FLUCTUATION in [reason.code for reason in verdict.reasons]


def test_frozen_noise_camps_and_equal_opinions() -> None:
    frozen = pp.Model(pp.networks.path(3), [0, 1, 2], noise=pp.Gaussian(1.0, temporal="frozen"), activation=0.5)
    verdict = pp.diagnose(frozen)
    assert verdict.outcome is Outcome.BIASED_CONSENSUS
    assert verdict.consensus_limit is not None
    assert verdict.consensus_limit.std == pytest.approx(1 / np.sqrt(3))
    signed = pp.Model(
        pp.Network([[0, -1, 1], [-1, 0, 0], [1, 0, 0]], signed=True), [1, -2, 0.5], pressure="t/20", activation="single"
    )
    assert pp.diagnose(signed).outcome is Outcome.BIPARTITE
    late = pp.simulate(signed, 20_000, seed=1, record="final").final.public[0]
    np.testing.assert_allclose(late, signed.consensus_value * np.array([1, -1, 1]), atol=0.01)
    assert pp.diagnose(pp.Model(pp.networks.k2(), [1, 1], activation=0.5)).outcome is Outcome.CONSENSUS


@pytest.mark.parametrize(
    "parts",
    [
        {"activation": np.eye(3)},
        {"activation": 0.5, "noise": pp.Gaussian(1.0, time_scale=pp.Power(0.6))},
        {"activation": 0.5, "pressure": "t^2", "noise": pp.Gaussian(1.0, time_scale=pp.Power(1.8))},
    ],
)
def test_what_is_not_worked_out_is_unknown(parts: dict[str, Any]) -> None:
    verdict = pp.diagnose(pp.Model(pp.networks.path(3), [0, 1, 2], **parts))
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.reasons[-1].code is ReasonCode.ACTIVATION_NOT_COVERED


def test_forecasts_are_exact_and_count_chance_as_noise() -> None:
    model = pp.Model(pp.networks.path(3), [0.0, 1.0, 2.0], activation=0.5)
    prediction, exact = pp.theory.forecast(model, 20), pp.moments(model, 20)
    np.testing.assert_allclose(prediction.mean, exact.mean[-1])
    assert prediction.std is not None
    np.testing.assert_allclose(prediction.std, exact.std[-1])
    distance = np.mean((exact.mean[-1] - 1.0) ** 2) + np.trace(exact.covariance) / 3
    assert prediction.rms_distance == pytest.approx(np.sqrt(distance))
    assert pp.diagnose(model, 20).rate.regime is Regime.LINEAR
