"""Network: who listens to whom, and how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array

from peerpressure.networks.connectivity import components, is_connected, two_colouring
from peerpressure.networks.edges import Edges, matrix_of_edges, matrix_of_graph
from peerpressure.networks.labels import Label, checked_labels, position_in_range, unknown
from peerpressure.networks.refusal import refusal
from peerpressure.networks.rules import canonical, refuse_disconnected, square
from peerpressure.networks.storage import encode, matrix_of_arrays

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
