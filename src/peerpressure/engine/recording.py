"""Records of a run: states of the chosen agents, and summaries that are added in one fixed order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerpressure.engine.arguments import CHUNK, SummaryArrays, discard_stale_caches
from peerpressure.engine.intrinsics import larger, smaller
from peerpressure.engine.random import GROUP, U64


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
