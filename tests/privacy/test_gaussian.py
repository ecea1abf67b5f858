"""The analytic Gaussian mechanism against quadrature, published numbers and the laws that it obeys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate, optimize, stats

from peerpressure.errors import InvalidInputError
from peerpressure.privacy import delta_of, epsilon_of, epsilon_of_zcdp, mu_of
from peerpressure.privacy._accounting import log_delta

MUS = st.floats(1e-3, 1e3)
DELTAS = st.floats(1e-12, 0.5)


def delta_by_quadrature(mu: float, epsilon: float) -> float:
    """Return ∫ (φ(x − μ) − e^ε φ(x))₊ dx; the integrand is positive beyond x = ε/μ + μ/2."""
    edge = epsilon / mu + mu / 2

    def gap(x: float) -> float:
        return float(stats.norm.pdf(x - mu) - np.exp(epsilon + stats.norm.logpdf(x)))

    return float(integrate.quad(gap, edge, max(edge, mu) + 12, epsabs=0, epsrel=1e-11, limit=400)[0])


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 4.0])
def test_delta_is_the_integral_that_defines_it(mu: float, epsilon: float) -> None:
    expected = delta_by_quadrature(mu, epsilon)
    assert float(delta_of(mu, epsilon)) == pytest.approx(expected, rel=1e-8, abs=1e-200)


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0, 10.0])
def test_epsilon_by_bisection_of_the_integral(mu: float) -> None:
    expected = optimize.brentq(lambda e: delta_by_quadrature(mu, e) / 1e-5 - 1, 0.0, 150.0, xtol=1e-10)
    assert float(epsilon_of(mu, 1e-5)) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    # Noise that the analytic mechanism needs for sensitivity 1, to the digits that implementations print.
    [(1.0, 1e-5, 3.7306), (0.5, 1e-5, 7.0318), (4.3771781, 1e-5, 1.0)],
)
def test_known_calibrations(epsilon: float, delta: float, sigma: float) -> None:
    assert 1 / mu_of(epsilon, delta) == pytest.approx(sigma, rel=2e-5)


def test_total_variation_at_epsilon_zero() -> None:
    assert float(delta_of(1.0, 0.0)) == pytest.approx(2 * stats.norm.cdf(0.5) - 1)
    assert float(epsilon_of(1e-6, 1e-5)) == 0.0


def test_extremes_neither_overflow_nor_lose_all_digits() -> None:
    np.testing.assert_array_equal(epsilon_of([0.0, np.inf], 1e-5), [0.0, np.inf])
    # For μ → ∞ the loss is N(μ²/2, μ²), and ε its quantile.
    mu = 1e6
    assert float(epsilon_of(mu, 1e-5)) == pytest.approx(mu**2 / 2 + mu * stats.norm.isf(1e-5), rel=1e-9)
    # Far out both tails are φ(x)/x, with x = 59.5 and 60.5.
    expected = stats.norm.logpdf(59.5) + np.log(1 / 59.5 - 1 / 60.5)
    assert float(log_delta(1.0, 60.0)) == pytest.approx(expected, abs=2e-3)
    assert np.all(np.diff(log_delta(0.5, np.linspace(0, 300, 500))) < 0)


@given(MUS, MUS, DELTAS)
def test_a_larger_mu_has_a_larger_epsilon(a: float, b: float, delta: float) -> None:
    low, high = epsilon_of(sorted([a, b]), delta)
    assert low <= high * (1 + 1e-12)


@given(MUS, DELTAS)
def test_concentrated_privacy_converts_to_no_less(mu: float, delta: float) -> None:
    assert float(epsilon_of_zcdp(mu**2 / 2, delta)) >= float(epsilon_of(mu, delta)) * (1 - 1e-12)


@given(MUS, DELTAS)
def test_epsilon_and_mu_undo_each_other(mu: float, delta: float) -> None:
    epsilon = float(epsilon_of(mu, delta))
    if epsilon > 1e-9:
        assert mu_of(epsilon, delta) == pytest.approx(mu, rel=1e-7)
        assert float(delta_of(mu, epsilon)) == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, np.nan, "small"])
def test_delta_is_a_probability(delta: object) -> None:
    with pytest.raises(InvalidInputError, match="δ must lie strictly between 0 and 1"):
        epsilon_of(1.0, delta)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [0.0, -1.0, np.inf, np.nan, True])
def test_epsilon_is_positive(epsilon: float) -> None:
    with pytest.raises(InvalidInputError, match="ε must be a finite number above 0"):
        mu_of(epsilon, 1e-5)


@pytest.mark.parametrize("value", [-1.0, -1e-300, float("nan"), -np.inf, [1.0, -2.0], [0.5, float("nan")], "a", None])
@pytest.mark.parametrize(
    "ask",
    [
        lambda value: epsilon_of(value, 1e-5),
        lambda value: epsilon_of_zcdp(value, 1e-5),
        lambda value: delta_of(value, 1.0),
        lambda value: delta_of(1.0, value),
    ],
    ids=["epsilon_of", "epsilon_of_zcdp", "delta_of μ", "delta_of ε"],
)
def test_a_loss_that_is_negative_or_unknown_is_no_privacy(ask: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(InvalidInputError, match="must be a number of at least 0"):
        ask(value)


def test_losses_of_zero_and_infinity_are_numbers() -> None:
    assert float(epsilon_of_zcdp(0.0, 1e-5)) == 0.0
    assert np.isinf(epsilon_of_zcdp(np.inf, 1e-5))
    assert float(delta_of(np.inf, 3.0)) == 1.0
    assert float(delta_of(1.0, np.inf)) < 1e-300
