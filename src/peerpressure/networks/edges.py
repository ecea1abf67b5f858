"""Edges as users hold them (arrays of positions, or pairs of labels) turned into an adjacency."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array

from peerpressure.networks.labels import Label, checked_labels, unknown
from peerpressure.networks.refusal import few, refusal

Edges = Iterable[tuple[Any, Any]] | tuple[list[Any], list[Any]] | tuple[NDArray[Any], NDArray[Any]] | NDArray[Any]
Located = tuple[NDArray[Any], NDArray[Any], Sequence[Label]]

PAIRS = "give (source, target) pairs, and weights=... apart"


def matrix_of_edges(
    edges: Edges, weights: ArrayLike | None, labels: Iterable[Label] | None, n: int | None
) -> tuple[coo_array, Sequence[Label]]:
    """Return the adjacency with both directions of every edge, repeats kept, and the labels of its rows."""
    sources, targets = _ends(edges)
    values = edge_weights(weights, range(len(sources)))
    if isinstance(sources, np.ndarray):
        i, j, names = _by_position(sources, targets, labels, n)
    elif n is not None:
        i, j, names = _by_position(_whole(sources), _whole(targets), labels, n)
    else:
        i, j, names = _by_label(sources, targets, labels)
    rows, columns = np.concatenate([i, j]), np.concatenate([j, i])
    return coo_array((np.tile(values, 2), (rows, columns)), shape=(len(names), len(names))), names


def matrix_of_graph(graph: Any, weight: str | None) -> tuple[coo_array, Sequence[Label]]:
    """Return the adjacency of a NetworkX graph, parallel edges kept, and its nodes."""
    labels = tuple(graph.nodes)
    place = {label: i for i, label in enumerate(labels)}
    ends = [(place[source], place[target]) for source, target in graph.edges()]
    i, j = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    given = None if weight is None else [found for *_, found in graph.edges(data=weight, default=1)]
    values = edge_weights(given, list(graph.edges()))
    if not graph.is_directed():
        i, j, values = np.concatenate([i, j]), np.concatenate([j, i]), np.tile(values, 2)
    return coo_array((values, (i, j)), shape=(len(labels), len(labels))), labels


def edge_weights(weights: ArrayLike | None, edges: Sequence[object]) -> NDArray[np.float64]:
    """Return one float per edge; no weights means that all are 1.  The edges serve to name offenders."""
    if weights is None:
        return np.ones(len(edges))
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        pairs = zip(np.ravel(np.array(weights, dtype=object)), edges, strict=False)
        bad = [f"{weight!r} at {edge!r}" for weight, edge in pairs if not _is_number(weight)]
        got = few(bad, len(bad))
        raise refusal("weights must be real numbers", got=got, remedy="give numbers above 0") from None
    if values.shape != (len(edges),):
        got = f"shape {values.shape} for {len(edges)} edges"
        raise refusal("there must be one weight per edge", got=got, remedy="list them in the edges' order")
    return values


def _is_number(weight: Any) -> bool:
    try:
        float(weight)
    except (TypeError, ValueError):
        return False
    return True


def _ends(edges: Any) -> tuple[Any, Any]:
    """Return sources and targets: integer arrays (positions of agents) or lists (labels)."""
    if isinstance(edges, tuple) and len(edges) == 2 and all(isinstance(e, np.ndarray | list) for e in edges):
        sources, targets = edges
    elif isinstance(edges, np.ndarray):
        if edges.ndim != 2 or edges.shape[1] != 2:
            raise refusal("edges must come in two columns", got=f"shape {edges.shape}", remedy=PAIRS)
        sources, targets = edges.T
    else:
        sources, targets = _unzipped(edges)
    flat = all(ends.ndim == 1 for ends in (sources, targets) if isinstance(ends, np.ndarray))
    if not flat or len(sources) != len(targets):
        got = f"{len(sources)} sources and {len(targets)} targets"
        raise refusal("every edge must have two ends", got=got, remedy="give two flat arrays of one length")
    if all(isinstance(ends, np.ndarray) and ends.dtype.kind in "iu" for ends in (sources, targets)):
        return sources, targets
    return _labels_of(sources), _labels_of(targets)


def _unzipped(pairs: Iterable[Any]) -> tuple[list[Label], list[Label]]:
    pairs = list(pairs)
    for k, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
            raise refusal("an edge must be a pair", got=f"{pair!r} at position {k}", remedy=PAIRS)
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _labels_of(ends: NDArray[Any] | list[Label]) -> list[Label]:
    if isinstance(ends, np.ndarray) and ends.dtype.kind == "f":
        got = f"dtype {ends.dtype}"
        raise refusal("arrays of edges must hold whole numbers", got=got, remedy="use .astype(int)")
    return ends.tolist() if isinstance(ends, np.ndarray) else ends


def _whole(ends: list[Label]) -> NDArray[Any]:
    if not all(isinstance(end, int | np.integer) for end in ends):
        got = few(map(repr, ends), len(ends))
        raise refusal("with n=... edges must be pairs of whole numbers", got=got, remedy="leave n out")
    return np.array(ends, dtype=np.int64)


def _by_position(
    sources: NDArray[Any], targets: NDArray[Any], labels: Iterable[Label] | None, n: int | None
) -> Located:
    names = None if labels is None else tuple(labels)
    lowest = int(min(sources.min(), targets.min())) if sources.size else 0
    highest = int(max(sources.max(), targets.max())) if sources.size else -1
    if n is None:
        n = highest + 1 if names is None else len(names)
    if lowest < 0 or highest >= n:
        got = lowest if lowest < 0 else highest
        remedy = "count agents from 0, or give a list of pairs of labels"
        raise refusal(f"positions of agents must lie in 0..{n - 1}", got=got, remedy=remedy)
    return sources, targets, checked_labels(names, n)


def _by_label(sources: list[Label], targets: list[Label], labels: Iterable[Label] | None) -> Located:
    try:
        mentioned = dict.fromkeys(end for pair in zip(sources, targets, strict=True) for end in pair)
    except TypeError as error:
        remedy = "use numbers, text or tuples of them"
        raise refusal("labels must be hashable", got=error, remedy=remedy) from None
    given = tuple(_ordered(mentioned) if labels is None else labels)
    names = checked_labels(given, len(given))
    place = {label: i for i, label in enumerate(names)}
    missing = [end for end in mentioned if end not in place]
    if missing:
        raise unknown(missing, names)
    i, j = (np.fromiter((place[end] for end in ends), np.int64, len(ends)) for ends in (sources, targets))
    return i, j, names


def _ordered(labels: Iterable[Label]) -> list[Any]:
    """Sort labels that are all whole numbers, and keep others in the order in which they came."""
    names: list[Any] = list(labels)
    return sorted(names) if all(isinstance(name, int | np.integer) for name in names) else names
