"""Inversion of the update: preferred opinions ξ_t = (y_t − C_t y_{t−1})/g_t = x_t + ε_t from observed outputs.

Where hidden opinions adapt, x_t = π_{t−1} x₀ + k_{t−1}: the part k that an agent has adopted follows from its own
outputs and is subtracted, which leaves the agent's own series r_t = ξ_t − k_{t−1} = π_{t−1} x₀ + ε_t.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model, Update, Vector
from peerpressure.noise import Custom, Gaussian, Noise
from peerpressure.recovery._least_squares import TimeWeights, time_weights
from peerpressure.recovery._limits import NEGLIGIBLE
from peerpressure.recovery._observation import Outputs
from peerpressure.schedules import Constant
from peerpressure.statespace import initial_state, retained, state_layout

Array: TypeAlias = NDArray[np.float64]
# Units in the last place by which y_t − C_t y_{t−1} may be off: simulation and inversion each sum over neighbours, and
# dividing by the gain amplifies the error. 64 is generous, since a wrong error message is worse than a missed one.
_LOST_DIGITS = 64


@final
@dataclass(frozen=True, eq=False)
class Inverted:
    """The series r_t of complete outputs, averaged as they came.

    ``mean`` (n, replicates) is the best average of the r_t, with ``weights`` that determine its variance; ``first`` is
    y_1/g_1 and ``following`` the first r_t, needed only where the start is not known.
    """

    weights: TimeWeights
    mean: Array
    first: Array | None
    following: Array | None


def is_invertible(model: Model) -> bool:
    """Whether preferred opinions follow from complete outputs as one series of independent draws for each agent.

    Agents who keep their public opinions show no preferred ones. With white noise these steps are left out; with other
    noise they would leave gaps of a different length for each agent.
    """
    return not model.keeps or not model.noise.autocorrelation


def shows_start(model: Model) -> NDArray[np.bool_]:
    """Return which agents show their x₀ at step 1, as they keep y₀ = x₀; (agents,)."""
    kept = model.update(1).kept
    return np.zeros(model.n, np.bool_) if kept is None or not initial_state(model).starts_from_hidden else kept > 0


def _least_gain(update: Update) -> float:
    """Return the least gain of agents who do not keep their public opinions, 0 where all do."""
    gain = update.gain if update.kept is None else update.gain[update.kept == 0]
    return float(gain.min()) if gain.size else 0.0


def legible_steps(model: Model, last: int) -> NDArray[np.int64]:
    """Return the steps at which every opinion can be read in double precision that is not a kept one."""
    # The gain falls as peer pressure grows; below 1e-10, dividing by it leaves no significant digits of ξ_t.
    times = range(1, last + 1)
    gains = zip(times, map(_least_gain, model.updates(times)), strict=True)
    return np.array([t for t, least in gains if least >= NEGLIGIBLE], dtype=np.int64)


def weights_of(model: Model, legible: NDArray[np.int64]) -> TimeWeights:
    """Return how to average the r_t of the legible steps; of the first only if the start is known."""
    # Inverting step 1 needs y_0. If y_0 = x₀ is hidden, step 1 becomes a separate row that involves neighbours.
    times = legible[legible > 1] if initial_state(model).starts_from_hidden else legible
    share = retained(model, int(times.max(initial=1)) - 1)[times - 1]
    if model.keeps and times.size:
        # What is kept tells nothing: x₀ has no share in it.
        share = share * np.array([model.update(int(t)).gain > 0 for t in times])
    return time_weights(model.noise, times, share)


def invert(model: Model, data: Outputs) -> Inverted:
    """Return the averaged r_t of complete outputs; raise an error for outputs that the noise cannot produce."""
    legible = legible_steps(model, data.seen.last)
    weights = weights_of(model, legible)
    bounds = Bounds(model)
    total = np.zeros((model.n, data.values.shape[0]))
    # Sums are accumulated step by step: outputs may fill the memory, and the series ξ would need as much again.
    shift, following = np.zeros_like(total), None
    rows = {int(t): row for row, t in enumerate(weights.times)}
    for t, series, error in _own_series(model, data, rows):
        row = rows[t]
        share = weights.share[row][:, None]
        if following is None:
            following = series
            shift = np.divide(series, share, out=shift, where=share > NEGLIGIBLE)
        # Averaged about the first r, so that a large x₀ does not cancel the digits of small noise.
        total += weights.weights[row][:, None] * (series - share * shift)
        bounds.update(t, series, error, share)
    legible_first = initial_state(model).starts_from_hidden and 1 in legible
    first = _quotient(data.at(0).T, model.update(1).gain) if legible_first else None
    shown, mean = shows_start(model), shift + total
    if shown.any():
        mean[shown] = data.at(0).T[shown]
    return Inverted(weights, mean, first, following)


def _quotient(values: Array, gain: Vector) -> Array:
    """Return values (n, replicates) over the gain, 0 where that is 0."""
    each = gain[:, None]
    return np.divide(values, each, out=np.zeros(values.shape), where=each > 0)


def _own_series(model: Model, data: Outputs, rows: dict[int, int]) -> Iterator[tuple[int, Array, float]]:
    """Yield step, r_t (n, replicates) and the size of its rounding error."""
    precision = float(np.finfo(data.values.dtype).eps)
    adapts = state_layout(model).has_hidden
    public = np.broadcast_to(model.start_state[:, None], (model.n, data.values.shape[0]))
    adopted = np.zeros_like(public)
    for t, update in enumerate(model.updates(range(1, data.seen.last + 1)), start=1):
        before, public = public, np.ascontiguousarray(data.at(t - 1).T)
        if t in rows:
            # A sparse matrix times a vector is faster than times a matrix of one column.
            one = before[:, 0] if before.shape[1] == 1 else before
            coupled = update.couple(np.ascontiguousarray(one)).reshape(before.shape)
            # The precision of the recorded dtype; the 1 keeps an absolute tolerance where all opinions are near 0.
            error = _LOST_DIGITS * precision * (1 + float(np.abs(public).max())) / _least_gain(update)
            preferred = _quotient(public - coupled, update.gain)
            yield t, preferred - adopted if adapts else preferred, error
        if t > 1 or not initial_state(model).starts_from_hidden:
            _check_kept(model, update, t, before, public, _LOST_DIGITS * precision)
        # In every step, also in those that are not legible: the adopted part depends on all outputs so far.
        adopted = update.adapt(adopted, public)


def _check_kept(model: Model, update: Update, t: int, before: Array, public: Array, rounding: float) -> None:
    """Raise an error where an agent who keeps its public opinion shows another one."""
    if update.kept is None:
        return
    same = np.abs(public - before) <= rounding * (1 + np.abs(public).max())
    bad = np.flatnonzero((update.kept > 0) & ~np.all(same, axis=1))
    if bad.size:
        rule = "agents without neighbours must show what they showed before, as isolated='keep' says"
        got = f"another value of agent {model.network.labels[bad[0]]!r} at step {t}"
        remedy = "use isolated='own' if they express their own opinions, or check the network against the run"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))


def adopted_part(model: Model, data: Outputs) -> Array:
    """Return k of the last observed step from complete outputs, (replicates, agents)."""
    adopted = np.zeros((model.n, data.values.shape[0]))
    for row, t in enumerate(data.seen.times):
        adopted = model.update(int(t)).adapt(adopted, data.at(row).T)
    return np.asarray(adopted.T)


def check_complete(data: Outputs) -> None:
    """Raise an error where the update cannot be inverted, saying which outputs are missing."""
    if data.complete:
        return
    seen = data.seen
    if not seen.everyone:
        got = f"{seen.agents.size} of {seen.n}"
        rule = "inverting the update needs the outputs of all agents"
    elif seen.rounding:
        rule, got = "inverting the update needs exact outputs", f"outputs rounded to {seen.rounding:g}"
    elif not seen.uninterrupted:
        rule = "inverting the update needs every step from 1 on"
        got = f"{seen.times.size} steps from {seen.times[0]} to {seen.last}" if seen.times.size else "no step"
    else:
        rule, got = "inverting the update needs every output", f"{int((~data.present).sum())} missing ones"
    remedy = "use method='kalman', 'gls' or 'ols', which can do without"
    raise InvalidInputError(message(rule, got=got, remedy=remedy))


# Whether the model can have made the outputs at all.


@final
class Bounds:
    """Where each x₀ must lie, given r_t = p_t x₀ + ε_t and noise with bounded support; filled step by step.

    Frozen noise of constant size leaves the r_t of constant opinions unchanged, and is checked in the same way.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        noise = model.noise
        # Then r_t is the same at all steps, so bounds of width 0 around the first one must contain all others.
        constant = noise.is_frozen and isinstance(noise.time_scale, Constant) and not state_layout(model).has_hidden
        self._support = (0.0, 0.0) if constant or noise.is_zero else support(noise)
        self._low: Array | None = None
        self._high: Array | None = None

    def update(self, step: int, series: Array, error: float, share: Array) -> None:
        """Take in r_t (n, replicates), known to within ``error``, with p_t (·, 1); raise an error if no x₀ is left."""
        least, most = self._support
        # Noise of unbounded support can produce any outputs.
        if np.isinf(least) and np.isinf(most):
            return
        noise = self._model.noise
        size = (noise.deviations(self._model.n) * float(noise.scale(step)))[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            # np.where avoids 0 · ∞ = NaN for agents without noise under a law with one infinite end.
            low = (series - np.where(size > 0, size * most, 0.0) - error) / share
            high = (series - np.where(size > 0, size * least, 0.0) + error) / share
        # Where hardly anything of x₀ is retained, dividing by the share would turn rounding errors into bounds.
        blind = np.broadcast_to(share < NEGLIGIBLE, low.shape)
        low, high = np.where(blind, -np.inf, low), np.where(blind, np.inf, high)
        self._low = low if self._low is None else np.maximum(self._low, low)
        self._high = high if self._high is None else np.minimum(self._high, high)
        bad = np.argwhere(self._low > self._high)
        if bad.size:
            agent = self._model.network.labels[bad[0][0]]
            rule = f"outputs must be ones that the model can show ({noise})"
            got = f"values of agent {agent!r} up to step {step} that no hidden opinion explains"
            remedy = "check network, stubbornness, peer pressure and noise of the model against the run"
            raise InvalidInputError(message(rule, got=got, remedy=remedy))


def support(noise: Noise) -> tuple[float, float]:
    """Return a least and a largest value of the unit noise, ±∞ if it has none."""
    # The usual law needs no statistics of SciPy, which take a third of a second to load.
    if isinstance(noise, Gaussian):
        return -math.inf, math.inf
    ends = np.array(noise.unit().support(), dtype=np.float64)
    if isinstance(noise, Custom):
        ends = noise.standardise(ends)
    phi = abs(noise.autocorrelation)
    if 0 < phi < 1:
        # |u_t| ≤ M √(1−φ²) Σ |φ|^k: draws that are carried over add up.
        ends = np.array([-1.0, 1.0]) * np.abs(ends).max() * np.sqrt((1 + phi) / (1 - phi))
    return float(ends[0]), float(ends[1])


# Inversion wherever an agent and its neighbours are observed, for likelihoods of partial outputs.


@final
@dataclass(frozen=True, eq=False)
class ObservedSteps:
    """Pairs of outputs in which an agent and all its neighbours of the step before are observed.

    ``times`` (T,); ``public`` (replicates, T, n) is y_t, ``around`` A_t y_{t−1} and ``adopted`` k_{t−1}, all 0 where
    ``present`` (T, n) is False; ``degrees`` and ``share`` (T, n) are the sums of A_t, and π_{t−1}.
    """

    times: NDArray[np.int64]
    public: Vector
    around: Vector
    adopted: Vector
    degrees: Vector
    share: Vector
    present: NDArray[np.bool_]


def observed_steps(model: Model, data: Outputs) -> ObservedSteps:
    """Return all pairs of outputs in which the step of an agent is observed from beginning to end."""
    if data.seen.rounding:
        rule = "a likelihood needs exact outputs"
        remedy = "use method='kalman', which knows of rounding"
        raise InvalidInputError(message(rule, got=f"outputs rounded to {data.seen.rounding:g}", remedy=remedy))
    rows = {int(t): row for row, t in enumerate(data.seen.times)}
    # NaN marks unknown entries throughout, so that arithmetic propagates what cannot be computed.
    known = {0: _start(model, data)} | {t: _everyone(model, data, row) for t, row in rows.items()}
    times = np.array([t for t in sorted(known) if t and t - 1 in known], dtype=np.int64)
    shape = (times.size, model.n)
    updates = {int(t): model.update(int(t)) for t in times}
    public = np.array([known[t] for t in updates]).reshape(*shape, -1)
    around = np.array([update.adjacency @ known[t - 1] for t, update in updates.items()]).reshape(public.shape)
    adopted = _adopted(model, known, times, public.shape)
    gains = np.array([update.gain for update in updates.values()]).reshape(shape)
    share = np.broadcast_to(retained(model, data.seen.last)[times - 1], shape)
    # A product with a sparse matrix is NaN exactly where a neighbour is; with a dense one, 0 · NaN would spread to all.
    present = np.isfinite((public + around + adopted)[:, :, 0]) & (gains * share >= NEGLIGIBLE)
    # Zeros instead of NaN from here on, since sums with weight 0 follow.
    hidden = ~present[:, :, None]
    y, a, k = (np.moveaxis(np.where(hidden, 0.0, values), 2, 0) for values in (public, around, adopted))
    degrees = np.array([model.degrees_at(t) for t in updates]).reshape(shape)
    return ObservedSteps(times, y, a, k, degrees, share, present)


def own_series(model: Model, seen: ObservedSteps) -> Vector:
    """Return r_t = ξ_t − k_{t−1} = π_{t−1} x₀ + ε_t, (replicates, T, n), 0 where it cannot be known."""
    out = np.zeros_like(seen.public)
    for row, t in enumerate(seen.times):
        update = model.update(int(t))
        own = seen.public[:, row] - update.coupling_scale * seen.around[:, row]
        # Not present are, among others, steps in which an agent keeps its public opinion, with a gain of 0.
        preferred = np.divide(own, update.gain, out=np.zeros_like(own), where=seen.present[row])
        out[:, row] = np.where(seen.present[row], preferred - seen.adopted[:, row], 0.0)
    return out


def _adopted(model: Model, known: Mapping[int, Vector], times: NDArray[np.int64], shape: tuple[int, ...]) -> Vector:
    """Return k_{t−1} of the steps, (T, n, replicates), NaN once an output that was adopted is not observed."""
    if not state_layout(model).has_hidden:
        return np.broadcast_to(0.0, shape)
    out, rows = np.empty(shape), {int(t): row for row, t in enumerate(times)}
    adopted, unseen = np.zeros(shape[1:]), np.full(shape[1:], np.nan)
    for t in range(1, int(times.max(initial=0)) + 1):
        if t in rows:
            out[rows[t]] = adopted
        update = model.update(t)
        rate = update.adaptation_rate
        if rate is not None:
            # Agents with rate 0 adopt nothing; without the condition 0 · NaN would mark them unknown.
            adopted = np.where(rate[:, None] > 0, update.adapt(adopted, known.get(t, unseen)), adopted)
    return out


def _start(model: Model, data: Outputs) -> Vector:
    """Return y₀, (n, replicates), NaN where it is not known."""
    if initial_state(model).starts_from_hidden:
        return np.asarray(data.known.T)
    return np.repeat(model.start_state[:, None], data.known.shape[0], axis=1)


def _everyone(model: Model, data: Outputs, row: int) -> Vector:
    state = np.full((model.n, data.known.shape[0]), np.nan)
    state[data.seen.agents] = data.at(row).T
    return state
