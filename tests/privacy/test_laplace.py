"""The composed privacy loss of Laplace noise against closed forms, a recursion of integrals and its normal limit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import integrate, optimize

from peerpressure.privacy import epsilon_of
from peerpressure.privacy._accounting import LEAST_DELTA, advanced, basic, epsilon_between


def between(steps: list[float], delta: float) -> tuple[float, float]:
    values, counts = np.unique(steps, return_counts=True)
    return epsilon_between(values, counts.astype(float), delta)


def one_delta(a: float) -> Callable[[float], float]:
    """Return δ(ε) of one release, for every real ε."""

    def delta(e: float) -> float:
        if e >= a:
            return 0.0
        return -math.expm1((e - a) / 2) if e > -a else -math.expm1(e)

    return delta


def one_more(before: Callable[[float], float], a: float) -> Callable[[float], float]:
    """Return δ(ε) after one more release, by averaging over its loss."""

    def delta(e: float) -> float:
        kinks = sorted({-a, a, *(k for k in (e - a, e + a, e) if -a < k < a)})
        inner = sum(
            integrate.quad(lambda x: 0.25 * math.exp((x - a) / 2) * before(e - x), low, high, epsabs=1e-13)[0]
            for low, high in itertools.pairwise(kinks)
        )
        return float(0.5 * before(e - a) + 0.5 * math.exp(-a) * before(e + a) + inner)

    return delta


@pytest.mark.parametrize("a", [0.01, 1.0, 30.0])
def test_one_release_is_pure(a: float) -> None:
    low, high = between([a], 1e-8)
    assert low == high == pytest.approx(a, abs=3e-8)
    assert basic(np.array([a]), np.ones(1)) == a


def test_a_delta_beyond_total_variation_needs_no_epsilon() -> None:
    assert between([0.1], 0.2) == (0.0, 0.0)


@pytest.mark.parametrize("steps", [[1.0, 1.0], [0.3, 0.8], [0.5, 0.5, 0.5]])
@pytest.mark.parametrize("delta", [1e-2, 1e-4])
def test_bounds_hold_the_exact_value(steps: list[float], delta: float) -> None:
    law = one_delta(steps[0])
    for a in steps[1:]:
        law = one_more(law, a)
    exact = optimize.brentq(lambda e: law(e) - delta, 0.0, sum(steps), xtol=1e-9)
    low, high = between(steps, delta)
    assert low <= exact <= high
    assert high - low < 0.03 * math.sqrt(sum(a**2 for a in steps))


def test_many_small_releases_are_gaussian() -> None:
    low, high = between([0.01] * 10_000, 1e-5)
    limit = float(epsilon_of(1.0, 1e-5))
    assert low - 0.02 < limit < high + 0.02


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(1e-3, 3.0), min_size=1, max_size=8), st.sampled_from([1e-6, 1e-3, 0.1]))
def test_bounds_are_in_order(steps: list[float], delta: float) -> None:
    values, many = np.unique(steps, return_counts=True)
    counts = many.astype(float)
    low, high = epsilon_between(values, counts, delta)
    assert 0 <= low <= high + 1e-12
    assert high <= basic(values, counts) + 1e-12
    assert high <= advanced(values, counts, delta) + 1e-12


@settings(deadline=None, max_examples=20)
@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=6))
def test_a_step_more_tells_no_less(steps: list[float]) -> None:
    assert between(steps, 1e-4)[1] >= between(steps[:-1], 1e-4)[0]


def test_far_below_rounding_composition_stands_in() -> None:
    values, counts = np.array([0.1]), np.array([50.0])
    low, high = epsilon_between(values, counts, LEAST_DELTA / 10)
    assert low == 0.0
    assert high == min(basic(values, counts), advanced(values, counts, LEAST_DELTA / 10))


def test_nothing_moved_and_nothing_hidden() -> None:
    assert epsilon_between(np.zeros(0), np.zeros(0), 1e-5) == (0.0, 0.0)
    assert epsilon_between(np.array([np.inf]), np.ones(1), 1e-5) == (np.inf, np.inf)
