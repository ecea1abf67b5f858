"""Agreement at early and at large times, and the two ways to miss it."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from peerpressure.figures.style import BLUE, INK, RED, TWO_COLUMNS, label, panel, styled

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
