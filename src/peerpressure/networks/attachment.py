"""Preferential attachment, written once: run as plain Python for small graphs, compiled for large ones."""

from __future__ import annotations

from typing import Any


def attach(ends: Any, marks: Any, m: int, rng: Any) -> None:
    """Fill ``ends`` with the two ends of every edge, newcomer first, in the order in which they are made.

    Agents 0..m start as a star around 0.  Each later agent joins m distinct earlier ones, drawn with
    probability proportional to their degrees before it came: an agent of degree k stands k times in
    ``ends``, so a uniform place there is a draw by degree.  ``marks``, one zero per agent, holds the
    last newcomer that chose each agent.
    """
    for leaf in range(1, m + 1):
        ends[2 * leaf - 2] = leaf
        ends[2 * leaf - 1] = 0
    filled = 2 * m
    for newcomer in range(m + 1, len(marks)):
        pool = filled
        for _ in range(m):
            chosen = ends[int(rng.random() * pool)]
            while marks[chosen] == newcomer:
                chosen = ends[int(rng.random() * pool)]
            marks[chosen] = newcomer
            ends[filled] = newcomer
            ends[filled + 1] = chosen
            filled += 2
