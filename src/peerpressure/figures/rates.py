"""What each schedule forgets, when agents agree and when they are right, and what tuning gains."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from peerpressure.figures.style import BLUE, GREY, INK, ONE_COLUMN, RED, TWO_COLUMNS, label, panel, styled

# How a schedule's formula reads in a figure; one that is not here is shown as it is.
_FORMULAS = {"2^√t": r"2^{\sqrt{t}}", "t*log(1 + t)": r"t\,\log(1+t)", "κt": r"\kappa t"}


@styled
def contraction(products: pd.DataFrame) -> Figure:
    """Show the product of contraction factors: it falls to 0 under slow schedules and stalls under fast ones."""
    figure = Figure(figsize=(ONE_COLUMN, 2.5))
    axes = figure.add_subplot()
    for name, curve in products.groupby("schedule", sort=False):
        forgets = bool(curve["forgets"].iloc[0])
        colour, style = (BLUE, "solid") if forgets else (RED, (0, (4, 1.5)))
        axes.loglog(curve["time"], curve["product"], color=colour, linestyle=style)
        _name_curve(axes, curve, f"${_formula(str(name))}$", colour)
    axes.set_xlim(1, products["time"].max())
    # What falls faster than the slow schedules' 1/t would take the room of all others.
    axes.set_ylim(bottom=0.1 / products["time"].max(), top=1.0)
    axes.set_xlabel("time $t$")
    axes.set_ylabel(r"$\prod_{k \leq t}\,\alpha_k$")
    notes = ((0.30, r"$\rightarrow 0$: the start is forgotten", BLUE), (0.19, "stalls: it never is", RED))
    for height, text, colour in notes:
        axes.text(0.04, height - 0.12, text, transform=axes.transAxes, color=colour)
    return figure


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
    label(left, "mean and 95 % band, exact", (middle["time"], middle["error_low"]), xytext=(0, -14), color=BLUE, ha="center")
    label(left, "$v$", (1.15, 0.0), xytext=(0, -10))
    label(right, "distance to $v$", (middle["time"], middle["distance"]), xytext=(0, 6), color=BLUE)
    label(right, "spread", (middle["time"], middle["spread"]), xytext=(6, 4), color=RED)
    label(left, "simulated", (paths["time"].iloc[3], paths["error"].max()), xytext=(0, 0), color=GREY)
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
    ideal = r"$\sigma_0\sqrt{\Sigma s^2}\,/\,(\Sigma s\,\sqrt{t})$"
    label(axes, ideal, (spot["time"], spot["ideal"]), xytext=(-4, -9), ha="right", va="top")
    axes.set_xlim(1, errors["time"].max())
    axes.set_xlabel("time $t$")
    axes.set_ylabel("RMS error of the consensus mode")
    return figure


def _name_curve(axes: Axes, curve: pd.DataFrame, text: str, colour: str) -> None:
    """Name a curve at its right end, or on the curve where it leaves the panel below."""
    floor = 0.1 / curve["time"].max()
    inside = curve[curve["product"] > 3 * floor]
    end = inside.iloc[-1]
    leaves = len(inside) < len(curve)
    offset, side = ((-4, 2), "right") if leaves else ((4, 0), "left")
    label(axes, text, (end["time"], end["product"]), xytext=offset, ha=side, va="center", color=colour, annotation_clip=False)


def _formula(text: str) -> str:
    """Return a schedule's formula as mathematics.

    >>> _formula("t^1.5")
    't^{1.5}'
    """
    base, power, exponent = text.partition("^")
    return _FORMULAS.get(text, f"{base}^{{{exponent}}}" if power else text)
