"""The adjacency at any step, updated from the adjacency one change earlier or later."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from peerpressure.networks._events import Events, Positions, Times

FOREVER = np.iinfo(np.int64).max
KEPT = 32 * 2**20  # bytes of recent matrices that are cached, so that short periods and small networks are free
OVERHEAD = 2_000  # bytes of a matrix object apart from its entries


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
