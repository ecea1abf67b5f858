"""How much noise a privacy budget asks for, and what accuracy it leaves."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import numpy as np

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model, Vector
from peerpressure.noise import Gaussian, Noise
from peerpressure.privacy._accounting import promise_of
from peerpressure.privacy._budget import Budget, budget, shifts_of
from peerpressure.privacy._definition import Observed, ObserverArguments
from peerpressure.privacy._gaussian_privacy import checked_delta, checked_epsilon, mu_of, positive
from peerpressure.privacy._release import (
    Release,
    delay_pressure,
    leaks_at_first_step,
    require_discrete,
    safe_factor,
)
from peerpressure.recovery._inversion import shows_start
from peerpressure.statespace import state_layout
from peerpressure.theory import OptimalSchedule, optimal_schedule
from peerpressure.theory._forecast import mode_error

# Relative precision of the search for a law without a formula; the result is rounded up to more noise.
_CLOSE = 1e-9
_LEAST = 1e-12


@final
@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """A model with just the noise that a budget asks for.

    Attributes
    ----------
    model : Model
        The calibrated model.
    std : float or array of shape (agents,)
        Standard deviation of its noise.
    budget : Budget
        The budget that it meets.
    rms_error : float
        Root-mean-square distance of the consensus mode to v after ``budget.definition.steps`` steps; exact.
    optimum : OptimalSchedule, optional
        The optimal schedule under that noise, with the RMS distances of the agents under it and under simple schedules,
        if it was asked for.

    See Also
    --------
    calibrate : Computes it.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.privacy import calibrate
    >>> found = calibrate(Model(k2(), hidden=[0.0, 1.0], start=0.0), 100, mu=1.0)
    >>> round(found.std, 6), round(found.rms_error, 4)
    (10.0, 0.7001)
    """

    model: Model
    std: float | Vector
    budget: Budget
    rms_error: float
    optimum: OptimalSchedule | None = None

    def __repr__(self) -> str:
        std = np.asarray(self.std)
        size = f"{std:.6g}" if std.ndim == 0 else f"{std.min():.6g}–{std.max():.6g} by agent"
        best = "" if self.optimum is None else f"{self.optimum!r}\n"
        return (
            f"noise of standard deviation {size} leaves the consensus mode {self.rms_error:.4g} away from v (root mean "
            f"square)\n{best}{self.budget!r}"
        )


def calibrate(
    model: Model,
    steps: int,
    *,
    epsilon: float | None = None,
    delta: float = 1e-5,
    mu: float | None = None,
    information: float | None = None,
    sensitivity: float = 1.0,
    sees_start: bool = False,
    runs: int = 1,
    observed: Observed = None,
    insiders: Sequence[Hashable] = (),
    optimal_pressure: bool = False,
) -> Calibration:
    """Return the model with the least noise of its kind that keeps every agent within one budget over ``steps`` steps.

    Law, course over time and the ratios of agents' standard deviations are kept and one factor is found, as information
    falls with the square of it; a model without noise gets white Gaussian noise.

    Parameters
    ----------
    model : Model
        The model to calibrate.
    steps : int
        The number of observed steps, at least 1.
    epsilon : float, optional
        Budget ε > 0 of (ε, δ)-privacy. Exactly one of ``epsilon``, ``mu`` and ``information`` is given.
    delta : float, default 1e-5
        The δ at which ε holds, strictly between 0 and 1.
    mu : float, optional
        Budget μ > 0 of Gaussian differential privacy.
    information : float, optional
        Budget of Fisher information, above 0.
    sensitivity : float, default 1.0
        Largest distance between two hidden opinions that are to be indistinguishable.
    sees_start : bool, default False
        Whether y₀ is observed, too.
    runs : int, default 1
        Runs with independent noise that are released.
    observed : sequence of labels or Observation, optional
        The observed agents, as in `budget`; by default everyone.
    insiders : sequence of labels, default ()
        Agents who tell the observer what they know, as in `budget`.
    optimal_pressure : bool, default False
        Replace the pressure by the optimal schedule under the calibrated noise. Where y₀ = x₀ it has ρ_1 = 0, so that
        no neighbour responds to a hidden opinion, and the noise does not depend on the schedule.

    Returns
    -------
    Calibration
        The model, its noise, its budget and the accuracy that is left.

    Raises
    ------
    InvalidInputError
        If no amount of this noise meets the budget, or if the budget is not known for its law.

    See Also
    --------
    budget : The account of a given model.
    frontier : Accuracy against privacy for several designs.
    peerpressure.theory.optimal_schedule : The optimal schedule under given noise.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.privacy import calibrate
    >>> frozen = Gaussian(temporal="frozen")
    >>> model = Model(k2(), hidden=[0.0, 1.0], noise=frozen, start=[0.0, 0.0])
    >>> calibrate(model, 100, mu=0.5).std
    2.0
    """
    require_discrete(model, "the noise that a budget asks for")
    target, kind = _target(epsilon=epsilon, mu=mu, information=information)
    # A model without noise has no law to scale.
    base = model if not model.noise.is_zero else replace(model, noise=Gaussian(1.0))
    if optimal_pressure and isinstance(model.start, str):
        base = delay_pressure(base, steps)
    seen: ObserverArguments = {"sees_start": sees_start, "runs": runs, "observed": observed, "insiders": insiders}
    now = budget(base, steps, sensitivity, delta, **seen)
    _check_attainable(now)
    if kind == "information":
        # Information is proportional to 1/std², and μ to 1/std: no search is needed.
        factor = math.sqrt(now.information / target)
    elif isinstance(base.noise, Gaussian):
        factor = now.mu / (target if kind == "mu" else mu_of(target, checked_delta(delta)))
    elif kind == "mu":
        rule = "μ is a budget for Gaussian noise"
        raise InvalidInputError(message(rule, got=base.noise, remedy="ask for an epsilon"))
    elif math.isnan(now.epsilon):
        rule = "ε is known for Gaussian, Laplace and Student noise only"
        raise InvalidInputError(message(rule, got=base.noise, remedy="ask for an information instead"))
    else:
        factor = _searched(now, target)
    quiet = replace(base, noise=_louder(base.noise, factor))
    optimum = optimal_schedule(quiet, steps, delayed=isinstance(model.start, str)) if optimal_pressure else None
    quiet = quiet if optimum is None else replace(quiet, pressure=optimum.schedule)
    # Accounted again from the scaled noise, so that the result states what was computed and not what was asked for.
    account = budget(quiet, steps, sensitivity, delta, **seen)
    return Calibration(quiet, quiet.noise.std, account, mode_error(quiet, account.definition.steps), optimum)


def _target(**given: float | None) -> tuple[float, str]:
    chosen = {name: value for name, value in given.items() if value is not None}
    if len(chosen) != 1:
        rule = "give one budget: epsilon, mu or information"
        raise InvalidInputError(message(rule, got=", ".join(chosen) or "none", remedy="leave the others out"))
    ((kind, value),) = chosen.items()
    return (checked_epsilon(value) if kind == "epsilon" else positive(value, kind)), kind


def _check_attainable(now: Budget) -> None:
    """Raise an error for noise that meets no budget however large it is."""
    if math.isfinite(now.information):
        return
    # The cases go from the law itself to its combination with the model, so that the message names the actual reason.
    if math.isinf(now.model.noise.fisher_information()):
        rule = "no amount of this noise meets a budget, for it is bounded or has jumps"
        raise InvalidInputError(message(rule, got=now.model.noise, remedy="use Gaussian or Laplace noise"))
    if now.model.noise.is_frozen and state_layout(now.model).has_hidden:
        rule = "frozen noise hides nothing from who sees all where opinions fade from under it"
        remedy = "use white or AR(1) noise, or a model without adaptation"
        raise InvalidInputError(message(rule, got=str(now.model.adaptation), remedy=remedy))
    if now.definition.sees_start and isinstance(now.model.start, str):
        rule = "no noise hides an opinion from who sees y₀ = x₀"
        raise InvalidInputError(message(rule, got="sees_start=True", remedy="give the model a public start"))
    if shows_start(now.model).any():
        rule = "no noise hides an opinion from who sees it kept: y₀ = x₀ of agents who do not update at step 1"
        raise InvalidInputError(message(rule, got="start='hidden'", remedy="give the model a public start"))
    if leaks_at_first_step(now.model) and now.definition.insiders:
        rule = "no noise hides an opinion from insiders who hear y₀ = x₀ of their neighbours"
        remedy = "give the model a public start, or use delay_pressure(model, steps)"
        raise InvalidInputError(message(rule, got="start='hidden'", remedy=remedy))
    if leaks_at_first_step(now.model) and now.model.noise.is_frozen:
        rule = "frozen noise hides nothing from who sees all while neighbours hear hidden opinions at the start"
        remedy = "give the model a public start, or use delay_pressure(model, steps)"
        raise InvalidInputError(message(rule, got="start='hidden'", remedy=remedy))
    rule = "every agent needs noise at every step, and frozen noise the same scale at all of them"
    raise InvalidInputError(message(rule, got=now.model.noise, remedy="give all a positive deviation"))


def _searched(now: Budget, target: float) -> float:
    """Return the factor for a law whose ε has no formula: the worst agent's, until no agent is beyond the target."""
    model, promise, definition = now.model, promise_of(now.model.noise), now.definition
    moved = shifts_of(definition, safe_factor(model.noise))
    protected = ~definition.is_insider

    def epsilons(some: Release, factor: float) -> Vector:
        # So many times more noise is the same as opinions so many times closer.
        return promise.account(some, definition.sensitivity / factor, now.delta, model.noise)["epsilon"]

    factor = 1.0
    found = np.where(protected, epsilons(moved, factor), 0.0)
    # The worst agent can change with the factor, as ε is not linear in it; each pass fixes one agent, hence at most n.
    for _ in range(model.n):
        # Searching for one agent and checking all costs far less than searching with all of them.
        worst = moved.of(int(np.argmax(found)))
        factor = _least_factor(partial(epsilons, worst), target, factor)
        found = np.where(protected, epsilons(moved, factor), 0.0)
        if found.max() <= target:
            break
    return factor


def _least_factor(epsilons: Callable[[float], Vector], target: float, guess: float) -> float:
    """Return the least factor with all ε ≤ target, to a relative error of 1e-9, from above."""
    low = high = guess
    while epsilons(high).max() > target:
        low, high = high, 2 * high
    # The lower bound ends the search where even almost no noise meets the budget.
    while epsilons(low).max() <= target and low > _LEAST:
        low, high = low / 2, low
    while high > low * (1 + _CLOSE):
        # Geometric bisection, as the precision is relative.
        middle = math.sqrt(low * high)
        low, high = (low, middle) if epsilons(middle).max() <= target else (middle, high)
    return high


def _louder(noise: Noise, factor: float) -> Noise:
    """Return the same noise with all deviations multiplied by a factor."""
    return replace(noise, std=np.asarray(noise.std) * factor)
