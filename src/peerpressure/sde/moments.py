"""Exact moments of the SDE: ordinary differential equations of mean, covariance and transition matrix.

The law is Gaussian: m′ = b − B m and P′ = −BP − PBᵀ + GGᵀ, for the state of public opinions, hidden ones that adapt and
the memory of correlated noise (``LinearDrift``). Eigenvalues of B of public opinions lie in [0, 2]: nothing
here is stiff, and an explicit method of order 8 with error control is fast and precise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_continuous_lyapunov

from peerpressure.errors import InvalidInputError, PeerPressureError, message
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.step import Array, StateLayout
from peerpressure.networks import TemporalNetwork
from peerpressure.schedules import Constant, Schedule, Table
from peerpressure.sde.equation import FIRST_TIME, SDE, LinearDrift, steepness
from peerpressure.support.progress import check_cancelled

Rate: TypeAlias = Callable[[float, Array], Array]
TOLERANCE = 1e-11  # of one step, as a share of each number; a whole run keeps 1e-8 and better
ROUNDING = 1e-9  # difference up to which a time counts as a whole number, as 100·0.07 does as 7
NEGLIGIBLE = 1e-12  # absolute tolerance, as a share of the typical size of a quantity


@final
@dataclass(frozen=True, eq=False)
class Flow:
    """Mean (states, 1) and covariance (states, states) of the state at one time, centred on the consensus value."""

    columns: Array
    covariance: Array


def real_times(times: ArrayLike) -> Array:
    """Return times as a vector of increasing real numbers from 0 on."""
    rule = "times must be increasing real numbers from 0 on"
    try:
        given = np.atleast_1d(np.asarray(times, dtype=np.float64))
    except (TypeError, ValueError):
        given = np.full(1, np.nan)
    legal = given.ndim == 1 and given.size and np.all(np.isfinite(given)) and np.all(given >= 0)
    if not legal or np.any(np.diff(given) <= 0):
        raise InvalidInputError(message(rule, got=repr(times)[:80], remedy="for instance np.linspace(0.5, 10, 20)"))
    return given


def smooth_pieces(sde: SDE, begin: float, end: float) -> Iterator[tuple[float, float, SDE]]:
    """Cut a stretch of time where tables and networks jump; each piece comes with an equation in which they do not."""
    network, tables = sde.model.temporal_network, any(isinstance(schedule, Table) for schedule in schedules_of(sde))
    if network is None and not tables:
        if end > begin:
            yield begin, end, sde
        return
    # Otherwise rounding would leave pieces of length 1e-15 beside the jumps, each with a solver of its own.
    # FIRST_TIME is no rounding error of 0, where noise that it avoids would be infinite.
    first, last = begin if begin <= FIRST_TIME else _on_whole(begin), _on_whole(end)
    whole = range(math.floor(first) + 1, math.ceil(last))
    inner = (float(k) for k in whole if tables or network is None or _changes_after(network, k))
    for a, b in itertools.pairwise([first, *inner, last]):
        if b > a:
            # Read in the middle, where rounding of the ends cannot choose the neighbouring entry. Without the cut,
            # error control would shrink its steps at every jump.
            yield a, b, _with_constants(sde, (a + b) / 2)


def schedules_of(sde: SDE) -> Iterator[Schedule]:
    """Yield all that depends on time in a formula or a table."""
    yield from (sde.pressure, sde.noise.time_scale)
    if sde.model.adaptation is not None:
        yield sde.model.adaptation.rate


def _changes_after(network: TemporalNetwork, k: int) -> bool:
    """Whether the network of step k + 1 has events, and so may differ from that of step k."""
    step = k + 1 if network.period is None else k % network.period + 1
    place = int(np.searchsorted(network.change_times, step))
    # When a period begins, the first network follows the last, whether or not that has events.
    return step == 1 or (place < network.change_times.size and int(network.change_times[place]) == step)


def _on_whole(t: float) -> float:
    return float(round(t)) if abs(t - round(t)) < ROUNDING else t


def _with_constants(sde: SDE, t: float) -> SDE:
    """Return the equation with the tables' values and the network of time t as constants."""
    model, noise, adaptation = sde.model, sde.noise, sde.model.adaptation
    if isinstance(noise.time_scale, Table):
        noise = replace(noise, time_scale=Constant(float(sde.noise_scale(t))))
    pressure = model.pressure
    if isinstance(pressure, Table):
        pressure = Constant(float(pressure(pressure.reading_times(np.array(t)))))
    if adaptation is not None and isinstance(adaptation.rate, Table):
        # Not 0, which would remove hidden opinions from the state.
        pace = max(float(sde.adaptation_pace(t)), np.finfo(np.float64).tiny)
        adaptation = Adaptation(Constant(pace), adaptation.adaptation_weight)
    parts: dict[str, Any] = {"pressure": pressure, "noise": noise, "adaptation": adaptation}
    # A model is not rebuilt for every change of the network.
    changed = any(isinstance(schedule, Table) for schedule in schedules_of(sde))
    equation = replace(sde, model=replace(model, **parts)) if changed else sde
    return equation if model.temporal_network is None else equation.on_network(sde.network_step(t))


# The drift at the times that a solver reads. A step reads it at a dozen times that are known before; with a few dozen
# agents, the calls that make it at each of them cost far more than its arithmetic.

# Entries of a state up to which its drift is a dense matrix, made for all stages of a step at once.
LARGEST_DENSE = 64
# Share of a step by which rounding may move its stages.
STAGE_ROUNDING = 1e-9


@final
@dataclass(frozen=True, eq=False)
class DenseDrift:
    """The drift dz = (H z + K x₀) dt + N dw at one time, as ``LinearDrift``, with a dense matrix H."""

    matrix: Array
    hidden_weight: Array | float
    driven: slice
    diffusion: Array

    def forward(self, columns: Array) -> Array:
        """Return H Z for columns of shape (states,) or (states, m), which may leave out the memory of the noise."""
        size = len(columns)
        return np.asarray(self.matrix[:size, :size] @ columns)

    def adjoint_rows(self, rows: Array) -> Array:
        """Return Hᵀλ for each of the rows λ of shape (m, states)."""
        return np.asarray(rows @ self.matrix)


DriftAt: TypeAlias = Callable[[float], LinearDrift | DenseDrift]


def drifts_of(sde: SDE) -> SparseDrifts | DenseDrifts:
    """Return the drifts of an equation in which networks and tables do not jump."""
    return DenseDrifts(sde) if sde.layout.states <= LARGEST_DENSE else SparseDrifts(sde)


@final
class SparseDrifts:
    """Drifts that are made when they are read."""

    def __init__(self, sde: SDE) -> None:
        self.at: DriftAt = sde.linear_drift

    def make_for(self, solver: Any) -> None:
        """Do nothing: a drift of many agents takes less time than its products."""


@final
class DenseDrifts:
    """Drifts that are made for all stages of a solver's next step."""

    def __init__(self, sde: SDE) -> None:
        self.sde, model = sde, sde.model
        # The network is that of any time, as it does not change.
        self._step = 1 if model.temporal_network is None else sde.network_step(1.0)
        kept = model.kept_at(self._step)
        self._network, self._kept = model.adjacency_at(self._step).toarray(), 0.0 if kept is None else kept
        # Of the step that is tried: its beginning, the shares of it that its stages lie at, and their drifts to come.
        self._begin, self._shares = math.nan, np.zeros(0)
        self._stages: Iterator[tuple[float, DenseDrift]] = iter(())

    def make_for(self, solver: Any) -> None:
        """Make the drifts of the next step of a Runge–Kutta solver."""
        end = solver.t + solver.h_abs * solver.direction
        end = solver.t_bound if solver.direction * (end - solver.t_bound) > 0 else end
        self._begin, self._shares = solver.t, solver.C[1:]
        self._make(end - solver.t)

    def _make(self, step: float) -> None:
        times = self._begin + self._shares * step
        self._stages = zip(times.tolist(), self._drifts(times), strict=True)

    def at(self, t: float) -> DenseDrift:
        """Return the drift at one time; the solver reads its stages in their order."""
        time, drift = next(self._stages, (math.nan, None))
        if drift is None or not abs(t - time) <= STAGE_ROUNDING * abs(t - self._begin):
            if math.isnan(self._begin):
                return self._drifts(np.array([t]))[0]
            # The first stage of the same step, which is tried again and shorter.
            self._make((t - self._begin) / float(self._shares[0]))
            drift = next(self._stages)[1]
        return drift

    def _drifts(self, times: Array) -> list[DenseDrift]:
        # Every solver evaluates the equation here and can be cancelled here.
        check_cancelled()
        sde, at, public = self.sde, self.sde.layout, np.arange(self.sde.n)
        gain, coupling = self._coefficients(times)
        noise = gain * sde.deviations * sde.noise_scale(times)[:, None]
        H, diffusion = np.zeros((len(times), at.states, at.states)), noise
        H[:, at.public, at.public] = coupling
        if at.has_hidden:
            assert sde.model.adaptation is not None
            rate = sde.model.adaptation.adaptation_weights(sde.n) * sde.adaptation_pace(times)[:, None]
            hidden = at.hidden.start + public
            H[:, public, hidden], H[:, hidden, public], H[:, hidden, hidden] = gain, rate, -rate
        if at.has_memory:
            memory = at.memory.start + public
            H[:, public, memory], H[:, memory, memory] = noise, -sde.reversion
            diffusion = np.full_like(noise, np.sqrt(2 * sde.reversion))
        driven, weights = at.memory if at.has_memory else at.public, np.zeros(len(times)) if at.has_hidden else gain
        return [DenseDrift(F, own, driven, N) for F, own, N in zip(H, weights, diffusion, strict=True)]

    def _coefficients(self, times: Array) -> tuple[Array, Array]:
        """Return the gains g, (times, agents), and the matrices C − I, (times, agents, agents)."""
        gain, scale = self.sde.model.gains_at(self._step, *self.sde.homogeneous(times))
        matrices = scale[:, :, None] * self._network
        np.einsum("tii->ti", matrices)[...] += self._kept - 1
        return gain, matrices


def solve_flow(sde: SDE, flow: Flow, begin: float, times: Array) -> Iterator[Flow]:
    """Solve for the flow from ``begin`` on and yield it at each of the increasing times."""
    shape, states = flow.columns.shape, sde.layout.states
    if begin == 0 and (gathered := first_noise(sde)).any():
        if times[0] == 0:
            yield flow
        # The integrand is infinite at 0, so the solver starts a little later, from the exact integral up to there.
        # The columns change by O(FIRST_TIME) in that interval, which is within the tolerance.
        begin, times = FIRST_TIME, times[times > 0]
        flow = _after_first(sde.layout, flow, gathered)
        if not times.size:
            return
    # Without noise there is no covariance to carry along.
    carried = not (sde.noise.is_zero and not flow.covariance.any())
    flat = np.concatenate([flow.columns.ravel(), flow.covariance.ravel()]) if carried else flow.columns.ravel()

    def unpack(values: Array) -> Flow:
        columns = values[: flow.columns.size].reshape(shape)
        rest = values[flow.columns.size :].reshape(states, states) if carried else np.zeros((states, states))
        return Flow(columns, rest)

    tolerance = _tolerance(sde, flow, (begin, float(times[-1])), carried=carried)

    def rate_of(piece: SDE, drift_at: DriftAt) -> Rate:
        return _rate(piece, drift_at, shape, carried=carried)

    for values in integrate(sde, rate_of, flat, begin, times, tolerance):
        yield unpack(values)


def first_noise(sde: SDE) -> Array:
    """Return the variance of the noise up to FIRST_TIME, where its scale grows without bound towards time 0.

    With a scale like t^(−γ) that is ∫ G² dt = t G²/(1 − 2γ); of correlated noise it is the weight ∫ G dt = t G/(1 − γ)
    of u. It is 0 for all other noise, which needs no such care.
    """
    gamma = steepness(sde.noise.time_scale)
    if gamma == 0 or sde.noise.is_zero:
        return np.zeros(sde.n)
    size = sde.noise_size(FIRST_TIME)
    if sde.noise.has_memory:
        return np.asarray(FIRST_TIME / (1 - gamma) * size)
    return np.asarray(FIRST_TIME / (1 - 2 * gamma) * size**2)


def _after_first(at: StateLayout, flow: Flow, gathered: Array) -> Flow:
    """Return the flow at FIRST_TIME, from that at time 0 and what ``first_noise`` has gathered."""
    columns, covariance = flow.columns.copy(), flow.covariance.copy()
    if not at.has_memory:
        np.einsum("ii->i", covariance[at.public, at.public])[...] += gathered
        return Flow(columns, covariance)
    columns[at.public] += gathered[:, None] * columns[at.memory]
    # (I + E) P (I + E)ᵀ with E the weights of u in y.
    covariance[at.public] += gathered[:, None] * covariance[at.memory]
    covariance[:, at.public] += gathered * covariance[:, at.memory]
    return Flow(columns, covariance)


def _rate(sde: SDE, drift_at: DriftAt, shape: tuple[int, ...], *, carried: bool) -> Rate:
    """Return the right-hand side for the flat state of mean and covariance."""
    n, states, size = sde.n, sde.layout.states, shape[0] * shape[1]
    centred = sde.x0 - sde.centre

    def rate(t: float, flat: Array) -> Array:
        drift = drift_at(t)
        out = np.empty_like(flat)
        # Views into the flat vectors of the solver; nothing is copied.
        columns, moved = flat[:size].reshape(shape), out[:size].reshape(shape)
        moved[...] = drift.forward(columns)
        moved[:n, -1] += drift.hidden_weight * centred
        if carried:
            covariance, spread = flat[size:].reshape(states, states), out[size:].reshape(states, states)
            # P is symmetric, so PBᵀ is the transpose of BP: one sparse product instead of two, and a derivative
            # that is symmetric to the bit, which keeps P so.
            half = drift.forward(covariance)
            np.add(half, half.T, out=spread)
            np.einsum("ii->i", spread[drift.driven, drift.driven])[...] += drift.diffusion**2
        return out

    return rate


def _tolerance(sde: SDE, flow: Flow, ends: tuple[float, float], *, carried: bool) -> Array:
    """Return the absolute tolerance of each number."""
    # Opinions are centred on the consensus value, which makes their scale the range and not the magnitude: a common
    # offset of all opinions must not loosen the tolerance.
    opinions = float(np.ptp(np.concatenate([sde.x0, sde.start_state])))
    columns = np.full(flow.columns.shape, NEGLIGIBLE)
    columns[:, -1] *= max(opinions, float(np.abs(flow.columns[:, -1]).max())) or 1.0
    if not carried:
        return columns.ravel()
    at, (begin, end) = sde.layout, ends
    # Not at the start itself, where a noise scale may be 0 or very large.
    noise = float(sde.noise_size(begin + min(1.0, (end - begin) / 2)).max())
    if at.has_memory:
        # Correlated noise acts in proportion to time.
        noise *= min(1.0, end - begin)
    size = max(noise**2, float(flow.covariance[: at.memory.start, : at.memory.start].max())) or 1.0
    covariance = np.full(flow.covariance.shape, NEGLIGIBLE * size)
    # The memory of the noise has unit variance.
    covariance[at.memory] = NEGLIGIBLE * math.sqrt(size)
    covariance[:, at.memory] = NEGLIGIBLE * math.sqrt(size)
    covariance[at.memory, at.memory] = NEGLIGIBLE
    return np.concatenate([columns.ravel(), covariance.ravel()])


def integrate(
    sde: SDE,
    rate_of: Callable[[SDE, DriftAt], Rate],
    flat: Array,
    begin: float,
    times: Array,
    tolerance: Array,
) -> Iterator[Array]:
    """Solve y′ = rate(t, y) piece by piece, forwards or backwards, and yield y at each of the times in their order."""
    from scipy.integrate import DOP853

    pending = list(times)
    # The solver reports states after steps only.
    while pending and pending[0] == begin:
        yield flat
        pending.pop(0)
    for a, b, piece in _pieces_towards(sde, begin, pending[-1] if pending else begin):
        # Stepped by hand and not with solve_ivp, which would store the dense output of every step.
        drifts = drifts_of(piece)
        solver = DOP853(rate_of(piece, drifts.at), a, flat, b, rtol=TOLERANCE, atol=tolerance)
        while solver.status == "running":
            drifts.make_for(solver)
            message = solver.step()
            if solver.status == "failed":
                raise PeerPressureError(f"the moments could not be followed beyond t = {solver.t:.6g}: {message}")
            yield from _due(solver, pending)
        flat = solver.y


def _pieces_towards(sde: SDE, begin: float, end: float) -> Iterator[tuple[float, float, SDE]]:
    if end >= begin:
        yield from smooth_pieces(sde, begin, end)
        return
    # The same pieces in both directions: no piece may cross a jump of a table.
    for a, b, piece in reversed(list(smooth_pieces(sde, end, begin))):
        yield b, a, piece


def _due(solver: Any, pending: list[float]) -> Iterator[Array]:
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


def adjoint_moments(sde: SDE, weights: Array, times: Array) -> tuple[Array, Array, Array]:
    """Return mean and variance (times, sums) and the last covariance (sums, sums) of the sums cᵀy, or cᵀy + kᵀx.

    From λ = c at the time asked for, λ′ = Bᵀλ is solved back to time 0. Then the mean is λ(0)·y₀ + ∫ λ·b dt, and the
    covariance of two sums ∫ (Gλ)·(Gλ̃) dt.
    """
    rows = np.zeros((len(weights), sde.layout.states))
    rows[:, : weights.shape[1]] = weights
    parts = [_run_block(sde, rows, block) for block in _blocks(rows.size, times)]
    mean = np.concatenate([mean for mean, _ in parts])
    covariances = np.concatenate([covariance for _, covariance in parts])
    return mean, np.einsum("tii->ti", covariances), covariances[-1]


def _run_block(sde: SDE, weights: Array, times: Array) -> tuple[Array, Array]:
    """Solve for all times of a block in one backward pass; later ones start first, earlier ones join when reached."""
    (k, size), v, at = weights.shape, sde.centre, sde.layout
    state = np.empty((0, k, size + 1 + k))
    # State of one sum: its adjoint λ (states), the integral for its mean (1), and those for its covariances (sums).
    fresh = np.concatenate([weights, np.zeros((k, 1 + k))], axis=1)[None]
    gathered = first_noise(sde)
    last = FIRST_TIME if gathered.any() else 0.0
    for begin, end in itertools.pairwise([*times[times > 0][::-1], last]):
        state = _back_to(sde, np.concatenate([state, fresh]), begin, end)
    # The noise up to FIRST_TIME, which the pass leaves out because it is unbounded there.
    public = state[..., at.public]
    if at.has_memory:
        state[..., at.memory] += gathered * public
    else:
        state[..., size + 1 :] += np.einsum("tan,n,tbn->tab", public, gathered, public)
    if times[0] == 0:
        state = np.concatenate([state, fresh])
    state = state[::-1]
    adjoint, mean, covariance = state[..., :size], state[..., size], state[..., size + 1 :]
    if at.has_memory and not sde.noise.is_zero:
        # Correlated noise starts from its stationary law, of unit variance.
        covariance = covariance + np.einsum("tan,tbn->tab", adjoint[..., at.memory], adjoint[..., at.memory])
    # Everything is centred on the consensus value, which the sum of the weights multiplies.
    return mean + adjoint @ start_of(sde) + v * weights.sum(axis=1), covariance


def start_of(sde: SDE) -> Array:
    """Return the mean of the state at time 0, (states,), centred on the consensus value."""
    at, start = sde.layout, np.zeros(sde.layout.states)
    start[at.public] = sde.start_state - sde.centre
    if at.has_hidden:
        start[at.hidden] = sde.x0 - sde.centre
    return start


def _back_to(sde: SDE, state: Array, begin: float, end: float) -> Array:
    at = sde.layout
    n, opinions = at.states, float(np.ptp(np.concatenate([sde.x0, sde.start_state]))) or 1.0
    tolerance = np.full(state.shape, NEGLIGIBLE)
    # The transition matrix is substochastic, so |λ|₁ does not grow backwards in time: it bounds the means and,
    # squared, the covariances.
    size = np.abs(state[..., : at.memory.start]).sum(axis=2).max()
    noise = float(sde.noise_size(begin).max()) * (min(1.0, begin - end) if at.has_memory else 1.0) or 1.0
    tolerance[..., at.memory] *= noise
    tolerance[..., n] *= size * opinions
    tolerance[..., n + 1 :] *= size**2 * noise**2
    # Weights may be so small that their squares underflow, and a tolerance of 0 has no meaning.
    tolerance = np.maximum(tolerance, np.finfo(np.float64).tiny)

    centred = sde.x0 - sde.centre

    def rate_of(_: SDE, drift_at: DriftAt) -> Rate:
        return lambda t, flat: _adjoint_rate(at, drift_at(t), centred, flat.reshape(state.shape)).ravel()

    (flat,) = integrate(sde, rate_of, state.ravel(), begin, np.array([end]), tolerance.ravel())
    return flat.reshape(state.shape)


def _adjoint_rate(at: StateLayout, drift: LinearDrift | DenseDrift, centred: Array, state: Array) -> Array:
    """Return the rate of change, with growing t, of adjoints, means and covariances."""
    size, out = at.states, np.empty_like(state)
    adjoint = state[..., :size]
    out[..., :size] = drift.adjoint_rows(adjoint.reshape(-1, size)).reshape(adjoint.shape)
    out[..., size] = adjoint[..., at.public] @ (drift.hidden_weight * centred)
    noisy = adjoint[..., drift.driven] * drift.diffusion
    np.matmul(noisy, noisy.swapaxes(1, 2), out=out[..., size + 1 :])
    # The solver goes backwards in time, so the integrals accumulate with a minus sign.
    return np.negative(out, out=out)


def _blocks(size: int, times: Array) -> Iterator[Array]:
    length = max(1, BLOCK // size)
    for start in range(0, times.size, length):
        yield times[start : start + length]


# Moments of all agents or of weighted sums, for any times.

# Entries of the state. The solver keeps some twenty matrices of this size, 160 MB, and a unit of time takes a second.
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
    >>> result = moments_at(SDE(Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(0.5))), [1.0, 2.0])
    >>> result.mean.shape, result.covariance.shape
    ((2, 2), (2, 2))
    """

    mean: Array
    variance: Array
    covariance: Array


def moments_at(sde: SDE, times: ArrayLike) -> GaussianMoments:
    """Return mean and variance of every agent at increasing real times, to some ten digits.

    They solve m′ = b − B m and P′ = −BP − PBᵀ + GGᵀ from the start, which is known and has no variance.

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

    >>> import numpy as np
    >>> from peerpressure import SDE, Model
    >>> from peerpressure.networks import cycle
    >>> from peerpressure.sde import moments_of
    >>> moments_of(SDE(Model(cycle(1001), hidden=range(1001))), np.full(1001, 1 / 1001), 5.0).mean.round(9)
    array([[500.]])
    """
    when, rows = real_times(times), checked_weights(sde, weights, hidden=True)
    # Constant hidden opinions are no part of the state, and their sum is known.
    constant = np.zeros(len(rows))
    if rows.shape[1] > sde.n and not sde.layout.has_hidden:
        rows, constant = rows[:, : sde.n], rows[:, sde.n :] @ sde.x0
    # The adjoint costs sums × times vectors, the covariance n of them.
    if sde.layout.states > LARGEST_COVARIANCE or rows.shape[0] * when.size <= sde.n:
        sums, variance, covariance = adjoint_moments(sde, rows, when)
        return GaussianMoments(constant + sums, variance, covariance)
    mean, variance = np.empty((2, when.size, rows.shape[0]))
    covariance = np.zeros((rows.shape[0], rows.shape[0]))
    for i, (own, full) in enumerate(state_path(sde, when)):
        covariance = rows @ full[: rows.shape[1], : rows.shape[1]] @ rows.T
        mean[i], variance[i] = constant + rows @ own[: rows.shape[1]], np.diag(covariance)
    return GaussianMoments(mean, np.maximum(variance, 0.0), covariance)


def gaussian_path(sde: SDE, times: Array) -> Iterator[tuple[Array, Array]]:
    """Yield mean and covariance of all agents at each of the times.

    >>> import numpy as np
    >>> from peerpressure import SDE, Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.sde import gaussian_path
    >>> sde = SDE(Model(k2(), hidden=[1.0, 2.0], pressure=1.0, noise=Gaussian(0.5)))
    >>> [float(mean[0].round(4)) for mean, _ in gaussian_path(sde, np.array([1.0, 20.0]))]
    [1.259, 1.3333]
    """
    for mean, covariance in state_path(sde, times):
        yield mean[: sde.n], covariance[: sde.n, : sde.n]


def state_path(sde: SDE, times: Array) -> Iterator[tuple[Array, Array]]:
    """Yield mean and covariance of the whole state at each of the times."""
    at, v = sde.layout, sde.centre
    if at.states > LARGEST_COVARIANCE:
        limit = LARGEST_COVARIANCE * at.agents // at.states
        rule = f"the covariance of all agents is computed for up to {limit:,} of them"
        remedy = "ask for some weighted sums of agents with moments_of"
        raise InvalidInputError(message(rule, got=f"{at.agents:,}", remedy=remedy))
    # Centred, because the distance to consensus may be far below the magnitude of v.
    start = Flow(start_of(sde)[:, None], np.zeros((at.states, at.states)))
    if not sde.noise.is_zero:
        # Correlated noise starts from its stationary law.
        np.einsum("ii->i", start.covariance[at.memory, at.memory])[...] = 1.0
    for flow in solve_flow(sde, start, 0.0, times):
        mean = flow.columns[:, 0] + v
        mean[at.memory] = 0.0
        yield mean, flow.covariance


def checked_weights(sde: SDE, weights: ArrayLike, *, hidden: bool = False) -> Array:
    """Return weights as rows with one finite number for each agent, or two where ``hidden`` opinions may follow."""
    try:
        rows = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    except (TypeError, ValueError):
        rows = np.zeros((0, 0))
    sizes = (sde.n, 2 * sde.n) if hidden else (sde.n,)
    if rows.ndim != 2 or rows.shape[1] not in sizes or not np.all(np.isfinite(rows)):
        rule = f"weights must be rows of {sde.n} finite numbers, one for each agent"
        got = f"shape {rows.shape}" if rows.size else repr(weights)[:80]
        raise InvalidInputError(message(rule, got=got, remedy="for instance np.eye(n)[[0]] for the first agent"))
    return rows


# The stationary law under constant pressure.


def stationary(sde: SDE, t: float) -> tuple[Array, Array]:
    """Return the mean and the covariance at which pressure and noise of time t would settle.

    The mean is the fixed point (S + ρL)⁻¹S x₀. The covariance solves BP + PBᵀ = GGᵀ: with M = S + ρD, the matrix
    M^½ B M^(−½) is symmetric, and in its eigenvectors with eigenvalues λ the solution is a division by λ_i + λ_j. On a
    directed network, and if noise is correlated, it takes a Schur decomposition of B.

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
    at = sde.layout
    if at.states > LARGEST_COVARIANCE:
        rule = f"a stationary covariance is computed for up to {LARGEST_COVARIANCE * at.agents // at.states:,} agents"
        raise InvalidInputError(message(rule, got=f"{sde.n:,}", remedy="use moments_of at late times"))
    if at.has_hidden:
        rule = "hidden opinions that adapt have no stationary law: noise keeps moving what agents agree on"
        raise InvalidInputError(message(rule, got=sde.model.adaptation, remedy="use moments_at at late times"))
    B, b = sde.drift(t)
    if sde.network.directed or at.has_memory:
        return _general_stationary(sde, t, B.toarray(), b)
    own_weight, weight = sde.homogeneous(t)
    # M in homogeneous coordinates; the common factor own_weight cancels in every product below.
    root = np.sqrt(own_weight * sde.s + weight * sde.model.degrees_at(sde.network_step(t)))
    # Symmetric up to rounding; both triangles are averaged because eigh reads only one.
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


def _general_stationary(sde: SDE, t: float, B: Array, b: Array) -> tuple[Array, Array]:
    n, v, drift = sde.n, sde.centre, sde.linear_drift(t)
    _require_stationary(sde, t, float(np.linalg.eigvals(B[:n, :n]).real.min()))
    mean = v + np.linalg.solve(B[:n, :n], b[:n] - v * B[:n, :n].sum(axis=1))
    if sde.noise.is_frozen:
        # Frozen draws are constants of unit variance, to which public opinions respond.
        response = np.linalg.solve(B[:n, :n], np.diag(drift.noise_weight))
        return mean, _symmetric(response @ response.T)
    noise = np.zeros(sde.layout.states)
    noise[drift.driven] = drift.diffusion**2
    return mean, _symmetric(solve_continuous_lyapunov(B, np.diag(noise)))[:n, :n]


def _symmetric(matrix: Array) -> Array:
    return np.asarray((matrix + matrix.T) / 2)


def _require_stationary(sde: SDE, t: float, slowest: float) -> None:
    if slowest <= 1e-13:
        rule = "a stationary law needs a pressure under which agents still hear their own opinion"
        got = f"{sde.pressure} at t = {t:g}"
        raise InvalidInputError(message(rule, got=got, remedy="choose an earlier time"))
