"""Generators of temporal networks: the models of the literature, each with its known closed forms.

Every generator takes a ``seed`` and returns the same network for the same seed on every machine. After the last of its
steps the network stays constant, or starts again where ``repeat`` is set. A new generator is one function and one entry
in `TEMPORAL` (it starts from a number of agents) or in `DYNAMICS` (it changes a given network).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import NetworkError
from peerpressure.networks._contacts import events_of_meetings
from peerpressure.networks._events import Events, Positions
from peerpressure.networks._generators import GENERATORS, barabasi_albert, random_pairs
from peerpressure.networks._network import Network
from peerpressure.networks._temporal import TemporalNetwork
from peerpressure.networks._validation import generator, refusal, room_for, whole
from peerpressure.parameters import Parameter


@final
@dataclass(frozen=True)
class TemporalGenerator:
    """Declaration of a generator of temporal networks.

    Parameters
    ----------
    build : callable
        Function of a number of agents or of a network, of the declared parameters, and of ``steps`` and ``seed``.
    title : str
        Name for a label; the description is the first line of the function's docstring.
    events : callable
        Estimate of the number of edge events from the number of steps, the parameters and, in `DYNAMICS`, the number of
        ``edges``.
    parameters : tuple of Parameter
        Declared arguments of the function, other than the network, ``steps``, ``seed`` and ``repeat``.
    pairs : callable, optional
        Number of pairs that may meet, from the parameters.
    short : str, optional
        Abbreviation for the command line.
    """

    build: Callable[..., TemporalNetwork]
    title: str
    events: Callable[..., float]
    parameters: tuple[Parameter, ...]
    pairs: Callable[..., float] = lambda **_: 0.0
    short: str = ""

    def check(self, steps: int, **values: Any) -> None:
        """Raise unless each value is in its legal range and the events fit into memory."""
        for one in self.parameters:
            if one.name in values:
                one.check(values[one.name], NetworkError)
        whole("steps", steps, least=1, remedy="ask for one step or more")
        room_for(self.events(steps=steps, **values))


# Random draws for all agents or edges at once.


class Switches(NamedTuple):
    """Items that switch, the steps at which they do, and whether it is their first, third, … switch (``odd``)."""

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
    """Return all switches up to the last step of items whose waiting times are geometric, alternating in two rates.

    Item k waits from ``times[k]`` with the probability ``odd[k]`` per step, then with ``even[k]``, and so on in turn.
    The work is proportional to the number of switches, not of steps.
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
    """Return geometric waiting times conditioned on ending within ``steps``."""
    if chance == 1:
        return np.ones(count, np.int64)
    # The inverse of P(wait ≤ k | wait ≤ steps) = (1 − (1−p)^k) / (1 − (1−p)^steps), exact for small p too.
    rate = np.log1p(-chance)
    waits = np.ceil(np.log1p(rng.random(count) * np.expm1(steps * rate)) / rate).astype(np.int64)
    return np.asarray(np.clip(waits, 1, steps))


def others(who: NDArray[np.int64], n: int, m: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return m distinct agents other than itself for each agent in ``who``, uniformly, shape (agents, m).

    This is Floyd's sampling without replacement (Bentley and Floyd, Comm. ACM 30, 754, 1987), for all rows at once.
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
    """Return the mean of the density ∝ a^(−exponent) on [floor, 1].

    >>> round(mean_activity(0, 0.5), 9)
    0.75
    """
    return floor * _integral(1 - exponent, 1 / floor) / _integral(-exponent, 1 / floor)


def _integral(power: float, top: float) -> float:
    """Return the integral of x^power from 1 to the top."""
    return float(np.log(top)) if power == -1 else float(np.expm1((power + 1) * np.log(top))) / (power + 1)


# Edge-Markovian networks: a two-state Markov chain for every pair.

Ids = NDArray[np.int64]


class EdgesOf(NamedTuple):
    """Pairs that may meet: the edges of a network, numbered as in ``network.edges()``."""

    network: Network

    def chosen(self, chance: float, rng: np.random.Generator) -> Ids:
        """Return each pair with probability ``chance``, independently."""
        return np.flatnonzero(rng.random(self.network.edge_count) < chance)

    def meeting(self, ids: Ids) -> tuple[Positions, Positions, NDArray[np.float64]]:
        """Return the two ends of these pairs, and the weight of their edge."""
        i, j, weights = self.network.edges()
        return i[ids], j[ids], weights[ids]


class AllPairs(NamedTuple):
    """Pairs that may meet: all pairs of n agents, as codes i·n + j with i < j, which are never listed."""

    n: int

    def chosen(self, chance: float, rng: np.random.Generator) -> Ids:
        """Return each pair with probability ``chance``, independently."""
        larger, smaller = random_pairs(self.n, chance, rng)
        return smaller * self.n + larger

    def meeting(self, ids: Ids) -> tuple[Positions, Positions, NDArray[np.float64]]:
        """Return the two ends of these pairs, and the weight of their edge."""
        return ids // self.n, ids % self.n, np.ones(ids.size)


def flicker(pairs: EdgesOf | AllPairs, birth: float, death: float, steps: int, rng: np.random.Generator) -> Events:
    """Return the events of pairs that are joined and separated with these probabilities, from the stationary law on.

    Only pairs that ever meet are drawn: those joined at the start, and of the others those whose first birth is within
    the steps.
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


# Rewiring: one end of an edge stays, the other moves to a new neighbour.

BLOCK = 4096  # random numbers drawn at a time


def moved_edges(
    network: Network, edges: NDArray[np.int64], times: NDArray[np.int64], rng: np.random.Generator
) -> Events:
    """Return the events of edges, numbered as in ``network.edges()``, that move one after the other at these times.

    Either end stays with probability ½, and the other goes to an agent drawn uniformly from those that are not yet
    neighbours of the one that stays; an edge of an agent who has all others as neighbours does not move.
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
    # Each move ends one edge and starts another; where a pair has several events in one step, the last one counts.
    codes = np.stack([old, new], axis=1).ravel()
    values = np.stack([np.zeros(times.size), weights[edges]], axis=1).ravel()
    events = Events(np.repeat(times, 2), codes // n, codes % n, values)
    order = np.lexsort((events.times, codes))
    last = np.ones(order.size, dtype=bool)
    last[:-1] = (np.diff(codes[order]) != 0) | (np.diff(events.times[order]) != 0)
    kept = events.taken(order[last])
    return kept.taken(np.argsort(kept.times, kind="stable"))


# The generators.


def failing_edges(
    network: Network, probability: float, steps: int, *, seed: int, repeat: bool = False
) -> TemporalNetwork:
    """Each edge is absent with a given probability at each step, independently.

    Of E edges, E(1 − p) are present on average, and 2Ep(1 − p) change from one step to the next.

    Parameters
    ----------
    network : Network
        Network whose edges fail.
    probability : float
        Probability p of a failure, below 1.
    steps : int
        Number of steps.
    seed : int
        Seed of the random numbers.
    repeat : bool, default False
        Whether the network starts again after these steps.

    Returns
    -------
    TemporalNetwork
        The network with its failures.

    Raises
    ------
    NetworkError
        If a parameter is not legal.

    Examples
    --------
    >>> from peerpressure.networks import cycle
    >>> failing_edges(cycle(100), 0.2, 50, seed=1)
    TemporalNetwork(100 agents, 100 pairs, 1,580 changes over 1…50, on average 79.64 edges)
    """
    DYNAMICS["failing_edges"].check(steps, edges=_network(network).edge_count, probability=probability)
    # Independence between steps is the Markov chain with birth + death = 1.
    p = float(probability)
    return edge_markovian(network, 1 - p, p, steps, seed=seed, repeat=repeat)


def edge_markovian(
    base: int | Network, birth: float, death: float, steps: int, *, seed: int, repeat: bool = False
) -> TemporalNetwork:
    """Each pair is joined with probability ``birth`` and separated with probability ``death`` at each step.

    The chain starts in its stationary law: a pair is joined with probability π = birth/(birth + death), stays joined
    for 1/death steps on average, and its state has the autocorrelation (1 − birth − death)^k at lag k.

    Parameters
    ----------
    base : int or Network
        Number of agents, any two of whom may meet, or a network whose edges come and go.
    birth : float
        Probability that an absent edge appears, above 0.
    death : float
        Probability that a present edge disappears.
    steps : int
        Number of steps.
    seed : int
        Seed of the random numbers.
    repeat : bool, default False
        Whether the network starts again after these steps.

    Returns
    -------
    TemporalNetwork
        The network as its edges come and go.

    Raises
    ------
    NetworkError
        If a parameter is not legal.

    References
    ----------
    .. [1] Clementi et al. (2010), Flooding time of edge-Markovian evolving graphs, SIAM J. Discrete Math. 24, 1694.

    Examples
    --------
    >>> edge_markovian(100, 0.001, 0.1, 50, seed=1)
    TemporalNetwork(100 agents, 286 pairs, 487 changes over 1…50, on average 50.48 edges)
    """
    rates = {"birth": birth, "death": death}
    rng = generator(seed)
    if isinstance(base, Network):
        DYNAMICS["edge_markovian"].check(steps, edges=base.edge_count, **rates)
        pairs: EdgesOf | AllPairs = EdgesOf(base)
    else:
        TEMPORAL["edge_markovian"].check(steps, n=base, **rates)
        pairs = AllPairs(base)
    labels = base.labels if isinstance(base, Network) else range(base)
    return _made(flicker(pairs, float(birth), float(death), steps, rng), labels, steps, repeat)


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
    """Agents of unequal activity choose new neighbours at each step.

    An agent's activity a has the density ∝ a^(−exponent) on [floor, 1]. At each step it is active with probability a,
    and then meets ``contacts`` others drawn uniformly; all edges end with the step. The mean degree is 2·contacts·⟨a⟩,
    less the few pairs who choose each other.

    Parameters
    ----------
    n : int
        Number of agents.
    steps : int
        Number of steps.
    seed : int
        Seed of the random numbers.
    contacts : int, default 1
        Number of others whom an active agent meets, below n.
    exponent : float, default 2.8
        Exponent of the distribution of activities, at least 0.
    floor : float, default 0.01
        Smallest activity, between 0 and 1.
    repeat : bool, default False
        Whether the network starts again after these steps.

    Returns
    -------
    TemporalNetwork
        The contacts, one step long each.

    Raises
    ------
    NetworkError
        If a parameter is not legal.

    References
    ----------
    .. [1] Perra et al. (2012), Activity driven modeling of time varying networks, Sci. Rep. 2, 469.

    Examples
    --------
    >>> activity_driven(100, 50, seed=1)
    TemporalNetwork(100 agents, 146 pairs, 294 changes over 1…51, on average 2.882 edges)
    """
    rng = generator(seed)
    TEMPORAL["activity_driven"].check(steps, n=n, contacts=contacts, exponent=exponent, floor=floor)
    if contacts >= n:
        raise refusal(f"contacts must be below n = {n}", got=contacts, remedy="an agent meets distinct others")
    active = activities(exponent, floor, n, rng)
    who, times, _ = switches(np.zeros(n, np.int64), active, active, steps, rng)
    met = others(who, n, contacts, rng)
    seeking = np.repeat(who, contacts), met.ravel()
    pairs = np.minimum(*seeking), np.maximum(*seeking)
    meetings = Events(np.repeat(times, contacts), *pairs, np.ones(met.size))
    return _made(events_of_meetings(meetings, weighted=False), range(n), steps, repeat)


def rewiring(network: Network, rate: float, steps: int, *, seed: int) -> TemporalNetwork:
    """Each edge moves with a given probability at each step: one of its ends goes to a new neighbour.

    Either end stays with probability ½; the other goes to an agent drawn uniformly from those that are not yet
    neighbours. The number of edges and their weights do not change; of E edges, E(1 − rate)^(t − 1) have not moved by
    step t.

    Parameters
    ----------
    network : Network
        Network at the first step.
    rate : float
        Probability that an edge moves.
    steps : int
        Number of steps.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    TemporalNetwork
        The network as its edges move.

    Raises
    ------
    NetworkError
        If a parameter is not legal.

    Examples
    --------
    >>> from peerpressure.networks import cycle
    >>> rewiring(cycle(100), 0.01, 50, seed=1)
    TemporalNetwork(100 agents, 143 pairs, 86 changes over 1…50, on average 100 edges)
    """
    rng = generator(seed)
    edges = _network(network).edge_count
    DYNAMICS["rewiring"].check(steps, edges=edges, rate=rate)
    chances = np.full(edges, float(rate))
    who, times, _ = switches(np.ones(edges, np.int64), chances, chances, steps, rng)
    order = np.lexsort((who, times))
    start = TemporalNetwork.constant(network).events
    events = Events.joined([start, moved_edges(network, who[order], times[order], rng)])
    return _made(events, network.labels, steps, repeat=False)


def growing(n: int, m: int, steps: int, *, seed: int) -> TemporalNetwork:
    """Agents join one by one, evenly over the steps, by preferential attachment.

    The network starts as a star of m + 1 agents and ends as ``barabasi_albert(n, m, seed=seed)``; when k agents have
    joined there are m(k − m) edges. Before an agent joins it has no neighbour.

    Parameters
    ----------
    n : int
        Number of agents in the end.
    m : int
        Number of edges that each new agent brings, below n.
    steps : int
        Number of steps, at least 2 unless all agents are there at the start.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    TemporalNetwork
        The network as it grows.

    Raises
    ------
    NetworkError
        If a parameter is not legal.

    See Also
    --------
    barabasi_albert : The network in the end.

    Examples
    --------
    >>> growing(100, 2, 50, seed=1)
    TemporalNetwork(100 agents, 196 pairs, 194 changes over 1…50, on average 98.04 edges)
    """
    TEMPORAL["growing"].check(steps, n=n, m=m)
    final = barabasi_albert(n, m, seed=seed)
    newcomers = n - m - 1
    if newcomers and steps == 1:
        raise refusal("agents need time to join", got=f"1 step for {newcomers}", remedy="ask for 2 steps or more")
    i, j, weights = final.edges()
    # New agents attach to earlier ones only, so an edge is as old as the later of its ends.
    rank = np.maximum(j.astype(np.int64) - m, 0)
    times = 1 + -(-rank * (steps - 1) // max(newcomers, 1))
    order = np.argsort(times, kind="stable")
    return _made(Events(times, i, j, weights).taken(order), range(n), steps, repeat=False)


def _made(events: Events, labels: Any, steps: int, repeat: bool) -> TemporalNetwork:
    period = steps if repeat else None
    return TemporalNetwork(*events.within(period), labels=labels, period=period)


def _network(network: Any) -> Network:
    if not isinstance(network, Network):
        remedy = "for instance watts_strogatz(100, 4, 0.1, seed=1)"
        raise refusal("the edges must be those of a Network", got=type(network).__name__, remedy=remedy)
    return network


def _chain_events(edges: float, steps: int, birth: float, death: float) -> float:
    """Return the expected events of a stationary chain: the edges at the start, and two for each death."""
    return edges * birth / (birth + death) * (1 + 2 * death * steps)


_AGENTS, _ATTACHED = GENERATORS["barabasi_albert"].parameters
_BIRTH = Parameter("birth", "probability", "birth", "of an absent edge to appear", above=0)
_DEATH = Parameter("death", "probability", "death", "of a present edge to disappear")

DYNAMICS: Mapping[str, TemporalGenerator] = MappingProxyType(
    {
        "failing_edges": TemporalGenerator(
            failing_edges,
            "Failing edges",
            lambda edges, steps, probability: _chain_events(edges, steps, 1 - probability, probability),
            (Parameter("probability", "probability", "probability", "of an edge to be absent", below=1),),
            short="failing",
        ),
        "edge_markovian": TemporalGenerator(
            edge_markovian, "Edge-Markovian", _chain_events, (_BIRTH, _DEATH), short="markov"
        ),
        "rewiring": TemporalGenerator(
            rewiring,
            "Rewiring",
            lambda edges, steps, rate: edges * (1 + 2 * rate * steps),
            (Parameter("rate", "probability", "rate", "of an edge to move in a step"),),
        ),
    }
)
TEMPORAL: Mapping[str, TemporalGenerator] = MappingProxyType(
    {
        "activity_driven": TemporalGenerator(
            activity_driven,
            "Activity-driven",
            lambda steps, n, contacts, exponent, floor: (
                2.0 * n * steps * contacts * mean_activity(exponent, floor)
            ),
            (
                _AGENTS,
                Parameter(
                    "contacts",
                    "whole",
                    "contacts",
                    "others whom an active agent meets",
                    at_least=1,
                    remedy="an active agent meets somebody",
                ),
                Parameter(
                    "exponent",
                    "real",
                    "exponent",
                    "of the distribution of activities",
                    at_least=0,
                    remedy="the literature has 2 to 3",
                ),
                Parameter(
                    "floor",
                    "real",
                    "floor",
                    "smallest activity",
                    above=0,
                    below=1,
                    remedy="choose a number between 0 and 1",
                ),
            ),
        ),
        "edge_markovian": TemporalGenerator(
            edge_markovian,
            "Edge-Markovian",
            lambda steps, n, birth, death: _chain_events(n * (n - 1) / 2, steps, birth, death),
            (_AGENTS, _BIRTH, _DEATH),
            pairs=lambda n, **_: n * (n - 1) / 2,
        ),
        "growing": TemporalGenerator(
            growing, "Growing", lambda steps, n, m: m * (n - m), (_AGENTS, _ATTACHED)
        ),
    }
)
