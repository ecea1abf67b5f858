"""Scenarios: experiments as TOML files, with all of their errors reported at once, and what happens with them.

An ``Experiment`` carries a scenario out; measures are the quantities that a sweep over scenarios collects.
"""

from peerpressure.support.namespaces import attach

# For other packages and for annotations.
_INTERNAL = (
    "Measure",
    "ObservedOutputs",
    "check_room",
    "measure_scenario",
    "network_table",
    "no_place",
    "shipped_schema",
    "starter_text",
    "with_fields",
)
__getattr__, __dir__, __all__ = attach(__name__, __file__, _INTERNAL)
