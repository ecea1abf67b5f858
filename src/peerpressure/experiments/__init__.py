"""The experiments, one module each: parameters in, tidy tables out; the tables' columns stand in each module."""

from peerpressure.experiments.audit import Evidence, Finding, audit
from peerpressure.experiments.beyond import BeyondResult, beyond
from peerpressure.experiments.comparison import Comparison
from peerpressure.experiments.continuous import continuous_time
from peerpressure.experiments.convergence import ConvergenceResult, convergence
from peerpressure.experiments.forgetting import ForgettingResult, forgetting
from peerpressure.experiments.noise_levels import NoiseLevelsResult, noise_levels
from peerpressure.experiments.paper import paper_tables
from peerpressure.experiments.residuals import ResidualsResult, residuals
from peerpressure.experiments.size_effect import size_effect
from peerpressure.experiments.sweep_ba import SweepResult, sweep_ba
from peerpressure.experiments.temporal import temporal_networks
from peerpressure.experiments.two_agents_recovery import TwoAgentsResult, two_agents_recovery
from peerpressure.experiments.two_timescales import TwoTimescalesResult, two_timescales

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
