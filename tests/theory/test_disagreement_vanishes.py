"""Laws of the forecast on every family of networks: disagreement vanishes where agents agree, and numbers are exact."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from peerpressure import Gaussian, Model, Network, Power, diagnose
from peerpressure.errors import InvalidInputError
from peerpressure.networks import barabasi_albert, complete, cycle, star
from peerpressure.theory import Outcome, _forecast, consensus_error, consensus_mode, forecast, moments, steps_needed
from tests.theory.changing import CHANGING

Array = NDArray[np.float64]
AGREES = (Outcome.CONSENSUS, Outcome.BIASED_CONSENSUS, Outcome.NEUTRAL, Outcome.BIPARTITE)
FOLLOWERS = Network([[0, 1, 0, 0], [1, 0, 0, 0], [1, 2, 0, 1], [0, 0, 1, 0]], directed=True)
HERALDS = Network([[0, 1, 1], [0, 0, 0], [0, 0, 0]], directed=True)
CIRCLE = Network([[0, 1, 0], [0, 0, 1], [1, 0, 0]], directed=True)
RIVALS = Network([[0, 1, -1], [1, 0, -2], [-1, -2, 0]], signed=True)
QUARREL = Network([[0, -1, 1], [-1, 0, 1], [1, 1, 0]], signed=True)
MIXED = Network([[0, -1, 0, 0, 0], [-1, 0, 0, 0, 0], [0, 0, 0, -1, 1], [0, 0, -1, 0, 1], [0, 0, 1, 1, 0]], signed=True)
PAIRS = Network([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
INF = math.inf

MODELS = {
    "zealot of a star": Model(star(4), [0, 1, 2, 10], [1, 1, 1, INF]),
    "zealot at the hub": Model(star(4), [3, 1, 2, 10], [INF, 1, 1, 1]),
    "zealots of one opinion": Model(cycle(5), [4, 1, 4, 0, 2], [INF, 1, INF, 1, 2]),
    "all zealots": Model(cycle(3), [2, 2, 2], [INF, INF, INF]),
    "zealot with frozen noise": Model(star(3), [0, 1, 5], [1, 1, INF], noise=Gaussian(0.3, temporal="frozen")),
    "zealot among rivals": Model(RIVALS, [1, 2, 5], [INF, 1, 1]),
    "silent heralds": Model(HERALDS, [0, 1, 1], [1, 2, 3]),
    "silent heralds, fast": Model(HERALDS, [0, 1, 1], [1, 2, 3], pressure=Power(2)),
    "no edges": Model(Network(np.zeros((3, 3))), [2, 2, 2], start=[0, 1, 2]),
    "followers": Model(FOLLOWERS, [0, 1, 5, 7], noise=Gaussian(0.2)),
    "circle": Model(CIRCLE, [0, 1, 5], [1, 2, 3]),
    "tree": Model(barabasi_albert(9, 1, seed=2), np.linspace(0, 1, 9), noise=Gaussian(0.2)),
    "cycles, fast": Model(complete(5), np.arange(5.0), [1, 2, 3, 4, 5], pressure=Power(2)),
    "equal pairs": Model(PAIRS, [0, 1, 0, 1], noise=Gaussian(0.1)),
    "rivals": Model(RIVALS, [0, 1, 5], noise=Gaussian(0.2)),
    "quarrel": Model(QUARREL, [0, 1, 5], noise=Gaussian(0.2)),
    "adapting": Model(complete(4), [0, 1, 2, 6], adaptation=0.1),
    "asynchronous": Model(cycle(5), np.arange(5.0), activation=0.5),
    **{name: Model(network, np.arange(6.0)) for name, network in CHANGING.items()},
}


def law(model: Model, steps: int) -> tuple[Array, Array]:
    """Return mean and covariance of all public opinions."""
    found = moments(model, steps)
    return found.mean[-1], np.asarray(found.covariance)


@pytest.mark.parametrize("name", MODELS)
def test_disagreement_vanishes_where_the_outcome_is_consensus(name: str) -> None:
    model = MODELS[name]
    outcome = diagnose(model).outcome
    if outcome not in AGREES:
        assert outcome in (Outcome.CLUSTERS, Outcome.PERIODIC, Outcome.DISAGREEMENT)
        return
    early, late = forecast(model, 20), forecast(model, 2_000)
    scale = float(np.ptp(np.concatenate([model.x0, model.start_state]))) or 1.0
    assert late.disagreement < 0.02 * scale
    assert late.disagreement <= 0.5 * early.disagreement or early.disagreement < 1e-9 * scale
    if outcome is Outcome.CONSENSUS:
        assert late.mode_error < 0.02 * scale


@pytest.mark.parametrize("name", MODELS)
def test_numbers_of_the_forecast_are_those_of_exact_moments(name: str) -> None:
    model, steps = MODELS[name], 60
    ahead, (mean, covariance) = forecast(model, steps), law(model, steps)
    w, camps = consensus_mode(model).weights, model.network.camps.astype(float)
    # Weights that do not add up to 1 would make a mode of agents on v another number than v.
    assert np.abs(w).sum() == pytest.approx(1.0 if np.any(camps) else 0.0)
    m, P = float(w @ mean), np.reshape(covariance, (model.n, model.n))
    D = np.eye(model.n) - np.outer(camps, w)
    rounding = 1e-9 * max(1.0, float(np.abs(mean).max()))
    assert ahead.mode_mean == pytest.approx(m, abs=rounding)
    assert ahead.mode_std == pytest.approx(math.sqrt(max(float(w @ P @ w), 0.0)), abs=1e-7)
    assert ahead.mode_error == pytest.approx(math.hypot(m - model.consensus_value, ahead.mode_std), abs=rounding)
    apart = np.mean((D @ mean) ** 2) + np.trace(D @ P @ D.T) / model.n
    away = np.mean((mean - model.target) ** 2) + np.trace(P) / model.n
    assert ahead.disagreement == pytest.approx(math.sqrt(apart), abs=1e-7)
    assert ahead.rms_distance == pytest.approx(math.sqrt(away), abs=1e-7)


def test_large_signed_networks_are_probed_with_the_signs_of_camps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_forecast, "is_exact", lambda *_: False)
    camps = np.where(np.arange(150) % 3, 1.0, -1.0)
    plain = barabasi_albert(150, 2, seed=3)
    signed = Network(plain.adjacency.toarray() * np.outer(camps, camps), signed=True)
    x = np.random.default_rng(0).uniform(size=150)
    noise = Gaussian(0.5)
    one, other = (
        forecast(Model(network, hidden, noise=noise), 40) for network, hidden in ((plain, x), (signed, camps * x))
    )
    assert one.disagreement_stderr > 0
    assert other.disagreement == pytest.approx(one.disagreement, rel=0.05)
    assert other.rms_distance == pytest.approx(one.rms_distance, rel=0.05)


def test_a_component_without_balance_does_not_dilute_the_mode() -> None:
    model = Model(MIXED, [1, -3, 5, 6, 7])
    assert forecast(model, 20_000).mode_mean == pytest.approx(model.consensus_value, abs=1e-3)


def test_all_numbers_of_a_star_that_follows_its_zealot() -> None:
    model = MODELS["zealot of a star"]
    verdict = diagnose(model, 10_000)
    mean = law(model, 10_000)[0]
    assert verdict.forecast is not None
    assert verdict.forecast.disagreement == pytest.approx(np.sqrt(np.mean((mean - 10) ** 2)), rel=1e-6)
    assert "consensus mode     10, error 0" in verdict.explain()
    assert "RMS disagreement   0.00285 (exact)" in verdict.explain()


def test_steps_that_a_precision_takes_with_zealots() -> None:
    quiet = MODELS["zealot of a star"]
    assert steps_needed(quiet, 0.1) == 1
    fading = Model(star(4), [0, 1, 2, 10], [1, 1, 1, INF], noise=Gaussian(0.1, time_scale="1/t"))
    found = steps_needed(fading, 0.01)
    assert consensus_error(fading, found) <= 0.01 < consensus_error(fading, found - 2)


@pytest.mark.parametrize(
    ("noise", "left"),
    [
        (Gaussian(0.1), "an error of 0.1"),
        (Gaussian(0.1, temporal="frozen"), "an error of 0.1"),
        (Gaussian(0.1, time_scale="1 + log(t)"), "grows without bound"),
    ],
)
@pytest.mark.parametrize("pressure", ["t", "t^2", "3"])
def test_the_noise_of_zealots_leaves_an_error_that_is_named(noise: Gaussian, left: str, pressure: str) -> None:
    model = Model(star(4), [0, 1, 2, 10], [1, 1, 1, INF], noise=noise, pressure=pressure)
    with pytest.raises(InvalidInputError, match="agents who listen to nobody") as refused:
        steps_needed(model, 0.01)
    assert left in str(refused.value)
