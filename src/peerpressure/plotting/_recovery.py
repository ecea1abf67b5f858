"""Figures of recovery and privacy in the paper's experiments: estimates, residuals, observers, budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from numpy.typing import NDArray
from scipy import stats

from peerpressure.plotting.style import (
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
    label,
    panel,
    plain_ticks,
    samples,
    smoothed,
    styled,
)

BINS = 17
_ONE_AGENT = "#5f93c6"  # lighter than BLUE, for the curves of a hundred agents
_LEVEL_95 = 5.991464547107979  # of χ² with two degrees of freedom
# Method and kind of a covariance, its name, its colour and its line.
_KINDS: Sequence[tuple[str, str, str, str, str]] = (
    ("ols", "homoskedastic", "claimed, homoskedastic", INK, "--"),
    ("ols", "textbook", "regression software", GREY, "-."),
    ("ols", "exact", "true, regression", BLUE, "-"),
    ("innovations", "exact", "true, innovations", RED, "-"),
)
_NETWORKS = {"two_agents": "two agents", "scale_free": "scale-free network"}
# Colour and name of each method.
_METHODS: Mapping[str, tuple[str, str]] = {
    "ols": (BLUE, "least squares"),
    "wls": (TEAL, "weighted least squares"),
    "snapshot": (GOLD, "last state only"),
    "innovations": (RED, "innovations"),
}
# The method whose exact variance is the Cramér–Rao bound.
_BEST = "innovations"
_DESIGNS: Mapping[str, tuple[str, str]] = {
    "white": (BLUE, "white noise"),
    "growing": (GOLD, "growing noise"),
    "frozen": (RED, "frozen noise"),
}


@styled
def two_agents(estimates: pd.DataFrame, covariances: pd.DataFrame) -> Figure:
    """Show estimates of two opinions on the claimed density, and 95 % ellipses of the claimed and true covariances.

    The second panel rotates the plane by 45°: the uncertainty of the regression lies along one diagonal.
    """
    figure = Figure(figsize=(TWO_COLUMNS, 3.1))
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.12))
    _plane(left, estimates, covariances)
    _rotated(right, estimates, covariances)
    count = int(estimates["replicate"].nunique())
    panel(left, "a", f"{count} runs on the claimed density")
    panel(right, "b", "the same along and across the diagonal")
    return figure


def _plane(axes: Axes, estimates: pd.DataFrame, covariances: pd.DataFrame) -> None:
    centre, cov = _law(covariances, "ols", "homoskedastic")
    # Slightly more than three standard deviations of one estimate, so that all runs are inside.
    reach = 3.2 * float(np.sqrt(cov[0, 0]))
    _density(axes, centre, cov, reach)
    _limit_line(axes, centre, covariances, reach)
    # The innovations last and smaller: they lie within the cloud of the regression.
    for method, colour, size in (("ols", BLUE, 7.0), ("innovations", RED, 3.0)):
        own = estimates[estimates["method"] == method]
        axes.scatter(own["agent_1"], own["agent_2"], s=size, color=colour, linewidths=0, alpha=0.8, zorder=3)
    axes.set_xlim(centre[0] - reach, centre[0] + reach)
    axes.set_ylim(centre[1] - reach, centre[1] + reach)
    axes.set_aspect("equal")
    axes.set_xlabel(r"estimate of agent 1, $\hat{x}_0^1$")
    axes.set_ylabel(r"estimate of agent 2, $\hat{x}_0^2$")
    label(axes, "regression", (centre[0] + 0.45 * reach, centre[1] - 0.45 * reach), xytext=(8, 4), color=BLUE)
    label(axes, "innovations", (centre[0], centre[1]), xytext=(10, 8), color=RED)
    label(axes, "printed limit: a line", (centre[0] - 0.62 * reach, centre[1] + 0.62 * reach), xytext=(7, 4), color=INK)


def _density(axes: Axes, centre: NDArray[np.float64], cov: NDArray[np.float64], reach: float) -> None:
    grid = np.linspace(-reach, reach, 301)
    dx, dy = np.meshgrid(grid, grid)
    along, across = (dx - dy) / np.sqrt(2), (dx + dy) / np.sqrt(2)
    # The covariance is symmetric in the agents, so that the diagonals are its axes.
    wide, narrow = cov[0, 0] - cov[0, 1], cov[0, 0] + cov[0, 1]
    # A ridge thinner than a pixel would vanish.
    narrow = max(narrow, (reach / 60) ** 2)
    height = np.exp(-0.5 * (along**2 / wide + across**2 / narrow))
    extent = (centre[0] - reach, centre[0] + reach, centre[1] - reach, centre[1] + reach)
    shade = LinearSegmentedColormap.from_list("claimed", ["white", GOLD])
    drawn = axes.imshow(height, origin="lower", extent=extent, cmap=shade, vmin=0, vmax=1, aspect="equal", zorder=0)
    bar = axes.figure.colorbar(drawn, ax=axes, shrink=0.8, aspect=28, pad=0.02, ticks=[0.0, 0.5, 1.0])
    bar.set_label("claimed density, share of its peak")
    bar.outline.set_visible(False)


def _limit_line(axes: Axes, centre: NDArray[np.float64], covariances: pd.DataFrame, reach: float) -> None:
    _, limit = _law(covariances, "ols", "printed_limit")
    # The singular limit has its 95 % ellipse degenerate to a segment along the diagonal.
    half = min(float(np.sqrt(_LEVEL_95 * limit[0, 0])), reach)
    axes.plot([centre[0] - half, centre[0] + half], [centre[1] + half, centre[1] - half], color=INK, linewidth=0.6)


def _rotated(axes: Axes, estimates: pd.DataFrame, covariances: pd.DataFrame) -> None:
    centre, _ = _law(covariances, "ols", "exact")
    for method, colour in (("ols", BLUE), ("innovations", RED)):
        own = estimates[estimates["method"] == method]
        along, across = _rotate(own["agent_1"] - centre[0], own["agent_2"] - centre[1])
        axes.scatter(along, across, s=4, color=colour, alpha=0.45, linewidths=0)
    named = covariances.set_index(["method", "kind"]).index
    looks: Looks = {}
    for method, kind, name, colour, line in (k for k in _KINDS if k[:2] in named):
        _, cov = _law(covariances, method, kind)
        # Full axes of the ellipse. In rotated coordinates the variances are c₁₁ ∓ c₁₂, because both agents have the
        # same variance.
        wide, narrow = (2 * np.sqrt(_LEVEL_95 * (cov[0, 0] + sign * cov[0, 1])) for sign in (-1, 1))
        axes.add_patch(Ellipse((0, 0), wide, narrow, fill=False, edgecolor=colour, linestyle=line, linewidth=1.2))
        looks[name] = {"color": colour, "linestyle": line, "linewidth": 1.2}
    samples(axes, looks, loc="upper left", ncols=2, columnspacing=1.0, handlelength=2.4)
    # Patches do not update the limits by themselves.
    axes.autoscale_view()
    low, high = axes.get_ylim()
    # Room for the names above the ellipses.
    axes.set_ylim(low, high + 0.2 * (high - low))
    axes.axhline(0, color=TEAL, linewidth=0.4, zorder=0)
    axes.axvline(0, color=TEAL, linewidth=0.4, zorder=0)
    axes.set_xlabel(r"error of the difference, $(\hat{x}_0^1 - \hat{x}_0^2)/\sqrt{2}$")
    axes.set_ylabel(r"error of the sum, $(\hat{x}_0^1 + \hat{x}_0^2)/\sqrt{2}$")


def _rotate(first: pd.Series, second: pd.Series) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    one, two = first.to_numpy(), second.to_numpy()
    return (one - two) / np.sqrt(2), (one + two) / np.sqrt(2)


def _law(covariances: pd.DataFrame, method: str, kind: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return centre (2,) and covariance (2, 2)."""
    rows = covariances[(covariances["method"] == method) & (covariances["kind"] == kind)]
    row = rows.iloc[0]
    centre = row[["centre_1", "centre_2"]].to_numpy(dtype=float)
    cov = row[["variance_1", "covariance", "covariance", "variance_2"]].to_numpy(dtype=float).reshape(2, 2)
    return centre, cov


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
    # Not the maximum: a single outlier among ten thousand residuals would compress all curves.
    reach = float(np.abs(values["residual"]).quantile(0.9995))
    grid = np.linspace(-reach, reach, 121)
    for _, own in values.groupby("agent"):
        axes.plot(grid, smoothed(own["residual"].to_numpy(), grid), color=_ONE_AGENT, linewidth=0.3)
    # All residuals together follow the mixture of the agents' exact laws.
    mixture = stats.norm.pdf(grid, scale=agents["exact_std"].to_numpy()[:, None]).mean(axis=0)
    axes.plot(grid, mixture, color=RED, linewidth=1.4)
    axes.set_xlim(-reach, reach)
    _bare(axes, r"residual $\hat{x}_0^i - x_0^i$")
    looks: Looks = {"each agent": {"color": _ONE_AGENT, "linewidth": 0.6}, "exact, all agents": {"color": RED}}
    samples(axes, looks, loc="upper left")


def _mean_vector(axes: Axes, means: NDArray[np.float64], normality: pd.DataFrame) -> None:
    fit = normality[normality["sample"] == "mean_vector"].iloc[0]
    axes.hist(means, bins=BINS, density=True, color=GREY, alpha=0.4)
    reach = 1.05 * max(float(np.abs(means).max()), 3.2 * float(fit["std"]))
    grid = np.linspace(-reach, reach, 241)
    axes.plot(grid, stats.norm.pdf(grid, fit["mean"], fit["std"]), color=BLUE)
    # Mean 0: the regression is unbiased.
    axes.plot(grid, stats.norm.pdf(grid, scale=fit["exact_std"]), color=RED, linestyle=(0, (4, 2)))
    axes.axvline(0.0, color=INK, linewidth=0.6, linestyle=DOTTED)
    axes.set_xlim(-reach, reach)
    _bare(axes, r"mean residual over runs, $\langle r \rangle_i$")
    looks: Looks = {"mean residuals": {"band": band(GREY, 0.4)}, "normal fit": {"color": BLUE}}
    samples(axes, looks | {"exact law": {"color": RED, "linestyle": (0, (4, 2))}}, loc="upper left")


def _bare(axes: Axes, name: str) -> None:
    """Remove the scale of a density, which adds no information."""
    axes.set_xlabel(name)
    axes.set_ylabel("density")
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_ylim(bottom=0)


@styled
def size_effect(variances: pd.DataFrame) -> Figure:
    """Show the exact residual variance against graph size for both graph families, as a mean over graphs."""
    figure = Figure(figsize=(ONE_COLUMN, 2.4))
    axes = figure.add_subplot()
    for edges, colour, mark in ((1, RED, "s"), (2, BLUE, "o")):
        own = variances[variances["edges"] == edges].sort_values("agents")
        error = 1.96 * own["standard_error"]
        axes.errorbar(
            own["agents"], own["variance"], yerr=error, fmt=f"{mark}-", markersize=3, linewidth=0.9, color=colour
        )
        # The name is above the highest point of its curve, which clears the error bars.
        highest = own.loc[own["variance"].idxmax()]
        name = f"{edges} edge{'s' if edges > 1 else ''} per round"
        label(axes, name, (own["agents"].mean(), highest["variance"]), xytext=(0, 9), ha="center", color=colour)
    axes.set_xlabel("number of agents $|V|$")
    axes.set_ylabel(r"residual variance, in $\sigma_0^2$")
    axes.margins(y=0.16)
    return figure


@styled
def observers(errors: pd.DataFrame) -> Figure:
    """Show the error variance of each observer over time, exact and sampled, down to the Cramér–Rao bound."""
    networks = list(dict.fromkeys(errors["network"]))
    figure = Figure(figsize=(TWO_COLUMNS, 2.7))
    # A common axis: the bound is the same on both networks.
    panels = figure.subplots(1, len(networks), sharey=True, squeeze=False)[0]
    for axes, network, letter in zip(panels, networks, "abcd", strict=False):
        own = errors[errors["network"] == network]
        for method, curve in own.groupby("observer", sort=False):
            _over_time(axes, str(method), curve.sort_values("steps"))
        axes.set_xlabel("steps observed $T$")
        axes.set_xlim(own["steps"].min() / 1.15, own["steps"].max() * 1.15)
        panel(axes, letter, _NETWORKS.get(network, network))
    panels[0].set_ylabel(r"variance of one opinion, in $\sigma_0^2$")
    looks: Looks = {
        "exact": {"color": INK},
        "sampled": {"color": INK, "marker": "o", "markersize": 2.6, "linestyle": ""},
    }
    looks |= {"Cramér–Rao bound": {"color": INK, "linewidth": 0.9, "linestyle": DOTTED}}
    samples(panels[0], looks, loc="lower left")
    return figure


def _over_time(axes: Axes, method: str, curve: pd.DataFrame) -> None:
    colour, name = _METHODS.get(method, (GREY, method))
    middle, last = curve.iloc[len(curve) // 2], curve.iloc[-1]
    spot = (float(middle["steps"]), float(middle["variance"]))
    end = (float(last["steps"]), float(last["variance"]))
    if method == _BEST:
        axes.loglog(curve["steps"], curve["variance"], color=INK, linewidth=0.9, linestyle=DOTTED, zorder=1)
    else:
        axes.loglog(curve["steps"], curve["variance"], color=colour)
    _sampled(axes, curve, colour)
    # Falling curves leave room on their right, the others above their ends.
    if end[1] < spot[1] / 2:
        label(axes, name, spot, xytext=(4, 6), color=colour)
    else:
        label(axes, name, end, xytext=(2, 5), ha="right", va="bottom", color=colour)


def _sampled(axes: Axes, curve: pd.DataFrame, colour: str) -> None:
    """Draw sampled values with 95 % intervals."""
    finite = curve[np.isfinite(curve["sampled"])]
    error = 1.96 * finite["standard_error"]
    # A bar below zero has no end on a log axis.
    below = np.minimum(error, 0.9 * finite["sampled"])
    axes.errorbar(
        finite["steps"], finite["sampled"], yerr=[below, error], fmt="o", markersize=2.6, elinewidth=0.7, color=colour
    )


@styled
def partial_observers(ratios: pd.DataFrame) -> Figure:
    """Show posterior over prior variance of observed and unobserved agents, by the fraction of observed agents."""
    figure = Figure(figsize=(ONE_COLUMN, 2.5))
    axes = figure.add_subplot()
    for group, colour, mark in (("unobserved", RED, "s"), ("observed", BLUE, "o")):
        own = ratios[ratios["group"] == group].sort_values("fraction")
        axes.fill_between(100 * own["fraction"], own["low"], own["high"], color=colour, alpha=0.15, linewidth=0)
        axes.plot(100 * own["fraction"], own["ratio"], color=colour, marker=mark, markersize=3)
        middle = own.iloc[len(own) // 2]
        label(axes, f"{group} agents", (100 * middle["fraction"], middle["ratio"]), xytext=(2, 6), color=colour)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("observed agents, %")
    axes.set_ylabel("posterior / prior variance")
    return figure


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
    panel(left, "a", "privacy loss under full observation")
    panel(right, "b", "accuracy of the consensus")
    return figure


def _curves(axes: Axes, designs: pd.DataFrame, column: str) -> None:
    looks: Looks = {}
    for name, own in designs.groupby("design", sort=False):
        colour, title = _DESIGNS.get(str(name), (GREY, str(name)))
        # Log axes have no place for 0 or infinity.
        curve = own[np.isfinite(own[column]) & (own[column] > 0)].sort_values("steps")
        axes.loglog(curve["steps"], curve[column], color=colour)
        if len(curve):
            looks[title] = {"color": colour}
    axes.set_xlim(designs["steps"].min(), designs["steps"].max())
    plain_ticks(axes.yaxis)
    samples(axes, looks, loc="upper left" if column == "mu" else "lower left")
