"""The fates of a network under peer pressure, and which of them a model meets."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import final

import numpy as np

from ..model import Model
from ..schedules import Growth
from .noise_effect import NoiseEffect, is_estimated, noise_effect
from .regime import Regime, regime_of


class Outcome(Enum):
    """What becomes of the agents' public opinions as t → ∞."""

    CONSENSUS = "consensus on v"
    WRONG_VALUE = "consensus on a wrong value"
    OSCILLATION = "permanent oscillation between the two sides"
    SPREAD = "stationary spread around the Friedkin–Johnsen point"
    UNKNOWN = "unknown"


@final
@dataclass(frozen=True)
class Fate:
    """An outcome with the facts that it was decided from."""

    outcome: Outcome
    regime: Regime
    noise: NoiseEffect
    growth: Growth
    settled: bool
    estimated: bool


def fate(model: Model) -> Fate:
    """Decide the outcome from the growth of pressure and noise and from the parity of the network.

    >>> from peerpressure.networks import k2
    >>> fate(Model(k2(), hidden=[0, 1])).outcome
    <Outcome.CONSENSUS: 'consensus on v'>
    """
    growth = model.pressure.growth
    regime = regime_of(model.pressure, growth)
    noise = noise_effect(model, regime)
    settled = _is_settled(model, regime)
    outcome = Outcome.CONSENSUS if settled else _outcome(model, regime, noise)
    return Fate(outcome, regime, noise, growth, settled, growth.estimated or is_estimated(model))


def _outcome(model: Model, regime: Regime, noise: NoiseEffect) -> Outcome:
    if Regime.UNKNOWN is regime or noise is NoiseEffect.UNKNOWN:
        return Outcome.UNKNOWN
    if regime is Regime.BOUNDED or noise is NoiseEffect.SCATTERS:
        return Outcome.SPREAD
    if regime is Regime.FAST or noise is NoiseEffect.WANDERS:
        # Neither the start nor the noise is forgotten: it lives on in the mean, and on two sides in their swing too.
        return Outcome.OSCILLATION if model.network.is_bipartite else Outcome.WRONG_VALUE
    return Outcome.WRONG_VALUE if noise is NoiseEffect.STAYS else Outcome.CONSENSUS


def _is_settled(model: Model, regime: Regime) -> bool:
    """Say whether all hold one opinion without noise, so that nothing is left for pressure to do."""
    agreed = model.noise.is_silent and np.ptp(model.x0) == 0
    starts_agreed = bool(np.all(model.start_state == model.x0))
    return bool(agreed and (starts_agreed or regime is Regime.BOUNDED))
