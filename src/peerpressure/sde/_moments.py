"""Exact moments of the SDE: ordinary differential equations of mean, covariance and transition matrix.

The law is Gaussian: m′ = b − B m and P′ = −BP − PBᵀ + GGᵀ. Columns Y that start from the identity obey Y′ = −BY, and
give the transition matrix. Eigenvalues of B lie in [0, 2], so that nothing here is stiff, and an explicit method of
order 8 with error control is fast and precise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_continuous_lyapunov

from peerpressure.errors import InvalidInputError, PeerPressureError, message
from peerpressure.model import Vector
from peerpressure.schedules import Constant, Table
from peerpressure.sde._equation import FIRST_TIME, SDE, steepness

TOLERANCE = 1e-11  # of one step, as a share of each number; a whole run keeps 1e-8 and better
ROUNDING = 1e-9  # difference up to which a time counts as a whole number, as 100·0.07 does as 7
NEGLIGIBLE = 1e-12  # absolute tolerance, as a share of the typical size of a quantity


@final
@dataclass(frozen=True, eq=False)
class Flow:
    """Columns (agents, columns) and covariance (agents, agents) at one time, centred on the consensus value.

    The last column is a mean, driven by the hidden opinions; the others obey the homogeneous equation.
    """

    columns: Vector
    covariance: Vector


def real_times(times: ArrayLike, *, least: float = 0.0) -> Vector:
    """Return times as a vector of increasing real numbers from ``least`` on."""
    rule = f"times must be increasing real numbers from {least:g} on"
    try:
        given = np.atleast_1d(np.asarray(times, dtype=np.float64))
    except (TypeError, ValueError):
        given = np.full(1, np.nan)
    legal = given.ndim == 1 and given.size and np.all(np.isfinite(given)) and np.all(given >= least)
    if not legal or np.any(np.diff(given) <= 0):
        raise InvalidInputError(message(rule, got=repr(times)[:80], remedy="for instance np.linspace(0.5, 10, 20)"))
    return given


def smooth_pieces(sde: SDE, begin: float, end: float) -> Iterator[tuple[float, float, SDE]]:
    """Cut a stretch of time where tables jump; each piece comes with an equation whose tables are constants."""
    if not any(isinstance(schedule, Table) for schedule in (sde.pressure, sde.noise.time_scale)):
        if end > begin:
            yield begin, end, sde
        return
    # Otherwise rounding would leave pieces of length 1e-15 beside the jumps, each with a solver of its own.
    # FIRST_TIME is no rounding error of 0, where noise that it avoids would be infinite.
    first, last = begin if begin <= FIRST_TIME else _on_whole(begin), _on_whole(end)
    inner = (float(k) for k in range(math.floor(first) + 1, math.ceil(last)))
    for a, b in itertools.pairwise([first, *inner, last]):
        if b > a:
            # Read in the middle, where rounding of the ends cannot choose the neighbouring entry. Without the cut,
            # error control would shrink its steps at every jump.
            yield a, b, _with_constants(sde, (a + b) / 2)


def _on_whole(t: float) -> float:
    return float(round(t)) if abs(t - round(t)) < ROUNDING else t


def _with_constants(sde: SDE, t: float) -> SDE:
    """Return the equation with the tables' values at time t as constants."""
    model, noise = sde.model, sde.noise
    if isinstance(noise.time_scale, Table):
        noise = replace(noise, time_scale=Constant(float(sde.noise_scale(t))))
    pressure = model.pressure
    if isinstance(pressure, Table):
        pressure = Constant(float(pressure(pressure.reading_times(np.array(t)))))
    return replace(sde, model=replace(model, pressure=pressure, noise=noise))


def solve_flow(sde: SDE, flow: Flow, begin: float, times: Vector) -> Iterator[Flow]:
    """Solve for the flow from ``begin`` on and yield it at each of the increasing times."""
    shape, n = flow.columns.shape, sde.n
    if begin == 0 and (gathered := first_noise(sde)).any():
        if times[0] == 0:
            yield flow
        # The integrand is infinite at 0, so that the solver starts a little later, from the exact integral up to there.
        # The columns change by O(FIRST_TIME) in that interval, which is within the tolerance.
        begin, times = FIRST_TIME, times[times > 0]
        flow = Flow(flow.columns, flow.covariance + np.diag(gathered))
        if not times.size:
            return
    # Without noise there is no covariance to carry along.
    carried = not (sde.noise.is_zero and not flow.covariance.any())
    flat = np.concatenate([flow.columns.ravel(), flow.covariance.ravel()]) if carried else flow.columns.ravel()

    def unpack(values: Vector) -> Flow:
        columns = values[: flow.columns.size].reshape(shape)
        rest = values[flow.columns.size :].reshape(n, n) if carried else np.zeros((n, n))
        return Flow(columns, rest)

    tolerance = _tolerance(sde, flow, (begin, float(times[-1])), carried=carried)
    for values in integrate(sde, lambda piece: _rate(piece, shape, carried=carried), flat, begin, times, tolerance):
        yield unpack(values)


def first_noise(sde: SDE) -> Vector:
    """Return the variance of the noise up to FIRST_TIME, where its scale grows without bound towards time 0.

    With a scale like t^(−γ) that is ∫ G² dt = t G²/(1 − 2γ). It is 0 for all other noise, which needs no such care.
    """
    gamma = steepness(sde.noise.time_scale)
    if gamma == 0 or sde.noise.is_zero:
        return np.zeros(sde.n)
    return np.asarray(FIRST_TIME / (1 - 2 * gamma) * sde.noise_size(FIRST_TIME) ** 2)


def _rate(sde: SDE, shape: tuple[int, ...], *, carried: bool) -> Callable[[float, Vector], Vector]:
    """Return the right-hand side for the flat state of columns and covariance."""
    n, size = sde.n, shape[0] * shape[1]
    centred = sde.x0 - sde.centre

    def rate(t: float, flat: Vector) -> Vector:
        update = sde.update(t)
        out = np.empty_like(flat)
        # Views into the flat vectors of the solver; nothing is copied.
        columns, moved = flat[:size].reshape(shape), out[:size].reshape(shape)
        np.subtract(update.couple(columns), columns, out=moved)
        # Only the last column, the mean, is driven; the others give the transition matrix.
        moved[:, -1] += update.gain * centred
        if carried:
            covariance, spread = flat[size:].reshape(n, n), out[size:].reshape(n, n)
            # P is symmetric, so that PBᵀ is the transpose of BP: one sparse product instead of two, and a derivative
            # that is symmetric to the bit, which keeps P so.
            half = update.couple(covariance) - covariance
            np.add(half, half.T, out=spread)
            spread.flat[:: n + 1] += sde.noise_size(t, update) ** 2
        return out

    return rate


def _tolerance(sde: SDE, flow: Flow, ends: tuple[float, float], *, carried: bool) -> Vector:
    """Return the absolute tolerance of each number."""
    # Opinions are centred on the consensus value, so that their scale is the range and not the magnitude: a common
    # offset of all opinions must not loosen the tolerance.
    opinions = float(np.ptp(np.concatenate([sde.x0, sde.start_state])))
    columns = np.full(flow.columns.shape, NEGLIGIBLE)
    columns[:, -1] *= max(opinions, float(np.abs(flow.columns[:, -1]).max())) or 1.0
    if not carried:
        return columns.ravel()
    begin, end = ends
    # Not at the start itself, where a noise scale may be 0 or very large.
    noise = float(sde.noise_size(begin + min(1.0, (end - begin) / 2)).max())
    size = max(noise**2, float(flow.covariance.max())) or 1.0
    return np.concatenate([columns.ravel(), np.full(sde.n**2, NEGLIGIBLE * size)])


def integrate(
    sde: SDE,
    rate_of: Callable[[SDE], Callable[[float, Vector], Vector]],
    flat: Vector,
    begin: float,
    times: Vector,
    tolerance: Vector,
) -> Iterator[Vector]:
    """Solve y′ = rate(t, y) piece by piece, forwards or backwards, and yield y at each of the times in their order."""
    from scipy.integrate import DOP853

    pending = list(times)
    # The solver reports states after steps only.
    while pending and pending[0] == begin:
        yield flat
        pending.pop(0)
    for a, b, piece in _pieces_towards(sde, begin, pending[-1] if pending else begin):
        # Stepped by hand and not with solve_ivp, which would store the dense output of every step.
        solver = DOP853(rate_of(piece), a, flat, b, rtol=TOLERANCE, atol=tolerance)
        while solver.status == "running":
            message = solver.step()
            if solver.status == "failed":
                raise PeerPressureError(f"the moments could not be followed beyond t = {solver.t:.6g}: {message}")
            yield from _due(solver, pending)
        flat = solver.y


def _pieces_towards(sde: SDE, begin: float, end: float) -> Iterator[tuple[float, float, SDE]]:
    if end >= begin:
        yield from smooth_pieces(sde, begin, end)
        return
    # Same pieces in both directions, so that jumps of tables are never crossed within a piece.
    for a, b, piece in reversed(list(smooth_pieces(sde, end, begin))):
        yield b, a, piece


def _due(solver: Any, pending: list[float]) -> Iterator[Vector]:
    """Remove the times that the last step has reached from the list, and yield the states there."""
    # The end of a piece may miss a time by rounding; no other step may.
    slack = 0.0 if solver.status == "running" else ROUNDING
    interpolate = None
    while pending and (solver.t - pending[0]) * solver.direction >= -slack:
        t = pending.pop(0)
        # The state itself, where the end of a piece is asked for: the interpolant has order 7, the solution order 8.
        if abs(t - solver.t) <= slack:
            yield solver.y.copy()
            continue
        interpolate = interpolate or solver.dense_output()
        yield interpolate(t)


# Moments of weighted sums, by the adjoint equation.

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
    k, n, v = *weights.shape, sde.centre
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
        return lambda t, flat: _adjoint_rate(piece, t, flat.reshape(state.shape)).ravel()

    (flat,) = integrate(sde, rate_of, state.ravel(), begin, np.array([end]), tolerance.ravel())
    return flat.reshape(state.shape)


def _adjoint_rate(sde: SDE, t: float, state: Vector) -> Vector:
    """Return the rate of change, with growing t, of adjoints, means and covariances."""
    n, update = sde.n, sde.update(t)
    adjoint = state[..., :n]
    # One sparse product for the adjoints of all sums and times.
    rows = adjoint.reshape(-1, n)
    out = np.empty_like(state)
    out[..., :n] = adjoint - update.couple_adjoint(np.ascontiguousarray(rows.T)).T.reshape(adjoint.shape)
    # The solver goes backwards in time, so that the integrals accumulate with a minus sign.
    out[..., n] = -(adjoint @ (update.gain * (sde.x0 - sde.centre)))
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
    n, v = sde.n, sde.centre
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
    M^½ B M^(−½) is symmetric, and in its eigenvectors with eigenvalues λ the solution is a division by λ_i + λ_j. On a
    directed network it takes a Schur decomposition of B.

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
    if sde.network.directed:
        return _directed_stationary(sde, t, B.toarray(), b)
    relief, weight = sde.homogeneous(t)
    # M in homogeneous coordinates; the common factor relief cancels in every product below.
    root = np.sqrt(relief * sde.s + weight * sde.network.degrees)
    # Symmetric up to rounding; eigh reads one triangle only, so that both are averaged.
    values, vectors = np.linalg.eigh(_symmetric(B.toarray() * np.outer(root, 1 / root)))
    _require_stationary(sde, t, float(values[0]))
    v = sde.centre
    ones = np.ones(sde.n)
    # Solved for the deviation from v: where pressure is high, the slowest eigenvalue is small and v itself would be
    # multiplied by rounding errors of 1/λ.
    centred = (vectors.T @ (root * (b - v * (B @ ones)))) / values
    spread = vectors.T @ (vectors * ((root * sde.noise_size(t)) ** 2)[:, None])
    covariance = vectors @ (spread / np.add.outer(values, values)) @ vectors.T
    return v + vectors @ centred / root, _symmetric(covariance / np.outer(root, root))


def _directed_stationary(sde: SDE, t: float, B: Vector, b: Vector) -> tuple[Vector, Vector]:
    _require_stationary(sde, t, float(np.linalg.eigvals(B).real.min()))
    v = sde.centre
    mean = v + np.linalg.solve(B, b - v * B.sum(axis=1))
    return mean, _symmetric(solve_continuous_lyapunov(B, np.diag(sde.noise_size(t) ** 2)))


def _symmetric(matrix: Vector) -> Vector:
    return np.asarray((matrix + matrix.T) / 2)


def _require_stationary(sde: SDE, t: float, slowest: float) -> None:
    if slowest <= 1e-13:
        rule = "a stationary law needs a pressure under which agents still hear their own opinion"
        got = f"{sde.pressure} at t = {t:g}"
        raise InvalidInputError(message(rule, got=got, remedy="choose an earlier time"))
