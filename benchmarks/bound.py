"""How near a step comes to what the machine can do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.noise import Gaussian
from peerpressure.simulation.engine.arguments import Graph
from peerpressure.simulation.engine.blocking import EdgeBlocks, NeighbourSums
from peerpressure.simulation.engine.layout import aligned, graph_of
from peerpressure.simulation.engine.plan import BLOCK, CHUNK, WIDTH, draw_of
from peerpressure.simulation.engine.random import filler_of

from . import bound_kernels as kernels
from .clock import Job, costs, typical
from .machine import cores, last_level_cache
from .sections import Cell, Section, Table, Target, count
from .settings import QUICK, Settings
from .speed import OURS, our_job
from .workload import workload

_NUMBER = np.dtype(np.float64)
_LINE = 64  # bytes that memory hands over at once
_WANTED = {"10⁶×1": 0.55, "10⁷×1": 0.4}  # fractions of the bound; 0.7 elsewhere

TEXT = """\
All parts run on as many threads as the simulation does, interleaved with it.

- **Traffic** per agent-step is the least that must move: the new state written once; the old state read once; the
  graph (4 bytes for each neighbour and for each row's start, 2 more for the order of rows if R = 1) and the agents'
  three constants read once for all replicates of a block, which are 16, or one if R = 1. Where the old states of all
  blocks in flight exceed the last-level cache, the rows read most often stay in it, as many as fit, and are read once;
  every other gathered neighbour comes from memory anew, in whole lines of 64 bytes.
- **Bandwidth** is that of copying to and fro between two arrays that together are as large as all the above, bytes
  read and bytes written both counted.
- **Normals** are the engine's own generator, filling a buffer that stays in the first-level cache.
- **Bound** = traffic / bandwidth + normals, and its **fraction** is bound / measured.
- **Parts** = normals + gather + write, each measured alone: the normals as this layout makes them, the neighbours' rows
  read in the same layout and order but summed to a small buffer (at 10⁷ agents by the engine's two passes over edges
  in blocks), and the state written in sequence. Nothing is gained from doing one while waiting for another, so a
  fraction of parts above 1 is possible.
"""


@final
@dataclass(frozen=True)
class Case:
    """So many agents and replicates on so many threads."""

    agents: int
    replicates: int
    threads: int

    @property
    def name(self) -> str:
        """Agents × replicates, and the threads if they are fewer than the engine would take."""
        alone = self.threads == 1 < cores()
        return f"{count(self.agents)}×{self.replicates}{', one thread' if alone else ''}"

    @property
    def width(self) -> int:
        """Replicates that are stepped side by side."""
        return 1 if self.replicates == 1 else WIDTH

    @property
    def blocks(self) -> int:
        """Groups of replicates, of which each thread takes one at a time."""
        return -(-self.replicates // self.width)

    @cached_property
    def graph(self) -> Graph:
        """The network as the engine reads it."""
        return self._layout[0]

    @cached_property
    def edges(self) -> EdgeBlocks | None:
        """The edges in blocks, where the engine sums over neighbours in two passes."""
        return self._layout[1]

    @property
    def _layout(self) -> tuple[Graph, EdgeBlocks | None]:
        return graph_of(workload(self.agents).network, _NUMBER, narrow=self.width == 1)

    @property
    def parts(self) -> list[tuple[int, int, int]]:
        """The work as (block, first agent, last agent + 1): blocks for threads, else agents of a block."""
        if self.blocks >= self.threads:
            return [(block, 0, self.agents) for block in range(self.blocks)]
        unit = CHUNK if self.edges is None else BLOCK
        cuts = [self.agents * i // self.threads // unit * unit for i in range(self.threads)] + [self.agents]
        spans = list(pairwise(cuts))
        return [(block, begin, end) for block in range(self.blocks) for begin, end in spans]


def _graph_bytes(case: Case) -> int:
    """Return what the rows of the graph take, whether or not the engine reads them as rows."""
    edges, order = int(case.graph.starts[-1]), 2 if case.width == 1 else 0
    return case.graph.starts.nbytes + 4 * edges + order * case.agents


def traffic(case: Case) -> float:
    """Return the bytes that must move for one agent-step, as the report defines them."""
    n, width, size = case.agents, case.width, _NUMBER.itemsize
    degrees = np.sort(np.diff(case.graph.starts.astype(np.int64)))[::-1]
    row = width * size
    in_flight = min(case.blocks, case.threads)
    kept = min(n, last_level_cache() // (row * in_flight))
    gathered = kept * row + int(degrees[kept:].sum()) * max(row, _LINE)
    return (gathered + n * row + _graph_bytes(case) + 3 * n * size) / (n * width)


def _working_set(case: Case) -> int:
    """Return the bytes that all threads together go through in one step."""
    states = 2 * case.agents * case.width * min(case.blocks, case.threads) * _NUMBER.itemsize
    return states + _graph_bytes(case) + 3 * case.agents * _NUMBER.itemsize


def _on_threads(case: Case, task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> None:
    with ThreadPoolExecutor(case.threads) as pool:
        list(pool.map(lambda given: task(*given), arguments))


def _copy_job(case: Case, steps: int) -> Job:
    """Return the job that copies; its unit of work is a byte read or written."""
    length = max(_working_set(case) // 2 // case.threads // _NUMBER.itemsize, 1024)
    pairs = [(np.ones(length), np.ones(length)) for _ in range(case.threads)]

    def call(repeats: int) -> None:
        _on_threads(case, kernels.copy, [(*pair, repeats) for pair in pairs])

    return Job(call, steps, 2 * length * _NUMBER.itemsize * case.threads)


def _normals_job(case: Case, steps: int, *, wide: bool) -> Job:
    numbers = case.agents * case.width
    draw = draw_of(Gaussian(1.0), 1)
    how = (CHUNK // WIDTH if wide else CHUNK, _NUMBER, filler_of(draw.law, _NUMBER, wide=wide), draw)

    def call(repeats: int) -> None:
        made = [(-(-(end - begin) * case.width * repeats // CHUNK), block, *how) for block, begin, end in case.parts]
        _on_threads(case, kernels.normals, made)

    return Job(call, steps, numbers * case.blocks)


def _gather_job(case: Case, steps: int, states: NDArray[np.float64]) -> Job:
    kernel = kernels.gather_narrow if case.width == 1 else kernels.gather_wide
    sums = None if case.edges is None else NeighbourSums(case.edges, case.agents, _NUMBER)

    def call(repeats: int) -> None:
        if sums is None:
            _on_threads(case, kernel, [(case.graph, states[b], begin, end, repeats) for b, begin, end in case.parts])
            return
        for _ in range(repeats):
            _on_threads(case, sums.spread, [(states[b], begin, end) for b, begin, end in case.parts])
            _on_threads(case, sums.collect, [(begin, end) for _, begin, end in case.parts])

    return Job(call, steps, case.agents * case.width * case.blocks)


def _write_job(case: Case, steps: int, states: NDArray[np.float64]) -> Job:
    def call(repeats: int) -> None:
        parts = [(states[b, begin * case.width : end * case.width], repeats) for b, begin, end in case.parts]
        _on_threads(case, kernels.write, parts)

    return Job(call, steps, case.agents * case.width * case.blocks)


def _jobs(settings: Settings, case: Case) -> dict[str, Job]:
    states = aligned((case.blocks, case.agents * case.width), _NUMBER)
    states[:] = 1.0
    ours = our_job(settings, case.agents, case.replicates, threads=case.threads)
    steps = ours.steps
    jobs = {
        OURS: ours,
        "copy": _copy_job(case, steps),
        "normals": _normals_job(case, steps, wide=True),
        "gather": _gather_job(case, steps, states),
        "write": _write_job(case, steps, states),
    }
    if case.width == 1:
        jobs["normals, one replicate"] = _normals_job(case, steps, wide=False)
    return jobs


def _row(settings: Settings, case: Case) -> tuple[list[Cell], float]:
    measured = costs(_jobs(settings, case), settings.rounds_for(case.agents * case.replicates))
    ours, copied, normals = measured[OURS], measured["copy"], measured["normals"]
    moved = traffic(case)
    bound = moved * copied + normals
    own = measured.get("normals, one replicate", normals)
    parts = own + measured["gather"] + measured["write"]
    fraction = typical(bound / ours)
    row: list[Cell] = [
        case.name,
        case.threads,
        typical(ours),
        moved,
        1 / typical(copied),
        typical(normals),
        typical(bound),
        fraction,
        typical(own),
        typical(measured["gather"]),
        typical(measured["write"]),
        typical(parts / ours),
    ]
    return row, fraction


def _cases(settings: Settings) -> list[Case]:
    small, large, every = 10_000, settings.large, cores()
    cases = [Case(n, R, every) for n in (small, large) for R in (1, 32)]
    return [Case(small, 1, 1), *cases] if settings.quick else [Case(small, 1, 1), *cases, Case(10 * large, 1, every)]


def measure(settings: Settings) -> Section:
    cases = _cases(settings)
    rows = [_row(settings, case) for case in cases]
    bounds = [[*row[:8]] for row, _ in rows]
    parts = [[row[0], row[2], *row[8:]] for row, _ in rows]
    head = ("", "threads", "measured", "bytes", "GB/s", "normals", "bound", "fraction")
    targets = [
        Target(
            f"of the bound, {case.name}", _WANTED.get(case.name, 0.7), fraction if case.agents != QUICK.large else None
        )
        for case, (_, fraction) in zip(cases, rows, strict=True)
    ]
    return Section(
        "The hardware's bound",
        TEXT,
        [
            Table("Nanoseconds per agent-step against the bound", head, bounds),
            Table(
                "Nanoseconds per agent-step against the parts alone",
                ("", "measured", "normals", "gather", "write", "fraction"),
                parts,
            ),
        ],
        targets,
    )
