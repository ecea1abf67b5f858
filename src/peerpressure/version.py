"""The version, in one place that the package and its build both read."""

__version__ = "0.3.0"
