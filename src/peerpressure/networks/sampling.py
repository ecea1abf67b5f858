"""The random choices behind the generators: pairs, rewirings and pairings, as arrays of edges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

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
