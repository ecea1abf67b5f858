"""Why a process ends as it does, in sentences with their numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from peerpressure.sde import SDE
from peerpressure.sde._moments import LARGEST_COVARIANCE, stationary
from peerpressure.theory._classification import NoiseEffect, Outcome
from peerpressure.theory._continuous_time import ContinuousFate, mode_noise
from peerpressure.theory._regime import Regime

# A bounded pressure that still changes is looked at here.
_LATE = 1e6


def continuous_reason_for(sde: SDE, fate: ContinuousFate) -> str:
    """Return the reason for an outcome.

    >>> from peerpressure.theory._continuous_time import continuous_fate
    >>> from peerpressure.model import Model
    >>> from peerpressure.networks import k2
    >>> sde = SDE(Model(k2(), hidden=[0.0, 1.0]))
    >>> print(continuous_reason_for(sde, continuous_fate(sde)))
    ρ_t grows like t, and Σ 1/t diverges while Σ 1/t² does not. Pressure grows without bound, yet ∫ dt/ρ diverges: the \
start is forgotten, and all agents come to v = 0.5. The bias falls like t^−1.
    """
    v = sde.consensus_value
    if fate.settled:
        return "All agents hold the same opinion without noise, so that there is nothing to agree on."
    basis = sde.pressure.growth.basis
    # A sentence may begin with ρ, which is no ρ any more as a capital.
    basis = basis if basis.startswith(("ρ", "log ρ")) else basis[0].upper() + basis[1:]
    if fate.balanced:
        text = "stubbornness is proportional to degree and the start averages to v, so that the average never leaves v"
        return f"{basis}. But without noise, {text} = {v:.6g}."
    return f"{basis}. {_REASONS[fate.outcome](sde, fate)}"


def _consensus(sde: SDE, fate: ContinuousFate) -> str:
    text = "Pressure grows without bound, yet ∫ dt/ρ diverges: the start is forgotten, and all agents come to "
    text += f"v = {sde.consensus_value:.6g}."
    if fate.bias is not None:
        text += f" The bias falls like {fate.bias}."
    if fate.variance is not None:
        text += f" Noise averages out, with a variance that falls like {fate.variance}."
    return text


def _biased_consensus(sde: SDE, fate: ContinuousFate) -> str:
    aside = f"v = {sde.consensus_value:.6g}"
    if fate.regime.reaches_value:
        text = "Noise grows too fast to be averaged out, σ_t²/ρ does not go to 0: agents come together, but on a value "
        return text + f"that keeps wandering about {aside}."
    text = "∫ dt/ρ is finite, so that start and early noise are never forgotten"
    if sde.network.is_bipartite:
        text += "; the swing between the network's two sides fades like e^(−2t) in continuous time"
    if fate.limit is None:
        bounded = (
            "whose variance grows without bound"
            if fate.noise is NoiseEffect.WANDERS
            else "that depends on start and noise"
        )
        return f"{text}. All agree, but on a value {bounded}, and not on {aside}."
    return f"{text}. All agree, but on {fate.limit}, while {aside}."


def _spread(sde: SDE, fate: ContinuousFate) -> str:
    if fate.regime is not Regime.BOUNDED:
        return "Noise grows at least as fast as pressure, so that agents never come together."
    text = "Agents settle around their fixed points (S + ρL)⁻¹S x₀"
    if sde.n <= LARGEST_COVARIANCE:
        mean, _ = stationary(sde, _LATE)
        text += f", which span {np.min(mean):.4g} to {np.max(mean):.4g}"
    if fate.noise is NoiseEffect.NONE:
        return f"{text}, and do not move."
    if fate.noise is NoiseEffect.SCATTERS:
        return f"{text}, with a scatter that grows as the noise does."
    relief, weight = sde.homogeneous(_LATE)
    kappa = sde.model.kappa
    drive = mode_noise(sde) * float(sde.noise_scale(_LATE))
    variance = kappa * relief / (2 * (kappa * relief + weight)) * drive**2
    return f"{text}; noise keeps their mean moving with a standard deviation of about {math.sqrt(variance):.2g}."


def _unknown(sde: SDE, fate: ContinuousFate) -> str:
    if fate.noise is NoiseEffect.UNKNOWN and fate.regime is not Regime.UNKNOWN:
        return "But how the noise grows over time is not known, and so the outcome is not either."
    return "What happens as t → ∞ is therefore not known."


_REASONS: Mapping[Outcome, Callable[[SDE, ContinuousFate], str]] = {
    Outcome.CONSENSUS: _consensus,
    Outcome.BIASED_CONSENSUS: _biased_consensus,
    Outcome.DISAGREEMENT: _spread,
    Outcome.UNKNOWN: _unknown,
}
