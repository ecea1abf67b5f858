"""The compiled filter and smoother of a latent path, apart from it because importing them imports numba.

Matrices of a few agents take less time than a call of NumPy, of which a row would need a dozen. Large ones are left to
BLAS, unless most of their entries are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerpressure.model.step import Array

# Sums may be taken in any order, which lets them use whole vectors.
_FAST = {"reassoc", "contract", "nsz"}


# Multiplications from which a product is left to BLAS, where at least one in so many entries is not 0.
_LARGE, _FILLED = 2**17, 6


@njit(fastmath=_FAST)
def _add_product(A: Array, B: Array, out: Array, rows: int, inner: int, sign: float) -> None:
    """Add A B or −A B to ``out``, of as many rows of A, and rows of B; most entries of A may be 0."""
    if rows * inner * B.shape[1] > _LARGE and _FILLED * np.count_nonzero(A) > A.size:
        product = np.dot(np.ascontiguousarray(A[:rows, :inner]), np.ascontiguousarray(B[:inner]))
        for i in range(rows):
            for j in range(B.shape[1]):
                out[i, j] += sign * product[i, j]
        return
    for i in range(rows):
        for k in range(inner):
            a = sign * A[i, k]
            if a != 0.0:
                for j in range(B.shape[1]):
                    out[i, j] += a * B[k, j]


@njit
def _copy(A: Array, out: Array) -> None:
    """Fill in A, row by row: an assignment of slices takes seconds to compile."""
    for i in range(len(out)):
        for j in range(out.shape[1]):
            out[i, j] = A[i, j]


@njit
def _clear(out: Array) -> None:
    """Fill in zeros."""
    for i in range(len(out)):
        for j in range(out.shape[1]):
            out[i, j] = 0.0


@njit(fastmath=_FAST)
def _add_applied(A: Array, v: Array, out: Array) -> None:
    """Add A v to ``out``."""
    for i in range(out.size):
        x = 0.0
        for k in range(v.size):
            x += A[i, k] * v[k]
        out[i] += x


@njit(fastmath=_FAST)
def _add_symmetric(F: Array, P: Array, room: Array, out: Array, n: int) -> None:
    """Add F P Fᵀ to ``out`` for a symmetric P."""
    half, turned, states = room[0], room[1], len(F)
    _clear(half)
    # Rows of public opinions may be full, and others are not.
    rows = n if n * states**2 > _LARGE else states
    for first in range(0, states, rows):
        _add_product(F[first : first + rows], P, half[first : first + rows], rows, states, 1.0)
    _turn(half, turned, 1.0)
    for first in range(0, states, rows):
        _add_product(F[first : first + rows], turned, out[first : first + rows], rows, states, 1.0)


@njit(fastmath=_FAST)
def _turn(A: Array, out: Array, sign: float) -> None:
    """Fill in Aᵀ or −Aᵀ."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[j, i] = sign * A[i, j]


@njit(fastmath=_FAST)
def _rooted(P: Array, variance: Array, there: NDArray[np.bool_], root: Array) -> float:
    """Fill in the lower root of the covariance of what is seen, and return the logarithm of its determinant.

    What is missing takes part with a variance of its own; infinity if rounding errors are larger than the noise.
    """
    total = 0.0
    for i in range(len(root)):
        for j in range(i):
            x = P[i, j] if there[i] and there[j] else 0.0
            for k in range(j):
                x -= root[i, k] * root[j, k]
            root[i, j] = x / root[j, j]
        x = variance[i] + (P[i, i] if there[i] else 0.0)
        for k in range(i):
            x -= root[i, k] ** 2
        if not x > 0.0:
            return np.inf
        root[i, i] = np.sqrt(x)
        total += np.log(x)
    return total


@njit(fastmath=_FAST)
def _inverted(root: Array, there: NDArray[np.bool_], inverse: Array) -> None:
    """Fill in the inverse of a matrix with this lower root, which is overwritten, 0 of what is missing."""
    n = len(root)
    # The root's own inverse, row by row in its place: row i is (e_i − Σ_k root_ik · row k)/root_ii.
    for i in range(n):
        for k in range(i):
            inverse[i, k] = root[i, k]
        scale = 1 / root[i, i]
        for j in range(i):
            root[i, j] = 0.0
        for k in range(i):
            x = inverse[i, k]
            for j in range(k + 1):
                root[i, j] -= x * root[k, j]
        for j in range(i):
            root[i, j] *= scale
        root[i, i] = scale
    _clear(inverse)
    for k in range(n):
        if there[k]:
            for i in range(k + 1):
                x = root[k, i]
                for j in range(i + 1):
                    inverse[i, j] += x * root[k, j]
    for i in range(n):
        for j in range(i):
            inverse[j, i] = inverse[i, j]


@njit
def _transition(heard: Array, gain: Array, pull: Array, noise: Array, rate: Array, phi: float, F: Array) -> None:
    """Fill in F_t, all of whose other entries are 0: y = pull · heard y + gain x + φ · memory, x += rate (y − x)."""
    n = gain.size
    for i in range(n):
        for j in range(n):
            F[i, j] = pull[i] * heard[i, j]
            F[n + i, j] = rate[i] * F[i, j]
        F[i, n + i] = gain[i]
        F[n + i, n + i] = 1 - rate[i] + rate[i] * gain[i]
        if len(F) > 2 * n:
            F[i, 2 * n + i] = phi * noise[i]
            F[n + i, 2 * n + i] = rate[i] * F[i, 2 * n + i]
            F[2 * n + i, 2 * n + i] = phi


@njit
def _add_noise(noise: Array, rate: Array, phi: float, P: Array) -> None:
    """Add G_t G_tᵀ, whose entries are those of y, x and the memory of one agent."""
    n = noise.size
    left = np.sqrt((1 - phi) * (1 + phi)) if len(P) > 2 * n else 1.0
    for i in range(n):
        fresh = left * noise[i], left * noise[i] * rate[i], left
        for p in range(len(P) // n):
            for q in range(len(P) // n):
                P[p * n + i, q * n + i] += fresh[p] * fresh[q]


@njit(cache=True, nogil=True, fastmath=_FAST)
def forward(
    heard: Array, own: Array, pull: Array, noise: Array, rate: Array, phi: float,
    value: Array, variance: Array, present: NDArray[Any],
    mean: Array, covariance: Array, mean_after: Array, covariance_after: Array,
    gain: Array, precision: Array, score: Array,
) -> float:  # fmt: skip
    """Fill in the filter of one point, whose first mean and covariance are given, and return the log density."""
    (rows, n), states = present.shape, mean.shape[1]
    room, root, error = np.empty((2, states, states)), np.empty((n, n)), np.empty(n)
    F, total = np.zeros((states, states)), 0.0
    for t in range(rows):
        m, P, there = mean[t], covariance[t], present[t]
        if t:
            _transition(heard[(t - 1) % len(heard)], own[t - 1], pull[t - 1], noise[t - 1], rate[t - 1], phi, F)
            for i in range(states):
                m[i] = 0.0
            _add_applied(F, mean_after[t - 1], m)
            _clear(P)
            _add_noise(noise[t - 1], rate[t - 1], phi, P)
            _add_symmetric(F, covariance_after[t - 1], room, P, n)
        total += _rooted(P, variance[t], there, root)
        if total == np.inf:
            return -np.inf
        _inverted(root, there, precision[t])
        for i in range(n):
            error[i] = value[t, i] - m[i] if there[i] else 0.0
            score[t, i] = 0.0
        _add_applied(precision[t], error, score[t])
        for i in range(n):
            total += error[i] * score[t, i] + (np.log(2 * np.pi) if there[i] else 0.0)
        _clear(gain[t])
        _add_product(P, precision[t], gain[t], states, n, 1.0)
        for i in range(states):
            mean_after[t, i] = m[i]
        _add_applied(P, score[t], mean_after[t])
        _copy(P, covariance_after[t])
        _add_product(gain[t], P, covariance_after[t], states, n, -1.0)
    return -0.5 * total


@njit(cache=True, nogil=True, fastmath=_FAST)
def backward(
    heard: Array, own: Array, pull: Array, noise: Array, rate: Array, phi: float,
    gain: Array, precision: Array, score: Array, r: Array, N: Array, error: Array, known: Array,
) -> None:  # fmt: skip
    """Fill in what rows of one point say together with those after them."""
    rows, states, n = gain.shape
    room, back, onwards = np.empty((2, states, states)), np.empty((n, states)), np.empty((states, states))
    F = np.zeros((states, states))
    for i in range(states):
        r[rows - 1, i] = 0.0
    _clear(N[rows - 1])
    for t in range(rows - 1, -1, -1):
        _turn(gain[t], back, -1.0)
        for i in range(n):
            error[t, i] = score[t, i]
        _add_applied(back, r[t], error[t])
        _clear(known[t])
        _add_product(N[t], gain[t], known[t], states, states, 1.0)
        for i in range(states):
            for j in range(n):
                N[t, i, j] -= known[t, i, j]
        _copy(N[t], room[0])
        _add_product(back, room[0], N[t], n, states, 1.0)
        for i in range(n):
            r[t, i] += error[t, i]
            for j in range(n):
                N[t, i, j] += precision[t, i, j]
        if t:
            _transition(heard[(t - 1) % len(heard)], own[t - 1], pull[t - 1], noise[t - 1], rate[t - 1], phi, F)
            _turn(F, onwards, 1.0)
            for i in range(states):
                r[t - 1, i] = 0.0
            _add_applied(onwards, r[t], r[t - 1])
            _clear(N[t - 1])
            _add_symmetric(onwards, N[t], room, N[t - 1], n)
