"""A density on the way to agreement, as moving pictures."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from peerpressure.figures.sde import draw_density, refuse_axes, spread_out
from peerpressure.figures.style import ONE_COLUMN, render, styled
from peerpressure.files import replacing
from peerpressure.sde.fokker_planck import DensityPath

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
