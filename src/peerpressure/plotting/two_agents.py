"""Estimates of two hidden opinions, and the covariances that were claimed for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from numpy.typing import NDArray

from peerpressure.plotting.style import BLUE, GOLD, GREY, INK, RED, TEAL, TWO_COLUMNS, label, panel, styled

_LEVEL_95 = 5.991464547107979  # of χ² with two degrees of freedom
# Kind of covariance, its colour, its line and what a reader should call it.
_KINDS: Sequence[tuple[str, str, str, str, str]] = (
    ("ols", "homoskedastic", "claimed, all errors alike", INK, "--"),
    ("ols", "textbook", "printed by regression software", GREY, "-."),
    ("ols", "exact", "true, regression", BLUE, "-"),
    ("innovations", "exact", "true, innovations", RED, "-"),
)


@styled
def two_agents(estimates: pd.DataFrame, covariances: pd.DataFrame) -> Figure:
    """Show estimates of two opinions on the claimed density, and 95 % ellipses of every covariance, claimed and true.

    The second panel turns the plane by 45°, since all that regression does not know lies along one diagonal.
    """
    figure = Figure(figsize=(TWO_COLUMNS, 3.1))
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.12))
    _plane(left, estimates, covariances)
    _turned(right, estimates, covariances)
    count = int(estimates["replicate"].nunique())
    panel(left, "a", f"{count} runs on the claimed density")
    panel(right, "b", "the same along and across the diagonal")
    return figure


def _plane(axes: Axes, estimates: pd.DataFrame, covariances: pd.DataFrame) -> None:
    centre, cov = _law(covariances, "ols", "homoskedastic")
    reach = 3.2 * float(np.sqrt(cov[0, 0]))
    _density(axes, centre, cov, reach)
    _limit_line(axes, centre, covariances, reach)
    for method, colour, size in (("ols", BLUE, 7.0), ("innovations", RED, 3.0)):
        own = estimates[estimates["method"] == method]
        axes.scatter(own["agent_1"], own["agent_2"], s=size, color=colour, linewidths=0, alpha=0.8, zorder=3)
    axes.set_xlim(centre[0] - reach, centre[0] + reach)
    axes.set_ylim(centre[1] - reach, centre[1] + reach)
    axes.set_aspect("equal")
    axes.set_xlabel(r"estimate of agent 1, $\hat{x}_0^1$")
    axes.set_ylabel(r"estimate of agent 2, $\hat{x}_0^2$")
    label(axes, "regression", (centre[0] + 0.45 * reach, centre[1] - 0.45 * reach), xytext=(8, 4), color=BLUE)
    label(axes, "innovations", (centre[0], centre[1]), xytext=(10, 8), color=RED)
    label(axes, "printed limit: a line", (centre[0] - 0.62 * reach, centre[1] + 0.62 * reach), xytext=(7, 4), color=INK)


def _density(axes: Axes, centre: NDArray[np.float64], cov: NDArray[np.float64], reach: float) -> None:
    grid = np.linspace(-reach, reach, 301)
    dx, dy = np.meshgrid(grid, grid)
    along, across = (dx - dy) / np.sqrt(2), (dx + dy) / np.sqrt(2)
    # The covariance is symmetric in the agents, so the diagonals are its axes.
    wide, narrow = cov[0, 0] - cov[0, 1], cov[0, 0] + cov[0, 1]
    # A ridge thinner than a pixel would vanish.
    narrow = max(narrow, (reach / 60) ** 2)
    height = np.exp(-0.5 * (along**2 / wide + across**2 / narrow))
    extent = (centre[0] - reach, centre[0] + reach, centre[1] - reach, centre[1] + reach)
    shade = LinearSegmentedColormap.from_list("claimed", ["white", GOLD])
    axes.imshow(height, origin="lower", extent=extent, cmap=shade, vmin=0, vmax=1.1, aspect="equal", zorder=0)


def _limit_line(axes: Axes, centre: NDArray[np.float64], covariances: pd.DataFrame, reach: float) -> None:
    _, limit = _law(covariances, "ols", "printed_limit")
    half = min(float(np.sqrt(_LEVEL_95 * limit[0, 0])), reach)
    axes.plot([centre[0] - half, centre[0] + half], [centre[1] + half, centre[1] - half], color=INK, linewidth=0.6)


def _turned(axes: Axes, estimates: pd.DataFrame, covariances: pd.DataFrame) -> None:
    centre, _ = _law(covariances, "ols", "exact")
    for method, colour in (("ols", BLUE), ("innovations", RED)):
        own = estimates[estimates["method"] == method]
        along, across = _turn(own["agent_1"] - centre[0], own["agent_2"] - centre[1])
        axes.scatter(along, across, s=4, color=colour, alpha=0.45, linewidths=0)
    named = covariances.set_index(["method", "kind"]).index
    for place, (method, kind, name, colour, line) in enumerate(k for k in _KINDS if k[:2] in named):
        _, cov = _law(covariances, method, kind)
        wide, narrow = (2 * np.sqrt(_LEVEL_95 * (cov[0, 0] + sign * cov[0, 1])) for sign in (-1, 1))
        axes.add_patch(Ellipse((0, 0), wide, narrow, fill=False, edgecolor=colour, linestyle=line, linewidth=1.2))
        axes.text(0.02, 0.98 - 0.075 * place, name, transform=axes.transAxes, color=colour, va="top")
    axes.autoscale_view()
    low, high = axes.get_ylim()
    # The names stand above what is drawn.
    axes.set_ylim(low, high + 0.42 * (high - low))
    axes.axhline(0, color=TEAL, linewidth=0.4, zorder=0)
    axes.axvline(0, color=TEAL, linewidth=0.4, zorder=0)
    axes.set_xlabel(r"error of the difference, $(\hat{x}_0^1 - \hat{x}_0^2)/\sqrt{2}$")
    axes.set_ylabel(r"error of the sum, $(\hat{x}_0^1 + \hat{x}_0^2)/\sqrt{2}$")


def _turn(first: pd.Series, second: pd.Series) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    one, two = first.to_numpy(), second.to_numpy()
    return (one - two) / np.sqrt(2), (one + two) / np.sqrt(2)


def _law(covariances: pd.DataFrame, method: str, kind: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return centre (2,) and covariance (2, 2)."""
    rows = covariances[(covariances["method"] == method) & (covariances["kind"] == kind)]
    row = rows.iloc[0]
    centre = row[["centre_1", "centre_2"]].to_numpy(dtype=float)
    cov = row[["variance_1", "covariance", "covariance", "variance_2"]].to_numpy(dtype=float).reshape(2, 2)
    return centre, cov
