"""Behaviour of a model without simulation: outcome, rates, limits, exact moments and forecasts."""

from peerpressure.propagation import Functional, Moments, agent, consensus_mode, difference, mean, moments
from peerpressure.theory import two_agents
from peerpressure.theory._advice import Advice, Suggestion, replicates_needed, steps_needed
from peerpressure.theory._classification import Outcome
from peerpressure.theory._departure import ConsensusLimitCurve, Departure, consensus_limit, consensus_limit_curve
from peerpressure.theory._diagnosis import diagnose
from peerpressure.theory._forecast import Forecast, Settling, forecast, mode_error
from peerpressure.theory._forgetting import Retention, contraction, contraction_product, retention
from peerpressure.theory._limit_law import Kind, LimitLaw, RecurrentClass
from peerpressure.theory._limits import ConsensusLimit, Phases
from peerpressure.theory._rates import Law, Rate, consensus_rate, ideal_deviation, influence, mode_noise, start_weight
from peerpressure.theory._reasons import Reason, ReasonCode
from peerpressure.theory._regime import Regime, regime_of
from peerpressure.theory._stationary import fixed_point
from peerpressure.theory._verdict import Connectivity, HiddenOutcome, Verdict
from peerpressure.theory.tuning import Alternative, OptimalSchedule, optimal_schedule

__all__ = [
    "Advice",
    "Alternative",
    "Connectivity",
    "ConsensusLimit",
    "ConsensusLimitCurve",
    "Departure",
    "Forecast",
    "Functional",
    "HiddenOutcome",
    "Kind",
    "Law",
    "LimitLaw",
    "Moments",
    "OptimalSchedule",
    "Outcome",
    "Phases",
    "Rate",
    "Reason",
    "ReasonCode",
    "RecurrentClass",
    "Regime",
    "Retention",
    "Settling",
    "Suggestion",
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
    "influence",
    "mean",
    "mode_error",
    "mode_noise",
    "moments",
    "optimal_schedule",
    "regime_of",
    "replicates_needed",
    "retention",
    "start_weight",
    "steps_needed",
    "two_agents",
]
