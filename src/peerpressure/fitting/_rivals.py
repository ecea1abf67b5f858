"""Rival models of a record: each is fitted to the same answers, and returns its likelihood and its predictions.

The family of the model has a course of peer pressure ρ_t, with or without adaptation. Rivals without hidden opinions
are independent random walks, DeGroot's average of neighbours, and the laws of people who respond to nobody in
``own_rivals``. Walks and averages are models of the same family as well: with adaptation 1, the hidden opinion is the
last answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, Protocol, final

import numpy as np
from scipy import optimize, special

from peerpressure.errors import InvalidInputError, message
from peerpressure.fitting._answer_search import AnswerIntervals, Climb
from peerpressure.fitting._courses import (
    NO_PARAMETERS,
    TELLING_ROWS,
    Bounds,
    Course,
    ParameterTable,
    course_names,
    course_of,
)
from peerpressure.fitting._integrated import (
    Criterion,
    Dynamics,
    RecordSums,
    conditional_model,
    level_of,
    noise_factors,
    own_series,
    posterior,
    sums_of,
    within_height,
)
from peerpressure.fitting._measured_rivals import MeasuredFit, MeasuredLikelihood, check_measured, fit_measured
from peerpressure.fitting._own_rivals import OWN_LAWS, fit_own, own_names
from peerpressure.fitting._record import Errors, Panel
from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.step import Array
from peerpressure.noise import Gaussian
from peerpressure.schedules import Constant

_LOG_TWO_PI = float(np.log(2 * np.pi))
# Up to so many scored rows of this many agents, the law of hidden opinions given the first row still shows in estimates
# of parameters, which are then made without it.
SHORT, MANY_AGENTS = 50, 30
# Points from which a search begins.
_SEARCHES = 2
# Draws of the parameters of one model, from which averages over models are made.
_DRAWS = 200
# Weight of neighbours that is searched up to, and beyond which it is at this end.
_MOST, _ALL = 0.999, 0.998
# Step of second differences in that weight.
_STEP = 0.01
# Most by which the logarithm of the likelihood may exceed that of a normal law at a draw.
_RATIO = 1.0
# A rival with at most so many parameters has intervals of its likelihood; others those of the curvature.
_PROFILED = 3


class Rival(Protocol):
    """A fitted rival, as a comparison reads it."""

    @property
    def panel(self) -> Panel:
        """The record, on the network that the rival is for."""

    @property
    def k(self) -> int:
        """The number of parameters that agents share."""

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the scored answers."""

    @property
    def bic(self) -> float:
        """Schwarz's criterion on the scored answers."""

    @property
    def unidentified(self) -> str:
        """The parameter that only the end of its range bounds, empty if there is none; such a rival has no weight."""

    @property
    def uses_network(self) -> bool:
        """Whether agents respond to their neighbours along the network."""

    @property
    def words(self) -> str:
        """What people do by a law of its own, as a sentence; empty for pressure and averages."""

    @property
    def parameters(self) -> ParameterTable:
        """Parameters of pressure and adaptation, where it has any."""

    @property
    def measurement_noise(self) -> tuple[float, float, float] | None:
        """The size of errors of measurement with the ends of its interval; None where none are told."""

    @property
    def tells_errors(self) -> bool:
        """Whether errors of measurement can be told from the noise of opinions, to which somebody must respond."""

    @property
    def opinions(self) -> tuple[Array, Array]:
        """What agents think after the last row, with standard errors, (n,) each."""

    @property
    def model(self) -> Model | None:
        """The fitted model, whose steps are those of the record; None for a law that is none."""

    @property
    def conditional(self) -> Model | None:
        """The fitted model whose step 0 is the first row; None where it cannot be tested on exact answers."""

    def predictions(self, panel: Panel) -> Array:
        """Return the answers predicted one step ahead, (T, n)."""

    def draws(self) -> tuple[Array, Array]:
        """Return draws of pressure (first, mean, last), rate, noise and errors, and their shares, (m,)."""

    def courses(self) -> tuple[Array, Array, Array] | None:
        """Return the pressure at each scored row, (T,), draws of it, (m, T), and their shares; None without any."""


class Reported(NamedTuple):
    """The estimates that are reported: coordinates, the log-likelihood whose maximum they are, and its height."""

    z: Array
    likelihood: Callable[[Array], float]
    height: float


@final
@dataclass(frozen=True, eq=False)
class FamilyFit:
    """A fitted model of the family: a course of peer pressure, with or without adaptation.

    ``z`` and ``log_likelihood`` are the maximum of the integrated likelihood, by which models are compared; what is
    reported of a short record comes from the within likelihood.
    """

    name: str
    panel: Panel = field(repr=False)
    course: Course = field(repr=False)
    criterion: Criterion = field(repr=False)
    z: Array
    log_likelihood: float
    k: int
    given: Model | None = None
    words = ""
    measurement_noise = None
    tells_errors = True

    @property
    def bic(self) -> float:
        """Schwarz's criterion on the scored answers."""
        return self.panel.criterion(self.k, self.log_likelihood)

    @property
    def unidentified(self) -> str:
        """The parameter that only the end of its range bounds, empty if there is none; such a model has no weight."""
        return "" if self.given is not None else self.course.unidentified(self.z)

    @property
    def uses_network(self) -> bool:
        """Whether peer pressure is positive."""
        return bool(self.dynamics.rho.any())

    @cached_property
    def dynamics(self) -> Dynamics:
        """The shared parameters."""
        return self.dynamics_at(self.reported.z)

    @cached_property
    def reported(self) -> Reported:
        """The estimates of a short record by the within likelihood where that bounds them, else the integrated one."""
        usual = Reported(self.z, self.likelihood, self.log_likelihood)
        short = self.panel.length <= SHORT and self.panel.n >= MANY_AGENTS
        if self.criterion.is_within or not short or not 0 < self.z.size <= _PROFILED:
            return usual
        z, height = _climb(self.within, self.z, self.bounds)
        free = all(low < value < high - 1 for value, (low, high) in zip(z, self.bounds, strict=True))
        # Without pressure nothing bounds its logarithm from below, which is as it should be.
        return Reported(z, self.within, height) if free or self._vanishes(z) else usual

    def _vanishes(self, z: Array) -> bool:
        return self.course.name != "none" and z[0] <= self.bounds[0][0]

    def likelihood(self, z: Array) -> float:
        """Return the log-likelihood by which models are compared."""
        return self.criterion(self.dynamics_at(z))

    def rough(self, z: Array) -> float:
        """Return the log-likelihood by which models are compared, as far as a search needs it."""
        return self.criterion.rough(self.dynamics_at(z))

    def within(self, z: Array) -> float:
        """Return the within log-likelihood."""
        return within_height(self.panel, self.dynamics_at(z))

    def dynamics_at(self, z: Array) -> Dynamics:
        """Return the shared parameters at coordinates."""
        if self.given is not None:
            return given_dynamics(self.panel, self.given)
        t = self.panel.steps[1:].astype(np.float64)
        rate = np.full((t.size, self.panel.n), self.course.rate(z)) if self.course.adapts else None
        return Dynamics(self.course.rho(z, t), rate)

    @cached_property
    def sums(self) -> RecordSums:
        """What the record says of hidden opinions and noise."""
        return sums_of(self.panel, self.dynamics)

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise."""
        return float(np.sqrt(self.sums.variance))

    @property
    def rate(self) -> float:
        """The rate of adaptation."""
        return self.course.rate(self.reported.z)

    @cached_property
    def regressors(self) -> Array:
        """What hidden opinions are expected to depend on at the fitted parameters, (n, k)."""
        if not self.uses_network:
            return self.panel.regressors
        # A first row at rest under this pressure would show the opinions y₁ + ρ (d y₁ − A y₁)/s.
        pull = self.panel.slope[0] * (self.panel.first - self.panel.neighbours_first)
        return np.column_stack([self.panel.regressors, pull])

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the coordinates, from the curvature of the likelihood; ∞ where that is flat."""
        z, likelihood, _ = self.reported
        return _inverse(-_hessian(likelihood, z)) if z.size else np.zeros((0, 0))

    def _opinions_at(self, z: Array) -> Array:
        """Return the hidden opinions after the last row, (n,), for these parameters."""
        dynamics = self.dynamics_at(z)
        sums = sums_of(self.panel, dynamics)
        return self._current(dynamics, posterior(sums, self.regressors)[0])

    def _current(self, dynamics: Dynamics, x: Array) -> Array:
        """Return the hidden opinions after the last row from those before the first scored one."""
        for row, eta in enumerate(() if dynamics.rate is None else dynamics.rate):
            x = x + eta * (self.panel.filled[row + 1] - x)
        return x

    @cached_property
    def opinions(self) -> tuple[Array, Array]:
        """The hidden opinions after the last row and their standard errors, (n,) each."""
        value, std = posterior(self.sums, self.regressors)
        left = 1.0 if self.dynamics.rate is None else np.prod(1 - self.dynamics.rate, axis=0)
        variance = np.square(left * std)
        now = self._current(self.dynamics, value)
        return now, np.sqrt(np.maximum(variance + self._parameter_variance(now), 0.0))

    def _parameter_variance(self, now: Array) -> Array:
        """Return by how much opinions vary with the parameters, (n,)."""
        z = self.reported.z
        if not z.size:
            return np.zeros(self.panel.n)
        if z.size == 1 and self._ends[0, 1] < self.bounds[0][1]:
            # The likelihood of one parameter may be skew, or have no maximum above 0: the ends of its interval tell
            # more than its curvature.
            moved = [np.square(self._opinions_at(end[None]) - now) for end in self._ends[0]]
            return np.asarray((moved[0] + moved[1]) / (2 * special.chdtri(1, 0.05)))
        slopes = _slopes(self._opinions_at, z)
        spread = np.where(np.isfinite(self.covariance), self.covariance, 0.0)
        return np.asarray(np.einsum("ki,kl,li->i", slopes, spread, slopes))

    @cached_property
    def _ends(self) -> Array:
        """Ends of the intervals of the coordinates, (k, 2)."""
        std = np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))
        return np.array([self._interval(place, float(std[place])) for place in range(self.reported.z.size)])

    @cached_property
    def parameters(self) -> ParameterTable:
        """The parameters with intervals of their likelihood, on the scale of the model."""
        z = self.reported.z
        if not z.size:
            return NO_PARAMETERS
        std = np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))
        low, high = (self.course.shown(z, self._ends[:, side], side) for side in (0, 1))
        value, slopes = self.course.values(z), np.diagonal(_slopes(self.course.values, z))
        return ParameterTable(self.course.names, value, np.abs(slopes) * std, low, high)

    @property
    def bounds(self) -> Bounds:
        """The range of each coordinate that is searched."""
        return self.course.bounds

    def _interval(self, place: int, std: float, level: float = 0.95) -> tuple[float, float]:
        drop = 0.5 * float(special.chdtri(1, 1 - level))
        (low, high), (z, _, height) = self.bounds[place], self.reported
        if z.size > _PROFILED or (z.size > 1 and not self.panel.is_complete):
            half = np.sqrt(2 * drop) * std
            return max(low, z[place] - half), min(high, z[place] + half)

        def fall(value: float) -> float:
            return height - self._profile(place, value) - drop

        return _end(fall, float(z[place]), low, std), _end(fall, float(z[place]), high, std)

    def _profile(self, place: int, value: float) -> float:
        """Return the height of the likelihood with one coordinate given."""
        z, likelihood, _ = self.reported
        others = [k for k in range(z.size) if k != place]

        def height(rest: Array) -> float:
            point = np.insert(rest, place, value)
            return likelihood(point)

        if not others:
            return height(np.zeros(0))
        return _climb(height, z[others], tuple(self.bounds[k] for k in others))[1]

    def draws(self) -> tuple[Array, Array]:
        """Return draws of pressure (first, mean, last), rate and noise, (m, 5), and their shares, (m,).

        They are the same at every call.
        """
        points, shares = self._sample
        derived = np.array([self._derived(point) for point in points])
        if len(derived) == 1:
            derived, shares = np.repeat(derived, _DRAWS, axis=0), np.full(_DRAWS, 1 / _DRAWS)
        derived[:, -1] *= noise_factors(self.sums.freedom, len(derived))
        return derived, shares

    def courses(self) -> tuple[Array, Array, Array]:
        """Return the pressure at each scored row, (T,), draws of it, (m, T), and their shares, (m,)."""
        points, shares = self._sample
        return self.dynamics.rho, np.array([self.dynamics_at(point).rho for point in points]), shares

    @cached_property
    def _sample(self) -> tuple[Array, Array]:
        """Draws of the coordinates and their shares."""
        z = self.reported.z
        if not z.size:
            return z[None], np.ones(1)
        return draws_of(self.reported.likelihood, z, self.covariance, self._ends, self.bounds)

    def _derived(self, z: Array) -> Array:
        dynamics = self.dynamics_at(z)
        rate = float(dynamics.rate.mean()) if dynamics.rate is not None else 0.0
        std = np.sqrt(sums_of(self.panel, dynamics).variance)
        return np.array([dynamics.rho[0], dynamics.rho.mean(), dynamics.rho[-1], rate, std])

    def predictions(self, panel: Panel) -> Array:
        """Return each answer as predicted from the rows before it, (T, n)."""
        full = replace(panel, rows=panel.filled)
        u, share = own_series(full, self.dynamics)
        level, m = level_of(self.sums, self.regressors), 1 + self.dynamics.rho[:, None] * full.slope
        spread = max(level.spread, 1e-12)
        information, total = np.full(panel.n, 1 / spread), level.mean / spread
        out = np.empty_like(u)
        for row in range(panel.length):
            x = total / information
            # u_t is linear in y_t with slope m, and is predicted to be π x.
            out[row] = full.rows[row + 1] - (u[row] - share[row] * x) / m[row]
            there = panel.scored[row]
            information = information + there * share[row] ** 2
            total = total + there * share[row] * u[row]
        return out

    @cached_property
    def model(self) -> Model:
        """The fitted model, whose steps are those of the record."""
        x, rate, first = posterior(self.sums, self.regressors)[0], self.rate, self.panel.filled[0]
        if self.given is not None:
            return replace(self.given, hidden=x, noise=Gaussian(self.noise_std))
        if rate and not self.panel.public_start:
            # Opinions before the first row, which moved them once already.
            x = (x - rate * first) / (1 - rate)
        return replace(
            self.panel.model,
            hidden=x,
            pressure=self.course.schedule(self.reported.z),
            noise=Gaussian(self.noise_std),
            start=first if self.panel.public_start else "hidden",
            adaptation=Adaptation(rate) if rate else None,
        )

    @property
    def conditional(self) -> Model:
        """The fitted model whose step 0 is the first row."""
        made = conditional_model(self.panel, self.dynamics, self.noise_std)
        return replace(made, hidden=posterior(self.sums, self.regressors)[0])


def _end(fall: Callable[[float], float], best: float, bound: float, std: float) -> float:
    """Return where the likelihood has fallen, between the estimate and a bound; the bound if it never does."""
    inner, step = best, max(min(2 * std, 1.0), 0.02) * np.sign(bound - best)
    while step:
        outer = inner + step
        if (outer - bound) * np.sign(step) >= 0:
            outer, step = bound, 0.0
        if fall(outer) > 0:
            return float(optimize.brentq(fall, inner, outer, xtol=1e-3))
        inner, step = outer, 2 * step
    return bound


def draws_of(
    likelihood: Callable[[Array], float], z: Array, covariance: Array, ends: Array, bounds: Bounds
) -> tuple[Array, Array]:
    """Return draws of coordinates (m, k) by the likelihood around its maximum, and their shares (m,).

    They are drawn by its curvature, and between the ends of an interval in directions that the curvature does not
    bound; where the likelihood is not as its curvature says, their shares make up for it.
    """
    rng, std = np.random.default_rng(0), np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    flat = ~(std <= np.ptp(ends, axis=1))
    scores = rng.standard_normal((_DRAWS, z.size))
    scores[:, flat] = 0.0
    root = np.zeros((z.size, z.size))
    steep = np.ix_(~flat, ~flat)
    values, V = np.linalg.eigh(covariance[steep])
    root[steep] = V * np.sqrt(np.maximum(values, 0.0))
    points = z + scores @ root.T
    points[:, flat] = ends[flat, 0] + rng.random((_DRAWS, int(flat.sum()))) * np.ptp(ends[flat], axis=1)
    points[0] = z
    scores[0] = 0.0
    inside = np.clip(points, *np.array(bounds).T)
    heights = np.array([likelihood(point) for point in inside]) + 0.5 * np.square(scores).sum(axis=1)
    # A curvature that is too sharp would let a few far draws decide.
    shares = np.exp(np.minimum(heights - heights[0], _RATIO))
    return inside, np.asarray(shares / shares.sum())


def _hessian(height: Callable[[Array], float], z: Array, h: float = 0.02) -> Array:
    """Return the matrix of second differences."""
    k, middle = z.size, height(z)
    out, steps = np.empty((k, k)), h * np.eye(k)
    up, down = ([height(z + sign * step) for step in steps] for sign in (1, -1))
    for i in range(k):
        out[i, i] = (up[i] + down[i] - 2 * middle) / h**2
        for j in range(i):
            both = height(z + steps[i] + steps[j]) + height(z - steps[i] - steps[j])
            out[i, j] = out[j, i] = (both - up[i] - up[j] - down[i] - down[j] + 2 * middle) / (2 * h**2)
    return out


def _slopes(function: Callable[[Array], Array], z: Array, h: float = 1e-3) -> Array:
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


def fit_family(criterion: Criterion, name: str, course: Course, parts: Sequence[Rival] = ()) -> FamilyFit:
    """Return the model of the family with the highest integrated likelihood, which is no lower than that of a part."""
    panel = criterion.panel
    k = panel.common_parameters + len(course.names)
    draft = FamilyFit(name, panel, course, criterion, np.zeros(0), -np.inf, k)
    if not course.names:
        return replace(draft, log_likelihood=draft.likelihood(np.zeros(0)))
    starts = course.starts()
    if not panel.is_complete:
        # Each evaluation runs a filter.
        starts = starts[:: max(1, len(starts) // 12)]
    cases = [course.of_part(fit.course, fit.z) for fit in parts if isinstance(fit, FamilyFit)]
    fitted = [z for z in cases if z is not None]
    starts = np.array([*fitted, *starts])
    heights = [draft.rough(z) for z in starts]
    maxima = [_climb(draft.rough, starts[place], draft.bounds) for place in np.argsort(heights)[: -1 - _SEARCHES : -1]]
    z, height = max(maxima, key=lambda pair: pair[1])
    if criterion.is_within:
        z, height = _climb(draft.likelihood, z, draft.bounds)
    for part in fitted:
        if draft.likelihood(part) > height:
            z, height = _climb(draft.likelihood, part, draft.bounds)
    return replace(draft, z=z, log_likelihood=height)


def _climb(height: Callable[[Array], float], z: Array, bounds: Bounds) -> tuple[Array, float]:
    """Return a maximum and its height."""
    at = optimize.minimize(lambda point: -height(point), z, method="L-BFGS-B", bounds=bounds)
    return np.asarray(at.x), -float(at.fun)


# Models that a user gives.


def given_dynamics(panel: Panel, model: Model) -> Dynamics:
    """Return ρ and η of a model at the scored rows."""
    t = panel.steps[1:]
    rho = np.asarray(model.pressure(t), dtype=np.float64).reshape(-1)
    rates = [model.update(int(step)).adaptation_rate for step in t]
    return Dynamics(rho, None if rates[0] is None else np.array(rates))


def fit_given(panel: Panel, name: str, model: Model) -> FamilyFit | MeasuredFit:
    """Return a given model with its own network, stubbornness, pressure and adaptation, and fitted noise."""
    white = isinstance(model.noise, Gaussian) and not model.noise.autocorrelation and not np.ndim(model.noise.std)
    if not white or model.activation is not None or model.network.labels != panel.network.labels:
        rule = "a rival must be a Model of these agents, all of whom update, with white Gaussian noise of one size"
        remedy = "compare other models by the log-likelihoods of diagnose_fit"
        raise InvalidInputError(message(rule, got=repr(model)[:120], remedy=remedy))
    own = replace(panel, model=model)
    if panel.errors is not None:
        return fit_measured(own, name, course_of(own, "none"), given=(model, given_dynamics(own, model)))
    none = course_of(own, "none")
    draft = FamilyFit(name, own, none, Criterion(own), np.zeros(0), 0.0, panel.common_parameters, model)
    return replace(draft, log_likelihood=draft.likelihood(draft.z))


# Rivals without hidden opinions.


@final
@dataclass(frozen=True, eq=False)
class AverageFit:
    """DeGroot's model, y_t = y_{t−1} + b (mean of neighbours − y_{t−1}) + noise; a random walk where b = 0."""

    name: str
    panel: Panel = field(repr=False)
    weight: float
    std: float
    log_likelihood: float
    k: int
    # Standard deviation of the errors of answers.
    error: float = 0.0
    weight_std: float = 0.0
    # The maximum of the likelihood of answers with errors.
    top: Climb | None = field(default=None, repr=False)
    words = ""
    measurement_noise = None
    tells_errors = True
    parameters = NO_PARAMETERS

    @property
    def bic(self) -> float:
        """Schwarz's criterion on the scored answers."""
        return self.panel.criterion(self.k, self.log_likelihood)

    @property
    def unidentified(self) -> str:
        """Nothing, unless neighbours have all the weight."""
        return "weight" if self.weight > _ALL else ""

    @property
    def uses_network(self) -> bool:
        """Whether neighbours have a weight."""
        return self.weight > 0

    def predictions(self, panel: Panel) -> Array:
        """Return the average that each agent moves to, (T, n)."""
        before = panel.filled[:-1]
        return np.asarray(before + self.weight * _pull(panel, panel.filled))

    def draws(self) -> tuple[Array, Array]:
        """Return draws of pressure (first, mean, last), rate, noise and errors, (m, 5 or 6), and their shares.

        With the degree as stubbornness, pressure is b/(1 − b); here it is that of a tie at the mean degree.
        """
        scores, shares = np.random.default_rng(0).standard_normal(_DRAWS), np.full(_DRAWS, 1 / _DRAWS)
        if self.top is None:
            weight = np.clip(self.weight + self.weight_std * scores, 0.0, _MOST)
            noise = self.std * noise_factors(self.panel.count - (self.weight_std > 0), _DRAWS) / (1 - weight)
        else:
            weight, noise = self._measured
        pressure = weight / (1 - weight) / (float(self.panel.slope.mean()) or 1.0)
        errors = () if self.panel.errors is None else (np.full(_DRAWS, self.error),)
        return np.column_stack([pressure, pressure, pressure, np.ones(_DRAWS), noise, *errors]), shares

    @property
    def _measured(self) -> tuple[Array, Array]:
        """Draws of the weight and of the noise of opinions behind answers with errors, (m,) each."""
        assert self.top is not None
        assert isinstance(self.top.problem, MeasuredLikelihood)
        values, V = np.linalg.eigh(AnswerIntervals(self.top, 0.95).covariance)
        scores = np.random.default_rng(0).standard_normal((_DRAWS, values.size))
        points = np.clip(self.top.point + scores @ (V * np.sqrt(np.maximum(values, 0.0))).T, *self.top.bounds)
        course = self.top.problem.course
        rho = np.array([course.values(z[:1])[0] if course.names else 0.0 for z in points])
        return rho / (1 + rho), np.exp(points[:, -1])

    @cached_property
    def model(self) -> Model:
        """The fitted model: hidden opinions are the last answers, and stubbornness is the degree."""
        # ρ/(1 + ρ) = b, and the noise is shown in proportion to 1 − b.
        pressure = self.weight / (1 - self.weight)
        return replace(
            self.panel.model,
            hidden=self.panel.filled[0],
            stubbornness=_degree_stubbornness(self.panel),
            pressure=Constant(pressure),
            noise=Gaussian(self.std / (1 - self.weight)),
            adaptation=Adaptation(1.0),
            start=self.panel.filled[0],
        )

    @property
    def conditional(self) -> Model | None:
        """The same model, whose step 0 is the first row already; None for answers with errors."""
        return self.model if self.panel.errors is None else None

    @property
    def opinions(self) -> tuple[Array, Array]:
        """The last answers with their errors: nobody has another opinion."""
        return self.panel.last, np.full(self.panel.n, self.error)

    def courses(self) -> None:
        """Return nothing: pressure is one number."""


def _degree_stubbornness(panel: Panel) -> Array:
    degrees = panel.slope[0] * panel.stubbornness
    return np.where(degrees > 0, degrees, 1.0)


def _pull(panel: Panel, rows: Array) -> Array:
    """Return the mean of the neighbours minus the own answer before each row, (T, n); 0 without neighbours."""
    degrees = panel.slope * panel.stubbornness
    around = np.array([panel.adjacency(row) @ rows[row - 1] for row in range(1, panel.length + 1)])
    pull = np.divide(around - degrees * rows[:-1], degrees, out=np.zeros_like(around), where=degrees > 0)
    return np.asarray(pull)


def fit_average(panel: Panel, *, alone: bool) -> AverageFit:
    """Return DeGroot's model with the weight of highest likelihood, or the random walk."""
    if panel.errors is not None:
        return _measured_average(panel, panel.errors, alone=alone)
    if panel.is_complete:
        changes, pull = np.diff(panel.rows, axis=0), _pull(panel, panel.rows)
        size = float((pull**2).sum())
        best = 0.0 if alone or not size else float(np.clip((pull * changes).sum() / size, 0.0, _MOST))
        variance = float(np.square(changes - best * pull).mean())
        height = -0.5 * panel.count * (_LOG_TWO_PI + np.log(variance) + 1)
        information = size / variance
    else:

        def fall(weight: float) -> float:
            return -_gap_average(panel, weight)[0]

        best = 0.0 if alone else float(optimize.minimize_scalar(fall, bounds=(0.0, _MOST), method="bounded").x)
        height, variance = _gap_average(panel, best)
        # Within the range that is searched.
        middle = min(max(best, _STEP), _MOST - _STEP)
        sides = (_gap_average(panel, middle + step)[0] for step in (-_STEP, 0.0, _STEP))
        information = -float(np.dot([1.0, -2.0, 1.0], list(sides))) / _STEP**2
    weight_std = 0.0 if alone or information <= 0 else min(1 / np.sqrt(information), 1.0)
    # Agents who return to a level, for which a mean of neighbours also stands, have rivals of their own. In a few rows
    # these are not told from others, and the mean is charged for the parameters of such levels.
    name, k = ("walk", 1) if alone else ("degroot", 2 if panel.length >= TELLING_ROWS else panel.common_parameters + 1)
    return AverageFit(name, panel, best, float(np.sqrt(variance)), float(height), k, weight_std=float(weight_std))


def _measured_average(panel: Panel, errors: Errors, *, alone: bool) -> AverageFit:
    """Return DeGroot's model, or the random walk, behind answers with errors."""
    check_measured(panel)
    # With the degree as stubbornness, constant pressure ρ is a weight ρ/(1 + ρ) of the neighbours.
    own = replace(panel, model=replace(panel.model, stubbornness=_degree_stubbornness(panel)))
    course = course_of(own, "none" if alone else "constant")
    top = MeasuredLikelihood(own, course_of(own, "none"), averages=True).maximum()
    if not alone:
        # The walk is its limit without weight, and another maximum is near.
        likelihood = MeasuredLikelihood(own, course, averages=True)
        near = Climb.from_start(likelihood, np.r_[course.starts()[0], top.point])
        top = max(likelihood.maximum(), near, key=lambda climb: climb.height)
    rho = 0.0 if alone else float(course.values(top.point[:1])[0])
    weight = rho / (1 + rho)
    name, k = ("walk", 1) if alone else ("degroot", panel.common_parameters + 1)
    noise = float(np.exp(2 * top.point[-2])) if errors.is_measured else 0.0
    error = float(np.sqrt(noise + errors.spacing**2 / 12))
    std = float(np.exp(top.point[-1])) * (1 - weight)
    return AverageFit(name, panel, weight, std, top.height, k + errors.is_measured, error, top=top)


def _gap_average(panel: Panel, weight: float) -> tuple[float, float]:
    """Return the log-likelihood of DeGroot's model on a record with gaps, and its variance."""
    own = replace(panel, model=replace(panel.model, stubbornness=_degree_stubbornness(panel)))
    rho = np.full(panel.length, weight / (1 - weight))
    # After the first step, whatever was hidden is replaced by the answer, and the first step starts from the first row.
    sums = sums_of(own, Dynamics(rho, np.ones((panel.length, panel.n))))
    off = panel.filled[0] - sums.opinions
    squares = sums.rss + float(off @ sums.information @ off)
    # The filter's noise is that of opinions, of which a share of 1 − b is shown.
    variance = squares / sums.count
    height = sums.log_scale - 0.5 * sums.count * (_LOG_TWO_PI + np.log(variance) + 1)
    return height, variance * (1 - weight) ** 2


def rival_names(panel: Panel) -> tuple[str, ...]:
    """Return the rivals that a record can be compared with, in the order of the table of rivals."""
    return (*course_names(panel), *["degroot"] * bool(panel.slope.any()), "walk", *own_names(panel))


def fit_rival(criterion: Criterion, name: str, parts: Sequence[Rival] = ()) -> Rival:
    """Return a rival of the given name, fitted to a record; its search also begins at ``parts``, its cases."""
    panel = criterion.panel
    if name in ("walk", "degroot"):
        return fit_average(panel, alone=name == "walk")
    if name in OWN_LAWS:
        return fit_own(panel, name)
    course = course_of(panel, name)
    if panel.errors is not None:
        return fit_measured(panel, name, course, parts=parts)
    return fit_family(criterion, name, course, parts)


def weights_of(fits: Mapping[str, Rival]) -> dict[str, float]:
    """Return the weights exp(−Δ/2) of differences in Schwarz's criterion, which add up to 1."""
    criteria = np.array([one.bic for one in fits.values()])
    known = np.array([not one.unidentified for one in fits.values()])
    # Where all models are at an edge, the weights are those of all.
    criteria = np.where(known | ~known.any(), criteria, np.inf)
    weights = np.exp(-0.5 * (criteria - criteria.min()))
    return dict(zip(fits, (weights / weights.sum()).tolist(), strict=True))
