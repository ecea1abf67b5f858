"""Mathematics for a page: formulas as drawn letters, the same in every browser, with no script and no font to fetch."""

from __future__ import annotations

import base64
import re
import struct
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import Final, final

from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath

from peerpressure.plotting import render
from peerpressure.plotting.style import ONE_COLUMN

_SIZE: Final = 100.0  # units to the em
_FONT: Final = FontProperties(family="STIXGeneral", math_fontfamily="stix")
_COMMANDS: Final = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C", Path.CLOSEPOLY: "Z"}
_IN_TEXT: Final = re.compile(r"\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)


@lru_cache(maxsize=512)
def formula(latex: str) -> str:
    """Return a formula, in Matplotlib's part of LaTeX, as an SVG that stands on the line and has the text's colour.

    >>> formula("x^2")[:56]
    '<svg class="formula" role="img" aria-label="x^2" viewBox'
    """
    outline = TextPath((0, 0), f"${latex}$", size=_SIZE, prop=_FONT)
    box = outline.get_extents()
    # The origin is kept on the left, since an italic letter may begin behind it.
    left, width = min(0.0, box.x0), box.x1 - min(0.0, box.x0)
    view = f"{left:.0f} {-box.y1:.0f} {width:.0f} {box.height:.0f}"
    sizes = {"width": width, "height": box.height, "vertical-align": box.y0}
    size = ";".join(f"{name}:{units / _SIZE:.3f}em" for name, units in sizes.items())
    name = escape(" ".join(latex.split()))
    return (
        f'<svg class="formula" role="img" aria-label="{name}" viewBox="{view}" style="{size}">'
        f'<path d="{_drawn(outline)}"/></svg>'
    )


def _drawn(outline: Path) -> str:
    """Return the outline as path commands; heights count down in SVG and up here."""
    parts = []
    for points, code in outline.iter_segments(curves=True, simplify=False):
        numbers = "" if code == Path.CLOSEPOLY else " ".join(f"{x:.1f} {-y:.1f}" for x, y in points.reshape(-1, 2))
        parts.append(_COMMANDS[code] + numbers)
    return "".join(parts)


def with_formulas(text: str) -> str:
    r"""Return a text with what stands in \\(…\\) drawn in the line and in \\[…\\] on a line of its own."""

    def drawn(found: re.Match[str]) -> str:
        return formula(found[1]) if found[1] else f'<div class="display">{formula(found[2])}</div>'

    return _IN_TEXT.sub(drawn, text)


# Plain text made fit to print: powers and indices set high and low, true minus signs, powers of ten.

_RULES: Final = (
    # A number that steps to nothing needs no power.
    (re.compile(r"\b0(?:\.0+)?e[+-]?\d+\b"), "0"),
    (re.compile(r"(\d)e([+-])0*(\d+)\b"), r"\1×10^\2\3"),
    (re.compile(r"\^\+"), "^"),
    # A hyphen before a number is a minus, unless it joins words.
    (re.compile(r"(?<![\w)])-(?=[\d.])"), "−"),
    (re.compile(r"\^-"), "^−"),
    (re.compile(r"\^([−]?[\w√]+(?:\.\d+)?)"), r"<sup>\1</sup>"),
    (re.compile(r"(?<=[\wα-ωΑ-Ω])_(?:\{([^}]+)\}|\(([^)]+)\)|(\w))(?!\w)"), r"<sub>\1\2\3</sub>"),
)


def typeset(text: str) -> Markup:
    """Return a text as markup, with everything else in it escaped.

    >>> typeset("y_(t−1) < 1.5e-07·t^-0.5 for Σ_{t=1}")
    Markup('y<sub>t−1</sub> &lt; 1.5×10<sup>−7</sup>·t<sup>−0.5</sup> for Σ<sub>t=1</sub>')
    """
    # Every rule leaves escaped text escaped: none of them makes or breaks an entity.
    safe = str(Markup.escape(text))
    for pattern, replacement in _RULES:
        safe = pattern.sub(replacement, safe)
    return Markup(safe)


# Figures inside a page: as vectors where these are small, as dots where they are not.

# A cloud of thousands of curves is smaller, and quicker to show, as dots.
MOST_VECTOR_BYTES: Final = 220_000
DOTS_PER_INCH: Final = 200
# Print sizes are small on a screen, which has 96 pixels to the inch.
PIXELS_PER_INCH: Final = 1.2 * 96


@final
@dataclass(frozen=True)
class Image:
    """A picture as a data address, with its size in CSS pixels."""

    address: str
    width: int
    height: int

    @property
    def wide(self) -> bool:
        """Whether it has panels side by side, which a phone cannot show at a size to be read."""
        return self.width > 1.5 * self.height


def image(figure: Figure) -> Image:
    """Return the figure as SVG, or as PNG if that would weigh too much; the same figure gives the same bytes."""
    width, height = (round(PIXELS_PER_INCH * side) for side in figure.get_size_inches())
    data, kind = _rounded(render(figure, "svg")), "svg+xml"
    if len(data) > MOST_VECTOR_BYTES:
        data, kind = render(figure, "png", dpi=DOTS_PER_INCH), "png"
    return Image(_address(data, kind), width, height)


def moving_image(gif: bytes) -> Image:
    """Return an animated GIF, as wide as a figure of one column."""
    across, down = struct.unpack("<HH", gif[6:10])
    width = round(PIXELS_PER_INCH * ONE_COLUMN)
    return Image(_address(gif, "gif"), width, round(width * down / across))


def _address(data: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def _rounded(svg: bytes) -> bytes:
    """Return an SVG whose paths are rounded to a hundredth of a point, which no eye can see."""
    return re.sub(rb' d="[^"]*"', lambda path: re.sub(rb"(\.\d\d)\d+", rb"\1", path[0]), svg)
