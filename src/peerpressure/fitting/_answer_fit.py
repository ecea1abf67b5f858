"""The fit of unknown parameters to answers: rounded, on an ordered scale, or with measurement noise of unknown size.

Hidden opinions cannot be read off such outputs, and a parameter for each of them would be fitted to errors. They are
therefore integrated out as draws from N(μ, τ²): τ is one more shared coordinate, and μ has a wide prior. With a few
agents the likelihood may be highest at τ = 0, where everybody would think alike with certainty; the factor τ/σ keeps
the estimate away from there [1]_. A factor τ would favour opinions that are far apart in every unit, and with them
strong pressure. Intervals are those of the likelihood ratio in each coordinate, the others maximised.
Those of x₀ come from its posteriors at several points around the maximum, weighted by their likelihood, and reach at
least as far as the profiles of the coordinates take it.

References
----------
.. [1] Chung, Y., Rabe-Hesketh, S., Dorie, V., Gelman, A. & Liu, J. (2013), A nondegenerate penalized likelihood
   estimator for variance parameters in multilevel models. Psychometrika 78.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from peerpressure.errors import InvalidInputError, TooLargeError, message
from peerpressure.fitting._answer_search import AnswerIntervals, AnswerProblem, Climb
from peerpressure.fitting._answers import Answers, Sites
from peerpressure.fitting._latent_path import LatentPath, first_opinions
from peerpressure.fitting._parameters import COORDINATES, PARAMETERS, UnknownParameter, Unknowns, unknowns
from peerpressure.fitting._profile_intervals import ReplicateFit
from peerpressure.model import Model
from peerpressure.model.statespace import initial_state
from peerpressure.model.step import Array
from peerpressure.recovery.limits import ANSWER_LIMIT
from peerpressure.recovery.observation import Outputs

# Shares of the variance of outputs that are tried as measurement noise.
_SHARES = (0.1, 0.5, 0.9)
# Best starts from which a search continues.
_STARTS = 2


@final
@dataclass(frozen=True, eq=False)
class AnswerDesign:
    """What replicates share: adjacency (1 or T, n, n), degrees and the scale of noise (T, n), and the start."""

    adjacency: Array
    degrees: Array
    scale: Array
    start: Array | None


def is_measured(data: Outputs, unknown: Sequence[str]) -> bool:
    """Return whether outputs are seen through errors, known or unknown."""
    return bool(data.seen.noise_variance) or "measurement_noise" in unknown


def answer_problems(
    model: Model, data: Outputs, unknown: Sequence[str], pieces: Sequence[int] | None
) -> list[AnswerLikelihood]:
    """Return the likelihood of each replicate."""
    own = [name for name in unknown if name in PARAMETERS and PARAMETERS[name].scale is None]
    if own:
        rule = "parameters of single agents need outputs without rounding and measurement noise"
        remedy = f"leave {', '.join(own)} out of unknown, or fit exact outputs"
        raise InvalidInputError(message(rule, got=", ".join(own), remedy=remedy))
    if data.seen.free.size < model.n:
        rule = "a start that shows hidden opinions exactly has no measurement noise"
        raise InvalidInputError(message(rule, got="sees_start", remedy="do not look at step 0, or declare rounding"))
    if model.n > ANSWER_LIMIT:
        rule = f"outputs with rounding or measurement noise are fitted for up to {ANSWER_LIMIT} agents"
        remedy = "fit a part of the network, or recover with known parameters"
        raise TooLargeError(message(rule, got=f"{model.n:,}", remedy=remedy))
    what = unknowns(model, unknown, data.seen.times[data.seen.times > 0], pieces)
    # Every step has a state, observed or not.
    what = replace(what, names=(*what.names, "spread"), times=np.arange(1, data.seen.last + 1))
    design, seen = _design(what), data.seen
    values = np.full((len(data.values), seen.last + 1, model.n), np.nan)
    for row, t in enumerate(seen.times):
        values[:, t, seen.agents] = data.at(row)
    return [AnswerLikelihood(what, design, Answers(path, seen.rounding, seen.scale)) for path in values]


def _design(what: Unknowns) -> AnswerDesign:
    model = what.model
    start = initial_state(model)
    updates = [model.update(int(t)) for t in what.times]
    degrees = np.array([model.degrees_at(int(t)) for t in what.times])
    changes = any(update.adjacency is not updates[0].adjacency for update in updates)
    adjacency = np.array([update.adjacency.toarray() for update in (updates if changes else updates[:1])])
    std = model.noise.deviations(model.n)
    scale = model.noise.scale(what.times)[:, None] * std / std.mean()
    return AnswerDesign(adjacency, degrees, scale, None if start.starts_from_hidden else model.start_state)


@final
@dataclass(frozen=True, eq=False)
class AnswerLikelihood(AnswerProblem):
    """The likelihood of one replicate's answers as a function of points of shared coordinates, (B, d)."""

    unknown: Unknowns
    design: AnswerDesign
    record: Answers

    @property
    def answers(self) -> Answers:
        """The answers of all steps, NaN where there is none."""
        return self.record

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each coordinate."""
        return self.unknown.coordinates

    def opinions(self, points: Array, sites: Sites) -> tuple[Array, Array]:
        """Return means (B, n) and covariances (B, n, n) of x₀."""
        return first_opinions(self.path(points), sites.seen)

    @cached_property
    def states(self) -> int:
        """Numbers in the state: public and hidden opinions, and the memory of noise."""
        has_memory = "autocorrelation" in self.unknown or self.unknown.model.noise.autocorrelation
        return (3 if has_memory else 2) * self.unknown.model.n

    @cached_property
    def penalty_slopes(self) -> Array:
        """Those of log τ/σ, or of log τ where σ is known."""
        names = np.array(self.names)
        return np.asarray((names == "spread").astype(np.float64) - (names == "std"))

    def noise(self, points: Array) -> Array:
        """Return the variance of the errors of measurement at points, (B,)."""
        if "measurement_noise" not in self.names:
            return np.zeros(len(points))
        return np.exp(2 * points[:, self.names.index("measurement_noise")])

    @cached_property
    def centre(self) -> tuple[float, float]:
        """Mean and standard deviation of the prior of μ: that of all answers, and their range."""
        values = self.answers.values[self.answers.present]
        ends = self.answers.scale or (values.min(), values.max())
        return float(values.mean()), float(ends[1] - ends[0]) or 1.0

    def path(self, points: Array) -> LatentPath:
        """Return the law of the path at points of the shared coordinates."""
        what, design, n = self.unknown, self.design, self.unknown.model.n
        shared = [what.shared(z) for z in points]
        inverse = 1 / what.model.s
        rho, std = np.array([each.rho for each in shared]), np.exp([float(each.log_std or 0.0) for each in shared])
        gain = 1 / (1 + rho * inverse * design.degrees)
        noise = gain * std[:, None, None] * design.scale
        rate = None
        if any(each.rate is not None for each in shared):
            rate = np.array([np.zeros(gain.shape[1:]) if each.rate is None else each.rate for each in shared])
        phi = np.array([each.phi for each in shared]) if self.states > 2 * n else None
        return LatentPath(*self._start(points), design.adjacency, gain, gain * rho * inverse, noise, rate, phi)

    def _start(self, points: Array) -> tuple[Array, Array]:
        n, (middle, reach) = self.unknown.model.n, self.centre
        memory = slice(2 * n, None)
        spread = np.exp(points[:, self.names.index("spread")])
        opinions = spread[:, None, None] ** 2 * np.eye(n) + reach**2
        mean, covariance = np.zeros((len(points), self.states)), np.zeros((len(points), self.states, self.states))
        mean[:, : 2 * n] = middle
        covariance[:, n : 2 * n, n : 2 * n] = opinions
        if self.design.start is None:
            covariance[:, :n, :n] = covariance[:, :n, n : 2 * n] = covariance[:, n : 2 * n, :n] = opinions
        else:
            mean[:, :n] = self.design.start
        covariance[:, memory, memory] = np.eye(self.states - 2 * n)
        return mean, covariance

    def starts(self) -> Array:
        """Return points from which a search begins, (points, d), with scales that suit the other coordinates."""
        n = self.unknown.model.n
        grid = self.unknown.starts()
        shares = _SHARES if "measurement_noise" in self.names else (0.0,)
        return np.array([self._completed(z, share) for z in grid[:: 1 + n // 30] for share in shares])

    def _completed(self, z: Array, share: float) -> Array:
        """Return a start with its scales: those of what is left of answers taken as exact, split by the share."""
        y, there = self.answers.values[1:], self.answers.present[1:]
        middle, reach = self.centre
        # An answer that is missing is taken to be the agent's usual one.
        own = np.where(there, y, 0.0).sum(axis=0) + middle
        own /= there.sum(axis=0) + 1
        y = np.where(there, y, own)
        before = np.concatenate([own[None], y[:-1]])
        around = np.einsum(
            "tij,tj->ti", np.broadcast_to(self.design.adjacency, (len(y), *self.design.adjacency.shape[1:])), before
        )
        pull = self.unknown.shared(z).rho / self.unknown.model.s
        left = y + pull * (self.design.degrees * y - around)
        opinions = left.mean(axis=0)
        error = (left - opinions) / self.design.scale
        std = float(np.sqrt(np.square(error).mean())) + 1e-3 * reach
        shown = float(np.sqrt(np.square(error / (1 + pull * self.design.degrees)).mean())) + 1e-4 * reach
        rough = {
            "std": np.log(std * np.sqrt(1 - share)),
            "measurement_noise": np.log(shown * np.sqrt(share)) if share else np.nan,
            "spread": np.log(max(float(opinions.std()), 0.1 * shown)),
        }
        return np.array([rough.get(name, value) for name, value in zip(self.names, z, strict=True)])

    def bounds(self, start: Array) -> list[tuple[float, float]]:
        """Return the range of each coordinate: that of the parameter, or some way on both sides of a scale's start."""
        ranges = []
        for name, value in zip(self.names, start, strict=True):
            below, above = PARAMETERS[name].reach
            ranges.append((max(value - below, COORDINATES[name].low), min(value + above, COORDINATES[name].high)))
        return ranges


def fit_answers(problem: AnswerLikelihood, level: float) -> ReplicateFit:
    """Return the estimate of one replicate, with intervals of the given level."""
    count = int(problem.answers.present.sum())
    if count <= len(problem.names):
        rule, got = "there must be more answers than unknown parameters", f"{count} for {len(problem.names)}"
        raise InvalidInputError(message(rule, got=got, remedy="observe longer, or take less as unknown"))
    if np.nanstd(problem.answers.values) == 0:
        # Answers that differ may all be at one point of a scale that is not theirs.
        rule, got = "answers must differ as they are observed", f"{np.nanmax(problem.answers.values):g} from everybody"
        remedy = "declare the scale or the rounding of these answers, or observe longer"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))
    starts = problem.starts()
    best = starts[np.argsort(-problem.rough(starts), kind="stable")[:_STARTS]]
    top = max((Climb.from_start(problem, z) for z in best), key=lambda climb: climb.height)
    return _result(problem, AnswerIntervals(top, level))


def _result(problem: AnswerLikelihood, intervals: AnswerIntervals) -> ReplicateFit:
    """Return all intervals."""
    shared = {}
    for name in dict.fromkeys(problem.names):
        if name != "spread":
            at = [k for k, other in enumerate(problem.names) if other == name]
            ends = np.array([[intervals.end(k, side) for side in (-1, 1)] for k in at])
            variance, factor = intervals.covariance[at, at], problem.unknown.std_of_agents if name == "std" else 1.0
            made = COORDINATES[name].parameter(intervals.top.point[at], variance, ends, factor=factor)
            shared[name] = replace(made, std=np.where(made.identified, made.std, np.inf))
    value, covariance, (low, high) = intervals.opinions()
    std = np.sqrt(np.diagonal(covariance))
    hidden = UnknownParameter(value, std, low, high, np.isfinite(std))
    log_likelihood = intervals.top.height - float(problem.penalty(intervals.top.point[None])[0])
    return ReplicateFit(shared, hidden, covariance, float(log_likelihood))
