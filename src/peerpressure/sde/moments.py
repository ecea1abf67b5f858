"""Exact mean and variance of the process, without sampling: the Gaussian solution of its Fokker–Planck equation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Vector

from .adjoint import run_backwards
from .equation import SDE
from .flow import Flow, real_times, solve_flow

# The solver holds some twenty matrices of this size, 160 MB, and a unit of time takes a second.
LARGEST_COVARIANCE = 1_000


class GaussianMoments(NamedTuple):
    """Mean and variance (times, names), and the covariance (names, names) at the last time."""

    mean: Vector
    variance: Vector
    covariance: Vector


def moments_at(sde: SDE, times: ArrayLike) -> GaussianMoments:
    """Return mean and variance of every agent at increasing real times, to some ten digits.

    They solve m′ = b − B m and P′ = −BP − PBᵀ + GGᵀ from the start, which is known and has no variance.

    >>> from peerpressure.model import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.noises import Gaussian
    >>> model = Model(k2(), hidden=[1.0, 2.0], pressure=1.0, noise=Gaussian(0.5))
    >>> moments_at(SDE(model), [1.0, 20.0]).mean.round(4)
    array([[1.259 , 1.741 ],
           [1.3333, 1.6667]])
    """
    when = real_times(times)
    mean, variance = np.empty((2, when.size, sde.n))
    covariance = np.zeros((sde.n, sde.n))
    for i, (own, covariance) in enumerate(gaussian_path(sde, when)):
        mean[i], variance[i] = own, np.diag(covariance)
    return GaussianMoments(mean, np.maximum(variance, 0.0), covariance)


def moments_of(sde: SDE, weights: ArrayLike, times: ArrayLike) -> GaussianMoments:
    """Return mean and variance of the sums cᵀy with these weights, shape (sums, agents), at increasing real times.

    Few sums of many agents come from the adjoint equation, in sparse products alone; many times of few agents come
    from the whole covariance.

    >>> from peerpressure.model import Model
    >>> from peerpressure.networks import cycle
    >>> moments_of(SDE(Model(cycle(1001), hidden=range(1001))), np.full(1001, 1 / 1001), 5.0).mean.round(9)
    array([[500.]])
    """
    when, rows = real_times(times), checked_weights(sde, weights)
    if sde.n > LARGEST_COVARIANCE or rows.shape[0] * when.size <= sde.n:
        return GaussianMoments(*run_backwards(sde, rows, when))
    mean, variance = np.empty((2, when.size, rows.shape[0]))
    covariance = np.zeros((rows.shape[0], rows.shape[0]))
    for i, (own, full) in enumerate(gaussian_path(sde, when)):
        covariance = rows @ full @ rows.T
        mean[i], variance[i] = rows @ own, np.diag(covariance)
    return GaussianMoments(mean, np.maximum(variance, 0.0), covariance)


def gaussian_path(sde: SDE, times: Vector) -> Iterator[tuple[Vector, Vector]]:
    """Yield mean (agents,) and covariance (agents, agents) at each of the times."""
    n, v = sde.n, sde.consensus_value
    if n > LARGEST_COVARIANCE:
        rule = f"the covariance of all agents is worked out for up to {LARGEST_COVARIANCE:,} of them"
        remedy = "ask for some weighted sums of agents with moments_of"
        raise InvalidInputError(complain(rule, got=f"{n:,}", remedy=remedy))
    start = Flow((sde.start_state - v)[:, None], np.zeros((n, n)))
    for flow in solve_flow(sde, start, 0.0, times):
        yield flow.columns[:, 0] + v, flow.covariance


def checked_weights(sde: SDE, weights: ArrayLike) -> Vector:
    """Return weights as rows with one finite number for each agent."""
    try:
        rows = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    except (TypeError, ValueError):
        rows = np.zeros((0, 0))
    if rows.ndim != 2 or rows.shape[1] != sde.n or not np.all(np.isfinite(rows)):
        rule = f"weights must be rows of {sde.n} finite numbers, one for each agent"
        got = f"shape {rows.shape}" if rows.size else repr(weights)[:80]
        raise InvalidInputError(complain(rule, got=got, remedy="for instance np.eye(n)[[0]] for the first agent"))
    return rows
