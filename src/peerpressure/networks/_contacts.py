"""Time-stamped contacts converted to edges that last for one step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerpressure.dates import DateError, as_seconds
from peerpressure.errors import first_few
from peerpressure.networks._events import Events, EventTable
from peerpressure.networks._validation import check_integer, check_memory, network_error

LONGEST = 2**53  # steps beyond which floats no longer represent every integer


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
