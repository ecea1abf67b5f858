"""What is known of a model without simulating it: its fate, how fast, and the exact law of what agents show."""

from peerpressure.theory import two_agents
from peerpressure.theory.confidence import replicates_needed, steps_needed
from peerpressure.theory.contraction import contraction, contraction_product
from peerpressure.theory.ends import Outcome
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
    "Forecast",
    "Functional",
    "Law",
    "Moments",
    "Outcome",
    "PredictedLimit",
    "Rate",
    "Regime",
    "Verdict",
    "agent",
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
    "start_weight",
    "steps_needed",
    "two_agents",
]
