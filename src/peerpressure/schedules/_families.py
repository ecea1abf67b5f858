"""From what people write to a schedule, and back from plain data."""

from __future__ import annotations

import dataclasses
import difflib
import numbers
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from peerpressure.errors import ScheduleError, message
from peerpressure.schedules._base import Schedule
from peerpressure.schedules._closed_forms import Constant, Linear, Logarithmic, Power, StretchedExponential
from peerpressure.schedules._tables import Formula, Table

SCHEDULES: Mapping[str, type[Schedule]] = {
    member.kind: member for member in (Constant, Linear, Power, Logarithmic, StretchedExponential, Table, Formula)
}


def as_schedule(value: object) -> Schedule:
    """Return a schedule as it is, a number as Constant, text as Formula, a sequence as Table.

    >>> print(as_schedule(2), as_schedule("t"), as_schedule([1, 2]), sep="; ")
    ρ_t = 2; ρ_t = t; ρ_t = 1, 2
    """
    if isinstance(value, Schedule):
        return value
    if isinstance(value, str):
        return Formula(value)
    if isinstance(value, numbers.Real):
        return Constant(cast(float, value))
    if isinstance(value, np.ndarray) or (isinstance(value, Sequence) and not isinstance(value, bytes | bytearray)):
        return Table(value)
    rule = "pressure must be a schedule, a number, a formula or a sequence of values"
    raise ScheduleError(message(rule, got=repr(value)[:80], remedy="for example Linear(), 2.0, 't*log(t)', [1, 2]"))


def schedule_from_dict(data: Mapping[str, Any]) -> Schedule:
    """Return the schedule that ``to_dict`` described.

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
    fields = [field for field in dataclasses.fields(member) if field.init]
    legal = [field.name for field in fields]
    needed = [field.name for field in fields if field.default is dataclasses.MISSING]
    given = {name: value for name, value in data.items() if name != "kind"}
    if not set(needed) <= set(given) <= set(legal):
        rule = f"a {kind} schedule takes {', '.join(legal)}" + f" and needs {', '.join(needed)}" * bool(needed)
        got = ", ".join(map(str, given)) or "none of them"
        raise ScheduleError(message(rule, got=got[:80], remedy="give just these"))
    return member(**given)
