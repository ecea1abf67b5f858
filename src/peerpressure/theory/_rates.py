"""How fast the agents' common value comes to v, and how fast they come to each other.

With a_t = κ/ρ_t the consensus mode m_t = Σ d y_t/Σ d has bias b_t and variance V_t with

    (1 + a_t) b_t = b_{t−1} + a_t K/ρ_t,        (1 + a_t)² V_t = V_{t−1} + a_t² σ̄_t²,

where K/ρ is how far the mode of the fixed point lies from v (``scalar.lag``) and σ̄_t is the deviation of the
stubbornness-weighted mean of the noise. For ρ_t = c t, r = κ/c and σ̄_t = σ̄ t^γ their solutions are

    b_t ~ t^(−r)                   for r < 1         V_t ~ t^(−2r)                              for 2r < 1 − 2γ
    b_t ~ (K/c) log(t)/t           for r = 1         V_t ~ r²σ̄² log(t) t^(−2r)                  for 2r = 1 − 2γ
    b_t ~ (K/c) r/((r − 1) t)      for r > 1         V_t ~ r²σ̄²/(2r − 1 + 2γ) t^(−(1 − 2γ))     for 2r > 1 − 2γ

and for ρ_t = c t^p with p < 1 the mode follows its fixed point: b_t ~ K/ρ_t and V_t ~ κσ̄_t²/(2ρ_t). V_t t is smallest
at r = 1, so that ρ_t = κt is the best line; the log in its bias is the price.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from peerpressure.errors import ModelError, message
from peerpressure.model import Model
from peerpressure.noise import Frozen
from peerpressure.schedules import Growth, Linear, Power, Schedule
from peerpressure.theory._classification import Bond, Setting, setting_of
from peerpressure.theory._limits import is_proportional, lag, long_run_factor, mode_noise
from peerpressure.theory._recurrence import Mode
from peerpressure.theory._regime import Regime, reduced, regime_of

_FAR = 1e100  # where a power law has long swallowed its corrections


@final
@dataclass(frozen=True)
class Law:
    """A power law constant·t^(−exponent), times log t if ``log``; the constant is None where it has no formula."""

    exponent: float
    constant: float | None = None
    log: bool = False

    def __call__(self, t: float) -> float:
        """Return the value at t, nan if the constant is not known."""
        if self.constant is None:
            return math.nan
        return self.constant * math.pow(t, -self.exponent) * (math.log(t) if self.log else 1.0)

    def __str__(self) -> str:
        if self.exponent == 0:
            return "constant"
        power = f"t^{-self.exponent:.3g}".replace("-", "−")
        return f"{power} log t" if self.log else power


@final
@dataclass(frozen=True)
class Rate:
    """How bias and variance of the consensus mode, and the agents' disagreement, depend on t as t → ∞.

    ``disagreement`` is the root mean square of y_i − m over agents and noise. A law is None where no power law holds
    or none is known; ``ratio`` is κ/c where ρ_t ~ c t.
    """

    regime: Regime
    bias: Law | None = None
    variance: Law | None = None
    disagreement: Law | None = None
    ratio: float | None = None
    estimated: bool = False


def consensus_rate(model: Model, *, constants: bool = True) -> Rate:
    """Return the rates at which a model comes to consensus; ``constants=False`` spares a linear solve.

    >>> from peerpressure.networks import star
    >>> model = Model(star(4), hidden=[0, 1, 2, 3])  # κ = 2/3 and ρ_t = t
    >>> print(consensus_rate(model).bias)
    t^−0.667
    """
    model = reduced(model)
    setting = None if model.is_plain else setting_of(model, regime_of(model.pressure))
    return rate_in(model, setting, constants=constants)


def rate_in(model: Model, setting: Setting | None, *, constants: bool) -> Rate:
    """Return the rates of a model in its setting, None for a plain one.

    In a network that changes for ever the common value has its own κ and its own noise, and the laws are the same.
    Hidden opinions that adapt lead elsewhere than to v, and nothing is claimed.
    """
    growth = model.pressure.growth
    regime = regime_of(model.pressure, growth)
    p = growth.exponent
    mode = _mode(setting)
    if p is None or regime not in (Regime.SLOW, Regime.LINEAR) or (setting is not None and mode is None):
        return Rate(regime, estimated=growth.estimated)
    kappa = model.kappa if mode is None else mode.kappa
    c = growth.slope or _scale(model.pressure, p)
    r = kappa / c if regime is Regime.LINEAR else math.inf
    gamma = _noise_exponent(model)
    sigma = mode_noise(model) * math.sqrt(long_run_factor(model)) if mode is None else mode.noise(model)
    swings = model.network.is_bipartite if setting is None else setting.groups[0].swings
    return Rate(
        regime,
        bias=_bias(model, p, c, r, constants=constants) if mode is None else _bias_of(p, r),
        variance=None if gamma is None else _variance(model, p, kappa / c, r, gamma, sigma),
        disagreement=None if gamma is None else _disagreement(model, p, r, gamma, swings=swings),
        ratio=r if regime is Regime.LINEAR else None,
        estimated=growth.estimated or model.noise.time_scale.growth.estimated,
    )


def _mode(setting: Setting | None) -> Mode | None:
    """Return the one common value of a network that changes, while hidden opinions are constant."""
    if setting is None or setting.adaptation is not None or setting.bond is not Bond.ONE:
        return None
    return setting.groups[0].mode


def ideal_deviation(model: Model, t: int) -> float:
    """Return σ̄/√t = √(Σ s²σ²)/(Σ s·√t), the deviation of the consensus mode under the tuned schedule ρ_t = κt.

    It is that of the plain mean of t steps of noise, which no other average of them beats.

    >>> from peerpressure.networks import k2
    >>> from peerpressure.noise import Gaussian
    >>> round(ideal_deviation(Model(k2(), hidden=[0, 1], noise=Gaussian(2.0)), 200), 12)
    0.1
    """
    if not reduced(model).is_plain:
        rule = "an ideal deviation is known for a constant network and constant hidden opinions"
        raise ModelError(message(rule, got=repr(model)[:120], remedy="use moments(model, t, of=consensus_mode(model))"))
    if not t >= 1:
        raise ModelError(message("t must be at least 1", got=t, remedy="noise enters with the first step"))
    if isinstance(model.noise.temporal, Frozen):
        remedy = "a mask that is held stays in the mean: its deviation is mode_noise(model)"
        raise ModelError(message("noise must be drawn anew to average out", got=model.noise, remedy=remedy))
    return mode_noise(model) * math.sqrt(long_run_factor(model) / t)


def _scale(schedule: Schedule, exponent: float) -> float:
    """Return c of c·t^exponent."""
    return float(np.exp(schedule.log(_FAR) - exponent * math.log(_FAR)))


def _noise_exponent(model: Model) -> float | None:
    """Return γ where the noise grows like t^γ, −∞ where there is none, None where it is no power."""
    growth: Growth = model.noise.time_scale.growth
    return -math.inf if model.noise.is_zero else growth.exponent


def _bias(model: Model, p: float, c: float, r: float, *, constants: bool) -> Law:
    if r < math.inf and is_proportional(model):
        # Nothing drives the mode away from v, so that only the start has to be forgotten.
        return Law(r, _remembered(model, r))
    return _bias_of(p, r, lag(model) / c if constants else None)


def _bias_of(p: float, r: float, lead: float | None = None) -> Law:
    """Return the law of the bias, where the mode of the fixed point lies lead/t^p from its value."""
    if r == math.inf:
        return Law(p, lead)
    if _equal(r, 1.0):
        return Law(1.0, lead, log=True)
    return Law(r) if r < 1 else Law(1.0, None if lead is None else lead * r / (r - 1))


def _remembered(model: Model, r: float) -> float | None:
    """Return lim t^r·b_t where stubbornness is proportional to degree: b_0 Γ(1 + β + r)/Γ(1 + β), β = offset/c."""
    schedule = model.pressure
    if not isinstance(schedule, Linear | Power):
        return None
    beta = schedule.offset / schedule.slope if isinstance(schedule, Linear) else 0.0
    d = model.network.degrees
    start = float(d @ (model.start_state - model.consensus_value) / d.sum())
    if beta == -1:
        return 0.0  # ρ_1 = 0: the first step forgets the start altogether
    return start * math.exp(math.lgamma(1 + beta + r) - math.lgamma(1 + beta))


def _variance(model: Model, p: float, share: float, r: float, gamma: float, sigma: float) -> Law | None:
    """Return the law of the variance, for steps share/t^p and noise of long-run deviation sigma·t^gamma."""
    if gamma == -math.inf:
        return None
    sigma2 = (sigma * _scale(model.noise.time_scale, gamma)) ** 2
    if isinstance(model.noise.temporal, Frozen):
        return _held_variance(r, gamma, sigma2)
    if r == math.inf:
        return Law(p - 2 * gamma, share / 2 * sigma2)
    gap = 2 * r - (1 - 2 * gamma)
    if _equal(2 * r, 1 - 2 * gamma):
        return Law(2 * r, r**2 * sigma2, log=True)
    return Law(2 * r) if gap < 0 else Law(1 - 2 * gamma, r**2 * sigma2 / gap)


def _held_variance(r: float, gamma: float, sigma2: float) -> Law:
    """Return the variance under a mask held for ever: the mode follows the masked opinions' own value."""
    if r == math.inf:
        return Law(-2 * gamma, sigma2)
    if _equal(r, -gamma):
        return Law(2 * r, log=True)
    return Law(2 * r) if r < -gamma else Law(-2 * gamma, sigma2 * (r / (r + gamma)) ** 2)


def _disagreement(model: Model, p: float, r: float, gamma: float, *, swings: bool) -> Law:
    """Return how fast agents close in on each other.

    Neighbours' averaging leaves deviations of order (1 + noise)/ρ_t. On a bipartite network the two sides also swing
    against each other, and this swing is forgotten, and driven by noise, exactly as the consensus mode is.
    """
    exponents = [p, p - gamma]
    if swings:
        exponents.append(r)
        if not isinstance(model.noise.temporal, Frozen):
            exponents.append(p / 2 - gamma)
    return Law(min(exponents))


def _equal(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-9)
