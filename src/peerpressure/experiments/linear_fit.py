"""The paper's linear model ⟨σ²⟩ ~ β₀ + β₁|V| + β₂·regressor, fitted, and as it was printed."""

from __future__ import annotations

import numpy as np
import pandas as pd

from peerpressure.experiments import printed
from peerpressure.experiments.printed import TERMS

# σ₀ itself, for which the printed numbers fit together, and σ₀², which is what their label says.
REGRESSORS = ("noise", "noise_variance")
COLUMNS = ("estimate", "standard_error", "t", "p", "low", "high")


def fit(cells: pd.DataFrame, response: str, regressor: str) -> pd.DataFrame:
    """Return one row for each term: estimate, standard error, t, p and the ends of the 95 % interval."""
    import statsmodels.api as sm  # type: ignore[import-untyped,unused-ignore]

    design = np.column_stack([np.ones(len(cells)), cells["agents"], cells[regressor]])
    found = sm.OLS(cells[response].to_numpy(), design).fit()
    low, high = np.asarray(found.conf_int(alpha=0.05)).T
    columns = dict(zip(COLUMNS, (found.params, found.bse, found.tvalues, found.pvalues, low, high), strict=True))
    return pd.DataFrame({"term": TERMS, **columns})


def printed_fit(edges: int) -> pd.DataFrame:
    """Return the printed table for graphs with so many edges per step."""
    rows = [printed.REGRESSIONS[edges][term] for term in TERMS]
    return pd.DataFrame({"term": TERMS, **{name: [getattr(row, name) for row in rows] for name in COLUMNS}})


def error_ratio(cells: pd.DataFrame, regressor: str) -> float:
    """Return the standard error of the intercept over that of the slope, which the design alone decides."""
    design = np.column_stack([np.ones(len(cells)), cells["agents"], cells[regressor]])
    variances = np.diag(np.linalg.inv(design.T @ design))
    return float(np.sqrt(variances[0] / variances[2]))
