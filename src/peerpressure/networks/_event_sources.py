"""Events of a temporal network from what users have: rows and data frames, snapshots, and time-stamped contacts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, issparse

from peerpressure.dates import DateError, as_seconds
from peerpressure.errors import FileFormatError, NetworkError, first_few
from peerpressure.networks._adjacency import adjacency_from_edges, adjacency_from_graph, is_graph
from peerpressure.networks._event_lists import ROLES, places_by_name
from peerpressure.networks._events import Events, integer_column
from peerpressure.networks._network import Network, check_undirected
from peerpressure.networks._validation import (
    Label,
    canonical_adjacency,
    check_integer,
    check_memory,
    is_frame,
    labelled_square,
    network_error,
)

ROWS = "give (time, source, target) or (time, source, target, weight)"
LONGEST = 2**53  # steps beyond which floats no longer represent every integer


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
        return check_undirected(graph).adjacency.tocoo(), graph.labels
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
            raise network_error("the resolution must be a positive number", got=repr(self.resolution), remedy=remedy)
        if self.origin is not None and not _is_number(self.origin):
            remedy = "give the time at which the first step begins, or leave it out"
            raise network_error("the origin must be a number", got=repr(self.origin), remedy=remedy)
        if self.duration is not None and (not _is_number(self.duration) or self.duration <= 0):
            remedy = "leave it out if contacts are instantaneous"
            raise network_error(
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
            raise network_error(
                f"contacts must not come before the origin {origin:g}", got=got, remedy="move the origin"
            )
        first = np.floor(since)
        # A contact that ends where a step begins does not overlap that step.
        last = first if self.duration is None else np.ceil(_snapped(since + self.duration / self.resolution, slack)) - 1
        if last.max() >= LONGEST:
            got = f"{last.max():.3g} steps"
            raise network_error("steps must be countable", got=got, remedy="use a coarser resolution, or an origin")
        # A duration below the slack would end before it begins; the contact still counts in its own
        # step.
        return first.astype(np.int64) + 1, np.maximum(first, last).astype(np.int64) + 1


def events_from_contacts(table: EventTable, binning: Binning, weighted: bool) -> Events:
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
    contacts = Events(steps, *_ordered(table.sources[row], table.targets[row]), weights[row])
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
    # Groups of equal pair and step are contiguous, so that reduceat adds up each of them.
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
        raise network_error("the resolution must be coarser than the digits of the time stamps", got=got, remedy=remedy)
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


def _ordered(a: NDArray[np.int64], b: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
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
            raise network_error("time stamps must be numbers or dates", got=got, remedy=remedy) from None
    if times.dtype.kind not in "iuf":
        got = f"{times.ravel()[:1].tolist()[0]!r} in row 1"
        raise network_error("time stamps must be numbers or dates", got=got, remedy="use seconds, or datetime64")
    return _checked(times.astype(np.float64), np.isfinite, "time stamps must be finite", "remove those contacts")


def _weights(values: NDArray[Any]) -> NDArray[np.float64]:
    try:
        weights = values.astype(np.float64)
    except (TypeError, ValueError):
        got = repr(values.tolist()[0])
        raise network_error("weights must be real numbers", got=got, remedy="leave the fourth column out") from None
    rule, remedy = "weights of contacts must be finite and positive", "remove those contacts"
    return _checked(weights, lambda w: (w > 0) & np.isfinite(w), rule, remedy)


def _checked(
    values: NDArray[np.float64], legal: Callable[[NDArray[np.float64]], NDArray[np.bool_]], rule: str, remedy: str
) -> NDArray[np.float64]:
    bad = np.flatnonzero(~legal(values)).tolist()
    if bad:
        raise network_error(
            rule, got=first_few((f"{values[k]:g} in row {k + 1}" for k in bad), len(bad)), remedy=remedy
        )
    return values
