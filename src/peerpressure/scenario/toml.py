"""Plain values as TOML text; tomllib reads, and nothing in the standard library writes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(tables: Mapping[str, Any]) -> str:
    """Return tables of plain values as TOML, what is nested in them on one line and last.

    >>> print(toml_text({"run": {"steps": 10, "record": {"every": 2}}}))
    [run]
    steps = 10
    record = { every = 2 }
    <BLANKLINE>
    """
    return "\n".join(_table(name, values) for name, values in tables.items())


def _table(name: str, values: Mapping[str, Any]) -> str:
    ordered = sorted(values.items(), key=lambda item: isinstance(item[1], Mapping))
    lines = [f"{_key(key)} = {_value(value)}" for key, value in ordered]
    return "\n".join([f"[{_key(name)}]", *lines, ""])


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return repr(value)


def _text(value: str) -> str:
    # JSON escapes all that TOML wants escaped, but for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
