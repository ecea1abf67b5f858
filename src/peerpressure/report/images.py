"""Figures inside a page: as vectors where these are small, as dots where they are not."""

from __future__ import annotations

import base64
import re
import struct
from dataclasses import dataclass
from typing import Final, final

from matplotlib.figure import Figure

from peerpressure.figures import render
from peerpressure.figures.style import ONE_COLUMN

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
