"""Networks to order: small shapes with closed forms, and the random graphs of the literature.

Every random generator takes a ``seed`` and returns the same network for the same seed on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from peerpressure.networks.attachment import attach
from peerpressure.networks.network import Network
from peerpressure.networks.parameters import agents, chance, generator, room_for, whole
from peerpressure.networks.refusal import refusal
from peerpressure.networks.sampling import Ends, random_pairs, regular_pairing, rewired_ring

INTERPRETED = 20_000  # attachments up to which plain Python is done before numba would be loaded


def k2() -> Network:
    """Return the smallest network: two agents who listen to each other.

    >>> k2()
    Network(2 agents, 1 edge, bipartite, degree 1)
    """
    return path(2)


def path(n: int) -> Network:
    """Return n agents in a line."""
    steps = np.arange(agents(n) - 1)
    return Network.from_edges((steps, steps + 1))


def cycle(n: int) -> Network:
    """Return n agents in a ring; it is bipartite exactly when n is even."""
    steps = np.arange(agents(n, least=3))
    return Network.from_edges((steps, (steps + 1) % n))


def complete(n: int) -> Network:
    """Return n agents who all listen to one another."""
    room_for(agents(n) * (n - 1) / 2)
    return Network.from_edges(np.triu_indices(n, 1))


def star(n: int) -> Network:
    """Return n agents, of whom agent 0 is joined to all the others."""
    leaves = np.arange(1, agents(n))
    return Network.from_edges((np.zeros_like(leaves), leaves))


def grid(rows: int, columns: int) -> Network:
    """Return a rectangular lattice, numbered row by row.

    >>> grid(2, 3)
    Network(6 agents, 7 edges, bipartite, degrees 2–3)
    """
    remedy = "ask for at least one row and one column, and two agents in all"
    whole("rows", rows, least=1, remedy=remedy)
    whole("columns", columns, least=1 if rows > 1 else 2, remedy=remedy)
    place = np.arange(rows * columns).reshape(rows, columns)
    sources = [place[:, :-1].ravel(), place[:-1].ravel()]
    targets = [place[:, 1:].ravel(), place[1:].ravel()]
    return Network.from_edges((np.concatenate(sources), np.concatenate(targets)))


def erdos_renyi(n: int, p: float, *, seed: int, connected: bool = True) -> Network:
    """Return n agents, each pair of whom is joined with probability p, independently.

    >>> erdos_renyi(100, 0.1, seed=1)
    Network(100 agents, 506 edges, non-bipartite, degrees 4–16)
    """
    rng = generator(seed)
    room_for(agents(n) * (n - 1) / 2 * chance(p))
    network = _pieces(n, random_pairs(n, p, rng))
    if connected and not network.is_connected:
        rule = "an Erdős–Rényi network must come out connected"
        remedy = (
            f"p well above ln(n)/n = {log(n) / n:.3g} makes that likely; or try another seed, "
            "or use connected=False and largest_component()"
        )
        raise refusal(rule, got=f"several components with n={n}, p={p}, seed={seed}", remedy=remedy)
    return network


def watts_strogatz(n: int, k: int, p: float, *, seed: int) -> Network:
    """Return a ring where each agent joins its k nearest, each edge rewired with probability p.

    See Watts and Strogatz, Nature 393, 440 (1998).

    >>> watts_strogatz(100, 4, 0.1, seed=1)
    Network(100 agents, 200 edges, non-bipartite, degrees 3–6)
    """
    rng = generator(seed)
    whole("k", k, least=2, remedy="each agent needs a neighbour on either side")
    if k % 2 or k >= agents(n):
        remedy = "half of the k neighbours stand on either side"
        raise refusal(f"k must be even and below n = {n}", got=k, remedy=remedy)
    room_for(n * k / 2)
    network = _pieces(n, rewired_ring(n, k, chance(p), rng))
    return _in_one_piece(network, f"n={n}, k={k}, p={p}, seed={seed}", "try another seed, a larger k or a smaller p")


def barabasi_albert(n: int, m: int, *, seed: int) -> Network:
    """Return a network grown from a star by agents who each join m others in proportion to their degrees.

    See Barabási and Albert, Science 286, 509 (1999); there are m(n - m) edges.

    >>> barabasi_albert(100, 2, seed=1)
    Network(100 agents, 196 edges, non-bipartite, degrees 2–22)
    """
    rng = generator(seed)
    whole("m", m, least=1, remedy="every new agent must join at least one other")
    agents(n)
    if m >= n:
        raise refusal(f"m must be below n = {n}", got=m, remedy="a new agent joins m distinct earlier ones")
    room_for(m * (n - m))
    return Network.from_edges(_grown(n, m, rng).reshape(-1, 2), n=n)


def _grown(n: int, m: int, rng: np.random.Generator) -> NDArray[np.int64]:
    length = 2 * m * (n - m)
    if n * m < INTERPRETED:
        few_ends = [0] * length
        attach(few_ends, [0] * n, m, rng)
        return np.array(few_ends, dtype=np.int64)
    # numba takes longer to load than small graphs take to grow.
    from peerpressure.networks.growth import attach_compiled

    ends = np.zeros(length, dtype=np.int64)
    attach_compiled(ends, np.zeros(n, dtype=np.int64), m, rng)
    return ends


def random_regular(n: int, degree: int, *, seed: int) -> Network:
    """Return n agents who all have the same number of neighbours, otherwise at random.

    >>> random_regular(100, 3, seed=1)
    Network(100 agents, 150 edges, non-bipartite, degree 3)
    """
    rng = generator(seed)
    whole("degree", degree, least=1, remedy="every agent needs a neighbour")
    if degree >= agents(n) or n * degree % 2:
        remedy = "n times degree counts every edge twice, so it must be even"
        raise refusal(f"degree must be below n = {n} and n·degree even", got=degree, remedy=remedy)
    room_for(n * degree / 2)
    # Dense pairings hardly ever close, but who is not a neighbour forms a sparse one.
    dense = 2 * degree > n - 1
    ends = _absent(n, regular_pairing(n, n - 1 - degree, rng)) if dense else regular_pairing(n, degree, rng)
    return _in_one_piece(_pieces(n, ends), f"n={n}, degree={degree}, seed={seed}", "try another seed, or degree 3")


def _absent(n: int, ends: Ends) -> Ends:
    """Return the pairs that are no edges."""
    missing = np.triu(np.ones((n, n), dtype=bool), 1)
    missing[np.minimum(*ends), np.maximum(*ends)] = False
    i, j = np.nonzero(missing)
    return i, j


def _pieces(n: int, ends: Ends) -> Network:
    return Network.from_edges(ends, n=n, connected=False)


def _in_one_piece(network: Network, asked: str, remedy: str) -> Network:
    if not network.is_connected:
        raise refusal("the network must come out connected", got=f"several components with {asked}", remedy=remedy)
    return network


GENERATORS: Mapping[str, Callable[..., Network]] = MappingProxyType(
    {
        "k2": k2,
        "path": path,
        "cycle": cycle,
        "complete": complete,
        "star": star,
        "grid": grid,
        "erdos_renyi": erdos_renyi,
        "watts_strogatz": watts_strogatz,
        "barabasi_albert": barabasi_albert,
        "random_regular": random_regular,
    }
)
