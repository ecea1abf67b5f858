"""Temporal networks during a run: rows with room for all neighbours over time, and changes applied between steps.

A row has its present neighbours only, in the order of the agents: the cost of a step is that of its own network, and a
network after changes is equal, bit for bit, to the one with which a run would start at that step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerpressure.networks import TemporalNetwork
from peerpressure.simulation.engine.arguments import Changes, Graph
from peerpressure.simulation.engine.plan import network_step
from peerpressure.simulation.engine.random import U64
from peerpressure.support.dates import whole_steps


def roomy_graph(network: TemporalNetwork, t: int, dtype: np.dtype[Any]) -> Graph:
    """Return the network of step t with room in each row for every neighbour that the agent ever has."""
    present, room = network.at(t), np.diff(network.aggregate.adjacency.indptr)
    kind: Any = np.uint64 if room.sum(dtype=np.int64) > np.iinfo(np.uint32).max else np.uint32
    # Rows never move: room for every neighbour over time makes an insertion local to its row.
    starts = np.concatenate([[0], np.cumsum(room, dtype=np.int64)])
    degrees = np.diff(present.indptr)
    # Zeros in the unused room, which no kernel reads, since it stops at ``ends``.
    columns, weights = np.zeros(starts[-1], np.uint32), np.zeros(starts[-1], dtype)
    # Sorted columns fix the order of the sums, and allow the binary search of a change.
    ordered = present.sorted_indices()
    places = np.repeat(starts[:-1] - ordered.indptr[:-1], degrees) + np.arange(ordered.nnz)
    columns[places], weights[places] = ordered.indices, ordered.data
    return Graph(
        starts=starts.astype(kind),
        ends=(starts[:-1] + degrees).astype(kind),
        columns=columns,
        weights=weights,
        stride=np.uint64(1),
        order=np.zeros(0, np.uint16),
        sums=np.zeros(0, dtype),
    )


def copy_of(graph: Graph) -> Graph:
    """Return a graph whose rows can change while the original stays."""
    # Starts never change, and are shared.
    return graph._replace(ends=graph.ends.copy(), columns=graph.columns.copy(), weights=graph.weights.copy())


def no_changes(steps: int, dtype: np.dtype[Any]) -> Changes:
    """Return the changes of a constant network: one interval."""
    nobody = np.zeros(0, np.uint32)
    return Changes(np.array([0, steps]), np.zeros(2, np.int64), nobody, nobody, np.zeros(0, dtype))


class EventArrays:
    """A temporal network's changes in the order of a run, repeated if they are periodic.

    A change is one of a row; edges of undirected networks, whose changes are those of two rows, are ``paired`` if the
    reader makes both from one. ``pace`` is the length of a step of the run: 1 in discrete time, and at most that in
    continuous time.
    """

    def __init__(
        self, network: TemporalNetwork, dtype: np.dtype[Any], pace: float = 1.0, *, paired: bool = False
    ) -> None:
        self.network = network
        self.dtype = dtype
        self.pace = pace
        # Events at step 1 are part of the network with which a run starts.
        later = np.searchsorted(network.event_times, 1, side="right")
        times = network.event_times[later:]
        parts: list[NDArray[Any]] = [network.sources[later:], network.targets[later:], network.weights[later:]]
        if network.period is not None:
            # Before the first step of the next period, every changed weight returns to its first value.
            back = _difference(network)
            times = np.concatenate([times, np.full(back[0].size, network.period + 1)])
            parts = [np.concatenate(pair) for pair in zip(parts, back, strict=True)]
        if not (paired or network.directed):
            i, j, weights = parts
            parts = [np.stack([i, j], 1).ravel(), np.stack([j, i], 1).ravel(), np.repeat(weights, 2)]
            times = np.repeat(times, 2)
        self.times, self.parts = times, parts

    def between(self, begin: int, end: int) -> Changes:
        """Return the changes of steps begin + 1…end, in terms of the network of step ``begin`` (or 1, if it is 0)."""
        index, when = self._met(begin, end)
        moments, first = np.unique(when, return_index=True)
        # An interval begins at once, though nothing may change before its first step.
        at_once = moments.size and moments[0] == begin + 1
        intervals = np.concatenate([[] if at_once else [0], moments - begin - 1, [end - begin]])
        cuts = np.concatenate([[] if at_once else [0], first, [index.size]])
        sources, targets, weights = (part[index] for part in self.parts)
        return Changes(
            intervals.astype(np.int64),
            cuts.astype(np.int64),
            sources.astype(np.uint32),
            targets.astype(np.uint32),
            weights.astype(self.dtype),
        )

    def _met(self, begin: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return which events occur in steps begin + 1…end, and at which step each."""
        if self.pace != 1:
            index, when = self._met_by_network(network_step(begin, self.pace), network_step(end, self.pace))
            # The first of the run's steps that ends in the event's step.
            steps = np.arange(begin + 1, end + 1)
            ends = whole_steps(steps * np.float64(self.pace))
            return index, steps[np.searchsorted(ends, when)]
        # A run from step 0 starts with the network of step 1, which its first step then has already.
        return self._met_by_network(max(begin, 1), end)

    def _met_by_network(self, begin: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return which events occur in steps begin + 1…end of the network, and at which step each."""
        period = self.network.period
        if period is None:
            first, last = np.searchsorted(self.times, [begin, end], side="right")
            index = np.arange(first, last)
            return index, self.times[index]
        turns = np.arange((begin - 1) // period, (end - 1) // period + 1)
        # In order of time, since the changes of one turn end before those of the next begin.
        when = np.add.outer(turns * period, self.times).ravel()
        first, last = np.searchsorted(when, [begin, end], side="right")
        return np.arange(first, last) % max(self.times.size, 1), when[first:last]


def _difference(network: TemporalNetwork) -> list[NDArray[Any]]:
    """Return the pairs whose weights in the last step of a period differ from the first's, and the first's weights."""
    assert network.period is not None
    intervals = network.intervals
    first, last = np.zeros(intervals.i.size), np.zeros(intervals.i.size)
    for weights, step in ((first, 1), (last, network.period)):
        events = present_events(network, step)
        weights[intervals.pair[events]] = network.weights[events]
    changed = np.flatnonzero(first != last)
    return [intervals.i[changed], intervals.j[changed], first[changed]]


def present_events(network: TemporalNetwork, t: int) -> NDArray[np.int64]:
    """Return the events whose weights are those of step t, one for each pair that is linked."""
    step = t if network.period is None else (t - 1) % network.period + 1
    started = network.event_times <= step
    return np.flatnonzero(started & (network.intervals.last >= step) & (network.weights != 0))


@njit(error_model="numpy")
def _set_weight(graph: Graph, row: int, column: int, weight: Any) -> None:
    """Set, add or remove one neighbour of a row, which stays in order."""
    begin, end = U64(graph.starts[row]), U64(graph.ends[row])
    low, high = begin, end
    while low < high:
        middle = (low + high) >> U64(1)
        if graph.columns[middle] < column:
            low = middle + U64(1)
        else:
            high = middle
    present = low < end and graph.columns[low] == column
    if weight == 0:
        if present:
            for k in range(low, end - U64(1)):
                graph.columns[k], graph.weights[k] = graph.columns[k + U64(1)], graph.weights[k + U64(1)]
            graph.ends[row] -= 1
        return
    if not present:
        # From the end, since each entry moves into the one behind it. There is room: the pair is in the aggregate.
        place = end
        while place > low:
            before = place - U64(1)
            graph.columns[place], graph.weights[place] = graph.columns[before], graph.weights[before]
            place = before
        graph.columns[low] = column
        graph.ends[row] += 1
    graph.weights[low] = weight


@njit(error_model="numpy")
def _add_up(graph: Graph, row: int, degrees: NDArray[Any]) -> None:
    """Recompute the sum of a row: differences added at each change would accumulate rounding errors."""
    # In float64 also for float32 weights, and rounded once when it is stored.
    total = 0.0
    for k in range(U64(graph.starts[row]), U64(graph.ends[row])):
        total += graph.weights[k]
    degrees[row] = total


@njit(cache=True, nogil=True, error_model="numpy")
def add_up_all(graph: Graph, degrees: NDArray[Any]) -> None:
    """Sum every row as rows are summed after a change."""
    for row in range(degrees.size):
        _add_up(graph, row, degrees)


@njit(cache=True, nogil=True, error_model="numpy")
def apply_changes(graph: Graph, degrees: NDArray[Any], changes: Changes, begin: int, end: int) -> None:
    """Make changes begin…end−1 of the graph and of the agents' degrees."""
    for e in range(begin, end):
        _set_weight(graph, changes.sources[e], changes.targets[e], changes.weights[e])
    # Degrees are summed after all changes, since an agent may occur in several of them.
    for e in range(begin, end):
        _add_up(graph, changes.sources[e], degrees)


@njit(error_model="numpy")
def apply_interval(graph: Graph, degrees: NDArray[Any], changes: Changes, k: int) -> int:
    """Make the changes before interval k, and return the step at which it ends."""
    apply_changes(graph, degrees, changes, changes.cuts[k], changes.cuts[k + 1])
    return int(changes.intervals[k + 1])
