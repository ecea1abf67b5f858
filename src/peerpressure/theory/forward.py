"""Mean and covariance of all agents, by running the model's moments forwards."""

from __future__ import annotations

import numpy as np

from peerpressure.model import Model
from peerpressure.theory.adjoint import Sums, persistence
from peerpressure.theory.times import Times


def run_forwards(model: Model, times: Times) -> Sums:
    """Return mean and variance of every agent at increasing times, and the covariance at the last.

    P_t = C P_{t−1} Cᵀ + diag(b²) + (φ C R_{t−1} diag(b) + its transpose),  R_t = diag(b) + φ C R_{t−1},

    where b = g_t·std·scale_t, P = Cov(y) and R = Cov(y, u) with the noise u that is carried over.
    """
    n, phi = model.n, persistence(model.noise)
    std = model.noise.deviations(n)
    mean, P = model.start_state.copy(), np.zeros((n, n))
    R = np.zeros((n, n) if phi else (0, 0))
    means, variances = np.empty((times.size, n)), np.empty((times.size, n))
    rows = {int(time): row for row, time in enumerate(times)}
    diagonal = np.diag_indices(n)
    for t in range(int(times[-1]) + 1):
        if t > 0:
            update = model.update(t)
            b = update.gain * std * float(model.noise.scale(t))
            mean = update(mean)
            # P is symmetric, so that two products from the left are one from either side.
            P = update.couple(update.couple(P).T)
            P[diagonal] += b**2
            if phi:
                R = phi * update.couple(R)
                cross = R * b
                P += cross + cross.T
                R[diagonal] += b
        if t in rows:
            means[rows[t]], variances[rows[t]] = mean, P[diagonal]
    return Sums(means, variances, P)
