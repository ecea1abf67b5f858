"""Figures of continuous time: densities, also animated, the convergence of Euler steps, and a decaying oscillation."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.plotting.style import (
    BLUE,
    DOTTED,
    GREY,
    INK,
    ONE_COLUMN,
    RED,
    TEAL,
    TWO_COLUMNS,
    Looks,
    label,
    panel,
    plain_ticks,
    render,
    samples,
    styled,
    visible,
)
from peerpressure.support.files import replacing

if TYPE_CHECKING:
    from PIL.Image import Image

    from peerpressure.sde import DensityPath

# Heights of a Gaussian density, as shares of its peak, at three, two and one standard deviations.
_DEVIATIONS = np.exp(-0.5 * np.array([3.0, 2.0, 1.0]) ** 2)
_SHOWN = 3.5  # standard deviations around every mean that panels show
_LATE = 10  # time from which the extremes fit one scale
# Colour and name of each kind of time.
_DYNAMICS = {"discrete": (RED, "discrete time"), "continuous": (BLUE, "continuous time")}


@styled
def density_panels(path: DensityPath, value: float) -> Figure:
    """Show the density of two agents at four times: on the grid in colour, exact in contours."""
    check_dimensions(path, 2)
    chosen = spread_out(path.times.size, 4)
    # The colour bar and the labels of the axes take some of the width and height.
    figure = Figure(figsize=(TWO_COLUMNS, (TWO_COLUMNS - 1.0) / chosen.size + 0.55))
    row = figure.subplots(1, chosen.size, sharex=True, sharey=True, squeeze=False)[0]
    for letter, axes, index in zip("abcd", row, chosen, strict=False):
        draw_density(axes, path, int(index), value)
        panel(axes, letter, f"$t = {path.times[index]:.3g}$")
    row[0].set_ylabel(f"opinion of agent {path.names[1]}")
    # The corner on the other side of the line of agreement is free.
    above = path.exact[0].mean[1] > path.exact[0].mean[0]
    looks: Looks = {"exact: 1, 2, 3 std": {"color": RED, "linewidth": 0.7}}
    looks |= {"agreement": {"color": GREY, "linewidth": 0.8, "linestyle": DOTTED}}
    samples(row[0], looks, loc="lower right" if above else "upper left")
    bar = figure.colorbar(ScalarMappable(Normalize(0, 1), _shades()), ax=row, shrink=0.7, aspect=18, pad=0.01)
    bar.set_ticks([0.0, 0.5, 1.0])
    bar.set_label("density, share of peak")
    bar.outline.set_visible(False)
    return figure


def draw_density(axes: Axes, path: DensityPath, index: int, value: float) -> None:
    """Draw one density of two agents, as shares of its peak, and the line on which they agree."""
    # Shares of the peak: the density contracts by orders of magnitude, and early times would be invisible on one scale.
    shown = path.density[index] / path.density[index].max()
    # Transposed, because the first index is agent 1, the horizontal axis, and pcolormesh has rows vertical. An image,
    # because ten thousand cells are a large vector file.
    axes.pcolormesh(*path.grid.edges, shown.T, cmap=_shades(), vmin=0.0, vmax=1.0, rasterized=True)
    exact = path.exact[index].pdf(np.stack(np.meshgrid(*path.grid.centres), axis=-1))
    axes.contour(*path.grid.centres, exact / exact.max(), levels=_DEVIATIONS, colors=RED, linewidths=0.7)
    low, high = _window(path)
    axes.plot([low, high], [low, high], color=GREY, linewidth=0.8, linestyle=DOTTED)
    axes.plot([value], [value], marker="+", markersize=7, markeredgewidth=0.9, color=INK)
    label(axes, "$v$", (value, value), xytext=(5, -5), va="top")
    # Equal axes make the line of agreement a diagonal.
    axes.set(xlim=(low, high), ylim=(low, high), aspect="equal", xlabel=f"opinion of agent {path.names[0]}")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(4))


def _window(path: DensityPath) -> tuple[float, float]:
    """Return the range of opinions that both axes show at all times."""
    # From the exact laws at all times: the window neither moves during an animation nor depends on the grid.
    low = min(float(np.min(law.mean - _SHOWN * law.std)) for law in path.exact)
    high = max(float(np.max(law.mean + _SHOWN * law.std)) for law in path.exact)
    return low, high


@styled
def density_over_time(path: DensityPath, value: float, name: str) -> Figure:
    """Show the density of one quantity over time, and densities on the grid and exact at some times."""
    check_dimensions(path, 1)
    figure = Figure(figsize=(TWO_COLUMNS, 2.6))
    left, right = figure.subplots(1, 2)
    (edges,), (centres,) = path.grid.edges, path.grid.centres
    shares = path.density / path.density.max(axis=1, keepdims=True)
    # Edges of the cells in time: a column extends halfway to its neighbours.
    middles = np.concatenate([path.times[:1], (path.times[1:] + path.times[:-1]) / 2, path.times[-1:]])
    left.pcolormesh(middles, edges, shares.T, cmap=_shades(), vmin=0.0, vmax=1.0, rasterized=True)
    mean, std = np.array([(law.mean[0], law.std[0]) for law in path.exact]).T
    for deviations, width in ((0.0, 0.9), (2.0, 0.6), (-2.0, 0.6)):
        left.plot(path.times, mean + deviations * std, color=RED, linewidth=width)
    left.axhline(value, color=INK, linewidth=0.7, linestyle=DOTTED)
    label(left, "$v$", (float(path.times[-1]), value), xytext=(3, 0), va="center", annotation_clip=False)
    low, high = float(np.min(mean - _SHOWN * std)), float(np.max(mean + _SHOWN * std))
    left.set(xlim=(path.times[0], path.times[-1]), ylim=(low, high), xlabel="time $t$", ylabel=name)
    _slices(right, path, centres, (low, high))
    right.set(xlabel=name, ylabel="density")
    panel(left, "a", "grid in colour, exact mean and 2 std in red")
    panel(right, "b", "grid (dots) and exact density (lines)")
    return figure


def _slices(axes: Axes, path: DensityPath, centres: NDArray[np.float64], window: tuple[float, float]) -> None:
    chosen, colours = spread_out(path.times.size, 4), visible("viridis")
    # Independent of the grid: the exact curve is smooth however coarse the grid is.
    fine = np.linspace(*window, 400)
    for i, index in enumerate(chosen):
        colour = colours(i / max(1, chosen.size - 1))
        exact = path.exact[index]
        axes.plot(fine, exact.pdf(fine), color=colour)
        # As many dots as can be distinguished, however fine the grid.
        near = np.flatnonzero(np.abs(centres - exact.mean[0]) < _SHOWN * exact.std[0])
        dots = near[:: max(1, near.size // 16)]
        axes.plot(centres[dots], path.density[index][dots], "o", markersize=2.2, color=colour)
    axes.set(xlim=window, ylim=(0, None))
    # The names stand on the side that the initial density leaves free.
    at = "upper left" if path.exact[0].mean[0] > sum(window) / 2 else "upper right"
    names = [f"$t = {path.times[index]:.3g}$" for index in chosen]
    looks: Looks = {name: {"color": colours(i / max(1, chosen.size - 1))} for i, name in enumerate(names)}
    samples(axes, looks, loc=at)


@styled
def shrinking_steps(
    paths: pd.DataFrame, weak: pd.DataFrame, strong: pd.DataFrame | None = None, name: str = "$m_t$"
) -> Figure:
    """Show mean and standard deviation of one quantity converge to those of the SDE, and the errors of Euler steps."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.7))
    left, middle, right = figure.subplots(1, 3)
    steps = sorted(set(paths["step"]) - {0.0}, reverse=True)
    colours = visible("viridis")
    for axes, column in ((left, "mean"), (middle, "std")):
        for i, step in enumerate(steps):
            own = paths[paths["step"] == step]
            colour = colours(i / max(1, len(steps) - 1))
            axes.plot(own["time"], own[column], color=colour, linewidth=0.8, marker="o" if i == 0 else "", markersize=2)
        exact = paths[paths["step"] == 0.0]
        axes.plot(exact["time"], exact[column], color=INK, linewidth=1.2, linestyle=(0, (4, 1.5)))
        axes.set_xlim(0, paths["time"].max())
        axes.set_xlabel("time $t$")
    looks: Looks = {
        f"$h = {_fraction(step)}$": {"color": colours(i / max(1, len(steps) - 1))} for i, step in enumerate(steps)
    }
    looks["SDE"] = {"color": INK, "linestyle": (0, (4, 1.5))}
    # A standard deviation that falls little leaves the lower right free, otherwise the upper right.
    high = exact["std"].iloc[-1] > exact["std"].max() / 2
    samples(middle, looks, loc="lower right" if high else "upper right")
    left.set_ylabel(f"mean of {name}")
    middle.set_ylabel(f"standard deviation of {name}")
    _errors(right, weak, strong)
    panel(left, "a", "mean")
    panel(middle, "b", "standard deviation")
    panel(right, "c", "errors are of order $h$")
    return figure


def _errors(axes: Axes, weak: pd.DataFrame, strong: pd.DataFrame | None) -> None:
    """Draw weak errors and, where they are given, strong ones, which are sampled."""
    lines = {"mean_error": (BLUE, "mean"), "std_error": (RED, "std")}
    if strong is None:
        _error_lines(axes, weak, lines)
    else:
        # Only steps that both tables have.
        both = weak.merge(strong, on="step")
        _error_lines(axes, both, lines | {"error": (TEAL, "path")})
        axes.errorbar(both["step"], both["error"], 2 * both["standard_error"], color=TEAL, linewidth=0, elinewidth=0.8)
    axes.set_ylabel("error at the end")


def _fraction(step: float) -> str:
    """Return a step as a fraction where it is one.

    >>> _fraction(1.0), _fraction(0.125), _fraction(0.3)
    ('1', '1/8', '0.3')
    """
    # 1e−9 absorbs the rounding of the reciprocal.
    parts = 1 / step
    return f"{step:g}" if step >= 1 or abs(parts - round(parts)) > 1e-9 else f"1/{round(parts)}"


def _error_lines(axes: Axes, errors: pd.DataFrame, lines: dict[str, tuple[str, str]]) -> None:
    """Draw errors against steps on log axes, named with the observed order of the shortest steps."""
    from peerpressure.sde.convergence import observed_order

    table = errors.sort_values("step")
    low, high = float(table["step"].iloc[0]), float(table["step"].iloc[-1])
    for column, (colour, _) in lines.items():
        axes.loglog(table["step"], table[column], color=colour, marker="o", markersize=2.5)
    guide = np.array([low, high])
    # The guide begins below the lowest curve at the shortest step.
    height = 0.4 * float(table[list(lines)].iloc[0].min())
    axes.loglog(guide, height * guide / low, color=GREY, linewidth=0.8, linestyle=DOTTED)
    middle = float(np.sqrt(low * high))
    label(axes, "slope 1", (middle, height * middle / low), xytext=(4, -4), va="top", color=GREY)
    axes.set_xlim(low / 1.25, high * 1.25)
    plain_ticks(axes.xaxis)
    # The order is asymptotic; long steps would distort the fit.
    finest = table.head(3)
    names: Looks = {
        f"{text}, order {observed_order(finest['step'], finest[column]):.2f}": {"color": colour}
        for column, (colour, text) in lines.items()
    }
    samples(axes, names, loc="upper left", handlelength=1.0)
    axes.set_xlabel("step length $h$")


def spread_out(count: int, most: int) -> NDArray[np.int64]:
    """Return up to ``most`` positions among ``count``, the first and the last included."""
    # Unique, because rounding can repeat a position when there are few.
    return np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int))


def _shades() -> Colormap:
    # White at 0, the colour of the page, because cells may be absent from the table.
    return LinearSegmentedColormap.from_list("density", ["white", "#a9c6e2", BLUE, "#0f2f52"])


def check_dimensions(path: DensityPath, wanted: int) -> None:
    """Raise unless the density has as many dimensions as a figure shows."""
    if len(path.grid.shape) != wanted:
        rule = f"this figure shows a density of {wanted} quantit{'y' if wanted == 1 else 'ies'}"
        got, remedy = f"one of {len(path.grid.shape)}", "solve_density takes one or two agents, or one weighted sum"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))


def animate_density(path: DensityPath, value: float, file: str | Path, *, frames_per_second: float = 10.0) -> Path:
    """Write an animated GIF of the density of two agents, one frame per time, atomically."""
    moving, target = density_gif(path, value, frames_per_second=frames_per_second), Path(file)
    with replacing(target) as out:
        out.write(moving)
    return target


def density_gif(path: DensityPath, value: float, *, frames_per_second: float = 10.0) -> bytes:
    """Return the content of that file; equal densities give equal bytes."""
    from PIL.Image import Dither

    check_dimensions(path, 2)
    pictures = [_frame(path, index, value) for index in range(path.times.size)]
    palette = _palette(pictures)
    # Without dithering, whose pattern would change from frame to frame.
    frames = [picture.quantize(palette=palette, dither=Dither.NONE) for picture in pictures]
    for frame in frames:
        frame.putpalette(_with_white(palette))
    written = io.BytesIO()
    pause = round(1000 / frames_per_second)
    # The last frame stays longer before the loop restarts.
    pauses = [pause] * (len(frames) - 1) + [pause + 1500]
    # ``optimize`` would drop unused colours frame by frame, and frames would no longer share one palette.
    frames[0].save(written, "GIF", save_all=True, append_images=frames[1:], duration=pauses, loop=0, optimize=False)
    return written.getvalue()


def _palette(pictures: list[Image]) -> Image:
    """Return one palette for all frames: colours that change from frame to frame would flicker."""
    from PIL.Image import new

    chosen = spread_out(len(pictures), 4)
    width, height = pictures[0].size
    # Some frames side by side represent the colours of both early and late times.
    together = new("RGB", (width * chosen.size, height))
    for i, index in enumerate(chosen):
        together.paste(pictures[index], (i * width, 0))
    # Half of a GIF's 256 colours suffice for one colour map, red contours and grey text, and keep the file small.
    return together.quantize(colors=128)


def _with_white(palette: Image) -> list[int]:
    """Return the palette with pure white for near-white, which quantisation averages."""
    colours = np.array(palette.getpalette()).reshape(-1, 3)
    # Otherwise the background would be a slightly grey rectangle on the page.
    colours[colours.min(axis=1) >= 250] = 255
    return [int(part) for part in colours.ravel()]


def _frame(path: DensityPath, index: int, value: float) -> Image:
    """Return one frame of an animation as an RGB image."""
    from PIL.Image import open as read

    return read(io.BytesIO(render(_still(path, index, value), "png", dpi=120))).convert("RGB")


@styled
def _still(path: DensityPath, index: int, value: float) -> Figure:
    figure = Figure(figsize=(ONE_COLUMN, ONE_COLUMN))
    axes = figure.add_subplot()
    draw_density(axes, path, index, value)
    axes.set_ylabel(f"opinion of agent {path.names[1]}")
    axes.set_title(f"$t = {path.times[index]:.2f}$")
    return figure


def density(law: pd.DataFrame, cells: pd.DataFrame, grid: pd.DataFrame) -> Figure:
    """Show the density of two agents converge to agreement on v: on the grid in colour, exact in contours."""
    return density_panels(density_path(law, cells, grid), float(grid["consensus_value"].iloc[0]))


def density_animation(law: pd.DataFrame, cells: pd.DataFrame, grid: pd.DataFrame) -> bytes:
    """Return the density at all times of the tables, as an animated GIF."""
    return density_gif(density_path(law, cells, grid), float(grid["consensus_value"].iloc[0]))


def density_path(law: pd.DataFrame, cells: pd.DataFrame, grid: pd.DataFrame) -> DensityPath:
    """Return the density from its tables; cells that are absent have negligible density."""
    # Imported here: continuous time takes a while to load, and no other figure needs it.
    from peerpressure.sde import DensityPath, GaussianDensity
    from peerpressure.sde.fokker_planck import Grid

    axes = Grid(tuple(np.linspace(row.low, row.high, row.cells + 1) for row in grid.itertuples()))
    names, times = tuple(grid["agent"]), law["time"].to_numpy()
    whole = np.zeros((times.size, *axes.shape))
    # Exact matches: both columns come from the same times and read back from CSV without rounding.
    whole[np.searchsorted(times, cells["time"]), cells["column"], cells["row"]] = cells["density"]
    exact = tuple(
        GaussianDensity(
            row.time,
            names,
            np.array([row.mean_1, row.mean_2]),
            np.array([[row.variance_1, row.covariance], [row.covariance, row.variance_2]]),
        )
        for row in law.itertuples()
    )
    facts = {name: float(grid[name].iloc[0]) for name in ("mass_error", "lowest")}
    return DensityPath(times, names, axes, whole, exact, **facts, steps=times.size - 1)


@styled
def oscillation(paths: pd.DataFrame, limits: pd.DataFrame) -> Figure:
    """Show a tree under fast pressure, which oscillates in discrete time and converges in continuous time."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.6))
    left, right = figure.subplots(1, 2)
    for dynamics, (colour, name) in _DYNAMICS.items():
        own = paths[paths["dynamics"] == dynamics]
        _extremes(left, own[own["time"] >= _LATE], limits[limits["dynamics"] == dynamics], colour)
        right.loglog(own["time"], own["oscillation"], color=colour)
        at = own.iloc[len(own) * 2 // 3]
        label(right, name, (at["time"], at["oscillation"]), xytext=(4, 6), color=colour)
    v, end = float(limits["consensus_value"].iloc[0]), float(paths["time"].max())
    left.axhline(v, color=INK, linewidth=0.7, linestyle=DOTTED)
    # To the right of the dots of the predicted limits.
    label(left, "$v$", (end, v), xytext=(6, 0), va="center", annotation_clip=False)
    left.set_ylabel("lowest and highest public opinion")
    right.set_ylabel("change of agent 1 per unit of time")
    left.set_xscale("log")
    for axes, start in ((left, _LATE), (right, 1)):
        axes.set_xlim(start, end)
        axes.set_xlabel("time $t$")
    panel(left, "a", r"extremes over agents, $\rho_t = 2^{\sqrt{t}}$")
    panel(right, "b", "the oscillation")
    return figure


def _extremes(axes: Axes, own: pd.DataFrame, limits: pd.DataFrame, colour: str) -> None:
    axes.fill_between(own["time"], own["minimum"], own["maximum"], color=colour, alpha=0.13, linewidth=0)
    for name in ("minimum", "maximum"):
        axes.plot(own["time"], own[name], color=colour, linewidth=0.9)
    end = float(own["time"].iloc[-1])
    axes.errorbar(
        [end] * len(limits), limits["mean"], 1.96 * limits["std"], fmt="o", color=colour, markersize=2.5, clip_on=False
    )
