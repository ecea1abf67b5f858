"""Lists of edges, events and contacts as text: two labels per line, a time if edges change, optionally a weight."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, NetworkError, did_you_mean
from peerpressure.networks.validation import Label, described_repeats, edge_fault
from peerpressure.support.dates import is_date
from peerpressure.support.table_files import frame_table
from peerpressure.support.tables import (
    INTEGER,
    ROLES as NAMES,
    UNNAMED,
    Column,
    Row,
    TextTable,
    is_number,
    places_in,
    plain_name,
)

Ints = NDArray[np.int64]
ENDS = ("source", "target")
ROLES = (*ENDS, "weight")
# As pandas writes whole numbers in a column that had a gap: 1.0 means 1.
FLOATING = re.compile(r"(-?[1-9][0-9]{0,14}|0)\.0*")
# As NumPy writes them by default: 1.200000000000000000e+01 means 12.
SCIENTIFIC = re.compile(r"(?:-?[1-9]\.[0-9]+e\+(?:0[0-9]|1[0-4])|0\.0+e\+00)")
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
    """Edges by the positions of their ends, labels of agents, and the table, with the columns of ends and weight."""

    sources: NDArray[Any]
    targets: NDArray[Any]
    weights: NDArray[np.float64] | None
    labels: Sequence[Label]
    table: TextTable
    places: Mapping[str, int]

    def check(self, *, directed: bool, signed: bool) -> None:
        """Raise for the first line that breaks a rule; ``Network`` has the same rules, but names no line."""
        weights = np.ones(len(self.sources)) if self.weights is None else self.weights
        fault = edge_fault(self.sources == self.targets, weights, signed=signed)
        if fault is not None:
            k = fault.places[0]
            got = f"{float(weights[k])} between {' and '.join(self._ends(k))}"
            raise NetworkError(f"line {self.table.lines[k]}: {fault.rule}", got=got, remedy=fault.remedy)
        first = self._first_of_pair(directed=directed)
        clash = weights[first] != weights
        if clash.any():
            k = int(np.argmax(clash))
            lines = self.table.lines
            got = f"{weights[k]} for {' and '.join(self._ends(k))} after {weights[first[k]]} on line {lines[first[k]]}"
            rule = f"line {lines[k]}: an edge given more than once must keep one weight"
            raise NetworkError(rule, got=got, remedy="keep one of them, or add them up")

    def _ends(self, k: int) -> list[str]:
        return [repr(self.labels[side[k]]) for side in (self.sources, self.targets)]

    def _pairs(self, *, directed: bool) -> NDArray[np.int64]:
        """Return a number for the pair of each edge, which is that of its reverse unless edges are directed."""
        i, j = self.sources.astype(np.int64), self.targets.astype(np.int64)
        return i * len(self.labels) + j if directed else np.minimum(i, j) * len(self.labels) + np.maximum(i, j)

    def _first_of_pair(self, *, directed: bool) -> NDArray[np.int64]:
        _, firsts, places = np.unique(self._pairs(directed=directed), return_index=True, return_inverse=True)
        return np.asarray(firsts[places])

    def check_directions(self, *, directed: bool) -> None:
        """Raise if an edge is said to go one way where edges go both ways, or the reverse, and has no reverse.

        A column called type may say other things; in all others each word must be known.
        """
        for column in _kind_columns(self.table.heading or ()):
            _check_directions(self, self.table.columns[column], column, directed=directed)

    def description(self, *, directed: bool) -> str:
        """Describe how the table was read, and what was merged."""
        n = len(self.labels)
        distinct, first, counts = np.unique(self._pairs(directed=True), return_index=True, return_counts=True)
        repeated = distinct[counts > 1][np.argsort(first[counts > 1])]
        pairs = [(self.labels[k // n], self.labels[k % n]) for k in repeated.tolist()]
        both = 0 if directed else int(np.isin(distinct % n * n + distinct // n, distinct).sum()) // 2
        notes = [
            self.table.description(self.places),
            *_without_weights(self.table, self.places),
            *(self._described_floats() if isinstance(self.labels[0], int) else []),
            *described_repeats(pairs),
            *merged_directions(both),
        ]
        return "; ".join(notes)

    def _described_floats(self) -> list[str]:
        columns = [self.table.columns[self.places[role]] for role in ENDS]
        # The first in the order of the lines, and of the ends as they are called.
        found = [
            (int(np.argmax(where)), k)
            for k, column in enumerate(columns)
            if not column.is_whole and (where := column.where(lambda text: "." in text)).any()
        ]
        return [f"labels such as {columns[k].text(row)!r} are whole numbers" for row, k in sorted(found)[:1]]


def merged_directions(count: int) -> list[str]:
    """Describe undirected edges that were given in both directions, if there are any.

    >>> merged_directions(1)
    ['1 edge given in both directions, counted once']
    """
    return [f"{count:,} edge{'s' * (count != 1)} given in both directions, counted once"] if count else []


def _without_weights(table: TextTable, places: Mapping[str, int]) -> list[str]:
    count = int((table.columns[places["weight"]].codes < 0).sum()) if _has_gaps(table, places.get("weight")) else 0
    return [f"weight 1 on the {count:,} line{'s' * (count != 1)} without one"] if count else []


def _has_gaps(table: TextTable, column: int | None) -> bool:
    return column is not None and not table.columns[column].is_complete


def parse_edges(table: TextTable, weight: str | None = "weight", *, headed: bool = True) -> EdgeList:
    """Return the edges in a table, with columns by the names in its heading or in the order of ``ROLES``.

    ``headed`` is whether the format allows a heading. ``weight`` names the column of weights, where "weight" stands for
    all usual names; None leaves weights out.
    """
    table = with_heading(table) if headed else table.unheaded()
    if not len(table):
        remedy = "write one edge per line: source, target and, if any, weight"
        raise FileFormatError("an edge list must hold edges", got="none", remedy=remedy)
    places = edge_places(table, weight)
    _check_fields(table, places)
    sources, targets, labels = positions(table.columns[places["source"]], table.columns[places["target"]])
    if table.heading is None and headed:
        _check_first_line(table, sources, targets)
    return EdgeList(sources, targets, _weights(table, places.get("weight")), labels, table, places)


def _check_first_line(table: TextTable, sources: NDArray[Any], targets: NDArray[Any]) -> None:
    # Two words that occur nowhere else are a component of their own, or names of columns that are not known. Files that
    # were joined repeat them.
    names = table.row(0).fields[:2]
    if any(text.isnumeric() for text in names):
        return
    first = (sources[0], targets[0])
    other = (sources != first[0]) | (targets != first[1])
    if other.any() and not np.isin(sources[other], first).any() and not np.isin(targets[other], first).any():
        got = f"{names[0]!r} and {names[1]!r}, which occur nowhere else"
        remedy = "name the columns source and target; if it is an edge, put a line with these names above it"
        raise FileFormatError("it must be clear whether line 1 is a heading", got=got, remedy=remedy)


def edges_from_frame(frame: Any, *, directed: bool) -> tuple[list[Label], list[Label], NDArray[Any] | None]:
    """Return sources, targets and weights, if any, of a data frame; columns are identified as in a file."""
    table = frame_table(frame, "an edge")
    # pandas numbers columns that have no names.
    if list(frame.columns) == list(range(table.width)) and table.width in (2, 3):
        table = replace(table, heading=None)
    if not len(table):
        raise NetworkError("a data frame of edges must hold some", got="no rows", remedy=REMEDY)
    try:
        places = edge_places(table, remedy="rename it weight, or drop it")
        if not {*ENDS} <= places.keys():
            rule, got = "a data frame of edges must have two columns or more", ", ".join(map(repr, frame.columns))
            raise NetworkError(rule, got=got or "none", remedy=REMEDY)
        ends = [frame.iloc[:, places[role]] for role in ENDS]
        missing = np.flatnonzero(ends[0].isna() | ends[1].isna())
        if missing.size:
            got, remedy = f"a missing end in row {missing[0] + 1}", "drop such rows, for instance with frame.dropna()"
            raise NetworkError("an edge must have two ends", got=got, remedy=remedy)
        # Numbers are no names of columns.
        if not table.columns[places["source"]].is_whole:
            table.check_headings()
    except FileFormatError as error:
        raise NetworkError(str(error)) from None
    kinds = _kind_columns(table.heading or ())
    if kinds:
        sources, targets, labels = positions(*(table.columns[places[role]] for role in ENDS))
        EdgeList(sources, targets, None, labels, table, places).check_directions(directed=directed)
    first, second = (end.tolist() for end in ends)
    return first, second, frame.iloc[:, places["weight"]].to_numpy() if "weight" in places else None


# Labels


def positions(sources: Column, targets: Column) -> tuple[NDArray[Any], NDArray[Any], Sequence[Label]]:
    """Return the positions of both ends among the labels: whole numbers in their order, else texts as they come."""
    if sources.is_whole and targets.is_whole:
        assert sources.numbers is not None
        assert targets.numbers is not None
        return _numbered(sources.numbers, targets.numbers)
    label = parse_labels([*sources.texts, *targets.texts])
    distinct = [list(map(label.__getitem__, column.texts)) for column in (sources, targets)]
    if isinstance(next(iter(label.values())), int):
        return _numbered(*(np.array(own)[side.codes] for own, side in zip(distinct, (sources, targets), strict=True)))
    place = {text: k for k, text in enumerate(label)}
    first, second = (
        np.array([place[text] for text in column.texts], dtype=np.int32)[column.codes] for column in (sources, targets)
    )
    order = np.argsort(_first_appearance(first, second, len(place)))
    rank = np.empty(len(place), dtype=np.int32)
    rank[order] = np.arange(len(place), dtype=np.int32)
    names = list(place)
    return rank[first], rank[second], [names[k] for k in order.tolist()]


def _numbered(sources: Ints, targets: Ints) -> tuple[NDArray[Any], NDArray[Any], Sequence[Label]]:
    """Return positions and the labels in increasing order."""
    low, high = int(min(sources.min(), targets.min())), int(max(sources.max(), targets.max()))
    span = high - low + 1
    if span > 4 * sources.size:
        names, places = np.unique(np.concatenate([sources, targets]), return_inverse=True)
        return places[: sources.size], places[sources.size :], names.tolist()
    # Without sorting, where the numbers lie close together.
    present = np.zeros(span, dtype=bool)
    present[sources - low] = present[targets - low] = True
    if low == 0 and present.all():
        return _small(sources, span), _small(targets, span), range(span)
    rank = _small(np.cumsum(present) - 1, span)
    return rank[sources - low], rank[targets - low], (np.flatnonzero(present) + low).tolist()


def _small(values: NDArray[Any], span: int) -> NDArray[Any]:
    # Half the memory, where the positions allow it.
    return values.astype(np.int32 if span < 2**31 else np.int64)


def _first_appearance(sources: NDArray[Any], targets: NDArray[Any], n: int) -> NDArray[np.int64]:
    first = np.full(n, 2 * sources.size)
    # From the end, because the last of several assignments stays.
    places = np.arange(sources.size)[::-1]
    for side, offset in ((sources, 0), (targets, 1)):
        own = np.full(n, 2 * sources.size)
        own[side[::-1]] = 2 * places + offset
        first = np.minimum(first, own)
    return first


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
    if table.first is None:
        return table
    # Lists with spaces that this package writes have the names in a comment.
    # Only a comment with as many words as the table has columns can be its heading.
    if len(table.note) == table.width and _names_ends(table.note):
        _check_one_heading(table, table.first)
        return table.under_note()
    return table.headed() if _is_heading(table, table.first.fields) else table.unheaded()


def _check_one_heading(table: TextTable, first: Row) -> None:
    """Raise if the first row below a heading in a comment is a heading itself."""
    names = first.fields[:2]
    # Names of columns may be agents, too, but these mostly have several edges.
    usual = [text for text in map(str.casefold, names) if not NUMBERED.fullmatch(text)]
    known = any(text in NAMES[role] for text in usual for role in NAMES)
    if known and not any(column.has(name) for column in table.columns[:2] for name in names):
        rule = f"it must be clear whether line {first.line} is a heading"
        got = f"{' and '.join(map(repr, names))} below a comment with names of columns"
        raise FileFormatError(
            rule, got=got, remedy="remove the comment if it is one, and else name columns in a line of their own"
        )


def _names_ends(names: Sequence[str], *, letters: bool = False) -> bool:
    return {*ENDS} <= places_in(names, ROLES, letters=letters).keys()


def _is_heading(table: TextTable, names: Sequence[str]) -> bool:
    ends = table.columns[:2]
    if _names_ends(names):
        _check_numbered(names, ends)
        return True
    # A first line whose fields occur below as agents is an edge.
    if not ends or any(column.has(name) for column in ends for name in names[:2]):
        return False
    # Single letters may be agents as well, unless none occurs below.
    if _names_ends(names, letters=True) and not any(column.has(name) for column in table.columns for name in names):
        return True
    if places_in(names, ENDS):
        rule, remedy = "a heading must name the source and the target", "name both, or neither"
        raise FileFormatError(rule, got=", ".join(map(repr, names[:6])), remedy=remedy)
    # Words above columns of numbers are a heading too.
    if all(column.is_whole or all(map(is_whole, column.texts)) for column in ends):
        return not any(map(is_whole, names))
    return len(names) == 3 and table.is_numeric(2) and not is_number(names[2])


def _check_numbered(names: Sequence[str], ends: Sequence[Column]) -> None:
    """Raise if names such as agent1 may be those of columns or of agents."""
    both = [name for name in names if any(column.has(name) for column in ends) and NUMBERED.fullmatch(plain_name(name))]
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
    open_order = len(rest) > 2 and (not table.is_numeric(2) or all(map(table.is_whole, rest)))
    # A weight in the place of an end raises the question of what the others are, unless it was asked for.
    moved = weight == "weight" and own.get("weight", 2) != 2
    if table.width > len(ROLES) or open_order or moved or any(ordered.get(role) != k for role, k in named.items()):
        rule, remedy = "a heading must name the source and the target", "call them source and target, and weight"
        raise FileFormatError(rule, got=", ".join(map(repr, (table.heading or ())[:6])), remedy=remedy)
    return ordered


def _check_fields(table: TextTable, places: Mapping[str, int]) -> None:
    if table.heading is not None:
        table.check_rows(alone=ALONE)
    ends = [table.columns[places[role]] for role in ENDS if role in places]
    wrong = np.zeros(len(table), dtype=bool) if len(ends) == 2 else np.ones(len(table), dtype=bool)
    for column in ends:
        if column.numbers is None:
            wrong |= ~column.where(bool)
    again = np.zeros(len(table), dtype=bool)
    if table.heading is None:
        wrong |= ~np.isin(table.sizes(), (2, 3))
        again = _heading_rows(table)
    if (wrong | again).any():
        k = int(np.argmax(wrong | again))
        row = table.row(k)
        if not wrong[k]:
            raise table.heading_again(row)
        alone = table.width > 1 and sum(map(bool, row.fields)) == 1
        raise table.malformed(row, row.described(4), ALONE if alone else REMEDY)


def _heading_rows(table: TextTable) -> NDArray[np.bool_]:
    """Return which records name a source and a target, as a heading within joined files does."""
    rows = np.zeros(len(table), dtype=bool)
    columns = table.columns[:2]
    # Numbers are no names.
    if len(columns) == 2 and all(column.numbers is None for column in columns):
        for roles in (ENDS, ENDS[::-1]):
            named = [column.where(partial(_is_name_of, role)) for role, column in zip(roles, columns, strict=True)]
            rows |= named[0] & named[1]
    return rows


def _is_name_of(role: str, text: str) -> bool:
    # Names such as agent1 are those of agents here.
    name = text.casefold()
    return name in NAMES[role] and not NUMBERED.fullmatch(name)


def _weights(table: TextTable, column: int | None) -> NDArray[np.float64] | None:
    """Return the weights, if there are any; a line without one has the weight 1."""
    if column is None:
        return None
    if not _has_gaps(table, column):
        return table.numbers(column, "weight")
    # Without a heading some lines may have a weight and others none.
    weights, given = np.ones(len(table)), np.flatnonzero(table.columns[column].codes >= 0)
    weights[given] = table.taken(given).numbers(column, "weight")
    return weights


def _kind_columns(names: Sequence[str]) -> list[int]:
    return [k for k, name in enumerate(names) if plain_name(name) in (*KINDS, *MUTUAL)]


def _check_directions(edges: EdgeList, said: Column, k: int, *, directed: bool) -> None:
    table = edges.table
    name = plain_name((table.heading or ())[k])
    meaning = {text: _one_way(text, name) for text in said.texts}

    def is_unclear(text: str) -> bool:
        if meaning[text] is not None or not text:
            return False
        return name != "type" or _direction_word(text) in BACKWARDS

    unclear, one_way = said.where(is_unclear), said.where(lambda text: meaning[text] not in (None, directed))
    if not (unclear | one_way).any():
        return
    # The reverse direction may come anywhere.
    n, codes = len(edges.labels), edges._pairs(directed=True)
    alone = one_way & ~np.isin(codes % n * n + codes // n, codes)
    if not (unclear | alone).any():
        return
    row = int(np.argmax(unclear | alone))
    place = f"{table.unit} {table.lines[row]}"
    if unclear[row]:
        remedy = "write directed or undirected, and swap the ends of edges that go back"
        rule = f"{place}: a direction must be from the source to the target, or both"
        raise NetworkError(rule, got=repr(said.text(row)), remedy=remedy)
    remedy = "read it as directed, or set the type to Undirected if both listen to each other"
    if directed:
        remedy = "list it in both directions, or do not read it as directed"
    rule = f"{place}: edges must go both ways" + (" where they are undirected" if directed else "")
    raise NetworkError(rule, got=f"one from {' to '.join(edges._ends(row))} only", remedy=remedy)


def _one_way(text: str, name: str) -> bool | None:
    """Return whether an edge is said to go one way, in a column of this name; None if the text says neither."""
    word = _direction_word(text)
    return TRUTH[word] != (name in MUTUAL) if word in TRUTH else ONE_WAY.get(word)


def _direction_word(text: str) -> str:
    """Return a text as it is looked up: without case and punctuation, unless it is nothing else."""
    return plain_name(text.removesuffix(".0")) or text


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
    """Events by line: times, both ends by their positions among the labels, and weights, if there are any.

    ``rest`` are columns without a role, ``read_as`` states how the file was read, and ``dated`` whether times were
    dates.
    """

    numbers: NDArray[np.int64]
    times: NDArray[np.float64]
    sources: NDArray[Any]
    targets: NDArray[Any]
    labels: Sequence[Label]
    weights: NDArray[np.float64] | None
    rest: list[Column]
    read_as: str
    dated: bool

    @property
    def description(self) -> str:
        """How the file was read, and how many lines repeat others."""
        # Contacts have no direction.
        low, high = np.minimum(self.sources, self.targets), np.maximum(self.sources, self.targets)
        order = np.lexsort((high, low, self.times))
        same = [column[order][1:] == column[order][:-1] for column in (self.times, low, high)]
        count = int(np.logical_and.reduce(same).sum())
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
        weights = np.ones(len(self.numbers)) if self.weights is None else self.weights
        fault = edge_fault(self.sources == self.targets, weights, lasting=lasting)
        if fault is not None:
            k = fault.places[0]
            ends = [repr(self.labels[side[k]]) for side in (self.sources, self.targets)]
            got = f"{weights[k]:.16g} between {' and '.join(ends)}"
            raise NetworkError(f"line {self.numbers[k]}: {fault.rule}", got=got, remedy=fault.remedy)


def parse_lines(table: TextTable, columns: Sequence[str] | None) -> Lines:
    """Return the columns of a table by ``columns`` or by its heading."""
    # Columns that are given are checked first: their errors do not depend on the file.
    given = None if columns is None else _given_places(columns)
    table = _with_event_heading(table)
    if not len(table):
        raise FileFormatError("a list of events must hold some", got="none", remedy=EVENT_REMEDY)
    places = given or _named_places(table)
    _check_widths(table, columns)
    if given is None and table.heading is not None:
        check_event_weights(table, places)
    gaps = [~column.where(bool) for k in places.values() if (column := table.columns[k]).numbers is None]
    gap = np.logical_or.reduce([np.zeros(len(table), dtype=bool), *gaps])
    if gap.any():
        row = table.row(int(np.argmax(gap)))
        raise table.malformed(row, row.described(), EVENT_REMEDY)
    ends = positions(table.columns[places["source"]], table.columns[places["target"]])
    # Columns without a role may still be attributes, such as the groups of recorded contacts.
    rest = [table.columns[k] for k in range(table.width) if k not in places.values()]
    return Lines(
        table.lines,
        table.times(places["time"]),
        *ends,
        _weights(table, places.get("weight")),
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
    if table.first is None:
        return table
    if len(table.note) == table.width and {*EVENT_ROLES[:3]} <= places_in(table.note, EVENT_ROLES, letters=True).keys():
        return table.under_note()
    # Every line of events has a time, so a line without numbers is a heading.
    names = table.first.fields
    return table.unheaded() if any(is_number(name) or is_date(name) for name in names) else table.headed()


def _check_widths(table: TextTable, columns: Sequence[str] | None) -> None:
    """Raise if a line has too few or too many fields."""
    if table.heading is not None:
        table.check_headings()
    wrong = table.sizes() != (table.width if columns is None else len(columns))
    if wrong.any():
        row = table.row(int(np.argmax(wrong)))
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
            "the order of columns without names must be clear", got=table.row(0).described(4), remedy=UNCLEAR
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
