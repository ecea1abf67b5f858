"""Figures of a comparison of models: weights, pressure, opinions, what is missed, and errors of prediction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from peerpressure.plotting.graphs import edge_lines, layout
from peerpressure.plotting.style import BLUE, GOLD, GREY, INK, ONE_COLUMN, RED, TEAL, TWO_COLUMNS, label, panel, styled

# Differences in BIC beyond this are drawn as bars of the same length, with their number.
_LONGEST_BAR = 30.0
# The axis of pressure ends at this many times the highest level, at most; bands beyond are marked.
_HIGHEST_BAND = 4.0
_COLOURS = {"none": GREY, "walk": GOLD}
# Agents that are named on a network, and beside points.
_MOST_NAMED = 40


@styled
def weights(table: pd.DataFrame) -> Figure:
    """Show the difference in BIC of every rival from the best one, with weights."""
    figure = Figure(figsize=(ONE_COLUMN, 0.7 + 0.19 * len(table)))
    _weights(figure.add_subplot(), table)
    return figure


def _weights(axes: Axes, table: pd.DataFrame) -> None:
    place = np.arange(len(table))
    off = table["bic_difference"].to_numpy()
    # The best bar has no length of its own, and a dot marks it.
    axes.barh(place, np.minimum(off, _LONGEST_BAR), color=[BLUE if k == 0 else GREY for k in place], height=0.62)
    axes.plot(0, 0, "o", color=BLUE, markersize=5, clip_on=False, zorder=3)
    for k, (distance, weight) in enumerate(zip(off, table["weight"], strict=True)):
        away = f"+{distance:,.0f}" if np.isfinite(distance) else "not identified"
        text = f"weight {weight:.2f}" if weight >= 0.005 else away
        axes.annotate(
            text, (min(distance, _LONGEST_BAR), k), (5, 0), textcoords="offset points", va="center", fontsize=7
        )
    axes.set_yticks(place, list(table["model"]))
    axes.invert_yaxis()
    axes.set_xlim(0, 1.32 * _LONGEST_BAR)
    axes.set_xticks([0, 10, 20, _LONGEST_BAR], ["0", "10", "20", f"≥ {_LONGEST_BAR:g}"])
    axes.set_xlabel("BIC above the best model")


@styled
def pressure(course: pd.DataFrame, best: str) -> Figure:
    """Show the pressure of the best model over time, with 95 % intervals."""
    figure = Figure(figsize=(ONE_COLUMN, 2.5))
    _pressure(figure.add_subplot(), course, best)
    return figure


def _pressure(axes: Axes, course: pd.DataFrame, best: str) -> None:
    step, drawn, high = (course[name].to_numpy() for name in ("step", "best", "high"))
    top = _top_of_pressure(drawn, high)
    if np.isfinite(drawn).any():
        axes.fill_between(step, course["low"], np.minimum(high, 2 * top), color=BLUE, alpha=0.15, linewidth=0)
        axes.plot(step, drawn, color=BLUE, zorder=3, marker="o" if step.size == 1 else None)
        label(axes, best, (float(step[-1]), float(drawn[-1])), xytext=(-2, 6), ha="right", color=BLUE)
        _say_cut(axes, step, high, top)
    axes.set_ylim(0, top)
    axes.set_xlabel("step $t$")
    axes.set_ylabel(r"peer pressure $\rho_t$")


def _top_of_pressure(levels: NDArray[np.float64], ends: NDArray[np.float64]) -> float:
    """Return the end of the axis: that of the band, but a few times the curve at most, which must not be squeezed."""
    highest = float(np.nanmax(np.r_[levels, 0.0]))
    if not np.isfinite(highest) or highest < 1e-9:
        return 1.0
    bands = ends[np.isfinite(ends)]
    return max(1.8 * highest, min(1.1 * float(bands.max(initial=0.0)), _HIGHEST_BAND * highest))


def _say_cut(axes: Axes, step: NDArray[np.int64], high: NDArray[np.float64], top: float) -> None:
    """Say how far a band reaches that the axes cut."""
    furthest = int(np.argmax(high))
    if high[furthest] > top:
        text = f"up to {high[furthest]:.2g}" if np.isfinite(high[furthest]) else "no upper end"
        axes.plot(step[furthest], 0.97 * top, "^", color=BLUE, markersize=4)
        label(
            axes,
            text,
            (float(step[furthest]), 0.95 * top),
            xytext=(0, -2),
            va="top",
            ha="center",
            fontsize=6,
            color=INK,
        )


@styled
def opinions(agents: pd.DataFrame) -> Figure:
    """Show the hidden opinion of each agent against the last answer, with 95 % intervals."""
    figure = Figure(figsize=(ONE_COLUMN, 3.2))
    axes = figure.add_subplot()
    count = _opinions(axes, agents)
    if count:
        axes.set_title(f"{count} of {len(agents)} think otherwise than they said last", color=RED)
    return figure


def _opinions(axes: Axes, agents: pd.DataFrame) -> int:
    """Draw opinions, and return the number of agents whose interval does not contain the last answer."""
    last, value = agents["last_answer"].to_numpy(), agents["value"].to_numpy()
    low, high = agents["low"].to_numpy(), agents["high"].to_numpy()
    outside = (last < low) | (last > high)
    for group, colour in ((~outside, BLUE), (outside, RED)):
        if group.any():
            bars = np.array([value - low, high - value])[:, group]
            axes.errorbar(
                last[group], value[group], bars, fmt="o", color=colour, markersize=3, linewidth=0.7, capsize=0
            )
    ends = [float(np.nanmin(last)), float(np.nanmax(last))]
    axes.plot(ends, ends, color=INK, linewidth=0.7, linestyle=":", zorder=1)
    axes.set_xlabel("last answer")
    axes.set_ylabel("hidden opinion")
    return int(outside.sum())


@styled
def errors(table: pd.DataFrame) -> Figure:
    """Show the typical error of predictions one step ahead, by step."""
    figure = Figure(figsize=(ONE_COLUMN, 2.5))
    _errors(figure.add_subplot(), table)
    return figure


def _errors(axes: Axes, table: pd.DataFrame) -> None:
    names = list(dict.fromkeys(table["model"]))
    # The best model, which comes first, is drawn over the others.
    for order, name in enumerate(names):
        own = table[table["model"] == name]
        colour = BLUE if order == 0 else _COLOURS.get(name, TEAL)
        marker = "o" if len(own) <= 12 else None
        axes.plot(own["step"], own["error"], color=colour, marker=marker, markersize=3, label=name, zorder=9 - order)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("step $t$")
    axes.set_ylabel("typical error of the next answer")
    axes.legend(frameon=False, fontsize=7)


@styled
def missed(agents: Sequence[str], edges: pd.DataFrame, misses: pd.DataFrame) -> Figure:
    """Draw the network with what the best model misses: agents, ties with another sign, and missing ties.

    ``edges`` has positions ``source`` and ``target``; ``misses`` has ``kind``, and positions ``first`` and ``second``,
    −1 for none.
    """
    ends = edges[["source", "target"]].to_numpy()
    places = layout(len(agents), ends)
    width, height = np.maximum(np.ptp(places, axis=0), 0.1)
    figure = Figure(figsize=(ONE_COLUMN, 0.4 + ONE_COLUMN * min(max(height / width, 0.35), 1.1)))
    axes = figure.add_subplot()
    points = 72 * ONE_COLUMN / (1.1 * width)
    size = 30.0 if len(agents) <= 60 else 1800 / len(agents)
    for lines in edge_lines(places, ends, np.full(len(agents), np.sqrt(size) / 2 / points), points, 0.4):
        axes.add_collection(lines)
    marked = np.zeros(len(agents), dtype=bool)
    for row in misses.itertuples():
        marked[row.first] |= row.kind == "stubbornness"
        if row.second >= 0:
            pair = places[[row.first, row.second]]
            style = "--" if row.kind == "sign" else "-"
            axes.plot(*pair.T, color=RED, linewidth=1.6, linestyle=style, zorder=2)
    colours = np.where(marked, RED, BLUE)
    axes.scatter(places[:, 0], places[:, 1], s=size, c=colours, edgecolors="white", linewidths=0.4, zorder=3)
    named = range(len(agents)) if len(agents) <= _MOST_NAMED else np.flatnonzero(marked).tolist()
    for k in named:
        label(
            axes, str(agents[k])[:12], (float(places[k, 0]), float(places[k, 1])), xytext=(4, 4), fontsize=6, color=INK
        )
    axes.set_aspect("equal")
    axes.margins(0.12)
    axes.axis("off")
    axes.set_title("red: another stubbornness; red line: missing tie; dashed: other sign" if len(misses) else "nothing")
    return figure


@styled
def overview(table: pd.DataFrame, course: pd.DataFrame, agents: pd.DataFrame, misses: pd.DataFrame) -> Figure:
    """Show weights, pressure, hidden opinions and errors of prediction in four panels."""
    figure = Figure(figsize=(TWO_COLUMNS, 6.2))
    (one, two), (three, four) = figure.subplots(2, 2)
    _weights(one, table)
    _pressure(two, course, str(table["model"].iloc[0]))
    _opinions(three, agents)
    _errors(four, misses)
    for letter, axes, title in zip("abcd", (one, two, three, four), _TITLES, strict=True):
        panel(axes, letter, title)
    return figure


_TITLES = ("which model", "pressure over time", "what people think", "error of the next answer")
