"""The maximum of a log-likelihood in its coordinates: the search for it, its curvature, and ends of intervals.

Searches go in units of rough standard errors. The interval of a coordinate is the set of its values at which the
likelihood, maximised over all other coordinates, has fallen from its maximum by no more than some drop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, final

import numpy as np

from peerpressure.model.step import Array
from peerpressure.support.progress import check_cancelled

# Step of numerical derivatives, in standard errors; errors are of its square.
STEP = 1e-2
# Tolerances of heights, in a first look, around a maximum and at it.
LOOSE, FINE, FINEST = 1e-5, 1e-8, 1e-11
# What a search takes for the height of points that have none.
_IMPOSSIBLE = -1e100
# How far another coordinate is moved along before a search, and the first step to an end, at most.
_DRIFT, _LONGEST = 1.0, 3.0
# Share of the first bracket to which the place of a zero is searched, and steps of false position before it is halved.
_PLACE, _FALSE_POSITIONS = 1e-5, 16


class LogLikelihood(Protocol):
    """A log-likelihood as a function of coordinates."""

    def at(self, z: Array, near: Any) -> tuple[float, Any]:
        """Return the height, −∞ for none, and what helps to find heights nearby; ``near`` is that of another point."""

    @property
    def slopes(self) -> Callable[[Array, Any], Array] | None:
        """The function from a point, and what is near it, to the derivatives of the height; None if there is none."""


@final
@dataclass(frozen=True)
class Heights:
    """A function as a problem."""

    height: Callable[[Array], float]
    slopes = None

    def at(self, z: Array, near: None) -> tuple[float, None]:
        """Return the height."""
        value = self.height(z)
        return value if np.isfinite(value) else -np.inf, None


@final
@dataclass(frozen=True, eq=False)
class Maximum:
    """A maximum, or any point from which a search begins.

    ``free`` are the coordinates that are searched, within ``low`` and ``high``; the others keep their values. ``root``
    (d, d) is a root of a rough covariance, ``near`` what helps to find heights nearby, and ``tolerance`` that of
    heights on profiles. ``visited`` are points that profiles have gone through.
    """

    problem: LogLikelihood
    low: Array
    high: Array
    free: tuple[int, ...]
    root: Array
    point: Array
    height: float
    near: Any = None
    tolerance: float = FINE
    visited: list[Array] = field(default_factory=list)

    def climbed(self, start: Array, tolerance: float | None = None, free: Sequence[int] | None = None) -> Maximum:
        """Return the maximum that a search from a point leads to, perhaps in fewer coordinates."""
        at = list(self.free if free is None else free)
        root, origin, low, high = (
            self._root(at),
            start[at].clip(self.low[at], self.high[at]),
            self.low[at],
            self.high[at],
        )
        best = replace(self, point=self._moved(start, at, origin), height=_IMPOSSIBLE)
        last, slopes = self.near, self.problem.slopes

        def height(values: Array) -> tuple[float, Any]:
            found, near = self.problem.at(self._moved(start, at, values), last)
            return max(found, _IMPOSSIBLE), near

        def minus(u: Array) -> tuple[float, Array]:
            nonlocal best, last
            check_cancelled()
            values = (origin + root @ u).clip(low, high)
            top, near = height(values)
            if top == _IMPOSSIBLE:
                return -top, np.zeros(u.size)
            last = near
            if top > best.height:
                best = replace(self, point=self._moved(start, at, values), height=top, near=near)
            if slopes is not None:
                rise = slopes(self._moved(start, at, values), near)[at]
                return -top, -(rise * ((values > low) & (values < high))) @ root
            # Central differences within the range: one-sided ones are too coarse near the maximum, where they cancel.
            up, down = ((values + sign * STEP * root.T).clip(low, high) for sign in (1, -1))
            rises = np.array([height(a)[0] - height(b)[0] for a, b in zip(up, down, strict=True)])
            return -top, -rises * np.linalg.norm(root, axis=0) / np.linalg.norm(up - down, axis=1)

        if not at:
            top, near = self.problem.at(start, last)
            return replace(self, point=start, height=max(top, _IMPOSSIBLE), near=near)
        from scipy import optimize

        tolerance = self.tolerance if tolerance is None else tolerance
        options = {"ftol": tolerance / (1 + abs(max(self.height, _IMPOSSIBLE))), "gtol": max(np.sqrt(tolerance), 1e-4)}
        # With derivatives from a formula a search leaves its units, and is kept within the range by clipping alone.
        ends = list(zip((low - origin) / root.diagonal(), (high - origin) / root.diagonal(), strict=True))
        bounds = ends if slopes is None else None
        optimize.minimize(minus, np.zeros(len(at)), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        return best

    def _root(self, at: list[int]) -> Array:
        """Return a root of the covariance of some coordinates, given the others."""
        root = self.root
        if len(at) == len(root):
            return root
        if not np.count_nonzero(root - np.diag(np.diagonal(root))):
            return root[np.ix_(at, at)]
        return np.asarray(np.linalg.cholesky(np.linalg.inv(np.linalg.inv(root @ root.T)[np.ix_(at, at)])))

    @staticmethod
    def _moved(start: Array, at: list[int], values: Array) -> Array:
        z = start.copy()
        z[at] = values
        return z

    def scaled(self) -> Maximum:
        """Return the same point with rough standard errors as units, from second differences."""
        scales = rough_scales(lambda z: self.problem.at(z, self.near)[0], self.point, self.height, self.free)
        return replace(self, root=np.diag(scales))

    def end(self, k: int, side: int, drop: float, covariance: Array, middle: float | None = None) -> float:
        """Return where the profile of a coordinate has fallen by the drop; ∓∞ if it does not within its range.

        ``middle`` is where the profile is highest, where the point does not say it.
        """
        known = 0 < covariance[k, k] < np.inf
        drift = covariance[:, k] / covariance[k, k] if known else np.zeros(len(covariance))
        half = np.sqrt(2 * drop * covariance[k, k]) if known else 1.0
        low, high = float(self.low[k]), float(self.high[k])
        free = [j for j in self.free if j != k]
        inner = float(self.point[k]) if middle is None else middle
        inside = inner, self

        def excess(value: float) -> float:
            nonlocal inside
            at, near = inside
            start = near.point + np.clip((value - at) * drift, -_DRIFT, _DRIFT)
            start[k] = value
            there = near.climbed(start, free=free)
            if there.height > _IMPOSSIBLE:
                self.visited.append(there.point)
            # The root of the likelihood ratio is almost linear in the coordinate, which makes its zero easy to find.
            over = float(np.sqrt(max(2 * (self.height - there.height), 0.0)) - np.sqrt(2 * drop))
            # Far outside a search may end anywhere, and nothing must begin there.
            inside = (value, there) if over <= 0 else inside
            return over

        below, step = -float(np.sqrt(2 * drop)), side * float(np.clip(half, 1e-8, _LONGEST))
        while True:
            outer = min(max(inner + step, low), high)
            above = excess(outer)
            if above > 0:
                return zero_between(excess, (inner, below), (outer, above))
            if outer in (low, high):
                return side * np.inf
            inner, below, step = outer, above, 2 * step


def highest(start: Maximum, points: Array, count: int, tolerance: float = FINEST) -> Maximum:
    """Return the highest of the maxima that searches from the best points lead to, in units of their curvature."""
    heights = np.array([start.problem.at(z, start.near)[0] for z in points])
    first = [replace(start, point=points[k], height=heights[k]).scaled() for k in np.argsort(-heights)[:count]]
    best = max((one.climbed(one.point, LOOSE) for one in first), key=lambda top: top.height)
    return best.scaled().climbed(best.point, tolerance)


def rough_scales(height: Callable[[Array], float], z: Array, top: float, free: Iterable[int]) -> Array:
    """Return rough standard errors of the free coordinates, from second differences; 1 where there is no curvature."""
    out = np.ones(z.size)
    for k in free:
        step = 1e-3
        # The second pass takes a step of a standard error's size: shorter ones drown in rounding errors.
        for _ in range(2):
            move = step * (np.arange(z.size) == k)
            bend = 2 * top - height(z + move) - height(z - move)
            # Below this the difference is a rounding error of heights.
            if not bend > 1e-10 * (1 + abs(top)):
                break
            out[k] = np.clip(step / np.sqrt(bend), 1e-6, 1.0)
            step = float(out[k]) / 3
    return out


def curvature(height: Callable[[Array], float], z: Array, steps: Array) -> Array:
    """Return minus the second differences of a height in all coordinates."""
    size, top, moves = z.size, height(z), np.diag(steps).reshape(z.size, z.size)
    up, down = ([height(z + sign * move) for move in moves] for sign in (1, -1))
    hessian = np.diag([a + b - 2 * top for a, b in zip(up, down, strict=True)]).reshape(size, size)
    for i in range(size):
        for j in range(i):
            both = sum(height(z + sign * (moves[i] + moves[j])) for sign in (1, -1))
            hessian[i, j] = hessian[j, i] = 0.5 * (both + 2 * top - up[i] - down[i] - up[j] - down[j])
    return np.asarray(-hessian / np.outer(steps, steps))


def allowance(level: float, left: Any, *, scale: bool = False) -> Any:
    """Return ½q², by how much a profile may be below its maximum, with ``left`` degrees of freedom for σ.

    It makes intervals of means exactly those of Student's t; for a scale, Bartlett's factor is 1 + 1/(3ν).
    """
    from scipy import special

    if scale:
        return 0.5 * special.ndtri((1 + level) / 2) ** 2 * (1 + 1 / (3 * np.maximum(left, 1)))
    finite = np.isfinite(left)
    nu = np.where(finite, np.maximum(left, 1), 1.0)
    t = special.stdtrit(nu, (1 + level) / 2)
    exact = 0.5 * (nu + 1) * np.log1p(t**2 / nu)
    return np.where(finite, exact, 0.5 * special.ndtri((1 + level) / 2) ** 2)


def zero_between(function: Callable[[float], float], one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the zero between two points of opposite sign, by false position with the Illinois rule.

    Where the function jumps over zero, as a profile with several maxima may do, it is the positive side of the jump.
    """
    enough = _PLACE * abs(other[0] - one[0])
    for k in range(60):
        (a, fa), (b, fb) = one, other
        if abs(b - a) < enough:
            return float(a if fa > 0 else b)
        # A smooth function takes few steps; beside a jump, halving is faster.
        x = b - fb * (b - a) / (fb - fa) if k < _FALSE_POSITIONS else (a + b) / 2
        fx = function(x)
        # An error of 0.002 in the root of the likelihood ratio changes the level by 0.0002.
        if abs(fx) < 2e-3:
            break
        one = (b, fb) if fx * fb < 0 else (a, fa / 2)
        other = (x, fx)
    return float(x)
