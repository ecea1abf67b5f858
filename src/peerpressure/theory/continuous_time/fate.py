"""What becomes of the process as t → ∞, decided from the growth of pressure and noise.

Near agreement the common mode m = Σ d y/Σ d has bias β and variance V with

    β′ = −a (β − K/ρ),        V′ = −2aV + (a σ̄_t)²,        a = κ/(κ + ρ),

the continuous twins of the discrete model's recursions. So ∫ dt/ρ = ∞ is needed to reach v, and for monotone ρ that is
Σ 1/ρ_t = ∞; for ρ = c t, r = κ/c and σ̄_t ~ t^γ the bias falls like t^(−min(1, r)) and the variance like
t^(−min(1 − 2γ, 2r)); for ρ = c t^p with p < 1 they are K/ρ and κσ̄_t²/(2ρ). Noise as printed is the model's with σ/s in
place of σ, and the laws are the same.

What differs is the swing between the two sides of a bipartite network: B = I − C has the eigenvalue 2 where C has −1,
so that the swing fades like e^(−2t). There is no permanent oscillation in continuous time; a pressure that is too
fast ends on a wrong value on every network.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, final

import numpy as np

from peerpressure.diffusion import Diffusion
from peerpressure.model import Vector
from peerpressure.schedules import Growth, Schedule, estimate_growth
from peerpressure.theory.continuous_time.limit import AgreedValue, agreed_value, mode_noise
from peerpressure.theory.rates import Law

Outcome: TypeAlias = Literal["CONSENSUS", "WRONG_VALUE", "SPREAD", "UNKNOWN"]
Pace: TypeAlias = Literal["bounded", "slow", "fast", "unknown"]
Effect: TypeAlias = Literal["none", "vanishes", "wanders", "scatters", "unknown"]

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
    pace: Pace
    noise: Effect
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
        return None if self.outcome == "UNKNOWN" else self.outcome != "SPREAD"

    @property
    def reaches_value(self) -> bool | None:
        """Whether that value is v."""
        return None if self.outcome == "UNKNOWN" else self.outcome == "CONSENSUS"


def continuous_fate(diffusion: Diffusion, *, tolerance: float = 1e-3) -> ContinuousFate:
    """Decide what becomes of a process; ``tolerance`` is the share of the range of opinions to which a limit is solved.

    >>> from peerpressure.model import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.schedules import Power
    >>> continuous_fate(Diffusion(Model(k2(), hidden=[0, 1]))).outcome
    'CONSENSUS'
    >>> continuous_fate(Diffusion(Model(k2(), hidden=[0, 1], stubbornness=[1, 3], pressure=Power(2)))).outcome
    'WRONG_VALUE'
    """
    growth = diffusion.pressure.growth
    pace, settled = _pace(growth), _is_settled(diffusion, growth)
    noise = _noise_effect(diffusion, pace)
    balanced = pace == "fast" and _is_balanced(diffusion)
    outcome = "CONSENSUS" if settled or balanced else _outcome(pace, noise)
    ends = outcome == "WRONG_VALUE" and pace == "fast" and diffusion.noise.over_time.growth.bounded
    bias, variance, disagreement = _laws(diffusion, growth) if pace == "slow" else (None, None, None)
    return ContinuousFate(
        outcome=outcome,
        pace=pace,
        noise=noise,
        settled=settled,
        balanced=balanced,
        estimated=growth.estimated or (noise != "none" and diffusion.noise.over_time.growth.estimated),
        limit=agreed_value(diffusion, tolerance=tolerance) if ends else None,
        bias=bias,
        variance=variance,
        disagreement=disagreement,
    )


def _outcome(pace: Pace, noise: Effect) -> Outcome:
    if "unknown" in (pace, noise):
        return "UNKNOWN"
    if pace == "bounded" or noise == "scatters":
        return "SPREAD"
    return "WRONG_VALUE" if pace == "fast" or noise == "wanders" else "CONSENSUS"


def _pace(growth: Growth) -> Pace:
    if growth.reciprocal_sum_diverges is False:
        return "fast"
    if growth.bounded:
        return "bounded"
    return "unknown" if growth.bounded is None or growth.reciprocal_sum_diverges is None else "slow"


def _is_settled(diffusion: Diffusion, growth: Growth) -> bool:
    """Say whether all hold one opinion without noise, so that nothing is left for pressure to do."""
    agreed = diffusion.noise.is_silent and np.ptp(diffusion.x0) == 0
    return bool(agreed and (growth.bounded or np.all(diffusion.start_state == diffusion.x0)))


def _is_balanced(diffusion: Diffusion) -> bool:
    """Say whether s ∝ d without noise and Σ d y₀ = v Σ d: then (κ + ρ) m′ = κ (v − m) exactly, and m never leaves v."""
    if not (diffusion.noise.is_silent and _is_proportional(diffusion)):
        return False
    off = diffusion.start_state - diffusion.consensus_value
    return bool(abs(diffusion.network.degrees @ off) <= 1e-12 * (diffusion.network.degrees @ np.abs(off)))


def _is_proportional(diffusion: Diffusion) -> bool:
    ratio = diffusion.s / diffusion.network.degrees
    return bool(np.ptp(ratio) <= 1e-12 * ratio.max())


def _noise_effect(diffusion: Diffusion, pace: Pace) -> Effect:
    """Compare σ_t with ρ: single agents scatter by σ_t/ρ, and the common value has a variance like σ_t²/ρ."""
    growth = diffusion.noise.over_time.growth
    if diffusion.noise.is_silent:
        return "none"
    if growth.bounded:
        return "vanishes"
    if growth.bounded is None or pace == "unknown":
        return "unknown"
    closes = False if pace == "bounded" else _outgrows(diffusion, 1.0)
    averages = closes and (_sums_up(diffusion) if pace == "fast" else _outgrows(diffusion, 2.0))
    if closes is None or averages is None:
        return "unknown"
    return "vanishes" if averages else "wanders" if closes else "scatters"


def _outgrows(diffusion: Diffusion, power: float) -> bool | None:
    """Say whether ρ/σ_t^power → ∞."""
    p, gamma = diffusion.pressure.growth.exponent, diffusion.noise.over_time.growth.exponent
    if p is not None and gamma is not None:
        return p > power * gamma
    bounded = estimate_growth(lambda t: _ratio(diffusion, power, t)).bounded
    return None if bounded is None else not bounded


def _sums_up(diffusion: Diffusion) -> bool | None:
    """Say whether ∫ σ_t²/ρ² dt is finite, so that the value agreed on has a finite variance."""
    p, gamma = diffusion.pressure.growth.exponent, diffusion.noise.over_time.growth.exponent
    if p is not None and gamma is not None:
        return 2 * (p - gamma) > 1
    diverges = estimate_growth(lambda t: _ratio(diffusion, 1.0, t)).square_sum_diverges
    return None if diverges is None else not diverges


def _ratio(diffusion: Diffusion, power: float, t: Vector) -> Vector:
    # Logarithms, so that two schedules that both overflow still have a ratio.
    with np.errstate(all="ignore"):
        log_noise = diffusion.noise.over_time.log_pressure(t)
        return np.asarray(np.exp(diffusion.pressure.log_pressure(t) - power * log_noise))


def _laws(diffusion: Diffusion, growth: Growth) -> tuple[Law | None, Law | None, Law | None]:
    """Return the laws of bias, variance and disagreement under ρ ~ c t^p with 0 < p ≤ 1."""
    p, silent = growth.exponent, diffusion.noise.is_silent
    if p is None or p <= 0:
        return None, None, None
    c = growth.slope or _scale(diffusion.pressure, p)
    r = diffusion.model.kappa / c if p == 1 else math.inf
    gamma = -math.inf if silent else diffusion.noise.over_time.growth.exponent
    variance = None if silent or gamma is None else _variance(diffusion, p, c, r, gamma)
    return _bias(diffusion, p, r), variance, None if gamma is None else Law(min(p, p - gamma))


def _bias(diffusion: Diffusion, p: float, r: float) -> Law:
    if r == math.inf:
        return Law(p)
    if _is_proportional(diffusion):
        # Nothing drives the mode away from v, so that only the start has to be forgotten.
        return Law(r)
    return Law(min(1.0, r), log=math.isclose(r, 1.0, rel_tol=1e-9))


def _variance(diffusion: Diffusion, p: float, c: float, r: float, gamma: float) -> Law:
    drive = (mode_noise(diffusion) * _scale(diffusion.noise.over_time, gamma)) ** 2
    if r == math.inf:
        return Law(p - 2 * gamma, diffusion.model.kappa / (2 * c) * drive)
    if math.isclose(2 * r, 1 - 2 * gamma, rel_tol=1e-9):
        return Law(2 * r, r**2 * drive, log=True)
    gap = 2 * r - (1 - 2 * gamma)
    return Law(2 * r) if gap < 0 else Law(1 - 2 * gamma, r**2 * drive / gap)


def _scale(schedule: Schedule, exponent: float) -> float:
    """Return c of c·t^exponent."""
    return float(np.exp(schedule.log(_FAR) - exponent * math.log(_FAR)))
