"""The accelerator against its own memory and against whole calls, on a machine that has one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure.engine import gpu

from .sections import Cell, Section, Table, Target, count
from .settings import FULL, Settings
from .workload import workload

REPLICATES = 32
STEPS = 1_000  # of a whole call
BATCH = 50  # steps between two readings of the device's clock
SPAN, SHARE = 200, 0.001  # steps after which a temporal network repeats, and edges that fail at each of them

TEXT = f"""\
Picoseconds per agent-step on an NVIDIA device, of the kernels by events on the device, and of whole calls of
{STEPS:,} steps, set-up and copies included. The bound is the time that the bytes of one step take at the device's copy
bandwidth if every gathered neighbour's row is read from memory; rows of hubs stay in its cache, so that a fraction
above 1 is possible. All cases of a table are interleaved. In the temporal network 1 in {1 / SHARE:,.0f} edges fails at
every step.
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


def _steps(agents: int, replicates: int, dtype: str) -> Callable[[], None]:
    """Return a function that makes BATCH steps on the device, without waiting for them."""
    from peerpressure.simulation import Record, _plan

    model = workload(agents).model
    nothing = Record(states=False, summaries=False)
    plan = _plan(model, 1, np.arange(replicates), 1, nothing, 0, np.dtype(dtype), None)
    run = gpu.DeviceRun(gpu.Device(plan), plan, model.start_state, None, None)

    def work() -> None:
        for t in range(1, BATCH + 1):
            run.step(t, 1 / t, 1.0, 1.0, 0.0)

    return work


def _bytes(agents: int, replicates: int, dtype: str) -> float:
    """Return the bytes of one step if every gathered row is read from memory."""
    size, entries = np.dtype(dtype).itemsize, workload(agents).network.adjacency.nnz
    return float((entries + agents) * replicates * size + entries * 4 + agents * (10 + 4 * size))


def _kernels(cupy: Any, settings: Settings, bandwidth: float) -> tuple[Table, dict[str, float]]:
    large = settings.large
    cases = {
        (agents, replicates, dtype): _steps(agents, replicates, dtype)
        for agents, replicates in ((large // 10, REPLICATES), (large, 1), (large, REPLICATES))
        for dtype in ("float32", "float64")
    }
    costs: dict[Any, list[float]] = {case: [] for case in cases}
    for done in range(settings.rounds + 1):
        for case, work in cases.items():
            second = _seconds(cupy, work)
            # The first round compiles and warms up.
            costs[case] += [second / BATCH / (case[0] * case[1]) * 1e12] if done else []
    rows: list[list[Cell]] = []
    for (agents, replicates, dtype), values in costs.items():
        bound = _bytes(agents, replicates, dtype) / bandwidth / (agents * replicates) * 1e12
        typical = float(np.median(values))
        rows.append([f"{count(agents)}×{replicates}", dtype, typical, _spread(values), bound / typical])
    head = ("", "precision", "ps per agent-step", "from – to", "of the bound")
    typical_of = {dtype: float(np.median(costs[large, REPLICATES, dtype])) for dtype in ("float32", "float64")}
    return Table(f"Kernels; copy bandwidth {bandwidth / 1e12:.2f} TB/s", head, rows), typical_of


def _spread(values: list[float]) -> str:
    return f"{min(values):.3g} – {max(values):.3g}"


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
    return {(name, dtype): call(*case, dtype) for name, case in cases.items() for dtype in ("float32", "float64")}


def _whole(settings: Settings, kernels: dict[str, float]) -> tuple[Table, dict[tuple[str, str], float]]:
    calls = _calls(settings)
    costs: dict[tuple[str, str], list[float]] = {case: [] for case in calls}
    for done in range(settings.rounds + 1):
        for case, call in calls.items():
            begin = time.perf_counter()
            call(STEPS if done else 2)
            second = time.perf_counter() - begin
            costs[case] += [second / (STEPS * settings.large * REPLICATES) * 1e12] if done else []
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
    return Section(title, TEXT, [table, whole], targets)
