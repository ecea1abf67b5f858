"""The adjacency of any step, made from that of the step before or after it."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from peerpressure.networks.temporal.events import Events
from peerpressure.networks.temporal.spells import Spells

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
