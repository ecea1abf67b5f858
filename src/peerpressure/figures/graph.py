"""The network, drawn."""

from __future__ import annotations

from typing import TypeAlias

import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from peerpressure.figures.style import GREY, INK, ONE_COLUMN, OPINIONS, styled


Places: TypeAlias = NDArray[np.float64]
NAME_AT = 20.0  # points from agent 1 to its name


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
        *places.T,
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
    bar.outline.set_visible(False)  # type: ignore[operator]
    return figure


def _name_agent_1(axes: Axes, places: Places, ends: NDArray[np.int64], *, points: float) -> None:
    """Name the agent whose path the other figures follow, in the direction where most room is left."""
    angles = np.linspace(0, 2 * np.pi, 32, endpoint=False)
    ways = NAME_AT * np.column_stack([np.cos(angles), np.sin(angles)])
    crowd = (np.concatenate([places, places[ends].mean(axis=1)]) - places[0]) * points
    # A name is wider than it is high.
    room = [np.hypot(*((crowd - way) * (0.5, 1.0)).T).min() for way in ways]
    axes.annotate(
        "agent 1",
        places[0],
        xytext=ways[int(np.argmax(room))],
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
