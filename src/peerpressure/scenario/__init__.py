"""Scenario files: one experiment in TOML, with all of its errors reported at once."""

from peerpressure.namespaces import attach

# For other packages and for annotations.
_INTERNAL = (
    "shipped_schema",
    "starter_text",
)
__getattr__, __dir__, __all__ = attach(__name__, __file__, _INTERNAL)
