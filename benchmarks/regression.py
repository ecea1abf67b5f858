"""How long the paper's regression of a large network takes, and the error variance of single agents after it."""

from __future__ import annotations

from peerpressure import simulate
from peerpressure.recovery import METHODS, Estimate, answers_of

from .clock import seconds
from .sections import Cell, Section, Table, Target
from .settings import Settings
from .workload import workload

SIZES, STEPS, AGENTS = (10_000, 100_000, 200_000), 100, 5

TEXT = f"""\
Wall time of `recover(run, model, "ols")` from {STEPS} complete steps, by conjugate gradients, and of
`Estimate.variance_of` for {AGENTS} agents, each of which takes one solution of the same system. *Each* is the time of
one agent over that of the regression.
"""


def times(agents: int, steps: int) -> tuple[float, float]:
    """Return the seconds of the regression, and of the variances after it."""
    model = workload(agents).model
    data = answers_of(simulate(model, steps, seed=1), model)
    found: list[Estimate] = []
    solving = seconds(lambda _: found.append(METHODS["ols"].estimate(model, data, None)), 0)
    return solving, seconds(lambda _: found[0].variance_of(range(AGENTS)), 0)


def measure(settings: Settings) -> Section:
    """Return the times by size, and what they should be."""
    quick = settings.quick
    sizes = ((5_000, 20),) if quick else tuple((agents, STEPS) for agents in SIZES)
    rows: list[list[Cell]] = []
    for agents, steps in sizes:
        solving, judging = times(agents, steps)
        each = judging / AGENTS / solving
        rows.append([f"{agents:,} agents, {steps} steps", solving, judging, each])
    largest = f"{SIZES[-1]:,} agents, {STEPS} steps"
    targets = [
        Target(f"regression of {largest}", 60.0, None if quick else solving, " s", at_least=False),
        Target(f"variance of one of {largest}, over the regression", 3.0, None if quick else each, "×", at_least=False),
    ]
    columns = ("", "regression, s", f"variance of {AGENTS}, s", "each")
    return Section("Regression of large networks", TEXT, [Table("Seconds", columns, rows)], targets)
