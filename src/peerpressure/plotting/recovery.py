"""What observers achieve over time, and when they see only a part."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from peerpressure.plotting.style import (
    BLUE,
    GOLD,
    GREY,
    INK,
    ONE_COLUMN,
    RED,
    TEAL,
    TWO_COLUMNS,
    label,
    normal,
    panel,
    plain_ticks,
    smoothed,
    styled,
)

_NETWORKS = {"two_agents": "two agents", "scale_free": "scale-free network"}
# By method: its colour, and what it is called.
_METHODS: Mapping[str, tuple[str, str]] = {
    "ols": (BLUE, "least squares"),
    "wls": (TEAL, "weighted least squares"),
    "snapshot": (GOLD, "last state only"),
    "innovations": (RED, "innovations"),
}
# The exact variance of this one is the least that any unbiased estimate can have.
_BEST = "innovations"


@styled
def observers(errors: pd.DataFrame) -> Figure:
    """Show the error variance of each observer over time, exact and sampled, down to the Cramér–Rao bound."""
    networks = list(dict.fromkeys(errors["network"]))
    figure = Figure(figsize=(TWO_COLUMNS, 2.7))
    panels = figure.subplots(1, len(networks), sharey=True, squeeze=False)[0]
    for axes, network, letter in zip(panels, networks, "abcd", strict=False):
        own = errors[errors["network"] == network]
        for method, curve in own.groupby("observer", sort=False):
            _over_time(axes, str(method), curve.sort_values("steps"))
        axes.set_xlabel("steps observed $T$")
        axes.set_xlim(own["steps"].min() / 1.15, own["steps"].max() * 1.15)
        panel(axes, letter, _NETWORKS.get(network, network))
    panels[0].set_ylabel(r"variance of one opinion, in $\sigma_0^2$")
    return figure


def _over_time(axes: Axes, method: str, curve: pd.DataFrame) -> None:
    colour, name = _METHODS.get(method, (GREY, method))
    middle, last = curve.iloc[len(curve) // 2], curve.iloc[-1]
    spot = (float(middle["steps"]), float(middle["variance"]))
    end = (float(last["steps"]), float(last["variance"]))
    if method == _BEST:
        axes.loglog(curve["steps"], curve["variance"], color=INK, linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=1)
        label(axes, "Cramér–Rao bound", spot, xytext=(-5, -5), ha="right", va="top", color=INK)
    else:
        axes.loglog(curve["steps"], curve["variance"], color=colour)
    _sampled(axes, curve, colour)
    # Curves that fall have room to their right; those that stay or rise, above their ends.
    if end[1] < spot[1] / 2:
        label(axes, name, spot, xytext=(4, 6), color=colour)
    else:
        label(axes, name, end, xytext=(2, 5), ha="right", va="bottom", color=colour)


def _sampled(axes: Axes, curve: pd.DataFrame, colour: str) -> None:
    """Draw sampled values with 95 % intervals."""
    seen = curve[np.isfinite(curve["sampled"])]
    error = 1.96 * seen["standard_error"]
    # A bar that reached below zero would have no end on a log axis.
    below = np.minimum(error, 0.9 * seen["sampled"])
    axes.errorbar(
        seen["steps"], seen["sampled"], yerr=[below, error], fmt="o", markersize=2.6, elinewidth=0.7, color=colour
    )


@styled
def partial_observers(ratios: pd.DataFrame) -> Figure:
    """Show what is left to know of seen and of unseen agents, by the part of the network that is watched."""
    figure = Figure(figsize=(ONE_COLUMN, 2.5))
    axes = figure.add_subplot()
    for group, colour, mark in (("unseen", RED, "s"), ("seen", BLUE, "o")):
        own = ratios[ratios["group"] == group].sort_values("fraction")
        axes.fill_between(100 * own["fraction"], own["low"], own["high"], color=colour, alpha=0.15, linewidth=0)
        axes.plot(100 * own["fraction"], own["ratio"], color=colour, marker=mark, markersize=3)
        middle = own.iloc[len(own) // 2]
        name = "agents not watched" if group == "unseen" else "agents watched"
        label(axes, name, (100 * middle["fraction"], middle["ratio"]), xytext=(2, 6), color=colour)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("part of the network that is watched, %")
    axes.set_ylabel("posterior / prior variance")
    return figure


# What is given away as time goes on, and what it buys.

_DESIGNS: Mapping[str, tuple[str, str]] = {
    "fresh": (BLUE, "fresh noise at each step"),
    "growing": (GOLD, "noise that grows"),
    "held": (RED, "one mask, held"),
}


@styled
def privacy_over_time(designs: pd.DataFrame) -> Figure:
    """Show the privacy budget spent on the most exposed agent, and the error of the consensus mode, over time."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.6))
    left, right = figure.subplots(1, 2)
    for axes, column in ((left, "mu"), (right, "rms_error")):
        _curves(axes, designs, column)
        axes.set_xlabel("time $t$")
    left.set_ylabel(r"privacy budget spent, $\mu$")
    right.set_ylabel("RMS error of the consensus mode")
    panel(left, "a", "what an observer of everything is told")
    panel(right, "b", "how far agreement is from $v$")
    return figure


def _curves(axes: Axes, designs: pd.DataFrame, column: str) -> None:
    for name, own in designs.groupby("design", sort=False):
        colour, title = _DESIGNS.get(str(name), (GREY, str(name)))
        curve = own[np.isfinite(own[column]) & (own[column] > 0)].sort_values("steps")
        axes.loglog(curve["steps"], curve[column], color=colour)
        if column == "mu" and len(curve):
            spot = curve.iloc[len(curve) // 2]
            label(axes, title, (spot["steps"], spot[column]), xytext=(-3, 4), ha="right", color=colour)
    axes.set_xlim(designs["steps"].min(), designs["steps"].max())
    plain_ticks(axes.yaxis)


# How far the regression misses each agent, and the law of its mean misses.

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


# How the regression's error depends on graph size, exactly.


@styled
def size_effect(variances: pd.DataFrame) -> Figure:
    """Show the exact residual variance over graph sizes, for both numbers of edges per step, as a mean over graphs."""
    figure = Figure(figsize=(ONE_COLUMN, 2.4))
    axes = figure.add_subplot()
    for edges, colour, mark in ((1, RED, "s"), (2, BLUE, "o")):
        own = variances[variances["edges"] == edges].sort_values("agents")
        error = 1.96 * own["standard_error"]
        axes.errorbar(
            own["agents"], own["variance"], yerr=error, fmt=f"{mark}-", markersize=3, linewidth=0.9, color=colour
        )
        highest = own.loc[own["variance"].idxmax()]
        name = f"{edges} edge{'s' if edges > 1 else ''} per step"
        label(axes, name, (own["agents"].mean(), highest["variance"]), xytext=(0, 9), ha="center", color=colour)
    axes.set_xlabel("number of agents $|V|$")
    axes.set_ylabel(r"residual variance, in $\sigma_0^2$")
    axes.margins(y=0.16)
    return figure
