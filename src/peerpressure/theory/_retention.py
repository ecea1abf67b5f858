"""Retention: the weight of the initial opinion x₀ that is left in an agent's own hidden opinion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from peerpressure.adaptation import Adaptation
from peerpressure.errors import InvalidInputError
from peerpressure.model import Model, Vector
from peerpressure.schedules import Table
from peerpressure.statespace import discrete_model
from peerpressure.theory._moments import step_count

# Steps, and numbers in all, that are followed before a half-life counts as infinite.
FARTHEST = 1_000_000
MOST_WORK = 2**24
BLOCK = 2**20
# A smaller share adds less than 1e-18 per step to a sum of squares that is at least 1.
GONE = 1e-9


@final
@dataclass(frozen=True, eq=False, repr=False)
class Retention:
    """The weight Π_{s≤t}(1 − η_s) of x₀ in an agent's own hidden opinion after step t.

    Attributes
    ----------
    share : array of shape (steps + 1, agents)
        The weights from time 0 on.
    half_life : array of shape (agents,)
        The number of steps after which less than half is left; ∞ where that does not happen in a million steps (fewer
        where agents differ by thousands of adaptation weights), or in a table of rates.
    information : array of shape (agents,)
        The sum over all steps of the square of the share with which an agent enters the step. An observer of all steps
        of an agent, each with noise of standard deviation σ, has at most ``information``/σ² Fisher information about
        x₀. It is ∞ where the sum diverges, nan where that is not known.
    """

    share: Vector
    half_life: Vector
    information: Vector

    def __repr__(self) -> str:
        low, high = self.half_life.min(), self.half_life.max()
        life = f"{low:g}" if low == high else f"{low:g}–{high:g}"
        return f"Retention(half-life {life} steps, {self.share[-1].mean():.3g} left after {len(self.share) - 1:,})"


def retention(model: Model, steps: int) -> Retention:
    """Return the weight of x₀ in each agent's own hidden opinion after each of ``steps`` steps.

    Parameters
    ----------
    model : Model
        The model; where hidden opinions are constant, all of x₀ is retained.
    steps : int
        The last step.

    Returns
    -------
    Retention
        Shares, half-lives and information of each agent.

    Examples
    --------
    >>> from peerpressure.networks import k2
    >>> kept = retention(Model(k2(), hidden=[0.0, 1.0], adaptation=Adaptation(0.5, [1.0, 0.0])), 3)
    >>> kept.share[:, 0], kept.half_life
    (array([1.   , 0.5  , 0.25 , 0.125]), array([ 2., inf]))
    >>> kept.information.round(6)
    array([1.333333,      inf])
    """
    model, steps = discrete_model(model), step_count(steps)
    if model.adaptation is None:
        return Retention(np.ones((steps + 1, model.n)), np.full(model.n, math.inf), np.full(model.n, math.inf))
    # Agents of one adaptation weight have the same shares.
    factors, which = np.unique(model.adaptation.adaptation_weights(model.n), return_inverse=True)
    share, lives, totals = _followed(model.adaptation, factors, steps)
    return Retention(share[:, which], lives[which], totals[which])


def _followed(adaptation: Adaptation, factors: Vector, steps: int) -> tuple[Vector, Vector, Vector]:
    """Return shares, half-lives and sums of squares for every factor, shapes (steps + 1, factors) and (factors,)."""
    share = np.ones((steps + 1, factors.size))
    lives, squares, left = np.full(factors.size, math.inf), np.zeros(factors.size), np.ones(factors.size)
    # Half-lives and information concern all time, so the recursion continues beyond the steps asked for.
    rates, done = _rates(adaptation, steps, factors.size), 0
    # In blocks, so that memory does not grow with the number of steps, and the loop stops once nothing is left.
    length = max(1, BLOCK // factors.size)
    while done < rates.size and (done < steps or np.any(left[factors > 0] > GONE)):
        block = rates[done : done + length]
        after = left * np.cumprod(1.0 - block[:, None] * factors, axis=0)
        # A step observes the share with which the agent enters it, hence the shift by one.
        before = np.concatenate([left[None], after[:-1]])
        squares += np.sum(before**2, axis=0)
        first = np.argmax(after < 0.5, axis=0)
        lives = np.where(np.isinf(lives) & np.any(after < 0.5, axis=0), done + first + 1, lives)
        end = min(done + block.size, steps)
        share[done + 1 : end + 1] = after[: max(end - done, 0)]
        left, done = after[-1], done + block.size
    return share, lives, squares + _rest(adaptation, factors, left, done)


def _rates(adaptation: Adaptation, steps: int, factors: int) -> Vector:
    """Return the common rates of the steps to follow, or of those asked for if later ones are not legal."""
    known = adaptation.rate.values.size if isinstance(adaptation.rate, Table) else FARTHEST
    try:
        # A user's formula may give rates above 1 at late times that no run ever reaches.
        return adaptation.pace(np.arange(1, max(steps, min(known, MOST_WORK // factors)) + 1))
    except InvalidInputError:
        return adaptation.pace(np.arange(1, steps + 1))


def _rest(adaptation: Adaptation, factors: Vector, left: Vector, done: int) -> Vector:
    """Return the sum of squared shares over the steps that were not looked at.

    Where η ~ c/t, squares fall like t^(−2c). Rates that fall more slowly leave nothing after so many steps; those that
    fall faster leave a part of every opinion for ever.
    """
    exponent = adaptation.rate.growth.exponent
    # η_t ≈ c/t gives c = η_t t; a slower decline makes c large and the remainder negligible, as it should be.
    fall = 2 * factors * float(adaptation.pace(done)) * done if exponent is not None and exponent >= -1 else 0 * factors
    with np.errstate(divide="ignore"):
        # ∫ (t/T)^(−fall) dt from T on; it diverges for fall ≤ 1.
        rest = np.where(fall > 1, done * left**2 / np.abs(fall - 1), math.nan if exponent is None else math.inf)
    return np.where(factors == 0, math.inf, np.where(left <= GONE, 0.0, rest))
