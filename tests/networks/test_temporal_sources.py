"""Temporal networks from events, contacts and snapshots."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from peerpressure.errors import NetworkError
from peerpressure.networks import Network, TemporalNetwork, cycle, path, star
from tests.networks.histories import History, histories
from tests.networks.strategies import same

ROWS: list[tuple[Any, ...]] = [(1, "ann", "bob", 1), (3, "bob", "cat", 2.5), (5, "ann", "bob", 0)]
PLACES = np.array([[1, 0, 1, 1], [3, 1, 2, 2.5], [5, 0, 1, 0]])
NAMES = ["ann", "bob", "cat"]


@pytest.mark.parametrize(
    ("events", "labels"),
    [
        (ROWS, None),
        (iter(ROWS), None),
        ([list(row) for row in ROWS], NAMES),
        ([(1, "ann", "bob"), *ROWS[1:]], None),
        (([1, 3, 5], ["ann", "bob", "ann"], ["bob", "cat", "bob"], [1, 2.5, 0]), None),
        (pd.DataFrame(ROWS, columns=["when", "who", "whom", "weight"]), None),
        (PLACES, NAMES),
        ((PLACES[:, 0], *PLACES[:, 1:3].astype(int).T, PLACES[:, 3]), NAMES),
    ],
    ids=["rows", "iterator", "lists", "some weights", "columns", "data frame", "array", "arrays"],
)
def test_from_events_accepts_rows_columns_arrays_and_frames(events: Any, labels: Any) -> None:
    network = TemporalNetwork.from_events(events, labels=labels)
    assert network.labels == ("ann", "bob", "cat")
    assert [column.tolist() for column in network.events] == [[1, 3, 5], [0, 1, 0], [1, 2, 1], [1, 2.5, 0]]


def test_integers_in_rows_are_labels_and_in_arrays_positions() -> None:
    rows = [(1, 30, 10), (2, 20, 10)]
    assert TemporalNetwork.from_events(rows).labels == (10, 20, 30)
    assert TemporalNetwork.from_events(pd.DataFrame(rows)).labels == (10, 20, 30)
    assert TemporalNetwork.from_events(np.array(rows)).n == 31
    assert TemporalNetwork.from_events([(1, 3, 1)], n=5).labels == range(5)


@settings(max_examples=40, deadline=None)
@given(histories())
def test_snapshots_round_trip(history: History) -> None:
    network = history.network()
    steps = range(1, network.span + 1)
    for graphs in (
        [network.snapshot(t) for t in steps],
        [network.at(t) for t in steps],
        [history.dense(t) for t in steps],
        [network.snapshot(t).to_networkx() for t in steps],
    ):
        again = TemporalNetwork.from_snapshots(graphs, period=network.period)
        assert [column.tolist() for column in again.events] == [column.tolist() for column in network.events]
    changes = [1, *network.change_times[network.change_times > 1].tolist()]
    again = TemporalNetwork.from_snapshots([network.at(t) for t in changes], times=changes)
    assert [column.tolist() for column in again.events] == [column.tolist() for column in network.events]


def test_snapshots_match_agents_by_label() -> None:
    graphs = [nx.Graph([("a", "b")]), nx.Graph([("c", "b")]), nx.empty_graph(0), nx.Graph()]
    graphs[3].add_node("d")
    network = TemporalNetwork.from_snapshots(graphs, times=[1, 4, 6, 7])
    assert network.labels == ("a", "b", "c", "d")
    assert same(network.snapshot(3), Network.from_edges([("a", "b")], labels="abcd"))
    assert same(network.snapshot(5), Network.from_edges([("b", "c")], labels="abcd"))
    assert network.at(6).nnz == network.at(7).nnz == 0


def test_directed_events_contacts_and_snapshots() -> None:
    ways = np.array([[0, 2, 0], [0, 0, 1], [0, 1, 0]])
    edges = [("a", "b", 2.0), ("b", "c", 1.0), ("c", "b", 1.0)]
    graph = nx.DiGraph()
    graph.add_weighted_edges_from(edges)
    rows = [(1, *edge) for edge in edges]
    made = [
        TemporalNetwork.from_snapshots([ways], directed=True),
        TemporalNetwork.from_snapshots([graph]),
        TemporalNetwork.from_snapshots([Network.from_networkx(graph)]),
        TemporalNetwork.from_events(rows, directed=True),
        TemporalNetwork.from_contacts(rows, directed=True),
        TemporalNetwork.constant(Network.from_networkx(graph)),
    ]
    for network in made:
        assert network.directed
        assert network.snapshot(1).directed
        assert network.aggregate.directed
        np.testing.assert_array_equal(network.at(1).toarray(), ways)
        again = TemporalNetwork.from_arrays(network.arrays())
        assert again.directed
        np.testing.assert_array_equal(again.at(1).toarray(), ways)
    assert "3 directed pairs" in repr(network)
    # Directed is a fact: an edge and its reverse are one.
    both = [(1, "a", "b"), (1, "b", "a"), (3, "a", "b", 0), (3, "b", "a", 0)]
    assert not TemporalNetwork.from_events(both, directed=True).directed
    assert TemporalNetwork.from_events(both[:3], directed=True).directed
    assert TemporalNetwork.from_events(both, directed=True).events.times.tolist() == [1, 3]


def test_snapshots_of_mixed_types_and_sizes() -> None:
    network = TemporalNetwork.from_snapshots([path(3), sp.coo_array(cycle(4).adjacency), star(5)])
    assert network.labels == range(5)
    assert np.array_equal(network.at(2).toarray()[:4, :4], cycle(4).adjacency.toarray())
    assert same(network.snapshot(3), star(5))


CONTACTS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 4), st.integers(0, 4)).filter(lambda c: c[1] != c[2]),
    min_size=1,
    max_size=40,
)


def met(contacts: list[tuple[int, int, int]], begin: int, end: int, lasting: int) -> NDArray[np.float64]:
    """How often each pair is in contact in a stretch of time, the slow way; a moment lasts nearly no time."""
    A = np.zeros((5, 5))
    for time, i, j in contacts:
        if time < end and begin < (time + lasting if lasting else time + 0.5):
            A[i, j] += 1
            A[j, i] += 1
    return A


@settings(max_examples=60, deadline=None)
@given(CONTACTS, st.integers(1, 9), st.none() | st.integers(1, 12), st.booleans(), st.randoms(use_true_random=False))
def test_edges_exist_in_the_steps_of_their_contacts(
    contacts: list[tuple[int, int, int]], resolution: int, lasting: int | None, weighted: bool, random: Any
) -> None:
    shuffled = random.sample(contacts, len(contacts))
    network = TemporalNetwork.from_contacts(
        np.array(shuffled), resolution, origin=-3, duration=lasting, weighted=weighted, n=5
    )
    for k in range(1, 85 // resolution + 2):
        begin = -3 + (k - 1) * resolution
        want = met(contacts, begin, begin + resolution, lasting or 0)
        assert np.array_equal(network.at(k).toarray(), want if weighted else want > 0)
    assert network.at(network.last_change).nnz == 0


@settings(max_examples=60, deadline=None)
@given(CONTACTS, st.integers(1, 9), st.integers(0, 5))
def test_skip_quiet(contacts: list[tuple[int, int, int]], resolution: int, quiet: int) -> None:
    kept, skipped = (
        TemporalNetwork.from_contacts(np.array(contacts), resolution, n=5, skip_quiet=skip) for skip in (None, quiet)
    )
    sequence = [kept.at(t).toarray() for t in range(1, kept.last_change)]
    want, silent = [], []
    for A in sequence:
        silent.append(A)
        if A.any():
            want += silent if len(silent) - 1 <= quiet else [A]
            silent = []
    assert skipped.last_change == len(want) + 1
    assert all(np.array_equal(skipped.at(t).toarray(), A) for t, A in enumerate(want, start=1))


def test_contacts_may_repeat() -> None:
    contacts = np.array([[0, 0, 1], [20, 1, 2], [50, 0, 2]])
    once = TemporalNetwork.from_contacts(contacts, 10)
    again = TemporalNetwork.from_contacts(contacts, 10, repeat=True)
    daily = TemporalNetwork.from_contacts(contacts, 10, period=24)
    assert (once.period, again.period, daily.period) == (None, 6, 24)
    for t in range(1, 60):
        assert once.at(t).nnz == (2 if t in {1, 3, 6} else 0)
        assert np.array_equal(again.at(t).toarray(), once.at((t - 1) % 6 + 1).toarray())
        assert np.array_equal(daily.at(t).toarray(), once.at((t - 1) % 24 + 1).toarray())


def test_time_stamps_are_robust_to_rounding() -> None:
    times = np.round(np.arange(40) * 0.1, 1)  # 0.3 / 0.1 is a little less than 3
    network = TemporalNetwork.from_contacts((times, np.zeros(40, int), np.arange(40) + 1), 0.1)
    assert [int(network.at(t).indices.max()) for t in range(1, 41)] == list(range(1, 41))


def test_late_time_stamps_keep_their_fractions() -> None:
    # A tolerance of 1e-9 of the step number was a whole step here, and moved the first contact to the next step.
    for origin in (0.0, 1082040960.0):
        stamps = np.array([1082040961.7, 1082040962.1, 1082040963.0])
        network = TemporalNetwork.from_contacts((stamps, np.zeros(3, int), np.arange(3) + 1), origin=origin)
        starts = network.event_times[network.weights > 0] + origin
        assert starts.tolist() == [1082040962, 1082040963, 1082040964]
    late = TemporalNetwork.from_contacts((np.array([1e9 + 0.3]), np.array([0]), np.array([1])), 0.1, origin=1e9)
    assert late.event_times[0] == 4
    with pytest.raises(NetworkError, match="coarser than the digits of the time stamps, got 1e-07 for"):
        TemporalNetwork.from_contacts([(1082040961.7, "a", "b"), (1082040962.1, "c", "b")], 1e-7)


def test_columns_of_a_data_frame_are_found_by_name() -> None:
    columns = {"note": ["x", "y"], "src": ["a", "b"], "dst": ["b", "c"], "ts": [0, 20], "weight": [2.0, 3.0]}
    network = TemporalNetwork.from_contacts(pd.DataFrame(columns), 10)
    assert network.labels == ("a", "b", "c")
    assert [network.at(t).sum() / 2 for t in (1, 2, 3)] == [2, 0, 3]
    with pytest.raises(NetworkError, match="named time, source and target, got 'src', 'dst', 'seen'"):
        TemporalNetwork.from_contacts(pd.DataFrame({"src": [1], "dst": [2], "seen": [3]}))


@pytest.mark.parametrize(
    "stamps",
    [
        ["2024-01-31T12:00:00", "2024-01-31T13:00:00"],
        [datetime(2024, 1, 31, 12), datetime(2024, 1, 31, 13)],
        pd.to_datetime(["2024-01-31 12:00", "2024-01-31 13:00"], utc=True).tolist(),
    ],
)
def test_rows_may_have_dates(stamps: list[Any]) -> None:
    network = TemporalNetwork.from_contacts([(stamps[0], "a", "b"), (stamps[1], "b", "c")], 1800, origin=1706702400)
    assert [network.at(t).nnz for t in (1, 2, 3, 4)] == [2, 0, 2, 0]
    with pytest.raises(NetworkError, match=r"got '?7'? in row 2; use seconds or ISO dates; all times must be dates"):
        TemporalNetwork.from_contacts([(stamps[0], "a", "b"), (7, "b", "c")], 1800)


def test_dates_are_converted_to_seconds() -> None:
    when = pd.to_datetime(["2009-10-01T08:00:00", "2009-10-01T08:04:59", "2009-10-01T08:05:00"])
    table = pd.DataFrame({"when": when, "who": ["x", "x", "y"], "whom": ["y", "z", "z"]})
    network = TemporalNetwork.from_contacts(table, 300)
    assert network.labels == ("x", "y", "z")
    assert [network.at(t).nnz for t in (1, 2, 3)] == [4, 2, 0]


def test_weights_of_contacts_add_up() -> None:
    network = TemporalNetwork.from_contacts([(0, "a", "b", 2.0), (0.5, "b", "a", 3.0), (1, "a", "b", 7.0)])
    assert [network.at(t)[0, 1] for t in (1, 2, 3)] == [5, 7, 0]
