"""Classification of the long run: regimes, recurrent structure, effect of noise, and the outcome that follows.

``classify`` computes it once; outcome, reasons, rates, limits and forecast read it. The paper's model is the special
case of one network and constant hidden opinions, and continuous time differs only in that no class is periodic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model, Vector
from peerpressure.schedules import Growth, Table
from peerpressure.sde import SDE
from peerpressure.statespace import model_of
from peerpressure.theory._recurrence import (
    AbsoluteProbability,
    ClosedClasses,
    RecurrentNetworks,
    absolute_probability,
    closed_classes,
    recurrent_networks,
)
from peerpressure.theory._regime import (
    NoiseEffect,
    OpinionRegime,
    Regime,
    fades_out,
    hidden_noise_vanishes,
    noise_effect,
    noise_is_estimated,
    opinion_regime,
    regime_of,
)

Agents: TypeAlias = NDArray[np.int64]

# Two values are equal if they differ by less than this share of the range of opinions: above the error of an invariant
# vector from Arnoldi iteration, and below any difference that a plot or a table would resolve.
SAME = 1e-9
# Components, the largest first, whose absolute probability sequence is computed; each may take an eigenvector, and
# reports name only a few.
MOST_SEQUENCES = 20
# Largest number of agents for which symmetries are tested, which takes as many steps.
MOST_SYMMETRIC = 256


class Outcome(Enum):
    """Behaviour of the public opinions as t → ∞.

    Clusters, periodic limits and random walks occur only where the network changes or hidden opinions adapt.
    """

    CONSENSUS = "consensus on v"
    BIASED_CONSENSUS = "biased consensus"
    OSCILLATION = "permanent oscillation between the two sides"
    DISAGREEMENT = "disagreement"
    CLUSTERS = "cluster consensus"
    PERIODIC = "periodic limit"
    RANDOM_WALK = "a common opinion on a random walk"
    UNKNOWN = "unknown"


class NoiselessLimit(Enum):
    """Behaviour of the public opinions as t → ∞ without noise."""

    CONSENSUS = "all agents agree"
    CLUSTERS = "each component agrees by itself"
    PERIODIC = "agents keep exchanging different values"
    DISAGREEMENT = "opinions that never move keep agents apart"
    UNKNOWN = "not known"


@final
@dataclass(frozen=True, eq=False)
class Component:
    """A jointly connected component: agents who are connected for ever, directly or through others.

    ``limit`` is its noise-free behaviour. ``omega`` is the absolute probability sequence, None where the component has
    several closed classes or isolated agents. ``value`` is the limit where it depends only on constant opinions.
    ``periodic``: public opinions return to an agent in parts that never mix, as on the two sides of a bipartite graph.
    ``divided``: it has closed classes whose opinions have different weights, and which agree only without noise.
    ``sources`` are agents isolated at times, where every public opinion can be traced back to theirs. ``anchored``: an
    opinion that never moves counts in the common value and fixes it.
    """

    agents: Agents
    limit: NoiselessLimit
    omega: AbsoluteProbability | None = None
    value: float | None = None
    periodic: bool = False
    divided: bool = False
    sources: Agents | None = None
    anchored: bool = True


@final
@dataclass(frozen=True, eq=False)
class Structure:
    """Long-run structure: components of the networks that recur, and the regime of hidden opinions."""

    components: tuple[Component, ...]
    networks: RecurrentNetworks | None
    opinions: OpinionRegime

    @property
    def limit(self) -> NoiselessLimit:
        """The noise-free behaviour of all agents."""
        limits = {component.limit for component in self.components}
        # One component that does not agree decides for the whole network.
        for worst in (NoiselessLimit.PERIODIC, NoiselessLimit.DISAGREEMENT, NoiselessLimit.UNKNOWN):
            if worst in limits:
                return worst
        if not limits:
            return NoiselessLimit.UNKNOWN
        return NoiselessLimit.CONSENSUS if len(self.components) == 1 else NoiselessLimit.CLUSTERS

    @property
    def all_isolated(self) -> bool:
        """Whether no agent has a neighbour any more."""
        return bool(self.components) and all(component.agents.size == 1 for component in self.components)

    @property
    def intermittent(self) -> bool:
        """Whether agents are isolated in some recurring steps and not in others."""
        return self.networks is not None and bool(np.any(self.networks.intermittent))

    @property
    def constant_opinions(self) -> bool:
        """Whether hidden opinions never change."""
        return self.opinions.constant

    @property
    def adapting(self) -> NDArray[np.bool_] | None:
        """The agents who adapt for ever; None if hidden opinions come to rest or are constant."""
        return self.opinions.movable if self.opinions.lasting else None

    @property
    def anchored(self) -> bool:
        """Whether every component has an opinion that never moves, which fixes the common value."""
        return self.adapting is None or all(component.anchored for component in self.components)


@final
@dataclass(frozen=True, eq=False)
class LongRun:
    """Classification of a model or SDE as t → ∞.

    ``settled``: all opinions are equal and there is no noise. ``balanced``: the mean is v from the start on, and so is
    that of each side of a bipartite network, whatever the pressure. ``estimated``: the outcome rests on the values of
    a formula at large t instead of on a known growth. ``model`` is the discrete model behind an SDE, and ``deviations``
    are the standard deviations of noise that enters with the weight of an opinion, shape (agents,). ``decided`` is the
    outcome where the size of the limit's departure from v has decided it.
    """

    system: Model | SDE
    model: Model
    deviations: Vector
    regime: Regime
    noise: NoiseEffect
    structure: Structure
    settled: bool
    balanced: bool
    estimated: bool
    decided: Outcome | None = None

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
        """The coefficient φ of the noise in time: 0 for white noise, 1 for noise drawn once."""
        return self.model.noise.autocorrelation

    @property
    def noise_grows(self) -> bool:
        """Whether the scale of the noise is unbounded."""
        return not self.model.noise.is_zero and self.model.noise.time_scale.growth.bounded is False

    @property
    def omega(self) -> AbsoluteProbability | None:
        """The absolute probability sequence of all agents, where they have one common value."""
        structure = self.structure
        return structure.components[0].omega if len(structure.components) == 1 else None

    @property
    def kappa(self) -> float:
        """The rate κ of the common value."""
        networks, agree = self.structure.networks, self.structure.limit is NoiselessLimit.CONSENSUS
        # On one network the κ of ω equals Σs/Σd up to rounding, so the model's own is used.
        if networks is None or networks.is_static or not agree or self.omega is None:
            return self.model.kappa
        return self.omega.kappa

    @cached_property
    def outcome(self) -> Outcome:
        """What becomes of the public opinions."""
        if self.decided is not None:
            return self.decided
        structure, noise, limit = self.structure, self.noise, self.structure.limit
        # The order of the tests matters: exact symmetries first, then what is unknown, then noise that prevents
        # agreement.
        if self.settled or (self.balanced and structure.constant_opinions):
            return Outcome.CONSENSUS
        # No outcome is guessed: an unknown ingredient makes the result unknown.
        if limit is NoiselessLimit.UNKNOWN or noise is NoiseEffect.UNKNOWN:
            return Outcome.UNKNOWN
        if limit is NoiselessLimit.DISAGREEMENT or noise is NoiseEffect.SCATTERS or structure.all_isolated:
            return Outcome.DISAGREEMENT
        return self._periodic_outcome or self._random_walk or self._agreement

    @property
    def _periodic_outcome(self) -> Outcome | None:
        structure, networks = self.structure, self.structure.networks
        # Noise that is not averaged out also drives the difference between phases, or between closed classes.
        effect, parts = noise_effect(self.model, self.regime), structure.components
        driven = effect is NoiseEffect.WANDERS and any(part.periodic for part in parts)
        driven |= effect is NoiseEffect.STAYS and any(part.divided for part in parts)
        if structure.limit is not NoiselessLimit.PERIODIC and not driven:
            return None
        return Outcome.OSCILLATION if networks is not None and networks.count == 1 else Outcome.PERIODIC

    @property
    def _random_walk(self) -> Outcome | None:
        if self.noise is not NoiseEffect.WANDERS or self.structure.anchored or not self.structure.opinions.random_walk:
            return None
        # Where pressure vanishes, so does what keeps agents together.
        apart = self.regime is Regime.BOUNDED and fades_out(self.model.pressure) and not self.hidden_agrees
        return Outcome.DISAGREEMENT if apart else Outcome.RANDOM_WALK

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
        return self.hidden_agrees if fades and self.regime is Regime.BOUNDED else fades

    @property
    def _agreement(self) -> Outcome:
        noise, structure, quiet = self.noise, self.structure, self._own_noise_vanishes
        if not quiet:
            return Outcome.UNKNOWN if quiet is None else Outcome.DISAGREEMENT
        if structure.limit is NoiselessLimit.CLUSTERS:
            return Outcome.CLUSTERS
        value = structure.components[0].value
        # Without a closed form the limit is v only by symmetry; otherwise it would be a coincidence.
        reaches_v = self.balanced if value is None else is_consensus_value(self.model, value)
        moved = noise in (NoiseEffect.WANDERS, NoiseEffect.STAYS)
        return Outcome.CONSENSUS if reaches_v and not moved else Outcome.BIASED_CONSENSUS

    @cached_property
    def hidden_agrees(self) -> bool | None:
        """Whether the differences between hidden opinions that adapt vanish; None if that is not known.

        Where all agents adapt for ever, hidden opinions follow public ones: if these converge to one value, so do the
        hidden ones. The converse fails: public opinions also show noise, and the phases of a periodic network.
        """
        structure, opinions, model = self.structure, self.structure.opinions, self.model
        if self.settled:
            return True
        if opinions.lasting is None or structure.limit is NoiselessLimit.UNKNOWN or self.noise is NoiseEffect.UNKNOWN:
            return None
        if not opinions.lasting or len(structure.components) != 1:
            return False
        (part,), still = structure.components, model.x0[~opinions.movable]
        # Opinions that never move must be equal, and attract all others.
        if part.limit is NoiselessLimit.DISAGREEMENT or (still.size and (np.ptp(still) or part.value is None)):
            return False
        averages = part.limit is not NoiselessLimit.PERIODIC or self._averages_phases(part)
        if not averages or self.noise is NoiseEffect.NONE:
            return averages
        return hidden_noise_vanishes(
            model,
            opinions,
            intermittent=structure.intermittent and not self._one_source,
            held=bool(still.size) or part.divided,
            source=part.sources is not None,
            swings=part.periodic and self.regime.reaches_value,
        )

    def _averages_phases(self, part: Component) -> bool | None:
        """Whether hidden opinions average over the phases of a component that is periodic under fast pressure."""
        assert self.model.adaptation is not None
        averages = fades_out(self.model.adaptation.rate)
        # At rates η_t → 0 all agents average over the same values of one closed class, but not over several classes.
        return None if averages and (not part.periodic or self.noise is NoiseEffect.WANDERS) else averages


def system_deviations(system: Model | SDE) -> Vector:
    """Return the standard deviations of noise as it enters with the weight of an opinion, shape (agents,)."""
    return system.deviations if isinstance(system, SDE) else system.noise.deviations(system.n)


def is_consensus_value(model: Model, value: float) -> bool:
    """Whether a value is v = Σ s x₀/Σ s, up to rounding."""
    # Relative to the range, so that the result does not depend on the origin of the scale of opinions.
    return abs(value - model.consensus_value) <= SAME * float(np.ptp(model.x0))


def classify(system: Model | SDE) -> LongRun:
    """Classify the long-run behaviour of a model or SDE.

    >>> from peerpressure.networks import k2
    >>> classify(Model(k2(), hidden=[0, 1])).outcome
    <Outcome.CONSENSUS: 'consensus on v'>
    """
    model, deviations = model_of(system), system_deviations(system)
    continuous, growth = system is not model, model.pressure.growth
    regime = regime_of(model.pressure, growth)
    structure = structure_of(model, regime, continuous=continuous)
    on_v, in_phase = _steady_sums(model, regime, continuous=continuous)
    if in_phase:
        # Sides that have the same average at all times do not oscillate.
        (component,) = structure.components
        structure = replace(structure, components=(replace(component, limit=NoiselessLimit.CONSENSUS),))
    return LongRun(
        system=system,
        model=model,
        deviations=deviations,
        regime=regime,
        noise=_noise(model, regime, structure),
        structure=structure,
        settled=_is_settled(model, regime, structure),
        balanced=(on_v and structure.limit is NoiselessLimit.CONSENSUS)
        or _is_balanced(model, regime, structure, continuous=continuous),
        estimated=growth.estimated or noise_is_estimated(model) or structure.opinions.estimated,
    )


def _noise(model: Model, regime: Regime, structure: Structure) -> NoiseEffect:
    found = noise_effect(model, regime)
    if structure.anchored or found in (NoiseEffect.NONE, NoiseEffect.UNKNOWN):
        return found
    if found is NoiseEffect.SCATTERS and regime is not Regime.BOUNDED:
        return found
    if structure.opinions.random_walk is None:
        return NoiseEffect.UNKNOWN
    # Without an opinion that fixes the common value, noise is never averaged out: it stays in the value, or moves it
    # for ever.
    wanders = structure.opinions.random_walk or found is NoiseEffect.WANDERS
    return NoiseEffect.WANDERS if wanders else NoiseEffect.STAYS


def _is_settled(model: Model, regime: Regime, structure: Structure) -> bool:
    """Whether all opinions are equal without noise, so that pressure changes nothing."""
    if not model.noise.is_zero or np.ptp(model.x0) != 0:
        return False
    # Bounded pressure forgets every start, while constant opinions stay.
    return bool(np.all(model.start_state == model.x0)) or (regime is Regime.BOUNDED and structure.constant_opinions)


def is_proportional(model: Model) -> bool:
    """Whether stubbornness is proportional to degree, so that the recursion of the consensus mode is exact."""
    ratio = model.s / model.network.degrees
    # Degrees are sums of weights, so that proportionality is met only up to rounding.
    return bool(np.ptp(ratio) <= 1e-12 * ratio.max())


def _is_balanced(model: Model, regime: Regime, structure: Structure, *, continuous: bool) -> bool:
    """Whether Σ d y and Σ s x obey recursions of their own that start on v, so that both stay there.

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
    d = model.network.degrees / model.network.degrees.sum()
    weights = [d]
    if constant and not continuous and model.network.sides is not None:
        # The signed sum is the second mode that a bipartite network never forgets.
        weights.append(np.where(model.network.sides, -d, d))
    off = np.stack([model.x0, model.start_state]) - model.consensus_value
    return bool(np.all(np.abs(off @ np.stack(weights).T) <= 1e-12 * np.abs(off).max()))


def _steady_sums(model: Model, regime: Regime, *, continuous: bool) -> tuple[bool, bool]:
    """Whether Σ d y/Σ d stays on v, and the sides of a bipartite network stay equal, for every pressure without noise.

    Both sums are rational functions of the pressures. One that is 0 for random pressures, over enough steps for every
    opinion to reach every agent, is 0 identically; it is a symmetry of the network and its opinions.
    """
    plain = model.is_plain and model.noise.is_zero and not continuous
    if regime is not Regime.FAST or not plain or model.n > MOST_SYMMETRIC:
        return False, False
    d, sides = model.network.degrees / model.network.degrees.sum(), model.network.sides
    off = np.abs(np.stack([model.x0, model.start_state]) - model.consensus_value).max()
    weights = np.stack([d] if sides is None else [d, np.where(sides, -d, d)])
    steps = model.n + 2
    probe = replace(model, pressure=Table(model.kappa * np.random.default_rng(0).uniform(0.5, 2.0, steps)))
    state, largest = model.start_state, np.zeros(len(weights))
    for t in range(steps + 1):
        state = state if t == 0 else probe.update(t)(state)
        largest = np.maximum(largest, np.abs(weights @ (state - model.consensus_value)))
    steady = largest <= 1e-12 * off
    return bool(steady[0]), sides is not None and bool(steady[1])


def structure_of(model: Model, regime: Regime, *, continuous: bool = False) -> Structure:
    """Return the long-run structure of a model under a pressure of this regime."""
    networks, opinions = recurrent_networks(model), opinion_regime(model)
    if networks is None or regime is Regime.UNKNOWN or opinions.lasting is None:
        return Structure((), networks, opinions)
    # The common case needs no graph search: a connected network has one class, or two if it is bipartite and pressure
    # is high.
    if model.is_plain:
        return Structure((_static_component(model, networks, regime, continuous=continuous),), networks, opinions)
    moving = opinions.movable & bool(opinions.lasting)
    closed = closed_classes(networks, moving, opinions.memory, own_opinion=regime is Regime.BOUNDED)
    # Isolated agents pass all of their noise on, which changes whether the common value is a random walk.
    if closed.includes_isolated(networks):
        opinions = opinion_regime(model, isolated=True)
    count, label = networks.components()
    # Largest first, as reports and MOST_SEQUENCES expect.
    members = sorted(_split(label, count), key=len, reverse=True)
    home, representatives = np.empty(count, dtype=np.int64), closed.representatives(model.n)
    # Maps the label of a component to its rank by size.
    home[[label[agents[0]] for agents in members]] = np.arange(count)
    classes = _split(home[label[representatives]], count)
    analysis = _Analysis(model, networks, closed, representatives, opinions, moving, regime)
    return Structure(tuple(map(analysis.component, range(count), members, classes)), networks, opinions)


def _static_component(model: Model, networks: RecurrentNetworks, regime: Regime, *, continuous: bool) -> Component:
    """Return the component of a connected network with constant opinions, whose class structure is known.

    In continuous time the difference between two sides has the factor e^(−2t), and nothing is periodic.
    """
    limit = NoiselessLimit.DISAGREEMENT if regime is Regime.BOUNDED else NoiselessLimit.CONSENSUS
    periodic = not continuous and regime is not Regime.BOUNDED and model.network.is_bipartite
    if periodic and regime is Regime.FAST:
        limit = NoiselessLimit.PERIODIC
    value = model.consensus_value if regime.reaches_value else None
    return Component(np.arange(model.n), limit, absolute_probability(model, networks), value, periodic)


def _split(label: NDArray[np.integer], count: int) -> list[Agents]:
    """Return the positions that bear each label from 0 to count − 1."""
    # Stable, so that the agents of a component stay in increasing order.
    order = np.argsort(label, kind="stable")
    return np.split(order, np.searchsorted(label[order], np.arange(1, count)))


@final
@dataclass(frozen=True, eq=False)
class _Analysis:
    """Limits of components, from their closed classes or from opinions that never move."""

    model: Model
    networks: RecurrentNetworks
    closed: ClosedClasses
    representatives: Agents
    opinions: OpinionRegime
    moving: NDArray[np.bool_]
    regime: Regime

    def component(self, number: int, agents: Agents, classes: Agents) -> Component:
        if agents.size == 1:
            # An isolated agent that adapts follows its own noise, and its value depends on it.
            known = not (self.opinions.fades or self.moving[agents[0]])
            value = float(self.model.x0[agents[0]]) if known else None
            return Component(agents, NoiselessLimit.CONSENSUS, None, value, anchored=known)
        sources = self.representatives[classes]
        if np.all(self.closed.absorbing[classes]) and not np.ptp(self.model.x0[sources]) and not self.opinions.fades:
            # One opinion that never moves, or several that are equal, attract all others.
            value = float(self.model.x0[sources[0]])
            return Component(agents, NoiselessLimit.CONSENSUS, None, value, sources=sources)
        if classes.size > 1:
            return self._divided(agents, classes)
        if self.closed.absorbing[classes[0]]:
            return Component(agents, NoiselessLimit.CONSENSUS, sources=sources)
        # States include the step of the period, so a cycle has at least that length; more means phases that never mix.
        periodic = self.regime is not Regime.BOUNDED and self.closed.period(int(classes[0])) != self.networks.count
        limit = NoiselessLimit.PERIODIC if periodic and self.regime is Regime.FAST else NoiselessLimit.CONSENSUS
        anchors = self._anchors(classes)
        if self._undecided(agents, anchors):
            return Component(agents, NoiselessLimit.UNKNOWN)
        # Under bounded pressure an agent hears itself too, and only a constant network conserves the same sum.
        conserves = self.regime is not Regime.BOUNDED or self.networks.count == 1
        omega = self._omega(int(classes[0])) if conserves and number < MOST_SEQUENCES else None
        anchored = bool(anchors.size)
        return Component(agents, limit, omega, self._value(agents, anchors, omega), periodic, anchored=anchored)

    def _anchors(self, classes: Agents) -> Agents:
        """Return the agents whose opinions never move, and hold the value of these closed classes in place."""
        states = np.flatnonzero(np.isin(self.closed.label, self.closed.closed[classes]))
        inside = np.unique(states[states < self.networks.degrees.size] % self.model.n)
        # A class with isolated agents follows their opinions, which others move in order η/ρ only.
        return inside[~self.moving[inside]] if self.opinions.holds is not False else inside[:0]

    def _undecided(self, agents: Agents, anchors: Agents) -> bool:
        """Whether it is not known that opinions that never move, outside of the closed class, hold its value in place.

        They enter the public opinions of transient agents in order 1/ρ, and from there the class in order 1/ρ².
        """
        if np.all(self.moving[agents]) or not self.regime.reaches_value or self.opinions.holds is False:
            return False
        reaches_back = self.model.pressure.growth.square_sum_diverges is not False
        return self.opinions.holds is None or (not anchors.size and reaches_back)

    def _divided(self, agents: Agents, classes: Agents) -> Component:
        """Return a component with several closed classes, which may have one limit all the same.

        Where opinions adapt, an agent of two closed classes carries each to the other; where they do not, the classes
        may happen to be attracted to one value.
        """
        if self.regime is Regime.BOUNDED:
            return Component(agents, NoiselessLimit.DISAGREEMENT)
        if self.regime.reaches_value and np.any(self.moving):
            return self._joined_by_opinions(agents, classes)
        # All public opinions can be traced back to isolated agents with constant opinions, so the cycle is known.
        if np.all(self.closed.absorbing[classes]):
            return Component(agents, NoiselessLimit.PERIODIC, sources=np.unique(self.representatives[classes]))
        if np.any(self.closed.absorbing[classes]) or not self.regime.reaches_value:
            return Component(agents, NoiselessLimit.PERIODIC)
        sequences = [self._omega(int(number)) for number in classes]
        values = [omega.value(self.model.x0) for omega in sequences if omega is not None]
        # Classes that never mix agree only if their weighted means of opinions happen to be equal.
        if len(values) < len(sequences) or np.ptp(values) > SAME * float(np.ptp(self.model.x0)):
            return Component(agents, NoiselessLimit.PERIODIC)
        divided = self._weighs_differently(classes)
        return Component(agents, NoiselessLimit.CONSENSUS, sequences[0], values[0], periodic=True, divided=divided)

    def _weighs_differently(self, classes: Agents) -> bool:
        """Whether opinions do not have the same weights in all of these closed classes."""
        sequences = [self._omega(int(number)) for number in classes]
        shares = [omega.influence / omega.kappa for omega in sequences if omega is not None]
        return len(shares) < len(sequences) or bool(np.ptp(np.stack(shares), axis=0).max() > SAME)

    def _joined_by_opinions(self, agents: Agents, classes: Agents) -> Component:
        # Where Σ 1/ρ_t diverges, own opinions count in the long run and can connect classes that public opinions do
        # not.
        whole = closed_classes(self.networks, self.moving, self.opinions.memory, own_opinion=True)
        representatives = whole.representatives(self.model.n)
        inside = np.flatnonzero(np.isin(representatives, agents))
        if inside.size > 1:
            return Component(agents, NoiselessLimit.PERIODIC)
        divided = self._weighs_differently(classes)
        if not whole.absorbing[inside[0]]:
            return Component(agents, NoiselessLimit.CONSENSUS, periodic=True, divided=divided, anchored=False)
        anchors = self._anchors(classes)
        if self._undecided(agents, anchors):
            return Component(agents, NoiselessLimit.UNKNOWN)
        value = float(self.model.x0[anchors[0]]) if anchors.size else None
        anchored = bool(anchors.size)
        return Component(agents, NoiselessLimit.CONSENSUS, None, value, True, divided=divided, anchored=anchored)

    def _omega(self, number: int) -> AbsoluteProbability | None:
        """Return the sequence of a closed class; None where an isolated agent belongs to it."""
        states = self.closed.states(number)
        public = states[states < self.networks.degrees.size]
        if np.any(self.networks.degrees.ravel()[public] == 0):
            return None
        return absolute_probability(self.model, self.networks, public)

    def _value(self, agents: Agents, anchors: Agents, omega: AbsoluteProbability | None) -> float | None:
        """Return the weighted mean of the opinions that never move, the limit where the start is forgotten."""
        if self.opinions.fades or not self.regime.reaches_value:
            return None
        if anchors.size == 1:
            return float(self.model.x0[anchors[0]])
        if self.networks.count == 1:
            influence = np.zeros(self.model.n)
            # On one network w is proportional to s; the division avoids overflow in the sums.
            influence[agents] = self.model.s[agents] / self.model.s[agents].max()
        elif omega is not None:
            influence = omega.influence
        else:
            return None
        weights = np.where(self.moving, 0.0, influence)
        return float(weights @ self.model.x0 / weights.sum()) if np.any(weights > 0) else None
