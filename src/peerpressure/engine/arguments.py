"""What all kernels share: arguments in named groups, the formulas of the update, and caches discarded when stale."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerpressure import affine
from peerpressure.affine import adapted as plain_adapted, coefficients as plain_coefficients

# Invalidation of compiled kernels on disk.
#
# numba stores a compiled kernel beside its source and recompiles it when that one file changes. The kernels here inline
# functions from other modules, so that an edit or an upgrade of one of those must invalidate the stored code, too.


def _newest_source() -> float:
    # The formulas of ``affine`` are inlined into every kernel, although they are outside of this package.
    sources = [*Path(__file__).parent.glob("*.py"), Path(affine.__file__)]
    return max(source.stat().st_mtime for source in sources)


def discard_stale_caches(*kernels: Any) -> None:
    """Delete the stored code of these kernels where any source of the engine is newer."""
    newest = _newest_source()
    for kernel in kernels:
        folder = Path(kernel.stats.cache_path)
        # numba's own naming: file stem, qualified name, then line number and Python version, which the pattern leaves
        # open.
        stem = f"{Path(kernel.py_func.__code__.co_filename).stem}.{kernel.py_func.__qualname__}-"
        # Without its index (.nbi) numba ignores the machine code (.nbc), and overwrites it at the next compilation.
        for index in folder.glob(f"{stem}*.nbi"):
            # Another process may delete it at the same time, and the folder may be read-only; neither is an error here.
            with contextlib.suppress(OSError):
                if index.stat().st_mtime < newest:
                    index.unlink()


# Arguments, in named groups.

CHUNK = 1024  # agents per partial sum: fixed, so that sums do not depend on how threads share the agents

# Inlined, so that the kernels share the formulas with NumPy and still vectorise. The NumPy error model leaves a
# division by 0 as inf or nan: a branch that raises would stop vectorisation.
coefficients = njit(forceinline=True, error_model="numpy")(plain_coefficients)
adapted = njit(forceinline=True, error_model="numpy")(plain_adapted)


class Graph(NamedTuple):
    """A network as the kernels read it: agent i's neighbours are columns starts[i]…ends[i]−1.

    ``stride`` 0 means that one weight serves all edges. ``order`` is where the narrow kernel puts a row's sum, empty if
    rows are in the order of the agents.
    """

    # 32 bits where they suffice: a step at one replicate is bound by the memory traffic of the graph. Unsigned, because
    # a signed index costs a test for wraparound at each access.
    starts: NDArray[np.uint32] | NDArray[np.uint64]
    ends: NDArray[np.uint32] | NDArray[np.uint64]
    columns: NDArray[np.uint32]
    weights: NDArray[Any]
    stride: np.uint64
    order: NDArray[np.uint16]


class AgentArrays(NamedTuple):
    """Constants of the agents; ``deviation`` and ``adaptation_weight`` have one entry if all agents share it."""

    stubbornness: NDArray[Any]
    degrees: NDArray[Any]
    hidden: NDArray[Any]
    deviation: NDArray[Any]
    adaptation_weight: NDArray[Any]


class Clock(NamedTuple):
    """Steps to make: the time of the first; peer pressure as weight/relief, the noise's scale and η at each.

    ``pace`` is the weight of the map's value in the next state, the rest being the present state: 1 in discrete time,
    and the length of a step of the stochastic differential equation.
    """

    first: int
    # Two numbers for one pressure, so that an infinite ρ needs no branch in the kernels: see ``affine``.
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


class SummaryArrays(NamedTuple):
    """Where records go: a slot for each step (or −1), the recorded agents, public and hidden opinions, summaries."""

    slots: NDArray[np.int64]
    agents: NDArray[np.uint32]
    # A record that is not asked for has a time axis of length 0: numba types all fields, so that None is no option.
    states: NDArray[Any]
    hidden_state: NDArray[Any]
    summaries: NDArray[np.float64]
