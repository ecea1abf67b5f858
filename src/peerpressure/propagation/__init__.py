"""Exact mean and covariance of opinions, propagated step by step without sampling.

``moments`` propagates mean and covariance forwards for all agents. For functionals, which are weighted sums of agents,
it runs the adjoint of the state-space operator backwards, for any number of agents. An ``SDE`` solves the differential
equations of the same moments. Users find these names in ``theory``; packages below it need no more than this one.
"""

from peerpressure.propagation._functionals import Functional, Functionals, agent, consensus_mode, difference, mean
from peerpressure.propagation._moments import LARGEST_COVARIANCE, Moments, moments
from peerpressure.propagation._recursions import Sums, adjoint_moments, forward_moments, moments_of_sums
from peerpressure.propagation._times import Times, step_count, whole_times

__all__ = [
    "LARGEST_COVARIANCE",
    "Functional",
    "Functionals",
    "Moments",
    "Sums",
    "Times",
    "adjoint_moments",
    "agent",
    "consensus_mode",
    "difference",
    "forward_moments",
    "mean",
    "moments",
    "moments_of_sums",
    "step_count",
    "whole_times",
]
