"""Reading temporal networks from lists of events or contacts: a time, two labels and optionally a weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, NetworkError, did_you_mean, message
from peerpressure.networks._edge_lists import INTEGER, parse_labels
from peerpressure.networks._readers import check_archive, file_suffix
from peerpressure.networks._temporal import TemporalNetwork
from peerpressure.networks._validation import Label, network_error, unknown_labels
from peerpressure.tables import TextTable, is_number, naming, places_in, read_table

ROLES = ("time", "source", "target", "weight")
# Orders of columns without names: ours first, and those of other collections, which must not be mistaken for it.
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
    """Columns of a file, with the numbers of its lines; ``description`` states how the file was read."""

    numbers: list[int]
    times: NDArray[np.float64]
    sources: list[Label]
    targets: list[Label]
    weights: NDArray[np.float64] | None
    rest: list[list[str]]
    description: str

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
    places = given or _named_places(table) or _likely_places(table)
    for row in table.rows:
        if not all(row.fields[k] for k in places.values() if k < len(row.fields)):
            raise table.malformed(row, f"{len(row.fields)} fields {row.fields[:5]}", REMEDY)
    ends = [table.column(places[role]) for role in ("source", "target")]
    label = parse_labels(name for side in ends for name in side)
    sources, targets = ([label[name] for name in side] for side in ends)
    # Columns without a role may still be attributes, such as the groups of recorded contacts.
    rest = [table.column(k) for k in range(table.width) if k not in places.values()]
    times = table.numbers(places["time"], "time")
    return Lines(table.lines, times, sources, targets, _weights(table, places), rest, table.description(places))


def _with_heading(table: TextTable) -> TextTable:
    """Return the table with its heading: the comment above it, or a first line without numbers."""
    if not table.rows:
        return table
    if len(table.note) == table.width and {*ROLES[:3]} <= places_in(table.note, ROLES, letters=True).keys():
        return replace(table, heading=table.note)
    # Every line of events has a time, so a line without numbers is a heading.
    names = table.rows[0].fields
    return table if any(map(is_number, names)) else table.headed()


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
    places = table.places((*ROLES, "end"), letters=True)
    # Contacts with individual durations would silently become instantaneous.
    if "end" in places:
        rule = "contacts must be instantaneous, or all have the same duration"
        got, remedy = f"a column {table.heading[places['end']]!r}", "remove it, or repeat the contact at every time"
        raise FileFormatError(message(rule, got=got, remedy=remedy))
    if {*ROLES[:3]} <= places.keys():
        return places
    # Unknown names are accepted above columns in our order, unless a known name contradicts it.
    ordered = dict(zip(ROLES, range(table.width), strict=False))
    if len(ordered) == table.width >= 3 and all(ordered.get(role) == k for role, k in places.items()):
        return ordered
    rule = "columns must be named time, source and target"
    raise FileFormatError(message(rule, got=", ".join(map(repr, table.heading[:6])), remedy=UNCLEAR))


def _likely_places(table: TextTable) -> Places:
    """Return the only order of columns that their contents allow; if agents are numbers, it must be our own.

    The evidence: only times and weights are fractions, sources and targets share agents while times are rarely agents,
    and most lists are sorted by time.
    """
    orders = [dict(zip(order, range(table.width), strict=True)) for order in ORDERS[table.width]]
    # If no order is legal, our own is assumed, and parsing reports the first line that violates it.
    legal = [order for order in orders if _is_legal(table, order)] or orders[:1]
    if len(legal) == 1:
        return legal[0]
    # Evidence may confirm our own order, but never another one: that would be a guess.
    for test in (_separates_times, _is_sorted):
        passed = [order for order in legal if test(table, order)]
        if passed == orders[:1]:
            return orders[0]
        if passed and orders[0] not in passed:
            break
    got = f"{table.rows[0].fields}, which may be {' or '.join(', '.join(order) for order in legal)}"
    raise FileFormatError(message("the order of columns without names must be clear", got=got, remedy=UNCLEAR))


def _is_legal(table: TextTable, places: Places) -> bool:
    def holds_agents(k: int) -> bool:
        # Fractions can be times and weights, but no labels of agents.
        return all(INTEGER.fullmatch(text) or not is_number(text) for text in table.column(k))

    whole = all(len(row.fields) == table.width for row in table.rows)
    numbers = [table.is_numeric(places[role]) for role in ("time", "weight") if role in places and whole]
    if not whole and "weight" in places:
        # A weight that some lines leave out must come last.
        part = table.taken(k for k, row in enumerate(table.rows) if len(row.fields) == table.width)
        numbers = [places["weight"] == table.width - 1, table.is_numeric(places["time"])]
        numbers.append(part.is_numeric(places["weight"]))
    return all(numbers) and holds_agents(places["source"]) and holds_agents(places["target"])


def _separates_times(table: TextTable, places: Places) -> bool:
    """Return whether sources and targets share agents, and no agent is also a time."""
    times, sources, targets = (set(table.column(places[role])) for role in ROLES[:3])
    return not sources.isdisjoint(targets) and times.isdisjoint(sources | targets)


def _is_sorted(table: TextTable, places: Places) -> bool:
    return bool(np.all(np.diff(table.numbers(places["time"], "time")) >= 0))


def _weights(table: TextTable, places: Places) -> NDArray[np.float64] | None:
    if "weight" not in places:
        return None
    weights = np.ones(len(table.rows))
    given = [k for k, row in enumerate(table.rows) if places["weight"] < len(row.fields)]
    weights[given] = table.taken(given).numbers(places["weight"], "weight")
    return weights


# Files

# Separators with which text is written; reading detects them.
SEPARATORS: Mapping[str, str] = MappingProxyType({".csv": ",", ".tsv": "\t", ".txt": " ", ".dat": " "})
ARCHIVE = ".npz"
FORMATS: Mapping[str, None] = MappingProxyType(dict.fromkeys([*SEPARATORS, ARCHIVE]))


def read_events(
    path: str | PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    labels: Iterable[Label] | None = None,
    period: int | None = None,
) -> TemporalNetwork:
    r"""Read a temporal network from a list of events: step, source, target and optionally weight.

    Parameters
    ----------
    path : str or path-like
        Text (``.csv``, ``.tsv``, ``.txt``, ``.dat``, each also with ``.gz``) with lines in the order of their steps,
        where the weight 0 removes an edge; or an ``.npz`` file from `write_events`.
    columns : sequence of str, optional
        What the columns hold, such as ("source", "target", "", "time"), where "" is a column to ignore.  By default
        columns are identified by the names in the heading; without one they must be in the order above, and a file
        that could have another order is rejected.
    labels : iterable of hashable, optional
        All agents, if some may have no line.
    period : int, optional
        Number of steps after which the sequence repeats.

    Returns
    -------
    TemporalNetwork
        Labels that are all integers become numbers.

    Raises
    ------
    FileFormatError
        If the file is missing, damaged, ambiguous or of an unknown format.
    NetworkError
        If the events are not valid; the message names the line.

    See Also
    --------
    read_contacts : Read contacts with real time stamps.
    write_events : Write a temporal network.
    TemporalNetwork.from_events : The same from data in memory.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "events.csv")
    ...     _ = file.write_text("time,source,target,weight\n1,ann,bob,1\n3,ann,bob,0\n", encoding="utf-8")
    ...     read_events(file)
    TemporalNetwork(2 agents, 1 pair, 1 change over 1…3, on average 0.6667 edges)
    """
    file = Path(path)
    suffix = file_suffix(file, FORMATS, compressed=True)
    with naming(file, "a network file"):
        # An archive stores labels and period itself.
        if suffix == ARCHIVE:
            _check_options(columns=columns, labels=labels, period=period)
            return TemporalNetwork.from_arrays(_arrays(file))
        lines = read_lines(file, columns)
        _check_steps(lines)
        weights = np.ones(len(lines.numbers)) if lines.weights is None else lines.weights
        remedy = "use weights above 0, and 0 to end an edge"
        lines.check(~(weights >= 0) | np.isinf(weights), "a weight must be finite and not negative", weights, remedy)
        rows = (lines.times.astype(np.int64), lines.sources, lines.targets, weights)
        return TemporalNetwork.from_events(rows, labels=_listed_labels(lines, labels), period=period)


def read_contacts(
    path: str | PathLike[str],
    resolution: float = 1.0,
    *,
    columns: Sequence[str] | None = None,
    labels: Iterable[Label] | None = None,
    origin: float | None = None,
    duration: float | None = None,
    weighted: bool = True,
    skip_quiet: int | None = None,
    period: int | None = None,
    repeat: bool = False,
) -> TemporalNetwork:
    r"""Read a temporal network from a list of contacts: time stamp, source, target and optionally weight.

    Parameters
    ----------
    path : str or path-like
        Text (``.csv``, ``.tsv``, ``.txt``, ``.dat``, each also with ``.gz``) with lines in any order.
    resolution : float, default 1.0
        Length of a step in the units of the time stamps.
    columns, labels
        As in `read_events`.
    origin, duration, weighted, skip_quiet, period, repeat
        As in `TemporalNetwork.from_contacts`.

    Returns
    -------
    TemporalNetwork
        Labels that are all integers become numbers.

    Raises
    ------
    FileFormatError
        If the file is missing, damaged, ambiguous or of an unknown format.
    NetworkError
        If the contacts are not valid; the message names the line.

    See Also
    --------
    read_events : Read changes at integer steps.
    recorded_contacts : Recorded contacts of real people.
    TemporalNetwork.from_contacts : The same from data in memory.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "contacts.csv")
    ...     _ = file.write_text("time,source,target\n0,ann,bob\n20,ann,bob\n70,bob,cat\n", encoding="utf-8")
    ...     read_contacts(file, resolution=60)
    TemporalNetwork(3 agents, 2 pairs, 3 changes over 1…3, on average 0.6667 edges)
    """
    file = Path(path)
    file_suffix(file, SEPARATORS, compressed=True)
    with naming(file, "a network file"):
        lines = read_lines(file, columns)
        lines.check(~np.isfinite(lines.times), "a time stamp must be finite", lines.times, "remove the line")
        if lines.weights is not None:
            bad = ~(lines.weights > 0) | np.isinf(lines.weights)
            lines.check(bad, "a contact's weight must be finite and positive", lines.weights, "remove the line")
        return TemporalNetwork.from_contacts(
            (lines.times, lines.sources, lines.targets, *([] if lines.weights is None else [lines.weights])),
            resolution,
            origin=origin,
            duration=duration,
            weighted=weighted,
            skip_quiet=skip_quiet,
            labels=_listed_labels(lines, labels),
            period=period,
            repeat=repeat,
        )


def read_lines(file: Path, columns: Sequence[str] | None) -> Lines:
    """Return the lines of a text file; a line must not link an agent with itself."""
    lines = parse_lines(read_table(file, "an event"), columns)
    loops = np.array([source == target for source, target in zip(lines.sources, lines.targets, strict=True)])
    lines.check(loops, "an agent must not be its own neighbour", lines.sources, "remove the line")
    return lines


def describe_events_file(path: str | PathLike[str], columns: Sequence[str] | None = None) -> str | None:
    r"""Describe how `read_events` and `read_contacts` read a file: separator, decimal sign and columns.

    Parameters
    ----------
    path : str or path-like
        The file.
    columns : sequence of str, optional
        As in `read_events`.

    Returns
    -------
    str or None
        None for formats in which nothing has to be detected.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "events.csv")
    ...     _ = file.write_text("time,source,target\n1,ann,bob\n", encoding="utf-8")
    ...     describe_events_file(file)
    "separated by commas, time from 'time', source from 'source', target from 'target'"
    """
    file = Path(path)
    return None if file_suffix(file, FORMATS, compressed=True) == ARCHIVE else read_lines(file, columns).description


def _check_steps(lines: Lines) -> None:
    times = lines.times
    remedy = "count steps from 1; for real time stamps use read_contacts"
    # Beyond 2⁵³ floats no longer represent every integer.
    whole = (np.abs(times) < 2**53) & (times == np.floor(times))
    lines.check(~whole, "a step must be a whole number", times, remedy)
    lines.check(times < 1, "a step must be 1 or more", times, remedy)
    back = np.flatnonzero(times[1:] < times[:-1]) + 1
    if back.size:
        k = int(back[0])
        rule = f"line {lines.numbers[k]}: events must come in the order of their steps"
        got = f"step {times[k]:g} after {times[k - 1]:g}"
        raise NetworkError(message(rule, got=got, remedy="sort the lines by time"))


def _listed_labels(lines: Lines, labels: Iterable[Label] | None) -> list[Label] | None:
    """Return the labels that the caller listed; every line must be of agents among them."""
    if labels is None:
        return None
    names = list(labels)
    # Membership is asked twice per line.
    here = set(names)
    for number, *ends in zip(lines.numbers, lines.sources, lines.targets, strict=True):
        unknown = [end for end in ends if end not in here]
        if unknown:
            raise NetworkError(f"line {number}: {unknown_labels(unknown, names)}")
    return names


def _check_options(**options: object) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        rule = f"an {ARCHIVE} file tells its own columns, labels and period"
        raise network_error(rule, got=", ".join(given), remedy="leave them out")


def _arrays(file: Path) -> dict[str, NDArray[Any]]:
    check_archive(file)
    with np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
