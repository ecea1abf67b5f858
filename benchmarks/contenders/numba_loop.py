"""The loop that a good programmer writes in numba in half an hour: rows of a sparse matrix, a normal for each agent.

Each thread draws from a NumPy ``Generator`` of its own, which takes a sixth of the time of ``np.random.normal`` there.
The kernel is compiled by the first call in a process, once for one thread and once for several.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from peerpressure import Network


def run(
    network: Network,
    hidden: NDArray[np.float64],
    stubbornness: NDArray[np.float64],
    std: float,
    steps: int,
    replicates: int,
    seed: int,
    threads: int = 1,
) -> NDArray[np.float64]:
    """Step with the replicates of an agent side by side, so a row of the network is read once for all of them."""
    A, y = network.adjacency, np.repeat(hidden[:, None], replicates, axis=1)
    generators = tuple(np.random.default_rng(seed).spawn(threads))
    matrix, constants = (A.indptr, A.indices, A.data), (network.degrees, hidden, stubbornness)
    kernel = _serial if threads == 1 else _parallel
    found: NDArray[np.float64] = kernel(*matrix, *constants, y, std, steps, generators)
    return found.T


def _steps(
    indptr: Any, indices: Any, weights: Any, d: Any, x0: Any, s: Any, y: Any, std: Any, steps: Any, generators: Any
) -> Any:
    n, R = y.shape
    parts, following = len(generators), np.empty_like(y)
    for t in range(1, steps + 1):
        for part in numba.prange(parts):
            rng = generators[part]
            for i in range(part * n // parts, (part + 1) * n // parts):
                gain = 1.0 / (s[i] + t * d[i])
                for r in range(R):
                    following[i, r] = s[i] * (x0[i] + std * rng.standard_normal()) * gain
                for k in range(indptr[i], indptr[i + 1]):
                    weight, j = t * weights[k] * gain, indices[k]
                    for r in range(R):
                        following[i, r] += weight * y[j, r]
        y, following = following, y
    return y


_serial = numba.njit(_steps)
_parallel = numba.njit(_steps, parallel=True)
