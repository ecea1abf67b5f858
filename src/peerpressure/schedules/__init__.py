"""Peer pressure ρ_t at t ≥ 1: how much an agent minds its neighbours, step by step."""

from peerpressure.schedules._base import Schedule
from peerpressure.schedules._closed_forms import Constant, Linear, Logarithmic, Power, StretchedExponential
from peerpressure.schedules._families import SCHEDULES, as_schedule, schedule_from_dict
from peerpressure.schedules._growth import Growth, estimate_growth
from peerpressure.schedules._tables import Formula, Table

__all__ = [
    "SCHEDULES",
    "Constant",
    "Formula",
    "Growth",
    "Linear",
    "Logarithmic",
    "Power",
    "Schedule",
    "StretchedExponential",
    "Table",
    "as_schedule",
    "estimate_growth",
    "schedule_from_dict",
]
