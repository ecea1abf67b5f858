"""Markov chains on sparse matrices: closed classes, periods, stationary laws and absorption, implemented once.

A matrix A of weights is the chain P = D⁻¹|A| with d_i = Σ_j |a_ij|: row i holds where a state leads. Its *closed
classes* are the sets of states that lead to each other and to nowhere else; a state that leads nowhere is one by
itself. All others are *transient*. States may be agents, pairs of an agent and a step, or public and hidden opinions.

A matrix with negative weights is judged by its *double cover*, which has every state i twice, as i and as its mirror
image with the opposite sign: a negative weight links i with the image of j. The cover has no negative weights.

References
----------
.. [1] J. G. Kemeny, J. L. Snell, "Finite Markov Chains" (1960).
.. [2] C. Altafini, "Consensus problems on networks with antagonistic interactions", IEEE Trans. Autom. Control 58
   (2013).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph, csr_array
from scipy.sparse.linalg import LinearOperator, bicgstab, cg, splu

from peerpressure.support.progress import check_cancelled
from peerpressure.support.resources import one_thread

Positions: TypeAlias = NDArray[np.int64]

# Up to this size a factorisation takes well below a second on every kind of graph.
DIRECT = 5_000
# Power iterations before a factorisation is tried all the same, and their relative precision.
ITERATIONS = 5_000
PRECISION = 1e-14
# The part of a step in an iteration: the more, the faster where eigenvalues are small, as of random networks.
TAKEN = 0.75
# The same for absorption, whose factors fill up more; rounds of iterations, and what a round leaves of a residual.
FACTORED = 1_000
REFINEMENTS, MOST_ITERATIONS = 6, 2_000
# Conjugate gradients lose what they have learned with every round; the other method stagnates in a long one.
ROUND_SYMMETRIC, ROUND = 1e-13, 1e-6


def split_by_label(label: NDArray[np.integer[Any]], count: int) -> list[Positions]:
    """Return the positions that bear each label from 0 to count − 1."""
    # A stable sort keeps the states of a part in increasing order.
    order = np.argsort(label, kind="stable")
    return np.split(order, np.searchsorted(label[order], np.arange(1, count)))


def communicating_classes(matrix: csr_array) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the communicating class of every state, and of each class whether it is closed."""
    count, label = csgraph.connected_components(matrix, directed=True, connection="strong")
    rows = np.repeat(label, np.diff(matrix.indptr))
    closed = np.ones(count, dtype=np.bool_)
    # A class is closed if no edge leads out of it.
    closed[rows[rows != label[matrix.indices]]] = False
    return label, closed


def closed_classes(matrix: csr_array) -> list[Positions]:
    """Return the closed classes, the largest first; those of equal size in the order of their first states."""
    label, closed = communicating_classes(matrix)
    # Most classes of a network in which many are followed are single states that are not closed.
    states = np.flatnonzero(closed[label])
    if not np.any(closed):
        return []
    members = split_by_label((np.cumsum(closed) - 1)[label[states]], int(np.count_nonzero(closed)))
    return sorted((states[part] for part in members), key=lambda one: (-one.size, int(one[0])))


def phases(matrix: csr_array, states: Positions) -> tuple[int, Positions]:
    """Return the period h of a closed class, and the phase 0…h−1 of each of its states.

    h is the greatest common divisor of the lengths of its cycles, and a state of phase k leads to states of phase
    k + 1 (mod h). A class of one state has the period 1.
    """
    if states.size == 1:
        return 1, np.zeros(1, dtype=np.int64)
    inside = csr_array(matrix[states][:, states])
    _, parent = csgraph.breadth_first_order(inside, 0, directed=True)
    parent[0] = 0
    depth = np.ones(states.size, dtype=np.int64)
    depth[0] = 0
    # Pointer jumping sums along every path to the root in log2(depth) gathers, without a loop over states.
    while np.any(parent):
        depth = depth + depth[parent]
        parent = parent[parent]
    # For every edge, depth(start) + 1 − depth(end) is a multiple of the period, and their gcd is the period.
    around = np.repeat(depth, np.diff(inside.indptr)) + 1 - depth[inside.indices]
    h = int(np.gcd.reduce(np.abs(around)))
    return h, depth % h


def double_cover(matrix: csr_array) -> csr_array:
    """Return the weights between states and images, (2n, 2n), none of them negative."""
    positive, negative = (csr_array(matrix.multiply(matrix > 0)), csr_array(-matrix.multiply(matrix < 0)))
    return csr_array(sparse.block_array([[positive, negative], [negative, positive]], format="csr"))


def stationary(matrix: csr_array) -> NDArray[np.float64]:
    """Return ϖ with ϖ D⁻¹A = ϖ, up to its scale, of an irreducible matrix A ≥ 0."""
    degrees = np.asarray(matrix.sum(axis=1))
    n = degrees.size
    back = csr_array((sparse.diags_array(1 / degrees) @ matrix).T)
    if n > DIRECT:
        # A part of a step of the chain has no eigenvalue on the unit circle besides 1, whatever the period.
        pi = np.full(n, 1 / n)
        for _ in range(ITERATIONS):
            check_cancelled()
            change = back @ pi
            change -= pi
            change *= TAKEN
            pi += change
            if np.abs(change, out=change).sum() <= PRECISION:
                return pi
    # With ϖ_0 = 1 the other equations have a non-singular matrix (I − Pᵀ without its first row and column).
    system = sparse.csc_array(sparse.eye_array(n, format="csc") - back.tocsc())
    rest = splu(sparse.csc_array(system[1:, 1:])).solve(-system[1:, [0]].toarray().ravel())
    # Rounding may leave a tiny negative weight where the true one is positive and tiny.
    return np.concatenate([[1.0], np.maximum(rest, 0.0)])


def absorbed(matrix: csr_array, known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values that are ``known``, and for transient states, NaN there, the mean over where they lead.

    The mean is that of D⁻¹A with d = Σ|a|, in which a negative weight counts the opposite value: the mixture of the
    known values by the probabilities with which the chain is absorbed in them.
    """
    values = known.copy()
    transient = np.isnan(known)
    if np.any(transient):
        rows = matrix[transient]
        degrees = np.asarray(abs(rows).sum(axis=1))
        system = csr_array(sparse.diags_array(degrees, format="csr") - rows[:, transient])
        values[transient] = _solved(system, degrees, np.asarray(rows[:, ~transient] @ known[~transient]))
    return values


def leads_to(matrix: csr_array, states: Positions) -> NDArray[np.bool_]:
    """Return which states the chain can lead from to one of ``states``, themselves included."""
    n = matrix.shape[0]
    # From one more state that all of them lead to, backwards.
    back = csr_array(abs(matrix).T)
    source = csr_array((np.ones(states.size), (np.zeros(states.size, np.int64), states)), shape=(1, n))
    graph = sparse.block_array([[back, None], [source, csr_array((1, 1))]], format="csr")
    found = np.zeros(n + 1, np.bool_)
    found[csgraph.breadth_first_order(graph, n, return_predecessors=False)] = True
    return np.asarray(found[:n])


def followed(matrix: csr_array, classes: list[Positions]) -> Positions:
    """Return the number of the closed class that each state ends in whatever happens, −1 if there are several.

    ``classes`` are all closed classes; weights are not negative.
    """
    label, closed = communicating_classes(matrix)
    ends = label[[int(states[0]) for states in classes]]
    # Between classes only: those of a connected network are few.
    rows, columns = np.repeat(label, np.diff(matrix.indptr)), label[matrix.indices]
    out = rows != columns
    between = csr_array((np.ones(np.count_nonzero(out)), (rows[out], columns[out])), shape=(closed.size, closed.size))
    # Digit by digit of the number: a class that leads to both values of a digit leads to several.
    number, several = np.zeros(closed.size, np.int64), np.zeros(closed.size, np.bool_)
    for digit in range(len(classes).bit_length()):
        ones = (np.arange(len(classes)) >> digit) & 1 == 1
        one, zero = (leads_to(between, ends[which].astype(np.int64)) for which in (ones, ~ones))
        number |= one.astype(np.int64) << digit
        several |= one & zero
    return np.where(several, -1, number)[label]


def _solved(system: csr_array, degrees: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve D − A, whose rows are diagonally dominant: by iteration where there are many, else by factors."""
    # Factors of a random network fill up: those of 10⁴ agents take minutes. Where iterations do not end, as on long
    # paths, the factors are sparse.
    solution = _iterated(system, degrees, right) if degrees.size > FACTORED else None
    return np.asarray(splu(sparse.csc_array(system)).solve(right)) if solution is None else solution


def _iterated(rows: csr_array, degrees: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the solution by conjugate gradients, or None where that takes too many iterations."""
    symmetric = abs(rows - rows.T).max() == 0
    method, precision = (cg, ROUND_SYMMETRIC) if symmetric else (bicgstab, ROUND)
    # Exact where all lead to the same value.
    outwards = float(rows.sum()) or 1.0

    def precondition(r: NDArray[np.float64]) -> NDArray[np.float64]:
        check_cancelled()
        # Where few lead out, a common shift of all values is nearly free, and by far the slowest to converge.
        return np.asarray(r / degrees + r.sum() / outwards)

    scale = LinearOperator(rows.shape, matvec=precondition, dtype=np.float64)
    solution = np.full(degrees.size, float(right.sum() / outwards))
    size = max(float(np.abs(right / degrees).max()), float(np.abs(solution[0])), 1e-300)
    for _ in range(REFINEMENTS):
        # Refined: residuals of a solution that is nearly right are computed to more digits than the solver's own.
        residual = right - rows @ solution
        if float(np.max(np.abs(residual) / degrees)) <= PRECISION * size:
            return solution
        # Of size 1, because the solvers take products below about 1e-31 for a breakdown.
        length = float(np.linalg.norm(residual))
        # Threads of linear algebra wait for each other longer than a product of two vectors takes.
        with one_thread():
            change, failed = method(rows, residual / length, rtol=precision, maxiter=MOST_ITERATIONS, M=scale)
        if failed:
            return None
        solution = solution + length * change
    return None
