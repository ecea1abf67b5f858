"""How far the regression misses each agent, and the law of its mean misses."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from peerpressure.figures.density import normal, smoothed
from peerpressure.figures.style import BLUE, GREY, INK, RED, TWO_COLUMNS, label, panel, styled

BINS = 17


@styled
def residuals(values: pd.DataFrame, agents: pd.DataFrame, normality: pd.DataFrame) -> Figure:
    """Show the density of each agent's residuals, and the mean residual of each agent with normal fit and exact law."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.6))
    left, right = figure.subplots(1, 2)
    _each_agent(left, values, agents)
    _mean_vector(right, agents["mean_residual"].to_numpy(), normality)
    runs = int(values["replicate"].nunique())
    panel(left, "a", f"residuals of {len(agents)} agents over {runs} runs")
    panel(right, "b", f"mean residual of each of {len(agents)} agents")
    return figure


def _each_agent(axes: Axes, values: pd.DataFrame, agents: pd.DataFrame) -> None:
    reach = float(np.abs(values["residual"]).quantile(0.9995))
    grid = np.linspace(-reach, reach, 121)
    for _, own in values.groupby("agent"):
        axes.plot(grid, smoothed(own["residual"].to_numpy(), grid), color=BLUE, linewidth=0.4, alpha=0.35)
    # The mixture of the exact laws is what all residuals together follow.
    mixture = np.mean([normal(grid, 0.0, std) for std in agents["exact_std"]], axis=0)
    axes.plot(grid, mixture, color=RED, linewidth=1.4)
    axes.set_xlim(-reach, reach)
    _bare(axes, r"residual $\hat{x}_0^i - x_0^i$")
    axes.text(0.03, 0.95, "each agent", transform=axes.transAxes, color=BLUE, va="top")
    axes.text(0.03, 0.86, "exact, all agents", transform=axes.transAxes, color=RED, va="top")


def _mean_vector(axes: Axes, means: NDArray[np.float64], normality: pd.DataFrame) -> None:
    fit = normality[normality["sample"] == "mean_vector"].iloc[0]
    axes.hist(means, bins=BINS, density=True, color=GREY, alpha=0.4)
    reach = 1.05 * max(float(np.abs(means).max()), 3.2 * float(fit["std"]))
    grid = np.linspace(-reach, reach, 241)
    axes.plot(grid, normal(grid, fit["mean"], fit["std"]), color=BLUE)
    axes.plot(grid, normal(grid, 0.0, fit["exact_std"]), color=RED, linestyle=(0, (4, 2)))
    axes.axvline(0.0, color=INK, linewidth=0.6, linestyle=(0, (1, 1.5)))
    axes.set_xlim(-reach, reach)
    _bare(axes, r"mean residual over runs, $\langle r \rangle_i$")
    axes.text(0.03, 0.95, "normal fit", transform=axes.transAxes, color=BLUE, va="top")
    axes.text(0.03, 0.86, "exact law", transform=axes.transAxes, color=RED, va="top")
    label(axes, f"Shapiro–Wilk $p$ = {fit['shapiro_p']:.2f}", (reach, 0), xytext=(-2, 104), ha="right", color=INK)


def _bare(axes: Axes, name: str) -> None:
    """Leave out what a density's height adds nothing to."""
    axes.set_xlabel(name)
    axes.set_ylabel("density")
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_ylim(bottom=0)
