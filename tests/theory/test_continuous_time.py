"""Continuous time: reasons, rates of decay, forecasts and consensus limits against the exact moments of the process."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import linalg
from scipy.integrate import quad

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.sde import SDE, moments_at, moments_of, stationary
from peerpressure.theory import Outcome, consensus_limit, consensus_mode, consensus_rate, moments
from tests.builders import SCHEDULES, random_model
from tests.theory.reasons import codes, known, values

TREE, CYCLES = pp.networks.barabasi_albert(8, 1, seed=2), pp.networks.barabasi_albert(8, 2, seed=2)


def build(network: pp.Network = TREE, **parts: Any) -> SDE:
    rng = np.random.default_rng(4)
    values: dict[str, Any] = {
        "hidden": rng.normal(size=8),
        "stubbornness": rng.uniform(0.5, 2, 8),
        "noise": pp.Gaussian(0.5),
    }
    return SDE(pp.Model(network, **(values | parts)))


# What is told in other words or judged by other numbers than in discrete time.
OUTCOMES: list[tuple[dict[str, Any], Outcome, str]] = [
    ({"pressure": pp.schedules.Formula("t*log(1 + t)")}, Outcome.CONSENSUS, "marginal_rate"),
    ({"pressure": pp.Power(1.5)}, Outcome.BIASED_CONSENSUS, "phases_agree"),
    ({"pressure": pp.Power(1.5), "network": CYCLES}, Outcome.BIASED_CONSENSUS, "start_remembered"),
    ({"pressure": 2.0, "noise": pp.NoNoise()}, Outcome.DISAGREEMENT, "no_fluctuation"),
    ({"pressure": 2.0, "noise": pp.Gaussian(1.0, time_scale="t")}, Outcome.DISAGREEMENT, "fluctuation_grows"),
    ({"noise": pp.Gaussian(1.0, time_scale=pp.Power(0.6))}, Outcome.BIASED_CONSENSUS, "noise_wanders"),
    ({"noise": pp.Gaussian(1.0, time_scale=pp.Power(1.2))}, Outcome.DISAGREEMENT, "noise_outgrows_pressure"),
    (
        {"pressure": "t^2", "noise": pp.Gaussian(1.0, time_scale=pp.Power(1.7))},
        Outcome.BIASED_CONSENSUS,
        "limit_depends",
    ),
    ({"pressure": [1.0, 2.0]}, Outcome.UNKNOWN, "unknown_growth"),
    ({"hidden": np.full(8, 3.0), "noise": pp.NoNoise()}, Outcome.CONSENSUS, "settled"),
]


@pytest.mark.parametrize(("parts", "outcome", "code"), OUTCOMES, ids=[f"{o.name} {c}" for _, o, c in OUTCOMES])
def test_outcomes(parts: dict[str, Any], outcome: Outcome, code: str) -> None:
    verdict = pp.diagnose(build(**parts))
    assert verdict.outcome is outcome
    assert code in codes(verdict)
    assert verdict.agrees is {Outcome.UNKNOWN: None, Outcome.DISAGREEMENT: False}.get(outcome, True)


def test_reasons_carry_the_numbers_of_the_process() -> None:
    sde = build(pressure=pp.Power(0.5))
    verdict = pp.diagnose(sde)
    assert values(verdict, "start_forgotten") == {"condition": "∫ dt/ρ", "v": sde.consensus_value}
    sigma = values(verdict, "noise_averages")["sigma"]
    assert sigma == pytest.approx(np.linalg.norm(sde.s * sde.deviations) / sde.s.sum())
    fast = build(pressure=pp.Power(1.5))
    limit = consensus_limit(fast, tolerance=1e-3)
    told = values(pp.diagnose(fast), "limit")
    assert told.items() >= {"mean": limit.mean, "std": limit.std, "v": fast.consensus_value}.items()
    assert 0 < told["digit"] < 1e-3  # what is printed is rounded to what this supports
    bounded = build(CYCLES, stubbornness=0.6 * CYCLES.degrees, pressure=2.0)
    verdict, (mean, covariance) = pp.diagnose(bounded), stationary(bounded, 1.0)
    np.testing.assert_allclose(moments_at(bounded, [80.0]).covariance, covariance, rtol=1e-6)
    found, stds = values(verdict, "fluctuation"), np.sqrt(np.diag(covariance))
    assert (found["low"], found["high"]) == pytest.approx((stds.min(), stds.max()))
    mode = CYCLES.degrees / CYCLES.degrees.sum()
    assert found["std"] == pytest.approx(np.sqrt(mode @ covariance @ mode))
    span = values(verdict, "apart")
    assert (span["low"], span["high"]) == pytest.approx((mean.min(), mean.max()))


def test_a_balanced_start_never_leaves_v_however_fast_the_pressure() -> None:
    degrees = TREE.degrees
    balanced = build(stubbornness=0.7 * degrees, pressure=pp.Power(2), noise=pp.NoNoise())
    verdict = pp.diagnose(balanced)
    assert verdict.outcome is Outcome.CONSENSUS
    assert values(verdict, "balanced") == {"v": balanced.consensus_value}
    late = moments_at(balanced, [60.0]).mean[0]
    np.testing.assert_allclose(degrees @ late / degrees.sum(), balanced.consensus_value, atol=1e-9)
    elsewhere = build(stubbornness=0.7 * degrees, start=np.ones(8), pressure=pp.Power(2), noise=pp.NoNoise())
    assert "balanced" not in codes(pp.diagnose(elsewhere))


LAWS: list[tuple[pp.schedules.Schedule, pp.schedules.Schedule]] = [
    (pp.Linear(0.2), pp.Constant(1.0)),
    (pp.Linear(0.2), pp.Power(0.2)),
    (pp.Power(0.5), pp.Constant(2.0)),
    (pp.Power(0.3, 2.0), pp.schedules.Formula("(1 + t)^(-0.2)")),
]


@pytest.mark.parametrize("scaling", ["printed", "model"])
@pytest.mark.parametrize(("pressure", "scale"), LAWS, ids=str)
def test_the_variance_of_the_common_mode_obeys_its_law(
    pressure: pp.schedules.Schedule, scale: pp.schedules.Schedule, scaling: Any
) -> None:
    model = build(CYCLES, pressure=pressure, noise=pp.Gaussian(0.5, time_scale=scale)).model
    sde = SDE(model, scaling=scaling)
    law = known(consensus_rate(sde).variance)
    t = 1000.0
    exact = moments_of(sde, model.network.degrees / model.network.degrees.sum(), t).variance[0, 0]
    assert exact == pytest.approx(known(law.constant) * t**-law.exponent, rel=0.05)


@pytest.mark.parametrize(("ratio", "bias", "variance"), [(0.25, 0.25, 0.5), (0.8, 0.8, 1.0), (3.0, 1.0, 1.0)])
def test_lines_decay_by_the_ratio_of_kappa_to_slope(ratio: float, bias: float, variance: float) -> None:
    sde = build(CYCLES, pressure=pp.Linear(build(CYCLES).model.kappa / ratio))
    rate = consensus_rate(sde)
    assert rate.variance is not None
    assert rate.disagreement is not None
    np.testing.assert_allclose([known(rate.bias).exponent, rate.variance.exponent], [bias, variance])
    mode = CYCLES.degrees / CYCLES.degrees.sum()
    early, late = moments_of(sde, [mode, mode - np.eye(8)[3]], [150.0, 600.0]).mean - [sde.consensus_value, 0]
    assert np.log(early[0] / late[0]) / np.log(4) == pytest.approx(bias, abs=0.1)
    assert np.log(early[1] / late[1]) / np.log(4) == pytest.approx(rate.disagreement.exponent, abs=0.1)


def test_logarithms_where_two_powers_meet() -> None:
    kappa = build(CYCLES).model.kappa
    tuned, half = (consensus_rate(build(CYCLES, pressure=pp.Linear(kappa * c))) for c in (1.0, 2.0))
    assert str(tuned.bias) == "t^−1 log t"
    assert str(tuned.variance) == "t^−1"
    assert str(half.variance) == "t^−1 log t"
    assert str(half.bias) == "t^−0.5"
    proportional = build(stubbornness=2.0 * TREE.degrees, pressure=pp.Linear(2.0))
    assert str(consensus_rate(proportional).bias) == "t^−1"
    wandering = consensus_rate(build(noise=pp.Gaussian(1.0, time_scale=pp.Power(0.5))))
    assert str(wandering.variance) == "constant"


def test_two_sides_do_not_oscillate_in_continuous_time() -> None:
    # The discrete model oscillates forever here; in continuous time the difference of the sides is e^(−2t).
    model = pp.Model(pp.networks.k2(), [0.0, 1.0], pressure=pp.StretchedExponential(1e5, 1.0))
    assert pp.diagnose(model).outcome is Outcome.OSCILLATION
    gaps = moments_of(SDE(model), [-1.0, 1.0], [3.0, 4.0]).mean[:, 0]
    assert np.log(gaps[0] / gaps[1]) == pytest.approx(2.0, abs=0.02)
    # All agree on ½ = v here, as the network is symmetric: s is proportional to d.
    assert pp.diagnose(SDE(model)).outcome is Outcome.CONSENSUS


@pytest.mark.parametrize("network", [TREE, CYCLES], ids=["tree", "cycles"])
@pytest.mark.parametrize("pressure", [pp.Power(2.0), pp.StretchedExponential()], ids=str)
def test_the_value_agreed_on_is_where_the_process_goes(network: pp.Network, pressure: pp.schedules.Schedule) -> None:
    sde = build(network, pressure=pressure, start=np.arange(8.0))
    ends = consensus_limit(sde, tolerance=1e-4)
    law = moments_at(sde, [300.0])
    # What is still to come after t = 300 is of the order of ∫ dt/ρ.
    np.testing.assert_allclose(law.mean[0], ends.mean, atol=0.02)
    np.testing.assert_allclose(np.sqrt(law.variance[0]), ends.std, rtol=0.02)
    assert abs(ends.mean - sde.consensus_value) > 0.05


def test_limits_are_right_where_the_mode_is_exact() -> None:
    # s ∝ d: (κ + ρ) m′ = κ(v − m), so m_∞ − v = (m₀ − v) exp(−∫ κ/(κ + t²) dt) = (m₀ − v) exp(−π√κ/2).
    model = pp.Model(TREE, np.arange(8.0), 0.5 * TREE.degrees, pp.Power(2), start=np.full(8, 9.0))
    ends = consensus_limit(SDE(model), tolerance=1e-9)
    v, root = model.consensus_value, np.sqrt(0.5)
    assert ends.mean == pytest.approx(v + (9.0 - v) * np.exp(-np.pi * root / 2), rel=1e-7)
    assert ends.std == 0

    def effect(t: float) -> float:
        return float(0.5 / (0.5 + t * t) * np.exp(-root * (np.pi / 2 - np.arctan(t / root)))) ** 2

    noisy = SDE(replace(model, noise=pp.Gaussian(1.0)))
    expected = np.linalg.norm(noisy.s * noisy.deviations) / noisy.s.sum() * np.sqrt(quad(effect, 0, np.inf)[0])
    assert consensus_limit(noisy, tolerance=1e-7).std == pytest.approx(expected, rel=1e-4)


def test_limits_of_other_outcomes() -> None:
    assert consensus_limit(build()).mean == build().consensus_value
    with pytest.raises(InvalidInputError, match="only agents who agree"):
        consensus_limit(build(pressure=2.0))


def test_growing_noise_has_a_limit_where_its_sum_is_finite() -> None:
    sde = build(pressure=pp.Power(2), noise=pp.Gaussian(1.0, time_scale=pp.Power(0.2)))
    degrees, limit = sde.network.degrees, consensus_limit(sde)
    law = moments_of(sde, degrees[None] / degrees.sum(), 1_000.0)
    # What later times still forget is of order ∫ dt/t² = 1/1000.
    assert limit.mean == pytest.approx(law.mean[-1, 0], rel=1.2e-3)
    assert limit.std == pytest.approx(float(np.sqrt(law.covariance[0, 0])), rel=1.2e-3)


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_stationary_law_solves_its_equations(name: str) -> None:
    sde = SDE(random_model(6, pressure=SCHEDULES[name], noise=pp.Gaussian(np.linspace(0.1, 1, 6))))
    B, b = sde.drift(3.0)
    mean, covariance = stationary(sde, 3.0)
    np.testing.assert_allclose(B @ mean, b, atol=1e-12)
    expected = linalg.solve_continuous_lyapunov(B.toarray(), np.diag(sde.noise_size(3.0) ** 2))
    np.testing.assert_allclose(covariance, expected, rtol=1e-9, atol=1e-14)


def test_no_stationary_law_without_an_own_opinion_or_for_too_many() -> None:
    with pytest.raises(InvalidInputError, match="still hear their own opinion"):
        stationary(build(pressure=pp.StretchedExponential()), 1e5)
    with pytest.raises(InvalidInputError, match="up to 1,000 agents"):
        stationary(SDE(pp.Model(pp.networks.cycle(1001), np.zeros(1001))), 1.0)


def test_a_limit_without_its_noise_stays_that_of_the_equation() -> None:
    # Growing noise is left out of the mean, which must then be followed in continuous time and not in steps.
    noise = pp.Gaussian(0.1, time_scale=pp.Power(0.3))
    parts: dict[str, Any] = {"stubbornness": [1.0, 2.0, 4.0], "pressure": pp.Power(2), "start": [3.0, 0.0, 0.0]}
    model = pp.Model(pp.networks.complete(3), [0.0, 1.0, 5.0], noise=noise, **parts)
    quiet, limit = replace(model, noise=pp.NoNoise()), consensus_limit(SDE(model), tolerance=1e-5)
    np.testing.assert_allclose(limit.mean, moments_at(SDE(quiet), [300.0]).mean[0], atol=5e-3)
    assert abs(limit.mean - pp.moments(quiet, 300).mean[-1].mean()) > 0.04


def test_a_forecast_names_its_time_and_the_weight_of_the_start() -> None:
    verdict = pp.diagnose(SDE(build(CYCLES, pressure=pp.Linear(0.2)).model, step=0.5), 20)
    assert verdict.advice is not None
    assert "at time 10" in verdict.explain()
    # The start fades as in (κ + ρ) m′ = κ (v − m), exactly where s ∝ d: K₂ with ρ = t keeps 1/(1 + t).
    fades = known(pp.diagnose(SDE(pp.Model(pp.networks.k2(), hidden=[0.0, 1.0]), step=1.0), 9).forecast)
    assert fades.start_weight == pytest.approx(0.1, rel=1e-6)


def test_correlated_noise_has_the_long_run_variance_of_its_process() -> None:
    process = build(CYCLES, pressure=pp.Linear(0.2), noise=pp.Gaussian(0.5, temporal=pp.AR1(0.7)))
    verdict = pp.diagnose(process)
    assert verdict.outcome is Outcome.CONSENSUS
    law = known(verdict.rate.variance)
    assert law.constant is not None
    mode, times, steps = consensus_mode(process), np.array([200.0, 400.0]), round(400 / process.step)
    off = np.abs(moments(process, steps, of=mode, times=times).variance[:, 0] * times / law.constant - 1)
    assert off[0] < 0.05
    assert off[1] < 0.6 * off[0]


@pytest.mark.parametrize("temporal", [pp.AR1(0.7), pp.Frozen()], ids=str)
def test_limits_keep_what_correlated_noise_leaves(temporal: pp.AR1 | pp.Frozen) -> None:
    process = build(CYCLES, pressure=pp.Power(2), noise=pp.Gaussian(0.5, temporal=temporal))
    limit = known(pp.diagnose(process).consensus_limit)
    found = moments(process, round(200 / process.step), of=consensus_mode(process), times=[100.0, 200.0])
    # What is left falls like 1/T, which one extrapolation removes.
    assert abs(2 * found.std[1, 0] - found.std[0, 0] - limit.std) < limit.residual
    assert limit.residual < 2e-3
    assert abs(2 * found.mean[1, 0] - found.mean[0, 0] - limit.mean) < limit.residual


def test_adaptation_and_networks_that_repeat_are_known_in_continuous_time_too() -> None:
    parts: dict[str, Any] = {"hidden": np.linspace(0, 1, 8), "stubbornness": np.linspace(0.5, 1, 8)}
    plain = build(CYCLES, pressure=pp.Linear(0.2), **parts).model
    changing = pp.TemporalNetwork.from_snapshots([CYCLES, TREE], period=2)
    temporal = pp.Model(changing, plain.x0, plain.s, plain.pressure, plain.noise)
    for model in (replace(plain, adaptation=pp.Adaptation(0.1)), temporal):
        process = SDE(model, step=0.5)
        verdict = pp.diagnose(process, 20)
        assert verdict.outcome is Outcome.BIASED_CONSENSUS
        late = moments(SDE(replace(model, noise=pp.NoNoise()), step=0.5), 500).mean[-1]
        np.testing.assert_allclose(late, verdict.law.mean[0], atol=2e-2)
        assert verdict.rate.bias is None
        assert verdict.hidden is None
        ahead, found = verdict.forecast, moments(process, 20, what="joint")
        assert ahead is not None
        np.testing.assert_allclose(ahead.mean, found.mean[-1, :8], rtol=1e-8)
        np.testing.assert_allclose(known(ahead.std), found.std[-1, :8], rtol=1e-6)
        if ahead.hidden_mean is not None:
            assert ahead.hidden_mean == pytest.approx(found.mean[-1, 8:].mean(), rel=1e-8)
        with pytest.raises(InvalidInputError, match="in continuous time a consensus limit"):
            consensus_limit(process)
