"""Verdicts in continuous time against the exact moments of the process."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from peerpressure.adaptation import Adaptation
from peerpressure.errors import InvalidInputError
from peerpressure.model import Model
from peerpressure.networks import Network, TemporalNetwork, barabasi_albert, k2
from peerpressure.noise import AR1, Frozen, Gaussian, Noise, NoNoise
from peerpressure.schedules import Constant, Linear, Power, Schedule, StretchedExponential, Table
from peerpressure.sde import SDE
from peerpressure.theory import Outcome, _forecast, consensus_limit, consensus_mode, diagnose, moments

ODD, TREE = barabasi_albert(6, 2, seed=1), barabasi_albert(6, 1, seed=1)


def build(network: Network, pressure: Schedule, noise: Noise | None = None, step: float = 0.5) -> SDE:
    rng = np.random.default_rng(3)
    n = network.n
    return SDE(Model(network, rng.uniform(size=n), rng.uniform(0.5, 1, n), pressure, noise or NoNoise()), step)


@pytest.mark.parametrize(
    ("network", "pressure", "expected"),
    [
        (ODD, Linear(0.2), Outcome.CONSENSUS),
        (TREE, Power(0.5), Outcome.CONSENSUS),
        (ODD, Power(2), Outcome.BIASED_CONSENSUS),
        (TREE, Power(2), Outcome.BIASED_CONSENSUS),
        (TREE, StretchedExponential(), Outcome.BIASED_CONSENSUS),
        (ODD, Constant(2.0), Outcome.DISAGREEMENT),
        (ODD, Table([1.0, 2.0, 3.0]), Outcome.UNKNOWN),
    ],
    ids=str,
)
def test_the_process_does_what_the_verdict_says(network: Network, pressure: Schedule, expected: Outcome) -> None:
    process = build(network, pressure)
    verdict = diagnose(process)
    assert verdict.outcome is expected
    assert verdict.step == 0.5
    if expected is Outcome.UNKNOWN:
        return
    early, late = moments(process, 200, times=[20.0, 100.0]).mean
    agrees = np.ptp(late) < 0.5 * np.ptp(early) or np.ptp(late) < 1e-9
    assert agrees == verdict.agrees
    if verdict.outcome is Outcome.BIASED_CONSENSUS:
        assert verdict.consensus_limit is not None
        np.testing.assert_allclose(late, verdict.consensus_limit.mean, atol=5e-3)
        assert abs(verdict.consensus_limit.mean - verdict.value) > 1e-3


def test_a_tree_oscillates_in_discrete_time_only() -> None:
    process = build(TREE, Power(2))
    assert diagnose(process.model).outcome is Outcome.OSCILLATION
    assert diagnose(process).outcome is Outcome.BIASED_CONSENSUS


@pytest.mark.parametrize("pressure", [Linear(0.2), Power(0.6)], ids=str)
def test_rates_are_those_of_the_process(pressure: Schedule) -> None:
    process = build(ODD, pressure, Gaussian(0.5))
    rate = diagnose(process).rate
    assert rate.variance is not None
    mode = consensus_mode(process)
    variance = moments(process, 600, of=mode, times=[150.0, 300.0]).variance[:, 0]
    assert np.log2(variance[0] / variance[1]) == pytest.approx(rate.variance.exponent, abs=0.09)


def test_a_forecast_is_that_of_the_moments() -> None:
    process = build(ODD, Linear(0.2), Gaussian(0.5))
    verdict = diagnose(process, 20)
    ahead, found = verdict.forecast, moments(process, 20)
    assert ahead is not None
    assert ahead.mean is not None
    np.testing.assert_allclose(ahead.mean, found.mean[-1], rtol=1e-8)
    assert ahead.mode_std == pytest.approx(moments(process, 20, of=consensus_mode(process)).std[0, 0], rel=1e-6)
    assert verdict.advice is not None
    assert "at time 10" in verdict.explain()
    # The start fades as in (κ + ρ) m′ = κ (v − m), exactly where s ∝ d: K₂ with ρ = t keeps 1/(1 + t).
    pair = SDE(Model(k2(), hidden=[0.0, 1.0]), step=1.0)
    fades = diagnose(pair, 9).forecast
    assert fades is not None
    assert fades.start_weight == pytest.approx(0.1, rel=1e-6)


def test_many_agents_are_forecast_with_a_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_forecast, "is_exact", lambda *_: False)
    process = build(barabasi_albert(30, 2, seed=2), Linear(0.5), Gaussian(0.5))
    ahead = diagnose(process, 10).forecast
    assert ahead is not None
    found = moments(process, 10, times=[5.0])
    expected = np.sqrt(np.mean((found.mean[-1] - process.consensus_value) ** 2 + found.variance[-1]))
    np.testing.assert_allclose(ahead.mean, found.mean[-1], rtol=1e-8)
    assert abs(ahead.rms_distance - expected) < 4 * ahead.rms_distance_stderr + 1e-8 * expected


@pytest.mark.parametrize("steps", [None, 4])
@pytest.mark.parametrize("pressure", [Linear(), Power(2), Constant(1.0), Table([1.0, 2.0, 3.0])], ids=str)
def test_every_verdict_can_be_printed_and_stored(pressure: Schedule, steps: int | None) -> None:
    verdict = diagnose(build(ODD, pressure, Gaussian(0.3)), steps)
    plain = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert plain["step"] == 0.5
    assert plain["hidden"] is plain["connectivity"] is None
    assert max(len(line) for line in verdict.explain().splitlines()) <= 110
    HTMLParser().feed(verdict._repr_html_())


@pytest.mark.parametrize("coefficient", [0.7])
def test_correlated_noise_has_the_long_run_variance_of_its_process(coefficient: float) -> None:
    process = build(ODD, Linear(0.2), Gaussian(0.5, temporal=AR1(coefficient)))
    verdict = diagnose(process)
    assert verdict.outcome is Outcome.CONSENSUS
    law = verdict.rate.variance
    assert law is not None
    assert law.constant is not None
    found = moments(process, 800, of=consensus_mode(process), times=[200.0, 400.0]).variance[:, 0] * [200.0, 400.0]
    np.testing.assert_allclose(found / law.constant, 1.0, atol=0.025)
    assert abs(found[1] / law.constant - 1) < 0.6 * abs(found[0] / law.constant - 1)


@pytest.mark.parametrize("temporal", [AR1(0.7), Frozen()], ids=str)
def test_limits_keep_what_correlated_noise_leaves(temporal: AR1 | Frozen) -> None:
    process = build(ODD, Power(2), Gaussian(0.5, temporal=temporal))
    limit = diagnose(process).consensus_limit
    assert limit is not None
    found = moments(process, 400, of=consensus_mode(process), times=[100.0, 200.0])
    # What is left falls like 1/T, which one extrapolation removes.
    assert abs(2 * found.std[1, 0] - found.std[0, 0] - limit.std) < limit.residual
    assert limit.residual < 2e-4
    np.testing.assert_allclose(found.mean[1], limit.mean, atol=1e-5)


def test_adaptation_and_networks_that_repeat_are_known_in_continuous_time_too() -> None:
    plain = build(ODD, Linear(0.2), Gaussian(0.5)).model
    changing = TemporalNetwork.from_snapshots([ODD, TREE], period=2)
    temporal = Model(changing, plain.x0, plain.s, plain.pressure, plain.noise)
    for model in (replace(plain, adaptation=Adaptation(0.1)), temporal):
        process = SDE(model, step=0.5)
        verdict = diagnose(process, 20)
        assert verdict.outcome is Outcome.BIASED_CONSENSUS
        late = moments(SDE(replace(model, noise=NoNoise()), step=0.5), 500).mean[-1]
        np.testing.assert_allclose(late, verdict.law.mean[0], atol=1e-2)
        assert verdict.rate.bias is None
        assert verdict.hidden is None
        ahead, found = verdict.forecast, moments(process, 20, what="joint")
        assert ahead is not None
        assert ahead.std is not None
        np.testing.assert_allclose(ahead.mean, found.mean[-1, :6], rtol=1e-8)
        np.testing.assert_allclose(ahead.std, found.std[-1, :6], rtol=1e-6)
        if ahead.hidden_mean is not None:
            assert ahead.hidden_mean == pytest.approx(found.mean[-1, 6:].mean(), rel=1e-8)
        with pytest.raises(InvalidInputError, match="in continuous time a consensus limit"):
            consensus_limit(process)
