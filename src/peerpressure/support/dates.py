"""Calendar times: ISO dates, durations in words, and the steps of a model that they stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import InvalidInputError

# Weeks are the longest unit of a constant length: months and years differ.
WAVE = "wave"  # the length of a step where times are only numbered
UNITS: Mapping[str, int] = MappingProxyType({"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800})
SHORT: Mapping[str, str] = MappingProxyType({"s": "second", "sec": "second", "min": "minute", "h": "hour", "d": "day"})
# Unix times by their size: every instant from 1973 to 5138 has one reading only.
UNIX: Mapping[float, float] = MappingProxyType({1e8: 1.0, 1e11: 1e3, 1e14: 1e6, 1e17: 1e9})
LARGEST_UNIX = 1e20
ROUNDING = 1e-6  # tolerance of a time, as a share of a step
_PRODUCT_ROUNDING = 1e-12  # relative error of a time up to which it counts as the whole number below it

# ISO 8601: a day, with or without a time of day and a time zone.
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?")
_DURATION = re.compile(r"(\d+(?:\.\d+)?|) *([a-z]+)", re.IGNORECASE)
_START = datetime(1970, 1, 1)


class DateError(ValueError):
    """A time among others is none, or does not fit them; ``place`` is its position."""

    def __init__(self, place: int, rule: str, remedy: str = "write dates such as 2024-01-31T12:00:00") -> None:
        self.place, self.rule, self.remedy = place, rule, remedy


def is_calendar(step: str | None) -> bool:
    """Return whether steps have a length, so that times must be dates.

    >>> is_calendar("1 day"), is_calendar("wave"), is_calendar(None)
    (True, False, False)
    """
    return step not in (None, WAVE)


def is_date(text: str) -> bool:
    """Return whether a text is an ISO date, with or without a time of day.

    >>> [is_date(text) for text in ("2024-01-31", "2024-01-31 12:00", "2024-01-31T12:00:00.5Z", "31/01/2024")]
    [True, True, True, False]
    """
    return _DATE.fullmatch(text) is not None


def as_seconds(dates: Sequence[object]) -> NDArray[np.float64]:
    """Return dates, as ISO text or Python's own, as seconds since 1970; without a time zone they are taken as UTC.

    >>> as_seconds(["1970-01-02", date(1970, 1, 1)])
    array([86400.,     0.])
    """
    seconds, zoned = np.empty(len(dates)), False
    for place, value in enumerate(dates):
        when: object = value
        if isinstance(value, str) and is_date(value):
            try:
                when = datetime.fromisoformat(value.replace(",", "."))
            except ValueError as error:
                raise DateError(place, f"a date must exist ({error})") from None
        if not isinstance(when, date):
            raise DateError(place, "all times must be dates if one is")
        moment = when if isinstance(when, datetime) else datetime(when.year, when.month, when.day)
        has_zone = moment.tzinfo is not None
        # Without a zone a date may be hours away from one with a zone.
        if place and has_zone != zoned:
            raise DateError(place, "all dates must have a time zone, or none")
        zoned = has_zone
        seconds[place] = (moment if zoned else moment.replace(tzinfo=UTC)).timestamp()
    return seconds


def seconds_in(duration: object) -> float:
    """Return the length of a duration in words, such as "1 day" or "15 min".

    >>> seconds_in("2 weeks"), seconds_in("hour")
    (1209600.0, 3600.0)
    """
    words = _DURATION.fullmatch(duration.strip()) if isinstance(duration, str) else None
    unit = "" if words is None else SHORT.get(words[2].lower(), words[2].lower().removesuffix("s"))
    length = 0.0 if words is None or unit not in UNITS else float(words[1] or 1) * UNITS[unit]
    if length <= 0:
        rule = "the length of a step must be a number and a unit: seconds, minutes, hours, days or weeks"
        remedy = "for instance '1 day'; months and years have no constant length, and 'wave' numbers the times"
        raise InvalidInputError(rule, got=repr(duration), remedy=remedy)
    return length


def check_no_dates(times: NDArray[Any]) -> None:
    """Raise if numbers that shall be times are dates without signs, or Unix times in several units.

    As numbers, 20240131 and 20240201 are 70 apart.

    >>> check_no_dates(np.array([20240131, 20240201]))
    Traceback (most recent call last):
    ...
    peerpressure.errors.InvalidInputError: times must not be dates without signs, got 20240131; write them as 2024-01-31
    >>> check_no_dates(np.array([20240131, 20240199]))
    """
    numbers = np.unique(np.asarray(times, dtype=np.float64))
    # One time is no distance.
    if numbers.size < 2 or not np.isfinite(numbers).all():
        return
    if _are_compact_dates(numbers):
        raise _without_signs(f"{numbers[0]:.15g}")
    units = np.searchsorted([*UNIX, LARGEST_UNIX], numbers, side="right")
    if units[0] and units[0] != units[-1]:
        got = f"{numbers[0]:.0f} and {numbers[-1]:.0f}"
        remedy = "write all of them in seconds, or all in milliseconds"
        raise InvalidInputError("Unix times must have one unit", got=got, remedy=remedy)


def check_no_clocks(times: Iterable[object]) -> None:
    """Raise if texts that shall be times are times of day, or dates, of digits alone, which a leading zero gives away.

    >>> check_no_clocks(["0959", "1000"])
    Traceback (most recent call last):
    ...
    peerpressure.errors.InvalidInputError: times must not be dates without signs, got '0959'; write them as ...
    >>> check_no_clocks(["0001", "0002"])
    """
    texts = sorted({time for time in times if isinstance(time, str)})
    widths = {len(text) if text.isdecimal() else 0 for text in texts}
    # Below an hour, or a month, these are numbers in any case.
    if len(texts) < 2 or widths not in ({4}, {6}, {8}) or not texts[0].startswith("0") or float(texts[-1]) < 100:
        return
    numbers = np.array(texts, dtype=np.float64)
    forms = {4: (CLOCK[:2],), 6: (CLOCK, CALENDAR), 8: (DAY_FIRST, MONTH_FIRST)}[widths.pop()]
    if any(_fit(numbers, form) for form in forms):
        raise _without_signs(repr(texts[0]))


def _without_signs(got: str) -> InvalidInputError:
    remedy = "write them as 2024-01-31 or 2024-01-31T12:00, or number them 1, 2, 3 and so on"
    if got.startswith(("19", "20")) and len(got) in (6, 7, 8):
        remedy = f"write them as {got[:4]}-{got[4:6]}-{got[6:]}" if len(got) == 8 else "number them 1, 2, 3 and so on"
    return InvalidInputError("times must not be dates without signs", got=got, remedy=remedy)


# Parts of a date or time of two digits each, with the least and the largest value of each.
YEARS, MONTH, DAY = (1900, 2099), (1, 12), (1, 31)
CLOCK = ((0, 23), (0, 59), (0, 59))
CENTURIES = ((19, 20), (0, 99))
CALENDAR = ((0, 99), MONTH, DAY)
DAY_FIRST, MONTH_FIRST = (DAY, MONTH, *CENTURIES), (MONTH, DAY, *CENTURIES)
# 202401, 240131, 20240131, 31012024, 2024013112, 202401311200 and 20240131120000.
COMPACT = (
    (*CENTURIES, MONTH),
    CALENDAR,
    *((*CENTURIES, MONTH, DAY, *CLOCK[:k]) for k in range(4)),
    DAY_FIRST,
    MONTH_FIRST,
)


def _are_compact_dates(numbers: NDArray[np.float64]) -> bool:
    """Return whether all numbers are dates in one of the compact forms, or years with the month as their fraction."""
    if YEARS[0] <= numbers[0] and numbers[-1] <= YEARS[1] + 1:
        months = (numbers - np.floor(numbers)) * 100
        return bool((np.abs(months - np.rint(months)) < ROUNDING).all() and _fit(np.rint(months), (MONTH,)))
    return numbers[0] >= 1e5 and any(_fit(numbers, form) for form in COMPACT)


def _fit(numbers: NDArray[np.float64], form: Sequence[tuple[int, int]]) -> bool:
    """Return whether all numbers consist of parts of two digits within their limits."""
    rest, legal = numbers, numbers == np.floor(numbers)
    for low, high in reversed(form):
        legal &= (low <= rest % 100) & (rest % 100 <= high)
        rest = rest // 100
    return bool((legal & (rest == 0)).all())


def in_words(seconds: float) -> str:
    """Return a duration in the largest unit that divides it.

    >>> in_words(1209600.0), in_words(5400.0)
    ('2 weeks', '90 minutes')
    """
    unit = next((unit for unit, size in reversed([*UNITS.items()]) if seconds % size == 0), "second")
    count = seconds / UNITS[unit]
    return f"{count:.10g} {unit}{'s' * (count != 1)}"


def calendar_steps(times: Sequence[object], step: str, origin: object = None) -> tuple[NDArray[np.float64], str]:
    """Return the step of each time, and the words that state it.

    >>> calendar_steps(["2024-01-31", "2024-02-02"], "1 day")
    (array([1., 3.]), 'steps of 1 day, 2024-01-31 is step 1')
    """
    if step == WAVE:
        return _numbered(times, origin)
    length = seconds_in(step)
    seconds = _seconds(times)
    first = seconds.min()
    zero = first - length if origin is None else origin_seconds(origin)
    steps = (seconds - zero) / length
    early = np.flatnonzero(steps < -ROUNDING)
    if early.size:
        raise DateError(int(early[0]), f"times must not come before {_date(zero)}, step 0", "set an earlier origin")
    off = np.flatnonzero(~(np.abs(steps - np.rint(steps)) <= ROUNDING))
    if off.size:
        rule = f"times must be whole steps of {in_words(length)} after {_date(zero)}, step 0"
        # Without an origin of its own, step 0 moves with the length of a step.
        raise DateError(int(off[0]), rule, _finer(np.append(seconds, first if origin is None else zero)))
    steps = np.rint(steps)
    return steps, f"steps of {in_words(length)}, {_date(first)} is step {steps[np.argmin(seconds)]:.0f}"


def _numbered(times: Sequence[object], origin: object) -> tuple[NDArray[np.float64], str]:
    if origin is not None:
        rule, remedy = "times that are numbered must have no origin", "leave it out"
        raise InvalidInputError(rule, got=repr(origin), remedy=remedy)
    numbers = [time for time in times if isinstance(time, int | float | np.number) and np.isfinite(time)]
    values = np.array(numbers, dtype=np.float64) if len(numbers) == len(times) else as_seconds(times)
    distinct, steps = np.unique(values, return_inverse=True)
    # In other dates without signs the year comes first, so their order is that of time.
    if distinct.size > 1 and any(_fit(distinct, form) for form in (DAY_FIRST, MONTH_FIRST)):
        raise _without_signs(f"{distinct[0]:.0f}")
    first = times[int(np.argmin(values))]
    return steps.astype(np.float64) + 1, f"{distinct.size} times, numbered in their order, {first} is step 1"


def _seconds(times: Sequence[object]) -> NDArray[np.float64]:
    """Return times as seconds since 1970: all dates, or all Unix times in one unit, which their size tells."""
    if not all(isinstance(time, int | float | np.number) and not isinstance(time, bool) for time in times):
        return as_seconds(times)
    numbers = np.array(times, dtype=np.float64)
    if len({*numbers}) > 1 and _are_compact_dates(np.sort(numbers)):
        raise _without_signs(f"{numbers.min():.15g}")
    unit = np.searchsorted([*UNIX, LARGEST_UNIX], numbers, side="right")
    # NaN is sorted behind the largest.
    bad = np.flatnonzero((unit == 0) | (unit > len(UNIX)) | (unit != unit[0]))
    if bad.size:
        rule = "numbers must be Unix times, in seconds or their fractions, if the length of a step is given"
        raise DateError(int(bad[0]), rule, "leave the length of a step out if times count steps")
    return numbers / [*UNIX.values()][int(unit[0]) - 1]


def origin_seconds(origin: object) -> float:
    """Return the origin of time as seconds since 1970."""
    try:
        return float(_seconds([origin])[0])
    except DateError:
        remedy = "for instance '2024-01-31' or '2024-01-31T12:00'"
        raise InvalidInputError("the origin must be a date", got=repr(origin), remedy=remedy) from None


def _date(seconds: float) -> str:
    """Return an instant as an ISO date, with its time of day unless that is midnight."""
    try:
        moment = _START + timedelta(seconds=float(seconds))
    except OverflowError:
        return f"{in_words(float(seconds))} after 1970"
    return moment.isoformat().removesuffix("T00:00:00")


def _finer(seconds: NDArray[np.float64]) -> str:
    """Return the remedy for times between two steps: the longest step that has none, if there is one."""
    parts = np.rint((seconds - seconds[-1]) * 1000).astype(np.int64)
    common = int(np.gcd.reduce(parts)) / 1000
    fits = f"a step of {in_words(common)} fits all times" if common >= 1 else "round the times, or use a shorter step"
    return f"{fits}, and 'wave' numbers them 1, 2, 3 in their order"


def whole_steps(t: ArrayLike) -> NDArray[np.float64]:
    """Return the steps k with k − 1 < t ≤ k to which real times belong, from 1 on.

    >>> whole_steps(np.array([0.0, 0.3, 100 * 0.07])).tolist()
    [1.0, 1.0, 7.0]
    """
    times = np.asarray(t, dtype=np.float64)
    # A product such as 100·0.07 is a rounding error above the whole number 7.
    return np.maximum(np.ceil(times - _PRODUCT_ROUNDING * np.maximum(times, 1.0)), 1.0)
