"""Tables as spreadsheets and other programs write them, column by column.

One table serves edges, contacts, attributes of agents and outputs. It identifies columns by their names, reads numbers
and dates from distinct texts, describes what it found, and names the line of whatever is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, InvalidInputError
from peerpressure.support.dates import DateError, as_seconds, check_no_clocks, is_date
from peerpressure.support.parameters import composed

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
# Integers as Python writes them: "007" stays text, because reading must not change a label.
INTEGER = re.compile(r"-?[1-9][0-9]{0,17}|0")
Coded: TypeAlias = "tuple[NDArray[np.int64], list[str]]"

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
# 1,234 and 1.234 are one thousand or a decimal number; only the context can decide.
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:[,.]\d{3})+")


class Row(NamedTuple):
    """Fields of one record, and the number of its first line."""

    line: int
    fields: list[str]

    def described(self, shown: int = 5) -> str:
        """Return the number of fields and the first of them, for a message."""
        return f"{len(self.fields)} field{'s' * (len(self.fields) != 1)} {self.fields[:shown]}"


@final
class Column:
    """The texts of a column: each distinct one once, and the place of that of each record among them.

    A record without such a field has the place -1. Where all texts are numbers these may be given alone: int64 for
    whole numbers as Python writes them, float64 for finite ones; the texts are then made when they are asked for.
    """

    def __init__(self, coded: Coded | Callable[[], Coded], numbers: NDArray[Any] | None = None) -> None:
        self._coded = coded
        self.numbers = numbers

    @classmethod
    def of(cls, texts: Iterable[str | None]) -> Column:
        """Return the column of these texts, None where a record has no such field."""
        places: dict[str, int] = {}
        codes = [-1 if text is None else places.setdefault(text, len(places)) for text in texts]
        return cls((np.array(codes, dtype=np.int64), list(places)))

    @classmethod
    def absent(cls, count: int) -> Column:
        """Return a column that none of these records has."""
        return cls((np.full(count, -1), []))

    @classmethod
    def of_numbers(cls, numbers: NDArray[Any]) -> Column:
        """Return the column of numbers as Python writes them."""
        return cls(lambda: _numbers_as_texts(numbers), numbers)

    @cached_property
    def coded(self) -> Coded:
        """Places and distinct texts."""
        return self._coded() if callable(self._coded) else self._coded

    @property
    def codes(self) -> NDArray[np.int64]:
        """Place of the text of each record among the distinct ones."""
        return self.coded[0]

    @property
    def texts(self) -> list[str]:
        """Distinct texts, each of which occurs."""
        return self.coded[1]

    def __len__(self) -> int:
        return len(self.codes if self.numbers is None else self.numbers)

    @cached_property
    def has_commas(self) -> bool:
        """Whether a text has a comma, which none has that is a number with a point."""
        return self.numbers is None and any("," in text for text in self.texts)

    @property
    def is_empty(self) -> bool:
        """Whether the texts of all records are empty."""
        return self.numbers is None and self.texts == [""]

    @property
    def is_whole(self) -> bool:
        """Whether the column is known to have whole numbers only."""
        return self.numbers is not None and self.numbers.dtype.kind == "i"

    @cached_property
    def is_complete(self) -> bool:
        """Whether every record has this field."""
        return self.numbers is not None or not len(self.codes) or bool(self.codes.min() >= 0)

    def text(self, k: int) -> str | None:
        """Return the text of a record."""
        if self.is_whole:
            assert self.numbers is not None
            return str(self.numbers[k])
        return None if self.codes[k] < 0 else self.texts[self.codes[k]]

    def has(self, text: str) -> bool:
        """Return whether a text occurs."""
        if self.numbers is not None and not is_number(text):
            return False
        if self.is_whole:
            assert self.numbers is not None
            return INTEGER.fullmatch(text) is not None and bool((self.numbers == int(text)).any())
        return text in self.texts

    def where(self, rule: Callable[[str], object]) -> NDArray[np.bool_]:
        """Return which records have a text that follows a rule."""
        # One more for the place -1.
        follows = np.array([*map(bool, map(rule, self.texts)), False])
        return follows[self.codes]

    def taken(self, chosen: Any) -> Column:
        """Return the column of some records."""
        if self.is_whole:
            assert self.numbers is not None
            return Column.of_numbers(self.numbers[chosen])
        numbers = None if self.numbers is None else self.numbers[chosen]
        return Column(lambda: _occurring(self.codes[chosen], self.texts), numbers)

    def below(self, text: str | None) -> Column:
        """Return the column with one more text at its beginning."""
        if self.is_whole and text is not None and INTEGER.fullmatch(text):
            assert self.numbers is not None
            return Column.of_numbers(np.concatenate([[int(text)], self.numbers]))
        return Column.of([text]).and_then(self)

    def and_then(self, other: Column) -> Column:
        """Return this column with another one below it."""
        places = {text: k for k, text in enumerate(self.texts)}
        again = [places.setdefault(text, len(places)) for text in other.texts]
        return Column((np.concatenate([self.codes, np.array([*again, -1])[other.codes]]), list(places)))

    def renamed(self, rule: Callable[[str], str]) -> Column:
        """Return the column with other texts, of which some may be equal."""
        renamed = list(map(rule, self.texts))
        if renamed == self.texts:
            return self
        places = {text: k for k, text in enumerate(dict.fromkeys(renamed))}
        return Column((np.array([*(places[text] for text in renamed), -1])[self.codes], list(places)))


def _numbers_as_texts(numbers: NDArray[Any]) -> Coded:
    # By their bits, because 0.0 and -0.0 have texts of their own.
    distinct, codes = np.unique(numbers.view(np.int64), return_inverse=True)
    return codes, list(map(str, distinct.view(numbers.dtype).tolist()))


def _occurring(codes: NDArray[np.int64], texts: list[str]) -> Coded:
    """Return the places of texts among those that occur, and these."""
    occurs = np.zeros(len(texts) + 1, dtype=bool)
    occurs[codes] = True
    if occurs[:-1].all():
        return codes, texts
    rank = np.append(np.cumsum(occurs[:-1]) - 1, -1)
    return rank[codes], [text for text, here in zip(texts, occurs, strict=False) if here]


def columns_of(rows: Sequence[Sequence[str]]) -> tuple[Column, ...]:
    """Return the columns of records, of which some may have fewer fields."""
    sizes = set(map(len, rows))
    if len(sizes) == 1:
        return tuple(map(Column.of, zip(*rows, strict=True)))
    return tuple(Column.of(row[k] if k < len(row) else None for row in rows) for k in range(max(sizes, default=0)))


@dataclass(frozen=True, eq=False)
class TextTable:
    """Records of text fields, column by column; ``what`` names a record in messages.

    ``lines`` are the first lines of the records. ``first`` is the record above the columns while it may be a heading:
    `headed` or `unheaded` must decide that before the columns are used. ``heading`` has the names of the columns, if
    they are known, and ``note`` the words of the comment right above the first record, which may be such names.
    ``encoding`` is that of the text, where it is a conclusion, ``unit`` what the numbers of the records count, and
    ``forms`` describes names that came in several forms of Unicode. ``form`` names a format in which the separator says
    nothing. ``doubtful`` are lines that begin like comments, and are some above a heading, and records below one.
    """

    columns: tuple[Column, ...]
    lines: NDArray[np.int64]
    separator: str
    what: str = "a row"
    note: tuple[str, ...] = ()
    first: Row | None = None
    heading: tuple[str, ...] | None = None
    encoding: str | None = None
    unit: str = "line"
    forms: str | None = None
    form: str = ""
    doubtful: tuple[tuple[int, str], ...] = ()

    @classmethod
    def of_rows(cls, rows: Sequence[Row], separator: str, what: str = "a row", **others: Any) -> TextTable:
        """Return the table of records that are given one by one."""
        return cls(
            columns_of([row.fields for row in rows]), np.array([row.line for row in rows]), separator, what, **others
        )

    def __len__(self) -> int:
        return len(self.lines) + (self.first is not None)

    @cached_property
    def width(self) -> int:
        """Number of columns of the heading, or of the longest record if there is none."""
        if self.heading is not None:
            return len(self.heading)
        return max(len(self.columns), 0 if self.first is None else len(self.first.fields))

    def row(self, k: int) -> Row:
        """Return a record."""
        texts = (column.text(k) for column in self.columns)
        return Row(int(self.lines[k]), [text for text in texts if text is not None])

    def headed(self) -> TextTable:
        """Return the table with its first record as the heading, unless it has one."""
        if self.first is None:
            return self if self.heading is not None else replace(self, heading=())
        return self._under(tuple(self.first.fields))

    def _under(self, names: tuple[str, ...]) -> TextTable:
        """Return the table below a heading, of whose columns some may have no texts."""
        absent = [Column.absent(len(self.lines))] * (len(names) - len(self.columns))
        return replace(self, first=None, heading=names, columns=(*self.columns, *absent), doubtful=())

    def unheaded(self) -> TextTable:
        """Return the table without a heading row, in which a line that begins like a comment may be a record."""
        if self.first is None:
            return self
        for number, line in self.doubtful:
            raise (comment_above if number < self.first.line else comment_below)(number, line)
        return self.whole()

    def whole(self) -> TextTable:
        """Return the table in which the record above the columns is one of theirs."""
        if self.first is None:
            return self
        texts, absent = self.first.fields, Column.absent(len(self.lines))
        columns = (
            (texts[k] if k < len(texts) else None, self.columns[k] if k < len(self.columns) else absent)
            for k in range(self.width)
        )
        lines = np.concatenate([[self.first.line], self.lines])
        return replace(self, columns=tuple(column.below(text) for text, column in columns), lines=lines, first=None)

    def under_note(self) -> TextTable:
        """Return the table with the comment right above its first record as the heading."""
        assert self.first is not None
        first = self.first.line
        below = tuple(each for each in self.doubtful if each[0] > first)
        return replace(self, doubtful=below).unheaded()._under(self.note)

    def taken(self, chosen: NDArray[Any] | Sequence[int]) -> TextTable:
        """Return the table of some records, in this order."""
        places = np.asarray(chosen, dtype=np.int64)
        return replace(self, columns=tuple(column.taken(places) for column in self.columns), lines=self.lines[places])

    def column(self, k: int) -> list[str]:
        """Return the texts in a column."""
        column = self._complete(k)
        texts = column.texts
        return [texts[code] for code in column.codes.tolist()]

    def _complete(self, k: int) -> Column:
        """Return a column that every record must have."""
        column = self.columns[k]
        if column.is_complete:
            return column
        row = self.row(int(np.argmin(column.codes)))
        raise self.malformed(row, row.described(), "fill every column, and quote fields that hold the separator")

    def sizes(self) -> NDArray[np.int64]:
        """Return the number of fields of each record."""
        sizes = np.full(len(self.lines), len(self.columns))
        for column in self.columns:
            if not column.is_complete:
                sizes -= column.codes < 0
        return sizes

    def is_numeric(self, k: int) -> bool:
        """Return whether a column has numbers only, and at least one."""
        return self._follows(k, is_number)

    def is_whole(self, k: int) -> bool:
        """Return whether a column has whole numbers as Python writes them, and at least one."""
        return self._follows(k, INTEGER.fullmatch)

    def has_dates(self, k: int) -> bool:
        """Return whether a column has dates only, and at least one."""
        return self._follows(k, is_date)

    def _follows(self, k: int, rule: Callable[[str], object]) -> bool:
        if not len(self.lines) or k >= len(self.columns):
            return False
        column = self.columns[k]
        if column.is_whole:
            return bool(rule("1"))
        return (column.numbers is not None and rule is is_number) or (
            column.is_complete and all(map(rule, column.texts))
        )

    def has_quantities(self, k: int) -> bool:
        """Return whether a column has numbers, if only some: also per cent, money, thousands, or signs."""
        column = self.columns[k]
        return any(map(_QUANTITY.fullmatch, column.texts)) if column.numbers is None else bool(len(column))

    def numbers(self, k: int, name: str, kind: str = "a number") -> NDArray[np.float64]:
        """Return a column of numbers, written with decimal points or decimal commas but not both."""
        column = self._complete(k)
        if column.numbers is None and not all(map(is_number, column.texts)):
            row = int(np.argmin(column.where(is_number)))
            got = f"{name} {column.text(row)!r}"
            raise self.malformed(self.row(row), got, f"the {name} must be {kind}")
        commas = self.has_decimal_commas(k)
        if column.numbers is not None:
            return column.numbers.astype(np.float64)
        texts = [text.replace(",", ".") for text in column.texts] if commas else column.texts
        return np.array([float(text) for text in texts], dtype=np.float64)[column.codes]

    def times(self, k: int) -> NDArray[np.float64]:
        """Return a column of times: numbers, or dates as seconds since 1970."""
        column = self._complete(k)
        if column.numbers is not None or not any(map(is_date, column.texts)):
            try:
                check_no_clocks(column.texts if column.numbers is None else ())
            except InvalidInputError as error:
                raise FileFormatError(str(error)) from None
            return self.numbers(k, "time", "a number or a date such as 2024-01-31T12:00:00")
        # In the order of first appearance: a date is compared with those above it.
        _, firsts, place = np.unique(column.codes, return_index=True, return_inverse=True)
        order = np.argsort(firsts)
        try:
            seconds = as_seconds([column.texts[k] for k in order.tolist()])
        except DateError as error:
            row = self.row(int(firsts[order[error.place]]))
            raise self.malformed(row, f"time {row.fields[k]!r}", error.rule) from None
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return seconds[rank[place]]

    def has_decimal_commas(self, k: int) -> bool:
        """Return whether the numbers in a column have decimal commas, and raise if that is ambiguous."""
        column = self.columns[k]
        # Numbers that were read as such have points, which may separate thousands only beside semicolons.
        if column.is_whole or (column.numbers is not None and self.separator != ";"):
            return False
        # Only among numbers: names may contain commas.
        commas, points = ([text for text in column.texts if sign in text and is_number(text)] for sign in ",.")
        if commas and points:
            places = [int(np.argmax(column.where(each.__contains__))) for each in (commas, points)]
            got = " and ".join(f"{column.text(place)!r} on line {self.lines[place]}" for place in places)
            raise FileFormatError(
                "the numbers of a column must use one decimal sign", got=got, remedy="write all of them with points"
            )
        # Programs use semicolons as separators where commas are decimal signs, and points may separate thousands.
        unusual = points if self.separator == ";" else commas
        if unusual and all(map(_THOUSANDS.fullmatch, unusual)):
            remedy = "write numbers without separators of thousands, or with more or fewer decimals"
            place = int(np.argmax(column.where(unusual.__contains__)))
            got = f"{column.text(place)!r} on line {self.lines[place]}"
            raise FileFormatError(
                "a decimal sign must be distinguishable from a separator of thousands", got=got, remedy=remedy
            )
        return bool(commas)

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
        wrong = self.sizes() != self.width
        if wrong.any():
            row = self.row(int(np.argmax(wrong)))
            remedy = "fill every column, and quote fields that hold the separator"
            one = len(row.fields) == 1 and alone
            raise self.malformed(row, f"{row.described()} for {self.width} columns", one or remedy)

    def check_headings(self) -> None:
        """Raise if a record is the heading again, as in files that were joined."""
        names = [name.casefold() for name in self.heading or ()]
        if not len(self.lines) or not names:
            return
        again = self.sizes() == len(names)
        for name, column in zip(names, self.columns, strict=False):
            # The first column decides for most tables.
            if not again.any() or (column.is_whole and not is_number(name)):
                return
            again &= column.where(partial(_is_same, name))
        if again.any():
            raise self.heading_again(self.row(int(np.argmax(again))))

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
        commas = [k for k in columns if self.columns[k].has_commas]
        numeric = (k for k in commas if k not in places.values() or self.is_numeric(k))
        if any(self.has_decimal_commas(k) for k in numeric):
            parts.append("decimal commas")
        if "time" in places and self.has_dates(places["time"]):
            parts.append("dates")
        if self.heading is None:
            parts.append(f"no heading, columns {', '.join(sorted(places, key=places.__getitem__))}")
        else:
            parts += [
                f"{role} from {self.heading[k]!r}"
                if "".join(self.heading[k : k + 1])
                else f"{role} from column {k + 1}"
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


def _is_same(name: str, text: str) -> bool:
    return text.casefold() == name


def comment_above(number: int, line: str) -> FileFormatError:
    """Return the error for a line above the first record that begins like a comment, and has the fields of a record."""
    rule, sign = f"it must be clear whether line {number} is a comment", line.lstrip()[0]
    remedy = f"put a space after the {sign} if it is one, and else name the columns above it"
    return FileFormatError(rule, got=repr(line.strip()[:60]), remedy=remedy)


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


def cell_text(value: object) -> str:
    """Return a value as text: an empty one if it is missing, numbers with all their digits, and ISO dates."""
    if isinstance(value, date):
        return value.isoformat()
    return "" if value is None else str(value).strip()
