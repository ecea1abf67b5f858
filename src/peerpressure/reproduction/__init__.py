"""The experiments, one module each: parameters in, tidy tables out; the tables' columns stand in each module."""

from peerpressure.reproduction.adaptation import TwoTimescalesResult, two_timescales
from peerpressure.reproduction.audit import Evidence, Finding, audit
from peerpressure.reproduction.beyond import BeyondResult, beyond
from peerpressure.reproduction.comparison import Comparison
from peerpressure.reproduction.continuous import continuous_time
from peerpressure.reproduction.convergence import ConvergenceResult, convergence
from peerpressure.reproduction.experiments import paper_tables
from peerpressure.reproduction.forgetting import ForgettingResult, forgetting
from peerpressure.reproduction.noise_levels import NoiseLevelsResult, noise_levels
from peerpressure.reproduction.regression import ResidualsResult, residuals
from peerpressure.reproduction.sweep import SweepResult, size_effect, sweep_ba
from peerpressure.reproduction.temporal import temporal_networks
from peerpressure.reproduction.two_agents import TwoAgentsResult, two_agents_recovery

__all__ = [
    "BeyondResult",
    "Comparison",
    "ConvergenceResult",
    "Evidence",
    "Finding",
    "ForgettingResult",
    "NoiseLevelsResult",
    "ResidualsResult",
    "SweepResult",
    "TwoAgentsResult",
    "TwoTimescalesResult",
    "audit",
    "beyond",
    "continuous_time",
    "convergence",
    "forgetting",
    "noise_levels",
    "paper_tables",
    "residuals",
    "size_effect",
    "sweep_ba",
    "temporal_networks",
    "two_agents_recovery",
    "two_timescales",
]
