"""Generators of static networks: classic graphs, many with closed forms, random networks, and the table of all.

Every random generator has a ``seed``; the same seed gives the same network on every machine. A new generator is one
function and one entry in `GENERATORS`, which declares its parameters and its size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import log
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import NetworkError
from peerpressure.networks._loops import attach, compiled
from peerpressure.networks._network import Network
from peerpressure.networks._sampling import Ends, random_pairs, random_regular_pairs, rewired_ring
from peerpressure.networks.validation import Generator, checked_seed, number_of_agents, random_generator
from peerpressure.support.parameters import Parameter, Slider
from peerpressure.support.seeds import Seed

MANY = 50_000  # the largest number of agents that the explorer allows
INITIAL = ("star", "triangle")  # graphs from which preferential attachment starts
INTERPRETED = 20_000  # attachments up to which plain Python takes less time than importing numba


def k2() -> Network:
    """Return the complete graph K₂: two agents linked by one edge.

    Returns
    -------
    Network
        The smallest network.

    See Also
    --------
    peerpressure.theory.two_agents : Closed forms of the model on this network.

    Examples
    --------
    >>> from peerpressure.networks import k2
    >>> k2()
    Network(2 agents, 1 edge, bipartite, degree 1)
    """
    return path(2)


def path(n: int) -> Network:
    """Return the path graph: agents 0..n-1 in a line.

    Parameters
    ----------
    n : int
        Number of agents, at least 2.

    Returns
    -------
    Network
        The network, with all weights 1.

    Raises
    ------
    NetworkError
        If n is less than 2.

    See Also
    --------
    cycle : The path closed to a ring.

    Examples
    --------
    >>> from peerpressure.networks import path
    >>> path(4)
    Network(4 agents, 3 edges, bipartite, degrees 1–2)
    """
    _check("path", n=n)
    steps = np.arange(n - 1)
    return Network.from_edges((steps, steps + 1))


def cycle(n: int) -> Network:
    """Return the cycle graph: agents in a ring, bipartite exactly if n is even.

    Parameters
    ----------
    n : int
        Number of agents, at least 3.

    Returns
    -------
    Network
        The network, with all weights 1.

    Raises
    ------
    NetworkError
        If n is less than 3.

    See Also
    --------
    path : The same without the closing edge.
    watts_strogatz : A ring with more neighbours and rewired edges.

    Examples
    --------
    >>> from peerpressure.networks import cycle
    >>> cycle(5)
    Network(5 agents, 5 edges, non-bipartite, degree 2)
    """
    _check("cycle", n=n)
    steps = np.arange(n)
    return Network.from_edges((steps, (steps + 1) % n))


def complete(n: int) -> Network:
    """Return the complete graph: an edge between any two agents.

    Parameters
    ----------
    n : int
        Number of agents, at least 2.

    Returns
    -------
    Network
        The network, with all weights 1.

    Raises
    ------
    NetworkError
        If n is less than 2.

    See Also
    --------
    erdos_renyi : Each of these edges with a probability.

    Examples
    --------
    >>> from peerpressure.networks import complete
    >>> complete(4)
    Network(4 agents, 6 edges, non-bipartite, degree 3)
    """
    _check("complete", n=n)
    return Network.from_edges(np.triu_indices(n, 1))


def star(n: int) -> Network:
    """Return the star graph: agent 0 is linked with all others.

    Parameters
    ----------
    n : int
        Number of agents, at least 2.

    Returns
    -------
    Network
        The network, with all weights 1.

    Raises
    ------
    NetworkError
        If n is less than 2.

    See Also
    --------
    complete : All agents are linked with each other.

    Examples
    --------
    >>> from peerpressure.networks import star
    >>> star(4)
    Network(4 agents, 3 edges, bipartite, degrees 1–3)
    """
    _check("star", n=n)
    leaves = np.arange(1, n)
    return Network.from_edges((np.zeros_like(leaves), leaves))


def grid(rows: int, columns: int) -> Network:
    """Return a rectangular lattice with agents numbered row by row.

    Parameters
    ----------
    rows, columns : int
        Size of the lattice, each at least 1 and one of them at least 2.

    Returns
    -------
    Network
        The network, with all weights 1.

    Raises
    ------
    NetworkError
        If the lattice has fewer than two agents.

    See Also
    --------
    path : A lattice of one row.

    Examples
    --------
    >>> from peerpressure.networks import grid
    >>> grid(2, 3)
    Network(6 agents, 7 edges, bipartite, degrees 2–3)
    """
    _check("grid", rows=rows, columns=columns)
    if rows == columns == 1:
        raise NetworkError("columns must be at least 2 where rows is 1", got=1, remedy="ask for two agents or more")
    # Edges to the right, then edges downwards.
    place = np.arange(rows * columns).reshape(rows, columns)
    sources = [place[:, :-1].ravel(), place[:-1].ravel()]
    targets = [place[:, 1:].ravel(), place[1:].ravel()]
    return Network.from_edges((np.concatenate(sources), np.concatenate(targets)))


# Random networks


def erdos_renyi(n: int, p: float, *, seed: Seed = 0, connected: bool = True) -> Network:
    """Return an Erdős–Rényi random graph G(n, p): each pair is linked with probability p, independently [1]_.

    The pairs are drawn in time linear in the number of edges [2]_.

    Parameters
    ----------
    n : int
        Number of agents, at least 2.
    p : float
        Probability of each edge, from 0 to 1.
    seed : int, numpy.random.Generator or None, default 0
        Seed of the random numbers, or a generator from which one is drawn; None counts as 0.
    connected : bool, default True
        Whether to raise if the graph is not connected.

    Returns
    -------
    Network
        The network, with all weights 1.

    Raises
    ------
    NetworkError
        If a parameter is out of range, or the graph is not connected although ``connected`` is True; p well above
        ln(n)/n makes it likely to be.
    TooLargeError
        If the expected number of edges does not fit into memory.

    See Also
    --------
    random_regular : A random graph in which all degrees are equal.
    edge_markovian : A temporal network whose edges appear and disappear at random.

    References
    ----------
    .. [1] Erdős & Rényi (1959), On random graphs I, Publ. Math. Debrecen 6, 290.
    .. [2] Batagelj & Brandes (2005), Efficient generation of large random networks, Phys. Rev. E 71, 036113.

    Examples
    --------
    >>> from peerpressure.networks import erdos_renyi
    >>> erdos_renyi(100, 0.1, seed=1)
    Network(100 agents, 506 edges, non-bipartite, degrees 4–16)
    """
    number = checked_seed(seed)
    rng = random_generator(number)
    _check("erdos_renyi", n=n, p=p)
    network = _from_ends(n, random_pairs(n, p, rng))
    if connected and not network.is_connected:
        rule = "an Erdős–Rényi network must come out connected"
        remedy = (
            f"p well above ln(n)/n = {log(n) / n:.3g} makes that likely; or try another seed, "
            "or set connected to false and take the largest component"
        )
        raise NetworkError(rule, got=f"several components with n={n}, p={p}, seed={number}", remedy=remedy)
    return network


def watts_strogatz(n: int, k: int, p: float, *, seed: Seed = 0) -> Network:
    """Return a Watts–Strogatz small-world graph [1]_.

    On a ring, each agent is linked with its k nearest neighbours; then each edge is rewired with probability p: its far
    end moves to an agent drawn uniformly from those that are not yet neighbours.

    Parameters
    ----------
    n : int
        Number of agents, at least 2.
    k : int
        Number of neighbours in the ring, an even number, at least 2 and below n.
    p : float
        Probability that an edge is rewired, from 0 to 1.
    seed : int, numpy.random.Generator or None, default 0
        Seed of the random numbers, or a generator from which one is drawn; None counts as 0.

    Returns
    -------
    Network
        The network, with n·k/2 edges of weight 1.

    Raises
    ------
    NetworkError
        If a parameter is out of range, or rewiring leaves the graph disconnected.

    See Also
    --------
    cycle : The ring with k = 2 and p = 0.
    rewiring : A temporal network whose edges are rewired over time.

    References
    ----------
    .. [1] Watts & Strogatz (1998), Collective dynamics of 'small-world' networks, Nature 393, 440.

    Examples
    --------
    >>> from peerpressure.networks import watts_strogatz
    >>> watts_strogatz(100, 4, 0.1, seed=1)
    Network(100 agents, 200 edges, non-bipartite, degrees 3–6)
    """
    number = checked_seed(seed)
    rng = random_generator(number)
    _check("watts_strogatz", n=n, k=k, p=p)
    if k % 2 or k >= n:
        remedy = "half of the k neighbours stand on either side"
        raise NetworkError(f"k must be even and below n = {n}", got=k, remedy=remedy)
    network = _from_ends(n, rewired_ring(n, k, p, rng))
    return _require_connected(
        network, f"n={n}, k={k}, p={p}, seed={number}", "try another seed, a larger k or a smaller p"
    )


def barabasi_albert(n: int, m: int, *, initial: str = "star", seed: Seed = 0) -> Network:
    """Return a Barabási–Albert scale-free graph, grown by preferential attachment [1]_.

    The graph starts as a star of m + 1 agents, or as a triangle.  Each further agent is linked with m distinct earlier
    ones, drawn with probability proportional to their degrees.

    Parameters
    ----------
    n : int
        Number of agents, at least 2.
    m : int
        Number of edges of each new agent, at least 1 and below n; 3 at most for a triangle.
    initial : {"star", "triangle"}, default "star"
        Graph to start from.  With m = 1 a star grows into a tree, which is bipartite; a triangle is an odd cycle.
        Mathematica's ``BarabasiAlbertGraphDistribution`` starts from a triangle [2]_.
    seed : int, numpy.random.Generator or None, default 0
        Seed of the random numbers, or a generator from which one is drawn; None counts as 0.

    Returns
    -------
    Network
        The network, with m(n − m) edges of weight 1, or m(n − 3) + 3 of them for a triangle.

    Raises
    ------
    NetworkError
        If a parameter is out of range.
    TooLargeError
        If the edges do not fit into memory.

    See Also
    --------
    growing : The temporal network of this growth.

    References
    ----------
    .. [1] Barabási & Albert (1999), Emergence of scaling in random networks, Science 286, 509.
    .. [2] Wolfram Research (2010), BarabasiAlbertGraphDistribution, Wolfram Language documentation.

    Examples
    --------
    >>> from peerpressure.networks import barabasi_albert
    >>> barabasi_albert(100, 2, seed=1)
    Network(100 agents, 196 edges, non-bipartite, degrees 2–22)
    >>> barabasi_albert(100, 1, initial="triangle", seed=1).edge_count
    100
    """
    rng = random_generator(seed)
    _check("barabasi_albert", n=n, m=m)
    if m >= n:
        raise NetworkError(f"m must be below n = {n}", got=m, remedy="a new agent joins m distinct earlier ones")
    triangle = _starts_as_triangle(initial, n, m)
    return Network.from_edges(_grown(n, m, rng, triangle=triangle).reshape(-1, 2), n=n)


def _starts_as_triangle(initial: Any, n: int, m: int) -> bool:
    if initial not in INITIAL:
        listed = " or ".join(f'"{name}"' for name in INITIAL)
        raise NetworkError(f"initial must be {listed}", got=repr(initial), remedy="a star is the default")
    triangle = bool(initial == "triangle")
    if triangle and not (n >= 3 and m <= 3):
        got = f"n = {n} and m = {m}"
        remedy = "the first new agent joins m of the three"
        raise NetworkError("a triangle needs 3 agents or more, and m of 3 at most", got=got, remedy=remedy)
    return triangle


def _grown(n: int, m: int, rng: np.random.Generator, *, triangle: bool = False) -> NDArray[np.int64]:
    # Two entries for each of the edges.
    length = 2 * (3 + m * (n - 3) if triangle else m * (n - m))
    # Both ways draw the same random numbers in the same order, so the network is the same.
    if n * m < INTERPRETED:
        ends_list = [0] * length
        attach(ends_list, [0] * n, m, rng, triangle)
        return np.array(ends_list, dtype=np.int64)
    ends = np.zeros(length, dtype=np.int64)
    compiled(attach)(ends, np.zeros(n, dtype=np.int64), m, rng, triangle)
    return ends


def random_regular(n: int, degree: int, *, seed: Seed = 0) -> Network:
    """Return a random regular graph: every agent has the same number of neighbours.

    The graph is asymptotically uniform among all regular graphs [1]_.

    Parameters
    ----------
    n : int
        Number of agents, at least 2.
    degree : int
        Number of neighbours of every agent, at least 1 and below n; n·degree must be even.
    seed : int, numpy.random.Generator or None, default 0
        Seed of the random numbers, or a generator from which one is drawn; None counts as 0.

    Returns
    -------
    Network
        The network, with n·degree/2 edges of weight 1.

    Raises
    ------
    NetworkError
        If a parameter is out of range, or the graph is not connected.

    See Also
    --------
    erdos_renyi : A random graph with unequal degrees.

    References
    ----------
    .. [1] Steger & Wormald (1999), Generating random regular graphs quickly, Comb. Probab. Comput. 8, 377.

    Examples
    --------
    >>> from peerpressure.networks import random_regular
    >>> random_regular(100, 3, seed=1)
    Network(100 agents, 150 edges, non-bipartite, degree 3)
    """
    number = checked_seed(seed)
    rng = random_generator(number)
    _check("random_regular", n=n, degree=degree)
    if degree >= n or n * degree % 2:
        remedy = "n times degree counts every edge twice, so it must be even"
        raise NetworkError(f"degree must be below n = {n} and n·degree even", got=degree, remedy=remedy)
    # The pairing hardly ever succeeds for dense graphs, but the complement of a dense graph is sparse.
    dense = 2 * degree > n - 1
    ends = (
        _complement(n, random_regular_pairs(n, n - 1 - degree, rng)) if dense else random_regular_pairs(n, degree, rng)
    )
    return _require_connected(
        _from_ends(n, ends), f"n={n}, degree={degree}, seed={number}", "try another seed, or degree 3"
    )


def _complement(n: int, ends: Ends) -> Ends:
    """Return the pairs that are not linked."""
    # n² booleans are affordable, because a dense graph has about as many edges.
    missing = np.triu(np.ones((n, n), dtype=bool), 1)
    missing[np.minimum(*ends), np.maximum(*ends)] = False
    i, j = np.nonzero(missing)
    return i, j


def followers(n: int, m: int, p: float = 0.2, *, seed: Seed = 0) -> Network:
    """Return a directed scale-free graph of accounts that follow each other, grown by preferential attachment [1]_.

    The first m + 1 agents all listen to each other.  Each further agent listens to m distinct earlier ones, drawn with
    probability proportional to their numbers of neighbours, each of whom listens back with probability p.

    Parameters
    ----------
    n : int
        Number of agents, at least 2.
    m : int
        Number of agents that each new agent listens to, at least 1 and below n.
    p : float, default 0.2
        Probability that an agent listens back, from 0 to 1.
    seed : int, numpy.random.Generator or None, default 0
        Seed of the random numbers, or a generator from which one is drawn; None counts as 0.

    Returns
    -------
    Network
        The directed network, with all weights 1. It has one closed class, which contains the first m + 1 agents.

    Raises
    ------
    NetworkError
        If a parameter is out of range.
    TooLargeError
        If the edges do not fit into memory.

    See Also
    --------
    barabasi_albert : The same with mutual edges.
    peerpressure.theory.influence : Weight of each agent in the consensus value.

    References
    ----------
    .. [1] Price (1976), A general theory of bibliometric and other cumulative advantage processes, J. Am. Soc. Inf.
       Sci. 27, 292.

    Examples
    --------
    >>> from peerpressure.networks import followers
    >>> followers(100, 2, seed=1)
    Network(100 agents, 251 directed edges, one closed class, degrees 2–8)
    """
    rng = random_generator(seed)
    _check("followers", n=n, m=m, p=p)
    if m >= n:
        raise NetworkError(f"m must be below n = {n}", got=m, remedy="a new agent listens to m distinct earlier ones")
    # Without the star of the first m + 1 agents, who are all linked.
    pairs = _grown(n, m, rng).reshape(-1, 2)[m:]
    back = pairs[rng.random(len(pairs)) < p, ::-1]
    core = np.argwhere(~np.eye(m + 1, dtype=bool))
    return Network.from_edges(np.concatenate([core, pairs, back]), n=n, directed=True)


def rival_camps(n: int, degree: int, p: float = 0.0, *, seed: Seed = 0) -> Network:
    """Return a signed random regular graph of two camps: trust within a camp, distrust between the camps [1]_.

    The first half of the agents is one camp.  The sign of each edge is reversed with probability p.

    Parameters
    ----------
    n : int
        Number of agents, at least 2.
    degree : int
        Number of neighbours of every agent, at least 1 and below n; n·degree must be even.
    p : float, default 0.0
        Probability that the sign of an edge is reversed, from 0 to 1.
    seed : int, numpy.random.Generator or None, default 0
        Seed of the random numbers, or a generator from which one is drawn; None counts as 0.

    Returns
    -------
    Network
        The signed network, with weights 1 and −1. It is structurally balanced if p is 0.

    Raises
    ------
    NetworkError
        If a parameter is out of range, or the graph is not connected.

    See Also
    --------
    random_regular : The same without signs.
    peerpressure.Network.camps : The two camps of a balanced network.

    References
    ----------
    .. [1] Cartwright & Harary (1956), Structural balance: a generalization of Heider's theory, Psychol. Rev. 63, 277.

    Examples
    --------
    >>> from peerpressure.networks import rival_camps
    >>> rival_camps(100, 4, seed=1)
    Network(100 agents, 200 signed edges, balanced, degree 4)
    """
    _check("rival_camps", n=n, degree=degree, p=p)
    number = checked_seed(seed)
    sources, targets, _ = random_regular(n, degree, seed=number).edges()
    # A separate stream: p must not change the edges.
    reversed_ = np.random.default_rng([number, 1]).random(sources.size) < p
    rivals = (sources < n // 2) != (targets < n // 2)
    return Network.from_edges((sources, targets), np.where(rivals != reversed_, -1.0, 1.0), n=n, signed=True)


def _from_ends(n: int, ends: Ends) -> Network:
    # The callers check connectivity themselves: their messages name the parameters that make it likely.
    return Network.from_edges(ends, n=n)


def _require_connected(network: Network, asked: str, remedy: str) -> Network:
    if not network.is_connected:
        raise NetworkError("the network must come out connected", got=f"several components with {asked}", remedy=remedy)
    return network


def _check(name: str, **values: Any) -> None:
    GENERATORS[name].check(**values)


def up_to(maximum: int, minimum: int, start: int = 100) -> Slider:
    """Return the slider of a number of agents."""
    return Slider(minimum, maximum, start=start, log=True)


# 220² lattice points are just below MANY.
_SIDE = Slider(1, 220, start=10, log=True)
GENERATORS: Mapping[str, Generator[Network]] = MappingProxyType(
    {
        "barabasi_albert": Generator(
            barabasi_albert,
            "Scale-free (Barabási–Albert)",
            "New agents are linked with earlier ones in proportion to their degrees: a few hubs, many leaves.",
            lambda n, m, initial="star": m * (n - m),
            (
                number_of_agents(up_to(MANY, 3)),
                Parameter(
                    "m",
                    "whole",
                    "edges per new agent",
                    "earlier agents that each new agent joins",
                    at_least=1,
                    remedy="every new agent must join at least one other",
                    slider=Slider(1, 20, start=2),
                ),
                Parameter("initial", "text", "start", "star or triangle", examples=INITIAL),
            ),
            short="ba",
        ),
        "watts_strogatz": Generator(
            watts_strogatz,
            "Small world (Watts–Strogatz)",
            "A ring of near neighbours in which some edges are rewired at random.",
            lambda n, k, p: n * k / 2,
            (
                number_of_agents(up_to(MANY, 5)),
                Parameter(
                    "k",
                    "whole",
                    "neighbours (even)",
                    "nearest neighbours on the ring, an even number",
                    at_least=2,
                    remedy="each agent needs a neighbour on either side",
                    slider=Slider(2, 20, start=4),
                ),
                Parameter(
                    "p",
                    "probability",
                    "share rewired",
                    "probability that an edge is rewired",
                    slider=Slider(0.0, 1.0, 0.01, start=0.1),
                ),
            ),
            short="ws",
        ),
        "erdos_renyi": Generator(
            erdos_renyi,
            "Random (Erdős–Rényi)",
            "Each pair of agents is linked with probability p, independently.",
            # ``connected`` does not change the expected number of edges.
            lambda n, p, **_: p * n * (n - 1) / 2,
            (
                # The number of edges grows with n², hence fewer agents than for sparse generators.
                number_of_agents(up_to(5_000, 3)),
                Parameter(
                    "p",
                    "probability",
                    "probability of an edge",
                    "probability that a pair is linked",
                    slider=Slider(0.001, 1.0, 0.001, start=0.05, log=True),
                ),
                Parameter("connected", "flag", "connected", "false takes the largest component"),
            ),
            short="er",
        ),
        "random_regular": Generator(
            random_regular,
            "Random regular",
            "All agents have the same number of neighbours, and are otherwise linked at random.",
            lambda n, degree: n * degree / 2,
            (
                number_of_agents(up_to(MANY, 4)),
                Parameter(
                    "degree",
                    "whole",
                    "neighbours",
                    "neighbours of every agent",
                    at_least=1,
                    remedy="every agent needs a neighbour",
                    slider=Slider(3, 20, start=4),
                ),
            ),
            short="regular",
        ),
        "followers": Generator(
            followers,
            "Followers (directed)",
            "New agents listen to earlier ones in proportion to their neighbours, and some of these listen back.",
            lambda n, m, p=0.2: m * (n - m) * (1 + p) + m * (m + 1),
            (
                number_of_agents(up_to(MANY, 3)),
                Parameter(
                    "m",
                    "whole",
                    "followed by each",
                    "earlier agents that each new agent listens to",
                    at_least=1,
                    remedy="every new agent must listen to at least one other",
                    slider=Slider(1, 20, start=2),
                ),
                Parameter(
                    "p",
                    "probability",
                    "share listening back",
                    "probability that an agent listens back",
                    slider=Slider(0.0, 1.0, 0.01, start=0.2),
                ),
            ),
        ),
        "rival_camps": Generator(
            rival_camps,
            "Rival camps (signed)",
            "Two camps in a random regular network: trust within a camp, distrust between the camps.",
            lambda n, degree, p=0.0: n * degree / 2,
            (
                number_of_agents(up_to(MANY, 4)),
                Parameter(
                    "degree",
                    "whole",
                    "neighbours",
                    "neighbours of every agent",
                    at_least=1,
                    remedy="every agent needs a neighbour",
                    slider=Slider(3, 20, start=4),
                ),
                Parameter(
                    "p",
                    "probability",
                    "share of reversed signs",
                    "probability that the sign of an edge is reversed",
                    slider=Slider(0.0, 1.0, 0.01, start=0.0),
                ),
            ),
        ),
        "grid": Generator(
            grid,
            "Lattice",
            "A rectangular lattice in which agents have up to four neighbours; it is bipartite.",
            lambda rows, columns: 2 * rows * columns - rows - columns,
            (
                Parameter("rows", "whole", "rows", at_least=1, slider=_SIDE),
                Parameter("columns", "whole", "columns", at_least=1, slider=replace(_SIDE, minimum=2)),
            ),
            agents=lambda rows, columns: rows * columns,
        ),
        "cycle": Generator(
            cycle,
            "Ring",
            "Agents in a ring; it is bipartite if their number is even.",
            lambda n: n,
            (number_of_agents(up_to(MANY, 3), at_least=3),),
        ),
        "path": Generator(path, "Line", "Agents in a line.", lambda n: n - 1, (number_of_agents(up_to(MANY, 2)),)),
        "star": Generator(
            star,
            "Star",
            "One agent is linked with all others, who have no other neighbours.",
            lambda n: n - 1,
            (number_of_agents(up_to(MANY, 3)),),
        ),
        "complete": Generator(
            complete,
            "Complete",
            "All agents are linked with each other.",
            lambda n: n * (n - 1) / 2,
            # 900 agents have 404,550 edges, within the limit of the explorer.
            (number_of_agents(up_to(900, 3, start=30)),),
        ),
        "k2": Generator(
            k2,
            "Two agents",
            "Two agents linked by one edge, which the paper solves in closed form.",
            lambda: 1,
            agents=lambda: 2,
        ),
    }
)
