"""Forecasts against dense recursions of mean and covariance: exact, or within their standard error."""

from __future__ import annotations

import math

import numpy as np
import pytest

from peerpressure.errors import CancelledError
from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.step import Array
from peerpressure.networks import Network, barabasi_albert, cycle, grid, path, star, watts_strogatz
from peerpressure.noise import AR1, Gaussian, Laplace
from peerpressure.schedules import Constant, Linear, Power, Schedule
from peerpressure.theory import _forecast, diagnose, forecast, start_weight
from tests.theory.reasons import known


def moments_path(model: Model, steps: int) -> tuple[Array, Array]:
    """Return mean and covariance after some steps, with dense matrices."""
    A, s = model.network.adjacency.toarray(), model.s
    d, y, P = A.sum(axis=1), model.start_state, np.zeros((model.n, model.n))
    for t in range(1, steps + 1):
        rho = float(model.pressure(t))
        C, g = rho * A / (s + rho * d)[:, None], s / (s + rho * d)
        y = g * model.x0 + C @ y
        P = C @ P @ C.T + np.diag((g * model.noise.deviations(model.n)) ** 2)
    return y, P


@pytest.mark.parametrize("m", [1, 2])
def test_large_networks_are_forecast_with_a_standard_error(m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network, rng = barabasi_albert(180, m, seed=2), np.random.default_rng(2)
    model = Model(network, rng.uniform(size=180), rng.uniform(0.5, 1, 180), Linear(), Gaussian(0.4))
    exact = forecast(model, 50)
    monkeypatch.setattr(_forecast, "is_exact", lambda *_: False)
    probed = forecast(model, 50)
    assert (exact.rms_distance_stderr, exact.disagreement_stderr, probed.std) == (0.0, 0.0, None)
    for name in ("mode_mean", "mode_std", "mode_error", "start_weight"):
        assert getattr(probed, name) == pytest.approx(getattr(exact, name), rel=1e-9), name
    np.testing.assert_allclose(probed.mean, exact.mean, rtol=1e-12)
    assert f"standard error {probed.rms_distance_stderr:.1g}" in diagnose(model, 50, advise=False).explain()
    for name in ("rms_distance", "disagreement"):
        value, error = getattr(exact, name), getattr(probed, f"{name}_stderr")
        assert 0 < error < 0.01 * value
        assert abs(getattr(probed, name) - value) < 4 * error


@pytest.mark.parametrize(
    ("network", "pressure"),
    [(grid(12, 12), Linear()), (star(150), Power(1.5)), (path(150), Constant(5.0)), (grid(3, 50), Linear(0.2))],
    ids=["grid", "star", "path", "long grid"],
)
def test_forecasts_of_large_networks_lie_within_their_error(
    network: Network, pressure: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    model = Model(network, rng.uniform(0, 1, network.n), rng.uniform(0.5, 2, network.n), pressure, Gaussian(0.5))
    mean, covariance = moments_path(model, 40)
    w, v = network.degrees / network.degrees.sum(), model.consensus_value
    distance = np.sqrt(np.mean((mean - v) ** 2 + np.diag(covariance)))
    about = np.eye(network.n) - w
    apart = np.sqrt(np.mean((mean - w @ mean) ** 2 + np.diag(about @ covariance @ about.T)))
    exact = forecast(model, 40)
    assert (exact.rms_distance, exact.disagreement) == pytest.approx((distance, apart), rel=1e-9)
    monkeypatch.setattr(_forecast, "is_exact", lambda *_: False)
    probed = forecast(model, 40)
    assert abs(probed.rms_distance - distance) < 4 * probed.rms_distance_stderr < 0.1 * distance
    assert abs(probed.disagreement - apart) < 4 * probed.disagreement_stderr < 0.1 * apart


def test_a_large_star_is_forecast_within_its_error() -> None:
    n, T = 2_000, 40
    model = Model(star(n), np.zeros(n), 1.0, Power(1.5), Gaussian(0.1))
    # By symmetry the covariances of the hub, of a leaf and of two leaves obey three recursions.
    hub = leaf = pair = 0.0
    for t in range(1, T + 1):
        g, gain = 1 / (1 + t**1.5 * (n - 1)), 1 / (1 + t**1.5)
        c, pull = 1 - g, 1 - gain
        hub, leaf, pair = (
            c * c * (leaf + (n - 2) * pair) / (n - 1) + (0.1 * g) ** 2,
            pull * pull * hub + (0.1 * gain) ** 2,
            pull * pull * hub,
        )
    prediction = forecast(model, T)
    expected = math.sqrt((hub + (n - 1) * leaf) / n)
    assert abs(prediction.rms_distance - expected) < 4 * prediction.rms_distance_stderr + 1e-9
    assert prediction.rms_distance_stderr < 0.01 * expected


def sampled_models() -> dict[str, Model]:
    """Return small models of every kind that one pass forecasts."""
    rng = np.random.default_rng(5)
    ring, x = watts_strogatz(150, 6, 0.2, seed=1), rng.uniform(size=150)
    A = ring.adjacency.toarray()
    camps = np.where(np.arange(150) < 60, 1.0, -1.0)
    upper = np.triu(A * rng.uniform(1, 2, A.shape))
    weighted = Network(upper + upper.T)
    return {
        "plain": Model(ring, x, rng.uniform(0.5, 2, 150), Linear(0.3), Gaussian(rng.uniform(0.1, 0.5, 150))),
        "weighted": Model(weighted, x, 1.0, Power(0.5), Laplace(0.2, time_scale=Power(-0.1))),
        "directed": Model(Network(A * rng.uniform(1, 9, A.shape), directed=True), x, 1.0, Linear(), 0.3),
        "signed": Model(Network(A * np.outer(camps, camps), signed=True), x, 1.0, Linear(), 0.3),
        "zealots": Model(ring, x, np.where(np.arange(150) % 50, 1.0, np.inf), Constant(3.0), Gaussian(0.3)),
        "started elsewhere": Model(ring, x, 1.0, Constant(2.0), Gaussian(0.3), start=1 - x),
        "silent": Model(ring, x, 1.0, Linear()),
        "correlated": Model(ring, x, 1.0, Linear(), Gaussian(0.3, temporal=AR1(0.6))),
        "frozen": Model(ring, x, rng.uniform(0.5, 2, 150), Linear(), Gaussian(0.3, temporal="frozen")),
        "adapting": Model(ring, x, 1.0, Linear(), 0.3, adaptation=Adaptation(0.02, rng.uniform(0.2, 1, 150))),
        "directed, adapting, correlated": Model(
            Network(A * rng.uniform(1, 9, A.shape), directed=True),
            x,
            1.0,
            Linear(),
            Gaussian(0.3, temporal=AR1(-0.4)),
            adaptation=Adaptation(Power(-0.5)),
        ),
    }


@pytest.mark.parametrize("name", sampled_models())
def test_one_pass_over_a_large_network_agrees_with_all_covariances(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = sampled_models()[name]
    exact = forecast(model, 40)
    monkeypatch.setattr(_forecast, "SAMPLED_WORK", 0.0)
    monkeypatch.setattr(_forecast, "is_exact", lambda *_: False)
    assert _forecast.is_sampled(model, 40)
    sampled = forecast(model, 40)
    for field in ("mode_mean", "mode_std", "mode_error", "start_weight"):
        assert getattr(sampled, field) == pytest.approx(getattr(exact, field), rel=1e-9, abs=1e-13), field
    np.testing.assert_allclose(sampled.mean, exact.mean, rtol=1e-12, atol=1e-13)
    for field in ("rms_distance", "disagreement"):
        value, error = getattr(exact, field), getattr(sampled, f"{field}_stderr")
        assert abs(getattr(sampled, field) - value) <= 4 * error + 1e-12
        # Where three zealots drive all others, two samples tell little, and the error says so.
        assert error < 0.35 * value or name == "zealots"
    if exact.hidden_mean is not None and exact.hidden_disagreement is not None:
        assert sampled.hidden_mean == pytest.approx(exact.hidden_mean, rel=1e-12)
        distance = abs(known(sampled.hidden_disagreement) - exact.hidden_disagreement)
        assert distance <= 4 * sampled.hidden_disagreement_stderr + 1e-12
    # Without the pass, bounds on the settling times come from the same sums.
    monkeypatch.setattr(_forecast, "SAMPLED_WORK", math.inf)
    assert forecast(model, 40).settling == sampled.settling


def test_a_large_verdict_says_that_no_schedule_was_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_forecast, "SAMPLED_WORK", 0.0)
    verdict = diagnose(sampled_models()["plain"], 40)
    assert known(verdict.advice).suggestions == ()
    assert "each takes a forecast of 150 agents over 40 steps" in " ".join(str(verdict).split())


def test_a_pass_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_forecast, "SAMPLED_WORK", 0.0)
    steps = iter([False] * 5 + [True] * 40)
    with pytest.raises(CancelledError):
        forecast(sampled_models()["plain"], 40, should_stop=lambda: next(steps))
    assert len(list(steps)) == 39


def test_without_noise_every_forecast_is_exact() -> None:
    n = 5_000
    model = Model(cycle(n), np.arange(n) % 2, 1.0, Linear())
    prediction = forecast(model, 20)
    assert prediction.std is not None
    assert (prediction.rms_distance_stderr, prediction.std.max(), prediction.mode_std) == (0.0, 0.0, 0.0)
    # Agents alternate between two values a and b: a ← (0 + ρ·2b)/(1 + 2ρ), b ← (1 + ρ·2a)/(1 + 2ρ).
    a, b = 0.0, 1.0
    for t in range(1, 21):
        a, b = 2 * t * b / (1 + 2 * t), (1 + 2 * t * a) / (1 + 2 * t)
    assert prediction.rms_distance == pytest.approx(math.sqrt(((a - 0.5) ** 2 + (b - 0.5) ** 2) / 2), rel=1e-12)


def test_the_weight_of_the_start_is_exact_under_unequal_stubbornness() -> None:
    s = np.full(30, 0.01)
    s[-1] = 1e3
    model = Model(path(30), np.linspace(0, 1, 30), s, Linear())
    d, y = model.network.degrees, np.ones(30)
    A = model.network.adjacency.toarray()
    for t in range(1, 101):
        y = t * (A @ y) / (s + t * d)
    assert float(d @ y / d.sum()) == pytest.approx(0.708, abs=1e-3)
    assert start_weight(model, 100) == pytest.approx(float(d @ y / d.sum()), rel=1e-12)
    assert forecast(model, 100).start_weight == pytest.approx(start_weight(model, 100), rel=1e-12)
