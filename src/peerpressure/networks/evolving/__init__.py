"""Networks that change with time: the value type, where to get one, and when it holds together."""

from peerpressure.networks.evolving.generators import (
    EVOLVING,
    activity_driven,
    edge_markovian,
    failing_edges,
    growing,
    rewiring,
)
from peerpressure.networks.evolving.joint import (
    JointConnectivity,
    joint_connectivity,
    limit_components,
    shortest_window,
)
from peerpressure.networks.evolving.network import EvolvingNetwork
from peerpressure.networks.evolving.readers import read_contacts, read_events
from peerpressure.networks.evolving.recorded import RECORDED, recorded_contacts, recorded_groups
from peerpressure.networks.evolving.writers import write_events

__all__ = [
    "EVOLVING",
    "RECORDED",
    "EvolvingNetwork",
    "JointConnectivity",
    "activity_driven",
    "edge_markovian",
    "failing_edges",
    "growing",
    "joint_connectivity",
    "limit_components",
    "read_contacts",
    "read_events",
    "recorded_contacts",
    "recorded_groups",
    "rewiring",
    "shortest_window",
    "write_events",
]
