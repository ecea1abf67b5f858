"""Edge lists as text: one edge per line, two labels and perhaps a weight."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, NetworkError, complain
from peerpressure.networks.labels import Label

COMMENTS = ("#", "%")
COLUMN_NAMES = frozenset(
    ["source", "target", "from", "to", "src", "dst", "node1", "node2", "node_1", "node_2", "weight"]
)
# Whole numbers as Python would write them: "007" stays text, so that no label is changed by reading it.
WHOLE = re.compile(r"-?[1-9][0-9]{0,17}|0")


class Row(NamedTuple):
    """The fields of one line, and its number."""

    line: int
    fields: list[str]


def labels_of(texts: Iterable[str]) -> dict[str, Label]:
    """Return the label that each text stands for: whole numbers where all texts are, else the texts.

    >>> labels_of(["1", "2"]), labels_of(["1", "b"])
    ({'1': 1, '2': 2}, {'1': '1', 'b': 'b'})
    """
    distinct = dict.fromkeys(texts)
    numbers = all(WHOLE.fullmatch(text) for text in distinct)
    return {text: int(text) if numbers else text for text in distinct}


def parse_edges(text: str, *, comma_first: bool) -> tuple[list[Label], list[Label], NDArray[np.float64]]:
    """Return sources, targets and weights; the separator is the one that the first line uses."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    # Comments become empty lines so that the others keep their numbers.
    lines = ["" if line.lstrip().startswith(COMMENTS) else line for line in lines]
    rows = _rows(lines, _separator(lines, comma_first))
    if rows and _is_header(rows):
        rows = rows[1:]
    if not rows:
        remedy = "write one edge per line: source, target and, if any, weight"
        raise FileFormatError(complain("an edge list must hold edges", got="none", remedy=remedy))
    weights = [_weight(row) for row in rows]
    _refuse_conflicts(rows, weights)
    label = labels_of(text for row in rows for text in row.fields[:2])
    sources, targets = ([label[row.fields[end]] for row in rows] for end in (0, 1))
    return sources, targets, np.array(weights)


def _separator(lines: Sequence[str], comma_first: bool) -> str | None:
    first = next((line for line in lines if line.strip()), "")
    candidates = (",", "\t") if comma_first else ("\t", ",")
    return next((separator for separator in candidates if separator in first.strip()), None)


def _rows(lines: Sequence[str], separator: str | None) -> list[Row]:
    if separator is None:
        split = (Row(number, line.split()) for number, line in enumerate(lines, start=1))
        return [row for row in split if row.fields]
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    try:
        found = [Row(reader.line_num, [field.strip() for field in fields]) for fields in reader]
    except csv.Error as error:
        raise _malformed(reader.line_num, error, "close every quote") from None
    return [row for row in found if any(row.fields)]


def _is_header(rows: Sequence[Row]) -> bool:
    names = [field.casefold() for field in rows[0].fields]
    if len(set(names)) > 1 and COLUMN_NAMES.issuperset(names):
        return True
    # Words above columns of numbers are a heading too.
    below = [WHOLE.fullmatch(text) for row in rows[1:] for text in row.fields[:2]]
    return bool(below) and all(below) and not any(WHOLE.fullmatch(name) for name in names)


def _weight(row: Row) -> float:
    if len(row.fields) not in (2, 3) or not all(row.fields):
        remedy = "write source, target and, if any, weight"
        raise _malformed(row.line, f"{len(row.fields)} fields {row.fields[:4]}", remedy)
    try:
        weight = float(row.fields[2]) if len(row.fields) == 3 else 1.0
    except ValueError:
        raise _malformed(row.line, f"weight {row.fields[2]!r}", "the third field must be a number") from None
    if not 0 <= weight < np.inf:
        raise _illegal(row, "a weight must be finite and not negative", weight, "use a weight above 0")
    if row.fields[0] == row.fields[1]:
        raise _illegal(row, "an agent must not be its own neighbour", row.fields[0], "remove the self-loop")
    return weight


def _refuse_conflicts(rows: Sequence[Row], weights: Sequence[float]) -> None:
    """Raise where an edge comes twice with two weights; this is the one rule that needs two lines."""
    seen: dict[tuple[str, str], int] = {}
    for k, row in enumerate(rows):
        a, b = row.fields[:2]
        before = seen.setdefault((a, b) if a < b else (b, a), k)
        if weights[before] != weights[k]:
            got = f"{weights[k]} for {a!r} and {b!r} after {weights[before]} on line {rows[before].line}"
            raise _illegal(row, "an edge given more than once must keep one weight", got, "keep one of them")


def _malformed(line: int, got: object, remedy: str) -> FileFormatError:
    return FileFormatError(complain(f"line {line} must be an edge", got=got, remedy=remedy))


def _illegal(row: Row, rule: str, got: object, remedy: str) -> NetworkError:
    return NetworkError(complain(f"line {row.line}: {rule}", got=got, remedy=remedy))
