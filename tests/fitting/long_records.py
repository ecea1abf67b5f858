"""Records by a plain loop, which shares no code with the package."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from peerpressure.networks import Network, barabasi_albert

Array = NDArray[np.float64]


def record(
    network: Network,
    steps: int,
    seed: int,
    pressure: Callable[[int], float] = lambda t: 0.0,
    *,
    std: float = 0.3,
    adaptation: float = 0.0,
    hidden: Array | None = None,
    stubbornness: Array | float = 1.0,
) -> Array:
    """Return y_1, …, y_T of a run that starts from its hidden opinions, (T, n)."""
    rng = np.random.default_rng(seed)
    A = network.adjacency.toarray()
    d = A.sum(axis=1)
    x = rng.random(network.n) if hidden is None else hidden.copy()
    y, rows = x.copy(), []
    for t in range(1, steps + 1):
        rho = pressure(t) / stubbornness
        y = (x + std * rng.standard_normal(network.n) + rho * (A @ y)) / (1 + rho * d)
        x = x + adaptation * (y - x)
        rows.append(y)
    return np.array(rows)


def walk(n: int, steps: int, seed: int) -> Array:
    """Return independent random walks, (T, n)."""
    return np.cumsum(0.1 * np.random.default_rng(seed).standard_normal((steps, n)), axis=0)


def graph(n: int, seed: int = 1) -> Network:
    """Return the network of the records."""
    return barabasi_albert(n, 2, seed=seed)
