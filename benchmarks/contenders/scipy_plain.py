"""The model as one writes it down with NumPy and scipy.sparse."""

from __future__ import annotations

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
) -> NDArray[np.float64]:
    """Step y = (s(x₀ + σz) + ρAy)/(s + ρd), y being (agents,) or (agents, replicates)."""
    rng = np.random.default_rng(seed)
    shape = (network.n,) if replicates == 1 else (network.n, replicates)
    column = (-1,) if replicates == 1 else (-1, 1)
    A, d = network.adjacency, network.degrees.reshape(column)
    x0, s = hidden.reshape(column), stubbornness.reshape(column)
    y = np.broadcast_to(x0, shape)
    for t in range(1, steps + 1):
        rho = float(t)
        z = rng.standard_normal(shape)
        y = (s * (x0 + std * z) + rho * (A @ y)) / (s + rho * d)
    return y.T.reshape(replicates, network.n)
