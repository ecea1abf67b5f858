"""Exact numbers against sampled ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from peerpressure.figures.density import normal
from peerpressure.figures.style import BLUE, INK, PALETTE, RED, TWO_COLUMNS, panel, styled


@styled
def exact_vs_sampled(pairs: pd.DataFrame) -> Figure:
    """Show every quantity known both ways, sampled over exact, and how many standard errors apart they are."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.7))
    left, right = figure.subplots(1, 2)
    _pairs(left, pairs)
    _apart(right, pairs["z"].to_numpy())
    panel(left, "a", f"{len(pairs)} quantities, both ways")
    panel(right, "b", "standard errors apart")
    return figure


def _pairs(axes: Axes, pairs: pd.DataFrame) -> None:
    shown = pairs[(pairs["exact"].abs() > 0) & (pairs["sampled"].abs() > 0)]
    ends = np.array([shown["exact"].abs().min() / 2, shown["exact"].abs().max() * 2])
    axes.loglog(ends, ends, color=INK, linewidth=0.6, linestyle=(0, (1, 1.5)), zorder=0)
    for place, (name, own) in enumerate(shown.groupby("experiment", sort=False)):
        colour = PALETTE[place % len(PALETTE)]
        axes.loglog(own["exact"].abs(), own["sampled"].abs(), "o", markersize=2.8, color=colour)
        axes.text(0.03, 0.96 - 0.075 * place, _words(name), transform=axes.transAxes, color=colour, va="top")
    axes.set_xlabel("exact (absolute value)")
    axes.set_ylabel("sampled (absolute value)")


def _apart(axes: Axes, z: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    reach = max(4.0, 1.1 * float(np.abs(z).max()))
    axes.hist(z, bins=np.arange(-np.ceil(reach), np.ceil(reach) + 0.5, 0.5).tolist(), density=True, color=BLUE, alpha=0.35)
    grid = np.linspace(-reach, reach, 201)
    axes.plot(grid, normal(grid, 0.0, 1.0), color=RED)
    axes.set_xlim(-reach, reach)
    axes.set_xlabel("(sampled − exact) / standard error")
    axes.set_ylabel("density")
    axes.text(0.03, 0.96, "found", transform=axes.transAxes, color=BLUE, va="top")
    axes.text(0.03, 0.88, "expected: standard normal", transform=axes.transAxes, color=RED, va="top")


def _words(name: object) -> str:
    return str(name).replace("_", " ")
