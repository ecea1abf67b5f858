"""TemporalNetwork against the dense sequence of its matrices."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings

from peerpressure.errors import NetworkError
from peerpressure.networks import Network, TemporalNetwork, _events, edge_markovian, failing_edges, named, path
from tests.networks.histories import History, histories
from tests.networks.strategies import same


@given(histories())
@settings(max_examples=100, deadline=None)
def test_adjacency_at_every_step_matches_the_events(history: History) -> None:
    network, last = history.network(), history.horizon
    there = list(range(1, last + 1))
    jumps = sorted(there, key=lambda t: (t * 7919) % 31)
    for t in [*there, *reversed(there), *jumps]:
        A = network.at(t)
        A.check_format(full_check=True)
        assert np.array_equal(A.toarray(), history.dense(t))
        assert np.array_equal(network.degrees_at(t), history.dense(t).sum(axis=1))
        assert A.dtype == np.float64
        assert np.all(A.data > 0)


@settings(max_examples=40, deadline=None)
@given(histories())
def test_events_without_effect_are_dropped(history: History) -> None:
    network = history.network()
    before = np.zeros((network.n, network.n))
    for t in range(1, network.last_change + 1):
        now = network.event_times == t
        i, j, weights = network.sources[now], network.targets[now], network.weights[now]
        assert np.all(i < j)
        assert np.array_equal(weights, history.dense(t)[i, j])
        assert np.array_equal(np.argwhere(np.triu(history.dense(t)) != np.triu(before)), np.stack([i, j], axis=1))
        before = history.dense(t)


@settings(max_examples=40, deadline=None)
@given(histories())
def test_aggregate_is_the_mean_over_the_span(history: History) -> None:
    network = history.network()
    mean = np.mean([history.dense(t) for t in range(1, network.span + 1)], axis=0)
    np.testing.assert_allclose(network.aggregate.adjacency.toarray(), mean, rtol=1e-13)
    edges = np.mean([np.count_nonzero(np.triu(history.dense(t))) for t in range(1, network.span + 1)])
    assert network.mean_edges == pytest.approx(edges)
    assert network.pair_count == network.aggregate.edge_count == np.count_nonzero(np.triu(mean))
    assert network.is_constant == all(np.array_equal(history.dense(t), mean) for t in range(1, network.span + 1))


def test_rare_edges_stay_in_the_aggregate() -> None:
    network = TemporalNetwork([1, 2], [0, 0], [1, 1], [5e-324, 0], n=2, period=1000)
    assert network.aggregate.edge_count == 1


@settings(max_examples=40, deadline=None)
@given(histories())
def test_arrays_and_pickle_round_trip(history: History) -> None:
    network = history.network()
    archive = BytesIO()
    np.savez(archive, allow_pickle=False, **network.arrays())
    archive.seek(0)
    network.at(network.last_change)
    with np.load(archive, allow_pickle=False) as arrays:
        stored = TemporalNetwork.from_arrays(arrays)
    for other in (stored, pickle.loads(pickle.dumps(network)), copy.deepcopy(network)):
        assert (other.n, other.period, other.labels) == (network.n, network.period, network.labels)
        for one, two in zip(network.events, other.events, strict=True):
            assert np.array_equal(one, two)
            assert one.dtype == two.dtype
            assert not two.flags.writeable


def test_labels_and_indices() -> None:
    network = TemporalNetwork.from_events([(1, "bob", "ann"), (2, "ann", ("c", 1))])
    assert network.labels == ("bob", "ann", ("c", 1))
    assert network.index(("c", 1)) == 2
    assert network.indices(["ann", "bob"]).tolist() == [1, 0]
    assert TemporalNetwork.from_arrays(network.arrays()).labels == network.labels
    with pytest.raises(NetworkError, match=r"unknown 'anna'.*did you mean 'ann'"):
        network.index("anna")


def test_temporal_network_is_immutable() -> None:
    network = TemporalNetwork([1], [0], [1])
    for column in (*network.events, network.at(1).data, network.at(1).indices, network.degrees_at(1)):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 2
    with pytest.raises(FrozenInstanceError):
        network.period = 3  # type: ignore[misc]


def test_unchanged_steps_share_one_matrix() -> None:
    network = TemporalNetwork([1, 5], [0, 0], [1, 1], [1, 0], n=3)
    assert network.at(1) is network.at(4)
    assert network.at(4) is not network.at(5)
    assert network.at(5) is network.at(10**12)


@pytest.mark.parametrize("room", [0, 5_000, 10**9])
def test_cache_size_does_not_change_results(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_events, "KEPT", room)
    network = edge_markovian(12, 0.1, 0.3, 40, seed=2, repeat=True)
    fresh = [TemporalNetwork.from_arrays(network.arrays()).at(t).toarray() for t in range(1, 41)]
    for t in [*range(1, 95), *range(95, 0, -1)]:
        assert np.array_equal(network.at(t).toarray(), fresh[(t - 1) % 40])


def test_threads_may_share_a_temporal_network() -> None:
    network = edge_markovian(30, 0.1, 0.3, 60, seed=4)
    want = [TemporalNetwork.from_arrays(network.arrays()).at(t).toarray() for t in range(1, 61)]
    steps = np.random.default_rng(0).integers(1, 61, 400).tolist()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda t: network.at(t).toarray(), steps))
    assert all(np.array_equal(A, want[t - 1]) for t, A in zip(steps, found, strict=True))


def test_constant_network_equals_the_static_network() -> None:
    club = named("les_miserables")
    constant = TemporalNetwork.constant(club)
    assert constant.is_constant
    assert constant.last_change == constant.span == 1
    assert same(constant.snapshot(10**6), club)
    assert same(constant.aggregate, club)
    assert np.array_equal(constant.degrees_at(1), club.degrees)


def test_snapshots_may_be_disconnected() -> None:
    network = TemporalNetwork([2], [0], [1], labels=["a", "b", "c"])
    assert network.at(1).nnz == 0
    assert network.change_times.tolist() == [2]
    assert same(network.snapshot(2), Network.from_edges([("a", "b")], labels=["a", "b", "c"]))


@settings(max_examples=40, deadline=None)
@given(histories())
def test_largest_component_keeps_the_events_of_its_agents(history: History) -> None:
    network = history.network()
    if not network.event_times.size:
        with pytest.raises(NetworkError, match="at least 2 agents"):
            network.largest_component()
        return
    part = network.largest_component()
    assert part.aggregate.is_connected
    assert part.labels in (network.labels, network.aggregate.largest_component().labels)
    kept = np.array(part.labels)
    for t in range(1, history.horizon):
        assert np.array_equal(part.at(t).toarray(), history.dense(t)[np.ix_(kept, kept)])


def test_memory_of_many_events() -> None:
    network = failing_edges(path(10**4), 0.5, 21, seed=1)
    assert network.event_times.size > 10**5
    assert sum(column.nbytes for column in network.events) < 3 * 2**20
    t = 13
    now = network.at(t)
    i, j = now.tocoo().coords
    assert np.all(np.abs(i - j) == 1)
    network.at(t + 1)
    assert np.array_equal(network.at(t).indices, now.indices)


def test_temporal_network_repr() -> None:
    network = TemporalNetwork([1, 1, 4], [0, 1, 0], [1, 2, 1], [1, 1, 0])
    assert repr(network) == "TemporalNetwork(3 agents, 2 pairs, 1 change over 1…4, on average 1.75 edges)"
    again = TemporalNetwork([1, 1, 3], [0, 1, 0], [1, 2, 1], [1, 1, 0], period=4)
    assert repr(again) == "TemporalNetwork(3 agents, 2 pairs, 1 change over 1…4, repeated, on average 1.5 edges)"
    assert repr(TemporalNetwork.constant(path(3))) == "TemporalNetwork(3 agents, 2 pairs, constant)"
