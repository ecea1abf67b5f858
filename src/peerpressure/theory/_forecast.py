"""State of a model after a number of steps, exactly, and what the tuned schedule would improve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from peerpressure.model import Model, Vector
from peerpressure.progress import ShouldStop, cancellable
from peerpressure.schedules import Linear
from peerpressure.sde import SDE
from peerpressure.simulation import simulate
from peerpressure.statespace import model_of, state_layout
from peerpressure.theory._classification import LongRun, NoiselessLimit, is_consensus_value, structure_of
from peerpressure.theory._moments import consensus_mode, moments, step_count
from peerpressure.theory._rates import start_weight, with_parts
from peerpressure.theory._regime import Regime

# Largest number of opinions whose covariance is computed, for which every step takes O(n²) or more; beyond, agents are
# simulated. Where hidden opinions adapt each agent has two.
MOST_AGENTS = 200
# A root mean square over N nearly independent deviations has relative error 1/√(2N), half a per cent here.
ENOUGH_AGENTS = 20_000


@final
@dataclass(frozen=True, eq=False)
class Forecast:
    """The law of the state after ``steps`` steps, in a few numbers.

    Attributes
    ----------
    steps : int
        The number of steps.
    mode_mean, mode_std, mode_error : float
        Mean and standard deviation of the consensus mode m, and its root-mean-square distance to v; exact.
    rms_distance, disagreement : float
        Root mean squares over agents and noise of y_i − v and of y_i − m. They are exact for up to 200 agents (100 if
        hidden opinions adapt), and else come from a simulation of ``replicates`` runs.
    start_weight : float
        The weight of the start in the consensus mode.
    replicates : int, optional
        The number of simulated runs; None where all is exact.
    mean, std : array of shape (agents,), optional
        The law of each agent, where it is exact.
    hidden_mean, hidden_disagreement : float, optional
        Where hidden opinions adapt, their mean over agents and the root mean square of their distances from it.
    """

    steps: int
    mode_mean: float
    mode_std: float
    mode_error: float
    rms_distance: float
    disagreement: float
    start_weight: float
    replicates: int | None = None
    mean: Vector | None = None
    std: Vector | None = None
    hidden_mean: float | None = None
    hidden_disagreement: float | None = None


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
        # Equal errors include 0 and 0, for which the ratio is not defined.
        if self.error_now == self.error_tuned:
            return 1.0
        return self.error_now / self.error_tuned if self.error_tuned > 0 else math.inf


def forecast(model: Model | SDE, steps: int, *, should_stop: ShouldStop | None = None) -> Forecast:
    """Return the law of the state after a number of steps.

    Parameters
    ----------
    model : Model or SDE
        Any model.
    steps : int
        The number of steps; in continuous time those of the equation.
    should_stop : callable, optional
        Called at every step that is computed; cancels the work with ``CancelledError`` if it returns True.

    Returns
    -------
    Forecast
        Exact for up to 200 agents; on more, the consensus mode is exact and agents are simulated.

    See Also
    --------
    moments : The exact law of all agents, or of functionals, over time.

    Examples
    --------
    >>> from peerpressure.networks import k2
    >>> from peerpressure.noise import Gaussian
    >>> after = forecast(Model(k2(), hidden=[0, 1], noise=Gaussian(1.0)), 99)
    >>> round(float(after.std[0]), 6)  # √99/100
    0.099499
    """
    steps = step_count(steps)
    opinions = model_of(model).n * (1 + state_layout(model).has_hidden)
    with cancellable(should_stop):
        return _exact(model, steps) if opinions <= MOST_AGENTS else _partly_simulated(model, steps)


def _exact(model: Model | SDE, steps: int) -> Forecast:
    """Read all off one covariance P: Var(y_i − m) = P_ii − 2(Pw)_i + wᵀPw."""
    n, w, v = model.n, consensus_mode(model).weights, model.consensus_value
    has_hidden = state_layout(model).has_hidden
    last = model.time(steps) if isinstance(model, SDE) else steps
    found = moments(model, steps, times=[last], what="joint" if has_hidden else "public")
    mean, variance = found.mean[-1, :n], found.variance[-1, :n]
    m, mode_variance, apart = _about(w, mean, found.covariance[:n, :n])
    hidden = _about(np.full(n, 1 / n), found.mean[-1, n:], found.covariance[n:, n:]) if has_hidden else None
    return Forecast(
        steps=steps,
        mode_mean=m,
        mode_std=math.sqrt(mode_variance),
        mode_error=math.sqrt((m - v) ** 2 + mode_variance),
        rms_distance=math.sqrt(np.mean((mean - v) ** 2 + variance)),
        disagreement=apart,
        start_weight=start_weight(model, steps),
        mean=mean,
        std=np.sqrt(variance),
        hidden_mean=None if hidden is None else hidden[0],
        hidden_disagreement=None if hidden is None else hidden[2],
    )


def _about(w: Vector, mean: Vector, covariance: Vector) -> tuple[float, float, float]:
    """Return mean and variance of the weighted mean of agents, and the root mean square of their distances from it."""
    shared = covariance @ w
    m, variance = float(w @ mean), float(w @ shared)
    # Rounding may leave a negative variance.
    deviation = np.maximum(np.diag(covariance) - 2 * shared + variance, 0.0)
    return m, variance, math.sqrt(np.mean((mean - m) ** 2 + deviation))


def _partly_simulated(model: Model | SDE, steps: int) -> Forecast:
    """Compute the mode exactly, and average over the many agents of a few runs instead of over the noise."""
    m, variance = _mode_moments(model, steps)
    w, v = consensus_mode(model).weights, model.consensus_value
    # At least two runs, since one shares a single realisation of the mode.
    replicates = min(max(ENOUGH_AGENTS // model.n, 2), 64)
    final = simulate(model, steps, replicates, record="final").final
    public, hidden = final.public, final.hidden
    modes = (public @ w)[:, None]
    error = (m - v) ** 2 + variance
    # The mode is known exactly, so only the difference is estimated from the runs: the mode is common to all agents,
    # and its fluctuation would not average out over them (a control variate).
    added = float(np.mean((public - v) ** 2 - (modes - v) ** 2))
    return Forecast(
        steps=steps,
        mode_mean=m,
        mode_std=math.sqrt(variance),
        mode_error=math.sqrt(error),
        rms_distance=math.sqrt(max(error + added, 0.0)),
        disagreement=math.sqrt(np.mean((public - modes) ** 2)),
        start_weight=start_weight(model, steps),
        replicates=replicates,
        hidden_mean=None if hidden is None else float(hidden.mean()),
        hidden_disagreement=None if hidden is None else float(np.sqrt(np.mean(hidden.var(axis=1)))),
    )


def mode_error(model: Model | SDE, steps: int) -> float:
    """Return the root-mean-square distance of the consensus mode to v after some steps, exactly.

    Parameters
    ----------
    model : Model or SDE
        Any model.
    steps : int
        The number of steps.

    Returns
    -------
    float
        √(bias² + variance) of Σ d y/Σ d about v.

    Examples
    --------
    >>> from peerpressure.networks import k2
    >>> from peerpressure.noise import Gaussian
    >>> round(mode_error(Model(k2(), hidden=[0, 1], noise=Gaussian(1.0)), 99), 6)  # √(99/2)/100
    0.070356
    """
    mean, variance = _mode_moments(model, steps)
    # hypot avoids underflow of the squares for very small errors.
    return math.hypot(mean - model.consensus_value, math.sqrt(variance))


def _mode_moments(model: Model | SDE, steps: int) -> tuple[float, float]:
    found = moments(model, steps, of=consensus_mode(model))
    return float(found.mean[-1, 0]), float(found.variance[-1, 0])


def advice(long_run: LongRun, steps: int, error_now: float) -> Advice | None:
    """Return the tuned schedule and its error after some steps; None where no schedule leads to v."""
    schedule = _tuned_schedule(long_run)
    if schedule is None:
        return None
    return Advice(schedule, error_now, mode_error(with_parts(long_run.system, pressure=schedule), steps))


def _tuned_schedule(long_run: LongRun) -> Linear | None:
    """Return ρ_t = κt for the κ of the common value, if that is attracted to v."""
    model = long_run.model
    if model.is_plain:
        return Linear.tuned(model.network, model.s)
    if not long_run.structure.constant_opinions:
        return None
    is_linear = long_run.regime is Regime.LINEAR
    structure = long_run.structure if is_linear else structure_of(model, Regime.LINEAR)
    if structure.limit is not NoiselessLimit.CONSENSUS:
        return None
    omega, value = structure.components[0].omega, structure.components[0].value
    leads_to_v = omega is not None and value is not None and is_consensus_value(model, value)
    return Linear(omega.kappa) if omega is not None and leads_to_v else None
