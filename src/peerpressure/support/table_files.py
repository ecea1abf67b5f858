"""Files of tables: encoding, separator and heading are detected, and records become columns.

Short texts are split in Python, which says what is wrong. Long ones in which nothing is unusual are split by pandas,
into the same columns; so are Parquet files and data frames.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from io import BytesIO
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, PeerPressureError
from peerpressure.support.dates import is_date
from peerpressure.support.files import decode_text, expanded, read_bytes, require_pyarrow
from peerpressure.support.parameters import composed, merged_forms
from peerpressure.support.resources import require_memory
from peerpressure.support.tables import (
    COMMENTS,
    INTEGER,
    Coded,
    Column,
    Row,
    TextTable,
    cell_text,
    columns_of,
    comment_below,
    is_number,
)

SAMPLE = 100_000  # characters from which the separator is detected
PARQUET = ".parquet"
BYTES_PER_CELL = 100  # at the peak of reading a table, for which a Parquet file may need only a few bits
LONG = 200_000  # bytes of a text from which importing pandas pays
SAMPLE_ROWS = 1000
CHUNK = 1 << 20  # bytes of a text that are examined at once
LARGEST = 10**18  # below which a whole number is one as Python writes it
# Comments, quotes within a field, and characters that the reader in Python treats in a way of their own.
UNUSUAL = bytes([*range(9), 11, 12, *range(14, 32), 127, *b'"#%'])

_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_DECIMAL_COMMA = re.compile(r"\d,\d")
_BEFORE_TAB = re.compile(r"[^,;\t]\t")
_DAY_AND_TIME = re.compile(r"(\d{4}-\d\d-\d\d) +(?=\d\d:\d\d)")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def read_table(path: str | Path, what: str = "a row") -> TextTable:
    """Return the table in a file of text, which may be compressed with gzip, or in a Parquet file."""
    file = expanded(path)
    if file.suffix.lower() == PARQUET:
        return _parquet_table(file, what)
    return table_of(read_bytes(file), file, what)


def table_of(data: bytes, file: Path, what: str = "a row") -> TextTable:
    """Return the table in the text of a file."""
    table = _long_table(data, what) if len(data) >= LONG else None
    if table is not None:
        return table
    text, encoding = decode_text(data)
    if encoding is not None:
        word = next((word for word in re.split(r"[\s,;\"]+", text) if not word.isascii()), "\xa0")
        remedy = "if that is wrong, save it as UTF-8"
        warnings.warn(f"{file} is not UTF-8 and was read as {encoding}, for instance {word!r}; {remedy}", stacklevel=1)
    return replace(parse_table(text, what), encoding=encoding)


def parse_table(text: str, what: str = "a row") -> TextTable:
    r"""Return the table in a text.

    >>> table = parse_table("name;opinion\nAnna;0,5\n").headed()
    >>> table.column(0), table.numbers(1, "opinion")
    (['Anna'], array([0.5]))
    """
    opening = _opening(text)
    rows = list(_records(opening.lines, len(opening.above), opening.separator, what))
    if not rows:
        return TextTable((), np.empty(0, np.int64), opening.separator, what, note=opening.note)
    first, *below = rows
    lines = np.array([row.line for row in below], dtype=np.int64)
    table = TextTable(columns_of([row.fields for row in below]), lines, opening.separator, what, opening.note, first)
    return _composed(_without_empty_columns(replace(table, doubtful=opening.doubtful(rows))))


class _Opening(NamedTuple):
    """The lines of a text, the comments above its first record, and the separator of its fields."""

    lines: list[str]
    above: list[str]
    separator: str

    @property
    def note(self) -> tuple[str, ...]:
        """The words of the comment right above the first record."""
        above = [line for line in self.above if line.strip()]
        if not above:
            return ()
        words = above[-1].strip().lstrip("".join(COMMENTS)).strip()
        parts = words.split(self.separator) if self.separator in words else words.split()
        return tuple(word.strip() for word in parts)

    def doubtful(self, rows: Sequence[Row]) -> tuple[tuple[int, str], ...]:
        """Return the lines that may be comments or records; raise for one among records that is surely a comment."""
        width = len(rows[0].fields)
        found = [
            (number, line)
            for number, line in enumerate(self.above, start=1)
            if may_be_name(line) and len(_fields(line, self.separator)) == width
        ]
        for row in rows[1:]:
            # Within a quoted field a # is text.
            line = self.lines[row.line - 1]
            if is_comment(line):
                if len(row.fields) != width or not may_be_name(line):
                    raise comment_below(row.line, line)
                found.append((row.line, line))
        return tuple(found)


def _opening(text: str) -> _Opening:
    # One kind of line end, to make line numbers in messages agree with editors.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    above = list(takewhile(lambda line: not line.strip() or is_comment(line), lines))
    separator = _separator(text[sum(len(line) + 1 for line in above) :], len(above) + 1)
    return _Opening(lines, above, separator)


def may_be_name(line: str) -> bool:
    """Return whether a comment may begin with a name such as #climate, which has no space after its sign."""
    return bool(line.lstrip()[1:2].strip())


def _fields(line: str, separator: str) -> list[str]:
    return line.split() if separator == " " else [field.strip() for field in line.split(separator)]


def is_comment(line: str) -> bool:
    """Return whether a line above the first record is a comment."""
    return line.lstrip().startswith(COMMENTS)


def _separator(text: str, number: int) -> str:
    """Return the separator of the first line, or if it has several, the one that all lines have.

    ``number`` is that of the first line in the file.
    """
    whole = len(text) <= SAMPLE
    # A quoted field counts as one letter, since separators within it do not separate.
    lines = _QUOTED.sub("Q", text[:SAMPLE]).split("\n")[: None if whole else -1]
    # Spaces only: a leading tab is an empty first field.
    lines = [line.strip(" ") for line in lines if line.strip()]
    present = [separator for separator in "\t;," if lines and separator in lines[0]]
    # A comma or semicolon within names occurs in some lines only.
    candidates = [separator for separator in present if all(separator in line for line in lines)] or present
    if not candidates:
        return " "
    remedy = "add a heading, or quote the fields that hold one of them"
    if "\t" in candidates:
        if all(_BEFORE_TAB.search(line) is None for line in lines):
            got = f"a tab behind each ',' or ';' on line {number}"
            raise FileFormatError(
                "the separator of fields must be clear", got=got, remedy="separate fields by one of them"
            )
        return "\t"  # names do not contain tabs
    if "," in candidates:
        # Commas inside numbers are decimal signs, and another separator divides the fields.
        for separator in (";", " "):
            if all(_has_decimal_commas_only(line, separator) for line in lines):
                if separator == " " and not any(_DECIMAL_COMMA.search(line) for line in lines):
                    got = f"a space before ',' on line {number}"
                    raise FileFormatError("the separator of fields must be clear", got=got, remedy=remedy)
                return separator
    if len(candidates) > 1:
        raise FileFormatError(
            "the separator of fields must be clear", got=f"both ',' and ';' on line {number}", remedy=remedy
        )
    return candidates[0]


def _has_decimal_commas_only(line: str, separator: str) -> bool:
    """Return whether a line has more than two fields, with commas in numbers and dates only."""
    fields = line.split(separator if separator != " " else None)
    return len(fields) > 2 and all(
        "," not in field or is_number(field.strip()) or is_date(field.strip()) for field in fields
    )


def _records(lines: list[str], start: int, separator: str, what: str) -> Iterator[Row]:
    """Yield the records other than empty lines; quoted fields may contain separators and line breaks."""
    lines = lines[start:]
    if separator == " ":
        # The space between a day and its time of day separates no fields.
        lines = [_DAY_AND_TIME.sub(r"\1T", line.replace("\t", " ")) for line in lines]
    if any('"' in line for line in lines):
        rows = _quoted_rows(lines, start, separator, what)
    else:
        rows = (Row(number, _fields(line, separator)) for number, line in enumerate(lines, start=start + 1))
    yield from (row for row in rows if any(row.fields))


def _quoted_rows(lines: list[str], start: int, separator: str, what: str) -> Iterator[Row]:
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=separator, skipinitialspace=True, strict=True)
    first = start + 1
    try:
        for record in reader:
            fields = [field.strip() for field in record]
            yield Row(first, fields if separator != " " else [field for field in fields if field])
            first = start + reader.line_num + 1
    except csv.Error as error:
        raise FileFormatError(f"line {first} must be {what}", got=error, remedy="close every quote") from None


def _without_empty_columns(table: TextTable) -> TextTable:
    """Return the table without empty last columns, which spreadsheets often leave."""
    first, columns = table.first, table.columns
    assert first is not None
    # Only where all records have the same width; otherwise a missing last field would be lost.
    if columns and (len(columns) != len(first.fields) or not all(column.is_complete for column in columns)):
        return table
    width = len(first.fields)
    while width > 1 and not first.fields[width - 1] and all(column.is_empty for column in columns[width - 1 : width]):
        width -= 1
    return replace(table, first=Row(first.line, first.fields[:width]), columns=columns[:width])


def _composed(table: TextTable) -> TextTable:
    """Return the table with all names in one form of Unicode, and what was merged by that."""
    # Field by field: a Greek question mark becomes a semicolon, which must not separate fields.
    fields = [] if table.first is None else table.first.fields
    names = [*fields, *(text for column in table.columns if column.numbers is None for text in column.texts)]
    if all(map(str.isascii, names)):
        return table
    first = None if table.first is None else Row(table.first.line, [composed(field) for field in fields])
    columns = tuple(column if column.numbers is not None else column.renamed(composed) for column in table.columns)
    return replace(table, first=first, columns=columns, forms=merged_forms(names))


# Long texts


def _long_table(data: bytes, what: str) -> TextTable | None:
    """Return the table in a long text, or None if anything in it is unusual."""
    try:
        return _split_by_pandas(data, what)
    # Whatever is wrong, the reader in Python says it better.
    except (PeerPressureError, ValueError, ArithmeticError):
        return None


def _split_by_pandas(data: bytes, what: str) -> TextTable | None:
    # Enough for the comments above, and for the characters from which the separator is detected.
    head = data if len(data) <= 5 * SAMPLE else data[: data.rindex(b"\n", 0, 5 * SAMPLE) + 1]
    text, encoding = decode_text(head)
    # A carriage return alone ends a line as well, which shifts the lines that are counted below.
    if encoding is not None or head.count(b"\r") != head.count(b"\r\n"):
        return None
    opening = _opening(text)
    number, separator = len(opening.above) + 1, opening.separator
    if sum(map(len, opening.above)) > SAMPLE:
        return None
    (first,) = _records(opening.lines[:number], number - 1, separator, what)
    start = _offset(data, number + 1)
    sample = [row.fields for row in _records(opening.lines[: number + SAMPLE_ROWS], number, separator, what)]
    if not sample:
        return None
    body = _Body(data, start, separator, len(sample[0]))
    if not all(body.is_usual(chunk) for chunk in body.chunks()):
        return None
    columns = body.columns([_kind(texts, separator) for texts in zip(*sample, strict=True)])
    lines = body.lines(number + 1, columns[0])
    if lines is None:
        return None
    if all(column.has("") for column in columns):
        filled = np.logical_or.reduce([column.where(bool) for column in columns])
        columns, lines = tuple(column.taken(filled) for column in columns), lines[filled]
    table = TextTable(columns, lines, separator, what, opening.note, first, doubtful=opening.doubtful([first]))
    return _composed(_without_empty_columns(table))


def _offset(data: bytes, line: int) -> int:
    """Return where a line begins, counted from 1."""
    place = 0
    for _ in range(line - 1):
        place = data.index(b"\n", place) + 1
    return place


def _kind(texts: Sequence[str], separator: str) -> str:
    """Return the type as which a column is read, if all its texts are as these."""
    if all(map(INTEGER.fullmatch, texts)):
        return "int64"
    # Beside semicolons a point may separate thousands.
    return "float64" if separator != ";" and all(map(_FLOAT.fullmatch, texts)) else "str"


class _Body(NamedTuple):
    """The records of a text below the first, by the place where they begin."""

    data: bytes
    start: int
    separator: str
    width: int

    def chunks(self) -> Iterator[bytes]:
        """Yield whole lines, or a number at the border would be examined in two parts."""
        place = self.start
        while place < len(self.data):
            end = self.data.find(b"\n", place + CHUNK) + 1 or len(self.data)
            yield self.data[place:end]
            place = end

    def is_usual(self, chunk: bytes) -> bool:
        """Return whether pandas splits lines as the reader in Python does."""
        bare = self._bare(chunk)
        # The colon of a time of day, which is one field with its date.
        spaced = self.separator == " " and (b":" in chunk or b'"' in chunk)
        return len(bare.translate(None, UNUSUAL)) == len(bare) and not spaced

    def _bare(self, chunk: bytes) -> bytes:
        """Return lines with a letter in place of each field in quotes."""
        between = re.escape(self.separator).encode()
        quoted = rb'(?<![^\n%b])"[^"\n]*"(?![^\r\n%b])' % (between, between)
        return re.sub(quoted, b"Q", chunk) if b'"' in chunk else chunk

    def columns(self, kinds: Sequence[str]) -> tuple[Column, ...]:
        """Return the columns, of these types if possible; raise ValueError if a record has more or fewer fields."""
        if "int64" in kinds and not all(map(_has_only_python_integers, self.chunks())):
            kinds = ["str" if kind == "int64" else kind for kind in kinds]
        try:
            frame = self._frame(dict(enumerate(kinds)))
            columns = tuple(self._column(frame, k, kind) for k, kind in enumerate(kinds))
        except (ValueError, OverflowError):
            if {*kinds} == {"str"}:
                raise
            return self.columns(["str"] * self.width)
        between = sum(self._bare(chunk).count(self.separator.encode()) for chunk in self.chunks())
        if self.separator != " " and between != (self.width - 1) * len(columns[0]):
            raise ValueError("a record has more or fewer fields than others")
        return columns

    def _column(self, frame: Any, k: int, kind: str) -> Column:
        values = frame.pop(k)
        if kind == "str":
            return self._texts(values)
        numbers = values.to_numpy()
        if kind == "int64":
            if max(int(numbers.max()), -int(numbers.min())) >= LARGEST:
                raise ValueError("a number is not a whole number of Python")
            return Column.of_numbers(numbers)
        if not np.isfinite(numbers).all():
            raise ValueError("a number is not finite")
        # The texts of numbers are hardly ever asked for.
        return Column(lambda: self._texts(self._frame({k: "str"})[k]).coded, numbers)

    def _texts(self, values: Any) -> Column:
        import pandas as pd

        # Not as categories, which pandas turns into numbers where it can: 007 and 7 are two labels.
        codes, distinct = pd.factorize(values)
        texts = distinct.tolist()
        if codes.min() < 0 or (self.separator == " " and any(text.split() != [text] for text in texts)):
            raise ValueError("a record has more or fewer fields than others")
        return Column((codes, texts)).renamed(str.strip)

    def _frame(self, kinds: dict[int, str]) -> Any:
        import pandas as pd

        stream = BytesIO(self.data)
        stream.seek(self.start)
        return pd.read_csv(
            stream,
            sep=self.separator if self.separator != " " else r"\s+",
            header=None,
            usecols=[*kinds],
            dtype=kinds,
            na_filter=False,
            engine="c",
            quoting=csv.QUOTE_MINIMAL if b'"' in self.data else csv.QUOTE_NONE,
            **_exact_floats(pd.__version__),
        )

    def lines(self, first: int, column: Column) -> NDArray[np.int64] | None:
        """Return the lines of the records, or None if lines were left out that are not empty."""
        count, ends = len(column), self.data.count(b"\n", self.start)
        if ends + (not self.data.endswith(b"\n")) == count:
            return np.arange(first, first + count)
        places = np.flatnonzero(np.frombuffer(self.data[self.start :] + b"\n", np.uint8) == 10)
        lengths = np.diff(places, prepend=-1) - 1
        returns = np.frombuffer(self.data, np.uint8)[self.start + places[:-1] - 1] == 13
        lengths[:-1] -= returns
        filled = np.flatnonzero(lengths > 0)
        return filled + first if filled.size == count else None


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


def _exact_floats(version: str) -> dict[str, str]:
    """Return the option with which pandas reads the floats that Python does; newer versions need none.

    >>> _exact_floats("2.2.3"), _exact_floats("3.1.0")
    ({'float_precision': 'round_trip'}, {})
    """
    release = tuple(int(part) for part in version.split(".")[:2])
    return {"float_precision": "round_trip"} if release < (3, 1) else {}


# Parquet and data frames


def _parquet_table(file: Path, what: str) -> TextTable:
    """Return a Parquet file as the texts that its values have in a file of text, with rows counted from 1."""
    require_pyarrow(file)
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(file) as source:
            # Repeated values take next to no room in the file.
            need = source.metadata.num_rows * source.metadata.num_columns * BYTES_PER_CELL
            require_memory(need, what="a table", remedy="split the file, or use a larger machine")
            data = source.read()
    except pyarrow.ArrowException as error:
        raise FileFormatError("a Parquet file must be readable", got=error, remedy="write it again") from None
    heading = tuple(composed(name.strip()) for name in data.column_names)
    columns = tuple(map(_arrow_column, data.columns))
    return _composed(TextTable(columns, np.arange(1, data.num_rows + 1), "", what, heading=heading, unit="row"))


def _arrow_column(data: Any) -> Column:
    from pyarrow import compute, types

    if (types.is_integer(data.type) or types.is_floating(data.type)) and not data.null_count:
        return _number_column(data.to_numpy())
    if types.is_string(data.type) or types.is_large_string(data.type):
        coded = compute.fill_null(data, "").combine_chunks().dictionary_encode()
        return Column((coded.indices.to_numpy().astype(np.int64), coded.dictionary.to_pylist())).renamed(str.strip)
    return Column.of(map(cell_text, data.to_pylist()))


def _number_column(values: NDArray[Any]) -> Column:
    """Return numbers as the texts that they have in a file of text."""
    if values.dtype.kind == "f" and np.isfinite(values).all():
        return Column.of_numbers(values.astype(np.float64))
    # The least number of 64 bits has no absolute value.
    if values.dtype.kind in "iu" and not ((values >= LARGEST) | (values <= -LARGEST)).any():
        return Column.of_numbers(values.astype(np.int64))
    return Column.of(map(cell_text, values.tolist()))


def frame_table(frame: Any, what: str = "a row") -> TextTable:
    """Return a data frame as texts; rows are counted from 1."""
    heading = tuple(map(str, frame.columns))
    columns = tuple(_frame_column(frame.iloc[:, k]) for k in range(frame.shape[1]))
    return TextTable(columns, np.arange(1, len(frame) + 1), "", what, heading=heading, unit="row")


def _frame_column(values: Any) -> Column:
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "iuf":
        return _number_column(values.to_numpy())
    return Column(partial(_cells, values))


def _cells(values: Any) -> Coded:
    import pandas as pd

    if pd.api.types.infer_dtype(values, skipna=False) == "string":
        codes, texts = pd.factorize(values)
        return Column((codes, texts.tolist())).renamed(str.strip).coded
    return Column.of(map(cell_text, values.tolist())).coded
