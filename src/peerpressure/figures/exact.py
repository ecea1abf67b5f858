"""Exact numbers against sampled ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from peerpressure.figures.style import GREY, INK, PALETTE, TWO_COLUMNS, panel, styled

_NAMES = {
    "two_agents_recovery": "two agents",
    "sweep_ba": "sweeps",
    "beyond": "observers, schedules",
    "two_timescales": "consensus limit",
}
NORMAL_95 = 1.959963984540054


@styled
def exact_vs_sampled(pairs: pd.DataFrame) -> Figure:
    """Show every quantity known both ways, sampled over exact, and how many standard errors apart they are."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.7))
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    _pairs(left, pairs)
    _apart(right, pairs)
    panel(left, "a", f"{len(pairs)} quantities, both ways")
    panel(right, "b", "standard errors apart")
    return figure


def _pairs(axes: Axes, pairs: pd.DataFrame) -> None:
    shown = pairs[(pairs["exact"].abs() > 0) & (pairs["sampled"].abs() > 0)]
    ends = np.array([shown["exact"].abs().min() / 2, shown["exact"].abs().max() * 2])
    axes.loglog(ends, ends, color=INK, linewidth=0.6, linestyle=(0, (1, 1.5)), zorder=0)
    for place, (_, own) in enumerate(shown.groupby("experiment", sort=False)):
        colour = PALETTE[place % len(PALETTE)]
        axes.loglog(own["exact"].abs(), own["sampled"].abs(), "o", markersize=2.8, color=colour)
    axes.set_xlabel("exact (absolute value)")
    axes.set_ylabel("sampled (absolute value)")


def _apart(axes: Axes, pairs: pd.DataFrame) -> None:
    names = list(dict.fromkeys(pairs["experiment"]))
    axes.axvspan(-NORMAL_95, NORMAL_95, color=GREY, alpha=0.15, linewidth=0)
    axes.axvline(0.0, color=INK, linewidth=0.6, linestyle=(0, (1, 1.5)))
    for place, name in enumerate(names):
        z = pairs.loc[pairs["experiment"] == name, "z"]
        axes.plot(z, np.full(len(z), -place), "o", markersize=2.8, color=PALETTE[place % len(PALETTE)], alpha=0.8)
    reach = max(3.0, 1.1 * float(pairs["z"].abs().max()))
    axes.set_xlim(-reach, reach)
    axes.set_ylim(0.6 - len(names), 0.6)
    axes.set_yticks(-np.arange(len(names)), [_words(name) for name in names])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("(sampled − exact) / standard error; 95 % within the band")


def _words(name: str) -> str:
    return _NAMES.get(name, name.replace("_", " "))
