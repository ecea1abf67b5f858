"""Stationary deviations under bounded pressure: of the consensus mode, and of each agent.

With M = S + ρD the coupling C = M⁻¹ρA is similar to the symmetric matrix M^(−½)ρA M^(−½) = QΛQᵀ. In its eigenvectors
the noise of one step has the covariance N = Qᵀ S Σ M⁻¹ S Q, Σ = diag σ², and that of the state is N_ij h(λ_i, λ_j) with

    h(λ, μ) = Σ_{k,l ≥ 0} λ^k μ^l φ^|k − l| = (1 − φ²λμ)/((1 − λμ)(1 − φλ)(1 − φμ))

for noise of autocorrelation φ, frozen noise (φ = 1) included, and 1/(2 − λ − μ) for white noise in continuous time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import sparse

from peerpressure.model import Vector
from peerpressure.progress import checkpoint
from peerpressure.theory._classification import LongRun

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
    if model.n <= MOST_AGENTS:
        return _by_eigenvalues(long_run, rho * A.toarray(), d / d.sum(), M, sigma)
    return None if long_run.continuous else _by_series(rho * A, d / d.sum(), M, model.s * sigma, phi)


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
    """Sum over the steps back in time with which noise enters the mode; None if that takes too many."""
    weights, past, variance = w, np.zeros_like(w), 0.0
    # Rows of C sum to at most α < 1, so that the weights fall like α^k.
    fall = -math.log(float(np.max(1 - (M - coupling @ np.ones_like(w)) / M)))
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
