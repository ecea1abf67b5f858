"""The parts of an HTML page: numbers, tables and texts, and the templates that contain them."""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension
from markupsafe import Markup

if TYPE_CHECKING:
    import pandas as pd

# Non-greedy, to keep two formulas in a line apart; a displayed formula may span lines.
_IN_TEXT: Final = re.compile(r"\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_PLAIN: Final = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
# The order matters: powers of ten first become ^, then hyphens minus signs, and only then superscripts are marked up.
_RULES: Final[Sequence[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]]] = (
    # A number that rounds to 0 needs no power.
    (re.compile(r"\b0(?:\.0+)?e[+-]?\d+\b"), "0"),
    (re.compile(r"(\d)e([+-])0*(\d+)\b"), r"\1×10^\2\3"),
    # Python writes 1e+06, whose plus sign would become part of the exponent.
    (re.compile(r"\^\+"), "^"),
    # A hyphen before a number is a minus, unless it joins words.
    (re.compile(r"(?<![\w)])-(?=[\d.])"), "−"),
    (re.compile(r"\^-"), "^−"),
    (re.compile(r"\^([−]?[\w√]+(?:\.\d+)?)"), r"<sup>\1</sup>"),
    # The signs ₀ to ₉ of a font may look like letters.
    (re.compile("([₀-₉]+)"), lambda match: f"<sub>{match[1].translate(_PLAIN)}</sub>"),
    # A subscript is one character or in brackets; a name such as slow_tree has more and keeps its underscore.
    (re.compile(r"(?<=[\wα-ωΑ-Ω])_(?:\{([^}]+)\}|\(([^)]+)\)|(\w))(?!\w)"), r"<sub>\1\2\3</sub>"),
)
MISSING: Final = "–"
WIDE: Final = 500  # CSS pixels; figures of one column have 392, those of two columns 806
LEAST_PLAIN, LEAST_LARGE = 1e-4, 1e6  # numbers outside are written with a power of ten
_MINUS: Final = "\N{MINUS SIGN}"


def with_formulas(text: str) -> str:
    r"""Return a text whose formulas are drawn, \\(…\\) in the line and \\[…\\] on a line of its own."""

    def drawn(match: re.Match[str]) -> str:
        # Imported here: most texts have no formula, and need no Matplotlib.
        from peerpressure.report.formulas import formula

        return formula(match[1]) if match[1] else f'<div class="display">{formula(match[2])}</div>'

    return _IN_TEXT.sub(drawn, text)


def typeset(text: str) -> Markup:
    """Return plain text as markup, with superscripts, subscripts, minus signs and powers of ten; the rest is escaped.

    >>> typeset("y_(t−1) < 1.5e-07·t^-0.5 for Σ_{t=1}")
    Markup('y<sub>t−1</sub> &lt; 1.5×10<sup>−7</sup>·t<sup>−0.5</sup> for Σ<sub>t=1</sub>')
    """
    # The rules keep escaped text escaped: none of them makes or breaks an entity.
    safe = str(Markup.escape(text))
    for pattern, replacement in _RULES:
        safe = pattern.sub(replacement, safe)
    return Markup(safe)


class Form(Enum):
    """Meaning of a column's digits: significant digits, decimals, or none for round numbers."""

    SIGNIFICANT = "significant"
    FIXED = "fixed"
    PLAIN = "plain"


@final
@dataclass(frozen=True)
class Column:
    """A column of a printed table; with ``zero_is_none`` a zero is a missing value, and ``names`` replace words."""

    name: str
    heading: str | Markup
    digits: int = 3
    form: Form = Form.SIGNIFICANT
    zero_is_none: bool = False
    names: Mapping[str, str | Markup] = field(default_factory=dict)

    def cell(self, value: Any) -> str | Markup:
        """Return a text of the column as markup."""
        return self.names.get(value, typeset(word(value)))

    def text(self, value: Any) -> str:
        """Return a number of the column as text."""
        return MISSING if self.zero_is_none and value == 0 else number(value, self.digits, self.form)


@final
@dataclass(frozen=True)
class HtmlTable:
    """Headings and rows of cells, each cell a text or markup; ``numeric`` columns are aligned at the decimal point."""

    headings: Sequence[str | Markup]
    rows: Sequence[Sequence[str | Markup]]
    numeric: Sequence[bool]
    rows_left_out: int = 0


def table(data: pd.DataFrame, columns: Sequence[Column], *, most: int | None = None) -> HtmlTable:
    """Return the chosen columns of all rows, or of the first ``most``, as a printed table."""
    shown = data if most is None else data.head(most)
    # From all rows, not only the printed ones: a column keeps its alignment when rows are left out.
    numeric = [is_numeric(data[column.name].tolist()) for column in columns]
    cells = [
        aligned([column.text(value) for value in shown[column.name]])
        if is_number
        else [column.cell(value) for value in shown[column.name]]
        for column, is_number in zip(columns, numeric, strict=True)
    ]
    rows = list(zip(*cells, strict=True))
    return HtmlTable([column.heading for column in columns], rows, numeric, len(data) - len(shown))


def number(value: Any, digits: int = 3, form: Form = Form.SIGNIFICANT) -> str:
    """Return a number rounded for reading.

    >>> number(0.012345), number(-1234567.0), number(3.14159, 2, Form.FIXED), number(10.0, form=Form.PLAIN)
    ('0.0123', '−1.23×10^6', '3.14', '10')
    """
    if _is_missing(value):
        return MISSING
    # Integers are exact and get all their digits, with separators.
    if isinstance(value, (int, np.integer)):
        return f"{value:,}".replace("-", _MINUS)
    value = float(value)
    if math.isinf(value):
        return "∞" if value > 0 else f"{_MINUS}∞"
    if form is Form.PLAIN:
        return f"{value:g}".replace("-", _MINUS)
    if value and form is Form.SIGNIFICANT and not LEAST_PLAIN <= abs(value) < LEAST_LARGE:
        head, tail = f"{value:.{digits - 1}e}".split("e")
        return f"{head}×10^{int(tail)}".replace("-", _MINUS)
    # The logarithm of 0 does not exist; a zero has as many decimals as digits.
    decimals = digits if form is Form.FIXED or not value else max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}".replace("-", _MINUS)


def word(value: Any) -> str:
    """Return a cell that is not a number.

    >>> word(True), word("slow_tree"), word(float("nan"))
    ('yes', 'slow tree', '–')
    """
    # Before any test for numbers: a bool is an int in Python.
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return MISSING if _is_missing(value) else str(value).replace("_", " ")


def aligned(texts: Sequence[str]) -> list[Markup]:
    """Return numbers padded on the right by invisible digits, to align decimal points by right alignment."""
    tails = [_tail(text) for text in texts]
    longest = max(map(len, tails), default=0)
    return [typeset(text) + _pad(tail, longest, text) for text, tail in zip(texts, tails, strict=True)]


def _tail(text: str) -> str:
    """Return a number from its decimal point on."""
    return "." + text.partition(".")[2] if "." in text and "×" not in text else ""


def _pad(tail: str, longest: int, text: str) -> Markup:
    """Return the padding of a tail up to the longest: a point if it has none, and digits."""
    missing = longest - len(tail)
    # Numbers with a power of ten, and dashes, have no decimal point to align with the others.
    if not missing or "×" in text or text == MISSING:
        return Markup("")
    # A number without a decimal point is padded by an invisible point and digits.
    filling = ("0" if tail else ".") + "0" * (missing - 1)
    return Markup('<span class="pad" aria-hidden="true">{}</span>').format(filling)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def is_numeric(values: Sequence[Any]) -> bool:
    """Return whether all values are numbers or missing; yes and no are none."""
    return all(value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)) for value in values)


def pick(data: pd.DataFrame, column: str, where: Mapping[str, Any]) -> Any:
    """Return the value of a column in the first row that matches."""
    return matching(data, where)[column].iloc[0]


def matching(data: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows in which each named column has its value."""
    if not where:
        return data
    # One selection for all columns: each would copy the table.
    found = [(data[name] == value).to_numpy(dtype=bool, na_value=False) for name, value in where.items()]
    return data[np.all(found, axis=0)]


@final
@dataclass(frozen=True)
class Image:
    """A picture as a data URL, with its size in CSS pixels."""

    address: str
    width: int
    height: int

    @property
    def wide(self) -> bool:
        """Whether it has panels side by side, which a phone cannot show legibly."""
        return self.width > WIDE


class Mathematics(Extension):
    r"""Draws mathematics in templates: \\(…\\) in a line, \\[…\\] on a line of its own."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Return the source of a template with its formulas drawn."""
        # Done before the template is compiled, to draw a formula once and not at each rendering. Formulas therefore
        # cannot contain template expressions.
        return with_formulas(source)


@lru_cache(maxsize=1)
def templates() -> Environment:
    """Return the templates of all pages; a template that uses a name without a value raises."""
    environment = Environment(
        loader=PackageLoader("peerpressure.report"),
        extensions=[Mathematics],
        # A misspelt name fails instead of leaving a gap in the text.
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": _typeset_number, "typeset": typeset}
    environment.globals["font"] = _font
    return environment


def _font(name: str) -> str:
    """Return the address of a font of the package, which the explorer serves and a page carries in itself."""
    data = files("peerpressure").joinpath("explorer", "static", "vendor", *name.split("/")).read_bytes()
    return f"data:font/woff2;base64,{b64encode(data).decode()}"


def _typeset_number(value: Any, digits: int = 3) -> Markup:
    return typeset(number(value, digits))
