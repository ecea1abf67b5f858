"""The compiled loops that lay a network out; importing this module imports numba."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


def hops(indptr: NDArray[Any], indices: NDArray[Any], sources: NDArray[Any], found: NDArray[Any]) -> None:
    """Write into ``found``, (sources, agents), how many edges each agent is from each source; −1 if cut off."""
    queue = np.empty(indptr.size - 1, dtype=np.int64)
    for row in range(sources.size):
        away = found[row]
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
    places: NDArray[Any], ends: NDArray[Any], apart: NDArray[Any], weights: NDArray[Any], rates: NDArray[Any]
) -> None:
    """Move pairs of points towards the distance that they ought to have, in place, one pair at a time.

    Each end of pair k, ``ends[k]``, makes min(1, rate·weight) of its half of the way, with a weight of its own. See
    Zheng, Pawar and Goodman, IEEE TVCG 25, 2738 (2019).
    """
    for rate in rates:
        for k in range(len(ends)):
            a, b = ends[k, 0], ends[k, 1]
            x, y = places[a, 0] - places[b, 0], places[a, 1] - places[b, 1]
            length = math.sqrt(x * x + y * y)
            if length > 1e-9:
                half = 0.5 * (length - apart[k]) / length
                here, there = half * min(1.0, rate * weights[k, 0]), half * min(1.0, rate * weights[k, 1])
                places[a, 0] -= here * x
                places[a, 1] -= here * y
                places[b, 0] += there * x
                places[b, 1] += there * y


hops_compiled: Any = njit(cache=True, nogil=True)(hops)
descend_compiled: Any = njit(cache=True, nogil=True)(descend)
