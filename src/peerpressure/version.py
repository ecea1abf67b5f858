"""The version, in one place that everything may import."""

from importlib.metadata import version

__version__ = version("peerpressure")
