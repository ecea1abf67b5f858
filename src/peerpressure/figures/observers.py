"""What observers achieve: over time, with every method, and when they see only a part."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from peerpressure.figures.style import BLUE, GOLD, GREY, INK, ONE_COLUMN, RED, TEAL, TWO_COLUMNS, label, panel, styled

BOUND = "cramer_rao"
_NETWORKS = {"two_agents": "two agents", "scale_free": "scale-free network"}
# By method: its colour, and what it is called.
_METHODS: Mapping[str, tuple[str, str]] = {
    "ols": (BLUE, "least squares"),
    "wls": (TEAL, "weighted least squares"),
    "snapshot": (GOLD, "last state only"),
    "innovations": (RED, "innovations"),
}


@styled
def observers(errors: pd.DataFrame) -> Figure:
    """Show the error variance of each observer over time, exact and sampled, down to the Cramér–Rao bound."""
    networks = list(dict.fromkeys(errors["network"]))
    figure = Figure(figsize=(TWO_COLUMNS, 2.7))
    panels = figure.subplots(1, len(networks), sharey=True, squeeze=False)[0]
    for axes, network, letter in zip(panels, networks, "abcd", strict=False):
        _over_time(axes, errors[errors["network"] == network])
        panel(axes, letter, _NETWORKS.get(network, network))
    panels[0].set_ylabel(r"variance of one opinion, in $\sigma_0^2$")
    return figure


def _over_time(axes: Axes, errors: pd.DataFrame) -> None:
    ends = {}
    for method, own in errors.groupby("observer", sort=False):
        exact = own.sort_values("steps")
        if method == BOUND:
            axes.loglog(exact["steps"], exact["variance"], color=INK, linewidth=0.8, linestyle=(0, (1, 1.5)), zorder=5)
            continue
        colour, name = _METHODS.get(str(method), (GREY, str(method)))
        axes.loglog(exact["steps"], exact["variance"], color=colour)
        _sampled(axes, exact, colour)
        ends[name] = (float(exact["variance"].iloc[len(exact) // 2]), float(exact["steps"].iloc[len(exact) // 2]), colour)
    axes.set_xlabel("steps observed $T$")
    axes.set_xlim(errors["steps"].min(), errors["steps"].max())
    for name, (variance, steps, colour) in ends.items():
        label(axes, name, (steps, variance), xytext=(0, 6), color=colour)
    if BOUND in set(errors["observer"]):
        bound = errors[errors["observer"] == BOUND].sort_values("steps").iloc[len(errors) // 8]
        label(axes, "Cramér–Rao bound", (bound["steps"], bound["variance"]), xytext=(-4, -4), ha="right", va="top", color=INK)


def _sampled(axes: Axes, exact: pd.DataFrame, colour: str) -> None:
    seen = exact[np.isfinite(exact["sampled"])]
    error = 1.96 * seen["standard_error"]
    # A bar that reached below zero would have no end on a log axis.
    below = np.minimum(error, 0.9 * seen["sampled"])
    style = {"fmt": "o", "markersize": 2.6, "elinewidth": 0.7, "color": colour}
    axes.errorbar(seen["steps"], seen["sampled"], yerr=[below, error], **style)


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
        label(axes, group, (100 * middle["fraction"], middle["ratio"]), xytext=(2, 6), color=colour)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("agents watched, %")
    axes.set_ylabel("posterior / prior variance")
    return figure
