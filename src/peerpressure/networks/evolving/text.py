"""Events and contacts as text: one to a line, a time, two labels and perhaps a weight."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, NetworkError, complain
from peerpressure.networks.edge_lists import COMMENTS, Row, labels_of
from peerpressure.networks.labels import Label
from peerpressure.networks.refusal import nearest

ROLES = ("time", "source", "target", "weight")
HEADINGS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("time", "t", "step", "timestamp"), "time"),
        **dict.fromkeys(("source", "from", "src", "node1", "node_1", "i"), "source"),
        **dict.fromkeys(("target", "to", "dst", "node2", "node_2", "j"), "target"),
        "weight": "weight",
    }
)
REMEDY = "write time, source, target and, if any, weight, or say what the columns are with columns=(...)"


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of a file, column by column; ``numbers`` are those of the lines."""

    numbers: list[int]
    times: NDArray[np.float64]
    sources: list[Label]
    targets: list[Label]
    weights: NDArray[np.float64] | None
    rest: list[list[str]]

    def refuse(self, bad: NDArray[np.bool_], rule: str, values: Sequence[Any] | NDArray[Any], remedy: str) -> None:
        """Raise for the first line that breaks a rule, if there is one."""
        if bad.any():
            k = int(np.argmax(bad))
            got = f"{values[k]:.16g}" if isinstance(values, np.ndarray) else repr(values[k])
            raise NetworkError(complain(f"line {self.numbers[k]}: {rule}", got=got, remedy=remedy))


def parse_lines(text: str, columns: Sequence[str] | None, *, comma_first: bool) -> Lines:
    """Return the columns of a table with or without a heading; its first line tells the separator."""
    rows = _rows(text, comma_first)
    heading = _heading(rows)
    if heading is not None:
        rows = rows[1:]
    if not rows:
        raise FileFormatError(complain("a list of events must hold some", got="none", remedy=REMEDY))
    roles = _roles(columns, heading, rows[0])
    place = {role: k for k, role in enumerate(roles) if role}
    _refuse_widths(rows, roles, optional=columns is None and heading is None)
    ends = [[row.fields[place[role]] for row in rows] for role in ("source", "target")]
    label = labels_of(name for side in ends for name in side)
    sources, targets = ([label[name] for name in side] for side in ends)
    rest = [[row.fields[k] for row in rows] for k, role in enumerate(roles) if not role]
    times = _numbers(rows, place["time"], "time")
    weights = _numbers(rows, place["weight"], "weight") if "weight" in place else None
    return Lines([row.line for row in rows], times, sources, targets, weights, rest)


def _rows(text: str, comma_first: bool) -> list[Row]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = next((line for line in lines if line.strip() and not _is_comment(line)), "").strip()
    candidates = (",", "\t") if comma_first else ("\t", ",")
    separator = next((candidate for candidate in candidates if candidate in first), None)
    split = (line.split() for line in lines) if separator is None else _fields(lines, separator)
    found = (Row(number, fields) for number, fields in enumerate(split, start=1))
    return [row for row in found if any(row.fields) and not _is_comment(row.fields[0])]


def _fields(lines: Sequence[str], separator: str) -> Iterator[list[str]]:
    """Yield the fields of every line, each a table of its own: a quote left open ends with its line."""
    for number, line in enumerate(lines, start=1):
        fields = line.split(separator)
        if '"' in line:
            try:
                fields = next(csv.reader([line], delimiter=separator, skipinitialspace=True, strict=True))
            except csv.Error as error:
                raise _malformed(number, error, "close every quote") from None
        yield [field.strip() for field in fields]


def _is_comment(text: str) -> bool:
    return text.lstrip().startswith(COMMENTS)


def _heading(rows: Sequence[Row]) -> list[str] | None:
    """Return the names in the first line, when none of them is a number."""
    names = rows[0].fields if rows else []
    return names if names and not any(_is_number(name) for name in names) else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _roles(columns: Sequence[str] | None, heading: Sequence[str] | None, row: Row) -> list[str]:
    """Return what each column holds; '' is of no interest."""
    if columns is not None:
        return _given_roles(columns)
    named = [HEADINGS.get(name.casefold(), "") for name in heading or []]
    if sorted(filter(None, named)) in (sorted(ROLES[:3]), sorted(ROLES)):
        return named
    if len(row.fields) not in (3, 4):
        raise _malformed(row.line, f"{len(row.fields)} fields {row.fields[:5]}", REMEDY)
    # Later lines may have a weight where the first has none.
    return list(ROLES) if heading is None else list(ROLES[: len(row.fields)])


def _given_roles(columns: Sequence[str]) -> list[str]:
    roles = list(columns)
    known = [role for role in roles if role]
    strange = [role for role in known if role not in ROLES]
    if strange or len(set(known)) < len(known) or not {*ROLES[:3]} <= {*known}:
        hint = nearest(strange[0], ROLES) if strange else ""
        rule = "columns must name time, source and target, and may name weight, each once"
        remedy = f"write '' for columns to leave out{hint}"
        raise NetworkError(complain(rule, got=roles, remedy=remedy))
    return roles


def _refuse_widths(rows: Sequence[Row], roles: Sequence[str], *, optional: bool) -> None:
    """Raise where a line has too few or too many fields, or an empty one; the last may be ``optional``."""
    width = len(roles)
    needed = [k for k, role in enumerate(roles) if role]
    for row in rows:
        short = width - len(row.fields)
        if not 0 <= short <= optional or not all(row.fields[k] for k in needed[: len(needed) - short]):
            raise _malformed(row.line, f"{len(row.fields)} fields {row.fields[:5]}", REMEDY)


def _numbers(rows: Sequence[Row], column: int, name: str) -> NDArray[np.float64]:
    values = np.ones(len(rows))
    for k, row in enumerate(rows):
        if column < len(row.fields):
            try:
                values[k] = float(row.fields[column])
            except ValueError:
                got, remedy = f"{name} {row.fields[column]!r}", f"the {name} must be a number"
                raise _malformed(row.line, got, remedy) from None
    return values


def _malformed(line: int, got: object, remedy: str) -> FileFormatError:
    return FileFormatError(complain(f"line {line} must be an event", got=got, remedy=remedy))
