"""Mathematics for a page: formulas as drawn letters, the same in every browser, with no script and no font to fetch."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape
from typing import Final

from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath

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
