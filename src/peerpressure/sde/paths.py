"""Paths drawn from the exact law of each step, with the engine's noise.

The noise of replicate r at step k for agent i depends only on (seed, r, k, i). Replicates are stepped in blocks of a
fixed width in which each has its own column, and a matrix product of a fixed shape computes a column to the same bits
whatever the other columns are. A path therefore does not depend on which others are drawn with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from peerpressure.model.step import Array
from peerpressure.sde.equation import SDE
from peerpressure.sde.transitions import exact_transitions

if TYPE_CHECKING:
    from peerpressure.simulation.engine.plan import RunResult


WIDTH = 16  # replicates of a block


def exact_paths(
    sde: SDE,
    steps: int,
    *,
    replicates: NDArray[np.int64],
    seed: int,
    start: Array | None = None,
    hidden: Array | None = None,
    memory: Array | None = None,
    start_step: int = 0,
    times: NDArray[np.int64] | None = None,
    agents: NDArray[np.int64] | None = None,
    report: Callable[[int], None] | None = None,
) -> RunResult:
    """Draw paths by exact steps of length h.

    Parameters
    ----------
    sde : SDE
        The equation, with its step h.
    steps : int
        Number of steps, at least 0.
    replicates : array of int
        Numbers of the replicates, which select their noise.
    seed : int
        Seed of the noise.
    start : array of shape (n,) or (replicates, n), optional
        Public opinions at ``start_step``; by default those of the equation.
    hidden : array of shape (n,) or (replicates, n), optional
        Hidden opinions at ``start_step``, if they adapt; by default x₀.
    memory : array of shape (n,) or (replicates, n), optional
        Memory of correlated noise at ``start_step``; by default it is drawn from its stationary law.
    start_step : int, default 0
        Step from which the paths go on.
    times : array of int, optional
        Recorded steps, counted from step 0 of the equation, with ``start_step`` among them where the start is to be
        kept; by default all.
    agents : array of int, optional
        Positions of the recorded agents; all by default.
    report : callable, optional
        Called with the number of steps done.

    Returns
    -------
    RunResult
        States (replicates, times, agents), summaries (minimum, maximum and mean over all agents) of shape
        (replicates, times, 3), and the final state; hidden opinions, too, if they adapt.

    Raises
    ------
    TooLargeError
        If the matrices of a step do not fit in memory.

    See Also
    --------
    peerpressure.simulate : Runs an ``SDE`` and returns a ``Trajectory``.

    Examples
    --------
    >>> import numpy as np
    >>> from peerpressure import SDE, Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.sde import exact_paths
    >>> sde = SDE(Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(0.5)))
    >>> exact_paths(sde, 10, replicates=np.arange(3), seed=1).states.shape
    (3, 11, 2)
    """
    from peerpressure.simulation.engine.plan import RunResult

    n, at = sde.n, sde.layout
    kept = np.arange(start_step, start_step + steps + 1) if times is None else times
    who = np.arange(n) if agents is None else agents
    blocks = _Blocks(sde, replicates, seed)
    blocks.begin(at.public, sde.start_state if start is None else start)
    blocks.begin(at.hidden, sde.x0 if hidden is None else hidden)
    if at.has_memory:
        blocks.begin(at.memory, blocks.drawn_memory(start_step) if memory is None else memory)
    shape = (replicates.size, kept.size, who.size)
    states, adapting = np.empty(shape), np.empty(shape) if at.has_hidden else None
    summaries = np.empty((replicates.size, kept.size, 3))
    slots = {int(step): slot for slot, step in enumerate(kept)}

    def keep(step: int) -> None:
        if (slot := slots.get(step)) is not None:
            states[:, slot] = blocks.state[:, who]
            summaries[:, slot] = _summary(blocks.state[:, at.public])
            if adapting is not None:
                adapting[:, slot] = blocks.state[:, n + who]

    keep(start_step)
    laws = exact_transitions(sde, start_step + 1, start_step + steps)
    for step, law in enumerate(laws, start_step + 1):
        blocks.advance(step, law.matrix, law.shift, law.root)
        keep(step)
        if report is not None:
            report(step - start_step)
    # Frozen draws are repeated from the seed where a run is resumed.
    carried = blocks.state[:, at.memory] if at.has_memory and not sde.noise.is_frozen else None
    moved = blocks.state[:, at.hidden] if at.has_hidden else None
    return RunResult(states, summaries, blocks.state[:, at.public], carried, adapting, moved)


def _summary(public: Array) -> Array:
    """Return minimum, maximum and mean over agents; (replicates, 3)."""
    return np.stack([public.min(axis=1), public.max(axis=1), public.mean(axis=1)], axis=1)


class _Blocks:
    """The states of all replicates, (replicates, states), while they are stepped block by block."""

    def __init__(self, sde: SDE, replicates: NDArray[np.int64], seed: int) -> None:
        from peerpressure.simulation.engine.plan import draw_of

        self.sde, self.state = sde, np.empty((replicates.size, sde.layout.states))
        self.draw = draw_of(sde.noise, seed)
        # By the replicate's number and not its position in this call: every call places it in the same column.
        numbers, members = np.unique(replicates // WIDTH, return_inverse=True)
        self.blocks = [(int(b), np.flatnonzero(members == i)) for i, b in enumerate(numbers)]
        self.lanes = replicates % WIDTH

    def begin(self, part: slice, values: Array) -> None:
        """Set a part of the state, one for all replicates or one for each; one that is not there stays so."""
        if part.stop > part.start:
            self.state[:, part] = values

    def drawn_memory(self, start_step: int) -> Array:
        """Return the first memory of correlated noise, from the draws with which the engine starts as well."""
        from peerpressure.simulation.engine.plan import STREAM_FROZEN

        step, memory = 0 if self.sde.noise.is_frozen else start_step, np.empty((self.lanes.size, self.sde.n))
        for block, rows in self.blocks:
            memory[rows] = self._drawn(step, block, STREAM_FROZEN, self.sde.n)[self.lanes[rows]]
        return memory

    def advance(self, step: int, matrix: Array, shift: Array, root: Array) -> None:
        """Take every replicate through one step z ← F z + c + R w."""
        from peerpressure.simulation.engine.plan import STREAM_FRESH

        size = self.state.shape[1]
        for block, rows in self.blocks:
            # Always WIDTH columns: BLAS may choose another kernel, and another rounding, for another shape.
            whole = np.zeros((size, WIDTH))
            whole[:, self.lanes[rows]] = self.state[rows].T
            drawn = self._drawn(step, block, STREAM_FRESH, size)
            moved = matrix @ whole + shift[:, None] + root @ drawn.T
            self.state[rows] = moved[:, self.lanes[rows]].T

    def _drawn(self, step: int, block: int, stream: int, size: int) -> Array:
        from peerpressure.simulation.engine.narrow import draw_narrow

        drawn = np.zeros((WIDTH, size))
        # The draws of all columns, also of those that are not used, for the price of one call.
        draw_narrow(self.draw, step, block * WIDTH, stream, drawn)
        return drawn
