"""The long run on static networks with several closed classes, or without structural balance, under growing pressure.

A closed class hears nobody else, so it is a model of its own and is analysed as such; with camps, opinions count
with the sign of their camp. An agent outside of all classes comes to the mean over whom it listens to: a mixture of the
values of the classes, in which its own opinion does not count. A class without balance comes to 0, and an agent who
listens to nobody shows its own opinion and noise forever.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, kron

from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.step import Array
from peerpressure.networks import Network
from peerpressure.networks.chain import absorbed, closed_classes, double_cover, followed, leads_to, phases
from peerpressure.networks.classes import camps
from peerpressure.theory._classification import LongRun, Outcome, classify
from peerpressure.theory._consensus_limit import decide
from peerpressure.theory._limit_law import LimitKind, LimitLaw, separate_law
from peerpressure.theory._regime import NoiseEffect, Regime, fades_out, noise_effect
from peerpressure.theory._structure import EQUAL_RTOL, Component, NoiselessLimit

# Classes of several agents whose values are computed: each is analysed as a model of its own. The limit of an agent who
# listens to nobody is known at once.
MOST_CLASSES = 1_000
# Classes with random limits up to which their shares in those of other agents are computed, each by a linear solve.
MOST_RANDOM = 50
# Share of the opinions up to which values of classes are those at infinite pressure.
_KNOWN_RTOL = 1e-15
# Pairs of an agent and a phase up to which it is tested for whom the phases of a class cancel.
MOST_PHASES = 100_000


def recurrent_classes(network: Network) -> list[Component]:
    """Return the closed classes of a static network, without their values."""
    A, n = network.adjacency, network.n
    if not network.signed:
        periods = [(agents, phases(A, agents)[0]) for agents in network.closed_classes]
        return [_class(agents, np.ones(agents.size, np.int64), h, periodic=h > 1) for agents, h in periods]
    # Without directions no cover, twice as large, has to be searched.
    return _classes_of_cover(A, n) if network.directed else _signed_components(network)


def _signed_components(network: Network) -> list[Component]:
    """Return the closed classes of a symmetric signed network, its components, from the signs of its cycles.

    A component is without balance if the product of the signs of a cycle is negative. Its double cover is connected,
    and has two sides if the component has, or if cycles have as many edges as they have negative ones, modulo 2.
    """
    A = network.adjacency
    two_sided, reversed_signs = (camps(csr_array(-each), directed=False) != 0 for each in (abs(A), A))
    out = []
    for agents in network.components():
        first, camp = int(agents[0]), network.camps[agents].astype(np.int64)
        sided = bool(two_sided[first]) and agents.size > 1
        if camp[0]:
            out.append(_class(agents, camp, 1 + sided, periodic=sided))
            continue
        turned = bool(reversed_signs[first]) and not sided
        ones = np.ones(agents.size, np.int64)
        out.append(_class(agents, ones, 1 + (sided or turned), neutral=True, periodic=turned))
    # The cover of a class without balance has every agent twice.
    return sorted(out, key=lambda one: (-one.agents.size * (1 + one.neutral), int(one.agents[0])))


def _classes_of_cover(A: csr_array, n: int) -> list[Component]:
    """Return the closed classes of a directed signed network from those of its double cover."""
    cover, out = double_cover(A), []
    for states in closed_classes(cover):
        agents, h = np.unique(states % n), phases(cover, states)[0]
        if agents.size < states.size:
            # An opinion comes back with the opposite sign after half of the period, or is forgotten.
            plain = phases(csr_array(abs(A)), agents)[0]
            out.append(_class(agents, np.ones(agents.size, np.int64), h, neutral=True, periodic=h == 2 * plain))
            continue
        camp = np.where(np.isin(agents, states), 1, -1)
        # A class with camps has an image with the opposite signs; one of the two is enough.
        if camp[0] == 1:
            out.append(_class(agents, camp, h, periodic=h > 1))
    return out


def _class(
    agents: NDArray[np.int64], camp: NDArray[np.int64], period: int, *, neutral: bool = False, periodic: bool = False
) -> Component:
    return Component(agents, NoiselessLimit.UNKNOWN, periodic=periodic, camp=camp, period=period, neutral=neutral)


def too_many_classes(network: Network) -> tuple[int, int] | None:
    """Return the numbers of closed classes of several agents and of those that are computed, if it exceeds that."""
    several = sum(agents.size > 1 for agents in network.closed_classes)
    return (several, MOST_CLASSES) if several > MOST_CLASSES else None


def by_class(long_run: LongRun, tolerance: float) -> LongRun | None:
    """Return the long run with the limits of its classes and of all agents; None where they are not known."""
    model, regime = long_run.model, long_run.regime
    noise = noise_effect(model, regime)
    known = noise not in (NoiseEffect.UNKNOWN, NoiseEffect.WANDERS) and model.temporal_network is None
    if not known or regime in (Regime.UNKNOWN, Regime.BOUNDED) or long_run.lazy:
        return None
    if noise is NoiseEffect.SCATTERS:
        return replace(
            long_run, computed_law=separate_law(LimitKind.DRIFTS if long_run.phi == 1 else LimitKind.WALKS, model.n)
        )
    if too_many_classes(model.network) is not None:
        return None
    classes = [_with_value(part, long_run, tolerance) for part in recurrent_classes(model.network)]
    decided = tuple(part for part in classes if part is not None)
    if len(decided) < len(classes):
        return None
    silent_noise = _silent_noise(long_run, decided)
    if silent_noise is None:
        return None
    own = (LimitKind.WALKS if long_run.noise_grows else LimitKind.FLUCTUATES) if silent_noise else None
    return replace(long_run, computed_law=_law(model, decided, own), classes=decided)


def _silent_noise(long_run: LongRun, classes: tuple[Component, ...]) -> bool | None:
    """Whether agents who listen to nobody keep showing their noise; None if that is not known."""
    noise = long_run.model.noise
    if noise.is_zero or noise.autocorrelation == 1 or not any(part.agents.size == 1 for part in classes):
        return False
    fades = fades_out(noise.time_scale)
    return None if fades is None else not fades


def _with_value(part: Component, long_run: LongRun, tolerance: float) -> Component | None:
    """Return a class with its value, None if it is periodic; None instead of the class where that is not known."""
    model, agents = long_run.model, part.agents
    periodic = part.periodic and long_run.regime is Regime.FAST and not long_run.continuous
    adapts = model.adaptation is not None
    if part.neutral:
        # Pressure that depends on the phase of t may weight opinions and their opposites differently.
        irregular = part.periodic and not (long_run.growth.is_regular or long_run.continuous)
        return None if adapts or irregular else _ending(part, None if periodic else 0.0)
    if agents.size == 1 and adapts and not (model.noise.is_zero and _shows_its_opinion(long_run, int(agents[0]))):
        # It adapts to its own noise forever, or to its own start.
        return None
    if agents.size == 1:
        std = _own_deviation(long_run, int(agents[0]))
        return None if std is None else _ending(part, float(model.x0[agents[0]]), std)
    alone = _class_model(model, part)
    decided, limit, _ = decide(classify(long_run.system.with_model(alone)), tolerance)
    if decided.outcome in (Outcome.OSCILLATION, Outcome.PERIODIC):
        return _ending(part, None, math.nan, kappa=alone.kappa)
    if limit is None or not decided.outcome.agrees:
        return None
    return _ending(part, limit.mean, limit.std, kappa=alone.kappa, residual=limit.residual)


def _ending(
    part: Component, value: float | None, std: float = 0.0, *, kappa: float = math.inf, residual: float = 0.0
) -> Component:
    """Return a class that comes to a value; None: it repeats a cycle."""
    limit = NoiselessLimit.PERIODIC if value is None else NoiselessLimit.CONSENSUS
    return replace(part, limit=limit, value=value, std=std, kappa=kappa, residual=residual)


def _shows_its_opinion(long_run: LongRun, agent: int) -> bool:
    """Whether an agent who listens to nobody shows its hidden opinion at all times, or from the first step on."""
    model = long_run.model
    return not long_run.continuous or bool(model.start_state[agent] == model.x0[agent])


def _own_deviation(long_run: LongRun, agent: int) -> float | None:
    """Return the deviation of the limit of an agent who listens to nobody; None if frozen noise has no limit."""
    noise, sigma = long_run.model.noise, float(long_run.deviations[agent])
    if noise.is_zero or noise.autocorrelation < 1 or not sigma:
        # Noise that is redrawn moves the agent forever, about its opinion.
        return 0.0
    scale = math.inf if long_run.noise_grows else noise.time_scale.growth.limit
    return None if scale is None else sigma * scale


def _class_model(model: Model, part: Component) -> Model:
    """Return the model of one class by itself, in which opinions have the sign of their camp."""
    agents, noise, adaptation = part.agents, model.noise, model.adaptation
    network = Network(csr_array(abs(model.network.adjacency[agents][:, agents])), directed=True)
    own = noise if np.ndim(noise.std) == 0 else replace(noise, std=np.asarray(noise.std)[agents])
    start = model.start if isinstance(model.start, str) else part.camp * model.start[agents]
    if adaptation is not None:
        adaptation = Adaptation(adaptation.rate, adaptation.adaptation_weights(model.n)[agents])
    hidden = part.camp * model.x0[agents]
    return Model(network, hidden, model.s[agents], model.pressure, own, start, adaptation=adaptation)


def _law(model: Model, classes: tuple[Component, ...], own: LimitKind | None) -> LimitLaw:
    """Return the law of each agent, a mixture of those of the classes; ``own``: what noise of single agents does."""
    A = model.network.adjacency
    group, camp = _followed(model, classes)
    mean, std = _means(model, classes), _deviations(model, classes)
    rotating = [part.agents for part in classes if part.value is None]
    if rotating:
        # The means of cycles are not computed here, and those of agents for whom the phases cancel are means of cycles.
        heard = leads_to(A, np.concatenate(rotating))
        mean[heard], std[heard] = np.nan, 0.0 if model.noise.is_zero else np.nan
    kind = np.array([LimitKind.CONVERGES, LimitKind.RANDOM_LIMIT], dtype=np.object_)[(std != 0).astype(int)]
    # Noise that grows moves even a common opinion without bound; if it is drawn once, always in the same direction.
    kind[np.isinf(std)] = LimitKind.DRIFTS if model.noise.autocorrelation == 1 else LimitKind.WALKS
    group = _merged(model, classes, mean, group)
    if rotating:
        swings = _swings(model, classes)
        kind[swings], group = LimitKind.PERIODIC, np.where(swings, -1, group)
    if own is not None:
        single = [part.agents for part in classes if part.agents.size == 1 and not part.neutral]
        heard = leads_to(A, np.concatenate([np.zeros(0, np.int64), *single]))
        kind[heard], std[heard] = own, np.inf if own is LimitKind.WALKS else np.nan
        group = np.where(heard, -1, group)
    return LimitLaw(kind, mean[None], std, group, camp)


def _swings(model: Model, classes: tuple[Component, ...]) -> NDArray[np.bool_]:
    """Return which agents repeat the cycle of a class: those who hear its phases with weights that do not cancel."""
    A, n, swings = model.network.adjacency, model.n, np.zeros(model.n, np.bool_)
    inside = np.concatenate([part.agents for part in classes])
    for part in classes:
        if part.value is not None:
            continue
        heard = leads_to(A, part.agents)
        outside = np.setdiff1d(np.flatnonzero(heard), inside)
        # The phases of a class without balance are those of its double cover.
        if part.neutral or part.period * n > MOST_PHASES or not outside.size:
            swings |= heard
            continue
        swings[part.agents] = True
        # States are pairs of a step and an agent, and random values of the phases tell whether they cancel.
        h, phase = phases(A, part.agents)
        values, steps = np.random.default_rng(0).uniform(1.0, 2.0, h), np.arange(h)
        known = np.full((h, n), np.nan)
        known[:, inside] = 0.0
        known[:, part.agents] = part.camp * values[(steps[:, None] + phase) % h]
        before = csr_array((np.ones(h), (steps, (steps - 1) % h)), shape=(h, h))
        states = absorbed(csr_array(kron(before, A)), known.ravel()).reshape(h, n)
        swings |= np.ptp(states, axis=0) > EQUAL_RTOL
    return swings


def _means(model: Model, classes: tuple[Component, ...]) -> Array:
    """Return the mean of each agent's limit, which needs a linear solve unless the model knows the same one."""
    known = _known(model.n, classes, lambda one: one.value or 0.0)
    inside = ~np.isnan(known)
    near = _KNOWN_RTOL * float(np.abs(model.x0).max())
    # Zealots, for instance: distances of a forecast are measured to these limits.
    if all(part.agents.size == 1 for part in classes) and not model.network.signed:
        state = model.consensus_state
        if np.abs(state[inside] - known[inside]).max() <= near:
            return state
    return absorbed(model.network.adjacency, known)


def _deviations(model: Model, classes: tuple[Component, ...]) -> Array:
    """Return the deviation of each agent's limit; noise of different classes is independent."""
    random = [part for part in classes if part.std > 0]
    if len(random) > MOST_RANDOM:
        return np.full(model.n, np.nan)
    variance = np.zeros(model.n)
    for part in random:
        share = absorbed(model.network.adjacency, _known(model.n, classes, partial(_is, part)))
        follows = np.abs(share) > EQUAL_RTOL
        variance[follows] += (part.std * share[follows]) ** 2
    return np.asarray(np.sqrt(variance))


def _is(part: Component, other: Component) -> float:
    return float(part is other)


def _known(n: int, classes: tuple[Component, ...], value: Callable[[Component], float]) -> Array:
    """Return a value for each agent of a class, with the sign of its camp, and NaN for others."""
    known = np.full(n, np.nan)
    for part in classes:
        known[part.agents] = part.camp * (0.0 if part.neutral else value(part))
    return known


def _followed(model: Model, classes: tuple[Component, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the class whose value each agent comes to, −1 for a mixture of several, and its sign."""
    if not model.network.signed:
        parts = [part.agents for part in classes]
        return followed(model.network.adjacency, parts), np.ones(model.n, np.int64)
    # Whatever the values of the classes are: random ones tell a mixture from each of them.
    values = dict(zip(map(id, classes), np.random.default_rng(0).uniform(1.0, 2.0, len(classes)), strict=True))
    state = absorbed(model.network.adjacency, _known(model.n, classes, lambda one: values[id(one)]))
    # Sorted, with 0 for classes without balance, so the nearest value is one of two neighbours.
    sizes = np.array([0.0 if part.neutral else values[id(part)] for part in classes])
    order = np.argsort(sizes, kind="stable")
    padded = np.concatenate([[-np.inf], sizes[order], [np.inf]])
    above = np.searchsorted(padded, np.abs(state)).clip(1, len(classes))
    nearer = np.where(np.abs(state) - padded[above - 1] < padded[above] - np.abs(state), above - 1, above)
    nearest = order[nearer.clip(1, len(classes)) - 1]
    pure = np.abs(np.abs(state) - sizes[nearest]) <= EQUAL_RTOL
    # Classes without balance have one value, 0.
    neutral = np.flatnonzero([part.neutral for part in classes])
    group = np.where(np.isin(nearest, neutral), neutral[0] if neutral.size else 0, nearest)
    return np.where(pure, group, -1), np.where(state < 0, -1, 1)


def _merged(model: Model, classes: tuple[Component, ...], mean: Array, group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the groups, or one group where the values of several classes happen to be equal."""
    opinions = np.concatenate([model.x0, model.start_state])
    near = EQUAL_RTOL * max(float(np.abs(opinions).max()), 1e-300) + 10 * max(part.residual for part in classes)
    certain = not any(part.std for part in classes)
    same = np.ptp(mean) <= near and (len(classes) == 1 or certain)
    return np.zeros_like(group) if same else group
