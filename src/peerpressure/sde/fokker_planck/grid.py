"""Cells on one axis or two, and what a density holds on average in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.polynomial.legendre import leggauss

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Vector

from .density import GaussianDensity

# Standard deviations from the mean to the edges: beyond lie 2e-9 of a Gaussian law.
REACH = 6.0
# Cells that the narrowest deviation should span, and those that it must.
FINE, COARSE = 3.0, 1.5
# The least number of cells that is chosen on each axis, and the most that is accepted, by the number of axes.
LIMITS = {1: (200, 20_000), 2: (100, 800)}
# Points on each axis of a cell at which an average is taken.
POINTS = 3


@final
@dataclass(frozen=True, eq=False)
class Grid:
    """Cells of equal width on each axis; ``edges`` holds cells + 1 numbers for each."""

    edges: tuple[Vector, ...]

    @property
    def centres(self) -> tuple[Vector, ...]:
        """The middle of the cells of each axis."""
        return tuple((edges[1:] + edges[:-1]) / 2 for edges in self.edges)

    @property
    def widths(self) -> Vector:
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

    def average(self, density: GaussianDensity) -> Vector:
        """Return the average of a density over each cell, by Gauss's rule."""
        nodes, weights = leggauss(POINTS)
        axes = [centres[:, None] + width / 2 * nodes for centres, width in zip(self.centres, self.widths, strict=True)]
        points = np.stack(np.meshgrid(*(axis.ravel() for axis in axes), indexing="ij"), axis=-1)
        values = density.pdf(points).reshape([size for cells in self.shape for size in (cells, POINTS)])
        for axis in range(len(self.shape)):
            values = np.tensordot(values, weights / 2, axes=([axis + 1], [0]))
        return np.asarray(values)

    def __repr__(self) -> str:
        spans = " × ".join(f"{edges.size - 1} cells over {edges[0]:.4g}–{edges[-1]:.4g}" for edges in self.edges)
        return f"Grid({spans})"


def grid_around(densities: Sequence[GaussianDensity], cells: int | None = None) -> Grid:
    """Return a grid that holds all these densities, with edges six standard deviations from every mean.

    Where no number of ``cells`` is given, the narrowest deviation spans ``FINE`` of them. Agents who come to agree have
    a density like a ridge along the diagonal, which is narrow in no single axis.
    """
    low = np.min([density.mean - REACH * density.std for density in densities], axis=0)
    high = np.max([density.mean + REACH * density.std for density in densities], axis=0)
    scale = np.outer(high - low, high - low)
    narrowest = np.sqrt(min(float(np.linalg.eigvalsh(density.covariance / scale)[0]) for density in densities))
    least, most = LIMITS[low.size]
    count = max(least, min(most, int(np.ceil(FINE / narrowest)))) if cells is None else cells
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 8 <= count <= most:
        rule = f"a grid needs a whole number of cells on each axis, from 8 to {most:,}"
        raise InvalidInputError(complain(rule, got=repr(count), remedy="leave it out to have it chosen"))
    if count * narrowest < COARSE:
        rule = f"the density's narrowest standard deviation must span {COARSE:g} cells or more"
        got = f"{count * narrowest:.3g} of {count:,} cells"
        needed = int(np.ceil(COARSE / narrowest))
        remedy = f"use {needed:,} cells or more" if needed <= most else "end sooner, or begin later"
        raise InvalidInputError(complain(rule, got=got, remedy=remedy))
    return Grid(tuple(np.linspace(a, b, count + 1) for a, b in zip(low, high, strict=True)))
