"""Loops over edges that NumPy cannot vectorise: plain Python for small networks, compiled for large ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from peerpressure.support.progress import announce_compilation


@cache
def compiled(loop: Callable[..., None]) -> Callable[..., None]:
    """Return a loop of this module compiled by numba, which is imported only now because that takes long."""
    from numba import njit

    announce_compilation()
    # Generator.random consumes the same 64-bit word per draw in NumPy and in numba, so the results agree to the bit.
    twin: Callable[..., None] = njit(cache=True, nogil=True)(loop)
    return twin


def attach(ends: Any, marks: Any, m: int, rng: Any, triangle: bool = False) -> None:
    """Grow a network by preferential attachment.

    ``ends`` is filled with the two ends of every edge, newcomer first, in the order in which edges are made.  Agents
    0..m start as a star around 0, or agents 0, 1 and 2 as a ``triangle``.  Each later agent is linked to m distinct
    earlier ones, drawn with probability proportional to their degrees before it came.  An agent of degree k occurs k
    times in ``ends``, so a uniform draw from ``ends`` is a draw by degree.  ``marks``, one zero per agent, holds the
    last newcomer that chose each agent.
    """
    first = 3 if triangle else m + 1
    for leaf in range(1, first):
        ends[2 * leaf - 2] = leaf
        ends[2 * leaf - 1] = 0
    filled = 2 * (first - 1)
    if triangle:
        ends[filled], ends[filled + 1] = 2, 1
        filled += 2
    for newcomer in range(first, len(marks)):
        # Only the degrees before the newcomer came count, so its own edges are outside of the pool.
        pool = filled
        for _ in range(m):
            chosen = ends[int(rng.random() * pool)]
            # Draw again until the newcomer's neighbours are distinct.
            while marks[chosen] == newcomer:
                chosen = ends[int(rng.random() * pool)]
            marks[chosen] = newcomer
            ends[filled] = newcomer
            ends[filled + 1] = chosen
            filled += 2


def sweep_windows(
    sources: Any,
    targets: Any,
    firsts: Any,
    lasts: Any,
    ranks: Any,
    window: int,
    parent: Any,
    since: Any,
    counts: Any,
    reach: Any,
    component_counts: Any,
) -> None:
    """Find, for each first step, the shortest window whose union of networks is connected.

    Edge intervals, sorted by decreasing ``lasts``, link two agents from a first to a last step.  ``reach[s]`` becomes
    the first step e such that the union over s…e is connected, or 0 if there is none.  ``component_counts[k]`` becomes
    the number of connected components of the union over the steps k·window + 1…(k + 1)·window.

    The loop runs from the last step to the first.  Seen from s, an interval that is not over links its agents in the
    union over s…e for all e ≥ its first step.  So it suffices to keep a minimum spanning forest with the first steps as
    edge costs, in which a new interval replaces the latest link on the cycle that it closes.  The forest is stored as
    trees that have the same components up to every e: agents of higher ``ranks``, a random order, are nearer to the
    root, so paths have a length of order log n.  Agent u is linked to ``parent[u]`` from the first step ``since[u]``
    on; for roots it lies beyond the horizon.  ``counts``, zero for each step, counts the links by their first steps.
    """
    n, horizon = len(ranks), len(reach) - 1
    links, before, top, interval = 0, 0, horizon, 0
    for s in range(horizon, 0, -1):
        before -= counts[s]  # number of links with a first step before s
        while interval < len(lasts) and lasts[interval] >= s:
            u, v, first = sources[interval], targets[interval], firsts[interval]
            counts[first] += 1
            before += first < s
            while True:
                # Climb to the agents that represent the two ends among the links from ``first`` or earlier.
                while since[u] <= first:
                    u = parent[u]
                while since[v] <= first:
                    v = parent[v]
                if u == v:
                    # The latest link of the cycle is redundant.
                    counts[first] -= 1
                    before -= first < s
                    break
                if ranks[u] > ranks[v]:
                    u, v = v, u
                # u gets the earlier link; the link that it had is inserted further up.
                above, later = parent[u], since[u]
                parent[u], since[u] = v, first
                # u was a root, so two trees are joined and no link is displaced.
                if later > horizon:
                    links += 1
                    break
                # The displaced link now joins v with the former parent, since u is linked with v from an earlier step
                # on.
                u, v, first = v, above, later
            interval += 1
        if links == n - 1:
            # New intervals only replace later links by earlier ones, so the latest link of the tree never gets later
            # and top only falls.
            while counts[top] == 0:
                top -= 1
            # A link from before s is present at s already.
            reach[s] = max(s, top)
        if (s - 1) % window == 0 and (s - 1) // window < len(component_counts):
            # Links of the forest that begin up to the last step of the window belong to its union; each removes one
            # component.
            within = before
            for first in range(s, s + window):
                within += counts[first]
            component_counts[(s - 1) // window] = n - within
