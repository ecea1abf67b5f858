"""The Fokker–Planck equation on a grid of one or two axes, by finite volumes and uniformisation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike

from peerpressure.errors import InvalidInputError, contrast, message
from peerpressure.model.step import Array
from peerpressure.sde.densities import Drift, GaussianDensity, Seen, projection, require_independent_axes, seen_at
from peerpressure.sde.equation import SDE
from peerpressure.sde.moments import real_times, smooth_pieces
from peerpressure.support.results import read_only

# Standard deviations from the mean to the edges: 2e-9 of a Gaussian law is beyond.
REACH = 6.0
# Share of the density that may lie beyond the edges of a given grid: below the error of the scheme.
MISSED = 1e-4
# Cells that the narrowest deviation should span, and those that it must.
FINE, COARSE = 3.0, 1.5
# The least number of cells that is chosen on each axis, and the most that is accepted, by the number of axes.
LIMITS = {1: (200, 20_000), 2: (100, 800)}
# Points on each axis of a cell at which an average is taken.
POINTS = 3


@final
@read_only
@dataclass(frozen=True, eq=False)
class Grid:
    """Cells of equal width on each axis; ``edges`` has cells + 1 numbers for each."""

    edges: tuple[Array, ...]

    def __post_init__(self) -> None:
        for edges in self.edges:
            widths = np.diff(edges)
            if not (widths.size and widths[0] > 0 and np.allclose(widths, widths[0], rtol=1e-6, atol=0.0)):
                rule = "the edges of a grid must increase by equal widths"
                raise InvalidInputError(
                    message(rule, got=repr(edges)[:80], remedy="for instance np.linspace(0, 1, 201)")
                )

    @property
    def centres(self) -> tuple[Array, ...]:
        """The middle of the cells of each axis."""
        return tuple((edges[1:] + edges[:-1]) / 2 for edges in self.edges)

    @property
    def widths(self) -> Array:
        """The width of the cells of each axis."""
        return np.array([(edges[-1] - edges[0]) / (edges.size - 1) for edges in self.edges])

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of cells on each axis."""
        return tuple(edges.size - 1 for edges in self.edges)

    @property
    def volume(self) -> float:
        """The length or area of one cell."""
        return float(np.prod(self.widths))

    def average(self, density: GaussianDensity) -> Array:
        """Return the average of a density over each cell, by Gauss's rule."""
        # Averages and not values at centres: finite volumes evolve averages, and the difference is of the order of the
        # error.
        nodes, weights = leggauss(POINTS)
        axes = [centres[:, None] + width / 2 * nodes for centres, width in zip(self.centres, self.widths, strict=True)]
        points = np.stack(np.meshgrid(*(axis.ravel() for axis in axes), indexing="ij"), axis=-1)
        values = density.pdf(points).reshape([size for cells in self.shape for size in (cells, POINTS)])
        for axis in range(len(self.shape)):
            # Each pass removes the axis of nodes behind ``axis``; half the weights sum to 1, which makes it an average.
            values = np.tensordot(values, weights / 2, axes=([axis + 1], [0]))
        return np.asarray(values)

    def __repr__(self) -> str:
        spans = " × ".join(f"{edges.size - 1} cells over {edges[0]:.4g}–{edges[-1]:.4g}" for edges in self.edges)
        return f"Grid({spans})"


def grid_around(densities: Sequence[GaussianDensity], cells: int | None = None) -> Grid:
    """Return a grid that contains all these densities, with edges six standard deviations from every mean.

    Where no number of ``cells`` is given, the narrowest deviation spans ``FINE`` of them. Agents close to
    consensus have a density like a ridge along the diagonal, which is narrow along no single axis.
    """
    low = np.min([density.mean - REACH * density.std for density in densities], axis=0)
    high = np.max([density.mean + REACH * density.std for density in densities], axis=0)
    # Units of the grid make the axes comparable and 1/narrowest a number of cells.
    narrowest = _narrowest(densities, high - low)
    least, most = LIMITS[low.size]
    count = max(least, min(most, int(np.ceil(FINE / narrowest)))) if cells is None else cells
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 8 <= count <= most:
        rule = f"a grid needs a whole number of cells on each axis, from 8 to {most:,}"
        raise InvalidInputError(message(rule, got=repr(count), remedy="leave it out to have it chosen"))
    needed = int(np.ceil(COARSE / narrowest))
    remedy = f"use {needed:,} cells or more" if needed <= most else "end sooner, or begin later"
    _require_resolved(count * narrowest, remedy)
    return Grid(tuple(np.linspace(a, b, count + 1) for a, b in zip(low, high, strict=True)))


def _narrowest(densities: Sequence[GaussianDensity], unit: Array) -> float:
    """Return the smallest standard deviation in any direction, in units of each axis."""
    # The smallest eigenvalue and not the smallest variance, because of the ridge.
    scale = np.outer(unit, unit)
    return math.sqrt(min(float(np.linalg.eigvalsh(density.covariance / scale)[0]) for density in densities))


def _require_resolved(cells: float, remedy: str) -> None:
    if cells < COARSE:
        least, got = contrast(COARSE, cells)
        rule = f"the density's narrowest standard deviation must span {least} cells or more"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))


def require_held(grid: Grid, densities: Sequence[GaussianDensity]) -> None:
    """Raise where a given grid misses a density, or is too coarse for it: its mass would be put where it is not."""
    from scipy.special import ndtr

    for axis, edges in enumerate(grid.edges):
        mean = np.array([density.mean[axis] for density in densities])
        std = np.array([density.std[axis] for density in densities])
        missed = ndtr((edges[0] - mean) / std) + ndtr((mean - edges[-1]) / std)
        worst = int(missed.argmax())
        if missed[worst] > MISSED:
            name, time = densities[worst].names[axis], densities[worst].time
            low, high = float((mean - REACH * std).min()), float((mean + REACH * std).max())
            limit, share = contrast(MISSED, missed[worst], digits=2)
            rule = f"a grid must hold the density at all times, with at most {limit} of it beyond the edges"
            got = f"{share} beyond {edges[0]:.4g}–{edges[-1]:.4g} on the axis of {name} at t = {time:g}"
            remedy = f"span {low:.4g} to {high:.4g}, or leave cells out to have it chosen"
            raise InvalidInputError(message(rule, got=got, remedy=remedy))
    _require_resolved(_narrowest(densities, grid.widths), "use more cells, or leave cells out to have them chosen")


# One step of the Fokker–Planck equation on a grid that keeps every cell non-negative and all mass.
#
# Space: finite volumes with the fluxes of Scharfetter and Gummel (Chang and Cooper's, for a linear drift), exact for
# constant drift and diffusivity across a face,
#
#     flux = (D/Δ) [β(−P) p_left − β(P) p_right],   β(x) = x/(eˣ − 1),   P = u Δ/D,
#
# of second order in the width Δ where cells resolve the density, and upwind where there is no noise. No flux leaves the
# grid. The rates at which mass goes from cell to cell are then all ≥ 0: a Markov chain.
#
# Time: p ← exp(τ A(t + τ/2)) p, of second order in τ. The exponential is applied as the chain's mixture over a Poisson
# number of jumps (uniformisation), with q no less than the rate at which mass leaves any cell:
#
#     exp(τA) p = Σ_k e^(−qτ)(qτ)^k/k! (I + A/q)^k p.
#
# Every term is non-negative and keeps the mass, for any τ.

# Mean number of jumps in one mixture; e^(−qτ) of more would come near underflow.
MOST_JUMPS = 400.0
# Ratio of drift to noise across a cell from which mass moves with the drift only.
UPWIND_RATIO = 100.0
# Weight of the jumps beyond the last that is taken.
TRUNCATION = 1e-15


@final
class Chain:
    """The Markov chain of one time step: the shares of mass that stay, and that move up and down along each axis."""

    def __init__(self, grid: Grid, drift: Drift) -> None:
        rates = [_rates(grid, drift, axis) for axis in range(len(grid.shape))]
        leaving = np.zeros(grid.shape)
        for axis, (up, down) in enumerate(rates):
            leaving[_before(axis)] += up
            leaving[_after(axis)] += down
        # Slightly more than the largest rate, to keep rounding from leaving a share below 0.
        self.rate = float(leaving.max()) * (1 + 1e-12) or 1.0
        self.shares = [(up / self.rate, down / self.rate) for up, down in rates]
        self.staying = 1.0 - leaving / self.rate

    def jump(self, density: Array) -> Array:
        """Return (I + A/q) p: each cell's share that stays, and what comes from its neighbours."""
        out = self.staying * density
        for axis, (up, down) in enumerate(self.shares):
            before, after = _before(axis), _after(axis)
            out[after] += up * density[before]
            out[before] += down * density[after]
        return out

    def advance(self, density: Array, tau: float) -> Array:
        """Return exp(τA) p."""
        # Cut into parts of which each has a mixture without underflow; A is the same in all of them.
        parts = int(np.ceil(self.rate * tau / MOST_JUMPS))
        for _ in range(parts):
            density = self._mixture(density, self.rate * tau / parts)
        return density

    def _mixture(self, density: Array, jumps: float) -> Array:
        weights = _poisson(jumps)
        # Sums and products of non-negative numbers only: nothing cancels, and the density cannot become negative.
        total = np.asarray(weights[0] * density)
        for weight in weights[1:]:
            density = self.jump(density)
            total += weight * density
        return total


def _poisson(mean: float) -> Array:
    """Return the weights of 0, 1, 2, … jumps, up to where the rest is negligible; they sum to 1."""
    # Nine standard deviations of the Poisson law, and some more for small means, where its tail is heavier.
    last = int(mean + 9.0 * np.sqrt(mean) + 20.0)
    weights = np.exp(-mean) * np.cumprod(np.concatenate([[1.0], mean / np.arange(1, last + 1)]))
    # Summed from the end, since the small terms would be lost in a sum that starts with the large ones.
    needed = int(np.flatnonzero(np.cumsum(weights[::-1])[::-1] > TRUNCATION)[-1]) + 1
    # Normalised, because truncation and rounding would lose mass step by step.
    return np.asarray(weights[:needed] / weights[:needed].sum())


def _rates(grid: Grid, drift: Drift, axis: int) -> tuple[Array, Array]:
    """Return the rates at which mass crosses the inner faces of an axis, upwards and downwards."""
    velocity = np.asarray(drift.offset[axis])
    for other, centres in enumerate(grid.centres):
        # Fluxes are taken at the faces: edges along their own axis, centres along the other. The outer edges are left
        # out, which is the boundary without flux.
        places = grid.edges[axis][1:-1] if other == axis else centres
        shape = [1] * len(grid.shape)
        shape[other] = -1
        velocity = velocity + drift.slope[axis, other] * (places - drift.centre[other]).reshape(shape)
    width = float(grid.widths[axis])
    return _exchange(velocity / width, float(drift.diffusivity[axis]) / width**2)


def _exchange(advection: Array, diffusivity: float) -> tuple[Array, Array]:
    """Return D/Δ² β(−P) and D/Δ² β(P), from u/Δ and D/Δ²."""
    # Here β differs from its limit, the upwind flux, by less than rounding.
    upwind = np.abs(advection) >= UPWIND_RATIO * diffusivity
    # Without noise on an axis the ratio would be a division by 0; all faces are upwind then.
    ratio = np.divide(advection, diffusivity, out=np.zeros_like(advection), where=~upwind)
    up = np.where(upwind, np.maximum(advection, 0.0), diffusivity * _bernoulli(-ratio))
    return up, np.where(upwind, np.maximum(-advection, 0.0), diffusivity * _bernoulli(ratio))


def _bernoulli(x: Array) -> Array:
    """Return x/(eˣ − 1), which is 1 at 0.

    >>> _bernoulli(np.array([-1.0, 0.0, 1.0])).round(6)
    array([1.581977, 1.      , 0.581977])
    """
    # The next term, x²/12, is below rounding there; expm1 avoids the cancellation of eˣ − 1 elsewhere.
    small = np.abs(x) < 1e-8
    # The inner where keeps 0/0 out of the branch that is not used, which NumPy evaluates as well.
    return np.where(small, 1.0 - x / 2, x / np.expm1(np.where(small, 1.0, x)))


def _before(axis: int) -> tuple[slice, ...]:
    return (slice(None),) * axis + (slice(None, -1),)


def _after(axis: int) -> tuple[slice, ...]:
    return (slice(None),) * axis + (slice(1, None),)


# The Fokker–Planck equation of one or two agents, or of one weighted sum, solved on a grid.


@final
@read_only
@dataclass(frozen=True, eq=False)
class DensityPath:
    """A density on a grid at some times, beside the exact one.

    Attributes
    ----------
    times : array of shape (times,)
        The recorded times.
    names : tuple
        The agents, or the names of the sums, in the order of the axes.
    grid : Grid
        The cells of each axis.
    density : array of shape (times, cells) or (times, cells, cells)
        Averages of the density over cells.
    exact : tuple of GaussianDensity
        The exact law at each time.
    mass_error : float
        Largest |∫ p dz − 1| over every step that was made, recorded or not.
    lowest : float
        Lowest density in any cell over every step; below 0 only by rounding.
    steps : int
        Number of steps in time.

    See Also
    --------
    solve_density : Computes it.

    Examples
    --------
    >>> from peerpressure import SDE, Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.sde import solve_density
    >>> path = solve_density(SDE(Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(0.5))), [0.5, 1.0], [0], cells=64)
    >>> path.density.shape, path.mass_error < 1e-9
    ((2, 64), True)
    """

    times: Array
    names: tuple[Hashable, ...]
    grid: Grid
    density: Array
    exact: tuple[GaussianDensity, ...]
    mass_error: float
    lowest: float
    steps: int

    def error(self, index: int = -1) -> float:
        """Return ∫ |p − p_exact| dz at one of the times: 0 for the same density, 2 for one that is elsewhere.

        Parameters
        ----------
        index : int, default -1
            Position in ``times``.

        Returns
        -------
        float
            Distance in L¹, from 0 to 2.
        """
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
    """Solve the Fokker–Planck equation for the density of one or two agents or sums at increasing times.

    It starts at the first time, which must be later than 0, from the exact density there: at time 0 all is known, and
    a point has no density. A part of a network has an equation of its own, in which the others enter by what they are
    on average given that part. The error falls with the square of the widths of cells and steps.

    Parameters
    ----------
    sde : SDE
        The equation.
    times : array_like of float
        Increasing times above 0.
    agents : sequence of labels, optional
        One or two agents; by default all, if there are two.
    weights : array_like of shape (sums, n), optional
        Weights of one or two sums of agents, in place of ``agents``.
    cells : int or Grid, optional
        Number of cells on each axis of a grid that spans six standard deviations around all that happens, from 8 to
        20,000 on one axis and 800 on two; or the grid. By default the number is chosen by the narrowest density.
    time_step : float, default 0.05
        Length of a step in time, or its share of t where t < 1; above 0 and at most 1.

    Returns
    -------
    DensityPath
        The density on the grid at each time, and its errors.

    Raises
    ------
    InvalidInputError
        If a time, an agent, a weight or the grid is not valid, the law is degenerate, or noise is correlated.

    See Also
    --------
    exact_density : The same density in closed form.

    References
    ----------
    .. [1] H. Risken (1996), The Fokker–Planck Equation, 2nd edition, Springer.

    Examples
    --------
    >>> from peerpressure import SDE, Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.sde import solve_density
    >>> path = solve_density(SDE(Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(0.5))), [0.5, 1.0, 2.0], [0])
    >>> path.error() < 1e-3, path.lowest >= 0
    (True, True)
    """
    when = real_times(times)
    if when[0] == 0:
        rule = "a density starts after time 0, when all is still known"
        raise InvalidInputError(message(rule, got="t = 0", remedy="begin at t = 0.1, or later"))
    if sde.noise.has_memory:
        rule = "a grid needs noise that diffuses opinions; correlated noise moves them smoothly"
        raise InvalidInputError(message(rule, got=sde.noise, remedy="use exact_density, which has no such limit"))
    names, rows = projection(sde, agents, weights)
    rows = np.eye(sde.n) if rows is None else rows
    require_independent_axes(rows)
    # Cut where tables and networks jump; the middle of a step can then stand for all of it.
    jumps = [b for _, b, _ in smooth_pieces(sde, when[0], when[-1])][:-1]
    steps = _steps(np.union1d(when, jumps), time_step)
    # Ends and middles of all steps, in turn.
    seen = seen_at(sde, rows, np.sort(np.concatenate([steps, (steps[1:] + steps[:-1]) / 2])))
    laws = [law.density(names) for law in seen[::2]]
    # Exact comparison is safe: the times asked for are among the steps unchanged.
    exact = tuple(law for law in laws if law.time in set(when.tolist()))
    grid = cells if isinstance(cells, Grid) else grid_around(laws, cells)
    if len(grid.shape) != len(rows):
        rule = f"a density of {len(rows)} quantities needs a grid with as many axes"
        raise InvalidInputError(message(rule, got=repr(grid), remedy="leave cells out to have it chosen"))
    if grid is cells:
        require_held(grid, laws)
    return _march(seen[1::2], steps, grid, exact)


def _march(middles: list[Seen], steps: Array, grid: Grid, exact: tuple[GaussianDensity, ...]) -> DensityPath:
    density = grid.average(exact[0])
    # The tails beyond the grid and the quadrature leave the mass slightly off 1.
    density /= density.sum() * grid.volume
    kept, mass_error, lowest = [density], 0.0, float(density.min())
    times = np.array([law.time for law in exact])
    for middle, tau, t in zip(middles, np.diff(steps), steps[1:], strict=True):
        # Coefficients of the middle of the step, which makes the scheme of second order (midpoint Magnus).
        density = Chain(grid, middle.drift()).advance(density, float(tau))
        mass_error = max(mass_error, abs(float(density.sum()) * grid.volume - 1.0))
        lowest = min(lowest, float(density.min()))
        if t in times:
            kept.append(density)
    return DensityPath(times, exact[0].names, grid, np.stack(kept), exact, mass_error, lowest, len(middles))


def _steps(times: Array, time_step: float) -> Array:
    """Return the ends of all steps: the times asked for, and between them as many as the step needs."""
    if not (isinstance(time_step, (int, float)) and 0 < time_step <= 1):
        rule = "a time step must be a number above 0, at most 1"
        raise InvalidInputError(message(rule, got=repr(time_step), remedy="0.05 is the default"))
    ends = [times[:1]]
    for a, b in itertools.pairwise(times):
        # Equal steps in ∫ dt/min(1, t), which is log t up to time 1 and t − 1 after it: the density widens from a point
        # at first, so early steps must be short relative to t.
        count = math.ceil((_clock(b) - _clock(a)) / time_step)
        ends.append(np.array([*(_unclock(u) for u in np.linspace(_clock(a), _clock(b), count + 1)[1:-1]), b]))
    return np.concatenate(ends)


def _clock(t: float) -> float:
    return math.log(t) if t < 1 else t - 1.0


def _unclock(u: float) -> float:
    return math.exp(u) if u < 0 else u + 1.0
