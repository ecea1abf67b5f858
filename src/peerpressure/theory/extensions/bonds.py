"""What binds agents together for ever, without noise: who meets whom, who listens to whom, who draws whom."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.theory.extensions.adaptation import AdaptationFacts, adaptation_facts, remembers
from peerpressure.theory.extensions.modes import Mode, mode_of
from peerpressure.theory.extensions.rounds import ClosedClasses, Rounds, closed_classes, recurring_rounds
from peerpressure.theory.regime import Regime

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
