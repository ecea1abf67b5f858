"""Small temporal networks of known structure, and the noise-free model written out plainly as their oracle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
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


def mean_path(model: Model, steps: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return public and hidden opinions without noise after each of the steps, shapes (steps + 1, agents)."""
    times = np.arange(1, steps + 1)
    pressure, rates, factors = model.pressure(times), np.zeros(steps), np.zeros(model.n)
    if model.adaptation is not None:
        rates, factors = model.adaptation.pace(times), model.adaptation.adaptation_weights(model.n)
    last = 1 if model.temporal_network is None else model.temporal_network.span
    rounds = [model.adjacency_at(t).toarray() for t in range(1, last + 1)]
    repeats = model.temporal_network is not None and model.temporal_network.period is not None
    whose = (times - 1) % last if repeats else np.minimum(times, last) - 1
    weights = pressure[:, None, None] * np.stack(rounds)[whose]
    total = model.s + weights.sum(axis=2)
    coupling, gain, rate = weights / total[:, :, None], model.s / total, rates[:, None] * factors
    # y' = g x + C y and x' = x + η (y' − x) as one matrix for (y, x), which leaves one product for each step.
    n, one = model.n, np.eye(model.n)
    F, path = np.zeros((steps, 2 * n, 2 * n)), np.empty((steps + 1, 2 * n))
    F[:, :n, :n], F[:, :n, n:] = coupling, gain[:, :, None] * one
    F[:, n:] = rate[:, :, None] * F[:, :n]
    F[:, n:, n:] += (1 - rate)[:, :, None] * one
    path[0] = np.concatenate([model.start_state, model.x0])
    for before, after, step in zip(path[:-1], path[1:], F, strict=True):
        np.matmul(step, before, out=after)
    return path[:, :n], path[:, n:]
