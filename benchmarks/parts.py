"""One network over several processes: strong and weak scaling, with exchange and computing apart.

``python -m benchmarks.parts --agents 1000000 --processes 1 2 4 --json FILE`` measures sizes of your own.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .machine import cores
from .sections import Cell, Section, Table, Target, count
from .settings import Settings

TEXT = """\
Each process makes its own part of the network, steps its agents on one thread, and gets the opinions of their
neighbours from the others. `small world` is `PartitionedNetwork.watts_strogatz(n, 6, 0.05)`, of which one edge in
twenty leads anywhere, so nearly all agents wait for others; `lattice` is `PartitionedNetwork.grid`, of which only the
first and last rows of a part travel. Time is that of a step in the slowest process, in the best of some rounds;
`exchange` is the part of it that a process spends on packing, sending and awaiting opinions, on average. Bytes are
those of float64 opinions that leave all processes in a step, and memory is what comes on top of the imports. All
processes are on one machine, so messages pass through its memory.
"""
KINDS = ("small world", "lattice")


@dataclass(frozen=True)
class Sizes:
    """What is measured: agents of all processes, agents of each process, numbers of processes, steps, rounds."""

    agents: tuple[int, ...]
    each: int
    processes: tuple[int, ...]
    steps: int
    rounds: int = 3


def sizes_of(settings: Settings) -> Sizes:
    most = cores()
    processes = tuple(k for k in (1, 2, 4, 8, 16, 32) if k <= most)
    if settings.quick:
        return Sizes((100_000,), 50_000, processes[:2], 20, rounds=2)
    return Sizes((1_000_000, 10_000_000), 1_000_000, processes, 30)


# In each process


def program(kind: str, agents: int, steps: int, rounds: int) -> dict[str, Any] | None:
    """Measure a run together with the other processes, and return the figures in process 0."""
    from mpi4py import MPI

    from peerpressure import Gaussian
    from peerpressure.simulation.engine import parts
    from peerpressure.simulation.partition import PartitionedModel, PartitionedNetwork

    comm, clock, imported = MPI.COMM_WORLD, Stopwatch(), peak()
    parts._Exchange.begin = clock.timing(parts._Exchange.begin)  # type: ignore[method-assign]
    parts._Exchange.end = clock.timing(parts._Exchange.end)  # type: ignore[method-assign]
    begin = time.perf_counter()
    side = int(np.sqrt(agents))
    network = (
        PartitionedNetwork.watts_strogatz(agents, 6, 0.05, seed=1, comm=comm)
        if kind == "small world"
        else PartitionedNetwork.grid(side, agents // side, comm=comm)
    )
    model = PartitionedModel(network, np.sin, stubbornness=0.75, noise=Gaussian(0.1))
    made = time.perf_counter() - begin

    def run(count: int) -> tuple[float, float]:
        clock.total = 0.0
        comm.Barrier()
        start = time.perf_counter()
        model.simulate(count, seed=1, record="final", threads=1)
        return time.perf_counter() - start, clock.total

    run(2)
    measured = [np.subtract(run(2 + steps), run(2)) / steps for _ in range(rounds)]
    # The least of the rounds: everything else on the machine only adds to it.
    step, exchange = min(map(tuple, measured))
    slowest, waiting = max(comm.allgather(step)), float(np.mean(comm.allgather(exchange)))
    halo = sum(comm.allgather(network.halo))
    memory = sum(comm.allgather(peak() - imported))
    if comm.rank:
        return None
    return {"agents": network.n, "step": slowest, "exchange": waiting, "bytes": 8 * halo, "made": made, "peak": memory}


class Stopwatch:
    """The seconds that calls of some functions have taken."""

    def __init__(self) -> None:
        self.total = 0.0

    def timing(self, function: Callable[..., None]) -> Callable[..., None]:
        """Return the function, whose time is counted."""

        def timed(*arguments: Any) -> None:
            begin = time.perf_counter()
            function(*arguments)
            self.total += time.perf_counter() - begin

        return timed


def peak() -> int:
    """Return the highest resident memory of this process, in bytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def overhead(agents: int, steps: int, rounds: int) -> dict[str, float]:
    """Compare, in one process, ``simulate`` with ``simulate(comm=...)`` and with the steps of one part of one.

    Rounds are interleaved, and ratios taken within them.
    """
    from mpi4py import MPI

    from peerpressure import Gaussian, Model, simulate
    from peerpressure.networks import barabasi_albert
    from peerpressure.simulation import plan_of, starting_state
    from peerpressure.simulation.engine.parts import ModelPart, PartRun
    from peerpressure.simulation.processes import SharedFailure

    model = Model(barabasi_albert(agents, 3, seed=1), np.sin(np.arange(agents)), noise=Gaussian(0.1))
    comm = MPI.COMM_SELF
    part = ModelPart.of(model, comm)

    def stepped(count: int) -> None:
        begin = starting_state(part.model, 1, None, 0)
        plan = replace(plan_of(part.model, begin, count, 1, 1, "final", None, 1), part=part.share)
        PartRun(SharedFailure(comm), part, plan, begin.public, None, None).finish(lambda done: None)

    jobs: dict[str, Callable[[int], object]] = {
        "plain": lambda count: simulate(model, count, seed=1, record="final", threads=1),
        "comm": partial(simulate, model, seed=1, record="final", threads=1, comm=comm),
        "part": stepped,
    }
    found: dict[str, list[float]] = {name: [] for name in jobs}
    for job in jobs.values():
        job(2)
    for _ in range(rounds):
        for name, job in jobs.items():
            begin = time.process_time()
            job(2 + steps)
            middle = time.process_time()
            job(2)
            found[name].append((2 * middle - begin - time.process_time()) / steps)
    plain = np.array(found["plain"])
    return {name: float(np.median(np.array(found[name]) / plain)) for name in ("comm", "part")}


# From outside


def started(processes: int, *arguments: object) -> dict[str, Any]:
    """Return what the program prints in so many processes."""
    mpiexec = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or "mpiexec"
    command = [mpiexec, "-n", processes, sys.executable, "-m", "benchmarks.parts", "--program", *arguments]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=True)
    # Between control characters, which some launchers print.
    found: dict[str, Any] = json.loads(re.findall(rb"\{.*\}", done.stdout)[-1])
    return found


def _rows(kind: str, agents: Callable[[int], int], sizes: Sizes) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    first: float | None = None
    for processes in sizes.processes:
        found = started(processes, kind, agents(processes), sizes.steps, sizes.rounds)
        per_agent = 1e9 * found["step"] / found["agents"]
        first = first or per_agent
        rows.append(
            [
                processes,
                1e3 * found["step"],
                per_agent,
                first / per_agent,
                found["exchange"] / found["step"],
                found["bytes"] / found["agents"],
                found["bytes"] / 1e6,
                found["peak"] / found["agents"],
                found["made"],
            ]
        )
    return rows


COLUMNS = (
    "processes", "ms a step", "ns per agent", "speed-up", "share of exchange", "bytes per agent", "MB a step",
    "peak bytes per agent", "s to make it",
)  # fmt: skip


def measured(sizes: Sizes) -> Section:
    tables = [
        Table(f"Strong scaling, {kind}, {count(agents)} agents", COLUMNS, _rows(kind, lambda _, n=agents: n, sizes))  # type: ignore[misc]
        for agents in sizes.agents
        for kind in KINDS
    ]
    for kind in KINDS if sizes.each else ():
        rows = _rows(kind, lambda processes: processes * sizes.each, sizes)
        tables.append(Table(f"Weak scaling, {kind}, {count(sizes.each)} agents a process", COLUMNS, rows))
    alone = started(1, "overhead", sizes.agents[0], sizes.steps, sizes.rounds + 2)
    rows = [["simulate(comm=...)", alone["comm"]], ["one part of one", alone["part"]]]
    caption = (
        f"One process, scale-free network of {count(sizes.agents[0])} agents: processor time as a share of simulate"
    )
    target = Target("one part of one, against simulate", 1.05, alone["part"], at_least=False)
    return Section("One network over several processes", TEXT, [*tables, Table(caption, ("", "ratio"), rows)], [target])


def measure(settings: Settings) -> Section:
    return measured(sizes_of(settings))


def _arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parts", description=__doc__)
    parser.add_argument("--agents", nargs="+", type=int, default=[1_000_000], help="agents of all processes")
    parser.add_argument(
        "--each", type=int, default=1_000_000, help="agents of each process, for weak scaling; 0 to leave it out"
    )
    parser.add_argument("--processes", nargs="+", type=int, default=[1, 2], help="numbers of processes")
    parser.add_argument("--steps", type=int, default=30, help="steps of a round")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the fastest counts")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    return parser.parse_args(given)


def main(given: Sequence[str]) -> None:
    if given[:1] == ["--program"]:
        kind, *numbers = given[1:]
        found = overhead(*map(int, numbers)) if kind == "overhead" else program(kind, *map(int, numbers))
        if found is not None:
            print(json.dumps(found), flush=True)
        return
    from rich.console import Console

    from .report import show

    asked = _arguments(given)
    section = measured(Sizes(tuple(asked.agents), asked.each, tuple(asked.processes), asked.steps, asked.rounds))
    show(section, Console(width=150))
    if asked.json:
        asked.json.write_text(json.dumps(asdict(section), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
