"""The paper's experiments and those beyond it: parameters in, tidy tables out; each function documents its tables."""

from peerpressure.reproduction._adaptation import ForgettingResult, TwoTimescalesResult, forgetting, two_timescales
from peerpressure.reproduction._beyond import BeyondResult, beyond, network_defence, network_leak
from peerpressure.reproduction._continuous import continuous_time
from peerpressure.reproduction._convergence import ConvergenceResult, NoiseLevelsResult, convergence, noise_levels
from peerpressure.reproduction._experiments import paper_tables
from peerpressure.reproduction._regression import ResidualsResult, TwoAgentsResult, residuals, two_agents_recovery
from peerpressure.reproduction._sweep import Comparison, SweepResult, size_effect, sweep_ba
from peerpressure.reproduction._temporal import temporal_networks
from peerpressure.reproduction.claims import Evidence, Finding, audit

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
    "network_defence",
    "network_leak",
    "noise_levels",
    "paper_tables",
    "residuals",
    "size_effect",
    "sweep_ba",
    "temporal_networks",
    "two_agents_recovery",
    "two_timescales",
]
