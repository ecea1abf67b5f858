"""Tables of text that are no plain lists of edges: adjacency matrices, adjacency lists and the lists of NetworkX."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import dropwhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError
from peerpressure.networks._edge_lists import parse_labels
from peerpressure.networks.validation import Label
from peerpressure.support.files import decode_text, read_bytes
from peerpressure.support.table_files import PARQUET, is_comment, may_be_name, read_table, table_of
from peerpressure.support.tables import (
    SEPARATORS,
    Row,
    TextTable,
    cell_text,
    comment_above,
    comment_below,
    is_number,
)

LEAST_UNLABELLED = 4  # agents of a matrix without labels: fewer columns may be those of a list of edges
LONGEST = 10_000  # characters of the attributes of one edge
_GAP = r"(?:\s*[,;]\s*|\s+)"
_ATTRIBUTED = re.compile(rf"\s*([^\s,;{{]+){_GAP}([^\s,;{{]+){_GAP}(\{{.*\}})\s*")


def edge_table(file: Path) -> TextTable:
    """Return the table of a list of edges; attributes that NetworkX wrote as a dictionary are its columns."""
    if file.suffix.lower() != PARQUET:
        data = read_bytes(file)
        # A list of NetworkX has a dictionary on each line.
        table = networkx_table(decode_text(data)[0]) if b"{" in data else None
        return table or table_of(data, file, "an edge")
    return read_table(file, "an edge")


# Lists that networkx.write_edgelist writes by default


def networkx_table(text: str) -> TextTable | None:
    r"""Return the table of a list in which each line ends with a dictionary of attributes, or None.

    >>> networkx_table("0 1 {'weight': 4}\n").row(0)
    Row(line=1, fields=['0', '1', '4'])
    """
    lines = _records(text)
    if not lines or not _ATTRIBUTED.fullmatch(lines[0][1]):
        return None
    _check_comments(lines)
    edges = [(number, *_attributed(number, line)) for number, line in lines]
    names = list(dict.fromkeys(name for *_, facts in edges for name in facts))
    # To NetworkX an edge without a weight has the weight 1.
    rows = [
        Row(number, [*ends, *(cell_text(facts.get(name, 1 if name == "weight" else None)) for name in names)])
        for number, ends, facts in edges
    ]
    return TextTable.of_rows(rows, " ", "an edge", heading=("source", "target", *names), form="list of NetworkX")


def _records(text: str) -> list[tuple[int, str]]:
    lines = enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1)
    filled = [(number, line) for number, line in lines if line.strip()]
    records = list(dropwhile(lambda line: is_comment(line[1]), filled))
    above = filled[: len(filled) - len(records)]
    for number, line in above:
        # NetworkX writes its command line and, below it, the time.
        is_command = above[1:2] and number == above[0][0] and above[1][1].startswith("# GMT ")
        if may_be_name(line) and len(line.split()) > 1 and not is_command:
            raise comment_above(number, line)
    return records


def _check_comments(lines: list[tuple[int, str]]) -> None:
    """Raise for a comment among edges, which may be an agent: these lists have no quotes."""
    for number, line in lines:
        if is_comment(line):
            raise comment_below(number, line, "write a list with quoted names, or a graph")


def _attributed(number: int, line: str) -> tuple[tuple[str, str], dict[str, Any]]:
    match = _ATTRIBUTED.fullmatch(line)
    facts = None if match is None else _literal(match[3])
    if match is None or facts is None:
        rule, remedy = f"line {number} must be two agents and a dictionary of attributes", "write the list again"
        raise FileFormatError(rule, got=repr(line[:80]), remedy=remedy)
    return (match[1], match[2]), facts


def _literal(text: str) -> dict[str, Any] | None:
    """Return a dictionary of plain values, or None; it is parsed and never evaluated."""
    try:
        facts = ast.literal_eval(text) if len(text) <= LONGEST else None
    # Whatever is wrong with a literal.
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    plain = isinstance(facts, dict) and all(isinstance(name, str) for name in facts)
    return facts if plain else None


# Adjacency matrices


class AdjacencyTable(NamedTuple):
    """An adjacency matrix from a table, and the labels of its agents, if it has any."""

    matrix: NDArray[np.float64]
    labels: Sequence[Label] | None
    read_as: str

    def description(self, *, directed: bool) -> str:
        """Describe how the table was read."""
        side = "; row i holds whom agent i listens to" if directed else ""
        return f"adjacency matrix of {len(self.matrix):,} agents, {self.read_as}{side}"


def adjacency_table(table: TextTable) -> AdjacencyTable | None:
    """Return the adjacency matrix in a table, or None if the table is none."""
    names = table.first.fields if table.first else list(table.heading or ())
    below = replace(table, first=None, what="a row of a matrix")
    width, count = len(below.columns), len(below)
    if count < 2 or table.form or not all(column.is_complete for column in below.columns):
        return None
    # A corner that is a number belongs to a matrix without labels. R leaves the corner out.
    if count + 1 == width and not is_number(names[0]) and len(names) in (width, width - 1):
        return _labelled(below, names[-(width - 1) :])
    if not count + 1 == len(names) == width >= LEAST_UNLABELLED or not table.first:
        return None
    return _matrix(replace(table, what="a row of a matrix").whole(), 0, None, "without labels")


def _labelled(below: TextTable, names: Sequence[str]) -> AdjacencyTable | None:
    beside = below.column(0)
    if set(beside) != set(names) or len(set(names)) != len(names):
        return None
    adjacency = _matrix(below, 1, names, "labels in the first row and the first column")
    if adjacency is None or beside == list(names):
        return adjacency
    # The rows in the order of the columns.
    return adjacency._replace(matrix=adjacency.matrix[[beside.index(name) for name in names]])


def _matrix(table: TextTable, first: int, names: Sequence[str] | None, read_as: str) -> AdjacencyTable | None:
    columns = range(first, len(table.columns))
    if not all(map(table.is_numeric, columns)):
        return None
    matrix = np.column_stack([table.numbers(k, "weight") for k in columns])
    label = None if names is None else parse_labels(names)
    where = f"separated by {SEPARATORS[table.separator]}" if table.separator else "Parquet"
    return AdjacencyTable(
        matrix, None if label is None else [label[name] for name in names or ()], f"{where}, {read_as}"
    )


# Adjacency lists


class AdjacencyList(NamedTuple):
    """Edges of an adjacency list, and all its agents, of whom some may have no edge."""

    sources: list[Label]
    targets: list[Label]
    labels: list[Label]

    def description(self, *, directed: bool) -> str:
        """Describe how the list was read."""
        return f"adjacency list, the first agent of a line {'listens' if directed else 'is linked'} to the others"


def read_adjacency_list(file: Path) -> AdjacencyList:
    """Return the list in a file: an agent, and its neighbours after it on the same line."""
    records = _records(decode_text(read_bytes(file))[0])
    _check_comments(records)
    lines = [line.split() for _, line in records]
    label = parse_labels(word for line in lines for word in line)
    pairs = [(label[line[0]], label[word]) for line in lines for word in line[1:]]
    agents: list[Any] = list(dict.fromkeys(label.values()))
    labels = sorted(agents) if all(isinstance(agent, int) for agent in agents) else agents
    return AdjacencyList([source for source, _ in pairs], [target for _, target in pairs], labels)
