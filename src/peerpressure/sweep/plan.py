"""What a sweep computes: a list of units that follows from a task, its parameters, axes, replications and a seed.

A unit's key and seed are hashes of what the unit itself is, so another value on an axis, another order of axes or
another number of workers leaves every other unit, and its result, as it was.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from peerpressure.errors import InvalidInputError, TooLargeError, complain
from peerpressure.version import __version__

from .axes import Draws, Range, resolve

REPLICATION = "replication"
_MOST_UNITS = 10_000_000
_TASK = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


class Unit(NamedTuple):
    """One call of the task: its key, its parameters as canonical JSON, its replication and its own 64-bit seed."""

    key: str
    parameters: str
    replication: int
    seed: int


class Fingerprint(NamedTuple):
    """What results must share to stand in one table."""

    task: str
    version: str
    seed: int

    @property
    def digest(self) -> str:
        """The fingerprint as one short word, which every result file carries."""
        return hash_text(canonical(self._asdict()))


@final
@dataclass(frozen=True)
class Plan:
    """All units of a sweep: the grid of the axes' values, each point ``replications`` times.

    ``task`` is the ``module:function`` path of a function ``(parameters, seed) -> row or rows`` and comes from code,
    never from a user's text. An axis is a list of values, a ``Range`` or ``Draws``.

    >>> plan = Plan("math:hypot", base={"steps": 10}, axes={"rho": [1, 2]}, replications=2)
    >>> [(unit.parameters, unit.replication) for unit in plan.units][-1]
    ('{"rho":2,"steps":10}', 1)
    """

    task: str
    base: Mapping[str, Any] = field(default_factory=dict)
    axes: Mapping[str, Sequence[Any] | Range | Draws] = field(default_factory=dict)
    replications: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if not _TASK.fullmatch(self.task):
            rule = "a task must be the path of a function, module:function"
            raise InvalidInputError(complain(rule, got=repr(self.task), remedy="for instance 'package.module:unit'"))
        _whole(self.replications, "replications", least=1)
        _whole(self.seed, "the seed", least=0)
        _check_names(self.base, self.axes)
        object.__setattr__(self, "base", json.loads(canonical(dict(self.base))))
        axes = {name: resolve(axis, root=self.seed, name=name) for name, axis in self.axes.items()}
        object.__setattr__(self, "axes", {name: _distinct(name, values) for name, values in axes.items()})
        if len(self) > _MOST_UNITS:
            rule = f"a plan may have {_MOST_UNITS} units"
            raise TooLargeError(complain(rule, got=len(self), remedy="take fewer values on an axis"))

    def __len__(self) -> int:
        return math.prod(len(values) for values in self.values.values()) * self.replications

    @property
    def values(self) -> Mapping[str, Sequence[Any]]:
        """The values along each axis, ranges and draws resolved."""
        return self.axes  # type: ignore[return-value]  # resolved into lists when the plan was made

    @property
    def fingerprint(self) -> Fingerprint:
        """What results must share to stand in one table."""
        return Fingerprint(self.task, __version__, self.seed)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The units, in the order of the final table: the last axis runs fastest, replications within it."""
        names = tuple(self.values)
        points = (
            canonical(dict(self.base) | dict(zip(names, point, strict=True)))
            for point in itertools.product(*self.values.values())
        )
        return tuple(
            Unit(unit_key(self.task, text, number), text, number, _unit_seed(self.seed, text, number))
            for text in points
            for number in range(self.replications)
        )

    @cached_property
    def digest(self) -> str:
        """One word for the columns and the order of the final table."""
        return order_digest(list(self.values), [unit.key for unit in self.units])


def canonical(value: object) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, floats that round-trip."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        rule = "parameters must be made of numbers, texts, booleans, lists and tables"
        raise InvalidInputError(complain(rule, got=f"{value!r:.200} ({error})", remedy="pass plain values")) from None


def unit_key(task: str, parameters: str, replication: int) -> str:
    """Return the name of a unit, from what it is alone."""
    return hash_text(f"{task}\n{replication}\n{parameters}")


def order_digest(axes: Sequence[str], keys: Sequence[str]) -> str:
    """Return one word for the columns and the rows of a table, by which a damaged ledger is noticed."""
    return hash_text("\n".join([canonical(list(axes)), *keys]))


def hash_text(text: str) -> str:
    """Return 128 bits of BLAKE2b as 32 hexadecimal digits."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _unit_seed(root: int, parameters: str, replication: int) -> int:
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


def _distinct(name: str, values: Sequence[Any]) -> tuple[Any, ...]:
    texts = [canonical(value) for value in values]
    if not texts or len(set(texts)) != len(texts):
        got = "the same value twice" if texts else "no value"
        raise InvalidInputError(complain(f"the axis {name!r} must hold distinct values", got=got, remedy="check them"))
    return tuple(json.loads(text) for text in texts)


def _check_names(base: Mapping[str, Any], axes: Mapping[str, Any]) -> None:
    wrong = [name for name in (*base, *axes) if not isinstance(name, str) or name in ("", REPLICATION)]
    if wrong:
        rule = f"parameters must have names other than {REPLICATION!r}, which is a column of its own"
        raise InvalidInputError(complain(rule, got=repr(wrong[0]), remedy="rename it"))
    if both := [name for name in axes if name in base]:
        rule = "a parameter is either fixed or an axis"
        raise InvalidInputError(complain(rule, got=f"{both[0]!r} as both", remedy="leave it out of the base"))


def _whole(value: object, name: str, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        rule = f"{name} must be a whole number, {least} or more"
        raise InvalidInputError(complain(rule, got=repr(value), remedy="pass an int"))
