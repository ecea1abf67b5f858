"""Noise and opinions on a grid: what makes an (ε, δ) of real numbers hold for the floating-point numbers of a release.

Opinions and noise are multiples of one step h, a power of two: x̂ = h·a, N = h·k with whole a and k. Their sum is exact,
and the law of k is that of a rounded real draw, k = round(σz/h). So a + k = round((x̂ + σz)/h) is post-processing of the
ideal mechanism x̂ + σz, and so is everything that is computed from it, whatever its rounding errors.

Rounding the opinions must not move two of them further apart than Δ. Halves go up, which commutes with shifts by
multiples of h; so Δ is rounded up to such a multiple first.

A draw takes 64 random bits of the operating system: a sign, and V = (v + ½)/2⁶³ with whole v, from which the modulus
follows by inversion, |z| > b where V < P(|z| > b). It is computed in doubles. If these cannot tell on which side of
a boundary between two multiples it lies, decimals of 80 digits can. So nothing but the lattice of V separates the law
of k from the ideal one: each P(|k| ≥ j) is off by at most 2⁻⁶⁴, which is a total variation of at most
(c·σ/h + 3)·2⁻⁶⁴, where cσ is above the largest modulus that a draw can have.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from types import MappingProxyType
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from peerpressure.errors import InvalidInputError, message
from peerpressure.model.step import Array
from peerpressure.noise import Gaussian, Laplace, Noise

_BITS = 10  # of the grid below the noise and below Δ; with fewer, rounding costs an honest observer precision
_DOUBT = 2.0**-40  # relative error that a modulus in doubles may have; that of SciPy and NumPy is below 2⁻⁵⁰
_FINEST = 2.0**30  # standard deviations in steps of the grid, beyond which doubles would tell no side of a boundary
_LARGEST = 2.0**51  # opinions and draws in steps of the grid, whose sums are exact in doubles
_PRECISE = Context(prec=80)
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")


def _normal_tail(bound: Decimal) -> Decimal:
    """Return P(|z| > bound) of a standard normal z, by the series of the error function."""
    x = bound / Decimal(2).sqrt()
    term, total, n = x, x, 0
    # Terms grow to e^(x²) < 10¹⁹ before they fall, which 80 digits bear.
    while abs(term) > Decimal(10) ** -70 or n < x * x:
        n += 1
        term *= -x * x / n
        total += term / (2 * n + 1)
    return 1 - 2 * total / _PI.sqrt()


def _laplace_tail(bound: Decimal) -> Decimal:
    """Return P(|z| > bound) of a Laplace z of unit variance."""
    return (-bound * Decimal(2).sqrt()).exp()


@final
@dataclass(frozen=True)
class InvertedLaw:
    """How a law of unit variance is inverted.

    ``modulus(V)`` is the |z| that a share V of draws exceeds, in doubles; ``tail(b)`` is the share that exceeds b, in
    decimals; ``largest`` is above every |z| that 63 bits give.
    """

    modulus: Callable[[Array], Array]
    tail: Callable[[Decimal], Decimal]
    largest: float


LAWS: Mapping[type[Noise], InvertedLaw] = MappingProxyType(
    {
        Gaussian: InvertedLaw(lambda V: -ndtri(V / 2), _normal_tail, 9.3),
        Laplace: InvertedLaw(lambda V: -np.log(V) / math.sqrt(2), _laplace_tail, 31.5),
    }
)


def random_words(shape: tuple[int, ...]) -> NDArray[np.uint64]:
    """Return words of 64 random bits from the operating system's cryptographic generator."""
    return np.frombuffer(os.urandom(8 * math.prod(shape)), dtype=np.uint64).reshape(shape)


def draws(law: InvertedLaw, deviation: Array, words: NDArray[np.uint64], doubt: float = _DOUBT) -> Array:
    """Return round(σz) for whole random words, with σ in steps of the grid; ``doubt`` is what doubles may be off by.

    >>> draws(LAWS[Laplace], np.array([1024.0]), np.array([0, 2**63, 2**64 - 1], np.uint64)).tolist()
    [32121.0, -32121.0, 0.0]
    """
    deviation = np.broadcast_to(deviation, words.shape)
    # The highest bit is the sign, the others are v.
    v = words & np.uint64(2**63 - 1)
    modulus = deviation * law.modulus((v.astype(np.float64) + 0.5) * 2.0**-63)
    below = np.floor(modulus)
    steps = np.rint(modulus)
    unsure = np.abs(modulus - below - 0.5) <= doubt * (deviation + modulus)
    for at in zip(*np.nonzero(unsure), strict=True):
        steps[at] = below[at] + _exceeds(law, int(v[at]), below[at] + 0.5, float(deviation[at]))
    return np.where(words >> np.uint64(63), -steps, steps) + 0.0


def _exceeds(law: InvertedLaw, v: int, boundary: float, deviation: float) -> bool:
    """Return whether the modulus of the draw v is beyond a boundary, in decimals."""
    with localcontext(_PRECISE):
        share = (2 * Decimal(v) + 1) / 2**64
        return share < law.tail(Decimal(boundary) / Decimal(deviation))


def nearest(values: Array, step: Array) -> Array:
    """Return values as whole numbers of steps, halves up; exact for powers of two.

    >>> nearest(np.array([-0.5, 0.49999999999999994, 0.5, 2.5]), np.array(1.0)).tolist()
    [0.0, 0.0, 1.0, 3.0]
    """
    scaled = values / step
    whole = np.rint(scaled)
    # rint takes halves to even numbers; the difference is exact, while scaled + ½ would round.
    return np.asarray(whole + (scaled - whole == 0.5) + 0.0)


@final
@dataclass(frozen=True, eq=False)
class NoiseGrid:
    """The grid of each agent, and the noise on it.

    ``step`` is (rows,), ``std`` the standard deviation of the noise at each step of time, (times, rows), or (1, rows)
    for noise that is drawn once. ``sensitivity`` is Δ, rounded up to a multiple of every step.
    """

    law: InvertedLaw
    step: Array
    std: Array
    sensitivity: float

    def __post_init__(self) -> None:
        if (finest := float((self.std / self.step).max())) > _FINEST:
            rule = f"noise on a grid may have a deviation of at most {_FINEST:.3g} steps of the grid"
            remedy = "use noise that varies less over time, or that is closer to the sensitivity"
            raise InvalidInputError(message(rule, got=f"{finest:.3g}", remedy=remedy))

    def variation(self, topics: int) -> float:
        """Return the total variation of all draws of one person in one run from their ideal laws, the largest."""
        of_rows = ((self.law.largest * self.std / self.step + 3) * 2.0**-64).sum(axis=0)
        return float(of_rows.reshape(-1, topics).sum(axis=1).max())

    def opinions(self, hidden: Array) -> Array:
        """Return hidden opinions in steps of the grid, (rows,)."""
        scaled = nearest(hidden, self.step)
        if np.abs(scaled).max() > _LARGEST:
            rule = f"hidden opinions may have at most {_LARGEST:.3g} steps of the grid"
            raise InvalidInputError(message(rule, got="more", remedy="subtract a public number from all of them"))
        return scaled

    def noise(self, time: int, runs: int) -> Array:
        """Return the noise of a step of time, counted from 0, in steps of the grid: (runs, rows)."""
        at = min(time, len(self.std) - 1)
        return draws(self.law, self.std[at] / self.step, random_words((runs, self.step.size)))


def grid_of(noise: Noise, rows: int, steps: int, sensitivity: float) -> NoiseGrid:
    """Return the grid for noise and sensitivity: 10 bits below both, or more.

    >>> grid = grid_of(Gaussian(5.0), rows=2, steps=1, sensitivity=0.3)
    >>> grid.step.tolist(), grid.sensitivity
    ([0.000244140625, 0.000244140625], 0.300048828125)
    """
    scales = np.asarray(noise.scale(np.arange(1, steps + 1)), dtype=np.float64)
    # Frozen noise of a finite ε has the same scale at all steps.
    std = np.outer(scales[:1] if noise.is_frozen else scales, noise.deviations(rows))
    step = np.minimum(_power_of_two(std.min(axis=0)), _power_of_two(np.asarray(sensitivity)))
    return NoiseGrid(LAWS[type(noise)], step, std, on_grid(sensitivity))


def on_grid(sensitivity: float) -> float:
    """Return Δ rounded up to a multiple of every step that its grid may have.

    >>> on_grid(1.0), on_grid(0.3)
    (1.0, 0.300048828125)
    """
    step = _power_of_two(np.asarray(sensitivity))
    return float(np.ceil(sensitivity / step) * step)


def _power_of_two(size: Array) -> Array:
    """Return the largest powers of two that are at most 2⁻¹⁰ of these sizes."""
    # The exponent itself, because a logarithm may round up to the next whole number.
    return np.asarray(np.ldexp(1.0, np.frexp(size)[1] - 1 - _BITS))
