"""The observer: what someone who knows the model and sees outputs can find out about the hidden opinions.

``recover`` estimates from a run what agents held at first, or hold in the end; ``information`` says beforehand how
well anyone could know x₀. A new method is one function ``method(model, data, prior) -> Estimate`` and one line in
``METHODS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.progress import ShouldStop, cancellable
from peerpressure.recovery._current import checked_target, current, snapshot
from peerpressure.recovery._estimate import Covariance, Estimate, Prior, Target, known_estimate
from peerpressure.recovery._information import Information, information
from peerpressure.recovery._innovations import innovations, invert, step_innovations
from peerpressure.recovery._kalman import kalman, kalman_filter, kalman_smoother
from peerpressure.recovery._likelihood import fit, likelihood
from peerpressure.recovery._observation import Observation, Outputs, ResolvedObservation, discrete, outputs_of
from peerpressure.recovery._regression import gls, ols, wls
from peerpressure.recovery._rounding import with_rounding_error
from peerpressure.sde import SDE
from peerpressure.trajectory import Trajectory

Method: TypeAlias = Callable[[Model, Outputs, Prior | None], Estimate]

METHODS: Mapping[str, Method] = {
    "innovations": innovations,
    "ols": ols,
    "wls": wls,
    "gls": gls,
    "kalman": kalman,
    "likelihood": likelihood,
    "snapshot": snapshot,
}

CONTINUOUS: Mapping[str, Callable[[SDE, Outputs, Prior | None], Estimate]] = {
    "innovations": step_innovations,
    "kalman": kalman,
}

__all__ = [
    "CONTINUOUS",
    "METHODS",
    "Covariance",
    "Estimate",
    "Information",
    "Method",
    "Observation",
    "Outputs",
    "Prior",
    "ResolvedObservation",
    "Target",
    "fit",
    "information",
    "kalman_filter",
    "kalman_smoother",
    "outputs_of",
    "recover",
]


def recover(
    model: Model | SDE,
    trajectory: Trajectory,
    method: str = "innovations",
    observation: Observation | None = None,
    prior: Prior | None = None,
    target: Target = "initial",
    *,
    should_stop: ShouldStop | None = None,
) -> Estimate:
    """Estimate the hidden opinions from what is seen of a run.

    ``target`` is "initial" for x₀, or "current" for what agents hold after the last step that is seen: these differ
    where hidden opinions adapt. The observer knows network, stubbornness, peer pressure, how opinions adapt and
    the law of the noise, but not x₀; the model's own hidden opinions are never used, except to compare with. A run
    that goes on from another is read as one that began at step 0 and is seen from where its record begins. In
    continuous time, for an ``SDE``, the methods are "innovations" and "kalman", and steps are those of its grid.

    ``should_stop`` is called at every step that is followed, and cancels the work with ``CancelledError`` if it returns
    True.

    >>> from peerpressure import Gaussian, simulate
    >>> from peerpressure.networks import k2
    >>> model = Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(1.0))
    >>> estimate = recover(model, simulate(model, steps=400, seed=1))
    >>> estimate.std.round(3)
    array([0.05, 0.05])
    """
    with cancellable(should_stop):
        return _recover(model, trajectory, method, observation, prior, target)


def _recover(
    model: Model | SDE,
    trajectory: Trajectory,
    method: str,
    observation: Observation | None,
    prior: Prior | None,
    target: Target,
) -> Estimate:
    _refuse_other_method(model, method)
    which = checked_target(target)
    data = outputs_of(model, trajectory, observation)
    if not data.seen.free.size and not _moves_on(model, which):
        return replace(known_estimate(discrete(model), data, method), target=which)

    def estimator(seen: Outputs) -> Estimate:
        if isinstance(model, SDE):
            return CONTINUOUS[method](model, seen, prior)
        if _moves_on(model, which):
            return current(model, seen, method, prior)
        return METHODS[method](model, seen, prior)

    # A likelihood is climbed replicate by replicate, and to a tolerance far above rounding.
    found = estimator(data) if method == "likelihood" else with_rounding_error(estimator, data)
    estimate = replace(found, target=which)
    if estimate.goodness_of_fit is None and data.complete and isinstance(model, Model):
        # A regression fits whatever it is given; undoing the update tells whether the model made it.
        estimate = replace(estimate, goodness_of_fit=invert(model, data).goodness_of_fit)
    return estimate


def _moves_on(model: Model | SDE, target: Target) -> bool:
    """Say whether the target differs from x₀: what agents hold in the end, where hidden opinions adapt."""
    return isinstance(model, Model) and target == "current" and model.adaptation is not None


def _refuse_other_method(model: Model | SDE, method: str) -> None:
    if method not in METHODS:
        rule = f"the method must be one of {', '.join(METHODS)}"
        raise InvalidInputError(message(rule, got=repr(method), remedy="check the spelling"))
    if isinstance(model, SDE) and method not in CONTINUOUS:
        rule = f"in continuous time the method must be one of {', '.join(CONTINUOUS)}"
        remedy = "'innovations' needs all outputs, and 'kalman' can do without"
        raise InvalidInputError(message(rule, got=repr(method), remedy=remedy))
