from __future__ import annotations

import copy
import dataclasses
import pickle
from io import BytesIO
from typing import Any

import networkx as nx
import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from peerpressure import Model, diagnose
from peerpressure.errors import NetworkError, PeerPressureError
from peerpressure.networks import Network, TemporalNetwork, cycle, k2, named, path
from peerpressure.theory import Outcome
from tests.networks.strategies import WORDS, edge_table, networks, same, sparse_random_graph

LABELS = st.recursive(
    st.integers() | st.text(max_size=4) | st.floats(allow_nan=False) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=3,
)


def test_network_repr() -> None:
    assert repr(named("karate")) == "Network(34 agents, 78 edges, non-bipartite, degrees 1–17)"
    two = Network.from_edges([(0, 1), (2, 3)])
    assert repr(two) == "Network(4 agents, 2 edges, bipartite, degree 1, 2 components)"


@pytest.mark.parametrize("build", [np.array, sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_array, sp.dia_array])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float32])
def test_any_matrix_becomes_canonical(build: Any, dtype: Any) -> None:
    network = Network(build(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]], dtype=dtype)))
    A = network.adjacency
    assert isinstance(A, sp.csr_array)
    assert (A.dtype, A.indices.dtype, A.indptr.dtype) == (np.float64, np.int32, np.int32)
    assert A.has_canonical_format
    assert network.edge_count == 2


@pytest.mark.parametrize(
    ("index", "columns", "labels"),
    [
        (["ann", "bob", "cat"], ["ann", "bob", "cat"], ("ann", "bob", "cat")),
        (["ann", "bob", "cat"], ["cat", "ann", "bob"], ("ann", "bob", "cat")),
        (None, ["ann", "bob", "cat"], ("ann", "bob", "cat")),
        (["ann", "bob", "cat"], None, ("ann", "bob", "cat")),
        ([5, 7, 6], [5, 7, 6], (5, 7, 6)),
        ([0, 1, 2], [2, 0, 1], range(3)),
        (None, None, range(3)),
    ],
)
def test_labels_of_a_data_frame(index: Any, columns: Any, labels: Any) -> None:
    matrix = np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0]])
    frame = pandas.DataFrame(
        matrix, index=index, columns=index if index is not None and columns is not None else columns
    )
    frame = frame if index is None or columns is None else frame[columns]
    network = Network(frame)
    assert network.labels == labels
    np.testing.assert_array_equal(network.adjacency.toarray(), matrix)
    assert Network(frame, labels=["x", "y", "z"]).labels == ("x", "y", "z")
    assert TemporalNetwork.from_snapshots([frame, network]).labels == labels


@pytest.mark.parametrize("build", [np.array, sp.csr_array, sp.coo_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_errors_are_symmetrised(build: Any, dtype: Any) -> None:
    weights = np.corrcoef(np.random.default_rng(0).normal(size=(40, 9)))
    # Division by one standard deviation after the other, as corrcoef does it, in the precision of the data.
    std = np.random.default_rng(1).uniform(1, 2, 40).astype(dtype)
    weights = ((weights.astype(dtype) / std[:, None]) / std) ** 2
    np.fill_diagonal(weights, 0)
    assert not np.array_equal(weights, weights.T)
    A = Network(build(weights)).adjacency.toarray()
    np.testing.assert_array_equal(A, A.T)
    np.testing.assert_allclose(A, weights, rtol=20 * np.finfo(dtype).eps)
    np.testing.assert_allclose(A, weights.T, rtol=20 * np.finfo(dtype).eps)


class Sequenced:
    """Vertices or edges with attributes, as igraph has them."""

    def __init__(self, size: int, **values: list[Any]) -> None:
        self.size, self.values = size, values

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, name: str) -> list[Any]:
        return self.values[name]

    def attributes(self) -> list[str]:
        return list(self.values)


class IGraph:
    """The part of igraph.Graph that is read."""

    def __init__(self, pairs: list[tuple[int, int]], vertices: Sequenced, edges: Sequenced, directed: bool) -> None:
        self.pairs, self.vs, self.es, self.directed = pairs, vertices, edges, directed

    def get_edgelist(self) -> list[tuple[int, int]]:
        return self.pairs

    def is_directed(self) -> bool:
        return self.directed


def test_igraph_graphs() -> None:
    pairs = [(0, 1), (1, 2), (2, 0)]
    named_ones = IGraph(pairs, Sequenced(3, name=["ann", "bob", "cat"]), Sequenced(3, weight=[2.0, None, 0.5]), False)
    network = Network.from_networkx(named_ones)
    assert network.labels == ("ann", "bob", "cat")
    np.testing.assert_array_equal(network.adjacency.toarray(), [[0, 2, 0.5], [2, 0, 1], [0.5, 1, 0]])
    assert not Network.from_networkx(named_ones, None).is_weighted
    both_ways = IGraph([*pairs, (1, 0), (2, 1), (0, 2)], Sequenced(3), Sequenced(6), True)
    assert same(Network.from_networkx(both_ways), cycle(3))
    assert Network.from_networkx(IGraph(pairs, Sequenced(3), Sequenced(3), True)).directed
    assert TemporalNetwork.from_snapshots([both_ways, path(3)]).n == 3


def test_network_is_immutable_and_leaves_its_input_alone() -> None:
    given_matrix = sp.csr_array(np.array([[0.0, 1], [1, 0]]))
    network = Network(given_matrix)
    given_matrix.data[:] = 7
    assert not network.is_weighted
    with pytest.raises(dataclasses.FrozenInstanceError):
        network.labels = ("a", "b")  # type: ignore[misc]
    copies = [network, pickle.loads(pickle.dumps(network)), copy.deepcopy(network)]
    for one in copies:
        arrays = [one.adjacency.data, one.adjacency.indices, one.adjacency.indptr, one.degrees, one.laplacian.data]
        assert not any(array.flags.writeable for array in arrays)


def test_stored_zeros_and_equal_repeats_are_merged() -> None:
    rows, columns = [0, 0, 1, 1, 0, 2, 1, 2], [1, 1, 0, 0, 2, 0, 2, 1]
    matrix = sp.coo_array(([3.0, 3, 3, 3, 0, 0, 1, 1], (rows, columns)), shape=(3, 3))
    with pytest.warns(UserWarning, match="1 edge given more than once, counted once: 0 and 1; add up"):
        network = Network(matrix)
    assert edge_table(network) == {frozenset((0, 1)): 3.0, frozenset((1, 2)): 1.0}


def test_repeats_in_a_csr_matrix_are_merged() -> None:
    matrix = sp.csr_array((np.ones(4), np.array([1, 1, 0, 0]), np.array([0, 2, 4])), shape=(2, 2))
    with pytest.warns(UserWarning, match="1 edge given more than once"):
        assert same(Network(matrix), k2())


@given(networks())
def test_properties_match_dense_algebra(network: Network) -> None:
    A = network.adjacency.toarray()
    np.testing.assert_allclose(network.degrees, A.sum(axis=1), rtol=1e-14)
    np.testing.assert_array_equal(network.laplacian.toarray(), np.diag(network.degrees) - A)
    i, j, weights = network.edges()
    assert np.all(i < j)
    np.testing.assert_array_equal(weights, A[i, j])
    for agent in range(network.n):
        np.testing.assert_array_equal(network.neighbours(agent), np.flatnonzero(A[agent]))


@pytest.mark.parametrize("seed", range(60))
def test_sides_and_components_agree_with_networkx(seed: int) -> None:
    graph = sparse_random_graph(12, 3 + seed % 12, seed)
    network = Network.from_networkx(graph)
    assert network.is_connected == nx.is_connected(graph)
    assert network.is_bipartite == nx.is_bipartite(graph)
    if network.sides is not None:
        assert all(network.sides[i] != network.sides[j] for i, j in graph.edges)
    largest = max(nx.connected_components(graph), key=len)
    assert network.largest_component().n == len(largest)
    assert network.largest_component().is_connected


def test_sides_of_a_path_of_a_million_agents() -> None:
    sides = path(10**6).sides
    assert sides is not None
    assert np.array_equal(sides, np.arange(10**6) % 2 == 1)


def test_components_and_isolated_agents_are_networks() -> None:
    for network in (
        Network.from_edges([("a", "b"), ("c", "d")], labels=["a", "b", "c", "d", "e"]),
        Network.from_networkx(nx.Graph({"a": ["b"], "c": ["d"], "e": []}), weight=None),
        Network(np.kron(np.diag([1.0, 1.0, 0.0]), 1 - np.eye(2))[:5, :5], labels="abcde"),
    ):
        assert [component.size for component in network.components()] == [2, 2, 1]
        assert not network.is_connected
        assert diagnose(Model(network, np.arange(5.0))).outcome is Outcome.CLUSTERS


def test_largest_component_keeps_labels() -> None:
    pairs = [("x", "y"), ("a", "b"), ("b", "c")]
    network = Network.from_edges(pairs, labels=["x", "isolated", "y", "a", "b", "c"])
    assert network.largest_component().labels == ("a", "b", "c")
    assert not network.is_connected


@given(networks(labels=LABELS))
def test_arrays_round_trip_without_pickle(network: Network) -> None:
    store = BytesIO()
    np.savez(store, **network.arrays())  # type: ignore[arg-type]
    store.seek(0)
    with np.load(store, allow_pickle=False) as arrays:
        back = Network.from_arrays(arrays)
    assert same(back, network)
    assert [type(label) for label in back.labels] == [type(label) for label in network.labels]


@given(networks(labels=LABELS))
def test_networkx_and_scipy_round_trips(network: Network) -> None:
    assert same(Network.from_networkx(network.to_networkx()), network)
    assert same(Network.from_scipy(network.adjacency, network.labels), network)


@given(networks(labels=WORDS), st.randoms(use_true_random=False))
def test_permuted_moves_agents_with_their_labels(network: Network, random: Any) -> None:
    order = random.sample(range(network.n), network.n)
    moved = network.permuted(order)
    assert list(moved.labels) == [network.labels[k] for k in order]
    assert edge_table(moved) == edge_table(network)
    assert same(moved.permuted(np.argsort(order)), network)


def test_index_and_indices_find_labels() -> None:
    karate = named("karate").relabelled([f"member {k}" for k in range(34)])
    assert karate.index("member 7") == 7
    assert karate.indices(["member 3", "member 1"]).tolist() == [3, 1]
    assert path(5).index(np.int64(4)) == 4
    assert isinstance(path(5).labels, range)
    assert isinstance(path(5).relabelled(np.arange(5)).labels, range)
    assert isinstance(karate.relabelled(None).labels, range)


def test_from_edges_takes_positions_in_arrays_and_labels_elsewhere() -> None:
    positions = np.array([[0, 1], [1, 2]])
    assert Network.from_edges(positions, labels=["a", "b", "c"]).labels == ("a", "b", "c")
    assert Network.from_edges((positions[:, 0], positions[:, 1]), n=3).n == 3
    assert Network.from_edges([(30, 10), (10, 20)]).labels == (10, 20, 30)
    assert Network.from_edges([("c", "a"), ("a", "b")]).labels == ("c", "a", "b")
    assert Network.from_edges((["c", "a"], ["a", "b"])).labels == ("c", "a", "b")
    assert Network.from_edges(np.array([["c", "a"], ["a", "b"]])).labels == ("c", "a", "b")
    assert Network.from_edges([((0, 0), (0, 1))]).labels == ((0, 0), (0, 1))
    assert Network.from_edges([(0, 1)], n=3).n == 3


def test_symmetric_digraphs_and_consistent_multigraphs_are_accepted() -> None:
    both_ways = nx.DiGraph([("a", "b"), ("b", "a")])
    twice = nx.MultiGraph([("a", "b", {"weight": 2}), ("b", "a", {"weight": 2})])
    assert Network.from_networkx(both_ways).edge_count == 1
    with pytest.warns(UserWarning, match="1 edge given more than once"):
        assert edge_table(Network.from_networkx(twice)) == {frozenset("ab"): 2.0}
    assert not Network.from_networkx(twice, weight=None).is_weighted


@pytest.mark.parametrize(("weights", "symmetric"), [((1.0, 2.0, 1.0, 2.0), True), ((1.0, 2.0, 1.0, 3.0), False)])
def test_edges_written_in_both_directions_are_symmetric_if_their_weights_are(
    weights: tuple[float, ...], symmetric: bool
) -> None:
    matrix = sp.coo_array((weights, ([0, 1, 1, 2], [1, 2, 0, 1])), shape=(3, 3))
    if not symmetric:
        with pytest.raises(NetworkError, match="weights must be symmetric"):
            Network(matrix)
        assert Network(matrix, directed=True).directed
        return
    np.testing.assert_array_equal(Network(matrix).adjacency.toarray(), matrix.toarray())


def test_one_tree_tells_connectivity_and_sides() -> None:
    for graph in (
        nx.path_graph(6),
        nx.cycle_graph(5),
        nx.grid_2d_graph(3, 4),
        nx.Graph([(0, 1), (2, 3), (3, 4), (4, 2)]),
    ):
        network = Network.from_networkx(graph)
        assert network.is_connected == nx.is_connected(graph)
        assert network.is_bipartite == nx.is_bipartite(graph)
        if network.sides is not None:
            assert all(network.sides[i] != network.sides[j] for i, j in zip(*network.adjacency.nonzero(), strict=True))


def test_labels_that_cannot_be_stored_raise() -> None:
    with pytest.raises(NetworkError, match=r"frozenset.*relabelled"):
        cycle(3).relabelled([frozenset(), "b", "c"]).arrays()


FRAMES: dict[str, dict[Any, list[Any]]] = {
    "our names, any order": {"weight": [1.5, 2.0], "target": ["bob", "cat"], "source": ["ann", "bob"]},
    "Gephi": {
        "Source": ["ann", "bob"],
        "Target": ["bob", "cat"],
        "Type": ["Undirected"] * 2,
        "Id": [0, 1],
        "Weight": [1.5, 2.0],
    },
    "letters": {"w": [1.5, 2.0], "i": ["ann", "bob"], "j": ["bob", "cat"]},
    "no names": {0: ["ann", "bob"], 1: ["bob", "cat"], 2: [1.5, 2.0]},
    "texts of numbers": {"source": ["1", "2"], "target": ["2", "001"], "weight": [1.5, 2.0]},
    "numbers": {"source": [7, 5], "target": [5, 3], "weight": [1.5, 2.0]},
}


@pytest.mark.parametrize("name", FRAMES)
def test_data_frames_of_edges(name: str) -> None:
    network = Network.from_edges(pandas.DataFrame(FRAMES[name]))
    a, b, c = {"texts of numbers": ("1", "2", "001"), "numbers": (7, 5, 3)}.get(name, ("ann", "bob", "cat"))
    assert edge_table(network) == {frozenset((a, b)): 1.5, frozenset((b, c)): 2.0}


BAD_FRAMES: dict[str, tuple[dict[Any, list[Any]], str]] = {
    "no ends": ({"when": [1], "who": ["ann"], "x": ["bob"]}, "a heading must name the source and the target"),
    "a weight by another name": ({"source": ["a"], "target": ["b"], "kg": [2.0]}, "'kg'.*weight"),
    "a missing end": ({"source": ["a", None], "target": ["b", "c"]}, "missing end in row 2"),
    "one way": ({"source": ["a"], "target": ["b"], "Type": ["Directed"]}, "row 1: edges must go both ways"),
    "no rows": ({"source": [], "target": []}, "no rows"),
    "a missing weight": ({"source": ["a", "b"], "target": ["b", "c"], "weight": [1.0, None]}, "weights must be finite"),
}


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_data_frames_that_leave_a_doubt(name: str) -> None:
    columns, says = BAD_FRAMES[name]
    with pytest.raises(PeerPressureError, match=says):
        Network.from_edges(pandas.DataFrame(columns))


def test_weights_beside_a_data_frame() -> None:
    frame = pandas.DataFrame({"source": ["a"], "target": ["b"]})
    assert Network.from_edges(frame, weights=[3.0]).degrees.tolist() == [3.0, 3.0]
    with pytest.raises(NetworkError, match="weights must be given once"):
        Network.from_edges(frame.assign(weight=1.0), weights=[3.0])


def test_edges_may_have_their_weights_with_them() -> None:
    expected = Network.from_edges([("a", "b"), ("b", "c")], weights=[2.0, 0.5])
    weighted = nx.Graph()
    weighted.add_weighted_edges_from([("a", "b", 2.0), ("b", "c", 0.5)])
    for edges in (
        [("a", "b", 2.0), ("b", "c", 0.5)],
        [["a", "b", 2], ["b", "c", np.float32(0.5)]],
        iter([("a", "b", 2.0), ("b", "c", 0.5)]),
        weighted.edges(data=True),
        weighted.edges(data="weight"),
    ):
        found = Network.from_edges(edges)
        assert found.labels == expected.labels
        np.testing.assert_array_equal(found.adjacency.toarray(), expected.adjacency.toarray())
    assert Network.from_edges([(0, 1, 2.0), (1, 2, 0.5)], n=4).degrees.tolist() == [2.0, 2.5, 0.5, 0.0]


def test_edges_without_a_weight_among_others_count_one_as_in_networkx() -> None:
    mixed = [("a", "b"), ("b", "c", 0.5), ("c", "d", {}), ("d", "e", {"weight": 3})]
    assert Network.from_edges(mixed).degrees.tolist() == [1.0, 1.5, 1.5, 4.0, 3.0]


@pytest.mark.parametrize(
    ("edges", "weights", "says"),
    [
        ([("a", "b", 2.0)], [2.0], "weights must be given once, got some with the edges"),
        ([("a", "b", "heavy")], None, "weights must be real numbers"),
        ([("a", "b", 1.0, 2.0)], None, "two agents, got .* at position 0; give .source, target. or"),
        ([("a", "b", None)], None, "weight"),
        ([("a", "b", -1.0)], None, "signed"),
        (["abc"], None, "an edge must be two agents, got 'abc'"),
        (np.array([[0, 1, 2.0]]), None, "third column as weights"),
    ],
)
def test_edges_with_bad_weights_are_refused(edges: Any, weights: Any, says: str) -> None:
    with pytest.raises(NetworkError, match=says):
        Network.from_edges(edges, weights)
