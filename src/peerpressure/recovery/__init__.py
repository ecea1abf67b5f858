"""Recovery: estimation of hidden opinions from public ones, by an observer that knows the model.

``recover`` estimates the hidden opinions from a run, at its start or at its end; ``information`` is the bound
on any estimate, before a run is observed; ``infer_network`` estimates the network itself. A new method is one function
``method(system, data, prior) -> Estimate`` and one line in ``METHODS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from peerpressure.errors import InvalidInputError, did_you_mean, message
from peerpressure.model import Model
from peerpressure.progress import ShouldStop, cancellable
from peerpressure.recovery._activity import given_who_updated, who_updated
from peerpressure.recovery._current import CURRENT, checked_target, current
from peerpressure.recovery._diagnostics import FitDiagnostics
from peerpressure.recovery._estimate import Covariance, Estimate, Target, known_estimate, with_rounding_error
from peerpressure.recovery._information import Information, information
from peerpressure.recovery._innovations import innovations
from peerpressure.recovery._inversion import invert, is_invertible
from peerpressure.recovery._kalman import kalman, kalman_filter, kalman_smoother
from peerpressure.recovery._likelihood import fit, likelihood
from peerpressure.recovery._limits import few_threads
from peerpressure.recovery._network_estimate import NetworkEstimate, average_precision
from peerpressure.recovery._network_inference import infer_network
from peerpressure.recovery._observation import Observation, Outputs, ResolvedObservation, outputs_of
from peerpressure.recovery._prior import Prior
from peerpressure.recovery._regression import gls, ols, snapshot, wls
from peerpressure.recovery._residuals import diagnose_fit, diagnostics_of
from peerpressure.statespace import System, model_of, state_layout, transitions
from peerpressure.trajectory import Trajectory

# Every method takes a model; those of CONTINUOUS take an SDE as well.
Method: TypeAlias = Callable[[Any, Outputs, Prior | None], Estimate]


class Estimator(NamedTuple):
    """Declaration of an estimator: its function, its name for a label, and a description in one line.

    Attributes
    ----------
    estimate : callable
        Function ``method(system, data, prior) -> Estimate``.
    title : str
        Name for a label.
    help : str
        Description in one line.

    See Also
    --------
    peerpressure.recovery.METHODS : Table of all estimators.

    Examples
    --------
    >>> from peerpressure.recovery import METHODS
    >>> METHODS["kalman"].title
    'Kalman filter'
    """

    estimate: Method
    title: str
    help: str


METHODS: Mapping[str, Estimator] = {
    "ols": Estimator(ols, "The paper's regression", "Ordinary least squares, as if errors were independent and alike."),
    "innovations": Estimator(
        innovations,
        "Innovations",
        "Inverts the update and averages: the best linear estimate where all agents are observed.",
    ),
    "kalman": Estimator(
        kalman, "Kalman filter", "The best linear estimate where some agents or some steps are not observed."
    ),
    "wls": Estimator(
        wls, "Weighted least squares", "Weights each error by its variance, still as if errors were independent."
    ),
    "gls": Estimator(gls, "Generalised least squares", "Uses the full covariance of the errors."),
    "likelihood": Estimator(
        likelihood,
        "Maximum likelihood",
        "Uses the law of the noise: the median for Laplace, the midrange for uniform noise.",
    ),
    "snapshot": Estimator(snapshot, "Last step only", "Uses the public opinions of the last observed step alone."),
}

CONTINUOUS = ("innovations", "kalman")
UNUSED_START = "step 0 shows x₀ itself and is not used unless sees_start is true"
COARSE_ROUNDING = "rounding exceeds the noise of outputs: errors are approximate"
# Methods that fit outputs which the model cannot have made.
REGRESSIONS = ("ols", "wls", "gls", "snapshot")

__all__ = [
    "CONTINUOUS",
    "CURRENT",
    "METHODS",
    "Covariance",
    "Estimate",
    "Estimator",
    "FitDiagnostics",
    "Information",
    "Method",
    "NetworkEstimate",
    "Observation",
    "Outputs",
    "Prior",
    "ResolvedObservation",
    "Target",
    "average_precision",
    "diagnose_fit",
    "fit",
    "infer_network",
    "information",
    "kalman_filter",
    "kalman_smoother",
    "outputs_of",
    "recover",
    "who_updated",
]


def recover(
    model: System,
    trajectory: Trajectory,
    method: str = "innovations",
    observation: Observation | None = None,
    prior: Prior | None = None,
    target: Target = "initial",
    *,
    should_stop: ShouldStop | None = None,
) -> Estimate:
    """Estimate the hidden opinions from what is observed of a run.

    The observer knows network, stubbornness, peer pressure, how opinions adapt and the law of the noise, but not x₀;
    the model's own hidden opinions are never used, except to compare with. Where it is random who updates, the observer
    sees who does, and the estimate is the exact one given that. A run that continues another is read as one
    that began at step 0 and is observed from where its record begins.

    Parameters
    ----------
    model : Model or SDE
        The model that the observer assumes. Steps of an SDE are those of its grid.
    trajectory : Trajectory
        A run with recorded states.
    method : str, default "innovations"
        "innovations" inverts the update and averages, the best linear method for complete outputs; "kalman" gives the
        best linear estimate from any outputs; "gls" does so in one dense model; "ols" and "wls" are regressions with
        exact sandwich covariances; "likelihood" uses the law of the noise; "snapshot" uses only the last step. In
        continuous time, "innovations" or "kalman".
    observation : Observation, optional
        Which agents are observed and when; by default all that is recorded from step 1 on. Where the record has
        y₀ = x₀, the note of the estimate says that it was left out.
    prior : Prior, optional
        Gaussian prior of x₀, matched by label if it has names; without one, estimates are unbiased.
    target : {"initial", "current"}, default "initial"
        Estimate x₀, or the hidden opinions after the last observed step; these differ where opinions adapt.
    should_stop : callable, optional
        Called at every step that is followed; the work is cancelled with `CancelledError` if it returns True.

    Returns
    -------
    Estimate
        The estimate, with its exact covariance and which opinions are identified.

    Raises
    ------
    InvalidInputError
        If the method is not known or cannot use these outputs, or if the model cannot have made them.
    TooLargeError
        If the method needs a dense matrix of too many agents.

    See Also
    --------
    recovery.information : The Cramér–Rao bound, before any output is observed.
    recovery.kalman_smoother : Posteriors of public and hidden opinions at every step.
    recovery.fit : Estimates of unknown parameters together with x₀.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, recover, simulate
    >>> from peerpressure.networks import k2
    >>> model = Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(1.0))
    >>> estimate = recover(model, simulate(model, steps=400, seed=1))
    >>> estimate.std.round(3)
    array([0.05, 0.05])
    """
    with cancellable(should_stop), few_threads(model_of(model).n):
        return _recover(model, trajectory, method, observation, prior, target)


def _recover(
    model: System,
    trajectory: Trajectory,
    method: str,
    observation: Observation | None,
    prior: Prior | None,
    target: Target,
) -> Estimate:
    _check_method(model, method)
    model = given_who_updated(model, trajectory, observation)
    which = checked_target(target)
    prior = None if prior is None else prior.in_order(model.network.labels)
    data = outputs_of(model, trajectory, observation)
    # Where opinions are constant, the current ones are x₀, and every method estimates them.
    follows = which == "current" and state_layout(model).has_hidden
    if not data.seen.free.size and not follows:
        found = known_estimate(model_of(model), data, method)
        return replace(found, target=which, replicates=data.replicates, diagnostics=diagnostics_of(model, data))

    def estimator(seen: Outputs) -> Estimate:
        return current(model, seen, method, prior) if follows else METHODS[method].estimate(model, seen, prior)

    # A likelihood is maximised replicate by replicate, so copies would multiply the work, and to a tolerance far above
    # rounding errors.
    found = estimator(data) if method == "likelihood" else with_rounding_error(estimator, data)
    if method in REGRESSIONS and data.complete and isinstance(model, Model) and is_invertible(model):
        # A regression fits any outputs; inverting the update raises an error where the noise cannot have made them.
        invert(model, data)
    note = "; ".join(filter(None, (found.note, *_remarks(model, data))))
    facts: dict[str, Any] = {"target": which, "note": note, "replicates": data.replicates}
    return replace(found, diagnostics=diagnostics_of(model, data), **facts)


def _remarks(system: System, data: Outputs) -> Iterator[str]:
    """Yield what a reader must know about how the outputs were read."""
    if data.leaves_start:
        yield UNUSED_START
    # Between outputs that move by less than the spacing, errors of rounding repeat themselves.
    if data.seen.rounding and any(
        (step.noise_std[data.seen.agents] < data.seen.rounding / 2).any()
        for step in transitions(system, data.seen.last)
    ):
        yield COARSE_ROUNDING


def _check_method(system: System, method: str) -> None:
    if method not in METHODS:
        rule = f"the method must be one of {', '.join(METHODS)}"
        remedy = f"name one of these{did_you_mean(method, METHODS)}"
        raise InvalidInputError(message(rule, got=repr(method), remedy=remedy))
    if not isinstance(system, Model) and method not in CONTINUOUS:
        rule = f"in continuous time the method must be one of {', '.join(CONTINUOUS)}"
        remedy = "'innovations' needs all outputs, and 'kalman' can do without"
        raise InvalidInputError(message(rule, got=repr(method), remedy=remedy))
