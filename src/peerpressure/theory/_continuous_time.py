"""Where agents end under a pressure so fast that ∫ dt/ρ converges and the start is never forgotten.

All agents come to the common mode m = Σ d y/Σ d. Once they agree, m′ = a (v − m) + a σ̄ w′ with a = κ/(κ + ρ). Up to a
horizon the mode's law is solved exactly from the whole equation; after it, from this one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Vector
from peerpressure.schedules import Growth, Schedule
from peerpressure.sde import SDE
from peerpressure.sde._moments import moments_of
from peerpressure.theory._classification import NoiseEffect, Outcome, is_estimated, is_settled, noise_effect
from peerpressure.theory._limits import is_proportional
from peerpressure.theory._rates import Law
from peerpressure.theory._regime import Regime, regime_of

FIRST_HORIZON = 32.0
MOST_WORK = 1e8  # units of time times (edges + agents), some ten seconds
PER_STEP = 5_000  # edges that a step costs in any case
FARTHEST = 700.0  # log t of the farthest time that a double can hold with room to spare
NODES = 4_001


@final
@dataclass(frozen=True)
class AgreedValue:
    """The law of the value on which all agents end: its mean and standard deviation.

    It was solved exactly up to ``horizon``; ``residual`` says how much the answer changed when that was doubled last.
    """

    mean: float
    std: float
    horizon: float
    residual: float

    def __str__(self) -> str:
        return f"{self.mean:.4g} ± {self.std:.2g}" if self.std else f"{self.mean:.4g}"


def agreed_value(sde: SDE, *, tolerance: float = 1e-6) -> AgreedValue:
    """Return where a process ends whose ∫ dt/ρ converges.

    The horizon doubles until the answer changes by less than ``tolerance`` times the range of opinions, or until ten
    seconds' work is spent, which ``residual`` shows.

    >>> from peerpressure.model import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.schedules import Power
    >>> model = Model(k2(), hidden=[0, 1], stubbornness=[1, 3], pressure=Power(2))
    >>> print(agreed_value(SDE(model)))  # while v = 0.75
    0.6892
    """
    _refuse_other_fates(sde)
    model = sde.model
    most = MOST_WORK / (PER_STEP + model.network.adjacency.nnz + 10 * model.n)
    opinions = np.concatenate([sde.x0, sde.start_state])
    scale = float(np.ptp(opinions)) + float(sde.deviations.max())
    horizon, before = FIRST_HORIZON, _law(sde, FIRST_HORIZON)
    while True:
        horizon *= 2
        law = _law(sde, horizon)
        residual = float(np.abs(law - before).sum())
        if residual <= tolerance * scale or 2 * horizon > most:
            return AgreedValue(float(law[0]), float(law[1]), horizon, residual)
        before = law


def _law(sde: SDE, horizon: float) -> Vector:
    """Return mean and standard deviation of the value agreed on, from the mode at the horizon."""
    degrees = sde.network.degrees
    mode = moments_of(sde, degrees / degrees.sum(), horizon)
    change, squares = _after(sde, horizon)
    v, keep = sde.consensus_value, float(np.exp(-change))
    mean = v + keep * (mode.mean[0, 0] - v)
    return np.array([mean, np.sqrt(keep**2 * mode.variance[0, 0] + squares * mode_noise(sde) ** 2)])


def mode_noise(sde: SDE) -> float:
    """Return σ̄ = √(Σ s²σ²)/Σ s with σ the deviations before the gain: how noise drives the common mode."""
    weights = sde.s / sde.s.max()
    return float(np.linalg.norm(weights * sde.deviations) / weights.sum())


def _after(sde: SDE, horizon: float) -> tuple[float, float]:
    """Return ∫ a dt and the sum of squares ∫ (a exp(−∫ a))² dt of the noise, over all time after the horizon."""
    from scipy.integrate import cumulative_simpson

    kappa = sde.model.kappa
    log_t = np.linspace(np.log(horizon), FARTHEST, NODES)
    # Fine where the integrand is: pressure that outgrows every power leaves nothing after a few units of log t.
    log_t = log_t[0] + (log_t - log_t[0]) ** 3 / (log_t[-1] - log_t[0]) ** 2
    t = np.exp(log_t)
    relief, weight = sde.homogeneous(t)
    rates = kappa * relief / (kappa * relief + weight) * t
    gathered = np.asarray(cumulative_simpson(rates, x=log_t, initial=0.0))
    kept = rates * np.exp(gathered - gathered[-1]) * sde.noise_scale(t)
    squares = float(cumulative_simpson(kept**2 / t, x=log_t, initial=0.0)[-1]) if not sde.noise.is_zero else 0.0
    return float(gathered[-1]), squares


def _refuse_other_fates(sde: SDE) -> None:
    growth = sde.pressure.growth
    if growth.reciprocal_sum_diverges is not False:
        rule = "only a process whose ∫ dt/ρ converges ends on a value of its own"
        remedy = "see continuous_fate, or moments_at for a finite time"
        got = f"{sde.pressure} ({growth.basis})"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))
    if not sde.noise.is_zero and not sde.noise.time_scale.growth.bounded:
        rule = "a limit is worked out for noise whose scale over time stays bounded"
        remedy = "use moments_of at a finite time"
        raise InvalidInputError(message(rule, got=str(sde.noise), remedy=remedy))


# What becomes of the process as t → ∞, decided from the growth of pressure and noise.
#
# Near agreement the common mode m = Σ d y/Σ d has bias β and variance V with
#
#     β′ = −a (β − K/ρ),        V′ = −2aV + (a σ̄_t)²,        a = κ/(κ + ρ),
#
# the continuous twins of the discrete model's recursions. So ∫ dt/ρ = ∞ is needed to reach v, and for monotone ρ that
# is Σ 1/ρ_t = ∞; for ρ = c t, r = κ/c and σ̄_t ~ t^γ the bias falls like t^(−min(1, r)) and the variance like t^(−min(1
# − 2γ, 2r)); for ρ = c t^p with p < 1 they are K/ρ and κσ̄_t²/(2ρ). Noise as printed is the model's with σ/s in place
# of σ, and the laws are the same.
#
# What differs is the swing between the two sides of a bipartite network: B = I − C has the eigenvalue 2 where C has −1,
# so that the swing fades like e^(−2t). There is no permanent oscillation in continuous time; a pressure that is too
# fast ends on a biased value on every network.

_FAR = 1e100  # where a power law has long swallowed its corrections


@final
@dataclass(frozen=True)
class ContinuousFate:
    """An outcome with the facts behind it; ``outcome`` is one of the discrete model's, OSCILLATION excepted.

    ``agrees`` says whether all agents end on one value, ``reaches_value`` whether that is v; both are None where
    nothing is known. ``limit`` is where too fast a pressure ends. ``bias`` and ``variance`` are the laws by which the
    common mode comes to v, ``disagreement`` that by which agents come to each other; None where no power law holds.
    """

    outcome: Outcome
    regime: Regime
    noise: NoiseEffect
    settled: bool
    balanced: bool
    estimated: bool
    limit: AgreedValue | None = None
    bias: Law | None = None
    variance: Law | None = None
    disagreement: Law | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether all agents come to show one value."""
        return None if self.outcome is Outcome.UNKNOWN else self.outcome is not Outcome.DISAGREEMENT

    @property
    def reaches_value(self) -> bool | None:
        """Whether that value is v."""
        return None if self.outcome is Outcome.UNKNOWN else self.outcome is Outcome.CONSENSUS


def continuous_fate(sde: SDE, *, tolerance: float = 1e-3) -> ContinuousFate:
    """Decide what becomes of a process; ``tolerance`` is the share of the range of opinions to which a limit is solved.

    >>> from peerpressure.model import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.schedules import Power
    >>> continuous_fate(SDE(Model(k2(), hidden=[0, 1]))).outcome
    <Outcome.CONSENSUS: 'consensus on v'>
    >>> continuous_fate(SDE(Model(k2(), hidden=[0, 1], stubbornness=[1, 3], pressure=Power(2)))).outcome
    <Outcome.BIASED_CONSENSUS: 'biased consensus'>
    """
    model, growth = sde.model, sde.pressure.growth
    regime = regime_of(model.pressure, growth)
    noise, settled = noise_effect(model, regime), is_settled(model, regime)
    balanced = regime is Regime.FAST and _is_balanced(sde)
    outcome = Outcome.CONSENSUS if settled or balanced else _outcome(regime, noise)
    ends = outcome is Outcome.BIASED_CONSENSUS and regime is Regime.FAST and model.noise.time_scale.growth.bounded
    bias, variance, disagreement = _laws(sde, growth) if regime.reaches_value else (None, None, None)
    return ContinuousFate(
        outcome=outcome,
        regime=regime,
        noise=noise,
        settled=settled,
        balanced=balanced,
        estimated=growth.estimated or is_estimated(model),
        limit=agreed_value(sde, tolerance=tolerance) if ends else None,
        bias=bias,
        variance=variance,
        disagreement=disagreement,
    )


def _outcome(regime: Regime, noise: NoiseEffect) -> Outcome:
    if regime is Regime.UNKNOWN or noise is NoiseEffect.UNKNOWN:
        return Outcome.UNKNOWN
    if regime is Regime.BOUNDED or noise is NoiseEffect.SCATTERS:
        return Outcome.DISAGREEMENT
    return Outcome.BIASED_CONSENSUS if regime is Regime.FAST or noise is NoiseEffect.WANDERS else Outcome.CONSENSUS


def _is_balanced(sde: SDE) -> bool:
    """Say whether s ∝ d without noise and Σ d y₀ = v Σ d: then (κ + ρ) m′ = κ (v − m) exactly, and m never leaves v."""
    if not (sde.noise.is_zero and is_proportional(sde.model)):
        return False
    off = sde.start_state - sde.consensus_value
    return bool(abs(sde.network.degrees @ off) <= 1e-12 * (sde.network.degrees @ np.abs(off)))


def _laws(sde: SDE, growth: Growth) -> tuple[Law | None, Law | None, Law | None]:
    """Return the laws of bias, variance and disagreement under ρ ~ c t^p with 0 < p ≤ 1."""
    p, silent = growth.exponent, sde.noise.is_zero
    if p is None or p <= 0:
        return None, None, None
    c = growth.slope or _scale(sde.pressure, p)
    r = sde.model.kappa / c if p == 1 else math.inf
    gamma = -math.inf if silent else sde.noise.time_scale.growth.exponent
    variance = None if silent or gamma is None else _variance(sde, p, c, r, gamma)
    return _bias(sde, p, r), variance, None if gamma is None else Law(min(p, p - gamma))


def _bias(sde: SDE, p: float, r: float) -> Law:
    if r == math.inf:
        return Law(p)
    if is_proportional(sde.model):
        # Nothing drives the mode away from v, so that only the start has to be forgotten.
        return Law(r)
    return Law(min(1.0, r), log=math.isclose(r, 1.0, rel_tol=1e-9))


def _variance(sde: SDE, p: float, c: float, r: float, gamma: float) -> Law:
    drive = (mode_noise(sde) * _scale(sde.noise.time_scale, gamma)) ** 2
    if r == math.inf:
        return Law(p - 2 * gamma, sde.model.kappa / (2 * c) * drive)
    if math.isclose(2 * r, 1 - 2 * gamma, rel_tol=1e-9):
        return Law(2 * r, r**2 * drive, log=True)
    gap = 2 * r - (1 - 2 * gamma)
    return Law(2 * r) if gap < 0 else Law(1 - 2 * gamma, r**2 * drive / gap)


def _scale(schedule: Schedule, exponent: float) -> float:
    """Return c of c·t^exponent."""
    return float(np.exp(schedule.log(_FAR) - exponent * math.log(_FAR)))
