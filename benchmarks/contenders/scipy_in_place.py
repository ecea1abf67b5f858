"""The same loop by someone who knows where NumPy spends its time: nothing is allocated while it runs."""

from __future__ import annotations

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
    """Step y = g∘(x₀ + σz) + p∘(Ay) into buffers made once, g and p being vectors of the agents."""
    rng = np.random.default_rng(seed)
    n, A, d = network.n, network.adjacency, network.degrees
    x0 = hidden[:, None]
    public, gathered, noise = (np.empty((n, replicates)) for _ in range(3))
    public[:] = x0
    for t in range(1, steps + 1):
        gain = stubbornness / (stubbornness + t * d)
        pull = t / (stubbornness + t * d)
        rng.standard_normal(out=noise)
        noise *= std
        noise += x0
        noise *= gain[:, None]
        gathered.fill(0.0)
        # What A @ y calls, less the new array that it makes each time.
        _sparsetools.csr_matvecs(
            n, n, replicates, A.indptr, A.indices, A.data, public.reshape(-1), gathered.reshape(-1)
        )
        gathered *= pull[:, None]
        np.add(noise, gathered, out=public)
    return public.T
