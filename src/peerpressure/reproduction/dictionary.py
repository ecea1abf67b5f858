"""The data dictionary: meaning and unit of every column of every table, kept as a CSV file beside this module."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from peerpressure.errors import InvalidInputError, message

SHARED = "*"  # stands for every table that does not define the column itself


class ColumnEntry(NamedTuple):
    """A column with its meaning and unit."""

    name: str
    meaning: str
    unit: str


@lru_cache(maxsize=1)
def _entries() -> Mapping[tuple[str, str], ColumnEntry]:
    text = files("peerpressure.reproduction").joinpath("dictionary.csv").read_text("utf-8")
    rows = csv.DictReader(text.splitlines())
    return {(row["table"], row["column"]): ColumnEntry(row["column"], row["meaning"], row["unit"]) for row in rows}


def about(table: str) -> str:
    """Return the subject of a table.

    >>> about("size_effect")
    'Exact residual variance over random graphs by size'
    """
    return _found(table, "").meaning


def columns_of(table: str, names: Iterable[str]) -> list[ColumnEntry]:
    """Return the entries of a table's columns.

    >>> columns_of("summary", ["spread"])[0].meaning
    'max − min over agents'
    """
    return [_found(table, name) for name in names]


def _found(table: str, column: str) -> ColumnEntry:
    entry = _entries().get((table, column)) or _entries().get((SHARED, column))
    if entry is None:
        rule, got = "every table and column must be in the data dictionary", f"{table}.{column}"
        raise InvalidInputError(message(rule, got=got, remedy="add a row to reproduction/dictionary.csv"))
    return entry
