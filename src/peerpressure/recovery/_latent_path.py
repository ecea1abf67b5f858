"""Public opinions that are seen through errors: the Gaussian path behind them, filtered and smoothed.

Hidden opinions are random here, x₀ ~ N(μ, τ²) for each agent and μ almost free, so the density of what is seen does
not depend on them. The state is z = (y, x), with the memory of AR(1) noise if there is one, and

    z_t = F_t z_{t−1} + G_t w_t,    seen_t = y_t + N(0, variance_t).

Of F_t only y's dependence on neighbours is a full matrix; all else is a number for each agent, and no F_t is formed.
Several points of parameters are followed side by side: the first axis of every array counts them. The passes are those
of De Jong (1989), which invert no covariance of states, and the backward one gives the derivative of the density by
everything that the path is made of, as in Koopman and Shephard (1992).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.progress import check_cancelled
from peerpressure.step import Array


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

    @property
    def n(self) -> int:
        """The number of agents."""
        return int(self.gain.shape[-1])

    def onwards(self, row: int, columns: Array) -> Array:
        """Return F_t times columns, (B, S, k)."""
        n, (gain, pull, noise) = self.n, (part[:, row - 1, :, None] for part in (self.gain, self.pull, self.noise))
        public, hidden = columns[:, :n], columns[:, n : 2 * n]
        top = pull * (self.heard(row) @ public) + gain * hidden
        rest = []
        if self.phi is not None:
            phi = self.phi[:, None, None]
            top += noise * phi * columns[:, 2 * n :]
            rest = [phi * columns[:, 2 * n :]]
        if self.rate is not None:
            hidden = hidden + self.rate[:, row - 1, :, None] * (top - hidden)
        return np.concatenate([top, hidden, *rest], axis=1)

    def backwards(self, row: int, columns: Array) -> Array:
        """Return F_tᵀ times columns, (B, S, k)."""
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

    def heard(self, row: int) -> Array:
        """Return who listens to whom at a row, (n, n)."""
        return np.asarray(self.listening[min(row, len(self.listening)) - 1])

    def fresh(self) -> tuple[Array, ...]:
        """Return the entries of G, of which agents share none: those of y, x and the memory, (B, T, n) each."""
        noise, memory = self.noise, ()
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
    """Means and variances of y_t, (B, T + 1, n), and the mean (B, n) and covariance (B, n, n) of x₀."""

    mean: Array
    variance: Array
    opinions: Array
    covariance: Array


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
    """What this row and later ones say of the state: E z_t = a + P r and Cov z_t = P − P N P.

    ``slope`` (B, n) is the derivative of the log density by the variance of what is seen.
    """

    row: int
    r: Array
    N: Array
    slope: Array


def log_density(path: LatentPath, seen: Measurement) -> Array:
    """Return the logarithm of the density of what is seen, (B,)."""
    return _forward(path, seen, None)


def smoothed(path: LatentPath, seen: Measurement) -> tuple[Array, PathPosterior]:
    """Return the logarithm of the density of what is seen, and the posterior of the path."""
    steps: list[_Filtered] = []
    height, n = _forward(path, seen, steps), path.n
    mean, variance = (np.empty((len(path.mean), len(steps), n)) for _ in range(2))
    for t, r, N, _ in _backward(path, seen, steps):
        own = steps[t].covariance[:, :n]
        mean[:, t] = steps[t].mean[:, :n] + _apply(own, r)
        left = np.einsum("bij,bij->bi", own @ N, own)
        variance[:, t] = np.diagonal(own, axis1=1, axis2=2) - left
    reach = path.covariance[:, n : 2 * n]
    opinions = path.mean[:, n : 2 * n] + _apply(reach, r)
    spread = reach[:, :, n : 2 * n] - reach @ N @ reach.swapaxes(-1, -2)
    return height, PathPosterior(mean, variance, opinions, spread)


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
    pulled, own, memory : array, (2, T, n), (2, T, n) and (3, T, n)
        By entries of F_t for y, x and the memory: what neighbours are multiplied by, all of an agent's together, and
        its own x and memory.
    noise : array, (parts, parts, T, n)
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
        total = path.pull * (self.pulled[0] + rate * self.pulled[1])
        total += path.gain * (self.own[0] + rate * self.own[1]) + (1 - rate) * self.own[1]
        if path.phi is not None:
            phi = path.phi[:, None, None]
            total += phi * (path.noise * (self.memory[0] + rate * self.memory[1]) + self.memory[2])
        fresh = np.stack(path.fresh())
        start = path.mean @ self.start[0] + np.einsum("bij,ij->b", path.covariance, self.start[1])
        return np.asarray(start + total.sum(axis=(1, 2)) + np.einsum("pbtn,pqtn,qbtn->b", fresh, self.noise, fresh))


def density_slopes(path: LatentPath, seen: Measurement) -> DensitySlopes:
    """Return the derivative of the log density at a single point, B = 1."""
    steps: list[_Filtered] = []
    _forward(path, seen, steps)
    n, parts, T = path.n, len(path.fresh()), len(steps) - 1
    pulled, own, memory = np.zeros((2, T, n)), np.zeros((2, T, n)), np.zeros((3, T, n))
    noise, variance = np.zeros((parts, parts, T, n)), np.zeros((T + 1, n))
    blocks = [slice(part * n, (part + 1) * n) for part in range(parts)]
    for t, r, N, slope in _backward(path, seen, steps):
        variance[t] = slope[0]
        W = r[0][:, None] * r[0] - N[0]
        if not t:
            break
        mean, spread = steps[t - 1].after
        moved = path.onwards(t, spread)[0]
        # By F_t: r E zᵀ + W F_t Cov z, of the state before.
        for part, rows in enumerate(blocks[:2]):
            whole = r[0, rows, None] * mean[0, :n] + W[rows] @ moved[:, :n]
            pulled[part, t - 1] = (path.heard(t) * whole).sum(axis=1)
            own[part, t - 1] = _diagonal(r, W, mean, moved, rows, blocks[1])
        for part, rows in enumerate(blocks if parts == 3 else ()):
            memory[part, t - 1] = _diagonal(r, W, mean, moved, rows, blocks[2])
        for p, q in np.ndindex(parts, parts):
            noise[p, q, t - 1] = 0.5 * np.diagonal(W[blocks[p], blocks[q]])
    return DensitySlopes((r[0], 0.5 * W), pulled, own, memory, noise, variance)


def _diagonal(r: Array, W: Array, mean: Array, moved: Array, rows: slice, columns: slice) -> Array:
    return np.asarray(r[0, rows] * mean[0, columns] + np.einsum("ij,ji->i", W[rows], moved[:, columns]))


def _forward(path: LatentPath, seen: Measurement, steps: list[_Filtered] | None) -> Array:
    mean, P, fresh = path.mean, path.covariance, path.fresh()
    (length, n), points = seen.present.shape, len(mean)
    spreads = np.broadcast_to(np.eye(n), (length, points, n, n)).copy()
    total = np.full(points, seen.present.sum() * np.log(2 * np.pi))
    for t, there in enumerate(seen.present):
        check_cancelled()
        if t:
            mean, P = path.onwards(t, mean[..., None])[..., 0], path.onwards(t, path.onwards(t, P).swapaxes(-1, -2))
            _add_noise(P, [part[:, t - 1] for part in fresh])
        before, update = (mean, P), None
        if there.any():
            reach, error = P[:, :, :n] * there, np.where(there, seen.value[:, t] - mean[:, :n], 0.0)
            update = _update(reach, error, seen.variance[:, t], there, spreads[t])
            total += np.einsum("bn,bn->b", error, update.score)
            mean, P = mean + _apply(reach, update.score), P - update.gain @ reach.swapaxes(-1, -2)
        if steps is not None:
            steps.append(_Filtered(*before, update, (mean, P)))
    # Of all steps together: each call takes longer than a small determinant.
    sign, log_det = np.linalg.slogdet(spreads)
    # If rounding errors are larger than the noise, there is no density.
    return np.asarray(-0.5 * (total + np.where(sign > 0, log_det, np.inf).sum(axis=0)))


def _add_noise(P: Array, fresh: Sequence[Array]) -> None:
    """Add G Gᵀ to a covariance."""
    n = fresh[0].shape[1]
    agents = np.arange(n)
    for (p, one), (q, other) in product(enumerate(fresh), enumerate(fresh)):
        P[:, p * n + agents, q * n + agents] += one * other


def _update(reach: Array, error: Array, variance: Array, there: NDArray[np.bool_], spread: Array) -> _Update:
    """Return what a row changes, and leave the covariance of what is seen in ``spread``."""
    n = there.size
    np.multiply(reach[:, :n], there[:, None], out=spread)
    # What is missing takes part as an observation of nothing, with variance 1.
    spread[:, np.arange(n), np.arange(n)] += np.where(there, variance, 1.0)
    precision = np.linalg.inv(spread)
    return _Update(reach @ precision, precision * there * there[:, None], _apply(precision, error))


def _backward(path: LatentPath, seen: Measurement, steps: list[_Filtered]) -> Iterator[_Later]:
    """Yield what rows from the last to the first say together with those after them."""
    points, states = path.mean.shape
    n = path.n
    r, N = np.zeros((points, states)), np.zeros((points, states, states))
    for t in range(len(steps) - 1, -1, -1):
        slope, update = np.zeros((points, n)), steps[t].update
        if update is not None:
            gain, precision, score = update
            error, through = score - _apply(gain.swapaxes(-1, -2), r), N @ gain
            known = np.diagonal(precision, axis1=1, axis2=2) + np.einsum("bij,bij->bj", gain, through)
            slope = np.where(seen.present[t], 0.5 * (np.square(error) - known), 0.0)
            r[:, :n] += error
            N[:, :, :n] -= through
            N[:, :n] -= gain.swapaxes(-1, -2) @ N
            N[:, :n, :n] += precision
        yield _Later(t, r, N, slope)
        if t:
            r, N = path.backwards(t, r[..., None])[..., 0], path.backwards(t, path.backwards(t, N).swapaxes(-1, -2))


def _apply(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[..., None])[..., 0])
