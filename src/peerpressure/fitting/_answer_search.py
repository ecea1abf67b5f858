"""The maximum of a likelihood of answers with errors, and intervals around it.

Points of the likelihood come with the Gaussians that stand for answers on a scale, from which a neighbouring point is
computed faster. Intervals are those of the likelihood ratio in each coordinate, the others maximised. Those of hidden
opinions come from their posteriors at several points around the maximum, weighted by their likelihood, and reach at
least as far as the profiles of the coordinates take them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from peerpressure.errors import InvalidInputError
from peerpressure.fitting._answers import Answers, Sites
from peerpressure.fitting._joint_fit import zero_between
from peerpressure.fitting._latent_path import LatentPath, log_density
from peerpressure.fitting._profile_intervals import allowance
from peerpressure.model.step import Array
from peerpressure.recovery.limits import ANSWER_BYTES
from peerpressure.support.progress import check_cancelled

# How far another coordinate is moved along before a search, at most.
_DRIFT = 1.0
# Steps of second derivatives: the first one, and in standard errors.
_FIRST_STEP, _BEND = 0.1, 0.5
# Rough standard error of coordinates before it is known.
_FIRST = 0.3
# What a search takes for the height of points that have none.
_IMPOSSIBLE = 1e100
# Standard deviation of a weak prior of coordinates in directions without curvature.
_WEAK = 3.0
# Most by which the logarithm of the likelihood may exceed that of a normal law at a point beside the maximum.
_RATIO = 1.0


class AnswerProblem(ABC):
    """A likelihood of answers as a function of points of shared coordinates, (B, d)."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The name of each coordinate."""

    @property
    @abstractmethod
    def answers(self) -> Answers:
        """What people answered."""

    @property
    @abstractmethod
    def states(self) -> int:
        """Numbers in the state of a path."""

    @abstractmethod
    def path(self, points: Array) -> LatentPath:
        """Return the law of the path at points."""

    @abstractmethod
    def noise(self, points: Array) -> Array:
        """Return the variance of the errors of measurement at points, (B,)."""

    @abstractmethod
    def opinions(self, points: Array, sites: Sites) -> tuple[Array, Array]:
        """Return means (B, n) and covariances (B, n, n) of hidden opinions."""

    @abstractmethod
    def bounds(self, start: Array) -> Sequence[tuple[float, float]]:
        """Return the range of each coordinate in a search from a start."""

    @property
    @abstractmethod
    def penalty_slopes(self) -> Array:
        """The derivatives of the penalty, which is linear in the coordinates, (d,)."""

    def penalty(self, points: Array) -> Array:
        """Return what is added to the logarithm of the likelihood at points, (B,)."""
        return np.asarray(points @ self.penalty_slopes)

    def evidence(self, points: Array, near: Sites | None = None) -> tuple[Array, Sites]:
        """Return heights (B,), and the Gaussians in place of answers."""
        height, sites = self.answers.evidence(self.path(points), self.noise(points), near)
        return height + self.penalty(points), sites

    def gradients(self, points: Array, sites: Sites) -> Array:
        """Return the derivatives of heights by coordinates, (B, d), at points with their settled Gaussians."""
        own = self.answers.gradients(lambda near: (self.path(near), self.noise(near)), points, sites)
        return np.asarray(own + self.penalty_slopes, dtype=np.float64)

    def slopes(self, points: Array, near: Sites) -> Array:
        """Return the derivatives of heights by coordinates, (B, d)."""
        blocks = self._blocks(points)
        return np.concatenate([self.gradients(some, self.evidence(some, near)[1]) for some in blocks])

    def rough(self, points: Array) -> Array:
        """Return heights (B,) with answers taken as numbers with errors, -∞ where there is none."""
        with np.errstate(all="ignore"):
            heights = [log_density(self.path(p), self.answers.as_numbers(self.noise(p))) for p in self._blocks(points)]
        return np.nan_to_num(np.concatenate(heights), nan=-np.inf)

    def posteriors(self, points: Array, near: Sites) -> tuple[Array, Array, Array]:
        """Return heights (B,), and means (B, n) and covariances (B, n, n) of hidden opinions."""
        parts = []
        for some in self._blocks(points):
            height, sites = self.evidence(some, near)
            parts.append((height, *self.opinions(some, sites)))
        heights, means, covariances = (np.concatenate(of) for of in zip(*parts, strict=True))
        return heights, means, covariances

    def _blocks(self, points: Array) -> Iterator[Array]:
        """Yield as many points at once as memory takes."""
        many = max(1, int(ANSWER_BYTES / (32 * self.answers.values.shape[0] * self.states**2)))
        return (points[k : k + many] for k in range(0, len(points), many))


@final
@dataclass(frozen=True, eq=False)
class Climb:
    """A maximum: its point, its height, and the Gaussians in place of answers there.

    ``root`` (d, d) is a root of a rough covariance of the coordinates, in units of which a search goes.
    """

    problem: AnswerProblem
    bounds: tuple[Array, Array]
    root: Array
    point: Array
    height: float
    sites: Sites

    @classmethod
    def from_start(cls, problem: AnswerProblem, start: Array) -> Climb:
        """Return the maximum that a search from a start leads to."""
        low, high = np.array(problem.bounds(start)).T
        height, sites = problem.evidence(start[None])
        first = cls(problem, (low, high), _FIRST * np.eye(start.size), start, float(height[0]), sites)
        return first.onwards(start)

    def onwards(self, start: Array, fixed: int | None = None, tolerance: float = 1e-4) -> Climb:
        """Return the maximum that a search from another point leads to, perhaps with one coordinate fixed."""
        from scipy import optimize

        root = self.root
        if fixed is not None:
            # The covariance of the others given this one.
            others = np.delete(np.eye(start.size), fixed, axis=0)
            precision = others @ np.linalg.inv(root @ root.T) @ others.T
            root = others.T @ np.linalg.cholesky(np.linalg.inv(precision))
        last, best = [self.sites], [self]

        def minus(u: Array) -> tuple[float, Array]:
            check_cancelled()
            z = np.clip(start + root @ u, *self.bounds)
            with np.errstate(all="ignore"):
                there = self._at(z, last[0])
            if there is None:
                return _IMPOSSIBLE, np.zeros(u.size)
            last[0] = there.sites
            if best[0] is self or there.height > best[0].height:
                best[0] = there
            return -there.height, -(there.gradient * ((z > self.bounds[0]) & (z < self.bounds[1]))) @ root

        options = {"ftol": tolerance / (1 + abs(self.height)), "gtol": 1e-2}
        optimize.minimize(minus, np.zeros(root.shape[1]), jac=True, method="L-BFGS-B", options=options)
        return best[0]

    def _at(self, z: Array, near: Sites) -> Climb | None:
        """Return this point of the likelihood, None if it has no height there."""
        try:
            height, sites = self.problem.evidence(z[None], near)
        except (InvalidInputError, np.linalg.LinAlgError):
            return None
        return replace(self, point=z, height=float(height[0]), sites=sites) if np.isfinite(height[0]) else None

    @property
    def gradient(self) -> Array:
        """The derivative of the height by the coordinates."""
        return np.asarray(self.problem.gradients(self.point[None], self.sites)[0])


class AnswerIntervals:
    """Intervals around one maximum."""

    def __init__(self, top: Climb, level: float) -> None:
        self.top, self.problem = top, top.problem
        self.drop = float(allowance(level, np.inf))
        self.covariance = self._curvature()
        # In units of standard errors a few steps of a search suffice.
        top = replace(top, root=np.asarray(np.linalg.cholesky(self.covariance), dtype=np.float64))
        self.top = top.onwards(top.point, tolerance=1e-6)
        # Points that the profiles of the coordinates have gone through, (1, d) each.
        self.visited: list[Array] = []

    def _curvature(self) -> Array:
        """Return the covariance of the coordinates, that of a weak prior in directions without curvature."""
        z, size = self.top.point, self.top.point.size
        steps = np.full(size, _FIRST_STEP)
        # The second pass takes steps of a standard error's size.
        for _ in range(2):
            moved = np.concatenate([z + np.diag(steps), z - np.diag(steps)])
            up, down = np.split(self.problem.slopes(moved, self.top.sites), 2)
            information = (down - up) / (2 * steps[:, None])
            steps = _BEND / np.sqrt(np.maximum(np.diagonal(information), 1 / _WEAK**2))
        values, vectors = np.linalg.eigh(0.5 * (information + information.T))
        return np.asarray((vectors / np.maximum(values, 1 / _WEAK**2)) @ vectors.T)

    def opinions(self) -> tuple[Array, Array, tuple[Array, Array]]:
        """Return mean and covariance of x₀ over the shared coordinates, and the ends of its intervals."""
        z, size = self.top.point, self.top.point.size
        shifts = np.sqrt(size + 1) * self.top.root.T
        points = np.clip(np.concatenate([[z], z + shifts, z - shifts]), *self.top.bounds)
        heights, means, covariances = self.problem.posteriors(np.concatenate([points, *self.visited]), self.top.sites)
        ends = self._hull(heights, means, np.diagonal(covariances, axis1=1, axis2=2))
        heights, means, covariances = (of[: len(points)] for of in (heights, means, covariances))
        # These points have the moments of a normal law of z; the ratio of densities corrects for the likelihood.
        away = np.where(np.arange(2 * size + 1) > 0, 0.5 * (size + 1), 0.0)
        weights = np.where(away > 0, 0.5, 1.0) * np.exp(np.clip(heights - heights[0] + away, -50.0, _RATIO))
        weights /= weights.sum()
        mean = weights @ means
        off = means - mean
        covariance = np.einsum("k,kij->ij", weights, covariances) + np.einsum("k,ki,kj->ij", weights, off, off)
        half = np.sqrt(2 * self.drop * np.diagonal(covariance))
        return mean, covariance, (np.minimum(ends[0], mean - half), np.maximum(ends[1], mean + half))

    def _hull(self, heights: Array, means: Array, variances: Array) -> tuple[Array, Array]:
        """Return how far intervals of x₀ reach, (n,) each, at the points that the profiles of coordinates went through.

        Each point, together with a deviation from its mean, may be as unlikely as the drop allows. Likelihoods of
        pressure are skew, and its upper values go with hidden opinions further apart, to which the standard error at
        the maximum does not reach.
        """
        left = 2 * (self.drop - np.maximum(heights[0] - heights, 0.0))
        near = left >= 0
        half = np.sqrt(left[near, None] * variances[near])
        return (means[near] - half).min(axis=0), (means[near] + half).max(axis=0)

    def end(self, k: int, side: int) -> float:
        """Return where the profile of a coordinate has fallen by the drop; ∓∞ if it does not within its range."""
        drift, (low, high) = self.covariance[:, k] / self.covariance[k, k], (float(end[k]) for end in self.top.bounds)
        near = self.top

        def excess(value: float) -> float:
            nonlocal near
            move = value - near.point[k]
            start = near.point + np.clip(move * drift, -_DRIFT, _DRIFT)
            start[k] = value
            there = near.onwards(start, k)
            self.visited.append(there.point[None])
            # The root of the likelihood ratio is almost linear in the coordinate, which makes its zero easy to find.
            over = float(np.sqrt(max(2 * (self.top.height - there.height), 0.0)) - np.sqrt(2 * self.drop))
            # Far outside a search may end anywhere, and nothing must begin there.
            near = there if over <= 0 else near
            return over

        step = side * float(np.clip(np.sqrt(2 * self.drop * self.covariance[k, k]), 1e-6, 2.0))
        inner, below = float(self.top.point[k]), -float(np.sqrt(2 * self.drop))
        while True:
            outer = float(np.clip(inner + step, low, high))
            above = excess(outer)
            if above > 0:
                return zero_between(excess, (inner, below), (outer, above))
            if outer in (low, high):
                return side * np.inf
            inner, below = outer, above
