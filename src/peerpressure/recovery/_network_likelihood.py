"""Likelihood of unknown weights, given complete outputs: sufficient statistics and one convex solver.

In units in which stubbornness is 1, agent i follows, with d_i = Σ_j w_ij,

    y_{t,i} + ρ_t Σ_j w_ij (y_{t,i} − y_{t−1,j}) − x_i = ε_{t,i}.

Divided by σ_i, with τ_i = 1/σ_i, θ_ij = w_ij/σ_i and ξ_i = x_i/σ_i, the negative log-likelihood of agent i is

    ½ Σ_t (τ_i y_{t,i} + ρ_t Σ_j θ_ij (y_{t,i} − y_{t−1,j}) − ξ_i)² − ν_i Σ_t log(τ_i + ρ_t Σ_j θ_ij),

which is convex in (τ, θ, ξ) together. ν_i = 1 is maximum likelihood; ν_i = 1 − (unknowns)/(steps) is restricted maximum
likelihood, which corrects the scale for the unknowns that were fitted. ξ_i is eliminated. All that is needed of the
data are sums of products, and those between neighbours, Σ_t ρ_t² y_{t−1,j} y_{t−1,k}, are the same for all agents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from peerpressure.errors import InvalidInputError, TooLargeError, message
from peerpressure.model import Vector
from peerpressure.progress import checkpoint
from peerpressure.recovery._limits import JOINT_PAIRS

Mask: TypeAlias = NDArray[np.bool_]
Index: TypeAlias = NDArray[np.int64]
# A gradient below this many standard errors of the score is 0.
STATIONARY = 1e-7
_ITERATIONS = 200
# Numbers in a block of steps whose products are summed at once.
_BLOCK = 2**22


@final
@dataclass(frozen=True, eq=False)
class Steps:
    """The usable steps of a run: states y of shape (replicates, T, n) at times t₁ < … < t_T, and the law of the noise.

    ``rho`` and ``scale`` (T,) are ρ_t and the noise's scale at these times, ``coefficient`` is its autocorrelation φ.
    A step enters if its predecessor is recorded, and for φ ≠ 0 the one before that as well. ``known`` (n,) is x₀ where
    it is known, and NaN elsewhere.
    """

    states: NDArray[Any]
    times: Index
    rho: Vector
    scale: Vector
    coefficient: float
    known: Vector

    @property
    def lag(self) -> int:
        """Number of predecessors that a step needs."""
        return 2 if self.coefficient else 1

    def consecutive(self) -> Mask:
        """Return which recorded times have their predecessors recorded, (T,)."""
        found = np.zeros(self.times.size, dtype=bool)
        found[self.lag :] = self.times[self.lag :] - self.times[: -self.lag] == self.lag
        return found

    def blocks(self, rows: Index) -> Iterator[tuple[Vector, Vector, Vector, Vector]]:
        """Yield D, E, B (replicates · steps, n) and u (replicates · steps,) for blocks of the rows given.

        The residual of agent i is τ_i B_i + Σ_j θ_ij (D_i − E_j) − ξ_i u. An AR(1) noise is whitened by differences.
        """
        size = max(1, _BLOCK // max(1, self.states.shape[0] * self.states.shape[2]))
        centre = self.centre
        for first in range(0, rows.size, size):
            checkpoint()
            part = rows[first : first + size]
            now = self._terms(part, centre)
            if self.coefficient:
                before = self._terms(part - 1, centre)
                white = np.sqrt(1 - self.coefficient**2)
                now = [(a - self.coefficient * b) / white for a, b in zip(now, before, strict=True)]
            d, e, b, u = (np.nan_to_num(term.reshape(-1, term.shape[-1])) for term in now)
            yield d, e, b, u[:, 0]

    def _terms(self, rows: Index, centre: float) -> list[Vector]:
        y = np.asarray(self.states[:, rows], dtype=np.float64) - centre
        before = np.asarray(self.states[:, rows - 1], dtype=np.float64) - centre
        # Both are shifted alike, which leaves their differences as they are and keeps the sums from cancelling: late
        # opinions differ by far less than they are large.
        middle = np.nanmean(before, axis=2, keepdims=True)
        weight = 1 / self.scale[rows][None, :, None]
        pull = self.rho[rows][None, :, None] * weight
        own = np.where(np.isnan(self.known), 0.0, self.known - centre)
        return [pull * (y - middle), pull * (before - middle), (y - own) * weight, np.broadcast_to(weight, y.shape)]

    @property
    def centre(self) -> float:
        """The opinion that ``blocks`` subtracts; estimates of unknown x₀ are relative to it."""
        return float(np.nanmean(np.asarray(self.states[:, -1], dtype=np.float64)))


@final
@dataclass(frozen=True, eq=False)
class ProductSums:
    """ProductSums over the usable steps of a group of agents, after x₀ is eliminated where it is unknown.

    ``agents`` are the group, and ``at`` the places of its usable steps. With D, E, B and u as in `Steps.blocks`, ``s``
    (n, n) is EᵀE, ``c`` (g, n) is DᵀE, ``q``
    (g,) D·D, ``be`` (g, n) BᵀE, ``bd`` and ``bb`` (g,) B·D and B·B, and ``du``, ``eu``, ``bu`` are products with u.
    ``rho`` (T,) are the pressures of the steps, of which each has ``count`` rows, and ``log_scale`` is the sum of the
    logarithms of the noise's scale over all rows.
    """

    agents: Index
    at: Index
    s: Vector
    c: Vector
    q: Vector
    be: Vector
    bd: Vector
    bb: Vector
    du: Vector
    eu: Vector
    bu: Vector
    uu: float
    rho: Vector
    count: int
    log_scale: float
    free: bool

    @property
    def rows(self) -> int:
        """Number of observed transitions of each agent."""
        return self.rho.size * self.count


def sum_products(steps: Steps, agents: Index, rows: Index, *, free: bool) -> ProductSums:
    """Return the sums for a group of agents that share their usable steps; ``free`` if their x₀ is unknown."""
    n, g = steps.states.shape[2], agents.size
    s, c, be = np.zeros((n, n)), np.zeros((g, n)), np.zeros((g, n))
    q, bd, bb, du, bu = (np.zeros(g) for _ in range(5))
    eu, uu = np.zeros(n), 0.0
    for all_d, e, all_b, u in steps.blocks(rows):
        d, b = all_d[:, agents], all_b[:, agents]
        s += e.T @ e
        c += d.T @ e
        be += b.T @ e
        q, bd, bb = q + (d * d).sum(0), bd + (b * d).sum(0), bb + (b * b).sum(0)
        du, eu, bu, uu = du + u @ d, eu + u @ e, bu + u @ b, uu + float(u @ u)
    if free:
        # The best ξ_i for given weights is a mean over steps; what is left are deviations from it.
        s -= np.outer(eu, eu) / uu
        c -= np.outer(du, eu) / uu
        be -= np.outer(bu, eu) / uu
        q, bd, bb = q - du**2 / uu, bd - bu * du / uu, bb - bu**2 / uu
    rho, count = steps.rho[rows], steps.states.shape[0]
    log_scale = count * float(np.log(steps.scale[rows]).sum())
    return ProductSums(agents, rows, s, c, q, be, bd, bb, du, eu, bu, uu, rho, count, log_scale, free)


def residual_tests(
    steps: Steps, sums: ProductSums, tau: Vector, weights: Vector, hidden: Vector, excess: float
) -> tuple[Vector, Vector]:
    """Return two tests of a group's residuals, in standard errors, (g,) each.

    The first is their correlation from one step to the next, the second the trend of their squares over time.
    ``tau`` and ``hidden`` (g,) and ``weights`` (g, n) are the estimates; hidden opinions are relative to the centre,
    and 0 where they are known. ``excess`` is the excess kurtosis of the noise.
    """
    g, total, begin = sums.agents.size, sums.rho.size, 0
    product, trend, square, pairs = np.zeros(g), np.zeros(g), np.zeros(g), 0
    # The times of steps on a scale with mean 0, so that the mean square drops out of the trend.
    scale = np.linspace(-1, 1, total)
    for d, e, b, u in steps.blocks(sums.at):
        unit = b[:, sums.agents] + d[:, sums.agents] * weights.sum(axis=1) - e @ weights.T - np.outer(u, hidden)
        residual = (tau * unit).reshape(sums.count, -1, g)
        here = slice(begin, begin + residual.shape[1])
        # Pairs across two blocks are left out, as are those across a gap.
        first = np.flatnonzero(np.diff(steps.times[sums.at[here]]) == 1)
        product += (residual[:, first] * residual[:, first + 1]).sum(axis=(0, 1))
        squares = (residual**2).sum(axis=0)
        trend, square = trend + scale[here] @ squares, square + squares.sum(axis=0)
        pairs, begin = pairs + first.size * sums.count, here.stop
    mean = np.maximum(square / (total * sums.count), np.finfo(float).tiny)
    spread = np.sqrt(max(2 + excess, 1e-3) * sums.count * float((scale**2).sum()))
    return product / (mean * np.sqrt(max(pairs, 1))), trend / (mean * spread)


# Problems have the form ½βᵀMβ − Σ_r ν_r Σ_t log(τ_r + ρ_t d_r) over β ≥ 0, with τ and d linear in β: ``tau_map`` and
# ``degree_map`` (rows, variables) are these maps, ``times`` returns Mβ, ``gram`` a part of M.


@final
@dataclass(frozen=True, eq=False)
class AgentProblem:
    """The problem of one agent; the variables are θ_i1 … θ_in and τ_i, of which θ_ii is never used."""

    moments: ProductSums
    at: int
    nu: Vector
    rho: Vector
    count: int
    tau_map: Vector
    degree_map: Vector
    diagonal: Vector

    @classmethod
    def of(cls, moments: ProductSums, at: int, nu: float = 1.0) -> AgentProblem:
        """Return the problem of the agent at this position of its group."""
        n = moments.s.shape[0]
        diagonal = np.append(np.diag(moments.s) - 2 * moments.c[at] + moments.q[at], moments.bb[at])
        tau, degree = np.zeros((1, n + 1)), np.ones((1, n + 1))
        tau[0, n], degree[0, n] = 1.0, 0.0
        return cls(moments, at, np.array([nu]), moments.rho, moments.count, tau, degree, diagonal)

    def times(self, beta: Vector) -> Vector:
        """Return Mβ, from the columns of the weights that are not 0."""
        m, i, n = self.moments, self.at, self.moments.s.shape[0]
        used = np.flatnonzero(beta[:n])
        theta, tau = beta[used], beta[n]
        d = theta.sum()
        weights = theta @ m.s[used] - m.c[i] * d - m.c[i, used] @ theta + m.q[i] * d + tau * (m.bd[i] - m.be[i])
        return np.append(weights, d * m.bd[i] - m.be[i, used] @ theta + tau * m.bb[i])

    def gram(self, which: Index) -> Vector:
        """Return M for some of the variables."""
        m, i, n = self.moments, self.at, self.moments.s.shape[0]
        last = which.size and which[-1] == n
        j = which[:-1] if last else which
        c = m.c[i, j]
        found = np.empty((which.size, which.size))
        found[: j.size, : j.size] = m.s[np.ix_(j, j)] - c[:, None] - c[None, :] + m.q[i]
        if last:
            found[-1, :-1] = found[:-1, -1] = m.bd[i] - m.be[i, j]
            found[-1, -1] = m.bb[i]
        return found


@final
@dataclass(frozen=True, eq=False)
class SymmetricProblem:
    """The problem of all agents with a_ij = a_ji and θ_ij = a_ij r_i; the variables are a_ij for i < j, then one τ.

    ``r`` (n,) is 1/(s_i deviation_i) and τ_i = τ/deviation_i, where all deviations are known up to one factor.
    """

    groups: Sequence[ProductSums]
    pairs: Index
    r: Vector
    deviation: Vector
    nu: Vector
    rho: Vector
    count: int
    tau_map: Any
    degree_map: Any
    diagonal: Vector

    @classmethod
    def of(
        cls, groups: Sequence[ProductSums], pairs: Index, stubbornness: Vector, deviation: Vector
    ) -> SymmetricProblem:
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

    def times(self, beta: Vector) -> Vector:
        """Return Mβ, from one product of matrices for each group of agents."""
        (a, b), r = self.pairs.T, self.r
        n = r.size
        theta, found, own = np.zeros((n, n)), np.zeros((n, n)), 0.0
        theta[a, b], theta[b, a] = beta[:-1] * r[a], beta[:-1] * r[b]
        tau = beta[-1] / self.deviation
        for g in self.groups:
            rows, mine = theta[g.agents], tau[g.agents]
            d = rows.sum(axis=1)
            shift = g.q * d + mine * g.bd - (g.c * rows).sum(axis=1)
            found[g.agents] = rows @ g.s - g.c * d[:, None] - mine[:, None] * g.be + shift[:, None]
            own += float((d * g.bd - (g.be * rows).sum(axis=1) + mine * g.bb) @ (1 / self.deviation[g.agents]))
        return np.append(found[a, b] * r[a] + found[b, a] * r[b], own)

    def gram(self, which: Index) -> Vector:
        """Return M for some of the variables, assembled agent by agent."""
        m = len(self.pairs)
        if which.size > JOINT_PAIRS:
            rule = f"a symmetric fit can have {JOINT_PAIRS:,} edges or fewer"
            remedy = "use symmetric=False, name candidates, or raise the penalty"
            raise TooLargeError(message(rule, got=f"{which.size:,}", remedy=remedy))
        found = np.zeros((which.size, which.size))
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
                found[np.ix_(here, here)] += block * self.r[i] ** 2
                if last:
                    found[here, -1] += (group.bd[at] - group.be[at, j]) * self.r[i] / self.deviation[i]
                    found[-1, -1] += group.bb[at] / self.deviation[i] ** 2
        if last:
            found[-1, :-1] = found[:-1, -1]
        return found


Problem: TypeAlias = AgentProblem | SymmetricProblem


def _arguments(problem: Problem, beta: Vector) -> Vector:
    """Return u = τ_r + ρ_t d_r, (rows, T)."""
    tau, degree = problem.tau_map @ beta, problem.degree_map @ beta
    return np.asarray(tau[:, None] + problem.rho * degree[:, None])


def _log_sum(problem: Problem, beta: Vector) -> float:
    """Return Σ_r ν_r Σ_t log u, −∞ where an argument is not positive."""
    u = _arguments(problem, beta)
    return problem.count * float(problem.nu @ np.log(u).sum(axis=1)) if u.min() > 0 else -np.inf


def _log_slope(problem: Problem, inverse: Vector) -> Vector:
    """Return the gradient of Σ_r ν_r Σ_t log u, given 1/u."""
    weight = problem.nu * problem.count
    first = problem.tau_map.T @ (weight * inverse.sum(axis=1))
    return np.asarray(first + problem.degree_map.T @ (weight * (inverse @ problem.rho)))


def _log_hessian(problem: Problem, inverse: Vector, which: Index) -> Vector:
    """Return Σ_r ν_r Σ_t p pᵀ with p the gradient of log u: minus the second derivative of the logarithms."""
    tau, degree = problem.tau_map[:, which], problem.degree_map[:, which]
    square = inverse * inverse
    by = [problem.nu * problem.count * part for part in (square.sum(1), square @ problem.rho, square @ problem.rho**2)]
    if sparse.issparse(tau):
        inner, middle, outer = (sparse.diags_array(part) for part in by)
        cross = tau.T @ middle @ degree
        return np.asarray((tau.T @ inner @ tau + cross + cross.T + degree.T @ outer @ degree).toarray())
    (t,), (d,) = tau, degree
    cross = by[1] * np.outer(t, d)
    return np.asarray(by[0] * np.outer(t, t) + cross + cross.T + by[2] * np.outer(d, d))


def gradient(problem: Problem, beta: Vector) -> Vector:
    """Return the gradient, without a penalty, in all variables."""
    return problem.times(beta) - _log_slope(problem, 1 / _arguments(problem, beta))


def solve(
    problem: Problem, beta: Vector, allowed: Mask, penalty: Vector | float = 0.0, tolerance: float = STATIONARY
) -> Vector:
    """Return the minimum over β ≥ 0, with variables that are not allowed kept as they are.

    Projected Newton steps on the variables that are positive or that the gradient pulls up, at most twice as many as
    are positive, so that the work follows the number of edges and not that of pairs. It ends where no gradient exceeds
    ``tolerance`` standard errors of the score.
    """
    beta = beta.copy()
    score = np.sqrt(np.maximum(problem.diagonal, np.finfo(float).tiny))
    for _ in range(_ITERATIONS):
        checkpoint()
        inverse = 1 / _arguments(problem, beta)
        logs = _log_slope(problem, inverse)
        slope = problem.times(beta) - logs + penalty
        down = np.where(allowed, -slope / score, -np.inf)
        positive = allowed & (beta > 0)
        wanted = np.flatnonzero(~positive & (down > tolerance))
        if not wanted.size and (np.abs(down[positive]) <= tolerance).all():
            return beta
        most = max(8, int(positive.sum()))
        if wanted.size > most:
            wanted = wanted[np.argpartition(-down[wanted], most)[:most]]
        which = np.union1d(np.flatnonzero(positive), wanted)
        if not _newton_step(problem, beta, which, slope[which], logs[which], inverse):
            # No further decrease within rounding errors.
            return beta
    rule = "weights need more steps than unknowns: a perfect fit has an unbounded likelihood"
    remedy = "select edges by penalty='bic', or observe more steps"
    raise InvalidInputError(message(rule, got=f"{problem.rho.size * problem.count} steps", remedy=remedy))


def _newton_step(problem: Problem, beta: Vector, which: Index, slope: Vector, logs: Vector, inverse: Vector) -> bool:
    """Take one step on some variables, in place; return whether the objective decreased.

    ``slope`` is its gradient, ``logs`` the logarithms' part of it, and ``inverse`` 1/u.
    """
    matrix = problem.gram(which)
    hessian = matrix + _log_hessian(problem, inverse, which)
    # Fewer steps than unknowns make it singular; the ridge is far below the information of one step.
    hessian[np.diag_indices_from(hessian)] *= 1 + 1e-10
    # LAPACK's own routine: the checks of `linalg.solve` take longer than a system of ten equations.
    _, direction, failed = linalg.lapack.dposv(hessian, -slope)
    if failed:
        direction = linalg.lstsq(hessian, -slope)[0]
    old, before = beta[which].copy(), _log_sum(problem, beta)
    # Without the logarithms the objective is quadratic, with this slope at the old values.
    plain, size = slope + logs, 1.0
    while size > 1e-12:
        beta[which] = np.maximum(old + size * direction, 0.0)
        move = beta[which] - old
        change = float(plain @ move + 0.5 * move @ matrix @ move) - (_log_sum(problem, beta) - before)
        if change <= 1e-4 * min(0.0, float(slope @ move)):
            return bool(change < -1e-13 * (1 + abs(before)))
        size /= 2
    beta[which] = old
    return False


def objective(problem: Problem, beta: Vector) -> float:
    """Return the negative log-likelihood of the unit-variance residuals, up to a constant, without a penalty."""
    return 0.5 * float(beta @ problem.times(beta)) - _log_sum(problem, beta)


def information(problem: Problem, beta: Vector, which: Index) -> tuple[Vector, Vector]:
    """Return the observed information of some variables, and the part of it that the logarithms contribute."""
    logs = _log_hessian(problem, 1 / _arguments(problem, beta), which)
    return problem.gram(which) + logs, logs
