"""How far a sweep is: counts, failures and the time left."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, final

from .ledger import Ledger, open_ledger
from .lock import is_held

_MOST_FAILURES = 100


class Failure(NamedTuple):
    """A unit that raised: its key, its parameters as JSON, its replication and the first line of its error."""

    key: str
    parameters: str
    replication: int
    error: str


@final
@dataclass(frozen=True)
class SweepStatus:
    """The number of units in each state, the first of the failures, and an estimate of the time left.

    ``active`` tells whether a process is at work on it now; ``seconds_left`` is None before the first unit is done.
    """

    planned: int
    running: int
    done: int
    failed: int
    failures: tuple[Failure, ...]
    seconds_left: float | None
    active: bool

    @property
    def total(self) -> int:
        """The number of units in the plan."""
        return self.planned + self.running + self.done + self.failed

    @property
    def complete(self) -> bool:
        """Whether every unit is done."""
        return self.done == self.total

    def __str__(self) -> str:
        left = "" if self.seconds_left is None or self.complete else f", about {self.seconds_left:.0f} s left"
        return f"{self.done} of {self.total} done, {self.failed} failed, {self.running} running{left}"


def status(folder: str | os.PathLike[str]) -> SweepStatus:
    """Return how far the sweep in ``folder`` is, whether or not a process is at work on it."""
    where = Path(folder)
    with open_ledger(where) as ledger:
        return read_status(ledger, active=is_held(where))


def read_status(ledger: Ledger, *, active: bool) -> SweepStatus:
    """Return the status that a ledger tells."""
    counts = ledger.counts()
    failures = tuple(
        Failure(key, parameters, replication, first_line(text))
        for key, parameters, replication, text in ledger.failures(_MOST_FAILURES)
    )
    waiting, typical = counts["planned"] + counts["running"], ledger.mean_seconds()
    left = None if typical is None else waiting * typical / ledger.workers()
    return SweepStatus(**counts, failures=failures, seconds_left=left, active=active)


def first_line(report: str) -> str:
    r"""Return the line of a traceback that says what was wrong.

    >>> first_line("Traceback …:\n  File …\n    boom()\nValueError: no such\nluck\n")
    'ValueError: no such'
    """
    lines = [line for line in report.splitlines() if line.strip()]
    after = [i for i, line in enumerate(lines) if line.startswith("  ")]
    return lines[min(after[-1] + 1, len(lines) - 1) if after else 0] if lines else "unknown"
