"""What the kernels are given, in named groups."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerpressure.affine import coefficients as plain_coefficients

CHUNK = 1024  # agents per partial sum: fixed, so that sums do not depend on how threads share the agents

coefficients = njit(forceinline=True, error_model="numpy")(plain_coefficients)


class Graph(NamedTuple):
    """A network as the kernels read it; ``stride`` 0 means that one weight serves all edges."""

    starts: NDArray[np.uint32] | NDArray[np.uint64]
    columns: NDArray[np.uint32]
    weights: NDArray[Any]
    stride: np.uint64
    order: NDArray[np.uint16]


class Agents(NamedTuple):
    """What differs between agents; ``deviation`` has one entry if it is the same for all."""

    stubbornness: NDArray[Any]
    degrees: NDArray[Any]
    hidden: NDArray[Any]
    deviation: NDArray[Any]


class Clock(NamedTuple):
    """Steps to make: the time of the first, peer pressure as weight/relief and the noise's scale at each."""

    first: int
    relief: NDArray[np.float64]
    weight: NDArray[np.float64]
    scale: NDArray[np.float64]


class Ledger(NamedTuple):
    """Where records go: a slot for each step (or −1), the agents to keep, their states, and the summaries."""

    slots: NDArray[np.int64]
    agents: NDArray[np.uint32]
    states: NDArray[Any]
    summaries: NDArray[np.float64]
