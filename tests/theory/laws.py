"""Laws of a model after some steps, straight from its definition in dense matrices: what tests of the theory rely on.

The state is z = (y, x, u): public opinions, hidden opinions, and noise in units of its standard deviation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model

Array = NDArray[np.float64]
# Steps whose matrices are made at a time.
BLOCK = 1_024


def rounds_of(model: Model) -> list[Array]:
    """Return the adjacency matrices up to the last change, or of one period."""
    span = 1 if model.temporal_network is None else model.temporal_network.span
    return [model.adjacency_at(t).toarray() for t in range(1, span + 1)]


def steps_of(model: Model, times: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return the matrices of z_t = F z_{t−1} + W w_t of all these steps."""
    n, phi, one = model.n, model.noise.autocorrelation, np.eye(model.n)
    rounds, temporal = np.stack(rounds_of(model)), model.temporal_network
    repeats = temporal is not None and temporal.period is not None
    A = rounds[(times - 1) % len(rounds) if repeats else np.minimum(times, len(rounds)) - 1]
    rho, d = model.pressure(times)[:, None], np.abs(A).sum(axis=2)
    total = model.s + rho * d
    gain, C = model.s / total, (rho / total)[:, :, None] * A
    if model.isolated == "keep":
        gain, C = np.where(d == 0, 0.0, gain), np.where((d == 0)[:, :, None], one, C)
    G = gain[:, :, None] * one
    N = G * (model.noise.deviations(n) * model.noise.scale(times)[:, None])[:, None]
    eta = np.zeros((times.size, n, 1))
    if model.adaptation is not None:
        eta = (model.adaptation.pace(times)[:, None] * model.adaptation.adaptation_weights(n))[:, :, None]
    public, drawn = np.concatenate([C, G, phi * N], axis=2), np.sqrt(1 - phi**2) * N
    F, W = np.zeros((times.size, 3 * n, 3 * n)), np.zeros((times.size, 3 * n, n))
    F[:, :n], F[:, n : 2 * n], F[:, 2 * n :, 2 * n :] = public, eta * public, phi * one
    F[:, n : 2 * n, n : 2 * n] += (1 - eta) * one
    W[:, :n], W[:, n : 2 * n], W[:, 2 * n :] = drawn, eta * drawn, np.sqrt(1 - phi**2) * one
    return F, W


def law_after(model: Model, steps: int) -> tuple[Array, Array]:
    """Return mean and covariance of z."""
    return next(laws_after(model, [steps]))


def laws_after(model: Model, horizons: Sequence[int]) -> Iterator[tuple[Array, Array]]:
    """Yield mean and covariance of z after numbers of steps that increase."""
    n = model.n
    mean = np.concatenate([model.start_state, model.x0, np.zeros(n)])
    # u_0 has unit variance, so u_1 = φ u_0 + √(1−φ²) w_1 has it too.
    P = np.zeros((3 * n, 3 * n))
    P[2 * n :, 2 * n :] = np.eye(n)
    for before, steps in pairwise([0, *horizons]):
        for times in _blocks(steps, before):
            F, W = steps_of(model, times)
            F, Q = _composed(F, W @ W.transpose(0, 2, 1))
            mean, P = F @ mean, F @ P @ F.T + Q
        yield mean, P


def mean_after(model: Model, steps: int) -> Array:
    """Return the mean of the public opinions."""
    n = model.n
    z = np.concatenate([model.start_state, model.x0])
    for times in _blocks(steps):
        F = steps_of(model, times)[0][:, : 2 * n, : 2 * n]
        z = _composed(F, np.zeros_like(F))[0] @ z
    return np.asarray(z[:n])


def limit_of(model: Model, steps: int = 2_000) -> Array:
    """Return where means end that approach their limit like 1/t, from two horizons of the same parity."""
    return np.asarray(2 * mean_after(model, 2 * steps) - mean_after(model, steps))


def std_after(model: Model, steps: int) -> Array:
    """Return the standard deviations of the public opinions."""
    return np.sqrt(np.diag(law_after(model, steps)[1]))[: model.n]


def mean_path(model: Model, steps: int) -> tuple[Array, Array]:
    """Return the means of public and hidden opinions after 0…steps steps, (steps + 1, agents)."""
    n, path = model.n, np.empty((steps + 1, 2 * model.n))
    path[0] = np.concatenate([model.start_state, model.x0])
    for times in _blocks(steps):
        F = np.ascontiguousarray(steps_of(model, times)[0][:, : 2 * n, : 2 * n])
        for t, step in zip(times.tolist(), F, strict=True):
            np.matmul(step, path[t - 1], out=path[t])
    return path[:, :n], path[:, n:]


def laws(model: Model, steps: int) -> Iterator[tuple[Array, Array]]:
    """Yield mean and covariance of y after 1…steps steps; for white noise, and networks and opinions that are constant.

    It is random who updates where the model says so: each agent by itself, or one of them at a time.
    """
    A, n, y, P = model.network.adjacency.toarray(), model.n, model.start_state, np.zeros((model.n, model.n))
    d, one, times = np.abs(A).sum(axis=1), np.eye(n), np.arange(1, steps + 1)
    noise = model.noise.deviations(n) * model.noise.scale(times)[:, None]
    q, together = np.ones(n), np.zeros((n, n))
    if model.activation is not None:
        q = model.activation.probabilities
        single = model.activation.kind == "single"
        together = np.diag(q) - 1 / n**2 if single else np.diag(q * (1 - q))
    for rho, sigma in zip(model.pressure(times).tolist(), noise, strict=True):
        g, change = model.s / (model.s + rho * d), (rho / (model.s + rho * d))[:, None] * A - one
        drift, fresh = g * model.x0 + change @ y, np.diag((g * sigma) ** 2)
        lazy = one + q[:, None] * change
        spread = lazy @ P @ lazy.T + q[:, None] * fresh * q
        if model.activation is not None:
            spread += together * (change @ P @ change.T + fresh + np.outer(drift, drift))
        y, P = y + q * drift, spread
        yield y, P


def law_of_public(model: Model, steps: int) -> tuple[Array, Array]:
    """Return the last of the ``laws``."""
    *_, last = laws(model, steps)
    return last


def rms_distance(model: Model, steps: int) -> float:
    """Return the root mean square of y_i − v over agents and noise."""
    plain = model.adaptation is None and model.temporal_network is None and model.noise.autocorrelation == 0
    mean, P = law_of_public(model, steps) if plain else law_after(model, steps)
    n, v = model.n, float(model.s @ model.x0 / model.s.sum())
    return float(np.sqrt(np.mean((mean[:n] - v) ** 2 + np.diag(P)[:n])))


def _blocks(steps: int, before: int = 0) -> Iterator[NDArray[np.int64]]:
    for begin in range(before, steps, BLOCK):
        yield np.arange(begin + 1, min(begin + BLOCK, steps) + 1)


def _composed(F: Array, Q: Array) -> tuple[Array, Array]:
    """Return the map of all steps, and the covariance that they add; neighbours are joined until one is left."""
    while len(F) > 1:
        if len(F) % 2:
            F = np.concatenate([F, np.eye(F.shape[1])[None]])
            Q = np.concatenate([Q, np.zeros_like(Q[:1])])
        later = F[1::2]
        F, Q = later @ F[::2], later @ Q[::2] @ later.transpose(0, 2, 1) + Q[1::2]
    return F[0], Q[0]
