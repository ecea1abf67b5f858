"""A measure over the axes of a sweep: lines, boxes or a heat map, from the table that a sweep collects."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from peerpressure.errors import InvalidInputError, message
from peerpressure.plotting.style import INK, ONE_COLUMN, OPINIONS, PALETTE, TWO_COLUMNS, plain_ticks, styled, visible

OWN_COLUMNS = ("replication", "measure", "detail", "replicate", "value")
MOST_PANELS = 3
MOST_NAMED = 12  # ticks that a heat map writes out


@final
@dataclass(frozen=True, eq=False)
class SweepPlot:
    """A figure, and what it shows of which axes."""

    figure: Figure
    measure: str
    x: str
    by: str | None


def sweep_plot(
    table: pd.DataFrame, kind: str = "lines", *, measure: str | None = None, x: str | None = None, by: str | None = None
) -> SweepPlot:
    """Draw one measure over one axis or two; whatever is left out is the first that there is."""
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
    # A verdict's details are its outcomes, which belong into one picture.
    details = [""] if measure == "verdict" else list(dict.fromkeys(rows["detail"].fillna("")))[:MOST_PANELS]
    figure = Figure(figsize=(ONE_COLUMN if len(details) == 1 else TWO_COLUMNS, 2.7))
    panels = figure.subplots(1, len(details), squeeze=False, sharey=kind != "heat")[0]
    for axes, detail in zip(panels, details, strict=True):
        KINDS[kind](axes, rows if measure == "verdict" else rows[rows["detail"].fillna("") == detail], measure, x, by)
        axes.set_title(words(detail or (measure if kind == "heat" else "")), loc="left")
        axes.set_xlabel(words(x))
    panels[0].set_ylabel(words(by or "") if kind == "heat" else words(measure))
    return figure


def words(name: str) -> str:
    """Return the name of a field or measure as people say it.

    >>> words("pressure.slope"), words("time_to_consensus")
    ('pressure: slope', 'time to consensus')
    """
    return name.replace(".", ": ").replace("_", " ")


def lines(axes: Axes, rows: pd.DataFrame, measure: str, x: str, by: str | None) -> None:
    """Draw the mean at every value of x with its standard error, one line for each value of the other axis."""
    groups: list[tuple[Any, pd.DataFrame]] = [("", rows)] if by is None else list(rows.groupby(by, sort=False))
    places = _places(rows[x])
    colours = _colours(len(groups))
    for (value, group), colour in zip(groups, colours, strict=True):
        # Replicates of one unit share their graph, so that units, not replicates, are what is independent.
        unit = group.groupby([x, "replication"], sort=False)["value"].mean().groupby(level=0, sort=False)
        mean, error = unit.mean(), unit.sem().fillna(0.0)
        at = [places[key] for key in mean.index]
        order = np.argsort(at)
        right, high, half = np.asarray(at)[order], mean.to_numpy()[order], error.to_numpy()[order]
        axes.fill_between(right, high - half, high + half, color=colour, alpha=0.15, linewidth=0)
        axes.plot(right, high, color=colour, marker="o", markersize=2.6, label=_short(value))
    _tick(axes, places)
    _log_where_wide(axes, rows, places)
    _legend(axes, by)


def boxes(axes: Axes, rows: pd.DataFrame, measure: str, x: str, by: str | None) -> None:
    """Draw quartiles at every value of x, side by side for the values of the other axis."""
    groups: list[tuple[Any, pd.DataFrame]] = [("", rows)] if by is None else list(rows.groupby(by, sort=False))
    values = list(dict.fromkeys(_sorted(rows[x])))
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
            axes.plot([], [], color=colour, label=_short(value))
    axes.set_xticks(range(len(values)), [_short(value) for value in values])
    _legend(axes, by)


def heat(axes: Axes, rows: pd.DataFrame, measure: str, x: str, by: str | None) -> None:
    """Draw the mean over two axes as colours."""
    means = rows.pivot_table(index=by, columns=x, values="value", aggfunc="mean", sort=False)
    means = means.loc[list(dict.fromkeys(_sorted(means.index))), list(dict.fromkeys(_sorted(means.columns)))]
    picture = axes.imshow(means.to_numpy(), aspect="auto", origin="lower", cmap=visible(OPINIONS), interpolation="none")
    for axis, names in ((axes.xaxis, means.columns), (axes.yaxis, means.index)):
        step = max(1, -(-len(names) // MOST_NAMED))
        axis.set_ticks(range(0, len(names), step), [_short(name) for name in names[::step]])
    bar = axes.figure.colorbar(picture, ax=axes, aspect=26, pad=0.02)
    bar.outline.set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0)


KINDS: Mapping[str, Callable[[Axes, pd.DataFrame, str, str, str | None], None]] = {
    "lines": lines,
    "boxes": boxes,
    "heat": heat,
}


def _colours(count: int) -> list[Any]:
    if count <= len(PALETTE):
        return list(PALETTE[:count])
    return [visible(OPINIONS)(share) for share in np.linspace(0, 1, count)]


def _legend(axes: Axes, by: str | None) -> None:
    if by is not None:
        axes.legend(title=words(by), frameon=False, fontsize=7, title_fontsize=7, handlelength=1.4)


def _sorted(values: Any) -> list[Any]:
    given = list(values)
    return sorted(given) if all(isinstance(value, int | float) for value in given) else given


def _places(values: pd.Series) -> dict[Any, float]:
    """Return where each value of an axis goes: numbers at themselves, words side by side."""
    distinct = list(dict.fromkeys(values))
    if all(isinstance(value, int | float | np.number) for value in distinct):
        return {value: float(value) for value in distinct}
    return {value: float(i) for i, value in enumerate(distinct)}


def _tick(axes: Axes, places: Mapping[Any, float]) -> None:
    if any(isinstance(value, str) for value in places):
        axes.set_xticks(list(places.values()), [_short(value) for value in places])


def _log_where_wide(axes: Axes, rows: pd.DataFrame, places: Mapping[Any, float]) -> None:
    """Put on a log axis what is positive and spans more than a factor of 20."""
    at, values = np.array(list(places.values())), rows["value"].to_numpy(dtype=float)
    words_on_axis = any(isinstance(value, str) for value in places)
    if not words_on_axis and at.min() > 0 and at.max() > 20 * at.min():
        axes.set_xscale("log")
        plain_ticks(axes.xaxis)
    if values.min() > 0 and values.max() > 20 * values.min():
        axes.set_yscale("log")
        plain_ticks(axes.yaxis)


def _short(value: Any) -> str:
    """Return a value of an axis in few letters; of a table, which comes as JSON, its own values.

    >>> _short(0.1234567), _short('{"kind": "power", "exponent": 0.5}')
    ('0.1235', 'power 0.5')
    """
    if isinstance(value, float):
        return f"{value:.4g}"
    text = str(value)
    if text.startswith(("{", "[")):
        inner = json.loads(text)
        parts = list(inner.values()) if isinstance(inner, dict) else inner
        # Words come before the numbers that qualify them, as people say them.
        text = " ".join(map(_short, sorted(parts, key=lambda part: not isinstance(part, str))))
    return text[:24]
