"""The plan of a sweep: units of work from a task, its parameters, axes, replications and a seed.

The key of a unit is a hash of the unit alone, and so is its seed, or a hash of its replication alone. Another value on
an axis, another order of axes or another number of workers therefore leaves every other unit, and its result, as it
was.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias, final

import numpy as np

from peerpressure.errors import InvalidInputError, TooLargeError, message
from peerpressure.version import __version__

Spacing: TypeAlias = Literal["linear", "log"]
Value: TypeAlias = int | float
RandomNumbers: TypeAlias = Literal["independent", "common"]


@final
@dataclass(frozen=True)
class Range:
    """Evenly spaced values of an axis.

    Parameters
    ----------
    start, stop : float
        First and last value, both included; above 0 where spacing is logarithmic.
    count : int
        Number of values, at least 1.
    spacing : {"linear", "log"}, default "linear"
        Whether the values or their logarithms are evenly spaced.
    whole : bool, default False
        Whether to round to whole numbers; duplicates are dropped.

    Raises
    ------
    InvalidInputError
        If the ends or the count do not define values.

    See Also
    --------
    Draws : Random values.

    Examples
    --------
    >>> from peerpressure.sweep import Range
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
        """Return the values in order.

        Returns
        -------
        tuple of int or float
            Distinct values; fewer than ``count`` where rounding to whole numbers makes some of them equal.
        """
        # Integer ratios, not accumulated steps: the last share is exactly 1, and no error builds up along the axis.
        shares = [i / (self.count - 1) for i in range(self.count)] if self.count > 1 else [0.0]
        placed = (_place(share, self.start, self.stop, self.spacing, self.whole) for share in shares)
        # A dict drops duplicates, which rounding to whole numbers creates, and keeps the order.
        return tuple(dict.fromkeys(placed))


@final
@dataclass(frozen=True)
class Draws:
    """Random values of an axis, such as 20 noise levels; they depend only on the plan's seed and the axis's name.

    A larger count extends the values of a smaller one.

    Parameters
    ----------
    low, high : float
        Range of the values, low < high; above 0 where spacing is logarithmic.
    count : int
        Number of values, at least 1.
    spacing : {"linear", "log"}, default "linear"
        Whether the values or their logarithms are uniform.
    whole : bool, default False
        Whether to round to whole numbers.

    Raises
    ------
    InvalidInputError
        If the range or the count does not define values.

    See Also
    --------
    Range : Evenly spaced values.

    Examples
    --------
    >>> from peerpressure.sweep import Draws
    >>> Draws(0.0, 1.0, 3).values(0, "noise")[:2] == Draws(0.0, 1.0, 2).values(0, "noise")
    True
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
                message("draws need low < high", got=f"{self.low} and {self.high}", remedy="exchange or widen them")
            )
        # Draws that are already taken are rejected. At half of the interval a draw is rejected every other time on
        # average; near the full interval the last values would take many more draws than there are values.
        available = (self.high - self.low) / (1 if self.whole else _spacing_at(max(abs(self.low), abs(self.high))))
        if self.count > available / 2:
            kind = "whole numbers" if self.whole else "numbers of twelve digits"
            rule = f"distinct draws may take up to half of the {kind} in their range"
            remedy = "list the values, use a range or a wider one"
            raise InvalidInputError(message(rule, got=f"{self.count} of about {available:.3g}", remedy=remedy))

    def values(self, root: int, name: str) -> tuple[Value, ...]:
        """Return the draws in the order of generation.

        Parameters
        ----------
        root : int
            Root seed of the plan.
        name : str
            Name of the axis.

        Returns
        -------
        tuple of int or float
            Distinct values, ``count`` of them.
        """
        draws: dict[Value, None] = {}
        for share in _shares(root, name):
            draws[_place(share, self.low, self.high, self.spacing, self.whole)] = None
            if len(draws) == self.count:
                break
        return tuple(draws)


def resolve(axis: Sequence[Any] | Range | Draws, *, root: int, name: str) -> tuple[Any, ...]:
    """Return the values of an axis."""
    if isinstance(axis, Range):
        return axis.values()
    if isinstance(axis, Draws):
        return axis.values(root, name)
    if isinstance(axis, (str, bytes)) or not hasattr(axis, "__iter__"):
        rule = f"the axis {name!r} must be a list of values, a Range or Draws"
        raise InvalidInputError(message(rule, got=repr(axis), remedy="put a single value among the base parameters"))
    return tuple(axis)


def _shares(root: int, name: str) -> Iterator[float]:
    """Yield uniform numbers in [0, 1) that do not depend on the version of a generator: hashes of (root, name, i)."""
    i = 0
    while True:
        # A counter-based hash, not a NumPy generator, whose streams may change between versions: the values of an axis
        # enter the keys of units, so a change would invalidate finished results. ``person`` separates these hashes from
        # seeds and keys.
        digest = hashlib.blake2b(f"{root}\n{name}\n{i}".encode(), digest_size=8, person=b"draw").digest()
        # The 53 leading bits fill the mantissa of a double exactly, so no value is rounded up to 1.
        yield (int.from_bytes(digest) >> 11) * 2.0**-53
        i += 1


def _place(share: float, low: float, high: float, spacing: Spacing, whole: bool) -> Value:
    # The geometric form is exact at share 0, and both ends are positive here (see _check).
    value = low * (high / low) ** share if spacing == "log" else low + (high - low) * share
    # Twelve digits make the third value of 0.1, 0.2, … exactly 0.3 on every machine.
    return round(value) if whole else float(f"{value:.12g}")


def _spacing_at(size: float) -> float:
    """Return the distance between neighbouring numbers of twelve digits at this size."""
    return max(10.0 ** (math.floor(math.log10(size)) - 11), math.ulp(size))


def _check(low: float, high: float, count: int, spacing: str) -> None:
    if spacing not in ("linear", "log"):
        raise InvalidInputError(message("spacing must be 'linear' or 'log'", got=repr(spacing), remedy="leave it out"))
    # bool is a subclass of int, and True is no count.
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InvalidInputError(message("count must be 1 or more", got=repr(count), remedy="pass a whole number"))
    # 1e300 also excludes infinities and NaN, and leaves room for high − low to stay finite.
    if not all(isinstance(end, (int, float)) and abs(end) < 1e300 for end in (low, high)):
        raise InvalidInputError(message("ends must be finite numbers", got=f"{low!r}, {high!r}", remedy="pass two"))
    if spacing == "log" and min(low, high) <= 0:
        rule = "logarithmic spacing needs positive ends"
        raise InvalidInputError(message(rule, got=f"{low} and {high}", remedy="use linear spacing"))


# The column of the replication number in the final table, so no parameter may have this name.
REPLICATION = "replication"
# All units of a plan are in memory at once, with a key, a text and a seed each: a few gigabytes at this number.
_MOST_UNITS = 10_000_000
# A syntactic check only. The task is imported when the sweep starts; a plan can be made and counted without it.
_TASK = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


class Unit(NamedTuple):
    """One call of the task.

    Attributes
    ----------
    key : str
        Hash of task, parameters and replication.
    parameters : str
        Parameters as canonical JSON.
    replication : int
        Number of the replication, from 0.
    seed : int
        Seed of 64 bits.

    See Also
    --------
    Plan.units : The units of a plan.

    Examples
    --------
    >>> from peerpressure.sweep import Plan
    >>> Plan("mymodule:task", axes={"noise": [0.1, 1.0]}).units[0].parameters
    '{"noise":0.1}'
    """

    key: str
    parameters: str
    replication: int
    seed: int


class Fingerprint(NamedTuple):
    """What all results of one table have in common.

    Attributes
    ----------
    task : str
        Path ``module:function`` of the task.
    version : str
        Version of the package.
    seed : int
        Root seed.
    random_numbers : {"independent", "common"}, default "independent"
        Whether each unit has a seed of its own, or all points of a replication have one.

    See Also
    --------
    Plan.fingerprint : That of a plan.

    Examples
    --------
    >>> from peerpressure.sweep import Plan
    >>> Plan("mymodule:task", seed=7).fingerprint.seed
    7
    """

    task: str
    version: str
    seed: int
    random_numbers: str = "independent"

    @property
    def digest(self) -> str:
        """The hash of the fingerprint, stored in every result file."""
        # The default is left out, so results from before there was a choice are still known.
        facts = self._asdict()
        if self.random_numbers == "independent":
            del facts["random_numbers"]
        return hash_text(canonical(facts))


@final
@dataclass(frozen=True)
class Plan:
    """All units of a sweep: the grid of the axes' values, each point a number of times.

    Parameters
    ----------
    task : str
        Path ``module:function`` of a function ``(parameters, seed) -> row or rows``. It must come from code, never
        from a user's text.
    base : mapping, optional
        Fixed parameters.
    axes : mapping, optional
        Parameters that vary: a list of values, a ``Range`` or ``Draws`` for each.
    replications : int, default 1
        Units per point of the grid.
    seed : int, default 0
        Root seed.
    local : mapping, optional
        Parameters that tell tasks where files are. Results do not depend on them: neither do keys and seeds.
    labels : mapping, optional
        Names of the values of axes, in their order, which the table has in place of the values. Keys and seeds do not
        depend on them.
    random_numbers : {"independent", "common"}, default "independent"
        Whether each unit has a seed of its own, or all points of a replication have one seed. With common random
        numbers, differences between points are known more accurately than the points themselves.
    shard : tuple of int, optional
        Number of this part, from 1, and the number of parts; `part` sets it.

    Raises
    ------
    InvalidInputError
        If a parameter or a value is not valid.
    TooLargeError
        If the plan has too many units.

    See Also
    --------
    run_sweep : Computes the units.

    Examples
    --------
    >>> from peerpressure.sweep import Plan, Range
    >>> len(Plan("mymodule:task", axes={"noise": [0.1, 1.0], "n": Range(10, 30, 3, whole=True)}, replications=5))
    30
    """

    task: str
    base: Mapping[str, Any] = field(default_factory=dict)
    axes: Mapping[str, Sequence[Any] | Range | Draws] = field(default_factory=dict)
    replications: int = 1
    seed: int = 0
    local: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    random_numbers: RandomNumbers = "independent"
    shard: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if not _TASK.fullmatch(self.task):
            rule = "a task must be the path of a function, module:function"
            raise InvalidInputError(message(rule, got=repr(self.task), remedy="for instance 'package.module:unit'"))
        _whole(self.replications, "replications", least=1)
        _whole(self.seed, "the seed", least=0)
        if self.random_numbers not in ("independent", "common"):
            rule, remedy = "random_numbers must be 'independent' or 'common'", "leave it out"
            raise InvalidInputError(message(rule, got=repr(self.random_numbers), remedy=remedy))
        _check_shard(self.shard)
        _check_names({**self.base, **self.local}, self.axes)
        # A round trip through JSON freezes a deep copy, and turns NumPy scalars and tuples into the values that tasks
        # receive.
        object.__setattr__(self, "base", json.loads(canonical(dict(self.base))))
        axes = {name: resolve(axis, root=self.seed, name=name) for name, axis in self.axes.items()}
        # Ranges and draws are resolved once, because keys, order and table must see the same values.
        object.__setattr__(self, "axes", {name: _distinct(name, values) for name, values in axes.items()})
        object.__setattr__(self, "labels", _checked_labels(self.labels, self.values))
        if len(self) > _MOST_UNITS:
            rule = f"a plan may have {_MOST_UNITS} units"
            raise TooLargeError(message(rule, got=len(self), remedy="take fewer values on an axis"))

    def __len__(self) -> int:
        count = math.prod(len(values) for values in self.values.values()) * self.replications
        return count if self.shard is None else len(range(self.shard[0] - 1, count, self.shard[1]))

    def part(self, number: int, of: int) -> Plan:
        """Return one of several parts of this plan, which together have all its units.

        Parameters
        ----------
        number : int
            Number of the part, from 1.
        of : int
            Number of parts.

        Returns
        -------
        Plan
            Every ``of``-th unit, with the keys and seeds that it has in the whole plan.

        Examples
        --------
        >>> from peerpressure.sweep import Plan
        >>> plan = Plan("mymodule:task", axes={"noise": [0.1, 0.2, 0.3]})
        >>> [unit.parameters for unit in plan.part(1, 2).units]
        ['{"noise":0.1}', '{"noise":0.3}']
        """
        return replace(self, shard=(number, of))

    @property
    def values(self) -> Mapping[str, Sequence[Any]]:
        """The values of each axis, with ranges and draws resolved."""
        return self.axes  # type: ignore[return-value]  # resolved into lists when the plan was made

    @property
    def fingerprint(self) -> Fingerprint:
        """What all results of one table have in common."""
        return Fingerprint(self.task, __version__, self.seed, self.random_numbers)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The units, in the order of the final table: the last axis runs fastest, replications within it."""
        names = tuple(self.values)
        # The text is canonical, so two spellings of one point (key order, NumPy types) have the same key and the same
        # seed.
        points = (
            canonical(dict(self.base) | dict(zip(names, point, strict=True)))
            for point in itertools.product(*self.values.values())
        )
        calls = ((text, number) for text in points for number in range(self.replications))
        common = self.random_numbers == "common"
        # Neighbouring units take similar times; taking every n-th one gives parts that take about equally long.
        first, step = (0, 1) if self.shard is None else (self.shard[0] - 1, self.shard[1])
        return tuple(
            Unit(unit_key(self.task, text, number), text, number, _unit_seed(self.seed, "" if common else text, number))
            for text, number in itertools.islice(calls, first, None, step)
        )


def canonical(value: object) -> str:
    """Return the canonical JSON text of a value: sorted keys, no spaces, floats that round-trip."""
    try:
        # NaN is not valid JSON, and nan ≠ nan would make equal points unequal.
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        rule = "parameters must be made of numbers, texts, booleans, lists and tables"
        raise InvalidInputError(message(rule, got=f"{value!r:.200} ({error})", remedy="pass plain values")) from None


def unit_key(task: str, parameters: str, replication: int) -> str:
    """Return the key of a unit, which depends on the unit alone."""
    # Neither the root seed nor the version is part of the key; the fingerprint in each result file covers them, and
    # results of another seed are detected rather than overlooked. A parameter text has no newline, which makes the
    # joined text unambiguous.
    return hash_text(f"{task}\n{replication}\n{parameters}")


def hash_text(text: str) -> str:
    """Return 128 bits of BLAKE2b as 32 hexadecimal digits."""
    return hash_bytes(text.encode())


def hash_bytes(data: bytes | memoryview) -> str:
    """Return 128 bits of BLAKE2b as 32 hexadecimal digits."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _unit_seed(root: int, parameters: str, replication: int) -> int:
    # The seed depends on the parameters or on none, not on the position in the grid: a larger grid leaves the random
    # numbers of old points unchanged. 64 bits make equal seeds unlikely even among 10⁷ units (about 3·10⁻⁶).
    text = f"{root}\n{replication}\n{parameters}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8, person=b"seed").digest())


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not plain")


def comparable(value: Any) -> Hashable:
    """Return a form of a parameter that equals that of another one where both mean the same.

    >>> comparable([1.0, True]) == comparable([1, "1e0"])
    True
    """
    if isinstance(value, Mapping):
        return "table", frozenset((name, comparable(inner)) for name, inner in value.items())
    if isinstance(value, (list, tuple)):
        return "list", tuple(map(comparable, value))
    # A table on disk has no quotation marks: the text "1" and the number 1 would be one name for two points. Numbers
    # and booleans compare as Python does, exactly also for integers beyond the digits of a float.
    return _number_in(value) if isinstance(value, str) else value


def _number_in(text: str) -> str | float:
    """Return the number that a text holds, or else the text."""
    try:
        number = json.loads(text)
    except (ValueError, RecursionError):
        return text
    # NaN equals nothing, itself included.
    real = isinstance(number, int) or (isinstance(number, float) and not math.isnan(number))
    return number if real else text


def _distinct(name: str, values: Sequence[Any]) -> tuple[Any, ...]:
    texts = [canonical(value) for value in values]
    plain = tuple(json.loads(text) for text in texts)
    rule = f"the axis {name!r} must hold distinct values"
    if not texts:
        raise InvalidInputError(message(rule, got="no value", remedy="list one or more"))
    first: dict[Hashable, str] = {}
    for text, value in zip(texts, plain, strict=True):
        same = comparable(value)
        # Equal values would have seeds of their own, and give two results for one point.
        if (other := first.get(same)) is not None:
            got = f"{text:.80} twice" if other == text else f"{other:.80} and {text:.80}, which are equal"
            raise InvalidInputError(message(rule, got=got, remedy="leave one out; replications repeat a point"))
        first[same] = text
    return plain


def _check_names(base: Mapping[str, Any], axes: Mapping[str, Any]) -> None:
    wrong = [name for name in (*base, *axes) if not isinstance(name, str) or name in ("", REPLICATION)]
    if wrong:
        rule = f"parameters must have names other than {REPLICATION!r}, which is a column of its own"
        raise InvalidInputError(message(rule, got=repr(wrong[0]), remedy="rename it"))
    if both := [name for name in axes if name in base]:
        rule = "a parameter is either fixed or an axis"
        raise InvalidInputError(message(rule, got=f"{both[0]!r} as both", remedy="leave it out of the base"))


def _checked_labels(labels: Mapping[str, Sequence[str]], axes: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
    for name, texts in labels.items():
        if name not in axes:
            rule, remedy = "labels must be those of an axis", f"name one of {', '.join(axes)}"
            raise InvalidInputError(message(rule, got=repr(name), remedy=remedy))
        distinct = all(isinstance(text, str) and text.strip() for text in texts) and len(set(texts)) == len(texts)
        if isinstance(texts, str) or not distinct or len(texts) != len(axes[name]):
            rule = f"the axis {name!r} must have one distinct label for each of its {len(axes[name])} values"
            raise InvalidInputError(message(rule, got=f"{texts!r:.80}", remedy="list them in the order of the values"))
    return {name: list(texts) for name, texts in labels.items()}


def _check_shard(shard: tuple[int, int] | None) -> None:
    if shard is None:
        return
    number, of = shard
    _whole(of, "the number of parts", least=1)
    _whole(number, "the number of a part", least=1)
    if number > of:
        remedy = "count parts from 1, as in 1/4 to 4/4"
        raise InvalidInputError(message("a part must be one of all", got=f"part {number} of {of}", remedy=remedy))


def _whole(value: object, name: str, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        rule = f"{name} must be a whole number, {least} or more"
        raise InvalidInputError(message(rule, got=repr(value), remedy="pass an int"))
