"""How long tests take, as the last recorded run has found: the slowest begin first, and ``make check`` leaves them out.

``python -m tools durations`` records them anew in ``durations.json``, which holds the mean seconds of functions that
are not fast, by file. What is not listed counts as fast, so a new test is in both commands without further ado.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

FAST = 0.03  # seconds for each set of parameters, below which a test is in `make check`
RECORDED = Path(__file__).with_name("durations.json")
ROOT = RECORDED.parent.parent

# Files, then functions, and for each the mean seconds and how many tests it is.
Durations: TypeAlias = Mapping[str, Mapping[str, tuple[float, int]]]


def recorded() -> Durations:
    """Return the durations of the last recorded run."""
    table = json.loads(RECORDED.read_text("utf-8"))
    return {file: {name: (one[0], one[1]) for name, one in names.items()} for file, names in table.items()}


def place_of(nodeid: str) -> tuple[str, str]:
    """Return the file and the function of a test, without its parameters."""
    file, _, name = nodeid.partition("[")[0].partition("::")
    return file, name


def is_slow(nodeid: str, durations: Durations) -> bool:
    """Say whether a test was recorded as one that takes long."""
    file, name = place_of(nodeid)
    return name in durations.get(file, {})


def seconds_of(file: str, durations: Durations) -> float:
    """Return how long the tests of a file take, but for the fast ones."""
    return sum(mean * count for mean, count in durations.get(file, {}).values())


def updated(durations: Durations, taken: Mapping[str, float]) -> Durations:
    """Return the durations with those of all files that were run now, and without files that are gone."""
    measured: dict[str, dict[str, list[float]]] = {}
    for nodeid, seconds in taken.items():
        file, name = place_of(nodeid)
        measured.setdefault(file, {}).setdefault(name, []).append(seconds)
    kept = {file: dict(names) for file, names in durations.items() if (ROOT / file).is_file()}
    return kept | {file: _slow(names) for file, names in measured.items()}


def _slow(names: Mapping[str, list[float]]) -> dict[str, tuple[float, int]]:
    means = {name: (float(f"{fmean(seconds):.2g}"), len(seconds)) for name, seconds in names.items()}
    return {name: one for name, one in means.items() if one[0] >= FAST}


def record(durations: Durations) -> None:
    """Write durations, a function to a line, so changes of the file can be read."""
    parts = [_part(file, names) for file, names in sorted(durations.items()) if names]
    RECORDED.write_text("{\n" + ",\n".join(parts) + "\n}\n", "utf-8")


def _part(file: str, names: Mapping[str, tuple[float, int]]) -> str:
    lines: Iterable[str] = (f"    {json.dumps(name)}: {json.dumps(one)}" for name, one in sorted(names.items()))
    return f"  {json.dumps(file)}: {{\n" + ",\n".join(lines) + "\n  }"
