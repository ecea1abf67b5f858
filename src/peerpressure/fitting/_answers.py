"""Answers as people give them: numbers with an error of measurement, or points of an ordered scale.

A number is y_t + N(0, r²), which the filter takes as it is; rounding to a spacing w adds w²/12 to the variance. A point
of a scale says that y_t (+ N(0, r²)) lies between two cut points, halfway to the next answers, and the first and last
points say that it lies below or above one. Expectation propagation [1]_ replaces each interval by the Gaussian that
leaves mean and variance of its y_t as the interval itself does, given all others. The approximation of the density of
all answers is accurate for intervals of Gaussian paths [2]_ and stationary in the Gaussians, so its derivative by
parameters is that at fixed Gaussians.

References
----------
.. [1] Minka, T. (2001), Expectation propagation for approximate Bayesian inference. UAI.
.. [2] Cunningham, J., Hennig, P. & Lacoste-Julien, S. (2011), Gaussian probabilities and expectation propagation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from peerpressure.errors import InvalidInputError, message
from peerpressure.fitting._latent_path import (
    DensitySlopes,
    LatentPath,
    Measurement,
    PathPosterior,
    Trace,
    density_slopes,
    smoothed,
)
from peerpressure.model.step import Array

# Change of the log density at which expectation propagation stops, and the most rounds until then; a few suffice.
_SETTLED, _ROUNDS = 1e-9, 200
# Rounds after which Gaussians move by a part of the way only: many answers that say the same make them oscillate.
_DAMPED = ((0, 1.0), (10, 0.5), (40, 0.2))
# Step of numerical derivatives at fixed Gaussians.
_STEP = 1e-3
# Least precision of a Gaussian in place of an interval, beside that of what the other answers say, and the reverse.
_LEAST = 1e-8


class Gaussians(NamedTuple):
    """Gaussians in place of answers, and what the other answers say of each y_t: means and variances, (B, T + 1, n).

    ``trace`` are the passes over the path with them.
    """

    seen: Measurement
    mean: Array
    variance: Array
    trace: Trace

    def of(self, point: int) -> Gaussians:
        """Return those of a single point."""
        value, variance, present = self.seen
        one = slice(point, point + 1)
        return self._replace(
            seen=Measurement(value[one], variance[one], present), mean=self.mean[one], variance=self.variance[one]
        )

    def for_points(self, points: int) -> Gaussians:
        """Return those of a single point as those of several."""
        return self._replace(seen=_for_points(self.seen, points))


# The law of the path and the variance of measurement, (B,), at points of coordinates, (B, d).
Law: TypeAlias = Callable[[Array], tuple[LatentPath, Array]]


@final
@dataclass(frozen=True, eq=False)
class AnswersWithErrors:
    """Answers of one replicate, (T + 1, n), on a grid of ``spacing`` or without one, NaN where there are none.

    With a ``scale``, its first and last points, they are ordered categories.
    """

    values: Array
    spacing: float
    scale: tuple[float, float] | None

    @property
    def present(self) -> NDArray[np.bool_]:
        """Where there are answers."""
        return np.isfinite(self.values)

    @property
    def cuts(self) -> tuple[Array, Array]:
        """The cut points below and above each answer; 0 and 1, which mean nothing, where there is none."""
        assert self.scale is not None
        half = self.spacing / 2
        low = np.where(self.values < self.scale[0] + half, -np.inf, self.values - half)
        high = np.where(self.values > self.scale[1] - half, np.inf, self.values + half)
        return np.where(self.present, low, 0.0), np.where(self.present, high, 1.0)

    def as_numbers(self, noise: Array) -> Measurement:
        """Return the answers as numbers with errors of these variances, (B,), besides their rounding."""
        variance = np.asarray(noise)[:, None, None] + self.spacing**2 / 12
        shape = (len(noise), *self.values.shape)
        values = np.broadcast_to(np.nan_to_num(self.values), shape)
        return Measurement(values, np.broadcast_to(variance, shape), self.present)

    def evidence(self, path: LatentPath, noise: Array, near: Gaussians | None = None) -> tuple[Array, Gaussians]:
        """Return the log density of the answers, (B,), and the Gaussians in their place.

        ``noise`` (B,) is the variance of measurement; ``near`` are Gaussians of a point nearby.
        """
        if self.scale is None:
            seen = self.as_numbers(noise)
            height, posterior = smoothed(path, seen)
            return height, Gaussians(seen, seen.value, seen.variance, posterior.trace)
        seen = self.as_numbers(noise) if near is None else _for_points(near.seen, len(noise))
        before = np.full(len(noise), np.inf)
        for count in range(_ROUNDS):
            # If nothing is left of a density, heights are not finite, which is all that matters.
            with np.errstate(all="ignore"):
                height, posterior = smoothed(path, seen)
                gaussians = Gaussians(seen, *_without(posterior, seen), posterior.trace)
                height = height + self._corrections(gaussians, noise)
                moved = self._matched(gaussians, noise)
            if not np.isfinite(height).all():
                break
            if (np.abs(height - before) < _SETTLED * (1 + np.abs(height))).all():
                return height, gaussians
            part = next(part for first, part in reversed(_DAMPED) if count >= first)
            before, seen = height, _mixed(seen, moved, part)
        rule = "answers on a scale must change often enough for the Gaussians in their place to settle"
        remedy = "check the scale, or take parameters as known and recover with this observation"
        raise InvalidInputError(message(rule, got=f"none after {count + 1} rounds", remedy=remedy))

    def gradients(self, law: Law, points: Array, gaussians: Gaussians) -> Array:
        """Return the derivatives of the log density by coordinates, (B, d), at points with their settled Gaussians."""
        return np.array(
            [
                self._gradient(law, z, slopes, gaussians.of(k))
                for k, (z, slopes) in enumerate(
                    zip(points, density_slopes(law(points)[0], gaussians.trace), strict=True)
                )
            ]
        )

    def _gradient(self, law: Law, z: Array, slopes: DensitySlopes, gaussians: Gaussians) -> Array:
        steps = _STEP * np.eye(z.size)
        path, noise = law(np.concatenate([z + steps, z - steps]))
        if self.scale is None:
            heights = slopes.along(path) + noise * slopes.variance.sum()
        else:
            # Gaussians stay as they are; only errors of measurement change what an interval says.
            heights = slopes.along(path) + self._corrections(gaussians.for_points(len(noise)), noise)
        return np.asarray((heights[: z.size] - heights[z.size :]) / (2 * _STEP))

    def _corrections(self, gaussians: Gaussians, noise: Array) -> Array:
        """Return by how much the log density of intervals exceeds that of the Gaussians in their place, (B,)."""
        seen, total = gaussians.seen, gaussians.variance + gaussians.seen.variance
        exact, _, _ = interval(gaussians.mean, gaussians.variance + noise[:, None, None], *self.cuts)
        taken = -0.5 * (np.square(seen.value - gaussians.mean) / total + np.log(2 * np.pi * total))
        return np.asarray(np.where(seen.present, exact - taken, 0.0).sum(axis=(1, 2)))

    def _matched(self, gaussians: Gaussians, noise: Array) -> Measurement:
        """Return the Gaussians that leave the same mean and variance of each y_t as its interval."""
        _, slope, bend = interval(gaussians.mean, gaussians.variance + noise[:, None, None], *self.cuts)
        # 1/v′ − 1/v with v′ = v + v² bend; a wide interval says almost nothing.
        precision = np.maximum(-bend / (1 + gaussians.variance * bend), _LEAST / gaussians.variance)
        new_mean, new_variance = gaussians.mean + gaussians.variance * slope, 1 / (1 / gaussians.variance + precision)
        value = (new_mean / new_variance - gaussians.mean / gaussians.variance) / precision
        present = gaussians.seen.present
        return Measurement(np.where(present, value, 0.0), np.where(present, 1 / precision, 1.0), present)


def _for_points(seen: Measurement, points: int) -> Measurement:
    shape = (points, *seen.present.shape)
    return Measurement(np.broadcast_to(seen.value, shape), np.broadcast_to(seen.variance, shape), seen.present)


def _mixed(old: Measurement, new: Measurement, part: float) -> Measurement:
    """Return Gaussians that have moved a part of the way, in precision and precision times mean."""
    if part == 1:
        return new
    precision = (1 - part) / old.variance + part / new.variance
    weighted = (1 - part) * old.value / old.variance + part * new.value / new.variance
    return Measurement(weighted / precision, 1 / precision, new.present)


def _without(posterior: PathPosterior, seen: Measurement) -> tuple[Array, Array]:
    """Return mean and variance of each y_t without its own Gaussian."""
    precision = 1 / posterior.variance - np.where(seen.present, 1 / seen.variance, 0.0)
    precision = np.maximum(precision, _LEAST / posterior.variance)
    weighted = posterior.mean / posterior.variance - np.where(seen.present, seen.value / seen.variance, 0.0)
    return weighted / precision, 1 / precision


def interval(mean: Array, variance: Array, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Return log P(low < N(mean, variance) < high) and its first two derivatives by the mean."""
    std = np.sqrt(variance)
    a, b = (low - mean) / std, (high - mean) / std
    # In the lower tail differences of Φ keep their digits.
    upper = a + b > 0
    less, more = special.log_ndtr(np.where(upper, -b, a)), special.log_ndtr(np.where(upper, -a, b))
    log_p = more + np.log(-np.expm1(less - more))
    at_low, at_high = (np.exp(-0.5 * z**2 - log_p) / np.sqrt(2 * np.pi) for z in (a, b))
    slope = (at_low - at_high) / std
    # z φ(z) is 0 at infinity.
    ends = [np.where(np.isinf(z), 0.0, np.where(np.isinf(z), 0.0, z) * at) for z, at in ((a, at_low), (b, at_high))]
    return log_p, slope, (ends[0] - ends[1]) / variance - slope**2
