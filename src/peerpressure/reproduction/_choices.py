"""What the paper does not state: what was chosen instead, how much depends on it, and how typical the seed is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np
import pandas as pd

from peerpressure.model import Model
from peerpressure.networks import barabasi_albert
from peerpressure.noise import Gaussian, NoNoise
from peerpressure.recovery import information
from peerpressure.reproduction import printed
from peerpressure.reproduction._beyond import observed_models
from peerpressure.reproduction._convergence import LEVELS
from peerpressure.reproduction._regression import expected_variance, regression_covariances
from peerpressure.reproduction._sweep import least_squares
from peerpressure.reproduction.design import AGENTS, NOISE, SEED, agents_drawn
from peerpressure.schedules import Linear, StretchedExponential
from peerpressure.simulation import simulate
from peerpressure.theory.propagation import consensus_mode, moments

# Sizes and graphs of each over which a residual variance is averaged; the same draws serve every choice.
SIZES = (20, 50, 80)
AGENTS_PER_SIZE = 300
OTHER_NOISE = 1.0
OTHER_STEPS = 200
LATE_STEP = 1_000  # steps after which distances to v are compared
SEEDS = 200
# Steps after which nothing changes any more in the expected failures: ρ_t = 2^√t is then 163,000.
FAILED = 300


@final
@dataclass(frozen=True)
class OpenQuestion:
    """One question that the paper leaves open, the choice made here, and a measure of what depends on it."""

    question: str
    where: str
    chosen: str
    why: str
    alternative: str
    measure: str
    value: float
    alternative_value: float

    def row(self) -> dict[str, Any]:
        """Return the choice as a row of the table."""
        return dict(vars(self))


@final
@dataclass(frozen=True)
class Recipe:
    """How the graphs and agents of a regression are drawn."""

    edges: int = 2
    initial: str = "star"
    stubborn: bool = False  # s = 1 for all instead of U[0.5, 1]
    steps: int = printed.STEPS

    def model(self, agents: int, seed: int) -> Model:
        """Return a model with unit noise."""
        hidden, s = agents_drawn(agents, seed)
        network = barabasi_albert(agents, self.edges, initial=self.initial, seed=seed)
        return Model(network, hidden, np.ones(agents) if self.stubborn else s, noise=Gaussian(1.0))


def choices(seed: int = SEED) -> pd.DataFrame:
    """Return what the paper does not state, with the choice made here and its effect as a number.

    Tables
    ------
    choices
        question, where, chosen, why, alternative, measure, value (of the measure under the choice), alternative_value.
    """
    rows = [*_convergence_choices(seed), *_regression_choices(seed), *_observer_choices(seed)]
    return pd.DataFrame([choice.row() for choice in rows])


def _convergence_choices(seed: int) -> Iterator[OpenQuestion]:
    near, far, least, smallest, largest = _distances(
        seed, (NOISE, OTHER_NOISE, LEVELS[0], printed.SWEEP_NOISES[0], LEVELS[-1])
    )
    yield OpenQuestion(
        "σ₀ in Figs. 1–3",
        "Sec. II",
        f"{NOISE:g}",
        "about the standard deviation of the opinions, which keeps the first steps visible",
        f"{OTHER_NOISE:g}",
        f"weighted RMS distance to v at t = {LATE_STEP:,}",
        near,
        far,
    )
    swings = [expected_failure(seed, edges=edges)["oscillation"] for edges in (1, 2)]
    yield OpenQuestion(
        "edges per round of the graph of Fig. 1",
        "Sec. II",
        "1",
        "only a tree oscillates as Fig. 3 shows; Sec. IV calls one edge per round usual",
        "2",
        "expected change of agent 1 per step under 2^√t",
        *swings,
    )
    yield OpenQuestion(
        "noise levels of Fig. 8",
        "Sec. IV",
        f"{LEVELS[0]:g} to {LEVELS[-1]:g}",
        "from hardly any noise to the largest of the sweep",
        f"{printed.SWEEP_NOISES[0]:g} to {LEVELS[-1]:g}",
        f"RMS distance to v at t = {LATE_STEP:,}, largest over smallest noise",
        largest / least,
        largest / smallest,
    )


def _distances(seed: int, levels: Sequence[float]) -> list[float]:
    """Return the weighted RMS distance to v at a late time for each noise level."""
    model = Model(barabasi_albert(AGENTS, 2, seed=seed), *agents_drawn(AGENTS, seed), Linear(), Gaussian(1.0))
    law = moments(model, LATE_STEP, times=[LATE_STEP])
    mode = consensus_mode(model)
    # Covariances are proportional to σ₀², so one law serves all levels.
    bias, noise = float(mode((law.mean[0] - model.consensus_value) ** 2)), float(mode(law.variance[0]))
    return [float(np.sqrt(bias + level**2 * noise)) for level in levels]


def _regression_choices(seed: int) -> Iterator[OpenQuestion]:
    base = {edges: residual_variance(Recipe(edges), seed) for edges in printed.SWEEP_EDGES}
    # The standard deviation of a mean residual of a hundred replications.
    deviation = {edges: float(np.sqrt(value / printed.REPLICATIONS)) for edges, value in base.items()}
    ones = {edges: residual_variance(Recipe(edges, stubborn=True), seed) for edges in printed.SWEEP_EDGES}
    measure = "standard deviation of a mean residual"
    yield OpenQuestion(
        "σ₀ in Fig. 5", "Sec. IV", "1", "as for two agents", "2", measure, deviation[2], 2 * deviation[2]
    )
    why = "the sweep below it has two; Fig. 1 may have one"
    yield OpenQuestion("edges per round in Fig. 5", "Sec. IV", "2", why, "1", measure, deviation[2], deviation[1])
    why, other = "as in Sec. II", "1 for all"
    root = float(np.sqrt(ones[2] / printed.REPLICATIONS))
    yield OpenQuestion("s in Fig. 5", "Sec. IV", "U[0.5, 1]", why, other, measure, deviation[2], root)
    for edges in printed.SWEEP_EDGES:
        name = f"BA{edges}"
        values = base[edges], ones[edges]
        where, drawn = ("Sec. IV" if edges == 2 else "App. A"), "U[0.5, 1]"
        yield OpenQuestion(f"s in the sweep, {name}", where, drawn, why, other, "residual variance over σ₀²", *values)
        printed_slope = f"slope on σ₀; printed {printed.PARAMETER_TABLES[edges]['noise'][0]}"
        yield OpenQuestion(f"s in the sweep, {name}", where, drawn, why, other, printed_slope, *map(slope, values))
    longer = residual_variance(Recipe(2, steps=OTHER_STEPS), seed)
    why, measure = "as for two agents", "residual variance over σ₀², BA2"
    yield OpenQuestion("T in the sweep", "Sec. IV", f"{printed.STEPS}", why, f"{OTHER_STEPS}", measure, base[2], longer)
    yield _graphs_choice(seed)
    for edges in printed.SWEEP_EDGES:
        triangle = residual_variance(Recipe(edges, "triangle"), seed)
        why, measure = "the start of networkx; Mathematica has a triangle", f"residual variance over σ₀², BA{edges}"
        yield OpenQuestion(
            "first graph of the growth", "Secs. II, IV", "star", why, "triangle", measure, base[edges], triangle
        )


def _graphs_choice(seed: int) -> OpenQuestion:
    """Compare the standard deviation over draws of the exact slope with a graph per cell and with one per size."""
    errors = []
    spread = _spread_of_variances(seed)
    for per_size in (1, len(printed.SWEEP_NOISES)):
        # The slope is the mean of ``per_size`` times eight independent graphs, up to small weights.
        errors.append(slope(spread) / float(np.sqrt(per_size * len(printed.SWEEP_AGENTS))))
    return OpenQuestion(
        "graphs of the sweep",
        "Sec. IV",
        "one per cell",
        "cells are then independent, as the printed standard errors assume",
        "one per size",
        "standard deviation of the expected slope on σ₀ over draws of graphs, BA2",
        errors[1],
        errors[0],
    )


def _spread_of_variances(seed: int) -> float:
    deviations = np.array([_variances(Recipe(), agents, seed).std(ddof=1) for agents in SIZES])
    return float(np.sqrt(np.mean(deviations**2)))


def residual_variance(recipe: Recipe, seed: int, sizes: Sequence[int] = SIZES) -> float:
    """Return the exact variance over agents of one residual vector in units of σ₀², mean over graphs and sizes."""
    return float(np.mean([_variances(recipe, agents, seed).mean() for agents in sizes]))


@lru_cache(maxsize=16)
def _variances(recipe: Recipe, agents: int, seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    # 5 is this use of the root seed; the others are listed in ``design``. Paired: every recipe has the same draws.
    seeds = [
        int(np.random.SeedSequence([seed, 5, agents, k]).generate_state(1)[0])
        for k in range(max(2, AGENTS_PER_SIZE // agents))
    ]
    models = [recipe.model(agents, own) for own in seeds]
    return np.array([expected_variance(c)[0] for c in regression_covariances(models, recipe.steps)])


def slope(variance: float) -> float:
    """Return the slope on σ₀ that a residual variance, in units of σ₀², gives in the printed design.

    >>> round(slope(0.286), 3)
    0.222
    """
    noises = np.array(printed.SWEEP_NOISES)
    cells = pd.DataFrame({"agents": np.resize([1.0, 2.0], noises.size), "noise": noises})
    response = cells.assign(response=variance * noises**2 / printed.SWEEP_REPLICATIONS)
    return float(least_squares(response, "response", "noise").coefficients[2])


def _observer_choices(seed: int) -> Iterator[OpenQuestion]:
    pair = observed_models(seed)["two_agents"]
    unseen = float(information(pair, printed.STEPS).bound[0])
    yield OpenQuestion(
        "whether y₀ = x₀ is observed",
        "Sec. III",
        "no",
        "the printed vector y starts with y₁",
        "yes",
        f"variance of the best estimate over σ₀², two agents, T = {printed.STEPS}",
        unseen,
        0.0,
    )


def typical_failures(seed: int = SEED, seeds: int = SEEDS) -> pd.DataFrame:
    """Return the size of the failures under ρ_t = 2^√t for many seeds, to see how typical one is.

    Tables
    ------
    typical_failures
        seed, chosen (whether it is the seed of the report), bias, oscillation: distance to v of the expected consensus
        with two edges per round, and the expected change of agent 1 per step on a tree.
    """
    rows = []
    for own in sorted({seed, *range(seeds)}):
        bias, swing = expected_failure(own, edges=2)["bias"], expected_failure(own, edges=1)["oscillation"]
        rows.append({"seed": own, "chosen": own == seed, "bias": bias, "oscillation": swing})
    return pd.DataFrame(rows)


def expected_failure(seed: int, *, edges: int) -> dict[str, float]:
    """Return the distance of the expected mean opinion to v, and the expected last change of agent 1."""
    network = barabasi_albert(AGENTS, edges, seed=seed)
    model = Model(network, *agents_drawn(AGENTS, seed), StretchedExponential(), NoNoise())
    states = simulate(model, FAILED).states
    assert states is not None, "states are recorded by default"
    last, before = states[0, -1], states[0, -2]
    return {"bias": float(abs(last.mean() - model.consensus_value)), "oscillation": float(abs(last[0] - before[0]))}
