"""Figures of the inferred network: its edges, how well they are found, and what hides them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from peerpressure.plotting.style import (
    BLUE,
    DOTTED,
    GOLD,
    GREY,
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

# Colour and name of each method.
_METHODS: Mapping[str, tuple[str, str]] = {
    "likelihood": (RED, "joint likelihood"),
    "weighted_var": (GOLD, "VAR(1), weighted"),
    "var": (BLUE, "VAR(1)"),
    "lagged_correlation": (TEAL, "lag-1 correlation"),
    "partial_correlation": (GREY, "partial correlation"),
}
# Defences of each panel, with their colours and names, and the label of its axis.
_PANELS: Mapping[str, tuple[Mapping[str, tuple[str, str]], str]] = {
    "more noise": (
        {"noise": (RED, "of the agents"), "published_noise": (BLUE, "of what is published")},
        "standard deviation of noise",
    ),
    "fewer published steps": ({"every": (RED, "")}, "every $k$-th step published"),
    "fewer published agents": ({"fraction": (RED, "")}, "published agents, %"),
}


@styled
def network_leak(leak: pd.DataFrame, defence: pd.DataFrame) -> Figure:
    """Show the average precision of inferred edges over time by method, and against the strength of each defence."""
    figure = Figure(figsize=(TWO_COLUMNS, 4.6))
    top, bottom = figure.subplots(2, 2, sharey=True)
    _methods(top[0], leak)
    for axes, letter, (subject, (curves, axis)) in zip((top[1], *bottom), "bcd", _PANELS.items(), strict=True):
        _defences(axes, defence, curves)
        axes.set_xlabel(axis)
        panel(axes, letter, subject)
    for axes in (top[0], bottom[0]):
        axes.set_ylabel("average precision of edges")
        axes.set_ylim(0, 1.12)
    return figure


def _methods(axes: Axes, leak: pd.DataFrame) -> None:
    ends: dict[str, tuple[float, str]] = {}
    for method, curve in leak.groupby("method", sort=False):
        colour, name = _METHODS.get(str(method), (GREY, str(method)))
        own = curve.sort_values("steps")
        axes.semilogx(own["steps"], own["average_precision"], color=colour, marker="o", markersize=3)
        ends[name] = (float(own["average_precision"].iloc[-1]), colour)
    # Up to the last point, beyond which the names of the methods stand.
    ends_of_line = [float(leak["steps"].min()), float(leak["steps"].max())]
    axes.plot(ends_of_line, [leak["chance"].iloc[0]] * 2, color=INK, linestyle=DOTTED, linewidth=0.9)
    axes.set_xlabel("steps observed $T$")
    # Room on the right for the names.
    last = float(leak["steps"].max())
    axes.set_xlim(float(leak["steps"].min()) / 1.15, last * (last / float(leak["steps"].min())) ** 0.6)
    axes.set_ylim(0, 1.12)
    name_ends(axes, last * 1.1, ends)
    panel(axes, "a", "scale-free network of 30 agents")


def _defences(axes: Axes, defence: pd.DataFrame, curves: Mapping[str, tuple[str, str]]) -> None:
    for name, (colour, title) in curves.items():
        own = defence[defence["defence"] == name].sort_values("strength")
        # Shares are shown in per cent.
        strength = 100 * own["strength"] if name == "fraction" else own["strength"]
        axes.plot(strength, own["average_precision"], color=colour, marker="o", markersize=3)
        if title:
            # Names on different sides of their curves, which may run together.
            middle, side = own.iloc[len(own) // 2], 6 if name == "noise" else -12
            spot = (float(middle["strength"]), float(middle["average_precision"]))
            label(axes, title, spot, xytext=(0, side), ha="center", color=colour)
    if len(curves) > 1:
        axes.set_xscale("log")
    else:
        # The points themselves: there is nothing between every second step and every third.
        axes.set_xticks(strength)


@styled
def inferred_network(
    places: NDArray[Any],
    pairs: NDArray[Any],
    true: NDArray[np.bool_],
    inferred: NDArray[np.bool_],
    curve: tuple[NDArray[Any], NDArray[Any]],
    time: float,
) -> Figure:
    """Draw the edges that an observer infers up to a time over the true ones, and the average precision over time.

    ``places`` (n, 2) are positions, ``pairs`` (m, 2) agents, connected where ``true``; ``curve`` are times and average
    precisions.
    """
    figure = Figure(figsize=(TWO_COLUMNS, 3.0))
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
    # Lines and not only colours tell the three kinds apart.
    kinds: Mapping[str, tuple[NDArray[np.bool_], dict[str, Any]]] = {
        "found": (true & inferred, {"colors": INK, "linewidths": 1.2, "zorder": 1.2}),
        "false": (inferred & ~true, {"colors": RED, "linewidths": 0.9, "linestyles": (0, (3, 2)), "zorder": 1.1}),
        "missed": (true & ~inferred, {"colors": GREY, "linewidths": 0.5, "alpha": 0.6, "zorder": 1.0}),
    }
    for name, (chosen, look) in kinds.items():
        left.add_collection(LineCollection(list(places[pairs[chosen]]), label=f"{int(chosen.sum()):,} {name}", **look))
    left.plot(places[:, 0], places[:, 1], "o", color=BLUE, markersize=3.2, markeredgecolor="white", zorder=2)
    left.set_aspect("equal")
    left.axis("off")
    left.margins(0.06)
    left.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, frameon=False)
    right.semilogx(*curve, color=RED, marker="o", markersize=3)
    # A log axis has no place for time 0.
    if time > 0:
        right.axvline(time, color=INK, linestyle=DOTTED, linewidth=0.9)
    plain_ticks(right.xaxis)
    right.set_ylim(0, 1.05)
    right.set_xlabel("observed until step $t$")
    right.set_ylabel("average precision of edges")
    panel(left, "a", f"edges inferred up to $t = {time:g}$")
    panel(right, "b", "over time")
    return figure
