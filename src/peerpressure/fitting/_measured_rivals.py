"""Rivals of answers with errors: rounded, on an ordered scale, or measured with noise of unknown size.

Nobody responds to such errors, so they are not noise of the model. Given first answers, the state before the first
scored row is

    y ~ N(first answers, r² + w²/12),    x ~ N(α + β · own + γ · neighbours' first answers, τ²),

with w the spacing of answers and r the noise of measurement. From there on answers are seen through their errors by
the filter of a latent path; points of a scale are ordered categories. This is the integrated likelihood of exact
answers with one more variance: it tends to that as errors vanish. σ and α/σ, β/σ, γ/σ, τ/σ are coordinates of the
search, like those of the pressure: answers hardly change where pressure, noise and opinions grow in proportion. Walks
and averages have no x of their own: it is the last y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import final

import numpy as np
from scipy import special

from peerpressure.errors import InvalidInputError, TooLargeError, message
from peerpressure.fitting._answer_search import AnswerIntervals, AnswerProblem, Climb
from peerpressure.fitting._answers import Answers, Sites
from peerpressure.fitting._courses import NO_PARAMETERS, Course, ParameterTable
from peerpressure.fitting._integrated import Dynamics, own_series
from peerpressure.fitting._latent_path import LatentPath, Measurement, first_opinions, last_opinions, predicted
from peerpressure.fitting._parameters import PARAMETERS
from peerpressure.fitting._record import Errors, Panel
from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.step import Array
from peerpressure.noise import Gaussian
from peerpressure.recovery.limits import ANSWER_LIMIT
from peerpressure.support.resources import few_threads

# Most starts of a course that are tried, and the best of all from which a search continues.
_TRIED, _STARTS = 12, 2
# Shares of the variance of answers that are tried as measurement noise.
_SHARES = (0.1, 0.5, 0.9)
# A rival with at most so many parameters has intervals of its likelihood; others those of the curvature.
_PROFILED = 3
_DRAWS = 200


@final
@dataclass(frozen=True, eq=False)
class MeasuredLikelihood(AnswerProblem):
    """The likelihood of scored answers, given the first ones, as a function of points of coordinates, (B, d)."""

    panel: Panel
    course: Course
    # Pressure and adaptation that are given, by a model of the user.
    dynamics: Dynamics | None = None
    # Whether hidden opinions are the last answers, as in walks and averages.
    averages: bool = False

    @property
    def errors(self) -> Errors:
        """How answers are seen."""
        assert self.panel.errors is not None
        return self.panel.errors

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each coordinate."""
        noise = ("measurement_noise",) * self.errors.is_measured
        level = () if self.averages else (*(f"level {k}" for k in range(self.regressors.shape[1])), "spread")
        return (*self.course.names, *level, *noise, "std")

    @cached_property
    def states(self) -> int:
        """Numbers in the state: public and hidden opinions."""
        return 2 * self.panel.n

    @cached_property
    def answers(self) -> Answers:
        """The scored answers, after an empty row for the first ones."""
        rows = np.where(self.panel.scored, self.panel.rows[1:], np.nan)
        values = np.concatenate([np.full((1, self.panel.n), np.nan), rows])
        return Answers(values, self.errors.spacing, self.errors.scale)

    @cached_property
    def regressors(self) -> Array:
        """A constant, and first answers about their mean, all in units of typical changes of answers, (n, k)."""
        columns = self.panel.regressors.copy()
        columns[:, 1:] -= self.panel.first.mean()
        changes = np.diff(self.panel.filled, axis=0)
        typical = float(np.sqrt(np.square(changes).mean() / 2)) or self.unit
        return np.asarray(columns / np.r_[1.0, [typical] * (columns.shape[1] - 1)])

    @cached_property
    def unit(self) -> float:
        """The standard deviation of all answers."""
        return float(np.nanstd(self.panel.rows)) or 1.0

    @cached_property
    def listening(self) -> Array:
        """The adjacency over stubbornness, (1 or T, n, n)."""
        changes = not self.panel.model.is_constant
        return np.array([A.toarray() for A in self.panel.listening[: None if changes else 1]])

    # Points.

    def opinions(self, points: Array, sites: Sites) -> tuple[Array, Array]:
        """Return means (B, n) and covariances (B, n, n) of hidden opinions after the last row."""
        return last_opinions(self.path(points), sites.seen)

    @property
    def penalty_slopes(self) -> Array:
        """Those of log τ/σ: with few agents the likelihood may be highest where all think as first answers say."""
        return np.asarray(np.array(self.names) == "spread", dtype=np.float64)

    def as_numbers(self, points: Array) -> Measurement:
        """Return the answers as numbers with errors."""
        return self.answers.as_numbers(self.noise(points))

    def noise(self, points: Array) -> Array:
        """Return the variance of the errors of measurement at points, (B,)."""
        if not self.errors.is_measured:
            return np.zeros(len(points))
        return np.exp(2 * points[:, self.names.index("measurement_noise")])

    # The path.

    def dynamics_at(self, z: Array) -> Dynamics:
        """Return the shared parameters at coordinates."""
        if self.dynamics is not None:
            return self.dynamics
        t, rate = self.panel.steps[1:].astype(np.float64), None
        if self.course.adapts or self.averages:
            rate = np.full((t.size, self.panel.n), 1.0 if self.averages else self.course.rate(z))
        return Dynamics(self.course.rho(z, t), rate)

    def path(self, points: Array) -> LatentPath:
        """Return the law of the path at points."""
        shared = [self.dynamics_at(z) for z in points]
        rho = np.array([each.rho for each in shared])[..., None]
        gain = 1 / (1 + rho * self.panel.slope)
        noise = gain * np.exp(points[:, -1])[:, None, None]
        rate = None if shared[0].rate is None else np.array([each.rate for each in shared])
        return LatentPath(*self._start(points), self.listening, gain, gain * rho, noise, rate)

    def _start(self, points: Array) -> tuple[Array, Array]:
        """Return mean and covariance of (y, x) before the first scored row."""
        n, agents = self.panel.n, np.arange(self.panel.n)
        mean, covariance = np.zeros((len(points), 2 * n)), np.zeros((len(points), 2 * n, 2 * n))
        error = self.noise(points)[:, None] + self.errors.spacing**2 / 12
        # Nobody knows where an agent stood who answered later only.
        error = error + np.where(np.isfinite(self.panel.rows[0]), 0.0, self.unit**2)
        mean[:, :n] = self.panel.first
        covariance[:, agents, agents] = error
        if self.averages:
            mean[:, n:] = self.panel.first
            for block in (covariance[:, :n, n:], covariance[:, n:, :n], covariance[:, n:, n:]):
                block[:, agents, agents] = error
            return mean, covariance
        first, last = self.names.index("level 0"), self.names.index("spread")
        std = np.exp(points[:, -1])
        mean[:, n:] = self.panel.first.mean() + std[:, None] * (points[:, first:last] @ self.regressors.T)
        covariance[:, n + agents, n + agents] = np.square(std * np.exp(points[:, last]))[:, None]
        return mean, covariance

    # The search.

    def starts(self) -> Array:
        """Return points from which a search begins, (points, d), with scales that suit the other coordinates."""
        shares = _SHARES if self.errors.is_measured else (0.0,)
        return np.array(
            [self._completed(z, share) for z in self.course.starts(_TRIED, slice(1, 4)) for share in shares]
        )

    def _completed(self, own: Array, share: float) -> Array:
        """Return a start with its scales: those of what is left of answers taken as exact, split by the share."""
        dynamics, full = self.dynamics_at(own), replace(self.panel, rows=self.panel.filled)
        u, kept = own_series(full, dynamics)
        if self.averages:
            # Of u the last answer is taken already, and the hidden opinion is nothing else.
            u[0] -= self.panel.filled[0]
            opinions, left = self.panel.first, u
        else:
            opinions = (kept * u).sum(axis=0) / np.square(kept).sum(axis=0)
            left = u - kept * opinions
        gain = 1 / (1 + dynamics.rho[:, None] * self.panel.slope)
        std = float(np.sqrt(np.square(left).mean())) + 1e-3 * self.unit
        shown = float(np.sqrt(np.square(gain * left).mean())) + 1e-4 * self.unit
        scales = [np.log(std * np.sqrt(1 - share))]
        if self.errors.is_measured:
            scales = [np.log(shown * np.sqrt(share)), *scales]
        if self.averages:
            return np.concatenate([own, scales])
        opinions = (opinions - self.panel.first.mean()) / np.exp(scales[-1])
        level = np.linalg.lstsq(self.regressors, opinions, rcond=None)[0]
        spread = float((opinions - self.regressors @ level).std())
        return np.concatenate([own, level, [np.log(max(spread, 0.1))], scales])

    def bounds(self, start: Array) -> list[tuple[float, float]]:
        """Return the range of each coordinate: that of the parameter, or some way on both sides of a scale's start."""
        own = list(self.course.bounds)
        for name, value in zip(self.names[len(own) :], start[len(own) :], strict=True):
            below, above = PARAMETERS[name].reach if name in PARAMETERS else (np.inf, np.inf)
            own.append((value - below, value + above))
        return own

    def maximum(self, parts: Sequence[Array] = ()) -> Climb:
        """Return the highest point, which is no lower than those of ``parts``, points of models that are its cases."""
        starts = self.starts()
        best = starts[np.argsort(-self.rough(starts), kind="stable")[:_STARTS]]
        return max((Climb.from_start(self, z) for z in [*best, *parts]), key=lambda climb: climb.height)


@final
@dataclass(frozen=True, eq=False)
class MeasuredFit:
    """A fitted model of the family behind answers with errors: a course of pressure, with or without adaptation."""

    name: str
    panel: Panel = field(repr=False)
    likelihood: MeasuredLikelihood = field(repr=False)
    top: Climb = field(repr=False)
    given: Model | None = None
    words = ""
    # Tests need exact answers.
    conditional = None

    @property
    def course(self) -> Course:
        """The course of peer pressure."""
        return self.likelihood.course

    @property
    def z(self) -> Array:
        """The coordinates of the maximum."""
        return self.top.point

    @property
    def k(self) -> int:
        """The number of parameters that agents share."""
        return self.panel.common_parameters + self.own_count + self.likelihood.errors.is_measured

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the scored answers."""
        return self.top.height - float(self.likelihood.penalty(self.z[None])[0])

    @property
    def bic(self) -> float:
        """Schwarz's criterion on the scored answers."""
        return self.panel.criterion(self.k, self.log_likelihood)

    @property
    def unidentified(self) -> str:
        """The parameter that only the end of its range bounds, empty if there is none; such a model has no weight."""
        return "" if self.given is not None else self.course.unidentified(self.z)

    @property
    def tells_errors(self) -> bool:
        """Whether errors of measurement are told from the noise of opinions, to which somebody must respond."""
        return not self.likelihood.errors.is_measured or self.uses_network or self.course.adapts

    @property
    def uses_network(self) -> bool:
        """Whether peer pressure is positive."""
        return bool(self.dynamics.rho.any())

    @cached_property
    def dynamics(self) -> Dynamics:
        """The shared parameters."""
        return self.likelihood.dynamics_at(self.z)

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise."""
        return float(np.exp(self.z[-1]))

    @property
    def rate(self) -> float:
        """The rate of adaptation."""
        return self.course.rate(self.z)

    @property
    def measurement_noise(self) -> tuple[float, float, float] | None:
        """The size of the noise of measurement with the ends of its interval; None where there is none."""
        if not self.likelihood.errors.is_measured:
            return None
        place = self.likelihood.names.index("measurement_noise")
        ends = [self._intervals.end(place, side) for side in (-1, 1)]
        low, high = (float(np.exp(end)) for end in ends)
        return float(np.exp(self.z[place])), low, high

    @cached_property
    def _intervals(self) -> AnswerIntervals:
        return AnswerIntervals(self.top, 0.95)

    @property
    def own_count(self) -> int:
        """The number of parameters of pressure and adaptation."""
        return len(self.course.names)

    @cached_property
    def parameters(self) -> ParameterTable:
        """The parameters with their intervals, on the scale of the model."""
        with few_threads(self.panel.n):
            return self._parameters()

    def _parameters(self) -> ParameterTable:
        count, course = self.own_count, self.course
        if not count:
            return NO_PARAMETERS
        std = np.sqrt(np.diagonal(self._intervals.covariance))[:count]
        value = course.values(self.z)
        low, high = (course.shown(self.z, self._reach[place], place) for place in (0, 1))
        slopes = np.array(
            [
                course.values(self.z + step)[k] - course.values(self.z - step)[k]
                for k, step in enumerate(1e-4 * np.eye(self.z.size)[:count])
            ]
        )
        return ParameterTable(course.names, value, np.abs(slopes / 2e-4) * std, low, high)

    @cached_property
    def _reach(self) -> tuple[Array, Array]:
        """The ends of the intervals of pressure and adaptation, as coordinates."""
        std = np.sqrt(np.diagonal(self._intervals.covariance))[: self.own_count]
        return self._ends(std, -1), self._ends(std, 1)

    def _ends(self, std: Array, side: int) -> Array:
        """Return ends of intervals of the coordinates of the course; those of the search range where there are none."""
        limits = np.array([ends[(side + 1) // 2] for ends in self.course.bounds])
        if self.own_count > _PROFILED:
            ends = self.z[: self.own_count] + side * special.ndtri(0.975) * std
        else:
            ends = np.array([self._intervals.end(k, side) for k in range(self.own_count)])
        return np.asarray(np.maximum(ends, limits) if side < 0 else np.minimum(ends, limits))

    @cached_property
    def opinions(self) -> tuple[Array, Array]:
        """The hidden opinions after the last row and their standard errors, (n,) each."""
        mean, covariance, _ = self._intervals.opinions()
        return mean, np.sqrt(np.diagonal(covariance))

    def draws(self) -> tuple[Array, Array]:
        """Return draws of pressure (first, mean, last), rate, noise and noise of measurement, (m, 6), and their shares.

        None is further away than the intervals of pressure and adaptation reach, where the likelihood has fallen.
        """
        return np.array([self._derived(z) for z in self._sample]), np.full(_DRAWS, 1 / _DRAWS)

    def courses(self) -> tuple[Array, Array, Array]:
        """Return the pressure at each scored row, (T,), draws of it, (m, T), and their shares, (m,)."""
        drawn = np.array([self.likelihood.dynamics_at(z).rho for z in self._sample])
        return self.dynamics.rho, drawn, np.full(_DRAWS, 1 / _DRAWS)

    @cached_property
    def _sample(self) -> Array:
        values, V = np.linalg.eigh(self._intervals.covariance)
        scores = np.random.default_rng(0).standard_normal((_DRAWS, self.z.size))
        points = np.clip(self.z + scores @ (V * np.sqrt(np.maximum(values, 0.0))).T, *self.top.bounds)
        points[:, : self.own_count] = np.clip(points[:, : self.own_count], *self._reach)
        return np.asarray(points)

    def _derived(self, z: Array) -> Array:
        dynamics, names = self.likelihood.dynamics_at(z), self.likelihood.names
        rate = float(dynamics.rate.mean()) if dynamics.rate is not None else 0.0
        noise = np.exp(z[names.index("measurement_noise")]) if "measurement_noise" in names else 0.0
        rho = dynamics.rho
        return np.array([rho[0], rho.mean(), rho[-1], rate, np.exp(z[-1]), noise])

    def predictions(self, panel: Panel) -> Array:
        """Return each answer as predicted from the rows before it, (T, n)."""
        likelihood, z = self.likelihood, self.z[None]
        seen = likelihood.as_numbers(z)
        return predicted(likelihood.path(z), seen)[0, 1:]

    @cached_property
    def model(self) -> Model:
        """The fitted model, whose steps are those of the record."""
        path, rate, first = self.likelihood.path(self.z[None]), self.rate, self.panel.filled[0]
        x = first_opinions(path, self.top.sites.seen)[0][0]
        if self.given is not None:
            return replace(self.given, hidden=x, noise=Gaussian(self.noise_std))
        if rate and not self.panel.public_start:
            # Opinions before the first row, which moved them once already.
            x = (x - rate * first) / (1 - rate)
        return replace(
            self.panel.model,
            hidden=x,
            pressure=self.course.schedule(self.z),
            noise=Gaussian(self.noise_std),
            start=first if self.panel.public_start else "hidden",
            adaptation=Adaptation(rate) if rate else None,
        )


def fit_measured(
    panel: Panel,
    name: str,
    course: Course,
    *,
    given: tuple[Model, Dynamics] | None = None,
    parts: Sequence[object] = (),
) -> MeasuredFit:
    """Return the model of the family with the highest likelihood of answers with errors, no lower than its parts."""
    check_measured(panel)
    model, dynamics = given or (None, None)
    likelihood = MeasuredLikelihood(panel, course, dynamics)
    # The scales of a case are those of the whole as well; of several cases the best one is near the maximum.
    cases = [
        (fit.top.height, np.r_[z, fit.z[fit.own_count :]])
        for fit in parts
        if isinstance(fit, MeasuredFit) and (z := course.of_part(fit.course, fit.z)) is not None
    ]
    points = [max(cases, key=lambda case: case[0])[1]] if cases else []
    return MeasuredFit(name, panel, likelihood, likelihood.maximum(points), model)


def check_measured(panel: Panel) -> None:
    """Raise an error for more agents than a dense filter takes."""
    if panel.n > ANSWER_LIMIT:
        rule = f"answers with rounding or measurement noise are compared for up to {ANSWER_LIMIT} agents"
        raise TooLargeError(message(rule, got=f"{panel.n:,}", remedy="compare a part of the network"))
    if panel.count <= panel.common_parameters + 4:
        rule, remedy = "answers with errors must be more than the parameters of rivals", "observe longer"
        raise InvalidInputError(message(rule, got=f"{panel.count} after the first ones", remedy=remedy))
