"""The static network: an undirected, weighted graph of agents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array

from peerpressure.errors import first_few
from peerpressure.networks._adjacency import (
    Edges,
    adjacency_from_arrays,
    adjacency_from_edges,
    adjacency_from_graph,
    components,
    is_connected,
    labels_to_json,
    two_colouring,
)
from peerpressure.networks._validation import (
    Label,
    canonical_adjacency,
    labelled_square,
    network_error,
    position_in_range,
    unknown_labels,
)

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Network:
    """Undirected connected graph of agents with positive edge weights and no self-loops.

    A network is immutable, and so are its arrays.

    Parameters
    ----------
    adjacency : array_like, sparse array or data frame, shape (n, n)
        Symmetric matrix of non-negative weights with a zero diagonal; 0 means no edge.  Weights that differ from their
        mirror image by rounding errors only are replaced by the mean.
    labels : iterable of hashable, optional
        One distinct label per agent; by default those of the data frame, else 0..n-1.
    connected : bool, default True
        If False, the graph may have several connected components or isolated agents.

    Attributes
    ----------
    adjacency : csr_array, shape (n, n)
        The weights A_ij, with sorted indices and without stored zeros.
    labels : sequence
        The labels in the order of the rows; ``range(n)`` by default.

    Raises
    ------
    NetworkError
        If the matrix is not square and symmetric, a weight is negative or not finite, an agent has a self-loop, labels
        repeat, or the graph is not connected although ``connected`` is True.

    See Also
    --------
    TemporalNetwork : A network whose edges change from step to step.
    read_network : Read a network from a file.

    Examples
    --------
    >>> from peerpressure import Network
    >>> Network([[0, 1, 0], [1, 0, 2], [0, 2, 0]], labels=["ann", "bob", "cat"])
    Network(3 agents, 2 weighted edges, bipartite, degrees 1–3)
    """

    adjacency: csr_array
    labels: Sequence[Label]

    def __init__(self, adjacency: Any, labels: Iterable[Label] | None = None, *, connected: bool = True) -> None:
        matrix, names = labelled_square(adjacency, labels)
        checked = canonical_adjacency(matrix, names)
        if connected:
            check_connected(checked, names)
            self.__dict__["is_connected"] = True  # fills the cached property
        # The dataclass is frozen, so fields are set past its own __setattr__.
        object.__setattr__(self, "labels", names)
        object.__setattr__(self, "adjacency", _frozen_matrix(checked))

    @classmethod
    def from_networkx(cls, graph: Any, weight: str | None = "weight", *, connected: bool = True) -> Self:
        """Return the network of a NetworkX or igraph graph, with its nodes as labels in their order.

        Parameters
        ----------
        graph : networkx.Graph or igraph.Graph
            A directed graph must be symmetric, and parallel edges must have equal weights.  Vertices of igraph are
            labelled by their attribute ``name`` if they have one.
        weight : str or None, default "weight"
            Edge attribute that holds the weights; edges without it have weight 1.  None sets all weights to 1.
        connected : bool, default True
            If False, the graph may have several connected components.

        Returns
        -------
        Network
            The graph without attributes other than weights.

        Raises
        ------
        NetworkError
            If the graph is not symmetric, has loops, negative weights or no edges, or is not connected.

        Examples
        --------
        >>> import networkx as nx
        >>> from peerpressure import Network
        >>> Network.from_networkx(nx.path_graph(4))
        Network(4 agents, 3 edges, bipartite, degrees 1–2)
        """
        matrix, labels = adjacency_from_graph(graph, weight)
        return cls(matrix, labels, connected=connected)

    @classmethod
    def from_scipy(cls, matrix: Any, labels: Iterable[Label] | None = None, *, connected: bool = True) -> Self:
        """Return the network of a SciPy sparse matrix or array.

        Parameters
        ----------
        matrix : scipy.sparse matrix or array, shape (n, n)
            Symmetric weights of the edges, at least 0, with a zero diagonal.
        labels : iterable of hashable, optional
            One distinct label per agent; by default 0..n-1.
        connected : bool, default True
            If False, the graph may have several connected components.

        Returns
        -------
        Network
            The network of these weights.

        Raises
        ------
        NetworkError
            If the matrix is not valid as an adjacency matrix, or the graph not connected.

        Examples
        --------
        >>> from scipy.sparse import coo_array
        >>> from peerpressure import Network
        >>> Network.from_scipy(coo_array([[0, 1], [1, 0]]))
        Network(2 agents, 1 edge, bipartite, degree 1)
        """
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
        """Return the network of a list of edges.

        Parameters
        ----------
        edges : array of int, shape (m, 2), pair of arrays, iterable of pairs, or data frame
            Integer NumPy arrays, of shape (m, 2) or as a tuple (sources, targets), hold positions 0..n-1.  All other
            pairs, a tuple of two lists, or a data frame, hold labels.  Columns of a data frame are identified by their
            names, as `read_network` does: source, target and weight, and other usual names.
        weights : array_like, shape (m,), optional
            Weights of the edges; by default 1.
        labels : iterable of hashable, optional
            Labels in the order of the agents.  By default integers are sorted, and other labels are in the order of
            their first appearance.
        n : int, optional
            Number of agents, for edges by position if the last agents are isolated.
        connected : bool, default True
            If False, the graph may have several connected components.

        Returns
        -------
        Network
            The network of these edges.

        Raises
        ------
        NetworkError
            If an edge is a loop, is given twice with different weights, or has a negative weight; if labels do not fit
            the edges, or the graph is not connected. An edge of weight 0 is left out.

        Examples
        --------
        >>> from peerpressure import Network
        >>> Network.from_edges([("ann", "bob"), ("bob", "cat")]).labels
        ('ann', 'bob', 'cat')
        >>> import pandas as pd
        >>> Network.from_edges(pd.DataFrame({"weight": [1, 2], "from": ["ann", "bob"], "to": ["bob", "cat"]}))
        Network(3 agents, 2 weighted edges, bipartite, degrees 1–3)
        """
        matrix, names = adjacency_from_edges(edges, weights, labels, n)
        return cls(matrix, names, connected=connected)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Return the network stored in the arrays that `arrays` returns.

        Parameters
        ----------
        arrays : mapping of str to array
            What `arrays` returned.

        Returns
        -------
        Network
            An equal network, connected or not.

        Raises
        ------
        NetworkError
            If an array is missing or not valid.
        """
        matrix, labels = adjacency_from_arrays(arrays)
        # A stored network may have several components; requiring more here would make some networks unreadable.
        return cls(matrix, labels, connected=False)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the network as plain arrays that ``np.savez`` stores without pickle.

        Returns
        -------
        dict of str to array
            ``indptr``, ``indices`` and ``weights`` of the adjacency matrix in CSR format, and ``labels`` as JSON text.
        """
        A = self.adjacency
        return {"indptr": A.indptr, "indices": A.indices, "weights": A.data, "labels": labels_to_json(self.labels)}

    @property
    def n(self) -> int:
        """Number of agents."""
        return int(self.adjacency.shape[0])

    @property
    def edge_count(self) -> int:
        """Number of edges."""
        return int(self.adjacency.nnz // 2)

    @cached_property
    def degrees(self) -> NDArray[np.float64]:
        """Weighted degrees d_i = Σ_j A_ij, shape (n,)."""
        # Cached arrays are shared with every caller, so they are read-only.
        degrees: NDArray[np.float64] = self.adjacency.sum(axis=1)
        return _frozen(degrees)

    @cached_property
    def is_connected(self) -> bool:
        """Whether there is a path between any two agents."""
        return is_connected(self.adjacency)

    @cached_property
    def sides(self) -> NDArray[np.bool_] | None:
        """Two-colouring of a bipartite network, shape (n,), or None if there is an odd cycle."""
        # A connected graph, the usual case, needs no labelling of components.
        if self.is_connected:
            starts = np.zeros(1, dtype=np.int32)
        else:
            starts = np.unique(components(self.adjacency)[1], return_index=True)[1].astype(np.int32)
        sides = two_colouring(self.adjacency, starts)
        return None if sides is None else _frozen(sides)

    @property
    def is_bipartite(self) -> bool:
        """Whether the agents form two sets such that every edge links one set with the other."""
        return self.sides is not None

    @cached_property
    def is_weighted(self) -> bool:
        """Whether any weight differs from 1."""
        return bool(np.any(self.adjacency.data != 1))

    @cached_property
    def laplacian(self) -> csr_array:
        """Laplacian L = D − A, with D the diagonal matrix of the degrees, shape (n, n)."""
        return _frozen_matrix((diags_array(self.degrees, format="csr") - self.adjacency).tocsr())

    @cached_property
    def _positions(self) -> dict[Label, int]:
        return {label: i for i, label in enumerate(self.labels)}

    def index(self, label: Label) -> int:
        """Return the position of the agent with this label.

        Parameters
        ----------
        label : hashable
            One of ``labels``.

        Returns
        -------
        int
            Position, from 0 to n − 1.

        Raises
        ------
        NetworkError
            If no agent has the label.
        """
        return int(self.indices([label])[0])

    def indices(self, labels: Iterable[Label]) -> NDArray[np.int64]:
        """Return the positions of the agents with these labels, in the order of the labels.

        Parameters
        ----------
        labels : iterable of hashable
            Any of ``labels``, in any order.

        Returns
        -------
        array of int
            Positions, from 0 to n − 1.

        Raises
        ------
        NetworkError
            If no agent has one of the labels.

        Examples
        --------
        >>> from peerpressure import Network
        >>> Network([[0, 1], [1, 0]], labels=["ann", "bob"]).indices(["bob", "ann"])
        array([1, 0])
        """
        wanted = list(labels)
        found = [self._find(label) for label in wanted]
        missing = [label for label, i in zip(wanted, found, strict=True) if i is None]
        if missing:
            raise unknown_labels(missing, self.labels)
        return np.array(found, dtype=np.int64)

    def _find(self, label: Label) -> int | None:
        # Default labels need no dictionary, which for a million agents is large and slow to build.
        if isinstance(self.labels, range):
            return position_in_range(label, self.n)
        try:
            # An unhashable label cannot be in a dictionary, so it is unknown.
            return self._positions.get(label)
        except TypeError:
            return None

    def edges(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """Return every edge once, as positions i < j and weights.

        Returns
        -------
        i, j : array of int, shape (edges,)
            Positions of the two agents, i < j.
        weights : array of float, shape (edges,)
            Weights of the edges, above 0.

        Examples
        --------
        >>> from peerpressure import Network
        >>> i, j, weights = Network([[0, 1, 0], [1, 0, 2], [0, 2, 0]]).edges()
        >>> i.tolist(), j.tolist(), weights.tolist()
        ([0, 1], [1, 2], [1.0, 2.0])
        """
        # The matrix holds both directions; keep the upper triangle.
        rows = np.repeat(np.arange(self.n, dtype=self.adjacency.indices.dtype), np.diff(self.adjacency.indptr))
        once = rows < self.adjacency.indices
        return rows[once], self.adjacency.indices[once], self.adjacency.data[once]

    def neighbours(self, i: int) -> NDArray[np.int32]:
        """Return the positions of the neighbours of the agent at position i, in increasing order.

        Parameters
        ----------
        i : int
            Position of an agent, from 0 to n − 1.

        Returns
        -------
        array of int, shape (neighbours,)
            Positions; a read-only view.

        Raises
        ------
        NetworkError
            If no agent has this position.
        """
        if not 0 <= i < self.n:
            remedy = "for a label use network.index(label) first"
            raise network_error(f"positions of agents must lie in 0..{self.n - 1}", got=i, remedy=remedy)
        # A slice of the CSR indices is a view: no copy, and read-only as they are.
        start, stop = self.adjacency.indptr[i : i + 2]
        found: NDArray[np.int32] = self.adjacency.indices[start:stop]
        return found

    def largest_component(self) -> Network:
        """Return the largest connected component with its labels; the one with the first agent in case of a tie.

        Returns
        -------
        Network
            The component, connected; the network itself if it is connected.

        Examples
        --------
        >>> from peerpressure import Network
        >>> Network.from_edges([("a", "b"), ("b", "c"), ("d", "e")], connected=False).largest_component().labels
        ('a', 'b', 'c')
        """
        if self.is_connected:
            return self
        _, member = components(self.adjacency)
        # argmax takes the first of equal sizes, and components are numbered by their first agents.
        return self._picked(np.flatnonzero(member == np.argmax(np.bincount(member))))

    def permuted(self, order: ArrayLike) -> Network:
        """Return the same network with the agent at position ``order[k]``, and its label, at position k.

        Parameters
        ----------
        order : array_like of int, shape (n,)
            Each of the positions 0..n-1 once.

        Returns
        -------
        Network
            The same graph in another order.

        Raises
        ------
        NetworkError
            If ``order`` does not hold each position once.
        """
        picked = np.asarray(order)
        if not np.array_equal(np.sort(picked, axis=None), np.arange(self.n)):
            remedy = "for new names use relabelled(labels)"
            rule = f"an order must hold each of 0..{self.n - 1} once"
            raise network_error(rule, got=np.array2string(picked, threshold=6), remedy=remedy)
        return self._picked(picked)

    def _picked(self, rows: NDArray[Any]) -> Network:
        # Fewer rows than agents are one component, which is connected.
        names = [self.labels[i] for i in rows.tolist()]
        return Network(self.adjacency[rows][:, rows], names, connected=len(rows) < self.n or self.is_connected)

    def relabelled(self, labels: Iterable[Label] | None) -> Network:
        """Return the same network with other labels; None gives 0..n-1.

        Parameters
        ----------
        labels : iterable of hashable or None
            One distinct label per agent.

        Returns
        -------
        Network
            The same graph with these labels.

        Raises
        ------
        NetworkError
            If labels are too few, too many, or not distinct.
        """
        return Network(self.adjacency, labels, connected=self.is_connected)

    def to_networkx(self) -> Any:
        """Return a NetworkX graph with the labels as nodes, and ``weight`` on edges if any differs from 1.

        Returns
        -------
        networkx.Graph
            An undirected graph.
        """
        # Imported here, so that networks load fast.
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
        # Pickle and deepcopy do not keep the read-only flag of arrays.
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


CONNECT = "join them, or build with connected=False and take largest_component()"


def check_connected(adjacency: csr_array, labels: Sequence[Label], remedy: str = CONNECT) -> None:
    """Raise if an agent is isolated or the graph has several connected components."""
    isolated = np.flatnonzero(np.diff(adjacency.indptr) == 0)
    if isolated.size:
        got = f"none for {first_few((repr(labels[i]) for i in isolated.tolist()), len(isolated))}"
        raise network_error("every agent must have a neighbour", got=got, remedy=remedy)
    if not is_connected(adjacency):
        count, member = components(adjacency)
        got = f"{count} components of sizes {first_few(np.sort(np.bincount(member))[::-1], count)}"
        raise network_error("a network must be connected", got=got, remedy=remedy)


def _frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    array.flags.writeable = False
    return array


def _frozen_matrix(matrix: csr_array) -> csr_array:
    for part in (matrix.data, matrix.indices, matrix.indptr):
        _frozen(part)
    return matrix
