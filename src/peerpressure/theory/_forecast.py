"""Where a model stands after a number of steps, exactly, and what a better schedule would make of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from peerpressure.model import Model, Vector
from peerpressure.progress import ShouldStop, cancellable
from peerpressure.schedules import Linear
from peerpressure.sde import SDE
from peerpressure.simulation import simulate
from peerpressure.theory._classification import SAME, Bond, setting_of
from peerpressure.theory._limits import start_weight
from peerpressure.theory._moments import consensus_mode, moments, step_count
from peerpressure.theory._regime import Regime, reduced

# Above this number the covariance of all agents takes too long.
MOST_AGENTS = 200
# So many agents, over all runs, give a root mean square to a per cent.
ENOUGH_AGENTS = 20_000


@final
@dataclass(frozen=True, eq=False)
class Forecast:
    """The law of the public state after ``steps`` steps, in a few numbers.

    ``mode_mean`` and ``mode_std`` belong to the consensus mode m, and ``mode_error`` is its root-mean-square distance
    to v: these are exact. ``distance`` and ``disagreement`` are root mean squares over agents and noise of y_i − v and
    of y_i − m. On up to 200 agents they are exact too, and ``mean`` and ``std`` hold one number for each agent; on
    more, they come from a simulation of ``replicates`` runs. Where hidden opinions adapt, ``hidden_mean`` is their
    mean over agents by then, ``hidden_spread`` the root mean square of their distances from it, and 100 agents count
    as many.
    """

    steps: int
    mode_mean: float
    mode_std: float
    mode_error: float
    distance: float
    disagreement: float
    start_weight: float
    replicates: int | None = None
    mean: Vector | None = None
    std: Vector | None = None
    hidden_mean: float | None = None
    hidden_spread: float | None = None


@final
@dataclass(frozen=True)
class Advice:
    """The tuned schedule ρ_t = κt, and the error of the consensus mode under it after the same number of steps."""

    schedule: Linear
    error_now: float
    error_tuned: float

    @property
    def gain(self) -> float:
        """How many times smaller the error gets; below 1 if it grows."""
        if self.error_now == self.error_tuned:
            return 1.0
        return self.error_now / self.error_tuned if self.error_tuned > 0 else math.inf


def forecast(model: Model | SDE, steps: int, *, should_stop: ShouldStop | None = None) -> Forecast:
    """Return where the model stands after ``steps`` steps, which in continuous time are those of the equation.

    ``should_stop`` is called at every step that is followed, and cancels the work with ``CancelledError`` if it returns
    True.

    >>> from peerpressure.networks import k2
    >>> from peerpressure.noise import Gaussian
    >>> after = forecast(Model(k2(), hidden=[0, 1], noise=Gaussian(1.0)), 99)
    >>> round(float(after.std[0]), 6)  # √99/100
    0.099499
    """
    steps, most = step_count(steps), MOST_AGENTS
    if not isinstance(model, SDE):
        model = reduced(model)
        most = most if model.adaptation is None else most // 2
    with cancellable(should_stop):
        return _exact(model, steps) if model.n <= most else _partly_simulated(model, steps)


def _exact(model: Model | SDE, steps: int) -> Forecast:
    """Read all off one covariance P: Var(y_i − m) = P_ii − 2(Pw)_i + wᵀPw."""
    n, w, v = model.n, consensus_mode(model).weights, model.consensus_value
    moves = not isinstance(model, SDE) and model.adaptation is not None
    last = model.time(steps) if isinstance(model, SDE) else steps
    found = moments(model, steps, times=[last], what="joint" if moves else "public")
    mean, variance = found.mean[-1, :n], found.variance[-1, :n]
    m, mode_variance, apart = _about(w, mean, found.covariance[:n, :n])
    held = _about(np.full(n, 1 / n), found.mean[-1, n:], found.covariance[n:, n:]) if moves else None
    return Forecast(
        steps=steps,
        mode_mean=m,
        mode_std=math.sqrt(mode_variance),
        mode_error=math.sqrt((m - v) ** 2 + mode_variance),
        distance=math.sqrt(np.mean((mean - v) ** 2 + variance)),
        disagreement=apart,
        start_weight=start_weight(model, steps),
        mean=mean,
        std=np.sqrt(variance),
        hidden_mean=None if held is None else held[0],
        hidden_spread=None if held is None else held[2],
    )


def _about(w: Vector, mean: Vector, covariance: Vector) -> tuple[float, float, float]:
    """Return mean and variance of the weighted mean of agents, and the root mean square of their distances from it."""
    shared = covariance @ w
    m, variance = float(w @ mean), float(w @ shared)
    # Rounding may leave less than nothing.
    deviation = np.maximum(np.diag(covariance) - 2 * shared + variance, 0.0)
    return m, variance, math.sqrt(np.mean((mean - m) ** 2 + deviation))


def _partly_simulated(model: Model | SDE, steps: int) -> Forecast:
    """Follow the mode exactly, and let the many agents of a few runs stand for the mean over noise."""
    m, variance = _mode_moments(model, steps)
    w, v = consensus_mode(model).weights, model.consensus_value
    replicates = min(max(ENOUGH_AGENTS // model.n, 2), 64)
    final = simulate(model, steps, replicates, record="final").final
    shown, held = final.public, final.hidden
    modes = (shown @ w)[:, None]
    error = (m - v) ** 2 + variance
    # The mode's own share is known, so that only what agents add to it is taken from the runs.
    added = float(np.mean((shown - v) ** 2 - (modes - v) ** 2))
    return Forecast(
        steps=steps,
        mode_mean=m,
        mode_std=math.sqrt(variance),
        mode_error=math.sqrt(error),
        distance=math.sqrt(max(error + added, 0.0)),
        disagreement=math.sqrt(np.mean((shown - modes) ** 2)),
        start_weight=start_weight(model, steps),
        replicates=replicates,
        hidden_mean=None if held is None else float(held.mean()),
        hidden_spread=None if held is None else float(np.sqrt(np.mean(held.var(axis=1)))),
    )


def mode_error(model: Model | SDE, steps: int) -> float:
    """Return the root-mean-square distance of the consensus mode to v after ``steps`` steps, exactly."""
    mean, variance = _mode_moments(model, steps)
    return math.hypot(mean - model.consensus_value, math.sqrt(variance))


def _mode_moments(model: Model | SDE, steps: int) -> tuple[float, float]:
    found = moments(model, steps, of=consensus_mode(model))
    return float(found.mean[-1, 0]), float(found.variance[-1, 0])


def advice(model: Model | SDE, steps: int, error_now: float | None = None) -> Advice | None:
    """Return the tuned schedule and what it would bring after ``steps`` steps; None where no schedule leads to v."""
    schedule = tuned_schedule(model)
    if schedule is None:
        return None
    now = mode_error(model, steps) if error_now is None else error_now
    return Advice(schedule, now, mode_error(_pressed(model, schedule), steps))


def _pressed(model: Model | SDE, schedule: Linear) -> Model | SDE:
    if isinstance(model, SDE):
        return replace(model, model=replace(model.model, pressure=schedule))
    return replace(model, pressure=schedule)


def tuned_schedule(model: Model | SDE) -> Linear | None:
    """Return ρ_t = κt for the κ of the common value, if it is v that all are drawn to."""
    model = model.model if isinstance(model, SDE) else reduced(model)
    if model.is_plain:
        return Linear.tuned(model.network, model.s)
    if model.adaptation is not None:
        return None
    setting = setting_of(model, Regime.LINEAR)
    if setting.bond is not Bond.ONE:
        return None
    mode, value = setting.groups[0].mode, setting.groups[0].value
    leads = value is not None and abs(value - model.consensus_value) <= SAME * float(np.ptp(model.x0))
    return None if mode is None or not leads else Linear(mode.kappa)
