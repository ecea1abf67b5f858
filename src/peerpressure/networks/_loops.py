"""Preferential attachment, written once: run as plain Python for small graphs, compiled for large ones."""

from __future__ import annotations

from typing import Any


def attach(ends: Any, marks: Any, m: int, rng: Any) -> None:
    """Fill ``ends`` with the two ends of every edge, newcomer first, in the order in which they are made.

    Agents 0..m start as a star around 0.  Each later agent joins m distinct earlier ones, drawn with
    probability proportional to their degrees before it came: an agent of degree k stands k times in
    ``ends``, so a uniform place there is a draw by degree.  ``marks``, one zero per agent, holds the
    last newcomer that chose each agent.
    """
    for leaf in range(1, m + 1):
        ends[2 * leaf - 2] = leaf
        ends[2 * leaf - 1] = 0
    filled = 2 * m
    for newcomer in range(m + 1, len(marks)):
        pool = filled
        for _ in range(m):
            chosen = ends[int(rng.random() * pool)]
            while marks[chosen] == newcomer:
                chosen = ends[int(rng.random() * pool)]
            marks[chosen] = newcomer
            ends[filled] = newcomer
            ends[filled + 1] = chosen
            filled += 2


# When a network that changes holds together, written once: plain Python for small ones, compiled for large ones.


def sweep(
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
    pieces: Any,
) -> None:
    """Go from the last step to the first, and find how far the union of the networks from each on must go.

    Spells, in the order of falling ``lasts``, join agents from a first to a last step.  ``reach[s]`` becomes the
    first step e such that the union over s…e is connected, or 0 if none is.  ``pieces[k]`` becomes the number of
    components of the union over the steps k·window + 1…(k + 1)·window.

    Seen from s, a spell that is not yet over joins its agents in the union over s…e for all e ≥ its first step.
    So what counts is a spanning forest whose links have first steps as early as can be, in which a new spell takes
    the place of the latest link on the cycle that it closes.  The forest is kept as trees that have the same
    components up to every e: agents of higher ``ranks``, a random order, stand nearer to the root, so paths are of
    the order of log n.  Agent u hangs from ``parent[u]`` by a link of the first step ``since[u]``; roots have one
    beyond the horizon.  ``counts``, zero for each step, comes to hold the links by their first steps.
    """
    n, horizon = len(ranks), len(reach) - 1
    links, before, top, spell = 0, 0, horizon, 0
    for s in range(horizon, 0, -1):
        before -= counts[s]  # links from before s
        while spell < len(lasts) and lasts[spell] >= s:
            u, v, first = sources[spell], targets[spell], firsts[spell]
            counts[first] += 1
            before += first < s
            while True:
                while since[u] <= first:
                    u = parent[u]
                while since[v] <= first:
                    v = parent[v]
                if u == v:
                    # The latest link of the cycle is left over.
                    counts[first] -= 1
                    before -= first < s
                    break
                if ranks[u] > ranks[v]:
                    u, v = v, u
                above, later = parent[u], since[u]
                parent[u], since[u] = v, first
                if later > horizon:
                    links += 1
                    break
                u, v, first = v, above, later
            spell += 1
        if links == n - 1:
            while counts[top] == 0:
                top -= 1
            reach[s] = max(s, top)
        if (s - 1) % window == 0 and (s - 1) // window < len(pieces):
            within = before
            for first in range(s, s + window):
                within += counts[first]
            pieces[(s - 1) // window] = n - within
