"""network.dynamics: how the edges of a given network come, go and move from step to step."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import Field, Tag

from peerpressure.networks import Network, TemporalNetwork, edge_markovian, failing_edges, rewiring
from peerpressure.scenario.section import Count, OwnSeed, Section, Share, alternatives, key_of, tag

Length: TypeAlias = Annotated[Count | None, Field(description="leave it out for the length of the run")]
Again: TypeAlias = Annotated[bool, Field(description="begin anew after these steps, or stay as the last one left it")]
Birth: TypeAlias = Annotated[float, Field(gt=0, le=1)]


def own_seed(seed: int) -> int:
    """Return the seed of changes to a network that was itself drawn from this seed."""
    return int(np.random.SeedSequence([seed, 1]).generate_state(1, np.uint64)[0] >> 1)


class EdgeDynamics(Section):
    """A law by which a network changes; ``kind`` names it."""

    kind: str
    steps: Length = None
    seed: OwnSeed = None

    @abstractmethod
    def of(self, network: Network, steps: int, seed: int) -> TemporalNetwork:
        """Return the network as it changes over these steps, drawn from this seed."""

    def applied(self, network: Network, steps: int, seed: int) -> TemporalNetwork:
        """Return the changing network, over its own steps and from its own seed if it has them."""
        return self.of(network, self.steps or steps, own_seed(seed) if self.seed is None else self.seed)


class FailingEdges(EdgeDynamics):
    """Each edge is absent with this probability in each step, independently."""

    kind: Literal["failing_edges"] = "failing_edges"
    probability: Annotated[float, Field(ge=0, lt=1)]
    repeat: Again = True

    def of(self, network: Network, steps: int, seed: int) -> TemporalNetwork:
        """Return the network with its failures."""
        return failing_edges(network, self.probability, steps, seed=seed, repeat=self.repeat)


class ComingAndGoing(EdgeDynamics):
    """Each edge ends with probability ``death`` in a step, and comes back with probability ``birth``."""

    kind: Literal["edge_markovian"] = "edge_markovian"
    birth: Birth
    death: Share
    repeat: Again = True

    def of(self, network: Network, steps: int, seed: int) -> TemporalNetwork:
        """Return the network with its edges coming and going."""
        return edge_markovian(network, self.birth, self.death, steps, seed=seed, repeat=self.repeat)


class Moving(EdgeDynamics):
    """Each edge moves with probability ``rate`` in a step: one of its ends goes to somebody new."""

    kind: Literal["rewiring"] = "rewiring"
    rate: Share

    def of(self, network: Network, steps: int, seed: int) -> TemporalNetwork:
        """Return the network with its edges moving."""
        return rewiring(network, self.rate, steps, seed=seed)


_KINDS = ("failing_edges", "edge_markovian", "rewiring")


def _choose(value: Any) -> str | None:
    _, kind = key_of(value, "kind") or (None, None)
    return tag(str(kind)) if kind in _KINDS else None


DynamicsSection: TypeAlias = Annotated[
    Annotated[FailingEdges, Tag("<failing_edges>")]
    | Annotated[ComingAndGoing, Tag("<edge_markovian>")]
    | Annotated[Moving, Tag("<rewiring>")],
    alternatives(
        _choose,
        f"an dynamics must have a kind: {', '.join(_KINDS)}",
        "for instance { kind = 'failing_edges', probability = 0.2 }",
    ),
]


class Standing(Section):
    """A network that stays as it is, unless an ``dynamics`` changes it."""

    dynamics: Annotated[DynamicsSection | None, Field(description="leave it out for a network that stays as it is")] = (
        None
    )

    @abstractmethod
    def build(self, seed: int) -> Network:
        """Return the network, drawn from its own seed if it has one, else from this one."""

    def evolve(self, steps: int, seed: int) -> TemporalNetwork | None:
        """Return the network as it changes in a run of so many steps; None if it does not."""
        if self.dynamics is None:
            return None
        # A network that keeps its own seed keeps its changes with it.
        own = getattr(self, "seed", None)
        return self.dynamics.applied(self.build(seed), steps, seed if own is None else own)
