"""Edge lists as text: two labels per line and optionally a weight."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, NetworkError, message
from peerpressure.networks._validation import Label
from peerpressure.tables import Row, TextTable, cell_text, is_number, places_in

ROLES = ("source", "target", "weight")
# Integers as Python writes them: "007" stays text, so that reading changes no label.
INTEGER = re.compile(r"-?[1-9][0-9]{0,17}|0")
SAMPLE = 1000  # rows of a data frame from which its columns are identified
REMEDY = "write source, target and, if any, weight, or a heading that names them"


@dataclass(frozen=True, eq=False)
class EdgeList:
    """Edges by the labels of their ends; ``description`` states how the table was read, which may be ``headed``."""

    sources: list[Label]
    targets: list[Label]
    weights: NDArray[np.float64]
    description: str
    headed: bool


def parse_edges(table: TextTable, *, directed: bool = False, signed: bool = False) -> EdgeList:
    """Return the edges in a table, with columns by the names in its heading or in the order of ``ROLES``."""
    table = _with_heading(table)
    if not table.rows:
        remedy = "write one edge per line: source, target and, if any, weight"
        raise _format_error("an edge list must hold edges", "none", remedy)
    places = _places(table)
    _check_fields(table, places)
    ends = [table.column(places[role]) for role in ("source", "target")]
    weights = _weights(table, places.get("weight"))
    _check_edges(table, ends, weights, directed=directed, signed=signed)
    if not directed:
        _check_directions(table, ends)
    label = parse_labels(text for side in ends for text in side)
    sources, targets = ([label[text] for text in side] for side in ends)
    return EdgeList(sources, targets, weights, table.description(places), table.heading is not None)


def edges_from_frame(frame: Any, *, directed: bool) -> tuple[list[Label], list[Label], NDArray[Any] | None]:
    """Return sources, targets and weights, if any, of a data frame; columns are identified as in a file."""
    width = frame.shape[1]
    # The first rows suffice to identify columns.
    texts = [[cell_text(value) for value in frame.iloc[:SAMPLE, k].tolist()] for k in range(width)]
    rows = [Row(number, list(fields)) for number, fields in enumerate(zip(*texts, strict=True), start=1)]
    # pandas numbers columns that have no names.
    unnamed = list(frame.columns) == list(range(width)) and width in (2, 3)
    table = TextTable(rows, "", "an edge", heading=None if unnamed else tuple(map(str, frame.columns)), unit="row")
    if not rows:
        raise NetworkError(message("a data frame of edges must hold some", got="no rows", remedy=REMEDY))
    places = _places(table)
    ends = [frame.iloc[:, places[role]] for role in ("source", "target")]
    missing = np.flatnonzero(ends[0].isna() | ends[1].isna())
    if missing.size:
        got, remedy = f"a missing end in row {missing[0] + 1}", "drop such rows, for instance with frame.dropna()"
        raise NetworkError(message("an edge must have two ends", got=got, remedy=remedy))
    sources, targets = (end.tolist() for end in ends)
    kinds = [name for name in frame.columns if str(name).casefold() == "type"]
    if kinds and not directed:
        _check_reverse(frame[kinds[0]].astype(str).str.casefold().tolist(), sources, targets, table)
    return sources, targets, frame.iloc[:, places["weight"]].to_numpy() if "weight" in places else None


def parse_labels(texts: Iterable[str]) -> dict[str, Label]:
    """Return the label of each text: an integer if all texts are integers, else the text.

    >>> parse_labels(["1", "2"]), parse_labels(["1", "b"])
    ({'1': 1, '2': 2}, {'1': '1', 'b': 'b'})
    """
    # Each distinct text is converted once, in the order of first appearance.
    distinct = dict.fromkeys(texts)
    numbers = all(INTEGER.fullmatch(text) for text in distinct)
    return {text: int(text) if numbers else text for text in distinct}


def _with_heading(table: TextTable) -> TextTable:
    """Return the table with its heading, if the comment above it or its first line is one."""
    if not table.rows or table.heading is not None:
        return table
    # Lists with spaces that this package writes have the names in a comment.
    # Only a comment with as many words as the table has columns can be its heading.
    if len(table.note) == table.width and _names_ends(table.note):
        return replace(table, heading=table.note)
    return table.headed() if _is_heading(table) else table


def _names_ends(names: Sequence[str], *, letters: bool = False) -> bool:
    return {"source", "target"} <= places_in(names, ROLES, letters=letters).keys()


def _is_heading(table: TextTable) -> bool:
    names, below = table.rows[0].fields, table.taken(range(1, len(table.rows)))
    if _names_ends(names):
        return True
    ends = {text for row in below.rows for text in row.fields[:2]}
    # A first line whose fields occur below as agents is an edge.
    if not ends or not ends.isdisjoint(names[:2]):
        return False
    # Single letters may be agents as well, unless none occurs below.
    if _names_ends(names, letters=True) and not any(set(row.fields) & set(names) for row in below.rows):
        return True
    if places_in(names, ("source", "target")):
        rule, remedy = "a heading must name the source and the target", "name both, or neither"
        raise _format_error(rule, ", ".join(map(repr, names[:6])), remedy)
    # Words above columns of numbers are a heading too.
    if all(INTEGER.fullmatch(text) for text in ends):
        return not any(INTEGER.fullmatch(name) for name in names)
    return len(names) == 3 and below.is_numeric(2) and not is_number(names[2])


def _places(table: TextTable) -> dict[str, int]:
    if table.heading is None:
        return {role: k for k, role in enumerate(ROLES[: table.width])}
    # Letters count only where no words name the same.
    places = table.places(ROLES)
    if not _names_ends(table.heading):
        places = table.places(ROLES, letters=True)
    elif "weight" not in places:
        places |= table.places(("weight",), letters=True)
    if not {"source", "target"} <= places.keys():
        return _places_in_order(table, places)
    # Gephi adds an id to every edge, which is not a weight.
    unknown = [k for k in range(table.width) if k not in places.values() and table.heading[k].casefold() != "id"]
    doubtful = [table.heading[k] for k in unknown if table.is_numeric(k)]
    if "weight" not in places and doubtful:
        rule = "a column of numbers in an edge list must be called weight if it is one"
        remedy = "rename it weight, or remove it; lists of contacts with times have a reader of their own"
        raise _format_error(rule, ", ".join(map(repr, doubtful)), remedy)
    return places


def _places_in_order(table: TextTable, named: Mapping[str, int]) -> dict[str, int]:
    """Return the columns in the order of ``ROLES``, if neither the names nor the contents leave it open."""
    ordered = {role: k for k, role in enumerate(ROLES[: table.width])}
    # A weight is a number, and three columns of whole numbers may be in any order, unless a name tells the weight.
    open_order = table.width > 2 and (
        not table.is_numeric(2) or ("weight" not in named and all(_is_whole(table, k) for k in ordered.values()))
    )
    if table.width > len(ROLES) or open_order or any(ordered.get(role) != k for role, k in named.items()):
        rule, remedy = "a heading must name the source and the target", "call them source and target, and weight"
        raise _format_error(rule, ", ".join(map(repr, (table.heading or ())[:6])), remedy)
    return ordered


def _is_whole(table: TextTable, k: int) -> bool:
    return all(k < len(row.fields) and INTEGER.fullmatch(row.fields[k]) for row in table.rows)


def _check_fields(table: TextTable, places: Mapping[str, int]) -> None:
    if table.heading is not None:
        table.check_widths()
    for row in table.rows:
        complete = table.heading is not None or len(row.fields) in (2, 3)
        if not complete or not all(row.fields[places[role]] for role in ("source", "target")):
            raise table.malformed(row, f"{len(row.fields)} fields {row.fields[:4]}", REMEDY)


def _weights(table: TextTable, column: int | None) -> NDArray[np.float64]:
    """Return the weights; a line without one has the weight 1."""
    weights = np.ones(len(table.rows))
    if column is not None:
        # Without a heading some lines may have a weight and others none.
        given = [k for k, row in enumerate(table.rows) if column < len(row.fields)]
        weights[given] = table.taken(given).numbers(column, "weight")
    return weights


def _check_edges(
    table: TextTable, ends: Sequence[Sequence[str]], weights: NDArray[np.float64], *, directed: bool, signed: bool
) -> None:
    # Network checks the same rules, but only here can a message name the line.
    # Written as a negation, so that nan, for which every comparison is False, is bad as well.
    bad = ~(np.isfinite(weights) & (signed | (weights >= 0)))
    if bad.any():
        k = int(np.argmax(bad))
        rule = "a weight must be finite" + ("" if signed else " and not negative")
        remedy = "use a number" if signed else "use a weight above 0, or signed=True if it means distrust"
        raise _line_error(table.rows[k], rule, float(weights[k]), remedy)
    # An undirected edge may be listed in both directions, so its key is sorted.
    seen: dict[tuple[str, str], int] = {}
    for k, (a, b) in enumerate(zip(*ends, strict=True)):
        if a == b:
            raise _line_error(table.rows[k], "an agent must not be its own neighbour", a, "remove the self-loop")
        before = seen.setdefault((a, b) if directed or a < b else (b, a), k)
        if weights[before] != weights[k]:
            got = f"{weights[k]} for {a!r} and {b!r} after {weights[before]} on line {table.rows[before].line}"
            rule = "an edge given more than once must keep one weight"
            raise _line_error(table.rows[k], rule, got, "keep one of them")


def _check_directions(table: TextTable, ends: Sequence[Sequence[str]]) -> None:
    """Raise if a column ``Type``, as Gephi writes it, makes an edge directed and its reverse is missing."""
    names = [name.casefold() for name in table.heading or ()]
    if "type" not in names:
        return
    kinds = [kind.casefold() for kind in table.column(names.index("type"))]
    _check_reverse(kinds, ends[0], ends[1], table)


def _check_reverse(kinds: Sequence[str], sources: Sequence[Label], targets: Sequence[Label], table: TextTable) -> None:
    # The reverse direction may come anywhere.
    pairs = set(zip(sources, targets, strict=True))
    for k, (kind, a, b) in enumerate(zip(kinds, sources, targets, strict=True)):
        if kind == "directed" and (b, a) not in pairs:
            remedy = "read it with directed=True, or set the type to Undirected if both listen to each other"
            place = f"{table.unit} {table.rows[k].line if table.unit == 'line' else k + 1}"
            rule, got = f"{place}: edges must go both ways", f"one from {a!r} to {b!r} only"
            raise NetworkError(message(rule, got=got, remedy=remedy))


def _line_error(row: Row, rule: str, got: object, remedy: str) -> NetworkError:
    return NetworkError(message(f"line {row.line}: {rule}", got=got, remedy=remedy))


def _format_error(rule: str, got: object, remedy: str) -> FileFormatError:
    return FileFormatError(message(rule, got=got, remedy=remedy))
