"""One picture for each main result, drawn from arrays into the axes of the caller or into new ones.

Results draw themselves with these functions: ``run.plot()``, ``estimate.plot(ax=axes)``. They stand below all results,
which import them when they are first drawn; a picture depends on nothing but the arrays that it is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.plotting.graphs import LONGEST_NAME, MOST_NAMED, edge_lines, layout, name_agents, quick_layout
from peerpressure.plotting.style import BLUE, DOTTED, GREY, INK, RED, in_order, label, of_opinions

Array = NDArray[np.float64]

MOST_LINES = 300  # agents whose lines are drawn
MOST_BANDS = 12  # lines with a band each
MOST_TIMES = 2_000  # more are not visible
BESIDE = 0.3  # of the width of an agent, between the marks of two series
MOST_TICKS = 40  # agents whose names stand below the axis
LINE = 48  # letters of all names that fit side by side
LEAST_SIDE = 0.3  # of a drawing's shorter side to its longer one
MOST_PLACED = 200  # agents up to which every pair counts for their places
# Opinions that come this close, as a share of their largest spread, within this share of a run have an axis of time on
# which that can be seen.
NEAR, EARLY = 0.1, 0.1


def own_axes(ax: object) -> Axes:
    """Return the axes of the caller, or new ones of pyplot, which notebooks show."""
    if ax is None:
        from matplotlib import pyplot

        return pyplot.subplots(layout="constrained")[1]
    if not isinstance(ax, Axes):
        remedy = "for instance one of plt.subplots(), or leave it out for a new figure"
        raise InvalidInputError(message("ax must be axes of Matplotlib", got=type(ax).__name__, remedy=remedy))
    return ax


def paths(ax: Axes | None, times: NDArray[Any], values: Array, shades: Array | None, level: float | None) -> Axes:
    """Draw one line over time for each agent, coloured by ``shades``; ``values`` is (times, agents), ``level`` is v."""
    axes = own_axes(ax)
    rows = _spread(times.size, MOST_TIMES)
    agents = _spread(values.shape[1], MOST_LINES)
    shown = np.asarray(values)[np.ix_(rows, agents)]
    lines = np.stack([np.broadcast_to(times[rows], shown.T.shape), shown.T], axis=2)
    width = float(np.clip(6.0 / np.sqrt(agents.size), 0.5, 1.2))
    shaded = shades is not None and np.ptp(shades) > 0
    drawn = LineCollection(list(lines), linewidths=width, colors=None if shaded else BLUE, alpha=0.8)
    if shades is not None and shaded:
        drawn.set(array=shades[agents], cmap=of_opinions())
    axes.add_collection(drawn)
    axes.autoscale_view()
    _finish_over_time(axes, times, level, np.ptp(shown, axis=1), times[rows])
    if agents.size < values.shape[1]:
        axes.set_title(f"{agents.size:,} of {values.shape[1]:,} agents", loc="left")
    return axes


def bands(ax: Axes | None, times: NDArray[Any], middle: Array, low: Array, high: Array, names: Sequence[str]) -> Axes:
    """Draw lines over time, each with a band if they are few; the arrays are (times, lines), and names label a few."""
    axes = own_axes(ax)
    rows, chosen = _spread(times.size, MOST_TIMES), _spread(middle.shape[1], MOST_LINES)
    begin = middle[0]
    alike = not np.ptp(begin) > 0
    # In the colours of opinions where they begin apart, as runs are drawn.
    colours = in_order()(np.linspace(0, 1, max(chosen.size, 2))) if alike else _shades(begin)[chosen]
    for colour, k in zip(colours, chosen, strict=False):
        name = names[k] if len(names) <= MOST_BANDS else None
        axes.plot(times[rows], middle[rows, k], color=colour, linewidth=1.0, label=name)
        if middle.shape[1] <= MOST_BANDS:
            axes.fill_between(times[rows], low[rows, k], high[rows, k], color=colour, alpha=0.13, linewidth=0)
    _finish_over_time(axes, times, None, np.ptp(middle[np.ix_(rows, chosen)], axis=1), times[rows])
    if 1 < len(names) <= MOST_BANDS:
        axes.legend(frameon=False, fontsize="small")
    return axes


def _shades(opinions: Array) -> Array:
    """Return the colours of opinions, of which the lowest and the highest have those at the ends."""
    low, high = np.nanmin(opinions), np.nanmax(opinions)
    shades: Array = of_opinions()((opinions - low) / (high - low))
    return shades


def extremes(ax: Axes | None, times: NDArray[Any], low: Array, high: Array, mean: Array, level: float | None) -> Axes:
    """Draw the mean opinion over time within a band from the lowest to the highest agent."""
    axes = own_axes(ax)
    rows = _spread(times.size, MOST_TIMES)
    axes.fill_between(
        times[rows], low[rows], high[rows], color=BLUE, alpha=0.18, linewidth=0, label="lowest to highest"
    )
    axes.plot(times[rows], mean[rows], color=BLUE, linewidth=1.1, label="mean")
    _finish_over_time(axes, times, level, (high - low)[rows], times[rows])
    axes.legend(frameon=False, fontsize="small")
    return axes


def _finish_over_time(
    axes: Axes,
    times: NDArray[Any],
    level: float | None,
    spread: Array | None = None,
    at: NDArray[Any] | None = None,
) -> None:
    """Finish an axis of time, which is logarithmic if the ``spread`` at some times falls early."""
    if level is not None:
        axes.axhline(level, color=INK, linewidth=0.8, linestyle=DOTTED, zorder=3)
        axes.annotate(
            "$v$",
            (1.0, level),
            xycoords=("axes fraction", "data"),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
        )
    if spread is not None and at is not None and _falls_early(spread, at):
        # Logarithmic from the first step on: time 0 keeps its place.
        axes.set_xscale("symlog", linthresh=float(at[at > 0][0]), linscale=0.4)
    if times[-1] > times[0]:
        axes.set_xlim(times[0], times[-1])
    axes.set_xlabel("time $t$")
    axes.set_ylabel("public opinion")


def _falls_early(spread: Array, times: NDArray[Any]) -> bool:
    """Return whether opinions come close within the first part of a run, and stay so."""
    far = np.flatnonzero(~(spread <= NEAR * np.nanmax(spread))) if np.any(spread > 0) else np.array([times.size])
    return bool(0 < far.size < times.size and far[-1] + 1 < times.size and times[far[-1] + 1] <= EARLY * times[-1])


def by_agent(
    ax: Axes | None,
    names: Sequence[str],
    series: Mapping[str, tuple[Array, Array | None, Array | None]],
    what: str,
    level: float | None = None,
    *,
    least: float = 0.0,
    from_zero: bool = False,
) -> Axes:
    """Draw values of agents in the order of the first series; each has values and the ends of bars, or None for these.

    The first series has dots with bars, the others crosses beside them. Values that are not finite are left out, and
    an agent without a value in the first series is ordered by the next one. The axis of values is at least as long as
    ``least``, and begins at 0 if ``from_zero``: small differences must look small.
    """
    axes = own_axes(ax)
    keys = np.full(len(names), np.inf)
    for values, _, _ in reversed([*series.values()]):
        keys = np.where(np.isfinite(values), values, keys)
    order = np.argsort(keys, kind="stable")
    places = np.arange(order.size)
    few = order.size <= 4 * MOST_TICKS
    for k, (name, (values, low, high)) in enumerate(series.items()):
        y, colour = values[order], (BLUE, RED, GREY)[k % 3]
        x = places + BESIDE * (k - (len(series) - 1) / 2)
        if low is not None and high is not None:
            seen = np.isfinite(low[order]) & np.isfinite(high[order])
            axes.vlines(x[seen], low[order][seen], high[order][seen], color=colour, alpha=0.45, linewidth=1.0)
        mark: dict[str, Any] = {"marker": "x", "s": 22} if k else {"marker": "o", "s": 16 if few else 4}
        seen = np.isfinite(y)
        axes.scatter(x[seen], y[seen], color=colour, linewidths=1.0 if k else 0, label=name, zorder=3, **mark)
    if level is not None:
        axes.axhline(level, color=INK, linewidth=0.8, linestyle=DOTTED, zorder=1, label="$v$")
    _name_agents(axes, [names[i] for i in order])
    bottom, top = axes.get_ylim()
    if from_zero:
        # Above the highest dot, which the edge would cut.
        axes.set_ylim(0, 1.08 * max(top, axes.dataLim.y1) if top > 0 else 1)
    elif top - bottom < least:
        axes.set_ylim((bottom + top - 1.1 * least) / 2, (bottom + top + 1.1 * least) / 2)
    axes.set_xlabel("agent, in order of value")
    axes.set_ylabel(what)
    if len(series) > 1 or level is not None:
        # Values increase to the right, which leaves this corner free.
        axes.legend(frameon=False, fontsize="small", loc="upper left")
    return axes


def against(ax: Axes | None, names: Sequence[str], truth: Array, values: Array, low: Array, high: Array) -> Axes:
    """Draw estimates of agents with their intervals against the truth, and the line on which they are right."""
    axes = own_axes(ax)
    seen = np.isfinite(values) & np.isfinite(truth)
    bars = seen & np.isfinite(low) & np.isfinite(high)
    axes.vlines(truth[bars], low[bars], high[bars], color=BLUE, alpha=0.35, linewidth=1.0)
    size = 16 if values.size <= 4 * MOST_TICKS else 4
    axes.scatter(truth[seen], values[seen], color=BLUE, s=size, linewidths=0, zorder=3)
    if seen.any():
        ends = [float(truth[seen].min()), float(truth[seen].max())]
        axes.plot(ends, ends, color=INK, linewidth=0.8, linestyle=DOTTED, zorder=1, label="as it is")
        axes.legend(frameon=False, fontsize="small", loc="upper left")
    if len(names) <= MOST_NAMED:
        for name, x, y in zip(names, truth, np.where(bars, high, values), strict=True):
            if np.isfinite(x) and np.isfinite(y):
                label(axes, name[:LONGEST_NAME], (float(x), float(y)), xytext=(0, 3), ha="center", fontsize="x-small")
    axes.set_xlabel("hidden opinion")
    axes.set_ylabel("estimate")
    return axes


def in_place(ax: Axes | None, names: Sequence[str], values: Array, low: Array, high: Array) -> Axes:
    """Draw estimates of agents with their intervals in the order of the agents, where the truth is not known."""
    axes = own_axes(ax)
    places = np.arange(values.size)
    seen = np.isfinite(low) & np.isfinite(high)
    axes.vlines(places[seen], low[seen], high[seen], color=BLUE, alpha=0.45, linewidth=1.0)
    axes.scatter(places, values, color=BLUE, s=16 if values.size <= 4 * MOST_TICKS else 4, linewidths=0, zorder=3)
    _name_agents(axes, names)
    axes.set_xlabel("agent")
    axes.set_ylabel("hidden opinion")
    return axes


def _name_agents(axes: Axes, names: Sequence[str]) -> None:
    """Write the names of a few agents below the axis, upright where they would overlap."""
    axes.set_xlim(-0.7, len(names) - 0.3)
    if len(names) > MOST_TICKS:
        return
    shown = [name[:LONGEST_NAME] for name in names]
    crowded = sum(len(name) + 1 for name in shown) > LINE
    axes.set_xticks(range(len(shown)), shown, rotation=90 if crowded else 0, fontsize="small")


def counts(ax: Axes | None, times: NDArray[Any], values: NDArray[Any], what: str) -> Axes:
    """Draw a number that changes at whole steps."""
    axes = own_axes(ax)
    axes.step(times, values, where="mid", color=BLUE, linewidth=1.0)
    axes.set_ylim(0, 1.08 * max(float(values.max()), 1.0))
    axes.set_xlabel("time $t$")
    axes.set_ylabel(what)
    return axes


def node_link(
    ax: Axes | None,
    names: Sequence[str],
    ends: NDArray[np.int64],
    degrees: Array,
    *,
    one_way: NDArray[np.bool_],
    negative: NDArray[np.bool_],
    values: Array | None = None,
) -> Axes:
    """Draw agents as dots, sized by degree and coloured by ``values``, and edges as lines, dashed if negative."""
    axes = own_axes(ax)
    n = len(names)
    places = layout(n, ends) if n <= MOST_PLACED else quick_layout(n, ends)
    areas = np.clip(degrees / (degrees.mean() or 1.0), 0.5, 8.0) * min(40.0, 4.0 + 2_000 / n)
    # Points per unit of the layout, as the axes are now; they keep their shape, whatever the size of the window.
    extent = axes.get_window_extent()
    width, height = np.maximum(np.ptp(places, axis=0), 1e-9)
    points = 72 / axes.figure.dpi * min(extent.width / (1.2 * width), extent.height / (1.2 * height))
    lightness = min(1.0, (300 / max(len(ends), 1)) ** 0.5)
    for lines in edge_lines(places, ends, np.sqrt(areas) / 2 / points, points, 0.7, one_way, negative):
        lines.set(alpha=0.1 + 0.7 * lightness if lines.get_alpha() is None else lines.get_alpha())
        axes.add_collection(lines)
    shades: dict[str, Any] = {"color": BLUE} if values is None else {"c": values, "cmap": of_opinions()}
    dots = axes.scatter(places[:, 0], places[:, 1], s=areas, edgecolors="white", linewidths=0.5, zorder=2, **shades)
    axes.set_aspect("equal")
    axes.axis("off")
    # A path lies on a line, which must not become a strip without room for dots and names.
    half = 0.6 * np.maximum(np.ptp(places, axis=0), LEAST_SIDE * max(width, height))
    middle = (places.max(axis=0) + places.min(axis=0)) / 2
    axes.set(xlim=middle[0] + half[0] * np.array([-1, 1]), ylim=middle[1] + half[1] * np.array([-1, 1]))
    if n <= MOST_NAMED:
        name_agents(axes, places, ends, [name[:LONGEST_NAME] for name in names])
    if values is not None:
        axes.figure.colorbar(dots, ax=axes, shrink=0.7)
    return axes


def _spread(count: int, most: int) -> NDArray[np.int64]:
    """Return at most so many positions, evenly spaced, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))
