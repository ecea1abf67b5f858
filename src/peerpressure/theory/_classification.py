"""Classification of the long run: regimes, recurrent structure, effect of noise, and the outcome that follows.

``classify`` computes it once; outcome, reasons, rates, limits and forecast read it. The paper's model is the special
case of one network and constant hidden opinions, and continuous time differs only in that no class is periodic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.statespace import System, checked_system
from peerpressure.model.step import Array
from peerpressure.networks import Network
from peerpressure.networks.chain import phases
from peerpressure.schedules import Constant, Formula, Growth, Table
from peerpressure.support.dates import whole_steps
from peerpressure.theory._limit_law import Fluctuation, LimitKind, LimitLaw, common_law, separate_law
from peerpressure.theory._recurrence import AbsoluteProbability
from peerpressure.theory._regime import (
    NoiseEffect,
    Regime,
    fades_out,
    farthest,
    hidden_noise_vanishes,
    later_sum,
    noise_effect,
    opinion_regime,
    regime_of,
)
from peerpressure.theory._structure import (
    EQUAL_RTOL,
    Component,
    NoiselessLimit,
    Structure,
    gossip_influence,
    has_single_closed_class,
    structure_of,
)

# Largest number of agents for which symmetries are tested, which takes as many steps.
MOST_SYMMETRIC = 256


class Outcome(Enum):
    """Behaviour of the public opinions as t → ∞.

    Random walks occur only where hidden opinions adapt, and bipartite or neutral consensus only where weights may be
    negative: on two opposite values, or on 0.

    Attributes
    ----------
    CONSENSUS : Outcome
        All agents converge to v.
    BIASED_CONSENSUS : Outcome
        All agents converge to a common value other than v, or to a random one.
    OSCILLATION : Outcome
        The two sides of a bipartite network exchange two values forever.
    DISAGREEMENT : Outcome
        The agents stay apart.
    CLUSTERS : Outcome
        Agents agree within components, but not between them.
    PERIODIC : Outcome
        Opinions repeat with the period of the network.
    RANDOM_WALK : Outcome
        Agents agree on a value that noise moves forever.
    UNKNOWN : Outcome
        The outcome is not decided; the reasons say why.

    See Also
    --------
    diagnose : Decides the outcome of a model.

    Examples
    --------
    >>> from peerpressure import Model, diagnose
    >>> from peerpressure.networks import k2
    >>> diagnose(Model(k2(), hidden=[0.0, 1.0])).outcome
    <Outcome.CONSENSUS: 'consensus on v'>
    """

    CONSENSUS = "consensus on v"
    BIASED_CONSENSUS = "biased consensus"
    OSCILLATION = "permanent oscillation between the two sides"
    DISAGREEMENT = "disagreement"
    CLUSTERS = "cluster consensus"
    BIPARTITE = "bipartite consensus"
    NEUTRAL = "neutral consensus"
    PERIODIC = "periodic limit"
    RANDOM_WALK = "random-walk consensus"
    UNKNOWN = "unknown"

    @property
    def agrees(self) -> bool | None:
        """Whether all public opinions converge to one value, v or another one; None if that is not known."""
        if self is Outcome.UNKNOWN:
            return None
        return self in (Outcome.CONSENSUS, Outcome.BIASED_CONSENSUS, Outcome.NEUTRAL)


@final
@dataclass(frozen=True, eq=False)
class LongRun:
    """Classification of a model or SDE as t → ∞.

    ``stays_equal``: all opinions are equal and there is no noise. ``stays_on_v``: the mean is v from the start on, and
    so is that of each side of a bipartite network, whatever the pressure. ``model`` is the discrete model behind an
    SDE, and ``deviations`` are the standard deviations of noise that enters with the weight of an opinion, shape
    (agents,). Where ``camps`` are given, opinions are multiplied by the sign of the agent's camp, which makes all
    weights positive: ``model`` and ``system`` are the result. ``computed_law`` is the limit law of each agent, where
    more is known than structure and regimes tell. ``classes`` are the closed classes of a static network, where there
    are several or one is not balanced. ``fluctuation`` has the stationary deviations of agents who stay apart, where
    these are known.
    """

    system: System
    model: Model
    deviations: Array
    regime: Regime
    noise: NoiseEffect
    structure: Structure
    stays_equal: bool
    stays_on_v: bool
    camps: NDArray[np.int8] | None = None
    computed_law: LimitLaw | None = None
    classes: tuple[Component, ...] = ()
    fluctuation: Fluctuation | None = None

    @property
    def has_camps(self) -> bool:
        """Whether opinions are multiplied by the sign of the agent's camp."""
        return self.camps is not None

    @property
    def lazy(self) -> bool:
        """Whether it is random who updates, and others keep their public opinions."""
        return self.model.activation is not None

    @property
    def continuous(self) -> bool:
        """Whether time is continuous."""
        return self.system is not self.model

    @property
    def growth(self) -> Growth:
        """The growth of the pressure."""
        return self.model.pressure.growth

    @property
    def phi(self) -> float:
        """The coefficient φ of the noise in time: 0 for white noise, 1 for noise drawn once.

        In continuous time that of AR(1) noise whose mean over a long time varies as much: (1 + φ)/(1 − φ) = 2/θ.
        """
        phi = self.model.noise.autocorrelation
        if not self.system.is_continuous or phi in (0.0, 1.0):
            return phi
        theta = -math.log(phi)
        return (2 - theta) / (2 + theta)

    def network_step(self, steps: int) -> int:
        """Return the step of the network that so many steps of the system lead to."""
        return int(whole_steps(steps * self.system.step))

    @property
    def noise_grows(self) -> bool:
        """Whether the scale of the noise is unbounded."""
        return not self.model.noise.is_zero and self.model.noise.time_scale.growth.bounded is False

    @property
    def absolute_probability(self) -> AbsoluteProbability | None:
        """The absolute probability sequence of all agents, where they have one common value."""
        structure = self.structure
        return structure.components[0].absolute_probability if len(structure.components) == 1 else None

    @property
    def kappa(self) -> float:
        """The rate κ of the common value."""
        networks, agree = self.structure.networks, self.structure.limit is NoiselessLimit.CONSENSUS
        law = self.structure.law
        if law is not None and law.chances is not None and self.structure.keeps:
            return float(gossip_influence(self.model, law).sum())
        if law is not None and law.pairs is not None and law.presence is not None:
            # Of the expected degrees, so it does not depend on how many steps are recorded.
            return float(self.model.s.sum() / (law.presence * law.pairs.degrees.sum()))
        # On one network the κ of ω equals Σs/Σd up to rounding, so the model's own is used.
        if networks is None or networks.is_static or not agree or self.absolute_probability is None:
            return self.model.kappa
        return self.absolute_probability.kappa

    @cached_property
    def outcome(self) -> Outcome:
        """What becomes of the public opinions."""
        return outcome_of(self)

    @cached_property
    def law(self) -> LimitLaw:
        """The limit law of each agent, or as much of it as structure and regimes tell."""
        return self._structural_law if self.computed_law is None else self.computed_law

    @property
    def two_sided(self) -> bool:
        """Whether what is periodic alternates between the two sides of a static network."""
        structure, networks = self.structure, self.structure.networks
        static = networks is not None and networks.count == 1 and bool(structure.components)
        return static and all(part.two_sided for part in structure.components)

    @property
    def _structural_law(self) -> LimitLaw:
        structure, noise, limit, n = self.structure, self.noise, self.structure.limit, self.model.n
        # The order of the tests matters: exact symmetries first, then what is unknown, then noise that prevents
        # agreement.
        if self.stays_equal or (self.stays_on_v and structure.constant_opinions):
            return common_law(n, LimitKind.CONVERGES, self.model.consensus_value, 0.0)
        # No outcome is guessed: an unknown ingredient makes the result unknown.
        if limit is NoiselessLimit.UNKNOWN or noise is NoiseEffect.UNKNOWN:
            return LimitLaw.unknown(n)
        if self.lazy and noise is NoiseEffect.WANDERS:
            return LimitLaw.unknown(n)
        if limit is NoiselessLimit.DISAGREEMENT or noise is NoiseEffect.SCATTERS or structure.all_isolated:
            return self._with_lonely_agents(separate_law(self._kind_of_noise, n))
        if self._is_periodic:
            return self._with_lonely_agents(self._cycles)
        return self._walking_law or self._with_lonely_agents(self._agreement)

    def _with_lonely_agents(self, law: LimitLaw) -> LimitLaw:
        """Return the law with that of agents who have no neighbours any more, and adapt to nothing but their noise."""
        alone = np.zeros(self.model.n, np.bool_)
        alone[[int(part.agents[0]) for part in self.structure.components if part.agents.size == 1]] = True
        networks = self.structure.networks
        alone &= self.structure.opinions.movable & (self.deviations > 0)
        if self.noise is NoiseEffect.NONE or networks is None or not np.any(alone := alone & ~networks.keeps_forever):
            return law
        kind, std = law.kind.copy(), law.std.copy()
        does = self._kept_noise(alone=True)
        kind[alone], std[alone] = does, math.inf if does in (LimitKind.WALKS, LimitKind.DRIFTS) else math.nan
        return replace(law, kind=kind, std=std)

    def _kept_noise(self, *, alone: bool) -> LimitKind:
        """Return what an agent does who keeps what it adopts of its noise, or of that of its neighbours."""
        walks = opinion_regime(self.model, isolated=True).random_walk if alone else self.structure.opinions.random_walk
        if not walks:
            return LimitKind.UNKNOWN if walks is None else LimitKind.RANDOM_LIMIT
        return LimitKind.DRIFTS if self.phi == 1 else LimitKind.WALKS

    @property
    def _kind_of_noise(self) -> LimitKind:
        """What noise makes of opinions that stay apart."""
        if self.structure.opinions.fades and self.noise is not NoiseEffect.NONE:
            # Agents who hardly adapt to each other keep what they once adopted of the noise.
            kept = self._kept_noise(alone=False)
            if kept is not LimitKind.RANDOM_LIMIT or fades_out(self.model.noise.time_scale):
                return kept
        if self.noise_grows:
            return LimitKind.DRIFTS if self.phi == 1 else LimitKind.WALKS
        if self.structure.law is not None:
            # So does the chance of being linked.
            return LimitKind.FLUCTUATES
        quiet = self.noise is NoiseEffect.NONE or fades_out(self.model.noise.time_scale)
        if not quiet and self.phi < 1:
            return LimitKind.FLUCTUATES
        if self.follows_pressure:
            return LimitKind.UNKNOWN
        return LimitKind.CONVERGES if quiet else LimitKind.RANDOM_LIMIT

    @property
    def stays_apart(self) -> bool:
        """Whether opinions that never move keep agents apart, whatever else is not known."""
        known = self.noise is not NoiseEffect.UNKNOWN and not (self.lazy and self.noise is NoiseEffect.WANDERS)
        return known and self.structure.limit is NoiselessLimit.DISAGREEMENT

    @property
    def follows_pressure(self) -> bool:
        """Whether agents stay apart under pressure that is not known to have a limit, and may move with it forever."""
        lost = self.regime is Regime.BOUNDED and self.growth.limit is None
        listens = not self.model.is_constant or bool(np.any(self.model.network.degrees))
        return lost and listens and self.stays_apart

    @property
    def _is_periodic(self) -> bool:
        structure = self.structure
        # Noise that is not averaged out also drives the difference between phases, or between closed classes.
        effect, parts = noise_effect(self.model, self.regime), structure.components
        driven = effect is NoiseEffect.WANDERS and any(part.periodic for part in parts)
        driven |= effect is NoiseEffect.STAYS and any(part.divided for part in parts)
        # The noise of isolated agents, who count where η = 1, is restored in order 1/ρ only.
        isolated = structure.opinions.isolated and self.noise is not NoiseEffect.NONE and self.phi < 1
        driven |= isolated and any(part.periodic for part in parts) and not self.hidden_agrees
        return structure.limit is NoiselessLimit.PERIODIC or driven

    @property
    def _cycles(self) -> LimitLaw:
        """The law of components some of which repeat a cycle, while the others agree each by itself."""
        n, parts = self.model.n, self.structure.components
        cycles = [part.agents for part in parts if part.limit is NoiselessLimit.PERIODIC]
        others = {part.limit for part in parts} - {NoiselessLimit.PERIODIC}
        if self._own_noise_vanishes is False and not np.ptp(np.concatenate([self.model.x0, self.model.start_state])):
            # Equal opinions have one mean at all steps, and who fluctuates with the noise is not known here.
            return LimitLaw.unknown(n)
        if not cycles or others != {NoiselessLimit.CONSENSUS} or not self._own_noise_vanishes:
            return separate_law(LimitKind.PERIODIC, n)
        law, which = self._by_component, np.zeros(n, np.bool_)
        which[np.concatenate(cycles)] = True
        kind = law.kind.copy()
        kind[which] = LimitKind.PERIODIC
        mean, std = np.where(which, np.nan, law.mean), np.where(which, np.nan, law.std)
        return replace(law, kind=kind, mean=mean, std=std, group=np.where(which, -1, law.group))

    @property
    def _walking_law(self) -> LimitLaw | None:
        structure = self.structure
        if self.noise is not NoiseEffect.WANDERS or structure.has_fixed_opinion or not structure.opinions.random_walk:
            return None
        if len(structure.components) > 1:
            # Each component wanders by itself, so there is no common opinion.
            return None
        # Where pressure vanishes, so does what keeps agents together; and growing noise drives them apart.
        bounded = self.regime is Regime.BOUNDED
        separates = (bounded and fades_out(self.model.pressure)) or (
            self.noise_grows and (bounded or structure.intermittent)
        )
        kind = LimitKind.DRIFTS if self.phi == 1 else LimitKind.WALKS
        if separates and not self.hidden_agrees:
            return separate_law(kind, self.model.n)
        return common_law(self.model.n, kind, math.nan, math.inf)

    @cached_property
    def _one_source(self) -> bool:
        """Whether one agent is isolated at times, and all public opinions can be traced back to its own."""
        structure, networks = self.structure, self.structure.networks
        if networks is None or self.regime is Regime.BOUNDED or np.count_nonzero(networks.intermittent) != 1:
            return False
        return structure.opinions.isolated or any(part.sources is not None for part in structure.components)

    @property
    def _own_noise_vanishes(self) -> bool | None:
        """Whether no agent keeps showing its own noise; None if that is not known."""
        # All agents show the frozen noise of one source alike.
        isolated = self.structure.intermittent and not (self._one_source and self.phi == 1)
        if self.noise is NoiseEffect.NONE or not (self.regime is Regime.BOUNDED or isolated):
            return True
        fades = fades_out(self.model.noise.time_scale)
        # Under bounded pressure hidden opinions show as well, and they remember noise.
        return self._hidden_agrees_by_component if fades and self.regime is Regime.BOUNDED else fades

    @property
    def _agreement(self) -> LimitLaw:
        noise, structure, quiet, n = self.noise, self.structure, self._own_noise_vanishes, self.model.n
        if not quiet:
            if quiet is None:
                return LimitLaw.unknown(n)
            kind = LimitKind.WALKS if self.noise_grows else LimitKind.FLUCTUATES
            if self.phi == 1 and (self.noise_grows or self.regime is not Regime.BOUNDED):
                # Frozen noise does not fluctuate: it repeats with the networks, and moves ever further if it grows.
                kind = LimitKind.DRIFTS if self.noise_grows else LimitKind.PERIODIC
            elif self.phi == 1 and self._steps_have_a_limit:
                kind = LimitKind.RANDOM_LIMIT
            return self._moving_apart(separate_law(kind, n))
        if structure.limit is NoiselessLimit.CLUSTERS and not self._same_values:
            return self._by_component
        value = structure.components[0].value
        # Without a closed form the limit is v only by symmetry; otherwise it would be a coincidence.
        mean = value if value is not None else self.model.consensus_value if self.stays_on_v else math.nan
        frozen = LimitKind.DRIFTS if self.noise_grows and self.phi == 1 else LimitKind.RANDOM_LIMIT
        kinds = {NoiseEffect.WANDERS: LimitKind.FLUCTUATES, NoiseEffect.STAYS: frozen}
        # Chance in who updates, or in who is linked, averages out where noise does.
        by_chance = (self.lazy and self.regime is Regime.FAST) or (structure.law is not None and value is None)
        chance = LimitKind.RANDOM_LIMIT if by_chance else LimitKind.CONVERGES
        kind = kinds.get(noise, chance)
        return common_law(n, kind, mean, 0.0 if kind is LimitKind.CONVERGES else math.nan)

    @property
    def _steps_have_a_limit(self) -> bool:
        """Whether pressure, the scale of noise and the network tend to constant ones."""
        known = None not in (self.growth.limit, self.model.noise.time_scale.growth.limit)
        return known and self.model.temporal_network is None

    def _moving_apart(self, law: LimitLaw) -> LimitLaw:
        """Return the law of agents who show their own noise, where nothing holds the values of some components."""
        if self.noise is not NoiseEffect.WANDERS or not self.structure.opinions.random_walk:
            return law
        kind, std = law.kind.copy(), law.std.copy()
        for part in self.structure.components:
            if not part.has_fixed_opinion:
                kind[part.agents], std[part.agents] = LimitKind.DRIFTS if self.phi == 1 else LimitKind.WALKS, math.inf
        return replace(law, kind=kind, std=std)

    @property
    def _by_component(self) -> LimitLaw:
        """The law of components that agree each by itself."""
        n = self.model.n
        group, mean = np.zeros(n, np.int64), np.full(n, np.nan)
        for number, part in enumerate(self.structure.components):
            group[part.agents] = number
            mean[part.agents] = np.nan if part.value is None else part.value
        # Where starts or opinions stay forever, so does what noise has added to them.
        forgets = self.noise is NoiseEffect.NONE or (self.regime.reaches_value and not self.structure.opinions.fades)
        kind = LimitKind.CONVERGES if forgets else LimitKind.RANDOM_LIMIT
        if self.noise in (NoiseEffect.WANDERS, NoiseEffect.STAYS):
            walks = self.noise is NoiseEffect.WANDERS and bool(self.structure.opinions.random_walk)
            moving = LimitKind.DRIFTS if self.phi == 1 else LimitKind.WALKS
            kind = moving if walks else LimitKind.RANDOM_LIMIT
        known = common_law(n, kind, math.nan, math.nan)
        kinds, std = known.kind.copy(), known.std.copy()
        for part in self.structure.components:
            std[part.agents] = self._deviation_of(part)
        for part in self.structure.components if self.regime is Regime.BOUNDED else ():
            if part.has_fixed_opinion:
                # Noise that fades is forgotten where opinions that never move hold the value.
                kinds[part.agents], std[part.agents] = LimitKind.CONVERGES, 0.0
        return replace(known, kind=kinds, std=std, mean=mean[None], group=group)

    def _deviation_of(self, part: Component) -> float:
        """Return the deviation of a component's value over the noise; nan where it has none, or it is not known."""
        structure, noise, scale = self.structure, self.noise, self.model.noise.time_scale.growth.limit
        alone = part.agents.size == 1
        if noise is NoiseEffect.NONE:
            return 0.0
        if not (structure.constant_opinions and self.regime.reaches_value) or (alone and structure.keeps):
            return math.nan
        if noise is NoiseEffect.VANISHES:
            # An agent without neighbours has nobody to average its noise with.
            return math.nan if alone and scale != 0 else 0.0
        sequence = part.absolute_probability
        if noise is not NoiseEffect.STAYS or scale is None or math.isinf(scale) or not (alone or sequence):
            return math.nan
        w = np.ones(1) if sequence is None else sequence.influence[part.agents]
        return float(np.linalg.norm(w * self.deviations[part.agents]) / w.sum()) * scale

    @property
    def _same_values(self) -> bool:
        """Whether all components have one value, because their opinions are equal and nothing moves them."""
        values = [part.value for part in self.structure.components]
        if not self.structure.constant_opinions and np.any(self.model.start_state != self.model.x0):
            return False
        # An agent without neighbours has nobody to average its noise with.
        alone = any(part.agents.size == 1 for part in self.structure.components)
        averaged = self.noise is NoiseEffect.NONE or (self.noise is NoiseEffect.VANISHES and not alone)
        return averaged and None not in values and bool(np.ptp(self.model.x0) == 0)

    @cached_property
    def hidden_agrees(self) -> bool | None:
        """Whether the differences between hidden opinions that adapt vanish; None if that is not known.

        Where all agents adapt forever, hidden opinions follow public ones: if these converge to one value, so do the
        hidden ones. The converse fails: public opinions also show noise, and the phases of a periodic network.
        """
        structure, opinions, model = self.structure, self.structure.opinions, self.model
        if self.stays_equal:
            return True
        if opinions.lasting is None or structure.limit is NoiselessLimit.UNKNOWN or self.noise is NoiseEffect.UNKNOWN:
            return None
        if not opinions.lasting or len(structure.components) != 1:
            return False
        (part,) = structure.components
        return self._agrees_within(part, np.arange(model.n))

    @property
    def _hidden_agrees_by_component(self) -> bool | None:
        """Whether hidden opinions come to agree within each component; None if that is not known."""
        structure, opinions = self.structure, self.structure.opinions
        parts = structure.components
        everyone = sum(part.agents.size for part in parts) == self.model.n
        if len(parts) < 2 or not everyone or not opinions.lasting:
            return self.hidden_agrees
        if structure.limit is NoiselessLimit.UNKNOWN or self.noise is NoiseEffect.UNKNOWN:
            return None
        agree = [self._agrees_within(part, part.agents) for part in parts]
        return False if False in agree else None if None in agree else True

    def _agrees_within(self, part: Component, agents: NDArray[np.int64]) -> bool | None:
        """Whether differences vanish between the hidden opinions of agents who follow a component."""
        structure, opinions, model = self.structure, self.structure.opinions, self.model
        still = model.x0[agents][~opinions.movable[agents]]
        # Opinions that never move must be equal, and attract all others.
        if part.limit is NoiselessLimit.DISAGREEMENT or (still.size and (np.ptp(still) or part.value is None)):
            return False
        averages = part.limit is not NoiselessLimit.PERIODIC or self._averages_phases(part)
        if not averages or self.noise is NoiseEffect.NONE:
            return averages
        vanishes = hidden_noise_vanishes(
            model,
            opinions,
            intermittent=structure.intermittent and not self._one_source,
            fixed=bool(still.size) or part.divided,
            source=part.sources is not None,
            swings=part.periodic and self.regime.reaches_value,
        )
        frozen = self.phi == 1 and not still.size
        return None if vanishes is False and frozen and self._single_noise_source(part) else vanishes

    def _single_noise_source(self, part: Component) -> bool:
        """Whether all agents may adapt to the same frozen noise: of one agent, or of classes visited in turn."""
        networks = self.structure.networks
        if networks is None:
            return False
        turns = part.divided and networks.is_bipartite and self._averages_phases(part) is not False
        return turns or np.count_nonzero(networks.intermittent) == 1

    def _averages_phases(self, part: Component) -> bool | None:
        """Whether hidden opinions average over the phases of a component that is periodic under fast pressure."""
        assert self.model.adaptation is not None
        averages = fades_out(self.model.adaptation.rate)
        # At rates η_t → 0 all agents average over the same values of one closed class, but not over several classes.
        return None if averages and (not part.periodic or self.noise is NoiseEffect.WANDERS) else averages


def outcome_of(long_run: LongRun) -> Outcome:
    """Return the outcome that the limit law of the agents amounts to."""
    law = long_run.law
    if LimitKind.UNKNOWN in law.kinds:
        # Where agents stay apart it may not be known whether they come to rest.
        return Outcome.DISAGREEMENT if long_run.stays_apart else Outcome.UNKNOWN
    if LimitKind.PERIODIC in law.kinds:
        return Outcome.OSCILLATION if long_run.two_sided else Outcome.PERIODIC
    if np.any(law.group != law.group[0]) or law.group[0] < 0:
        # Agents of a negative group come together with nobody, and follow no class alone.
        groups, sizes = np.unique(law.group, return_counts=True)
        return Outcome.CLUSTERS if groups[0] >= 0 and sizes.max() > 1 else Outcome.DISAGREEMENT
    return _outcome_of_one_group(long_run)


def _outcome_of_one_group(long_run: LongRun) -> Outcome:
    """Return the outcome where all agents come together, in two camps perhaps."""
    law, model = long_run.law, long_run.model
    # Growing noise may move a value that opinions hold in place, too.
    free = not (long_run.structure.components and long_run.structure.has_fixed_opinion)
    if law.kinds <= {LimitKind.WALKS, LimitKind.DRIFTS} and model.adaptation is not None and free:
        return Outcome.RANDOM_WALK
    zero = EQUAL_RTOL * float(np.abs(model.x0).max())
    if model.network.signed and np.all(np.abs(law.mean) <= zero) and not law.std.any():
        return Outcome.NEUTRAL
    if np.any(law.camp < 0):
        return Outcome.BIPARTITE
    certain = law.kinds == {LimitKind.CONVERGES} and not np.any(law.std > 0)
    reaches_v = bool(np.isfinite(law.mean[0, 0])) and is_consensus_value(model, float(law.mean[0, 0]))
    return Outcome.CONSENSUS if certain and reaches_v else Outcome.BIASED_CONSENSUS


def is_consensus_value(model: Model, value: float) -> bool:
    """Whether a value is v = Σ s x₀/Σ s, up to rounding."""
    # Relative to the range, so the result does not depend on the origin of the scale of opinions.
    rounding = 1e-13 * float(np.abs(model.x0).max())
    return abs(value - model.consensus_value) <= EQUAL_RTOL * float(np.ptp(model.x0)) + rounding


def classify(system: System) -> LongRun:
    """Classify the long-run behaviour of a model or SDE.

    >>> from peerpressure.networks import k2
    >>> classify(Model(k2(), hidden=[0, 1])).outcome
    <Outcome.CONSENSUS: 'consensus on v'>
    """
    given = checked_system(system).model
    if given.temporal_network is not None and (given.network.directed or not given.network.is_connected):
        rule = "the long run of a temporal network is known where it is undirected and all agents meet"
        got = repr(given.temporal_network)
        remedy = "simulate it, use moments(model, steps) for a finite run, network.aggregate or largest_component()"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))
    growth = given.pressure.growth
    regime = regime_of(given.pressure, growth)
    # Under bounded pressure agents have no common value unless all adapt, and their own ones are wanted.
    has_camps = given.network.signed and given.network.is_balanced
    has_camps = has_camps and (regime is not Regime.BOUNDED or _all_adapt(given))
    system = system.with_model(without_signs(given)) if has_camps else system
    model, deviations = system.model, system.deviations
    continuous = system is not model
    structure = structure_of(model, regime, continuous=continuous)
    # Elsewhere the start is forgotten.
    remembers = regime is Regime.FAST and not continuous
    on_v, in_phase = steady_sums(model) if remembers else (False, False)
    if in_phase:
        # Sides that have the same average at all times do not oscillate.
        (component,) = structure.components
        structure = replace(structure, components=(replace(component, limit=NoiselessLimit.CONSENSUS),))
    if regime.reaches_value and structure.constant_opinions and not np.ptp(model.x0):
        # Classes that never mix come to the same value nevertheless, as starts are forgotten.
        value = float(model.x0[0])
        agreed = tuple(
            replace(part, limit=NoiselessLimit.CONSENSUS, value=value, divided=True)
            if part.limit is NoiselessLimit.PERIODIC
            else part
            for part in structure.components
        )
        structure = replace(structure, components=agreed)
    if not _even_odd_weights_equal(model, regime, structure):
        # Each side may have a limit of its own, which alternates with the other's.
        parts = tuple(replace(part, limit=NoiselessLimit.UNKNOWN, value=None) for part in structure.components)
        structure = replace(structure, components=parts)
    if remembers:
        structure = _without_lost_swings(model, structure)
    return LongRun(
        system=system,
        model=model,
        deviations=deviations,
        regime=regime,
        noise=_noise(model, regime, structure),
        structure=structure,
        stays_equal=_stays_equal(model, regime, structure),
        stays_on_v=(on_v and structure.limit is NoiselessLimit.CONSENSUS)
        or _stays_on_v(model, regime, structure, continuous=continuous),
        camps=given.network.camps if has_camps else None,
    )


def _all_adapt(model: Model) -> bool:
    """Whether all hidden opinions adapt, at rates with a positive limit."""
    adaptation = model.adaptation
    lasts = adaptation is not None and bool(adaptation.rate.growth.limit)
    return lasts and adaptation is not None and bool(np.all(adaptation.adaptation_weights(model.n) > 0))


def without_signs(model: Model) -> Model:
    """Return the model of a balanced signed network in which opinions have the sign of their camp.

    y_i ↦ camp_i y_i makes all weights positive and leaves the steps as they are, with x₀ and noise multiplied likewise.
    """
    network, camps = model.network, model.network.camps
    positive = Network(abs(network.adjacency), network.labels, directed=True)
    start = model.start if isinstance(model.start, str) else camps * model.start
    return replace(model, network=positive, hidden=camps * model.x0, start=start)


def _noise(model: Model, regime: Regime, structure: Structure) -> NoiseEffect:
    effect = noise_effect(model, regime)
    if structure.has_fixed_opinion or effect in (NoiseEffect.NONE, NoiseEffect.UNKNOWN):
        return effect
    if effect is NoiseEffect.SCATTERS and regime is not Regime.BOUNDED:
        return effect
    if structure.opinions.random_walk is None:
        return NoiseEffect.UNKNOWN
    # Without an opinion that fixes the common value, noise is never averaged out: it stays in the value, or moves it
    # forever.
    wanders = structure.opinions.random_walk or effect is NoiseEffect.WANDERS
    return NoiseEffect.WANDERS if wanders else NoiseEffect.STAYS


def _stays_equal(model: Model, regime: Regime, structure: Structure) -> bool:
    """Whether all opinions are equal without lasting noise, so pressure changes nothing."""
    # Where Σ 1/ρ_t diverges, every start and all noise that fades are forgotten, while constant opinions stay.
    # An opinion that is kept forever forgets nothing.
    networks = structure.networks
    forgets = (regime is Regime.BOUNDED or regime.reaches_value) and structure.constant_opinions
    forgets = forgets and not (structure.keeps and (networks is None or bool(np.any(networks.keeps_forever))))
    quiet = model.noise.is_zero or (forgets and model.noise.time_scale.growth.limit == 0)
    # Without pressure agents show their own opinions, from the first step on.
    known = isinstance(model.pressure, Constant | Formula)
    detached = known and not np.any(model.pressure.pressure(np.arange(1.0, 65.0)))
    stays = forgets or detached or bool(np.all(model.start_state == model.x0))
    # Distrust turns opinions into their opposites, unless they are 0.
    alike = not np.ptp(model.x0) and not (model.network.signed and np.any(model.x0))
    return alike and quiet and stays


def is_proportional(model: Model) -> bool:
    """Whether stubbornness is proportional to degree, so the recursion of the consensus mode is exact."""
    # Only of the agents who count in the mode.
    counts = model.network.left_null_vector > 0
    if not np.all(model.network.degrees[counts]):
        return False
    ratio = model.s[counts] / model.network.degrees[counts]
    # Degrees are sums of weights, so proportionality is met only up to rounding.
    return bool(np.ptp(ratio) <= 1e-12 * ratio.max())


def _stays_on_v(model: Model, regime: Regime, structure: Structure, *, continuous: bool) -> bool:
    """Whether Σ d y and Σ s x obey recursions of their own that start on v, so both stay there.

    That takes a constant network with s ∝ d, no noise, and agents who all adapt alike. On two sides the difference
    between them obeys a recursion of its own as well, and must start on 0. The question arises where the start is not
    forgotten.
    """
    networks, constant = structure.networks, structure.constant_opinions
    if not model.noise.is_zero or networks is None or not networks.is_static or not structure.opinions.uniform:
        return False
    # Elsewhere the start is forgotten and the limit has a closed form, so balance adds nothing.
    if (constant and regime is not Regime.FAST) or not is_proportional(model):
        return False
    if model.network.signed or model.activation is not None or not model.network.is_strongly_connected:
        # The mean over several components is balanced whatever each of them does. Transient agents follow their class
        # only if they start on v, too, which is left to the limit.
        return False
    weights = [model.mode_weights, *(_swings(model) if constant and not continuous else [])]
    off = np.stack([model.x0, model.start_state]) - model.consensus_value
    return bool(np.all(np.abs(off @ np.stack(weights).T) <= 1e-12 * np.abs(off).max()))


# Steps, and windows of them, over which pressures at even and odd times are compared.
WINDOW = 20_000
WINDOWS = (10**5, 10**6)
# Powers of e by which a swing fades before it is too small to be told from rounding.
MOST_FADING = 14.0


def _without_lost_swings(model: Model, structure: Structure) -> Structure:
    """Return the structure without swings that fade nearly to 0, as where Σ 1/ρ_t converges only just.

    The difference between two sides loses the share κ/ρ_t at least in every step. What noise adds to it later is not
    followed. Where there is one common value of constant opinions, its phases tell what is left.
    """
    static = structure.networks is not None and structure.networks.count == 1
    if len(structure.components) == 1 and structure.constant_opinions and static:
        return structure
    fading, parts = None, list(structure.components)
    for number, part in enumerate(parts):
        if part.limit is not NoiselessLimit.PERIODIC:
            continue
        fading = later_sum(model.pressure.reciprocal, 0.5, farthest(model)) if fading is None else fading
        kappa = model.kappa if part.absolute_probability is None else part.absolute_probability.kappa
        if kappa * fading > MOST_FADING:
            quiet, agree = model.noise.is_zero, NoiselessLimit.CONSENSUS
            parts[number] = replace(part, limit=agree if quiet else NoiselessLimit.UNKNOWN, periodic=False)
    return replace(structure, components=tuple(parts))


def _even_odd_weights_equal(model: Model, regime: Regime, structure: Structure) -> bool:
    """Whether Σ 1/ρ_t over even and over odd times are known to grow alike, or that does not matter.

    On a bipartite network the opinions of one side enter a class of public opinions at even times only, and those of
    the other side at odd times. Pressure that depends on the parity of t weights the two sides differently in the two
    classes.
    """
    if not regime.reaches_value or model.pressure.growth.is_regular or structure.networks is None:
        return True
    if structure.networks.count == 1 and not any(component.periodic for component in structure.components):
        return True
    # On networks that repeat, pressure may weight their steps differently, which is not analysed.
    if not model.is_plain or model.network.sides is None:
        return False
    sums = [model.pressure.reciprocal(np.arange(start, start + WINDOW)).reshape(-1, 2).sum(axis=0) for start in WINDOWS]
    return all(abs(even / odd - 1) < 1e-3 for even, odd in sums)


def steady_sums(model: Model) -> tuple[bool, bool]:
    """Whether Σ d y/Σ d stays on v, and the sides of a bipartite network stay equal, for every pressure without noise.

    Both sums are rational functions of the pressures, and of the rates at which opinions adapt. One that is 0 for
    random pressures and rates, over enough steps for every opinion to reach every agent, is 0 identically; it is a
    symmetry of the network and its opinions.
    """
    static = model.temporal_network is None and model.activation is None
    if not (static and model.noise.is_zero) or model.n > MOST_SYMMETRIC:
        return False, False
    if not (model.network.is_connected and has_single_closed_class(model)):
        return False, False
    off, swings = np.abs(np.stack([model.x0, model.start_state]) - model.consensus_value).max(), _swings(model)
    weights = np.stack([model.mode_weights, *swings])
    rng, steps = np.random.default_rng(0), model.n * (1 if model.adaptation is None else 2) + 2
    probe = replace(model, pressure=Table(model.kappa * rng.uniform(0.5, 2.0, steps)))
    if model.adaptation is not None:
        rates = Adaptation(Table(rng.uniform(0.2, 0.8, steps)), model.adaptation.adaptation_weight)
        probe = replace(probe, adaptation=rates)
    public, hidden = model.start_state, model.x0
    largest = np.abs(weights @ (public - model.consensus_value))
    for update in probe.updates(range(1, steps + 1)):
        public = update(public, hidden=hidden)
        hidden = update.adapt(hidden, public)
        largest = np.maximum(largest, np.abs(weights @ (public - model.consensus_value)))
    steady = largest <= 1e-12 * off
    return bool(steady[0]), bool(swings) and bool(np.all(steady[1:]))


def _swings(model: Model) -> list[Array]:
    """Return the weights of the sums that a periodic class never forgets besides its mode, each of which is 0 in phase.

    They are the differences of the parts of the class from the mode. On two sides that is Σ ±d y/Σd.
    """
    pi, sides = model.mode_weights, model.network.sides
    if not model.network.directed:
        return [] if sides is None else [np.where(sides, -pi, pi)]
    agents = model.network.closed_classes[0]
    h, phase = phases(model.network.adjacency, agents)
    swings = [-pi for _ in range(h - 1)]
    for k, weights in enumerate(swings):
        weights[agents[phase == k]] *= 1 - h
    return swings
