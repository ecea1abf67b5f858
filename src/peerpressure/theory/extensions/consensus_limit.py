"""Where all land together: the common value in the end, its mean and its scatter."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from peerpressure.adaptation import Adaptation
from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model, Vector
from peerpressure.noises import NoNoise
from peerpressure.theory.adjoint import run_backwards
from peerpressure.theory.ends import Fate, Outcome
from peerpressure.theory.extensions.bonds import Bond, Group, Setting
from peerpressure.theory.extensions.kept import kept_at, late_scale
from peerpressure.theory.limits import predicted_limit
from peerpressure.theory.noise_effect import NoiseEffect
from peerpressure.theory.outcome import fate
from peerpressure.theory.reduced import reduced
from peerpressure.theory.regime import Regime
from peerpressure.theory.scalar import mode_noise

if TYPE_CHECKING:
    import pandas as pd

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
        sums = run_backwards(model, kept.weights, np.array([horizon]), kept.carry)
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
    return InvalidInputError(complain(rule, got=got, remedy="see diagnose(model) and moments(model, steps)"))
