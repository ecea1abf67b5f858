"""Rival models of a record: each is fitted to the same answers, and returns its likelihood and its predictions.

The family of the model has a course of peer pressure ρ_t, with or without adaptation. Rivals without hidden opinions
are independent random walks, DeGroot's average of neighbours, and the laws of people who respond to nobody in
``own_rivals``. Walks and averages are models of the same family as well: with adaptation 1, the hidden opinion is the
last answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Protocol, final

import numpy as np
from scipy import optimize

from peerpressure.errors import InvalidInputError, message
from peerpressure.fitting._answer_likelihood import AnswerLikelihood
from peerpressure.fitting._courses import TELLING_ROWS, Course, course_names, course_of
from peerpressure.fitting._family import ExactRecord, FamilyFit, MeasuredRecord, measured_likelihood
from peerpressure.fitting._integrated import DRAWS, Criterion, height_at_best, noise_factors, sums_of
from peerpressure.fitting._maximum import Maximum
from peerpressure.fitting._own_rivals import ALL, fit_own, own_names
from peerpressure.fitting._parameters import NO_PARAMETERS, Shared, UnknownParameter
from peerpressure.fitting._record import Errors, Panel
from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.step import Array
from peerpressure.noise import Gaussian
from peerpressure.schedules import Constant

# Weight of neighbours that is searched up to.
_MOST = 0.999
# Step of second differences in that weight.
_STEP = 0.01
_WALKS = "Each agent moves on from its last answer at random, independently of the others."


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
        """What people do apart from any response, as a sentence; empty where nothing is to be said."""

    @property
    def parameters(self) -> Mapping[str, UnknownParameter]:
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


def fit_given(panel: Panel, name: str, model: Model) -> FamilyFit:
    """Return a given model with its own network, stubbornness, pressure and adaptation, and fitted noise."""
    white = isinstance(model.noise, Gaussian) and not model.noise.autocorrelation and not np.ndim(model.noise.std)
    if not white or model.activation is not None or model.network.labels != panel.network.labels:
        rule = "a rival must be a Model of these agents, all of whom update, with white Gaussian noise of one size"
        remedy = "compare other models by the log-likelihoods of diagnose_fit"
        raise InvalidInputError(message(rule, got=repr(model)[:120], remedy=remedy))
    own = replace(panel, model=model)
    return _fit_family(Criterion(own), name, course_of(own, "none"), given=model)


def _fit_family(
    criterion: Criterion, name: str, course: Course, parts: Sequence[Rival] = (), given: Model | None = None
) -> FamilyFit:
    """Return the model of the family with the highest likelihood, which is no lower than that of a part."""
    panel = criterion.panel
    kind = ExactRecord if panel.errors is None else MeasuredRecord
    record = kind(criterion, course, given)
    return FamilyFit(name, record, record.highest([fit for fit in parts if isinstance(fit, FamilyFit)]))


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
    # The likelihood of answers with errors, and its maximum.
    measured: tuple[AnswerLikelihood, Maximum] | None = field(default=None, repr=False)
    measurement_noise = None
    tells_errors = True
    parameters = NO_PARAMETERS

    @property
    def bic(self) -> float:
        """Schwarz's criterion on the scored answers."""
        return self.panel.bic(self.k, self.log_likelihood)

    @property
    def unidentified(self) -> str:
        """Nothing, unless neighbours have all the weight."""
        return "weight" if self.weight > ALL else ""

    @property
    def uses_network(self) -> bool:
        """Whether neighbours have a weight."""
        return self.weight > 0

    @property
    def words(self) -> str:
        """What people do without neighbours."""
        return "" if self.uses_network else _WALKS

    def predictions(self, panel: Panel) -> Array:
        """Return the average that each agent moves to, (T, n)."""
        return np.asarray(panel.filled[:-1] + self.weight * _pull(panel))

    def draws(self) -> tuple[Array, Array]:
        """Return draws of pressure (first, mean, last), rate, noise and errors, (m, 5 or 6), and their shares.

        With the degree as stubbornness, pressure is b/(1 − b); here it is that of a tie at the mean degree.
        """
        scores, shares = np.random.default_rng(0).standard_normal(DRAWS), np.full(DRAWS, 1 / DRAWS)
        if self.measured is None:
            weight = np.clip(self.weight + self.weight_std * scores, 0.0, _MOST)
            noise = self.std * noise_factors(self.panel.count - (self.weight_std > 0)) / (1 - weight)
        else:
            weight, noise = self._drawn(*self.measured)
        pressure = weight / (1 - weight) / (float(self.panel.slope.mean()) or 1.0)
        errors = () if self.panel.errors is None else (np.full(DRAWS, self.error),)
        return np.column_stack([pressure, pressure, pressure, np.ones(DRAWS), noise, *errors]), shares

    def _drawn(self, likelihood: AnswerLikelihood, top: Maximum) -> tuple[Array, Array]:
        """Return draws of the weight and of the noise of opinions behind answers with errors, (m,) each."""
        points = likelihood.drawn(top, likelihood.curved(top)[1], DRAWS)
        rho = np.array([likelihood.shared(z).rho[0, 0] for z in points])
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
    return np.where(panel.degrees[0] > 0, panel.degrees[0], 1.0)


def _pull(panel: Panel) -> Array:
    """Return the mean of the neighbours minus the own answer before each row, (T, n); 0 without neighbours."""
    return np.nan_to_num(panel.neighbours_last - panel.filled[:-1])


def fit_average(panel: Panel, *, alone: bool) -> AverageFit:
    """Return DeGroot's model with the weight of highest likelihood, or the random walk."""
    if panel.errors is not None:
        return _measured_average(panel, panel.errors, alone=alone)
    if panel.is_complete:
        changes, pull = np.diff(panel.rows, axis=0), _pull(panel)
        size = float((pull**2).sum())
        best = 0.0 if alone or not size else float(np.clip((pull * changes).sum() / size, 0.0, _MOST))
        variance = float(np.square(changes - best * pull).mean())
        height = height_at_best(panel.count, variance)
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
    # With the degree as stubbornness, constant pressure ρ is a weight ρ/(1 + ρ) of the neighbours.
    own = replace(panel, model=replace(panel.model, stubbornness=_degree_stubbornness(panel)))
    likelihood = measured_likelihood(own, course_of(own, "none"), averages=True)
    top, rho = likelihood.maximum(), 0.0
    if not alone:
        # The walk is its limit without weight, and another maximum is near.
        course = course_of(own, "constant")
        likelihood = measured_likelihood(own, course, averages=True)
        top = likelihood.maximum([np.r_[course.starts()[0], top.point]])
        rho = float(course.values(top.point[:1])[0])
    weight = rho / (1 + rho)
    name, k = ("walk", 1) if alone else ("degroot", panel.common_parameters + 1)
    noise = float(np.exp(2 * top.point[-2])) if errors.is_measured else 0.0
    error = float(np.sqrt(noise + errors.spacing**2 / 12))
    std = float(np.exp(top.point[-1])) * (1 - weight)
    return AverageFit(name, panel, weight, std, top.height, k + errors.is_measured, error, measured=(likelihood, top))


def _gap_average(panel: Panel, weight: float) -> tuple[float, float]:
    """Return the log-likelihood of DeGroot's model on a record with gaps, and its variance."""
    own = replace(panel, model=replace(panel.model, stubbornness=_degree_stubbornness(panel)))
    rho = np.full((panel.length, 1), weight / (1 - weight))
    # After the first step, whatever was hidden is replaced by the answer, and the first step starts from the first row.
    sums = sums_of(own, Shared(rho, np.ones((panel.length, panel.n))))
    off = panel.filled[0] - sums.opinions
    squares = sums.rss + float(off @ sums.information @ off)
    # The filter's noise is that of opinions, of which a share of 1 − b is shown.
    variance = squares / sums.count
    return sums.log_scale + height_at_best(sums.count, variance), variance * (1 - weight) ** 2


def rivals_of(criterion: Criterion) -> dict[str, Callable[[Sequence[Rival]], Rival]]:
    """Return the rivals that a record can be compared with, in the order of the table of rivals.

    Each is a function from fitted rivals, of which some may be its cases where its search begins as well, to its fit.
    """
    panel = criterion.panel

    def of_levels(name: str) -> Callable[[Sequence[Rival]], Rival]:
        return lambda _: fit_own(panel, name)

    rivals: dict[str, Callable[[Sequence[Rival]], Rival]] = {
        name: partial(_fit_family, criterion, name, course_of(panel, name)) for name in course_names(panel)
    }
    if panel.slope.any():
        rivals["degroot"] = lambda _: fit_average(panel, alone=False)
    rivals["walk"] = lambda _: fit_average(panel, alone=True)
    return rivals | {name: of_levels(name) for name in own_names(panel)}


def weights_of(fits: Mapping[str, Rival]) -> dict[str, float]:
    """Return the weights exp(−Δ/2) of differences in Schwarz's criterion, which add up to 1."""
    criteria = np.array([one.bic for one in fits.values()])
    known = np.array([not one.unidentified for one in fits.values()])
    # Where all models are at an edge, the weights are those of all.
    criteria = np.where(known | ~known.any(), criteria, np.inf)
    weights = np.exp(-0.5 * (criteria - criteria.min()))
    return dict(zip(fits, (weights / weights.sum()).tolist(), strict=True))
