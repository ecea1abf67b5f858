"""Generators of networks: small graphs with closed forms, and the random graphs of the literature.

Every random generator takes a ``seed`` and returns the same network for the same seed on every machine. A new generator
is one function and one entry in `GENERATORS`, which declares its parameters and its size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import log
from types import MappingProxyType
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import NetworkError
from peerpressure.networks._loops import attach
from peerpressure.networks._network import Network
from peerpressure.networks._validation import generator, refusal, room_for
from peerpressure.parameters import Parameter, Slider

Ends = tuple[NDArray[np.int64], NDArray[np.int64]]

BLOCK = 4096  # random numbers drawn at a time
INTERPRETED = 20_000  # attachments up to which plain Python is faster than loading numba


@final
@dataclass(frozen=True)
class Generator:
    """Declaration of a network generator.

    Parameters
    ----------
    build : callable
        Function that returns the network.
    title : str
        Name for a label; the description is the first line of the function's docstring.
    edges : callable
        Estimate of the number of edges from the parameters, used to reject what does not fit into memory.
    parameters : tuple of Parameter
        Declared arguments of the function, other than the seed.
    agents : callable, optional
        Number of agents from the parameters, `n` by default.
    short : str, optional
        Abbreviation for the command line.
    """

    build: Callable[..., Network]
    title: str
    edges: Callable[..., float]
    parameters: tuple[Parameter, ...] = ()
    agents: Callable[..., int] = lambda n, **_: n
    short: str = ""

    def check(self, **values: Any) -> None:
        """Raise unless each value is in its legal range and the network fits into memory."""
        for one in self.parameters:
            if one.name in values:
                one.check(values[one.name], NetworkError)
        room_for(self.edges(**values))


def random_pairs(n: int, p: float, rng: np.random.Generator) -> Ends:
    """Return each of the n(n-1)/2 pairs with probability p, independently, in time linear in the result.

    The gaps between chosen pairs are geometric (Batagelj and Brandes, 2005).
    """
    total = n * (n - 1) // 2
    if p == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    mean = total * p
    reached = -1
    blocks: list[NDArray[np.int64]] = []
    while reached < total:
        size = BLOCK if blocks else int(mean + 6 * np.sqrt(mean)) + 16
        # No gap beyond the last pair matters, and cutting them there keeps their sum within 64 bits.
        gaps = np.minimum(rng.geometric(p, size), total + 1)
        blocks.append(reached + np.cumsum(gaps))
        reached = int(blocks[-1][-1])
    codes = np.concatenate(blocks)
    return _pairs(codes[codes < total])


def _pairs(codes: NDArray[np.int64]) -> Ends:
    """Return the pair i > j with code i(i-1)/2 + j."""
    i = ((1 + np.sqrt(1 + 8 * codes.astype(np.float64))) / 2).astype(np.int64)
    # The square root may round across a whole number where codes are large.
    i -= i * (i - 1) // 2 > codes
    i += i * (i + 1) // 2 <= codes
    return i, codes - i * (i - 1) // 2


def rewired_ring(n: int, k: int, p: float, rng: np.random.Generator) -> Ends:
    """Return a ring of k nearest neighbours with the far end of each edge moved with probability p.

    A moved end goes to an agent drawn uniformly from those that are not yet neighbours.
    """
    near = np.tile(np.arange(n), k // 2)
    far = (near + np.repeat(np.arange(1, k // 2 + 1), n)) % n
    moved = np.flatnonzero(rng.random(near.size) < p)
    if not moved.size:
        return near, far
    present = set(_codes(near, far, n).tolist())
    degrees = np.full(n, k).tolist()
    draws = _endless(n, rng)
    for edge in moved.tolist():
        agent, old = int(near[edge]), int(far[edge])
        if degrees[agent] == n - 1:
            continue  # all other agents are its neighbours already
        new = next(w for w in draws if w != agent and min(agent, w) * n + max(agent, w) not in present)
        present.remove(min(agent, old) * n + max(agent, old))
        present.add(min(agent, new) * n + max(agent, new))
        degrees[old] -= 1
        degrees[new] += 1
        far[edge] = new
    return near, far


def _codes(i: NDArray[np.int64], j: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    return np.minimum(i, j) * n + np.maximum(i, j)


def _endless(n: int, rng: np.random.Generator) -> Iterator[int]:
    while True:
        yield from rng.integers(n, size=BLOCK).tolist()


def regular_pairing(n: int, degree: int, rng: np.random.Generator) -> Ends:
    """Return a simple graph in which every agent has this degree, asymptotically uniform.

    Free ends are shuffled and paired; pairs that would be loops or repeated edges are shuffled again, and everything
    restarts where no pair of free ends can be joined (Steger and Wormald, 1999).
    """
    while True:
        codes = _try_pairing(n, degree, rng)
        if codes is not None:
            return codes // n, codes % n


def _try_pairing(n: int, degree: int, rng: np.random.Generator) -> NDArray[np.int64] | None:
    made = np.empty(0, np.int64)
    free = np.repeat(np.arange(n), degree)
    while free.size:
        rng.shuffle(free)
        i, j = free[::2], free[1::2]
        codes = _codes(i, j, n)
        first = np.zeros(codes.size, dtype=bool)
        first[np.unique(codes, return_index=True)[1]] = True
        good = first & (i != j) & ~np.isin(codes, made)
        if not good.any() and not _joinable(np.unique(free), made, n):
            return None
        made = np.concatenate([made, codes[good]])
        free = np.concatenate([i[~good], j[~good]])
    return made


def _joinable(agents: NDArray[np.int64], made: NDArray[np.int64], n: int) -> bool:
    """Return whether any two of the agents could still be joined."""
    i, j = np.triu_indices(agents.size, 1)
    return not np.isin(_codes(agents[i], agents[j], n), made).all()


def k2() -> Network:
    """Two agents joined by an edge, the smallest network, which the paper solves in closed form.

    Returns
    -------
    Network
        Complete graph on two agents.

    Examples
    --------
    >>> k2()
    Network(2 agents, 1 edge, bipartite, degree 1)
    """
    return path(2)


def path(n: int) -> Network:
    """Agents in a line.

    Parameters
    ----------
    n : int
        Number of agents, at least 2.

    Returns
    -------
    Network
        Path with n − 1 edges.

    Examples
    --------
    >>> path(4)
    Network(4 agents, 3 edges, bipartite, degrees 1–2)
    """
    _check("path", n=n)
    steps = np.arange(n - 1)
    return Network.from_edges((steps, steps + 1))


def cycle(n: int) -> Network:
    """Agents in a ring, each with two neighbours; bipartite if their number is even.

    Parameters
    ----------
    n : int
        Number of agents, at least 3.

    Returns
    -------
    Network
        Cycle with n edges.

    Examples
    --------
    >>> cycle(5)
    Network(5 agents, 5 edges, non-bipartite, degree 2)
    """
    _check("cycle", n=n)
    steps = np.arange(n)
    return Network.from_edges((steps, (steps + 1) % n))


def complete(n: int) -> Network:
    """Agents who are all neighbours of each other.

    Parameters
    ----------
    n : int
        Number of agents, at least 2.

    Returns
    -------
    Network
        Complete graph with n(n − 1)/2 edges.

    Examples
    --------
    >>> complete(4)
    Network(4 agents, 6 edges, non-bipartite, degree 3)
    """
    _check("complete", n=n)
    return Network.from_edges(np.triu_indices(n, 1))


def star(n: int) -> Network:
    """One agent in the middle, the only neighbour of all others.

    Parameters
    ----------
    n : int
        Number of agents, at least 2; agent 0 is in the middle.

    Returns
    -------
    Network
        Star with n − 1 edges.

    Examples
    --------
    >>> star(5)
    Network(5 agents, 4 edges, bipartite, degrees 1–4)
    """
    _check("star", n=n)
    leaves = np.arange(1, n)
    return Network.from_edges((np.zeros_like(leaves), leaves))


def grid(rows: int, columns: int) -> Network:
    """Rectangular lattice in which each agent has up to four neighbours; it is bipartite.

    Parameters
    ----------
    rows, columns : int
        Size of the lattice, at least two agents in all; agents are numbered row by row.

    Returns
    -------
    Network
        Lattice with rows × columns agents.

    Examples
    --------
    >>> grid(2, 3)
    Network(6 agents, 7 edges, bipartite, degrees 2–3)
    """
    _check("grid", rows=rows, columns=columns)
    if rows == columns == 1:
        raise refusal("columns must be at least 2 where rows is 1", got=1, remedy="ask for two agents or more")
    place = np.arange(rows * columns).reshape(rows, columns)
    sources = [place[:, :-1].ravel(), place[:-1].ravel()]
    targets = [place[:, 1:].ravel(), place[1:].ravel()]
    return Network.from_edges((np.concatenate(sources), np.concatenate(targets)))


def erdos_renyi(n: int, p: float, *, seed: int, connected: bool = True) -> Network:
    """Random network in which each pair of agents is joined with probability p.

    Parameters
    ----------
    n : int
        Number of agents, at least 2.
    p : float
        Probability of an edge.
    seed : int
        Seed of the random numbers.
    connected : bool, default True
        Whether to raise if the network is not connected.

    Returns
    -------
    Network
        Sample of G(n, p).

    Raises
    ------
    NetworkError
        If a parameter is not legal, or the network is not connected although it should be.

    See Also
    --------
    Network.largest_component : Largest connected part of a network.

    References
    ----------
    .. [1] Erdős & Rényi (1959), On random graphs I, Publ. Math. Debrecen 6, 290.
    .. [2] Batagelj & Brandes (2005), Efficient generation of large random networks, Phys. Rev. E 71, 036113.

    Examples
    --------
    >>> erdos_renyi(100, 0.1, seed=1)
    Network(100 agents, 506 edges, non-bipartite, degrees 4–16)
    """
    _check("erdos_renyi", n=n, p=p)
    network = _unconnected(n, random_pairs(n, p, generator(seed)))
    if connected and not network.is_connected:
        rule = "an Erdős–Rényi network must come out connected"
        remedy = (
            f"p well above ln(n)/n = {log(n) / n:.3g} makes that likely; or try another seed, "
            "or use connected=False and largest_component()"
        )
        raise refusal(rule, got=f"several components with n={n}, p={p}, seed={seed}", remedy=remedy)
    return network


def watts_strogatz(n: int, k: int, p: float, *, seed: int) -> Network:
    """Small-world network: a ring of near neighbours with some edges rewired at random.

    Parameters
    ----------
    n : int
        Number of agents.
    k : int
        Number of nearest neighbours on the ring, even and below n.
    p : float
        Probability that an edge is rewired.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    Network
        Connected network with n·k/2 edges.

    Raises
    ------
    NetworkError
        If a parameter is not legal, or the network is not connected.

    References
    ----------
    .. [1] Watts & Strogatz (1998), Collective dynamics of 'small-world' networks, Nature 393, 440.

    Examples
    --------
    >>> watts_strogatz(100, 4, 0.1, seed=1)
    Network(100 agents, 200 edges, non-bipartite, degrees 3–6)
    """
    _check("watts_strogatz", n=n, k=k, p=p)
    if k % 2 or k >= n:
        remedy = "half of the k neighbours stand on either side"
        raise refusal(f"k must be even and below n = {n}", got=k, remedy=remedy)
    network = _unconnected(n, rewired_ring(n, k, p, generator(seed)))
    return _connected(network, f"n={n}, k={k}, p={p}, seed={seed}", "try another seed, a larger k or a smaller p")


def barabasi_albert(n: int, m: int, *, seed: int) -> Network:
    """Scale-free network: each new agent joins m others in proportion to their degrees.

    It grows from a star of m + 1 agents; with m = 1 it is a tree.

    Parameters
    ----------
    n : int
        Number of agents.
    m : int
        Number of edges that each new agent brings, below n.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    Network
        Connected network with m(n − m) edges.

    Raises
    ------
    NetworkError
        If a parameter is not legal.

    References
    ----------
    .. [1] Barabási & Albert (1999), Emergence of scaling in random networks, Science 286, 509.

    Examples
    --------
    >>> barabasi_albert(100, 2, seed=1)
    Network(100 agents, 196 edges, non-bipartite, degrees 2–22)
    """
    _check("barabasi_albert", n=n, m=m)
    if m >= n:
        raise refusal(f"m must be below n = {n}", got=m, remedy="a new agent joins m distinct earlier ones")
    return Network.from_edges(_grown(n, m, generator(seed)).reshape(-1, 2), n=n)


def _grown(n: int, m: int, rng: np.random.Generator) -> NDArray[np.int64]:
    length = 2 * m * (n - m)
    if n * m < INTERPRETED:
        few_ends = [0] * length
        attach(few_ends, [0] * n, m, rng)
        return np.array(few_ends, dtype=np.int64)
    # Loading numba takes longer than a small graph takes to grow.
    from peerpressure.networks._compiled import attach_compiled

    ends = np.zeros(length, dtype=np.int64)
    attach_compiled(ends, np.zeros(n, dtype=np.int64), m, rng)
    return ends


def random_regular(n: int, degree: int, *, seed: int) -> Network:
    """Random network in which all agents have the same number of neighbours.

    Parameters
    ----------
    n : int
        Number of agents.
    degree : int
        Number of neighbours, below n, with n·degree even.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    Network
        Connected network with n·degree/2 edges, asymptotically uniform among all of them.

    Raises
    ------
    NetworkError
        If a parameter is not legal, or the network is not connected.

    References
    ----------
    .. [1] Steger & Wormald (1999), Generating random regular graphs quickly, Comb. Probab. Comput. 8, 377.

    Examples
    --------
    >>> random_regular(100, 3, seed=1)
    Network(100 agents, 150 edges, non-bipartite, degree 3)
    """
    _check("random_regular", n=n, degree=degree)
    if degree >= n or n * degree % 2:
        remedy = "n times degree counts every edge twice, so it must be even"
        raise refusal(f"degree must be below n = {n} and n·degree even", got=degree, remedy=remedy)
    rng = generator(seed)
    # Dense pairings hardly ever succeed, but the complement of a dense regular graph is a sparse one.
    dense = 2 * degree > n - 1
    ends = _absent(n, regular_pairing(n, n - 1 - degree, rng)) if dense else regular_pairing(n, degree, rng)
    return _connected(_unconnected(n, ends), f"n={n}, degree={degree}, seed={seed}", "try another seed, or degree 3")


def _absent(n: int, ends: Ends) -> Ends:
    """Return the pairs that are no edges."""
    missing = np.triu(np.ones((n, n), dtype=bool), 1)
    missing[np.minimum(*ends), np.maximum(*ends)] = False
    i, j = np.nonzero(missing)
    return i, j


def _unconnected(n: int, ends: Ends) -> Network:
    """Return the network with these edges, which need not be connected."""
    return Network.from_edges(ends, n=n, connected=False)


def _connected(network: Network, asked: str, remedy: str) -> Network:
    if not network.is_connected:
        raise refusal("the network must come out connected", got=f"several components with {asked}", remedy=remedy)
    return network


def _check(name: str, **values: Any) -> None:
    GENERATORS[name].check(**values)


def number_of_agents(slider: Slider, at_least: int = 2) -> Parameter:
    """Return the declaration of the number of agents n."""
    remedy = f"ask for {at_least} agents or more"
    return Parameter("n", "whole", "agents", "number of agents", at_least=at_least, remedy=remedy, slider=slider)


def _up_to(maximum: int, minimum: int, start: int = 100) -> Slider:
    return Slider(minimum, maximum, start=start, log=True)


_MANY = 50_000
_SIDE = Slider(1, 220, start=10, log=True)
GENERATORS: Mapping[str, Generator] = MappingProxyType(
    {
        "barabasi_albert": Generator(
            barabasi_albert,
            "Scale-free (Barabási–Albert)",
            lambda n, m: m * (n - m),
            (
                number_of_agents(_up_to(_MANY, 3)),
                Parameter(
                    "m",
                    "whole",
                    "edges per new agent",
                    "earlier agents that each new agent joins",
                    at_least=1,
                    remedy="every new agent must join at least one other",
                    slider=Slider(1, 20, start=2),
                ),
            ),
            short="ba",
        ),
        "watts_strogatz": Generator(
            watts_strogatz,
            "Small world (Watts–Strogatz)",
            lambda n, k, p: n * k / 2,
            (
                number_of_agents(_up_to(_MANY, 5)),
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
                    "p", "probability", "share rewired", "of each edge to be rewired", slider=Slider(0.0, 1.0, 0.01, start=0.1)
                ),
            ),
            short="ws",
        ),
        "erdos_renyi": Generator(
            erdos_renyi,
            "Random (Erdős–Rényi)",
            lambda n, p, **_: p * n * (n - 1) / 2,
            (
                number_of_agents(_up_to(5_000, 3)),
                Parameter(
                    "p",
                    "probability",
                    "probability of an edge",
                    "of each pair to be joined",
                    slider=Slider(0.001, 1.0, 0.001, start=0.05, log=True),
                ),
                Parameter("connected", "flag", "connected", "false takes the largest component"),
            ),
            short="er",
        ),
        "random_regular": Generator(
            random_regular,
            "Random regular",
            lambda n, degree: n * degree / 2,
            (
                number_of_agents(_up_to(_MANY, 4)),
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
        "grid": Generator(
            grid,
            "Lattice",
            lambda rows, columns: 2 * rows * columns - rows - columns,
            (
                Parameter("rows", "whole", "rows", at_least=1, slider=_SIDE),
                Parameter("columns", "whole", "columns", at_least=1, slider=replace(_SIDE, minimum=2)),
            ),
            agents=lambda rows, columns: rows * columns,
        ),
        "cycle": Generator(cycle, "Ring", lambda n: n, (number_of_agents(_up_to(_MANY, 3), at_least=3),)),
        "path": Generator(path, "Line", lambda n: n - 1, (number_of_agents(_up_to(_MANY, 2)),)),
        "star": Generator(star, "Star", lambda n: n - 1, (number_of_agents(_up_to(_MANY, 3)),)),
        "complete": Generator(
            complete, "Complete", lambda n: n * (n - 1) / 2, (number_of_agents(_up_to(900, 3, start=30)),)
        ),
        "k2": Generator(k2, "Two agents", lambda: 1, agents=lambda: 2),
    }
)
