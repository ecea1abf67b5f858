"""Likelihood of unknown weights, given complete answers: sufficient statistics, and its maximum without bounds.

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
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import stdtr

from peerpressure.errors import InvalidInputError, PeerPressureError, message
from peerpressure.model.step import Array
from peerpressure.recovery.least_squares import whiten_pair
from peerpressure.recovery.limits import LEAST_INFORMATION
from peerpressure.support.progress import check_cancelled

Mask: TypeAlias = NDArray[np.bool_]
Index: TypeAlias = NDArray[np.int64]
# Numbers in a block of steps whose products are summed at once.
_BLOCK = 2**22


@final
@dataclass(frozen=True, eq=False)
class Steps:
    """The usable steps of a run: states y of shape (replicates, T, n) at times t₁ < … < t_T, and their noise.

    ``rho`` and ``scale`` (T,) are ρ_t and the noise's scale at these times, ``coefficient`` is its autocorrelation φ.
    A step enters if its predecessor is recorded, and for φ ≠ 0 the one before that as well. ``known`` (n,) is x₀ where
    it is known, and NaN elsewhere.
    """

    states: NDArray[Any]
    times: Index
    rho: Array
    scale: Array
    coefficient: float
    known: Array

    @property
    def lag(self) -> int:
        """Number of predecessors that a step needs."""
        return 2 if self.coefficient else 1

    def consecutive(self) -> Mask:
        """Return which recorded times have their predecessors recorded, (T,)."""
        mask = np.zeros(self.times.size, dtype=bool)
        mask[self.lag :] = self.times[self.lag :] - self.times[: -self.lag] == self.lag
        return mask

    def blocks(self, rows: Index) -> Iterator[tuple[Array, Array, Array, Array]]:
        """Yield D, E, B (replicates · steps, n) and u (replicates · steps,) for blocks of the rows given.

        The residual of agent i is τ_i B_i + Σ_j θ_ij (D_i − E_j) − ξ_i u. An AR(1) noise is whitened by differences.
        """
        size = max(1, _BLOCK // max(1, self.states.shape[0] * self.states.shape[2]))
        centre = self.centre
        for first in range(0, rows.size, size):
            check_cancelled()
            part = rows[first : first + size]
            now = self._terms(part, centre)
            if self.coefficient:
                before = self._terms(part - 1, centre)
                now = [whiten_pair(a, b, self.coefficient) for a, b in zip(now, before, strict=True)]
            d, e, b, u = (np.nan_to_num(term.reshape(-1, term.shape[-1])) for term in now)
            yield d, e, b, u[:, 0]

    def _terms(self, rows: Index, centre: float) -> list[Array]:
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
    s: Array
    c: Array
    q: Array
    be: Array
    bd: Array
    bb: Array
    du: Array
    eu: Array
    bu: Array
    uu: float
    rho: Array
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
    steps: Steps, sums: ProductSums, tau: Array, weights: Array, hidden: Array, excess: float
) -> tuple[Array, Array]:
    """Return two tests of a group's residuals, in standard errors, (g,) each.

    The first is their correlation from one step to the next, the second the trend of their squares over time.
    ``tau`` and ``hidden`` (g,) and ``weights`` (g, n) are the estimates; hidden opinions are relative to the centre,
    and 0 if they are known. ``excess`` is the excess kurtosis of the noise.
    """
    g, total, begin = sums.agents.size, sums.rho.size, 0
    product, trend, square, pairs = np.zeros(g), np.zeros(g), np.zeros(g), 0
    # The times of steps on a scale with mean 0: the mean square drops out of the trend.
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


# The likelihood of weights without bounds and without a penalty: tests of single edges, and the scale of the noise.
#
# Its estimates are unbiased where a weight is 0, so neither bounds nor a selection of edges distort what follows from
# them. Given τ, θ = G⁻¹(p1 − τb) with p = Σ ν_t ρ_t/(τ + ρ_t d), which leaves one increasing equation for d = 1ᵀθ. The
# agents' matrices G are the shared one less a row, plus one of rank 2, so one inverse serves all of them.

# Steps beyond the number of unknowns that the fit needs.
_SPARE = 10
# Reciprocal condition number of scaled sums of products below which rounding errors of the answers fill a direction.
_RESOLVED = 1e-13
_ITERATIONS = 200


@final
@dataclass(frozen=True, eq=False)
class Unbounded:
    """An agent's likelihood with its weights at their best for given τ.

    ``ones``, ``b`` and ``diagonal`` (candidates,) are G⁻¹1, G⁻¹b and the diagonal of G⁻¹, ``total``, ``sum_b`` and
    ``inner`` are 1ᵀG⁻¹1, 1ᵀG⁻¹b and bᵀG⁻¹b; ``neighbours`` are the candidates. ``weight`` (T,) is the sum of ν over the
    rows of each step, and ``spare`` counts the rows beyond the unknowns. With weights of both signs the degree is one
    more variable, the last, and the unit vector of that variable takes the place of 1.
    """

    neighbours: Index
    ones: Array
    b: Array
    diagonal: Array
    total: float
    sum_b: float
    inner: float
    square: float
    rho: Array
    weight: Array
    spare: int

    def degree(self, tau: float) -> float:
        """Return the sum of the weights θ for a given τ."""
        rho, total, shift = self.rho, self.total, tau * self.sum_b
        # d + shift − total·p(d) is increasing and concave, so Newton's steps from its left stay there and converge.
        least = -tau / float(rho.max())
        d = 0.0
        for _ in range(_ITERATIONS):
            if d + shift <= total * float(self.weight @ (rho / (tau + rho * d))):
                break
            d = (d + least) / 2
        else:
            # With a positive total the right side grows without bound towards the least degree.
            _refuse_dependent()
        for _ in range(_ITERATIONS):
            pull = rho / (tau + rho * d)
            excess = d + shift - total * float(self.weight @ pull)
            step = -excess / (1 + total * float(self.weight @ pull**2))
            d += step
            if abs(step) <= 1e-13 * (abs(d) + tau):
                return d
        rule = f"the weights must converge in {_ITERATIONS} Newton steps"
        raise PeerPressureError(message(rule, got=f"a last change of {abs(step):.1g}", remedy="observe more steps"))

    def weights(self, tau: float, excess: float) -> tuple[Array, Array]:
        """Return θ for a given τ, and its standard errors for noise of this excess kurtosis."""
        pull = self.rho / (tau + self.rho * self.degree(tau))
        theta = self.ones * float(self.weight @ pull) - tau * self.b
        curvature = float(self.weight @ pull**2)
        through = self.ones / (1 + curvature * self.total)
        variance = self.diagonal - curvature * self.ones * through + excess * curvature * through**2
        return theta, np.sqrt(np.maximum(variance, np.finfo(float).tiny))

    def profile(self, tau: float) -> tuple[float, float]:
        """Return slope and curvature of the negative log-likelihood in τ, with the weights at their best."""
        total, sum_b = self.total, self.sum_b
        inverse = 1 / (tau + self.rho * self.degree(tau))
        pull = self.rho * inverse
        first = [float(self.weight @ part) for part in (inverse, pull)]
        second = [float(self.weight @ part) for part in (inverse**2, inverse * pull, pull**2)]
        # bᵀθ = p bᵀG⁻¹1 − τ bᵀG⁻¹b.
        slope = self.square * tau + first[1] * sum_b - tau * self.inner - first[0]
        # hᵀ(G + c11ᵀ)⁻¹h for the mixed derivative h = b + c′1.
        straight = self.inner + 2 * second[1] * sum_b + second[1] ** 2 * total
        along = sum_b + second[1] * total
        mixed = straight - second[2] * along**2 / (1 + second[2] * total)
        return float(slope), float(self.square + second[0] - mixed)


@final
@dataclass(frozen=True, eq=False)
class _Inverse:
    """G⁻¹ of an agent as A⁻¹ − VWVᵀ, where A⁻¹ is that of its neighbours; arrays over all agents, 0 for no neighbours.

    ``shared`` if A is the matrix of all agents but one; its inverse then follows from that of all. ``totals`` are
    1ᵀG⁻¹1, 1ᵀG⁻¹b and bᵀG⁻¹b. With weights of both signs the degree comes after the agents, and its unit vector is 1.
    """

    shared: bool
    ones: Array
    b: Array
    diagonal: Array
    totals: tuple[float, float, float]
    v: Array
    w: Array


def unbounded(steps: Steps, sums: ProductSums, allowed: Mask, *, signed: bool = False) -> list[Unbounded | None]:
    """Return the likelihoods of a group's agents, None if steps are too few.

    With weights of both signs, steps and sums are those of agents and images, and ``allowed`` (g, n) that of agents.
    """
    # Steps without peer pressure carry no information about weights.
    spare = np.count_nonzero(sums.rho) * sums.count - allowed.sum(axis=1) - sums.free - signed
    enough = np.flatnonzero((spare >= _SPARE) & allowed.any(axis=1))
    likelihoods: list[Unbounded | None] = [None] * len(spare)
    if not enough.size:
        return likelihoods
    n = allowed.shape[1]
    # Neighbours' opinions are relative to their mean, which makes their matrix singular, unless a sign has a meaning;
    # any multiple of 11ᵀ helps.
    ridge = 0.0 if signed else float(np.trace(sums.s)) / n**2
    whole = sums.s[:n, :n] + ridge
    if (allowed[enough].sum(axis=1) == n - 1).any() and not is_resolved(whole):
        _refuse_dependent()
    # If candidates leave every agent fewer neighbours, each has an inverse of its own.
    base = linalg.inv(whole) if is_resolved(whole) else np.eye(n)
    inverses = [_inverse(sums, int(at), allowed[at], base, ridge, signed=signed) for at in enough]
    weight = _weights(steps, sums, enough, inverses, allowed, base, ridge)
    for at, one, left in zip(enough, inverses, weight, strict=True):
        j = np.flatnonzero(allowed[at])
        k = np.append(j, n) if signed else j
        own = one.ones[k], one.b[k], one.diagonal[k]
        likelihoods[at] = Unbounded(j, *own, *one.totals, float(sums.bb[at]), sums.rho, left, int(spare[at]))
    return likelihoods


def _inverse(sums: ProductSums, at: int, allowed: Mask, base: Array, ridge: float, *, signed: bool) -> _Inverse:
    """Return G⁻¹ for G = A − c1ᵀ − 1cᵀ + q11ᵀ, by Woodbury's identity; with signs, for G = [[A, −c], [−cᵀ, q]]."""
    check_cancelled()
    i, n = int(sums.agents[at]), len(base)
    shared = int(allowed.sum()) == n - 1
    c, be, bd = sums.c[at, :n], sums.be[at, :n], float(sums.bd[at])
    right = np.where(allowed, [np.ones(n), c, (0.0 if signed else bd) - be], 0.0).T
    if shared:
        # Leaving out agent i takes a term of rank 1 from the inverse, and makes row i of the products 0.
        through = base @ right
        through -= np.outer(base[:, i], through[i] / base[i, i])
        diagonal = np.diag(base) - base[:, i] ** 2 / base[i, i]
    else:
        j = np.flatnonzero(allowed)
        inverse = _part(sums, j, ridge)
        through, diagonal = np.zeros((n, 3)), np.zeros(n)
        through[j], diagonal[j] = inverse @ right[j], np.diag(inverse)
    if signed:
        # What the degree adds to the opinions of neighbours.
        left = float(sums.q[at]) - float(c @ through[:, 1])
        if not left > _RESOLVED * float(sums.q[at]):
            _refuse_dependent()
        v, last = through[:, 1:2], (bd + float(c @ through[:, 2])) / left
        ones, b = np.append(v[:, 0], 1.0) / left, np.append(through[:, 2] + last * v[:, 0], last)
        totals = 1 / left, last, float(right[:, 2] @ b[:n]) + bd * last
        diagonal = np.append(diagonal + v[:, 0] ** 2 / left, 1 / left)
        return _Inverse(shared, ones, b, diagonal, totals, v, np.array([[-1 / left]]))
    u, v = right[:, :2], through[:, :2]
    # NumPy's inverse, because the rows of this matrix have different units, which SciPy takes for ill-conditioned.
    w = np.linalg.inv(np.array([[0.0, -1.0], [-1.0, ridge - sums.q[at]]]) + u.T @ v).astype(np.float64)
    ones, b = (part - v @ (w @ (u.T @ part)) for part in (through[:, 0], through[:, 2]))
    totals = float(ones.sum()), float(b.sum()), float(right[:, 2] @ b)
    return _Inverse(shared, ones, b, diagonal - ((v @ w) * v).sum(axis=1), totals, v, w)


def _part(sums: ProductSums, j: Index, ridge: float) -> Array:
    matrix = sums.s[np.ix_(j, j)] + ridge
    if not is_resolved(matrix):
        _refuse_dependent()
    return np.asarray(linalg.inv(matrix))


def is_resolved(matrix: Array) -> bool:
    """Whether a symmetric matrix of sums of products is positive definite beyond its rounding errors."""
    size = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    if not (np.isfinite(matrix).all() and (size > 0).all()):
        return False
    scaled = matrix / np.outer(size, size)
    factor, failed = linalg.lapack.dpotrf(scaled)
    if failed:
        return False
    reciprocal, _ = linalg.lapack.dpocon(factor, float(np.abs(scaled).sum(axis=0).max()))
    return bool(reciprocal > _RESOLVED)


def _refuse_dependent() -> NoReturn:
    rule = "weights can be estimated only if fresh noise moves every agent at each step"
    got = "answers of which some follow from the others to the last digits"
    remedy = (
        "check that the noise is neither absent nor frozen and that no agent is a copy of another; of such answers "
    )
    remedy += "no network can be inferred"
    raise InvalidInputError(message(rule, got=got, remedy=remedy))


def _weights(
    steps: Steps,
    sums: ProductSums,
    which: Index,
    inverses: Sequence[_Inverse],
    allowed: Mask,
    base: Array,
    ridge: float,
) -> Array:
    """Return Σ (1 − leverage) over the rows of each step, (agents, T): what the fit leaves of the logarithms.

    A residual keeps 1 − h of its own noise, h being the leverage of its row. Early steps, which determine the scale,
    have most of it.
    """
    weights, begin = np.zeros((which.size, sums.rho.size)), 0
    # x₀ is one more unknown, whose part of the leverage is u²/Σu².
    share, agents, n = 1 / sums.uu if sums.free else 0.0, sums.agents[which], len(base)
    ones, total = np.stack([one.ones[:n] for one in inverses]), np.array([one.totals[0] for one in inverses])
    v, w = np.stack([one.v for one in inverses]), np.stack([one.w for one in inverses])
    for all_d, all_e, _, u in steps.blocks(sums.at):
        check_cancelled()
        d, e = all_d[:, agents] - share * np.outer(u, sums.du[which]), all_e[:, :n] - share * np.outer(u, sums.eu[:n])
        through = e @ base
        leverage = (through * e).sum(axis=1)[:, None] - through[:, agents] ** 2 / np.diag(base)[agents]
        for k in (k for k, one in enumerate(inverses) if not one.shared):
            j = np.flatnonzero(allowed[which[k]])
            leverage[:, k] = ((e[:, j] @ _part(sums, j, ridge)) * e[:, j]).sum(axis=1)
        along = [e @ v[:, :, a].T for a in range(v.shape[2])]
        leverage -= sum(w[:, a, b] * one * other for a, one in enumerate(along) for b, other in enumerate(along))
        leverage += d**2 * total - 2 * d * (e @ ones.T) + share * u[:, None] ** 2
        end = begin + u.size // sums.count
        weights[:, begin:end] = (1 - leverage).reshape(sums.count, -1, which.size).sum(axis=0).T
        begin = end
    return weights


# Weights of both signs. An agent who distrusts another listens to the opposite of its opinion, so each agent has a
# mirror image with opinions −y, whose weight is that of distrust and not negative. The degree is the sum of absolute
# weights. Without bounds it is a variable of its own: the columns of an agent and of its image add up to the same one.


def mirrored(steps: Steps) -> Steps:
    """Return the steps of the agents, followed by their mirror images; opinions are relative to 0."""
    return replace(
        steps,
        states=np.concatenate([steps.states, -steps.states], axis=2),
        known=np.concatenate([steps.known, -steps.known]),
    )


def common_scale(agents: Sequence[Unbounded | None], deviation: Array) -> tuple[float, float]:
    """Return the factor τ of all agents, τ_i = τ/deviation_i, and its information.

    Newton's method on the sum of the agents' profile likelihoods, which is concave in τ. If the information about
    log τ is too small to determine it, τ = 1 and an information of 0 are returned.
    """
    used = [(agent, float(s)) for agent, s in zip(agents, deviation, strict=True) if agent is not None]
    tau, curvature = 1.0, 0.0
    for _ in range(_ITERATIONS if used else 0):
        check_cancelled()
        parts = np.array([agent.profile(tau / s) for agent, s in used])
        s = np.array([s for _, s in used])
        slope, curvature = float((parts[:, 0] / s).sum()), float((parts[:, 1] / s**2).sum())
        # In log τ, where a step cannot reach 0; the slope's part of the curvature vanishes at the maximum.
        step = -tau * slope / max(tau**2 * curvature + tau * slope, 0.1 * tau**2 * curvature)
        # Information of the size of rounding errors leads nowhere.
        if abs(step) < 1e-9 or tau**2 * curvature < 1e-9 or not 1e-12 < tau < 1e12:
            break
        tau *= float(np.exp(np.clip(step, -1.0, 1.0)))
    if not (1e-12 < tau < 1e12 and tau**2 * curvature >= LEAST_INFORMATION):
        return 1.0, 0.0
    return tau, curvature


def own_scales(agents: Sequence[Unbounded | None], deviation: Array) -> tuple[Array, Array]:
    """Return τ_i and its information for each agent; where it is lost, the common scale and an information of 0.

    Whether it is lost depends on the information at the common scale: at an agent's own, it would be large just where
    that is too small.
    """
    factor, _ = common_scale(agents, deviation)
    tau, known = factor / deviation, np.zeros(len(agents))
    for i, agent in enumerate(agents):
        if agent is None or agent.profile(tau[i])[1] * tau[i] ** 2 < LEAST_INFORMATION:
            continue
        own, information = common_scale([agent], deviation[i : i + 1])
        if information:
            tau[i], known[i] = own / deviation[i], information * deviation[i] ** 2
    return tau, known


def edge_tests(agents: Sequence[Unbounded | None], tau: Array, excess: float) -> tuple[Array, Array, Array]:
    """Return estimates θ and their standard errors (n, n), NaN where there are none, and degrees of freedom (n, 1)."""
    n = len(agents)
    value, error, spare = np.full((n, n), np.nan), np.full((n, n), np.nan), np.ones((n, 1))
    for i, agent in enumerate(agents):
        if agent is not None:
            j = agent.neighbours
            theta, std = agent.weights(float(tau[i]), excess)
            value[i, j], error[i, j] = theta[: j.size], std[: j.size]
            spare[i] = agent.spare
    return value, error, spare


def confidence(value: Array, error: Array, spare: Array) -> Array:
    """Return one minus the p-value of the one-sided test of 0, NaN where there is none."""
    # Student's law, because the scale of an agent's residuals is estimated from the same steps.
    return np.asarray(stdtr(spare, value / error))
