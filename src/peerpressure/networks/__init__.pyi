from ._datasets import (
    NAMED as NAMED,
    RECORDED as RECORDED,
    named as named,
    recorded_contacts as recorded_contacts,
    recorded_groups as recorded_groups,
)
from ._event_files import (
    describe_events_file as describe_events_file,
    read_contacts as read_contacts,
    read_events as read_events,
    read_waves as read_waves,
    write_events as write_events,
)
from ._generators import (
    GENERATORS as GENERATORS,
    barabasi_albert as barabasi_albert,
    complete as complete,
    cycle as cycle,
    erdos_renyi as erdos_renyi,
    followers as followers,
    grid as grid,
    k2 as k2,
    path as path,
    random_regular as random_regular,
    rival_camps as rival_camps,
    star as star,
    watts_strogatz as watts_strogatz,
)
from ._joint_connectivity import (
    JointConnectivity as JointConnectivity,
    joint_connectivity as joint_connectivity,
    limit_components as limit_components,
    shortest_window as shortest_window,
)
from ._network import Network as Network
from ._network_process import NetworkProcess as NetworkProcess
from ._temporal import TemporalNetwork as TemporalNetwork
from ._temporal_generators import (
    DYNAMICS as DYNAMICS,
    TEMPORAL as TEMPORAL,
    activity_driven as activity_driven,
    edge_markovian as edge_markovian,
    failing_edges as failing_edges,
    gossip as gossip,
    growing as growing,
    rewiring as rewiring,
)
from .formats import (
    describe_network_file as describe_network_file,
    read_attribute as read_attribute,
    read_labels as read_labels,
    read_network as read_network,
    write_network as write_network,
)
from .validation import Generator as Generator
