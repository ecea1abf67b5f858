"""Joint connectivity: agents who are never all connected at once may still be so over a window of steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.networks._connectivity import components
from peerpressure.networks._loops import sweep
from peerpressure.networks._temporal import TemporalNetwork
from peerpressure.networks._validation import room_for, whole

INTERPRETED = 10_000  # agents, steps and spells up to which plain Python is done before numba would be loaded


@final
@dataclass(frozen=True, eq=False, repr=False)
class JointConnectivity:
    """Whether the union of the networks over each of consecutive windows of steps is connected.

    ``components`` holds the number of pieces of the union over 1…window, window + 1…2·window, and so on.
    """

    window: int
    components: NDArray[np.int64]

    @property
    def connected(self) -> NDArray[np.bool_]:
        """Whether each window is jointly connected, shape (windows,)."""
        return np.asarray(self.components == 1)

    @property
    def always(self) -> bool:
        """Whether all windows are jointly connected."""
        return bool(self.connected.all())

    @property
    def broken(self) -> list[tuple[int, int]]:
        """The first and the last step of every stretch of windows that are not, windows side by side merged."""
        edges = np.diff(np.concatenate([[False], ~self.connected, [False]]).astype(np.int8))
        starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
        return [(a * self.window + 1, b * self.window) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]

    def __repr__(self) -> str:
        good = f"{int(self.connected.sum()):,} of {self.components.size:,} windows of {self.window:,} connected"
        if self.always:
            return f"JointConnectivity({good})"
        shown = ", ".join(f"{first:,}–{last:,}" for first, last in self.broken[:3])
        more = f" and {len(self.broken) - 3:,} more" if len(self.broken) > 3 else ""
        return f"JointConnectivity({good}, up to {self.components.max():,} components, broken {shown}{more})"


def joint_connectivity(temporal: TemporalNetwork, window: int, until: int | None = None) -> JointConnectivity:
    """Return which of the windows 1…window, window + 1…2·window, … have a connected union.

    Windows are looked at that end by the step ``until``; by default as many as it takes to cover the period, or all
    changes.

    >>> joint_connectivity(TemporalNetwork.from_events([(1, 0, 1), (4, 1, 2), (4, 0, 1, 0), (5, 0, 1)]), 2)
    JointConnectivity(2 of 3 windows of 2 connected, up to 2 components, broken 1–2)
    """
    window = whole("window", window, least=1, remedy="a window of 1 asks for every step by itself")
    if until is None:
        windows = -(-temporal.span // window)
    else:
        remedy = "ask for at least one window"
        windows = whole("until", until, least=window, remedy=remedy) // window
    _, pieces = _swept(temporal, windows * window, window, windows)
    return JointConnectivity(window, pieces)


def shortest_window(temporal: TemporalNetwork, until: int | None = None) -> int | None:
    """Return the least w such that the union over any w consecutive steps is connected, or None if there is none.

    All windows t…t + w − 1 count, wherever they begin: for ever, or those that end by the step ``until``.

    >>> shortest_window(TemporalNetwork.from_events([(1, 0, 1), (2, 0, 1, 0), (2, 1, 2)], period=5))
    5
    """
    if until is not None:
        horizon = starts = whole("until", until, least=1, remedy="ask for one step or more")
    elif temporal.period is not None:
        # A window as long as the period sees everything, so those from its last step on end by here.
        horizon, starts = 2 * temporal.period - 1, temporal.period
    elif components(temporal.at(temporal.last_change))[0] > 1:
        return None
    else:
        horizon = starts = temporal.last_change
    reach = _swept(temporal, horizon, horizon, windows=0)[0][1 : starts + 1]
    joined = np.flatnonzero(reach)
    if not joined.size:
        return None
    needed = int((reach[joined] - joined).max())
    # From later starts the steps up to the last one do not suffice; windows must be too long to begin there.
    return needed if until is None else max(needed, horizon - joined.size + 1)


def limit_components(temporal: TemporalNetwork) -> tuple[int, NDArray[np.int32]]:
    """Return how many groups stay apart in the long run, and the group of every agent.

    What counts for t → ∞ are the edges that recur for ever: those of a period, or of the last network.

    >>> limit_components(TemporalNetwork.from_events([(1, 0, 1), (1, 1, 2), (9, 1, 2, 0)]))
    (2, array([0, 0, 1], dtype=int32))
    """
    periodic = temporal.period is not None
    return components(temporal.aggregate.adjacency if periodic else temporal.at(temporal.last_change))


def _swept(
    temporal: TemporalNetwork, horizon: int, window: int, windows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what ``sweep`` finds over the steps 1…horizon: reach, with an entry for the step 0, and pieces."""
    spells = _spells(temporal, horizon)
    n = temporal.n
    room_for(float(horizon + n))
    ranks = np.random.default_rng(0).permutation(n)  # any order will do; it changes no result
    work = [np.arange(n), np.full(n, horizon + 1), np.zeros(horizon + 2, np.int64)]
    reach, pieces = np.zeros(horizon + 1, np.int64), np.zeros(windows, np.int64)
    arguments: list[Any] = [*spells, ranks, window, *work, reach, pieces]
    if n + horizon + spells[0].size < INTERPRETED:
        lists = [value if isinstance(value, int) else value.tolist() for value in arguments]
        sweep(*lists)
        return np.array(lists[-2], dtype=np.int64), np.array(lists[-1], dtype=np.int64)
    # numba takes longer to load than small networks take to sweep.
    from peerpressure.networks._compiled import sweep_compiled

    sweep_compiled(*arguments)
    return reach, pieces


def _spells(temporal: TemporalNetwork, horizon: int) -> list[NDArray[np.int64]]:
    """Return the ends, first steps and last steps of all spells of edges up to the horizon, the last to end first."""
    present = np.flatnonzero(temporal.weights)
    times, i, j, _ = temporal.events.taken(present)
    last = np.minimum(temporal.spells.last[present], temporal.period or horizon)
    turns = 1 if temporal.period is None else -(-horizon // temporal.period)
    room_for(float(times.size) * turns)
    shift = np.repeat(np.arange(turns) * (temporal.period or 0), times.size)
    i, j, first, last = (np.tile(column.astype(np.int64), turns) for column in (i, j, times, last))
    first, last = first + shift, np.minimum(last + shift, horizon)
    order = np.argsort(-last, kind="stable")
    order = order[first[order] <= horizon]
    return [column[order] for column in (i, j, first, last)]
