"""The law of the state after some steps, by the recursion of its mean and covariance in dense matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model

Array = NDArray[np.float64]


def exact_law(model: Model, steps: int) -> tuple[Array, Array]:
    """Return mean and covariance of z = (y, x, u): public opinions, hidden opinions and noise in units of its std."""
    n, phi, one = model.n, model.noise.autocorrelation, np.eye(model.n)
    zero = np.zeros((n, n))
    mean = np.concatenate([model.start_state, model.x0, np.zeros(n)])
    # u_0 has unit variance, so u_1 = φ u_0 + √(1−φ²) w_1 has it too.
    P = np.zeros((3 * n, 3 * n))
    P[2 * n :, 2 * n :] = one
    for t in range(1, steps + 1):
        A, rho = model.adjacency_at(t).toarray(), float(model.pressure(t))
        total = model.s + rho * np.abs(A).sum(axis=1)
        G, C = np.diag(model.s / total), (rho / total)[:, None] * A
        N = G @ np.diag(model.noise.deviations(n) * model.noise.scale(t))
        eta = np.diag(np.zeros(n) if model.adaptation is None else model.adaptation.at(t, n))
        public, drawn = np.hstack([C, G, phi * N]), np.sqrt(1 - phi**2) * N
        F = np.vstack([public, eta @ public + np.hstack([zero, one - eta, zero]), np.hstack([zero, zero, phi * one])])
        W = np.vstack([drawn, eta @ drawn, np.sqrt(1 - phi**2) * one])
        mean, P = F @ mean, F @ P @ F.T + W @ W.T
    return mean, P


def rms_distance(model: Model, steps: int) -> float:
    """Return the root mean square of y_i − v over agents and noise."""
    mean, P = exact_law(model, steps)
    n, v = model.n, float(model.s @ model.x0 / model.s.sum())
    return float(np.sqrt(np.mean((mean[:n] - v) ** 2 + np.diag(P)[:n])))
