"""One step of the Fokker–Planck equation on a grid that keeps every cell non-negative and all mass.

Space: finite volumes with the fluxes of Scharfetter and Gummel (Chang and Cooper's, for a linear drift), exact for
constant drift and diffusivity across a face,

    flux = (D/Δ) [β(−P) p_left − β(P) p_right],   β(x) = x/(eˣ − 1),   P = u Δ/D,

of second order in the width Δ where cells resolve the density, and upwind where there is no noise. No flux leaves the
grid. The rates at which mass goes from cell to cell are then all ≥ 0: a Markov chain.

Time: p ← exp(τ A(t + τ/2)) p, of second order in τ. The exponential is applied as the chain's mixture over a Poisson
number of jumps (uniformisation), with q no less than the rate at which mass leaves any cell:

    exp(τA) p = Σ_k e^(−qτ)(qτ)^k/k! (I + A/q)^k p.

Every term is non-negative and keeps the mass, for any τ.
"""

from __future__ import annotations

from typing import final

import numpy as np

from peerpressure.model import Vector

from .closure import Drift
from .grid import Grid

# Mean number of jumps in one mixture; e^(−qτ) of more would come near underflow.
MOST_JUMPS = 400.0
# Ratio of drift to noise across a cell from which mass only goes with the drift.
STEEP = 100.0
# Weight of the jumps beyond the last that is taken.
TRUNCATION = 1e-15


@final
class Chain:
    """The Markov chain of one time step: where mass stays, and the share that goes up and down along each axis."""

    def __init__(self, grid: Grid, drift: Drift) -> None:
        rates = [_rates(grid, drift, axis) for axis in range(len(grid.shape))]
        leaving = np.zeros(grid.shape)
        for axis, (up, down) in enumerate(rates):
            leaving[_before(axis)] += up
            leaving[_after(axis)] += down
        # A hair more than the largest rate, so that rounding leaves no share below 0.
        self.rate = float(leaving.max()) * (1 + 1e-12) or 1.0
        self.shares = [(up / self.rate, down / self.rate) for up, down in rates]
        self.staying = 1.0 - leaving / self.rate

    def jump(self, density: Vector) -> Vector:
        """Return (I + A/q) p: each cell's share that stays, and what comes from its neighbours."""
        out = self.staying * density
        for axis, (up, down) in enumerate(self.shares):
            before, after = _before(axis), _after(axis)
            out[after] += up * density[before]
            out[before] += down * density[after]
        return out

    def advance(self, density: Vector, tau: float) -> Vector:
        """Return exp(τA) p."""
        parts = int(np.ceil(self.rate * tau / MOST_JUMPS))
        for _ in range(parts):
            density = self._mixture(density, self.rate * tau / parts)
        return density

    def _mixture(self, density: Vector, jumps: float) -> Vector:
        weights = _poisson(jumps)
        total = np.asarray(weights[0] * density)
        for weight in weights[1:]:
            density = self.jump(density)
            total += weight * density
        return total


def _poisson(mean: float) -> Vector:
    """Return the weights of 0, 1, 2, … jumps, up to where the rest is negligible; they sum to 1."""
    last = int(mean + 9.0 * np.sqrt(mean) + 20.0)
    weights = np.exp(-mean) * np.cumprod(np.concatenate([[1.0], mean / np.arange(1, last + 1)]))
    # Seen from the end, so that the sum of small numbers is right.
    needed = int(np.flatnonzero(np.cumsum(weights[::-1])[::-1] > TRUNCATION)[-1]) + 1
    return np.asarray(weights[:needed] / weights[:needed].sum())


def _rates(grid: Grid, drift: Drift, axis: int) -> tuple[Vector, Vector]:
    """Return the rates at which mass crosses the inner faces of an axis, upwards and downwards."""
    velocity = np.asarray(drift.offset[axis])
    for other, centres in enumerate(grid.centres):
        places = grid.edges[axis][1:-1] if other == axis else centres
        shape = [1] * len(grid.shape)
        shape[other] = -1
        velocity = velocity + drift.slope[axis, other] * (places - drift.centre[other]).reshape(shape)
    width = float(grid.widths[axis])
    return _exchange(velocity / width, float(drift.diffusivity[axis]) / width**2)


def _exchange(advection: Vector, sde: float) -> tuple[Vector, Vector]:
    """Return D/Δ² β(−P) and D/Δ² β(P), from u/Δ and D/Δ²."""
    # Here β differs from its limit, the upwind flux, by less than rounding.
    upwind = np.abs(advection) >= STEEP * sde
    ratio = np.divide(advection, sde, out=np.zeros_like(advection), where=~upwind)
    up = np.where(upwind, np.maximum(advection, 0.0), sde * _bernoulli(-ratio))
    return up, np.where(upwind, np.maximum(-advection, 0.0), sde * _bernoulli(ratio))


def _bernoulli(x: Vector) -> Vector:
    """Return x/(eˣ − 1), which is 1 at 0.

    >>> _bernoulli(np.array([-1.0, 0.0, 1.0])).round(6)
    array([1.581977, 1.      , 0.581977])
    """
    small = np.abs(x) < 1e-8
    return np.where(small, 1.0 - x / 2, x / np.expm1(np.where(small, 1.0, x)))


def _before(axis: int) -> tuple[slice, ...]:
    return (slice(None),) * axis + (slice(None, -1),)


def _after(axis: int) -> tuple[slice, ...]:
    return (slice(None),) * axis + (slice(1, None),)
