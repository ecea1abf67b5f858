"""The abstract schedule: what every peer pressure ρ_t offers, and its growth, proved by its envelope.

Consensus depends on three facts: whether ρ_t is bounded, whether Σ 1/ρ_t diverges (which reaching the consensus value
requires) and whether Σ 1/ρ_t² diverges (noise averages out if it converges).
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import ScheduleError, message
from peerpressure.schedules.envelopes import Envelope, Sum, decided, envelope_of
from peerpressure.support.formula import Expression
from peerpressure.support.parameters import Parameter
from peerpressure.support.results import one_line
from peerpressure.support.text import curve, html_sketch, html_table

Array = NDArray[np.float64]

_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Schedule(ABC):
    """Peer pressure ρ_t ≥ 0 as a function of time.

    A member of the family is a frozen dataclass. It defines `pressure`, `log_pressure`, `growth` and `formula_text`,
    and declares its parameters; the other methods follow. Every method takes a scalar or an array of times, integer or
    real, and returns an array of the same shape.

    Attributes
    ----------
    kind : str
        Name of the member in scenario files and stored runs.
    title : str
        Name of the member for a label.
    parameters : tuple of Parameter
        Declaration of the constructor's arguments.

    See Also
    --------
    peerpressure.schedules.SCHEDULES : Table of all members.
    as_schedule : Converts numbers, formulas and sequences.

    Examples
    --------
    >>> from peerpressure.schedules import SCHEDULES, Linear, Schedule
    >>> isinstance(Linear(), Schedule), list(SCHEDULES)[:3]
    (True, ['linear', 'power', 'logarithmic'])
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]] = ()

    def __post_init__(self) -> None:
        """Check the declared parameters, and store them as plain numbers."""
        for one in self.parameters:
            value = one.check(getattr(self, one.name), ScheduleError, owner=type(self).__name__)
            # Plain numbers make schedules that were given 2 and np.float64(2) equal, in files as well.
            object.__setattr__(self, one.name, value)

    @abstractmethod
    def pressure(self, t: Array) -> Array:
        """Return ρ_t unchecked; inf where it overflows a double.

        Parameters
        ----------
        t : array of float
            Times, t ≥ 0.

        Returns
        -------
        array of float
            Pressures, in the shape of ``t``.
        """

    @abstractmethod
    def log_pressure(self, t: Array) -> Array:
        """Return log ρ_t unchecked, finite even where ρ_t overflows.

        Parameters
        ----------
        t : array of float
            Times, t ≥ 0.

        Returns
        -------
        array of float
            Logarithms, in the shape of ``t``.
        """

    @property
    @abstractmethod
    def growth(self) -> Growth:
        """Growth of ρ_t, as far as consensus depends on it."""

    @property
    @abstractmethod
    def formula_text(self) -> str:
        """Right-hand side of ρ_t = …, for a reader."""

    @final
    def __str__(self) -> str:
        return f"ρ_t = {self.formula_text}"

    @final
    def _repr_html_(self) -> str:
        growth = self.growth
        known = {True: "diverges", False: "converges", None: "unknown"}
        rows = [("pressure", str(self)), ("growth", growth.basis), ("Σ 1/ρ_t", known[growth.reciprocal_sum_diverges])]
        steps = np.arange(1.0, self._sketched + 1)
        with np.errstate(all="ignore"):
            # Unchecked, because a formula need not be legal at all of these steps.
            rho = self.pressure(steps)
        sketch = html_sketch([curve(steps, rho)], f"ρ_t at steps 1 to {self._sketched:,}")
        return f"<div>{html_table(rows, f'Peer pressure: {self.title.lower()}')}{sketch}</div>"

    @property
    def _sketched(self) -> int:
        """Number of steps in the sketch of a notebook."""
        return 100

    @final
    def __call__(self, t: ArrayLike) -> Array:
        """Return ρ_t, non-negative; inf where it overflows a double."""
        return self._checked(as_times(t))

    @final
    def log(self, t: ArrayLike) -> Array:
        """Return the natural logarithm of ρ_t, −∞ where ρ_t = 0.

        Parameters
        ----------
        t : float or array_like of float
            Times, t ≥ 0.

        Returns
        -------
        array of float
            Logarithms, in the shape of ``t``.

        Raises
        ------
        ScheduleError
            If a time is not a real number, or ρ_t is negative or not a number.
        """
        times = as_times(t)
        # log of a negative ρ would be NaN without an error, hence the check of ρ itself.
        self._checked(times)
        with np.errstate(all="ignore"):
            return self.log_pressure(times)

    @final
    def reciprocal(self, t: ArrayLike) -> Array:
        """Return 1/ρ_t, exact where ρ_t overflows, and inf where ρ_t = 0.

        Parameters
        ----------
        t : float or array_like of float
            Times, t ≥ 0.

        Returns
        -------
        array of float
            Reciprocals, in the shape of ``t``.

        Raises
        ------
        ScheduleError
            If a time is not a real number, or ρ_t is negative or not a number.
        """
        times = as_times(t)
        return self._inverse(times, self._checked(times))

    @final
    def homogeneous(self, t: ArrayLike) -> tuple[Array, Array]:
        """Return (own_weight, weight) with ρ_t = weight/own_weight, both in [0, 1] and one of them 1.

        own_weight = 1/max(1, ρ_t) and weight = min(1, ρ_t). Then ρ/(s + ρ d) = weight/(s own_weight + weight d)
        is a quotient of finite numbers for every ρ_t, 0 and overflow included.

        Parameters
        ----------
        t : float or array_like of float
            Times, t ≥ 0.

        Returns
        -------
        own_weight : array of float
            Reciprocal of the larger of 1 and ρ_t, in the shape of ``t``.
        weight : array of float
            The smaller of 1 and ρ_t, in the shape of ``t``.

        Raises
        ------
        ScheduleError
            If a time is not a real number, or ρ_t is negative or not a number.
        """
        times = as_times(t)
        rho = self._checked(times)
        # Equations are evaluated at one time after the other; Python's own numbers take a third of the time.
        if times.ndim == 0 and 0 < (one := float(rho)) < math.inf:
            return np.asarray(min(1.0, 1.0 / one)), np.asarray(min(1.0, one))
        # 1/ρ where ρ ≥ 1 and 1 elsewhere, which keeps own_weight finite for ρ = 0 as well.
        return np.minimum(1.0, self._inverse(times, rho)), np.minimum(1.0, rho)

    def reading_times(self, t: Array) -> Array:
        """Return the times at which the pressure of real times t > 0 is evaluated.

        Parameters
        ----------
        t : array of float
            Real times of an ``SDE``.

        Returns
        -------
        array of float
            Times at which the schedule has a value, in the shape of ``t``.
        """
        # Formulas such as t/t have a limit at time 0 but no value.
        return np.maximum(t, _TINY)

    @final
    def to_dict(self) -> dict[str, Any]:
        """Return plain data from which `schedule_from_dict` builds an equal schedule.

        Returns
        -------
        dict
            The ``kind`` of the schedule, and its parameters by name.
        """
        # Fields with init=False are derived, such as the tree of a formula.
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.init}
        plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in fields.items()}
        return {"kind": self.kind, **plain}

    def _checked(self, times: Array) -> Array:
        # Overflow, 1/0 and log 0 are legal results here: ∞ and −∞ have a meaning for the model.
        with np.errstate(all="ignore"):
            rho = self.pressure(times)
        # One comparison catches NaN as well as negative values. Single times are read at every step, hence without
        # np.all, which takes longer than the pressure itself.
        legal = rho >= 0
        if not (legal.all() if isinstance(legal, np.ndarray) else legal):
            first = np.flatnonzero(~(np.atleast_1d(rho) >= 0))[0]
            value, time = np.atleast_1d(rho).flat[first], np.atleast_1d(times).flat[first]
            rule = f"peer pressure must be a number ≥ 0 at every t, and {self} is not at t = {time:.17g}"
            raise ScheduleError(message(rule, got=f"{value:.17g}", remedy="change the schedule or the range of t"))
        return rho

    def _inverse(self, times: Array, rho: Array) -> Array:
        with np.errstate(all="ignore"):
            inverse = 1.0 / rho
            overflown = np.isinf(rho)
            if overflown.any():
                # 1/ρ may still be a (subnormal) number there.
                inverse = np.where(overflown, np.exp(-self.log_pressure(times)), inverse)
        return inverse


def as_times(t: ArrayLike) -> Array:
    """Return times as doubles; raise for anything but real numbers."""
    try:
        times = np.asarray(t)
    except ValueError:
        times = np.asarray(None)
    # Excludes booleans, complex numbers and text, which astype would convert without an error.
    if times.dtype.kind not in "iuf":
        rule = "times must be a real number or an array of them"
        raise ScheduleError(message(rule, got=repr(t)[:80], remedy="pass t = 1, 2, … or an array of these"))
    return times.astype(np.float64, copy=False)


# Steps from the first on at which a formula must have a value.
PROBED = 10_000


@one_line
@dataclass(frozen=True)
class Growth:
    """Growth of ρ_t as t → ∞; None if it is not known.

    Parameters
    ----------
    bounded : bool or None
        Whether ρ_t is bounded.
    reciprocal_sum_diverges, square_sum_diverges : bool or None
        Whether Σ 1/ρ_t and Σ 1/ρ_t² diverge.
    basis : str
        Reason, in one sentence.
    exponent : float, optional
        Power p where ρ_t ~ t^p.
    slope : float, optional
        Factor c where ρ_t ~ c·t.
    limit : float, optional
        Limit of ρ_t, which may be 0 or ∞; None if it has none, or none is known.
    envelope : Envelope, optional
        Bounds of ρ_t from some t on, if they are known.

    See Also
    --------
    growth_of_ratio : Growth of a quotient of two schedules.
    theory.regime_of : What the growth means for consensus.

    Examples
    --------
    >>> from peerpressure.schedules import Power
    >>> growth = Power(1.5).growth
    >>> growth.reciprocal_sum_diverges, growth.exponent
    (False, 1.5)
    """

    bounded: bool | None
    reciprocal_sum_diverges: bool | None
    square_sum_diverges: bool | None
    basis: str
    exponent: float | None = None
    slope: float | None = None
    limit: float | None = None
    envelope: Envelope | None = field(default=None, repr=False, compare=False)

    @property
    def is_regular(self) -> bool:
        """Whether ρ_t follows one smooth curve, rather than oscillating between the bounds of its envelope."""
        return self.envelope is None or self.envelope.lower.lead == self.envelope.upper.lead


def growth_within(envelope: Envelope) -> Growth | None:
    """Return the growth of a function ≥ 0 that lies in an envelope; None if it is negative from some t on."""
    # A value that may be negative by the envelope is not, or the schedule would be illegal.
    lower, upper = _not_negative(envelope.lower), envelope.upper
    if upper.sign < 0:
        return None
    bounded = True if upper.growth <= 0 else False if lower.growth > 0 else None
    (m, c), is_asymptotic = upper.lead, lower.lead == upper.lead
    powers = m.powers if is_asymptotic and upper.terms and not m.exponent and not any(m.powers[1:]) else None
    return Growth(
        bounded=bounded,
        reciprocal_sum_diverges=_sum_over(lower, upper, 1),
        square_sum_diverges=_sum_over(lower, upper, 2),
        basis=_range_text(lower, upper, is_asymptotic=is_asymptotic),
        exponent=None if powers is None else powers[0],
        slope=c if powers is not None and powers[0] == 1 else None,
        limit=lower.limit if lower.limit == upper.limit else None,
        envelope=envelope,
    )


def growth_of_ratio(over: Growth, under: Growth, power: float = 1.0) -> Growth | None:
    """Return the proved growth of f/g^power from those of f and g, None if their envelopes do not decide it.

    Parameters
    ----------
    over, under : Growth
        Growth of f and of g.
    power : float, default 1.0
        Power of g.

    Returns
    -------
    Growth or None
        Growth of f/g^power, proved.

    See Also
    --------
    Schedule.growth : Growth of a schedule.

    Examples
    --------
    >>> from peerpressure import Linear, Power
    >>> from peerpressure.schedules import growth_of_ratio
    >>> growth_of_ratio(Power(2).growth, Linear(3).growth).slope
    0.333...
    """
    first, second = over.envelope, under.envelope
    if first is None or second is None:
        return None
    return decided(lambda: growth_within(first * second**-power))


def _not_negative(bound: Sum) -> Sum:
    return bound if bound.sign > 0 else Sum()


def _sum_over(lower: Sum, upper: Sum, power: int) -> bool | None:
    """Return whether Σ 1/ρ^power diverges for every ρ between two bounds, None if that depends on ρ."""
    if upper.reciprocal_sum_diverges(power):
        return True
    return None if lower.reciprocal_sum_diverges(power) else False


def _range_text(lower: Sum, upper: Sum, *, is_asymptotic: bool) -> str:
    if is_asymptotic and upper.growth == 0:
        return f"ρ_t tends to {upper}"
    if is_asymptotic:
        return (
            f"ρ_t grows like {upper}" if upper.growth > 0 else f"ρ_t falls like {upper}" if upper.terms else "ρ_t is 0"
        )
    return f"ρ_t stays between {lower} and {upper} from some t on"


def growth_of(expression: Expression) -> Growth:
    """Return the growth of a formula as far as its envelope proves it."""
    times = np.arange(1.0, PROBED + 1)
    illegal = times[~(expression(times) >= 0)]
    if illegal.size:
        return _unknown(f"ρ_t is not a number ≥ 0 at t = {illegal[0]:.0f}")
    envelope = envelope_of(expression)
    if envelope is not None and envelope.upper.sign < 0:
        return _unknown("ρ_t is negative at late times")
    proved = None if envelope is None else decided(lambda: growth_within(envelope))
    return proved or _unknown("no bounds of ρ_t at late times are found")


def _unknown(why: str) -> Growth:
    return Growth(None, None, None, basis=f"unknown, because {why}")
