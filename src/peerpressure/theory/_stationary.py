"""Stationary states under bounded pressure: the deviations of the mode and the agents, and the mean on random networks.

With M = S + ρD the coupling C = M⁻¹ρA is similar to the symmetric matrix M^(−½)ρA M^(−½) = QΛQᵀ. In its eigenvectors
the noise of one step has the covariance N = Qᵀ S Σ M⁻¹ S Q, Σ = diag σ², and that of the state is N_ij h(λ_i, λ_j) with

    h(λ, μ) = Σ_{k,l ≥ 0} λ^k μ^l φ^|k − l| = (1 − φ²λμ)/((1 − λμ)(1 − φλ)(1 − φμ))

for noise of autocorrelation φ, frozen noise (φ = 1) included, and 1/(2 − λ − μ) for white noise in continuous time.

Where A_t is drawn anew in every step, y_{t−1} does not depend on C_t and g_t, so that the mean obeys
E y_t = E[g]∘x₀ + E[C] E y_{t−1}, with the limit (I − E[C])⁻¹ (E[g]∘x₀). Averaging the networks first, and then their
fixed point, gives another value, since C_t is not linear in A_t.

References
----------
.. [1] Y. Hatano, M. Mesbahi, "Agreement over random networks", IEEE Trans. Autom. Control 50 (2005).
.. [2] A. Tahbaz-Salehi, A. Jadbabaie, "A necessary and sufficient condition for consensus over random networks", IEEE
   Trans. Autom. Control 53 (2008).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import sparse
from scipy.linalg import solve_continuous_lyapunov, solve_discrete_lyapunov
from scipy.sparse.linalg import spsolve

from peerpressure.model import Model, Vector
from peerpressure.networks import NetworkLaw, complete
from peerpressure.progress import checkpoint
from peerpressure.theory._classification import LongRun
from peerpressure.theory._regime import LATE, Regime

# Pairs, in both directions, up to which expectations are computed: 300 numbers for each, and a sparse solve.
MOST_PAIRS = 200_000
# Step of the trapezoidal rule in log u. It has an error of e^(−π²/step), as the integrand is analytic for Re u > 0.
STEP = 0.2


def stationary_mean(model: Model, law: NetworkLaw, regime: Regime) -> Vector | None:
    """Return the limit of the mean public opinions, shape (agents,), or None if it is not computed.

    Hidden opinions are constant; under growing pressure the limit is that of ρ = ∞.
    """
    if law.presence is None or law.memory or regime is Regime.UNKNOWN:
        return None
    pairs = model.n * (model.n - 1) if law.pairs is None else law.pairs.adjacency.nnz
    if pairs > MOST_PAIRS:
        return None
    network = complete(model.n) if law.pairs is None else law.pairs
    rho = float(model.pressure(LATE)) if regime is Regime.BOUNDED else math.inf
    coupling = expected_coupling(network.adjacency, law.presence, model.s / rho) if rho > 0 else None
    if coupling is None:
        return model.x0
    # Rows of E[C] and E[g] sum up to 1.
    gain = 1 - np.asarray(coupling.sum(axis=1))
    identity = sparse.eye_array(model.n, format="csr")
    return np.asarray(spsolve(sparse.csc_array(identity - coupling), gain * model.x0))


def expected_coupling(adjacency: sparse.csr_array, presence: float, own: Vector) -> sparse.csr_array:
    """Return E[C] where every edge is present with a probability q, independently of the others.

    With b = 1 for an edge that is present, an agent of own weight s/ρ has C_j = w_j b_j/(s/ρ + Σ w_k b_k). Since
    1/z = ∫ e^(−zu) du, independence gives

        E[C_j] = q w_j ∫ e^(−(s/ρ + w_j)u) Π_{k≠j} (1 − q + q e^(−w_k u)) du.
    """
    found = adjacency.astype(np.float64, copy=True)
    for i in range(adjacency.shape[0]):
        checkpoint()
        row = slice(int(adjacency.indptr[i]), int(adjacency.indptr[i + 1]))
        if row.start < row.stop:
            found.data[row] = _expected_row(adjacency.data[row], presence, float(own[i]))
    return found


def _expected_row(weights: Vector, presence: float, own: float) -> Vector:
    # Below the first node the integrand is constant up to rounding, and beyond the last it underflows.
    first, last = math.log(1e-18 / (own + weights.sum())), math.log(745 / (own + weights.min()))
    u = np.exp(np.arange(first, last + STEP, STEP))
    logs = np.log1p(presence * np.expm1(-np.outer(weights, u)))
    others = logs.sum(axis=0) - logs - (own + weights)[:, None] * u
    return np.asarray(presence * weights * (np.exp(others) @ u) * STEP)


# Stationary deviations under bounded pressure: of the consensus mode, and of each agent.
#
# With M = S + ρD the coupling C = M⁻¹ρA is similar to the symmetric matrix M^(−½)ρA M^(−½) = QΛQᵀ. In its eigenvectors
# the noise of one step has the covariance N = Qᵀ S Σ M⁻¹ S Q, Σ = diag σ², and that of the state is N_ij h(λ_i, λ_j)
# with
#
#     h(λ, μ) = Σ_{k,l ≥ 0} λ^k μ^l φ^|k − l| = (1 − φ²λμ)/((1 − λμ)(1 − φλ)(1 − φμ))
#
# for noise of autocorrelation φ, frozen noise (φ = 1) included, and 1/(2 − λ − μ) for white noise in continuous time.

# Agents up to which all eigenvalues are computed, some tenths of a second.
MOST_AGENTS = 600
# Multiplications that the series for a larger network may take.
MOST_WORK = 3e8
# Share of the variance that the series may leave out.
NEGLIGIBLE = 1e-12


@final
@dataclass(frozen=True, eq=False)
class Fluctuation:
    """Stationary standard deviations: of the consensus mode and, up to 600 agents, of each agent."""

    mode: float
    agents: Vector | None


def fluctuation(long_run: LongRun) -> Fluctuation | None:
    """Return the stationary deviations where pressure and noise scale have limits; None where they are not known.

    They are those of constant hidden opinions on the network that stays for ever.
    """
    model, networks, phi = long_run.model, long_run.structure.networks, long_run.phi
    rho, scale = model.pressure.growth.limit, model.noise.time_scale.growth.limit
    known = rho is not None and scale is not None and math.isfinite(rho) and math.isfinite(scale)
    known = known and long_run.structure.constant_opinions
    if not known or networks is None or networks.count > 1 or (long_run.continuous and phi not in (0.0, 1.0)):
        return None
    assert rho is not None
    assert scale is not None
    A, d = networks.adjacency[0], networks.degrees[0]
    M, sigma = model.s + rho * d, long_run.deviations * scale
    if model.network.directed:
        if model.n <= MOST_AGENTS:
            return _by_equations(long_run, rho * A.toarray() / M[:, None], model.mode_weights, model.s * sigma / M)
        back = rho * model.network.transposed
        return None if long_run.continuous else _by_series(back, model.mode_weights, M, model.s * sigma, phi)
    if model.n <= MOST_AGENTS:
        return _by_eigenvalues(long_run, rho * A.toarray(), d / d.sum(), M, sigma)
    return None if long_run.continuous else _by_series(rho * A, d / d.sum(), M, model.s * sigma, phi)


def _by_equations(long_run: LongRun, C: Vector, w: Vector, noise: Vector) -> Fluctuation:
    """Solve the Lyapunov equation P = C P Cᵀ + GGᵀ, or that of continuous time, where C is not symmetric.

    AR(1) noise u adds the covariance φ(I − φC)⁻¹G of y_{t−1} with u_t to it.
    """
    phi, one, G = long_run.phi, np.eye(w.size), np.diag(noise)
    if phi == 1:
        root = np.linalg.solve(one - C, G)
        P = root @ root.T
    elif long_run.continuous:
        P = solve_continuous_lyapunov(one - C, G @ G)
    else:
        cross = C @ (phi * np.linalg.solve(one - phi * C, G)) @ G
        P = solve_discrete_lyapunov(C, cross + cross.T + G @ G)
    return Fluctuation(math.sqrt(max(0.0, float(w @ P @ w))), np.sqrt(np.maximum(np.diag(P), 0.0)))


def _by_eigenvalues(long_run: LongRun, coupling: Vector, w: Vector, M: Vector, sigma: Vector) -> Fluctuation:
    root, phi = np.sqrt(M), long_run.phi
    values, Q = np.linalg.eigh(coupling / root[:, None] / root)
    # S Σ M⁻¹ S in the basis of eigenvectors.
    N = Q.T @ ((long_run.model.s * sigma) ** 2 / M * Q.T).T
    one, other = values[:, None], values[None, :]
    if long_run.continuous and phi == 0:
        covariance = N / (2 - one - other)
    else:
        covariance = N * (1 - phi**2 * one * other) / ((1 - phi * one) * (1 - phi * other))
        # For frozen noise the two factors 1 − λμ cancel.
        covariance = N / ((1 - one) * (1 - other)) if phi == 1 else covariance / (1 - one * other)
    mode = Q.T @ (w / root)
    variances = np.sum((Q @ covariance) * Q, axis=1) / M
    return Fluctuation(math.sqrt(max(0.0, float(mode @ covariance @ mode))), np.sqrt(np.maximum(variances, 0.0)))


def _by_series(coupling: sparse.csr_array, w: Vector, M: Vector, s_sigma: Vector, phi: float) -> Fluctuation | None:
    """Sum over the steps back in time with which noise enters the mode; None if that takes too many.

    ``coupling`` is ρAᵀ.
    """
    weights, past, variance = w, np.zeros_like(w), 0.0
    # Rows of C sum to at most α < 1, so that the weights fall like α^k.
    fall = -math.log(float(np.max(1 - (M - coupling.T @ np.ones_like(w)) / M)))
    steps = math.ceil(-math.log(NEGLIGIBLE) / fall) if fall > 0 else math.inf
    if steps * (coupling.nnz + 10 * w.size) > MOST_WORK:
        return None
    for _ in range(int(steps)):
        checkpoint()
        entering = s_sigma / M * weights
        past = entering + phi * past
        # Σ_{k,l} a_k a_l φ^|k−l|, each pair k ≠ l counted twice.
        variance += float(2 * entering @ past - entering @ entering)
        weights = coupling @ (weights / M)
    return Fluctuation(math.sqrt(variance), None)
