"""The ordinary differential equations of the mean, the covariance and the transition matrix of the process.

The law is Gaussian: m′ = b − B m and P′ = −BP − PBᵀ + GGᵀ. Columns Y that start from the identity obey Y′ = −BY, and
give the transition matrix. Eigenvalues of B lie in [0, 2], so that nothing here is stiff, and an explicit method of
order 8 with error control is fast and precise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

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
