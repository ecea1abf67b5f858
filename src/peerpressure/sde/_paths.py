"""Paths drawn from the exact law of each step, with the engine's noise, and how fast discrete steps converge to them.

The noise of replicate r at step k for agent i depends only on (seed, r, k, i). Replicates are stepped in blocks of a
fixed width in which each has its own column, and a matrix product of a fixed shape computes a column to the same bits
whatever the other columns are, so that a path does not depend on which others are drawn with it.

Euler–Maruyama is of weak order 1 here, for mean and variance alike; and of strong order 1, not ½, because the noise
does not depend on the state. The weak errors are exact, for the scheme's own moments are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.affine import adapted
from peerpressure.errors import InvalidInputError, message
from peerpressure.sde._equation import SDE
from peerpressure.sde._moments import checked_weights, moments_at, moments_of, start_of
from peerpressure.sde._transitions import exact_transitions
from peerpressure.step import Array

if TYPE_CHECKING:
    import pandas as pd

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


# Convergence of discrete steps to the equation: tables of exact errors, and of paths with shared noise.

# Powers of 2, so that multiples of the step are exact and end at whole times.
HALVINGS = tuple(2.0**-k for k in range(7))


def shrinking_steps(sde: SDE, until: float, weights: ArrayLike, steps: Sequence[float] = HALVINGS[:5]) -> pd.DataFrame:
    """Return mean and deviation of one weighted sum over time, for each length of step and for the equation itself.

    Columns are step (0 for the equation), time, mean and std; with scaling="model" the step of length 1 is the
    discrete model.
    """
    import pandas as pd

    row = checked_weights(sde, weights)[:1]
    fine = np.linspace(0.0, until, 201)
    law = moments_of(sde, row, fine)
    rows = [(0.0, t, m, math.sqrt(V)) for t, m, V in zip(fine, law.mean[:, 0], law.variance[:, 0], strict=True)]
    for h in steps:
        rows.append((h, 0.0, float(row[0] @ sde.start_state), 0.0))
        for k, (mean, covariance) in enumerate(euler_moments(with_step(sde, h), step_count(until, h)), 1):
            deviation = math.sqrt(float(row[0] @ covariance @ row[0]))
            rows.append((h, k * h, float(row[0] @ mean), deviation))
    return pd.DataFrame(rows, columns=["step", "time", "mean", "std"])


def weak_errors(sde: SDE, until: float, steps: Sequence[float] = HALVINGS) -> pd.DataFrame:
    """Return the largest error, over agents, of Euler's mean and standard deviation at time ``until``; both exact.

    >>> from peerpressure.model import Model
    >>> from peerpressure.networks import k2
    >>> errors = weak_errors(SDE(Model(k2(), hidden=[0.0, 1.0])), 4.0, steps=[1 / 32, 1 / 64])
    >>> round(observed_order(errors["step"], errors["mean_error"]), 1)
    1.0
    """
    import pandas as pd

    exact = moments_at(sde, [until])
    rows = []
    for h in steps:
        *_, (mean, covariance) = euler_moments(with_step(sde, h), step_count(until, h))
        of_std = np.abs(np.sqrt(np.diag(covariance)) - np.sqrt(exact.variance[0]))
        rows.append((h, float(np.abs(mean - exact.mean[0]).max()), float(of_std.max())))
    return pd.DataFrame(rows, columns=["step", "mean_error", "std_error"])


def strong_errors(
    sde: SDE,
    until: float,
    steps: Sequence[float] = HALVINGS[1:],
    *,
    replicates: int = 200,
    seed: int = 0,
    finer: int = 32,
) -> pd.DataFrame:
    """Return how far Euler's paths are at time ``until`` from the path that the same noise drives in fine steps.

    All lengths of step share one Brownian motion: its increments over the finest steps, ``finer`` times as short as the
    shortest of ``steps``, are summed over longer ones. Columns are step, error (root mean square over agents and
    replicates) and standard_error, by replicates.
    """
    import pandas as pd

    # The reference path has an error of its own, 1/``finer`` of that of the finest step, as the order is 1.
    reference = min(steps) / finer
    lengths = [step_count(h, reference) for h in steps]
    paths = _coupled_paths(sde, until, reference, [*lengths, 1], replicates, seed)
    # Averaged over agents first: they are dependent, while replicates are independent and give the standard error.
    squares = [np.mean((path - paths[-1]) ** 2, axis=0) for path in paths[:-1]]
    rows = []
    for h, square in zip(steps, squares, strict=True):
        error = math.sqrt(float(square.mean()))
        spread = float(square.std(ddof=1)) / math.sqrt(replicates)
        # Delta method: the standard error of a square root is that of the square over twice the root.
        rows.append((h, error, spread / (2 * error) if error else 0.0))
    return pd.DataFrame(rows, columns=["step", "error", "standard_error"])


def observed_order(steps: ArrayLike, errors: ArrayLike) -> float:
    """Return the slope of log error against log step, by least squares.

    >>> round(observed_order([1.0, 0.5, 0.25], [0.4, 0.1, 0.025]), 12)
    2.0
    """
    return float(np.polyfit(np.log(np.asarray(steps, float)), np.log(np.asarray(errors, float)), 1)[0])


def with_step(sde: SDE, h: float) -> SDE:
    """Return the same equation with Euler steps of length h."""
    return replace(sde, step=h, method="euler")


def step_count(until: float, h: float) -> int:
    """Return how many steps of length h lead to a time, which must be a whole number of them."""
    count = round(until / h)
    if count < 1 or not math.isclose(count * h, until, rel_tol=1e-9):
        rule = f"a whole number of steps must lead to {until:g}"
        raise InvalidInputError(message(rule, got=f"steps of {h:g}", remedy="halve or double the steps"))
    return count


def _coupled_paths(
    sde: SDE, until: float, reference: float, lengths: list[int], replicates: int, seed: int
) -> list[Array]:
    """Return final states (agents, replicates) of Euler paths whose steps are these multiples of the finest."""
    from peerpressure.engine.narrow import draw_narrow
    from peerpressure.engine.plan import STREAM_FRESH, draw_of

    draw, drawn = draw_of(sde.noise, seed), np.zeros((replicates, sde.n))
    equations = [with_step(sde, length * reference) for length in lengths]
    start = np.tile(sde.start_state[:, None], (1, replicates))
    # One array for all is safe, since a step returns a new one.
    paths = [start] * len(lengths)
    gathered = np.zeros((len(lengths), sde.n, replicates))
    for k in range(1, step_count(until, reference) + 1):
        draw_narrow(draw, k, 0, STREAM_FRESH, drawn)
        gathered += drawn.T
        for i, length in enumerate(lengths):
            if k % length == 0:
                # A sum of ``length`` unit increments, scaled back to the unit variance that a step expects.
                z = gathered[i] / math.sqrt(length)
                paths[i] = euler_step(equations[i], k // length, paths[i], z)
                gathered[i] = 0.0
    return paths
