"""Mean and variance of weighted sums of agents, by running the model backwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from peerpressure.model import Model, Update, Vector
from peerpressure.noises import AR1, Frozen, Noise
from peerpressure.theory.times import Times

# Numbers per array that one backward run carries along; more times are split over several runs.
BLOCK = 2**23
# SciPy multiplies a sparse matrix with few columns more slowly than column by column.
FEW = 8


@final
@dataclass(frozen=True, eq=False)
class Sums:
    """Moments of weighted sums: mean and variance (times, sums), covariance (sums, sums) at the last time."""

    mean: Vector
    variance: Vector
    covariance: Vector


def persistence(noise: Noise) -> float:
    """Return φ in u_t = φ u_{t−1} + √(1−φ²) z_t: 0 for white noise, 1 for one draw held for ever."""
    if isinstance(noise.temporal, AR1):
        return noise.temporal.coefficient
    return 1.0 if isinstance(noise.temporal, Frozen) else 0.0


def moments_of_sums(model: Model, weights: Vector, times: Times) -> Sums:
    """Return the moments of the sums with these weights, as ``run_backwards`` takes them, at increasing times."""
    parts = [run_backwards(model, weights, block) for block in _blocks(weights.size, times)]
    mean = np.concatenate([part.mean for part in parts])
    variance = np.concatenate([part.variance for part in parts])
    return Sums(mean, variance, parts[-1].covariance)


def run_backwards(model: Model, weights: Vector, times: Times, carry: Vector | None = None) -> Sums:
    """Return the moments of cᵀy, or of cᵀy + kᵀx, at each time by the adjoint of the model, in O(T·nnz).

    ``weights`` has shape (sums, agents), or (sums, 2·agents) with those of the hidden opinions behind: of what agents
    hold once they have shown y. From v = c and h = k at the end, step t goes back by

    w = v + η_t∘h,   h ← (1 − η_t)∘h + g_t∘w,   v ← C_tᵀw,

    and v·y₀ + h·x₀ is the mean. The noise enters as Σ_t b_t u_t with b_t = std·scale_t·g_t∘w; in terms of the
    independent z_t behind u_t its weights are q_t = b_t + φ q_{t+1}, times √(1−φ²) except at t = 1, so that the
    variance is a sum of squares. ``carry`` is the q that steps after the last time have left.
    """
    k, n, phi = weights.shape[0], model.n, persistence(model.noise)
    std, noisy = model.noise.deviations(n), not model.noise.is_zero
    moves = model.adaptation is not None
    shown, held = weights[:, :n], weights[:, n:] if weights.shape[1] > n else np.zeros_like(weights)
    v, h, q = (np.empty((0, n)) for _ in range(3))
    # While opinions are constant, h would only gather what x₀ can be multiplied with at once.
    mean, variance = np.tile(np.zeros(k) if moves else held @ model.x0, times.size), np.zeros(times.size * k)
    covariance = np.zeros((k, k))
    # Later times come first, so that those still to come are appended.
    pending = {int(time) for time in times}
    for t in range(int(times[-1]), 0, -1):
        if t in pending:
            v = np.concatenate([v, shown])
            h = np.concatenate([h, held]) if moves else h
            q = np.concatenate([q, np.zeros_like(shown) if carry is None or q.size else carry])
        update = model.update(t)
        active = v.shape[0]
        if update.adaptation_rate is not None:
            v += update.adaptation_rate * h
        a = update.gain * v
        if update.adaptation_rate is not None:
            h = (1.0 - update.adaptation_rate) * h + a
        else:
            mean[:active] += np.einsum("ij,j->i", a, update.preferred)
        if noisy:
            a *= std * float(model.noise.scale(t))
            q = a + phi * q if phi else a
            share = 1.0 if t == 1 else (1.0 - phi) * (1.0 + phi)
            covariance += share * _gram(q[:k])
            variance[k:active] += share * np.einsum("ij,ij->i", q[k:], q[k:])
        v = _couple_back(update, v)
    if 0 in pending:
        v = np.concatenate([v, shown])
        h = np.concatenate([h, held]) if moves else h
    mean += v @ model.start_state
    if moves:
        mean += h @ model.x0
    variance[:k] = np.diag(covariance)
    shape = (times.size, k)
    return Sums(mean.reshape(shape)[::-1], variance.reshape(shape)[::-1], covariance)


def _gram(rows: Vector) -> Vector:
    """Return all products of two rows."""
    # The threads that BLAS wakes for so little work cost more than they bring: 7 ms against 0.5 for 10⁶ agents.
    return np.einsum("ai,bi->ab", rows, rows) if rows.shape[0] <= FEW else rows @ rows.T


def _couple_back(update: Update, rows: Vector) -> Vector:
    """Return Cᵀv for each row v."""
    if rows.shape[0] == 1:
        return update.couple_adjoint(rows[0])[None]
    if rows.shape[0] <= FEW:
        return np.stack([update.couple_adjoint(row) for row in rows])
    return np.ascontiguousarray(update.couple_adjoint(np.ascontiguousarray(rows.T)).T)


def _blocks(size: int, times: Times) -> Iterator[Times]:
    """Split the times so that a run carries at most BLOCK numbers, one time at least."""
    length = max(1, BLOCK // size)
    # The last block is the full one, and the first what is left over.
    first = times.size % length or min(length, times.size)
    yield times[:first]
    for start in range(first, times.size, length):
        yield times[start : start + length]
