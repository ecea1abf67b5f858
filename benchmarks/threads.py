"""What a second core brings."""

from __future__ import annotations

from .clock import costs, ratio, typical
from .machine import cores
from .sections import Cell, Section, Table, count
from .settings import Settings
from .speed import our_job

TEXT = """\
Replicates are shared among threads in blocks of 16; a network in one replicate has its agents shared, and threads
meet at the end of every step, where a few steps have shown that to be faster. Between the cores of a virtual machine
that may change from minute to minute, which shows at 10⁴×1 in this report.
"""


def _row(settings: Settings, agents: int, replicates: int, threads: int) -> list[Cell]:
    jobs = {used: our_job(settings, agents, replicates, threads=int(used)) for used in ("1", str(threads))}
    measured = costs(jobs, settings.rounds_for(agents * replicates))
    one, more = measured["1"], measured[str(threads)]
    return [f"{count(agents)}×{replicates}", typical(one), typical(more), ratio(one, more)]


def measure(settings: Settings) -> Section:
    threads = min(2, cores())
    large = settings.large
    rows = [_row(settings, n, R, threads) for n, R in ((10_000, 1), (10_000, 32), (large, 1), (large, 32))]
    columns = ("", "one thread", f"{threads} threads", "speed-up")
    return Section("Threads", TEXT, [Table("Nanoseconds per agent-step", columns, rows)])
