"""The process in continuous time: its density on the way to agreement, and how discrete steps come to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.plotting.style import (
    BLUE,
    GREY,
    INK,
    ONE_COLUMN,
    RED,
    TEAL,
    TWO_COLUMNS,
    label,
    panel,
    plain_ticks,
    styled,
    visible,
)
from peerpressure.sde._convergence import observed_order
from peerpressure.sde._fokker_planck import DensityPath

# Heights of a Gaussian density, as a share of its peak, three, two and one deviations away from it.
_DEVIATIONS = np.exp(-0.5 * np.array([3.0, 2.0, 1.0]) ** 2)
_SHOWN = 3.5  # deviations around every mean that panels show
_DOTS = (0, (1, 1.5))


@styled
def density_panels(path: DensityPath, value: float) -> Figure:
    """Show the density of two agents flow to agreement on v: the grid's in colour, the exact one in contours."""
    refuse_axes(path, 2)
    chosen = spread_out(path.times.size, 4)
    figure = Figure(figsize=(TWO_COLUMNS, (TWO_COLUMNS - 0.45) / chosen.size + 0.55))
    row = figure.subplots(1, chosen.size, sharex=True, sharey=True, squeeze=False)[0]
    for letter, axes, index in zip("abcd", row, chosen, strict=False):
        draw_density(axes, path, int(index), value)
        panel(axes, letter, f"$t = {path.times[index]:.3g}$")
    row[0].set_ylabel(f"opinion of agent {path.names[1]}")
    # The density leaves the corner free that lies across the line of agreement.
    above = path.exact[0].mean[1] > path.exact[0].mean[0]
    for i, (text, colour) in enumerate((("grid", BLUE), ("exact: 1, 2, 3 std", RED), ("agreement", GREY))):
        x, y, side = (0.97, 0.21 - 0.08 * i, "right") if above else (0.03, 0.92 - 0.08 * i, "left")
        row[0].text(x, y, text, color=colour, ha=side, fontsize=7.5, transform=row[0].transAxes)
    return figure


def draw_density(axes: Axes, path: DensityPath, index: int, value: float) -> None:
    """Draw one density of two agents, in shares of its peak, over the line on which they agree."""
    shown = path.density[index] / path.density[index].max()
    axes.pcolormesh(*path.grid.edges, shown.T, cmap=_shades(), vmin=0.0, vmax=1.0, rasterized=True)
    exact = path.exact[index].pdf(np.stack(np.meshgrid(*path.grid.centres), axis=-1))
    axes.contour(*path.grid.centres, exact / exact.max(), levels=_DEVIATIONS, colors=RED, linewidths=0.7)
    low, high = _window(path)
    axes.plot([low, high], [low, high], color=GREY, linewidth=0.8, linestyle=_DOTS)
    axes.plot([value], [value], marker="+", markersize=7, markeredgewidth=0.9, color=INK)
    label(axes, "$v$", (value, value), xytext=(5, -5), va="top")
    axes.set(xlim=(low, high), ylim=(low, high), aspect="equal", xlabel=f"opinion of agent {path.names[0]}")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(4))


def _window(path: DensityPath) -> tuple[float, float]:
    """Return the one range of opinions that both axes show, at all times."""
    low = min(float(np.min(law.mean - _SHOWN * law.std)) for law in path.exact)
    high = max(float(np.max(law.mean + _SHOWN * law.std)) for law in path.exact)
    return low, high


@styled
def density_over_time(path: DensityPath, value: float, name: str) -> Figure:
    """Show the density of one quantity over time, and at some times the grid's beside the exact one."""
    refuse_axes(path, 1)
    figure = Figure(figsize=(TWO_COLUMNS, 2.6))
    left, right = figure.subplots(1, 2)
    (edges,), (centres,) = path.grid.edges, path.grid.centres
    shares = path.density / path.density.max(axis=1, keepdims=True)
    middles = np.concatenate([path.times[:1], (path.times[1:] + path.times[:-1]) / 2, path.times[-1:]])
    left.pcolormesh(middles, edges, shares.T, cmap=_shades(), vmin=0.0, vmax=1.0, rasterized=True)
    mean, std = np.array([(law.mean[0], law.std[0]) for law in path.exact]).T
    for deviations, width in ((0.0, 0.9), (2.0, 0.6), (-2.0, 0.6)):
        left.plot(path.times, mean + deviations * std, color=RED, linewidth=width)
    left.axhline(value, color=INK, linewidth=0.7, linestyle=_DOTS)
    label(left, "$v$", (float(path.times[-1]), value), xytext=(3, 0), va="center", annotation_clip=False)
    low, high = float(np.min(mean - _SHOWN * std)), float(np.max(mean + _SHOWN * std))
    left.set(xlim=(path.times[0], path.times[-1]), ylim=(low, high), xlabel="time $t$", ylabel=name)
    _slices(right, path, centres, (low, high))
    right.set(xlabel=name, ylabel="density")
    panel(left, "a", "grid in colour, exact mean and 2 deviations in red")
    panel(right, "b", "grid (dots) and exact density (lines)")
    return figure


def _slices(axes: Axes, path: DensityPath, centres: NDArray[np.float64], window: tuple[float, float]) -> None:
    chosen, colours = spread_out(path.times.size, 4), visible("viridis")
    fine = np.linspace(*window, 400)
    for i, index in enumerate(chosen):
        colour = colours(i / max(1, chosen.size - 1))
        exact = path.exact[index]
        axes.plot(fine, exact.pdf(fine), color=colour)
        # As many dots as can be told apart, however fine the grid.
        near = np.flatnonzero(np.abs(centres - exact.mean[0]) < _SHOWN * exact.std[0])
        dots = near[:: max(1, near.size // 16)]
        axes.plot(centres[dots], path.density[index][dots], "o", markersize=2.2, color=colour)
    axes.set(xlim=window, ylim=(0, None))
    # Where the density begins is crowded at first and empty later.
    at = (0.03, "left") if path.exact[0].mean[0] > sum(window) / 2 else (0.97, "right")
    names = [f"$t = {path.times[index]:.3g}$" for index in chosen]
    _list_names(axes, {name: colours(i / max(1, chosen.size - 1)) for i, name in enumerate(names)}, *at)


@styled
def shrinking_steps(paths: pd.DataFrame, errors: pd.DataFrame, name: str) -> Figure:
    """Show mean and deviation of one quantity come to the equation's as steps shrink, and the errors fall with them."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.5))
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
    names = {f"$h = {_fraction(step)}$": colours(i / max(1, len(steps) - 1)) for i, step in enumerate(steps)}
    # Deviations rise and fall; where they fall little, they leave the lower right free, and else the upper one.
    high = exact["std"].iloc[-1] > exact["std"].max() / 2
    _list_names(middle, names | {"equation": INK}, 0.97, "right", top=0.05 + 0.09 * len(names) if high else 0.93)
    left.set_ylabel(f"mean of {name}")
    middle.set_ylabel(f"standard deviation of {name}")
    _error_lines(right, errors, {"mean_error": (BLUE, "mean"), "std_error": (RED, "deviation")})
    right.set_ylabel("largest error over agents")
    panel(left, "a", "the mean")
    panel(middle, "b", "the deviation")
    panel(right, "c", "errors fall like $h$")
    return figure


def _list_names(axes: Axes, names: dict[str, Any], at: float, side: str, *, top: float = 0.93) -> None:
    """Write names in their colours below each other, the first at this part of the axes' height."""
    for i, (name, colour) in enumerate(names.items()):
        axes.text(at, top - 0.09 * i, name, color=colour, ha=side, transform=axes.transAxes, fontsize=7.5)


def _fraction(step: float) -> str:
    """Return a step as people write it.

    >>> _fraction(1.0), _fraction(0.125), _fraction(0.3)
    ('1', '1/8', '0.3')
    """
    parts = 1 / step
    return f"{step:g}" if step >= 1 or abs(parts - round(parts)) > 1e-9 else f"1/{round(parts)}"


@styled
def orders(weak: pd.DataFrame, strong: pd.DataFrame) -> Figure:
    """Show the errors of Euler–Maruyama against the length of its steps: weak and strong, all of order 1."""
    figure = Figure(figsize=(ONE_COLUMN, 2.7))
    axes = figure.add_subplot()
    both = weak.merge(strong, on="step")
    lines = {"error": (BLUE, "strong: paths"), "mean_error": (RED, "weak: mean")}
    lines |= {"std_error": (TEAL, "weak: deviation")}
    _error_lines(axes, both, lines)
    axes.errorbar(both["step"], both["error"], 2 * both["standard_error"], color=BLUE, linewidth=0, elinewidth=0.8)
    axes.set_ylabel("error at the end")
    return figure


def _error_lines(axes: Axes, errors: pd.DataFrame, lines: dict[str, tuple[str, str]]) -> None:
    """Draw errors against steps on logarithmic axes, named with the order that the shortest steps show."""
    table = errors.sort_values("step")
    low, high = float(table["step"].iloc[0]), float(table["step"].iloc[-1])
    for column, (colour, _) in lines.items():
        axes.loglog(table["step"], table[column], color=colour, marker="o", markersize=2.5)
    guide = np.array([low, high])
    height = 0.4 * float(table[list(lines)].iloc[0].min())
    axes.loglog(guide, height * guide / low, color=GREY, linewidth=0.8, linestyle=_DOTS)
    middle = float(np.sqrt(low * high))
    label(axes, "slope 1", (middle, height * middle / low), xytext=(4, -4), va="top", color=GREY)
    axes.set_xlim(low / 1.25, high * 1.25)
    plain_ticks(axes.xaxis)
    finest = table.head(3)
    names = {
        f"{text}, order {observed_order(finest['step'], finest[column]):.2f}": colour
        for column, (colour, text) in lines.items()
    }
    _list_names(axes, names, 0.04, "left")
    axes.set_xlabel("length of a step $h$")


def spread_out(count: int, most: int) -> NDArray[np.int64]:
    """Return up to ``most`` positions among ``count``, the first and the last included."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int))


def _shades() -> Colormap:
    return LinearSegmentedColormap.from_list("density", ["white", "#a9c6e2", BLUE, "#0f2f52"])


def refuse_axes(path: DensityPath, wanted: int) -> None:
    """Refuse a density of more or fewer quantities than a figure shows."""
    if len(path.grid.shape) != wanted:
        rule = f"this figure shows a density of {wanted} quantit{'y' if wanted == 1 else 'ies'}"
        got, remedy = f"one of {len(path.grid.shape)}", "solve_density takes one or two agents, or one weighted sum"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))
