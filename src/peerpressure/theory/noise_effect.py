"""What noise leaves behind once peer pressure has grown for ever."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.noises import Frozen
from peerpressure.schedules import estimate_growth
from peerpressure.theory.regime import Regime, tends_to_infinity

Times: TypeAlias = NDArray[np.float64]


class NoiseEffect(Enum):
    """What becomes of noise in the value that agents come to share."""

    NONE = "there is no noise"
    VANISHES = "noise averages out"
    STAYS = "the mask stays in the average"
    WANDERS = "noise outpaces the averaging"
    SCATTERS = "noise outgrows the pressure itself"
    UNKNOWN = "what becomes of the noise is not known"


def noise_effect(model: Model, regime: Regime) -> NoiseEffect:
    """Compare the growth of noise σ_t with that of pressure.

    Where Σ 1/ρ_t = ∞ the common value has a variance of the order of σ_t²/ρ_t, and single agents deviate from it by
    the order of σ_t/ρ_t.

    >>> from peerpressure.networks import k2
    >>> from peerpressure.noises import Gaussian
    >>> noise_effect(Model(k2(), hidden=[0, 1], noise=Gaussian(1.0, temporal="frozen")), Regime.LINEAR)
    <NoiseEffect.STAYS: 'the mask stays in the average'>
    """
    if model.noise.is_zero:
        return NoiseEffect.NONE
    growth = model.noise.time_scale.growth
    if growth.bounded:
        fades = growth.exponent is not None and growth.exponent < 0
        held = isinstance(model.noise.temporal, Frozen)
        return NoiseEffect.STAYS if held and not fades else NoiseEffect.VANISHES
    if growth.bounded is None or regime is Regime.UNKNOWN:
        return NoiseEffect.UNKNOWN
    return NoiseEffect.SCATTERS if regime is Regime.BOUNDED else _growing(model, regime)


def is_estimated(model: Model) -> bool:
    """Say whether the effect rests on values of the scale over time rather than on a known power."""
    growth = model.noise.time_scale.growth
    powers = growth.exponent is not None and model.pressure.growth.exponent is not None
    return not model.noise.is_zero and (growth.estimated or not (growth.bounded or powers))


def _growing(model: Model, regime: Regime) -> NoiseEffect:
    closes = _outgrows(model, 1.0)
    if not closes:
        return NoiseEffect.UNKNOWN if closes is None else NoiseEffect.SCATTERS
    if isinstance(model.noise.temporal, Frozen):
        return NoiseEffect.STAYS
    averages = _sums_up(model) if regime is Regime.FAST else _outgrows(model, 2.0)
    if averages is None:
        return NoiseEffect.UNKNOWN
    return NoiseEffect.VANISHES if averages else NoiseEffect.WANDERS


def _outgrows(model: Model, power: float) -> bool | None:
    """Say whether ρ_t/σ_t^power → ∞."""
    p, gamma = model.pressure.growth.exponent, model.noise.time_scale.growth.exponent
    if p is not None and gamma is not None:
        return p > power * gamma
    return tends_to_infinity(lambda t: _ratio(model, power, t))


def _sums_up(model: Model) -> bool | None:
    """Say whether Σ σ_t²/ρ_t² is finite, so that the value agreed on has a finite variance."""
    p, gamma = model.pressure.growth.exponent, model.noise.time_scale.growth.exponent
    if p is not None and gamma is not None:
        return 2 * (p - gamma) > 1
    diverges = estimate_growth(lambda t: _ratio(model, 1.0, t)).square_sum_diverges
    return None if diverges is None else not diverges


def _ratio(model: Model, power: float, t: Times) -> Times:
    # Logarithms, so that two schedules that both overflow still have a ratio.
    with np.errstate(all="ignore"):
        log_noise = model.noise.time_scale.log_pressure(t)
        return np.asarray(np.exp(model.pressure.log_pressure(t) - power * log_noise))
