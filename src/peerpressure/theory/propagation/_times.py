"""Checks of the steps and times that a caller asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import InvalidInputError, message

Times = NDArray[np.int64]


def step_count(steps: Any, name: str = "steps") -> int:
    """Return a number of steps, or of other things by name, of at least 1.

    >>> step_count(np.int64(3))
    3
    """
    # bool is a subclass of int, and True is more likely a mistake than one step.
    whole = isinstance(steps, int | np.integer) and not isinstance(steps, bool)
    if not whole or steps < 1:
        rule = f"{name} must be a whole number of at least 1"
        raise InvalidInputError(message(rule, got=repr(steps), remedy="pass 1 or more"))
    return int(steps)


def whole_times(t: ArrayLike, *, least: int, most: int | None = None) -> Times:
    """Return one time, or a vector of them, as whole numbers from ``least`` to ``most``."""
    upper = "on" if most is None else f"to {most}"
    rule = f"a time must be a whole number from {least} {upper}, or there may be several in a row"
    try:
        given = np.asarray(t)
    except ValueError:
        # An object array fails the dtype check below: ragged input gets the same message as other invalid input.
        given = np.asarray(None)
    if given.size == 0 and given.ndim == 1:
        return np.zeros(0, dtype=np.int64)
    # Booleans and complex numbers are excluded; floats are allowed if whole, as np.linspace returns them.
    if given.dtype.kind not in "iuf" or given.ndim > 1:
        raise InvalidInputError(message(rule, got=repr(t)[:80], remedy=f"pass t = {least}, {least + 1}, …"))
    bad = (given < least) | (given != np.floor(given)) | ~np.isfinite(given)
    if most is not None:
        bad |= given > most
    if np.any(bad):
        first = np.atleast_1d(given)[np.flatnonzero(np.atleast_1d(bad))[0]]
        raise InvalidInputError(message(rule, got=first, remedy="drop or correct that time"))
    return given.astype(np.int64)


def real_times(t: ArrayLike, *, most: float) -> NDArray[np.float64]:
    """Return one or more real times from 0 to ``most`` in order, each once."""
    rule = f"a time must be a number from 0 to {most:g}, or there may be several in a row"
    try:
        given = np.asarray(t, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(message(rule, got=repr(t)[:80], remedy="pass real times")) from None
    # The last time is a product such as 3·0.1 = 0.30000000000000004, for which a user writes 0.3.
    given = np.where(np.abs(given - most) <= 1e-12 * most, most, given)
    # The negated conjunction also catches NaN, for which every comparison is False.
    bad = np.flatnonzero(~((given >= 0) & (given <= most)))
    if given.ndim > 1 or given.size == 0 or bad.size:
        got = np.atleast_1d(given).flat[bad[0]] if bad.size else repr(t)[:80]
        raise InvalidInputError(message(rule, got=got, remedy="drop or correct that time"))
    return np.unique(given)
