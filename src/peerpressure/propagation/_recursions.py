"""Mean and variance of a model in discrete time, step by step: backwards for weighted sums, forwards for all agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from peerpressure.model import Model
from peerpressure.propagation._times import Times
from peerpressure.statespace import initial_state, model_transitions
from peerpressure.statespace.systems import averaged_transitions
from peerpressure.step import Array

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

    Parameters
    ----------
    model : Model
        A model in discrete time.
    weights : array of shape (sums, agents) or (sums, 2·agents)
        The weights c, followed by k if given.
    times : array of int
        Increasing times from 0 on.
    carry : array of shape (sums, agents), optional
        The weights of the noise u_{T+1} that later steps have left, if noise is correlated.
    """
    start, x0, n, k = initial_state(model), model.x0, model.n, weights.shape[0]
    at, noisy = start.layout, not model.noise.is_zero
    # Rows are C-contiguous per functional; `rows.T` below gives the columns that the transition works on, without a
    # copy.
    fresh = np.zeros((k, at.states))
    fresh[:, at.public] = weights[:, :n]
    wide = weights.shape[1] > n
    # Constant hidden opinions are no part of the state, and their sum is known.
    constant = weights[:, n:] @ x0 if wide and not at.has_hidden else np.zeros(k)
    if wide and at.has_hidden:
        fresh[:, at.hidden] = weights[:, n:]
    first = fresh
    if carry is not None and at.has_memory:
        first = fresh.copy()
        # u_{T+1} = φ u_T + fresh noise, so the weight on u_{T+1} is φ times a weight on the memory of step T.
        first[:, at.memory] = model.noise.autocorrelation * carry
    rows = np.empty((0, at.states))
    # Flat, latest time first: rows are appended as the run passes earlier times, so a prefix is always the active part.
    mean, variance, covariance = np.tile(constant, times.size), np.zeros(times.size * k), np.zeros((k, k))

    def collect(noise: Array) -> None:
        """Add the variance of independent draws with these weights, (draws, rows)."""
        q = noise.T
        # The first k rows belong to the last time, the only one whose full covariance is returned.
        np.add(covariance, _gram(q[:k]), out=covariance)
        if len(q) > k:
            variance[k : len(q)] += np.einsum("ij,ij->i", q[k:], q[k:])

    # Later times come first; earlier ones are appended when the run reaches them.
    pending = {int(time) for time in times}
    last = int(times[-1])
    for t, step in zip(range(last, 0, -1), model_transitions(model, range(last, 0, -1), layout=at), strict=True):
        if t in pending:
            rows = np.concatenate([rows, fresh if rows.size else first])
        if not at.has_hidden:
            # λᵀB x₀: constant hidden opinions enter y with the gain.
            mean[: len(rows)] += np.einsum("ij,j->i", rows[:, at.public], step.update.gain * x0)
        # The mean above must be taken before, since the adjoint overwrites its argument.
        columns, noise = step.adjoints_inplace(rows.T)
        if noisy:
            collect(noise)
        rows = columns.T
    if 0 in pending:
        rows = np.concatenate([rows, fresh])
    # The stationary noise memory at time 0 is random too and contributes its own variance.
    if noisy and at.has_memory:
        collect(start.noise_adjoint(rows.T))
    mean += rows @ (start.offset + start.forward(hidden=x0))
    variance[:k] = np.diag(covariance)
    shape = (times.size, k)
    # Back to increasing times.
    return Sums(mean.reshape(shape)[::-1], variance.reshape(shape)[::-1], covariance)


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

    With z_t = (y_t, x_{t+1}) without the noise memory, z_t = M z_{t−1} + B x₀ + N u_t. For P = Cov(z) and
    R = Cov(z, u), where u has autocorrelation φ and unit variance,

        P_t = M P_{t−1} Mᵀ + N Nᵀ + (φ M R_{t−1} Nᵀ + its transpose),  R_t = N + φ M R_{t−1},

    which is a third of the work of carrying u as a part of the state. If it is random who updates, M, B and N are
    averages, and chance adds to P what ``AveragedStep`` says. ``hidden`` asks for hidden opinions behind the
    public ones, even if they are constant. ``watch`` is called with each step, and the mean and covariance after it
    of what is asked for.
    """
    start, n, phi = initial_state(model, hidden=hidden), model.n, model.noise.autocorrelation
    at = start.layout
    size, parts = at.memory.start, at.memory.start // n
    mean = (start.offset + start.forward(hidden=model.x0))[:size]
    P, R = np.zeros((size, size)), np.zeros((size, n if phi else 0))
    kept = size if hidden else n
    means, variances = np.empty((times.size, kept)), np.empty((times.size, kept))
    slots = {int(time): slot for slot, time in enumerate(times)}
    last = int(times[-1])
    steps = averaged_transitions(model, range(1, last + 1), at)
    for t in range(last + 1):
        if t > 0:
            taken = next(steps)
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
        if watch is not None:
            watch(t, mean[:kept], P[:kept, :kept])
        if t in slots:
            means[slots[t]], variances[slots[t]] = mean[:kept], np.diag(P)[:kept]
    return Sums(means, variances, P[:kept, :kept])
