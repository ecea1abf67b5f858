"""The likelihood of answers with errors, as a function of coordinates, and what intervals around its maximum say.

Points of the likelihood come with the Gaussians that stand for answers on a scale, from which a neighbouring point is
computed faster. Intervals of hidden opinions come from their posteriors at several points around the maximum, weighted
by their likelihood, and reach at least as far as the profiles of the coordinates take them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias, final

import numpy as np

from peerpressure.errors import InvalidInputError
from peerpressure.fitting._answers import AnswersWithErrors, Gaussians
from peerpressure.fitting._latent_path import LatentPath, Measurement, log_density
from peerpressure.fitting._maximum import Maximum
from peerpressure.fitting._parameters import PARAMETERS, Shared
from peerpressure.fitting._record import own_series
from peerpressure.model.step import Array
from peerpressure.recovery.limits import ANSWER_BYTES

# Shares of the variance of answers that are tried as measurement noise, and best starts from which a search continues.
_SHARES, _STARTS = (0.1, 0.5, 0.9), 2
# Steps of second derivatives: the first one, and in standard errors.
_FIRST_STEP, _BEND = 0.1, 0.5
# Rough standard error of coordinates before it is known, and tolerances of heights before and after.
_FIRST, _ROUGH, _FINE = 0.3, 1e-4, 1e-6
# Standard deviation of a weak prior of coordinates in directions without curvature.
_WEAK = 3.0
# Most by which the logarithm of the likelihood may exceed that of a normal law at a point beside the maximum.
MOST_RATIO = 1.0

# Means (B, S) and covariances (B, S, S) of the state before the first step, at points (B, d).
StartLaw: TypeAlias = Callable[[Array], tuple[Array, Array]]


@final
@dataclass(frozen=True, eq=False)
class AnswerLikelihood:
    """The log-likelihood of answers with errors as a function of points of coordinates, (B, d).

    Attributes
    ----------
    names : tuple of str
        The name of each coordinate.
    answers : AnswersWithErrors
        The answers that are explained, NaN in the row before the first step if it is given.
    filled : array, (T + 1, n)
        The answers, with a guess in place of those that are missing.
    listening, slope, scale : array, (1 or T, n, n), (T, n) and (T, n)
        The adjacency and the degrees over the stubbornness, and the std of noise relative to its mean.
    shared : callable
        What all agents share at a point, (d,).
    start : callable
        The law of the state before the first step.
    levels : callable
        Rough values, by name, of what the law of hidden opinions needs, from estimates of these, σ and errors.
    grid : array, (points, d)
        Points from which a search begins; NaN in coordinates that follow from the others.
    ranges : mapping of str to (float, float)
        Ranges of coordinates by name.
    penalty : array, (d,)
        The derivatives of what is added to the logarithm of the likelihood.
    opinions : callable
        Means and covariances of the hidden opinions that are wanted.
    """

    names: tuple[str, ...]
    answers: AnswersWithErrors
    filled: Array
    listening: Array
    slope: Array
    scale: Array
    shared: Callable[[Array], Shared]
    start: StartLaw
    levels: Callable[[Array, float, float], dict[str, float]]
    grid: Array
    ranges: Mapping[str, tuple[float, float]]
    penalty: Array
    opinions: Callable[[LatentPath, Measurement], tuple[Array, Array]]

    # The law of the path.

    def path(self, points: Array) -> LatentPath:
        """Return the law of the path at points."""
        shared = [self.shared(z) for z in points]
        rho, std = np.array([each.rho for each in shared]), np.exp([float(each.log_std or 0.0) for each in shared])
        gain, rate = 1 / (1 + rho * self.slope), None
        if any(each.rate is not None for each in shared):
            rate = np.array([np.zeros(gain.shape[1:]) if each.rate is None else each.rate for each in shared])
        mean, covariance = self.start(points)
        phi = np.array([each.phi for each in shared]) if mean.shape[1] > 2 * self.slope.shape[1] else None
        noise = gain * std[:, None, None] * self.scale
        return LatentPath(mean, covariance, self.listening, gain, gain * rho, noise, rate, phi)

    def noise(self, points: Array) -> Array:
        """Return the variance of the errors of measurement at points, (B,)."""
        if "measurement_noise" not in self.names:
            return np.zeros(len(points))
        return np.exp(2 * points[:, self.names.index("measurement_noise")])

    def as_numbers(self, points: Array) -> Measurement:
        """Return the answers as numbers with errors."""
        return self.answers.as_numbers(self.noise(points))

    # Heights.

    def at(self, z: Array, near: Gaussians | None) -> tuple[float, Gaussians | None]:
        """Return the height of a point, −∞ if it has none, and the Gaussians in place of answers."""
        try:
            with np.errstate(all="ignore"):
                height, gaussians = self.evidence(z[None], near)
        except (InvalidInputError, np.linalg.LinAlgError):
            return -np.inf, near
        return (float(height[0]), gaussians) if np.isfinite(height[0]) else (-np.inf, near)

    def slopes(self, z: Array, near: Gaussians) -> Array:
        """Return the derivatives of the height of a point with its settled Gaussians."""
        with np.errstate(all="ignore"):
            return np.asarray(self._gradients(z[None], near)[0])

    def evidence(self, points: Array, near: Gaussians | None = None) -> tuple[Array, Gaussians]:
        """Return heights (B,), and the Gaussians in place of answers."""
        height, gaussians = self.answers.evidence(self.path(points), self.noise(points), near)
        return height + points @ self.penalty, gaussians

    def _gradients(self, points: Array, gaussians: Gaussians) -> Array:
        own = self.answers.gradients(lambda near: (self.path(near), self.noise(near)), points, gaussians)
        return np.asarray(own + self.penalty, dtype=np.float64)

    def gradients(self, points: Array, near: Gaussians) -> Array:
        """Return the derivatives of heights by coordinates, (B, d)."""
        blocks = self._blocks(points)
        return np.concatenate([self._gradients(some, self.evidence(some, near)[1]) for some in blocks])

    def rough(self, points: Array) -> Array:
        """Return heights (B,) with answers taken as numbers with errors, -∞ where there is none."""
        with np.errstate(all="ignore"):
            heights = [log_density(self.path(some), self.as_numbers(some)) for some in self._blocks(points)]
        return np.nan_to_num(np.concatenate(heights), nan=-np.inf)

    def posteriors(self, points: Array, near: Gaussians) -> tuple[Array, Array, Array]:
        """Return heights (B,), and means (B, n) and covariances (B, n, n) of hidden opinions."""
        parts = []
        for some in self._blocks(points):
            height, gaussians = self.evidence(some, near)
            parts.append((height, *self.opinions(self.path(some), gaussians.seen)))
        heights, means, covariances = (np.concatenate(of) for of in zip(*parts, strict=True))
        return heights, means, covariances

    def _blocks(self, points: Array) -> Iterator[Array]:
        """Yield as many points at once as memory takes."""
        states = self.start(points[:1])[0].shape[1]
        many = max(1, int(ANSWER_BYTES / (32 * self.answers.values.shape[0] * states**2)))
        return (points[k : k + many] for k in range(0, len(points), many))

    # The search.

    @cached_property
    def starts(self) -> Array:
        """Points from which a search begins, (points, d), with scales that suit the other coordinates."""
        shares = _SHARES if "measurement_noise" in self.names else (0.0,)
        return np.array([self._completed(z, share) for z in self.grid for share in shares])

    def _completed(self, z: Array, share: float) -> Array:
        """Return a start with its scales: those of what is left of answers taken as exact, split by the share."""
        shared, (y, before) = self.shared(z), (self.filled[1:], self.filled[:-1, :, None])
        u, kept = own_series(y, self.slope * y - (self.listening @ before)[..., 0], shared.rho, shared.rate)
        opinions = (kept * u).sum(axis=0) / np.square(kept).sum(axis=0)
        left, unit = (u - kept * opinions) / self.scale, float(self.filled.std()) or 1.0
        std = float(np.sqrt(np.square(left).mean())) + 1e-3 * unit
        shown = float(np.sqrt(np.square(left / (1 + shared.rho * self.slope)).mean())) + 1e-4 * unit
        std *= float(np.sqrt(1 - share))
        rough = {"std": np.log(std), "measurement_noise": np.log(shown * np.sqrt(share)) if share else np.nan}
        rough |= self.levels(opinions, std, shown)
        return np.array([rough.get(name, value) for name, value in zip(self.names, z, strict=True)])

    def start_at(self, z: Array) -> Maximum:
        """Return a point from which a search begins, with its range: some way on both sides for a scale."""
        ends = [self.ranges.get(name, (-np.inf, np.inf)) for name in self.names]
        widths = [PARAMETERS[name].width if name in PARAMETERS else (np.inf, np.inf) for name in self.names]
        low = np.array([max(value - below, end[0]) for value, (below, _), end in zip(z, widths, ends, strict=True)])
        high = np.array([min(value + above, end[1]) for value, (_, above), end in zip(z, widths, ends, strict=True)])
        height, gaussians = self.evidence(z[None])
        free, root = tuple(range(z.size)), _FIRST * np.eye(z.size)
        return Maximum(self, low, high, free, root, z, float(height[0]), gaussians, 1e-5)

    def maximum(self, parts: Sequence[Array] = ()) -> Maximum:
        """Return the highest point, which is no lower than those of ``parts``, points of models that are its cases."""
        best = self.starts[np.argsort(-self.rough(self.starts), kind="stable")[:_STARTS]]
        return max((self.start_at(z).climbed(z, _ROUGH) for z in [*best, *parts]), key=lambda top: top.height)

    # What is known around the maximum.

    def curved(self, top: Maximum) -> tuple[Maximum, Array]:
        """Return a maximum again, searched in units of standard errors, and the covariance of its coordinates.

        It is that of a weak prior in directions without curvature.
        """
        z, steps = top.point, np.full(top.point.size, _FIRST_STEP)
        # The second pass takes steps of a standard error's size.
        for _ in range(2):
            moved = np.concatenate([z + np.diag(steps), z - np.diag(steps)])
            up, down = np.split(self.gradients(moved, top.near), 2)
            information = (down - up) / (2 * steps[:, None])
            steps = _BEND / np.sqrt(np.maximum(np.diagonal(information), 1 / _WEAK**2))
        values, vectors = np.linalg.eigh(0.5 * (information + information.T))
        covariance = np.asarray((vectors / np.maximum(values, 1 / _WEAK**2)) @ vectors.T)
        top = replace(top, root=np.asarray(np.linalg.cholesky(covariance), dtype=np.float64), visited=[])
        return top.climbed(z, _FINE), covariance

    def drawn(self, top: Maximum, covariance: Array, count: int) -> Array:
        """Return so many draws of coordinates by their covariance, (count, d), the same at every call."""
        values, V = np.linalg.eigh(covariance)
        scores = np.random.default_rng(0).standard_normal((count, values.size))
        return np.asarray(np.clip(top.point + scores @ (V * np.sqrt(np.maximum(values, 0.0))).T, top.low, top.high))

    def hidden(self, top: Maximum, drop: float) -> tuple[Array, Array, tuple[Array, Array]]:
        """Return mean and covariance of hidden opinions over the coordinates, and the ends of their intervals."""
        z, size = top.point, top.point.size
        shifts = np.sqrt(size + 1) * top.root.T
        points = np.clip(np.concatenate([[z], z + shifts, z - shifts]), top.low, top.high)
        visited = np.array([*points, *top.visited])
        heights, means, covariances = self.posteriors(visited, top.near)
        ends = _hull(drop, heights, means, np.diagonal(covariances, axis1=1, axis2=2))
        heights, means, covariances = (of[: len(points)] for of in (heights, means, covariances))
        # These points have the moments of a normal law of z; the ratio of densities corrects for the likelihood.
        away = np.where(np.arange(2 * size + 1) > 0, 0.5 * (size + 1), 0.0)
        weights = np.where(away > 0, 0.5, 1.0) * np.exp(np.clip(heights - heights[0] + away, -50.0, MOST_RATIO))
        weights /= weights.sum()
        mean = weights @ means
        off = means - mean
        covariance = np.einsum("k,kij->ij", weights, covariances) + np.einsum("k,ki,kj->ij", weights, off, off)
        half = np.sqrt(2 * drop * np.diagonal(covariance))
        return mean, covariance, (np.minimum(ends[0], mean - half), np.maximum(ends[1], mean + half))


def _hull(drop: float, heights: Array, means: Array, variances: Array) -> tuple[Array, Array]:
    """Return how far intervals of x₀ reach, (n,) each, at the points that the profiles of coordinates went through.

    Each point, together with a deviation from its mean, may be as unlikely as the drop allows. Likelihoods of
    pressure are skew, and its upper values go with hidden opinions further apart, to which the standard error at
    the maximum does not reach.
    """
    left = 2 * (drop - np.maximum(heights[0] - heights, 0.0))
    near = left >= 0
    half = np.sqrt(left[near, None] * variances[near])
    return (means[near] - half).min(axis=0), (means[near] + half).max(axis=0)
