"""Peer pressure ρ_t at t ≥ 1: how strongly an agent is drawn to its neighbours, step by step.

A new schedule is one class with its declared parameters and one line in `SCHEDULES`.
"""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from peerpressure.errors import ScheduleError, message
from peerpressure.schedules._base import Growth, Schedule, growth_of_ratio
from peerpressure.schedules._closed_forms import Constant, Linear, Logarithmic, Power, StretchedExponential
from peerpressure.schedules._tables import Formula, Table
from peerpressure.support.parameters import REQUIRED, with_defaults

SCHEDULES: Mapping[str, type[Schedule]] = {
    member.kind: member for member in (Linear, Power, Logarithmic, StretchedExponential, Constant, Formula, Table)
}

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
    "growth_of_ratio",
]


def __dir__() -> list[str]:
    return __all__


def as_schedule(value: object) -> Schedule:
    """Return a schedule unchanged, a number as `Constant`, text as `Formula`, a sequence as `Table`.

    >>> from peerpressure.schedules import as_schedule
    >>> print(as_schedule(2), as_schedule("t"), as_schedule([1, 2]), sep="; ")
    ρ_t = 2; ρ_t = t; ρ_t = 1, 2
    """
    if isinstance(value, Schedule):
        return value
    # Before sequences, because a text is one, too.
    if isinstance(value, str):
        return Formula(value)
    # bool is a number as well; ``Constant`` checks for it.
    if isinstance(value, numbers.Real):
        return Constant(cast(float, value))
    if isinstance(value, np.ndarray) or (isinstance(value, Sequence) and not isinstance(value, bytes | bytearray)):
        return Table(value)
    rule = "pressure must be a schedule, a number, a formula or a sequence of values"
    remedy = "for example Linear(), 2.0, 't*log(t)', [1, 2]"
    if callable(value):
        remedy = "pass the values of the function at steps 1, 2, …, [f(t) for t in range(1, steps + 1)]"
    raise ScheduleError(message(rule, got=repr(value)[:80], remedy=remedy))


def schedule_from_dict(data: Mapping[str, Any]) -> Schedule:
    """Return the schedule that `Schedule.to_dict` describes.

    >>> from peerpressure.schedules import schedule_from_dict
    >>> schedule_from_dict({"kind": "power", "exponent": 1.5})
    Power(exponent=1.5, scale=1.0)
    """
    kinds = ", ".join(SCHEDULES)
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if not isinstance(kind, str) or kind not in SCHEDULES:
        near = difflib.get_close_matches(str(kind), SCHEDULES, 1)
        got = repr(kind if isinstance(data, Mapping) else data)[:80]
        remedy = f"did you mean {near[0]!r}?" if near else "set 'kind' to one of these"
        raise ScheduleError(message(f"a schedule's kind must be one of {kinds}", got=got, remedy=remedy))
    member = SCHEDULES[kind]
    declared = with_defaults(member, member.parameters)
    legal = [one.name for one in declared]
    needed = [one.name for one in declared if one.default is REQUIRED]
    given = {name: value for name, value in data.items() if name != "kind"}
    # Checked here, because a wrong keyword would raise a TypeError that names no file and no remedy.
    if not set(needed) <= set(given) <= set(legal):
        rule = f"a {kind} schedule takes {', '.join(legal)}" + f" and needs {', '.join(needed)}" * bool(needed)
        got = ", ".join(map(str, given)) or "none of them"
        raise ScheduleError(message(rule, got=got[:80], remedy="give just these"))
    return member(**given)
