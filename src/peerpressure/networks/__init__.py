"""Networks of agents: the value type, where to get one, and how to keep one."""

from peerpressure.networks.evolving import EvolvingNetwork
from peerpressure.networks.generators import (
    GENERATORS,
    barabasi_albert,
    complete,
    cycle,
    erdos_renyi,
    grid,
    k2,
    path,
    random_regular,
    star,
    watts_strogatz,
)
from peerpressure.networks.named import NAMED, named
from peerpressure.networks.network import Network
from peerpressure.networks.readers import read_network
from peerpressure.networks.writers import write_network

__all__ = [
    "GENERATORS",
    "NAMED",
    "EvolvingNetwork",
    "Network",
    "barabasi_albert",
    "complete",
    "cycle",
    "erdos_renyi",
    "grid",
    "k2",
    "named",
    "path",
    "random_regular",
    "read_network",
    "star",
    "watts_strogatz",
    "write_network",
]
