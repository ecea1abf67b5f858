"""Edges as users hold them (arrays of positions, or pairs of labels) turned into an adjacency."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, diags_array

from peerpressure.errors import NetworkError
from peerpressure.networks._connectivity import components, is_connected, two_colouring
from peerpressure.networks._validation import (
    Label,
    canonical,
    checked_labels,
    few,
    position_in_range,
    refusal,
    refuse_disconnected,
    square,
    unknown,
)

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


# Networks as plain arrays, so that they can be stored without pickle.


def matrix_of_arrays(arrays: Mapping[str, Any]) -> tuple[csr_array, list[Label] | None]:
    """Return the adjacency and the labels that ``Network.arrays`` took apart."""
    try:
        weights, indices, indptr = (np.array(arrays[part]) for part in ("weights", "indices", "indptr"))
        matrix = csr_array((weights, indices, indptr), shape=(len(indptr) - 1,) * 2)
        matrix.check_format(full_check=True)
        return matrix, decode(np.asarray(arrays["labels"]))
    except NetworkError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        rule = "a stored network must hold fitting indptr, indices, weights and labels"
        raise refusal(rule, got=repr(error), remedy="store what network.arrays() returns") from None


def encode(labels: Sequence[Label]) -> NDArray[np.str_]:
    """Return the labels as one JSON text each, so that they can be stored without pickle.

    The default labels 0..n-1 become an empty array.

    >>> encode(["ann", 3, (0, 1)]).tolist()
    ['"ann"', '3', '[0, 1]']
    """
    if isinstance(labels, range):
        return np.array([], dtype=np.str_)
    return np.array([_json(label) for label in labels], dtype=np.str_)


def _json(label: Label) -> str:
    try:
        return json.dumps(label)
    except (TypeError, ValueError):
        rule = "labels that are stored must be numbers, text or tuples of them"
        remedy = "rename the agents with network.relabelled(...)"
        raise refusal(rule, got=repr(label), remedy=remedy) from None


def decode(texts: NDArray[np.str_]) -> list[Label] | None:
    """Undo ``encode``; None stands for the default labels."""
    try:
        return [_tupled(json.loads(str(text))) for text in np.ravel(texts)] or None
    except (ValueError, RecursionError):
        got = few(map(repr, np.ravel(texts).tolist()), np.size(texts))
        raise refusal("stored labels must be JSON", got=got, remedy="store network.arrays()") from None


def _tupled(value: object) -> Label:
    # JSON knows lists only, and a list can be no label: every list was a tuple.
    return tuple(_tupled(item) for item in value) if isinstance(value, list) else value


# Network: who listens to whom, and how much.

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Network:
    """A connected graph of agents with symmetric positive weights and no self-loops; it never changes.

    ``adjacency`` may be given as anything SciPy-sparse or as a dense matrix.  ``connected=False`` admits
    graphs in several pieces, for instance to take their ``largest_component()``.

    >>> Network([[0, 1, 0], [1, 0, 2], [0, 2, 0]], labels=["ann", "bob", "cat"])
    Network(3 agents, 2 weighted edges, bipartite, degrees 1–3)
    """

    adjacency: csr_array
    labels: Sequence[Label]

    def __init__(self, adjacency: Any, labels: Iterable[Label] | None = None, *, connected: bool = True) -> None:
        matrix = square(adjacency)
        names = checked_labels(labels, matrix.shape[0])
        checked = canonical(matrix, names)
        if connected:
            refuse_disconnected(checked, names)
            self.__dict__["is_connected"] = True
        object.__setattr__(self, "labels", names)
        object.__setattr__(self, "adjacency", _frozen_matrix(checked))

    @classmethod
    def from_networkx(cls, graph: Any, weight: str | None = "weight", *, connected: bool = True) -> Self:
        """Return the network of a NetworkX graph, its nodes kept as labels in their order.

        Edges without the attribute ``weight`` weigh 1, and with ``weight=None`` all do.  A directed graph
        must be symmetric, and parallel edges must agree.
        """
        matrix, labels = matrix_of_graph(graph, weight)
        return cls(matrix, labels, connected=connected)

    @classmethod
    def from_scipy(cls, matrix: Any, labels: Iterable[Label] | None = None, *, connected: bool = True) -> Self:
        """Return the network of a SciPy sparse matrix or array."""
        return cls(matrix, labels, connected=connected)

    @classmethod
    def from_edges(
        cls,
        edges: Edges,
        weights: ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        n: int | None = None,
        *,
        connected: bool = True,
    ) -> Self:
        """Return the network of an array of edges, or of pairs of labels.

        Integer NumPy arrays, as (m, 2) or as a tuple (sources, targets), hold positions 0..n-1, and
        ``labels`` then names the positions.  Any other pairs (or a tuple of two lists) hold labels
        themselves, ordered as in ``labels``, else by size when all are whole numbers, else by first
        appearance.

        >>> Network.from_edges([("ann", "bob"), ("bob", "cat")]).labels
        ('ann', 'bob', 'cat')
        """
        matrix, names = matrix_of_edges(edges, weights, labels, n)
        return cls(matrix, names, connected=connected)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Return the network that ``arrays()`` took apart."""
        matrix, labels = matrix_of_arrays(arrays)
        return cls(matrix, labels, connected=False)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the network as plain arrays that ``np.savez`` stores without pickle."""
        A = self.adjacency
        return {"indptr": A.indptr, "indices": A.indices, "weights": A.data, "labels": encode(self.labels)}

    @property
    def n(self) -> int:
        """The number of agents."""
        return int(self.adjacency.shape[0])

    @property
    def edge_count(self) -> int:
        """The number of edges."""
        return int(self.adjacency.nnz // 2)

    @cached_property
    def degrees(self) -> NDArray[np.float64]:
        """The sum of the weights at every agent, shape (n,)."""
        degrees: NDArray[np.float64] = self.adjacency.sum(axis=1)
        return _frozen(degrees)

    @cached_property
    def is_connected(self) -> bool:
        """Whether every agent reaches every other."""
        return is_connected(self.adjacency)

    @cached_property
    def sides(self) -> NDArray[np.bool_] | None:
        """The two sides of a bipartite network, shape (n,), or None when there is an odd cycle."""
        if self.is_connected:
            starts = np.zeros(1, dtype=np.int32)
        else:
            starts = np.unique(components(self.adjacency)[1], return_index=True)[1].astype(np.int32)
        sides = two_colouring(self.adjacency, starts)
        return None if sides is None else _frozen(sides)

    @property
    def is_bipartite(self) -> bool:
        """Whether the agents split into two sides with all edges between them."""
        return self.sides is not None

    @cached_property
    def is_weighted(self) -> bool:
        """Whether any weight differs from 1."""
        return bool(np.any(self.adjacency.data != 1))

    @cached_property
    def laplacian(self) -> csr_array:
        """The Laplacian D − A, with D the diagonal matrix of the degrees."""
        return _frozen_matrix((diags_array(self.degrees, format="csr") - self.adjacency).tocsr())

    @cached_property
    def _positions(self) -> dict[Label, int]:
        return {label: i for i, label in enumerate(self.labels)}

    def index(self, label: Label) -> int:
        """Return the position of the agent that bears this label."""
        return int(self.indices([label])[0])

    def indices(self, labels: Iterable[Label]) -> NDArray[np.int64]:
        """Return the positions of the agents that bear these labels, in their order.

        >>> Network([[0, 1], [1, 0]], labels=["ann", "bob"]).indices(["bob", "ann"])
        array([1, 0])
        """
        wanted = list(labels)
        found = [self._find(label) for label in wanted]
        missing = [label for label, i in zip(wanted, found, strict=True) if i is None]
        if missing:
            raise unknown(missing, self.labels)
        return np.array(found, dtype=np.int64)

    def _find(self, label: Label) -> int | None:
        if isinstance(self.labels, range):
            return position_in_range(label, self.n)
        try:
            return self._positions.get(label)
        except TypeError:
            return None

    def edges(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """Return every edge once, as positions i < j and weights."""
        rows = np.repeat(np.arange(self.n, dtype=self.adjacency.indices.dtype), np.diff(self.adjacency.indptr))
        once = rows < self.adjacency.indices
        return rows[once], self.adjacency.indices[once], self.adjacency.data[once]

    def neighbours(self, i: int) -> NDArray[np.int32]:
        """Return the positions of the neighbours of the agent at position i, in order."""
        if not 0 <= i < self.n:
            remedy = "for a label use network.index(label) first"
            raise refusal(f"positions of agents must lie in 0..{self.n - 1}", got=i, remedy=remedy)
        start, stop = self.adjacency.indptr[i : i + 2]
        found: NDArray[np.int32] = self.adjacency.indices[start:stop]
        return found

    def largest_component(self) -> Network:
        """Return the largest connected piece, labels kept; among equals the one with the earliest agent."""
        if self.is_connected:
            return self
        _, member = components(self.adjacency)
        return self._picked(np.flatnonzero(member == np.argmax(np.bincount(member))))

    def permuted(self, order: ArrayLike) -> Network:
        """Return the same network with the agent at position ``order[k]`` moved, label and all, to k."""
        picked = np.asarray(order)
        if not np.array_equal(np.sort(picked, axis=None), np.arange(self.n)):
            remedy = "for new names use relabelled(labels)"
            rule = f"an order must hold each of 0..{self.n - 1} once"
            raise refusal(rule, got=np.array2string(picked, threshold=6), remedy=remedy)
        return self._picked(picked)

    def _picked(self, rows: NDArray[Any]) -> Network:
        names = [self.labels[i] for i in rows.tolist()]
        return Network(self.adjacency[rows][:, rows], names, connected=len(rows) < self.n or self.is_connected)

    def relabelled(self, labels: Iterable[Label] | None) -> Network:
        """Return the same network under other labels; None gives 0..n-1."""
        return Network(self.adjacency, labels, connected=self.is_connected)

    def to_networkx(self) -> Any:
        """Return a NetworkX graph with the labels as nodes, and ``weight`` on edges if any differs from 1."""
        import networkx as nx

        graph = nx.Graph()
        graph.add_nodes_from(self.labels)
        ends = ([self.labels[i] for i in side.tolist()] for side in self.edges()[:2])
        if self.is_weighted:
            graph.add_weighted_edges_from(zip(*ends, self.edges()[2].tolist(), strict=True))
        else:
            graph.add_edges_from(zip(*ends, strict=True))
        return graph

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Pickle and deepcopy forget that arrays are read-only.
        self.__dict__.update(state)
        _frozen_matrix(self.adjacency)
        for cached in ("degrees", "sides"):
            if self.__dict__.get(cached) is not None:
                _frozen(self.__dict__[cached])

    def __repr__(self) -> str:
        low, high = self.degrees.min(), self.degrees.max()
        edges = f"{'weighted ' if self.is_weighted else ''}edge{'s' * (self.edge_count != 1)}"
        facts = [
            f"{self.n:,} agents",
            f"{self.edge_count:,} {edges}",
            "bipartite" if self.is_bipartite else "non-bipartite",
            f"degree {low:.6g}" if low == high else f"degrees {low:.6g}–{high:.6g}",
        ]
        if not self.is_connected:
            facts.append(f"{components(self.adjacency)[0]:,} components")
        return f"Network({', '.join(facts)})"


def _frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    array.flags.writeable = False
    return array


def _frozen_matrix(matrix: csr_array) -> csr_array:
    for part in (matrix.data, matrix.indices, matrix.indptr):
        _frozen(part)
    return matrix
