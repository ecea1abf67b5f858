"""Figures of sweeps: the paper's boxes and densities, and one measure over the axes of any sweep."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize, to_rgb
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from peerpressure.errors import InvalidInputError, message
from peerpressure.plotting.style import (
    BLUE,
    INK,
    ONE_COLUMN,
    PALETTE,
    RED,
    TWO_COLUMNS,
    Looks,
    in_order,
    label,
    name_ticks,
    panel,
    plain_ticks,
    samples,
    smoothed,
    styled,
)

SIZES = (20, 50, 80)
_AXES = {"noise_variance": r"noise variance $\sigma_0^2$", "agents": "number of agents $|V|$"}
_OUTLIER: Mapping[str, Any] = {"marker": "o", "linestyle": "", "markersize": 3.2, "color": BLUE, "fillstyle": "none"}
# Columns that each sweep has; all others are its axes.
OWN_COLUMNS = ("replication", "measure", "detail", "replicate", "value")
# More panels side by side are too narrow for their tick labels.
MOST_PANELS = 3
MOST_NAMED = 12  # tick labels of a heat map


@styled
def boxes(levels: pd.DataFrame, cells: pd.DataFrame, edges: int) -> Figure:
    """Show box plots of ⟨σ²⟩ by noise variance and by graph size, with all outliers and the exact mean."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.7))
    left, right = figure.subplots(1, 2, sharey=True)
    # The table contains boxes rather than samples: quartiles and whiskers are drawn as given.
    for axes, by in ((left, "noise_variance"), (right, "agents")):
        own = levels[(levels["edges"] == edges) & (levels["by"] == by)].sort_values("level")
        _boxes(axes, own)
        outside = outliers(own, cells[cells["edges"] == edges])
        axes.plot(outside[by], outside["mean_residual_variance"], **_OUTLIER)
        axes.set_xlabel(_AXES[by])
    _from_zero((left, right))
    left.set_ylabel(r"mean residual variance $\langle\sigma^2\rangle$")
    looks: Looks = {"exact expectation": {"color": RED, "marker": "o", "markersize": 2.6}, "outlier": _OUTLIER}
    samples(left, looks, loc="lower right")
    panel(left, "a", f"by noise, {_family(edges)}")
    panel(right, "b", f"by size, {_family(edges)}")
    return figure


@styled
def replication_boxes(levels: pd.DataFrame) -> Figure:
    """Show box plots of σ² over single replications by noise variance and by graph size, for both graph families."""
    families = sorted(levels["edges"].unique(), reverse=True)
    figure = Figure(figsize=(TWO_COLUMNS, 2.35 * len(families)))
    rows = figure.subplots(len(families), 2, sharey=True, squeeze=False)
    letters = iter("abcd")
    for pair, edges in zip(rows, families, strict=True):
        for axes, by, word in zip(pair, ("noise_variance", "agents"), ("noise", "size"), strict=True):
            _boxes(axes, levels[(levels["edges"] == edges) & (levels["by"] == by)].sort_values("level"))
            axes.set_xlabel(_AXES[by])
            panel(axes, next(letters), f"by {word}, {_family(int(edges))}")
        pair[0].set_ylabel(r"residual variance $\sigma^2$")
    _from_zero(rows.flat)
    looks: Looks = {"exact expectation": {"color": RED, "marker": "o", "markersize": 2.6}, "median": {"color": INK}}
    samples(rows[0][0], looks, loc="upper left")
    return figure


def _boxes(axes: Axes, levels: pd.DataFrame) -> None:
    place = levels["level"].to_numpy(dtype=float)
    # In data units: levels of σ₀² are unevenly spaced, and the closest two determine the width.
    width = 0.62 * float(np.diff(place).min()) if place.size > 1 else 1.0
    stats = [_stats(row) for _, row in levels.iterrows()]
    line = {"color": BLUE, "linewidth": 0.8}
    axes.bxp(
        stats,
        positions=place,
        widths=width,
        showfliers=False,
        # Otherwise each box gets a tick of its own, and the ticks of the numeric axis are lost.
        manage_ticks=False,
        patch_artist=True,
        boxprops={"facecolor": (*_light(BLUE), 0.35), "edgecolor": BLUE, "linewidth": 0.8},
        medianprops={"color": INK, "linewidth": 1.1},
        whiskerprops=line,
        capprops=line,
    )
    axes.plot(place, levels["exact_mean"], color=RED, marker="o", markersize=2.6, linewidth=1.0, zorder=4)
    margin = 0.9 * width
    axes.set_xlim(place.min() - margin, place.max() + margin)


def _from_zero(panels: Iterable[Axes]) -> None:
    """Let axes that are shared begin at 0, as variances are compared as ratios, and reach above all that is drawn."""
    panels = list(panels)
    panels[0].set_ylim(0, 1.05 * max(float(axes.dataLim.ymax) for axes in panels))


def outliers(levels: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells outside the whiskers of their box; ``levels`` are boxes by one column."""
    ends = levels.set_index("level")[["low_whisker", "high_whisker"]].loc[cells[levels["by"].iloc[0]].astype(float)]
    value = cells["mean_residual_variance"].to_numpy()
    return cells[(value < ends["low_whisker"].to_numpy()) | (value > ends["high_whisker"].to_numpy())]


def _stats(row: pd.Series) -> dict[str, float]:
    names = {"whislo": "low_whisker", "q1": "first_quartile", "med": "median", "q3": "third_quartile"}
    return {key: row[name] for key, name in names.items()} | {"whishi": row["high_whisker"]}


def _light(colour: str) -> tuple[float, float, float]:
    r, g, b = (0.5 + 0.5 * part for part in to_rgb(colour))
    return r, g, b


@styled
def shapes(values: pd.DataFrame, edges: int) -> Figure:
    """Show the density of mean residuals for three graph sizes, one curve per noise variance."""
    figure = Figure(figsize=(TWO_COLUMNS, 2.3))
    own = values[values["edges"] == edges]
    scale = Normalize(own["noise_variance"].min(), own["noise_variance"].max())
    shades = in_order()
    # One range for all panels makes widths of densities comparable.
    reach = 1.1 * float(own["mean_residual"].abs().max())
    grid = np.linspace(-reach, reach, 161)
    panels = figure.subplots(1, len(SIZES), sharey=True)
    for axes, size, letter in zip(panels, SIZES, "abc", strict=True):
        for level, part in own[own["agents"] == size].groupby("noise_variance"):
            colour = shades(scale(level))
            density = smoothed(part["mean_residual"].to_numpy(), grid)
            axes.plot(grid, density, color=colour, linewidth=0.9)
            # The narrowest and the widest law are named, which does not need the colours.
            if size == SIZES[-1] and level in (scale.vmin, scale.vmax):
                k = int(np.argmin(np.abs(grid - 0.35 * reach)) if level == scale.vmax else density.argmax())
                side = {"xytext": (6, 6)} if level == scale.vmax else {"xytext": (5, -2)}
                label(axes, rf"$\sigma_0^2 = {level:g}$", (grid[k], density[k]), fontsize=7, color=colour, **side)
        axes.set_xlim(-reach, reach)
        axes.set_xlabel("mean residual")
        panel(axes, letter, f"$|V| = {size}$")
    panels[0].set_ylabel("density")
    panels[0].set_ylim(bottom=0)
    bar = figure.colorbar(ScalarMappable(scale, shades), ax=panels, pad=0.015, aspect=26)
    bar.set_label(_AXES["noise_variance"])
    bar.outline.set_visible(False)
    return figure


def _family(edges: int) -> str:
    return f"{edges} edge{'s' if edges > 1 else ''} per round"


# Partial functions: they keep the docstring in ``func``, and can be pickled, which a lambda cannot.
boxes_two, boxes_one = partial(boxes, edges=2), partial(boxes, edges=1)
shapes_two, shapes_one = partial(shapes, edges=2), partial(shapes, edges=1)


@final
@dataclass(frozen=True, eq=False)
class SweepPlot:
    """A figure, with its measure and axes."""

    figure: Figure
    measure: str
    x: str
    by: str | None


def sweep_plot(
    table: pd.DataFrame, kind: str = "lines", *, measure: str | None = None, x: str | None = None, by: str | None = None
) -> SweepPlot:
    """Draw one measure over one or two axes of a sweep.

    Parameters
    ----------
    table : pandas.DataFrame
        The table that ``peerpressure.sweep.collect`` returns.
    kind : {"lines", "boxes", "heat"}, default "lines"
        Means with their standard errors (as lines with bands, or as points with bars where values of x are words),
        quartiles, or a heat map of means over two axes. Standard errors are over replications; if there is one only,
        over its replicates, which share networks and hidden opinions.
    measure : str, optional
        The measure; by default the first in the table.
    x : str, optional
        The axis of the abscissa; by default the first.
    by : str, optional
        The axis with one line or box for each value, or the ordinate of a heat map; by default another axis, if there
        is one.

    Returns
    -------
    SweepPlot
        The figure, and the measure and axes that it shows.

    Raises
    ------
    InvalidInputError
        If the table has no such measure or axis, or no finite value of the measure.

    See Also
    --------
    save : Writes a figure as PDF and PNG.

    Examples
    --------
    >>> import pandas as pd
    >>> from peerpressure.plotting import sweep_plot
    >>> rows = {"noise.std": [0.1, 1.0], "replication": 0, "measure": "spread", "detail": "", "value": [0.2, 0.4]}
    >>> sweep_plot(pd.DataFrame(rows)).figure.axes[0].get_xlabel()
    'noise: std'
    """
    axes = [name for name in table.columns if name not in OWN_COLUMNS]
    chosen = _choice(measure, list(dict.fromkeys(table["measure"])), "a measure of this sweep")
    along = _choice(x, axes, "an axis of this sweep")
    others = [name for name in axes if name != along]
    across = _choice(by, others, "another axis of this sweep") if by or others else None
    if kind not in KINDS:
        raise InvalidInputError(message("a plot must be lines, boxes or heat", got=repr(kind), remedy="choose one"))
    if kind == "heat" and across is None:
        remedy = "draw lines or boxes, or sweep another field too"
        raise InvalidInputError(message("a heat map must have two axes", got="one", remedy=remedy))
    # Infinite times to consensus, among others, have no place on an axis.
    rows = table[(table["measure"] == chosen) & np.isfinite(table["value"].astype(float))]
    if rows.empty:
        rule, remedy = "a measure must have finite values to be drawn", "choose another measure"
        raise InvalidInputError(message(rule, got=f"none of {chosen}", remedy=remedy))
    return SweepPlot(_draw(rows, kind, chosen, along, across), chosen, along, across)


def _choice(wanted: str | None, there: Sequence[str], what: str) -> str:
    if not there:
        raise InvalidInputError(message(f"a plot needs {what}", got="a sweep without", remedy="sweep a field"))
    if wanted is not None and wanted not in there:
        raise InvalidInputError(message(f"it must be {what}", got=repr(wanted), remedy=f"there are {', '.join(there)}"))
    return wanted or there[0]


@styled
def _draw(rows: pd.DataFrame, kind: str, measure: str, x: str, by: str | None) -> Figure:
    # The details of a verdict are its outcomes, which share one panel.
    details = [""] if measure == "verdict" else list(dict.fromkeys(rows["detail"].fillna("")))[:MOST_PANELS]
    figure = Figure(figsize=(ONE_COLUMN if len(details) == 1 else TWO_COLUMNS, 2.7))
    # Heat maps have the second sweep axis as their y axis, with one colour scale per panel.
    panels = figure.subplots(1, len(details), squeeze=False, sharey=kind != "heat")[0]
    for axes, detail in zip(panels, details, strict=True):
        KINDS[kind](axes, rows if measure == "verdict" else rows[rows["detail"].fillna("") == detail], measure, x, by)
        axes.set_title(words(detail or (measure if kind == "heat" else "")), loc="left")
        axes.set_xlabel(words(x))
    band = f"\n{spread_over(rows)[1]}" if kind == "lines" else ""
    panels[0].set_ylabel(words(by or "") if kind == "heat" else f"{words(measure)}{band}".rstrip())
    return figure


def spread_over(rows: pd.DataFrame) -> tuple[str, str]:
    """Return the column whose values are independent at a point of a sweep, and what its band shows in words.

    >>> spread_over(pd.DataFrame({"replication": [0, 0], "replicate": [0, 1]}))
    ('replicate', '± standard error, 2 replicates')
    """
    # Replicates of one unit share their networks and hidden opinions, so only units are independent, if there are any.
    for name in ("replication", "replicate"):
        count = rows[name].nunique() if name in rows else 0
        if count > 1:
            return name, f"± standard error, {count} {name}s"
    return "replication", ""


def words(name: str) -> str:
    """Return the name of a field or measure in words.

    >>> words("pressure.slope"), words("time_to_consensus")
    ('pressure: slope', 'time to consensus')
    """
    return name.replace(".", ": ").replace("_", " ")


def lines(axes: Axes, rows: pd.DataFrame, measure: str, x: str, by: str | None) -> None:
    """Draw the mean at every value of x with its standard error, one line per value of the other axis.

    Words on the axis have no order: their means are points with error bars.
    """
    groups: list[tuple[Any, pd.DataFrame]] = [("", rows)] if by is None else list(rows.groupby(by, sort=False))
    places = _places(rows[x])
    colours, over = _colours(len(groups)), spread_over(rows)[0]
    # Side by side, or their bars would overlap.
    aside = np.linspace(-0.5, 0.5, len(groups) + 2)[1:-1]
    for (value, group), colour, shift in zip(groups, colours, aside, strict=True):
        unit = group.groupby([x, over], sort=False, dropna=False)["value"].mean().groupby(level=0, sort=False)
        # The standard error of a single unit is undefined; its band has width 0.
        mean, error = unit.mean(), unit.sem().fillna(0.0)
        at = [places[key] for key in mean.index]
        # Groups keep the order of the table, which need not increase along the axis.
        order = np.argsort(at)
        right, high, half = np.asarray(at)[order], mean.to_numpy()[order], error.to_numpy()[order]
        if _has_words(places):
            axes.errorbar(right + shift, high, half, fmt="o", color=colour, markersize=2.6, label=_short(value))
            continue
        axes.fill_between(right, high - half, high + half, color=colour, alpha=0.15, linewidth=0)
        axes.plot(right, high, color=colour, marker="o", markersize=2.6, label=_short(value))
    _tick(axes, places)
    _log_where_wide(axes, rows, places)
    _legend(axes, by)


def box_plots(axes: Axes, rows: pd.DataFrame, measure: str, x: str, by: str | None) -> None:
    """Draw quartiles at every value of x, side by side for the values of the other axis."""
    groups: list[tuple[Any, pd.DataFrame]] = [("", rows)] if by is None else list(rows.groupby(by, sort=False))
    # Distinct values in order; a set would lose the order.
    values = list(dict.fromkeys(_sorted(rows[x])))
    # 0.3 of the unit between positions separates the groups of boxes.
    width = 0.7 / len(groups)
    for i, ((value, group), colour) in enumerate(zip(groups, _colours(len(groups)), strict=True)):
        offset = (i - (len(groups) - 1) / 2) * width
        own = [group.loc[group[x] == v, "value"].to_numpy(dtype=float) for v in values]
        axes.boxplot(
            own,
            positions=[place + offset for place in range(len(values))],
            widths=0.8 * width,
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": "none", "edgecolor": colour, "linewidth": 0.9},
            medianprops={"color": INK, "linewidth": 1.1},
            whiskerprops={"color": colour, "linewidth": 0.8},
            capprops={"color": colour, "linewidth": 0.8},
            flierprops={"marker": "o", "markersize": 1.6, "markerfacecolor": colour, "markeredgewidth": 0},
        )
        if by is not None:
            # A box plot has no legend entry of its own.
            axes.plot([], [], color=colour, label=_short(value))
    name_ticks(axes.xaxis, range(len(values)), [_short(value) for value in values])
    if _is_wide(rows["value"]):
        axes.set_yscale("log")
        plain_ticks(axes.yaxis)
    _legend(axes, by)


def heat(axes: Axes, rows: pd.DataFrame, measure: str, x: str, by: str | None) -> None:
    """Draw the mean over two axes as colours."""
    means = rows.pivot_table(index=by, columns=x, values="value", aggfunc="mean", sort=False)
    # The pivot keeps the order of the rows; numbers are sorted, words are not.
    means = means.loc[list(dict.fromkeys(_sorted(means.index))), list(dict.fromkeys(_sorted(means.columns)))]
    # On a linear scale all but the largest values would have one colour.
    scale = LogNorm() if _is_wide(means.stack()) else None
    picture = axes.imshow(
        means.to_numpy(), aspect="auto", origin="lower", cmap=in_order(), interpolation="none", norm=scale
    )
    name_ticks(axes.xaxis, range(len(means.columns)), [_short(name) for name in means.columns])
    # Division rounded up leaves at most ``MOST_NAMED`` labels.
    step = max(1, -(-len(means.index) // MOST_NAMED))
    axes.yaxis.set_ticks(range(0, len(means.index), step), [_short(name) for name in means.index[::step]])
    bar = axes.figure.colorbar(picture, ax=axes, aspect=26, pad=0.02)
    if scale is not None:
        plain_ticks(bar.ax.yaxis)
    bar.outline.set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0)


KINDS: Mapping[str, Callable[[Axes, pd.DataFrame, str, str, str | None], None]] = {
    "lines": lines,
    "boxes": box_plots,
    "heat": heat,
}


def _colours(count: int) -> list[Any]:
    if count <= len(PALETTE):
        return list(PALETTE[:count])
    return [in_order()(share) for share in np.linspace(0, 1, count)]


def _legend(axes: Axes, by: str | None) -> None:
    if by is not None:
        # Many entries would cover the curves, and are put beside them.
        many = len(axes.get_legend_handles_labels()[0]) > len(PALETTE)
        place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if many else {}
        axes.legend(title=words(by), frameon=False, fontsize=7, title_fontsize=7, handlelength=1.4, **place)


def _sorted(values: Any) -> list[Any]:
    given = list(values)
    # Words have no natural order; that of the scenario is intended.
    return sorted(given) if all(isinstance(value, int | float) for value in given) else given


def _places(values: pd.Series) -> dict[Any, float]:
    """Return the position of each value of an axis: numbers at their value, words side by side."""
    distinct = list(dict.fromkeys(values))
    if all(isinstance(value, int | float | np.number) for value in distinct):
        return {value: float(value) for value in distinct}
    return {value: float(i) for i, value in enumerate(distinct)}


def _has_words(places: Mapping[Any, float]) -> bool:
    return any(isinstance(value, str) for value in places)


def _tick(axes: Axes, places: Mapping[Any, float]) -> None:
    if _has_words(places):
        name_ticks(axes.xaxis, list(places.values()), [_short(value) for value in places])


def _is_wide(values: ArrayLike) -> bool:
    """Return whether values are positive and span more than a factor of 20, which a linear scale cannot show."""
    finite = np.asarray(values, dtype=float)
    return bool(finite.min() > 0 and finite.max() > 20 * finite.min())


def _log_where_wide(axes: Axes, rows: pd.DataFrame, places: Mapping[Any, float]) -> None:
    """Use log axes for positive values that span more than a factor of 20."""
    at = np.array(list(places.values()))
    if not _has_words(places) and _is_wide(at):
        axes.set_xscale("log")
        plain_ticks(axes.xaxis)
    if _is_wide(rows["value"]):
        axes.set_yscale("log")
        plain_ticks(axes.yaxis)


def _short(value: Any, most: int = 24) -> str:
    """Return a short text for a value of an axis; a table, given as JSON, becomes its values.

    >>> _short(0.1234567), _short('{"kind": "power", "exponent": 0.5}')
    ('0.1235', 'power 0.5')
    >>> _short('{"kind": "stretched_exponential", "rate": 0.5}')
    'stretch…ential 0.5'
    """
    if isinstance(value, float):
        return f"{value:.4g}"
    text = str(value)
    if text.startswith(("{", "[")):
        inner = json.loads(text)
        parts = list(inner.values()) if isinstance(inner, dict) else inner
        # Words come before the numbers that qualify them.
        return " ".join(_short(part, 14) for part in sorted(parts, key=lambda part: not isinstance(part, str)))[:40]
    # Long texts are cut in the middle, because they often differ at their ends only.
    return text if len(text) <= most else f"{text[: most // 2]}…{text[1 - most // 2 :]}"
