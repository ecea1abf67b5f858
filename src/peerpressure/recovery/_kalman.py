"""The hidden state that carries the noise: what agents show, what they hold, and for correlated noise the noise itself.

Given x₀, the state z_t = (y_t, x_{t+1}, u_t) is Gaussian and Markov:

    y_t = C_t y_{t−1} + g_t ∘ x_t + g_t σ_t ∘ u_t,   x_{t+1} = x_t + η_t ∘ (y_t − x_t),
    u_t = φ u_{t−1} + √(1−φ²) e_t,   e_t ~ N(0, I),

with φ = 0 for white noise, the coefficient for AR(1), and 1 for frozen noise. Where opinions are constant x_t = x₀
is no part of the state, and where noise is white u_t is none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.affine import adapted
from peerpressure.errors import TooLargeError, message
from peerpressure.model import Model, Update, Vector
from peerpressure.noise import White
from peerpressure.recovery._estimate import Estimate, Prior
from peerpressure.recovery._information_state import Belief, Knowledge, estimate_of, known_before
from peerpressure.recovery._observation import Outputs, discrete, time_steps
from peerpressure.recovery._rounding import with_copies, without_copies
from peerpressure.recovery._sparse_kalman import sparse_estimate
from peerpressure.sde import SDE


class Step(Protocol):
    """The linear map z_t = F z_{t−1} + D x₀ + G e_t of one step, the first agents entries of z being what they show."""

    @property
    def deviation(self) -> Vector:
        """How much fresh noise there is in what each agent shows, (agents,)."""
        ...

    def forward(self, columns: Vector) -> Vector:
        """Return F Z for columns Z of shape (states, m)."""
        ...

    def backward(self, columns: Vector) -> Vector:
        """Return Fᵀ Z for columns Z of shape (states, m)."""
        ...

    def drive(self, states: int) -> Vector:
        """Return D, (states, agents)."""
        ...

    def fresh_noise(self, states: int) -> Vector:
        """Return G, (states, draws)."""
        ...

    def grown(self, size: Vector) -> Vector:
        """Return a bound on the deviation of states after the step from one before it, nothing being seen."""
        ...


@final
@dataclass(frozen=True, eq=False)
class ModelStep:
    """One step of the model; ``deviation`` is g_t σ_t, ``carry`` is φ."""

    update: Update
    deviation: Vector
    carry: float

    @classmethod
    def of(cls, model: Model, t: int) -> ModelStep:
        """Return the step that leads to time t."""
        update = model.update(t)
        sigma = model.noise.deviations(model.n) * model.noise.scale(t)
        return cls(update, update.gain * sigma, model.noise.autocorrelation)

    def forward(self, columns: Vector) -> Vector:
        """Return F Z for columns Z of shape (states, m)."""
        n = self.deviation.size
        shown = self.update.couple(columns[:n])
        held, memory = self._parts(columns)
        memory = self.carry * memory
        if memory.size:
            shown += self.deviation[:, None] * memory
        if held.size:
            shown += self.update.gain[:, None] * held
            held = self.update.adapt(held, shown)
        return np.concatenate([shown, held, memory])

    def backward(self, columns: Vector) -> Vector:
        """Return Fᵀ Z for columns Z of shape (states, m)."""
        shown = columns[: self.deviation.size]
        held, memory = self._parts(columns)
        if held.size and self.update.adaptation_rate is not None:
            follows = self.update.adaptation_rate[:, None] * held
            shown = shown + follows
            held = held - follows + self.update.gain[:, None] * shown
        if memory.size:
            memory = self.carry * (self.deviation[:, None] * shown + memory)
        return np.concatenate([self.update.couple_adjoint(shown), held, memory])

    def drive(self, states: int) -> Vector:
        """Return D, (states, agents): x₀ enters here, or where it adapts once and for all at the start."""
        n = self.deviation.size
        return np.eye(states, n) * (self.update.gain if self.update.adaptation_rate is None else 0.0)

    def fresh_noise(self, states: int) -> Vector:
        """Return G, (states, agents)."""
        fresh = np.eye(self.deviation.size) * np.sqrt(1 - self.carry**2)
        shown = self.deviation[:, None] * fresh
        parts = [shown]
        if self.update.adaptation_rate is not None:
            parts.append(self.update.adaptation_rate[:, None] * shown)
        if states > len(parts) * self.deviation.size:
            parts.append(fresh)
        return np.concatenate(parts)

    def grown(self, size: Vector) -> Vector:
        """Return a bound on the deviation of what agents show, and hold, after the step."""
        n = self.deviation.size
        shown = self.deviation + self.update.couple(size[:n])
        if self.update.adaptation_rate is None:
            return shown
        shown = shown + self.update.gain * size[n:]
        return np.concatenate([shown, adapted(size[n:], shown, self.update.adaptation_rate)])

    def _parts(self, columns: Vector) -> tuple[Vector, Vector]:
        """Return the rows of what agents hold, and those of the noise that is carried over."""
        n = self.deviation.size
        middle = n if self.update.adaptation_rate is None else 2 * n
        return columns[n:middle], columns[middle:]


@final
@dataclass(frozen=True, eq=False)
class Affine:
    """The state given x₀: z ~ N(a + B x₀, R Rᵀ), with a (states, replicates), B (states, agents), R square.

    ``size`` bounds the deviation that what agents show, and hold, would have if nothing were seen; what is smaller
    than rounding errors of that is 0.
    """

    mean: Vector
    slope: Vector
    root: Vector
    size: Vector

    @classmethod
    def start(cls, model: Model, replicates: int) -> Affine:
        """Return the state at time 0: y₀ without error, x₀, and noise in its stationary law."""
        n = model.n
        from_hidden = isinstance(model.start, str)
        level = np.zeros(n) if from_hidden else model.start_state
        parts = [(level, np.eye(n) * from_hidden, np.zeros(n))]
        if model.adaptation is not None:
            parts.append((np.zeros(n), np.eye(n), np.zeros(n)))
        size = np.zeros(n * len(parts))
        if not isinstance(model.noise.temporal, White):
            parts.append((np.zeros(n), np.zeros((n, n)), np.ones(n)))
        a, B, spread = (np.concatenate(part) for part in zip(*parts, strict=True))
        return cls(np.tile(a[:, None], replicates), B, np.diag(spread), size)

    def predict(self, step: Step) -> Affine:
        """Return the state after one more step, of which nothing was seen yet."""
        states = self.slope.shape[0]
        slope = step.forward(self.slope) + step.drive(states)
        wide = np.concatenate([step.forward(self.root), step.fresh_noise(states)], axis=1)
        root = np.asarray(np.linalg.qr(wide.T, mode="r")).T
        return Affine(step.forward(self.mean), slope, root, step.grown(self.size))


# One pass forwards through the outputs, which learns x₀ from what each of them adds to those before.
#
# Nothing need be believed of x₀ at the start: the state is followed as an affine function of x₀, and each output turns
# into a linear fact about x₀ alone, blurred by what noise leaves open, or exact where noise leaves nothing open.

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


# One pass backwards through what the filter did, which tells each state what later outputs say of it.


def run_smoother(moments: Sequence[Moment], hidden: Belief) -> Iterator[tuple[int, Belief]]:
    """Yield (t, belief about the state z_t given all outputs), from the last step down to 0.

    Given x₀, E z_t = a + B x₀ + P r and Cov z_t = P − P N P, where r and N sum up the innovations of t and later:
    r ← h v/f + Lᵀr and N ← h hᵀ/f + LᵀNL with L = I − K hᵀ for each output, r ← Fᵀr and N ← FᵀNF for each step.
    No covariance is inverted, so that states which noise does not reach are no special case.
    """
    n = hidden.mean.shape[1]
    states = moments[-1].predicted.root.shape[0]
    r = np.zeros((states, hidden.mean.shape[0] + n))
    N = np.zeros((states, states))
    for moment in reversed(moments):
        for correction in reversed(moment.corrections):
            r, N = _before(correction, r, N)
        yield moment.t, _smoothed(moment, hidden, r, N)
        if moment.step:
            r = moment.step.backward(r)
            N = moment.step.backward(moment.step.backward(N).T)


def _before(correction: Correction, r: Vector, N: Vector) -> tuple[Vector, Vector]:
    """Return r and N before one output; the columns of r are constants and then slopes in x₀."""
    agent, gain, f = correction.agent, correction.gain, correction.variance
    innovation = np.concatenate([correction.constant, -correction.slope])
    r = r.copy()
    r[agent] += innovation / f - gain @ r
    N = N.copy()
    N[:, agent] -= N @ gain
    N[agent] -= gain @ N
    N[agent, agent] += 1 / f
    return r, N


def _smoothed(moment: Moment, hidden: Belief, r: Vector, N: Vector) -> Belief:
    state = moment.predicted
    root, replicates = state.root, state.mean.shape[1]
    reach = root @ (root.T @ r)
    spread = root @ (np.eye(root.shape[1]) - root.T @ N @ root) @ root.T
    constant, slope = state.mean + reach[:, :replicates], state.slope + reach[:, replicates:]
    return hidden.image(constant.T, slope, spread)


# Filtering and smoothing: the exact observer of partial, interrupted, rounded or correlated outputs.
#
# The estimate is that of generalised least squares, reached step by step in time proportional to the number of steps,
# with covariances kept as square roots, and with no prior unless one is given.

Parts: TypeAlias = tuple[Belief, Belief]
# With this many agents a step takes some 50 ms; from here on the sparse system is faster as a rule.
DENSE_LIMIT = 300
# Covariances of every step are kept up to this many bytes.
_LARGEST_PATH = 2e9


@final
@dataclass(frozen=True, eq=False)
class Beliefs:
    """Gaussian beliefs over time: ``mean`` (replicates, times, n), ``covariance`` (times, n, n), common to replicates.

    ``identified`` (times, n) says whose entry is pinned down by then; for the others the variance is infinite, and
    mean and covariance hold only what the outputs do say.
    """

    mean: Vector
    covariance: Vector
    identified: NDArray[np.bool_]

    @property
    def variance(self) -> Vector:
        """The variance of each entry at each time, (times, n)."""
        diagonal = np.maximum(np.diagonal(self.covariance, axis1=1, axis2=2), 0.0)
        return np.where(self.identified, diagonal, np.inf)

    @property
    def std(self) -> Vector:
        """The standard deviations, (times, n)."""
        return np.sqrt(self.variance)

    def __repr__(self) -> str:
        replicates, times, n = self.mean.shape
        known = int(self.identified[-1].sum())
        return f"Beliefs({replicates} replicates, {times} times, {known} of {n} entries identified in the end)"


@final
@dataclass(frozen=True, eq=False)
class StatePath:
    """What an observer believes at ``times`` t = 0, 1, …: of the ``hidden`` opinions x₀ and of the ``public`` ones y_t.

    ``held`` is x_{t+1}, what agents hold once they have shown y_t: where opinions are constant, x₀ again. In continuous
    time, times are real.
    """

    times: NDArray[Any]
    hidden: Beliefs
    public: Beliefs
    held: Beliefs

    def __repr__(self) -> str:
        return f"StatePath(times {self.times[0]:g}–{self.times[-1]:g}, hidden {self.hidden!r}, public {self.public!r})"


def kalman(model: Model | SDE, data: Outputs, prior: Prior | None = None) -> Estimate:
    """Return the best linear unbiased estimate of x₀ (with a prior, the conditional mean) from any outputs.

    Up to 300 agents it is found by a filter on the state, O(steps · agents³); beyond, by eliminating unseen states,
    O(steps · front³) for a front of unseen agents and their neighbours. Measured on one core for 100 steps of a
    Barabási–Albert graph: 300 agents, half of them seen, 4 s; 1,000, half seen, 8 s; 2,000, half seen, 58 s; 20,000,
    99 % seen, 6 s; 100,000, 99.9 % seen, 26 s; twice as much where opinions adapt. A front of more than 6,000 is
    refused.
    """
    if isinstance(model, Model) and model.n > DENSE_LIMIT:
        return sparse_estimate(model, data, prior, "kalman")
    last = deque(run_filter(model, data, prior), maxlen=1)[0]
    return estimate_of(discrete(model), data, "kalman", last.knowledge)


def kalman_filter(model: Model | SDE, data: Outputs, prior: Prior | None = None) -> StatePath:
    """Return what is believed of x₀, y_t and x_{t+1} at each time t, given the outputs up to t."""
    _refuse_large(model, data)
    hidden: list[Belief] = []
    states: list[Parts] = []
    for moment in run_filter(model, with_copies(data), prior):
        hidden.append(moment.knowledge.solve().belief)
        states.append(_parts(model, believed_state(moment, hidden[-1]), hidden[-1]))
    return _path(model, hidden, states)


def kalman_smoother(model: Model | SDE, data: Outputs, prior: Prior | None = None) -> StatePath:
    """Return what is believed of x₀, y_t and x_{t+1} at each time t, given all outputs, earlier and later."""
    _refuse_large(model, data)
    moments = list(run_filter(model, with_copies(data), prior))
    hidden = moments[-1].knowledge.solve().belief
    states = [_parts(model, belief, hidden) for _, belief in run_smoother(moments, hidden)]
    return _path(model, [hidden] * len(states), states[::-1])


def believed_state(moment: Moment, hidden: Belief) -> Belief:
    """Return what is believed of the state, given what is believed of x₀."""
    state = moment.state
    return hidden.image(state.mean.T, state.slope, state.root @ state.root.T)


def _parts(model: Model | SDE, state: Belief, hidden: Belief) -> Parts:
    """Return what is believed of y_t and of x_{t+1}."""
    n, constant = model.n, discrete(model).adaptation is None
    return state.part(slice(n)), hidden if constant else state.part(slice(n, 2 * n))


def _path(model: Model | SDE, hidden: list[Belief], states: list[Parts]) -> StatePath:
    public, held = (_over_time(part) for part in zip(*states, strict=True))
    times = np.arange(len(states))
    real = times * model.step if isinstance(model, SDE) else times
    return StatePath(real, _over_time(hidden), public, held)


def _over_time(beliefs: Iterable[Belief]) -> Beliefs:
    """Return beliefs over time, made from outputs with copies, with the error that rounding makes in them."""
    each = list(beliefs)
    mean, moved = without_copies(np.stack([b.mean for b in each], axis=1), np.stack([b.variance for b in each]))
    covariance = np.stack([b.covariance for b in each]) + np.einsum("cti,ctj->tij", moved, moved)
    return Beliefs(mean, covariance, np.stack([b.identified for b in each]))


def _refuse_large(model: Model | SDE, data: Outputs) -> None:
    states = model.n if discrete(model).adaptation is None else 2 * model.n
    needed = 6 * 8 * (data.seen.last + 1) * states**2
    if needed > _LARGEST_PATH:
        rule = f"beliefs over time must fit in {_LARGEST_PATH / 1e9:g} GB"
        remedy = "use method='kalman' for the estimate at the end, which keeps one step"
        raise TooLargeError(message(rule, got=f"{needed / 1e9:.3g} GB", remedy=remedy))
