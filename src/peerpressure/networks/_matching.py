"""Rows of a table matched with the agents whose names they bear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from peerpressure.errors import InvalidInputError, message
from peerpressure.networks._validation import Label, few, nearest
from peerpressure.tables import Table, places_in, texts_of

BY = "add a column with their names, or set by = to the column that has them"


@dataclass(frozen=True)
class Match:
    """Which row of a table is whose.

    Attributes
    ----------
    column : str or None
        Name of the column that told; None where rows are in the order of the agents.
    rows : list of int
        The row of each agent, in the order of the network.
    others : list of str
        Names on the rows of nobody in the network.
    """

    column: str | None
    rows: list[int]
    others: list[str]


def match_agents(table: Table, labels: Sequence[Label], value: int, by: str | None = None) -> Match:
    """Return whose row each is, by the column that has the labels of the network as its values.

    Rows are taken in order only where agents have no labels and the table does not number them. Rows of others are
    left out where agents have labels, because an edge list does not hold those who have no neighbours.

    Parameters
    ----------
    table : Table
        A table with a heading.
    labels : sequence
        The labels of the network; a range where it has none.
    value : int
        The column of values, which has no names in it.
    by : str, optional
        The column of names; found out if left out.

    Raises
    ------
    InvalidInputError
        If an agent has no row or more than one, or if the table leaves open whose rows they are.
    """
    heading, known = table.heading or (), texts_of(labels)
    if by is not None:
        return _matched(table, labels, known, table.find(by))
    columns = {k: table.column(k) for k in range(table.width) if k != value}
    named = {k for k in columns if places_in([heading[k]], ("agent",))}
    whole = [k for k, texts in columns.items() if known.keys() <= set(texts)]
    chosen = [k for k in whole if k in named] or whole
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
    hits = {k: len(known.keys() & set(texts)) for k, texts in columns.items()}
    unlabelled = isinstance(labels, range)
    # A column that names most of the agents, or some of them and is called so, was meant to name them all.
    near = [k for k in columns if hits[k] and (k in named or (not unlabelled and 2 * hits[k] >= len(known)))]
    if near:
        return _matched(table, labels, known, max(near, key=hits.__getitem__))
    if not unlabelled:
        rule, got = "a table must name the agents of a network with labels", f"columns {', '.join(map(repr, heading))}"
        raise InvalidInputError(message(rule, got=got, remedy=f"{BY}; the labels are {_few(labels)}"))
    if len(table.rows) != len(labels):
        rule = f"there must be one row for each of the {len(labels)} agents"
        raise InvalidInputError(message(rule, got=f"{len(table.rows)} rows", remedy="add or remove rows"))
    return Match(None, list(range(len(labels))), [])


def _matched(table: Table, labels: Sequence[Label], known: dict[str, int], column: int) -> Match:
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
    if missing or (others and unlabelled):
        parts = [f"no row for {_few(missing)}"] * bool(missing) + [f"rows for others: {_few(others)}"] * bool(others)
        hint = nearest(str(missing[0]), others) if missing else ""
        remedy = f"correct the names{hint}, or set by = to another column"
        if unlabelled:
            remedy = "agents without labels are counted from 0, without gaps"
        rule = f"the column {name!r} must name each agent of the network"
        raise InvalidInputError(message(rule, got=", and ".join(parts), remedy=remedy))
    return Match(name, [rows[text] for text in known], others)


def _few(labels: Sequence[Label]) -> str:
    return few(map(repr, labels), len(labels))
