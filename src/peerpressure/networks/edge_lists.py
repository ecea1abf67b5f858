"""Edge lists as text: one edge per line, two labels and perhaps a weight."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, NetworkError, complain
from peerpressure.networks.labels import Label
from peerpressure.tables import Row, Table, is_number, places_in

ROLES = ("source", "target", "weight")
# Whole numbers as Python would write them: "007" stays text, so that no label is changed by reading it.
WHOLE = re.compile(r"-?[1-9][0-9]{0,17}|0")
REMEDY = "write source, target and, if any, weight, or a heading that names them"


@dataclass(frozen=True, eq=False)
class EdgeList:
    """Edges by the labels of their ends; ``found`` says how the table was read."""

    sources: list[Label]
    targets: list[Label]
    weights: NDArray[np.float64]
    found: str


def labels_of(texts: Iterable[str]) -> dict[str, Label]:
    """Return the label that each text stands for: whole numbers where all texts are, else the texts.

    >>> labels_of(["1", "2"]), labels_of(["1", "b"])
    ({'1': 1, '2': 2}, {'1': '1', 'b': 'b'})
    """
    distinct = dict.fromkeys(texts)
    numbers = all(WHOLE.fullmatch(text) for text in distinct)
    return {text: int(text) if numbers else text for text in distinct}


def edges_of(table: Table) -> EdgeList:
    """Return the edges in a table, its columns taken by their names, or in the order of ``ROLES`` if it has none."""
    table = _with_heading(table)
    if not table.rows:
        remedy = "write one edge per line: source, target and, if any, weight"
        raise FileFormatError(complain("an edge list must hold edges", got="none", remedy=remedy))
    places = _places(table)
    _refuse_fields(table, places)
    ends = [table.column(places[role]) for role in ("source", "target")]
    weights = _weights(table, places.get("weight"))
    _refuse_edges(table, ends, weights)
    label = labels_of(text for side in ends for text in side)
    sources, targets = ([label[text] for text in side] for side in ends)
    return EdgeList(sources, targets, weights, table.description(places))


def _with_heading(table: Table) -> Table:
    """Return the table with its heading, if the comment above it or its first line is one."""
    if not table.rows:
        return table
    if len(table.note) == table.width and _names_ends(table.note):
        return replace(table, heading=table.note)
    return table.headed() if _is_heading(table) else table


def _names_ends(names: Sequence[str]) -> bool:
    return {"source", "target"} <= places_in(names, ROLES).keys()


def _is_heading(table: Table) -> bool:
    names, below = table.rows[0].fields, table.taken(range(1, len(table.rows)))
    if _names_ends(names):
        return True
    ends = {text for row in below.rows for text in row.fields[:2]}
    if not ends or not ends.isdisjoint(names[:2]):
        return False
    if places_in(names, ("source", "target")):
        rule, remedy = "a heading must name the source and the target", "name both, or neither"
        raise FileFormatError(complain(rule, got=", ".join(map(repr, names[:6])), remedy=remedy))
    # Words above columns of numbers are a heading too.
    if all(WHOLE.fullmatch(text) for text in ends):
        return not any(WHOLE.fullmatch(name) for name in names)
    return len(names) == 3 and below.is_numeric(2) and not is_number(names[2])


def _places(table: Table) -> dict[str, int]:
    if table.heading is None or not _names_ends(table.heading):
        return {role: k for k, role in enumerate(ROLES[: table.width])}
    places = table.places(ROLES)
    unknown = [k for k in range(table.width) if k not in places.values() and table.heading[k].casefold() != "id"]
    doubtful = [table.heading[k] for k in unknown if table.is_numeric(k)]
    if "weight" not in places and doubtful:
        rule = "a column of numbers in an edge list must be called weight if it is one"
        remedy = "rename it weight, or remove it; lists of contacts with times have a reader of their own"
        raise FileFormatError(complain(rule, got=", ".join(map(repr, doubtful)), remedy=remedy))
    return places


def _refuse_fields(table: Table, places: Mapping[str, int]) -> None:
    if table.heading is not None:
        table.refuse_widths()
    for row in table.rows:
        whole = table.heading is not None or len(row.fields) in (2, 3)
        if not whole or not all(row.fields[places[role]] for role in ("source", "target")):
            raise table.malformed(row, f"{len(row.fields)} fields {row.fields[:4]}", REMEDY)


def _weights(table: Table, column: int | None) -> NDArray[np.float64]:
    """Return the weights; a line that has none has the weight 1."""
    weights = np.ones(len(table.rows))
    if column is not None:
        given = [k for k, row in enumerate(table.rows) if column < len(row.fields)]
        weights[given] = table.taken(given).numbers(column, "weight")
    return weights


def _refuse_edges(table: Table, ends: Sequence[Sequence[str]], weights: NDArray[np.float64]) -> None:
    bad = ~((weights >= 0) & (weights < np.inf))
    if bad.any():
        k = int(np.argmax(bad))
        rule, remedy = "a weight must be finite and not negative", "use a weight above 0"
        raise _illegal(table.rows[k], rule, float(weights[k]), remedy)
    seen: dict[tuple[str, str], int] = {}
    for k, (a, b) in enumerate(zip(*ends, strict=True)):
        if a == b:
            raise _illegal(table.rows[k], "an agent must not be its own neighbour", a, "remove the self-loop")
        before = seen.setdefault((a, b) if a < b else (b, a), k)
        if weights[before] != weights[k]:
            got = f"{weights[k]} for {a!r} and {b!r} after {weights[before]} on line {table.rows[before].line}"
            rule = "an edge given more than once must keep one weight"
            raise _illegal(table.rows[k], rule, got, "keep one of them")
    _refuse_one_way(table, ends)


def _refuse_one_way(table: Table, ends: Sequence[Sequence[str]]) -> None:
    """Raise where a column ``Type``, as Gephi has it, says that an edge goes one way only."""
    names = [name.casefold() for name in table.heading or ()]
    if "type" not in names:
        return
    kinds = [kind.casefold() for kind in table.column(names.index("type"))]
    pairs = set(zip(*ends, strict=True))
    for row, kind, a, b in zip(table.rows, kinds, *ends, strict=True):
        if kind == "directed" and (b, a) not in pairs:
            remedy = "add the other direction, or set the type to Undirected if both listen to each other"
            raise _illegal(row, "edges must go both ways", f"one from {a!r} to {b!r} only", remedy)


def _illegal(row: Row, rule: str, got: object, remedy: str) -> NetworkError:
    return NetworkError(complain(f"line {row.line}: {rule}", got=got, remedy=remedy))
