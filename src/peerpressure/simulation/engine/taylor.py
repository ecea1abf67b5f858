"""Steps of a linear stochastic differential equation by its Taylor series, from integrals over each step.

Over a part of length τ of a step the series is nested, from the innermost term j = p − 1 to j = 0:

    c ← y + ∫v^j g dt ∘ x₀ + ∫v^j C dt c − ∫v^j dt c + ζ_j,   ζ_j = ∫v^j G dw,   v = (share of the part that is left).

The integrals come from the caller. All ζ_j of an agent are combinations of two independent draws.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerpressure.simulation.engine.arguments import Graph, RecordArrays, coefficients, keep_all
from peerpressure.simulation.engine.intrinsics import fma, update_row
from peerpressure.simulation.engine.layout import aligned, graph_of
from peerpressure.simulation.engine.narrow import draw_narrow
from peerpressure.simulation.engine.plan import CHUNK, WIDTH, RunPlan, RunResult
from peerpressure.simulation.engine.random import GROUP, U64
from peerpressure.simulation.engine.runner import Block, ProcessorRun
from peerpressure.simulation.engine.wide import draw_wide

# Fresh noise has stream 0, memory and Student's laws have 1 to 3: further draws of a step take every fourth stream.
STREAMS = 4
STATE = -1  # in place of the number of a work field: the state before or after the step


@dataclass(frozen=True, eq=False)
class Part:
    """Coefficients of one part of a step, each of shape (terms, agents); ``length`` is τ.

    ``drift`` is ∫v^j g dt ∘ x₀ and ``coupling`` scales the sum over neighbours; ζ_j is ``first[j]`` times one draw plus
    ``second[j]`` times the other.
    """

    length: float
    drift: NDArray[Any]
    coupling: NDArray[Any]
    first: NDArray[Any]
    second: NDArray[Any]

    @property
    def terms(self) -> int:
        """The number p of terms of the series."""
        return self.drift.shape[0]

    def astype(self, dtype: np.dtype[Any]) -> Part:
        """Return the same coefficients in the precision of the state."""
        arrays = (self.drift, self.coupling, self.first, self.second)
        return Part(self.length, *(values.astype(dtype, copy=False) for values in arrays))


Parts = Callable[[int], Iterable[Part]]


def run(
    plan: RunPlan,
    start: NDArray[Any],
    memory: NDArray[Any] | None,
    report: Callable[[int], None],
    hidden_state: NDArray[Any] | None = None,
    *,
    parts: Parts,
) -> RunResult:
    """Make the plan's steps from ``start``; ``parts(k)`` gives the parts of step k."""
    return _TaylorRun(plan, start, memory, hidden_state, parts).finish(report)


class _TaylorRun(ProcessorRun):
    cost = 100  # several terms and parts, and coefficients that are computed first
    _meets = False  # each stage is a call of its own

    def __init__(
        self,
        plan: RunPlan,
        start: NDArray[Any],
        memory: NDArray[Any] | None,
        hidden_state: NDArray[Any] | None,
        parts: Parts,
    ) -> None:
        super().__init__(plan, start, memory, hidden_state)
        self.parts = parts
        self.graph, _ = graph_of(plan.model.network, plan.dtype, narrow=False)
        # Two stages and two draws beside the state, for each block.
        self.work = [aligned((4, *block.states[:, 0].shape), plan.dtype) for block in self.blocks]

    def _advance(self, begin: int, end: int, pool: Executor | None) -> None:
        slots = self._slots(begin, end)
        # Fewer blocks than threads: threads share the agents of a stage instead of taking whole blocks.
        share = pool is not None and len(self.blocks) < self.plan.threads
        for q, step in enumerate(range(begin + 1, end + 1)):
            for number, part in enumerate(self.parts(step)):
                task = partial(
                    self._advance_part,
                    step=step,
                    number=number,
                    part=part.astype(self.plan.dtype),
                    pool=pool if share else None,
                )
                every = range(len(self.blocks))
                # list() waits for all blocks and raises the first error of a thread.
                list(map(task, every) if pool is None or share else pool.map(task, every))
            if slots[q] >= 0:
                self._record(int(slots[q]), step)

    def _record_start(self) -> None:
        self._record(0, self.plan.start_step)

    def _record(self, slot: int, step: int) -> None:
        for block in self.blocks:
            records = self._records(block, np.zeros(0, np.int64))
            _keep(records, slot, block.states, step & 1, block.hidden_state, block.width, block.partial)

    def _advance_part(self, which: int, step: int, number: int, part: Part, pool: Executor | None) -> None:
        """Take one block through one part of a step."""
        block, work = self.blocks[which], self.work[which]
        if number:
            # The last part's result is this part's start; the state before the step has been recorded.
            block.states[:, (step - 1) & 1] = block.states[:, step & 1]
        draw = draw_wide if block.width > 1 else draw_narrow
        for k in range(2):
            draw(self.draw, step, block.first, STREAMS * (2 * number + k), work[2 + k])
        for j in reversed(range(part.terms)):
            # Stages alternate between two fields; the first reads the state, and the last writes it.
            source, target = STATE if j == part.terms - 1 else (j + 1) % 2, j % 2 if j else STATE
            self._stage(block, part, j, (block.states, step & 1, work, source, target), pool)

    def _stage(self, block: Block, part: Part, j: int, fields: tuple[Any, ...], pool: Executor | None) -> None:
        """Compute term j of the series for all agents of a block."""
        n, threads = self.plan.model.n, self.plan.threads
        kernel = _stage_wide if block.width > 1 else _stage_narrow
        rest = self.plan.dtype.type(part.length / (j + 1))
        rows = (part.drift[j], part.coupling[j], part.first[j], part.second[j])
        if pool is None or n < 2 * CHUNK:
            kernel(self.graph, *rows, rest, *fields, 0, n)
            return
        cuts = [min(n, CHUNK * (-(-n // CHUNK) * i // threads)) for i in range(threads + 1)]
        # list() is a barrier: the next stage reads neighbours from all ranges.
        list(pool.map(lambda ends: kernel(self.graph, *rows, rest, *fields, *ends), itertools.pairwise(cuts)))


@njit(cache=True, nogil=True, error_model="numpy")
def _keep(
    records: RecordArrays,
    slot: int,
    states: NDArray[Any],
    parity: int,
    hidden_state: NDArray[Any],
    width: int,
    partial: NDArray[np.float64],
) -> None:
    agents, scratch = states.shape[2] // width, np.empty((3, GROUP * width))
    keep_all(records, slot, states, parity, hidden_state, width, 0, agents, partial, scratch)


@njit(cache=True, nogil=True, error_model="numpy")
def _stage_wide(
    graph: Graph,
    drift: NDArray[Any],
    coupling: NDArray[Any],
    first: NDArray[Any],
    second: NDArray[Any],
    rest: Any,
    states: NDArray[Any],
    row: int,
    work: NDArray[Any],
    source: int,
    target: int,
    begin: int,
    end: int,
) -> None:
    """Compute one term of the series for agents begin…end−1, from one field to another.

    ``states`` is (layers, 2, agents·WIDTH), the output's in ``row``; ``work`` is (4, layers, agents·WIDTH), two stages
    and two draws.
    """
    number = states.dtype.type
    own = np.zeros(WIDTH, states.dtype)
    for layer in range(states.shape[0]):
        # Indexed here and not by the caller: a slice across layers would not count as contiguous.
        y, z, u = states[layer, 1 - row], work[2, layer], work[3, layer]
        c = y if source == STATE else work[source, layer]
        output = states[layer, row] if target == STATE else work[target, layer]
        for agent in range(begin, end):
            base = U64(agent) * U64(WIDTH)
            for lane in range(WIDTH):
                at = base + U64(lane)
                stayed = fma(-rest, c[at], y[at] + drift[agent])
                own[lane] = fma(second[agent], u[at], fma(first[agent], z[at], stayed))
            # With jitter 1 and drift 0 the row kernel adds the neighbours to what is there.
            update_row(
                c, graph.columns, graph.weights, graph.stride, U64(graph.starts[agent]), U64(graph.ends[agent]),
                coupling[agent], number(1), number(0), own, U64(0), output, base, False,
            )  # fmt: skip


@njit(cache=True, nogil=True, error_model="numpy")
def _stage_narrow(
    graph: Graph,
    drift: NDArray[Any],
    coupling: NDArray[Any],
    first: NDArray[Any],
    second: NDArray[Any],
    rest: Any,
    states: NDArray[Any],
    row: int,
    work: NDArray[Any],
    source: int,
    target: int,
    begin: int,
    end: int,
) -> None:
    """Compute what ``_stage_wide`` computes, bit for bit, one replicate a layer."""
    for layer in range(states.shape[0]):
        y, z, u = states[layer, 1 - row], work[2, layer], work[3, layer]
        c = y if source == STATE else work[source, layer]
        output = states[layer, row] if target == STATE else work[target, layer]
        for agent in range(begin, end):
            total = states.dtype.type(0)
            for k in range(U64(graph.starts[agent]), U64(graph.ends[agent])):
                total = fma(graph.weights[k * graph.stride], c[graph.columns[k]], total)
            stayed = fma(-rest, c[agent], y[agent] + drift[agent])
            own = fma(second[agent], u[agent], fma(first[agent], z[agent], stayed))
            output[agent] = fma(coupling[agent], total, own)


@njit(cache=True, nogil=True, error_model="numpy")
def integrals(
    stubbornness: NDArray[np.float64],
    degrees: NDArray[np.float64],
    own_weight: NDArray[np.float64],
    weight: NDArray[np.float64],
    left: NDArray[np.float64],
    of_gain: NDArray[np.float64],
    of_noise: NDArray[np.float64],
    gains: NDArray[np.float64],
    squares: NDArray[np.float64],
) -> None:
    """Add up ∫v^j g dt in ``gains`` (terms, agents) and ∫v^j g² dτ in ``squares`` (terms + 1, agents).

    ``own_weight``, ``weight`` and ``left``, which is v, are given at the nodes of a quadrature, as are its weights,
    once for g and once for g² with the noise's scale.
    """
    n = stubbornness.size
    for begin in range(0, n, CHUNK):
        end = min(n, begin + CHUNK)
        for k in range(left.size):
            for i in range(begin, end):
                gain, _ = coefficients(own_weight[k], weight[k], stubbornness[i], degrees[i])
                once, twice = of_gain[k] * gain, of_noise[k] * gain * gain
                for j in range(gains.shape[0]):
                    gains[j, i] += once
                    squares[j, i] += twice
                    once *= left[k]
                    twice *= left[k]
                squares[gains.shape[0], i] += twice
