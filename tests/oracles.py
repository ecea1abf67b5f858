"""What the engine must do, said once more in dense matrices straight from the definition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure.simulation.engine.narrow import draw_narrow
from peerpressure.simulation.engine.plan import STREAM_FRESH, STREAM_FROZEN, draw_of
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
        shown = (s * xi + rho * A @ y[-1]) / (s + rho * np.abs(A).sum(axis=1))
        y.append(np.where(active[t - 1] & (A.any(axis=1) | (model.isolated == "own")), shown, y[-1]))
        eta = 0.0 if model.adaptation is None else model.adaptation.at(t, model.n)
        x.append(x[-1] + eta * (y[-1] - x[-1]))
    return np.array(y), np.array(x)


@final
@dataclass(frozen=True)
class Affine:
    """Rows c + B x₀ + L e, the errors e independent of variance 1; (…, m), (…, m, n) and (…, m, errors)."""

    c: Array
    B: Array
    L: Array

    def __getitem__(self, rows: Any) -> Affine:
        return Affine(self.c[rows], self.B[rows], self.L[rows])

    def stacked(self) -> Affine:
        """Return the rows of all steps below each other."""
        return Affine(self.c.ravel(), *(part.reshape(-1, part.shape[-1]) for part in (self.B, self.L)))

    def at(self, steps: Iterable[int], agents: Iterable[int]) -> Affine:
        """Return the rows of some agents at some steps, below each other."""
        return self[np.ix_(list(steps), list(agents))].stacked()

    def with_error(self, std: float) -> Affine:
        """Return the rows, each with an error of its own."""
        return Affine(self.c, self.B, np.concatenate([self.L, std * np.eye(len(self.c))], axis=1))

    @property
    def covariance(self) -> Array:
        return np.asarray(self.L @ self.L.T)

    def information(self) -> Array:
        """Return the Fisher information about x₀, (n, n)."""
        return np.asarray(self.B.T @ np.linalg.solve(self.covariance, self.B))

    def worst_case(self) -> Array:
        """Return the information about each agent if all others are known, ∞ where some row has no noise; (n,)."""
        values, vectors = np.linalg.eigh(self.covariance)
        noisy = values > 1e-11 * max(values.max(), 1e-300)
        turned = vectors.T @ self.B
        exact = np.abs(turned[~noisy]).max(axis=0, initial=0.0) > 1e-6
        return np.where(exact, np.inf, np.sum(turned[noisy] ** 2 / values[noisy, None], axis=0))

    def given(self, seen: Affine, values: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Return mean (m, replicates) and covariance of the rows given others, for x₀ ~ N(mean, variance)."""
        extra = seen.L.shape[1] - self.L.shape[1]
        L = np.concatenate([self.L, np.zeros((len(self.L), extra))], axis=1)
        cross = self.B @ variance @ seen.B.T + L @ seen.L.T
        gain = np.linalg.lstsq(seen.B @ variance @ seen.B.T + seen.covariance, cross.T, rcond=1e-13)[0].T
        centre = (self.c + self.B @ mean)[:, None] + gain @ (values - (seen.c + seen.B @ mean)[:, None])
        return centre, self.B @ variance @ self.B.T + self.covariance - gain @ cross.T


def unknown_opinions(rows: Affine) -> Affine:
    """Return x₀ itself, as rows with the errors of others."""
    n = rows.B.shape[-1]
    return Affine(np.zeros(n), np.eye(n), np.zeros((n, rows.L.shape[-1])))


def joint_paths(model: pp.Model, steps: int, known: Sequence[int] = ()) -> tuple[Affine, Affine]:
    """Return y_t and x_{t+1} for t = 0 … T, by step; the noise of the ``known`` agents is left out."""
    shown, held = _linear_paths(model, steps, known)
    n, from_hidden = model.n, isinstance(model.start, str)
    start = np.zeros(n) if from_hidden else model.start_state
    public, current = (
        Affine(path[:, :, n : 2 * n] @ start, path[:, :, :n] + from_hidden * path[:, :, n : 2 * n], path[:, :, 2 * n :])
        for path in (shown, held)
    )
    return public, current


def outputs_law(
    model: pp.Model, steps: int, agents: Iterable[int] | None = None, *, first: int = 1, known: Sequence[int] = ()
) -> Affine:
    """Return the law of the outputs of some agents from step ``first`` on, given the noise of the ``known`` agents."""
    public, _ = joint_paths(model, steps, known)
    return public.at(range(first, steps + 1), range(model.n) if agents is None else agents)


def joint_law(model: pp.Model, steps: int) -> tuple[Array, Array, Array]:
    """Return how y_0 … y_T depend on x₀ and on a given start, (T + 1, n, n) each, and their covariance."""
    n, (shown, _) = model.n, _linear_paths(model, steps)
    draws = shown[:, :, 2 * n :].reshape(n * (steps + 1), -1)
    return shown[:, :, :n], shown[:, :, n : 2 * n], draws @ draws.T


def _linear_paths(model: pp.Model, steps: int, known: Sequence[int] = ()) -> tuple[Array, Array]:
    """Return y_t and x_{t+1} as linear functions of x₀, the start and all draws of unit variance, in this order.

    Straight from the definition: (T + 1, n, n·(2 + T)) each.
    """
    n, noise, times = model.n, model.noise, np.arange(1, steps + 1)
    lags = np.abs(np.subtract.outer(times, times))
    values, vectors = np.linalg.eigh(np.float64(noise.autocorrelation) ** lags)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    x, y = np.eye(n, n * (2 + steps)), np.eye(n, n * (2 + steps), n)
    shown, held = [y], [x]
    for t in times:
        A = (model.network.adjacency if model.temporal_network is None else model.temporal_network.at(int(t))).toarray()
        rho, degrees = float(model.pressure(int(t))), np.abs(A).sum(axis=1)
        sigma = noise.deviations(n) * noise.scale(int(t)) if not noise.is_zero else np.zeros(n)
        sigma[list(known)] = 0.0
        xi = x.copy()
        xi[:, 2 * n :] += np.kron(root[t - 1], np.diag(sigma))
        shows = (model.s[:, None] * xi + rho * A @ y) / (model.s + rho * degrees)[:, None]
        # Who updates must be known, or be everybody.
        active = who_updates(model, int(t), 0, 0)[-1][:, None]
        y = np.where(active & ((degrees[:, None] > 0) | (model.isolated == "own")), shows, y)
        x = x if model.adaptation is None else x + model.adaptation.at(int(t), n)[:, None] * (y - x)
        shown.append(y)
        held.append(x)
    return np.array(shown), np.array(held)


def dense_states(model: pp.Model, steps: int, replicate: int, seed: int) -> Array:
    """Return y_0 … y_T alone."""
    return dense_run(model, steps, replicate, seed)[0]


def gram_inverse(T: int) -> Array:
    """Return the inverse of ``two_agents.gram(T)``, whose eigenvalues are T on (1, 1) and 2·series(T) on (1, −1)."""
    contrast = np.array([[1.0, -1.0], [-1.0, 1.0]])
    return np.ones((2, 2)) / (2 * T) + contrast / (4 * two_agents.series(T))
