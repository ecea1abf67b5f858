"""The kernel for WIDTH replicates at a time: draw the noise, gather the neighbours, update, record.

The state is laid out as (agent, replicate), so that one gathered neighbour row serves all replicates. ``narrow``
computes the same numbers, bit for bit, one replicate at a time. Both take a range of agents, so that threads can share
one large step. Neither uses numba's threads: they release the interpreter's lock, and are run by threads of Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerpressure.engine.arguments import (
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
from peerpressure.engine.intrinsics import fma, keep_idle, prefetch, update_row
from peerpressure.engine.plan import ALL, CHANCE, FRESH, FROZEN, LISTED, RECURRENT, STREAM_FRESH, WIDTH, Draw
from peerpressure.engine.random import ABOVE, GROUP, U64, chosen_agent, fill_wide, toss_wide
from peerpressure.engine.temporal import apply_changes

_CACHE = 2**25  # bytes of state from which it is not expected to stay in the caches
_LOOK_AHEAD = 16  # neighbours of the next agents to fetch early; hubs would flush the cache


@njit(error_model="numpy")
def _prefetch_rows(graph: Graph, public: NDArray[Any], begin: int, end: int) -> None:
    """Prefetch the neighbours of the next agents; the noise of the present ones is computed meanwhile."""
    for agent in range(begin, end):
        k = U64(graph.starts[agent])
        stop = min(U64(graph.ends[agent]), k + U64(_LOOK_AHEAD))
        while k < stop:
            base = U64(graph.columns[k]) * U64(WIDTH)
            # A row of WIDTH doubles is two cache lines, each of which needs a request of its own.
            prefetch(public, base)
            prefetch(public, base + U64(WIDTH // 2))
            k += U64(1)


@njit(error_model="numpy")
def _noise_wide(
    noise: NDArray[Any], memory: NDArray[Any], draw: Draw, agent: int, count: int, step: int, replicate: int
) -> None:
    """Bring the noise of ``count`` ≤ GROUP agents into the small buffer ``noise``."""
    if draw.mode != FROZEN:
        fill_wide(
            noise, count, draw.law, draw.shape, U64(agent // 2), U64(step), U64(replicate), U64(STREAM_FRESH),
            draw.k0, draw.k1,
        )  # fmt: skip
    if draw.mode != FRESH:
        number = noise.dtype.type
        carry, fresh = number(draw.carry), number(draw.fresh)
        # The memory has the layout of the state, (agent, replicate).
        base = U64(agent * WIDTH)
        for j in range(count * WIDTH):
            if draw.mode == RECURRENT:
                memory[base + U64(j)] = fma(carry, memory[base + U64(j)], fresh * noise[j])
            noise[j] = memory[base + U64(j)]


@njit(error_model="numpy")
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


@njit(error_model="numpy")
def _keep(public: NDArray[Any], output: NDArray[Any], base: int) -> None:
    """Leave the public opinion of one agent as it was."""
    for lane in range(WIDTH):
        output[U64(base + lane)] = public[U64(base + lane)]


@njit(error_model="numpy")
def _adapt(hidden_state: NDArray[Any], output: NDArray[Any], base: int, rate: Any) -> None:
    """Adapt the hidden opinion of one agent to its public opinion."""
    for lane in range(WIDTH):
        hidden_state[U64(base + lane)] = adapted(hidden_state[U64(base + lane)], output[U64(base + lane)], rate)


@njit(error_model="numpy")
def _toss_wide(
    coins: NDArray[np.uint64],
    agents: AgentArrays,
    draw: Draw,
    listed: NDArray[np.bool_],
    chosen: NDArray[np.uint64],
    first: int,
    count: int,
    step: int,
    replicate: int,
) -> bool:
    """Write the coins of ``count`` ≤ GROUP agents, and return whether one of them may update."""
    if agents.activity.mode == CHANCE:
        toss_wide(coins, first, U64(step), U64(replicate), draw.k0, draw.k1)
        return True
    anyone = False
    for i in range(count):
        for lane in range(WIDTH):
            updates = listed[first + i] if agents.activity.mode == LISTED else chosen[lane] == U64(first + i)
            coins[i * WIDTH + lane] = U64(0) if updates else ABOVE
            anyone |= updates
    return anyone


@njit(error_model="numpy")
def _choose_wide(agents: AgentArrays, draw: Draw, step: int, replicate: int, chosen: NDArray[np.uint64]) -> None:
    """Write the one agent who updates in each of WIDTH replicates, where one does."""
    if agents.activity.mode != ALL:
        for lane in range(WIDTH):
            chosen[lane] = chosen_agent(agents.hidden.size, U64(step), U64(replicate + lane), draw.k0, draw.k1)


@njit(error_model="numpy")
def _step_wide(
    graph: Graph,
    agents: AgentArrays,
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
    listed: NDArray[np.bool_],
    coins: NDArray[np.uint64],
    chosen: NDArray[np.uint64],
) -> None:
    """Make a step of the paper's model: constant hidden opinions, and no weight of an agent's own y_{t−1} on y_t."""
    per_agent = agents.deviation.size > 1
    # Stores past the caches save the read of every line that is overwritten; a small state should stay in the caches.
    everyone, thresholds = agents.activity.mode == ALL, agents.activity.thresholds
    # Nor where some keep their opinions, as the output is then read again.
    past_caches = output.nbytes > _CACHE and everyone
    for first in range(begin, end, GROUP):
        count = min(GROUP, end - first)
        if not (everyone or _toss_wide(coins, agents, draw, listed, chosen, first, count, step, replicate)):
            rows = slice(first * WIDTH, (first + count) * WIDTH)
            output[rows] = public[rows]
            # Noise with a memory runs on under those who keep their opinions.
            if draw.mode == RECURRENT:
                _noise_wide(noise, memory, draw, first, count, step, replicate)
            continue
        # One group ahead, so that these loads overlap with the noise of the present group.
        _prefetch_rows(graph, public, first + GROUP, min(first + 2 * GROUP, end))
        _noise_wide(noise, memory, draw, first, count, step, replicate)
        for i in range(count):
            agent = U64(first + i)
            if agents.keep_isolated and agents.degrees[agent] == 0:
                _keep(public, output, agent * U64(WIDTH))
                continue
            gain, coupling_scale = coefficients(relief, weight, agents.stubbornness[agent], agents.degrees[agent])
            # Noise is added to the hidden opinion, so that the gain scales both. The parentheses fix the order of
            # rounding.
            jitter = gain * (scale * agents.deviation[agent if per_agent else U64(0)])
            drift = gain * agents.hidden[agent]
            update_row(
                public, graph.columns, graph.weights, graph.stride, U64(graph.starts[agent]), U64(graph.ends[agent]),
                coupling_scale, jitter, drift, noise, U64(i * WIDTH), output, agent * U64(WIDTH), past_caches,
            )  # fmt: skip
            if not everyone:
                keep_idle(coins, U64(i * WIDTH), thresholds[agent], public, output, agent * U64(WIDTH))


@njit(error_model="numpy")
def _step_beyond(
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
    listed: NDArray[np.bool_],
    coins: NDArray[np.uint64],
    chosen: NDArray[np.uint64],
) -> None:
    """Make a step in which hidden opinions adapt, or of an SDE with steps shorter than 1."""
    number = public.dtype.type
    root, rest = np.sqrt(pace), number(1) - pace
    everyone, thresholds = agents.activity.mode == ALL, agents.activity.thresholds
    per_agent, own_rates = agents.deviation.size > 1, agents.adaptation_weight.size > 1
    for first in range(begin, end, GROUP):
        count = min(GROUP, end - first)
        _prefetch_rows(graph, public, first + GROUP, min(first + 2 * GROUP, end))
        _noise_wide(noise, memory, draw, first, count, step, replicate)
        if not everyone:
            _toss_wide(coins, agents, draw, listed, chosen, first, count, step, replicate)
        for i in range(count):
            agent = U64(first + i)
            gain, coupling_scale = coefficients(relief, weight, agents.stubbornness[agent], agents.degrees[agent])
            jitter = root * (gain * (scale * agents.deviation[agent if per_agent else U64(0)]))
            base = agent * U64(WIDTH)
            # The noise buffer then has all but the neighbours, which update_row adds with jitter 1 and drift 0: fma(1,
            # z, 0) is z exactly, so that one row kernel serves both kinds of step.
            _own_part(noise, i * WIDTH, jitter, pace * gain, agents.hidden[agent], rest, public, hidden_state, base)
            update_row(
                public, graph.columns, graph.weights, graph.stride, U64(graph.starts[agent]), U64(graph.ends[agent]),
                # Not past the caches: the adaptation right below reads the output again.
                pace * coupling_scale, number(1), number(0), noise, U64(i * WIDTH), output, base, False,
            )  # fmt: skip
            if agents.keep_isolated and agents.degrees[agent] == 0:
                _keep(public, output, base)
            if not everyone:
                keep_idle(coins, U64(i * WIDTH), thresholds[agent], public, output, base)
            if hidden_state.size:
                _adapt(
                    hidden_state,
                    output,
                    base,
                    adaptation_rate * agents.adaptation_weight[agent if own_rates else U64(0)],
                )


@njit(cache=True, nogil=True, error_model="numpy")
def run_wide(
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
    """Make the clock's steps for agents begin…end−1, in layers of WIDTH replicates from ``replicate`` on.

    ``states`` is (layers, 2, agents·WIDTH): the state at an even time is in row 0, at an odd time in row 1.
    """
    number = states.dtype.type
    # One group at a time: the buffer is 1 kB and never leaves the first-level cache.
    noise = np.zeros(GROUP * WIDTH, states.dtype)
    coins, chosen = np.zeros(GROUP * WIDTH, np.uint64), np.zeros(WIDTH, np.uint64)
    count, pace = agents.hidden.size, number(clock.pace)
    plain = hidden_state.size == 0 and clock.pace == 1
    for spell in range(changes.spells.size - 1):
        apply_changes(graph, agents.degrees, changes, changes.cuts[spell], changes.cuts[spell + 1])
        for layer in range(states.shape[0]):
            # Rows of the last layer may be fewer than WIDTH; padding is then not recorded.
            part = ledger_of(ledger, layer, WIDTH)
            for q in range(changes.spells[spell], changes.spells[spell + 1]):
                step = clock.first + q
                public, output = states[layer, (step - 1) & 1], states[layer, step & 1]
                relief, weight, scale = number(clock.relief[q]), number(clock.weight[q]), number(clock.scale[q])
                first = replicate + layer * WIDTH
                _choose_wide(agents, draw, step, first, chosen)
                if plain:
                    _step_wide(
                        graph, agents, draw, relief, weight, scale, step, first, begin, end,
                        public, output, memory[layer], noise, clock.listed[q], coins, chosen,
                    )  # fmt: skip
                else:
                    _step_beyond(
                        graph, agents, draw, relief, weight, scale, number(clock.adaptation_rate[q]), pace, step, first,
                        begin, end, public, output, memory[layer], hidden_state[layer], noise, clock.listed[q], coins,
                        chosen,
                    )  # fmt: skip
                if ledger.slots[q] >= 0:
                    keep(part, ledger.slots[q], output, hidden_state[layer], WIDTH, begin, end, partial)
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


discard_stale_caches(run_wide, draw_wide)
