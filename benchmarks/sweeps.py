"""What a sweep costs beyond its units: ``python -m benchmarks.sweeps``."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from peerpressure.sweep import Plan, run_sweep, status
from peerpressure.sweep._ledger import UnitOutcome, open_ledger

from .report import show
from .sections import Cell, Section, Table, Target

TASK = "benchmarks.sweeps:busy"
MANY = 100_000

TEXT = """\
Units that keep a core busy for 100 ms in one worker process and in two; units that do nothing, whose cost is all
overhead (a message, a result file that is on the disk before it is named, a line in the ledger); a plan of 100 000
units made and registered; and the status of a ledger of that size with half of it done. Workers are started before the
clock is. The time of processors is the figure to read where other work keeps the cores busy.
"""


def busy(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    """Use a core for a given time of the process's own clock, whoever else runs on the machine."""
    until = time.process_time() + parameters["seconds"]
    while time.process_time() < until:
        pass
    return {"value": seed}


class Cost(NamedTuple):
    """Seconds per unit: of the clock, from the first results to the last, and of processors."""

    clock: float
    processors: float


def _cost(units: int, seconds: float, workers: int) -> Cost:
    marks: list[tuple[float, int]] = []
    plan = Plan(TASK, base={"seconds": seconds}, axes={"i": list(range(units))})
    before = _processor_seconds()
    with tempfile.TemporaryDirectory() as folder:
        run_sweep(plan, folder, workers=workers, progress=lambda done, _: marks.append((time.perf_counter(), done)))
    # From the first results on, for workers cost the same to start whatever the length of a sweep.
    (begin, first), (end, last) = marks[workers], marks[-1]
    return Cost((end - begin) / (last - first), (_processor_seconds() - before) / units)


def _processor_seconds() -> float:
    """Return what this process and its ended children have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _timed(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def _at_scale() -> tuple[float, float, float]:
    """Return the seconds to plan and register many units, to register them again, and to tell their status."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan = Plan(
            TASK, base={"seconds": 0.0, "text": "x" * 100}, axes={"i": list(range(MANY // 10))}, replications=10
        )
        with open_ledger(folder, create=True) as ledger:
            planning = _timed(lambda: ledger.register(plan))
            ledger.finish([UnitOutcome(unit.key, 0.1, None) for unit in plan.units[: MANY // 2]])
            again = _timed(lambda: ledger.register(plan))
        return planning, again, _timed(lambda: status(folder))


def measure(units: int = 60, small: int = 2000) -> Section:
    """Return the figures."""
    one, two = (_cost(units, 0.1, workers) for workers in (1, 2))
    empty, none = _cost(small, 0.0, 1), _cost(2, 0.0, 1)
    processors = empty.processors - none.processors * 2 / small  # less what it takes to start
    planning, again, told = _at_scale()
    rows: list[list[Cell]] = [
        ["units of 100 ms, one worker: ms per unit", one.clock * 1e3],
        ["units of 100 ms, two workers: ms per unit", two.clock * 1e3],
        ["empty units, one worker: ms per unit", empty.clock * 1e3],
        ["empty units, one worker: ms of processors per unit", processors * 1e3],
        [f"{MANY} units planned and registered: s", planning],
        [f"{MANY} units registered again: s", again],
        [f"status of {MANY} units: s", told],
    ]
    targets = [
        Target("two workers against one, units of 100 ms", 1.7, one.clock / two.clock, "×"),
        Target("overhead per unit of a sweep", 2.0, empty.clock * 1e3, " ms", at_least=False),
        Target("planning 100 000 units", 5.0, planning, " s", at_least=False),
        Target("status of 100 000 units", 1.0, told, " s", at_least=False),
    ]
    return Section("Sweeps", TEXT, [Table("Sweeps", ("what", "measured"), rows)], targets)


if __name__ == "__main__":
    show(measure(), Console())
