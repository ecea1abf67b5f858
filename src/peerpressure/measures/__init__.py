"""Scenarios carried out: their results, their measures, and sweeps of both over a grid of parameters."""

from peerpressure.measures._files import ObservedOutputs, check_room, no_place, read_outputs
from peerpressure.measures._measures import MEASURES, Measure, measure, measure_scenario, with_fields
from peerpressure.measures._sweep_file import Sweep, load_sweep
from peerpressure.measures.experiment import (
    Experiment,
    estimates,
    results,
    states,
    summaries,
)

__all__ = [
    "MEASURES",
    "Experiment",
    "Measure",
    "ObservedOutputs",
    "Sweep",
    "check_room",
    "estimates",
    "load_sweep",
    "measure",
    "measure_scenario",
    "no_place",
    "read_outputs",
    "results",
    "states",
    "summaries",
    "with_fields",
]
