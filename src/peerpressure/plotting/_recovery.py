"""Figures of recovery and privacy: estimates, residuals, observers, budgets, and the fit of a model to outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from scipy import special

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
    in_order,
    label,
    name_ends,
    normal_density,
    panel,
    plain_ticks,
    samples,
    smoothed,
    styled,
)

if TYPE_CHECKING:
    from peerpressure.recovery import FitDiagnostics

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
    # Slightly more than three standard deviations of one estimate, to include all runs.
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
    # The covariance is symmetric in the agents, so the diagonals are its axes.
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
    # The ellipses are far longer than they are wide, which their picture must not hide.
    stretched = np.ptp(axes.get_xlim()) / np.ptp(axes.get_ylim())
    axes.set_ylabel(rf"error of the sum, $(\hat{{x}}_0^1 + \hat{{x}}_0^2)/\sqrt{{2}}$, drawn {stretched:.0f}×")


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
    mixture = normal_density(grid, 0.0, agents["exact_std"].to_numpy()[:, None]).mean(axis=0)
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
    axes.plot(grid, normal_density(grid, fit["mean"], fit["std"]), color=BLUE)
    # Mean 0: the regression is unbiased.
    axes.plot(grid, normal_density(grid, 0.0, fit["exact_std"]), color=RED, linestyle=(0, (4, 2)))
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


@styled
def observation_error(errors: pd.DataFrame) -> Figure:
    """Show the best variance of two agents against the observed steps, for several errors of the observation."""
    figure = Figure(figsize=(ONE_COLUMN, 2.5))
    axes = figure.add_subplot()
    levels = np.sort(errors["error"].unique())
    shades = in_order()(np.linspace(0.0, 1.0, levels.size))
    last = float(errors["steps"].max())
    ends = {}
    for level, shade in zip(levels, shades, strict=True):
        own = errors[errors["error"] == level].sort_values("steps")
        axes.loglog(own["steps"], own["variance"], color=shade)
        floor = float(own["floor"].iloc[0])
        # The floor is that of small errors.
        if 0 < level < 1:
            axes.axhline(floor, color=shade, linewidth=0.8, linestyle=DOTTED, zorder=1)
        ends[rf"$\tau = {level:g}$" if level else r"$\tau = 0$"] = (float(own["variance"].iloc[-1]), shade)
    axes.set_xlim(float(errors["steps"].min()), last)
    axes.set_xlabel("steps observed $T$")
    axes.set_ylabel(r"best variance of one opinion, in $\sigma_0^2$")
    name_ends(axes, last, ends)
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


# Figure of how well a model fits observed outputs: residuals over time, by agent, by lag and against the law.

MOST_DOTS = 4_000  # residuals drawn one by one
MOST_NAMES = 4  # agents that are named
_DOUBTFUL_P = 0.01
_TWO_SIDED = float(special.ndtri(0.975))


@styled
def fit_diagnostics(diagnostics: FitDiagnostics, replicate: int = 0) -> Figure:
    """Show the residuals of one replicate over time, by agent, by lag and against the normal distribution.

    Parameters
    ----------
    diagnostics : FitDiagnostics
        The diagnostics of a run, from ``diagnose_fit`` or an estimate.
    replicate : int, default 0
        The replicate that is shown.

    Returns
    -------
    matplotlib.figure.Figure
        Four panels; grey bands have 95 % of the points under the model.

    See Also
    --------
    peerpressure.recovery.diagnose_fit : Returns diagnostics.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, simulate
    >>> from peerpressure.networks import k2
    >>> from peerpressure.plotting import fit_diagnostics
    >>> from peerpressure.recovery import diagnose_fit
    >>> model = Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(1.0))
    >>> len(fit_diagnostics(diagnose_fit(simulate(model, 40, seed=1), model)).axes)
    4
    """
    residuals, agents, lags = (
        table[table["replicate"] == replicate]
        for table in (diagnostics.to_dataframe(), diagnostics.agents, diagnostics.lags)
    )
    if residuals.empty:
        return _nothing()
    figure = Figure(figsize=(TWO_COLUMNS, 4.9))
    (over_time, by_agent), (by_lag, by_law) = figure.subplots(2, 2)
    _residuals_over_time(over_time, residuals)
    _by_agent(by_agent, agents)
    _by_lag(by_lag, lags, len(residuals))
    _by_law(by_law, np.sort(residuals["residual"].to_numpy()))
    for axes, letter, title in zip(
        (over_time, by_agent, by_lag, by_law), "abcd", ("over time", "by agent", "by lag", "by law"), strict=True
    ):
        panel(axes, letter, f"residuals {title}")
    return figure


def _nothing() -> Figure:
    figure = Figure(figsize=(TWO_COLUMNS, 1.2))
    axes = figure.subplots()
    axes.set_axis_off()
    axes.text(0.5, 0.5, "nothing can be tested", transform=axes.transAxes, ha="center", color=GREY)
    return figure


def _residuals_over_time(axes: Axes, residuals: pd.DataFrame) -> None:
    # Every m-th in the order of time and agents, which keeps all times.
    shown = residuals.iloc[:: max(1, len(residuals) // MOST_DOTS)]
    axes.axhspan(-_TWO_SIDED, _TWO_SIDED, color=GREY, alpha=0.15, linewidth=0)
    axes.scatter(shown["time"], shown["residual"], s=3, color=BLUE, alpha=0.5, linewidths=0)
    by_time = residuals.assign(square=residuals["residual"] ** 2).groupby("time")["square"].mean()
    axes.plot(by_time.index, np.sqrt(by_time), color=RED, linewidth=1.0)
    last = (float(by_time.index[-1]), float(np.sqrt(by_time.iloc[-1])))
    label(axes, "size", last, xytext=(3, 0), va="center", color=RED, annotation_clip=False)
    axes.axhline(0, color=INK, linewidth=0.5, linestyle=DOTTED)
    axes.set_xlabel("time $t$")
    axes.set_ylabel("standardised residual $\\zeta_t$")


def _by_agent(axes: Axes, agents: pd.DataFrame) -> None:
    place = np.arange(len(agents))
    size, count = agents["size"].to_numpy(), agents["count"].to_numpy()
    # The sum of squares of an agent is χ² with as many degrees of freedom as it has residuals.
    low, high = (np.sqrt(special.chdtri(count, share) / count) for share in (0.975, 0.025))
    axes.fill_between(place, low, high, color=GREY, alpha=0.15, linewidth=0, step="mid")
    odd = agents["p_value"].to_numpy() < _DOUBTFUL_P
    axes.scatter(place[~odd], size[~odd], s=9, color=BLUE, linewidths=0)
    axes.scatter(place[odd], size[odd], s=12, color=RED, linewidths=0)
    # The most extreme ones only: names of many would cover one another.
    for i in sorted(place[odd], key=lambda i: agents["p_value"].iloc[i])[:MOST_NAMES]:
        label(axes, str(agents["agent"].iloc[i]), (float(i), float(size[i])), xytext=(4, 2), color=RED)
    axes.axhline(1, color=INK, linewidth=0.5, linestyle=DOTTED)
    axes.margins(y=0.15)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("tested agents, in the order of the network")
    axes.set_ylabel("root mean square of $\\zeta_t$")


def _by_lag(axes: Axes, lags: pd.DataFrame, count: int) -> None:
    reach = _TWO_SIDED / np.sqrt(count)
    axes.axhspan(-reach, reach, color=GREY, alpha=0.15, linewidth=0)
    colours = [RED if p < _DOUBTFUL_P else BLUE for p in lags["p_value"]]
    axes.vlines(lags["lag"], 0, lags["autocorrelation"], color=colours, linewidth=2.5)
    axes.axhline(0, color=INK, linewidth=0.5)
    axes.margins(x=0.15, y=0.25)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("lag, in observed steps")
    axes.set_ylabel("autocorrelation of $\\zeta_t$")


def _by_law(axes: Axes, ordered: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    count = ordered.size
    rank = np.arange(1, count + 1)
    expected = special.ndtri((rank - 0.5) / count)
    # The k-th smallest of n uniform numbers has a beta law.
    low, high = (special.ndtri(special.betaincinv(rank, count + 1 - rank, share)) for share in (0.025, 0.975))
    axes.fill_between(expected, low, high, color=GREY, alpha=0.15, linewidth=0)
    axes.plot(expected, expected, color=INK, linewidth=0.5, linestyle=DOTTED)
    # Ends of the sample are kept, where tails differ.
    step = max(1, count // MOST_DOTS)
    kept = (rank % step == 0) | (rank <= 50) | (rank > count - 50)
    axes.scatter(expected[kept], ordered[kept], s=3, color=TEAL, linewidths=0)
    axes.set_xlabel("normal quantile")
    axes.set_ylabel("ordered residual")
