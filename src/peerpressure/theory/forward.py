"""Mean and covariance of all agents, by running the model's moments forwards."""

from __future__ import annotations

import numpy as np

from peerpressure.model import Model, Update, Vector
from peerpressure.theory.adjoint import Sums, persistence
from peerpressure.theory.times import Times


def run_forwards(model: Model, times: Times, *, hidden: bool = False) -> Sums:
    """Return mean and variance of every agent at increasing times, and the covariance at the last.

    With M the linear part of a step, N the weights with which its noise u enters, P = Cov(z) and R = Cov(z, u),

    P_t = M P_{t−1} Mᵀ + N Nᵀ + (φ M R_{t−1} Nᵀ + its transpose),  R_t = N + φ M R_{t−1}.

    While hidden opinions are constant z is the public state, M = C and N = diag(b) with b = g_t·std·scale_t. Where they
    adapt, or where ``hidden`` asks for them, z holds the public state and then the hidden one: what agents hold
    once they have shown y_t.
    """
    n, phi = model.n, persistence(model.noise)
    std = model.noise.deviations(n)
    parts = 2 if hidden or model.adaptation is not None else 1
    size = parts * n
    mean = np.concatenate([model.start_state, model.x0])[:size]
    P, R = np.zeros((size, size)), np.zeros((size, n) if phi else (0, 0))
    kept = size if hidden else n
    means, variances = np.empty((times.size, kept)), np.empty((times.size, kept))
    rows = {int(time): row for row, time in enumerate(times)}
    for t in range(int(times[-1]) + 1):
        if t > 0:
            update = model.update(t)
            mean = _step(update, mean)
            # P is symmetric, so that two products from the left are one from either side.
            P = _linear_part(update, _linear_part(update, P).T)
            N = _noise_weights(update, std * float(model.noise.scale(t)), parts)
            np.einsum("aibi->abi", P.reshape(parts, n, parts, n))[...] += N[:, None] * N
            if phi:
                R = phi * _linear_part(update, R)
                cross = (R[:, None, :] * N).reshape(size, size)
                P += cross + cross.T
                np.einsum("aii->ai", R.reshape(parts, n, n))[...] += N
        if t in rows:
            means[rows[t]], variances[rows[t]] = mean[:kept], np.diag(P)[:kept]
    return Sums(means, variances, P[:kept, :kept])


def _step(update: Update, state: Vector) -> Vector:
    """Return the next state without noise."""
    n = update.gain.size
    if state.size == n:
        return update(state)
    public = update(state[:n], hidden=state[n:])
    return np.concatenate([public, update.adapt(state[n:], public)])


def _linear_part(update: Update, columns: Vector) -> Vector:
    """Return M times these columns: y ← C y with constant opinions, else y ← g∘x + C y and x ← x + η∘(y − x)."""
    n = update.gain.size
    if columns.shape[0] == n:
        return update.couple(columns)
    public = update.gain[:, None] * columns[n:] + update.couple(columns[:n])
    return np.concatenate([public, update.adapt(columns[n:], public)])


def _noise_weights(update: Update, deviations: Vector, parts: int) -> Vector:
    """Return with what weight each agent's noise enters its public and its hidden opinion, shape (parts, agents)."""
    b = update.gain * deviations
    adaptation_rate = 0.0 if update.adaptation_rate is None else update.adaptation_rate
    return np.stack([b, adaptation_rate * b])[:parts]
