"""Public opinions that are seen through errors: the Gaussian path behind them, filtered and smoothed.

Hidden opinions are random here, x₀ ~ N(μ, τ²) for each agent and μ almost free, so the density of what is seen does
not depend on them. The state is z = (y, x), with the memory of AR(1) noise if there is one, and

    z_t = F_t z_{t−1} + G_t w_t,    seen_t = y_t + N(0, variance_t).

Of F_t only y's dependence on neighbours is a full matrix; all else is a number for each agent, and no large
matrix of a step is formed.
Several points of parameters are followed side by side: the first axis of every array counts them. The passes are those
of De Jong (1989), which invert no covariance of states, and the backward one gives the derivative of the density by
everything that the path is made of, as in Koopman and Shephard (1992).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.progress import check_cancelled
from peerpressure.step import Array

# Numbers in the state up to which a step is one matrix.
_WHOLE = 64
# Numbers in matrices of rows whose slopes are computed together.
_TOGETHER = 2**20


@final
@dataclass(frozen=True, eq=False)
class LatentPath:
    """The law of z_0, z_1, …, z_T at B points of parameters.

    Attributes
    ----------
    mean, covariance : array, (B, S) and (B, S, S)
        Those of z_0.
    listening : array, (1 or T, n, n)
        The adjacency, or whatever ``pull`` is a factor of.
    gain, pull, noise : array, (B, T, n)
        1/(1 + ρ d/s), that times what neighbours' opinions are multiplied by, and the standard deviation of the noise
        in y_t.
    rate : array, (B, T, n), or None
        Rates of adaptation.
    phi : array, (B,), or None
        Autocorrelation of the noise, which then has a memory in the state.
    """

    mean: Array
    covariance: Array
    listening: Array
    gain: Array
    pull: Array
    noise: Array
    rate: Array | None = None
    phi: Array | None = None

    @cached_property
    def n(self) -> int:
        """The number of agents."""
        return int(self.gain.shape[-1])

    def onwards(self, row: int, columns: Array) -> Array:
        """Return F_t times columns, (B, S, k)."""
        whole = self._whole
        return self._moved(row - 1, columns) if whole is None else np.asarray(whole[0][:, row - 1] @ columns)

    def backwards(self, row: int, columns: Array) -> Array:
        """Return F_tᵀ times columns, (B, S, k)."""
        if self._whole is not None:
            return np.asarray(self._whole[0][:, row - 1].swapaxes(-1, -2) @ columns)
        n, (gain, pull, noise) = self.n, (part[:, row - 1, :, None] for part in (self.gain, self.pull, self.noise))
        top, hidden = columns[:, :n], columns[:, n : 2 * n]
        if self.rate is not None:
            rate = self.rate[:, row - 1, :, None]
            top, hidden = top + rate * hidden, (1 - rate) * hidden
        parts = [self.heard(row).T @ (pull * top), gain * top + hidden]
        if self.phi is not None:
            phi = self.phi[:, None, None]
            parts.append(phi * (noise * top + columns[:, 2 * n :]))
        return np.concatenate(parts, axis=1)

    def with_noise(self, row: int, P: Array) -> Array:
        """Return a covariance plus G_t G_tᵀ."""
        if self._whole is not None:
            return P + self._whole[1][:, row - 1]
        n, agents, fresh = self.n, np.arange(self.n), [part[:, row - 1] for part in self.fresh]
        for (p, one), (q, other) in product(enumerate(fresh), enumerate(fresh)):
            P[:, p * n + agents, q * n + agents] += one * other
        return P

    def heard(self, row: int) -> Array:
        """Return who listens to whom at a row, (n, n)."""
        return np.asarray(self.listening[min(row, len(self.listening)) - 1])

    def _moved(self, at: int | slice, columns: Array) -> Array:
        """Return F_t times columns, of one step or of all with an axis for them."""
        n, (gain, pull, noise) = self.n, (part[:, at, :, None] for part in (self.gain, self.pull, self.noise))
        public, hidden = columns[..., :n, :], columns[..., n : 2 * n, :]
        heard = self.listening if isinstance(at, slice) else self.heard(at + 1)
        top, rest = pull * (heard @ public) + gain * hidden, []
        if self.phi is not None:
            phi = self.phi.reshape(-1, *[1] * (columns.ndim - 1))
            top += noise * phi * columns[..., 2 * n :, :]
            rest = [phi * columns[..., 2 * n :, :]]
        if self.rate is not None:
            hidden = hidden + self.rate[:, at, :, None] * (top - hidden)
        return np.concatenate(np.broadcast_arrays(top, hidden, *rest), axis=-2)

    @cached_property
    def _whole(self) -> tuple[Array, Array] | None:
        """All F and G Gᵀ, (B, T, S, S), if they are small: one product then takes less time than those of parts."""
        states = self.mean.shape[1]
        if states > _WHOLE:
            return None
        F = self._moved(slice(None), np.broadcast_to(np.eye(states), (len(self.mean), 1, states, states)))
        G = np.concatenate([part[..., None] * np.eye(self.n) for part in self.fresh], axis=-2)
        return F, G @ G.swapaxes(-1, -2)

    @cached_property
    def fresh(self) -> tuple[Array, ...]:
        """The entries of G, of which agents share none: those of y, x and the memory, (B, T, n) each."""
        noise, memory = self.noise, tuple[Array, ...]()
        if self.phi is not None:
            left = np.sqrt(1 - self.phi**2)[:, None, None]
            noise, memory = noise * left, (np.broadcast_to(left, noise.shape),)
        return (noise, np.zeros_like(noise) if self.rate is None else self.rate * noise, *memory)


class Measurement(NamedTuple):
    """What is seen of y_0, y_1, …: ``value`` and ``variance`` (B, T + 1, n), where ``present`` (T + 1, n)."""

    value: Array
    variance: Array
    present: NDArray[np.bool_]


class PathPosterior(NamedTuple):
    """Means and variances of y_t, (B, T + 1, n), and the passes that they come from."""

    mean: Array
    variance: Array
    trace: Trace


class _Update(NamedTuple):
    """What one row changes: its gain (B, S, n), the inverse variance of what is seen (B, n, n), and scores (B, n)."""

    gain: Array
    precision: Array
    score: Array


class _Filtered(NamedTuple):
    """One row of the filter: mean and covariance of the state before it and after it; no update of an empty row."""

    mean: Array
    covariance: Array
    update: _Update | None
    after: tuple[Array, Array]


class _Later(NamedTuple):
    """What a row and later ones say of the state: E z_t = a + P r and Cov z_t = P − P N P.

    ``error`` (B, n) and ``known`` (B, S, n) say what follows for the errors of this row: its smoothed score, and N K
    of the rows after it; None of an empty row.
    """

    r: Array
    N: Array
    error: Array | None
    known: Array | None


class Trace(NamedTuple):
    """Both passes, row by row from the first."""

    filtered: Sequence[_Filtered]
    later: Sequence[_Later]


def log_density(path: LatentPath, seen: Measurement) -> Array:
    """Return the logarithm of the density of what is seen, (B,)."""
    return _forward(path, seen, None)


def smoothed(path: LatentPath, seen: Measurement) -> tuple[Array, PathPosterior]:
    """Return the logarithm of the density of what is seen, and the posterior of the path."""
    steps: list[_Filtered] = []
    height, n = _forward(path, seen, steps), path.n
    trace = Trace(steps, _backward(path, steps))
    mean, variance = (np.empty((len(path.mean), len(steps), n)) for _ in range(2))
    for t, (step, later) in enumerate(zip(*trace, strict=True)):
        own = step.covariance[:, :n]
        mean[:, t] = step.mean[:, :n] + _apply(own, later.r)
        left = np.einsum("bij,bij->bi", own @ later.N, own)
        variance[:, t] = np.diagonal(own, axis1=1, axis2=2) - left
    return height, PathPosterior(mean, variance, trace)


def first_opinions(path: LatentPath, seen: Measurement) -> tuple[Array, Array]:
    """Return the mean (B, n) and the covariance (B, n, n) of hidden opinions before the first step."""
    steps: list[_Filtered] = []
    _forward(path, seen, steps)
    first, hidden = _backward(path, steps)[0], slice(path.n, 2 * path.n)
    reach = path.covariance[:, hidden]
    mean = path.mean[:, hidden] + _apply(reach, first.r)
    return mean, reach[:, :, hidden] - reach @ first.N @ reach.swapaxes(-1, -2)


def predicted(path: LatentPath, seen: Measurement) -> Array:
    """Return the means of y_0, y_1, … given what was seen before each, (B, T + 1, n)."""
    steps: list[_Filtered] = []
    _forward(path, seen, steps)
    return np.stack([step.mean[:, : path.n] for step in steps], axis=1)


def last_opinions(path: LatentPath, seen: Measurement) -> tuple[Array, Array]:
    """Return the mean (B, n) and the covariance (B, n, n) of hidden opinions after the last step."""
    steps: list[_Filtered] = []
    _forward(path, seen, steps)
    hidden, (mean, covariance) = slice(path.n, 2 * path.n), steps[-1].after
    return mean[:, hidden], covariance[:, hidden, hidden]


@final
@dataclass(frozen=True, eq=False)
class DensitySlopes:
    """The derivative of the log density of what is seen by everything that the path at one point is made of.

    Attributes
    ----------
    start : tuple of array, (S,) and (S, S)
        By the mean and the covariance of z_0.
    pulled, own, memory : array, (T, 2, n), (T, 2, n) and (T, 3, n)
        By entries of F_t for y, x and the memory: what neighbours are multiplied by, all of an agent's together, and
        its own x and memory.
    noise : array, (T, parts, parts, n)
        By products of entries of G_t.
    variance : array, (T + 1, n)
        By the variance of what is seen, 0 where nothing is.
    """

    start: tuple[Array, Array]
    pulled: Array
    own: Array
    memory: Array
    noise: Array
    variance: Array

    def along(self, path: LatentPath) -> Array:
        """Return the log density at nearby points, (B,), right to first order up to a constant."""
        rate = np.zeros_like(path.gain) if path.rate is None else path.rate
        total = path.pull * (self.pulled[:, 0] + rate * self.pulled[:, 1])
        total += path.gain * (self.own[:, 0] + rate * self.own[:, 1]) + (1 - rate) * self.own[:, 1]
        if path.phi is not None:
            phi = path.phi[:, None, None]
            total += phi * (path.noise * (self.memory[:, 0] + rate * self.memory[:, 1]) + self.memory[:, 2])
        fresh = np.stack(path.fresh)
        start = path.mean @ self.start[0] + np.einsum("bij,ij->b", path.covariance, self.start[1])
        return np.asarray(start + total.sum(axis=(1, 2)) + np.einsum("pbtn,tpqn,qbtn->b", fresh, self.noise, fresh))


def density_slopes(path: LatentPath, trace: Trace) -> list[DensitySlopes]:
    """Return the derivative of the log density at each point, from the passes there."""
    first, rows = trace.later[0], range(1, len(trace.later))
    many = max(1, _TOGETHER // path.covariance.size)
    entries = [_entry_slopes(path, trace, rows[k : k + many]) for k in range(0, len(rows), many)]
    variance = np.stack([_error_slopes(*both, path.n) for both in zip(*trace, strict=True)], axis=1)
    start = first.r, 0.5 * (first.r[:, :, None] * first.r[:, None] - first.N)
    whole = [np.concatenate(parts, axis=1) for parts in zip(*entries, strict=True)]
    return [
        DensitySlopes((mean, covariance), *rest)
        for mean, covariance, *rest in zip(*start, *whole, variance, strict=True)
    ]


def _entry_slopes(path: LatentPath, trace: Trace, rows: range) -> tuple[Array, Array, Array, Array]:
    """Return the slopes by entries of F_t and G_t of some rows, as in `DensitySlopes`, after an axis of points."""
    n, parts = path.n, len(path.fresh)
    blocks = [slice(part * n, (part + 1) * n) for part in range(parts)]
    r = np.stack([trace.later[t].r for t in rows], axis=1)
    N = np.stack([trace.later[t].N for t in rows], axis=1)
    mean = np.stack([trace.filtered[t - 1].after[0] for t in rows], axis=1)
    moved = np.stack([path.onwards(t, trace.filtered[t - 1].after[1]) for t in rows], axis=1)
    heard = np.stack([path.heard(t) for t in rows])
    # By F_t: r E zᵀ + W F_t Cov z, of the state before.
    W = r[..., :, None] * r[..., None, :] - N
    public = [r[..., block, None] * mean[..., None, :n] + W[..., block, :] @ moved[..., :n] for block in blocks[:2]]
    pulled = np.stack([(heard * by).sum(axis=-1) for by in public], axis=2)

    def alone(columns: slice, blocks: Sequence[slice]) -> Array:
        inner = [np.einsum("btij,btji->bti", W[..., block, :], moved[..., columns]) for block in blocks]
        return np.stack([r[..., b] * mean[..., columns] + by for b, by in zip(blocks, inner, strict=True)], axis=2)

    memory = alone(blocks[2], blocks) if parts == 3 else np.zeros((len(r), len(rows), 3, n))
    noise = np.stack([np.stack([np.diagonal(W[..., p, q], axis1=-2, axis2=-1) for q in blocks], 2) for p in blocks], 2)
    return pulled, alone(blocks[1], blocks[:2]), memory, 0.5 * noise


def _error_slopes(step: _Filtered, later: _Later, n: int) -> Array:
    """Return the derivative by the variance of what is seen at a row, (B, n)."""
    if step.update is None or later.error is None or later.known is None:
        return np.zeros((len(step.mean), n))
    gain, precision, _ = step.update
    known = np.diagonal(precision, axis1=1, axis2=2) + np.einsum("bij,bij->bj", gain, later.known)
    # What is missing says nothing.
    return np.where(np.diagonal(precision, axis1=1, axis2=2) > 0, 0.5 * (np.square(later.error) - known), 0.0)


def _forward(path: LatentPath, seen: Measurement, steps: list[_Filtered] | None) -> Array:
    mean, P = path.mean, path.covariance
    (length, n), points = seen.present.shape, len(mean)
    spreads = np.broadcast_to(np.eye(n), (length, points, n, n)).copy()
    total = np.full(points, seen.present.sum() * np.log(2 * np.pi))
    # What is missing takes part as an observation of nothing, with variance 1.
    variance = np.where(seen.present, seen.variance, 1.0)
    complete, empty = (np.asarray(which) for which in (seen.present.all(axis=1), ~seen.present.any(axis=1)))
    for t, there in enumerate(seen.present):
        check_cancelled()
        if t:
            mean, P = path.onwards(t, mean[..., None])[..., 0], path.onwards(t, path.onwards(t, P).swapaxes(-1, -2))
            P = path.with_noise(t, P)
        before, update = (mean, P), None
        if not empty[t]:
            reach, error = P[:, :, :n], seen.value[:, t] - mean[:, :n]
            if not complete[t]:
                reach, error = reach * there, np.where(there, error, 0.0)
            update = _update(reach, error, variance[:, t], None if complete[t] else there, spreads[t])
            total += np.einsum("bn,bn->b", error, update.score)
            mean, P = mean + _apply(reach, update.score), P - update.gain @ reach.swapaxes(-1, -2)
        if steps is not None:
            steps.append(_Filtered(*before, update, (mean, P)))
    # Of all steps together: each call takes longer than a small determinant.
    sign, log_det = np.linalg.slogdet(spreads)
    # If rounding errors are larger than the noise, there is no density.
    return np.asarray(-0.5 * (total + np.where(sign > 0, log_det, np.inf).sum(axis=0)))


def _update(reach: Array, error: Array, variance: Array, there: NDArray[np.bool_] | None, spread: Array) -> _Update:
    """Return what a row changes, and leave the covariance of what is seen in ``spread``; None: everything is seen."""
    n = error.shape[1]
    spread[:] = reach[:, :n] if there is None else reach[:, :n] * there[:, None]
    spread.reshape(len(spread), -1)[:, :: n + 1] += variance
    precision: Array = np.asarray(np.linalg.inv(spread), dtype=np.float64)
    seen = precision if there is None else precision * there * there[:, None]
    return _Update(reach @ precision, seen, _apply(precision, error))


def _backward(path: LatentPath, steps: Sequence[_Filtered]) -> list[_Later]:
    """Return what each row says together with those after it."""
    points, states = path.mean.shape
    n = path.n
    r, N = np.zeros((points, states)), np.zeros((points, states, states))
    rows: list[_Later] = []
    for t in range(len(steps) - 1, -1, -1):
        update, error, known = steps[t].update, None, None
        if update is not None:
            back = update.gain.swapaxes(-1, -2)
            error, known = update.score - _apply(back, r), N @ update.gain
            r[:, :n] += error
            N[:, :, :n] -= known
            N[:, :n] -= back @ N
            N[:, :n, :n] += update.precision
        rows.append(_Later(r, N, error, known))
        if t:
            r, N = path.backwards(t, r[..., None])[..., 0], path.backwards(t, path.backwards(t, N).swapaxes(-1, -2))
    return rows[::-1]


def _apply(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[..., None])[..., 0])
