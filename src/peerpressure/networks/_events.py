"""Events, the changes of a temporal network: validation, canonical form, and conversion from what users have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, issparse

from peerpressure.errors import FileFormatError, NetworkError, first_few
from peerpressure.networks._adjacency import (
    adjacency_from_edges,
    adjacency_from_graph,
    is_graph,
    labels_from_json,
    labels_to_json,
)
from peerpressure.networks._event_lists import ROLES, places_by_name
from peerpressure.networks._network import Network
from peerpressure.networks._validation import (
    Label,
    canonical_adjacency,
    check_agents,
    check_integer,
    is_frame,
    labelled_square,
    network_error,
    validate_labels,
)

Times = NDArray[np.int64]
Positions = NDArray[np.integer[Any]]

COLUMNS = ("event_times", "sources", "targets", "weights")  # names of the arrays in storage
ROWS = "give (time, source, target) or (time, source, target, weight)"


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
    times: ArrayLike, sources: ArrayLike, targets: ArrayLike, weights: ArrayLike | None, labels: Sequence[Label]
) -> Events:
    """Return the events sorted by step and pair, with i < j, and without those that change nothing."""
    t, a, b = (integer_column(*column) for column in (("times", times), ("sources", sources), ("targets", targets)))
    w = np.ones(t.size) if weights is None else _numbers(weights)
    # Shapes are compared before anything is broadcast by mistake.
    lengths = {column.shape for column in (t, a, b, w)}
    if len(lengths) > 1 or t.ndim != 1:
        got = f"shapes {', '.join(str(column.shape) for column in (t, a, b, w))}"
        rule, remedy = "every event must have a step, two ends and a weight", "give flat arrays of one length"
        raise network_error(rule, got=got, remedy=remedy)
    _check_positions(a, b, labels)
    # 32-bit positions halve the memory of the events; i < j gives each pair one form.
    events = Events(t, np.minimum(a, b).astype(np.int32), np.maximum(a, b).astype(np.int32), w)
    _check_steps(events)
    _check_weights(events, labels)
    return _without_repeats(events, labels)


def validate_period(period: int | None, last: int) -> int | None:
    """Return the period; no event may come after it."""
    if period is None:
        return None
    length = check_integer("period", period, least=1, remedy="leave it out for a network that does not repeat")
    if length < last:
        remedy = "give a longer period, or leave out the events beyond it"
        raise network_error(f"no event may come after the period of {length}", got=f"one at step {last}", remedy=remedy)
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
        raise network_error(f"{name} must be whole numbers", got=f"dtype {column.dtype}", remedy=remedy)
    if column.dtype.kind != "i":
        # A comparison with nan is False, so missing values are bad as well.
        with np.errstate(invalid="ignore"):
            # Above 2⁵³ a float that looks whole may have lost its last digits.
            bad = ~((column == np.floor(column)) & (np.abs(column) < 2**53))
        if bad.any():
            got = first_few(_with_rows(column, bad), int(bad.sum()))
            raise network_error(f"{name} must be whole numbers", got=got, remedy=remedy)
    return column.astype(np.int64)


def _numbers(weights: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        got, remedy = f"{np.asarray(weights).tolist()!r:.60}", "give numbers above 0, and 0 to end an edge"
        raise network_error("weights must be real numbers", got=got, remedy=remedy) from None


def _with_rows(values: NDArray[Any], bad: NDArray[np.bool_]) -> Any:
    return (f"{values[k]} in row {k + 1}" for k in np.flatnonzero(bad).tolist())


def _check_positions(a: NDArray[np.int64], b: NDArray[np.int64], labels: Sequence[Label]) -> None:
    n = len(labels)
    for ends in (a, b):
        outside = (ends < 0) | (ends >= n)
        if outside.any():
            got = first_few(_with_rows(ends, outside), int(outside.sum()))
            remedy = "count agents from 0, or give labels to from_events"
            raise network_error(f"positions of agents must lie in 0..{n - 1}", got=got, remedy=remedy)


def _check_steps(events: Events) -> None:
    times = events.times
    # Step 0 is the start state, which no edge acts on.
    early = times < 1
    if early.any():
        got = first_few(_with_rows(times, early), int(early.sum()))
        raise network_error("steps count from 1", got=got, remedy="give what holds from the start the time 1")
    back = np.flatnonzero(times[1:] < times[:-1])
    if back.size:
        k = int(back[0]) + 1
        got = f"step {times[k]} in row {k + 1} after step {times[k - 1]}"
        raise network_error("events must come in the order of their steps", got=got, remedy="sort them by time first")


def _check_weights(events: Events, labels: Sequence[Label]) -> None:
    loops = events.sources == events.targets
    if loops.any():
        remedy = "remove it; the weight of an agent's own opinion is its stubbornness"
        raise _bad_events(events, loops, labels, "an agent must not be its own neighbour", remedy)
    finite = np.isfinite(events.weights)
    if not finite.all():
        raise _bad_events(
            events, ~finite, labels, "weights must be finite", "remove those events or give them a number"
        )
    if events.weights.size and events.weights.min() < 0:
        remedy = "the model has no repulsion; use weights above 0, and 0 to end an edge"
        raise _bad_events(events, events.weights < 0, labels, "weights must not be negative", remedy)
    # The degree of an agent at any step is at most this sum.
    with np.errstate(over="ignore"):
        total = events.weights.sum()
    if not np.isfinite(total):
        raise network_error("the sum of all weights must be finite", got=total, remedy="divide them by the largest")


def _bad_events(
    events: Events, bad: NDArray[np.bool_], labels: Sequence[Label], rule: str, remedy: str
) -> NetworkError:
    named = (_describe(events, k, labels) for k in np.flatnonzero(bad).tolist())
    return network_error(rule, got=first_few(named, int(bad.sum())), remedy=remedy)


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
        raise network_error("a pair must keep one weight through a step", got=got, remedy="keep one of them")
    # Before its first event, a pair has the weight 0.
    new = np.concatenate([by_pair.weights[:1] != 0, np.where(repeat, changed, by_pair.weights[1:] != 0)])
    kept = by_pair.taken(np.flatnonzero(new))
    return kept.taken(np.argsort(kept.times, kind="stable"))


# Snapshots


def events_from_snapshots(graphs: Iterable[Any], times: ArrayLike | None) -> tuple[Events, Sequence[Label]]:
    """Return the differences between consecutive graphs, and all labels in the order of their first appearance.

    ``times`` holds the first step of each graph; None stands for 1, 2, ….
    """
    parts = [_snapshot_adjacency(graph) for graph in graphs]
    if not parts:
        raise network_error("a temporal network must have snapshots", got="none", remedy="give at least one graph")
    steps = np.arange(1, len(parts) + 1) if times is None else _increasing(integer_column("times", times), len(parts))
    labels = _union([labels for _, labels in parts])
    n, place = len(labels), {label: k for k, label in enumerate(labels)}
    # Before the first snapshot there are no edges.
    before = (np.empty(0, np.int64), np.empty(0))
    changes = []
    for step, (matrix, names) in zip(steps.tolist(), parts, strict=True):
        # Snapshots with the same agents need no look-up of labels, which dominates for large networks.
        position = np.arange(n) if names == labels else np.array([place[name] for name in names], dtype=np.int64)
        now = _edges(matrix, position, n)
        codes, weights = _differences(before, now)
        changes.append(Events(np.full(codes.size, step), codes // n, codes % n, weights))
        before = now
    return Events.joined(changes), labels


def _snapshot_adjacency(graph: Any) -> tuple[coo_array, Sequence[Label]]:
    """Return the checked adjacency of one snapshot, and its labels."""
    if isinstance(graph, Network):
        return graph.adjacency.tocoo(), graph.labels
    if is_graph(graph):
        matrix, labels = adjacency_from_graph(graph, "weight")
        # A graph without nodes or edges is a valid snapshot, though not a valid Network.
        return (canonical_adjacency(matrix, labels).tocoo() if matrix.nnz else matrix), labels
    if issparse(graph) or isinstance(graph, np.ndarray | list) or is_frame(graph):
        matrix, labels = labelled_square(graph, None)
        return canonical_adjacency(matrix, labels).tocoo(), labels
    rule = "a snapshot must be a Network, a graph of NetworkX or igraph, or a matrix"
    raise network_error(rule, got=type(graph).__name__, remedy="convert it first")


def _increasing(times: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    if times.shape != (count,):
        got = f"shape {times.shape} for {count} snapshots"
        raise network_error("there must be one time per snapshot", got=got, remedy="list them in the snapshots' order")
    back = np.flatnonzero(np.diff(times) <= 0)
    if back.size:
        k = int(back[0])
        got = f"{times[k + 1]} after {times[k]}"
        raise network_error(
            "snapshots must come in the order of their times", got=got, remedy="sort them by time first"
        )
    return times


def _union(families: Sequence[Sequence[Label]]) -> Sequence[Label]:
    # Default labels 0..n-1 are the first agents of the longest range.
    if all(isinstance(labels, range) for labels in families):
        return max(families, key=len)
    return tuple(dict.fromkeys(label for labels in families for label in labels))


def _edges(matrix: coo_array, position: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the codes i·n + j of the edges i < j in order, and their weights."""
    i, j = (position[side] for side in matrix.coords)
    # Both directions are stored, and codes of i < j are unique.
    once = np.flatnonzero(i < j)
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
        raise network_error("every row must have a time and two ends", got=got, remedy="give columns of one length")
    if not len(times):
        raise network_error("a temporal network must have events", got="none", remedy="give at least one")
    # Positions and labels are resolved, and errors raised, as for the edges of a static network.
    matrix, names = adjacency_from_edges((sources, targets), None, labels, n, directed=False)
    # The matrix lists both directions of every row; the first half is the direction that was given.
    i, j = (side[: len(times)].astype(np.int64) for side in matrix.coords)
    return EventTable(np.asarray(times), i, j, np.asarray(weights[0]) if weights else None, names)


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
        raise network_error("events must come in three or four columns", got=len(columns), remedy=ROWS)
    return columns


def _frame_columns(frame: Any) -> list[Any]:
    """Return the columns by their names, as in a file, or by their order if the names mean nothing."""
    try:
        places = places_by_name([str(name) for name in frame.columns])
    except FileFormatError as error:
        raise NetworkError(str(error)) from None
    columns = [frame[frame.columns[places[role]]].to_numpy() for role in ROLES if role in places]
    columns[1:3] = [ends.tolist() for ends in columns[1:3]]  # labels, where arrays would be positions
    return columns


def _array_columns(rows: NDArray[Any]) -> list[Any]:
    if rows.ndim != 2 or rows.shape[1] not in (3, 4):
        raise network_error("events must come in three or four columns", got=f"shape {rows.shape}", remedy=ROWS)
    ends = rows[:, 1:3]
    if rows.dtype.kind == "f" and np.array_equal(ends, np.floor(ends)):
        # An array has one dtype: positions next to real times or weights are floats.
        ends = ends.astype(np.int64)
    return [rows[:, 0], *ends.T, *([rows[:, 3]] if rows.shape[1] == 4 else [])]


def _unzipped(rows: Iterable[Any]) -> list[list[Any]]:
    listed = list(rows)
    for k, row in enumerate(listed, start=1):
        if not isinstance(row, tuple | list | np.ndarray) or len(row) not in (3, 4):
            raise network_error("an event must have three or four fields", got=f"{row!r} in row {k}", remedy=ROWS)
    times, sources, targets = ([row[c] for row in listed] for c in range(3))
    # Rows with and without a weight may be mixed.
    return [times, sources, targets, [row[3] if len(row) == 4 else 1 for row in listed]]


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
        raise network_error(rule, got=repr(error), remedy="store what temporal.arrays() returns") from None
    return events, n, labels_from_json(texts), period or None
