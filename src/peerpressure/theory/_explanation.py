"""Why a model meets its fate, in two or three sentences with the numbers used."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from peerpressure.model import Model
from peerpressure.noise import AR1, NoNoise
from peerpressure.schedules import Constant, Table
from peerpressure.theory._classification import Fate, NoiseEffect, Outcome
from peerpressure.theory._consensus_limit import ConsensusLimit
from peerpressure.theory._extension_reasons import extended_reason
from peerpressure.theory._fixed_point import fixed_point
from peerpressure.theory._limits import long_run_factor, mode_noise, predicted_limit, start_weight
from peerpressure.theory._regime import Regime

# A bounded pressure that still changes is looked at here, if no horizon is given.
_LATE = 1_000_000
# Share of the range of opinions to which limits are worked out here; they are printed with few digits.
_TOLERANCE = 1e-3


def reason_for(
    model: Model, fate: Fate, horizon: int | None = None, consensus_limit: ConsensusLimit | None = None
) -> str:
    """Return the reason for an outcome; for an unknown one, what the horizon shows instead."""
    if fate.settled:
        return "All agents hold the same opinion without noise, so that there is nothing to agree on."
    if fate.setting is not None:
        return f"{_sentence(fate.growth.basis)} {extended_reason(model, fate, consensus_limit)}"
    if fate.balanced:
        text = "stubbornness is proportional to degree and the start averages to v, so that the average never leaves v"
        return f"{_sentence(fate.growth.basis)} But without noise, {text} = {model.consensus_value:.6g}."
    sentences = _REASONS[fate.outcome](model, fate, horizon)
    return f"{_sentence(fate.growth.basis)} {sentences}"


def _consensus(model: Model, fate: Fate, horizon: int | None) -> str:
    slow = "Pressure grows without bound, yet slowly enough that the start is forgotten"
    value = f"so that all agents come to v = {model.consensus_value:.6g}."
    return f"{slow}, {value}{_pace(model, fate)}{_averaging(model, fate)}"


def _pace(model: Model, fate: Fate) -> str:
    if fate.regime is Regime.MARGINAL:
        return " The start fades like exp(−κ Σ 1/ρ_t), for which no power of t is claimed."
    if fate.regime is Regime.SLOW:
        return " The common value follows its fixed point, with a bias of the order of 1/ρ_t."
    return ""


def _averaging(model: Model, fate: Fate) -> str:
    if fate.noise is NoiseEffect.NONE:
        return ""
    if fate.regime is Regime.SLOW:
        text = " Noise averages out slowly: its variance in the common value is about κσ̄²/(2ρ_t)"
    else:
        text = " Noise averages out in the common value"
    text += f", where one step has σ̄ = {mode_noise(model):.3g}"
    if isinstance(model.noise.temporal, AR1):
        text += f" and AR(1) memory multiplies the variance by {long_run_factor(model):.3g}"
    return text + "."


def _biased_consensus(model: Model, fate: Fate, horizon: int | None) -> str:
    if fate.regime is not Regime.FAST:
        return _masked(model, fate)
    text = "Start and early noise are never forgotten, and an odd cycle in the network lets all agents agree: on "
    return text + _limit_in_words(model, fate)


def _masked(model: Model, fate: Fate) -> str:
    if fate.noise is NoiseEffect.WANDERS:
        text = "Noise grows too fast to be averaged out, σ_t²/ρ_t does not go to 0: agents come together, but on a "
        return text + f"value that keeps wandering about v = {model.consensus_value:.6g}."
    text = "Each agent's mask is drawn once and held, so that all agree on the value of the masked opinions, "
    remains = f"v = {model.consensus_value:.6g} plus an error of standard deviation {mode_noise(model):.3g}"
    grows = model.noise.time_scale.growth.bounded is False
    return text + remains + (" that grows with the noise." if grows else " that no waiting removes.")


def _oscillation(model: Model, fate: Fate, horizon: int | None) -> str:
    if fate.regime is not Regime.FAST:
        text = "Noise grows too fast to be averaged out, σ_t²/ρ_t does not go to 0, and the network has two sides "
        return text + f"that keep swinging against each other about v = {model.consensus_value:.6g}."
    text = "Start and early noise are never forgotten, and the network is bipartite: its two sides keep swapping "
    return text + _limit_in_words(model, fate)


def _spread(model: Model, fate: Fate, horizon: int | None) -> str:
    if fate.regime is not Regime.BOUNDED:
        return "Noise grows at least as fast as pressure, so that agents never come together."
    t = 1 if isinstance(model.pressure, Constant) else horizon or _LATE
    point = fixed_point(model, t)
    text = f"Agents settle around their fixed points (S + ρL)⁻¹S x₀, which span {point.min():.4g} to {point.max():.4g}"
    if fate.noise is NoiseEffect.NONE:
        return text + " and do not move."
    if fate.noise is NoiseEffect.SCATTERS:
        return text + ", with a scatter that grows as the noise does."
    return text + _jitter(model, fate, t)


def _jitter(model: Model, fate: Fate, t: int) -> str:
    if fate.noise is NoiseEffect.STAYS:
        return ", moved once and for all by the masks."
    rho = float(model.pressure(t))
    variance = model.kappa / (2 * rho + model.kappa) * mode_noise(model) ** 2 * long_run_factor(model)
    return f"; noise keeps their mean moving with a standard deviation of about {math.sqrt(variance):.2g}."


def _unknown(model: Model, fate: Fate, horizon: int | None) -> str:
    text = "What happens as t → ∞ is therefore not known."
    if fate.noise is NoiseEffect.UNKNOWN and fate.regime is not Regime.UNKNOWN:
        text = "But how the noise grows over time is not, and so the outcome is not known."
    steps = horizon or (model.pressure.values.size if isinstance(model.pressure, Table) else None)
    if steps is None:
        return text + " Ask for a number of steps to see where agents are by then."
    first, last = (float(value) for value in model.pressure(np.array([1, steps])))
    weight = start_weight(model, steps)
    seen = f"Over {steps:,} steps ρ_t goes from {first:.4g} to {last:.4g}"
    return f"{text} {seen}, and the start keeps a weight of {weight:.2g} in the common value."


def _limit_in_words(model: Model, fate: Fate) -> str:
    if fate.noise is NoiseEffect.WANDERS:
        return "values whose variance grows without bound."
    aside = f"v = {model.consensus_value:.6g}"
    if fate.noise is not NoiseEffect.NONE and model.noise.time_scale.growth.bounded is not True:
        return f"values that depend on start and noise and not on {aside} alone."
    quiet = replace(model, noise=NoNoise()) if fate.noise is NoiseEffect.NONE else model
    limit = predicted_limit(quiet, tolerance=_TOLERANCE)
    values = [f"{m:.4g} ± {std:.2g}" if std else f"{m:.4g}" for m, std in zip(limit.mean, limit.std, strict=True)]
    return f"{' and '.join(values)}, while {aside}."


def _sentence(basis: str) -> str:
    # A sentence may begin with ρ, which is no ρ any more as a capital.
    return (basis if basis.startswith(("ρ", "log ρ")) else basis[0].upper() + basis[1:]) + "."


_REASONS: Mapping[Outcome, Callable[[Model, Fate, int | None], str]] = {
    Outcome.CONSENSUS: _consensus,
    Outcome.BIASED_CONSENSUS: _biased_consensus,
    Outcome.OSCILLATION: _oscillation,
    Outcome.DISAGREEMENT: _spread,
    Outcome.UNKNOWN: _unknown,
}
