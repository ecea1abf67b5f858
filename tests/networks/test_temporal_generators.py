"""Generators of temporal networks against their distributions: fixed seeds, five standard errors or α = 10⁻⁴."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from peerpressure.errors import NetworkError
from peerpressure.networks import (
    DYNAMICS,
    TEMPORAL,
    Network,
    TemporalNetwork,
    activity_driven,
    barabasi_albert,
    complete,
    cycle,
    edge_markovian,
    failing_edges,
    gossip,
    growing,
    path,
    rewiring,
    star,
    watts_strogatz,
)
from peerpressure.networks._sampling import activities, distinct_others, mean_activity, truncated_geometric
from tests.networks.strategies import same

ALPHA = 1e-4
ERRORS = 5

SMALL: dict[str, Callable[[int], TemporalNetwork]] = {
    "failing_edges": lambda seed: failing_edges(cycle(30), 0.3, 20, seed=seed),
    "edge_markovian": lambda seed: edge_markovian(30, 0.02, 0.3, 20, seed=seed),
    "activity_driven": lambda seed: activity_driven(30, 20, seed=seed, contacts=2, floor=0.1),
    "rewiring": lambda seed: rewiring(cycle(30), 0.1, 20, seed=seed),
    "growing": lambda seed: growing(30, 2, 20, seed=seed),
    "gossip": lambda seed: gossip(cycle(30), 20, seed=seed),
}


def presence(network: TemporalNetwork, steps: int) -> NDArray[np.bool_]:
    """Whether each pair is joined at each step, shape (steps, pairs)."""
    upper = np.triu_indices(network.n, 1)
    return np.array([network.at(t).toarray()[upper] > 0 for t in range(1, steps + 1)])


def test_every_temporal_generator_has_an_example() -> None:
    assert TEMPORAL.keys() | DYNAMICS.keys() == SMALL.keys()


@pytest.mark.parametrize("name", SMALL)
def test_same_seed_gives_the_same_temporal_network(name: str) -> None:
    one, same_seed, other = SMALL[name](1), SMALL[name](1), SMALL[name](2)
    assert all(np.array_equal(a, b) for a, b in zip(one.events, same_seed.events, strict=True))
    assert not np.array_equal(one.at(20).toarray(), other.at(20).toarray())


@pytest.mark.parametrize("p", [0.02, 0.5, 0.9])
def test_edges_fail_independently(p: float) -> None:
    steps, ring = 400, cycle(200)
    network = failing_edges(ring, p, steps, seed=3)
    i, j, _ = ring.edges()
    up = np.array([network.at(t)[i, j] for t in range(1, steps + 1)])
    assert up.shape == (steps, 200)
    assert stats.binomtest(int(up.sum()), up.size, 1 - p).pvalue > ALPHA
    switched = int(np.sum(up[1:] != up[:-1]))
    assert np.count_nonzero(network.event_times > 1) == switched
    # Changes of one edge at neighbouring steps share a draw, which makes them vary more than independent ones.
    q = p * (1 - p)
    error = np.sqrt((steps - 1) * 200 * (2 * q * (1 - 2 * q) + 2 * q * (1 - 4 * q)))
    assert abs(switched - 2 * q * (steps - 1) * 200) < ERRORS * error


def test_edges_that_never_fail_are_the_network() -> None:
    weighted = Network.from_edges(np.array([[0, 1], [1, 2]]), [2.0, 3.5], labels="abc")
    assert same(failing_edges(weighted, 0, 50, seed=1).snapshot(1), weighted)
    assert failing_edges(weighted, 0, 50, seed=1).is_constant
    flickering = failing_edges(weighted, 0.5, 50, seed=1)
    assert set(flickering.weights.tolist()) == {0, 2, 3.5}
    assert flickering.labels == ("a", "b", "c")


MARKOV = [(60, 0.01, 0.2), (60, 0.4, 0.3), (60, 1.0, 1.0), (60, 0.001, 0.002)]


@pytest.mark.parametrize(("n", "birth", "death"), MARKOV)
@pytest.mark.parametrize("base", ["all pairs", "edges"])
def test_edge_markovian_rates(n: int, birth: float, death: float, base: str) -> None:
    steps = 40
    network = edge_markovian(n if base == "all pairs" else complete(n), birth, death, steps, seed=5)
    up = presence(network, steps)
    pairs, stationary = up.shape[1], birth / (birth + death)
    # Pairs are independent of one another: at any one step their number is binomial, at the last as at the first.
    for t in (0, steps // 2, steps - 1):
        assert stats.binomtest(int(up[t].sum()), pairs, stationary).pvalue > ALPHA
    # Given that it is joined (or not), a pair parts (or meets) by a coin of its own at every step.
    for state, chance in ((True, death), (False, birth)):
        at_risk = up[:-1] == state
        assert stats.binomtest(int(np.sum(up[1:][at_risk] != state)), int(at_risk.sum()), chance).pvalue > ALPHA


def test_edge_markovian_autocorrelation() -> None:
    birth, death, steps = 0.05, 0.1, 9
    up = presence(edge_markovian(250, birth, death, steps, seed=7), steps)
    stationary = birth / (birth + death)
    centred = up - stationary
    for lag in (1, 4, 8):
        products = centred[lag] * centred[0] / (stationary * (1 - stationary))
        error = products.std() / np.sqrt(products.size)
        assert abs(products.mean() - (1 - birth - death) ** lag) < ERRORS * error


def test_edge_markovian_lifetimes_are_geometric() -> None:
    death, steps = 0.25, 300
    network = edge_markovian(100, 0.005, death, steps, seed=9)
    begun = np.flatnonzero((network.weights > 0) & (network.event_times > 1) & (network.event_times < steps - 80))
    lives = network.intervals.last[begun] - network.event_times[begun] + 1
    assert abs(lives.mean() - 1 / death) < ERRORS * np.sqrt((1 - death) / death**2 / lives.size)
    counts = np.bincount(lives, minlength=26)[1:26].astype(float)
    expected = lives.size * stats.geom.pmf(np.arange(1, 26), death)
    rest = lives.size - counts.sum(), lives.size - expected.sum()
    assert stats.chisquare([*counts, rest[0]], [*expected, rest[1]]).pvalue > ALPHA


@pytest.mark.parametrize(("chance", "steps"), [(0.3, 4), (1e-9, 5), (1.0, 3), (0.9, 400)])
def test_truncated_geometric_distribution(chance: float, steps: int) -> None:
    draws = truncated_geometric(chance, steps, 20_000, np.random.default_rng(3))
    assert draws.min() >= 1
    assert draws.max() <= steps
    pmf = stats.geom.pmf(np.arange(1, steps + 1), chance)
    expected = draws.size * pmf / pmf.sum()
    counts = np.bincount(draws, minlength=steps + 1)[1:]
    enough = expected >= 20
    cells = [[*values[enough], values[~enough].sum()] for values in (counts, expected)]
    if enough.sum() > 1:
        assert stats.chisquare(*(np.array(cell)[: None if cells[1][-1] else -1] for cell in cells)).pvalue > ALPHA


def test_edge_markovian_with_millions_of_pairs() -> None:
    n, birth, death, steps = 10**5, 1e-9, 0.05, 200
    network = edge_markovian(n, birth, death, steps, seed=1)
    pairs = n * (n - 1) / 2
    mean = pairs * birth / (birth + death)
    for t in (1, 100, 200):
        assert abs(network.at(t).nnz / 2 - mean) < ERRORS * np.sqrt(mean)
    births = np.count_nonzero((network.event_times > 1) & (network.weights > 0))
    assert abs(births - pairs * birth * (steps - 1)) < ERRORS * np.sqrt(pairs * birth * (steps - 1))


@pytest.mark.parametrize(("exponent", "floor"), [(2.8, 0.01), (1.0, 0.05), (2.0, 0.1), (0.0, 0.2), (60.0, 0.001)])
def test_activity_distribution(exponent: float, floor: float) -> None:
    drawn = activities(exponent, floor, 20_000, np.random.default_rng(1))
    assert floor <= drawn.min() <= drawn.max() <= 1
    assert abs(drawn.mean() - mean_activity(exponent, floor)) < ERRORS * drawn.std() / np.sqrt(drawn.size)

    def below(a: NDArray[np.float64]) -> NDArray[np.float64]:
        if exponent == 1:
            return np.asarray(np.log(a / floor) / np.log(1 / floor))
        return np.asarray((1 - (a / floor) ** (1 - exponent)) / (1 - floor ** (exponent - 1)))

    assert stats.kstest(drawn, below).pvalue > ALPHA


def test_agents_are_as_active_at_the_last_step_as_before() -> None:
    """Agents whose next contact lies beyond the last step once had it there."""
    edges = np.array([[activity_driven(40, 3, seed=seed).at(t).nnz / 2 for t in (1, 2, 3)] for seed in range(100)])
    expected, error = 40 * mean_activity(2.8, 0.01), edges.std(axis=0) / 10
    assert (abs(edges.mean(axis=0) - expected) < ERRORS * error).all()


@pytest.mark.parametrize("contacts", [1, 3])
def test_activity_driven_contacts(contacts: int) -> None:
    n, steps, exponent, floor = 3_000, 60, 2.8, 0.02
    network = activity_driven(n, steps, seed=2, contacts=contacts, exponent=exponent, floor=floor)
    degrees = np.array([network.degrees_at(t) for t in range(1, steps + 1)])
    a = mean_activity(exponent, floor)
    # A pair is joined unless neither seeks the other.
    mean = (n - 1) * (1 - (1 - a * contacts / (n - 1)) ** 2)
    # An agent's mean degree, m times its activity and what others seek, varies most by the activity.
    of_agents = degrees.mean(axis=0)
    assert abs(of_agents.mean() - mean) < ERRORS * 2 * of_agents.std() / np.sqrt(n)
    assert abs(mean - 2 * contacts * a) < 2 * contacts * a * contacts / (n - 1)
    assert not network.aggregate.is_weighted or set(network.weights.tolist()) == {0, 1}
    assert network.at(steps + 1).nnz == 0
    assert activity_driven(n, steps, seed=2, contacts=contacts, floor=floor, repeat=True).period == steps


def test_distinct_others_are_uniform() -> None:
    n, m, rows = 6, 3, 20_000
    who = np.arange(rows) % n
    found = distinct_others(who, n, m, np.random.default_rng(4))
    assert not np.any(found == who[:, None])
    assert np.all(np.diff(np.sort(found, axis=1), axis=1) > 0)
    for agent in range(n):
        sets, counts = np.unique(np.sort(found[who == agent], axis=1), axis=0, return_counts=True)
        assert len(sets) == 10  # all choices of 3 from 5
        assert stats.chisquare(counts).pvalue > ALPHA


def test_distinct_others_may_be_all_others() -> None:
    network = activity_driven(4, 3, seed=1, contacts=3, exponent=0, floor=0.999)
    assert np.array_equal(network.at(1).toarray(), complete(4).adjacency.toarray())


def test_rewiring_keeps_one_end_and_the_weight() -> None:
    start = Network(watts_strogatz(60, 4, 0.2, seed=1).adjacency * 2.5, labels=[f"agent {k}" for k in range(60)])
    network = rewiring(start, 0.02, 60, seed=3)
    assert same(network.snapshot(1), start)
    assert network.labels == start.labels
    before = start.adjacency.toarray()
    for t in range(2, 61):
        now = network.at(t).toarray()
        assert np.count_nonzero(now) == np.count_nonzero(before)
        assert now.sum() == before.sum()
        assert np.all(np.diag(now) == 0)
        lost, won = np.triu(before) > np.triu(now), np.triu(now) > np.triu(before)
        # What ended and what began have so many ends in common that every move can have kept one of them.
        ends = [np.bincount(np.concatenate(np.nonzero(moved)), minlength=60) for moved in (lost, won)]
        assert np.minimum(*ends).sum() >= lost.sum()
        before = now


def test_rewiring_rate() -> None:
    rate, steps, start = 0.01, 120, cycle(2_000)
    network = rewiring(start, rate, steps, seed=4)
    i, j, _ = start.edges()
    for t in (2, 40, 120):
        # A moved edge comes back with a chance of order 1/n, far below the noise.
        kept = int(np.count_nonzero(network.at(t)[i, j]))
        assert stats.binomtest(kept, 2_000, (1 - rate) ** (t - 1)).pvalue > ALPHA


def test_rewiring_moves_either_end_equally_often() -> None:
    n = 20_000
    network = rewiring(cycle(n), 0.03, 2, seed=5)
    before, now = network.at(1), network.at(2)
    lost = np.stack((before > now).nonzero(), axis=1)
    grown = np.bincount((now > before).nonzero()[0], minlength=n) > 0
    first, second = (lost[lost[:, 0] < lost[:, 1]]).T
    # Where only one end has a new edge it is the end that stayed; chance meetings are alike for both ends.
    clear = grown[first] != grown[second]
    assert stats.binomtest(int(grown[first][clear].sum()), int(clear.sum()), 0.5).pvalue > ALPHA
    assert clear.sum() > 0.9 * first.size


def test_rewired_ends_are_uniform() -> None:
    """When all edges of a star have moved many times, their ends are thrown at random upon the agents."""
    n = 400
    degrees = rewiring(star(n), 0.2, 120, seed=6).degrees_at(120)
    assert degrees.sum() == 2 * (n - 1)
    assert ALPHA < stats.chisquare(degrees).pvalue < 1 - ALPHA


def test_edges_of_a_complete_graph_are_not_rewired() -> None:
    assert rewiring(complete(5), 0.5, 20, seed=1).is_constant


@pytest.mark.parametrize(("n", "m", "steps"), [(200, 2, 50), (50, 1, 500), (30, 29, 5), (2, 1, 1)])
def test_growing_ends_as_preferential_attachment(n: int, m: int, steps: int) -> None:
    network, final = growing(n, m, steps, seed=8), barabasi_albert(n, m, seed=8)
    assert same(network.snapshot(steps), final)
    assert network.snapshot(1).edge_count == m
    joined = np.array([np.count_nonzero(network.degrees_at(t)) for t in range(1, steps + 1)])
    edges = np.array([network.at(t).nnz // 2 for t in range(1, steps + 1)])
    assert np.array_equal(edges, m * (joined - m))
    # Evenly: no step sees more newcomers than another by more than one.
    if n > m + 1:
        assert np.ptp(np.diff(joined)) <= 1
    early = growing(n, m, steps, seed=8).at(steps // 2 + 1).toarray()
    count = joined[steps // 2]
    assert np.array_equal(early[:count, :count], final.adjacency.toarray()[:count, :count])


def test_repeat_is_periodic() -> None:
    for network in (
        failing_edges(path(5), 0.5, 6, seed=1, repeat=True),
        edge_markovian(5, 0.5, 0.5, 6, seed=1, repeat=True),
    ):
        assert network.period == 6
        assert [network.at(t).toarray().tolist() for t in range(1, 7)] == [
            network.at(t).toarray().tolist() for t in range(601, 607)
        ]


def test_gossip_has_one_edge_at_a_time_with_its_probability() -> None:
    base, steps = Network.from_edges([(0, 1), (1, 2), (2, 3)], [1.0, 2.0, 0.5]), 1500
    network = gossip(base, steps, seed=3, probabilities=[1, 2, 5])
    found = np.array([network.at(t).toarray()[[0, 1, 2], [1, 2, 3]] for t in range(1, steps + 1)])
    assert np.all(np.count_nonzero(found, axis=1) == 1)
    assert np.array_equal(found.max(axis=0), [1.0, 2.0, 0.5])
    expected = np.array([1, 2, 5]) / 8
    error = np.sqrt(expected * (1 - expected) / steps)
    assert np.all(np.abs((found > 0).mean(axis=0) - expected) < ERRORS * error)
    assert network.at(steps + 1).nnz == 0
    assert network.isolated == "keep"


def test_the_law_of_gossip_is_kept_with_the_network() -> None:
    base = Network.from_edges([(0, 1), (1, 2), (3, 4)])
    network = gossip(base, 50, seed=1, probabilities=[0.5, 0.25, 0.25])
    part = network.largest_component()
    for one, chances, n in ((network, [0.5, 0.25, 0.25], 5), (part, [0.5, 0.25], 3)):
        law = TemporalNetwork.from_arrays(one.arrays()).law
        assert law is not None
        assert law.chances is not None
        assert law.chances.tolist() == chances
        assert law.isolation == pytest.approx(1 - 2 * sum(chances) / n)
        assert one.isolated == "keep"


@pytest.mark.parametrize("given", [[1, 2], [1, 0, 1], [1, -1, 1], [1, np.nan, 1], ["a", "b", "c"], 0.5])
def test_probabilities_of_gossip_are_one_positive_number_for_each_edge(given: Any) -> None:
    with pytest.raises(NetworkError, match="one positive number for each of the 3 edges"):
        gossip(path(4), 10, seed=1, probabilities=given)


def test_a_seed_of_a_temporal_network_may_be_a_generator_or_left_out() -> None:
    builds: list[Callable[..., TemporalNetwork]] = [
        partial(failing_edges, cycle(9), 0.3, 20),
        partial(edge_markovian, 9, 0.2, 0.3, 20),
        partial(activity_driven, 9, 20),
        partial(rewiring, cycle(9), 0.3, 20),
        partial(growing, 20, 2, 20),
        partial(gossip, cycle(9), 20),
    ]
    for build in builds:
        drawn = int(np.random.default_rng(7).integers(2**63))
        one, other = build(seed=np.random.default_rng(7)), build(seed=drawn)
        assert all(np.array_equal(a, b) for a, b in zip(one.events, other.events, strict=True))
        for default in (build(), build(seed=None)):
            assert all(np.array_equal(a, b) for a, b in zip(default.events, build(seed=0).events, strict=True))
