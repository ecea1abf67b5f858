"""Retention: the weight of the initial opinion x₀ that is left in an agent's own hidden opinion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from peerpressure.adaptation import Adaptation
from peerpressure.errors import InvalidInputError
from peerpressure.model import Model, Vector
from peerpressure.progress import checkpoint
from peerpressure.schedules import Table
from peerpressure.statespace import discrete_model
from peerpressure.theory._moments import step_count

# Steps, and numbers in all, that are followed one by one; later ones are summed up by quadrature over log t.
FARTHEST = 1_000_000
MOST_WORK = 2**24
NODES = 20_001
LAST = 690.0
# Longer half-lives count as infinite: steps are no longer whole numbers in double precision.
FARTHEST_LIFE = 1e15
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
        The number of steps after which less than half is left, beyond a million steps to about 7 digits; ∞ where that
        does not happen in 10¹⁵ steps, or in a table of rates.
    information : array of shape (agents,)
        The sum over all steps of the square of the share with which an agent enters the step. An observer of all steps
        of an agent, each with noise of standard deviation σ, has at most ``information``/σ² Fisher information about
        x₀. It is ∞ where the sum diverges, nan where that is not known.

    See Also
    --------
    retention : Computes it.
    Adaptation : The rates η_t.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import retention
    >>> retention(Model(k2(), hidden=[0.0, 1.0], adaptation=0.1), 3).share[:, 0].round(3)
    array([1.   , 0.9  , 0.81 , 0.729])
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
        The last step, at least 1.

    Returns
    -------
    Retention
        Shares, half-lives and information of each agent.

    Raises
    ------
    InvalidInputError
        If ``steps`` is not a whole number of at least 1.

    See Also
    --------
    diagnose : Whether hidden opinions agree in the long run.
    recovery.information : What an observer learns of x₀.

    Examples
    --------
    >>> from peerpressure import Adaptation, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import retention
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
    later, rest = _later(adaptation, factors, left, done)
    return share, np.minimum(lives, later), squares + rest


def _rates(adaptation: Adaptation, steps: int, factors: int) -> Vector:
    """Return the common rates of the steps to follow, or of those asked for if later ones are not legal."""
    known = adaptation.rate.values.size if isinstance(adaptation.rate, Table) else FARTHEST
    try:
        # A user's formula may give rates above 1 at late times that no run ever reaches.
        return adaptation.pace(np.arange(1, max(steps, min(known, MOST_WORK // factors)) + 1))
    except InvalidInputError:
        return adaptation.pace(np.arange(1, steps + 1))


def _later(adaptation: Adaptation, factors: Vector, left: Vector, done: int) -> tuple[Vector, Vector]:
    """Return half-lives and sums of squared shares, from the steps after those that were followed.

    Shares are exp(−Λ) with Λ = −Σ log(1 − η_t), a sum that is an integral by the midpoint rule, over log t.
    """
    # Imported here, since it takes long to load and few adaptations need it.
    from scipy.integrate import cumulative_simpson

    lives, squares = np.full(factors.size, math.inf), np.zeros(factors.size)
    squares[factors == 0] = math.inf
    open_ended = np.flatnonzero((factors > 0) & (left > GONE))
    if isinstance(adaptation.rate, Table):
        squares[open_ended] = math.nan
        return lives, squares
    nodes = min(NODES, max(1001, MOST_WORK // factors.size))
    log_t = np.linspace(math.log(done + 0.5), LAST, nodes)
    times = np.exp(log_t)
    with np.errstate(all="ignore"):
        rates = adaptation.rate.pressure(times)
        for k in open_ended:
            checkpoint()
            sums = cumulative_simpson(-np.log1p(-rates * factors[k]) * times, x=log_t, initial=0.0)
            lives[k] = _first_below_half(left[k], sums, log_t)
            squares[k] = left[k] ** 2 * _sum_of_squares(adaptation, factors[k], sums, log_t)
    return lives, squares


def _first_below_half(left: float, sums: Vector, log_t: Vector) -> float:
    """Return the first step after which less than one half is left, where that is after the followed steps."""
    from scipy.interpolate import CubicSpline

    needed = math.log(2 * left)
    if needed < 0 or not sums[-1] > needed:
        return math.inf
    after = int(np.searchsorted(sums, needed))
    # Few nodes around the crossing, where sums are strictly increasing.
    near = slice(max(after - 3, 0), after + 2)
    # The integral up to t + ½ is the sum up to the step t.
    found = math.exp(float(CubicSpline(sums[near], log_t[near])(needed))) - 0.5
    return float(math.floor(found) + 1) if found < FARTHEST_LIFE else math.inf


def _sum_of_squares(adaptation: Adaptation, factor: float, sums: Vector, log_t: Vector) -> float:
    """Return the sum of exp(−2Λ) over later steps: ∞ where it diverges, nan where that is not known."""
    from scipy.integrate import simpson

    exponent, times = adaptation.rate.growth.exponent, np.exp(log_t)
    terms = np.exp(-2 * sums)
    # Where η ~ c/t, terms fall like t^(−2c), and the sum over all t converges for 2c > 1.
    fall = 2 * factor * float(adaptation.rate.pressure(times[:1])[0]) * float(times[0])
    if exponent is not None and (exponent < -1 or (exponent == -1 and fall <= 1)):
        return math.inf
    if exponent == -1:
        return float(times[0] / (fall - 1)) + 0.5
    total = float(simpson(terms * times, x=log_t)) + 0.5
    return total if terms[-1] * times[-1] <= GONE * total else math.nan
