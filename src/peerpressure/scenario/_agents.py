"""Section [agents]: hidden opinions, stubbornness, the start of the public opinions, and adaptation.

Each is one number per agent: given as a list, drawn from a law, or read from a column of a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, Tag, model_validator

from peerpressure.adaptation import Adaptation
from peerpressure.errors import InvalidInputError, did_you_mean, first_few, message
from peerpressure.labels import texts_of
from peerpressure.networks import Network
from peerpressure.scenario._section import (
    InputFile,
    Numbers,
    OwnSeed,
    Positive,
    Section,
    Share,
    alternatives,
    key_of,
    tag,
)
from peerpressure.scenario._system import AnySchedule, ScheduleSection, choose_schedule
from peerpressure.schedules import Schedule
from peerpressure.tables import TextTable, naming, places_in, read_table

Vector: TypeAlias = NDArray[np.float64]
Deviation: TypeAlias = Annotated[float, Field(ge=0)]

_BY = "add a column with their names, or set by = to the column that has them"


class UniformDraw(Section):
    """Values drawn uniformly between two numbers."""

    law: Literal["uniform"] = "uniform"
    low: float = 0.0
    high: float = 1.0
    seed: OwnSeed = None

    @model_validator(mode="after")
    def _in_order(self) -> UniformDraw:
        # Equal ends are legal: all agents then have the same value.
        if self.low > self.high:
            rule = "low must not be above high"
            raise InvalidInputError(message(rule, got=f"{self.low:g} and {self.high:g}", remedy="exchange them"))
        return self

    def values(self, network: Network, rng: np.random.Generator) -> Vector:
        """Return one value for each agent."""
        return rng.uniform(self.low, self.high, network.n)


class NormalDraw(Section):
    """Values drawn from a normal distribution."""

    law: Literal["normal"] = "normal"
    mean: float = 0.0
    std: Deviation = 1.0
    seed: OwnSeed = None

    def values(self, network: Network, rng: np.random.Generator) -> Vector:
        """Return one value for each agent."""
        return rng.normal(self.mean, self.std, network.n)


class TwoCamps(Section):
    """Two groups: a ``share`` of the agents, chosen at random, around ``high``, and the others around ``low``."""

    law: Literal["two_camps"] = "two_camps"
    low: float = 0.0
    high: float = 1.0
    share: Share = 0.5
    std: Deviation = 0.0
    seed: OwnSeed = None

    def values(self, network: Network, rng: np.random.Generator) -> Vector:
        """Return one value for each agent."""
        # A permutation gives exactly the rounded share, where independent draws would only on average.
        above = rng.permutation(network.n) < round(self.share * network.n)
        # Drawn after the groups, so that std does not change their members.
        return np.where(above, self.high, self.low) + rng.normal(0.0, self.std, network.n)


class FromColumn(Section):
    """A column of a table; ``by`` is the column with the names of the agents, detected if left out."""

    file: InputFile
    column: Annotated[str, Field(min_length=1)]
    by: Annotated[str | None, Field(description="the column with the names of the agents; detected if left out")] = None

    def values(self, network: Network, rng: np.random.Generator) -> Vector:
        """Return one value for each agent."""
        return self.matched(network)[1]

    def matched(self, network: Network) -> tuple[Match, Vector]:
        """Return the match of rows to agents, and one value for each agent in the order of the network."""
        with naming(self.file, "a table of agents"):
            table = read_table(self.file)
            # A table without rows cannot have a heading; ``find`` then reports the missing column.
            table = table.headed() if table.rows else table
            column = table.find(self.column)
            table.check_widths()
            match = match_agents(table, network.labels, column, self.by)
            return match, table.taken(match.rows).numbers(column, self.column)

    def found(self, network: Network) -> str:
        """Describe which values were matched to which agents, and how."""
        match, values = self.matched(network)
        pairs = zip(network.labels, values.tolist(), strict=True)
        first = first_few((f"{label!r} {value:g}" for label, value in pairs), network.n)
        how = "in the order of the agents" if match.column is None else f"matched by {match.column!r}"
        left = (
            f"; left out, not in the network: {first_few(map(repr, match.others), len(match.others))}"
            if match.others
            else ""
        )
        return f"{self.file}, column {self.column!r}, {how}: {first}{left}"


@dataclass(frozen=True)
class Match:
    """Rows of a table matched with agents.

    Attributes
    ----------
    column : str or None
        Name of the column with the labels; None if rows are in the order of the agents.
    rows : list of int
        The row of each agent, in the order of the network.
    others : list of str
        Names in rows that belong to no agent of the network.
    """

    column: str | None
    rows: list[int]
    others: list[str]


def match_agents(table: TextTable, labels: Sequence[Any], value: int, by: str | None = None) -> Match:
    """Match rows with agents by the column that holds the labels of the network.

    Rows are taken in order only if agents have no labels and the table does not number them. Rows of other names are
    ignored if agents have labels, because an edge list does not contain isolated agents.

    Parameters
    ----------
    table : Table
        A table with a heading.
    labels : sequence
        The labels of the network; a range if it has none.
    value : int
        The column of values, which has no names in it.
    by : str, optional
        The column of names; detected by default.

    Raises
    ------
    InvalidInputError
        If an agent has no row or more than one, or if the table leaves open whose rows they are.
    """
    # Labels are compared as text, since a table has no types.
    heading, known = table.heading or (), texts_of(labels)
    if by is not None:
        return _matched(table, labels, known, table.find(by))
    columns = {k: table.column(k) for k in range(table.width) if k != value}
    named = {k for k in columns if places_in([heading[k]], ("agent",))}
    # A column is a candidate only if it names every agent.
    whole = [k for k, texts in columns.items() if known.keys() <= set(texts)]
    chosen = [k for k in whole if k in named] or whole
    # Several columns with the same names are no conflict.
    if any(columns[k] != columns[chosen[0]] for k in chosen):
        rule, got = "one column must name the agents", ", ".join(repr(heading[k]) for k in chosen)
        raise InvalidInputError(message(rule, got=got, remedy="set by = to the one that does"))
    if chosen:
        found = _matched(table, labels, known, chosen[0])
        if isinstance(labels, range) and chosen[0] not in named and found.rows != [*labels]:
            # A rank or a group can be a list of all whole numbers below n, too.
            rule = "a column that numbers agents without labels must be called agent"
            remedy = "set by = to its name if it does, and remove it if not"
            raise InvalidInputError(message(rule, got=repr(heading[chosen[0]]), remedy=remedy))
        return found
    # No column names all agents: the closest one is used for a message that lists the missing names.
    hits = {k: len(known.keys() & set(texts)) for k, texts in columns.items()}
    unlabelled = isinstance(labels, range)
    # A column that names most of the agents, or some of them and is called so, was meant to name them all.
    near = [k for k in columns if hits[k] and (k in named or (not unlabelled and 2 * hits[k] >= len(known)))]
    if near:
        return _matched(table, labels, known, max(near, key=hits.__getitem__))
    if not unlabelled:
        rule, got = "a table must name the agents of a network with labels", f"columns {', '.join(map(repr, heading))}"
        raise InvalidInputError(message(rule, got=got, remedy=f"{_BY}; the labels are {_listed(labels)}"))
    if len(table.rows) != len(labels):
        rule = f"there must be one row for each of the {len(labels)} agents"
        raise InvalidInputError(message(rule, got=f"{len(table.rows)} rows", remedy="add or remove rows"))
    return Match(None, list(range(len(labels))), [])


def _matched(table: TextTable, labels: Sequence[Any], known: dict[str, int], column: int) -> Match:
    name, texts = (table.heading or ())[column], table.column(column)
    rows: dict[str, int] = {}
    for k, text in enumerate(texts):
        if text in known and rows.setdefault(text, k) != k:
            rule, got = f"the column {name!r} must name each agent once", f"{text!r} twice"
            where = f"on lines {table.rows[rows[text]].line} and {table.rows[k].line}"
            raise InvalidInputError(message(rule, got=f"{got}, {where}", remedy="keep one of them"))
    missing = [label for label in labels if str(label) not in rows]
    others = list(dict.fromkeys(text for text in texts if text not in known))
    unlabelled = isinstance(labels, range)
    # For agents without labels a further number is most likely a mistake of counting, from 1 instead of 0.
    if missing or (others and unlabelled):
        parts = [f"no row for {_listed(missing)}"] * bool(missing) + [f"rows for others: {_listed(others)}"] * bool(
            others
        )
        hint = did_you_mean(str(missing[0]), others) if missing else ""
        remedy = f"correct the names{hint}, or set by = to another column"
        if unlabelled:
            remedy = "agents without labels are counted from 0, without gaps"
        rule = f"the column {name!r} must name each agent of the network"
        raise InvalidInputError(message(rule, got=", and ".join(parts), remedy=remedy))
    # ``known`` is in the order of the network.
    return Match(name, [rows[text] for text in known], others)


def _listed(labels: Sequence[Any]) -> str:
    return first_few(map(repr, labels), len(labels))


def choose_draw(value: Any) -> str | None:
    """Return the tag of the alternative: a list, a number, a word, a law or a file."""
    if isinstance(value, list | tuple):
        return tag("list")
    # bool is an int too; it is tagged as a number, whose strict type then rejects it.
    if isinstance(value, int | float | str):
        return tag("word") if isinstance(value, str) else tag("number")
    key, word = key_of(value, "file", "law") or (None, None)
    return tag("file") if key == "file" else tag(str(word)) if word in ("uniform", "normal", "two_camps") else None


# Each part draws from a stream of its own, so that changing the law of one does not change the others.
_STREAMS = {"hidden": 1, "stubbornness": 2, "start": 3, "adaptation_weight": 4}


def values_of(part: Any, name: str, network: Network, seed: int) -> Vector | float | str:
    """Return the values of a part of [agents]: one number for each agent, or a single number or word."""
    if isinstance(part, int | float | str):
        return part
    if isinstance(part, list):
        return np.array(part, dtype=np.float64)
    # A file has no seed.
    own = seed if isinstance(part, FromColumn) or part.seed is None else part.seed
    # A list of two numbers seeds a stream of its own, independent of the other parts and of the network.
    drawn: Vector = part.values(network, np.random.default_rng([own, _STREAMS[name]]))
    return drawn


def _checked(formula: str) -> str:
    # Built only to raise an error for an invalid formula.
    Adaptation(formula)
    return formula


Formula: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_checked)]


def _choose_rate(value: Any) -> str | None:
    if isinstance(value, int | float | str):
        return tag("text") if isinstance(value, str) else tag("number")
    return choose_schedule(value)


def _choose_weight(value: Any) -> str | None:
    chosen = choose_draw(value)
    # A normal law would leave the interval from 0 to 1.
    return None if chosen in (tag("word"), tag("normal")) else chosen


Rate: TypeAlias = Annotated[
    Annotated[Share, Tag("<number>")] | Annotated[Formula, Tag("<text>")] | AnySchedule,
    alternatives(
        _choose_rate,
        "the rate must be a number from 0 to 1, a formula in t, or a schedule with its kind",
        "for instance 0.01, or '0.1/t'",
    ),
]
Weights: TypeAlias = Annotated[
    Annotated[Share, Tag("<number>")]
    | Annotated[Annotated[list[Share], Field(min_length=1)], Tag("<list>")]
    | Annotated[UniformDraw, Tag("<uniform>")]
    | Annotated[TwoCamps, Tag("<two_camps>")]
    | Annotated[FromColumn, Tag("<file>")],
    alternatives(
        _choose_weight,
        "adaptation_weight must be a number from 0 to 1, a list, a law (uniform or two_camps) or a file",
        "for instance { law = 'two_camps', share = 0.3 }, by which 3 of 10 agents adapt and the others never do",
    ),
]


def _rate_of(rate: float | str | ScheduleSection) -> Schedule | float | str:
    return rate.schedule() if isinstance(rate, ScheduleSection) else rate


class AdaptationTable(Section):
    """Adaptation rate η_t of an agent: a ``rate``, the same for all, times the agent's ``adaptation_weight``."""

    rate: Rate
    adaptation_weight: Weights = 1.0

    @model_validator(mode="after")
    def _can_be_built(self) -> AdaptationTable:
        Adaptation(_rate_of(self.rate))
        return self


def _choose(value: Any) -> str | None:
    if isinstance(value, int | float | str):
        return tag("text") if isinstance(value, str) else tag("number")
    return tag("table") if isinstance(value, dict | AdaptationTable) else None


AdaptationSection: TypeAlias = Annotated[
    Annotated[Share, Tag("<number>")] | Annotated[Formula, Tag("<text>")] | Annotated[AdaptationTable, Tag("<table>")],
    alternatives(
        _choose,
        "adaptation must be a number from 0 to 1, a formula in t, or { rate = …, adaptation_weight = … }",
        "for instance 0.01: at every step 1 % of the way to the agent's own public opinion",
    ),
]


def adaptation_of(part: float | str | AdaptationTable | None, network: Network, seed: int) -> Adaptation | None:
    """Return the adaptation of hidden opinions; None if they are constant."""
    if part is None:
        return None
    if not isinstance(part, AdaptationTable):
        return Adaptation(part)
    adaptation_weight: Any = values_of(part.adaptation_weight, "adaptation_weight", network, seed)
    return Adaptation(_rate_of(part.rate), adaptation_weight)


def _choose_hidden(value: Any) -> str | None:
    chosen = choose_draw(value)
    # One hidden opinion for all agents is a consensus from the start, hence most likely a mistake.
    return None if chosen in (tag("number"), tag("word")) else chosen


def _choose_stubbornness(value: Any) -> str | None:
    chosen = choose_draw(value)
    # Stubbornness must be positive, which a normal law or camps with a spread cannot guarantee.
    return None if chosen in (tag("word"), tag("normal"), tag("two_camps")) else chosen


def _choose_start(value: Any) -> str | None:
    chosen = choose_draw(value)
    return None if chosen == tag("number") else chosen


_REMEDY = "for instance { law = 'uniform', low = 0.0, high = 1.0 } or { file = 'agents.csv', column = 'hidden' }"
Draw: TypeAlias = (
    Annotated[UniformDraw, Tag("<uniform>")]
    | Annotated[NormalDraw, Tag("<normal>")]
    | Annotated[TwoCamps, Tag("<two_camps>")]
    | Annotated[FromColumn, Tag("<file>")]
    | Annotated[Numbers, Tag("<list>")]
)
Hidden: TypeAlias = Annotated[
    Draw,
    alternatives(_choose_hidden, "hidden must be a list, a law (uniform, normal or two_camps) or a file", _REMEDY),
]
Start: TypeAlias = Annotated[
    Draw | Annotated[Literal["hidden"], Tag("<word>")],
    alternatives(_choose_start, "start must be 'hidden', a list, a law or a file", _REMEDY),
]
Stubbornness: TypeAlias = Annotated[
    Annotated[Positive, Tag("<number>")]
    | Annotated[Annotated[list[Positive], Field(min_length=1)], Tag("<list>")]
    | Annotated[UniformDraw, Tag("<uniform>")]
    | Annotated[FromColumn, Tag("<file>")],
    alternatives(_choose_stubbornness, "stubbornness must be a number, a list, a uniform law or a file", _REMEDY),
]


class Agents(Section):
    """Hidden opinions, stubbornness, the public opinions at the start, and adaptation."""

    hidden: Hidden = UniformDraw()
    stubbornness: Stubbornness = 1.0
    start: Start = "hidden"
    adaptation: Annotated[AdaptationSection | None, Field(description="constant hidden opinions if left out")] = None
