"""What becomes of the process as t → ∞, decided from the growth of pressure and noise.

Near agreement the common mode m = Σ d y/Σ d has bias β and variance V with

    β′ = −a (β − K/ρ),        V′ = −2aV + (a σ̄_t)²,        a = κ/(κ + ρ),

the continuous twins of the discrete model's recursions. So ∫ dt/ρ = ∞ is needed to reach v, and for monotone ρ that is
Σ 1/ρ_t = ∞; for ρ = c t, r = κ/c and σ̄_t ~ t^γ the bias falls like t^(−min(1, r)) and the variance like
t^(−min(1 − 2γ, 2r)); for ρ = c t^p with p < 1 they are K/ρ and κσ̄_t²/(2ρ). Noise as printed is the model's with σ/s in
place of σ, and the laws are the same.

What differs is the swing between the two sides of a bipartite network: B = I − C has the eigenvalue 2 where C has −1,
so that the swing fades like e^(−2t). There is no permanent oscillation in continuous time; a pressure that is too
fast ends on a biased value on every network.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from peerpressure.schedules import Growth, Schedule
from peerpressure.sde import SDE
from peerpressure.theory.continuous_time.limit import AgreedValue, agreed_value, mode_noise
from peerpressure.theory.ends import Outcome
from peerpressure.theory.noise_effect import NoiseEffect, is_estimated, noise_effect
from peerpressure.theory.outcome import is_settled
from peerpressure.theory.rates import Law
from peerpressure.theory.regime import Regime, regime_of
from peerpressure.theory.scalar import is_proportional

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
