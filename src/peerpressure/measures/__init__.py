"""Measures of scenarios, and sweeps of them: what is computed at every point of a grid."""

from peerpressure.measures.experiment import Experiment
from peerpressure.measures.outputs import read_outputs
from peerpressure.measures.results import results
from peerpressure.measures.sweep_file import Sweep, load_sweep
from peerpressure.measures.table import MEASURES, Measure
from peerpressure.measures.unit import measure, measure_scenario, with_fields

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
