"""Tables for a page: numbers rounded for reading, decimal points under each other, verdicts as badges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from markupsafe import Markup

if TYPE_CHECKING:
    import pandas as pd

MISSING: Final = "–"
SMALL, LARGE = 1e-3, 1e6  # numbers outside are written with a power of ten
_MINUS: Final = "\N{MINUS SIGN}"


@final
@dataclass(frozen=True)
class Column:
    """One column as the reader sees it: its heading, and how many digits its numbers keep.

    ``digits`` counts significant digits, and with ``fixed`` decimals; words need neither.
    """

    name: str
    heading: str | Markup
    digits: int = 3
    fixed: bool = False


@final
@dataclass(frozen=True)
class Table:
    """Headings and rows of cells, each cell a text or markup; ``numeric`` says which columns stand on the point."""

    headings: Sequence[str | Markup]
    rows: Sequence[Sequence[str | Markup]]
    numeric: Sequence[bool]
    rows_left_out: int = field(default=0)


def table(data: pd.DataFrame, columns: Sequence[Column], *, most: int | None = None) -> Table:
    """Return the chosen columns of the first rows, ready to be set."""
    shown = data if most is None else data.head(most)
    numeric = [_is_numeric(data[column.name].tolist()) for column in columns]
    cells = [
        aligned([number(value, column.digits, fixed=column.fixed) for value in shown[column.name]])
        if on_point
        else [word(value) for value in shown[column.name]]
        for column, on_point in zip(columns, numeric, strict=True)
    ]
    rows = list(zip(*cells, strict=True))
    return Table([column.heading for column in columns], rows, numeric, len(data) - len(shown))


def number(value: Any, digits: int = 3, *, fixed: bool = False) -> str:
    """Return a number as a reader wants it.

    >>> number(0.012345), number(-1234567.0), number(3.14159, 2, fixed=True), number(12, 1), number(1e-7)
    ('0.0123', '−1.23×10^6', '3.14', '12', '1.00×10^−7')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if isinstance(value, (bool, np.bool_)):
        return word(value)
    if isinstance(value, (int, np.integer)):
        return f"{value:,}".replace("-", _MINUS).replace(",", "\N{THIN SPACE}")
    value = float(value)
    if math.isinf(value):
        return "∞" if value > 0 else f"{_MINUS}∞"
    if value and not fixed and not SMALL <= abs(value) < LARGE:
        head, tail = f"{value:.{digits - 1}e}".split("e")
        return f"{head}×10^{int(tail)}".replace("-", _MINUS)
    places = digits if fixed or not value else max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{places}f}".replace("-", _MINUS)


def word(value: Any) -> str:
    """Return a cell that is no measurement.

    >>> word(True), word("slow_tree"), word(float("nan"))
    ('yes', 'slow tree', '–')
    """
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    return str(value).replace("_", " ")


def aligned(texts: Sequence[str]) -> list[Markup]:
    """Return numbers padded on the right by invisible digits, so that flush right puts their points in one line."""
    tails = [_tail(text) for text in texts]
    longest = max(map(len, tails), default=0)
    cells = []
    for text, tail in zip(texts, tails, strict=True):
        # The widest tail is filled up with what has the same width: a point if there was none, and digits.
        missing = longest - len(tail)
        pad = ("." if not tail else "0") + "0" * (missing - 1) if missing and "×" not in text else ""
        cells.append(raised(text) + (Markup('<span class="pad" aria-hidden="true">{}</span>').format(pad) if pad else ""))
    return cells


def _tail(text: str) -> str:
    """Return a number from its point on."""
    return "." + text.partition(".")[2] if "." in text and "×" not in text else ""


def raised(text: str) -> Markup:
    """Return a text with its power of ten set high.

    >>> raised("1.00×10^−7")
    Markup('1.00×10<sup>−7</sup>')
    """
    head, power, exponent = text.partition("×10^")
    return Markup("{}×10<sup>{}</sup>").format(head, exponent) if power else Markup.escape(text)


def _is_numeric(values: Sequence[Any]) -> bool:
    numbers = (int, float, np.integer, np.floating)
    return all(value is None or (isinstance(value, numbers) and not isinstance(value, bool)) for value in values)


def pick(data: pd.DataFrame, column: str, where: Mapping[str, Any] | None = None) -> Any:
    """Return the value of a column in the first row that matches."""
    for name, value in (where or {}).items():
        data = data[data[name] == value]
    return data[column].iloc[0]
