"""Maximum likelihood of x₀ under noise of any law, with intervals that are exact for any number of steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.errors import ContradictionError, InvalidInputError, message
from peerpressure.model import Model
from peerpressure.model.step import Array
from peerpressure.noise import Noise, Rademacher, StudentT, Uniform
from peerpressure.recovery._prior import Prior, update
from peerpressure.recovery.estimate import Estimate, estimate_from
from peerpressure.recovery.innovations import observed_steps
from peerpressure.recovery.observation import Answers
from peerpressure.support.progress import check_cancelled

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
    # Without it, rounding errors would reject valid data of which two answers lie at opposite ends of the support.
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
    if not is_on_line(noise):
        rule = "the likelihood of such a law needs a density on the whole line"
        remedy = "use the method innovations, the best linear one"
        raise InvalidInputError(
            message(rule, got=f"{law.dist.name} on {law.support()}", remedy=remedy), argument="method"
        )
    # The law is used in standardised form; the frozen SciPy law may have any location and scale.
    mean, deviation = float(law.mean()), float(law.std())

    def fit(x: Array) -> Array:
        z = mean + deviation * (xi - x[:, None]) / sigma
        return np.asarray(np.where(present, law.logpdf(z), 0.0).sum(axis=1))

    # A robust centre: the mean may be far from the maximum under heavy tails.
    middle, _ = laplace(xi, sigma, present, noise)
    wide = 3 * np.where(present, sigma, 0.0).max(axis=0)
    value = _golden(fit, *_best_cell(fit, middle - wide, middle + wide))
    return value, 1 / (noise.fisher_information() * np.where(present, sigma**-2.0, 0.0).sum(axis=0))


def is_on_line(noise: Noise) -> bool:
    """Return whether the law has a density on the whole line."""
    law = noise.unit()
    return hasattr(law, "logpdf") and bool(np.isinf(law.support()).all())


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
    rule = f"answers must be ones that {law} noise can make"
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
            half = np.where(self.present, self.sigma, 0.0).max(axis=0)
            off = (np.abs(self.xi - value[:, None]) > _ROUNDING * self.sigma) & self.present
            either = ~off.any(axis=1)
            return value - either * half, value + either * half
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


# The estimates of hidden opinions.

NAME = "likelihood"


def likelihood(model: Model, data: Answers, prior: Prior | None = None) -> Estimate:
    """Return the maximum of the likelihood of the model's own noise law.

    It is from the ξ_t = x₀ + ε_t of all steps that are observed from beginning to end (Laplace: their median; uniform:
    their midrange; …), with the variance of the large-sample law, and intervals that are exact for any number of steps.
    Gaussian noise has the best linear estimate instead. If opinions adapt, it is from
    (ξ_t − k_{t−1})/π_{t−1} = x₀ + ε_t/π_{t−1}. A prior is then combined with the estimate in the best linear way, and
    intervals are Gaussian.
    """
    return _with_prior(_of_law(model, data), data, prior)


def _of_law(model: Model, data: Answers) -> Estimate:
    """Return the maximum likelihood of each agent's ξ_t under white noise that is not Gaussian."""
    if model.noise.autocorrelation:
        rule = "the likelihood of noise that is not Gaussian needs fresh noise at every step"
        remedy = "use the method kalman or innovations, the best linear ones"
        raise InvalidInputError(message(rule, got=str(model.noise), remedy=remedy), argument="method")
    steps, free = observed_steps(model, data), data.seen.free
    # 1 where nothing is observed, only to avoid 0/0; these entries have weight 0.
    present, pi = steps.present[:, free], np.where(steps.present, steps.pi, 1.0)[:, free]
    xi = steps.series[:, :, free] / pi
    identified = np.asarray(present.any(axis=0))
    std = model.noise.deviations(model.n)[free]
    # An agent without noise has the same ξ at every step, so any average is exact; σ = 1 only sets equal weights.
    sigma = model.noise.scale(steps.times)[:, None] * np.where(std > 0, std, 1.0) / pi
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


def _with_prior(estimate: Estimate, data: Answers, prior: Prior | None) -> Estimate:
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
    resolution = np.diag(estimate.identified[free].astype(float))
    spread = (estimate.covariance @ np.eye(estimate.model.n))[np.ix_(free, free)]
    value, covariance = update(estimate.value[:, free], spread, resolution, means, rest.covariance(free.size))
    return estimate_from(estimate.model, data, NAME, value, covariance, note=estimate.note)
