"""Networks that change: ties of different turnover, a speaker heard now and then, and groups that part."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from peerpressure.figures.style import (
    BLUE,
    GOLD,
    INK,
    RED,
    TEAL,
    TWO_COLUMNS,
    label,
    name_ends,
    panel,
    plain_ticks,
    styled,
)

_DOTS = (0, (1, 1.5))
# By network: its colour and what it is called.
_NETWORKS: Mapping[str, tuple[str, str]] = {
    "constant": (INK, "constant"),
    "slow": (BLUE, "slow turnover"),
    "rewired": (TEAL, "rewired"),
    "fast": (RED, "drawn anew"),
    "isolated": (GOLD, "alone at times"),
}
_GROUPS = (BLUE, TEAL, RED)
_COURSES = {"returning": "bridges that come back", "parted": "bridges that do not"}
_STRIP = (0.015, 0.05)  # where the windows are drawn, in parts of the panel's height


@styled
def turnover(law: pd.DataFrame, targets: pd.DataFrame) -> Figure:
    """Show spread and distance to v over time on networks of different turnover, and where distances must end."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.7))
    left, right = figure.subplots(1, 2)
    for axes, column in ((left, "spread"), (right, "distance")):
        ends = {}
        for name, (colour, title) in _NETWORKS.items():
            own = law[law["network"] == name]
            axes.loglog(own["time"], own[column], color=colour, linewidth=1.0)
            ends[title] = (float(own[column].iloc[-1]), colour)
        axes.set_xlim(1, law["time"].max())
        axes.set_xlabel("time $t$")
        name_ends(axes, float(law["time"].max()), ends)
    for row in targets.itertuples():
        if abs(row.off) > 0:
            right.axhline(abs(row.off), color=_NETWORKS[row.network][0], linewidth=0.6, linestyle=_DOTS)
    left.set_ylabel("spread")
    right.set_ylabel("distance to $v$")
    panel(left, "a", "whether agents agree")
    panel(right, "b", "whether they agree on $v$")
    return figure


@styled
def speaker(paths: pd.DataFrame, shares: pd.DataFrame) -> Figure:
    """Show how an agent heard by all in every second stretch of steps counts for more, the shorter the stretches."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.6))
    left, right = figure.subplots(1, 2)
    for stretch, colour in zip(dict.fromkeys(paths["stretch"]), (RED, BLUE, INK), strict=False):
        _path(left, paths[paths["stretch"] == stretch], stretch, colour)
    left.set_xlim(1, paths["time"].max())
    left.set_xlabel("time $t$")
    left.set_ylabel("consensus mode $m_t$")
    ends = {}
    for (weight, own), colour in zip(shares.groupby("weight"), (RED, GOLD), strict=False):
        right.loglog(own["stretch"], own["share"], color=colour)
        right.plot(own["stretch"], own["mean"], "o", color=colour, markersize=2.6)
        ends[f"weight {weight:g}"] = (float(own["share"].iloc[-1]), colour)
    v = float(shares["consensus_value"].iloc[0])
    right.axhline(v, color=INK, linewidth=0.7, linestyle=_DOTS)
    right.set_xlim(shares["stretch"].min() / 1.15, shares["stretch"].max() * 1.15)
    right.set_xlabel("steps in a stretch")
    right.set_ylabel("share of the speaker")
    plain_ticks(right.xaxis)
    plain_ticks(right.yaxis)
    name_ends(right, float(shares["stretch"].max() * 1.15), ends | {"$v$": (v, INK)})
    panel(left, "a", "the speaker holds 1, all others 0")
    panel(right, "b", "theory (lines) and exact mean (dots)")
    return figure


def _path(axes: Axes, own: pd.DataFrame, stretch: int, colour: str) -> None:
    axes.fill_between(own["time"], own["low"], own["high"], color=colour, alpha=0.13, linewidth=0)
    axes.semilogx(own["time"], own["mean"], color=colour)
    target, end = float(own["target"].iloc[0]), float(own["time"].iloc[-1])
    axes.axhline(target, color=colour, linewidth=0.7, linestyle=_DOTS)
    name = "constant" if stretch == 0 else f"stretches of {stretch} step{'s' * (stretch > 1)}"
    label(axes, name, (end, target), xytext=(-2, 3), ha="right", color=colour)


@styled
def parting(courses: pd.DataFrame, windows: pd.DataFrame) -> Figure:
    """Show three groups whose bridges vanish for a while, or for ever, with the windows over which they do not meet."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.8))
    names = list(dict.fromkeys(courses["course"]))
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for axes, name, letter in zip(panels, names, "abcd", strict=False):
        _course(axes, courses[courses["course"] == name])
        _windows(axes, windows[windows["course"] == name])
        panel(axes, letter, _COURSES.get(name, name))
    panels[0].set_ylabel("mean opinion shown by a group")
    return figure


def _course(axes: Axes, course: pd.DataFrame) -> None:
    end, v = float(course["time"].max()), float(course["consensus_value"].iloc[0])
    for (_, own), colour in zip(course.groupby("group"), _GROUPS, strict=False):
        axes.fill_between(own["time"], own["low"], own["high"], color=colour, alpha=0.15, linewidth=0)
        axes.semilogx(own["time"], own["mean"], color=colour)
        axes.plot(own["time"], own["path"], color=colour, linewidth=0.5)
        axes.axhline(own["own_value"].iloc[0], color=colour, linewidth=0.6, linestyle=(0, (4, 2)))
    axes.axhline(v, color=INK, linewidth=0.7, linestyle=_DOTS)
    label(axes, "$v$", (end, v), xytext=(3, 0), va="center", annotation_clip=False)
    axes.set_xlim(1, end)
    axes.set_ylim(bottom=float(course["low"].min()) - 0.12 * float(np.ptp(course[["low", "high"]])))
    axes.set_xlabel("time $t$")


def _windows(axes: Axes, windows: pd.DataFrame) -> None:
    """Draw the times at which windows are jointly connected as a light strip, and where they are not in grey."""
    low, high = _STRIP
    axes.axvspan(1, axes.get_xlim()[1], ymin=low, ymax=high, color=TEAL, alpha=0.35, linewidth=0)
    for row in windows.itertuples():
        axes.axvspan(row.first, row.last, ymin=low, ymax=high, color=INK, linewidth=0)
    axes.text(0.01, high + 0.01, "jointly connected", transform=axes.transAxes, fontsize=7, color=TEAL)
