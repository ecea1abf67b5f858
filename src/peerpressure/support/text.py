"""Results as text: numbers with the digits that count, and small tables and sketches as HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, final

LEAST_DISTANCE = 0.0001  # smaller ones are not told apart in words
_WIDTH, _HEIGHT, _MARGIN = 320, 96, 3  # of sketches, in pixels
_SPACED = 160  # points of a curve in a sketch
# Of tables, in the colours of the page around them.
_TABLE = "border-collapse:collapse;margin:0.3em 0;color:inherit;font-size:inherit"
_CELL = "text-align:left;vertical-align:top;padding:0.15em 1.2em 0.15em 0"
_NAME = f"{_CELL};font-weight:normal;opacity:0.7"
_FRAME = 720  # height of a page in a notebook, in pixels


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: results by field, arrays as lists, and null for numbers that JSON lacks.

    >>> plain({"error": float("inf"), "times": (1, 2), "place": Path("a")})
    {'error': None, 'times': [1, 2], 'place': 'a'}
    """
    # Arrays are told by what they can do, because the command line starts without NumPy.
    if hasattr(value, "tolist"):
        value = value.tolist()
    match value:
        case Mapping():
            return {str(key): plain(inner) for key, inner in value.items()}
        case list() | tuple():
            return [plain(inner) for inner in value]
        case float():
            return value if math.isfinite(value) else None
        case object(__dataclass_fields__=names):
            own = getattr(value, "to_dict", None)
            return own() if own else {name: plain(getattr(value, name)) for name in names}
        case _:
            return str(value) if isinstance(value, Path) else value


def rounded(value: float, digit: float) -> str:
    """Return a number whose last digit has the order of ``digit``; six digits where that is 0.

    >>> rounded(0.57595329, 1e-3), rounded(0.57595329, 2e-6), rounded(0.57595329, 0.0)
    ('0.576', '0.57595', '0.575953')
    """
    if not (0 < digit < math.inf and math.isfinite(value)):
        return f"{value:.6g}"
    # One significant digit at least, and no more than a double has.
    order = math.floor(math.log10(abs(value))) if value else 0
    return f"{value:.{min(max(order - math.ceil(math.log10(digit)) + 1, 1), 15)}g}"


def with_deviation(mean: float, std: float, error: float = 0.0) -> str:
    """Return a mean with its standard deviation, both to the second digit of the latter, or to the error if larger.

    >>> with_deviation(0.526007, 0.00655), with_deviation(0.5, 0.0), with_deviation(0.50077, 0.011)
    ('0.5260 ± 0.0066', '0.5', '0.501 ± 0.011')
    """
    if not (0 < std < math.inf and math.isfinite(mean)):
        return rounded(mean, error)
    last = max(math.floor(math.log10(std)) - 1, math.floor(math.log10(error)) if error else -400)
    places = min(max(0, -last), 15)
    return f"{mean:.{places}f} ± {std:.{places}f}"


def shown_digit(values: Sequence[float], error: float) -> float:
    """Return the last digit with which values are told from each other: not below their error, and four digits apart.

    >>> shown_digit([0.5, 0.50001], 0.0)
    1e-07
    """
    gap = min((abs(a - b) for a in values for b in values if abs(a - b) > error), default=0.0)
    wanted = min(gap / 100, 1e-4 * max(map(abs, values))) if gap else 1e-4 * max(map(abs, values))
    return float(f"{max(wanted, error):.0e}")


def fixed(value: float, decimals: int) -> str:
    """Return a number with so many decimals.

    >>> fixed(-0.001, 2), fixed(-1234.5, 1)
    ('0.00', '−1,234.5')
    """
    # Adding 0 turns −0 into 0.
    return f"{round(value, decimals) + 0.0:,.{decimals}f}".replace("-", "−")


def _digits(value: float) -> int:
    """Return how many digits of a deviation count: one, or two if the first is a 1, whose rounding is coarse."""
    return 2 if f"{value:.1e}".startswith("1") else 1


def significant(value: float) -> str:
    """Return a distance to one significant digit, or two if that is a 1.

    >>> significant(0.0449), significant(0.0149), significant(1e-7)
    ('0.04', '0.015', 'less than 0.0001')
    """
    if value < LEAST_DISTANCE:
        return f"less than {LEAST_DISTANCE:g}"
    return f"{value:,.{max(0, _digits(value) - 1 - math.floor(math.log10(value)))}f}"


@final
@dataclass(frozen=True)
class HtmlPage:
    """A page of HTML that needs nothing else: no server, no other file, no network.

    Notebooks show it in a frame of its own.

    Attributes
    ----------
    html : str
        The whole document.

    See Also
    --------
    Trajectory.to_html : The page of a run.

    Examples
    --------
    >>> from peerpressure.support.text import HtmlPage
    >>> HtmlPage("<!doctype html><title>Run</title>")
    HtmlPage(33 bytes)
    """

    html: str

    def __str__(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"HtmlPage({len(self.html.encode()):,} bytes)"

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{_FRAME}px;border:0"
        return f'<iframe srcdoc="{escape(self.html, quote=True)}" style="{style}" title="A recorded run"></iframe>'


def html_table(rows: Iterable[tuple[str, str]], heading: str = "") -> str:
    """Return a table of names and values as HTML, with every text escaped, below a heading if one is given.

    >>> html_table([("steps", "<5")], "Run").count("&lt;5")
    1
    """
    body = (f"<tr>{_cell('th', name, _NAME)}{_cell('td', value, _CELL)}</tr>" for name, value in rows)
    title = f"<strong>{escape(heading)}</strong>" if heading else ""
    return f"{title}<table style='{_TABLE}'>{''.join(body)}</table>"


def html_columns(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with a head as HTML, with every text escaped.

    >>> html_columns(["agent"], [["ann"], ["bob"]]).count("<tr>")
    3
    """
    first = "".join(_cell("th", name, _NAME) for name in head)
    body = "".join(f"<tr>{''.join(_cell('td', text, _CELL) for text in row)}</tr>" for row in rows)
    return f"<table style='{_TABLE}'><thead><tr>{first}</tr></thead><tbody>{body}</tbody></table>"


def _cell(tag: str, text: str, style: str) -> str:
    return f"<{tag} style='{style}'>{escape(text)}</{tag}>"


def curve(x: Any, y: Any) -> list[tuple[float, float]]:
    """Return a curve for a sketch: points evenly spaced among those of two sequences or arrays.

    >>> curve(range(10_000), range(10_000))[-1]
    (9999.0, 9999.0)
    """
    last = len(x) - 1
    count = min(_SPACED - 1, last)
    return [(float(x[k]), float(y[k])) for k in (round(part * last / max(count, 1)) for part in range(count + 1))]


def html_sketch(lines: Iterable[Sequence[tuple[float, float]]], label: str) -> str:
    """Return lines through points (x, y) as a small picture above its label; "" without any.

    It has the colour of the text around it.

    >>> html_sketch([[(0, 0), (1, 2)], [(0, 1), (1, 2)]], "two lines").count("<polyline")
    2
    """
    kept = [points for points in ([p for p in line if all(map(math.isfinite, p))] for line in lines) if points]
    if not kept:
        return ""
    ends = [(min(values), max(values)) for values in zip(*(point for points in kept for point in points), strict=True)]
    (left, right), (low, high) = ((a, b if b > a else a + 1) for a, b in ends)

    def place(x: float, y: float) -> str:
        # Upside down: in a picture y counts from above.
        return (
            f"{_MARGIN + (x - left) / (right - left) * _WIDTH:.1f},{_MARGIN + (high - y) / (high - low) * _HEIGHT:.1f}"
        )

    style = "fill='none' stroke='currentColor' stroke-opacity='0.6'"
    drawn = "".join(f"<polyline {style} points='{' '.join(place(*p) for p in points)}'/>" for points in kept)
    size = f"width='{_WIDTH + 2 * _MARGIN}' height='{_HEIGHT + 2 * _MARGIN}'"
    svg = f"<svg role='img' aria-label='{escape(label, quote=True)}' {size}>{drawn}</svg>"
    return f"<div>{svg}<div style='font-size:85%;opacity:0.7'>{escape(label)}</div></div>"
