"""What louder noise does to convergence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from peerpressure.figures.style import INK, OPINIONS, TWO_COLUMNS, name_ends, panel, plain_ticks, styled, visible

Shades: TypeAlias = Mapping[float, Any]


@styled
def noise_levels(paths: pd.DataFrame, law: pd.DataFrame) -> Figure:
    """Show the extremes of runs under several noises, and the exact error of the consensus mode: bias and deviation."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.7))
    left, right = figure.subplots(1, 2)
    levels = np.sort(paths["noise"].unique())
    shades = visible(OPINIONS)(np.linspace(1.0, 0.0, levels.size))
    _extremes(left, paths, dict(zip(levels, shades, strict=True)))
    _errors(right, law, dict(zip(levels, shades, strict=True)))
    panel(left, "a", r"maximum and minimum opinion, $\rho_t = t$")
    panel(right, "b", "consensus mode: bias and deviation")
    return figure


def _extremes(axes: Axes, paths: pd.DataFrame, shades: Shades) -> None:
    # The loudest noise goes first, so that the others show on top of it.
    for level in sorted(shades, reverse=True):
        own = paths[(paths["noise"] == level) & (paths["time"] >= 1)]
        for name in ("minimum", "maximum"):
            axes.semilogx(own["time"], own[name], color=shades[level], linewidth=0.8)
    shown = own["time"]
    for name in ("expected_minimum", "expected_maximum"):
        axes.semilogx(shown, own[name], color=INK, linewidth=0.8, linestyle=(0, (1, 1.5)))
    axes.set_xlim(1, float(shown.max()))
    axes.set_xlabel("time $t$")
    axes.set_ylabel("public opinion $y_t$")
    for place, level in enumerate(sorted(shades, reverse=True)):
        name = rf"$\sigma_0 = {level:g}$"
        axes.text(0.98, 0.97 - 0.085 * place, name, transform=axes.transAxes, color=shades[level], ha="right", va="top")
    axes.text(0.98, 0.03, "expected, under any noise", transform=axes.transAxes, color=INK, ha="right")


def _errors(axes: Axes, law: pd.DataFrame, shades: Shades) -> None:
    ends = {}
    for level, shade in shades.items():
        own = law[law["noise"] == level]
        axes.loglog(own["time"], own["std"], color=shade)
        ends[rf"$\sigma_0 = {level:g}$"] = (float(own["std"].iloc[-1]), shade)
    # Bias is the same under every noise.
    axes.loglog(own["time"], own["bias"].abs(), color=INK, linestyle=(0, (1, 1.5)))
    ends["bias"] = (abs(float(own["bias"].iloc[-1])), INK)
    axes.set_xlim(max(1.0, float(law["time"].min())), float(law["time"].max()))
    axes.set_xlabel("time $t$")
    axes.set_ylabel("error of the consensus mode")
    plain_ticks(axes.yaxis)
    name_ends(axes, float(law["time"].max()), ends)
