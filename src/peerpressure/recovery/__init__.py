"""The observer: what someone who knows the model and sees outputs can find out about the hidden opinions.

``recover`` estimates x₀ from a run; ``information`` says beforehand how well anyone could. A new method is one
function ``method(model, data, prior) -> Estimate`` and one line in ``METHODS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model
from peerpressure.recovery.estimate import Covariance, Estimate, known_estimate
from peerpressure.recovery.gls import gls
from peerpressure.recovery.information import Information, information
from peerpressure.recovery.innovations import innovations
from peerpressure.recovery.inversion import invert
from peerpressure.recovery.kalman import kalman, kalman_filter, kalman_smoother
from peerpressure.recovery.likelihood import fit, likelihood
from peerpressure.recovery.observation import Observation, ResolvedObservation
from peerpressure.recovery.ols import ols
from peerpressure.recovery.outputs import Outputs, outputs_of
from peerpressure.recovery.prior import Prior
from peerpressure.recovery.snapshot import snapshot
from peerpressure.recovery.wls import wls
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

__all__ = [
    "METHODS",
    "Covariance",
    "Estimate",
    "Information",
    "Method",
    "Observation",
    "Outputs",
    "Prior",
    "ResolvedObservation",
    "fit",
    "information",
    "kalman_filter",
    "kalman_smoother",
    "outputs_of",
    "recover",
]


def recover(
    model: Model,
    trajectory: Trajectory,
    method: str = "innovations",
    observation: Observation | None = None,
    prior: Prior | None = None,
) -> Estimate:
    """Estimate the hidden opinions from what is seen of a run.

    The observer knows network, stubbornness, peer pressure and the law of the noise, but not x₀; the model's own
    hidden opinions are never used, except to compare with. A run that goes on from another is read as one that began
    at step 0 and is seen from where its record begins.

    >>> from peerpressure import Gaussian, k2, simulate
    >>> model = Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(1.0))
    >>> estimate = recover(model, simulate(model, steps=400, seed=1))
    >>> estimate.std.round(3)
    array([0.05, 0.05])
    """
    if method not in METHODS:
        rule = f"the method must be one of {', '.join(METHODS)}"
        raise InvalidInputError(complain(rule, got=repr(method), remedy="check the spelling"))
    data = outputs_of(model, trajectory, observation)
    if not data.seen.free.size:
        return known_estimate(model, data, method)
    estimate = METHODS[method](model, data, prior)
    if estimate.consistency is None and data.complete:
        # A regression fits whatever it is given; undoing the update tells whether the model made it.
        estimate = replace(estimate, consistency=invert(model, data).consistency)
    return estimate
