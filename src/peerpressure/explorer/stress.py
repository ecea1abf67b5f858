"""The compiled loops of the stress layout, apart from it because importing them imports numba."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


def hops(indptr: NDArray[Any], indices: NDArray[Any], sources: NDArray[Any], distances: NDArray[Any]) -> None:
    """Write into ``distances``, (sources, agents), the number of edges between source and agent; −1 if unreachable."""
    # One queue for all sources: every agent enters at most once per search.
    queue = np.empty(indptr.size - 1, dtype=np.int64)
    for row in range(sources.size):
        away = distances[row]
        # −1 marks agents that are not reached yet, which saves a second array of marks.
        away[:] = -1
        away[sources[row]] = 0
        queue[0] = sources[row]
        begin, end = 0, 1
        while begin < end:
            agent = queue[begin]
            begin += 1
            for k in range(indptr[agent], indptr[agent + 1]):
                other = indices[k]
                if away[other] < 0:
                    away[other] = away[agent] + 1
                    queue[end] = other
                    end += 1


def descend(
    places: NDArray[Any], ends: NDArray[Any], distances: NDArray[Any], weights: NDArray[Any], rate: float
) -> None:
    """Make one round of stochastic gradient descent on the stress of a layout, in place, one pair at a time.

    Each end of pair k, ``ends[k]``, moves by min(1, rate·weight) of half the error, with a weight of its own. See
    Zheng, Pawar and Goodman, IEEE TVCG 25, 2738 (2019).
    """
    for k in range(len(ends)):
        a, b = ends[k, 0], ends[k, 1]
        x, y = places[a, 0] - places[b, 0], places[a, 1] - places[b, 1]
        # Positions are of the order of hops, so the squares do not overflow and the slower hypot is not needed.
        length = math.sqrt(x * x + y * y)
        # Two agents at one point have no direction to move in.
        if length > 1e-9:
            half = 0.5 * (length - distances[k]) / length
            # The cap of 1 keeps the step from overshooting the target distance while the rate is large.
            here, there = half * min(1.0, rate * weights[k, 0]), half * min(1.0, rate * weights[k, 1])
            places[a, 0] -= here * x
            places[a, 1] -= here * y
            places[b, 0] += there * x
            places[b, 1] += there * y


# nogil lets other requests be answered during a layout; the cache saves the compilation at the next start.
hops_compiled: Any = njit(cache=True, nogil=True)(hops)
descend_compiled: Any = njit(cache=True, nogil=True)(descend)
