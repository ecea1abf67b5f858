"""The common style of all figures, shared drawing helpers, and reproducible figure files."""

from __future__ import annotations

import contextlib
import functools
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeAlias

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap, to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

from peerpressure.support.files import expanded, replacing

# The usual column widths of journals: letters and lines are printed in the sizes set below.
ONE_COLUMN: Final = 3.4  # inches
TWO_COLUMNS: Final = 7.0
NOTEBOOK: Final = 200  # dots per inch of a figure in a notebook, as wide as its page

# Each has a contrast of at least 3:1 on white. Those of PALETTE and GREY differ in lightness as well as in hue: a test
# computes that any two of them are told apart in grey and by colour-blind readers.
INK: Final = "#15181c"
BLUE: Final = "#1c3f7c"
RED: Final = "#b4482b"
TEAL: Final = "#12645a"
GOLD: Final = "#bd8a1e"
GREY: Final = "#7d8185"
PALETTE: Final = (BLUE, RED, TEAL, GOLD, INK)
ORDER: Final = "viridis"  # the colour map of what has an order and no middle, such as sizes of noise and times
# A legend below the axes, where the curves leave no room inside.
BELOW: Final[dict[str, Any]] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.19), "ncols": 2}
DOTTED: Final = (0, (1, 1.5))  # the line of exact limits and reference values
# Formulas whose mathematics is more than a power.
_FORMULAS: Final = {"2^√t": r"2^{\sqrt{t}}", "t*log(1 + t)": r"t\,\log(1+t)", "κt": r"\kappa t"}

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
    # TrueType instead of Type 3 fonts, which many journals do not accept.
    "pdf.fonttype": 42,
    # A fixed salt makes the identifiers inside an SVG reproducible; outlines make letters independent of fonts.
    "svg.hashsalt": "peerpressure",
    "svg.fonttype": "path",
    "savefig.dpi": 300,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.03,
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.wspace": 0.04,
}

P = ParamSpec("P")
Looks: TypeAlias = dict[str, Mapping[str, Any]]  # entries of a legend by name


@contextlib.contextmanager
def _own_settings() -> Iterator[None]:
    """Apply this style, and restore the caller's settings at the end."""
    with mpl.rc_context():
        # From the defaults: a setting of the caller that is not named here would change the figure.
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Make a figure function draw in this style, whatever the caller's settings are."""

    @functools.wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with _own_settings():
            figure = draw(*args, **kwargs)
        # Notebooks know how to show figures of pyplot; others have to say it themselves.
        figure.__dict__["_repr_png_"] = functools.partial(render, figure, "png", dpi=NOTEBOOK)
        return figure

    return drawn


def label(axes: Axes, text: str, at: tuple[float, float], **options: Any) -> None:
    """Write a text at a point of the data, with a thin halo that separates it from lines."""
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2.0, foreground="white")]
    # Offsets in points: the distance between a label and its curve does not depend on the scale of the axes.
    axes.annotate(text, at, path_effects=halo, **({"xytext": (0, 0), "textcoords": "offset points"} | options))


def name_ends(axes: Axes, x: float, ends: Mapping[str, tuple[float, Any]], *, gap: float = 0.08) -> None:
    """Write names in their colours to the right of the ends of curves, with a line to it from one that had to move.

    ``ends`` gives the height and the colour of each; the axes' limits must be set.
    """
    # Distances between names are compared in shares of the axes, since data may be on a log scale.
    to_part = axes.transData + axes.transAxes.inverted()
    found = sorted((float(to_part.transform((x, y))[1]), name, colour) for name, (y, colour) in ends.items())
    own = np.array([height for height, _, _ in found])
    places = apart(own, gap)
    # The lowest name is not below the axes, where the names of ticks stand.
    places += max(0.0, -float(places[0]))
    for place, (height, name, colour) in zip(places.tolist(), found, strict=True):
        moved = abs(place - height) > gap / 3
        look: dict[str, Any] = {"va": "center", "color": colour, "annotation_clip": False, "xycoords": "axes fraction"}
        label(axes, name, (1.0, place), xytext=(14 if moved else 4, 0), **look)
        if moved:
            x, y = axes.transAxes.transform((1.0, place))
            beside = axes.transAxes.inverted().transform((x + 12 * axes.figure.dpi / 72, y))
            lead = [(1.0, height), tuple(beside)]
            axes.add_collection(
                LineCollection([lead], colors=[colour], linewidths=0.5, transform=axes.transAxes, clip_on=False),
                autolim=False,
            )


def apart(heights: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Return the increasing heights at least a gap apart that are nearest to the given ones.

    >>> apart(np.array([0.0, 0.1, 3.0]), 1.0)
    array([-0.45,  0.55,  3.  ])
    """
    from scipy.optimize import isotonic_regression

    steps = gap * np.arange(heights.size)
    # For h' = h − k·gap the condition h_{k+1} − h_k ≥ gap is that h' increases, so the nearest heights in least squares
    # are an isotonic regression.
    return np.asarray(isotonic_regression(heights - steps).x + steps)


def in_order() -> Colormap:
    """Return the colours of what has an order, without the lightest ones, which are invisible on white."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    # Beyond 0.59 the contrast on white is below 3:1.
    return ListedColormap(colormaps[ORDER](np.linspace(0.0, 0.59, 256)))


@functools.cache
def of_opinions(*, dark: bool = False) -> Colormap:
    """Return the colours of opinions, in print as in the explorer: dark blue over grey to light orange.

    Those on ``dark`` paper are lighter.

    Each half is a line in OKLab. Blue and orange differ under every kind of colour blindness, and lightness rises from
    end to end, which tells high from low in grey, too.
    """
    from matplotlib.colors import LinearSegmentedColormap

    part = np.linspace(-1, 1, 129)
    angle = np.radians(np.where(part < 0, 255.0, 50.0))
    lightness, chroma = (0.655 + 0.125 * part if dark else 0.54 + 0.12 * part), 0.138 * np.abs(part)
    lab = np.stack([lightness, chroma * np.cos(angle), chroma * np.sin(angle)])
    # From OKLab to linear and then to gamma-compressed sRGB (Ottosson, 2020).
    linear = np.clip(_CONES_TO_RGB @ (_LAB_TO_CONES @ lab) ** 3, 0, 1)
    rgb = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return LinearSegmentedColormap.from_list("opinions", [tuple(one) for one in rgb.T.tolist()], N=1025)


_LAB_TO_CONES: Final = np.array(
    [[1, 0.3963377774, 0.2158037573], [1, -0.1055613458, -0.0638541728], [1, -0.0894841775, -1.291485548]]
)
_CONES_TO_RGB: Final = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.707614701],
    ]
)


def plain_ticks(axis: Axis) -> None:
    """Write plain numbers on a log axis that spans too few powers of ten to be marked by them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    # Below about two decades a log axis has too few powers of ten to read a value from.
    if high / low < 200:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def name_ticks(axis: Axis, places: Sequence[float], names: Sequence[str]) -> None:
    """Name places on the x axis; names are slanted, and then left out in turn, where they would overlap."""
    axes = axis.axes
    size = float(mpl.rcParams["xtick.labelsize"])
    # The axes take about three quarters of their share of the figure, the rest is for labels and a colour bar.
    spec, width = axes.get_subplotspec(), 72 * axes.figure.bbox.width / axes.figure.dpi
    room = 0.75 * width / (1 if spec is None else spec.get_gridspec().ncols) / max(len(places), 1)
    # A letter is about half as wide as it is high, and names are separated by two of them.
    if all((len(name) + 2) * 0.52 * size <= room for name in names):
        axis.set_ticks(places, names)
        return
    # Slanted by 45°, lines of text are the distance of their ticks over √2 apart.
    step = max(1, math.ceil(1.25 * size * math.sqrt(2) / room))
    axis.set_ticks(places[::step], names[::step], rotation=45, ha="right", rotation_mode="anchor")


def samples(axes: Axes, entries: Looks, **options: Any) -> None:
    """Add a legend that shows how each entry is drawn; entries give the properties of a line, or of a ``band``.

    ``options`` are those of ``Axes.legend``, such as its place.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=look["band"], linewidth=0) if "band" in look else Line2D([], [], **look)
        for look in entries.values()
    ]
    look = {"frameon": False, "fontsize": 7.5, "handlelength": 1.7, "borderaxespad": 0.2, "labelspacing": 0.25}
    axes.legend(handles, list(entries), **(look | options))


def band(colour: str, alpha: float) -> tuple[float, float, float]:
    """Return a colour as it appears on white under this opacity, for samples of bands."""
    r, g, b = (1 - alpha * (1 - part) for part in to_rgb(colour))
    return r, g, b


def panel(axes: Axes, letter: str, title: str) -> None:
    """Set the title of a panel: its letter and subject."""
    axes.set_title(f"({letter}) {title}", loc="left")


def render(figure: Figure, kind: str, **options: Any) -> bytes:
    """Return the figure as a PDF, PNG (300 dpi) or SVG file, without a date: equal figures give equal files.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    kind : {"pdf", "png", "svg"}
        The format.
    **options
        Further options of ``Figure.savefig``.

    Returns
    -------
    bytes
        The content of the file.

    See Also
    --------
    save : Writes a figure to a folder.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from peerpressure.plotting import render
    >>> render(Figure(), "pdf")[:4]
    b'%PDF'
    """
    # By default Matplotlib writes the date, or its version, into each file.
    metadata = {"pdf": {"CreationDate": None}, "png": {"Software": None}, "svg": {"Date": None}}[kind]
    # The style again: settings such as the SVG salt take effect when a figure is written, not when it is drawn.
    file = io.BytesIO()
    with _own_settings():
        # Matplotlib would give a figure without a layout engine a new one after the first format.
        mpl.rcParams["figure.constrained_layout.use"] = False
        figure.savefig(file, format=kind, metadata=metadata, **options)
    return file.getvalue()


def save(figure: Figure, folder: str | Path, name: str) -> list[Path]:
    """Write the figure as PDF and PNG, each atomically.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    folder : str or Path
        Where to write; the folder is created if necessary.
    name : str
        Name of the files, without suffix.

    Returns
    -------
    list of Path
        The written files.

    See Also
    --------
    render : Returns the content of one file.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> from peerpressure.plotting import save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save(Figure(), folder, "empty")]
    ['empty.pdf', 'empty.png']
    """
    place = expanded(folder)
    place.mkdir(parents=True, exist_ok=True)
    written = []
    for kind in ("pdf", "png"):
        target = place / f"{name}.{kind}"
        with replacing(target) as file:
            file.write(render(figure, kind))
        written.append(target)
    return written


def formula(text: str) -> str:
    """Return a schedule's formula in Matplotlib's mathematics.

    >>> print(formula("t^1.5"), formula("0.5/t^2"), formula("0.01"))
    t^{1.5} 0.5/t^{2} 0.01
    """
    base, power, exponent = text.partition("^")
    return _FORMULAS.get(text, f"{base}^{{{exponent}}}" if power else text)


def normal_density(x: NDArray[np.float64], mean: float, std: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the density of the normal distribution at x.

    >>> normal_density(np.zeros(1), 0.0, 1.0).round(4)
    array([0.3989])
    """
    density: NDArray[np.float64] = np.exp(-(((x - mean) / std) ** 2) / 2) / (math.sqrt(2 * math.pi) * std)
    return density


def smoothed(sample: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the kernel density estimate of a sample at x, with Silverman's width 0.9·min(std, IQR/1.34)·n^(−1/5).

    >>> x = np.linspace(-30, 30, 601)
    >>> round(float(np.trapezoid(smoothed(np.array([0.0, 1.0, 5.0]), x), x)), 6)
    1.0
    """
    # Imported here: SciPy's statistics take half a second to load, and most figures need none of them.
    from scipy import stats

    low, high = np.percentile(sample, (25, 75))
    std = float(sample.std(ddof=1))
    # The interquartile range is robust against heavy tails; it can be 0 if values repeat, hence the fallback.
    scale = min(std, (high - low) / 1.34) or std
    # SciPy takes the width in units of the sample's standard deviation.
    density: NDArray[np.float64] = stats.gaussian_kde(sample, bw_method=0.9 * scale * sample.size**-0.2 / std)(x)
    return density
