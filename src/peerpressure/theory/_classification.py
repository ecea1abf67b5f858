"""What noise leaves behind once peer pressure has grown for ever."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.adaptation import Adaptation
from peerpressure.model import Model
from peerpressure.networks import TemporalNetwork, joint_connectivity, shortest_window
from peerpressure.noise import Frozen
from peerpressure.schedules import Growth, estimate_growth
from peerpressure.theory._limits import is_proportional
from peerpressure.theory._recurrence import ClosedClasses, Mode, Rounds, closed_classes, mode_of, recurring_rounds
from peerpressure.theory._regime import Regime, reduced, regime_of, tends_to_infinity
from peerpressure.theory._retention import retention

Times: TypeAlias = NDArray[np.float64]


class NoiseEffect(Enum):
    """What becomes of noise in the value that agents come to share."""

    NONE = "there is no noise"
    VANISHES = "noise averages out"
    STAYS = "the mask stays in the average"
    WANDERS = "noise outpaces the averaging"
    SCATTERS = "noise outgrows the pressure itself"
    UNKNOWN = "what becomes of the noise is not known"


def noise_effect(model: Model, regime: Regime) -> NoiseEffect:
    """Compare the growth of noise σ_t with that of pressure.

    Where Σ 1/ρ_t = ∞ the common value has a variance of the order of σ_t²/ρ_t, and single agents deviate from it by
    the order of σ_t/ρ_t.

    >>> from peerpressure.networks import k2
    >>> from peerpressure.noise import Gaussian
    >>> noise_effect(Model(k2(), hidden=[0, 1], noise=Gaussian(1.0, temporal="frozen")), Regime.LINEAR)
    <NoiseEffect.STAYS: 'the mask stays in the average'>
    """
    if model.noise.is_zero:
        return NoiseEffect.NONE
    growth = model.noise.time_scale.growth
    if growth.bounded:
        fades = growth.exponent is not None and growth.exponent < 0
        held = isinstance(model.noise.temporal, Frozen)
        return NoiseEffect.STAYS if held and not fades else NoiseEffect.VANISHES
    if growth.bounded is None or regime is Regime.UNKNOWN:
        return NoiseEffect.UNKNOWN
    return NoiseEffect.SCATTERS if regime is Regime.BOUNDED else _growing(model, regime)


def is_estimated(model: Model) -> bool:
    """Say whether the effect rests on values of the scale over time rather than on a known power."""
    growth = model.noise.time_scale.growth
    powers = growth.exponent is not None and model.pressure.growth.exponent is not None
    return not model.noise.is_zero and (growth.estimated or not (growth.bounded or powers))


def _growing(model: Model, regime: Regime) -> NoiseEffect:
    closes = _outgrows(model, 1.0)
    if not closes:
        return NoiseEffect.UNKNOWN if closes is None else NoiseEffect.SCATTERS
    if isinstance(model.noise.temporal, Frozen):
        return NoiseEffect.STAYS
    averages = _sums_up(model) if regime is Regime.FAST else _outgrows(model, 2.0)
    if averages is None:
        return NoiseEffect.UNKNOWN
    return NoiseEffect.VANISHES if averages else NoiseEffect.WANDERS


def _outgrows(model: Model, power: float) -> bool | None:
    """Say whether ρ_t/σ_t^power → ∞."""
    p, gamma = model.pressure.growth.exponent, model.noise.time_scale.growth.exponent
    if p is not None and gamma is not None:
        return p > power * gamma
    return tends_to_infinity(lambda t: _ratio(model, power, t))


def _sums_up(model: Model) -> bool | None:
    """Say whether Σ σ_t²/ρ_t² is finite, so that the value agreed on has a finite variance."""
    p, gamma = model.pressure.growth.exponent, model.noise.time_scale.growth.exponent
    if p is not None and gamma is not None:
        return 2 * (p - gamma) > 1
    diverges = estimate_growth(lambda t: _ratio(model, 1.0, t)).square_sum_diverges
    return None if diverges is None else not diverges


def _ratio(model: Model, power: float, t: Times) -> Times:
    # Logarithms, so that two schedules that both overflow still have a ratio.
    with np.errstate(all="ignore"):
        log_noise = model.noise.time_scale.log_pressure(t)
        return np.asarray(np.exp(model.pressure.log_pressure(t) - power * log_noise))


# How far hidden opinions adapt in the end, and what noise does to opinions that nothing holds in place.
#
# With constant pressure and rates, Σ d y_{t−1} + Σ s x_t/(ρη) stays the same from step to step but for noise, which
# adds Σ s ε/ρ. So the value on which all land moves in a step by a_t ε̄_t with
#
#     1/a_t = 1/η_t + ρ_t/κ,        or 1/a_t = 1/η_t where agents are alone at times and show all their noise,
#
# and hidden opinions close in on it at a rate of the order of b_t = η_t/(1 + 1/ρ_t). What becomes of them depends on
# the sums of b, of a (noise held for ever) and of a² (noise drawn anew).

Curve: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]

# Where a rate that no longer changes is read.
LATE = 1_000_000


@final
@dataclass(frozen=True, eq=False)
class AdaptationFacts:
    """What an adaptation comes to as t → ∞.

    ``lasting``: opinions adapt for ever, Σ b_t = ∞; None if that is not known. ``adapts`` marks the agents who
    do at all. ``wanders``: noise moves an opinion that nothing holds without bound.
    """

    lasting: bool | None
    adapts: NDArray[np.bool_]
    wanders: bool | None
    estimated: bool

    @property
    def anchored(self) -> bool:
        """Whether someone never adapts."""
        return not bool(np.all(self.adapts))


def adaptation_facts(model: Model, adaptation: Adaptation, *, isolated: bool = False) -> AdaptationFacts:
    """Return what becomes of hidden opinions that adapt; ``isolated`` agents are without neighbours now and then."""
    who = adaptation.adaptation_weights(model.n) > 0
    growths = [model.pressure.growth, adaptation.rate.growth]
    growths += [] if model.noise.is_zero else [model.noise.time_scale.growth]
    if any(growth.bounded is None for growth in growths):
        return AdaptationFacts(None, who, None, estimated=False)
    if model.pressure.growth.bounded and not float(model.pressure(LATE)) > 0:
        # Without pressure nobody hears anybody.
        return AdaptationFacts(False, who, False, estimated=False)
    lasting, sure = _lasts(model, adaptation)
    wanders, certain = _wanders(model, adaptation, isolated=isolated)
    return AdaptationFacts(lasting, who, wanders, estimated=not (sure and certain))


def _lasts(model: Model, adaptation: Adaptation) -> tuple[bool | None, bool]:
    """Say whether Σ b_t diverges, and whether that is known from powers of t."""
    pressure, q = model.pressure.growth, adaptation.rate.growth.exponent
    # Pressure that grows no longer slows anything down.
    p = pressure.exponent if pressure.bounded else 0.0
    if p is not None and q is not None:
        return q + min(p, 0.0) >= -1, not (pressure.estimated or adaptation.rate.growth.estimated)
    curve = _quiet(lambda t: (1 + 1 / model.pressure.pressure(t)) / adaptation.rate.pressure(t))
    return estimate_growth(curve).reciprocal_sum_diverges, False


def _wanders(model: Model, adaptation: Adaptation, *, isolated: bool) -> tuple[bool | None, bool]:
    """Say whether noise moves the consensus limit without bound, and whether that is known from powers of t."""
    if model.noise.is_zero:
        return False, True
    held = isinstance(model.noise.temporal, Frozen)
    pressure, rate, noise = model.pressure.growth, adaptation.rate.growth, model.noise.time_scale.growth
    if noise.bounded and not (isolated or pressure.reciprocal_sum_diverges or pressure.estimated):
        return False, True
    p, q, gamma = 0.0 if isolated else pressure.exponent, rate.exponent, noise.exponent
    if p is not None and q is not None and gamma is not None:
        order = min(-max(p, 0.0), q) + gamma
        known = not (pressure.estimated or rate.estimated or noise.estimated)
        return (order >= -1 if held else 2 * order >= -1), known
    share = 0.0 if isolated else 1 / model.kappa

    def against(t: NDArray[np.float64]) -> NDArray[np.float64]:
        step = 1 / adaptation.rate.pressure(t) + share * model.pressure.pressure(t)
        return np.asarray(step / model.noise.time_scale.pressure(t))

    found = estimate_growth(_quiet(against))
    return (found.reciprocal_sum_diverges if held else found.square_sum_diverges), False


def remembers(model: Model) -> NDArray[np.bool_]:
    """Say whose hidden opinion keeps a part of itself in every late step: η < 1, shape (agents,)."""
    if model.adaptation is None:
        return np.ones(model.n, dtype=np.bool_)
    with np.errstate(all="ignore"):
        rate = float(model.adaptation.rate.pressure(np.array([float(LATE)]))[0])
    return np.asarray(model.adaptation.adaptation_weights(model.n) * rate < 1)


def _quiet(curve: Curve) -> Curve:
    def evaluated(t: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            return np.asarray(curve(t))

    return evaluated


# What binds agents together for ever, without noise: who meets whom, who listens to whom, who draws whom.

Agents: TypeAlias = NDArray[np.int64]

# Two values are one if they differ by less than this share of the range of opinions.
SAME = 1e-9
# Groups, the largest first, of which the common value is worked out where the network changes for ever.
MOST_MODES = 20


class Bond(Enum):
    """How agents end without noise."""

    ONE = "all come together"
    GROUPS = "each group that still meets comes together"
    SWAPS = "those who meet keep exchanging different values"
    APART = "opinions that do not move keep agents apart"
    UNKNOWN = "not known"


@final
@dataclass(frozen=True, eq=False)
class Group:
    """Agents who meet for ever: who they are, how they end, their common value, and what it is drawn to.

    ``mode`` is None where several values go round among them, and ``value`` where it depends on more than opinions.
    ``swings``: what they hear comes back to them in parts that never mix, as on the two sides of a bipartite graph.
    ``heard`` are those who are alone at times, where in the end their opinions are all that is left to pass on.
    """

    agents: Agents
    bond: Bond
    mode: Mode | None = None
    value: float | None = None
    swings: bool = False
    heard: Agents | None = None


@final
@dataclass(frozen=True, eq=False)
class Setting:
    """The facts that count beside pressure and noise; ``adaptation`` is None for constant hidden opinions."""

    groups: tuple[Group, ...]
    rounds: Rounds | None
    adaptation: AdaptationFacts | None

    @property
    def bond(self) -> Bond:
        """How all agents end without noise."""
        bonds = {group.bond for group in self.groups}
        for worst in (Bond.SWAPS, Bond.APART):
            if worst in bonds:
                return worst
        if not bonds:
            return Bond.UNKNOWN
        return Bond.ONE if len(self.groups) == 1 else Bond.GROUPS

    @property
    def scattered(self) -> bool:
        """Whether nobody meets anybody any more."""
        return bool(self.groups) and all(group.agents.size == 1 for group in self.groups)

    @property
    def adapts(self) -> bool:
        """Whether hidden opinions adapt for ever."""
        return self.adaptation is not None and bool(self.adaptation.lasting)

    @property
    def holds(self) -> bool:
        """Whether opinions that never move hold every common value in place."""
        if self.adaptation is None or not self.adapts:
            return True
        adapts = self.adaptation.adapts
        return not any(np.all(adapts[group.agents]) for group in self.groups)


def setting_of(model: Model, regime: Regime) -> Setting:
    """Return what binds the agents of a model under a pressure of this growth."""
    rounds = recurring_rounds(model)
    adaptation = None if model.adaptation is None else adaptation_facts(model, model.adaptation)
    if rounds is None or regime is Regime.UNKNOWN or (adaptation is not None and adaptation.lasting is None):
        return Setting((), rounds, adaptation)
    never = np.zeros(model.n, dtype=np.bool_)
    adapts = adaptation.adapts if adaptation is not None and adaptation.lasting else never
    closed = closed_classes(rounds, adapts, remembers(model), weak=regime is Regime.BOUNDED)
    if model.adaptation is not None and closed.has_loners(rounds):
        adaptation = adaptation_facts(model, model.adaptation, isolated=True)
    count, group = rounds.groups()
    members = sorted(_split(group, count), key=len, reverse=True)
    home, speakers = np.empty(count, dtype=np.int64), closed.speakers(model.n)
    home[[group[agents[0]] for agents in members]] = np.arange(count)
    sets = _split(home[group[speakers]], count)
    fades = adaptation is not None and not adaptation.lasting
    analysis = _Analysis(model, rounds, closed, speakers, adapts, regime, fades)
    return Setting(tuple(map(analysis.group, range(count), members, sets)), rounds, adaptation)


def _split(label: NDArray[np.integer], count: int) -> list[Agents]:
    """Return the positions that bear each label from 0 to count − 1."""
    order = np.argsort(label, kind="stable")
    return np.split(order, np.searchsorted(label[order], np.arange(1, count)))


@final
@dataclass(frozen=True, eq=False)
class _Analysis:
    """How a group ends, from its closed classes, or opinions that never move."""

    model: Model
    rounds: Rounds
    closed: ClosedClasses
    speakers: Agents
    adapts: NDArray[np.bool_]
    regime: Regime
    fades: bool

    def group(self, number: int, agents: Agents, sets: Agents) -> Group:
        if agents.size == 1:
            known = not (self.fades or self.adapts[agents[0]])
            return Group(agents, Bond.ONE, None, float(self.model.x0[agents[0]]) if known else None)
        if sets.size > 1:
            return self._divided(agents, sets)
        if self.closed.ends[sets[0]]:
            # One opinion that never moves is heard by all in the end.
            heard = self.speakers[sets]
            value = None if self.fades else float(self.model.x0[heard[0]])
            return Group(agents, Bond.ONE, None, value, heard=heard)
        swings = self.regime is not Regime.BOUNDED and self.closed.turns(int(sets[0])) != self.rounds.count
        bond = Bond.SWAPS if swings and self.regime is Regime.FAST else Bond.ONE
        # Under bounded pressure an agent hears itself too, and only a constant network keeps what it kept without.
        keeps = self.regime is not Regime.BOUNDED or self.rounds.count == 1
        mode = self._mode(int(sets[0])) if keeps and number < MOST_MODES else None
        return Group(agents, bond, mode, self._value(agents, mode), swings)

    def _divided(self, agents: Agents, sets: Agents) -> Group:
        """Return the end of a group with several closed sets, which may come to one value all the same.

        Where opinions adapt, an agent of two closed classes carries each to the other; where they do not, the classes
        may happen to be drawn to one value.
        """
        if self.regime is Regime.BOUNDED:
            return Group(agents, Bond.APART)
        if self.regime.reaches_value and np.any(self.adapts):
            return self._carried(agents)
        if np.all(self.closed.ends[sets]):
            return Group(agents, Bond.SWAPS, heard=np.unique(self.speakers[sets]))
        if np.any(self.closed.ends[sets]) or not self.regime.reaches_value:
            return Group(agents, Bond.SWAPS)
        modes = [self._mode(int(number)) for number in sets]
        values = [mode.value(self.model.x0) for mode in modes if mode is not None]
        one = len(values) == len(modes) and bool(np.ptp(values) <= SAME * float(np.ptp(self.model.x0)))
        return Group(agents, Bond.ONE, modes[0], values[0]) if one else Group(agents, Bond.SWAPS)

    def _carried(self, agents: Agents) -> Group:
        whole = closed_classes(self.rounds, self.adapts, remembers(self.model), weak=True)
        speakers = whole.speakers(self.model.n)
        inside = np.flatnonzero(np.isin(speakers, agents))
        if inside.size > 1:
            return Group(agents, Bond.SWAPS)
        value = float(self.model.x0[speakers[inside[0]]]) if whole.ends[inside[0]] else None
        return Group(agents, Bond.ONE, None, value)

    def _mode(self, number: int) -> Mode | None:
        """Return the common value of a closed class, which no one who is alone has a part in."""
        places = self.closed.places(number)
        shown = places[places < self.rounds.degrees.size]
        return None if np.any(self.rounds.degrees.ravel()[shown] == 0) else mode_of(self.model, self.rounds, shown)

    def _value(self, agents: Agents, mode: Mode | None) -> float | None:
        """Return the mean of the opinions that never move, to which all are drawn where time is given for it."""
        if self.fades or not self.regime.reaches_value:
            return None
        anchors = agents[~self.adapts[agents]]
        if anchors.size == 1:
            return float(self.model.x0[anchors[0]])
        if self.rounds.count == 1:
            influence = np.zeros(self.model.n)
            influence[agents] = self.model.s[agents] / self.model.s[agents].max()
        elif mode is not None:
            influence = mode.influence
        else:
            return None
        held = np.where(self.adapts, 0.0, influence)
        return float(held @ self.model.x0 / held.sum()) if np.any(held > 0) else None


# The ends that a network can come to under peer pressure.


class Outcome(Enum):
    """What becomes of the agents' public opinions as t → ∞.

    The last three before the unknown are met only where the network changes or hidden opinions adapt.
    """

    CONSENSUS = "consensus on v"
    BIASED_CONSENSUS = "biased consensus"
    OSCILLATION = "permanent oscillation between the two sides"
    DISAGREEMENT = "stationary disagreement around the Friedkin–Johnsen point"
    CLUSTERS = "cluster consensus"
    PERIODIC = "periodic limit"
    RANDOM_WALK = "a common opinion on a random walk"
    UNKNOWN = "unknown"


@final
@dataclass(frozen=True)
class Fate:
    """An outcome with the facts that it was decided from.

    ``settled``: all hold one opinion without noise. ``balanced``: the mean is v from the start and at every step, and
    so is that of each side of a bipartite network, whatever the pressure. ``setting`` holds what else counts where
    the network changes or hidden opinions adapt.
    """

    outcome: Outcome
    regime: Regime
    noise: NoiseEffect
    growth: Growth
    settled: bool
    balanced: bool
    estimated: bool
    setting: Setting | None = None


# What becomes of agents whose network changes, or whose hidden opinions adapt: without noise, then with it.


def extended_fate(model: Model) -> Fate:
    """Decide the outcome of a model that is not plain."""
    growth = model.pressure.growth
    regime = regime_of(model.pressure, growth)
    setting = setting_of(model, regime)
    noise = _noise(model, regime, setting)
    settled = bool(model.noise.is_zero and np.ptp(np.concatenate([model.x0, model.start_state])) == 0)
    balanced = _is_balanced_forever(model)
    outcome = Outcome.CONSENSUS if settled else _extended_outcome(model, setting, regime, noise, balanced=balanced)
    moved = setting.adaptation is not None and setting.adaptation.estimated
    estimated = growth.estimated or is_estimated(model) or moved
    return Fate(outcome, regime, noise, growth, settled, balanced, estimated, setting)


def _noise(model: Model, regime: Regime, setting: Setting) -> NoiseEffect:
    found = noise_effect(model, regime)
    if setting.holds or setting.adaptation is None or found in (NoiseEffect.NONE, NoiseEffect.UNKNOWN):
        return found
    if found is NoiseEffect.SCATTERS and regime is not Regime.BOUNDED:
        return found
    if setting.adaptation.wanders is None:
        return NoiseEffect.UNKNOWN
    # Where nothing holds the common value, noise is never averaged out: it stays in it, or moves it for ever.
    return NoiseEffect.WANDERS if setting.adaptation.wanders else NoiseEffect.STAYS


def _extended_outcome(model: Model, setting: Setting, regime: Regime, noise: NoiseEffect, *, balanced: bool) -> Outcome:
    if setting.bond is Bond.UNKNOWN or noise is NoiseEffect.UNKNOWN:
        return Outcome.UNKNOWN
    if setting.bond is Bond.APART or noise is NoiseEffect.SCATTERS or setting.scattered:
        return Outcome.DISAGREEMENT
    if noise is NoiseEffect.WANDERS and not setting.holds:
        return Outcome.RANDOM_WALK
    assert setting.rounds is not None
    if setting.bond is Bond.SWAPS:
        return Outcome.OSCILLATION if setting.rounds.count == 1 else Outcome.PERIODIC
    if noise is not NoiseEffect.NONE and (regime is Regime.BOUNDED or setting.rounds.isolated):
        # Opinions come together, but agents go on showing noise of their own.
        return Outcome.DISAGREEMENT
    return Outcome.CLUSTERS if setting.bond is Bond.GROUPS else _agreement(model, setting, noise, balanced=balanced)


def _agreement(model: Model, setting: Setting, noise: NoiseEffect, *, balanced: bool) -> Outcome:
    value = setting.groups[0].value
    right = balanced if value is None else abs(value - model.consensus_value) <= SAME * float(np.ptp(model.x0))
    moved = noise in (NoiseEffect.WANDERS, NoiseEffect.STAYS)
    return Outcome.CONSENSUS if right and not moved else Outcome.BIASED_CONSENSUS


def _is_balanced_forever(model: Model) -> bool:
    """Say whether Σ d y and Σ s x obey a recursion of their own that starts on v, so that both stay there.

    That takes a constant network with s ∝ d, and agents who all adapt alike.
    """
    if (
        model.temporal_network is not None
        or model.adaptation is None
        or np.ptp(np.asarray(model.adaptation.adaptation_weight))
    ):
        return False
    d = model.network.degrees
    ratio, off = model.s / d, model.start_state - model.consensus_value
    return bool(np.ptp(ratio) <= 1e-12 * ratio.max() and abs(d @ off) <= 1e-12 * (d @ np.abs(off)))


# Which of the ends a model meets.


def fate(model: Model) -> Fate:
    """Decide the outcome from the growth of pressure and noise and from the parity of the network.

    Where the network changes, or hidden opinions adapt, there is more to look at, and more that can happen.

    >>> from peerpressure.networks import k2
    >>> fate(Model(k2(), hidden=[0, 1])).outcome
    <Outcome.CONSENSUS: 'consensus on v'>
    """
    model = reduced(model)
    if not model.is_plain:
        return extended_fate(model)
    growth = model.pressure.growth
    regime = regime_of(model.pressure, growth)
    noise = noise_effect(model, regime)
    settled = is_settled(model, regime)
    balanced = regime is Regime.FAST and _is_balanced(model)
    outcome = Outcome.CONSENSUS if settled or balanced else _outcome(model, regime, noise)
    return Fate(outcome, regime, noise, growth, settled, balanced, growth.estimated or is_estimated(model))


def _outcome(model: Model, regime: Regime, noise: NoiseEffect) -> Outcome:
    if regime is Regime.UNKNOWN or noise is NoiseEffect.UNKNOWN:
        return Outcome.UNKNOWN
    if regime is Regime.BOUNDED or noise is NoiseEffect.SCATTERS:
        return Outcome.DISAGREEMENT
    if regime is Regime.FAST or noise is NoiseEffect.WANDERS:
        # Neither the start nor the noise is forgotten: it lives on in the mean, and on two sides in their swing too.
        return Outcome.OSCILLATION if model.network.is_bipartite else Outcome.BIASED_CONSENSUS
    return Outcome.BIASED_CONSENSUS if noise is NoiseEffect.STAYS else Outcome.CONSENSUS


def is_settled(model: Model, regime: Regime) -> bool:
    """Say whether all hold one opinion without noise, so that nothing is left for pressure to do."""
    agreed = model.noise.is_zero and np.ptp(model.x0) == 0
    starts_agreed = bool(np.all(model.start_state == model.x0))
    return bool(agreed and (starts_agreed or regime is Regime.BOUNDED))


def _is_balanced(model: Model) -> bool:
    """Say whether s ∝ d without noise, where the mean and the swing between sides obey recursions of their own.

    Neither is then driven by anything but its own share of start and opinions, and both shares are 0 here.
    """
    if not (model.noise.is_zero and is_proportional(model)):
        return False
    d, sides = model.network.degrees / model.network.degrees.sum(), model.network.sides
    weights = [d] if sides is None else [d, np.where(sides, -d, d)]
    off = np.stack([model.x0, model.start_state]) - model.consensus_value
    return bool(np.all(np.abs(off @ np.stack(weights).T) <= 1e-12 * np.abs(off).max()))


# Who meets whom, and how often: what a network that changes does for, and against, agreement.

# Windows are called good where at least this share of them is jointly connected.
MOSTLY = 0.75


@final
@dataclass(frozen=True)
class Meeting:
    """How agents of a changing network meet.

    ``window`` is the least number of steps over any of which all agents are connected, directly or through others,
    up to the step ``until`` or for ever if that is None; None if there is no such number. ``usual`` is a number over
    which they mostly are, and ``broken`` holds the first and last steps of the stretches where they are not.
    ``groups`` are the sizes of the groups that never meet again, and ``values`` what each is drawn to, None where that
    depends on more than opinions. ``alone`` is the share of agents and recurring steps without a neighbour, of
    ``isolated`` agents in all.
    """

    period: int | None
    last_change: int
    until: int | None
    window: int | None
    usual: int | None
    broken: tuple[tuple[int, int], ...]
    groups: tuple[int, ...]
    values: tuple[float | None, ...]
    alone: float
    isolated: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return plain | {
            "broken": [list(stretch) for stretch in self.broken],
            "groups": list(self.groups),
            "values": list(self.values),
        }


def meeting_of(model: Model, fate: Fate, horizon: int | None) -> Meeting | None:
    """Return how the agents of a model meet up to the horizon, None for a constant network."""
    temporal_network, setting = model.temporal_network, fate.setting
    if temporal_network is None or setting is None:
        return None
    usual, broken = _usual(temporal_network, horizon)
    alone = np.zeros((1, model.n), dtype=np.bool_) if setting.rounds is None else setting.rounds.alone
    return Meeting(
        period=temporal_network.period,
        last_change=temporal_network.last_change,
        until=horizon,
        window=shortest_window(temporal_network, horizon),
        usual=usual,
        broken=broken,
        groups=tuple(group.agents.size for group in setting.groups),
        values=tuple(group.value for group in setting.groups),
        alone=float(alone.mean()),
        isolated=int(np.count_nonzero(np.any(alone, axis=0))),
    )


def _usual(temporal_network: TemporalNetwork, horizon: int | None) -> tuple[int | None, tuple[tuple[int, int], ...]]:
    """Return the first window of 1, 2, 4, … steps that is mostly connected, and the stretches where it is not."""
    end = temporal_network.span if horizon is None else horizon
    window = 1
    while window <= end:
        joined = joint_connectivity(temporal_network, window, end)
        if joined.connected.mean() >= MOSTLY:
            return window, tuple(joined.broken)
        window *= 2
    return None, ()


# What becomes of hidden opinions that adapt.


@final
@dataclass(frozen=True)
class HiddenFate:
    """Whether agents end up believing one thing, and how long each keeps its own view.

    ``agrees`` is None where it is not known. ``half_life`` holds the least and the greatest number of steps after
    which an agent holds less than half of its first opinion of itself, and ``information`` the most that all steps
    together tell of a first opinion, in units of one step's noise; see ``retention``.
    """

    agrees: bool | None
    half_life: tuple[float, float]
    information: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON: None for what is infinite or not known."""
        numbers = {"half_life": list(self.half_life), "information": [self.information]}
        plain = {name: [x if math.isfinite(x) else None for x in values] for name, values in numbers.items()}
        return {"agrees": self.agrees, "half_life": plain["half_life"], "information": plain["information"][0]}


def hidden_fate(model: Model, fate: Fate) -> HiddenFate | None:
    """Return what becomes of hidden opinions, None where they are constant."""
    if model.adaptation is None or fate.setting is None:
        return None
    kept = retention(model, 1)
    life = (float(kept.half_life.min()), float(kept.half_life.max()))
    return HiddenFate(True if fate.settled else _agrees(model, fate, fate.setting), life, float(kept.information.max()))


def _agrees(model: Model, fate: Fate, setting: Setting) -> bool | None:
    facts = setting.adaptation
    assert facts is not None
    if facts.lasting is None or setting.bond is Bond.UNKNOWN or fate.noise is NoiseEffect.UNKNOWN:
        return None
    holding = int(np.count_nonzero(~facts.adapts))
    # Several who never adapt do not even agree among themselves; one is followed if the start is forgotten.
    if not facts.lasting or setting.bond is not Bond.ONE or holding > 1 or (holding and fate.regime is Regime.FAST):
        return False
    if fate.noise is NoiseEffect.NONE:
        return True
    noisy = fate.regime is Regime.BOUNDED or (setting.rounds is not None and setting.rounds.isolated)
    return fate.noise is not NoiseEffect.SCATTERS and (not noisy or _fades(model))


def _fades(model: Model) -> bool:
    """Say whether η_t → 0, so that what agents hold no longer follows the noise of each step."""
    assert model.adaptation is not None
    exponent = model.adaptation.rate.growth.exponent
    return exponent is not None and exponent < 0
