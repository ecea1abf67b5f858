"""One pass over the steps of a large network for a forecast: its mean, the adjoint of a weighted mean, and two samples.

The four have a number each for every agent, side by side in memory: what a step waits for is memory, and one neighbour
that is fetched serves all of them. The adjoint runs from the last step to the first while the others run from the first
to the last. On a symmetric network all four are sums over the same neighbours. Hidden opinions that adapt and the
memory of correlated noise are seen by nobody else: each has four numbers of its own per agent, in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.model.step import Array
from peerpressure.simulation.engine.arguments import adapted, coefficients
from peerpressure.simulation.engine.intrinsics import prefetch
from peerpressure.simulation.engine.layout import aligned
from peerpressure.simulation.engine.random import U64
from peerpressure.simulation.engine.runner import equal_parts, on_threads
from peerpressure.support.progress import check_cancelled
from peerpressure.support.resources import available_cores

LANES = 4  # mean, adjoint and two samples of an agent: half a cache line
_AHEAD = 64  # edges between the one that is added and the one whose agent is prefetched
_TOGETHER = 1024  # steps whose pressures are evaluated together
_PARTS = 16  # ranges of agents whose sums are added up; not by the number of threads, which must not change a bit
_SUMS = 5


class PassEdges(NamedTuple):
    """Starts, columns and weights of the rows of a matrix; one weight where all are equal."""

    starts: NDArray[Any]
    columns: NDArray[Any]
    weights: Array


class PassAgents(NamedTuple):
    """What a step reads of each agent once; ``pace`` is its factor of the rate of adaptation."""

    stubbornness: Array
    degrees: Array
    hidden: Array
    deviations: Array
    targets: Array
    pace: Array | None


class PassMoment(NamedTuple):
    """Pressure, scale of the noise and rate of adaptation at one step."""

    own_weight: float
    weight: float
    scale: float
    rate: float


class PassClock(NamedTuple):
    """The step forwards, the step that the adjoint arrives at, and whether that is the start."""

    ahead: PassMoment
    back: PassMoment
    arrived: bool
    phi: float
    innovation: float


class PassState(NamedTuple):
    """Four numbers of each agent: public opinions before and after a step; hidden ones and noise memory, if any.

    On a directed network the adjoint, which has neighbours of its own, is in ``pushed``, before and after.
    """

    before: Array
    after: Array
    hidden: Array | None
    memory: Array | None
    pushed: tuple[Array, Array] | None

    def turned(self) -> PassState:
        """Return the state before the next step."""
        pushed = None if self.pushed is None else (self.pushed[1], self.pushed[0])
        return self._replace(before=self.after, after=self.before, pushed=pushed)


class StepSums(NamedTuple):
    """Sums over agents after a step: squares about the mean opinion, about the targets, and of the step's own noise."""

    about_mean: float
    about_targets: float
    own_noise: float


@dataclass(frozen=True, eq=False)
class PassResult:
    """Mean after the last step, weights of the start in the weighted mean, its variance, and two samples of noise.

    Samples have the covariance of the opinions and mean 0; shape (agents, 2). The same of hidden opinions that adapt.
    """

    mean: Array
    start_weights: Array
    variance: float
    samples: Array
    hidden_mean: Array | None
    hidden_samples: Array | None


def forecast_pass(
    model: Model, steps: int, weights: Array, targets: Array, watch: Callable[[int, StepSums], None] | None
) -> PassResult:
    """Make a number of steps of a constant network, and as many of the adjoint of the weights of a mean.

    Distances are measured to ``targets``; ``watch`` is called after each step with its number and sums over agents.
    """
    network, n = model.network, model.n
    pace = None if model.adaptation is None else np.ascontiguousarray(model.adaptation.adaptation_weights(n))
    agents = PassAgents(model.s, network.degrees, model.x0, model.noise.deviations(n), targets, pace)
    edges = _edges(network.adjacency)
    # A directed network is heard by others than those whom its agents hear.
    back_edges = _edges(network.transposed) if network.directed else None
    signs = np.random.default_rng(0)
    state, variance = _begun(model, steps, weights, agents, signs)
    centre, parts = float(model.start_state.mean()), equal_parts(edges.starts, _PARTS, 1)
    with ThreadPoolExecutor(available_cores()) as pool:
        for t, clock in _clocks(model, steps):
            check_cancelled()
            # Signs of the samples, whatever the noise distribution: variances are the same.
            drawn = signs.integers(0, 4, n, dtype=np.uint8)
            sums = _made(edges, back_edges, agents, clock, drawn, centre, state, parts, pool)
            state = state.turned()
            variance += float(sums[4])
            if watch is not None:
                # About the mean of the step before, which is near: the difference of the two sums loses no digits.
                about = max(float(sums[1] - sums[0] ** 2 / n), 0.0)
                watch(t, StepSums(about, float(sums[2]), float(sums[3])))
            centre += float(sums[0]) / n
    return _result(state, variance)


def _begun(
    model: Model, steps: int, weights: Array, agents: PassAgents, signs: np.random.Generator
) -> tuple[PassState, float]:
    """Return the state before the first step, for the adjoint that after the last one, and the variance of that."""
    n, (last,) = model.n, _readings(model, range(steps, steps + 1))
    phi = model.noise.autocorrelation
    before, after = (aligned((n, LANES), np.float64) for _ in range(2))
    before[:, 0], before[:, 2:] = model.start_state, 0.0
    gain, coupling = coefficients(last.own_weight, last.weight, agents.stubbornness, agents.degrees)
    before[:, 1] = coupling * weights
    noise, hidden, memory = gain * last.scale * agents.deviations * weights, None, None
    if agents.pace is not None:
        hidden = aligned((n, LANES), np.float64)
        hidden[:, 0], hidden[:, 1], hidden[:, 2:] = model.x0, gain * weights, 0.0
    if phi:
        memory = aligned((n, LANES), np.float64)
        first = signs.integers(0, 4, n, dtype=np.uint8)
        memory[:, 1] = phi * noise
        memory[:, 2], memory[:, 3] = 2.0 * (first & 1) - 1, (first & 2) - 1.0
    pushed = (before[:, 1].copy(), np.empty(n)) if model.network.directed else None
    # The noise of the last step, after which the adjoint begins.
    return PassState(before, after, hidden, memory, pushed), float((1 - phi) * (1 + phi) * np.sum(noise**2))


def _made(
    edges: PassEdges,
    back_edges: PassEdges | None,
    agents: PassAgents,
    clock: PassClock,
    signs: NDArray[np.uint8],
    centre: float,
    state: PassState,
    parts: list[tuple[int, int]],
    pool: ThreadPoolExecutor,
) -> Array:
    """Make a step of all agents, and return the sums over them."""
    sums = np.zeros((len(parts), _SUMS))
    numbers = {begin: k for k, (begin, end) in enumerate(parts) if begin < end}

    def part(begin: int, end: int) -> None:
        if begin < end:
            _advance(edges, back_edges, agents, clock, signs, centre, *state, begin, end, sums[numbers[begin]])

    on_threads(pool, part, parts)
    return np.asarray(sums.sum(axis=0))


def _result(state: PassState, variance: float) -> PassResult:
    weights = state.before[:, 1] if state.pushed is None else state.pushed[0]
    if state.memory is not None:
        # The memory of the noise at the start is random, too.
        variance += float(np.sum(state.memory[:, 1] ** 2))
    hidden = state.hidden
    return PassResult(
        state.before[:, 0].copy(),
        weights.copy(),
        variance,
        state.before[:, 2:].copy(),
        None if hidden is None else hidden[:, 0].copy(),
        None if hidden is None else hidden[:, 2:].copy(),
    )


def _edges(matrix: Any) -> PassEdges:
    uniform = bool(matrix.nnz) and bool((matrix.data == matrix.data[0]).all())
    unsigned = matrix.indices.view(np.uint32 if matrix.indices.itemsize == 4 else np.uint64)
    return PassEdges(matrix.indptr, unsigned, matrix.data[:1].copy() if uniform else matrix.data)


def _readings(model: Model, times: range) -> list[PassMoment]:
    """Return the numbers of some steps."""
    own_weight, weight = model.homogeneous(times)
    rate = np.zeros(len(times)) if model.adaptation is None else model.adaptation.pace(times)
    return [PassMoment(*row) for row in np.stack([own_weight, weight, model.noise.scale(times), rate], axis=1).tolist()]


def _clocks(model: Model, steps: int) -> Iterator[tuple[int, PassClock]]:
    """Yield each step with the numbers that it needs, forwards and back."""
    phi = model.noise.autocorrelation
    innovation = math.sqrt((1 - phi) * (1 + phi))
    for first in range(1, steps + 1, _TOGETHER):
        times = range(first, min(first + _TOGETHER, steps + 1))
        # The adjoint arrives at step T − t while the others arrive at t; at 0 it has arrived at the start.
        back = [max(steps - t, 1) for t in times]
        ahead, behind = _readings(model, times), _readings(model, range(back[-1], back[0] + 1))
        for k, t in enumerate(times):
            yield t, PassClock(ahead[k], behind[back[k] - back[-1]], t == steps, phi, innovation)


@njit(forceinline=True, error_model="numpy")
def _gathered(edges: PassEdges, i: int, flat: Array) -> tuple[float, float, float, float]:
    """Return the sums of all lanes over whom an agent listens to."""
    columns, weights = edges.columns, edges.weights
    several, last = weights.size > 1, U64(max(columns.size - 1, 0))
    mean = back = one = other = 0.0
    edge, stop = U64(edges.starts[i]), U64(edges.starts[i + 1])
    while edge < stop:
        prefetch(flat, U64(columns[min(edge + U64(_AHEAD), last)]) * U64(LANES))
        j, weight = U64(columns[edge]) * U64(LANES), weights[edge] if several else weights[0]
        mean += weight * flat[j]
        back += weight * flat[j + U64(1)]
        one += weight * flat[j + U64(2)]
        other += weight * flat[j + U64(3)]
        edge += U64(1)
    return mean, back, one, other


@njit(forceinline=True, error_model="numpy")
def _heard(edges: PassEdges, i: int, pushed: Array) -> float:
    """Return the sum over those who listen to an agent."""
    columns, weights = edges.columns, edges.weights
    several, last, total = weights.size > 1, U64(max(columns.size - 1, 0)), 0.0
    edge, stop = U64(edges.starts[i]), U64(edges.starts[i + 1])
    while edge < stop:
        prefetch(pushed, U64(columns[min(edge + U64(_AHEAD), last)]))
        total += (weights[edge] if several else weights[0]) * pushed[U64(columns[edge])]
        edge += U64(1)
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _advance(
    edges: PassEdges,
    back_edges: PassEdges | None,
    agents: PassAgents,
    clock: PassClock,
    signs: NDArray[np.uint8],
    centre: float,
    before: Array,
    after: Array,
    hidden: Array | None,
    memory: Array | None,
    pushed: tuple[Array, Array] | None,
    begin: int,
    end: int,
    sums: Array,
) -> None:
    """Make a step of all lanes of some agents, and add up what a watch and the variance need."""
    flat, out = before.ravel(), after.ravel()
    now, then = clock.ahead, clock.back
    first = square = away = own_noise = variance = 0.0
    for i in range(begin, end):
        mean, back, one, other = _gathered(edges, i, flat)
        if back_edges is not None and pushed is not None:
            back = _heard(back_edges, i, pushed[0])
        s, degree = agents.stubbornness[i], agents.degrees[i]
        gain, coupling = coefficients(now.own_weight, now.weight, s, degree)
        size = gain * now.scale * agents.deviations[i]
        noise, another = 1.0 if signs[i] & 1 else -1.0, 1.0 if signs[i] & 2 else -1.0
        if memory is not None:
            noise = clock.phi * memory[i, 2] + clock.innovation * noise
            another = clock.phi * memory[i, 3] + clock.innovation * another
            memory[i, 2], memory[i, 3] = noise, another
        opinion = coupling * mean
        one, other = coupling * one + size * noise, coupling * other + size * another
        if hidden is not None and agents.pace is not None:
            rate = now.rate * agents.pace[i]
            opinion, one, other = opinion + gain * hidden[i, 0], one + gain * hidden[i, 2], other + gain * hidden[i, 3]
            hidden[i, 0] = adapted(hidden[i, 0], opinion, rate)
            hidden[i, 2], hidden[i, 3] = adapted(hidden[i, 2], one, rate), adapted(hidden[i, 3], other, rate)
        else:
            opinion += gain * agents.hidden[i]
        if not clock.arrived:
            gain, coupling = coefficients(then.own_weight, then.weight, s, degree)
            if hidden is not None and agents.pace is not None:
                # Transposes of the parts of a step in reverse order: adaptation, gain, coupling.
                rate = then.rate * agents.pace[i]
                back += rate * hidden[i, 1]
                hidden[i, 1] = (1 - rate) * hidden[i, 1] + gain * back
            fresh = gain * then.scale * agents.deviations[i] * back
            if memory is not None:
                fresh += memory[i, 1]
                memory[i, 1] = clock.phi * fresh
            variance += (clock.innovation * fresh) ** 2
            back *= coupling
        if pushed is not None:
            pushed[1][i] = back
        j = U64(i) * U64(LANES)
        out[j], out[j + U64(1)], out[j + U64(2)], out[j + U64(3)] = opinion, back, one, other
        first += opinion - centre
        square += (opinion - centre) ** 2
        away += (opinion - agents.targets[i]) ** 2
        own_noise += (clock.innovation * size) ** 2
    sums[0], sums[1], sums[2], sums[3], sums[4] = first, square, away, own_noise, variance
