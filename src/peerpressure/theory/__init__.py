"""Behaviour of a model without simulation: outcome, rates, limits, exact moments and forecasts."""

from peerpressure.support.namespaces import attach

# For other packages and for annotations.
_INTERNAL = (
    "Advice",
    "Alternative",
    "Component",
    "Connectivity",
    "ConsensusLimit",
    "ConsensusLimitCurve",
    "Forecast",
    "Functional",
    "HiddenOutcome",
    "LimitLaw",
    "OptimalSchedule",
    "PowerLaw",
    "Rate",
    "Reason",
    "Regime",
    "Retention",
    "Settling",
    "Suggestion",
    "contraction_product",
    "mode_noise",
    "regime_of",
)
__getattr__, __dir__, __all__ = attach(__name__, __file__, _INTERNAL)
