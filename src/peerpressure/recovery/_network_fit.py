"""Fits of unknown weights: selection of edges, and covariances of the selected ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, final

import numpy as np
from scipy import linalg

from peerpressure.model import Vector
from peerpressure.recovery._network_likelihood import (
    STATIONARY,
    AgentProblem,
    Index,
    Mask,
    Problem,
    ProductSums,
    SymmetricProblem,
    information,
    objective,
    solve,
)

Penalty: TypeAlias = Literal["bic"] | float | None
# The number of penalties that "bic" tries, and the least, in units of √(2 log n) standard errors of the score. The
# largest follows from the number of rows: the score of a true edge grows with it, and its standard error with its root.
_PENALTIES, _LEAST = 9, 0.3
# Standard errors of the score to which the path is followed; the fit of the selected edges is far more precise.
_ROUGH = 1e-3
# Supports without a better criterion after which the path of penalties ends.
_PATIENCE = 3


@final
@dataclass(frozen=True, eq=False)
class EdgeFit:
    """A problem with its selected variables and their values; the last variable is τ, which is given."""

    problem: Problem
    beta: Vector
    allowed: Mask
    penalty: float = 0.0

    @property
    def support(self) -> Index:
        """The positive weights."""
        return np.flatnonzero(self.beta[:-1] > 0)

    def solved(self, problem: Problem, tolerance: float = STATIONARY) -> EdgeFit:
        """Return the fit of the selected variables without a penalty."""
        beta = solve(problem, self.beta, np.append(self.allowed, False), 0.0, tolerance)
        return replace(self, problem=problem, beta=beta)


def fit(problem: Problem, allowed: Mask, agents: int, penalty: Penalty, tau: float) -> EdgeFit:
    """Return the fit with the edges that the penalty selects."""
    first = EdgeFit(problem, np.append(np.zeros(allowed.size), tau), allowed)
    found = (first if penalty is None else _select(first, agents, penalty)).solved(problem)
    return found.solved(_restricted(problem, found.beta))


def _select(first: EdgeFit, agents: int, penalty: Literal["bic"] | float) -> EdgeFit:
    """Return which edges the L1 penalty keeps: a path from many to few standard errors, and the criterion's choice."""
    problem, beta = first.problem, first.beta
    unit = np.sqrt(2 * np.log(max(agents, 2)) * problem.diagonal)
    unit[-1] = 0.0
    rows = problem.rho.size * problem.count * problem.nu.size
    best, chosen, last, waited = np.inf, first, np.zeros(0, dtype=np.int64), 0
    path = np.geomspace(max(10.0, 2 * np.sqrt(problem.rho.size * problem.count)), _LEAST, _PENALTIES)
    for multiple in path if penalty == "bic" else [float(penalty)]:
        beta = solve(problem, beta, np.append(first.allowed, False), multiple * unit, _ROUGH)
        keep = first.allowed & (beta[:-1] > 0)
        if np.array_equal(np.flatnonzero(keep), last):
            continue
        last = np.flatnonzero(keep)
        if last.size + 2 >= rows:
            # As many unknowns as rows fit perfectly, and the likelihood has no maximum.
            break
        # The criterion is that of the edges, not of the shrunken weights.
        own = replace(first, beta=beta, allowed=keep, penalty=float(multiple)).solved(problem, _ROUGH)
        criterion = 2 * objective(problem, own.beta) + own.support.size * np.log(rows)
        if criterion < best:
            best, waited, chosen = criterion, 0, own
        elif (waited := waited + 1) >= _PATIENCE:
            break
    # One penalty for all agents cannot suit each of them, and keeps too many edges.
    coarse = penalty == "bic" and isinstance(problem, SymmetricProblem)
    return _pruned(chosen, float(np.log(rows))) if coarse else chosen


def _pruned(chosen: EdgeFit, price: float) -> EdgeFit:
    """Return the fit without the edges whose likelihood ratio is below the price of an edge, the least ones first."""
    while chosen.support.size:
        which = chosen.support
        full, _ = information(chosen.problem, chosen.beta, which)
        ratio = chosen.beta[which] ** 2 / np.diag(linalg.inv(full))
        weak = np.flatnonzero(ratio < price)
        if not weak.size:
            break
        # A tenth of the weak ones at a time: without one of them, another may be needed.
        drop = which[weak[np.argsort(ratio[weak])[: -(-weak.size // 10)]]]
        allowed = chosen.allowed.copy()
        allowed[drop] = False
        beta = chosen.beta.copy()
        beta[drop] = 0.0
        chosen = replace(chosen, beta=beta, allowed=allowed).solved(chosen.problem, _ROUGH)
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


# Covariances.


def covariance_of(found: EdgeFit, scale: float, excess: float) -> Vector:
    """Return the covariance of the positive weights w = θ/τ; ``scale`` is the information about τ, ∞ if it is known.

    The information H of a normal law becomes H⁻¹ + (κ − 3) H⁻¹LH⁻¹ for noise of kurtosis κ, with L the part of H that
    the logarithms contribute.
    """
    tau, k = float(found.beta[-1]), found.support.size
    full, logs = information(found.problem, found.beta, np.append(found.support, found.beta.size - 1))
    inverse = linalg.inv(full[:k, :k]) if k else np.zeros((0, 0))
    covariance = inverse + excess * inverse @ logs[:k, :k] @ inverse
    # dw/dτ along the best weights.
    move = -inverse @ full[:k, k] - found.beta[found.support] / tau
    return np.asarray((covariance + np.outer(move, move) / scale) / tau**2)


def hidden_opinion(moments: ProductSums, at: int, tau: float, covariance: Vector, w: Vector, support: Index) -> Vector:
    """Return an agent's x₀, less the centre of opinions, and its standard error."""
    # x = mean of y + Σ_j w_j (mean of the j-th regressor) + a mean of the noise, which is independent of the weights.
    lever = (moments.du[at] - moments.eu[support]) / moments.uu
    variance = lever @ covariance @ lever + 1 / (moments.uu * tau**2)
    return np.array([moments.bu[at] / moments.uu + lever @ w, np.sqrt(variance)])
