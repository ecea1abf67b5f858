"""Ordinary least squares: the paper's regression of all outputs on Q_t x₀."""

from __future__ import annotations

import numpy as np

from peerpressure.model import Model
from peerpressure.recovery.design import design_of
from peerpressure.recovery.estimate import Estimate
from peerpressure.recovery.outputs import Outputs
from peerpressure.recovery.prior import Prior
from peerpressure.recovery.regression import as_estimate, fit, fit_large, refuse_large
from peerpressure.recovery.solve import DENSE_LIMIT

NAME = "ols"


def ols(model: Model, data: Outputs, prior: Prior | None = None) -> Estimate:
    """Return x̂ = H⁻¹ Σ Q_tᵀ y_t with H = Σ Q_tᵀ Q_t, as if all errors were alike and independent.

    They are not: e_t piles up past noise. ``covariance`` is what x̂ really has, and ``homoskedastic_covariance`` the
    textbook's σ̂² H⁻¹, with σ̂² the mean residual variance over replicates. A prior is combined with x̂ as with one
    datum of that covariance.
    """
    design = design_of(model, data)
    if model.n > DENSE_LIMIT:
        if prior is not None:
            refuse_large(model, NAME, "with a prior")
        return fit_large(model, data, design, NAME)
    rows = design.observed(data)
    fitted = fit(design, rows)
    residuals = (rows - design.forward(fitted.value.T))[:, :, : rows.shape[2] - data.copies]
    spare = int(data.present.sum()) - fitted.solution.rank
    textbook = None
    if spare > 0:
        textbook = float(np.mean((residuals**2).sum(axis=(0, 1)))) / spare * fitted.solution.inverse
    return as_estimate(model, data, NAME, fitted, prior, homoskedastic_covariance=textbook)
