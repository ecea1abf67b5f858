"""Predictive probabilities of b_t = a_t x₀ + e_t for draws e_t of any law with a density, with a flat prior of x₀.

The density of x₀ given b_1, …, b_{t−1} is followed on a grid for each series, under uniform noise on an interval; the
probability of an output below b_t is the mean of F(b_t − a_t x₀) over it. In a location family these probabilities are
exactly independent and uniform.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.noise import Custom, Noise, Uniform
from peerpressure.progress import checkpoint
from peerpressure.recovery._limits import LAW_NUMBERS, NEGLIGIBLE

Array: TypeAlias = NDArray[np.float64]
Function: TypeAlias = Callable[[Array], Array]
# Points of the grid: the density of x₀ soon becomes narrow beside that of the noise, so that fewer are enough later.
_POINTS, _LATER_POINTS, _LATER = 129, 33, 8
# Probability left out on either side of the first grid, and of those that follow.
_TAIL, _CUT = 1e-8, 1e-10
# Heavy tails need points that crowd in the middle, until several outputs have cut them off.
_BEND, _BENT_UNTIL = 6.0, 4
# Series that are followed at once, which bounds the memory.
_BLOCK = 2_048
# Half the width of the uniform law of unit variance.
_HALF = float(np.sqrt(3))


def law_scores(values: Array, slope: Array, present: NDArray[np.bool_], known: Array, noise: Noise) -> Array:
    """Return Φ⁻¹ of the predictive probabilities of series, (replicates, T, n), NaN where there are none.

    ``values`` is b, (replicates, T, n), ``slope`` a and ``present`` (T, n); ``known`` (replicates, n) is x₀, NaN where
    it is not known. Of very many series, an evenly spaced part is followed.
    """
    replicates, steps, n = values.shape
    law = ScaledLaw.of(noise)
    # Uniform noise takes no integral.
    count = n if law.bounded else max(1, min(n, LAW_NUMBERS // max(1, replicates * steps)))
    agents = np.unique(np.linspace(0, n - 1, count).astype(np.int64))
    out = np.full(values.shape, np.nan)
    series = np.moveaxis(values[:, :, agents], 1, 0).reshape(steps, -1)
    a, here = np.tile(slope[:, agents], replicates), np.tile(present[:, agents], replicates)
    start, found = known[:, agents].ravel(), np.empty_like(series)
    for first in range(0, series.shape[1], _BLOCK):
        some = slice(first, first + _BLOCK)
        found[:, some] = _scores(series[:, some], a[:, some], here[:, some], start[some], law)
    out[:, :, agents] = np.moveaxis(found.reshape(steps, replicates, -1), 0, 1)
    return out


@final
@dataclass(frozen=True, eq=False)
class ScaledLaw:
    """A law of unit variance: its functions, and the ends of nearly all of its probability."""

    cdf: Function
    sf: Function
    log_density: Function
    low: float
    high: float
    bounded: bool

    @classmethod
    def of(cls, noise: Noise) -> ScaledLaw:
        """Return the law of this noise at unit standard deviation."""
        law = noise.unit()
        mean, std = (float(law.mean()), float(law.std())) if isinstance(noise, Custom) else (0.0, 1.0)
        ends = (np.array([law.ppf(_TAIL), law.isf(_TAIL)]) - mean) / std
        bounded = isinstance(noise, Uniform)

        def scaled(function: Function) -> Function:
            return lambda z: np.asarray(function(mean + std * z))

        logs = scaled(law.logpdf)
        low, high = float(ends[0]), float(ends[1])
        return cls(scaled(law.cdf), scaled(law.sf), lambda z: logs(z) + np.log(std), low, high, bounded)


def _scores(b: Array, a: Array, here: NDArray[np.bool_], known: Array, law: ScaledLaw) -> Array:
    """Return the scores of series, (T, m)."""
    from scipy import special

    lower, upper = np.full(b.shape, np.nan), np.full(b.shape, np.nan)
    given = ~np.isnan(known)
    sure = here & given
    off = b - a * np.nan_to_num(known)
    lower[sure], upper[sure] = law.cdf(off[sure]), law.sf(off[sure])
    density: _Posterior = _Interval() if law.bounded else _Density(law)
    started = np.zeros(b.shape[1], dtype=bool)
    usable = here & ~given & (np.abs(a) > NEGLIGIBLE)
    for t in range(len(b)):
        checkpoint()
        ready = usable[t] & started
        if ready.any():
            lower[t, ready], upper[t, ready] = density.probabilities(b[t], a[t], ready)
        started |= usable[t]
        density.follow(b[: t + 1], a[: t + 1], usable[: t + 1])
    # From the nearer end, since probabilities near 1 lose their digits.
    return np.asarray(np.where(lower < upper, special.ndtri(lower), -special.ndtri(upper)))


class _Posterior(Protocol):
    """What is known of the x₀ of each series from the outputs so far."""

    def probabilities(self, b: Array, a: Array, which: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Return the probabilities of an output below and above b of some series."""
        ...

    def follow(self, b: Array, a: Array, usable: NDArray[np.bool_]) -> None:
        """Take in the last of the outputs."""
        ...


@final
@dataclass(eq=False)
class _Interval:
    """The interval from ``low`` to ``high``, (m,), on which the density of x₀ is constant under uniform noise."""

    low: Array = field(init=False)
    high: Array = field(init=False)

    def probabilities(self, b: Array, a: Array, which: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Return the probabilities of an output below and above b of some series."""
        one, other = (b[which] - a[which] * end[which] for end in (self.low, self.high))
        length = np.abs(one - other)
        below, above = (
            np.abs(_uniform_integral(sign * one) - _uniform_integral(sign * other)) / np.where(length > 0, length, 1.0)
            for sign in (1, -1)
        )
        return below, above

    def follow(self, b: Array, a: Array, usable: NDArray[np.bool_]) -> None:
        """Take in the last of the outputs."""
        if len(b) == 1:
            self.low, self.high = np.full(b.shape[1], -np.inf), np.full(b.shape[1], np.inf)
        slope = np.where(usable[-1], a[-1], 1.0)
        ends = np.sort((b[-1] + np.array([[-_HALF], [_HALF]])) / slope, axis=0)
        self.low = np.where(usable[-1], np.maximum(self.low, ends[0]), self.low)
        self.high = np.where(usable[-1], np.minimum(self.high, ends[1]), self.high)


def _uniform_integral(z: Array) -> Array:
    """Return ∫F up to z of the uniform law of unit variance."""
    return np.where(z < _HALF, np.maximum(z + _HALF, 0.0) ** 2 / (4 * _HALF), z)


@final
@dataclass(eq=False)
class _Density:
    """The density of x₀ of each series given the outputs so far, on grids ``points`` with ``weights``, (m, points)."""

    law: ScaledLaw
    points: Array = field(init=False)
    logs: Array = field(init=False)

    def probabilities(self, b: Array, a: Array, which: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Return the probabilities of an output below and above b of some series."""
        weights = self._weights()[which]
        off = b[which, None] - a[which, None] * self.points[which]
        below = (weights * self.law.cdf(off)).sum(axis=1)
        above = 1 - below
        # Probabilities near 1 have lost the digits of what is left to 1.
        far = below > 0.99
        above[far] = (weights[far] * self.law.sf(off[far])).sum(axis=1)
        return below, above

    def follow(self, b: Array, a: Array, usable: NDArray[np.bool_]) -> None:
        """Take in the last of the outputs; at steps 1, 2, 4, … on a new grid, as the density becomes narrower."""
        steps = len(b)
        started = np.asarray(usable[:-1].any(axis=0))
        if steps & (steps - 1) and started[usable[-1]].all():
            self.logs = self.logs + self._fit(b[-1], a[-1], usable[-1])
            return
        self.points = self._grid(b, a, usable)
        self.logs = np.zeros_like(self.points)
        for row in range(steps):
            if usable[row].any():
                self.logs += self._fit(b[row], a[row], usable[row])

    def _fit(self, b: Array, a: Array, usable: NDArray[np.bool_]) -> Array:
        with np.errstate(divide="ignore"):
            fit = self.law.log_density(b[:, None] - a[:, None] * self.points)
        return np.where(usable[:, None], fit, 0.0)

    def _grid(self, b: Array, a: Array, usable: NDArray[np.bool_]) -> Array:
        """Return points that reach over the density of each series."""
        seen, columns = usable.sum(axis=0), np.arange(b.shape[1])
        first = np.argmax(usable, axis=0)
        slope = np.where(seen > 0, a[first, columns], 1.0)
        ends = np.sort((b[first, columns] - np.array([[self.law.high], [self.law.low]])) / slope, axis=0)
        low, high, middle = ends[0], ends[1], b[first, columns] / slope
        if seen.max(initial=0) > 1 and hasattr(self, "points"):
            total = np.cumsum(self._weights(), axis=1)
            before = np.maximum(np.argmax(total > _CUT, axis=1) - 1, 0)
            after = np.minimum(np.argmax(total >= 1 - _CUT, axis=1) + 1, self.points.shape[1] - 1)
            half = np.argmax(total >= 0.5, axis=1)
            more = seen > 1
            low, middle, high = (
                np.where(more, self.points[columns, at], old)
                for at, old in ((before, low), (half, middle), (after, high))
            )
        bend = 1e-3 if seen.min() >= _BENT_UNTIL else _BEND
        # Odd, so that the middle is one of the points.
        reach = np.sinh(bend * np.linspace(-1, 1, _POINTS if seen.min() < _LATER else _LATER_POINTS)) / np.sinh(bend)
        below, above = (middle - low)[:, None], (high - middle)[:, None]
        return np.asarray(middle[:, None] + np.where(reach < 0, below, above) * reach)

    def _weights(self) -> Array:
        """Return the probability of each point, by the trapezoidal rule."""
        width = np.diff(self.points, axis=1)
        width = np.concatenate([width[:, :1], width[:, 1:] + width[:, :-1], width[:, -1:]], axis=1)
        top = self.logs.max(axis=1, keepdims=True)
        # Outputs that the law cannot have made leave no density; any of them is as impossible as another.
        mass = width * np.exp(self.logs - np.where(np.isfinite(top), top, 0.0))
        total = mass.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(mass, total, out=np.zeros_like(mass), where=total > 0))
