"""Edges that move: one end stays, the other goes to somebody new."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from peerpressure.networks.network import Network
from peerpressure.networks.temporal.events import Events

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
