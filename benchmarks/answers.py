"""What answers as people give them leave of a fit: measurement noise of unknown size, and points of a scale."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from peerpressure import Gaussian, Model, Observation, Trajectory, simulate
from peerpressure.fitting import fit
from peerpressure.networks import barabasi_albert

from .processes import spread
from .sections import Cell, Section, Table, Target, share
from .settings import Settings

RECORDS = 60
# Points of a scale for which coverage has a target.
LIKERT = 5
AGENTS, STEPS = 10, 50
PRESSURE, STD = 0.5, 0.3

TEXT = f"""\
Share of 95 % intervals that contain the truth, ± a standard error, of records of {AGENTS} agents and {STEPS} steps on
BA({AGENTS}, 2), with ρ = {PRESSURE:g}, σ = {STD:g} and hidden opinions that are drawn anew for each record, uniformly
on [0.2, 0.8]; of x₀ all agents count. Noise of an output is about 0.1. Answers with measurement noise r are fitted with
r ignored and with r unknown; answers rounded to multiples of w, and those on a scale from 0 to 1, as if they were
exact, and as numbers with an error of w²/12 or as ordered categories. Pressure and r are medians of the estimates.
"""


class Case(NamedTuple):
    """Measurement noise, rounding or points of a scale, and whether the fit knows of it."""

    noise: float = 0.0
    rounding: float = 0.0
    points: int = 0
    declared: bool = True

    @property
    def name(self) -> str:
        """The case in words."""
        rounded = f"w = {self.rounding:g}" if self.rounding else f"r = {self.noise:g}"
        what = f"{self.points} points" if self.points else rounded
        return what + ("" if self.declared else ", ignored")

    @property
    def observation(self) -> Observation | None:
        """What the fit is told."""
        if not self.declared or not (self.rounding or self.points):
            return None
        return (
            Observation(scale=(0, 1), rounding=1 / (self.points - 1))
            if self.points
            else Observation(rounding=self.rounding)
        )


KINDS: tuple[Mapping[str, Any], ...] = (
    *({"noise": r} for r in (0.02, 0.05, 0.1)),
    {"rounding": 0.2},
    *({"points": points} for points in (5, 7, 11)),
)
CASES = tuple(Case(**kind, declared=declared) for kind in KINDS for declared in (False, True))


def record(case: Case, seed: int) -> tuple[Model, Trajectory]:
    """Return a model with the answers that its agents give."""
    rng = np.random.default_rng([seed, 34])
    network = barabasi_albert(AGENTS, 2, seed=1)
    model = Model(network, rng.uniform(0.2, 0.8, AGENTS), noise=Gaussian(STD), pressure=PRESSURE)
    run = simulate(model, STEPS, seed=seed)
    states = np.asarray(run.states)
    if case.points:
        answers = np.clip(np.rint(states * (case.points - 1)), 0, case.points - 1) / (case.points - 1)
    elif case.rounding:
        answers = case.rounding * np.rint(states / case.rounding)
    else:
        answers = states + case.noise * rng.normal(size=states.shape)
    return model, replace(run, states=answers)


class Outcome(NamedTuple):
    """Estimates of one record, whether their intervals contain the truth, and the time of the fit."""

    values: Mapping[str, float]
    inside: Mapping[str, float]
    seconds: float


def fitted(case: Case, seed: int) -> Outcome:
    """Return what a fit says of one record."""
    unknown = ("std", "pressure") + (("measurement_noise",) if case.noise and case.declared else ())
    truth = {"std": STD, "pressure": PRESSURE, "measurement_noise": case.noise}
    model, run = record(case, seed)
    begin = time.process_time()
    found = fit(run, model, unknown, pieces=(1,), observation=case.observation)
    seconds = time.process_time() - begin
    values = {name: float(p.value.ravel()[0]) for name, p in found.parameters.items()}
    inside = {name: float(p.low.ravel()[0] <= truth[name] <= p.high.ravel()[0]) for name, p in found.parameters.items()}
    inside["x₀"] = float(np.mean((found.hidden.low <= model.x0) & (model.x0 <= found.hidden.high)))
    return Outcome(values, inside, seconds)


def row(case: Case, outcomes: Sequence[Outcome]) -> list[Cell]:
    """Return a row: the case, the median pressure and r, coverage of pressure, σ, r and x₀, and seconds a record."""
    median = {name: float(np.median([one.values[name] for one in outcomes])) for name in outcomes[0].values}
    inside = {name: share([one.inside[name] for one in outcomes]) for name in outcomes[0].inside}
    noise, seconds = "measurement_noise", float(np.mean([one.seconds for one in outcomes]))
    covered = [inside["pressure"], inside["std"], inside.get(noise), inside["x₀"]]
    return [case.name, median["pressure"], median.get(noise), *covered, seconds]


def measure(settings: Settings) -> Section:
    """Return the coverage of fits to answers."""
    quick = settings.quick
    cases, count = (CASES[6:8], 2) if quick else (CASES, settings.records_or(RECORDS))
    columns = ("answers", "pressure", "r", "covers pressure", "σ", "r", "x₀", "s a record")
    outcomes = spread(fitted, [(case, seed) for case in cases for seed in range(count)], settings)
    parts = {case: outcomes[k * count : (k + 1) * count] for k, case in enumerate(cases)}
    rows = [row(case, own) for case, own in parts.items()]
    table = Table(f"Coverage of 95 % intervals of fits to answers, {count} records a row", columns, rows)
    declared = [own for case, own in parts.items() if case.points == LIKERT and case.declared]
    targets = [
        Target(f"coverage of {what}, answers of {LIKERT} points", 0.92, covered)
        for what, name in (("pressure", "pressure"), ("hidden opinions", "x₀"))
        for covered in [float(np.mean([one.inside[name] for one in declared[0]])) if declared else None]
    ]
    return Section("Answers", TEXT, [table], targets)
