"""What the engine must do, said once more in dense matrices straight from the definition."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure.engine.narrow import draw_narrow
from peerpressure.engine.plan import STREAM_FRESH, STREAM_FROZEN, draw_of
from peerpressure.theory import two_agents

Array = NDArray[np.float64]


def fresh_draws(model: pp.Model, steps: Sequence[int], replicate: int, seed: int, stream: int = STREAM_FRESH) -> Array:
    """Return the unit-variance draws of every agent at some steps, (steps, agents)."""
    out, noise = np.empty((len(steps), 1, model.n)), model.noise
    draw = draw_of(noise, seed)
    for step, row in zip(steps, out, strict=True):
        draw_narrow(draw, step, replicate, stream, row)
    drawn: Array = out[:, 0]
    return noise.standardise(noise.distribution.ppf(drawn)) if isinstance(noise, pp.noise.Custom) else drawn


def fresh_draw(model: pp.Model, step: int, replicate: int, seed: int, stream: int = STREAM_FRESH) -> Array:
    """Return the unit-variance draw of every agent at one step."""
    drawn: Array = fresh_draws(model, [step], replicate, seed, stream)[0]
    return drawn


def unit_noise(model: pp.Model, steps: int, replicate: int, seed: int) -> Array:
    """Return u_1 … u_T of one replicate, from the engine's raw draws by the definitions of the temporal kinds."""
    noise = model.noise
    if isinstance(noise.temporal, pp.Frozen):
        return np.tile(fresh_draw(model, 0, replicate, seed, STREAM_FROZEN), (steps, 1))
    fresh = fresh_draws(model, range(1, steps + 1), replicate, seed)
    if isinstance(noise.temporal, pp.noise.White):
        return fresh
    held = fresh_draw(model, 0, replicate, seed, STREAM_FROZEN)
    phi, out = noise.temporal.coefficient, []
    for z in fresh:
        held = phi * held + np.sqrt(1 - phi**2) * z
        out.append(held)
    return np.array(out)


def philox(counter: tuple[int, int, int, int], seed: int) -> tuple[int, int, int, int]:
    """Return the words of Philox-4x32-10 in plain integers."""
    (c0, c1, c2, c3), (k0, k1) = counter, (seed % 2**32, seed >> 32)
    for _ in range(10):
        p0, p1 = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 % 2**32, (p0 >> 32) ^ c3 ^ k1, p0 % 2**32
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return c0, c1, c2, c3


def who_updates(model: pp.Model, steps: int, replicate: int, seed: int) -> NDArray[np.bool_]:
    """Return who updates at steps 1 … T of one replicate, (steps, agents)."""
    if model.activation is None:
        return np.ones((steps, model.n), np.bool_)
    if not model.activation.is_random:
        return np.asarray(model.activation.values[:steps], np.bool_)
    out = np.zeros((steps, model.n), np.bool_)
    for t, row in enumerate(out, 1):
        if model.activation.kind == "single":
            high, low, *_ = philox((0, t, replicate, 2**31), seed)
            row[((high << 32) + low) * model.n >> 64] = True
            continue
        words = np.array([philox((k, t, replicate, 2**31), seed) for k in range(-(-model.n // 4))]).ravel()
        row[:] = words[: model.n] < np.ceil(model.activation.values * 2**32)
    return out


@lru_cache(maxsize=256)
def _adjacency_at(network: pp.TemporalNetwork, t: int) -> Array:
    """Return the network of a step, which several replicates share."""
    return np.asarray(network.at(t).toarray())


def dense_run(model: pp.Model, steps: int, replicate: int, seed: int) -> tuple[Array, Array]:
    """Return y_0 … y_T and what agents hold after each, where networks change and opinions adapt, too."""
    s, u, sigma = model.s, unit_noise(model, steps, replicate, seed), model.noise.deviations(model.n)
    constant = model.network.adjacency.toarray()
    y, x, active = [model.start_state], [np.asarray(model.x0)], who_updates(model, steps, replicate, seed)
    for t in range(1, steps + 1):
        A = constant if model.temporal_network is None else _adjacency_at(model.temporal_network, t)
        rho = float(model.pressure(t))
        xi = x[-1] + sigma * model.noise.scale(t) * u[t - 1]
        shown = (s * xi + rho * A @ y[-1]) / (s + rho * A.sum(axis=1))
        y.append(np.where(active[t - 1] & (A.any(axis=1) | (model.isolated == "own")), shown, y[-1]))
        eta = 0.0 if model.adaptation is None else model.adaptation.at(t, model.n)
        x.append(x[-1] + eta * (y[-1] - x[-1]))
    return np.array(y), np.array(x)


def joint_law(model: pp.Model, steps: int) -> tuple[Array, Array, Array]:
    """Return how y_0 … y_T depend on x₀ and on a given start, and their covariance; (T + 1, n, n) twice, a square one.

    Straight from the definition: each y_t is a linear function of x₀, the start and all draws of unit variance.
    """
    n, noise = model.n, model.noise
    lags = np.abs(np.subtract.outer(np.arange(steps), np.arange(steps)))
    root = np.linalg.cholesky(np.float64(noise.autocorrelation) ** lags + 1e-14 * np.eye(steps))
    # Columns: x₀, the start, the draws.
    x, y = np.eye(n, n * (2 + steps)), np.eye(n, n * (2 + steps), n)
    rows = [y]
    for t in range(1, steps + 1):
        A = (model.network.adjacency if model.temporal_network is None else model.temporal_network.at(t)).toarray()
        rho, degrees = float(model.pressure(t)), A.sum(axis=1)
        sigma = noise.deviations(n) * noise.scale(t) if not noise.is_zero else np.zeros(n)
        xi = x.copy()
        for k in range(t):
            xi[:, n * (2 + k) : n * (3 + k)] += root[t - 1, k] * np.diag(sigma)
        shown = (model.s[:, None] * xi + rho * A @ y) / (model.s + rho * degrees)[:, None]
        # Who updates must be known, or be everybody.
        active = who_updates(model, t, 0, 0)[-1][:, None]
        y = np.where(active & ((degrees[:, None] > 0) | (model.isolated == "own")), shown, y)
        x = x if model.adaptation is None else x + model.adaptation.at(t, n)[:, None] * (y - x)
        rows.append(y)
    whole = np.array(rows)
    draws = whole[:, :, 2 * n :].reshape(-1, n * steps)
    return whole[:, :, :n], whole[:, :, n : 2 * n], draws @ draws.T


def dense_states(model: pp.Model, steps: int, replicate: int, seed: int) -> Array:
    """Return y_0 … y_T alone."""
    return dense_run(model, steps, replicate, seed)[0]


def gram_inverse(T: int) -> Array:
    """Return the inverse of ``two_agents.gram(T)``, whose eigenvalues are T on (1, 1) and 2·series(T) on (1, −1)."""
    contrast = np.array([[1.0, -1.0], [-1.0, 1.0]])
    return np.ones((2, 2)) / (2 * T) + contrast / (4 * two_agents.series(T))
