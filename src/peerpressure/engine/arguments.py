"""What the kernels are given, in named groups."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerpressure.affine import adapted as plain_adapted, coefficients as plain_coefficients

CHUNK = 1024  # agents per partial sum: fixed, so that sums do not depend on how threads share the agents

coefficients = njit(forceinline=True, error_model="numpy")(plain_coefficients)
adapted = njit(forceinline=True, error_model="numpy")(plain_adapted)


class Graph(NamedTuple):
    """A network as the kernels read it: agent i's neighbours are columns starts[i]…ends[i]−1.

    ``stride`` 0 means that one weight serves all edges. ``order`` is where the narrow kernel puts a row's sum, empty if
    rows stand in the order of the agents.
    """

    starts: NDArray[np.uint32] | NDArray[np.uint64]
    ends: NDArray[np.uint32] | NDArray[np.uint64]
    columns: NDArray[np.uint32]
    weights: NDArray[Any]
    stride: np.uint64
    order: NDArray[np.uint16]


class Agents(NamedTuple):
    """What differs between agents; ``deviation`` and ``adaptation_weight`` have one entry if it is the same for all."""

    stubbornness: NDArray[Any]
    degrees: NDArray[Any]
    hidden: NDArray[Any]
    deviation: NDArray[Any]
    adaptation_weight: NDArray[Any]


class Clock(NamedTuple):
    """Steps to make: the time of the first; peer pressure as weight/relief, the noise's scale and η at each.

    ``pace`` is the share of the way to the map's value that a step goes: 1 in discrete time, and the length of a step
    of the stochastic differential equation.
    """

    first: int
    relief: NDArray[np.float64]
    weight: NDArray[np.float64]
    scale: NDArray[np.float64]
    adaptation_rate: NDArray[np.float64]
    pace: float

    def part(self, begin: int, end: int) -> Clock:
        """Return the steps begin…end−1 of these."""
        cut = slice(begin, end)
        return Clock(
            self.first + begin,
            self.relief[cut],
            self.weight[cut],
            self.scale[cut],
            self.adaptation_rate[cut],
            self.pace,
        )


class Changes(NamedTuple):
    """How the network changes during the clock's steps.

    Spell k, of one unchanging network, begins before step ``spells[k]`` (counted from 0) by setting the weights of
    pairs ``cuts[k]``…``cuts[k + 1]``−1; the last entry of ``spells`` is the number of steps.
    """

    spells: NDArray[np.int64]
    cuts: NDArray[np.int64]
    sources: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    weights: NDArray[Any]


class Ledger(NamedTuple):
    """Where records go: a slot for each step (or −1), the agents to keep, what they show and hold, the summaries."""

    slots: NDArray[np.int64]
    agents: NDArray[np.uint32]
    states: NDArray[Any]
    held: NDArray[Any]
    summaries: NDArray[np.float64]
