"""Figures of consensus: agreement and its failures, how fast it is reached, the effect of noise, exact checks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from peerpressure.plotting.style import (
    BLUE,
    DOTTED,
    GREY,
    INK,
    ONE_COLUMN,
    PALETTE,
    RED,
    TWO_COLUMNS,
    Looks,
    band,
    formula,
    in_order,
    label,
    name_ends,
    normal_density,
    panel,
    plain_ticks,
    samples,
    styled,
)

EARLY = 40  # end of the panel of early times
STEP_BY_STEP = 150  # time up to which the table of paths has every step
SMALLEST = 1e-15  # spread that is drawn
LONG = 1_000  # steps from which the last two decades get an inset
# For thousands of runs, far more than the hundred of other histograms.
BINS = 40
NORMAL_95 = 1.959963984540054
# A spread at the end that is no disagreement on the scale of the opinions.
SMALL_SPREAD = 0.01
# Experiments beyond the number of colours have other marks.
_MARKS = "os^Dv"
Shades: TypeAlias = Mapping[float, Any]
_PAPERS = "2^√t"
# What each graph is, and what this pressure does to its agents.
_FAILURES = {
    "fast_tree": ("tree", "oscillation"),
    "fast_triangle": ("one triangle", "it fades"),
    "fast_cycles": ("$m = 2$", "biased consensus"),
}
_EXPERIMENTS = {
    "two_agents_recovery": "two agents",
    "sweep_ba": "sweeps",
    "beyond": "observers, schedules",
}


@styled
def agreement(paths: pd.DataFrame, summary: pd.DataFrame) -> Figure:
    """Show convergence to v under ρ_t = t: extremes over agents in the first steps and over all steps."""
    run = str(summary["run"].iloc[0])
    path, v = _pick(paths, run), _value(summary, run, "consensus_value")
    figure = Figure(figsize=(TWO_COLUMNS, 2.4))
    # The left panel has linear time and separate steps, the right one all times.
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
    """Draw all times on a log axis, and the last two decades again in an inset."""
    end = int(path["time"].iloc[-1])
    _on_log_axis(axes, path, v)
    # In a short run the inset would repeat the panel.
    if end < LONG:
        return
    inset = axes.inset_axes((0.5, 0.68, 0.48, 0.32))
    _on_log_axis(inset, path[path["time"] >= end // 100], v)
    inset.set_xlabel("")
    inset.yaxis.set_major_locator(MaxNLocator(3))
    inset.tick_params(labelsize=7)


def _on_log_axis(axes: Axes, path: pd.DataFrame, v: float, *, expected: bool = True) -> None:
    _extremes(axes, path, v, expected=expected)
    axes.set_xscale("log")
    axes.set_xlim(path["time"].iloc[0], path["time"].iloc[-1])


def _name_edge(axes: Axes, part: pd.DataFrame, text: str, colour: str) -> None:
    """Write a name just outside this part of the band."""
    above = text == "maximum"
    # A name below must clear both minima, the noisy and the expected one, over the width of the name.
    height = part["maximum"].max() if above else part[["minimum", "expected_minimum"]].to_numpy().min()
    side = {"xytext": (0, 3), "va": "bottom"} if above else {"xytext": (0, -3), "va": "top"}
    label(axes, text, (float(part["time"].iloc[0]), float(height)), color=colour, **side)


@styled
def failure(paths: pd.DataFrame, summary: pd.DataFrame) -> Figure:
    """Show fast pressure, as ρ_t = 2^√t: oscillation on a tree, its decay with one triangle, and a biased consensus."""
    runs = summary.iloc[1:]
    figure = Figure(figsize=(TWO_COLUMNS if len(runs) > 1 else ONE_COLUMN, 2.6))
    panels = figure.subplots(1, len(runs), sharey=True, squeeze=False)[0]
    for axes, row, letter in zip(panels, runs.itertuples(), "abc", strict=False):
        path = _pick(paths, str(row.run))
        if row.bipartite:
            _oscillation(axes, path, float(row.consensus_value))
        else:
            _biased_consensus(axes, path, summary)
        if row.run == "fast_triangle":
            _spread(axes, path)
        panel(axes, letter, _titled(row))
    panels[0].set_ylabel("public opinion $y_t$")
    return figure


def _titled(row: Any) -> str:
    """Return what a graph is, and what the pressure of the paper does to it."""
    _, _, name = row.run.partition("_graph ")
    other = f"{name}, {row.edges:,} edges".removeprefix(", ").replace("$", r"\$")
    graph, effect = _FAILURES.get(row.run, (other, ""))
    if effect and row.pressure == _PAPERS:
        return f"{graph}: {effect}"
    return rf"{graph}, $\rho_t = {formula(row.pressure)}$"


def _spread(axes: Axes, path: pd.DataFrame) -> None:
    """Draw how the spread fades, in an inset with logarithmic axes."""
    inset = axes.inset_axes((0.56, 0.7, 0.44, 0.3))
    # Below the resolution of doubles nothing is left to draw.
    shown = path[(path["time"] >= 1) & (path["spread"] > SMALLEST)]
    inset.loglog(shown["time"], shown["spread"], color=BLUE, linewidth=0.9)
    inset.set_title("spread", fontsize=7, loc="right", pad=1)
    inset.tick_params(labelsize=6.5)
    inset.minorticks_off()


def _oscillation(axes: Axes, path: pd.DataFrame, v: float) -> None:
    shown = path[path["time"] >= 1]
    _on_log_axis(axes, shown, v, expected=False)
    # The table has every step up to this time; thinned steps would distort the oscillation.
    steps = shown[shown["time"] <= STEP_BY_STEP]
    axes.plot(steps["time"], steps["agent_1"], color=RED, linewidth=0.7)
    # An odd number, hence a whole number of periods of two steps; the table has the last 25 steps one by one.
    last = path.tail(17)
    inset = axes.inset_axes((0.5, 0.68, 0.48, 0.32))
    _extremes(inset, last, v, expected=False)
    inset.plot(last["time"], last["agent_1"], color=RED, linewidth=0.8, marker="o", markersize=1.6)
    inset.set_xlim(last["time"].iloc[0], last["time"].iloc[-1])
    inset.set_xticks([])
    inset.tick_params(labelsize=7)
    inset.yaxis.set_major_locator(MaxNLocator(3))
    inset.set_xlabel(f"the last {len(last) - 1} of {path['time'].iloc[-1]:,} steps", fontsize=7, labelpad=2)
    label(axes, "$v$", (float(shown["time"].iloc[-1]), v), xytext=(3, 0), va="center", annotation_clip=False)
    leader = {"arrowstyle": "-", "color": RED, "linewidth": 0.5, "shrinkA": 1, "shrinkB": 1}
    label(axes, "agent 1", (20, _at(path, 20, "agent_1")), xytext=(14, -34), color=RED, arrowprops=leader)


def _biased_consensus(axes: Axes, path: pd.DataFrame, summary: pd.DataFrame) -> None:
    run = str(path["run"].iloc[0])
    v, agreed = (_value(summary, run, name) for name in ("consensus_value", "mean"))
    shown = path[path["time"] >= 1]
    _extremes(axes, shown, v, expected=False)
    axes.plot(shown["time"], shown["agent_1"], color=RED, linewidth=0.8)
    end = float(path["time"].iloc[-1])
    axes.set_xscale("log")
    axes.set_xlim(1, end)
    # Outside the two lines the names do not overlap, however close the lines are.
    upper, lower = {"xytext": (-2, 3), "va": "bottom"}, {"xytext": (-2, -4), "va": "top"}
    of_v, of_agreed = (upper, lower) if v >= agreed else (lower, upper)
    label(axes, f"$v = {v:.3f}$", (end, v), ha="right", **of_v)
    words = "all agree on" if _value(summary, run, "spread") < SMALL_SPREAD else "mean"
    label(axes, f"{words} {agreed:.3f}", (end, agreed), ha="right", color=BLUE, **of_agreed)


def _extremes(axes: Axes, path: pd.DataFrame, v: float, *, expected: bool = True) -> None:
    """Draw the band from minimum to maximum, the expected one's edges, and the consensus value."""
    time = path["time"]
    axes.fill_between(time, path["minimum"], path["maximum"], color=BLUE, alpha=0.13, linewidth=0)
    for name in ("minimum", "maximum"):
        axes.plot(time, path[name], color=BLUE, linewidth=0.9)
        if expected:
            axes.plot(time, path[f"expected_{name}"], color=RED, linewidth=0.8, linestyle=(0, (4, 2)))
    # Above the band (zorder 1) and below the curves (2).
    axes.axhline(v, color=INK, linewidth=0.7, linestyle=DOTTED, zorder=1.5)
    axes.set_xlabel("time $t$")


def _pick(paths: pd.DataFrame, run: str) -> pd.DataFrame:
    return paths[paths["run"] == run]


def _value(summary: pd.DataFrame, run: str, column: str) -> float:
    return float(summary.loc[summary["run"] == run, column].iloc[0])


def _at(path: pd.DataFrame, time: int, column: str) -> float:
    return float(path.loc[path["time"] == time, column].iloc[0])


@styled
def biased_consensus(values: pd.DataFrame, law: pd.DataFrame) -> Figure:
    """Show a histogram of the consensus limits of many runs, their predicted normal distribution, and v."""
    mean, std, v = (float(law[name].iloc[0]) for name in ("mean", "std", "consensus_value"))
    figure = Figure(figsize=(ONE_COLUMN, 2.2))
    axes = figure.add_subplot()
    axes.hist(values["value"], bins=BINS, density=True, color=BLUE, alpha=0.35)
    # Four thousand normal draws lie within 4 standard deviations, with rare exceptions.
    grid = np.linspace(mean - 4.5 * std, mean + 4.5 * std, 400)
    axes.plot(grid, normal_density(grid, mean, std), color=RED)
    axes.axvline(v, color=INK, linewidth=0.7, linestyle=DOTTED)
    _name_parts(axes, len(values), mean, std, v)
    axes.set_xlabel("consensus limit")
    axes.set_ylabel("density")
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    return figure


def _name_parts(axes: Axes, runs: int, mean: float, std: float, v: float) -> None:
    """Name histogram, law and v, on the side that leaves room."""
    peak = 1 / (std * math.sqrt(2 * math.pi))
    towards, far = (1 if v >= mean else -1), abs(v - mean) > 4 * std
    # A distant v leaves room for all names between it and the law; otherwise the names go to the other side.
    way = towards if far else -towards
    side = {"ha": "left" if way > 0 else "right", "xytext": (way * 5, 0)}
    label(axes, "predicted law", (mean + way * 0.5 * std, 0.9 * peak), color=RED, **side)
    label(axes, f"{runs:,} runs", (mean + way * 1.2 * std, 0.5 * peak), color=BLUE, **side)
    inner = -towards if far else towards
    label(axes, "consensus value $v$", (v, 1.02 * peak), xytext=(inner * 4, 0), ha="left" if inner > 0 else "right")


@styled
def contraction(products: pd.DataFrame) -> Figure:
    """Show the product of contraction factors, which tends to 0 under slow schedules and stalls under fast ones."""
    figure = Figure(figsize=(ONE_COLUMN, 2.5))
    axes = figure.add_subplot()
    last = products[products["time"] == products["time"].max()].sort_values("product", ascending=False)
    places = _apart(np.log10(last["product"].to_numpy()))
    for end, place in zip(last.itertuples(), places, strict=True):
        curve = products[products["schedule"] == end.schedule]
        colour, line = (BLUE, "-") if end.sum_diverges else (RED, (0, (4, 1.5)))
        axes.loglog(curve["time"], curve["product"], color=colour, linestyle=line)
        name, spot = f"${formula(end.schedule)}$", (end.time, 10**place)
        label(axes, name, spot, xytext=(4, 0), va="center", color=colour, annotation_clip=False)
    axes.set_xlim(1, products["time"].max())
    # Every product is below 1, the value before the first step.
    axes.set_ylim(top=1.0)
    axes.set_xlabel("time $t$")
    axes.set_ylabel(r"$\prod_{k \leq t}\,\alpha_k$")
    looks: Looks = {r"$\Sigma_t\,1/\rho_t = \infty$": {"color": BLUE}}
    looks |= {r"$\Sigma_t\,1/\rho_t < \infty$": {"color": RED, "linestyle": (0, (4, 1.5))}}
    samples(axes, looks, loc="lower left")
    return figure


def _apart(heights: NDArray[np.float64], gap: float = 0.35) -> NDArray[np.float64]:
    """Move decreasing heights down until names at them do not overlap.

    >>> _apart(np.array([0.0, -1.0, -1.1]))
    array([ 0.  , -1.  , -1.35])
    """
    # Downwards only, in decades; the highest name stays at its curve.
    placed = heights.copy()
    for i in range(1, placed.size):
        placed[i] = min(placed[i], placed[i - 1] - gap)
    return placed


@styled
def approach(exact: pd.DataFrame, paths: pd.DataFrame) -> Figure:
    """Show the error of the consensus mode, weighted RMS distance and disagreement: exact law and simulated paths."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.5))
    left, right = figure.subplots(1, 2)
    left.fill_between(exact["time"], exact["error_low"], exact["error_high"], color=BLUE, alpha=0.15, linewidth=0)
    for _, path in paths.groupby("path"):
        left.semilogx(path["time"], path["error"], color=GREY, linewidth=0.5)
        for name in ("weighted_distance", "weighted_disagreement"):
            right.loglog(path["time"], path[name], color=GREY, linewidth=0.5)
    left.semilogx(exact["time"], exact["error"], color=BLUE)
    left.axhline(0.0, color=INK, linewidth=0.7, linestyle=DOTTED)
    for name, colour in (("weighted_distance", BLUE), ("weighted_disagreement", RED)):
        right.loglog(exact["time"], exact[name], color=colour)
    # Late enough that the two curves are far apart.
    middle = exact.iloc[len(exact) * 3 // 5]
    label(
        right,
        "weighted RMS distance to $v$",
        (middle["time"], middle["weighted_distance"]),
        xytext=(0, 6),
        color=BLUE,
    )
    spot = (middle["time"], middle["weighted_disagreement"])
    label(right, "weighted RMS disagreement", spot, xytext=(-3, -4), ha="right", va="top", color=RED)
    label(left, "$v$", (exact["time"].iloc[-1], 0.0), xytext=(3, 0), va="center", annotation_clip=False)
    # The error decreases from one side, which leaves the corner on that side free.
    looks: Looks = {"exact mean": {"color": BLUE}, "95 % band": {"band": band(BLUE, 0.15)}}
    looks |= {"simulated paths": {"color": GREY, "linewidth": 0.6}}
    samples(left, looks, loc="lower right" if middle["error"] < 0 else "upper right")
    left.set_ylabel("consensus mode $m_t - v$")
    right.set_ylabel("root mean square over agents")
    for axes in (left, right):
        axes.set_xlim(1, exact["time"].iloc[-1])
        axes.set_xlabel("time $t$")
    panel(left, "a", r"slow convergence to $v$, $\rho_t = t$")
    panel(right, "b", r"fast agreement, $\rho_t = t$")
    return figure


@styled
def tuning(errors: pd.DataFrame) -> Figure:
    """Show the exact error of the consensus mode under ρ_t = t and under ρ_t = κt, beside the ideal."""
    figure = Figure(figsize=(ONE_COLUMN, 2.5))
    axes = figure.add_subplot()
    for (name, curve), colour in zip(errors.groupby("schedule", sort=False), (RED, BLUE), strict=True):
        axes.loglog(curve["time"], curve["rms"], color=colour)
        spot = curve.iloc[len(curve) * 3 // 4]
        label(axes, rf"$\rho_t = {formula(str(name))}$", (spot["time"], spot["rms"]), xytext=(2, 6), color=colour)
    axes.loglog(curve["time"], curve["ideal"], color=INK, linewidth=0.8, linestyle=DOTTED)
    spot = curve.iloc[len(curve) // 2]
    ideal = r"ideal $\sigma_0\sqrt{\Sigma s^2}\,/\,(\Sigma s\,\sqrt{t})$"
    label(axes, ideal, (spot["time"], spot["ideal"]), xytext=(-3, -5), ha="right", va="top")
    axes.set_xlim(1, errors["time"].max())
    axes.set_xlabel("time $t$")
    axes.set_ylabel("RMS error of the consensus mode")
    return figure


@styled
def noise_levels(paths: pd.DataFrame, law: pd.DataFrame) -> Figure:
    """Show extremes and largest distance to v at several noise levels, and bias and deviation of the consensus mode."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.6))
    left, middle, right = figure.subplots(1, 3)
    levels = np.sort(paths["noise"].unique())
    # From dark to light with growing noise, as in the other figures over noise.
    shades = in_order()(np.linspace(0.0, 1.0, levels.size))
    _noise_extremes(left, middle, paths, dict(zip(levels, shades, strict=True)))
    _errors(right, law, dict(zip(levels, shades, strict=True)))
    panel(left, "a", "maximum and minimum")
    panel(middle, "b", r"largest distance to $v$")
    panel(right, "c", "consensus mode")
    return figure


def _noise_extremes(left: Axes, right: Axes, paths: pd.DataFrame, shades: Shades) -> None:
    """Draw the extremes as in the paper, and the largest distance to v, whose late times a log axis separates."""
    # The largest noise is drawn first to leave the others visible on top of it.
    for level in sorted(shades, reverse=True):
        own = paths[(paths["noise"] == level) & (paths["time"] >= 1)]
        _extremes_of(left, right, own, "", {"color": shades[level], "linewidth": 0.9})
    _extremes_of(left, right, own, "expected_", {"color": INK, "linewidth": 0.8, "linestyle": DOTTED})
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xlim(1, float(own["time"].max()))
        axes.set_xlabel("time $t$")
    right.set_yscale("log")
    left.set_ylabel("public opinion $y_t$")
    right.set_ylabel(r"$\max_i\,|y_t^i - v|$")
    looks: Looks = {
        rf"$\sigma_0 = {level:g}$": {"color": shades[level], "linewidth": 0.9} for level in sorted(shades, reverse=True)
    }
    samples(left, looks | {"expected": {"color": INK, "linewidth": 0.8, "linestyle": DOTTED}}, loc="upper right")


def _extremes_of(left: Axes, right: Axes, own: pd.DataFrame, kind: str, look: dict[str, Any]) -> None:
    low, high = own[f"{kind}minimum"], own[f"{kind}maximum"]
    left.plot(own["time"], low, **look)
    left.plot(own["time"], high, **look)
    right.plot(own["time"], np.maximum(high - own["consensus_value"], own["consensus_value"] - low), **look)


def _errors(axes: Axes, law: pd.DataFrame, shades: Shades) -> None:
    ends = {}
    for level, shade in shades.items():
        own = law[law["noise"] == level]
        axes.loglog(own["time"], own["std"], color=shade, linewidth=0.9)
        ends[rf"$\sigma_0 = {level:g}$"] = (float(own["std"].iloc[-1]), shade)
    # The bias does not depend on the noise; it may be negative, which a log axis cannot display.
    axes.loglog(own["time"], own["bias"].abs(), color=INK, linewidth=0.9, linestyle=(0, (5, 1.5)))
    ends["bias"] = (abs(float(own["bias"].iloc[-1])), INK)
    axes.set_xlim(max(1.0, float(law["time"].min())), float(law["time"].max()))
    axes.set_xlabel("time $t$")
    axes.set_ylabel("error of the consensus mode")
    plain_ticks(axes.yaxis)
    name_ends(axes, float(law["time"].max()), ends)


@styled
def exact_vs_sampled(pairs: pd.DataFrame) -> Figure:
    """Show all quantities known both exactly and from a sample, and their differences in standard errors."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.7))
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    _pairs(left, pairs)
    _scores(right, pairs)
    panel(left, "a", f"{len(pairs)} quantities, sampled against exact")
    panel(right, "b", "differences in standard errors")
    return figure


def _pairs(axes: Axes, pairs: pd.DataFrame) -> None:
    # Values of 0 have no place on log axes; the panel of scores has all pairs.
    shown = pairs[(pairs["exact"].abs() > 0) & (pairs["sampled"].abs() > 0)]
    ends = np.array([shown["exact"].abs().min() / 2, shown["exact"].abs().max() * 2])
    axes.loglog(ends, ends, color=INK, linewidth=0.6, linestyle=DOTTED, zorder=0)
    # Every experiment has one look in both panels, also if all its values are 0.
    names = list(dict.fromkeys(pairs["experiment"]))
    for name, own in shown.groupby("experiment", sort=False):
        place = names.index(name)
        axes.loglog(own["exact"].abs(), own["sampled"].abs(), **_dots(place))
    axes.set_xlabel("exact (absolute value)")
    axes.set_ylabel("sampled (absolute value)")


def _scores(axes: Axes, pairs: pd.DataFrame) -> None:
    names = list(dict.fromkeys(pairs["experiment"]))
    axes.axvspan(-NORMAL_95, NORMAL_95, color=GREY, alpha=0.15, linewidth=0)
    axes.axvline(0.0, color=INK, linewidth=0.6, linestyle=DOTTED)
    for place, name in enumerate(names):
        z = pairs.loc[pairs["experiment"] == name, "z"]
        axes.plot(z, np.full(len(z), -place), **_dots(place))
    # At least ±3, because scores within the band would otherwise fill the panel and look large.
    reach = max(3.0, 1.1 * float(pairs["z"].abs().max()))
    axes.set_xlim(-reach, reach)
    axes.set_ylim(0.6 - len(names), 0.6)
    axes.set_yticks(-np.arange(len(names)), [_words(name) for name in names])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("(sampled − exact) / standard error; 95 % within the band")


def _dots(place: int) -> dict[str, Any]:
    """Return colour and mark of an experiment, which no other has."""
    turn, which = divmod(place, len(PALETTE))
    return {"color": PALETTE[which], "marker": _MARKS[turn], "markersize": 2.8, "linestyle": ""}


def _words(name: str) -> str:
    return _EXPERIMENTS.get(name, name.replace("_", " "))
