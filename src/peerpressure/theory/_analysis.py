"""The one analysis of the long run: classification, limit law of each agent, consensus limit and its distance from v.

Closed forms come first, which hold for networks of any size: one value for all agents of a component, or one for each
closed class. What they do not cover is computed from limits of products of steps. Whatever its source, the result is
one ``LongRun`` with the law of each agent, from which outcome and reasons follow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import final

import numpy as np

from peerpressure.model.statespace import System
from peerpressure.model.step import Array
from peerpressure.schedules import Constant
from peerpressure.theory._class_limits import by_class
from peerpressure.theory._classification import LongRun, classify
from peerpressure.theory._consensus_limit import Distance, decide
from peerpressure.theory._limit_law import LimitKind, LimitLaw, common_law, separate_law
from peerpressure.theory._limit_operator import by_operator, operator_law
from peerpressure.theory._limits import ConsensusLimit, with_component_values
from peerpressure.theory._recurrence import periodic_fixed_point, periodic_limit
from peerpressure.theory._regime import LATE_TIME, Regime
from peerpressure.theory._stationary import fixed_point, fluctuation, stationary_mean
from peerpressure.theory._structure import EQUAL_RTOL, NoiselessLimit, has_single_closed_class

# Share of the range of opinions to which limits are computed. They are printed with few digits, and each further digit
# may take many times the steps.
TOLERANCE = 1e-3
# Components whose values are named, and computed where that takes more than their opinions.
NAMED = 3
# Agents up to which numbers that no closed form gives are computed from limits of products of steps.
FEW_AGENTS = 16


class Source(Enum):
    """What the law of the agents was computed from."""

    COMPONENTS = "closed forms of components"
    CLASSES = "closed forms of closed classes"
    OPERATOR = "limits of products of steps"


@final
@dataclass(frozen=True, eq=False)
class Analysis:
    """The long run of a model, with its consensus limit and the distance of that from v, where there is one.

    ``decided``: the sizes of the distance have decided the outcome.
    """

    long_run: LongRun
    source: Source
    limit: ConsensusLimit | None = None
    distance: Distance | None = None
    decided: bool = False


def analyse(system: System, tolerance: float = TOLERANCE) -> Analysis:
    """Return the long run of a model or SDE.

    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> analyse(Model(k2(), hidden=[0, 1])).long_run.outcome
    <Outcome.CONSENSUS: 'consensus on v'>
    """
    long_run = with_component_values(classify(system), limit=NAMED, tolerance=tolerance)
    one_value = has_single_closed_class(long_run.model) or long_run.stays_equal
    resolved = None if one_value else by_class(long_run, tolerance)
    if resolved is not None:
        known = resolved.law if _is_complete(resolved.law) else _filled(resolved, resolved.law)
        return Analysis(replace(resolved, computed_law=known), Source.CLASSES)
    if LimitKind.UNKNOWN in long_run.law.kinds:
        resolved = by_operator(long_run)
        if resolved is not None:
            return Analysis(resolved, Source.OPERATOR)
    long_run, limit, distance = decide(long_run, tolerance)
    decided, numbered = long_run.computed_law is not None, _with_numbers(long_run, limit)
    return Analysis(numbered, Source.COMPONENTS, limit or _coincidence(numbered), distance, decided)


def _coincidence(long_run: LongRun) -> ConsensusLimit | None:
    """Return the value on which agents agree under bounded pressure, where opinions and their opposites cancel."""
    law = long_run.law
    common = bool(np.all(law.group == 0)) and law.kinds == {LimitKind.CONVERGES} and _is_complete(law)
    return ConsensusLimit(float(law.mean[0, 0]), 0.0) if common and long_run.regime is Regime.BOUNDED else None


def _with_numbers(long_run: LongRun, limit: ConsensusLimit | None) -> LongRun:
    """Return the long run with the means and deviations of agents, as far as they are known."""
    law = long_run.law
    if LimitKind.UNKNOWN in law.kinds or (np.all(np.isfinite(law.mean)) and not np.any(np.isnan(law.std))):
        return long_run
    common = bool(np.all(law.group == 0))
    if common and limit is not None:
        kind = law.kind[0]
        if math.isinf(limit.std) and kind is LimitKind.FLUCTUATES:
            kind = LimitKind.WALKS
        std = math.inf if kind in (LimitKind.WALKS, LimitKind.DRIFTS) else limit.std
        return replace(long_run, computed_law=common_law(law.kind.size, kind, limit.mean, std))
    if not common:
        moving = LimitKind.CONVERGES not in law.kinds and long_run.structure.limit is NoiselessLimit.DISAGREEMENT
        long_run = replace(long_run, fluctuation=fluctuation(long_run) if moving else None)
        law = _separate(long_run, law)
    return replace(long_run, computed_law=law if _is_complete(law) else _filled(long_run, law))


def _is_complete(law: LimitLaw) -> bool:
    return bool(np.all(np.isfinite(law.mean))) and not bool(np.any(np.isnan(law.std)))


def _separate(long_run: LongRun, law: LimitLaw) -> LimitLaw:
    """Return the law of agents who stay apart, with their stationary means and deviations, or the cycle of them."""
    std = law.std
    if law.kinds == {LimitKind.PERIODIC}:
        return _cycle(long_run, law)
    random = long_run.structure.law is not None
    if long_run.structure.limit is not NoiselessLimit.DISAGREEMENT or not (long_run.regime is Regime.BOUNDED or random):
        return law
    means = stationary_states(long_run)
    if long_run.fluctuation is not None and long_run.fluctuation.agents is not None:
        std = long_run.fluctuation.agents
    still, networks = law.kinds <= {LimitKind.CONVERGES, LimitKind.RANDOM_LIMIT}, long_run.structure.networks
    if means is None:
        # Networks that repeat move agents in a cycle, unless they all lead to the same means.
        moved = still and networks is not None and networks.count > 1
        return separate_law(LimitKind.UNKNOWN, law.kind.size) if moved else replace(law, std=std)
    means = np.atleast_2d(means)
    near = EQUAL_RTOL * float(np.abs(long_run.model.x0).max())
    if np.ptp(means) <= near and law.kinds == {LimitKind.CONVERGES}:
        # Signs may cancel by coincidence.
        return common_law(law.kind.size, LimitKind.CONVERGES, float(means[0, 0]), 0.0)
    if len(means) > 1:
        means = _in_order(long_run, means)
        if still and np.ptp(means, axis=0).max() > near:
            return replace(separate_law(LimitKind.PERIODIC, law.kind.size), mean=means, std=std)
    return replace(law, mean=means, std=std)


def _in_order(long_run: LongRun, states: Array) -> Array:
    """Return states of the networks that recur, with that of step t in row t mod the number of networks."""
    networks = long_run.structure.networks
    assert networks is not None
    late = networks.count * networks.begin
    return np.asarray(states[[networks.index(late + t) for t in range(networks.count)]])


def _cycle(long_run: LongRun, law: LimitLaw) -> LimitLaw:
    """Return the law of agents who repeat a cycle, with its means where constant opinions determine them."""
    structure, networks = long_run.structure, long_run.structure.networks
    forgets = long_run.regime.reaches_value or structure.components[0].sources is not None
    if networks is None or networks.count == 1 or not (structure.constant_opinions and forgets):
        return law
    means = periodic_limit(long_run.model, networks)
    return law if means is None else replace(law, mean=_in_order(long_run, means))


def _filled(long_run: LongRun, law: LimitLaw) -> LimitLaw:
    """Return the law with the numbers of limits of products, where these agree on what agents do, if it is known."""
    computed = operator_law(long_run) if long_run.model.n <= FEW_AGENTS else None
    if computed is None or np.any((computed.kind != law.kind) & (law.kind != LimitKind.UNKNOWN)):
        return law
    return replace(law, kind=computed.kind, mean=computed.mean, std=computed.std)


def stationary_states(long_run: LongRun) -> Array | None:
    """Return the mean public opinions under bounded pressure, where only constant opinions matter.

    The shape is (agents,), or (steps, agents) on networks that repeat.
    """
    structure, networks = long_run.structure, long_run.structure.networks
    # The record of a random network is one of many; its stationary mean is that of the law.
    if structure.law is not None:
        return stationary_mean(long_run.model, structure.law, long_run.regime) if structure.constant_opinions else None
    if networks is None or structure.opinions.fades or np.any(networks.keeps_forever):
        return None
    model, pressure = long_run.model.synchronous, long_run.growth.limit
    if pressure is None:
        return None
    # At the limit itself, which pressure may approach very slowly.
    model = replace(model, pressure=Constant(pressure))
    if networks.count == 1:
        # After the last change of the network.
        return fixed_point(model, max(LATE_TIME, networks.begin))
    return periodic_fixed_point(model, networks) if structure.constant_opinions else None
