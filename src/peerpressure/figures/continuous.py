"""The model in continuous time, from tables: the density of two agents, steps that shrink, and a swing that fades."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from peerpressure.figures import sde
from peerpressure.figures.animation import density_gif
from peerpressure.figures.style import BLUE, INK, RED, TWO_COLUMNS, label, panel, styled
from peerpressure.sde import DensityPath, GaussianDensity
from peerpressure.sde.fokker_planck import Grid

_DOTS = (0, (1, 1.5))
_LATE = 10  # from when on extremes are near enough to be looked at
# By clock: its colour and what it is called.
_CLOCKS = {"discrete": (RED, "discrete time"), "continuous": (BLUE, "continuous time")}


def density(law: pd.DataFrame, cells: pd.DataFrame, grid: pd.DataFrame) -> Figure:
    """Show the density of two agents flow to agreement on v: the grid's in colour, the exact one in contours."""
    return sde.density_panels(density_path(law, cells, grid), float(grid["consensus_value"].iloc[0]))


def density_animation(law: pd.DataFrame, cells: pd.DataFrame, grid: pd.DataFrame) -> bytes:
    """Return the same at all times of the tables, as an animated GIF."""
    return density_gif(density_path(law, cells, grid), float(grid["consensus_value"].iloc[0]))


def density_path(law: pd.DataFrame, cells: pd.DataFrame, grid: pd.DataFrame) -> DensityPath:
    """Return the density that the tables hold; where they leave out a cell, it is as good as empty."""
    axes = Grid(tuple(np.linspace(row.low, row.high, row.cells + 1) for row in grid.itertuples()))
    names, times = tuple(grid["agent"]), law["time"].to_numpy()
    whole = np.zeros((times.size, *axes.shape))
    whole[np.searchsorted(times, cells["time"]), cells["column"], cells["row"]] = cells["density"]
    exact = tuple(
        GaussianDensity(
            row.time,
            names,
            np.array([row.mean_1, row.mean_2]),
            np.array([[row.variance_1, row.covariance], [row.covariance, row.variance_2]]),
        )
        for row in law.itertuples()
    )
    facts = {name: float(grid[name].iloc[0]) for name in ("mass_error", "lowest")}
    return DensityPath(times, names, axes, whole, exact, **facts, steps=times.size - 1)


shrinking_steps = partial(sde.shrinking_steps, name="$m_t$")
orders = sde.orders


@styled
def swing(paths: pd.DataFrame, limits: pd.DataFrame) -> Figure:
    """Show a tree under too fast a pressure: discrete time swings for ever, continuous time comes to rest."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.6))
    left, right = figure.subplots(1, 2)
    for clock, (colour, name) in _CLOCKS.items():
        own = paths[paths["clock"] == clock]
        _extremes(left, own[own["time"] >= _LATE], limits[limits["clock"] == clock], colour)
        right.loglog(own["time"], own["swing"], color=colour)
        at = own.iloc[len(own) * 2 // 3]
        label(right, name, (at["time"], at["swing"]), xytext=(4, 6), color=colour)
    v, end = float(limits["consensus_value"].iloc[0]), float(paths["time"].max())
    left.axhline(v, color=INK, linewidth=0.7, linestyle=_DOTS)
    # Beside the dots of the predicted values.
    label(left, "$v$", (end, v), xytext=(6, 0), va="center", annotation_clip=False)
    left.set_ylabel("least and largest opinion shown")
    right.set_ylabel("movement of agent 1 in a unit of time")
    left.set_xscale("log")
    for axes, start in ((left, _LATE), (right, 1)):
        axes.set_xlim(start, end)
        axes.set_xlabel("time $t$")
    panel(left, "a", r"extremes over agents, $\rho_t = 2^{\sqrt{t}}$")
    panel(right, "b", "the swing")
    return figure


def _extremes(axes: Axes, own: pd.DataFrame, limits: pd.DataFrame, colour: str) -> None:
    axes.fill_between(own["time"], own["minimum"], own["maximum"], color=colour, alpha=0.13, linewidth=0)
    for name in ("minimum", "maximum"):
        axes.plot(own["time"], own[name], color=colour, linewidth=0.9)
    end = float(own["time"].iloc[-1])
    axes.errorbar(
        [end] * len(limits), limits["mean"], 1.96 * limits["std"], fmt="o", color=colour, markersize=2.5, clip_on=False
    )
