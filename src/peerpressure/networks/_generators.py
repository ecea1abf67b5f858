"""The random choices behind the generators: pairs, rewirings and pairings, as arrays of edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import log
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from peerpressure.networks._loops import attach, compiled
from peerpressure.networks._network import Network
from peerpressure.networks._validation import (
    check_agents,
    check_integer,
    check_memory,
    check_probability,
    network_error,
    random_generator,
)

Ends = tuple[NDArray[np.int64], NDArray[np.int64]]

BLOCK = 4096  # random numbers drawn at a time


def random_pairs(n: int, p: float, rng: np.random.Generator) -> Ends:
    """Return each of the n(n-1)/2 pairs with probability p, independently, in time linear in the result.

    The gaps between chosen pairs are geometric (Batagelj and Brandes, Phys. Rev. E 71, 036113, 2005).
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
    """Return a ring where each agent joins its k nearest, with each edge's far end moved with probability p.

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
            continue  # it has no agent left to move to
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

    Free ends are shuffled and paired; pairs that would be loops or repeats are broken up and tried again,
    all from the start where none can be mended (Steger and Wormald, Comb. Probab. Comput. 8, 377, 1999).
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
        if not good.any() and not _mendable(np.unique(free), made, n):
            return None
        made = np.concatenate([made, codes[good]])
        free = np.concatenate([i[~good], j[~good]])
    return made


def _mendable(agents: NDArray[np.int64], made: NDArray[np.int64], n: int) -> bool:
    """Return whether any two of the agents could still be joined."""
    i, j = np.triu_indices(agents.size, 1)
    return not np.isin(_codes(agents[i], agents[j], n), made).all()


# Networks to order: small shapes with closed forms, and the random graphs of the literature.
#
# Every random generator takes a ``seed`` and returns the same network for the same seed on every machine.

INTERPRETED = 20_000  # attachments up to which plain Python is done before numba would be loaded


def k2() -> Network:
    """Return the smallest network: two agents who listen to each other.

    >>> k2()
    Network(2 agents, 1 edge, bipartite, degree 1)
    """
    return path(2)


def path(n: int) -> Network:
    """Return n agents in a line."""
    steps = np.arange(check_agents(n) - 1)
    return Network.from_edges((steps, steps + 1))


def cycle(n: int) -> Network:
    """Return n agents in a ring; it is bipartite exactly when n is even."""
    steps = np.arange(check_agents(n, least=3))
    return Network.from_edges((steps, (steps + 1) % n))


def complete(n: int) -> Network:
    """Return n agents who all listen to one another."""
    check_memory(check_agents(n) * (n - 1) / 2)
    return Network.from_edges(np.triu_indices(n, 1))


def star(n: int) -> Network:
    """Return n agents, of whom agent 0 is joined to all the others."""
    leaves = np.arange(1, check_agents(n))
    return Network.from_edges((np.zeros_like(leaves), leaves))


def grid(rows: int, columns: int) -> Network:
    """Return a rectangular lattice, numbered row by row.

    >>> grid(2, 3)
    Network(6 agents, 7 edges, bipartite, degrees 2–3)
    """
    remedy = "ask for at least one row and one column, and two agents in all"
    check_integer("rows", rows, least=1, remedy=remedy)
    check_integer("columns", columns, least=1 if rows > 1 else 2, remedy=remedy)
    place = np.arange(rows * columns).reshape(rows, columns)
    sources = [place[:, :-1].ravel(), place[:-1].ravel()]
    targets = [place[:, 1:].ravel(), place[1:].ravel()]
    return Network.from_edges((np.concatenate(sources), np.concatenate(targets)))


def erdos_renyi(n: int, p: float, *, seed: int, connected: bool = True) -> Network:
    """Return n agents, each pair of whom is joined with probability p, independently.

    >>> erdos_renyi(100, 0.1, seed=1)
    Network(100 agents, 506 edges, non-bipartite, degrees 4–16)
    """
    rng = random_generator(seed)
    check_memory(check_agents(n) * (n - 1) / 2 * check_probability("p", p))
    network = _pieces(n, random_pairs(n, p, rng))
    if connected and not network.is_connected:
        rule = "an Erdős–Rényi network must come out connected"
        remedy = (
            f"p well above ln(n)/n = {log(n) / n:.3g} makes that likely; or try another seed, "
            "or use connected=False and largest_component()"
        )
        raise network_error(rule, got=f"several components with n={n}, p={p}, seed={seed}", remedy=remedy)
    return network


def watts_strogatz(n: int, k: int, p: float, *, seed: int) -> Network:
    """Return a ring where each agent joins its k nearest, each edge rewired with probability p.

    See Watts and Strogatz, Nature 393, 440 (1998).

    >>> watts_strogatz(100, 4, 0.1, seed=1)
    Network(100 agents, 200 edges, non-bipartite, degrees 3–6)
    """
    rng = random_generator(seed)
    check_integer("k", k, least=2, remedy="each agent needs a neighbour on either side")
    if k % 2 or k >= check_agents(n):
        remedy = "half of the k neighbours stand on either side"
        raise network_error(f"k must be even and below n = {n}", got=k, remedy=remedy)
    check_memory(n * k / 2)
    network = _pieces(n, rewired_ring(n, k, check_probability("p", p), rng))
    return _in_one_piece(network, f"n={n}, k={k}, p={p}, seed={seed}", "try another seed, a larger k or a smaller p")


def barabasi_albert(n: int, m: int, *, seed: int) -> Network:
    """Return a network grown from a star by agents who each join m others in proportion to their degrees.

    See Barabási and Albert, Science 286, 509 (1999); there are m(n - m) edges.

    >>> barabasi_albert(100, 2, seed=1)
    Network(100 agents, 196 edges, non-bipartite, degrees 2–22)
    """
    rng = random_generator(seed)
    check_integer("m", m, least=1, remedy="every new agent must join at least one other")
    check_agents(n)
    if m >= n:
        raise network_error(f"m must be below n = {n}", got=m, remedy="a new agent joins m distinct earlier ones")
    check_memory(m * (n - m))
    return Network.from_edges(_grown(n, m, rng).reshape(-1, 2), n=n)


def _grown(n: int, m: int, rng: np.random.Generator) -> NDArray[np.int64]:
    length = 2 * m * (n - m)
    if n * m < INTERPRETED:
        few_ends = [0] * length
        attach(few_ends, [0] * n, m, rng)
        return np.array(few_ends, dtype=np.int64)
    ends = np.zeros(length, dtype=np.int64)
    compiled(attach)(ends, np.zeros(n, dtype=np.int64), m, rng)
    return ends


def random_regular(n: int, degree: int, *, seed: int) -> Network:
    """Return n agents who all have the same number of neighbours, otherwise at random.

    >>> random_regular(100, 3, seed=1)
    Network(100 agents, 150 edges, non-bipartite, degree 3)
    """
    rng = random_generator(seed)
    check_integer("degree", degree, least=1, remedy="every agent needs a neighbour")
    if degree >= check_agents(n) or n * degree % 2:
        remedy = "n times degree counts every edge twice, so it must be even"
        raise network_error(f"degree must be below n = {n} and n·degree even", got=degree, remedy=remedy)
    check_memory(n * degree / 2)
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
        raise network_error(
            "the network must come out connected", got=f"several components with {asked}", remedy=remedy
        )
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
