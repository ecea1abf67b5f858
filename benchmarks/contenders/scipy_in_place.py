"""The same loop by someone who knows where NumPy spends its time: nothing is allocated while it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import _sparsetools

from peerpressure import Network


def run(
    network: Network,
    hidden: NDArray[np.float64],
    stubbornness: NDArray[np.float64],
    std: float,
    steps: int,
    replicates: int,
    seed: int,
) -> NDArray[np.float64]:
    """Step y = p∘(Ay + (s/ρ)∘(x₀ + σz)), p = ρ/(s + ρd), in the buffer that z was drawn into."""
    rng = np.random.default_rng(seed)
    s, d = stubbornness[:, None], network.degrees[:, None]
    own = s * hidden[:, None]
    public, following = np.repeat(hidden[:, None], replicates, axis=1), np.empty((network.n, replicates))
    for t in range(1, steps + 1):
        rng.standard_normal(out=following)
        following *= s * (std / t)
        following += own / t
        _add_product(network.adjacency, public, following)
        following *= t / (s + t * d)
        public, following = following, public
    return public.T


def _add_product(A: Any, y: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Add A y to ``out``: what A @ y calls, less the new array that it makes each time."""
    n, columns = y.shape
    matrix = (A.indptr, A.indices, A.data)
    if columns == 1:
        _sparsetools.csr_matvec(n, n, *matrix, y.reshape(-1), out.reshape(-1))
    else:
        _sparsetools.csr_matvecs(n, n, columns, *matrix, y.reshape(-1), out.reshape(-1))
