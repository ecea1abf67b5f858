"""Contacts, the records of who met whom when, turned into edges that live for a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerpressure.networks._events import Events, Table
from peerpressure.networks._validation import few, refusal, room_for, whole

LONGEST = 2**53  # steps beyond which a double no longer tells one from the next


@dataclass(frozen=True)
class Binning:
    """How time stamps become steps: step k holds the time from origin + (k − 1)·resolution on, for one resolution.

    A contact counts in every step that its ``duration`` touches; None is the moment of its stamp alone.
    """

    resolution: float
    origin: float | None
    duration: float | None
    skip_quiet: int | None

    def __post_init__(self) -> None:
        if not _is_number(self.resolution) or self.resolution <= 0:
            remedy = "give the length of a step in the units of the time stamps"
            raise refusal("the resolution must be a positive number", got=repr(self.resolution), remedy=remedy)
        if self.origin is not None and not _is_number(self.origin):
            remedy = "give the time at which the first step begins, or leave it out"
            raise refusal("the origin must be a number", got=repr(self.origin), remedy=remedy)
        if self.duration is not None and (not _is_number(self.duration) or self.duration <= 0):
            remedy = "leave it out where every contact is a moment"
            raise refusal("the duration of a contact must be a positive number", got=repr(self.duration), remedy=remedy)
        if self.skip_quiet is not None:
            whole("skip_quiet", self.skip_quiet, least=0, remedy="leave it out to keep every silent step")

    def steps(self, times: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first and the last step of every contact."""
        origin = times.min() if self.origin is None else self.origin
        since = _settled((times - origin) / self.resolution)
        if since.min() < 0:
            got = few((times[k] for k in np.flatnonzero(since < 0).tolist()), int(np.sum(since < 0)))
            raise refusal(f"contacts must not come before the origin {origin:g}", got=got, remedy="move the origin")
        first = np.floor(since)
        # A contact that ends where a step begins does not touch that step.
        last = first if self.duration is None else np.ceil(_settled(since + self.duration / self.resolution)) - 1
        if last.max() >= LONGEST:
            got = f"{last.max():.3g} steps"
            raise refusal("steps must be countable", got=got, remedy="use a coarser resolution, or an origin")
        return first.astype(np.int64) + 1, np.maximum(first, last).astype(np.int64) + 1


def events_of_contacts(table: Table, binning: Binning, weighted: bool) -> Events:
    """Return the events of edges that live in the steps of their contacts, with the contacts' summed weight or 1."""
    first, last = binning.steps(_stamps(table.times))
    lengths = last - first + 1
    room_for(2 * float(lengths.sum(dtype=np.float64)))
    row = np.repeat(np.arange(first.size), lengths)
    steps = np.arange(row.size) - np.repeat(np.cumsum(lengths) - lengths - first, lengths)
    if binning.skip_quiet is not None:
        steps = _without_silence(steps, binning.skip_quiet)
    weights = np.ones(first.size) if table.weights is None else _weights(table.weights)
    met = Events(steps, *_ordered(table.sources[row], table.targets[row]), weights[row])
    return events_of_meetings(met, weighted)


def events_of_meetings(met: Events, weighted: bool) -> Events:
    """Return the events of edges that each live for one step, repeats within a step added up or counted once."""
    if not met.times.size:
        return met
    order = np.lexsort((met.times, met.targets, met.sources))
    met = met.taken(order)
    next_step = np.diff(met.times)
    same_pair = (np.diff(met.sources) == 0) & (np.diff(met.targets) == 0)
    first = np.flatnonzero(np.concatenate([np.ones(1, bool), ~same_pair | (next_step != 0)]))
    weights = np.add.reduceat(met.weights, first) if weighted else np.ones(first.size)
    begun = met.taken(first)._replace(weights=weights)
    # An edge ends after its step unless its pair meets in the next one too.
    goes_on = np.append(same_pair & (next_step == 1), False)[np.append(first[1:], met.times.size) - 1]
    ended = begun.taken(np.flatnonzero(~goes_on))
    ended = Events(ended.times + 1, ended.sources, ended.targets, np.zeros(ended.times.size))
    both = Events.joined([begun, ended])
    return both.taken(np.argsort(both.times, kind="stable"))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and bool(np.isfinite(value))


def _settled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    # Stamps such as 0.3 at a resolution of 0.1 must not fall just below the step that they begin.
    nearest = np.rint(values)
    return np.where(np.abs(values - nearest) <= 1e-9 * np.maximum(1, np.abs(nearest)), nearest, values)


def _without_silence(steps: NDArray[np.int64], longest: int) -> NDArray[np.int64]:
    """Return the steps counted anew, without the stretches of more than so many in which nobody meets."""
    busy, place = np.unique(steps, return_inverse=True)
    silent = np.diff(busy, prepend=0) - 1
    dropped = np.cumsum(np.where(silent > longest, silent, 0))
    return np.asarray((busy - dropped)[place])


def _ordered(a: NDArray[np.int64], b: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    return np.minimum(a, b).astype(np.int32), np.maximum(a, b).astype(np.int32)


def _stamps(times: NDArray[Any]) -> NDArray[np.float64]:
    """Return time stamps as numbers; dates count in seconds."""
    if times.dtype.kind == "M":
        times = np.where(np.isnat(times), np.nan, times.astype("datetime64[us]").astype(np.int64) / 1e6)
    if times.dtype.kind not in "iuf":
        got = f"{times.ravel()[:1].tolist()[0]!r} in row 1"
        raise refusal("time stamps must be numbers or dates", got=got, remedy="use seconds, or datetime64")
    return _checked(times.astype(np.float64), np.isfinite, "time stamps must be finite", "remove those contacts")


def _weights(values: NDArray[Any]) -> NDArray[np.float64]:
    try:
        weights = values.astype(np.float64)
    except (TypeError, ValueError):
        got = repr(values.tolist()[0])
        raise refusal("weights must be real numbers", got=got, remedy="leave the fourth column out") from None
    rule, remedy = "weights of contacts must be finite and positive", "remove those contacts"
    return _checked(weights, lambda w: (w > 0) & np.isfinite(w), rule, remedy)


def _checked(
    values: NDArray[np.float64], legal: Callable[[NDArray[np.float64]], NDArray[np.bool_]], rule: str, remedy: str
) -> NDArray[np.float64]:
    bad = np.flatnonzero(~legal(values)).tolist()
    if bad:
        raise refusal(rule, got=few((f"{values[k]:g} in row {k + 1}" for k in bad), len(bad)), remedy=remedy)
    return values
