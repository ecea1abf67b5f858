"""The kernel for WIDTH replicates at a time: draw the noise, gather the neighbours, update, record.

The state is laid out as (agent, replicate): one gathered neighbour row serves all replicates. ``narrow``
computes the same numbers, bit for bit, one replicate at a time. Both take a range of agents, so threads can share
one large step. Neither uses numba's threads: they release the interpreter's lock, and are run by threads of Python.
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
from peerpressure.simulation.engine.intrinsics import fma, keep_idle, prefetch, update_row
from peerpressure.simulation.engine.plan import (
    CACHE,
    CHANCE,
    CHUNK,
    EVERYBODY,
    FRESH,
    FROZEN,
    LISTED,
    RECURRENT,
    STREAM_FRESH,
    WIDTH,
    Draw,
)
from peerpressure.simulation.engine.random import (
    ABOVE,
    BATCH,
    GROUP,
    U64,
    chosen_agent,
    fill,
    filler_of,
    remember,
    room,
    toss_wide,
)
from peerpressure.simulation.engine.temporal import apply_interval

_PART = CHUNK // WIDTH  # agents whose noise is drawn at once, and who are updated while it is in the nearest cache
_AHEAD = 2 * GROUP  # agents between the one who is updated and the one whose neighbours are prefetched
_LOOK_AHEAD = 16  # neighbours of the next agents to fetch early; hubs would flush the cache


@njit(error_model="numpy", inline="always")
def _prefetch_rows(graph: Graph, public: NDArray[Any], begin: int, end: int) -> None:
    """Prefetch the neighbours of agents who come later."""
    for agent in range(begin, end):
        k = U64(graph.starts[agent])
        stop = min(U64(graph.ends[agent]), k + U64(_LOOK_AHEAD))
        while k < stop:
            base = U64(graph.columns[k]) * U64(WIDTH)
            # A row of WIDTH doubles is two cache lines, each of which needs a request of its own.
            prefetch(public, base)
            prefetch(public, base + U64(WIDTH // 2))
            k += U64(1)


@njit(error_model="numpy", inline="always")
def _own_part(
    noise: NDArray[Any],
    offset: int,
    jitter: Any,
    gain: Any,
    hidden: Any,
    rest: Any,
    public: NDArray[Any],
    hidden_state: NDArray[Any],
    base: int,
) -> None:
    """Turn the noise of one agent into its next state without the neighbours: jitter·z + (gain·x + rest·y_before)."""
    for lane in range(WIDTH):
        # Adapted opinions differ between replicates, while constant ones are a single number per agent.
        x = hidden_state[U64(base + lane)] if hidden_state.size else hidden
        own = fma(rest, public[U64(base + lane)], gain * x)
        noise[U64(offset + lane)] = fma(jitter, noise[U64(offset + lane)], own)


@njit(error_model="numpy", inline="always")
def _keep(public: NDArray[Any], output: NDArray[Any], base: int) -> None:
    """Leave the public opinion of one agent as it was."""
    for lane in range(WIDTH):
        output[U64(base + lane)] = public[U64(base + lane)]


@njit(error_model="numpy", inline="always")
def _adapt_wide(
    agents: AgentArrays, adaptation_rate: Any, begin: int, end: int, output: NDArray[Any], hidden_state: NDArray[Any]
) -> None:
    """Adapt the hidden opinions of a range of agents to their public ones, those that are kept included."""
    own_rates = agents.adaptation_weight.size > 1
    for agent in range(begin, end if hidden_state.size else begin):
        rate = adaptation_rate * agents.adaptation_weight[agent if own_rates else 0]
        base = U64(agent) * U64(WIDTH)
        for lane in range(U64(WIDTH)):
            hidden_state[base + lane] = adapted(hidden_state[base + lane], output[base + lane], rate)


@njit(error_model="numpy")
def _anyone_updates(activity: Activity, draw: Draw, k: int, begin: int, end: int, step: int, replicate: int) -> bool:
    """Return whether an agent of a range may update at the clock's step k in one of WIDTH replicates."""
    if activity.mode in (CHANCE, EVERYBODY):
        return True
    anyone = False
    if activity.mode == LISTED:
        for agent in range(begin, end):
            anyone |= activity.listed[k, agent]
        return anyone
    for lane in range(WIDTH):
        activity.chosen[lane] = chosen_agent(U64(step), U64(replicate + lane), draw)
        anyone |= U64(begin) <= activity.chosen[lane] < U64(end)
    return anyone


@njit(error_model="numpy")
def _keep_wide(
    activity: Activity,
    draw: Draw,
    k: int,
    begin: int,
    end: int,
    step: int,
    replicate: int,
    public: NDArray[Any],
    output: NDArray[Any],
) -> None:
    """Leave the public opinions of the agents of a range who do not update as they were."""
    if activity.mode == EVERYBODY:
        return
    coins = activity.coins
    for first in range(begin, end, GROUP):
        count = min(GROUP, end - first)
        if activity.mode == CHANCE:
            toss_wide(coins, first, U64(step), U64(replicate), draw)
        else:
            for i in range(count):
                for lane in range(WIDTH):
                    chosen = activity.chosen[lane] == U64(first + i)
                    updates = activity.listed[k, first + i] if activity.mode == LISTED else chosen
                    coins[i * WIDTH + lane] = U64(0) if updates else ABOVE
        for i in range(count):
            base = U64(first + i) * U64(WIDTH)
            keep_idle(coins, U64(i * WIDTH), activity.thresholds[first + i], public, output, base)


@njit(error_model="numpy", inline="always")
def _step_wide(
    graph: Graph,
    agents: AgentArrays,
    own_weight: Any,
    weight: Any,
    scale: Any,
    begin: int,
    end: int,
    last: int,
    public: NDArray[Any],
    output: NDArray[Any],
    noise: NDArray[Any],
    past_caches: bool,
) -> None:
    """Update agents begin…end−1 in the paper's model: constant hidden opinions, and no weight of their own y_{t−1}.

    Agents up to ``last`` − 1 follow, whose neighbours may be prefetched.
    """
    per_agent = agents.deviation.size > 1
    for i in range(end - begin):
        agent = U64(begin + i)
        if i % GROUP == 0:
            _prefetch_rows(graph, public, begin + i + _AHEAD, min(begin + i + _AHEAD + GROUP, last))
        if agents.keep_isolated and agents.degrees[agent] == 0:
            _keep(public, output, agent * U64(WIDTH))
            continue
        gain, coupling_scale = coefficients(own_weight, weight, agents.stubbornness[agent], agents.degrees[agent])
        # Noise is added to the hidden opinion, so the gain scales both. The parentheses fix the order of rounding.
        jitter = gain * (scale * agents.deviation[agent if per_agent else U64(0)])
        drift = gain * agents.hidden[agent]
        update_row(
            public, graph.columns, graph.weights, graph.stride, U64(graph.starts[agent]), U64(graph.ends[agent]),
            coupling_scale, jitter, drift, noise, U64(i * WIDTH), output, agent * U64(WIDTH), past_caches,
        )  # fmt: skip


@njit(error_model="numpy", inline="always")
def _step_beyond(
    graph: Graph,
    agents: AgentArrays,
    own_weight: Any,
    weight: Any,
    scale: Any,
    pace: Any,
    begin: int,
    end: int,
    last: int,
    public: NDArray[Any],
    output: NDArray[Any],
    hidden_state: NDArray[Any],
    noise: NDArray[Any],
) -> None:
    """Update agents begin…end−1 where hidden opinions adapt, or the step of an SDE is shorter than 1."""
    number = public.dtype.type
    root, rest = np.sqrt(pace), number(1) - pace
    per_agent = agents.deviation.size > 1
    for i in range(end - begin):
        agent = U64(begin + i)
        if i % GROUP == 0:
            _prefetch_rows(graph, public, begin + i + _AHEAD, min(begin + i + _AHEAD + GROUP, last))
        gain, coupling_scale = coefficients(own_weight, weight, agents.stubbornness[agent], agents.degrees[agent])
        jitter = root * (gain * (scale * agents.deviation[agent if per_agent else U64(0)]))
        base = agent * U64(WIDTH)
        # The noise buffer then has all but the neighbours, which update_row adds with jitter 1 and drift 0: fma(1, z,
        # 0) is z exactly, so one row kernel serves both kinds of step.
        _own_part(noise, i * WIDTH, jitter, pace * gain, agents.hidden[agent], rest, public, hidden_state, base)
        update_row(
            public, graph.columns, graph.weights, graph.stride, U64(graph.starts[agent]), U64(graph.ends[agent]),
            # Not past the caches: the adaptation reads the output again.
            pace * coupling_scale, number(1), number(0), noise, U64(i * WIDTH), output, base, False,
        )  # fmt: skip
        if agents.keep_isolated and agents.degrees[agent] == 0:
            _keep(public, output, base)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def run_wide(  # noqa: PLR0912 — see ``run_narrow``
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
    """Make the clock's steps for agents begin…end−1, in layers of WIDTH replicates from ``replicate`` on.

    ``states`` is (layers, 2, agents·WIDTH): the state at an even time is in row 0, at an odd time in row 1. The other
    arguments are as in ``run_narrow``.
    """
    number = states.dtype.type
    interval, q, met, steps = 0, 0, 0, clock.own_weight.size
    # For a small network the noise of several steps is drawn at once.
    length = room(end - begin, WIDTH)
    at_once = 1 if draw.mode == FROZEN else max(1, CHUNK // length)
    # Stores past the caches save the read of every line that is overwritten; a small state should stay in the caches,
    # and so should one that is changed again.
    past_caches, beyond = states[0, 0].nbytes > CACHE, hidden_state.size > 0 or clock.pace != 1
    if extensions is not None:
        past_caches &= not beyond and extensions.activity.mode == EVERYBODY
    if steps == 0:
        parity = (clock.first - 1) & 1
        keep_all(records, records.slots[0], states, parity, hidden_state, WIDTH, begin, end, partial, scratch)
    while q < steps:
        last = steps
        if extensions is not None:
            last = apply_interval(graph, agents.degrees, extensions.changes, interval)
        for layer in range(states.shape[0]):
            origin = q - at_once
            for k in range(q, last):
                step = clock.first + k
                public, output = states[layer, (step - 1) & 1], states[layer, step & 1]
                own_weight, weight, scale = number(clock.own_weight[k]), number(clock.weight[k]), number(clock.scale[k])
                first = replicate + layer * WIDTH
                for part in range(begin, end, _PART):
                    stop = min(part + _PART, end)
                    if extensions is not None:
                        anyone = _anyone_updates(extensions.activity, draw, k, part, stop, step, first)
                        # Noise with a memory runs on under those who keep their opinions, and hidden ones adapt.
                        if not anyone and draw.mode != RECURRENT and not beyond:
                            for agent in range(part, stop):
                                _keep(public, output, agent * WIDTH)
                            continue
                    if draw.mode != FROZEN and (at_once == 1 or k >= origin + at_once):
                        origin, ahead, count = k, min(at_once, last - k), stop - part
                        fill(buffers[0], words, count, ahead, filler, draw, part, step, first, STREAM_FRESH)
                    noise = buffers[0, min(k - origin, at_once - 1) * length :]
                    if draw.mode != FRESH:
                        remember(noise, memory[layer], draw, part * WIDTH, (stop - part) * WIDTH)
                    if extensions is not None and beyond:
                        _step_beyond(
                            graph, agents, own_weight, weight, scale, number(clock.pace), part, stop, end, public,
                            output, hidden_state[layer], noise,
                        )  # fmt: skip
                    else:
                        _step_wide(
                            graph,
                            agents,
                            own_weight,
                            weight,
                            scale,
                            part,
                            stop,
                            end,
                            public,
                            output,
                            noise,
                            past_caches,
                        )
                    if extensions is not None:
                        _keep_wide(extensions.activity, draw, k, part, stop, step, first, public, output)
                        rate = number(clock.adaptation_rate[k])
                        _adapt_wide(agents, rate, part, stop, output, hidden_state[layer])
                if records.slots[k] >= 0:
                    keep(
                        records, records.slots[k], layer, states, step & 1, hidden_state, WIDTH, begin, end, partial,
                        scratch,
                    )  # fmt: skip
                if meeting.size:
                    met = end_step(meeting, met, records, records.slots[k], begin, agents.hidden.size, partial)
        q = last
        interval += 1


@njit(cache=True, nogil=True, error_model="numpy")
def _draw_wide(draw: Draw, filler: U64, step: int, replicate: int, stream: int, memory: NDArray[Any]) -> None:
    noise, words = np.empty(GROUP * WIDTH, memory.dtype), np.empty((4, BATCH), U64)
    for layer in range(memory.shape[0]):
        for base in range(0, memory.shape[1], GROUP * WIDTH):
            size = min(noise.size, memory.shape[1] - base)
            agent, row = base // WIDTH, replicate + layer * WIDTH
            fill(noise, words, size // WIDTH, 1, filler, draw, agent, step, row, stream)
            for j in range(size):
                memory[layer, base + j] = noise[j]


def draw_wide(draw: Draw, step: int, replicate: int, stream: int, memory: NDArray[Any]) -> None:
    """Write one draw for every agent and replicate to ``memory``, (layers, agents·WIDTH)."""
    _draw_wide(draw, filler_of(draw.law, memory.dtype, wide=True), step, replicate, stream, memory)
