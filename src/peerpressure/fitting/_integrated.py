r"""The likelihood of a record given its first row, with hidden opinions integrated out.

Given the hidden opinions x at the first scored step, each answer is one equation of its agent,

    u_t = y_t + ρ_t (d y_t − A y_{t−1})/s − k_{t−1} = π_{t−1} x + σ ε_t,

with the Jacobian Π(1 + ρ_t d/s). k and π come from adaptation: k_t = k_{t−1} + η (y_t − k_{t−1}) and
π_t = (1 − η) π_{t−1}. There are as many unknown x as agents, and their maximum likelihood would bias the parameters
ψ = (ρ, η) that all agents share, by a share of 1/T [1]_. Two likelihoods are free of this.

The integrated likelihood has the law x | y₁ ~ N(α + β y₁ + γ · mean of the neighbours' y₁, λσ²) [2]_. Without γ,
friends who think alike to begin with would be taken for friends who influence one another. It is a density of the
answers, so models of any kind can be compared by it. With many rows, little depends on this law. With few, much does,
and under pressure it is not quite true: the first row is itself a mixture of opinions, in proportions that depend on
the degree of an agent and on neighbours at every distance, while α, β and γ are common to all. This draws ρ towards 0.

The within likelihood has no law of x at all. It takes from each agent only the deviations from its own level. The
score of this part has a bias that is a function of ψ and the network alone,

    b(ψ) = Σ_i Σ_t π_t ∂_ψ u_t[i, i] / Σ_t π_t²,

where u_t[i, i] is the response of u_t of agent i to x_i. Subtracting its integral B along the ray from 0 to ψ leaves an
unbiased score, whatever x has to do with the first row, with friendships or with the start [3]_, [4]_. Parameters of
short records are estimated by it. With few agents it does not bound the common scale of opinions, pressure and noise.

References
----------
.. [1] J. Neyman and E. L. Scott (1948), Consistent estimates based on partially consistent observations. Econometrica.
.. [2] J. M. Wooldridge (2005), Simple solutions to the initial conditions problem. Journal of Applied Econometrics 20.
.. [3] T. Lancaster (2002), Orthogonal parameters and panel data. Review of Economic Studies 69.
.. [4] M. Arellano and S. Bonhomme (2009), Robust priors in nonlinear panel data models. Econometrica 77.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple, final

import numpy as np
from scipy import linalg, special

from peerpressure.errors import InvalidInputError, message
from peerpressure.fitting._parameters import Shared
from peerpressure.fitting._record import Panel, own_series
from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.step import Array
from peerpressure.noise import Gaussian
from peerpressure.recovery.data import run_of_states
from peerpressure.schedules import Table
from peerpressure.simulation.trajectory import Trajectory
from peerpressure.support.progress import check_cancelled
from peerpressure.support.resources import few_threads

_LOG_TWO_PI = float(np.log(2 * np.pi))
# Residuals below this part of the answers are rounding errors.
_NOISELESS = 1e-12
# Points of the integral of b along the ray; in the logarithm of the pressure it is smooth. A search needs fewer, and a
# few random combinations of opinions: both are right to some per cent, as far as a search goes.
_NODES = 8
_ROUGH_NODES, _ROUGH_PROBES = 4, 16
# Responses to every opinion are followed up to so many numbers at a node, and to random combinations beyond.
_RESPONSES = 400_000
_FEWEST_PROBES = 4
# Records of so many agents, and of no more rows after the first, are explained by deviations within agents.
MANY_AGENTS, _WITHIN_ROWS = 30, 12
# The range of log λ that is searched, the points of a grid of it, and how often a finer grid follows.
_LOG_SPREAD, _SPREADS, _REFINEMENTS = 14.0, 29, 3
# Draws of the parameters of one model, from which averages over models are made.
DRAWS = 200
# Points at which the share that an opinion keeps of its own estimate is integrated.
_SHARES = 12


@final
@dataclass(frozen=True, eq=False)
class RecordSums:
    """What a record says of x and σ at given shared parameters.

    These are x̂ = ``opinions`` (n,), their ``information`` at σ = 1, (n,) or (n, n), the sum of squares ``rss`` about
    them, the log Jacobian ``log_scale``, and the number of answers ``count``. ``rank`` of the opinions have
    information, with log determinant ``log_det``.
    """

    opinions: Array
    information: Array
    rss: float
    log_scale: float
    count: int
    rank: int
    log_det: float

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the noise."""
        return self.count - self.rank

    @property
    def variance(self) -> float:
        """Estimate of σ², which hidden opinions do not bias."""
        return self.rss / self.freedom

    @property
    def height(self) -> float:
        """The log-likelihood of the deviations of agents from their own level, at its maximum in σ."""
        return float(self.log_scale + height_at_best(self.freedom, self.variance) - 0.5 * self.log_det)


def height_at_best(count: int, variance: Any) -> Any:
    """Return the log-likelihood of so many independent normal residuals whose mean square is the variance."""
    return -0.5 * count * (_LOG_TWO_PI + np.log(variance) + 1)


def noise_factors(freedom: int) -> Array:
    """Return what σ may be, in units of its estimate, for each draw: evenly spread quantiles, in random order.

    The squares of residuals are σ² times a χ² of their degrees of freedom.
    """
    levels = (np.random.default_rng(1).permutation(DRAWS) + 0.5) / DRAWS
    return np.asarray(np.sqrt(max(freedom, 1) / special.chdtri(max(freedom, 1), levels)))


def sums_of(panel: Panel, shared: Shared) -> RecordSums:
    """Return the sums of a record: in closed form where it is complete, and by the Kalman filter elsewhere."""
    check_cancelled()
    if not panel.is_complete:
        with few_threads(panel.n):
            return _filtered(panel, shared)
    u, pi = own_series(panel.rows[1:], panel.coupling, shared.rho, shared.rate)
    information = np.square(pi).sum(axis=0)
    opinions = (pi * u).sum(axis=0) / information
    rss = float(np.square(u - pi * opinions).sum())
    refuse_noiseless(rss, float(np.square(panel.rows[1:]).sum()))
    log_scale = float(np.log1p(shared.rho * panel.slope).sum())
    return RecordSums(opinions, information, rss, log_scale, panel.count, panel.n, float(np.log(information).sum()))


def refuse_noiseless(rss: float | Array, size: float | Array) -> None:
    """Raise an error where a sum of squared residuals is a rounding error beside that of the answers."""
    if np.any(rss <= _NOISELESS**2 * size):
        rule = "the size of noise is estimated from answers that have noise"
        remedy = "hidden opinions follow exactly: use recover with the method 'innovations', or check the answers"
        raise InvalidInputError(message(rule, got="answers that a model explains without any", remedy=remedy))


# Records with gaps: each answer that is there becomes an equation v = slope · x + noise by a filter of its own, which
# follows only what is not known of the last row.


def _refuse_temporal(panel: Panel) -> None:
    if not panel.model.is_constant:
        rule = "a record with gaps needs a network that does not change"
        remedy = "pass network.aggregate, or a record without gaps"
        raise InvalidInputError(message(rule, got="a temporal network", remedy=remedy))


def conditional_model(panel: Panel, shared: Shared, std: float = 1.0) -> Model:
    """Return the model whose step 0 is the first row of a record, and whose steps 1, 2, … are the scored rows.

    Hidden opinions are 0: they are what a filter estimates.
    """
    _refuse_temporal(panel)
    adaptation = None
    if shared.rate is not None and shared.rate.any():
        pace = shared.rate.max(axis=1)
        weight = shared.rate[int(np.argmax(pace))] / pace.max()
        adaptation = Adaptation(Table(pace), weight)
    return replace(
        panel.model,
        hidden=np.zeros(panel.n),
        pressure=Table(shared.rho[:, 0]),
        noise=Gaussian(std),
        start=panel.filled[0],
        adaptation=adaptation,
    )


def conditional_run(panel: Panel, model: Model) -> Trajectory:
    """Return the rows after the first as a run of ``conditional_model``."""
    return run_of_states(model, np.arange(1, panel.length + 1), panel.rows[None, 1:])


def _filtered(panel: Panel, shared: Shared) -> RecordSums:
    _refuse_temporal(panel)
    information, weighted = np.zeros((panel.n, panel.n)), np.zeros(panel.n)
    squares = log_scale = 0.0
    for row in _whitened(panel, shared):
        information += row.slope.T @ row.slope
        weighted += row.slope.T @ row.value
        squares, log_scale = squares + float(row.value @ row.value), log_scale - float(np.log(row.scale).sum())
    eigenvalues, V = linalg.eigh(information)
    known = eigenvalues > 1e-9 * eigenvalues[-1]
    opinions = V[:, known] @ ((V[:, known].T @ weighted) / eigenvalues[known])
    rss = max(squares - float(weighted @ opinions), 0.0)
    refuse_noiseless(rss, squares)
    rank, log_det = int(known.sum()), float(np.log(eigenvalues[known]).sum())
    return RecordSums(opinions, information, rss, log_scale, panel.count, rank, log_det)


class _Equations(NamedTuple):
    """Scored answers of a row as equations value = slope · x + N(0, 1), each divided by its ``scale``."""

    value: Array
    slope: Array
    scale: Array


def _whitened(panel: Panel, shared: Shared) -> Iterator[_Equations]:
    """Yield the scored answers of each row, given those of earlier rows and of agents before in their order.

    The state is (y, k) with k the level that was adopted, or y alone. Its mean is a constant and a multiple of x, the
    columns of ``mean``. What was observed is known from then on, so only agents who did not answer have a variance.
    """
    n, adapts = panel.n, shared.rate is not None and bool(shared.rate.any())
    states = 2 * n if adapts else n
    mean, P = np.zeros((states, 1 + n)), np.zeros((states, states))
    mean[:n, 0] = panel.filled[0]
    pi = np.ones(n)
    for row in range(panel.length):
        gain = 1 / (1 + shared.rho[row] * panel.slope[row])
        F = (gain * shared.rho[row])[:, None] * panel.listening[row].toarray()
        Q, fresh = np.diag(gain**2), np.zeros((n, 1 + n))
        fresh[np.arange(n), 1 + np.arange(n)] = gain * pi
        if adapts:
            assert shared.rate is not None
            eta = shared.rate[row]
            F, Q, fresh = _with_level(F, Q, fresh, gain, eta)
            pi = pi * (1 - eta)
        mean, P = F @ mean + fresh, F @ P @ F.T + Q
        there = np.flatnonzero(np.isfinite(panel.rows[row + 1]))
        if there.size:
            root = linalg.cholesky(P[np.ix_(there, there)], lower=True, check_finite=False)
            off = -mean[there]
            off[:, 0] += panel.rows[row + 1, there]
            solved = linalg.solve_triangular(root, np.hstack([off, P[there]]), lower=True, check_finite=False)
            left, cross = solved[:, : 1 + n], solved[:, 1 + n :]
            own = panel.scored[row, there]
            yield _Equations(left[own, 0], -left[own, 1:], np.diagonal(root)[own])
            mean, P = mean + cross.T @ left, P - cross.T @ cross
            P[there], P[:, there] = 0.0, 0.0


def _with_level(F: Array, Q: Array, fresh: Array, gain: Array, eta: Array) -> tuple[Array, Array, Array]:
    """Return a step of (y, k): y_t also has k_{t−1} as a part of the opinion, and k_t = k_{t−1} + η (y_t − k_{t−1})."""
    top = np.hstack([F, np.diag(gain)])
    below = eta[:, None] * top + np.hstack([np.zeros_like(F), np.diag(1 - eta)])
    mixed = eta[:, None] * Q
    return (
        np.vstack([top, below]),
        np.block([[Q, mixed.T], [mixed, mixed * eta]]),
        np.vstack([fresh, eta[:, None] * fresh]),
    )


# The bias of the score, and its integral.


def bias_correction(panel: Panel, shared: Shared, *, rough: bool = False) -> float:
    """Return B(ψ), the integral of the bias of the score from 0 to the parameters.

    Small records: from the responses of every answer to every opinion. Large ones: by Hutchinson's estimate of a trace,
    from responses to random combinations of opinions, which are the same at every call. A ``rough`` value is enough for
    a search, and as smooth.
    """
    rho, rate = shared.rho, shared.rate
    top = float(np.log1p((rho * panel.slope).max(initial=0.0)))
    if not top and rate is None:
        return 0.0
    check_cancelled()
    place, weights = _nodes(_ROUGH_NODES if rough else _NODES)
    # Equal steps of log(1 + ρd), in which the integrand varies slowly.
    along = np.expm1(max(top, 1e-9) * place) / np.expm1(max(top, 1e-9))
    speed = max(top, 1e-9) * np.exp(max(top, 1e-9) * place) / np.expm1(max(top, 1e-9))
    most = _ROUGH_PROBES if rough else panel.n
    probes = _probes(panel.n, min(most, max(_FEWEST_PROBES, _RESPONSES // (panel.n * panel.length))))
    bias = [_score_bias(panel, shared, float(at), probes) for at in along]
    total = float((weights * speed) @ np.array(bias))
    if rate is None:
        return total
    # ½ log Σπ² is a part of the integral, and of the log determinant of the information.
    pi = np.cumprod(np.vstack([np.ones(panel.n), 1 - rate[:-1]]), axis=0)
    return total - 0.5 * float(np.log(np.square(pi).mean(axis=0)).sum())


def _score_bias(panel: Panel, shared: Shared, place: float, probes: Array) -> float:
    """Return the derivative of B at a place of the ray from no pressure (0) to the parameters (1).

    Columns z of ``probes`` (n, p) are unit vectors or random combinations of opinions, with Σ z zᵀ ≈ 1. Responses are
    followed for one place at a time, whose arrays stay in the caches of a processor.
    """
    advance, n = _compiled(), panel.n
    before, after, adopted, moved = (np.zeros(probes.shape) for _ in range(4))
    pi, bias, information = np.ones(n), np.zeros(n), np.zeros(n)
    for row, A in enumerate(panel.listening):
        eta = None if shared.rate is None else shared.rate[row]
        information += pi**2
        advance(
            A.indptr, A.indices, A.data, panel.slope[row], shared.rho[row, 0], place, eta, pi, probes,
            before, after, adopted, moved, bias,
        )  # fmt: skip
        before, after = after, before
        if eta is not None:
            pi = pi * (1 - place * eta)
    return float((bias / information).sum())


@cache
def _compiled() -> Any:
    """Return one row of responses, compiled; numba is imported only now because that takes long."""
    from numba import njit

    # Sums may be taken in any order, which lets them use whole vectors.
    return njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})(_advance)


def _advance(
    ends: Any, sources: Any, weights: Any, slope: Array, rho: float, place: float, eta: Any, pi: Array,
    probes: Array, before: Array, after: Array, adopted: Array, moved: Array, bias: Array,
) -> None:  # fmt: skip
    """Replace the responses of answers ``before`` by those ``after`` a row, and add its part of the bias."""
    n, p = probes.shape
    around, pull = np.empty(p), rho * place
    for i in range(n):
        around[:] = 0.0
        for e in range(ends[i], ends[i + 1]):
            # Names of single numbers keep them in registers; arrays might overlap.
            weight, source = weights[e], sources[e]
            for q in range(p):
                around[q] += weight * before[source, q]
        steep, kept = slope[i], pi[i]
        gain, total = 1 / (1 + pull * steep), 0.0
        if eta is None:
            for q in range(p):
                near = around[q]
                response = (probes[i, q] + pull * near) * gain
                total += probes[i, q] * (steep * response - near)
                after[i, q] = response
            total *= rho
        else:
            for q in range(p):
                near, level, change = around[q], adopted[i, q], moved[i, q]
                response = (kept * probes[i, q] + level + pull * near) * gain
                total += probes[i, q] * (rho * (steep * response - near) - change)
                # Of the level k_t that was adopted: its response, and the derivative of that along the ray.
                moved[i, q] = change + eta[i] * (response - level - place * change)
                adopted[i, q] = level + place * eta[i] * (response - level)
                after[i, q] = response
        bias[i] += kept * total


# A search asks for the same few nodes and probes thousands of times.


@cache
def _nodes(count: int) -> tuple[Array, Array]:
    """Return places on [0, 1] and weights of Gauss and Legendre's rule."""
    x, weights = np.polynomial.legendre.leggauss(count)
    return (x + 1) / 2, weights / 2


@lru_cache(maxsize=4)
def _probes(n: int, count: int) -> Array:
    """Return unit vectors, or random signs: columns z with Σ z zᵀ ≈ 1."""
    if count >= n:
        return np.eye(n)
    signs = np.random.default_rng(n).integers(0, 2, size=(n, count))
    return np.asarray((2.0 * signs - 1.0) / np.sqrt(count))


# The law of hidden opinions, given first answers.


def best_spread(below: Callable[[Array], Array]) -> float:
    """Return the log λ at which a function of some of them, (g,), is lowest."""
    centre, width = 0.0, _LOG_SPREAD
    for _ in range(_REFINEMENTS):
        grid = centre + np.linspace(-width, width, _SPREADS)
        values = below(grid)
        at = int(np.clip(np.argmin(values), 1, _SPREADS - 2))
        centre, width = float(grid[at]), 2 * width / (_SPREADS - 1)
    # A parabola through the last three points; their error is far below that of a numerical derivative then.
    left, middle, right = values[at - 1 : at + 2]
    bend = left - 2 * middle + right
    return centre + width * float(np.clip(0.5 * (left - right) / bend, -1, 1) if bend > 0 else 0.0)


class LawAt(NamedTuple):
    """The law of hidden opinions at some λ, (g,), with the best γ, (g, k).

    ``below`` is N log σ + S/(2σ²) + ½ Σ log(1 + λI), S = RSS + Σ I(x̂ − Zγ)²/(1 + λI) are ``squares``, and ``normal``
    is the information about γ at σ = 1.
    """

    below: Array
    squares: Array
    gamma: Array
    normal: Array


@final
@dataclass(frozen=True, eq=False)
class OpinionLaw:
    """The law x ~ N(Zγ, λσ²), where independent estimates x̂ have an ``information`` at σ = 1, and Z has unit columns.

    ``opinions`` and ``information`` are (n,) and ``columns`` (n, k); ``squares`` is the sum about x̂ of so many answers.
    """

    information: Array
    opinions: Array
    columns: Array
    squares: float
    count: int

    def best(self, log_std: float | None = None) -> float:
        """Return log λ at the maximum, which is −∞ where opinions are as expected."""
        if not self.information.size:
            return -np.inf
        return best_spread(lambda logs: self.at(logs, log_std).below)

    def at(self, log_spread: Array, log_std: float | None = None) -> LawAt:
        """Return what is best at some log λ, (g,), with the best σ as well where it is None."""
        weight = self.information / (1 + (ratio := np.exp(log_spread)[:, None] * self.information))
        Z, (own, x, products) = self.columns, self._centred
        normal = (weight @ products).reshape(-1, Z.shape[1], Z.shape[1])
        gamma = np.linalg.solve(normal, ((weight * x) @ Z)[..., None])[..., 0]
        S = self.squares + (weight * np.square(x - gamma @ Z.T)).sum(axis=1)
        if log_std is None:
            below = 0.5 * self.count * (np.log(S / self.count) + 1)
        else:
            below = self.count * log_std + 0.5 * S * np.exp(-2 * log_std)
        return LawAt(below + 0.5 * np.log1p(ratio).sum(axis=1), S, own + gamma, normal)

    @cached_property
    def _centred(self) -> tuple[Array, Array, Array]:
        """The part of x̂ in the columns, x̂ without it, and products of pairs of columns."""
        Z = self.columns
        own = Z.T @ self.opinions
        return own, self.opinions - Z @ own, np.einsum("ia,ib->iab", Z, Z).reshape(len(Z), -1)


class FittedLaw(NamedTuple):
    """Hidden opinions given first answers: N(``mean``, λσ²), with the log-likelihood.

    The mean is one of ``columns``, about whose coefficients there is ``information`` at σ = 1.
    """

    height: float
    spread: float
    variance: float
    mean: Array
    columns: Array
    information: Array


def fitted_law(sums: RecordSums, columns: Array) -> FittedLaw:
    """Return the law of hidden opinions given unit columns of regressors (n, k), by maximum likelihood."""
    law, fitted, J = *_opinion_law(sums, columns), sums.information
    if J.ndim == 1 and np.ptp(J) <= 1e-12 * J[0]:
        # With equal information, least squares and an analysis of variance give the maximum.
        ratio = J[0] * float(np.square(law._centred[1]).mean()) / sums.variance
        return fitted(max(ratio - 1, 0.0) / float(J[0]))
    return max((fitted(float(np.exp(law.best()))), fitted(0.0)), key=lambda one: one.height)


def _opinion_law(sums: RecordSums, Z: Array) -> tuple[OpinionLaw, Callable[[float], FittedLaw]]:
    """Return the law of hidden opinions, and with the best coefficients and σ as a function of λ."""
    # In the eigenvectors of the information opinions are estimated independently of one another.
    J, x, H = sums.information, sums.opinions, Z
    if J.ndim == 2:
        J, V = linalg.eigh(J)
        x, H = V.T @ x, V.T @ Z
    law = OpinionLaw(np.maximum(J, 0.0), x, H, sums.rss, sums.count)

    def at(spread: float) -> FittedLaw:
        with np.errstate(divide="ignore"):
            place = np.log(np.array([spread]))
        below, S, gamma, normal = law.at(place)
        height = sums.log_scale - 0.5 * sums.count * _LOG_TWO_PI - float(below[0])
        return FittedLaw(height, spread, float(S[0]) / sums.count, Z @ gamma[0], Z, normal[0])

    return law, at


def posterior(sums: RecordSums, columns: Array) -> tuple[Array, Array]:
    """Return the mean and the standard deviation of each x, (n,), given the record.

    λ is integrated out as well: its maximum likelihood may be 0, which would leave no uncertainty at all. The share
    that an opinion keeps of its own estimate is uniform a priori.
    """
    diagonal = sums.information if sums.information.ndim == 1 else np.diagonal(sums.information)
    shares = (np.arange(_SHARES) + 0.5) / _SHARES
    spreads = shares / (1 - shares) / max(float(diagonal.mean()), 1e-300)
    heights, means, squares = [], [], []
    _, at = _opinion_law(sums, columns)
    for spread in spreads:
        law = at(float(spread))
        mean, variance = _given_spread(sums, law)
        heights.append(law.height)
        means.append(mean)
        squares.append(variance + mean**2)
    weights = special.softmax(np.array(heights))
    centre = weights @ np.array(means)
    # Differences of squares cancel where opinions are far from 0.
    spread_of = weights @ (np.array(squares) - 2 * centre * np.array(means) + centre**2)
    return centre, np.sqrt(np.maximum(spread_of, 0.0))


def _given_spread(sums: RecordSums, law: FittedLaw) -> tuple[Array, Array]:
    """Return the mean and the variance of each x, (n,), at a given λ, with the errors of the coefficients."""
    prior, n = 1 / law.spread, law.mean.size
    if sums.information.ndim == 1:
        precision = sums.information + prior
        mean = (sums.information * sums.opinions + prior * law.mean) / precision
        variance, through = 1 / precision, (prior / precision)[:, None] * law.columns
    else:
        covariance = linalg.inv(sums.information + prior * np.eye(n))
        mean = covariance @ (sums.information @ sums.opinions + prior * law.mean)
        variance, through = np.diagonal(covariance), prior * covariance @ law.columns
    return mean, sums.variance * (
        variance + np.einsum("ik,kl,il->i", through, np.linalg.pinv(law.information), through)
    )


def integrated_height(panel: Panel, shared: Shared) -> float:
    """Return the log-likelihood with the law of hidden opinions given first answers, at its maximum in that law."""
    return fitted_law(sums_of(panel, shared), panel.columns).height


def within_height(panel: Panel, shared: Shared, *, rough: bool = False) -> float:
    """Return the log-likelihood of the deviations of agents from their level, with a score that is not biased."""
    return sums_of(panel, shared).height - bias_correction(panel, shared, rough=rough)


@final
@dataclass(frozen=True, eq=False)
class Criterion:
    """The log-likelihood of a record by which models are compared, at its maximum in everything but ρ and η.

    It is the integrated likelihood. For few rows of many agents, which decide little about the law of hidden opinions
    but suffer from its errors, it is the integrated likelihood without pressure, plus the difference that pressure
    makes to the within likelihood.
    """

    panel: Panel

    @property
    def is_within(self) -> bool:
        """Whether differences come from deviations within agents."""
        return self.panel.length <= _WITHIN_ROWS and self.panel.n >= MANY_AGENTS

    @cached_property
    def baseline(self) -> float:
        """The level of all agents, scored without pressure for all models alike."""
        still = Shared(np.zeros((self.panel.length, 1)))
        return integrated_height(self.panel, still) - within_height(self.panel, still)

    def __call__(self, shared: Shared) -> float:
        """Return the log-likelihood."""
        if self.is_within:
            return self.baseline + within_height(self.panel, shared)
        return integrated_height(self.panel, shared)

    def rough(self, shared: Shared) -> float:
        """Return the log-likelihood up to a constant, as far as a search for its maximum needs it."""
        return within_height(self.panel, shared, rough=True) if self.is_within else self(shared)
