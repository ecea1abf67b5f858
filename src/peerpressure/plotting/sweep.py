"""Residual variance over graph sizes and noise levels, and what regressions make of it."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from peerpressure.plotting.style import BLUE, GREY, INK, OPINIONS, RED, TWO_COLUMNS, panel, smoothed, styled, visible

SIZES = (20, 50, 80)
_AXES = {"noise_variance": r"noise variance $\sigma_0^2$", "agents": "number of agents $|V|$"}


@styled
def boxes(levels: pd.DataFrame, edges: int) -> Figure:
    """Show ⟨σ²⟩ by noise variance and by graph size as boxes, with the exact mean on top."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.7))
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, by in ((left, "noise_variance"), (right, "agents")):
        _boxes(axes, levels[(levels["edges"] == edges) & (levels["by"] == by)].sort_values("level"))
        axes.set_xlabel(_AXES[by])
    left.set_ylabel(r"mean residual variance $\langle\sigma^2\rangle$")
    left.text(0.03, 0.96, "exact expectation", transform=left.transAxes, color=RED, va="top")
    panel(left, "a", f"by noise, {_family(edges)}")
    panel(right, "b", f"by size, {_family(edges)}")
    return figure


def _boxes(axes: Axes, levels: pd.DataFrame) -> None:
    place = levels["level"].to_numpy(dtype=float)
    width = 0.62 * float(np.diff(place).min()) if place.size > 1 else 1.0
    stats = [_stats(row) for _, row in levels.iterrows()]
    line = {"color": BLUE, "linewidth": 0.8}
    axes.bxp(
        stats,
        positions=place,
        widths=width,
        showfliers=False,
        manage_ticks=False,
        patch_artist=True,
        boxprops={"facecolor": (*_light(BLUE), 0.35), "edgecolor": BLUE, "linewidth": 0.8},
        medianprops={"color": INK, "linewidth": 1.1},
        whiskerprops=line,
        capprops=line,
    )
    axes.plot(place, levels["exact_mean"], color=RED, marker="o", markersize=2.6, linewidth=1.0, zorder=4)
    margin = 0.9 * width
    axes.set_xlim(place.min() - margin, place.max() + margin)
    axes.set_ylim(bottom=0)


def _stats(row: pd.Series) -> dict[str, float]:
    names = {"whislo": "low_whisker", "q1": "first_quartile", "med": "median", "q3": "third_quartile"}
    return {key: row[name] for key, name in names.items()} | {"whishi": row["high_whisker"]}


def _light(colour: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    r, g, b = (0.5 + 0.5 * part for part in to_rgb(colour))
    return r, g, b


@styled
def shapes(values: pd.DataFrame, edges: int) -> Figure:
    """Show the density of mean residuals for three graph sizes, one curve for each noise variance."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.3))
    own = values[values["edges"] == edges]
    scale = Normalize(own["noise_variance"].min(), own["noise_variance"].max())
    shades = visible(OPINIONS)
    reach = 1.1 * float(own["mean_residual"].abs().max())
    grid = np.linspace(-reach, reach, 161)
    panels = figure.subplots(1, len(SIZES), sharey=True)
    for axes, size, letter in zip(panels, SIZES, "abc", strict=True):
        for level, part in own[own["agents"] == size].groupby("noise_variance"):
            colour = shades(scale(level))
            axes.plot(grid, smoothed(part["mean_residual"].to_numpy(), grid), color=colour, linewidth=0.9)
        axes.set_xlim(-reach, reach)
        axes.set_xlabel("mean residual")
        panel(axes, letter, f"$|V| = {size}$")
    panels[0].set_ylabel("density")
    panels[0].set_ylim(bottom=0)
    bar = figure.colorbar(ScalarMappable(scale, shades), ax=panels, pad=0.015, aspect=26)
    bar.set_label(_AXES["noise_variance"])
    bar.outline.set_visible(False)
    return figure


def _family(edges: int) -> str:
    return f"BA with {edges} edge{'s' if edges > 1 else ''} per step"


boxes_two, boxes_one = partial(boxes, edges=2), partial(boxes, edges=1)
shapes_two, shapes_one = partial(shapes, edges=2), partial(shapes, edges=1)

_SOURCES = {"printed": (INK, "s"), "measured": (BLUE, "o"), "exact": (RED, "D")}
_TERMS = {"intercept": "intercept", "agents": "$|V|$", "noise": "noise"}


@styled
def intervals(values: pd.DataFrame) -> Figure:
    """Show estimates and 95 % intervals of each coefficient: printed, measured and exact, for both graph families."""
    # The regressor that the printed numbers belong to, whatever their label says.
    own = values[(values["regressor"] == "noise") | (values["source"] == "printed")]
    figure = Figure(figsize=(TWO_COLUMNS, 2.2))
    panels = figure.subplots(1, len(_TERMS), sharey=True)
    for axes, (term, name), letter in zip(panels, _TERMS.items(), "abc", strict=True):
        _coefficient(axes, own[own["term"] == term])
        axes.axvline(0.0, color=GREY, linewidth=0.6, linestyle=(0, (1, 1.5)), zorder=0)
        axes.set_xlabel("coefficient")
        panel(axes, letter, name if term != "noise" else r"noise deviation $\sigma_0$")
    return figure


def _coefficient(axes: Axes, rows: pd.DataFrame) -> None:
    ticks, names = [], []
    for group, edges in enumerate((2, 1)):
        for place, (source, (colour, mark)) in enumerate(_SOURCES.items()):
            row = rows[(rows["edges"] == edges) & (rows["source"] == source)]
            if row.empty:
                continue
            height = -(4 * group + place)
            low, high, middle = (float(row[name].iloc[0]) for name in ("low", "high", "estimate"))
            axes.plot([low, high], [height, height], color=colour, linewidth=1.0)
            axes.plot(middle, height, color=colour, marker=mark, markersize=3.6)
            ticks.append(height)
            names.append(f"BA{edges} {source}")
    axes.set_yticks(ticks, names)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
