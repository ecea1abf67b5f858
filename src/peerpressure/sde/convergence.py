"""How fast discrete steps converge to the equation: tables of exact errors, and of paths with shared noise.

Euler–Maruyama is of weak order 1 here, for mean and variance alike; and of strong order 1, not ½, because the noise
does not depend on the state. The weak errors are exact, for the scheme's own moments are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from peerpressure.errors import InvalidInputError, message
from peerpressure.model.step import Array
from peerpressure.sde.equation import SDE
from peerpressure.sde.euler import euler_moments, euler_step
from peerpressure.sde.moments import checked_weights, moments_at, moments_of

if TYPE_CHECKING:
    import pandas as pd


# Powers of 2, whose multiples are exact and end at whole times.
HALVINGS = tuple(2.0**-k for k in range(7))


def shrinking_steps(sde: SDE, until: float, weights: ArrayLike, steps: Sequence[float] = HALVINGS[:5]) -> pd.DataFrame:
    """Return mean and deviation of one weighted sum over time, for each length of step and for the equation itself.

    Columns are step (0 for the equation), time, mean and std; with scaling="model" the step of length 1 is the
    discrete model.
    """
    import pandas as pd

    row = checked_weights(sde, weights)[:1]
    fine = np.linspace(0.0, until, 201)
    law = moments_of(sde, row, fine)
    rows = [(0.0, t, m, math.sqrt(V)) for t, m, V in zip(fine, law.mean[:, 0], law.variance[:, 0], strict=True)]
    for h in steps:
        rows.append((h, 0.0, float(row[0] @ sde.start_state), 0.0))
        for k, (mean, covariance) in enumerate(euler_moments(with_step(sde, h), step_count(until, h)), 1):
            deviation = math.sqrt(float(row[0] @ covariance @ row[0]))
            rows.append((h, k * h, float(row[0] @ mean), deviation))
    return pd.DataFrame(rows, columns=["step", "time", "mean", "std"])


def weak_errors(sde: SDE, until: float, steps: Sequence[float] = HALVINGS) -> pd.DataFrame:
    """Return the largest error, over agents, of Euler's mean and standard deviation at time ``until``; both exact.

    >>> from peerpressure.model import Model
    >>> from peerpressure.networks import k2
    >>> errors = weak_errors(SDE(Model(k2(), hidden=[0.0, 1.0])), 4.0, steps=[1 / 32, 1 / 64])
    >>> round(observed_order(errors["step"], errors["mean_error"]), 1)
    1.0
    """
    import pandas as pd

    exact = moments_at(sde, [until])
    rows = []
    for h in steps:
        *_, (mean, covariance) = euler_moments(with_step(sde, h), step_count(until, h))
        of_std = np.abs(np.sqrt(np.diag(covariance)) - np.sqrt(exact.variance[0]))
        rows.append((h, float(np.abs(mean - exact.mean[0]).max()), float(of_std.max())))
    return pd.DataFrame(rows, columns=["step", "mean_error", "std_error"])


def strong_errors(
    sde: SDE,
    until: float,
    steps: Sequence[float] = HALVINGS[1:],
    *,
    replicates: int = 200,
    seed: int = 0,
    finer: int = 32,
) -> pd.DataFrame:
    """Return how far Euler's paths are at time ``until`` from the path that the same noise drives in fine steps.

    All lengths of step share one Brownian motion: its increments over the finest steps, ``finer`` times as short as the
    shortest of ``steps``, are summed over longer ones. Columns are step, error (root mean square over agents and
    replicates) and standard_error, by replicates.
    """
    import pandas as pd

    # The reference path has an error of its own, 1/``finer`` of that of the finest step, as the order is 1.
    reference = min(steps) / finer
    lengths = [step_count(h, reference) for h in steps]
    paths = _coupled_paths(sde, until, reference, [*lengths, 1], replicates, seed)
    # Averaged over agents first: they are dependent, while replicates are independent and give the standard error.
    squares = [np.mean((path - paths[-1]) ** 2, axis=0) for path in paths[:-1]]
    rows = []
    for h, square in zip(steps, squares, strict=True):
        error = math.sqrt(float(square.mean()))
        spread = float(square.std(ddof=1)) / math.sqrt(replicates)
        # Delta method: the standard error of a square root is that of the square over twice the root.
        rows.append((h, error, spread / (2 * error) if error else 0.0))
    return pd.DataFrame(rows, columns=["step", "error", "standard_error"])


def observed_order(steps: ArrayLike, errors: ArrayLike) -> float:
    """Return the slope of log error against log step, by least squares.

    >>> round(observed_order([1.0, 0.5, 0.25], [0.4, 0.1, 0.025]), 12)
    2.0
    """
    return float(np.polyfit(np.log(np.asarray(steps, float)), np.log(np.asarray(errors, float)), 1)[0])


def with_step(sde: SDE, h: float) -> SDE:
    """Return the same equation with Euler steps of length h."""
    return replace(sde, step=h, method="euler")


def step_count(until: float, h: float) -> int:
    """Return how many steps of length h lead to a time, which must be a whole number of them."""
    count = round(until / h)
    if count < 1 or not math.isclose(count * h, until, rel_tol=1e-9):
        rule = f"a whole number of steps must lead to {until:g}"
        raise InvalidInputError(message(rule, got=f"steps of {h:g}", remedy="halve or double the steps"))
    return count


def _coupled_paths(
    sde: SDE, until: float, reference: float, lengths: list[int], replicates: int, seed: int
) -> list[Array]:
    """Return final states (agents, replicates) of Euler paths whose steps are these multiples of the finest."""
    from peerpressure.simulation.engine.narrow import draw_narrow
    from peerpressure.simulation.engine.plan import STREAM_FRESH, draw_of

    draw, drawn = draw_of(sde.noise, seed), np.zeros((replicates, sde.n))
    equations = [with_step(sde, length * reference) for length in lengths]
    start = np.tile(sde.start_state[:, None], (1, replicates))
    # One array for all is safe, since a step returns a new one.
    paths = [start] * len(lengths)
    gathered = np.zeros((len(lengths), sde.n, replicates))
    for k in range(1, step_count(until, reference) + 1):
        draw_narrow(draw, k, 0, STREAM_FRESH, drawn)
        gathered += drawn.T
        for i, length in enumerate(lengths):
            if k % length == 0:
                # A sum of ``length`` unit increments, scaled back to the unit variance that a step expects.
                z = gathered[i] / math.sqrt(length)
                paths[i] = euler_step(equations[i], k // length, paths[i], z)
                gathered[i] = 0.0
    return paths
