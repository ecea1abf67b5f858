"""How long an observer of half of the agents takes, and one of continuous time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from peerpressure import SDE, simulate
from peerpressure.privacy import exposure
from peerpressure.recovery import METHODS, Observation, answers_of

from .clock import seconds
from .sections import Cell, Section, Table, Target
from .settings import Settings
from .workload import workload

SIZES, STEPS = (300, 1_000, 2_000), 100
GRID, GRID_STEPS = 100, 400

TEXT = f"""\
Wall time of `recover(run, model, "kalman")` from {STEPS} steps of every other agent, by a filter up to 300 agents and
by elimination of unobserved states beyond; and of `exposure` to an observer of all agents in continuous time, whose
exact steps are made on the way.
"""


def filtered(agents: int, steps: int) -> float:
    """Return the seconds of an estimate from every other agent."""
    model = workload(agents).model
    data = answers_of(simulate(model, steps, seed=1), model, Observation(agents=range(0, agents, 2)))
    return seconds(lambda _: METHODS["kalman"].estimate(model, data, None), 0)


def exposed(agents: int, steps: int) -> float:
    """Return the seconds of exposure in continuous time."""
    sde = SDE(replace(workload(agents).model, start=np.zeros(agents)))
    return seconds(lambda _: exposure(sde, steps), 0)


def measure(settings: Settings) -> Section:
    """Return the times by size, and what they should be."""
    quick = settings.quick
    rows: list[list[Cell]] = []
    last = 0.0
    for agents, steps in ((400, 5),) if quick else tuple((agents, STEPS) for agents in SIZES):
        last = filtered(agents, steps)
        rows.append([f"Kalman, half of {agents:,} agents, {steps} steps", last])
    agents, steps = (20, 10) if quick else (GRID, GRID_STEPS)
    grid = exposed(agents, steps)
    rows.append([f"exposure in continuous time, {agents} agents, {steps} steps", grid])
    largest = f"half of {SIZES[-1]:,} agents, {STEPS} steps"
    targets = [
        Target(f"Kalman, {largest}", 60.0, None if quick else last, " s", at_least=False),
        Target(f"exposure, {GRID} agents, {GRID_STEPS} steps", 5.0, None if quick else grid, " s", at_least=False),
    ]
    return Section("Partial observers and continuous time", TEXT, [Table("Seconds", ("", "s"), rows)], targets)
