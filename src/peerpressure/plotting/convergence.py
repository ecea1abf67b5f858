"""Agreement at early and at large times, and the two ways to miss it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from peerpressure.plotting.style import (
    BLUE,
    INK,
    ONE_COLUMN,
    OPINIONS,
    RED,
    TWO_COLUMNS,
    label,
    name_ends,
    panel,
    plain_ticks,
    styled,
    visible,
)

EARLY = 40  # steps shown one by one
LONG = 1_000  # steps from which the last two decades deserve a closer look


@styled
def agreement(paths: pd.DataFrame, summary: pd.DataFrame) -> Figure:
    """Show all agents come to v under ρ_t = t: extremes over the first steps, and over all on a log axis."""
    path, v = _pick(paths, "slow_tree"), _value(summary, "slow_tree", "consensus_value")
    figure = Figure(figsize=(TWO_COLUMNS, 2.4))
    early, late = figure.subplots(1, 2, sharey=True)
    _extremes(early, path[path["time"] <= EARLY], v)
    early.set_xlim(0, EARLY)
    early.set_ylabel("public opinion $y_t$")
    for text, time, colour in (("maximum", 10, BLUE), ("minimum", 10, BLUE), ("expected", 25, RED)):
        _name_edge(early, path[path["time"].between(time, time + 8)], text, colour)
    label(early, "consensus value $v$", (7, v), xytext=(0, 2))
    _large_times(late, path[path["time"] >= 1], v)
    panel(early, "a", r"early times, $\rho_t = t$")
    panel(late, "b", r"large times, $\rho_t = t$")
    return figure


def _large_times(axes: Axes, path: pd.DataFrame, v: float) -> None:
    """Draw all times on a log axis, and the last two decades again where they can be seen."""
    end = int(path["time"].iloc[-1])
    _on_log_axis(axes, path, v)
    if end < LONG:
        return
    inset = axes.inset_axes((0.5, 0.68, 0.48, 0.32))
    _on_log_axis(inset, path[path["time"] >= end // 100], v)
    inset.set_xlabel("")
    inset.yaxis.set_major_locator(MaxNLocator(3))
    inset.tick_params(labelsize=7)


def _on_log_axis(axes: Axes, path: pd.DataFrame, v: float) -> None:
    _extremes(axes, path, v)
    axes.set_xscale("log")
    axes.set_xlim(path["time"].iloc[0], path["time"].iloc[-1])


def _name_edge(axes: Axes, stretch: pd.DataFrame, text: str, colour: str) -> None:
    """Write a name just outside the band, clear of all of it that the name stands under or over."""
    above = text == "maximum"
    height = stretch["maximum"].max() if above else stretch[["minimum", "expected_minimum"]].to_numpy().min()
    side = {"xytext": (0, 3), "va": "bottom"} if above else {"xytext": (0, -3), "va": "top"}
    label(axes, text, (float(stretch["time"].iloc[0]), float(height)), color=colour, **side)


@styled
def failure(paths: pd.DataFrame, summary: pd.DataFrame) -> Figure:
    """Show what ρ_t = 2^√t does: oscillation on a tree, agreement on a biased value where there are odd cycles."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.6))
    left, right = figure.subplots(1, 2, sharey=True)
    _oscillation(left, _pick(paths, "fast_tree"), _value(summary, "fast_tree", "consensus_value"))
    _biased_consensus(right, _pick(paths, "fast_cycles"), summary)
    left.set_ylabel("public opinion $y_t$")
    panel(left, "a", r"tree, $\rho_t = 2^{\sqrt{t}}$: no agreement")
    panel(right, "b", r"odd cycles, $\rho_t = 2^{\sqrt{t}}$: agreement, not on $v$")
    return figure


def _oscillation(axes: Axes, path: pd.DataFrame, v: float) -> None:
    shown = path[path["time"] <= 2 * EARLY]
    _extremes(axes, shown, v, expected=False)
    axes.plot(shown["time"], shown["agent_1"], color=RED, linewidth=0.8)
    axes.set_xlim(0, 2 * EARLY)
    last = path.tail(17)
    inset = axes.inset_axes((0.5, 0.66, 0.48, 0.34))
    _extremes(inset, last, v, expected=False)
    inset.plot(last["time"], last["agent_1"], color=RED, linewidth=0.8, marker="o", markersize=1.6)
    inset.set_xlim(last["time"].iloc[0], last["time"].iloc[-1])
    inset.set_xticks([])
    inset.tick_params(labelsize=7)
    inset.yaxis.set_major_locator(MaxNLocator(3))
    inset.set_xlabel(f"the last {len(last) - 1} of {path['time'].iloc[-1]:,} steps", fontsize=7, labelpad=2)
    label(axes, "$v$", (2 * EARLY, v), xytext=(3, 0), va="center", annotation_clip=False)
    leader = {"arrowstyle": "-", "color": RED, "linewidth": 0.5, "shrinkA": 1, "shrinkB": 1}
    label(axes, "agent 1", (20, _at(path, 20, "agent_1")), xytext=(14, -34), color=RED, arrowprops=leader)


def _biased_consensus(axes: Axes, path: pd.DataFrame, summary: pd.DataFrame) -> None:
    v, agreed = (_value(summary, "fast_cycles", name) for name in ("consensus_value", "mean"))
    shown = path[path["time"] >= 1]
    _extremes(axes, shown, v, expected=False)
    axes.plot(shown["time"], shown["agent_1"], color=RED, linewidth=0.8)
    end = float(path["time"].iloc[-1])
    axes.set_xscale("log")
    axes.set_xlim(1, end)
    upper, lower = {"xytext": (-2, 3), "va": "bottom"}, {"xytext": (-2, -4), "va": "top"}
    of_v, of_agreed = (upper, lower) if v >= agreed else (lower, upper)
    label(axes, f"$v = {v:.3f}$", (end, v), ha="right", **of_v)
    label(axes, f"all agree on {agreed:.3f}", (end, agreed), ha="right", color=BLUE, **of_agreed)


def _extremes(axes: Axes, path: pd.DataFrame, v: float, *, expected: bool = True) -> None:
    """Draw the band from minimum to maximum, the expected one's edges, and the consensus value."""
    time = path["time"]
    axes.fill_between(time, path["minimum"], path["maximum"], color=BLUE, alpha=0.13, linewidth=0)
    for name in ("minimum", "maximum"):
        axes.plot(time, path[name], color=BLUE, linewidth=0.9)
        if expected:
            axes.plot(time, path[f"expected_{name}"], color=RED, linewidth=0.8, linestyle=(0, (4, 2)))
    axes.axhline(v, color=INK, linewidth=0.7, linestyle=(0, (1, 1.5)), zorder=1.5)
    axes.set_xlabel("time $t$")


def _pick(paths: pd.DataFrame, run: str) -> pd.DataFrame:
    return paths[paths["run"] == run]


def _value(summary: pd.DataFrame, run: str, column: str) -> float:
    return float(summary.loc[summary["run"] == run, column].iloc[0])


def _at(path: pd.DataFrame, time: int, column: str) -> float:
    return float(path.loc[path["time"] == time, column].iloc[0])


# What louder noise does to convergence.

Shades: TypeAlias = Mapping[float, Any]


@styled
def noise_levels(paths: pd.DataFrame, law: pd.DataFrame) -> Figure:
    """Show the extremes of runs under several noises, and the exact error of the consensus mode: bias and deviation."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.7))
    left, right = figure.subplots(1, 2)
    levels = np.sort(paths["noise"].unique())
    shades = visible(OPINIONS)(np.linspace(1.0, 0.0, levels.size))
    _noise_extremes(left, paths, dict(zip(levels, shades, strict=True)))
    _errors(right, law, dict(zip(levels, shades, strict=True)))
    panel(left, "a", r"maximum and minimum opinion, $\rho_t = t$")
    panel(right, "b", "consensus mode: bias and deviation")
    return figure


def _noise_extremes(axes: Axes, paths: pd.DataFrame, shades: Shades) -> None:
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


# The wrong values on which runs agree, against the law that predicts them.

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
