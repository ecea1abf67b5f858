"""The best linear observer of complete answers: invert every update, then average.

With every answer known, y_t − C_t y_{t−1} = g_t ∘ (x_t + ε_t) gives each agent's own series r_t = π_t x₀ + ε_t,
whose best average is known in closed form (see ``least_squares``). Its information about x₀ is the same for every run,
and therefore known before one is observed:

    J = i·D + weight·Bᵀ D B,   D = diag(1/std²),

with i the information of the averages at unit std. The second term belongs to the first step if y₀ = x₀ is not
observed: y_1/g_1 = F x₀ + ε_1 with F = S⁻¹(S + ρ₁A), for x₀ enters through the agent itself and through its neighbours'
start. Given the next ε, what is left of ε_1 is independent of all later noise, so the first step is one more row
B x₀ = r + noise of variance std²·(1 − φ²). Equations without noise are not part of J but exact rows next to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.errors import ContradictionError, InvalidInputError, TooLargeError, message
from peerpressure.model import Model
from peerpressure.model.statespace import initial_state, retained
from peerpressure.model.statespace.systems import shows_start
from peerpressure.model.step import Array, Update, product
from peerpressure.noise import Custom, Gaussian, Noise
from peerpressure.recovery import limits
from peerpressure.recovery._prior import Prior
from peerpressure.recovery.digits import contradiction_remedy
from peerpressure.recovery.estimate import Estimate, estimate_from
from peerpressure.recovery.least_squares import (
    Equations,
    TimeWeights,
    Whitening,
    innovation_std,
    time_weights,
)
from peerpressure.recovery.limits import INVERTED_DIGITS, NEGLIGIBLE
from peerpressure.recovery.observation import Answers
from peerpressure.schedules import Constant

# Inversion of the update: preferred opinions ξ_t = (y_t − C_t y_{t−1})/g_t = x_t + ε_t from observed answers.
#
# If hidden opinions adapt, x_t = π_{t−1} x₀ + k_{t−1}: the part k that an agent has adopted follows from its own
# answers and is subtracted, which leaves the agent's own series r_t = ξ_t − k_{t−1} = π_{t−1} x₀ + ε_t.


@final
@dataclass(frozen=True, eq=False)
class Inverted:
    """The series r_t of complete answers, averaged as they came.

    ``mean`` (n, replicates) is the best average of the r_t, with ``weights`` that determine its variance; ``first`` is
    y_1/g_1 and ``following`` the first r_t, needed only where the start is not known.
    """

    weights: TimeWeights
    mean: Array
    first: Array | None
    following: Array | None


def _least_gain(update: Update) -> float:
    """Return the least gain of agents who do not keep their public opinions, 0 where all do."""
    gain = update.gain if update.kept is None else update.gain[update.kept == 0]
    return float(gain.min()) if gain.size else 0.0


def invertible_steps(model: Model, last: int) -> NDArray[np.int64]:
    """Return the steps at which every opinion can be read in double precision that is not a kept one."""
    # The gain falls as peer pressure grows; below 1e-10, dividing by it leaves no significant digits of ξ_t.
    times = range(1, last + 1)
    gains = zip(times, map(_least_gain, model.updates(times)), strict=True)
    return np.array([t for t, least in gains if least >= NEGLIGIBLE], dtype=np.int64)


def weights_of(model: Model, steps: NDArray[np.int64]) -> TimeWeights:
    """Return how to average the r_t of the invertible steps; of the first only if the start is known."""
    # Inverting step 1 needs y_0. If y_0 = x₀ is hidden, step 1 becomes a separate row that involves neighbours.
    times = steps[steps > 1] if initial_state(model).starts_from_hidden else steps
    pi = retained(model, int(times.max(initial=1)) - 1)[times - 1]
    if model.keeps and times.size:
        # What is kept tells nothing: x₀ has no share in it.
        pi = pi * np.array([model.update(int(t)).gain > 0 for t in times])
    return time_weights(model.noise, times, pi)


def invert(model: Model, data: Answers) -> Inverted:
    """Return the averaged r_t of complete answers; raise an error for answers that the noise cannot produce."""
    steps = invertible_steps(model, data.seen.last)
    weights = weights_of(model, steps)
    bounds = Bounds(model, data)
    total = np.zeros((model.n, data.values.shape[0]))
    # Sums are accumulated step by step: answers may fill the memory, and the series ξ would need as much again.
    shift, following = np.zeros_like(total), None
    rows = {int(t): row for row, t in enumerate(weights.times)}
    precision = INVERTED_DIGITS * float(np.finfo(data.values.dtype).eps)
    for step in open_steps(model, data):
        if step.t > 1 or not initial_state(model).starts_from_hidden:
            _check_kept(model, step, precision)
        if step.t not in rows:
            continue
        row = rows[step.t]
        series = step.own_series
        # The precision of the recorded dtype; the 1 keeps an absolute tolerance where all opinions are near 0.
        error = precision * (1 + float(np.abs(step.public).max())) / _least_gain(step.update)
        pi = weights.pi[row][:, None]
        if following is None:
            following = series
            shift = np.divide(series, pi, out=shift, where=pi > NEGLIGIBLE)
        # Averaged about the first r, because a large x₀ would cancel the digits of small noise.
        total += weights.weights[row][:, None] * (series - pi * shift)
        bounds.update(step.t, series, error, pi)
    invertible_first = initial_state(model).starts_from_hidden and 1 in steps
    first = _quotient(data.at(0).T, model.update(1).gain) if invertible_first else None
    shown, mean = shows_start(model), shift + total
    if shown.any():
        mean[shown] = data.at(0).T[shown]
    return Inverted(weights, mean, first, following)


def refuse_impossible(model: Model, data: Answers) -> None:
    """Raise an error for complete answers that the noise cannot produce."""
    if model.keeps or Bounds(model, data).has_ends:
        invert(model, data)


def _quotient(values: Array, gain: Array) -> Array:
    """Return values (n, replicates) over the gain, 0 where that is 0."""
    each = gain[:, None]
    return np.divide(values, each, out=np.zeros(values.shape), where=each > 0)


@final
@dataclass(frozen=True, eq=False)
class OpenStep:
    """Step t as answers show it: y_{t−1}, y_t and the adopted part k_{t−1}, (n, replicates), NaN where unknown."""

    t: int
    update: Update
    before: Array
    public: Array
    adopted: Array

    @cached_property
    def around(self) -> Array:
        """A_t y_{t−1}, NaN where the answer of a neighbour is unknown."""
        # A sparse matrix times a vector is faster than times a matrix of one column.
        one = self.before[:, 0] if self.before.shape[1] == 1 else self.before
        return product(self.update.adjacency, np.ascontiguousarray(one)).reshape(self.before.shape)

    @property
    def own_series(self) -> Array:
        """r_t = ξ_t − k_{t−1} = π_{t−1} x₀ + ε_t, NaN where it is unknown; of no meaning where the gain is 0."""
        own = self.public - self.update.coupling_scale[:, None] * self.around
        return _quotient(own, self.update.gain) - self.adopted

    def after(self) -> Array:
        """Return k_t; who adopts nothing adopts nothing of what is unknown."""
        rate = self.update.adaptation_rate
        if rate is None:
            return self.adopted
        adopted = self.update.adapt(self.adopted, self.public)
        # Without the condition 0 · NaN would be unknown.
        return adopted if rate.all() else np.where(rate[:, None] > 0, adopted, self.adopted)


def open_steps(model: Model, data: Answers) -> Iterator[OpenStep]:
    """Yield the steps up to the last observed one, a step at a time: answers may fill the memory."""
    row_of = {int(t): row for row, t in enumerate(data.seen.times)}
    public, unseen = start_of(model, data), np.full((model.n, data.values.shape[0]), np.nan)
    adopted = np.zeros_like(public)
    for t, update in enumerate(model.updates(range(1, data.seen.last + 1)), start=1):
        before, public = public, unseen
        if t in row_of:
            public = np.ascontiguousarray(data.at(row_of[t]).T)
            if not data.seen.everyone:
                here, public = public, unseen.copy()
                public[data.seen.agents] = here
        step = OpenStep(t, update, before, public, adopted)
        yield step
        # In every step, also in those that are not used: the adopted part depends on all answers so far.
        adopted = step.after()


def _check_kept(model: Model, step: OpenStep, rounding: float) -> None:
    """Raise an error where an agent who keeps its public opinion shows another one."""
    kept = step.update.kept
    if kept is None:
        return
    same = np.abs(step.public - step.before) <= rounding * (1 + np.abs(step.public).max())
    bad = np.flatnonzero((kept > 0) & ~np.all(same, axis=1))
    if bad.size:
        rule = "agents without neighbours must show what they showed before, where isolated agents keep their opinions"
        got = f"another value of agent {model.network.labels[bad[0]]!r} at step {step.t}"
        remedy = "let isolated agents show their own opinions if they do, or check the network against the run"
        raise ContradictionError(message(rule, got=got, remedy=remedy))


def check_complete(data: Answers) -> None:
    """Raise an error where the update cannot be inverted, saying which answers are missing."""
    if data.complete:
        return
    seen = data.seen
    if not seen.everyone:
        got = f"{seen.agents.size} of {seen.n}"
        rule = "inverting the update needs the answers of all agents"
    elif seen.rounding:
        rule, got = "inverting the update needs exact answers", f"answers rounded to {seen.rounding:g}"
    elif not seen.uninterrupted:
        rule = "inverting the update needs every step from 1 on"
        got = f"{seen.times.size} steps from {seen.times[0]} to {seen.last}" if seen.times.size else "no step"
    else:
        rule, got = "inverting the update needs every answer", f"{int((~data.present).sum())} missing ones"
    remedy = "use the method kalman, gls or ols, which can do without"
    raise InvalidInputError(message(rule, got=got, remedy=remedy), argument="method")


# Whether the model can have made the answers at all.


@final
class Bounds:
    """Where each x₀ must lie, given r_t = π_t x₀ + ε_t and noise with bounded support; filled step by step.

    Frozen noise of constant size leaves the r_t of constant opinions unchanged, and is checked in the same way.
    """

    def __init__(self, model: Model, data: Answers) -> None:
        self._model, self._data = model, data
        noise = model.noise
        # Then r_t is the same at all steps, so bounds of width 0 around the first one must contain all others.
        constant = noise.is_frozen and isinstance(noise.time_scale, Constant) and not model.layout.has_hidden
        self._support = (0.0, 0.0) if constant or noise.is_zero else support(noise)
        self._low: Array | None = None
        self._high: Array | None = None

    @property
    def has_ends(self) -> bool:
        """Whether there is anything that the noise cannot produce."""
        return not np.isinf(self._support).all()

    def update(self, step: int, series: Array, error: float, pi: Array) -> None:
        """Take in r_t (n, replicates), known to within ``error``, with π_t (·, 1); raise an error if no x₀ is left."""
        if not self.has_ends:
            return
        noise, (lower, upper) = self._model.noise, self._support
        size = (noise.deviations(self._model.n) * float(noise.scale(step)))[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            # np.where avoids 0 · ∞ = NaN for agents without noise under a law with one infinite end.
            low = (series - np.where(size > 0, size * upper, 0.0) - error) / pi
            high = (series - np.where(size > 0, size * lower, 0.0) + error) / pi
        # If hardly anything of x₀ is retained, dividing by the share would turn rounding errors into bounds.
        blind = np.broadcast_to(pi < NEGLIGIBLE, low.shape)
        low, high = np.where(blind, -np.inf, low), np.where(blind, np.inf, high)
        self._low = low if self._low is None else np.maximum(self._low, low)
        self._high = high if self._high is None else np.minimum(self._high, high)
        bad = np.argwhere(self._low > self._high)
        if bad.size:
            agent = self._model.network.labels[bad[0][0]]
            rule = f"answers must be ones that the model can show ({noise})"
            got = f"values of agent {agent!r} up to step {step} that no hidden opinion explains"
            remedy = "check network, stubbornness, peer pressure and noise of the model against the run"
            raise ContradictionError(message(rule, got=got, remedy=contradiction_remedy(self._data, remedy)))


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


# Inversion wherever an agent and its neighbours are observed, for likelihoods of partial answers.


@final
@dataclass(frozen=True, eq=False)
class ObservedSteps:
    """Pairs of answers in which an agent and all its neighbours of the step before are observed.

    ``times`` (T,); ``public`` (replicates, T, n) is y_t, ``around`` A_t y_{t−1} and ``series`` the agent's own r_t, all
    0 where ``present`` (T, n) is False; ``degrees`` and ``pi`` (T, n) are the sums of A_t, and π_{t−1}.
    """

    times: NDArray[np.int64]
    public: Array
    around: Array
    series: Array
    degrees: Array
    pi: Array
    present: NDArray[np.bool_]


def observed_steps(model: Model, data: Answers) -> ObservedSteps:
    """Return all pairs of answers in which the step of an agent is observed from beginning to end."""
    if data.seen.rounding:
        rule = "a likelihood needs exact answers"
        remedy = "use the method kalman, which knows of rounding"
        raise InvalidInputError(
            message(rule, got=f"answers rounded to {data.seen.rounding:g}", remedy=remedy), argument="method"
        )
    observed = {0, *data.seen.times.tolist()}
    steps = [step for step in open_steps(model, data) if {step.t, step.t - 1} <= observed]
    times = np.array([step.t for step in steps], dtype=np.int64)
    shape, replicates = (times.size, model.n), len(data.known)
    public, around, series = (
        np.array(parts).reshape(*shape, replicates)
        for parts in (
            [step.public for step in steps],
            [step.around for step in steps],
            [step.own_series for step in steps],
        )
    )
    gains = np.array([step.update.gain for step in steps]).reshape(shape)
    pi = np.broadcast_to(retained(model, data.seen.last)[times - 1], shape)
    # A product with a sparse matrix is NaN exactly where a neighbour is; with a dense one, 0 · NaN would spread to all.
    present = np.isfinite(series[:, :, 0]) & (gains * pi >= NEGLIGIBLE)
    # Zeros instead of NaN from here on, since sums with weight 0 follow.
    hidden = ~present[:, :, None]
    y, a, r = (np.moveaxis(np.where(hidden, 0.0, values), 2, 0) for values in (public, around, series))
    degrees = np.array([model.degrees_at(step.t) for step in steps]).reshape(shape)
    return ObservedSteps(times, y, a, r, degrees, pi, present)


def lagged_outputs(model: Model, data: Answers, times: NDArray[np.int64]) -> Array:
    """Return the public opinions one step before each of the times, (replicates, T, n), NaN where not observed."""
    wanted = set(times.tolist())
    states = np.array([step.before for step in open_steps(model, data) if step.t in wanted])
    return np.moveaxis(states.reshape(times.size, model.n, len(data.known)), 2, 0)


def start_of(model: Model, data: Answers) -> Array:
    """Return y₀, (n, replicates), NaN where it is not known."""
    if initial_state(model).starts_from_hidden:
        return np.asarray(data.known.T)
    return np.repeat(model.start_state[:, None], data.known.shape[0], axis=1)


# The estimate: the best average of each agent's own series.

NAME = "innovations"


@final
@dataclass(frozen=True, eq=False)
class StartRow:
    """The row B = first · F − later · π, with ``weight`` 1/(1 − φ²) for unit deviation, infinite if it is exact."""

    matrix: sparse.csr_array
    first: float
    later: float
    weight: float

    def observed(self, first: Array, later: Array | None) -> Array:
        """Return r of shape (n, replicates) from y_1/g_1 and the first r_t that follows."""
        # The covariance of AR(1) noise is the same in reversed time, so ε_1 is whitened against the next used ε instead
        # of a previous one.
        return self.first * first - (self.later * later if later is not None else 0.0)

    def apply(self, precision: Array, columns: Array) -> Array:
        """Return weight · Bᵀ diag(precision) B applied to columns (n, b)."""
        # Never formed as a matrix: BᵀDB joins neighbours of neighbours and can be dense where B is sparse.
        return np.asarray(self.weight * (self.matrix.T @ (precision[:, None] * (self.matrix @ columns))))

    def diagonal(self, precision: Array) -> Array:
        """Return the diagonal of weight · Bᵀ diag(precision) B."""
        return np.asarray(self.weight * (self.matrix.multiply(self.matrix).T @ precision))


def start_row(model: Model, later_step: int | None, pi: Array) -> StartRow:
    """Return the row of the first step; ``later_step`` is the next one used, if any, and ``pi`` (·,) that of it."""
    update = model.update(1)
    # The next used step need not be 2, because steps with a tiny gain are skipped; the link is φ to the gap.
    whitening = Whitening.of(model.noise, np.array([1] if later_step is None else [1, later_step]))
    scale, phi = whitening.scale[0], whitening.link[-1]
    if scale == 0:
        first, later, weight = 1.0, 0.0, np.inf
    else:
        first = 1 / scale
        # If the later step has no noise, its equation is exact and has no ε to condition on.
        later = phi / whitening.scale[-1] if whitening.scale[-1] else 0.0
        # Frozen noise cancels completely between the two steps, which leaves an exact equation.
        weight = innovation_std(phi) ** -2.0 if abs(phi) < 1 else np.inf
    # Agents who keep their public opinions have no such row.
    active = update.gain > 0
    pull = np.divide(update.coupling_scale, update.gain, out=np.zeros(model.n), where=active)
    both = (
        sparse.diags_array(np.where(active, first - later * pi, 0.0))
        + sparse.diags_array(first * pull) @ update.adjacency
    )
    return StartRow(sparse.csr_array(both), float(first), float(later), float(weight))


@final
@dataclass(frozen=True, eq=False)
class Complete:
    """The information about x₀ in complete answers; ``weights`` average each agent's own series."""

    model: Model
    weights: TimeWeights
    row: StartRow | None

    @cached_property
    def information(self) -> Array:
        """The information in each agent's own series at unit std, (n,); infinite if it reveals x₀."""
        noiseless = np.where(self.weights.legible, np.inf, 0.0)
        # With std 0, the information at unit std does not matter: any retained share of x₀ is read exactly.
        own = noiseless if self.model.noise.is_zero else self.weights.information
        return np.where(shows_start(self.model), np.inf, own)

    @cached_property
    def precision(self) -> Array:
        """1/std² of each agent, and 0 for those without noise, whose facts are exact; (n,)."""
        std = self.model.noise.deviations(self.model.n)
        # 0 instead of ∞ takes exact equations out of J, where ∞ would produce NaN; they are treated as constraints.
        return np.divide(1.0, std**2, out=np.zeros(self.model.n), where=std > 0)

    @cached_property
    def own(self) -> Array:
        """The information of each agent's own series, i/std², 0 where it is exact or has none; (n,)."""
        # ∞ · 0 would be NaN, hence the where before the product.
        return np.where(self.revealed, 0.0, self.information) * self.precision

    @property
    def revealed(self) -> NDArray[np.bool_]:
        """Agents whose own series reveals x₀, (n,)."""
        return np.isinf(self.information)

    @property
    def noiseless(self) -> NDArray[np.bool_]:
        """Which agents have no noise, (n,)."""
        return np.asarray(self.precision == 0)

    @property
    def separate(self) -> bool:
        """Whether each agent's estimate comes from its own series only."""
        # Only the row of the first step couples agents; if every x₀ is known exactly, it adds nothing.
        return self.row is None or bool(self.revealed.all())

    @property
    def variance(self) -> Array:
        """The error variance of each agent's own average, where answers are ``separate``; (n,)."""
        std = self.model.noise.deviations(self.model.n)
        # The two limits that the division below leaves out: exact (0) and not identified (∞).
        other = np.where(self.information > 0, 0.0, np.inf)
        noisy = (self.information > 0) & ~self.revealed
        return np.divide(std**2, self.information, out=other, where=noisy)

    @property
    def has_exact_rows(self) -> bool:
        """Whether some fact about x₀ is free of noise."""
        exact = self.noiseless | self.revealed
        return bool(exact.any()) or (self.row is not None and np.isinf(self.row.weight))

    @property
    def determines_all(self) -> bool:
        """Whether every agent's own series has information about its x₀; False is no answer."""
        return bool((self.own > NEGLIGIBLE * self.own.max()).all())

    def diagonal(self) -> Array:
        """Return the diagonal of J, (n,)."""
        return self.own + self.row.diagonal(self.precision) if self._row_is_noisy() and self.row else self.own

    def apply(self, columns: Array) -> Array:
        """Return J applied to columns, (n, b)."""
        own = self.own[:, None] * columns
        return own + self.row.apply(self.precision, columns) if self._row_is_noisy() and self.row else own

    def equations(self, inverted: Inverted | None = None) -> Equations:
        """Return the equations of all x₀; without answers, their right-hand sides are 0."""
        n = self.model.n
        if n > limits.DENSE_LIMIT and self.has_exact_rows:
            what = "agents or steps free of noise and an unseen start"
            rule = f"{what} is supported for at most {limits.DENSE_LIMIT:,} agents"
            raise TooLargeError(message(rule, got=f"{n:,}", remedy="give the model its start"))
        rows, values = self._exact(inverted) if self.has_exact_rows else (None, None)
        right = np.zeros((n, 1)) if inverted is None else self.own[:, None] * inverted.mean
        if self.row is not None and self._row_is_noisy() and inverted is not None and inverted.first is not None:
            r = self.row.observed(inverted.first, inverted.following)
            right = right + self.row.weight * (self.row.matrix.T @ (self.precision[:, None] * r))
        return Equations(self.apply, self.diagonal(), right, rows, values, evident=self.determines_all)

    def _exact(self, inverted: Inverted | None) -> tuple[Array, Array]:
        """Return the exact rows (m, n) of agents who are revealed, and of the first step, with their values."""
        n = self.model.n
        own = np.flatnonzero((self.noiseless & self.weights.legible) | self.revealed)
        rows = [np.eye(n)[own]]
        values = [np.zeros((1, own.size)) if inverted is None else inverted.mean[own].T]
        # If every opinion is revealed, the others would repeat the same information, n more rows for the SVD.
        if self.row is not None and not self.revealed.all():
            # With frozen noise the row of the first step is exact for all agents, otherwise for those without noise.
            first = np.flatnonzero(self.noiseless) if self._row_is_noisy() else np.arange(n)
            rows.append(self.row.matrix[first].toarray())
            seen = np.zeros((n, 1))
            if inverted is not None and inverted.first is not None:
                seen = self.row.observed(inverted.first, inverted.following)
            values.append(seen[first].T)
        return np.concatenate(rows), np.concatenate(values, axis=1)

    def _row_is_noisy(self) -> bool:
        return self.row is not None and np.isfinite(self.row.weight)


def complete(model: Model, weights: TimeWeights, *, first_step: bool) -> Complete:
    """Return the information in complete answers; ``first_step`` if step 1 can be inverted but the start not known."""
    later, pi = (int(weights.times[0]), weights.pi[0]) if weights.times.size else (None, np.ones(1))
    return Complete(model, weights, start_row(model, later, pi) if first_step else None)


def innovations(model: Model, data: Answers, prior: Prior | None = None) -> Estimate:
    """Return the best linear unbiased estimate from complete answers, or its posterior under a Gaussian prior.

    ξ_t = (y_t − C_t y_{t−1})/g_t and x̂ = Σ w_t ξ_t with w = K⁻¹1/(1ᵀK⁻¹1), variance std²/(1ᵀK⁻¹1). If the start is
    hidden and not observed, ξ_1 is not known, and the first step enters as y_1/g_1 = S⁻¹(S + ρ₁A) x₀ + ε_1. Opinions
    that adapt leave ξ_t = π_{t−1} x₀ + k_{t−1} + ε_t, where k is known: then x̂ = Σ w_t (ξ_t − k_{t−1}) with
    w = K⁻¹π/(πᵀK⁻¹π), and the variance std²/(πᵀK⁻¹π) stays above a bound if Σ π² has one.
    """
    inverted = invert(model, data)
    problem = complete(model, inverted.weights, first_step=inverted.first is not None)
    # O(n) and no matrix at all: the usual case, which makes millions of agents feasible.
    if problem.separate and data.seen.free.size == model.n and (prior is None or prior.is_diagonal):
        return _agent_by_agent(problem, inverted, data, prior)
    equations = problem.equations(inverted).among(data.seen.free, data.known).with_prior(data.known, prior)
    return estimate_from(model, data, NAME, **equations.solved()._asdict())


def _agent_by_agent(problem: Complete, inverted: Inverted, data: Answers, prior: Prior | None) -> Estimate:
    """Return the estimate where every agent stands for itself."""
    n, variance, value = problem.model.n, problem.variance, inverted.mean.T
    if prior is not None:
        # This form is valid for variances 0 and ∞ of the data as well.
        tau, m = prior.variances(n), prior.means(n)
        # The precision-weighted form 1/τ + 1/v would divide by 0.
        share = np.where(np.isinf(variance), 0.0, tau / (tau + np.where(np.isinf(variance), 0.0, variance)))
        value, variance = m + share * (value - m), (1 - share) * tau
    identified = np.isfinite(variance)
    spread = sparse.diags_array(np.where(identified, variance, 0.0), format="csr")
    # Exact agents would make the condition infinite although nothing is badly determined.
    noisy = variance[identified & (variance > 0)]
    condition = float(noisy.max() / noisy.min()) if noisy.size else 1.0
    rank = int(identified.sum())
    return estimate_from(
        problem.model, data, NAME, value, spread, identified=identified, rank=rank, condition=condition
    )
