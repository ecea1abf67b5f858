"""How fast disagreement fades where hidden opinions adapt: the spectrum of the joint map of y and x."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import eigs

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model, Update, Vector
from peerpressure.theory._moments import step_count, whole_times

# Up to this number of rows all eigenvalues are worked out.
DENSE_JOINT = 600


def log_fading(update: Update) -> float:
    """Return the log of the factor by which a step, repeated for ever, brings (y, x) closer to where they end.

    (y, x) ↦ (g∘x + C y, x + η∘(y − x)) leaves alone every opinion that never moves, and every agreement of agents who
    all adapt; of the other eigenvalues the largest counts.
    """
    assert update.adaptation_rate is not None
    moves = np.flatnonzero(update.adaptation_rate > 0).astype(np.int64)
    matrix = _joint_map(update, moves)
    lasting = _agreements(update)
    return _log_modulus(matrix, lasting)


def _joint_map(update: Update, moves: NDArray[np.int64]) -> sparse.csr_array:
    """Return the map of all public opinions and of the hidden ones that move."""
    assert update.adaptation_rate is not None
    n = update.gain.size
    C, held = update.coupling, sparse.diags_array(update.gain, format="csr")[:, moves]
    eta = sparse.diags_array(update.adaptation_rate[moves], format="csr")
    rows = sparse.eye_array(n, format="csr")[moves]
    stays = sparse.diags_array(1.0 - update.adaptation_rate[moves])
    return sparse.csr_array(sparse.block_array([[C, held], [eta @ rows @ C, stays + eta @ rows @ held]]))


def _agreements(update: Update) -> int:
    """Return the number of groups in which everybody adapts, each of which can agree on anything."""
    assert update.adaptation_rate is not None
    count, label = csgraph.connected_components(update.adjacency, directed=False)
    holds = np.zeros(count, dtype=np.bool_)
    holds[label[update.adaptation_rate == 0]] = True
    return int(np.count_nonzero(~holds))


def _log_modulus(matrix: sparse.csr_array, lasting: int) -> float:
    """Return the log of the largest modulus among the eigenvalues that are not the lasting ones, equal to 1."""
    if matrix.shape[0] <= max(DENSE_JOINT, lasting + 3):
        values = np.linalg.eigvals(matrix.toarray())
    else:
        values = eigs(matrix, k=lasting + 1, which="LM", return_eigenvectors=False)
    order = np.argsort(np.abs(values - 1.0))
    rest = np.abs(np.delete(values, order[:lasting]))
    return float(np.log(rest.max())) if rest.size and rest.max() > 0 else -np.inf


# How much one step, and all steps so far, shrink the distance between two states.

# Up to this size a dense eigenvalue is faster, and exact for two agents too.
DENSE = 300
LANCZOS_ITERATIONS = 300


def contraction(model: Model, t: ArrayLike, *, exact: bool = False) -> Vector:
    """Return the factor by which step t contracts, in the shape of t.

    α_t = max_i ρ_t d_i/(s_i + ρ_t d_i) bounds it in the max-norm; ``exact`` gives the spectral radius of C_t,
    which is the factor in the long run if pressure and network stay. Where hidden opinions adapt, any agreement
    stays as it is and there is no contraction in the max-norm; ``exact`` gives the factor by which all else fades,
    public and hidden.

    >>> from peerpressure.networks import k2
    >>> contraction(Model(k2(), hidden=[0.0, 1.0]), [1, 3])
    array([0.5 , 0.75])
    """
    return np.exp(log_contraction(model, t, exact=exact))


def log_contraction(model: Model, t: ArrayLike, *, exact: bool = False) -> Vector:
    """Return log α_t, or the log of the spectral radius, right even where the factor steps to 1.

    >>> from peerpressure.networks import k2
    >>> log_contraction(Model(k2(), hidden=[0.0, 1.0], pressure=1e20), 1)
    array(-1.e-20)
    """
    times = whole_times(t, least=1)
    if model.adaptation is not None and not exact:
        rule = "in the max-norm a step contracts only while hidden opinions are constant"
        remedy = "ask for exact=True, the factor by which disagreement fades"
        raise InvalidInputError(message(rule, got=model.adaptation, remedy=remedy))
    factor = _log_spectral_radius if exact else _log_row_sum
    logs = [factor(model.update(int(time))) for time in times.flat]
    return np.array(logs, dtype=np.float64).reshape(times.shape)


def contraction_product(model: Model, steps: int, *, log: bool = False) -> Vector:
    """Return Π_{k≤t} α_k for t = 1…steps, or its logarithm; shape (steps,).

    It tends to 0, and the start is forgotten, exactly when Σ 1/ρ_t diverges.

    >>> from peerpressure.networks import k2
    >>> contraction_product(Model(k2(), hidden=[0.0, 1.0]), 3)
    array([0.5       , 0.33333333, 0.25      ])
    """
    logs = np.cumsum(log_contraction(model, np.arange(1, step_count(steps) + 1)))
    return logs if log else np.exp(logs)


def _log_row_sum(update: Update) -> float:
    """Return log max_i Σ_j C_ij; the rows of C sum to 1 − gain."""
    least = float(update.gain.min())
    if least < 0.5:
        return float(np.log1p(-least))
    return _log_of_one_minus(least, float(update.couple(np.ones_like(update.gain)).max()))


def _log_spectral_radius(update: Update) -> float:
    """Return log λ for the largest eigenvalue λ of C, which is similar to √coupling_scale A √coupling_scale.

    For its unit eigenvector u and y = √coupling_scale u, the distance from 1 is a sum of positive terms:
    1 − λ = Σ gain u² + ½ Σ_ij w_ij (y_i − y_j)².
    """
    if update.adaptation_rate is not None and np.any(update.adaptation_rate):
        return log_fading(update)
    if not np.any(update.coupling_scale):
        return -np.inf
    root = np.sqrt(update.coupling_scale)
    scale = sparse.diags_array(root)
    radius, u = _top(sparse.csr_array(scale @ update.adjacency @ scale), 1.0 / root)
    y = root * u
    edges = sparse.coo_array(update.adjacency)
    i, j = edges.coords
    distance = update.gain @ u**2 + 0.5 * (edges.data @ (y[i] - y[j]) ** 2)
    return _log_of_one_minus(float(distance), radius)


def _log_of_one_minus(distance: float, factor: float) -> float:
    """Return log(factor) = log(1 − distance) from whichever of the two has not lost its digits."""
    if factor == 0:
        return -np.inf
    return float(np.log1p(-distance) if distance < 0.5 else np.log(factor))


def _top(matrix: sparse.csr_array, start: Vector) -> tuple[float, Vector]:
    """Return the largest eigenvalue of a symmetric matrix and its unit eigenvector.

    The start is the eigenvector at infinite pressure.
    """
    if matrix.shape[0] <= DENSE:
        values, vectors = np.linalg.eigh(matrix.toarray())
        return float(values[-1]), vectors[:, -1]
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    try:
        values, vectors = eigsh(matrix, k=1, which="LA", v0=start, maxiter=LANCZOS_ITERATIONS)
    except ArpackNoConvergence:
        # Long chains crowd their eigenvalues at 1; a shift just beyond separates them.
        values, vectors = eigsh(matrix, k=1, sigma=1.0 + 1e-9, which="LM", v0=start)
    return float(values[0]), vectors[:, 0]
