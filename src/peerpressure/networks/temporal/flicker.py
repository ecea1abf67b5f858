"""Edges that come and go on their own: a two-state Markov chain for every pair."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from peerpressure.networks.network import Network
from peerpressure.networks.sampling import random_pairs
from peerpressure.networks.temporal.draws import first_birth, switches
from peerpressure.networks.temporal.events import Events, Positions

Ids = NDArray[np.int64]


class EdgesOf(NamedTuple):
    """The edges of a network as the pairs that may meet, counted as in ``network.edges()``."""

    network: Network

    def chosen(self, chance: float, rng: np.random.Generator) -> Ids:
        """Return each pair with this chance, independently."""
        return np.flatnonzero(rng.random(self.network.edge_count) < chance)

    def meeting(self, ids: Ids) -> tuple[Positions, Positions, NDArray[np.float64]]:
        """Return the two ends of these pairs, and the weight that they have when they meet."""
        i, j, weights = self.network.edges()
        return i[ids], j[ids], weights[ids]


class AllPairs(NamedTuple):
    """All pairs of n agents, by the code i·n + j with i < j; no list of them is ever made."""

    n: int

    def chosen(self, chance: float, rng: np.random.Generator) -> Ids:
        """Return each pair with this chance, independently."""
        larger, smaller = random_pairs(self.n, chance, rng)
        return smaller * self.n + larger

    def meeting(self, ids: Ids) -> tuple[Positions, Positions, NDArray[np.float64]]:
        """Return the two ends of these pairs, and the weight that they have when they meet."""
        return ids // self.n, ids % self.n, np.ones(ids.size)


def flicker(pairs: EdgesOf | AllPairs, birth: float, death: float, steps: int, rng: np.random.Generator) -> Events:
    """Return the events of pairs that meet and part with these chances at each step, from the stationary law on.

    Only pairs that ever meet are drawn: those joined at the start, and of the others those whose first birth comes
    in time.
    """
    early = pairs.chosen(birth / (birth + death), rng)
    in_time = -np.expm1((steps - 1) * np.log1p(-birth)) if birth < 1 else float(steps > 1)
    late = pairs.chosen(in_time, rng)
    late = late[~np.isin(late, early)]
    births = 1 + first_birth(birth, steps - 1, late.size, rng)
    ids = np.concatenate([early, late])
    starts = np.concatenate([np.ones(early.size, np.int64), births])
    later = switches(starts, np.full(ids.size, birth), np.full(ids.size, death), steps, rng)
    i, j, weights = pairs.meeting(ids)
    begun = Events(starts, i, j, weights)
    changed = Events(later.times, i[later.who], j[later.who], np.where(later.odd, 0, weights[later.who]))
    events = Events.joined([begun, changed])
    return events.taken(np.argsort(events.times, kind="stable"))
