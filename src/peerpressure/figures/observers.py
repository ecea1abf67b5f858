"""What observers achieve over time, and when they see only a part."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from peerpressure.figures.style import BLUE, GOLD, GREY, INK, ONE_COLUMN, RED, TEAL, TWO_COLUMNS, label, panel, styled

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
