"""Stationary mean of public opinions on random networks whose steps are independent.

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

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve

from peerpressure.model import Model, Vector
from peerpressure.networks import NetworkLaw, complete
from peerpressure.progress import checkpoint
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
