"""Ties that last beside ties that pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from peerpressure.networks import Network, TemporalNetwork


def beside(lasting: Network, passing: TemporalNetwork, period: int | None = None) -> TemporalNetwork:
    """Return both together; a pair that has a lasting tie needs no passing one.

    >>> from peerpressure.networks import path
    >>> beside(path(4), TemporalNetwork.from_events([(1, 0, 1), (1, 0, 3), (5, 0, 1, 0), (5, 0, 3, 0)]))
    TemporalNetwork(4 agents, 4 pairs, 1 change over 1…5, on average 3.8 edges)
    """
    i, j, weights = lasting.edges()
    new = ~np.isin(_pairs(passing.sources, passing.targets, lasting.n), _pairs(i, j, lasting.n))
    return TemporalNetwork(
        np.concatenate([np.ones(i.size, np.int64), passing.event_times[new]]),
        np.concatenate([i, passing.sources[new]]),
        np.concatenate([j, passing.targets[new]]),
        np.concatenate([weights, passing.weights[new]]),
        labels=lasting.labels,
        period=period or passing.period,
    )


def _pairs(i: NDArray[np.int32], j: NDArray[np.int32], n: int) -> NDArray[np.int64]:
    return np.asarray(i.astype(np.int64) * n + j)
