"""One set of ties at different turnover: whether agents still agree, and on what.

A ring of ties lasts, so that nobody is ever alone; the others pass. Agents with more ties hold higher opinions. The
steps repeat after a while, for ever, so that the value to which agents are drawn is known. In one more network the
ring fails too, and agents are alone at times.

Tables
------
turnover_networks
    network (constant, slow, fast, rewired, isolated), pairs, edges, changes, alone, outcome: the pairs that ever meet,
    edges and changes in a step on average, the share of all steps of all agents in which one has no neighbour, and
    what becomes of them.
turnover_targets
    network, target, off: the value to which agents are drawn and how far that is from v, for all networks in which
    there is one.
turnover_law
    network, time, bias, std, spread, distance: exact; the consensus mode's bias from v and deviation, and spread and
    distance to v as root mean squares weighted by degree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from peerpressure.experiments.closeness import closeness
from peerpressure.experiments.convergence import NOISE, agents_drawn
from peerpressure.experiments.rates import spaced_times
from peerpressure.experiments.streams import stream
from peerpressure.experiments.temporal.ties import beside
from peerpressure.model import Model
from peerpressure.networks import TemporalNetwork, barabasi_albert, cycle
from peerpressure.networks.temporal.generators import edge_markovian, failing_edges, rewiring
from peerpressure.noises import Gaussian
from peerpressure.schedules import Linear
from peerpressure.theory.outcome import fate

AGENTS = 60
EDGES = 4  # passing ties that an agent brings along
PERIOD = 100
STEPS = 1_000
FAILING = 0.5
SLOW = 0.02  # what a step takes of the knowledge whether a tie is there; 1 where ties are drawn anew
REWIRED = 0.1
ISOLATED = 0.6


def turnover(seed: int, steps: int = STEPS, *, agents: int = AGENTS, period: int = PERIOD) -> dict[str, pd.DataFrame]:
    """Return the tables of all networks."""
    rows, targets, laws, times = [], [], [], spaced_times(steps)
    for name, model in models(seed, agents=agents, period=period).items():
        near, found = closeness(model, times), fate(model)
        law = {"bias": near.bias, "std": near.std, "spread": near.spread, "distance": near.distance}
        laws.append(pd.DataFrame({"network": name, "time": times} | law))
        rows.append({"network": name, **_facts(model, period), "outcome": found.outcome.name.lower()})
        target = model.consensus_value if found.setting is None else found.setting.groups[0].value
        if target is not None:
            targets.append({"network": name, "target": target, "off": target - model.consensus_value})
    return {
        "turnover_networks": pd.DataFrame(rows),
        "turnover_targets": pd.DataFrame(targets),
        "turnover_law": pd.concat(laws, ignore_index=True),
    }


def models(seed: int, *, agents: int = AGENTS, period: int = PERIOD) -> dict[str, Model]:
    """Return one model for each network; they share opinions and stubbornness."""
    every = networks(seed, agents=agents, period=period)
    drawn, stubbornness = agents_drawn(agents, seed)
    hidden = np.empty(agents)
    hidden[np.argsort(every["constant"].degrees_at(1), kind="stable")] = np.sort(drawn)
    return {
        name: Model(network, hidden, stubbornness, Linear.tuned(network.aggregate, stubbornness), noise=Gaussian(NOISE))
        for name, network in every.items()
    }


def networks(seed: int, *, agents: int = AGENTS, period: int = PERIOD) -> Mapping[str, TemporalNetwork]:
    """Return the networks by name: a lasting ring with passing ties of different turnover, and one where all fail."""
    ring, ties, own = cycle(agents), barabasi_albert(agents, EDGES, seed=seed), stream(seed, "turnover")
    birth, death = (1 - FAILING) * SLOW, FAILING * SLOW
    whole = beside(ring, TemporalNetwork.constant(ties))
    return {
        "constant": whole,
        "slow": beside(ring, edge_markovian(ties, birth, death, period, seed=own, repeat=True)),
        "fast": beside(ring, failing_edges(ties, FAILING, period, seed=own, repeat=True)),
        "rewired": beside(ring, rewiring(ties, REWIRED, period, seed=own), period),
        "isolated": failing_edges(whole.snapshot(1), ISOLATED, period, seed=own, repeat=True),
    }


def _facts(model: Model, period: int) -> dict[str, Any]:
    temporal_network = model.temporal_network
    assert temporal_network is not None, "every network here is a temporal one"
    rounds = range(1, period + 1)
    return {
        "pairs": temporal_network.pair_count,
        "edges": temporal_network.mean_edges,
        "changes": float(np.count_nonzero(temporal_network.event_times > 1)) / temporal_network.span,
        "alone": float(np.mean([temporal_network.degrees_at(t) == 0 for t in rounds])),
    }
