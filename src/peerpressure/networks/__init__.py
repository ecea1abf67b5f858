"""Networks of agents: static and temporal networks, generators, data sets, files and connectivity."""

from peerpressure.support.namespaces import attach

# For other packages and for annotations.
_INTERNAL = (
    "Generator",
    "JointConnectivity",
    "NetworkProcess",
    "limit_components",
    "read_labels",
    "read_waves",
    "shortest_window",
)
__getattr__, __dir__, __all__ = attach(__name__, __file__, _INTERNAL)
