"""Search for the maximum of a profile likelihood in its shared coordinates, from several starts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from peerpressure.model import Vector
from peerpressure.recovery._joint_fit import ProfileLikelihood
from peerpressure.recovery._unknowns import COORDINATES

# Best starts from which a search of several coordinates continues.
_STARTS = 3
# Step of numerical derivatives, in standard errors; errors are of its square.
STEP = 1e-2


def numerical(problem: ProfileLikelihood) -> list[int]:
    """Return the positions of the coordinates that no formula maximises."""
    names = problem.unknown.coordinates
    return [k for k, name in enumerate(names) if name != "std" or not problem.unknown.closed_form_std]


def searched(problem: ProfileLikelihood, near: Vector | None = None) -> Vector:
    """Return the highest point, searched from a grid of starts, or from one point that is near it."""
    free = numerical(problem)
    if near is not None:
        return climbed(problem, near, free, rough_scales(problem, near, free), 1e-11)
    starts = problem.unknown.starts()
    if not free:
        return np.asarray(starts[0])
    if "std" in problem.unknown.coordinates and not problem.unknown.closed_form_std:
        # Residuals of a fit without peer pressure bound σ from above by order of magnitude; w = 0 is always legal.
        level = _level(problem)
        starts = np.concatenate([np.where(np.isnan(starts), level + shift, starts) for shift in (-4, -3, -2, -1, 0.0)])
    heights = np.array([height_of(problem, z) for z in starts])
    order = np.argsort(-heights)[: 1 if len(free) == 1 else _STARTS]
    tops = [climbed(problem, starts[k], free, rough_scales(problem, starts[k], free), 1e-5) for k in order]
    best = max(tops, key=lambda z: height_of(problem, z))
    return climbed(problem, best, free, rough_scales(problem, best, free), 1e-11)


def _level(problem: ProfileLikelihood) -> float:
    design = problem.design
    y = problem.sample.path[design.rows] / design.scale
    count = np.maximum(design.used.sum(axis=0), 1)
    rest = (y - (y * design.used).sum(axis=0) / count) * design.used
    return float(np.log(np.sqrt((rest**2).sum() / design.used.sum()) + 1e-300))


def height_of(problem: ProfileLikelihood, z: Vector) -> float:
    value = problem.height(z)
    return value if np.isfinite(value) else -np.inf


def climbed(
    problem: ProfileLikelihood, start: Vector, free: list[int], scales: Vector, tolerance: float = 1e-8
) -> Vector:
    """Return the local maximum over the free coordinates; the others keep their values.

    ``scales`` are rough standard errors of all coordinates, by which the search is preconditioned.
    """
    if not free:
        return start
    from scipy import optimize

    unit = scales[free]
    of = [COORDINATES[problem.unknown.coordinates[k]] for k in free]
    low, high = (np.array([getattr(scale, end) for scale in of]) / unit for end in ("low", "high"))

    def minus(values: Vector) -> float:
        z = start.copy()
        z[free] = values * unit
        return -max(height_of(problem, z), -1e300)

    def gradient(values: Vector) -> Vector:
        # Central differences within the range: one-sided ones are too coarse near the maximum, where they cancel.
        moves = STEP * np.eye(len(free))
        up, down = np.minimum(values + moves, high), np.maximum(values - moves, low)
        rises = np.array([minus(a) - minus(b) for a, b in zip(up, down, strict=True)])
        return np.asarray(rises / (up - down).diagonal())

    x0 = np.clip(start[free] / unit, low, high)
    options = {"ftol": tolerance / (1 + abs(minus(x0))), "gtol": 1e-4}
    bounds = list(zip(low, high, strict=True))
    found = optimize.minimize(minus, x0, jac=gradient, method="L-BFGS-B", bounds=bounds, options=options)
    z = start.copy()
    z[free] = (found.x if found.fun <= minus(x0) else x0) * unit
    return z


def rough_scales(problem: ProfileLikelihood, z: Vector, free: list[int]) -> Vector:
    """Return rough standard errors of the free coordinates, from second differences; 1 where there is no curvature."""
    out, top = np.ones(z.size), problem.height(z)
    for k in free:
        step = 1e-3
        # The second pass takes a step of a standard error's size: shorter ones drown in rounding errors.
        for _ in range(2):
            move = step * (np.arange(z.size) == k)
            bend = 2 * top - problem.height(z + move) - problem.height(z - move)
            # Below this the difference is a rounding error of heights.
            if not bend > 1e-10 * (1 + abs(top)):
                break
            out[k] = np.clip(step / np.sqrt(bend), 1e-6, 1.0)
            step = float(out[k]) / 3
    return out


def zero_between(function: Callable[[float], float], one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the zero between two points of opposite sign, by false position with the Illinois rule."""
    for _ in range(60):
        (a, fa), (b, fb) = one, other
        x = b - fb * (b - a) / (fb - fa)
        fx = function(x)
        # An error of 0.002 in the root of the likelihood ratio changes the level by 0.0002.
        if abs(fx) < 2e-3:
            break
        one = (b, fb) if fx * fb < 0 else (a, fa / 2)
        other = (x, fx)
    return float(x)
