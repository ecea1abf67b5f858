"""Positions in the plane: exact ones for well-known shapes, else those of a stress layout, and the sizes of dots.

The distances in a stress layout approximate the distances in the network. Small networks use the distances of all
pairs. In large ones every agent uses its neighbours and a few pivots, each of which represents the agents around it
(Ortmann, Klimenta and Brandes, J. Graph Algorithms Appl. 21, 791, 2017). The same network always gives the same layout,
whatever the number of threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.explorer.shapes import shape_of
from peerpressure.networks import Network
from peerpressure.support.progress import check_cancelled

Drawing: TypeAlias = NDArray[np.float32]
Places: TypeAlias = NDArray[np.float64]

ALL_PAIRS = 1_000  # agents up to which every pair is used
PIVOTS, PIVOTS_OF_MANY = 100, 50
ROUNDS, ROUNDS_OF_MANY = 30, 16
MANY_AGENTS = 800  # agents above which fewer pivots and rounds are used, and dots may be closer
FINEST = 0.1  # share of a neighbour's error that the last round corrects
ITERATIONS = 30  # towards the principal directions, from which the descent starts
DIGITS = 6  # of the start, after the decimal point
HUB = 20.0  # ratio of the areas of the largest and the smallest dot, whose radii then differ by a factor of 4.5
TOUCHING, TOUCHING_OF_MANY = 0.5, 0.8  # share of agents whose dots may touch that of the nearest agent
FEW_AGENTS = 200  # up to which no dot covers a part of another
GAP, PUSHES = 1.1, 200  # distance of two dots in sums of their radii, and the rounds in which it is reached
MOST_RADIUS = 0.5  # of the smallest dot, for a few agents far apart
# Fixed: a network looks the same in every session.
_SEED = 20


@final
@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of agents, (pairs, 2), their target distances, and the weight of each end, (pairs, 2)."""

    ends: NDArray[np.int32]
    distances: Places
    weights: Places


def drawing(network: Network) -> Drawing:
    """Return a position within [−1, 1]² for each agent, (agents, 2), the longer extent being horizontal."""
    known = shape_of(network)
    # Sines, too, are rounded differently by different processors.
    places = _scaled(_stress_layout(network) if known is None else known.round(DIGITS))
    if known is not None or network.n > FEW_AGENTS:
        return places
    # Weights do not matter to a drawing.
    neighbours = np.diff(network.mutual.indptr)
    return _scaled(_uncovered(places, dot_radii(places, neighbours, TOUCHING)))


def _uncovered(places: Drawing, radii: NDArray[np.float32]) -> Places:
    """Return positions at which no dot covers a part of another, moved no further than that takes."""
    moved = places.astype(np.float64)
    first, second = np.triu_indices(len(moved), 1)
    free = GAP * (radii[first] + radii[second])
    for _ in range(PUSHES):
        between = moved[first] - moved[second]
        away = np.maximum(np.sqrt((between**2).sum(axis=1)), 1e-9)
        push = (np.maximum(free - away, 0) / away / 2)[:, None] * between
        if not push.any():
            break
        np.add.at(moved, first, push)
        np.add.at(moved, second, -push)
    return moved


def _stress_layout(network: Network) -> Places:
    """Return positions whose distances approximate the numbers of edges between agents, turned to be wide."""
    from peerpressure.explorer.stress import descend_compiled

    rng = np.random.default_rng(_SEED)
    pivots, rounds = (PIVOTS, ROUNDS) if network.n <= MANY_AGENTS else (PIVOTS_OF_MANY, ROUNDS_OF_MANY)
    # Sorted, to read the rows of distances in the order of memory.
    few = np.sort(rng.choice(network.n, min(pivots, network.n), replace=False))
    if network.n <= ALL_PAIRS:
        away = _apart(network, _hops(network, np.arange(network.n)), np.arange(network.n))
        # The distances of all pairs include those to the pivots, from which the layout starts.
        pairs, far = _all_pairs(away), away[few]
    else:
        far = _apart(network, _hops(network, few), few)
        pairs = _some_pairs(network, few, far)
    places = _start(far, rng)
    # The first rate moves even the weakest pair by its full error, and the last one corrects a small share of a
    # neighbour's: the annealing schedule of Zheng, Pawar and Goodman.
    rates = np.geomspace(1 / pairs.weights[pairs.weights > 0].min(), FINEST / pairs.weights.max(), rounds)
    # Powers, too, are rounded differently by different processors.
    rates = np.array([float(f"{rate:.{DIGITS}g}") for rate in rates])
    # One random order for all rounds: a new one each time is hardly better, and much slower in memory.
    order = rng.permutation(len(pairs.ends))
    ends, distances, weights = pairs.ends[order], pairs.distances[order], pairs.weights[order]
    for rate in rates:
        # One round is the longest stretch without a chance to cancel.
        check_cancelled()
        descend_compiled(places, ends, distances, weights, rate)
    return _turned(places)


def _hops(network: Network, agents: NDArray[Any]) -> Places:
    """Return the number of edges between these agents and all; other components count as far away."""
    from peerpressure.explorer.stress import hops_compiled

    distances = np.empty((agents.size, network.n), dtype=np.int32)
    # Directions do not count.
    A = network.mutual
    hops_compiled(A.indptr, A.indices, agents, distances)
    # Two more than the longest path: components neither overlap nor are drawn far apart.
    return np.where(distances < 0, distances.max() + 2, distances).astype(np.float64)


def _apart(network: Network, away: Places, agents: NDArray[Any]) -> Places:
    """Return the distances of these agents to all, larger between rival camps, which edges of distrust connect."""
    if not network.signed:
        return away
    # As far apart as a camp is wide: both are then seen as one each.
    rivals = network.camps[agents][:, None] * network.camps < 0
    return np.where(rivals, away + away.max(), away)


def _all_pairs(away: Places) -> Pairs:
    """Return every pair, weighted by the inverse square of its distance."""
    ends = np.stack(np.triu_indices(len(away), 1), axis=1).astype(np.int32)
    distances = away[ends[:, 0], ends[:, 1]]
    # The weights of stress majorisation, d⁻²: relative rather than absolute errors count, which makes near pairs
    # accurate.
    return Pairs(ends, distances, np.repeat(1 / distances[:, None] ** 2, 2, axis=1))


def _some_pairs(network: Network, pivots: NDArray[np.int64], far: Places) -> Pairs:
    """Return the edges, and each agent with each pivot; the latter pairs move the agent, not the pivot."""
    sources, targets, _ = network.edges()
    if network.signed:
        # An edge between rivals would draw them together; the pivots place them.
        friends = network.camps[sources] * network.camps[targets] >= 0
        sources, targets = sources[friends], targets[friends]
    agents = np.tile(np.arange(network.n, dtype=np.int32), pivots.size)
    far_ends = np.stack([agents, np.repeat(pivots, network.n)], axis=1)
    away, weight = far.ravel(), _represented(far).ravel()
    # A pivot has no distance to itself to be corrected.
    others = away > 0
    # A pivot stands for the agents around it, so its pair weighs as much as all of theirs.
    far_ends, away, weight = far_ends[others], away[others], weight[others] / away[others] ** 2
    ends = np.concatenate([np.stack([sources, targets], axis=1), far_ends]).astype(np.int32)
    # Weight 0 on the pivot's end: with hundreds of thousands of pairs it would be moved by all of them.
    weights = np.concatenate([np.ones((sources.size, 2)), np.stack([weight, np.zeros(weight.size)], axis=1)])
    return Pairs(ends, np.concatenate([np.ones(sources.size), away]), weights)


def _represented(far: Places) -> Places:
    """Return, for each pivot and agent, how many agents of the pivot's region are within half the distance."""
    own = np.argmin(far, axis=0)
    counts = np.zeros_like(far)
    for pivot, away in enumerate(far):
        # Sorted distances turn the count within each radius into a binary search.
        nearby = np.sort(away[own == pivot])
        counts[pivot] = np.searchsorted(nearby, away / 2, side="right")
    return counts


def _start(far: Places, rng: np.random.Generator) -> Places:
    """Return pivot multidimensional scaling: the two principal directions of the distances to the pivots."""
    squares = far.T**2
    # Double centring of squared distances gives inner products, as in classical scaling.
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    # The product has pivots × pivots entries, so the directions are cheap for any number of agents.
    places = centred @ _principal_directions(centred.T @ centred, rng)
    # Agents with the same neighbours would start, and stay, at the same point.
    jitter = rng.uniform(-0.1, 0.1, places.shape)
    # Scaled to the diameter in hops: the first round need not shrink or inflate the whole drawing.
    started: Places = places * (far.max() / max(float(np.abs(places).max()), 1e-9)) + jitter
    # The descent amplifies a difference in the last bit to the size of the drawing, and linear algebra rounds
    # differently with another number of threads or another processor.
    return started.round(DIGITS)


def _principal_directions(gram: Places, rng: np.random.Generator) -> Places:
    """Return two orthonormal directions near the principal ones, by a fixed number of orthogonal iterations.

    Unlike eigenvectors, whose signs and whose basis for equal eigenvalues are arbitrary, these depend continuously on
    the matrix: the random start decides.
    """
    first, second = rng.normal(size=(2, len(gram)))
    for _ in range(ITERATIONS):
        first, second = gram @ first, gram @ second
        largest = max(float(np.linalg.norm(first)), 1e-300)
        first /= largest
        second -= (first @ second) * first
        size = float(np.linalg.norm(second))
        # The distances of a line have one direction only; of the second, rounding errors would be left.
        second = second / size if size > 1e-12 * largest else np.zeros_like(second)
    return np.stack([first, second], axis=1)


def _turned(places: Places) -> Places:
    """Return the positions rotated to their principal axes."""
    x, y = (places - places.mean(axis=0)).T
    # Written out, because the rounding of a matrix product depends on the processor.
    angle = math.atan2(2 * (x * y).sum(), (x * x).sum() - (y * y).sum()) / 2
    cos, sin = math.cos(angle), math.sin(angle)
    turned = np.stack([cos * x + sin * y, cos * y - sin * x], axis=1)
    # The sign of an axis is arbitrary; the longer tail points to the right, and up.
    # Third moments are 0 for symmetric drawings only, where either sign gives the same picture.
    return turned * np.where((turned**3).sum(axis=0) < 0, -1.0, 1.0)


def _scaled(places: Places) -> Drawing:
    """Return the positions shifted and scaled into the frame."""
    centred = places - (places.max(axis=0) + places.min(axis=0)) / 2
    framed: Drawing = (centred / max(float(np.abs(centred).max()), 1e-9)).astype(np.float32)
    return framed


def dot_radii(places: Drawing, sizes: NDArray[Any], touching: float | None = None) -> NDArray[np.float32]:
    """Return the radius of each agent's dot in units of the layout, (agents,): hubs larger, and few dots overlapping.

    ``sizes`` are the degrees, and ``touching`` the share of dots that may touch the nearest one: by default none of a
    few agents. The area grows with the degree, from dots of equal size where the degrees differ by a factor of 2 at
    most to HUB times the area of the smallest dot.
    """
    from scipy.spatial import cKDTree

    smallest, highest = float(sizes.min()), float(sizes.max())
    # The ends of a line and the border of a lattice are no smaller than the rest.
    largest = min(max(highest / max(smallest, 1e-3 * highest, 1e-300) - 1, 1.0), HUB)
    areas = 1 + (largest - 1) * (sizes - smallest) / max(highest - smallest, 1e-300)
    radii = np.sqrt(areas)
    distances, other = cKDTree(places).query(places, k=2)
    if touching is None:
        many = TOUCHING if len(places) <= MANY_AGENTS else TOUCHING_OF_MANY
        touching = 0.0 if len(places) <= FEW_AGENTS else many
    scale = np.quantile(distances[:, 1] / (radii + radii[other[:, 1]]), touching)
    return (min(float(scale), MOST_RADIUS) * radii).astype(np.float32)
