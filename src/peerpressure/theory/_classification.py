"""Classification of the long run: regimes, recurrent structure, effect of noise, and the outcome that follows.

``classify`` computes it once; outcome, reasons, rates, limits and forecast read it. The paper's model is the special
case of one network and constant hidden opinions, and continuous time differs only in that no class is periodic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model, require_synchronous
from peerpressure.networks import Network
from peerpressure.networks._classes import phases
from peerpressure.schedules import Constant, Formula, Growth, Table
from peerpressure.sde import SDE
from peerpressure.statespace import System, checked_system
from peerpressure.step import Array
from peerpressure.theory._recurrence import AbsoluteProbability
from peerpressure.theory._regime import (
    NoiseEffect,
    Regime,
    fades_out,
    hidden_noise_vanishes,
    noise_effect,
    noise_is_estimated,
    regime_of,
)
from peerpressure.theory._structure import (
    SAME,
    Component,
    NoiselessLimit,
    Structure,
    gossip_influence,
    is_covered,
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
        The two sides of a bipartite network exchange two values for ever.
    DISAGREEMENT : Outcome
        The agents stay apart.
    CLUSTERS : Outcome
        Agents agree within components, but not between them.
    PERIODIC : Outcome
        Opinions repeat with the period of the network.
    RANDOM_WALK : Outcome
        Agents agree on a value that noise moves for ever.
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
    RANDOM_WALK = "a common opinion on a random walk"
    UNKNOWN = "unknown"


@final
@dataclass(frozen=True, eq=False)
class LongRun:
    """Classification of a model or SDE as t → ∞.

    ``settled``: all opinions are equal and there is no noise. ``balanced``: the mean is v from the start on, and so is
    that of each side of a bipartite network, whatever the pressure. ``estimated``: the outcome rests on the values of
    a formula at large t instead of on a known growth. ``model`` is the discrete model behind an SDE, and ``deviations``
    are the standard deviations of noise that enters with the weight of an opinion, shape (agents,). ``decided`` is the
    outcome where the size of the limit's departure from v has decided it. Where ``camps`` are given, opinions are
    multiplied by the sign of the agent's camp, which makes all weights positive: ``model`` and ``system`` are the
    result.
    """

    system: System
    model: Model
    deviations: Array
    regime: Regime
    noise: NoiseEffect
    structure: Structure
    settled: bool
    balanced: bool
    estimated: bool
    decided: Outcome | None = None
    camps: NDArray[np.int8] | None = None

    @property
    def has_camps(self) -> bool:
        """Whether opinions are multiplied by the sign of the agent's camp."""
        return self.camps is not None

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
        phi, system = self.model.noise.autocorrelation, self.system
        if not isinstance(system, SDE) or phi in (0.0, 1.0):
            return phi
        return (2 - system.reversion) / (2 + system.reversion)

    def network_step(self, steps: int) -> int:
        """Return the step of the network that so many steps of the system lead to."""
        return self.system.network_step(self.system.time(steps)) if isinstance(self.system, SDE) else steps

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
        law = self.structure.law
        if law is not None and law.chances is not None and self.structure.keeps:
            return float(gossip_influence(self.model, law).sum())
        if law is not None and law.pairs is not None and law.presence is not None:
            # Of the expected degrees, so that it does not depend on how many steps are recorded.
            return float(self.model.s.sum() / (law.presence * law.pairs.degrees.sum()))
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
        # The noise of isolated agents, who count where η = 1, is restored in order 1/ρ only.
        isolated = structure.opinions.isolated and self.noise is not NoiseEffect.NONE and self.phi < 1
        driven |= isolated and any(part.periodic for part in parts) and not self.hidden_agrees
        if structure.limit is not NoiselessLimit.PERIODIC and not driven:
            return None
        two_sided = networks is not None and networks.count == 1 and all(part.two_sided for part in parts)
        return Outcome.OSCILLATION if two_sided else Outcome.PERIODIC

    @property
    def _random_walk(self) -> Outcome | None:
        structure = self.structure
        if self.noise is not NoiseEffect.WANDERS or structure.anchored or not structure.opinions.random_walk:
            return None
        if len(structure.components) > 1:
            # Each component wanders by itself, so that there is no common opinion.
            return None
        # Where pressure vanishes, so does what keeps agents together; and growing noise drives them apart.
        bounded = self.regime is Regime.BOUNDED
        apart = (bounded and fades_out(self.model.pressure)) or (
            self.noise_grows and (bounded or structure.intermittent)
        )
        return Outcome.DISAGREEMENT if apart and not self.hidden_agrees else Outcome.RANDOM_WALK

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
            # Frozen noise does not fluctuate, and so repeats with the networks.
            repeats = self.phi == 1 and self.regime is not Regime.BOUNDED and not self.noise_grows
            apart = Outcome.PERIODIC if repeats else Outcome.DISAGREEMENT
            return Outcome.UNKNOWN if quiet is None else apart
        if structure.limit is NoiselessLimit.CLUSTERS and not self._same_values:
            return Outcome.CLUSTERS
        value = structure.components[0].value
        # Without a closed form the limit is v only by symmetry; otherwise it would be a coincidence.
        reaches_v = self.balanced if value is None else is_consensus_value(self.model, value)
        moved = noise in (NoiseEffect.WANDERS, NoiseEffect.STAYS)
        return Outcome.CONSENSUS if reaches_v and not moved else Outcome.BIASED_CONSENSUS

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
        found = hidden_noise_vanishes(
            model,
            opinions,
            intermittent=structure.intermittent and not self._one_source,
            held=bool(still.size) or part.divided,
            source=part.sources is not None,
            swings=part.periodic and self.regime.reaches_value,
        )
        return None if found is False and self.phi == 1 and not still.size and self._may_be_heard_alike(part) else found

    def _may_be_heard_alike(self, part: Component) -> bool:
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


def is_consensus_value(model: Model, value: float) -> bool:
    """Whether a value is v = Σ s x₀/Σ s, up to rounding."""
    # Relative to the range, so that the result does not depend on the origin of the scale of opinions.
    rounding = 1e-13 * float(np.abs(model.x0).max())
    return abs(value - model.consensus_value) <= SAME * float(np.ptp(model.x0)) + rounding


def classify(system: System) -> LongRun:
    """Classify the long-run behaviour of a model or SDE.

    >>> from peerpressure.networks import k2
    >>> classify(Model(k2(), hidden=[0, 1])).outcome
    <Outcome.CONSENSUS: 'consensus on v'>
    """
    given = checked_system(system).model
    require_synchronous(given, "this", "diagnose has limit and rates of other models")
    growth = given.pressure.growth
    regime = regime_of(given.pressure, growth)
    # Under bounded pressure agents have no common value, and their own ones are wanted.
    has_camps = given.network.signed and given.network.is_balanced and given.adaptation is None
    has_camps = has_camps and regime is not Regime.BOUNDED
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
    parity = _sides_are_heard_alike(model, regime, structure)
    if parity is not True:
        # Each side then has a limit of its own, which alternates with the other's.
        limit = NoiselessLimit.UNKNOWN if parity is None else NoiselessLimit.PERIODIC
        parts = tuple(replace(component, limit=limit, value=None) for component in structure.components)
        structure = replace(structure, components=parts)
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
        camps=given.network.camps if has_camps else None,
    )


def without_signs(model: Model) -> Model:
    """Return the model of a balanced signed network in which opinions have the sign of their camp.

    y_i ↦ camp_i y_i makes all weights positive and leaves the steps as they are, with x₀ and noise multiplied likewise.
    """
    network, camps = model.network, model.network.camps
    positive = Network(abs(network.adjacency), network.labels, directed=True)
    start = model.start if isinstance(model.start, str) else camps * model.start
    return replace(model, network=positive, hidden=camps * model.hidden, start=start)


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
    """Whether all opinions are equal without lasting noise, so that pressure changes nothing."""
    # Where Σ 1/ρ_t diverges, every start and all noise that fades are forgotten, while constant opinions stay.
    # An opinion that is kept for ever forgets nothing.
    networks = structure.networks
    forgets = (regime is Regime.BOUNDED or regime.reaches_value) and structure.constant_opinions
    forgets = forgets and not (structure.keeps and (networks is None or bool(np.any(networks.keeps_for_ever))))
    quiet = model.noise.is_zero or (forgets and model.noise.time_scale.growth.limit == 0)
    # Without pressure agents show their own opinions, from the first step on.
    known = isinstance(model.pressure, Constant | Formula)
    detached = known and not np.any(model.pressure.pressure(np.arange(1.0, 65.0)))
    stays = forgets or detached or bool(np.all(model.start_state == model.x0))
    # Distrust turns opinions into their opposites, unless they are 0.
    alike = not np.ptp(model.x0) and not (model.network.signed and np.any(model.x0))
    return alike and quiet and stays


def is_proportional(model: Model) -> bool:
    """Whether stubbornness is proportional to degree, so that the recursion of the consensus mode is exact."""
    # Only of the agents who count in the mode.
    counts = model.network.left_null_vector > 0
    if not np.all(model.network.degrees[counts]):
        return False
    ratio = model.s[counts] / model.network.degrees[counts]
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
    if not model.network.is_strongly_connected:
        # The mean over several components is balanced whatever each of them does. Transient agents follow their class
        # only if they start on v, too, which is left to the limit.
        return False
    weights = [model.mode_weights, *(_swings(model) if constant and not continuous else [])]
    off = np.stack([model.x0, model.start_state]) - model.consensus_value
    return bool(np.all(np.abs(off @ np.stack(weights).T) <= 1e-12 * np.abs(off).max()))


# Steps, and windows of them, over which pressures at even and odd times are compared.
WINDOW = 20_000
WINDOWS = (10**5, 10**6)


def _sides_are_heard_alike(model: Model, regime: Regime, structure: Structure) -> bool | None:
    """Whether Σ 1/ρ_t over even and over odd times grow alike, where that matters; None if it is not clear.

    On a bipartite network the opinions of one side enter a class of public opinions at even times only, and those of
    the other side at odd times. Pressure that depends on the parity of t weights the two sides differently in the two
    classes, whose limits then differ unless the sides have the same mean opinion.
    """
    if not regime.reaches_value or model.pressure.growth.is_regular or structure.networks is None:
        return True
    if structure.networks.count == 1 and not any(component.periodic for component in structure.components):
        return True
    sides, weights = model.network.sides, model.s / model.s.max()
    # On networks that repeat, pressure may weight their steps differently, which is not analysed.
    if not model.is_plain or sides is None:
        return None
    means = [np.average(model.x0[part], weights=weights[part]) for part in (sides == 0, sides == 1)]
    # Frozen noise shifts the means, too.
    shifted = not model.noise.is_zero and model.noise.autocorrelation == 1 and not fades_out(model.noise.time_scale)
    rounding = 1e-13 * float(np.abs(model.x0).max())
    if abs(means[0] - means[1]) <= SAME * float(np.ptp(model.x0)) + rounding and not shifted:
        return True
    shares = [
        model.pressure.reciprocal(np.arange(start, start + WINDOW)).reshape(-1, 2).sum(axis=0) for start in WINDOWS
    ]
    off = [abs(even / odd - 1) for even, odd in shares]
    return True if max(off) < 1e-3 else False if min(off) > 1e-2 else None


def steady_sums(model: Model) -> tuple[bool, bool]:
    """Whether Σ d y/Σ d stays on v, and the sides of a bipartite network stay equal, for every pressure without noise.

    Both sums are rational functions of the pressures. One that is 0 for random pressures, over enough steps for every
    opinion to reach every agent, is 0 identically; it is a symmetry of the network and its opinions.
    """
    if not (model.is_plain and model.noise.is_zero) or model.n > MOST_SYMMETRIC:
        return False, False
    if not (model.network.is_connected and is_covered(model)):
        return False, False
    off, swings = np.abs(np.stack([model.x0, model.start_state]) - model.consensus_value).max(), _swings(model)
    weights = np.stack([model.mode_weights, *swings])
    steps = model.n + 2
    probe = replace(model, pressure=Table(model.kappa * np.random.default_rng(0).uniform(0.5, 2.0, steps)))
    state, largest = model.start_state, np.zeros(len(weights))
    for t in range(steps + 1):
        state = state if t == 0 else probe.update(t)(state)
        largest = np.maximum(largest, np.abs(weights @ (state - model.consensus_value)))
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
