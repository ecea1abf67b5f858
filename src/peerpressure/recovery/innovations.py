"""The best observer of complete outputs: undo the update, then average what agents would have liked to show."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.model import Model
from peerpressure.recovery.complete import Complete, complete, refuse_large
from peerpressure.recovery.estimate import Covariance, Estimate, estimate_from
from peerpressure.recovery.implicit import Implicit
from peerpressure.recovery.inversion import Inverted, invert, refuse_incomplete
from peerpressure.recovery.outputs import Outputs
from peerpressure.recovery.prior import Prior
from peerpressure.recovery.solve import DENSE_LIMIT, conjugate_gradients, solve

Array: TypeAlias = NDArray[np.float64]
NAME = "innovations"


def innovations(model: Model, data: Outputs, prior: Prior | None = None) -> Estimate:
    """Return the best linear unbiased estimate from complete outputs, or its posterior under a Gaussian prior.

    ξ_t = (y_t − C_t y_{t−1})/g_t and x̂ = Σ w_t ξ_t with w = K⁻¹1/(1ᵀK⁻¹1), variance std²/(1ᵀK⁻¹1). If the start is
    hidden and not seen, ξ_1 is not known, and the first step enters as y_1/g_1 = S⁻¹(S + ρ₁A) x₀ + ε_1. Opinions that
    adapt leave ξ_t = π_{t−1} x₀ + k_{t−1} + ε_t, where k is known: then x̂ = Σ w_t (ξ_t − k_{t−1}) with
    w = K⁻¹π/(πᵀK⁻¹π), and the variance std²/(πᵀK⁻¹π) stays above a bound if Σ π² has one.
    """
    refuse_incomplete(data)
    found = invert(model, data)
    problem = complete(model, found.weights, first_step=found.first is not None)
    facts: dict[str, Any] = {"goodness_of_fit": found.goodness_of_fit}
    if problem.separate and data.seen.free.size == model.n and (prior is None or prior.is_diagonal):
        return _agent_by_agent(problem, found, data, prior, facts)
    refuse_large(problem, prior)
    if model.n <= DENSE_LIMIT:
        return _dense(problem, found, data, prior, facts)
    return _iterative(problem, found, data, prior, facts)


def _agent_by_agent(
    problem: Complete, found: Inverted, data: Outputs, prior: Prior | None, facts: dict[str, Any]
) -> Estimate:
    """Return the estimate where every agent stands for itself."""
    n, variance, value = problem.model.n, problem.variance, found.mean.T
    if prior is not None:
        # Written so that variances 0 and ∞ of the data are as good as any.
        tau, m = prior.variances(n), prior.means(n)
        share = np.where(np.isinf(variance), 0.0, tau / (tau + np.where(np.isinf(variance), 0.0, variance)))
        value, variance = m + share * (value - m), (1 - share) * tau
    identified = np.isfinite(variance)
    spread = sparse.diags_array(np.where(identified, variance, 0.0), format="csr")
    noisy = variance[identified & (variance > 0)]
    condition = float(noisy.max() / noisy.min()) if noisy.size else 1.0
    rank = int(identified.sum())
    return estimate_from(
        problem.model, data, NAME, value, spread, identified=identified, rank=rank, condition=condition, **facts
    )


def _right_side(problem: Complete, found: Inverted, prior: Prior | None) -> Array:
    """Return i·D x̄ + weight·BᵀD r + P⁻¹m, (n, replicates)."""
    total = problem.own[:, None] * found.mean
    if problem.row is not None and found.first is not None and np.isfinite(problem.row.weight):
        r = problem.row.observed(found.first, found.following)
        total = total + problem.row.weight * (problem.row.matrix.T @ (problem.precision[:, None] * r))
    if prior is not None:
        n = problem.model.n
        pull = (
            prior.means(n) / prior.variances(n)
            if prior.is_diagonal
            else np.linalg.solve(prior.variance, prior.means(n))
        )
        total = total + pull[:, None]
    return np.asarray(total)


def _dense(problem: Complete, found: Inverted, data: Outputs, prior: Prior | None, facts: dict[str, Any]) -> Estimate:
    """Return the estimate with its full covariance, minding facts that are exact and directions that are open."""
    n, free = problem.model.n, data.seen.free
    J, rhs = problem.apply(np.eye(n)), _right_side(problem, found, prior)
    if prior is not None:
        J = J + np.linalg.inv(prior.covariance(n))
    rows, values = _exact(problem, found, data)
    solution = solve(J, rows, values)
    value = solution.value(J, rhs.T)
    return estimate_from(
        problem.model,
        data,
        NAME,
        value[:, free],
        solution.inverse[np.ix_(free, free)],
        identified=solution.identified[free],
        rank=solution.rank - (n - free.size),
        condition=solution.condition,
        **facts,
    )


def _exact(problem: Complete, found: Inverted, data: Outputs) -> tuple[Array, Array]:
    """Return all exact rows (m, n) with their values (replicates, m): known starts, quiet agents, first steps."""
    n = problem.model.n
    known = np.setdiff1d(np.arange(n), data.seen.free)
    if problem.shown.all():
        return np.eye(n), found.mean.T
    rows, own, first = problem.exact_rows()
    values = [data.known[:, known], found.mean[own].T]
    if problem.row is not None and found.first is not None:
        values.append(problem.row.observed(found.first, found.following)[first].T)
    return np.concatenate([np.eye(n)[known], rows]), np.concatenate(values, axis=1)


def _iterative(
    problem: Complete, found: Inverted, data: Outputs, prior: Prior | None, facts: dict[str, Any]
) -> Estimate:
    """Return the estimate of a large network by conjugate gradients, its covariance as an operator."""
    n = problem.model.n
    added = np.zeros(n) if prior is None else 1 / prior.variances(n)
    diagonal = problem.diagonal() + added

    def apply(columns: Array) -> Array:
        return problem.apply(columns) + added[:, None] * columns

    value, condition = conjugate_gradients(apply, _right_side(problem, found, prior), diagonal)
    covariance: Covariance = Implicit(n, lambda columns: conjugate_gradients(apply, columns, diagonal)[0])
    return estimate_from(problem.model, data, NAME, value.T, covariance, condition=condition, **facts)
