"""Standardised one-step-ahead residuals: independent and standard normal if the model made the answers.

Each answer is predicted from those before it, x₀ included: with white or AR(1) noise whitened to b_t = a_t x₀ + e_t,

    w_t = (b_t − a_t x̂_{t−1}) / √(1 + a_tᵀ P_{t−1} a_t),

where x̂ and P are estimate and covariance of x₀ given the earlier answers. These recursive residuals [1]_ are exactly
independent N(0, 1) under Gaussian noise, while those about the final x̂ are correlated. Answers that are used up to
determine x₀ have none. Under another law, w_t = Φ⁻¹(u_t), where u_t is the probability of a smaller answer given the
earlier ones if x₀ has a flat prior. That is the conditional law of what does not depend on x₀, so the u_t are
exactly independent and uniform, too.

The sum of squares and the variances that answers have given x₀ give the log-likelihood at its maximum in x₀.

References
----------
.. [1] Brown, R. L., Durbin, J. & Evans, J. M. (1975), Techniques for testing the constancy of regression relationships
   over time. JRSS B 37.
.. [2] Rosenblatt, M. (1952), Remarks on a multivariate transformation. Annals of Mathematical Statistics 23.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.errors import InvalidInputError, TooLargeError, message
from peerpressure.model import Model
from peerpressure.model.statespace import System, discrete_model, initial_state, retained
from peerpressure.model.step import Array
from peerpressure.noise import Custom, Gaussian, Laplace, Noise, NoNoise, Rademacher, StudentT, Uniform
from peerpressure.recovery import limits
from peerpressure.recovery._diagnostics import FitDiagnostics, Likelihood, Residuals
from peerpressure.recovery._information_state import InformationState, RecursiveRows
from peerpressure.recovery._kalman import noisy_facts, run_filter
from peerpressure.recovery._laws import is_on_line, likelihood
from peerpressure.recovery._score_tests import is_quick, score_tests
from peerpressure.recovery._sparse_kalman import SparseStates, eliminate
from peerpressure.recovery.innovations import open_steps, start_row
from peerpressure.recovery.least_squares import conjugate_gradients, innovation_std
from peerpressure.recovery.limits import LAW_NUMBERS, NEGLIGIBLE, PATH_BYTES
from peerpressure.recovery.observation import Answers, Observation, observed
from peerpressure.recovery.series import Whitened, conditional_tests, noise_std_by_step, recursive, whitened
from peerpressure.support.progress import ShouldStop, cancellable, check_cancelled

if TYPE_CHECKING:
    from peerpressure.recovery.observation import Data

# Residuals from each agent's own series r_t = π_{t−1} x₀ + ε_t, which needs the answers of its neighbours.
#
# Whitened, the series is b_t = a_t x₀ + e_t. Gaussian noise has recursive residuals in closed form. For other laws the
# density of x₀ given b_1, …, b_{t−1} is followed on a grid for each series, under uniform noise on an interval; the
# probability of an answer below b_t is the mean of F(b_t − a_t x₀) over it. In a location family these probabilities
# are exactly independent and uniform.

Function: TypeAlias = Callable[[Array], Array]
# Points of the grid: the density of x₀ soon becomes narrow beside that of the noise, and fewer are enough later.
_POINTS, _LATER_POINTS, _LATER = 129, 33, 8
# Probability left out on either side of the first grid, and of those that follow.
_TAIL, _CUT = 1e-8, 1e-10
# Heavy tails need points that crowd in the middle, until several answers have cut them off.
_BEND, _BENT_UNTIL = 6.0, 4
# Series that are followed at once, which bounds the memory.
_BLOCK = 2_048
# Half the width of the uniform law of unit variance.
_HALF = float(np.sqrt(3))
# The rate at which the tails of the Laplace law of unit variance fall.
_ROOT_TWO = float(np.sqrt(2))


def has_scores(noise: Noise) -> bool:
    """Return whether noise has a density that `law_scores` can follow: on the whole line, or uniform."""
    return not isinstance(noise, (Rademacher, NoNoise)) and (isinstance(noise, Uniform) or is_on_line(noise))


def series_residuals(model: Model, data: Answers) -> Residuals | None:
    part = _first_steps(data)
    if part is None:
        return None
    series, everyone = whitened(model, part), np.arange(model.n)
    if not isinstance(model.noise, Gaussian):
        values = law_scores(series.values, series.slope, series.present, data.known, model.noise)
        return _with_law(model, data, Residuals(series.times, everyone, values))
    values, information, mean = recursive(series, data.known)
    from_hidden = initial_state(model).starts_from_hidden and data.seen.free.size == model.n
    # From a hidden start, step 1 contains the x₀ of neighbours: its residuals are found last, given all later steps.
    first = int(from_hidden)
    if not (part is data and data.complete and series.present[first:].all()):
        return Residuals(series.times, everyone, values)
    squares = np.nansum(np.square(values), axis=(1, 2))
    logs = 2 * float(np.log(series.std[first:]).sum())
    parameters = data.seen.free.size
    if from_hidden:
        values[:, 0], more, log_first = _first_step(model, data, series, information, mean)
        squares, logs = squares + more, logs + log_first
        parameters = min(parameters, int(np.isnan(values[0]).sum()))
    count = data.seen.last * model.n
    return Residuals(series.times, everyone, values, Likelihood.gaussian(squares, logs, parameters, count))


def _with_law(model: Model, data: Answers, result: Residuals) -> Residuals:
    """Return the residuals with the log-likelihood of white noise of another law, at its estimate of x₀.

    Where agents start from x₀, the estimate leaves out step 1, and the likelihood is a little below its maximum; that
    of uniform noise may even be 0 there, and is left out.
    """
    deviations, from_hidden = noise_std_by_step(model, data), initial_state(model).starts_from_hidden
    large = data.seen.last * data.known.size > limits.RESIDUAL_NUMBERS
    cut = isinstance(model.noise, Uniform) and from_hidden and data.seen.free.size
    if model.noise.autocorrelation or large or cut or not (data.complete and deviations.all()):
        return result
    if model.keeps:
        # Answers that are kept have no density.
        return result
    estimate = likelihood(model, data) if data.seen.free.size else None
    if estimate is not None and not estimate.identified.all():
        return result
    x = (data.known if estimate is None else estimate.value).T
    law, height = ScaledLaw.of(model.noise), np.zeros(x.shape[1])
    pi = np.broadcast_to(retained(model, data.seen.last), (data.seen.last + 1, model.n))
    for sigma, own, seen in zip(deviations, pi[:-1], open_steps(model, data), strict=True):
        # From a hidden start, y₀ is x₀.
        step = replace(seen, before=x) if seen.t == 1 and from_hidden else seen
        noise = step.own_series - own[:, None] * x
        height += (law.log_density(noise / sigma[:, None]) - np.log((step.update.gain * sigma)[:, None])).sum(axis=0)
    return replace(result, likelihood=Likelihood(height, data.seen.free.size, data.seen.last * model.n))


def _first_steps(data: Answers) -> Answers | None:
    """Return the answers, or so many of the first steps that the arrays of the inversion fit in memory."""
    steps = limits.RESIDUAL_NUMBERS // (data.known.shape[0] * data.seen.n)
    if data.seen.times.size <= steps:
        return data
    return first_outputs(data, steps) if steps >= 2 else None


def first_outputs(data: Answers, steps: int) -> Answers:
    seen = replace(data.seen, times=data.seen.times[:steps])
    return replace(data, seen=seen, values=data.values[:, :steps], present=data.present[:steps])


def _first_step(
    model: Model, data: Answers, series: Whitened, information: Array, mean: Array
) -> tuple[Array, Array, float]:
    """Return residuals (replicates, n), their sum of squares and Σ log variance of step 1 given all later steps.

    From a hidden start, y_1/g_1 contains the x₀ of neighbours, so its rows follow those of each agent alone.
    """
    gain, std = model.update(1).gain, model.noise.deviations(model.n)
    follows = data.seen.last > 1
    row = start_row(model, 2 if follows else None, retained(model, 1)[1])
    size = std / np.sqrt(row.weight)
    second = (series.values[:, 1] * (std * float(model.noise.scale(2)))).T if follows else None
    off = row.observed(data.at(0).T / gain[:, None], second) - row.matrix @ mean.T
    A, off = sparse.csr_array(sparse.diags_array(1 / size) @ row.matrix), off / size[:, None]
    logs = 2 * float(np.log(gain * size / row.first).sum())
    if model.n <= limits.DENSE_LIMIT:
        rows = RecursiveRows.of(np.diag(np.sqrt(information))[information > 0], off.shape[1])
        w = rows.residuals(A.toarray(), off)
        return w.T, np.nansum(np.square(w), axis=0), logs
    # Too many for a dense covariance of the residuals; their sum of squares needs one solution.
    rhs, diagonal = A.T @ off, information + np.asarray(A.multiply(A).sum(axis=0)).ravel()
    moved, _ = conjugate_gradients(lambda z: information[:, None] * z + A.T @ (A @ z), rhs, diagonal)
    return np.full(mean.shape, np.nan), np.square(off).sum(axis=0) - (moved * rhs).sum(axis=0), logs


# Predictive probabilities under a law that is not Gaussian.


def law_scores(values: Array, slope: Array, present: NDArray[np.bool_], known: Array, noise: Noise) -> Array:
    """Return Φ⁻¹ of the predictive probabilities of series, (replicates, T, n), NaN where there are none.

    ``values`` is b, (replicates, T, n), ``slope`` a and ``present`` (T, n); ``known`` (replicates, n) is x₀, NaN where
    it is not known. If there are very many series, an evenly spaced part of them is followed.
    """
    replicates, steps, n = values.shape
    law = ScaledLaw.of(noise)
    # Uniform noise takes no integral.
    count = n if law.bounded else max(1, min(n, LAW_NUMBERS // max(1, replicates * steps)))
    agents = np.unique(np.linspace(0, n - 1, count).astype(np.int64))
    out = np.full(values.shape, np.nan)
    series = np.moveaxis(values[:, :, agents], 1, 0).reshape(steps, -1)
    a, here = np.tile(slope[:, agents], replicates), np.tile(present[:, agents], replicates)
    start, scores = known[:, agents].ravel(), np.empty_like(series)
    for first in range(0, series.shape[1], _BLOCK):
        some = slice(first, first + _BLOCK)
        scores[:, some] = _scores(series[:, some], a[:, some], here[:, some], start[some], law)
    out[:, :, agents] = np.moveaxis(scores.reshape(steps, replicates, -1), 0, 1)
    return out


@final
@dataclass(frozen=True, eq=False)
class ScaledLaw:
    """A law of unit variance: its functions, and the ends of nearly all of its probability."""

    cdf: Function
    sf: Function
    log_density: Function
    low: float
    high: float
    bounded: bool

    @classmethod
    def of(cls, noise: Noise) -> ScaledLaw:
        """Return the law of this noise at unit standard deviation."""
        law = noise.unit()
        mean, std = (float(law.mean()), float(law.std())) if isinstance(noise, Custom) else (0.0, 1.0)
        ends = (np.array([law.ppf(_TAIL), law.isf(_TAIL)]) - mean) / std
        bounded = isinstance(noise, Uniform)

        def scaled(function: Function) -> Function:
            return lambda z: np.asarray(function(mean + std * z))

        low, high = float(ends[0]), float(ends[1])
        if (formulas := _formulas(noise)) is not None:
            below, logs = formulas
            return cls(below, lambda z: below(-z), logs, low, high, bounded)
        logs = scaled(law.logpdf)
        return cls(scaled(law.cdf), scaled(law.sf), lambda z: logs(z) + np.log(std), low, high, bounded)


def _formulas(noise: Noise) -> tuple[Function, Function] | None:
    """Return F and log f of a symmetric law of unit variance, several times faster than SciPy's, which check each z."""
    from scipy import special

    if isinstance(noise, Laplace):
        return _laplace_cdf, lambda z: np.asarray(-_ROOT_TWO * np.abs(z) - 0.5 * np.log(2.0))
    if not isinstance(noise, StudentT):
        return None
    nu, stretch = noise.df, float(np.sqrt(noise.df / (noise.df - 2)))
    top = float(special.gammaln((nu + 1) / 2) - special.gammaln(nu / 2) - 0.5 * np.log(np.pi * (nu - 2)))
    return (
        lambda z: np.asarray(special.stdtr(nu, stretch * z)),
        lambda z: np.asarray(top - 0.5 * (nu + 1) * np.log1p(np.square(z) / (nu - 2))),
    )


def _laplace_cdf(z: Array) -> Array:
    tail = 0.5 * np.exp(-_ROOT_TWO * np.abs(z))
    return np.where(z < 0, tail, 1 - tail)


def _scores(b: Array, a: Array, here: NDArray[np.bool_], known: Array, law: ScaledLaw) -> Array:
    """Return the scores of series, (T, m)."""
    from scipy import special

    lower, upper = np.full(b.shape, np.nan), np.full(b.shape, np.nan)
    given = ~np.isnan(known)
    sure = here & given
    off = b - a * np.nan_to_num(known)
    lower[sure], upper[sure] = law.cdf(off[sure]), law.sf(off[sure])
    density: _Posterior = _Interval() if law.bounded else _Density(law)
    started = np.zeros(b.shape[1], dtype=bool)
    usable = here & ~given & (np.abs(a) > NEGLIGIBLE)
    for t in range(len(b)):
        check_cancelled()
        ready = usable[t] & started
        if ready.any():
            lower[t, ready], upper[t, ready] = density.probabilities(b[t], a[t], ready)
        started |= usable[t]
        density.follow(b[: t + 1], a[: t + 1], usable[: t + 1])
    # From the nearer end, since probabilities near 1 lose their digits.
    return np.asarray(np.where(lower < upper, special.ndtri(lower), -special.ndtri(upper)))


class _Posterior(Protocol):
    """What is known of the x₀ of each series from the answers so far."""

    def probabilities(self, b: Array, a: Array, which: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Return the probabilities of an answer below and above b of some series."""
        ...

    def follow(self, b: Array, a: Array, usable: NDArray[np.bool_]) -> None:
        """Take in the last of the answers."""
        ...


@final
@dataclass(eq=False)
class _Interval:
    """The interval from ``low`` to ``high``, (m,), on which the density of x₀ is constant under uniform noise."""

    low: Array = field(init=False)
    high: Array = field(init=False)

    def probabilities(self, b: Array, a: Array, which: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Return the probabilities of an answer below and above b of some series."""
        one, other = (b[which] - a[which] * end[which] for end in (self.low, self.high))
        length = np.abs(one - other)
        below, above = (
            np.abs(_uniform_integral(sign * one) - _uniform_integral(sign * other)) / np.where(length > 0, length, 1.0)
            for sign in (1, -1)
        )
        return below, above

    def follow(self, b: Array, a: Array, usable: NDArray[np.bool_]) -> None:
        """Take in the last of the answers."""
        if len(b) == 1:
            self.low, self.high = np.full(b.shape[1], -np.inf), np.full(b.shape[1], np.inf)
        slope = np.where(usable[-1], a[-1], 1.0)
        ends = np.sort((b[-1] + np.array([[-_HALF], [_HALF]])) / slope, axis=0)
        self.low = np.where(usable[-1], np.maximum(self.low, ends[0]), self.low)
        self.high = np.where(usable[-1], np.minimum(self.high, ends[1]), self.high)


def _uniform_integral(z: Array) -> Array:
    """Return ∫F up to z of the uniform law of unit variance."""
    return np.where(z < _HALF, np.maximum(z + _HALF, 0.0) ** 2 / (4 * _HALF), z)


@final
@dataclass(eq=False)
class _Density:
    """The density of x₀ of each series given the answers so far, on grids ``points`` with ``weights``, (m, points)."""

    law: ScaledLaw
    points: Array = field(init=False)
    logs: Array = field(init=False)

    def probabilities(self, b: Array, a: Array, which: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Return the probabilities of an answer below and above b of some series."""
        weights = self._weights()[which]
        off = b[which, None] - a[which, None] * self.points[which]
        below = (weights * self.law.cdf(off)).sum(axis=1)
        above = 1 - below
        # Probabilities near 1 have lost the digits of what is left to 1.
        far = below > 0.99
        above[far] = (weights[far] * self.law.sf(off[far])).sum(axis=1)
        return below, above

    def follow(self, b: Array, a: Array, usable: NDArray[np.bool_]) -> None:
        """Take in the last of the answers; at steps 1, 2, 4, … on a new grid, as the density becomes narrower."""
        steps = len(b)
        started = np.asarray(usable[:-1].any(axis=0))
        if steps & (steps - 1) and started[usable[-1]].all():
            self.logs = self.logs + self._fit(b[-1], a[-1], usable[-1])
            return
        self.points = self._grid(b, a, usable)
        self.logs = np.zeros_like(self.points)
        for row in range(steps):
            if usable[row].any():
                self.logs += self._fit(b[row], a[row], usable[row])

    def _fit(self, b: Array, a: Array, usable: NDArray[np.bool_]) -> Array:
        with np.errstate(divide="ignore"):
            fit = self.law.log_density(b[:, None] - a[:, None] * self.points)
        return np.where(usable[:, None], fit, 0.0)

    def _grid(self, b: Array, a: Array, usable: NDArray[np.bool_]) -> Array:
        """Return points that cover the density of each series."""
        seen, columns = usable.sum(axis=0), np.arange(b.shape[1])
        first = np.argmax(usable, axis=0)
        slope = np.where(seen > 0, a[first, columns], 1.0)
        ends = np.sort((b[first, columns] - np.array([[self.law.high], [self.law.low]])) / slope, axis=0)
        low, high, middle = ends[0], ends[1], b[first, columns] / slope
        if seen.max(initial=0) > 1 and hasattr(self, "points"):
            total = np.cumsum(self._weights(), axis=1)
            before = np.maximum(np.argmax(total > _CUT, axis=1) - 1, 0)
            after = np.minimum(np.argmax(total >= 1 - _CUT, axis=1) + 1, self.points.shape[1] - 1)
            half = np.argmax(total >= 0.5, axis=1)
            more = seen > 1
            low, middle, high = (
                np.where(more, self.points[columns, at], old)
                for at, old in ((before, low), (half, middle), (after, high))
            )
        bend = 1e-3 if seen.min() >= _BENT_UNTIL else _BEND
        # An odd number, because the middle must be one of the points.
        place = np.sinh(bend * np.linspace(-1, 1, _POINTS if seen.min() < _LATER else _LATER_POINTS)) / np.sinh(bend)
        below, above = (middle - low)[:, None], (high - middle)[:, None]
        return np.asarray(middle[:, None] + np.where(place < 0, below, above) * place)

    def _weights(self) -> Array:
        """Return the probability of each point, by the trapezoidal rule."""
        width = np.diff(self.points, axis=1)
        width = np.concatenate([width[:, :1], width[:, 1:] + width[:, :-1], width[:, -1:]], axis=1)
        top = self.logs.max(axis=1, keepdims=True)
        # Answers that the law cannot have made leave no density; any of them is as impossible as another.
        mass = width * np.exp(self.logs - np.where(np.isfinite(top), top, 0.0))
        total = mass.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(mass, total, out=np.zeros_like(mass), where=total > 0))


# Residuals by the best method for the answers.

# Noise narrower than this part of the spacing of rounded answers leaves rounding errors that depend on the values.
_NARROW = 0.75
# Residuals of rounded answers that an agent must have to be tested.
_FEW_ROUNDED = 4
# Answers of frozen noise that are read for each agent.
_FACTS = 12


def residuals(system: System, data: Answers) -> Residuals | None:
    """Return the residuals of answers, None if none can be computed: their law or size is out of reach."""
    model = system.model
    if not data.present.any():
        return None
    inverts = not system.is_continuous and not data.seen.rounding and not model.noise.is_frozen
    if not isinstance(model.noise, Gaussian):
        return series_residuals(model, data) if inverts and has_scores(model.noise) else None
    # Inversion is fast and loses nothing from complete answers; from others it leaves out agents with a neighbour that
    # is not observed, so it is used only if the filter takes too long.
    whole = data.complete and data.seen.free.size in (0, model.n) and bool((noise_std_by_step(model, data) > 0).all())
    whole = whole and not model.keeps
    if inverts and (whole or model.n > limits.FILTER_LIMIT):
        return series_residuals(model, data)
    if model.n > limits.FILTER_LIMIT:
        return None
    if model.noise.is_frozen and not data.seen.rounding and not system.is_continuous:
        # Exact answers are facts, which leave no residuals and may contradict one another; later ones say nothing new.
        data = first_outputs(data, 1 + int(np.searchsorted(np.cumsum(data.present.sum(axis=1)), _FACTS * model.n)))
    return _filtered(system, data)


# From the Kalman filter.


def _filtered(system: System, data: Answers) -> Residuals | None:
    """Return the residuals of the Kalman filter, from any answers."""
    n, (replicates, steps) = system.model.n, data.values.shape[:2]
    outputs = int(data.present.sum())
    if 8 * outputs * (n + replicates) > PATH_BYTES:
        return None
    followed = list(_rows(system, data))
    information = followed[-1].information
    out, squares, predicted = np.full((replicates, steps, n), np.nan), np.zeros(replicates), 0
    for step, w in _standardised(followed, n, replicates):
        squares, predicted = squares + np.nansum(w**2, axis=0), predicted + int(np.isfinite(w[:, 0]).sum())
        out[:, step.row, step.agents] = np.where(step.is_wide[:, None], w, np.nan).T
    used, logs = sum(step.agents.size for step in followed), sum(step.log_variance for step in followed)
    if data.seen.rounding:
        # Single residuals of rounded answers are often exactly 0, and too small for a continuous law.
        out[:, :, np.isfinite(out[0]).sum(axis=0) < _FEW_ROUNDED] = np.nan
    revealed = len(information.exact) > int((~np.isnan(data.known[0])).sum())
    result = Residuals(data.seen.times, np.arange(n), out)
    if revealed or used < outputs or information.n > n:
        return result
    return replace(result, likelihood=Likelihood.gaussian(squares, logs, used - predicted, used))


def _standardised(followed: list[FilteredRows], n: int, replicates: int) -> Iterator[tuple[FilteredRows, Array]]:
    """Yield each step with its residuals given all earlier ones, (agents, replicates)."""
    information = followed[-1].information
    fixed, free = _constrained(information, replicates)
    # Unknowns beyond x₀ are draws of the noise.
    rows = RecursiveRows.of((np.eye(information.n) @ free)[n:] / information.unit, replicates)
    for step in followed:
        if step.agents.size:
            check_cancelled()
            A, b = step.slope @ free, step.values - step.slope @ fixed
            yield step, rows.residuals(A, b)
            rows = rows.condition(A, b)


def mean_square(system: System, data: Answers) -> float:
    """Return the mean square of all residuals, 1 if the noise has the size of the model; 0 if there are none."""
    if data.seen.rounding and system.model.n <= limits.FILTER_LIMIT:
        # Single residuals of rounded answers have no continuous law, but their squares have the right mean.
        followed = list(_rows(system, data))
        values = [w.ravel() for _, w in _standardised(followed, system.model.n, data.values.shape[0])]
    else:
        found = residuals(system, data)
        values = [] if found is None else [found.values.ravel()]
    squares = np.square(np.concatenate([np.zeros(0), *values]))
    squares = squares[np.isfinite(squares)]
    return float(squares.mean()) if squares.size else 0.0


def _constrained(information: InformationState, replicates: int) -> tuple[Array, Array]:
    """Return an x₀ (n, replicates) that satisfies the exact facts, and the directions (n, f) that they leave open."""
    if not len(information.exact):
        return np.zeros((information.n, replicates)), np.eye(information.n)
    exact = replace(information, noisy=information.noisy[:0], frozen_draws=0).solve().posterior
    return exact.mean.T, exact.null_space


@final
@dataclass(frozen=True, eq=False)
class FilteredRows:
    """What the filter makes of the answers of one step: rows ``slope`` · x₀ = ``values`` + unit noise of ``agents``.

    ``is_wide`` (agents,) tells whose noise is not narrower than the spacing of rounded answers.
    """

    row: int
    agents: NDArray[np.int64]
    slope: Array
    values: Array
    is_wide: NDArray[np.bool_]
    log_variance: float
    information: InformationState


def _rows(system: System, data: Answers) -> Iterator[FilteredRows]:
    """Yield the rows of each observed step."""
    row_of = {int(t): row for row, t in enumerate(data.seen.times)}
    # Rounding errors are independent of one another only where answers spread over several values.
    narrow = (_NARROW * data.seen.rounding) ** 2 + data.seen.noise_variance
    for step in run_filter(system, data, None):
        if step.t in row_of:
            row, width = row_of[step.t], step.information.n + data.known.shape[0]
            slope, values = np.split(noisy_facts(step.legible, width), [step.information.n], axis=1)
            variance = np.array([c.variance for c in step.legible])
            agents, logs = np.array([c.agent for c in step.legible], dtype=np.int64), float(np.log(variance).sum())
            yield FilteredRows(row, agents, slope, values, variance >= narrow, logs, step.information)


# Residuals from partial answers of a large network.


def sparse_likelihood(system: System, data: Answers) -> Likelihood | None:
    """Return the log-likelihood from the elimination of unobserved states, None if that is out of reach.

    Rows with unit noise have the density of the answers and of the unobserved states together; integrating these out
    leaves the determinant of their information.
    """
    model = system.model
    # The filter of a small network has found the likelihood already, if there is one.
    if system.is_continuous or model.n <= limits.FILTER_LIMIT or not isinstance(model.noise, Gaussian):
        return None
    try:
        normal = eliminate(SparseStates(model, data))
    except TooLargeError:
        return None
    solved = normal.equations.solved()
    count, phi = int(data.present.sum()), model.noise.autocorrelation
    squares = normal.squares - np.einsum("ir,ri->r", normal.equations.right, solved.value)
    gains = np.array([update.gain for update in model.updates(range(1, data.seen.last + 1))])
    logs = normal.log_det + 2 * float(np.log(gains * noise_std_by_step(model, data)).sum())
    logs += 2 * (data.seen.last - 1) * model.n * float(np.log(innovation_std(phi)))
    if data.seen.rounding:
        logs += count * float(np.log(data.seen.noise_variance))
    return Likelihood.gaussian(squares, logs, solved.rank, count)


# The tests of a fit.


def diagnostics_of(system: System, data: Answers) -> FitDiagnostics:
    """Return tests of the hypothesis that a model made these answers; nothing is computed yet."""
    return FitDiagnostics(system, data, residuals, sparse_likelihood, score_tests)


def diagnose_fit(
    data: Data,
    model: System,
    observation: Observation | None = None,
    *,
    given_first: bool = False,
    estimated: Sequence[str] = (),
    should_stop: ShouldStop | None = None,
) -> FitDiagnostics:
    """Test whether a model fits the data, whatever the hidden opinions are.

    Parameters
    ----------
    data : Trajectory, Answers, pandas.DataFrame, xarray.Dataset, array or path
        A run with recorded states, or observed answers in any form that `observations_of` takes.
    model : Model or SDE
        The model under test; its hidden opinions are not used.
    observation : Observation, optional
        Which agents are observed and when; by default all that is recorded from step 1 on.
    given_first : bool, default False
        Whether to take the first answer of each agent as given, and test the steps in which an agent is observed
        together with all of its neighbours of the step before: the rows that `fit` scores. The likelihood then says
        nothing about how the record began, which a model that starts from x₀ otherwise explains as well. Discrete time
        and Gaussian noise only.
    estimated : sequence of str, default ()
        Parameters of the model that were estimated from the same answers, such as "std". Tests that every record would
        pass then are left out.
    should_stop : callable, optional
        Called at every step that is followed; the work is cancelled with `CancelledError` if it returns True.

    Returns
    -------
    FitDiagnostics
        Residuals, tests by size, agent, lag, step and law, what the model misses, and the log-likelihood.

    Raises
    ------
    InvalidInputError
        If the run does not belong to the model's agents.

    See Also
    --------
    recover : Estimates of x₀, with the same diagnostics.

    Examples
    --------
    Rival networks are compared on the same partial data by their log-likelihoods.

    >>> from peerpressure import Gaussian, Model, Observation, simulate
    >>> from peerpressure.networks import complete, cycle
    >>> from peerpressure.recovery import diagnose_fit
    >>> right, wrong = (Model(net(6), hidden=range(6), noise=Gaussian(1.0)) for net in (cycle, complete))
    >>> run = simulate(right, 50, seed=1)
    >>> look = Observation(agents=[0, 1, 2, 3])
    >>> bool(diagnose_fit(run, right, look).aic < diagnose_fit(run, wrong, look).aic)
    True
    """
    with cancellable(should_stop):
        system, outputs = observed(data, model, observation)
        law = discrete_model(system).noise if given_first else None
        if law is not None and (not isinstance(law, Gaussian) or law.is_frozen):
            rule, remedy = "a first row is given under fresh Gaussian noise", "leave out given_first"
            raise InvalidInputError(message(rule, got=str(law), remedy=remedy))
        diagnostics = (conditional_tests if given_first else diagnostics_of)(system, outputs)
        diagnostics = replace(diagnostics, estimated=tuple(estimated))
        # At once, since the callback holds in this block only.
        diagnostics.p_value  # noqa: B018
        if is_quick(diagnostics.outputs):
            diagnostics.misses  # noqa: B018
        return diagnostics
