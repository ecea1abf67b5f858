"""Directed, signed and disconnected networks: what is accepted, what edges mean, and the structure of the graph."""

from __future__ import annotations

import gzip
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.sparse import csr_array

from peerpressure import Network
from peerpressure.errors import NetworkError
from peerpressure.networks import (
    barabasi_albert,
    chain,
    classes,
    cycle,
    describe_network_file,
    limits,
    read_network,
    write_network,
)
from peerpressure.networks.chain import absorbed, phases
from peerpressure.scenario import load_scenario
from peerpressure.scenario.loading import findings


def random_digraph(seed: int, n: int = 9, m: int = 16) -> nx.DiGraph:
    """Return a random directed graph, which may have several closed classes and isolated agents."""
    graph = nx.gnm_random_graph(n, m, seed=seed, directed=True)
    rng = np.random.default_rng(seed)
    nx.set_edge_attributes(graph, {edge: rng.uniform(0.2, 3.0) for edge in graph.edges}, "weight")
    return graph


def directed(A: Any, **options: Any) -> Network:
    return Network(np.asarray(A, dtype=float), directed=True, **options)


def test_row_i_holds_whom_i_listens_to() -> None:
    graph = nx.DiGraph([("ann", "bob"), ("bob", "cat")])
    listens, influences = (Network.from_networkx(graph, direction=way) for way in ("listens", "influences"))
    assert listens.directed
    assert listens.edge_count == 2
    np.testing.assert_array_equal(listens.adjacency.toarray(), [[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(influences.adjacency.toarray(), listens.adjacency.toarray().T)
    np.testing.assert_array_equal(listens.transposed.toarray(), listens.adjacency.toarray().T)
    assert nx.utils.graphs_equal(listens.to_networkx(), graph)
    edges = Network.from_edges([("ann", "bob"), ("bob", "cat")], directed=True, direction="influences")
    np.testing.assert_array_equal(edges.adjacency.toarray(), influences.adjacency.toarray())
    with pytest.raises(NetworkError, match="'listens' or 'influences', got 'hears'; 'listens' if the source"):
        Network.from_networkx(graph, direction="hears")  # type: ignore[arg-type]


def test_directed_and_signed_are_facts_and_not_permissions() -> None:
    plain = cycle(5)
    same = Network(plain.adjacency, directed=True, signed=True)
    assert not (same.directed)
    assert not (same.signed)
    assert same.is_simple
    assert same.transposed is same.adjacency
    np.testing.assert_array_equal(same.left_null_vector, np.ones(5))
    np.testing.assert_array_equal(same.camps, np.ones(5))


REFUSED = {
    "asymmetric": ([[0, 1], [0, 0]], "symmetric, got 0 to 1 1.0 but back 0.0; a directed network keeps"),
    "negative": ([[0, -1], [-1, 0]], "negative, got -1.0 between 0 and 1; distrust takes a signed network"),
    "nan": ([[0, math.nan], [1, 0]], "finite, got nan between 0 and 1; remove"),
    "complex": ([[0, 1j], [1j, 0]], "real numbers, got dtype complex128; convert"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_has_one_error_with_the_remedy(case: str) -> None:
    matrix, text = REFUSED[case]
    with pytest.raises(NetworkError, match=text):
        Network(matrix)


def test_self_loops_of_opposite_sign_do_not_cancel() -> None:
    with pytest.raises(NetworkError, match=r"own neighbour, got .* between 0 and 0"):
        Network.from_edges([(0, 1), (0, 0)], [1.0, -1.0], signed=True, directed=True)


@pytest.mark.parametrize("suffix", [".csv", ".txt", ".graphml", ".mtx", ".mtx.gz", ".npy", ".npz"])
def test_directed_signed_networks_survive_files(suffix: str, tmp_path: Path) -> None:
    A = np.array([[0, 2.5, 0], [0, 0, -1.0], [0.5, 0, 0]])
    network, file = directed(A, signed=True), tmp_path / f"a{suffix}"
    write_network(network, file)
    back = read_network(file, directed=True, signed=True)
    np.testing.assert_array_equal(back.adjacency.toarray(), A)
    np.testing.assert_array_equal(
        read_network(file, directed=True, signed=True, direction="influences").adjacency.toarray(), A.T
    )
    with pytest.raises(NetworkError, match="negative"):
        read_network(file, directed=True)
    if suffix not in (".csv", ".txt"):
        with pytest.raises(NetworkError, match=r"symmetric"):
            read_network(file, directed=False, signed=True)


def test_a_directed_graph_file_says_what_an_edge_means(tmp_path: Path) -> None:
    file = tmp_path / "a.net"
    file.write_text("*Vertices 3\n1 a\n2 b\n3 c\n*Arcs\n1 2\n2 3\n")
    network = read_network(file)
    assert network.directed
    assert network.neighbours(0).tolist() == [1]
    scenario = tmp_path / "a.toml"
    for direction, words in (("listens", "listens to its target"), ("influences", "influences its target")):
        scenario.write_text(f'[network]\nfile = "a.net"\ndirection = "{direction}"\n[run]\nsteps = 1\n')
        assert f"the source of an edge {words}" in findings(load_scenario(scenario))["network"]
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(b"source,target,type\na,b,Directed\nb,c,Directed\n"))
    assert read_network(packed, directed=True).directed
    with pytest.raises(NetworkError, match="read it as directed"):
        read_network(packed)


def test_stored_and_pickled_networks_keep_directions_and_signs() -> None:
    network = directed([[0, 2, 0], [0, 0, -1], [0, 0, 0]], signed=True)
    for back in (Network.from_arrays(network.arrays()), pickle.loads(pickle.dumps(network))):
        assert back.directed
        assert back.signed
        np.testing.assert_array_equal(back.adjacency.toarray(), network.adjacency.toarray())
    moved = network.permuted([2, 0, 1])
    np.testing.assert_array_equal(moved.adjacency.toarray(), [[0, 0, 0], [0, 0, 2], [-1, 0, 0]])
    np.testing.assert_array_equal(network.degrees, [2, 1, 0])
    np.testing.assert_array_equal(network.laplacian.toarray(), [[2, -2, 0], [0, 1, 1], [0, 0, 0]])


@pytest.mark.parametrize("seed", range(12))
def test_classes_components_and_periods_agree_with_networkx(seed: int) -> None:
    graph = random_digraph(seed, m=[6, 10, 14, 20][seed % 4])
    network = Network.from_networkx(graph)
    attracting = {frozenset(part) for part in nx.attracting_components(graph)}
    assert {frozenset(part.tolist()) for part in network.closed_classes} == attracting
    assert {frozenset(part.tolist()) for part in network.components()} == {
        frozenset(part) for part in nx.weakly_connected_components(graph)
    }
    for agents in network.closed_classes:
        h, phase = phases(network.adjacency, agents)
        inside = graph.subgraph(agents.tolist())
        assert h == (math.gcd(*map(len, nx.simple_cycles(inside))) if agents.size > 1 else 1)
        where = dict(zip(agents.tolist(), phase.tolist(), strict=True))
        assert all((where[i] + 1) % h == where[j] for i, j in inside.edges)


@pytest.mark.parametrize("seed", range(6))
def test_left_null_vector_and_absorption(seed: int) -> None:
    network = Network.from_networkx(random_digraph(seed, m=14))
    ell, L = network.left_null_vector, network.laplacian.toarray()
    np.testing.assert_allclose(ell @ L, 0, atol=1e-12)
    known = np.full(network.n, np.nan)
    for k, agents in enumerate(network.closed_classes):
        d = network.degrees[agents]
        assert np.all(ell[agents] > 0)
        assert math.isclose(ell[agents] @ d, d.sum(), abs_tol=1e-12)
        known[agents] = k
    assert not np.any(ell[np.isnan(known)])
    state = absorbed(network.adjacency, known)
    # Averaging over whom they listen to, forever: with a lazy step, as a class may be periodic.
    silent = network.degrees == 0
    P = network.adjacency.toarray() / np.where(silent, 1.0, network.degrees)[:, None] + np.diag(silent * 1.0)
    limit = np.linalg.matrix_power(0.5 * (P + np.eye(network.n)), 1 << 14) @ np.nan_to_num(known)
    np.testing.assert_allclose(state, limit, atol=1e-10)


@pytest.mark.parametrize("kind", ["undirected", "directed", "signed", "one value"])
def test_absorption_in_large_networks_is_iterated(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network = barabasi_albert(300, 3, seed=4)
    A = network.silenced([0, 7, 40]).adjacency.toarray()
    if kind == "directed":
        A = A * np.random.default_rng(1).uniform(0.2, 2.0, A.shape)
    if kind == "signed":
        A = A * np.where(np.add.outer(np.arange(300), np.arange(300)) % 2, 1.0, -1.0)
    known = np.full(300, np.nan)
    known[[0, 7, 40]] = 0.3 if kind == "one value" else [0.1, 0.5, 2.0]
    expected = chain.absorbed(csr_array(A), known)
    monkeypatch.setattr(chain, "FACTORED", 0)
    monkeypatch.setattr(chain, "splu", None)
    np.testing.assert_allclose(chain.absorbed(csr_array(A), known), expected, rtol=1e-12, atol=1e-13)


def test_what_leads_to_a_state() -> None:
    A = csr_array(np.array([[0, 1, 0, 0], [0, 0, -1, 0], [0, 0, 0, 0], [0, 1, 0, 0]], dtype=float))
    assert chain.leads_to(A, np.array([1])).tolist() == [True, True, False, True]
    assert chain.leads_to(A, np.array([], dtype=np.int64)).tolist() == [False] * 4


def test_large_classes_are_iterated() -> None:
    rng = np.random.default_rng(0)
    n = 6_000
    ends = np.concatenate([np.stack([np.arange(n), (np.arange(n) + 1) % n], 1), rng.integers(0, n, (5 * n, 2))])
    ends = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)
    network = Network.from_edges(ends, directed=True)
    L = network.laplacian
    assert np.abs(L.T @ network.left_null_vector).max() < 1e-11


def test_camps_of_balanced_and_unbalanced_components() -> None:
    camps = np.array([1, -1, -1, 1, 1, -1])
    ring = np.zeros((6, 6))
    for i in range(6):
        ring[i, (i + 1) % 6] = ring[(i + 1) % 6, i] = 1.0
    balanced = Network(ring * np.outer(camps, camps), signed=True)
    assert balanced.is_balanced
    assert balanced.signed
    np.testing.assert_array_equal(balanced.camps, camps)
    ring[0, 1] = ring[1, 0] = -1
    both = np.block([[ring, np.zeros((6, 6))], [np.zeros((6, 6)), ring * 0]])
    both[6:, 6:] = np.abs(ring) * np.outer(camps, camps)
    mixed = Network(both, signed=True)
    assert not mixed.is_balanced
    np.testing.assert_array_equal(mixed.camps, [0] * 6 + camps.tolist())


def test_descriptions() -> None:
    assert repr(directed([[0, 1, 0], [1, 0, 0], [1, 0, 0]])) == (
        "Network(3 agents, 3 directed edges, one closed class, degree 1)"
    )
    assert "signed edge, balanced" in repr(Network([[0, -1], [-1, 0]], signed=True))
    assert "2 closed classes" in repr(directed([[0, 1, 1], [0, 0, 0], [0, 0, 0]]))


def test_a_direction_without_directed_edges_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("source,target\na,b\nb,c\n")
    undirected: list[Callable[[], Network]] = [
        lambda: read_network(file, direction="influences"),
        lambda: Network.from_edges([(0, 1)], direction="influences"),
        lambda: Network.from_networkx(nx.path_graph(3), direction="influences"),
    ]
    for build in undirected:
        with pytest.raises(NetworkError, match=r"only directed edges have a direction.*set directed to true"):
            build()
    assert read_network(file, directed=True, direction="influences").neighbours(1).tolist() == [0]


def test_signed_and_directed_lists_are_described(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("source,target,weight\na,b,1\nb,a,-2\nb,c,1\nc,a,-1\n")
    assert "weight from 'weight'" in str(describe_network_file(file))


@given(st.integers(2, 7), st.integers(0, 2**32))
def test_pairs_hold_every_edge_once(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.choice([-1.0, 0.0, 1.0], (n, n)) * (1 - np.eye(n))
    network = Network(A, directed=True, signed=True)
    again = np.zeros((n, n))
    for first, second, one_way, negative in zip(*network.pairs(), strict=True):
        weight = -1.0 if negative else 1.0
        for i, j in [(first, second)] if one_way else [(first, second), (second, first)]:
            assert again[i, j] == 0
            again[i, j] = weight
    assert np.array_equal(again, A)


def signed_parts(seed: int) -> Network:
    """Return a symmetric signed network with components of every kind, isolated agents among them."""
    rng = np.random.default_rng(seed)
    n = 24
    A = (
        np.triu(rng.random((n, n)) < 0.06, 1)
        * rng.choice([-1.0, 1.0], (n, n), p=[0.3, 0.7])
        * rng.uniform(1, 2, (n, n))
    )
    # Two sides, one of which is the enemy of the other; and cycles of an odd length with negative products only.
    A[20, 21] = A[21, 22] = A[20, 22] = -1.0
    return Network(A + A.T, signed=True)


@pytest.mark.parametrize("seed", range(20))
def test_camps_and_limits_of_symmetric_networks_need_no_double_cover(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = signed_parts(seed)
    rng = np.random.default_rng(seed)
    s, x = rng.uniform(0.1, 3.0, network.n), rng.uniform(-1, 1, network.n)
    camps = classes._camps_by_cover(network.adjacency)
    expected = limits._limit_on_cover(network.adjacency, s, x)
    for module in (classes, limits):
        monkeypatch.setattr(module, "double_cover", None)
    np.testing.assert_array_equal(network.camps, camps)
    np.testing.assert_allclose(limits.limit_state(network, s, x), expected, atol=1e-14)


@pytest.mark.parametrize("seed", range(12))
def test_the_class_that_a_state_ends_in(seed: int) -> None:
    graph = random_digraph(seed, n=14, m=[10, 14, 18, 24][seed % 4])
    network = Network.from_networkx(graph)
    parts = network.closed_classes
    ends = chain.followed(network.adjacency, parts)
    for agent in range(network.n):
        reached = {k for k, part in enumerate(parts) if nx.has_path(graph, agent, int(part[0]))}
        assert ends[agent] == (reached.pop() if len(reached) == 1 else -1)


def test_closed_classes_are_found_among_many_others(monkeypatch: pytest.MonkeyPatch) -> None:
    split = chain.split_by_label
    counts: list[int] = []

    def watched(label: Any, count: int) -> list[chain.Positions]:
        counts.append(count)
        return split(label, count)

    monkeypatch.setattr(chain, "split_by_label", watched)
    # A chain of followers: every agent is a class by itself, and only the last one is closed.
    A = csr_array((np.ones(999), (np.arange(999), np.arange(1, 1000))), shape=(1000, 1000))
    assert [part.tolist() for part in chain.closed_classes(A)] == [[999]]
    assert counts == [1]


def test_absorption_on_a_large_directed_network_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    # Residuals of a solution that is nearly right are so small that the solver takes their products for 0.
    n = 3_000
    A = barabasi_albert(n, 3, seed=4).silenced([0, 7, 40]).adjacency.copy()
    A.data = np.random.default_rng(1).uniform(0.2, 2.0, A.data.size)
    known = np.full(n, np.nan)
    known[[0, 7, 40]] = [1e-3, 5e-3, 2e-2]
    monkeypatch.setattr(chain, "splu", None)
    state = chain.absorbed(A, known)
    inner = np.isnan(known)
    left = (A @ state - np.asarray(A.sum(axis=1)) * state)[inner]
    assert np.abs(left).max() <= 1e-14
