"""How the cost of a step grows with the size of the network."""

from __future__ import annotations

from .clock import costs, ratio, typical
from .machine import cores
from .sections import Cell, Section, Table, Target, count
from .settings import Settings
from .speed import our_job

TEXT = """\
One replicate. With one thread the growth is that of the memory's latency alone. From 8,192 agents on threads share
them, and meet at the end of every step.
"""


def measure(settings: Settings) -> Section:
    sizes, every = settings.scaling_sizes, cores()
    jobs = {f"{n} {used}": our_job(settings, n, 1, threads=used) for n in sizes for used in sorted({1, every})}
    measured = costs(jobs, settings.rounds_for(sizes[-1]))
    smallest = sizes[0]

    def figures(n: int, used: int) -> list[float]:
        cost = measured[f"{n} {used}"]
        return [typical(cost), ratio(cost, measured[f"{smallest} {used}"])]

    rows: list[list[Cell]] = [[count(n), *figures(n, 1), *figures(n, every)] for n in sizes]
    columns = ("agents", "one thread", "growth", f"{every} threads", "growth")
    growth = figures(sizes[-1], 1)[1] if sizes[-1] == 10**7 else None
    target = Target("growth of cost, 10⁴ to 10⁷, one thread", 3.5, growth, "×", at_least=False)
    return Section("Scaling", TEXT, [Table("Nanoseconds per agent-step", columns, rows)], [target])
