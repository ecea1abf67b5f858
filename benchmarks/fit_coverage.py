"""How often confidence intervals of fitted parameters, and of hidden opinions with them, contain the truth."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peerpressure import AR1, Gaussian, Linear, Model, Power, simulate
from peerpressure.fitting import fit
from peerpressure.networks import barabasi_albert
from peerpressure.recovery import answers_of

from .processes import spread
from .sections import Cell, Section, Table, Target, share
from .settings import Settings

Array = NDArray[np.float64]
REPLICATES = 400
# Runs that one process fits at a time.
PART = 25
STD = 0.7
SLOPE = 0.4
HIDDEN: Mapping[str, Any] = {"start": "hidden"}

TEXT = f"""\
Share of 95 % intervals that contain the truth, ± a standard error over simulated runs, on BA(n, 2) networks with s
uniform on [0.5, 1], standard normal hidden opinions and σ = {STD:g}; ρ_t = {SLOPE:g} t, and {SLOPE:g} t^0.7 where the
exponent is unknown. *Open* is the share of runs in which the interval of some parameter has no end on a side. Of
parameters that agents have for themselves, and of x₀, all agents count.
"""


class Case(NamedTuple):
    """Unknowns, agents, steps, and parts of the model that differ from the usual."""

    unknown: tuple[str, ...]
    agents: int
    steps: int
    parts: Mapping[str, Any] = {}


CASES = (
    Case(("std",), 6, 5),
    Case(("std",), 6, 10),
    Case(("agent_std",), 6, 10),
    Case(("slope",), 6, 10),
    Case(("stubbornness",), 6, 20),
    Case(("std", "slope"), 6, 10),
    Case(("std", "slope"), 6, 40),
    Case(("std", "slope"), 6, 120),
    Case(("std", "slope"), 6, 40, HIDDEN),
    Case(("std", "slope"), 30, 10),
    Case(("std", "exponent"), 6, 40, {"pressure": Power(0.7, SLOPE)}),
    Case(("std", "adaptation"), 6, 40, {"adaptation": 0.05}),
    Case(("std", "autocorrelation"), 6, 40, {"noise": Gaussian(STD, temporal=AR1(0.5))}),
    Case(("std", "stubbornness"), 6, 40),
    # Every fit again from a hidden start, of which the first outputs are conditioned on.
    Case(("std",), 6, 10, HIDDEN),
    Case(("agent_std",), 6, 10, HIDDEN),
    Case(("slope",), 6, 10, HIDDEN),
    Case(("stubbornness",), 6, 20, HIDDEN),
    Case(("std", "exponent"), 6, 40, {"pressure": Power(0.7, SLOPE), **HIDDEN}),
    Case(("std", "adaptation"), 6, 40, {"adaptation": 0.05, **HIDDEN}),
    Case(("std", "adaptation"), 10, 40, {"adaptation": 0.05, **HIDDEN}),
    Case(("std", "autocorrelation"), 6, 40, {"noise": Gaussian(STD, temporal=AR1(0.5)), **HIDDEN}),
    Case(("std", "stubbornness"), 6, 40, HIDDEN),
)


def model_of(case: Case) -> Model:
    """Return the model of a case."""
    rng = np.random.default_rng(5)
    parts: dict[str, Any] = {
        "pressure": Linear(SLOPE),
        "noise": Gaussian(STD),
        "start": np.linspace(-1, 1, case.agents),
    }
    network = barabasi_albert(case.agents, 2, seed=3)
    hidden, stubbornness = rng.normal(size=case.agents), rng.uniform(0.5, 1, case.agents)
    return Model(network, hidden, stubbornness=stubbornness, **(parts | dict(case.parts)))


def truth(model: Model, name: str) -> Any:
    """Return the value of a parameter in the model."""
    values = {"std": STD, "agent_std": STD, "stubbornness": model.s, "autocorrelation": model.noise.autocorrelation}
    if name == "adaptation":
        assert model.adaptation is not None
        return float(model.adaptation.pace(1))
    return values[name] if name in values else getattr(model.pressure, name)


class Outcome(NamedTuple):
    """Shares of intervals that contain the truth, for each parameter and run, (k, R), and for x₀, (R,).

    Besides, which runs leave some interval open, (R,), and seconds.
    """

    shares: Array
    hidden: Array
    open: Array
    seconds: float


def fitted(place: int, first: int, last: int) -> Outcome:
    """Return what the fits of some replicates of a case say."""
    case = CASES[place]
    model = model_of(case)
    data = answers_of(simulate(model, case.steps, range(first, last), seed=1), model)
    begin = time.process_time()
    found = fit(data, model, case.unknown)
    taken = time.process_time() - begin
    shares = [
        by_run((p.low <= truth(model, name)) & (truth(model, name) <= p.high)) for name, p in found.parameters.items()
    ]
    hidden = by_run((found.hidden.low <= model.x0) & (model.x0 <= found.hidden.high))
    return Outcome(np.array(shares), hidden, by_run(~found.identifiable), taken)


def by_run(inside: NDArray[np.bool_]) -> Array:
    """Return the share of each run, the first axis, of what holds."""
    return np.asarray(inside.reshape(len(inside), -1).mean(axis=1))


def row(case: Case, outcomes: Sequence[Outcome], replicates: int) -> list[Cell]:
    """Return a row: the case, coverage of each unknown and of x₀, the share of open intervals, and milliseconds."""
    shares = [share(values.tolist()) for values in np.concatenate([one.shares for one in outcomes], axis=1)]
    what = " and ".join(case.unknown) + (", hidden start" if "start" in case.parts else "")
    setting: list[Cell] = [what, case.agents, case.steps]
    taken = 1000 * sum(one.seconds for one in outcomes) / replicates
    hidden, unbounded = (np.concatenate(parts) for parts in zip(*((o.hidden, o.open) for o in outcomes), strict=True))
    rest: list[Cell] = [share(hidden.tolist()), float(unbounded.mean()), taken]
    return [*setting, shares[0], shares[1] if len(shares) > 1 else None, *rest]


def measure(settings: Settings) -> Section:
    """Return the coverage of intervals of fits."""
    cases, replicates = (CASES[:3], 2 * PART) if settings.quick else (CASES, settings.records_or(REPLICATES))
    firsts = range(0, replicates, PART)
    parts = [(k, first, min(first + PART, replicates)) for k in range(len(cases)) for first in firsts]
    outcomes, size = spread(fitted, parts, settings), len(firsts)
    rows = [row(case, outcomes[k * size : (k + 1) * size], replicates) for k, case in enumerate(cases)]
    columns = ("unknown", "n", "T", "first", "second", "x₀", "open", "ms a run")
    table = Table(f"Coverage of 95 % intervals of fit, {replicates} runs a row", columns, rows)
    least = least_coverage(cases, outcomes)
    return Section(
        "Coverage of fits", TEXT, [table], [Target("least coverage of a fit from a hidden start", 0.92, least)]
    )


def least_coverage(cases: Sequence[Case], outcomes: Sequence[Outcome]) -> float | None:
    """Return the least coverage of a parameter, or of x₀, in fits from a hidden start."""
    size = len(outcomes) // len(cases)
    shares = [
        np.concatenate([np.vstack([one.shares, one.hidden]) for one in outcomes[k * size : (k + 1) * size]], axis=1)
        for k, case in enumerate(cases)
        if "start" in case.parts
    ]
    return min((float(each.mean(axis=1).min()) for each in shares), default=None)
