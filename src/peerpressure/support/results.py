"""Results that cannot be changed, and say in one line what they are.

The arrays of a frozen dataclass are read-only, and its tables are copies.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np

Result = TypeVar("Result")


def read_only(result: type[Result]) -> type[Result]:
    """Make the arrays that a frozen dataclass holds, in fields and cached properties, read-only, without copies.

    A table of pandas has no such flag, so every access to a field that is one gives a copy. Unless the class has a
    ``repr`` of its own, it is the line of ``one_line``.
    """
    init: Callable[..., None] = result.__init__

    @wraps(init)
    def frozen_init(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        _freeze_fields(self)

    def set_state(self: Any, state: dict[str, Any]) -> None:
        # Neither pickle nor deepcopy keeps the flag of an array.
        self.__dict__.update({name: frozen(value) for name, value in state.items()})

    # By name, because mypy does not let the attributes of a class be replaced.
    for name, method in (("__init__", frozen_init), ("__setstate__", set_state)):
        setattr(result, name, method)
    if _has_made_repr(result):
        one_line(result)
    for member in vars(result).values():
        if isinstance(member, cached_property):
            member.func = _freezing(member.func)
    for field in dataclasses.fields(result):  # type: ignore[arg-type]  # a dataclass, which the type does not say
        if str(field.type) in ("pd.DataFrame", "pandas.DataFrame"):
            setattr(result, field.name, _Table(field.name))
    return result


# Characters of a line that says what a result is, and of one of its parts.
LINE, PART = 120, 32
# Numbers of an array that are named one by one.
MAX_SHOWN = 3


def one_line(result: type[Result]) -> type[Result]:
    """Give a dataclass a ``repr`` of one line: short parts as they are, and the sizes of arrays and tables.

    >>> @one_line
    ... @dataclasses.dataclass
    ... class Law:
    ...     name: str
    ...     mean: Any
    ...     note: str | None = None
    >>> Law("gaussian", np.zeros((34, 2)))
    Law(name='gaussian', mean=34×2 numbers)
    """

    def short_repr(self: Any) -> str:
        parts = ((field, self.__dict__.get(field.name)) for field in dataclasses.fields(self) if field.repr)
        # What was not given or computed is left out.
        text = ", ".join(f"{field.name}={_brief(value)}" for field, value in parts if value is not None)
        line = f"{type(self).__name__}({text})"
        return line if len(line) <= LINE else f"{line[: LINE - 2]}…)"

    # By name, because mypy does not let the attributes of a class be replaced.
    setattr(result, "__repr__", short_repr)  # noqa: B010
    return result


def _has_made_repr(result: type) -> bool:
    """Whether ``repr`` is what ``dataclass`` makes, which wraps it against recursion, or what every object has."""
    return "__repr__" not in vars(result) or hasattr(vars(result)["__repr__"], "__wrapped__")


def _number(value: float) -> str:
    """Return a number with all of its digits if they are few, else six."""
    return text if len(text := repr(float(value))) <= 8 else f"{value:.6g}"


# In this order: text and numbers are collections of characters to nobody.
_SIZES: Mapping[Any, Callable[[Any], str]] = {
    np.ndarray: lambda array: f"{'×'.join(map(str, array.shape))} numbers",
    Enum: lambda member: str(member.name),
    float: _number,
    str: repr,
    int: repr,
    Collection: lambda entries: f"{len(entries):,} entries",
}


def _brief(value: Any) -> str:
    """Return a part in a few characters."""
    if isinstance(value, np.ndarray | list | tuple) and np.ndim(value) == 1 and len(value) <= MAX_SHOWN:
        return f"[{', '.join(map(_brief, np.asarray(value, object).tolist()))}]"
    if dataclasses.is_dataclass(value):
        return text if len(text := repr(value)) <= PART else f"{type(value).__name__}(…)"
    if hasattr(value, "columns"):
        return f"table of {len(value):,} rows"
    text = next((size(value) for kind, size in _SIZES.items() if isinstance(value, kind)), f"<{type(value).__name__}>")
    return text if len(text) <= PART else f"{text[:PART]}…"


def frozen(value: Any) -> Any:
    """Return a value whose arrays are read-only: views of the same memory; containers are copied.

    >>> import numpy as np
    >>> given = np.zeros(2)
    >>> frozen((given, 1))[0].flags.writeable, given.flags.writeable
    (False, True)
    """
    if isinstance(value, np.ndarray):
        return _view(value) if value.flags.writeable else value
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(map(frozen, value))
    # Plain containers only: mappings of other classes may be shared, and are left as they are.
    if type(value) in (tuple, list):
        return type(value)(map(frozen, value))
    return {name: frozen(part) for name, part in value.items()} if type(value) is dict else value


def _view(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    # A view, because the array may be the caller's own, who goes on to write to it.
    view = array.view()
    view.flags.writeable = False
    return view


def _freeze_fields(result: Any) -> None:
    values = result.__dict__
    for name, value in values.items():
        if (new := frozen(value)) is not value:
            values[name] = new


def _freezing(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @wraps(compute)
    def compute_frozen(self: Any) -> Any:
        return frozen(compute(self))

    return compute_frozen


class _Table:
    """A field with a table, of which every access gives a copy."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            # As a field without a default on the class.
            raise AttributeError(self._name)
        return instance.__dict__[self._name].copy()

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self._name] = value
