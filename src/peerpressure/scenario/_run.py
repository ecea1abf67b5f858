"""[run] and [output]: how long, how often, from which seed, what is kept, and where it goes."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field, Tag, model_validator

from peerpressure.errors import InvalidInputError, message
from peerpressure.recovery import METHODS, Observation, Prior
from peerpressure.scenario._section import (
    Count,
    Label,
    OneOrMany,
    OutputFolder,
    Positive,
    Section,
    Seed,
    alternatives,
    among,
    key_of,
    tag,
)
from peerpressure.simulation import Record, as_record


class RecordTable(Section):
    """What a run keeps: states and summaries at every ``every``-th step, of all agents or of some."""

    states: bool = True
    summaries: bool = True
    every: Count = 1
    agents: Annotated[list[Label], Field(min_length=1)] | None = None


def _choose_steps(value: Any) -> str | None:
    return tag("word") if isinstance(value, str) else tag("table") if isinstance(value, dict | RecordTable) else None


RecordSection: TypeAlias = Annotated[
    Annotated[Literal["all", "summaries", "final"], Tag("<word>")] | Annotated[RecordTable, Tag("<table>")],
    alternatives(
        _choose_steps, "record must be 'all', 'summaries', 'final' or { every = 10 }", "leave it out to keep everything"
    ),
]


class Run(Section):
    """One run: its length, its replicates and its seed, from which everything random is drawn."""

    steps: Annotated[int, Field(ge=1, le=2**32 - 1)]
    replicates: Annotated[int, Field(ge=1, le=2**24)] = 1
    seed: Seed = 0
    record: RecordSection = "all"

    def what_to_keep(self) -> Record:
        """Return the record that the file asks for."""
        if isinstance(self.record, str):
            return as_record(self.record)
        return Record(**self.record.model_dump())


class Output(Section):
    """Where results go, and which; ``states`` adds a table of all that agents showed, which can be long."""

    folder: Annotated[OutputFolder | None, Field(description="leave it out for a folder beside the scenario file")] = (
        None
    )
    figures: bool = True
    report: bool = True
    states: bool = False


# [observe] and [privacy]: who looks on, what they believe before, how they estimate, and what they may be told.

Step: TypeAlias = Annotated[int, Field(ge=0)]
Method: TypeAlias = Annotated[
    str, AfterValidator(among(METHODS, "a method")), Field(json_schema_extra={"enum": [*METHODS]})
]


class GaussianPrior(Section):
    """Opinions are normal, with one mean and variance for all or one for each agent."""

    mean: OneOrMany
    variance: OneOrMany

    def prior(self) -> Prior:
        """Return the prior itself."""
        return Prior(self.mean, self.variance)

    @model_validator(mode="after")
    def _can_be_built(self) -> GaussianPrior:
        self.prior()
        return self


class UniformPrior(Section):
    """Opinions lie between two values."""

    low: float
    high: float

    def prior(self) -> Prior:
        """Return the prior itself."""
        return Prior.uniform(self.low, self.high)

    @model_validator(mode="after")
    def _can_be_built(self) -> UniformPrior:
        self.prior()
        return self


def _choose_prior(value: Any) -> str | None:
    key, _ = key_of(value, "low", "high", "mean", "variance") or (None, None)
    return None if key is None else tag("uniform" if key in ("low", "high") else "gaussian")


PriorSection: TypeAlias = Annotated[
    Annotated[GaussianPrior, Tag("<gaussian>")] | Annotated[UniformPrior, Tag("<uniform>")],
    alternatives(
        _choose_prior,
        "a prior must be { mean = …, variance = … } or { low = …, high = … }",
        "leave it out to believe nothing beforehand",
    ),
]


class Observe(Section):
    """An observer: whom it sees and when, how sharply, and by which methods it estimates what they hide."""

    agents: Annotated[list[Label], Field(min_length=1)] | None = None
    times: Annotated[list[Step], Field(min_length=1)] | None = None
    first_step: Step = 0
    sees_start: bool = False
    rounding: Annotated[float, Field(ge=0)] = 0.0
    methods: list[Method] = Field(default=["innovations"], min_length=1)
    target: Annotated[
        Literal["initial", "current"],
        Field(description="what agents held at first, or hold in the end; these differ where opinions adapt"),
    ] = "initial"
    prior: PriorSection | None = None

    def observation(self) -> Observation:
        """Return who is seen and when."""
        return Observation(self.agents, self.times, self.first_step, self.sees_start, self.rounding)

    @model_validator(mode="after")
    def _can_be_built(self) -> Observe:
        self.observation()
        if len(set(self.methods)) < len(self.methods):
            got = ", ".join(self.methods)
            raise InvalidInputError(message("methods must differ", got=got, remedy="name each once"))
        return self


class Privacy(Section):
    """What a privacy budget is reckoned for: opinions up to ``sensitivity`` apart, at the chance ``delta``."""

    sensitivity: Positive = 1.0
    delta: Annotated[float, Field(gt=0, lt=1)] = 1e-5
