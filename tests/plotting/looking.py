"""What tests of figures look for in axes: lines of given data, levels, words and legends."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import NDArray

from peerpressure.plotting.style import styled


def linear(colour: object) -> NDArray[np.float64]:
    """Return a colour in linear RGB, as the Web Content Accessibility Guidelines have it."""
    rgb: NDArray[np.float64] = np.array(to_rgb(colour))  # type: ignore[arg-type]
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast_on_white(colour: object) -> float:
    return float(1.05 / (linear(colour) @ [0.2126, 0.7152, 0.0722] + 0.05))


def curves(axes: Axes) -> list[NDArray[np.float64]]:
    """The heights of every line."""
    return [np.asarray(line.get_ydata(), dtype=np.float64) for line in axes.lines]


def drawn(axes: Any, x: Any, y: Any) -> bool:
    """Say whether a line of these very data stands in the axes."""
    return any(np.array_equal(line.get_xdata(), x) and np.array_equal(line.get_ydata(), y) for line in axes.lines)


def has_level(axes: Axes, value: float) -> bool:
    """Say whether a line has this value throughout."""
    return any(np.allclose(heights, value) for heights in curves(axes))


def words(axes: Axes) -> str:
    """The title and all texts within the axes."""
    return " | ".join([axes.get_title(loc="left"), *(text.get_text() for text in axes.texts)])


def legend_texts(axes: Axes) -> list[Text]:
    legend = axes.get_legend()
    return [] if legend is None else legend.get_texts()


def legend(axes: Axes) -> set[str]:
    return {text.get_text() for text in legend_texts(axes)}


@styled
def laid_out(figure: Figure) -> Figure:
    """Let every text have its place, with the settings that files are written with."""
    figure.draw_without_rendering()
    return figure


def assert_no_text_is_cut_or_covers_another(figure: Figure) -> None:
    page = laid_out(figure).bbox
    for axes in figure.axes:
        written = [*axes.texts, axes.xaxis.label, axes.yaxis.label, *legend_texts(axes)]
        boxes = [text.get_window_extent() for text in written if text.get_text()]
        for i, box in enumerate(boxes):
            assert page.x0 - 1 <= box.x0 < box.x1 <= page.x1 + 1
            assert page.y0 - 1 <= box.y0 < box.y1 <= page.y1 + 1
            assert not any(box.overlaps(other) for other in boxes[i + 1 :])
