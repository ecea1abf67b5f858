"""One pass forwards through the outputs, which learns x₀ from what each of them adds to those before.

Nothing need be believed of x₀ at the start: the state is followed as an affine function of x₀, and each output turns
into a linear fact about x₀ alone, blurred by what noise leaves open, or exact where noise leaves nothing open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model, Vector
from peerpressure.noises import White
from peerpressure.recovery.continuous import discrete, time_steps
from peerpressure.recovery.knowledge import Knowledge, known_before
from peerpressure.recovery.outputs import Outputs
from peerpressure.recovery.prior import Prior
from peerpressure.recovery.state_space import Affine, ModelStep, Step
from peerpressure.sde import SDE

# Deviations smaller than this part of what they would be if nothing were seen may be rounding errors of 0.
_ROUNDING = 1e-12
# An exact fact with smaller weights than this says nothing of x₀.
_VOID = 1e-10


@final
@dataclass(frozen=True, eq=False)
class Correction:
    """What one output taught: K, the innovation v = v_a − v_b x₀ and its variance f."""

    agent: int
    gain: Vector
    constant: Vector
    slope: Vector
    variance: float


@final
@dataclass(frozen=True, eq=False)
class Moment:
    """Where the filter stands at time t: the state before and after the outputs of t, and what is known of x₀."""

    t: int
    step: Step | None
    predicted: Affine
    corrections: tuple[Correction, ...]
    state: Affine
    knowledge: Knowledge


def steps_of(model: Model | SDE, last: int) -> Iterator[Step]:
    """Yield the steps that lead to times 1, 2, …, last."""
    if isinstance(model, SDE):
        yield from time_steps(model, last)
        return
    for t in range(1, last + 1):
        yield ModelStep.of(model, t)


def run_filter(model: Model | SDE, data: Outputs, prior: Prior | None) -> Iterator[Moment]:
    """Yield the filter's moments at t = 0, 1, … up to the last step that is seen."""
    state = Affine.start(discrete(model), data.values.shape[0])
    knowledge = known_before(discrete(model), data, prior)
    rows = {int(t): row for row, t in enumerate(data.seen.times)}
    white = isinstance(model.noise.temporal, White)
    steps = chain([None], steps_of(model, data.seen.last))
    for t, step in enumerate(steps):
        predicted = state.predict(step) if step else state
        floor = _ROUNDING * predicted.size[: model.n]
        if white and step:
            # Fresh noise of an agent cannot have been seen before, however small its gain.
            floor = np.where(step.deviation > 0, np.minimum(floor, step.deviation / 2), floor)
        state = predicted
        corrections: tuple[Correction, ...] = ()
        if t in rows:
            there = data.present[rows[t]]
            values = data.at(rows[t])[:, there].T
            last_digit = float(np.finfo(data.values.dtype).eps) * float(np.abs(values).max(initial=0.0))
            state, corrections, sharp, errors = _absorb(
                predicted, data.seen.agents[there], values, data.seen.blur, floor
            )
            knowledge = knowledge.learn(sharp, errors, _blurred_facts(corrections, sharp.shape[1], last_digit))
        yield Moment(t, step, predicted, corrections, state, knowledge)


def _absorb(
    state: Affine, agents: NDArray[np.int64], values: Vector, blur: float, floor: Vector
) -> tuple[Affine, tuple[Correction, ...], Vector, Vector]:
    """Return the state given the outputs of one step, what each taught, and exact facts with their errors.

    Outputs are taken one by one, which needs no inverse: K = R w/f with w = Rᵀh and f = w·w + blur, and the root of
    the covariance becomes R − R w wᵀ/(f + √(f blur)). Where f may be a rounding error of 0, the output is an exact
    fact, whose error is √f all the same, for f may be what it seems to be.
    """
    mean, slope, root = state.mean.copy(), state.slope.copy(), state.root.copy()
    corrections: list[Correction] = []
    sharp, errors = [np.empty((0, slope.shape[1] + mean.shape[1]))], list[float]()
    for agent, value in zip(agents, values, strict=True):
        w = root[agent].copy()
        f = float(w @ w) + blur
        constant, weights = value - mean[agent], slope[agent].copy()
        if f <= floor[agent] ** 2:
            if np.linalg.norm(weights) > _VOID:
                sharp.append(np.concatenate([weights, constant])[None])
                errors.append(float(np.sqrt(f)))
            continue
        reach = root @ w
        gain = reach / f
        mean += np.outer(gain, constant)
        slope -= np.outer(gain, weights)
        root -= np.outer(reach, w / (f + np.sqrt(f * blur)))
        if not blur:
            # Seen as it is: rounding errors must not pass for uncertainty.
            mean[agent], slope[agent], root[agent] = value, 0.0, 0.0
        corrections.append(Correction(int(agent), gain, constant, weights, f))
    return Affine(mean, slope, root, state.size), tuple(corrections), np.concatenate(sharp), np.array(errors)


def _blurred_facts(corrections: tuple[Correction, ...], width: int, last_digit: float) -> Vector:
    """Return v_b x₀ = v_a + N(0, f), divided by √f, as augmented rows, leaving out what is lost in the last digits."""
    legible = [c for c in corrections if c.variance > (1000 * last_digit) ** 2]
    if not legible:
        return np.empty((0, width))
    return np.array([np.concatenate([c.slope, c.constant]) / np.sqrt(c.variance) for c in legible])
