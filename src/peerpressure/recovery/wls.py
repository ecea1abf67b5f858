"""Weighted least squares: outputs weighed by how noisy each is, still as if independent."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.recovery.design import Design, design_of
from peerpressure.recovery.estimate import Estimate
from peerpressure.recovery.outputs import Outputs
from peerpressure.recovery.prior import Prior
from peerpressure.recovery.regression import as_estimate, fit, refuse_large
from peerpressure.theory.forward import run_forwards

Array: TypeAlias = NDArray[np.float64]
NAME = "wls"


def wls(model: Model, data: Outputs, prior: Prior | None = None) -> Estimate:
    """Return the regression of outputs with weights 1/Var(e_t,i), and the covariance that it really has.

    Outputs without noise are taken as exact; if there are no others, all weigh the same.
    """
    refuse_large(model, NAME, "forms the variance of every output and")
    design = design_of(model, data)
    variances = output_variances(design)
    rows = design.observed(data)
    noisy = (variances > 0) & data.present
    if not noisy.any():
        return as_estimate(model, data, NAME, fit(design, rows), prior)
    weights = np.divide(1.0, variances, out=np.zeros_like(variances), where=noisy)
    quiet = data.present & ~noisy
    exact = (_rows_at(design, quiet), rows[quiet].T) if quiet.any() else None
    return as_estimate(model, data, NAME, fit(design, rows, weights, exact), prior)


def output_variances(design: Design) -> Array:
    """Return Var(e_t,i) of the seen outputs, (T, k)."""
    after_start = design.seen.times[design.seen.times > 0]
    variances = np.zeros((design.seen.times.size, design.seen.agents.size))
    if after_start.size:
        spread = run_forwards(design.model, after_start).variance
        variances[-after_start.size :] = spread[:, design.seen.agents]
    return variances + design.seen.blur


def _rows_at(design: Design, where: NDArray[np.bool_]) -> Array:
    """Return the rows of the stacked Q_t at the marked outputs, (m, f)."""
    return np.concatenate([part[where] for part in design.column_blocks()], axis=1)
