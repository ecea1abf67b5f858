"""Invalid events, contacts, snapshots and parameters raise errors that name rule, value, place and remedy."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from peerpressure.errors import NetworkError, TooLargeError
from peerpressure.networks import (
    Network,
    TemporalNetwork,
    activity_driven,
    cycle,
    edge_markovian,
    failing_edges,
    growing,
    joint_connectivity,
    path,
    recorded_contacts,
    rewiring,
    shortest_window,
)

K2 = TemporalNetwork.constant(path(2))


def events(*rows: Any, **kwargs: Any) -> Callable[[], object]:
    return lambda: TemporalNetwork.from_events(list(rows), **kwargs)


def contacts(*rows: Any, **kwargs: Any) -> Callable[[], object]:
    return lambda: TemporalNetwork.from_contacts(list(rows) or [(0, "a", "b")], **kwargs)


def arrays(*columns: Any, **kwargs: Any) -> Callable[[], object]:
    return lambda: TemporalNetwork(*columns, **kwargs)


def snapshots(*graphs: Any, **kwargs: Any) -> Callable[[], object]:
    return lambda: TemporalNetwork.from_snapshots(graphs, **kwargs)


def stored(**changes: Any) -> Callable[[], object]:
    return lambda: TemporalNetwork.from_arrays({**K2.arrays(), **changes})


CASES: dict[str, tuple[Callable[[], object], list[str]]] = {
    "out of order": (events((5, "a", "b"), (3, "b", "c")), ["step 3 in row 2 after step 5", "sort them by time"]),
    "time 0": (events((0, "a", "b")), ["count from 1, got 0 in row 1", "time 1 to what holds from the start"]),
    "negative time": (arrays([-4], [0], [1]), ["count from 1, got -4"]),
    "real time": (events((1.5, "a", "b")), ["times must be whole numbers, got 1.5 in row 1", "from_contacts"]),
    "missing time": (arrays([1, np.nan], [0, 0], [1, 2]), ["whole numbers, got nan in row 2"]),
    "huge time": (arrays([1e300], [0], [1]), ["whole numbers, got 1e+300"]),
    "text for a time": (events(("noon", "a", "b")), ["times must be whole numbers", "from_contacts"]),
    "negative weight": (
        events((2, "a", "b", -1)),
        ["weight -1.0 between 'a' and 'b' at step 2", "distrust takes a signed network"],
    ),
    "nan weight": (events((2, "a", "b", np.nan)), ["weight nan between 'a' and 'b' at step 2", "finite"]),
    "infinite weight": (events((2, "a", "b", np.inf)), ["weight inf between"]),
    "text for a weight": (events((2, "a", "b", "much")), ["weights must be real numbers", "'much'"]),
    "too heavy": (events((1, "a", "b", 1e308), (2, "a", "b", 1.5e308)), ["sum of all weights", "divide"]),
    "self-loop": (events((2, "a", "b"), (2, "b", "b")), ["own neighbour", "'b' and 'b' at step 2", "stubbornness"]),
    "clash": (
        events((1, "a", "b"), (2, "b", "a", 3), (2, "a", "b", 4)),
        ["one weight through a step", "weight 4.0 between 'a' and 'b' at step 2 after 3.0", "keep one"],
    ),
    "none": (events(), ["must have events, got none"]),
    "two fields": (events((1, "a")), ["three or four fields, got (1, 'a') in row 1", "(time, source, target)"]),
    "no rows": (events(1, 2, 3), ["three or four fields, got 1 in row 1"]),
    "five columns": (lambda: TemporalNetwork.from_events(np.ones((2, 5))), ["shape (2, 5)", "weight"]),
    "unequal columns": (
        lambda: TemporalNetwork.from_events(([1, 2], ["a", "b"], ["b"])),
        ["2 times, 2 sources and 1 targets"],
    ),
    "unequal arrays": (arrays([1, 2], [0], [1]), ["shapes (2,), (1,), (1,)", "of one length"]),
    "unknown agent": (events((1, "ann", "bbo"), labels=["ann", "bob"]), ["unknown 'bbo'", "did you mean 'bob'?"]),
    "agent beyond n": (arrays([1, 1], [0, 0], [1, 7], n=3), ["0..2, got 7 in row 2", "count agents from 0"]),
    "agent below 0": (arrays([1], [-1], [1]), ["0..1, got -1 in row 1"]),
    "half an agent": (arrays([1], [0.5], [1]), ["sources must be whole numbers, got 0.5 in row 1"]),
    "one agent": (arrays([], [], [], n=1), ["at least 2 agents, got 1"]),
    "nobody": (arrays([], [], []), ["at least 2 agents, got 0", "k2()"]),
    "number of agents": (arrays([1], [0], [1], n=2.0), ["n must be a whole number", "2.0"]),
    "far away": (arrays([1], [0], [10**12]), ["1000000000001 agents with 1 edges", "without gaps"]),
    "labels": (arrays([1], [0], [1], labels=["a", "a"]), ["repeated 'a'"]),
    "short period": (events((1, "a", "b"), (9, "a", "b", 0), period=8), ["period of 8, got one at step 9", "longer"]),
    "period 0": (events((1, "a", "b"), period=0), ["period must be a whole number of at least 1, got 0"]),
    "step 0": (lambda: K2.at(0), ["t must be a whole number of at least 1, got 0"]),
    "half a step": (lambda: K2.degrees_at(1.5), ["at least 1, got 1.5"]),  # type: ignore[arg-type]
    "resolution": (contacts(resolution=0), ["resolution must be a positive number, got 0", "length of a step"]),
    "duration": (contacts(duration=-2), ["duration of a contact must be a positive number, got -2"]),
    "resolution in words": (contacts(resolution="5 min"), ["resolution must be a positive number, got '5 min'"]),
    "endless resolution": (contacts(resolution=np.inf), ["resolution must be a positive number, got inf"]),
    "origin": (contacts(origin="noon"), ["origin must be a number, got 'noon'", "first step begins"]),
    "silence": (contacts(skip_quiet=-1), ["skip_quiet must be a whole number of at least 0"]),
    "before the origin": (contacts((7, "a", "b"), origin=10), ["before the origin 10, got 7.0"]),
    "no end": (contacts((0, "a", "b"), (1e300, "a", "b")), ["1.0000000000000001e+300", "coarser"]),
    "contact without time": (contacts((np.nan, "a", "b")), ["time stamps must be finite, got nan in row 1"]),
    "contact at noon": (contacts(("noon", "a", "b")), ["numbers or dates, got 'noon' in row 1"]),
    "contact of weight 0": (contacts((1, "a", "b", 0)), ["weights must be above 0, got 0 in row 1"]),
    "contact of much": (contacts((1, "a", "b", "much")), ["weights must be real numbers, got 'much'"]),
    "contact with oneself": (contacts((3, "a", "a"), (3, "a", "b")), ["own neighbour", "'a' and 'a'"]),
    "contacts beyond the period": (
        contacts((0, "a", "b"), (9, "a", "b"), period=5),
        ["period of 5, got one at step 10"],
    ),
    "no snapshots": (snapshots(), ["must have snapshots, got none"]),
    "strange snapshot": (snapshots("abc"), ["a snapshot must be a Network", "got str"]),
    "one-way snapshot": (
        snapshots(np.array([[0, 1], [0, 0]])),
        ["symmetric", "0 to 1", "a directed network keeps them"],
    ),
    "distrust": (snapshots(Network([[0, -1], [-1, 0]], signed=True)), ["no negative weights"]),
    "snapshots out of order": (snapshots(path(2), path(2), times=[3, 3]), ["order of their times, got 3 after 3"]),
    "times of snapshots": (snapshots(path(2), times=[1, 2]), ["shape (2,) for 1 snapshots"]),
    "stored without times": (lambda: TemporalNetwork.from_arrays({}), ["event_times", "temporal.arrays()"]),
    "stored labels": (stored(labels=np.array(["{"])), ["stored labels must be JSON"]),
    "stored period": (stored(period=np.array("x")), ["event_times", "invalid literal"]),
    "probability": (
        lambda: failing_edges(cycle(3), 1.5, 5, seed=1),
        ["probability must be a probability below 1, got 1.5"],
    ),
    "always failing": (lambda: failing_edges(cycle(3), 1, 5, seed=1), ["probability must be", "below 1", "got 1"]),
    "failing what": (lambda: failing_edges(5, 0.5, 5, seed=1), ["Network, got int"]),  # type: ignore[arg-type]
    "no birth": (lambda: edge_markovian(5, 0, 0.5, 5, seed=1), ["birth must be a probability above 0, got 0"]),
    "death": (lambda: edge_markovian(5, 0.1, -0.5, 5, seed=1), ["death must be a probability, got -0.5"]),
    "one to meet": (lambda: edge_markovian(1, 0.1, 0.5, 5, seed=1), ["n must be a whole number of at least 2"]),
    "no steps": (lambda: edge_markovian(5, 0.1, 0.5, 0, seed=1), ["steps must be a whole number of at least 1"]),
    "seed": (lambda: edge_markovian(5, 0.1, 0.5, 5, seed=-1), ["seed", "a number such as 1"]),
    "contacts of all": (lambda: activity_driven(5, 5, seed=1, contacts=5), ["below n = 5, got 5"]),
    "no contacts": (lambda: activity_driven(5, 5, seed=1, contacts=0), ["contacts must be", "at least 1"]),
    "exponent": (lambda: activity_driven(5, 5, seed=1, exponent=-1), ["exponent must be", "of at least 0, got -1"]),
    "floor": (lambda: activity_driven(5, 5, seed=1, floor=0), ["floor must be", "got 0", "between 0 and 1"]),
    "rate": (lambda: rewiring(cycle(4), 2, 5, seed=1), ["rate must be a probability, got 2"]),
    "growing at once": (lambda: growing(5, 1, 1, seed=1), ["time to join, got 1 step for 3"]),
    "growing from nothing": (lambda: growing(5, 5, 9, seed=1), ["m must be below n = 5"]),
    "no window": (lambda: joint_connectivity(K2, 0), ["window must be", "every step by itself"]),
    "until before the window": (lambda: joint_connectivity(K2, 5, until=4), ["until", "at least 5", "one window"]),
    "until nothing": (lambda: shortest_window(K2, until=0), ["until must be", "at least 1"]),
    "recorded": (lambda: recorded_contacts("hopsital"), ["'hopsital'", "did you mean 'hospital'?"]),
}


@pytest.mark.parametrize(("make", "parts"), CASES.values(), ids=CASES.keys())
def test_invalid_temporal_input_raises(make: Callable[[], object], parts: list[str]) -> None:
    with pytest.raises(NetworkError) as caught:
        make()
    message = str(caught.value)
    assert all(part in message for part in parts), message
    assert re.fullmatch(r".+, got .+; .+", message), message


def test_too_large_temporal_networks_raise() -> None:
    for make in (
        lambda: edge_markovian(10**6, 0.5, 0.5, 10, seed=1),
        lambda: activity_driven(10**9, 10**6, seed=1),
        lambda: TemporalNetwork.from_contacts([(0, 0, 1)], 1e-9, duration=1e5),
        lambda: joint_connectivity(TemporalNetwork.from_events([(1, 0, 1)], period=1), 1, until=10**12),
    ):
        with pytest.raises(TooLargeError, match="fit in memory"):
            make()
