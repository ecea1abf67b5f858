"""Where a model stands after a number of steps, exactly, and what a better schedule would make of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from peerpressure.model import Model, Vector
from peerpressure.schedules import Linear
from peerpressure.simulation import simulate
from peerpressure.theory.functionals import consensus_mode
from peerpressure.theory.moments import moments
from peerpressure.theory.scalar import start_weight
from peerpressure.theory.times import step_count

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
    more, they come from a simulation of ``replicates`` runs.
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


def forecast(model: Model, steps: int) -> Forecast:
    """Return where the model stands after ``steps`` steps.

    >>> from peerpressure.networks import k2
    >>> from peerpressure.noises import Gaussian
    >>> after = forecast(Model(k2(), hidden=[0, 1], noise=Gaussian(1.0)), 99)
    >>> round(float(after.std[0]), 6)  # √99/100
    0.099499
    """
    steps = step_count(steps)
    return _exact(model, steps) if model.n <= MOST_AGENTS else _partly_simulated(model, steps)


def _exact(model: Model, steps: int) -> Forecast:
    """Read all off one covariance P: Var(y_i − m) = P_ii − 2(Pw)_i + wᵀPw."""
    found, w, v = moments(model, steps, times=[steps]), consensus_mode(model).weights, model.consensus_value
    mean, variance, shared = found.mean[-1], found.variance[-1], found.covariance @ w
    m, mode_variance = float(w @ mean), float(w @ shared)
    # Rounding may leave less than nothing.
    deviation = np.maximum(variance - 2 * shared + mode_variance, 0.0)
    return Forecast(
        steps=steps,
        mode_mean=m,
        mode_std=math.sqrt(mode_variance),
        mode_error=math.sqrt((m - v) ** 2 + mode_variance),
        distance=math.sqrt(np.mean((mean - v) ** 2 + variance)),
        disagreement=math.sqrt(np.mean((mean - m) ** 2 + deviation)),
        start_weight=start_weight(model, steps),
        mean=mean,
        std=np.sqrt(variance),
    )


def _partly_simulated(model: Model, steps: int) -> Forecast:
    """Follow the mode exactly, and let the many agents of a few runs stand for the mean over noise."""
    m, variance = _mode_moments(model, steps)
    w, v = consensus_mode(model).weights, model.consensus_value
    replicates = min(max(ENOUGH_AGENTS // model.n, 2), 64)
    shown = simulate(model, steps, replicates, record="final").final.public
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
    )


def mode_error(model: Model, steps: int) -> float:
    """Return the root-mean-square distance of the consensus mode to v after ``steps`` steps, exactly."""
    mean, variance = _mode_moments(model, steps)
    return math.hypot(mean - model.consensus_value, math.sqrt(variance))


def _mode_moments(model: Model, steps: int) -> tuple[float, float]:
    found = moments(model, steps, of=consensus_mode(model))
    return float(found.mean[-1, 0]), float(found.variance[-1, 0])


def advice(model: Model, steps: int, error_now: float | None = None) -> Advice:
    """Return the tuned schedule and what it would bring after ``steps`` steps."""
    schedule = Linear.tuned(model.network, model.s)
    now = mode_error(model, steps) if error_now is None else error_now
    return Advice(schedule, now, mode_error(replace(model, pressure=schedule), steps))
