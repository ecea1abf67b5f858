"""Spells: how long what an event brings holds, pair by pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from peerpressure.networks.temporal.events import Events, Positions, Times

FOREVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Spells:
    """What each event means for its pair: the weight before it, and the last step for which its own weight holds.

    ``pair`` numbers the pairs in the order of their agents ``i`` < ``j``.
    """

    i: Positions
    j: Positions
    pair: Positions
    before: NDArray[np.float64]
    last: Times

    @classmethod
    def of(cls, events: Events, n: int) -> Spells:
        """Return the spells of canonical events; those without a successor hold for ever."""
        order = np.argsort(events.sources.astype(np.int64) * n + events.targets, kind="stable")
        by_pair = events.taken(order)
        first = np.ones(order.size, dtype=bool)
        first[1:] = (by_pair.sources[1:] != by_pair.sources[:-1]) | (by_pair.targets[1:] != by_pair.targets[:-1])
        pair, before, last = np.empty(order.size, np.int32), np.zeros(order.size), np.full(order.size, FOREVER)
        pair[order] = np.cumsum(first) - 1
        later = np.flatnonzero(~first)
        before[order[later]] = by_pair.weights[later - 1]
        last[order[later - 1]] = by_pair.times[later] - 1
        return cls(by_pair.sources[first], by_pair.targets[first], pair, before, last)
