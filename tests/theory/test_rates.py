"""The predicted power laws against exact moments at growing horizons."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, ModelError
from peerpressure.model import Model
from peerpressure.networks import Network, TemporalNetwork, barabasi_albert, complete, cycle, named, path, star
from peerpressure.noise import AR1, Gaussian, Noise, NoNoise
from peerpressure.schedules import Constant, Formula, Linear, Logarithmic, Power, Schedule, StretchedExponential, Table
from peerpressure.theory import Regime, consensus_mode, consensus_rate, diagnose, ideal_deviation, moments, regime_of
from peerpressure.theory._classification import is_proportional
from peerpressure.theory._rates import lag, mode_noise, start_weight
from tests.theory.reasons import known

NETWORKS: Mapping[str, Network] = {
    "path": path(5),
    "star": star(7),
    "BA1": barabasi_albert(20, 1, seed=3),
    "BA2": barabasi_albert(20, 2, seed=3),
    "complete": complete(6),
    "karate": named("karate"),
    "florentine": named("florentine"),
}
HORIZONS = [1000, 2000, 4000]


def make(network: Network, pressure: Schedule, noise: Noise | None = None, shift: float = 0.0) -> Model:
    rng = np.random.default_rng(network.n)
    hidden, s = rng.uniform(size=network.n), rng.uniform(0.5, 1, network.n)
    noise = Gaussian(0.7) if noise is None else noise
    return Model(network, hidden, stubbornness=s, pressure=pressure, noise=noise, start=hidden + shift)


def with_ratio(network: Network, r: float, noise: Noise | None = None, shift: float = 0.0) -> Model:
    """Return a model under ρ_t = c t with κ/c = r."""
    c = make(network, Linear()).kappa / r
    return make(network, Linear(c), noise, shift)


def exact(model: Model, times: list[int] = HORIZONS) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return bias and variance of the consensus mode."""
    result = moments(model, times[-1], of=consensus_mode(model), times=times)
    return result.mean[:, 0] - model.consensus_value, result.variance[:, 0]


def slope(values: NDArray[np.float64]) -> float:
    return -math.log2(abs(values[-1] / values[-2]))


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("r", [0.15, 0.4])
def test_small_ratios_forget_like_their_own_power(name: str, r: float) -> None:
    # A start that is off by 1 makes what is to be forgotten larger than what is left behind by the lag.
    model = with_ratio(NETWORKS[name], r, shift=1.0)
    bias, variance = exact(model)
    rate = consensus_rate(model)
    assert (rate.regime, known(rate.bias).log) == (Regime.LINEAR, False)
    assert known(rate.bias).exponent == pytest.approx(r)
    assert known(rate.variance).exponent == pytest.approx(2 * r)
    assert slope(bias) == pytest.approx(r, abs=0.01)
    # The next term is t^(2r − 1) of the first, so close to the border the exponent is reached slowly.
    assert slope(variance) == pytest.approx(2 * r, abs=0.005 if r < 0.2 else 0.08)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_tuned_ratio_has_a_logarithm_in_its_bias_and_the_ideal_variance(name: str) -> None:
    model = with_ratio(NETWORKS[name], 1.0)
    (*_, b1, b2), variance = exact(model)
    rate = consensus_rate(model)
    assert rate.bias is not None
    assert (rate.bias.exponent, rate.bias.log, known(rate.variance).exponent) == (1.0, True, 1.0)
    growth = (4000 * b2 - 2000 * b1) / math.log(2)
    assert growth == pytest.approx(known(rate.bias.constant), rel=0.02)
    assert math.sqrt(variance[-1]) == pytest.approx(ideal_deviation(model, 4000), rel=2e-3)
    assert known(rate.variance)(4000) == pytest.approx(variance[-1], rel=4e-3)


@pytest.mark.parametrize("name", NETWORKS)
def test_large_ratios_follow_the_fixed_point(name: str) -> None:
    model = with_ratio(NETWORKS[name], 3.0)
    bias, variance = exact(model)
    rate = consensus_rate(model)
    assert rate.bias is not None
    assert (rate.bias.exponent, rate.bias.log, known(rate.variance).exponent) == (1.0, False, 1.0)
    assert slope(bias) == pytest.approx(1.0, abs=0.06)
    assert rate.bias(4000) == pytest.approx(bias[-1], rel=0.05)
    assert known(rate.variance)(4000) == pytest.approx(variance[-1], rel=5e-3)


def test_at_half_the_variance_has_a_logarithm() -> None:
    model = with_ratio(NETWORKS["BA2"], 0.5)
    _, (*_, v1, v2) = exact(model)
    law = known(consensus_rate(model).variance)
    assert (law.exponent, law.log) == (1.0, True)
    assert (4000 * v2 - 2000 * v1) / math.log(2) == pytest.approx(law.constant, rel=0.01)


@pytest.mark.parametrize("p", [0.4, 0.6])
def test_slow_schedules_are_quasi_stationary(p: float) -> None:
    model = make(NETWORKS["BA2"], Power(p, scale=0.5))
    bias, variance = exact(model)
    rate = consensus_rate(model)
    assert rate.regime is Regime.SLOW
    assert (known(rate.bias).exponent, known(rate.variance).exponent) == (p, p)
    assert known(rate.bias)(4000) == pytest.approx(bias[-1], rel=0.1)
    assert known(rate.variance)(4000) == pytest.approx(variance[-1], rel=0.03)


@pytest.mark.parametrize("gamma", [-0.25, 0.2, 0.5, 0.7])
def test_noise_that_changes_over_time(gamma: float) -> None:
    model = with_ratio(NETWORKS["BA2"], 1.0, Gaussian(0.7, time_scale=Power(gamma)))
    _, variance = exact(model)
    law = known(consensus_rate(model).variance)
    assert law.exponent == pytest.approx(1 - 2 * gamma)
    assert law(4000) == pytest.approx(variance[-1], rel=0.02)


def test_ar1_noise_averages_out_more_slowly_by_its_long_run_variance() -> None:
    model = with_ratio(NETWORKS["BA2"], 1.0, Gaussian(0.7, temporal=AR1(0.6)))
    _, variance = exact(model)
    law = known(consensus_rate(model).variance)
    assert law(4000) == pytest.approx(variance[-1], rel=0.01)
    assert ideal_deviation(model, 4000) ** 2 == pytest.approx(variance[-1], rel=0.01)
    assert law.constant == pytest.approx(4 * mode_noise(model) ** 2)


@pytest.mark.parametrize("gamma", [0.0, -0.3, 0.3])
def test_frozen_noise_stays(gamma: float) -> None:
    model = with_ratio(NETWORKS["BA2"], 1.0, Gaussian(0.7, time_scale=Power(gamma), temporal="frozen"))
    _, variance = exact(model)
    law = known(consensus_rate(model).variance)
    assert law.exponent == -2 * gamma
    assert law(4000) == pytest.approx(variance[-1], rel=0.02)


@pytest.mark.parametrize("name", ["path", "BA1", "BA2", "complete"])
@pytest.mark.parametrize("r", [0.25, 1.0, 1.5])
@pytest.mark.parametrize("noisy", [True, False])
def test_disagreement(name: str, r: float, noisy: bool) -> None:
    # Loud noise and a start far off on one side, so neither is hidden by the lag at these horizons.
    model = with_ratio(NETWORKS[name], r, Gaussian(10.0) if noisy else NoNoise())
    model = replace(model, start=np.where(np.arange(model.n) == 0, 20.0, 0.0))
    rows = np.eye(model.n) - consensus_mode(model).weights
    result = moments(model, 2000, of=rows, times=[1000, 2000])
    measured = np.sqrt(np.mean(result.mean**2 + result.variance, axis=1))
    law = known(consensus_rate(model).disagreement)
    assert slope(measured) == pytest.approx(law.exponent, abs=0.06)


@pytest.mark.parametrize("r", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("offset", [0.0, 2.0, -1.0])
def test_stubbornness_in_proportion_to_degree_makes_the_recursion_exact(r: float, offset: float) -> None:
    c = 1 / r
    d = star(5).degrees
    start = [3.0, 1.0, 0.0, -1.0, 2.0]
    model = Model(star(5), hidden=np.arange(5.0), stubbornness=d, pressure=Linear(c, offset * c), start=start)
    bias, _ = exact(model, [500, 1000])
    law = known(consensus_rate(model).bias)
    assert law.exponent == pytest.approx(r)
    assert law(1000) == pytest.approx(bias[-1], rel=0.03, abs=1e-12)
    initial = float(d @ (np.array(start) - model.consensus_value) / d.sum())
    assert bias[-1] == pytest.approx(initial * start_weight(model, 1000), rel=1e-9, abs=1e-12)


def test_lag_is_that_of_the_fixed_point() -> None:
    model = make(NETWORKS["karate"], Linear())
    L, S, w = model.network.laplacian.toarray(), np.diag(model.s), consensus_mode(model).weights
    low, high = (rho * (w @ np.linalg.solve(S + rho * L, S @ model.x0) - model.consensus_value) for rho in (1e3, 2e3))
    assert lag(model) == pytest.approx(2 * high - low, rel=1e-5)


REGIMES = [
    (Constant(3.0), Regime.BOUNDED),
    (Power(-1.0), Regime.BOUNDED),
    (Power(0.5), Regime.SLOW),
    (Logarithmic(), Regime.SLOW),
    (Linear(2, 3), Regime.LINEAR),
    (Power(1.0, scale=4.0), Regime.LINEAR),
    (Power(1.2), Regime.FAST),
    (StretchedExponential(), Regime.FAST),
    (Formula("3*t + sqrt(t)"), Regime.LINEAR),
    (Formula("t*log(1+t)"), Regime.MARGINAL),
    (Formula("t/log(1+t)"), Regime.SLOW),
    (Formula("t^2"), Regime.FAST),
    (Formula("2 + 1/t"), Regime.BOUNDED),
    (Table([1.0, 2.0]), Regime.UNKNOWN),
]


@pytest.mark.parametrize(("schedule", "expected"), REGIMES, ids=str)
def test_regimes(schedule: Schedule, expected: Regime) -> None:
    assert regime_of(schedule) is expected


@pytest.mark.parametrize("schedule", [s for s, r in REGIMES if r not in (Regime.SLOW, Regime.LINEAR)], ids=str)
def test_no_power_law_is_claimed_where_none_holds(schedule: Schedule) -> None:
    rate = consensus_rate(make(NETWORKS["BA2"], schedule))
    assert (rate.bias, rate.variance, rate.disagreement, rate.ratio) == (None, None, None, None)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_stubbornness_and_pressure_may_be_scaled_together(factor: float) -> None:
    model = with_ratio(NETWORKS["BA2"], 1.7)
    assert isinstance(model.pressure, Linear)
    scaled = Model(
        model.network,
        model.hidden,
        stubbornness=model.s * factor,
        pressure=Linear(model.pressure.slope * factor),
        noise=model.noise,
    )
    one, other = consensus_rate(model), consensus_rate(scaled)
    assert one.ratio == pytest.approx(other.ratio)
    assert known(one.bias).constant == pytest.approx(known(other.bias).constant)


def test_constants_can_be_spared() -> None:
    law = known(consensus_rate(with_ratio(NETWORKS["BA2"], 3.0), constants=False).bias)
    assert law.constant is None
    assert math.isnan(law(10))


def test_ideal_deviation_is_rejected_for_frozen_noise_and_before_the_first_step() -> None:
    model = make(cycle(5), Linear(), Gaussian(1.0, temporal="frozen"))
    with pytest.raises(ModelError, match="noise must be fresh"):
        ideal_deviation(model, 10)
    with pytest.raises(InvalidInputError, match="at least 1"):
        ideal_deviation(make(cycle(5), Linear()), 0)


def _bias(model: Model, t: int) -> float:
    return abs(float(moments(model, t, of=consensus_mode(model)).mean[-1, 0]) - model.consensus_value)


def _local_exponent(model: Model, t: int) -> float:
    return math.log(_bias(model, t) / _bias(model, 2 * t)) / math.log(2)


def test_equal_opinions_are_approached_as_fast_as_the_start_is_forgotten() -> None:
    start = [1.0, 2.0, 3.0, 4.0]
    linear = Model(complete(4), [0.5] * 4, [1, 2, 3, 6], Linear(0.5), start=start)  # κ/c = 2
    rate = consensus_rate(linear)
    assert (known(rate.bias).exponent, known(rate.disagreement).exponent) == pytest.approx((2.0, 3.0))
    assert _local_exponent(linear, 500) == pytest.approx(2.0, abs=0.02)
    spread = [float(np.ptp(moments(linear, t).mean[-1])) for t in (500, 1_000)]
    assert math.log2(spread[0] / spread[1]) == pytest.approx(3.0, abs=0.05)
    slow = known(consensus_rate(Model(complete(4), [0.5] * 4, pressure=Power(0.5), start=start)).bias)
    assert slow.exponent == math.inf
    assert str(slow) == "faster than every power of t"


def test_equal_opinions_on_a_temporal_network_leave_only_the_start() -> None:
    network = TemporalNetwork.from_snapshots([cycle(5), complete(5)], period=2)
    rate = consensus_rate(Model(network, np.full(5, 0.7), pressure=Linear(0.2), start=np.full(5, 1.7)))
    assert known(rate.ratio) > 1
    assert known(rate.bias).exponent == known(rate.ratio)


ALTERNATING = TemporalNetwork.from_snapshots([cycle(4), path(4)], period=2)


@pytest.mark.parametrize("opinion", [1.0, 0.7])
def test_classes_that_take_turns_leave_the_variance_of_their_average_without_a_constant(opinion: float) -> None:
    # Noise of the two classes is independent, so their average has half the variance of each.
    noise = Gaussian(0.5, time_scale="t^0.2")
    model = Model(ALTERNATING, np.full(4, opinion), pressure=Linear(0.4), noise=noise)
    variance = known(consensus_rate(model).variance)
    assert variance.exponent == pytest.approx(0.6)
    assert variance.constant is None
    assert slope(exact(model)[1]) == pytest.approx(0.6, abs=0.02)


def test_no_bias_is_claimed_of_agents_whom_noise_keeps_apart_about_another_value_than_v() -> None:
    triangle, line = complete(3).adjacency.toarray(), 2 * path(3).adjacency.toarray()
    network = TemporalNetwork.from_snapshots([triangle, line], period=2)
    model = Model(network, [0.0, 0.0, 1.0], [1.0, 1.0, 3.0], Linear(), Gaussian(0.5, time_scale="t"))
    assert consensus_rate(model).bias is None
    quiet = replace(model, noise=NoNoise())
    limit = known(diagnose(quiet).consensus_limit).mean
    assert abs(limit - model.consensus_value) > 0.01
    assert consensus_rate(quiet).bias is not None


@pytest.mark.parametrize("seed", range(4))
def test_a_regular_network_starts_at_its_value_up_to_rounding(seed: int) -> None:
    model = Model(cycle(7), hidden=np.random.default_rng(seed).random(7), noise=Gaussian(0.2))
    bias = known(consensus_rate(model).bias)
    assert bias.constant == 0
    assert ("decays like", "bias 0, ") in [(name, text[:8]) for name, text in diagnose(model).facts]


def test_only_those_who_count_must_be_proportional_for_the_mode_to_have_a_recursion_of_its_own() -> None:
    # The third agent follows the first, and nobody follows it.
    network = Network(np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), directed=True)
    model = Model(network, [0.0, 1.0, 5.0], [3.0, 3.0, 7.0], Linear(), start=[2.0, 3.0, 4.0])
    assert is_proportional(model)
    assert not is_proportional(replace(model, stubbornness=np.array([3.0, 4.0, 7.0])))
    w, v, state = model.mode_weights, model.consensus_value, model.start_state
    for t in range(1, 6):
        before, state = state, model.update(t)(state)
        assert w @ (state - v) == pytest.approx(w @ (before - v) / (1 + model.kappa / t), rel=1e-12)
