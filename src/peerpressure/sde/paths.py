"""Paths drawn from the exact law of each step, with the engine's noise.

The noise of replicate r at step k for agent i depends on (seed, r, k, i) alone. Replicates are stepped in blocks of a
fixed width in which each has its own place, and a matrix product gives a column the same bits whatever stands beside
it; so a path does not depend on which others are drawn with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Vector

from .equation import SDE
from .transitions import exact_transitions

if TYPE_CHECKING:
    from peerpressure.engine.plan import Result

WIDTH = 16  # replicates of a block


def exact_paths(
    sde: SDE,
    steps: int,
    *,
    replicates: NDArray[np.int64],
    seed: int,
    start: Vector | None = None,
    start_step: int = 0,
    times: NDArray[np.int64] | None = None,
    agents: NDArray[np.int64] | None = None,
    report: Callable[[int], None] | None = None,
) -> Result:
    """Make ``steps`` exact steps of length h from ``start``, (agents,) or (replicates, agents).

    ``replicates`` are their numbers; ``times`` are the recorded steps, counted from step 0 of the equation and
    ``start_step`` among them where the start is to be kept; ``agents`` are the recorded ones, by index. The result
    holds their states, and the minimum, maximum and mean over all agents.
    """
    from peerpressure.engine.plan import Result

    n = sde.n
    kept = np.arange(start_step, start_step + steps + 1) if times is None else times
    who = np.arange(n) if agents is None else agents
    public = np.broadcast_to(sde.start_state if start is None else start, (replicates.size, n))
    blocks = _Blocks(sde, replicates, seed, np.array(public, dtype=np.float64))
    states = np.empty((replicates.size, kept.size, who.size))
    summaries = np.empty((replicates.size, kept.size, 3))
    slots = {int(step): slot for slot, step in enumerate(kept)}

    def keep(step: int) -> None:
        if (slot := slots.get(step)) is not None:
            states[:, slot] = blocks.public[:, who]
            summaries[:, slot] = _summary(blocks.public)

    keep(start_step)
    laws = exact_transitions(sde, start_step + 1, start_step + steps)
    for step, law in enumerate(laws, start_step + 1):
        blocks.advance(step, law.matrix, law.shift, law.root)
        keep(step)
        if report is not None:
            report(step - start_step)
    return Result(states=states, summaries=summaries, final=blocks.public, memory=None)


def _summary(public: Vector) -> Vector:
    """Return minimum, maximum and mean over agents; (replicates, 3)."""
    return np.stack([public.min(axis=1), public.max(axis=1), public.mean(axis=1)], axis=1)


class _Blocks:
    """The states of all replicates, (replicates, agents), while they are stepped block by block."""

    def __init__(self, sde: SDE, replicates: NDArray[np.int64], seed: int, public: Vector) -> None:
        from peerpressure.engine.plan import draw_of

        self.public = public
        self.draw = draw_of(sde.noise, seed)
        numbers, members = np.unique(replicates // WIDTH, return_inverse=True)
        self.blocks = [(int(b), np.flatnonzero(members == i)) for i, b in enumerate(numbers)]
        self.lanes = replicates % WIDTH

    def advance(self, step: int, matrix: Vector, shift: Vector, root: Vector) -> None:
        """Take every replicate through one step y ← F y + c + R z."""
        for block, rows in self.blocks:
            whole = np.zeros((self.public.shape[1], WIDTH))
            whole[:, self.lanes[rows]] = self.public[rows].T
            moved = matrix @ whole + shift[:, None] + root @ self._noise(step, block).T
            self.public[rows] = moved[:, self.lanes[rows]].T

    def _noise(self, step: int, block: int) -> Vector:
        from peerpressure.engine.narrow import draw_narrow
        from peerpressure.engine.plan import STREAM_FRESH

        drawn = np.zeros((WIDTH, self.public.shape[1]))
        draw_narrow(self.draw, step, block * WIDTH, STREAM_FRESH, drawn)
        return drawn
