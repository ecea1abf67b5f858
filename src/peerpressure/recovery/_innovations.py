"""What the first step says of x₀ when the start is hidden and not seen.

y_1/g_1 = F x₀ + ε_1 with F = S⁻¹(S + ρ₁A): x₀ enters twice, through the agent itself and through its neighbours'
start. Given the next ε, what is left of ε_1 is independent of all later noise, so that the first step is one more
row: B x₀ = r + noise of variance std²·(1 − φ²), B = F/scale_1 − φ p_2/scale_2, with p_2 the own share of x₀ by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.errors import InvalidInputError, TooLargeError, message
from peerpressure.model import Model, Vector
from peerpressure.noise import AR1, Custom, Frozen, Gaussian, Noise
from peerpressure.recovery._estimate import Covariance, Estimate, Prior, estimate_from
from peerpressure.recovery._information_state import estimate_of, known_before
from peerpressure.recovery._observation import Outputs, time_steps
from peerpressure.recovery._regression import separated
from peerpressure.recovery._solve import DENSE_LIMIT, Implicit, conjugate_gradients, solve
from peerpressure.schedules import Constant
from peerpressure.sde import SDE

Array: TypeAlias = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class StartRow:
    """The row B = first · F − later · p, with ``weight`` 1/(1 − φ²) for unit deviation, infinite if it is exact."""

    matrix: sparse.csr_array
    first: float
    later: float
    weight: float

    def observed(self, first: Array, later: Array | None) -> Array:
        """Return r of shape (n, replicates) from y_1/g_1 and what the next step that is used tells."""
        return self.first * first - (self.later * later if later is not None else 0.0)

    def apply(self, precision: Array, columns: Array) -> Array:
        """Return weight · Bᵀ diag(precision) B applied to columns (n, b)."""
        return np.asarray(self.weight * (self.matrix.T @ (precision[:, None] * (self.matrix @ columns))))

    def diagonal(self, precision: Array) -> Array:
        """Return the diagonal of weight · Bᵀ diag(precision) B."""
        return np.asarray(self.weight * (self.matrix.multiply(self.matrix).T @ precision))


def start_row(model: Model, later_step: int | None, share: Array) -> StartRow:
    """Return the row of the first step; ``later_step`` is the next one used, if any, and ``share`` (·,) its p."""
    update = model.update(1)
    scale = float(model.noise.scale(1))
    phi = model.noise.autocorrelation ** (later_step - 1) if later_step is not None else 0.0
    following = float(model.noise.scale(later_step)) if phi and later_step is not None else 1.0
    if scale == 0:
        first, later, weight = 1.0, 0.0, np.inf
    else:
        later = phi / following if following else 0.0
        first, weight = 1 / scale, 1 / (1 - phi**2) if abs(phi) < 1 else np.inf
    n = model.n
    both = (
        sparse.diags_array(np.full(n, first - later * share))
        + sparse.diags_array(first * update.coupling_scale / update.gain) @ update.adjacency
    )
    return StartRow(sparse.csr_array(both), first, later, weight)


# How much of x₀ is left in what an agent holds, where hidden opinions adapt.
#
# x_{t+1} = x_t + η_t (y_t − x_t) unrolls to x_{t+1} = π_t x₀ + k_t with
#
#     π_t = (1 − η_t) π_{t−1},  π₀ = 1,   k_t = k_{t−1} + η_t (y_t − k_{t−1}),  k₀ = 0:
#
# an agent's own share, which fades whatever happens, and what it has adopted, which follows from what it showed.


def own_share(model: Model, last: int) -> Array:
    """Return π_t for t = 0…last, (last + 1, agents), or (last + 1, 1) where it is the same for all.

    >>> from peerpressure.networks import k2
    >>> own_share(Model(k2(), hidden=[1.0, 2.0], adaptation=0.5), 3).ravel()
    array([1.   , 0.5  , 0.25 , 0.125])
    """
    adaptation = model.adaptation
    if adaptation is None:
        return np.ones((last + 1, 1))
    factor = np.atleast_1d(np.asarray(adaptation.adaptation_weight, dtype=np.float64))
    staying = np.ones((last + 1, factor.size))
    staying[1:] -= adaptation.pace(np.arange(1, last + 1))[:, None] * factor
    return np.asarray(np.cumprod(staying, axis=0))


def adopted(model: Model, data: Outputs) -> Array:
    """Return k of the last seen step from complete outputs, (replicates, agents)."""
    held = np.zeros((model.n, data.values.shape[0]))
    if model.adaptation is not None:
        for row, t in enumerate(data.seen.times):
            held = model.update(int(t)).adapt(held, data.at(row).T)
    return np.asarray(held.T)


# How to average what tells of one agent's x₀, r_t = p_t x₀ + ε_t, given how ε_t hangs together in time.
#
# The share p_t is 1 where hidden opinions are constant, and falls where they adapt.

# A smaller share of x₀ is lost in the last digits, even where there is no noise.
LEAST_SHARE = 1e-10


@final
@dataclass(frozen=True, eq=False)
class TimeWeights:
    """The best linear unbiased average Σ w_t r_t of an agent with unit deviation, variance 1/information.

    ``times`` (T,) are the steps that it is taken over; w = K⁻¹p/(pᵀK⁻¹p) and information = pᵀK⁻¹p, infinite where
    some combination of the r_t is free of noise. ``weights`` and ``share`` are (T, agents) and ``information``
    (agents,), or have one column for all agents alike. ``link`` and ``scale`` (T,) whiten: (ε_t/scale_t −
    link_t ε_{t−1}/scale_{t−1})/√(1 − link_t²) has independent entries of unit variance.
    """

    times: NDArray[np.int64]
    weights: Array
    information: Array
    share: Array
    link: Array
    scale: Array

    @property
    def legible(self) -> NDArray[np.bool_]:
        """Whose x₀ could be read off if there were no noise, (agents,)."""
        return np.asarray(self.share.max(axis=0, initial=0.0) >= LEAST_SHARE)


def time_weights(noise: Noise, times: NDArray[np.int64], share: Array | None = None) -> TimeWeights:
    """Return the weights for increasing times, (T,), gaps allowed; without ``share`` (T, ·) opinions are constant."""
    p = np.ones((times.size, 1)) if share is None else share
    scale = noise.scale(times)
    link = np.zeros(times.size)
    link[1:] = noise.autocorrelation ** np.diff(times)
    if (scale == 0).any():
        weights, information = _quiet(noise, times, scale, p)
    elif noise.autocorrelation == 1:
        weights, information = _held(scale, p)
    else:
        weights, information = _whitened(link, scale, p)
    return TimeWeights(times, weights, information, p, link, scale)


def _whitened(link: Array, scale: Array, p: Array) -> tuple[Array, Array]:
    spread = np.sqrt(1 - link**2)[:, None]
    regressor = p / scale[:, None]
    regressor[1:] -= link[1:, None] * (p[:-1] / scale[:-1, None])
    regressor /= spread
    pushed = regressor / spread
    weights = pushed.copy()
    weights[:-1] -= link[1:, None] * pushed[1:]
    information = np.einsum("ij,ij->j", regressor, regressor)
    return weights / scale[:, None] / np.where(information > 0, information, 1.0), information


def _quiet(noise: Noise, times: NDArray[np.int64], scale: Array, p: Array) -> tuple[Array, Array]:
    """Return weights and information where steps without noise tell all, to those of whom they tell anything."""
    noisy = scale > 0
    telling = np.where(noisy[:, None] | (p < LEAST_SHARE), 0.0, p)
    size = np.einsum("ij,ij->j", telling, telling)
    rest = time_weights(noise, times[noisy], p[noisy])
    others = np.zeros_like(p)
    others[noisy] = rest.weights
    told = size > 0
    return np.where(told, telling / np.where(told, size, 1.0), others), np.where(told, np.inf, rest.information)


def _held(scale: Array, p: Array) -> tuple[Array, Array]:
    """Return weights and information for one draw held for ever, r_t = p_t x₀ + scale_t u."""
    if not scale.size:
        return p, np.zeros(p.shape[1])
    ratio = p / scale[:, None]
    low, high, each = np.argmin(ratio, axis=0), np.argmax(ratio, axis=0), np.arange(p.shape[1])
    least, most = ratio[low, each], ratio[high, each]
    alike = most - least <= LEAST_SHARE * most
    mean = np.divide(1 / scale.size, p, out=np.zeros_like(p), where=alike & (p > 0))
    # Two different sizes of the same draw, beside the same opinion, cancel it.
    cancelling = np.zeros_like(p)
    cancelling[high, each] = 1 / scale[high]
    cancelling[low, each] -= 1 / scale[low]
    cancelling /= np.where(alike, 1.0, most - least)
    return np.where(alike, mean, cancelling), np.where(alike, most**2, np.inf)


# Whether the model can have made the outputs at all, and how well they fit it.


@final
class Bounds:
    """Where each x₀ must lie, given r_t = p_t x₀ + ε_t and noise that keeps within bounds; filled step by step.

    Noise that is never drawn anew leaves r_t of constant opinions unchanged, and is checked in the same way.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        held = isinstance(model.noise.temporal, Frozen) and isinstance(model.noise.time_scale, Constant)
        held = held and model.adaptation is None
        self._support = (0.0, 0.0) if held or model.noise.is_zero else support(model.noise)
        self._low: Array | None = None
        self._high: Array | None = None

    def meet(self, step: int, told: Array, error: float, share: Array) -> None:
        """Take in r_t (n, replicates), known to within ``error``, with p_t (·, 1); refuse it if no x₀ is left."""
        least, most = self._support
        if np.isinf(least) and np.isinf(most):
            return
        noise = self._model.noise
        size = (noise.deviations(self._model.n) * float(noise.scale(step)))[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            low = (told - np.where(size > 0, size * most, 0.0) - error) / share
            high = (told - np.where(size > 0, size * least, 0.0) + error) / share
        blind = np.broadcast_to(share < LEAST_SHARE, low.shape)
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
    ends = np.array(noise.unit().support(), dtype=np.float64)
    if isinstance(noise, Custom):
        ends = noise.standardise(ends)
    if isinstance(noise.temporal, AR1):
        # |u_t| ≤ M √(1−φ²) Σ |φ|^k: draws that are carried over add up.
        phi = abs(noise.temporal.coefficient)
        ends = np.array([-1.0, 1.0]) * np.abs(ends).max() * np.sqrt((1 + phi) / (1 - phi))
    return float(ends[0]), float(ends[1])


def p_values(model: Model, squares: Array, steps: int, fitted: NDArray[np.bool_]) -> Array | None:
    """Return the two-sided p-value of whitened residuals, (replicates,), from their sums of squares over time.

    Σ residual² ~ χ² under Gaussian noise, with steps degrees of freedom for each agent, less one for those of whom x₀
    was ``fitted``. Other laws change its variance by their kurtosis, and the sum of many is taken as normal.
    """
    from scipy import special

    std = model.noise.deviations(model.n)
    noisy = std > 0
    free = int((steps - np.broadcast_to(fitted, noisy.shape)[noisy]).sum())
    if free <= 0 or isinstance(model.noise.temporal, Frozen) or not np.isfinite(squares).all():
        return None
    total = (squares[noisy] / std[noisy, None] ** 2).sum(axis=0)
    if isinstance(model.noise, Gaussian):
        return np.asarray(2 * np.minimum(special.chdtr(free, total), special.chdtrc(free, total)))
    kurtosis = _excess_kurtosis(model.noise.unit())
    if not np.isfinite(kurtosis) or kurtosis <= -2:
        return None
    return np.asarray(2 * special.ndtr(-np.abs(total - free) / np.sqrt(free * (2 + kurtosis))))


def _excess_kurtosis(law: Any) -> float:
    return float(law.stats(moments="k"))


# Undoing the update: ξ_t = (y_t − C_t y_{t−1})/g_t = x_t + ε_t is what the agent would have liked to show.
#
# Where hidden opinions adapt, what the agent has adopted by then is known from its outputs and taken off, and what is
# left is its own share: r_t = ξ_t − k_{t−1} = π_{t−1} x₀ + ε_t.

# Below this gain an agent's own opinion is lost in the last digits of what it shows.
LEAST_GAIN = 1e-10


@final
@dataclass(frozen=True, eq=False)
class Inverted:
    """The r_t of complete outputs, averaged as they came.

    ``mean`` (n, replicates) is the best average of the r_t, with ``weights`` to tell how good it is; ``first`` is
    y_1/g_1 and ``following`` the first r_t, needed only where the start is not known.
    """

    weights: TimeWeights
    mean: Array
    first: Array | None
    following: Array | None
    goodness_of_fit: Array | None


def legible_steps(model: Model, last: int) -> NDArray[np.int64]:
    """Return the steps at which every agent's own opinion can be read in double precision."""
    return np.array([t for t in range(1, last + 1) if model.update(t).gain.min() >= LEAST_GAIN], dtype=np.int64)


def invert(model: Model, data: Outputs) -> Inverted:
    """Return the averaged r_t of complete outputs, refusing outputs that the noise cannot have made."""
    legible = legible_steps(model, data.seen.last)
    weights = weights_of(model, legible)
    bounds = Bounds(model)
    total = np.zeros((model.n, data.values.shape[0]))
    squares = np.zeros_like(total)
    before = np.zeros_like(total)
    shift, following = np.zeros_like(total), None
    rows = {int(t): row for row, t in enumerate(weights.times)}
    everywhere_noisy = bool(np.isfinite(weights.information).all())
    for t, told, error in _told(model, data, rows):
        row = rows[t]
        share = weights.share[row][:, None]
        if following is None:
            following = told
            shift = np.divide(told, share, out=shift, where=share > LEAST_SHARE)
        # Squares are taken about the first r, for x₀ may be large and the noise small.
        change = told - share * shift
        total += weights.weights[row][:, None] * change
        bounds.meet(t, told, error, share)
        if everywhere_noisy:
            link = weights.link[row]
            now = change / weights.scale[row]
            squares += (now - link * before) ** 2 / (1 - link**2) if abs(link) < 1 else 0.0
            before = now
    legible_first = isinstance(model.start, str) and 1 in legible
    first = data.at(0).T / model.update(1).gain[:, None] if legible_first else None
    if following is None:
        return Inverted(weights, total, first, None, None)
    goodness_of_fit = None
    if everywhere_noisy:
        squares -= weights.information[:, None] * total**2
        goodness_of_fit = p_values(model, squares, weights.times.size, weights.information > 0)
    return Inverted(weights, shift + total, first, following, goodness_of_fit)


def weights_of(model: Model, legible: NDArray[np.int64]) -> TimeWeights:
    """Return how to average the r_t of the legible steps; of the first only if the start is known."""
    times = legible[legible > 1] if isinstance(model.start, str) else legible
    share = own_share(model, int(times.max(initial=1)) - 1)
    return time_weights(model.noise, times, share[times - 1])


def _told(model: Model, data: Outputs, rows: dict[int, int]) -> Iterator[tuple[int, Array, float]]:
    """Yield step, r_t (n, replicates) and the size of its rounding error."""
    precision = float(np.finfo(data.values.dtype).eps)
    public = np.broadcast_to(model.start_state[:, None], (model.n, data.values.shape[0]))
    adopted = np.zeros_like(public)
    for t in range(1, data.seen.last + 1):
        before, public = public, np.ascontiguousarray(data.at(t - 1).T)
        update = model.update(t)
        if t in rows:
            one = before[:, 0] if before.shape[1] == 1 else before
            pulled = update.couple(np.ascontiguousarray(one)).reshape(before.shape)
            error = 64 * precision * (1 + float(np.abs(public).max())) / float(update.gain.min())
            wish = (public - pulled) / update.gain[:, None]
            yield t, wish if model.adaptation is None else wish - adopted, error
        if model.adaptation is not None:
            adopted = update.adapt(adopted, public)


def refuse_incomplete(data: Outputs) -> None:
    """Refuse outputs with which the update cannot be undone, saying what is missing."""
    if data.complete:
        return
    seen = data.seen
    if not seen.everyone:
        got = f"{seen.agents.size} of {seen.n}"
        rule = "undoing the update needs the outputs of all agents"
    elif seen.rounding:
        rule, got = "undoing the update needs outputs as they are", f"outputs rounded to {seen.rounding:g}"
    elif not seen.uninterrupted:
        rule = "undoing the update needs every step from 1 on"
        got = f"{seen.times.size} steps from {seen.times[0]} to {seen.last}" if seen.times.size else "no step"
    else:
        rule, got = "undoing the update needs every output", f"{int((~data.present).sum())} missing ones"
    remedy = "use method='kalman', 'gls' or 'ols', which can do without"
    raise InvalidInputError(message(rule, got=got, remedy=remedy))


# What complete outputs say of x₀: the same for every run of a model, so that it is known before one is seen.
#
# J = i·D + weight·Bᵀ D B with D = diag(1/std²), i the information in what each agent tells of itself at unit deviation,
# and B the row of the first step where the start is not known; facts free of noise stand beside it as exact rows.


@final
@dataclass(frozen=True, eq=False)
class Complete:
    """The information about x₀ in complete outputs; ``weights`` average what agents tell of themselves."""

    model: Model
    weights: TimeWeights
    row: StartRow | None

    @cached_property
    def information(self) -> Array:
        """The information that each agent tells of itself at unit deviation, (n,); infinite if x₀ shows through."""
        silent = np.where(self.weights.legible, np.inf, 0.0)
        return np.broadcast_to(silent if self.model.noise.is_zero else self.weights.information, (self.model.n,))

    @cached_property
    def precision(self) -> Array:
        """1/std² of each agent, and 0 for those without noise, whose facts are exact; (n,)."""
        std = self.model.noise.deviations(self.model.n)
        return np.divide(1.0, std**2, out=np.zeros(self.model.n), where=std > 0)

    @cached_property
    def own(self) -> Array:
        """What each agent tells of itself through its noise, i/std², 0 where it is exact or nothing; (n,)."""
        return np.where(self.shown, 0.0, self.information) * self.precision

    @property
    def shown(self) -> NDArray[np.bool_]:
        """Whose x₀ shows through, (n,)."""
        return np.isinf(self.information)

    @property
    def quiet(self) -> NDArray[np.bool_]:
        """Who has no noise, (n,)."""
        return np.asarray(self.precision == 0)

    @property
    def separate(self) -> bool:
        """Whether each agent's outputs speak of that agent alone."""
        return self.row is None or bool(self.shown.all())

    @property
    def variance(self) -> Array:
        """The error variance of each agent's own average, where outputs are ``separate``; (n,)."""
        std = self.model.noise.deviations(self.model.n)
        silent = np.where(self.information > 0, 0.0, np.inf)
        noisy = (self.information > 0) & ~self.shown
        return np.divide(std**2, self.information, out=silent, where=noisy)

    @property
    def has_exact_rows(self) -> bool:
        """Whether some fact about x₀ is free of noise."""
        exact = self.quiet | self.shown
        return bool(exact.any()) or (self.row is not None and np.isinf(self.row.weight))

    def diagonal(self) -> Array:
        """Return the diagonal of J, (n,)."""
        return self.own + self.row.diagonal(self.precision) if self._row_is_noisy() and self.row else self.own

    def apply(self, columns: Array) -> Array:
        """Return J applied to columns, (n, b)."""
        own = self.own[:, None] * columns
        return own + self.row.apply(self.precision, columns) if self._row_is_noisy() and self.row else own

    def exact_rows(self) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
        """Return exact rows (m, n): of agents who show through, then of the first step, and the agents of either."""
        quiet = np.flatnonzero(self.quiet)
        own = np.flatnonzero((self.quiet & self.weights.legible) | self.shown)
        first = quiet[:0] if self.row is None else (quiet if self._row_is_noisy() else np.arange(self.model.n))
        units = np.zeros((own.size, self.model.n))
        units[np.arange(own.size), own] = 1.0
        rows = units if self.row is None else np.concatenate([units, self.row.matrix[first].toarray()])
        return rows, own, first

    def _row_is_noisy(self) -> bool:
        return self.row is not None and np.isfinite(self.row.weight)


def complete(model: Model, weights: TimeWeights, *, first_step: bool) -> Complete:
    """Return what complete outputs say; ``first_step`` if step 1 is seen but the start is not known."""
    later, share = (int(weights.times[0]), weights.share[0]) if weights.times.size else (None, np.ones(1))
    return Complete(model, weights, start_row(model, later, share) if first_step else None)


def refuse_large(problem: Complete, prior: Prior | None) -> None:
    """Refuse what needs a dense matrix of more agents than are fit for one."""
    n = problem.model.n
    if n <= DENSE_LIMIT or not (problem.has_exact_rows or (prior is not None and not prior.is_diagonal)):
        return
    what = "a correlated prior" if not problem.has_exact_rows else "agents or steps free of noise and an unseen start"
    rule = f"{what} can be dealt with for at most {DENSE_LIMIT} agents"
    raise TooLargeError(message(rule, got=n, remedy="give the model its start, or use a prior of variances"))


# The best observer of complete outputs: undo the update, then average what agents would have liked to show.

NAME = "innovations"


def innovations(model: Model, data: Outputs, prior: Prior | None = None) -> Estimate:
    """Return the best linear unbiased estimate from complete outputs, or its posterior under a Gaussian prior.

    ξ_t = (y_t − C_t y_{t−1})/g_t and x̂ = Σ w_t ξ_t with w = K⁻¹1/(1ᵀK⁻¹1), variance std²/(1ᵀK⁻¹1). If the start is
    hidden and not seen, ξ_1 is not known, and the first step enters as y_1/g_1 = S⁻¹(S + ρ₁A) x₀ + ε_1. Opinions that
    adapt leave ξ_t = π_{t−1} x₀ + k_{t−1} + ε_t, where k is known: then x̂ = Σ w_t (ξ_t − k_{t−1}) with
    w = K⁻¹π/(πᵀK⁻¹π), and the variance std²/(πᵀK⁻¹π) stays above a bound if Σ π² has one.
    """
    refuse_incomplete(data)
    found = invert(model, data)
    problem = complete(model, found.weights, first_step=found.first is not None)
    facts: dict[str, Any] = {"goodness_of_fit": found.goodness_of_fit}
    if problem.separate and data.seen.free.size == model.n and (prior is None or prior.is_diagonal):
        return _agent_by_agent(problem, found, data, prior, facts)
    refuse_large(problem, prior)
    if model.n <= DENSE_LIMIT:
        return _dense(problem, found, data, prior, facts)
    return _iterative(problem, found, data, prior, facts)


def _agent_by_agent(
    problem: Complete, found: Inverted, data: Outputs, prior: Prior | None, facts: dict[str, Any]
) -> Estimate:
    """Return the estimate where every agent stands for itself."""
    n, variance, value = problem.model.n, problem.variance, found.mean.T
    if prior is not None:
        # Written so that variances 0 and ∞ of the data are as good as any.
        tau, m = prior.variances(n), prior.means(n)
        share = np.where(np.isinf(variance), 0.0, tau / (tau + np.where(np.isinf(variance), 0.0, variance)))
        value, variance = m + share * (value - m), (1 - share) * tau
    identified = np.isfinite(variance)
    spread = sparse.diags_array(np.where(identified, variance, 0.0), format="csr")
    noisy = variance[identified & (variance > 0)]
    condition = float(noisy.max() / noisy.min()) if noisy.size else 1.0
    rank = int(identified.sum())
    return estimate_from(
        problem.model, data, NAME, value, spread, identified=identified, rank=rank, condition=condition, **facts
    )


def _right_side(problem: Complete, found: Inverted, prior: Prior | None) -> Array:
    """Return i·D x̄ + weight·BᵀD r + P⁻¹m, (n, replicates)."""
    total = problem.own[:, None] * found.mean
    if problem.row is not None and found.first is not None and np.isfinite(problem.row.weight):
        r = problem.row.observed(found.first, found.following)
        total = total + problem.row.weight * (problem.row.matrix.T @ (problem.precision[:, None] * r))
    if prior is not None:
        n = problem.model.n
        pull = (
            prior.means(n) / prior.variances(n)
            if prior.is_diagonal
            else np.linalg.solve(prior.variance, prior.means(n))
        )
        total = total + pull[:, None]
    return np.asarray(total)


def _dense(problem: Complete, found: Inverted, data: Outputs, prior: Prior | None, facts: dict[str, Any]) -> Estimate:
    """Return the estimate with its full covariance, minding facts that are exact and directions that are open."""
    n, free = problem.model.n, data.seen.free
    J, rhs = problem.apply(np.eye(n)), _right_side(problem, found, prior)
    if prior is not None:
        J = J + np.linalg.inv(prior.covariance(n))
    rows, values = _exact(problem, found, data)
    solution = solve(J, rows, values)
    value = solution.value(J, rhs.T)
    return estimate_from(
        problem.model,
        data,
        NAME,
        value[:, free],
        solution.inverse[np.ix_(free, free)],
        identified=solution.identified[free],
        rank=solution.rank - (n - free.size),
        condition=solution.condition,
        **facts,
    )


def _exact(problem: Complete, found: Inverted, data: Outputs) -> tuple[Array, Array]:
    """Return all exact rows (m, n) with their values (replicates, m): known starts, quiet agents, first steps."""
    n = problem.model.n
    known = np.setdiff1d(np.arange(n), data.seen.free)
    if problem.shown.all():
        return np.eye(n), found.mean.T
    rows, own, first = problem.exact_rows()
    values = [data.known[:, known], found.mean[own].T]
    if problem.row is not None and found.first is not None:
        values.append(problem.row.observed(found.first, found.following)[first].T)
    return np.concatenate([np.eye(n)[known], rows]), np.concatenate(values, axis=1)


def _iterative(
    problem: Complete, found: Inverted, data: Outputs, prior: Prior | None, facts: dict[str, Any]
) -> Estimate:
    """Return the estimate of a large network by conjugate gradients, its covariance as an operator."""
    n = problem.model.n
    added = np.zeros(n) if prior is None else 1 / prior.variances(n)
    diagonal = problem.diagonal() + added

    def apply(columns: Array) -> Array:
        return problem.apply(columns) + added[:, None] * columns

    value, condition = conjugate_gradients(apply, _right_side(problem, found, prior), diagonal)
    covariance: Covariance = Implicit(n, lambda columns: conjugate_gradients(apply, columns, diagonal)[0])
    return estimate_from(problem.model, data, NAME, value.T, covariance, condition=condition, **facts)


# The best observer of complete outputs in continuous time: what each step adds to what was shown before it.


def step_innovations(sde: SDE, data: Outputs, prior: Prior | None = None) -> Estimate:
    """Return the best linear unbiased estimate from complete outputs, or its posterior under a Gaussian prior.

    y_k − F_k y_{k−1} = M_k x₀ + e_k with independent e_k ~ N(0, Q_k), so that J = Σ M_kᵀ Q_k⁻¹ M_k. If the start is
    hidden and not seen, the first step enters as y_1 = (F_1 + M_1) x₀ + e_1.
    """
    refuse_incomplete(data)
    model, n = sde.model, sde.n
    unseen = isinstance(model.start, str)
    knowledge = known_before(model, data, prior)
    before = np.zeros((n, 1)) if unseen else model.start_state[:, None]
    for row, step in enumerate(time_steps(sde, data.seen.last)):
        slope = step.effect + step.matrix if unseen and not row else step.effect
        shown: Vector = data.at(row).T
        facts = np.concatenate([slope, shown - step.matrix @ before], axis=1)
        knowledge = knowledge.learn(*separated(facts, step.root, n))
        before = shown
    return estimate_of(model, data, "innovations", knowledge)


# What agents would have liked to show, wherever it can be read off: ξ_t = (y_t − C_t y_{t−1})/g_t = x_t + ε_t.
#
# x_t is x₀ where hidden opinions are constant. Where they adapt, x_t = p_t x₀ + k_{t−1} with k from the agent's own
# outputs, so that ξ_t tells of x₀ as long as all of these are seen.


@final
@dataclass(frozen=True, eq=False)
class Transitions:
    """Pairs of outputs in which an agent and all its neighbours of the step before are seen.

    ``times`` (T,); ``public`` (replicates, T, n) is y_t, ``around`` A_t y_{t−1} and ``adopted`` k_{t−1}, all 0 where
    ``present`` (T, n) is False; ``degrees`` and ``share`` (T, n) are the sums of A_t, and p_t.
    """

    times: NDArray[np.int64]
    public: Vector
    around: Vector
    adopted: Vector
    degrees: Vector
    share: Vector
    present: NDArray[np.bool_]


def transitions(model: Model, data: Outputs) -> Transitions:
    """Return all pairs of outputs in which the step of an agent is seen from beginning to end."""
    if data.seen.rounding:
        rule = "a likelihood needs outputs as they are"
        remedy = "use method='kalman', which knows of rounding"
        raise InvalidInputError(message(rule, got=f"outputs rounded to {data.seen.rounding:g}", remedy=remedy))
    rows = {int(t): row for row, t in enumerate(data.seen.times)}
    known = {0: _start(model, data)} | {t: _everyone(model, data, row) for t, row in rows.items()}
    times = np.array([t for t in sorted(known) if t and t - 1 in known], dtype=np.int64)
    shape = (times.size, model.n)
    updates = {int(t): model.update(int(t)) for t in times}
    public = np.array([known[t] for t in updates]).reshape(*shape, -1)
    around = np.array([update.adjacency @ known[t - 1] for t, update in updates.items()]).reshape(public.shape)
    adopted = _adopted(model, known, times, public.shape)
    gains = np.array([update.gain for update in updates.values()]).reshape(shape)
    share = np.broadcast_to(own_share(model, data.seen.last)[times - 1], shape)
    # A product with a sparse matrix is NaN exactly where a neighbour is.
    present = np.isfinite((public + around + adopted)[:, :, 0]) & (gains * share >= LEAST_GAIN)
    hidden = ~present[:, :, None]
    y, a, k = (np.moveaxis(np.where(hidden, 0.0, values), 2, 0) for values in (public, around, adopted))
    degrees = np.array([model.degrees_at(t) for t in updates]).reshape(shape)
    return Transitions(times, y, a, k, degrees, share, present)


def preferred_opinions(model: Model, seen: Transitions) -> Vector:
    """Return r_t = ξ_t − k_{t−1} = p_t x₀ + ε_t, (replicates, T, n), 0 where it cannot be known."""
    out = np.zeros_like(seen.public)
    for row, t in enumerate(seen.times):
        update = model.update(int(t))
        wish = (seen.public[:, row] - update.coupling_scale * seen.around[:, row]) / update.gain - seen.adopted[:, row]
        out[:, row] = np.where(seen.present[row], wish, 0.0)
    return out


def _adopted(model: Model, known: Mapping[int, Vector], times: NDArray[np.int64], shape: tuple[int, ...]) -> Vector:
    """Return k_{t−1} of the steps, (T, n, replicates), NaN once an output that was adopted is not seen."""
    if model.adaptation is None:
        return np.broadcast_to(0.0, shape)
    out, rows = np.empty(shape), {int(t): row for row, t in enumerate(times)}
    held, unseen = np.zeros(shape[1:]), np.full(shape[1:], np.nan)
    for t in range(1, int(times.max(initial=0)) + 1):
        if t in rows:
            out[rows[t]] = held
        update = model.update(t)
        moves = update.adaptation_rate is not None and update.adaptation_rate[:, None] > 0
        held = np.where(moves, update.adapt(held, known.get(t, unseen)), held)
    return out


def _start(model: Model, data: Outputs) -> Vector:
    """Return y₀, (n, replicates), NaN where it is not known."""
    if isinstance(model.start, str):
        return np.asarray(data.known.T)
    return np.repeat(model.start_state[:, None], data.known.shape[0], axis=1)


def _everyone(model: Model, data: Outputs, row: int) -> Vector:
    state = np.full((model.n, data.known.shape[0]), np.nan)
    state[data.seen.agents] = data.at(row).T
    return state
