"""The network on an accelerator: agents in pairs that share a counter block, and changes that are made there.

Agents are stored in another order than the user's, which noise, coins and results are keyed on: the two agents of a
counter block side by side, since one draw serves both, and pairs by their numbers of neighbours, since the threads of a
warp wait for the longest row among theirs. The position of an agent in this order is its *slot*.

``engine.temporal`` is imported where a network is temporal: it needs numba, which takes a second to load.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerpressure.networks import TemporalNetwork
from peerpressure.simulation.engine.plan import RunPlan, network_step

# Neighbours from which a row is summed by many threads. Fewer would make the step of 10⁶ agents slower, in which all
# threads have work, and more that of 10⁵ agents or of one replicate, which waits for the longest row of one thread.
_LONG = 64
_WARP = 32
_NOBODY = 4  # slots at most that no agent has


def counter_pairs(n: int, array_module: Any = np) -> Any:
    """Return the two agents of each counter block, of shape (blocks, 2); a number from n on is nobody.

    >>> counter_pairs(10).tolist()
    [[0, 4], [1, 5], [2, 6], [3, 7], [8, 12], [9, 13]]
    """
    block = array_module.arange(n // 8 * 4 + min(n % 8, 4))
    first = block // 4 * 8 + block % 4
    return array_module.stack([first, first + 4], axis=1)


def storage_order(lengths: Any, array_module: Any = np) -> Any:
    """Return the counter blocks in the order of storage, from the numbers of neighbours of the agents.

    Blocks with long rows come first: they take longest and should not start last.

    >>> storage_order(np.array([1, 1, 2, 1, 1, 9, 2, 1]))
    array([1, 2, 0, 3])
    """
    xp = array_module
    padded = xp.concatenate([lengths, xp.zeros(_NOBODY, lengths.dtype)])
    first, second = padded[counter_pairs(lengths.size, xp)].T
    # Ties stay in the user's order, in which neighbours are often close.
    return xp.lexsort(xp.stack([-second, -first, -xp.maximum(first, second)]))


class DeviceNetwork:
    """Rows of neighbours and constants of the agents, by slots, and the changes of a temporal network."""

    def __init__(self, plan: RunPlan, cupy: Any, module: Any, edge: Any, *, uniform: bool) -> None:
        self.plan, self.cupy, self.module = plan, cupy, module
        temporal = plan.model.temporal_network
        union = plan.model.network.adjacency if temporal is None else temporal.aggregate.adjacency
        if not union.has_sorted_indices:
            union = union.sorted_indices()
        indptr = cupy.asarray(union.indptr)
        lengths = cupy.diff(indptr).astype(np.int64)
        self._assign_slots(lengths)
        self._reserve_rows(lengths, edge, union.nnz)
        self.constants = self._constants(plan)
        # The whole rows in the user's order: what they are placed from.
        self.all_starts = indptr.astype(edge)
        self.all_columns = cupy.asarray(union.indices).astype(np.uint32)
        self.all_weights = cupy.asarray(union.data[:1] if uniform else union.data).astype(plan.dtype)
        # Zeros, as the step also multiplies rows of zeros by the first weight, which may never be set.
        self.weights = self.all_weights if uniform else cupy.zeros(union.nnz, plan.dtype)
        self.hubs = self._count_hubs(union.nnz, temporal)
        if temporal is not None:
            from peerpressure.simulation.engine.temporal import EventArrays

            self.events = EventArrays(temporal, plan.dtype, plan.pace, paired=True)
            return
        self._place(cupy.arange(plan.model.n, dtype=np.uint32), write_degrees=False)
        del self.all_starts, self.all_columns, self.all_weights

    def _assign_slots(self, lengths: Any) -> None:
        cupy, n = self.cupy, lengths.size
        order = storage_order(lengths, cupy)
        agents = counter_pairs(n, cupy)[order].reshape(-1)
        self.pairs = order.size
        self.counters = order.astype(np.uint32)
        # Slots that no agent has repeat the last agent: finite numbers, which nobody reads.
        self.agents = cupy.minimum(agents, n - 1)
        self.slots = cupy.empty(n + _NOBODY, np.uint32)
        self.slots[agents] = cupy.arange(agents.size, dtype=np.uint32)

    def _reserve_rows(self, lengths: Any, edge: Any, entries: int) -> None:
        cupy = self.cupy
        self.starts = cupy.zeros(self.agents.size + 1, edge)
        kept = lengths[self.agents]
        # Nobody has no neighbours: the last agent's slot is the one that the table of slots names.
        kept[self.slots[self.agents] != cupy.arange(kept.size)] = 0
        self.starts[1:] = cupy.cumsum(kept)
        self.ends = self.starts[:-1].copy()
        self.columns = cupy.empty(entries, np.uint32)

    def _constants(self, plan: RunPlan) -> Any:
        """Return stubbornness, degree, hidden opinion and deviation of the noise, (slots, 4)."""
        model = plan.model
        deviation = model.noise.std if plan.deviation is None else plan.deviation
        fields = self.cupy.empty((model.n, 4), plan.dtype)
        for column, values in enumerate((model.s, model.network.degrees, model.x0, deviation)):
            fields[:, column] = self.cupy.asarray(values)
        return fields[self.agents]

    def by_slot(self, values: NDArray[Any]) -> Any:
        """Return an array of the agents on the device, in the order of storage."""
        return self.cupy.asarray(values)[self.agents]

    def _count_hubs(self, entries: int, temporal: TemporalNetwork | None) -> int:
        """Return the number of pairs, which come first, with a row that the threads of a block share."""
        least = _LONG
        if temporal is not None:
            from peerpressure.simulation.engine.temporal import present_events

            # Rows of neighbours over time are longer than those of a step, by so much on average. Judged by step 1
            # whatever the start: sums by many threads round differently, and a resumed run has the same bits.
            least *= max(1, entries // max(2 * present_events(temporal, 1).size, temporal.n))
        longest = self.cupy.diff(self.starts).reshape(-1, 2).max(axis=1)
        return int((longest > least).sum())

    def launch(self, name: str, threads: int, arguments: tuple[Any, ...]) -> None:
        """Start so many threads of a kernel."""
        if threads:
            self.module.get_function(name)((-(-threads // 256),), (256,), arguments)

    def _place(self, rows: Any, *, write_degrees: bool) -> None:
        degrees = self.constants if write_degrees else np.uint64(0)
        whole = (self.all_starts, self.all_columns, self.all_weights)
        placed = (self.starts, self.ends, self.columns, self.weights, degrees)
        arguments = (np.uint32(rows.size), rows, self.slots, *whole, *placed)
        self.launch("place_rows", rows.size * _WARP, arguments)

    # Temporal networks.

    def reset(self) -> None:
        """Go to the network with which the run starts."""
        temporal = self.plan.model.temporal_network
        if temporal is None:
            return
        from peerpressure.simulation.engine.temporal import present_events

        chosen = present_events(temporal, network_step(self.plan.start_step, self.plan.pace))
        self.all_weights[:] = 0
        self._set(*self._uploaded(temporal.sources[chosen], temporal.targets[chosen], temporal.weights[chosen]))
        self._place(self.cupy.arange(temporal.n, dtype=np.uint32), write_degrees=True)

    def _uploaded(self, sources: Any, targets: Any, weights: Any) -> tuple[Any, Any]:
        """Return the ends of some pairs of agents, (pairs, 2), and their weights on the device."""
        ends = np.stack([sources, targets], axis=1).astype(np.uint32)
        return self.cupy.asarray(ends), self.cupy.asarray(weights.astype(self.plan.dtype))

    def look_ahead(self, begin: int, end: int) -> None:
        """Copy the changes of steps begin + 1…end to the device, and note before which of them each comes."""
        self.due: dict[int, slice] = {}
        if self.plan.model.temporal_network is None:
            return
        changes = self.events.between(begin, end)
        for k, q in enumerate(changes.intervals[:-1].tolist()):
            self.due[begin + q + 1] = slice(int(changes.cuts[k]), int(changes.cuts[k + 1]))
        self.changes = self._uploaded(changes.sources, changes.targets, changes.weights)

    def change(self, time: int) -> None:
        """Make the changes that come before a step."""
        part = self.due.get(time)
        if part is None or part.start == part.stop:
            return
        ends, weights = (column[part] for column in self.changes)
        self._set(ends, weights)
        # An agent of several changes is placed as often, to the same bits.
        self._place(ends.reshape(-1), write_degrees=True)

    def _set(self, ends: Any, weights: Any) -> None:
        whole = (self.all_starts, self.all_columns, self.all_weights)
        self.launch("set_weights", ends.size, (np.uint32(weights.size), ends, weights, *whole))
