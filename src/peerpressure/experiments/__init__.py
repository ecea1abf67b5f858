"""The experiments, one module each: parameters in, tidy tables out."""

from peerpressure.experiments.convergence import ConvergenceResult, convergence
from peerpressure.experiments.paper import paper_tables

__all__ = ["ConvergenceResult", "convergence", "paper_tables"]
