"""The consensus limit: the value, or the phases of a periodic limit, that public opinions converge to.

Opinions that never move give it in closed form. Elsewhere a conserved quantity is followed: a weighted sum of public
and hidden opinions that later steps leave as it is, up to terms that are summed in closed form or by quadrature. Its
law is exact up to a horizon, and extrapolated over horizons that double.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.model.statespace import System, initial_state
from peerpressure.model.step import Array
from peerpressure.noise import NoNoise
from peerpressure.sde import SDE
from peerpressure.sde.moments import adjoint_moments as weighted_moments
from peerpressure.simulation import simulate
from peerpressure.simulation.trajectory import State
from peerpressure.support.progress import check_cancelled
from peerpressure.support.results import one_line
from peerpressure.theory._classification import LongRun, Outcome, is_proportional
from peerpressure.theory._conserved import Conserved, conserved_at, late_scale
from peerpressure.theory._forecast import mean_flow
from peerpressure.theory._limit_law import LimitKind, LimitLaw, separate_law
from peerpressure.theory._rates import mode_noise, rate_of
from peerpressure.theory._regime import (
    NoiseEffect,
    Regime,
    fades_out,
    farthest,
    later_sum,
    noise_adds_up,
    noise_outgrows_averaging,
)
from peerpressure.theory._structure import Component, NoiselessLimit
from peerpressure.theory.propagation import adjoint_moments, forward_moments, mean_after

# Multiplications that a consensus limit is worth, some seconds; what a step costs in any case, by the adjoint and in
# the engine, and a unit of continuous time, which takes a few dozen evaluations.
MOST_WORK = 1e9
PER_STEP = 1e5
PER_ENGINE_STEP = 4e3
PER_TIME = 5e4
# Multiplications, about two seconds', after which the law of a random limit is extrapolated.
CHANCE_WORK = 2e9
# Factor by which growing noise may exceed, in the terms that are left out, what it is now.
GROWTH_FACTOR = 3.0
# The modes m and δ make the values m + δ and m − δ of the two sides.
TURN = np.array([[1.0, 1.0], [1.0, -1.0]])
# Order s/(ρd) of disagreement up to which it is taken to follow 1/ρ.
SMALL_ORDER = 0.2
# Steps that are taken one by one before the engine, which takes longer to load, takes over.
ENGINE_THRESHOLD = 2_048
# Changes below this share of the opinions are rounding errors, and doubling the horizon further would not reduce them.
ROUNDING = 1e-12


@final
@dataclass(frozen=True, eq=False)
class Phases:
    """The two values that the sides of a bipartite network exchange: side 0 has the first at even times.

    ``mean`` (2,) and ``covariance`` (2, 2) are over the noise; ``side`` is that of each agent, 0 or 1.
    """

    mean: Array
    covariance: Array
    side: NDArray[np.int8]

    @property
    def swing(self) -> float:
        """The root mean square of the difference of the two values."""
        contrast = np.array([1.0, -1.0])
        # Rounding may leave a negative variance.
        return math.hypot(contrast @ self.mean, math.sqrt(max(0.0, contrast @ self.covariance @ contrast)))

    @property
    def law(self) -> LimitLaw:
        """The law of agents who exchange the two values."""
        std = math.sqrt(max(0.0, float(np.trace(self.covariance)) / 2))
        law = separate_law(LimitKind.PERIODIC, self.side.size)
        return replace(law, mean=self.mean[np.stack([self.side, 1 - self.side])], std=np.full(self.side.size, std))


@final
@one_line
@dataclass(frozen=True)
class ConsensusLimit:
    """Limit of the common value: its mean and standard deviation over the noise.

    Closed forms have horizon 0 and residual 0. Elsewhere the law was computed exactly up to t = ``horizon`` and
    extrapolated to the limit.

    Attributes
    ----------
    mean : float
        Mean of the limit, in units of opinion.
    std : float
        Standard deviation; ∞ where it grows without bound, and nan where noise keeps moving the value by an amount not
        computed.
    horizon : float, default 0
        Time up to which the law was computed.
    residual : float, default 0.0
        Estimate of the error that the extrapolation leaves.

    See Also
    --------
    consensus_limit : Computes it.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import consensus_limit
    >>> consensus_limit(Model(k2(), hidden=[0.0, 1.0], stubbornness=[1.0, 3.0])).mean
    0.75
    """

    mean: float
    std: float
    horizon: float = 0
    residual: float = 0.0

    def __str__(self) -> str:
        error = " ± unknown" if math.isnan(self.std) else f" ± {self.std:.2g}" if 0 < self.std < math.inf else ""
        return f"{self.mean:.4g}{error}"


def limit_of(long_run: LongRun, *, tolerance: float) -> tuple[ConsensusLimit | None, Phases | None]:
    """Return the consensus limit of a model that is classified, and the phases of it, as far as there are any."""
    structure = long_run.structure
    if long_run.stays_equal or (long_run.stays_on_v and structure.constant_opinions):
        return ConsensusLimit(long_run.model.consensus_value, 0.0), None
    if long_run.outcome is Outcome.UNKNOWN or long_run.noise is NoiseEffect.SCATTERS or len(structure.components) != 1:
        return None, None
    component = structure.components[0]
    if structure.law is not None:
        # The limit on a random network depends on which edges are present, unless an opinion fixes it.
        return _closed_form(long_run, component), None
    if long_run.lazy and long_run.regime is Regime.FAST:
        return random_limit(long_run.model), None
    alternates = component.limit is NoiselessLimit.PERIODIC and has_two_phases(long_run)
    if not (component.limit is NoiselessLimit.CONSENSUS or alternates) or noise_blocks_limit(long_run):
        return None, None
    return component_limit(long_run, component, tolerance=tolerance)


def random_limit(model: Model) -> ConsensusLimit | None:
    """Return mean and deviation of the limit where it is random who updates; None for a network that is too large.

    The law is exact up to a step T. Later the consensus mode follows m ← m + (κ_q/ρ_t)(v − m + O(spread)), by which the
    deviation from v shrinks by exp(−κ_q Σ_{t>T} 1/ρ_t). Chance in who updates moves it by at most the spread in each of
    about T steps, until pressure has doubled and more; that and later noise are the residual.
    """
    n, kappa, v, w = model.n, model.kappa, model.consensus_value, model.mode_weights
    horizon = int(min(CHANCE_WORK / (n * (4 * model.network.adjacency.nnz + 20 * n)), 4096))
    if horizon < 64 or not (model.noise.is_zero or noise_adds_up(model)):
        return None
    moments = forward_moments(model, np.array([horizon]))
    mean, P = moments.mean[-1], moments.covariance
    last = farthest(model)
    left, m = kappa * later_sum(model.pressure.reciprocal, horizon, last), float(w @ mean)
    variance = max(float(w @ P @ w), 0.0)
    spread = math.sqrt(float(np.mean((mean - m) ** 2)) + max(float(np.trace(P)) / n - float(np.mean(P @ w)), 0.0))
    later = mode_noise(model) * kappa * float(model.noise.scale(horizon)) if not model.noise.is_zero else 0.0
    power = 1 if model.noise.autocorrelation == 1 else 2
    added = later_sum(lambda times: model.pressure.reciprocal(times) ** power, horizon, last)
    noise = (later**power * added) ** (1 / power)
    residual, shrink = math.sqrt(horizon) * spread + noise, math.exp(-left)
    return ConsensusLimit(v + (m - v) * shrink, math.sqrt(variance) * shrink, horizon, residual)


def has_two_phases(long_run: LongRun) -> bool:
    """Whether the parts of a periodic component exchange two values, which conserved sums of constant opinions give."""
    networks = long_run.structure.networks
    static = networks is not None and networks.count == 1 and not long_run.continuous
    two_sided = all(part.two_sided for part in long_run.structure.components)
    return static and two_sided and long_run.structure.constant_opinions and long_run.regime is Regime.FAST


def noise_blocks_limit(long_run: LongRun) -> bool:
    """Whether noise is never forgotten, and its share in the limit is not computed."""
    model = long_run.model
    if model.adaptation is not None and not model.noise.is_zero and fades_out(model.pressure):
        # Agents adapt to their own noise while the pressure that would average it vanishes.
        return True
    noisy = not model.noise.is_zero and not model.noise.time_scale.growth.bounded
    return (
        long_run.regime is Regime.FAST and long_run.structure.constant_opinions and noisy and not noise_adds_up(model)
    )


def component_limit(
    long_run: LongRun, component: Component, *, tolerance: float
) -> tuple[ConsensusLimit, Phases | None]:
    """Return the limit of one component that agrees, or exchanges two values, and these."""
    known = _closed_form(long_run, component)
    return _followed(long_run, component, tolerance) if known is None else (known, None)


def with_component_values(long_run: LongRun, *, limit: int, tolerance: float) -> LongRun:
    """Return a classification with the values of the largest components, where each agrees by itself."""
    structure = long_run.structure
    if structure.limit is not NoiselessLimit.CLUSTERS or structure.law is not None:
        return long_run
    components = list(structure.components)
    # Only the mean of a component is named, and noise does not change it.
    quiet = _without_noise(long_run)
    for number, component in enumerate(components[:limit]):
        if component.value is None:
            value, _ = component_limit(quiet, component, tolerance=tolerance)
            components[number] = replace(component, value=value.mean)
    return replace(long_run, structure=replace(structure, components=tuple(components)))


def _closed_form(long_run: LongRun, component: Component) -> ConsensusLimit | None:
    """Return the limit where opinions that never move attract all others."""
    value, noise, structure = component.value, long_run.noise, long_run.structure
    if value is None:
        return None
    averaged = noise is NoiseEffect.VANISHES and structure.has_fixed_opinion and not structure.intermittent
    if noise is NoiseEffect.NONE or averaged:
        return ConsensusLimit(value, 0.0)
    if not (structure.has_fixed_opinion and long_run.regime.reaches_value):
        return None
    if noise is NoiseEffect.WANDERS or long_run.noise_grows:
        # Frozen noise that grows is not averaged at all.
        return ConsensusLimit(value, math.inf if long_run.phi == 1 else _wandering_deviation(long_run))
    if component.absolute_probability is None:
        return None
    # Frozen noise of all agents shifts the limit; adapting agents internalise theirs, so only the weights of the
    # others oppose it.
    w, adapting = component.absolute_probability.influence, structure.adapting
    fixed_weight = w.sum() if adapting is None else w[~adapting].sum()
    return ConsensusLimit(value, float(np.linalg.norm(w * long_run.deviations) / fixed_weight) * late_scale(long_run))


def _wandering_deviation(long_run: LongRun) -> float:
    """Return the standard deviation of a value that growing noise keeps moving; nan where it is not computed."""
    law = rate_of(long_run, constants=False).variance
    if law is not None and law.constant is not None and abs(law.exponent) <= 1e-9 and not law.log:
        return math.sqrt(law.constant)
    # Where Σ 1/ρ_t converges, all variances add up; elsewhere the variance is of order σ_t²/ρ_t, which may be bounded
    # without having a limit.
    return math.inf if long_run.regime is Regime.FAST or noise_outgrows_averaging(long_run.model) else math.nan


@final
@dataclass(frozen=True, eq=False)
class _Sum:
    """Conserved sums evaluated at one time: their means or covariances, and a bound on what later times change.

    ``order`` is the size of the terms of next order, relative to the bound.
    """

    value: Array
    bound: float
    order: float


def _followed(long_run: LongRun, component: Component, tolerance: float) -> tuple[ConsensusLimit, Phases | None]:
    """Follow the conserved sums over horizons that double, and extrapolate their means and covariances."""
    opinions = np.concatenate([long_run.model.x0, long_run.model.start_state])
    # Opinions may all be equal, in which case noise sets the scale.
    scale = float(np.ptp(opinions)) + float(long_run.deviations.max())
    enough = tolerance * scale + ROUNDING * float(np.abs(opinions).max())
    std = _unsettled_deviation(long_run)
    # Only the mean is followed then.
    if std is not None:
        long_run = _without_noise(long_run)
    horizons, with_noise = _horizons(long_run)
    sums = dict(zip(horizons, conserved_at(long_run, component, horizons), strict=True))
    mean, horizon, residual = _extrapolated(_means(long_run, component, sums), enough, _distance)
    count = mean.size
    covariance = np.zeros((count, count))
    if not long_run.model.noise.is_zero:
        laws = _covariances(long_run, component, {T: sums[T] for T in horizons[:with_noise]})
        flat, last, error = _extrapolated(laws, enough, _distance_of_deviations)
        covariance, horizon, residual = flat.reshape(count, count), max(horizon, last), max(residual, error)
    if std is None:
        std = math.sqrt(max(covariance[0, 0], 0.0))
    phases, networks = None, long_run.structure.networks
    if count == 2:
        assert networks is not None
        phases = Phases(TURN @ mean, TURN @ covariance @ TURN.T, networks.sides.astype(np.int8))
    return ConsensusLimit(float(mean[0]), std, horizon, residual), phases


def _unsettled_deviation(long_run: LongRun) -> float | None:
    """Return ∞ or nan where noise never settles, so its variance cannot be followed; None elsewhere."""
    fixed, remembers = long_run.structure.has_fixed_opinion, long_run.regime is Regime.FAST
    if long_run.noise is NoiseEffect.WANDERS and fixed:
        return _wandering_deviation(long_run)
    # Frozen noise that grows moves a value that forgets, and adds up to a finite sum in one that remembers.
    frozen = long_run.noise is NoiseEffect.STAYS and fixed and long_run.noise_grows and not remembers
    return math.inf if frozen or long_run.noise in (NoiseEffect.WANDERS, NoiseEffect.SCATTERS) else None


def _means(long_run: LongRun, component: Component, sums: dict[float, Conserved]) -> Iterator[tuple[float, _Sum]]:
    """Yield the means of the conserved sums, with the disagreement that the bound is for."""
    quiet, before = _without_noise(long_run), None
    for (T, conserved), (y, x) in zip(sums.items(), _mean_states(quiet.system, sums), strict=True):
        disagreement = _disagreement(quiet, component, y, x, T)
        rho = float(long_run.model.pressure(T))
        order = _next_order(long_run, component, T)
        # Disagreement that has followed 1/ρ since the last horizon, and is small, will go on to do so.
        settled = before is not None and disagreement * rho <= 1.5 * before and order <= SMALL_ORDER
        before = disagreement * rho
        bound = disagreement * (conserved.neglected_if_falling if settled else min(1.0, conserved.neglected))
        bound += conserved.uncertain * float(np.ptp(np.concatenate([y, x])))
        yield T, _Sum(conserved.weights @ np.concatenate([y, x]), bound, order)


def _mean_states(system: System, times: Iterable[float]) -> Iterator[tuple[Array, Array]]:
    """Yield the mean public and hidden opinions at increasing times."""
    n, at, start = system.n, system.layout, initial_state(system)
    if isinstance(system, SDE):
        yield from ((mean[:n, 0], system.x0) for mean in mean_flow(system, np.fromiter(times, np.float64)))
        return
    state, t = start.offset + start.forward(hidden=system.x0), 0
    begin: State | None = None
    for T in times:
        if T <= ENGINE_THRESHOLD:
            state, t = mean_after(system.model, range(t + 1, int(T) + 1), at, state), int(T)
            yield state[:n], state[at.hidden] if at.has_hidden else system.x0
        else:
            # The engine runs a model without noise exactly, and far faster, once it is loaded.
            begin = begin or State(t, state[:n], hidden=state[at.hidden] if at.has_hidden else None)
            begin, t = simulate(system, int(T) - t, record="final", start=begin).final, int(T)
            yield begin.public[0], system.x0 if begin.hidden is None else begin.hidden[0]


def _disagreement(long_run: LongRun, component: Component, y: Array, x: Array, T: float) -> float:
    """Return the largest distance between opinions that the conserved sum takes as equal."""
    model, agents, sequence = long_run.model, component.agents, component.absolute_probability
    if sequence is None or long_run.regime is Regime.BOUNDED:
        moving = x[agents] if long_run.structure.adapting is not None else y[agents]
        return float(np.ptp(np.concatenate([y[agents], moving])))
    if model.is_plain and is_proportional(model):
        # The recursion of the common value is exact then, whether agents agree or not.
        return 0.0
    assert long_run.structure.networks is not None
    weights = sequence.probability[long_run.structure.networks.index(int(T))]
    deviation = y - weights @ y
    sides = long_run.structure.networks.sides if component.limit is NoiselessLimit.PERIODIC else None
    if sides is None:
        # Where networks alternate, agents may be closer at this step than at others.
        count = sequence.rates.shape[0]
        driven = count * float(np.ptp(x[agents])) * _next_order(long_run, component, T) if count > 1 else 0.0
        return max(float(np.abs(deviation[agents]).max()), driven)
    # The difference between the two sides is a part of the sums, up to terms of next order: its own effect on the
    # disagreement, and what later steps add to it because the sides hold different opinions.
    sign = np.where(sides, -1.0, 1.0)
    swing = float(sign * weights @ y)
    driven = max(abs(swing), float(np.ptp(x[agents]))) * _next_order(long_run, component, T)
    return float(np.abs(deviation - swing * sign)[agents].max()) + driven


def _covariances(long_run: LongRun, component: Component, sums: dict[float, Conserved]) -> Iterator[tuple[float, _Sum]]:
    """Yield the covariances of the conserved sums, row by row."""
    system, n = long_run.system, long_run.model.n
    for T, conserved in sums.items():
        if isinstance(system, SDE):
            # Constant hidden opinions have no variance; the memory of the noise has a weight for what it still adds.
            memory = np.zeros((len(conserved.weights), 0)) if conserved.carry is None else conserved.carry
            weights = np.concatenate([conserved.weights[:, :n], memory], axis=1)
            past = weighted_moments(system, weights, np.array([T]))[2]
        else:
            past = adjoint_moments(system.model, conserved.weights, np.array([int(T)]), conserved.carry).covariance
        covariance, order = past + np.diag(conserved.variance), _next_order(long_run, component, T)
        own = float(long_run.deviations.max()) * float(long_run.model.noise.scale(T))
        later = math.sqrt(float(conserved.variance.max()))
        if component.absolute_probability is None:
            # How noise in several classes or of isolated agents goes on is not known: only its past tells.
            bound = math.inf
        elif long_run.regime is Regime.BOUNDED:
            bound = conserved.neglected * (own + later)
        else:
            # What a step leaves in each agent beside the common value, and the part of later noise that passes it.
            share = conserved.neglected_if_falling if order < 1 else min(1.0, conserved.neglected)
            # Noise that grows makes later disagreement larger than it is now.
            bound = order * (share * own + later) * (GROWTH_FACTOR if long_run.noise_grows else 1.0)
        yield T, _Sum(covariance.ravel(), bound, order)


def _next_order(long_run: LongRun, component: Component, T: float) -> float:
    """Return the order of magnitude of s/(ρd), by which disagreement is smaller than opinions; 1 if it is not small."""
    if component.absolute_probability is None or long_run.regime is Regime.BOUNDED:
        return 1.0
    assert long_run.structure.networks is not None
    s, d = long_run.model.s[component.agents], long_run.structure.networks.degrees.mean(axis=0)[component.agents]
    return min(1.0, max(float((s / d).max() * long_run.model.pressure.reciprocal(T)), 1 / T))


def _extrapolated(
    laws: Iterator[tuple[float, _Sum]], enough: float, distance: Callable[[Array, Array], float]
) -> tuple[Array, float, float]:
    """Return the limit of a sequence over horizons that double, the last horizon, and the error that is left."""
    seen: list[Array] = []
    bounds: list[float] = []
    limit, horizon, residual = np.zeros(1), 0.0, math.inf
    for time, law in laws:
        check_cancelled()
        horizon = time
        seen.append(law.value)
        bounds.append(law.bound)
        changes = [distance(before, after) for before, after in itertools.pairwise(seen[-3:])]
        limit, residual = law.value, max([law.bound, *(change for change in changes[-1:] if change > bounds[-2])])
        if math.isinf(law.bound) and len(changes) > 1 and changes[1] < 0.9 * changes[0]:
            # Without a bound, the moves so far are taken for a geometric sequence.
            residual = changes[1] * max(1.0, changes[1] / (changes[0] - changes[1]))
        # The sequence is extrapolated where it moves as its bounds say, and these fall.
        falling = all(after <= 0.8 * before for before, after in itertools.pairwise(bounds[-3:]))
        within = all(change <= bound for change, bound in zip(changes, bounds[-3:], strict=False))
        slows_down = len(changes) > 1 and changes[1] <= max(0.9 * changes[0], 0.1 * enough)
        if slows_down and falling and within:
            accelerated = _accelerated(seen)
            error = max(distance(_accelerated(seen[:-1]), accelerated), law.order * law.bound)
            limit, residual = (accelerated, error) if error < residual else (limit, residual)
        if residual <= enough:
            break
    return limit, horizon, residual


def _accelerated(seen: list[Array]) -> Array:
    """Return the limit of a sequence whose differences shrink by steady factors (Aitken), as those of power laws do."""
    # Doubling horizons turns a power law in t into a geometric sequence, which Aitken's formula extrapolates exactly;
    # repeated, it removes the next power.
    for _ in range(2):
        if len(seen) > 2:
            seen = [_aitken(*three) for three in zip(seen, seen[1:], seen[2:], strict=False)]
    return seen[-1]


def _aitken(first: Array, second: Array, third: Array) -> Array:
    before, now = second - first, third - second
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = now / before
        # A factor outside (0, 0.9) is no regular decay: the formula would amplify rounding errors, or extrapolate far.
        return np.where((factor > 0) & (factor < 0.9), third + now * factor / (1 - factor), third)


def _distance(before: Array, after: Array) -> float:
    return float(np.abs(after - before).max())


def _distance_of_deviations(before: Array, after: Array) -> float:
    """Return the largest change of a deviation: of the sums, and of the two phases where there are two sums."""
    size = math.isqrt(before.size)
    turn = np.eye(1) if size == 1 else np.concatenate([np.eye(2), TURN])
    variances = [np.diag(turn @ flat.reshape(size, size) @ turn.T) for flat in (before, after)]
    # Extrapolated variances may be slightly negative.
    return _distance(*(np.sqrt(np.maximum(each, 0.0)) for each in variances))


def _without_noise(long_run: LongRun) -> LongRun:
    quiet = replace(long_run.model, noise=NoNoise())
    # The equation of the quiet model where time is continuous, whose start is forgotten otherwise than in steps.
    system = long_run.system.with_model(quiet)
    return replace(long_run, system=system, model=quiet, deviations=np.zeros(quiet.n))


def _horizons(long_run: LongRun) -> tuple[list[float], int]:
    """Return the horizons that are affordable, each twice the one before, and how many of them are with noise."""
    model, networks = long_run.model, long_run.structure.networks
    assert networks is not None
    size = model.network.adjacency.nnz + 20 * model.n
    if long_run.continuous:
        first, longest = 32.0, MOST_WORK / (PER_TIME + 10 * size)
        longest_mean = longest
    else:
        longest, longest_mean = MOST_WORK / (PER_STEP + size), MOST_WORK / (PER_ENGINE_STEP + size)
        # A multiple of the period, so the network is in the same phase at all horizons; early enough for three.
        early = min(64, max(8, int(longest / 4)))
        first = max(networks.count * math.ceil(early / networks.count), networks.begin)
    count, noisy = (max(1, 1 + int(math.log2(max(limit / first, 1)))) for limit in (longest_mean, longest))
    return [first * 2**k for k in range(count)], min(count, noisy)
