"""Conserved quantities: how the state at some time determines the limit of the common value.

A weighted sum of public and hidden opinions is carried through all later times. Under constant pressure and adaptation
rate it is conserved exactly. Under growing pressure agents nearly agree, and the sum follows from a reduced model: the
common value m and the hidden opinions x_i,

    m_t = (ρ_t m_{t−1} + Σ w_i x_{t,i})/(ρ_t + κ),    x_{t+1,i} = x_{t,i} + η_{t,i} (m_t − x_{t,i}).

Its adjoint is a Markov chain that runs backwards in time: the weights p of m and q_i of x_i are a probability
distribution, which moves from m to x_i at the rate w_i/ρ_t and back at the rate η_{t,i}.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model.step import Array
from peerpressure.sde import SDE
from peerpressure.support.progress import check_cancelled
from peerpressure.theory._classification import LongRun
from peerpressure.theory._recurrence import AbsoluteProbability
from peerpressure.theory._regime import FARTHEST, LATE_TIME, Regime, farthest, later_sum
from peerpressure.theory._structure import Component, NoiselessLimit

# Steps that are summed one by one; beyond, sums over steps are integrals over log t on so many intervals, fewer where
# hidden opinions adapt and the intervals are passed one by one.
HEAD = 4_096
INTERVALS = 20_000
ADAPTING_INTERVALS = 3_000
# Rates below this share of the largest do not change a sum in double precision.
NEGLIGIBLE = 1e-18
# Exchanges between m and x per agent after which nothing is left of a distribution: e^(−60) ≈ 1e-26.
FORGOTTEN = 60.0

# Pairs of steps, at least, in an alternating sum, and steps over which correlated noise is remembered.
PAIRS = 4_096
MEMORY = 1_024
# Of the implicit method, and how far its second stage goes beyond the first one.
GAMMA = 1 - math.sqrt(0.5)
STAGES = (1 - GAMMA) / GAMMA
# Groups of agents up to which every stretch has a matrix, which saves most of the time that a stretch takes.
FEW_GROUPS = 8

Groups: TypeAlias = tuple[Array, Array, NDArray[np.int64]]


# Relative difference of averages over many steps, early and late, up to which they are taken for one limit.
SETTLED = 1e-3


def late_scale(long_run: LongRun) -> float:
    """Return the scale of the noise at late times, averaged over many steps where it has no limit.

    A common value that forgets ever more slowly hears the average. It is nan where that does not settle either.
    """
    noise = long_run.model.noise
    if noise.time_scale.growth.limit is not None:
        return float(noise.scale(LATE_TIME))
    early, late = (
        float(np.mean(noise.scale(begin + np.arange(float(LATE_TIME // 10))))) for begin in (LATE_TIME, 10 * LATE_TIME)
    )
    return late if abs(late - early) <= SETTLED * late else math.nan


@final
@dataclass(frozen=True, eq=False)
class Conserved:
    """Conserved quantities: weighted sums of public and hidden opinions after some step, and of later noise.

    ``weights`` has shape (sums, 2·agents). Noise that is drawn once goes on with the weights ``carry``, shape (sums,
    agents), in units of a draw; redrawn noise adds ``variance``, shape (sums,). Later disagreement of size 1 moves
    the sums by at most ``neglected``, and by ``neglected_if_falling`` if it falls like 1/ρ_t from now on;
    ``uncertain`` is the error of the weights themselves.
    """

    weights: Array
    carry: Array | None
    variance: Array
    neglected: float
    neglected_if_falling: float
    uncertain: float = 0.0


def conserved_at(long_run: LongRun, component: Component, times: Sequence[float]) -> list[Conserved]:
    """Return the consensus limit as a sum over the state, after each of increasing times.

    Where pressure is bounded and all adapt forever it is the sum that would be conserved if pressure and rate stayed
    at their values of that time, m + Σ w x/(ρη). Under growing pressure it follows from the reduced model.
    """
    n, sequence = long_run.model.n, component.absolute_probability
    if sequence is None:
        # Agents that agree all have the limit, so their mean does. The public opinion of an isolated agent contains the
        # noise of the last step, its hidden opinion does not.
        alone = component.agents.size == 1
        chosen = np.zeros((1, 2 * n))
        shows_own = alone and not long_run.structure.keeps
        chosen[0, component.agents + (n if shows_own else 0)] = 1 / component.agents.size
        return [Conserved(chosen, None, np.zeros(1), float(not alone), float(not alone))] * len(times)
    if long_run.regime is Regime.BOUNDED:
        return [_adapting_sum(long_run, sequence, int(t)) for t in times]
    return [_reduced_sum(long_run, component, sequence, tail) for tail in tails(long_run, sequence, times)]


def _adapting_sum(long_run: LongRun, sequence: AbsoluteProbability, t: int) -> Conserved:
    """Return the sum that is conserved at the pressure and the rate of step t."""
    model, adaptation = long_run.model, long_run.model.adaptation
    assert adaptation is not None
    factors = adaptation.adaptation_weights(model.n)
    # Agents outside of the class have influence 0, and may have adaptation weight 0 as well.
    slowness = np.divide(sequence.influence, factors, out=np.zeros(model.n), where=sequence.influence > 0)

    def weights_of(times: Array) -> tuple[Array, Array]:
        """Return the weight of m, and that of the noise of a later step."""
        own, rho = float(slowness.sum()) / adaptation.rate.pressure(times), model.pressure.pressure(times)
        size = model.noise.time_scale.pressure(times) / (rho + own)
        return np.where(np.isfinite(own), rho / (rho + own), 0.0), size

    with np.errstate(all="ignore"):
        share, _ = weights_of(np.exp(np.linspace(math.log(t + 0.5), farthest(model), INTERVALS + 1)))
    change = float(np.abs(np.diff(share)).sum())
    now = float(share[0])
    public, hidden = now * sequence.probability[0], (1 - now) * slowness / slowness.sum()
    weights = np.concatenate([public, hidden])[None]
    if model.noise.is_zero:
        return Conserved(weights, None, np.zeros(1), change, change)
    # One that diverges comes out large, where the standard deviation is ∞ in any case.
    once = later_sum(lambda times: weights_of(times)[1], t, farthest(model))
    twice = later_sum(lambda times: weights_of(times)[1] ** 2, t, farthest(model))
    if long_run.phi == 1:
        return Conserved(weights, once * (sequence.influence * long_run.deviations)[None], np.zeros(1), change, change)
    sigma = sequence.noise(long_run.deviations, long_run.phi) * sequence.kappa
    return Conserved(weights, None, np.array([twice * sigma**2]), change, change)


def _reduced_sum(long_run: LongRun, component: Component, sequence: AbsoluteProbability, tail: Tail) -> Conserved:
    """Return the sums over the state that the reduced model carries to the limit."""
    structure, phi = long_run.structure, long_run.phi
    assert structure.networks is not None
    public = sequence.probability[structure.networks.index(int(tail.time))]
    weights = np.concatenate([tail.keep * public, tail.give])[None]
    # On one network the memory of the noise is a part of the sum of squares; elsewhere it interacts with the period.
    memory = 0.0 if sequence.rates.shape[0] == 1 else phi
    variance = np.array([0.0 if phi == 1 else tail.squares * sequence.noise(long_run.deviations, memory) ** 2])
    carry = None
    if phi and not long_run.model.noise.is_zero:
        left = tail.constant if phi == 1 else _left_by_memory(long_run, sequence, tail, phi)
        carry = (left * sequence.influence / sequence.kappa * long_run.deviations)[None]
    conserved = Conserved(weights, carry, variance, tail.neglected, tail.neglected_if_falling, tail.uncertain)
    return _with_swing(long_run, sequence, tail, conserved) if component.limit is NoiselessLimit.PERIODIC else conserved


def _with_swing(long_run: LongRun, sequence: AbsoluteProbability, tail: Tail, conserved: Conserved) -> Conserved:
    """Add the difference δ of the two sides of a bipartite network: the same sum with signs, which fades like m.

    In every step δ changes its sign, and so do its effect Σ w sign δ/ρ_t on m and that of Σ w sign (x − m)/ρ_t on it.
    """
    networks, phi, public = long_run.structure.networks, long_run.phi, sequence.probability[0]
    assert networks is not None
    sign, parity = np.where(networks.sides, -1.0, 1.0), (-1.0) ** int(tail.time)
    alternating = _alternating_sum(long_run, tail.time)
    keep, uneven = math.exp(-tail.change), sign * sequence.influence
    weights = np.concatenate([conserved.weights, np.zeros_like(conserved.weights)])
    n = public.size
    weights[0, :n] -= alternating * keep * uneven.sum() * sign * public
    weights[1, :n] = keep * parity * (sign - alternating * uneven.sum()) * public
    weights[1, n:] = keep * parity * alternating * uneven
    swing_variance = tail.swing_squares * sequence.noise(long_run.deviations, 0.0) ** 2 * (phi < 1)
    variance = np.append(conserved.variance, swing_variance)
    carry = conserved.carry
    if carry is not None:
        later = weights[1, n:] * float(long_run.model.noise.scale(tail.time + 1))
        if phi < 1:
            later = -parity * _left_by_memory(long_run, sequence, tail, -phi) * uneven / sequence.kappa
        carry = np.concatenate([carry, (later * long_run.deviations)[None]])
    return replace(conserved, weights=weights, carry=carry, variance=variance)


def _alternating_sum(long_run: LongRun, time: float) -> float:
    """Return −1/ρ_{T+1} + 1/ρ_{T+2} − … after a time T."""
    count = 4 * max(int(time), PAIRS) // 4
    terms = long_run.model.pressure.reciprocal(time + 1 + np.arange(2.0 * count))
    smooth, later = _euler(terms[:64]), terms[1] - terms[0] + _euler(terms[2:66])
    if abs(smooth - later) <= 1e-9 * terms[0]:
        return smooth
    # In pairs, whose sums fall off like a power where ρ differs between even and odd steps: the partial sums of N/4,
    # N/2 and N pairs are extrapolated.
    quarter, half, whole = np.cumsum(terms[1::2] - terms[::2])[[count // 4 - 1, count // 2 - 1, -1]]
    before, now = half - quarter, whole - half
    regular = 0 < now < 0.9 * before or 0 > now > 0.9 * before
    return float(whole + now**2 / (before - now) if regular else whole)


def _euler(terms: Array) -> float:
    """Return −a₁ + a₂ − a₃ + … for smooth terms that fall to 0, by repeated averages of partial sums."""
    sums = np.cumsum(terms * np.where(np.arange(terms.size) % 2, 1.0, -1.0))
    while sums.size > 1:
        sums = (sums[1:] + sums[:-1]) / 2
    return float(sums[0])


def _left_by_memory(long_run: LongRun, sequence: AbsoluteProbability, tail: Tail, phi: float) -> float:
    """Return Σ φ^(k−1) c_{T+k} for the weights c of the noise of later steps: what its memory at T + 1 still adds.

    In continuous time it is ∫ e^(−θt) c_{T+t} dt, which is c/θ as c hardly changes meanwhile.
    """
    if isinstance(long_run.system, SDE):
        weight = float(_rates(long_run, sequence.kappa, np.array([tail.time]))["to_hidden"][0]) * tail.keep
        return weight * float(long_run.model.noise.scale(tail.time)) / long_run.system.reversion
    times = tail.time + 1 + np.arange(MEMORY)
    gained = np.log1p(sequence.kappa * long_run.model.pressure.reciprocal(times))
    # m of step T + k keeps more of its weight than that of step T, but never more than 1.
    keep = np.minimum(np.exp(np.cumsum(gained)) * tail.keep, 1.0)
    weights = -np.expm1(-gained) * keep * long_run.model.noise.scale(times)
    return float(weights @ phi ** np.arange(MEMORY))


@final
@dataclass(frozen=True, eq=False)
class Tail:
    """The effect on the common value m of all times after some time T: m_∞ = keep·m_T + Σ give·x_T + noise.

    ``give`` has shape (agents,). ``change`` is Σ log(1 + κ/ρ_t), or ∫ κ/(κ + ρ) dt in continuous time:
    keep = exp(−change) where no opinion adapts. Noise that is drawn once enters with the factor ``constant``, and other
    noise with the sum of squares ``squares``, in units of the deviation of Σ w ξ/κ; ``swing_squares`` is that of noise
    with the opposite autocorrelation, as the difference of two sides sees it. The reduced model leaves out
    the disagreement of agents; disagreement of size 1 moves the limit by at most ``neglected``, and by
    ``neglected_if_falling`` if it falls like 1/ρ_t. ``uncertain`` is the error of integrals that stand for sums over
    steps.
    """

    time: float
    keep: float
    give: Array
    change: float
    constant: float
    squares: float
    swing_squares: float
    neglected: float
    neglected_if_falling: float
    uncertain: float


@final
@dataclass(frozen=True, eq=False)
class _Intervals:
    """Rates of the reduced model over consecutive stretches of time, each of shape (stretches,).

    ``to_hidden`` is the integral of log(1 + κ/ρ), ``to_public`` that of η at adaptation weight 1, ``squared`` that
    of the squared rate of noise, and ``scale`` and ``reciprocal`` are the noise scale and 1/ρ in the middle.
    ``is_step`` marks single steps.
    """

    begin: Array
    is_step: NDArray[np.bool_]
    to_hidden: Array
    to_public: Array
    squared: Array
    scale: Array
    reciprocal: Array


def tails(long_run: LongRun, sequence: AbsoluteProbability, times: Sequence[float]) -> list[Tail]:
    """Return the tails after increasing times."""
    kappas, factors, group = _groups(long_run, sequence)
    adapts = bool(np.any(factors > 0))
    adapting = long_run.structure.adapting
    forever = adapting is not None and bool(np.all(adapting[sequence.influence > 0]))
    parts = _intervals(long_run, sequence.kappa, times, ADAPTING_INTERVALS if adapts else INTERVALS, forever=forever)
    beyond = 0.0 if adapts else _beyond(long_run, parts)
    where = np.searchsorted(parts.begin, np.asarray(times, dtype=np.float64) * (1 - 1e-12))
    after = np.append(_backwards(parts.to_hidden), 0.0) + beyond
    if adapts:
        end = _terminal(long_run, parts, kappas, factors, forever=forever)
        keep, give = _chain(parts, kappas / sequence.kappa, factors, end, where)
    elif long_run.regime is Regime.FAST:
        keep, give = np.exp(-after), np.outer(-np.expm1(-after[where]), kappas / sequence.kappa)
    else:
        keep, give = np.zeros(after.size), np.tile(kappas / sequence.kappa, (len(times), 1))
    # The mass that an interval moves from m to the hidden opinions is the weight of their noise.
    moved = -np.expm1(-parts.to_hidden) * keep[1:]
    if adapts:
        # In each interval m has its logarithmic mean, which is exact where it decays and where it is in equilibrium.
        with np.errstate(divide="ignore", invalid="ignore"):
            between = np.diff(keep) / np.diff(np.log(keep))
        between = np.where(np.isfinite(between) & (between > 0), between, keep[:-1])
        by_step = np.expm1(parts.to_hidden * parts.is_step) * keep[:-1]
        moved = np.where(parts.is_step, by_step, parts.to_hidden * between)
    # What is not m at the end has come from it still later.
    last = 0.0 if not parts.scale.size else (1 - keep[-1]) * float(parts.scale[-1])
    if forever and parts.scale.size:
        last = keep[-1] * _later_rates(long_run, parts) * float(parts.scale[-1])
    constant = np.append(_backwards(moved * parts.scale), 0.0) + last
    phi = long_run.phi if sequence.rates.shape[0] == 1 else 0.0
    squares, swing_squares = (_squares(parts, keep, moved, memory) for memory in (phi, -phi))
    neglected, settled = np.append(_backwards(moved), 0.0), np.append(_backwards(moved * parts.reciprocal), 0.0)
    now, rough = long_run.model.pressure(np.asarray(times, dtype=np.float64)), _roughness(long_run, sequence.kappa)
    share = sequence.influence / kappas[group]
    return [
        Tail(
            time=float(time),
            keep=float(keep[k]),
            give=given[group] * share,
            change=float(after[k]),
            constant=float(constant[k]),
            squares=float(squares[k]),
            swing_squares=float(swing_squares[k]),
            neglected=(1 + adapts) * float(neglected[k] + beyond),
            uncertain=rough * float(keep[k] * (after[max(k, np.count_nonzero(parts.is_step))] - beyond)),
            neglected_if_falling=(1 + adapts) * float(settled[k] * rho if math.isfinite(rho) else 0.0),
        )
        for time, k, given, rho in zip(times, where, give, now, strict=True)
    ]


def _roughness(long_run: LongRun, kappa: float) -> float:
    """Return the relative error of integrals over log t that stand for sums over steps; 0 if the rates are smooth."""
    if long_run.continuous:
        return 0.0
    from scipy.integrate import simpson

    steps = np.arange(HEAD // 2 + 1.0, HEAD + 1.0, dtype=np.float64)
    summed = float(_rates(long_run, kappa, steps)["to_hidden"].sum())
    log_t = np.linspace(math.log(HEAD / 2 + 0.5), math.log(HEAD + 0.5), 513)
    whole = float(simpson(_rates(long_run, kappa, np.exp(log_t))["to_hidden"] * np.exp(log_t), x=log_t))
    error = abs(summed - whole) / whole if whole > 0 else 0.0
    # Smooth rates leave terms of order 1/t², and those that fall by orders of magnitude from step to step do not count.
    return error if error > 1e-6 and long_run.model.pressure.reciprocal(HEAD) > 1e-12 else 0.0


def _squares(parts: _Intervals, keep: Array, moved: Array, phi: float) -> Array:
    """Return Σ (1 − φ²)(Σ_k φ^k c_{t+k})² from each stretch on: the squares of later noise of coefficient φ."""
    white = keep[1:] * keep[:-1] * parts.squared
    if phi == 0 or abs(phi) == 1:
        return np.append(_backwards(white), 0.0)
    # Beyond single steps the weights c hardly change over the memory of the noise.
    squares = white * (1 + phi) / (1 - phi)
    steps = int(np.count_nonzero(parts.is_step))
    if steps:
        weights = (moved * parts.scale)[:steps][::-1].tolist()
        later = accumulate(weights, lambda summed, weight: weight + phi * summed, initial=weights[0] / (1 - phi))
        summed = np.array([*later][:0:-1])
        squares[:steps] = (1 - phi**2) * summed**2
    return np.append(_backwards(squares), 0.0)


def _groups(long_run: LongRun, sequence: AbsoluteProbability) -> Groups:
    """Return Σ w and the adaptation weight of each group of agents who adapt alike, and the group of each agent."""
    adaptation, n = long_run.model.adaptation, long_run.model.n
    weights = (
        np.zeros(n) if adaptation is None else np.where(sequence.influence > 0, adaptation.adaptation_weights(n), 0.0)
    )
    factors, group = np.unique(weights, return_inverse=True)
    kappas = np.bincount(group, sequence.influence)
    # A group of agents without influence gets no weight, and any positive number keeps its shares finite.
    return np.where(kappas > 0, kappas, 1e-300), factors, group


def _intervals(long_run: LongRun, kappa: float, times: Sequence[float], count: int, *, forever: bool) -> _Intervals:
    """Return the rates step by step first, and then over intervals of log t."""
    continuous, first = long_run.continuous, float(times[0])
    head = np.zeros(0) if continuous else np.arange(first, max(first, HEAD)) + 1.0
    # Sums over steps are integrals by the midpoint rule, from half a step after the last.
    half = 0.0 if continuous else 0.5
    start = first if continuous else max(first, HEAD)
    nodes = _nodes(long_run, kappa, math.log(start + half), count, forever=forever)
    later = np.log([time + half for time in times if time > start])
    nodes = np.union1d(nodes, later)
    by_step = _rates(long_run, kappa, head)
    # Simpson's rule in each interval: dt = t d(log t).
    middle = (nodes[1:] + nodes[:-1]) / 2
    width = np.diff(nodes)
    ends, middles = np.exp(nodes), np.exp(middle)
    edge, mid = _rates(long_run, kappa, ends), _rates(long_run, kappa, middles)

    def joined(name: str) -> Array:
        at_ends = ends * edge[name]
        over = width / 6 * (at_ends[:-1] + 4 * middles * mid[name] + at_ends[1:])
        return np.concatenate([by_step[name], over])

    begin = np.concatenate([head - 1, ends[:-1] - half])
    return _Intervals(
        begin,
        is_step=np.arange(begin.size) < head.size,
        to_hidden=joined("to_hidden"),
        to_public=joined("to_public"),
        squared=joined("squared"),
        scale=np.concatenate([by_step["scale"], mid["scale"]]),
        reciprocal=np.concatenate([by_step["reciprocal"], mid["reciprocal"]]),
    )


def _rates(long_run: LongRun, kappa: float, times: Array) -> dict[str, Array]:
    model, adaptation = long_run.model, long_run.model.adaptation
    if not times.size:
        return dict.fromkeys(("to_hidden", "to_public", "squared", "scale", "reciprocal"), times)
    reciprocal = model.pressure.reciprocal(times)
    a = kappa * reciprocal
    to_hidden = a / (1 + a) if long_run.continuous else np.log1p(a)
    scale = np.zeros_like(times) if model.noise.is_zero else model.noise.scale(times)
    to_public = np.zeros_like(times)
    if adaptation is not None:
        with np.errstate(all="ignore"):
            to_public = adaptation.rate.pressure(times)
    squared = (to_hidden * scale) ** 2
    return {
        "to_hidden": to_hidden,
        "to_public": to_public,
        "squared": squared,
        "scale": scale,
        "reciprocal": reciprocal,
    }


def _nodes(long_run: LongRun, kappa: float, start: float, count: int, *, forever: bool) -> Array:
    """Return log t from the start to where the steps no longer count."""
    coarse = np.linspace(start, farthest(long_run.model), 4_001)
    rates = _rates(long_run, kappa, np.exp(coarse))
    with np.errstate(over="ignore"):
        speed = rates["to_hidden"] * np.exp(coarse)
        exchange = (rates["to_hidden"] + rates["to_public"]) * np.exp(coarse)
    counts = np.flatnonzero(speed > NEGLIGIBLE * speed.max())
    # The fine grid ends where contributions vanish; nodes spread over 700 units of log t would be wasted on fast
    # schedules.
    last = min(int(counts[-1]) + 1, coarse.size - 1) if counts.size else 1
    if forever:
        # A distribution far out is forgotten on the way back, and its equilibrium serves as well.
        mixed = np.cumsum(exchange) * (coarse[1] - coarse[0])
        forgotten = min(last, int(np.searchsorted(mixed, mixed[0] + FORGOTTEN)) + 1, coarse.size - 1)
        near = np.linspace(start, coarse[forgotten], count + 1)
        # Noise adds up nevertheless, in equilibrium, so few intervals will do.
        noisy = not long_run.model.noise.is_zero and forgotten < last
        far = np.linspace(coarse[forgotten], coarse[last], count // 4) if noisy else near
        return np.union1d(near, far)
    return np.linspace(start, coarse[last], count + 1)


def _backwards(values: Array) -> Array:
    """Return the sum from each on."""
    return np.asarray(np.cumsum(values[::-1])[::-1])


def _terminal(
    long_run: LongRun, parts: _Intervals, kappas: Array, factors: Array, *, forever: bool
) -> tuple[float, Array]:
    """Return the distribution over m and the groups at the end of the last interval."""
    shares = kappas / kappas.sum()
    if forever:
        # The exchange is in equilibrium.
        with np.errstate(all="ignore"):
            ratio = parts.to_hidden[-1] * shares / (parts.to_public[-1] * factors)
        ratio = np.where(np.isfinite(ratio), ratio, 0.0)
        return 1 / (1 + ratio.sum()), ratio / (1 + ratio.sum())
    if long_run.regime is Regime.FAST:
        return 1.0, np.zeros_like(shares)
    # The start is forgotten, and the opinions at rest are what counts.
    resting = shares if long_run.structure.adapting is None else np.where(factors > 0, 0.0, shares)
    return 0.0, resting / resting.sum()


def _chain(
    parts: _Intervals, shares: Array, factors: Array, end: tuple[float, Array], where: NDArray[np.int64]
) -> tuple[Array, Array]:
    """Return the weight of m at the ends of all stretches, and those of the groups, (times, groups), at the times."""
    if shares.size <= FEW_GROUPS:
        states = _by_matrices(_matrices(parts, shares, factors), end)
        return states[:, 0], states[where, 1:]
    p: float | Array = end[0]
    q = end[1]
    keep, given = np.empty(parts.begin.size + 1), np.empty((where.size, shares.size))
    keep[-1], given[:] = p, q
    wanted = set(where.tolist())
    rows = zip(parts.is_step.tolist(), parts.to_hidden.tolist(), parts.to_public.tolist(), strict=True)
    for k, (is_step, to_hidden, to_public) in reversed([*enumerate(rows)]):
        check_cancelled()
        before = _step_back if is_step else _implicit
        p, q = before(p, q, to_hidden * shares, to_public * factors)
        keep[k] = p
        if k in wanted:
            given[where == k] = q
    return keep, given


def _matrices(parts: _Intervals, shares: Array, factors: Array) -> Array:
    """Return the matrix of every stretch, which takes the distribution after it to that before it."""
    size, steps = shares.size + 1, int(np.count_nonzero(parts.is_step))
    to_hidden, to_public = np.outer(parts.to_hidden, shares), np.outer(parts.to_public, factors)
    matrices = np.empty((parts.begin.size, size, size))
    for column, unit in enumerate(np.eye(size)):
        for before, among in ((_step_back, slice(0, steps)), (_implicit, slice(steps, None))):
            p, q = before(unit[0], unit[1:], to_hidden[among], to_public[among])
            matrices[among, 0, column], matrices[among, 1:, column] = p, q
    return matrices


def _by_matrices(matrices: Array, end: tuple[float, Array]) -> Array:
    """Return the distribution at the ends of all stretches, (stretches + 1, 1 + groups), from that at the last end."""
    check_cancelled()
    states = np.empty((len(matrices) + 1, matrices.shape[1]))
    states[-1] = [end[0], *end[1]]
    for matrix, after, before in zip(matrices[::-1], states[:0:-1], states[-2::-1], strict=True):
        np.dot(matrix, after, out=before)
    return states


def _step_back(p: float | Array, q: Array, to_hidden: Array, to_public: Array) -> tuple[Array, Array]:
    """Return the distribution before a step, or each of several, from that after it, exactly."""
    total = np.add.reduce(to_hidden, axis=-1)
    mass = p + np.add.reduce(to_public * q, axis=-1)
    # a/(1 + a) of it goes to the hidden opinions, where log(1 + a) is given.
    shares = to_hidden / np.where(total, total, 1.0)[..., None]
    return mass * np.exp(-total), (1 - to_public) * q - (mass * np.expm1(-total))[..., None] * shares


def _implicit(p: float | Array, q: Array, to_hidden: Array, to_public: Array) -> tuple[Array, Array]:
    """Return the distribution before a stretch from that after it, by a method of order 2 that is stable for any rates.

    It is the diagonally implicit Runge–Kutta method of two stages with γ = ``GAMMA``. Several stretches may be given,
    one to a row, which are then taken by themselves and not one after another.
    """
    back, forth = GAMMA * to_public, GAMMA * to_hidden
    damping = 1 / (1 + back)
    left = back * damping
    total = 1 + np.add.reduce(forth * damping, axis=-1)
    p1 = (p + np.add.reduce(left * q, axis=-1)) / total
    q1 = (q + forth * p1[..., None]) * damping
    p, q = p + STAGES * (p1 - p), q + STAGES * (q1 - q)
    p2 = (p + np.add.reduce(left * q, axis=-1)) / total
    return p2, (q + forth * p2[..., None]) * damping


def _later_rates(long_run: LongRun, parts: _Intervals) -> float:
    """Return Σ κ/ρ_t beyond the farthest time for pressure that grows like a power of t; 0 for other pressure."""
    p, (before, now) = long_run.growth.exponent, np.log(parts.begin[-2:])
    if p is None or p <= 1 or now < FARTHEST - 1:
        return 0.0
    return float(parts.to_hidden[-1]) / float(now - before) / (p - 1)


def _beyond(long_run: LongRun, parts: _Intervals) -> float:
    """Return the change beyond the farthest time, which matters for pressure that grows hardly faster than t.

    There ρ ~ t^p makes the rates fall exponentially in log t; slower growth, as t·(log t)^q, like a power of log t.
    """
    log_t, rates = np.log(parts.begin[-2:]), parts.to_hidden
    # The grid then ends where rates are negligible, and nothing is left.
    if long_run.regime is not Regime.FAST or log_t[-1] < FARTHEST - 1 or rates[-1] == 0:
        return 0.0
    middle = rates.size - INTERVALS // 2
    begin = float(np.log(parts.begin[middle]))
    width, fall = log_t[1] - log_t[0], math.log(rates[middle] / rates[-1])
    density = float(rates[-1] / width)
    if long_run.model.pressure.growth.exponent not in (None, 1.0):
        return density * (float(log_t[-1]) - begin) / fall
    q = fall / math.log(float(log_t[-1]) / begin)
    # ∫ x^(−q) dx beyond the grid; q − 1 is bounded from below because q is estimated and may come out as 1 or less.
    return density * float(log_t[-1]) / max(q - 1.0, 1e-3)
