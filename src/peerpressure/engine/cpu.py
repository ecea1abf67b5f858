"""The compiled loops that step states, fused: gather the neighbours, make the noise, update, summarise.

Two kernels compute the same numbers bit for bit. ``run_wide`` carries WIDTH replicates side by side, state laid out
as (agent, replicate), so that one gathered neighbour serves them all. ``run_narrow`` carries one replicate and works
through chunks of CHUNK agents. Both take a range of agents, so that threads can share one large step.

No kernel is compiled for threads: they release the interpreter's lock, and Python's own threads run them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerpressure.affine import coefficients

from .compiled import discard_stale_caches
from .intrinsics import fma, larger, prefetch, prefetch_once, smaller, update_row
from .plan import FRESH, HELD, RECURRENT, STREAM_FRESH, WIDTH, Draw
from .random import GROUP, U64, fill_narrow, fill_wide

CHUNK = 1024  # agents per partial sum: fixed, so that sums do not depend on how threads share the agents
_CACHE = 2**25  # bytes of state from which the wide kernel does not expect it to stay in the caches
_LOOK_AHEAD = 16  # neighbours of the next agents to fetch early; hubs would flush the cache
_STREAM_AHEAD = 256  # edges by which the narrow kernel's reading of the graph runs ahead of their use
_TILE = 64  # agents by which its reading of their constants runs ahead

_coefficients = njit(inline="always", error_model="numpy")(coefficients)


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


@njit(error_model="numpy")
def _prefetch_rows(graph: Graph, public: NDArray[Any], begin: int, end: int) -> None:
    """Ask for the neighbours of the next agents while the noise of these is being made."""
    for agent in range(begin, end):
        k = U64(graph.starts[agent])
        stop = min(U64(graph.starts[agent + 1]), k + U64(_LOOK_AHEAD))
        while k < stop:
            base = U64(graph.columns[k]) * U64(WIDTH)
            prefetch(public, base)
            prefetch(public, base + U64(WIDTH // 2))
            k += U64(1)


@njit(error_model="numpy")
def _noise_wide(
    noise: NDArray[Any], memory: NDArray[Any], draw: Draw, agent: int, count: int, step: int, replicate: int
) -> None:
    """Bring the noise of ``count`` ≤ GROUP agents into the small buffer ``noise``."""
    if draw.mode != HELD:
        fill_wide(
            noise, count, draw.law, draw.shape, U64(agent // 2), U64(step), U64(replicate), U64(STREAM_FRESH),
            draw.k0, draw.k1,
        )  # fmt: skip
    if draw.mode != FRESH:
        number = noise.dtype.type
        carry, fresh = number(draw.carry), number(draw.fresh)
        base = U64(agent * WIDTH)
        for j in range(count * WIDTH):
            if draw.mode == RECURRENT:
                memory[base + U64(j)] = fma(carry, memory[base + U64(j)], fresh * noise[j])
            noise[j] = memory[base + U64(j)]


@njit(error_model="numpy")
def _step_wide(
    graph: Graph,
    agents: Agents,
    draw: Draw,
    relief: Any,
    weight: Any,
    scale: Any,
    step: int,
    replicate: int,
    begin: int,
    end: int,
    public: NDArray[Any],
    output: NDArray[Any],
    memory: NDArray[Any],
    noise: NDArray[Any],
) -> None:
    per_agent = agents.deviation.size > 1
    past_caches = output.nbytes > _CACHE
    for first in range(begin, end, GROUP):
        count = min(GROUP, end - first)
        _prefetch_rows(graph, public, first + GROUP, min(first + 2 * GROUP, end))
        _noise_wide(noise, memory, draw, first, count, step, replicate)
        for i in range(count):
            agent = U64(first + i)
            gain, pull = _coefficients(relief, weight, agents.stubbornness[agent], agents.degrees[agent])
            jitter = gain * (scale * agents.deviation[agent if per_agent else U64(0)])
            drift = gain * agents.hidden[agent]
            begin_row, end_row = U64(graph.starts[agent]), U64(graph.starts[agent + U64(1)])
            update_row(
                public, graph.columns, graph.weights, graph.stride, begin_row, end_row,
                pull, jitter, drift, noise, U64(i * WIDTH), output, agent * U64(WIDTH), past_caches,
            )  # fmt: skip


@njit(error_model="numpy")
def _gather_weighted(graph: Graph, public: NDArray[Any], first: int, count: int, pressure: NDArray[Any]) -> None:
    """Sum w_ij·y_j over the neighbours of each agent of a chunk.

    Within a chunk, rows stand in the order of their length: the branch at a row's end is then foreseen, and the
    processor has the loads of many rows in flight.
    """
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
    """Do the same where one weight serves all edges."""
    weight = graph.weights[0]
    k = U64(graph.starts[first])
    for i in range(first, first + count):
        stop = U64(graph.starts[i + 1])
        total = public.dtype.type(0)
        prefetch_once(graph.columns, k + U64(_STREAM_AHEAD))
        while k < stop:
            total = fma(weight, public[graph.columns[k]], total)
            k += U64(1)
        pressure[graph.order[i]] = total


@njit(error_model="numpy")
def _step_narrow(
    graph: Graph,
    agents: Agents,
    draw: Draw,
    relief: Any,
    weight: Any,
    scale: Any,
    step: int,
    replicate: int,
    begin: int,
    end: int,
    public: NDArray[Any],
    output: NDArray[Any],
    memory: NDArray[Any],
    noise: NDArray[Any],
    pairs: NDArray[Any],
    pressure: NDArray[Any],
) -> None:
    per_agent = agents.deviation.size > 1
    for first in range(begin, end, CHUNK):
        count = min(CHUNK, end - first)
        _noise_narrow(noise, pairs, memory, draw, first, count, step, replicate)
        if graph.stride:
            _gather_weighted(graph, public, first, count, pressure)
        else:
            _gather_uniform(graph, public, first, count, pressure)
        for begin_tile in range(first, first + count, _TILE):
            end_tile = min(begin_tile + _TILE, first + count)
            for ahead in range(end_tile, end_tile + _TILE, 64 // public.itemsize):
                prefetch_once(agents.stubbornness, U64(ahead))
                prefetch_once(agents.degrees, U64(ahead))
                prefetch_once(agents.hidden, U64(ahead))
            tile = slice(begin_tile, end_tile)
            s, d, x, out = agents.stubbornness[tile], agents.degrees[tile], agents.hidden[tile], output[tile]
            gathered, z = pressure[begin_tile - first :], noise[begin_tile - first :]
            deviation = agents.deviation[begin_tile if per_agent else 0 :]
            for i in range(end_tile - begin_tile):
                gain, pull = _coefficients(relief, weight, s[i], d[i])
                jitter = gain * (scale * (deviation[i] if per_agent else deviation[0]))
                out[i] = fma(pull, gathered[i], fma(jitter, z[i], gain * x[i]))


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
    if draw.mode != HELD:
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
    if draw.mode != FRESH:
        number = noise.dtype.type
        carry, fresh = number(draw.carry), number(draw.fresh)
        for j in range(count):
            if draw.mode == RECURRENT:
                memory[agent + j] = fma(carry, memory[agent + j], fresh * noise[j])
            noise[j] = memory[agent + j]


@njit(error_model="numpy", inline="always")
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
            value = np.float64(part[j])
            low[j] = smaller(value, low[j])
            high[j] = larger(value, high[j])
            total[j] += value
    for j in range(values.size - whole * span):
        value = np.float64(values[whole * span + j])
        low[j] = smaller(value, low[j])
        high[j] = larger(value, high[j])
        total[j] += value
    for lane in range(width):
        for j in range(lane + width, span, width):
            low[lane] = smaller(low[j], low[lane])
            high[lane] = larger(high[j], high[lane])
            total[lane] += total[j]
        partial[0, lane], partial[1, lane], partial[2, lane] = low[lane], high[lane], total[lane]


@njit(error_model="numpy", inline="always")
def _keep(
    ledger: Ledger,
    slot: int,
    public: NDArray[Any],
    width: int,
    begin: int,
    end: int,
    partial: NDArray[np.float64],
) -> None:
    """Record the agents of a range: their states, and partial summaries of their chunks."""
    if ledger.states.shape[1]:
        for a in range(ledger.agents.size):
            agent = ledger.agents[a]
            if begin <= agent < end:
                for lane in range(ledger.states.shape[0]):
                    ledger.states[lane, slot, a] = public[U64(agent) * U64(width) + U64(lane)]
    if ledger.summaries.shape[1]:
        for first in range(begin, end, CHUNK):
            _summarise_chunk(public, width, first, min(CHUNK, end - first), partial[first // CHUNK])


@njit(cache=True, nogil=True, error_model="numpy")
def reduce_summaries(ledger: Ledger, slot: int, agents: int, partial: NDArray[np.float64]) -> None:
    """Combine the chunks' partial summaries, in order, into (minimum, maximum, mean) of each replicate."""
    for lane in range(ledger.summaries.shape[0]):
        low, high, total = partial[0, 0, lane], partial[0, 1, lane], partial[0, 2, lane]
        for chunk in range(1, partial.shape[0]):
            low = min(low, partial[chunk, 0, lane])
            high = max(high, partial[chunk, 1, lane])
            total += partial[chunk, 2, lane]
        ledger.summaries[lane, slot, 0] = low
        ledger.summaries[lane, slot, 1] = high
        ledger.summaries[lane, slot, 2] = total / agents


@njit(error_model="numpy")
def _ledger_of(ledger: Ledger, layer: int, width: int) -> Ledger:
    """Return the part of the ledger that belongs to one layer of a block."""
    rows = slice(layer * width, (layer + 1) * width)
    return Ledger(ledger.slots, ledger.agents, ledger.states[rows], ledger.summaries[rows])


@njit(cache=True, nogil=True, error_model="numpy")
def keep_all(ledger: Ledger, slot: int, public: NDArray[Any], width: int, partial: NDArray[np.float64]) -> None:
    """Record whole states, (layers, agents·width): where a run starts."""
    count = public.shape[1] // width
    for layer in range(public.shape[0]):
        part = _ledger_of(ledger, layer, width)
        _keep(part, slot, public[layer], width, 0, count, partial)
        if ledger.summaries.shape[1]:
            reduce_summaries(part, slot, count, partial)


@njit(cache=True, nogil=True, error_model="numpy")
def run_wide(
    graph: Graph,
    agents: Agents,
    draw: Draw,
    clock: Clock,
    ledger: Ledger,
    replicate: int,
    begin: int,
    end: int,
    states: NDArray[Any],
    memory: NDArray[Any],
    partial: NDArray[np.float64],
) -> None:
    """Make the clock's steps for agents begin…end−1, in layers of WIDTH replicates from ``replicate`` on.

    ``states`` is (layers, 2, agents·WIDTH): the state at an even time lies in row 0, at an odd time in row 1.
    """
    number = states.dtype.type
    noise = np.zeros(GROUP * WIDTH, states.dtype)
    count = agents.hidden.size
    for layer in range(states.shape[0]):
        part = _ledger_of(ledger, layer, WIDTH)
        for q in range(clock.relief.size):
            step = clock.first + q
            public, output = states[layer, (step - 1) & 1], states[layer, step & 1]
            relief, weight, scale = number(clock.relief[q]), number(clock.weight[q]), number(clock.scale[q])
            _step_wide(
                graph, agents, draw, relief, weight, scale, step, replicate + layer * WIDTH, begin, end,
                public, output, memory[layer], noise,
            )  # fmt: skip
            if ledger.slots[q] >= 0:
                _keep(part, ledger.slots[q], output, WIDTH, begin, end, partial)
                if end - begin == count and ledger.summaries.shape[1]:
                    reduce_summaries(part, ledger.slots[q], count, partial)


@njit(cache=True, nogil=True, error_model="numpy")
def run_narrow(
    graph: Graph,
    agents: Agents,
    draw: Draw,
    clock: Clock,
    ledger: Ledger,
    replicate: int,
    begin: int,
    end: int,
    states: NDArray[Any],
    memory: NDArray[Any],
    partial: NDArray[np.float64],
) -> None:
    """Make the clock's steps for agents begin…end−1, one replicate a layer; ``states`` is (layers, 2, agents)."""
    number = states.dtype.type
    noise, pairs = np.zeros(CHUNK, states.dtype), np.zeros((2, CHUNK // 2), states.dtype)
    pressure = np.zeros(CHUNK, states.dtype)
    count = agents.hidden.size
    for layer in range(states.shape[0]):
        part = _ledger_of(ledger, layer, 1)
        for q in range(clock.relief.size):
            step = clock.first + q
            public, output = states[layer, (step - 1) & 1], states[layer, step & 1]
            relief, weight, scale = number(clock.relief[q]), number(clock.weight[q]), number(clock.scale[q])
            _step_narrow(
                graph, agents, draw, relief, weight, scale, step, replicate + layer, begin, end,
                public, output, memory[layer], noise, pairs, pressure,
            )  # fmt: skip
            if ledger.slots[q] >= 0:
                _keep(part, ledger.slots[q], output, 1, begin, end, partial)
                if end - begin == count and ledger.summaries.shape[1]:
                    reduce_summaries(part, ledger.slots[q], count, partial)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_wide(draw: Draw, step: int, replicate: int, stream: int, memory: NDArray[Any]) -> None:
    """Write one draw for every agent and replicate to ``memory``, (layers, agents·WIDTH)."""
    noise = np.zeros(GROUP * WIDTH, memory.dtype)
    for layer in range(memory.shape[0]):
        for base in range(0, memory.shape[1], GROUP * WIDTH):
            size = min(noise.size, memory.shape[1] - base)
            fill_wide(
                noise, size // WIDTH, draw.law, draw.shape, U64(base // (2 * WIDTH)), U64(step),
                U64(replicate + layer * WIDTH), U64(stream), draw.k0, draw.k1,
            )  # fmt: skip
            for j in range(size):
                memory[layer, base + j] = noise[j]


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


discard_stale_caches(run_wide, run_narrow, draw_wide, draw_narrow, keep_all, reduce_summaries)
