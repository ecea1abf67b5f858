"""Tables of surveys: one row for each person, and one column for each wave."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from peerpressure.errors import InvalidInputError, first_few, message
from peerpressure.support.dates import as_seconds, is_date
from peerpressure.support.tables import ROLES, is_number, places_in

if TYPE_CHECKING:
    import pandas

KEYS = ("replicate", "topic")  # columns that may stand beside that of the persons
# Words of which a heading is a wave if a number follows; those of the first set count waves.
COUNTS = frozenset(["wave", "w", "round", "survey", "panel", "step", "measurement", "observation", "obs"])
TIMES = frozenset(["t", "time", "year", "y", "month", "m", "week", "wk", "day", "d", "date"])
ANSWERS = ROLES["public"] | {"public"}
YEAR = 1000  # numbers from which on are no counts
CLEARER = "call waves wave1, wave2 and so on, or use columns time, agent, public"

_MONTH = re.compile(r"\d{4}-\d\d")
# What stands before and behind wave1, w_1 or 1, such as trust_w1 or w1_trust.
_HEADING = re.compile(r"(?P<before>|.*[ _.-])(?P<word>[^\W\d_]*)[ _.-]?(?P<number>\d{1,8})(?P<after>|[ _.-].*)")


@dataclass(frozen=True)
class Waves:
    """Columns of the persons and keys by role, those of the waves by heading and in their order, and their steps."""

    keys: Mapping[str, int]
    columns: Mapping[str, int]
    steps: Sequence[int]

    def rows(self, frame: pandas.DataFrame, *, calendar: bool) -> pandas.DataFrame:
        """Return one row for each person and wave of a frame; ``calendar`` keeps headings as times."""
        names = list(self.columns)
        times = dict(zip(names, names if calendar else self.steps, strict=True))
        rows = frame.melt(list(self.keys), names, "time", "public", ignore_index=False)
        return rows.assign(time=rows["time"].map(times))

    def description(self, others: Sequence[str], *, calendar: bool) -> str:
        """Describe which columns are waves, and what the other columns are."""
        count, steps = len(self.steps), list(self.steps)
        counted = f"1 to {count}" if steps == list(range(1, count + 1)) else ", ".join(map(str, steps))
        numbered = "" if calendar else f" as step{'s' * (count > 1)} {counted}"
        parts = [f"a column for each of {count} waves, {first_few(map(repr, self.columns), count)}{numbered}"]
        return "; ".join([*parts, *([f"not used: {', '.join(map(repr, others))}"] if others else [])])


def waves_in(
    names: Sequence[str], texts: Callable[[int], Collection[str]], known: Collection[str] | None
) -> Waves | None:
    """Return the waves of a table, or None if it has another layout.

    ``texts`` gives the texts of a column, and ``known`` has the agents of the network, if there is one.
    """
    if "time" in places_in(names, ("time",), letters=True):
        return None
    keys = places_in(names, KEYS)
    families = _families([(k, name) for k, name in enumerate(names) if k not in keys.values()])
    members = {k for family in families for k, _ in family}
    rest = [k for k in range(len(names)) if k not in members and k not in keys.values()]
    agent = _agent(names, rest, texts, known) if families else None
    if agent is None:
        return None
    if len(families) > 1:
        got = " and ".join(repr(names[family[0][0]]) for family in families[:2])
        rule = "one set of columns must be the waves"
        raise InvalidInputError(message(rule, got=f"several, such as {got}", remedy="keep the columns of one question"))
    columns = [names[k] for k, _ in families[0]]
    # An id may number the rows.
    is_named = bool(places_in([names[agent]], ("agent",))) and names[agent].casefold() not in ("id", "ids")
    if known is not None and set(columns) <= set(known) and not is_named:
        rule, got = "it must be clear whether columns are agents or waves", first_few(map(repr, columns), len(columns))
        raise InvalidInputError(message(rule, got=got, remedy=f"{CLEARER}, or add a column 'time'"))
    ordered = sorted(families[0], key=lambda member: member[1])
    steps = _steps([value for _, value in ordered], [names[k] for k, _ in ordered])
    return Waves({"agent": agent, **keys}, {names[k]: k for k, _ in ordered}, steps)


def _agent(
    names: Sequence[str], rest: Sequence[int], texts: Callable[[int], Collection[str]], known: Collection[str] | None
) -> int | None:
    """Return the column of persons: by its name, by its texts, or the first one if these are no numbers."""
    named = places_in([names[k] for k in rest], ("agent",))
    if named:
        return rest[named["agent"]]
    if known is None:
        return 0 if 0 in rest and not any(is_number(text) or is_date(text) for text in texts(0)) else None
    # Persons of whom the network knows some are meant to be its agents, and an error names the others.
    near = [k for k in rest if 2 * sum(text in known for text in texts(k)) >= max(len(texts(k)), 1)]
    return near[0] if len(near) == 1 else None


def _families(headings: Sequence[tuple[int, str]]) -> list[list[tuple[int, float]]]:
    """Return the columns that differ in a number or a date alone, with that number: two at least."""
    families: dict[tuple[str, ...], list[tuple[int, float]]] = {}
    for k, name in headings:
        found = _HEADING.fullmatch(name)
        if is_date(name) or _MONTH.fullmatch(name):
            seconds = as_seconds([name if is_date(name) else f"{name}-01"])
            families.setdefault(("date",), []).append((k, float(seconds[0])))
        elif found is not None and _is_wave(found):
            parts = (found["before"].casefold(), found["word"].casefold(), found["after"].casefold())
            families.setdefault(parts, []).append((k, float(found["number"])))
    return [family for family in families.values() if len(family) > 1]


def _is_wave(found: re.Match[str]) -> bool:
    return found["word"].casefold() in COUNTS | TIMES | ANSWERS or found["number"] == found[0]


def _steps(values: Sequence[float], names: Sequence[str]) -> list[int]:
    """Return the step of each wave: 1, 2, 3 and so on, with the gaps of words that count waves."""
    gaps = np.diff(values)
    if not gaps.all():
        twice = names[int(np.argmin(gaps)) + 1]
        raise InvalidInputError(message("waves must differ", got=f"{twice!r} again", remedy=CLEARER))
    found = _HEADING.fullmatch(names[0])
    if found is not None and found["word"].casefold() in COUNTS:
        return [int(value - values[0]) + 1 for value in values]
    # Years and dates are those of waves, which are far apart; of small numbers nothing says what lies between them.
    if values[-1] < YEAR and np.ptp(gaps):
        got = first_few(map(repr, names), len(names))
        raise InvalidInputError(message("waves must be numbered without gaps", got=got, remedy=CLEARER))
    return list(range(1, len(values) + 1))
