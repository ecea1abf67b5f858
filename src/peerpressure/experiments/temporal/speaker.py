"""A speaker whom everyone hears in every second stretch of steps, and how much that opinion comes to count.

The speaker holds 1 and all others hold 0, so that the value agreed on is the speaker's share in it. All ties are
symmetric, and their mean weights over time do not depend on the length of a stretch. Yet the shorter the stretches, the
more the speaker counts: all hear what it says right after steps in which few pulled at it. In a constant network with
the same mean weights it has its share of v.

Tables
------
speaker_paths
    stretch (steps; 0 for the constant network), time, mean, low, high, target: exact mean and 95 % band of the
    consensus mode, and the value to which it is drawn.
speaker_shares
    weight, stretch, share, mean, std, consensus_value: the weight of the ties to the speaker, the speaker's share in
    the value to which all are drawn, and the exact mean and deviation of the consensus mode in the end; its share in a
    constant network is consensus_value.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from peerpressure.experiments.convergence import NOISE, agents_drawn
from peerpressure.experiments.rates import NORMAL_95, spaced_times
from peerpressure.model import Model
from peerpressure.networks import Network, TemporalNetwork, watts_strogatz
from peerpressure.noises import Gaussian
from peerpressure.schedules import Linear
from peerpressure.theory.extensions.consensus_limit import consensus_limit
from peerpressure.theory.functionals import consensus_mode
from peerpressure.theory.moments import moments

AGENTS = 60
NEIGHBOURS = 4
CHANCE = 0.1  # with which a tie of the lattice leads elsewhere
STRETCHES = (1, 2, 3, 5, 10, 20, 50, 100)
SHOWN = (1, 10, 0)
WEIGHTS = (1.0, 4.0)
STEPS = 1_000


def speaker(seed: int, steps: int = STEPS, *, agents: int = AGENTS) -> dict[str, pd.DataFrame]:
    """Return both tables."""
    paths = [_path(stretch, speaker_model(seed, stretch, agents=agents), steps) for stretch in SHOWN]
    rows = [
        {"weight": weight, "stretch": stretch} | _share(speaker_model(seed, stretch, weight, agents=agents), steps)
        for weight in WEIGHTS
        for stretch in STRETCHES
    ]
    return {"speaker_paths": pd.concat(paths, ignore_index=True), "speaker_shares": pd.DataFrame(rows)}


def speaker_model(seed: int, stretch: int, weight: float = WEIGHTS[0], *, agents: int = AGENTS) -> Model:
    """Return a small world in which agent 0 is heard by all in every second ``stretch`` of steps.

    A stretch of 0 is the constant network with the same weights on average.
    """
    _, stubbornness = agents_drawn(agents, seed)
    temporal = alternating(watts_strogatz(agents, NEIGHBOURS, CHANCE, seed=seed), weight, max(stretch, 1))
    pressure = Linear.tuned(temporal.aggregate, stubbornness)
    network = temporal if stretch else temporal.aggregate
    return Model(network, np.eye(agents)[0], stubbornness, pressure, Gaussian(NOISE))


def alternating(lasting: Network, weight: float, stretch: int) -> TemporalNetwork:
    """Return ties that last, and beside them in every second stretch ties of this weight from agent 0 to all others.

    >>> from peerpressure.networks import cycle
    >>> alternating(cycle(5), 1.0, stretch=3).degrees_at(6)
    array([6., 3., 3., 3., 3.])
    """
    i, j, weights = lasting.edges()
    others = np.arange(1, lasting.n)
    heard = lasting.adjacency[[0], 1:].toarray()[0] + weight
    return TemporalNetwork(
        np.concatenate([np.ones_like(i), np.full(others.size, stretch + 1)]),
        np.concatenate([i, np.zeros_like(others)]),
        np.concatenate([j, others]),
        np.concatenate([weights, heard]),
        labels=lasting.labels,
        period=2 * stretch,
    )


def _path(stretch: int, model: Model, steps: int) -> pd.DataFrame:
    times = spaced_times(steps)
    law = moments(model, steps, of=consensus_mode(model), times=times)
    mean, half = law.mean[:, 0], NORMAL_95 * law.std[:, 0]
    curve = {"time": times, "mean": mean, "low": mean - half, "high": mean + half}
    return pd.DataFrame({"stretch": stretch} | curve | {"target": consensus_limit(model).mean})


def _share(model: Model, steps: int) -> dict[str, float]:
    law = moments(model, steps, of=consensus_mode(model))
    return {
        "share": consensus_limit(model).mean,
        "mean": float(law.mean[0, 0]),
        "std": float(law.std[0, 0]),
        "consensus_value": model.consensus_value,
    }
