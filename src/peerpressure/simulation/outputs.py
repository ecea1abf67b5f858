"""Tables of answers that were not simulated here: their columns, times and agents, and surveys with a column a wave."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, InvalidInputError, first_few
from peerpressure.model import Model
from peerpressure.support.dates import (
    ROUNDING,
    DateError,
    as_seconds,
    calendar_steps,
    check_no_clocks,
    check_no_dates,
    is_date,
)
from peerpressure.support.parameters import composed, find_labels, texts_of
from peerpressure.support.table_files import read_table
from peerpressure.support.tables import (
    INDEX,
    ROLES,
    UNNAMED,
    TextTable,
    cell_text,
    is_number,
    places_in,
    plain_name,
)

if TYPE_CHECKING:
    import pandas


# How other programs write an answer that is missing.
MISSING = frozenset(["", "na", "n/a", "nan", "null", "none"])
LAYOUT = (
    "use columns time, agent, public; or time and one column for each agent; or agent and one column for each wave, "
    "called wave1, wave2 and so on"
)
# Columns of a summary, and of a count of rows, which are nobody's answers.
SUMMARIES = frozenset(["mean", "average", "avg", "median", "sum", "total", "sd", "std", "n"])
KEYS = ("replicate", "topic", "time")  # columns that both layouts may have beside the answers
# Dates as numbers, such as 20240131, and Unix times are larger; so many steps take minutes.
MOST_STEPS = 10_000_000
STEP = (
    "for dates and Unix times set the length of a step, for instance step = '1 day' (--step on the command line), or "
    "'wave' to number them 1, 2, 3 in their order"
)


def read_frame(path: str | Path, model: Model | None, *, calendar: bool = False) -> tuple[pandas.DataFrame, str]:
    """Return the answers in a file as ``Trajectory.from_dataframe`` takes them, and how the file was read.

    The index of the frame has the lines. Without a model, every column that has no other role is an agent's, unless
    there is a column of agents. Waves are numbered, unless ``calendar`` keeps their headings as times.
    """
    import pandas

    table = read_table(path)
    if not len(table):
        raise FileFormatError("a file of answers must not be empty", got="no rows", remedy=LAYOUT)
    table = table.headed()
    table.check_rows()
    known = None if model is None else texts_of(model.network.agents)
    waves = waves_in(table.heading or (), table.column, known)
    if waves is not None:
        columns = {name: table.column(k) for name, k in waves.keys.items()}
        columns |= {name: _values(table, k) for name, k in waves.columns.items()}
        used = {*waves.keys.values(), *waves.columns.values()}
        others = [name for k, name in enumerate(table.heading or ()) if k not in used]
        words = table.description(waves.keys, rest=waves.description(others, calendar=calendar))
        return waves.rows(pandas.DataFrame(columns, index=table.lines), calendar=calendar), words
    names = _names(table, dict.fromkeys(_unnamed(table), 0) if known is None else known)
    check_no_clocks(table.column(next(k for k, name in names.items() if name == "time")))
    texts = {k for k, name in names.items() if name in ("agent", "topic")}
    columns = {name: table.column(k) if k in texts else _values(table, k) for k, name in names.items()}
    places = {name: k for k, name in names.items() if name in (*KEYS, "agent", "public")}
    own = [name for k, name in names.items() if k not in places.values()]
    rest = f"a column for each of {len(own)} agents, {first_few(map(repr, own), len(own))}" if own else None
    return pandas.DataFrame(columns, index=table.lines), table.description(places, rest=rest)


def _names(table: TextTable, known: dict[str, int]) -> dict[int, str]:
    """Return the role of each column in use: keys, agent and public, or the answers of an agent."""
    heading = table.heading or ()
    places = table.places(KEYS, letters=True)
    # A topic may have the name of an agent.
    places = {role: k for role, k in places.items() if role != "topic" or heading[k] not in known}
    if "time" not in places:
        rule, got = (
            "answers must come with a column 'time' or columns of waves",
            f"columns {', '.join(map(repr, heading[:6]))}",
        )
        raise InvalidInputError(rule, got=got, remedy=f"{CLEARER}, or time and one column for each agent")
    names = {k: role for role, k in places.items()}
    rest = [k for k in range(table.width) if k not in names and not _is_index(heading[k], table.column(k), known)]
    # A column that is named after an agent decides for the wide layout.
    if any(heading[k] in known for k in rest):
        twice = [heading[k] for k in rest if heading.count(heading[k]) > 1]
        if twice:
            remedy = "rename or remove one of them"
            raise InvalidInputError("each agent must have one column", got=f"{twice[0]!r} twice", remedy=remedy)
        return names | {k: heading[k] for k in rest}
    roles = table.places(("agent", "public"), letters=True)
    # By its name, or as the one column whose entries are all agents.
    agents = [roles["agent"]] if "agent" in roles else [k for k in rest if set(table.column(k)) <= known.keys()]
    agent = _only("agent", agents, heading)
    others = [roles["public"]] if "public" in roles else [k for k in rest if k != agent]
    return names | {agent: "agent", _only("public", others, heading): "public"}


def _unnamed(table: TextTable) -> list[str]:
    """Return the headings of columns that are taken for agents where no model names any: all but keys and an index."""
    if {"agent", "public"} <= table.places(("agent", "public"), letters=True).keys():
        return []
    keys = table.places(KEYS, letters=True).values()
    return [
        name for k, name in enumerate(table.heading or ()) if k not in keys and not _is_index(name, table.column(k))
    ]


def _is_index(name: str, texts: Iterable[str], known: Collection[str] = ()) -> bool:
    """Return whether a column numbers the rows, as programs write it, and is called as none of the known agents."""
    if name.casefold() not in INDEX or name in known:
        return False
    numbers = [text.removesuffix(".0") for text in texts]
    # A column with a name that may be somebody's numbers all rows.
    return all(map(str.isdecimal, numbers)) and (name.casefold() in UNNAMED or _counts_rows(list(map(int, numbers))))


def _counts_rows(numbers: Sequence[object]) -> bool:
    return list(numbers) in [list(range(first, first + len(numbers))) for first in (0, 1)]


def agents_in(frame: pandas.DataFrame) -> list[Any]:
    """Return the agents of a frame with the names of columns that this module uses, in order of first appearance."""
    if {"agent", "public"} <= set(frame.columns):
        return list(frame["agent"].dropna().unique())
    agents = [name for name in frame.columns if name not in KEYS]
    doubtful = [name for k, name in enumerate(frame.columns) if name in agents and _is_nobody(frame, k)]
    if doubtful:
        rule, got = "it must be clear whose answers a column has", f"a column {str(doubtful[0])!r}"
        raise InvalidInputError(rule, got=got, remedy="remove it, or call it as the agent; " + LAYOUT)
    return agents


def _is_nobody(frame: pandas.DataFrame, k: int) -> bool:
    """Return whether a column may number rows or sum up others, or has the name of a column of agents."""
    name, values = str(frame.columns[k]), frame.iloc[:, k].tolist()
    if name.casefold() in INDEX and name.casefold() != "x":
        return True
    # A table of few times may have any answers.
    counted = len(values) > 2 and "time" in frame.columns and _counts_rows(values)
    return counted or plain_name(name) in SUMMARIES | ROLES["agent"]


def _only(role: str, columns: list[int], heading: tuple[str, ...]) -> int:
    if len(columns) != 1:
        got = ", ".join(repr(heading[k]) for k in columns) or f"none among {', '.join(map(repr, heading[:6]))}"
        raise InvalidInputError(f"one column of answers must be called {role}", got=got, remedy=LAYOUT)
    return columns[0]


def _values(table: TextTable, k: int) -> list[Any]:
    """Return numbers where the texts are numbers, None where they are missing, and else the texts themselves."""
    column = table.columns[k]
    if column.numbers is not None:
        return [*table.numbers(k, "answer").tolist()]
    texts = column.texts
    if table.has_decimal_commas(k):
        texts = [text.replace(",", ".") if is_number(text) else text for text in texts]
    values = [float(text) if is_number(text) else None if text.casefold() in MISSING else text for text in texts]
    return [values[code] for code in column.codes.tolist()]


def with_roles(frame: pandas.DataFrame, model: Model | None, *, calendar: bool = False) -> pandas.DataFrame:
    """Return a data frame with the names of columns that this module uses in place of other usual ones.

    A row for each person becomes one for each wave, with times as in ``read_frame``, and an index of rows is left out.
    """
    labels = set() if model is None else set(map(str, model.network.agents))
    waves = waves_of(frame, model)
    if waves is not None:
        roles = {k: role for role, k in waves.keys.items()} | {k: name for name, k in waves.columns.items()}
        chosen = frame.iloc[:, list(roles)]
        return waves.rows(chosen.set_axis(list(roles.values()), axis="columns"), calendar=calendar)
    texts = [map(cell_text, frame.iloc[:, k]) for k in range(frame.shape[1])]
    index = [k for k, name in enumerate(frame.columns) if _is_index(str(name), texts[k], labels)]
    frame = frame.iloc[:, [k for k in range(frame.shape[1]) if k not in index]] if index else frame
    # A column that has the name of an agent holds its answers.
    names = ["" if composed(str(name)) in labels else str(name) for name in frame.columns]
    try:
        places = places_in(names, (*KEYS, "agent", "public"), letters=True)
    except FileFormatError as error:
        raise InvalidInputError(str(error)) from None
    tidy = {"agent", "public"} <= places.keys()
    roles = {k: role for role, k in places.items() if tidy or role in KEYS}
    return frame.set_axis([roles.get(k, name) for k, name in enumerate(frame.columns)], axis="columns")


def has_agents(frame: pandas.DataFrame, model: Model | None) -> bool:
    """Return whether all columns of a data frame are called as agents of a model are."""
    return (
        model is not None and {composed(str(name)) for name in frame.columns} <= texts_of(model.network.agents).keys()
    )


def waves_of(frame: pandas.DataFrame, model: Model | None) -> Waves | None:
    """Return the waves of a data frame, or None if it has another layout."""
    if model is not None and has_agents(frame, model):
        return None
    known = None if model is None else set(texts_of(model.network.agents))
    names = [composed(str(name)) for name in frame.columns]
    try:
        return waves_in(names, lambda k: [composed(cell_text(value)) for value in frame.iloc[:, k].tolist()], known)
    except FileFormatError as error:
        raise InvalidInputError(str(error)) from None


def on_steps(frame: pandas.DataFrame, step: str | None, origin: object = None) -> tuple[pandas.DataFrame, str | None]:
    """Return the answers with steps in place of calendar times, and how these were converted."""
    import pandas

    if origin is not None and step is None:
        raise InvalidInputError("an origin must come with the length of a step", got=repr(origin), remedy=STEP)
    if "time" not in frame.columns or frame.empty:
        return frame, None  # reported with the other columns
    # Each distinct time is converted once. Sorted by first appearance, so an error names the first row.
    codes, times = pandas.factorize(frame["time"].astype(object), use_na_sentinel=False)
    check_no_clocks(times)
    if step is None:
        dated = np.array([isinstance(time, date) or (isinstance(time, str) and is_date(time)) for time in times])
        _check_rows(frame, dated[codes], "times must count steps", "time", STEP)
        numbers = [time for time in times if isinstance(time, int | float | np.number)]
        # Larger numbers are dates or Unix times in any case.
        if numbers and not max(numbers) > MOST_STEPS:
            check_no_dates(np.array(numbers))
        return frame, None
    try:
        steps, words = calendar_steps(list(times), step, origin)
    except DateError as error:
        _check_rows(frame, codes == error.place, error.rule, "time", error.remedy)
        raise
    return frame.assign(time=steps[codes]), words


def multiples(frame: pandas.DataFrame, step: float) -> pandas.DataFrame:
    """Return the answers with the number of the step in place of a real time."""
    import pandas

    # Text that is no number becomes nan, and the negated comparison below reports it like any other time.
    steps = pandas.to_numeric(frame["time"], errors="coerce").to_numpy(dtype=np.float64) / step
    # Times such as 0.3 at a step of 0.1 are not exact multiples in floating point.
    off = np.flatnonzero(~(np.abs(steps - np.rint(steps)) <= ROUNDING))
    if off.size:
        rule = f"answers must be seen at multiples of the step {step:g}"
        got = f"time {frame['time'].iloc[off[0]]} in line {frame.index[off[0]]}"
        remedy = "set the step of [time] to that of the answers, or for dates the length of a step"
        raise InvalidInputError(rule, got=got, remedy=remedy)
    return frame.assign(time=np.rint(steps))


def by_topic(frame: pandas.DataFrame) -> dict[str, pandas.DataFrame]:
    """Return the answers of each topic, in the order of first appearance; all by the name "" if there are none."""
    if "topic" not in frame.columns:
        return {"": frame}
    missing = frame["topic"].isna() | (frame["topic"].astype(str).str.strip() == "")
    _check_rows(frame, missing.to_numpy(), "each answer must have a topic if one has", "topic", "name them all")
    # By text, so 1 and "1" are one topic.
    topics = frame.groupby(frame["topic"].astype(str).map(composed), sort=False)
    return {str(topic): part.drop(columns="topic") for topic, part in topics}


# What a frame remembers of a table with one column for each agent: how many rows it had.
_WIDE = "peerpressure rows of a wide table"


def _tidy(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return one row for each answer, with columns replicate, time, agent and public."""
    columns = set(frame.columns)
    if "time" not in columns or frame.empty:
        rule = "answers must come with a column 'time' and at least one row"
        got = f"{len(frame)} rows with columns {', '.join(map(repr, list(frame.columns)[:6]))}"
        raise InvalidInputError(rule, got=got, remedy=LAYOUT)
    keys = [name for name in KEYS if name in columns]
    wide = not {"agent", "public"} <= columns
    rows = frame.melt(keys, var_name="agent", value_name="public", ignore_index=False) if wide else frame
    if wide:
        rows.attrs[_WIDE] = len(frame)
    return rows if "replicate" in columns else rows.assign(replicate=0)


def outputs_from_frame(frame: pandas.DataFrame, model: Model) -> dict[str, Any]:
    """Return replicates, times, agents, states and the final state in a data frame; inconsistent rows raise."""
    own = model.network.topics
    if own and "topic" not in frame.columns:
        got, remedy = f"columns {', '.join(map(repr, list(frame.columns)[:6]))}", "add a column 'topic'"
        raise InvalidInputError(f"answers must name the topic, one of {list(own)}", got=got, remedy=remedy)
    if not own and len(topics := by_topic(frame)) > 1:
        remedy = "select one of them with frame[frame['topic'] == ...]; peerpressure recover estimates each"
        got = first_few(map(repr, topics), len(topics))
        raise InvalidInputError("a run must be about one topic", got=got, remedy=remedy)
    rows = _tidy(frame)
    whole = {name: _numbers(rows, name, lambda v: (v >= 0) & (v == np.floor(v))) for name in ("replicate", "time")}
    public = _numbers(rows, "public", lambda v: ~np.isinf(v), missing=True)
    agent = _positions(rows, model)
    replicates, r = np.unique(whole["replicate"].astype(np.int64), return_inverse=True)
    _check_rows(rows, whole["time"] > MOST_STEPS, f"time must be at most {MOST_STEPS:,} steps", "time", STEP)
    times, t = np.unique(whole["time"].astype(np.int64), return_inverse=True)
    agents, a = np.unique(agent, return_inverse=True)
    # One number per answer makes duplicates a matter of counting.
    place = np.ravel_multi_index((r, t, a), shape := (replicates.size, times.size, agents.size))
    _check_rows(rows, np.bincount(place, minlength=1)[place] > 1, "each agent must have one answer at a time")
    # Combinations without a row are missing answers, NaN.
    states = np.full(shape, np.nan)
    states.flat[place] = public
    final = np.full((replicates.size, model.n), np.nan)
    final[:, agents] = states[:, -1]
    return {"replicates": replicates, "times": times, "agents": agents, "states": states, "final": final}


def _numbers(rows: pandas.DataFrame, name: str, legal: Any, *, missing: bool = False) -> NDArray[np.float64]:
    """Return a column as numbers; text and illegal values raise an error that names their rows."""
    import pandas

    given = rows[name]
    # Text becomes NaN, which ``absent`` distinguishes from answers that are missing.
    values = pandas.to_numeric(given, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    absent = given.isna().to_numpy()
    text = np.isnan(values) & ~(absent if missing else np.zeros_like(absent))
    kind = "a number" if missing else "a whole number, 0 or more"
    _check_rows(rows, text | (~np.isnan(values) & ~legal(values)), f"{name} must be {kind}", name)
    return np.asarray(values)


def _positions(rows: pandas.DataFrame, model: Model) -> NDArray[np.int64]:
    """Return the positions of the agents; a label may also be given as its text, as a file has it."""
    import pandas

    network, positions = model.network, np.zeros(len(rows))
    for column, labels in {"agent": network.agents, "topic": network.topics}.items():
        if not labels:
            continue
        # Each distinct name is looked up once; a missing one has the code −1, and hence no position.
        codes, names = pandas.factorize(rows[column])
        places = [np.nan if place is None else place for place in find_labels(names.tolist(), labels)]
        own = np.array([*places, np.nan])[codes]
        remedy = "correct the name, or leave the answer out"
        if column == "agent":
            remedy = f"{remedy}; people without ties are named by a table of agents, a matrix or a graph"
        _check_rows(rows, np.isnan(own), f"{column}s must be ones of the model's network", column, remedy)
        positions = positions * len(labels) + own
    return np.asarray(positions, dtype=np.int64)


def _check_rows(
    rows: pandas.DataFrame,
    bad: NDArray[Any],
    rule: str,
    column: str | None = None,
    remedy: str = "repair or remove them; leave a missing answer empty",
) -> None:
    if not bad.any():
        return
    where, is_wide = np.flatnonzero(bad), _WIDE in rows.attrs
    if is_wide:
        # Column after column: in the order of the table they stand where their rows do.
        where = where[np.argsort(where % rows.attrs[_WIDE], kind="stable")]
    found = rows.iloc[where]
    if is_wide and column == "agent":
        names = [repr(name) for name in dict.fromkeys(found[column])]
        got = f"column {first_few(names, len(names))}"
    else:
        whose = f" of agent {found['agent'].tolist()[0]}" if is_wide and column == "public" else ""
        value = "" if column is None else f"{found[column].tolist()[0]!r}{whose} in "
        places = [str(place) for place in dict.fromkeys(found.index)]
        got = f"{value}row {', '.join(places[:5])}" + (f" and {len(places) - 5} more" if len(places) > 5 else "")
    raise InvalidInputError(rule, got=got, remedy=remedy)


# Words of which a heading is a wave if a number follows; those of the first set count waves.
COUNTS = frozenset(["wave", "w", "round", "survey", "panel", "step", "measurement", "observation", "obs"])
TIMES = frozenset(["t", "time", "year", "y", "month", "m", "week", "wk", "day", "d", "date"])
ANSWERS = ROLES["public"] | {"public"}
YEAR = 1000  # from here on, numbers are not counts
CLEARER = "call waves wave1, wave2 and so on, or use columns time, agent, public"

_MONTH = re.compile(r"\d{4}-\d\d")
# What stands before and behind wave1, w_1 or 1, such as trust_w1, w1_trust, trust_2019 or trust.1.
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
    # Columns that may stand beside that of the persons.
    keys = places_in(names, ("replicate", "topic"))
    families = _families([(k, name) for k, name in enumerate(names) if k not in keys.values()])
    members = {k for family in families for k, _ in family}
    rest = [k for k in range(len(names)) if k not in members and k not in keys.values()]
    agent = _agent(names, rest, texts, known) if families else None
    if agent is None:
        return None
    if len(families) > 1:
        got = " and ".join(repr(names[family[0][0]]) for family in families[:2])
        rule = "one set of columns must be the waves"
        raise InvalidInputError(rule, got=f"several, such as {got}", remedy="keep the columns of one question")
    columns = [names[k] for k, _ in families[0]]
    # An id may number the rows.
    is_named = bool(places_in([names[agent]], ("agent",))) and names[agent].casefold() not in ("id", "ids")
    if known is not None and set(columns) <= set(known) and not is_named:
        rule, got = "it must be clear whether columns are agents or waves", first_few(map(repr, columns), len(columns))
        raise InvalidInputError(rule, got=got, remedy=f"{CLEARER}, or add a column 'time'")
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
    stems = {name for _, name in headings}
    for k, name in headings:
        found, day = _HEADING.fullmatch(name), _day(name)
        if day is not None:
            families.setdefault(("date",), []).append((k, float(as_seconds([day])[0])))
        elif found is not None and _is_wave(found, stems):
            parts = (found["before"].casefold(), found["word"].casefold(), found["after"].casefold())
            families.setdefault(parts, []).append((k, float(found["number"])))
    return [family for family in families.values() if len(family) > 1]


def _day(name: str) -> str | None:
    """Return the first day that a heading names, also as R spells it, such as X2024.01.31."""
    name = name.removeprefix("X").replace(".", "-") if name.startswith("X") else name
    return name if is_date(name) else f"{name}-01" if _MONTH.fullmatch(name) else None


def _is_wave(found: re.Match[str], stems: Collection[str]) -> bool:
    word, number, heading = found["word"].casefold(), found["number"], found[0]
    if word in COUNTS | TIMES | ANSWERS or number == heading:
        return True
    stem = heading[: found.start("number")]
    # Years, which R sets behind X, and its reshape(), unless a number tells equal headings apart.
    is_year = len(number) == 4 and YEAR < int(number) < 3 * YEAR
    return (is_year and (word == "x" or stem[-1:] in "_.- ")) or (stem[-1:] == "." and stem[:-1] not in stems)


def _steps(values: Sequence[float], names: Sequence[str]) -> list[int]:
    """Return the step of each wave: 1, 2, 3 and so on, with the gaps of words that count waves."""
    gaps = np.diff(values)
    if not gaps.all():
        twice = names[int(np.argmin(gaps)) + 1]
        raise InvalidInputError("waves must differ", got=f"{twice!r} again", remedy=CLEARER)
    found = _HEADING.fullmatch(names[0])
    if found is not None and found["word"].casefold() in COUNTS:
        return [int(value - values[0]) + 1 for value in values]
    # Years and dates are those of waves, which are far apart; of small numbers nothing says what lies between them.
    if values[-1] < YEAR and np.ptp(gaps):
        got = first_few(map(repr, names), len(names))
        raise InvalidInputError("waves must be numbered without gaps", got=got, remedy=CLEARER)
    return list(range(1, len(values) + 1))
