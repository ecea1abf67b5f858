"""The schedule under which agents are closest to v after a given number of steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from peerpressure.errors import ModelError, TooLargeError, message
from peerpressure.model import Model, Vector
from peerpressure.noise import Noise
from peerpressure.progress import ShouldStop, cancellable
from peerpressure.schedules import Formula, Linear, Schedule, Table
from peerpressure.theory._horizon_distance import HorizonDistance, pass_work
from peerpressure.theory._moments import Times, step_count

# Multiplications of one pass over the horizon, some tenths of a second; an optimum takes about a hundred passes.
_MOST_WORK = 10**8
# Pressures that are tried, in units of s/d: below, agents ignore their neighbours, and above, themselves.
_LEAST, _MOVABLE, _MOST = 1e-3, 10.0, 1e6
# Up to so many steps every pressure is free; beyond, those at knots.
_FREE = 40
_ROUNDING = 1e-12
# Evaluations of the distance by which an optimum ends.
_EVALUATIONS = 300


@final
@dataclass(frozen=True)
class Alternative:
    """A simple schedule, and the RMS distance of the agents to v under it at the same horizon."""

    schedule: Schedule
    rms_distance: float


@final
@dataclass(frozen=True, eq=False, repr=False)
class OptimalSchedule:
    """The best schedule for a horizon, and simple ones to compare it with.

    Attributes
    ----------
    schedule : Table
        The pressures ρ_1, …, ρ_T.
    rms_distance : float
        Root mean square of y_T,i − v over agents, noise and, unless known, hidden opinions of the model's variance.
    alternatives : mapping from str to Alternative
        ``"t"``: ρ_t = t; ``"tuned"``: ρ_t = κt/(1 − 2γ), best for the consensus mode as t → ∞ under noise of scale t^γ;
        ``"line"``: the best ρ_t = c·t; ``"averaging"``: the best line that is followed by steps of averaging.
    averaging_steps : int
        How many steps of averaging that approximation ends with.
    converged : bool
        Whether the search ended at a minimum, and not at its limit of evaluations.
    evaluations : int
        How often the distance and its gradient were computed for it.
    slope : float
        Largest |d log(RMS distance)/d log ρ| at a knot whose pressure is not at a bound; 0 at a minimum.
    """

    schedule: Table
    rms_distance: float
    alternatives: Mapping[str, Alternative]
    averaging_steps: int
    converged: bool
    evaluations: int
    slope: float

    def __repr__(self) -> str:
        lines = [
            f"OptimalSchedule: RMS distance to v {self.rms_distance:.3g} after {self.schedule.values.size:,} steps"
        ]
        lines += [f"  {one.rms_distance:.3g} under {one.schedule}" for one in self.alternatives.values()]
        return "\n".join(lines)


def optimal_schedule(
    model: Model,
    steps: int,
    *,
    know_hidden: bool = False,
    delayed: bool = False,
    should_stop: ShouldStop | None = None,
) -> OptimalSchedule:
    """Return the schedule under which agents are closest to v after ``steps`` steps.

    The mean-square distance, averaged over noise and over hidden opinions that have the variance of the model's, is

        mean_i [τ² Σ_j (Q_ij − s_j/Σs)² + P_ii],

    with Q the weights of hidden opinions in the public ones at the end, and P the covariance of these. It needs
    nobody's hidden opinion. It is minimised over log ρ_t, which is linear in log t between knots that are dense at both
    ends, with exact gradients. The optimum grows slowly and ends in a burst: under very large pressure agents only
    average their neighbours' opinions, which removes most of their remaining disagreement.

    Parameters
    ----------
    model : Model
        Any model in discrete time; its own pressure has no effect.
    steps : int
        The horizon T. The schedule is a table of T values, and says nothing about later steps.
    know_hidden : bool, default False
        Use the hidden opinions of the model themselves instead of only their variance.
    delayed : bool, default False
        Let all schedules have ρ_1 = 0, so that no agent responds to the start y₀.
    should_stop : callable, optional
        Called at every step that is computed; cancels the work with ``CancelledError`` if it returns True.

    Returns
    -------
    OptimalSchedule
        The schedule with its RMS distance, and the distances under simple schedules.

    Raises
    ------
    ModelError
        If time is continuous.
    TooLargeError
        If agents and steps are too many for about a hundred passes over the horizon.

    See Also
    --------
    diagnose : Names a better schedule where there is one.
    forecast : The RMS distance under a given schedule.
    peerpressure.privacy.calibrate : The optimal schedule under a privacy budget.

    References
    ----------
    .. [1] R. H. Byrd, P. Lu, J. Nocedal, C. Zhu, "A limited memory algorithm for bound constrained optimization", SIAM
       J. Sci. Comput. 16 (1995).

    Examples
    --------
    >>> from peerpressure.networks import complete
    >>> from peerpressure.noise import Gaussian
    >>> found = optimal_schedule(Model(complete(5), hidden=[0, 0, 1, 2, 2], noise=Gaussian(0.1)), 20)
    >>> found.rms_distance < found.alternatives["averaging"].rms_distance < found.alternatives["line"].rms_distance
    True
    """
    steps = step_count(steps)
    check_optimum(model, steps)
    with cancellable(should_stop):
        distance = HorizonDistance(model, steps, know_hidden=know_hidden, delayed=delayed)
        line = best_line(distance)
        averaging, k = best_averaging(distance, line)
        named = {"t": Linear(), "tuned": tuned_line(model), "line": line, "averaging": averaging}
        alternatives = {name: Alternative(_as_used(distance, one), _rms(distance, one)) for name, one in named.items()}
        best = optimum(distance, line)
    return OptimalSchedule(
        best.schedule, best.rms_distance, alternatives, k, best.converged, best.evaluations, best.slope
    )


def check_optimum(model: object, steps: int) -> None:
    """Raise an error for a model and a horizon whose optimal schedule cannot be computed."""
    if not isinstance(model, Model):
        remedy = "use the model that the SDE was made from"
        rule = "an optimal schedule is that of a model in discrete time"
        raise ModelError(message(rule, got=repr(model)[:80], remedy=remedy))
    work = pass_work(model, steps)
    if work > _MOST_WORK:
        rule = f"an optimal schedule takes agents × edges × steps of up to {_MOST_WORK:.0e}"
        raise TooLargeError(message(rule, got=f"{work:.2g}", remedy="take fewer steps, or a smaller network"))


def noise_exponent(noise: Noise) -> float:
    """Return γ of noise whose scale grows like t^γ and that averages out, 0 for other noise."""
    exponent = None if noise.is_zero or noise.is_frozen else noise.time_scale.growth.exponent
    return exponent or 0.0


def tuned_line(model: Model) -> Linear:
    """Return ρ_t = κt/(1 − 2γ), or κt where noise grows too fast for any line to average it out."""
    gamma = noise_exponent(model.noise)
    return Linear.tuned(model.network, model.s, gamma if gamma < 0.5 else 0.0)


@final
@dataclass(frozen=True, eq=False)
class Optimum:
    """A minimum of the distance to v over schedules, and how the search for it ended."""

    schedule: Table
    rms_distance: float
    converged: bool
    evaluations: int
    slope: float


def optimum(distance: HorizonDistance, line: Linear) -> Optimum:
    """Return the minimum over schedules that are log-linear between knots; the search starts from a line."""
    low, high = _bounds(distance.model)
    # Distances below this are rounding errors of those without pressure.
    floor = _ROUNDING**2 * distance.value(np.full(distance.steps, low))
    if floor == 0:
        return Optimum(Table(np.zeros(distance.steps)), 0.0, converged=True, evaluations=1, slope=0.0)
    # Where agents ignore themselves altogether, the distance is flat in the pressure, and a search would not move.
    found = _minimum(distance, line, floor, low, high, most=high - math.log(_MOST / _MOVABLE))
    return found if found.rms_distance <= _rms(distance, line) else _minimum(distance, line, floor, low, high, high)


def _minimum(distance: HorizonDistance, line: Linear, floor: float, low: float, high: float, most: float) -> Optimum:
    """Search from the values of a line at the knots, but from log ρ ≤ most."""
    from scipy.optimize import minimize

    times, knots = np.arange(1, distance.steps + 1), _knots(distance.steps)
    basis = np.stack([np.interp(np.log(times), np.log(knots), one) for one in np.eye(knots.size)], axis=1)

    def objective(theta: Vector) -> tuple[float, Vector]:
        value, gradient = distance.value_and_gradient(basis @ theta)
        value += floor
        # The logarithm, because distances differ by orders of magnitude between schedules.
        return math.log(value) / 2, basis.T @ gradient / (2 * value)

    start, bounds = np.clip(line.log(knots), low, most), [(low, high)] * knots.size
    options: dict[str, Any] = {"maxfun": _EVALUATIONS, "maxcor": 20, "ftol": 1e-9, "gtol": 1e-5}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    inside = (found.x > low) & (found.x < high)
    slope = float(np.abs(found.jac[inside]).max(initial=0.0))
    schedule = _as_used(distance, Table(np.exp(basis @ found.x)))
    assert isinstance(schedule, Table)
    rms = math.sqrt(max(math.exp(2 * found.fun) - floor, 0.0))
    return Optimum(schedule, rms, bool(found.success), int(found.nfev), slope)


def _knots(steps: int) -> Times:
    """Return the steps at which the pressure is free: all of few, else those that are dense at both ends."""
    if steps <= _FREE:
        return np.arange(1, steps + 1)
    # The burst at the end takes single steps there, whatever the horizon.
    early, late = np.geomspace(1, steps, 14), steps - np.geomspace(1, steps / 2, 12)
    return np.unique(np.rint(np.concatenate([early, late, steps - np.arange(7)])).astype(np.int64))


def _bounds(model: Model) -> tuple[float, float]:
    """Return the least and the greatest log ρ that are tried."""
    ratio = model.s / model.network.degrees
    return math.log(_LEAST * ratio.min()), math.log(_MOST * ratio.max())


# Simple schedules: a line, and a line that ends in steps of averaging.


def _as_used(distance: HorizonDistance, schedule: Schedule) -> Schedule:
    """Return a schedule with ρ_1 = 0 where all have that."""
    if not distance.delayed:
        return schedule
    return Table(np.concatenate([[0.0], schedule(np.arange(2, distance.steps + 1))]))


def _rms(distance: HorizonDistance, schedule: Schedule) -> float:
    return math.sqrt(distance.value(schedule.log(np.arange(1, distance.steps + 1))))


def best_line(distance: HorizonDistance) -> Linear:
    """Return the line c·t under which the distance is least."""
    kappa = distance.model.kappa
    slope = _least(lambda log_c: _rms(distance, Linear(math.exp(log_c))), math.log(kappa / 10), math.log(kappa * 1e4))
    return Linear(math.exp(slope))


def best_averaging(distance: HorizonDistance, line: Linear) -> tuple[Linear | Formula, int]:
    """Return the best line that is followed by k steps of averaging, and k; the first line tried is ``line``."""
    model, steps, log_c = distance.model, distance.steps, math.log(line.slope)

    def value(k: int, log_c: float) -> float:
        return _rms(distance, averaging_schedule(model, math.exp(log_c), steps, k))

    # Doubled as long as that helps; the best number hardly depends on the slope.
    known = {0: value(0, log_c)}
    while (k := max(1, 2 * max(known))) < steps and min(known.values()) in list(known.values())[-2:]:
        known[k] = value(k, log_c)
    best = min(known, key=known.__getitem__)
    for _ in range(2):
        log_c = _least(partial(value, best), log_c - 1.5, log_c + 0.5, grid=3)
        between = (best, round(0.7 * best), best - 1, best + 1, round(1.4 * best))
        near = {k: value(k, log_c) for k in set(between) if 0 <= k < steps}
        best = min(near, key=near.__getitem__)
    return averaging_schedule(model, math.exp(log_c), steps, best), best


def averaging_schedule(model: Model, slope: float, steps: int, k: int) -> Linear | Formula:
    """Return a line, with pressure so high in the last k of the steps that agents only average their neighbours."""
    if k == 0:
        return Linear(slope)
    # Rounded, since it is meant for a reader to write down.
    return Formula(f"{slope:.4g}*t + {math.exp(_bounds(model)[1]):.1g}*max(0, t - {steps - k})")


def _least(value: Callable[[float], float], low: float, high: float, grid: int = 9) -> float:
    """Return the argument of the least value, to a few per cent: the best of a grid, refined between its neighbours."""
    from scipy.optimize import minimize_scalar

    points = np.linspace(low, high, grid)
    values = [value(float(x)) for x in points]
    best = int(np.argmin(values))
    around = points[max(best - 1, 0)], points[min(best + 1, grid - 1)]
    found = minimize_scalar(value, bounds=around, method="bounded", options={"xatol": 0.05})
    return float(found.x) if found.fun < values[best] else float(points[best])
