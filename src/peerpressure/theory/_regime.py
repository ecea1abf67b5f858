"""Asymptotic regimes of the three schedules that decide the long run: pressure ρ_t, noise scale σ_t, adaptation η_t.

A regime is read off ``Schedule.growth``: bounds of a closed form, or of a formula from which they can be derived.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.step import Array
from peerpressure.noise import Gaussian, Laplace, Rademacher, StudentT, Uniform
from peerpressure.schedules import Formula, Growth, Linear, Logarithmic, Schedule, growth_of_ratio
from peerpressure.schedules.envelopes import Envelope, UndecidedError, decided

# Time at which a schedule with a limit is evaluated, late enough to be close to it.
LATE_TIME = 1_000_000
# log t of the farthest time: e^690 ≈ 1e299 still leaves room for factors below the largest double, 1.8e308. Formulas
# that count steps are read as far as doubles have a fraction to spare.
FARTHEST, FARTHEST_COUNT = 690.0, math.log(2.0**50)
# Nodes of sums over later steps, as integrals over log t.
NODES = 20_001


def farthest(model: Model) -> float:
    """Return log t of the farthest time at which all schedules of a model can be read."""
    rates = [] if model.adaptation is None else [model.adaptation.rate]
    return min(map(farthest_reading, (model.pressure, model.noise.time_scale, *rates)))


def later_sum(rate: Callable[[Array], Array], step: float, last: float) -> float:
    """Return the sum of a rate over the steps after one, from an integral over log t up to ``last``."""
    log_t = np.linspace(math.log(step + 0.5), last, NODES)
    times = np.exp(log_t)
    with np.errstate(all="ignore"):
        values = rate(times) * times
    total = values[0] + values[-1] + 4 * values[1:-1:2].sum() + 2 * values[2:-1:2].sum()
    return float(total * (log_t[1] - log_t[0]) / 3)


def farthest_reading(schedule: Schedule) -> float:
    """Return log t of the farthest time at which a schedule can be read."""
    counts = isinstance(schedule, Formula) and schedule.expression.counts_steps
    return FARTHEST_COUNT if counts else FARTHEST


class Regime(Enum):
    """Growth of the peer pressure ρ_t.

    ``SLOW``, ``LINEAR`` and ``MARGINAL`` have ρ_t → ∞ with divergent Σ 1/ρ_t; ``FAST`` has convergent Σ 1/ρ_t.

    Attributes
    ----------
    BOUNDED : Regime
        The pressure ρ_t is bounded: agents stay apart.
    SLOW : Regime
        Unbounded growth below every multiple of t.
    LINEAR : Regime
        Growth like c·t, where the ratio κ/c decides the rate.
    MARGINAL : Regime
        Growth about like t, with divergent Σ 1/ρ_t, such as t·log t.
    FAST : Regime
        Convergent Σ 1/ρ_t: the start is never forgotten.
    UNKNOWN : Regime
        The growth is not known.

    See Also
    --------
    regime_of : Classifies a schedule.

    Examples
    --------
    >>> from peerpressure.theory import Regime
    >>> Regime.LINEAR.value
    'growing like t'
    """

    BOUNDED = "bounded"
    SLOW = "growing more slowly than t"
    LINEAR = "growing like t"
    MARGINAL = "growing about like t, with Σ 1/ρ_t divergent"
    FAST = "growing so fast that Σ 1/ρ_t converges"
    UNKNOWN = "of unknown growth"

    @property
    def reaches_value(self) -> bool:
        """Whether ρ_t → ∞ and Σ 1/ρ_t diverges, so the start is forgotten and the spread vanishes."""
        return self in (Regime.SLOW, Regime.LINEAR, Regime.MARGINAL)


def regime_of(pressure: Schedule, growth: Growth | None = None) -> Regime:
    """Classify the growth of a pressure schedule.

    >>> from peerpressure import Linear, Power
    >>> from peerpressure.theory import regime_of
    >>> regime_of(Linear(2)), regime_of(Power(1.5))
    (<Regime.LINEAR: 'growing like t'>, <Regime.FAST: 'growing so fast that Σ 1/ρ_t converges'>)
    """
    growth = growth or pressure.growth
    # First, since it decides even where it is not known whether the schedule is bounded; `is False`, as None means
    # unknown.
    if growth.reciprocal_sum_diverges is False:
        return Regime.FAST
    if growth.bounded:
        return Regime.BOUNDED
    if growth.bounded is None or growth.reciprocal_sum_diverges is None:
        return Regime.UNKNOWN
    if growth.exponent is not None:
        return Regime.LINEAR if growth.exponent == 1 else Regime.SLOW
    return Regime.SLOW if _is_slower_than_t(growth) else Regime.MARGINAL


def _is_slower_than_t(growth: Growth) -> bool:
    ratio = growth_of_ratio(Linear().growth, growth)
    # Divergent Σ 1/ρ² means that a regular ρ_t grows at most like √t, which is slower than t.
    return bool(growth.square_sum_diverges) if ratio is None else ratio.limit == math.inf


class NoiseEffect(Enum):
    """Effect of the noise on the value that agents come to share."""

    NONE = "there is no noise"
    VANISHES = "noise averages out"
    STAYS = "a noise term stays in the average"
    WANDERS = "noise outpaces the averaging"
    SCATTERS = "noise outgrows the pressure itself"
    UNKNOWN = "the effect of the noise is not known"


def noise_effect(model: Model, regime: Regime) -> NoiseEffect:
    """Compare the growth of the noise σ_t with that of the pressure.

    Where Σ 1/ρ_t diverges, the common value has a variance of order σ_t²/ρ_t, and single agents deviate from it by
    order σ_t/ρ_t.

    >>> from peerpressure.networks import k2
    >>> from peerpressure.noise import Gaussian
    >>> noise_effect(Model(k2(), hidden=[0, 1], noise=Gaussian(1.0, temporal="frozen")), Regime.LINEAR)
    <NoiseEffect.STAYS: 'a noise term stays in the average'>
    """
    if model.noise.is_zero:
        return NoiseEffect.NONE
    growth = model.noise.time_scale.growth
    if growth.bounded:
        # Noise that tends to 0 vanishes whatever its correlation; frozen noise stays if its scale does.
        if growth.limit == 0 or not _is_constant(model):
            return NoiseEffect.VANISHES
        stays = growth.limit is not None or (growth.envelope is not None and growth.envelope.lower.limit > 0)
        return NoiseEffect.STAYS if stays else NoiseEffect.UNKNOWN
    if growth.bounded is None or regime is Regime.UNKNOWN:
        return NoiseEffect.UNKNOWN
    return NoiseEffect.SCATTERS if regime is Regime.BOUNDED else _growing_noise(model, regime)


def _growing_noise(model: Model, regime: Regime) -> NoiseEffect:
    closes = _outgrows(model, 1.0)
    if not closes:
        return NoiseEffect.UNKNOWN if closes is None else NoiseEffect.SCATTERS
    if _is_constant(model):
        return NoiseEffect.STAYS
    # Where Σ 1/ρ_t converges, early noise is never forgotten and its variances add up; elsewhere the variance of the
    # common value follows σ²/ρ.
    averages = noise_adds_up(model) if regime is Regime.FAST else _outgrows(model, 2.0)
    if averages is None:
        return NoiseEffect.UNKNOWN
    return NoiseEffect.VANISHES if averages else NoiseEffect.WANDERS


def _is_constant(model: Model) -> bool:
    """Whether each agent draws its noise once, for all steps."""
    return model.noise.autocorrelation == 1


def _noise_ratio(model: Model, power: float) -> Growth | None:
    """Return the proved growth of ρ_t/σ_t^power."""
    return growth_of_ratio(model.pressure.growth, model.noise.time_scale.growth, power)


def _outgrows(model: Model, power: float) -> bool | None:
    """Whether ρ_t/σ_t^power → ∞."""
    ratio = _noise_ratio(model, power)
    return None if ratio is None else True if ratio.limit == math.inf else False if ratio.bounded else None


def noise_outgrows_averaging(model: Model) -> bool:
    """Whether σ_t²/ρ_t is known to tend to infinity."""
    ratio = _noise_ratio(model, 2.0)
    return ratio is not None and ratio.limit == 0


def noise_adds_up(model: Model) -> bool | None:
    """Whether Σ σ_t²/ρ_t², or Σ σ_t/ρ_t for frozen noise, is finite, and with it what noise adds to a limit."""
    ratio = _noise_ratio(model, 1.0)
    if ratio is None:
        return None
    diverges = ratio.reciprocal_sum_diverges if _is_constant(model) else ratio.square_sum_diverges
    return None if diverges is None else not diverges


def noise_sum_diverges(model: Model, *, averaged: bool) -> bool | None:
    """Whether Σ σ_t², or Σ σ_t²/ρ_t² ``averaged``, diverges; without the squares for frozen noise."""

    def late() -> Envelope:
        scale = _envelope(model.noise.time_scale)
        return (scale * _envelope(model.pressure) ** -1 if averaged else scale) ** _power(model)

    return _sum_diverges(late)


def converges_almost_surely(model: Model) -> bool | None:
    """Whether a consensus that is reached in mean square is reached almost surely too; None if that is unknown.

    The common value fluctuates with variance κσ̄²/(2ρ_t) and forgets itself within ρ_t/κ steps. So deviations of size
    ε recur with a chance of order exp(−ε²ρ_t/(κσ̄_t²))/ρ_t per step, whose sum is finite for every ε exactly if
    ρ_t/(σ_t² log t) → ∞. A finite Σ σ_t²/ρ_t² is enough for every law of noise; where it diverges, a single draw with
    heavy tails may move an agent by more than ε.
    """
    noise = model.noise
    if noise.is_zero or _is_constant(model) or noise_adds_up(model):
        return True
    log, spread, size = Logarithmic().growth, _noise_ratio(model, 2.0), _noise_ratio(model, 1.0)
    needed = None if spread is None else growth_of_ratio(spread, log)
    if needed is None or size is None or size.envelope is None or needed.bounded or needed.limit != math.inf:
        return False if needed is not None and needed.bounded else None
    if isinstance(noise, StudentT):
        # P(|ε_t| > x) ~ x^(−df) makes Σ (σ_t/ρ_t)^df decide.
        lower, upper = (end.reciprocal_sum_diverges(noise.df) for end in (size.envelope.lower, size.envelope.upper))
        return True if not lower else False if upper else None
    if isinstance(noise, Gaussian | Uniform | Rademacher):
        return True
    tail = growth_of_ratio(size, log)
    exponential = isinstance(noise, Laplace) and tail is not None and tail.limit == math.inf
    return True if exponential else None


@final
@dataclass(frozen=True, eq=False)
class OpinionRegime:
    """Long-run behaviour of hidden opinions.

    At constant pressure and rates, Σ d y_{t−1} + Σ s x_t/(ρη) is conserved but for the noise, which adds Σ s ε/ρ. So
    the consensus limit moves in a step by a_t ε̄_t with

        1/a_t = 1/η_t + ρ_t/κ,        or 1/a_t = 1/η_t where agents are isolated at times and all their noise is public,

    and hidden opinions approach it at a rate of order b_t = η_t/(1 + 1/ρ_t).

    ``constant``: no opinion ever moves. ``lasting``: Σ b_t = ∞, so opinions adapt to each other forever; None if
    that is not known. ``detached``: they do not, but Σ η_t = ∞: pressure vanishes, and agents adapt to their own noise.
    ``movable`` marks the agents who adapt at all, and ``memory`` those whose opinion keeps a part of itself in every
    late step, η < 1; shape (agents,). ``uniform``: all adapt alike. ``isolated``: agents who are without neighbours in
    some recurring steps count in the common value; ``holds``: an opinion that never moves holds that value in place
    nevertheless, Σ η_t/ρ_t = ∞, None if that is not known. ``random_walk``: noise moves an opinion that nothing holds
    in place without bound, as Σ a_t σ_t (constant noise) or Σ a_t² σ_t² (other noise) diverges.
    """

    movable: NDArray[np.bool_]
    memory: NDArray[np.bool_]
    constant: bool = False
    lasting: bool | None = False
    detached: bool = False
    uniform: bool = True
    isolated: bool = False
    holds: bool | None = True
    random_walk: bool | None = False

    @property
    def fades(self) -> bool:
        """Whether opinions adapt, but no longer to each other: a part of each stays forever."""
        return not self.constant and self.lasting is False


def opinion_regime(model: Model, *, isolated: bool = False) -> OpinionRegime:
    """Classify hidden opinions; ``isolated``: agents are without neighbours in some recurring steps."""
    adaptation = model.adaptation
    everyone = np.ones(model.n, dtype=np.bool_)
    if adaptation is None:
        return OpinionRegime(~everyone, everyone, constant=True)
    weights = adaptation.adaptation_weights(model.n)
    regime = OpinionRegime(weights > 0, everyone, uniform=not np.ptp(weights), isolated=isolated)
    growths = [model.pressure.growth, adaptation.rate.growth]
    growths += [] if model.noise.is_zero else [model.noise.time_scale.growth]
    if any(growth.bounded is None for growth in growths):
        return replace(regime, lasting=None, random_walk=None)
    with np.errstate(all="ignore"):
        # `pressure` evaluates the formula without the check that a rate is at most 1, which a formula may violate.
        late_rate = float(adaptation.rate.pressure(np.array([float(LATE_TIME)]))[0])
    regime = replace(regime, memory=np.asarray(weights * late_rate < 1))
    lasting = _lasts(model, adaptation)
    # An agent on its own shows all of its noise, as an isolated one does.
    detached = lasting is False and _sum_diverges(lambda: _envelope(adaptation.rate)) is True
    walks = _random_walk(model, adaptation, isolated=isolated or detached)
    holds: bool | None = True
    if isolated and not model.pressure.growth.bounded:
        holds = _sum_diverges(lambda: _envelope(adaptation.rate) * _envelope(model.pressure) ** -1)
    return replace(regime, lasting=lasting, detached=detached, holds=holds, random_walk=walks)


def _lasts(model: Model, adaptation: Adaptation) -> bool | None:
    """Whether Σ b_t diverges."""
    return _sum_diverges(lambda: _envelope(adaptation.rate) * _share_of_others(model))


def _random_walk(model: Model, adaptation: Adaptation, *, isolated: bool) -> bool | None:
    """Whether noise moves the consensus limit without bound."""
    # a_t ≤ κ/ρ_t, so a convergent Σ 1/ρ_t bounds both sums for any adaptation rate.
    noise, sums = model.noise, model.pressure.growth.reciprocal_sum_diverges
    if noise.is_zero or (noise.time_scale.growth.bounded and sums is False and not isolated):
        return False

    def late() -> Envelope:
        eta = _envelope(adaptation.rate)
        step = eta if isolated else eta * (_ONE + eta * _envelope(model.pressure)) ** -1
        return (step * _envelope(noise.time_scale)) ** _power(model)

    return _sum_diverges(late)


def hidden_noise_vanishes(
    model: Model, opinions: OpinionRegime, *, intermittent: bool, fixed: bool, source: bool, swings: bool
) -> bool | None:
    """Whether the noise in the differences between hidden opinions that adapt forever vanishes; None if not known.

    A difference to which a step adds the noise N_t, and which is restored at the rate R_t, has the variance N²/R, or
    the deviation N/R if noise is frozen. It must vanish for

    - each agent's own noise: R = b and N = ησ/(1 + ρ), or N = ησ where several agents are isolated at times
      (``intermittent``);
    - agents that follow a moving common value at unequal rates: R = η and N = aσ, or N = ησ where isolated agents
      count in that value;
    - values of closed classes, or one that an opinion holds in place (``fixed``): the same N and R = a, η/ρ where
      isolated agents count, or η where all public opinions come from one who is isolated at times (``source``);
    - a periodic network (``swings``), whose phases differ by σ²/ρ and alternate too fast to be followed but by η.
    """
    adaptation = model.adaptation
    assert adaptation is not None
    power = _power(model)

    def late() -> list[Envelope]:
        eta, rho, sigma = (_envelope(each) for each in (adaptation.rate, model.pressure, model.noise.time_scale))
        a, b = eta * (_ONE + eta * rho) ** -1, eta * _share_of_others(model)
        step = (eta if opinions.isolated or source else a) * sigma
        modes = [(b, eta * sigma * (_ONE if intermittent else (_ONE + rho) ** -1))]
        if fixed:
            modes.append((eta if source else eta * rho**-1 if opinions.isolated else a, step))
        elif not opinions.uniform:
            modes.append((eta, step))
        vanishing = [noise**power * rate**-1 for rate, noise in modes]
        # Frozen noise neither alternates nor reaches agents one after the other.
        if not _is_constant(model):
            # The noise of isolated agents is public as it is, and restored in order 1/ρ.
            vanishing += [eta**2 * sigma**2 * rho ** (1 if opinions.isolated else -1)] if swings else []
            vanishing += [eta * sigma] if opinions.isolated or source else []
        return vanishing

    answers = [each.vanishes for each in decided(late) or []]
    return False if False in answers else None if None in answers or not answers else True


def fades_out(schedule: Schedule) -> bool | None:
    """Whether a schedule tends to 0; None if that is not known."""
    return decided(lambda: _envelope(schedule).vanishes)


_ONE = Envelope.constant(1.0)


def _envelope(schedule: Schedule) -> Envelope:
    envelope = schedule.growth.envelope
    if envelope is None:
        raise UndecidedError
    # Whether a sum diverges does not depend on more, and products of long sums would grow too long.
    return envelope.order


def _share_of_others(model: Model) -> Envelope:
    """Return the order of ρ_t/(1 + ρ_t); pressure that is not bounded no longer slows anything down."""
    if not model.pressure.growth.bounded:
        return _ONE
    rho = _envelope(model.pressure)
    return rho * (_ONE + rho) ** -1


def _power(model: Model) -> int:
    """Return the power in which late noise adds up: 1 for frozen noise, 2 for other noise."""
    return 1 if _is_constant(model) else 2


def _sum_diverges(late: Callable[[], Envelope]) -> bool | None:
    return decided(lambda: late().sum_diverges)
