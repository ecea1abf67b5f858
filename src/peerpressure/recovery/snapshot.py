"""One look at the end: only the last seen step is used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from peerpressure.model import Model
from peerpressure.recovery.design import Design
from peerpressure.recovery.estimate import Estimate, estimate_from
from peerpressure.recovery.outputs import Outputs
from peerpressure.recovery.prior import Prior
from peerpressure.recovery.regression import refuse_large
from peerpressure.recovery.solve import solve, split

NAME = "snapshot"


def snapshot(model: Model, data: Outputs, prior: Prior | None = None) -> Estimate:
    """Return the best linear unbiased estimate from y_T alone: J = Q_Tᵀ Cov(e_T)⁻¹ Q_T."""
    refuse_large(model, NAME, "forms the covariance of the outputs and")
    there = np.flatnonzero(data.present[-1])
    seen = replace(data.seen, times=data.seen.times[-1:], agents=data.seen.agents[there])
    last = replace(data, seen=seen, values=data.values[:, -1:, there], present=np.ones((1, there.size), dtype=bool))
    design = Design(model, seen, last.present)
    Q = design.columns()[0]
    whiten, quiet = split(design.covary(np.eye(there.size)[None])[0])
    y = design.observed(last)[0]
    noisy, seen_noisy = whiten @ Q, whiten @ y
    J, rhs = noisy.T @ noisy, noisy.T @ seen_noisy
    if prior is not None:
        mean, rest = prior.given(data.known)
        precision = np.linalg.inv(rest.covariance(seen.free.size))
        J, rhs = J + precision, rhs + precision @ mean.T
    solution = solve(J, quiet @ Q, (quiet @ y).T)
    return estimate_from(
        model,
        data,
        NAME,
        solution.value(J, rhs.T),
        solution.inverse,
        identified=solution.identified,
        rank=solution.rank,
        condition=solution.condition,
        note=f"step {seen.last} only",
    )
