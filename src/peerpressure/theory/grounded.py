"""Solving M z = b for M = a·S + L, near-singular along the vector of ones, where sᵀz = 0 is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg, splu

from peerpressure.model import Vector

Solver: TypeAlias = Callable[[Vector], Vector]

# Measured on two cores: up to this size a factorisation takes less than 0.1 s on every kind of graph.
SMALL = 5_000
# Sparse factorisation is linear on trees, but ordering takes time quadratic in the largest hub.
TREE_LIKE = 1.01
LARGEST_HUB = 20_000
# A graph on which this does not do is nearly a chain or a grid, which factorises well at any size.
ITERATIONS = 500
PRECISION = 1e-9


def balanced_solver(matrix: sparse.csr_array, s: Vector) -> Solver:
    """Return the map from b with Σb = 0 to the z with M z = b and sᵀz = 0.

    Small graphs and trees are factorised; elsewhere conjugate gradients are faster, as social networks mix
    fast, and where they stall (a large grid) a factorisation takes over.
    """
    n = matrix.shape[0]
    edges = (matrix.nnz - n) / 2
    hub = int(np.diff(matrix.indptr).max())
    if n <= SMALL or (edges <= TREE_LIKE * n and hub <= LARGEST_HUB):
        return _factorised(matrix, s)
    return _iterated(matrix, s)


def _factorised(matrix: sparse.csr_array, s: Vector) -> Solver:
    """Factorise M with a spring that holds the largest hub, and let go of it by sᵀz = 0.

    With e the hub's unit vector, (M + μ e eᵀ) z = b + μ z_hub e, so that z = w + k u for the solutions w of b
    and u of e; and sᵀz = 0 gives k without the cancellation of 1 − μ u_hub.
    """
    diagonal = matrix.diagonal()
    hub = int(np.argmax(diagonal))
    spring = sparse.coo_array(([diagonal[hub]], ([hub], [hub])), shape=matrix.shape)
    held = sparse.csc_array(matrix + spring)
    factors = splu(held, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    unit = np.zeros(diagonal.size)
    unit[hub] = 1.0
    u, p = factors.solve(unit), s / s.sum()

    def solve(b: Vector) -> Vector:
        # Rounding in Σb would otherwise be taken up by the hub alone.
        w = factors.solve(b - p * b.sum())
        return np.asarray(w - u * ((s @ w) / (s @ u)))

    return solve


def _iterated(matrix: sparse.csr_array, s: Vector) -> Solver:
    """Return conjugate gradients within sᵀz = 0, preconditioned by the diagonal.

    The preconditioner is P D⁻¹Pᵀ with P = I − 1sᵀ/Σs, symmetric on that subspace; the spectrum left is that
    of the normalised Laplacian without its zero.
    """
    p = s / s.sum()
    diagonal = matrix.diagonal()

    def precondition(r: Vector) -> Vector:
        z = (r - p * r.sum()) / diagonal
        return np.asarray(z - p @ z)

    operator = LinearOperator(matrix.shape, matvec=precondition, dtype=np.float64)
    fallback: list[Solver] = []

    def solve(b: Vector) -> Vector:
        if not fallback:
            balanced = b - p * b.sum()
            z, unfinished = cg(matrix, balanced, rtol=PRECISION, maxiter=ITERATIONS, M=operator)
            if not unfinished:
                return np.asarray(z - p @ z)
            fallback.append(_factorised(matrix, s))
        return fallback[0](b)

    return solve
