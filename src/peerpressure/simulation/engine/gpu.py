"""Runs a plan on an NVIDIA accelerator with CuPy: the same counters, the same noise, the same map, to rounding.

The state is laid out as (slots, replicates); a thread updates the two agents of a counter block in some replicates.
Replicates are divided among the accelerators of the machine, and those that do not fit in the memory of one together
run one batch after the other. Sums over neighbours are taken
in another order than on the processor: the two engines agree to rounding, not to the bit. On one accelerator,
runs are reproducible to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import PeerPressureError, message
from peerpressure.noise import AR1, Frozen
from peerpressure.simulation.engine.gpu_network import DeviceNetwork
from peerpressure.simulation.engine.plan import (
    ACTIVE_CODES,
    FRESH,
    LAW_CODES,
    STREAM_FROZEN,
    Draw,
    RunPlan,
    RunResult,
    coin_thresholds,
    draw_of,
)
from peerpressure.support.resources import Memory, too_large

# Measured: small blocks leave the device sooner, and so many on a multiprocessor leave each thread the registers that
# it needs for numbers of 4 or 8 bytes.
_THREADS = 128
_BLOCKS = {(4, False): 12, (8, False): 10, (4, True): 12, (8, True): 8}  # by bytes, and whether one replicate runs
_SHORT = 5  # neighbours on average, up to which each thread gathers for its own agents
_HUB_PACKS = 2
_HUB_SLICES = 48  # with the packs, at most the threads of the smallest block that is used
_TOGETHER = 32  # threads side by side that share an agent, and replicates that are transposed at a time
_SEGMENT = 64  # steps between two checks of progress and Ctrl-C
_PARTS = 512  # partial summaries, enough to keep the whole device busy
_ROWS = 32  # of threads in each of them


def _cupy() -> Any:
    """Return CuPy if a device responds; raise an error that names what is missing otherwise."""
    try:
        import cupy

        cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # CuPy raises many kinds, and its import may fail in the driver's loader
        rule = "device='gpu' needs an NVIDIA device and CuPy"
        remedy = "pip install cupy-cuda12x, or cupy-cuda13x for CUDA 13, or use the device cpu"
        raise PeerPressureError(message(rule, got=f"{type(error).__name__}: {error}", remedy=remedy)) from None
    return cupy


def kernel_source() -> str:
    """Return the source of the kernels."""
    return resources.files("peerpressure.simulation.engine").joinpath("gpu_kernels.cu").read_text(encoding="utf-8")


# One module for each device and set of definitions: as compile-time constants they cost no registers or branches.
@cache
def _module(number: int, **definitions: Any) -> Any:
    options = [f"-D{name.upper()}={value}" for name, value in definitions.items()]
    if not definitions["double"]:
        # Divisions and roots to one unit in the last place more, at half the instructions.
        options += ["--prec-div=false", "--prec-sqrt=false"]
    return _cupy().RawModule(code=kernel_source(), options=("-std=c++17", *options))


@cache
def _kernel(module: Any, name: str) -> Any:
    # Looking it up takes as long as starting it.
    return module.get_function(name)


def run(
    plan: RunPlan,
    start: NDArray[Any],
    memory: NDArray[Any] | None,
    report: Callable[[int], None],
    hidden_state: NDArray[Any] | None = None,
) -> RunResult:
    """Make the plan's steps from ``start`` on all accelerators, calling ``report(steps done)`` at intervals."""
    if plan.model.noise.law not in LAW_CODES:
        rule = "the accelerator draws from the package's own laws"
        raise PeerPressureError(message(rule, got=str(plan.model.noise), remedy="use the device cpu for SciPy's laws"))
    if plan.model.temporal_network is not None and plan.model.network.directed:
        rule, got = "temporal networks on the accelerator are undirected", repr(plan.model.temporal_network)
        raise PeerPressureError(message(rule, got=got, remedy="use the device cpu"))
    result = _empty_result(plan)
    shares = [
        Share(number, plan, rows, (start, memory, hidden_state), result)
        for number, rows in shares_of(plan.replicates.size, device_numbers())
    ]
    total = sum(share.size for share in shares)
    while not all(share.finished for share in shares):
        for share in shares:
            share.advance()
        report(sum(share.done for share in shares) // total)
    return result


def device_numbers() -> list[int]:
    """Return the accelerators of this machine; ``CUDA_VISIBLE_DEVICES`` leaves some out."""
    return list(range(_cupy().cuda.runtime.getDeviceCount()))


def shares_of(replicates: int, numbers: list[int]) -> list[tuple[int, slice]]:
    """Divide replicates evenly among accelerators, no more of them than have whole groups of threads to run.

    >>> shares_of(100, [0, 1])
    [(0, slice(0, 50, None)), (1, slice(50, 100, None))]
    >>> shares_of(20, [0, 1])
    [(0, slice(0, 20, None))]
    """
    used = numbers[: -(-replicates // _TOGETHER)]
    bounds = [replicates * place // len(used) for place in range(len(used) + 1)]
    return list(zip(used, map(slice, bounds, bounds[1:]), strict=True))


class Share:
    """The replicates of one accelerator. One thread drives all of them, since kernels run while it goes on."""

    def __init__(
        self,
        number: int,
        plan: RunPlan,
        rows: slice,
        state: tuple[NDArray[Any] | None, ...],
        result: RunResult,
    ) -> None:
        self.device = _cupy().cuda.Device(number)
        self.plan = replace(plan, replicates=plan.replicates[rows])
        self.state = tuple(_rows_of(values, rows) for values in state)
        self.result = _rows_of_result(result, rows)
        self.size, self.done, self.finished = self.plan.replicates.size, 0, False
        self._segments = self._run()

    def advance(self) -> None:
        """Start the next steps on the accelerator; ``done`` counts those that it has finished in all replicates."""
        with self.device:
            done = next(self._segments, None)
        self.finished = done is None
        self.done = self.size * self.plan.steps if done is None else done

    def _run(self) -> Generator[int]:
        device = Device(self.plan)
        for rows in batches_of(self.plan.replicates, device.most_replicates()):
            part = replace(self.plan, replicates=self.plan.replicates[rows])
            run = DeviceRun(device, part, *(_rows_of(values, rows) for values in self.state))
            for steps in run.segments(_rows_of_result(self.result, rows)):
                yield rows.start * self.plan.steps + part.replicates.size * steps
            del run  # before the next batch takes its place


def _rows_of(values: NDArray[Any] | None, rows: slice) -> NDArray[Any] | None:
    return values if values is None or values.ndim == 1 else values[rows]


def batches_of(replicates: NDArray[np.int64], most: int) -> Iterator[slice]:
    """Cut replicates into stretches of consecutive numbers, at most ``most`` each.

    A thread derives the replicate number of its counter from its position, without a table.

    >>> list(batches_of(np.array([0, 1, 2, 3, 7]), 3))
    [slice(0, 3, None), slice(3, 4, None), slice(4, 5, None)]
    """
    breaks = np.flatnonzero(np.diff(replicates) != 1) + 1
    for begin, end in zip([0, *breaks.tolist()], [*breaks.tolist(), replicates.size], strict=True):
        for first in range(begin, end, most):
            yield slice(first, min(first + most, end))


def _empty_result(plan: RunPlan) -> RunResult:
    size, n = plan.replicates.size, plan.model.n
    states = (size, plan.times.size, plan.agents.size)
    return RunResult(
        states=np.empty(states, plan.dtype) if plan.keep_states else None,
        summaries=np.empty((size, plan.times.size, 3)) if plan.keep_summaries else None,
        final=np.empty((size, n), plan.dtype),
        memory=np.empty((size, n), plan.dtype) if isinstance(plan.model.noise.temporal, AR1) else None,
        hidden=np.empty(states, plan.dtype) if plan.keep_hidden else None,
        final_hidden=np.empty((size, n), plan.dtype) if plan.model.adaptation is not None else None,
    )


def _rows_of_result(result: RunResult, rows: slice) -> RunResult:
    parts: dict[str, Any] = {name: None if part is None else part[rows] for name, part in vars(result).items()}
    return RunResult(**parts)


class Device:
    """What the batches of a run share: compiled kernels, the network, and the constants of the agents."""

    def __init__(self, plan: RunPlan) -> None:
        self.plan, self.cupy = plan, _cupy()
        self.draw: Draw = draw_of(plan.model.noise, plan.seed, plan.pace)
        model = plan.model
        union = model.network.adjacency
        self._refuse_if_too_large(union.nnz)
        # Below half of the range of 32 bits a row's end plus a stride is still within it.
        self.edge = np.uint32 if union.nnz < 2**31 else np.uint64
        # A network that changes may lose its uniform weight on the way.
        self.uniform = model.temporal_network is None and bool(union.nnz and (union.data == union.data[0]).all())
        self.network = DeviceNetwork(
            plan, self.cupy, self.module(plan.replicates.size), self.edge, uniform=self.uniform
        )
        weight = 1.0 if model.adaptation is None else model.adaptation.adaptation_weight
        moving = model.adaptation is not None
        nothing = self.cupy.zeros(1, plan.dtype)  # what no kernel reads
        weights = np.broadcast_to(np.asarray(weight, plan.dtype), model.n)
        self.adaptation_weight = self.network.by_slot(weights) if moving else nothing
        everybody = model.activation is None
        self.thresholds = nothing if everybody else self.cupy.asarray(coin_thresholds(model))

    def lanes(self, replicates: int) -> int:
        """Return the number of replicates of a thread."""
        # Sixteen bytes, the widest load of the hardware; a single replicate would waste all lanes but one.
        return 1 if replicates == 1 else 16 // self.plan.dtype.itemsize

    def shares_gathers(self) -> bool:
        """Return whether the threads of a block gather for all its agents together if there is one replicate."""
        # Measured: up to two fifths faster, except where rows are short and weights equal. In a network that changes,
        # there are gaps between rows.
        adjacency = self.plan.model.network.adjacency
        longer = adjacency.nnz > _SHORT * self.plan.model.n
        return self.plan.model.temporal_network is None and (longer or not self.uniform)

    def module(self, replicates: int) -> Any:
        """Return the kernels for a batch of so many replicates."""
        model, size = self.plan.model, self.plan.dtype.itemsize
        return _module(
            self.cupy.cuda.Device().id,
            double=int(size == 8),
            lanes=self.lanes(replicates),
            edge="word" if self.edge is np.uint32 else "wide_word",
            stride=0 if self.uniform else 1,
            shared_gathers=int(self.lanes(replicates) == 1 and self.shares_gathers()),
            threads=_THREADS,
            blocks=_BLOCKS[size, self.lanes(replicates) == 1],
            hub_packs=_HUB_PACKS,
            hub_slices=_HUB_SLICES,
            law=self.draw.law,
            mode=self.draw.mode,
            active=-1 if model.activation is None else ACTIVE_CODES[model.activation.kind],
            keep_isolated=int(model.isolated == "keep"),
            moving=int(model.adaptation is not None),
            partial=int(self.plan.pace != 1),
        )

    def free_bytes(self) -> int:
        """Return the memory of the device that a run can take."""
        free, _ = self.cupy.cuda.Device().mem_info
        # What CuPy keeps of arrays that are no longer used.
        return int(free) + int(self.cupy.get_default_memory_pool().free_bytes())

    def bytes_per_replicate(self) -> int:
        """Return the memory that a replicate takes."""
        plan = self.plan
        # Two states, because a step reads one and writes the other; noise memory and hidden opinions are updated in
        # place. Two more while results are transposed.
        states = 4 + (self.draw.mode != FRESH) + (plan.model.adaptation is not None)
        return (plan.model.n + 4) * plan.dtype.itemsize * states + 24 * plan.times.size * plan.keep_summaries

    def most_replicates(self) -> int:
        """Return the number of replicates that fit in the device's memory, in whole groups if there are many."""
        most = self.free_bytes() // self.bytes_per_replicate()
        if most < 1:
            self._refuse(self.bytes_per_replicate())
        for group in (_TOGETHER, self.lanes(_TOGETHER)):
            if most >= group:
                return most // group * group
        return 1

    def _refuse_if_too_large(self, entries: int) -> None:
        # The rows twice, while they are put in order.
        needed = 2 * entries * (4 + self.plan.dtype.itemsize) + self.plan.model.n * (80 + 8 * self.plan.dtype.itemsize)
        if needed + self.bytes_per_replicate() > self.free_bytes():
            self._refuse(needed + self.bytes_per_replicate())

    def _refuse(self, needed: int) -> None:
        single = self.plan.dtype == np.float32
        remedy = "use the device cpu" if single else "use the dtype float32, or the device cpu"
        memory = Memory(self.free_bytes(), place="in the device's memory")
        raise too_large(memory, needed, what="one replicate", remedy=remedy)


class DeviceRun:
    """The states of a batch of replicates while it runs."""

    def __init__(
        self,
        device: Device,
        plan: RunPlan,
        start: NDArray[Any] | None,
        memory: NDArray[Any] | None,
        hidden_state: NDArray[Any] | None,
    ) -> None:
        self.device, self.plan, self.cupy, self.network = device, plan, device.cupy, device.network
        size = plan.replicates.size
        self.lanes = device.lanes(size)
        self.packs = -(-size // self.lanes)
        self.module = device.module(size)
        # Threads side by side take packs of one agent, to read its neighbours' rows in whole cache lines.
        self.across = -(-self.packs // -(-self.packs // _TOGETHER))
        self.down = _THREADS // self.across
        nothing = self.cupy.zeros(1, plan.dtype)  # what no kernel reads
        self.network.reset()
        self.public = self._upload(plan.model.start_state if start is None else start)
        self.output = self.cupy.empty_like(self.public)
        self.memory = nothing if device.draw.mode == FRESH else self._starting_memory(memory)
        opinions = plan.model.x0 if hidden_state is None else hidden_state
        self.opinions = nothing if plan.model.adaptation is None else self._upload(opinions)
        self.listed = self.cupy.zeros(1, np.uint8)
        if plan.keep_summaries:
            width = self.packs * self.lanes
            self.summaries = self.cupy.empty((plan.times.size, width, 3))
            self.partial = self.cupy.empty((_PARTS, width, 3))
            self.finished = self.cupy.zeros(self.packs, np.uint32)

    def _upload(self, values: NDArray[Any]) -> Any:
        """Return (agents,) or (replicates, agents) as the device's (slots, padded replicates)."""
        agents, size = self.network.agents, self.plan.replicates.size
        padded = self.cupy.zeros((agents.size, self.packs * self.lanes), self.plan.dtype)
        if values.ndim == 1:
            padded[:] = self.cupy.asarray(values.astype(self.plan.dtype))[agents][:, None]
            return padded
        for first in range(0, size, _TOGETHER):
            rows = self.cupy.asarray(values[first : first + _TOGETHER].astype(self.plan.dtype))
            padded[:, first : first + len(rows)] = rows.T[agents]
        return padded

    def _download(self, values: Any, agents: Any, out: NDArray[Any]) -> None:
        """Copy some agents' numbers from the device's (slots, replicates) to ``out``, (replicates, agents)."""
        for first in range(0, len(out), _TOGETHER):
            rows = out[first : first + _TOGETHER]
            columns = values[:, first : first + len(rows)]
            # Transposed on the device, which takes it a hundredth of the time.
            turned = self.cupy.ascontiguousarray(columns[self.network.slots[agents]].T)
            if rows.flags.c_contiguous:
                turned.get(out=rows)
            else:
                rows[:] = turned.get()

    def _starting_memory(self, memory: NDArray[Any] | None) -> Any:
        """Return the memory of correlated noise: drawn where the run starts, or the one of the run that is resumed."""
        temporal, draw = self.plan.model.noise.temporal, self.device.draw
        if isinstance(temporal, AR1) and memory is not None:
            return self._upload(memory)
        drawn = self.cupy.empty_like(self.public)
        # Frozen noise belongs to no step: time 0 for every start gives a resumed run the draws of the first one.
        time = 0 if isinstance(temporal, Frozen) else self.plan.start_step
        arguments = (
            np.uint32(self.network.pairs), np.uint32(self.packs), self.network.counters, drawn,
            self.plan.dtype.type(draw.shape), np.uint32(time), np.uint32(self.plan.replicates[0]),
            np.uint32(STREAM_FROZEN), *self._key(),
        )  # fmt: skip
        self._launch("draw", -(-self.network.pairs // self.down), self.down, arguments)
        return drawn

    def _key(self) -> tuple[np.uint32, np.uint32]:
        return np.uint32(self.device.draw.k0), np.uint32(self.device.draw.k1)

    def _launch(self, name: str, blocks: int, down: int, arguments: tuple[Any, ...]) -> None:
        """Start blocks of threads: ``across`` packs of ``down`` agents or pairs, and as often as there are packs."""
        grid = (blocks, -(-self.packs // self.across))
        _kernel(self.module, name)(grid, (self.across, down), arguments)

    def step(self, time: int, own_weight: float, weight: float, scale: float, adaptation_rate: float) -> None:
        """Make one step."""
        network, draw, real = self.network, self.device.draw, self.plan.dtype.type
        sizes = map(np.uint32, (self.plan.model.n, network.pairs, network.hubs, self.packs))
        arguments = (
            *sizes, network.starts, network.ends, network.columns, network.weights, network.counters,
            network.constants, self.public, self.output, self.memory,
            real(own_weight), real(weight), real(scale), real(draw.shape), real(draw.carry), real(draw.fresh),
            np.uint32(time), np.uint32(self.plan.replicates[0]), *self._key(),
            self.opinions, self.device.adaptation_weight, real(adaptation_rate), real(self.plan.pace),
            self.device.thresholds, self.listed,
        )  # fmt: skip
        blocks = network.hubs * -(-self.across // _HUB_PACKS) + -(-(network.pairs - network.hubs) // self.down)
        self._launch("step", blocks, self.down, arguments)
        # Exchanged only after the launch: a step that wrote in place would mix times t − 1 and t between neighbours.
        self.public, self.output = self.output, self.public

    def segments(self, result: RunResult) -> Generator[int]:
        """Make all steps, and write what is recorded to ``result``; yield at intervals how many steps are finished."""
        plan, begin, last = self.plan, self.plan.start_step, self.plan.start_step + self.plan.steps
        slots = {int(time): slot for slot, time in enumerate(plan.times)}
        chosen = self.cupy.asarray(plan.agents)
        with ThreadPoolExecutor(1) as pool:
            # The system gives memory to an array when it is first written, which takes longer than to copy results
            # into it; it is done while the device works.
            prepared = pool.submit(_touch, result)
            self._record(0, chosen, result)
            self.network.look_ahead(begin, min(begin + _SEGMENT, last))
            for first in range(begin, last, _SEGMENT):
                end = min(first + _SEGMENT, last)
                for time, reading in enumerate(zip(*plan.readings(first, end), strict=True), first + 1):
                    self._advance(time, reading)
                    if time in slots:
                        self._record(slots[time], chosen, result)
                self.network.look_ahead(end, min(end + _SEGMENT, last))
                yield first - begin  # other accelerators get their steps meanwhile
                # Launches are asynchronous; without this wait progress would run ahead of the device, and Ctrl-C would
                # not stop it.
                self.cupy.cuda.get_current_stream().synchronize()
            prepared.result()
        self._results(result)

    def _advance(self, time: int, reading: tuple[float, float, float, float]) -> None:
        activation = self.plan.model.activation
        self.network.change(time)
        if activation is not None and not activation.is_random:
            self.listed = self.cupy.asarray(self.plan.masks(time - 1, time)[0].astype(np.uint8))
        self.step(time, *reading)

    def _record(self, slot: int, chosen: Any, result: RunResult) -> None:
        for kept, values in ((result.states, self.public), (result.hidden, self.opinions)):
            if kept is not None:
                self._download(values, chosen, kept[:, slot])
        if self.plan.keep_summaries:
            # On the device until the end: a copy would wait for it at every record.
            sizes = map(np.uint32, (self.plan.model.n, self.network.pairs, self.packs))
            parts = (self.partial, self.finished, self.summaries[slot])
            self._launch("summarise", _PARTS, _ROWS, (*sizes, self.network.counters, self.public, *parts))

    def _results(self, result: RunResult) -> None:
        # Its memory is needed to transpose.
        self.output = None
        everybody = self.cupy.arange(self.plan.model.n)
        finals = ((result.final, self.public), (result.memory, self.memory), (result.final_hidden, self.opinions))
        for out, values in finals:
            if out is not None:
                self._download(values, everybody, out)
        if result.summaries is not None:
            kept = self.summaries[:, : self.plan.replicates.size].get()
            result.summaries[:] = kept.swapaxes(0, 1)


def _touch(result: RunResult) -> None:
    for part in (result.final, result.memory, result.final_hidden):
        if part is not None:
            part.fill(0)
