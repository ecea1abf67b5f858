"""Generators of temporal networks, each with its known expectations in closed form.

Every generator has a ``seed``; the same seed gives the same network on every machine.  After the last generated step
the network stays as it is, or starts again if ``repeat`` is True. A random one carries its law, because the steps that
are generated are a record of a process that goes on. A new generator is one function and one entry in
`TEMPORAL`, where it starts from a number of agents, or in `DYNAMICS`, where it changes a given network.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import NetworkError
from peerpressure.networks._events import Events, one_step_events
from peerpressure.networks._generators import GENERATORS, barabasi_albert
from peerpressure.networks._network import Network, check_undirected
from peerpressure.networks._network_process import NetworkProcess
from peerpressure.networks._sampling import (
    AllPairs,
    EdgesOf,
    activities,
    distinct_others,
    markovian_events,
    mean_activity,
    rewiring_events,
    switches,
)
from peerpressure.networks._temporal import TemporalNetwork
from peerpressure.networks.validation import Generator, random_generator
from peerpressure.support.parameters import Parameter, Slider
from peerpressure.support.seeds import Seed


def failing_edges(
    network: Network, probability: float, steps: int, *, seed: Seed = 0, repeat: bool = False
) -> TemporalNetwork:
    """Return a network in which each edge is absent with a given probability at each step, independently [1]_.

    Of E edges, E(1 − p) are present on average, and 2Ep(1 − p) change from one step to the next.

    Parameters
    ----------
    network : Network
        The edges when none fails.
    probability : float
        Probability p that an edge is absent, 0 ≤ p < 1.
    steps : int
        Number of steps that are generated, at least 1.
    seed : int, numpy.random.Generator or None, default 0
        Seed of the random numbers, or a generator from which one is drawn; None counts as 0.
    repeat : bool, default False
        Whether the sequence repeats after the last step; otherwise the network stays as it is.

    Returns
    -------
    TemporalNetwork
        The network, with the labels and weights of ``network``.

    Raises
    ------
    NetworkError
        If a parameter is out of range.

    See Also
    --------
    edge_markovian : Failures that last for several steps.

    References
    ----------
    .. [1] Hatano & Mesbahi (2005), Agreement over random networks, IEEE Trans. Autom. Control 50, 1867.

    Examples
    --------
    >>> from peerpressure.networks import cycle, failing_edges
    >>> failing_edges(cycle(100), 0.2, 50, seed=1)
    TemporalNetwork(100 agents, 100 pairs, 1,580 changes over 1…50, on average 79.64 edges)
    """
    DYNAMICS["failing_edges"].check(steps=steps, edges=_check_network(network).edge_count, probability=probability)
    p = float(probability)
    # Independence from step to step is the Markov chain without memory: birth + death = 1.
    return _edge_chains(network, 1 - p, p, steps, seed=seed, repeat=repeat, name="failing_edges")


def edge_markovian(
    base: int | Network, birth: float, death: float, steps: int, *, seed: Seed = 0, repeat: bool = False
) -> TemporalNetwork:
    """Return an edge-Markovian network: each pair is a two-state Markov chain [1]_.

    At each step an absent edge appears with probability ``birth``, and a present edge disappears with probability
    ``death``.  The chain starts in its stationary distribution: an edge is present with probability
    π = birth/(birth + death), lasts for 1/death steps on average, and its presence has the autocorrelation
    (1 − birth − death)^k at lag k.

    Parameters
    ----------
    base : int or Network
        Number of agents, at least 2, any two of whom may be linked, or a network whose edges appear and disappear.
    birth, death : float
        Probabilities per step, from 0 to 1; birth must be above 0.
    steps : int
        Number of steps that are generated, at least 1.
    seed : int, numpy.random.Generator or None, default 0
        Seed of the random numbers, or a generator from which one is drawn; None counts as 0.
    repeat : bool, default False
        Whether the sequence repeats after the last step; otherwise the network stays as it is.

    Returns
    -------
    TemporalNetwork
        The network, with the labels and weights of ``base`` if that is a network.

    Raises
    ------
    NetworkError
        If a parameter is out of range.
    TooLargeError
        If the expected number of events does not fit into memory.

    See Also
    --------
    failing_edges : The special case birth + death = 1, without memory.

    References
    ----------
    .. [1] Clementi et al. (2010), Flooding time of edge-Markovian evolving graphs, SIAM J. Discrete Math. 24, 1694.

    Examples
    --------
    >>> from peerpressure.networks import edge_markovian
    >>> edge_markovian(100, 0.001, 0.1, 50, seed=1)
    TemporalNetwork(100 agents, 286 pairs, 487 changes over 1…50, on average 50.48 edges)
    """
    if isinstance(base, Network):
        DYNAMICS["edge_markovian"].check(steps=steps, edges=base.edge_count, birth=birth, death=death)
    else:
        TEMPORAL["edge_markovian"].check(steps=steps, n=base, birth=birth, death=death)
    return _edge_chains(base, float(birth), float(death), steps, seed=seed, repeat=repeat, name="edge_markovian")


def _edge_chains(
    base: int | Network, birth: float, death: float, steps: int, *, seed: Seed, repeat: bool, name: str
) -> TemporalNetwork:
    network = check_undirected(base) if isinstance(base, Network) else None
    pairs, labels = (EdgesOf(base), base.labels) if isinstance(base, Network) else (AllPairs(base), range(base))
    events = markovian_events(pairs, birth, death, steps, random_generator(seed))
    law = NetworkProcess.of_edges(name, network, len(labels), birth, death)
    return _temporal_network(events, labels, steps, repeat, law)


def activity_driven(
    n: int,
    steps: int,
    *,
    seed: Seed = 0,
    contacts: int = 1,
    exponent: float = 2.8,
    floor: float = 0.01,
    repeat: bool = False,
) -> TemporalNetwork:
    """Return an activity-driven network [1]_.

    The activity a of an agent has the density ∝ a^(−exponent) on [floor, 1].  At each step an agent is active with
    probability a; an active agent is linked with ``contacts`` others drawn uniformly, for this step only.  The mean
    degree is 2·contacts·⟨a⟩, apart from the few pairs in which both choose each other.

    Parameters
    ----------
    n : int
        Number of agents, at least 2.
    steps : int
        Number of steps that are generated, at least 1.
    seed : int, numpy.random.Generator or None, default 0
        Seed of the random numbers, or a generator from which one is drawn; None counts as 0.
    contacts : int, default 1
        Number of edges of an active agent, at least 1 and below n.
    exponent : float, default 2.8
        Exponent of the activity distribution, at least 0.
    floor : float, default 0.01
        Smallest activity, between 0 and 1.
    repeat : bool, default False
        Whether the sequence repeats after the last step; otherwise the network stays as it is.

    Returns
    -------
    TemporalNetwork
        The network, with all weights 1.

    Raises
    ------
    NetworkError
        If a parameter is out of range.
    TooLargeError
        If the expected number of events does not fit into memory.

    See Also
    --------
    edge_markovian : Edges that last for more than one step.
    recorded_contacts : Contacts of people.

    References
    ----------
    .. [1] Perra et al. (2012), Activity driven modeling of time varying networks, Sci. Rep. 2, 469.

    Examples
    --------
    >>> from peerpressure.networks import activity_driven
    >>> activity_driven(100, 50, seed=1)
    TemporalNetwork(100 agents, 98 pairs, 198 changes over 1…51, on average 1.941 edges)
    """
    rng = random_generator(seed)
    TEMPORAL["activity_driven"].check(steps=steps, n=n, contacts=contacts, exponent=exponent, floor=floor)
    if contacts >= n:
        raise NetworkError(f"contacts must be below n = {n}", got=contacts, remedy="they are distinct agents")
    # Activations of an agent are a renewal process with the same probability at every step.
    active = activities(exponent, floor, n, rng)
    # Processes start at step 0: agents can be active as early as step 1.
    who, times, _ = switches(np.zeros(n, np.int64), active, active, steps, rng)
    chosen = distinct_others(who, n, contacts, rng)
    ends = np.repeat(who, contacts), chosen.ravel()
    # Ordering the ends gives two agents who choose each other a single edge.
    pairs = np.minimum(*ends), np.maximum(*ends)
    links = Events(np.repeat(times, contacts), *pairs, np.ones(chosen.size))
    # An agent is isolated if it is not active, and no active agent chooses it.
    spared = 1 - active * contacts / max(n - 1, 1)
    alone = (1 - active) * np.prod(spared) / np.where(spared > 0, spared, 1)
    law = NetworkProcess("activity_driven", isolation=float(alone.mean()))
    return _temporal_network(one_step_events(links, weighted=False), range(n), steps, repeat, law)


def rewiring(network: Network, rate: float, steps: int, *, seed: Seed = 0) -> TemporalNetwork:
    """Return a network in which each edge is rewired with a given probability at each step after the first.

    One end of the edge, either with probability ½, stays; the other moves to an agent drawn uniformly from those that
    are not yet neighbours.  The number of edges and their weights are conserved; of E edges, E(1 − rate)^(t − 1) have
    not been rewired by step t.  Rewiring once is the model of [1]_.

    Parameters
    ----------
    network : Network
        The network at step 1.
    rate : float
        Probability that an edge is rewired, per step, from 0 to 1.
    steps : int
        Number of steps that are generated, at least 1.
    seed : int, numpy.random.Generator or None, default 0
        Seed of the random numbers, or a generator from which one is drawn; None counts as 0.

    Returns
    -------
    TemporalNetwork
        The network, with the labels of ``network``.

    Raises
    ------
    NetworkError
        If a parameter is out of range.

    See Also
    --------
    watts_strogatz : Edges of a ring that are rewired once.

    References
    ----------
    .. [1] Watts & Strogatz (1998), Collective dynamics of 'small-world' networks, Nature 393, 440.

    Examples
    --------
    >>> from peerpressure.networks import cycle, rewiring
    >>> rewiring(cycle(100), 0.01, 50, seed=1)
    TemporalNetwork(100 agents, 143 pairs, 86 changes over 1…50, on average 100 edges)
    """
    rng = random_generator(seed)
    edges = _check_network(network).edge_count
    DYNAMICS["rewiring"].check(steps=steps, edges=edges, rate=rate)
    rates = np.full(edges, float(rate))
    # Processes start at step 1: the first edges move at step 2.
    who, times, _ = switches(np.ones(edges, np.int64), rates, rates, steps, rng)
    # Moves in one step depend on each other's results; ordering them by edge makes the network reproducible.
    order = np.lexsort((who, times))
    # Events at step 1 are the network itself; edges move from step 2 on.
    start = TemporalNetwork.constant(network).events
    events = Events.joined([start, rewiring_events(network, who[order], times[order], rng)])
    law = NetworkProcess.of_moving_edges("rewiring", network.n, edges, float(rate))
    return _temporal_network(events, network.labels, steps, repeat=False, law=law)


def growing(n: int, m: int, steps: int, *, seed: Seed = 0) -> TemporalNetwork:
    """Return a temporal network that grows by preferential attachment: agents join one by one, evenly over time [1]_.

    It starts as a star of m + 1 agents and ends as ``barabasi_albert(n, m, seed=seed)``; when k agents have joined
    there are m(k − m) edges.  An agent that has not joined yet is isolated.

    Parameters
    ----------
    n : int
        Final number of agents, at least 2.
    m : int
        Number of edges of each new agent, at least 1 and below n.
    steps : int
        Number of steps that are generated, at least 1.
    seed : int, numpy.random.Generator or None, default 0
        Seed of the random numbers, or a generator from which one is drawn; None counts as 0.

    Returns
    -------
    TemporalNetwork
        The network, with all weights 1.

    Raises
    ------
    NetworkError
        If a parameter is out of range, or there is only one step although agents must join.

    See Also
    --------
    barabasi_albert : The final network.

    References
    ----------
    .. [1] Barabási & Albert (1999), Emergence of scaling in random networks, Science 286, 509.

    Examples
    --------
    >>> from peerpressure.networks import growing
    >>> growing(100, 2, 50, seed=1)
    TemporalNetwork(100 agents, 196 pairs, 194 changes over 1…50, on average 98.04 edges)
    """
    TEMPORAL["growing"].check(steps=steps, n=n, m=m)
    # The whole network is grown first, and its edges are then given their times.
    final = barabasi_albert(n, m, seed=seed)
    newcomers = n - m - 1
    if newcomers and steps == 1:
        raise NetworkError("agents need time to join", got=f"1 step for {newcomers}", remedy="ask for 2 steps or more")
    i, j, weights = final.edges()
    # Newcomers are linked with earlier agents only, so an edge appears with the later of its ends.
    rank = np.maximum(j.astype(np.int64) - m, 0)
    # Rounded up: newcomers are spread evenly, the first ones after step 1 and the last one exactly at the last step.
    times = 1 + -(-rank * (steps - 1) // max(newcomers, 1))
    order = np.argsort(times, kind="stable")
    return _temporal_network(Events(times, i, j, weights).taken(order), range(n), steps, repeat=False)


def gossip(network: Network, steps: int, *, seed: Seed = 0, probabilities: ArrayLike | None = None) -> TemporalNetwork:
    """Return pairwise gossip: at each step one edge of a network is drawn, and is the only one that is present [1]_.

    An edge has the same probability at all steps. Its two agents hear each other; all others keep their public
    opinions, unless a model says otherwise: ``isolated`` is "keep".

    Parameters
    ----------
    network : Network
        The edges that are drawn.
    steps : int
        Number of steps that are generated, at least 1. After the last one nobody hears anybody.
    seed : int, numpy.random.Generator or None, default 0
        Seed of the random numbers, or a generator from which one is drawn; None counts as 0.
    probabilities : array_like of shape (edges,), optional
        Probability of each edge, in the order of ``network.edges()``, or any multiple of it; by default all are equal.

    Returns
    -------
    TemporalNetwork
        The network, with the labels and weights of ``network``.

    Raises
    ------
    NetworkError
        If a parameter is out of range, or probabilities are not positive numbers, one for each edge.

    See Also
    --------
    activity_driven : Steps in which several pairs may be linked.

    References
    ----------
    .. [1] Boyd, Ghosh, Prabhakar & Shah (2006), Randomized gossip algorithms, IEEE Trans. Inf. Theory 52, 2508.

    Examples
    --------
    >>> from peerpressure.networks import cycle, gossip
    >>> gossip(cycle(100), 50, seed=1)
    TemporalNetwork(100 agents, 40 pairs, 99 changes over 1…51, on average 0.9804 edges)
    """
    edges = _check_network(network).edge_count
    DYNAMICS["gossip"].check(steps=steps, edges=edges)
    chances = _chances(probabilities, edges)
    # Inverted, which takes one number for each step whatever the number of edges.
    drawn = np.searchsorted(np.cumsum(chances), random_generator(seed).random(steps), side="right")
    # Probabilities add up to 1 only up to rounding.
    drawn = np.minimum(drawn, edges - 1)
    i, j, weights = network.edges()
    events = one_step_events(Events(np.arange(1, steps + 1), i[drawn], j[drawn], weights[drawn]), weighted=True)
    law = NetworkProcess.of_single_edges("gossip", network, chances)
    return TemporalNetwork(*events, labels=network.labels, law=law, isolated="keep")


def _chances(probabilities: ArrayLike | None, edges: int) -> NDArray[np.float64]:
    """Return the probabilities of the edges, which add up to 1."""
    if probabilities is None:
        return np.full(edges, 1 / edges)
    try:
        given = np.asarray(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.zeros(0)
    rule, remedy = f"probabilities must be one positive number for each of the {edges:,} edges", "see network.edges()"
    if given.shape != (edges,):
        raise NetworkError(rule, got=f"{probabilities!r:.60}", remedy=remedy)
    if not np.all(given > 0) or not np.isfinite(given.sum()):
        bad = int(np.argmin(np.where(np.isfinite(given), given, -np.inf)))
        raise NetworkError(rule, got=f"{given[bad]} for edge {bad}", remedy="remove edges that are never drawn")
    return np.asarray(given / given.sum())


def _temporal_network(
    events: Events, labels: Any, steps: int, repeat: bool, law: NetworkProcess | None = None
) -> TemporalNetwork:
    period = steps if repeat else None
    # Ends of edges after the last step would lie outside of the period.
    return TemporalNetwork(*events.within(period), labels=labels, period=period, law=law)


def _check_network(network: Any) -> Network:
    if not isinstance(network, Network):
        remedy = "for instance watts_strogatz(100, 4, 0.1, seed=1)"
        raise NetworkError("the edges must be those of a Network", got=type(network).__name__, remedy=remedy)
    return check_undirected(network)


# Declarations


def _chain_events(edges: float, steps: int, birth: float, death: float) -> float:
    """Return the expected events of a stationary chain: the edges at the start, and two for each death."""
    return edges * birth / (birth + death) * (1 + 2 * death * steps)


_MARKOVIAN = "Each edge is a two-state Markov chain: it appears with probability birth, and disappears with death."
_AGENTS, _ATTACHED, _ = GENERATORS["barabasi_albert"].parameters
_RARE = Slider(0.001, 1.0, 0.001, start=0.1, log=True)
_BIRTH = Parameter("birth", "probability", "birth", "probability that an absent edge appears", above=0, slider=_RARE)
_DEATH = Parameter("death", "probability", "death", "probability that a present edge disappears", slider=_RARE)
_FAILURE = Slider(0.0, 0.99, 0.01, start=0.2)

DYNAMICS: Mapping[str, Generator[TemporalNetwork]] = MappingProxyType(
    {
        "failing_edges": Generator(
            failing_edges,
            "Failing edges",
            "Each edge is absent with a given probability at each step, independently.",
            lambda edges, steps, probability: _chain_events(edges, steps, 1 - probability, probability),
            (
                Parameter(
                    "probability",
                    "probability",
                    "probability",
                    "probability that an edge is absent",
                    below=1,
                    slider=_FAILURE,
                ),
            ),
            short="failing",
        ),
        "edge_markovian": Generator(
            edge_markovian, "Edge-Markovian", _MARKOVIAN, _chain_events, (_BIRTH, _DEATH), short="markov"
        ),
        "rewiring": Generator(
            rewiring,
            "Rewiring",
            "Each edge is rewired with a given probability at each step: one of its ends moves to a new neighbour.",
            # Each edge begins once, and each move ends one edge and begins another.
            lambda edges, steps, rate: edges * (1 + 2 * rate * steps),
            (Parameter("rate", "probability", "rate", "probability that an edge moves in a step", slider=_RARE),),
        ),
        "gossip": Generator(
            gossip,
            "Pairwise gossip",
            "At each step one edge, drawn at random, is the only one that is present.",
            # The edge of a step begins and ends, unless it is drawn twice in a row.
            lambda edges, steps: 2.0 * steps,
        ),
    }
)
TEMPORAL: Mapping[str, Generator[TemporalNetwork]] = MappingProxyType(
    {
        "activity_driven": Generator(
            activity_driven,
            "Activity-driven",
            "Agents of unequal activity are linked with others drawn at random at each step in which they are active.",
            lambda steps, n, contacts, exponent, floor: 2.0 * n * steps * contacts * mean_activity(exponent, floor),
            (
                _AGENTS,
                Parameter(
                    "contacts",
                    "whole",
                    "contacts",
                    "others whom an active agent meets",
                    at_least=1,
                    remedy="an active agent meets somebody",
                    slider=Slider(1, 20, start=2),
                ),
                Parameter(
                    "exponent",
                    "real",
                    "exponent",
                    "exponent of the distribution of activities",
                    at_least=0,
                    remedy="the literature has 2 to 3",
                    slider=Slider(0.0, 5.0, 0.1),
                ),
                Parameter(
                    "floor",
                    "real",
                    "floor",
                    "smallest activity",
                    above=0,
                    below=1,
                    remedy="choose a number between 0 and 1",
                    slider=Slider(0.001, 0.5, 0.001, start=0.05, log=True),
                ),
            ),
        ),
        "edge_markovian": Generator(
            edge_markovian,
            "Edge-Markovian",
            _MARKOVIAN,
            lambda steps, n, birth, death: _chain_events(n * (n - 1) / 2, steps, birth, death),
            (_AGENTS, _BIRTH, _DEATH),
            pairs=lambda n, **_: n * (n - 1) / 2,
        ),
        "growing": Generator(
            growing,
            "Growing",
            "Agents join one by one over the steps, by preferential attachment.",
            lambda steps, n, m: m * (n - m),
            (_AGENTS, _ATTACHED),
        ),
    }
)
