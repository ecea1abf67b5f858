"""The estimate of a large network from its normal equations: dense with rank, or by conjugate gradients."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from peerpressure.errors import TooLargeError, complain
from peerpressure.model import Model, Vector
from peerpressure.recovery.elimination import Normal, eliminate
from peerpressure.recovery.estimate import Estimate, estimate_from
from peerpressure.recovery.implicit import Implicit
from peerpressure.recovery.outputs import Outputs
from peerpressure.recovery.prior import Prior
from peerpressure.recovery.solve import DENSE_LIMIT, SHARE_TOLERANCE, conjugate_gradients
from peerpressure.recovery.sparse_states import SparseStates

# A direction of which elimination leaves less than this part of the information is not identified.
_LEAST_SHARE = 1e-10


def sparse_estimate(model: Model, data: Outputs, prior: Prior | None, method: str) -> Estimate:
    """Return the estimate x̂₀ = (J + P⁻¹)⁻¹(r + P⁻¹m), the best linear unbiased one if there is no prior."""
    normal = eliminate(SparseStates(model, data))
    if data.seen.free.size <= DENSE_LIMIT:
        return _dense(model, data, prior, method, normal)
    return _iterative(model, data, prior, method, normal)


def _dense(model: Model, data: Outputs, prior: Prior | None, method: str, normal: Normal) -> Estimate:
    J, right, gross = normal.matrix(), normal.right, normal.gross
    if prior is not None:
        means, rest = prior.given(data.known)
        inverse = np.linalg.inv(rest.covariance(J.shape[0]))
        J, right, gross = J + inverse, right + inverse @ means.T, gross + inverse.diagonal()
    scale = np.sqrt(np.where(gross > 0, gross, 1.0))
    values, vectors = linalg.eigh(J / scale[:, None] / scale, driver="evd")
    keep = values > _LEAST_SHARE
    kept, lost = vectors[:, keep] / scale[:, None], np.linalg.qr(vectors[:, ~keep] / scale[:, None])[0]
    covariance = (kept / values[keep]) @ kept.T
    return estimate_from(
        model,
        data,
        method,
        (covariance @ right).T,
        covariance,
        identified=np.linalg.norm(lost, axis=1) <= SHARE_TOLERANCE,
        rank=int(keep.sum()),
        condition=float(values[-1] / values[0]) if keep.all() else np.inf,
    )


def _iterative(model: Model, data: Outputs, prior: Prior | None, method: str, normal: Normal) -> Estimate:
    """Return the estimate by conjugate gradients, its covariance as an operator.

    Without a prior, only agents of whom nothing at all is seen are told from the others.
    """
    f = data.seen.free.size
    added, right = np.zeros(f), normal.right
    if prior is not None:
        _refuse_correlated(prior, f)
        means, rest = prior.given(data.known)
        added = 1 / rest.variances(f)
        right = right + added[:, None] * means.T
    diagonal = normal.diagonal() + added
    identified = diagonal > _LEAST_SHARE * normal.gross
    scale = np.where(identified, diagonal, 1.0)

    def apply(columns: Vector) -> Vector:
        return normal.apply(columns) + added[:, None] * columns

    value, condition = conjugate_gradients(apply, right, scale)
    covariance = Implicit(f, lambda columns: conjugate_gradients(apply, columns, scale)[0])
    rank = int(identified.sum())
    return estimate_from(
        model, data, method, value.T, covariance, identified=identified, rank=rank, condition=condition
    )


def _refuse_correlated(prior: Prior, f: int) -> None:
    if not prior.is_diagonal:
        remedy = "use a prior of variances"
        rule = f"a correlated prior can be dealt with for at most {DENSE_LIMIT:,} agents"
        raise TooLargeError(complain(rule, got=f"{f:,}", remedy=remedy))
