"""How the regression's error depends on graph size, exactly."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from peerpressure.figures.style import BLUE, ONE_COLUMN, RED, label, styled


@styled
def size_effect(variances: pd.DataFrame) -> Figure:
    """Show the exact residual variance over graph sizes, for both numbers of edges per step, as a mean over graphs."""
    figure = Figure(figsize=(ONE_COLUMN, 2.4))
    axes = figure.add_subplot()
    for edges, colour, mark in ((1, RED, "s"), (2, BLUE, "o")):
        own = variances[variances["edges"] == edges].sort_values("agents")
        error = 1.96 * own["standard_error"]
        axes.errorbar(
            own["agents"], own["variance"], yerr=error, fmt=f"{mark}-", markersize=3, linewidth=0.9, color=colour
        )
        highest = own.loc[own["variance"].idxmax()]
        name = f"{edges} edge{'s' if edges > 1 else ''} per step"
        label(axes, name, (own["agents"].mean(), highest["variance"]), xytext=(0, 9), ha="center", color=colour)
    axes.set_xlabel("number of agents $|V|$")
    axes.set_ylabel(r"residual variance, in $\sigma_0^2$")
    axes.margins(y=0.16)
    return figure
