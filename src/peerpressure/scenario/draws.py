"""Numbers of agents, one each: given, drawn from a law, or read from a file."""

from __future__ import annotations

import csv
import io
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from peerpressure.errors import InvalidInputError, complain
from peerpressure.networks import Network
from peerpressure.scenario.section import InputFile, OwnSeed, Section, Share, key_of, read_text, tag

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
    """A column of a CSV file; a column ``agent`` beside it names whose value each is, else rows are in order."""

    file: InputFile
    column: Annotated[str, Field(min_length=1)]

    def values(self, network: Network, rng: np.random.Generator) -> Vector:
        """Return one value for each agent."""
        rows = list(csv.DictReader(io.StringIO(read_text(self.file, "a table of agents"))))
        names = list(rows[0]) if rows else []
        if self.column not in names:
            got = ", ".join(map(repr, names)) or "an empty file"
            rule = f"{self.file} must have a column {self.column!r}"
            raise InvalidInputError(complain(rule, got=got, remedy="name one of its columns"))
        values = np.array([self._number(row, line) for line, row in enumerate(rows, start=2)])
        return values if "agent" not in names else self._ordered(network, [row["agent"] for row in rows], values)

    def _number(self, row: dict[str, str], line: int) -> float:
        try:
            return float(row[self.column])
        except (TypeError, ValueError):
            rule = f"{self.column} must be a number in every row of {self.file}"
            got = f"{row[self.column]!r} in line {line}"
            raise InvalidInputError(complain(rule, got=got, remedy="correct that line")) from None

    def _ordered(self, network: Network, names: list[str], values: Vector) -> Vector:
        """Return the values in the order of the network's agents."""
        given = dict(zip(names, values, strict=True))
        labels = [str(label) for label in network.labels]
        wrong = sorted(set(labels) ^ set(given))
        if wrong or len(given) < len(names):
            got = f"{', '.join(wrong[:3])} on one side only" if wrong else "an agent twice"
            rule = f"{self.file} must name each agent of the network once"
            raise InvalidInputError(complain(rule, got=got, remedy="correct the column 'agent', or leave it out"))
        return np.array([given[label] for label in labels])


def choose_draw(value: Any) -> str | None:
    """Return the tag of the alternative that a value is: a list, a number, a word, a law or a file."""
    if isinstance(value, list | tuple):
        return tag("list")
    if isinstance(value, int | float | str):
        return tag("word") if isinstance(value, str) else tag("number")
    key, word = key_of(value, "file", "law") or (None, None)
    return tag("file") if key == "file" else tag(str(word)) if word in ("uniform", "normal", "two_camps") else None


# Each part draws from a stream of its own, so that changing the law of one leaves the others as they are.
_STREAMS = {"hidden": 1, "stubbornness": 2, "start": 3, "susceptibility": 4}


def values_of(part: Any, name: str, network: Network, seed: int) -> Vector | float | str:
    """Return what a part of [agents] stands for: numbers, one for each agent, or a single number or word."""
    if isinstance(part, int | float | str):
        return part
    if isinstance(part, list):
        return np.array(part, dtype=np.float64)
    own = seed if isinstance(part, FromColumn) or part.seed is None else part.seed
    drawn: Vector = part.values(network, np.random.default_rng([own, _STREAMS[name]]))
    return drawn
