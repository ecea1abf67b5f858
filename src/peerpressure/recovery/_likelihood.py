"""Maximum likelihood: for noise of any law, and for parameters that the observer does not know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.adaptation import Adaptation
from peerpressure.errors import ContradictionError, InvalidInputError, TooLargeError, message
from peerpressure.model import Model, require_synchronous
from peerpressure.noise import Gaussian, Noise, Rademacher, StudentT, Uniform
from peerpressure.parameters import checked_level
from peerpressure.progress import ShouldStop, cancellable, check_cancelled
from peerpressure.recovery import limits
from peerpressure.recovery._answer_fit import answer_problems, fit_answers, is_measured
from peerpressure.recovery._data import observations_of, refuse_model, single
from peerpressure.recovery._digits import HARMLESS, fit_note, spacing_of, spoils
from peerpressure.recovery._estimate import Estimate, estimate_from
from peerpressure.recovery._innovations import ObservedSteps, innovations, observed_steps, own_series
from peerpressure.recovery._joint_fit import FitDesign, ProfileLikelihood, Sample
from peerpressure.recovery._kalman import kalman
from peerpressure.recovery._observation import Observation, Outputs, outputs_of
from peerpressure.recovery._prior import Prior, update
from peerpressure.recovery._profile_intervals import ReplicateFit, fit_replicate
from peerpressure.recovery._series import conditional_tests
from peerpressure.recovery._unknowns import (
    PRESSURES,
    LikelihoodFit,
    UnknownParameter,
    Unknowns,
    adaptation_of,
    doubling_pieces,
    notes_on,
    unknowns,
)
from peerpressure.resources import few_threads
from peerpressure.schedules import Constant
from peerpressure.statespace import checked_system
from peerpressure.step import Array

if TYPE_CHECKING:
    from peerpressure.recovery._observation import Data

# Maximum likelihood of a constant observed with noise, ξ_t = x₀ + σ_t u_t, for each law of u, and exact intervals.
#
# Every function takes ξ (replicates, T, n), σ and ``present`` (T, n), and returns the estimates (replicates, n) with
# their variances (n,), which for most laws are those of large samples. A law without a line in ``LOCATIONS`` is
# maximised numerically.

Present: TypeAlias = NDArray[np.bool_]
Location: TypeAlias = tuple[Array, Array]
# The reweighting converges linearly, slowest for few degrees of freedom.
_STUDENT_ITERATIONS = 500
# Dividing by small gains leaves rounding errors in ξ_t. A violation of the support by less than this fraction of the
# noise is attributed to them and not to a wrong model.
_ROUNDING = 1e-3
# Both inner points of the interval are then at the same fraction from either end.
# Pulls that vary by less than this part of the answers do not vary.
_STILL = 1e-12
_GOLDEN = (np.sqrt(5) - 1) / 2


def laplace(xi: Array, sigma: Array, present: Present, noise: Noise) -> Location:
    """Return the median weighted by 1/σ_t; its asymptotic variance 1/Σ(2/σ_t²) is half that of the mean."""
    weight = np.where(present, 1 / sigma, 0.0)
    # Missing entries are sorted too. Their weight is 0, so the cumulative sum never crosses one half at one of them.
    order = np.argsort(xi, axis=1)
    sorted_xi = np.take_along_axis(xi, order, axis=1)
    total = np.cumsum(np.take_along_axis(np.broadcast_to(weight, xi.shape), order, axis=1), axis=1)
    half = total[:, -1:] / 2
    # Between two values that split the weights evenly every point is a maximum; the middle is unbiased.
    # The relative slack makes a tie a tie: a cumulative sum of weights reaches one half only up to rounding.
    low = np.argmax(total >= half * (1 - 1e-12), axis=1)[:, None]
    high = np.argmax(total > half * (1 + 1e-12), axis=1)[:, None]
    ends = np.take_along_axis(sorted_xi, low, axis=1) + np.take_along_axis(sorted_xi, high, axis=1)
    # Fisher information of Laplace noise with std σ is 2/σ², twice that of a Gaussian.
    return ends[:, 0] / 2, 1 / (2 * weight**2).sum(axis=0)


def uniform(xi: Array, sigma: Array, present: Present, noise: Noise) -> Location:
    """Return the middle of the x₀ that are possible, max(ξ_t − √3σ_t) ≤ x₀ ≤ min(ξ_t + √3σ_t).

    Its variance is ½/λ² · T²/((T+1)(T+2)) with λ = Σ 1/(2√3σ_t): exact for equal σ_t, where it is the midrange, and
    otherwise the law of two exponential gaps, right as T grows.
    """
    # A uniform law with std σ has half-width √3 σ.
    half = np.sqrt(3) * sigma
    low = np.where(present, xi - half, -np.inf).max(axis=1)
    high = np.where(present, xi + half, np.inf).min(axis=1)
    # Without it, rounding errors would reject valid data of which two outputs lie at opposite ends of the support.
    slack = _ROUNDING * half.max()
    if (low > high + slack).any():
        _refuse_impossible("uniform", int(np.argwhere(low > high + slack)[0][1]))
    count = present.sum(axis=0)
    # The density of ξ_t at the ends of its support; the gap to the bound is asymptotically exponential with this rate.
    rate = np.where(present, 1 / (2 * half), 0.0).sum(axis=0)
    return (low + high) / 2, count**2 / ((count + 1) * (count + 2)) / (2 * rate**2)


def student(xi: Array, sigma: Array, present: Present, noise: Noise) -> Location:
    """Return the fixed point x = Σ wξ/Σ w, w = (ν+1)/((ν + z²)b²), z = (ξ − x)/b, with variance (ν+3)/((ν+1)Σ b⁻²).

    b = σ√((ν−2)/ν) is the scale of Student's law. Started from the median, the iteration climbs to a maximum.
    """
    assert isinstance(noise, StudentT)
    nu = noise.df
    # 1/b²; finite because the noise law requires ν > 2.
    precision = np.where(present, nu / (nu - 2) / sigma**2, 0.0)
    # The likelihood of Student's law can have several maxima, at outliers for instance; the median is in the bulk.
    x, _ = laplace(xi, sigma, present, noise)
    for _ in range(_STUDENT_ITERATIONS):
        # The EM algorithm for a scale mixture of Gaussians: the likelihood increases in every iteration, no line search
        # needed.
        weight = (nu + 1) / (nu + precision * (xi - x[:, None]) ** 2) * precision
        step = (weight * (xi - x[:, None])).sum(axis=1) / weight.sum(axis=1)
        x = x + step
        if (np.abs(step) <= 1e-13 * (np.abs(x) + sigma.max())).all():
            break
    return x, (nu + 3) / (nu + 1) / precision.sum(axis=0)


def rademacher(xi: Array, sigma: Array, present: Present, noise: Noise) -> Location:
    """Return the one x₀ from which every ξ_t is exactly σ_t away; known without error once two steps differ.

    While all signs are the same, x₀ may be on either side of them, and their place is returned. That happens with
    probability 2^(1−T) if all σ_t are equal and never otherwise, which makes the variance σ²2^(1−T), or 0.
    """
    # One ξ leaves two candidates, ξ ± σ; every other step rules out one of them, or both.
    first = np.argmax(present, axis=0)
    each = np.arange(sigma.shape[1])
    start, size = xi[:, first, each], sigma[first, each]
    slack = _ROUNDING * size
    possible = []
    for side in (start - size, start + size):
        off = np.abs(np.abs(xi - side[:, None]) - sigma) > slack
        possible.append(~(off & present).any(axis=1))
    below, above = possible
    if not (below | above).all():
        _refuse_impossible("Rademacher", int(np.argwhere(~(below | above))[0][1]))
    # The middle of the two candidates, which has the same squared error σ² for either.
    value = np.where(below & above, start, np.where(below, start - size, start + size))
    # With different σ_t no second candidate fits all steps, even if all signs are equal.
    alike = (np.where(present, np.abs(sigma - size), 0.0) <= slack).all(axis=0)
    return value, np.where(alike, size**2 * 2.0 ** (1 - present.sum(axis=0)), 0.0)


def numerical(xi: Array, sigma: Array, present: Present, noise: Noise) -> Location:
    """Return the maximum found by a grid and a golden section, with variance 1/(i·Σσ_t⁻²), i the law's information.

    The law must have a density on the whole line: where it ends in a jump, no such variance holds.
    """
    law = noise.unit()
    if not (hasattr(law, "logpdf") and np.isinf(law.support()).all()):
        rule = "the likelihood of such a law needs a density on the whole line"
        remedy = "use method='innovations', the best linear one"
        raise InvalidInputError(message(rule, got=f"{law.dist.name} on {law.support()}", remedy=remedy))
    # The law is used in standardised form; the frozen SciPy law may have any location and scale.
    mean, deviation = float(law.mean()), float(law.std())

    def fit(x: Array) -> Array:
        z = mean + deviation * (xi - x[:, None]) / sigma
        return np.asarray(np.where(present, law.logpdf(z), 0.0).sum(axis=1))

    # A robust centre: the mean may be far from the maximum under heavy tails.
    middle, _ = laplace(xi, sigma, present, noise)
    reach = 3 * np.where(present, sigma, 0.0).max(axis=0)
    value = _golden(fit, *_best_cell(fit, middle - reach, middle + reach))
    return value, 1 / (noise.fisher_information() * np.where(present, sigma**-2.0, 0.0).sum(axis=0))


def _best_cell(fit: Callable[[Array], Array], low: Array, high: Array, cells: int = 16) -> tuple[Array, Array]:
    # The likelihood of an arbitrary law need not be unimodal; golden section by itself could find a lesser maximum.
    grid = np.array([low + (high - low) * share for share in np.linspace(0, 1, cells + 1)])
    best = np.argmax([fit(x) for x in grid], axis=0)[None]
    ends = [np.take_along_axis(grid, np.clip(best + side, 0, cells), axis=0)[0] for side in (-1, 1)]
    return ends[0], ends[1]


def _golden(fit: Callable[[Array], Array], low: Array, high: Array) -> Array:
    # 0.618⁴⁰ ≈ 4e-9 of a cell, far below the standard error. Both points are evaluated in each iteration, since reuse
    # would differ between the columns of the arrays.
    for _ in range(40):
        width = _GOLDEN * (high - low)
        right_is_better = fit(low + width) > fit(high - width)
        low, high = np.where(right_is_better, high - width, low), np.where(right_is_better, high, low + width)
    return (low + high) / 2


def _refuse_impossible(law: str, agent: int) -> None:
    rule = f"outputs must be ones that {law} noise can make"
    got = f"steps of agent number {agent} that no hidden opinion explains"
    remedy = "check network, stubbornness, peer pressure and noise of the model against the run"
    raise ContradictionError(message(rule, got=got, remedy=remedy))


LOCATIONS: Mapping[str, Callable[[Array, Array, Present, Noise], Location]] = {
    "laplace": laplace,
    "uniform": uniform,
    "student": student,
    "rademacher": rademacher,
}


# Intervals.

# Points at which a density of x₀ is evaluated, closer in the middle, and how far they reach in standard errors.
_POINTS, _REACH = 301, 1e4
# Numbers that are evaluated at once.
_BLOCK = 2**20


@final
@dataclass(frozen=True, eq=False)
class LocationInterval:
    """Exact confidence intervals of every x₀ for noise of any law, at any number of steps.

    In a location family the density of x₀ that is proportional to the likelihood covers exactly, given how the ξ_t lie
    relative to one another (Fisher 1934; Pitman 1939), and so on the whole. The intervals leave the same probability on
    both sides. ``place`` (f,) are the positions of the agents with an estimate, out of ``value`` (replicates, n).
    """

    noise: Noise
    xi: Array
    sigma: Array
    present: Present
    value: Array
    std: Array
    place: NDArray[np.int64]

    def __call__(self, level: float) -> tuple[Array, Array]:
        """Return the ends, (replicates, n) each."""
        low, high = (
            self.value - np.where(np.isinf(self.std), np.inf, 0),
            self.value + np.where(np.isinf(self.std), np.inf, 0),
        )
        low[:, self.place], high[:, self.place] = self._ends(level)
        return low, high

    def _ends(self, level: float) -> tuple[Array, Array]:
        if isinstance(self.noise, Uniform):
            half = np.sqrt(3) * self.sigma
            lower = np.where(self.present, self.xi - half, -np.inf).max(axis=1)
            upper = np.where(self.present, self.xi + half, np.inf).min(axis=1)
            # The density is constant between the two.
            return (lower + upper - level * (upper - lower)) / 2, (lower + upper + level * (upper - lower)) / 2
        value, std = self.value[:, self.place], self.std[self.place]
        if isinstance(self.noise, Rademacher):
            # If all signs are equal, two opinions are left, a σ on either side.
            reach = np.where(self.present, self.sigma, 0.0).max(axis=0)
            off = (np.abs(self.xi - value[:, None]) > _ROUNDING * self.sigma) & self.present
            either = ~off.any(axis=1)
            return value - either * reach, value + either * reach
        # Replicates side by side, to evaluate the law for many series at once.
        replicates, steps, n = self.xi.shape
        xi = np.moveaxis(self.xi, 1, 0).reshape(steps, -1)
        low, high = np.empty(replicates * n), np.empty(replicates * n)
        wide = max(1, _BLOCK // (_POINTS * steps))
        for first in range(0, low.size, wide):
            check_cancelled()
            some = np.arange(first, min(first + wide, low.size))
            low[some], high[some] = self._quantiles(xi[:, some], some % n, value.ravel()[some], std[some % n], level)
        return low.reshape(value.shape), high.reshape(value.shape)

    def _quantiles(
        self, xi: Array, agents: NDArray[np.int64], centre: Array, std: Array, level: float
    ) -> tuple[Array, Array]:
        """Return both ends for some series, (T, k), from the distribution function on a grid."""
        u = np.linspace(-1, 1, _POINTS)[:, None] * np.arcsinh(_REACH)
        x = centre + std * np.sinh(u)
        law, sigma, present = self.noise.unit(), self.sigma[:, agents], self.present[:, agents]
        # The law is used in standardised form; a frozen SciPy law may have any location and scale.
        z = float(law.mean()) + float(law.std()) * (xi[None] - x[:, None]) / sigma
        height = np.where(present, law.logpdf(z), 0.0).sum(axis=1)
        # Density times dx/du, and its integral by the trapezoidal rule.
        density = np.exp(height - height.max(axis=0)) * np.cosh(u)
        share = np.concatenate([np.zeros((1, centre.size)), np.cumsum(density[1:] + density[:-1], axis=0)])
        share /= share[-1]
        ends = [
            centre + std * np.sinh([np.interp(p, share[:, k], u[:, 0]) for k in range(centre.size)])
            for p in ((1 - level) / 2, (1 + level) / 2)
        ]
        return ends[0], ends[1]


# The estimates of hidden opinions, alone or with unknown parameters.

NAME = "likelihood"


def likelihood(model: Model, data: Outputs, prior: Prior | None = None, unknown: Sequence[str] = ()) -> Estimate:
    """Return the maximum of the likelihood of the model's own noise law, in x₀ and in what is ``unknown`` besides.

    Gaussian noise: the best linear estimate, from any outputs. Other laws: from the ξ_t = x₀ + ε_t of all steps
    that are observed from beginning to end (Laplace: their median; uniform: their midrange; …), with the variance of
    the large-sample law, and intervals that are exact for any number of steps. If opinions adapt, it is from
    (ξ_t − k_{t−1})/π_{t−1} = x₀ + ε_t/π_{t−1}. A prior is then combined with the estimate in the best linear way, and
    intervals are Gaussian. ``unknown`` is for ``fit``.
    """
    if unknown:
        return _with_prior(fit(data, model, unknown).estimate, data, prior)
    # At a step without noise a density does not exist; the linear methods treat such equations as exact.
    silent = model.noise.is_zero or not model.noise.scale(np.arange(1, data.seen.last + 1)).all()
    if isinstance(model.noise, Gaussian) or silent:
        return replace((innovations if data.complete else kalman)(model, data, prior), method=NAME)
    return _with_prior(_of_law(model, data), data, prior)


def fit(
    data: Data,
    model: Model,
    unknown: Sequence[str] = (),
    *,
    observation: Observation | None = None,
    level: float = 0.95,
    pieces: Sequence[int] | None = None,
    should_stop: ShouldStop | None = None,
) -> LikelihoodFit:
    """Estimate unknown parameters together with x₀, for each replicate, with profile-likelihood intervals.

    Values maximise the modified profile likelihood, which accounts for the degrees of freedom that the hidden opinions
    take. A replicate that cannot be fitted has NaN, and the reason in ``failures``.

    Parameters
    ----------
    data : Trajectory, Outputs, pandas.DataFrame, xarray.Dataset, array or path
        A run with recorded states, or observed outputs in any form that `observations_of` takes.
    model : Model
        The model; the values of unknown parameters in it are not used.
    unknown : sequence of str
        Names among "std" (of noise; proportions between agents are those of the model), "agent_std" (of every agent's
        noise), "stubbornness" (of every agent), "constant" (peer pressure that is the same at all steps), "slope" (of
        Linear) or "exponent" (of Power peer pressure), "pressure" (constant on pieces of time, of any course),
        "adaptation" (a constant rate; weights of agents are those of the model), "autocorrelation" (of AR(1) noise) and
        "measurement_noise" (the standard deviation of errors in what is observed, to which nobody responds).
    observation : Observation, optional
        Which agents are observed and when; by default all that is recorded from step 1 on. With ``rounding``, a
        ``scale`` or unknown measurement noise, hidden opinions are integrated out as draws from a normal law.
    level : float, default 0.95
        Confidence level of the intervals.
    pieces : sequence of int, optional
        First steps of the pieces of an unknown "pressure"; by default 1, 2, 4, 8 and so on.
    should_stop : callable, optional
        Called often; the work is cancelled with `CancelledError` if it returns True.

    Returns
    -------
    LikelihoodFit
        Parameters and x₀ with standard errors and intervals.

    Raises
    ------
    InvalidInputError
        If the noise is not Gaussian or is frozen, if the outputs cannot determine the unknowns, or if no replicate can
        be fitted.
    TooLargeError
        If a replicate has more than 10⁷ outputs, or 200 agents whose outputs have errors.

    See Also
    --------
    recover : Estimates of x₀ with all parameters known.
    infer_network : Estimates of the network.

    References
    ----------
    .. [1] Barndorff-Nielsen (1983), On a formula for the distribution of the maximum likelihood estimator.
    .. [2] Severini (1998), An approximation to the modified profile likelihood function.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, simulate
    >>> from peerpressure.networks import k2
    >>> from peerpressure.recovery import fit
    >>> model = Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(0.5), start=[0.0, 0.0])
    >>> std = fit(simulate(model, 400, seed=1), model, ("std",)).parameters["std"]
    >>> bool(std.low[0] < 0.5 < std.high[0])
    True
    """
    level = checked_level(level)
    refuse_model(data)
    checked_system(model)
    with cancellable(should_stop), few_threads(model.n):
        # The names are checked before the outputs are read.
        unknowns(model, unknown, np.zeros(0, dtype=np.int64))
        parts = _parts(data, model, observation)
        pieces = pieces or _common_pieces(parts, unknown)
        fitted_parts = [_fit_part(model, part, unknown, pieces, level, alone=len(parts) == 1) for part in parts]
    fits = [each for part in fitted_parts for each in part.fits]
    reasons = tuple(reason for part in fitted_parts for reason in part.reasons)
    fitted = next((part for part in fitted_parts if part.what is not None), None)
    if fitted is None or fitted.what is None or all(each is None for each in fits):
        raise InvalidInputError(reasons[0] or "nothing to fit")
    return _gathered(fitted.what, _stacked_outputs(parts), fitted.rows, fits, reasons, level)


class _FittedPart(NamedTuple):
    """The fits of the replicates with the same gaps; without ``what`` none was possible."""

    what: Unknowns | None
    rows: Present | None
    fits: list[ReplicateFit | None]
    reasons: list[str | None]


def _fit_part(
    model: Model, data: Outputs, unknown: Sequence[str], pieces: Sequence[int] | None, level: float, *, alone: bool
) -> _FittedPart:
    """Return the fits of replicates that have the same gaps; of several parts, one without enough steps only fails."""
    try:
        what, rows, replicates = _replicates(model, data, unknown, pieces, level)
    except InvalidInputError as error:
        if alone:
            raise
        count = data.values.shape[0]
        return _FittedPart(None, None, [None] * count, [str(error)] * count)
    fits: list[ReplicateFit | None] = []
    reasons: list[str | None] = []
    # Replicate by replicate: each has its own maximum, and one without must not lose the others.
    for fitted in replicates:
        try:
            fits.append(fitted())
            reasons.append(None)
        except (InvalidInputError, np.linalg.LinAlgError) as error:
            fits.append(None)
            reasons.append(str(error))
    return _FittedPart(what, rows, fits, reasons)


def _parts(data: Data, model: Model, observation: Observation | None) -> list[Outputs]:
    """Return what is observed, replicate by replicate where their gaps differ."""
    if isinstance(data, Outputs):
        return [outputs_of(data, model, observation)]
    run = observations_of(data, model)
    if run.states is None or not _gaps_differ(run.states):
        return [outputs_of(run, model, observation)]
    return [outputs_of(single(run, row), model, observation) for row in range(len(run.states))]


def _gaps_differ(states: NDArray[Any]) -> bool:
    # One step at a time, since states may fill the memory.
    return len(states) > 1 and any(
        bool((missing != missing[0]).any()) for missing in (np.isnan(states[:, t]) for t in range(states.shape[1]))
    )


def _common_pieces(parts: list[Outputs], unknown: Sequence[str]) -> Sequence[int] | None:
    """Return the pieces of an unknown pressure that all parts share; None if one part decides for itself."""
    if len(parts) == 1 or "pressure" not in unknown:
        return None
    times = np.unique(np.concatenate([part.seen.times for part in parts]))
    return [int(t) for t in doubling_pieces(times[times > 0])]


def _stacked_outputs(parts: list[Outputs]) -> Outputs:
    """Return the outputs of all parts as one, with the gaps of the first."""
    if len(parts) == 1:
        return parts[0]
    return replace(
        parts[0],
        known=np.concatenate([part.known for part in parts]),
        replicates=np.concatenate([part.replicates for part in parts]),
    )


def _replicates(
    model: Model, data: Outputs, unknown: Sequence[str], pieces: Sequence[int] | None, level: float
) -> tuple[Unknowns, Present | None, Sequence[Callable[[], ReplicateFit]]]:
    """Return the unknowns, the rows that are scored given all others, and a function for each replicate that fits it.

    Answers that are measured are scored all, and have no such rows.
    """
    require_synchronous(model, "the likelihood of unknown parameters", "recover x₀ with parameters that are known")
    if is_measured(data, unknown):
        problems = answer_problems(model, data, unknown, pieces)
        what = problems[0].unknown
        what = replace(what, names=tuple(name for name in what.names if name != "spread"))
        return what, None, [partial(fit_answers, problem, level) for problem in problems]
    what, design, samples = _prepared(model, data, unknown, pieces)
    fits: list[Callable[[], ReplicateFit]] = [
        partial(fit_replicate, ProfileLikelihood(what, design, sample), level) for sample in samples
    ]
    return what, design.used, fits


def _prepared(
    model: Model, data: Outputs, unknown: Sequence[str], pieces: Sequence[int] | None
) -> tuple[Unknowns, FitDesign, list[Sample]]:
    """Return the unknowns, what replicates share, and the replicates."""
    if not (unknown or data.seen.free.size):
        remedy = "name a parameter, for instance unknown=('std',)"
        raise InvalidInputError(message("something must be unknown", got="a start that shows all", remedy=remedy))
    if data.seen.last * model.n > limits.FIT_NUMBERS:
        rule = f"a likelihood in unknown parameters takes up to {limits.FIT_NUMBERS:,} outputs of a replicate"
        got = f"{data.seen.last:,} steps of {model.n:,} agents"
        raise TooLargeError(message(rule, got=got, remedy="observe fewer steps, or take the parameters as known"))
    seen = observed_steps(_neutral(model, unknown), data)
    what = unknowns(model, unknown, seen.times, pieces)
    coupling = seen.degrees * seen.public - seen.around
    design = _design(what, seen, ~np.isnan(data.known[0]), coupling)
    path = np.zeros((data.values.shape[0], data.seen.last, model.n))
    for row, t in enumerate(data.seen.times):
        if t > 0:
            path[:, t - 1, data.seen.agents] = np.nan_to_num(data.at(row))
    samples = [
        Sample(y, q, known, _given(design, data, y)) for y, q, known in zip(path, coupling, data.known, strict=True)
    ]
    return what, design, samples


def _given(design: FitDesign, data: Outputs, path: Array) -> Array:
    """Return what hidden opinions may depend on: a constant, and the first outputs if these are conditioned on."""
    first = int(data.seen.times[0])
    counts = bool(design.used[design.rows == first - 1].any())
    shown = first > 0 and data.seen.everyone and bool(data.present[0].all()) and not counts
    columns = [np.ones(path.shape[1]), path[first - 1]] if shown else [np.ones(path.shape[1])]
    return np.stack(columns, axis=1)


def _neutral(model: Model, unknown: Sequence[str]) -> Model:
    """Return the model with harmless values for unknown parameters: only which steps are observed depends on it."""
    if set(PRESSURES) & set(unknown):
        model = replace(model, pressure=Constant(1.0))
    if "adaptation" in unknown:
        # So small that no step counts as one in which x₀ is forgotten.
        model = replace(model, adaptation=Adaptation(1e-15, adaptation_of(model, 1.0).adaptation_weight))
    return model


def _design(what: Unknowns, seen: ObservedSteps, known: NDArray[np.bool_], coupling: Array) -> FitDesign:
    model = what.model
    std = model.noise.deviations(model.n)
    # Proportions between agents and steps are known, and only the common factor is estimated.
    scale = model.noise.scale(seen.times)[:, None] * std / std.mean()
    used, follows = seen.present, np.zeros_like(seen.present)
    if "autocorrelation" in what or model.noise.autocorrelation:
        follows[1:] = used[1:] & used[:-1] & (np.diff(seen.times) == 1)[:, None]
        # Given the past, noise is predicted by that of the step before, which must be known, or has no past at all.
        used = follows | (used & (seen.times == 1)[:, None])
    rho = what.shared(what.starts()[0]).rho if seen.times.size else np.zeros((0, 1))
    moves = _moves(rho * coupling, used, known, seen.public)
    settled = _settled(what, used, known, rho * seen.degrees > 0, moves)
    return FitDesign(seen.times - 1, scale, used & settled, follows & settled, seen.degrees, ~known & settled)


def _moves(pull: Array, used: Present, known: Present, public: Array) -> Present:
    """Return whether pulls (R, T, n) say anything of stubbornness: the same at all steps, they are like an opinion."""
    low = np.where(used, pull, np.inf).min(axis=1, initial=np.inf)
    high = np.where(used, pull, -np.inf).max(axis=1, initial=-np.inf)
    size = np.where(used, np.abs(public), 0.0).max(axis=1, initial=0.0)
    spread = np.where(known, np.maximum(high, -low), high - low)
    return np.asarray((spread > _STILL * size).all(axis=0))


def _settled(what: Unknowns, used: Present, known: Present, pulled: Present, moves: Present) -> Present:
    """Return which agents have enough steps for their own unknowns, (n,), after checking their total."""
    steps = used.sum(axis=0)
    own = (~known).astype(int) + ("stubbornness" in what) + ("agent_std" in what)
    # An agent with as many steps as unknowns is fitted exactly: it determines them but adds nothing to the shared ones.
    enough = np.asarray(steps >= np.maximum(own, 1))
    if "stubbornness" in what:
        # Steps without neighbours, without pressure, or in which nobody moves do not depend on stubbornness.
        heard = (used & pulled).any(axis=0)
        if not heard.any() or ((enough & heard).any() and not (enough & heard & moves).any()):
            rule = "an unknown stubbornness needs agents with neighbours and peer pressure, whose answers move"
            got, remedy = "none", "take stubbornness as known, or check network and pressure"
            raise InvalidInputError(message(rule, got=got, remedy=remedy))
        enough &= heard & moves
        steps = np.where(heard, steps, 0)
    shared = len(what.coordinates)
    # Degrees of freedom left for the parameters that all agents share.
    spare = int((steps - own)[enough].sum())
    if not enough.any() or spare < shared:
        least = max(int(own.max()), 1)
        rule = f"each agent needs {least} {'step' if least == 1 else 'steps'} or more"
        rule += " that are observed from beginning to end" + f", and all together {shared} more" * bool(shared)
        got = f"at most {int(steps.max(initial=0))} for an agent"
        # Who has enough for itself is not said to have too few.
        got = f"{spare} more" if enough.any() else got
        raise InvalidInputError(message(rule, got=got, remedy="observe longer, or take less as unknown"))
    return enough


def _gathered(
    what: Unknowns,
    data: Outputs,
    rows: Present | None,
    fits: list[ReplicateFit | None],
    reasons: tuple[str | None, ...],
    level: float,
) -> LikelihoodFit:
    model, free = what.model, data.seen.free
    fitted = [each for each in fits if each is not None]
    hidden = _stacked([each and each.hidden for each in fits])
    # A replicate whose shared parameters have no estimate has no standard errors of opinions either.
    settled = [each for each in fitted if np.isfinite(each.hidden.std).any()] or fitted
    spread = np.mean([each.covariance for each in settled], axis=0)
    identified = np.asarray(np.isfinite(settled[0].hidden.std))[free]
    value = np.nan_to_num(hidden.value[:, free], nan=0.0)
    value[[each is None for each in fits]] = np.nan
    if spread.ndim == 1:
        covariance: Any = sparse.diags_array(spread[free], format="csr")
    else:
        covariance = np.where(np.outer(identified, identified), spread[np.ix_(free, free)], 0.0)
    rank = int(identified.sum())
    parameters = {}
    for name in what.names:
        p = _stacked([each and each.parameters[name] for each in fits])
        # One number for all, unless agents or pieces have their own.
        many = name in ("agent_std", "stubbornness", "pressure") or (name == "std" and np.ndim(model.noise.std))
        parameters[name] = p if many else UnknownParameter(*(part[:, 0] for part in vars(p).values()))
    heights = np.array([np.nan if each is None else each.log_likelihood for each in fits])
    remark = _grid_remark(what, data, parameters)
    if remark is not None:
        parameters = {name: replace(p, identified=p.identified & (not remark.spoilt)) for name, p in parameters.items()}
    notes = (() if remark is None else (remark.text,)) + notes_on(parameters, reasons)
    together = f"found together with {', '.join(what.names)}" if what.names else ""
    note = "; ".join(filter(None, (together, *notes)))
    estimate = estimate_from(model, data, NAME, value, covariance, identified=identified, rank=rank, note=note)
    facts = (level, reasons, what.pieces, notes, data, rows, conditional_tests)
    return LikelihoodFit(estimate, parameters, hidden, heights, *facts)


class _Remark(NamedTuple):
    """What a fit says of outputs on a grid that was not declared, and whether that spoils it."""

    text: str
    spoilt: bool


def _typical(values: Array) -> Array:
    """Return the medians over replicates, NaN for agents that none of them says anything of."""
    lost = np.isnan(values).all(axis=0)
    return np.where(lost, np.nan, np.nanmedian(np.where(lost, 0.0, values), axis=0))


def _grid_remark(what: Unknowns, data: Outputs, parameters: Mapping[str, UnknownParameter]) -> _Remark | None:
    """Return the remark on an undeclared grid, beside the noise that the fit itself has found."""
    if is_measured(data, what.names) or (spacing := spacing_of(data)) is None:
        return None
    noise = what.noise_of_outputs({name: _typical(p.value) for name, p in parameters.items()})
    noise = noise[np.isfinite(noise) & (noise > 0)]
    if not noise.size or spacing <= HARMLESS * noise.min():
        return None
    spoilt = spoils(spacing, noise)
    return _Remark(fit_note(spacing, spoilt=spoilt), spoilt)


def _stacked(parameters: Sequence[UnknownParameter | None]) -> UnknownParameter:
    """Return the intervals of all replicates, NaN for those that failed."""
    shape = next(each.value for each in parameters if each is not None).shape
    nothing = np.full(shape, np.nan)
    empty = UnknownParameter(nothing, nothing, nothing, nothing, np.zeros(shape, dtype=bool))
    return UnknownParameter(*map(np.array, zip(*(vars(each or empty).values() for each in parameters), strict=True)))


def _of_law(model: Model, data: Outputs) -> Estimate:
    """Return the maximum likelihood of each agent's ξ_t under white noise that is not Gaussian."""
    if model.noise.autocorrelation:
        rule = "the likelihood of noise that is not Gaussian needs it drawn anew at every step"
        remedy = "use method='kalman' or 'innovations', the best linear ones"
        raise InvalidInputError(message(rule, got=str(model.noise), remedy=remedy))
    seen, free = observed_steps(model, data), data.seen.free
    # 1 where nothing is observed, only to avoid 0/0; these entries have weight 0.
    present, share = seen.present[:, free], np.where(seen.present, seen.share, 1.0)[:, free]
    xi = own_series(model, seen)[:, :, free] / share
    identified = np.asarray(present.any(axis=0))
    std = model.noise.deviations(model.n)[free]
    # An agent without noise has the same ξ at every step, so any average is exact; σ = 1 only sets equal weights.
    sigma = model.noise.scale(seen.times)[:, None] * np.where(std > 0, std, 1.0) / share
    value, variance = np.zeros((xi.shape[0], free.size)), np.zeros(free.size)
    if identified.any():
        chosen = xi[:, :, identified], sigma[:, identified], present[:, identified]
        value[:, identified], variance[identified] = LOCATIONS.get(model.noise.law, numerical)(*chosen, model.noise)
    spread = sparse.diags_array(np.where(std > 0, variance, 0.0), format="csr")
    rank = int(identified.sum())
    note = "standard errors are those of large samples, intervals are exact"
    estimate = estimate_from(model, data, NAME, value, spread, identified=identified, rank=rank, note=note)
    noisy = identified & (std > 0)
    series = xi[:, :, noisy], sigma[:, noisy], present[:, noisy]
    ends = LocationInterval(model.noise, *series, estimate.value, estimate.std, free[noisy])
    return replace(estimate, exact_interval=ends)


def _with_prior(estimate: Estimate, data: Outputs, prior: Prior | None) -> Estimate:
    """Return the best linear combination of an unbiased estimate and a prior."""
    if prior is None:
        return estimate
    free = data.seen.free
    means, rest = prior.given(data.known)
    if rest.is_diagonal and sparse.issparse(estimate.covariance):
        # Agent by agent, for a network may be too large for a full covariance.
        tau = rest.variances(free.size)
        share = np.where(estimate.identified, tau / (tau + estimate.covariance.diagonal()), 0.0)
        value = means + share * (estimate.value - means)
        return estimate_from(estimate.model, data, NAME, value, sparse.diags_array((1 - share) * tau, format="csr"))
    # Directions that are not identified contribute nothing; the prior is returned for them.
    reach = np.diag(estimate.identified[free].astype(float))
    spread = (estimate.covariance @ np.eye(estimate.model.n))[np.ix_(free, free)]
    value, covariance = update(estimate.value[:, free], spread, reach, means, rest.covariance(free.size))
    return estimate_from(estimate.model, data, NAME, value, covariance, note=estimate.note)
