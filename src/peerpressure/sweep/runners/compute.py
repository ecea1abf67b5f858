"""One unit computed: the task called, its rows made plain, its exceptions caught."""

from __future__ import annotations

import importlib
import json
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from peerpressure.errors import InvalidInputError, complain
from peerpressure.sweep.plan import REPLICATION, Unit

Task: TypeAlias = Callable[[dict[str, Any], int], Mapping[str, Any] | Iterable[Mapping[str, Any]]]
_LONGEST_REPORT = 20_000


class Computed(NamedTuple):
    """What a unit gave: its rows as JSON or the traceback of what it raised, and the seconds it took."""

    rows: str | None
    traceback: str | None
    seconds: float


def load_task(path: str) -> Task:
    """Return the function at ``module:function``."""
    module, _, name = path.partition(":")
    try:
        task: Task = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        rule = "a task must be an importable function"
        raise InvalidInputError(complain(rule, got=f"{path} ({error})", remedy="check module and name")) from error
    return task


def compute(task: str, unit: Unit) -> Computed:
    """Compute a unit; whatever it raises, short of an interruption, becomes part of the result."""
    begin = time.perf_counter()
    rows = report = None
    try:
        parameters = json.loads(unit.parameters)
        taken = {*parameters, REPLICATION}
        rows = _rows_text(load_task(task)(parameters, unit.seed), taken)
    except (Exception, SystemExit):
        report = traceback.format_exc()[-_LONGEST_REPORT:]
    return Computed(rows, report, time.perf_counter() - begin)


def _rows_text(given: Mapping[str, Any] | Iterable[Mapping[str, Any]], taken: set[str]) -> str:
    """Return tidy rows as JSON whose floats, infinities and NaN among them, read back to the last bit."""
    rows = [given] if isinstance(given, Mapping) else list(given)
    return json.dumps([_plain_row(row, taken) for row in rows], separators=(",", ":"))


def _plain_row(row: object, taken: set[str]) -> dict[str, Any]:
    if not isinstance(row, Mapping) or not all(isinstance(name, str) for name in row):
        rule = "a task must return a row, or rows, of named values"
        raise InvalidInputError(complain(rule, got=f"{row!r:.200}", remedy="return dictionaries"))
    if both := taken & row.keys():
        rule = "a row must not repeat the name of a parameter"
        raise InvalidInputError(complain(rule, got=sorted(both), remedy="the table has a column for it already"))
    return {name: _plain_value(name, value) for name, value in row.items()}


def _plain_value(name: str, value: object) -> object:
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is not None and not isinstance(plain, (bool, int, float, str)):
        rule = f"the value of {name!r} must be one number, text or boolean"
        raise InvalidInputError(complain(rule, got=f"{value!r:.200}", remedy="give each value a row or a name"))
    return plain
