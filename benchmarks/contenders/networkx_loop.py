"""A loop over the nodes of a NetworkX graph, with dictionaries and the standard library's random numbers."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerpressure import Network


def run(
    network: Network,
    hidden: NDArray[np.float64],
    stubbornness: NDArray[np.float64],
    std: float,
    steps: int,
    replicates: int,
    seed: int,
) -> NDArray[np.float64]:
    """Visit every agent and its neighbours at every step, one replicate after the other."""
    graph, rng = network.to_networkx(), random.Random(seed)
    x0 = dict(zip(graph, hidden.tolist(), strict=True))
    s = dict(zip(graph, stubbornness.tolist(), strict=True))
    finals = [_one(graph, x0, s, std, steps, rng) for _ in range(replicates)]
    return np.array([[public[agent] for agent in graph] for public in finals])


def _one(
    graph: Any, x0: dict[Any, float], s: dict[Any, float], std: float, steps: int, rng: random.Random
) -> dict[Any, float]:
    degree = dict(graph.degree(weight="weight"))
    public = x0
    for rho in range(1, steps + 1):
        before, public = public, {}
        for agent, neighbours in graph.adjacency():
            total = sum(edge.get("weight", 1.0) * before[other] for other, edge in neighbours.items())
            own = s[agent] * (x0[agent] + rng.gauss(0.0, std))
            public[agent] = (own + rho * total) / (s[agent] + rho * degree[agent])
    return public
