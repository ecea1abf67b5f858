"""Components, closed classes, periods and structural balance: the structure of a network that decides its long run.

Row i of the adjacency A holds whom agent i listens to, so that P = D⁻¹|A| with d_i = Σ_j |a_ij| is a Markov chain. Its
*closed classes* are the sets of agents who listen to each other, directly or through others, and to nobody else; an
agent who listens to nobody is one by itself. All others are *transient*. A connected symmetric network is one class.

A signed network is judged by its *double cover*, which has every agent i twice, as i and as its mirror image with the
opposite opinion: a negative weight links i with the image of j. The cover has no negative weights.

References
----------
.. [1] J. G. Kemeny, J. L. Snell, "Finite Markov Chains" (1960).
.. [2] F. Harary, "On the notion of balance of a signed graph", Michigan Math. J. 2 (1953).
.. [3] C. Altafini, "Consensus problems on networks with antagonistic interactions", IEEE Trans. Autom. Control 58
   (2013).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph, csr_array
from scipy.sparse.linalg import splu

from peerpressure.progress import checkpoint

Positions = NDArray[np.int64]

# Up to this size a factorisation takes well below a second on every kind of graph.
DIRECT = 5_000
# Power iterations before a factorisation is tried all the same, and their relative precision.
ITERATIONS = 5_000
PRECISION = 1e-14


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


def split_by_label(label: NDArray[np.integer[Any]], count: int) -> list[Positions]:
    """Return the positions that bear each label from 0 to count − 1."""
    # Stable, so that the agents of a part stay in increasing order.
    order = np.argsort(label, kind="stable")
    return np.split(order, np.searchsorted(label[order], np.arange(1, count)))


def closed_classes(adjacency: csr_array) -> list[Positions]:
    """Return the closed classes, the largest first; those of equal size in the order of their first agents."""
    count, label = csgraph.connected_components(adjacency, directed=True, connection="strong")
    rows = np.repeat(label, np.diff(adjacency.indptr))
    left = np.zeros(count, dtype=np.bool_)
    # A class is closed if no edge leads out of it.
    left[rows[rows != label[adjacency.indices]]] = True
    members = split_by_label(label, int(count))
    closed = [members[k] for k in np.flatnonzero(~left)]
    return sorted(closed, key=lambda agents: (-agents.size, int(agents[0])))


def phases(adjacency: csr_array, agents: Positions) -> tuple[int, Positions]:
    """Return the period h of a closed class, and the phase 0…h−1 of each of its agents.

    h is the greatest common divisor of the lengths of its cycles, and an agent of phase k listens to agents of phase
    k + 1 (mod h). A class of one agent has the period 1.
    """
    if agents.size == 1:
        return 1, np.zeros(1, dtype=np.int64)
    inside = csr_array(adjacency[agents][:, agents])
    _, parent = csgraph.breadth_first_order(inside, 0, directed=True)
    parent[0] = 0
    depth = np.ones(agents.size, dtype=np.int64)
    depth[0] = 0
    # Pointer jumping sums along every path to the root in log2(depth) gathers, without a loop over agents.
    while np.any(parent):
        depth = depth + depth[parent]
        parent = parent[parent]
    # For every edge, depth(start) + 1 − depth(end) is a multiple of the period, and their gcd is the period.
    around = np.repeat(depth, np.diff(inside.indptr)) + 1 - depth[inside.indices]
    h = int(np.gcd.reduce(np.abs(around)))
    return h, depth % h


def camps(adjacency: csr_array) -> NDArray[np.int8]:
    """Return the camp of every agent, 1 or −1, where its component is structurally balanced, and 0 elsewhere.

    A component is balanced if its agents form two camps with positive weights inside and negative ones across; the
    first agent of a component is in camp 1.
    """
    n = int(adjacency.shape[0])
    _, label = csgraph.connected_components(double_cover(adjacency), directed=True, connection="weak")
    _, component = csgraph.connected_components(adjacency, directed=True, connection="weak")
    first = np.unique(component, return_index=True)[1]
    # Where a component is not balanced, an agent and its image are connected.
    sign = np.where(label[:n] == label[first[component]], 1, -1)
    return np.where(label[:n] == label[n:], 0, sign).astype(np.int8)


def double_cover(adjacency: csr_array) -> csr_array:
    """Return the adjacency of agents and images, (2n, 2n), without negative weights."""
    positive, negative = (csr_array(adjacency.multiply(adjacency > 0)), csr_array(-adjacency.multiply(adjacency < 0)))
    return csr_array(sparse.block_array([[positive, negative], [negative, positive]], format="csr"))


def left_null_vector(adjacency: csr_array, classes: list[Positions]) -> NDArray[np.float64]:
    """Return ℓ ≥ 0 with ℓᵀ(D − A) = 0 for weights A ≥ 0, with Σ ℓ d = Σ d over each closed class; 0 elsewhere.

    ℓ d is the stationary law of the chain P = D⁻¹A in each class, up to its scale. On a symmetric network ℓ = 1. An
    agent who listens to nobody has ℓ = 1.
    """
    found = np.zeros(int(adjacency.shape[0]))
    for agents in classes:
        found[agents] = 1.0
        if agents.size > 1:
            inside = csr_array(adjacency[agents][:, agents])
            degrees = np.asarray(inside.sum(axis=1))
            weights = _stationary(inside, degrees) / degrees
            found[agents] = weights * (degrees.sum() / (weights @ degrees))
    return found


def _stationary(A: csr_array, degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ϖ with ϖ D⁻¹A = ϖ, up to its scale, of an irreducible matrix."""
    n = degrees.size
    back = csr_array((sparse.diags_array(1 / degrees) @ A).T)
    if n > DIRECT:
        # Half a step of the chain has no eigenvalue on the unit circle besides 1, whatever the period.
        pi = np.full(n, 1 / n)
        for _ in range(ITERATIONS):
            checkpoint()
            new = 0.5 * (pi + back @ pi)
            if np.abs(new - pi).sum() <= PRECISION:
                return np.asarray(new)
            pi = new
    # With ϖ_0 = 1 the other equations have a non-singular matrix (I − Pᵀ without its first row and column).
    matrix = sparse.csc_array(sparse.eye_array(n, format="csc") - back.tocsc())
    rest = splu(sparse.csc_array(matrix[1:, 1:])).solve(-matrix[1:, [0]].toarray().ravel())
    # Rounding may leave a tiny negative weight where the true one is positive and tiny.
    return np.concatenate([[1.0], np.maximum(rest, 0.0)])


def absorbed(adjacency: csr_array, known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the states that are ``known``, and for transient agents, NaN there, the mean over whom they listen to.

    The mean is that of D⁻¹A with d = Σ|a|, in which a negative weight counts the opposite opinion: the mixture of the
    known values by the probabilities with which the chain is absorbed in them.
    """
    state = known.copy()
    transient = np.isnan(known)
    if np.any(transient):
        rows = adjacency[transient]
        degrees = np.asarray(abs(rows).sum(axis=1))
        matrix = sparse.csc_array(sparse.diags_array(degrees) - rows[:, transient])
        state[transient] = splu(matrix).solve(np.asarray(rows[:, ~transient] @ known[~transient]))
    return state


def limit_state(
    adjacency: csr_array, stubbornness: NDArray[np.float64], opinions: NDArray[np.float64], *, signed: bool
) -> NDArray[np.float64]:
    """Return the limit of (S + ρL)⁻¹S x as ρ → ∞, shape (agents,): where slowly growing pressure leads.

    The agents of a closed class come to the mean of its opinions with the weights ℓs, and transient agents to a mixture
    of these means. On a signed network that holds on the double cover, where images have the opposite opinions: two
    camps come to opposite values, and a class without balance, which has agents and their images, to 0.
    """
    n = opinions.size
    if signed:
        adjacency = double_cover(adjacency)
        opinions, stubbornness = np.concatenate([opinions, -opinions]), np.tile(stubbornness, 2)
    classes = closed_classes(adjacency)
    weights = left_null_vector(adjacency, classes) * stubbornness
    known = np.full(opinions.size, np.nan)
    for agents in classes:
        share = weights[agents] / weights[agents].max()
        neutral = signed and agents[-1] >= n and bool(np.any(np.isin(agents - n, agents)))
        known[agents] = 0.0 if neutral else share @ opinions[agents] / share.sum()
    return absorbed(adjacency, known)[:n]
