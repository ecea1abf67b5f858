"""Figures as pictures of an HTML page, apart from its other parts because they need Matplotlib."""

from __future__ import annotations

import base64
import re
from math import isinf
from typing import Final

import matplotlib as mpl
from matplotlib.figure import Figure

from peerpressure.plotting.style import render, styled
from peerpressure.report.html import Image

# Figures with thousands of curves are smaller, and faster to display, as raster images.
MOST_VECTOR_BYTES: Final = 220_000
# At 1.2 × 96 CSS pixels per inch this is enough for screens of almost two device pixels per CSS pixel.
DOTS_PER_INCH: Final = 200
# Print sizes are small on a screen, which has 96 pixels to the inch.
PIXELS_PER_INCH: Final = 1.2 * 96


@styled
def settled(figure: Figure) -> Figure:
    """Return the figure with its layout computed once instead of once per format; raise if an axis is too long."""
    for axes in figure.axes:
        # Python's floats tell an overflow by infinity, and Matplotlib would find no ticks.
        if any(isinf(high - low) for low, high in (map(float, axes.get_xlim()), map(float, axes.get_ylim()))):
            raise OverflowError("an axis that ends beyond it")
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    # Not "none", which leaves a placeholder: Matplotlib would draw the figure twice per format to compute its layout.
    with mpl.rc_context({"figure.constrained_layout.use": False}):
        figure.set_layout_engine(None)
    return figure


def image(figure: Figure, svg: bytes | None = None) -> Image:
    """Return the figure as SVG, or as PNG where that is much smaller; the same figure gives the same bytes.

    ``svg`` is the figure as ``render`` writes it, where it is there already.
    """
    width, height = (round(PIXELS_PER_INCH * side) for side in figure.get_size_inches())
    # The size of the SVG decides, and is known only once it is rendered.
    data, kind = _rounded(render(figure, "svg") if svg is None else svg), "svg+xml"
    if len(data) > MOST_VECTOR_BYTES:
        data, kind = render(figure, "png", dpi=DOTS_PER_INCH), "png"
    return Image(_address(data, kind), width, height)


def _address(data: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def _rounded(svg: bytes) -> bytes:
    """Return an SVG whose path coordinates are cut after two decimals, a hundredth of a point, which is invisible."""
    # Only within path data: other attributes contain decimals, such as scales, for which digits matter.
    return re.sub(rb' d="[^"]*"', lambda path: re.sub(rb"(\.\d\d)\d+", rb"\1", path[0]), svg)
