"""Small temporal networks of known structure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from peerpressure.networks import TemporalNetwork

Edges = Sequence[tuple[int, int]]
AGENTS = 6
STAR = [(0, i) for i in range(1, AGENTS)]
DETOUR = [(0, 2), (2, 4), (4, 1), (1, 3), (3, 5), (5, 0)]
RING = [*((i, (i + 1) % AGENTS) for i in range(AGENTS)), (1, 3)]


def in_rounds(*rounds: Edges, periodic: bool = True, n: int = AGENTS) -> TemporalNetwork:
    """Return the network with these edges in steps 1, 2, …, over and over if it is periodic."""
    matrices = []
    for edges in rounds:
        A = np.zeros((n, n))
        for i, j in edges:
            A[i, j] = A[j, i] = 1.0
        matrices.append(A)
    return TemporalNetwork.from_snapshots(matrices, period=len(rounds) if periodic else None)


CHANGING = {
    # Degrees change from step to step, so opinions do not count by stubbornness alone.
    "star and ring": in_rounds(STAR, RING),
    # Every step is a tree on all agents, and still two closed classes pass through them in turn.
    "two closed classes": in_rounds([(0, 1), (1, 3), (3, 2), (1, 4), (3, 5)], [(1, 0), (0, 2), (2, 3), (0, 4), (2, 5)]),
    # Agent 0 is isolated in every other step, and every public opinion can be traced back to its own.
    "one alone": in_rounds([(1, 2), (2, 3), (3, 4), (4, 5), (5, 1)], STAR),
    # Agent 5 is isolated in every other step.
    "isolated": in_rounds([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5)], [(2, 3), (0, 1), (1, 4)]),
    # Agents 0, 4 and 5 are isolated in turn, and every public opinion can be traced back to theirs.
    "in turn": in_rounds([(0, 1), (1, 2), (2, 3)], [(1, 2), (2, 3), (3, 4), (4, 5)]),
    # Pairs alternate; two closed classes that are attracted to the same value.
    "pairs": in_rounds([(0, 1), (2, 3), (4, 5)], [(1, 2), (3, 4), (5, 0)]),
    # Everybody has three neighbours in every step, though not the same.
    "same degrees": in_rounds([*RING[:-1], (0, 3), (1, 4), (2, 5)], [*DETOUR, (0, 3), (1, 2), (4, 5)]),
    # A triangle, a pair and a single agent, never connected again.
    "groups": in_rounds(RING, [(0, 1), (1, 2), (0, 2), (3, 4)], periodic=False),
    "settles": in_rounds(STAR, RING, periodic=False),
    "ends": in_rounds(RING, [], periodic=False),
}
