"""Joint connectivity: a temporal network may be connected over a window of steps though not at any one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.networks._loops import compiled, sweep_windows
from peerpressure.networks._temporal import TemporalNetwork
from peerpressure.networks.classes import components
from peerpressure.networks.validation import check_integer, check_memory
from peerpressure.support.results import read_only

INTERPRETED = 10_000  # agents, steps and intervals up to which plain Python takes less time than importing numba


@final
@read_only
@dataclass(frozen=True, eq=False, repr=False)
class JointConnectivity:
    """Connectivity of the union of networks over each of consecutive windows of steps.

    Attributes
    ----------
    window : int
        Number of steps in a window.
    components : array of int, shape (windows,)
        Number of connected components of the union over the steps 1…window, window + 1…2·window, and so on.

    See Also
    --------
    joint_connectivity : Compute it for a temporal network.

    Examples
    --------
    >>> from peerpressure import TemporalNetwork
    >>> from peerpressure.networks import joint_connectivity
    >>> windows = joint_connectivity(TemporalNetwork.from_events([(1, 0, 1), (3, 1, 2)]), 2)
    >>> windows.connected.tolist(), windows.broken
    ([False, True], [(1, 2)])
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
        """First and last step of every maximal run of windows that are not jointly connected."""
        # Runs of True begin where the padded array rises and end where it falls.
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
    """Compute which windows of steps have a connected union of networks.

    The windows are 1…window, window + 1…2·window, and so on. If all of them are jointly connected, agents who average
    their own opinion with those of their neighbours reach consensus [1]_. Agents of the peer-pressure model leave their
    own public opinion out, and joint connectivity is not enough for them.

    Parameters
    ----------
    temporal : TemporalNetwork
        The network.
    window : int
        Number of steps in a window, at least 1.
    until : int, optional
        Last step by which windows end; by default as many windows as it takes to cover the period, or all changes.

    Returns
    -------
    JointConnectivity
        Number of connected components for each window.

    Raises
    ------
    NetworkError
        If the window is less than one step, or no window ends by ``until``.
    TooLargeError
        If the steps do not fit into memory.

    See Also
    --------
    shortest_window : The shortest window for which every union is connected.

    References
    ----------
    .. [1] Jadbabaie, Lin & Morse (2003), Coordination of groups of mobile autonomous agents using nearest neighbor
       rules, IEEE Trans. Autom. Control 48, 988.

    Examples
    --------
    >>> from peerpressure import TemporalNetwork
    >>> from peerpressure.networks import joint_connectivity
    >>> joint_connectivity(TemporalNetwork.from_events([(1, 0, 1), (4, 1, 2), (4, 0, 1, 0), (5, 0, 1)]), 2)
    JointConnectivity(2 of 3 windows of 2 connected, up to 2 components, broken 1–2)
    """
    window = check_integer("window", window, least=1, remedy="a window of 1 asks for every step by itself")
    if until is None:
        # Rounded up: the last window covers the rest.
        windows = -(-temporal.span // window)
    else:
        remedy = "ask for at least one window"
        windows = check_integer("until", until, least=window, remedy=remedy) // window
    _, counts = _swept(temporal, windows * window, window, windows)
    return JointConnectivity(window, counts)


def shortest_window(temporal: TemporalNetwork, until: int | None = None) -> int | None:
    """Compute the least w such that the union of networks over any w consecutive steps is connected.

    >>> from peerpressure import TemporalNetwork
    >>> from peerpressure.networks import shortest_window
    >>> shortest_window(TemporalNetwork.from_events([(1, 0, 1), (2, 0, 1, 0), (2, 1, 2)], period=5))
    5
    """
    if until is not None:
        horizon = starts = check_integer("until", until, least=1, remedy="ask for one step or more")
    elif temporal.period is not None:
        # A window of one period contains every edge, so windows that start within a period end by this step.
        horizon, starts = 2 * temporal.period - 1, temporal.period
    elif components(temporal.at(temporal.last_change))[0] > 1:
        return None
    else:
        horizon = starts = temporal.last_change
    # One window of all steps: the components of shorter windows are not needed here, only reach.
    reach = _swept(temporal, horizon, horizon, windows=0)[0][1 : starts + 1]
    # Connectivity from a start implies it from every earlier start, so these starts are the first ones without gaps.
    joined = np.flatnonzero(reach)
    if not joined.size:
        return None
    needed = int((reach[joined] - joined).max())
    # From later starts the union up to the last step is not connected; windows must be too long to start there.
    return needed if until is None else max(needed, horizon - joined.size + 1)


def limit_components(temporal: TemporalNetwork) -> tuple[int, NDArray[np.int32]]:
    """Compute the connected components of the edges that persist or recur for t → ∞.

    These edges are all edges of a periodic network, and otherwise the edges after the last change.

    >>> from peerpressure import TemporalNetwork
    >>> from peerpressure.networks import limit_components
    >>> limit_components(TemporalNetwork.from_events([(1, 0, 1), (1, 1, 2), (9, 1, 2, 0)]))
    (2, array([0, 0, 1], dtype=int32))
    """
    periodic = temporal.period is not None
    return components(temporal.aggregate.adjacency if periodic else temporal.at(temporal.last_change))


def _swept(
    temporal: TemporalNetwork, horizon: int, window: int, windows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Run ``sweep_windows`` over the steps 1…horizon; ``reach`` also has an entry for step 0."""
    intervals = _intervals(temporal, horizon)
    n = temporal.n
    check_memory(float(horizon + n))
    # A random order bounds the expected height of the trees by O(log n), also for networks that are numbered along a
    # path; a fixed seed makes run times reproducible.
    ranks = np.random.default_rng(0).permutation(n)  # the result does not depend on the order
    # Every agent starts as a root: its own parent, linked from beyond the horizon.
    work = [np.arange(n), np.full(n, horizon + 1), np.zeros(horizon + 2, np.int64)]
    reach, counts = np.zeros(horizon + 1, np.int64), np.zeros(windows, np.int64)
    arguments: list[Any] = [*intervals, ranks, window, *work, reach, counts]
    if n + horizon + intervals[0].size < INTERPRETED:
        # Plain Python is several times faster on lists than on arrays.
        lists = [value if isinstance(value, int) else value.tolist() for value in arguments]
        sweep_windows(*lists)
        return np.array(lists[-2], dtype=np.int64), np.array(lists[-1], dtype=np.int64)
    compiled(sweep_windows)(*arguments)
    return reach, counts


def _intervals(temporal: TemporalNetwork, horizon: int) -> list[NDArray[np.int64]]:
    """Return ends, first steps and last steps of all edge intervals up to the horizon, by decreasing last step."""
    present = np.flatnonzero(temporal.weights)
    times, i, j, _ = temporal.events.taken(present)
    # A last event applies forever; in a periodic network it applies until the next period sets all edges again.
    last = np.minimum(temporal.intervals.last[present], temporal.period or horizon)
    # The sequence is written out as often as the horizon asks, so its length is checked first.
    repeats = 1 if temporal.period is None else -(-horizon // temporal.period)
    check_memory(float(times.size) * repeats)
    shift = np.repeat(np.arange(repeats) * (temporal.period or 0), times.size)
    i, j, first, last = (np.tile(column.astype(np.int64), repeats) for column in (i, j, times, last))
    first, last = first + shift, np.minimum(last + shift, horizon)
    # The sweep runs backwards in time, so intervals enter in the order of decreasing last steps.
    order = np.argsort(-last, kind="stable")
    order = order[first[order] <= horizon]
    return [column[order] for column in (i, j, first, last)]
