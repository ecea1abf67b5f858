"""Settling times: the steps from which on agents are close to each other, and to v."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from peerpressure.model import Model, Vector
from peerpressure.sde import SDE

# Tolerance as a share of the range of opinions, to one digit.
SHARE = 0.05


@final
@dataclass(frozen=True)
class Settling:
    """Steps from which on agents are within a tolerance of each other, and of v, up to the last step.

    Distances are root mean squares over the noise and over agents, or pairs of agents; they are exact, or bounded from
    below on large networks with noise. In continuous time they are those at the steps of the equation, and nothing is
    claimed about times in between.

    Attributes
    ----------
    tolerance : float
        The distance.
    steps : int
        The last step that is considered; nothing is claimed about later ones.
    each_other : int, optional
        First step from which on two agents, taken at random, are within the tolerance of each other; None if they are
        not at the last step.
    value : int, optional
        First step from which on an agent is within the tolerance of v; None if it is not at the last step.
    step_length : float, optional
        Length of a step in continuous time.
    is_bound : bool, default False
        Whether the agents may be close only later than at these steps: distances leave out noise of earlier steps.
    """

    tolerance: float
    steps: int
    each_other: int | None
    value: int | None
    step_length: float | None = None
    is_bound: bool = False


def usual_tolerance(model: Model | SDE) -> float | None:
    """Return 5 % of the range of hidden opinions and start, to one digit; None if all of them are equal.

    >>> from peerpressure.networks import k2
    >>> usual_tolerance(Model(k2(), hidden=[0.01, 0.98]))
    0.05
    """
    opinions = np.concatenate([model.x0, model.start_state])
    # One digit, because the range of random opinions is about a round number.
    return float(f"{SHARE * np.ptp(opinions):.0e}") or None


class SettlingWatch:
    """Records the last steps at which agents are further apart than a tolerance, from the law of every step.

    A smaller covariance than that of the model, in the order of symmetric matrices, bounds the distances from below.
    """

    def __init__(self, model: Model | SDE, tolerance: float, *, is_bound: bool = False) -> None:
        self.tolerance, self.is_bound = tolerance, is_bound
        self._step_length = model.step if isinstance(model, SDE) else None
        self._v = model.consensus_value
        # Before the start, so that agents who are always close have settled at step 0.
        self._apart = self._away = self._last = -1

    def __call__(self, t: int, mean: Vector, covariance: Vector | None = None) -> None:
        """Take the mean of the public opinions after step t, and their covariance, its diagonal if the rest is 0."""
        n, centred = mean.size, mean - mean.mean()
        total = shared = 0.0
        if covariance is not None:
            total = float(np.trace(covariance) if covariance.ndim == 2 else covariance.sum())
            shared = float(covariance.sum()) / n
        # The mean of (y_i − y_j)² over pairs is 2/(n − 1) times the sum of squares about the plain mean.
        pairs = 2 / (n - 1) * max(float(centred @ centred) + total - shared, 0.0)
        away = float(np.mean((mean - self._v) ** 2)) + total / n
        self._last = t
        # Not "above", so that what is not a number counts as apart.
        if not math.sqrt(pairs) <= self.tolerance:
            self._apart = t
        if not math.sqrt(away) <= self.tolerance:
            self._away = t

    @property
    def settling(self) -> Settling:
        """The settling times up to the last step."""
        each, value = (last + 1 if last < self._last else None for last in (self._apart, self._away))
        return Settling(self.tolerance, self._last, each, value, self._step_length, self.is_bound)
