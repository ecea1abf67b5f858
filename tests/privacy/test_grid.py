"""Noise on a grid: its exact law, the exact sums, and what finite random bits add to δ."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy import stats

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.privacy._grid import LAWS, draws, grid_of, nearest, on_grid, random_words

SIGN = 2**63
UNIT: dict[type[pp.noise.Noise], Any] = {pp.Gaussian: stats.norm(), pp.Laplace: stats.laplace(scale=math.sqrt(0.5))}
BOTH = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)


def words(count: int, seed: int = 1) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 2**64, count, dtype=np.uint64)


@BOTH
@pytest.mark.parametrize("deviation", [5.0, 1024.0, 1500.3, 2.0**20 + 1 / 3])
def test_doubles_and_decimals_give_the_same_draws(law: type[pp.noise.Noise], deviation: float) -> None:
    # In doubt about everything, all draws are decided by decimals; without doubt, by doubles alone.
    some, size = words(150), np.array(deviation)
    by_doubles, by_decimals = (draws(LAWS[law], size, some, doubt) for doubt in (0.0, 1.0))
    np.testing.assert_array_equal(by_doubles, by_decimals)


@BOTH
def test_the_boundary_between_two_multiples_is_where_the_law_has_it(law: type[pp.noise.Noise]) -> None:
    """Words on both sides of a boundary, one apart: doubles cannot tell them, and the draws are those of the law."""
    one, size = LAWS[law], np.array(1024.0)
    for k in (0, 1, 700, 3000):
        with localcontext(prec=80):
            share = one.tail((Decimal(k) + Decimal("0.5")) / 1024)
            # The last v with (v + ½)/2⁶³ below the share.
            v = int((share * 2**63 - Decimal("0.5")).to_integral_value(rounding="ROUND_FLOOR"))
        found = draws(one, size, np.array([v, v + 1, SIGN + v, SIGN + v + 1], np.uint64))
        assert found.tolist() == [k + 1, k, -k - 1, -k]


@BOTH
def test_shares_of_draws_are_those_of_the_rounded_law(law: type[pp.noise.Noise]) -> None:
    """Every P(|k| ≥ j) is off by at most 2⁻⁶⁴: the decimals are right to that."""
    for b in (0.01, 0.5, 2.0, 6.0, 9.0):
        with localcontext(prec=80):
            assert float(LAWS[law].tail(Decimal(b))) == pytest.approx(2 * UNIT[law].sf(b), rel=1e-13)
    found = draws(LAWS[law], np.array(3.0), words(400_000))
    edges = np.arange(-20, 20) + 0.5
    expected = np.diff(UNIT[law].cdf(edges / 3)) * found.size
    counts, _ = np.histogram(found, edges)
    assert (
        stats.chisquare(
            counts[expected > 20], expected[expected > 20] * counts[expected > 20].sum() / expected[expected > 20].sum()
        ).pvalue
        > 1e-4
    )


@BOTH
def test_no_draw_is_beyond_the_reach(law: type[pp.noise.Noise]) -> None:
    one = LAWS[law]
    largest = draws(one, np.array(2.0**20), np.array([0, SIGN], np.uint64))
    assert largest[0] == -largest[1]
    assert 0.98 * one.largest < largest[0] / 2**20 < one.largest


def test_total_variation_of_a_small_lattice_is_below_the_bound() -> None:
    """The same construction with 12 bits instead of 63, in rational numbers."""
    bits, deviation = 12, 7.0
    for law, unit in UNIT.items():
        shares = (np.arange(2**bits) + 0.5) / 2**bits
        moduli = np.rint(deviation * LAWS[law].modulus(shares))
        counts = np.bincount(moduli.astype(int), minlength=200) / 2**bits
        edges = np.concatenate([[0.0], np.arange(200) + 0.5])
        exact = 2 * np.diff(unit.cdf(edges / deviation))
        distance = 0.5 * (np.abs(counts - exact).sum() + 2 * unit.sf(edges[-1] / deviation))
        assert 0 < distance <= (moduli.max() + 2) * 2.0 ** -(bits + 1)


@given(st.floats(-1e6, 1e6), st.integers(-30, 3), st.integers(0, 4000), st.floats(0, 1))
def test_opinions_within_a_sensitivity_stay_within_it(x: float, exponent: int, multiple: int, share: float) -> None:
    step = 2.0**exponent
    other = x + share * multiple * step
    if Fraction(other) - Fraction(x) > multiple * Fraction(step):
        return
    one, two = nearest(np.array([x, other]), np.array(step))
    assert two - one <= multiple
    assert abs(Fraction(one) - Fraction(x) / Fraction(step)) <= Fraction(1, 2)


def test_halves_go_up() -> None:
    values = np.array([-1.5, -0.5, np.nextafter(0.5, 0), 0.5, 1.5, np.nextafter(-0.5, -1)])
    found = nearest(values, np.array(1.0))
    assert found.tolist() == [-1, 0, 0, 1, 2, -1]
    # −0 would show on which side of it an opinion was.
    assert not np.signbit(found[[1, 2]]).any()


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_the_grid_is_a_power_of_two_below_noise_and_sensitivity(std: float, reach: float) -> None:
    try:
        grid = grid_of(pp.Gaussian(std, time_scale=pp.Power(0.5)), 2, 9, reach)
    except InvalidInputError:
        assert 3 * std / min(std, reach) > 2**18
        return
    (step,) = set(grid.step.tolist())
    assert math.frexp(step)[0] == 0.5
    assert step <= min(std, reach) / 1024 < 2 * step
    assert grid.sensitivity % step == 0
    assert reach <= grid.sensitivity <= reach * (1 + 2**-10)
    assert grid.sensitivity == on_grid(reach)


def test_what_is_too_fine_or_too_large_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="steps of the grid"):
        grid_of(pp.Gaussian(1e9), 2, 1, 1.0)
    with pytest.raises(InvalidInputError, match="subtract a public number"):
        grid_of(pp.Gaussian(1.0), 2, 1, 1.0).opinions(np.array([0.0, 1e13]))


def test_frozen_noise_has_one_draw() -> None:
    held, fresh = (grid_of(pp.Gaussian(2.0, temporal=kind), 3, 50, 1.0) for kind in ("frozen", "white"))
    assert held.std.shape == (1, 3)
    assert fresh.variation(1) == pytest.approx(50 * held.variation(1))
    assert fresh.variation(3) == pytest.approx(3 * fresh.variation(1))


def test_bits_come_from_the_operating_system() -> None:
    first, second = random_words((4, 5)), random_words((4, 5))
    assert first.shape == (4, 5)
    assert not (first == second).any()
    # Each of 64 bits is set in about half of the words.
    bits = np.unpackbits(random_words((40_000,)).view(np.uint8)).reshape(-1, 64).mean(axis=0)
    assert np.abs(bits - 0.5).max() < 7 * 0.5 / math.sqrt(40_000)
