"""What agents have adopted while they were not seen, as one number each that a front carries through time.

k_t = (1 − η_t) k_{t−1} + η_t y_t adds up all that an agent ever showed, seen or not. Of the unseen part only one
combination still matters: k = seen + size ∘ v, with a carrier v for each agent that was ever out of sight. A new unseen
output turns the pair (v, y) into the new carrier and what is at right angles to it, which is then done with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Vector

Agents: TypeAlias = NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class Turn:
    """How the unseen outputs of a step become carriers.

    The pairs ``old`` (places among the carriers) and ``new`` (places among the unseen) are turned by an angle with
    this ``cosine`` and ``sine``; ``first`` are the places of outputs that become carriers as they are; ``order`` sorts
    old and first carriers by agent.
    """

    old: Agents
    new: Agents
    cosine: Vector
    sine: Vector
    first: Agents
    order: Agents


@final
@dataclass(frozen=True, eq=False)
class Adopted:
    """k = ``seen`` + ``size`` ∘ v, v being carried for ``agents``; seen is (n, replicates), size (agents,)."""

    agents: Agents
    size: Vector
    seen: Vector

    @classmethod
    def nothing(cls, n: int, replicates: int) -> Adopted:
        """Return what agents have adopted at the start."""
        return cls(np.arange(0), np.zeros(0), np.zeros((n, replicates)))

    def after(self, rate: Vector, unseen: Agents, shown: Vector) -> tuple[Adopted, Turn]:
        """Return what they have adopted after one more step, and what becomes of its unseen outputs.

        ``rate`` (n,) is η; ``shown`` (n, replicates) holds the outputs, 0 for the agents who are ``unseen``.
        """
        seen = self.seen + rate[:, None] * (shown - self.seen)
        size = (1 - rate[self.agents]) * self.size
        _, old, new = np.intersect1d(self.agents, unseen, assume_unique=True, return_indices=True)
        first = np.setdiff1d(np.arange(unseen.size), new)
        kept, added = size[old], rate[unseen[new]]
        length = np.hypot(kept, added)
        where = length > 0
        cosine = np.divide(kept, length, out=np.ones_like(length), where=where)
        sine = np.divide(added, length, out=np.zeros_like(length), where=where)
        size[old] = length
        agents = np.concatenate([self.agents, unseen[first]])
        order = np.argsort(agents)
        sizes = np.concatenate([size, rate[unseen[first]]])
        return Adopted(agents[order], sizes[order], seen), Turn(old, new, cosine, sine, first, order)
