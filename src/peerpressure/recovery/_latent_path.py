"""Public opinions that are seen through errors: the Gaussian path behind them, filtered and smoothed.

Hidden opinions are random here, x₀ ~ N(μ, τ²) for each agent and μ almost free, so the density of what is seen does
not depend on them. The state is z = (y, x), with the memory of AR(1) noise if there is one, and

    z_t = F_t z_{t−1} + G_t w_t,    seen_t = y_t + N(0, variance_t).

Several points of parameters are followed side by side: the first axis of every array counts them. The passes are those
of De Jong (1989), which invert no covariance of states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.progress import check_cancelled
from peerpressure.step import Array


@final
@dataclass(frozen=True, eq=False)
class LatentPath:
    """The law of z_0, z_1, …: ``mean`` (B, S) and ``covariance`` (B, S, S) of z_0, F and G Gᵀ (B, T, S, S) of steps."""

    mean: Array
    covariance: Array
    transition: Array
    noise: Array


def transitions(
    listening: Array, gain: Array, pull: Array, noise: Array, rate: Array | None, phi: Array | None
) -> tuple[Array, Array]:
    """Return F and G Gᵀ of steps of the model, (B, T, S, S) each.

    Parameters
    ----------
    listening : array, (1 or T, n, n)
        The adjacency, whatever ``pull`` is a factor of.
    gain, pull, noise : array, (B, T, n) or of that form
        1/(1 + ρ d/s), what neighbours' opinions are multiplied by before, and the standard deviation of fresh noise in
        y_t where there is no memory.
    rate : array, (B, T, n), or None
        Rates of adaptation.
    phi : array, (B,), or None
        Autocorrelation of the noise, which then has a memory in the state.
    """
    (B, T, n), memory = gain.shape, phi is not None
    states = (3 if memory else 2) * n
    F, G = np.zeros((B, T, states, states)), np.zeros((B, T, states, n))
    public, hidden, agents = slice(0, n), slice(n, 2 * n), np.arange(n)
    F[:, :, public, public] = (gain * pull)[..., None] * listening
    F[:, :, agents, n + agents] = gain
    G[:, :, agents, agents] = noise
    if phi is not None:
        phi = phi[:, None, None]
        F[:, :, agents, 2 * n + agents] = noise * phi
        F[:, :, 2 * n + agents, 2 * n + agents] = phi
        G[:, :, agents, agents] = noise * np.sqrt(1 - phi**2)
        G[:, :, 2 * n + agents, agents] = np.sqrt(1 - phi**2)
    F[:, :, n + agents, n + agents] = 1.0
    if rate is not None:
        F[:, :, hidden] = (1 - rate[..., None]) * F[:, :, hidden] + rate[..., None] * F[:, :, public]
        G[:, :, hidden] = rate[..., None] * G[:, :, public]
    return F, G @ G.swapaxes(-1, -2)


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


class _Filtered(NamedTuple):
    """One step of the filter: the predicted state, the gain, the inverse variance of what is seen, and its score."""

    mean: Array
    covariance: Array
    gain: Array
    precision: Array
    score: Array


def log_density(path: LatentPath, seen: Measurement) -> Array:
    """Return the logarithm of the density of what is seen, (B,)."""
    return _forward(path, seen, None)


def smoothed(path: LatentPath, seen: Measurement) -> tuple[Array, PathPosterior]:
    """Return the logarithm of the density of what is seen, and the posterior of the path."""
    steps: list[_Filtered] = []
    height = _forward(path, seen, steps)
    return height, _backward(path, seen, steps)


def predicted(path: LatentPath, seen: Measurement) -> Array:
    """Return the means of y_0, y_1, … given what was seen before each, (B, T + 1, n)."""
    steps: list[_Filtered] = []
    _forward(path, seen, steps)
    return np.stack([step.mean[:, : seen.present.shape[1]] for step in steps], axis=1)


def last_opinions(path: LatentPath, seen: Measurement) -> tuple[Array, Array]:
    """Return the mean (B, n) and the covariance (B, n, n) of hidden opinions after the last step."""
    steps: list[_Filtered] = []
    _forward(path, seen, steps)
    n, step = seen.present.shape[1], steps[-1]
    hidden, there = slice(n, 2 * n), seen.present[-1]
    reach = step.covariance[:, hidden, :n] * there
    mean = step.mean[:, hidden] + _apply(reach, step.score)
    return mean, step.covariance[:, hidden, hidden] - step.gain[:, hidden] @ reach.swapaxes(-1, -2)


def _forward(path: LatentPath, seen: Measurement, steps: list[_Filtered] | None) -> Array:
    mean, P = path.mean, path.covariance
    (length, n), points = seen.present.shape, len(mean)
    agents, complete = np.arange(n), np.asarray(seen.present.all(axis=1))
    # What is missing takes part as an observation of nothing, with variance 1.
    variance = np.where(seen.present, seen.variance, 1.0)
    errors, scores, spreads = (
        np.empty((length, points, n)),
        np.empty((length, points, n)),
        np.empty((length, points, n, n)),
    )
    for t, there in enumerate(seen.present):
        check_cancelled()
        if t:
            F = path.transition[:, t - 1]
            mean, P = _apply(F, mean), F @ P @ F.swapaxes(-1, -2) + path.noise[:, t - 1]
        reach, error = P[:, :, :n], seen.value[:, t] - mean[:, :n]
        if not complete[t]:
            reach, error = reach * there, np.where(there, error, 0.0)
        spread = np.multiply(reach[:, :n], there[:, None], out=spreads[t])
        spread[:, agents, agents] += variance[:, t]
        precision = np.linalg.inv(spread)
        score, gain = _apply(precision, error), reach @ precision
        errors[t], scores[t] = error, score
        if steps is not None:
            steps.append(_Filtered(mean, P, gain, precision * there * there[:, None], score))
        mean, P = mean + _apply(reach, score), P - gain @ reach.swapaxes(-1, -2)
    # Of all steps together: each call takes longer than a small determinant.
    sign, log_det = np.linalg.slogdet(spreads)
    # If rounding errors are larger than the noise, there is no density.
    total = np.where(sign > 0, log_det, np.inf).sum(axis=0) + seen.present.sum() * np.log(2 * np.pi)
    return np.asarray(-0.5 * (np.einsum("tbn,tbn->b", errors, scores) + total))


def _backward(path: LatentPath, seen: Measurement, steps: list[_Filtered]) -> PathPosterior:
    """Sum up what later outputs say of each state: E z_t = a + P r and Cov z_t = P − P N P."""
    points, states = path.mean.shape
    n = seen.present.shape[1]
    r, N = np.zeros((points, states)), np.zeros((points, states, states))
    mean, variance = (np.empty((points, len(steps), n)) for _ in range(2))
    for t in range(len(steps) - 1, -1, -1):
        step = steps[t]
        r[:, :n] += step.score - _apply(step.gain.swapaxes(-1, -2), r)
        N[:, :, :n] -= N @ step.gain
        N[:, :n] -= step.gain.swapaxes(-1, -2) @ N
        N[:, :n, :n] += step.precision
        own = step.covariance[:, :n]
        mean[:, t] = step.mean[:, :n] + _apply(own, r)
        left = np.einsum("bij,bij->bi", own @ N, own)
        variance[:, t] = np.diagonal(own, axis1=1, axis2=2) - left
        if t:
            F = path.transition[:, t - 1]
            r, N = _apply(F.swapaxes(-1, -2), r), F.swapaxes(-1, -2) @ N @ F
    start = path.covariance
    opinions, spread = path.mean + _apply(start, r), start - start @ N @ start
    return PathPosterior(mean, variance, opinions[:, n : 2 * n], spread[:, n : 2 * n, n : 2 * n])


def _apply(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[..., None])[..., 0])
