"""Lists of events or contacts as text: a time, two labels and optionally a weight per line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from peerpressure.dates import is_date
from peerpressure.errors import FileFormatError, NetworkError, did_you_mean, message
from peerpressure.networks._edge_lists import INTEGER, parse_labels
from peerpressure.networks._validation import Label
from peerpressure.tables import TextTable, is_number, places_in

ROLES = ("time", "source", "target", "weight")
# Orders of columns without names: ours first, then those of SNAP and KONECT, which must not be mistaken for it.
ORDERS: dict[int, tuple[tuple[str, ...], ...]] = {
    3: (ROLES[:3], ("source", "target", "time")),
    4: (ROLES, ("source", "target", "time", "weight"), ("source", "target", "weight", "time")),
}
REMEDY = "write time, source, target and, if any, weight, or say what the columns are with columns=(...)"
SHARED = 0.01  # times that may also be agents, as a share of all times
EPOCH = (1e8, 1e13)  # Unix times from 1973 on, in seconds or milliseconds
MANY = 10  # lines from which on being sorted is no accident
UNCLEAR = (
    "add a heading such as time,source,target, or say what the columns are, for instance with "
    "columns = ['source', 'target', 'time']"
)
Places: TypeAlias = dict[str, int]


@dataclass(frozen=True, eq=False)
class Lines:
    """Columns of a file, with the numbers of its lines.

    ``description`` states how the file was read, and ``inferred`` whether the order of its columns is a conclusion from
    their numbers, which a user should confirm. ``dated`` is whether times were dates.
    """

    numbers: list[int]
    times: NDArray[np.float64]
    sources: list[Label]
    targets: list[Label]
    weights: NDArray[np.float64] | None
    rest: list[list[str]]
    description: str
    inferred: bool
    dated: bool

    def check(self, bad: NDArray[np.bool_], rule: str, values: Sequence[Any] | NDArray[Any], remedy: str) -> None:
        """Raise for the first bad line, if there is one."""
        if bad.any():
            k = int(np.argmax(bad))
            got = f"{values[k]:.16g}" if isinstance(values, np.ndarray) else repr(values[k])
            raise NetworkError(message(f"line {self.numbers[k]}: {rule}", got=got, remedy=remedy))


def parse_lines(table: TextTable, columns: Sequence[str] | None) -> Lines:
    """Return the columns of a table by ``columns``, by its heading, or in the only order that its contents allow."""
    # Columns that are given are checked first: their errors do not depend on the file.
    given = None if columns is None else _given_places(columns)
    table = _with_heading(table)
    if not table.rows:
        raise FileFormatError(message("a list of events must hold some", got="none", remedy=REMEDY))
    _check_widths(table, columns)
    known = given or _named_places(table)
    places, inferred = (known, False) if known else _likely_places(table)
    for row in table.rows:
        if not all(row.fields[k] for k in places.values() if k < len(row.fields)):
            raise table.malformed(row, f"{len(row.fields)} fields {row.fields[:5]}", REMEDY)
    ends = [table.column(places[role]) for role in ("source", "target")]
    label = parse_labels(name for side in ends for name in side)
    sources, targets = ([label[name] for name in side] for side in ends)
    # Columns without a role may still be attributes, such as the groups of recorded contacts.
    rest = [table.column(k) for k in range(table.width) if k not in places.values()]
    return Lines(
        table.lines,
        table.times(places["time"]),
        sources,
        targets,
        _weights(table, places),
        rest,
        table.description(places),
        inferred,
        table.has_dates(places["time"]),
    )


def _with_heading(table: TextTable) -> TextTable:
    """Return the table with its heading: the comment above it, or a first line without numbers and dates."""
    if not table.rows or table.heading is not None:
        return table
    if len(table.note) == table.width and {*ROLES[:3]} <= places_in(table.note, ROLES, letters=True).keys():
        return replace(table, heading=table.note)
    # Every line of events has a time, so a line without numbers is a heading.
    names = table.rows[0].fields
    return table if any(is_number(name) or is_date(name) for name in names) else table.headed()


def _check_widths(table: TextTable, columns: Sequence[str] | None) -> None:
    """Raise if a line has too few or too many fields; without named columns the weight may be left out."""
    named = columns is not None or table.heading is not None
    width = table.width if columns is None else len(columns)
    if not named:
        # Without names the first line decides between three and four columns.
        width = 3 if len(table.rows[0].fields) not in ORDERS else min(width, 4)
    for row in table.rows:
        if len(row.fields) != width and (named or len(row.fields) not in ORDERS):
            raise table.malformed(row, f"{len(row.fields)} fields {row.fields[:5]}", REMEDY)


def _given_places(columns: Sequence[str]) -> Places:
    known = [role for role in columns if role]
    unknown = [role for role in known if role not in ROLES]
    if unknown or len(set(known)) < len(known) or not {*ROLES[:3]} <= {*known}:
        hint = did_you_mean(unknown[0], ROLES) if unknown else ""
        rule = "columns must name time, source and target, and may name weight, each once"
        remedy = f"write '' for columns to leave out{hint}"
        raise NetworkError(message(rule, got=list(columns), remedy=remedy))
    return {role: k for k, role in enumerate(columns) if role}


def _named_places(table: TextTable) -> Places | None:
    """Return the columns by the names in the heading, or None if there is no heading."""
    if table.heading is None:
        return None
    return places_by_name(table.heading)


def places_by_name(names: Sequence[str]) -> Places:
    """Return the columns of time, source, target and weight by their names, or in our order if no name contradicts it.

    >>> places_by_name(["src", "dst", "unixtime"])
    {'source': 0, 'target': 1, 'time': 2}
    """
    places = places_in(names, (*ROLES, "end"), letters=True)
    # Contacts with individual durations would silently become instantaneous.
    if "end" in places:
        rule = "contacts must be instantaneous, or all have the same duration"
        got, remedy = f"a column {names[places['end']]!r}", "remove it, or repeat the contact at every time"
        raise FileFormatError(message(rule, got=got, remedy=remedy))
    if {*ROLES[:3]} <= places.keys():
        return places
    ordered = dict(zip(ROLES, range(len(names)), strict=False))
    if len(ordered) == len(names) >= 3 and all(ordered.get(role) == k for role, k in places.items()):
        return ordered
    rule = "columns must be named time, source and target"
    raise FileFormatError(message(rule, got=", ".join(map(repr, names[:6])), remedy=UNCLEAR))


def _likely_places(table: TextTable) -> tuple[Places, bool]:
    """Return the order of columns that their contents allow, and whether numbers were the only evidence for it.

    The evidence: only times and weights are fractions or dates, sources and targets share agents while times are rarely
    agents, most lists are sorted by time, and times may count the seconds since 1970.
    """
    orders = [dict(zip(order, range(table.width), strict=True)) for order in ORDERS[table.width]]
    own = orders[0]
    # If no order is legal, our own is assumed, and parsing reports the first line that violates it.
    legal = [order for order in orders if _is_legal(table, order)] or [own]
    if len(legal) == 1:
        return legal[0], False
    apart = [order for order in legal if _separates_times(table, order)]
    likely = apart or legal
    if own in likely:
        # Our own order is documented, so that it needs less evidence than another one.
        passed = [order for order in likely if _is_sorted(table, order)] if len(likely) > 1 else likely
        if passed == [own]:
            return own, False
    else:
        convincing = [order for order in apart if _is_convincing(table, order, own)]
        if len(convincing) == 1:
            return convincing[0], True
    got = f"{table.rows[0].fields}, which may be {' or '.join(', '.join(order) for order in legal)}"
    raise FileFormatError(message("the order of columns without names must be clear", got=got, remedy=UNCLEAR))


def _is_legal(table: TextTable, places: Places) -> bool:
    def holds_agents(k: int) -> bool:
        # Fractions and dates can be times, but no labels of agents.
        return not table.has_dates(k) and all(
            INTEGER.fullmatch(text) or not is_number(text) for text in table.column(k)
        )

    def holds_times(k: int) -> bool:
        return table.is_numeric(k) or table.has_dates(k)

    whole = all(len(row.fields) == table.width for row in table.rows)
    fits = [holds_times(places["time"])]
    if "weight" in places:
        # A weight that some lines leave out must come last.
        part = table.taken(k for k, row in enumerate(table.rows) if len(row.fields) == table.width)
        fits += [part.is_numeric(places["weight"]), whole or places["weight"] == table.width - 1]
    return all(fits) and holds_agents(places["source"]) and holds_agents(places["target"])


def _separates_times(table: TextTable, places: Places) -> bool:
    """Return whether sources and targets share agents, and hardly any time is also an agent."""
    times, sources, targets = (set(table.column(places[role])) for role in ROLES[:3])
    return not sources.isdisjoint(targets) and len(times & (sources | targets)) <= SHARED * len(times)


def _is_sorted(table: TextTable, places: Places) -> bool:
    return bool(np.all(np.diff(table.times(places["time"])) >= 0))


def _is_convincing(table: TextTable, places: Places, own: Places) -> bool:
    """Return whether times in these columns, which are apart from the agents, must be times by their values, too."""
    times, (low, high) = table.times(places["time"]), EPOCH
    ends = [table.numbers(k, "agent") for k in (places["source"], places["target"]) if table.is_numeric(k)]
    dated = low <= times.min() and times.max() < high and all(side.max() < low for side in ends)
    ours, theirs = _is_sorted(table, own), _is_sorted(table, places)
    return (dated and (theirs or not ours)) or (theirs and not ours and len(table.rows) >= MANY)


def _weights(table: TextTable, places: Places) -> NDArray[np.float64] | None:
    if "weight" not in places:
        return None
    weights = np.ones(len(table.rows))
    given = [k for k, row in enumerate(table.rows) if places["weight"] < len(row.fields)]
    weights[given] = table.taken(given).numbers(places["weight"], "weight")
    return weights
