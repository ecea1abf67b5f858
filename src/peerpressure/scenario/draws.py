"""Numbers of agents, one each: given, drawn from a law, or read from a file."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from peerpressure.errors import InvalidInputError, complain
from peerpressure.networks import Network
from peerpressure.networks.matching import Match, match_agents
from peerpressure.networks.refusal import few
from peerpressure.scenario.section import InputFile, OwnSeed, Section, Share, key_of, tag
from peerpressure.tables import naming, read_table

Vector: TypeAlias = NDArray[np.float64]
Deviation: TypeAlias = Annotated[float, Field(ge=0)]


class UniformDraw(Section):
    """Drawn evenly between two values."""

    law: Literal["uniform"] = "uniform"
    low: float = 0.0
    high: float = 1.0
    seed: OwnSeed = None

    @model_validator(mode="after")
    def _in_order(self) -> UniformDraw:
        if self.low > self.high:
            rule = "low must not be above high"
            raise InvalidInputError(complain(rule, got=f"{self.low:g} and {self.high:g}", remedy="exchange them"))
        return self

    def values(self, network: Network, rng: np.random.Generator) -> Vector:
        """Return one value for each agent."""
        return rng.uniform(self.low, self.high, network.n)


class NormalDraw(Section):
    """Drawn from a normal law."""

    law: Literal["normal"] = "normal"
    mean: float = 0.0
    std: Deviation = 1.0
    seed: OwnSeed = None

    def values(self, network: Network, rng: np.random.Generator) -> Vector:
        """Return one value for each agent."""
        return rng.normal(self.mean, self.std, network.n)


class TwoCamps(Section):
    """Two camps: a ``share`` of agents, picked at random, around ``high``, and the others around ``low``."""

    law: Literal["two_camps"] = "two_camps"
    low: float = 0.0
    high: float = 1.0
    share: Share = 0.5
    std: Deviation = 0.0
    seed: OwnSeed = None

    def values(self, network: Network, rng: np.random.Generator) -> Vector:
        """Return one value for each agent."""
        above = rng.permutation(network.n) < round(self.share * network.n)
        return np.where(above, self.high, self.low) + rng.normal(0.0, self.std, network.n)


class FromColumn(Section):
    """A column of a table; ``by`` names the column that says whose value each is, which is found out if left out."""

    file: InputFile
    column: Annotated[str, Field(min_length=1)]
    by: Annotated[str | None, Field(description="the column with the names of the agents; found out if left out")] = (
        None
    )

    def values(self, network: Network, rng: np.random.Generator) -> Vector:
        """Return one value for each agent."""
        return self.matched(network)[1]

    def matched(self, network: Network) -> tuple[Match, Vector]:
        """Return whose row each is, and one value for each agent, in the order of the network."""
        with naming(self.file, "a table of agents"):
            table = read_table(self.file)
            table = table.headed() if table.rows else table
            column = table.find(self.column)
            table.refuse_widths()
            match = match_agents(table, network.labels, column, self.by)
            return match, table.taken(match.rows).numbers(column, self.column)

    def found(self, network: Network) -> str:
        """Say whose values were found, and by what."""
        match, values = self.matched(network)
        pairs = zip(network.labels, values.tolist(), strict=True)
        first = few((f"{label!r} {value:g}" for label, value in pairs), network.n)
        how = "in the order of the agents" if match.column is None else f"matched by {match.column!r}"
        left = (
            f"; left out, not in the network: {few(map(repr, match.others), len(match.others))}" if match.others else ""
        )
        return f"{self.file}, column {self.column!r}, {how}: {first}{left}"


def choose_draw(value: Any) -> str | None:
    """Return the tag of the alternative that a value is: a list, a number, a word, a law or a file."""
    if isinstance(value, list | tuple):
        return tag("list")
    if isinstance(value, int | float | str):
        return tag("word") if isinstance(value, str) else tag("number")
    key, word = key_of(value, "file", "law") or (None, None)
    return tag("file") if key == "file" else tag(str(word)) if word in ("uniform", "normal", "two_camps") else None


# Each part draws from a stream of its own, so that changing the law of one leaves the others as they are.
_STREAMS = {"hidden": 1, "stubbornness": 2, "start": 3, "adaptation_weight": 4}


def values_of(part: Any, name: str, network: Network, seed: int) -> Vector | float | str:
    """Return what a part of [agents] stands for: numbers, one for each agent, or a single number or word."""
    if isinstance(part, int | float | str):
        return part
    if isinstance(part, list):
        return np.array(part, dtype=np.float64)
    own = seed if isinstance(part, FromColumn) or part.seed is None else part.seed
    drawn: Vector = part.values(network, np.random.default_rng([own, _STREAMS[name]]))
    return drawn
