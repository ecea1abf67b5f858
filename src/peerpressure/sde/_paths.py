"""Paths drawn from the exact law of each step, with the engine's noise.

The noise of replicate r at step k for agent i depends only on (seed, r, k, i). Replicates are stepped in blocks of a
fixed width in which each has its own column, and a matrix product of a fixed shape computes a column to the same bits
whatever the other columns are, so that a path does not depend on which others are drawn with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Vector
from peerpressure.sde._equation import SDE
from peerpressure.sde._moments import exact_transitions

if TYPE_CHECKING:
    from peerpressure.engine.plan import RunResult


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
) -> RunResult:
    """Make ``steps`` exact steps of length h from ``start``, (agents,) or (replicates, agents).

    ``replicates`` are their numbers; ``times`` are the recorded steps, counted from step 0 of the equation and
    ``start_step`` among them where the start is to be kept; ``agents`` are the recorded ones, by index. The result
    has their states, and the minimum, maximum and mean over all agents.
    """
    from peerpressure.engine.plan import RunResult

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
    return RunResult(states=states, summaries=summaries, final=blocks.public, memory=None)


def _summary(public: Vector) -> Vector:
    """Return minimum, maximum and mean over agents; (replicates, 3)."""
    return np.stack([public.min(axis=1), public.max(axis=1), public.mean(axis=1)], axis=1)


class _Blocks:
    """The states of all replicates, (replicates, agents), while they are stepped block by block."""

    def __init__(self, sde: SDE, replicates: NDArray[np.int64], seed: int, public: Vector) -> None:
        from peerpressure.engine.plan import draw_of

        self.public = public
        self.draw = draw_of(sde.noise, seed)
        # By the replicate's number and not its position in this call, so that every call places it in the same column.
        numbers, members = np.unique(replicates // WIDTH, return_inverse=True)
        self.blocks = [(int(b), np.flatnonzero(members == i)) for i, b in enumerate(numbers)]
        self.lanes = replicates % WIDTH

    def advance(self, step: int, matrix: Vector, shift: Vector, root: Vector) -> None:
        """Take every replicate through one step y ← F y + c + R z."""
        for block, rows in self.blocks:
            # Always WIDTH columns: BLAS may choose another kernel, and another rounding, for another shape.
            whole = np.zeros((self.public.shape[1], WIDTH))
            whole[:, self.lanes[rows]] = self.public[rows].T
            moved = matrix @ whole + shift[:, None] + root @ self._noise(step, block).T
            self.public[rows] = moved[:, self.lanes[rows]].T

    def _noise(self, step: int, block: int) -> Vector:
        from peerpressure.engine.narrow import draw_narrow
        from peerpressure.engine.plan import STREAM_FRESH

        drawn = np.zeros((WIDTH, self.public.shape[1]))
        # The draws of all columns, also of those that are not used, for the price of one call.
        draw_narrow(self.draw, step, block * WIDTH, STREAM_FRESH, drawn)
        return drawn


# Euler–Maruyama in plain NumPy: one step, and the exact moments of many, which need no sampling either.


def euler_step(sde: SDE, k: int, public: Vector, z: Vector) -> Vector:
    """Return the state at t_k = k·h from that at t_{k−1}: y ← (1 − h) y + h (g ∘ x₀ + C y) + √h G z.

    Coefficients are those of the step's end, which makes a step of length 1 with the model's scaling the discrete
    model itself; any point within the step would give the same orders. States and the standard normal z have
    shape (agents,) or (agents, batch).

    >>> from peerpressure.model import Model
    >>> from peerpressure.networks import k2
    >>> model = Model(k2(), hidden=[1.0, 2.0], stubbornness=[3.0, 1.0])
    >>> euler_step(SDE(model, step=1.0), 1, model.start_state, np.zeros(2)) == model.update(1)(model.start_state)
    array([ True,  True])
    """
    h, t = sde.step, sde.time(k)
    update = sde.update(t)
    size = sde.noise_size(t, update)
    jitter = (size[:, None] if np.ndim(z) == 2 else size) * z
    return np.asarray((1 - h) * public + h * update(public) + math.sqrt(h) * jitter)


def euler_moments(sde: SDE, steps: int) -> Iterator[tuple[Vector, Vector]]:
    """Yield mean (agents,) and covariance (agents, agents) of Euler's state after 1, 2, …, ``steps`` steps.

    The scheme is linear with Gaussian noise, so that its own moments are exact: m ← m + h (b − B m) and
    P ← M P Mᵀ + h GGᵀ with M = (1 − h) I + h C.
    """
    n, h = sde.n, sde.step
    mean, covariance = sde.start_state, np.zeros((n, n))
    for k in range(1, steps + 1):
        t = sde.time(k)
        update = sde.update(t)
        mean = (1 - h) * mean + h * update(mean)
        # M P Mᵀ as M (M P)ᵀ: two sparse products, and M is never formed.
        half = (1 - h) * covariance + h * update.couple(covariance)
        covariance = (1 - h) * half + h * update.couple(np.ascontiguousarray(half.T)).T
        covariance.flat[:: n + 1] += h * sde.noise_size(t, update) ** 2
        yield mean, covariance
