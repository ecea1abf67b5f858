"""Peer pressure ρ_t at t ≥ 1: how much an agent minds its neighbours, step by step."""

from peerpressure.schedules.base import Schedule
from peerpressure.schedules.closed import Constant, Linear, Logarithmic, Power, StretchedExponential
from peerpressure.schedules.convert import SCHEDULES, as_schedule, schedule_from_dict
from peerpressure.schedules.given import Formula, Table
from peerpressure.schedules.growth import Growth, estimate_growth

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
