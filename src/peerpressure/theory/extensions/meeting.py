"""Who meets whom, and how often: what a network that changes does for, and against, agreement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from peerpressure.model import Model
from peerpressure.networks import TemporalNetwork, joint_connectivity, shortest_window
from peerpressure.theory.ends import Fate

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
