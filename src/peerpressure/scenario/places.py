"""Where in a TOML file a key stands; tomllib does not tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]

_TABLE = re.compile(r"\s*\[(\[?)([^\[\]]+)\]")
_PART = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_ENTRY = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=")
_ASIDE = re.compile(r'"(?:\\.|[^"\\])*"|\'[^\']*\'|#.*')


def lines_of(text: str) -> dict[Path, int]:
    r"""Return the line, counted from 1, on which each table and each key of a file begins.

    >>> lines_of("[run]\nsteps = 10\n")
    {('run',): 1, ('run', 'steps'): 2}
    """
    found: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    depth, quoted = 0, ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not depth and not quoted:
            if header := _TABLE.match(line):
                table = _entered(_parts(header[2]), repeated=bool(header[1]), counts=counts)
                found.setdefault(table, number)
            elif entry := _ENTRY.match(line):
                found.setdefault((*table, *_parts(entry[1])), number)
        quoted = _still_quoted(line, quoted)
        depth = 0 if quoted else max(0, depth + _opened(line))
    return found


def _entered(parts: Path, *, repeated: bool, counts: dict[Path, int]) -> Path:
    """Return the table that a header opens; the same one again, in double brackets, is the next of its kind."""
    if not repeated:
        return parts
    counts[parts] = counts.get(parts, -1) + 1
    return (*parts, counts[parts])


def line_of(path: Sequence[str | int], lines: dict[Path, int]) -> int | None:
    """Return the line of a key, or of the nearest thing around it that has one."""
    for end in range(len(path), 0, -1):
        if tuple(path[:end]) in lines:
            return lines[tuple(path[:end])]
    return None


def _parts(dotted: str) -> Path:
    return tuple(part.strip("\"'") for part in re.findall(_PART, dotted))


def _opened(line: str) -> int:
    """Return how many more brackets a line opens than it closes; those of a table's header cancel."""
    plain = _ASIDE.sub("", line)
    return plain.count("[") + plain.count("{") - plain.count("]") - plain.count("}")


def _still_quoted(line: str, quoted: str) -> str:
    """Return the triple quotes inside which the line ends, if any."""
    for mark in re.findall(r'"""|\'\'\'', line):
        quoted = "" if mark == quoted else quoted or mark
    return quoted
