"""Networks that each process makes its own part of, from numbers and a seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from peerpressure.networks._sampling import Ends, pairs_of

_DRAWN = 2**20  # gaps that are drawn at a time


def grid_edges(rows: int, columns: int, first: int, last: int) -> Ends:
    """Return all edges of agents first…last−1 in a lattice, numbered row by row, from these agents."""
    agents = np.arange(first, last)
    row, column = np.divmod(agents, columns)
    sides = (
        (row > 0, -columns),
        (column > 0, -1),
        (column < columns - 1, 1),
        (row < rows - 1, columns),
    )
    sources = [agents[there] for there, _ in sides]
    return np.concatenate(sources), np.concatenate([one + step for one, (_, step) in zip(sources, sides, strict=True)])


def circulant_edges(n: int, offsets: NDArray[np.int64], first: int, last: int) -> Ends:
    """Return the edges from agents first…last−1 to those at these distances in the ring, on either side."""
    agents = np.arange(first, last)
    either = np.unique(np.concatenate([offsets, n - offsets]))
    return np.repeat(agents, either.size), np.add.outer(agents, either).ravel() % n


def small_world_edges(n: int, k: int, p: float, seed: int, first: int, last: int) -> Ends:
    """Return the edges that agents first…last−1 have to the k/2 agents after them in the ring, or instead of them.

    Whether an edge is rewired, and where to, are numbers of two random streams, one for each edge of the ring in the
    order of agents: no process needs those of others.
    """
    half = k // 2
    agents = np.repeat(np.arange(first, last), half)
    near = (agents + np.tile(np.arange(1, half + 1), last - first)) % n
    moves, places = (_stream(seed, number, first * half, agents.size) for number in (0, 1))
    # Uniform over all who are neither the agent nor its neighbours in the ring.
    far = (agents + half + 1 + (places * (n - k - 1)).astype(np.int64)) % n
    return agents, np.where(moves < p, far, near)


def _stream(seed: int, number: int, begin: int, count: int) -> NDArray[np.float64]:
    """Return uniform numbers ``begin``, ``begin`` + 1, … of a stream of a seed."""
    bits = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(number,)))
    # A double takes one draw.
    bits.advance(begin)
    return np.random.Generator(bits).random(count)


def random_graph_edges(n: int, p: float, seed: int, first: int, last: int) -> Ends:
    """Return the edges of G(n, p) whose larger or smaller end is one of agents first…last−1, as a directed list.

    The gaps between edges are those that ``networks.erdos_renyi`` draws. Each process draws all of them, because one
    depends on those before it, and keeps its own.
    """
    total, reached, rng = n * (n - 1) // 2, -1, np.random.default_rng(seed)
    # About as many as there are, or the sum of their gaps might exceed 64 bits.
    size = min(_DRAWN, int(total * p + 6 * np.sqrt(total * p)) + 16)
    kept: list[Ends] = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    # Below the first agent's row of the triangle no edge has an end here.
    begin = first * (first - 1) // 2
    while reached < total and p > 0:
        codes = reached + np.cumsum(np.minimum(rng.geometric(p, size), total + 1))
        reached = int(codes[-1])
        i, j = pairs_of(codes[(codes >= begin) & (codes < total)])
        kept += [(a[own], b[own]) for a, b in ((i, j), (j, i)) for own in [(a >= first) & (a < last)]]
    return np.concatenate([a for a, _ in kept]), np.concatenate([b for _, b in kept])
