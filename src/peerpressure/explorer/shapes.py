"""Exact positions for networks of a well-known shape, which is recognised from the edges and not from a name.

Lines, rings and ring lattices, stars, complete and complete bipartite graphs, and rectangular lattices. Each candidate
is verified edge by edge: the numbering of the agents does not matter, and no other network is mistaken for one.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from peerpressure.networks import Network

Places: TypeAlias = NDArray[np.float64]
Positions: TypeAlias = NDArray[np.int64]

MOST_NEIGHBOURS = 40  # of a ring lattice; one with more looks like a disc in any layout


def shape_of(network: Network) -> Places | None:
    """Return positions, (agents, 2), with the longer extent horizontal; None if the network has no such shape."""
    # Directions, weights and signs do not change a shape.
    A = network.mutual
    degrees = np.diff(A.indptr).astype(np.int64)
    n, ends = network.n, (np.repeat(np.arange(network.n), degrees), A.indices.astype(np.int64))
    low, high = int(degrees.min()), int(degrees.max())
    # At most one is tried: numbers of edges and neighbours tell these shapes apart.
    if n <= 2 or low == 0:
        return None
    if low == n - 1:
        return _circle(np.arange(n))
    if degrees.sum() == 2 * (n - 1):
        if high == n - 1 > 2:
            return _star(int(np.argmax(degrees)), n)
        return _line(A.indptr, A.indices, degrees) if high == 2 else None
    if low == high and low % 2 == 0 and low <= min(MOST_NEIGHBOURS, n - 2):
        ring = _ring(A.indptr, A.indices, low // 2, ends)
        if ring is not None:
            return ring
    sides = _bipartite(A.indices[: degrees[0]], degrees, ends)
    return sides if sides is not None or (low, high) not in ((2, 3), (2, 4)) else _lattice(network, degrees, ends)


def _circle(order: Positions) -> Places:
    """Return points on a circle, clockwise from the top, for the agents in this order."""
    angle = np.empty(order.size)
    angle[order] = 2 * np.pi * np.arange(order.size) / order.size
    return np.stack([np.sin(angle), np.cos(angle)], axis=1)


def _star(hub: int, n: int) -> Places:
    leaves = np.delete(np.arange(n), hub)
    places = np.zeros((n, 2))
    places[leaves] = _circle(np.arange(n - 1))
    return places


def _line(indptr: Positions, indices: Positions, degrees: Positions) -> Places | None:
    """Return points on a line for a tree without branches."""
    order = _walk(indptr, indices, int(np.argmin(degrees)))
    if len(order) < degrees.size:
        return None  # a line beside rings
    places = np.zeros((degrees.size, 2))
    places[order, 0] = np.arange(degrees.size)
    return places


def _ring(indptr: Positions, indices: Positions, half: int, ends: tuple[Positions, Positions]) -> Places | None:
    """Return a circle if each agent is linked with the ``half`` next ones on both sides."""
    order = _walk(indptr, indices, 0, 2 * half - 2)
    n = indptr.size - 1
    if len(order) < n:
        return None
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    distances = np.abs(rank[ends[0]] - rank[ends[1]])
    return _circle(np.array(order)) if np.minimum(distances, n - distances).max() <= half else None


def _walk(indptr: Positions, indices: Positions, start: int, common: int = 0) -> list[int]:
    """Return the agents on a walk to neighbours not visited before, with which there are ``common`` neighbours.

    On a ring lattice two agents have the most neighbours in common if they are next to each other.
    """
    first, targets = indptr.tolist(), indices.tolist()
    order, visited, agent = [start], {start}, start
    while True:
        around = targets[first[agent] : first[agent + 1]]
        nearby = set(around)
        for other in around:
            if other not in visited and len(nearby.intersection(targets[first[other] : first[other + 1]])) == common:
                break
        else:
            return order
        order.append(other)
        visited.add(other)
        agent = other


def _bipartite(others: Positions, degrees: Positions, ends: tuple[Positions, Positions]) -> Places | None:
    """Return two rows if all agents of one side, the first agent's neighbours, are linked with all of the other."""
    n = degrees.size
    right = np.zeros(n, dtype=bool)
    right[others] = True
    size = int(right.sum())
    # The first agent's side has the others as its neighbours, and the other way round.
    if not np.array_equal(degrees, np.where(right, n - size, size)) or (right[ends[0]] == right[ends[1]]).any():
        return None
    places = np.empty((n, 2))
    for row, height in ((right, -0.5), (~right, 0.5)):
        count = int(row.sum())
        # In the middle of equal parts, which makes both rows equally wide.
        places[row] = np.stack([(np.arange(count) + 0.5) / count * 2 - 1, np.full(count, height)], axis=1)
    return places


def _lattice(network: Network, degrees: Positions, ends: tuple[Positions, Positions]) -> Places | None:
    """Return the points of a rectangular lattice, from the distances to two corners of its longer side."""
    from peerpressure.explorer.stress import hops_compiled

    corners = np.flatnonzero(degrees == 2)
    if corners.size != 4:
        return None
    away = np.empty((4, network.n), dtype=np.int32)
    hops_compiled(network.mutual.indptr, network.mutual.indices, corners, away)
    # To the nearest corner, to the one at the other end of the longer side, and to that opposite.
    _, near, far, across = np.sort(away[0, corners]).tolist()
    rows, columns = near + 1, far + 1
    # In a square, take the first of both: agents numbered row by row are then in reading order.
    other = int(np.argmax(away[0, corners] == far))
    twice_x, twice_y = away[0] - away[other] + far, away[0] + away[other] - far
    x, y = twice_x // 2, twice_y // 2
    legal = near > 0 and across == near + far and rows * columns == network.n and not ((twice_x | twice_y) & 1).any()
    if not legal or min(x.min(), y.min()) < 0 or x.max() >= columns or y.max() >= rows:
        return None
    # As many edges as the lattice, each between neighbours, and one agent at each point.
    edges = 2 * (rows * (columns - 1) + columns * (rows - 1))
    steps = np.abs(x[ends[0]] - x[ends[1]]) + np.abs(y[ends[0]] - y[ends[1]])
    if ends[0].size != edges or (steps != 1).any() or np.unique(y * columns + x).size != network.n:
        return None
    return np.stack([x, -y], axis=1).astype(np.float64)
