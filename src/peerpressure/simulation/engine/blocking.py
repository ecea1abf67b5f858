"""Sums over neighbours where the states of all agents exceed the caches, by propagation blocking.

Gathering neighbours at random would then wait for memory at nearly every edge. Instead, edges are sorted by the blocks
of their sources and targets. One pass copies each source's opinion to the places of its edges, and another one adds
these up for their targets: what either accesses at random is one block of agents, and stays in the caches; all else
is read and written in sequence (Beamer, Asanović & Patterson, IPDPS 2017).

The terms of a sum are added in the order of the neighbours, so its bits are those of the plain loop.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from peerpressure.simulation.engine.intrinsics import fma
from peerpressure.simulation.engine.plan import BLOCK
from peerpressure.simulation.engine.random import U64


class EdgeBlocks(NamedTuple):
    """Edges sorted by the block of their source, the block of their target, and their source.

    ``sources`` and ``targets`` are counted from the beginnings of their blocks. Edges from block a to block b begin at
    ``segments[a, b]``; the last column is where those of a end. ``stride`` 0 means that one weight serves all edges.
    """

    sources: NDArray[np.uint16]
    targets: NDArray[np.uint16]
    weights: NDArray[Any]
    stride: np.uint64
    segments: NDArray[np.int64]


def blocks_of(matrix: csr_array, weights: NDArray[Any], stride: np.uint64, *, directed: bool) -> EdgeBlocks:
    """Sort the edges of a network, whose weights may be a single one."""
    if directed:
        # Row i is whom agent i listens to; edges are sorted by source, that is by column.
        by_source = csr_array((np.arange(matrix.nnz), matrix.indices, matrix.indptr), matrix.shape).tocsc()
        weights = weights[by_source.data] if stride else weights
        matrix = by_source
    count = -(-matrix.shape[0] // BLOCK)
    segments, placed = np.zeros((count, count + 1), np.int64), np.empty_like(weights)
    sources, targets = np.empty(matrix.nnz, np.uint16), np.empty(matrix.nnz, np.uint16)
    _sort_edges(matrix.indptr, matrix.indices, weights, stride, segments, sources, targets, placed)
    return EdgeBlocks(sources, targets, placed, stride, segments)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _sort_edges(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    weights: NDArray[Any],
    stride: np.uint64,
    segments: NDArray[np.int64],
    sources: NDArray[np.uint16],
    targets: NDArray[np.uint16],
    placed: NDArray[Any],
) -> None:
    """Sort by counting. ``segments`` are zeros at first."""
    n, place = indptr.size - 1, 0
    for block in range(segments.shape[0]):
        begin, end = block * BLOCK, min(n, (block + 1) * BLOCK)
        for k in range(indptr[begin], indptr[end]):
            segments[block, indices[k] // BLOCK + 1] += 1
        segments[block, 0] = place
        # From counts to where each segment begins, one column late: when it is full, that is where the next one begins.
        for other in range(1, segments.shape[1]):
            segments[block, other], place = place, place + segments[block, other]
        for source in range(begin, end):
            for k in range(indptr[source], indptr[source + 1]):
                other = indices[k] // BLOCK
                at = segments[block, other + 1]
                segments[block, other + 1] += 1
                sources[at], targets[at] = source - begin, indices[k] - other * BLOCK
                placed[at * np.int64(stride)] = weights[k * np.int64(stride)]


class NeighbourSums:
    """The sums over neighbours during a run: of all agents, with the terms that they are added up from."""

    def __init__(self, edges: EdgeBlocks, agents: int, dtype: np.dtype[Any]) -> None:
        self.edges = edges
        self.terms = np.empty(edges.sources.size, dtype)
        self.sums = np.empty(agents, dtype)

    def spread(self, public: NDArray[Any], begin: int, end: int) -> None:
        """Copy the opinions of agents begin…end−1, whole blocks, to the places of their edges."""
        _spread(self.edges, public, self.terms, begin, end)

    def collect(self, begin: int, end: int) -> None:
        """Sum over the neighbours of agents begin…end−1, whole blocks, once all opinions have been spread."""
        _collect(self.edges, self.terms, self.sums, begin, end)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _spread(edges: EdgeBlocks, public: NDArray[Any], terms: NDArray[Any], begin: int, end: int) -> None:
    for block in range(begin // BLOCK, -(-end // BLOCK)):
        first = U64(block * BLOCK)
        for k in range(U64(edges.segments[block, 0]), U64(edges.segments[block, -1])):
            terms[k] = public[first + U64(edges.sources[k])]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _collect(edges: EdgeBlocks, terms: NDArray[Any], sums: NDArray[Any], begin: int, end: int) -> None:
    for block in range(begin // BLOCK, -(-end // BLOCK)):
        first = U64(block * BLOCK)
        for agent in range(first, min(first + U64(BLOCK), U64(end))):
            sums[agent] = 0
        for other in range(edges.segments.shape[0]):
            for k in range(U64(edges.segments[other, block]), U64(edges.segments[other, block + 1])):
                target = first + U64(edges.targets[k])
                sums[target] = fma(edges.weights[k * edges.stride], terms[k], sums[target])
