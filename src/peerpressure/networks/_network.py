"""The static network: a weighted graph of agents, which may be directed and signed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array

from peerpressure.errors import NetworkError
from peerpressure.networks._adjacency import (
    Edges,
    adjacency_from_arrays,
    adjacency_from_edges,
    adjacency_from_graph,
    labels_from_json,
    labels_to_json,
    reverses,
)
from peerpressure.networks.chain import Positions, closed_classes, split_by_label
from peerpressure.networks.classes import (
    camps,
    components,
    is_colouring,
    left_null_vector,
    odd_depths,
    odd_in_tree,
    parents_from_first,
)
from peerpressure.networks.topics import product, topic_matrix, topic_names
from peerpressure.networks.validation import (
    Direction,
    Label,
    PairLabels,
    canonical_adjacency,
    chosen_labels,
    labelled_square,
    position_in_range,
    unknown_labels,
)
from peerpressure.support.parameters import composed, is_labelled, values_in_order
from peerpressure.support.text import curve, html_sketch, html_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Network:
    """Graph of agents with edge weights and no self-loops: undirected or directed, unsigned or signed.

    Row i of the adjacency matrix holds whom agent i listens to. A network is immutable, and so are its arrays.

    Parameters
    ----------
    adjacency : array_like, sparse array or data frame, shape (n, n)
        Matrix of weights with a zero diagonal; 0 means no edge. It must be symmetric unless ``directed``, and have no
        negative weight unless ``signed``. Weights that differ from their mirror image by rounding errors only are
        replaced by the mean.
    labels : iterable of hashable, optional
        One distinct label per agent; by default those of the data frame, else 0..n-1.
    directed : bool, default False
        Whether a_ij and a_ji may differ: a_ij is the weight with which agent i listens to agent j.
    signed : bool, default False
        Whether weights may be negative, for distrust: the agent then moves away from the opinion of the other, towards
        its negative [1]_.

    Attributes
    ----------
    adjacency : csr_array, shape (n, n)
        The weights A_ij, with sorted indices and without stored zeros.
    labels : sequence
        The labels in the order of the rows; ``range(n)`` by default.
    directed, signed : bool
        Whether the matrix is not symmetric, and whether a weight is negative; both are facts, not permissions.

    Raises
    ------
    NetworkError
        If the matrix is not square, a weight is not finite, an agent has a self-loop, labels repeat, or it is
        asymmetric or has a negative weight without the permission.

    See Also
    --------
    TemporalNetwork : A network whose edges change from step to step.
    read_network : Read a network from a file.

    References
    ----------
    .. [1] C. Altafini, "Consensus problems on networks with antagonistic interactions", IEEE Trans. Autom. Control 58
       (2013).

    Examples
    --------
    >>> from peerpressure import Network
    >>> Network([[0, 1, 0], [1, 0, 2], [0, 2, 0]], labels=["ann", "bob", "cat"])
    Network(3 agents, 2 weighted edges, bipartite, degrees 1–3)
    >>> Network([[0, 1, 0], [0, 0, 1], [1, 0, 0]], directed=True)
    Network(3 agents, 3 directed edges, one closed class, degree 1)
    """

    adjacency: csr_array
    labels: Sequence[Label]
    directed: bool
    signed: bool

    def __init__(
        self,
        adjacency: Any,
        labels: Iterable[Label] | None = None,
        *,
        directed: bool = False,
        signed: bool = False,
    ) -> None:
        matrix, names = labelled_square(adjacency, labels)
        checked = canonical_adjacency(matrix, names, directed=directed, signed=signed)
        # The dataclass is frozen, so fields are set past its own __setattr__.
        object.__setattr__(self, "labels", names)
        object.__setattr__(self, "adjacency", _frozen_matrix(checked))
        # A matrix that is symmetric after all is not directed, and gives the same results as without the permission.
        object.__setattr__(self, "directed", directed and not _is_symmetric(checked))
        object.__setattr__(self, "signed", bool(checked.nnz and checked.data.min() < 0))

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        weight: str | None = "weight",
        *,
        signed: bool = False,
        direction: Direction = "listens",
    ) -> Self:
        """Return the network of a NetworkX or igraph graph, with its nodes as labels in their order.

        Parameters
        ----------
        graph : networkx.Graph or igraph.Graph
            A directed graph gives a directed network, unless it is symmetric. Parallel edges must have equal weights
            and count once, with a warning. Vertices of igraph are labelled by their attribute ``name`` if they have
            one.
        weight : str or None, default "weight"
            Edge attribute that holds the weights; edges without it have weight 1.  None sets all weights to 1. An edge
            must have an attribute that is named here.
        signed : bool, default False
            Whether weights may be negative.
        direction : {"listens", "influences"}, default "listens"
            Meaning of an edge of a directed graph: its source listens to its target, or influences it.

        Returns
        -------
        Network
            The graph without attributes other than weights.

        Raises
        ------
        NetworkError
            If the graph has loops, or negative weights without ``signed``.

        Examples
        --------
        >>> import networkx as nx
        >>> from peerpressure import Network
        >>> Network.from_networkx(nx.path_graph(4))
        Network(4 agents, 3 edges, bipartite, degrees 1–2)
        >>> Network.from_networkx(nx.DiGraph([("ann", "bob")])).neighbours(0)  # ann listens to bob
        array([1], dtype=int32)
        """
        matrix, labels = adjacency_from_graph(graph, weight)
        directed = graph.is_directed()
        matrix = matrix.T if reverses(direction, directed=directed) else matrix
        return cls(matrix, labels, directed=directed, signed=signed)

    @classmethod
    def from_scipy(
        cls,
        matrix: Any,
        labels: Iterable[Label] | None = None,
        *,
        directed: bool = False,
        signed: bool = False,
    ) -> Self:
        """Return the network of a SciPy sparse matrix or array, whose row i holds whom agent i listens to.

        Parameters
        ----------
        matrix : scipy.sparse matrix or array, shape (n, n)
            Weights of the edges, with a zero diagonal.
        labels : iterable of hashable, optional
            One distinct label per agent; by default 0..n-1.
        directed : bool, default False
            Whether the matrix may be asymmetric.
        signed : bool, default False
            Whether weights may be negative.

        Returns
        -------
        Network
            The network of these weights.

        Raises
        ------
        NetworkError
            If the matrix is not valid as an adjacency matrix.

        Examples
        --------
        >>> from scipy.sparse import coo_array
        >>> from peerpressure import Network
        >>> Network.from_scipy(coo_array([[0, 1], [1, 0]]))
        Network(2 agents, 1 edge, bipartite, degree 1)
        """
        return cls(matrix, labels, directed=directed, signed=signed)

    @classmethod
    def from_edges(
        cls,
        edges: Edges,
        weights: ArrayLike | None = None,
        labels: Iterable[Label] | None = None,
        n: int | None = None,
        *,
        directed: bool = False,
        signed: bool = False,
        direction: Direction = "listens",
    ) -> Self:
        """Return the network of a list of edges.

        Parameters
        ----------
        edges : array of int, shape (m, 2), pair of arrays, iterable of pairs or triples, or data frame
            Integer NumPy arrays, of shape (m, 2) or as a tuple (sources, targets), hold positions 0..n-1.  All other
            pairs, triples (source, target, weight), a tuple of two lists, or a data frame, hold labels.  Where only
            some edges have a weight, the others have weight 1, and a triple may have NetworkX's dictionary of
            attributes in the place of its weight.  Columns of a data frame are identified by their names, as
            `read_network` does: source, target and weight, and other usual names.
        weights : array_like, shape (m,), optional
            Weights of the edges, if they are not among the edges; by default 1.
        labels : iterable of hashable, optional
            Labels in the order of the agents.  By default integers are sorted, and other labels are in the order of
            their first appearance.
        n : int, optional
            Number of agents, for edges by position if the last agents are isolated.
        directed : bool, default False
            Whether an edge goes from its source to its target only.
        signed : bool, default False
            Whether weights may be negative.
        direction : {"listens", "influences"}, default "listens"
            Meaning of a directed edge: its source listens to its target, or influences it.

        Returns
        -------
        Network
            The network of these edges.

        Raises
        ------
        NetworkError
            If an edge is a loop, is given twice with different weights, or has a negative weight; if labels do not fit
            the edges. An edge of weight 0 is left out. An undirected edge may be given in both directions; one that is
            given more than once in the same direction counts once, with a warning.

        Examples
        --------
        >>> from peerpressure import Network
        >>> Network.from_edges([("ann", "bob"), ("bob", "cat")]).labels
        ('ann', 'bob', 'cat')
        >>> Network.from_edges([("ann", "bob", 2.0), ("bob", "cat", 0.5)]).degrees
        array([2. , 2.5, 0.5])
        >>> import pandas as pd
        >>> Network.from_edges(pd.DataFrame({"weight": [1, 2], "from": ["ann", "bob"], "to": ["bob", "cat"]}))
        Network(3 agents, 2 weighted edges, bipartite, degrees 1–3)
        """
        matrix, names = adjacency_from_edges(edges, weights, labels, n, directed=directed)
        matrix = matrix.T if reverses(direction, directed=directed) else matrix
        return cls(matrix, names, directed=directed, signed=signed)

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
        matrix, names = adjacency_from_arrays(arrays)
        # A stored network may be of any kind; requiring more here would make some networks unreadable.
        topics = labels_from_json(np.asarray(arrays.get("topics", []), dtype=np.str_))
        labels = PairLabels(names or range(matrix.shape[0] // len(topics)), tuple(topics)) if topics else names
        return cls(matrix, labels, directed=True, signed=True)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the network as plain arrays that ``np.savez`` stores without pickle.

        Returns
        -------
        dict of str to array
            ``indptr``, ``indices`` and ``weights`` of the adjacency matrix in CSR format, and ``labels`` of the agents
            as JSON text; ``topics`` as well if there are any.
        """
        A = self.adjacency
        arrays = {"indptr": A.indptr, "indices": A.indices, "weights": A.data, "labels": labels_to_json(self.agents)}
        return arrays | ({"topics": labels_to_json(self.topics)} if self.topics else {})

    @property
    def n(self) -> int:
        """Number of agents."""
        return int(self.adjacency.shape[0])

    @property
    def size(self) -> str:
        """Number of agents, and of topics if there are any, in words."""
        k = len(self.topics)
        return f"{self.n // k:,} agents on {k:,} topic{'s' * (k != 1)}" if k else f"{self.n:,} agents"

    @property
    def edge_count(self) -> int:
        """Number of edges; those of a directed network count in each direction."""
        return int(self.adjacency.nnz // (1 if self.directed else 2))

    @cached_property
    def degrees(self) -> NDArray[np.float64]:
        """Weighted degrees d_i = Σ_j |A_ij|, the weight with which i listens to others, shape (n,)."""
        # Cached arrays are shared with every caller, so they are read-only.
        degrees: NDArray[np.float64] = (abs(self.adjacency) if self.signed else self.adjacency).sum(axis=1)
        return _frozen(degrees)

    @cached_property
    def transposed(self) -> csr_array:
        """The transpose of the adjacency: row j holds who listens to agent j; the adjacency itself if symmetric."""
        return _frozen_matrix(csr_array(self.adjacency.T)) if self.directed else self.adjacency

    @property
    def mutual(self) -> csr_array:
        """Symmetric matrix with an entry for every pair of agents of whom one listens to the other."""
        return csr_array(abs(self.adjacency) + abs(self.adjacency.T)) if self.directed else self.adjacency

    @cached_property
    def is_connected(self) -> bool:
        """Whether there is a path between any two agents, whatever its direction."""
        # The first agent has no parent, and nobody else lacks one.
        return int(np.count_nonzero(self._parents < 0)) == 1

    @cached_property
    def _parents(self) -> NDArray[np.int32]:
        """Parents in a breadth-first tree from the first agent: of use to connectivity and to two-colouring."""
        return parents_from_first(self.mutual)

    @property
    def is_simple(self) -> bool:
        """Whether the network is connected, symmetric and without negative weights, as that of the paper."""
        return self.is_connected and not (self.directed or self.signed)

    def components(self) -> list[Positions]:
        """Return the agents of each (weakly) connected component as positions, the largest component first.

        Returns
        -------
        list of arrays of int
            Positions of the agents of each component.

        Examples
        --------
        >>> from peerpressure import Network
        >>> Network.from_edges([(0, 3), (1, 2), (2, 4)]).components()
        [array([1, 2, 4]), array([0, 3])]
        """
        count, member = components(self.adjacency)
        return sorted(split_by_label(member, count), key=len, reverse=True)

    @cached_property
    def closed_classes(self) -> list[Positions]:
        """The closed classes: agents who listen to each other, directly or through others, and to nobody else.

        They are given as positions, the largest first. Under growing pressure each converges to a value of its own, and
        all other agents to a mixture of these. A connected undirected network is one closed class.

        Examples
        --------
        >>> from peerpressure import Network
        >>> Network([[0, 1, 0], [1, 0, 0], [1, 1, 0]], directed=True).closed_classes  # nobody listens to the third
        [array([0, 1])]
        """
        return [_frozen(agents) for agents in closed_classes(self.adjacency)]

    @property
    def is_strongly_connected(self) -> bool:
        """Whether all agents listen to each other, directly or through others: they are one closed class."""
        return self.closed_classes[0].size == self.n if self.directed else self.is_connected

    @cached_property
    def left_null_vector(self) -> NDArray[np.float64]:
        """Weights ℓ ≥ 0 with ℓᵀ(D − |A|) = 0 and Σ ℓd = Σ d over each closed class, 0 elsewhere; shape (n,).

        An opinion counts in the value of its closed class by the weight ℓs. On an undirected network ℓ = 1.
        """
        if not self.directed:
            return _frozen(np.ones(self.n))
        return _frozen(left_null_vector(abs(self.adjacency), self.closed_classes))

    @cached_property
    def camps(self) -> NDArray[np.int8]:
        """The camp of each agent, 1 or −1, shape (n,); 0 in components that are not structurally balanced.

        In a balanced component weights are positive inside of a camp and negative between the two [1]_. Without
        negative weights all agents are in camp 1.

        References
        ----------
        .. [1] F. Harary, "On the notion of balance of a signed graph", Michigan Math. J. 2 (1953).

        Examples
        --------
        >>> from peerpressure import Network
        >>> Network([[0, 1, -1], [1, 0, -2], [-1, -2, 0]], signed=True).camps
        array([ 1,  1, -1], dtype=int8)
        """
        return _frozen(camps(self.adjacency, directed=self.directed) if self.signed else np.ones(self.n, dtype=np.int8))

    @property
    def is_balanced(self) -> bool:
        """Whether every component is structurally balanced, as all are that have no negative weights."""
        return bool(np.all(self.camps))

    @cached_property
    def sides(self) -> NDArray[np.bool_] | None:
        """Two-colouring of a bipartite network, shape (n,), or None if it is directed or has an odd cycle."""
        if self.directed:
            return None
        # A connected graph, the usual case, needs no labelling of components.
        if self.is_connected:
            sides = odd_in_tree(self._parents, 0)
        else:
            starts = np.unique(components(self.adjacency)[1], return_index=True)[1].astype(np.int32)
            sides = odd_depths(self.adjacency, starts)
        return _frozen(sides) if is_colouring(self.adjacency, sides) else None

    @property
    def is_bipartite(self) -> bool:
        """Whether an undirected network has two sets of agents such that every edge links one with the other."""
        return self.sides is not None

    @cached_property
    def is_weighted(self) -> bool:
        """Whether any weight differs from 1."""
        return bool(np.any(self.adjacency.data != 1))

    @cached_property
    def laplacian(self) -> csr_array:
        """Laplacian L = D − A, with D the diagonal matrix of the degrees Σ|a|, shape (n, n)."""
        return _frozen_matrix((diags_array(self.degrees, format="csr") - self.adjacency).tocsr())

    @cached_property
    def _positions(self) -> dict[Label, int]:
        return {label: i for i, label in enumerate(self.agents)}

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
            If no agent has the label, or it is that of an agent with several topics.
        """
        positions = self.indices([label])
        if positions.size > 1:
            rule, remedy = "a label must name one topic of the agent", f"one is {(label, self.topics[0])!r}"
            raise NetworkError(rule, got=repr(label), remedy=remedy)
        return int(positions[0])

    def indices(self, labels: Iterable[Label]) -> NDArray[np.int64]:
        """Return the positions of the agents with these labels, in the order of the labels.

        Parameters
        ----------
        labels : iterable of hashable
            Any of ``labels``, in any order. On a network with topics, the label of an agent stands for all of its
            topics.

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
        if self.topics:
            wanted = [pair for label in wanted for pair in self._pairs_of(label)]
        positions = [self._find(label) for label in wanted]
        missing = [label for label, i in zip(wanted, positions, strict=True) if i is None]
        if missing:
            raise unknown_labels(missing, self.labels)
        return np.array(positions, dtype=np.int64)

    def _pairs_of(self, label: Label) -> list[Label]:
        return [label] if self._find_agent(label) is None else [(label, topic) for topic in self.topics]

    def _find(self, label: Label) -> int | None:
        if not self.topics:
            return self._find_agent(label)
        if not isinstance(label, tuple) or len(label) != 2 or composed(label[1]) not in self.topics:
            return None
        agent = self._find_agent(label[0])
        return None if agent is None else agent * len(self.topics) + self.topics.index(composed(label[1]))

    def _find_agent(self, label: Label) -> int | None:
        # Default labels need no dictionary, which for a million agents is large and slow to build.
        if isinstance(self.agents, range):
            return position_in_range(label, len(self.agents))
        try:
            # An unhashable label cannot be in a dictionary, so it is unknown.
            return self._positions.get(composed(label))
        except TypeError:
            return None

    def edges(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """Return every edge once, as positions i < j and weights; of a directed network, i listens to j.

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
        # A symmetric matrix holds both directions; keep the upper triangle.
        rows = np.repeat(np.arange(self.n, dtype=self.adjacency.indices.dtype), np.diff(self.adjacency.indptr))
        once = np.ones(rows.size, dtype=np.bool_) if self.directed else rows < self.adjacency.indices
        return rows[once], self.adjacency.indices[once], self.adjacency.data[once]

    @property
    def edge_rows(self) -> int:
        """The number of rows of ``edge_columns``."""
        return self.edge_count

    def edge_columns(self) -> dict[str, Any]:
        """Return every edge once, as the columns of a table.

        Returns
        -------
        dict of str to list or array
            ``source`` and ``target`` with labels, and ``weight``; the source of a directed edge listens to its target.

        Examples
        --------
        >>> from peerpressure import Network
        >>> Network([[0, 1], [1, 0]], labels=["ann", "bob"]).edge_columns()["target"]
        ['bob']
        """
        i, j, weights = self.edges()
        return {"source": chosen_labels(self.labels, i), "target": chosen_labels(self.labels, j), "weight": weights}

    def plot(self, ax: Axes | None = None, values: ArrayLike | Mapping[Label, float] | None = None) -> Axes:
        """Draw the network: dots sized by degree, lines for edges, dashed where a weight is negative.

        Arrows go from an agent to the one that it listens to, where that is not mutual.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes of pyplot by default.
        values : array_like of shape (n,) or mapping, optional
            Numbers that colour the agents, such as hidden opinions, in their order or by label.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        NetworkError
            If there is not one number for each agent.

        Examples
        --------
        >>> from peerpressure.networks import cycle
        >>> axes = cycle(5).plot()
        >>> len(axes.texts)
        5
        """
        from peerpressure.plotting.results import node_link

        given = values_in_order(values, self.labels) if is_labelled(values) else values
        shades = None if given is None else np.asarray(given, dtype=np.float64)
        if shades is not None and shades.shape != (self.n,):
            remedy = "give them in the order of network.labels, or by label"
            raise NetworkError("there must be one value for each agent", got=f"shape {shades.shape}", remedy=remedy)
        first, second, one_way, negative = self.pairs()
        ends = np.stack([first, second], axis=1).astype(np.int64)
        degrees = np.diff(self.mutual.indptr).astype(np.float64)
        names = [str(label) for label in self.labels]
        return node_link(ax, names, ends, degrees, one_way=one_way, negative=negative, values=shades)

    def pairs(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the pairs of linked agents as drawings show them: mutual edges once, others from the listener.

        Returns
        -------
        first, second : array of int32
            Positions of the agents. Two agents who listen to each other with weights of different sign are two pairs.
        one_way : array of bool
            Whether the first listens to the second, and not the other way round.
        negative : array of bool
            Whether the weight is negative.

        Examples
        --------
        >>> from peerpressure import Network
        >>> first, second, one_way, _ = Network([[0, 1, 0], [1, 0, 0], [1, 0, 0]], directed=True).pairs()
        >>> [*zip(first.tolist(), second.tolist(), one_way.tolist())]
        [(0, 1, False), (2, 0, True)]
        """
        sources, targets, weights = self.edges()
        negative = weights < 0
        if not self.directed:
            return sources, targets, np.zeros(sources.size, dtype=bool), negative
        low, high = np.minimum(sources, targets).astype(np.int64), np.maximum(sources, targets)
        # One number for each pair and sign.
        _, first, count = np.unique(2 * (low * self.n + high) + negative, return_index=True, return_counts=True)
        return sources[first], targets[first], count == 1, negative[first]

    def neighbours(self, i: int) -> NDArray[np.int32]:
        """Return the positions of those to whom the agent at position i listens, in increasing order.

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
            raise NetworkError(f"positions of agents must lie in 0..{self.n - 1}", got=i, remedy=remedy)
        # A slice of the CSR indices is a view: no copy, and read-only as they are.
        start, stop = self.adjacency.indptr[i : i + 2]
        positions: NDArray[np.int32] = self.adjacency.indices[start:stop]
        return positions

    def largest_component(self) -> Network:
        """Return the largest connected component with its labels; the one with the first agent in case of a tie.

        Returns
        -------
        Network
            The component, connected; the network itself if it is connected.

        Examples
        --------
        >>> from peerpressure import Network
        >>> Network.from_edges([("a", "b"), ("b", "c"), ("d", "e")]).largest_component().labels
        ('a', 'b', 'c')
        """
        if self.is_connected:
            return self
        return self._picked(self.components()[0])

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
            raise NetworkError(rule, got=np.array2string(picked, threshold=6), remedy=remedy)
        return self._picked(picked)

    def _picked(self, rows: NDArray[Any]) -> Network:
        names = [self.labels[i] for i in rows.tolist()]
        return self._alike(self.adjacency[rows][:, rows], names)

    def silenced(self, agents: ArrayLike) -> Network:
        """Return the network in which some agents listen to nobody, while others still listen to them.

        Parameters
        ----------
        agents : array_like of int
            Positions of agents.

        Returns
        -------
        Network
            The directed network without the edges from these agents to others.

        Examples
        --------
        >>> from peerpressure.networks import path
        >>> path(3).silenced([1]).adjacency.toarray()
        array([[0., 1., 0.],
               [0., 0., 0.],
               [0., 1., 0.]])
        """
        keep = np.ones(self.n)
        keep[np.asarray(agents, dtype=np.int64)] = 0.0
        matrix = csr_array(diags_array(keep) @ self.adjacency)
        return Network(matrix, self.labels, directed=True, signed=self.signed)

    def with_topics(self, topics: int | Iterable[Label], matrix: Any = None) -> Network:
        """Return the network of all pairs (agent, topic), on which a model has opinions on several topics.

        Opinions are then of shape (agents, topics), and with the topic matrix Θ a step is
        Y_t = g_t ∘ (X + E_t) + C_t Y_{t−1} Θᵀ [1]_.

        Parameters
        ----------
        topics : int or iterable of hashable
            Number or names of the topics.
        matrix : array_like or data frame, shape (topics, topics), optional
            Weights T_pq with which the opinion on topic p follows what others say on topic q. The moduli of each row
            sum to 1. By default topics are independent.

        Returns
        -------
        Network
            The Kronecker product A ⊗ T, whose labels are the pairs; the topics of an agent are next to each other.

        Raises
        ------
        NetworkError
            If names repeat, or the matrix does not fit the topics, is not finite or has another sum in a row.

        See Also
        --------
        Network.by_topic : Arranges results by agent and topic.

        References
        ----------
        .. [1] S. E. Parsegov, A. V. Proskurnikov, R. Tempo, N. E. Friedkin, "Novel multidimensional models of opinion
           dynamics in social networks", IEEE Trans. Autom. Control 62 (2017).

        Examples
        --------
        >>> from peerpressure import Model
        >>> from peerpressure.networks import k2
        >>> network = k2().with_topics(["tax", "rent"], [[1, 0], [0.5, 0.5]])
        >>> network.labels[:]
        ((0, 'tax'), (0, 'rent'), (1, 'tax'), (1, 'rent'))
        >>> model = Model(network, hidden=[[0.2, 0.9], [0.4, 0.7]])
        >>> network.by_topic(model.consensus_state).round(3)  # the opinions on rent follow those on tax
        array([[0.3, 0.3],
               [0.3, 0.3]])
        """
        names = topic_names(topics)
        matrix = product(self.adjacency, topic_matrix(matrix, names))
        return Network(matrix, PairLabels(self.labels, names), directed=True, signed=True)

    @property
    def topics(self) -> tuple[Label, ...]:
        """The names of the topics on a network that ``with_topics`` returned; empty on others."""
        return self.labels.topics if isinstance(self.labels, PairLabels) else ()

    @property
    def agents(self) -> Sequence[Label]:
        """The labels of the agents; if there are topics, those of the agents and not of the pairs."""
        return self.labels.agents if isinstance(self.labels, PairLabels) else self.labels

    def by_topic(self, values: ArrayLike | None) -> NDArray[Any]:
        """Return values of all pairs of an agent and a topic with one axis for each of the two.

        Parameters
        ----------
        values : array_like, shape (..., agents · topics)
            Opinions, estimates or other values whose last axis is in the order of ``labels``.

        Returns
        -------
        array of shape (..., agents, topics)
            The same values; without topics, the last axis has length 1.

        Raises
        ------
        NetworkError
            If the last axis is not that of all pairs.

        Examples
        --------
        >>> from peerpressure import Model, simulate
        >>> from peerpressure.networks import path
        >>> network = path(3).with_topics(["tax", "rent"])
        >>> run = simulate(Model(network, hidden=[[0, 0], [0, 1], [1, 1]]), steps=10)
        >>> network.by_topic(run.states).shape
        (1, 11, 3, 2)
        """
        array = np.asarray(values)
        if array.ndim == 0 or array.shape[-1] != self.n:
            rule = f"the last axis must have the {self.n} values of the network"
            raise NetworkError(
                rule, got=f"shape {array.shape}", remedy="pass values of all agents, as run.states if recorded"
            )
        return array.reshape(*array.shape[:-1], -1, max(len(self.topics), 1))

    def name_columns(self, positions: Iterable[int] | None = None) -> dict[str, list[Label]]:
        """Return the columns that name agents in a table.

        Parameters
        ----------
        positions : iterable of int, optional
            The agents in the order of the rows; by default all of them.

        Returns
        -------
        dict of str to list
            ``agent`` with labels; if there are topics, ``agent`` and ``topic``.
        """
        chosen: list[Any] = list(self.labels) if positions is None else [self.labels[i] for i in positions]
        if not self.topics:
            return {"agent": chosen}
        return {"agent": [agent for agent, _ in chosen], "topic": [topic for _, topic in chosen]}

    def _alike(self, adjacency: csr_array, labels: Iterable[Label] | None) -> Network:
        return Network(adjacency, labels, directed=self.directed, signed=self.signed)

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
        return self._alike(self.adjacency, labels)

    def to_networkx(self) -> Any:
        """Return a NetworkX graph with the labels as nodes, and ``weight`` on edges if any differs from 1.

        Returns
        -------
        networkx.Graph or networkx.DiGraph
            A directed network gives a ``DiGraph`` with edges from an agent to those it listens to.
        """
        # Imported here to keep the import of networks fast.
        import networkx as nx

        graph = nx.DiGraph() if self.directed else nx.Graph()
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
        for cached in ("degrees", "sides", "left_null_vector", "camps"):
            if self.__dict__.get(cached) is not None:
                _frozen(self.__dict__[cached])

    def __repr__(self) -> str:
        return f"Network({', '.join(self._facts())})"

    def _repr_html_(self) -> str:
        degrees = np.sort(self.degrees)[::-1]
        points = curve(np.arange(1, self.n + 1), degrees)
        sketch = html_sketch([points], "degrees of the agents, the largest first")
        named = zip(("agents", "edges", "structure", "degrees", "components"), self._facts(), strict=False)
        rows = ((name, fact.removesuffix(f" {name}").removeprefix(f"{name} ")) for name, fact in named)
        return f"<div>{html_table(rows, 'Network')}{sketch}</div>"

    def _facts(self) -> list[str]:
        low, high = self.degrees.min(), self.degrees.max()
        kinds = {"directed": self.directed, "signed": self.signed, "weighted": self.is_weighted and not self.signed}
        edges = f"{''.join(f'{kind} ' for kind, holds in kinds.items() if holds)}edge{'s' * (self.edge_count != 1)}"
        facts = [
            self.size,
            f"{self.edge_count:,} {edges}",
            self._structure(),
            f"degree {low:.6g}" if low == high else f"degrees {low:.6g}–{high:.6g}",
        ]
        if not self.is_connected:
            facts.append(f"{components(self.adjacency)[0]:,} components")
        return facts

    def _structure(self) -> str:
        """Return the property of the graph that decides the long run, in words."""
        if self.signed:
            return "balanced" if self.is_balanced else "unbalanced"
        if self.directed:
            count = len(self.closed_classes)
            return "one closed class" if count == 1 else f"{count:,} closed classes"
        return "bipartite" if self.is_bipartite else "non-bipartite"


def check_unsigned(network: Network) -> Network:
    """Return a network that may become a temporal one, which is without negative weights."""
    if network.signed:
        rule = "temporal networks have no negative weights"
        raise NetworkError(rule, got=repr(network), remedy="use it as a static network")
    return network


def check_undirected(network: Network) -> Network:
    """Return a network whose edges may come and go at random, which is undirected and without negative weights."""
    if network.directed:
        rule = "random temporal networks are undirected"
        remedy = "give snapshots or events of your own, or symmetrise it first"
        raise NetworkError(rule, got=repr(network), remedy=remedy)
    return check_unsigned(network)


def _is_symmetric(matrix: csr_array) -> bool:
    mirror = csr_array(matrix.T)
    return all(np.array_equal(getattr(matrix, part), getattr(mirror, part)) for part in ("indptr", "indices", "data"))


def _frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    array.flags.writeable = False
    return array


def _frozen_matrix(matrix: csr_array) -> csr_array:
    for part in (matrix.data, matrix.indices, matrix.indptr):
        _frozen(part)
    return matrix
