"""Recovery: estimation of hidden opinions from public ones, by an observer that knows the model.

``recover`` estimates the hidden opinions from a run, at its start or at its end; ``information`` is the bound
on any estimate, before a run is observed; ``infer_network`` estimates the network itself. A new method is one function
``method(system, data, prior) -> Estimate`` and one row of ``METHODS``.
"""

from peerpressure.support.namespaces import attach

# For other packages and for annotations.
_INTERNAL = (
    "AUTO",
    "Answers",
    "Covariance",
    "Estimator",
    "Information",
    "Method",
    "ResolvedObservation",
    "Score",
    "ScoreTests",
    "Target",
    "read_observations",
)
__getattr__, __dir__, __all__ = attach(__name__, __file__, _INTERNAL)
