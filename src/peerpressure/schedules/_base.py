"""The abstract schedule: what every peer pressure ρ_t offers, derived from ρ_t and log ρ_t."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import ScheduleError, message
from peerpressure.support.parameters import Parameter
from peerpressure.support.text import curve, html_sketch, html_table

if TYPE_CHECKING:
    from peerpressure.schedules._growth import Growth


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
        """Return (relief, weight) with ρ_t = weight/relief, both in [0, 1] and one of them 1.

        relief = 1/max(1, ρ_t) and weight = min(1, ρ_t). Then ρ/(s + ρ d) = weight/(s relief + weight d)
        is a quotient of finite numbers for every ρ_t, 0 and overflow included.

        Parameters
        ----------
        t : float or array_like of float
            Times, t ≥ 0.

        Returns
        -------
        relief : array of float
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
        # 1/ρ where ρ ≥ 1 and 1 elsewhere, which keeps relief finite for ρ = 0 as well.
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
