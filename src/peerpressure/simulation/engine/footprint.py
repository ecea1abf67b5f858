"""Memory that a run on the processor takes at its peak, computed before any of it is allocated.

Every term belongs to arrays of the engine, and a test compares the sum with what runs of many shapes allocate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.noise import AR1, Frozen
from peerpressure.simulation.engine.plan import (
    BLOCK,
    CHUNK,
    FRESH,
    UNIT,
    block_sizes,
    draw_of,
    is_extended,
    is_scattered,
    steps_of_segment,
)

BLOCK_OBJECTS = 3_600  # bytes of a block's objects, alignment included; measured, with a margin
BUFFERS = 250_000  # bytes of the buffers of a call
STEP_BYTES = 150  # of the numbers that are read for a step of a segment
EVENT_BYTES = 150  # of a change of the network in a segment, which is one of two rows
# Coefficients of the terms of a Taylor series for an agent.
SERIES_BYTES = 400
# Bytes for a number that SciPy draws: its share, its quantile, and copies of either that SciPy makes.
DRAWN_BYTES = 80


@dataclass(frozen=True, eq=False)
class Footprint:
    """The size of a run: its model, replicates, precision, threads and steps; ``method`` is that of an SDE."""

    model: Model
    replicates: NDArray[np.int64]
    dtype: np.dtype[Any]
    threads: int
    steps: int
    method: str | None = None

    @property
    def series(self) -> bool:
        """Whether steps are Taylor series."""
        return self.method == "taylor"

    def total(self, recorded: int = 0) -> int:
        """Return the bytes of everything, with records of so many bytes."""
        # Blocks exist before the layout of the network is made, and until the final states are copied from them. The
        # layout for single replicates is made before there are records, and that for several at the first step.
        made = self._made_network() + (0 if self._has_single_replicates else recorded)
        later = self.final() + self._running() + recorded
        return self._blocks() + self._agents() + self._kept_network() + max(made, later)

    def final(self) -> int:
        """Return the bytes of the final states: public opinions, memory of the noise, and adapting opinions."""
        model = self.model
        states = 1 + isinstance(model.noise.temporal, AR1) + (model.adaptation is not None)
        return states * self.replicates.size * model.n * self.dtype.itemsize

    def _cut(self) -> list[tuple[int, int, int]]:
        """Return (how many, lanes, width) of all blocks."""
        breaks = np.flatnonzero(np.diff(self.replicates) != 1) + 1
        # Stretches of one length have the same blocks, and there may be millions of them.
        lengths, counts = np.unique(np.diff([0, *breaks, self.replicates.size]), return_counts=True)
        return [
            (int(count) * times, lanes, width)
            for length, count in zip(lengths, counts, strict=True)
            for times, lanes, width in block_sizes(int(length), self.model.n, self.threads)
        ]

    def _blocks(self) -> int:
        n, size = self.model.n, self.dtype.itemsize
        fields = 2 + self._has_memory + (self.model.adaptation is not None) + 4 * self.series
        total = 0
        for count, lanes, width in self._cut():
            padded = -(-lanes // width) * width
            total += count * (padded * n * size * fields + 24 * width * -(-n // CHUNK) + BLOCK_OBJECTS)
        return total

    @property
    def _has_single_replicates(self) -> bool:
        return any(width == 1 for _, _, width in self._cut())

    @property
    def _has_memory(self) -> bool:
        return draw_of(self.model.noise, 0).mode != FRESH

    @property
    def _drawn_by_python(self) -> bool:
        noise = self.model.noise
        return draw_of(noise, 0).law == UNIT and not isinstance(noise.temporal, Frozen)

    @property
    def _together(self) -> int:
        """Blocks that are stepped at the same time."""
        return min(self.threads, sum(count for count, _, _ in self._cut()))

    def _agents(self) -> int:
        # In continuous time there is the noise of each agent as well; constants of another precision are copied.
        copies = (5 + 20 * self.series) * self.dtype.itemsize if self.dtype != np.float64 else 0
        degrees = self.dtype.itemsize * is_extended(self.model, continuous=self.method is not None)
        return self.model.n * (24 + degrees + SERIES_BYTES * self.series + copies)

    def _kept_network(self) -> int:
        """Return the bytes of the network as the kernels read it."""
        n, size, entries = self.model.n, self.dtype.itemsize, self.model.network.adjacency.nnz
        if self.model.temporal_network is not None:
            # Starts, ends and degrees, and room for every neighbour over time; blocks change copies of their own.
            copy = n * (8 + size) + entries * (4 + size)
            return n * 8 + copy * (1 + self._together)
        weights = entries * size if self._has_weights else 0
        widths = {width for _, _, width in self._cut()}
        wide = entries * 4 + weights + n * 8 if widths - {1} or self.series else 0
        narrow = entries * 4 + weights + n * 8 if 1 in widths else 0
        if narrow and self._is_scattered:
            # The terms and sums of neighbours, and where the edges between two blocks begin.
            narrow += entries * size + n * size + 8 * (-(-n // BLOCK) + 1) ** 2
        return wide + narrow

    def _made_network(self) -> int:
        """Return the bytes that making the layout takes beside it."""
        n, size, entries = self.model.n, self.dtype.itemsize, self.model.network.adjacency.nnz
        if self.model.temporal_network is not None:
            return n * 24 + entries * 52
        weights = entries * size if self._has_weights else 0
        if not self._has_single_replicates:
            return entries
        if self._is_scattered:
            return weights + (entries * 24 + n * 8 if self.model.network.directed else 0)
        # Rows are sorted by their lengths.
        return weights + n * 44

    @property
    def _has_weights(self) -> bool:
        data = self.model.network.adjacency.data
        return bool(data.size) and not (data == data[0]).all()

    @property
    def _is_scattered(self) -> bool:
        return is_scattered(self.model.network.adjacency, self.dtype.itemsize)

    def _running(self) -> int:
        """Return the bytes that come and go with the steps of a segment."""
        n, network, activation = self.model.n, self.model.temporal_network, self.model.activation
        steps = min(self.steps, steps_of_segment(n, self.replicates.size, self.dtype.itemsize))
        total = BUFFERS * self._together + STEP_BYTES * steps
        if self._drawn_by_python:
            widest = max(-(-lanes // width) * width for _, lanes, width in self._cut())
            total += DRAWN_BYTES * n * widest * self._together
        if activation is not None:
            # Thresholds for each agent, and a table of who updates, made for each block.
            total += n * (8 + 2 * steps * (not activation.is_random)) * self._together
        if network is not None:
            turns = 1 if network.period is None else -(-steps // network.period) + 1
            total += EVENT_BYTES * network.event_times.size * turns
        return total
