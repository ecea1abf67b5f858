"""How fast disagreement fades where hidden opinions adapt: the spectrum of the joint map of y and x."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import eigs

from peerpressure.model import Update

# Up to this number of rows all eigenvalues are worked out.
DENSE = 600


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
    if matrix.shape[0] <= max(DENSE, lasting + 3):
        values = np.linalg.eigvals(matrix.toarray())
    else:
        values = eigs(matrix, k=lasting + 1, which="LM", return_eigenvectors=False)
    order = np.argsort(np.abs(values - 1.0))
    rest = np.abs(np.delete(values, order[:lasting]))
    return float(np.log(rest.max())) if rest.size and rest.max() > 0 else -np.inf
