"""Rates at which the common value approaches v, and at which agents approach each other.

Summing (S + ρ_t D) y_t = S ξ_t + ρ_t A y_{t−1} over all agents, with m_t = Σ d y_t/Σ d and ξ̄_t = Σ s ξ_t/Σ s, gives
m_t = m_{t−1} + (κ/ρ_t)(ξ̄_t − Σ s y_t/Σ s). Near agreement the last term is m_t + O(1/ρ_t), so the consensus mode m
is a running average with step κ/(ρ_t + κ). With a_t = κ/ρ_t its bias b_t and variance V_t obey

    (1 + a_t) b_t = b_{t−1} + a_t K/ρ_t,        (1 + a_t)² V_t = V_{t−1} + a_t² σ̄_t²,

where K/ρ is how far the mode of the fixed point lies from v (``lag``) and σ̄_t is the deviation of ξ̄_t. For ρ_t = c t,
r = κ/c and σ̄_t = σ̄ t^γ the solutions are

    b_t ~ t^(−r)                   for r < 1         V_t ~ t^(−2r)                              for 2r < 1 − 2γ
    b_t ~ (K/c) log(t)/t           for r = 1         V_t ~ r²σ̄² log(t) t^(−2r)                  for 2r = 1 − 2γ
    b_t ~ (K/c) r/((r − 1) t)      for r > 1         V_t ~ r²σ̄²/(2r − 1 + 2γ) t^(−(1 − 2γ))     for 2r > 1 − 2γ

and for ρ_t = c t^p with p < 1 the mode follows its fixed point: b_t ~ K/ρ_t and V_t ~ κσ̄_t²/(2ρ_t). V_t t is smallest
at r = 1, so ρ_t = κt is the best line; the log in its bias is the price. The laws of continuous time are the same,
but for the constant of the bias and for the two sides of a bipartite network, which do not oscillate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import ModelError, message
from peerpressure.immutable import one_line
from peerpressure.model import Model, require_synchronous
from peerpressure.networks import Network
from peerpressure.noise import NoNoise
from peerpressure.propagation import consensus_mode, moments, step_count
from peerpressure.schedules import Linear, Power, Schedule
from peerpressure.statespace import System, checked_system, discrete_model
from peerpressure.step import Array
from peerpressure.theory._classification import LongRun, Outcome, classify, is_proportional, steady_sums
from peerpressure.theory._regime import NoiseEffect, Regime, farthest
from peerpressure.theory._stationary import balanced_solver, directed_solver
from peerpressure.theory._structure import NoiselessLimit

# Power laws and their onset: from which t on a law describes the consensus mode and the agents' disagreement.
#
# The mode forgets its start like exp(−κ Σ 1/ρ_t), which may take longer than any run before the lag behind the fixed
# point or later noise dominate. Its bias b and variance V are followed through the scalar recursion
#
#     (1 + a_t) b_t = b_{t−1} + a_t K/ρ_t,        (1 + a_t)² V_t = V_{t−1} + a_t² σ̄_t²,        a_t = κ/ρ_t,
#
# step by step at first and then over geometric intervals of t, in each of which the pressure counts as constant. The
# network itself relaxes at a rate given by its spectral gap, and agents are close to each other only where ρ_t exceeds
# the inverse of the least positive eigenvalue of S⁻¹L.

# Steps that are taken one by one; later ones are grouped into intervals.
EXACT_STEPS = 128
# Factors by which t grows in an interval: a small one up to log t = 23, as far as onsets are read as numbers, and a
# larger one up to the farthest time within the range of doubles.
NEAR_GROWTH, FAR_GROWTH = 1.02, 1.1
NEAR_LIMIT = 23.0
# Relative distance from a law up to which it is said to hold.
LAW_RTOL = 0.1
# Agents up to which the spectrum of the network is computed, which takes a tenth of a second.
MOST_AGENTS = 500


@final
@dataclass(frozen=True)
class Law:
    """A power law constant·t^(−exponent), times log t if ``log``.

    Attributes
    ----------
    exponent : float
        The exponent; ∞ for what falls faster than every power of t.
    constant : float, optional
        The constant; None where it has no formula.
    log : bool, default False
        Whether there is a factor log t.
    onset : float, optional
        Time from which the law holds up to a tenth; ∞ where that is beyond 10^300, and None where it is not computed.

    See Also
    --------
    Rate : Laws of bias, variance and disagreement.

    Examples
    --------
    >>> from peerpressure.theory import Law
    >>> Law(exponent=0.5, constant=2.0)
    Law(exponent=0.5, constant=2.0, log=False, onset=None)
    """

    exponent: float
    constant: float | None = None
    log: bool = False
    onset: float | None = None

    def __call__(self, t: float) -> float:
        """Return the value at t, nan if the constant is not known."""
        if self.constant is None or self.exponent == math.inf:
            return math.nan
        return self.constant * math.pow(t, -self.exponent) * (math.log(t) if self.log else 1.0)

    def __str__(self) -> str:
        if self.exponent == 0:
            return "constant"
        if self.exponent == math.inf:
            return "faster than every power of t"
        power = f"t^{-self.exponent:.3g}".replace("-", "−")
        return f"{power} log t" if self.log else power


@final
@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals of time between whole numbers, at first of one step each; all of shape (times,)."""

    t: Array  # their ends
    log_t: Array
    lengths: Array
    inside: Array  # a time in each whose pressure stands for all


@cache
def intervals(log_end: float) -> Intervals:
    """Return the intervals through which modes are followed, up to this log t."""
    near = np.arange(math.log(EXACT_STEPS), NEAR_LIMIT, math.log(NEAR_GROWTH))
    far = np.arange(NEAR_LIMIT, log_end, math.log(FAR_GROWTH))
    t = np.concatenate([np.arange(1.0, EXACT_STEPS), np.rint(np.exp(np.concatenate([near, far])))])
    log_t, lengths = np.log(t), np.diff(t, prepend=0.0)
    # The logarithmic mean of both ends: there 1/t is its mean over the interval, and sums of 1/(c t) lose nothing on
    # their long way. The time of a single step is its own.
    mean = np.floor(lengths[1:] / np.diff(log_t))
    return Intervals(t, log_t, lengths, np.where(t < EXACT_STEPS, t, np.concatenate([t[:1], mean])))


@final
@dataclass(frozen=True, eq=False)
class ModePath:
    """Bias and variance of the consensus mode over time, and the pressures; all of shape (times,)."""

    t: Array
    log_t: Array
    reciprocal: Array
    bias: Array
    variance: Array

    def onset(self, law: Law, *, of: str) -> float:
        """Return the time from which a law holds, ∞ where it does not set in within the range of doubles."""
        # Values that underflow cannot be compared, nor can a law that is 0 or faster than every power.
        values = np.abs(self.bias if of == "bias" else self.variance)
        seen = np.flatnonzero(values > 1e-280)
        if law.constant == 0 or not math.isfinite(law.exponent) or seen.size < 3:
            return 1.0
        t, log_t = self.t[: seen[-1] + 1], self.log_t[: seen[-1] + 1]
        log_value = np.log(np.maximum(values[: seen[-1] + 1], 1e-300))
        slope = -np.gradient(log_value, log_t)
        with np.errstate(divide="ignore"):
            claimed = law.exponent - (1 / log_t if law.log else 0.0)
        off = np.abs(slope - claimed) > np.maximum(LAW_RTOL * np.abs(claimed), 0.01)
        if law.constant is not None:
            with np.errstate(divide="ignore"):
                expected = math.log(abs(law.constant)) - law.exponent * log_t + (np.log(log_t) if law.log else 0.0)
            off |= ~(np.abs(log_value - expected) <= LAW_RTOL)
        return _after(off, t)

    def error_reached(self, steps: int, error: float, precision: float) -> float | None:
        """Return the time from which the error, known after some steps, is at most a precision; None if never."""
        predicted = np.hypot(self.bias, np.sqrt(self.variance))
        now = float(np.interp(math.log(steps), self.log_t, predicted))
        # Only the decay is taken from here; the error itself is known exactly.
        off = (predicted * error > precision * now) | (self.t <= steps)
        time = _after(off, self.t)
        return time if now > 0 and math.isfinite(time) else None


def _after(off: NDArray[np.bool_], t: Array) -> float:
    """Return the first time from which nothing is off."""
    if not np.any(off):
        return 1.0
    last = int(np.flatnonzero(off)[-1])
    return float(t[last + 1]) if last + 1 < t.size else math.inf


def mode_path(model: Model, kappa: float, lag: float, sigma: float) -> ModePath:
    """Follow bias and variance of the consensus mode of a plain model to the end of the range of doubles.

    ``lag`` is K, and ``sigma`` the deviation of ξ̄ at time scale 1 with the factor of AR(1) memory.
    """
    grid = intervals(farthest(model))
    inverse = model.pressure.reciprocal(grid.t)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        rates = np.log1p(kappa * model.pressure.reciprocal(grid.inside)) * grid.lengths
    bias = _path_bias(model, rates, lag * inverse if lag else np.zeros_like(inverse))
    if not sigma:
        return ModePath(grid.t, grid.log_t, inverse, bias, np.zeros_like(inverse))
    # Squares must not overflow.
    scale = np.minimum(model.noise.scale(grid.t) * sigma, 1e150)
    if model.noise.autocorrelation == 1:
        return ModePath(grid.t, grid.log_t, inverse, bias, _driven(0.0, rates, scale, EXACT_STEPS - 1) ** 2)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        # The stationary variance at a constant step a is a/(2 + a).
        stationary = scale**2 / (1 + 2 / (kappa * inverse))
    return ModePath(grid.t, grid.log_t, inverse, bias, _driven(0.0, 2 * rates, stationary, EXACT_STEPS - 1))


def _path_bias(model: Model, rates: Array, target: Array) -> Array:
    """Return the bias: exact for the first steps, in which agents have not come close, and by the recursion after."""
    w, v, state = model.mode_weights, model.consensus_value, model.start_state
    exact = np.empty(EXACT_STEPS - 1)
    for step, update in enumerate(model.updates(range(1, EXACT_STEPS))):
        state = update(state)
        exact[step] = w @ (state - v)
    # From its last step on, which is the start of the first interval.
    last = exact.size - 1
    later = _driven(exact[-1], np.concatenate([[0.0], rates[last + 1 :]]), target[last:], 1)
    return np.concatenate([exact, later[1:]])


def _driven(value: float, rates: Array, targets: Array, single: int) -> Array:
    """Return x with dx = (target − x) dr at the ends of intervals of r that are as long as ``rates``.

    Targets are those of the ends, and linear in r between them; so many single steps come first, each of which has its
    own target from its beginning on.
    """
    kept, forgotten = np.exp(-rates), -np.expm1(-rates)
    # The weight of the target at the end, 1 − (1 − e^(−r))/r, which for small r is the difference of equal numbers.
    with np.errstate(divide="ignore", invalid="ignore"):
        end_weight = np.where(rates > 1e-4, 1 - forgotten / rates, rates / 2)
    end_weight[:single] = forgotten[:single]
    path = end_weight * targets
    path[single:] += (forgotten - end_weight)[single:] * targets[single - 1 : -1]
    path[0] += kept[0] * value
    # Two intervals make one of the same form, with the product of what is kept: all are doubled in length at a time, so
    # thousands of them take a dozen operations on arrays.
    shift = 1
    while shift < path.size:
        path[shift:] += kept[shift:] * path[:-shift]
        kept[shift:] *= kept[:-shift]
        shift *= 2
    return path


def network_onset(model: Model, path: ModePath) -> float | None:
    """Return the time from which agents differ by order 1/ρ_t only; None for networks too large for their spectrum."""
    if model.n > MOST_AGENTS:
        return None
    gap, stiffness = spectral_gaps(model)
    with np.errstate(divide="ignore", over="ignore"):
        strength = stiffness / path.reciprocal
        # Until then what is left of the start, e^(−gap·t), exceeds a tenth of the differences of order 1/ρ.
        off = (strength < 1 / LAW_RTOL) | (gap * path.t < np.log(np.maximum(strength / LAW_RTOL, 1.0)))
    return _after(off, path.t)


def spectral_gaps(model: Model) -> tuple[float, float]:
    """Return 1 − |λ₂| of D⁻¹A, without the eigenvalue −1 of a bipartite network, and the least positive one of S⁻¹L."""
    return _gaps(model.network, model.s.tobytes())


# Kept for models that differ in noise or pressure only, as those of a slider do; of large networks none is asked for.
@lru_cache(maxsize=16)
def _gaps(network: Network, stubbornness: bytes) -> tuple[float, float]:
    A, d, s = network.adjacency.toarray(), network.degrees, np.frombuffer(stubbornness)
    if network.directed:
        return _directed_gaps(A, d, s)
    root = np.sqrt(d)
    values = np.linalg.eigvalsh(A / root[:, None] / root)[:-1]
    # On two agents nothing is left that has to relax.
    inner = values[1:] if network.is_bipartite else values
    gap = 1.0 - float(np.abs(inner).max(initial=0.0))
    root_s = np.sqrt(s)
    stiffness = np.linalg.eigvalsh((np.diag(d) - A) / root_s[:, None] / root_s)[1]
    return max(gap, 1e-15), max(float(stiffness), 1e-300)


def _directed_gaps(A: Array, d: Array, s: Array) -> tuple[float, float]:
    """Return the same of a directed network with one closed class, whose period has all eigenvalues of modulus 1."""
    moduli = np.abs(np.linalg.eigvals(A / d[:, None]))
    gap = 1.0 - float(moduli[moduli < 1 - 1e-9].max(initial=0.0))
    # The eigenvalue nearest to 0 is that of the consensus.
    stiffness = np.sort(np.abs(np.linalg.eigvals((np.diag(d) - A) / s[:, None])))[1]
    return max(gap, 1e-15), max(float(stiffness), 1e-300)


# The rates.

_ASYMPTOTIC_TIME = 1e100  # a time at which a power law dominates its corrections


def mode_noise(model: Model) -> float:
    """Return σ̄ = √(Σ s²σ²)/Σ s, the standard deviation of ξ̄_t at time scale 1.

    Parameters
    ----------
    model : Model
        A model with noise.

    Returns
    -------
    float
        The deviation that one step's noise gives the stubbornness-weighted mean.

    See Also
    --------
    ideal_deviation : The deviation that is left after t steps.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import mode_noise
    >>> mode_noise(Model(k2(), hidden=[0, 1], noise=Gaussian(2.0)))
    1.4142135623730951
    """
    model = discrete_model(model)
    # Scaled to at most 1, as squares of a very large or very small stubbornness leave the range of doubles.
    weights = model.opinion_weights
    return float(np.linalg.norm(weights * model.noise.deviations(model.n)) / weights.sum())


def influence(model: System) -> Array:
    """Return the weight of each agent's hidden opinion in the consensus value.

    Opinions count by stubbornness s and by how much others listen to the agent: with ϖ the stationary law of the chain
    D⁻¹A, which follows a random agent to whom the present one listens, the weights are ϖs/d over their sum. On an
    undirected network ϖ = d/Σd, and they are s/Σs.

    Parameters
    ----------
    model : Model or SDE
        Any model of one network and constant hidden opinions.

    Returns
    -------
    array of shape (agents,)
        Weights whose moduli add up to 1, and whose product with the hidden opinions is ``model.consensus_value``. They
        are 0 for agents to whom none of those listens who count, and negative in camp −1 of a balanced signed network.
        With several closed classes they are the weights in the mean of the values of these.

    Raises
    ------
    ModelError
        If the network changes, hidden opinions adapt, or a table says who updates.

    See Also
    --------
    diagnose : Where the agents come to.

    References
    ----------
    .. [1] M. H. DeGroot, "Reaching a consensus", J. Am. Stat. Assoc. 69 (1974).
    .. [2] P. Bonacich, "Power and centrality: a family of measures", Am. J. Sociol. 92 (1987).

    Examples
    --------
    >>> from peerpressure import Model, Network
    >>> from peerpressure.theory import influence
    >>> network = Network([[0, 1, 0], [1, 0, 0], [1, 0, 0]], directed=True)  # nobody listens to the third agent
    >>> influence(Model(network, hidden=[0.0, 1.0, 5.0], stubbornness=[1.0, 3.0, 1.0]))
    array([0.25, 0.75, 0.  ])
    """
    base = checked_system(model).model
    listed = base.activation is not None and not base.activation.is_random
    if not base.is_constant or listed:
        rule = "influence is defined for one network and constant hidden opinions"
        raise ModelError(message(rule, got=repr(base)[:120], remedy="see consensus_limit(model)"))
    weights = base.opinion_weights * (base.network.camps if base.network.signed else 1)
    return np.asarray(weights / (np.abs(weights).sum() or 1.0))


def long_run_factor(phi: float) -> float:
    """Return how much more an average of AR(1) noise varies than one of white noise: (1 + φ)/(1 − φ).

    Noise that is drawn once does not average out, and counts as it is.
    """
    return 1.0 if phi == 1 else (1 + phi) / (1 - phi)


def start_weight(model: System, steps: int) -> float:
    """Return the weight of the start in the consensus mode after some steps, exactly.

    Where stubbornness is proportional to degree it is Π_{t≤T} ρ_t/(ρ_t + κ).

    Parameters
    ----------
    model : Model or SDE
        Any model.
    steps : int
        The number T of steps, at least 1.

    Returns
    -------
    float
        A number from 0 to 1.

    See Also
    --------
    contraction_product : A bound that holds for every agent.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import start_weight
    >>> round(start_weight(Model(k2(), hidden=[0, 1]), 9), 12)  # κ = 1 and ρ_t = t
    0.1
    """
    # With a start of 1 and all else 0, the mean is the weight of the start.
    start_alone = with_parts(checked_system(model), hidden=np.zeros(model.n), start=np.ones(model.n), noise=NoNoise())
    return float(moments(start_alone, steps, of=consensus_mode(model)).mean[-1, 0])


def with_parts(system: System, **parts: Any) -> System:
    """Return a model, or the SDE of a model, with some parts replaced."""
    return system.with_model(replace(system.model, **parts))


def lag(model: Model) -> float:
    """Return K such that the mode of the fixed point at pressure ρ is v + K/ρ + O(1/ρ²).

    The fixed point is v + z/ρ with L z = S(x₀ − v) and Σ s z = 0, so K = Σ d z/Σ d; on a directed network it is
    Σ ℓs z = 0 and K = Σ ϖ z.
    """
    # The fixed point then has its mode at v for every pressure; solving would return rounding errors instead of 0.
    if is_proportional(model):
        return 0.0
    off, d = model.s * (model.x0 - model.consensus_value), model.network.left_null_vector * model.network.degrees
    if model.network.directed:
        z = directed_solver(model.network.laplacian, model.opinion_weights)(off)
    else:
        z = balanced_solver(model.network.laplacian, model.opinion_weights)(off)
    offset = float(d @ z / d.sum())
    # By symmetry it may be 0, and what is left is rounding.
    return offset if abs(offset) > 1e-12 * float(d @ np.abs(z) / d.sum()) else 0.0


@final
@one_line
@dataclass(frozen=True)
class Rate:
    """Dependence on t, as t → ∞, of bias and variance of the consensus mode and of the agents' disagreement.

    A law is None where no power law holds or none is known.

    Attributes
    ----------
    regime : Regime
        Growth of the pressure.
    bias : Law, optional
        Distance of the mean of the consensus mode to v.
    variance : Law, optional
        Variance of the consensus mode.
    disagreement : Law, optional
        Root mean square of y_i − m over agents and noise.
    ratio : float, optional
        The ratio κ/c where ρ_t ~ c t.

    See Also
    --------
    consensus_rate : Computes it.

    Examples
    --------
    >>> from peerpressure import Gaussian, Linear, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import consensus_rate
    >>> rate = consensus_rate(Model(k2(), hidden=[0.0, 1.0], start=0.0, pressure=Linear(2.0), noise=Gaussian(1.0)))
    >>> rate.ratio, rate.bias.exponent
    (0.5, 0.5)
    """

    regime: Regime
    bias: Law | None = None
    variance: Law | None = None
    disagreement: Law | None = None
    ratio: float | None = None


def consensus_rate(model: System, *, constants: bool = True) -> Rate:
    """Return the rates at which a model approaches consensus.

    Parameters
    ----------
    model : Model or SDE
        Any model; where hidden opinions adapt nothing is claimed, as the limit is not v.
    constants : bool, default True
        Whether to compute the constant of the bias too, which takes a linear solve.

    Returns
    -------
    Rate
        The power laws.

    See Also
    --------
    diagnose : The outcome, with its rates.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import star
    >>> from peerpressure.theory import consensus_rate
    >>> model = Model(star(4), hidden=[0, 1, 2, 3])  # κ = 2/3 and ρ_t = t
    >>> print(consensus_rate(model).bias)
    t^−0.667
    """
    require_synchronous(checked_system(model).model, "this", "diagnose has limit and rates of other models")
    return rate_of(classify(model), constants=constants)


def rate_of(long_run: LongRun, *, constants: bool) -> Rate:
    """Return the rates of a model that is classified.

    In a network that changes forever the common value has its own κ and its own noise, and the laws are the same.
    """
    model, growth, regime = long_run.model, long_run.growth, long_run.regime
    if long_run.lazy:
        return _lazy_rate(long_run)
    p, structure, omega = growth.exponent, long_run.structure, long_run.omega
    known = structure.constant_opinions and structure.limit is NoiselessLimit.CONSENSUS and omega is not None
    if p is None or regime not in (Regime.SLOW, Regime.LINEAR) or not known:
        return Rate(regime)
    assert omega is not None
    # The slope of a linear schedule is exact; other schedules are evaluated far out.
    c = growth.slope or _scale(model.pressure, p)
    share = long_run.kappa / c
    # For p < 1 the start is forgotten faster than any power of t, which is the limit r → ∞ of the formulas.
    r = share if regime is Regime.LINEAR else math.inf
    noise = model.noise.time_scale
    # γ where the noise grows like t^γ, −∞ where there is none, None where it is no power.
    gamma = -math.inf if model.noise.is_zero else noise.growth.exponent
    variance = None
    # γ = −∞ means no noise: there is no variance, but the disagreement still has a law.
    if gamma is not None and gamma > -math.inf:
        sigma = omega.noise(long_run.deviations, long_run.phi) * _scale(noise, gamma)
        variance = _variance(p, share, r, gamma, sigma**2, constant=long_run.phi == 1)
    periodic = structure.components[0].periodic
    # The constant of the bias has a closed form on one network in discrete time.
    mode_lag = lag(model) if constants and model.is_plain and not long_run.continuous else None
    rate = Rate(
        regime,
        bias=_bias(long_run, p, c, r, mode_lag),
        variance=variance,
        disagreement=None if gamma is None else _disagreement(long_run, p, r, gamma, periodic=periodic),
        ratio=r if regime is Regime.LINEAR else None,
    )
    if mode_lag is not None:
        return _with_onsets(long_run, rate, mode_lag)
    disagreement = rate.disagreement
    return rate if disagreement is None else replace(rate, disagreement=replace(disagreement, onset=None))


def _lazy_rate(long_run: LongRun) -> Rate:
    """Return the exponents, which are those of the synchronous model with κ_q; chance counts as noise of scale 1."""
    model, growth, regime, activation = long_run.model, long_run.growth, long_run.regime, long_run.model.activation
    p, known = growth.exponent, long_run.outcome in (Outcome.CONSENSUS, Outcome.BIPARTITE)
    if p is None or regime not in (Regime.SLOW, Regime.LINEAR) or not known or model.adaptation is not None:
        return Rate(regime)
    assert activation is not None
    gamma = 0.0 if model.noise.is_zero else model.noise.time_scale.growth.exponent
    # Only for these is the mode of the fixed point v itself, so nothing but the start decides the bias.
    exact = is_proportional(model) and np.ptp(activation.values) == 0
    if regime is Regime.SLOW:
        bias, r = (Law(math.inf) if exact else Law(p)), None
    else:
        r = model.kappa / (growth.slope or _scale(model.pressure, p))
        bias = Law(r) if exact else Law(min(r, 1.0), log=r == 1)
    variance = disagreement = None
    if gamma is not None:
        gamma = max(gamma, 0.0)
        free = p - 2 * gamma
        variance = Law(free) if r is None else Law(min(2 * r, free), log=2 * r == free)
        disagreement = Law(p - gamma)
    return Rate(regime, bias, variance, disagreement, r)


def _mode_path(long_run: LongRun, mode_lag: float) -> ModePath:
    model, omega = long_run.model, long_run.omega
    assert omega is not None
    known = long_run.noise not in (NoiseEffect.NONE, NoiseEffect.UNKNOWN)
    sigma = omega.noise(long_run.deviations, long_run.phi) if known else 0.0
    return mode_path(model, long_run.kappa, mode_lag, sigma)


def _with_onsets(long_run: LongRun, rate: Rate, mode_lag: float) -> Rate:
    """Return a rate whose laws say from when on they hold; ``mode_lag`` is K."""
    model, path = long_run.model, _mode_path(long_run, mode_lag)
    network = network_onset(model, path)

    def since(law: Law | None, of: str) -> Law | None:
        if law is None:
            return None
        onset = (law.onset or 1.0) if of == "disagreement" else path.onset(law, of=of)
        if of == "disagreement" and rate.bias is not None and model.network.sides is not None:
            # The difference between two sides forgets its start as the mode does, even where the mode is at v.
            if not math.isfinite(rate.bias.exponent) or rate.bias.constant == 0:
                return law if law.exponent == math.inf else replace(law, onset=None)
            onset = max(onset, path.onset(rate.bias, of="bias"))
        # The recursion of the mode is exact where s ∝ d; elsewhere agents must be close to each other.
        if of == "disagreement" or not is_proportional(model):
            return replace(law, onset=None if network is None else max(onset, network))
        return replace(law, onset=onset)

    return replace(
        rate,
        bias=since(rate.bias, "bias"),
        variance=since(rate.variance, "variance"),
        disagreement=since(rate.disagreement, "disagreement"),
    )


def steps_until(long_run: LongRun, steps: int, error: float, precision: float) -> float | None:
    """Return after how many steps an error of the consensus mode falls to a precision; None where that is not known.

    The error after ``steps`` steps is known, and its decay is that of the recursion of the mode, exp(−κ Σ 1/ρ_t) where
    no power law has set in.
    """
    model, known = long_run.model, long_run.outcome is Outcome.CONSENSUS and long_run.regime.reaches_value
    if not (model.is_plain and known and long_run.growth.is_regular) or long_run.continuous:
        return None
    path = _mode_path(long_run, lag(model))
    relaxed = 1.0 if is_proportional(model) else network_onset(model, path)
    # Before the network has relaxed, the recursion is not that of the agents.
    return path.error_reached(steps, error, precision) if relaxed is not None and steps >= relaxed else None


def ideal_deviation(model: Model, t: int) -> float:
    """Return σ̄/√t = √(Σ s²σ²)/(Σ s·√t), the deviation of the consensus mode under the tuned schedule ρ_t = κt.

    It is that of the mean of t steps of noise, which no other average of them improves on.

    Parameters
    ----------
    model : Model
        A model of one network and constant hidden opinions, with noise that averages out.
    t : int
        The number of steps, at least 1.

    Returns
    -------
    float
        The standard deviation.

    Raises
    ------
    ModelError
        If the network changes, hidden opinions adapt, or noise is drawn only once.
    InvalidInputError
        If t is not a whole number of at least 1.

    See Also
    --------
    mode_noise : The deviation that one step gives.
    optimal_schedule : The best schedule for a finite number of steps.

    References
    ----------
    .. [1] H. Robbins and S. Monro (1951), "A stochastic approximation method", Annals of Mathematical Statistics 22,
       400–407.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import ideal_deviation
    >>> round(ideal_deviation(Model(k2(), hidden=[0, 1], noise=Gaussian(2.0)), 200), 12)
    0.1
    """
    if not discrete_model(model).is_plain:
        rule = "an ideal deviation is known for a constant network and constant hidden opinions"
        raise ModelError(message(rule, got=repr(model)[:120], remedy="use moments(model, t, of=consensus_mode(model))"))
    t = step_count(t, "t")
    phi = model.noise.autocorrelation
    if phi == 1:
        remedy = "frozen noise stays in the mean: its deviation is mode_noise(model)"
        raise ModelError(message("noise must be drawn anew to average out", got=model.noise, remedy=remedy))
    return mode_noise(model) * math.sqrt(long_run_factor(phi) / t)


# Rounding of a mean, as a share of the largest number.
_ROUNDING = 1e-13


def _scale(schedule: Schedule, exponent: float) -> float:
    """Return c of c·t^exponent."""
    # In logarithms, because t^p at t = 1e100 overflows from p = 3.1 on.
    return float(np.exp(schedule.log(_ASYMPTOTIC_TIME) - exponent * math.log(_ASYMPTOTIC_TIME)))


def _bias(long_run: LongRun, p: float, c: float, r: float, mode_lag: float | None) -> Law | None:
    """Return the law of the bias; ``mode_lag`` is K where constants are asked for and known."""
    model = long_run.model
    closed_form = model.is_plain and not long_run.continuous
    proportional = model.is_plain and is_proportional(model)
    if proportional or not np.ptp(model.x0):
        # Nothing drives the mode away from v, so only the start has to be forgotten.
        known = closed_form and proportional and r < math.inf
        at_v = bool(np.all(np.concatenate([model.start_state, model.x0]) == model.x0[0]))
        return Law(r, _remembered(model, r) if known else 0.0 if at_v else None)
    lead = None if mode_lag is None else mode_lag / c
    if lead == 0:
        # By symmetry: what is left is the start, and terms of order 1/ρ², whose constant is not known.
        return Law(r) if r < 2 * p else None
    if r == math.inf:
        return Law(p, lead)
    # At r = 1 both terms decay like 1/t and resonate, which gives the logarithm; the tolerance absorbs rounding in κ/c.
    if _equal(r, 1.0):
        return Law(1.0, lead, log=True)
    return Law(r) if r < 1 else Law(1.0, None if lead is None else lead * r / (r - 1))


def _remembered(model: Model, r: float) -> float | None:
    """Return lim t^r·b_t where stubbornness is proportional to degree: b_0 Γ(1 + β + r)/Γ(1 + β), β = offset/c."""
    schedule = model.pressure
    if not isinstance(schedule, Linear | Power):
        return None
    beta = schedule.offset / schedule.slope if isinstance(schedule, Linear) else 0.0
    d = model.network.left_null_vector * model.network.degrees
    opinions, v = model.start_state, model.consensus_value
    start = float(d @ (opinions - v) / d.sum())
    # At ρ_1 = 0 the first step forgets the start altogether; on regular networks the start is at v up to rounding.
    if beta == -1 or abs(start) <= _ROUNDING * max(float(np.abs(opinions).max()), abs(v)):
        return 0.0
    # The exact product Π (t + β)/(t + β + r), t ≥ 1, times t^r tends to this ratio of gamma functions.
    return start * math.exp(math.lgamma(1 + beta + r) - math.lgamma(1 + beta))


def _variance(p: float, share: float, r: float, gamma: float, sigma2: float, *, constant: bool) -> Law:
    """Return the law of the variance, for steps share/t^p and noise of long-run variance sigma2·t^(2·gamma)."""
    if constant:
        return _variance_of_constant_noise(r, gamma, sigma2)
    if r == math.inf:
        return Law(p - 2 * gamma, share / 2 * sigma2)
    # Positive where later noise dominates the variance, negative where the start and early noise do.
    gap = 2 * r - (1 - 2 * gamma)
    if _equal(2 * r, 1 - 2 * gamma):
        return Law(2 * r, r**2 * sigma2, log=True)
    # The constant depends on all early steps and has no closed form.
    return Law(2 * r) if gap < 0 else Law(1 - 2 * gamma, r**2 * sigma2 / gap)


def _variance_of_constant_noise(r: float, gamma: float, sigma2: float) -> Law:
    """Return the variance under noise that is drawn once: the mode follows the mean of the noisy opinions."""
    if r == math.inf:
        return Law(-2 * gamma, sigma2)
    if _equal(r, -gamma):
        return Law(2 * r, log=True)
    return Law(2 * r) if r < -gamma else Law(-2 * gamma, sigma2 * (r / (r + gamma)) ** 2)


def _disagreement(long_run: LongRun, p: float, r: float, gamma: float, *, periodic: bool) -> Law:
    """Return how fast agents approach each other.

    Averaging over neighbours leaves deviations of order (1 + noise)/ρ_t. If all hidden opinions are equal, they differ
    by order 1/ρ_t from a common value that approaches them like t^(−r). Where a class is periodic, as on a bipartite
    network, the difference between its parts is forgotten, and driven by noise, exactly as the consensus mode is.
    """
    model = long_run.model
    same = not np.ptp(model.x0)
    # The slowest term dominates, hence the minimum; γ = −∞ without noise makes its terms infinite.
    exponents = [p - gamma]
    if not same:
        exponents.append(p)
    elif not (model.is_plain and is_proportional(model)):
        exponents.append(p + r)
    if long_run.phi == 1 and r == math.inf:
        # The common value lags behind noise that changes, by the ρ_t steps that it takes to follow.
        exponents.append(1 - gamma)
    ratio = 0.1 * _contrast(long_run)
    # The sides of a symmetric network may be equal at all times.
    if periodic and not steady_sums(model)[1]:
        exponents.append(r)
        if long_run.phi < 1:
            exponents.append(p / 2 - gamma)
            if exponents[-1] == min(exponents):
                # The noise that drives the parts apart is that of autocorrelation −φ, and may be small.
                ratio *= math.sqrt((1 - long_run.phi) / (1 + long_run.phi))
    return Law(min(exponents), onset=_outlasted(exponents, ratio))


def _contrast(long_run: LongRun) -> float:
    """Return the size of disagreement that is due to noise, relative to that of opinions; 1 where it is not computed.

    Where a network relaxes slowly, opinions have the time 1/gap to part, and noise the root of it.
    """
    model, range_ = long_run.model, float(np.ptp(long_run.model.x0))
    if not model.is_plain or model.noise.is_zero or not range_ or model.n > MOST_AGENTS:
        return 1.0
    gap = spectral_gaps(model)[0] if long_run.phi < 1 else 1.0
    return min(1.0, math.sqrt(gap) * float(long_run.deviations.max()) / range_)


def _outlasted(exponents: list[float], ratio: float) -> float:
    """Return the t from which on the slowest of several powers outweighs the others by a factor 1/ratio."""
    slowest = min(exponents)
    gap = min((x - slowest for x in exponents if not _equal(x, slowest)), default=math.inf)
    # t^(−gap) = ratio, in logarithms, as close exponents take longer than a double can say.
    decades = -math.log10(ratio) / gap
    return 10.0**decades if decades < 300 else math.inf


def _equal(a: float, b: float) -> bool:
    # Ratios such as κ/c come from sums over the network and are equal to the critical value only up to rounding.
    return math.isclose(a, b, rel_tol=1e-9)
