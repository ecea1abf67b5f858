"""Components, two-colouring, structural balance and left null vectors: the structure of a network.

Row i of the adjacency A holds whom agent i listens to, and D⁻¹|A| is a Markov chain (``chain``). A connected symmetric
network is one closed class.

References
----------
.. [1] F. Harary, "On the notion of balance of a signed graph", Michigan Math. J. 2 (1953).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph, csr_array

from peerpressure.networks.chain import Positions, double_cover, stationary


def components(adjacency: csr_array) -> tuple[int, NDArray[np.int32]]:
    """Return the number of connected components and the component of every agent."""
    # "weak" on a symmetric matrix is plain connectivity, and the fastest of SciPy's three routines.
    count, member = csgraph.connected_components(adjacency, directed=True, connection="weak")
    return int(count), member


def parents_from_first(adjacency: csr_array) -> NDArray[np.int32]:
    """Return the parents in a breadth-first tree from the first agent, negative for it and for those out of reach."""
    # The matrix is symmetric, so a directed search finds the same and skips building the transpose.
    parent: NDArray[np.int32]
    _, parent = csgraph.breadth_first_order(adjacency, 0, directed=True)
    return parent


def is_colouring(adjacency: csr_array, colours: NDArray[np.bool_]) -> bool:
    """Return whether every edge links two colours; one within a colour of a tree's depths closes an odd cycle."""
    # The colour of the row's agent for each stored entry.
    rows = np.repeat(colours, np.diff(adjacency.indptr))
    return not np.any(rows == colours[adjacency.indices])


def odd_in_tree(parent: NDArray[np.int32], root: int) -> NDArray[np.bool_]:
    """Return whether each agent of a tree has an odd depth; the root's parent is ignored."""
    # Every agent but the root is one step from its parent, hence odd.
    return _odd_from_root(parent, root, np.arange(parent.size) != root)


def _odd_from_root(parent: NDArray[np.int32], root: int, odd: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether the links from each agent up to the root that are ``odd`` are odd in number."""
    jump = parent.copy()
    # The root is its own parent, where all jumps end.
    jump[root] = root
    # Pointer jumping: doubling the jump finds the parity of every agent in log2(depth) gathers, without a loop
    # over agents.
    while np.any(jump != root):
        odd = odd ^ odd[jump]
        jump = jump[jump]
    return odd


def odd_depths(adjacency: csr_array, starts: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return whether each agent has an odd depth in the breadth-first tree that grows from the starts."""
    n = int(adjacency.shape[0])
    # The extra root adds 1 to every depth: starts have depth 1 and get the colour False.
    colours: NDArray[np.bool_] = ~odd_in_tree(_parents_from(adjacency, starts), n)[:n]
    return colours


def _parents_from(adjacency: csr_array, starts: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the parents in a breadth-first tree of all components; those of the starts are n, one more agent."""
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
    return parent


def camps(adjacency: csr_array, *, directed: bool) -> NDArray[np.int8]:
    """Return the camp of every agent, 1 or −1, where its component is structurally balanced, and 0 elsewhere.

    A component is balanced if its agents form two camps with positive weights inside and negative ones across; the
    first agent of a component is in camp 1.
    """
    return _camps_by_cover(adjacency) if directed else _camps_by_tree(adjacency)


def _camps_by_tree(adjacency: csr_array) -> NDArray[np.int8]:
    """Return the camps by a tree of each component: its signs make the camps, and every other edge agrees or not."""
    n, (_, component) = int(adjacency.shape[0]), components(adjacency)
    first = np.unique(component, return_index=True)[1].astype(np.int32)
    parent = _parents_from(adjacency, first)
    links = np.flatnonzero(parent[:n] < n)
    negative = np.zeros(n + 1, np.bool_)
    negative[links] = adjacency[links, parent[links]] < 0
    second = _odd_from_root(parent, n, negative)[:n]
    # An edge across camps with a positive weight, or inside of one with a negative weight, closes a cycle of a
    # negative product.
    crosses = np.repeat(second, np.diff(adjacency.indptr)) != second[adjacency.indices]
    broken = np.flatnonzero(crosses != (adjacency.data < 0))
    torn = np.zeros(first.size, np.bool_)
    torn[component[adjacency.indices[broken]]] = True
    return np.where(torn[component], 0, np.where(second, -1, 1)).astype(np.int8)


def _camps_by_cover(adjacency: csr_array) -> NDArray[np.int8]:
    """Return the camps by the double cover, in which an edge in either direction counts."""
    n = int(adjacency.shape[0])
    _, label = csgraph.connected_components(double_cover(adjacency), directed=True, connection="weak")
    _, component = csgraph.connected_components(adjacency, directed=True, connection="weak")
    first = np.unique(component, return_index=True)[1]
    # If a component is not balanced, an agent and its image are connected.
    sign = np.where(label[:n] == label[first[component]], 1, -1)
    return np.where(label[:n] == label[n:], 0, sign).astype(np.int8)


def left_null_vector(adjacency: csr_array, classes: list[Positions]) -> NDArray[np.float64]:
    """Return ℓ ≥ 0 with ℓᵀ(D − A) = 0 for weights A ≥ 0, with Σ ℓ d = Σ d over each closed class; 0 elsewhere.

    ℓ d is the stationary law of the chain P = D⁻¹A in each class, up to its scale. On a symmetric network ℓ = 1. An
    agent who listens to nobody has ℓ = 1.
    """
    vector = np.zeros(int(adjacency.shape[0]))
    for agents in classes:
        vector[agents] = 1.0
        if agents.size > 1:
            inside = csr_array(adjacency[agents][:, agents])
            degrees = np.asarray(inside.sum(axis=1))
            weights = stationary(inside) / degrees
            vector[agents] = weights * (degrees.sum() / (weights @ degrees))
    return vector
