"""Figures on the network: agents and edges, true and inferred, exposure, and the trade-off of privacy and accuracy."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from peerpressure.plotting.graphs import LONGEST_NAME, MOST_NAMED, Places, edge_lines, layout, name_agents
from peerpressure.plotting.style import (
    BLUE,
    DOTTED,
    GREY,
    INK,
    ONE_COLUMN,
    PALETTE,
    RED,
    TWO_COLUMNS,
    apart,
    in_order,
    label,
    of_opinions,
    panel,
    plain_ticks,
    styled,
)

Look: TypeAlias = tuple[str, str]  # colour and line
# Tried from the nearest outwards.
NAME_AT = (18, 24, 30, 38, 48, 60)  # distances in points from agent 1 to its name
ROOM = 9.5  # free points around the name
LEAST_SIDE = 0.25  # of a picture's height to its width, where all agents lie on a line
RASTER = 3_000  # dots and lines from which a vector picture contains them as an image
# Least distance of names at the ends of curves, as a share of the axis.
_GAP = 0.062
# Colours of designs in their order; further ones have the same colours and broken lines.
_DESIGN_COLOURS = (*PALETTE, GREY)
# Curves that exceed the others by more than this factor are cut off.
_REACH = 30.0


@styled
def graph(agents: pd.DataFrame, edges: pd.DataFrame) -> Figure:
    """Draw the first network of the experiment, with dots sized by degree and coloured by hidden opinion."""
    network = str(edges["network"].iloc[0])
    own = edges[edges["network"] == network]
    ends = own[["source", "target"]].to_numpy() - 1
    places = layout(len(agents), ends)
    width, height = np.ptp(places, axis=0)
    # The layout's own proportions, within limits; 0.55 inches are for the colour bar.
    figure = Figure(figsize=(ONE_COLUMN, 0.55 + ONE_COLUMN * min(max(height / width, 0.3), 1.2)))
    axes = figure.add_subplot()
    axes.add_collection(LineCollection(list(places[ends]), colors=GREY, linewidths=0.5, zorder=1))
    dots = axes.scatter(
        places[:, 0],
        places[:, 1],
        s=9.0 * agents[f"degree_{network}"],
        c=agents["hidden"],
        cmap=of_opinions(),
        vmin=0.0,
        vmax=1.0,
        edgecolors="white",
        linewidths=0.4,
        zorder=2,
    )
    axes.set_aspect("equal")
    axes.axis("off")
    axes.margins(0.03)
    # Points per unit of the layout: 72 per inch, and the layout is as wide as the column.
    _name_agent_1(axes, places, ends, points=72 * ONE_COLUMN / width)
    bar = figure.colorbar(dots, ax=axes, location="bottom", shrink=0.5, aspect=28, pad=0.01, ticks=[0.0, 0.5, 1.0])
    bar.set_label("hidden opinion $x_0$", labelpad=1)
    bar.outline.set_visible(False)
    return figure


def _name_agent_1(axes: Axes, places: Places, ends: NDArray[np.int64], *, points: float) -> None:
    """Name the agent whose path other figures follow, at the nearest spot with room for its name."""
    angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    spots = np.array([(r * np.cos(a), r * np.sin(a)) for r in NAME_AT for a in angles])
    # Seven points on each edge, ends included, stand for the edge, and avoid distances to segments.
    along = np.linspace(0, 1, 7)[:, None, None]
    crowd = ((1 - along) * places[ends[:, 0]] + along * places[ends[:, 1]]).reshape(-1, 2)
    # A name is wider than it is high, so horizontal distances count half.
    offsets = ((crowd - places[0]) * points - spots[:, None, :]) * (0.5, 1.0)
    # (spots,): the distance from each spot to the nearest point of the drawing.
    room = np.hypot(offsets[:, :, 0], offsets[:, :, 1]).min(axis=1)
    free = np.flatnonzero(room >= ROOM)
    # Spots are ordered by distance, so the first free one is the nearest; in a crowd, take the least crowded.
    spot = spots[free[0] if free.size else int(np.argmax(room))]
    axes.annotate(
        "agent 1",
        places[0],
        xytext=(float(spot[0]), float(spot[1])),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=7.5,
        arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 2},
    )


@styled
def coloured_network(
    places: NDArray[Any],
    ends: NDArray[Any],
    degrees: NDArray[Any],
    values: NDArray[Any],
    rings: NDArray[Any] | None,
    scale: tuple[float, float],
    name: str,
    *,
    one_way: NDArray[Any] | None = None,
    negative: NDArray[Any] | None = None,
    zealots: NDArray[Any] | None = None,
    centre_name: str = "$v$",
) -> Figure:
    """Draw agents as dots, sized by degree and coloured by a value, within rings coloured by another one.

    ``scale`` holds the value at the centre of the colours, and how far they reach on both sides.
    Edges that go ``one_way`` have arrowheads at the agent that is listened to, ``negative`` ones are dashed, and
    ``zealots``, who listen to nobody, are squares.
    """
    centre, half = scale
    # The layout is centred at 0; agents on a line have extent 0 in one direction and would give an empty figure.
    frame = np.maximum(np.abs(places).max(axis=0), LEAST_SIDE) + 0.06
    figure = Figure(figsize=(ONE_COLUMN, 0.55 + ONE_COLUMN * frame[1] / frame[0]))
    axes = figure.add_subplot()
    # Only dots and lines become an image; text and colour bar stay vectors.
    many = len(places) + len(ends) > RASTER
    # The more edges there are, the lighter each is drawn, to keep agents visible.
    lightness = min(1.0, (300 / len(ends)) ** 0.5)
    # Relative to the mean degree, with hubs limited, and smaller where there are many agents.
    areas = np.clip(degrees / (degrees.mean() or 1.0), 0.5, 8.0) * min(30.0, 1.0 + 2_000 / len(places))
    width, alpha = 0.15 + 0.35 * lightness, 0.05 + 0.65 * lightness
    # Points per unit of the layout, and the radii of the dots in its units.
    points = 72 * ONE_COLUMN / (2 * frame[0])
    for lines in edge_lines(places, ends, np.sqrt(1.3 * areas) / 2 / points, points, width, one_way, negative):
        lines.set(rasterized=many, alpha=alpha if lines.get_alpha() is None else lines.get_alpha())
        axes.add_collection(lines)
    squares = np.zeros(len(places), dtype=bool) if zealots is None else np.asarray(zealots, dtype=bool)

    def fill(colours: NDArray[Any] | str, share: float) -> PathCollection:
        # Noise can move opinions out of the limits of the colour bar; values beyond them take the colours of its ends.
        plain = isinstance(colours, str)
        norm = None if plain else Normalize(centre - half, centre + half)
        for shape, group in [(shape, group) for shape, group in (("o", ~squares), ("s", squares)) if group.any()]:
            drawn = axes.scatter(
                places[group, 0],
                places[group, 1],
                s=share * areas[group],
                c=colours if isinstance(colours, str) else colours[group],
                norm=norm,
                cmap=None if plain else of_opinions(),
                marker=shape,
                linewidths=0,
                zorder=2,
                rasterized=many,
            )
        return drawn

    if rings is None:
        fill("white", 1.15)
        dots = fill(values, 1.0)
    else:
        fill(rings, 1.3)
        fill("white", 0.9)
        dots = fill(values, 0.68)
    if squares.any():
        axes.scatter(
            places[squares, 0],
            places[squares, 1],
            s=1.5 * areas[squares],
            marker="s",
            facecolors="none",
            edgecolors=INK,
            linewidths=0.9,
        )
    axes.set_aspect("equal")
    axes.set_xlim(-frame[0], frame[0])
    axes.set_ylim(-frame[1], frame[1])
    axes.axis("off")
    ticks = [centre - half, centre, centre + half]
    bar = figure.colorbar(dots, ax=axes, location="bottom", shrink=0.5, aspect=28, pad=0.01, ticks=ticks)
    bar.ax.set_xticklabels(_ends_and_centre(scale, centre_name))
    notes = {
        r"$\rightarrow$ listens to": one_way is not None and np.any(one_way),
        "dashed: distrust": negative is not None and np.any(negative),
        "square: listens to nobody": squares.any(),
    }
    bar.set_label("\n".join([name, *(["; ".join(note for note, has in notes.items() if has)])]).strip(), labelpad=1)
    bar.outline.set_visible(False)
    return figure


@styled
def opinions(agents: pd.DataFrame, edges: pd.DataFrame, scale: tuple[float, float], centre_name: str) -> Figure:
    """Draw the network twice in one scale of colours: what agents think, and what they say after the last step.

    ``agents`` is the table of a run, and ``edges`` has the columns of those of `exposure`. ``scale`` holds the value at
    the centre of the colours, and how far they reach on both sides.
    """
    ends = edges[["source", "target"]].to_numpy()
    links = np.bincount(ends.ravel(), minlength=len(agents))
    places = layout(len(agents), ends)
    named = len(agents) <= MOST_NAMED
    # Names beside the outermost dots need room.
    frame = 0.5 * np.maximum(np.ptp(places, axis=0), LEAST_SIDE * np.ptp(places)) * (1.25 if named else 1.08)
    middle = (places.max(axis=0) + places.min(axis=0)) / 2
    figure = Figure(figsize=(TWO_COLUMNS, 0.85 + 0.5 * TWO_COLUMNS * float(frame[1] / frame[0])))
    pair = figure.subplots(1, 2)
    areas = np.clip(links / links.mean(), 0.6, 5.0) * min(45.0, 10.0 + 1_200 / len(agents))
    points = 72 * 0.25 * TWO_COLUMNS / frame[0]
    looks = {name: edges[name].to_numpy() for name in ("one_way", "negative")}
    centre, half = scale
    columns = {"hidden": "what they think: hidden opinions", "final_mean": "what they say: public opinions"}
    for axes, letter, (column, title) in zip(pair, "ab", columns.items(), strict=True):
        for lines in edge_lines(places, ends, np.sqrt(areas) / 2 / points, points, 0.5, **looks):
            axes.add_collection(lines)
        dots = axes.scatter(
            places[:, 0],
            places[:, 1],
            s=areas,
            c=agents[column],
            norm=Normalize(centre - half, centre + half),
            cmap=of_opinions(),
            edgecolors="white",
            linewidths=0.4,
            zorder=2,
        )
        axes.set_aspect("equal")
        axes.axis("off")
        axes.set(xlim=middle[0] + frame[0] * np.array([-1, 1]), ylim=middle[1] + frame[1] * np.array([-1, 1]))
        if named:
            name_agents(axes, places, ends, [str(name)[:LONGEST_NAME] for name in agents["agent"]])
        panel(axes, letter, title)
    bar = figure.colorbar(
        dots, ax=pair, location="bottom", shrink=0.35, aspect=32, pad=0.02, ticks=[centre - half, centre, centre + half]
    )
    bar.ax.set_xticklabels(_ends_and_centre(scale, centre_name))
    bar.set_label("opinion", labelpad=1)
    bar.outline.set_visible(False)
    return figure


def _ends_and_centre(scale: tuple[float, float], centre_name: str) -> list[str]:
    """Return what stands below the ends and the middle of a bar of colours."""
    centre, half = scale
    # The ends of a narrow range must not read the same.
    digits = 3 + max(0, math.floor(math.log10(max(abs(centre), half) / half)))
    low, middle, high = (f"{value:.{digits}g}" for value in (centre - half, centre, centre + half))
    return [low, f"{centre_name} = {middle}" if centre_name else middle, high]


@styled
def exposure(agents: pd.DataFrame, edges: pd.DataFrame) -> Figure:
    """Draw the network with agents coloured by posterior over prior variance; observed agents are ringed.

    ``agents`` is the table of an exposure, one row per agent, and ``edges`` has positions ``source``, ``target``, and
    columns ``one_way`` and ``negative`` where these occur.
    """
    ends = edges[["source", "target"]].to_numpy()
    places = layout(len(agents), ends)
    width, height = np.ptp(places, axis=0)
    figure = Figure(figsize=(ONE_COLUMN, 0.6 + ONE_COLUMN * min(max(height / width, 0.3), 1.2)))
    axes = figure.add_subplot()
    observed = agents["seen"].to_numpy(dtype=bool)
    size = 38.0 if len(agents) <= 60 else 2300 / len(agents)
    points = 72 * ONE_COLUMN / (1.1 * width)
    radii = np.sqrt(np.where(observed, 2.6, 1.1) * size) / 2 / points
    looks = {name: edges[name].to_numpy() for name in ("one_way", "negative") if name in edges}
    for lines in edge_lines(places, ends, radii, points, 0.5, **looks):
        axes.add_collection(lines)
    axes.scatter(
        places[observed, 0],
        places[observed, 1],
        # A larger white dot with a red edge below the coloured one gives the ring of observed agents.
        s=2.6 * size,
        facecolors="white",
        edgecolors=RED,
        linewidths=1.1,
        zorder=2,
    )
    dots = axes.scatter(
        places[:, 0],
        places[:, 1],
        s=size,
        c=agents["ratio"],
        cmap=in_order(),
        vmin=0.0,
        vmax=1.0,
        edgecolors="white",
        linewidths=0.3,
        zorder=3,
    )
    axes.set_aspect("equal")
    axes.axis("off")
    named = len(agents) <= MOST_NAMED
    # Names beside the outermost dots need room.
    axes.margins(0.18 if named else 0.05, 0.1 if named else 0.05)
    if named:
        name_agents(axes, places, ends, [str(name)[:LONGEST_NAME] for name in agents.index])
    bar = figure.colorbar(dots, ax=axes, location="bottom", shrink=0.62, aspect=32, pad=0.01, ticks=[0.0, 0.5, 1.0])
    bar.ax.set_xticklabels(["0, known", "½", "1, nothing learned"])
    bar.set_label("posterior / prior variance", labelpad=1)
    bar.outline.set_visible(False)
    count = int(observed.sum())
    title = "every agent is observed" if observed.all() else f"ringed: the {count} observed of {len(agents)} agents"
    axes.set_title(title, color=RED if count else INK)
    return figure


@styled
def frontier(errors: pd.DataFrame, units: pd.DataFrame, limit: float, horizon: int | None = None) -> Figure:
    """Show the error of each noise design at a given budget, and error and information over time under unit noise.

    ``errors`` and ``units`` are the tables of a frontier, and ``limit``/μ is the lower bound on the error of unbiased
    designs, not drawn if it is nan. The first panel is drawn at one horizon, by default the last.
    """
    chosen = int(errors["horizon"].max()) if horizon is None else horizon
    figure = Figure(figsize=(TWO_COLUMNS, 3.0))
    left, right = figure.subplots(1, 2)
    at = errors[errors["horizon"] == chosen]
    looks = _looks(list(dict.fromkeys(errors["design"])))
    _budgets(left, at, looks, limit)
    _courses(right, units, looks, limit)
    panel(left, "a", f"noise for a budget over {chosen:,} steps")
    panel(right, "b", "noise of std 1, over time")
    return figure


def _budgets(axes: Axes, at: pd.DataFrame, looks: Mapping[str, Look], limit: float) -> None:
    mu = np.sort(at["mu"].unique())
    axes.loglog(mu, limit / mu, color=INK, linewidth=0.8, linestyle=DOTTED, zorder=5)
    finals = {}
    # The information of zero-sum noise grows exponentially with the horizon, and would set the scale of the axis.
    tame = at[np.isfinite(at["rms_error"]) & ~at["design"].str.startswith("zero sum")]
    for name, (colour, line) in looks.items():
        curve = at[(at["design"] == name) & (at["rms_error"] <= _REACH * tame["rms_error"].max())]
        if len(curve):
            axes.loglog(curve["mu"], curve["rms_error"], color=colour, linestyle=line)
            finals[name] = float(curve["rms_error"].iloc[-1])
    axes.set_xlim(mu[0], mu[-1])
    _name_ends(axes, float(mu[-1]), finals, looks)
    if np.isfinite(limit):
        label(axes, "limit", (mu[0], limit / mu[0]), xytext=(3, -30), color=INK)
    axes.set_xlabel(r"privacy budget $\mu$ (less private $\rightarrow$)")
    axes.set_ylabel("RMS error of the consensus mode")


def _courses(axes: Axes, units: pd.DataFrame, looks: Mapping[str, Look], limit: float) -> None:
    """Draw error against information, one dot per horizon, from small to large."""
    shown = units[np.isfinite(units["information"]) & (units["rms_error"] > 0)]
    reach = shown[~shown["design"].str.startswith("zero sum")]["information"].max()
    shown = shown[shown["information"] <= _REACH * reach]
    drawn = [name for name in looks if name in set(shown["design"])]
    for k, name in enumerate(drawn):
        curve, colour = shown[shown["design"] == name], looks[name][0]
        _course(axes, looks[name], curve["information"].to_numpy(), curve["rms_error"].to_numpy())
        axes.text(0.99, 0.99 - _GAP * k, _written(name), color=colour, transform=axes.transAxes, ha="right", va="top")
    # Room on the left for the label of the limit, and on the right for the last dots.
    ends = np.array([shown["information"].min() / 200, shown["information"].max() * 12])
    axes.loglog(ends, limit / np.sqrt(ends), color=INK, linewidth=0.8, linestyle=DOTTED, zorder=1)
    axes.set_xlim(*ends)
    if np.isfinite(limit):
        label(axes, "limit", (ends[0], limit / np.sqrt(ends[0])), xytext=(14, -4), color=INK)
    axes.set_xlabel(r"Fisher information about an agent (less private $\rightarrow$)")


def _course(axes: Axes, look: Look, information: NDArray[np.float64], error: NDArray[np.float64]) -> None:
    colour, line = look
    axes.loglog(information, error, color=colour, linestyle=line, linewidth=0.9)
    axes.scatter(information, error, s=np.linspace(5, 22, error.size), color=colour, zorder=3)


def _name_ends(axes: Axes, x: float, finals: Mapping[str, float], looks: Mapping[str, Look]) -> None:
    """Write names beside the right ends of curves, moved apart as little as possible, each with a line to its curve."""
    # The axes are logarithmic, so names must be separated in logarithms.
    low, high = np.log10(axes.get_ylim())
    names = sorted(finals, key=finals.__getitem__)
    heights = apart(np.log10([finals[name] for name in names]), _GAP * (high - low))
    for name, height in zip(names, heights, strict=True):
        colour = looks[name][0]
        axes.plot([x, 1.35 * x], [finals[name], 10**height], color=colour, linewidth=0.4, clip_on=False)
        spot = (1.35 * x, 10**height)
        label(axes, _written(name), spot, xytext=(2, 0), va="center", color=colour, annotation_clip=False)


def _looks(names: Sequence[str]) -> dict[str, Look]:
    """Return colour and line of each design, the same in every panel and different from the others."""
    looks = itertools.product(("-", "--", ":", "-."), _DESIGN_COLOURS)
    return {name: (colour, line) for name, (line, colour) in zip(names, itertools.cycle(looks), strict=False)}


def _written(name: str) -> str:
    """Return a design's name with its powers as mathematics.

    >>> _written("growing as t^0.25")
    'growing as $t^{0.25}$'
    """
    return re.sub(r"(\w)\^([\d.]+)", r"$\1^{\2}$", name)


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
