"""Connected components and two-colouring of a graph, in linear time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph, csr_array


def components(adjacency: csr_array) -> tuple[int, NDArray[np.int32]]:
    """Return the number of connected components and the component of every agent."""
    # "weak" on a symmetric matrix is plain connectivity, and the fastest of SciPy's three routines.
    count, member = csgraph.connected_components(adjacency, directed=True, connection="weak")
    return int(count), member


def is_connected(adjacency: csr_array) -> bool:
    """Return whether a breadth-first search from the first agent reaches all others."""
    # The matrix is symmetric, so a directed search finds the same and skips building the transpose.
    reached = csgraph.breadth_first_order(adjacency, 0, directed=True, return_predecessors=False)
    return len(reached) == int(adjacency.shape[0])


def two_colouring(adjacency: csr_array, starts: NDArray[np.int32]) -> NDArray[np.bool_] | None:
    """Return the colour of every agent (False for the starts), or None if there is an odd cycle.

    ``starts`` holds one agent of each connected component.
    """
    colours = odd_depths(adjacency, starts)
    # The colour of the row's agent for each stored entry; an edge within one colour closes an odd cycle.
    rows = np.repeat(colours, np.diff(adjacency.indptr))
    return None if np.any(rows == colours[adjacency.indices]) else colours


def odd_depths(adjacency: csr_array, starts: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return whether each agent has an odd depth in the breadth-first tree that grows from the starts."""
    n = int(adjacency.shape[0])
    # One extra root with edges to all starts lets a single search cover all components.
    rooted = csr_array(
        (
            np.concatenate([adjacency.data, np.ones(len(starts))]),
            np.concatenate([adjacency.indices, starts.astype(adjacency.indices.dtype)]),
            np.append(adjacency.indptr, adjacency.indptr[-1] + len(starts)),
        ),
        shape=(n + 1, n + 1),
    )
    parent: NDArray[np.int32]
    _, parent = csgraph.breadth_first_order(rooted, n, directed=True)
    # The root is its own parent, where all jumps end.
    parent[n] = n
    # Pointer jumping: doubling the jump finds the parity of every depth in log2(depth) gathers, without a loop
    # over agents.
    # Every agent but the root is one step from its parent, hence odd.
    odd: NDArray[np.bool_] = np.arange(n + 1) != n
    while np.any(parent != n):
        odd ^= odd[parent]
        parent = parent[parent]
    # The extra root adds 1 to every depth: starts have depth 1 and get the colour False.
    colours: NDArray[np.bool_] = ~odd[:n]
    return colours
