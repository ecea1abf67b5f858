"""Formulas of an HTML page, drawn by Matplotlib."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from typing import Final

from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath

_SIZE: Final = 100.0  # units to the em
# Shipped with Matplotlib: a formula has the same outline on every machine, in a font that suits the figures.
_FONT: Final = FontProperties(family="STIXGeneral", math_fontfamily="stix")
_COMMANDS: Final = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C", Path.CLOSEPOLY: "Z"}


@lru_cache(maxsize=512)
def formula(latex: str) -> str:
    """Return a formula, in Matplotlib's subset of LaTeX, as an SVG aligned with the baseline in the text's colour.

    Formulas are drawn as outlines: a page needs no script and no font.

    >>> formula("x^2")[:56]
    '<svg class="formula" role="img" aria-label="x^2" viewBox'
    """
    outline = TextPath((0, 0), f"${latex}$", size=_SIZE, prop=_FONT)
    box = outline.get_extents()
    # The origin stays on the left: an italic letter may begin to the left of it.
    left, width = min(0.0, box.x0), box.x1 - min(0.0, box.x0)
    view = f"{left:.0f} {-box.y1:.0f} {width:.0f} {box.height:.0f}"
    # Sizes in em make formulas scale with the text; y0 is the depth below the baseline, which CSS aligns with.
    sizes = {"width": width, "height": box.height, "vertical-align": box.y0}
    size = ";".join(f"{name}:{units / _SIZE:.3f}em" for name, units in sizes.items())
    # Screen readers read the LaTeX; a line break in an attribute would be read out as well.
    name = escape(" ".join(latex.split()))
    return (
        f'<svg class="formula" role="img" aria-label="{name}" viewBox="{view}" style="{size}">'
        f'<path d="{_drawn(outline)}"/></svg>'
    )


def _drawn(outline: Path) -> str:
    """Return the outline as SVG path commands, whose y axis points down."""
    parts = []
    for points, code in outline.iter_segments(curves=True, simplify=False):
        # Y is flipped, because SVG counts it downwards. A tenth of a unit is a thousandth of an em.
        numbers = "" if code == Path.CLOSEPOLY else " ".join(f"{x:.1f} {-y:.1f}" for x, y in points.reshape(-1, 2))
        parts.append(_COMMANDS[code] + numbers)
    return "".join(parts)
