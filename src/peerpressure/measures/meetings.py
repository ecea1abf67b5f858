"""A network that changes in numbers: how many edges it has in each step, and how many agents are alone."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.networks import TemporalNetwork

Counts: TypeAlias = NDArray[np.int64]


class Meetings(NamedTuple):
    """The number of edges, and of agents without a neighbour, at some steps."""

    edges: Counts
    alone: Counts


def meetings(network: TemporalNetwork, times: ArrayLike) -> Meetings:
    """Return how many edges there are at each of the steps, and how many agents are alone.

    >>> meetings(TemporalNetwork([1, 1, 4], [0, 1, 0], [1, 2, 1], [1, 1, 0]), [1, 4])
    Meetings(edges=array([2, 1]), alone=array([0, 1]))
    """
    asked = np.asarray(times, dtype=np.int64)
    rounds = asked if network.period is None else (asked - 1) % network.period + 1
    pairs = network.sources * np.int64(network.n) + network.targets
    begun = _changes(pairs, network.weights > 0)
    edges = _running(network.event_times, begun, rounds)
    return Meetings(edges, network.n - _with_neighbours(network, begun, rounds))


def _with_neighbours(network: TemporalNetwork, begun: Counts, rounds: Counts) -> Counts:
    """Return how many agents have a neighbour at each of the steps, from the edges that begin (1) or end (−1)."""
    ends, when = np.concatenate([network.sources, network.targets]), np.tile(network.event_times, 2)
    order = np.lexsort((when, ends))
    agents, when, total = ends[order], when[order], np.cumsum(np.tile(begun, 2)[order])
    # What an agent has after all that happens in a step is what it has there.
    last = np.flatnonzero(np.diff(agents, append=-1) | np.diff(when, append=-1))
    others = np.append(0, total)[np.searchsorted(agents, agents[last])]
    joined = _changes(agents[last], total[last] > others)
    in_time = np.argsort(when[last], kind="stable")
    return _running(when[last][in_time], joined[in_time], rounds)


def _changes(groups: NDArray[np.integer[Any]], states: NDArray[np.bool_]) -> Counts:
    """Return by how much each state differs from the one before it in its group; before the first there was none."""
    order = np.argsort(groups, kind="stable")
    first = np.diff(groups[order], prepend=-1) != 0
    ordered = states[order].astype(np.int64)
    change = np.empty_like(ordered)
    change[order] = np.where(first, ordered, np.diff(ordered, prepend=0))
    return change


def _running(when: Counts, change: Counts, rounds: Counts) -> Counts:
    """Return the sum of the changes up to each of the steps."""
    return np.append(0, np.cumsum(change))[np.searchsorted(when, rounds, side="right")]
