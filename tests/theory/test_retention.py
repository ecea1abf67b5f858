"""How long opinions stay an agent's own, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import gamma

from peerpressure.errors import AdaptationError, InvalidInputError
from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.networks import cycle, k2
from peerpressure.noise import NoNoise
from peerpressure.schedules import Constant, Power
from peerpressure.theory import moments, retention as function


def build(rate: object, adaptation_weight: object = 1.0) -> Model:
    return Model(k2(), hidden=[0.0, 1.0], adaptation=Adaptation(rate, adaptation_weight))  # type: ignore[arg-type]


@settings(max_examples=25, deadline=None)
@given(st.floats(0.001, 0.999))
def test_constant_rates_have_closed_forms(rate: float) -> None:
    result = function(build(rate), 50)
    np.testing.assert_allclose(result.share[:, 0], (1 - rate) ** np.arange(51), rtol=1e-11)
    np.testing.assert_allclose(result.information, 1 / (rate * (2 - rate)), rtol=1e-8)
    life = int(result.half_life[0])
    assert (1 - rate) ** life < 0.5 <= (1 - rate) ** (life - 1) * (1 + 1e-12)


def test_rates_that_fall_like_one_over_t_leave_a_power_law() -> None:
    # Π (1 − c/s) over s ≤ t is Γ(t + 1 − c)/(Γ(t + 1)Γ(1 − c)), and the squares sum up exactly when 2c > 1.
    c = 0.8
    result = function(build(Power(-1, c)), 40)
    t = np.arange(41.0)
    np.testing.assert_allclose(result.share[:, 0], gamma(t + 1 - c) / (gamma(t + 1) * gamma(1 - c)), rtol=1e-11)
    terms = np.cumprod(1 - c / np.arange(1.0, 4_000_001.0)) ** 2
    rest = terms[-1] * 4e6 / (2 * c - 1)
    np.testing.assert_allclose(result.information, 1 + terms.sum() + rest, rtol=1e-4)
    assert np.all(np.isinf(function(build(Power(-1, 0.5)), 1).information))


@pytest.mark.parametrize("rate", [1e-6, 1e-7, 1e-9])
def test_small_rates_are_summed_beyond_the_steps_that_are_followed(rate: float) -> None:
    result = function(build(rate), 1)
    np.testing.assert_allclose(result.information, 1 / (rate * (2 - rate)), rtol=1e-7)
    np.testing.assert_allclose(result.half_life, math.log(0.5) / math.log1p(-rate), rtol=1e-6)


def test_falling_rates_are_summed_beyond_the_steps_that_are_followed() -> None:
    result = function(build(Power(-0.5, 2e-4)), 1)
    shares = np.cumprod(1 - 2e-4 / np.sqrt(np.arange(1.0, 4_000_001.0)))
    assert result.half_life[0] == np.argmax(shares < 0.5) + 1
    # ∫ exp(−4c√t) dt = 1/(8c²), up to the error ½ of a sum over steps, and smaller ones.
    np.testing.assert_allclose(result.information, 1 / (8 * 2e-4**2), rtol=1e-3)


def test_what_is_never_lost_tells_for_ever() -> None:
    assert np.all(np.isinf(function(build(Power(-2, 0.5)), 1).information))
    plain = function(Model(k2(), hidden=[0.0, 1.0]), 3)
    assert np.all(plain.share == 1)
    assert np.all(np.isinf(plain.half_life))
    mixed = function(build(0.5, [0.0, 1.0]), 3)
    assert mixed.half_life.tolist() == [math.inf, 2.0]
    assert math.isinf(mixed.information[0])


def test_nothing_is_claimed_of_rates_beyond_a_table() -> None:
    result = function(build([0.6, 0.2, 0.1]), 2)
    assert result.half_life.tolist() == [1.0, 1.0]
    assert np.all(np.isnan(result.information))
    with pytest.raises(AdaptationError, match="3 values"):
        function(build([0.6, 0.2, 0.1]), 4)


def test_a_rate_that_leaves_its_range_later_is_followed_as_far_as_asked() -> None:
    model = Model(k2(), hidden=[0.0, 1.0], adaptation="t/50")
    np.testing.assert_allclose(function(model, 2).share[:, 0], [1.0, 0.98, 0.98 * 0.96])


def test_the_share_is_the_weight_of_the_first_opinion_where_nobody_is_heard() -> None:
    # Without pressure an agent shows x; with noise off, x would not move, so a start elsewhere shows the weights.
    model = Model(cycle(5), np.eye(5)[0], pressure=Constant(1e12), noise=NoNoise(), start=np.zeros(5), adaptation=0.3)
    held = moments(model, 6, what="hidden").mean[:, 0]
    np.testing.assert_allclose(held, function(model, 6).share[:, 0], atol=1e-9)


def test_many_susceptibilities_are_followed_at_once() -> None:
    factors = np.linspace(0.1, 1.0, 3000)
    model = Model(cycle(3000), np.zeros(3000), adaptation=Adaptation(0.5, factors))
    result = function(model, 7)
    np.testing.assert_allclose(result.share[-1], (1 - 0.5 * factors) ** 7, rtol=1e-12)
    np.testing.assert_allclose(result.information, 1 / (0.5 * factors * (2 - 0.5 * factors)), rtol=1e-8)


def test_it_reads_well_and_asks_for_steps() -> None:
    assert repr(function(build(0.1), 10)) == "Retention(half-life 7 steps, 0.349 left after 10)"
    with pytest.raises(InvalidInputError, match="whole number"):
        function(build(0.1), 0)
