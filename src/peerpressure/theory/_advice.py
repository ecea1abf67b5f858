"""Schedules that would bring the agents closer to v by a given step, judged by the exact forecast under each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, final

import numpy as np

from peerpressure.model import Model
from peerpressure.schedules import Formula, Linear, Schedule
from peerpressure.sde import SDE
from peerpressure.theory._classification import LongRun, Outcome, classify, is_consensus_value
from peerpressure.theory._departure import decide
from peerpressure.theory._forecast import Forecast, law_after
from peerpressure.theory._moments import LARGEST_COVARIANCE
from peerpressure.theory._optimal_schedule import (
    HorizonDistance,
    best_averaging,
    best_line,
    noise_exponent,
    optimum,
    pass_work,
    tuned_line,
)
from peerpressure.theory._rates import with_parts
from peerpressure.theory._reasons import Reason, ReasonCode
from peerpressure.theory._regime import Regime
from peerpressure.theory._structure import NoiselessLimit, structure_of

# Work of a pass over the horizon up to which an optimum, of some fifty passes, accompanies a diagnosis.
OPTIMUM_WORK = 3_000_000
# The same for a line that ends in averaging, which takes fewer passes and may look at fewer agents.
_AVERAGING_WORK = 20_000_000
_FEWEST_AGENTS = 16
# An improvement by less is not worth another schedule.
_LEAST_GAIN = 1.05
# Share of the range of opinions to which the limit under another schedule is computed.
_TOLERANCE = 1e-3
_ROUNDING = 1e-12

Name: TypeAlias = Literal["optimal", "averaging", "line", "tuned"]


@final
@dataclass(frozen=True)
class Suggestion:
    """A better schedule, and where it leads.

    Attributes
    ----------
    name : {"optimal", "averaging", "line", "tuned"}
        The optimal schedule for the horizon, a line that ends in steps of averaging, the best line for the horizon, or
        the tuned line κt/(1 − 2γ).
    schedule : Schedule
        The schedule itself.
    rms_distance : float
        Root mean square distance of the agents to v at the horizon under it.
    gain : float
        How many times smaller that is than under the schedule of the model; ∞ where only rounding errors are left.
    outcome : Outcome, optional
        The outcome under it in the long run; None for a schedule that is made for the horizon only.
    """

    name: Name
    schedule: Schedule
    rms_distance: float
    gain: float
    outcome: Outcome | None


@final
@dataclass(frozen=True)
class Advice:
    """What would bring the agents closer to v at the horizon.

    ``rms_distance`` is their root mean square distance to v as it is; ``suggestions`` are the schedules that make it
    smaller, the best first, and are empty where none that was tried does; ``omitted`` is why the optimal schedule was
    not tried, None where it was.
    """

    rms_distance: float
    suggestions: tuple[Suggestion, ...]
    omitted: Reason | None = None


def advice(long_run: LongRun, ahead: Forecast) -> Advice:
    """Return the schedules under which the forecast for the same step is better."""
    now, found = ahead.rms_distance, []
    # A distance that is rounding error gets no smaller, and is 0 to all that is known.
    rounding = _ROUNDING * float(np.abs(long_run.model.x0).max())
    for name, schedule in _candidates(long_run, ahead.steps):
        other = with_parts(long_run.system, pressure=schedule)
        then = law_after(other, ahead.steps)
        # On large networks distances have a standard error, by three of which the gain is reduced here.
        least, most = now - 3 * ahead.rms_distance_stderr, then.rms_distance + 3 * then.rms_distance_stderr
        if least > rounding and least >= _LEAST_GAIN * most:
            gain = now / then.rms_distance if then.rms_distance > rounding else math.inf
            # A schedule for the horizon says nothing about the steps after it.
            outcome = decide(classify(other), _TOLERANCE)[0].outcome if isinstance(schedule, Linear) else None
            found.append(Suggestion(name, schedule, then.rms_distance, gain, outcome))
    found.sort(key=lambda one: one.rms_distance)
    return Advice(now, tuple(found), _omitted(long_run.system, ahead.steps))


def _omitted(system: Model | SDE, steps: int) -> Reason | None:
    """Return why the optimal schedule is not computed along with a diagnosis."""
    if isinstance(system, SDE):
        return Reason(ReasonCode.OPTIMUM_CONTINUOUS)
    work = pass_work(system, steps)
    return None if work <= OPTIMUM_WORK else Reason(ReasonCode.OPTIMUM_TOO_LARGE, {"agents": system.n, "steps": steps})


def _candidates(long_run: LongRun, steps: int) -> Iterator[tuple[Name, Schedule]]:
    line = tuned_schedule(long_run)
    if line is not None:
        yield "tuned", line
    system = long_run.system
    if isinstance(system, SDE):
        return
    if _omitted(system, steps) is None:
        distance = HorizonDistance(system, steps)
        yield "optimal", optimum(distance, best_line(distance)).schedule
        return
    averaging = _sampled_averaging(system, steps)
    if averaging is not None:
        yield "line" if isinstance(averaging, Linear) else "averaging", averaging


def _sampled_averaging(model: Model, steps: int) -> Linear | Formula | None:
    """Return a line that ends in averaging, the best for as many of the agents as can be afforded."""
    per_agent = pass_work(model, steps, 2) - pass_work(model, steps, 1)
    count = min((_AVERAGING_WORK - pass_work(model, steps, 1)) // per_agent + 1, model.n)
    if count < min(_FEWEST_AGENTS, model.n):
        return None
    # Evenly over the degrees, on which the distance of an agent depends most.
    chosen = np.argsort(model.network.degrees, kind="stable")[np.linspace(0, model.n - 1, count).astype(np.intp)]
    # Without hidden opinions, whose covariance is a matrix, for as many agents as one is computed for.
    distance = HorizonDistance(model, steps, know_hidden=model.n > LARGEST_COVARIANCE, agents=chosen)
    return best_averaging(distance, best_line(distance))[0]


def tuned_schedule(long_run: LongRun) -> Linear | None:
    """Return ρ_t = κt/(1 − 2γ) for the κ of the common value, if that is attracted to v; None if no line reaches v."""
    model = long_run.model
    gamma = noise_exponent(model.noise)
    if gamma >= 0.5:
        return None
    if model.is_plain:
        return tuned_line(model)
    if not long_run.structure.constant_opinions:
        return None
    is_linear = long_run.regime is Regime.LINEAR
    structure = long_run.structure if is_linear else structure_of(model, Regime.LINEAR)
    if structure.limit is not NoiselessLimit.CONSENSUS:
        return None
    omega, value = structure.components[0].omega, structure.components[0].value
    leads_to_v = omega is not None and value is not None and is_consensus_value(model, value)
    return Linear(omega.kappa / (1 - 2 * gamma)) if omega is not None and leads_to_v else None
