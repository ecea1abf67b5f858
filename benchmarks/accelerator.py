"""The accelerator against its own memory and against whole calls, on a machine that has one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure.simulation.engine import gpu

from .network_classes import kinds
from .sections import Cell, Section, Table, Target, count
from .settings import FULL, Settings
from .workload import on, workload

REPLICATES = 32
STEPS = 1_000  # of a whole call
BATCH = 50  # steps between two readings of the device's clock
PRECISIONS = ("float32", "float64")
SPAN, SHARE = 200, 0.001  # steps after which a temporal network repeats, and edges that fail at each of them

TEXT = f"""\
Picoseconds per agent-step on an NVIDIA device, of the kernels by events on the device, and of whole calls of
{STEPS:,} steps, set-up and copies included. The bound is the time that the bytes of one step take at the device's copy
bandwidth if every gathered neighbour's row is read from memory; rows of hubs stay in its cache, so a fraction
above 1 is possible. With one replicate a row is a single number and the cache moves 32 bytes for each: *gathers alone*
is a kernel that does nothing but read the neighbours' numbers of a step, the least that any kernel can take.
All cases of a table are interleaved, and a step with its gathers alone. In the temporal network 1 in
{1 / SHARE:,.0f} edges fails at every step; the other models are those of the section on kinds of networks, with agents
in random order.
"""

GATHERS = r"""
extern "C" __global__ void gathers(
    unsigned long long entries, const unsigned* __restrict__ columns, const real* __restrict__ values, real* sums) {
    unsigned long long thread = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
    real sum = 0;
#pragma unroll 8
    for (unsigned long long k = thread; k < entries; k += stride) sum += values[columns[k]];
    sums[thread] = sum;
}
"""


def _copy_bandwidth(cupy: Any) -> float:
    """Return bytes read and written each second by a large device-to-device copy."""
    source, target = cupy.ones(2**29, np.float32), cupy.empty(2**29, np.float32)
    times = [_seconds(cupy, lambda: cupy.copyto(target, source)) for _ in range(10)]
    return float(2 * source.nbytes / np.median(times))


def _seconds(cupy: Any, work: Callable[[], object]) -> float:
    """Return the time of some work, by events on the device."""
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    begin.record()
    work()
    end.record()
    end.synchronize()
    return float(cupy.cuda.get_elapsed_time(begin, end)) * 1e-3


def _steps(model: pp.Model, replicates: int, dtype: str) -> Callable[[], None]:
    """Return a function that makes BATCH steps on the device, without waiting for them."""
    from peerpressure.simulation._simulate import _plan
    from peerpressure.simulation.recording import Record

    nothing = Record(states=False, summaries=False)
    plan = _plan(model, 1, np.arange(replicates), 1, nothing, 0, np.dtype(dtype), None, device="gpu")
    run = gpu.DeviceRun(gpu.Device(plan), plan, model.start_state, None, None)

    def work() -> None:
        for t in range(1, BATCH + 1):
            run.step(t, 1 / t, 1.0, 1.0, 0.1)

    return work


def _interleaved(cupy: Any, works: dict[Any, Callable[[], None]], rounds: int) -> dict[Any, NDArray[np.float64]]:
    """Return the seconds of a step of each case in each round, after one that compiles and warms up."""
    times = np.array([[_seconds(cupy, work) / BATCH for work in works.values()] for _ in range(rounds + 1)])
    return dict(zip(works, times[1:].T, strict=True))


def _bytes(agents: int, replicates: int, dtype: str) -> float:
    """Return the bytes of one step if every gathered row is read from memory."""
    size, entries = np.dtype(dtype).itemsize, workload(agents).network.adjacency.nnz
    return float((entries + agents) * replicates * size + entries * 4 + agents * (10 + 4 * size))


def _kernels(cupy: Any, settings: Settings, bandwidth: float) -> tuple[Table, dict[str, float]]:
    large = settings.large
    works = {
        (agents, replicates, dtype): _steps(workload(agents).model, replicates, dtype)
        for agents, replicates in ((large // 10, REPLICATES), (large, 1), (large, REPLICATES))
        for dtype in PRECISIONS
    }
    rows: list[list[Cell]] = []
    typical_of = {}
    for (agents, replicates, dtype), times in _interleaved(cupy, works, settings.rounds).items():
        costs = times / (agents * replicates) * 1e12
        typical = typical_of[agents, replicates, dtype] = float(np.median(costs))
        bound = _bytes(agents, replicates, dtype) / bandwidth / (agents * replicates) * 1e12
        rows.append([f"{count(agents)}×{replicates}", dtype, typical, _spread(costs), bound / typical])
    head = ("", "precision", "ps per agent-step", "from – to", "of the bound")
    table = Table(f"Kernels; copy bandwidth {bandwidth / 1e12:.2f} TB/s", head, rows)
    return table, {dtype: typical_of[large, REPLICATES, dtype] for dtype in PRECISIONS}


def _gathers(cupy: Any, model: pp.Model, dtype: str) -> Callable[[], None]:
    """Return a function that reads the neighbours' opinions as often as BATCH steps do, and nothing else."""
    entries, threads = model.network.adjacency.nnz, 512
    blocks = 8 * cupy.cuda.Device().attributes["MultiProcessorCount"]
    columns = cupy.asarray(model.network.adjacency.indices.astype(np.uint32))
    values, sums = cupy.ones(model.n, dtype), cupy.empty(blocks * threads, dtype)
    options = (f"-Dreal={'float' if dtype == 'float32' else 'double'}",)
    kernel = cupy.RawKernel(GATHERS, "gathers", options=options)

    def work() -> None:
        for _ in range(BATCH):
            kernel((blocks,), (threads,), (np.uint64(entries), columns, values, sums))

    return work


def _single(cupy: Any, settings: Settings) -> Table:
    """Return what a step of one replicate costs on several networks, against its gathers alone."""
    n = settings.large
    models = {
        "Barabási–Albert, 4 neighbours": workload(n).model,
        "the same, signed": kinds(n)["signed"],
        "Watts–Strogatz, 4 neighbours": on(pp.networks.watts_strogatz(n, 4, 0.1, seed=1)).model,
        "Watts–Strogatz, 10 neighbours": on(pp.networks.watts_strogatz(n, 10, 0.1, seed=1)).model,
        "Erdős–Rényi, 20 neighbours": on(pp.networks.erdos_renyi(n, 20 / n, seed=1, connected=False)).model,
    }
    rows: list[list[Cell]] = []
    for name, model in models.items():
        for dtype in PRECISIONS:
            works = {"step": _steps(model, 1, dtype), "gathers": _gathers(cupy, model, dtype)}
            costs = {what: times / n * 1e12 for what, times in _interleaved(cupy, works, settings.rounds).items()}
            step, gathers = (float(np.median(costs[what])) for what in works)
            rows.append([name, dtype, step, _spread(costs["step"]), gathers, gathers / step])
    head = ("", "precision", "ps per agent-step", "from – to", "gathers alone", "of these")
    return Table(f"Kernels of one replicate, {count(n)} agents", head, rows)


def _kinds(cupy: Any, settings: Settings) -> Table:
    """Return what a step of other models costs, against the benchmark's network with its agents in random order."""
    networks = kinds(settings.large)
    plain = networks["symmetric"]
    changed: dict[str, dict[str, Any]] = {
        "asynchronous, probability 0.5": {"activation": 0.5},
        "adapting": {"adaptation": 0.1},
        "AR(1) noise": {"noise": pp.Gaussian(0.1, temporal=pp.AR1(0.5))},
    }
    models = {name: networks[name] for name in ("symmetric", "directed", "symmetric, weighted", "signed")}
    models |= {name: replace(plain, **parts) for name, parts in changed.items()}
    rows: list[list[Cell]] = [[name] for name in models]
    for dtype in PRECISIONS:
        works = {name: _steps(model, REPLICATES, dtype) for name, model in models.items()}
        times = _interleaved(cupy, works, settings.rounds)
        for row, own in zip(rows, times.values(), strict=True):
            ratios = own / times["symmetric"]
            cost = float(np.median(own)) / (settings.large * REPLICATES) * 1e12
            row += [cost, float(np.median(ratios)), _spread(ratios)]
    each = ("ps per agent-step", "times the first row", "from – to")
    head = ("", *(f"{name}, {dtype}" for dtype in PRECISIONS for name in each))
    return Table(f"Kernels of other models, {count(settings.large)}×{REPLICATES}", head, rows)


def _spread(values: NDArray[np.float64]) -> str:
    return f"{values.min():.3g} – {values.max():.3g}"


def _calls(settings: Settings) -> dict[tuple[str, str], Callable[[int], NDArray[Any]]]:
    """Return whole calls: what is recorded, or what is different, in which precision."""
    plain = workload(settings.large).model
    changing = pp.networks.failing_edges(plain.network, SHARE, SPAN, seed=2, repeat=True)
    temporal = pp.Model(changing, hidden=plain.hidden, stubbornness=plain.stubbornness, noise=plain.noise)

    def call(model: pp.Model, record: str, dtype: str) -> Callable[[int], NDArray[Any]]:
        return lambda steps: (
            pp.simulate(model, steps, REPLICATES, seed=1, record=record, dtype=dtype, device="gpu").final.public
        )

    cases = {
        "final states": (plain, "final"),
        "summaries of every step": (plain, "summaries"),
        "temporal network, final states": (temporal, "final"),
    }
    return {(name, dtype): call(*case, dtype) for name, case in cases.items() for dtype in PRECISIONS}


def _whole(settings: Settings, kernels: dict[str, float]) -> tuple[Table, dict[tuple[str, str], float]]:
    calls = _calls(settings)
    seconds = np.empty((settings.rounds, len(calls)))
    for call in calls.values():
        call(2)
    for done in range(settings.rounds):
        for place, call in enumerate(calls.values()):
            begin = time.perf_counter()
            call(STEPS)
            seconds[done, place] = time.perf_counter() - begin
    costs = dict(zip(calls, (seconds / (STEPS * settings.large * REPLICATES) * 1e12).T, strict=True))
    ratios = {case: float(np.median(values)) / kernels[case[1]] for case, values in costs.items()}
    rows: list[list[Cell]] = [
        [*case, float(np.median(values)), _spread(values), ratios[case]] for case, values in costs.items()
    ]
    head = (f"{count(settings.large)}×{REPLICATES}", "precision", "ps per agent-step", "from – to", "times the kernels")
    return Table(f"Whole calls of {STEPS:,} steps", head, rows), ratios


def _targets(kernels: dict[str, float], ratios: dict[tuple[str, str], float]) -> list[Target]:
    name = f"accelerator, {count(FULL.large)}×{REPLICATES}"
    targets = []
    for dtype, most in (("float32", 7.0), ("float64", 12.5)):
        whole = ratios.get(("final states", dtype))
        targets.append(Target(f"{name}, {dtype}", most, kernels.get(dtype), " ps", at_least=False))
        targets.append(Target(f"{name}, whole call against kernels, {dtype}", 1.5, whole, at_least=False))
    return targets


def measure(settings: Settings) -> Section:
    title = "Accelerator"
    try:
        cupy = gpu._cupy()
    except pp.PeerPressureError as error:
        return Section(title, f"{TEXT}\nNot measured here: {error}.\n", [], _targets({}, {}))
    table, kernels = _kernels(cupy, settings, _copy_bandwidth(cupy))
    whole, ratios = _whole(settings, kernels)
    targets = _targets(kernels, ratios) if settings.large == FULL.large else _targets({}, {})
    return Section(title, TEXT, [table, _single(cupy, settings), whole, _kinds(cupy, settings)], targets)
