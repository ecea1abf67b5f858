"""Scenarios carried out: their results, their measures, and sweeps of both over a grid of parameters."""

from peerpressure.namespaces import attach

# For other packages and for annotations.
_INTERNAL = (
    "Measure",
    "ObservedOutputs",
    "check_room",
    "measure_scenario",
    "network_table",
    "no_place",
    "with_fields",
)
__getattr__, __dir__, __all__ = attach(__name__, __file__, _INTERNAL)
