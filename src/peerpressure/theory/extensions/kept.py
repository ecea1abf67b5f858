"""What is kept of a state in the value on which agents land, and what later steps add to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.integrate import simpson

from peerpressure.model import Model, Vector
from peerpressure.noises import Frozen
from peerpressure.theory.ends import Fate
from peerpressure.theory.extensions.adaptation import LATE
from peerpressure.theory.extensions.bonds import Group, Setting
from peerpressure.theory.extensions.modes import Mode
from peerpressure.theory.noise_effect import NoiseEffect
from peerpressure.theory.regime import Regime
from peerpressure.theory.tail import FARTHEST, NODES, tail_after


@final
@dataclass(frozen=True, eq=False)
class Kept:
    """The consensus limit as a weighted sum of what agents show and hold after some round, and of later noise.

    ``weights`` has shape (1, 2·agents) and adds up to 1. Noise that is held for ever goes on with the weights
    ``carry``, shape (1, agents), in units of a draw; noise drawn anew adds ``variance``.
    """

    weights: Vector
    carry: Vector | None = None
    variance: float = 0.0


def kept_at(model: Model, setting: Setting, group: Group, fate: Fate, t: int) -> Kept:
    """Return what is kept of the state after step t.

    Where all adapt for ever it is the sum that pressure and rate would keep if they froze, m + Σ w x/(ρη); where
    opinions come to rest, their value if the start is forgotten; and where it is not, what the common value has
    become by then and what opinions at rest still add to it.
    """
    assert setting.rounds is not None
    n, mode = model.n, group.mode
    if mode is None:
        # Of agents who agree any will do; one who is alone shows its noise, but holds its opinion.
        chosen = np.zeros(2 * n)
        chosen[group.agents + (n if group.agents.size == 1 else 0)] = 1 / group.agents.size
        return Kept(chosen[None])
    shown = mode.weights[setting.rounds.index(t)]
    if setting.adapts and not setting.holds:
        return _frozen(model, mode, shown, t)
    at_rest = mode.influence
    if setting.adaptation is not None and setting.adapts:
        at_rest = np.where(setting.adaptation.adapts, 0.0, at_rest)
    if fate.regime is Regime.FAST:
        return _unforgotten(model, mode, shown, at_rest, t)
    # What is heard of an opinion at rest is x + u, masks and all.
    held = at_rest / at_rest.sum()
    masks = held * model.noise.deviations(n) * late_scale(model)
    stays = fate.noise is NoiseEffect.STAYS
    return Kept(np.concatenate([np.zeros(n), held])[None], masks[None] if stays else None)


def late_scale(model: Model) -> float:
    """Return the scale of the noise at late times."""
    return float(model.noise.scale(LATE))


def _frozen(model: Model, mode: Mode, shown: Vector, t: int) -> Kept:
    """Return the sum that is kept at the pressure and the rate of step t, and the noise of later steps in it."""
    assert model.adaptation is not None
    factors = model.adaptation.adaptation_weights(model.n)
    # Multiplied by ρη, which may be as large or as small as it likes.
    relief, weight = (float(part) for part in model.pressure.homogeneous(t))
    both = np.concatenate([weight * float(model.adaptation.pace(t)) * shown, relief * mode.influence / factors])
    weights = (both / both.sum())[None]
    if model.noise.is_zero:
        return Kept(weights)
    once, twice = _later_steps(model, float(np.sum(mode.influence / factors)), t)
    if isinstance(model.noise.temporal, Frozen):
        return Kept(weights, once * (mode.influence * model.noise.deviations(model.n))[None])
    return Kept(weights, variance=twice * (mode.noise(model) * mode.kappa) ** 2)


def _later_steps(model: Model, held: float, t: int) -> tuple[float, float]:
    """Return Σ b and Σ b² over all steps after t, where a step moves the sum by b Σ w ε with b = 1/(ρ + Σ w/η).

    Sums over steps are integrals by the midpoint rule, over log t. One that diverges comes out large, and no one asks.
    """
    assert model.adaptation is not None
    log_t = np.linspace(np.log(t + 0.5), FARTHEST, NODES)
    times = np.exp(log_t)
    with np.errstate(over="ignore", divide="ignore"):
        size = model.noise.time_scale.pressure(times) / (
            model.pressure.pressure(times) + held / model.adaptation.rate.pressure(times)
        )
        return float(simpson(size * times, x=log_t)), float(simpson(size**2 * times, x=log_t))


def _unforgotten(model: Model, mode: Mode, shown: Vector, at_rest: Vector, t: int) -> Kept:
    """Carry the common value through all later steps, in which it is drawn to opinions at rest at the rate κ/ρ."""
    kappa = float(at_rest.sum())
    tail = tail_after(model, t, kappa)
    weights = np.concatenate([tail.keep * shown, tail.give * at_rest / kappa])[None]
    if model.noise.is_zero:
        return Kept(weights)
    if isinstance(model.noise.temporal, Frozen):
        return Kept(weights, tail.held * (mode.influence / kappa * model.noise.deviations(model.n))[None])
    return Kept(weights, variance=tail.squares * (mode.noise(model) * mode.kappa / kappa) ** 2)
