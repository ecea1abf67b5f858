"""Adaptation (internalisation): hidden opinions that slowly follow public ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import AdaptationError, ScheduleError, message
from peerpressure.model.step import Array
from peerpressure.schedules import Constant, Schedule, as_schedule, schedule_from_dict
from peerpressure.support.parameters import refuse_labels
from peerpressure.support.results import one_line

Weights: TypeAlias = float | Sequence[float] | NDArray[np.float64]


@final
@one_line
@dataclass(frozen=True, eq=False, init=False)
class Adaptation:
    """Adaptation of hidden opinions to public ones, x_{t+1} = x_t + η_t (y_t − x_t) from x_1 = x₀ on.

    Social science calls this internalisation. η_t of an agent is the rate at t times the agent's weight.

    Parameters
    ----------
    rate : Schedule, float, str or sequence of float
        The common rate η_t from step 1 on, from 0 (constant opinions) to 1 (the hidden opinion becomes the public one).
    adaptation_weight : float or sequence of float, default 1.0
        A factor from 0 to 1, one for all or one for each agent.

    Raises
    ------
    AdaptationError
        If a rate or weight is not a number from 0 to 1. Rates of later steps are checked when they are read.

    See Also
    --------
    Model : Takes an adaptation, or its rate alone.
    theory.retention : Weight of the initial opinions that adaptation leaves.

    Examples
    --------
    >>> from peerpressure import Adaptation
    >>> Adaptation("0.1/t", adaptation_weight=[1.0, 0.5]).at(2, agents=2)
    array([0.05 , 0.025])
    """

    rate: Schedule
    adaptation_weight: float | Array

    def __init__(self, rate: Schedule | float | str | Sequence[float], adaptation_weight: Weights = 1.0) -> None:
        object.__setattr__(self, "rate", as_schedule(rate))
        object.__setattr__(self, "adaptation_weight", _as_weights(adaptation_weight))
        # An error in the first rate is raised here and not in a run.
        if not isinstance(rate, Sequence) or isinstance(rate, str):
            self.pace(1)

    @property
    def is_zero(self) -> bool:
        """Whether η_t is 0 for every agent at all times, which means constant hidden opinions."""
        return self.rate == Constant(0.0) or not np.any(self.adaptation_weight)

    def pace(self, times: ArrayLike) -> Array:
        """Return the common factor of η at the given times.

        Parameters
        ----------
        times : int or array_like of int
            Steps t ≥ 1.

        Returns
        -------
        array of float
            Rates from 0 to 1, in the shape of ``times``.

        Raises
        ------
        AdaptationError
            If a rate is not a number from 0 to 1.
        """
        rule = "hidden opinions may adapt by a share η_t from 0 to 1 in a step"
        try:
            rate = np.asarray(self.rate(times), dtype=np.float64)
        # Schedules are written for peer pressure; the message must name the rate instead.
        except ScheduleError as error:
            got = f"η_t = {self.rate.formula_text}, of which {error}"
            raise AdaptationError(message(rule, got=got, remedy="change the rate")) from None
        # Negative rates are rejected by the schedule; a negated comparison catches NaN as well.
        legal = rate <= 1
        if not (legal.all() if isinstance(legal, np.ndarray) else legal):
            bad = np.flatnonzero(~np.atleast_1d(legal))
            time = np.atleast_1d(np.asarray(times)).flat[bad[0]]
            got = f"η = {rate.flat[bad[0]]:.6g} at t = {time}"
            raise AdaptationError(message(rule, got=got, remedy="lower the rate; small values are meant, such as 0.01"))
        return rate

    def adaptation_weights(self, agents: int) -> Array:
        """Return the factor of each agent, shape (agents,).

        Parameters
        ----------
        agents : int
            Number of agents of the model.

        Returns
        -------
        array of shape (agents,)
            Factors from 0 to 1.
        """
        return np.broadcast_to(np.asarray(self.adaptation_weight, dtype=np.float64), (agents,))

    def at(self, t: int, agents: int) -> Array:
        """Return η_t of each agent, shape (agents,).

        Parameters
        ----------
        t : int
            Step, t ≥ 1.
        agents : int
            Number of agents of the model.

        Returns
        -------
        array of shape (agents,)
            Rates from 0 to 1.

        Raises
        ------
        AdaptationError
            If the rate at t is not a number from 0 to 1.
        """
        # Both factors lie in [0, 1], and so does η.
        pace, weight = float(self.pace(t)), self.adaptation_weight
        return np.full(agents, weight * pace) if isinstance(weight, float) else self.adaptation_weights(agents) * pace

    def to_dict(self) -> dict[str, Any]:
        """Return plain values from which ``from_dict`` builds an equal adaptation.

        Returns
        -------
        dict
            Keys ``rate``, a schedule as ``Schedule.to_dict`` describes it, and ``adaptation_weight``.
        """
        factor = self.adaptation_weight
        return {
            "rate": self.rate.to_dict(),
            "adaptation_weight": factor.tolist() if isinstance(factor, np.ndarray) else factor,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Adaptation:
        """Return the adaptation that ``to_dict`` described.

        Parameters
        ----------
        values : mapping
            What ``to_dict`` returned.

        Returns
        -------
        Adaptation
            An equal adaptation.
        """
        return cls(schedule_from_dict(values["rate"]), values["adaptation_weight"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Adaptation) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        # Weights may be an array, which has no hash; equal adaptations have equal rates.
        return hash(self.rate)

    def __str__(self) -> str:
        factor = np.asarray(self.adaptation_weight)
        text = f"η_t = {self.rate.formula_text}"
        if factor.ndim:
            return f"{text}, times {factor.min():.4g}–{factor.max():.4g} by agent"
        return text if factor == 1 else f"{text}, times {factor:.4g}"


def as_adaptation(value: object) -> Adaptation | None:
    """Return an adaptation as it is; a number, schedule or formula as the rate of all; None for constant opinions."""
    if value is None or isinstance(value, Adaptation):
        return value
    return Adaptation(value)  # type: ignore[arg-type]  # it raises for what is no schedule


def _as_weights(value: Weights) -> float | Array:
    refuse_labels(value, "adaptation_weight", AdaptationError)
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        # Fails the test of the range below, which gives one message for all wrong values.
        array = np.array(np.nan)
    if array.ndim > 1 or array.size == 0 or not np.all((array >= 0) & (array <= 1)):
        rule = "adaptation_weight must be a number from 0 to 1, or one for each agent"
        raise AdaptationError(message(rule, got=repr(value)[:80], remedy="use 0 for an agent who never adapts"))
    if array.ndim == 0:
        return float(array)
    # Read-only, because models and their results share it.
    array.flags.writeable = False
    return array
