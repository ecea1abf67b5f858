"""What is known of a model without simulating it: its fate, how fast, the exact law of what agents show and hold."""

from peerpressure.theory import two_agents
from peerpressure.theory._classification import HiddenFate, Meeting, Outcome
from peerpressure.theory._consensus_limit import (
    ConsensusLimit,
    ConsensusLimitCurve,
    consensus_limit,
    consensus_limit_curve,
)
from peerpressure.theory._contraction import contraction, contraction_product
from peerpressure.theory._fixed_point import fixed_point
from peerpressure.theory._forecast import Advice, Forecast, forecast, mode_error
from peerpressure.theory._limits import PredictedLimit, mode_noise, predicted_limit, start_weight
from peerpressure.theory._moments import Functional, Moments, agent, consensus_mode, difference, mean, moments
from peerpressure.theory._precision import replicates_needed, steps_needed
from peerpressure.theory._rates import Law, Rate, consensus_rate, ideal_deviation
from peerpressure.theory._regime import Regime, regime_of
from peerpressure.theory._retention import Retention, retention
from peerpressure.theory._verdict import Verdict, diagnose

__all__ = [
    "Advice",
    "ConsensusLimit",
    "ConsensusLimitCurve",
    "Forecast",
    "Functional",
    "HiddenFate",
    "Law",
    "Meeting",
    "Moments",
    "Outcome",
    "PredictedLimit",
    "Rate",
    "Regime",
    "Retention",
    "Verdict",
    "agent",
    "consensus_limit",
    "consensus_limit_curve",
    "consensus_mode",
    "consensus_rate",
    "contraction",
    "contraction_product",
    "diagnose",
    "difference",
    "fixed_point",
    "forecast",
    "ideal_deviation",
    "mean",
    "mode_error",
    "mode_noise",
    "moments",
    "predicted_limit",
    "regime_of",
    "replicates_needed",
    "retention",
    "start_weight",
    "steps_needed",
    "two_agents",
]
