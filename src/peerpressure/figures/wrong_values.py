"""The wrong values on which runs agree, against the law that predicts them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from peerpressure.figures.style import BLUE, INK, ONE_COLUMN, RED, label, styled

BINS = 40


@styled
def wrong_values(values: pd.DataFrame, law: pd.DataFrame) -> Figure:
    """Show the values that runs agreed on as a histogram, their predicted normal law, and v, which they miss."""
    mean, std, v = (float(law[name].iloc[0]) for name in ("mean", "std", "consensus_value"))
    figure = Figure(figsize=(ONE_COLUMN, 2.2))
    axes = figure.add_subplot()
    axes.hist(values["value"], bins=BINS, density=True, color=BLUE, alpha=0.35)
    grid = np.linspace(mean - 4.5 * std, mean + 4.5 * std, 400)
    density = np.exp(-0.5 * ((grid - mean) / std) ** 2) / (std * np.sqrt(2 * np.pi))
    axes.plot(grid, density, color=RED)
    axes.axvline(v, color=INK, linewidth=0.7, linestyle=(0, (1, 1.5)))
    # Names stand on the side of v, where the panel is empty.
    way = 1 if v >= mean else -1
    side = "left" if way > 0 else "right"
    peak = density.max()
    label(axes, "predicted law", (mean + way * 0.5 * std, 0.9 * peak), xytext=(way * 5, 0), color=RED, ha=side)
    label(axes, f"{len(values):,} runs", (mean + way * 1.2 * std, 0.5 * peak), xytext=(way * 5, 0), color=BLUE, ha=side)
    label(axes, "consensus value $v$", (v, 1.02 * peak), xytext=(-way * 4, 0), ha="right" if way > 0 else "left")
    axes.set_xlabel("value on which all agree")
    axes.set_ylabel("density")
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    return figure
