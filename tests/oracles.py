"""What the engine must do, said once more in dense matrices straight from the definition."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure.engine.narrow import draw_narrow
from peerpressure.engine.plan import STREAM_FRESH, STREAM_FROZEN, draw_of

Array = NDArray[np.float64]


def fresh_draw(model: pp.Model, step: int, replicate: int, seed: int, stream: int = STREAM_FRESH) -> Array:
    """Return the unit-variance draw of every agent at one step."""
    out, noise = np.empty((1, model.n)), model.noise
    draw_narrow(draw_of(noise, seed), step, replicate, stream, out)
    return noise.standardise(noise.distribution.ppf(out[0])) if isinstance(noise, pp.noise.Custom) else out[0]


def unit_noise(model: pp.Model, steps: int, replicate: int, seed: int) -> Array:
    """Return u_1 … u_T of one replicate, from the engine's raw draws by the definitions of the temporal kinds."""
    noise = model.noise
    fresh = np.array([fresh_draw(model, t, replicate, seed) for t in range(1, steps + 1)])
    if isinstance(noise.temporal, pp.noise.White):
        return fresh
    held = fresh_draw(model, 0, replicate, seed, STREAM_FROZEN)
    if isinstance(noise.temporal, pp.Frozen):
        return np.tile(held, (steps, 1))
    phi, out = noise.temporal.coefficient, []
    for z in fresh:
        held = phi * held + np.sqrt(1 - phi**2) * z
        out.append(held)
    return np.array(out)


def dense_run(model: pp.Model, steps: int, replicate: int, seed: int) -> tuple[Array, Array]:
    """Return y_0 … y_T and what agents hold after each, where networks change and opinions adapt, too."""
    S, u = np.diag(model.s), unit_noise(model, steps, replicate, seed)
    y, x = [model.start_state], [np.asarray(model.x0)]
    for t in range(1, steps + 1):
        A = (model.network.adjacency if model.temporal_network is None else model.temporal_network.at(t)).toarray()
        rho = float(model.pressure(t))
        xi = x[-1] + model.noise.deviations(model.n) * model.noise.scale(t) * u[t - 1]
        shown = np.linalg.solve(S + rho * np.diag(A.sum(axis=1)), S @ xi + rho * A @ y[-1])
        y.append(np.where(A.any(axis=1) | (model.isolated == "own"), shown, y[-1]))
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
        y = np.where((degrees[:, None] > 0) | (model.isolated == "own"), shown, y)
        x = x if model.adaptation is None else x + model.adaptation.at(t, n)[:, None] * (y - x)
        rows.append(y)
    whole = np.array(rows)
    draws = whole[:, :, 2 * n :].reshape(-1, n * steps)
    return whole[:, :, :n], whole[:, :, n : 2 * n], draws @ draws.T


def dense_states(model: pp.Model, steps: int, replicate: int, seed: int) -> Array:
    """Return y_0 … y_T alone."""
    return dense_run(model, steps, replicate, seed)[0]
