"""The schedule under which agents are closest to v after a given number of steps.

Their mean-square distance to v is minimised as a function of all pressures, with its exact gradient. Let w_T be the
indicator of an agent i. The weights in y_T,i of public opinions, directly (w_t) and with what hidden opinions adopt of
them (λ_t), and of hidden opinions (h_t) run back by

    λ_t = w_t + η_t ∘ h_t,    w_{t−1} = C_tᵀ λ_t,    h_{t−1} = (1 − η_t) ∘ h_t + g_t ∘ λ_t,

with η_t = 0 where opinions are constant; those of noise by a_t = φ a_{t+1} + g_t σ_t ∘ λ_t. E(y_T,i − v)² is then

    |Bᵀ(w_0, h_0)|² + (1 − φ²) Σ_t |a_t|² + φ² |a_1|².

The columns of B are what is not known, or known to differ from v: hidden opinions of standard deviation τ around v, and
a given start. As dg/d log ρ = −g(1 − g) and dC/d log ρ = diag(g) C, the reverse of this recursion, which runs forward
in time, gives the derivatives by all log ρ_t for the price of a second pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import ModelError, TooLargeError, contrast, message
from peerpressure.model import Model, require_synchronous
from peerpressure.model.affine import coefficients, least_own_weight
from peerpressure.model.statespace import discrete_model
from peerpressure.model.step import Array, product
from peerpressure.noise import Noise
from peerpressure.schedules import Formula, Linear, Schedule, Table
from peerpressure.support.progress import ShouldStop, cancellable, check_cancelled
from peerpressure.theory._structure import has_single_closed_class
from peerpressure.theory.propagation import Times, step_count

# Below this size a dense product takes less time than the call of a sparse one.
_DENSE = 40
# Steps after which weights are compared, and the difference, relative to the largest, up to which they are
# proportional.
_TOGETHER, _ALIKE = 64, 1e-13
# Steps between which a pass looks whether it is cancelled.
_BETWEEN = 64
# Numbers of a step that take as long as the calls that it consists of.
_CALLS = 8_000
# Numbers in the weights that are kept for the second pass, 64 MB.
_CACHE_MAX_FLOATS = 2**23
# Numbers for which derivatives are summed up together.
_CHUNK_FLOATS = 2**16


def _check(t: int) -> None:
    if t % _BETWEEN == 0:
        check_cancelled()


def pass_work(model: Model, steps: int, agents: int | None = None) -> int:
    """Return the multiplications of one pass over a horizon, counting calls too, for all agents or so many of them."""
    return steps * (_CALLS + (int(model.network.adjacency.nnz) + model.n) * (agents or model.n))


@final
class HorizonDistance:
    """E(y_T − v)² averaged over agents, as a function of log ρ_1, …, log ρ_T.

    Parameters
    ----------
    model : Model
        Any model; its pressure is not read.
    steps : int
        The horizon T.
    know_hidden : bool
        Whether the hidden opinions of the model are known, instead of only their variance.
    delayed : bool
        Whether ρ_1 = 0, whatever is given for it.
    agents : array of int, optional
        The agents to average over, all by default.
    """

    def __init__(
        self, model: Model, steps: int, *, know_hidden: bool = False, delayed: bool = False, agents: Any = None
    ) -> None:
        require_synchronous(model, "the best schedule", "pass model.synchronous")
        self.model, self.steps, self.delayed, n = model, steps, delayed, model.n
        self.targets = np.arange(n) if agents is None else np.asarray(agents)
        times = np.arange(1, steps + 1)
        self._degrees = np.stack([model.degrees_at(t) for t in range(1, steps + 1)]) if model.temporal_network else None
        # Who keeps its public opinion at which step; None where nobody ever does.
        self._keeps = self._degrees == 0 if self._degrees is not None and model.isolated == "keep" else None
        scale = np.zeros(steps) if model.noise.is_zero else model.noise.scale(times)
        self._sigma = scale[:, None] * model.noise.deviations(n)
        self._phi = model.noise.autocorrelation if self._sigma.any() else 0.0
        self._rates = None
        if model.adaptation is not None:
            # Read once, as a search passes over the steps again and again.
            self._rates = model.adaptation.pace(times)[:, None, None] * model.adaptation.adaptation_weights(n)[:, None]
        self._hidden_loads, self._start_loads = _loads(model, know_hidden=know_hidden)
        numbers = n * self.targets.size * (2 if self._phi else 1)
        # Steps whose weights are kept at a time; the others are computed twice.
        self._segment = min(steps, max(_CACHE_MAX_FLOATS // numbers, math.isqrt(steps), 1))
        self._kept = np.empty((self._segment, n, self.targets.size))
        self._kept_noise = np.empty_like(self._kept) if self._phi else None
        # Matrices are dense up to so many agents, except those of a temporal network over many steps.
        few = model.n <= _DENSE and (model.temporal_network is None or steps * model.n**2 <= _CACHE_MAX_FLOATS)
        self._dense, self._product = few, np.matmul if few else product

    @cached_property
    def _adjacency(self) -> Callable[[int], Any]:
        model = self.model
        if model.temporal_network is not None:
            if not self._dense:
                return model.adjacency_at
            matrices = [model.adjacency_at(t).toarray() for t in range(1, self.steps + 1)]
            return lambda t: matrices[t - 1]
        A = model.network.adjacency.toarray() if self._dense else model.network.adjacency
        return lambda t: A

    @cached_property
    def _transposed(self) -> Callable[[int], Any]:
        model = self.model
        # Symmetric networks share the matrix.
        if not model.network.directed:
            return self._adjacency
        if model.temporal_network is not None:
            return lambda t: self._adjacency(t).T
        A = model.network.transposed.toarray() if self._dense else model.network.transposed
        return lambda t: A

    def _coefficients(self, log_rho: Array) -> tuple[Array, Array]:
        """Return gain and coupling scale of all steps, (steps, agents) each."""
        own_weight = np.maximum(np.exp(-np.maximum(log_rho, 0.0)), least_own_weight(np.float64))[:, None]
        weight = np.exp(np.minimum(log_rho, 0.0))[:, None]
        if self.delayed:
            own_weight[0], weight[0] = 1.0, 0.0
        d = self.model.network.degrees if self._degrees is None else self._degrees
        gain, coupling_scale = coefficients(own_weight, weight, self.model.s[None], d)
        if self._keeps is None:
            return gain, coupling_scale
        return np.where(self._keeps, 0.0, gain), np.where(self._keeps, 0.0, coupling_scale)

    def value(self, log_rho: Array) -> float:
        """Return the mean square."""
        g, c = self._coefficients(log_rho)
        if self._phi or self._rates is not None:
            return self._backward(g, c)[0]
        # Far from the horizon all agents weigh the past alike, but for a factor: one of them then stands for all.
        W, factors, variance, last = self._units(), np.ones((1, 1)), 0.0, self.steps
        H, near, noise = np.zeros_like(W), np.zeros((1, 1)), np.zeros((0, 0))
        while last:
            first = max(0, last - min(self._segment, _TOGETHER))
            W, H, noise, added = self._descend(g, c, first, last, W, H, noise)
            variance += added * float(np.vdot(factors, factors))
            last = first
            ratios = _proportions(W)
            if ratios is not None:
                W, factors, near, H = W[:, :1], ratios, H, np.zeros_like(W[:, :1])
        deviation = (near + H * factors).T @ self._hidden_loads + (W * factors).T @ self._start_loads
        return (float(np.vdot(deviation, deviation)) + variance) / self.targets.size

    def _units(self) -> Array:
        """Return the weights at the horizon: one for each agent that is averaged over."""
        W = np.zeros((self.model.n, self.targets.size))
        W[self.targets, np.arange(self.targets.size)] = 1.0
        return W

    def value_and_gradient(self, log_rho: Array) -> tuple[float, Array]:
        """Return the mean square and its derivatives by log ρ_1, …, log ρ_T."""
        g, c = self._coefficients(log_rho)
        value, deviation, ends = self._backward(g, c)
        # Derivatives by w_0, h_0 and a_0, and the factor of each later square.
        scale, gradient = 2 / self.targets.size, np.empty(self.steps)
        V, U = scale * self._start_loads @ deviation.T, scale * self._hidden_loads @ deviation.T
        N = np.zeros_like(V)
        for first in range(0, self.steps, self._segment):
            last = min(first + self._segment, self.steps)
            # The backward pass ended with the first segment, whose weights are still there.
            if first:
                self._descend(g, c, first, last, *ends[last])
            if self._rates is None and self._kept_noise is None:
                V = self._ascend(g, c, first, last, V, U, scale, gradient)
                continue
            for t in range(first, last):
                _check(t)
                own, N = self._by_preferred(g[t], t, t - first, U, N, scale)
                weights = self._kept[t - first]
                before, V = V, self._product(self._adjacency(t + 1), V)
                V *= c[t][:, None]
                by_coupling, by_gain = (np.einsum("nm,nm->n", part, weights) for part in (V, own))
                gradient[t] = g[t] @ (by_coupling - (1 - g[t]) * by_gain)
                V += g[t][:, None] * own
                if self._keeps is not None:
                    V[self._keeps[t]] += before[self._keeps[t]]
                if self._rates is not None:
                    U = (1 - self._rates[t]) * U + self._rates[t] * V
        return value, gradient

    def _ascend(
        self, g: Array, c: Array, first: int, last: int, V: Array, U: Array, scale: float, gradient: Array
    ) -> Array:
        """Write the derivatives of a segment, and return those by the weights after it.

        Where neither hidden opinions nor noise have a memory, only the coupling is followed step by step.
        """
        length = max(1, _CHUNK_FLOATS // V.size)
        for begin in range(first, last, length):
            end = min(begin + length, last)
            weights, gain = self._kept[begin - first : end - first], g[begin:end]
            own = U + (scale * self._sigma[begin:end] ** 2 * gain)[:, :, None] * weights
            entering, coupled = gain[:, :, None] * own, np.empty_like(own)
            for t in range(begin, end):
                _check(t)
                heard, before = coupled[t - begin], V
                np.multiply(self._product(self._adjacency(t + 1), V), c[t][:, None], out=heard)
                V = heard + entering[t - begin]
                if self._keeps is not None:
                    V[self._keeps[t]] += before[self._keeps[t]]
            by_coupling, by_gain = (np.einsum("tnm,tnm->tn", part, weights) for part in (coupled, own))
            gradient[begin:end] = np.einsum("tn,tn->t", gain, by_coupling - (1 - gain) * by_gain)
        return V

    def _backward(self, g: Array, c: Array) -> tuple[float, Array, dict[int, tuple[Array, Array, Array]]]:
        """Return the mean square, the deviations Bᵀ(w_0, h_0) and the weights at the end of each segment."""
        W = self._units()
        H, noise, variance = np.zeros_like(W), np.zeros_like(W), 0.0
        ends: dict[int, tuple[Array, Array, Array]] = {}
        for first in reversed(range(0, self.steps, self._segment)):
            last = min(first + self._segment, self.steps)
            ends[last] = W, H, noise
            W, H, noise, added = self._descend(g, c, first, last, W, H, noise)
            variance += added
        variance += self._phi**2 * float(np.vdot(noise, noise))
        deviation = H.T @ self._hidden_loads + W.T @ self._start_loads
        return (float(np.vdot(deviation, deviation)) + variance) / self.targets.size, deviation, ends

    def _descend(
        self, g: Array, c: Array, first: int, last: int, W: Array, H: Array, noise: Array
    ) -> tuple[Array, Array, Array, float]:
        """Run the weights back over a segment and keep λ_t and a_t; return them with the variance of its noise."""
        kept, std, phi = self._kept[: last - first, :, : W.shape[1]], g[first:last] * self._sigma[first:last], self._phi
        rates, transposed = self._rates, self._transposed
        for t in reversed(range(first, last)):
            _check(t)
            weights = kept[t - first]
            weights[...] = W
            if rates is not None:
                weights += rates[t] * H
                H = (1 - rates[t]) * H + g[t][:, None] * weights
            W = self._product(transposed(t + 1), c[t][:, None] * weights)
            if self._keeps is not None:
                W[self._keeps[t]] += weights[self._keeps[t]]
            if self._kept_noise is not None:
                noise = phi * noise + std[t - first][:, None] * weights
                self._kept_noise[t - first] = noise
        if self.model.adaptation is None:
            H = H + np.einsum("tn,tnm->nm", g[first:last], kept)
        if self._kept_noise is not None:
            a = self._kept_noise[: last - first]
            return W, H, noise, (1 - phi) * (1 + phi) * float(np.vdot(a, a))
        return W, H, noise, float(np.sum(std**2 * np.einsum("tnm,tnm->tn", kept, kept)))

    def _by_preferred(self, g: Array, t: int, slot: int, U: Array, N: Array, scale: float) -> tuple[Array, Array]:
        """Return the derivatives by the weights of the preferred opinion, λ_t times the gain, and by those of noise."""
        sigma = self._sigma[t]
        if self._kept_noise is None:
            return U + (scale * sigma**2 * g)[:, None] * self._kept[slot], N
        # a_1 counts in full: the memory at the start has its stationary variance.
        fresh = scale * (1.0 if t == 0 else (1 - self._phi) * (1 + self._phi))
        N = fresh * self._kept_noise[slot] + self._phi * N
        return U + sigma[:, None] * N, N


def _proportions(W: Array) -> Array | None:
    """Return the multiples of the first column that the columns are, (1, columns); None if they are not, or are one."""
    # Scaled, because the weights of early steps may be so small that their squares are 0.
    scaled = W / (np.abs(W).max() or 1.0)
    one = scaled[:, :1]
    square = float(np.vdot(one, one))
    if W.shape[1] == 1 or not square:
        return None
    ratios: Array = one.T @ scaled / square
    return ratios if np.abs(scaled - one * ratios).max() <= _ALIKE else None


def _loads(model: Model, *, know_hidden: bool) -> tuple[Array, Array]:
    """Return the columns of B that weigh hidden opinions and the start, (agents, unknowns) each."""
    n, v, given = model.n, model.consensus_value, not isinstance(model.start, str)
    start = (model.start_state - v)[:, None]
    if know_hidden:
        hidden = (model.x0 - v)[:, None]
        return hidden, start if given else hidden
    # Averaging over all assignments of these opinions to agents gives the covariance τ²(I − 11ᵀ/n), whose second part
    # has no effect, since v moves as all opinions do.
    tau = float(np.std(model.x0, ddof=1)) if n > 1 else 0.0
    weights = model.opinion_weights if model.network.directed else model.s
    common = np.broadcast_to(tau * weights / weights.sum(), (n, n))
    hidden = tau * np.eye(n) - common
    if not given:
        return hidden, hidden
    return np.hstack([hidden, np.zeros((n, 1))]), np.hstack([-common, start])


# Multiplications of one pass over the horizon for all agents, a second or two, of which a search over some takes six.
_MOST_WORK = 4 * 10**8
# Multiplications beyond which a search looks at some agents only, and the least number of these.
_SAMPLED_WORK = 10**7
_LEAST_SAMPLE = 48
# Pressures that are tried, in units of s/d: below, agents ignore their neighbours, and above, themselves.
_LEAST, _MOVABLE, _MOST = 1e-3, 10.0, 1e6
# Up to so many steps every pressure is free; beyond, those at knots.
_FREE = 40
_ROUNDING = 1e-12
# Evaluations of the distance by which an optimum ends.
_EVALUATIONS = 300


@final
@dataclass(frozen=True)
class Alternative:
    """A simple schedule, and the RMS distance of the agents to v under it at the same horizon.

    Attributes
    ----------
    schedule : Schedule
        The schedule.
    rms_distance : float
        Root mean square of y_T,i − v over agents and noise.

    See Also
    --------
    OptimalSchedule : The best schedule, with these beside it.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import optimal_schedule
    >>> optimum = optimal_schedule(Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(0.5)), 5)
    >>> print(optimum.alternatives["t"].schedule)
    ρ_t = t
    """

    schedule: Schedule
    rms_distance: float


@final
@dataclass(frozen=True, eq=False, repr=False)
class OptimalSchedule:
    """The best schedule for a horizon, and simple ones to compare it with.

    Attributes
    ----------
    schedule : Table
        The pressures ρ_1, …, ρ_T.
    rms_distance : float
        Root mean square of y_T,i − v over agents, noise and, unless known, hidden opinions of the model's variance.
    alternatives : mapping from str to Alternative
        ``"t"``: ρ_t = t; ``"tuned"``: ρ_t = κt/(1 − 2γ), best for the consensus mode as t → ∞ under noise of scale t^γ;
        ``"line"``: the best ρ_t = c·t; ``"averaging"``: the best line that is followed by steps of averaging.
    averaging_steps : int
        How many steps of averaging that approximation ends with.
    converged : bool
        Whether the search ended at a minimum, and not at its limit of evaluations.
    evaluations : int
        How often the distance and its gradient were computed for it.
    slope : float
        Largest |d log(RMS distance)/d log ρ| at a knot whose pressure is not at a bound; 0 at a minimum, and small
        where the search averages over some agents only.

    See Also
    --------
    optimal_schedule : Computes it.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import optimal_schedule
    >>> optimum = optimal_schedule(Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(0.5)), 5)
    >>> optimum.schedule.values.shape, optimum.rms_distance <= optimum.alternatives["line"].rms_distance
    ((5,), True)
    """

    schedule: Table
    rms_distance: float
    alternatives: Mapping[str, Alternative]
    averaging_steps: int
    converged: bool
    evaluations: int
    slope: float

    def __repr__(self) -> str:
        return f"OptimalSchedule(RMS distance to v {self.rms_distance:.3g} after {self.schedule.values.size:,} steps)"

    def __str__(self) -> str:
        lines = [
            f"OptimalSchedule: RMS distance to v {self.rms_distance:.3g} after {self.schedule.values.size:,} steps"
        ]
        lines += [f"  {one.rms_distance:.3g} under {one.schedule}" for one in self.alternatives.values()]
        return "\n".join(lines)


def optimal_schedule(
    model: Model,
    steps: int,
    *,
    know_hidden: bool = False,
    delayed: bool = False,
    should_stop: ShouldStop | None = None,
) -> OptimalSchedule:
    """Return the schedule under which agents are closest to v after ``steps`` steps.

    The mean-square distance, averaged over noise and over hidden opinions that have the variance of the model's, is

        mean_i [τ² Σ_j (Q_ij − s_j/Σs)² + P_ii],

    with Q the weights of hidden opinions in the public ones at the end, and P the covariance of these. It needs
    nobody's hidden opinion. It is minimised over log ρ_t, which is linear in log t between knots that are dense at both
    ends, with exact gradients. The optimum grows slowly and ends in a burst: under very large pressure agents only
    average their neighbours' opinions, which removes most of their remaining disagreement.

    On large networks the search averages over some agents only, at least 48, evenly over the degrees. The distances
    that are returned are those of all agents.

    Parameters
    ----------
    model : Model
        Any model in discrete time; its own pressure has no effect.
    steps : int
        The horizon T, at least 1. The schedule is a table of T values, and says nothing about later steps.
    know_hidden : bool, default False
        Use the hidden opinions of the model themselves instead of only their variance.
    delayed : bool, default False
        Let all schedules have ρ_1 = 0, so no agent responds to the start y₀.
    should_stop : callable, optional
        Called every few steps; cancels the work with ``CancelledError`` if it returns True.

    Returns
    -------
    OptimalSchedule
        The schedule with its RMS distance, and the distances under simple schedules.

    Raises
    ------
    ModelError
        If time is continuous.
    TooLargeError
        If agents and steps are too many for a few passes over the horizon.

    See Also
    --------
    diagnose : Names a better schedule where there is one.
    forecast : The RMS distance under a given schedule.
    peerpressure.privacy.calibrate : The optimal schedule under a privacy budget.

    References
    ----------
    .. [1] R. H. Byrd, P. Lu, J. Nocedal, C. Zhu, "A limited memory algorithm for bound constrained optimization", SIAM
       J. Sci. Comput. 16 (1995).

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import complete
    >>> from peerpressure.theory import optimal_schedule
    >>> best = optimal_schedule(Model(complete(5), hidden=[0, 0, 1, 2, 2], noise=Gaussian(0.1)), 20)
    >>> best.rms_distance < best.alternatives["averaging"].rms_distance < best.alternatives["line"].rms_distance
    True
    """
    steps = step_count(steps)
    check_optimum(model, steps)
    with cancellable(should_stop):
        distance = HorizonDistance(model, steps, know_hidden=know_hidden, delayed=delayed)
        searched = _searched(distance, know_hidden=know_hidden)
        line = best_line(searched)
        averaging, k = best_averaging(searched, line)
        named = {"t": Linear(), "tuned": tuned_line(model), "line": line, "averaging": averaging}
        alternatives = {name: Alternative(_as_used(distance, one), _rms(distance, one)) for name, one in named.items()}
        best = optimum(searched, line)
        if searched is not distance:
            best = _among_all(best, distance)
    return OptimalSchedule(
        best.schedule, best.rms_distance, alternatives, k, best.converged, best.evaluations, best.slope
    )


def _searched(distance: HorizonDistance, *, know_hidden: bool) -> HorizonDistance:
    """Return the distance that a search minimises: that of some agents, where one pass for all of them takes long."""
    model, steps = distance.model, distance.steps
    alone, all_agents = pass_work(model, steps, 1), pass_work(model, steps)
    if all_agents <= _SAMPLED_WORK:
        return distance
    count = int((_SAMPLED_WORK - alone) // max(pass_work(model, steps, 2) - alone, 1))
    agents = spread_agents(model, min(max(count, _LEAST_SAMPLE), model.n))
    return HorizonDistance(model, steps, know_hidden=know_hidden, delayed=distance.delayed, agents=agents)


def spread_agents(model: Model, count: int) -> NDArray[np.intp]:
    """Return so many agents, evenly over the degrees, on which the distance of an agent depends most."""
    order = np.argsort(model.network.degrees, kind="stable")
    return np.asarray(order[np.linspace(0, model.n - 1, count).astype(np.intp)])


def _among_all(found: Optimum, distance: HorizonDistance) -> Optimum:
    """Return an optimum for some agents with its distance and slope for all of them."""
    steps, knots = np.arange(1, distance.steps + 1), _knots(distance.steps)
    log_rho = found.schedule.log(steps)
    value, gradient = distance.value_and_gradient(log_rho)
    low, high = _bounds(distance.model)
    basis = np.stack([np.interp(np.log(steps), np.log(knots), one) for one in np.eye(knots.size)], axis=1)
    inside = (log_rho[knots - 1] > low) & (log_rho[knots - 1] < high)
    slope = float(np.abs(basis.T @ gradient / (2 * value))[inside].max(initial=0.0)) if value else 0.0
    return replace(found, rms_distance=math.sqrt(value), slope=slope)


def check_optimum(model: object, steps: int) -> None:
    """Raise an error for a model and a horizon whose optimal schedule cannot be computed."""
    model = discrete_model(model, "an optimal schedule")
    if not model.network.is_connected or not has_single_closed_class(model):
        rule = "an optimal schedule needs one consensus value for all agents"
        remedy = "take a closed class of the network, or compare schedules with forecast(model, steps)"
        raise ModelError(message(rule, got=repr(model.network), remedy=remedy))
    work = pass_work(model, steps)
    if work > _MOST_WORK:
        limit, got = contrast(_MOST_WORK, work, digits=2)
        rule = f"an optimal schedule takes agents × edges × steps of up to {limit}"
        raise TooLargeError(message(rule, got=got, remedy="take fewer steps, or a smaller network"))


def noise_exponent(noise: Noise) -> float:
    """Return γ of noise whose scale grows like t^γ and that averages out, 0 for other noise."""
    exponent = None if noise.is_zero or noise.is_frozen else noise.time_scale.growth.exponent
    return exponent or 0.0


def tuned_line(model: Model) -> Linear:
    """Return ρ_t = κt/(1 − 2γ), or κt where noise grows too fast for any line to average it out."""
    gamma = noise_exponent(model.noise)
    line = Linear.tuned(model.network, model.s, gamma if gamma < 0.5 else 0.0)
    # Where it is random who updates, κ is smaller.
    return Linear(line.slope * model.kappa / model.synchronous.kappa) if model.activation is not None else line


@final
@dataclass(frozen=True, eq=False)
class Optimum:
    """A minimum of the distance to v over schedules, and how the search for it ended."""

    schedule: Table
    rms_distance: float
    converged: bool
    evaluations: int
    slope: float


def optimum(distance: HorizonDistance, line: Linear) -> Optimum:
    """Return the minimum over schedules that are log-linear between knots; the search starts from a line."""
    low, high = _bounds(distance.model)
    # Distances below this are rounding errors of those without pressure.
    floor = _ROUNDING**2 * distance.value(np.full(distance.steps, low))
    if floor == 0:
        return Optimum(Table(np.zeros(distance.steps)), 0.0, converged=True, evaluations=1, slope=0.0)
    # Where agents ignore themselves altogether, the distance is flat in the pressure, and a search would not move.
    best = _minimum(distance, line, floor, low, high, highest_start=high - math.log(_MOST / _MOVABLE))
    return best if best.rms_distance <= _rms(distance, line) else _minimum(distance, line, floor, low, high, high)


def _minimum(
    distance: HorizonDistance, line: Linear, floor: float, low: float, high: float, highest_start: float
) -> Optimum:
    """Search from the values of a line at the knots, but from log ρ ≤ ``highest_start``."""
    from scipy.optimize import minimize

    times, knots = np.arange(1, distance.steps + 1), _knots(distance.steps)
    basis = np.stack([np.interp(np.log(times), np.log(knots), one) for one in np.eye(knots.size)], axis=1)

    def objective(theta: Array) -> tuple[float, Array]:
        value, gradient = distance.value_and_gradient(basis @ theta)
        value += floor
        # The logarithm, because distances differ by orders of magnitude between schedules.
        return math.log(value) / 2, basis.T @ gradient / (2 * value)

    start, bounds = np.clip(line.log(knots), low, highest_start), [(low, high)] * knots.size
    options: dict[str, Any] = {"maxfun": _EVALUATIONS, "maxcor": 20, "ftol": 1e-9, "gtol": 1e-5}
    solution = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    inside = (solution.x > low) & (solution.x < high)
    slope = float(np.abs(solution.jac[inside]).max(initial=0.0))
    schedule = _as_used(distance, Table(np.exp(basis @ solution.x)))
    assert isinstance(schedule, Table)
    rms = math.sqrt(max(math.exp(2 * solution.fun) - floor, 0.0))
    return Optimum(schedule, rms, bool(solution.success), int(solution.nfev), slope)


def _knots(steps: int) -> Times:
    """Return the steps at which the pressure is free: all of few, else those that are dense at both ends."""
    if steps <= _FREE:
        return np.arange(1, steps + 1)
    # The burst at the end takes single steps there, whatever the horizon.
    early, late = np.geomspace(1, steps, 14), steps - np.geomspace(1, steps / 2, 12)
    return np.unique(np.rint(np.concatenate([early, late, steps - np.arange(7)])).astype(np.int64))


def _bounds(model: Model) -> tuple[float, float]:
    """Return the least and the greatest log ρ that are tried."""
    listening = model.network.degrees > 0
    ratio = model.s[listening] / model.network.degrees[listening]
    return math.log(_LEAST * ratio.min()), math.log(_MOST * ratio.max())


# Simple schedules: a line, and a line that ends in steps of averaging.


def _as_used(distance: HorizonDistance, schedule: Schedule) -> Schedule:
    """Return a schedule with ρ_1 = 0 where all have that."""
    if not distance.delayed:
        return schedule
    return Table(np.concatenate([[0.0], schedule(np.arange(2, distance.steps + 1))]))


def _rms(distance: HorizonDistance, schedule: Schedule) -> float:
    return math.sqrt(distance.value(schedule.log(np.arange(1, distance.steps + 1))))


def best_line(distance: HorizonDistance) -> Linear:
    """Return the line c·t under which the distance is least."""
    kappa = distance.model.kappa
    slope = _least(lambda log_c: _rms(distance, Linear(math.exp(log_c))), math.log(kappa / 10), math.log(kappa * 1e4))
    return Linear(math.exp(slope))


def best_averaging(distance: HorizonDistance, line: Linear) -> tuple[Linear | Formula, int]:
    """Return the best line that is followed by k steps of averaging, and k; the first line tried is ``line``."""
    model, steps, log_c = distance.model, distance.steps, math.log(line.slope)

    @cache
    def value(k: int, log_c: float) -> float:
        return _rms(distance, averaging_schedule(model, math.exp(log_c), steps, k))

    # Doubled as long as that helps; the best number hardly depends on the slope.
    known = {0: value(0, log_c)}
    while (k := max(1, 2 * max(known))) < steps and min(known.values()) in list(known.values())[-2:]:
        known[k] = value(k, log_c)
    best = min(known, key=known.__getitem__)
    for _ in range(2):
        log_c = _least(partial(value, best), log_c - 1.5, log_c + 0.5, grid=3)
        between = (best, round(0.7 * best), best - 1, best + 1, round(1.4 * best))
        near = {k: value(k, log_c) for k in set(between) if 0 <= k < steps}
        before, best = best, min(near, key=near.__getitem__)
        # The slope is the best one for the number before, and hardly changes with it.
        if near[best] > 0.999 * near[before]:
            break
    return averaging_schedule(model, math.exp(log_c), steps, best), best


def averaging_schedule(model: Model, slope: float, steps: int, k: int) -> Linear | Formula:
    """Return a line, with pressure so high in the last k of the steps that agents only average their neighbours."""
    if k == 0:
        return Linear(slope)
    # Rounded, since it is meant for a reader to write down.
    return Formula(f"{slope:.4g}*t + {math.exp(_bounds(model)[1]):.1g}*max(0, t - {steps - k})")


def _least(value: Callable[[float], float], low: float, high: float, grid: int = 9) -> float:
    """Return the argument of the least value, to about a tenth: the best of a grid, refined between its neighbours."""
    from scipy.optimize import minimize_scalar

    points = np.linspace(low, high, grid)
    values = [value(float(x)) for x in points]
    best = int(np.argmin(values))
    around = points[max(best - 1, 0)], points[min(best + 1, grid - 1)]
    # A tenth in the slope of a line changes the distance by less than a hundredth.
    solution = minimize_scalar(value, bounds=around, method="bounded", options={"xatol": 0.1})
    return float(solution.x) if solution.fun < values[best] else float(points[best])
