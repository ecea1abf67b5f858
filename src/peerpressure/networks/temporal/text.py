"""Events and contacts as text: one to a line, a time, two labels and perhaps a weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, NetworkError, complain
from peerpressure.networks.edge_lists import WHOLE, labels_of
from peerpressure.networks.labels import Label
from peerpressure.networks.refusal import nearest
from peerpressure.tables import Table, is_number, places_in

ROLES = ("time", "source", "target", "weight")
# The order of columns that have no names: ours, and those of other collections, which must not be taken for it.
ORDERS: dict[int, tuple[tuple[str, ...], ...]] = {
    3: (ROLES[:3], ("source", "target", "time")),
    4: (ROLES, ("source", "target", "time", "weight"), ("source", "target", "weight", "time")),
}
REMEDY = "write time, source, target and, if any, weight, or say what the columns are with columns=(...)"
UNCLEAR = (
    "add a heading such as time,source,target, or say what the columns are, for instance with "
    "columns = ['source', 'target', 'time']"
)
Places: TypeAlias = dict[str, int]


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of a file, column by column; ``numbers`` are those of the lines, ``found`` says how it was read."""

    numbers: list[int]
    times: NDArray[np.float64]
    sources: list[Label]
    targets: list[Label]
    weights: NDArray[np.float64] | None
    rest: list[list[str]]
    found: str

    def refuse(self, bad: NDArray[np.bool_], rule: str, values: Sequence[Any] | NDArray[Any], remedy: str) -> None:
        """Raise for the first line that breaks a rule, if there is one."""
        if bad.any():
            k = int(np.argmax(bad))
            got = f"{values[k]:.16g}" if isinstance(values, np.ndarray) else repr(values[k])
            raise NetworkError(complain(f"line {self.numbers[k]}: {rule}", got=got, remedy=remedy))


def lines_of(table: Table, columns: Sequence[str] | None) -> Lines:
    """Return the columns of a table: as ``columns`` or the heading names them, or in an order that leaves no doubt."""
    given = None if columns is None else _given_places(columns)
    table = _with_heading(table)
    if not table.rows:
        raise FileFormatError(complain("a list of events must hold some", got="none", remedy=REMEDY))
    _refuse_widths(table, columns)
    places = given or _named_places(table) or _likely_places(table)
    for row in table.rows:
        if not all(row.fields[k] for k in places.values() if k < len(row.fields)):
            raise table.malformed(row, f"{len(row.fields)} fields {row.fields[:5]}", REMEDY)
    ends = [table.column(places[role]) for role in ("source", "target")]
    label = labels_of(name for side in ends for name in side)
    sources, targets = ([label[name] for name in side] for side in ends)
    rest = [table.column(k) for k in range(table.width) if k not in places.values()]
    times = table.numbers(places["time"], "time")
    return Lines(table.lines, times, sources, targets, _weights(table, places), rest, table.description(places))


def _with_heading(table: Table) -> Table:
    """Return the table with its heading: the comment above it, or a first line in which nothing is a number."""
    if not table.rows:
        return table
    if len(table.note) == table.width and {*ROLES[:3]} <= places_in(table.note, ROLES, letters=True).keys():
        return replace(table, heading=table.note)
    names = table.rows[0].fields
    return table if any(map(is_number, names)) else table.headed()


def _refuse_widths(table: Table, columns: Sequence[str] | None) -> None:
    """Raise where a line has too few or too many fields; without names of any kind, the weight may be left out."""
    named = columns is not None or table.heading is not None
    width = table.width if columns is None else len(columns)
    if not named:
        width = 3 if len(table.rows[0].fields) not in ORDERS else min(width, 4)
    for row in table.rows:
        if len(row.fields) != width and (named or len(row.fields) not in ORDERS):
            raise table.malformed(row, f"{len(row.fields)} fields {row.fields[:5]}", REMEDY)


def _given_places(columns: Sequence[str]) -> Places:
    known = [role for role in columns if role]
    strange = [role for role in known if role not in ROLES]
    if strange or len(set(known)) < len(known) or not {*ROLES[:3]} <= {*known}:
        hint = nearest(strange[0], ROLES) if strange else ""
        rule = "columns must name time, source and target, and may name weight, each once"
        remedy = f"write '' for columns to leave out{hint}"
        raise NetworkError(complain(rule, got=list(columns), remedy=remedy))
    return {role: k for k, role in enumerate(columns) if role}


def _named_places(table: Table) -> Places | None:
    """Return the columns by the names in the heading; None where it has none of them."""
    if table.heading is None:
        return None
    places = table.places((*ROLES, "end"), letters=True)
    if "end" in places:
        rule = "contacts must be moments, or all last as long as duration says"
        got, remedy = f"a column {table.heading[places['end']]!r}", "remove it, or repeat the contact at every time"
        raise FileFormatError(complain(rule, got=got, remedy=remedy))
    if {*ROLES[:3]} <= places.keys():
        return places
    # Names that are not known may stand over columns in our order, as long as none of the others contradicts that.
    ordered = dict(zip(ROLES, range(table.width), strict=False))
    if len(ordered) == table.width >= 3 and all(ordered.get(role) == k for role, k in places.items()):
        return ordered
    rule = "columns must be named time, source and target"
    raise FileFormatError(complain(rule, got=", ".join(map(repr, table.heading[:6])), remedy=UNCLEAR))


def _likely_places(table: Table) -> Places:
    """Return the one order of columns that their contents allow, which for numbered agents must be our own.

    Only times and weights are fractions, times have no need to be agents as well while sources and targets are the
    same agents, and lists are mostly sorted by time.
    """
    orders = [dict(zip(order, range(table.width), strict=True)) for order in ORDERS[table.width]]
    legal = [order for order in orders if _is_legal(table, order)] or orders[:1]
    if len(legal) == 1:
        return legal[0]
    for test in (_is_telling, _is_sorted):
        passed = [order for order in legal if test(table, order)]
        if passed == orders[:1]:
            return orders[0]
        if passed and orders[0] not in passed:
            break
    got = f"{table.rows[0].fields}, which may be {' or '.join(', '.join(order) for order in legal)}"
    raise FileFormatError(complain("the order of columns without names must be clear", got=got, remedy=UNCLEAR))


def _is_legal(table: Table, places: Places) -> bool:
    def holds_agents(k: int) -> bool:
        return all(WHOLE.fullmatch(text) or not is_number(text) for text in table.column(k))

    whole = all(len(row.fields) == table.width for row in table.rows)
    numbers = [table.is_numeric(places[role]) for role in ("time", "weight") if role in places and whole]
    if not whole and "weight" in places:
        # A weight that some lines leave out must come last.
        part = table.taken(k for k, row in enumerate(table.rows) if len(row.fields) == table.width)
        numbers = [places["weight"] == table.width - 1, table.is_numeric(places["time"])]
        numbers.append(part.is_numeric(places["weight"]))
    return all(numbers) and holds_agents(places["source"]) and holds_agents(places["target"])


def _is_telling(table: Table, places: Places) -> bool:
    """Say whether sources and targets share agents, and none of the agents is a time."""
    times, sources, targets = (set(table.column(places[role])) for role in ROLES[:3])
    return not sources.isdisjoint(targets) and times.isdisjoint(sources | targets)


def _is_sorted(table: Table, places: Places) -> bool:
    return bool(np.all(np.diff(table.numbers(places["time"], "time")) >= 0))


def _weights(table: Table, places: Places) -> NDArray[np.float64] | None:
    if "weight" not in places:
        return None
    weights = np.ones(len(table.rows))
    given = [k for k, row in enumerate(table.rows) if places["weight"] < len(row.fields)]
    weights[given] = table.taken(given).numbers(places["weight"], "weight")
    return weights
