"""Figures of the extensions: hidden opinions that adapt, temporal networks, and inferred networks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from peerpressure.plotting.style import (
    BELOW,
    BLUE,
    DOTTED,
    GOLD,
    GREY,
    INK,
    ONE_COLUMN,
    RED,
    TEAL,
    TWO_COLUMNS,
    Looks,
    band,
    formula,
    label,
    name_ends,
    panel,
    plain_ticks,
    samples,
    styled,
    visible,
)

# Colour and name of each network.
_NETWORKS: Mapping[str, tuple[str, str]] = {
    "constant": (INK, "constant"),
    "slow": (BLUE, "slow turnover"),
    "rewired": (TEAL, "rewired"),
    "fast": (RED, "resampled"),
    "isolated": (GOLD, "isolated at times"),
}
_GROUPS = (BLUE, TEAL, RED)
_BRIDGES = {"returning": "bridges return", "removed": "bridges are removed"}
_STRIP = (0.015, 0.05)  # bottom and top of the strip of windows, as shares of the panel's height
_AGENTS: Mapping[str, str] = {"lowest": BLUE, "middle": TEAL, "highest": RED}
_TARGETS: Mapping[str, tuple[Any, str]] = {"initial": ("-", "o"), "current": ((0, (4, 1.5)), "s")}
_LEAST_VARIANCE = 1e-4  # lower end of the axis for variances that vanish


@styled
def edge_turnover(law: pd.DataFrame, targets: pd.DataFrame) -> Figure:
    """Show weighted RMS disagreement and distance to v over time on networks of different edge turnover."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.7))
    left, right = figure.subplots(1, 2)
    for axes, column in ((left, "weighted_disagreement"), (right, "weighted_distance")):
        ends = {}
        for name, (colour, title) in _NETWORKS.items():
            own = law[law["network"] == name]
            axes.loglog(own["time"], own[column], color=colour, linewidth=1.0)
            ends[title] = (float(own[column].iloc[-1]), colour)
        axes.set_xlim(1, law["time"].max())
        axes.set_xlabel("time $t$")
        # After the limits are set, which positions in the axes depend on.
        name_ends(axes, float(law["time"].max()), ends)
    for row in targets.itertuples():
        # A log axis has no place for 0, the bias on the constant network.
        if abs(row.bias) > 0:
            right.axhline(abs(row.bias), color=_NETWORKS[row.network][0], linewidth=0.6, linestyle=DOTTED)
    left.set_ylabel("weighted RMS disagreement")
    right.set_ylabel("weighted RMS distance to $v$")
    panel(left, "a", "do agents agree?")
    panel(right, "b", "do they agree on $v$?")
    return figure


@styled
def broadcaster(paths: pd.DataFrame, shares: pd.DataFrame) -> Figure:
    """Show the influence of an agent that is connected to all during every second dwell time."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.6))
    left, right = figure.subplots(1, 2)
    for dwell_time, colour in zip(dict.fromkeys(paths["dwell_time"]), (RED, BLUE, INK), strict=False):
        _path(left, paths[paths["dwell_time"] == dwell_time], dwell_time, colour)
    left.set_xlim(1, paths["time"].max())
    left.set_xlabel("time $t$")
    left.set_ylabel("consensus mode $m_t$")
    ends = {}
    # Not strict: a table may have fewer weights than colours.
    for (weight, own), colour in zip(shares.groupby("weight"), (RED, GOLD), strict=False):
        right.loglog(own["dwell_time"], own["share"], color=colour)
        right.plot(own["dwell_time"], own["mean"], "o", color=colour, markersize=2.6)
        ends[f"weight {weight:g}"] = (float(own["share"].iloc[-1]), colour)
    # v = Σ s x₀/Σ s does not depend on the weights of edges, so any row has it.
    v = float(shares["consensus_value"].iloc[0])
    right.axhline(v, color=INK, linewidth=0.7, linestyle=DOTTED)
    right.set_xlim(shares["dwell_time"].min() / 1.15, shares["dwell_time"].max() * 1.15)
    right.set_xlabel("dwell time in steps")
    right.set_ylabel("share of the broadcaster")
    plain_ticks(right.xaxis)
    plain_ticks(right.yaxis)
    name_ends(right, float(shares["dwell_time"].max() * 1.15), ends | {"$v$": (v, INK)})
    panel(left, "a", "$x_0 = 1$ for the broadcaster, 0 for all others")
    panel(right, "b", "theory (lines) and exact mean (dots)")
    return figure


def _path(axes: Axes, own: pd.DataFrame, dwell_time: int, colour: str) -> None:
    axes.fill_between(own["time"], own["low"], own["high"], color=colour, alpha=0.13, linewidth=0)
    axes.semilogx(own["time"], own["mean"], color=colour)
    target, end = float(own["target"].iloc[0]), float(own["time"].iloc[-1])
    axes.axhline(target, color=colour, linewidth=0.7, linestyle=DOTTED)
    name = "constant" if dwell_time == 0 else f"dwell time {dwell_time}"
    label(axes, name, (end, target), xytext=(-2, 3), ha="right", color=colour)


@styled
def splitting(paths: pd.DataFrame, windows: pd.DataFrame) -> Figure:
    """Show three groups whose bridges are absent for a while or for good, and the windows that are not connected."""
    figure = Figure(figsize=(TWO_COLUMNS, 3.0))
    names = list(dict.fromkeys(paths["bridges"]))
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for axes, name, letter in zip(panels, names, "abcd", strict=False):
        _groups(axes, paths[paths["bridges"] == name])
        _windows(axes, windows[windows["bridges"] == name])
        panel(axes, letter, _BRIDGES.get(name, name))
    panels[0].set_ylabel("mean public opinion of a group")
    looks: Looks = {"exact mean": {"color": INK}, "one run": {"color": INK, "linewidth": 0.5}}
    looks |= {"95 % band": {"band": band(INK, 0.15)}}
    looks |= {"average of the group": {"color": INK, "linewidth": 0.6, "linestyle": (0, (4, 2))}}
    samples(panels[0], looks, **BELOW)
    return figure


def _groups(axes: Axes, paths: pd.DataFrame) -> None:
    end, v = float(paths["time"].max()), float(paths["consensus_value"].iloc[0])
    for (_, own), colour in zip(paths.groupby("group"), _GROUPS, strict=False):
        axes.fill_between(own["time"], own["low"], own["high"], color=colour, alpha=0.15, linewidth=0)
        axes.semilogx(own["time"], own["mean"], color=colour)
        axes.plot(own["time"], own["path"], color=colour, linewidth=0.5)
        axes.axhline(own["group_value"].iloc[0], color=colour, linewidth=0.6, linestyle=(0, (4, 2)))
    axes.axhline(v, color=INK, linewidth=0.7, linestyle=DOTTED)
    label(axes, "$v$", (end, v), xytext=(3, 0), va="center", annotation_clip=False)
    axes.set_xlim(float(paths["time"].min()), end)
    # Room for the strip of windows below all bands.
    axes.set_ylim(bottom=float(paths["low"].min()) - 0.12 * float(np.ptp(paths[["low", "high"]])))
    axes.set_xlabel("time $t$")


def _windows(axes: Axes, windows: pd.DataFrame) -> None:
    """Draw a strip over time: light where windows are jointly connected, dark where they are not."""
    low, high = _STRIP
    # Light over all times first; the windows that are not connected are drawn on top.
    axes.axvspan(*axes.get_xlim(), ymin=low, ymax=high, color=TEAL, alpha=0.35, linewidth=0)
    for row in windows.itertuples():
        axes.axvspan(row.first, row.last, ymin=low, ymax=high, color=INK, linewidth=0)
    axes.text(0.01, high + 0.01, "jointly connected", transform=axes.transAxes, fontsize=7.5, color=TEAL)


@styled
def adaptation(opinions: pd.DataFrame) -> Figure:
    """Show public and hidden opinions of three agents under slow and fast adaptation: exact law and one run."""
    rates = sorted(opinions["rate"].unique())
    figure = Figure(figsize=(TWO_COLUMNS, 3.0))
    panels = figure.subplots(1, len(rates), sharey=True, squeeze=False)[0]
    for axes, rate, letter in zip(panels, rates, "abcd", strict=False):
        # Time 0 has no place on a log axis.
        own = opinions[(opinions["rate"] == rate) & (opinions["time"] >= 1)]
        for agent, colour in _AGENTS.items():
            _agent(axes, own[own["agent"] == agent], colour)
        axes.set_xscale("log")
        axes.set_xlim(1, own["time"].max())
        axes.set_xlabel("time $t$")
        panel(axes, letter, rf"$\eta = {rate:g}$")
    panels[0].set_ylabel("opinion")
    looks: Looks = {"hidden, exact mean": {"color": INK}, "public, exact mean": {"color": INK, "linestyle": DOTTED}}
    looks |= {"one run": {"color": INK, "linewidth": 0.5}, "95 % band": {"band": band(INK, 0.15)}}
    samples(panels[0], looks, **BELOW)
    colours: Looks = {f"{agent} $x_0$": {"color": _AGENTS[agent]} for agent in ("highest", "middle", "lowest")}
    samples(panels[-1], colours, loc="upper right")
    return figure


def _agent(axes: Axes, own: pd.DataFrame, colour: str) -> None:
    """Draw the hidden opinion of an agent with its band, and its public opinion."""
    hidden, public = own[own["kind"] == "hidden"], own[own["kind"] == "public"]
    axes.fill_between(hidden["time"], hidden["low"], hidden["high"], color=colour, alpha=0.15, linewidth=0)
    axes.plot(hidden["time"], hidden["path"], color=colour, linewidth=0.5)
    axes.plot(hidden["time"], hidden["mean"], color=colour)
    axes.plot(public["time"], public["mean"], color=colour, linewidth=0.9, linestyle=DOTTED)
    axes.plot(public["time"], public["path"], color=colour, linewidth=0.3)


@styled
def consensus_limit(law: pd.DataFrame, runs: pd.DataFrame, disagreement: pd.DataFrame) -> Figure:
    """Show the consensus limit, and the disagreement of hidden opinions, against the adaptation rate."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.6))
    left, right = figure.subplots(1, 2)
    # The limit is linear in normal noise, hence normal.
    half = 1.96 * law["std"]
    left.fill_between(law["rate"], law["mean"] - half, law["mean"] + half, color=BLUE, alpha=0.15, linewidth=0)
    left.plot(runs["rate"], runs["value"], "o", color=GREY, markersize=1.5, markeredgewidth=0)
    left.semilogx(law["rate"], law["mean"], color=BLUE)
    v = float(law["consensus_value"].iloc[0])
    left.axhline(v, color=INK, linewidth=0.7, linestyle=DOTTED)
    ends = law["rate"].min() / 1.2, law["rate"].max() * 1.2
    label(left, "$v$", (ends[1], v), xytext=(3, 0), va="center", annotation_clip=False)
    looks: Looks = {"exact mean": {"color": BLUE}, "95 % band": {"band": band(BLUE, 0.15)}}
    samples(left, looks | {"runs": {"color": GREY, "marker": "o", "markersize": 2, "linestyle": ""}}, loc="lower left")
    for axes in (left, right):
        axes.set_xlabel(r"adaptation rate $\eta$")
        axes.set_xlim(*ends)
    _horizons(right, disagreement)
    left.set_ylabel("consensus limit")
    right.set_ylabel("weighted RMS disagreement\nof hidden opinions")
    panel(left, "a", "the consensus limit")
    panel(right, "b", "do hidden opinions agree?")
    return figure


def _horizons(axes: Axes, disagreement: pd.DataFrame) -> None:
    horizons = sorted(disagreement["steps"].unique())
    colours = visible("viridis")
    ends = {}
    for i, steps in enumerate(horizons):
        own = disagreement[disagreement["steps"] == steps].sort_values("rate")
        colour = colours(i / max(1, len(horizons) - 1))
        axes.loglog(own["rate"], own["weighted_disagreement"], color=colour, marker="o", markersize=2)
        ends[f"$t = {steps}$"] = (float(own["weighted_disagreement"].iloc[-1]), colour)
    name_ends(axes, axes.get_xlim()[1], ends)


@styled
def decreasing_rates(disagreement: pd.DataFrame) -> Figure:
    """Show that hidden opinions agree if the sum of the adaptation rates diverges, and disagree if it converges."""
    figure = Figure(figsize=(ONE_COLUMN, 2.5))
    axes = figure.add_subplot()
    ends: dict[str, tuple[float, str]] = {}
    for rate, own in disagreement.groupby("rate", sort=False):
        colour, line = (BLUE, "-") if own["sum_diverges"].iloc[0] else (RED, (0, (4, 1.5)))
        axes.loglog(own["time"], own["public"], color=GREY, linewidth=0.6)
        axes.loglog(own["time"], own["hidden"], color=colour, linestyle=line)
        ends[rf"$\eta_t = {formula(str(rate))}$"] = (float(own["hidden"].iloc[-1]), colour)
    # The public curves of all rates nearly coincide and share one name.
    ends["public"] = (float(disagreement.groupby("rate")["public"].last().mean()), GREY)
    axes.set_xlim(1, disagreement["time"].max())
    axes.set_xlabel("time $t$")
    axes.set_ylabel("weighted RMS disagreement\nof hidden opinions")
    name_ends(axes, float(disagreement["time"].max()), ends)
    return figure


@styled
def forgetting(information: pd.DataFrame, recovery: pd.DataFrame) -> Figure:
    """Show that the information about the initial opinion is bounded, while the error of the current one decreases."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.7))
    left, right = figure.subplots(1, 2)
    for (rate, own), colour in zip(information.groupby("rate"), (INK, BLUE, RED), strict=False):
        left.loglog(own["time"], own["information"], color=colour)
        if np.isfinite(own["limit"].iloc[0]):
            left.axhline(own["limit"].iloc[0], color=colour, linewidth=0.7, linestyle=DOTTED)
        # The name stands below a bounded curve, and to the left of an unbounded one.
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
    panel(left, "a", "information about the initial opinion")
    looks: Looks = {
        f"{name} opinion": {"color": INK, "linestyle": line, "marker": mark, "markersize": 2.2}
        for name, (line, mark) in _TARGETS.items()
    }
    samples(right, looks, loc="lower left")
    panel(right, "b", "error of the initial and the current opinion")
    return figure


def _errors(axes: Axes, errors: pd.DataFrame, colour: str) -> None:
    for target, (line, mark) in _TARGETS.items():
        # The variance of the current opinion falls by orders of magnitude under fast adaptation; points far below
        # the axis would only add to the file.
        own = errors[(errors["target"] == target) & (errors["variance"] > _LEAST_VARIANCE / 10)]
        axes.loglog(own["steps"], own["variance"], color=colour, linestyle=line)
        error = 1.96 * own["standard_error"]
        axes.errorbar(own["steps"], own["sampled"], error, fmt=mark, color=colour, markersize=2.2, elinewidth=0.7)


# Figures of the inferred network: its edges, how well they are found, and what hides them.

# Colour and name of each method.
_METHODS: Mapping[str, tuple[str, str]] = {
    "likelihood": (RED, "joint likelihood"),
    "weighted_var": (GOLD, "VAR(1), weighted"),
    "var": (BLUE, "VAR(1)"),
    "lagged_correlation": (TEAL, "lag-1 correlation"),
    "partial_correlation": (GREY, "partial correlation"),
}
# Defences of each panel, with their colours and names, and the label of its axis.
_PANELS: Mapping[str, tuple[Mapping[str, tuple[str, str]], str]] = {
    "more noise": (
        {"noise": (RED, "of the agents"), "published_noise": (BLUE, "of what is published")},
        "standard deviation of noise",
    ),
    "fewer published steps": ({"every": (RED, "")}, "every $k$-th step published"),
    "fewer published agents": ({"fraction": (RED, "")}, "published agents, %"),
}


@styled
def network_leak(leak: pd.DataFrame, defence: pd.DataFrame) -> Figure:
    """Show the average precision of inferred edges over time by method, and against the strength of each defence."""
    figure = Figure(figsize=(TWO_COLUMNS, 4.6))
    top, bottom = figure.subplots(2, 2, sharey=True)
    _methods(top[0], leak)
    for axes, letter, (subject, (curves, axis)) in zip((top[1], *bottom), "bcd", _PANELS.items(), strict=True):
        _defences(axes, defence, curves)
        axes.set_xlabel(axis)
        panel(axes, letter, subject)
    for axes in (top[0], bottom[0]):
        axes.set_ylabel("average precision of edges")
        axes.set_ylim(0, 1.12)
    return figure


def _methods(axes: Axes, leak: pd.DataFrame) -> None:
    ends: dict[str, tuple[float, str]] = {}
    for method, curve in leak.groupby("method", sort=False):
        colour, name = _METHODS.get(str(method), (GREY, str(method)))
        own = curve.sort_values("steps")
        axes.semilogx(own["steps"], own["average_precision"], color=colour, marker="o", markersize=3)
        ends[name] = (float(own["average_precision"].iloc[-1]), colour)
    # Up to the last point, beyond which the names of the methods stand.
    ends_of_line = [float(leak["steps"].min()), float(leak["steps"].max())]
    axes.plot(ends_of_line, [leak["chance"].iloc[0]] * 2, color=INK, linestyle=DOTTED, linewidth=0.9)
    axes.set_xlabel("steps observed $T$")
    # Room on the right for the names.
    last = float(leak["steps"].max())
    axes.set_xlim(float(leak["steps"].min()) / 1.15, last * (last / float(leak["steps"].min())) ** 0.6)
    axes.set_ylim(0, 1.12)
    name_ends(axes, last * 1.1, ends)
    panel(axes, "a", "scale-free network of 30 agents")


def _defences(axes: Axes, defence: pd.DataFrame, curves: Mapping[str, tuple[str, str]]) -> None:
    for name, (colour, title) in curves.items():
        own = defence[defence["defence"] == name].sort_values("strength")
        # Shares are shown in per cent.
        strength = 100 * own["strength"] if name == "fraction" else own["strength"]
        axes.plot(strength, own["average_precision"], color=colour, marker="o", markersize=3)
        if title:
            # Names on different sides of their curves, which may run together.
            middle, side = own.iloc[len(own) // 2], 6 if name == "noise" else -12
            spot = (float(middle["strength"]), float(middle["average_precision"]))
            label(axes, title, spot, xytext=(0, side), ha="center", color=colour)
    if len(curves) > 1:
        axes.set_xscale("log")
    else:
        # The points themselves: there is nothing between every second step and every third.
        axes.set_xticks(strength)


@styled
def inferred_network(
    places: NDArray[Any],
    pairs: NDArray[Any],
    true: NDArray[np.bool_],
    inferred: NDArray[np.bool_],
    curve: tuple[NDArray[Any], NDArray[Any]],
    time: float,
) -> Figure:
    """Draw the edges that an observer infers up to a time over the true ones, and the average precision over time.

    ``places`` (n, 2) are positions, ``pairs`` (m, 2) agents, connected where ``true``; ``curve`` are times and average
    precisions.
    """
    figure = Figure(figsize=(TWO_COLUMNS, 3.0))
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
    # Lines and not only colours tell the three kinds apart.
    kinds: Mapping[str, tuple[NDArray[np.bool_], dict[str, Any]]] = {
        "found": (true & inferred, {"colors": INK, "linewidths": 1.2, "zorder": 1.2}),
        "false": (inferred & ~true, {"colors": RED, "linewidths": 0.9, "linestyles": (0, (3, 2)), "zorder": 1.1}),
        "missed": (true & ~inferred, {"colors": GREY, "linewidths": 0.5, "alpha": 0.6, "zorder": 1.0}),
    }
    for name, (chosen, look) in kinds.items():
        left.add_collection(LineCollection(list(places[pairs[chosen]]), label=f"{int(chosen.sum()):,} {name}", **look))
    left.plot(places[:, 0], places[:, 1], "o", color=BLUE, markersize=3.2, markeredgecolor="white", zorder=2)
    left.set_aspect("equal")
    left.axis("off")
    left.margins(0.06)
    left.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, frameon=False)
    right.semilogx(*curve, color=RED, marker="o", markersize=3)
    # A log axis has no place for time 0.
    if time > 0:
        right.axvline(time, color=INK, linestyle=DOTTED, linewidth=0.9)
    plain_ticks(right.xaxis)
    right.set_ylim(0, 1.05)
    right.set_xlabel("observed until step $t$")
    right.set_ylabel("average precision of edges")
    panel(left, "a", f"edges inferred up to $t = {time:g}$")
    panel(right, "b", "over time")
    return figure
