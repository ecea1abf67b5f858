"""Which of the ends a model meets."""

from __future__ import annotations

import numpy as np

from peerpressure.model import Model
from peerpressure.theory.ends import Fate, Outcome
from peerpressure.theory.extensions.fate import extended_fate
from peerpressure.theory.noise_effect import NoiseEffect, is_estimated, noise_effect
from peerpressure.theory.reduced import reduced
from peerpressure.theory.regime import Regime, regime_of
from peerpressure.theory.scalar import is_proportional


def fate(model: Model) -> Fate:
    """Decide the outcome from the growth of pressure and noise and from the parity of the network.

    Where the network changes, or hidden opinions adapt, there is more to look at, and more that can happen.

    >>> from peerpressure.networks import k2
    >>> fate(Model(k2(), hidden=[0, 1])).outcome
    <Outcome.CONSENSUS: 'consensus on v'>
    """
    model = reduced(model)
    if not model.is_plain:
        return extended_fate(model)
    growth = model.pressure.growth
    regime = regime_of(model.pressure, growth)
    noise = noise_effect(model, regime)
    settled = is_settled(model, regime)
    balanced = regime is Regime.FAST and _is_balanced(model)
    outcome = Outcome.CONSENSUS if settled or balanced else _outcome(model, regime, noise)
    return Fate(outcome, regime, noise, growth, settled, balanced, growth.estimated or is_estimated(model))


def _outcome(model: Model, regime: Regime, noise: NoiseEffect) -> Outcome:
    if regime is Regime.UNKNOWN or noise is NoiseEffect.UNKNOWN:
        return Outcome.UNKNOWN
    if regime is Regime.BOUNDED or noise is NoiseEffect.SCATTERS:
        return Outcome.DISAGREEMENT
    if regime is Regime.FAST or noise is NoiseEffect.WANDERS:
        # Neither the start nor the noise is forgotten: it lives on in the mean, and on two sides in their swing too.
        return Outcome.OSCILLATION if model.network.is_bipartite else Outcome.BIASED_CONSENSUS
    return Outcome.BIASED_CONSENSUS if noise is NoiseEffect.STAYS else Outcome.CONSENSUS


def is_settled(model: Model, regime: Regime) -> bool:
    """Say whether all hold one opinion without noise, so that nothing is left for pressure to do."""
    agreed = model.noise.is_zero and np.ptp(model.x0) == 0
    starts_agreed = bool(np.all(model.start_state == model.x0))
    return bool(agreed and (starts_agreed or regime is Regime.BOUNDED))


def _is_balanced(model: Model) -> bool:
    """Say whether s ∝ d without noise, where the mean and the swing between sides obey recursions of their own.

    Neither is then driven by anything but its own share of start and opinions, and both shares are 0 here.
    """
    if not (model.noise.is_zero and is_proportional(model)):
        return False
    d, sides = model.network.degrees / model.network.degrees.sum(), model.network.sides
    weights = [d] if sides is None else [d, np.where(sides, -d, d)]
    off = np.stack([model.x0, model.start_state]) - model.consensus_value
    return bool(np.all(np.abs(off @ np.stack(weights).T) <= 1e-12 * np.abs(off).max()))
