"""Networks that change: ties of different turnover, a speaker heard now and then, and groups that part."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
    name_ends,
    panel,
    plain_ticks,
    styled,
    visible,
)

_TEMPORAL_DOTS = (0, (1, 1.5))
# By network: its colour and what it is called.
_NETWORKS: Mapping[str, tuple[str, str]] = {
    "constant": (INK, "constant"),
    "slow": (BLUE, "slow turnover"),
    "rewired": (TEAL, "rewired"),
    "fast": (RED, "drawn anew"),
    "isolated": (GOLD, "alone at times"),
}
_GROUPS = (BLUE, TEAL, RED)
_COURSES = {"returning": "bridges that come back", "parted": "bridges that do not"}
_STRIP = (0.015, 0.05)  # where the windows are drawn, in parts of the panel's height


@styled
def turnover(law: pd.DataFrame, targets: pd.DataFrame) -> Figure:
    """Show spread and distance to v over time on networks of different turnover, and where distances must end."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.7))
    left, right = figure.subplots(1, 2)
    for axes, column in ((left, "spread"), (right, "distance")):
        ends = {}
        for name, (colour, title) in _NETWORKS.items():
            own = law[law["network"] == name]
            axes.loglog(own["time"], own[column], color=colour, linewidth=1.0)
            ends[title] = (float(own[column].iloc[-1]), colour)
        axes.set_xlim(1, law["time"].max())
        axes.set_xlabel("time $t$")
        name_ends(axes, float(law["time"].max()), ends)
    for row in targets.itertuples():
        if abs(row.off) > 0:
            right.axhline(abs(row.off), color=_NETWORKS[row.network][0], linewidth=0.6, linestyle=_TEMPORAL_DOTS)
    left.set_ylabel("spread")
    right.set_ylabel("distance to $v$")
    panel(left, "a", "whether agents agree")
    panel(right, "b", "whether they agree on $v$")
    return figure


@styled
def speaker(paths: pd.DataFrame, shares: pd.DataFrame) -> Figure:
    """Show how an agent heard by all in every second stretch of steps counts for more, the shorter the stretches."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.6))
    left, right = figure.subplots(1, 2)
    for stretch, colour in zip(dict.fromkeys(paths["stretch"]), (RED, BLUE, INK), strict=False):
        _path(left, paths[paths["stretch"] == stretch], stretch, colour)
    left.set_xlim(1, paths["time"].max())
    left.set_xlabel("time $t$")
    left.set_ylabel("consensus mode $m_t$")
    ends = {}
    for (weight, own), colour in zip(shares.groupby("weight"), (RED, GOLD), strict=False):
        right.loglog(own["stretch"], own["share"], color=colour)
        right.plot(own["stretch"], own["mean"], "o", color=colour, markersize=2.6)
        ends[f"weight {weight:g}"] = (float(own["share"].iloc[-1]), colour)
    v = float(shares["consensus_value"].iloc[0])
    right.axhline(v, color=INK, linewidth=0.7, linestyle=_TEMPORAL_DOTS)
    right.set_xlim(shares["stretch"].min() / 1.15, shares["stretch"].max() * 1.15)
    right.set_xlabel("steps in a stretch")
    right.set_ylabel("share of the speaker")
    plain_ticks(right.xaxis)
    plain_ticks(right.yaxis)
    name_ends(right, float(shares["stretch"].max() * 1.15), ends | {"$v$": (v, INK)})
    panel(left, "a", "the speaker holds 1, all others 0")
    panel(right, "b", "theory (lines) and exact mean (dots)")
    return figure


def _path(axes: Axes, own: pd.DataFrame, stretch: int, colour: str) -> None:
    axes.fill_between(own["time"], own["low"], own["high"], color=colour, alpha=0.13, linewidth=0)
    axes.semilogx(own["time"], own["mean"], color=colour)
    target, end = float(own["target"].iloc[0]), float(own["time"].iloc[-1])
    axes.axhline(target, color=colour, linewidth=0.7, linestyle=_TEMPORAL_DOTS)
    name = "constant" if stretch == 0 else f"stretches of {stretch} step{'s' * (stretch > 1)}"
    label(axes, name, (end, target), xytext=(-2, 3), ha="right", color=colour)


@styled
def parting(courses: pd.DataFrame, windows: pd.DataFrame) -> Figure:
    """Show three groups whose bridges vanish for a while, or for ever, with the windows over which they do not meet."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.8))
    names = list(dict.fromkeys(courses["course"]))
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for axes, name, letter in zip(panels, names, "abcd", strict=False):
        _course(axes, courses[courses["course"] == name])
        _windows(axes, windows[windows["course"] == name])
        panel(axes, letter, _COURSES.get(name, name))
    panels[0].set_ylabel("mean opinion shown by a group")
    return figure


def _course(axes: Axes, course: pd.DataFrame) -> None:
    end, v = float(course["time"].max()), float(course["consensus_value"].iloc[0])
    for (_, own), colour in zip(course.groupby("group"), _GROUPS, strict=False):
        axes.fill_between(own["time"], own["low"], own["high"], color=colour, alpha=0.15, linewidth=0)
        axes.semilogx(own["time"], own["mean"], color=colour)
        axes.plot(own["time"], own["path"], color=colour, linewidth=0.5)
        axes.axhline(own["own_value"].iloc[0], color=colour, linewidth=0.6, linestyle=(0, (4, 2)))
    axes.axhline(v, color=INK, linewidth=0.7, linestyle=_TEMPORAL_DOTS)
    label(axes, "$v$", (end, v), xytext=(3, 0), va="center", annotation_clip=False)
    axes.set_xlim(1, end)
    axes.set_ylim(bottom=float(course["low"].min()) - 0.12 * float(np.ptp(course[["low", "high"]])))
    axes.set_xlabel("time $t$")


def _windows(axes: Axes, windows: pd.DataFrame) -> None:
    """Draw the times at which windows are jointly connected as a light strip, and where they are not in grey."""
    low, high = _STRIP
    axes.axvspan(1, axes.get_xlim()[1], ymin=low, ymax=high, color=TEAL, alpha=0.35, linewidth=0)
    for row in windows.itertuples():
        axes.axvspan(row.first, row.last, ymin=low, ymax=high, color=INK, linewidth=0)
    axes.text(0.01, high + 0.01, "jointly connected", transform=axes.transAxes, fontsize=7, color=TEAL)


# Hidden opinions that adapt: what is shown and held, where all land, and what can still be learnt.

_DOTS = (0, (1, 1.5))
_WHO: Mapping[str, str] = {"lowest": BLUE, "middle": TEAL, "highest": RED}
# Of variances that fall without end, so much is shown.
_LEAST_VARIANCE = 1e-4


@styled
def adaptation(opinions: pd.DataFrame) -> Figure:
    """Show what three agents show and hold while hidden opinions adapt slowly and fast: exact law and one run."""
    rates = sorted(opinions["rate"].unique())
    figure = Figure(figsize=(TWO_COLUMNS, 2.7))
    panels = figure.subplots(1, len(rates), sharey=True, squeeze=False)[0]
    for axes, rate, letter in zip(panels, rates, "abcd", strict=False):
        own = opinions[(opinions["rate"] == rate) & (opinions["time"] >= 1)]
        for who, colour in _WHO.items():
            _agent(axes, own[own["who"] == who], colour)
        axes.set_xscale("log")
        axes.set_xlim(1, own["time"].max())
        axes.set_xlabel("time $t$")
        panel(axes, letter, rf"$\eta = {rate:g}$")
    panels[0].set_ylabel("opinion")
    first = opinions[(opinions["rate"] == rates[0]) & (opinions["who"] == "highest") & (opinions["time"] >= 2)]
    for kind in ("held", "shown"):
        at = first[first["kind"] == kind].iloc[0]
        label(panels[0], kind, (at["time"], at["mean"]), xytext=(0, 4), color=_WHO["highest"])
    return figure


def _agent(axes: Axes, own: pd.DataFrame, colour: str) -> None:
    """Draw what one agent holds with its band, and what it shows."""
    held, shown = own[own["kind"] == "held"], own[own["kind"] == "shown"]
    axes.fill_between(held["time"], held["low"], held["high"], color=colour, alpha=0.15, linewidth=0)
    axes.plot(held["time"], held["path"], color=colour, linewidth=0.5)
    axes.plot(held["time"], held["mean"], color=colour)
    axes.plot(shown["time"], shown["mean"], color=colour, linewidth=0.9, linestyle=_DOTS)
    axes.plot(shown["time"], shown["path"], color=colour, linewidth=0.4, alpha=0.5)


@styled
def consensus_limit(law: pd.DataFrame, runs: pd.DataFrame, spread: pd.DataFrame) -> Figure:
    """Show the value on which all land, and how far hidden opinions are still apart, against the rate of adapting."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.6))
    left, right = figure.subplots(1, 2)
    half = 1.96 * law["std"]
    left.fill_between(law["rate"], law["mean"] - half, law["mean"] + half, color=BLUE, alpha=0.15, linewidth=0)
    left.plot(runs["rate"], runs["value"], "o", color=GREY, markersize=1.5, markeredgewidth=0)
    left.semilogx(law["rate"], law["mean"], color=BLUE)
    v = float(law["consensus_value"].iloc[0])
    left.axhline(v, color=INK, linewidth=0.7, linestyle=_DOTS)
    ends = law["rate"].min() / 1.2, law["rate"].max() * 1.2
    label(left, "$v$", (ends[1], v), xytext=(3, 0), va="center", annotation_clip=False)
    for height, text, colour in ((0.13, "exact mean and 95 % band", BLUE), (0.04, "runs", GREY)):
        left.text(0.04, height, text, transform=left.transAxes, color=colour)
    for axes in (left, right):
        axes.set_xlabel(r"rate of adapting $\eta$")
        axes.set_xlim(*ends)
    _horizons(right, spread)
    left.set_ylabel("value on which all land")
    right.set_ylabel("spread of what is held")
    panel(left, "a", "where all land")
    panel(right, "b", "whether hidden opinions agree")
    return figure


def _horizons(axes: Axes, spread: pd.DataFrame) -> None:
    horizons = sorted(spread["steps"].unique())
    colours = visible("viridis")
    ends = {}
    for i, steps in enumerate(horizons):
        own = spread[spread["steps"] == steps].sort_values("rate")
        colour = colours(i / max(1, len(horizons) - 1))
        axes.loglog(own["rate"], own["spread"], color=colour, marker="o", markersize=2)
        ends[f"$t = {steps}$"] = (float(own["spread"].iloc[-1]), colour)
    name_ends(axes, axes.get_xlim()[1], ends)


@styled
def decreasing_rates(spreads: pd.DataFrame) -> Figure:
    """Show that hidden opinions agree if the rates of adapting add up without end, and stay apart if they do not."""
    figure = Figure(figsize=(ONE_COLUMN, 2.5))
    axes = figure.add_subplot()
    ends: dict[str, tuple[float, str]] = {}
    for rate, own in spreads.groupby("rate", sort=False):
        colour, line = (BLUE, "-") if own["lasting"].iloc[0] else (RED, (0, (4, 1.5)))
        axes.loglog(own["time"], own["shown"], color=GREY, linewidth=0.6)
        axes.loglog(own["time"], own["held"], color=colour, linestyle=line)
        ends[rf"$\eta_t = {_formula(str(rate))}$"] = (float(own["held"].iloc[-1]), colour)
    ends["shown"] = (float(spreads.groupby("rate")["shown"].last().mean()), GREY)
    axes.set_xlim(1, spreads["time"].max())
    axes.set_xlabel("time $t$")
    axes.set_ylabel("spread of what is held")
    name_ends(axes, float(spreads["time"].max()), ends)
    return figure


def _formula(rate: str) -> str:
    """Return a rate as mathematics.

    >>> print(_formula("0.5/t^2"), _formula("0.01"))
    0.5/t^{2} 0.01
    """
    base, power, exponent = rate.partition("^")
    return f"{base}^{{{exponent}}}" if power else rate


@styled
def forgetting(information: pd.DataFrame, recovery: pd.DataFrame) -> Figure:
    """Show that what is told of a first opinion is bounded while the present one is learnt ever better."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.7))
    left, right = figure.subplots(1, 2)
    for (rate, own), colour in zip(information.groupby("rate"), (INK, BLUE, RED), strict=False):
        left.loglog(own["time"], own["information"], color=colour)
        if np.isfinite(own["limit"].iloc[0]):
            left.axhline(own["limit"].iloc[0], color=colour, linewidth=0.7, linestyle=_DOTS)
        # Below a curve that stays under its limit, and left of one that rises for ever.
        bounded = np.isfinite(own["limit"].iloc[0])
        at, spot = (own.iloc[-1], (-2, -10)) if bounded else (own.iloc[len(own) * 3 // 4], (-4, 2))
        label(left, rf"$\eta = {rate:g}$", (at["time"], at["information"]), xytext=spot, ha="right", color=colour)
        _errors(right, recovery[recovery["rate"] == rate], colour)
    left.set_xlim(1, information["time"].max())
    left.set_ylabel(r"information about $x_0$, in $1/\sigma_0^2$")
    left.set_xlabel("time $t$")
    right.set_ylim(bottom=_LEAST_VARIANCE)
    right.set_xlabel("steps observed $T$")
    right.set_ylabel(r"variance of one opinion, in $\sigma_0^2$")
    panel(left, "a", "what is told of the first opinion")
    panel(right, "b", "first opinion (lines) and present one (dashed)")
    return figure


def _errors(axes: Axes, errors: pd.DataFrame, colour: str) -> None:
    for target, line, mark in (("initial", "-", "o"), ("current", (0, (4, 1.5)), "s")):
        own = errors[(errors["target"] == target) & (errors["variance"] > _LEAST_VARIANCE / 10)]
        axes.loglog(own["steps"], own["variance"], color=colour, linestyle=line)
        error = 1.96 * own["standard_error"]
        axes.errorbar(own["steps"], own["sampled"], error, fmt=mark, color=colour, markersize=2.2, elinewidth=0.7)
