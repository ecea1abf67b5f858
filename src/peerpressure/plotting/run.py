"""Figures of one run: public and hidden opinions, a temporal network, estimates, exposure and privacy budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from peerpressure.plotting.style import (
    BLUE,
    DOTTED,
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
)

MOST_PATHS = 30  # replicates drawn one by one
MOST_PANELS = 3
MOST_DOTS = 2_000  # agents drawn one by one
MOST_TIMES = 250  # more are not visible
MOST_LEVELS = 10  # values of classes with their names beside the axes
MOST_STEPS = 240  # drawn one by one; longer runs are drawn in bins of several steps

Numbers: TypeAlias = NDArray[np.int64]
Curve: TypeAlias = tuple[ArrayLike, ArrayLike]  # x and y


@styled
def opinions(
    summaries: pd.DataFrame,
    values: ArrayLike,
    agents: pd.DataFrame | None = None,
    *,
    log_time: bool | None = None,
    log_size: bool | None = None,
) -> Figure:
    """Show the range of public opinions over time, and their spread and largest distance to v.

    ``agents`` has the public opinions of the first replicate, one row per time and one column per agent, to be drawn.

    ``values`` is v, or the values of closed classes and camps, of which the agents' own limits are mixtures. Spread is
    max − min over agents, and the largest distance is max |y_i − v|, or that to the own limits. Axes are logarithmic
    where that suits the numbers, unless it is said for time and for sizes.
    """
    figure = Figure(figsize=(TWO_COLUMNS, 2.5))
    left, right = figure.subplots(1, 2)
    shown = _thinned(summaries)
    if agents is not None:
        drawn = agents[agents.index.isin(shown["time"])]
        left.plot(drawn.index, drawn, color=GREY, linewidth=0.4)
    _range(left, shown, ("minimum", "maximum", "mean"), BLUE, values)
    left.set_ylabel("public opinion $y_t$")
    curves = {"spread": ("spread", BLUE)}
    # Without recorded states there is no distance to the agents' own limits.
    if summaries["max_distance"].notna().any():
        target = "$v$" if np.size(values) == 1 else "own limits"
        curves["max_distance"] = (f"largest distance to {target}", TEAL)
    _fall(right, shown, curves, log_size)
    for axes in (left, right):
        _time_axis(axes, shown["time"], log_time)
    panel(left, "a", "public opinions")
    panel(right, "b", "spread and distance")
    return figure


@styled
def hidden(summaries: pd.DataFrame, values: ArrayLike) -> Figure:
    """Show the range of hidden opinions over time, and the spread of hidden and of public opinions.

    ``values`` is v, or the values of closed classes and camps.
    """
    figure = Figure(figsize=(TWO_COLUMNS, 2.5))
    left, right = figure.subplots(1, 2)
    shown = _thinned(summaries)
    _range(left, shown, ("hidden_minimum", "hidden_maximum", "hidden_mean"), TEAL, values)
    left.set_ylabel("hidden opinion $x_{t+1}$")
    _fall(right, shown, {"hidden_spread": ("hidden opinions", TEAL), "spread": ("public opinions", BLUE)})
    right.set_ylabel("spread, max − min")
    for axes in (left, right):
        _time_axis(axes, shown["time"])
    panel(left, "a", "hidden opinions")
    panel(right, "b", "spread")
    return figure


def _thinned(summaries: pd.DataFrame) -> pd.DataFrame:
    """Return the rows at log-spaced times, with those of time 0 and of the last."""
    times = np.unique(summaries["time"])
    later = times[times > 0]
    if later.size <= MOST_TIMES:
        return summaries
    # Log-spaced, because the axis is logarithmic for long runs; ``clip`` guards the last one against rounding.
    wanted = np.searchsorted(later, np.geomspace(later[0], later[-1], MOST_TIMES))
    return summaries[summaries["time"].isin([0, *later[wanted.clip(max=later.size - 1)]])]


def _range(axes: Axes, summaries: pd.DataFrame, columns: tuple[str, str, str], colour: str, values: ArrayLike) -> None:
    """Draw the band from the lowest to the highest agent of all replicates, and the mean of every replicate."""
    lowest, highest, mean = columns
    band = summaries.groupby("time").agg({lowest: "min", highest: "max"})
    axes.fill_between(band.index, band[lowest], band[highest], color=colour, alpha=0.13, linewidth=0)
    for name in (lowest, highest):
        axes.plot(band.index, band[name], color=colour, linewidth=0.9)
    replicates = list(summaries.groupby("replicate"))
    for replicate, path in replicates[:MOST_PATHS]:
        # One path stands out: a single run can be followed among the others.
        axes.plot(path["time"], path[mean], color=RED, linewidth=0.6, alpha=0.9 if replicate == 0 else 0.35)
    _levels(axes, float(band.index[-1]), np.atleast_1d(np.asarray(values, dtype=np.float64)))
    # The names stand in the margins, which no curve reaches.
    axes.margins(y=0.14)
    of_all, each = (f" of {len(replicates):,} replicates", "means") if len(replicates) > 1 else ("", "mean")
    axes.text(0.02, 0.985, f"highest and lowest{of_all}", transform=axes.transAxes, color=colour, va="top")
    axes.text(0.98, 0.015, each, transform=axes.transAxes, color=RED, ha="right", va="bottom")


def _levels(axes: Axes, end: float, values: NDArray[np.float64]) -> None:
    """Mark v by a line, or each value of closed classes and camps by its own."""
    # Names that would overlap are left out; the lines of many classes are still a picture of where they are.
    gap = np.ptp(values) / MOST_LEVELS
    last = -np.inf
    for value in values.tolist():
        axes.axhline(value, color=INK, linewidth=0.7, linestyle=DOTTED, zorder=3)
        if value - last >= gap:
            name, last = "$v$" if values.size == 1 else f"{value:.2g}".replace("-", "−"), value
            label(axes, name, (end, value), xytext=(3, 0), va="center", annotation_clip=False)


def _fall(axes: Axes, summaries: pd.DataFrame, curves: Mapping[str, tuple[str, str]], log: bool | None = None) -> None:
    """Draw the median over replicates of each column on a log axis, with the interquartile range shaded."""
    # A spread of exactly 0, as from identical opinions, rules out a log axis; at the start alone it is left out.
    positive = (summaries[[*curves]] > 0).all(axis=1)
    seen = summaries[positive]
    is_log = log is not False and bool(positive[summaries["time"] > 0].all()) and _has_room_above(seen[[*curves]])
    summaries = seen if is_log else summaries
    for k, (name, (words, colour)) in enumerate(curves.items()):
        # Quartiles instead of mean and standard deviation: they are positive, and a log axis can display the band.
        by_time = summaries.groupby("time")[name]
        median = by_time.median()
        axes.fill_between(
            median.index, by_time.quantile(0.25), by_time.quantile(0.75), color=colour, alpha=0.15, linewidth=0
        )
        axes.plot(median.index, median, color=colour, linewidth=1.0)
        axes.text(0.98, 0.985 - 0.085 * k, words, transform=axes.transAxes, color=colour, ha="right", va="top")
    axes.margins(y=0.1)
    if is_log:
        axes.set_yscale("log")
    # After the scale is chosen: the room is a share of the axis as it is drawn.
    _make_room_above(axes)
    if axes.get_yscale() == "log":
        plain_ticks(axes.yaxis)


def _has_room_above(values: pd.DataFrame) -> bool:
    """Return whether a log axis of these values, with its margins, ends within the range of float64."""
    low, high = np.log10([values.min(axis=None), values.max(axis=None)])
    return bool(high + 0.3 * (high - low) < np.log10(np.finfo(np.float64).max))


def _make_room_above(axes: Axes) -> None:
    """Raise the top of the axes to place names above all curves."""
    scale = axes.yaxis.get_transform()
    # In the coordinates of the scale the share is the same on linear and on log axes.
    low, high = scale.transform(np.array(axes.get_ylim()))
    axes.set_ylim(top=float(scale.inverted().transform(np.array([high + 0.13 * (high - low)]))[0]))


def _time_axis(axes: Axes, times: pd.Series, log: bool | None = None) -> None:
    first = times[times > 0].min()
    # Shorter runs fit a linear axis, on which single steps can be read.
    if times.max() >= 50 * first if log is None else log:
        if times.min() > 0:
            axes.set_xscale("log")
        else:
            # Linear up to the first step, which gives time 0 a place.
            axes.set_xscale("symlog", linthresh=first, linscale=0.4)
    # A run of one step would have an axis of length 0.
    axes.set_xlim(times.min(), max(times.max(), 2 * first))
    axes.set_xlabel("time $t$")


@styled
def estimates(table: pd.DataFrame, target: str = "initial", titles: Mapping[str, str] | None = None) -> Figure:
    """Show estimated against hidden opinions in the first replicate, one panel per method, ± 1 standard deviation.

    The target is the "initial" or the "current" hidden opinion. ``titles`` name methods in other words.
    Axes are square, and the same in all panels.
    """
    truth = "current hidden opinion" if target == "current" else "hidden opinion $x_0$"
    # Agents that are not identified have no estimate to draw.
    first = table[(table["replicate"] == table["replicate"].min()) & table["identified"]]
    # In the order of the scenario.
    methods = list(dict.fromkeys(table["method"]))[:MOST_PANELS]
    width = ONE_COLUMN if len(methods) == 1 else TWO_COLUMNS
    figure = Figure(figsize=(width, 2.6))
    panels = figure.subplots(1, len(methods), sharex=True, sharey=True, squeeze=False)[0]
    for axes, method, letter in zip(panels, methods, "abc", strict=False):
        _against(axes, first[first["method"] == method])
        axes.set_xlabel(truth)
        title = (titles or {}).get(method, method)
        axes.set_title(f"({letter}) {title}" if len(methods) > 1 else title, loc="left")
        axes.set_box_aspect(1)
    # Across and up have one range, which the axes of all panels share.
    ends = [end for limits in (panels[0].get_xlim(), panels[0].get_ylim()) for end in limits]
    panels[0].set(xlim=(min(ends), max(ends)), ylim=(min(ends), max(ends)))
    panels[0].set_ylabel("estimate ± 1 standard deviation")
    return figure


def _against(axes: Axes, rows: pd.DataFrame) -> None:
    shown = rows.head(MOST_DOTS)
    if shown.empty:
        axes.text(0.5, 0.5, "no agent can be identified", transform=axes.transAxes, ha="center", color=GREY)
        return
    reach = [float(shown["hidden"].min()), float(shown["hidden"].max())]
    # The identity, on which an estimate is exact.
    axes.plot(reach, reach, color=INK, linewidth=0.7, linestyle=DOTTED, zorder=1)
    axes.errorbar(
        shown["hidden"], shown["value"], yerr=shown["std"], fmt="none", ecolor=BLUE, alpha=0.3, elinewidth=0.7
    )
    axes.plot(shown["hidden"], shown["value"], "o", color=BLUE, markersize=2.2, markeredgewidth=0)


@styled
def exposed(agents: pd.DataFrame) -> Figure:
    """Show the bits that the observer learns about each agent, against its degree."""
    figure = Figure(figsize=(ONE_COLUMN, 2.5))
    axes = figure.add_subplot()
    # An exactly observed agent has infinite information.
    finite = agents[np.isfinite(agents["bits"])].head(MOST_DOTS)
    for observed, words, colour in ((True, "observed", BLUE), (False, "not observed", RED)):
        group = finite[finite["seen"] == observed]
        axes.plot(group["degree"], group["bits"], "o", color=colour, markersize=2.8, markeredgewidth=0, alpha=0.7)
        if len(group):
            axes.text(
                0.98, 0.97 if observed else 0.89, words, transform=axes.transAxes, color=colour, ha="right", va="top"
            )
    if len(finite) and finite["degree"].max() >= 8 * finite["degree"].min():
        axes.set_xscale("log")
        plain_ticks(axes.xaxis)
    # If all bits are 0 the axis still needs a positive length; without finite rows there is no maximum.
    axes.set_ylim(0, 1.2 * max(float(finite["bits"].max()), 1e-9) if len(finite) else 1)
    axes.set_xlabel("degree $d$")
    axes.set_ylabel("information about an agent, bits")
    return figure


@styled
def spent(budget: pd.DataFrame) -> Figure:
    """Show over time the ε of differential privacy that holds for every agent in one run without y₀."""
    figure = Figure(figsize=(ONE_COLUMN, 2.3))
    axes = figure.add_subplot()
    finite = budget[np.isfinite(budget["epsilon"]) & (budget["epsilon"] > 0)]
    axes.loglog(finite["time"], finite["epsilon"], color=BLUE, marker="o", markersize=2.2)
    axes.margins(y=0.15)
    _time_axis(axes, budget["time"])
    axes.set_ylabel(r"$\varepsilon$ of one run, $y_0$ unobserved")
    plain_ticks(axes.yaxis)
    return figure


@styled
def bench(promised: Mapping[str, Curve], achieved: Mapping[str, Curve], std: float) -> Figure:
    """Show the budget ε above the error of an observer's estimates, over "time" and over "noise", now of size ``std``.

    Curves are pairs of x and y.
    """
    figure = Figure(figsize=(TWO_COLUMNS, 3.6))
    grid = figure.subplots(2, 2, sharex="col")
    for row, (curves, name) in enumerate(((promised, r"$\varepsilon$"), (achieved, "expected RMS error"))):
        for axes, (over, title) in zip(grid[row], (("time", "step $t$"), ("noise", "noise, std")), strict=True):
            x, y = (np.asarray(values, dtype=float) for values in curves[over])
            shown = np.isfinite(y)
            axes.plot(x[shown], y[shown], color=RED if row == 0 else BLUE, marker="." if over == "noise" else None)
            if over == "time":
                axes.set_ylim(bottom=0)
            else:
                axes.set(xscale="log", yscale="log")
                axes.axvline(std, color=GREY, linewidth=0.7)
            if row == 1:
                axes.set_xlabel(title)
        grid[row, 0].set_ylabel(name)
    return figure


@styled
def temporal_network(network: pd.DataFrame) -> Figure:
    """Show the number of edges and of isolated agents over time.

    ``network`` has one row per step, with ``time``, ``edges`` and ``isolated``. A long run is drawn in bins of steps,
    each as its mean and a band from its lowest to its highest number.
    """
    figure = Figure(figsize=(TWO_COLUMNS, 2.2))
    left, right = figure.subplots(1, 2)
    for axes, name, colour in ((left, "edges", BLUE), (right, "isolated", RED)):
        _course(axes, network["time"].to_numpy(), network[name].to_numpy(), colour)
        axes.set_xlabel("time $t$")
    left.set_ylabel("edges")
    right.set_ylabel("agents")
    panel(left, "a", "edges")
    panel(right, "b", "isolated agents")
    return figure


def _course(axes: Axes, times: Numbers, values: Numbers, colour: str) -> None:
    # Steps per bin, rounded up to get at most ``MOST_STEPS`` bins.
    length = -(-times.size // MOST_STEPS)
    if length == 1:
        axes.step(times, values, where="mid", color=colour, linewidth=0.9)
    else:
        first = np.arange(0, times.size, length)
        # The last bin may be shorter.
        count = np.diff(first, append=times.size)
        middle, mean = (np.add.reduceat(numbers, first) / count for numbers in (times, values))
        low, high = (extreme.reduceat(values, first) for extreme in (np.minimum, np.maximum))
        axes.fill_between(middle, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.plot(middle, mean, color=colour, linewidth=0.9)
    axes.set_xlim(times[0], max(times[-1], times[0] + 1))
    axes.set_ylim(0, max(1.0, 1.08 * float(values.max())))
    # Numbers of edges and agents are whole.
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
