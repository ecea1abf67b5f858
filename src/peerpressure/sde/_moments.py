"""Exact moments of the SDE and the exact Gaussian law of a step."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Vector
from peerpressure.sde._equation import FIRST_TIME, SDE
from peerpressure.sde._flow import NEGLIGIBLE, Flow, first_noise, integrate, real_times, solve_flow

# Numbers in the state of one backward pass, of which the solver keeps some twenty copies.
BLOCK = 2**20


def adjoint_moments(sde: SDE, weights: Vector, times: Vector) -> tuple[Vector, Vector, Vector]:
    """Return mean and variance (times, sums) and the last covariance (sums, sums) of the sums cᵀy.

    From λ = c at the time asked for, λ′ = Bᵀλ is solved back to time 0. Then the mean is λ(0)·y₀ + ∫ λ·b dt, and the
    covariance of two sums ∫ (Gλ)·(Gλ̃) dt.
    """
    parts = [_run_block(sde, weights, block) for block in _blocks(weights.size, times)]
    mean = np.concatenate([mean for mean, _ in parts])
    covariances = np.concatenate([covariance for _, covariance in parts])
    return mean, np.einsum("tii->ti", covariances), covariances[-1]


def _run_block(sde: SDE, weights: Vector, times: Vector) -> tuple[Vector, Vector]:
    """Solve for all times of a block in one backward pass; later ones start first, earlier ones join when reached."""
    k, n, v = *weights.shape, sde.consensus_value
    state = np.empty((0, k, n + 1 + k))
    # State of one sum: its adjoint λ (agents), the integral for its mean (1), and those for its covariances (sums).
    fresh = np.concatenate([weights, np.zeros((k, 1 + k))], axis=1)[None]
    gathered = first_noise(sde)
    last = FIRST_TIME if gathered.any() else 0.0
    for begin, end in itertools.pairwise([*times[times > 0][::-1], last]):
        state = _back_to(sde, np.concatenate([state, fresh]), begin, end)
    # The variance up to FIRST_TIME, which the pass leaves out because the noise is unbounded there.
    state[..., n + 1 :] += np.einsum("tan,n,tbn->tab", state[..., :n], gathered, state[..., :n])
    if times[0] == 0:
        state = np.concatenate([state, fresh])
    state = state[::-1]
    adjoint, mean, covariance = state[..., :n], state[..., n], state[..., n + 1 :]
    # Everything is centred on the consensus value, which the sum of the weights multiplies.
    return mean + adjoint @ (sde.start_state - v) + v * weights.sum(axis=1), covariance


def _back_to(sde: SDE, state: Vector, begin: float, end: float) -> Vector:
    n = sde.n
    tolerance = np.full(state.shape, NEGLIGIBLE)
    # The transition matrix is substochastic, so that |λ|₁ does not grow backwards in time: it bounds the means and,
    # squared, the covariances.
    size = np.abs(state[..., :n]).sum(axis=2).max()
    opinions = float(np.ptp(np.concatenate([sde.x0, sde.start_state]))) or 1.0
    tolerance[..., n] *= size * opinions
    tolerance[..., n + 1 :] *= size**2 * (float(sde.noise_size(begin).max()) ** 2 or 1.0)
    # Weights may be so small that their squares underflow, and a tolerance of 0 has no meaning.
    tolerance = np.maximum(tolerance, np.finfo(np.float64).tiny)

    def rate_of(piece: SDE) -> Callable[[float, Vector], Vector]:
        return lambda t, flat: _rate(piece, t, flat.reshape(state.shape)).ravel()

    (flat,) = integrate(sde, rate_of, state.ravel(), begin, np.array([end]), tolerance.ravel())
    return flat.reshape(state.shape)


def _rate(sde: SDE, t: float, state: Vector) -> Vector:
    """Return the rate of change, with growing t, of adjoints, means and covariances."""
    n, update = sde.n, sde.update(t)
    adjoint = state[..., :n]
    # One sparse product for the adjoints of all sums and times.
    rows = adjoint.reshape(-1, n)
    out = np.empty_like(state)
    out[..., :n] = adjoint - update.couple_adjoint(np.ascontiguousarray(rows.T)).T.reshape(adjoint.shape)
    # The solver goes backwards in time, so that the integrals accumulate with a minus sign.
    out[..., n] = -(adjoint @ (update.gain * (sde.x0 - sde.consensus_value)))
    noisy = adjoint * sde.noise_size(t, update)
    out[..., n + 1 :] = -np.einsum("tan,tbn->tab", noisy, noisy)
    return out


def _blocks(size: int, times: Vector) -> Iterator[Vector]:
    length = max(1, BLOCK // size)
    for start in range(0, times.size, length):
        yield times[start : start + length]


# Moments of all agents or of weighted sums, for any times.

# The solver keeps some twenty matrices of this size, 160 MB, and a unit of time takes a second.
LARGEST_COVARIANCE = 1_000


class GaussianMoments(NamedTuple):
    """Mean and variance of agents or of weighted sums over time, with the covariance at the last time.

    Attributes
    ----------
    mean : array of shape (times, names)
        Mean, in units of opinion.
    variance : array of shape (times, names)
        Variance, in squared units of opinion.
    covariance : array of shape (names, names)
        Covariance at the last time.

    See Also
    --------
    moments_at : Moments of all agents.
    moments_of : Moments of weighted sums.

    Examples
    --------
    >>> from peerpressure import SDE, Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.sde import moments_at
    >>> found = moments_at(SDE(Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(0.5))), [1.0, 2.0])
    >>> found.mean.shape, found.covariance.shape
    ((2, 2), (2, 2))
    """

    mean: Vector
    variance: Vector
    covariance: Vector


def moments_at(sde: SDE, times: ArrayLike) -> GaussianMoments:
    """Return mean and variance of every agent at increasing real times, to some ten digits.

    They solve m′ = b − B m and P′ = −BP − PBᵀ + GGᵀ from the start, which is known and has no variance.

    Parameters
    ----------
    sde : SDE
        The equation, of up to 1,000 agents.
    times : float or array_like of float
        Increasing times from 0 on.

    Returns
    -------
    GaussianMoments
        Mean and variance of shape (times, n), and the covariance at the last time.

    Raises
    ------
    InvalidInputError
        If times are not increasing, or there are more than 1,000 agents.

    See Also
    --------
    moments_of : Moments of weighted sums, for any number of agents.
    stationary : The law for t → ∞ under constant pressure.

    Examples
    --------
    >>> from peerpressure import SDE, Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.sde import moments_at
    >>> model = Model(k2(), hidden=[1.0, 2.0], pressure=1.0, noise=Gaussian(0.5))
    >>> moments_at(SDE(model), [1.0, 20.0]).mean.round(4)
    array([[1.259 , 1.741 ],
           [1.3333, 1.6667]])
    """
    when = real_times(times)
    mean, variance = np.empty((2, when.size, sde.n))
    covariance = np.zeros((sde.n, sde.n))
    for i, (own, covariance) in enumerate(gaussian_path(sde, when)):
        # Only the last covariance is returned: all of them would take n² numbers per time.
        mean[i], variance[i] = own, np.diag(covariance)
    # The solver may leave −1e-17 for an agent without noise.
    return GaussianMoments(mean, np.maximum(variance, 0.0), covariance)


def moments_of(sde: SDE, weights: ArrayLike, times: ArrayLike) -> GaussianMoments:
    """Return mean and variance of weighted sums cᵀy of agents at increasing real times.

    Few sums of many agents come from the adjoint equation, in sparse products only; many times of few agents come
    from the whole covariance.

    Parameters
    ----------
    sde : SDE
        The equation.
    weights : array_like of shape (sums, n) or (n,)
        Weights c of each sum.
    times : float or array_like of float
        Increasing times from 0 on.

    Returns
    -------
    GaussianMoments
        Mean and variance of shape (times, sums), and the covariance at the last time.

    Raises
    ------
    InvalidInputError
        If times are not increasing, or weights are not one number for each agent.

    See Also
    --------
    moments_at : Moments of all agents.

    Examples
    --------
    >>> import numpy as np
    >>> from peerpressure import SDE, Model
    >>> from peerpressure.networks import cycle
    >>> from peerpressure.sde import moments_of
    >>> moments_of(SDE(Model(cycle(1001), hidden=range(1001))), np.full(1001, 1 / 1001), 5.0).mean.round(9)
    array([[500.]])
    """
    when, rows = real_times(times), checked_weights(sde, weights)
    # The adjoint costs sums × times vectors, the covariance n of them.
    if sde.n > LARGEST_COVARIANCE or rows.shape[0] * when.size <= sde.n:
        return GaussianMoments(*adjoint_moments(sde, rows, when))
    mean, variance = np.empty((2, when.size, rows.shape[0]))
    covariance = np.zeros((rows.shape[0], rows.shape[0]))
    for i, (own, full) in enumerate(gaussian_path(sde, when)):
        covariance = rows @ full @ rows.T
        mean[i], variance[i] = rows @ own, np.diag(covariance)
    return GaussianMoments(mean, np.maximum(variance, 0.0), covariance)


def gaussian_path(sde: SDE, times: Vector) -> Iterator[tuple[Vector, Vector]]:
    """Yield mean and covariance of all agents at each of the times.

    Parameters
    ----------
    sde : SDE
        The equation, of up to 1,000 agents.
    times : array of float
        Increasing times from 0 on.

    Yields
    ------
    mean : array of shape (n,)
        Mean, in units of opinion.
    covariance : array of shape (n, n)
        Covariance.

    Raises
    ------
    InvalidInputError
        If there are more than 1,000 agents.

    See Also
    --------
    moments_at : The same without the covariances of earlier times.
    moments_of : Moments of weighted sums of any number of agents.

    Examples
    --------
    >>> import numpy as np
    >>> from peerpressure import SDE, Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.sde import gaussian_path
    >>> sde = SDE(Model(k2(), hidden=[1.0, 2.0], pressure=1.0, noise=Gaussian(0.5)))
    >>> [float(mean[0].round(4)) for mean, _ in gaussian_path(sde, np.array([1.0, 20.0]))]
    [1.259, 1.3333]
    """
    n, v = sde.n, sde.consensus_value
    if n > LARGEST_COVARIANCE:
        rule = f"the covariance of all agents is worked out for up to {LARGEST_COVARIANCE:,} of them"
        remedy = "ask for some weighted sums of agents with moments_of"
        raise InvalidInputError(message(rule, got=f"{n:,}", remedy=remedy))
    # Centred, because the distance to consensus may be far below the magnitude of v.
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
        raise InvalidInputError(message(rule, got=got, remedy="for instance np.eye(n)[[0]] for the first agent"))
    return rows


# The stationary law under constant pressure.


def stationary(sde: SDE, t: float) -> tuple[Vector, Vector]:
    """Return the mean and the covariance at which pressure and noise of time t would settle.

    The mean is the fixed point (S + ρL)⁻¹S x₀. The covariance solves BP + PBᵀ = GGᵀ: with M = S + ρD, the matrix
    M^½ B M^(−½) is symmetric, and in its eigenvectors with eigenvalues λ the solution is a division by λ_i + λ_j.

    Parameters
    ----------
    sde : SDE
        The equation, of up to 1,000 agents.
    t : float
        Time at which pressure and noise are read.

    Returns
    -------
    mean : array of shape (n,)
        Mean of the stationary law, in units of opinion.
    covariance : array of shape (n, n)
        Covariance of the stationary law.

    Raises
    ------
    InvalidInputError
        If there are more than 1,000 agents, or the law is not stationary to working precision.

    See Also
    --------
    moments_at : The law at a finite time.
    theory.fixed_point : The mean, in discrete time as well.

    Examples
    --------
    >>> from peerpressure import SDE, Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.sde import stationary
    >>> model = Model(k2(), hidden=[1.0, 2.0], pressure=1.0, noise=Gaussian(1.0))
    >>> stationary(SDE(model), 1.0)[1].round(4)  # λ = ½ and 3/2, noise of variance ¼
    array([[0.1667, 0.0833],
           [0.0833, 0.1667]])
    """
    if sde.n > LARGEST_COVARIANCE:
        rule = f"a stationary covariance is worked out for up to {LARGEST_COVARIANCE:,} agents"
        raise InvalidInputError(message(rule, got=f"{sde.n:,}", remedy="use moments_of at late times"))
    B, b = sde.drift(t)
    relief, weight = sde.homogeneous(t)
    # M in homogeneous coordinates; the common factor relief cancels in every product below.
    root = np.sqrt(relief * sde.s + weight * sde.network.degrees)
    # Symmetric up to rounding; eigh reads one triangle only, so that both are averaged.
    values, vectors = np.linalg.eigh(_symmetric(B.toarray() * np.outer(root, 1 / root)))
    _require_stationary(sde, t, float(values[0]))
    v = sde.consensus_value
    ones = np.ones(sde.n)
    # Solved for the deviation from v: where pressure is high, the slowest eigenvalue is small and v itself would be
    # multiplied by rounding errors of 1/λ.
    centred = (vectors.T @ (root * (b - v * (B @ ones)))) / values
    spread = vectors.T @ (vectors * ((root * sde.noise_size(t)) ** 2)[:, None])
    covariance = vectors @ (spread / np.add.outer(values, values)) @ vectors.T
    return v + vectors @ centred / root, _symmetric(covariance / np.outer(root, root))


def _symmetric(matrix: Vector) -> Vector:
    return np.asarray((matrix + matrix.T) / 2)


def _require_stationary(sde: SDE, t: float, slowest: float) -> None:
    if slowest <= 1e-13:
        rule = "a stationary law needs a pressure under which agents still hear their own opinion"
        got = f"{sde.pressure} at t = {t:g}"
        raise InvalidInputError(message(rule, got=got, remedy="choose an earlier time"))
