"""The Fokker–Planck equation of one or two agents, or of one weighted sum, solved on a grid."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Vector
from peerpressure.sde.equation import SDE
from peerpressure.sde.flow import real_times

from .closure import Seen, refuse_dependent_axes, seen_at
from .density import GaussianDensity, projection
from .grid import Grid, grid_around
from .scheme import Chain


@final
@dataclass(frozen=True, eq=False)
class DensityPath:
    """A density on a grid at some times, beside the exact one.

    ``density`` holds averages over cells, shape (times, cells) or (times, cells, cells); ``exact`` is the Gaussian law
    at each time. ``mass_error`` and ``lowest`` are the worst over every step that was made, recorded or not.
    """

    times: Vector
    names: tuple[Hashable, ...]
    grid: Grid
    density: Vector
    exact: tuple[GaussianDensity, ...]
    mass_error: float
    lowest: float
    steps: int

    def error(self, index: int = -1) -> float:
        """Return ∫ |p − p_exact| dz at one of the times: 0 for the same density, 2 for one that is elsewhere."""
        gap = np.abs(self.density[index] - self.grid.average(self.exact[index]))
        return float(gap.sum() * self.grid.volume)

    def __repr__(self) -> str:
        who = ", ".join(map(str, self.names))
        when = f"t = {self.times[0]:g}–{self.times[-1]:g}"
        return f"DensityPath({who}; {when}, {self.grid!r}, L1 error {self.error():.2g} at the end)"


def solve_density(
    sde: SDE,
    times: ArrayLike,
    agents: Sequence[Hashable] | None = None,
    *,
    weights: ArrayLike | None = None,
    cells: int | Grid | None = None,
    time_step: float = 0.05,
) -> DensityPath:
    """Solve for the density of one or two ``agents``, or of the sum with given ``weights``, at increasing times.

    It starts at the first time, which must be later than 0, from the exact density there: at time 0 all is known, and
    a point has no density. A part of a network has an equation of its own, in which the others enter by what they are
    on average given that part. The grid has ``cells`` on each axis, and spans six standard deviations around all that
    happens; or it is given. Steps are ``time_step``, or that share of t where t < 1. The error falls with the square of
    both.

    >>> from peerpressure.model import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.noises import Gaussian
    >>> path = solve_density(SDE(Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(0.5))), [0.5, 1.0, 2.0], [0])
    >>> path.error() < 1e-3, path.lowest >= 0
    (True, True)
    """
    when = real_times(times)
    if when[0] == 0:
        rule = "a density starts after time 0, when all is still known"
        raise InvalidInputError(complain(rule, got="t = 0", remedy="begin at t = 0.1, or later"))
    names, rows = projection(sde, agents, weights)
    rows = np.eye(sde.n) if rows is None else rows
    refuse_dependent_axes(rows)
    steps = _steps(when, time_step)
    # Ends and middles of all steps, in turn.
    seen = seen_at(sde, rows, np.sort(np.concatenate([steps, (steps[1:] + steps[:-1]) / 2])))
    laws = [law.density(names) for law in seen[::2]]
    exact = tuple(law for law in laws if law.time in set(when.tolist()))
    grid = cells if isinstance(cells, Grid) else grid_around(laws, cells)
    if len(grid.shape) != len(rows):
        rule = f"a density of {len(rows)} quantities needs a grid with as many axes"
        raise InvalidInputError(complain(rule, got=repr(grid), remedy="leave cells out to have it chosen"))
    return _march(seen[1::2], steps, grid, exact)


def _march(middles: list[Seen], steps: Vector, grid: Grid, exact: tuple[GaussianDensity, ...]) -> DensityPath:
    density = grid.average(exact[0])
    density /= density.sum() * grid.volume
    kept, mass_error, lowest = [density], 0.0, float(density.min())
    times = np.array([law.time for law in exact])
    for middle, tau, t in zip(middles, np.diff(steps), steps[1:], strict=True):
        density = Chain(grid, middle.drift()).advance(density, float(tau))
        mass_error = max(mass_error, abs(float(density.sum()) * grid.volume - 1.0))
        lowest = min(lowest, float(density.min()))
        if t in times:
            kept.append(density)
    return DensityPath(times, exact[0].names, grid, np.stack(kept), exact, mass_error, lowest, len(middles))


def _steps(times: Vector, time_step: float) -> Vector:
    """Return the ends of all steps: the times asked for, and between them as many as the step needs."""
    if not (isinstance(time_step, (int, float)) and 0 < time_step <= 1):
        rule = "a time step must be a number above 0, at most 1"
        raise InvalidInputError(complain(rule, got=repr(time_step), remedy="0.05 is the default"))
    ends = [times[:1]]
    for a, b in itertools.pairwise(times):
        # Equal steps in ∫ dt/min(1, t), which is log t up to time 1 and t − 1 after it.
        count = math.ceil((_clock(b) - _clock(a)) / time_step)
        ends.append(np.array([*(_unclock(u) for u in np.linspace(_clock(a), _clock(b), count + 1)[1:-1]), b]))
    return np.concatenate(ends)


def _clock(t: float) -> float:
    return math.log(t) if t < 1 else t - 1.0


def _unclock(u: float) -> float:
    return math.exp(u) if u < 0 else u + 1.0
