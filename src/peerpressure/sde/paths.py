"""Paths drawn from the exact law of each step, with the engine's noise, and steps of Euler–Maruyama.

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

from peerpressure.affine import adapted
from peerpressure.sde.equation import SDE
from peerpressure.sde.moments import start_of
from peerpressure.sde.transitions import exact_transitions
from peerpressure.step import Array

if TYPE_CHECKING:
    from peerpressure.engine.plan import RunResult


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
        Hidden opinions at ``start_step``, where they adapt; by default x₀.
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
        (replicates, times, 3), and the final state; hidden opinions, too, where they adapt.

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
    from peerpressure.engine.plan import RunResult

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
    # Frozen draws are made anew from the seed where a run is resumed.
    carried = blocks.state[:, at.memory] if at.has_memory and not sde.noise.is_frozen else None
    moved = blocks.state[:, at.hidden] if at.has_hidden else None
    return RunResult(states, summaries, blocks.state[:, at.public], carried, adapting, moved)


def _summary(public: Array) -> Array:
    """Return minimum, maximum and mean over agents; (replicates, 3)."""
    return np.stack([public.min(axis=1), public.max(axis=1), public.mean(axis=1)], axis=1)


class _Blocks:
    """The states of all replicates, (replicates, states), while they are stepped block by block."""

    def __init__(self, sde: SDE, replicates: NDArray[np.int64], seed: int) -> None:
        from peerpressure.engine.plan import draw_of

        self.sde, self.state = sde, np.empty((replicates.size, sde.layout.states))
        self.draw = draw_of(sde.noise, seed)
        # By the replicate's number and not its position in this call, so that every call places it in the same column.
        numbers, members = np.unique(replicates // WIDTH, return_inverse=True)
        self.blocks = [(int(b), np.flatnonzero(members == i)) for i, b in enumerate(numbers)]
        self.lanes = replicates % WIDTH

    def begin(self, part: slice, values: Array) -> None:
        """Set a part of the state, one for all replicates or one for each; one that is not there stays so."""
        if part.stop > part.start:
            self.state[:, part] = values

    def drawn_memory(self, start_step: int) -> Array:
        """Return the first memory of correlated noise, from the draws with which the engine starts as well."""
        from peerpressure.engine.plan import STREAM_FROZEN

        step, memory = 0 if self.sde.noise.is_frozen else start_step, np.empty((self.lanes.size, self.sde.n))
        for block, rows in self.blocks:
            memory[rows] = self._drawn(step, block, STREAM_FROZEN, self.sde.n)[self.lanes[rows]]
        return memory

    def advance(self, step: int, matrix: Array, shift: Array, root: Array) -> None:
        """Take every replicate through one step z ← F z + c + R w."""
        from peerpressure.engine.plan import STREAM_FRESH

        size = self.state.shape[1]
        for block, rows in self.blocks:
            # Always WIDTH columns: BLAS may choose another kernel, and another rounding, for another shape.
            whole = np.zeros((size, WIDTH))
            whole[:, self.lanes[rows]] = self.state[rows].T
            drawn = self._drawn(step, block, STREAM_FRESH, size)
            moved = matrix @ whole + shift[:, None] + root @ drawn.T
            self.state[rows] = moved[:, self.lanes[rows]].T

    def _drawn(self, step: int, block: int, stream: int, size: int) -> Array:
        from peerpressure.engine.narrow import draw_narrow

        drawn = np.zeros((WIDTH, size))
        # The draws of all columns, also of those that are not used, for the price of one call.
        draw_narrow(self.draw, step, block * WIDTH, stream, drawn)
        return drawn


# Euler–Maruyama in plain NumPy: one step, and the exact moments of many, which need no sampling either.


def euler_step(sde: SDE, k: int, state: Array, z: Array) -> Array:
    """Return the state at t_k = k·h from that at t_{k−1}: y ← (1 − h) y + h (g ∘ x₀ + C y) + √h G z.

    Correlated noise u has its exact step, with autocorrelation φ^h, and adds h G u; hidden opinions that adapt follow
    y of the same step. Coefficients are those of the step's end, which makes a step of length 1 with the model's
    scaling the discrete model itself; any point within the step would give the same orders.

    Parameters
    ----------
    sde : SDE
        The equation, with its step h.
    k : int
        Number of the step, from 1.
    state : array of shape (states,) or (states, batch)
        State at t_{k−1}: y, hidden opinions where they adapt, memory of the noise where it is correlated.
    z : array of shape (n,) or (n, batch)
        Standard normal numbers.

    Returns
    -------
    array
        State at t_k, in the shape of ``state``.

    See Also
    --------
    exact_paths : Paths without an error of steps.

    References
    ----------
    .. [1] P. E. Kloeden and E. Platen (1992), Numerical Solution of Stochastic Differential Equations, Springer.

    Examples
    --------
    >>> import numpy as np
    >>> from peerpressure import SDE, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.sde import euler_step
    >>> model = Model(k2(), hidden=[1.0, 2.0], stubbornness=[3.0, 1.0])
    >>> euler_step(SDE(model, step=1.0), 1, model.start_state, np.zeros(2)) == model.update(1)(model.start_state)
    array([ True,  True])
    """
    hidden = sde.x0 if state.ndim == 1 else sde.x0[:, None]
    return euler_map(sde, k, state, np.broadcast_to(hidden, (sde.n, *state.shape[1:])), z)


def euler_map(sde: SDE, k: int, columns: Array, hidden: Array | None = None, noise: Array | None = None) -> Array:
    """Return F Z + B X + G W of Euler's step k for columns Z (states, m), hidden opinions X and draws W (agents, m)."""
    at, h, t = sde.layout, sde.step, sde.time(k)
    update, public = sde.update(t), columns[at.public]
    preferred = columns[at.hidden] if at.has_hidden else np.zeros_like(public) if hidden is None else hidden
    moved = (1 - h) * public + h * update(public, hidden=preferred)
    size, out = sde.noise_size(t, update), np.empty_like(columns)
    size = size[:, None] if columns.ndim == 2 else size
    if at.has_memory:
        carry = sde.noise.autocorrelation**h
        out[at.memory] = carry * columns[at.memory]
        if noise is not None and carry < 1:
            out[at.memory] += math.sqrt((1 - carry) * (1 + carry)) * noise
        moved += h * size * out[at.memory]
    elif noise is not None:
        moved += math.sqrt(h) * (size * noise)
    out[at.public] = moved
    if at.has_hidden:
        rate = h * (np.zeros(sde.n) if update.adaptation_rate is None else update.adaptation_rate)
        out[at.hidden] = adapted(preferred, moved, rate[:, None] if columns.ndim == 2 else rate)
    return out


def euler_moments(sde: SDE, steps: int) -> Iterator[tuple[Array, Array]]:
    """Yield mean (agents,) and covariance (agents, agents) of Euler's state after 1, 2, …, ``steps`` steps.

    The scheme is linear with Gaussian noise, so that its own moments are exact: m ← m + h (b − B m) and
    P ← M P Mᵀ + h GGᵀ with M = (1 − h) I + h C, and alike for the states of adaptation and correlated noise.

    Parameters
    ----------
    sde : SDE
        The equation, with its step h.
    steps : int
        Number of steps, at least 0.

    Yields
    ------
    mean : array of shape (n,)
        Mean after the step.
    covariance : array of shape (n, n)
        Covariance after the step.

    See Also
    --------
    gaussian_path : Moments of the equation itself.
    euler_step : One step of the scheme.

    Examples
    --------
    >>> from peerpressure import SDE, Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.sde import euler_moments, moments_at
    >>> sde = SDE(Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(0.5)), step=0.01)
    >>> *_, (mean, _) = euler_moments(sde, 100)
    >>> bool(abs(mean - moments_at(sde, 1.0).mean[0]).max() < sde.step)
    True
    """
    at, n, nothing = sde.layout, sde.n, np.zeros((sde.layout.states, sde.n))
    mean, covariance = start_of(sde) + sde.centre, np.zeros((at.states, at.states))
    mean[at.memory] = 0.0
    np.einsum("ii->i", covariance[at.memory, at.memory])[...] = 1.0
    for k in range(1, steps + 1):
        mean = euler_map(sde, k, mean, sde.x0)
        # M P Mᵀ as M (M P)ᵀ: two sparse products, and M is never formed.
        half = euler_map(sde, k, covariance)
        covariance = euler_map(sde, k, np.ascontiguousarray(half.T)).T
        if at.states == n:
            covariance.flat[:: n + 1] += sde.step * sde.noise_size(sde.time(k)) ** 2
        else:
            drawn = euler_map(sde, k, nothing, noise=np.eye(n))
            covariance = covariance + drawn @ drawn.T
        yield mean[at.public], covariance[at.public, at.public]
