"""The consensus mode where every agent has the same gain: one number, whose error is known at any step.

With s ∝ d all gains are g_t = κ/(κ + ρ_t), and the mode m_t = (1 − g_t) m_{t−1} + g_t ξ̄_t is a recursion of its own.
Its bias is a product and its variance a sum over all steps. After the first steps both are sums of smooth functions,
which the formula of Euler and Maclaurin gives for intervals of doubling length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from operator import mul
from typing import TypeAlias, final

import numpy as np
from numpy.polynomial import chebyshev

from peerpressure.model import Model
from peerpressure.schedules import Table
from peerpressure.step import Array
from peerpressure.theory._classification import LongRun, is_proportional

_States: TypeAlias = Callable[[int], "tuple[float, float] | None"]
# Steps that are made one by one; from there on a doubling is short against the distance of a function's singularities.
FIRST = 2**13
# Points at which a function is known in an interval, others at which that is checked, and the share to which it holds.
_POINTS, _CHECKED, _RTOL = 33, 7, 1e-11
# Points of an interval at which the error is compared with a precision before the border is searched.
SCANNED = 16
# Steps that are made one by one around the border.
LOCAL = 32


@final
@dataclass(frozen=True, eq=False)
class ScalarMode:
    """Errors of the mode of a model with equal gains: ``bias`` is that of the start, ``sigma`` the deviation of ξ̄."""

    model: Model
    kappa: float
    bias: float
    sigma: float

    def _rates(self, t: Array) -> Array:
        """Return −log(1 − g_t)."""
        return np.asarray(np.log1p(self.kappa * self.model.pressure.reciprocal(t)))

    def _fresh(self, t: Array) -> Array:
        """Return the deviation that the noise of a step adds to the mode."""
        gain = -np.expm1(-self._rates(t))
        return np.asarray(gain * self.sigma * (self.model.noise.scale(t) if self.sigma else 0.0))

    def steps(self, first: int, last: int, bias: float, variance: float) -> tuple[Array, Array]:
        """Return bias and variance after steps first + 1…last, made one by one from those after ``first``."""
        t = np.arange(first + 1, last + 1, dtype=np.float64)
        kept, fresh = np.exp(-self._rates(t)), self._fresh(t) ** 2
        biases = accumulate(kept.tolist(), mul, initial=bias)
        added = zip((kept**2).tolist(), fresh.tolist(), strict=True)
        variances = accumulate(added, lambda before, step: step[0] * before + step[1], initial=variance)
        return np.array([*biases][1:]), np.array([*variances][1:])

    def over(self, first: int, last: int, bias: float, variance: float) -> tuple[float, float] | None:
        """Return both after ``last`` ≤ 2·``first`` from those after ``first``; None where functions are not smooth."""
        rates = Smooth.of(self._rates, first, last)
        if rates is None:
            return None
        total = rates.sums(np.array([float(last)]))[0]
        if not self.sigma:
            return bias * float(np.exp(-total)), 0.0

        def weighted(t: Array) -> Array:
            return np.asarray(self._fresh(t) ** 2 * np.exp(2 * (rates.sums(t) - total)))

        noise = Smooth.of(weighted, first, last)
        if noise is None:
            return None
        added = float(noise.sums(np.array([float(last)]))[0])
        return bias * float(np.exp(-total)), variance * float(np.exp(-2 * total)) + added

    def last_above(self, precision: float, last: int) -> int | None:
        """Return the last step up to ``last`` whose error exceeds a precision, 0 without one; None if not known."""
        bias, variance = self.steps(0, min(FIRST, last), self.bias, 0.0)
        errors = np.hypot(bias, np.sqrt(variance))
        over = np.flatnonzero(errors > precision)
        above, at = int(over[-1]) + 1 if over.size else 0, min(FIRST, last)
        state: tuple[float, float] | None = (float(bias[-1]), float(variance[-1]))
        while at < last:
            assert state is not None
            end = min(2 * at, last)
            late = self._late(precision, at, end, *state)
            state = self.over(at, end, *state)
            if late is None or state is None:
                return None
            above, at = late or above, end
        return above

    def error(self, t: int) -> float:
        """Return the error after a step; the functions must be smooth, as ``last_above`` has found."""
        bias, variance = self.steps(0, min(FIRST, t), self.bias, 0.0)
        at, state = min(FIRST, t), (float(bias[-1]), float(variance[-1]))
        while at < t:
            end = min(2 * at, t)
            after = self.over(at, end, *state)
            assert after is not None
            at, state = end, after
        return float(np.hypot(state[0], np.sqrt(state[1])))

    def _late(self, precision: float, first: int, last: int, bias: float, variance: float) -> int | None:
        """Return the last step of an interval above the precision, 0 without one; None if not known."""

        @cache
        def state(t: int) -> tuple[float, float] | None:
            return (bias, variance) if t == first else self.over(first, t, bias, variance)

        def exceeds(t: int) -> bool | None:
            known = state(t)
            return None if known is None else bool(np.hypot(known[0], np.sqrt(known[1])) > precision)

        points = np.unique(np.linspace(first + 1, last, SCANNED).astype(np.int64)).tolist()
        marks = [exceeds(t) for t in points]
        if None in marks:
            return None
        if not any(marks):
            return 0
        k = max(k for k, mark in enumerate(marks) if mark)
        if k == len(points) - 1:
            return int(points[k])
        low, high = points[k], points[k + 1]
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if exceeds(middle) else (low, middle)
        return self._confirmed(precision, low, max(first, low - LOCAL), state)

    def _confirmed(self, precision: float, guess: int, begin: int, state: _States) -> int | None:
        """Return the last step above the precision near a guess, by steps that are made one by one."""
        known = state(begin)
        if known is None:
            return None
        bias, variance = self.steps(begin, guess + LOCAL, *known)
        over = np.flatnonzero(np.hypot(bias, np.sqrt(variance)) > precision)
        return begin + 1 + int(over[-1]) if over.size else guess


@cache
def _nodes() -> tuple[Array, Array]:
    """Return points between −1 and 1, and the matrix that makes Chebyshev's series of the values there."""
    angles = np.pi * (np.arange(_POINTS) + 0.5) / _POINTS
    transform = 2 / _POINTS * np.cos(np.outer(np.arange(_POINTS), angles))
    transform[0] /= 2
    return np.cos(angles), transform


# Where a polynomial is compared with its function.
_INSIDE = np.linspace(-0.97, 0.93, _CHECKED)


def smooth_nodes(first: int, last: int) -> Array:
    """Return the times, which need not be whole, at which a function between two steps is to be known."""
    half = max((last - first) / 2, 0.5)
    return np.asarray((first + last) / 2 + half * np.concatenate([_nodes()[0], _INSIDE]))


@final
@dataclass(frozen=True, eq=False)
class Smooth:
    """A function between two steps as a polynomial, which is summed over whole steps."""

    first: int
    last: int
    series: Array

    @classmethod
    def of(cls, function: Callable[[Array], Array], first: int, last: int) -> Smooth | None:
        """Return the function between two steps; None if no polynomial is close to it."""
        with np.errstate(all="ignore"):
            return cls.fitted(function(smooth_nodes(first, last)), first, last)

    @classmethod
    def fitted(cls, values: Array, first: int, last: int, size: float | None = None) -> Smooth | None:
        """Return the function with these values at ``smooth_nodes``; ``size`` is what its errors are compared with."""
        if not np.isfinite(values).all():
            return None
        made = cls(first, last, _nodes()[1] @ values[:_POINTS])
        size = float(np.abs(values).max()) if size is None else size
        missed = np.abs(chebyshev.chebval(_INSIDE, made.series) - values[_POINTS:])
        return made if float(missed.max()) <= _RTOL * size else None

    def __call__(self, t: Array) -> Array:
        """Return the function at some times."""
        return np.asarray(chebyshev.chebval(self._scaled(t), self.series))

    def sums(self, t: Array) -> Array:
        """Return the sums over first + 1…t."""
        series, begin = self._sum_series
        return np.asarray(chebyshev.chebval(self._scaled(t), series) - begin)

    @cached_property
    def _sum_series(self) -> tuple[Array, float]:
        """The polynomial whose differences are these sums, by Euler and Maclaurin, and its value at the first step."""
        total = self._half * chebyshev.chebint(self.series)
        for order, weight in ((0, 1 / 2), (1, 1 / 12), (3, -1 / 720)):
            total = chebyshev.chebadd(total, weight / self._half**order * chebyshev.chebder(self.series, order))
        begin = self._scaled(np.array(float(self.first)))
        return np.asarray(total, np.float64), float(chebyshev.chebval(begin, total))

    @property
    def _half(self) -> float:
        return max((self.last - self.first) / 2, 0.5)

    def _scaled(self, t: Array) -> Array:
        return np.asarray((t - (self.first + self.last) / 2) / self._half)


def scalar_mode(long_run: LongRun) -> ScalarMode | None:
    """Return the mode as one number, where all gains are equal and the noise of steps is independent."""
    model = long_run.model
    smooth = long_run.growth.is_regular and not isinstance(model.pressure, Table)
    white = not model.noise.autocorrelation
    if not (model.is_plain and smooth and white and is_proportional(model)) or long_run.continuous:
        return None
    weights = model.mode_weights
    if model.network.directed or model.network.signed or np.ptp(model.s / model.network.degrees) > 1e-14 * model.kappa:
        return None
    sigma = 0.0 if model.noise.is_zero else float(np.linalg.norm(weights * model.noise.deviations(model.n)))
    return ScalarMode(model, model.kappa, float(weights @ model.start_state) - model.consensus_value, sigma)
