"""Events, the changes of a network: what each must be, and the one form in which all are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import NetworkError
from peerpressure.networks.labels import Label, checked_labels
from peerpressure.networks.parameters import whole
from peerpressure.networks.refusal import few, refusal
from peerpressure.networks.rules import MOST_ISOLATED

Times = NDArray[np.int64]
Positions = NDArray[np.integer[Any]]


class Events(NamedTuple):
    """Which pair of agents takes which weight from which step on, one entry of every array for each change."""

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
        """The last step at which an edge begins or takes another weight."""
        return int(self.times[self.weights > 0].max())

    def within(self, period: int | None) -> Events:
        """Return the events less the ends of edges that a new period brings about by itself."""
        if period is None:
            return self
        return self.taken(np.flatnonzero((self.weights > 0) | (self.times != period + 1)))


def canonical_events(
    times: ArrayLike, sources: ArrayLike, targets: ArrayLike, weights: ArrayLike | None, labels: Sequence[Label]
) -> Events:
    """Return the events sorted by step and pair, each pair i < j, without those that change nothing."""
    t, a, b = (whole_column(*column) for column in (("times", times), ("sources", sources), ("targets", targets)))
    w = np.ones(t.size) if weights is None else _numbers(weights)
    lengths = {column.shape for column in (t, a, b, w)}
    if len(lengths) > 1 or t.ndim != 1:
        got = f"shapes {', '.join(str(column.shape) for column in (t, a, b, w))}"
        rule, remedy = "every event must have a step, two ends and a weight", "give flat arrays of one length"
        raise refusal(rule, got=got, remedy=remedy)
    _refuse_strangers(a, b, labels)
    events = Events(t, np.minimum(a, b).astype(np.int32), np.maximum(a, b).astype(np.int32), w)
    _refuse_steps(events)
    _refuse_pairs(events, labels)
    return _without_repeats(events, labels)


def checked_period(period: int | None, last: int) -> int | None:
    """Return the period, which no event may lie beyond."""
    if period is None:
        return None
    length = whole("period", period, least=1, remedy="leave it out for a network that does not repeat")
    if length < last:
        remedy = "give a longer period, or leave out the events beyond it"
        raise refusal(f"no event may come after the period of {length}", got=f"one at step {last}", remedy=remedy)
    return length


def checked_names(
    n: int | None, labels: Iterable[Label] | None, sources: ArrayLike, targets: ArrayLike
) -> Sequence[Label]:
    """Return one label for each of n agents, or of as many as there are labels or positions."""
    names = labels if labels is None or isinstance(labels, range) else tuple(labels)
    if n is None:
        ends = np.concatenate([whole_column("sources", sources), whole_column("targets", targets)], axis=None)
        n = int(ends.max(initial=-1)) + 1 if names is None else len(names)
    return checked_labels(names, _some_agents(n, np.size(sources)))


def _some_agents(n: int, events: int) -> int:
    if whole("n", n, least=0, remedy="count the agents") < 2:
        raise refusal("a network needs at least 2 agents", got=n, remedy="give events, or n=...")
    if n > max(MOST_ISOLATED, 2 * events):
        got = f"{n} agents with {events} events"
        raise refusal("most agents must have neighbours", got=got, remedy="number the agents without gaps")
    return n


def whole_column(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """Return a column of whole numbers."""
    column = np.asarray(values)
    remedy = "for real time stamps use from_contacts(..., resolution=...)" if name == "times" else "count from 0"
    if column.dtype.kind not in "iuf":
        raise refusal(f"{name} must be whole numbers", got=f"dtype {column.dtype}", remedy=remedy)
    if column.dtype.kind != "i":
        with np.errstate(invalid="ignore"):
            bad = ~((column == np.floor(column)) & (np.abs(column) < 2**53))
        if bad.any():
            got = few(_at_rows(column, bad), int(bad.sum()))
            raise refusal(f"{name} must be whole numbers", got=got, remedy=remedy)
    return column.astype(np.int64)


def _numbers(weights: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.array(weights, dtype=np.float64)
    except (TypeError, ValueError):
        got, remedy = f"{np.asarray(weights).tolist()!r:.60}", "give numbers above 0, and 0 to end an edge"
        raise refusal("weights must be real numbers", got=got, remedy=remedy) from None


def _at_rows(values: NDArray[Any], bad: NDArray[np.bool_]) -> Any:
    return (f"{values[k]} in row {k + 1}" for k in np.flatnonzero(bad).tolist())


def _refuse_strangers(a: NDArray[np.int64], b: NDArray[np.int64], labels: Sequence[Label]) -> None:
    n = len(labels)
    for ends in (a, b):
        outside = (ends < 0) | (ends >= n)
        if outside.any():
            got = few(_at_rows(ends, outside), int(outside.sum()))
            remedy = "count agents from 0, or give labels to from_events"
            raise refusal(f"positions of agents must lie in 0..{n - 1}", got=got, remedy=remedy)


def _refuse_steps(events: Events) -> None:
    times = events.times
    early = times < 1
    if early.any():
        got = few(_at_rows(times, early), int(early.sum()))
        raise refusal("steps count from 1", got=got, remedy="give what holds from the start the time 1")
    back = np.flatnonzero(times[1:] < times[:-1])
    if back.size:
        k = int(back[0]) + 1
        got = f"step {times[k]} in row {k + 1} after step {times[k - 1]}"
        raise refusal("events must come in the order of their steps", got=got, remedy="sort them by time first")


def _refuse_pairs(events: Events, labels: Sequence[Label]) -> None:
    loops = events.sources == events.targets
    if loops.any():
        remedy = "remove it; how far an agent holds to its own view is its stubbornness"
        raise _bad(events, loops, labels, "an agent must not be its own neighbour", remedy)
    finite = np.isfinite(events.weights)
    if not finite.all():
        raise _bad(events, ~finite, labels, "weights must be finite", "remove those events or give them a number")
    if events.weights.size and events.weights.min() < 0:
        remedy = "the model has no repulsion; use weights above 0, and 0 to end an edge"
        raise _bad(events, events.weights < 0, labels, "weights must not be negative", remedy)
    with np.errstate(over="ignore"):
        total = events.weights.sum()
    if not np.isfinite(total):
        raise refusal("the sum of all weights must be finite", got=total, remedy="divide them by the largest")


def _bad(events: Events, bad: NDArray[np.bool_], labels: Sequence[Label], rule: str, remedy: str) -> NetworkError:
    named = (_told(events, k, labels) for k in np.flatnonzero(bad).tolist())
    return refusal(rule, got=few(named, int(bad.sum())), remedy=remedy)


def _told(events: Events, k: int, labels: Sequence[Label]) -> str:
    time, i, j, weight = (column[k].item() for column in events)
    return f"weight {weight} between {labels[i]!r} and {labels[j]!r} at step {time}"


def _without_repeats(events: Events, labels: Sequence[Label]) -> Events:
    # The events stand in the order of their steps, so a stable sort by pair leaves each pair's own in order.
    order = np.argsort(events.sources.astype(np.int64) * len(labels) + events.targets, kind="stable")
    by_pair = events.taken(order)
    repeat = (by_pair.sources[1:] == by_pair.sources[:-1]) & (by_pair.targets[1:] == by_pair.targets[:-1])
    changed = by_pair.weights[1:] != by_pair.weights[:-1]
    clash = np.flatnonzero(repeat & changed & (by_pair.times[1:] == by_pair.times[:-1]))
    if clash.size:
        got = few((f"{_told(by_pair, k + 1, labels)} after {by_pair.weights[k]}" for k in clash.tolist()), clash.size)
        raise refusal("a pair must keep one weight through a step", got=got, remedy="keep one of them")
    # What a pair had before its first event is nothing, the weight 0.
    new = np.concatenate([by_pair.weights[:1] != 0, np.where(repeat, changed, by_pair.weights[1:] != 0)])
    kept = by_pair.taken(np.flatnonzero(new))
    return kept.taken(np.argsort(kept.times, kind="stable"))
