"""What all kernels share: arguments in named groups, the update's formulas, records, and stale caches discarded."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerpressure import affine
from peerpressure.affine import adapted as plain_adapted, coefficients as plain_coefficients
from peerpressure.engine.intrinsics import larger, smaller
from peerpressure.engine.random import GROUP, U64
from peerpressure.progress import announce_compilation

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
    announce_compilation()
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


class Activity(NamedTuple):
    """Who updates: a code of ``plan``, and the threshold below which an agent's word of 32 random bits must be.

    ``thresholds`` are q·2³², rounded up, and 1 where coins are not tossed; empty where everybody updates.
    """

    mode: int
    thresholds: NDArray[np.uint64]


class AgentArrays(NamedTuple):
    """Constants of the agents; ``deviation`` and ``adaptation_weight`` have one entry if all agents share it.

    ``keep_isolated`` is whether agents of degree 0 keep their public opinions.
    """

    stubbornness: NDArray[Any]
    degrees: NDArray[Any]
    hidden: NDArray[Any]
    deviation: NDArray[Any]
    adaptation_weight: NDArray[Any]
    keep_isolated: bool
    activity: Activity


class Clock(NamedTuple):
    """Steps to make: the time of the first; peer pressure as weight/relief, the noise's scale and η at each.

    ``listed`` is who updates where a table says so, (steps, agents), and (steps, 0) elsewhere.
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
    listed: NDArray[np.bool_]

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
            self.listed[cut],
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


# Records of a run: states of the chosen agents, and summaries that are added in one fixed order.


@njit(error_model="numpy", forceinline=True)
def _summarise_chunk(public: NDArray[Any], width: int, first: int, count: int, partial: NDArray[np.float64]) -> None:
    """Write minimum, maximum and sum over a chunk's agents, for each of ``width`` replicates, to ``partial``.

    GROUP accumulators a replicate, agent i going to number i mod GROUP, let both layouts vectorise and still add in
    the same order.
    """
    span = GROUP * width
    low, high, total = np.full(span, np.inf), np.full(span, -np.inf), np.zeros(span)
    values = public[first * width : (first + count) * width]
    whole = values.size // span
    for block in range(whole):
        part = values[block * span : (block + 1) * span]
        for j in range(span):
            # Sums in float64 for float32 states, too: a mean over many agents would otherwise lose digits to rounding.
            value = np.float64(part[j])
            low[j] = smaller(value, low[j])
            high[j] = larger(value, high[j])
            total[j] += value
    # The rest of a chunk goes to the accumulators in the same order, although the loop is shorter.
    for j in range(values.size - whole * span):
        value = np.float64(values[whole * span + j])
        low[j] = smaller(value, low[j])
        high[j] = larger(value, high[j])
        total[j] += value
    # The GROUP accumulators of a replicate are added in the order of their numbers, in both layouts.
    for lane in range(width):
        for j in range(lane + width, span, width):
            low[lane] = smaller(low[j], low[lane])
            high[lane] = larger(high[j], high[lane])
            total[lane] += total[j]
        partial[0, lane], partial[1, lane], partial[2, lane] = low[lane], high[lane], total[lane]


@njit(error_model="numpy", forceinline=True)
def _copy_agents(
    out: NDArray[Any], slot: int, agents: NDArray[np.uint32], values: NDArray[Any], width: int, begin: int, end: int
) -> None:
    """Copy the public or hidden opinions of the chosen agents in a range to the records."""
    # A test per agent instead of a search: records of few agents are short, and those of all agents need every one.
    for a in range(agents.size):
        agent = agents[a]
        if begin <= agent < end:
            for lane in range(out.shape[0]):
                out[lane, slot, a] = values[U64(agent) * U64(width) + U64(lane)]


@njit(error_model="numpy", forceinline=True)
def keep(
    ledger: SummaryArrays,
    slot: int,
    public: NDArray[Any],
    hidden_state: NDArray[Any],
    width: int,
    begin: int,
    end: int,
    partial: NDArray[np.float64],
) -> None:
    """Record the agents of a range: their states, and partial summaries of their chunks."""
    if ledger.states.shape[1]:
        _copy_agents(ledger.states, slot, ledger.agents, public, width, begin, end)
    if ledger.hidden_state.shape[1]:
        _copy_agents(ledger.hidden_state, slot, ledger.agents, hidden_state, width, begin, end)
    if ledger.summaries.shape[1]:
        for first in range(begin, end, CHUNK):
            # Threads begin at multiples of CHUNK, so that a chunk is always summed by one thread as a whole.
            _summarise_chunk(public, width, first, min(CHUNK, end - first), partial[first // CHUNK])


@njit(cache=True, nogil=True, error_model="numpy")
def reduce_summaries(ledger: SummaryArrays, slot: int, agents: int, partial: NDArray[np.float64]) -> None:
    """Combine the chunks' partial summaries, in order, into (minimum, maximum, mean) of each replicate."""
    for lane in range(ledger.summaries.shape[0]):
        low, high, total = partial[0, 0, lane], partial[0, 1, lane], partial[0, 2, lane]
        # In the order of the chunks, never in that in which threads finish: floating-point addition is not associative.
        for chunk in range(1, partial.shape[0]):
            low = min(low, partial[chunk, 0, lane])
            high = max(high, partial[chunk, 1, lane])
            total += partial[chunk, 2, lane]
        ledger.summaries[lane, slot, 0] = low
        ledger.summaries[lane, slot, 1] = high
        ledger.summaries[lane, slot, 2] = total / agents


@njit(error_model="numpy")
def ledger_of(ledger: SummaryArrays, layer: int, width: int) -> SummaryArrays:
    """Return the part of the ledger that belongs to one layer of a block."""
    rows = slice(layer * width, (layer + 1) * width)
    return SummaryArrays(
        ledger.slots, ledger.agents, ledger.states[rows], ledger.hidden_state[rows], ledger.summaries[rows]
    )


@njit(cache=True, nogil=True, error_model="numpy")
def keep_all(
    ledger: SummaryArrays,
    slot: int,
    public: NDArray[Any],
    hidden_state: NDArray[Any],
    width: int,
    partial: NDArray[np.float64],
) -> None:
    """Record whole states, (layers, agents·width): where a run starts."""
    count = public.shape[1] // width
    for layer in range(public.shape[0]):
        part = ledger_of(ledger, layer, width)
        keep(part, slot, public[layer], hidden_state[layer], width, 0, count, partial)
        if ledger.summaries.shape[1]:
            reduce_summaries(part, slot, count, partial)


discard_stale_caches(keep_all, reduce_summaries)
