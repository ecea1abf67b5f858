"""NDlib's Friedkin–Johnsen model, ``ndlib.models.opinions.FJModel``: the nearest thing that NDlib has.

It computes y_i ← (1 − θ_i)·mean of the neighbours' y + θ_i·y_i(0), with no noise and no peer pressure that grows.
With θ = s/(s + d) and weights 1 that is our model under ρ_t = 1 without noise, which is what runs here: ``std`` and
``seed`` change nothing. So NDlib does less work than the others.
"""

from __future__ import annotations

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
    """Run ``FJModel`` with hidden opinions, which it wants in [−1, 1], as initial ones."""
    finals = [_one(network, hidden, stubbornness, steps) for _ in range(replicates)]
    return np.array(finals)


def _one(network: Network, hidden: NDArray[np.float64], stubbornness: NDArray[np.float64], steps: int) -> list[float]:
    graph = network.to_networkx()
    theta = stubbornness / (stubbornness + network.degrees)
    model = configured(graph, dict(zip(graph, theta.tolist(), strict=True)))
    # NDlib draws the initial opinions itself and takes none, so they are put in their place afterwards.
    model.status = dict(zip(graph, hidden.tolist(), strict=True))
    model.initial_status = dict(model.status)
    model.iteration(node_status=False)  # the first one reports the initial state and moves nobody
    for _ in range(steps):
        model.iteration(node_status=False)
    return [float(model.status[agent]) for agent in graph]


def configured(graph: Any, theta: dict[Any, float]) -> Any:
    """Return NDlib's model with these weights of initial opinions; it draws the opinions themselves."""
    from ndlib.models.ModelConfig import Configuration
    from ndlib.models.opinions import FJModel

    model, configuration = FJModel(graph), Configuration()
    configuration.add_node_set_configuration("stubbornness", theta)
    model.set_initial_status(configuration)
    return model
