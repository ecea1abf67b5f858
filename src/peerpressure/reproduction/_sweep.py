"""The variance of mean residuals over graph sizes and noise levels, and the linear model that the paper fits to it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
import pandas as pd
from scipy import special

from peerpressure.model import Model
from peerpressure.model.step import Array
from peerpressure.networks import barabasi_albert
from peerpressure.noise import Gaussian
from peerpressure.reproduction import printed
from peerpressure.reproduction._regression import (
    BATCH_NUMBERS,
    OlsLaw,
    expected_variance,
    ols_law,
    regression_covariances,
    variance_over_agents,
)
from peerpressure.reproduction.design import NORMAL_95, SEED, agents_drawn
from peerpressure.reproduction.printed import TERMS, PrintedTerm
from peerpressure.sweep import Plan, collect, run_sweep

# An import path rather than a function, because the processes of a sweep look it up by name.
TASK = "peerpressure.reproduction._sweep:cell"
MEASURED = ("mean_residual_variance", "exact", "exact_std", "residual_variance", "exact_residual_variance")
# Those of the mean over replications, which are proportional to one over their number.
OF_MEAN = ("mean_residual_variance", "exact", "exact_std")
# Both are fitted: the printed numbers are consistent with σ₀ as the regressor, although its label is σ₀².
REGRESSORS = ("noise", "noise_variance")
COLUMNS = ("estimate", "standard_error", "t", "p", "low", "high")
# Agents at each size: the variance over graphs falls with the size, as the cost of a graph rises.
AGENTS_PER_SIZE = 1_500
# A standard error over graphs needs two.
LEAST_GRAPHS = 2


@final
@dataclass(frozen=True, eq=False)
class SweepResult:
    """A sweep over graph sizes and noise levels; ``rows`` has one row per agent of each cell."""

    edges: int
    replications: int
    rows: pd.DataFrame

    @cached_property
    def cells(self) -> pd.DataFrame:
        """The table ``sweep_cells``, in the order of agents and noise."""
        # The measures of a cell are repeated in the row of each of its agents.
        first = self.rows.drop_duplicates(["agents", "noise"]).reset_index(drop=True)
        columns = {name: first[name] for name in ("agents", "noise")}
        extra = {"noise_variance": first["noise"] ** 2, "replications": self.replications}
        measured = {name: first[name] for name in MEASURED}
        return pd.DataFrame({"edges": self.edges, **columns, **extra, **measured})

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tidy tables of the sweep.

        Tables
        ------
        sweep_cells
            edges (m, added per round of the graph's growth: 1 or 2), agents, noise (σ₀), noise_variance, replications,
            mean_residual_variance (⟨σ²⟩: the variance over vertices of the mean residual vector over the replications),
            exact (its expectation), exact_std (its standard deviation for Gaussian noise), residual_variance (the
            variance over vertices of one residual vector, mean over replications), exact_residual_variance. One row
            per cell.
        sweep_boxes
            edges, by (noise_variance, agents), level, cells, low_whisker, first_quartile, median, third_quartile,
            high_whisker, mean, exact_mean: ⟨σ²⟩ over the cells of one level; whiskers end at the last cell within 1.5
            interquartile ranges.
        replication_boxes
            edges, by (noise_variance, agents), level, values, low_whisker, first_quartile, median, third_quartile,
            high_whisker, mean, exact_mean: σ² of single replications, the variance over vertices of one residual
            vector, over all cells and up to |V| replications of one level; boxes as in sweep_boxes.
        sweep_residuals
            edges, agents (20, 50, 80), noise, noise_variance, agent, mean_residual: the mean residual vectors.
        regression
            edges, source (measured, exact, printed), regressor (noise, noise_variance), term (intercept, agents,
            noise), estimate, standard_error, t, p, low, high: ⟨σ²⟩ of the printed number of replications regressed on
            |V| and on the regressor, with 95 % intervals. The term noise is that of the regressor. Printed rows have
            the regressor of their label.
        """
        return {
            "sweep_cells": self.cells,
            "sweep_boxes": self._boxes(),
            "replication_boxes": self._replication_boxes(),
            "sweep_residuals": self._densities(),
            "regression": self.regression(),
        }

    @cached_property
    def comparable_cells(self) -> pd.DataFrame:
        """The cells, with ⟨σ²⟩ as the printed number of replications gives it.

        The variance of a mean over R replications is proportional to 1/R, and the printed numbers are those of
        ``printed.SWEEP_REPLICATIONS``. The factor is common to all cells, so scores do not depend on R.
        """
        cells, factor = self.cells, self.replications / printed.SWEEP_REPLICATIONS
        return cells.assign(**{name: cells[name] * factor for name in OF_MEAN})

    def regression(self) -> pd.DataFrame:
        """Regress the measured and the exact response on |V| and on σ₀ or σ₀², and append the printed fit."""
        sources, cells = {"measured": "mean_residual_variance", "exact": "exact"}, self.comparable_cells
        fits = [
            fit(cells, response, regressor).assign(source=source, regressor=regressor)
            for source, response in sources.items()
            for regressor in REGRESSORS
        ]
        # The printed rows get the label of the paper: a table must never attribute to it what the audit infers.
        known = printed_fit(self.edges).assign(source="printed", regressor=printed.PRINTED_REGRESSOR)
        table = pd.concat([*fits, known], ignore_index=True).assign(edges=self.edges)
        front = ["edges", "source", "regressor", "term"]
        return table[front + [name for name in table.columns if name not in front]]

    def _boxes(self) -> pd.DataFrame:
        cells = self.cells
        rows = [
            {
                "edges": self.edges,
                "by": by,
                "level": float(level),
                **_box(group["mean_residual_variance"].to_numpy(), float(group["exact"].mean())),
            }
            for by in ("noise_variance", "agents")
            for level, group in cells.groupby(by)
        ]
        return pd.DataFrame(rows)

    def _replication_boxes(self) -> pd.DataFrame:
        single = self.rows.drop_duplicates(["agents", "noise", "replicate"])
        single = single.assign(noise_variance=single["noise"] ** 2)
        rows = []
        for by in ("noise_variance", "agents"):
            for level, group in single.groupby(by):
                box = _box(group["one_variance"].to_numpy(), float(group["exact_residual_variance"].mean()))
                values = {"values": box.pop("cells")}
                row: dict[str, Any] = {"edges": self.edges, "by": by, "level": float(level)}
                rows.append(row | values | box)
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
    """Sweep the regression over sizes and noise levels of Barabási–Albert graphs.

    Each cell draws its own graph, stubbornness from U[0.5, 1] and opinions from U[0, 1].

    Parameters
    ----------
    seed : int, default 14
        Root seed of all cells.
    replications : int, default 20
        Runs per cell.
    edges : int, default 2
        Edges added per round of the graph's growth.
    steps : int, default 100
        Observed steps of each run.
    sizes, noises : sequences
        Numbers of agents, and standard deviations σ₀.
    folder : Path, optional
        Folder in which the sweep is resumable and runs in processes; without it the sweep runs in this process. The
        table is the same.
    workers : int, optional
        Number of processes; only with a folder.

    Returns
    -------
    SweepResult
        The sweep; its ``tables`` method documents the columns.

    See Also
    --------
    size_effect : The exact effect of graph size, without sampling noise.
    SweepComparison : Two sweeps beside the printed regressions.

    Examples
    --------
    >>> sweep_ba(replications=3, sizes=[20], noises=[6.0, 8.0]).cells["agents"].tolist()
    [20, 20]
    """
    base = {"edges": edges, "steps": steps, "replications": replications}
    plan = Plan(TASK, base=base, axes={"agents": list(sizes), "noise": list(noises)}, seed=seed)
    if folder is None:
        rows = pd.DataFrame(list(_in_process(plan)))
    else:
        run_sweep(plan, folder, workers=workers)
        # Each cell is one unit of the sweep; the replications of the paper are drawn inside ``cell``.
        rows = collect(folder).drop(columns="replication")
    return SweepResult(edges, replications, rows)


def cell(parameters: dict[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    """Return one row per agent of a cell: its mean residual, and the measures of the cell."""
    law = ols_law(cell_model(parameters, seed), parameters["steps"])
    count = parameters["replications"]
    # The same seed draws graph, agents and noise, each from a stream of its own.
    residuals = law.residuals(count, seed)
    # The order matters: the variance of the mean vector is about 1/count of the mean of the variances. The printed
    # numbers correspond to the former, although the wording allows both.
    mean = residuals.mean(axis=0)
    each = variance_over_agents(residuals)
    measured = _measured(law, float(variance_over_agents(mean)), float(each.mean()), count)
    for k, residual in enumerate(mean):
        # There are at least as many agents as printed replications, so their rows have room for those.
        one = {"replicate": k % count, "one_variance": float(each[k % count])}
        yield {"agent": k + 1, "mean_residual": float(residual), **one, **measured}


def shared_graph_sweep(
    seed: int,
    replications: int = printed.SWEEP_REPLICATIONS,
    *,
    edges: int = 2,
    steps: int = printed.STEPS,
    sizes: Sequence[int] = printed.SWEEP_AGENTS,
    noises: Sequence[float] = printed.SWEEP_NOISES,
) -> SweepResult:
    """Sweep as ``sweep_ba`` does, but with one graph per size, a tenth of the work; each cell has noise of its own.

    Residuals at σ₀ are σ₀ times those at 1.
    """
    rows = []
    for agents in sizes:
        own = int(np.random.SeedSequence([seed, 4, edges, agents]).generate_state(1)[0])
        model = cell_model({"agents": agents, "edges": edges, "noise": 1.0}, own)
        covariance = regression_covariances([model], steps)[0]
        # Residuals are linear in normal noise: drawn from their exact law, without simulated runs.
        draws = np.random.default_rng([own, 4]).standard_normal((len(noises), replications, agents))
        units, exact = draws @ np.linalg.cholesky(covariance).T, expected_variance(covariance)
        for noise, unit in zip(noises, units, strict=True):
            residuals = noise * unit
            of_mean, of_one = variance_over_agents(residuals.mean(axis=0)), variance_over_agents(residuals).mean()
            values = (of_mean, *(noise**2 * value / replications for value in exact), of_one, noise**2 * exact[0])
            rows.append({"agents": agents, "noise": noise, "agent": 1, "mean_residual": float(residuals.mean())})
            rows[-1] |= {"replicate": 0, "one_variance": float(variance_over_agents(residuals[0]))}
            rows[-1] |= dict(zip(MEASURED, map(float, values), strict=True))
    return SweepResult(edges, replications, pd.DataFrame(rows))


def cell_model(parameters: dict[str, Any], seed: int) -> Model:
    """Return the model of a cell.

    One draw of opinions serves all replicates: the regression is linear and unbiased, so x̂ − x₀ depends only on
    the noise.
    """
    n = parameters["agents"]
    network = barabasi_albert(n, parameters["edges"], seed=seed)
    return Model(network, *agents_drawn(n, seed), noise=Gaussian(parameters["noise"]))


def _measured(law: OlsLaw, of_mean: float, of_one: float, count: int) -> dict[str, float]:
    expected, std = expected_variance(law.covariance)
    # The mean of independent residual vectors has their covariance divided by their number.
    return dict(zip(MEASURED, (of_mean, expected / count, std / count, of_one, expected), strict=True))


def _in_process(plan: Plan) -> Iterator[dict[str, Any]]:
    """Compute the units one after another, as a worker of a sweep would."""
    for unit in plan.units:
        # Through JSON, as in a process: both ways pass the same types and give the same table.
        parameters = json.loads(unit.parameters)
        point = {name: parameters[name] for name in plan.axes}
        yield from (point | row for row in cell(parameters, unit.seed))


def _box(sample: Array, exact_mean: float) -> dict[str, float]:
    values = np.sort(sample)
    low, middle, high = np.percentile(values, [25, 50, 75])
    # Tukey's rule. Quartiles are interpolated, so the last cell within reach can lie inside the box; the whisker then
    # ends at the box.
    reach = 1.5 * (high - low)
    return {
        "cells": values.size,
        "low_whisker": float(min(values[values >= low - reach][0], low)),
        "first_quartile": float(low),
        "median": float(middle),
        "third_quartile": float(high),
        "high_whisker": float(max(values[values <= high + reach][-1], high)),
        "mean": float(values.mean()),
        "exact_mean": exact_mean,
    }


def size_effect(
    seed: int = SEED,
    agents_per_size: int = AGENTS_PER_SIZE,
    *,
    steps: int = printed.STEPS,
    sizes: Sequence[int] = printed.SWEEP_AGENTS,
    families: Sequence[int] = printed.SWEEP_EDGES,
) -> pd.DataFrame:
    """Compute the exact residual variance of the regression over many graphs; no noise is drawn.

    Parameters
    ----------
    seed : int, default 14
        Root seed of the graphs.
    agents_per_size : int, default 1,500
        Total number of agents at each size, which gives the number of graphs.
    steps : int, default 100
        Observed steps.
    sizes : sequence of int
        Numbers of agents.
    families : sequence of int
        Edges added per round of the graphs' growth.

    Returns
    -------
    pandas.DataFrame
        The table ``size_effect`` with columns edges, agents, graphs, variance, standard_error: the expected variance
        over vertices of one residual vector in units of σ₀², mean over random graphs and stubbornness. The standard
        error is that of the draw of graphs.

    See Also
    --------
    sweep_ba : The sampled version, over noise levels too.

    Examples
    --------
    >>> size_effect(agents_per_size=60, sizes=[20], families=[1])["graphs"].tolist()
    [3]
    """
    # As many agents in total at each size, which makes the standard errors of all sizes similar.
    counts = {agents: max(LEAST_GRAPHS, round(agents_per_size / agents)) for agents in sizes}
    return pd.DataFrame(
        [_size_row(seed, counts[agents], steps, edges, agents) for edges in families for agents in sizes]
    )


def _size_row(seed: int, graphs: int, steps: int, edges: int, agents: int) -> dict[str, Any]:
    kind = {"edges": edges, "agents": agents}
    # A stream per graph: more graphs extend the sample instead of replacing it.
    draws = [int(np.random.SeedSequence([seed, 3, edges, agents, i]).generate_state(1)[0]) for i in range(graphs)]
    # With σ₀ = 1 the result is in units of σ₀²: the covariance of the regression is proportional to it.
    models = [cell_model(kind | {"noise": 1.0}, s) for s in draws]
    size = max(1, BATCH_NUMBERS // (steps * agents**2))
    batches = [regression_covariances(models[i : i + size], steps) for i in range(0, graphs, size)]
    variances = [expected_variance(covariance)[0] for batch in batches for covariance in batch]
    error = float(np.std(variances, ddof=1) / np.sqrt(graphs))
    return kind | {"graphs": graphs, "variance": float(np.mean(variances)), "standard_error": error}


class LinearFit(NamedTuple):
    """Ordinary least squares on (1, |V|, regressor): coefficients, residuals, (XᵀX)⁻¹, and the design itself."""

    coefficients: Array
    residuals: Array
    unscaled: Array
    design: Array

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the residuals."""
        return int(self.residuals.size - self.coefficients.size)

    @property
    def variance(self) -> float:
        """The error variance, estimated without bias."""
        return float(self.residuals @ self.residuals) / self.freedom


def least_squares(cells: pd.DataFrame, response: str, regressor: str) -> LinearFit:
    """Fit ⟨σ²⟩ ~ β₀ + β₁|V| + β₂·regressor, with one response per cell."""
    design, y = _design(cells, regressor), cells[response].to_numpy(dtype=float)
    # From the triangular factor: the normal equations would square the condition number.
    Q, R = np.linalg.qr(design)
    inverse = np.linalg.inv(R)
    coefficients = inverse @ (Q.T @ y)
    return LinearFit(coefficients, y - design @ coefficients, inverse @ inverse.T, design)


def _design(cells: pd.DataFrame, regressor: str) -> Array:
    return np.column_stack([np.ones(len(cells)), cells["agents"], cells[regressor]])


def fit(cells: pd.DataFrame, response: str, regressor: str) -> pd.DataFrame:
    """Return the fit as a table: one row per term, with the 95 % interval (low, high)."""
    # One response per cell, as in the paper: its printed p-values imply 77 degrees of freedom.
    ols = least_squares(cells, response, regressor)
    values, errors = ols.coefficients, np.sqrt(ols.variance * np.diag(ols.unscaled))
    t, half = values / errors, special.stdtrit(ols.freedom, 0.975) * errors
    p = 2 * special.stdtr(ols.freedom, -np.abs(t))
    columns = dict(zip(COLUMNS, (values, errors, t, p, values - half, values + half), strict=True))
    return pd.DataFrame({"term": TERMS, **columns})


def regression_tests(sweep: SweepResult, terms: Mapping[str, PrintedTerm]) -> dict[str, Any]:
    """Return what a referee asks of the fit on σ₀: R², heteroskedasticity, robust errors, and the joint test."""
    ols = least_squares(sweep.comparable_cells, "mean_residual_variance", "noise")
    squares = ols.residuals**2
    total = float(np.sum((ols.residuals + ols.design @ ols.coefficients) ** 2)) - _mean_square(ols)
    auxiliary = np.linalg.lstsq(ols.design, squares, rcond=None)[0]
    explained = 1 - float(np.sum((squares - ols.design @ auxiliary) ** 2) / np.sum((squares - squares.mean()) ** 2))
    # Breusch and Pagan's test in Koenker's form: n R² of the squared residuals on the regressors is χ² with 2 degrees.
    heteroskedasticity = squares.size * explained
    leverage = np.einsum("ij,jk,ik->i", ols.design, ols.unscaled, ols.design)
    # HC3: each squared residual is inflated by its leverage, which keeps the errors from being too small.
    meat = (ols.design.T * (ols.residuals / (1 - leverage)) ** 2) @ ols.design
    robust = np.sqrt(np.diag(ols.unscaled @ meat @ ols.unscaled))
    usual = np.sqrt(ols.variance * np.diag(ols.unscaled))
    joint, rival = joint_test(sweep, terms), rival_scores(sweep, terms)
    return {
        "edges": sweep.edges,
        "r_squared": 1 - float(np.sum(squares)) / total,
        "breusch_pagan": heteroskedasticity,
        "breusch_pagan_p": float(special.chdtrc(2, heteroskedasticity)),
        **{f"{term}_error": float(error) for term, error in zip(TERMS, usual, strict=True)},
        **{f"{term}_robust_error": float(error) for term, error in zip(TERMS, robust, strict=True)},
        "joint": joint.statistic,
        "joint_p": joint.p,
        "rival_z": max(rival.values(), key=abs),
    }


def _mean_square(ols: LinearFit) -> float:
    """Return n times the squared mean of the response."""
    y = ols.residuals + ols.design @ ols.coefficients
    return float(y.size * y.mean() ** 2)


class JointTest(NamedTuple):
    """A χ² statistic with three degrees of freedom, and its p-value."""

    statistic: float
    p: float


def joint_test(sweep: SweepResult, terms: Mapping[str, PrintedTerm]) -> JointTest:
    """Test all printed coefficients at once against their exact expectations on σ₀.

    The printed errors have the covariance σ²(XᵀX)⁻¹ of the design, with σ from the printed t of the slope; rounding
    adds its own variance.
    """
    exact = least_squares(sweep.comparable_cells, "exact", "noise")
    values = np.array([printed_estimate(terms[name])[0] for name in TERMS])
    scale = terms["noise"].estimate / terms["noise"].t / np.sqrt(exact.unscaled[2, 2])
    rounding = np.array([rounding_error(terms[name]) for name in TERMS])
    difference = exact.coefficients - values
    covariance = scale**2 * exact.unscaled + np.diag(rounding**2)
    statistic = float(difference @ np.linalg.solve(covariance, difference))
    return JointTest(statistic, float(special.chdtrc(len(TERMS), statistic)))


def rival_scores(sweep: SweepResult, terms: Mapping[str, PrintedTerm]) -> dict[str, float]:
    """Return how far the print is from a sweep in which σ₀² itself, not σ₀, ran from 5.5 to 10, by term.

    The response of that reading is the mean of the variances, whose slope would be near the printed one.
    """
    cells = sweep.cells
    # The exact variance in units of σ₀², times the values that the variance would then have had.
    response = cells["exact_residual_variance"] / cells["noise_variance"] * cells["noise"]
    coefficients = least_squares(cells.assign(response=response), "response", "noise").coefficients
    printed_values = (printed_estimate(terms[name]) for name in TERMS)
    return {
        name: float((value - known) / error)
        for name, value, (known, error) in zip(TERMS, coefficients, printed_values, strict=True)
    }


def printed_fit(edges: int) -> pd.DataFrame:
    """Return the printed parameter table for graphs with this number of edges per round."""
    rows = [printed.REGRESSIONS[edges][term] for term in TERMS]
    return pd.DataFrame({"term": TERMS, **{name: [getattr(row, name) for row in rows] for name in COLUMNS}})


def error_ratio(cells: pd.DataFrame, regressor: str) -> float:
    """Return the standard error of the intercept over that of the slope, which depends only on the design."""
    design = _design(cells, regressor)
    # Standard errors are σ̂·√((XᵀX)⁻¹_kk); in the ratio σ̂, which only the paper's own data could give, cancels.
    variances = np.diag(np.linalg.inv(design.T @ design))
    return float(np.sqrt(variances[0] / variances[2]))


@final
@dataclass(frozen=True, eq=False)
class SweepComparison:
    """Sweeps on graphs with two edges per round and with one, side by side."""

    two: SweepResult
    one: SweepResult

    @cached_property
    def regression(self) -> pd.DataFrame:
        """The regressions of both sweeps."""
        return pd.concat([self.two.regression(), self.one.regression()], ignore_index=True)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of both sweeps, joined, and those that compare them.

        Tables
        ------
        regression_comparison
            edges, term (intercept, agents, noise), regressor (noise, noise_variance), printed, printed_error, measured,
            measured_error, exact, z, p, expected_z: z = (measured − printed)/√(sum of squared errors, with the rounding
            of the printed numbers); expected_z has the exact coefficient in place of the measured one.
        regression_tests
            edges, r_squared, breusch_pagan, breusch_pagan_p, intercept_error, agents_error, noise_error,
            intercept_robust_error, agents_robust_error, noise_robust_error, joint, joint_p, rival_z: of the measured
            fit on σ₀, with Breusch and Pagan's test of equal variances and the robust standard errors HC3; joint is the
            χ² statistic of all printed coefficients against the exact ones, and rival_z the largest difference from
            the print, in standard errors, if σ₀² itself had run from 5.5 to 10.
        interval_differences
            source (printed, measured, exact), regressor, term, difference (one edge minus two), standard_error, z, p.
        """
        parts = [sweep.tables() for sweep in (self.two, self.one)]
        joined = {name: pd.concat([part[name] for part in parts], ignore_index=True) for name in parts[0]}
        fits = joined["regression"]
        return joined | {
            "regression_comparison": against_print(fits),
            "interval_differences": differences(fits),
            "regression_tests": pd.DataFrame(
                [regression_tests(sweep, printed.REGRESSIONS[sweep.edges]) for sweep in (self.two, self.one)]
            ),
        }


def against_print(
    fits: pd.DataFrame, known_terms: Mapping[int, Mapping[str, PrintedTerm]] = printed.REGRESSIONS
) -> pd.DataFrame:
    """Compare each measured term with the printed one, for both regressors."""
    known = _by_term(fits)
    rows = []
    for edges in fits["edges"].unique():
        for regressor in REGRESSORS:
            for term in TERMS:
                measured, exact = (known[source, regressor, term, edges] for source in ("measured", "exact"))
                # Both numbers are random: the paper's own sample has an error too, and its rounding adds to it.
                value, error = printed_estimate(known_terms[edges][term])
                both = np.hypot(measured.standard_error, error)
                z = (measured.estimate - value) / both
                row = {"edges": edges, "term": term, "regressor": regressor, "printed": value, "printed_error": error}
                row |= {"measured": measured.estimate, "measured_error": measured.standard_error}
                row |= {"exact": exact.estimate, "z": z, "p": two_sided(z)}
                rows.append(row | {"expected_z": (exact.estimate - value) / both})
    return pd.DataFrame(rows)


def _by_term(fits: pd.DataFrame) -> dict[tuple[str, str, str, int], Any]:
    """Return the rows of a table of fits by source, regressor, term and edges, in their order."""
    return {(row.source, row.regressor, row.term, row.edges): row for row in fits.itertuples()}


def printed_estimate(term: PrintedTerm) -> tuple[float, float]:
    """Return a printed estimate and its standard error, rounding included."""
    if term.standard_error:
        # The quotient has more digits than the printed standard error, which is rounded to one or two.
        error, value = term.estimate / term.t, term.estimate
    else:
        # Both were rounded to 0; the middle and the length of the printed interval have more digits.
        value = (term.low + term.high) / 2
        # The normal quantile instead of Student's t with 77 degrees of freedom (1.991) is 2 % off, below the rounding.
        error = (term.high - term.low) / (2 * NORMAL_95)
    return value, float(np.hypot(error, rounding_error(term)))


def rounding_error(term: PrintedTerm) -> float:
    """Return the standard deviation of the rounding of a printed estimate."""
    # The mean of two independently rounded ends has 1/√2 of the rounding error of one.
    half_unit = term.half_unit if term.standard_error else term.interval_half_unit / np.sqrt(2)
    # A rounding error that is uniform within ±h has standard deviation h/√3.
    return float(half_unit / np.sqrt(3))


def differences(fits: pd.DataFrame) -> pd.DataFrame:
    """Test whether the coefficients of the two graph families differ; exact rows vary only by the draw of graphs."""
    rows = []
    known = _by_term(fits)
    for source, regressor, term in dict.fromkeys(key[:3] for key in known):
        # The two families are drawn independently, so their variances add.
        estimates = [_estimate(source, known[source, regressor, term, edges]) for edges in (1, 2)]
        (one, error_one), (two, error_two) = estimates
        error = float(np.hypot(error_one, error_two))
        z = (one - two) / error
        row = {"source": source, "regressor": regressor, "term": term, "difference": one - two}
        rows.append(row | {"standard_error": error, "z": z, "p": two_sided(z)})
    return pd.DataFrame(rows)


def _estimate(source: str, row: Any) -> tuple[float, float]:
    if source == "printed":
        return printed_estimate(printed.REGRESSIONS[row.edges][row.term])
    return float(row.estimate), float(row.standard_error)


def two_sided(z: float) -> float:
    """Return the two-sided p-value of a standard normal score."""
    # The lower tail at −|z|: 1 − Φ(|z|) would cancel to 0 beyond |z| ≈ 8.
    return float(2 * special.ndtr(-abs(z)))
