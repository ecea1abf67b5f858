"""Events and contacts as text: one to a line, a time, two labels and perhaps a weight."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO, StringIO
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, NetworkError, message
from peerpressure.files import replacing
from peerpressure.networks._readers import WHOLE, labels_of, suffix_of
from peerpressure.networks._temporal import TemporalNetwork
from peerpressure.networks._validation import Label, few, nearest, refusal, unknown
from peerpressure.tables import Table, is_number, naming, places_in, read_table

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
            raise NetworkError(message(f"line {self.numbers[k]}: {rule}", got=got, remedy=remedy))


def lines_of(table: Table, columns: Sequence[str] | None) -> Lines:
    """Return the columns of a table: as ``columns`` or the heading names them, or in an order that leaves no doubt."""
    given = None if columns is None else _given_places(columns)
    table = _with_heading(table)
    if not table.rows:
        raise FileFormatError(message("a list of events must hold some", got="none", remedy=REMEDY))
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
        raise NetworkError(message(rule, got=list(columns), remedy=remedy))
    return {role: k for k, role in enumerate(columns) if role}


def _named_places(table: Table) -> Places | None:
    """Return the columns by the names in the heading; None where it has none of them."""
    if table.heading is None:
        return None
    places = table.places((*ROLES, "end"), letters=True)
    if "end" in places:
        rule = "contacts must be moments, or all last as long as duration says"
        got, remedy = f"a column {table.heading[places['end']]!r}", "remove it, or repeat the contact at every time"
        raise FileFormatError(message(rule, got=got, remedy=remedy))
    if {*ROLES[:3]} <= places.keys():
        return places
    # Names that are not known may stand over columns in our order, as long as none of the others contradicts that.
    ordered = dict(zip(ROLES, range(table.width), strict=False))
    if len(ordered) == table.width >= 3 and all(ordered.get(role) == k for role, k in places.items()):
        return ordered
    rule = "columns must be named time, source and target"
    raise FileFormatError(message(rule, got=", ".join(map(repr, table.heading[:6])), remedy=UNCLEAR))


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
    raise FileFormatError(message("the order of columns without names must be clear", got=got, remedy=UNCLEAR))


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


# Networks that change from files; nothing in a file can run code or raise an unfamiliar error.

# How the fields of a line are kept apart when it is written; a reader looks for itself.
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
    """Read a network from the list of its changes: step, source, target and, if any, weight, where 0 ends an edge.

    Text is told by its suffix, to which ``.gz`` may be added.  Columns are taken by the names in the heading; without
    one they stand in the order above, and a file that might have another order is refused.  ``columns`` says what they
    hold in any case, such as ("source", "target", "", "time").  The lines must stand in the order of their steps.
    ``labels`` lists all agents where some may have no line.  An ``.npz`` file is what ``write_events`` writes.
    """
    file = Path(path)
    suffix = suffix_of(file, FORMATS, packed=True)
    with naming(file, "a network file"):
        if suffix == ARCHIVE:
            _refuse_options(columns=columns, labels=labels, period=period)
            return TemporalNetwork.from_arrays(_arrays(file))
        lines = read_lines(file, columns)
        _refuse_steps(lines)
        weights = np.ones(len(lines.numbers)) if lines.weights is None else lines.weights
        remedy = "use weights above 0, and 0 to end an edge"
        lines.refuse(~(weights >= 0) | np.isinf(weights), "a weight must be finite and not negative", weights, remedy)
        rows = (lines.times.astype(np.int64), lines.sources, lines.targets, weights)
        return TemporalNetwork.from_events(rows, labels=_known(lines, labels), period=period)


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
    """Read a network from a list of contacts: time stamp, source, target and, if any, weight, in any order.

    See ``read_events`` for the files and ``TemporalNetwork.from_contacts`` for what becomes of the time stamps.
    """
    file = Path(path)
    suffix_of(file, SEPARATORS, packed=True)
    with naming(file, "a network file"):
        lines = read_lines(file, columns)
        lines.refuse(~np.isfinite(lines.times), "a time stamp must be finite", lines.times, "remove the line")
        if lines.weights is not None:
            bad = ~(lines.weights > 0) | np.isinf(lines.weights)
            lines.refuse(bad, "a contact's weight must be finite and positive", lines.weights, "remove the line")
        return TemporalNetwork.from_contacts(
            (lines.times, lines.sources, lines.targets, *([] if lines.weights is None else [lines.weights])),
            resolution,
            origin=origin,
            duration=duration,
            weighted=weighted,
            skip_quiet=skip_quiet,
            labels=_known(lines, labels),
            period=period,
            repeat=repeat,
        )


def read_lines(file: Path, columns: Sequence[str] | None) -> Lines:
    """Return the lines of a text file, in which no agent may meet itself."""
    lines = lines_of(read_table(file, "an event"), columns)
    loops = np.array([source == target for source, target in zip(lines.sources, lines.targets, strict=True)])
    lines.refuse(loops, "an agent must not be its own neighbour", lines.sources, "remove the line")
    return lines


def described_events(path: str | PathLike[str], columns: Sequence[str] | None = None) -> str | None:
    """Say how a file of events or contacts is read; None where the format leaves nothing to find out."""
    file = Path(path)
    return None if suffix_of(file, FORMATS, packed=True) == ARCHIVE else read_lines(file, columns).found


def _refuse_steps(lines: Lines) -> None:
    times = lines.times
    remedy = "count steps from 1; for real time stamps use read_contacts"
    # Beyond 2⁵³ a double no longer tells one whole number from the next.
    whole = (np.abs(times) < 2**53) & (times == np.floor(times))
    lines.refuse(~whole, "a step must be a whole number", times, remedy)
    lines.refuse(times < 1, "a step must be 1 or more", times, remedy)
    back = np.flatnonzero(times[1:] < times[:-1]) + 1
    if back.size:
        k = int(back[0])
        rule = f"line {lines.numbers[k]}: events must come in the order of their steps"
        got = f"step {times[k]:g} after {times[k - 1]:g}"
        raise NetworkError(message(rule, got=got, remedy="sort the lines by time"))


def _known(lines: Lines, labels: Iterable[Label] | None) -> list[Label] | None:
    """Return the labels that the caller listed, all lines being of agents among them."""
    if labels is None:
        return None
    names = list(labels)
    here = set(names)
    for number, *ends in zip(lines.numbers, lines.sources, lines.targets, strict=True):
        strange = [end for end in ends if end not in here]
        if strange:
            raise NetworkError(f"line {number}: {unknown(strange, names)}")
    return names


def _refuse_options(**options: object) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        rule = f"an {ARCHIVE} file tells its own columns, labels and period"
        raise refusal(rule, got=", ".join(given), remedy="leave them out")


def _arrays(file: Path) -> dict[str, NDArray[Any]]:
    import psutil

    with ZipFile(file) as archive:
        swollen = sum(member.file_size for member in archive.infolist())
    if swollen > psutil.virtual_memory().available:
        remedy = "use a larger machine"
        raise FileFormatError(message("a network must fit into memory", got=f"{swollen} bytes", remedy=remedy))
    with np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


# Networks that change to files; a file appears whole or not at all.


def write_events(temporal: TemporalNetwork, path: str | PathLike[str]) -> None:
    """Write a network to a file that ``read_events`` reads back, told by the suffix.

    Text keeps the labels but not the order of the agents; only ``.npz`` keeps labels of every kind, agents who never
    meet anybody, and a period.  What a format cannot hold is refused, not dropped.
    """
    file = Path(path)
    suffix = suffix_of(file, FORMATS)
    try:
        content = _packed(temporal) if suffix == ARCHIVE else _listed(temporal, SEPARATORS[suffix])
    except NetworkError as error:
        raise NetworkError(f"{file}: {error}") from None
    with replacing(file) as stream:
        stream.write(content)


def _packed(temporal: TemporalNetwork) -> bytes:
    content = BytesIO()
    np.savez_compressed(content, allow_pickle=False, **temporal.arrays())
    return content.getvalue()


def _listed(temporal: TemporalNetwork, separator: str) -> bytes:
    _refuse_unlisted(temporal)
    _refuse_labels(temporal.labels, separator)
    text = StringIO()
    table = csv.writer(text, delimiter=separator, lineterminator="\n")
    table.writerow(ROLES if separator != " " else ["#", *ROLES])
    ends = ([temporal.labels[k] for k in side.tolist()] for side in (temporal.sources, temporal.targets))
    table.writerows(zip(temporal.event_times.tolist(), *ends, temporal.weights.tolist(), strict=True))
    return text.getvalue().encode()


def _refuse_unlisted(temporal: TemporalNetwork) -> None:
    if temporal.period is not None:
        got, remedy = f"period {temporal.period}", "write .npz instead"
        raise refusal("a list of events holds no period", got=got, remedy=remedy)
    alone = np.flatnonzero(temporal.aggregate.degrees == 0).tolist()
    if alone:
        got = few((repr(temporal.labels[k]) for k in alone), len(alone))
        raise refusal("a list of events holds only agents who meet somebody", got=got, remedy="write .npz instead")


def _refuse_labels(labels: Sequence[Label], separator: str) -> None:
    """Raise unless reading the labels as text gives them back: all whole numbers, or all plain text."""
    read = labels_of(str(label) for label in labels)
    kept = [type(label) is type(read[str(label)]) and label == read[str(label)] for label in labels]
    bad = [label for label, same in zip(labels, kept, strict=True) if not same or not _fits(str(label), separator)]
    if bad:
        got, remedy = few(map(repr, bad), len(bad)), "write .npz, which keeps every label"
        raise refusal("text holds labels that all are whole numbers or plain text", got=got, remedy=remedy)


def _fits(text: str, separator: str) -> bool:
    clean = bool(text) and text.isprintable() and text == text.strip()
    return clean and (separator != " " or not any(c in ',;"' or c.isspace() for c in text))
