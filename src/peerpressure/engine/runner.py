"""Drives the kernels: cuts the work into blocks of replicates and segments of steps, and spreads it over threads.

Nothing here can change a result: a state depends on (seed, replicate, step, agent) alone, and summaries are added in
one fixed order.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import PeerPressureError
from peerpressure.noises import AR1, Custom, Persistent

from .arguments import CHUNK, Clock, Ledger
from .layout import Block, agents_of, graph_of, make_blocks
from .narrow import draw_narrow, run_narrow
from .plan import FRESH, STREAM_FRESH, STREAM_HELD, Plan, Result, draw_of
from .recording import keep_all, reduce_summaries
from .wide import draw_wide, run_wide

_SEGMENT = 2e9  # bytes of state moved between two looks at progress and Ctrl-C: less than a second
_SPLIT_FROM = 100_000  # numbers in a step from which sharing its agents among threads pays for the meeting at its end


def run(plan: Plan, start: NDArray[Any], memory: NDArray[Any] | None, report: Callable[[int], None]) -> Result:
    """Make the plan's steps from ``start``, (agents,) or (replicates, agents), calling ``report(steps done)``."""
    return _Run(plan, start, memory).finish(report)


class _Run:
    """The arrays of one run while it lasts."""

    def __init__(self, plan: Plan, start: NDArray[Any], memory: NDArray[Any] | None) -> None:
        self.plan = plan
        self.draw = draw_of(plan.model.noise, plan.seed)
        noise = plan.model.noise
        # SciPy's laws are transformed by Python, so their noise is brought to memory before each step.
        self.drawn_by_python = isinstance(noise, Custom) and not isinstance(noise.temporal, Persistent)
        self.agents = agents_of(plan.model, plan.dtype)
        self.blocks = make_blocks(plan.model, plan.replicates, plan.dtype, plan.threads, memory=self.draw.mode != FRESH)
        self.kept_agents = (plan.agents if plan.keep_states else plan.agents[:0]).astype(np.uint32)
        shape = (plan.replicates.size, plan.times.size)
        self.states = np.empty((*shape, plan.agents.size) if plan.keep_states else (shape[0], 0, 0), plan.dtype)
        self.summaries = np.empty((*shape, 3) if plan.keep_summaries else (shape[0], 0, 3))
        for block in self.blocks:
            public = block.states[:, plan.start_step & 1]
            block.write(start if start.ndim == 1 else start[block.rows], public)
            self._remember(block, memory)
            keep_all(self._ledger(block, np.zeros(0, np.int64)), 0, public, block.width, block.partial)

    def _remember(self, block: Block, memory: NDArray[Any] | None) -> None:
        """Bring correlated noise to where it stood: drawn if the run starts here, as it was if it goes on."""
        temporal = self.plan.model.noise.temporal
        if isinstance(temporal, AR1) and memory is not None:
            block.write(memory[block.rows], block.memory)
        elif isinstance(temporal, AR1):
            self._draw_into_memory(block, self.plan.start_step, STREAM_HELD)
        elif isinstance(temporal, Persistent):
            self._draw_into_memory(block, 0, STREAM_HELD)

    def _draw_into_memory(self, block: Block, step: int, stream: int) -> None:
        draw = draw_wide if block.width > 1 else draw_narrow
        draw(self.draw, step, block.first, stream, block.memory)
        noise = self.plan.model.noise
        if isinstance(noise, Custom):
            block.memory[:] = noise.standardise(noise.distribution.ppf(block.memory.astype(np.float64)))
            if not np.isfinite(block.memory).all():
                raise PeerPressureError(f"{noise} drew a value that is not finite; choose a law with lighter tails")

    def finish(self, report: Callable[[int], None]) -> Result:
        with self._pool() as pool:
            for begin, end in self._segments():
                self._advance(begin, end, pool)
                report(end - self.plan.start_step)
        return self._result()

    @contextlib.contextmanager
    def _pool(self) -> Iterator[Executor | None]:
        """Give threads where there is work for more than one."""
        n, threads = self.plan.model.n, self.plan.threads
        parallel = threads > 1 and (len(self.blocks) > 1 or n * self.blocks[0].width >= _SPLIT_FROM)
        if not parallel or n * self.plan.replicates.size * self.plan.steps < _SPLIT_FROM:
            yield None
            return
        with ThreadPoolExecutor(threads) as pool:
            yield pool

    def _segments(self) -> Iterator[tuple[int, int]]:
        """Cut the steps into (begin, end], short enough for progress and Ctrl-C; one by one where Python draws."""
        plan = self.plan
        size = max(1, int(_SEGMENT / (plan.model.n * max(plan.replicates.size, 1) * plan.dtype.itemsize)))
        if self.drawn_by_python:
            size = 1
        begin, last = plan.start_step, plan.start_step + plan.steps
        while begin < last:
            end = min(begin + size, last)
            yield begin, end
            begin = end

    def _clock(self, begin: int, end: int) -> Clock:
        times = np.arange(begin + 1, end + 1)
        relief, weight = self.plan.model.pressure.homogeneous(times)
        return Clock(begin + 1, relief, weight, self.plan.model.noise.scale(times))

    def _slots(self, begin: int, end: int) -> NDArray[np.int64]:
        """Return where each step of a segment is recorded, −1 for nowhere; slot 0 is the start's."""
        slots = np.full(end - begin, -1)
        inside = (self.plan.times > begin) & (self.plan.times <= end)
        inside[0] = False
        slots[self.plan.times[inside] - begin - 1] = np.flatnonzero(inside)
        return slots

    def _advance(self, begin: int, end: int, pool: Executor | None) -> None:
        clock, slots = self._clock(begin, end), self._slots(begin, end)
        share_agents = pool is not None and len(self.blocks) < self.plan.threads
        if pool is None or share_agents:
            for block in self.blocks:
                if share_agents and len(block.states) == 1 and self.plan.model.n * block.width >= _SPLIT_FROM:
                    self._advance_shared(block, clock, slots, pool)
                else:
                    self._advance_block(block, clock, slots)
        else:
            list(pool.map(lambda block: self._advance_block(block, clock, slots), self.blocks))

    def _advance_block(self, block: Block, clock: Clock, slots: NDArray[np.int64]) -> None:
        if self.drawn_by_python:
            self._draw_custom(block, clock.first)
        self._call(block, clock, self._ledger(block, slots), 0, self.plan.model.n)

    def _draw_custom(self, block: Block, step: int) -> None:
        before = block.memory.copy()
        self._draw_into_memory(block, step, STREAM_FRESH)
        if isinstance(self.plan.model.noise.temporal, AR1):
            block.memory[:] = self.draw.carry * before + self.draw.fresh * block.memory

    def _advance_shared(self, block: Block, clock: Clock, slots: NDArray[np.int64], pool: Executor | None) -> None:
        """Let all threads take a part of the agents of each step; they meet at the end of every step."""
        assert pool is not None
        n, threads = self.plan.model.n, self.plan.threads
        chunks = -(-n // CHUNK)
        cuts = [min(n, CHUNK * (chunks * i // threads)) for i in range(threads + 1)]
        for q in range(clock.relief.size):
            one = Clock(clock.first + q, clock.relief[q : q + 1], clock.weight[q : q + 1], clock.scale[q : q + 1])
            ledger = self._ledger(block, slots[q : q + 1])
            if self.drawn_by_python:
                self._draw_custom(block, one.first)
            *others, own = itertools.pairwise(cuts)
            parts = [pool.submit(self._call, block, one, ledger, *part) for part in others]
            self._call(block, one, ledger, *own)
            for part in parts:
                part.result()
            if slots[q] >= 0 and self.plan.keep_summaries:
                reduce_summaries(ledger, slots[q], n, block.partial)

    def _ledger(self, block: Block, slots: NDArray[np.int64]) -> Ledger:
        return Ledger(slots, self.kept_agents, self.states[block.rows], self.summaries[block.rows])

    def _call(self, block: Block, clock: Clock, ledger: Ledger, begin: int, end: int) -> None:
        kernel = run_wide if block.width > 1 else run_narrow
        graph = graph_of(self.plan.model.network, self.plan.dtype, narrow=block.width == 1)
        kernel(
            graph, self.agents, self.draw, clock, ledger, block.first, begin, end,
            block.states, block.memory, block.partial,
        )  # fmt: skip

    def _result(self) -> Result:
        plan = self.plan
        last = (plan.start_step + plan.steps) & 1
        final = np.empty((plan.replicates.size, plan.model.n), plan.dtype)
        carried = np.empty_like(final) if isinstance(plan.model.noise.temporal, AR1) else None
        for block in self.blocks:
            block.read(block.states[:, last], final)
            if carried is not None:
                block.read(block.memory, carried)
        return Result(
            states=self.states if plan.keep_states else None,
            summaries=self.summaries if plan.keep_summaries else None,
            final=final,
            memory=carried,
        )
