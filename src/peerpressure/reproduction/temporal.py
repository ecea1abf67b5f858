"""Ties that last beside ties that pass."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.model import Model
from peerpressure.networks import (
    Network,
    TemporalNetwork,
    barabasi_albert,
    cycle,
    edge_markovian,
    failing_edges,
    joint_connectivity,
    rewiring,
    watts_strogatz,
)
from peerpressure.noise import Gaussian
from peerpressure.reproduction.convergence import NOISE, SEED, agents_drawn, closeness
from peerpressure.reproduction.rates import NORMAL_95, spaced_times
from peerpressure.reproduction.streams import stream
from peerpressure.schedules import Linear
from peerpressure.simulation import simulate
from peerpressure.theory._classification import fate
from peerpressure.theory._consensus_limit import consensus_limit
from peerpressure.theory._moments import consensus_mode, moments


def beside(lasting: Network, passing: TemporalNetwork, period: int | None = None) -> TemporalNetwork:
    """Return both together; a pair that has a lasting tie needs no passing one.

    >>> from peerpressure.networks import path
    >>> beside(path(4), TemporalNetwork.from_events([(1, 0, 1), (1, 0, 3), (5, 0, 1, 0), (5, 0, 3, 0)]))
    TemporalNetwork(4 agents, 4 pairs, 1 change over 1…5, on average 3.8 edges)
    """
    i, j, weights = lasting.edges()
    new = ~np.isin(_pairs(passing.sources, passing.targets, lasting.n), _pairs(i, j, lasting.n))
    return TemporalNetwork(
        np.concatenate([np.ones(i.size, np.int64), passing.event_times[new]]),
        np.concatenate([i, passing.sources[new]]),
        np.concatenate([j, passing.targets[new]]),
        np.concatenate([weights, passing.weights[new]]),
        labels=lasting.labels,
        period=period or passing.period,
    )


def _pairs(i: NDArray[np.int32], j: NDArray[np.int32], n: int) -> NDArray[np.int64]:
    return np.asarray(i.astype(np.int64) * n + j)


# Groups that meet only now and then, part for a while, or part for ever.
#
# Three groups of different opinions are joined by bridges that are there in some steps only, so that most steps are not
# connected by themselves. In one course the bridges are gone for two stretches of time and come back; in the other they
# are gone for ever.
#
# Tables
# ------
# parting_courses
#     course (returning, parted), group, time, mean, low, high, path, own_value, consensus_value: exact mean and 95 %
#     band
#     of each group's mean, weighted by degree, and one run; own_value is v of the group alone.
# parting_windows
#     course, first, last, pieces: the stretches of windows over which the network is not jointly connected, and into
#     how
#     many pieces it falls there.
# parting_summary
#     course, steps, window, rounds_connected, windows_connected, spread, distance: the shares of steps, and of windows,
#     that are connected; in the end, how far the groups' means are apart and how far the farthest is from v, exact.

GROUPS = 3
MEMBERS = 20
BRIDGES = 6  # between any two groups
EVERY = 3  # the bridges are there in one of so many steps
WINDOW = 10
TIMES = 70
PARTING_STEPS = 3_000
# Rounds in which the bridges may be there, by course.
MEETING: Mapping[str, Sequence[tuple[int, int]]] = {
    "returning": ((1, 30), (101, 300), (1_001, 3_000)),
    "parted": ((1, 100),),
}


def parting(seed: int, steps: int = PARTING_STEPS, *, members: int = MEMBERS) -> dict[str, pd.DataFrame]:
    """Return the tables of both courses."""
    courses, windows, summary = [], [], []
    for name, meeting in MEETING.items():
        model = parting_model(seed, meeting, members=members)
        courses.append(_course(name, model, members, steps, stream(seed, name)))
        windows.append(_broken(name, model, steps))
        summary.append(_summary(name, model, courses[-1], steps))
    return {
        "parting_courses": pd.concat(courses, ignore_index=True),
        "parting_windows": pd.concat(windows, ignore_index=True),
        "parting_summary": pd.DataFrame(summary),
    }


def parting_model(seed: int, meeting: Sequence[tuple[int, int]], *, members: int = MEMBERS) -> Model:
    """Return groups of rising opinions, whose bridges are there in every third step of these stretches."""
    n = GROUPS * members
    drawn, stubbornness = agents_drawn(n, seed)
    network = _bridged(seed, meeting, members)
    pressure = Linear.tuned(network.aggregate, stubbornness)
    return Model(network, np.sort(drawn), stubbornness, pressure, Gaussian(NOISE))


def _bridged(seed: int, meeting: Sequence[tuple[int, int]], members: int) -> TemporalNetwork:
    inside = [barabasi_albert(members, 2, seed=stream(seed, f"group {g}")).adjacency for g in range(GROUPS)]
    lasting = Network(sparse.block_diag(inside, format="csr"), connected=False)
    # The bridges lead from the last agents of a group, who brought few ties along, to the last of another.
    pairs = [
        ((a + 1) * members - 1 - k, (b + 1) * members - 1 - k)
        for a, b in itertools.combinations(range(GROUPS), 2)
        for k in range(BRIDGES)
    ]
    rounds = [t for first, last in meeting for t in range(first, last + 1, EVERY)]
    passing = [(t + late, i, j, 1 - late) for t in rounds for late in (0, 1) for i, j in pairs]
    return beside(lasting, TemporalNetwork.from_events(np.array(passing), n=lasting.n))


def _course(name: str, model: Model, members: int, steps: int, seed: int) -> pd.DataFrame:
    times = _times(steps)
    groups = np.repeat(np.arange(GROUPS), members)
    weights = np.where(groups == np.arange(GROUPS)[:, None], model.network.degrees, 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    law, run = moments(model, steps, of=weights, times=times), simulate(model, steps, seed=seed)
    assert run.states is not None, "all states were asked for"
    paths, parts = run.states[0, times] @ weights.T, []
    for g in range(GROUPS):
        mean, half, own = law.mean[:, g], NORMAL_95 * law.std[:, g], groups == g
        curve = {"time": times, "mean": mean, "low": mean - half, "high": mean + half, "path": paths[:, g]}
        value = float(model.s[own] @ model.x0[own] / model.s[own].sum())
        ends = {"own_value": value, "consensus_value": model.consensus_value}
        parts.append(pd.DataFrame({"course": name, "group": g + 1} | curve | ends))
    return pd.concat(parts, ignore_index=True)


def _times(steps: int) -> NDArray[np.int64]:
    """Return times evenly spaced in their logarithm, in the middle between two steps with bridges."""
    spaced = np.unique(np.geomspace(1, steps, TIMES).astype(np.int64))
    return np.unique(np.concatenate([spaced[spaced <= EVERY], spaced[spaced > EVERY] // EVERY * EVERY, [steps]]))


def _broken(name: str, model: Model, steps: int) -> pd.DataFrame:
    assert model.temporal_network is not None, "bridges come and go"
    joint = joint_connectivity(model.temporal_network, WINDOW, steps)
    rows = [(name, first, last, int(joint.components[(first - 1) // WINDOW])) for first, last in joint.broken]
    return pd.DataFrame(rows, columns=["course", "first", "last", "pieces"])


def _summary(name: str, model: Model, course: pd.DataFrame, steps: int) -> dict[str, float | str]:
    assert model.temporal_network is not None, "bridges come and go"
    alone, together = (
        joint_connectivity(model.temporal_network, window, steps).connected.mean() for window in (1, WINDOW)
    )
    ends = course[course["time"] == steps]["mean"].to_numpy()
    return {
        "course": name,
        "steps": steps,
        "window": WINDOW,
        "rounds_connected": float(alone),
        "windows_connected": float(together),
        "spread": float(np.ptp(ends)),
        "distance": float(np.abs(ends - model.consensus_value).max()),
    }


# A speaker whom everyone hears in every second stretch of steps, and how much that opinion comes to count.
#
# The speaker holds 1 and all others hold 0, so that the value agreed on is the speaker's share in it. All ties are
# symmetric, and their mean weights over time do not depend on the length of a stretch. Yet the shorter the stretches,
# the more the speaker counts: all hear what it says right after steps in which few pulled at it. In a constant network
# with the same mean weights it has its share of v.
#
# Tables
# ------
# speaker_paths
#     stretch (steps; 0 for the constant network), time, mean, low, high, target: exact mean and 95 % band of the
#     consensus mode, and the value to which it is drawn.
# speaker_shares
#     weight, stretch, share, mean, std, consensus_value: the weight of the ties to the speaker, the speaker's share in
#     the value to which all are drawn, and the exact mean and deviation of the consensus mode in the end; its share in
#     a
#     constant network is consensus_value.

SPEAKER_AGENTS = 60
NEIGHBOURS = 4
CHANCE = 0.1  # with which a tie of the lattice leads elsewhere
STRETCHES = (1, 2, 3, 5, 10, 20, 50, 100)
SHOWN = (1, 10, 0)
WEIGHTS = (1.0, 4.0)
SPEAKER_STEPS = 1_000


def speaker(seed: int, steps: int = SPEAKER_STEPS, *, agents: int = SPEAKER_AGENTS) -> dict[str, pd.DataFrame]:
    """Return both tables."""
    paths = [_path(stretch, speaker_model(seed, stretch, agents=agents), steps) for stretch in SHOWN]
    rows = [
        {"weight": weight, "stretch": stretch} | _share(speaker_model(seed, stretch, weight, agents=agents), steps)
        for weight in WEIGHTS
        for stretch in STRETCHES
    ]
    return {"speaker_paths": pd.concat(paths, ignore_index=True), "speaker_shares": pd.DataFrame(rows)}


def speaker_model(seed: int, stretch: int, weight: float = WEIGHTS[0], *, agents: int = SPEAKER_AGENTS) -> Model:
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


# One set of ties at different turnover: whether agents still agree, and on what.
#
# A ring of ties lasts, so that nobody is ever alone; the others pass. Agents with more ties hold higher opinions. The
# steps repeat after a while, for ever, so that the value to which agents are drawn is known. In one more network the
# ring fails too, and agents are alone at times.
#
# Tables
# ------
# turnover_networks
#     network (constant, slow, fast, rewired, isolated), pairs, edges, changes, alone, outcome: the pairs that ever
#     meet,
#     edges and changes in a step on average, the share of all steps of all agents in which one has no neighbour, and
#     what becomes of them.
# turnover_targets
#     network, target, off: the value to which agents are drawn and how far that is from v, for all networks in which
#     there is one.
# turnover_law
#     network, time, bias, std, spread, distance: exact; the consensus mode's bias from v and deviation, and spread and
#     distance to v as root mean squares weighted by degree.

TURNOVER_AGENTS = 60
EDGES = 4  # passing ties that an agent brings along
PERIOD = 100
TURNOVER_STEPS = 1_000
FAILING = 0.5
SLOW = 0.02  # what a step takes of the knowledge whether a tie is there; 1 where ties are drawn anew
REWIRED = 0.1
ISOLATED = 0.6


def turnover(
    seed: int, steps: int = TURNOVER_STEPS, *, agents: int = TURNOVER_AGENTS, period: int = PERIOD
) -> dict[str, pd.DataFrame]:
    """Return the tables of all networks."""
    rows, targets, laws, times = [], [], [], spaced_times(steps)
    every = networks(seed, agents=agents, period=period)
    for name, model in models(seed, agents=agents, period=period).items():
        near, found = closeness(model, times), fate(model)
        law = {"bias": near.bias, "std": near.std, "spread": near.spread, "distance": near.distance}
        laws.append(pd.DataFrame({"network": name, "time": times} | law))
        rows.append({"network": name, **_facts(every[name], period), "outcome": found.outcome.name.lower()})
        target = model.consensus_value if found.setting is None else found.setting.groups[0].value
        if target is not None:
            targets.append({"network": name, "target": target, "off": target - model.consensus_value})
    return {
        "turnover_networks": pd.DataFrame(rows),
        "turnover_targets": pd.DataFrame(targets),
        "turnover_law": pd.concat(laws, ignore_index=True),
    }


def models(seed: int, *, agents: int = TURNOVER_AGENTS, period: int = PERIOD) -> dict[str, Model]:
    """Return one model for each network; they share opinions and stubbornness."""
    every = networks(seed, agents=agents, period=period)
    drawn, stubbornness = agents_drawn(agents, seed)
    hidden = np.empty(agents)
    hidden[np.argsort(every["constant"].degrees_at(1), kind="stable")] = np.sort(drawn)
    return {
        name: Model(network, hidden, stubbornness, Linear.tuned(network.aggregate, stubbornness), noise=Gaussian(NOISE))
        for name, network in every.items()
    }


def networks(seed: int, *, agents: int = TURNOVER_AGENTS, period: int = PERIOD) -> Mapping[str, TemporalNetwork]:
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


def _facts(temporal_network: TemporalNetwork, period: int) -> dict[str, Any]:
    rounds = range(1, period + 1)
    return {
        "pairs": temporal_network.pair_count,
        "edges": temporal_network.mean_edges,
        "changes": float(np.count_nonzero(temporal_network.event_times > 1)) / temporal_network.span,
        "alone": float(np.mean([temporal_network.degrees_at(t) == 0 for t in rounds])),
    }


# Networks that change: ties of different turnover, a speaker heard now and then, groups that part.

# Turnover and a speaker show what they do sooner than groups part and come back.
SOON = 1_000


def temporal_networks(seed: int = SEED, steps: int = PARTING_STEPS) -> dict[str, pd.DataFrame]:
    """Return all tables on networks that change, of runs that are no longer than so many steps."""
    soon = min(steps, SOON)
    return turnover(seed, soon) | speaker(seed, soon) | parting(seed, steps)
