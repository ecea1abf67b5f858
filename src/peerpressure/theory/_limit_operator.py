"""The limit law of any model of independent steps, from the limit of products of its step matrices.

Over a block of steps in which no class has a period, the mean map is K(δ) = K₀ + δK₁ + … with δ = 1/ρ. With E = RLᵀ
the projector of K₀ at its eigenvalue 1 (absorption probabilities times stationary laws), Γ = LᵀK₁R is the generator of
a slow chain between classes, and products of K tend to R e^(τΓ) Lᵀ, where τ is the sum of the δ to come. Where maps are
random, second moments follow the pair chain W = E[M ⊗ M], for which the same holds. The law is exact up to a step T,
and the limit operators take it from there; what they leave out is of order Σ δ² over later steps, and is extrapolated.

Noise of order 1 in a mode that nothing restores makes a random walk, and so does noise of order δ where Σ δ² diverges;
which modes nothing restores must be read at δ > 0. Frozen noise that enters such a mode makes it drift: like t, or like
Σ δ where it enters in order δ.

References
----------
.. [1] J. G. Kemeny, J. L. Snell, "Finite Markov Chains" (1960).
.. [2] T. Kato, "Perturbation Theory for Linear Operators" (1966).
.. [3] A. Tahbaz-Salehi, A. Jadbabaie, "A necessary and sufficient condition for consensus over random networks", IEEE
   Trans. Autom. Control 53 (2008).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import accumulate, pairwise
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm, solve_discrete_lyapunov
from scipy.sparse import csr_array

from peerpressure.model.step import Array
from peerpressure.networks.chain import closed_classes, double_cover, phases
from peerpressure.schedules import Schedule
from peerpressure.support.progress import check_cancelled
from peerpressure.theory._classification import LongRun
from peerpressure.theory._limit_law import LimitKind, LimitLaw
from peerpressure.theory._regime import Regime, farthest, later_sum, noise_sum_diverges
from peerpressure.theory._step_law import RandomStep, RandomSteps, step_laws

# Steps that are followed exactly, fewer where they take longer: in continuous time, and where networks are many.
HORIZON = 1_024
MANY_NETWORKS = 64
# Entries of the state up to which means, and entries of a symmetric matrix up to which second moments are followed
# where maps are random.
MOST_STATES = 600
MOST_PAIRS = 600
# Steps of a block that are analysed as a whole.
LONGEST_BLOCK = 64
# Singular values below this are 0, and projectors of a condition above the inverse of the second do not exist.
SINGULAR, SEMISIMPLE = 1e-9, 1e-7
# Of a generator, and of what noise adds to a mode: smaller numbers are rounding errors.
ROUNDING, NO_NOISE = 1e-9, 1e-11
# Shares of the scale of opinions: swings, deviations, movements and distances within a group below these are none.
SWING, DEVIATION, MOVEMENT, GROUP_DISTANCE = 1e-6, 1e-4, 1e-5, 2e-4


@final
@dataclass(frozen=True, eq=False)
class SlowChain:
    """Limits of products of K₀ + δK₁ + …, from the projector of K₀ at 1 and the slow generator between its modes."""

    K0: Array
    K1: Array

    @cached_property
    def modes(self) -> tuple[Array, Array] | None:
        """Right and left vectors R, Lᵀ of the eigenvalue 1 with LᵀR = I; None where it is not semisimple."""
        return _kernel(self.K0 - np.eye(len(self.K0)))

    @property
    def projector(self) -> Array:
        """The projector E = RLᵀ."""
        assert self.modes is not None
        return np.asarray(self.modes[0] @ self.modes[1])

    def part(self, states: slice) -> SlowChain:
        """Return the chain of some states."""
        return SlowChain(self.K0[states, states], self.K1[states, states])

    def limit(self, tau: float) -> Array | None:
        """Return the limit of products after which the δ to come sum to τ; None where a mode grows without bound."""
        if self.modes is None:
            return None
        R, left = self.modes
        generator = _cleaned(left @ self.K1 @ R)
        if tau < math.inf or not generator.any():
            return np.asarray(R @ expm((tau if generator.any() else 0.0) * generator) @ left)
        kernel = _kernel(generator)
        return None if kernel is None else np.asarray(R @ kernel[0] @ kernel[1] @ left)

    def response(self, entering: Array) -> Array:
        """Return what a constant input of the other modes leaves, summed over all later blocks."""
        E = self.projector
        return np.asarray(np.linalg.solve(np.eye(len(E)) - self.K0 + E, entering - E @ entering))

    @property
    def is_aperiodic(self) -> bool:
        """Whether 1 is the only eigenvalue of modulus 1."""
        moduli = np.abs(np.linalg.eigvals(self.K0))
        return self.modes is not None and int(np.sum(moduli > 1 - SINGULAR)) == self.modes[0].shape[1]


def _cleaned(generator: Array) -> Array:
    """Return a generator without its rounding errors."""
    return np.where(np.abs(generator) < ROUNDING * max(1.0, np.abs(generator).max(initial=0.0)), 0.0, generator)


def _kernel(matrix: Array) -> tuple[Array, Array] | None:
    """Return right and left bases of the kernel of a matrix, normalised to each other; None if it is not semisimple."""
    U, values, Vt = np.linalg.svd(matrix)
    rank = int(np.sum(values > SINGULAR * max(1.0, float(np.abs(matrix).max(initial=0.0)))))
    R, left = Vt[rank:].T, U[:, rank:].T
    if not R.size:
        return R, left
    inner = left @ R
    if np.linalg.svd(inner, compute_uv=False)[-1] < SEMISIMPLE:
        return None
    return R, np.linalg.solve(inner, left)


@final
@dataclass(frozen=True, eq=False)
class PressureClock:
    """Sums of 1/ρ and of its square over steps to come; ``limit`` is ρ_∞ where pressure is bounded, else None."""

    pressure: Schedule
    farthest: float
    limit: float | None
    diverges: bool
    squares_diverge: bool

    def later(self, step: float, power: int = 1) -> float:
        """Return Σ 1/ρ_t^power over t > step: 0 where pressure is bounded, ∞ where the sum diverges."""
        if self.limit is not None:
            return 0.0
        if self.squares_diverge if power == 2 else self.diverges:
            return math.inf
        return later_sum(lambda times: self.pressure.reciprocal(times) ** power, step, self.farthest)


@final
@dataclass(frozen=True, eq=False)
class _Block:
    """Limits of the maps of a block: laws of its steps at infinity, and its mean map with the slow generator."""

    laws: RandomSteps
    steps: tuple[RandomStep, ...]
    slow: SlowChain

    @property
    def size(self) -> int:
        return len(self.steps)

    @cached_property
    def added(self) -> Array:
        """The second moment that the noise of its steps adds."""
        added = np.zeros_like(self.slow.K0)
        for step in self.steps:
            K, _ = _mean(self.laws, step)
            added = K @ added @ K.T + step.noise
        return added


def _mean(laws: RandomSteps, step: RandomStep) -> tuple[Array, Array]:
    """Return the mean map of a step, and its derivative by 1/ρ."""
    n = laws.model.n
    share = np.concatenate([np.tile(laws.updates, 2), np.ones(laws.states - 2 * n)])[:, None]
    on, off, slope = (np.einsum("g,gij->ij", step.chance, each) for each in (step.on, step.off, step.slope_on))
    return off + share * (on - off), share * slope


def _product(parts: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the product of maps, the last one on the left, and its derivative."""
    return reduce(lambda one, two: (two[0] @ one[0], two[0] @ one[1] + two[1] @ one[0]), parts)


def _pair_map(laws: RandomSteps, step: RandomStep, pairs: _Pairs) -> tuple[Array, Array]:
    """Return the map E[M ⊗ M] of second moments in one step, on symmetric matrices, and its derivative by 1/ρ."""
    n, layers = laws.model.n, laws.layers
    q, both = np.ones(laws.states), np.ones((laws.states, laws.states))
    q[: 2 * n] = np.tile(laws.updates, 2)
    both[:] = np.outer(q, q)
    both[: 2 * n, : 2 * n] = np.tile(laws.together, (2, 2))
    assert layers == 2 or both.shape == (3 * n, 3 * n)
    size = laws.states**2
    W, W1 = np.zeros((size, size)), np.zeros((size, size))
    for p, on, off, slope in zip(step.chance, step.on, step.off, step.slope_on, strict=True):
        change, weights = on - off, both.reshape(-1, 1)
        lazy = off + q[:, None] * change
        extra = weights - np.outer(q, q).reshape(-1, 1)
        W += p * (np.kron(lazy, lazy) + extra * np.kron(change, change))
        steeper = q[:, None] * slope
        W1 += p * (np.kron(lazy, steeper) + np.kron(steeper, lazy))
        W1 += p * extra * (np.kron(change, slope) + np.kron(slope, change))
    return pairs.halved(W), pairs.halved(W1)


@final
class _Pairs:
    """Symmetric matrices as vectors of their lower halves."""

    def __init__(self, states: int) -> None:
        self.states = states
        self.rows, self.columns = np.tril_indices(states)
        self._from = self.rows * states + self.columns
        self._to = self.columns * states + self.rows

    def halved(self, W: Array) -> Array:
        """Return a map of symmetric matrices on their halves."""
        kept = W[self._from]
        return np.asarray(
            np.where(self._from == self._to, kept[:, self._from], kept[:, self._from] + kept[:, self._to])
        )

    def half(self, S: Array) -> Array:
        return np.asarray(S[self.rows, self.columns])

    def whole(self, half: Array) -> Array:
        S = np.zeros((self.states, self.states))
        S[self.rows, self.columns] = S[self.columns, self.rows] = half
        return S


def _moved(laws: RandomSteps, step: RandomStep, mean: Array, S: Array) -> tuple[Array, Array]:
    """Return mean and second moment after a step."""
    if step.chance.size == 1 and not laws.is_random:
        # One map, taken thousands of times by most models: averages would take longer than its products.
        (F,) = step.on
        new = F @ S @ F.T + step.noise
        return F @ mean, (new + new.T) / 2
    lazy, masks = step.on, laws.mask_moments
    if masks is not None:
        lazy = step.off + masks[0][:, None] * (step.on - step.off)
    new = np.einsum("g,gij->ij", step.chance, lazy @ S @ lazy.transpose(0, 2, 1))
    if masks is not None:
        change = step.on - step.off
        new = new + masks[1] * np.einsum("g,gij->ij", step.chance, change @ S @ change.transpose(0, 2, 1))
    new = new + step.noise
    # An antisymmetric rounding error would grow.
    return step.chance @ (lazy @ mean), (new + new.T) / 2


@final
@dataclass(frozen=True, eq=False)
class ScheduleLimits:
    """What the schedules tend to: pressure by its clock, rates of adaptation, and the scale of the noise.

    ``direct`` and ``averaged``: whether noise adds up without bound in a mode that nothing restores, where it enters in
    order 1 and in order 1/ρ.
    """

    clock: PressureClock
    rates: Array
    scale: float
    direct: bool
    averaged: bool


def by_operator(long_run: LongRun) -> LongRun | None:
    """Return the long run with the law of each agent from limits of products; None where there is none."""
    law = operator_law(long_run)
    return None if law is None else replace(long_run, computed_law=law)


def operator_law(long_run: LongRun) -> LimitLaw | None:
    """Return the law of each agent from limits of products; None where it is not computed (see ``obstacle``)."""
    if obstacle(long_run) is not None:
        return None
    laws = step_laws(long_run.system)
    return None if laws is None else limit_law(laws, _limits(long_run))


def obstacle(long_run: LongRun) -> str | None:
    """Return why the limit of products of steps is not known, in a word; None if it is."""
    model, temporal = long_run.model, long_run.model.temporal_network
    reason = _schedule_without_limit(long_run)
    if reason is not None:
        return reason
    if model.activation is not None and not model.activation.is_random:
        return "updates"
    law = None if temporal is None else temporal.law
    if law is not None and (law.memory or law.pairs is None or (law.chances is None and law.presence is None)):
        return "process"
    many = model.n > MOST_STATES // 3 or (temporal is not None and (temporal.period or 1) > LONGEST_BLOCK)
    return "size" if many else None


def _schedule_without_limit(long_run: LongRun) -> str | None:
    growth, noise, adaptation = long_run.growth, long_run.model.noise, long_run.model.adaptation
    if long_run.regime is Regime.UNKNOWN:
        return "growth"
    scale = None if noise.is_zero else noise.time_scale.growth
    if scale is not None and (scale.limit is None or not math.isfinite(scale.limit)):
        return "noise" if scale.bounded is None else "noise limit"
    rate = None if adaptation is None else adaptation.rate.growth.limit
    if adaptation is not None and not rate:
        return "adaptation" if rate is None else "two clocks"
    lost = growth.limit is None or not growth.is_regular or (growth.limit == 0 and adaptation is not None)
    return "pressure limit" if lost else None


def _limits(long_run: LongRun) -> ScheduleLimits:
    model, growth, noise = long_run.model, long_run.growth, long_run.model.noise
    limit = growth.limit if growth.bounded else None
    clock = PressureClock(
        model.pressure,
        farthest(model),
        limit,
        bool(growth.reciprocal_sum_diverges),
        growth.square_sum_diverges is not False,
    )
    rates = np.zeros(model.n)
    if model.adaptation is not None:
        rates = float(model.adaptation.rate.growth.limit or 0.0) * model.adaptation.adaptation_weights(model.n)
    if noise.is_zero:
        return ScheduleLimits(clock, rates, 0.0, direct=False, averaged=False)
    scale = noise.time_scale.growth
    # Σ σ² and Σ σ²/ρ², without squares where noise is drawn once.
    direct = bool(scale.limit) or noise_sum_diverges(model, averaged=False) is not False
    averaged = limit is None and noise_sum_diverges(model, averaged=True) is not False
    return ScheduleLimits(clock, rates, float(scale.limit or 0.0), direct=direct, averaged=averaged)


def limit_law(laws: RandomSteps, limits: ScheduleLimits) -> LimitLaw | None:
    """Return the limit law of every agent; None where the model is too large, or has modes that are not resolved."""
    block = _block(laws, limits)
    random = laws.is_random
    pairs = _Pairs(laws.states)
    if block is None or (random and pairs.rows.size > MOST_PAIRS) or _leaks_in_second_order(block, limits):
        return None
    chance = _Chance(block, pairs) if random else None
    # Noise that fades may add up without bound all the same.
    probe = block if limits.scale or laws.model.noise.is_zero else _block(laws, replace(limits, scale=1.0))
    if probe is None:
        return None
    drifts, walks = _drifts(probe, limits), _walks(probe, limits)
    if drifts is None or walks is None:
        return None
    # The second moments of modes that drift have no limit.
    moving = bool(drifts.any())
    moments = _followed(block, limits, chance, means_only=moving)
    return None if moments is None else _law(block, moments, drifts, walks, chance)


def _block(laws: RandomSteps, limits: ScheduleLimits) -> _Block | None:
    """Return the block of steps in which no class of the mean chain has a period."""
    n, clock = laws.model.n, limits.clock
    if laws.states > MOST_STATES or len(laws.phases) > LONGEST_BLOCK:
        return None
    own_weight, weight = (0.0, 1.0) if clock.limit is None else (1.0, clock.limit)
    steps = tuple(laws.step(phase, own_weight, weight, limits.rates, limits.scale) for phase in laws.phases)
    K0, K1 = _product([_mean(laws, step) for step in steps])
    period = math.lcm(*(h for _, h in _classes(K0[: 2 * n, : 2 * n])))
    if period * len(steps) > LONGEST_BLOCK:
        return None
    if period > 1:
        K0, K1 = _product([(K0, K1)] * period)
    slow = SlowChain(K0, (0.0 if clock.limit is not None else 1.0) * K1 / (period * len(steps)))
    # The number of modes is known from the structure: classes of the cover that are no mirror images of themselves.
    opinions = SlowChain(K0[: 2 * n, : 2 * n], slow.K1[: 2 * n, : 2 * n])
    balanced = sum(np.unique(states % (2 * n)).size == states.size for states, _ in _classes(opinions.K0))
    if opinions.modes is None or opinions.modes[0].shape[1] != balanced // 2:
        return None
    return _Block(laws, steps * period, slow)


def _classes(K: Array) -> list[tuple[NDArray[np.int64], int]]:
    """Return the closed classes of the double cover of a map, each with its period."""
    cover = double_cover(csr_array(np.where(np.abs(K) < 1e-12, 0.0, K)))
    cover.eliminate_zeros()
    return [(states, phases(cover, states)[0]) for states in closed_classes(cover)]


def _drifts(block: _Block, limits: ScheduleLimits) -> NDArray[np.bool_] | None:
    """Return which opinions frozen noise moves ever further, shape (2n,); None if that is not resolved."""
    laws, n = block.laws, block.laws.model.n
    inner = slice(0, 2 * n)
    if not laws.frozen:
        return np.zeros(2 * n, np.bool_)
    slow = block.slow.part(inner)
    entering, averaged = (part[inner, 2 * n :] for part in (block.slow.K0, block.slow.K1))
    size = float(np.abs(np.concatenate([entering, averaged])).max(initial=0.0)) or 1.0
    drifting = np.abs(slow.projector @ entering).max(axis=1) > 1e-9 * size
    if drifting.any() and not limits.direct:
        return None
    tau = math.inf if limits.clock.limit is None and limits.averaged else 0.0
    if tau == math.inf and not drifting.any():
        limit = slow.limit(math.inf)
        if limit is None:
            return None
        drifting = np.abs(limit @ (averaged + slow.K1 @ slow.response(entering))).max(axis=1) > 1e-8 * size
    return np.asarray(drifting)


def _walks(block: _Block, limits: ScheduleLimits) -> NDArray[np.bool_] | None:
    """Return which opinions white or AR(1) noise moves without bound, shape (2n,)."""
    laws, n = block.laws, block.laws.model.n
    walking = np.zeros(2 * n, np.bool_)
    if laws.model.noise.is_zero or laws.frozen:
        return walking
    if limits.direct:
        walking |= _excited(block) > NO_NOISE
    if limits.clock.limit is None and limits.averaged:
        # Modes that are restored in order 1/ρ are told from others at a finite pressure.
        near = _at_high_pressure(block, limits)
        if near.slow.modes is None:
            return None
        walking |= _excited(near) > NO_NOISE
    return walking


def _at_high_pressure(block: _Block, limits: ScheduleLimits) -> _Block:
    """Return the block at a pressure that is finite, but at which own opinions count little."""
    laws = block.laws
    degrees = np.abs(np.concatenate([phase.adjacency for phase in laws.phases])).sum(axis=2)
    small = 1e-2 * float(np.min(degrees[degrees > 0], initial=1.0)) / float(laws.model.s.max())
    steps = tuple(laws.step(phase, small, 1.0, limits.rates, limits.scale or 1.0) for phase in laws.phases)
    steps *= block.size // len(steps)
    return _Block(laws, steps, SlowChain(*_product([_mean(laws, step) for step in steps])))


def _leaks_in_second_order(block: _Block, limits: ScheduleLimits) -> bool:
    """Whether modes that the slow chain keeps lose ever more in order 1/ρ², which it leaves out."""
    n, clock = block.laws.model.n, limits.clock
    if clock.limit is not None or not clock.squares_diverge:
        return False
    inner = slice(0, 2 * n)
    slow, near = block.slow.part(inner), _at_high_pressure(block, limits).slow.part(inner)
    if slow.modes is None or near.modes is None:
        return True
    kept = _kernel(_cleaned(slow.modes[1] @ slow.K1 @ slow.modes[0]))
    return kept is None or kept[0].shape[1] != near.modes[0].shape[1]


def _excited(block: _Block) -> Array:
    """Return the variance that the noise of a block adds to the modes that nothing restores, seen in each opinion."""
    n, slow, added = block.laws.model.n, block.slow, block.added
    if slow.modes is None:
        return np.zeros(2 * n)
    seen = np.diag(slow.projector @ added @ slow.projector.T)[: 2 * n]
    return np.asarray(seen / max(float(np.abs(added).max(initial=0.0)), 1e-300))


@final
class _Chance:
    """The pair chain of a block: second moments where maps are random."""

    def __init__(self, block: _Block, pairs: _Pairs) -> None:
        self.pairs = pairs
        maps = {id(step): _pair_map(block.laws, step, pairs) for step in block.steps}
        parts = [maps[id(step)] for step in block.steps]
        W, W1 = _product(parts)
        # K₁ is 0 where pressure is bounded.
        grows = bool(block.slow.K1.any())
        self.slow = SlowChain(W, (W1 if grows else 0.0 * W1) / block.size)
        self.noise = np.zeros(pairs.rows.size)
        for (one, _), step in zip(parts, block.steps, strict=True):
            self.noise = one @ self.noise + pairs.half(step.noise)

    @cached_property
    def is_resolved(self) -> bool:
        """Whether second moments have a limit after each block."""
        return self.slow.is_aperiodic


def _followed(block: _Block, limits: ScheduleLimits, chance: _Chance | None, *, means_only: bool) -> _Moments | None:
    """Follow the law exactly, take it to the limit from three horizons, and extrapolate."""
    laws, clock = block.laws, limits.clock
    many = max(phase.chance.size for phase in laws.phases) > MANY_NETWORKS
    horizon = HORIZON // (4 if many else 2 if laws.continuous else 1)
    size = block.size
    ends = sorted({laws.begin + size * max(1, horizon // (share * size)) for share in (1, 2, 4)})
    (mean, S), begin, seen = laws.start(), 0, []
    inner = slice(0, 2 * laws.model.n) if means_only else slice(0, laws.states)
    slow = block.slow.part(inner)
    for end in ends:
        for step in laws.following(begin, end):
            check_cancelled()
            mean, S = _moved(laws, step, mean, S)
        begin, tau = end, clock.later(end)
        L = slow.limit(tau)
        if L is None:
            return None
        second: Array | None = None
        if not means_only:
            second = L @ S @ L.T
            if chance is not None:
                L2 = chance.slow.limit(tau) if chance.is_resolved else None
                if L2 is None:
                    return None
                second = chance.pairs.whole(L2 @ chance.pairs.half(S))
        seen.append((L @ mean[inner], second))
    return _Moments(*_extrapolated(seen, _sizes(limits, laws, ends)), ends[-1])


@final
@dataclass(frozen=True, eq=False)
class _Moments:
    """Limits of mean and second moment, without the fluctuation that noise keeps up, at times like ``time``."""

    mean: Array
    second: Array | None
    time: int


def _sizes(limits: ScheduleLimits, laws: RandomSteps, ends: Sequence[int]) -> list[float]:
    """Return sizes to which what the limit operators leave out is proportional, and smaller terms to their powers."""
    clock = limits.clock
    if clock.limit is None:
        return [clock.later(end, 2) for end in ends]
    off = [abs(float(laws.model.pressure(end)) - clock.limit) for end in ends]
    adapting = [float(np.abs(laws.rates(end) - limits.rates).max(initial=0.0)) for end in ends]
    return [a / (1 + clock.limit) + b for a, b in zip(off, adapting, strict=True)]


def _extrapolated(seen: list[tuple[Array, Array | None]], sizes: list[float]) -> tuple[Array, Array | None]:
    """Return the values at size 0 of the polynomials through those that are seen."""
    falls = all(now < 0.9 * before < math.inf for before, now in pairwise(sizes))
    if not falls or sizes[-1] == 0:
        return seen[-1]
    weights = [math.prod(other / (other - size) for other in sizes if other != size) for size in sizes]
    mean = sum(weight * first for weight, (first, _) in zip(weights, seen, strict=True))
    seconds = [second for _, second in seen if second is not None]
    if len(seconds) < len(seen):
        return np.asarray(mean), None
    return np.asarray(mean), np.asarray(sum(weight * each for weight, each in zip(weights, seconds, strict=True)))


def _law(
    block: _Block, moments: _Moments, drifts: NDArray[np.bool_], walks: NDArray[np.bool_], chance: _Chance | None
) -> LimitLaw:
    """Assemble the law of each agent from the limits of its moments over a block."""
    laws, n = block.laws, block.laws.model.n
    scale = _scale(laws)
    means, z, at = np.zeros((block.size, n)), moments.mean, [(moments.time + k) % block.size for k in range(block.size)]
    total = None if moments.second is None else moments.second + _fluctuation(block, chance)
    covariances, S = np.zeros((block.size, n, n)), total
    maps = [_mean(laws, step)[0][: z.size, : z.size] for step in block.steps]
    rounds, by_step, by_block = _rounds(maps), np.zeros(n), np.zeros(n)
    for row, step, K, whole in zip([*at[1:], at[0]], block.steps, maps, rounds, strict=True):
        if S is None:
            z = K @ z
        else:
            before = S
            z, S = _moved(laws, step, z, S)
            covariances[row] = S[:n, :n] - np.outer(z[:n], z[:n])
            by_step = np.maximum(by_step, _change(K, before, S)[:n])
            by_block = np.maximum(by_block, _change(whole, S, S)[:n])
        means[row] = z[:n]
    period = _least_period(means, SWING * scale)
    swings = np.ptp(means, axis=0) > SWING * scale
    kind, std = np.empty(n, dtype=np.object_), np.full(n, np.nan)
    kind[:] = LimitKind.CONVERGES if total is not None else LimitKind.UNKNOWN
    group, camp = np.arange(n), np.ones(n, np.int64)
    if total is not None:
        variance = np.einsum("kii->ki", covariances)
        std = np.sqrt(np.maximum(variance.mean(axis=0), 0.0))
        std[std < DEVIATION * scale] = 0.0
        kind[std > 0] = LimitKind.RANDOM_LIMIT
        # What comes back after a block repeats a cycle in every run, whatever its mean does.
        kind[by_step > (MOVEMENT * scale) ** 2] = LimitKind.PERIODIC
        kind[by_block > (MOVEMENT * scale) ** 2] = LimitKind.FLUCTUATES
        group, camp = _groups(covariances, means, scale, signed=laws.model.network.signed)
    kind[swings & (kind != LimitKind.FLUCTUATES)] = LimitKind.PERIODIC
    kind[walks[:n]], kind[drifts[:n]] = LimitKind.WALKS, LimitKind.DRIFTS
    std[walks[:n] | drifts[:n]] = np.inf
    if walks[:n].any() or drifts[:n].any():
        _join_moving(block, walks[:n] | drifts[:n], group, camp)
    group[_follows_nobody(laws, group)] = -1
    return LimitLaw(kind, means[:period], std, group, camp)


def _scale(laws: RandomSteps) -> float:
    model = laws.model
    return max(1e-12, float(np.abs(np.concatenate([model.x0, model.start_state])).max()))


def _fluctuation(block: _Block, chance: _Chance | None) -> Array:
    """Return the second moment that noise keeps up in the modes that are restored."""
    if chance is not None:
        return chance.pairs.whole(chance.slow.response(chance.noise))
    K0, added = block.slow.K0, block.added
    F = np.eye(len(K0)) - block.slow.projector
    return np.asarray(solve_discrete_lyapunov(K0 @ F, F @ added @ F.T))


def _rounds(maps: Sequence[Array]) -> Iterator[Array]:
    """Yield the product of a whole block that begins after each of its steps."""
    eye = np.eye(len(maps[0]))
    later = list(accumulate(reversed(maps[1:]), np.matmul, initial=eye))
    earlier = accumulate(maps, lambda product, one: one @ product)
    return (before @ after for before, after in zip(earlier, reversed(later), strict=True))


def _change(K: Array, before: Array, after: Array) -> Array:
    """Return E|z' − z|² of each entry, from second moments before and after the mean map K."""
    turned = K @ before
    return np.asarray(np.diag(after - turned - turned.T + before))


def _least_period(means: Array, near: float) -> int:
    """Return the least number of rows after which they repeat."""
    size = len(means)
    divisors = (k for k in range(1, size + 1) if size % k == 0)
    return next(k for k in divisors if np.abs(np.roll(means, k, axis=0) - means).max() <= near)


def _follows_nobody(laws: RandomSteps, group: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return who comes together with nobody, without being a class by itself that listens to nobody."""
    silent = np.all([np.all(phase.adjacency == 0, axis=(0, 2)) for phase in laws.phases], axis=0)
    alone = np.bincount(group, minlength=group.size)[group] == 1
    return np.asarray(alone & ~silent)


def _groups(
    covariances: Array, means: Array, scale: float, *, signed: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the groups of agents who come together, and the camp of each."""
    n = means.shape[1]
    second = covariances + means[:, :, None] * means[:, None, :]
    own = np.einsum("kii->ki", second)
    group, camp = np.arange(n), np.ones(n, np.int64)
    signs = (1, -1) if signed else (1,)
    distances = [(own[:, :, None] + own[:, None, :] - 2 * sign * second).max(axis=0) for sign in signs]
    close = [np.sqrt(np.maximum(each, 0.0)) < GROUP_DISTANCE * scale for each in distances]
    for i in range(n):
        for sign, near in zip(signs, close, strict=True):
            before = np.flatnonzero(near[i, :i])
            if before.size and group[i] == i:
                group[i], camp[i] = group[before[0]], sign * camp[before[0]]
    return group, camp


def _join_moving(block: _Block, moving: NDArray[np.bool_], group: NDArray[np.int64], camp: NDArray[np.int64]) -> None:
    """Give one group to those who move without bound with the same modes, by the same shares or their opposites."""
    slow = block.slow.part(slice(0, 2 * moving.size))
    assert slow.modes is not None
    shares = slow.modes[0][: moving.size]
    for i in np.flatnonzero(moving):
        for sign in (-1, 1):
            alike = np.flatnonzero(moving & (np.abs(shares - sign * shares[i]).max(axis=1) < 1e-7))
            if alike.size and alike[0] <= i:
                group[i], camp[i] = alike[0], sign
