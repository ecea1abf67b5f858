"""Runs of a model: ``simulate``, what of a run is recorded, its results and their files.

``engine`` holds the kernels, the only place that steps states; ``partition`` networks and runs of which each process
holds its own part.
"""

from peerpressure.support.namespaces import attach

# For other packages.
_INTERNAL = (
    "Progress",
    "carried_out",
    "plan_of",
    "require_finite",
    "run_size",
    "simulate_preferred",
    "starting_state",
)
__getattr__, __dir__, __all__ = attach(__name__, __file__, _INTERNAL)
