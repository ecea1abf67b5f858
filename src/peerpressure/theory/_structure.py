"""Long-run structure: the components of the networks that recur, and the noise-free limit of each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph

from peerpressure.model import Model
from peerpressure.model.step import Array
from peerpressure.networks import NetworkProcess
from peerpressure.networks.chain import phases, split_by_label
from peerpressure.support.results import read_only
from peerpressure.support.text import plain
from peerpressure.theory._recurrence import (
    AbsoluteProbability,
    OpinionChain,
    RecurrentNetworks,
    absolute_probability,
    opinion_chain,
    recurrent_networks,
)
from peerpressure.theory._regime import OpinionRegime, Regime, opinion_regime

Agents: TypeAlias = NDArray[np.int64]

# Two values are equal if they differ by less than this share of the range of opinions: above the error of an invariant
# vector from Arnoldi iteration, and below any difference that a plot or a table would resolve.
EQUAL_RTOL = 1e-9
# Components, the largest first, whose absolute probability sequence is computed; each may take an eigenvector, and
# reports name only a few.
MOST_SEQUENCES = 20


class NoiselessLimit(Enum):
    """Behaviour of the public opinions as t → ∞ without noise."""

    CONSENSUS = "all agents agree"
    CLUSTERS = "each component agrees by itself"
    PERIODIC = "agents keep exchanging different values"
    DISAGREEMENT = "opinions that never move keep agents apart"
    UNKNOWN = "not known"


@final
@read_only
@dataclass(frozen=True, eq=False)
class Component:
    """Agents with one limit: a closed class, or a part of the network that stays connected.

    The agents of a closed class listen to each other, directly or through others, and to nobody else. ``classes`` of a
    verdict are of this kind; only for them ``camp``, ``std``, ``kappa``, ``period``, ``residual`` and ``neutral`` are
    computed.

    Attributes
    ----------
    agents : array of int
        Positions of its agents.
    limit : NoiselessLimit
        What its public opinions do without noise.
    absolute_probability : AbsoluteProbability, optional
        Its absolute probability sequence; None for a closed class of a verdict, and where it has several closed classes
        or isolated agents.
    value : float, optional
        Mean limit of camp 1, and minus that of camp −1; None where agents repeat a cycle forever, or the limit depends
        on more than constant opinions.
    periodic : bool, default False
        Whether public opinions return to an agent in parts that never mix, as on the two sides of a bipartite graph.
    divided : bool, default False
        Whether it has closed classes whose opinions have different weights, and which agree only without noise.
    sources : array of int, optional
        Agents isolated at times, where every public opinion can be traced back to theirs.
    has_fixed_opinion : bool, default True
        Whether an opinion that never moves counts in the common value and fixes it.
    two_sided : bool, default True
        Whether there are two parts that never mix, if any, and every agent is in one of them.
    camp : array of int, or 1
        Camp of each agent, 1 or −1; all 1 without negative weights.
    std : float
        Standard deviation of the limit over the noise.
    kappa : float
        Rate κ = Σ πs/d of its common value; ∞ where opinions are forgotten at once, or the agent listens to nobody.
    period : int, default 0
        Greatest common divisor of the lengths of its cycles; 0 where it is not computed.
    residual : float, default 0.0
        Error of the value.
    neutral : bool, default False
        Whether it is not structurally balanced: opinions and their opposites cancel.

    See Also
    --------
    diagnose : Returns the closed classes as a part of a verdict.

    Examples
    --------
    >>> from peerpressure import Model, Network, diagnose
    >>> network = Network([[0, 1, 0], [0, 0, 0], [1, 1, 0]], directed=True)  # all follow the second agent
    >>> classes = diagnose(Model(network, hidden=[1.0, 2.0, 4.0])).classes
    >>> [(each.agents.tolist(), each.value) for each in classes]
    [([1], 2.0)]
    """

    agents: Agents
    limit: NoiselessLimit
    absolute_probability: AbsoluteProbability | None = None
    value: float | None = None
    periodic: bool = False
    divided: bool = False
    sources: Agents | None = None
    has_fixed_opinion: bool = True
    two_sided: bool = True
    camp: Agents | int = 1
    std: float = math.nan
    kappa: float = math.nan
    period: int = 0
    residual: float = 0.0
    neutral: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON.

        Returns
        -------
        dict
            The number of agents, and value, deviation, rate κ, period and error by name.
        """
        numbers = {name: plain(getattr(self, name)) for name in ("value", "std", "kappa", "period", "residual")}
        return numbers | {"agents": int(self.agents.size)}


@final
@dataclass(frozen=True, eq=False)
class Structure:
    """Long-run structure: components of the networks that recur, and the regime of hidden opinions.

    ``law`` is that of a random process of networks, which has no networks that recur in order. ``keeps``: agents
    without neighbours keep their public opinions.
    """

    components: tuple[Component, ...]
    networks: RecurrentNetworks | None
    opinions: OpinionRegime
    law: NetworkProcess | None = None
    keeps: bool = False

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
        """Whether agents show their own opinions in some recurring steps, as they are isolated, and not in others."""
        if self.law is not None:
            return self.law.isolation > 0 and not self.keeps
        return self.networks is not None and bool(np.any(self.networks.intermittent))

    @property
    def constant_opinions(self) -> bool:
        """Whether hidden opinions never change."""
        return self.opinions.constant

    @property
    def adapting(self) -> NDArray[np.bool_] | None:
        """The agents who adapt forever; None if hidden opinions come to rest or are constant."""
        return self.opinions.movable if self.opinions.lasting else None

    @property
    def has_fixed_opinion(self) -> bool:
        """Whether every component has an opinion that never moves, which fixes the common value."""
        return self.adapting is None or all(component.has_fixed_opinion for component in self.components)


def has_single_closed_class(model: Model) -> bool:
    """Whether the results on one closed class apply: no negative weights, and one class that listens to itself."""
    network = model.network
    if network.signed:
        return False
    if not network.directed:
        return network.is_connected or not model.is_constant
    return len(network.closed_classes) == 1 and network.closed_classes[0].size > 1


def period_of(model: Model) -> int:
    """Return the period of the closed class of a static network: 2 if it is undirected and bipartite."""
    if model.network.directed:
        return phases(model.network.adjacency, model.network.closed_classes[0])[0]
    return 2 if model.network.is_bipartite else 1


def structure_of(model: Model, regime: Regime, *, continuous: bool = False) -> Structure:
    """Return the long-run structure of a model under a pressure of this regime."""
    law = None if model.temporal_network is None else model.temporal_network.law
    if law is not None and model.activation is not None:
        return Structure((), None, opinion_regime(model), law, keeps=model.isolated == "keep")
    if law is not None and not continuous:
        return _random_structure(model, law, regime)
    networks, opinions, keeps = recurrent_networks(model), opinion_regime(model), model.isolated == "keep"
    known = networks is not None and regime is not Regime.UNKNOWN and opinions.lasting is not None
    known = known and _who_updates_is_known(model)
    if known and regime is Regime.BOUNDED and model.is_constant and not has_single_closed_class(model):
        everyone = Component(np.arange(model.n), NoiselessLimit.DISAGREEMENT)
        return Structure((everyone,), networks, opinions, keeps=keeps)
    # Classes of steps are those of discrete time; between whole times agents also hear one another indirectly.
    special = continuous or model.activation is not None
    known = known and has_single_closed_class(model) and not (special and not model.is_constant)
    if not known or networks is None:
        return Structure((), networks, opinions, keeps=keeps)
    # The common case needs no graph search: a connected network has one class, or two if it is bipartite and pressure
    # is high.
    if model.is_constant and model.network.is_connected:
        return Structure((_static_component(model, networks, regime, continuous=continuous),), networks, opinions)
    moving = opinions.movable & bool(opinions.lasting)
    closed = opinion_chain(networks, moving, opinions.memory, own_opinion=regime is Regime.BOUNDED)
    # Isolated agents pass all of their noise on, which changes whether the common value is a random walk.
    if closed.includes_isolated(networks):
        opinions = opinion_regime(model, isolated=True)
    count, label = networks.components()
    # Largest first, as reports and MOST_SEQUENCES expect.
    members = sorted(split_by_label(label, count), key=len, reverse=True)
    home, representatives = np.empty(count, dtype=np.int64), closed.representatives(model.n)
    # Maps the label of a component to its rank by size.
    home[[label[agents[0]] for agents in members]] = np.arange(count)
    classes = split_by_label(home[label[representatives]], count)
    analysis = _Analysis(model, networks, closed, representatives, opinions, moving, regime)
    components = tuple(map(analysis.component, range(count), members, classes))
    return Structure(components, networks, opinions, keeps=keeps)


def _who_updates_is_known(model: Model) -> bool:
    """Whether everybody updates, or it has a law who does; a table says nothing about what follows it."""
    return model.activation is None or model.activation.is_random


def _random_structure(model: Model, law: NetworkProcess, regime: Regime) -> Structure:
    """Return the structure of a stationary random process in which every agent is isolated at times.

    Whatever the pressure, an isolated agent shows its own opinion, and others take it from there. So constant opinions
    stay apart, and opinions that adapt forever come to agree wherever pairs connect them, on the value of those that
    never move. Where isolated agents keep their public opinions, only gossip is known under growing pressure.
    """
    keeps = model.isolated == "keep"
    opinions = opinion_regime(model, isolated=not keeps)
    bounded = regime is Regime.BOUNDED and opinions.constant
    gossips = law.chances is not None and opinions.constant and regime.reaches_value
    decided = bounded or (gossips if keeps else law.isolation > 0 and law.is_ergodic)
    if regime is Regime.UNKNOWN or opinions.lasting is None or not decided:
        return Structure((), None, opinions, law, keeps=keeps)
    count, label = 1, np.zeros(model.n, dtype=np.int32)
    if law.pairs is not None:
        count, label = csgraph.connected_components(law.pairs.adjacency, directed=False)
    members = sorted(split_by_label(label, int(count)), key=len, reverse=True)
    build = _gossip_component if keeps and not bounded else _random_component
    components = tuple(build(model, opinions, agents) for agents in members)
    return Structure(components, None, opinions, law, keeps=keeps)


def gossip_influence(model: Model, law: NetworkProcess) -> Array:
    """Return the weight of each opinion in the common value of gossip; their sum is κ, shape (agents,).

    Under high pressure two agents who meet exchange their public opinions, and the one that i receives from j moves by
    s_i/(ρ w_ij) towards x_i. A public opinion visits all agents alike, so all opinions come to
    Σ b x/Σ b with b_i = s_i Σ_j p_ij/w_ij, at the rate κ/ρ_t with κ = Σ b/n.
    """
    assert law.pairs is not None
    assert law.chances is not None
    i, j, weights = law.pairs.edges()
    share = np.bincount(np.concatenate([i, j]), np.tile(law.chances / weights, 2), minlength=model.n)
    return np.asarray(model.s * share / model.n)


def _gossip_component(model: Model, opinions: OpinionRegime, agents: Agents) -> Component:
    law = None if model.temporal_network is None else model.temporal_network.law
    assert law is not None
    weights = gossip_influence(model, law)[agents]
    if agents.size == 1:
        return Component(agents, NoiselessLimit.CONSENSUS)
    return Component(agents, NoiselessLimit.CONSENSUS, None, float(weights @ model.x0[agents] / weights.sum()))


def _random_component(model: Model, opinions: OpinionRegime, agents: Agents) -> Component:
    still = agents if not opinions.lasting else agents[~opinions.movable[agents]]
    if not still.size:
        return Component(agents, NoiselessLimit.CONSENSUS, has_fixed_opinion=False)
    if agents.size > 1 and (opinions.fades or np.ptp(model.x0[still])):
        return Component(agents, NoiselessLimit.DISAGREEMENT)
    value = None if opinions.fades else float(model.x0[still[0]])
    return Component(agents, NoiselessLimit.CONSENSUS, None, value, sources=still)


def _static_component(model: Model, networks: RecurrentNetworks, regime: Regime, *, continuous: bool) -> Component:
    """Return the component of a connected network with constant opinions, whose class structure is known.

    In continuous time the difference between two sides has the factor e^(−2t), and nothing is periodic.
    """
    limit = NoiselessLimit.DISAGREEMENT if regime is Regime.BOUNDED else NoiselessLimit.CONSENSUS
    # Those who keep their opinions break every period.
    steady = continuous or model.activation is not None or regime is Regime.BOUNDED
    periodic = not steady and period_of(model) > 1
    if periodic and regime is Regime.FAST:
        limit = NoiselessLimit.PERIODIC
    value = model.consensus_value if regime.reaches_value else None
    sequence, two_sided = absolute_probability(model, networks), is_two_sided(model)
    return Component(np.arange(model.n), limit, sequence, value, periodic, two_sided=two_sided)


def is_two_sided(model: Model) -> bool:
    """Whether a periodic class of the network has two parts, to one of which every agent belongs."""
    return not model.network.directed or (model.network.is_strongly_connected and period_of(model) == 2)


@final
@dataclass(frozen=True, eq=False)
class _Analysis:
    """Limits of components, from their closed classes or from opinions that never move."""

    model: Model
    networks: RecurrentNetworks
    closed: OpinionChain
    representatives: Agents
    opinions: OpinionRegime
    moving: NDArray[np.bool_]
    regime: Regime

    def component(self, number: int, agents: Agents, classes: Agents) -> Component:
        if agents.size == 1:
            return self._alone(agents)
        sources = self.representatives[classes]
        if np.all(self.closed.absorbing[classes]) and not np.ptp(self.model.x0[sources]) and not self.opinions.fades:
            # One opinion that never moves, or several that are equal, attract all others.
            common = float(self.model.x0[sources[0]])
            return Component(agents, NoiselessLimit.CONSENSUS, None, common, sources=sources)
        if classes.size > 1:
            return self._divided(agents, classes)
        if self.closed.absorbing[classes[0]]:
            return Component(agents, NoiselessLimit.CONSENSUS, sources=sources)
        # States include the step of the period, so a cycle has at least that length; more means phases that never mix.
        periodic = self.regime is not Regime.BOUNDED and self.closed.period(int(classes[0])) != self.networks.count
        limit = NoiselessLimit.PERIODIC if periodic and self.regime is Regime.FAST else NoiselessLimit.CONSENSUS
        fixed_agents = self._fixed_agents(classes)
        if self._undecided(agents, fixed_agents):
            return Component(agents, NoiselessLimit.UNKNOWN)
        # Under bounded pressure an agent hears itself too, and only a constant network conserves the same sum.
        conserves = self.regime is not Regime.BOUNDED or self.networks.count == 1
        sequence = self._absolute_probability(int(classes[0])) if conserves and number < MOST_SEQUENCES else None
        value, two_sided = self._value(agents, fixed_agents, sequence), is_two_sided(self.model)
        fixed = bool(fixed_agents.size)
        return Component(agents, limit, sequence, value, periodic, has_fixed_opinion=fixed, two_sided=two_sided)

    def _alone(self, agents: Agents) -> Component:
        if self.networks.keeps_forever[agents[0]]:
            # One of its past public opinions, which nothing moves any more.
            return Component(agents, NoiselessLimit.CONSENSUS)
        # An isolated agent that adapts follows its own noise, and its value depends on it.
        known = not (self.opinions.fades or self.moving[agents[0]])
        value = float(self.model.x0[agents[0]]) if known else None
        return Component(agents, NoiselessLimit.CONSENSUS, None, value, has_fixed_opinion=known)

    def _fixed_agents(self, classes: Agents) -> Agents:
        """Return the agents whose opinions never move, and hold the value of these closed classes in place."""
        chosen = np.zeros(int(self.closed.label.max()) + 1, np.bool_)
        chosen[self.closed.closed[classes]] = True
        # Public opinions of all steps, one row for each.
        public = chosen[self.closed.label[: self.networks.degrees.size]].reshape(-1, self.model.n)
        inside = np.flatnonzero(public.any(axis=0))
        # A class with isolated agents follows their opinions, which others move in order η/ρ only.
        return inside[~self.moving[inside]] if self.opinions.holds is not False else inside[:0]

    def _undecided(self, agents: Agents, fixed_agents: Agents) -> bool:
        """Whether it is not known that opinions that never move, outside of the closed class, hold its value in place.

        They enter the public opinions of transient agents in order 1/ρ, and from there the class in order 1/ρ².
        """
        if np.all(self.moving[agents]) or not self.regime.reaches_value or self.opinions.holds is False:
            return False
        reaches_back = self.model.pressure.growth.square_sum_diverges is not False
        return self.opinions.holds is None or (not fixed_agents.size and reaches_back)

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
        sequences = [self._absolute_probability(int(number)) for number in classes]
        values = [sequence.value(self.model.x0) for sequence in sequences if sequence is not None]
        # Classes that never mix agree only if their weighted means of opinions happen to be equal.
        rounding = 1e-13 * float(np.abs(self.model.x0).max())
        if len(values) < len(sequences) or np.ptp(values) > EQUAL_RTOL * float(np.ptp(self.model.x0)) + rounding:
            return Component(agents, NoiselessLimit.PERIODIC)
        divided = self._weighs_differently(classes)
        return Component(agents, NoiselessLimit.CONSENSUS, sequences[0], values[0], periodic=True, divided=divided)

    def _weighs_differently(self, classes: Agents) -> bool:
        """Whether opinions do not have the same weights in all of these closed classes."""
        sequences = [self._absolute_probability(int(number)) for number in classes]
        # A class whose opinions do not count at all has shares of 0.
        shares = [sequence.influence / (sequence.kappa or 1.0) for sequence in sequences if sequence is not None]
        return len(shares) < len(sequences) or bool(np.ptp(np.stack(shares), axis=0).max() > EQUAL_RTOL)

    def _joined_by_opinions(self, agents: Agents, classes: Agents) -> Component:
        # Where Σ 1/ρ_t diverges, own opinions count in the long run and can connect classes that public opinions do
        # not.
        whole = opinion_chain(self.networks, self.moving, self.opinions.memory, own_opinion=True)
        representatives = whole.representatives(self.model.n)
        inside = np.flatnonzero(np.isin(representatives, agents))
        if inside.size > 1:
            return Component(agents, NoiselessLimit.PERIODIC)
        divided = self._weighs_differently(classes)
        if not whole.absorbing[inside[0]]:
            return Component(agents, NoiselessLimit.CONSENSUS, periodic=True, divided=divided, has_fixed_opinion=False)
        fixed_agents = self._fixed_agents(classes)
        if self._undecided(agents, fixed_agents):
            return Component(agents, NoiselessLimit.UNKNOWN)
        value = float(self.model.x0[fixed_agents[0]]) if fixed_agents.size else None
        fixed = bool(fixed_agents.size)
        return Component(agents, NoiselessLimit.CONSENSUS, None, value, True, divided=divided, has_fixed_opinion=fixed)

    def _absolute_probability(self, number: int) -> AbsoluteProbability | None:
        """Return the sequence of a closed class; None where an isolated agent belongs to it."""
        states = self.closed.states(number)
        public = states[states < self.networks.degrees.size]
        if np.any(self.networks.degrees.ravel()[public] == 0):
            return None
        return absolute_probability(self.model, self.networks, public)

    def _value(self, agents: Agents, fixed_agents: Agents, sequence: AbsoluteProbability | None) -> float | None:
        """Return the weighted mean of the opinions that never move, the limit where the start is forgotten."""
        if self.opinions.fades or not self.regime.reaches_value:
            return None
        if fixed_agents.size == 1:
            return float(self.model.x0[fixed_agents[0]])
        if self.networks.count == 1:
            influence = np.zeros(self.model.n)
            # On one network w is proportional to ℓs, scaled to avoid overflow in the sums.
            influence[agents] = self.model.opinion_weights[agents]
        elif sequence is not None:
            influence = sequence.influence
        else:
            return None
        weights = np.where(self.moving, 0.0, influence)
        return float(weights @ self.model.x0 / weights.sum()) if np.any(weights > 0) else None
