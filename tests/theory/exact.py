"""The law of the state after some steps, by the recursion of its mean and covariance in dense matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model

Array = NDArray[np.float64]


# Steps whose matrices are made at a time.
BLOCK = 1_024
# Agents above which public opinions are followed alone where that is possible.
LARGE = 40


def exact_law(model: Model, steps: int) -> tuple[Array, Array]:
    """Return mean and covariance of z = (y, x, u): public opinions, hidden opinions and noise in units of its std."""
    n = model.n
    mean = np.concatenate([model.start_state, model.x0, np.zeros(n)])
    # u_0 has unit variance, so u_1 = φ u_0 + √(1−φ²) w_1 has it too.
    P = np.zeros((3 * n, 3 * n))
    P[2 * n :, 2 * n :] = np.eye(n)
    for begin in range(0, steps, BLOCK):
        F, Q = composed(*_steps(model, np.arange(begin + 1, min(begin + BLOCK, steps) + 1)))
        mean, P = F @ mean, F @ P @ F.T + Q
    return mean, P


def composed(F: Array, Q: Array) -> tuple[Array, Array]:
    """Return the map of all steps, and the covariance that they add; neighbours are joined until one is left."""
    while len(F) > 1:
        if len(F) % 2:
            F = np.concatenate([F, np.eye(F.shape[1])[None]])
            Q = np.concatenate([Q, np.zeros_like(Q[:1])])
        later = F[1::2]
        F, Q = later @ F[::2], later @ Q[::2] @ later.transpose(0, 2, 1) + Q[1::2]
    return F[0], Q[0]


def _networks(model: Model, times: NDArray[np.int64]) -> Array:
    """Return the adjacency matrices of steps, each of which is read once: the last stays, or all of them repeat."""
    temporal = model.temporal_network
    last = 1 if temporal is None else temporal.span
    rounds = np.stack([model.adjacency_at(t).toarray() for t in range(1, last + 1)])
    repeats = temporal is not None and temporal.period is not None
    return np.asarray(rounds[(times - 1) % last if repeats else np.minimum(times, last) - 1])


def _steps(model: Model, times: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return the matrices of z_t = F z_{t−1} + W w_t, and WWᵀ, of all these steps."""
    n, phi, one = model.n, model.noise.autocorrelation, np.eye(model.n)
    A, rho = _networks(model, times), model.pressure(times)[:, None]
    total = model.s + rho * np.abs(A).sum(axis=2)
    G, C = (model.s / total)[:, :, None] * one, (rho / total)[:, :, None] * A
    N = G * (model.noise.deviations(n) * model.noise.scale(times)[:, None])[:, None]
    eta = np.zeros((times.size, n, 1))
    if model.adaptation is not None:
        eta = (model.adaptation.pace(times)[:, None] * model.adaptation.adaptation_weights(n))[:, :, None]
    public, drawn = np.concatenate([C, G, phi * N], axis=2), np.sqrt(1 - phi**2) * N
    F, W = np.zeros((times.size, 3 * n, 3 * n)), np.zeros((times.size, 3 * n, n))
    F[:, :n], F[:, n : 2 * n], F[:, 2 * n :, 2 * n :] = public, eta * public, phi * one
    F[:, n : 2 * n, n : 2 * n] += (1 - eta) * one
    W[:, :n], W[:, n : 2 * n], W[:, 2 * n :] = drawn, eta * drawn, np.sqrt(1 - phi**2) * one
    return F, W @ W.transpose(0, 2, 1)


def _is_simple(model: Model) -> bool:
    return model.adaptation is None and model.temporal_network is None and model.noise.autocorrelation == 0


def _public_law(model: Model, steps: int) -> tuple[Array, Array]:
    """Return mean and covariance of y alone, step by step, where hidden opinions and noise have no memory."""
    A, y, P = model.network.adjacency.toarray(), model.start_state, np.zeros((model.n, model.n))
    deviations = model.noise.deviations(model.n)
    for t in range(1, steps + 1):
        rho, scale = float(model.pressure(t)), float(model.noise.scale(t))
        total = model.s + rho * np.abs(A).sum(axis=1)
        C, g = rho / total[:, None] * A, model.s / total
        y, P = g * model.x0 + C @ y, C @ P @ C.T + np.diag((g * deviations * scale) ** 2)
    return y, P


def rms_distance(model: Model, steps: int) -> float:
    """Return the root mean square of y_i − v over agents and noise."""
    mean, P = exact_law(model, steps) if model.n <= LARGE or not _is_simple(model) else _public_law(model, steps)
    n, v = model.n, float(model.s @ model.x0 / model.s.sum())
    return float(np.sqrt(np.mean((mean[:n] - v) ** 2 + np.diag(P)[:n])))
