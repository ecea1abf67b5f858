"""The values along one axis of a plan: a list, an even range, or random draws fixed by the root seed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

from peerpressure.errors import InvalidInputError, complain

Spacing: TypeAlias = Literal["linear", "log"]
Value: TypeAlias = int | float


@final
@dataclass(frozen=True)
class Range:
    """``count`` values from ``start`` to ``stop``, both included, evenly spaced or evenly spaced in their logarithms.

    Whole numbers are rounded, and those that fall together are taken once.

    >>> Range(0.0, 0.4, 5).values()
    (0.0, 0.1, 0.2, 0.3, 0.4)
    >>> Range(10, 1000, 3, spacing="log", whole=True).values()
    (10, 100, 1000)
    """

    start: float
    stop: float
    count: int
    spacing: Spacing = "linear"
    whole: bool = False

    def __post_init__(self) -> None:
        _check(self.start, self.stop, self.count, self.spacing)

    def values(self) -> tuple[Value, ...]:
        """Return the values in order."""
        shares = [i / (self.count - 1) for i in range(self.count)] if self.count > 1 else [0.0]
        placed = (_place(share, self.start, self.stop, self.spacing, self.whole) for share in shares)
        return tuple(dict.fromkeys(placed))


@final
@dataclass(frozen=True)
class Draws:
    """``count`` distinct random values between ``low`` and ``high``, uniform or uniform in their logarithms.

    They depend on the root seed and the name of the axis only, and a larger count adds to those of a smaller one.
    """

    low: float
    high: float
    count: int
    spacing: Spacing = "linear"
    whole: bool = False

    def __post_init__(self) -> None:
        _check(self.low, self.high, self.count, self.spacing)
        if self.low >= self.high:
            raise InvalidInputError(
                complain("draws need low < high", got=f"{self.low} and {self.high}", remedy="exchange or widen them")
            )
        if self.whole and self.count > (self.high - self.low) / 2:
            rule = "distinct whole draws may take up to half of their interval"
            raise InvalidInputError(complain(rule, got=f"{self.count} draws", remedy="list the values or use a range"))

    def values(self, root: int, name: str) -> tuple[Value, ...]:
        """Return the draws in the order in which they were made."""
        found: dict[Value, None] = {}
        for share in _shares(root, name):
            found[_place(share, self.low, self.high, self.spacing, self.whole)] = None
            if len(found) == self.count:
                break
        return tuple(found)


def resolve(axis: Sequence[Any] | Range | Draws, *, root: int, name: str) -> tuple[Any, ...]:
    """Return the values that an axis stands for."""
    if isinstance(axis, Range):
        return axis.values()
    if isinstance(axis, Draws):
        return axis.values(root, name)
    if isinstance(axis, (str, bytes)) or not hasattr(axis, "__iter__"):
        rule = f"the axis {name!r} must be a list of values, a Range or Draws"
        raise InvalidInputError(complain(rule, got=repr(axis), remedy="put a single value among the base parameters"))
    return tuple(axis)


def _shares(root: int, name: str) -> Iterator[float]:
    """Give uniform numbers in [0, 1) that no version of a generator can change: hashes of (root, name, i)."""
    i = 0
    while True:
        digest = hashlib.blake2b(f"{root}\n{name}\n{i}".encode(), digest_size=8, person=b"draw").digest()
        yield (int.from_bytes(digest) >> 11) * 2.0**-53
        i += 1


def _place(share: float, low: float, high: float, spacing: Spacing, whole: bool) -> Value:
    value = low * (high / low) ** share if spacing == "log" else low + (high - low) * share
    # Twelve digits: a third value of 0.1, 0.2, … is the 0.3 that a person writes, on every machine.
    return round(value) if whole else float(f"{value:.12g}")


def _check(low: float, high: float, count: int, spacing: str) -> None:
    if spacing not in ("linear", "log"):
        raise InvalidInputError(complain("spacing must be 'linear' or 'log'", got=repr(spacing), remedy="leave it out"))
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InvalidInputError(complain("count must be 1 or more", got=repr(count), remedy="pass a whole number"))
    if not all(isinstance(end, (int, float)) and abs(end) < 1e300 for end in (low, high)):
        raise InvalidInputError(complain("ends must be finite numbers", got=f"{low!r}, {high!r}", remedy="pass two"))
    if spacing == "log" and min(low, high) <= 0:
        rule = "logarithmic spacing needs positive ends"
        raise InvalidInputError(complain(rule, got=f"{low} and {high}", remedy="use spacing='linear'"))
