"""Rows of the adjacency matrix from edges that any process may have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from peerpressure.errors import NetworkError, message
from peerpressure.simulation.engine.parts import require_chunks
from peerpressure.simulation.engine.plan import CHUNK
from peerpressure.simulation.processes import Together, delivered

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

Numbers = NDArray[np.int64]


def even_cuts(agents: int, count: int) -> tuple[int, ...]:
    """Return the first agents of so many parts of whole chunks, and the number of agents at the end.

    >>> even_cuts(5000, 2)
    (0, 3072, 5000)
    """
    require_chunks(agents, count)
    chunks = -(-agents // CHUNK)
    return *(-(-chunks * k // count) * CHUNK for k in range(count)), agents


def merged_rows(
    together: Together,
    cuts: tuple[int, ...],
    edges: tuple[Numbers, Numbers, NDArray[np.float64] | None],
    *,
    directed: bool = False,
    signed: bool = False,
) -> csr_array:
    """Return the rows of the own agents from the edges of all processes, (sources, targets, weights or None for 1).

    An edge that is given several times counts once. Undirected edges may be given in either direction or in both.
    """
    sources, targets, weights = edges
    with together.checking():
        _check_edges(sources, targets, weights, cuts[-1], signed=signed)
    if not directed:
        sources, targets = np.concatenate([sources, targets]), np.concatenate([targets, sources])
        weights = None if weights is None else np.tile(weights, 2)
    rows, columns, values = _sent(together.comm, cuts, sources, targets, weights)
    with together.checking():
        return _merged(rows, columns, values, cuts[together.comm.rank], cuts[together.comm.rank + 1], cuts[-1])


def _check_edges(
    sources: Numbers, targets: Numbers, weights: NDArray[np.float64] | None, n: int, *, signed: bool
) -> None:
    for end in (sources, targets):
        if end.size and not (end.min() >= 0 and end.max() < n):
            rule, remedy = f"agents must have the numbers 0 to {n - 1:,}", "number them so, or give n=..."
            raise NetworkError(message(rule, got=end[(end < 0) | (end >= n)][0], remedy=remedy))
    loops = sources[sources == targets]
    if loops.size:
        rule, got = "an agent must not be its own neighbour", f"a self-loop at {loops[0]} ({loops.size} in all)"
        remedy = "remove them; the weight of an agent's own opinion is its stubbornness"
        raise NetworkError(message(rule, got=got, remedy=remedy))
    if weights is None:
        return
    bad = np.flatnonzero(~np.isfinite(weights) | ((weights < 0) & (not signed)))
    if bad.size:
        k = bad[0]
        rule = "weights must be finite numbers" if signed else "weights must be finite numbers that are not negative"
        got = f"{weights[k]:g} between {sources[k]} and {targets[k]} ({bad.size} such)"
        raise NetworkError(
            message(rule, got=got, remedy="correct them, or declare the network as signed, for distrust")
        )


def _sent(
    comm: Intracomm, cuts: tuple[int, ...], rows: Numbers, columns: Numbers, weights: NDArray[np.float64] | None
) -> tuple[Numbers, Numbers, NDArray[np.float64] | None]:
    """Send each entry to the process of its row."""
    if comm.size == 1:
        return rows, columns, weights
    owners = np.searchsorted(cuts[1:], rows, side="right")
    order = np.argsort(owners, kind="stable")
    owners = owners[order]
    got = [delivered(comm, values[order], owners) for values in (rows, columns)]
    return got[0], got[1], None if weights is None else delivered(comm, weights[order], owners)


def _merged(
    rows: Numbers, columns: Numbers, weights: NDArray[np.float64] | None, first: int, last: int, n: int
) -> csr_array:
    """Return the entries as rows in ascending order of their columns, repeated ones merged, those of weight 0 left out.

    Repeated entries must have one weight.
    """
    # n rows fit into 64 bits for all networks that can be numbered in 32.
    codes = (rows - first) * n + columns
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    new = np.ones(codes.size, np.bool_)
    new[1:] = codes[1:] != codes[:-1]
    values = np.ones(int(new.sum()))
    if weights is not None:
        weights = weights[order]
        clash = np.flatnonzero(~new[1:] & (weights[1:] != weights[:-1]))
        if clash.size:
            who, whom = divmod(int(codes[clash[0]]), n)
            got = f"{weights[clash[0]]:g} and {weights[clash[0] + 1]:g} between {who + first} and {whom}"
            rule, remedy = "an edge given more than once must keep one weight", "keep one of them"
            raise NetworkError(message(rule, got=got, remedy=remedy))
        values = weights[new]
    row, column = np.divmod(codes[new], n)
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=last - first))])
    matrix = csr_array((values, column, starts), shape=(last - first, n))
    matrix.eliminate_zeros()
    return matrix
