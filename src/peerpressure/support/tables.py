"""Tables of text or Parquet, as spreadsheets and other programs write them.

One reader serves edges, contacts, attributes of agents and outputs. It detects encoding, separator and decimal sign,
identifies columns by their names, describes what it found, and raises an error for ambiguous tables.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import chain, takewhile
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, InvalidInputError
from peerpressure.support.dates import DateError, as_seconds, check_no_clocks, is_date
from peerpressure.support.files import decode_text, expanded, read_bytes, require_pyarrow
from peerpressure.support.parameters import composed, merged_forms
from peerpressure.support.resources import require_memory

COMMENTS = ("#", "%")
SEPARATORS: Mapping[str, str] = MappingProxyType({"\t": "tabs", ";": "semicolons", ",": "commas", " ": "spaces"})
# Accepted names of columns by role, without case, spaces and punctuation; the role's own name is always accepted.
ROLES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        role: frozenset([role, *names.split()])
        for role, names in {
            "source": "from src node1 nodea sender ego sourceid fromid fromnode fromnodeid id1 name1 person1 agent1",
            "target": "to dst node2 nodeb receiver alter targetid toid tonode tonodeid id2 name2 person2 agent2",
            "weight": "weights strength value count",
            "time": "times timestamp ts date datetime step wave round unixtime start begin",
            "end": "stop finish duration",
            "agent": "agents name names id ids label labels node nodes nodeid person respondent participant actor "
            "member user vertex",
            "public": "opinion output value answer response",
            "replicate": "replicates",
            "topic": "topics question item issue subject",
            "group": "groups groupid trial team session",
            "question": "questions questionid task topic item issue",
            "seen": "saw shown exposure",
        }.items()
    }
)
# Single letters are accepted only on request, because they are common labels of agents as well.
LETTERS: Mapping[str, str] = MappingProxyType(
    {"t": "time", "i": "source", "j": "target", "u": "source", "v": "target", "w": "weight", "y": "public"}
)
# Columns that number the rows of a data frame: without a name in its file, and as pandas and R name it later.
UNNAMED = ("", "unnamed: 0", "__index_level_0__")
INDEX = (*UNNAMED, "index", "level_0", "x", "row", "rownames", "row.names")
SAMPLE = 100_000  # characters from which the separator is detected
PARQUET = ".parquet"
BYTES_PER_CELL = 400  # at the peak of reading a table, for which a Parquet file may need only a few bits

_QUOTED = re.compile(r'"(?:[^"]|"")*"')
# A comma at the end is no decimal sign: numbers are also separated by a comma and a space.
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\d+,\d+|[.,]\d+)(?:e[+-]?\d+)?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
# Numbers as people write them where they do not expect a program to read them: also with a unit, fractions and ranges,
# and words for signs, of which the negative ones matter. A - alone may be a missing value.
_QUANTITY = re.compile(
    r"[<>≤≥≈~]? ?[$€£¥]? ?[+\-−]?(?:\d+(?:[.,]\d*)?|[.,]\d+|\d{1,3}(?:[., '’]\d{3})+(?:[.,]\d+)?)(?:e[+-]?\d+)?"
    r" ?(?:[%$€£¥+x×]|times|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|d|days?|wks?|weeks?|months?|yrs?|years?"
    r"|eur|euros?|usd|dollars?|gbp|pounds?|chf|kg|km|m)?"
    r"|\d{1,3} ?[/–-] ?\d{1,3}|[+−]|positive|negative"
    r"|enem(?:y|ies)|foes?|rivals?|opponents?|hostile|dislikes?d?|hates?d?|distrusts?|distrusted|disagrees?d?",
    re.IGNORECASE,
)
_DECIMAL_COMMA = re.compile(r"\d,\d")
_BEFORE_TAB = re.compile(r"[^,;\t]\t")
_DAY_AND_TIME = re.compile(r"(\d{4}-\d\d-\d\d) +(?=\d\d:\d\d)")
# 1,234 and 1.234 are one thousand or a decimal number; only the context can decide.
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:[,.]\d{3})+")


class Row(NamedTuple):
    """Fields of one record, and the number of its first line."""

    line: int
    fields: list[str]

    def described(self, shown: int = 5) -> str:
        """Return the number of fields and the first of them, for a message."""
        return f"{len(self.fields)} field{'s' * (len(self.fields) != 1)} {self.fields[:shown]}"


@dataclass(frozen=True, eq=False)
class TextTable:
    """Records of text fields; ``what`` names a record in messages.

    ``heading`` has the names of the columns, if they are known, and ``note`` the words of the comment right above the
    first record, which may be such names. ``encoding`` is that of the text, where it is a conclusion, ``unit`` what the
    numbers of the records count, and ``forms`` describes names that came in several forms of Unicode. ``form`` names a
    format in which the separator says nothing. ``doubtful`` are lines that begin like comments, and are some above a
    heading, and records below one.
    """

    rows: list[Row]
    separator: str
    what: str = "a row"
    note: tuple[str, ...] = ()
    heading: tuple[str, ...] | None = None
    encoding: str | None = None
    unit: str = "line"
    forms: str | None = None
    form: str = ""
    doubtful: tuple[tuple[int, str], ...] = ()

    @cached_property
    def width(self) -> int:
        """Number of columns of the heading, or of the longest record if there is none."""
        return max(len(row.fields) for row in self.rows) if self.heading is None else len(self.heading)

    @property
    def lines(self) -> list[int]:
        """First line of each record."""
        return [row.line for row in self.rows]

    def headed(self) -> TextTable:
        """Return the table with its first record as the heading, unless it has one."""
        if self.heading is not None:
            return self
        return replace(self, rows=self.rows[1:], heading=tuple(self.rows[0].fields), doubtful=())

    def unheaded(self) -> TextTable:
        """Return the table without a heading row, in which a line that begins like a comment may be a record."""
        for number, line in self.doubtful:
            raise (comment_above if number < self.rows[0].line else comment_below)(number, line)
        return self

    def under_note(self) -> TextTable:
        """Return the table with the comment right above its first record as the heading."""
        below = tuple(each for each in self.doubtful if each[0] > self.rows[0].line)
        return replace(replace(self, doubtful=below).unheaded(), heading=self.note)

    def taken(self, chosen: Iterable[int]) -> TextTable:
        """Return the table of some records, in this order."""
        return replace(self, rows=[self.rows[k] for k in chosen])

    def column(self, k: int) -> list[str]:
        """Return the texts in a column."""
        return [row.fields[k] for row in self.rows]

    def is_numeric(self, k: int) -> bool:
        """Return whether a column has numbers only, and at least one."""
        return bool(self.rows) and all(k < len(row.fields) and is_number(row.fields[k]) for row in self.rows)

    def has_quantities(self, k: int) -> bool:
        """Return whether a column has numbers, if only some: also per cent, money, thousands, or signs."""
        return any(_QUANTITY.fullmatch(row.fields[k]) for row in self.rows if k < len(row.fields))

    def numbers(self, k: int, name: str, kind: str = "a number") -> NDArray[np.float64]:
        """Return a column of numbers, written with decimal points or decimal commas but not both."""
        for row in self.rows:
            if not is_number(row.fields[k]):
                raise self.malformed(row, f"{name} {row.fields[k]!r}", f"the {name} must be {kind}")
        texts = self.column(k)
        if self.has_decimal_commas(k):
            texts = [text.replace(",", ".") for text in texts]
        return np.array([float(text) for text in texts], dtype=np.float64)

    def has_dates(self, k: int) -> bool:
        """Return whether a column has dates only, and at least one."""
        return bool(self.rows) and all(k < len(row.fields) and is_date(row.fields[k]) for row in self.rows)

    def times(self, k: int) -> NDArray[np.float64]:
        """Return a column of times: numbers, or dates as seconds since 1970."""
        if not any(is_date(text) for text in self.column(k)):
            try:
                check_no_clocks(self.column(k))
            except InvalidInputError as error:
                raise FileFormatError(str(error)) from None
            return self.numbers(k, "time", "a number or a date such as 2024-01-31T12:00:00")
        try:
            return as_seconds(self.column(k))
        except DateError as error:
            row = self.rows[error.place]
            raise self.malformed(row, f"time {row.fields[k]!r}", error.rule) from None

    def has_decimal_commas(self, k: int) -> bool:
        """Return whether the numbers in a column have decimal commas, and raise if that is ambiguous."""
        # Only among numbers: names may contain commas.
        with_comma = [row for row in self.rows if "," in row.fields[k] and is_number(row.fields[k])]
        # Lazily: the first row with a point decides for most tables.
        points = (row for row in self.rows if "." in row.fields[k] and is_number(row.fields[k]))
        first = next(points, None)
        if with_comma and first is not None:
            got = " and ".join(f"{row.fields[k]!r} on line {row.line}" for row in (with_comma[0], first))
            raise FileFormatError(
                "the numbers of a column must use one decimal sign", got=got, remedy="write all of them with points"
            )
        # Programs use semicolons as separators where commas are decimal signs, and points may separate thousands.
        unusual = first if self.separator == ";" else with_comma[0] if with_comma else None
        others = points if self.separator == ";" else with_comma
        if unusual is not None and all(_THOUSANDS.fullmatch(row.fields[k]) for row in chain([unusual], others)):
            remedy = "write numbers without separators of thousands, or with more or fewer decimals"
            got = f"{unusual.fields[k]!r} on line {unusual.line}"
            raise FileFormatError(
                "a decimal sign must be distinguishable from a separator of thousands", got=got, remedy=remedy
            )
        return bool(with_comma)

    def places(self, roles: Collection[str], *, letters: bool = False) -> dict[str, int]:
        """Return the columns of these roles by the names in the heading; the role's own name takes precedence."""
        return places_in(self.heading or (), roles, letters=letters)

    def find(self, name: str) -> int:
        """Return the column of this name; case is ignored if that is unambiguous."""
        names, name = self.heading or (), composed(name)
        # Exact matches come first because columns may differ only in case.
        same = [k for k, other in enumerate(names) if other == name]
        close = same or [k for k, other in enumerate(names) if other.casefold() == name.strip().casefold()]
        if len(close) != 1:
            got = ", ".join(map(repr, names)) or "an empty file"
            raise InvalidInputError(f"there must be one column {name!r}", got=got, remedy="name one of these")
        return close[0]

    def check_rows(self, alone: str | None = None) -> None:
        """Raise if a record has more or fewer fields than the heading, or is the heading again.

        ``alone`` is the remedy of a record with one field.
        """
        self.check_headings()
        for row in self.rows:
            if len(row.fields) != self.width:
                remedy = "fill every column, and quote fields that hold the separator"
                one = len(row.fields) == 1 and alone
                raise self.malformed(row, f"{row.described()} for {self.width} columns", one or remedy)

    def check_headings(self) -> None:
        """Raise if a record is the heading again, as in files that were joined."""
        names = [name.casefold() for name in self.heading or ()]
        for row in self.rows:
            # The first field decides for most records.
            if row.fields[0].casefold() == names[0] and [field.casefold() for field in row.fields] == names:
                raise self.heading_again(row)

    def heading_again(self, row: Row) -> FileFormatError:
        """Return the error for a record that is a heading."""
        return self.malformed(row, f"a heading, {', '.join(map(repr, row.fields[:5]))}", "remove the line")

    def malformed(self, row: Row, got: object, remedy: str) -> FileFormatError:
        """Return the error for a malformed record."""
        return FileFormatError(f"{self.unit} {row.line} must be {self.what}", got=got, remedy=remedy)

    def description(self, places: Mapping[str, int], rest: str | None = None) -> str:
        """Describe how the table was read: separator, decimal sign, the roles of the columns, and what the rest is."""
        parts = [self.form or (f"separated by {SEPARATORS[self.separator]}" if self.separator else "Parquet")]
        if self.encoding is not None:
            parts.append(f"encoded in {self.encoding}")
        # Most tables have no commas at all, which is found fast. Columns of the rest are numbers with gaps.
        columns = places.values() if rest is None else range(self.width)
        commas = [k for k in columns if any(k < len(row.fields) and "," in row.fields[k] for row in self.rows)]
        numeric = (k for k in commas if k not in places.values() or self.is_numeric(k))
        if any(self.has_decimal_commas(k) for k in numeric):
            parts.append("decimal commas")
        if "time" in places and self.has_dates(places["time"]):
            parts.append("dates")
        if self.heading is None:
            parts.append(f"no heading, columns {', '.join(sorted(places, key=places.__getitem__))}")
        else:
            parts += [
                f"{role} from {self.heading[k]!r}" if self.heading[k] else f"{role} from column {k + 1}"
                for role, k in places.items()
            ]
        if rest is not None:
            parts.append(rest)
        names = [
            f"column {k + 1}" if not self.heading else repr(self.heading[k]) if self.heading[k] else "the index"
            for k in range(self.width)
        ]
        unused = [name for k, name in enumerate(names) if k not in places.values()] if rest is None else []
        notes = [f"not used: {', '.join(unused)}"] if unused else []
        return "; ".join([", ".join(parts), *notes, *([self.forms] if self.forms else [])])


def read_table(path: str | Path, what: str = "a row") -> TextTable:
    """Return the table in a file of text, which may be compressed with gzip, or in a Parquet file."""
    file = expanded(path)
    if file.suffix.lower() == PARQUET:
        return _parquet_table(file, what)
    text, encoding = decode_text(read_bytes(file))
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
    # One kind of line end, to make line numbers in messages agree with editors.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    above = list(takewhile(lambda line: not line.strip() or is_comment(line), lines))
    separator = _separator(text[sum(len(line) + 1 for line in above) :], len(above) + 1)
    records = list(_records(lines, len(above), separator, what))
    doubtful = _doubtful(above, records, lines, separator)
    rows, forms = _without_empty_columns(records), None
    # Most tables are plain ASCII, which is found faster in the whole text than in each of its fields.
    if not text.isascii():
        rows, forms = _composed(rows)
    return TextTable(rows, separator, what, note=_note(above, separator), forms=forms, doubtful=tuple(doubtful))


def _doubtful(above: list[str], records: list[Row], lines: list[str], separator: str) -> list[tuple[int, str]]:
    """Return the lines that may be comments or records; raise for one among records that is surely a comment."""
    width = len(records[0].fields) if records else 0
    found = [
        (number, line)
        for number, line in enumerate(above, start=1)
        if may_be_name(line) and len(_fields(line, separator)) == width
    ]
    for row in records[1:]:
        # Within a quoted field a # is text.
        line = lines[row.line - 1]
        if is_comment(line):
            if len(row.fields) != width or not may_be_name(line):
                raise comment_below(row.line, line)
            found.append((row.line, line))
    return found


def may_be_name(line: str) -> bool:
    """Return whether a comment may begin with a name such as #climate, which has no space after its sign."""
    return bool(line.lstrip()[1:2].strip())


def comment_above(number: int, line: str) -> FileFormatError:
    """Return the error for a line above the first record that begins like a comment, and has the fields of a record."""
    rule, sign = f"it must be clear whether line {number} is a comment", line.lstrip()[0]
    remedy = f"put a space after the {sign} if it is one, and else name the columns above it"
    return FileFormatError(rule, got=repr(line.strip()[:60]), remedy=remedy)


def _fields(line: str, separator: str) -> list[str]:
    return line.split() if separator == " " else [field.strip() for field in line.split(separator)]


def is_comment(line: str) -> bool:
    """Return whether a line above the first record is a comment."""
    return line.lstrip().startswith(COMMENTS)


def comment_below(number: int, line: str, remedy: str = "quote its first field") -> FileFormatError:
    """Return the error for a line below the first record that begins like a comment, and may be a record as well."""
    rule = f"line {number} must not begin with {line.lstrip()[0]!r}: comments stand above the first row"
    return FileFormatError(rule, got=repr(line.strip()[:60]), remedy=f"remove it if it is a comment; if not, {remedy}")


def places_in(names: Sequence[str], roles: Collection[str], *, letters: bool = False) -> dict[str, int]:
    """Return the positions of the names of these roles, in the order of the names.

    >>> places_in(["To", "From", "note"], ("source", "target"))
    {'target': 0, 'source': 1}
    """
    positions: dict[str, int] = {}
    plain = list(map(plain_name, names))
    for role in roles:
        known = ROLES[role] | {letter for letter, of in LETTERS.items() if letters and of == role}
        columns = [k for k, name in enumerate(plain) if name in known]
        own = [k for k in columns if plain[k] == role]
        # Several candidates are an error unless exactly one has the role's own name: a guess could be wrong unnoticed.
        if len(columns) > 1 and len(own) != 1:
            got = ", ".join(repr(names[k]) for k in columns)
            raise FileFormatError(
                f"one column must hold the {role}", got=got, remedy=f"name one of them {role}, and rename the others"
            )
        if columns:
            positions[role] = (own or columns)[0]
    return dict(sorted(positions.items(), key=lambda item: item[1]))


def plain_name(name: str) -> str:
    """Return a name of a column without case, spaces and punctuation.

    >>> [plain_name(name) for name in ("Node_ID", "node id", "NodeId")]
    ['nodeid', 'nodeid', 'nodeid']
    """
    return re.sub(r"\W|_", "", name.casefold())


def is_number(text: str) -> bool:
    """Return whether a text is a number, with a decimal point or comma.

    >>> [is_number(text) for text in ("1,5", "-2e3", "nan", "noon", "")]
    [True, True, True, False, False]
    """
    return _NUMBER.fullmatch(text) is not None


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
    columns = [[cell_text(value) for value in column.to_pylist()] for column in data.columns]
    rows = [Row(number, list(fields)) for number, fields in enumerate(zip(*columns, strict=True), start=1)]
    rows, forms = _composed(rows)
    heading = tuple(composed(name.strip()) for name in data.column_names)
    return TextTable(rows, "", what, heading=heading, unit="row", forms=forms)


def cell_text(value: object) -> str:
    """Return a value as text: an empty one if it is missing, numbers with all their digits, and ISO dates."""
    if isinstance(value, date):
        return value.isoformat()
    return "" if value is None else str(value).strip()


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
    if separator == " ":
        # The space between a day and its time of day separates no fields.
        lines = [_DAY_AND_TIME.sub(r"\1T", line.replace("\t", " ")) for line in lines]
    rows = (_quoted_rows if any('"' in line for line in lines[start:]) else _plain_rows)(lines, start, separator, what)
    yield from (row for row in rows if any(row.fields))


def _plain_rows(lines: list[str], start: int, separator: str, what: str) -> Iterator[Row]:
    for number, line in enumerate(lines[start:], start=start + 1):
        yield Row(number, _fields(line, separator))


def _quoted_rows(lines: list[str], start: int, separator: str, what: str) -> Iterator[Row]:
    reader = csv.reader(
        (f"{line}\n" for line in lines[start:]), delimiter=separator, skipinitialspace=True, strict=True
    )
    first = start + 1
    try:
        for record in reader:
            fields = [field.strip() for field in record]
            yield Row(first, fields if separator != " " else [field for field in fields if field])
            first = start + reader.line_num + 1
    except csv.Error as error:
        raise FileFormatError(f"line {first} must be {what}", got=error, remedy="close every quote") from None


def _without_empty_columns(rows: list[Row]) -> list[Row]:
    """Return the records without empty last columns, which spreadsheets often leave."""
    # Only where all records have the same width; otherwise a missing last field would be lost.
    while rows and len(rows[0].fields) > 1 and len({len(row.fields) for row in rows}) == 1:
        if any(row.fields[-1] for row in rows):
            break
        rows = [Row(row.line, row.fields[:-1]) for row in rows]
    return rows


def _composed(rows: list[Row]) -> tuple[list[Row], str | None]:
    """Return the records with all names in one form of Unicode, and what was merged by that."""
    # Field by field: a Greek question mark becomes a semicolon, which must not separate fields.
    if all(field.isascii() for row in rows for field in row.fields):
        return rows, None
    forms = merged_forms(field for row in rows for field in row.fields)
    return [Row(row.line, [composed(field) for field in row.fields]) for row in rows], forms


def _note(above: list[str], separator: str) -> tuple[str, ...]:
    """Return the words of the comment right above the first record."""
    above = [line for line in above if line.strip()]
    if not above:
        return ()
    words = above[-1].strip().lstrip("".join(COMMENTS)).strip()
    return tuple(word.strip() for word in (words.split(separator) if separator in words else words.split()))
