"""One pass over the steps of a large network for a forecast: its mean, the adjoint of a weighted mean, and two samples.

The four have a number each for every agent, side by side in memory: what a step waits for is memory, and one neighbour
that is fetched serves all of them. The adjoint runs from the last step to the first while the others run from the first
to the last. On a symmetric network all four are sums over the same neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerpressure.affine import least_relief
from peerpressure.engine.arguments import coefficients
from peerpressure.engine.intrinsics import prefetch
from peerpressure.engine.layout import aligned
from peerpressure.engine.random import U64
from peerpressure.model import Model
from peerpressure.progress import check_cancelled
from peerpressure.step import Array

LANES = 4  # mean, adjoint and two samples of an agent: half a cache line
_AHEAD = 64  # edges between the one that is added and the one whose agent is prefetched
_TOGETHER = 1024  # steps whose pressures are evaluated together


class PassAgents(NamedTuple):
    """What a step reads of each agent once."""

    stubbornness: Array
    degrees: Array
    hidden: Array
    deviations: Array
    targets: Array


class PassClock(NamedTuple):
    """Pressure and scale of the noise at one step forwards, and of the adjoint at the step that it arrives at."""

    relief: float
    weight: float
    scale: float
    back_relief: float
    back_weight: float
    back_scale: float


class StepSums(NamedTuple):
    """Sums over agents after a step: squares about the mean opinion, about the targets, and of the step's own noise."""

    about_mean: float
    about_targets: float
    own_noise: float


@dataclass(frozen=True, eq=False)
class PassResult:
    """Mean after the last step, weights of the start in the weighted mean, its variance, and two samples of noise.

    Samples have the covariance of the opinions and mean 0; shape (agents, 2).
    """

    mean: Array
    start_weights: Array
    variance: float
    samples: Array


def forecast_pass(
    model: Model, steps: int, weights: Array, targets: Array, watch: Callable[[int, StepSums], None] | None
) -> PassResult:
    """Make a number of steps of a constant network with white noise, and as many of the adjoint of weights.

    Parameters
    ----------
    model : Model
        A model whose network and hidden opinions are constant, with white noise or none, whose agents all update.
    steps : int
        The number of steps, at least 1.
    weights : array of shape (agents,)
        The weights of the mean whose variance is asked for.
    targets : array of shape (agents,)
        The opinions to which distances are measured.
    watch : callable, optional
        Called after each step with its number and sums over agents.
    """
    network, n = model.network, model.n
    # Deviations of every agent; the signs of the samples are drawn with them, whatever the law: variances are the same.
    agents = PassAgents(model.s, network.degrees, model.x0, model.noise.deviations(n), targets)
    edges = _edges(network.adjacency)
    signs = np.random.default_rng(0)
    state, following = aligned((n, LANES), np.float64), aligned((n, LANES), np.float64)
    state[:, 0], state[:, 2:] = model.start_state, 0.0
    last = _readings(model, range(steps, steps + 1))[:, 0]
    gain, coupling = coefficients(last[0], last[1], agents.stubbornness, agents.degrees)
    # The noise of the last step, after which the adjoint begins.
    variance = float(np.sum((gain * last[2] * agents.deviations * weights) ** 2))
    state[:, 1] = coupling * weights
    centre, sums = float(model.start_state.mean()), np.zeros(5)
    for t, clock in _clocks(model, steps):
        check_cancelled()
        # A directed network is heard by others than those whom its agents hear.
        heard = network.transposed @ state[:, 1] if network.directed else None
        drawn = signs.integers(0, 4, n, dtype=np.uint8)
        _advance(*edges, heard, agents, clock, t == steps, drawn, centre, state, following, sums)
        state, following = following, state
        variance += float(sums[4])
        if watch is not None:
            # About the mean of the step before, which is near: the difference of the two sums loses no digits.
            about = max(float(sums[1] - sums[0] ** 2 / n), 0.0)
            watch(t, StepSums(about, float(sums[2]), float(sums[3])))
        centre += float(sums[0]) / n
    return PassResult(state[:, 0].copy(), state[:, 1].copy(), variance, state[:, 2:].copy())


def _edges(matrix: Any) -> tuple[NDArray[Any], ...]:
    """Return starts, columns and weights of a matrix; one weight where all are equal."""
    uniform = bool(matrix.nnz) and bool((matrix.data == matrix.data[0]).all())
    unsigned = matrix.indices.view(np.uint32 if matrix.indices.itemsize == 4 else np.uint64)
    return matrix.indptr, unsigned, matrix.data[:1].copy() if uniform else matrix.data


def _readings(model: Model, times: range) -> Array:
    """Return relief and weight of peer pressure and the scale of the noise at some steps; (3, steps)."""
    relief, weight = model.pressure.homogeneous(times)
    if model.has_silent_steps:
        relief = np.maximum(relief, least_relief(np.float64))
    return np.array([relief, weight, model.noise.scale(times)])


def _clocks(model: Model, steps: int) -> Any:
    """Yield each step with the pressures that it needs, forwards and back."""
    for first in range(1, steps + 1, _TOGETHER):
        times = range(first, min(first + _TOGETHER, steps + 1))
        # The adjoint arrives at step T − t while the others arrive at t; at 0 it has arrived at the start.
        back = [max(steps - t, 1) for t in times]
        forwards, backwards = _readings(model, times), _readings(model, range(back[-1], back[0] + 1))
        for k, t in enumerate(times):
            yield t, PassClock(*forwards[:, k].tolist(), *backwards[:, back[k] - back[-1]].tolist())


@njit(cache=True, nogil=True, error_model="numpy")
def _advance(
    starts: NDArray[Any],
    columns: NDArray[Any],
    weights: Array,
    heard: Array | None,
    agents: PassAgents,
    clock: PassClock,
    arrived: bool,
    signs: NDArray[np.uint8],
    centre: float,
    state: Array,
    following: Array,
    sums: Array,
) -> None:
    """Make a step of all lanes, and add up what a watch and the variance need."""
    flat, out = state.ravel(), following.ravel()
    several, last = weights.size > 1, U64(max(columns.size - 1, 0))
    first = square = away = own_noise = variance = 0.0
    edge = U64(0)
    for i in range(starts.size - 1):
        mean = back = one = other = 0.0
        end = U64(starts[i + 1])
        while edge < end:
            prefetch(flat, U64(columns[min(edge + U64(_AHEAD), last)]) * U64(LANES))
            j, weight = U64(columns[edge]) * U64(LANES), weights[edge] if several else weights[0]
            mean += weight * flat[j]
            back += weight * flat[j + U64(1)]
            one += weight * flat[j + U64(2)]
            other += weight * flat[j + U64(3)]
            edge += U64(1)
        if heard is not None:
            back = heard[i]
        s, degree = agents.stubbornness[i], agents.degrees[i]
        gain, coupling = coefficients(clock.relief, clock.weight, s, degree)
        noise = gain * clock.scale * agents.deviations[i]
        opinion = gain * agents.hidden[i] + coupling * mean
        j = U64(i) * U64(LANES)
        out[j] = opinion
        out[j + U64(2)] = coupling * one + (noise if signs[i] & 1 else -noise)
        out[j + U64(3)] = coupling * other + (noise if signs[i] & 2 else -noise)
        if arrived:
            out[j + U64(1)] = back
        else:
            gain, coupling = coefficients(clock.back_relief, clock.back_weight, s, degree)
            variance += (gain * clock.back_scale * agents.deviations[i] * back) ** 2
            out[j + U64(1)] = coupling * back
        first += opinion - centre
        square += (opinion - centre) ** 2
        away += (opinion - agents.targets[i]) ** 2
        own_noise += noise * noise
    sums[0], sums[1], sums[2], sums[3], sums[4] = first, square, away, own_noise, variance
