"""Section [agents]: hidden opinions, stubbornness, susceptibility, the start of the public opinions, and adaptation.

Each is one number per agent: given as a list, drawn from a law, or read from a file. With [topics], hidden opinions and
the start are one number per agent and topic: a list for each agent, a law for all, or one column for each topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from peerpressure.errors import InvalidInputError, contrast, did_you_mean, first_few, message
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.step import Array
from peerpressure.networks import Network
from peerpressure.networks.formats import GRAPHS, attribute_table, is_graph_file
from peerpressure.networks.validation import Isolated
from peerpressure.scenario.section import (
    AgentLabel,
    Choice,
    Feature,
    InputFile,
    Numbers,
    OwnSeed,
    Positive,
    Rows,
    Section,
    Share,
    alternatives,
    as_labels,
    chosen_by,
    controls,
    key_of,
    limits,
    real,
    share,
    tag,
)
from peerpressure.scenario.system import AnySchedule, ScheduleSection, choose_schedule
from peerpressure.schedules import Schedule
from peerpressure.support.files import naming
from peerpressure.support.parameters import Slider, summary, texts_of
from peerpressure.support.table_files import read_table
from peerpressure.support.tables import TextTable, places_in

# Values of agents from columns of tables and attributes of graphs, matched with the agents by their labels.


Name: TypeAlias = Annotated[str, Field(min_length=1)]
Names: TypeAlias = Annotated[
    Annotated[Name, tag("text")] | Annotated[Annotated[list[Name], Field(min_length=1)], tag("list")],
    chosen_by(lambda value: "list" if isinstance(value, list | tuple) else "text"),
    Field(description="a name, or one for each topic"),
]
_BY = "add a column with their names, or set by = to the column that has them"


class FromColumn(Section):
    """A column of a table, or one for each topic; ``by`` names the column with the agents, detected if left out."""

    file: Annotated[InputFile, Field(description="a table, or a graph with attributes of its nodes")]
    column: Names
    by: Annotated[str | None, Field(description="the column with the names of the agents; detected if left out")] = None

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [self.column] if isinstance(self.column, str) else self.column

    def matched(self, network: Network) -> tuple[Match, Array]:
        """Return the match of rows to agents, and the values of each agent in the order of the network.

        Several columns give an array of shape (agents, columns).
        """
        with naming(self.file, "a table of agents"):
            matches = [self._matched(name, network) for name in self.names]
        values = [numbers for _, numbers in matches]
        return matches[0][0], values[0] if isinstance(self.column, str) else np.column_stack(values)

    def _matched(self, name: str, network: Network) -> tuple[Match, Array]:
        if is_graph_file(self.file):
            table, _ = attribute_table(Path(self.file), name)
        else:
            table = read_table(self.file).headed()
        column = table.find(name)
        table.check_rows()
        match = match_agents(table, network.agents, [table.find(other) for other in self.names], self.by)
        return match, table.taken(match.rows).numbers(column, name)

    def describe(self, network: Network) -> str:
        """Describe which values were matched to which agents, and how."""
        match, values = self.matched(network)
        rows = zip(network.agents, values.reshape(len(values), -1).tolist(), strict=True)
        first = first_few((f"{label!r} {' '.join(f'{value:g}' for value in row)}" for label, row in rows), len(values))
        how = "in the order of the agents" if match.column is None else f"matched by {match.column!r}"
        left = (
            f"; left out, not in the network: {first_few(map(repr, match.others), len(match.others))}"
            if match.others
            else ""
        )
        columns = f"column{'s' * (len(self.names) > 1)} {', '.join(map(repr, self.names))}"
        return f"{self.file}, {columns}, {how}: {first}{left}"


class FromAttribute(Section):
    """An attribute of the nodes in the file of the network."""

    attribute: Annotated[Names, Field(description="an attribute of the nodes in the file of the network")]

    def column(self, file: str | None) -> FromColumn:
        """Return the same values as a column of the network's file."""
        if file is None or not is_graph_file(file):
            rule = f"an attribute must be one of a network file ({', '.join(GRAPHS)})"
            remedy = "set file in [network] to such a graph, or take the values from a table with file and column"
            raise InvalidInputError(message(rule, got=repr(self.attribute), remedy=remedy))
        return FromColumn.model_construct(file=file, column=self.attribute)


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


def match_agents(table: TextTable, labels: Sequence[Any], values: Sequence[int], by: str | None = None) -> Match:
    """Match rows with agents by the column that holds the labels of the network.

    Rows are taken in order only if agents have no labels and the table does not number them. Rows of other names are
    ignored if agents have labels, because an edge list does not contain isolated agents.

    Parameters
    ----------
    table : Table
        A table with a heading.
    labels : sequence
        The labels of the network; a range if it has none.
    values : sequence of int
        The columns of values, which have no names in them.
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
    columns = {k: table.column(k) for k in range(table.width) if k not in values}
    # Numbers under no name count rows, as R and pandas write them.
    columns = {k: texts for k, texts in columns.items() if heading[k] or not all(text.isdecimal() for text in texts)}
    named = {k for k in columns if places_in([heading[k]], ("agent",))}
    # A column is a candidate only if it names every agent.
    whole = [k for k, texts in columns.items() if known.keys() <= set(texts)]
    chosen = [k for k in whole if k in named] or whole
    # Several columns with the same names are no conflict.
    if any(columns[k] != columns[chosen[0]] for k in chosen):
        rule, got = "one column must name the agents", ", ".join(repr(heading[k]) for k in chosen)
        raise InvalidInputError(message(rule, got=got, remedy="set by = to the one that does"))
    if chosen:
        match = _matched(table, labels, known, chosen[0])
        if isinstance(labels, range) and chosen[0] not in named and match.rows != [*labels]:
            # A rank or a group can be a list of all whole numbers below n, too.
            rule = "a column that numbers agents without labels must be called agent"
            remedy = "set by = to its name if it does, and remove it if not"
            raise InvalidInputError(message(rule, got=repr(heading[chosen[0]]), remedy=remedy))
        return match
    # No column names all agents: the closest one is used for a message that lists the missing names.
    hits = {k: len(known.keys() & set(texts)) for k, texts in columns.items()}
    unlabelled = isinstance(labels, range)
    # A column that names most of the agents, or some of them and is called so, was meant to name them all.
    near = [k for k in columns if hits[k] and (k in named or (not unlabelled and 2 * hits[k] >= len(known)))]
    if near:
        return _matched(table, labels, known, max(near, key=hits.__getitem__))
    if not unlabelled:
        rule, got = "a table must name the agents of a network with labels", f"columns {', '.join(map(repr, heading))}"
        got += "".join(f", and under {heading[k]!r} {_listed(columns[k])}" for k in sorted(named))
        raise InvalidInputError(message(rule, got=got, remedy=f"{_BY}; the labels are {_listed(labels)}"))
    if len(table) != len(labels):
        rule = f"there must be one row for each of the {len(labels)} agents"
        raise InvalidInputError(message(rule, got=f"{len(table)} rows", remedy="add or remove rows"))
    for k in (k for k in range(table.width) if k not in values):
        if _numbers_rows_otherwise(table.column(k)):
            rule, got = (
                "rows must be in the order of agents without labels",
                f"{heading[k] or 'numbers'!r} in another order",
            )
            remedy = "sort the rows by it, or remove it if it does not number the agents"
            raise InvalidInputError(message(rule, got=got, remedy=remedy))
    return Match(None, list(range(len(labels))), [])


def _numbers_rows_otherwise(texts: Sequence[str]) -> bool:
    """Return whether texts are all whole numbers from 0 or 1 on, and not in their order."""
    numbers = [int(text) for text in texts if text.isascii() and text.isdecimal() and len(text) < 19]
    first = min(numbers, default=0)
    counted = list(range(first, first + len(texts)))
    return first in (0, 1) and sorted(numbers) == counted and numbers != counted


def _matched(table: TextTable, labels: Sequence[Any], known: dict[str, int], column: int) -> Match:
    name, texts = (table.heading or ())[column], table.column(column)
    rows: dict[str, int] = {}
    for k, text in enumerate(texts):
        if text in known and rows.setdefault(text, k) != k:
            rule, got = f"the column {name!r} must name each agent once", f"{text!r} twice"
            where = f"on lines {table.lines[rows[text]]} and {table.lines[k]}"
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


# The section.

Deviation: TypeAlias = Annotated[float, Field(ge=0)]
OPINIONS = Slider(-10.0, 10.0, 0.05)


class UniformDraw(Section):
    """Drawn uniformly between two values."""

    law: Literal["uniform"] = "uniform"
    low: Annotated[float, Field(title="lowest"), OPINIONS] = 0.0
    high: Annotated[float, Field(title="highest"), OPINIONS] = 1.0
    seed: OwnSeed = None

    @model_validator(mode="after")
    def _in_order(self) -> UniformDraw:
        # Equal ends are legal: all agents then have the same value.
        if self.low > self.high:
            rule = "low must not be above high"
            got = " and ".join(contrast(self.low, self.high, digits=6))
            raise InvalidInputError(message(rule, got=got, remedy="exchange them"))
        return self

    @property
    def words(self) -> str:
        """The law in words."""
        return f"uniformly from {self.low:g} to {self.high:g}"

    def values(self, n: int, rng: np.random.Generator) -> Array:
        """Return n values."""
        return rng.uniform(self.low, self.high, n)


class NormalDraw(Section):
    """Drawn from a normal distribution."""

    law: Literal["normal"] = "normal"
    mean: Annotated[float, OPINIONS] = 0.0
    std: Annotated[Deviation, Field(title="standard deviation"), Slider(0.0, 10.0, 0.05)] = 1.0
    seed: OwnSeed = None

    @property
    def words(self) -> str:
        """The law in words."""
        return f"from a normal distribution with mean {self.mean:g} and standard deviation {self.std:g}"

    def values(self, n: int, rng: np.random.Generator) -> Array:
        """Return n values."""
        return rng.normal(self.mean, self.std, n)


class TwoCamps(Section):
    """A share of the agents, chosen at random, around the higher value, and the others around the lower."""

    law: Literal["two_camps"] = "two_camps"
    low: Annotated[float, Field(title="lower camp"), OPINIONS] = 0.0
    high: Annotated[float, Field(title="higher camp"), OPINIONS] = 1.0
    share: Annotated[Share, Field(title="share of the higher camp"), Slider(0.0, 1.0, 0.01)] = 0.5
    std: Annotated[Deviation, Field(title="standard deviation within"), Slider(0.0, 2.0, 0.01, start=0.05)] = 0.0
    seed: OwnSeed = None

    @property
    def words(self) -> str:
        """The law in words."""
        return f"from two camps around {self.low:g} and {self.high:g}"

    def values(self, n: int, rng: np.random.Generator) -> Array:
        """Return n values."""
        # A permutation gives exactly the rounded share, where independent draws would only on average.
        above = rng.permutation(n) < round(self.share * n)
        # Drawn after the groups, so std does not change their members.
        return np.where(above, self.high, self.low) + rng.normal(0.0, self.std, n)


def draw_words(part: Any, seed: int) -> str | None:
    """Return how values are drawn at random; None if they are given.

    >>> draw_words(UniformDraw(), 3), draw_words([0.0, 1.0], 3)
    ('drawn at random, uniformly from 0 to 1, seed 3', None)
    """
    if not isinstance(part, UniformDraw | NormalDraw | TwoCamps):
        return None
    return f"drawn at random, {part.words}, seed {seed if part.seed is None else part.seed}"


def choose_draw(value: Any) -> str | None:
    """Return the tag of the alternative: a list, rows of numbers, a number, a word, a law or a file."""
    if isinstance(value, list | tuple):
        return "rows" if value and isinstance(value[0], list | tuple) else "list"
    # bool is an int too; it is tagged as a number, whose strict type then rejects it.
    if isinstance(value, int | float | str):
        return "word" if isinstance(value, str) else "number"
    key, word = key_of(value, "file", "attribute", "law") or (None, None)
    if key in ("file", "attribute"):
        return str(key)
    return str(word) if word in ("uniform", "normal", "two_camps") else None


# Each part draws from a stream of its own, so changing the law of one does not change the others.
STREAMS = {"hidden": 1, "stubbornness": 2, "start": 3, "adaptation_weight": 4, "susceptibility": 5, "activation": 6}
# The parts with one value for each agent that a model takes under the same names.
PARTS = ("hidden", "stubbornness", "susceptibility", "start")


def values_of(part: Any, name: str, network: Network, seed: int, file: str | None) -> Any:
    """Return the values of a part of [agents]: numbers for each agent, or a single number or word.

    ``file`` is that of the network, if it has one.
    """
    if isinstance(part, FromAttribute):
        part = part.column(file)
    if isinstance(part, FromColumn):
        return part.matched(network)[1]
    if isinstance(part, int | float | str | list):
        return part
    # Stubbornness and adaptation are the same on all topics.
    count = network.n if name in ("hidden", "start") else len(network.agents)
    own = seed if part.seed is None else part.seed
    # A list of two numbers seeds a stream of its own, independent of the other parts and of the network.
    return part.values(count, np.random.default_rng([own, STREAMS[name]]))


def agent_values(agents: Agents, network: Network, seed: int, file: str | None) -> dict[str, Any]:
    """Return the arguments of a model with one value for each agent; zealots have infinite stubbornness."""
    parts: dict[str, Any] = {name: values_of(getattr(agents, name), name, network, seed, file) for name in PARTS}
    if agents.activation is not None:
        parts["activation"] = values_of(agents.activation, "activation", network, seed, file)
    stubbornness = np.asarray(parts["stubbornness"])
    # The model reports a list of another length.
    if agents.zealots and stubbornness.shape in ((), (len(network.agents),), (network.n,)):
        parts["stubbornness"] = np.repeat(stubbornness.astype(float), network.n // stubbornness.size)
        parts["stubbornness"][network.indices(as_labels(agents.zealots))] = np.inf
    return parts


def _checked(formula: str) -> str:
    # Built only to raise an error for an invalid formula.
    Adaptation(formula)
    return formula


Formula: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_checked)]


def _choose_rate(value: Any) -> str | None:
    if isinstance(value, int | float | str):
        return "text" if isinstance(value, str) else "number"
    return choose_schedule(value)


def _choose_weight(value: Any) -> str | None:
    chosen = choose_draw(value)
    # A normal distribution would leave the interval from 0 to 1.
    return None if chosen in ("word", "rows", "normal") else chosen


Rate: TypeAlias = Annotated[
    Annotated[Share, tag("number")] | Annotated[Formula, tag("text")] | AnySchedule,
    alternatives(
        _choose_rate,
        "the rate must be a number from 0 to 1, a formula in t, or a schedule with its kind",
        "for instance 0.01, or '0.1/t'",
    ),
]
Weights: TypeAlias = Annotated[
    Annotated[Share, tag("number")]
    | Annotated[Annotated[list[Share], Field(min_length=1)], tag("list")]
    | Annotated[UniformDraw, tag("uniform")]
    | Annotated[TwoCamps, tag("two_camps")]
    | Annotated[FromColumn, tag("file")]
    | Annotated[FromAttribute, tag("attribute")],
    alternatives(
        _choose_weight,
        "adaptation_weight must be a number from 0 to 1, a list, a law (uniform or two_camps), a file or an attribute",
        "for instance { law = 'two_camps', share = 0.3 }, by which 3 of 10 agents adapt and the others never do",
        law=("uniform", "two_camps"),
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
        return "text" if isinstance(value, str) else "number"
    return "table" if isinstance(value, dict | AdaptationTable) else None


AdaptationSection: TypeAlias = Annotated[
    Annotated[Share, tag("number")] | Annotated[Formula, tag("text")] | Annotated[AdaptationTable, tag("table")],
    alternatives(
        _choose,
        "adaptation must be a number from 0 to 1, a formula in t, or { rate = …, adaptation_weight = … }",
        "for instance 0.01: at every step 1 % of the way to the agent's own public opinion",
    ),
]


def adaptation_of(
    part: float | str | AdaptationTable | None, network: Network, seed: int, file: str | None
) -> Adaptation | None:
    """Return the adaptation of hidden opinions; None if they are constant."""
    if part is None:
        return None
    if not isinstance(part, AdaptationTable):
        return Adaptation(part)
    adaptation_weight: Any = values_of(part.adaptation_weight, "adaptation_weight", network, seed, file)
    return Adaptation(_rate_of(part.rate), adaptation_weight)


def _choose_hidden(value: Any) -> str | None:
    chosen = choose_draw(value)
    # One hidden opinion for all agents is a consensus from the start, hence most likely a mistake.
    return None if chosen in ("number", "word") else chosen


def _choose_stubbornness(value: Any) -> str | None:
    chosen = choose_draw(value)
    # Stubbornness must be positive, which a normal distribution or camps with a spread cannot guarantee.
    return None if chosen in ("word", "rows", "normal", "two_camps") else chosen


_LAWS = ("uniform", "normal", "two_camps")
_REMEDY = "for instance { law = 'uniform', low = 0.0, high = 1.0 } or { file = 'agents.csv', column = 'hidden' }"
Draw: TypeAlias = (
    Annotated[UniformDraw, tag("uniform")]
    | Annotated[NormalDraw, tag("normal")]
    | Annotated[TwoCamps, tag("two_camps")]
    | Annotated[FromColumn, tag("file")]
    | Annotated[FromAttribute, tag("attribute")]
    | Annotated[Numbers, tag("list")]
    | Annotated[Rows, tag("rows")]
)
Hidden: TypeAlias = Annotated[
    Draw,
    alternatives(
        _choose_hidden,
        "hidden must be a list, a law (uniform, normal or two_camps), a file or an attribute",
        _REMEDY,
        law=_LAWS,
    ),
]
Start: TypeAlias = Annotated[
    Draw | Annotated[float, tag("number")] | Annotated[Literal["hidden"], tag("word")],
    alternatives(
        choose_draw, "start must be 'hidden', a number, a list, a law, a file or an attribute", _REMEDY, law=_LAWS
    ),
]
Stubbornness: TypeAlias = Annotated[
    Annotated[Positive, tag("number")]
    | Annotated[Annotated[list[Positive], Field(min_length=1)], tag("list")]
    | Annotated[UniformDraw, tag("uniform")]
    | Annotated[FromColumn, tag("file")]
    | Annotated[FromAttribute, tag("attribute")],
    alternatives(
        _choose_stubbornness,
        "stubbornness must be a number, a list, a uniform law, a file or an attribute",
        _REMEDY,
        law=["uniform"],
    ),
]


Susceptibility: TypeAlias = Annotated[
    Annotated[Deviation, tag("number")]
    | Annotated[Annotated[list[Deviation], Field(min_length=1)], tag("list")]
    | Annotated[UniformDraw, tag("uniform")]
    | Annotated[TwoCamps, tag("two_camps")]
    | Annotated[FromColumn, tag("file")]
    | Annotated[FromAttribute, tag("attribute")],
    alternatives(
        _choose_weight,
        "susceptibility must be a number from 0 on, a list, a law (uniform or two_camps), a file or an attribute",
        "for instance { law = 'two_camps', share = 0.9 }, by which 1 of 10 agents ignores the others",
        law=("uniform", "two_camps"),
    ),
]


def _choose_activation(value: Any) -> str | None:
    if isinstance(value, list | tuple) and value and isinstance(value[0], list | tuple):
        return "table"
    chosen = choose_draw(value)
    # These laws would leave the interval from 0 to 1.
    return None if chosen in ("normal", "two_camps") else chosen


Probability: TypeAlias = Annotated[float, Field(gt=0, le=1)]
ActivationSection: TypeAlias = Annotated[
    Annotated[Probability, tag("number")]
    | Annotated[Literal["single"], tag("word")]
    | Annotated[Annotated[list[Probability], Field(min_length=1)], tag("list")]
    | Annotated[Annotated[list[list[Literal[0, 1]]], Field(min_length=1)], tag("table")]
    | Annotated[UniformDraw, tag("uniform")]
    | Annotated[FromColumn, tag("file")]
    | Annotated[FromAttribute, tag("attribute")],
    alternatives(
        _choose_activation,
        "activation must be a probability, 'single', a list, a table of 0 and 1, a uniform law, a file or an attribute",
        "for instance 0.5: each agent updates in every second step on average, and otherwise keeps its public opinion",
        law=["uniform"],
    ),
]


# How a page offers them.

HIDDEN_LAWS: tuple[Choice, ...] = tuple(
    Choice(law, law.replace("_", " ").capitalize(), summary(section), controls(section))
    for law, section in (("uniform", UniformDraw), ("normal", NormalDraw), ("two_camps", TwoCamps))
)

STUBBORNNESS: tuple[Choice, ...] = (
    Choice(
        "number",
        "The same for all",
        "Weight that each agent gives to its own hidden opinion.",
        (real("value", "stubbornness", 0.01, 100.0, 1.0, 0.01, log=True),),
    ),
    Choice(
        "uniform",
        "Different",
        "Drawn uniformly between two values; those of the paper lie between ½ and 1.",
        limits(0.01, 100.0, (0.5, 1.0), 0.01, log=True),
    ),
)

ADAPTATION = Feature(
    "Adaptation",
    "Hidden opinions follow the public ones: at every step each agent moves its own by a share towards what it shows.",
    (
        Choice("number", "All agents", "The fraction of the way in one step.", (share("value", "rate", 0.05),)),
        Choice(
            "some",
            "Some agents",
            "A share of the agents, chosen at random, adapts; the others never do.",
            (share("rate", "rate", 0.05), share("adaptation_weight.share", "share of agents who adapt", 0.5)),
            fixed={"adaptation_weight": {"law": "two_camps"}},
        ),
    ),
)

SUSCEPTIBILITY = Feature(
    "Susceptibility",
    "How strongly an agent feels the pressure: a factor, 0 for agents who ignore all others.",
    (
        Choice(
            "uniform",
            "Different",
            "Drawn uniformly between two values.",
            limits(0.0, 5.0, (0.5, 1.5), 0.05),
            fixed={"law": "uniform"},
        ),
        Choice(
            "two_camps",
            "Some ignore it",
            "A share of the agents, chosen at random, feels it in full; the others ignore it.",
            (share("share", "share of agents who feel it", 0.9),),
            fixed={"law": "two_camps"},
        ),
        Choice("number", "The same for all", "", (real("value", "factor", 0.0, 5.0, 1.0, 0.05),)),
    ),
)

ACTIVATION = Feature(
    "Who updates",
    "Only some agents update at a step; the others keep their public opinions.",
    (
        Choice(
            "number",
            "By chance",
            "Each agent with this probability.",
            (real("value", "probability", 0.01, 1.0, 0.5, 0.01),),
        ),
        Choice("single", "One at a time", "One randomly chosen agent at each step."),
        Choice(
            "uniform",
            "Some more often",
            "Each agent with a probability of its own.",
            limits(0.01, 1.0, (0.1, 1.0), 0.01),
            fixed={"law": "uniform"},
        ),
    ),
)

START = Feature(
    "Start",
    "Public opinions at the start; without this, agents begin by showing what they think.",
    (
        Choice("number", "The same for all", "", (real("value", "public opinion", -10.0, 10.0, 0.0, 0.05),)),
        replace(HIDDEN_LAWS[0], fixed={"law": "uniform"}),
    ),
)

ISOLATED = Feature(
    "Isolated agents",
    "What agents show at steps in which a changing network leaves them without neighbours.",
    (
        Choice("keep", "Their last opinion", "They keep the public opinion of the step before."),
        Choice("own", "Their own", "They show their hidden opinion, with noise."),
    ),
)

ZEALOTS = Feature(
    "Zealots",
    "Agents who listen to nobody. Others can be chosen below the network: follow an agent and press zealot.",
    (),
)


class Agents(Section):
    """Opinions, stubbornness, susceptibility, zealots, start, adaptation, who updates, and isolated agents."""

    hidden: Annotated[Hidden, Field(description="hidden opinions")] = UniformDraw()
    stubbornness: Annotated[Stubbornness, Field(description="weight of an agent's own opinion")] = 1.0
    susceptibility: Annotated[
        Susceptibility,
        Field(description="factor of the pressure on each agent; 0 for agents who ignore all others"),
        SUSCEPTIBILITY,
    ] = 1.0
    zealots: Annotated[
        Annotated[list[AgentLabel], Field(min_length=1)] | None,
        Field(description="agents who listen to nobody"),
        ZEALOTS,
    ] = None
    start: Annotated[
        Start, Field(description="public opinions at step 0; hidden: each agent's hidden opinion"), START
    ] = "hidden"
    adaptation: Annotated[
        AdaptationSection | None,
        Field(description="rate at which hidden opinions adapt; constant if left out"),
        ADAPTATION,
    ] = None
    activation: Annotated[
        ActivationSection | None,
        Field(description="who updates at a step, by chance or from a table of steps; everybody if left out"),
        ACTIVATION,
    ] = None
    isolated: Annotated[
        Isolated | None,
        Field(
            description="agents without neighbours at a step show their own opinions, or keep their last public ones; "
            "by default keep for recorded contacts and gossip, own otherwise"
        ),
        ISOLATED,
    ] = None
