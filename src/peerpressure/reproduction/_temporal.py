"""Temporal networks: edge turnover, an agent that broadcasts intermittently, and groups whose bridges disappear."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

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
from peerpressure.reproduction.design import (
    NOISE,
    NORMAL_95,
    SEED,
    agents_drawn,
    consensus_errors,
    log_spaced_times,
    stream,
)
from peerpressure.schedules import Linear
from peerpressure.simulation import simulate
from peerpressure.theory import consensus_limit
from peerpressure.theory._classification import classify
from peerpressure.theory.propagation import consensus_mode, moments

STEPS = 3_000
# The effects of edge turnover and of the broadcaster appear sooner than groups split and reconnect.
SHORT_STEPS = 1_000

TURNOVER_AGENTS = 60
EDGES = 4  # temporal edges per step of the graph's growth
PERIOD = 100
# Half of the temporal edges are present on average, under slow and under fast turnover.
FAILING = 0.5
SLOW = 0.02  # relaxation rate of an edge's presence per step; 1 where edges are resampled at every step
REWIRED = 0.1
ISOLATED = 0.6

BROADCAST_AGENTS = 60
NEIGHBOURS = 4
REWIRING = 0.1  # rewiring probability of the small world
# 0 stands for the constant network with the same mean weights.
DWELL_TIMES = (1, 2, 3, 5, 10, 20, 50, 100)
SHOWN_DWELL_TIMES = (1, 10, 0)
WEIGHTS = (1.0, 4.0)

GROUPS = 3
MEMBERS = 20
BRIDGES = 6  # between any two groups
EVERY = 3  # bridges are present in one of this many steps
# More than two intervals between bridges: a window with recurring bridges contains several of them.
WINDOW = 10
# Log-spaced times of the paths; the table has these for each group and case.
TIMES = 70


class Case(NamedTuple):
    """Intervals of steps during which bridges recur, and the name of the random stream."""

    intervals: Sequence[tuple[int, int]]
    stream: str


CASES: Mapping[str, Case] = {
    "returning": Case(((1, 30), (101, 300), (1_001, 3_000)), "returning"),
    # The stream keeps its former name: it is hashed into the seed, and a new name would change the numbers.
    "removed": Case(((1, 100),), "parted"),
}


def temporal_networks(seed: int = SEED, steps: int = STEPS) -> dict[str, pd.DataFrame]:
    """Return the tables on temporal networks.

    Parameters
    ----------
    seed : int, default 14
        Seed of networks, agents and noise.
    steps : int, default 3,000
        Longest run.

    Returns
    -------
    dict of str to pandas.DataFrame
        The tables of ``edge_turnover``, ``broadcaster`` and ``splitting``, which document the columns.

    See Also
    --------
    convergence : Consensus on constant networks.

    Examples
    --------
    >>> sorted(temporal_networks(steps=20))[:2]
    ['broadcaster_paths', 'broadcaster_shares']
    """
    short = min(steps, SHORT_STEPS)
    return edge_turnover(seed, short) | broadcaster(seed, short) | splitting(seed, steps)


def edge_turnover(
    seed: int, steps: int = SHORT_STEPS, *, agents: int = TURNOVER_AGENTS, period: int = PERIOD
) -> dict[str, pd.DataFrame]:
    """Compare networks with the same edges at different turnover: whether agents agree, and on what value.

    A ring of edges persists, so no agent is ever isolated; the other edges are temporal. Agents of higher degree
    have higher opinions. The networks are periodic, so the consensus limit is known. In one more network the
    edges of the ring fail too, and agents are isolated at times.

    Tables
    ------
    edge_turnover_networks
        network (constant, slow, fast, rewired, isolated), pairs, edges, changes, isolated, outcome: pairs that are ever
        connected; mean number of edges and of edge changes per step; share of isolated agents, mean over steps; the
        predicted outcome.
    edge_turnover_targets
        network, target, bias: the consensus limit and its difference from v, for networks that have one.
    edge_turnover_law
        network, time, bias, std, weighted_disagreement, weighted_distance: exact; bias and standard deviation of the
        consensus mode, and root mean squares about the mode and about v, weighted by degree.
    """
    rows, targets, laws, times = [], [], [], log_spaced_times(steps)
    networks = turnover_networks(seed, agents=agents, period=period)
    for name, model in turnover_models(seed, agents=agents, period=period).items():
        errors, long_run = consensus_errors(model, times), classify(model)
        law = {"bias": errors.bias, "std": errors.std}
        law |= {
            "weighted_disagreement": errors.weighted_disagreement,
            "weighted_distance": errors.weighted_distance,
        }
        laws.append(pd.DataFrame({"network": name, "time": times} | law))
        edges = _edge_statistics(networks[name], period)
        rows.append({"network": name, **edges, "outcome": long_run.outcome.name.lower()})
        # None if agents do not agree, as in the network whose ring fails too.
        target = long_run.structure.components[0].value
        if target is not None:
            targets.append({"network": name, "target": target, "bias": target - model.consensus_value})
    return {
        "edge_turnover_networks": pd.DataFrame(rows),
        "edge_turnover_targets": pd.DataFrame(targets),
        "edge_turnover_law": pd.concat(laws, ignore_index=True),
    }


def turnover_models(seed: int, *, agents: int = TURNOVER_AGENTS, period: int = PERIOD) -> dict[str, Model]:
    """Return one model per network; they share opinions and stubbornness."""
    every = turnover_networks(seed, agents=agents, period=period)
    drawn, stubbornness = agents_drawn(agents, seed)
    hidden = np.empty(agents)
    # Opinions increase with degree: a change in the weights of the agents then changes the limit visibly. With
    # opinions independent of degree the bias would be a matter of chance. A stable sort keeps ties in one order.
    hidden[np.argsort(every["constant"].degrees_at(1), kind="stable")] = np.sort(drawn)
    return {
        # Tuned to the time-averaged degrees of each network: otherwise different speeds would hide different limits.
        name: Model(network, hidden, stubbornness, Linear.tuned(network.aggregate, stubbornness), noise=Gaussian(NOISE))
        for name, network in every.items()
    }


def turnover_networks(
    seed: int, *, agents: int = TURNOVER_AGENTS, period: int = PERIOD
) -> Mapping[str, TemporalNetwork]:
    """Return networks by name: a persistent ring with temporal edges, and one in which all edges fail."""
    ring, edges, own = cycle(agents), barabasi_albert(agents, EDGES, seed=seed), stream(seed, "turnover")
    # Their sum is the relaxation rate and birth/(birth + death) the share of present edges, equal to that of "fast".
    birth, death = (1 - FAILING) * SLOW, FAILING * SLOW
    whole = union(ring, TemporalNetwork.constant(edges))
    return {
        "constant": whole,
        "slow": union(ring, edge_markovian(edges, birth, death, period, seed=own, repeat=True)),
        "fast": union(ring, failing_edges(edges, FAILING, period, seed=own, repeat=True)),
        "rewired": union(ring, rewiring(edges, REWIRED, period, seed=own), period),
        # From the union, because edges of the ring fail with the others.
        "isolated": failing_edges(whole.snapshot(1), ISOLATED, period, seed=own, repeat=True),
    }


def union(persistent: Network, temporal: TemporalNetwork, period: int | None = None) -> TemporalNetwork:
    """Return the union of persistent and temporal edges; a persistent edge replaces temporal ones of the same pair.

    >>> from peerpressure.networks import path
    >>> union(path(4), TemporalNetwork.from_events([(1, 0, 1), (1, 0, 3), (5, 0, 1, 0), (5, 0, 3, 0)]))
    TemporalNetwork(4 agents, 4 pairs, 1 change over 1…5, on average 3.8 edges)
    """
    i, j, weights = persistent.edges()
    # Events set the weight of a pair: a temporal edge on the ring would take the persistent one with it when it ends.
    new = ~np.isin(_pairs(temporal.sources, temporal.targets, persistent.n), _pairs(i, j, persistent.n))
    return TemporalNetwork(
        # Persistent edges appear once, in step 1, and have no event that removes them.
        np.concatenate([np.ones(i.size, np.int64), temporal.event_times[new]]),
        np.concatenate([i, temporal.sources[new]]),
        np.concatenate([j, temporal.targets[new]]),
        np.concatenate([weights, temporal.weights[new]]),
        labels=persistent.labels,
        period=period or temporal.period,
    )


def _pairs(i: NDArray[np.int32], j: NDArray[np.int32], n: int) -> NDArray[np.int64]:
    # In 64 bits, because i·n overflows 32 bits from about 46,000 agents on. Both networks list each pair with i < j.
    return np.asarray(i.astype(np.int64) * n + j)


def _edge_statistics(network: TemporalNetwork, period: int) -> dict[str, Any]:
    return {
        "pairs": network.pair_count,
        "edges": network.mean_edges,
        # Events at step 1 define the initial network and are no changes.
        "changes": float(np.count_nonzero(network.event_times > 1)) / network.span,
        "isolated": float(np.mean([network.degrees_at(t) == 0 for t in range(1, period + 1)])),
    }


def broadcaster(seed: int, steps: int = SHORT_STEPS, *, agents: int = BROADCAST_AGENTS) -> dict[str, pd.DataFrame]:
    """Measure the influence of an agent that is connected to all others during every second dwell time.

    The broadcaster has hidden opinion 1 and all others have 0, so the consensus limit is the broadcaster's share
    in it. All edges are symmetric, and their mean weights do not depend on the dwell time. Yet the shorter the dwell
    time, the larger the share: all agents see the broadcaster's opinion right after steps in which few neighbours
    influenced it. In a constant network with the same mean weights the share is that of v.

    Tables
    ------
    broadcaster_paths
        dwell_time (steps; 0 for the constant network), time, mean, low, high, target: exact mean and 95 % band of the
        consensus mode, and the consensus limit.
    broadcaster_shares
        weight, dwell_time, share, mean, std, consensus_value: the weight of the broadcaster's edges, its share in the
        consensus limit, and exact mean and standard deviation of the consensus mode after the last step. The share in
        a constant network is consensus_value.
    """
    # The constant network is among the paths; in the table of shares it is the column consensus_value.
    paths = [_path(dwell, broadcaster_model(seed, dwell, agents=agents), steps) for dwell in SHOWN_DWELL_TIMES]
    rows = [
        {"weight": weight, "dwell_time": dwell} | _share(broadcaster_model(seed, dwell, weight, agents=agents), steps)
        for weight in WEIGHTS
        for dwell in DWELL_TIMES
    ]
    return {"broadcaster_paths": pd.concat(paths, ignore_index=True), "broadcaster_shares": pd.DataFrame(rows)}


def broadcaster_model(
    seed: int, dwell_time: int, weight: float = WEIGHTS[0], *, agents: int = BROADCAST_AGENTS
) -> Model:
    """Return a small world in which agent 0 is connected to all during every second dwell time.

    A dwell time of 0 stands for the constant network with the same mean weights.
    """
    _, stubbornness = agents_drawn(agents, seed)
    temporal = alternating(watts_strogatz(agents, NEIGHBOURS, REWIRING, seed=seed), weight, max(dwell_time, 1))
    # From the aggregate in both cases: all dwell times have the same pressure.
    pressure = Linear.tuned(temporal.aggregate, stubbornness)
    network = temporal if dwell_time else temporal.aggregate
    # With a unit vector as hidden opinions the consensus limit is the weight of agent 0 in it.
    return Model(network, np.eye(agents)[0], stubbornness, pressure, Gaussian(NOISE))


def alternating(persistent: Network, weight: float, dwell_time: int) -> TemporalNetwork:
    """Return persistent edges and, during every second dwell time, edges of this weight from agent 0 to all others.

    >>> from peerpressure.networks import cycle
    >>> alternating(cycle(5), 1.0, dwell_time=3).degrees_at(6)
    array([6., 3., 3., 3., 3.])
    """
    i, j, weights = persistent.edges()
    others = np.arange(1, persistent.n)
    # An event sets the weight of a pair: on edges of the small world the broadcast adds to the weight that is there.
    broadcast = persistent.adjacency[[0], 1:].toarray()[0] + weight
    return TemporalNetwork(
        # The quiet half comes first. At the end of the period the network starts again without the broadcast.
        np.concatenate([np.ones_like(i), np.full(others.size, dwell_time + 1)]),
        np.concatenate([i, np.zeros_like(others)]),
        np.concatenate([j, others]),
        np.concatenate([weights, broadcast]),
        labels=persistent.labels,
        period=2 * dwell_time,
    )


def _path(dwell_time: int, model: Model, steps: int) -> pd.DataFrame:
    times = log_spaced_times(steps)
    law = moments(model, steps, of=consensus_mode(model), times=times)
    mean, half = law.mean[:, 0], NORMAL_95 * law.std[:, 0]
    # A normal band: the mode is linear in normal noise.
    curve = {"time": times, "mean": mean, "low": mean - half, "high": mean + half}
    return pd.DataFrame({"dwell_time": dwell_time} | curve | {"target": consensus_limit(model).mean})


def _share(model: Model, steps: int) -> dict[str, float]:
    law = moments(model, steps, of=consensus_mode(model))
    return {
        "share": consensus_limit(model).mean,
        "mean": float(law.mean[0, 0]),
        "std": float(law.std[0, 0]),
        "consensus_value": model.consensus_value,
    }


def splitting(seed: int, steps: int = STEPS, *, members: int = MEMBERS) -> dict[str, pd.DataFrame]:
    """Simulate three groups of different opinions whose bridges are present in some steps only.

    Most steps are not connected on their own. In the case "returning" the bridges are absent for two intervals of time;
    in the case "removed" they are absent for good, and the network splits into clusters.

    Tables
    ------
    splitting_paths
        bridges (returning, removed), group, time, mean, low, high, path, group_value, consensus_value: exact mean and
        95 % band of each group's mean, weighted by degree, and one run, each at the last step of a cycle of bridges;
        group_value is v of the isolated group.
    splitting_windows
        bridges, first, last, components: intervals of windows over which the network is not jointly connected, and the
        number of components of their union.
    splitting_summary
        bridges, steps, window, steps_connected, windows_connected, group_spread, group_max_distance: shares of
        connected steps and of jointly connected windows; max − min over the final group means, and their largest
        distance from v, both exact.
    """
    paths, windows, summary = [], [], []
    for name, case in CASES.items():
        network = bridged_network(seed, case.intervals, members=members)
        model = splitting_model(seed, network)
        paths.append(_group_paths(name, model, members, steps, stream(seed, case.stream)))
        windows.append(_disconnected_windows(name, network, steps))
        summary.append(_summary(name, network, paths[-1], steps))
    return {
        "splitting_paths": pd.concat(paths, ignore_index=True),
        "splitting_windows": pd.concat(windows, ignore_index=True),
        "splitting_summary": pd.DataFrame(summary),
    }


def splitting_model(seed: int, network: TemporalNetwork) -> Model:
    """Return groups of increasing opinions on a bridged network."""
    drawn, stubbornness = agents_drawn(network.n, seed)
    pressure = Linear.tuned(network.aggregate, stubbornness)
    # Sorted, because agents are numbered group by group: the groups then differ in their mean opinions.
    return Model(network, np.sort(drawn), stubbornness, pressure, Gaussian(NOISE))


def bridged_network(seed: int, intervals: Sequence[tuple[int, int]], *, members: int = MEMBERS) -> TemporalNetwork:
    """Return persistent groups with bridges between them in every third step of these intervals."""
    inside = [barabasi_albert(members, 2, seed=stream(seed, f"group {g}")).adjacency for g in range(GROUPS)]
    # The groups on their own are disconnected, which ``Network`` rejects by default.
    persistent = Network(sparse.block_diag(inside, format="csr"))
    # Bridges connect the last agents of the groups, which have low degree.
    pairs = [
        ((a + 1) * members - 1 - k, (b + 1) * members - 1 - k)
        for a, b in itertools.combinations(range(GROUPS), 2)
        for k in range(BRIDGES)
    ]
    present = [t for first, last in intervals for t in range(first, last + 1, EVERY)]
    # Each bridge appears at t with weight 1 and disappears at t + 1.
    events = [(t + late, i, j, 1 - late) for t in present for late in (0, 1) for i, j in pairs]
    return union(persistent, TemporalNetwork.from_events(np.array(events), n=persistent.n))


def _group_paths(name: str, model: Model, members: int, steps: int, seed: int) -> pd.DataFrame:
    times = _ends_of_cycles(steps)
    groups = np.repeat(np.arange(GROUPS), members)
    # (groups, agents): each row has the degrees of one group, and the row sum is the group's own consensus mode.
    weights = np.where(groups == np.arange(GROUPS)[:, None], model.network.degrees, 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    law, run = moments(model, steps, of=weights, times=times), simulate(model, steps, seed=seed)
    assert run.states is not None, "states are recorded by default"
    paths, parts = run.states[0, times] @ weights.T, []
    for g in range(GROUPS):
        mean, half, own = law.mean[:, g], NORMAL_95 * law.std[:, g], groups == g
        curve = {"time": times, "mean": mean, "low": mean - half, "high": mean + half, "path": paths[:, g]}
        # v of the group as if it were isolated, which is its limit once the bridges are removed.
        value = float(model.s[own] @ model.x0[own] / model.s[own].sum())
        limits = {"group_value": value, "consensus_value": model.consensus_value}
        parts.append(pd.DataFrame({"bridges": name, "group": g + 1} | curve | limits))
    return pd.concat(parts, ignore_index=True)


def _ends_of_cycles(steps: int) -> NDArray[np.int64]:
    """Return log-spaced multiples of three: the last step of a cycle of bridges, before they are present again.

    Group means jump when bridges appear; times at different phases of the cycle would give curves that zigzag.
    """
    # Bridges are present at t ≡ 1 or 2 (mod 3) in every interval of ``CASES``, hence never at multiples of 3.
    cycles = np.geomspace(1, max(1, steps // EVERY), TIMES)
    return EVERY * np.unique(np.round(cycles).astype(np.int64))


def _disconnected_windows(name: str, network: TemporalNetwork, steps: int) -> pd.DataFrame:
    joint = joint_connectivity(network, WINDOW, steps)
    # Broken intervals join consecutive windows; the number of components is that of the first.
    rows = [(name, first, last, int(joint.components[(first - 1) // WINDOW])) for first, last in joint.broken]
    return pd.DataFrame(rows, columns=["bridges", "first", "last", "components"])


def _summary(name: str, network: TemporalNetwork, paths: pd.DataFrame, steps: int) -> dict[str, float | str]:
    # A window of one step is the network of that step.
    single, joint = (joint_connectivity(network, window, steps).connected.mean() for window in (1, WINDOW))
    ends, v = paths[paths["time"] == paths["time"].max()]["mean"].to_numpy(), float(paths["consensus_value"].iloc[0])
    return {
        "bridges": name,
        "steps": steps,
        "window": WINDOW,
        "steps_connected": float(single),
        "windows_connected": float(joint),
        "group_spread": float(np.ptp(ends)),
        "group_max_distance": float(np.abs(ends - v).max()),
    }
