"""Fits of unknown weights: one convex solver, selection of edges, and covariances of the selected ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, final

import numpy as np
from scipy import linalg, sparse

from peerpressure.errors import InvalidInputError, TooLargeError, message
from peerpressure.model.step import Array
from peerpressure.recovery import limits
from peerpressure.recovery._network_likelihood import Index, Mask, ProductSums
from peerpressure.support.progress import check_cancelled

# A gradient below this many standard errors of the score is 0.
STATIONARY = 1e-7
_ITERATIONS = 200
Penalty: TypeAlias = Literal["bic"] | float | None
# The number of penalties that "bic" tries, and the least, in units of √(2 log n) standard errors of the score. The
# largest follows from the number of rows: the score of a true edge grows with it, and its standard error with its root.
_PENALTIES, _LEAST = 9, 0.3
# Standard errors of the score to which the path is followed; the fit of the selected edges is far more precise.
_ROUGH = 1e-3
# Supports without a better criterion after which the path of penalties ends.
_PATIENCE = 3


# Problems have the form ½βᵀMβ − Σ_r ν_r Σ_t log(τ_r + ρ_t d_r) over β ≥ 0, with τ and d linear in β: ``times`` returns
# Mβ, ``gram`` a part of M, ``arguments`` u = τ_r + ρ_t d_r (rows, T), and ``log_slope`` and ``log_hessian`` the first
# derivative of the logarithms and minus the second, given 1/u.


@final
@dataclass(frozen=True, eq=False)
class AgentProblem:
    """The problem of one agent; the variables are θ_i1 … θ_in and τ_i, of which θ_ii is never used."""

    moments: ProductSums
    at: int
    nu: Array
    rho: Array
    count: int
    diagonal: Array

    @classmethod
    def of(cls, moments: ProductSums, at: int, nu: float = 1.0) -> AgentProblem:
        """Return the problem of the agent at this position of its group."""
        diagonal = np.append(np.diag(moments.s) - 2 * moments.c[at] + moments.q[at], moments.bb[at])
        # For an agent that never moves this may be a rounding error below 0.
        diagonal = np.maximum(diagonal, 0.0)
        return cls(moments, at, np.array([nu]), moments.rho, moments.count, diagonal)

    def times(self, beta: Array) -> Array:
        """Return Mβ, from the columns of the weights that are not 0."""
        m, i, n = self.moments, self.at, self.moments.s.shape[0]
        used = np.flatnonzero(beta[:n])
        theta, tau = beta[used], beta[n]
        d = theta.sum()
        out = np.empty(n + 1)
        out[:n] = theta @ m.s[used] - m.c[i] * d - m.c[i, used] @ theta + m.q[i] * d + tau * (m.bd[i] - m.be[i])
        out[n] = d * m.bd[i] - m.be[i, used] @ theta + tau * m.bb[i]
        return out

    def arguments(self, beta: Array) -> Array:
        """Return u, (1, T)."""
        return np.asarray(beta[-1] + self.rho * beta[:-1].sum())[None]

    def log_slope(self, inverse: Array) -> Array:
        """Return the derivative of the logarithms in all variables."""
        weight, n = float(self.nu[0]) * self.count, self.diagonal.size - 1
        out = np.full(n + 1, weight * float(inverse[0] @ self.rho))
        out[n] = weight * float(inverse.sum())
        return out

    def log_hessian(self, inverse: Array, which: Index) -> Array:
        """Return minus the second derivative of the logarithms in some variables."""
        square, weight = inverse[0] * inverse[0], float(self.nu[0]) * self.count
        moved = square * self.rho
        out = np.full((which.size, which.size), weight * float(moved @ self.rho))
        if which.size and which[-1] == self.diagonal.size - 1:
            out[-1] = out[:, -1] = weight * float(moved.sum())
            out[-1, -1] = weight * float(square.sum())
        return out

    def gram(self, which: Index) -> Array:
        """Return M for some of the variables."""
        m, i, n = self.moments, self.at, self.moments.s.shape[0]
        last = which.size and which[-1] == n
        j = which[:-1] if last else which
        c = m.c[i, j]
        matrix = np.empty((which.size, which.size))
        matrix[: j.size, : j.size] = m.s[np.ix_(j, j)] - c[:, None] - c[None, :] + m.q[i]
        if last:
            matrix[-1, :-1] = matrix[:-1, -1] = m.bd[i] - m.be[i, j]
            matrix[-1, -1] = m.bb[i]
        return matrix


@final
@dataclass(frozen=True, eq=False)
class SymmetricProblem:
    """The problem of all agents with a_ij = a_ji and θ_ij = a_ij r_i; the variables are a_ij for i < j, then one τ.

    ``r`` (n,) is 1/(s_i deviation_i) and τ_i = τ/deviation_i, where all deviations are known up to one factor.
    ``tau_map`` and ``degree_map`` (n, variables) are τ and d as linear maps of the variables.
    """

    groups: Sequence[ProductSums]
    pairs: Index
    r: Array
    deviation: Array
    nu: Array
    rho: Array
    count: int
    tau_map: Any
    degree_map: Any
    diagonal: Array

    @classmethod
    def of(cls, groups: Sequence[ProductSums], pairs: Index, stubbornness: Array, deviation: Array) -> SymmetricProblem:
        """Return the problem of these pairs (m, 2)."""
        n, m = stubbornness.size, len(pairs)
        (a, b), r = pairs.T, 1 / (stubbornness * deviation)
        rows, columns = np.concatenate([a, b]), np.tile(np.arange(m), 2)
        degree = sparse.csr_array((r[rows], (rows, columns)), shape=(n, m + 1))
        tau = sparse.csr_array((1 / deviation, (np.arange(n), np.full(n, m))), shape=(n, m + 1))
        square, own = np.zeros((n, n)), 0.0
        for group in groups:
            square[group.agents] = np.diag(group.s)[None, :] - 2 * group.c + group.q[:, None]
            own += float((group.bb / deviation[group.agents] ** 2).sum())
        diagonal = np.append(square[a, b] * r[a] ** 2 + square[b, a] * r[b] ** 2, own)
        first = groups[0]
        return cls(groups, pairs, r, deviation, np.ones(n), first.rho, first.count, tau, degree, diagonal)

    def times(self, beta: Array) -> Array:
        """Return Mβ, from one product of matrices for each group of agents."""
        (a, b), r = self.pairs.T, self.r
        n = r.size
        theta, product, own = np.zeros((n, n)), np.zeros((n, n)), 0.0
        theta[a, b], theta[b, a] = beta[:-1] * r[a], beta[:-1] * r[b]
        tau = beta[-1] / self.deviation
        for g in self.groups:
            rows, mine = theta[g.agents], tau[g.agents]
            d = rows.sum(axis=1)
            shift = g.q * d + mine * g.bd - (g.c * rows).sum(axis=1)
            product[g.agents] = rows @ g.s - g.c * d[:, None] - mine[:, None] * g.be + shift[:, None]
            own += float((d * g.bd - (g.be * rows).sum(axis=1) + mine * g.bb) @ (1 / self.deviation[g.agents]))
        return np.append(product[a, b] * r[a] + product[b, a] * r[b], own)

    def gram(self, which: Index) -> Array:
        """Return M for some of the variables, assembled agent by agent."""
        m = len(self.pairs)
        if which.size > limits.JOINT_PAIRS:
            rule = f"a symmetric fit can have {limits.JOINT_PAIRS:,} edges or fewer"
            remedy = "infer a directed network, name candidates, or raise the penalty"
            raise TooLargeError(message(rule, got=f"{which.size:,}", remedy=remedy), argument="infer_network.symmetric")
        matrix = np.zeros((which.size, which.size))
        last = bool(which.size) and which[-1] == m
        ends = self.pairs[which[:-1] if last else which]
        order = np.argsort(ends.ravel(), kind="stable")
        bounds = np.searchsorted(ends.ravel()[order], np.arange(self.r.size + 1))
        for group in self.groups:
            for at, i in enumerate(group.agents):
                here = order[bounds[i] : bounds[i + 1]] // 2
                j = ends[here].sum(axis=1) - i
                c = group.c[at, j]
                block = group.s[np.ix_(j, j)] - c[:, None] - c[None, :] + group.q[at]
                matrix[np.ix_(here, here)] += block * self.r[i] ** 2
                if last:
                    matrix[here, -1] += (group.bd[at] - group.be[at, j]) * self.r[i] / self.deviation[i]
                    matrix[-1, -1] += group.bb[at] / self.deviation[i] ** 2
        if last:
            matrix[-1, :-1] = matrix[:-1, -1]
        return matrix

    def arguments(self, beta: Array) -> Array:
        """Return u, (n, T)."""
        tau, degree = self.tau_map @ beta, self.degree_map @ beta
        return np.asarray(tau[:, None] + self.rho * degree[:, None])

    def log_slope(self, inverse: Array) -> Array:
        """Return the derivative of the logarithms in all variables."""
        weight = self.nu * self.count
        first = self.tau_map.T @ (weight * inverse.sum(axis=1))
        return np.asarray(first + self.degree_map.T @ (weight * (inverse @ self.rho)))

    def log_hessian(self, inverse: Array, which: Index) -> Array:
        """Return minus the second derivative of the logarithms in some variables."""
        tau, degree, square = self.tau_map[:, which], self.degree_map[:, which], inverse * inverse
        by = (square.sum(1), square @ self.rho, square @ self.rho**2)
        inner, middle, outer = (sparse.diags_array(self.nu * self.count * part) for part in by)
        cross = tau.T @ middle @ degree
        return np.asarray((tau.T @ inner @ tau + cross + cross.T + degree.T @ outer @ degree).toarray())


Problem: TypeAlias = AgentProblem | SymmetricProblem


def _log_sum(problem: Problem, u: Array) -> float:
    """Return Σ_r ν_r Σ_t log u, −∞ where an argument is not positive."""
    return problem.count * float(problem.nu @ np.log(u).sum(axis=1)) if u.min() > 0 else -np.inf


def gradient(problem: Problem, beta: Array) -> Array:
    """Return the gradient, without a penalty, in all variables."""
    return problem.times(beta) - problem.log_slope(1 / problem.arguments(beta))


def minimised(
    problem: Problem, beta: Array, allowed: Mask, penalty: Array | float = 0.0, tolerance: float = STATIONARY
) -> Array:
    """Return the minimum over β ≥ 0, with variables that are not allowed kept as they are.

    Projected Newton steps on the variables that are positive or that the gradient pulls up, at most twice as many as
    are positive: the work follows the number of edges and not that of pairs. It ends when no gradient exceeds
    ``tolerance`` standard errors of the score.
    """
    beta = beta.copy()
    score = np.sqrt(np.maximum(problem.diagonal, np.finfo(float).tiny))
    for _ in range(_ITERATIONS):
        check_cancelled()
        u = problem.arguments(beta)
        inverse = 1 / u
        logs = problem.log_slope(inverse)
        slope = problem.times(beta) - logs + penalty
        down = np.where(allowed, -slope / score, -np.inf)
        positive = allowed & (beta > 0)
        wanted = np.flatnonzero(~positive & (down > tolerance))
        if not wanted.size and (np.abs(down[positive]) <= tolerance).all():
            return beta
        limit = max(8, int(positive.sum()))
        if wanted.size > limit:
            wanted = wanted[np.argpartition(-down[wanted], limit)[:limit]]
        positive[wanted] = True
        which = np.flatnonzero(positive)
        if not _newton_step(problem, beta, which, slope[which], logs[which], u):
            # No further decrease within rounding errors.
            return beta
    rule = "weights need more steps than unknowns: a perfect fit has an unbounded likelihood"
    remedy = "select edges by the penalty 'bic', or observe more steps"
    steps = np.count_nonzero(problem.rho) * problem.count
    raise InvalidInputError(
        message(rule, got=f"{steps} steps with peer pressure", remedy=remedy), argument="infer_network.penalty"
    )


def _newton_step(problem: Problem, beta: Array, which: Index, slope: Array, logs: Array, u: Array) -> bool:
    """Take one step on some variables, in place; return whether the objective decreased.

    ``slope`` is its gradient, ``logs`` the logarithms' part of it, and ``u`` their arguments.
    """
    matrix = problem.gram(which)
    hessian = matrix + problem.log_hessian(1 / u, which)
    # Fewer steps than unknowns make it singular; the ridge is far below the information of one step.
    hessian.reshape(-1)[:: which.size + 1] *= 1 + 1e-10
    # LAPACK's own routine: the checks of `linalg.solve` take longer than a system of ten equations.
    _, direction, failed = linalg.lapack.dposv(hessian, -slope)
    if failed:
        direction = linalg.lstsq(hessian, -slope)[0]
    old, before = beta[which], _log_sum(problem, u)
    # Without the logarithms the objective is quadratic, with this slope at the old values.
    plain, size = slope + logs, 1.0
    while size > 1e-12:
        new = np.maximum(old + size * direction, 0.0)
        beta[which], move = new, new - old
        logarithms = _log_sum(problem, problem.arguments(beta)) - before
        change = float(plain @ move + 0.5 * move @ matrix @ move) - logarithms
        if change <= 1e-4 * min(0.0, float(slope @ move)):
            return bool(change < -1e-13 * (1 + abs(before)))
        size /= 2
    beta[which] = old
    return False


def objective(problem: Problem, beta: Array) -> float:
    """Return the negative log-likelihood of the unit-variance residuals, up to a constant, without a penalty."""
    return 0.5 * float(beta @ problem.times(beta)) - _log_sum(problem, problem.arguments(beta))


def edge_information(problem: Problem, beta: Array, which: Index) -> tuple[Array, Array]:
    """Return the observed information of some variables, and the part of it that the logarithms contribute."""
    logs = problem.log_hessian(1 / problem.arguments(beta), which)
    return problem.gram(which) + logs, logs


# Selection of edges.


@final
@dataclass(frozen=True, eq=False)
class EdgeFit:
    """A problem with its selected variables and their values; the last variable is τ, which is given."""

    problem: Problem
    beta: Array
    allowed: Mask
    penalty: float = 0.0

    @property
    def support(self) -> Index:
        """The positive weights."""
        return np.flatnonzero(self.beta[:-1] > 0)

    def solved(self, problem: Problem, tolerance: float = STATIONARY) -> EdgeFit:
        """Return the fit of the selected variables without a penalty."""
        beta = minimised(problem, self.beta, np.append(self.allowed, False), 0.0, tolerance)
        return replace(self, problem=problem, beta=beta)

    def refitted(self, problem: Problem) -> EdgeFit:
        """Return the fit of the selected variables, with the logarithms corrected for their number."""
        first = self.solved(problem)
        return first.solved(_restricted(problem, first.beta))


def fit_edges(problem: Problem, allowed: Mask, agents: int, penalty: Penalty, tau: float) -> EdgeFit:
    """Return the fit with the edges that the penalty selects."""
    first = EdgeFit(problem, np.append(np.zeros(allowed.size), tau), allowed)
    return (first if penalty is None else _select(first, agents, penalty)).refitted(problem)


def _select(first: EdgeFit, agents: int, penalty: Literal["bic"] | float) -> EdgeFit:
    """Return which edges the L1 penalty keeps: a path from many to few standard errors, and the criterion's choice."""
    problem, beta = first.problem, first.beta
    unit = np.sqrt(2 * np.log(max(agents, 2)) * problem.diagonal)
    unit[-1] = 0.0
    rows = problem.rho.size * problem.count * problem.nu.size
    # No edge at all, should every support have as many unknowns as there are rows.
    chosen = replace(first, allowed=np.zeros_like(first.allowed))
    best, last, waited = np.inf, np.zeros(0, dtype=np.int64), 0
    path = np.geomspace(max(10.0, 2 * np.sqrt(problem.rho.size * problem.count)), _LEAST, _PENALTIES)
    for multiple in path if penalty == "bic" else [float(penalty)]:
        beta = minimised(problem, beta, np.append(first.allowed, False), multiple * unit, _ROUGH)
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
        full, _ = edge_information(chosen.problem, chosen.beta, which)
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


def _restricted(problem: Problem, beta: Array) -> Problem:
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


def _share(unknowns: Array, rows: int) -> Array:
    return np.maximum(1 - unknowns / rows, 1 / rows)


# Covariances.


def covariance_of(edges: EdgeFit, scale: float, excess: float) -> Array:
    """Return the covariance of the positive weights w = θ/τ; ``scale`` is the information about τ, ∞ if it is known.

    The information H of a normal law becomes H⁻¹ + (κ − 3) H⁻¹LH⁻¹ for noise of kurtosis κ, with L the part of H that
    the logarithms contribute.
    """
    tau, k = float(edges.beta[-1]), edges.support.size
    full, logs = edge_information(edges.problem, edges.beta, np.append(edges.support, edges.beta.size - 1))
    # Neighbours whose answers change alike, as few points of a scale do, share a weight of unknown parts.
    known = np.linalg.matrix_rank(full[:k, :k], hermitian=True) == k if k else True
    inverse = np.linalg.inv(full[:k, :k]) if known else np.full((k, k), np.nan)
    covariance = inverse + excess * inverse @ logs[:k, :k] @ inverse
    # dw/dτ along the best weights.
    move = -inverse @ full[:k, k] - edges.beta[edges.support] / tau
    return np.asarray((covariance + np.outer(move, move) / scale) / tau**2)


def hidden_opinion(moments: ProductSums, at: int, tau: float, covariance: Array, w: Array, support: Index) -> Array:
    """Return an agent's x₀, less the centre of opinions, and its standard error."""
    # x = mean of y + Σ_j w_j (mean of the j-th regressor) + a mean of the noise, which is independent of the weights.
    lever = (moments.du[at] - moments.eu[support]) / moments.uu
    variance = lever @ covariance @ lever + 1 / (moments.uu * tau**2)
    return np.array([moments.bu[at] / moments.uu + lever @ w, np.sqrt(variance)])
