"""The random choices behind networks that change, drawn for all agents or edges at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peerpressure.networks._contacts import one_step_events
from peerpressure.networks._events import Events, Positions
from peerpressure.networks._generators import barabasi_albert, random_pairs
from peerpressure.networks._network import Network
from peerpressure.networks._temporal import TemporalNetwork
from peerpressure.networks._validation import (
    check_agents,
    check_integer,
    check_memory,
    check_probability,
    network_error,
    random_generator,
)


class Switches(NamedTuple):
    """What happened to whom at which step; ``odd`` tells every second time from the others."""

    who: NDArray[np.int64]
    times: NDArray[np.int64]
    odd: NDArray[np.bool_]


def switches(
    times: NDArray[np.int64],
    even: NDArray[np.float64],
    odd: NDArray[np.float64],
    steps: int,
    rng: np.random.Generator,
) -> Switches:
    """Return all that happens up to the last step to things that each wait geometric times, in turn of two kinds.

    Thing k first waits from ``times[k]`` with the chance ``odd[k]`` at each step, then with ``even[k]``, and so on
    in turn.  The work is that of what happens, not that of the steps.
    """
    who = np.flatnonzero(odd > 0)
    now = times[who]
    chances = (even, odd)
    found = [Switches(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, bool))]
    turn = 1
    while who.size:
        chance = chances[turn % 2][who]
        going = chance > 0
        who, now, chance = who[going], now[going], chance[going]
        # No wait beyond the last step matters, and cutting it there keeps the sum within 64 bits.
        now = now + np.minimum(rng.geometric(chance), steps)
        inside = now <= steps
        who, now = who[inside], now[inside]
        found.append(Switches(who, now, np.full(who.size, turn % 2 == 1)))
        turn += 1
    return Switches(*(np.concatenate([part[k] for part in found]) for k in range(3)))


def first_birth(chance: float, steps: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return geometric waiting times that are known to end within so many steps."""
    if chance == 1:
        return np.ones(count, np.int64)
    # The inverse of P(wait ≤ k | wait ≤ steps) = (1 − (1−p)^k) / (1 − (1−p)^steps), exact for small p too.
    rate = np.log1p(-chance)
    waits = np.ceil(np.log1p(rng.random(count) * np.expm1(steps * rate)) / rate).astype(np.int64)
    return np.asarray(np.clip(waits, 1, steps))


def others(who: NDArray[np.int64], n: int, m: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return m distinct agents other than itself for each of these, uniformly, shape (agents, m).

    Floyd's way to sample without repeats (Bentley and Floyd, Comm. ACM 30, 754, 1987), for all rows at once.
    """
    chosen = np.empty((who.size, m), np.int64)
    for k, top in enumerate(range(n - 1 - m, n - 1)):
        drawn = rng.integers(top + 1, size=who.size)
        repeat = (chosen[:, :k] == drawn[:, None]).any(axis=1)
        chosen[:, k] = np.where(repeat, top, drawn)
    # The numbers 0…n−2 become the agents other than the chooser.
    return chosen + (chosen >= who[:, None])


def activities(exponent: float, floor: float, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return draws from the density ∝ a^(−exponent) on [floor, 1]."""
    u = rng.random(count)
    if exponent == 1:
        return np.asarray(floor ** (1 - u))
    ratios = (1 + u * np.expm1((exponent - 1) * np.log(floor))) ** (1 / (1 - exponent))
    return np.asarray(np.minimum(floor * ratios, 1))


def mean_activity(exponent: float, floor: float) -> float:
    """Return the mean of that law.

    >>> round(mean_activity(0, 0.5), 9)
    0.75
    """
    return floor * _integral(1 - exponent, 1 / floor) / _integral(-exponent, 1 / floor)


def _integral(power: float, top: float) -> float:
    """Return the integral of x^power from 1 to the top."""
    return float(np.log(top)) if power == -1 else float(np.expm1((power + 1) * np.log(top))) / (power + 1)


# Edges that come and go on their own: a two-state Markov chain for every pair.

Ids = NDArray[np.int64]


class EdgesOf(NamedTuple):
    """The edges of a network as the pairs that may meet, counted as in ``network.edges()``."""

    network: Network

    def chosen(self, chance: float, rng: np.random.Generator) -> Ids:
        """Return each pair with this chance, independently."""
        return np.flatnonzero(rng.random(self.network.edge_count) < chance)

    def meeting(self, ids: Ids) -> tuple[Positions, Positions, NDArray[np.float64]]:
        """Return the two ends of these pairs, and the weight that they have when they meet."""
        i, j, weights = self.network.edges()
        return i[ids], j[ids], weights[ids]


class AllPairs(NamedTuple):
    """All pairs of n agents, by the code i·n + j with i < j; no list of them is ever made."""

    n: int

    def chosen(self, chance: float, rng: np.random.Generator) -> Ids:
        """Return each pair with this chance, independently."""
        larger, smaller = random_pairs(self.n, chance, rng)
        return smaller * self.n + larger

    def meeting(self, ids: Ids) -> tuple[Positions, Positions, NDArray[np.float64]]:
        """Return the two ends of these pairs, and the weight that they have when they meet."""
        return ids // self.n, ids % self.n, np.ones(ids.size)


def flicker(pairs: EdgesOf | AllPairs, birth: float, death: float, steps: int, rng: np.random.Generator) -> Events:
    """Return the events of pairs that meet and part with these chances at each step, from the stationary law on.

    Only pairs that ever meet are drawn: those joined at the start, and of the others those whose first birth comes
    in time.
    """
    early = pairs.chosen(birth / (birth + death), rng)
    in_time = -np.expm1((steps - 1) * np.log1p(-birth)) if birth < 1 else float(steps > 1)
    late = pairs.chosen(in_time, rng)
    late = late[~np.isin(late, early)]
    births = 1 + first_birth(birth, steps - 1, late.size, rng)
    ids = np.concatenate([early, late])
    starts = np.concatenate([np.ones(early.size, np.int64), births])
    later = switches(starts, np.full(ids.size, birth), np.full(ids.size, death), steps, rng)
    i, j, weights = pairs.meeting(ids)
    begun = Events(starts, i, j, weights)
    changed = Events(later.times, i[later.who], j[later.who], np.where(later.odd, 0, weights[later.who]))
    events = Events.joined([begun, changed])
    return events.taken(np.argsort(events.times, kind="stable"))


# Edges that move: one end stays, the other goes to somebody new.

BLOCK = 4096  # random numbers drawn at a time


def moved_edges(
    network: Network, edges: NDArray[np.int64], times: NDArray[np.int64], rng: np.random.Generator
) -> Events:
    """Return the events of edges, counted as in ``network.edges()``, that move one after the other at these times.

    Either end stays with probability ½, and the other goes to an agent drawn uniformly from those that are not yet
    neighbours of the one that stays; an edge of an agent who has all the others for neighbours stays where it is.
    """
    n = network.n
    i, j, weights = network.edges()
    ends: list[list[int]] = np.stack([i, j], axis=1).tolist()
    present = {a * n + b for a, b in ends}
    degrees: list[int] = np.diff(network.adjacency.indptr).tolist()
    draws = _endless(n, rng)
    moves: list[tuple[int, int, int, int]] = []
    sides: list[int] = rng.integers(2, size=edges.size).tolist()
    for time, edge, side in zip(times.tolist(), edges.tolist(), sides, strict=True):
        stays, goes = ends[edge][side], ends[edge][1 - side]
        if degrees[stays] == n - 1:
            continue
        comes = next(k for k in draws if k != stays and _code(stays, k, n) not in present)
        old, new = _code(stays, goes, n), _code(stays, comes, n)
        present.remove(old)
        present.add(new)
        degrees[goes] -= 1
        degrees[comes] += 1
        ends[edge][1 - side] = comes
        moves.append((time, edge, old, new))
    return _events(np.array(moves, dtype=np.int64).reshape(-1, 4), weights, n)


def _code(a: int, b: int, n: int) -> int:
    return a * n + b if a < b else b * n + a


def _endless(n: int, rng: np.random.Generator) -> Iterator[int]:
    while True:
        yield from rng.integers(n, size=BLOCK).tolist()


def _events(moves: NDArray[np.int64], weights: NDArray[np.float64], n: int) -> Events:
    times, edges, old, new = moves.T
    # Of each move first the end and then the beginning; where a pair has several in one step, the last one holds.
    codes = np.stack([old, new], axis=1).ravel()
    values = np.stack([np.zeros(times.size), weights[edges]], axis=1).ravel()
    events = Events(np.repeat(times, 2), codes // n, codes % n, values)
    order = np.lexsort((events.times, codes))
    last = np.ones(order.size, dtype=bool)
    last[:-1] = (np.diff(codes[order]) != 0) | (np.diff(events.times[order]) != 0)
    kept = events.taken(order[last])
    return kept.taken(np.argsort(kept.times, kind="stable"))


# Networks that change, to order: the models of the literature, each with what is known of it in closed form.
#
# Every generator takes a ``seed`` and returns the same network for the same seed on every machine.  After the last of
# its steps the network stays as it is, or begins anew where ``repeat`` is asked for.


def failing_edges(
    network: Network, probability: float, steps: int, *, seed: int, repeat: bool = False
) -> TemporalNetwork:
    """Return a network of which each edge is absent with this probability at each step, independently.

    Of E edges, E(1 − p) are there on average, and 2Ep(1 − p) change from one step to the next.

    >>> from peerpressure.networks import cycle
    >>> failing_edges(cycle(100), 0.2, 50, seed=1)
    TemporalNetwork(100 agents, 100 pairs, 1,580 changes over 1…50, on average 79.64 edges)
    """
    p = check_probability("probability", probability)
    if p == 1:
        raise network_error("edges must not fail always", got="probability 1", remedy="give a number below 1")
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
    rng = random_generator(seed)
    born, dies, length = check_probability("birth", birth), check_probability("death", death), _steps(steps)
    if born == 0:
        raise network_error("edges must be born", got="birth 0", remedy="give a probability above 0")
    pairs = EdgesOf(base) if isinstance(base, Network) else AllPairs(check_agents(base))
    number = base.edge_count if isinstance(base, Network) else base * (base - 1) / 2
    check_memory(number * born / (born + dies) * (1 + 2 * dies * length))
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
    rng = random_generator(seed)
    length = _steps(steps)
    check_integer("contacts", contacts, least=1, remedy="an active agent meets somebody")
    if contacts >= check_agents(n):
        raise network_error(f"contacts must be below n = {n}", got=contacts, remedy="an agent meets distinct others")
    if not 0 <= exponent < np.inf:
        raise network_error("the exponent must not be negative", got=exponent, remedy="the literature has 2 to 3")
    if not 0 < floor < 1:
        raise network_error("the floor must lie between 0 and 1", got=floor, remedy="it is the least activity of all")
    check_memory(2 * float(n) * length * contacts * mean_activity(exponent, floor))
    active = activities(exponent, floor, n, rng)
    who, times, _ = switches(np.zeros(n, np.int64), active, active, length, rng)
    met = others(who, n, contacts, rng)
    seeking = np.repeat(who, contacts), met.ravel()
    pairs = np.minimum(*seeking), np.maximum(*seeking)
    meetings = Events(np.repeat(times, contacts), *pairs, np.ones(met.size))
    return _made(one_step_events(meetings, weighted=False), range(n), length, repeat)


def rewiring(network: Network, rate: float, steps: int, *, seed: int) -> TemporalNetwork:
    """Return a network of which each edge moves with probability ``rate`` at each step after the first.

    One of its ends, either with probability ½, stays; the other goes to an agent drawn uniformly from those that are
    not yet neighbours.  The number of edges and their weights never change; of E edges, E(1 − rate)^(t − 1) have
    not moved by step t.

    >>> from peerpressure.networks import cycle
    >>> rewiring(cycle(100), 0.01, 50, seed=1)
    TemporalNetwork(100 agents, 143 pairs, 86 changes over 1…50, on average 100 edges)
    """
    rng = random_generator(seed)
    length, edges = _steps(steps), _network(network).edge_count
    chances = np.full(edges, check_probability("rate", rate))
    check_memory(edges * (1 + 2 * float(chances[0]) * length))
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
        raise network_error("agents need time to join", got=f"1 step for {newcomers}", remedy="ask for 2 steps or more")
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
    return check_integer("steps", steps, least=1, remedy="ask for one step or more")


def _network(network: Any) -> Network:
    if not isinstance(network, Network):
        remedy = "for instance watts_strogatz(100, 4, 0.1, seed=1)"
        raise network_error("the edges must be those of a Network", got=type(network).__name__, remedy=remedy)
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
