"""Fixed points of one step, y* = (S + ρL)⁻¹S x₀, and the solver for their nearly singular system.

``balanced_solver`` solves M z = b for M = a·S + L, nearly singular along the vector of ones, where sᵀz = 0 is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import LinearOperator, cg, splu

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model, Vector
from peerpressure.progress import checkpoint
from peerpressure.statespace import discrete_model
from peerpressure.theory._moments import whole_times

Solver: TypeAlias = Callable[[Vector], Vector]

# Measured on two cores: up to this size a factorisation takes less than 0.1 s on every kind of graph.
SMALL = 5_000
# Sparse factorisation of trees has no fill-in and takes linear time; up to 1 % more edges than agents add little. The
# minimum-degree ordering, however, takes time quadratic in the largest degree.
TREE_LIKE = 1.01
LARGEST_HUB = 20_000
# A graph that needs more is nearly a chain or a grid, which factorises well at any size.
ITERATIONS = 500
# Relative residual of conjugate gradients; iterative refinement supplies the remaining digits.
PRECISION = 1e-9


def balanced_solver(matrix: sparse.csr_array, s: Vector) -> Solver:
    """Return the map from b with Σb = 0 to the z with M z = b and sᵀz = 0.

    Small graphs and trees are factorised. Elsewhere conjugate gradients are faster, as social networks mix fast; where
    they stall (a large grid), a factorisation takes over.
    """
    n = matrix.shape[0]
    # The diagonal has n entries and every edge two.
    edges = (matrix.nnz - n) / 2
    hub = int(np.diff(matrix.indptr).max())
    if n <= SMALL or (edges <= TREE_LIKE * n and hub <= LARGEST_HUB):
        return _factorised(matrix, s)
    return _iterated(matrix, s)


def _factorised(matrix: sparse.csr_array, s: Vector) -> Solver:
    """Factorise M + μ e eᵀ, which is well conditioned, and remove the shift at the largest hub by sᵀz = 0.

    With e the hub's unit vector, (M + μ e eᵀ) z = b + μ z_hub e, so that z = w + k u for the solutions w of b
    and u of e; and sᵀz = 0 gives k without the cancellation of 1 − μ u_hub.
    """
    diagonal = matrix.diagonal()
    # Grounding the agent with the largest degree: it removes the near-singular direction of ones, and a weight of the
    # size of the diagonal keeps the condition number of the same order as that of the other modes.
    hub = int(np.argmax(diagonal))
    shift = sparse.coo_array(([diagonal[hub]], ([hub], [hub])), shape=matrix.shape)
    shifted = sparse.csc_array(matrix + shift)
    # The matrix is symmetric and diagonally dominant, so diagonal pivots are stable and the symmetric ordering stays
    # valid.
    factors = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    unit = np.zeros(diagonal.size)
    unit[hub] = 1.0
    u, p = factors.solve(unit), s / s.sum()

    def solve(b: Vector) -> Vector:
        # Σb = 0 holds up to rounding. Unbalanced, the rest would act as a source at the hub, and M⁻¹ amplifies it.
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
        checkpoint()
        # Called once per iteration, which makes it the place for the cancellation check.
        z = (r - p * r.sum()) / diagonal
        return np.asarray(z - p @ z)

    operator = LinearOperator(matrix.shape, matvec=precondition, dtype=np.float64)
    # The factorisation is kept for later right-hand sides: refinement calls the solver several times.
    fallback: list[Solver] = []

    def solve(b: Vector) -> Vector:
        if not fallback:
            balanced = b - p * b.sum()
            z, unfinished = cg(matrix, balanced, rtol=PRECISION, maxiter=ITERATIONS, M=operator)
            # The solution is projected once more, since rounding lets components along the ones accumulate.
            if not unfinished:
                return np.asarray(z - p @ z)
            fallback.append(_factorised(matrix, s))
        return fallback[0](b)

    return solve


# A solve is accurate to about eight digits; each refinement adds as many, so one reaches rounding and two are safe.
REFINEMENTS = 2


def fixed_point(model: Model, t: ArrayLike) -> Vector:
    """Return the state that the noiseless step t maps to itself, y* = (S + ρ_t L_t)⁻¹ S x₀.

    It is the Friedkin–Johnsen equilibrium [1]_ of the pressure and the network of that step, and tends to the consensus
    value as ρ_t → ∞. At a fixed point agents who adapt at t have equal hidden and public opinions, so that only the
    opinions of those who do not adapt count.

    Parameters
    ----------
    model : Model
        The model.
    t : int or array of int
        Steps from 1 on.

    Returns
    -------
    array of shape (agents,) or (times, agents)
        The fixed point of one step, or of several.

    Raises
    ------
    InvalidInputError
        If all agents of a connected group adapt: every consensus of the group is a fixed point then.

    See Also
    --------
    sde.stationary : Mean and covariance in continuous time.

    References
    ----------
    .. [1] N. E. Friedkin and E. C. Johnsen (1990), "Social influence and opinions", Journal of Mathematical Sociology
    15,
       193–206.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import fixed_point
    >>> fixed_point(Model(k2(), hidden=[0.0, 1.0]), [1, 2])
    array([[0.33333333, 0.66666667],
           [0.4       , 0.6       ]])
    """
    model, times = discrete_model(model), whole_times(t, least=1)
    if times.ndim == 0:
        return _fixed_point_at(model, int(times))
    states = np.empty((times.size, model.n))
    for row, time in enumerate(times):
        states[row] = _fixed_point_at(model, int(time))
    return states


def _fixed_point_at(model: Model, t: int) -> Vector:
    # Homogeneous coordinates with ρ = weight/relief: infinite pressure is relief 0 and needs no special arithmetic.
    relief, weight = (float(part) for part in model.pressure.homogeneous(t))
    update = model.update(t)
    state = update.preferred.copy()
    if weight == 0:
        return state
    # An adapting agent has x = y at a fixed point, so its own opinion drops out of its equation.
    s = model.s if update.adaptation_rate is None else np.where(update.adaptation_rate > 0, 0.0, model.s)
    for agents in _connected_parts(model, update.adjacency):
        # The system is then singular: a Laplacian without any anchor.
        if not np.any(s[agents]):
            rule = f"at t = {t} someone in every group must not adapt, or every consensus is a fixed point"
            got = f"{agents.size:,} agents who all adapt"
            raise InvalidInputError(
                message(rule, got=got, remedy="see consensus_limit(model) for where they come together")
            )
        A = update.adjacency if agents.size == model.n else update.adjacency[agents][:, agents]
        state[agents] = _equilibrium(A, s[agents], update.preferred[agents], relief, weight)
    return state


def _equilibrium(A: sparse.csr_array, s: Vector, preferred: Vector, relief: float, weight: float) -> Vector:
    """Return v + relief·z, where (relief·S + weight·L) z = S(x₀ − v) and sᵀz = 0.

    Taking the consensus value v off first leaves a system that stays well posed as relief → 0.
    """
    # Only ratios of s matter for v, and the division avoids overflow of s @ preferred.
    scale = float(s.max())
    s = s / scale
    v = s @ preferred / s.sum()
    if relief == 0:
        return np.full(s.size, v)
    # s was divided by its maximum, so the relief takes it back.
    own = relief * scale
    degrees = np.asarray(A.sum(axis=1))
    matrix = sparse.csr_array(sparse.diags_array(own * s + weight * degrees) - weight * A)
    source = s * (preferred - v)
    solve = balanced_solver(matrix, s)
    z = solve(source)
    for _ in range(REFINEMENTS):
        z += solve(source - matrix @ z)
    return np.asarray(v + own * z)


def _connected_parts(model: Model, A: sparse.csr_array) -> Iterator[NDArray[np.int64]]:
    """Yield the agents of each connected part of a step's network, without isolated agents."""
    # The network of a model is connected; that of one step of a temporal network need not be.
    if A is model.network.adjacency:
        yield np.arange(model.n)
        return
    count, label = csgraph.connected_components(A, directed=False)
    order = np.argsort(label, kind="stable")
    for agents in np.split(order, np.searchsorted(label[order], np.arange(1, count))):
        if agents.size > 1:
            yield agents
