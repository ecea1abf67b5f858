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
from typing import Any, final

import numpy as np

from peerpressure.errors import ModelError, message
from peerpressure.model import Model, require_synchronous
from peerpressure.model.statespace import System, checked_system, discrete_model
from peerpressure.model.step import Array
from peerpressure.noise import NoNoise
from peerpressure.schedules import Linear, Power, Schedule
from peerpressure.support.results import one_line
from peerpressure.theory._classification import (
    LongRun,
    Outcome,
    classify,
    is_consensus_value,
    is_proportional,
    steady_sums,
)
from peerpressure.theory._regime import NoiseEffect, Regime
from peerpressure.theory._stationary import balanced_solver, directed_solver
from peerpressure.theory._structure import NoiselessLimit
from peerpressure.theory.propagation import consensus_mode, moments, step_count


@final
@dataclass(frozen=True)
class PowerLaw:
    """A power law constant·t^(−exponent), times log t if ``log``.

    Attributes
    ----------
    exponent : float
        The exponent; ∞ for what falls faster than every power of t.
    constant : float, optional
        The constant; None where it has no formula.
    log : bool, default False
        Whether there is a factor log t.

    See Also
    --------
    Rate : Laws of bias, variance and disagreement.

    Examples
    --------
    >>> from peerpressure.theory import PowerLaw
    >>> PowerLaw(exponent=0.5, constant=2.0)
    PowerLaw(exponent=0.5, constant=2.0, log=False)
    """

    exponent: float
    constant: float | None = None
    log: bool = False

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


_ASYMPTOTIC_TIME = 1e100  # a time at which a power law dominates its corrections


def mode_noise(model: Model) -> float:
    """Return σ̄ = √(Σ s²σ²)/Σ s, the standard deviation of ξ̄_t at time scale 1.

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
    bias : PowerLaw, optional
        Distance of the mean of the consensus mode to v, or to the consensus limit if that is another value.
    variance : PowerLaw, optional
        Variance of the consensus mode.
    disagreement : PowerLaw, optional
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
    bias: PowerLaw | None = None
    variance: PowerLaw | None = None
    disagreement: PowerLaw | None = None
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
    p, structure, sequence = growth.exponent, long_run.structure, long_run.absolute_probability
    known = structure.constant_opinions and structure.limit is NoiselessLimit.CONSENSUS and sequence is not None
    if p is None or regime not in (Regime.SLOW, Regime.LINEAR) or not known:
        return Rate(regime)
    assert sequence is not None
    # The slope of a linear schedule is exact; other schedules are evaluated far out.
    c = growth.slope or _scale(model.pressure, p)
    share = long_run.kappa / c
    # For p < 1 the start is forgotten faster than any power of t, which is the limit r → ∞ of the formulas.
    r = share if regime is Regime.LINEAR else math.inf
    noise = model.noise.time_scale
    # γ where the noise grows like t^γ, −∞ where there is none, None where it is no power.
    gamma = -math.inf if model.noise.is_zero else noise.growth.exponent
    variance, periodic = None, structure.components[0].periodic
    # γ = −∞ means no noise: there is no variance, but the disagreement still has a law.
    if gamma is not None and gamma > -math.inf:
        sigma = sequence.noise(long_run.deviations, long_run.phi) * _scale(noise, gamma)
        variance = _variance(p, share, r, gamma, sigma**2, constant=long_run.phi == 1)
        if periodic and sequence.rates.shape[0] > 1 and long_run.phi < 1:
            # Where networks repeat, the mode is a mean over parts that never mix, each with noise of its own.
            variance = replace(variance, constant=None)
    # The constant of the bias has a closed form on one network in discrete time.
    mode_lag = lag(model) if constants and model.is_plain and not long_run.continuous else None
    # Agents whom noise keeps apart have no common value in the verdict, which the mean could be said to approach.
    value = structure.components[0].value
    nowhere = long_run.noise is NoiseEffect.SCATTERS and not (value is not None and is_consensus_value(model, value))
    return Rate(
        regime,
        bias=None if nowhere else _bias(long_run, p, c, r, mode_lag),
        variance=variance,
        disagreement=None if gamma is None else _disagreement(long_run, p, r, gamma, periodic=periodic),
        ratio=r if regime is Regime.LINEAR else None,
    )


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
        bias, r = (PowerLaw(math.inf) if exact else PowerLaw(p)), None
    else:
        r = model.kappa / (growth.slope or _scale(model.pressure, p))
        bias = PowerLaw(r) if exact else PowerLaw(min(r, 1.0), log=r == 1)
    variance = disagreement = None
    if gamma is not None:
        gamma = max(gamma, 0.0)
        free = p - 2 * gamma
        variance = PowerLaw(free) if r is None else PowerLaw(min(2 * r, free), log=2 * r == free)
        disagreement = PowerLaw(p - gamma)
    return Rate(regime, bias, variance, disagreement, r)


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
        raise ModelError(message("noise must be fresh at every step to average out", got=model.noise, remedy=remedy))
    return mode_noise(model) * math.sqrt(long_run_factor(phi) / t)


# Rounding of a mean, as a share of the largest number.
_ROUNDING = 1e-13


def _scale(schedule: Schedule, exponent: float) -> float:
    """Return c of c·t^exponent."""
    # In logarithms, because t^p at t = 1e100 overflows from p = 3.1 on.
    return float(np.exp(schedule.log(_ASYMPTOTIC_TIME) - exponent * math.log(_ASYMPTOTIC_TIME)))


def _bias(long_run: LongRun, p: float, c: float, r: float, mode_lag: float | None) -> PowerLaw | None:
    """Return the law of the bias; ``mode_lag`` is K where constants are asked for and known."""
    model = long_run.model
    closed_form = model.is_plain and not long_run.continuous
    proportional = model.is_plain and is_proportional(model)
    if proportional or not np.ptp(model.x0):
        # Nothing drives the mode away from v, so only the start has to be forgotten.
        known = closed_form and proportional and r < math.inf
        at_v = bool(np.all(np.concatenate([model.start_state, model.x0]) == model.x0[0]))
        return PowerLaw(r, _remembered(model, r) if known else 0.0 if at_v else None)
    lead = None if mode_lag is None else mode_lag / c
    if lead == 0:
        # By symmetry: what is left is the start, and terms of order 1/ρ², whose constant is not known.
        return PowerLaw(r) if r < 2 * p else None
    if r == math.inf:
        return PowerLaw(p, lead)
    # At r = 1 both terms decay like 1/t and resonate, which gives the logarithm; the tolerance absorbs rounding in κ/c.
    if _equal(r, 1.0):
        return PowerLaw(1.0, lead, log=True)
    return PowerLaw(r) if r < 1 else PowerLaw(1.0, None if lead is None else lead * r / (r - 1))


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


def _variance(p: float, share: float, r: float, gamma: float, sigma2: float, *, constant: bool) -> PowerLaw:
    """Return the law of the variance, for steps share/t^p and noise of long-run variance sigma2·t^(2·gamma)."""
    if constant:
        return _variance_of_constant_noise(r, gamma, sigma2)
    if r == math.inf:
        return PowerLaw(p - 2 * gamma, share / 2 * sigma2)
    # Positive where later noise dominates the variance, negative where the start and early noise do.
    gap = 2 * r - (1 - 2 * gamma)
    if _equal(2 * r, 1 - 2 * gamma):
        return PowerLaw(2 * r, r**2 * sigma2, log=True)
    # The constant depends on all early steps and has no closed form.
    return PowerLaw(2 * r) if gap < 0 else PowerLaw(1 - 2 * gamma, r**2 * sigma2 / gap)


def _variance_of_constant_noise(r: float, gamma: float, sigma2: float) -> PowerLaw:
    """Return the variance under noise that is drawn once: the mode follows the mean of the noisy opinions."""
    if r == math.inf:
        return PowerLaw(-2 * gamma, sigma2)
    if _equal(r, -gamma):
        return PowerLaw(2 * r, log=True)
    return PowerLaw(2 * r) if r < -gamma else PowerLaw(-2 * gamma, sigma2 * (r / (r + gamma)) ** 2)


def _disagreement(long_run: LongRun, p: float, r: float, gamma: float, *, periodic: bool) -> PowerLaw:
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
    # The sides of a symmetric network may be equal at all times.
    if periodic and not steady_sums(model)[1]:
        exponents.append(r)
        if long_run.phi < 1:
            exponents.append(p / 2 - gamma)
    return PowerLaw(min(exponents))


def _equal(a: float, b: float) -> bool:
    # Ratios such as κ/c come from sums over the network and are equal to the critical value only up to rounding.
    return math.isclose(a, b, rel_tol=1e-9)
