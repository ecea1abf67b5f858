"""Networks that change with time: the value type, where to get one, and when it holds together."""

from peerpressure.networks.evolving.network import EvolvingNetwork

__all__ = ["EvolvingNetwork"]
