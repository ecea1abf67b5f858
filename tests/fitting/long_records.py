"""Records by a plain loop, and their law in dense matrices, which share no code with the package."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from peerpressure.fitting._parameters import Shared
from peerpressure.fitting._record import Panel
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


def log_density(
    data: Panel, shared: Shared, centre: Array | float, spread: float, std: float, error: float = 0.0
) -> float:
    """Return the log density of the scored answers, for hidden opinions that spread about a centre.

    All answers have errors of one size, the first ones included.
    """
    n, T = data.n, data.length
    A, d = data.network.adjacency.toarray(), data.network.degrees
    # A constant, then draws: errors of first answers, hidden opinions, and the noise of each step.
    public, hidden = np.zeros((n, 1 + 2 * n + n * T)), np.zeros((n, 1 + 2 * n + n * T))
    public[:, 0], public[:, 1 : 1 + n] = data.first, error * np.eye(n)
    hidden[:, 0], hidden[:, 1 + n : 1 + 2 * n] = centre, spread * np.eye(n)
    rows = []
    for t, rho in enumerate(np.ravel(shared.rho)):
        own = hidden.copy()
        own[:, 1 + 2 * n + t * n : 1 + 2 * n + (t + 1) * n] += std * np.eye(n)
        public = (own + rho * (A @ public)) / (1 + rho * d)[:, None]
        if shared.rate is not None:
            hidden = hidden + shared.rate[t][:, None] * (public - hidden)
        rows.append(public)
    stacked, there = np.concatenate(rows), data.scored.ravel()
    covariance = (stacked[:, 1:] @ stacked[:, 1:].T + error**2 * np.eye(n * T))[np.ix_(there, there)]
    return float(stats.multivariate_normal(stacked[there, 0], covariance).logpdf(data.rows[1:].ravel()[there]))
