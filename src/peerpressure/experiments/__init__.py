"""The experiments, one module each: parameters in, tidy tables out."""

from peerpressure.experiments.convergence import ConvergenceResult, convergence

__all__ = ["ConvergenceResult", "convergence"]
