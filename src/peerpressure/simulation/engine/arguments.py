"""What all kernels share: arguments in named groups, the update's formulas, records, and stale caches discarded."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerpressure.model import affine
from peerpressure.model.affine import adapted as plain_adapted, coefficients as plain_coefficients
from peerpressure.simulation.engine.intrinsics import (
    arrivals,
    arrive,
    larger,
    pause,
    sleep_briefly,
    smaller,
    yield_core,
)
from peerpressure.simulation.engine.plan import CHUNK
from peerpressure.simulation.engine.random import GROUP, U64
from peerpressure.support.progress import announce_compilation

# Invalidation of compiled kernels on disk.
#
# numba stores a compiled kernel beside its source and recompiles it when that one file changes. The kernels here inline
# functions from other modules, so an edit or an upgrade of one of those must invalidate the stored code, too.


def _newest_source() -> float:
    # The formulas of ``affine`` are inlined into every kernel, although they are outside of this package.
    sources = [*Path(__file__).parent.glob("*.py"), Path(affine.__file__)]
    return max(source.stat().st_mtime for source in sources)


def _discard_stale_caches(folder: Path) -> None:
    """Delete the stored code of the kernels where any source of the engine is newer."""
    newest = _newest_source()
    # Without its index (.nbi) numba ignores the machine code (.nbc), and overwrites it at the next compilation.
    for index in folder.glob("*.nbi"):
        # Another process may delete it at the same time, and the folder may be read-only; neither is an error here.
        with contextlib.suppress(OSError):
            if index.stat().st_mtime < newest:
                index.unlink()


# Arguments, in named groups.

# Inlining lets the kernels share the formulas with NumPy and still vectorise. The NumPy error model leaves a
# division by 0 as inf or nan: a branch that raises would stop vectorisation.
coefficients = njit(forceinline=True, error_model="numpy")(plain_coefficients)
adapted = njit(forceinline=True, error_model="numpy")(plain_adapted)


class Graph(NamedTuple):
    """A network as the kernels read it: agent i's neighbours are columns starts[i]…ends[i]−1.

    ``stride`` 0 means that one weight serves all edges. ``order`` is where the narrow kernel puts a row's sum, empty if
    rows are in the order of the agents. ``sums`` are all sums over neighbours where ``blocking`` computes them, else
    empty.
    """

    # 32 bits where they suffice: a step at one replicate is bound by the memory traffic of the graph. Unsigned, because
    # a signed index costs a test for wraparound at each access.
    starts: NDArray[np.uint32] | NDArray[np.uint64]
    ends: NDArray[np.uint32] | NDArray[np.uint64]
    columns: NDArray[np.uint32]
    weights: NDArray[Any]
    stride: np.uint64
    order: NDArray[np.uint16]
    sums: NDArray[Any]


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


class Activity(NamedTuple):
    """Who updates: a code of ``plan``, and where a table says so, the agents of each step.

    An agent updates by chance if its coin, 32 random bits, is below ``thresholds``: q·2³², rounded up. Coins of those
    who are chosen or listed are 0, and the thresholds 1. ``coins``, ``words`` and ``chosen`` are for intermediate
    results.
    """

    mode: int
    thresholds: NDArray[np.uint64]
    listed: NDArray[np.bool_]
    coins: NDArray[np.uint64]
    words: NDArray[np.uint64]
    chosen: NDArray[np.uint64]


class Clock(NamedTuple):
    """Steps to make: the time of the first; peer pressure as weight/own_weight, the noise's scale and η at each.

    ``pace`` is the weight of the map's value in the next state, the rest being the present state: 1 in discrete time,
    and the length of a step of the stochastic differential equation.
    """

    first: int
    # With two numbers for one pressure an infinite ρ needs no branch in the kernels: see ``affine``.
    own_weight: NDArray[np.float64]
    weight: NDArray[np.float64]
    scale: NDArray[np.float64]
    adaptation_rate: NDArray[np.float64]
    pace: float

    def part(self, begin: int, end: int) -> Clock:
        """Return the steps begin…end−1 of these."""
        cut = slice(begin, end)
        return Clock(
            self.first + begin,
            self.own_weight[cut],
            self.weight[cut],
            self.scale[cut],
            self.adaptation_rate[cut],
            self.pace,
        )


class Changes(NamedTuple):
    """How the network changes during the clock's steps.

    Interval k, of one unchanging network, begins before step ``intervals[k]`` (counted from 0) by setting the weights
    that the rows ``sources`` have for the columns ``targets``, from ``cuts[k]`` to ``cuts[k + 1]``−1; the last entry of
    ``intervals`` is the number of steps.
    """

    intervals: NDArray[np.int64]
    cuts: NDArray[np.int64]
    sources: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    weights: NDArray[Any]


class ExtensionArrays(NamedTuple):
    """How the network changes and who updates, where a run has more than the model of the paper.

    Hidden opinions that adapt and the pace of an SDE are in arguments that every run has.
    """

    changes: Changes
    activity: Activity


class RecordArrays(NamedTuple):
    """Where records go: a slot for each step (or −1), the recorded agents, public and hidden opinions, summaries."""

    slots: NDArray[np.int64]
    agents: NDArray[np.uint32]
    # A record that is not asked for has a time axis of length 0: numba types all fields, so None is no option.
    states: NDArray[Any]
    hidden_state: NDArray[Any]
    summaries: NDArray[np.float64]


# Threads that share the agents of each step.

_NOBODY_WAITS = 2**62
_SPINS = 1_000  # looks at the counter, some 10 µs, before another thread may have this core
_TURNS = 100  # of other threads before this one sleeps
# The meeting of a thread that waits for nobody. Not None, for which kernels would be compiled again.
ALONE = np.zeros(0, np.int64)


def new_meeting(threads: int) -> NDArray[np.int64]:
    """Return what so many threads pass to the kernels to meet at the end of each step."""
    meeting = np.zeros(16, np.int64)
    meeting[8] = threads  # not in the cache line of the counter, which all threads write
    return meeting


def call_off(meeting: NDArray[np.int64]) -> None:
    """Let nobody wait any longer, because one of the threads will not come."""
    meeting[0] = _NOBODY_WAITS


@njit(error_model="numpy")
def _meet(meeting: NDArray[np.int64], met: int) -> int:
    """Wait until all threads have come here; return how often they have met, which was ``met`` times before."""
    # The counter is never set back: a slow thread can leave after a fast one has come to the next meeting.
    wanted, spins = (met + 1) * meeting[8], 0
    arrive(meeting)
    while arrivals(meeting) < wanted:
        spins += 1
        if spins % _SPINS:
            pause()
        elif spins < _SPINS * _TURNS:
            yield_core()
        else:
            sleep_briefly()
    return met + 1


@njit(error_model="numpy")
def end_step(
    meeting: NDArray[np.int64],
    met: int,
    records: RecordArrays,
    slot: int,
    begin: int,
    agents: int,
    partial: NDArray[np.float64],
) -> int:
    """Let threads meet at the end of a step, and combine what they have summed up if it is recorded."""
    met = _meet(meeting, met)
    if slot >= 0 and records.summaries.shape[1]:
        # By one of them, as no other has seen all chunks; nobody overwrites partial sums meanwhile.
        if begin == 0:
            _reduce(records.summaries, 0, slot, agents, partial)
        met = _meet(meeting, met)
    return met


# Records of a run: states of the chosen agents, and summaries that are added in one fixed order.


@njit(error_model="numpy", inline="always")
def _summarise_chunk(
    public: NDArray[Any], width: int, first: int, count: int, scratch: NDArray[np.float64], partial: NDArray[np.float64]
) -> None:
    """Write minimum, maximum and sum over a chunk's agents, for each of ``width`` replicates, to ``partial``.

    GROUP accumulators a replicate, agent i going to number i mod GROUP, let both layouts vectorise and still add in
    the same order.
    """
    span, at, end = GROUP * width, first * width, (first + count) * width
    low, high, total = scratch[0], scratch[1], scratch[2]
    for j in range(span):
        low[j], high[j], total[j] = np.inf, -np.inf, 0.0
    while at < end:
        # The rest of a chunk goes to the accumulators in the same order, although the loop is shorter.
        for j in range(min(span, end - at)):
            # Sums in float64 for float32 states, too: a mean over many agents would otherwise lose digits to rounding.
            value = np.float64(public[U64(at) + U64(j)])
            low[j] = smaller(value, low[j])
            high[j] = larger(value, high[j])
            total[j] += value
        at += span
    # The GROUP accumulators of a replicate are added in the order of their numbers, in both layouts.
    for lane in range(width):
        for j in range(lane + width, span, width):
            low[lane] = smaller(low[j], low[lane])
            high[lane] = larger(high[j], high[lane])
            total[lane] += total[j]
        partial[0, lane], partial[1, lane], partial[2, lane] = low[lane], high[lane], total[lane]


@njit(error_model="numpy", inline="always")
def _copy_agents(
    out: NDArray[Any],
    row: int,
    slot: int,
    agents: NDArray[np.uint32],
    values: NDArray[Any],
    width: int,
    begin: int,
    end: int,
) -> None:
    """Copy the public or hidden opinions of the chosen agents in a range to the records, from ``row`` on."""
    lanes = min(width, out.shape[0] - row)
    # A test per agent instead of a search: records of few agents are short, and those of all agents need every one.
    for a in range(agents.size):
        agent = agents[a]
        if begin <= agent < end:
            for lane in range(lanes):
                out[row + lane, slot, a] = values[U64(agent) * U64(width) + U64(lane)]


@njit(error_model="numpy")
def keep(
    records: RecordArrays,
    slot: int,
    layer: int,
    states: NDArray[Any],
    parity: int,
    hidden_state: NDArray[Any],
    width: int,
    begin: int,
    end: int,
    partial: NDArray[np.float64],
    scratch: NDArray[np.float64],
) -> None:
    """Record the agents of a range in one layer of a block: their states, and partial summaries of their chunks.

    ``parity`` is the row of ``states`` in use. The summaries are complete if the range is that of all agents; otherwise
    the caller combines them after the last thread.
    """
    # Indexed here and not by the caller: a slice across layers would not count as contiguous.
    row, public = layer * width, states[layer, parity]
    if records.states.shape[1]:
        _copy_agents(records.states, row, slot, records.agents, public, width, begin, end)
    if records.hidden_state.shape[1]:
        _copy_agents(records.hidden_state, row, slot, records.agents, hidden_state[layer], width, begin, end)
    if records.summaries.shape[1]:
        for first in range(begin, end, CHUNK):
            # Threads begin at multiples of CHUNK, so a chunk is always summed by one thread as a whole.
            count = min(CHUNK, end - first)
            _summarise_chunk(public, width, first, count, scratch, partial[first // CHUNK])
        if (end - begin) * width == public.size:
            _reduce(records.summaries, row, slot, end, partial)


@njit(error_model="numpy", inline="always")
def keep_all(
    records: RecordArrays,
    slot: int,
    states: NDArray[Any],
    parity: int,
    hidden_state: NDArray[Any],
    width: int,
    begin: int,
    end: int,
    partial: NDArray[np.float64],
    scratch: NDArray[np.float64],
) -> None:
    """Record the agents of a range in all layers of a block."""
    # Called with the types of arguments with which each step calls ``keep``, which is then compiled once.
    for layer in range(states.shape[0]):
        keep(records, slot, layer, states, parity, hidden_state, width, begin, end, partial, scratch)


@njit(error_model="numpy", inline="always")
def _reduce(summaries: NDArray[np.float64], row: int, slot: int, agents: int, partial: NDArray[np.float64]) -> None:
    """Combine the chunks' partial summaries, in order, into (minimum, maximum, mean) of replicates from ``row`` on."""
    # Rows of the last layer may be fewer than its width; padding is then not recorded.
    for lane in range(min(partial.shape[2], summaries.shape[0] - row)):
        low, high, total = partial[0, 0, lane], partial[0, 1, lane], partial[0, 2, lane]
        # In the order of the chunks, never in that in which threads finish: floating-point addition is not associative.
        for chunk in range(1, partial.shape[0]):
            low = min(low, partial[chunk, 0, lane])
            high = max(high, partial[chunk, 1, lane])
            total += partial[chunk, 2, lane]
        summaries[row + lane, slot, 0] = low
        summaries[row + lane, slot, 1] = high
        summaries[row + lane, slot, 2] = total / agents


@njit(cache=True, nogil=True, error_model="numpy")
def reduce_summaries(summaries: NDArray[np.float64], slot: int, agents: int, partial: NDArray[np.float64]) -> None:
    """Combine partial summaries that several threads have written."""
    _reduce(summaries, 0, slot, agents, partial)


announce_compilation()
# One folder for all modules of the engine, which import this one before they compile.
_discard_stale_caches(Path(reduce_summaries.stats.cache_path))
