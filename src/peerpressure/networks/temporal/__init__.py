"""Networks that change with time: the value type, where to get one, and when it holds together."""

from peerpressure.networks.temporal.generators import (
    TEMPORAL,
    activity_driven,
    edge_markovian,
    failing_edges,
    growing,
    rewiring,
)
from peerpressure.networks.temporal.joint import (
    JointConnectivity,
    joint_connectivity,
    limit_components,
    shortest_window,
)
from peerpressure.networks.temporal.network import TemporalNetwork
from peerpressure.networks.temporal.readers import read_contacts, read_events
from peerpressure.networks.temporal.recorded import RECORDED, recorded_contacts, recorded_groups
from peerpressure.networks.temporal.writers import write_events

__all__ = [
    "RECORDED",
    "TEMPORAL",
    "JointConnectivity",
    "TemporalNetwork",
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
