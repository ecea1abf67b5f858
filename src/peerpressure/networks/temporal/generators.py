"""Networks that change, to order: the models of the literature, each with what is known of it in closed form.

Every generator takes a ``seed`` and returns the same network for the same seed on every machine.  After the last of
its steps the network stays as it is, or begins anew where ``repeat`` is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from peerpressure.networks.generators import barabasi_albert
from peerpressure.networks.network import Network
from peerpressure.networks.parameters import agents, generator, room_for, whole
from peerpressure.networks.refusal import refusal
from peerpressure.networks.temporal.contacts import events_of_meetings
from peerpressure.networks.temporal.draws import activities, mean_activity, others, switches
from peerpressure.networks.temporal.events import Events
from peerpressure.networks.temporal.flicker import AllPairs, EdgesOf, flicker
from peerpressure.networks.temporal.moving import moved_edges
from peerpressure.networks.temporal.network import TemporalNetwork


def failing_edges(
    network: Network, probability: float, steps: int, *, seed: int, repeat: bool = False
) -> TemporalNetwork:
    """Return a network of which each edge is absent with this probability at each step, independently.

    Of E edges, E(1 − p) are there on average, and 2Ep(1 − p) change from one step to the next.

    >>> from peerpressure.networks import cycle
    >>> failing_edges(cycle(100), 0.2, 50, seed=1)
    TemporalNetwork(100 agents, 100 pairs, 1,580 changes over 1…50, on average 79.64 edges)
    """
    p = _chance("probability", probability)
    if p == 1:
        raise refusal("edges must not fail always", got="probability 1", remedy="give a number below 1")
    # To be there or not independently at every step is the chain that forgets at once: birth + death = 1.
    return edge_markovian(_network(network), 1 - p, p, steps, seed=seed, repeat=repeat)


def edge_markovian(
    base: int | Network, birth: float, death: float, steps: int, *, seed: int, repeat: bool = False
) -> TemporalNetwork:
    """Return a network whose pairs meet with probability ``birth`` and part with ``death`` at each step.

    ``base`` is a number of agents, any two of whom may meet, or a network whose edges come and go.  It starts in its
    stationary law: a pair is joined with probability π = birth/(birth + death), stays so for 1/death steps on
    average, and whether it is joined has the correlation (1 − birth − death)^k between t and t + k.  See Clementi
    et al., SIAM J. Discrete Math. 24, 1694 (2010).

    >>> edge_markovian(100, 0.001, 0.1, 50, seed=1)
    TemporalNetwork(100 agents, 286 pairs, 487 changes over 1…50, on average 50.48 edges)
    """
    rng = generator(seed)
    born, dies, length = _chance("birth", birth), _chance("death", death), _steps(steps)
    if born == 0:
        raise refusal("edges must be born", got="birth 0", remedy="give a probability above 0")
    pairs = EdgesOf(base) if isinstance(base, Network) else AllPairs(agents(base))
    number = base.edge_count if isinstance(base, Network) else base * (base - 1) / 2
    room_for(number * born / (born + dies) * (1 + 2 * dies * length))
    labels = base.labels if isinstance(base, Network) else range(base)
    return _made(flicker(pairs, born, dies, length, rng), labels, length, repeat)


def activity_driven(
    n: int,
    steps: int,
    *,
    seed: int,
    contacts: int = 1,
    exponent: float = 2.8,
    floor: float = 0.01,
    repeat: bool = False,
) -> TemporalNetwork:
    """Return a network in which agents of unequal activity seek others anew at each step.

    An agent's activity a has the density ∝ a^(−exponent) on [floor, 1].  At each step it is active with probability
    a, and then meets ``contacts`` others drawn uniformly; all edges end with the step.  The mean degree is
    2·contacts·⟨a⟩, less the few pairs who seek each other.  See Perra et al., Sci. Rep. 2, 469 (2012).

    >>> activity_driven(100, 50, seed=1)
    TemporalNetwork(100 agents, 146 pairs, 294 changes over 1…51, on average 2.882 edges)
    """
    rng = generator(seed)
    length = _steps(steps)
    whole("contacts", contacts, least=1, remedy="an active agent meets somebody")
    if contacts >= agents(n):
        raise refusal(f"contacts must be below n = {n}", got=contacts, remedy="an agent meets distinct others")
    if not 0 <= exponent < np.inf:
        raise refusal("the exponent must not be negative", got=exponent, remedy="the literature has 2 to 3")
    if not 0 < floor < 1:
        raise refusal("the floor must lie between 0 and 1", got=floor, remedy="it is the least activity of all")
    room_for(2 * float(n) * length * contacts * mean_activity(exponent, floor))
    active = activities(exponent, floor, n, rng)
    who, times, _ = switches(np.zeros(n, np.int64), active, active, length, rng)
    met = others(who, n, contacts, rng)
    seeking = np.repeat(who, contacts), met.ravel()
    pairs = np.minimum(*seeking), np.maximum(*seeking)
    meetings = Events(np.repeat(times, contacts), *pairs, np.ones(met.size))
    return _made(events_of_meetings(meetings, weighted=False), range(n), length, repeat)


def rewiring(network: Network, rate: float, steps: int, *, seed: int) -> TemporalNetwork:
    """Return a network of which each edge moves with probability ``rate`` at each step after the first.

    One of its ends, either with probability ½, stays; the other goes to an agent drawn uniformly from those that are
    not yet neighbours.  The number of edges and their weights never change; of E edges, E(1 − rate)^(t − 1) have
    not moved by step t.

    >>> from peerpressure.networks import cycle
    >>> rewiring(cycle(100), 0.01, 50, seed=1)
    TemporalNetwork(100 agents, 143 pairs, 86 changes over 1…50, on average 100 edges)
    """
    rng = generator(seed)
    length, edges = _steps(steps), _network(network).edge_count
    chances = np.full(edges, _chance("rate", rate))
    room_for(edges * (1 + 2 * float(chances[0]) * length))
    who, times, _ = switches(np.ones(edges, np.int64), chances, chances, length, rng)
    order = np.lexsort((who, times))
    start = TemporalNetwork.constant(network).events
    events = Events.joined([start, moved_edges(network, who[order], times[order], rng)])
    return _made(events, network.labels, length, repeat=False)


def growing(n: int, m: int, steps: int, *, seed: int) -> TemporalNetwork:
    """Return a network that agents join one by one, evenly over the steps, by preferential attachment.

    It starts as a star of m + 1 agents and ends as ``barabasi_albert(n, m, seed=seed)``; when k have joined there are
    m(k − m) edges.  Before an agent joins it has no neighbour.

    >>> growing(100, 2, 50, seed=1)
    TemporalNetwork(100 agents, 196 pairs, 194 changes over 1…50, on average 98.04 edges)
    """
    length = _steps(steps)
    final = barabasi_albert(n, m, seed=seed)
    newcomers = n - m - 1
    if newcomers and length == 1:
        raise refusal("agents need time to join", got=f"1 step for {newcomers}", remedy="ask for 2 steps or more")
    i, j, weights = final.edges()
    # Newcomers attach to earlier agents only, so an edge is as old as the later of its ends.
    rank = np.maximum(j.astype(np.int64) - m, 0)
    times = 1 + -(-rank * (length - 1) // max(newcomers, 1))
    order = np.argsort(times, kind="stable")
    return _made(Events(times, i, j, weights).taken(order), range(n), length, repeat=False)


def _made(events: Events, labels: Any, steps: int, repeat: bool) -> TemporalNetwork:
    period = steps if repeat else None
    return TemporalNetwork(*events.within(period), labels=labels, period=period)


def _steps(steps: Any) -> int:
    return whole("steps", steps, least=1, remedy="ask for one step or more")


def _chance(name: str, p: Any) -> float:
    if isinstance(p, bool) or not isinstance(p, int | float | np.number) or not 0 <= p <= 1:
        raise refusal(f"{name} must be a probability", got=repr(p), remedy="give a number from 0 to 1")
    return float(p)


def _network(network: Any) -> Network:
    if not isinstance(network, Network):
        remedy = "for instance watts_strogatz(100, 4, 0.1, seed=1)"
        raise refusal("the edges must be those of a Network", got=type(network).__name__, remedy=remedy)
    return network


TEMPORAL: Mapping[str, Callable[..., TemporalNetwork]] = MappingProxyType(
    {
        "failing_edges": failing_edges,
        "edge_markovian": edge_markovian,
        "activity_driven": activity_driven,
        "rewiring": rewiring,
        "growing": growing,
    }
)
