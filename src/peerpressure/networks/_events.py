"""Events, the changes of a temporal network: canonical form, storage, the adjacency at any step, and their sources."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, issparse

from peerpressure.errors import FileFormatError, InvalidInputError, NetworkError, first_few
from peerpressure.networks._adjacency import (
    adjacency_from_edges,
    adjacency_from_graph,
    is_graph,
    labels_from_json,
    labels_to_json,
)
from peerpressure.networks._edge_lists import EVENT_ROLES, check_event_weights, places_by_name
from peerpressure.networks._network import Network, check_unsigned
from peerpressure.networks.validation import (
    Label,
    canonical_adjacency,
    check_agents,
    check_integer,
    check_memory,
    edge_fault,
    is_frame,
    labelled_square,
    validate_labels,
)
from peerpressure.support.dates import DateError, as_seconds, check_no_clocks, check_no_dates
from peerpressure.support.table_files import frame_table

Times = NDArray[np.int64]
Positions = NDArray[np.integer[Any]]

COLUMNS = ("event_times", "sources", "targets", "weights")  # names of the arrays in storage
FOREVER = np.iinfo(np.int64).max
KEPT = 32 * 2**20  # bytes of recent matrices that are cached, which makes short periods and small networks free
OVERHEAD = 2_000  # bytes of a matrix object apart from its entries


class Events(NamedTuple):
    """Changes of edge weights: from step ``times[k]`` on, sources[k] and targets[k] are linked with ``weights[k]``."""

    times: Times
    sources: Positions
    targets: Positions
    weights: NDArray[np.float64]

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """The four arrays."""
        return tuple(self)

    @classmethod
    def joined(cls, parts: Sequence[Events]) -> Events:
        """Return the events of several parts, one after the other."""
        return cls(*(np.concatenate([part[k] for part in parts]) for k in range(4)))

    def taken(self, chosen: NDArray[Any]) -> Events:
        """Return the chosen events, in their order."""
        return Events(*(column[chosen] for column in self))

    @property
    def last_start(self) -> int:
        """Last step at which an edge starts or changes its weight."""
        return int(self.times[self.weights > 0].max())

    def within(self, period: int | None) -> Events:
        """Return the events without ends of edges right after the period, where the next period starts anyway."""
        if period is None:
            return self
        # The matrix of step 1 replaces that of the last step, so such events have no effect and would only exceed the
        # period.
        return self.taken(np.flatnonzero((self.weights > 0) | (self.times != period + 1)))


def canonical_events(
    times: ArrayLike,
    sources: ArrayLike,
    targets: ArrayLike,
    weights: ArrayLike | None,
    labels: Sequence[Label],
    *,
    directed: bool = False,
) -> Events:
    """Return the events sorted by step and pair, with i < j unless ``directed``, without those that change nothing."""
    t, a, b = (integer_column(*column) for column in (("times", times), ("sources", sources), ("targets", targets)))
    w = np.ones(t.size) if weights is None else _numbers(weights)
    # Shapes are compared before anything is broadcast by mistake.
    lengths = {column.shape for column in (t, a, b, w)}
    if len(lengths) > 1 or t.ndim != 1:
        got = f"shapes {', '.join(str(column.shape) for column in (t, a, b, w))}"
        rule, remedy = "every event must have a step, two ends and a weight", "give flat arrays of one length"
        raise NetworkError(rule, got=got, remedy=remedy)
    _check_positions(a, b, labels)
    # 32-bit positions halve the memory of the events; i < j gives each pair one form.
    events = Events(t, *_ordered(a, b, directed=directed), w)
    _check_steps(events)
    _check_weights(events, labels)
    return _without_repeats(events, labels)


def are_mirrored(events: Events) -> bool:
    """Return whether each directed event has its reverse at the same step, so that the network is undirected."""
    t, i, j, w = events
    if i.size % 2 or 2 * np.count_nonzero(i < j) != i.size:
        return False
    there, back = np.lexsort((j, i, t)), np.lexsort((i, j, t))
    return all(np.array_equal(a[there], b[back]) for a, b in ((i, j), (j, i), (w, w)))


def validate_period(period: int | None, last: int) -> int | None:
    """Return the period; no event may come after it."""
    if period is None:
        return None
    length = check_integer("period", period, least=1, remedy="leave it out for a network that does not repeat")
    if length < last:
        remedy = "give a longer period, or leave out the events beyond it"
        raise NetworkError(f"no event may come after the period of {length}", got=f"one at step {last}", remedy=remedy)
    return length


def validate_names(
    n: int | None, labels: Iterable[Label] | None, sources: ArrayLike, targets: ArrayLike
) -> Sequence[Label]:
    """Return one label per agent; n is by default the number of labels, or the largest position plus 1."""
    names = labels if labels is None or isinstance(labels, range) else tuple(labels)
    if n is None:
        ends = np.concatenate([integer_column("sources", sources), integer_column("targets", targets)], axis=None)
        n = int(ends.max(initial=-1)) + 1 if names is None else len(names)
    return validate_labels(names, check_agents(n, np.size(sources)))


def integer_column(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """Return a column of integers."""
    column = np.asarray(values)
    remedy = "for real time stamps use from_contacts(..., resolution=...)" if name == "times" else "count from 0"
    # Text and objects fail here; floats may still be whole numbers, as data frames with gaps have them.
    if column.dtype.kind not in "iuf":
        got = f"{column.ravel()[:1].tolist()[0]!r} in row 1" if column.size else f"dtype {column.dtype}"
        raise NetworkError(f"{name} must be whole numbers", got=got, remedy=remedy)
    if column.dtype.kind != "i":
        # A comparison with nan is False, so missing values are bad as well.
        with np.errstate(invalid="ignore"):
            # Above 2⁵³ a float that looks whole may have lost its last digits.
            bad = ~((column == np.floor(column)) & (np.abs(column) < 2**53))
        if bad.any():
            got = first_few(_with_rows(column, bad), int(bad.sum()))
            raise NetworkError(f"{name} must be whole numbers", got=got, remedy=remedy)
    return column.astype(np.int64)


def _numbers(weights: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        got, remedy = f"{np.asarray(weights).tolist()!r:.60}", "give numbers above 0, and 0 to end an edge"
        raise NetworkError("weights must be real numbers", got=got, remedy=remedy) from None


def _with_rows(values: NDArray[Any], bad: NDArray[np.bool_]) -> Any:
    return (f"{values[k]} in row {k + 1}" for k in np.flatnonzero(bad).tolist())


def _check_positions(a: NDArray[np.int64], b: NDArray[np.int64], labels: Sequence[Label]) -> None:
    n = len(labels)
    for ends in (a, b):
        outside = (ends < 0) | (ends >= n)
        if outside.any():
            got = first_few(_with_rows(ends, outside), int(outside.sum()))
            remedy = "count agents from 0, or give labels to from_events"
            raise NetworkError(f"positions of agents must lie in 0..{n - 1}", got=got, remedy=remedy)


def _check_steps(events: Events) -> None:
    times = events.times
    # Step 0 is the start state, which no edge acts on.
    early = times < 1
    if early.any():
        got = first_few(_with_rows(times, early), int(early.sum()))
        raise NetworkError("steps count from 1", got=got, remedy="give time 1 to what holds from the start")
    back = np.flatnonzero(times[1:] < times[:-1])
    if back.size:
        k = int(back[0]) + 1
        got = f"step {times[k]} in row {k + 1} after step {times[k - 1]}"
        raise NetworkError("events must come in the order of their steps", got=got, remedy="sort them by time first")


def _check_weights(events: Events, labels: Sequence[Label]) -> None:
    fault = edge_fault(events.sources == events.targets, events.weights)
    if fault is not None:
        named = (_describe(events, k, labels) for k in fault.places)
        raise NetworkError(fault.rule, got=first_few(named, len(fault.places)), remedy=fault.remedy)


def _describe(events: Events, k: int, labels: Sequence[Label]) -> str:
    time, i, j, weight = (column[k].item() for column in events)
    return f"weight {weight} between {labels[i]!r} and {labels[j]!r} at step {time}"


def _without_repeats(events: Events, labels: Sequence[Label]) -> Events:
    # The events are sorted by step, so a stable sort by pair keeps the events of each pair in order.
    order = np.argsort(events.sources.astype(np.int64) * len(labels) + events.targets, kind="stable")
    by_pair = events.taken(order)
    repeat = (by_pair.sources[1:] == by_pair.sources[:-1]) & (by_pair.targets[1:] == by_pair.targets[:-1])
    changed = by_pair.weights[1:] != by_pair.weights[:-1]
    # Equal repeats are harmless and dropped below; different weights at one step have no meaning.
    clash = np.flatnonzero(repeat & changed & (by_pair.times[1:] == by_pair.times[:-1]))
    if clash.size:
        got = first_few(
            (f"{_describe(by_pair, k + 1, labels)} after {by_pair.weights[k]}" for k in clash.tolist()), clash.size
        )
        raise NetworkError("a pair must keep one weight through a step", got=got, remedy="keep one of them")
    # Before its first event, a pair has the weight 0.
    new = np.concatenate([by_pair.weights[:1] != 0, np.where(repeat, changed, by_pair.weights[1:] != 0)])
    kept = by_pair.taken(np.flatnonzero(new))
    return kept.taken(np.argsort(kept.times, kind="stable"))


# Storage as plain arrays, without pickle


def arrays_from_events(events: Events, labels: Sequence[Label], period: int | None) -> dict[str, NDArray[Any]]:
    """Return the arrays from which ``events_from_arrays`` restores events, labels and period."""
    columns: dict[str, NDArray[Any]] = dict(zip(COLUMNS, events.columns, strict=True))
    return columns | {
        "agents": np.array(len(labels)),
        # Arrays hold no None; 0 is no legal period.
        "period": np.array(period or 0),
        "labels": labels_to_json(labels),
    }


def events_from_arrays(arrays: Mapping[str, Any]) -> tuple[Events, int, list[Label] | None, int | None]:
    """Return the stored events, the number of agents, their labels and the period."""
    try:
        events = Events(*(np.asarray(arrays[name]) for name in COLUMNS))
        n, period = (int(np.asarray(arrays[name])) for name in ("agents", "period"))
        texts = np.asarray(arrays["labels"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        rule = f"a stored temporal network must hold {', '.join(COLUMNS)}, agents, period and labels"
        raise NetworkError(rule, got=repr(error), remedy="store what temporal.arrays() returns") from None
    return events, n, labels_from_json(texts), period or None


# The adjacency at any step, updated from the adjacency one change earlier or later


@dataclass(frozen=True, eq=False)
class EdgeIntervals:
    """Edge intervals: for each event, the weight before it and the last step at which its own weight applies.

    ``pair`` gives the number of each event's pair; pairs are numbered in the order of their agents ``i`` < ``j``.
    """

    i: Positions
    j: Positions
    pair: Positions
    before: NDArray[np.float64]
    last: Times

    @classmethod
    def of(cls, events: Events, n: int) -> EdgeIntervals:
        """Return the intervals of canonical events; the last event of a pair applies forever."""
        # A stable sort by pair keeps the events of each pair in the order of time. Positions have 32 bits, so the
        # codes fit into 64.
        order = np.argsort(events.sources.astype(np.int64) * n + events.targets, kind="stable")
        by_pair = events.taken(order)
        first = np.ones(order.size, dtype=bool)
        first[1:] = (by_pair.sources[1:] != by_pair.sources[:-1]) | (by_pair.targets[1:] != by_pair.targets[:-1])
        # Defaults for the first event of a pair (weight 0 before it) and for the last one (it applies forever).
        pair, before, last = np.empty(order.size, np.int32), np.zeros(order.size), np.full(order.size, FOREVER)
        pair[order] = np.cumsum(first) - 1
        later = np.flatnonzero(~first)
        # The predecessor of an event of the same pair is the row before it in the sorted order.
        before[order[later]] = by_pair.weights[later - 1]
        last[order[later - 1]] = by_pair.times[later] - 1
        return cls(by_pair.sources[first], by_pair.targets[first], pair, before, last)


class StepNetwork(NamedTuple):
    """Adjacency and degrees at one step."""

    adjacency: csr_array
    degrees: NDArray[np.float64]

    @property
    def size(self) -> int:
        """Memory in bytes."""
        A = self.adjacency
        return int(A.data.nbytes + A.indices.nbytes + A.indptr.nbytes + self.degrees.nbytes) + OVERHEAD


class Cursor:
    """Current position in the sequence of changes; moving by one change costs the number of edges present.

    Every pair that is ever linked has two slots, one for each direction, in the order of a CSR matrix; in a directed
    network it has one.  ``_weights`` holds the current weight of every slot, ``_live`` the slots with a positive
    weight, and ``_counts`` their number in every row.
    """

    def __init__(self, events: Events, intervals: EdgeIntervals, n: int, *, directed: bool) -> None:
        self._events, self._intervals, self._n = events, intervals, n
        self.change_times, starts = np.unique(events.times, return_index=True)
        self._starts = np.append(starts, events.times.size)
        i, j = intervals.i.astype(np.int64), intervals.j.astype(np.int64)
        # Codes i·n + j sort by row and then by column, which is the order of a CSR matrix.
        order = np.argsort(i * n + j if directed else np.concatenate([i * n + j, j * n + i]), kind="stable")
        both = [intervals.i, intervals.j]
        self._rows = (intervals.i if directed else np.concatenate(both))[order]
        self._columns = (intervals.j if directed else np.concatenate(both[::-1]))[order]
        # The inverse permutation: from a directed pair in the given order to its slot in the CSR order.
        slots = np.empty(order.size, np.int32)
        slots[order] = np.arange(order.size)
        self._slots = slots.reshape(1 if directed else 2, -1)  # the directions of every pair
        self._weights = np.zeros(order.size)
        self._live = np.empty(0, np.int32)
        self._counts = np.zeros(n, np.int64)
        self._done = 0
        self._kept: OrderedDict[int, StepNetwork] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def at(self, step: int) -> StepNetwork:
        """Return the network at a step; the same object as long as nothing changes."""
        # All steps between two changes share one matrix, so the number of changes done is the key.
        done = int(np.searchsorted(self.change_times, step, side="right"))
        # The cursor has one position, and threads share it.
        with self._lock:
            if done in self._kept:
                self._kept.move_to_end(done)
            else:
                self._move(done)
                self._keep(done, self._build())
            return self._kept[done]

    def _keep(self, done: int, network: StepNetwork) -> None:
        self._kept[done] = network
        self._size += network.size
        # The matrix just built is kept in any case, however large.
        while self._size > KEPT and len(self._kept) > 1:
            self._size -= self._kept.popitem(last=False)[1].size

    def _move(self, done: int) -> None:
        """Move to the state after this many changes."""
        # Simulation and its adjoint go one change at a time, forwards or backwards; all else is rare.
        if done == self._done + 1:
            self._apply(self._done, self._events.weights)
        elif done == self._done - 1:
            # Going back, the weights before the events of the undone change are restored; no history is kept.
            self._apply(done, self._intervals.before)
        else:
            self._jump(done)
        self._done = done

    def _apply(self, change: int, weights: NDArray[np.float64]) -> None:
        """Set the weights of the pairs of one change."""
        chosen = slice(*self._starts[change : change + 2])
        slots = self._slots[:, self._intervals.pair[chosen]]
        was, now = self._weights[slots], np.broadcast_to(weights[chosen], slots.shape)
        # Sorted slots keep the live ones in CSR order without sorting all of them again.
        # Canonical events change the weight each time, so a slot with was == 0 has now > 0 and vice versa: no slot is
        # in both.
        fresh, gone = np.sort(slots[was == 0]), np.sort(slots[now == 0])
        self._weights[slots] = now
        # Rows repeat among the slots; a fancy-indexed += would count each row once.
        np.add.at(self._counts, self._rows[fresh], 1)
        np.subtract.at(self._counts, self._rows[gone], 1)
        staying = np.delete(self._live, np.searchsorted(self._live, gone))
        self._live = np.insert(staying, np.searchsorted(staying, fresh), fresh)

    def _jump(self, done: int) -> None:
        self._weights[self._live] = 0
        past = slice(0, self._starts[done])
        time = self.change_times[done - 1] if done else 0
        # Only past events whose weight still applies after the last of these changes count.
        present = np.flatnonzero(self._intervals.last[past] >= time)
        # At most one event of each pair still applies at a given step, so no assignment overwrites another.
        self._weights[self._slots[:, self._intervals.pair[present]]] = self._events.weights[present]
        self._live = np.flatnonzero(self._weights).astype(np.int32)
        self._counts = np.bincount(self._rows[self._live], minlength=self._n)

    def _build(self) -> StepNetwork:
        # 32-bit indices, for which the stepping kernels are compiled.
        indptr = np.zeros(self._n + 1, np.int32)
        np.cumsum(self._counts, out=indptr[1:])
        entries = (self._weights.take(self._live), self._columns.take(self._live), indptr)
        adjacency = csr_array(entries, shape=(self._n, self._n))
        # Slots are sorted and unique; without this SciPy would check at every use.
        adjacency.has_canonical_format = True
        degrees = adjacency.sum(axis=1)
        # The matrices are cached and shared by all callers, so they are read-only.
        for part in (adjacency.data, adjacency.indices, adjacency.indptr, degrees):
            part.flags.writeable = False
        return StepNetwork(adjacency, degrees)


ROWS = "give (time, source, target) or (time, source, target, weight)"
LONGEST = 2**53  # steps beyond which floats no longer represent every integer


# Snapshots


def events_from_snapshots(
    graphs: Iterable[Any], times: ArrayLike | None, *, directed: bool
) -> tuple[Events, Sequence[Label], bool]:
    """Return the differences between consecutive graphs, all labels in the order of appearance, and if one is directed.

    ``times`` holds the first step of each graph; None stands for 1, 2, …. ``directed`` is whether a matrix may be so.
    """
    parts = [_snapshot_adjacency(graph, directed=directed) for graph in graphs]
    directed = any((matrix != matrix.T).nnz for matrix, _ in parts)
    if not parts:
        raise NetworkError("a temporal network must have snapshots", got="none", remedy="give at least one graph")
    steps = np.arange(1, len(parts) + 1) if times is None else _increasing(integer_column("times", times), len(parts))
    labels = _union([labels for _, labels in parts])
    n, place = len(labels), {label: k for k, label in enumerate(labels)}
    # Before the first snapshot there are no edges.
    before = (np.empty(0, np.int64), np.empty(0))
    changes = []
    for step, (matrix, names) in zip(steps.tolist(), parts, strict=True):
        # Snapshots with the same agents need no look-up of labels, which dominates for large networks.
        position = np.arange(n) if names == labels else np.array([place[name] for name in names], dtype=np.int64)
        now = _edges(matrix, position, n, directed=directed)
        codes, weights = _differences(before, now)
        changes.append(Events(np.full(codes.size, step), codes // n, codes % n, weights))
        before = now
    return Events.joined(changes), labels, directed


def _snapshot_adjacency(graph: Any, *, directed: bool) -> tuple[coo_array, Sequence[Label]]:
    """Return the checked adjacency of one snapshot, and its labels."""
    if isinstance(graph, Network):
        return check_unsigned(graph).adjacency.tocoo(), graph.labels
    if is_graph(graph):
        matrix, labels = adjacency_from_graph(graph, "weight")
        # A graph without nodes or edges is a valid snapshot, though not a valid Network.
        own = directed or graph.is_directed()
        return (canonical_adjacency(matrix, labels, directed=own).tocoo() if matrix.nnz else matrix), labels
    if issparse(graph) or isinstance(graph, np.ndarray | list) or is_frame(graph):
        matrix, labels = labelled_square(graph, None)
        return canonical_adjacency(matrix, labels, directed=directed).tocoo(), labels
    rule = "a snapshot must be a Network, a graph of NetworkX or igraph, or a matrix"
    raise NetworkError(rule, got=type(graph).__name__, remedy="convert it first")


def _increasing(times: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    if times.shape != (count,):
        got = f"shape {times.shape} for {count} snapshots"
        raise NetworkError("there must be one time per snapshot", got=got, remedy="list them in the snapshots' order")
    back = np.flatnonzero(np.diff(times) <= 0)
    if back.size:
        k = int(back[0])
        got = f"{times[k + 1]} after {times[k]}"
        raise NetworkError("snapshots must come in the order of their times", got=got, remedy="sort them by time first")
    return times


def _union(families: Sequence[Sequence[Label]]) -> Sequence[Label]:
    # Default labels 0..n-1 are the first agents of the longest range.
    if all(isinstance(labels, range) for labels in families):
        return max(families, key=len)
    return tuple(dict.fromkeys(label for labels in families for label in labels))


def _edges(
    matrix: coo_array, position: NDArray[np.int64], n: int, *, directed: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the codes i·n + j of the edges in order, of undirected ones with i < j, and their weights."""
    i, j = (position[side] for side in matrix.coords)
    # Both directions are stored, and codes of i < j are unique.
    once = np.arange(i.size) if directed else np.flatnonzero(i < j)
    # Positions are 64-bit here, so the product does not overflow.
    codes = i[once] * n + j[once]
    order = np.argsort(codes)
    return codes[order], matrix.data[once][order]


def _differences(
    before: tuple[NDArray[np.int64], NDArray[np.float64]], now: tuple[NDArray[np.int64], NDArray[np.float64]]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the codes and new weights of all edges before or now; edges that ended have weight 0."""
    # Edges that persist are listed again with their weight; canonical_events drops those that did not change.
    ended = np.setdiff1d(before[0], now[0], assume_unique=True)
    return np.concatenate([ended, now[0]]), np.concatenate([np.zeros(ended.size), now[1]])


# Rows, columns and data frames


class EventTable(NamedTuple):
    """Columns of events or contacts: times as given, agents by position, and weights if there are any."""

    times: NDArray[Any]
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[Any] | None
    labels: Sequence[Label]


def event_table(rows: Any, labels: Iterable[Label] | None, n: int | None) -> EventTable:
    """Return the columns of an array, a data frame, a tuple of columns, or an iterable of rows.

    Agents in integer arrays are positions; all others are labels, as in ``Network.from_edges``.
    """
    times, sources, targets, *weights = _columns(rows)
    if len(times) != len(sources) or len(times) != len(targets):
        got = f"{len(times)} times, {len(sources)} sources and {len(targets)} targets"
        raise NetworkError("every row must have a time and two ends", got=got, remedy="give columns of one length")
    if not len(times):
        raise NetworkError("a temporal network must have events", got="none", remedy="give at least one")
    stamps = np.asarray(times)
    try:
        if stamps.dtype.kind in "iuf":
            check_no_dates(stamps)
        elif all(isinstance(stamp, str) and stamp.isdecimal() for stamp in times):
            check_no_clocks(times)
            check_no_dates(stamps.astype(np.float64))
    except InvalidInputError as error:
        raise NetworkError(str(error)) from None
    # Positions and labels are resolved, and errors raised, as for the edges of a static network.
    matrix, names = adjacency_from_edges((sources, targets), None, labels, n, directed=False)
    # The matrix lists both directions of every row; the first half is the direction that was given.
    i, j = (side[: len(times)].astype(np.int64) for side in matrix.coords)
    return EventTable(stamps, i, j, np.asarray(weights[0]) if weights else None, names)


def _columns(rows: Any) -> list[Any]:
    if isinstance(rows, np.ndarray):
        return _array_columns(rows)
    if isinstance(rows, tuple) and rows and all(isinstance(column, np.ndarray | list) for column in rows):
        columns = list(rows)
    elif hasattr(rows, "columns"):  # a data frame, whichever library it is from
        columns = _frame_columns(rows)
    else:
        columns = _unzipped(rows)
    if len(columns) not in (3, 4):
        raise NetworkError("events must come in three or four columns", got=len(columns), remedy=ROWS)
    return columns


def _frame_columns(frame: Any) -> list[Any]:
    """Return the columns by their names, as in a file, or by their order if the names mean nothing."""
    try:
        places = places_by_name([str(name) for name in frame.columns])
        if hasattr(frame, "iloc"):  # other libraries have no such name for rows
            check_event_weights(frame_table(frame, "an event"), places)
    except FileFormatError as error:
        raise NetworkError(str(error)) from None
    columns = [frame[frame.columns[places[role]]].to_numpy() for role in EVENT_ROLES if role in places]
    columns[1:3] = [ends.tolist() for ends in columns[1:3]]  # labels, where arrays would be positions
    return columns


def _array_columns(rows: NDArray[Any]) -> list[Any]:
    if rows.ndim != 2 or rows.shape[1] not in (3, 4):
        raise NetworkError("events must come in three or four columns", got=f"shape {rows.shape}", remedy=ROWS)
    ends = rows[:, 1:3]
    if rows.dtype.kind == "f" and np.array_equal(ends, np.floor(ends)):
        # An array has one dtype: positions next to real times or weights are floats.
        ends = ends.astype(np.int64)
    return [rows[:, 0], *ends.T, *([rows[:, 3]] if rows.shape[1] == 4 else [])]


def _unzipped(rows: Iterable[Any]) -> list[list[Any]]:
    listed = list(rows)
    for k, row in enumerate(listed, start=1):
        if not isinstance(row, tuple | list | np.ndarray) or len(row) not in (3, 4):
            raise NetworkError("an event must have three or four fields", got=f"{row!r} in row {k}", remedy=ROWS)
    times, sources, targets = ([row[c] for row in listed] for c in range(3))
    # Rows with and without a weight may be mixed.
    return [times, sources, targets, [row[3] if len(row) == 4 else 1 for row in listed]]


# Contacts, converted to edges that last for one step


@dataclass(frozen=True)
class Binning:
    """Binning of time: step k covers the interval [origin + (k − 1)·resolution, origin + k·resolution).

    A contact counts in every step that its ``duration`` overlaps; None stands for an instantaneous contact.
    """

    resolution: float
    origin: float | None
    duration: float | None
    skip_quiet: int | None

    def __post_init__(self) -> None:
        if not _is_number(self.resolution) or self.resolution <= 0:
            remedy = "give the length of a step in the units of the time stamps"
            raise NetworkError("the resolution must be a positive number", got=repr(self.resolution), remedy=remedy)
        if self.origin is not None and not _is_number(self.origin):
            remedy = "give the time at which the first step begins, or leave it out"
            raise NetworkError("the origin must be a number", got=repr(self.origin), remedy=remedy)
        if self.duration is not None and (not _is_number(self.duration) or self.duration <= 0):
            remedy = "leave it out if contacts are instantaneous"
            raise NetworkError(
                "the duration of a contact must be a positive number", got=repr(self.duration), remedy=remedy
            )
        if self.skip_quiet is not None:
            check_integer(
                "skip_quiet", self.skip_quiet, least=0, remedy="leave it out to keep all steps without contacts"
            )

    def steps(self, times: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first and the last step of every contact."""
        # By default the first contact is at step 1.
        origin = times.min() if self.origin is None else self.origin
        slack = _rounding(times, origin, self.resolution)
        since = _snapped((times - origin) / self.resolution, slack)
        if since.min() < 0:
            got = first_few((times[k] for k in np.flatnonzero(since < 0).tolist()), int(np.sum(since < 0)))
            raise NetworkError(
                f"contacts must not come before the origin {origin:g}", got=got, remedy="move the origin"
            )
        first = np.floor(since)
        # A contact that ends where a step begins does not overlap that step.
        last = first if self.duration is None else np.ceil(_snapped(since + self.duration / self.resolution, slack)) - 1
        if last.max() >= LONGEST:
            got = f"{last.max():.3g} steps"
            raise NetworkError("steps must be countable", got=got, remedy="use a coarser resolution, or an origin")
        # A duration below the slack would end before it begins; the contact still counts in its own
        # step.
        return first.astype(np.int64) + 1, np.maximum(first, last).astype(np.int64) + 1


def events_from_contacts(table: EventTable, binning: Binning, weighted: bool, *, directed: bool = False) -> Events:
    """Return edges that exist in the steps of their contacts, with the sum of the contacts' weights, or 1."""
    first, last = binning.steps(_stamps(table.times))
    # Long contacts at a fine resolution may be very many steps, so their number is checked first.
    lengths = last - first + 1
    # Each row begins an edge and may end it, hence twice.
    check_memory(2 * float(lengths.sum(dtype=np.float64)))
    # One row per contact and step.
    row = np.repeat(np.arange(first.size), lengths)
    # Row numbers minus the offset of their contact: first, first + 1, …, last for each contact, without a Python loop.
    steps = np.arange(row.size) - np.repeat(np.cumsum(lengths) - lengths - first, lengths)
    if binning.skip_quiet is not None:
        steps = _without_gaps(steps, binning.skip_quiet)
    weights = np.ones(first.size) if table.weights is None else _weights(table.weights)
    ends = _ordered(table.sources[row], table.targets[row], directed=directed)
    contacts = Events(steps, *ends, weights[row])
    return one_step_events(contacts, weighted)


def one_step_events(contacts: Events, weighted: bool) -> Events:
    """Return the events of edges that last for one step; weights of a pair within a step add up if ``weighted``."""
    if not contacts.times.size:
        return contacts
    contacts = contacts.taken(np.lexsort((contacts.times, contacts.targets, contacts.sources)))
    next_step = np.diff(contacts.times)
    # The contacts are sorted by pair and step, so repeats are neighbours in the arrays.
    same_pair = (np.diff(contacts.sources) == 0) & (np.diff(contacts.targets) == 0)
    first = np.flatnonzero(np.concatenate([np.ones(1, bool), ~same_pair | (next_step != 0)]))
    # Groups of equal pair and step are contiguous, so reduceat adds up each of them.
    weights = np.add.reduceat(contacts.weights, first) if weighted else np.ones(first.size)
    started = contacts.taken(first)._replace(weights=weights)
    # An edge ends after its step unless the same pair has a contact in the next step.
    # The last contact of each group, which precedes the first one of the next group, determines this.
    goes_on = np.append(same_pair & (next_step == 1), False)[np.append(first[1:], contacts.times.size) - 1]
    ended = started.taken(np.flatnonzero(~goes_on))
    ended = Events(ended.times + 1, ended.sources, ended.targets, np.zeros(ended.times.size))
    both = Events.joined([started, ended])
    return both.taken(np.argsort(both.times, kind="stable"))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and bool(np.isfinite(value))


def _rounding(times: NDArray[np.float64], origin: float, resolution: float) -> NDArray[np.float64]:
    """Return the rounding error of (times − origin)/resolution, in steps."""
    # Each number is rounded to half a unit in its last place; the factor leaves room for stamps that are sums.
    with np.errstate(over="ignore"):
        error = 4 * np.finfo(np.float64).eps * (np.abs(times) + abs(origin)) / resolution
    if error.max() > 0.1:
        got = f"{resolution:g} for time stamps such as {times[np.argmax(error)]:.17g}"
        remedy = "use a coarser one, or subtract the first time stamp before"
        raise NetworkError("the resolution must be coarser than the digits of the time stamps", got=got, remedy=remedy)
    return np.maximum(error, 1e-9)


def _snapped(values: NDArray[np.float64], slack: NDArray[np.float64]) -> NDArray[np.float64]:
    # Rounding errors must not move a time stamp such as 0.3, at a resolution of 0.1, into the step before.
    nearest = np.rint(values)
    return np.where(np.abs(values - nearest) <= slack, nearest, values)


def _without_gaps(steps: NDArray[np.int64], longest: int) -> NDArray[np.int64]:
    """Renumber the steps without gaps of more than ``longest`` steps that have no contact."""
    # Only gaps that are too long are removed; shorter ones keep their length.
    busy, place = np.unique(steps, return_inverse=True)
    gaps = np.diff(busy, prepend=0) - 1
    dropped = np.cumsum(np.where(gaps > longest, gaps, 0))
    return np.asarray((busy - dropped)[place])


def _ordered(
    a: NDArray[np.int64], b: NDArray[np.int64], *, directed: bool
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    if directed:
        return a.astype(np.int32), b.astype(np.int32)
    return np.minimum(a, b).astype(np.int32), np.maximum(a, b).astype(np.int32)


def _stamps(times: NDArray[Any]) -> NDArray[np.float64]:
    """Return time stamps as numbers; dates are converted to seconds."""
    if times.dtype.kind == "M":
        # NaT is a large negative integer, so it becomes nan before it can be taken for a time.
        # Dates come in various units; microseconds keep fractions of seconds and fit into 64 bits.
        times = np.where(np.isnat(times), np.nan, times.astype("datetime64[us]").astype(np.int64) / 1e6)
    if times.dtype.kind in "UO":
        try:
            times = as_seconds(times.tolist())
        except DateError as error:
            got = f"{times.tolist()[error.place]!r} in row {error.place + 1}"
            remedy = f"use seconds or ISO dates; {error.rule}"
            raise NetworkError("time stamps must be numbers or dates", got=got, remedy=remedy) from None
    if times.dtype.kind not in "iuf":
        got = f"{times.ravel()[:1].tolist()[0]!r} in row 1"
        raise NetworkError("time stamps must be numbers or dates", got=got, remedy="use seconds, or datetime64")
    stamps = times.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(stamps)).tolist()
    if bad:
        got = first_few((f"{stamps[k]:g} in row {k + 1}" for k in bad), len(bad))
        raise NetworkError("time stamps must be finite", got=got, remedy="remove those contacts")
    return stamps


def _weights(values: NDArray[Any]) -> NDArray[np.float64]:
    try:
        weights = values.astype(np.float64)
    except (TypeError, ValueError):
        got = repr(values.tolist()[0])
        raise NetworkError("weights must be real numbers", got=got, remedy="leave the fourth column out") from None
    fault = edge_fault(np.zeros(weights.size, dtype=bool), weights, lasting=False)
    if fault is not None:
        got = first_few((f"{weights[k]:g} in row {k + 1}" for k in fault.places), len(fault.places))
        raise NetworkError(fault.rule, got=got, remedy=fault.remedy)
    return weights
