"""What becomes of agents whose network changes, or whose hidden opinions adapt: without noise, then with it."""

from __future__ import annotations

import numpy as np

from peerpressure.model import Model
from peerpressure.theory.ends import Fate, Outcome
from peerpressure.theory.extensions.bonds import SAME, Bond, Setting, setting_of
from peerpressure.theory.noise_effect import NoiseEffect, is_estimated, noise_effect
from peerpressure.theory.regime import Regime, regime_of


def extended_fate(model: Model) -> Fate:
    """Decide the outcome of a model that is not plain."""
    growth = model.pressure.growth
    regime = regime_of(model.pressure, growth)
    setting = setting_of(model, regime)
    noise = _noise(model, regime, setting)
    settled = bool(model.noise.is_zero and np.ptp(np.concatenate([model.x0, model.start_state])) == 0)
    balanced = _is_balanced(model)
    outcome = Outcome.CONSENSUS if settled else _outcome(model, setting, regime, noise, balanced=balanced)
    moved = setting.adaptation is not None and setting.adaptation.estimated
    estimated = growth.estimated or is_estimated(model) or moved
    return Fate(outcome, regime, noise, growth, settled, balanced, estimated, setting)


def _noise(model: Model, regime: Regime, setting: Setting) -> NoiseEffect:
    found = noise_effect(model, regime)
    if setting.holds or setting.adaptation is None or found in (NoiseEffect.NONE, NoiseEffect.UNKNOWN):
        return found
    if found is NoiseEffect.SCATTERS and regime is not Regime.BOUNDED:
        return found
    if setting.adaptation.wanders is None:
        return NoiseEffect.UNKNOWN
    # Where nothing holds the common value, noise is never averaged out: it stays in it, or moves it for ever.
    return NoiseEffect.WANDERS if setting.adaptation.wanders else NoiseEffect.STAYS


def _outcome(model: Model, setting: Setting, regime: Regime, noise: NoiseEffect, *, balanced: bool) -> Outcome:
    if setting.bond is Bond.UNKNOWN or noise is NoiseEffect.UNKNOWN:
        return Outcome.UNKNOWN
    if setting.bond is Bond.APART or noise is NoiseEffect.SCATTERS or setting.scattered:
        return Outcome.DISAGREEMENT
    if noise is NoiseEffect.WANDERS and not setting.holds:
        return Outcome.RANDOM_WALK
    assert setting.rounds is not None
    if setting.bond is Bond.SWAPS:
        return Outcome.OSCILLATION if setting.rounds.count == 1 else Outcome.PERIODIC
    if noise is not NoiseEffect.NONE and (regime is Regime.BOUNDED or setting.rounds.isolated):
        # Opinions come together, but agents go on showing noise of their own.
        return Outcome.DISAGREEMENT
    return Outcome.CLUSTERS if setting.bond is Bond.GROUPS else _agreement(model, setting, noise, balanced=balanced)


def _agreement(model: Model, setting: Setting, noise: NoiseEffect, *, balanced: bool) -> Outcome:
    value = setting.groups[0].value
    right = balanced if value is None else abs(value - model.consensus_value) <= SAME * float(np.ptp(model.x0))
    moved = noise in (NoiseEffect.WANDERS, NoiseEffect.STAYS)
    return Outcome.CONSENSUS if right and not moved else Outcome.BIASED_CONSENSUS


def _is_balanced(model: Model) -> bool:
    """Say whether Σ d y and Σ s x obey a recursion of their own that starts on v, so that both stay there.

    That takes a constant network with s ∝ d, and agents who all adapt alike.
    """
    if (
        model.temporal_network is not None
        or model.adaptation is None
        or np.ptp(np.asarray(model.adaptation.adaptation_weight))
    ):
        return False
    d = model.network.degrees
    ratio, off = model.s / d, model.start_state - model.consensus_value
    return bool(np.ptp(ratio) <= 1e-12 * ratio.max() and abs(d @ off) <= 1e-12 * (d @ np.abs(off)))
