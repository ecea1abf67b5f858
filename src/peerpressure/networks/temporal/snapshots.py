"""Graphs that follow one another turned into the events between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, issparse

from peerpressure.networks.edges import matrix_of_graph
from peerpressure.networks.labels import Label
from peerpressure.networks.network import Network
from peerpressure.networks.refusal import refusal
from peerpressure.networks.rules import canonical, square
from peerpressure.networks.temporal.events import Events, whole_column


def events_of_snapshots(graphs: Iterable[Any], times: ArrayLike | None) -> tuple[Events, Sequence[Label]]:
    """Return what changes from each graph to the next, and all agents in the order in which they appear.

    ``times`` holds the step from which each graph holds; None counts them 1, 2, ….
    """
    parts = [_parts(graph) for graph in graphs]
    if not parts:
        raise refusal("a network that changes must have snapshots", got="none", remedy="give at least one graph")
    steps = np.arange(1, len(parts) + 1) if times is None else _rising(whole_column("times", times), len(parts))
    labels = _union([labels for _, labels in parts])
    n, place = len(labels), {label: k for k, label in enumerate(labels)}
    before = (np.empty(0, np.int64), np.empty(0))
    changes = []
    for step, (matrix, names) in zip(steps.tolist(), parts, strict=True):
        # Snapshots that all have the same agents need no look-up of a million labels.
        position = np.arange(n) if names == labels else np.array([place[name] for name in names], dtype=np.int64)
        now = _edges(matrix, position, n)
        codes, weights = _differences(before, now)
        changes.append(Events(np.full(codes.size, step), codes // n, codes % n, weights))
        before = now
    return Events.joined(changes), labels


def _parts(graph: Any) -> tuple[coo_array, Sequence[Label]]:
    """Return the checked adjacency of one snapshot, and its labels."""
    if isinstance(graph, Network):
        return graph.adjacency.tocoo(), graph.labels
    if hasattr(graph, "edges") and hasattr(graph, "nodes"):
        matrix, labels = matrix_of_graph(graph, "weight")
        # A graph without a node or an edge is a legal snapshot, though no legal network.
        return (canonical(matrix, labels).tocoo() if matrix.nnz else matrix), labels
    if issparse(graph) or isinstance(graph, np.ndarray | list):
        matrix = square(graph)
        return canonical(matrix, range(matrix.shape[0])).tocoo(), range(matrix.shape[0])
    rule = "a snapshot must be a Network, a NetworkX graph or a matrix"
    raise refusal(rule, got=type(graph).__name__, remedy="convert it first")


def _rising(times: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    if times.shape != (count,):
        got = f"shape {times.shape} for {count} snapshots"
        raise refusal("there must be one time per snapshot", got=got, remedy="list them in the snapshots' order")
    back = np.flatnonzero(np.diff(times) <= 0)
    if back.size:
        k = int(back[0])
        got = f"{times[k + 1]} after {times[k]}"
        raise refusal("snapshots must come in the order of their times", got=got, remedy="sort them by time first")
    return times


def _union(families: Sequence[Sequence[Label]]) -> Sequence[Label]:
    if all(isinstance(labels, range) for labels in families):
        return max(families, key=len)
    return tuple(dict.fromkeys(label for labels in families for label in labels))


def _edges(matrix: coo_array, position: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the codes i·n + j of the edges i < j in order, and their weights."""
    i, j = (position[side] for side in matrix.coords)
    once = np.flatnonzero(i < j)
    codes = i[once] * n + j[once]
    order = np.argsort(codes)
    return codes[order], matrix.data[once][order]


def _differences(
    before: tuple[NDArray[np.int64], NDArray[np.float64]], now: tuple[NDArray[np.int64], NDArray[np.float64]]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return what became of the edges: those that ended weigh 0; edges that stayed are among the rest."""
    ended = np.setdiff1d(before[0], now[0], assume_unique=True)
    return np.concatenate([ended, now[0]]), np.concatenate([np.zeros(ended.size), now[1]])
