"""Exact against sampled: every quantity of the experiments that is known both ways.

Tables
------
exact_vs_sampled
    experiment, quantity, exact, sampled, standard_error, z: z = (sampled − exact)/standard_error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from peerpressure.reproduction.audit import Evidence
from peerpressure.reproduction.beyond import BeyondResult


def exact_vs_sampled(evidence: Evidence, more: BeyondResult, tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the table; ``tables`` holds those of the wrong values and of opinions that adapt."""
    rows = [*_wrong_values(tables), *_two_agents(evidence), *_residuals(evidence), *_sweeps(evidence)]
    rows += [*_noise(evidence), *_beyond(more), *_limit(tables), *_forgetting(tables)]
    return pd.DataFrame(rows)


def _row(experiment: str, quantity: str, exact: float, sampled: float, error: float) -> dict[str, Any]:
    return {
        "experiment": experiment,
        "quantity": quantity,
        "exact": float(exact),
        "sampled": float(sampled),
        "standard_error": float(error),
        "z": float((sampled - exact) / error),
    }


def _wrong_values(tables: dict[str, pd.DataFrame]) -> Iterator[dict[str, Any]]:
    values, law = tables["wrong_values"]["value"].to_numpy(), tables["wrong_value_law"].iloc[0]
    std, count = values.std(ddof=1), values.size
    yield _row("wrong_values", "mean of the agreed value", law["mean"], values.mean(), law["std"] / np.sqrt(count))
    yield _row("wrong_values", "its deviation", law["std"], std, law["std"] / np.sqrt(2 * count))


def _two_agents(e: Evidence) -> Iterator[dict[str, Any]]:
    for estimate in (e.pair.ols, e.pair.innovations):
        sampled = estimate.value.var(axis=0, ddof=1)
        error = estimate.variance[0] * np.sqrt(2 / (len(estimate.value) - 1))
        yield _row("two_agents_recovery", f"variance by {estimate.method}", estimate.variance[0], sampled[0], error)


def _residuals(e: Evidence) -> Iterator[dict[str, Any]]:
    residuals, exact = e.residuals.residuals, float(np.trace(e.residuals.law.covariance)) / e.residuals.law.model.n
    each = (residuals**2).mean(axis=1)
    yield _row("residuals", "mean square of a residual", exact, each.mean(), each.std(ddof=1) / np.sqrt(each.size))


def _sweeps(e: Evidence) -> Iterator[dict[str, Any]]:
    for sweep in (e.sweeps.two, e.sweeps.one):
        cells = sweep.cells
        error = np.sqrt((cells["exact_std"] ** 2).sum()) / len(cells)
        name, sampled = f"mean of ⟨σ²⟩ over cells, m = {sweep.edges}", cells["mean_residual_variance"].mean()
        yield _row("sweep_ba", name, cells["exact"].mean(), sampled, error)
        table = sweep.regression().query("term == 'noise'").set_index(["source", "regressor"])
        for regressor in ("noise", "noise_variance"):
            measured, exact = table.loc[("measured", regressor)], table.loc[("exact", regressor), "estimate"]
            name = f"slope on {regressor}, m = {sweep.edges}"
            yield _row("sweep_ba", name, exact, measured["estimate"], measured["standard_error"])


def _noise(e: Evidence) -> Iterator[dict[str, Any]]:
    fits = e.noise.exponents.set_index(["noise", "quantity", "source"])
    for level in e.noise.exponents["noise"].unique():
        for quantity in ("distance", "spread"):
            exact, sampled = (fits.loc[(level, quantity, source)] for source in ("exact", "sampled"))
            name = f"exponent of {quantity}, σ₀ = {level:g}"
            yield _row("noise_levels", name, exact["exponent"], sampled["exponent"], sampled["standard_error"])


def _beyond(more: BeyondResult) -> Iterator[dict[str, Any]]:
    last = more.observers["steps"].max()
    for row in more.observers[more.observers["steps"] == last].itertuples():
        name = f"variance by {row.observer}, {row.network}, T = {last}"
        yield _row("beyond", name, row.variance, row.sampled, row.standard_error)
    last = more.schedules["steps"].max()
    for row in more.schedules[more.schedules["steps"] == last].itertuples():
        yield _row("beyond", f"rms under {row.schedule}, T = {last}", row.rms, row.sampled_rms, row.standard_error)


def _limit(tables: dict[str, pd.DataFrame]) -> Iterator[dict[str, Any]]:
    for row in tables["timescale_consensus_limit"].itertuples():
        name = f"consensus limit, η = {row.rate:.3g}"
        yield _row("two_timescales", name, row.mean, row.sampled_mean, row.standard_error)


def _forgetting(tables: dict[str, pd.DataFrame]) -> Iterator[dict[str, Any]]:
    # What is held by now is known by the same errors times the share that is still one's own.
    first = tables["forgetting_recovery"].query("target == 'initial'")
    last = first["steps"].max()
    for row in first[first["steps"] == last].itertuples():
        name = f"variance of a first opinion, η = {row.rate:g}, T = {last}"
        yield _row("forgetting", name, row.variance, row.sampled, row.standard_error)
