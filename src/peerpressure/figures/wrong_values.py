"""The wrong values on which runs agree, against the law that predicts them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
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
    _name_parts(axes, len(values), mean, std, v)
    axes.set_xlabel("value on which all agree")
    axes.set_ylabel("density")
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    return figure


def _name_parts(axes: Axes, runs: int, mean: float, std: float, v: float) -> None:
    """Name histogram, law and target, on whichever side leaves room."""
    peak = 1 / (std * np.sqrt(2 * np.pi))
    towards, far = (1 if v >= mean else -1), abs(v - mean) > 4 * std
    # Between the law and a distant v there is room for all names; else v keeps its side to itself.
    way = towards if far else -towards
    side = {"ha": "left" if way > 0 else "right", "xytext": (way * 5, 0)}
    label(axes, "predicted law", (mean + way * 0.5 * std, 0.9 * peak), color=RED, **side)
    label(axes, f"{runs:,} runs", (mean + way * 1.2 * std, 0.5 * peak), color=BLUE, **side)
    inner = -towards if far else towards
    label(axes, "consensus value $v$", (v, 1.02 * peak), xytext=(inner * 4, 0), ha="left" if inner > 0 else "right")
