"""Events, the changes of a temporal network: validation, canonical form, storage, and the adjacency at any step."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from peerpressure.errors import NetworkError, first_few
from peerpressure.networks._adjacency import labels_from_json, labels_to_json
from peerpressure.networks._validation import Label, check_agents, check_integer, network_error, validate_labels

Times = NDArray[np.int64]
Positions = NDArray[np.integer[Any]]

COLUMNS = ("event_times", "sources", "targets", "weights")  # names of the arrays in storage
FOREVER = np.iinfo(np.int64).max
KEPT = 32 * 2**20  # bytes of recent matrices that are cached, so that short periods and small networks are free
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


# The adjacency at any step, updated from the adjacency one change earlier or later


@dataclass(frozen=True, eq=False)
class Spells:
    """Edge spells: for each event, the weight before it and the last step at which its own weight applies.

    ``pair`` gives the number of each event's pair; pairs are numbered in the order of their agents ``i`` < ``j``.
    """

    i: Positions
    j: Positions
    pair: Positions
    before: NDArray[np.float64]
    last: Times

    @classmethod
    def of(cls, events: Events, n: int) -> Spells:
        """Return the spells of canonical events; the last event of a pair applies for ever."""
        # A stable sort by pair keeps the events of each pair in the order of time. Positions have 32 bits, so that the
        # codes fit into 64.
        order = np.argsort(events.sources.astype(np.int64) * n + events.targets, kind="stable")
        by_pair = events.taken(order)
        first = np.ones(order.size, dtype=bool)
        first[1:] = (by_pair.sources[1:] != by_pair.sources[:-1]) | (by_pair.targets[1:] != by_pair.targets[:-1])
        # Defaults for the first event of a pair (weight 0 before it) and for the last one (it applies for ever).
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

    Every pair that is ever linked has two slots, one for each direction, in the order of a CSR matrix.  ``_weights``
    holds the current weight of every slot, ``_live`` the slots with a positive weight, and ``_counts`` their number
    in every row.
    """

    def __init__(self, events: Events, spells: Spells, n: int) -> None:
        self._events, self._spells, self._n = events, spells, n
        self.change_times, starts = np.unique(events.times, return_index=True)
        self._starts = np.append(starts, events.times.size)
        i, j = spells.i.astype(np.int64), spells.j.astype(np.int64)
        # Codes i·n + j sort by row and then by column, which is the order of a CSR matrix.
        order = np.argsort(np.concatenate([i * n + j, j * n + i]), kind="stable")
        self._rows = np.concatenate([spells.i, spells.j])[order]
        self._columns = np.concatenate([spells.j, spells.i])[order]
        # The inverse permutation: from a directed pair in the given order to its slot in the CSR order.
        slots = np.empty(order.size, np.int32)
        slots[order] = np.arange(order.size)
        self._slots = slots.reshape(2, -1)  # the two directions of every pair
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

    def _keep(self, done: int, found: StepNetwork) -> None:
        self._kept[done] = found
        self._size += found.size
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
            self._apply(done, self._spells.before)
        else:
            self._jump(done)
        self._done = done

    def _apply(self, change: int, weights: NDArray[np.float64]) -> None:
        """Set the weights of the pairs of one change."""
        chosen = slice(*self._starts[change : change + 2])
        slots = self._slots[:, self._spells.pair[chosen]]
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
        # Of past events, those count whose weight still applies after the last of these changes.
        present = np.flatnonzero(self._spells.last[past] >= time)
        # At most one event of each pair still applies at a given step, so no assignment overwrites another.
        self._weights[self._slots[:, self._spells.pair[present]]] = self._events.weights[present]
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
