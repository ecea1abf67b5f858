"""Figures of a response to others: the placebo, weights by round, and revisions."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from peerpressure.plotting.style import BLUE, DOTTED, GREY, INK, ONE_COLUMN, RED, label, styled

_SHOWN = 4.0  # robust scales, beyond which few revisions would squeeze all others
_MOST_DOTS = 4_000


@styled
def placebo(shuffled: NDArray[np.float64], statistic: float, p_value: float) -> Figure:
    """Show a statistic of the data among its values for shuffled seats."""
    figure = Figure(figsize=(ONE_COLUMN, 2.3))
    axes = figure.add_subplot()
    axes.hist(shuffled, bins=min(40, max(10, shuffled.size // 15)), color=GREY, alpha=0.6)
    axes.axvline(statistic, color=RED, linewidth=1.6)
    low, high = min(float(shuffled.min()), statistic), max(float(shuffled.max()), statistic)
    margin = 0.25 * (high - low)
    axes.set_xlim(low - 0.1 * margin, high + margin)
    top = 1.15 * axes.get_ylim()[1]
    axes.set_ylim(0, top)
    to_the_left = statistic > (low + high) / 2
    label(
        axes,
        f"the data, p = {p_value:.2g}",
        (statistic, 0.94 * top),
        xytext=(-4 if to_the_left else 4, 0),
        ha="right" if to_the_left else "left",
        color=RED,
    )
    axes.set_xlabel("response to what was seen, in standard errors")
    axes.set_ylabel(f"of {shuffled.size} shuffles of seats")
    return figure


@styled
def rounds(table: pd.DataFrame) -> Figure:
    """Show the weight of what was seen in each round, and the share of others since the first row."""
    figure = Figure(figsize=(ONE_COLUMN, 2.4))
    axes = figure.add_subplot()
    own = table[np.isfinite(table["weight"])]
    share = table[np.isfinite(table["share"])]
    axes.errorbar(
        share["round"] + 0.08,
        share["share"],
        np.maximum([share["share"] - share["share_low"], share["share_high"] - share["share"]], 0),
        fmt="s",
        color=GREY,
        markersize=3.5,
        linewidth=0.8,
        label="share of others since the first row",
    )
    bars = np.array([own["weight"] - own["low"], own["high"] - own["weight"]])
    axes.errorbar(
        own["round"] - 0.08,
        own["weight"],
        bars,
        fmt="o",
        color=BLUE,
        markersize=4,
        linewidth=1,
        label="weight of what was seen",
    )
    axes.axhline(0, color=INK, linewidth=0.6, linestyle=DOTTED)
    axes.set_xlim(1.5, float(table["round"].max()) + 0.5)
    axes.set_ylim(max(-1.0, axes.get_ylim()[0]), min(1.0, max(axes.get_ylim()[1], 0.2)))
    axes.set_xticks(table["round"])
    axes.set_xlabel("round")
    axes.legend(frameon=False, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    return figure


@styled
def revisions(changes: pd.DataFrame, weight: float | None) -> Figure:
    """Show how much people changed their answers against how far away what they saw was."""
    figure = Figure(figsize=(ONE_COLUMN, 2.9))
    axes = figure.add_subplot()
    shown = changes.iloc[:: max(1, len(changes) // _MOST_DOTS)]
    moved = shown["change"] != 0
    axes.plot(shown["distance"][moved], shown["change"][moved], "o", color=BLUE, markersize=1.6, alpha=0.5)
    axes.plot(shown["distance"][~moved], shown["change"][~moved], "o", color=GREY, markersize=1.6, alpha=0.5)
    reach = min(_SHOWN, 1.05 * float(np.abs(shown[["distance", "change"]].to_numpy()).max()) or 1.0)
    axes.axhline(0, color=INK, linewidth=0.7, linestyle=DOTTED)
    axes.plot([-reach, reach], [-reach, reach], color=INK, linewidth=0.7, linestyle=DOTTED)
    title = "dotted: all the way to what was seen, and not at all"
    if weight is not None:
        axes.plot([-reach, reach], [-weight * reach, weight * reach], color=RED, linewidth=1.2)
        title += f"; red: {weight:.2f} of it"
    axes.set_title(title, fontsize=7)
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-reach, reach)
    axes.set_xlabel("seen − last answer")
    axes.set_ylabel("change of the answer")
    return figure
