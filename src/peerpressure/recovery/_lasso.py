"""A vector autoregression with few coefficients: agents respond to any others, found by the lasso.

Each agent's answers are regressed on all answers of the row before, with a penalty on the absolute values of the
coefficients of others [1]_. Along a path of penalties the sets of others that are chosen are refitted by least squares,
and the extended criterion of Schwarz [2]_ selects one of them.

References
----------
.. [1] J. Friedman, T. Hastie and R. Tibshirani (2010), Regularization paths for generalized linear models via
   coordinate descent. Journal of Statistical Software 33.
.. [2] J. Chen and Z. Chen (2008), Extended Bayesian information criteria for model selection. Biometrika 95.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from peerpressure.progress import check_cancelled
from peerpressure.step import Array

# Penalties along a path, from the first at which no other agent has a coefficient to a hundredth of it.
_PENALTIES, _SMALLEST = 12, 0.01
_SWEEPS = 300
_TOLERANCE = 1e-6


@final
@dataclass(frozen=True, eq=False)
class Autoregression:
    """y_t = ``constants`` + ``coefficients`` y_{t−1} + noise of ``variances``.

    ``search`` is the charge for the choice among all sets of as many coefficients, on the scale of −2 log likelihood.
    """

    coefficients: Array
    constants: Array
    variances: Array
    log_likelihood: float
    parameters: int
    search: float


def fit_autoregression(rows: Array) -> Autoregression:
    """Return the autoregression of rows (T + 1, n) without gaps."""
    before, after = rows[:-1], rows[1:]
    steps, n = after.shape
    centre, level = before.mean(axis=0), after.mean(axis=0)
    X, Y = before - centre, after - level
    scale = np.sqrt(np.square(X).mean(axis=0)) + 1e-300
    G, C = (X / scale).T @ (X / scale) / steps, (X / scale).T @ Y / steps
    coefficients, parameters, search = np.zeros((n, n)), n, 0.0
    for agent in range(n):
        check_cancelled()
        row, count, charge = _one_agent(G, C[:, agent], float(np.square(Y[:, agent]).mean()), agent, steps)
        coefficients[agent] = row / scale
        parameters, search = parameters + count, search + charge
    residuals = Y - X @ coefficients.T
    variances = np.maximum(np.square(residuals).mean(axis=0), 1e-300)
    height = -0.5 * steps * float((np.log(2 * np.pi * variances) + 1).sum())
    return Autoregression(coefficients, level - coefficients @ centre, variances, height, parameters, search)


def _one_agent(G: Array, c: Array, size: float, own: int, steps: int) -> tuple[Array, int, float]:
    """Return the coefficients of one agent, their number with the constant, and the charge for the search."""
    n = c.size
    others = np.delete(np.abs(c - G[:, own] * c[own] / max(G[own, own], 1e-300)), own)
    top = float(others.max(initial=0.0)) + 1e-300
    beta, best = np.zeros(n), (np.inf, np.zeros(n), 1, 0.0)
    for penalty in top * np.geomspace(1.0, _SMALLEST, _PENALTIES):
        beta = _descent()(G, c, float(penalty), beta, own, _SWEEPS, _TOLERANCE)
        chosen = np.union1d(np.flatnonzero(beta), [own])
        # More coefficients than half of the rows would fit the noise.
        if chosen.size > steps // 2:
            break
        refitted = np.linalg.lstsq(G[np.ix_(chosen, chosen)], c[chosen], rcond=1e-10)[0]
        left = max(size - float(refitted @ c[chosen]), 1e-12 * size + 1e-300)
        charge = 2 * _log_choices(n - 1, chosen.size - 1)
        criterion = steps * np.log(left) + np.log(steps) * (chosen.size + 1) + charge
        if criterion < best[0]:
            full = np.zeros(n)
            full[chosen] = refitted
            best = (criterion, full, chosen.size + 1, charge)
    return best[1], best[2], best[3]


def _log_choices(n: int, k: int) -> float:
    return float(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1))


@cache
def _descent() -> Any:
    """Return coordinate descent, compiled; numba is imported only now because that takes long."""
    from numba import njit

    return njit(cache=True, nogil=True)(_coordinate_descent)


def _coordinate_descent(
    G: Array, c: Array, penalty: float, start: Array, own: int, sweeps: int, tolerance: float
) -> NDArray[np.float64]:
    """Return the minimum of ½βᵀGβ − cᵀβ + penalty Σ|β_j| over j ≠ own, from a given start."""
    beta = start.copy()
    gradient = c - G @ beta
    for _ in range(sweeps):
        worst = 0.0
        for j in range(c.size):
            if G[j, j] <= 1e-12:
                continue
            old = beta[j]
            free = gradient[j] + G[j, j] * old
            threshold = 0.0 if j == own else penalty
            new = np.sign(free) * max(abs(free) - threshold, 0.0) / G[j, j]
            if new != old:
                beta[j] = new
                # Only coefficients that change cost a pass over all agents.
                gradient -= G[j] * (new - old)
                worst = max(worst, abs(new - old))
        if worst < tolerance:
            break
    return beta
