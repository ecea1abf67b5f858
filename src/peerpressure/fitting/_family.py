"""A rival with a course of pressure, with or without adaptation, fitted to exact answers or to answers with errors.

Nobody responds to errors of answers, which are rounded, on an ordered scale, or measured with noise of unknown size, so
these are not noise of the model. Given first answers, the state before the first scored row is

    y ~ N(first answers, r² + w²/12),    x ~ N(α + β · own + γ · neighbours' first answers, τ²),

with w the spacing of answers and r the noise of measurement. From there on answers are seen through their errors by
the filter of a latent path; points of a scale are ordered categories. This is the integrated likelihood of exact
answers with one more variance: it tends to that as errors vanish. σ and α/σ, β/σ, γ/σ, τ/σ are coordinates of the
search, like those of the pressure: answers hardly change where pressure, noise and opinions grow in proportion. Walks
and averages have no x of their own: it is the last y.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import final

import numpy as np
from scipy import special

from peerpressure.errors import InvalidInputError, TooLargeError, message
from peerpressure.fitting._answer_likelihood import MOST_RATIO, AnswerLikelihood
from peerpressure.fitting._answers import AnswersWithErrors
from peerpressure.fitting._courses import Course
from peerpressure.fitting._integrated import (
    DRAWS,
    MANY_AGENTS,
    Criterion,
    RecordSums,
    conditional_model,
    fitted_law,
    noise_factors,
    posterior,
    sums_of,
    within_height,
)
from peerpressure.fitting._latent_path import first_opinions, last_opinions, predicted
from peerpressure.fitting._maximum import FINE, LOOSE, Heights, Maximum, curvature, highest
from peerpressure.fitting._parameters import NO_PARAMETERS, Shared, UnknownParameter
from peerpressure.fitting._record import Panel, one_step_errors, own_series, unit_columns
from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.step import Array
from peerpressure.noise import Gaussian
from peerpressure.recovery.limits import ANSWER_LIMIT
from peerpressure.support.resources import few_threads

# Up to so many scored rows of many agents, the law of hidden opinions given the first row still shows in estimates
# of parameters, which are then made without it.
_SHORT = 50
# Points from which a search begins.
_SEARCHES = 2
# Starts of a course that are tried at most where answers have errors.
_TRIED = 12
# Step of second differences in coordinates of exact answers.
_STEP = 0.02
# A rival with at most so many parameters has intervals of its likelihood; others those of the curvature.
_PROFILED = 3
_DROP = 0.5 * float(special.chdtri(1, 0.05))


@final
@dataclass(frozen=True, eq=False)
class FamilyFit:
    """A fitted model of the family: a course of peer pressure, with or without adaptation.

    ``top`` is the maximum of the likelihood by which models are compared. Of a short record, what is reported comes
    from the within likelihood.
    """

    name: str
    record: ExactRecord | MeasuredRecord = field(repr=False)
    top: Maximum = field(repr=False)

    @property
    def panel(self) -> Panel:
        """The record, on the network of this model."""
        return self.record.panel

    @property
    def course(self) -> Course:
        """The course of peer pressure."""
        return self.record.course

    @property
    def k(self) -> int:
        """The number of parameters that agents share."""
        is_measured = self.panel.errors is not None and self.panel.errors.is_measured
        return self.panel.common_parameters + len(self.course.names) + is_measured

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the scored answers."""
        return self.record.log_likelihood(self.top)

    @property
    def bic(self) -> float:
        """Schwarz's criterion on the scored answers."""
        return self.panel.bic(self.k, self.log_likelihood)

    @property
    def unidentified(self) -> str:
        """The parameter that only the end of its range bounds, empty if there is none; such a model has no weight."""
        return "" if self.record.given is not None else self.course.unidentified(self.top.point)

    @property
    def uses_network(self) -> bool:
        """Whether peer pressure is positive where somebody listens."""
        return bool((self.shared.rho * self.panel.slope).any())

    @property
    def words(self) -> str:
        """What people do without peer pressure."""
        opinions = "do not change" if self.shared.rate is None else "follow their answers"
        return "" if self.uses_network else f"Answers vary around people's own opinions, which {opinions}."

    @property
    def tells_errors(self) -> bool:
        """Whether errors of measurement are told from the noise of opinions, to which somebody must respond."""
        is_measured = self.panel.errors is not None and self.panel.errors.is_measured
        return not is_measured or self.uses_network or self.course.adapts

    # The maximum, and what the record leaves open around it.

    @cached_property
    def reported(self) -> Maximum:
        """The estimates that are reported."""
        return self.record.reported(self.top)

    @property
    def z(self) -> Array:
        """Their coordinates, those of the course first."""
        return self.reported.point

    @cached_property
    def curved(self) -> tuple[Maximum, Array]:
        """The maximum from which profiles start, and the covariance of its coordinates, ∞ where the record is flat."""
        with few_threads(self.panel.n):
            return self.record.curved(self.reported)

    @cached_property
    def std(self) -> Array:
        """Standard errors of the coordinates of the course."""
        return np.asarray(np.sqrt(np.maximum(np.diagonal(self.curved[1]), 0.0))[: len(self.course.names)])

    @cached_property
    def ends(self) -> Array:
        """Ends of the intervals of the coordinates of the course, (k, 2), within the range that is searched."""
        low, high = np.array(self.course.bounds).reshape(-1, 2).T
        (top, covariance), half = self.curved, np.sqrt(2 * _DROP) * self.std
        if self.std.size <= self.record.most_profiled:
            with few_threads(self.panel.n):
                sides = [[top.end(k, side, _DROP, covariance) for k in range(half.size)] for side in (-1, 1)]
        else:
            sides = [list(self.z[: half.size] + side * half) for side in (-1, 1)]
        return np.asarray(np.clip(np.array(sides), low, high).T)

    @cached_property
    def parameters(self) -> Mapping[str, UnknownParameter]:
        """The parameters with their intervals, on the scale of the model."""
        if not self.course.names:
            return NO_PARAMETERS
        return self.course.parameters(self.z, self.std, self.ends)

    @property
    def measurement_noise(self) -> tuple[float, float, float] | None:
        """The size of the noise of measurement with the ends of its interval; None where there is none."""
        if self.panel.errors is None or not self.panel.errors.is_measured:
            return None
        (top, covariance), place = self.curved, self.z.size - 2
        low, high = (float(np.exp(top.end(place, side, _DROP, covariance))) for side in (-1, 1))
        return float(np.exp(self.z[place])), low, high

    # What it says.

    @cached_property
    def shared(self) -> Shared:
        """The shared parameters."""
        return self.record.shared_at(self.z)

    @property
    def rate(self) -> float:
        """The rate of adaptation."""
        return self.course.rate(self.z)

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise."""
        return float(self.record.noise_at(self.z)[0])

    @cached_property
    def opinions(self) -> tuple[Array, Array]:
        """The hidden opinions after the last row and their standard errors, (n,) each."""
        return self.record.opinions(self)

    @cached_property
    def _sample(self) -> tuple[Array, Array]:
        """Draws of the coordinates and their shares; they are the same at every call."""
        if not self.z.size:
            return np.zeros((DRAWS, 0)), np.full(DRAWS, 1 / DRAWS)
        return self.record.sample(self)

    def draws(self) -> tuple[Array, Array]:
        """Return draws of pressure (first, mean, last), rate, noise and errors, (m, 5 or 6), and their shares, (m,)."""
        points, shares = self._sample
        # Without coordinates all draws are alike.
        derived = np.array([self._derived(z) for z in (points if self.z.size else points[:1])])
        derived = np.broadcast_to(derived, (len(points), derived.shape[1])).copy()
        derived[:, 4] *= self.record.noise_factors(self.shared)
        return derived, shares

    def _derived(self, z: Array) -> Array:
        shared = self.record.shared_at(z)
        rate = float(shared.rate.mean()) if shared.rate is not None else 0.0
        return np.array([shared.rho[0, 0], shared.rho.mean(), shared.rho[-1, 0], rate, *self.record.noise_at(z)])

    def courses(self) -> tuple[Array, Array, Array]:
        """Return the pressure at each scored row, (T,), draws of it, (m, T), and their shares, (m,)."""
        points, shares = self._sample
        return self.shared.rho[:, 0], np.array([self.record.shared_at(z).rho[:, 0] for z in points]), shares

    def predictions(self, panel: Panel) -> Array:
        """Return each answer as predicted from the rows before it, (T, n)."""
        return self.record.predictions(self.z, panel)

    @cached_property
    def model(self) -> Model:
        """The fitted model, whose steps are those of the record."""
        x, rate, first = self.record.before(self.reported), self.rate, self.panel.filled[0]
        if self.record.given is not None:
            return replace(self.record.given, hidden=x, noise=Gaussian(self.noise_std))
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

    @property
    def conditional(self) -> Model | None:
        """The fitted model whose step 0 is the first row; None for answers with errors."""
        if self.panel.errors is not None:
            return None
        made = conditional_model(self.panel, self.shared, self.noise_std)
        return replace(made, hidden=self.record.before(self.reported))


def _law(panel: Panel, course: Course, given: Model | None) -> Callable[[Array], Shared]:
    """Return the function from coordinates to what all agents share by a course, or by a model that is given."""
    if given is not None:
        rates = [given.update(int(step)).adaptation_rate for step in panel.steps[1:]]
        rho = np.asarray(given.pressure(panel.steps[1:]), dtype=np.float64).reshape(-1, 1)
        known = Shared(rho, None if rates[0] is None else np.array(rates))
        return lambda _: known

    def law(z: Array) -> Shared:
        rate = np.full((panel.length, panel.n), course.rate(z)) if course.adapts else None
        return Shared(course.rho(z, panel.t)[:, None], rate)

    return law


@final
@dataclass(frozen=True, eq=False)
class ExactRecord:
    """What exact answers say of a course of pressure, or of a model that is given."""

    criterion: Criterion
    course: Course
    given: Model | None = None

    @property
    def panel(self) -> Panel:
        """The record."""
        return self.criterion.panel

    @property
    def most_profiled(self) -> int:
        """The most parameters that have intervals of the likelihood; with gaps, each evaluation runs a filter."""
        return _PROFILED if self.panel.is_complete else 1

    @cached_property
    def shared_at(self) -> Callable[[Array], Shared]:
        """The function from coordinates to what all agents share."""
        return _law(self.panel, self.course, self.given)

    def _sums(self, z: Array) -> RecordSums:
        return sums_of(self.panel, self.shared_at(z))

    # Heights.

    def _height(self, z: Array) -> float:
        return self.criterion(self.shared_at(z))

    def _rough(self, z: Array) -> float:
        return self.criterion.rough(self.shared_at(z))

    def _within(self, z: Array) -> float:
        return within_height(self.panel, self.shared_at(z))

    def log_likelihood(self, top: Maximum) -> float:
        """Return the log-likelihood of the scored answers."""
        return top.height

    def highest(self, parts: Sequence[FamilyFit]) -> Maximum:
        """Return the maximum, which is no lower than those of parts."""
        course, size = self.course, len(self.course.names)
        low, high = np.array(course.bounds).reshape(-1, 2).T
        exact = Maximum(Heights(self._height), low, high, tuple(range(size)), np.eye(size), np.zeros(size), -np.inf)
        if not size:
            return replace(exact, height=self._height(exact.point))
        starts = course.starts()
        if not self.panel.is_complete:
            # Each evaluation runs a filter.
            starts = starts[:: max(1, len(starts) // 12)]
        cases = [z for fit in parts if (z := course.of_part(fit.course, fit.top.point)) is not None]
        few = self.criterion.is_within
        rough = replace(exact, problem=Heights(self._rough))
        top = highest(rough, np.array([*cases, *starts]), _SEARCHES, LOOSE if few else FINE)
        if few:
            top = replace(top, problem=exact.problem, height=self._height(top.point)).climbed(top.point)
        for case in cases:
            if (height := self._height(case)) > top.height:
                top = replace(exact, point=case, height=height).scaled().climbed(case)
        return top

    def reported(self, top: Maximum) -> Maximum:
        """Return the estimates of a short record by the within likelihood where that bounds them, else the others."""
        short = self.panel.length <= _SHORT and self.panel.n >= MANY_AGENTS
        if self.criterion.is_within or not short or not 0 < top.point.size <= _PROFILED:
            return top
        within = replace(top, problem=Heights(self._within), height=self._within(top.point))
        z = (within := within.scaled().climbed(top.point)).point
        free = ((top.low < z) & (z < top.high - 1)).all()
        # Without pressure nothing bounds its logarithm from below, which is as it should be.
        vanishes = self.course.name != "none" and z[0] <= top.low[0]
        return within if free or vanishes else top

    def curved(self, top: Maximum) -> tuple[Maximum, Array]:
        """Return the maximum with its own units, and the covariance of its coordinates."""
        z = top.point
        bends = curvature(lambda z: top.problem.at(z, None)[0], z, np.full(z.size, _STEP))
        return replace(top.scaled(), visited=[]), _inverse(bends)

    # What follows.

    def noise_at(self, z: Array) -> tuple[float, ...]:
        """Return the standard deviation of the noise."""
        return (float(np.sqrt(self._sums(z).variance)),)

    def noise_factors(self, shared: Shared) -> Array:
        """Return what σ may be, in units of its estimate."""
        return noise_factors(sums_of(self.panel, shared).freedom)

    def _columns(self, shared: Shared) -> Array:
        """Return unit columns of what hidden opinions are expected to depend on at the fitted parameters, (n, k)."""
        if not shared.rho.any():
            return self.panel.columns
        # A first row at rest under this pressure would show the opinions y₁ + ρ (d y₁ − A y₁)/s.
        pull = self.panel.slope[0] * (self.panel.first - self.panel.neighbours_first)
        return unit_columns(np.column_stack([self.panel.regressors, pull]))

    def before(self, top: Maximum) -> Array:
        """Return the hidden opinions before the first scored row, (n,)."""
        return posterior(self._sums(top.point), self._columns(self.shared_at(top.point)))[0]

    def opinions(self, fit: FamilyFit) -> tuple[Array, Array]:
        """Return the hidden opinions after the last row and their standard errors, (n,) each."""
        shared, columns = fit.shared, self._columns(fit.shared)
        value, std = posterior(self._sums(fit.z), columns)
        left = 1.0 if shared.rate is None else np.prod(1 - shared.rate, axis=0)
        now = self._current(shared, value)

        def opinions_at(z: Array) -> Array:
            moved = self.shared_at(z)
            return self._current(moved, posterior(sums_of(self.panel, moved), columns)[0])

        variance = np.square(left * std) + self._parameter_variance(fit, now, opinions_at)
        return now, np.sqrt(np.maximum(variance, 0.0))

    def _current(self, shared: Shared, x: Array) -> Array:
        """Return the hidden opinions after the last row from those before the first scored one."""
        for row, eta in enumerate(() if shared.rate is None else shared.rate):
            x = x + eta * (self.panel.filled[row + 1] - x)
        return x

    def _parameter_variance(self, fit: FamilyFit, now: Array, opinions_at: Callable[[Array], Array]) -> Array:
        """Return by how much opinions vary with the parameters, (n,)."""
        if not fit.z.size:
            return np.zeros(self.panel.n)
        if fit.z.size == 1 and fit.ends[0, 1] < fit.top.high[0]:
            # The likelihood of one parameter may be skew, or have no maximum above 0: the ends of its interval tell
            # more than its curvature.
            moved = [np.square(opinions_at(end[None]) - now) for end in fit.ends[0]]
            return np.asarray((moved[0] + moved[1]) / (4 * _DROP))
        slopes, covariance = slopes_of(opinions_at, fit.z), fit.curved[1]
        spread = np.where(np.isfinite(covariance), covariance, 0.0)
        return np.asarray(np.einsum("ki,kl,li->i", slopes, spread, slopes))

    def sample(self, fit: FamilyFit) -> tuple[Array, Array]:
        """Return draws of coordinates (m, k) by the likelihood around its maximum, and their shares (m,).

        They are drawn by its curvature, and between the ends of an interval in directions that the curvature does not
        bound; where the likelihood is not as its curvature says, their shares make up for it.
        """
        z, covariance, ends, rng = fit.z, fit.curved[1], fit.ends, np.random.default_rng(0)
        flat = ~(fit.std <= np.ptp(ends, axis=1))
        scores = rng.standard_normal((DRAWS, z.size))
        scores[:, flat] = 0.0
        root = np.zeros((z.size, z.size))
        steep = np.ix_(~flat, ~flat)
        values, V = np.linalg.eigh(covariance[steep])
        root[steep] = V * np.sqrt(np.maximum(values, 0.0))
        points = z + scores @ root.T
        points[:, flat] = ends[flat, 0] + rng.random((DRAWS, int(flat.sum()))) * np.ptp(ends[flat], axis=1)
        points[0] = z
        scores[0] = 0.0
        inside = np.clip(points, fit.top.low, fit.top.high)
        heights = np.array([fit.reported.problem.at(point, None)[0] for point in inside])
        heights += 0.5 * np.square(scores).sum(axis=1)
        # A curvature that is too sharp would let a few far draws decide.
        shares = np.exp(np.minimum(heights - heights[0], MOST_RATIO))
        return inside, np.asarray(shares / shares.sum())

    def predictions(self, z: Array, panel: Panel) -> Array:
        """Return each answer as predicted from the rows before it, (T, n)."""
        full, shared = replace(panel, rows=panel.filled), self.shared_at(z)
        u, pi = own_series(full.rows[1:], full.coupling, shared.rho, shared.rate)
        law = fitted_law(self._sums(z), self._columns(shared))
        off = one_step_errors(u, pi, panel.scored, law.mean, law.spread)
        # u_t is linear in y_t.
        return np.asarray(full.rows[1:] - off / (1 + shared.rho * full.slope))


@final
@dataclass(frozen=True, eq=False)
class MeasuredRecord:
    """What answers with errors say of a course of pressure, or of a model that is given."""

    criterion: Criterion
    course: Course
    given: Model | None = None
    most_profiled = _PROFILED

    @property
    def panel(self) -> Panel:
        """The record."""
        return self.criterion.panel

    @cached_property
    def likelihood(self) -> AnswerLikelihood:
        """The likelihood of scored answers."""
        return measured_likelihood(self.panel, self.course, self.given)

    def shared_at(self, z: Array) -> Shared:
        """Return what all agents share at coordinates."""
        return self.likelihood.shared(z)

    def log_likelihood(self, top: Maximum) -> float:
        """Return the log-likelihood of the scored answers."""
        return top.height - float(top.point @ self.likelihood.penalty)

    def highest(self, parts: Sequence[FamilyFit]) -> Maximum:
        """Return the maximum, which is no lower than those of parts."""
        # The scales of a case are those of the whole as well; of several cases the best one is near the maximum.
        cases = [
            (fit.top.height, np.r_[z, fit.top.point[len(fit.course.names) :]])
            for fit in parts
            if (z := self.course.of_part(fit.course, fit.top.point)) is not None
        ]
        return self.likelihood.maximum([max(cases, key=lambda case: case[0])[1]] if cases else [])

    def reported(self, top: Maximum) -> Maximum:
        """Return the maximum itself."""
        return top

    def curved(self, top: Maximum) -> tuple[Maximum, Array]:
        """Return the maximum with its own units, and the covariance of its coordinates."""
        return self.likelihood.curved(top)

    def noise_at(self, z: Array) -> tuple[float, ...]:
        """Return the standard deviations of the noise and of errors of measurement."""
        return float(np.exp(z[-1])), float(np.sqrt(self.likelihood.noise(z[None])[0]))

    def noise_factors(self, shared: Shared) -> float:
        """Return 1: the noise is a coordinate, and varies with the draws."""
        return 1.0

    def before(self, top: Maximum) -> Array:
        """Return the hidden opinions before the first scored row, (n,)."""
        return np.asarray(first_opinions(self.likelihood.path(top.point[None]), top.near.seen)[0][0])

    def opinions(self, fit: FamilyFit) -> tuple[Array, Array]:
        """Return the hidden opinions after the last row and their standard errors, (n,) each."""
        mean, covariance, _ = self.likelihood.hidden(fit.curved[0], _DROP)
        return mean, np.sqrt(np.diagonal(covariance))

    def sample(self, fit: FamilyFit) -> tuple[Array, Array]:
        """Return draws of coordinates by their curvature (m, d), none beyond the ends of intervals, and shares."""
        points, own = self.likelihood.drawn(fit.top, fit.curved[1], DRAWS), len(fit.ends)
        points[:, :own] = np.clip(points[:, :own], *fit.ends.T)
        return points, np.full(DRAWS, 1 / DRAWS)

    def predictions(self, z: Array, panel: Panel) -> Array:
        """Return each answer as predicted from the rows before it, (T, n)."""
        return predicted(self.likelihood.path(z[None]), self.likelihood.as_numbers(z[None]))[0, 1:]


def slopes_of(function: Callable[[Array], Array], z: Array, h: float = 1e-3) -> Array:
    """Return the derivatives of values (n,) in each coordinate, (k, n)."""
    return np.array([(function(z + step) - function(z - step)) / (2 * h) for step in h * np.eye(z.size)])


def _inverse(information: Array) -> Array:
    """Return the inverse of an information, with ∞ on the diagonal of directions that it does not bound."""
    values, V = np.linalg.eigh(information)
    good = values > 1e-6
    inverse = (V[:, good] / values[good]) @ V[:, good].T
    lost = np.square(V[:, ~good]).sum(axis=1) > 1e-6
    inverse[lost, :] = inverse[:, lost] = 0.0
    inverse[lost, lost] = np.inf
    return np.asarray(inverse)


# Answers with errors.


def measured_likelihood(
    panel: Panel, course: Course, given: Model | None = None, *, averages: bool = False
) -> AnswerLikelihood:
    """Return the likelihood of scored answers, given the first ones.

    Pressure and adaptation may be ``given``, by a model of the user. In walks and ``averages`` hidden opinions are the
    last answers.
    """
    _check(panel)
    errors = panel.errors
    assert errors is not None
    n, agents, first = panel.n, np.arange(panel.n), panel.first
    spread_of_all = float(np.nanstd(panel.rows)) or 1.0
    regressors = regressors_of(panel)
    levels = () if averages else tuple(f"level {k}" for k in range(regressors.shape[1]))
    noise = ("measurement_noise",) * errors.is_measured
    names = (*course.names, *levels, *(("spread",) * (not averages)), *noise, "std")
    begin, end = len(course.names), len(course.names) + len(levels)

    law = _law(panel, course, given)

    def shared(z: Array) -> Shared:
        own = law(z)._replace(log_std=float(z[-1]))
        return own._replace(rate=np.ones((panel.length, n))) if averages else own

    def start(points: Array) -> tuple[Array, Array]:
        """Return the law of (y, x) before the first scored row."""
        mean, covariance = np.zeros((len(points), 2 * n)), np.zeros((len(points), 2 * n, 2 * n))
        error = np.zeros((len(points), 1))
        if errors.is_measured:
            error = np.exp(2 * points[:, -2:-1])
        # Nobody knows where an agent stood who answered later only.
        error = error + errors.spacing**2 / 12 + np.where(np.isfinite(panel.rows[0]), 0.0, spread_of_all**2)
        mean[:, :n] = first
        covariance[:, agents, agents] = error
        if averages:
            mean[:, n:] = first
            for block in (covariance[:, :n, n:], covariance[:, n:, :n], covariance[:, n:, n:]):
                block[:, agents, agents] = error
            return mean, covariance
        std = np.exp(points[:, -1])
        mean[:, n:] = first.mean() + std[:, None] * (points[:, begin:end] @ regressors.T)
        covariance[:, n + agents, n + agents] = np.square(std * np.exp(points[:, end]))[:, None]
        return mean, covariance

    def rough(opinions: Array, std: float, shown: float) -> dict[str, float]:
        relative = (opinions - first.mean()) / std
        level = np.linalg.lstsq(regressors, relative, rcond=None)[0]
        spread = float((relative - regressors @ level).std())
        return {"spread": np.log(max(spread, 0.1)), **dict(zip(levels, level.tolist(), strict=False))}

    own = course.starts(_TRIED, slice(1, 4))
    scored = np.where(panel.scored, panel.rows[1:], np.nan)
    changes = not panel.model.is_constant
    return AnswerLikelihood(
        names=names,
        answers=AnswersWithErrors(np.concatenate([np.full((1, n), np.nan), scored]), errors.spacing, errors.scale),
        filled=panel.filled,
        listening=np.array([A.toarray() for A in panel.listening[: None if changes else 1]]),
        slope=panel.slope,
        scale=np.ones(1),
        shared=shared,
        start=start,
        levels=rough,
        grid=np.hstack([own, np.full((len(own), len(names) - begin), np.nan)]),
        ranges=dict(zip(course.names, course.bounds, strict=True)),
        # That of log τ/σ: with few agents the likelihood may be highest where all think as first answers say.
        penalty=(np.array(names) == "spread").astype(np.float64),
        opinions=last_opinions,
    )


def regressors_of(panel: Panel) -> Array:
    """Return a constant, and first answers about their mean, all in units of typical changes of answers, (n, k)."""
    columns = panel.regressors.copy()
    columns[:, 1:] -= panel.first.mean()
    changes = np.diff(panel.filled, axis=0)
    typical = float(np.sqrt(np.square(changes).mean() / 2)) or float(np.nanstd(panel.rows)) or 1.0
    return np.asarray(columns / np.r_[1.0, [typical] * (columns.shape[1] - 1)])


def _check(panel: Panel) -> None:
    """Raise an error for more agents than a dense filter takes."""
    if panel.n > ANSWER_LIMIT:
        rule = f"answers with rounding or measurement noise are compared for up to {ANSWER_LIMIT} agents"
        raise TooLargeError(message(rule, got=f"{panel.n:,}", remedy="compare a part of the network"))
    if panel.count <= panel.common_parameters + 4:
        rule, remedy = "answers with errors must be more than the parameters of rivals", "observe longer"
        raise InvalidInputError(message(rule, got=f"{panel.count} after the first ones", remedy=remedy))
