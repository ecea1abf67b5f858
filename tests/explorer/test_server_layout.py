"""Where agents are drawn: in the frame, the same each time, and as far apart as they are in the network."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy.sparse import csgraph
from threadpoolctl import threadpool_limits

import peerpressure as pp
from peerpressure.explorer import layout, models
from peerpressure.explorer.layout import Drawing, dot_radii, drawing
from peerpressure.explorer.protocol import thinned
from peerpressure.explorer.shapes import shape_of
from peerpressure.explorer.stress import hops, hops_compiled
from tests.builders import examples

NETWORKS: dict[str, pp.Network] = {
    "two": pp.networks.k2(),
    "line": pp.networks.path(17),
    "ring": pp.networks.cycle(24),
    "star": pp.networks.star(30),
    "all": pp.networks.complete(12),
    "lattice": pp.networks.grid(5, 8),
    "tree": pp.networks.barabasi_albert(90, 1, seed=3),
    "scale-free": pp.networks.barabasi_albert(90, 2, seed=3),
    "random": pp.networks.watts_strogatz(120, 4, 0.1, seed=2),
    "real": pp.networks.named("les_miserables"),
}


def test_rival_camps_are_apart() -> None:
    for agents in (40, 1_200):
        network = pp.networks.rival_camps(agents, 4, seed=1)
        places, camps = drawing(network), network.camps
        middles = np.array([places[camps == camp].mean(axis=0) for camp in (1, -1)])
        # Everyone is nearer to the middle of its own camp.
        away = np.linalg.norm(places[:, None] - middles, axis=2)
        assert ((away[:, 0] < away[:, 1]) == (camps == 1)).all(), agents
        # Without signs it is another network, whose drawing is not that of this one.
        unsigned = pp.Network(abs(network.adjacency))
        assert models._edges_digest(unsigned) != models._edges_digest(network)


def distances(network: pp.Network) -> NDArray[np.float64]:
    found: NDArray[np.float64] = csgraph.shortest_path(network.adjacency, unweighted=True)
    return found


def stress(network: pp.Network, places: NDArray[np.float64]) -> float:
    """Return how far a drawing is from the distances, at the scale that suits it best; 0 is perfect, 1 hopeless."""
    pairs = np.triu_indices(network.n, 1)
    apart = distances(network)[pairs]
    drawn = np.linalg.norm(places[pairs[0]] - places[pairs[1]], axis=1)
    scale = (drawn / apart).sum() / (drawn**2 / apart**2).sum()
    return float(np.mean((scale * drawn / apart - 1) ** 2))


@pytest.mark.parametrize("network", NETWORKS.values(), ids=[*NETWORKS])
def test_a_drawing_fills_its_frame_and_is_the_same_each_time(network: pp.Network) -> None:
    places = drawing(network)
    assert places.shape == (network.n, 2)
    assert places.dtype == np.float32
    assert np.isfinite(places).all()
    assert np.abs(places).max() == 1
    assert np.var(places[:, 0]) >= 0.999 * np.var(places[:, 1])
    assert np.array_equal(places, drawing(network))
    distinct = np.unique(places.round(4), axis=0)
    assert len(distinct) == network.n


@pytest.mark.parametrize("network", NETWORKS.values(), ids=[*NETWORKS])
def test_a_drawing_depends_on_no_rounding_error(network: pp.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither on the number of threads, nor on how a processor rounds."""
    plain, start = drawing(network), layout._start

    def perturbed(far: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        errors = np.random.default_rng(far.size).uniform(-1e-15, 1e-15, far.shape)
        return start(far * (1 + errors), rng)

    with threadpool_limits(2):
        assert np.array_equal(drawing(network), plain)
    monkeypatch.setattr(layout, "_start", perturbed)
    assert np.array_equal(drawing(network), plain)


@pytest.mark.parametrize("network", NETWORKS.values(), ids=[*NETWORKS])
def test_a_drawing_is_far_better_than_chance(network: pp.Network) -> None:
    rng = np.random.default_rng(1)
    chance = min(stress(network, rng.normal(size=(network.n, 2))) for _ in range(20))
    assert stress(network, drawing(network).astype(np.float64)) < max(0.9 * chance, 1e-3)


def renumbered(network: pp.Network) -> pp.Network:
    """Return the same network with its agents in another order."""
    number = np.random.default_rng(5).permutation(network.n)
    first, second, _ = network.edges()
    return pp.Network.from_edges((number[first], number[second]), n=network.n)


# How a pair of linked agents must lie, where a drawing is exact: the only lengths of edges there are.
SHAPES: dict[str, tuple[pp.Network, int]] = {
    "line": (pp.networks.path(17), 1),
    "ring": (pp.networks.cycle(24), 1),
    "ring lattice": (pp.networks.watts_strogatz(30, 6, 0.0, seed=1), 3),
    "star": (pp.networks.star(30), 1),
    "all": (pp.networks.complete(12), 6),
    "lattice": (pp.networks.grid(5, 8), 1),
    "square": (pp.networks.grid(6, 6), 1),
    "ladder": (pp.networks.grid(2, 9), 1),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_drawn_exactly_whatever_the_numbers_of_agents(name: str) -> None:
    network, lengths = SHAPES[name]
    other = renumbered(network)
    for one in (network, other):
        places = shape_of(one)
        assert places is not None
        first, second, _ = one.edges()
        apart = np.linalg.norm(places[first] - places[second], axis=1)
        assert len(np.unique(apart.round(9))) == lengths
        assert len(np.unique(places.round(9), axis=0)) == one.n
        # Edges are the shortest distances there are, except across rings and stars.
        if lengths == 1 and name != "star":
            every = np.linalg.norm(places[:, None] - places, axis=2)
            assert every[~np.eye(one.n, dtype=bool)].min() == pytest.approx(apart.min())
    # One and the same picture.
    points = [{tuple(place) for place in drawn(one).round(5).tolist()} for one in (network, other)]
    assert points[0] == points[1]


def drawn(network: pp.Network) -> NDArray[np.float64]:
    return drawing(network).astype(np.float64)


def test_a_lattice_is_in_reading_order_and_the_sides_of_a_bipartite_graph_are_rows() -> None:
    lattice = drawn(pp.networks.grid(4, 4)).reshape(4, 4, 2)
    assert np.all(np.diff(lattice[..., 0], axis=1) > 0)
    assert np.all(np.diff(lattice[..., 1], axis=0) < 0)
    both = shape_of(pp.Network.from_edges([(i, 3 + j) for i in range(3) for j in range(5)]))
    assert both is not None
    assert np.unique(both[:3, 1]).tolist() == [0.5]
    assert np.unique(both[3:, 1]).tolist() == [-0.5]


def test_directions_and_weights_do_not_hide_a_shape() -> None:
    arrows = pp.Network.from_edges([(i, (i + 1) % 9) for i in range(9)], directed=True)
    assert shape_of(arrows) is not None


NEARLY = {
    "a lattice with a hole": [
        (i, j) for i, j in zip(*pp.networks.grid(4, 5).edges()[:2], strict=True) if (i, j) != (6, 7)
    ],
    "a twisted ladder": [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7), (0, 4), (1, 6), (2, 5), (3, 7)],
    "two rings": [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)],
    "a line beside a ring": [(0, 1), (2, 3), (3, 4), (4, 2)],
    "a ring with a chord": [*((i, (i + 1) % 8) for i in range(8)), (0, 4)],
    "a branch": [(0, 1), (1, 2), (2, 3), (2, 4)],
    "almost bipartite": [(i, 3 + j) for i in range(3) for j in range(5) if (i, j) != (2, 4)],
}


@pytest.mark.parametrize("name", NEARLY)
def test_other_networks_are_not_mistaken_for_shapes(name: str) -> None:
    edges = [(int(i), int(j)) for i, j in NEARLY[name]]
    assert shape_of(pp.Network.from_edges(edges)) is None


def test_hubs_are_larger_and_most_dots_do_not_overlap() -> None:
    network = pp.networks.barabasi_albert(300, 2, seed=1)
    places = drawing(network)
    radii = dot_radii(places, network.degrees)
    hub, leaf = np.argmax(network.degrees), np.argmin(network.degrees)
    assert 4 < radii[hub] / radii[leaf] < 4.5
    # The nearest neighbours, one by one.
    apart = np.linalg.norm(places[:, None].astype(float) - places, axis=2)
    np.fill_diagonal(apart, np.inf)
    gap = apart.min(axis=1) - radii - radii[apart.argmin(axis=1)]
    assert np.mean(gap >= -1e-6) == pytest.approx(0.5, abs=0.01)
    # Degrees that hardly differ are no difference; neither are agents without neighbours a division by 0.
    for even in (pp.networks.grid(5, 8), pp.networks.path(9), pp.networks.cycle(12)):
        assert np.ptp(dot_radii(drawing(even), even.degrees)) == 0
    assert np.isfinite(dot_radii(places, np.where(network.degrees == 2, 0, network.degrees))).all()


@pytest.mark.parametrize("name", ["karate", "les_miserables"])
def test_no_dot_of_a_few_agents_covers_another(name: str) -> None:
    network = pp.networks.named(name)
    places = drawing(network)
    radii = dot_radii(places, network.degrees)
    apart = np.linalg.norm(places[:, None].astype(float) - places, axis=2) + 9 * np.eye(network.n)
    assert (apart / (radii + radii[:, None])).min() > 0.97
    assert radii.max() > 2 * radii.min()


def test_large_networks_are_drawn_by_their_pivots(monkeypatch: pytest.MonkeyPatch) -> None:
    network = pp.networks.grid(14, 14)
    whole = stress(network, drawing(network).astype(np.float64))
    monkeypatch.setattr(layout, "ALL_PAIRS", 50)
    some = drawing(network)
    assert np.abs(some).max() == 1
    assert stress(network, some.astype(np.float64)) < whole + 0.02


def test_pieces_that_do_not_hang_together_are_drawn_apart() -> None:
    network = pp.Network.from_edges([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)])
    places = drawing(network)
    between = np.linalg.norm(places[:3].mean(axis=0) - places[3:].mean(axis=0))
    within = max(np.linalg.norm(places[i] - places[j]) for i, j in ((0, 1), (1, 2), (3, 4), (4, 5)))
    assert between > within


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("network", NETWORKS.values(), ids=[*NETWORKS])
def test_hops_are_the_shortest_paths(network: pp.Network, compiled: bool) -> None:
    found = np.empty((network.n, network.n), dtype=np.int32)
    count = hops_compiled if compiled else hops
    count(network.adjacency.indptr, network.adjacency.indices, np.arange(network.n), found)
    assert np.array_equal(found, distances(network))


def test_weights_do_not_matter_to_a_drawing() -> None:
    network = NETWORKS["scale-free"]
    i, j, _ = network.edges()
    heavy = pp.Network.from_edges((i, j), weights=np.arange(1.0, i.size + 1), n=network.n)
    same: Drawing = drawing(heavy)
    assert np.array_equal(same, drawing(network))


@examples(3)
@given(st.integers(1, 10**6), st.integers(8, 3_000))
def test_thinning_keeps_the_first_steps_and_an_odd_stride(steps: int, most: int) -> None:
    choice = thinned(steps, most)
    times = choice.times
    assert times.size <= most
    assert (times[0], times[-1]) == (0, steps)
    assert np.all(np.diff(times) > 0)
    assert np.array_equal(times[: choice.dense + 1], np.arange(choice.dense + 1))
    assert choice.every % 2 == 1
    if steps < most:
        assert times.size == steps + 1
    else:
        # The first half goes to the first steps, and nearly all of the rest is used too.
        assert choice.dense + 1 >= most // 2 - 1
        assert times.size >= min(0.9 * most - 8, steps / 2)
