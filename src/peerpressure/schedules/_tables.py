"""Schedules given by the user: a table of values, or a formula in t."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from peerpressure.errors import ScheduleError, message
from peerpressure.schedules._base import Array, Growth, Schedule, growth_of
from peerpressure.support.dates import whole_steps
from peerpressure.support.formula import Expression, parse
from peerpressure.support.parameters import Parameter
from peerpressure.support.results import one_line


@final
@one_line
@dataclass(frozen=True, eq=False)
class Table(Schedule):
    """Pressures ρ_1, ρ_2, …, ρ_T given one by one, and undefined at other steps.

    Parameters
    ----------
    values : array_like of shape (T,)
        Finite pressures, at least 0.

    Raises
    ------
    ScheduleError
        If a value is negative, infinite or not a number, or there is none. A pressure beyond the table is an error
        when it is read.

    See Also
    --------
    Formula : Pressure at all times.

    Examples
    --------
    >>> from peerpressure.schedules import Table
    >>> Table([1, 2, 4])([1, 3])
    array([1., 4.])
    """

    values: Array
    kind: ClassVar[str] = "table"
    title: ClassVar[str] = "Table"
    parameters: ClassVar[tuple[Parameter, ...]] = (Parameter("values", "list", "pressures", "ρ_1, ρ_2, …"),)

    def __init__(self, values: ArrayLike) -> None:
        try:
            # Without a dtype, because text and booleans must be recognised below instead of being converted.
            array = np.array(values)
        except ValueError:
            array = np.asarray(None)
        rule = "a table needs one or more finite pressures ≥ 0 in a row"
        if array.dtype.kind not in "iuf" or array.ndim != 1 or array.size == 0:
            remedy = "pass ρ_1, ρ_2, … as a list of numbers"
            raise ScheduleError(message(rule, got=repr(values)[:80], remedy=remedy))
        array = array.astype(np.float64)
        bad = np.flatnonzero(~((array >= 0) & (array < np.inf)))
        if bad.size:
            got = f"{array[bad[0]]:g} at t = {bad[0] + 1}"
            raise ScheduleError(message(rule, got=got, remedy="correct that value"))
        # The hash depends on the values.
        array.flags.writeable = False
        object.__setattr__(self, "values", array)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        # Adding 0 gives −0 the bytes of the 0 that it equals.
        return hash((self.kind, (self.values + 0.0).tobytes()))

    def __reduce__(self) -> tuple[type[Table], tuple[Array]]:
        # Rebuilding keeps the values read-only in a process that unpickles them.
        return Table, (self.values,)

    def pressure(self, t: Array) -> Array:
        """Look up ρ_t for a whole number t from 1 to the length of the table.

        Raises
        ------
        ScheduleError
            If a time is not such a number.
        """
        length = self.values.size
        legal = (t >= 1) & (t <= length) & (t == np.floor(t))
        if not legal.all():
            time = np.atleast_1d(t).flat[np.flatnonzero(~np.atleast_1d(legal))[0]]
            rule = f"this table has {length} values, for whole t from 1 to {length}"
            remedy = "give more values, take fewer steps, or use a formula"
            raise ScheduleError(message(rule, got=f"t = {time:.17g}", remedy=remedy))
        # The table has ρ_1 at index 0: there is no ρ_0.
        looked_up: Array = self.values[t.astype(np.intp) - 1]
        return looked_up

    def reading_times(self, t: Array) -> Array:
        """Return t rounded up to a whole number, since ρ_k applies from time k − 1 to k."""
        return whole_steps(t)

    def log_pressure(self, t: Array) -> Array:
        """Return the logarithm of the value in the table."""
        return np.log(self.pressure(t))

    @property
    def _sketched(self) -> int:
        return self.values.size

    @property
    def growth(self) -> Growth:
        """Unknown, since a finite table has no limit."""
        basis = f"a table of {self.values.size} values says nothing about ρ_t after t = {self.values.size}"
        return Growth(None, None, None, basis=basis)

    @property
    def formula_text(self) -> str:
        """First values, and how many there are."""
        shown = ", ".join(f"{value:.6g}" for value in self.values[:3])
        return shown + f", … ({self.values.size} values)" * (self.values.size > 3)


@final
@dataclass(frozen=True)
class Formula(Schedule):
    """Pressure given by a formula in t, with + − * / ^, sqrt, log, exp, sin, cos, floor, min and max.

    Its growth is proved by bounds of its parts, and unknown where they do not decide it.

    Parameters
    ----------
    formula : str
        Arithmetic in t. It is parsed, never evaluated as code.

    Raises
    ------
    FormulaError
        If the text is not arithmetic in t.
    ScheduleError
        If ρ_1 is negative or not a number.

    See Also
    --------
    as_schedule : Converts text to a formula.

    Examples
    --------
    >>> from peerpressure.schedules import Formula
    >>> print(Formula("t * log(1 + t)"))
    ρ_t = t*log(1 + t)
    >>> Formula("t * log(1 + t)").growth.reciprocal_sum_diverges
    True
    """

    formula: str
    expression: Expression = field(init=False, repr=False, compare=False)
    kind: ClassVar[str] = "formula"
    title: ClassVar[str] = "A formula in t"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "formula",
            "text",
            "formula",
            "arithmetic in t",
            examples=("t", "t*log(1 + t)", "2^sqrt(t)", "t^1.5", "min(t, 20)", "sqrt(t)"),
        ),
    )

    def __post_init__(self) -> None:
        """Parse the formula, and check its first value, which every use needs."""
        expression = parse(self.formula)
        object.__setattr__(self, "expression", expression)
        # Canonical text makes equal formulas in different spelling equal schedules.
        object.__setattr__(self, "formula", expression.text)
        self(1)

    def pressure(self, t: Array) -> Array:
        """Evaluate the formula."""
        return self.expression(t)

    def log_pressure(self, t: Array) -> Array:
        """Return the logarithm of the value; inf where the value overflows."""
        # Unlike closed forms, a formula has no logarithm that survives overflow.
        return np.log(self.pressure(t))

    @property
    def growth(self) -> Growth:
        """Growth by bounds of the formula's parts; unknown where these tell nothing."""
        return _growth(self.expression)

    @property
    def formula_text(self) -> str:
        """Formula in its canonical form."""
        return self.formula


# Read several times in one classification.
_growth = lru_cache(maxsize=256)(growth_of)
