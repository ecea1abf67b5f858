"""How long agents stay sincere: what is left of their first opinion while it gives way to what they say."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from peerpressure.adaptation import Adaptation
from peerpressure.errors import ScheduleError
from peerpressure.model import Model, Vector
from peerpressure.theory.reduced import reduced
from peerpressure.theory.times import step_count

# Rounds that are looked at, however few are asked for, before a half-life is said to be infinite.
FARTHEST = 1_000_000


@final
@dataclass(frozen=True, eq=False)
class Sincerity:
    """The share Π_{s≤t}(1 − η_s) of its first opinion that an agent still holds of itself after round t.

    ``share`` has shape (steps + 1, agents), from time 0 on. ``half_life`` is the number of rounds after which less than
    half is left, ∞ where that does not happen within a million. ``information`` is Σ_t π_t² over all rounds for ever,
    with π_t the share before round t: an onlooker who sees all of an agent's rounds, each with noise of deviation σ,
    learns at most ``information``/σ² about its first opinion. It is ∞ where the sum diverges, nan where not known.
    """

    share: Vector
    half_life: Vector
    information: Vector

    def __repr__(self) -> str:
        low, high = self.half_life.min(), self.half_life.max()
        life = f"{low:g}" if low == high else f"{low:g}–{high:g}"
        return f"Sincerity(half-life {life} rounds, {self.share[-1].mean():.3g} left after {len(self.share) - 1:,})"


def sincerity(model: Model, steps: int) -> Sincerity:
    """Return how much of their first opinions agents still hold after each of ``steps`` rounds.

    >>> from peerpressure.networks import k2
    >>> kept = sincerity(Model(k2(), hidden=[0.0, 1.0], adaptation=Adaptation(0.5, [1.0, 0.0])), 3)
    >>> kept.share[:, 0], kept.half_life, kept.information
    (array([1.   , 0.5  , 0.25 , 0.125]), array([ 2., inf]), array([1.33333333,        inf]))
    """
    steps, model = step_count(steps), reduced(model)
    if model.adaptation is None:
        return Sincerity(np.ones((steps + 1, model.n)), np.full(model.n, math.inf), np.full(model.n, math.inf))
    # Agents of one susceptibility lose the same.
    factors, which = np.unique(model.adaptation.susceptibilities(model.n), return_inverse=True)
    rates = _rates(model.adaptation, steps)
    share = np.empty((steps + 1, factors.size))
    lives, totals = np.empty(factors.size), np.empty(factors.size)
    for k, factor in enumerate(factors):
        with np.errstate(divide="ignore"):
            kept = np.exp(np.concatenate([[0.0], np.cumsum(np.log1p(-factor * rates))]))
        share[:, k] = kept[: steps + 1]
        halved = np.flatnonzero(kept < 0.5)
        lives[k] = halved[0] if halved.size else math.inf
        totals[k] = _total(model.adaptation, float(factor), kept)
    return Sincerity(share[:, which], lives[which], totals[which])


def _rates(adaptation: Adaptation, steps: int) -> Vector:
    """Return the common rates of the rounds that are looked at, or of as many as are given."""
    try:
        return adaptation.pace(np.arange(1, max(steps, FARTHEST) + 1))
    except ScheduleError:
        return adaptation.pace(np.arange(1, steps + 1))


def _total(adaptation: Adaptation, factor: float, kept: Vector) -> float:
    """Return Σ π² for ever: what is summed so far, and a power law's rest.

    Where η ~ c/t, π² falls like t^(−2c); rates that fall more slowly leave nothing after so many rounds, and those that
    fall faster leave a part of every opinion for ever.
    """
    so_far = float(np.sum(kept[:-1] ** 2))
    growth, last = adaptation.rate.growth, kept.size - 1
    if factor == 0 or growth.exponent is None or growth.exponent < -1:
        return math.inf if factor == 0 or growth.exponent is not None else math.nan
    if growth.exponent > -1:
        return so_far
    fall = 2 * factor * float(adaptation.pace(last)) * last
    return so_far + last * float(kept[-1]) ** 2 / (fall - 1) if fall > 1 else math.inf
