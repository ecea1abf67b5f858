"""A density on the way to agreement, as moving pictures."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from peerpressure.files import replacing
from peerpressure.plotting import sde
from peerpressure.plotting.sde import draw_density, refuse_axes, spread_out
from peerpressure.plotting.style import BLUE, INK, ONE_COLUMN, RED, TWO_COLUMNS, label, panel, render, styled
from peerpressure.sde import DensityPath, GaussianDensity
from peerpressure.sde._fokker_planck import Grid

if TYPE_CHECKING:
    from PIL.Image import Image


def animate_density(path: DensityPath, value: float, file: str | Path, *, frames_per_second: float = 10.0) -> Path:
    """Write an animated GIF of the density of two agents, one frame for each time; whole or not at all."""
    moving, target = density_gif(path, value, frames_per_second=frames_per_second), Path(file)
    with replacing(target) as out:
        out.write(moving)
    return target


def density_gif(path: DensityPath, value: float, *, frames_per_second: float = 10.0) -> bytes:
    """Return that animation as the bytes of a file; the same densities give the same bytes."""
    from PIL.Image import Dither

    refuse_axes(path, 2)
    pictures = [_frame(path, index, value) for index in range(path.times.size)]
    palette = _palette(pictures)
    frames = [picture.quantize(palette=palette, dither=Dither.NONE) for picture in pictures]
    for frame in frames:
        frame.putpalette(_with_white(palette))
    written = io.BytesIO()
    pause = round(1000 / frames_per_second)
    # The last picture stays for a while, before all begins again.
    pauses = [pause] * (len(frames) - 1) + [pause + 1500]
    frames[0].save(written, "GIF", save_all=True, append_images=frames[1:], duration=pauses, loop=0, optimize=False)
    return written.getvalue()


def _palette(pictures: list[Image]) -> Image:
    """Return one palette for all frames, for colours that change from frame to frame would flicker."""
    from PIL.Image import new

    chosen = spread_out(len(pictures), 4)
    width, height = pictures[0].size
    together = new("RGB", (width * chosen.size, height))
    for i, index in enumerate(chosen):
        together.paste(pictures[index], (i * width, 0))
    return together.quantize(colors=128)


def _with_white(palette: Image) -> list[int]:
    """Return the palette's numbers with white for what is nearly white, of which quantising makes averages."""
    colours = np.array(palette.getpalette()).reshape(-1, 3)
    colours[colours.min(axis=1) >= 250] = 255
    return [int(part) for part in colours.ravel()]


def _frame(path: DensityPath, index: int, value: float) -> Image:
    """Return one frame of an animation as a picture of red, green and blue."""
    from PIL.Image import open as read

    return read(io.BytesIO(render(_still(path, index, value), "png", dpi=160))).convert("RGB")


@styled
def _still(path: DensityPath, index: int, value: float) -> Figure:
    figure = Figure(figsize=(ONE_COLUMN, ONE_COLUMN))
    axes = figure.add_subplot()
    draw_density(axes, path, index, value)
    axes.set_ylabel(f"opinion of agent {path.names[1]}")
    axes.set_title(f"$t = {path.times[index]:.2f}$")
    return figure


# The model in continuous time, from tables: the density of two agents, steps that shrink, and a swing that fades.

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
