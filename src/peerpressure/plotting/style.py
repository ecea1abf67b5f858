"""How every figure looks, and how it is written to files that do not change from run to run."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, ParamSpec

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import Colormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

from peerpressure.files import replacing

ONE_COLUMN: Final = 3.4  # inches
TWO_COLUMNS: Final = 7.0

# Apart in lightness as well as in hue, so that they differ in grey and for every kind of colour vision.
INK: Final = "#20262b"
BLUE: Final = "#1f5c99"
RED: Final = "#c8512b"
TEAL: Final = "#55a89a"
GOLD: Final = "#dfa92f"
GREY: Final = "#8a939b"
PALETTE: Final = (BLUE, RED, TEAL, GOLD, INK)
OPINIONS: Final = "cividis"  # the colour map of opinions

_SETTINGS: Final[dict[Any, Any]] = {
    # Both fonts ship with Matplotlib, so a figure looks the same on every machine.
    "font.family": "STIXGeneral",
    "mathtext.fontset": "stix",
    "font.size": 8.5,
    "axes.labelsize": 8.5,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "axes.linewidth": 0.5,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.width": 0.5,
    "ytick.major.width": 0.5,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "xtick.major.size": 3.0,
    "ytick.major.size": 3.0,
    "lines.linewidth": 1.1,
    "lines.solid_capstyle": "round",
    "pdf.fonttype": 42,
    # Names inside an SVG are drawn from this and not from chance, and letters are shapes, whatever fonts a reader has.
    "svg.hashsalt": "peerpressure",
    "svg.fonttype": "path",
    "savefig.dpi": 300,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.03,
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.wspace": 0.04,
}

P = ParamSpec("P")


@contextlib.contextmanager
def _own_settings() -> Iterator[None]:
    """Put Matplotlib into this style, and back into the caller's at the end."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Have a figure function draw in this style, whatever the caller's own settings are."""

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with _own_settings():
            return draw(*args, **kwargs)

    return drawn


def label(axes: Axes, text: str, at: tuple[float, float], **options: Any) -> None:
    """Write beside what is drawn, at a point of the data, with a thin halo that keeps lines from crossing it."""
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2.0, foreground="white")]
    axes.annotate(text, at, path_effects=halo, **({"xytext": (0, 0), "textcoords": "offset points"} | options))


def name_ends(axes: Axes, x: float, ends: Mapping[str, tuple[float, Any]], *, gap: float = 0.08) -> None:
    """Write names in their colours to the right of where curves end, moved up where they would touch.

    ``ends`` gives the height and the colour of each; the axes' limits must be set.
    """
    to_part = axes.transData + axes.transAxes.inverted()
    height = -gap
    for name, (y, colour) in sorted(ends.items(), key=lambda item: item[1][0]):
        height = max(float(to_part.transform((x, y))[1]), height + gap)
        spot = to_part.inverted().transform((1.0, height))
        label(axes, name, (x, float(spot[1])), xytext=(4, 0), va="center", color=colour, annotation_clip=False)


def visible(name: str) -> Colormap:
    """Return a colour map without its lightest end, in which lines do not show on white."""
    import numpy as np
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps[name](np.linspace(0.0, 0.86, 256)))


def plain_ticks(axis: Axis) -> None:
    """Write plain numbers on a log axis too short for powers of ten to mark it."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    if high / low < 200:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def panel(axes: Axes, letter: str, title: str) -> None:
    """Head a panel with its letter and what it shows."""
    axes.set_title(f"({letter}) {title}", loc="left")


def render(figure: Figure, kind: str, **options: Any) -> bytes:
    """Return the figure as a PDF, PNG (300 dpi) or SVG file, with no date inside: one figure, one file."""
    metadata = {"pdf": {"CreationDate": None}, "png": {"Software": None}, "svg": {"Date": None}}[kind]
    file = io.BytesIO()
    with _own_settings():
        figure.savefig(file, format=kind, metadata=metadata, **options)
    return file.getvalue()


def save(figure: Figure, folder: str | Path, name: str) -> list[Path]:
    """Write the figure as PDF and PNG, each whole or not at all."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    written = []
    for kind in ("pdf", "png"):
        target = place / f"{name}.{kind}"
        with replacing(target) as file:
            file.write(render(figure, kind))
        written.append(target)
    return written


# Densities: the normal one, and a sample smoothed into one.


def normal(x: NDArray[np.float64], mean: float | NDArray[np.float64], std: float) -> NDArray[np.float64]:
    """Return the density of N(mean, std²)."""
    density: NDArray[np.float64] = np.exp(-0.5 * ((x - mean) / std) ** 2) / (std * np.sqrt(2 * np.pi))
    return density


def smoothed(sample: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the kernel density estimate of a sample at x, with Silverman's width 0.9·min(std, IQR/1.34)·n^(−1/5).

    >>> x = np.linspace(-30, 30, 601)
    >>> round(float(np.trapezoid(smoothed(np.array([0.0, 1.0, 5.0]), x), x)), 6)
    1.0
    """
    low, high = np.percentile(sample, (25, 75))
    spread = min(float(sample.std(ddof=1)), (high - low) / 1.34) or float(sample.std(ddof=1))
    width = 0.9 * spread * sample.size**-0.2
    density: NDArray[np.float64] = normal(x[:, None], sample[None, :], width).mean(axis=1)
    return density
