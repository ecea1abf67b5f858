"""Mean and variance of a model in discrete time, step by step: backwards for weighted sums, forwards for all agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.model.statespace import InitialState, ModelTransition, initial_state, model_transitions
from peerpressure.model.statespace.dense_steps import DenseSteps, dense_averages, dense_steps, is_small
from peerpressure.model.statespace.systems import averaged_transitions
from peerpressure.model.step import Array, StateLayout
from peerpressure.support.progress import check_cancelled

Times = NDArray[np.int64]

# Moments by the adjoint: the mean and variance of weighted sums of the state.

# Numbers per array, 64 MB, in one backward run. Every requested time adds rows to it, so many times of a large network
# are split over several runs.
BLOCK = 2**23
# Up to so many rows einsum is used instead of BLAS, whose threads cost more than they save on a few rows: 7 ms against
# 0.5 ms for 10⁶ agents.
MAX_EINSUM_ROWS = 8


@final
@dataclass(frozen=True, eq=False)
class Sums:
    """Moments of weighted sums: mean and variance (times, sums), covariance (sums, sums) at the last time."""

    mean: Array
    variance: Array
    covariance: Array


def moments_of_sums(model: Model, weights: Array, times: Times) -> Sums:
    """Return the moments of the sums with these weights, as ``adjoint_moments`` takes them, at increasing times."""
    parts = [adjoint_moments(model, weights, block) for block in _blocks(weights.size, times)]
    mean = np.concatenate([part.mean for part in parts])
    variance = np.concatenate([part.variance for part in parts])
    return Sums(mean, variance, parts[-1].covariance)


def adjoint_moments(model: Model, weights: Array, times: Times, carry: Array | None = None) -> Sums:
    """Return the moments of cᵀy_t, or of cᵀy_t + kᵀx_{t+1}, at each time by the adjoint of the model, in O(T·nnz).

    From the weights λ_T of the state z_T, each step of z_t = F z_{t−1} + B x₀ + G w_t is run back by λ_{t−1} = Fᵀλ_t.
    The mean is λ_0ᵀz_0 + Σ_t (Bᵀλ_t)ᵀx₀, and the variance the sum of squares Σ_t |Gᵀλ_t|², for the w_t are independent.

    ``weights`` are those of y, followed by those of x if given; ``carry`` are the weights of the noise u_{T+1} that
    later steps have left, if noise is correlated.
    """
    start, last = initial_state(model), int(times[-1])
    at, k = start.layout, weights.shape[0]
    fresh = _weights_of_state(model, weights, at)
    first = fresh
    if carry is not None and at.has_memory:
        first = fresh.copy()
        # u_{T+1} = φ u_T + fresh noise, so the weight on u_{T+1} is φ times a weight on the memory of step T.
        first[:, at.memory] = model.noise.autocorrelation * carry
    back = _Backwards(k, times, first, fresh)
    if is_small(at, times.size * k):
        for steps in dense_steps(model, range(last, 0, -1), at, times.size * k):
            back.through_block(steps, noisy=not model.noise.is_zero)
    else:
        for t, step in zip(range(last, 0, -1), model_transitions(model, range(last, 0, -1), layout=at), strict=True):
            back.through(t, step, model)
    back.to_start(start, model)
    # Constant hidden opinions are no part of the state, and their sum is known.
    if weights.shape[1] > model.n and not at.has_hidden:
        back.mean.reshape(-1, k)[...] += weights[:, model.n :] @ model.x0
    return back.sums


def _weights_of_state(model: Model, weights: Array, at: StateLayout) -> Array:
    """Return weights of public opinions, or of public and hidden ones, as weights of the state, (sums, states)."""
    out = np.zeros((weights.shape[0], at.states))
    out[:, at.public] = weights[:, : model.n]
    if weights.shape[1] > model.n and at.has_hidden:
        out[:, at.hidden] = weights[:, model.n :]
    return out


class _Backwards:
    """Weights of the state that are run back from the last time to the start, with what their steps add up to.

    Flat, latest time first: rows are appended as the run passes earlier times, so a prefix is always the active part.
    """

    def __init__(self, k: int, times: Times, first: Array, fresh: Array) -> None:
        self.k, self.count, self.last = k, times.size, int(times[-1])
        self.pending = {int(time) for time in times}
        self.first, self.fresh = first, fresh
        # Rows are C-contiguous per functional; their transposes are the columns that transitions work on, without a
        # copy.
        self.rows = np.empty((0, fresh.shape[1]))
        self.mean, self.variance = np.zeros(times.size * k), np.zeros(times.size * k)
        self.covariance = np.zeros((k, k))

    def _begun(self, t: int) -> Array:
        return self.first if t == self.last else self.fresh

    def through(self, t: int, step: ModelTransition, model: Model) -> None:
        """Run back over one step of a network of any size."""
        at = step.layout
        if t in self.pending:
            self.rows = np.concatenate([self.rows, self._begun(t)])
        if not at.has_hidden:
            # λᵀB x₀: constant hidden opinions enter y with the gain.
            own = np.einsum("ij,j->i", self.rows[:, at.public], step.update.gain * model.x0)
            self.mean[: len(self.rows)] += own
        # The mean above must be taken before, since the adjoint overwrites its argument.
        columns, noise = step.adjoints_inplace(self.rows.T)
        if not model.noise.is_zero:
            self._collect(noise.T[None])
        self.rows = columns.T

    def through_block(self, steps: DenseSteps, *, noisy: bool) -> None:
        """Run back over a block of dense steps."""
        begin = {i: t for i, t in enumerate(steps.times) if t in self.pending}
        active = len(self.rows)
        # Weights before each step of the run; those of times that are not reached yet are 0, and add nothing.
        path = np.zeros((len(steps.times) + 1, active + len(begin) * self.k, self.fresh.shape[1]))
        path[0, :active] = self.rows
        for i, (before, after, F) in enumerate(zip(path[:-1], path[1:], steps.matrices, strict=True)):
            if i in begin:
                before[active : active + self.k] = self._begun(begin[i])
                active += self.k
            check_cancelled()
            np.matmul(before, F, out=after)
        self.rows = path[-1]
        self.mean[:active] += np.einsum("tri,ti->r", path[:-1], steps.inputs)
        if noisy:
            parts = path[:-1].reshape(len(steps.times), active, *steps.noise.shape[1:])
            self._collect(np.einsum("trpi,tpi->tri", parts, steps.noise))

    def to_start(self, start: InitialState, model: Model) -> None:
        """Add what the state at time 0 is."""
        if 0 in self.pending:
            self.rows = np.concatenate([self.rows, self.fresh])
        # The stationary noise memory at time 0 is random too and contributes its own variance.
        if not model.noise.is_zero and start.layout.has_memory:
            self._collect(start.noise_adjoint(self.rows.T).T[None])
        self.mean += self.rows @ (start.offset + start.forward(hidden=model.x0))

    def _collect(self, q: Array) -> None:
        """Add the variance of independent draws with these weights, (steps, rows, draws)."""
        # The first k rows belong to the last time, the only one whose full covariance is returned.
        self.covariance += _gram(np.moveaxis(q[:, : self.k], 1, 0).reshape(min(self.k, q.shape[1]), -1))
        if q.shape[1] > self.k:
            self.variance[self.k : q.shape[1]] += np.einsum("tij,tij->i", q[:, self.k :], q[:, self.k :])

    @property
    def sums(self) -> Sums:
        """The moments, in the order of increasing times."""
        shape = (self.count, self.k)
        self.variance[: self.k] = np.diag(self.covariance)
        return Sums(self.mean.reshape(shape)[::-1], self.variance.reshape(shape)[::-1], self.covariance)


def _gram(rows: Array) -> Array:
    """Return all products of two rows."""
    return np.einsum("ai,bi->ab", rows, rows) if rows.shape[0] <= MAX_EINSUM_ROWS else rows @ rows.T


def _blocks(size: int, times: Times) -> Iterator[Times]:
    """Split the times into runs of at most BLOCK numbers, each with at least one time."""
    length = max(1, BLOCK // size)
    # The last block is the full one, since its run is the longest and should serve as many times as possible; the first
    # has what is left over.
    first = times.size % length or min(length, times.size)
    yield times[:first]
    for start in range(first, times.size, length):
        yield times[start : start + length]


# Moments by the covariance recursion: the mean and covariance of all agents.


def forward_moments(
    model: Model, times: Times, *, hidden: bool = False, watch: Callable[[int, Array, Array], None] | None = None
) -> Sums:
    """Return mean and variance of every agent at increasing times, and the covariance at the last.

    ``hidden`` asks for hidden opinions behind the public ones, even if they are constant. ``watch`` is called with each
    step, and the mean and covariance after it of what is asked for.
    """
    start = initial_state(model, hidden=hidden)
    kept, last = start.layout.memory.start if hidden else model.n, int(times[-1])
    means, variances = np.empty((times.size, kept)), np.empty((times.size, kept))
    slots = {int(time): slot for slot, time in enumerate(times)}
    # A step multiplies two matrices of the size of the state, which sparse ones do faster from some 40 entries on.
    dense = is_small(start.layout, rows=4 * start.layout.states)
    laws = _dense_laws(model, start, last) if dense else _sparse_laws(model, start, last)
    for t, (mean, P) in enumerate(laws):
        if watch is not None:
            watch(t, mean[:kept], P[:kept, :kept])
        if t in slots:
            means[slots[t]], variances[slots[t]] = mean[:kept], np.diag(P)[:kept]
    return Sums(means, variances, P[:kept, :kept])


def _sparse_laws(model: Model, start: InitialState, last: int) -> Iterator[tuple[Array, Array]]:
    """Yield mean and covariance of public and hidden opinions after steps 0…last.

    With z_t = (y_t, x_{t+1}) without the noise memory, z_t = M z_{t−1} + B x₀ + N u_t. For P = Cov(z) and
    R = Cov(z, u), where u has autocorrelation φ and unit variance,

        P_t = M P_{t−1} Mᵀ + N Nᵀ + (φ M R_{t−1} Nᵀ + its transpose),  R_t = N + φ M R_{t−1},

    which is a third of the work of carrying u as a part of the state. If it is random who updates, M, B and N are
    averages, and chance adds to P what ``AveragedStep`` says.
    """
    n, at, phi = model.n, start.layout, model.noise.autocorrelation
    size, parts = at.memory.start, at.memory.start // n
    mean = (start.offset + start.forward(hidden=model.x0))[:size]
    P, R = np.zeros((size, size)), np.zeros((size, n if phi else 0))
    yield mean, P
    for taken in averaged_transitions(model, range(1, last + 1), at):
        step, by_chance = taken.averaged, taken.added_by_chance(mean, P, R, model.x0)
        mean = step.forward(mean, hidden=model.x0)
        # P is symmetric, so two products from the left are one from either side.
        # Contiguous, because the sparse product would otherwise copy the transposed view anyway.
        P = step.forward(np.ascontiguousarray(step.forward(P).T))
        N = step.noise_weights
        # A writable view of the diagonals of the blocks: N Nᵀ only couples entries of the same agent.
        np.einsum("aibi->abi", P.reshape(parts, n, parts, n))[...] += N[:, None] * N
        if phi:
            # R must be the one of the step before in the cross term, so the new noise is added to it only
            # afterwards.
            R = phi * step.forward(R)
            cross = (R[:, None, :] * N).reshape(size, size)
            P += cross + cross.T
            np.einsum("aii->ai", R.reshape(parts, n, n))[...] += N
        if by_chance is not None:
            reaches = taken.reaches
            P.reshape(parts, n, parts, n)[...] += np.einsum("ai,ij,bj->aibj", reaches, by_chance, reaches)
        yield mean, P


def _dense_laws(model: Model, start: InitialState, last: int) -> Iterator[tuple[Array, Array]]:
    """Yield mean and covariance of the state after steps 0…last, by P_t = F P_{t−1} Fᵀ + G Gᵀ in dense matrices.

    If it is random who updates, F and G are averages, and chance adds as in ``AveragedStep``.
    """
    at, steps = start.layout, range(1, last + 1)
    mean = start.offset + start.forward(hidden=model.x0)
    # The memory of the noise has its stationary variance 1 at the start.
    P = np.diag((np.arange(at.states) >= at.memory.start).astype(np.float64))
    yield mean, P
    if model.activation is not None and model.activation.is_random:
        yield from _laws_by_chance(model, steps, at, mean, P)
        return
    for block in dense_steps(model, steps, at):
        for F, b, Q in zip(block.matrices, block.inputs, block.noise_covariances, strict=True):
            check_cancelled()
            mean, P = F @ mean + b, F @ P @ F.T + Q
            yield mean, P


def _laws_by_chance(
    model: Model, steps: range, at: StateLayout, mean: Array, P: Array
) -> Iterator[tuple[Array, Array]]:
    """Yield mean and covariance of the state after steps that are averaged over who updates, with what chance adds."""
    assert model.activation is not None
    n, q = model.n, model.activation.probabilities
    masks = model.activation.pairs - np.outer(q, q)
    for averaged, taken in dense_averages(model, steps, at):
        # The change of public opinions of those who update.
        changes = zip(taken.matrices[:, :n] - np.eye(n, len(P)), taken.inputs[:, :n], strict=True)
        laws = zip(averaged.matrices, averaged.inputs, averaged.noise_covariances, averaged.reach, strict=True)
        for (F, b, Q, reach), (C, c), N in zip(laws, changes, taken.noise_covariances[:, :n, :n], strict=True):
            check_cancelled()
            expected = C @ mean + c
            by_chance = masks * (C @ P @ C.T + N + np.outer(expected, expected))
            mean, P = F @ mean + b, F @ P @ F.T + Q + reach @ by_chance @ reach.T
            yield mean, P


def mean_after(model: Model, steps: range, at: StateLayout, state: Array) -> Array:
    """Return the mean of the state after steps that are made one by one, from that before them."""
    if is_small(at):
        for block in dense_steps(model, steps, at):
            for F, b in zip(block.matrices, block.inputs, strict=True):
                check_cancelled()
                state = F @ state + b
        return state
    for step in model_transitions(model, steps, layout=at):
        state = step.forward(state, hidden=model.x0)
    return state
