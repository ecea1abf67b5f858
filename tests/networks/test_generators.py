from __future__ import annotations

from dataclasses import FrozenInstanceError
from functools import partial
from inspect import signature
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from peerpressure.errors import NetworkError
from peerpressure.networks import (
    GENERATORS,
    NAMED,
    Network,
    _generators,
    barabasi_albert,
    followers,
    named,
    random_regular,
    rival_camps,
    watts_strogatz,
)
from peerpressure.networks._loops import attach
from peerpressure.networks._sampling import random_pairs
from tests.networks.strategies import same

# One row per generator: a way to call it, and what must come out.
EXAMPLES: dict[str, tuple[tuple[float, ...], int, int | None]] = {
    "k2": ((), 2, 1),
    "path": ((7,), 7, 6),
    "cycle": ((7,), 7, 7),
    "complete": ((7,), 7, 21),
    "star": ((7,), 7, 6),
    "grid": ((3, 5), 15, 22),
    "erdos_renyi": ((60, 0.2), 60, None),
    "watts_strogatz": ((60, 4, 0.3), 60, 120),
    "barabasi_albert": ((60, 3), 60, 171),
    "random_regular": ((60, 5), 60, 150),
    "followers": ((60, 3), 60, None),
    "rival_camps": ((60, 5, 0.1), 60, 150),
}
RANDOM = [name for name, one in GENERATORS.items() if "seed" in signature(one.build).parameters]


def build(name: str, seed: int = 1) -> Network:
    arguments = EXAMPLES[name][0]
    return GENERATORS[name].build(*arguments, **({"seed": seed} if name in RANDOM else {}))


def test_every_generator_has_an_example() -> None:
    assert EXAMPLES.keys() == GENERATORS.keys()


@pytest.mark.parametrize("name", GENERATORS)
def test_conformance(name: str) -> None:
    network = build(name)
    _, n, edges = EXAMPLES[name]
    assert network.n == n
    assert edges is None or network.edge_count == edges
    assert isinstance(network.labels, range)
    assert np.all(abs(network.adjacency.data) == 1)
    checked = Network(network.adjacency.toarray(), directed=network.directed, signed=network.signed)
    assert same(checked, network)  # passes the full validation
    assert same(build(name), network)
    with pytest.raises(FrozenInstanceError):
        network.labels = ()  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        network.adjacency.data[0] = 2


@pytest.mark.parametrize("name", RANDOM)
def test_seeds_matter_and_the_global_generator_does_not(name: str) -> None:
    before = np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    assert not same(build(name, seed=1), build(name, seed=2))
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index]  # noqa: NPY002


@pytest.mark.parametrize(
    ("name", "arguments", "oracle"),
    [
        ("path", (6,), nx.path_graph(6)),
        ("cycle", (6,), nx.cycle_graph(6)),
        ("complete", (6,), nx.complete_graph(6)),
        ("star", (6,), nx.star_graph(5)),
        ("grid", (1, 4), nx.path_graph(4)),
        ("grid", (4, 3), nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 3))),
    ],
)
def test_shapes_agree_with_networkx(name: str, arguments: tuple[int, ...], oracle: nx.Graph) -> None:
    assert same(GENERATORS[name].build(*arguments), Network.from_networkx(oracle))


def test_unrewired_ring_is_the_lattice() -> None:
    assert same(watts_strogatz(20, 6, 0.0, seed=1), Network.from_networkx(nx.watts_strogatz_graph(20, 6, 0)))


@pytest.mark.parametrize(("n", "k"), [(500, 6), (7, 6), (8, 6)])
def test_rewiring_keeps_the_number_of_edges(n: int, k: int) -> None:
    network = watts_strogatz(n, k, 1.0, seed=1)
    assert network.edge_count == n * k // 2
    assert network.degrees.min() >= k // 2


@pytest.mark.parametrize(("n", "degree"), [(2, 1), (4, 3), (10, 7), (11, 6), (12, 10), (500, 3), (60, 28), (61, 30)])
def test_regular_graphs_are_regular(n: int, degree: int) -> None:
    network = random_regular(n, degree, seed=4)
    assert np.all(network.degrees == degree)
    assert network.n == n


@pytest.mark.parametrize("p", [0.0, 0.2, 1.0])
def test_followers_have_one_closed_class(p: float) -> None:
    network = followers(300, 3, p, seed=5)
    A = network.adjacency.toarray()
    assert np.all(A[:4, :4] == 1 - np.eye(4))
    # Each newcomer listens to three earlier agents, and to some later ones who chose it.
    assert np.all(np.tril(A, -1).sum(axis=1)[4:] == 3)
    back = np.triu(A, 1)[:, 4:].sum() / (3 * 296)
    assert abs(back - p) <= 4 * np.sqrt(p * (1 - p) / (3 * 296))
    [members] = network.closed_classes
    assert set(members) >= {0, 1, 2, 3}
    assert len(members) == {0.0: 4, 1.0: 300}.get(p, len(members))


def test_rival_camps_trust_each_other_within() -> None:
    balanced, torn = (rival_camps(40, 4, p, seed=2) for p in (0.0, 0.2))
    side = np.where(np.arange(40) < 20, 1.0, -1.0)
    assert np.all(balanced.adjacency.toarray() * np.outer(side, side) >= 0)
    assert balanced.is_balanced
    # The same edges with other signs.
    assert np.array_equal(abs(torn.adjacency.toarray()), abs(balanced.adjacency.toarray()))
    assert not torn.is_balanced


@given(st.integers(2, 40), st.floats(0, 1), st.integers(0, 2**64))
def test_random_pairs_are_distinct_pairs(n: int, p: float, seed: int) -> None:
    i, j = random_pairs(n, p, np.random.default_rng(seed))
    assert np.all((j >= 0) & (j < i) & (i < n))
    assert len(set(zip(i.tolist(), j.tolist(), strict=True))) == len(i)
    if p == 1:
        assert len(i) == n * (n - 1) // 2


@pytest.mark.parametrize("p", [5e-324, 1e-30, 1e-12])
def test_vanishing_probabilities_do_not_overflow(p: float) -> None:
    i, _ = random_pairs(10**6, p, np.random.default_rng(1))
    assert len(i) < 10


def grow_plain(n: int, m: int, seed: int) -> list[int]:
    ends = [0] * (2 * m * (n - m))
    attach(ends, [0] * n, m, np.random.default_rng(seed))
    return ends


@pytest.mark.parametrize(("n", "m"), [(2, 1), (5, 4), (300, 1), (3000, 2), (400, 37)])
def test_compiled_and_plain_attachment_agree_to_the_bit(n: int, m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_generators, "INTERPRETED", 0)
    compiled = _generators._grown(n, m, np.random.default_rng(9))
    assert compiled.tolist() == grow_plain(n, m, 9)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_a_triangle_to_start_from_is_an_odd_cycle(m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network = barabasi_albert(60, m, initial="triangle", seed=4)
    assert network.edge_count == 3 + m * 57
    assert network.is_connected
    assert not network.is_bipartite
    sources, targets, _ = network.edges()
    assert {(0, 1), (0, 2), (1, 2)} <= set(zip(sources.tolist(), targets.tolist(), strict=True))
    # Everybody but the first three joined m earlier ones.
    assert np.bincount(np.maximum(sources, targets), minlength=60)[3:].tolist() == [m] * 57
    monkeypatch.setattr(_generators, "INTERPRETED", 0)
    assert np.array_equal(
        barabasi_albert(60, m, initial="triangle", seed=4).adjacency.toarray(), network.adjacency.toarray()
    )


def test_a_star_is_the_default_start_and_other_starts_are_refused() -> None:
    first, second = (barabasi_albert(40, 2, seed=4, **start) for start in ({}, {"initial": "star"}))
    assert np.array_equal(first.adjacency.toarray(), second.adjacency.toarray())
    with pytest.raises(NetworkError, match='initial must be "star" or "triangle", got \'ring\''):
        barabasi_albert(40, 2, initial="ring", seed=4)
    for n, m in ((2, 1), (10, 4)):
        with pytest.raises(NetworkError, match="a triangle needs 3 agents or more, and m of 3 at most"):
            barabasi_albert(n, m, initial="triangle", seed=4)


@given(st.integers(1, 6), st.integers(1, 30), st.integers(0, 2**70))
def test_every_newcomer_makes_m_edges_to_distinct_earlier_agents(m: int, more: int, seed: int) -> None:
    n = m + more
    ends = np.array(grow_plain(n, m, seed)).reshape(-1, 2)
    assert ends[:m].tolist() == [[leaf, 0] for leaf in range(1, m + 1)]
    rounds = ends[m:].reshape(-1, m, 2)
    for newcomer, made in enumerate(rounds, start=m + 1):
        assert np.all(made[:, 0] == newcomer)
        assert len(set(made[:, 1].tolist())) == m
        assert made[:, 1].max() < newcomer


@pytest.mark.parametrize(
    ("name", "agents", "edges", "weighted", "someone"),
    [
        ("karate", 34, 78, False, 33),
        ("les_miserables", 77, 254, True, "Valjean"),
        ("florentine", 15, 20, False, "Medici"),
        ("davis", 32, 89, False, "Evelyn Jefferson"),
    ],
)
def test_real_networks(name: str, agents: int, edges: int, weighted: bool, someone: str | int) -> None:
    network = named(name)
    assert (network.n, network.edge_count, network.is_weighted) == (agents, edges, weighted)
    assert network.labels[network.index(someone)] == someone
    assert network.is_bipartite == (name == "davis")
    assert name in NAMED


def test_tables_are_read_only() -> None:
    for table in (GENERATORS, NAMED):
        with pytest.raises(TypeError):
            table["new"] = next(iter(table.values()))  # type: ignore[index]


SEEDED: dict[str, dict[str, Any]] = {
    "erdos_renyi": {"n": 30, "p": 0.3},
    "watts_strogatz": {"n": 30, "k": 4, "p": 0.3},
    "barabasi_albert": {"n": 30, "m": 2},
    "random_regular": {"n": 30, "degree": 3},
    "followers": {"n": 30, "m": 2},
    "rival_camps": {"n": 30, "degree": 4, "p": 0.3},
}


def test_every_generator_with_a_seed_is_tried() -> None:
    assert set(SEEDED) == {name for name, one in GENERATORS.items() if "seed" in signature(one.build).parameters}


@pytest.mark.parametrize("name", SEEDED)
def test_a_seed_may_be_a_generator_or_left_out(name: str) -> None:
    build = partial(GENERATORS[name].build, **SEEDED[name])
    rng = np.random.default_rng(7)
    first, second = build(seed=rng), build(seed=rng)
    again = build(seed=np.random.default_rng(7))
    drawn = build(seed=int(np.random.default_rng(7).integers(2**63)))
    assert same(first, again)
    assert same(first, drawn)
    assert not same(first, second)
    assert same(build(), build(seed=0))
    assert same(build(seed=None), build(seed=0))
    for wrong in (-1, 1.5, True, "1", np.random.RandomState(1)):
        with pytest.raises(
            NetworkError, match=r"seed must be a whole number of at least 0, got .*; give a number such as 1"
        ):
            build(seed=wrong)
