"""The Gaussian likelihood in coordinates in which it is concave, so that Newton's method finds its one maximum.

Given y_{t−1}, agent i shows y_t ~ N((s x₀ + ρ_t a_t)/(s + ρ_t d), (sστ_t/(s + ρ_t d))²) with a_t = Σ w y_{t−1}. With
h = 1/σ, κ = h/s and ξ̃ = h x₀,

    log p = log m − ½ e²/τ² + constant,   m = h + ρ_t d κ,   e = h y_t + ρ_t κ (d y_t − a_t) − ξ̃:

the logarithm of a linear function less the square of another, for every given course of ρ. Where hidden opinions give
way, y_t is taken less what the agent has adopted in the first term of e, and ξ̃ times the share that is left of x₀.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, PeerPressureError, complain
from peerpressure.model import Vector

_ITERATIONS = 200
# Relative curvature below which the likelihood is flat in some direction.
_FLAT = 1e-11


@final
@dataclass(frozen=True, eq=False)
class Sample:
    """One replicate: y_t less what was adopted, q_t = d y_t − a_t, relative scale τ, presence, d and the share of x₀.

    All of these are (T, n); ``known`` (n,) is x₀ or NaN.
    """

    public: Vector
    pull: Vector
    scale: Vector
    present: NDArray[np.bool_]
    degrees: Vector
    share: Vector
    known: Vector


@final
@dataclass(frozen=True, eq=False)
class Block:
    """Coordinates that enter m by ``a`` and e by ``b``, (T, n) each: one common to all agents, or one for each.

    ``da`` and ``db`` are their derivatives in the parameter of ρ.
    """

    name: str
    agents: NDArray[np.int64] | None
    a: Vector
    b: Vector
    da: Vector
    db: Vector

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        return 1 if self.agents is None else self.agents.size

    def spread(self, values: Vector) -> Vector:
        """Return the coordinates as they meet (T, n) arrays."""
        if self.agents is None:
            return np.asarray(values)
        out = np.zeros(self.a.shape[1])
        out[self.agents] = values
        return out

    def collect(self, array: Vector) -> Vector:
        """Return the sums of a (T, n) array that belong to each coordinate."""
        return np.atleast_1d(array.sum()) if self.agents is None else array.sum(axis=0)[self.agents]


@final
@dataclass(frozen=True, eq=False)
class Concave:
    """The log-likelihood as a function of the stacked coordinates of its blocks; what is fixed is in m₀ and e₀."""

    sample: Sample
    blocks: tuple[Block, ...]
    m0: Vector
    e0: Vector

    def parts(self, coordinates: Vector) -> dict[str, Vector]:
        """Return the coordinates block by block."""
        ends = np.cumsum([block.size for block in self.blocks])
        pieces = np.split(coordinates, ends[:-1])
        return {block.name: piece for block, piece in zip(self.blocks, pieces, strict=True)}

    def m_and_e(self, coordinates: Vector) -> tuple[Vector, Vector]:
        """Return the two linear functions, (T, n) each."""
        m, e = self.m0, self.e0
        for block, values in zip(self.blocks, self.parts(coordinates).values(), strict=True):
            each = block.spread(values)
            m, e = m + block.a * each, e + block.b * each
        return m, e

    def value(self, coordinates: Vector) -> float:
        """Return Σ log p, −∞ outside m > 0."""
        m, e = self.m_and_e(coordinates)
        here, tau = self.sample.present, self.sample.scale
        if (m[here] <= 0).any():
            return -np.inf
        constant = -np.log(tau[here]) - 0.5 * np.log(2 * np.pi)
        return float((np.log(m[here]) - 0.5 * (e[here] / tau[here]) ** 2 + constant).sum())

    def slopes(self, coordinates: Vector) -> tuple[Vector, Vector]:
        """Return gradient and Hessian."""
        m, e = self.m_and_e(coordinates)
        here, precision = self.sample.present, self.sample.scale**-2.0
        gradient = np.concatenate([b.collect(here * (b.a / m - e * b.b * precision)) for b in self.blocks])
        hessian = np.zeros((gradient.size, gradient.size))
        for (left, at), (right, to) in self._pairs():
            array = here * (-left.a * right.a / m**2 - left.b * right.b * precision)
            place(hessian, left, at, right, to, array)
        return gradient, hessian

    def _pairs(self) -> Iterator[tuple[tuple[Block, int], tuple[Block, int]]]:
        starts = np.cumsum([0] + [block.size for block in self.blocks])
        placed = list(zip(self.blocks, (int(s) for s in starts), strict=False))
        for i, one in enumerate(placed):
            for other in placed[i:]:
                yield one, other

    def maximise(self, start: Vector) -> Vector:
        """Return the maximum by Newton's method, each step halved until it climbs."""
        x, height = start, self.value(start)
        for _ in range(_ITERATIONS):
            gradient, hessian = self.slopes(x)
            step = solve_curved(-hessian, gradient)
            climb = float(gradient @ step)
            if climb <= 1e-14 * (1 + abs(height)):
                return x + step if self.value(x + step) >= height else x
            share = 1.0
            while not self.value(x + share * step) >= height + 0.1 * share * climb and share > 1e-10:
                share /= 2
            if share <= 1e-10:
                return x
            x = x + share * step
            height = self.value(x)
        raise PeerPressureError("the likelihood has no maximum within reach: the outputs say too little; observe more")


def place(matrix: Vector, left: Block, at: int, right: Block, to: int, array: Vector) -> None:
    """Put the sums of a (T, n) array where the two blocks meet in a symmetric matrix."""
    if left.agents is None or right.agents is None:
        sums = right.collect(array) if left.agents is None else left.collect(array)
        block = sums[None, :] if left.agents is None else sums[:, None]
    else:
        total = array.sum(axis=0)
        block = np.where(left.agents[:, None] == right.agents[None, :], total[left.agents][:, None], 0.0)
    matrix[at : at + left.size, to : to + right.size] = block
    matrix[to : to + right.size, at : at + left.size] = block.T


def solve_curved(curvature: Vector, right: Vector) -> Vector:
    """Return curvature⁻¹ right, refusing a likelihood that is flat in some direction."""
    diagonal = curvature.diagonal()
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = curvature * scale[:, None] * scale
    least = np.linalg.eigvalsh(scaled)[0] if (diagonal > 0).all() else 0.0
    if least <= _FLAT:
        rule = "the outputs must settle every unknown"
        remedy = "observe more steps, or take fewer parameters as unknown"
        raise InvalidInputError(complain(rule, got="a likelihood that is flat in some direction", remedy=remedy))
    side = right * scale if right.ndim == 1 else right * scale[:, None]
    solved = np.linalg.solve(scaled, side)
    return np.asarray(solved * scale if right.ndim == 1 else solved * scale[:, None])
