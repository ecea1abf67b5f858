"""network.evolution: how the edges of a given network come, go and move from round to round."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import Field, Tag

from peerpressure.networks import EvolvingNetwork, Network, edge_markovian, failing_edges, rewiring
from peerpressure.scenario.section import Count, OwnSeed, Section, Share, alternatives, key_of, tag

Length: TypeAlias = Annotated[Count | None, Field(description="leave it out for the length of the run")]
Again: TypeAlias = Annotated[bool, Field(description="begin anew after these steps, or stay as the last one left it")]
Birth: TypeAlias = Annotated[float, Field(gt=0, le=1)]


def own_seed(seed: int) -> int:
    """Return the seed of changes to a network that was itself drawn from this seed."""
    return int(np.random.SeedSequence([seed, 1]).generate_state(1, np.uint64)[0] >> 1)


class Evolution(Section):
    """A law by which a network changes; ``kind`` names it."""

    kind: str
    steps: Length = None
    seed: OwnSeed = None

    @abstractmethod
    def of(self, network: Network, steps: int, seed: int) -> EvolvingNetwork:
        """Return the network as it changes over these steps, drawn from this seed."""

    def applied(self, network: Network, steps: int, seed: int) -> EvolvingNetwork:
        """Return the changing network, over its own steps and from its own seed if it has them."""
        return self.of(network, self.steps or steps, own_seed(seed) if self.seed is None else self.seed)


class FailingEdges(Evolution):
    """Each edge is absent with this probability in each round, independently."""

    kind: Literal["failing_edges"] = "failing_edges"
    probability: Annotated[float, Field(ge=0, lt=1)]
    repeat: Again = True

    def of(self, network: Network, steps: int, seed: int) -> EvolvingNetwork:
        """Return the network with its failures."""
        return failing_edges(network, self.probability, steps, seed=seed, repeat=self.repeat)


class ComingAndGoing(Evolution):
    """Each edge ends with probability ``death`` in a round, and comes back with probability ``birth``."""

    kind: Literal["edge_markovian"] = "edge_markovian"
    birth: Birth
    death: Share
    repeat: Again = True

    def of(self, network: Network, steps: int, seed: int) -> EvolvingNetwork:
        """Return the network with its edges coming and going."""
        return edge_markovian(network, self.birth, self.death, steps, seed=seed, repeat=self.repeat)


class Moving(Evolution):
    """Each edge moves with probability ``rate`` in a round: one of its ends goes to somebody new."""

    kind: Literal["rewiring"] = "rewiring"
    rate: Share

    def of(self, network: Network, steps: int, seed: int) -> EvolvingNetwork:
        """Return the network with its edges moving."""
        return rewiring(network, self.rate, steps, seed=seed)


_KINDS = ("failing_edges", "edge_markovian", "rewiring")


def _choose(value: Any) -> str | None:
    _, kind = key_of(value, "kind") or (None, None)
    return tag(str(kind)) if kind in _KINDS else None


EvolutionSection: TypeAlias = Annotated[
    Annotated[FailingEdges, Tag("<failing_edges>")]
    | Annotated[ComingAndGoing, Tag("<edge_markovian>")]
    | Annotated[Moving, Tag("<rewiring>")],
    alternatives(
        _choose,
        f"an evolution must have a kind: {', '.join(_KINDS)}",
        "for instance { kind = 'failing_edges', probability = 0.2 }",
    ),
]


class Standing(Section):
    """A network that stays as it is, unless an ``evolution`` changes it."""

    evolution: Annotated[
        EvolutionSection | None, Field(description="leave it out for a network that stays as it is")
    ] = None

    @abstractmethod
    def build(self, seed: int) -> Network:
        """Return the network, drawn from its own seed if it has one, else from this one."""

    def evolve(self, steps: int, seed: int) -> EvolvingNetwork | None:
        """Return the network as it changes in a run of so many steps; None if it does not."""
        if self.evolution is None:
            return None
        # A network that keeps its own seed keeps its changes with it.
        own = getattr(self, "seed", None)
        return self.evolution.applied(self.build(seed), steps, seed if own is None else own)
