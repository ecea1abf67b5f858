"""What is known of a model without simulating it: its fate, how fast, the exact law of what agents show and hold."""

from peerpressure.theory import two_agents
from peerpressure.theory.confidence import replicates_needed, steps_needed
from peerpressure.theory.contraction import contraction, contraction_product
from peerpressure.theory.ends import Outcome
from peerpressure.theory.extensions.consensus_limit import (
    ConsensusLimit,
    ConsensusLimitCurve,
    consensus_limit,
    consensus_limit_curve,
)
from peerpressure.theory.extensions.hidden_fate import HiddenFate
from peerpressure.theory.extensions.meeting import Meeting
from peerpressure.theory.extensions.retention import Retention, retention
from peerpressure.theory.fixed_point import fixed_point
from peerpressure.theory.forecast import Advice, Forecast, forecast, mode_error
from peerpressure.theory.functionals import Functional, agent, consensus_mode, difference, mean
from peerpressure.theory.limits import PredictedLimit, predicted_limit
from peerpressure.theory.moments import Moments, moments
from peerpressure.theory.rates import Law, Rate, consensus_rate, ideal_deviation
from peerpressure.theory.regime import Regime, regime_of
from peerpressure.theory.scalar import mode_noise, start_weight
from peerpressure.theory.verdict import Verdict, diagnose

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
