"""The kernel for one replicate, in chunks of agents: draw the noise, gather the neighbours, update, record.

It computes what ``wide`` computes, bit for bit. Data that a step reads once, the graph and the agents' constants, is
prefetched past the larger caches, which are left to the state that is gathered at random.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerpressure.simulation.engine.arguments import (
    Activity,
    AgentArrays,
    Clock,
    ExtensionArrays,
    Graph,
    RecordArrays,
    adapted,
    coefficients,
    end_step,
    keep,
    keep_all,
)
from peerpressure.simulation.engine.intrinsics import fma, keep_idle, prefetch_once, sum_slice
from peerpressure.simulation.engine.plan import (
    CHANCE,
    CHUNK,
    EVERYBODY,
    FRESH,
    FROZEN,
    LISTED,
    RECURRENT,
    SLICE,
    STREAM_FRESH,
    WIDTH,
    Draw,
)
from peerpressure.simulation.engine.random import (
    ABOVE,
    BATCH,
    U64,
    chosen_agent,
    fill,
    filler_of,
    remember,
    room,
    toss_narrow,
)
from peerpressure.simulation.engine.temporal import apply_interval

_STREAM_AHEAD = 256  # edges by which the graph is prefetched ahead of its use
_TILE = 64  # agents by which the constants are prefetched ahead of their use


@njit(error_model="numpy")
def _add_row(graph: Graph, public: NDArray[Any], k: U64, stop: U64, row: int, pressure: NDArray[Any]) -> None:
    """Add the neighbours at places k…stop−1 to the sum of a row."""
    total = pressure[graph.order[row]]
    while k < stop:
        # Not weight·Σy where all weights are equal, although that is cheaper: the wide kernel multiplies edge by edge,
        # and both must agree to the bit.
        total = fma(graph.weights[k * graph.stride], public[graph.columns[k]], total)
        k += U64(1)
    pressure[graph.order[row]] = total


@njit(error_model="numpy", inline="always")
def gather(graph: Graph, public: NDArray[Any], first: int, count: int, pressure: NDArray[Any]) -> None:
    """Sum w_ij·y_j over the neighbours of each agent of a chunk.

    Rows are in the order of their length, and interleaved in slices as ``layout`` describes: few branches fail, and the
    processor has the loads of many rows in flight. The longest come first; others follow while they are summed.
    """
    whole = first + count // SLICE * SLICE
    for i in range(first, whole, SLICE):
        k, last = U64(graph.starts[i]), U64(graph.starts[i + SLICE - 1])
        shared = U64(graph.starts[i + SLICE]) - last
        rest = k + shared * U64(SLICE)
        for ahead in range(_STREAM_AHEAD, _STREAM_AHEAD + 32, 16):
            prefetch_once(graph.columns, k + U64(ahead))
        sum_slice(public, graph.columns, graph.weights, graph.stride, k, rest, pressure, graph.order, U64(i))
        if rest < last + shared:
            for row in range(i, i + SLICE - 1):
                begin, rest = rest, rest + U64(graph.starts[row + 1]) - U64(graph.starts[row]) - shared
                _add_row(graph, public, begin, rest, row, pressure)
    for row in range(whole, first + count):
        pressure[graph.order[row]] = 0
        _add_row(graph, public, U64(graph.starts[row]), U64(graph.starts[row + 1]), row, pressure)


@njit(error_model="numpy", inline="always")
def _gather_roomy(graph: Graph, public: NDArray[Any], first: int, count: int, pressure: NDArray[Any]) -> None:
    """Sum the neighbours of each agent where rows are in the order of the agents, with room between them."""
    for i in range(first, first + count):
        total = public.dtype.type(0)
        # Ends are explicit here, because rows of a temporal network have room for later neighbours behind the present
        # ones.
        for k in range(U64(graph.starts[i]), U64(graph.ends[i])):
            total = fma(graph.weights[k], public[graph.columns[k]], total)
        pressure[i - first] = total


@njit(error_model="numpy", inline="always")
def _move_beyond(
    agents: AgentArrays,
    own_weight: Any,
    weight: Any,
    scale: Any,
    pace: Any,
    first: int,
    count: int,
    public: NDArray[Any],
    output: NDArray[Any],
    hidden_state: NDArray[Any],
    noise: NDArray[Any],
    pressure: NDArray[Any],
) -> None:
    """Update the agents of a chunk where hidden opinions adapt, or the step of an SDE is shorter than 1."""
    number = public.dtype.type
    # Brownian increments over a step of length h have standard deviation √h; the drift is scaled by h itself.
    root, rest = np.sqrt(pace), number(1) - pace
    for i in range(count):
        agent = first + i
        gain, coupling_scale = coefficients(own_weight, weight, agents.stubbornness[agent], agents.degrees[agent])
        jitter = root * (gain * (scale * agents.deviation[agent if agents.deviation.size > 1 else 0]))
        x = hidden_state[agent] if hidden_state.size else agents.hidden[agent]
        # The order of ``_own_part`` in the wide kernel, on which equal bits depend.
        own = fma(rest, public[agent], pace * gain * x)
        output[agent] = fma(pace * coupling_scale, pressure[i], fma(jitter, noise[i], own))


@njit(error_model="numpy", inline="always")
def _adapt_narrow(
    agents: AgentArrays, adaptation_rate: Any, first: int, count: int, output: NDArray[Any], hidden_state: NDArray[Any]
) -> None:
    """Adapt the hidden opinions of a chunk to its public ones, those that are kept included."""
    for agent in range(first, first + count if hidden_state.size else first):
        adaptation_weight = agents.adaptation_weight[agent if agents.adaptation_weight.size > 1 else 0]
        # In place: only this agent reads its hidden opinion, and the noise and gain of this step have been applied.
        hidden_state[agent] = adapted(hidden_state[agent], output[agent], adaptation_rate * adaptation_weight)


@njit(error_model="numpy", inline="always")
def _move(
    agents: AgentArrays,
    own_weight: Any,
    weight: Any,
    scale: Any,
    first: int,
    count: int,
    output: NDArray[Any],
    noise: NDArray[Any],
    pressure: NDArray[Any],
) -> None:
    """Update the agents of a chunk in the model of the paper."""
    per_agent = agents.deviation.size > 1
    for begin in range(first, first + count, _TILE):
        end = min(begin + _TILE, first + count)
        # One request per cache line of 64 bytes, for the tile after this one.
        for ahead in range(end, end + _TILE, 64 // output.itemsize):
            prefetch_once(agents.stubbornness, U64(ahead))
            prefetch_once(agents.degrees, U64(ahead))
            prefetch_once(agents.hidden, U64(ahead))
        tile = slice(begin, end)
        s, d, x, out = agents.stubbornness[tile], agents.degrees[tile], agents.hidden[tile], output[tile]
        gathered, z = pressure[begin - first :], noise[begin - first :]
        deviation = agents.deviation[begin if per_agent else 0 :]
        for i in range(end - begin):
            gain, coupling_scale = coefficients(own_weight, weight, s[i], d[i])
            jitter = gain * (scale * (deviation[i] if per_agent else deviation[0]))
            out[i] = fma(coupling_scale, gathered[i], fma(jitter, z[i], gain * x[i]))


@njit(error_model="numpy", inline="always")
def _keep_isolated(agents: AgentArrays, first: int, count: int, public: NDArray[Any], output: NDArray[Any]) -> None:
    """Leave the public opinions of agents without neighbours as they were, where that is the rule."""
    # Apart from ``_move``, whose loop stays without a test for each agent.
    if agents.keep_isolated:
        for agent in range(first, first + count):
            if agents.degrees[agent] == 0:
                output[agent] = public[agent]


@njit(error_model="numpy")
def _toss_narrow(activity: Activity, draw: Draw, k: int, first: int, count: int, step: int, replicate: int) -> bool:
    """Write the coins of the agents of a chunk at the clock's step k, and return whether one of them may update."""
    if activity.mode == EVERYBODY:
        return True
    if activity.mode == CHANCE:
        toss_narrow(activity.coins, activity.words, first, count, U64(step), U64(replicate), draw)
        return True
    anyone = False
    chosen = chosen_agent(U64(step), U64(replicate), draw)
    for i in range(count):
        updates = activity.listed[k, first + i] if activity.mode == LISTED else chosen == U64(first + i)
        activity.coins[i] = U64(0) if updates else ABOVE
        anyone |= updates
    return anyone


@njit(error_model="numpy")
def _keep_narrow(activity: Activity, first: int, count: int, public: NDArray[Any], output: NDArray[Any]) -> None:
    """Leave the public opinions of the agents of a chunk who do not update as they were."""
    if activity.mode == EVERYBODY:
        return
    coins, thresholds, whole = activity.coins, activity.thresholds, count // WIDTH * WIDTH
    for i in range(0, whole, WIDTH):
        keep_idle(coins, U64(i), thresholds, public, output, U64(first + i))
    for i in range(whole, count):
        if coins[i] >= thresholds[first + i]:
            output[first + i] = public[first + i]


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def run_narrow(  # noqa: PLR0912 — some of the branches are decided when it is compiled
    graph: Graph,
    agents: AgentArrays,
    draw: Draw,
    filler: U64,
    clock: Clock,
    extensions: ExtensionArrays | None,
    records: RecordArrays,
    replicate: int,
    begin: int,
    end: int,
    meeting: NDArray[np.int64],
    states: NDArray[Any],
    memory: NDArray[Any],
    hidden_state: NDArray[Any],
    partial: NDArray[np.float64],
    buffers: NDArray[Any],
    words: NDArray[np.uint64],
    scratch: NDArray[np.float64],
) -> None:
    """Make the clock's steps for agents begin…end−1, one replicate a layer; ``states`` is (layers, 2, agents).

    ``extensions`` is None for the model of the paper on a constant network, whose kernel is compiled without them; a
    second one serves everything else. A clock without steps records the state in which a run starts. ``meeting`` is
    where threads meet at the end of each step if they share the agents, else ``ALONE``. ``buffers``, (2, CHUNK),
    ``words`` and ``scratch`` are for intermediate results.
    """
    number, pressure = states.dtype.type, buffers[1]
    interval, q, met, steps, pace = 0, 0, 0, clock.own_weight.size, number(clock.pace)
    beyond = hidden_state.size > 0 or clock.pace != 1
    # For a small network the noise of several steps is drawn at once.
    length = room(end - begin, 1)
    at_once = 1 if draw.mode == FROZEN else max(1, CHUNK // length)
    if steps == 0:
        parity = (clock.first - 1) & 1
        keep_all(records, records.slots[0], states, parity, hidden_state, 1, begin, end, partial, scratch)
    while q < steps:
        last = steps
        if extensions is not None:
            last = apply_interval(graph, agents.degrees, extensions.changes, interval)
        # Layers inside intervals: all replicates of the block share one graph, which is changed once for all of them.
        for layer in range(states.shape[0]):
            row, origin = replicate + layer, q - at_once
            for k in range(q, last):
                step = clock.first + k
                # By the parity of the step and not of k: a segment that starts anywhere must find the state of its
                # predecessor.
                public, output = states[layer, (step - 1) & 1], states[layer, step & 1]
                own_weight, weight, scale = number(clock.own_weight[k]), number(clock.weight[k]), number(clock.scale[k])
                for first in range(begin, end, CHUNK):
                    count = min(CHUNK, end - first)
                    if extensions is not None:
                        anyone = _toss_narrow(extensions.activity, draw, k, first, count, step, row)
                        # Noise with a memory runs on under those who keep their opinions, and hidden ones adapt.
                        if not anyone and draw.mode != RECURRENT and not beyond:
                            for agent in range(first, first + count):
                                output[agent] = public[agent]
                            continue
                    if draw.mode != FROZEN and (at_once == 1 or k >= origin + at_once):
                        origin, ahead = k, min(at_once, last - k)
                        fill(buffers[0], words, count, ahead, filler, draw, first, step, row, STREAM_FRESH)
                    noise = buffers[0, min(k - origin, at_once - 1) * length :]
                    if draw.mode != FRESH:
                        remember(noise, memory[layer], draw, first, count)
                    if not graph.sums.size:
                        if extensions is None or graph.order.size:
                            gather(graph, public, first, count, pressure)
                        else:
                            _gather_roomy(graph, public, first, count, pressure)
                    sums = graph.sums[first:] if graph.sums.size else pressure
                    # The step of the paper has a loop of its own, without the cases of the general one.
                    if extensions is not None and beyond:
                        _move_beyond(
                            agents, own_weight, weight, scale, pace, first, count, public, output, hidden_state[layer],
                            noise, sums,
                        )  # fmt: skip
                    else:
                        _move(agents, own_weight, weight, scale, first, count, output, noise, sums)
                    _keep_isolated(agents, first, count, public, output)
                    if extensions is not None:
                        _keep_narrow(extensions.activity, first, count, public, output)
                        rate = number(clock.adaptation_rate[k])
                        _adapt_narrow(agents, rate, first, count, output, hidden_state[layer])
                if records.slots[k] >= 0:
                    keep(
                        records, records.slots[k], layer, states, step & 1, hidden_state, 1, begin, end, partial,
                        scratch,
                    )  # fmt: skip
                if meeting.size:
                    met = end_step(meeting, met, records, records.slots[k], begin, agents.hidden.size, partial)
        q = last
        interval += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _draw_narrow(draw: Draw, filler: U64, step: int, replicate: int, stream: int, memory: NDArray[Any]) -> None:
    noise, words = np.empty(CHUNK, memory.dtype), np.empty((4, BATCH), U64)
    for layer in range(memory.shape[0]):
        for agent in range(0, memory.shape[1], CHUNK):
            count = min(CHUNK, memory.shape[1] - agent)
            fill(noise, words, count, 1, filler, draw, agent, step, replicate + layer, stream)
            for j in range(count):
                memory[layer, agent + j] = noise[j]


def draw_narrow(draw: Draw, step: int, replicate: int, stream: int, memory: NDArray[Any]) -> None:
    """Write one draw for every agent and replicate to ``memory``, (layers, agents)."""
    _draw_narrow(draw, filler_of(draw.law, memory.dtype, wide=False), step, replicate, stream, memory)
