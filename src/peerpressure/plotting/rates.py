"""What each schedule forgets, when agents agree and when they are right, and what tuning gains."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from peerpressure.plotting.style import BLUE, GREY, INK, ONE_COLUMN, PALETTE, RED, TWO_COLUMNS, label, panel, styled

# How a schedule's formula reads in a figure; one that is not here is shown as it is.
_FORMULAS = {"2^√t": r"2^{\sqrt{t}}", "t*log(1 + t)": r"t\,\log(1+t)", "κt": r"\kappa t"}


@styled
def contraction(products: pd.DataFrame) -> Figure:
    """Show the product of contraction factors: it falls to 0 under slow schedules and stalls under fast ones."""
    figure = Figure(figsize=(ONE_COLUMN, 2.5))
    axes = figure.add_subplot()
    last = products[products["time"] == products["time"].max()].sort_values("product", ascending=False)
    places = _apart(np.log10(last["product"].to_numpy()))
    for end, place in zip(last.itertuples(), places, strict=True):
        curve = products[products["schedule"] == end.schedule]
        colour, line = (BLUE, "-") if end.forgets else (RED, (0, (4, 1.5)))
        axes.loglog(curve["time"], curve["product"], color=colour, linestyle=line)
        name, spot = f"${_formula(end.schedule)}$", (end.time, 10**place)
        label(axes, name, spot, xytext=(4, 0), va="center", color=colour, annotation_clip=False)
    axes.set_xlim(1, products["time"].max())
    axes.set_ylim(top=1.0)
    axes.set_xlabel("time $t$")
    axes.set_ylabel(r"$\prod_{k \leq t}\,\alpha_k$")
    for height, text, colour in ((0.17, "to 0: the start is forgotten", BLUE), (0.07, "stalls: it never is", RED)):
        axes.text(0.04, height, text, transform=axes.transAxes, color=colour)
    return figure


def _apart(heights: NDArray[np.float64], gap: float = 0.35) -> NDArray[np.float64]:
    """Move falling heights down until names at them do not touch.

    >>> _apart(np.array([0.0, -1.0, -1.1]))
    array([ 0.  , -1.  , -1.35])
    """
    placed = heights.copy()
    for i in range(1, placed.size):
        placed[i] = min(placed[i], placed[i - 1] - gap)
    return placed


@styled
def approach(exact: pd.DataFrame, paths: pd.DataFrame) -> Figure:
    """Show that agents agree long before they are right: exact law and simulated paths of error, distance, spread."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.5))
    left, right = figure.subplots(1, 2)
    left.fill_between(exact["time"], exact["error_low"], exact["error_high"], color=BLUE, alpha=0.15, linewidth=0)
    for _, path in paths.groupby("path"):
        left.semilogx(path["time"], path["error"], color=GREY, linewidth=0.5)
        for name in ("distance", "spread"):
            right.loglog(path["time"], path[name], color=GREY, linewidth=0.5)
    left.semilogx(exact["time"], exact["error"], color=BLUE)
    left.axhline(0.0, color=INK, linewidth=0.7, linestyle=(0, (1, 1.5)))
    for name, colour in (("distance", BLUE), ("spread", RED)):
        right.loglog(exact["time"], exact[name], color=colour)
    middle = exact.iloc[len(exact) * 3 // 5]
    label(right, "distance to $v$", (middle["time"], middle["distance"]), xytext=(0, 6), color=BLUE)
    label(right, "spread", (middle["time"], middle["spread"]), xytext=(-3, -4), ha="right", va="top", color=RED)
    label(left, "$v$", (exact["time"].iloc[-1], 0.0), xytext=(3, 0), va="center", annotation_clip=False)
    # The error shrinks from one side, which leaves the corner on that side free.
    corner = (0.13, 0.03) if middle["error"] < 0 else (0.87, 0.77)
    for height, text, colour in ((corner[0], "exact mean and 95 % band", BLUE), (corner[1], "simulated paths", GREY)):
        left.text(0.98, height, text, transform=left.transAxes, ha="right", color=colour)
    left.set_ylabel("consensus mode $m_t - v$")
    right.set_ylabel("root mean square over agents")
    for axes in (left, right):
        axes.set_xlim(1, exact["time"].iloc[-1])
        axes.set_xlabel("time $t$")
    panel(left, "a", r"slow to be right, $\rho_t = t$")
    panel(right, "b", r"quick to agree, $\rho_t = t$")
    return figure


@styled
def tuning(errors: pd.DataFrame) -> Figure:
    """Show the exact error of the consensus mode under ρ_t = t and under ρ_t = κt, beside the ideal."""
    figure = Figure(figsize=(ONE_COLUMN, 2.5))
    axes = figure.add_subplot()
    for (name, curve), colour in zip(errors.groupby("schedule", sort=False), (RED, BLUE), strict=True):
        axes.loglog(curve["time"], curve["rms"], color=colour)
        spot = curve.iloc[len(curve) * 3 // 4]
        label(axes, rf"$\rho_t = {_formula(str(name))}$", (spot["time"], spot["rms"]), xytext=(2, 6), color=colour)
    axes.loglog(curve["time"], curve["ideal"], color=INK, linewidth=0.8, linestyle=(0, (1, 1.5)))
    spot = curve.iloc[len(curve) // 2]
    ideal = r"ideal $\sigma_0\sqrt{\Sigma s^2}\,/\,(\Sigma s\,\sqrt{t})$"
    label(axes, ideal, (spot["time"], spot["ideal"]), xytext=(-3, -5), ha="right", va="top")
    axes.set_xlim(1, errors["time"].max())
    axes.set_xlabel("time $t$")
    axes.set_ylabel("RMS error of the consensus mode")
    return figure


def _formula(text: str) -> str:
    """Return a schedule's formula as mathematics.

    >>> _formula("t^1.5")
    't^{1.5}'
    """
    base, power, exponent = text.partition("^")
    return _FORMULAS.get(text, f"{base}^{{{exponent}}}" if power else text)


# Exact numbers against sampled ones.

_NAMES = {
    "two_agents_recovery": "two agents",
    "sweep_ba": "sweeps",
    "beyond": "observers, schedules",
    "two_timescales": "consensus limit",
}
NORMAL_95 = 1.959963984540054


@styled
def exact_vs_sampled(pairs: pd.DataFrame) -> Figure:
    """Show every quantity known both ways, sampled over exact, and how many standard errors apart they are."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.7))
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    _pairs(left, pairs)
    _apart_exact(right, pairs)
    panel(left, "a", f"{len(pairs)} quantities, both ways")
    panel(right, "b", "standard errors apart")
    return figure


def _pairs(axes: Axes, pairs: pd.DataFrame) -> None:
    shown = pairs[(pairs["exact"].abs() > 0) & (pairs["sampled"].abs() > 0)]
    ends = np.array([shown["exact"].abs().min() / 2, shown["exact"].abs().max() * 2])
    axes.loglog(ends, ends, color=INK, linewidth=0.6, linestyle=(0, (1, 1.5)), zorder=0)
    for place, (_, own) in enumerate(shown.groupby("experiment", sort=False)):
        colour = PALETTE[place % len(PALETTE)]
        axes.loglog(own["exact"].abs(), own["sampled"].abs(), "o", markersize=2.8, color=colour)
    axes.set_xlabel("exact (absolute value)")
    axes.set_ylabel("sampled (absolute value)")


def _apart_exact(axes: Axes, pairs: pd.DataFrame) -> None:
    names = list(dict.fromkeys(pairs["experiment"]))
    axes.axvspan(-NORMAL_95, NORMAL_95, color=GREY, alpha=0.15, linewidth=0)
    axes.axvline(0.0, color=INK, linewidth=0.6, linestyle=(0, (1, 1.5)))
    for place, name in enumerate(names):
        z = pairs.loc[pairs["experiment"] == name, "z"]
        axes.plot(z, np.full(len(z), -place), "o", markersize=2.8, color=PALETTE[place % len(PALETTE)], alpha=0.8)
    reach = max(3.0, 1.1 * float(pairs["z"].abs().max()))
    axes.set_xlim(-reach, reach)
    axes.set_ylim(0.6 - len(names), 0.6)
    axes.set_yticks(-np.arange(len(names)), [_words(name) for name in names])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("(sampled − exact) / standard error; 95 % within the band")


def _words(name: str) -> str:
    return _NAMES.get(name, name.replace("_", " "))
