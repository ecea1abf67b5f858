"""Long edge lists read column by column, without a Python object per edge.

Only lists in which nothing is unusual are read here; all others are left to the reader of tables, which names the line
of every problem. Both give the same network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import PeerPressureError
from peerpressure.networks._edge_lists import (
    ENDS,
    INTEGER,
    edge_places,
    has_end_names,
    is_end_name,
    is_whole,
    merged_directions,
    with_heading,
)
from peerpressure.networks.validation import Label, described_repeats
from peerpressure.support.files import decode_text, read_bytes, require_pyarrow
from peerpressure.support.parameters import composed
from peerpressure.support.resources import require_memory
from peerpressure.support.tables import PARQUET, SAMPLE, Row, TextTable, cell_text, is_number, parse_table

PLAIN_BYTES = 200_000  # from which importing pandas pays
SAMPLE_ROWS = 1000
BYTES_PER_CELL = 60  # at the peak of reading a list
CHUNK = 1 << 20  # bytes of a text that are examined at once
LARGEST = 10**18  # below which a whole number is a label, as in tables
# Quotes, comments and characters that tables treat in a way of their own.
UNUSUAL = bytes([*range(9), 11, 12, *range(14, 32), 127, *b'"#%'])

Ints = NDArray[np.int64]


class PlainEdges(NamedTuple):
    """Edges by the positions of their ends, the labels of the agents, and the first rows of the table."""

    sources: NDArray[Any]
    targets: NDArray[Any]
    weights: NDArray[np.float64] | None
    labels: Sequence[Label]
    table: TextTable
    places: Mapping[str, int]

    def description(self, *, directed: bool) -> str:
        """Describe how the table was read, and what was merged."""
        n = len(self.labels)
        codes = self.sources.astype(np.int64) * n + self.targets
        distinct, first, counts = np.unique(codes, return_index=True, return_counts=True)
        repeated = distinct[counts > 1][np.argsort(first[counts > 1])]
        pairs = [(self.labels[k // n], self.labels[k % n]) for k in repeated.tolist()]
        both = 0 if directed else int(np.isin(distinct % n * n + distinct // n, distinct).sum()) // 2
        return "; ".join([self.table.description(self.places), *described_repeats(pairs), *merged_directions(both)])


class Columns(NamedTuple):
    """The columns of a list: both ends as whole numbers, or as codes of texts, and the weights."""

    ends: tuple[Ints, Ints]
    texts: tuple[Sequence[str], Sequence[str]] | None
    weights: NDArray[np.float64] | None


def read_plain(file: Path, weight: str | None) -> PlainEdges | None:
    """Return the edges of a list of text or Parquet, or None if anything in it is unusual."""
    try:
        return (_parquet if file.suffix.lower() == PARQUET else _text)(file, weight)
    # Whatever is wrong, the reader of tables says it better.
    except (PeerPressureError, ValueError, TypeError, ArithmeticError, NotImplementedError):
        return None


# Text


def _text(file: Path, weight: str | None) -> PlainEdges | None:
    data = read_bytes(file)
    head = data if len(data) <= SAMPLE else data[: data.rindex(b"\n", 0, SAMPLE) + 1]
    text, encoding = decode_text(head)
    # A carriage return alone ends a line as well, which shifts the lines that are counted below.
    if encoding is not None or head.count(b"\r") != head.count(b"\r\n"):
        return None
    table = with_heading(parse_table(text, "an edge"))
    places = _plain_places(table, weight)
    if places is None or (table.separator == ";" and "weight" in places):
        return None
    start = _offset(data, table.rows[0].line)
    if not all(_is_usual(chunk, table.separator) for chunk in _chunks(data, start)):
        return None
    columns = _whole_columns(data, start, table, places) or _text_columns(data, start, table, places)
    del data
    return _edges(columns, table, places)


def _plain_places(table: TextTable, weight: str | None) -> dict[str, int] | None:
    """Return the columns by their roles if each has one and every row of the sample has all of them."""
    if not table.rows or any(map(is_number, table.heading or ())):
        return None
    places = edge_places(table, weight)
    complete = all(len(row.fields) == table.width for row in table.rows)
    return places if complete and sorted(places.values()) == list(range(table.width)) else None


def _offset(data: bytes, line: int) -> int:
    """Return where a line begins, counted from 1."""
    place = 0
    for _ in range(line - 1):
        place = data.index(b"\n", place) + 1
    return place


def _chunks(data: bytes, start: int) -> Iterator[bytes]:
    while start < len(data):
        # Whole lines, or a number at the border would be examined in two parts.
        end = data.find(b"\n", start + CHUNK) + 1 or len(data)
        yield data[start:end]
        start = end


def _is_usual(chunk: bytes, separator: str) -> bool:
    # The colon of a time of day, which is one field with its date.
    return len(chunk.translate(None, UNUSUAL)) == len(chunk) and not (separator == " " and b":" in chunk)


def _has_only_python_integers(chunk: bytes) -> bool:
    """Return whether no whole number is written with a sign + or a leading 0, which makes it a text."""
    if b"+" in chunk:
        return False
    signs = np.frombuffer(b"\n" + chunk + b"\n\n", np.uint8)
    digit = (signs >= 48) & (signs <= 57)
    zero = signs[1:-2] == 48
    after_sign = signs[:-3] == 45
    leading = zero & digit[2:-1] & ~digit[:-3] & (signs[:-3] != 46)
    # -0 is no whole number as Python writes it, but -0.5 may be a weight.
    negative_zero = zero & after_sign & (signs[2:-1] != 46)
    return not (leading | negative_zero).any()


def _whole_columns(data: bytes, start: int, table: TextTable, places: Mapping[str, int]) -> Columns | None:
    if not all(_has_only_python_integers(chunk) for chunk in _chunks(data, start)):
        return None
    try:
        frame = _frame(data, start, table, places, "int64")
    except ValueError:
        return None
    sources, targets = (frame[places[role]].to_numpy() for role in ENDS)
    return _checked_whole(sources, targets, frame[places["weight"]].to_numpy() if "weight" in places else None)


def _checked_whole(sources: Ints, targets: Ints, weights: NDArray[np.float64] | None) -> Columns | None:
    if max(int(end) for side in (sources, targets) for end in (side.max(), -side.min())) >= LARGEST:
        return None
    return Columns((sources, targets), None, weights)


def _text_columns(data: bytes, start: int, table: TextTable, places: Mapping[str, int]) -> Columns:
    import pandas as pd

    # Not as categories, which pandas turns into numbers where it can: 007 and 7 are two labels.
    frame = _frame(data, start, table, places, "str")
    (sources, ours), (targets, theirs) = (pd.factorize(frame.pop(places[role])) for role in ENDS)
    weights = frame[places["weight"]].to_numpy() if "weight" in places else None
    return Columns((sources, targets), (ours.tolist(), theirs.tolist()), weights)


def _frame(data: bytes, start: int, table: TextTable, places: Mapping[str, int], kind: str) -> Any:
    import pandas as pd

    stream = BytesIO(data)
    stream.seek(start)
    frame = pd.read_csv(
        stream,
        sep=table.separator if table.separator != " " else r"\s+",
        header=None,
        dtype={k: "float64" if role == "weight" else kind for role, k in places.items()},
        na_filter=False,
        engine="c",
        quoting=3,  # there are no quotes
        **_exact_floats(pd.__version__),
    )
    if frame.shape[1] != table.width:
        raise ValueError("the table has other columns than its first rows")
    return frame


def _exact_floats(version: str) -> dict[str, str]:
    """Return the option with which pandas reads the floats that Python does; newer versions need none.

    >>> _exact_floats("2.2.3"), _exact_floats("3.1.0")
    ({'float_precision': 'round_trip'}, {})
    """
    release = tuple(int(part) for part in version.split(".")[:2])
    return {"float_precision": "round_trip"} if release < (3, 1) else {}


# Parquet


def _parquet(file: Path, weight: str | None) -> PlainEdges | None:
    require_pyarrow(file)
    from pyarrow import parquet

    with parquet.ParquetFile(file) as source:
        if not 2 <= source.metadata.num_columns <= 3 or not source.metadata.num_rows:
            return None
        # Repeated values take next to no room in the file.
        need = source.metadata.num_rows * source.metadata.num_columns * BYTES_PER_CELL
        require_memory(need, what="a table", remedy="split the file, or use a larger machine")
        data = source.read()
    heading = tuple(composed(name.strip()) for name in data.column_names)
    cells = [[cell_text(value) for value in column.to_pylist()] for column in data.slice(0, SAMPLE_ROWS).columns]
    rows = [Row(number, list(fields)) for number, fields in enumerate(zip(*cells, strict=True), start=1)]
    table = TextTable(rows, "", "an edge", heading=heading, unit="row")
    places = _plain_places(table, weight)
    if places is None or any(column.null_count for column in data.columns):
        return None
    return _edges(_parquet_columns(data, places), table, places)


def _parquet_columns(data: Any, places: Mapping[str, int]) -> Columns | None:
    from pyarrow import types

    sources, targets = (data.column(places[role]) for role in ENDS)
    weights = data.column(places["weight"]) if "weight" in places else None
    if weights is not None and not (types.is_floating(weights.type) or types.is_integer(weights.type)):
        return None
    numbers = None if weights is None else weights.to_numpy().astype(np.float64, copy=False)
    if all(types.is_integer(side.type) for side in (sources, targets)):
        # An unsigned number above the largest signed one is not safely cast.
        return _checked_whole(sources.cast("int64").to_numpy(), targets.cast("int64").to_numpy(), numbers)
    if not all(types.is_string(side.type) or types.is_large_string(side.type) for side in (sources, targets)):
        return None
    coded = [side.combine_chunks().dictionary_encode() for side in (sources, targets)]
    codes = [side.indices.to_numpy() for side in coded]
    return Columns((codes[0], codes[1]), (coded[0].dictionary.to_pylist(), coded[1].dictionary.to_pylist()), numbers)


# Labels


def _edges(columns: Columns | None, table: TextTable, places: Mapping[str, int]) -> PlainEdges | None:
    """Return the edges by position, if the whole list means what its first rows do."""
    if columns is None or (columns.weights is not None and not np.isfinite(columns.weights).all()):
        return None
    numbered = columns.texts is None
    sources, targets, labels = _numbered(*columns.ends) if columns.texts is None else _named(columns)
    if not numbered and not _are_plain(labels, table):
        return None
    if not _is_alike(table, places, numbered=not len(labels) or isinstance(labels[0], int)):
        return None
    # A loop, which the reader of tables refuses with its line.
    if bool((sources == targets).any()) or not _is_clear_first_line(table, sources, targets):
        return None
    return PlainEdges(sources, targets, columns.weights, labels, table, places)


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


def _named(columns: Columns) -> tuple[NDArray[Any], NDArray[Any], Sequence[Label]]:
    """Return positions and the labels: whole numbers in increasing order, or texts by their first appearance."""
    assert columns.texts is not None
    place = {text: k for k, text in enumerate(dict.fromkeys([*columns.texts[0], *columns.texts[1]]))}
    sources, targets = (
        np.array([place[text] for text in texts], dtype=np.int32)[codes]
        for codes, texts in zip(columns.ends, columns.texts, strict=True)
    )
    labels: list[Any] = list(place)
    if all(map(INTEGER.fullmatch, labels)):
        labels = list(map(int, labels))
        order = np.array(sorted(range(len(labels)), key=labels.__getitem__))
    else:
        order = np.argsort(_first_appearance(sources, targets, len(labels)))
    rank = np.empty(len(labels), dtype=np.int32)
    rank[order] = np.arange(len(labels), dtype=np.int32)
    return rank[sources], rank[targets], [labels[k] for k in order.tolist()]


def _first_appearance(sources: NDArray[Any], targets: NDArray[Any], n: int) -> NDArray[np.int64]:
    first = np.full(n, 2 * sources.size)
    # From the end, because the last of several assignments stays.
    places = np.arange(sources.size)[::-1]
    for side, offset in ((sources, 0), (targets, 1)):
        own = np.full(n, 2 * sources.size)
        own[side[::-1]] = 2 * places + offset
        first = np.minimum(first, own)
    return first


def _are_plain(labels: Sequence[Label], table: TextTable) -> bool:
    """Return whether texts are labels as they stand, and none is the name of a column."""
    names = {name.casefold() for name in table.heading or ()}
    for label in labels:
        text = str(label)
        words = text.split() if table.separator == " " else [text.strip()]
        if not text or words != [text] or composed(text) != text or text.casefold() in names:
            return False
        if table.heading is None and is_end_name(text):
            return False
        # Whole numbers as floats are read as such by the reader of tables.
        if is_whole(text) and not INTEGER.fullmatch(text):
            return False
    return True


def _is_alike(table: TextTable, places: Mapping[str, int], *, numbered: bool) -> bool:
    """Return whether the labels are numbers or texts as in the first rows, from which the heading was found."""
    if table.heading is not None and (table.unit == "row" or has_end_names(table.heading)):
        return True
    return numbered == all(INTEGER.fullmatch(row.fields[places[role]]) for row in table.rows for role in ENDS)


def _is_clear_first_line(table: TextTable, sources: NDArray[Any], targets: NDArray[Any]) -> bool:
    """Return whether the first of the lines without a heading cannot be one itself."""
    if table.heading is not None or any(text.isnumeric() for text in table.rows[0].fields[:2]):
        return True
    first = (sources[0], targets[0])
    other = (sources != first[0]) | (targets != first[1])
    return not other.any() or bool(np.isin(sources[other], first).any() or np.isin(targets[other], first).any())
