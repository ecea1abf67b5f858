"""Measures of scenarios, and sweeps of them: what is computed at every point of a grid."""

from peerpressure.measures._experiment import Experiment, read_outputs
from peerpressure.measures._measures import MEASURES, Measure, measure, measure_scenario, with_fields
from peerpressure.measures._results import results
from peerpressure.measures._sweep_file import Sweep, load_sweep

__all__ = [
    "MEASURES",
    "Experiment",
    "Measure",
    "Sweep",
    "load_sweep",
    "measure",
    "measure_scenario",
    "read_outputs",
    "results",
    "with_fields",
]
