"""What a sweep costs beyond its units: ``python -m benchmarks.sweeps``."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from peerpressure.sweep import Plan, run_sweep, status
from peerpressure.sweep.ledger import Outcome, open_ledger

from .report import show
from .sections import Section, Table, Target

TASK = "benchmarks.sweeps:busy"
MANY = 100_000

TEXT = """\
Units that keep a core busy for 100 ms in one worker process and in two; units that do nothing, whose cost is all
overhead (a message, a result file that is on the disk before it is named, a line in the ledger); a plan of 100 000
units made and registered; and the status of a ledger of that size with half of it done. Workers are started before the
clock is.
"""


def busy(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    """Use a core for a given time of the process's own clock, whoever else runs on the machine."""
    until = time.process_time() + parameters["seconds"]
    while time.process_time() < until:
        pass
    return {"value": seed}


def _per_unit(units: int, seconds: float, workers: int) -> float:
    """Return seconds per unit from the first result to the last."""
    marks: list[tuple[float, int]] = []
    plan = Plan(TASK, base={"seconds": seconds}, axes={"i": list(range(units))})
    with tempfile.TemporaryDirectory() as folder:
        run_sweep(plan, folder, workers=workers, progress=lambda done, _: marks.append((time.perf_counter(), done)))
    # The first results of all workers: later than their start, which costs the same whatever the length of a sweep.
    (begin, first), (end, last) = marks[workers - 1], marks[-1]
    return (end - begin) / (last - first)


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
            ledger.finish([Outcome(unit.key, 0.1, None) for unit in plan.units[: MANY // 2]])
            again = _timed(lambda: ledger.register(plan))
        return planning, again, _timed(lambda: status(folder))


def measure(units: int = 60, small: int = 2000) -> Section:
    """Return the figures."""
    one, two = (_per_unit(units, 0.1, workers) for workers in (1, 2))
    overhead = _per_unit(small, 0.0, 1)
    planning, again, told = _at_scale()
    rows = [
        ["units of 100 ms, one worker: ms per unit", one * 1e3],
        ["units of 100 ms, two workers: ms per unit", two * 1e3],
        ["empty units, one worker: ms per unit", overhead * 1e3],
        [f"{MANY} units planned and registered: s", planning],
        [f"{MANY} units registered again: s", again],
        [f"status of {MANY} units: s", told],
    ]
    targets = [
        Target("two workers against one, units of 100 ms", 1.7, one / two, "×"),
        Target("overhead per unit of a sweep", 2.0, overhead * 1e3, " ms", at_least=False),
        Target("planning 100 000 units", 5.0, planning, " s", at_least=False),
        Target("status of 100 000 units", 1.0, told, " s", at_least=False),
    ]
    return Section("Sweeps", TEXT, [Table("Sweeps", ("what", "measured"), rows)], targets)


if __name__ == "__main__":
    show(measure(), Console())
