"""What a network must be: every refusal names the offending agents by the users' own labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, issparse

from peerpressure.errors import NetworkError
from peerpressure.networks.connectivity import components, is_connected
from peerpressure.networks.labels import Label
from peerpressure.networks.refusal import few, refusal

# One stray position, 10**12 say, must not reserve memory for all the agents below it.
MOST_ISOLATED = 10_000_000
SQUARE = "an adjacency must be a square matrix"


def square(adjacency: Any) -> Any:
    """Return the adjacency as a square sparse array of real numbers with two agents or more."""
    matrix: Any = adjacency if issparse(adjacency) else _dense(adjacency)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        remedy = "for pairs of agents use Network.from_edges, for a NetworkX graph Network.from_networkx"
        raise refusal(SQUARE, got=f"shape {matrix.shape}", remedy=remedy)
    if matrix.dtype.kind not in "biuf":
        got = f"dtype {matrix.dtype}"
        raise refusal("weights must be real numbers", got=got, remedy="convert the adjacency to float64")
    if matrix.shape[0] < 2:
        got = matrix.shape[0]
        raise refusal("a network needs at least 2 agents", got=got, remedy="the smallest network is k2()")
    if issparse(matrix) and matrix.shape[0] > max(MOST_ISOLATED, 2 * matrix.nnz):
        got = f"{matrix.shape[0]} agents with {matrix.nnz // 2} edges"
        raise refusal("most agents must have neighbours", got=got, remedy="number the agents without gaps")
    return matrix if issparse(matrix) else csr_array(matrix, dtype=np.float64)


def _dense(adjacency: Any) -> NDArray[Any]:
    try:
        return np.asarray(adjacency)
    except ValueError:
        raise refusal(SQUARE, got="rows of unequal length", remedy="give n rows of n weights") from None


def canonical(matrix: Any, labels: Sequence[Label]) -> csr_array:
    """Return a fresh symmetric CSR array: finite positive weights, no loops, sorted, no repeats.

    Repeated entries merge when they agree, and stored zeros are dropped.
    """
    entries = matrix if matrix.format == "csr" and matrix.has_canonical_format else matrix.tocoo()
    _refuse_weights(entries, labels)
    _refuse_loops(entries, labels)
    repeats = entries.format == "coo"
    adjacency = _merged(entries, labels) if repeats else csr_array(entries, dtype=np.float64, copy=True)
    adjacency.eliminate_zeros()
    _refuse_asymmetry(adjacency, labels)
    return _small_indices(adjacency)


def _refuse_weights(entries: Any, labels: Sequence[Label]) -> None:
    weights = entries.data
    finite = np.isfinite(weights)
    if not finite.all():
        rule, remedy = "weights must be finite", "remove those edges or give them a number"
        raise _bad_weights(entries, ~finite, labels, rule, remedy)
    if weights.size and weights.min() < 0:
        rule, remedy = "weights must not be negative", "the model has no repulsion; use weights above 0"
        raise _bad_weights(entries, weights < 0, labels, rule, remedy)
    with np.errstate(over="ignore"):
        total = weights.sum(dtype=np.float64)
    if not np.isfinite(total):
        raise refusal("the sum of all weights must be finite", got=total, remedy="divide them by the largest")


def _bad_weights(entries: Any, bad: NDArray[np.bool_], labels: Sequence[Label], rule: str, remedy: str) -> NetworkError:
    entries = entries.tocoo()
    rows, columns = (axis[bad].tolist() for axis in entries.coords)
    offenders = _undirected(zip(rows, columns, entries.data[bad].tolist(), strict=True))
    named = (f"{w!r} between {labels[i]!r} and {labels[j]!r}" for i, j, w in offenders)
    return refusal(rule, got=few(named, len(offenders)), remedy=remedy)


def _undirected(entries: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Keep the first of every two entries that are one edge seen from its two ends."""
    found: dict[frozenset[int], tuple[Any, ...]] = {}
    for entry in entries:
        found.setdefault(frozenset(entry[:2]), entry)
    return list(found.values())


def _refuse_loops(entries: Any, labels: Sequence[Label]) -> None:
    loops = np.flatnonzero(entries.diagonal())
    if loops.size:
        got = f"self-loops at {few((repr(labels[i]) for i in loops.tolist()), len(loops))}"
        remedy = "remove them; how far an agent holds to its own view is its stubbornness"
        raise refusal("an agent must not be its own neighbour", got=got, remedy=remedy)


def _merged(entries: coo_array, labels: Sequence[Label]) -> csr_array:
    """Return the entries as CSR, with repeats merged into one where their weights are equal."""
    entries = coo_array((entries.data.astype(np.float64), entries.coords), shape=entries.shape)
    summed = entries.tocsr()
    if summed.nnz == entries.nnz:
        return summed
    rows, columns = entries.coords
    order = np.lexsort((columns, rows))
    rows, columns, weights = rows[order], columns[order], entries.data[order]
    repeat = (rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1])
    clash = np.flatnonzero(repeat & (weights[1:] != weights[:-1]))
    if clash.size:
        raise _conflict(rows[clash], columns[clash], weights[clash], weights[clash + 1], labels)
    first = np.concatenate([[True], ~repeat])
    return coo_array((weights[first], (rows[first], columns[first])), shape=entries.shape).tocsr()


def _conflict(
    rows: NDArray[Any],
    columns: NDArray[Any],
    some: NDArray[np.float64],
    other: NDArray[np.float64],
    labels: Sequence[Label],
) -> NetworkError:
    clashes = zip(rows.tolist(), columns.tolist(), some.tolist(), other.tolist(), strict=True)
    offenders = _undirected(clashes)
    named = (f"{labels[i]!r} and {labels[j]!r} with {a} and {b}" for i, j, a, b in offenders)
    return refusal(
        "an edge given more than once must keep one weight",
        got=few(named, len(offenders)),
        remedy="keep one of them, or add them up first",
    )


def _refuse_asymmetry(adjacency: csr_array, labels: Sequence[Label]) -> None:
    mirror = adjacency.T.tocsr()
    parts = ("indptr", "indices", "data")
    if all(np.array_equal(getattr(adjacency, part), getattr(mirror, part)) for part in parts):
        return
    gap = (adjacency - mirror).tocoo()
    rows, columns = (axis[gap.data > 0].tolist() for axis in gap.coords)
    named = (
        f"{labels[i]!r} to {labels[j]!r} {float(adjacency[i, j])!r} but back {float(adjacency[j, i])!r}"
        for i, j in zip(rows, columns, strict=True)
    )
    remedy = "symmetrise first, for instance with (A + A.T) / 2"
    raise refusal("weights must be symmetric", got=few(named, len(rows)), remedy=remedy)


def _small_indices(adjacency: csr_array) -> csr_array:
    # Half the memory traffic of 64-bit indices, and what every stepping kernel wants.
    if max(adjacency.nnz, adjacency.shape[0]) <= np.iinfo(np.int32).max:
        adjacency.indptr = adjacency.indptr.astype(np.int32, copy=False)
        adjacency.indices = adjacency.indices.astype(np.int32, copy=False)
    return adjacency


def refuse_disconnected(adjacency: csr_array, labels: Sequence[Label]) -> None:
    """Raise unless every agent has a neighbour and reaches every other agent."""
    remedy = "join them, or build with connected=False and take largest_component()"
    alone = np.flatnonzero(np.diff(adjacency.indptr) == 0)
    if alone.size:
        got = f"none for {few((repr(labels[i]) for i in alone.tolist()), len(alone))}"
        raise refusal("every agent must have a neighbour", got=got, remedy=remedy)
    if not is_connected(adjacency):
        count, member = components(adjacency)
        got = f"{count} components of sizes {few(np.sort(np.bincount(member))[::-1], count)}"
        raise refusal("a network must be connected", got=got, remedy=remedy)
