"""Runs a plan on an NVIDIA accelerator with CuPy: the same counters, the same noise, the same map, to rounding.

The state is laid out as (agents, replicates); a thread updates one agent in some replicates, and its neighbour the
other agent of the counter block. Rows of hubs are summed in pieces first. Sums over neighbours are taken in another
order than on the processor, so that the two engines agree to rounding, not to the bit; on one accelerator, runs are
reproducible to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from peerpressure.engine.plan import (
    ACTIVE_CODES,
    FRESH,
    LAW_CODES,
    STREAM_FROZEN,
    RunPlan,
    RunResult,
    coin_thresholds,
    draw_of,
    network_step,
)
from peerpressure.errors import PeerPressureError, TooLargeError, message
from peerpressure.noise import AR1, Frozen

# A thread that sums a whole row would leave its warp waiting for the longest row; pieces bound that wait.
_PIECE = 32  # neighbours in a piece of a hub's row
_THREADS = 256
_C_NAMES: dict[Any, str] = {np.uint32: "word", np.uint64: "wide_word"}


def _cupy() -> Any:
    """Return CuPy if a device responds; raise an error that names what is missing otherwise."""
    try:
        import cupy

        cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # CuPy raises many kinds, and its import may fail in the driver's loader
        rule = "device='gpu' needs an NVIDIA device and CuPy"
        remedy = "install peerpressure[gpu], or use device='cpu'"
        raise PeerPressureError(message(rule, got=f"{type(error).__name__}: {error}", remedy=remedy)) from None
    return cupy


# One module for each set of definitions: as compile-time constants they cost no registers or branches.
@cache
def _module(**definitions: Any) -> Any:
    source = resources.files("peerpressure.engine").joinpath("gpu_kernels.cu").read_text(encoding="utf-8")
    options = [f"-D{name.upper()}={value}" for name, value in definitions.items()]
    if definitions["real"] == "float":
        # Divisions and roots to one unit in the last place more, at half the instructions.
        options += ["--prec-div=false", "--prec-sqrt=false"]
    return _cupy().RawModule(code=source, options=("-std=c++17", *options))


def run(
    plan: RunPlan,
    start: NDArray[Any],
    memory: NDArray[Any] | None,
    report: Callable[[int], None],
    hidden_state: NDArray[Any] | None = None,
) -> RunResult:
    """Make the plan's steps from ``start`` on the accelerator, calling ``report(steps done)`` at intervals."""
    if plan.model.noise.law not in LAW_CODES:
        rule = "the accelerator draws from the package's own laws"
        raise PeerPressureError(message(rule, got=str(plan.model.noise), remedy="use device='cpu' for SciPy's laws"))
    # A thread derives the replicate number of its counter from its position, without a table.
    if np.any(np.diff(plan.replicates) != 1):
        rule = "replicates on the accelerator must be consecutive numbers"
        raise PeerPressureError(message(rule, got="gaps", remedy="run each stretch in a call of its own"))
    return _Run(plan, start, memory, hidden_state).finish(report)


class _Graph:
    """The network on the device, with the rows of hubs cut into pieces."""

    def __init__(self, matrix: csr_array, edge: Any, dtype: np.dtype[Any], *, uniform: bool) -> None:
        cupy = _cupy()
        self.starts = cupy.asarray(matrix.indptr.astype(edge))
        self.columns = cupy.asarray(matrix.indices.astype(np.uint32))
        self.weights = cupy.asarray((matrix.data[:1] if uniform else matrix.data).astype(dtype))
        lengths = np.diff(matrix.indptr)
        # Rows of at most one piece have none: the step sums them itself and saves the round trip to memory.
        counts = np.where(lengths > _PIECE, -(-lengths // _PIECE), 0)
        owner = np.repeat(np.arange(lengths.size), counts)
        first = np.cumsum(counts) - counts
        begins = matrix.indptr[owner] + _PIECE * (np.arange(owner.size) - first[owner])
        ends = np.minimum(begins + _PIECE, matrix.indptr[owner + 1])
        self.pieces = owner.size
        self.piece_starts = cupy.asarray(np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32))
        self.begins, self.ends = cupy.asarray(begins.astype(edge)), cupy.asarray(ends.astype(edge))


class _Run:
    """The device arrays of one run while it lasts."""

    def __init__(
        self, plan: RunPlan, start: NDArray[Any], memory: NDArray[Any] | None, hidden_state: NDArray[Any] | None
    ) -> None:
        self.plan, self.cupy = plan, _cupy()
        size = plan.replicates.size
        # Sixteen bytes per thread, the widest load of the hardware; a single replicate would waste all lanes but one.
        self.lanes = 1 if size == 1 else 16 // plan.dtype.itemsize
        self.packs = -(-size // self.lanes)
        self._refuse_if_too_large()
        self.real = plan.dtype.type
        self.draw = draw_of(plan.model.noise, plan.seed, plan.pace)
        union = plan.model.network.adjacency
        # The union over time bounds the number of edges of every step, so that the compiled types never change in a
        # run.
        self.edge = np.uint32 if union.nnz < 2**32 else np.uint64
        # A network that changes may lose its uniform weight on the way.
        self.uniform = plan.model.temporal_network is None and bool(union.nnz and (union.data == union.data[0]).all())
        # Dividing 64-bit thread numbers costs as much as the noise, so they are used only where they must be.
        most_pieces = union.nnz // _PIECE + plan.model.n
        few = max(self._threads(), most_pieces * self.packs) + _THREADS < 2**32
        self.index = np.uint32 if few else np.uint64
        self.beyond = plan.model.adaptation is not None or plan.pace != 1
        self.module = _module(
            real="double" if plan.dtype == np.float64 else "float",
            lanes=self.lanes,
            index=_C_NAMES[self.index],
            edge=_C_NAMES[self.edge],
            stride=0 if self.uniform else 1,
            threads=_THREADS,
            beyond=int(self.beyond),
            keep_isolated=int(plan.model.isolated == "keep"),
            active=0 if plan.model.activation is None else 1 + ACTIVE_CODES[plan.model.activation.kind],
        )
        self.s, self.hidden = self._field(plan.model.s), self._field(plan.model.x0)
        deviation = np.atleast_1d(np.asarray(plan.model.noise.std if plan.deviation is None else plan.deviation))
        self.deviation, self.deviation_stride = self._field(deviation), np.int32(deviation.size > 1)
        factor = 1.0 if plan.model.adaptation is None else plan.model.adaptation.adaptation_weight
        self.factor, self.factor_stride = self._field(np.atleast_1d(np.asarray(factor))), np.int32(np.ndim(factor) > 0)
        # One number that no kernel reads where everybody updates.
        everybody = plan.model.activation is None
        self.thresholds = self.cupy.asarray(np.zeros(1, np.uint64) if everybody else coin_thresholds(plan.model))
        self.listed = self.cupy.zeros(1, np.uint8)
        self.adjacency: csr_array | None = None
        self._meet(network_step(plan.start_step, plan.pace))
        self.public = self._upload(start)
        self.output = self.cupy.empty_like(self.public)
        self.memory = self._starting_memory(memory)
        self.hidden_state = self._starting_opinions(hidden_state)

    def _field(self, values: NDArray[np.float64]) -> Any:
        return self.cupy.asarray(values.astype(self.plan.dtype))

    def _meet(self, t: int) -> None:
        """Copy the network of step t to the device, unless it is there."""
        adjacency = self.plan.model.adjacency_at(t)
        # Identity suffices: a temporal network returns one object for all steps of an unchanged network.
        if self.adjacency is adjacency:
            return
        self.adjacency = adjacency
        self.graph = _Graph(adjacency, self.edge, self.plan.dtype, uniform=self.uniform)
        self.degrees = self._field(self.plan.model.degrees_at(t))
        self.sums = self.cupy.empty((max(self.graph.pieces, 1), self.packs * self.lanes), self.plan.dtype)

    def _starting_opinions(self, hidden_state: NDArray[Any] | None) -> Any:
        """Return the hidden opinions at the start, or one number that no kernel reads where they are constant."""
        if self.plan.model.adaptation is None:
            return self.cupy.zeros(1, self.plan.dtype)
        return self._upload(self.plan.model.x0 if hidden_state is None else hidden_state)

    def _arguments_beyond(self, adaptation_rate: float) -> tuple[Any, ...]:
        """Return the further arguments of a step where opinions adapt or time is continuous."""
        if not self.beyond:
            return ()
        moving = np.int32(self.plan.model.adaptation is not None)
        pace = self.real(self.plan.pace)
        return self.hidden_state, moving, self.factor, self.factor_stride, self.real(adaptation_rate), pace

    def _refuse_if_too_large(self) -> None:
        n, width = self.plan.model.n, self.packs * self.lanes
        entries = self.plan.model.network.adjacency.nnz
        correlated = draw_of(self.plan.model.noise, self.plan.seed, self.plan.pace).mode != FRESH
        moving = self.plan.model.adaptation is not None
        # Two states, because a step reads one and writes the other; noise memory and hidden opinions are updated in
        # place.
        state = n * width * self.plan.dtype.itemsize * (2 + correlated + moving)
        needed = state + entries * (4 + 2 * self.plan.dtype.itemsize) + n * 48
        free, _ = self.cupy.cuda.Device().mem_info
        if needed > free:
            rule = f"a run must fit in the device's memory, of which {free / 1e9:.3g} GB is free"
            remedy = "run fewer replicates at a time, replicates=range(...), or use dtype='float32'"
            raise TooLargeError(message(rule, got=f"{needed / 1e9:.3g} GB to hold it", remedy=remedy))

    def _upload(self, values: NDArray[Any]) -> Any:
        """Return (agents,) or (replicates, agents) as the device's (agents, padded replicates)."""
        width = self.packs * self.lanes
        rows = np.broadcast_to(values, (self.plan.replicates.size, self.plan.model.n)).astype(self.plan.dtype)
        padded = self.cupy.zeros((self.plan.model.n, width), self.plan.dtype)
        padded[:, : rows.shape[0]] = self.cupy.asarray(rows).T
        return padded

    def _starting_memory(self, memory: NDArray[Any] | None) -> Any:
        """Return the memory of correlated noise: drawn where the run starts, or the one of the run that is resumed."""
        temporal = self.plan.model.noise.temporal
        if self.draw.mode == FRESH:
            return self.cupy.empty(1, self.plan.dtype)
        if isinstance(temporal, AR1) and memory is not None:
            return self._upload(memory)
        drawn = self.cupy.empty_like(self.public)
        # Frozen noise belongs to no step: time 0 for every start gives a resumed run the draws of the first one.
        time = 0 if isinstance(temporal, Frozen) else self.plan.start_step
        arguments = (
            *self._size(), drawn, np.int32(self.draw.law), self.real(self.draw.shape), np.uint32(time),
            np.uint32(self.plan.replicates[0]), np.uint32(STREAM_FROZEN), *self._key(),
        )  # fmt: skip
        # One thread for each pair of agents, because they share a counter block.
        self._launch("draw", self._threads() // 2, arguments)
        return drawn

    def _size(self) -> tuple[np.uint32, np.uint32]:
        return np.uint32(self.plan.model.n), np.uint32(self.packs)

    def _key(self) -> tuple[np.uint32, np.uint32]:
        return np.uint32(self.draw.k0), np.uint32(self.draw.k1)

    def _threads(self) -> int:
        """Return the number of threads of a step: one for each agent, in whole groups of eight, and each pack."""
        # Agents i and i + 4 of a group share a counter block, so that a group is never cut; surplus threads write
        # nothing.
        return -(-self.plan.model.n // 8) * 8 * self.packs

    def _launch(self, name: str, threads: int, arguments: tuple[Any, ...]) -> None:
        self.module.get_function(name)((-(-threads // _THREADS),), (_THREADS,), arguments)

    def _step(self, time: int, relief: float, weight: float, scale: float, adaptation_rate: float) -> None:
        graph, draw, real = self.graph, self.draw, self.real
        edges = (graph.columns, graph.weights)
        if graph.pieces:
            sizes = (self.index(graph.pieces), np.uint32(self.packs), graph.begins, graph.ends)
            # Launches on one stream run in order, so that the step below reads complete sums without a barrier of its
            # own.
            self._launch("sum_pieces", graph.pieces * self.packs, (*sizes, *edges, self.public, self.sums))
        law = (np.int32(draw.law), real(draw.shape), np.int32(draw.mode), real(draw.carry), real(draw.fresh))
        clock = (np.uint32(time), np.uint32(self.plan.replicates[0]))
        arguments = (
            *self._size(), graph.starts, *edges, graph.piece_starts, self.sums, self.s, self.degrees, self.hidden,
            self.deviation, self.deviation_stride, self.public, self.output, self.memory,
            real(relief), real(weight), real(scale), *law, *clock, *self._key(),
            *self._arguments_beyond(adaptation_rate), self.thresholds, self.listed,
        )  # fmt: skip
        self._launch("step", self._threads(), arguments)
        # Exchanged only after the launch: a step that wrote in place would mix times t − 1 and t between neighbours.
        self.public, self.output = self.output, self.public

    def finish(self, report: Callable[[int], None]) -> RunResult:
        plan = self.plan
        shape = (plan.replicates.size, plan.times.size)
        states = np.empty((*shape, plan.agents.size), plan.dtype) if plan.keep_states else None
        summaries = np.empty((*shape, 3)) if plan.keep_summaries else None
        hidden_state = np.empty((*shape, plan.agents.size), plan.dtype) if plan.keep_hidden else None
        times = range(plan.start_step + 1, plan.start_step + plan.steps + 1)
        readings = zip(*plan.readings(plan.start_step, plan.start_step + plan.steps), strict=True)
        slots = {int(time): slot for slot, time in enumerate(plan.times)}
        chosen = self.cupy.asarray(plan.agents)
        self._record(0, chosen, states, hidden_state, summaries)
        for q, (time, reading) in enumerate(zip(times, readings, strict=True)):
            self._meet(network_step(time, plan.pace))
            if plan.model.activation is not None and not plan.model.activation.is_random:
                self.listed = self.cupy.asarray(plan.masks(time - 1, time)[0].astype(np.uint8))
            self._step(time, *reading)
            if time in slots:
                self._record(slots[time], chosen, states, hidden_state, summaries)
            if q % 64 == 63:
                # Launches are asynchronous; without this wait progress would run ahead of the device, and Ctrl-C would
                # not stop it.
                self.cupy.cuda.get_current_stream().synchronize()
                report(q + 1)
        report(plan.steps)
        correlated = isinstance(plan.model.noise.temporal, AR1)
        return RunResult(
            states=states,
            summaries=summaries,
            final=self._download(self.public),
            memory=self._download(self.memory) if correlated else None,
            hidden=hidden_state,
            final_hidden=None if plan.model.adaptation is None else self._download(self.hidden_state),
        )

    def _download(self, values: Any) -> NDArray[Any]:
        return np.ascontiguousarray(self.cupy.asnumpy(values[:, : self.plan.replicates.size]).T)

    def _record(
        self,
        slot: int,
        chosen: Any,
        states: NDArray[Any] | None,
        hidden_state: NDArray[Any] | None,
        summaries: NDArray[Any] | None,
    ) -> None:
        public = self.public[:, : self.plan.replicates.size]
        for kept, values in ((states, self.public), (hidden_state, self.hidden_state)):
            if kept is not None:
                kept[:, slot] = self.cupy.asnumpy(values[:, : self.plan.replicates.size][chosen]).T
        if summaries is not None:
            # Accumulated in float64 whatever the precision of the state, as on the processor.
            parts = (public.min(axis=0), public.max(axis=0), public.mean(axis=0, dtype=np.float64))
            summaries[:, slot] = np.stack([self.cupy.asnumpy(part) for part in parts], axis=1)
