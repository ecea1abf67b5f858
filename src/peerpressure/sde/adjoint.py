"""Mean and variance of weighted sums of agents, by running the equation backwards."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from peerpressure.model import Vector

from .equation import FIRST_TIME, SDE
from .flow import NEGLIGIBLE, first_noise, integrate

# Numbers that one backward run carries along, of which the solver holds some twenty copies.
BLOCK = 2**20


def run_backwards(sde: SDE, weights: Vector, times: Vector) -> tuple[Vector, Vector, Vector]:
    """Return mean and variance (times, sums) and the last covariance (sums, sums) of the sums cᵀy.

    From λ = c at the time asked for, λ′ = Bᵀλ is solved back to time 0. Then the mean is λ(0)·y₀ + ∫ λ·b dt, and the
    covariance of two sums ∫ (Gλ)·(Gλ̃) dt.
    """
    parts = [_run_block(sde, weights, block) for block in _blocks(weights.size, times)]
    mean = np.concatenate([mean for mean, _ in parts])
    covariances = np.concatenate([covariance for _, covariance in parts])
    return mean, np.einsum("tii->ti", covariances), covariances[-1]


def _run_block(sde: SDE, weights: Vector, times: Vector) -> tuple[Vector, Vector]:
    """Run all times of a block in one go; later ones start first, and earlier ones join as they are passed."""
    k, n, v = *weights.shape, sde.consensus_value
    state = np.empty((0, k, n + 1 + k))
    fresh = np.concatenate([weights, np.zeros((k, 1 + k))], axis=1)[None]
    gathered = first_noise(sde)
    last = FIRST_TIME if gathered.any() else 0.0
    for begin, end in itertools.pairwise([*times[times > 0][::-1], last]):
        state = _back_to(sde, np.concatenate([state, fresh]), begin, end)
    state[..., n + 1 :] += np.einsum("tan,n,tbn->tab", state[..., :n], gathered, state[..., :n])
    if times[0] == 0:
        state = np.concatenate([state, fresh])
    state = state[::-1]
    adjoint, mean, covariance = state[..., :n], state[..., n], state[..., n + 1 :]
    # The sums of the weights carry the consensus value, on which all is centred.
    return mean + adjoint @ (sde.start_state - v) + v * weights.sum(axis=1), covariance


def _back_to(sde: SDE, state: Vector, begin: float, end: float) -> Vector:
    n = sde.n
    floor = np.full(state.shape, NEGLIGIBLE)
    size = np.abs(state[..., :n]).sum(axis=2).max()
    opinions = float(np.ptp(np.concatenate([sde.x0, sde.start_state]))) or 1.0
    floor[..., n] *= size * opinions
    floor[..., n + 1 :] *= size**2 * (float(sde.noise_size(begin).max()) ** 2 or 1.0)

    def rate_of(piece: SDE) -> Callable[[float, Vector], Vector]:
        return lambda t, flat: _rate(piece, t, flat.reshape(state.shape)).ravel()

    (flat,) = integrate(sde, rate_of, state.ravel(), begin, np.array([end]), floor.ravel())
    return flat.reshape(state.shape)


def _rate(sde: SDE, t: float, state: Vector) -> Vector:
    """Return the rate of change, with growing t, of adjoints, means and covariances."""
    n, update = sde.n, sde.update(t)
    adjoint = state[..., :n]
    rows = adjoint.reshape(-1, n)
    out = np.empty_like(state)
    out[..., :n] = adjoint - update.couple_adjoint(np.ascontiguousarray(rows.T)).T.reshape(adjoint.shape)
    # Time runs backwards here, so that what is gathered up comes with a minus.
    out[..., n] = -(adjoint @ (update.gain * (sde.x0 - sde.consensus_value)))
    noisy = adjoint * sde.noise_size(t, update)
    out[..., n + 1 :] = -np.einsum("tan,tbn->tab", noisy, noisy)
    return out


def _blocks(size: int, times: Vector) -> Iterator[Vector]:
    length = max(1, BLOCK // size)
    for start in range(0, times.size, length):
        yield times[start : start + length]
