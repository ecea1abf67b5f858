"""What is given away as time goes on, and what it buys."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from peerpressure.figures.style import BLUE, GOLD, GREY, RED, TWO_COLUMNS, label, panel, plain_ticks, styled

_DESIGNS: Mapping[str, tuple[str, str]] = {
    "fresh": (BLUE, "fresh noise at each step"),
    "growing": (GOLD, "noise that grows"),
    "held": (RED, "one mask, held"),
}


@styled
def privacy_over_time(designs: pd.DataFrame) -> Figure:
    """Show the privacy budget spent on the most exposed agent, and the error of the consensus mode, over time."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.6))
    left, right = figure.subplots(1, 2)
    for axes, column in ((left, "mu"), (right, "rms_error")):
        _curves(axes, designs, column)
        axes.set_xlabel("time $t$")
    left.set_ylabel(r"privacy budget spent, $\mu$")
    right.set_ylabel("RMS error of the consensus mode")
    panel(left, "a", "what an observer of everything is told")
    panel(right, "b", "how far agreement is from $v$")
    return figure


def _curves(axes: Axes, designs: pd.DataFrame, column: str) -> None:
    for name, own in designs.groupby("design", sort=False):
        colour, title = _DESIGNS.get(str(name), (GREY, str(name)))
        curve = own[np.isfinite(own[column]) & (own[column] > 0)].sort_values("steps")
        axes.loglog(curve["steps"], curve[column], color=colour)
        if column == "mu" and len(curve):
            spot = curve.iloc[len(curve) // 2]
            label(axes, title, (spot["steps"], spot[column]), xytext=(-3, 4), ha="right", color=colour)
    axes.set_xlim(designs["steps"].min(), designs["steps"].max())
    plain_ticks(axes.yaxis)
