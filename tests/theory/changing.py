"""Small networks that change in known ways, and the noiseless model written out plainly as their oracle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.networks import EvolvingNetwork

Edges = Sequence[tuple[int, int]]
AGENTS = 6
STAR = [(0, i) for i in range(1, AGENTS)]
RING = [*((i, (i + 1) % AGENTS) for i in range(AGENTS)), (1, 3)]


def in_rounds(*rounds: Edges, periodic: bool = True, n: int = AGENTS) -> EvolvingNetwork:
    """Return the network with these edges in rounds 1, 2, …, over and over if it is periodic."""
    matrices = []
    for edges in rounds:
        A = np.zeros((n, n))
        for i, j in edges:
            A[i, j] = A[j, i] = 1.0
        matrices.append(A)
    return EvolvingNetwork.from_snapshots(matrices, period=len(rounds) if periodic else None)


CHANGING = {
    # Degrees change from round to round, so that opinions do not count by stubbornness alone.
    "star and ring": in_rounds(STAR, RING),
    # Every round is connected, and still two circles pass through all agents in turn.
    "two circles": in_rounds(
        [(0, 1), (2, 3), (4, 5), (3, 5), (2, 4)], [(0, 1), (0, 2), (2, 3), (4, 5), (2, 4), (3, 5)]
    ),
    # Agent 5 is alone in every other round.
    "lonely": in_rounds([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5)], [(2, 3), (0, 1), (1, 4)]),
    # Only pairs meet, in turn; two circles that are drawn to the same value.
    "pairs": in_rounds([(0, 1), (2, 3), (4, 5)], [(1, 2), (3, 4), (5, 0)]),
    # Two triangles that never meet again, and a pair.
    "groups": in_rounds(RING, [(0, 1), (1, 2), (0, 2), (3, 4)], periodic=False),
    "settles": in_rounds(STAR, RING, periodic=False),
    "ends": in_rounds(RING, [], periodic=False),
}


def mean_path(model: Model, steps: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what agents show and hold without noise after each of the steps, shapes (steps + 1, agents)."""
    y, x = model.start_state.copy(), model.x0.copy()
    shown, held = [y], [x]
    for t in range(1, steps + 1):
        A, rho = model.adjacency_at(t).toarray(), float(model.pressure(t))
        y = (model.s * x + rho * (A @ y)) / (model.s + rho * A.sum(axis=1))
        eta = 0.0 if model.adaptation is None else model.adaptation.at(t, model.n)
        x = x + eta * (y - x)
        shown.append(y)
        held.append(x)
    return np.array(shown), np.array(held)
