"""Stationary states: fixed points of one step, deviations under bounded pressure, and the mean on random networks.

References
----------
.. [1] Y. Hatano, M. Mesbahi, "Agreement over random networks", IEEE Trans. Autom. Control 50 (2005).
.. [2] A. Tahbaz-Salehi, A. Jadbabaie, "A necessary and sufficient condition for consensus over random networks", IEEE
   Trans. Autom. Control 53 (2008).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import solve_continuous_lyapunov, solve_discrete_lyapunov
from scipy.sparse import csgraph
from scipy.sparse.linalg import LinearOperator, cg, splu, spsolve

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.model.statespace import discrete_model
from peerpressure.model.step import Array
from peerpressure.networks import NetworkProcess, complete
from peerpressure.networks.limits import limit_state
from peerpressure.support.progress import check_cancelled
from peerpressure.support.resources import one_thread
from peerpressure.theory._classification import LongRun
from peerpressure.theory._limit_law import Fluctuation
from peerpressure.theory._regime import LATE_TIME, Regime
from peerpressure.theory.propagation import whole_times

# Fixed points of one step, y* = (S + ρL)⁻¹S x₀, and the solver for their nearly singular system.
#
# ``balanced_solver`` solves M z = b for M = a·S + L, nearly singular along the vector of ones, where sᵀz = 0 is known.

Solver: TypeAlias = Callable[[Array], Array]

# Measured on two cores: up to this size a factorisation takes less than 0.1 s on every kind of graph.
FACTORISATION_LIMIT = 5_000
# Sparse factorisation of trees has no fill-in and takes linear time; up to 1 % more edges than agents add little. The
# minimum-degree ordering, however, takes time quadratic in the largest degree.
TREE_LIKE = 1.01
LARGEST_HUB = 20_000
# A graph that needs more is nearly a chain or a grid, which factorises well at any size.
ITERATIONS = 500
# Relative residual of conjugate gradients; iterative refinement supplies the remaining digits.
PRECISION = 1e-9


def balanced_solver(matrix: sparse.csr_array, s: Array) -> Solver:
    """Return the map from b with Σb = 0 to the z with M z = b and sᵀz = 0.

    Small graphs and trees are factorised. Elsewhere conjugate gradients are faster, as social networks mix fast; where
    they stall (a large grid), a factorisation takes over.
    """
    n = matrix.shape[0]
    # The diagonal has n entries and every edge two.
    edges = (matrix.nnz - n) / 2
    hub = int(np.diff(matrix.indptr).max())
    if n <= FACTORISATION_LIMIT or (edges <= TREE_LIKE * n and hub <= LARGEST_HUB):
        return _factorised(matrix, s)
    return _iterated(matrix, s)


def _factorised(matrix: sparse.csr_array, s: Array) -> Solver:
    """Factorise M + μ e eᵀ, which is well conditioned, and remove the shift at the largest hub by sᵀz = 0.

    With e the hub's unit vector, (M + μ e eᵀ) z = b + μ z_hub e, so z = w + k u for the solutions w of b
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

    def solve(b: Array) -> Array:
        # Σb = 0 holds up to rounding. Unbalanced, the rest would act as a source at the hub, and M⁻¹ amplifies it.
        w = factors.solve(b - p * b.sum())
        return np.asarray(w - u * ((s @ w) / (s @ u)))

    return solve


def _iterated(matrix: sparse.csr_array, s: Array) -> Solver:
    """Return conjugate gradients within sᵀz = 0, preconditioned by the diagonal.

    The preconditioner is P D⁻¹Pᵀ with P = I − 1sᵀ/Σs, symmetric on that subspace; the spectrum left is that
    of the normalised Laplacian without its zero.
    """
    p = s / s.sum()
    diagonal = matrix.diagonal()

    def precondition(r: Array) -> Array:
        check_cancelled()
        # Called once per iteration, which makes it the place for the cancellation check.
        z = (r - p * r.sum()) / diagonal
        return np.asarray(z - p @ z)

    operator = LinearOperator(matrix.shape, matvec=precondition, dtype=np.float64)
    # The factorisation is kept for later right-hand sides: refinement calls the solver several times.
    fallback: list[Solver] = []

    def solve(b: Array) -> Array:
        if not fallback:
            balanced = b - p * b.sum()
            # Threads of linear algebra wait for each other longer than a product of two vectors takes.
            with one_thread():
                z, unfinished = cg(matrix, balanced, rtol=PRECISION, maxiter=ITERATIONS, M=operator)
            # The solution is projected once more, since rounding lets components along the ones accumulate.
            if not unfinished:
                return np.asarray(z - p @ z)
            fallback.append(_factorised(matrix, s))
        return fallback[0](b)

    return solve


# A solve is accurate to about eight digits; each refinement adds as many, so one reaches rounding and two are safe.
REFINEMENTS = 2


def directed_solver(laplacian: sparse.csr_array, weights: Array) -> Solver:
    """Return the map from b with ℓᵀb = 0 to the z with L z = b and Σ w z = 0, for one closed class and w = ℓs ≥ 0."""
    # L is singular along the ones, which the weights are not orthogonal to: replacing the equation of one agent who
    # counts makes it regular.
    row = int(np.argmax(weights))
    keep = np.ones(weights.size)
    keep[row] = 0.0
    unit = sparse.coo_array((np.ones(1), ([row], [row])), shape=laplacian.shape)
    factors = splu(sparse.csc_array(sparse.diags_array(keep) @ laplacian + unit * laplacian[row, row]))

    def solve(b: Array) -> Array:
        # With z = 0 at that agent; then shifted along the ones.
        z = factors.solve(keep * b)
        return np.asarray(z - weights @ z / weights.sum())

    return solve


def fixed_point(model: Model, t: ArrayLike) -> Array:
    """Return the state that the noiseless step t maps to itself, y* = (S + ρ_t L_t)⁻¹ S x₀.

    It is the Friedkin–Johnsen equilibrium [1]_ of the pressure and the network of that step, and tends to the consensus
    value as ρ_t → ∞. At a fixed point agents who adapt at t have equal hidden and public opinions, so only the
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
        If all agents of a connected group adapt: every consensus of the group is a fixed point then. If agents keep
        their public opinions at t, where these are arbitrary.

    See Also
    --------
    sde.stationary : Mean and covariance in continuous time.

    References
    ----------
    .. [1] N. E. Friedkin and E. C. Johnsen (1990), "Social influence and opinions", Journal of Mathematical Sociology
       15, 193–206.

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


def _fixed_point_at(model: Model, t: int) -> Array:
    # Homogeneous coordinates with ρ = weight/own_weight: infinite pressure has own weight 0, as any number.
    own_weight, weight = (float(part) for part in model.pressure.homogeneous(t))
    update = model.update(t)
    state = update.preferred.copy()
    if update.kept is not None:
        rule = f"at t = {t} no agent must keep its public opinion, or any opinion of it is a fixed point"
        got, remedy = f"{int(update.kept.sum()):,} such agents", "see moments(model, t) for public opinions at t"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))
    if weight == 0:
        return state
    # An adapting agent has x = y at a fixed point, so its own opinion drops out of its equation.
    s = model.s if update.adaptation_rate is None else np.where(update.adaptation_rate > 0, 0.0, model.s)
    if model.network.directed or model.network.signed:
        return _general_equilibrium(model, s, own_weight, weight)
    for agents in _connected_parts(model, update.adjacency):
        # The system is then singular: a Laplacian without any anchor.
        if not np.any(s[agents]):
            rule = f"at t = {t} someone in every group must not adapt, or every consensus is a fixed point"
            got = f"{agents.size:,} agents who all adapt"
            raise InvalidInputError(
                message(rule, got=got, remedy="see consensus_limit(model) for where they come together")
            )
        A = update.adjacency if agents.size == model.n else update.adjacency[agents][:, agents]
        state[agents] = _equilibrium(A, s[agents], update.preferred[agents], own_weight, weight)
    return state


def _equilibrium(A: sparse.csr_array, s: Array, preferred: Array, own_weight: float, weight: float) -> Array:
    """Return v + own_weight·z, where (own_weight·S + weight·L) z = S(x₀ − v) and sᵀz = 0.

    Taking the consensus value v off first leaves a system that stays well posed as own_weight → 0.
    """
    # Only ratios of s matter for v, and the division avoids overflow of s @ preferred.
    scale = float(s.max())
    s = s / scale
    v = s @ preferred / s.sum()
    if own_weight == 0:
        return np.full(s.size, v)
    # s was divided by its maximum, so the own_weight takes it back.
    own = own_weight * scale
    degrees = np.asarray(A.sum(axis=1))
    matrix = sparse.csr_array(sparse.diags_array(own * s + weight * degrees) - weight * A)
    source = s * (preferred - v)
    solve = balanced_solver(matrix, s)
    z = solve(source)
    for _ in range(REFINEMENTS):
        z += solve(source - matrix @ z)
    return np.asarray(v + own * z)


def _general_equilibrium(model: Model, s: Array, own_weight: float, weight: float) -> Array:
    """Return y∞ + own_weight·z with (own_weight·S + weight·L) z = S(x₀ − y∞), on a directed or signed network.

    L y∞ = 0 for the limit y∞ at infinite pressure, so the system stays well posed as own_weight → 0.
    """
    network = model.network
    if any(not np.any(s[agents]) for agents in network.closed_classes):
        rule = "someone in every closed class must not adapt, or every consensus is a fixed point"
        raise InvalidInputError(message(rule, got="a class that adapts", remedy="see moments(model, t)"))
    limit = limit_state(network, s, model.x0)
    # Below this share what pressure leaves of own opinions is lost in rounding, and so is the matrix.
    if own_weight * float(s.max()) <= 1e-14 * weight * float(network.degrees.max()):
        return limit
    matrix = sparse.csc_array(sparse.diags_array(own_weight * s) + weight * network.laplacian)
    return np.asarray(limit + own_weight * splu(matrix).solve(s * (model.x0 - limit)))


def _connected_parts(model: Model, A: sparse.csr_array) -> Iterator[NDArray[np.int64]]:
    """Yield the agents of each connected part of a step's network, without isolated agents."""
    # The usual case needs no search.
    if A is model.network.adjacency and model.network.is_connected:
        yield np.arange(model.n)
        return
    count, label = csgraph.connected_components(A, directed=False)
    order = np.argsort(label, kind="stable")
    for agents in np.split(order, np.searchsorted(label[order], np.arange(1, count))):
        if agents.size > 1:
            yield agents


# The mean on random networks.
#
# If A_t is redrawn at every step, y_{t−1} does not depend on C_t and g_t, so the mean obeys
# E y_t = E[g]∘x₀ + E[C] E y_{t−1}, with the limit (I − E[C])⁻¹ (E[g]∘x₀). Averaging the networks first, and then their
# fixed point, gives another value, since C_t is not linear in A_t.

# Pairs, in both directions, up to which expectations are computed: 300 numbers for each, and a sparse solve.
MOST_PAIRS = 200_000
# Step of the trapezoidal rule in log u. It has an error of e^(−π²/step), as the integrand is analytic for Re u > 0.
STEP = 0.2


def stationary_mean(model: Model, law: NetworkProcess, regime: Regime) -> Array | None:
    """Return the limit of the mean public opinions, shape (agents,), or None if it is not computed.

    Hidden opinions are constant; under growing pressure the limit is that of ρ = ∞, where isolated agents show their
    own opinions.
    """
    # Under growing pressure agents who keep their public opinions have no use for their own, and E[C] is stochastic.
    if regime is Regime.UNKNOWN or (regime is not Regime.BOUNDED and model.isolated == "keep"):
        return None
    if law.chances is not None:
        return _gossip_mean(model, law, regime)
    if law.presence is None or law.memory:
        return None
    pairs = model.n * (model.n - 1) if law.pairs is None else law.pairs.adjacency.nnz
    if pairs > MOST_PAIRS:
        return None
    network = complete(model.n) if law.pairs is None else law.pairs
    rho = float(model.pressure(LATE_TIME)) if regime is Regime.BOUNDED else math.inf
    coupling = expected_coupling(network.adjacency, law.presence, model.s / rho) if rho > 0 else None
    if coupling is None:
        return model.x0
    # Rows of E[C] and E[g] sum up to 1. Opinions that are kept are a part of E[C].
    alone = np.asarray((1 - law.presence) ** np.diff(network.adjacency.indptr), dtype=np.float64)
    return _mean_of(model, coupling, alone)


def _gossip_mean(model: Model, law: NetworkProcess, regime: Regime) -> Array:
    assert law.pairs is not None
    assert law.chances is not None
    i, j, w = law.pairs.edges()
    rho = float(model.pressure(LATE_TIME)) if regime is Regime.BOUNDED else math.inf
    rows, columns = np.concatenate([i, j]), np.concatenate([j, i])
    weights, chances = np.tile(w, 2), np.tile(law.chances, 2)
    heard = chances * weights / (model.s[rows] / rho + weights) if rho > 0 else np.zeros(rows.size)
    coupling = sparse.csr_array((heard, (rows, columns)), shape=(model.n, model.n))
    return _mean_of(model, coupling, np.asarray(1.0 - np.bincount(rows, chances, minlength=model.n), dtype=np.float64))


def _mean_of(model: Model, coupling: sparse.csr_array, alone: Array) -> Array:
    """Return (I − E[C])⁻¹ (E[g]∘x₀) from the expected weights of neighbours and the probability of having none."""
    kept = alone if model.isolated == "keep" else np.zeros(model.n)
    gain = 1 - np.asarray(coupling.sum(axis=1)) - kept
    stays = sparse.diags_array(1 - kept, format="csr")
    return np.asarray(spsolve(sparse.csc_array(stays - coupling), gain * model.x0))


def expected_coupling(adjacency: sparse.csr_array, presence: float, own: Array) -> sparse.csr_array:
    """Return E[C] where every edge is present with a probability q, independently of the others.

    With b = 1 for an edge that is present, an agent of own weight s/ρ has C_j = w_j b_j/(s/ρ + Σ w_k b_k). Since
    1/z = ∫ e^(−zu) du, independence gives

        E[C_j] = q w_j ∫ e^(−(s/ρ + w_j)u) Π_{k≠j} (1 − q + q e^(−w_k u)) du.
    """
    expected = adjacency.astype(np.float64, copy=True)
    for i in range(adjacency.shape[0]):
        check_cancelled()
        row = slice(int(adjacency.indptr[i]), int(adjacency.indptr[i + 1]))
        if row.start < row.stop:
            expected.data[row] = _expected_row(adjacency.data[row], presence, float(own[i]))
    return expected


def _expected_row(weights: Array, presence: float, own: float) -> Array:
    # Below the first node the integrand is constant up to rounding, and beyond the last it underflows.
    first, last = math.log(1e-18 / (own + weights.sum())), math.log(745 / (own + weights.min()))
    u = np.exp(np.arange(first, last + STEP, STEP))
    logs = np.log1p(presence * np.expm1(-np.outer(weights, u)))
    others = logs.sum(axis=0) - logs - (own + weights)[:, None] * u
    return np.asarray(presence * weights * (np.exp(others) @ u) * STEP)


# Stationary deviations under bounded pressure: of the consensus mode, and of each agent.
#
# With M = S + ρD the coupling C = M⁻¹ρA is similar to the symmetric matrix M^(−½)ρA M^(−½) = QΛQᵀ. In its eigenvectors
# the noise of one step has the covariance N = Qᵀ S Σ M⁻¹ S Q, Σ = diag σ², and that of the state is N_ij h(λ_i, λ_j)
# with
#
#     h(λ, μ) = Σ_{k,l ≥ 0} λ^k μ^l φ^|k − l| = (1 − φ²λμ)/((1 − λμ)(1 − φλ)(1 − φμ))
#
# for noise of autocorrelation φ, frozen noise (φ = 1) included, and 1/(2 − λ − μ) for white noise in continuous time.

# Agents up to which all eigenvalues are computed, some tenths of a second.
MOST_AGENTS = 600
# Multiplications that the series for a larger network may take.
MOST_WORK = 3e8
# Share of the variance that the series may leave out.
NEGLIGIBLE = 1e-12


def fluctuation(long_run: LongRun) -> Fluctuation | None:
    """Return the stationary deviations where pressure and noise scale have limits; None where they are not known.

    They are those of constant hidden opinions on the network that stays forever.
    """
    model, networks, phi = long_run.model, long_run.structure.networks, long_run.phi
    rho, scale = model.pressure.growth.limit, model.noise.time_scale.growth.limit
    known = rho is not None and scale is not None and math.isfinite(rho) and math.isfinite(scale)
    # Chance in who updates adds to what noise does, but where noise is drawn once the same state is reached.
    known = known and long_run.structure.constant_opinions and not (long_run.lazy and phi < 1)
    if (
        not known
        or networks is None
        or networks.count > 1
        or (long_run.continuous and model.noise.autocorrelation not in (0.0, 1.0))
    ):
        return None
    # What is kept forever depends on the steps before.
    if np.any(networks.kept):
        return None
    assert rho is not None
    assert scale is not None
    A, d = networks.adjacency[0], networks.degrees[0]
    M, sigma = model.s + rho * d, long_run.deviations * scale
    if model.network.directed:
        if model.n <= MOST_AGENTS:
            return _by_equations(long_run, rho * A.toarray() / M[:, None], model.mode_weights, model.s * sigma / M)
        back = rho * model.network.transposed
        return None if long_run.continuous else _by_series(back, model.mode_weights, M, model.s * sigma, phi)
    if model.n <= MOST_AGENTS:
        return _by_eigenvalues(long_run, rho * A.toarray(), d / d.sum(), M, sigma)
    return None if long_run.continuous else _by_series(rho * A, d / d.sum(), M, model.s * sigma, phi)


def _by_equations(long_run: LongRun, C: Array, w: Array, noise: Array) -> Fluctuation:
    """Solve the Lyapunov equation P = C P Cᵀ + GGᵀ, or that of continuous time, where C is not symmetric.

    AR(1) noise u adds the covariance φ(I − φC)⁻¹G of y_{t−1} with u_t to it.
    """
    phi, one, G = long_run.phi, np.eye(w.size), np.diag(noise)
    if phi == 1:
        root = np.linalg.solve(one - C, G)
        P = root @ root.T
    elif long_run.continuous:
        P = solve_continuous_lyapunov(one - C, G @ G)
    else:
        cross = C @ (phi * np.linalg.solve(one - phi * C, G)) @ G
        P = solve_discrete_lyapunov(C, cross + cross.T + G @ G)
    return Fluctuation(math.sqrt(max(0.0, float(w @ P @ w))), np.sqrt(np.maximum(np.diag(P), 0.0)))


def _by_eigenvalues(long_run: LongRun, coupling: Array, w: Array, M: Array, sigma: Array) -> Fluctuation:
    root, phi = np.sqrt(M), long_run.phi
    values, Q = np.linalg.eigh(coupling / root[:, None] / root)
    # S Σ M⁻¹ S in the basis of eigenvectors.
    N = Q.T @ ((long_run.model.s * sigma) ** 2 / M * Q.T).T
    one, other = values[:, None], values[None, :]
    if long_run.continuous and phi == 0:
        covariance = N / (2 - one - other)
    else:
        covariance = N * (1 - phi**2 * one * other) / ((1 - phi * one) * (1 - phi * other))
        # For frozen noise the two factors 1 − λμ cancel.
        covariance = N / ((1 - one) * (1 - other)) if phi == 1 else covariance / (1 - one * other)
    mode = Q.T @ (w / root)
    variances = np.sum((Q @ covariance) * Q, axis=1) / M
    return Fluctuation(math.sqrt(max(0.0, float(mode @ covariance @ mode))), np.sqrt(np.maximum(variances, 0.0)))


def _by_series(coupling: sparse.csr_array, w: Array, M: Array, s_sigma: Array, phi: float) -> Fluctuation | None:
    """Sum over the steps back in time with which noise enters the mode; None if that takes too many.

    ``coupling`` is ρAᵀ.
    """
    weights, past, variance = w, np.zeros_like(w), 0.0
    # Rows of C sum to at most α < 1, so the weights fall like α^k.
    fall = -math.log(float(np.max(1 - (M - coupling.T @ np.ones_like(w)) / M)))
    steps = math.ceil(-math.log(NEGLIGIBLE) / fall) if fall > 0 else math.inf
    if steps * (coupling.nnz + 10 * w.size) > MOST_WORK:
        return None
    for _ in range(int(steps)):
        check_cancelled()
        entering = s_sigma / M * weights
        past = entering + phi * past
        # Σ_{k,l} a_k a_l φ^|k−l|, each pair k ≠ l counted twice.
        variance += float(2 * entering @ past - entering @ entering)
        weights = coupling @ (weights / M)
    return Fluctuation(math.sqrt(variance), None)
