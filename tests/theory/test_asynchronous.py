"""The long run where it is random who updates, against recursions of mean and covariance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.theory import Outcome, Regime
from tests.theory.laws import laws, mean_after
from tests.theory.reasons import codes, known

N = 7


def directed_network() -> pp.Network:
    rng = np.random.default_rng(5)
    A = (rng.random((N, N)) < 0.5) * rng.uniform(0.5, 2.0, (N, N))
    np.fill_diagonal(A, 0.0)
    A[np.arange(N), (np.arange(N) + 1) % N] = 1.0
    return pp.Network(A, directed=True)


@pytest.mark.parametrize(("activation", "ratio"), [(0.3, 2.0), ("each", 0.25), ("single", 2.0)])
def test_value_and_exponents_are_those_of_the_recursion(activation: Any, ratio: float) -> None:
    rng = np.random.default_rng(1)
    given = rng.uniform(0.2, 0.9, N) if activation == "each" else activation
    parts: dict[str, Any] = {"activation": given, "noise": pp.Gaussian(0.3)}
    base = pp.Model(directed_network(), rng.random(N), rng.uniform(0.5, 2.0, N), **parts)
    model = pp.Model(base.network, base.hidden, base.s, pp.Linear(base.kappa / ratio), **parts)
    A, s = model.network.adjacency.toarray(), model.s
    d, q = A.sum(axis=1), model.activation.probabilities  # type: ignore[union-attr]
    values, vectors = np.linalg.eig((A / d[:, None]).T)
    pi = np.real(vectors[:, np.argmax(values.real)])
    pi, w = pi / pi.sum(), pi / q / np.sum(pi / q)
    v = np.sum(pi * s / d * model.x0) / np.sum(pi * s / d)
    assert model.kappa == pytest.approx(np.sum(pi * s / d) / np.sum(pi / q))
    assert model.consensus_value == pytest.approx(v)
    np.testing.assert_allclose(model.mode_weights, w)
    steps = 3_000
    path = list(laws(model, steps))
    found = {t: (w @ y - v, w @ P @ w, np.ptp(y)) for t in (200, steps // 2, steps) for y, P in [path[t - 1]]}
    measured = np.log2(np.abs(np.divide(found[steps // 2], found[steps])))
    verdict = pp.diagnose(model)
    assert verdict.outcome is Outcome.CONSENSUS
    assert verdict.kappa == model.kappa
    assert verdict.rate.ratio == pytest.approx(ratio)
    rates = (verdict.rate.bias, verdict.rate.variance, verdict.rate.disagreement)
    expected = [law.exponent for law in rates if law is not None]
    assert expected == pytest.approx([min(1.0, ratio), min(1.0, 2 * ratio), 1.0])
    np.testing.assert_allclose(measured, expected, atol=0.03)
    # The exact moments are the same recursion.
    exact = pp.moments(model, 200, of=pp.theory.consensus_mode(model))
    np.testing.assert_allclose([exact.mean[0, 0] - v, exact.variance[0, 0]], found[200][:2], rtol=1e-9)


@pytest.mark.parametrize(("pressure", "noise"), [(pp.Power(2.0), pp.NoNoise()), (pp.Power(1.5), pp.Gaussian(0.5))])
def test_fast_pressure_has_a_random_limit_and_no_oscillation(pressure: Any, noise: Any) -> None:
    model = pp.Model(pp.networks.path(4), [0.0, 1.0, 0.2, 0.9], pressure=pressure, noise=noise, activation=0.5)
    assert pp.diagnose(model.synchronous).outcome is Outcome.OSCILLATION
    verdict = pp.diagnose(model)
    limit = verdict.consensus_limit
    assert verdict.outcome is Outcome.BIASED_CONSENSUS
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
    np.testing.assert_allclose(known(verdict.limits), mean_after(model.synchronous, 2_000), atol=1e-12)
    # Without noise it is common to all who update, so every run comes to it.
    final = pp.simulate(model, 2_000, replicates=5, seed=1, record="final").final.public
    np.testing.assert_allclose(final, np.tile(known(verdict.limits), (5, 1)), atol=1e-9)
    assert "no_fluctuation" in codes(verdict)


def test_frozen_noise_and_camps() -> None:
    frozen = pp.Model(pp.networks.path(3), [0, 1, 2], noise=pp.Gaussian(1.0, temporal="frozen"), activation=0.5)
    verdict = pp.diagnose(frozen)
    assert verdict.outcome is Outcome.BIASED_CONSENSUS
    assert known(verdict.consensus_limit).std == pytest.approx(1 / np.sqrt(3))
    rivals = pp.Network([[0, -1, 1], [-1, 0, 0], [1, 0, 0]], signed=True)
    assert pp.diagnose(pp.Model(rivals, [1, -2, 0.5], activation="single")).outcome is Outcome.BIPARTITE


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
    assert verdict.reasons[-1].code == "not_covered"


def test_forecasts_are_exact_and_count_chance_as_noise() -> None:
    model = pp.Model(pp.networks.path(3), [0.0, 1.0, 2.0], activation=0.5)
    prediction, (mean, P) = pp.theory.forecast(model, 20), list(laws(model, 20))[-1]
    np.testing.assert_allclose(prediction.mean, mean)
    np.testing.assert_allclose(known(prediction.std), np.sqrt(np.diag(P)))
    assert prediction.rms_distance == pytest.approx(np.sqrt(np.mean((mean - 1.0) ** 2) + np.trace(P) / 3))
    assert pp.diagnose(model, 20).rate.regime is Regime.LINEAR
