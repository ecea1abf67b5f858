"""Why agents end as they do whose network changes or whose hidden opinions adapt, in sentences with numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from peerpressure.model import Model, Vector
from peerpressure.noise import Frozen
from peerpressure.schedules import Constant
from peerpressure.theory._classification import LATE, Bond, Fate, NoiseEffect, Outcome, Setting
from peerpressure.theory._consensus_limit import ConsensusLimit
from peerpressure.theory._fixed_point import fixed_point
from peerpressure.theory._recurrence import Rounds, cycle_of_circles, cycle_of_spread
from peerpressure.theory._regime import Regime

# Groups that are named with their values.
NAMED = 3


def extended_reason(model: Model, fate: Fate, consensus_limit: ConsensusLimit | None) -> str:
    """Return what is special about network and opinions, and what follows."""
    setting = fate.setting
    assert setting is not None
    parts = [
        *_network(model, setting),
        *_opinions(model, setting),
        _ENDS[fate.outcome](model, fate, setting, consensus_limit),
    ]
    return " ".join(parts)


def _network(model: Model, setting: Setting) -> list[str]:
    temporal_network, rounds = model.temporal_network, setting.rounds
    if temporal_network is None:
        return []
    if rounds is None:
        return [
            f"The network repeats only after {temporal_network.period:,} steps, too many to be looked at as a whole."
        ]
    if temporal_network.period is None:
        return [f"From t = {temporal_network.last_change:,} on the network no longer changes{_in_groups(setting)}."]
    return [f"The network repeats every {temporal_network.period:,} steps{_in_groups(setting)}.", *_loneliness(rounds)]


def _in_groups(setting: Setting) -> str:
    if len(setting.groups) < 2:
        return ""
    if setting.scattered:
        return ", and nobody meets anybody"
    alone = sum(group.agents.size == 1 for group in setting.groups)
    apart = f", {'one of them a single agent' if alone == 1 else f'{alone:,} of them single agents'}" if alone else ""
    return f" and falls into {len(setting.groups):,} groups that never meet again{apart}"


def _loneliness(rounds: Rounds) -> list[str]:
    if not rounds.isolated:
        return []
    who = int(np.count_nonzero(np.any(rounds.alone, axis=0)))
    share = float(rounds.alone[:, np.any(rounds.alone, axis=0)].mean())
    rounds_alone = f"no neighbour in {share:.0%} of the steps, and then"
    if who == 1:
        return [f"One agent has {rounds_alone} shows its own opinion."]
    return [f"{who:,} agents have {rounds_alone} show their own opinions."]


def _opinions(model: Model, setting: Setting) -> list[str]:
    facts = setting.adaptation
    if facts is None or facts.lasting is None:
        return []
    if not facts.lasting:
        return ["Hidden opinions adapt ever less, so that a part of each stays for ever."]
    holding = int(np.count_nonzero(~facts.adapts))
    if not holding:
        return ["Hidden opinions adapt for ever, and nothing holds on to where they began."]
    return [f"Hidden opinions adapt for ever but those of {holding:,} agent{'s' * (holding != 1)}, who never do."]


def _consensus(model: Model, fate: Fate, setting: Setting, consensus_limit: ConsensusLimit | None) -> str:
    v = f"v = {model.consensus_value:.6g}"
    if fate.balanced:
        return f"Stubbornness is proportional to degree and the start averages to v, so that the average stays at {v}."
    return f"Pressure grows slowly enough that the start is forgotten, and all agents come to {v}."


def _biased_consensus(model: Model, fate: Fate, setting: Setting, consensus_limit: ConsensusLimit | None) -> str:
    aside = f"while v = {model.consensus_value:.6g}"
    where = "a value of their own" if consensus_limit is None else str(consensus_limit)
    return f"All agents come together on {where}, {aside}{_because(fate, setting)}."


def _because(fate: Fate, setting: Setting) -> str:
    facts, slow = setting.adaptation, fate.regime.reaches_value
    if facts is None and setting.groups[0].heard is not None:
        return ": in the end all repeat the one who is alone at times"
    if facts is None and slow and fate.noise in (NoiseEffect.NONE, NoiseEffect.VANISHES):
        text = "where the number of neighbours changes from step to step, opinions do not count by stubbornness alone"
        return f": {text}"
    if facts is not None and facts.lasting and fate.noise is NoiseEffect.STAYS and not setting.holds:
        return "; early noise is believed, and stays in the value for ever"
    if facts is not None and slow and (setting.holds or not facts.lasting):
        return ": those who never adapt draw all others to theirs" if facts.lasting else ": opinions have moved by then"
    return ", for the start is never forgotten" if fate.regime is Regime.FAST else ""


def _oscillation(model: Model, fate: Fate, setting: Setting, consensus_limit: ConsensusLimit | None) -> str:
    swapping = sum(group.bond is Bond.SWAPS for group in setting.groups)
    which = "the network is bipartite" if len(setting.groups) == 1 else f"{swapping:,} of the groups are bipartite"
    return f"The start is never forgotten, and {which}: two sides keep swapping different values for ever."


def _cycle(model: Model, fate: Fate, setting: Setting, consensus_limit: ConsensusLimit | None) -> str:
    heard = setting.groups[0].heard
    text = "What agents hear comes round to them in turns that never mix, and they go on showing different values"
    if heard is not None:
        text = f"However high the pressure, all that is left to pass on are the opinions of {_people(heard.size)} who "
        text += f"{'is' if heard.size == 1 else 'are'} alone at times: agents go round in a cycle of them"
    if setting.rounds is None or setting.adaptation is not None or not (fate.regime.reaches_value or heard is not None):
        return f"{text}."
    states = cycle_of_circles(model, setting.rounds)
    return f"{text}{'' if states is None else f', from {states.min():.4g} to {states.max():.4g} on average'}."


def _groups(model: Model, fate: Fate, setting: Setting, consensus_limit: ConsensusLimit | None) -> str:
    named = [group for group in setting.groups if group.value is not None][:NAMED]
    moving = setting.adapts and fate.noise is not NoiseEffect.NONE and setting.groups[-1].agents.size == 1
    aside = "; single agents go on believing their own noise" if moving else ""
    if not named:
        return f"Each group comes together on a value of its own{aside}."
    each = ", ".join(f"{group.value:.4g} ({_people(group.agents.size)})" for group in named)
    more = len(setting.groups) - len(named)
    rest = f" and {more:,} more on theirs" if more else ""
    return f"Each group comes to its own value: {each}{rest}, while v = {model.consensus_value:.6g}{aside}."


def _people(count: int) -> str:
    return "one agent" if count == 1 else f"{count:,} agents"


def _spread(model: Model, fate: Fate, setting: Setting, consensus_limit: ConsensusLimit | None) -> str:
    if fate.noise is NoiseEffect.SCATTERS:
        return "Noise grows at least as fast as pressure, so that agents never come together."
    if setting.scattered:
        return "Every agent is left with its own opinion. Ask for a number of steps to see where they were before."
    if setting.bond is not Bond.APART:
        where = "" if consensus_limit is None else f" about {consensus_limit}"
        return f"Opinions come together, but every agent goes on showing noise of its own{where}."
    states = _settled(model, fate, setting)
    text = "Bounded pressure leaves agents apart"
    span = "" if states is None else f": on average they show {states.min():.4g} to {states.max():.4g}"
    return f"{text}{span}."


def _settled(model: Model, fate: Fate, setting: Setting) -> Vector | None:
    """Return the states that agents settle at, where constant opinions alone decide."""
    facts, rounds = setting.adaptation, setting.rounds
    if rounds is None or (facts is not None and not facts.lasting):
        return None
    if rounds.count == 1:
        return fixed_point(model, LATE if not isinstance(model.pressure, Constant) else rounds.begin)
    return None if facts is not None else cycle_of_spread(model, rounds)


def _wandering(model: Model, fate: Fate, setting: Setting, consensus_limit: ConsensusLimit | None) -> str:
    about = "" if consensus_limit is None else f" about {consensus_limit.mean:.4g}"
    if isinstance(model.noise.temporal, Frozen):
        moves = f"starts{about}, and the masks carry it ever further"
    else:
        pace = _pace(model, setting)
        grows = "without bound" if pace is None else f"by some {pace:.2g} in a step"
        moves = f"wanders{about}, and its variance grows {grows}"
    return f"Noise that is believed is never taken back: the common opinion {moves}."


def _pace(model: Model, setting: Setting) -> float | None:
    """Return how much the variance of the common value grows in a step where pressure and rate are constant."""
    constant = isinstance(model.pressure, Constant) and model.adaptation is not None
    if not constant or not isinstance(model.adaptation.rate, Constant) or len(setting.groups) != 1:  # type: ignore[union-attr]
        return None
    mode = setting.groups[0].mode
    if mode is None:
        return None
    # The common value moves by Σ w ε/ρ, over the weights 1 + Σ w/(ρη) of all that shares in it.
    rho, eta = float(model.pressure(1)), model.adaptation.at(1, model.n)  # type: ignore[union-attr]
    step = mode.noise(model) * mode.kappa / (rho + float(np.sum(mode.influence / eta)))
    return step**2 * float(model.noise.scale(LATE)) ** 2 if math.isfinite(step) else None


def _unknown(model: Model, fate: Fate, setting: Setting, consensus_limit: ConsensusLimit | None) -> str:
    text = "What happens as t → ∞ is therefore not known."
    if setting.adaptation is not None and setting.adaptation.lasting is None and fate.regime is not Regime.UNKNOWN:
        text = "But how hidden opinions adapt at late times is not known, and so the outcome is not either."
    elif fate.noise is NoiseEffect.UNKNOWN and fate.regime is not Regime.UNKNOWN:
        text = "But how the noise grows over time is not known, and so the outcome is not either."
    return f"{text} Ask for a number of steps to see where agents are by then."


_ENDS: Mapping[Outcome, Callable[[Model, Fate, Setting, ConsensusLimit | None], str]] = {
    Outcome.CONSENSUS: _consensus,
    Outcome.BIASED_CONSENSUS: _biased_consensus,
    Outcome.OSCILLATION: _oscillation,
    Outcome.DISAGREEMENT: _spread,
    Outcome.CLUSTERS: _groups,
    Outcome.PERIODIC: _cycle,
    Outcome.RANDOM_WALK: _wandering,
    Outcome.UNKNOWN: _unknown,
}
