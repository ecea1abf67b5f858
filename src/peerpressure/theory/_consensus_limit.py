"""What is kept of a state in the value on which agents land, and what later steps add to it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.integrate import simpson

from peerpressure.adaptation import Adaptation
from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model, Vector
from peerpressure.noise import Frozen, NoNoise
from peerpressure.theory._classification import LATE, Bond, Fate, Group, NoiseEffect, Outcome, Setting, fate
from peerpressure.theory._limits import FARTHEST, NODES, mode_noise, predicted_limit, tail_after
from peerpressure.theory._moments import adjoint_moments
from peerpressure.theory._recurrence import Mode
from peerpressure.theory._regime import Regime, reduced

if TYPE_CHECKING:
    import pandas as pd


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


# Where all land together: the common value in the end, its mean and its scatter.

FIRST_HORIZON = 64
# Multiplications that a consensus limit is worth, some seconds, and what a step costs in any case.
MOST_WORK = 1e9
PER_STEP = 3e4
# Below this share of opinions, changes are those of rounding.
ROUNDING = 1e-12


@final
@dataclass(frozen=True)
class ConsensusLimit:
    """The value on which all agents land: its mean and standard deviation over the noise, ∞ where it wanders for ever.

    Closed forms have horizon 0 and no residual. Else the run was computed exactly to t = ``horizon`` and carried on to
    the limit, and ``residual`` estimates the error that this leaves.
    """

    mean: float
    std: float
    horizon: int = 0
    residual: float = 0.0

    def __str__(self) -> str:
        return f"{self.mean:.4g}" + (f" ± {self.std:.2g}" if 0 < self.std < math.inf else "")


@final
@dataclass(frozen=True, eq=False)
class ConsensusLimitCurve:
    """Consensus limits over the rate η at which hidden opinions adapt; all of shape (rates,)."""

    rates: Vector
    mean: Vector
    std: Vector
    residual: Vector
    consensus_value: float

    def to_dataframe(self) -> pd.DataFrame:
        """Return one row for each rate."""
        import pandas as pd

        columns = {"rate": self.rates, "mean": self.mean, "std": self.std, "residual": self.residual}
        return pd.DataFrame(columns)


def consensus_limit(model: Model, *, tolerance: float = 1e-6) -> ConsensusLimit:
    """Return the value on which all agents land where they come together, be it v or not.

    Where hidden opinions adapt for ever, nothing holds the value but what pressure and rate would keep if they
    froze: m + Σ w x/(ρη), over its weights, which is followed until it stays. The horizon doubles until the value
    changes by less than ``tolerance`` times the range of opinions, or until some seconds' work is spent, which
    ``residual`` shows.

    >>> from peerpressure.networks import k2
    >>> print(consensus_limit(Model(k2(), hidden=[0.0, 1.0], stubbornness=[1.0, 3.0], pressure=2.0, adaptation=0.1)))
    0.7273
    """
    model = reduced(model)
    found = fate(model)
    if model.is_plain:
        return _plain(model, found, tolerance)
    assert found.setting is not None
    if found.settled:
        return ConsensusLimit(model.consensus_value, 0.0)
    if found.setting.bond is not Bond.ONE:
        raise _refusal(found, found.setting.bond.value)
    return group_limit(model, found, found.setting, found.setting.groups[0], tolerance=tolerance)


def group_limit(model: Model, found: Fate, setting: Setting, group: Group, *, tolerance: float) -> ConsensusLimit:
    """Return the value on which one group of agents lands that comes together."""
    return _held(model, setting, group, found) or _followed(model, setting, group, found, tolerance)


def with_group_values(model: Model, found: Fate, *, most: int, tolerance: float) -> Fate:
    """Return a fate in which the values of the largest groups are worked out, where each comes together by itself."""
    setting = found.setting
    if setting is None or setting.bond is not Bond.GROUPS:
        return found
    groups, quiet = list(setting.groups), replace(model, noise=NoNoise())
    for number, group in enumerate(groups[:most]):
        if group.value is None:
            value = group_limit(quiet, found, setting, group, tolerance=tolerance).mean
            groups[number] = replace(group, value=value)
    return replace(found, setting=replace(setting, groups=tuple(groups)))


def consensus_limit_curve(model: Model, rates: Iterable[float], *, tolerance: float = 1e-4) -> ConsensusLimitCurve:
    """Return the consensus limit at each of these constant rates η; adaptation weights of agents are kept.

    At η = 0 it is v where pressure grows slowly enough.

    >>> from peerpressure.networks import k2
    >>> model = Model(k2(), hidden=[0.0, 1.0], stubbornness=[1.0, 3.0])
    >>> consensus_limit_curve(model, [0.0, 0.01, 0.1, 1.0]).mean.round(3)
    array([0.75 , 0.744, 0.72 , 0.657])
    """
    chosen = np.array(list(rates), dtype=np.float64)
    adaptation_weight = 1.0 if model.adaptation is None else model.adaptation.adaptation_weight
    found = [
        consensus_limit(replace(model, adaptation=Adaptation(float(rate), adaptation_weight)), tolerance=tolerance)
        for rate in chosen
    ]
    mean, std, residual = (np.array([getattr(one, name) for one in found]) for name in ("mean", "std", "residual"))
    return ConsensusLimitCurve(chosen, mean, std, residual, model.consensus_value)


def _plain(model: Model, found: Fate, tolerance: float) -> ConsensusLimit:
    """Return the consensus limit of the paper's own model: v, or what ``predicted_limit`` says."""
    if found.settled or found.balanced:
        return ConsensusLimit(model.consensus_value, 0.0)
    if found.regime is Regime.FAST and found.outcome is Outcome.BIASED_CONSENSUS:
        limit = predicted_limit(model, tolerance=tolerance)
        return ConsensusLimit(float(limit.mean[0]), float(limit.std[0]), limit.horizon, limit.residual)
    if not found.regime.reaches_value or found.outcome in (Outcome.UNKNOWN, Outcome.DISAGREEMENT):
        raise _refusal(found)
    if found.noise is NoiseEffect.WANDERS or (found.noise is NoiseEffect.STAYS and _noise_grows(model)):
        return ConsensusLimit(model.consensus_value, math.inf)
    mask = mode_noise(model) * late_scale(model) if found.noise is NoiseEffect.STAYS else 0.0
    return ConsensusLimit(model.consensus_value, mask)


def _held(model: Model, setting: Setting, group: Group, found: Fate) -> ConsensusLimit | None:
    """Return the consensus limit in closed form where opinions that never move draw all to it."""
    if group.value is None:
        return None
    isolated = setting.rounds is not None and setting.rounds.isolated
    if found.noise is NoiseEffect.NONE or (found.noise is NoiseEffect.VANISHES and setting.holds and not isolated):
        return ConsensusLimit(group.value, 0.0)
    if not (setting.holds and found.regime.reaches_value):
        return None
    if found.noise is NoiseEffect.WANDERS or _noise_grows(model):
        return ConsensusLimit(group.value, math.inf)
    if group.mode is None:
        return None
    # Masks of all count; those who adapt believe their own in the end, and only the others hold against them.
    w = group.mode.influence
    held = w.sum() if setting.adaptation is None or not setting.adapts else w[~setting.adaptation.adapts].sum()
    return ConsensusLimit(
        group.value, float(np.linalg.norm(w * model.noise.deviations(model.n)) / held) * late_scale(model)
    )


def _followed(model: Model, setting: Setting, group: Group, found: Fate, tolerance: float) -> ConsensusLimit:
    """Follow what is kept while pressure and rate stay, over horizons that double, and carry it on to the limit."""
    assert setting.rounds is not None
    count, begin = setting.rounds.count, setting.rounds.begin
    horizon = max(count * math.ceil(FIRST_HORIZON / count), begin)
    opinions = np.concatenate([model.x0, model.start_state])
    scale = float(np.ptp(opinions)) + float(model.noise.deviations(model.n).max())
    enough = tolerance * scale + ROUNDING * float(np.abs(opinions).max())
    most = max(4 * horizon, MOST_WORK / (PER_STEP + model.network.adjacency.nnz + 20 * model.n))
    wanders = found.noise in (NoiseEffect.WANDERS, NoiseEffect.SCATTERS) or _noise_grows(model)
    model = replace(model, noise=NoNoise()) if wanders else model
    seen: list[Vector] = []
    limits: list[Vector] = []
    while True:
        kept = kept_at(model, setting, group, found, horizon)
        sums = adjoint_moments(model, kept.weights, np.array([horizon]), kept.carry)
        seen.append(np.array([sums.mean[0, 0], sums.variance[0, 0] + kept.variance]))
        limits.append(_extrapolated(seen))
        if len(limits) > 2:
            mean, variance = limits[-1]
            roots = [math.sqrt(max(limit[1], 0.0)) for limit in limits[-2:]]
            residual = abs(float(mean - limits[-2][0])) + abs(roots[1] - roots[0])
            if residual <= enough or 2 * horizon > most:
                std = math.inf if wanders else math.sqrt(max(variance, 0.0))
                return ConsensusLimit(float(mean), std, horizon, residual)
        horizon *= 2


def _extrapolated(seen: list[Vector]) -> Vector:
    """Return the limit of a sequence whose last differences shrink by a steady factor, as those of a power law do."""
    last = seen[-1]
    if len(seen) < 3:
        return last
    before, now = seen[-2] - seen[-3], last - seen[-2]
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = now / before
        return np.where((factor > 0) & (factor < 0.9), last + now * factor / (1 - factor), last)


def _noise_grows(model: Model) -> bool:
    return not model.noise.is_zero and model.noise.time_scale.growth.bounded is False


def _refusal(found: Fate, why: str | None = None) -> InvalidInputError:
    rule = "only agents who come together land on one value"
    got = f"{found.outcome.value}" + f" ({why})" * (why is not None)
    return InvalidInputError(message(rule, got=got, remedy="see diagnose(model) and moments(model, steps)"))
