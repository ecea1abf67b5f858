"""Figure of how well a model fits observed outputs: residuals over time, by agent, by lag and against the law."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from scipy import special

from peerpressure.plotting.style import BLUE, DOTTED, GREY, INK, RED, TEAL, TWO_COLUMNS, label, panel, styled
from peerpressure.recovery import FitDiagnostics

MOST_DOTS = 4_000  # residuals drawn one by one
MOST_NAMES = 4  # agents that are named
_SMALL = 0.01
_TWO_SIDED = float(special.ndtri(0.975))


@styled
def fit_diagnostics(found: FitDiagnostics, replicate: int = 0) -> Figure:
    """Show the residuals of one replicate over time, by agent, by lag and against the normal law.

    Parameters
    ----------
    found : FitDiagnostics
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
    >>> len(fit_diagnostics(diagnose_fit(model, simulate(model, 40, seed=1))).axes)
    4
    """
    residuals, agents, lags = (
        table[table["replicate"] == replicate] for table in (found.to_dataframe(), found.agents, found.lags)
    )
    if residuals.empty:
        return _nothing()
    figure = Figure(figsize=(TWO_COLUMNS, 4.9))
    (over_time, by_agent), (by_lag, by_law) = figure.subplots(2, 2)
    _over_time(over_time, residuals)
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


def _over_time(axes: Axes, residuals: pd.DataFrame) -> None:
    # Every m-th in the order of time and agents, so that all times are still there.
    shown = residuals.iloc[:: max(1, len(residuals) // MOST_DOTS)]
    axes.axhspan(-_TWO_SIDED, _TWO_SIDED, color=GREY, alpha=0.15, linewidth=0)
    axes.scatter(shown["time"], shown["residual"], s=3, color=BLUE, alpha=0.5, linewidths=0)
    by_time = residuals.assign(square=residuals["residual"] ** 2).groupby("time")["square"].mean()
    axes.plot(by_time.index, np.sqrt(by_time), color=RED, linewidth=1.0)
    last = (float(by_time.index[-1]), float(np.sqrt(by_time.iloc[-1])))
    label(axes, "size", last, xytext=(3, 0), va="center", color=RED, annotation_clip=False)
    axes.axhline(0, color=INK, linewidth=0.5, linestyle=DOTTED)
    axes.set_xlabel("time $t$")
    axes.set_ylabel("standardised residual $w_t$")


def _by_agent(axes: Axes, agents: pd.DataFrame) -> None:
    place = np.arange(len(agents))
    size, count = agents["size"].to_numpy(), agents["count"].to_numpy()
    # The sum of squares of an agent is χ² with as many degrees of freedom as it has residuals.
    low, high = (np.sqrt(special.chdtri(count, share) / count) for share in (0.975, 0.025))
    axes.fill_between(place, low, high, color=GREY, alpha=0.15, linewidth=0, step="mid")
    odd = agents["p_value"].to_numpy() < _SMALL
    axes.scatter(place[~odd], size[~odd], s=9, color=BLUE, linewidths=0)
    axes.scatter(place[odd], size[odd], s=12, color=RED, linewidths=0)
    # The most extreme ones only: names of many would cover one another.
    for i in sorted(place[odd], key=lambda i: agents["p_value"].iloc[i])[:MOST_NAMES]:
        label(axes, str(agents["agent"].iloc[i]), (float(i), float(size[i])), xytext=(4, 2), color=RED)
    axes.axhline(1, color=INK, linewidth=0.5, linestyle=DOTTED)
    axes.margins(y=0.15)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("tested agents, in the order of the network")
    axes.set_ylabel("root mean square of $w_t$")


def _by_lag(axes: Axes, lags: pd.DataFrame, count: int) -> None:
    reach = _TWO_SIDED / np.sqrt(count)
    axes.axhspan(-reach, reach, color=GREY, alpha=0.15, linewidth=0)
    colours = [RED if p < _SMALL else BLUE for p in lags["p_value"]]
    axes.vlines(lags["lag"], 0, lags["autocorrelation"], color=colours, linewidth=2.5)
    axes.axhline(0, color=INK, linewidth=0.5)
    axes.margins(x=0.15, y=0.25)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("lag, in observed steps")
    axes.set_ylabel("autocorrelation of $w_t$")


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
