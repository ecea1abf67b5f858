"""What answers as people give them leave of a fit: measurement noise of unknown size, and points of a scale."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from peerpressure import Gaussian, Model, Observation, Trajectory, simulate
from peerpressure.networks import barabasi_albert
from peerpressure.recovery import fit

from .sections import Cell, Section, Table
from .settings import QUICK, Settings

RECORDS = 100
AGENTS, STEPS = 10, 50
PRESSURE, STD = 0.5, 0.3

TEXT = f"""\
Share of 95 % intervals that contain the truth, over {RECORDS} records of {AGENTS} agents and {STEPS} steps on
BA({AGENTS}, 2), with ρ = {PRESSURE:g}, σ = {STD:g} and hidden opinions that are drawn anew for each record, uniformly
on [0.2, 0.8]; of x₀ all agents count. Noise of an output is about 0.1. Answers with measurement noise r are fitted with
r ignored and with r unknown; answers on a scale from 0 to 1 as if they were exact, and as ordered categories. Pressure
and r are medians of the estimates.
"""


class Case(NamedTuple):
    """Measurement noise or points of a scale, and whether the fit knows of it."""

    noise: float = 0.0
    points: int = 0
    declared: bool = True

    @property
    def name(self) -> str:
        """The case in words."""
        what = f"{self.points} points" if self.points else f"r = {self.noise:g}"
        return what + ("" if self.declared else ", ignored")


CASES = tuple(Case(noise=r, declared=declared) for r in (0.02, 0.05, 0.1) for declared in (False, True)) + tuple(
    Case(points=points, declared=declared) for points in (5, 7, 11) for declared in (False, True)
)


def records(case: Case, count: int) -> Iterator[tuple[Model, Trajectory]]:
    """Yield models with the answers that their agents give."""
    network = barabasi_albert(AGENTS, 2, seed=1)
    for seed in range(count):
        rng = np.random.default_rng([seed, 34])
        model = Model(network, rng.uniform(0.2, 0.8, AGENTS), noise=Gaussian(STD), pressure=PRESSURE)
        run = simulate(model, STEPS, seed=seed)
        states = np.asarray(run.states)
        if case.points:
            answers = np.clip(np.rint(states * (case.points - 1)), 0, case.points - 1) / (case.points - 1)
        else:
            answers = states + case.noise * rng.normal(size=states.shape)
        yield model, replace(run, states=answers)


def covered(case: Case, count: int) -> list[Cell]:
    """Return a row: the case, the median pressure and r, coverage of pressure, σ, r and x₀, and seconds a record."""
    unknown = ("std", "pressure") + (("measurement_noise",) if case.noise and case.declared else ())
    look = Observation(scale=(0, 1), rounding=1 / (case.points - 1)) if case.points and case.declared else None
    truth = {"std": STD, "pressure": PRESSURE, "measurement_noise": case.noise}
    values: dict[str, list[float]] = {name: [] for name in unknown}
    inside: dict[str, list[Any]] = {name: [] for name in (*unknown, "x₀")}
    begin = time.process_time()
    for model, run in records(case, count):
        found = fit(run, model, unknown, pieces=(1,), observation=look)
        for name, p in found.parameters.items():
            values[name].append(float(p.value.ravel()[0]))
            inside[name].append(p.low.ravel()[0] <= truth[name] <= p.high.ravel()[0])
        inside["x₀"].append((found.hidden.low <= model.x0) & (model.x0 <= found.hidden.high))
    taken = (time.process_time() - begin) / count
    share = {name: float(np.mean(of)) for name, of in inside.items()}
    noise = float(np.median(values["measurement_noise"])) if "measurement_noise" in values else None
    row: list[Cell] = [case.name, float(np.median(values["pressure"])), noise]
    return [*row, share["pressure"], share["std"], share.get("measurement_noise"), share["x₀"], taken]


def measure(settings: Settings) -> Section:
    """Return the coverage of fits to answers."""
    quick = settings is QUICK
    cases, count = (CASES[-6:-4], 2) if quick else (CASES, RECORDS)
    columns = ("answers", "pressure", "r", "covers pressure", "σ", "r", "x₀", "s a record")
    table = Table("Coverage of 95 % intervals of fits to answers", columns, [covered(case, count) for case in cases])
    return Section("Answers", TEXT, [table])
