"""Fits of unknown weights: selection of edges, the scale of the noise, covariances, and a test for each edge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias, TypeVar, final

import numpy as np
from scipy import linalg, optimize, stats

from peerpressure.engine.plan import available_threads
from peerpressure.model import Vector
from peerpressure.progress import checkpoint
from peerpressure.recovery._limits import LEAST_INFORMATION, LEAST_OWN_INFORMATION
from peerpressure.recovery._network_likelihood import (
    AgentProblem,
    Index,
    Mask,
    Problem,
    ProductSums,
    SymmetricProblem,
    gradient,
    information,
    objective,
    solve,
)

Penalty: TypeAlias = Literal["bic"] | float | None
Result = TypeVar("Result")
# Penalties that "bic" tries, in units of √(2 log n) standard errors of the score of a weight that is 0.
PENALTIES = np.geomspace(30.0, 0.1, 18)
# Standard errors of the score to which the path is followed; the fit of the selected edges is far more precise.
_ROUGH = 1e-3
# Supports without a better criterion after which the path of penalties ends.
_PATIENCE = 4
# Agents from which on threads gain more than they cost.
_THREADED = 200
# Steps beyond the number of unknowns that a test of single edges needs.
_SPARE = 10


@final
@dataclass(frozen=True, eq=False)
class EdgeFit:
    """A problem with its selected variables and their values; the last variable is τ, and ``free`` if it is unknown."""

    problem: Problem
    beta: Vector
    allowed: Mask
    free: bool
    penalty: float = 0.0

    @property
    def support(self) -> Index:
        """The positive weights."""
        return np.flatnonzero(self.beta[:-1] > 0)

    def at(self, tau: float) -> EdgeFit:
        """Return the fit of the same variables for a known τ."""
        beta = np.append(self.beta[:-1], tau)
        return replace(self, beta=solve(self.problem, beta, np.append(self.allowed, False)), free=False)

    def profile(self) -> tuple[float, float]:
        """Return slope and curvature of the negative log-likelihood in τ, with the weights at their best."""
        which = np.append(self.support, self.beta.size - 1)
        full, _ = information(self.problem, self.beta, which)
        cross = full[:-1, -1]
        inner = cross @ linalg.solve(full[:-1, :-1], cross) if cross.size else 0.0
        return float(gradient(self.problem, self.beta)[-1]), float(full[-1, -1] - inner)


def fit(problem: Problem, allowed: Mask, agents: int, penalty: Penalty, tau: float | None, start: Vector) -> EdgeFit:
    """Return the fit with the edges that the penalty selects; τ is free where it is None."""
    beta = start.copy()
    if tau is not None:
        beta[-1] = tau
    first = EdgeFit(problem, beta, allowed, tau is None)
    found = first if penalty is None else _select(first, agents, penalty)
    beta = solve(problem, found.beta, np.append(found.allowed, found.free))
    restricted = _restricted(problem, beta)
    return replace(found, problem=restricted, beta=solve(restricted, beta, np.append(found.allowed, found.free)))


def start_of(problem: Problem) -> Vector:
    """Return weights of 0, and the τ at which the outputs themselves would be the noise."""
    beta = np.zeros(problem.diagonal.size)
    rows = problem.rho.size * problem.count * problem.nu.size
    beta[-1] = np.sqrt(rows / max(problem.diagonal[-1], np.finfo(float).tiny))
    return beta


def _select(first: EdgeFit, agents: int, penalty: Literal["bic"] | float) -> EdgeFit:
    """Return which edges the L1 penalty keeps: a path from many to few standard errors, and the criterion's choice."""
    problem, beta = first.problem, first.beta
    unit = np.sqrt(2 * np.log(max(agents, 2)) * problem.diagonal)
    unit[-1] = 0.0
    open_ = np.append(first.allowed, first.free)
    rows = problem.rho.size * problem.count * problem.nu.size
    best, chosen, last, waited = np.inf, first, np.zeros(0, dtype=np.int64), 0
    for multiple in PENALTIES if penalty == "bic" else [float(penalty)]:
        beta = solve(problem, beta, open_, multiple * unit, _ROUGH)
        keep = first.allowed & (beta[:-1] > 0)
        if np.array_equal(np.flatnonzero(keep), last):
            continue
        last = np.flatnonzero(keep)
        # The criterion is that of the edges, not of the shrunken weights.
        own = solve(problem, beta, np.append(keep, first.free), 0.0, _ROUGH)
        count = int((own[:-1] > 0).sum())
        criterion = 2 * objective(problem, own) + count * np.log(rows)
        if criterion < best:
            best, waited = criterion, 0
            chosen = replace(first, beta=own, allowed=keep, penalty=float(multiple))
        elif (waited := waited + 1) >= _PATIENCE:
            break
    # One penalty for all agents cannot suit each of them, and keeps too many edges.
    return (
        _pruned(chosen, float(np.log(rows))) if penalty == "bic" and isinstance(problem, SymmetricProblem) else chosen
    )


def _pruned(chosen: EdgeFit, price: float) -> EdgeFit:
    """Return the fit without the edges whose likelihood ratio is below the price of an edge, the least ones first."""
    while chosen.support.size:
        which, k = chosen.support, chosen.support.size
        full, _ = information(chosen.problem, chosen.beta, np.append(which, chosen.beta.size - 1))
        own = full if chosen.free else full[:k, :k]
        ratio = chosen.beta[which] ** 2 / np.diag(linalg.inv(own))[:k]
        weak = np.flatnonzero(ratio < price)
        if not weak.size:
            break
        # A tenth of the weak ones at a time: without one of them, another may be needed.
        drop = which[weak[np.argsort(ratio[weak])[: -(-weak.size // 10)]]]
        allowed = chosen.allowed.copy()
        allowed[drop] = False
        beta = chosen.beta.copy()
        beta[drop] = 0.0
        beta = solve(chosen.problem, beta, np.append(allowed, chosen.free), 0.0, _ROUGH)
        chosen = replace(chosen, beta=beta, allowed=allowed)
    return chosen


def _restricted(problem: Problem, beta: Vector) -> Problem:
    """Return the problem with the weight ν of its logarithms corrected for the unknowns of each agent."""
    rows = problem.rho.size * problem.count
    if isinstance(problem, AgentProblem):
        unknowns = np.array([float((beta[:-1] > 0).sum()) + problem.moments.free])
        return replace(problem, nu=_share(unknowns, rows))
    assert isinstance(problem, SymmetricProblem)
    ends = problem.pairs[beta[:-1] > 0]
    # Each weight is shared by two agents.
    unknowns = np.bincount(ends.ravel(), minlength=problem.r.size) / 2
    for group in problem.groups:
        unknowns[group.agents] += group.free
    return replace(problem, nu=_share(unknowns, rows))


def _share(unknowns: Vector, rows: int) -> Vector:
    return np.maximum(1 - unknowns / rows, 1 / rows)


def common_scale(fits: Sequence[EdgeFit], deviation: Vector) -> tuple[list[EdgeFit], float, float]:
    """Return the fits for one factor τ of all agents, τ_i = τ/deviation_i, with τ and its information.

    Newton's method on the sum of the agents' profile likelihoods, which is concave in τ. Where the information about
    log τ is too small to determine it, τ = 1 and an information of 0 are returned.
    """
    known = np.array([np.log(f.beta[-1] * s) for f, s in zip(fits, deviation, strict=True) if f.beta[-1] > 0])
    tau = float(np.exp(np.median(known))) if known.size else 1.0
    found = list(fits)
    for _ in range(100):
        found = each(partial(_at, found, tau / deviation), len(fits))
        parts = np.array([f.profile() for f in found]) / np.stack([deviation, deviation**2], axis=1)
        slope, curvature = (float(part) for part in parts.sum(axis=0))
        # In log τ, where a step cannot reach 0; the slope's part of the curvature vanishes at the maximum.
        step = -tau * slope / max(tau**2 * curvature + tau * slope, 0.1 * tau**2 * curvature)
        if abs(step) < 1e-7:
            break
        tau *= float(np.exp(np.clip(step, -1.0, 1.0)))
    if tau**2 * curvature < LEAST_INFORMATION:
        return each(partial(_at, found, 1 / deviation), len(fits)), 1.0, 0.0
    return found, tau, curvature


def own_scale(fits: Sequence[EdgeFit], deviation: Vector) -> tuple[list[EdgeFit], Mask]:
    """Return the fits with the scale of each agent, and for which agents it is lost; these have the common scale.

    The information is that at the common scale: at an agent's own, it would be large just where that is too small.
    """
    alike, tau, _ = common_scale(fits, deviation)
    known = [f.profile()[1] * (tau / s) ** 2 for f, s in zip(alike, deviation, strict=True)]
    lost = np.array([value < LEAST_OWN_INFORMATION or not f.beta[-1] for value, f in zip(known, fits, strict=True)])
    return [other if gone else own for own, other, gone in zip(fits, alike, lost, strict=True)], lost


def _at(fits: Sequence[EdgeFit], tau: Vector, i: int) -> EdgeFit:
    return fits[i].at(float(tau[i]))


def each(work: Callable[[int], Result], count: int) -> list[Result]:
    """Return the results for 0 … count − 1, computed by threads where there are many."""
    threads = available_threads()
    if count < _THREADED or threads == 1:
        return [work(i) for i in range(count)]
    with ThreadPoolExecutor(threads) as pool:
        # Each in a context of its own, so that callbacks that cancel the work are found in the threads as well.
        jobs = [pool.submit(copy_context().run, work, i) for i in range(count)]
        try:
            found = []
            for job in jobs:
                checkpoint()
                found.append(job.result())
            return found
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


# Covariances.


def row_covariance(found: EdgeFit, deviation: float, scale: float, excess: float) -> tuple[Vector, float]:
    """Return the covariance of an agent's positive weights w = θ/τ, and the variance of log τ.

    ``scale`` is the information about the common factor of τ, 0 if there is none. The information H of a normal law
    becomes H⁻¹ + (κ − 3) H⁻¹LH⁻¹ for noise of kurtosis κ, with L the part of H that the logarithms contribute.
    """
    tau, k = float(found.beta[-1]), found.support.size
    w = found.beta[found.support] / tau
    which = np.append(found.support, found.beta.size - 1)
    full, logs = information(found.problem, found.beta, which)
    own = which.size if found.free else k
    inverse = linalg.inv(full[:own, :own]) if own else np.zeros((0, 0))
    covariance = inverse + excess * inverse @ logs[:own, :own] @ inverse
    if found.free:
        # dw = (dθ − w dτ)/τ.
        turn = np.hstack([np.eye(k), -w[:, None]]) / tau
        return turn @ covariance @ turn.T, float(covariance[-1, -1]) / tau**2
    if not scale:
        return covariance / tau**2, 0.0
    # dθ/dτ along the best weights, for a τ that is uncertain by what all agents tell about it.
    move = (-inverse @ full[:k, k] - w) / deviation
    return (covariance + np.outer(move, move) / scale) / tau**2, 1 / (scale * (tau * deviation) ** 2)


def hidden_opinion(moments: ProductSums, at: int, tau: float, covariance: Vector, w: Vector, support: Index) -> Vector:
    """Return an agent's x₀, less the centre of opinions, and its standard error."""
    # x = mean of y + Σ_j w_j (mean of the j-th regressor) + a mean of the noise, which is independent of the weights.
    lever = (moments.du[at] - moments.eu[support]) / moments.uu
    variance = lever @ covariance @ lever + 1 / (moments.uu * tau**2)
    return np.array([moments.bu[at] / moments.uu + lever @ w, np.sqrt(variance)])


# The test of single edges: no bounds, no penalty, closed form but for the degree.


def edge_tests(moments: ProductSums, allowed: Mask, tau: Vector, excess: float) -> tuple[Vector, Vector, int]:
    """Return estimates θ and errors (g, n) without bounds, NaN where steps are too few, and degrees of freedom.

    The agents' matrices are the shared one less a row, plus one of rank 2, so one inverse serves all of them.
    """
    g, n = moments.c.shape
    value, error = np.full((g, n), np.nan), np.full((g, n), np.nan)
    spare = moments.rows - int(allowed.sum(axis=1).max(initial=0)) - moments.free
    if spare < _SPARE:
        return value, error, spare
    # Neighbours' opinions are relative to their mean, which makes the matrix singular; any multiple of 11ᵀ helps.
    ridge = float(np.trace(moments.s)) / n**2
    base = linalg.inv(moments.s + ridge)
    for at, i in enumerate(moments.agents):
        checkpoint()
        j = np.flatnonzero(allowed[at])
        if j.size == n - 1:
            inverse = base[np.ix_(j, j)] - np.outer(base[j, i], base[i, j]) / base[i, i]
        else:
            inverse = linalg.inv(moments.s[np.ix_(j, j)] + ridge)
        right = tau[at] * (moments.bd[at] - moments.be[at, j])
        nu = (moments.rows - j.size - moments.free) / moments.rows
        ends = _unbounded(inverse, moments.c[at, j], moments.q[at] - ridge, right)
        value[at, j], error[at, j] = _edge_test(moments, ends, float(tau[at]), nu, excess)
    return value, error, spare


def _unbounded(inverse: Vector, c: Vector, q: float, right: Vector) -> tuple[Vector, Vector, Vector]:
    """Return G⁻¹1, G⁻¹b and the diagonal of G⁻¹ for G = A − c1ᵀ − 1cᵀ + q11ᵀ, from A⁻¹ by Woodbury's identity."""
    u = np.stack([np.ones(c.size), c], axis=1)
    through = inverse @ u
    small = np.linalg.inv(np.array([[0.0, -1.0], [-1.0, -q]]) + u.T @ through)
    ones, b = (part - through @ (small @ (u.T @ part)) for part in (through[:, 0], inverse @ right))
    return ones, b, np.diag(inverse) - np.einsum("ij,jk,ik->i", through, small, through)


def _edge_test(
    moments: ProductSums, ends: tuple[Vector, Vector, Vector], tau: float, nu: float, excess: float
) -> tuple[Vector, Vector]:
    ones, b, diagonal = ends
    rho, weight, total = moments.rho, nu * moments.count, float(ones.sum())

    def excess_degree(d: float) -> float:
        # θ = G⁻¹(p1 − b) with p = ν Σ ρ/(τ + ρd), so that d = 1ᵀθ is one increasing equation.
        return d + float(b.sum()) - total * weight * float((rho / (tau + rho * d)).sum())

    low = -tau / rho.max() * (1 - 1e-12)
    high = max(1.0, -2 * float(b.sum())) * tau
    while excess_degree(high) < 0:
        high *= 4
    d = float(optimize.brentq(excess_degree, low, high, xtol=1e-14, rtol=1e-13))
    pull = rho / (tau + rho * d)
    theta = ones * weight * pull.sum() - b
    curvature = weight * float((pull**2).sum())
    through = ones / (1 + curvature * total)
    variance = diagonal - curvature * ones * through + excess * curvature * through**2
    return theta, np.sqrt(np.maximum(variance, np.finfo(float).tiny))


def confidence(value: Vector, error: Vector, spare: Vector | int) -> Vector:
    """Return one minus the p-value of the one-sided test of 0, NaN where there is none."""
    # Student's law, because the scale of an agent's residuals is estimated from the same steps.
    return np.asarray(stats.t.cdf(value / error, np.maximum(spare, 1)))
