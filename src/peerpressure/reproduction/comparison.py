"""The regressions of both graph families beside the printed ones, and beside each other.

Tables
------
regression_comparison
    edges, term (intercept, agents, noise), regressor (noise, noise_variance), printed, printed_error, measured,
    measured_error, exact, z, p: z = (measured − printed)/√(sum of squared errors, with the rounding of the print).
intervals
    source (printed, measured, exact), regressor, term, edges, estimate, low, high: 95 % intervals to draw side by side.
interval_differences
    source (printed, measured, exact), regressor, term, difference (one edge minus two), standard_error, z, p.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd
from scipy import special

from peerpressure.reproduction import printed
from peerpressure.reproduction.printed import TERMS, PrintedTerm
from peerpressure.reproduction.regression import REGRESSORS
from peerpressure.reproduction.sweep import SweepResult

NORMAL_95 = 1.959963984540054


@final
@dataclass(frozen=True, eq=False)
class Comparison:
    """Sweeps on graphs with two edges per step and with one, side by side."""

    two: SweepResult
    one: SweepResult

    @property
    def regression(self) -> pd.DataFrame:
        """All regressions of both."""
        return pd.concat([self.two.regression(), self.one.regression()], ignore_index=True)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the sweeps' own tables in one, and the comparisons."""
        parts = [sweep.tables() for sweep in (self.two, self.one)]
        joined = {name: pd.concat([part[name] for part in parts], ignore_index=True) for name in parts[0]}
        fits = joined["regression"]
        return joined | {
            "regression_comparison": against_print(fits),
            "intervals": intervals(fits),
            "interval_differences": differences(fits),
        }


def against_print(
    fits: pd.DataFrame, known_terms: Mapping[int, Mapping[str, PrintedTerm]] = printed.REGRESSIONS
) -> pd.DataFrame:
    """Compare each measured term, under either regressor, with the printed one."""
    known = fits.set_index(["source", "regressor", "edges", "term"])
    rows = []
    for edges in fits["edges"].unique():
        for regressor in REGRESSORS:
            for term in TERMS:
                measured = known.loc[("measured", regressor, edges, term)]
                value, error = printed_estimate(known_terms[edges][term])
                z = (measured["estimate"] - value) / np.hypot(measured["standard_error"], error)
                row = {"edges": edges, "term": term, "regressor": regressor, "printed": value, "printed_error": error}
                row |= {"measured": measured["estimate"], "measured_error": measured["standard_error"]}
                exact = known.loc[("exact", regressor, edges, term), "estimate"]
                rows.append(row | {"exact": exact, "z": z, "p": two_sided(z)})
    return pd.DataFrame(rows)


def printed_estimate(term: PrintedTerm) -> tuple[float, float]:
    """Return a printed estimate and its error, rounding included.

    Where both were rounded to 0 they are read off the printed interval, whose middle and length are less rounded.
    """
    if term.standard_error:
        error, half_unit, value = term.estimate / term.t, term.half_unit, term.estimate
    else:
        value, half_unit = (term.low + term.high) / 2, term.interval_half_unit / np.sqrt(2)
        error = (term.high - term.low) / (2 * NORMAL_95)
    # A rounded number is uniform within half a unit of what is printed.
    return value, float(np.hypot(error, half_unit / np.sqrt(3)))


def intervals(fits: pd.DataFrame) -> pd.DataFrame:
    """Return estimates and 95 % intervals of both graph families."""
    return fits[["source", "regressor", "term", "edges", "estimate", "low", "high"]].reset_index(drop=True)


def differences(fits: pd.DataFrame) -> pd.DataFrame:
    """Test whether the coefficients of the two graph families differ.

    The errors of the exact rows come from the draw of the graphs alone.
    """
    rows = []
    for (source, regressor, term), pair in fits.groupby(["source", "regressor", "term"], sort=False):
        estimates = [_estimate(source, pair[pair["edges"] == edges].iloc[0]) for edges in (1, 2)]
        (one, error_one), (two, error_two) = estimates
        error = float(np.hypot(error_one, error_two))
        z = (one - two) / error
        row = {"source": source, "regressor": regressor, "term": term, "difference": one - two}
        rows.append(row | {"standard_error": error, "z": z, "p": two_sided(z)})
    return pd.DataFrame(rows)


def _estimate(source: str, row: Any) -> tuple[float, float]:
    if source == "printed":
        return printed_estimate(printed.REGRESSIONS[row["edges"]][row["term"]])
    return float(row["estimate"]), float(row["standard_error"])


def two_sided(z: float) -> float:
    """Return the probability of a normal score at least as far from 0."""
    return float(2 * special.ndtr(-abs(z)))
