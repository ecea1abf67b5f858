"""Section [agents]: hidden opinions, stubbornness, susceptibility, the start of the public opinions, and adaptation.

Each is one number per agent: given as a list, drawn from a law, or read from a file. With [topics], hidden opinions and
the start are one number per agent and topic: a list for each agent, a law for all, or one column for each topic.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, Tag, model_validator

from peerpressure.adaptation import Adaptation
from peerpressure.errors import InvalidInputError, message
from peerpressure.networks import Network
from peerpressure.networks._temporal import Isolated
from peerpressure.scenario._columns import FromAttribute, FromColumn
from peerpressure.scenario._section import (
    AgentLabel,
    Numbers,
    OwnSeed,
    Positive,
    Rows,
    Section,
    Share,
    alternatives,
    as_labels,
    key_of,
    tag,
)
from peerpressure.scenario._system import AnySchedule, ScheduleSection, choose_schedule
from peerpressure.schedules import Schedule

Vector: TypeAlias = NDArray[np.float64]
Deviation: TypeAlias = Annotated[float, Field(ge=0)]


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

    def values(self, n: int, rng: np.random.Generator) -> Vector:
        """Return n values."""
        return rng.uniform(self.low, self.high, n)


class NormalDraw(Section):
    """Values drawn from a normal distribution."""

    law: Literal["normal"] = "normal"
    mean: float = 0.0
    std: Deviation = 1.0
    seed: OwnSeed = None

    def values(self, n: int, rng: np.random.Generator) -> Vector:
        """Return n values."""
        return rng.normal(self.mean, self.std, n)


class TwoCamps(Section):
    """Two groups: a ``share`` of the agents, chosen at random, around ``high``, and the others around ``low``."""

    law: Literal["two_camps"] = "two_camps"
    low: float = 0.0
    high: float = 1.0
    share: Share = 0.5
    std: Deviation = 0.0
    seed: OwnSeed = None

    def values(self, n: int, rng: np.random.Generator) -> Vector:
        """Return n values."""
        # A permutation gives exactly the rounded share, where independent draws would only on average.
        above = rng.permutation(n) < round(self.share * n)
        # Drawn after the groups, so that std does not change their members.
        return np.where(above, self.high, self.low) + rng.normal(0.0, self.std, n)


def choose_draw(value: Any) -> str | None:
    """Return the tag of the alternative: a list, rows of numbers, a number, a word, a law or a file."""
    if isinstance(value, list | tuple):
        return tag("rows" if value and isinstance(value[0], list | tuple) else "list")
    # bool is an int too; it is tagged as a number, whose strict type then rejects it.
    if isinstance(value, int | float | str):
        return tag("word") if isinstance(value, str) else tag("number")
    key, word = key_of(value, "file", "attribute", "law") or (None, None)
    if key in ("file", "attribute"):
        return tag(str(key))
    return tag(str(word)) if word in ("uniform", "normal", "two_camps") else None


# Each part draws from a stream of its own, so that changing the law of one does not change the others.
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
        return tag("text") if isinstance(value, str) else tag("number")
    return choose_schedule(value)


def _choose_weight(value: Any) -> str | None:
    chosen = choose_draw(value)
    # A normal law would leave the interval from 0 to 1.
    return None if chosen in (tag("word"), tag("rows"), tag("normal")) else chosen


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
    | Annotated[FromColumn, Tag("<file>")]
    | Annotated[FromAttribute, Tag("<attribute>")],
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
    return None if chosen in (tag("number"), tag("word")) else chosen


def _choose_stubbornness(value: Any) -> str | None:
    chosen = choose_draw(value)
    # Stubbornness must be positive, which a normal law or camps with a spread cannot guarantee.
    return None if chosen in (tag("word"), tag("rows"), tag("normal"), tag("two_camps")) else chosen


_LAWS = ("uniform", "normal", "two_camps")
_REMEDY = "for instance { law = 'uniform', low = 0.0, high = 1.0 } or { file = 'agents.csv', column = 'hidden' }"
Draw: TypeAlias = (
    Annotated[UniformDraw, Tag("<uniform>")]
    | Annotated[NormalDraw, Tag("<normal>")]
    | Annotated[TwoCamps, Tag("<two_camps>")]
    | Annotated[FromColumn, Tag("<file>")]
    | Annotated[FromAttribute, Tag("<attribute>")]
    | Annotated[Numbers, Tag("<list>")]
    | Annotated[Rows, Tag("<rows>")]
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
    Draw | Annotated[float, Tag("<number>")] | Annotated[Literal["hidden"], Tag("<word>")],
    alternatives(
        choose_draw, "start must be 'hidden', a number, a list, a law, a file or an attribute", _REMEDY, law=_LAWS
    ),
]
Stubbornness: TypeAlias = Annotated[
    Annotated[Positive, Tag("<number>")]
    | Annotated[Annotated[list[Positive], Field(min_length=1)], Tag("<list>")]
    | Annotated[UniformDraw, Tag("<uniform>")]
    | Annotated[FromColumn, Tag("<file>")]
    | Annotated[FromAttribute, Tag("<attribute>")],
    alternatives(
        _choose_stubbornness,
        "stubbornness must be a number, a list, a uniform law, a file or an attribute",
        _REMEDY,
        law=["uniform"],
    ),
]


Susceptibility: TypeAlias = Annotated[
    Annotated[Deviation, Tag("<number>")]
    | Annotated[Annotated[list[Deviation], Field(min_length=1)], Tag("<list>")]
    | Annotated[UniformDraw, Tag("<uniform>")]
    | Annotated[TwoCamps, Tag("<two_camps>")]
    | Annotated[FromColumn, Tag("<file>")]
    | Annotated[FromAttribute, Tag("<attribute>")],
    alternatives(
        _choose_weight,
        "susceptibility must be a number from 0 on, a list, a law (uniform or two_camps), a file or an attribute",
        "for instance { law = 'two_camps', share = 0.9 }, by which 1 of 10 agents ignores the others",
        law=("uniform", "two_camps"),
    ),
]


def _choose_activation(value: Any) -> str | None:
    if isinstance(value, list | tuple) and value and isinstance(value[0], list | tuple):
        return tag("table")
    chosen = choose_draw(value)
    # These laws would leave the interval from 0 to 1.
    return None if chosen in (tag("normal"), tag("two_camps")) else chosen


Probability: TypeAlias = Annotated[float, Field(gt=0, le=1)]
ActivationSection: TypeAlias = Annotated[
    Annotated[Probability, Tag("<number>")]
    | Annotated[Literal["single"], Tag("<word>")]
    | Annotated[Annotated[list[Probability], Field(min_length=1)], Tag("<list>")]
    | Annotated[Annotated[list[list[Literal[0, 1]]], Field(min_length=1)], Tag("<table>")]
    | Annotated[UniformDraw, Tag("<uniform>")]
    | Annotated[FromColumn, Tag("<file>")]
    | Annotated[FromAttribute, Tag("<attribute>")],
    alternatives(
        _choose_activation,
        "activation must be a probability, 'single', a list, a table of 0 and 1, a uniform law, a file or an attribute",
        "for instance 0.5: each agent updates in every second step on average, and otherwise keeps its public opinion",
        law=["uniform"],
    ),
]


class Agents(Section):
    """Opinions, stubbornness, susceptibility, zealots, start, adaptation, who updates, and the isolated."""

    hidden: Hidden = UniformDraw()
    stubbornness: Stubbornness = 1.0
    susceptibility: Annotated[
        Susceptibility, Field(description="factor of the pressure on each agent; 0 for agents who ignore all others")
    ] = 1.0
    zealots: Annotated[
        Annotated[list[AgentLabel], Field(min_length=1)] | None, Field(description="agents who listen to nobody")
    ] = None
    start: Start = "hidden"
    adaptation: Annotated[AdaptationSection | None, Field(description="constant hidden opinions if left out")] = None
    activation: Annotated[
        ActivationSection | None,
        Field(description="who updates at a step, by chance or from a table of steps; everybody if left out"),
    ] = None
    isolated: Annotated[
        Isolated | None,
        Field(
            description="without neighbours at a step agents show their own opinions, or keep their last public ones; "
            "if left out they keep them on recorded contacts and gossip, and show their own elsewhere"
        ),
    ] = None
