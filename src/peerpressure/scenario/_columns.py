"""Values of agents from columns of tables and attributes of graphs, matched with the agents by their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Discriminator, Field, Tag

from peerpressure.errors import InvalidInputError, did_you_mean, first_few, message
from peerpressure.files import naming
from peerpressure.networks import Network
from peerpressure.networks._graph_files import GRAPHS, attribute_table, is_graph_file
from peerpressure.parameters import texts_of
from peerpressure.scenario._section import InputFile, Section, tag
from peerpressure.tables import TextTable, places_in, read_table

Vector: TypeAlias = NDArray[np.float64]


def _one_or_more(value: Any) -> str:
    return tag("list") if isinstance(value, list | tuple) else tag("text")


Name: TypeAlias = Annotated[str, Field(min_length=1)]
Names: TypeAlias = Annotated[
    Annotated[Name, Tag(tag("text"))] | Annotated[Annotated[list[Name], Field(min_length=1)], Tag(tag("list"))],
    Discriminator(_one_or_more),
    Field(description="a name, or one for each topic"),
]
_BY = "add a column with their names, or set by = to the column that has them"


class FromColumn(Section):
    """A column of a table, or one for each topic; ``by`` names the column with the agents, detected if left out."""

    file: Annotated[InputFile, Field(description="a table, or a graph with attributes of its nodes")]
    column: Names
    by: Annotated[str | None, Field(description="the column with the names of the agents; detected if left out")] = None

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [self.column] if isinstance(self.column, str) else self.column

    def matched(self, network: Network) -> tuple[Match, Vector]:
        """Return the match of rows to agents, and the values of each agent in the order of the network.

        Several columns give an array of shape (agents, columns).
        """
        with naming(self.file, "a table of agents"):
            found = [self._matched(name, network) for name in self.names]
        values = [numbers for _, numbers in found]
        return found[0][0], values[0] if isinstance(self.column, str) else np.column_stack(values)

    def _matched(self, name: str, network: Network) -> tuple[Match, Vector]:
        if is_graph_file(self.file):
            table, _ = attribute_table(Path(self.file), name)
        else:
            table = read_table(self.file)
        # A table without rows cannot have a heading; ``find`` then reports the missing column.
        table = table.headed() if table.rows else table
        column = table.find(name)
        table.check_widths()
        match = match_agents(table, network.agents, [table.find(other) for other in self.names], self.by)
        return match, table.taken(match.rows).numbers(column, name)

    def found(self, network: Network) -> str:
        """Describe which values were matched to which agents, and how."""
        match, values = self.matched(network)
        rows = zip(network.agents, values.reshape(len(values), -1).tolist(), strict=True)
        first = first_few((f"{label!r} {' '.join(f'{value:g}' for value in row)}" for label, row in rows), len(values))
        how = "in the order of the agents" if match.column is None else f"matched by {match.column!r}"
        left = (
            f"; left out, not in the network: {first_few(map(repr, match.others), len(match.others))}"
            if match.others
            else ""
        )
        columns = f"column{'s' * (len(self.names) > 1)} {', '.join(map(repr, self.names))}"
        return f"{self.file}, {columns}, {how}: {first}{left}"


class FromAttribute(Section):
    """An attribute of the nodes in the file of the network."""

    attribute: Annotated[Names, Field(description="an attribute of the nodes in the file of the network")]

    def column(self, file: str | None) -> FromColumn:
        """Return the same values as a column of the network's file."""
        if file is None or not is_graph_file(file):
            rule = f"an attribute must be one of a network file ({', '.join(GRAPHS)})"
            remedy = "set file in [network] to such a graph, or take the values from a table with file and column"
            raise InvalidInputError(message(rule, got=repr(self.attribute), remedy=remedy))
        return FromColumn.model_construct(file=file, column=self.attribute)


@dataclass(frozen=True)
class Match:
    """Rows of a table matched with agents.

    Attributes
    ----------
    column : str or None
        Name of the column with the labels; None if rows are in the order of the agents.
    rows : list of int
        The row of each agent, in the order of the network.
    others : list of str
        Names in rows that belong to no agent of the network.
    """

    column: str | None
    rows: list[int]
    others: list[str]


def match_agents(table: TextTable, labels: Sequence[Any], values: Sequence[int], by: str | None = None) -> Match:
    """Match rows with agents by the column that holds the labels of the network.

    Rows are taken in order only if agents have no labels and the table does not number them. Rows of other names are
    ignored if agents have labels, because an edge list does not contain isolated agents.

    Parameters
    ----------
    table : Table
        A table with a heading.
    labels : sequence
        The labels of the network; a range if it has none.
    values : sequence of int
        The columns of values, which have no names in them.
    by : str, optional
        The column of names; detected by default.

    Raises
    ------
    InvalidInputError
        If an agent has no row or more than one, or if the table leaves open whose rows they are.
    """
    # Labels are compared as text, since a table has no types.
    heading, known = table.heading or (), texts_of(labels)
    if by is not None:
        return _matched(table, labels, known, table.find(by))
    columns = {k: table.column(k) for k in range(table.width) if k not in values}
    # Numbers under no name count rows, as R and pandas write them.
    columns = {k: texts for k, texts in columns.items() if heading[k] or not all(text.isdecimal() for text in texts)}
    named = {k for k in columns if places_in([heading[k]], ("agent",))}
    # A column is a candidate only if it names every agent.
    whole = [k for k, texts in columns.items() if known.keys() <= set(texts)]
    chosen = [k for k in whole if k in named] or whole
    # Several columns with the same names are no conflict.
    if any(columns[k] != columns[chosen[0]] for k in chosen):
        rule, got = "one column must name the agents", ", ".join(repr(heading[k]) for k in chosen)
        raise InvalidInputError(message(rule, got=got, remedy="set by = to the one that does"))
    if chosen:
        found = _matched(table, labels, known, chosen[0])
        if isinstance(labels, range) and chosen[0] not in named and found.rows != [*labels]:
            # A rank or a group can be a list of all whole numbers below n, too.
            rule = "a column that numbers agents without labels must be called agent"
            remedy = "set by = to its name if it does, and remove it if not"
            raise InvalidInputError(message(rule, got=repr(heading[chosen[0]]), remedy=remedy))
        return found
    # No column names all agents: the closest one is used for a message that lists the missing names.
    hits = {k: len(known.keys() & set(texts)) for k, texts in columns.items()}
    unlabelled = isinstance(labels, range)
    # A column that names most of the agents, or some of them and is called so, was meant to name them all.
    near = [k for k in columns if hits[k] and (k in named or (not unlabelled and 2 * hits[k] >= len(known)))]
    if near:
        return _matched(table, labels, known, max(near, key=hits.__getitem__))
    if not unlabelled:
        rule, got = "a table must name the agents of a network with labels", f"columns {', '.join(map(repr, heading))}"
        got += "".join(f", and under {heading[k]!r} {_listed(columns[k])}" for k in sorted(named))
        raise InvalidInputError(message(rule, got=got, remedy=f"{_BY}; the labels are {_listed(labels)}"))
    if len(table.rows) != len(labels):
        rule = f"there must be one row for each of the {len(labels)} agents"
        raise InvalidInputError(message(rule, got=f"{len(table.rows)} rows", remedy="add or remove rows"))
    return Match(None, list(range(len(labels))), [])


def _matched(table: TextTable, labels: Sequence[Any], known: dict[str, int], column: int) -> Match:
    name, texts = (table.heading or ())[column], table.column(column)
    rows: dict[str, int] = {}
    for k, text in enumerate(texts):
        if text in known and rows.setdefault(text, k) != k:
            rule, got = f"the column {name!r} must name each agent once", f"{text!r} twice"
            where = f"on lines {table.rows[rows[text]].line} and {table.rows[k].line}"
            raise InvalidInputError(message(rule, got=f"{got}, {where}", remedy="keep one of them"))
    missing = [label for label in labels if str(label) not in rows]
    others = list(dict.fromkeys(text for text in texts if text not in known))
    unlabelled = isinstance(labels, range)
    # For agents without labels a further number is most likely a mistake of counting, from 1 instead of 0.
    if missing or (others and unlabelled):
        parts = [f"no row for {_listed(missing)}"] * bool(missing) + [f"rows for others: {_listed(others)}"] * bool(
            others
        )
        hint = did_you_mean(str(missing[0]), others) if missing else ""
        remedy = f"correct the names{hint}, or set by = to another column"
        if unlabelled:
            remedy = "agents without labels are counted from 0, without gaps"
        rule = f"the column {name!r} must name each agent of the network"
        raise InvalidInputError(message(rule, got=", and ".join(parts), remedy=remedy))
    # ``known`` is in the order of the network.
    return Match(name, [rows[text] for text in known], others)


def _listed(labels: Sequence[Any]) -> str:
    return first_few(map(repr, labels), len(labels))
