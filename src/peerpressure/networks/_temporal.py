"""The adjacency of any step, made from that of the step before or after it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple, Self, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from peerpressure.networks._connectivity import components
from peerpressure.networks._contacts import Binning, events_of_contacts
from peerpressure.networks._events import (
    Events,
    Spells,
    Times,
    canonical_events,
    checked_names,
    checked_period,
    events_of_snapshots,
    table_of,
)
from peerpressure.networks._network import Network, decode, encode
from peerpressure.networks._validation import Label, refusal, whole

KEPT = 32 * 2**20  # bytes of recent matrices that are kept, so that short periods and small networks cost nothing
OVERHEAD = 2_000  # bytes that a matrix takes beside its entries


class Moment(NamedTuple):
    """The network of one step: its adjacency and the degrees of its agents."""

    adjacency: csr_array
    degrees: NDArray[np.float64]

    @property
    def size(self) -> int:
        """The memory that it takes, in bytes."""
        A = self.adjacency
        return int(A.data.nbytes + A.indices.nbytes + A.indptr.nbytes + self.degrees.nbytes) + OVERHEAD


class Cursor:
    """A place in the sequence of changes that moves by one change at the cost of the edges then present.

    Every pair that ever meets has two slots, one for each direction, in the order of a CSR matrix.  ``_weights``
    holds what every slot weighs now, ``_live`` those that weigh something, and ``_counts`` how many there are in
    every row.
    """

    def __init__(self, events: Events, spells: Spells, n: int) -> None:
        self._events, self._spells, self._n = events, spells, n
        self.change_times, starts = np.unique(events.times, return_index=True)
        self._starts = np.append(starts, events.times.size)
        i, j = spells.i.astype(np.int64), spells.j.astype(np.int64)
        order = np.argsort(np.concatenate([i * n + j, j * n + i]), kind="stable")
        self._rows = np.concatenate([spells.i, spells.j])[order]
        self._columns = np.concatenate([spells.j, spells.i])[order]
        slots = np.empty(order.size, np.int32)
        slots[order] = np.arange(order.size)
        self._slots = slots.reshape(2, -1)  # of every pair, in its two directions
        self._weights = np.zeros(order.size)
        self._live = np.empty(0, np.int32)
        self._counts = np.zeros(n, np.int64)
        self._done = 0
        self._kept: OrderedDict[int, Moment] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def at(self, step: int) -> Moment:
        """Return the network of a step; the same object as long as nothing changes."""
        done = int(np.searchsorted(self.change_times, step, side="right"))
        with self._lock:
            if done in self._kept:
                self._kept.move_to_end(done)
            else:
                self._move(done)
                self._keep(done, self._moment())
            return self._kept[done]

    def _keep(self, done: int, moment: Moment) -> None:
        self._kept[done] = moment
        self._size += moment.size
        while self._size > KEPT and len(self._kept) > 1:
            self._size -= self._kept.popitem(last=False)[1].size

    def _move(self, done: int) -> None:
        """Bring weights and live slots to where this many changes are done."""
        if done == self._done + 1:
            self._apply(self._done, self._events.weights)
        elif done == self._done - 1:
            self._apply(done, self._spells.before)
        else:
            self._jump(done)
        self._done = done

    def _apply(self, change: int, weights: NDArray[np.float64]) -> None:
        """Give the pairs of one change these weights of theirs."""
        chosen = slice(*self._starts[change : change + 2])
        slots = self._slots[:, self._spells.pair[chosen]]
        was, now = self._weights[slots], np.broadcast_to(weights[chosen], slots.shape)
        fresh, gone = np.sort(slots[was == 0]), np.sort(slots[now == 0])
        self._weights[slots] = now
        np.add.at(self._counts, self._rows[fresh], 1)
        np.subtract.at(self._counts, self._rows[gone], 1)
        staying = np.delete(self._live, np.searchsorted(self._live, gone))
        self._live = np.insert(staying, np.searchsorted(staying, fresh), fresh)

    def _jump(self, done: int) -> None:
        self._weights[self._live] = 0
        past = slice(0, self._starts[done])
        time = self.change_times[done - 1] if done else 0
        present = np.flatnonzero(self._spells.last[past] >= time)
        self._weights[self._slots[:, self._spells.pair[present]]] = self._events.weights[present]
        self._live = np.flatnonzero(self._weights).astype(np.int32)
        self._counts = np.bincount(self._rows[self._live], minlength=self._n)

    def _moment(self) -> Moment:
        indptr = np.zeros(self._n + 1, np.int32)
        np.cumsum(self._counts, out=indptr[1:])
        entries = (self._weights.take(self._live), self._columns.take(self._live), indptr)
        adjacency = csr_array(entries, shape=(self._n, self._n))
        adjacency.has_canonical_format = True
        degrees = adjacency.sum(axis=1)
        for part in (adjacency.data, adjacency.indices, adjacency.indptr, degrees):
            part.flags.writeable = False
        return Moment(adjacency, degrees)


# Networks that change as plain arrays, so that they can be stored without pickle.

COLUMNS = ("event_times", "sources", "targets", "weights")


def arrays_of_events(events: Events, labels: Sequence[Label], period: int | None) -> dict[str, NDArray[Any]]:
    """Return the events and what belongs to them under the names that ``events_of_arrays`` knows."""
    columns: dict[str, NDArray[Any]] = dict(zip(COLUMNS, events.columns, strict=True))
    return columns | {"agents": np.array(len(labels)), "period": np.array(period or 0), "labels": encode(labels)}


def events_of_arrays(arrays: Mapping[str, Any]) -> tuple[Events, int, list[Label] | None, int | None]:
    """Return the events, the number of agents, their labels and the period, as they were stored."""
    try:
        events = Events(*(np.asarray(arrays[name]) for name in COLUMNS))
        n, period = (int(np.asarray(arrays[name])) for name in ("agents", "period"))
        texts = np.asarray(arrays["labels"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        rule = f"a stored network that changes must hold {', '.join(COLUMNS)}, agents, period and labels"
        raise refusal(rule, got=repr(error), remedy="store what temporal.arrays() returns") from None
    return events, n, decode(texts), period or None


# TemporalNetwork: who listens to whom, step by step.

Scalar = TypeVar("Scalar", bound=np.generic)


@final
@dataclass(frozen=True, eq=False, init=False, repr=False)
class TemporalNetwork:
    """A graph of agents whose symmetric weights change at whole steps t = 1, 2, …; it is kept as its changes.

    From step ``event_times[k]`` on, the agents at positions ``sources[k]`` and ``targets[k]`` are joined with weight
    ``weights[k]``, where 0 ends an edge.  What happens at t is in force when y_t is made, and what happens at 1 is
    the network at the start.  With a ``period`` P the sequence repeats, A_{t+P} = A_t; without one the network stays
    as its last change left it.  Agents may be without neighbours for a while.

    >>> TemporalNetwork([1, 1, 4], [0, 1, 0], [1, 2, 1], [1, 1, 0])
    TemporalNetwork(3 agents, 2 pairs, 1 change over 1…4, on average 1.75 edges)
    """

    labels: Sequence[Label]
    event_times: Times
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    weights: NDArray[np.float64]
    period: int | None

    def __init__(
        self,
        event_times: ArrayLike,
        sources: ArrayLike,
        targets: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        n: int | None = None,
        labels: Iterable[Label] | None = None,
        period: int | None = None,
    ) -> None:
        names = checked_names(n, labels, sources, targets)
        events = canonical_events(event_times, sources, targets, weights, names)
        keep = object.__setattr__
        keep(self, "labels", names)
        for name, column in zip(COLUMNS, events.columns, strict=True):
            keep(self, name, _frozen(column))
        keep(self, "period", checked_period(period, self.last_change))

    @classmethod
    def from_events(
        cls, events: Any, labels: Iterable[Label] | None = None, n: int | None = None, period: int | None = None
    ) -> Self:
        """Return the network of rows (time, source, target) or (time, source, target, weight), in order of time.

        From its time on, the pair has that weight, or 1; the weight 0 ends the edge.  Rows may come one by one, as a
        data frame, as an array or as a tuple of columns.  Agents in arrays of numbers are positions, which ``labels``
        then names, and elsewhere labels.

        >>> friends = TemporalNetwork.from_events([(1, "ann", "bob"), (3, "bob", "cat"), (5, "ann", "bob", 0)])
        >>> friends.at(2).toarray()
        array([[0., 1., 0.],
               [1., 0., 0.],
               [0., 0., 0.]])
        """
        table = table_of(events, labels, n)
        return cls(table.times, table.sources, table.targets, table.weights, labels=table.labels, period=period)

    @classmethod
    def from_contacts(
        cls,
        contacts: Any,
        resolution: float = 1.0,
        *,
        origin: float | None = None,
        duration: float | None = None,
        weighted: bool = True,
        skip_quiet: int | None = None,
        labels: Iterable[Label] | None = None,
        n: int | None = None,
        period: int | None = None,
        repeat: bool = False,
    ) -> Self:
        """Return the network of time-stamped contacts (time, source, target) or (…, weight), in any order.

        Real time is cut into steps of length ``resolution`` from ``origin``, the first stamp by default.  An edge
        lives only in the step that holds its stamp, or in all steps that it touches when contacts last for
        ``duration``; dates count in seconds.  Contacts of a pair in one step add up to its weight there, or count
        once when not ``weighted``.  ``skip_quiet=k`` drops silent stretches of more than k steps, such as nights.
        After the last contact all are alone, unless ``repeat`` begins anew there, or ``period`` after so many steps.

        >>> TemporalNetwork.from_contacts([(0, "ann", "bob"), (20, "ann", "bob"), (70, "bob", "cat")], 60)
        TemporalNetwork(3 agents, 2 pairs, 3 changes over 1…3, on average 0.6667 edges)
        """
        binning = Binning(resolution, origin, duration, skip_quiet)
        table = table_of(contacts, labels, n)
        events = events_of_contacts(table, binning, weighted)
        length = checked_period(events.last_start if repeat and period is None else period, events.last_start)
        return cls(*events.within(length), labels=table.labels, period=length)

    @classmethod
    def from_snapshots(cls, graphs: Iterable[Any], times: ArrayLike | None = None, period: int | None = None) -> Self:
        """Return the network of graphs that follow one another, each from its time on; by default 1, 2, ….

        NetworkX graphs, Networks and matrices will do.  Agents are told by their labels; one that a graph does not
        have is without neighbours there.

        >>> from peerpressure.networks import path, star
        >>> TemporalNetwork.from_snapshots([path(4), star(4)], period=2)
        TemporalNetwork(4 agents, 5 pairs, 4 changes over 1…2, repeated, on average 3 edges)
        """
        events, labels = events_of_snapshots(graphs, times)
        return cls(*events, labels=labels, period=period)

    @classmethod
    def constant(cls, network: Network) -> Self:
        """Return a network that never changes."""
        i, j, weights = network.edges()
        return cls(np.ones(i.size, np.int64), i, j, weights, labels=network.labels)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Return the network that ``arrays()`` took apart."""
        events, n, labels, period = events_of_arrays(arrays)
        return cls(*events, n=n, labels=labels, period=period)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the network as plain arrays that ``np.savez`` stores without pickle."""
        return arrays_of_events(self.events, self.labels, self.period)

    @property
    def n(self) -> int:
        """The number of agents."""
        return len(self.labels)

    @property
    def last_change(self) -> int:
        """The step of the last event, or 1 if none comes after the start."""
        return int(self.event_times[-1]) if self.event_times.size else 1

    @property
    def span(self) -> int:
        """The number of steps after which nothing new comes: the period, or the last change."""
        return self.last_change if self.period is None else self.period

    @property
    def is_constant(self) -> bool:
        """Whether nothing ever changes."""
        return self.last_change == 1

    @property
    def pair_count(self) -> int:
        """The number of pairs of agents that ever meet."""
        return int(self.spells.i.size)

    @property
    def mean_edges(self) -> float:
        """The number of edges, on average over the steps 1…span."""
        steps = np.minimum(self.spells.last, self.span) - self.event_times + 1
        return float(steps[self.weights > 0].sum() / self.span)

    @cached_property
    def change_times(self) -> Times:
        """The steps at which something changes, in order; the first network counts if it has an edge."""
        return _frozen(np.unique(self.event_times))

    def at(self, t: int) -> csr_array:
        """Return the adjacency A_t of step t ≥ 1, shape (n, n); fast for steps that follow one another, either way."""
        return self._moment(t).adjacency

    def degrees_at(self, t: int) -> NDArray[np.float64]:
        """Return the sum of the weights at every agent at step t, shape (n,)."""
        return self._moment(t).degrees

    def snapshot(self, t: int) -> Network:
        """Return the network of step t, in as many pieces as it then has."""
        return Network(self.at(t), self.labels, connected=False)

    def _moment(self, t: int) -> Moment:
        step = whole("t", t, least=1, remedy="steps count from 1")
        return self._cursor.at(step if self.period is None else (step - 1) % self.period + 1)

    @cached_property
    def spells(self) -> Spells:
        """How long what each event brings holds."""
        return Spells.of(self.events, self.n)

    @cached_property
    def _cursor(self) -> Cursor:
        return Cursor(self.events, self.spells, self.n)

    @property
    def events(self) -> Events:
        """The four columns of the events together."""
        return Events(self.event_times, self.sources, self.targets, self.weights)

    @cached_property
    def aggregate(self) -> Network:
        """All pairs that ever meet, each with the mean of its weight over the steps 1…span."""
        spells = self.spells
        share = (np.minimum(spells.last, self.span) - self.event_times + 1) / self.span
        means = np.bincount(spells.pair, self.weights * share, minlength=spells.i.size)
        # Who ever meets is a neighbour here, however small the mean.
        means = np.maximum(means, np.nextafter(0, 1))
        return Network.from_edges((spells.i, spells.j), means, labels=self.labels, n=self.n, connected=False)

    def index(self, label: Label) -> int:
        """Return the position of the agent that bears this label."""
        return self.aggregate.index(label)

    def indices(self, labels: Iterable[Label]) -> NDArray[np.int64]:
        """Return the positions of the agents that bear these labels, in their order."""
        return self.aggregate.indices(labels)

    def largest_component(self) -> TemporalNetwork:
        """Return the largest piece of the aggregate, labels kept; among equals the one with the earliest agent."""
        if self.aggregate.is_connected:
            return self
        _, member = components(self.aggregate.adjacency)
        inside = member == np.argmax(np.bincount(member))
        place = np.cumsum(inside) - 1
        times, i, j, weights = self.events.taken(np.flatnonzero(inside[self.sources]))
        names = [self.labels[k] for k in np.flatnonzero(inside).tolist()]
        return TemporalNetwork(times, place[i], place[j], weights, labels=names, period=self.period)

    def __getstate__(self) -> dict[str, Any]:
        # The cursor and what else was worked out is not worth carrying to another process.
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        for column in self.events.columns:
            _frozen(column)

    def __repr__(self) -> str:
        pairs = f"{self.pair_count:,} pair{'s' * (self.pair_count != 1)}"
        if self.is_constant:
            return f"TemporalNetwork({self.n:,} agents, {pairs}, constant)"
        count = int(np.count_nonzero(self.event_times > 1))
        changes = f"{count:,} change{'s' * (count != 1)} over 1…{self.span:,}"
        again = "" if self.period is None else ", repeated"
        return f"TemporalNetwork({self.n:,} agents, {pairs}, {changes}{again}, on average {self.mean_edges:.4g} edges)"


def _frozen(column: NDArray[Scalar]) -> NDArray[Scalar]:
    column.flags.writeable = False
    return column
