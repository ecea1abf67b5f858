"""Networks of agents: static and temporal networks, generators, data sets, files and connectivity."""

from peerpressure.networks._datasets import NAMED, RECORDED, named, recorded_contacts, recorded_groups
from peerpressure.networks._generators import (
    GENERATORS,
    barabasi_albert,
    complete,
    cycle,
    erdos_renyi,
    followers,
    grid,
    k2,
    path,
    random_regular,
    rival_camps,
    star,
    watts_strogatz,
)
from peerpressure.networks._joint_connectivity import (
    JointConnectivity,
    joint_connectivity,
    limit_components,
    shortest_window,
)
from peerpressure.networks._network import Network
from peerpressure.networks._network_law import NetworkLaw
from peerpressure.networks._readers import (
    describe_events_file,
    describe_network_file,
    read_contacts,
    read_events,
    read_network,
)
from peerpressure.networks._temporal import TemporalNetwork
from peerpressure.networks._temporal_generators import (
    DYNAMICS,
    TEMPORAL,
    activity_driven,
    edge_markovian,
    failing_edges,
    gossip,
    growing,
    rewiring,
)
from peerpressure.networks._writers import write_events, write_network
from peerpressure.networks.graph_files import read_attribute
from peerpressure.networks.validation import Generator

__all__ = [
    "DYNAMICS",
    "GENERATORS",
    "NAMED",
    "RECORDED",
    "TEMPORAL",
    "Generator",
    "JointConnectivity",
    "Network",
    "NetworkLaw",
    "TemporalNetwork",
    "activity_driven",
    "barabasi_albert",
    "complete",
    "cycle",
    "describe_events_file",
    "describe_network_file",
    "edge_markovian",
    "erdos_renyi",
    "failing_edges",
    "followers",
    "gossip",
    "grid",
    "growing",
    "joint_connectivity",
    "k2",
    "limit_components",
    "named",
    "path",
    "random_regular",
    "read_attribute",
    "read_contacts",
    "read_events",
    "read_network",
    "recorded_contacts",
    "recorded_groups",
    "rewiring",
    "rival_camps",
    "shortest_window",
    "star",
    "watts_strogatz",
    "write_events",
    "write_network",
]
