"""Drives the kernels: cuts the work into blocks of replicates and segments of steps, and spreads it over threads.

Nothing here can change a result: noise is a function of (seed, replicate, step, agent) only, and summaries are added
in one fixed order.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import PeerPressureError
from peerpressure.model import Model
from peerpressure.noise import AR1, Frozen
from peerpressure.simulation.engine.arguments import (
    ALONE,
    Activity,
    AgentArrays,
    Changes,
    Clock,
    ExtensionArrays,
    Graph,
    RecordArrays,
    call_off,
    new_meeting,
    reduce_summaries,
)
from peerpressure.simulation.engine.blocking import NeighbourSums
from peerpressure.simulation.engine.intrinsics import IS_POSIX
from peerpressure.simulation.engine.layout import agents_of, aligned, graph_of
from peerpressure.simulation.engine.narrow import draw_narrow, run_narrow
from peerpressure.simulation.engine.plan import (
    ACTIVE_CODES,
    BLOCK,
    CHUNK,
    EVERYBODY,
    FRESH,
    FROZEN,
    STREAM_FRESH,
    STREAM_FROZEN,
    UNIT,
    WIDTH,
    RunPlan,
    RunResult,
    SegmentPace,
    coin_thresholds,
    draw_of,
    network_step,
    plan_blocks,
    steps_of_segment,
)
from peerpressure.simulation.engine.random import BATCH, GROUP, filler_of
from peerpressure.simulation.engine.temporal import (
    EventArrays,
    add_up_all,
    apply_changes,
    copy_of,
    no_changes,
    roomy_graph,
)
from peerpressure.simulation.engine.wide import draw_wide, run_wide

# Blocks of replicates.

_PIECE = 2**12  # agents whose states are transposed at a time


def activity_of(plan: RunPlan, clock: Clock) -> Activity:
    """Return who updates at the clock's steps, with buffers of its own."""
    activation, begin = plan.model.activation, clock.first - 1
    if activation is None:
        nothing, rows = np.empty(0, np.uint64), np.empty((0, 0), np.uint64)
        return Activity(EVERYBODY, nothing, np.empty((0, 0), np.bool_), nothing, rows, nothing)
    mode, thresholds = ACTIVE_CODES[activation.kind], coin_thresholds(plan.model)
    coins, words = np.empty(CHUNK, np.uint64), np.empty((4, CHUNK // 4), np.uint64)
    listed = plan.masks(begin, begin + clock.own_weight.size)
    return Activity(mode, thresholds, listed, coins, words, np.empty(WIDTH, np.uint64))


@dataclass(frozen=True, eq=False)
class Block:
    """Replicates that one call steps: ``lanes`` of them from number ``first`` on, in layers of ``width``, padded.

    ``states`` is (layers, 2, agents·width), the two rows alternating; ``memory`` is correlated noise and
    ``hidden_state`` are hidden opinions that adapt, (layers, agents·width) or empty. ``row`` is where the block's
    replicates begin in the results.
    """

    first: int
    lanes: int
    width: int
    row: int
    states: NDArray[Any]
    memory: NDArray[Any]
    hidden_state: NDArray[Any]
    partial: NDArray[np.float64]

    @property
    def rows(self) -> slice:
        """The block's place among the results."""
        return slice(self.row, self.row + self.lanes)

    def read(self, field: NDArray[Any], out: NDArray[Any]) -> None:
        """Copy a field of this block, (layers, agents·width), to its rows (lanes, agents) of ``out``."""
        layers = field.reshape(field.shape[0], -1, self.width)
        for layer, values in enumerate(layers):
            rows = out[self.row + layer * self.width : self.row + min((layer + 1) * self.width, self.lanes)]
            # Piece by piece, because transposing a large array at once would miss the caches at every number.
            for begin in range(0, values.shape[0], _PIECE):
                rows[:, begin : begin + _PIECE] = values[begin : begin + _PIECE, : len(rows)].T

    def write(self, values: NDArray[Any], field: NDArray[Any]) -> None:
        """Set a field of this block from (lanes, agents) or (agents,); padding repeats the first replicate."""
        target = field.reshape(field.shape[0], -1, self.width)
        if values.ndim == 1:
            target[:] = values[:, None]
            return
        for layer, lanes in enumerate(target):
            rows = values[layer * self.width : (layer + 1) * self.width]
            lanes[:, : len(rows)] = rows.T
            # Padding lanes are stepped and never read; finite values there cannot slow down or trap the arithmetic.
            lanes[:, len(rows) :] = values[0][:, None]


def make_blocks(
    model: Model, cuts: Iterable[tuple[int, int, int, int]], dtype: np.dtype[Any], *, memory: bool
) -> list[Block]:
    """Allocate blocks of replicates, each given by (first, lanes, width, row)."""
    n, blocks = model.n, []
    for first, lanes, width, row in cuts:
        layers = -(-lanes // width)
        blocks.append(
            Block(
                first=first,
                lanes=lanes,
                width=width,
                row=row,
                states=aligned((layers, 2, n * width), dtype),
                memory=aligned((layers, n * width if memory else 0), dtype),
                hidden_state=aligned((layers, 0 if model.adaptation is None else n * width), dtype),
                # One row for each chunk: threads write their partial sums without sharing them.
                partial=np.empty((-(-n // CHUNK), 3, width)),
            )
        )
    return blocks


# The run.

_AGENT = 3.0  # cost of noise and update of an agent, in gathered neighbours
# Numbers in a step from which sharing its agents among threads outweighs their meeting at its end: in the kernel, or
# where that cannot be, in Python.
_MEET_FROM, _SPLIT_FROM = 2**13, 100_000
# Numbers in a whole run from which starting threads pays.
_THREADS_FROM = 200_000
# Steps of a trial with all threads or with one, and how many times as many a segment must have for six of these.
_TRIAL, _WORTH_TRYING = 32, 8


def run(
    plan: RunPlan,
    start: NDArray[Any],
    memory: NDArray[Any] | None,
    report: Callable[[int], None],
    hidden_state: NDArray[Any] | None = None,
) -> RunResult:
    """Make the plan's steps from ``start``, (agents,) or (replicates, agents), calling ``report(steps done)``.

    ``memory`` and ``hidden_state`` are the memory of the noise and the hidden opinions of a run that is resumed.
    """
    return ProcessorRun(plan, start, memory, hidden_state).finish(report)


class ProcessorRun:
    """The arrays of one run while it lasts."""

    cost = 1  # of a step, in steps of the discrete model
    clock = staticmethod(time.perf_counter)

    def __init__(
        self, plan: RunPlan, start: NDArray[Any], memory: NDArray[Any] | None, hidden_state: NDArray[Any] | None
    ) -> None:
        self.plan = plan
        self.share = plan.share
        draw = draw_of(plan.model.noise, plan.seed, plan.pace)
        self.draw = draw._replace(offset=self.share.offset, agents=self.share.agents)
        noise = plan.model.noise
        if plan.preferred is not None:
            self.draw = self.draw._replace(law=UNIT, mode=FROZEN)
        # SciPy's laws are transformed by Python, so their noise is written to memory before each step.
        self.drawn_by_python = self.draw.law == UNIT and not isinstance(noise.temporal, Frozen)
        self.agents = agents_of(plan.model, plan.dtype, plan.deviation)
        self.temporal = _Temporal(plan, self.agents) if plan.model.temporal_network is not None else None
        if plan.is_extended and self.temporal is None:
            # One kernel serves networks that change as well, and would be compiled once more for read-only degrees.
            self.agents = self.agents._replace(degrees=self.agents.degrees.copy())
        self.blocks = make_blocks(plan.model, self._cuts(), plan.dtype, memory=self.draw.mode != FRESH)
        narrow = self.temporal is None and any(block.width == 1 for block in self.blocks)
        edges = graph_of(plan.model.network, plan.dtype, narrow=True)[1] if narrow else None
        self.neighbour_sums = None if edges is None else NeighbourSums(edges, plan.model.n, plan.dtype)
        self.kept_agents = (plan.agents if plan.keep_states else plan.agents[:0]).astype(np.uint32)
        shape = (plan.replicates.size, plan.times.size)
        self.states = np.empty((*shape, plan.agents.size) if plan.keep_states else (shape[0], 0, 0), plan.dtype)
        self.hidden_state = np.empty((*shape, plan.agents.size) if plan.keep_hidden else (shape[0], 0, 0), plan.dtype)
        self.summaries = np.empty((*shape, 3) if plan.keep_summaries else (shape[0], 0, 3))
        opinions = plan.model.x0 if hidden_state is None else hidden_state
        for block in self.blocks:
            # The kernels find the state of step t in row t mod 2.
            public = block.states[:, plan.start_step & 1]
            block.write(start if start.ndim == 1 else start[block.rows], public)
            if block.hidden_state.size:
                block.write(opinions if opinions.ndim == 1 else opinions[block.rows], block.hidden_state)
            self._remember(block, memory)

    def _cuts(self) -> Iterable[tuple[int, int, int, int]]:
        """Return how the replicates are cut into blocks."""
        return plan_blocks(self.plan.replicates, self.plan.model.n, self.plan.threads)

    def _remember(self, block: Block, memory: NDArray[Any] | None) -> None:
        """Set the memory of correlated noise: drawn where the run starts, or the one of the run that is resumed."""
        temporal = self.plan.model.noise.temporal
        if isinstance(temporal, AR1) and memory is not None:
            block.write(memory[block.rows], block.memory)
        elif isinstance(temporal, AR1):
            # A stationary draw of unit variance, on a stream of its own: u of the start step is independent of all z_t.
            self._draw_into_memory(block, self.plan.start_step, STREAM_FROZEN)
        elif isinstance(temporal, Frozen):
            # Step 0 whatever the start: a resumed run has the same frozen draws without storing them.
            self._draw_into_memory(block, 0, STREAM_FROZEN)

    def _draw_into_memory(self, block: Block, step: int, stream: int) -> None:
        draw = draw_wide if block.width > 1 else draw_narrow
        draw(self.draw, step, block.first, stream, block.memory)
        noise = self.plan.model.noise
        if self.draw.law == UNIT:
            # Computed in float64, from shares that have the precision of the state: in float32 one in 10⁸ is rounded to
            # 1, the quantile of which is infinite for most laws.
            below_1 = np.nextafter(block.memory.dtype.type(1), block.memory.dtype.type(0))
            block.memory[:] = noise.unit_quantiles(np.minimum(block.memory, below_1).astype(np.float64))
            # Checked here, where the law can be named; after the run only a state that is not finite would be visible.
            if not np.isfinite(block.memory).all():
                raise PeerPressureError(f"{noise} drew a value that is not finite; choose a law with lighter tails")

    def finish(self, report: Callable[[int], None]) -> RunResult:
        """Make all steps and return what was recorded."""
        self._record_start()
        with self._pool() as pool:
            for begin, end in self._segments():
                self._advance(begin, end, pool)
                report(end - self.plan.start_step)
        return self._result()

    def _record_start(self) -> None:
        nothing = np.zeros(0)
        clock = Clock(self.plan.start_step + 1, nothing, nothing, nothing, nothing, self.plan.pace)
        for block in self.blocks:
            # A call without steps records the state as it is.
            records = self._records(block, np.zeros(1, np.int64))
            places = self.share.begin, self.share.end
            self._call(block, self._network(block), clock, records, *places)

    @contextlib.contextmanager
    def _pool(self) -> Iterator[Executor | None]:
        """Give threads where there is work for more than one."""
        if not self._pays_for_threads or not (len(self.blocks) > 1 or self._is_shared(self.blocks[0])):
            yield None
            return
        with ThreadPoolExecutor(self.plan.threads) as pool:
            yield pool

    @property
    def _pays_for_threads(self) -> bool:
        """Whether there are several threads, and a run long enough to start them for."""
        plan = self.plan
        return plan.threads > 1 and plan.model.n * plan.replicates.size * plan.steps >= _THREADS_FROM

    @property
    def _meets(self) -> bool:
        """Whether all that happens at a step happens in the kernel, where threads can meet."""
        # Elsewhere than on POSIX systems a thread would keep its core while it waits for others.
        in_kernel = self.temporal is None and self.neighbour_sums is None and not self.drawn_by_python
        return in_kernel and IS_POSIX

    def _is_shared(self, block: Block) -> bool:
        """Return whether threads share the agents of a large block, because there are fewer blocks than threads."""
        n, least = self.plan.model.n, _MEET_FROM if self._meets else _SPLIT_FROM
        large = len(block.states) == 1 and n >= 2 * CHUNK and n * block.width >= least
        return large and self._pays_for_threads and len(self.blocks) < self.plan.threads

    def _segments(self) -> Iterator[tuple[int, int]]:
        """Cut the steps into (begin, end], short enough for progress and Ctrl-C; single steps where Python draws."""
        plan = self.plan
        most = steps_of_segment(self._agents_at_once, plan.replicates.size, plan.dtype.itemsize, cost=self.cost)
        pace = SegmentPace(1 if self.drawn_by_python else most)
        begin, last = plan.start_step, plan.start_step + plan.steps
        while begin < last:
            end, started = min(begin + pace.steps, last), self.clock()
            yield begin, end
            # What a step costs depends on network, noise, threads and machine, and only a measurement knows.
            pace.note(end - begin, self._slowest(self.clock() - started))
            begin = end

    @property
    def _agents_at_once(self) -> int:
        """How many agents one process steps, more or less."""
        return self.plan.model.n

    def _slowest(self, seconds: float) -> float:
        """Return how long the slowest process that makes this run took, where several cut their steps alike."""
        return seconds

    def _clock(self, begin: int, end: int) -> Clock:
        return Clock(begin + 1, *self.plan.readings(begin, end), self.plan.pace)

    def _slots(self, begin: int, end: int) -> NDArray[np.int64]:
        """Return where each step of a segment is recorded, −1 for nowhere; slot 0 is the start's."""
        slots = np.full(end - begin, -1)
        first, last = np.searchsorted(self.plan.times, (begin, end), side="right")
        slots[self.plan.times[first:last] - begin - 1] = np.arange(first, last)
        return slots

    def _advance(self, begin: int, end: int, pool: Executor | None) -> None:
        clock, slots = self._clock(begin, end), self._slots(begin, end)
        if self.temporal is not None:
            self.temporal.look_ahead(begin, end)
        shared = [self._is_shared(block) for block in self.blocks]
        if pool is None or any(shared) or self.neighbour_sums is not None:
            for block, is_shared in zip(self.blocks, shared, strict=True):
                if is_shared and self._meets:
                    self._advance_together(block, clock, slots, pool)
                elif is_shared or (self.neighbour_sums is not None and block.width == 1):
                    self._advance_shared(block, clock, slots, pool)
                else:
                    self._advance_block(block, clock, slots)
        else:
            # list() waits for all blocks and raises the first error of a thread.
            list(pool.map(lambda block: self._advance_block(block, clock, slots), self.blocks))
        if self.temporal is not None:
            self.temporal.arrive()

    def _advance_block(self, block: Block, clock: Clock, slots: NDArray[np.int64]) -> None:
        if self.drawn_by_python:
            self._draw_custom(block, clock.first)
        network, changes = self._network(block), None
        if self.temporal is not None:
            # Every block changes a copy of its own: blocks run at the same time, and each starts from the segment's
            # first network.
            network, changes = self.temporal.copied(), self.temporal.changes
        places = self.share.begin, self.share.end
        self._call(block, network, clock, self._records(block, slots), *places, changes=changes)

    def _network(self, block: Block) -> tuple[Graph, AgentArrays]:
        """Return the network as it is where the segment begins."""
        if self.temporal is not None:
            return self.temporal.graph, self.temporal.agents
        graph, _ = graph_of(self.plan.model.network, self.plan.dtype, narrow=block.width == 1)
        if self.neighbour_sums is not None and block.width == 1:
            graph = graph._replace(sums=self.neighbour_sums.sums)
        return graph, self.agents

    def _draw_custom(self, block: Block, step: int) -> None:
        if self.plan.preferred is not None:
            block.write(self.plan.preferred(step, block.rows), block.memory)
            return
        # The draw overwrites the memory, which the recursion still needs.
        before = block.memory.copy()
        self._draw_into_memory(block, step, STREAM_FRESH)
        if isinstance(self.plan.model.noise.temporal, AR1):
            block.memory[:] = self.draw.carry * before + self.draw.fresh * block.memory

    def _advance_together(self, block: Block, clock: Clock, slots: NDArray[np.int64], pool: Executor | None) -> None:
        """Let threads share the agents of a block, and meet in the kernel at the end of every step.

        Each of them reads what the others have written a step before. Where cores are far from each other, which a
        virtual machine cannot know, moving that takes longer than a step of a small network, and one thread is faster:
        a few steps of either kind tell.
        """
        steps, done, threads = clock.own_weight.size, 0, self.plan.threads
        if steps >= _WORTH_TRYING * _TRIAL:
            spent: dict[int, list[float]] = {threads: [], 1: []}
            # Several times, because the first call starts the threads, and other work may disturb any of them.
            for count in 3 * (threads, 1):
                begin = time.perf_counter()
                self._share(block, clock.part(done, done + _TRIAL), slots[done : done + _TRIAL], pool, count)
                spent[count].append(time.perf_counter() - begin)
                done += _TRIAL
            threads = min(spent, key=lambda count: min(spent[count]))
        self._share(block, clock.part(done, steps), slots[done:], pool, threads)

    def _share(self, block: Block, clock: Clock, slots: NDArray[np.int64], pool: Executor | None, threads: int) -> None:
        network, records = self._network(block), self._records(block, slots)
        ranges = equal_parts(network[0].starts, min(threads, self.plan.model.n // CHUNK), CHUNK)
        meeting = new_meeting(len(ranges))

        def part(begin: int, end: int) -> None:
            try:
                self._call(block, network, clock, records, begin, end, meeting=meeting)
            except BaseException:
                call_off(meeting)
                raise

        try:
            on_threads(pool, part, ranges)
        except BaseException:
            # A thread may not have started at all.
            call_off(meeting)
            raise

    def _advance_shared(self, block: Block, clock: Clock, slots: NDArray[np.int64], pool: Executor | None) -> None:
        """Share the agents of each step among all threads, with a barrier at the end of every step."""
        network = self._network(block) if self.temporal is None else self.temporal.copied()
        sums = self.neighbour_sums if block.width == 1 else None
        parts = 1 if pool is None else self.plan.threads
        ranges = equal_parts(network[0].starts, parts, CHUNK if sums is None else BLOCK)
        for q in range(clock.own_weight.size):
            one, records = clock.part(q, q + 1), self._records(block, slots[q : q + 1])
            if self.temporal is not None:
                self.temporal.change(network, q)
            if self.drawn_by_python:
                self._draw_custom(block, one.first)
            if sums is not None:
                on_threads(pool, partial(sums.spread, block.states[0, (one.first - 1) & 1]), ranges)
            on_threads(pool, partial(self._call, block, network, one, records), ranges)
            if slots[q] >= 0 and self.plan.keep_summaries:
                # Here and not in the kernel, since no single call has seen all chunks.
                reduce_summaries(records.summaries, slots[q], self.plan.model.n, block.partial)

    def _records(self, block: Block, slots: NDArray[np.int64]) -> RecordArrays:
        rows = block.rows
        return RecordArrays(slots, self.kept_agents, self.states[rows], self.hidden_state[rows], self.summaries[rows])

    def _call(
        self,
        block: Block,
        network: tuple[Graph, AgentArrays],
        clock: Clock,
        records: RecordArrays,
        begin: int,
        end: int,
        *,
        changes: Changes | None = None,
        meeting: NDArray[np.int64] = ALONE,
    ) -> None:
        wide = block.width > 1
        if self.neighbour_sums is not None and not wide and clock.own_weight.size:
            # All opinions have been spread; these agents' sums are needed by this call only.
            self.neighbour_sums.collect(begin, end)
        kernel = run_wide if wide else run_narrow
        extensions = None
        if self.plan.is_extended:
            changes = no_changes(clock.own_weight.size, self.plan.dtype) if changes is None else changes
            extensions = ExtensionArrays(changes, activity_of(self.plan, clock))
        kernel(
            *network, self.draw, filler_of(self.draw.law, self.plan.dtype, wide=wide), clock, extensions, records,
            block.first, begin, end, meeting, block.states, block.memory, block.hidden_state, block.partial,
            # Small enough for the first-level cache; allocated here, because compiling that takes long.
            np.empty((2, CHUNK), self.plan.dtype), np.empty((4, BATCH), np.uint64), np.empty((3, GROUP * block.width)),
        )  # fmt: skip

    def _result(self) -> RunResult:
        plan = self.plan
        last = (plan.start_step + plan.steps) & 1
        final = np.empty((plan.replicates.size, plan.model.n), plan.dtype)
        carried = np.empty_like(final) if isinstance(plan.model.noise.temporal, AR1) else None
        hidden_state = None if plan.model.adaptation is None else np.empty_like(final)
        for block in self.blocks:
            block.read(block.states[:, last], final)
            if carried is not None:
                block.read(block.memory, carried)
            if hidden_state is not None:
                block.read(block.hidden_state, hidden_state)
        return RunResult(
            states=self.states if plan.keep_states else None,
            summaries=self.summaries if plan.keep_summaries else None,
            final=final,
            memory=carried,
            hidden=self.hidden_state if plan.keep_hidden else None,
            final_hidden=hidden_state,
        )


def equal_parts(starts: NDArray[Any], count: int, unit: int) -> list[tuple[int, int]]:
    """Cut the agents, whose neighbours begin at ``starts``, into parts of whole units and of about the same work.

    The order of sums and the groups of the counter are then those of a single thread.
    """
    n = starts.size - 1
    ends = np.minimum(np.arange(0, n + unit, unit), n)
    work = starts[ends] + _AGENT * ends
    cuts = ends[np.searchsorted(work, work[-1] * np.arange(count + 1) / count)]
    return [(int(begin), int(end)) for begin, end in itertools.pairwise(cuts)]


def on_threads(pool: Executor | None, task: Callable[[int, int], None], ranges: list[tuple[int, int]]) -> None:
    """Call a task for all ranges, at once if there is a pool, and wait for all of them."""
    # This thread takes the last part itself instead of waiting, and all of them without a pool.
    own = ranges if pool is None else ranges[-1:]
    parts = [] if pool is None else [pool.submit(task, *part) for part in ranges[:-1]]
    for part in own:
        task(*part)
    for future in parts:
        # A barrier: what follows reads neighbours from all parts. It also raises the errors of the threads.
        future.result()


class _Temporal:
    """The network of a run that changes: as it is where the segment begins, and how it changes until it ends."""

    def __init__(self, plan: RunPlan, agents: AgentArrays) -> None:
        network = plan.model.temporal_network
        assert network is not None
        self.events = EventArrays(network, plan.dtype, plan.pace)
        self.graph = roomy_graph(network, network_step(plan.start_step, plan.pace), plan.dtype)
        self.agents = agents._replace(degrees=np.empty_like(agents.degrees))
        # Summed by the code that sums after a change: a resumed run has the degrees of an uninterrupted one.
        add_up_all(self.graph, self.agents.degrees)
        self.changes = no_changes(0, plan.dtype)

    def look_ahead(self, begin: int, end: int) -> None:
        """Find what changes in a segment."""
        self.changes = self.events.between(begin, end)

    def copied(self) -> tuple[Graph, AgentArrays]:
        """Return the network of the segment's beginning, for one block of replicates to take through the segment."""
        return copy_of(self.graph), self.agents._replace(degrees=self.agents.degrees.copy())

    def change(self, network: tuple[Graph, AgentArrays], q: int) -> None:
        """Make the changes that come before step q of the segment."""
        # The last entry of intervals is the number of steps, not the start of an interval.
        interval = int(np.searchsorted(self.changes.intervals[:-1], q))
        if interval < self.changes.intervals.size - 1 and self.changes.intervals[interval] == q:
            begin, end = self.changes.cuts[interval : interval + 2]
            apply_changes(network[0], network[1].degrees, self.changes, begin, end)

    def arrive(self) -> None:
        """Make all the changes of the segment, which has ended."""
        # Only now: blocks that started late had to copy the network of the segment's beginning.
        apply_changes(self.graph, self.agents.degrees, self.changes, 0, self.changes.cuts[-1])
