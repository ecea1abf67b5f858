"""Public opinions that are seen through errors: the Gaussian path behind them, filtered and smoothed.

Hidden opinions are random here, x₀ ~ N(μ, τ²) for each agent and μ almost free, so the density of what is seen does
not depend on them. The state is z = (y, x), with the memory of AR(1) noise if there is one, and

    z_t = F_t z_{t−1} + G_t w_t,    seen_t = y_t + N(0, variance_t).

Of F_t only y's dependence on neighbours is a full matrix; all else is a number for each agent. The first axis of
arrays counts points of parameters. The passes are those
of De Jong (1989), which invert no covariance of states, and the backward one gives the derivative of the density by
everything that the path is made of, as in Koopman and Shephard (1992).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model.step import Array
from peerpressure.support.progress import check_cancelled

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

    def moved(self, steps: slice, columns: Array) -> Array:
        """Return F_t times columns, of several steps with an axis for them."""
        n, (gain, pull, noise) = self.n, (part[:, steps, :, None] for part in (self.gain, self.pull, self.noise))
        public, hidden = columns[..., :n, :], columns[..., n : 2 * n, :]
        heard = self.listening[steps if len(self.listening) > 1 else ...]
        top, rest = pull * (heard @ public) + gain * hidden, []
        if self.phi is not None:
            phi = self.phi.reshape(-1, *[1] * (columns.ndim - 1))
            top += noise * phi * columns[..., 2 * n :, :]
            rest = [phi * columns[..., 2 * n :, :]]
        if self.rate is not None:
            hidden = hidden + self.rate[:, steps, :, None] * (top - hidden)
        return np.concatenate(np.broadcast_arrays(top, hidden, *rest), axis=-2)

    def of(self, point: int) -> tuple[Array, Array, Array, Array, Array, float]:
        """Return what the steps of one point are made of, as the compiled passes take it."""
        rate = np.zeros_like(self.gain[point]) if self.rate is None else self.rate[point]
        phi = 0.0 if self.phi is None else float(self.phi[point])
        return self.listening, self.gain[point], self.pull[point], self.noise[point], rate, phi

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


class Filtered(NamedTuple):
    """The filter at every row: mean and covariance of the state before it and after it, and what changes them.

    Those are its gain (B, T + 1, S, n), the inverse variance of what is seen (B, T + 1, n, n), and scores
    (B, T + 1, n), all 0 of what is missing.
    """

    mean: Array
    covariance: Array
    mean_after: Array
    covariance_after: Array
    gain: Array
    precision: Array
    score: Array

    @classmethod
    def empty(cls, points: int, rows: int, states: int, n: int) -> Filtered:
        """Return arrays that a pass fills."""
        sizes = (states,), (states, states), (states,), (states, states), (states, n), (n, n), (n,)
        return cls(*(np.empty((points, rows, *size)) for size in sizes))


class Later(NamedTuple):
    """What each row and later ones say of the state: E z_t = a + P r and Cov z_t = P − P N P.

    ``error`` (B, T + 1, n) and ``known`` (B, T + 1, S, n) say what follows for the errors of a row: its smoothed score,
    and N K of the rows after it.
    """

    r: Array
    N: Array
    error: Array
    known: Array

    @classmethod
    def empty(cls, points: int, rows: int, states: int, n: int) -> Later:
        """Return arrays that a pass fills."""
        sizes = (states,), (states, states), (n,), (states, n)
        return cls(*(np.empty((points, rows, *size)) for size in sizes))


class PathPosterior(NamedTuple):
    """Means and variances of y_t, (B, T + 1, n), and the passes that they come from."""

    mean: Array
    variance: Array
    trace: Trace


class Trace(NamedTuple):
    """Both passes."""

    filtered: Filtered
    later: Later


def log_density(path: LatentPath, seen: Measurement) -> Array:
    """Return the logarithm of the density of what is seen, (B,)."""
    return _forward(path, seen)[0]


def smoothed(path: LatentPath, seen: Measurement) -> tuple[Array, PathPosterior]:
    """Return the logarithm of the density of what is seen, and the posterior of the path."""
    (height, steps), n = _forward(path, seen), path.n
    later = _backward(path, steps)
    own = steps.covariance[..., :n, :]
    mean = steps.mean[..., :n] + _apply(own, later.r)
    left = ((own @ later.N) * own).sum(axis=-1)
    variance = np.diagonal(own, axis1=-2, axis2=-1) - left
    return height, PathPosterior(mean, variance, Trace(steps, later))


def first_opinions(path: LatentPath, seen: Measurement) -> tuple[Array, Array]:
    """Return the mean (B, n) and the covariance (B, n, n) of hidden opinions before the first step."""
    later, hidden = _backward(path, _forward(path, seen)[1]), slice(path.n, 2 * path.n)
    cross = path.covariance[:, hidden]
    mean = path.mean[:, hidden] + _apply(cross, later.r[:, 0])
    return mean, cross[:, :, hidden] - cross @ later.N[:, 0] @ cross.swapaxes(-1, -2)


def predicted(path: LatentPath, seen: Measurement) -> Array:
    """Return the means of y_0, y_1, … given what was seen before each, (B, T + 1, n)."""
    return np.asarray(_forward(path, seen)[1].mean[..., : path.n])


def last_opinions(path: LatentPath, seen: Measurement) -> tuple[Array, Array]:
    """Return the mean (B, n) and the covariance (B, n, n) of hidden opinions after the last step."""
    steps, hidden = _forward(path, seen)[1], slice(path.n, 2 * path.n)
    return steps.mean_after[:, -1, hidden], steps.covariance_after[:, -1, hidden, hidden]


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
    later, rows = trace.later, trace.later.r.shape[1]
    many = max(1, _TOGETHER // path.covariance.size)
    entries = [_entry_slopes(path, trace, k, min(k + many, rows)) for k in range(1, rows, many)]
    r, N = later.r[:, 0], later.N[:, 0]
    start = r, 0.5 * (r[:, :, None] * r[:, None] - N)
    whole = [np.concatenate(parts, axis=1) for parts in zip(*entries, strict=True)]
    return [
        DensitySlopes((mean, covariance), *rest)
        for mean, covariance, *rest in zip(*start, *whole, _error_slopes(trace), strict=True)
    ]


def _entry_slopes(path: LatentPath, trace: Trace, first: int, end: int) -> tuple[Array, Array, Array, Array]:
    """Return the slopes by entries of F_t and G_t of some rows, as in `DensitySlopes`, after an axis of points."""
    n, parts = path.n, len(path.fresh)
    blocks = [slice(part * n, (part + 1) * n) for part in range(parts)]
    r, N = trace.later.r[:, first:end], trace.later.N[:, first:end]
    mean = trace.filtered.mean_after[:, first - 1 : end - 1]
    moved = path.moved(slice(first - 1, end - 1), trace.filtered.covariance_after[:, first - 1 : end - 1])
    heard = path.listening[first - 1 : end - 1] if len(path.listening) > 1 else path.listening
    # By F_t: r E zᵀ + W F_t Cov z, of the state before.
    W = r[..., :, None] * r[..., None, :] - N
    public = [r[..., block, None] * mean[..., None, :n] + W[..., block, :] @ moved[..., :n] for block in blocks[:2]]
    pulled = np.stack([(heard * by).sum(axis=-1) for by in public], axis=2)

    def alone(columns: slice, blocks: Sequence[slice]) -> Array:
        turned = moved[..., columns].swapaxes(-1, -2)
        inner = [(W[..., block, :] * turned).sum(axis=-1) for block in blocks]
        return np.stack([r[..., b] * mean[..., columns] + by for b, by in zip(blocks, inner, strict=True)], axis=2)

    memory = alone(blocks[2], blocks) if parts == 3 else np.zeros((len(r), end - first, 3, n))
    noise = np.stack([np.stack([np.diagonal(W[..., p, q], axis1=-2, axis2=-1) for q in blocks], 2) for p in blocks], 2)
    return pulled, alone(blocks[1], blocks[:2]), memory, 0.5 * noise


def _error_slopes(trace: Trace) -> Array:
    """Return the derivative by the variance of what is seen, (B, T + 1, n)."""
    steps, later = trace
    precision = np.diagonal(steps.precision, axis1=-2, axis2=-1)
    known = precision + (steps.gain * later.known).sum(axis=-2)
    # What is missing says nothing.
    return np.where(precision > 0, 0.5 * (np.square(later.error) - known), 0.0)


def _forward(path: LatentPath, seen: Measurement) -> tuple[Array, Filtered]:
    """Return the logarithm of the density of what is seen, (B,), and the filter."""
    from peerpressure.fitting._path_loops import forward

    value = np.where(seen.present, seen.value, 0.0)
    # What is missing takes part as an observation of nothing, with variance 1.
    variance, present = np.where(seen.present, seen.variance, 1.0), np.array(seen.present)
    steps = Filtered.empty(len(path.mean), len(present), path.mean.shape[1], path.n)
    steps.mean[:, 0], steps.covariance[:, 0] = path.mean, path.covariance
    height = np.empty(len(value))
    for point in range(len(value)):
        check_cancelled()
        arrays = [part[point] for part in steps]
        height[point] = forward(*path.of(point), value[point], variance[point], present, *arrays)
        # If rounding errors are larger than the noise, there is no density.
        if height[point] == -np.inf:
            for part in arrays:
                part[:] = np.nan
    return height, steps


def _backward(path: LatentPath, steps: Filtered) -> Later:
    """Return what each row says together with those after it."""
    from peerpressure.fitting._path_loops import backward

    points, rows, states, n = steps.gain.shape
    later = Later.empty(points, rows, states, n)
    for point in range(points):
        check_cancelled()
        backward(*path.of(point), *(part[point] for part in (steps.gain, steps.precision, steps.score, *later)))
    return later


def _apply(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[..., None])[..., 0])
