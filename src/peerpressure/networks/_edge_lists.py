"""Lists of edges, events and contacts as text: two labels per line, a time if edges change, optionally a weight."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, NetworkError, did_you_mean
from peerpressure.networks.validation import Label, described_repeats, edge_fault
from peerpressure.support.dates import is_date
from peerpressure.support.tables import (
    ROLES as NAMES,
    UNNAMED,
    Row,
    TextTable,
    cell_text,
    is_number,
    places_in,
    plain_name,
)

ENDS = ("source", "target")
ROLES = (*ENDS, "weight")
# Integers as Python writes them: "007" stays text, because reading must not change a label.
INTEGER = re.compile(r"-?[1-9][0-9]{0,17}|0")
# As pandas writes whole numbers in a column that had a gap: 1.0 means 1.
FLOATING = re.compile(r"(-?[1-9][0-9]{0,14}|0)\.0*")
# As NumPy writes them by default: 1.200000000000000000e+01 means 12.
SCIENTIFIC = re.compile(r"(?:-?[1-9]\.[0-9]+e\+(?:0[0-9]|1[0-4])|0\.0+e\+00)")
SAMPLE = 1000  # rows of a data frame from which its columns are identified
REMEDY = "write source, target and, if any, weight, or a heading that names them"
ALONE = "give it a second agent; people without ties are named by a table of agents, a matrix or a graph"
# Columns that say whether an edge goes one way, as Gephi and others write them, and what they say.
KINDS = ("type", "directed", "isdirected", "direction")
TRUTH = {"true": True, "t": True, "1": True, "yes": True, "y": True}
TRUTH |= {"false": False, "f": False, "0": False, "no": False, "n": False}
ONE_WAY = {
    **dict.fromkeys(("directed", "oneway", "unidirectional", "asymmetric", "out", "outgoing", "->", "→", ">"), True),
    **dict.fromkeys(("undirected", "both", "twoway", "bidirectional", "mutual", "symmetric", "--", "<->", "↔"), False),
}
BACKWARDS = ("<-", "←", "<", "in", "incoming", "backward", "reverse", "reversed")
MUTUAL = ("mutual", "reciprocal", "reciprocated", "bidirectional", "undirected")  # where true says the opposite
SIGNS = ("sign", "signs", "polarity", "valence")
NUMBERED = re.compile(r"(?:node|id|name|person|agent)[12ab]")  # names of columns that agents often have as well


@dataclass(frozen=True, eq=False)
class EdgeList:
    """Edges by the labels of their ends, the table that they come from, and the columns of the ends and the weight."""

    sources: list[Label]
    targets: list[Label]
    weights: NDArray[np.float64]
    table: TextTable
    places: Mapping[str, int]

    def check(self, *, directed: bool, signed: bool) -> None:
        """Raise for the first line that breaks a rule; ``Network`` has the same rules, but names no line."""
        pairs = list(zip(self.sources, self.targets, strict=True))
        fault = edge_fault(np.array([a == b for a, b in pairs]), self.weights, signed=signed)
        if fault is not None:
            k = fault.places[0]
            got = f"{float(self.weights[k])} between {pairs[k][0]!r} and {pairs[k][1]!r}"
            raise NetworkError(f"line {self.table.rows[k].line}: {fault.rule}", got=got, remedy=fault.remedy)
        seen: dict[tuple[Label, Label], int] = {}
        for k, pair in enumerate(pairs):
            before = seen.setdefault(pair, k)
            before = before if directed else min(before, seen.get(pair[::-1], k))
            if self.weights[before] != self.weights[k]:
                raise self._conflict(before, k)
        for column in _kind_columns(self.table.heading or ()):
            texts = self.table.column(column)
            _check_directions(texts, column, self.sources, self.targets, self.table, directed=directed)

    def _conflict(self, first: int, second: int) -> NetworkError:
        rows, weights = self.table.rows, self.weights
        ends = f"{self.sources[second]!r} and {self.targets[second]!r}"
        got = f"{weights[second]} for {ends} after {weights[first]} on line {rows[first].line}"
        rule = f"line {rows[second].line}: an edge given more than once must keep one weight"
        return NetworkError(rule, got=got, remedy="keep one of them, or add them up")

    def description(self, *, directed: bool) -> str:
        """Describe how the table was read, and what was merged."""
        ends = [self.places[role] for role in ENDS]
        counts = Counter(zip(self.sources, self.targets, strict=True))
        both = 0 if directed else sum(pair[::-1] in counts for pair in counts) // 2
        notes = [
            self.table.description(self.places),
            *_without_weights(self.table, self.places),
            *_described_floats((row.fields[k] for row in self.table.rows for k in ends), self.sources[0]),
            *described_repeats([pair for pair, count in counts.items() if count > 1]),
            *merged_directions(both),
        ]
        return "; ".join(notes)


def _described_floats(texts: Iterable[str], label: Label) -> list[str]:
    first = next((text for text in texts if "." in text), None) if isinstance(label, int) else None
    return [f"labels such as {first!r} are whole numbers"] if first is not None else []


def merged_directions(count: int) -> list[str]:
    """Describe undirected edges that were given in both directions, if there are any.

    >>> merged_directions(1)
    ['1 edge given in both directions, counted once']
    """
    return [f"{count:,} edge{'s' * (count != 1)} given in both directions, counted once"] if count else []


def _without_weights(table: TextTable, places: Mapping[str, int]) -> list[str]:
    count = sum(places["weight"] >= len(row.fields) for row in table.rows) if "weight" in places else 0
    return [f"weight 1 on the {count:,} line{'s' * (count != 1)} without one"] if count else []


def parse_edges(table: TextTable, weight: str | None = "weight", *, headed: bool = True) -> EdgeList:
    """Return the edges in a table, with columns by the names in its heading or in the order of ``ROLES``.

    ``headed`` is whether the format allows a heading. ``weight`` names the column of weights, where "weight" stands for
    all usual names; None leaves weights out.
    """
    table = with_heading(table) if headed else table.unheaded()
    if not table.rows:
        remedy = "write one edge per line: source, target and, if any, weight"
        raise FileFormatError("an edge list must hold edges", got="none", remedy=remedy)
    places = edge_places(table, weight)
    _check_fields(table, places)
    ends = [table.column(places[role]) for role in ENDS]
    if table.heading is None and headed:
        _check_first_line(ends)
    label = parse_labels(text for side in ends for text in side)
    sources, targets = ([label[text] for text in side] for side in ends)
    return EdgeList(sources, targets, _weights(table, places.get("weight")), table, places)


def _check_first_line(ends: Sequence[Sequence[str]]) -> None:
    # Two words that occur nowhere else are a component of their own, or names of columns that are not known. Files that
    # were joined repeat them.
    first, *pairs = zip(*ends, strict=True)
    others = {text for pair in pairs if pair != first for text in pair}
    if others and others.isdisjoint(first) and not any(text.isnumeric() for text in first):
        got = f"{first[0]!r} and {first[1]!r}, which occur nowhere else"
        remedy = "name the columns source and target; if it is an edge, put a line with these names above it"
        raise FileFormatError("it must be clear whether line 1 is a heading", got=got, remedy=remedy)


def edges_from_frame(frame: Any, *, directed: bool) -> tuple[list[Label], list[Label], NDArray[Any] | None]:
    """Return sources, targets and weights, if any, of a data frame; columns are identified as in a file."""
    table = frame_table(frame, "an edge")
    # pandas numbers columns that have no names.
    if list(frame.columns) == list(range(table.width)) and table.width in (2, 3):
        table = replace(table, heading=None)
    if not table.rows:
        raise NetworkError("a data frame of edges must hold some", got="no rows", remedy=REMEDY)
    try:
        places = edge_places(table, remedy="rename it weight, or drop it")
    except FileFormatError as error:
        raise NetworkError(str(error)) from None
    ends = [frame.iloc[:, places[role]] for role in ENDS]
    missing = np.flatnonzero(ends[0].isna() | ends[1].isna())
    if missing.size:
        got, remedy = f"a missing end in row {missing[0] + 1}", "drop such rows, for instance with frame.dropna()"
        raise NetworkError("an edge must have two ends", got=got, remedy=remedy)
    sources, targets = (end.tolist() for end in ends)
    _check_frame_headings(frame, sources, table)
    for column in _kind_columns(table.heading or ()):
        texts = list(map(cell_text, frame.iloc[:, column]))
        _check_directions(texts, column, sources, targets, table, directed=directed)
    return sources, targets, frame.iloc[:, places["weight"]].to_numpy() if "weight" in places else None


def frame_table(frame: Any, what: str) -> TextTable:
    """Return the first rows of a data frame, which suffice to identify its columns."""
    texts = [[cell_text(value) for value in frame.iloc[:SAMPLE, k].tolist()] for k in range(frame.shape[1])]
    rows = [Row(number, list(fields)) for number, fields in enumerate(zip(*texts, strict=True), start=1)]
    return TextTable(rows, "", what, heading=tuple(map(str, frame.columns)), unit="row")


def _check_frame_headings(frame: Any, sources: Sequence[Label], table: TextTable) -> None:
    """Raise if a row of a data frame, which may be joined from several files, has the names of the columns."""
    names = set(table.heading or ())
    # Few agents have the name of a column, and only their rows are compared as a whole.
    for k in (k for k, source in enumerate(sources) if source in names):
        row = Row(k + 1, [cell_text(value) for value in frame.iloc[k].tolist()])
        if tuple(row.fields) == table.heading:
            raise NetworkError(str(table.heading_again(row)))


def parse_labels(texts: Iterable[str]) -> dict[str, Label]:
    """Return the label of each text: an integer if all texts are integers, also as floats, else the text.

    >>> parse_labels(["1", "2"]), parse_labels(["1", "b"]), parse_labels(["1.0", "2"])
    ({'1': 1, '2': 2}, {'1': '1', 'b': 'b'}, {'1.0': 1, '2': 2})
    """
    # Each distinct text is converted once, in the order of first appearance.
    distinct = dict.fromkeys(texts)
    numbers = all(map(is_whole, distinct))
    return {text: int(float(text)) if numbers and "." in text else int(text) if numbers else text for text in distinct}


def is_whole(text: str) -> bool:
    """Return whether a text is a whole number, also as a float that a program wrote.

    >>> [is_whole(text) for text in ("12", "12.0", "1.2e+01", "1.25e+01", "012")]
    [True, True, True, False, False]
    """
    if INTEGER.fullmatch(text) or FLOATING.fullmatch(text):
        return True
    return SCIENTIFIC.fullmatch(text) is not None and float(text).is_integer()


def with_heading(table: TextTable) -> TextTable:
    """Return the table with its heading, if the comment above it or its first line is one."""
    if not table.rows or table.heading is not None:
        return table
    # Lists with spaces that this package writes have the names in a comment.
    # Only a comment with as many words as the table has columns can be its heading.
    if len(table.note) == table.width and _names_ends(table.note):
        _check_one_heading(table)
        return table.under_note()
    return table.headed() if _is_heading(table) else table.unheaded()


def _check_one_heading(table: TextTable) -> None:
    """Raise if the first row below a heading in a comment is a heading itself."""
    first, *others = table.rows
    names = first.fields[:2]
    # Names of columns may be agents, too, but these mostly have several edges.
    agents = {text for row in others for text in row.fields[:2]}
    usual = [text for text in map(str.casefold, names) if not NUMBERED.fullmatch(text)]
    known = any(text in NAMES[role] for text in usual for role in NAMES)
    if known and agents.isdisjoint(names):
        rule = f"it must be clear whether line {first.line} is a heading"
        got = f"{' and '.join(map(repr, names))} below a comment with names of columns"
        raise FileFormatError(
            rule, got=got, remedy="remove the comment if it is one, and else name columns in a line of their own"
        )


def has_end_names(names: Sequence[str]) -> bool:
    """Return whether a heading names the source and the target, if only by single letters."""
    return _names_ends(names, letters=True)


def is_end_name(text: str) -> bool:
    """Return whether a text is a usual name of the column of sources or of targets."""
    return any(text.casefold() in NAMES[role] for role in ENDS)


def _names_ends(names: Sequence[str], *, letters: bool = False) -> bool:
    return {*ENDS} <= places_in(names, ROLES, letters=letters).keys()


def _is_heading(table: TextTable) -> bool:
    names, below = table.rows[0].fields, table.taken(range(1, len(table.rows)))
    ends = {text for row in below.rows for text in row.fields[:2]}
    if _names_ends(names):
        _check_numbered(names, ends)
        return True
    # A first line whose fields occur below as agents is an edge.
    if not ends or not ends.isdisjoint(names[:2]):
        return False
    # Single letters may be agents as well, unless none occurs below.
    if _names_ends(names, letters=True) and not any(set(row.fields) & set(names) for row in below.rows):
        return True
    if places_in(names, ENDS):
        rule, remedy = "a heading must name the source and the target", "name both, or neither"
        raise FileFormatError(rule, got=", ".join(map(repr, names[:6])), remedy=remedy)
    # Words above columns of numbers are a heading too.
    if all(map(is_whole, ends)):
        return not any(map(is_whole, names))
    return len(names) == 3 and below.is_numeric(2) and not is_number(names[2])


def _check_numbered(names: Sequence[str], ends: Collection[str]) -> None:
    """Raise if names such as agent1 may be those of columns or of agents."""
    both = [name for name in names if name in ends and NUMBERED.fullmatch(plain_name(name))]
    if both:
        rule, got = "it must be clear whether line 1 is a heading", f"{both[0]!r}, which is an agent below"
        raise FileFormatError(rule, got=got, remedy="name the columns source and target, in a line of their own")


def edge_places(table: TextTable, weight: str | None = "weight", remedy: str | None = None) -> dict[str, int]:
    """Return the columns; ``remedy`` replaces that for a column of numbers that may be a weight or not."""
    if table.heading is None:
        return _places_without_names(table, weight)
    # Letters count only where no words name the same.
    places = table.places(ROLES)
    if not _names_ends(table.heading):
        places = table.places(ROLES, letters=True)
    elif "weight" not in places:
        places |= table.places(("weight",), letters=True)
    if weight != "weight":
        # Explicit choices replace the defaults.
        places = {role: k for role, k in places.items() if role in ENDS}
        places |= {} if weight is None else {"weight": table.find(weight)}
    if not {*ENDS} <= places.keys():
        places = _places_in_order(table, places, weight)
    signs = [table.heading[k] for k in range(table.width) if plain_name(table.heading[k]) in SIGNS]
    if weight == "weight" and signs:
        rule = "weights must have the signs of edges themselves"
        own = "drop the column" if remedy else "leave weights out (weighted = false in a scenario)"
        raise FileFormatError(
            rule,
            got=f"a column {signs[0]!r}",
            remedy=f"write weights such as -1 and read the network as signed, or {own}",
        )
    doubtful = [] if "weight" in places else _doubtful_weights(table, places)
    if weight == "weight" and doubtful:
        rule = "a column of numbers in an edge list must be called weight if it is one"
        own = (
            f"rename it weight, name {doubtful[0]!r} as the weight, or leave weights out (weighted = false in a "
            "scenario); lists of contacts with times have a reader of their own"
        )
        raise FileFormatError(rule, got=", ".join(map(repr, doubtful)), remedy=remedy or own)
    return places


def _doubtful_weights(table: TextTable, places: Mapping[str, int]) -> list[str]:
    """Return the names of columns without a role that have numbers, if only in some rows."""
    # Gephi adds an id to every edge, which is not a weight.
    names = table.heading or ()
    rest = [k for k in range(table.width) if k not in places.values()]
    known = {*KINDS, *MUTUAL, "id"}
    return [
        names[k]
        for k in rest
        if names[k].casefold() not in UNNAMED and plain_name(names[k]) not in known and table.has_quantities(k)
    ]


def _places_without_names(table: TextTable, weight: str | None) -> dict[str, int]:
    if weight not in (None, "weight"):
        rule, remedy = f"the column of the weight {weight!r} must have its name", "add a heading, or leave weight out"
        raise FileFormatError(rule, got="no heading", remedy=remedy)
    return {role: k for k, role in enumerate(ROLES[: table.width]) if role != "weight" or weight is not None}


def _places_in_order(table: TextTable, named: Mapping[str, int], weight: str | None) -> dict[str, int]:
    """Return the ends in the order of ``ENDS``, if neither the names nor the contents leave it open."""
    own = {"weight": named["weight"]} if "weight" in named else {}
    rest = [k for k in range(table.width) if k not in own.values()]
    ordered = dict(zip(ENDS, rest, strict=False)) | own
    # Columns of whole numbers may be in any order, unless a name tells the weight; and text is no weight.
    open_order = len(rest) > 2 and (not table.is_numeric(2) or all(_is_whole(table, k) for k in rest))
    # A weight in the place of an end raises the question of what the others are, unless it was asked for.
    moved = weight == "weight" and own.get("weight", 2) != 2
    if table.width > len(ROLES) or open_order or moved or any(ordered.get(role) != k for role, k in named.items()):
        rule, remedy = "a heading must name the source and the target", "call them source and target, and weight"
        raise FileFormatError(rule, got=", ".join(map(repr, (table.heading or ())[:6])), remedy=remedy)
    return ordered


def _is_whole(table: TextTable, k: int) -> bool:
    return all(k < len(row.fields) and INTEGER.fullmatch(row.fields[k]) for row in table.rows)


def _check_fields(table: TextTable, places: Mapping[str, int]) -> None:
    if table.heading is not None:
        table.check_rows(alone=ALONE)
    for row in table.rows:
        complete = table.heading is not None or len(row.fields) in (2, 3)
        if not complete or not all(row.fields[places[role]] for role in ENDS):
            alone = table.width > 1 and sum(map(bool, row.fields)) == 1
            raise table.malformed(row, row.described(4), ALONE if alone else REMEDY)
        if table.heading is None and _is_heading_row(row):
            raise table.heading_again(row)


def _is_heading_row(row: Row) -> bool:
    """Return whether the fields name a source and a target, as a heading within joined files does."""
    first, second = (text.casefold() for text in row.fields[:2])
    # Names such as agent1 are those of agents here.
    names = any(first in NAMES[one] and second in NAMES[other] for one, other in (ENDS, ENDS[::-1]))
    return names and not any(map(NUMBERED.fullmatch, (first, second)))


def _weights(table: TextTable, column: int | None) -> NDArray[np.float64]:
    """Return the weights; a line without one has the weight 1."""
    weights = np.ones(len(table.rows))
    if column is not None:
        # Without a heading some lines may have a weight and others none.
        given = [k for k, row in enumerate(table.rows) if column < len(row.fields)]
        weights[given] = table.taken(given).numbers(column, "weight")
    return weights


def _kind_columns(names: Sequence[str]) -> list[int]:
    return [k for k, name in enumerate(names) if plain_name(name) in (*KINDS, *MUTUAL)]


def _check_directions(
    texts: Sequence[str],
    column: int,
    sources: Sequence[Label],
    targets: Sequence[Label],
    table: TextTable,
    *,
    directed: bool,
) -> None:
    """Raise if an edge is said to go one way where edges go both ways, or the reverse, and has no reverse.

    A column called type may say other things; in all others each word must be known.
    """
    # The reverse direction may come anywhere.
    name, pairs = plain_name((table.heading or ())[column]), set(zip(sources, targets, strict=True))
    said = {text: _one_way(text, name) for text in set(texts)}
    for k, (text, a, b) in enumerate(zip(texts, sources, targets, strict=True)):
        one_way = said[text]
        if one_way is None:
            if not text or (name == "type" and _direction_word(text) not in BACKWARDS):
                continue
            remedy = "write directed or undirected, and swap the ends of edges that go back"
            rule = f"{_place(table, k)}: a direction must be from the source to the target, or both"
            raise NetworkError(rule, got=repr(text), remedy=remedy)
        if one_way != directed and (b, a) not in pairs:
            remedy = "read it as directed, or set the type to Undirected if both listen to each other"
            if directed:
                remedy = "list it in both directions, or do not read it as directed"
            rule = f"{_place(table, k)}: edges must go both ways" + (" where they are undirected" if directed else "")
            raise NetworkError(rule, got=f"one from {a!r} to {b!r} only", remedy=remedy)


def _one_way(text: str, name: str) -> bool | None:
    """Return whether an edge is said to go one way, in a column of this name; None if the text says neither."""
    word = _direction_word(text)
    return TRUTH[word] != (name in MUTUAL) if word in TRUTH else ONE_WAY.get(word)


def _direction_word(text: str) -> str:
    """Return a text as it is looked up: without case and punctuation, unless it is nothing else."""
    return plain_name(text.removesuffix(".0")) or text


def _place(table: TextTable, k: int) -> str:
    return f"line {table.rows[k].line}" if table.unit == "line" else f"{table.unit} {k + 1}"


# Events and contacts: a time, two labels and optionally a weight per line

EVENT_ROLES = ("time", "source", "target", "weight")
EVENT_REMEDY = "write time, source, target and, if any, weight, or say what the columns are with columns=(...)"
UNCLEAR = (
    "add a heading such as time,source,target, or say what the columns are, for instance with "
    "columns = ['source', 'target', 'time']"
)
Places: TypeAlias = dict[str, int]


@dataclass(frozen=True, eq=False)
class Lines:
    """Columns of a file, with the numbers of its lines.

    ``read_as`` states how the file was read, and ``dated`` whether times were dates.
    """

    numbers: list[int]
    times: NDArray[np.float64]
    sources: list[Label]
    targets: list[Label]
    weights: NDArray[np.float64] | None
    rest: list[list[str]]
    read_as: str
    dated: bool

    @property
    def description(self) -> str:
        """How the file was read, and how many lines repeat others."""
        # Contacts have no direction.
        pairs = ((a, b) if a < b else (b, a) for a, b in zip(self.sources, self.targets, strict=True))  # type: ignore[operator]
        distinct = set(zip(self.times.tolist(), pairs, strict=True))
        count = len(self.numbers) - len(distinct)
        repeats = f"{count:,} line{'s repeat' if count != 1 else ' repeats'} the time and the agents of another"
        return self.read_as + (f"; {repeats}: contacts add up, events count once" if count else "")

    def check(self, bad: NDArray[np.bool_], rule: str, values: Sequence[Any] | NDArray[Any], remedy: str) -> None:
        """Raise for the first bad line, if there is one."""
        if bad.any():
            k = int(np.argmax(bad))
            got = f"{values[k]:.16g}" if isinstance(values, np.ndarray) else repr(values[k])
            raise NetworkError(f"line {self.numbers[k]}: {rule}", got=got, remedy=remedy)

    def check_edges(self, *, lasting: bool = True) -> None:
        """Raise for the first line with an agent or a weight that an edge must not have."""
        loops = np.array([a == b for a, b in zip(self.sources, self.targets, strict=True)])
        weights = np.ones(len(self.numbers)) if self.weights is None else self.weights
        fault = edge_fault(loops, weights, lasting=lasting)
        if fault is not None:
            k = fault.places[0]
            got = f"{weights[k]:.16g} between {self.sources[k]!r} and {self.targets[k]!r}"
            raise NetworkError(f"line {self.numbers[k]}: {fault.rule}", got=got, remedy=fault.remedy)


def parse_lines(table: TextTable, columns: Sequence[str] | None) -> Lines:
    """Return the columns of a table by ``columns`` or by its heading."""
    # Columns that are given are checked first: their errors do not depend on the file.
    given = None if columns is None else _given_places(columns)
    table = _with_event_heading(table)
    if not table.rows:
        raise FileFormatError("a list of events must hold some", got="none", remedy=EVENT_REMEDY)
    places = given or _named_places(table)
    _check_widths(table, columns)
    if given is None and table.heading is not None:
        check_event_weights(table, places)
    for row in table.rows:
        # Most lines have no empty field at all, which is found fast.
        if not all(row.fields) and not all(row.fields[k] for k in places.values() if k < len(row.fields)):
            raise table.malformed(row, row.described(), EVENT_REMEDY)
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
        _weights(table, places["weight"]) if "weight" in places else None,
        rest,
        table.description(places),
        table.has_dates(places["time"]),
    )


def check_event_weights(table: TextTable, places: Places) -> None:
    """Raise if there are no weights, and a column without a role has numbers, which may be some."""
    doubtful = [] if "weight" in places else _doubtful_weights(table, places)
    if doubtful:
        rule = "a column of numbers in a list of events must be called weight if it is one"
        roles = {k: role for role, k in places.items()}
        columns = [roles.get(k, "") for k in range(table.width)]
        # Only files are read with columns of one's own.
        own = "" if table.unit == "row" else f", or say what the columns are, here with columns = {columns}"
        remedy = f"rename it weight if it is one, and else remove it{own}"
        raise FileFormatError(rule, got=", ".join(map(repr, doubtful)), remedy=remedy)


def _with_event_heading(table: TextTable) -> TextTable:
    """Return the table with its heading: the comment above it, or a first line without numbers and dates."""
    if not table.rows or table.heading is not None:
        return table
    if len(table.note) == table.width and {*EVENT_ROLES[:3]} <= places_in(table.note, EVENT_ROLES, letters=True).keys():
        return table.under_note()
    # Every line of events has a time, so a line without numbers is a heading.
    names = table.rows[0].fields
    return table.unheaded() if any(is_number(name) or is_date(name) for name in names) else table.headed()


def _check_widths(table: TextTable, columns: Sequence[str] | None) -> None:
    """Raise if a line has too few or too many fields."""
    width = table.width if columns is None else len(columns)
    if table.heading is not None:
        table.check_headings()
    for row in table.rows:
        if len(row.fields) != width:
            raise table.malformed(row, row.described(), EVENT_REMEDY)


def _given_places(columns: Sequence[str]) -> Places:
    known = [role for role in columns if role]
    unknown = [role for role in known if role not in EVENT_ROLES]
    if unknown or len(set(known)) < len(known) or not {*EVENT_ROLES[:3]} <= {*known}:
        hint = did_you_mean(unknown[0], EVENT_ROLES) if unknown else ""
        rule = "columns must name time, source and target, and may name weight, each once"
        remedy = f"write '' for columns to leave out{hint}"
        raise NetworkError(rule, got=list(columns), remedy=remedy)
    return {role: k for k, role in enumerate(columns) if role}


def _named_places(table: TextTable) -> Places:
    """Return the columns by the names in the heading."""
    if table.heading is None:
        raise FileFormatError(
            "the order of columns without names must be clear", got=table.rows[0].described(4), remedy=UNCLEAR
        )
    return places_by_name(table.heading)


def places_by_name(names: Sequence[str]) -> Places:
    """Return the columns of time, source, target and weight by their names, or in our order if no name contradicts it.

    >>> places_by_name(["src", "dst", "unixtime"])
    {'source': 0, 'target': 1, 'time': 2}
    """
    places = places_in(names, (*EVENT_ROLES, "end"), letters=True)
    # Contacts with individual durations would silently become instantaneous.
    if "end" in places:
        rule = "contacts must be instantaneous, or all have the same duration"
        got, remedy = f"a column {names[places['end']]!r}", "remove it, or repeat the contact at every time"
        raise FileFormatError(rule, got=got, remedy=remedy)
    if {*EVENT_ROLES[:3]} <= places.keys():
        return places
    ordered = dict(zip(EVENT_ROLES, range(len(names)), strict=False))
    if len(ordered) == len(names) >= 3 and all(ordered.get(role) == k for role, k in places.items()):
        if "weight" in ordered and "weight" not in places:
            rule = "the fourth column of events must be called weight if it is one"
            remedy = (
                "rename it, or say what the columns are, for instance with columns = ['time', 'source', 'target', '']"
            )
            raise FileFormatError(rule, got=repr(names[3]), remedy=remedy)
        return ordered
    rule = "columns must be named time, source and target"
    raise FileFormatError(rule, got=", ".join(map(repr, names[:6])), remedy=UNCLEAR)
