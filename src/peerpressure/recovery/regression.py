"""Linear regression of what is seen on x₀, weighted or not, with the covariance that it really has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import TooLargeError, complain
from peerpressure.model import Model
from peerpressure.recovery.design import Design
from peerpressure.recovery.estimate import Estimate, estimate_from
from peerpressure.recovery.implicit import Implicit
from peerpressure.recovery.outputs import Outputs
from peerpressure.recovery.prior import Prior, update
from peerpressure.recovery.solve import DENSE_LIMIT, Solution, conjugate_gradients, solve

Array: TypeAlias = NDArray[np.float64]
_NEGLIGIBLE = 0.05  # part of a variance below which its rounding error is left out


@final
@dataclass(frozen=True, eq=False)
class Fit:
    """A dense regression: x̂ (replicates, f), its covariance, what of x₀ it reaches, and the solved system."""

    value: Array
    covariance: Array
    reach: Array
    solution: Solution
    H: Array


def fit(design: Design, rows: Array, weights: Array | None = None, exact: tuple[Array, Array] | None = None) -> Fit:
    """Return the minimiser of Σ w (r − Q x)² subject to exact facts, with Cov = G Cov(ΣQᵀWe) G, G = H⁻¹.

    ``rows`` are (T, k, replicates), ``weights`` (T, k); ``exact`` holds rows (m, f) and values (replicates, m).
    """
    H, V = design.matrices(weights)
    rhs = design.adjoint(rows if weights is None else rows * weights[:, :, None]).T
    solution = solve(H, *(exact or (None, None)))
    G = solution.inverse
    covariance = G @ V @ G
    covariance = (covariance + covariance.T) / 2 + np.diag(_lost_digits(G, V, covariance.diagonal()))
    pinned = solution.pinned
    reach = pinned + G @ H @ (np.eye(H.shape[0]) - pinned)
    return Fit(solution.value(H, rhs), covariance, reach, solution, H)


def _lost_digits(G: Array, V: Array, variance: Array) -> Array:
    """Return the rounding errors of the diagonal of G V G, (f,), and 0 where they are small beside it.

    Where noise cancels in an estimate but rounding does not, the computed variance may even be negative.
    """
    size = np.abs(G)
    lost = 10 * G.shape[0] * np.finfo(np.float64).eps * np.einsum("ij,jk,ki->i", size, np.abs(V), size, optimize=True)
    return np.where(lost > _NEGLIGIBLE * variance, lost + np.maximum(-variance, 0.0), 0.0)


def as_estimate(model: Model, data: Outputs, method: str, fitted: Fit, prior: Prior | None, **facts: Any) -> Estimate:
    """Return the fit as an estimate of all agents, updated by a prior if there is one."""
    value, covariance, solution = fitted.value, fitted.covariance, fitted.solution
    facts |= {"condition": solution.condition, "rank": solution.rank, "identified": solution.identified}
    if prior is not None:
        mean, rest = prior.given(data.known)
        free = data.seen.free.size
        value, covariance = update(value, covariance, fitted.reach, mean, rest.covariance(free))
        facts |= {"rank": free, "identified": np.ones(free, dtype=bool)}
    return estimate_from(model, data, method, value, covariance, **facts)


def refuse_large(model: Model, method: str, why: str) -> None:
    """Refuse more agents than a dense covariance is fit for."""
    if model.n > DENSE_LIMIT:
        rule = f"{method} {why} takes at most {DENSE_LIMIT} agents"
        raise TooLargeError(complain(rule, got=model.n, remedy="use method='innovations', which takes millions"))


def fit_large(model: Model, data: Outputs, design: Design, method: str) -> Estimate:
    """Return the unweighted regression by conjugate gradients, its covariance as an operator."""
    diagonal = first_diagonal(design)

    def normal(columns: Array) -> Array:
        return design.adjoint(design.forward(columns))

    def invert(columns: Array) -> Array:
        return conjugate_gradients(normal, columns, diagonal)[0]

    def sandwich(columns: Array) -> Array:
        return invert(design.adjoint(design.covary(design.forward(invert(columns)))))

    rhs = design.adjoint(design.observed(data))
    value, condition = conjugate_gradients(normal, rhs, diagonal)
    note = f"by conjugate gradients; condition is that of the first, preconditioned by step {_first(design)}"
    covariance = Implicit(design.seen.free.size, sandwich)
    return estimate_from(model, data, method, value.T, covariance, condition=condition, note=note)


def first_diagonal(design: Design) -> Array:
    """Return a stand-in for the diagonal of H, (f,), from the first step: Σ_j Q_1[j, i]², 1 where nothing is seen."""
    first = design.model.update(1)
    seen = np.zeros(design.model.n)
    seen[design.seen.agents] = 1.0
    diagonal = first.gain**2 * seen
    if design.from_hidden:
        squared = first.adjacency.multiply(first.adjacency)
        diagonal = diagonal + squared.T @ (first.coupling_scale**2 * seen)
    return np.where(diagonal > 0, diagonal, 1.0)[design.seen.free]


def _first(design: Design) -> int:
    return int(design.seen.times[0])
