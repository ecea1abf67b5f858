"""The network, drawn."""

from __future__ import annotations

from typing import Any, TypeAlias

import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from peerpressure.plotting.style import GREY, INK, ONE_COLUMN, OPINIONS, styled

Places: TypeAlias = NDArray[np.float64]
NAME_AT = (18, 24, 30, 38, 48, 60)  # points from agent 1 to its name
ROOM = 9.5  # points that its name needs to itself
LEAST_SIDE = 0.25  # of a picture's height to its width, where all agents lie on a line
RASTER = 3_000  # dots and lines from which a vector picture holds them as an image


@styled
def graph(agents: pd.DataFrame, edges: pd.DataFrame, network: str = "tree") -> Figure:
    """Draw one network of the experiment: agents as dots, sized by degree and coloured by hidden opinion."""
    own = edges[edges["network"] == network]
    ends = own[["source", "target"]].to_numpy() - 1
    places = layout(len(agents), ends)
    width, height = np.ptp(places, axis=0)
    figure = Figure(figsize=(ONE_COLUMN, 0.55 + ONE_COLUMN * min(max(height / width, 0.3), 1.2)))
    axes = figure.add_subplot()
    axes.add_collection(LineCollection(list(places[ends]), colors=GREY, linewidths=0.5, zorder=1))
    dots = axes.scatter(
        places[:, 0],
        places[:, 1],
        s=9.0 * agents[f"degree_{network}"],
        c=agents["hidden"],
        cmap=OPINIONS,
        vmin=0.0,
        vmax=1.0,
        edgecolors="white",
        linewidths=0.4,
        zorder=2,
    )
    axes.set_aspect("equal")
    axes.axis("off")
    axes.margins(0.03)
    _name_agent_1(axes, places, ends, points=72 * ONE_COLUMN / width)
    bar = figure.colorbar(dots, ax=axes, location="bottom", shrink=0.5, aspect=28, pad=0.01, ticks=[0.0, 0.5, 1.0])
    bar.set_label("hidden opinion $x_0$", labelpad=1)
    bar.outline.set_visible(False)
    return figure


def _name_agent_1(axes: Axes, places: Places, ends: NDArray[np.int64], *, points: float) -> None:
    """Name the agent whose path the other figures follow, at the nearest spot with room for its name."""
    angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    spots = np.array([(r * np.cos(a), r * np.sin(a)) for r in NAME_AT for a in angles])
    along = np.linspace(0, 1, 7)[:, None, None]
    crowd = ((1 - along) * places[ends[:, 0]] + along * places[ends[:, 1]]).reshape(-1, 2)
    # A name is wider than it is high, so that what lies beside it counts as nearer.
    apart = ((crowd - places[0]) * points - spots[:, None, :]) * (0.5, 1.0)
    room = np.hypot(apart[:, :, 0], apart[:, :, 1]).min(axis=1)
    free = np.flatnonzero(room >= ROOM)
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


def layout(agents: int, ends: NDArray[np.int64]) -> Places:
    """Return a place for each agent, (agents, 2), by distances along edges; it lies wide and owes nothing to chance."""
    net = nx.Graph()
    net.add_nodes_from(range(agents))
    net.add_edges_from(ends.tolist())
    found = nx.kamada_kawai_layout(net)
    places = np.array([found[agent] for agent in range(agents)])
    centred = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    turned: Places = centred @ axes.T
    return turned


@styled
def coloured_network(
    places: NDArray[Any],
    ends: NDArray[Any],
    degrees: NDArray[Any],
    values: NDArray[Any],
    limits: tuple[float, float],
    label: str,
) -> Figure:
    """Draw agents as dots, sized by degree and coloured by a value, with a colour bar of these limits below."""
    frame = np.maximum(np.abs(places).max(axis=0), LEAST_SIDE) + 0.06
    figure = Figure(figsize=(ONE_COLUMN, 0.55 + ONE_COLUMN * frame[1] / frame[0]))
    axes = figure.add_subplot()
    many = len(places) + len(ends) > RASTER
    # The more edges there are, the lighter each is drawn, so that agents stay visible.
    lightness = min(1.0, (300 / len(ends)) ** 0.5)
    lines = LineCollection(
        list(places[ends]), colors=GREY, linewidths=0.15 + 0.35 * lightness, alpha=0.05 + 0.65 * lightness, zorder=1
    )
    lines.set_rasterized(many)
    axes.add_collection(lines)
    dots = axes.scatter(
        places[:, 0],
        places[:, 1],
        s=np.clip(degrees / degrees.mean(), 0.5, 8.0) * min(30.0, 1.0 + 2_000 / len(places)),
        c=np.clip(values, *limits),
        cmap=OPINIONS,
        vmin=limits[0],
        vmax=limits[1],
        edgecolors="white",
        linewidths=min(0.4, 40 / len(places)),
        zorder=2,
        rasterized=many,
    )
    axes.set_aspect("equal")
    axes.set_xlim(-frame[0], frame[0])
    axes.set_ylim(-frame[1], frame[1])
    axes.axis("off")
    bar = figure.colorbar(dots, ax=axes, location="bottom", shrink=0.5, aspect=28, pad=0.01)
    bar.set_label(label, labelpad=1)
    bar.outline.set_visible(False)
    return figure
