"""Hidden opinions that adapt: what is shown and held, where all land, and what can still be learnt."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from peerpressure.figures.style import (
    BLUE,
    GREY,
    INK,
    ONE_COLUMN,
    RED,
    TEAL,
    TWO_COLUMNS,
    label,
    name_ends,
    panel,
    styled,
    visible,
)

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
