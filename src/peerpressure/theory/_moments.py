"""Exact moments, where users look for them; ``propagation`` computes them."""

from peerpressure.propagation import Functional, Moments, agent, consensus_mode, difference, mean, moments

__all__ = ["Functional", "Moments", "agent", "consensus_mode", "difference", "mean", "moments"]
