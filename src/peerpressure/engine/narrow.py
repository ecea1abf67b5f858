"""The kernel for one replicate, in chunks of agents: draw the noise, gather the neighbours, update, record.

It computes what ``wide`` computes, bit for bit. Data that a step reads once, the graph and the agents' constants, is
prefetched past the larger caches, which are left to the state that is gathered at random.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerpressure.engine.arguments import (
    CHUNK,
    AgentArrays,
    Changes,
    Clock,
    Graph,
    SummaryArrays,
    adapted,
    coefficients,
    discard_stale_caches,
    keep,
    ledger_of,
    reduce_summaries,
)
from peerpressure.engine.intrinsics import fma, keep_idle, prefetch_once
from peerpressure.engine.plan import ALL, CHANCE, FRESH, FROZEN, LISTED, RECURRENT, STREAM_FRESH, WIDTH, Draw
from peerpressure.engine.random import ABOVE, U64, chosen_agent, fill_narrow, toss_narrow
from peerpressure.engine.temporal import apply_changes

_STREAM_AHEAD = 256  # edges by which the graph is prefetched ahead of its use
_TILE = 64  # agents by which the constants are prefetched ahead of their use


@njit(error_model="numpy")
def _gather_weighted(graph: Graph, public: NDArray[Any], first: int, count: int, pressure: NDArray[Any]) -> None:
    """Sum w_ij·y_j over the neighbours of each agent of a chunk.

    Within a chunk, rows are in the order of their length: the branch at the end of a row is then predicted, and the
    processor has the loads of many rows in flight.
    """
    # k runs on from row to row, since rows are adjacent: the end of one is the start of the next.
    k = U64(graph.starts[first])
    for i in range(first, first + count):
        stop = U64(graph.starts[i + 1])
        total = public.dtype.type(0)
        prefetch_once(graph.columns, k + U64(_STREAM_AHEAD))
        while k < stop:
            total = fma(graph.weights[k], public[graph.columns[k]], total)
            k += U64(1)
        pressure[graph.order[i]] = total


@njit(error_model="numpy")
def _gather_uniform(graph: Graph, public: NDArray[Any], first: int, count: int, pressure: NDArray[Any]) -> None:
    """Sum the neighbours of each agent where all edges have the same weight."""
    weight = graph.weights[0]
    k = U64(graph.starts[first])
    for i in range(first, first + count):
        stop = U64(graph.starts[i + 1])
        total = public.dtype.type(0)
        prefetch_once(graph.columns, k + U64(_STREAM_AHEAD))
        while k < stop:
            # Not weight·Σy, although that is cheaper: the wide kernel multiplies edge by edge, and both must agree to
            # the bit.
            total = fma(weight, public[graph.columns[k]], total)
            k += U64(1)
        pressure[graph.order[i]] = total


@njit(error_model="numpy")
def _gather_roomy(graph: Graph, public: NDArray[Any], first: int, count: int, pressure: NDArray[Any]) -> None:
    """Sum the neighbours of each agent where rows are in the order of the agents, with room between them."""
    for i in range(first, first + count):
        total = public.dtype.type(0)
        # Ends are explicit here, because rows of a temporal network have room for later neighbours behind the present
        # ones.
        for k in range(U64(graph.starts[i]), U64(graph.ends[i])):
            total = fma(graph.weights[k], public[graph.columns[k]], total)
        pressure[i - first] = total


@njit(error_model="numpy")
def _move_beyond(
    agents: AgentArrays,
    relief: Any,
    weight: Any,
    scale: Any,
    adaptation_rate: Any,
    pace: Any,
    first: int,
    count: int,
    public: NDArray[Any],
    output: NDArray[Any],
    hidden_state: NDArray[Any],
    noise: NDArray[Any],
    pressure: NDArray[Any],
    coins: NDArray[np.uint64],
) -> None:
    """Update the agents of a chunk where hidden opinions adapt, or the step of an SDE is shorter than 1."""
    number = public.dtype.type
    # Brownian increments over a step of length h have standard deviation √h; the drift is scaled by h itself.
    root, rest = np.sqrt(pace), number(1) - pace
    thresholds = agents.activity.thresholds
    for i in range(count):
        agent = first + i
        gain, coupling_scale = coefficients(relief, weight, agents.stubbornness[agent], agents.degrees[agent])
        jitter = root * (gain * (scale * agents.deviation[agent if agents.deviation.size > 1 else 0]))
        x = hidden_state[agent] if hidden_state.size else agents.hidden[agent]
        # The order of ``_own_part`` in the wide kernel, on which equal bits depend.
        own = fma(rest, public[agent], pace * gain * x)
        output[agent] = fma(pace * coupling_scale, pressure[i], fma(jitter, noise[i], own))
        idle = agents.activity.mode != ALL and coins[i] >= thresholds[agent]
        if idle or (agents.keep_isolated and agents.degrees[agent] == 0):
            output[agent] = public[agent]
        if hidden_state.size:
            adaptation_weight = agents.adaptation_weight[agent if agents.adaptation_weight.size > 1 else 0]
            # In place: only this agent reads its hidden opinion, and the noise and gain of this step have been applied.
            hidden_state[agent] = adapted(hidden_state[agent], output[agent], adaptation_rate * adaptation_weight)


@njit(error_model="numpy")
def _step_narrow(
    graph: Graph,
    agents: AgentArrays,
    draw: Draw,
    relief: Any,
    weight: Any,
    scale: Any,
    adaptation_rate: Any,
    pace: Any,
    step: int,
    replicate: int,
    begin: int,
    end: int,
    public: NDArray[Any],
    output: NDArray[Any],
    memory: NDArray[Any],
    hidden_state: NDArray[Any],
    noise: NDArray[Any],
    pairs: NDArray[Any],
    pressure: NDArray[Any],
    listed: NDArray[np.bool_],
    coins: NDArray[np.uint64],
    words: NDArray[np.uint64],
) -> None:
    per_agent = agents.deviation.size > 1
    everyone = agents.activity.mode == ALL
    # The model of the paper has a loop of its own, without the cases of the general step.
    plain = hidden_state.size == 0 and pace == 1
    for first in range(begin, end, CHUNK):
        count = min(CHUNK, end - first)
        if not (everyone or _toss_narrow(coins, words, agents, draw, listed, first, count, step, replicate)) and plain:
            output[first : first + count] = public[first : first + count]
            # Noise with a memory runs on under those who keep their opinions.
            if draw.mode == RECURRENT:
                _noise_narrow(noise, pairs, memory, draw, first, count, step, replicate)
            continue
        _noise_narrow(noise, pairs, memory, draw, first, count, step, replicate)
        # One test per chunk selects a loop without any test inside.
        if graph.order.size == 0:
            _gather_roomy(graph, public, first, count, pressure)
        elif graph.stride:
            _gather_weighted(graph, public, first, count, pressure)
        else:
            _gather_uniform(graph, public, first, count, pressure)
        if not plain:
            _move_beyond(
                agents,
                relief,
                weight,
                scale,
                adaptation_rate,
                pace,
                first,
                count,
                public,
                output,
                hidden_state,
                noise,
                pressure,
                coins,
            )
            continue
        for begin_tile in range(first, first + count, _TILE):
            end_tile = min(begin_tile + _TILE, first + count)
            # One request per cache line of 64 bytes, for the tile after this one.
            for ahead in range(end_tile, end_tile + _TILE, 64 // public.itemsize):
                prefetch_once(agents.stubbornness, U64(ahead))
                prefetch_once(agents.degrees, U64(ahead))
                prefetch_once(agents.hidden, U64(ahead))
            tile = slice(begin_tile, end_tile)
            s, d, x, out = agents.stubbornness[tile], agents.degrees[tile], agents.hidden[tile], output[tile]
            gathered, z = pressure[begin_tile - first :], noise[begin_tile - first :]
            deviation = agents.deviation[begin_tile if per_agent else 0 :]
            for i in range(end_tile - begin_tile):
                gain, coupling_scale = coefficients(relief, weight, s[i], d[i])
                jitter = gain * (scale * (deviation[i] if per_agent else deviation[0]))
                out[i] = fma(coupling_scale, gathered[i], fma(jitter, z[i], gain * x[i]))
        # In loops of their own, which leave the one above as it is where everybody updates.
        _keep_narrow(agents, coins, first, count, public, output)


@njit(error_model="numpy")
def _keep_narrow(
    agents: AgentArrays,
    coins: NDArray[np.uint64],
    first: int,
    count: int,
    public: NDArray[Any],
    output: NDArray[Any],
) -> None:
    """Restore the public opinions of the agents of a chunk who do not update, or who are isolated and keep theirs."""
    if agents.activity.mode != ALL:
        thresholds, whole = agents.activity.thresholds, count // WIDTH * WIDTH
        for i in range(0, whole, WIDTH):
            keep_idle(coins, U64(i), thresholds, public, output, U64(first + i))
        for i in range(whole, count):
            if coins[i] >= thresholds[first + i]:
                output[first + i] = public[first + i]
    if agents.keep_isolated:
        degrees = agents.degrees
        for agent in range(first, first + count):
            if degrees[agent] == 0:
                output[agent] = public[agent]


@njit(error_model="numpy")
def _toss_narrow(
    coins: NDArray[np.uint64],
    words: NDArray[np.uint64],
    agents: AgentArrays,
    draw: Draw,
    listed: NDArray[np.bool_],
    first: int,
    count: int,
    step: int,
    replicate: int,
) -> bool:
    """Write the coins of the agents of a chunk, and return whether one of them may update."""
    if agents.activity.mode == CHANCE:
        toss_narrow(coins, words, first, count, U64(step), U64(replicate), draw.k0, draw.k1)
        return True
    anyone = False
    chosen = chosen_agent(agents.hidden.size, U64(step), U64(replicate), draw.k0, draw.k1)
    for i in range(count):
        updates = listed[first + i] if agents.activity.mode == LISTED else chosen == U64(first + i)
        coins[i] = U64(0) if updates else ABOVE
        anyone |= updates
    return anyone


@njit(error_model="numpy")
def _noise_narrow(
    noise: NDArray[Any],
    pairs: NDArray[Any],
    memory: NDArray[Any],
    draw: Draw,
    agent: int,
    count: int,
    step: int,
    replicate: int,
) -> None:
    """Bring the noise of ``count`` ≤ CHUNK agents into the small buffer ``noise``."""
    if draw.mode != FROZEN:
        fill_narrow(
            noise,
            pairs,
            count,
            draw.law,
            draw.shape,
            U64(agent // 2),
            U64(step),
            U64(replicate),
            U64(STREAM_FRESH),
            draw.k0,
            draw.k1,
        )
    # Correlated noise: the memory is u of this step, from which a run can be resumed.
    if draw.mode != FRESH:
        number = noise.dtype.type
        carry, fresh = number(draw.carry), number(draw.fresh)
        for j in range(count):
            if draw.mode == RECURRENT:
                memory[agent + j] = fma(carry, memory[agent + j], fresh * noise[j])
            noise[j] = memory[agent + j]


@njit(cache=True, nogil=True, error_model="numpy")
def run_narrow(
    graph: Graph,
    agents: AgentArrays,
    draw: Draw,
    clock: Clock,
    changes: Changes,
    ledger: SummaryArrays,
    replicate: int,
    begin: int,
    end: int,
    states: NDArray[Any],
    memory: NDArray[Any],
    hidden_state: NDArray[Any],
    partial: NDArray[np.float64],
) -> None:
    """Make the clock's steps for agents begin…end−1, one replicate a layer; ``states`` is (layers, 2, agents)."""
    number = states.dtype.type
    # Allocated once per call and small enough for the first-level cache, as is a chunk of gathered sums.
    noise, pairs = np.zeros(CHUNK, states.dtype), np.zeros((2, CHUNK // 2), states.dtype)
    pressure = np.zeros(CHUNK, states.dtype)
    coins, words = np.zeros(CHUNK, np.uint64), np.zeros((4, CHUNK // 4), np.uint64)
    count, pace = agents.hidden.size, number(clock.pace)
    for spell in range(changes.spells.size - 1):
        apply_changes(graph, agents.degrees, changes, changes.cuts[spell], changes.cuts[spell + 1])
        # Layers inside spells: all replicates of the block share one graph, which is changed once for all of them.
        for layer in range(states.shape[0]):
            part = ledger_of(ledger, layer, 1)
            for q in range(changes.spells[spell], changes.spells[spell + 1]):
                step = clock.first + q
                # By the parity of the step and not of q, so that a segment that starts anywhere finds the state of its
                # predecessor.
                public, output = states[layer, (step - 1) & 1], states[layer, step & 1]
                relief, weight, scale = number(clock.relief[q]), number(clock.weight[q]), number(clock.scale[q])
                _step_narrow(
                    graph, agents, draw, relief, weight, scale, number(clock.adaptation_rate[q]), pace, step,
                    replicate + layer, begin, end, public, output, memory[layer], hidden_state[layer], noise, pairs,
                    pressure, clock.listed[q], coins, words,
                )  # fmt: skip
                if ledger.slots[q] >= 0:
                    keep(part, ledger.slots[q], output, hidden_state[layer], 1, begin, end, partial)
                    # With all agents in one call the partial sums are complete; otherwise the caller reduces after the
                    # last thread.
                    if end - begin == count and ledger.summaries.shape[1]:
                        reduce_summaries(part, ledger.slots[q], count, partial)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_narrow(draw: Draw, step: int, replicate: int, stream: int, memory: NDArray[Any]) -> None:
    """Write one draw for every agent and replicate to ``memory``, (layers, agents)."""
    noise, pairs = np.zeros(CHUNK, memory.dtype), np.zeros((2, CHUNK // 2), memory.dtype)
    for layer in range(memory.shape[0]):
        for agent in range(0, memory.shape[1], CHUNK):
            count = min(CHUNK, memory.shape[1] - agent)
            fill_narrow(
                noise, pairs, count, draw.law, draw.shape, U64(agent // 2), U64(step), U64(replicate + layer),
                U64(stream), draw.k0, draw.k1,
            )  # fmt: skip
            for j in range(count):
                memory[layer, agent + j] = noise[j]


discard_stale_caches(run_narrow, draw_narrow)
