"""One run in a few rows of words and numbers, for the page and for the terminal."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from peerpressure.measures import Experiment
from peerpressure.privacy import Budget
from peerpressure.report.tables import number


def model_rows(experiment: Experiment) -> list[tuple[str, str]]:
    """Return what was run."""
    model, asked = experiment.model, experiment.scenario.run
    s, x = model.s, model.x0
    network = repr(model.network if model.temporal_network is None else model.temporal_network)
    moving = "" if model.adaptation is None else f", adapting by {model.adaptation}"
    flow = [] if experiment.run.equation is None else [("time", experiment.run.equation)]
    return [
        ("network", network.partition("(")[2].removesuffix(")")),
        ("hidden opinions", f"{number(x.min())} to {number(x.max())}, mean {number(x.mean())}{moving}"),
        ("stubbornness", number(s[0]) if np.ptp(s) == 0 else f"{number(s.min())} to {number(s.max())}"),
        ("peer pressure", str(model.pressure)),
        ("noise", str(model.noise)),
        *flow,
        ("run", f"{number(asked.steps)} steps, {number(asked.replicates)} replicates, seed {asked.seed}"),
    ]


def outcome_rows(experiment: Experiment) -> list[tuple[str, str]]:
    """Return where the simulated agents ended, over replicates."""
    final, v = experiment.run.final.public, experiment.model.consensus_value
    values = {
        "mean of agents": final.mean(axis=1),
        "spread (max − min)": np.ptp(final, axis=1),
        "distance of the farthest to v": np.abs(final - v).max(axis=1),
    }
    held = experiment.run.final.hidden
    if held is not None:
        values |= {"mean of what agents hold": held.mean(axis=1), "spread of what they hold": np.ptp(held, axis=1)}
    return [(name, _with_scatter(value)) for name, value in values.items()]


def _with_scatter(values: NDArray[np.float64]) -> str:
    """Return a mean with its standard deviation, both to the second digit of the latter."""
    scatter = float(values.std())
    if not scatter:
        return number(float(values.mean()))
    places = max(0, 1 - math.floor(math.log10(scatter)))
    return f"{values.mean():.{places}f} ± {scatter:.{places}f}".replace("-", "\N{MINUS SIGN}")


def observer_rows(experiment: Experiment) -> list[tuple[str, str, str, str]]:
    """Return, for each method, who is identified, the error that it claims and the error that it makes."""
    if experiment.scenario.observe is None:
        return []
    rows = []
    for method, estimate in experiment.estimates.items():
        known = estimate.identified
        claimed = np.sqrt(estimate.variance[known].mean()) if known.any() else np.nan
        made = np.sqrt((estimate.residuals(experiment.truth)[:, known] ** 2).mean()) if known.any() else np.nan
        rows.append((method, f"{int(known.sum()):,} of {known.size:,}", number(float(claimed)), number(float(made))))
    return rows


def privacy_rows(experiment: Experiment) -> list[tuple[str, str]]:
    """Return how exposed agents are, the ε of one run and of all that is recorded, and what these assume."""
    if experiment.scenario.privacy is None:
        return []
    told, one, recorded = experiment.exposure.table, experiment.budget, experiment.recorded_budget
    return [
        ("learned on average", f"{number(float(told['bits'].mean()))} bits from one run"),
        ("about the most exposed", f"{number(float(told['bits'].max()))} bits, agent {told['bits'].idxmax()}"),
        ("ε of one run, y₀ unseen", _epsilon(one)),
        ("ε of what is recorded", recorded_epsilon(recorded)),
        ("assumed", " ".join([*one.assumptions, "The results folder also holds the hidden opinions themselves."])),
    ]


def _epsilon(told: Budget) -> str:
    value = "unknown" if math.isnan(told.epsilon) else number(told.epsilon)
    return f"{value} at δ = {told.delta:g} and Δ = {told.sensitivity:g}"


def recorded_epsilon(told: Budget) -> str:
    """Return the ε of a record, with how much of the mechanism is in it."""
    runs = f"{told.runs:,} run{'s' * (told.runs != 1)}"
    return f"{_epsilon(told)}, {runs} {'with y₀' if told.sees_start else 'from step 1 on'}"
