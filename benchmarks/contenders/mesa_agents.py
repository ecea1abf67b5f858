"""The model as Mesa agents who look at their neighbours and then all speak at once."""

from __future__ import annotations

from typing import Any

import mesa
import numpy as np
from numpy.typing import NDArray

from peerpressure import Network


class Opinionated(mesa.Agent):  # type: ignore[misc]
    """An agent with a hidden opinion and weighted neighbours."""

    def __init__(self, model: mesa.Model, hidden: float, stubbornness: float, degree: float) -> None:
        super().__init__(model)
        self.hidden, self.stubbornness, self.degree = hidden, stubbornness, degree
        self.public = self.next = hidden
        self.neighbours: list[tuple[float, Opinionated]] = []

    def look(self) -> None:
        """Minimise the agent's own energy, given what its neighbours show."""
        rho = self.model.steps
        total = sum(weight * other.public for weight, other in self.neighbours)
        own = self.stubbornness * (self.hidden + self.model.random.gauss(0.0, self.model.std))
        self.next = (own + rho * total) / (self.stubbornness + rho * self.degree)

    def speak(self) -> None:
        """Show what was decided."""
        self.public = self.next


class Society(mesa.Model):  # type: ignore[misc]
    """All agents, stepped together."""

    def __init__(
        self,
        network: Network,
        hidden: NDArray[np.float64],
        stubbornness: NDArray[np.float64],
        std: float,
        seed: int,
    ) -> None:
        super().__init__(seed=seed)
        self.std = std
        constants = zip(hidden.tolist(), stubbornness.tolist(), network.degrees.tolist(), strict=True)
        self.members = [Opinionated(self, *values) for values in constants]
        rows, columns, weights = _entries(network)
        for i, j, weight in zip(rows, columns, weights, strict=True):
            self.members[i].neighbours.append((weight, self.members[j]))

    def step(self) -> None:
        """Let all look before anyone speaks."""
        self.agents.do("look")
        self.agents.do("speak")

    def disband(self) -> None:
        """Let go of all agents: Mesa's own tables would keep them alive after the run."""
        self.remove_all_agents()
        self.members.clear()


def _entries(network: Network) -> tuple[Any, Any, Any]:
    entries = network.adjacency.tocoo()
    return entries.row.tolist(), entries.col.tolist(), entries.data.tolist()


def run(
    network: Network,
    hidden: NDArray[np.float64],
    stubbornness: NDArray[np.float64],
    std: float,
    steps: int,
    replicates: int,
    seed: int,
) -> NDArray[np.float64]:
    """Run one society for each replicate."""
    finals = []
    for replicate in range(replicates):
        society = Society(network, hidden, stubbornness, std, seed + replicate)
        for _ in range(steps):
            society.step()
        finals.append([agent.public for agent in society.members])
        society.disband()
    return np.array(finals)
