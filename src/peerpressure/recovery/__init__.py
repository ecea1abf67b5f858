"""Recovery: estimation of hidden opinions from public ones, by an observer that knows the model.

``recover`` estimates the hidden opinions from a run, at its start or at its end; ``information`` is the bound
on any estimate, before a run is observed; ``infer_network`` estimates the network itself. A new method is one function
``method(system, data, prior) -> Estimate`` and one line in ``METHODS``.
"""

from __future__ import annotations

from peerpressure.recovery._data import observations_of
from peerpressure.recovery._diagnostics import FitDiagnostics
from peerpressure.recovery._estimate import Covariance, Estimate, Target
from peerpressure.recovery._estimators import CONTINUOUS, CURRENT, METHODS, Estimator, Method, recover
from peerpressure.recovery._information import Information, information
from peerpressure.recovery._kalman import kalman_filter, kalman_smoother
from peerpressure.recovery._likelihood import fit
from peerpressure.recovery._network_inference import NetworkEstimate, average_precision, infer_network
from peerpressure.recovery._observation import Observation, Outputs, ResolvedObservation, outputs_of, who_updated
from peerpressure.recovery._prior import Prior
from peerpressure.recovery._residuals import diagnose_fit

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
    "observations_of",
    "outputs_of",
    "recover",
    "who_updated",
]
