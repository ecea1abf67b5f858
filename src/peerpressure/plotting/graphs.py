"""Networks in the plane: the places of agents, lines and arrows of edges, and names of agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from numpy.typing import NDArray

from peerpressure.plotting.style import GREY, INK, RED, label

if TYPE_CHECKING:
    import networkx as nx

Places: TypeAlias = NDArray[np.float64]

MOST_NAMED = 20  # agents whose names fit on a map
LONGEST_NAME = 14  # letters of a name on a map
MOST_HEADS = 2_000  # arrows of edges that go one way
HEAD = 4.0  # points from the tip of an arrow to its base
PIVOTS = 50  # agents whose distances place all others in a quick layout


def layout(agents: int, ends: NDArray[np.int64]) -> Places:
    """Return a position per agent, (agents, 2): a deterministic Kamada–Kawai layout, rotated to be wide."""
    # Imported here, as few figures show a network and most processes that draw need none of it.
    import networkx as nx

    net = nx.Graph()
    net.add_nodes_from(range(agents))
    net.add_edges_from(ends.tolist())
    # Deterministic, starting from a circle; force-directed layouts start from random positions.
    position_of = nx.kamada_kawai_layout(net, dist=_distances(net))
    places = np.array([position_of[agent] for agent in range(agents)])
    centred = places - places.mean(axis=0)
    # Principal axes: the direction of largest extent becomes horizontal, which suits a wide column.
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    rotated: Places = centred @ axes.T
    return rotated


def _distances(net: nx.Graph) -> dict[int, dict[int, float]]:
    """Return the distances between all nodes; components are two steps further apart than the longest path."""
    import networkx as nx

    lengths = dict(nx.all_pairs_shortest_path_length(net))
    far = 2 + max(max(row.values()) for row in lengths.values())
    return {one: {other: row.get(other, far) for other in net} for one, row in lengths.items()}


def edge_lines(
    places: NDArray[Any],
    ends: NDArray[Any],
    radii: NDArray[Any],
    points: float,
    width: float,
    one_way: NDArray[Any] | None = None,
    negative: NDArray[Any] | None = None,
) -> list[LineCollection | PolyCollection]:
    """Return the lines of edges, dashed where these are negative, and arrowheads at the second ends of one-way ones.

    ``radii`` are those of the agents in units of the layout, ``points`` the points per unit, and ``width`` that of
    the lines in points. More than ``MOST_HEADS`` arrows are left out.
    """
    distrust = np.zeros(len(ends), dtype=bool) if negative is None else np.asarray(negative, dtype=bool)
    lines: list[LineCollection | PolyCollection] = [
        LineCollection(list(places[ends[~distrust]]), colors=GREY, linewidths=width, zorder=1)
    ]
    if distrust.any():
        # Dashes have gaps, so they are drawn darker.
        dashes = {"colors": RED, "linewidths": max(width, 0.5), "linestyles": (0, (3.5, 2.0)), "alpha": 0.9}
        lines.append(LineCollection(list(places[ends[distrust]]), zorder=1, **dashes))
    headed = np.zeros(len(ends), dtype=bool) if one_way is None else np.asarray(one_way, dtype=bool)
    if headed.any() and headed.sum() <= MOST_HEADS:
        colours = np.where(distrust[headed], RED, INK)
        heads = _arrowheads(places[ends[headed]], radii[ends[headed, 1]], HEAD / points)
        lines.append(PolyCollection(list(heads), facecolors=list(colours), linewidths=0, alpha=0.8, zorder=1.5))
    return lines


def _arrowheads(lines: NDArray[Any], radii: NDArray[Any], length: float) -> NDArray[Any]:
    """Return triangles, (edges, 3, 2), whose tips are beside the dots at the second ends."""
    start, end = lines[:, 0].astype(np.float64), lines[:, 1].astype(np.float64)
    along = (end - start) / np.maximum(np.hypot(*(end - start).T), 1e-12)[:, None]
    tip = end - along * radii[:, None]
    base, side = tip - length * along, 0.36 * length * along[:, ::-1] * (-1, 1)
    return np.stack([tip, base + side, base - side], axis=1)


def name_agents(axes: Axes, places: Places, ends: NDArray[np.int64], names: Sequence[str]) -> None:
    """Write the names of agents above or below their dots, on the side with fewer of their edges."""
    for i, name in enumerate(names):
        others = np.concatenate([ends[ends[:, 0] == i, 1], ends[ends[:, 1] == i, 0]])
        above = float(np.sum(np.sign(places[others, 1] - places[i, 1]))) <= 0
        offset, align = ((0, 6), "bottom") if above else ((0, -6), "top")
        spot = (float(places[i, 0]), float(places[i, 1]))
        label(axes, name, spot, xytext=offset, ha="center", va=align, fontsize=6, color=INK, zorder=4)


def quick_layout(agents: int, ends: NDArray[np.int64]) -> Places:
    """Return a position per agent, (agents, 2), by pivot multidimensional scaling: fast, and coarser than `layout`.

    Places are the two principal directions of the distances to a few agents (Brandes and Pich, Graph Drawing 2006).
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import shortest_path

    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(agents, agents)).tocsr()
    pivots = np.unique(np.linspace(0, agents - 1, PIVOTS).astype(np.int64))
    far = shortest_path(graph, directed=False, unweighted=True, indices=pivots).T
    # Other components are two steps further away than the longest path.
    squares = np.where(np.isinf(far), far[np.isfinite(far)].max() + 2, far) ** 2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    vectors = np.linalg.eigh(centred.T @ centred)[1]
    return np.asarray(centred @ vectors[:, :-3:-1])
