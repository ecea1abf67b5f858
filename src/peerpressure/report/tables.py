"""Tables for a page: numbers rounded for reading, with their decimal points under each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from markupsafe import Markup

from peerpressure.report.html import typeset

if TYPE_CHECKING:
    import pandas as pd


MISSING: Final = "–"
SMALL, LARGE = 1e-4, 1e6  # numbers outside are written with a power of ten
_MINUS: Final = "\N{MINUS SIGN}"


class Form(Enum):
    """What the digits of a column count: significant ones, decimals, or nothing, for numbers that are round."""

    SIGNIFICANT = "significant"
    FIXED = "fixed"
    PLAIN = "plain"


@final
@dataclass(frozen=True)
class Column:
    """One column as the reader sees it; with ``zero_is_none`` a zero is missing, and ``names`` replace words."""

    name: str
    heading: str | Markup
    digits: int = 3
    form: Form = Form.SIGNIFICANT
    zero_is_none: bool = False
    names: Mapping[str, str | Markup] = field(default_factory=dict)

    def cell(self, value: Any) -> str | Markup:
        """Return one of its words."""
        return self.names.get(value, typeset(word(value)))

    def text(self, value: Any) -> str:
        """Return one of its numbers."""
        return MISSING if self.zero_is_none and value == 0 else number(value, self.digits, self.form)


@final
@dataclass(frozen=True)
class Table:
    """Headings and rows of cells, each cell a text or markup; ``numeric`` says which columns stand on the point."""

    headings: Sequence[str | Markup]
    rows: Sequence[Sequence[str | Markup]]
    numeric: Sequence[bool]
    rows_left_out: int = 0


def table(data: pd.DataFrame, columns: Sequence[Column], *, most: int | None = None) -> Table:
    """Return the chosen columns of all rows, or of the first ones, ready to be set."""
    shown = data if most is None else data.head(most)
    numeric = [_is_numeric(data[column.name].tolist()) for column in columns]
    cells = [
        aligned([column.text(value) for value in shown[column.name]])
        if on_point
        else [column.cell(value) for value in shown[column.name]]
        for column, on_point in zip(columns, numeric, strict=True)
    ]
    rows = list(zip(*cells, strict=True))
    return Table([column.heading for column in columns], rows, numeric, len(data) - len(shown))


def number(value: Any, digits: int = 3, form: Form = Form.SIGNIFICANT) -> str:
    """Return a number as a reader wants it.

    >>> number(0.012345), number(-1234567.0), number(3.14159, 2, Form.FIXED), number(10.0, form=Form.PLAIN)
    ('0.0123', '−1.23×10^6', '3.14', '10')
    """
    if _is_missing(value):
        return MISSING
    if isinstance(value, (int, np.integer)):
        return f"{value:,}".replace("-", _MINUS)
    value = float(value)
    if math.isinf(value):
        return "∞" if value > 0 else f"{_MINUS}∞"
    if form is Form.PLAIN:
        return f"{value:g}".replace("-", _MINUS)
    if value and form is Form.SIGNIFICANT and not SMALL <= abs(value) < LARGE:
        head, tail = f"{value:.{digits - 1}e}".split("e")
        return f"{head}×10^{int(tail)}".replace("-", _MINUS)
    decimals = digits if form is Form.FIXED or not value else max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}".replace("-", _MINUS)


def word(value: Any) -> str:
    """Return a cell that is no measurement.

    >>> word(True), word("slow_tree"), word(float("nan"))
    ('yes', 'slow tree', '–')
    """
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return MISSING if _is_missing(value) else str(value).replace("_", " ")


def aligned(texts: Sequence[str]) -> list[Markup]:
    """Return numbers padded on the right by invisible digits, so that flush right puts their points in one line."""
    tails = [_tail(text) for text in texts]
    longest = max(map(len, tails), default=0)
    return [typeset(text) + _pad(tail, longest, text) for text, tail in zip(texts, tails, strict=True)]


def _tail(text: str) -> str:
    """Return a number from its point on."""
    return "." + text.partition(".")[2] if "." in text and "×" not in text else ""


def _pad(tail: str, longest: int, text: str) -> Markup:
    """Return what fills a tail up to the longest: a point if it has none, and digits."""
    missing = longest - len(tail)
    if not missing or "×" in text or text == MISSING:
        return Markup("")
    filling = ("0" if tail else ".") + "0" * (missing - 1)
    return Markup('<span class="pad" aria-hidden="true">{}</span>').format(filling)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _is_numeric(values: Sequence[Any]) -> bool:
    return all(value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)) for value in values)


def pick(data: pd.DataFrame, column: str, where: Mapping[str, Any]) -> Any:
    """Return the value of a column in the first row that matches."""
    return matching(data, where)[column].iloc[0]


def matching(data: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows in which each named column has its value."""
    for name, value in where.items():
        data = data[data[name] == value]
    return data
