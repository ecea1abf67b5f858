"""The variance of mean residuals over graph sizes and noise levels, on scale-free graphs, sampled and exact.

Tables
------
sweep_cells
    edges (added per step: 1 or 2), agents, noise (σ₀), noise_variance, replications, mean_residual_variance (⟨σ²⟩: the
    variance over vertices of the mean residual vector over the replications), exact (its expectation), exact_std (its
    standard deviation for Gaussian noise), residual_variance (the variance over vertices of one residual vector, mean
    over replications), exact_residual_variance. One row for each cell.
sweep_boxes
    edges, by (noise_variance, agents), level, cells, low_whisker, first_quartile, median, third_quartile, high_whisker,
    mean, exact_mean: ⟨σ²⟩ over the cells of one level; whiskers end at the last cell within 1.5 interquartile ranges.
sweep_residuals
    edges, agents (20, 50, 80), noise, noise_variance, agent, mean_residual: the mean residual vectors themselves.
regression
    edges, source (measured, exact, printed), regressor (noise, noise_variance), term (intercept, agents, noise),
    estimate, standard_error, t, p, low, high: ⟨σ²⟩ regressed on |V| and on the regressor, with 95 % intervals. The term
    noise is the regressor's, whichever it is. Printed rows carry the printed numbers and the regressor of their label.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import pandas as pd

from peerpressure.model import Model
from peerpressure.networks import barabasi_albert
from peerpressure.noise import Gaussian
from peerpressure.reproduction import printed
from peerpressure.reproduction.convergence import SEED, agents_drawn
from peerpressure.reproduction.regression import (
    REGRESSORS,
    OlsLaw,
    expected_variance,
    fit,
    ols_law,
    printed_fit,
    variance_over_agents,
)
from peerpressure.sweep import Plan, collect, run_sweep

TASK = "peerpressure.reproduction.sweep:cell"
MEASURED = ("mean_residual_variance", "exact", "exact_std", "residual_variance", "exact_residual_variance")


@final
@dataclass(frozen=True, eq=False)
class SweepResult:
    """A sweep over graph sizes and noise levels; ``rows`` has one row for each agent of each cell."""

    edges: int
    replications: int
    rows: pd.DataFrame

    @property
    def cells(self) -> pd.DataFrame:
        """One row for each cell, in the order of agents and noise."""
        first = self.rows.drop_duplicates(["agents", "noise"]).reset_index(drop=True)
        columns = {name: first[name] for name in ("agents", "noise")}
        extra = {"noise_variance": first["noise"] ** 2, "replications": self.replications}
        measured = {name: first[name] for name in MEASURED}
        return pd.DataFrame({"edges": self.edges, **columns, **extra, **measured})

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return cells, boxes, mean residuals for the densities, and regressions."""
        return {
            "sweep_cells": self.cells,
            "sweep_boxes": self._boxes(),
            "sweep_residuals": self._densities(),
            "regression": self.regression(),
        }

    def regression(self) -> pd.DataFrame:
        """Regress the measured and the exact response on |V| and on σ₀ or σ₀², and add what the paper printed."""
        sources = {"measured": "mean_residual_variance", "exact": "exact"}
        fits = [
            fit(self.cells, response, regressor).assign(source=source, regressor=regressor)
            for source, response in sources.items()
            for regressor in REGRESSORS
        ]
        known = printed_fit(self.edges).assign(source="printed", regressor=printed.PRINTED_REGRESSOR)
        table = pd.concat([*fits, known], ignore_index=True).assign(edges=self.edges)
        front = ["edges", "source", "regressor", "term"]
        return table[front + [name for name in table.columns if name not in front]]

    def _boxes(self) -> pd.DataFrame:
        cells = self.cells
        rows = [
            {"edges": self.edges, "by": by, "level": float(level), **_box(group)}
            for by in ("noise_variance", "agents")
            for level, group in cells.groupby(by)
        ]
        return pd.DataFrame(rows)

    def _densities(self) -> pd.DataFrame:
        some = self.rows[self.rows["agents"].isin(printed.DENSITY_AGENTS)].reset_index(drop=True)
        columns = {name: some[name] for name in ("agents", "noise")}
        rest = {"noise_variance": some["noise"] ** 2, "agent": some["agent"], "mean_residual": some["mean_residual"]}
        return pd.DataFrame({"edges": self.edges, **columns, **rest})


def sweep_ba(
    seed: int = SEED,
    replications: int = printed.SWEEP_REPLICATIONS,
    *,
    edges: int = 2,
    steps: int = printed.STEPS,
    sizes: Sequence[int] = printed.SWEEP_AGENTS,
    noises: Sequence[float] = printed.SWEEP_NOISES,
    folder: Path | None = None,
    workers: int | None = None,
) -> SweepResult:
    """Sweep sizes and noise levels on scale-free graphs with so many ``edges`` added per step.

    Each cell has a graph, stubbornness from U[0.5, 1] and opinions from U[0, 1] of its own. In a ``folder`` the sweep
    is resumable and runs in ``workers`` processes; without one it runs here, and gives the same table.

    >>> sweep_ba(replications=3, sizes=[20], noises=[6.0, 8.0]).cells["agents"].tolist()
    [20, 20]
    """
    base = {"edges": edges, "steps": steps, "replications": replications}
    plan = Plan(TASK, base=base, axes={"agents": list(sizes), "noise": list(noises)}, seed=seed)
    if folder is None:
        rows = pd.DataFrame(list(_here(plan)))
    else:
        run_sweep(plan, folder, workers=workers)
        rows = collect(folder).drop(columns="replication")
    return SweepResult(edges, replications, rows)


def cell(parameters: dict[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    """Return one row for each agent of one cell: its mean residual, and what is measured of them all."""
    law = ols_law(cell_model(parameters, seed), parameters["steps"])
    count = parameters["replications"]
    found = law.residuals(count, seed)
    mean = found.mean(axis=0)
    measured = _measured(law, float(variance_over_agents(mean)), float(variance_over_agents(found).mean()), count)
    for agent, residual in enumerate(mean, start=1):
        yield {"agent": agent, "mean_residual": float(residual), **measured}


def cell_model(parameters: dict[str, Any], seed: int) -> Model:
    """Return the model of a cell.

    One draw of opinions serves all replicates: the regression is linear and unbiased, so that x̂ − x₀ depends on the
    noise alone.
    """
    n = parameters["agents"]
    network = barabasi_albert(n, parameters["edges"], seed=seed)
    return Model(network, *agents_drawn(n, seed), noise=Gaussian(parameters["noise"]))


def _measured(law: OlsLaw, of_mean: float, of_one: float, count: int) -> dict[str, float]:
    expected, spread = expected_variance(law.covariance)
    # The mean of independent residual vectors has their covariance over their number.
    return dict(zip(MEASURED, (of_mean, expected / count, spread / count, of_one, expected), strict=True))


def _here(plan: Plan) -> Iterator[dict[str, Any]]:
    """Compute the units one after another, as a worker would."""
    for unit in plan.units:
        parameters = json.loads(unit.parameters)
        point = {name: parameters[name] for name in plan.axes}
        yield from (point | row for row in cell(parameters, unit.seed))


def _box(cells: pd.DataFrame) -> dict[str, float]:
    values = np.sort(cells["mean_residual_variance"].to_numpy())
    low, middle, high = np.percentile(values, [25, 50, 75])
    reach = 1.5 * (high - low)
    return {
        "cells": values.size,
        "low_whisker": float(min(values[values >= low - reach][0], low)),
        "first_quartile": float(low),
        "median": float(middle),
        "third_quartile": float(high),
        "high_whisker": float(max(values[values <= high + reach][-1], high)),
        "mean": float(values.mean()),
        "exact_mean": float(cells["exact"].mean()),
    }


# Whether the regression's error depends on the graph's size and density: exact, over many graphs, no noise drawn.
#
# Tables
# ------
# size_effect
#     edges (added per step), agents, graphs, variance, standard_error: the expected variance over vertices of one
#     residual vector in units of σ₀², mean over random graphs and stubbornness; the error is that of the draw of
#     graphs.

# Shared out evenly among sizes: a small graph says less of the mean over graphs, and costs as much less.
AGENTS_IN_ALL = 1_500
LEAST_GRAPHS = 2


def size_effect(
    seed: int = SEED,
    agents_in_all: int = AGENTS_IN_ALL,
    *,
    steps: int = printed.STEPS,
    sizes: Sequence[int] = printed.SWEEP_AGENTS,
    families: Sequence[int] = printed.SWEEP_EDGES,
) -> pd.DataFrame:
    """Return the table of both families, with about as many agents at each size.

    >>> size_effect(agents_in_all=60, sizes=[20], families=[1])["graphs"].tolist()
    [3]
    """
    counts = {agents: max(LEAST_GRAPHS, round(agents_in_all / agents)) for agents in sizes}
    return pd.DataFrame([_row(seed, counts[agents], steps, edges, agents) for edges in families for agents in sizes])


def _row(seed: int, graphs: int, steps: int, edges: int, agents: int) -> dict[str, Any]:
    kind = {"edges": edges, "agents": agents}
    # Streams of their own, so that another number of graphs adds to those that were there.
    draws = [int(np.random.SeedSequence([seed, 3, edges, agents, i]).generate_state(1)[0]) for i in range(graphs)]
    found = [expected_variance(ols_law(cell_model(kind | {"noise": 1.0}, s), steps).covariance)[0] for s in draws]
    error = float(np.std(found, ddof=1) / np.sqrt(graphs))
    return kind | {"graphs": graphs, "variance": float(np.mean(found)), "standard_error": error}
