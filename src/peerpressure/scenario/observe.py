"""[observe] and [privacy]: who looks on, what they believe before, how they estimate, and what they may be told."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field, Tag, model_validator

from peerpressure.errors import InvalidInputError, complain
from peerpressure.recovery import METHODS, Observation, Prior
from peerpressure.scenario.section import Label, OneOrMany, Positive, Section, alternatives, among, key_of, tag

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


def _choose(value: Any) -> str | None:
    key, _ = key_of(value, "low", "high", "mean", "variance") or (None, None)
    return None if key is None else tag("uniform" if key in ("low", "high") else "gaussian")


PriorSection: TypeAlias = Annotated[
    Annotated[GaussianPrior, Tag("<gaussian>")] | Annotated[UniformPrior, Tag("<uniform>")],
    alternatives(
        _choose,
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
            raise InvalidInputError(complain("methods must differ", got=got, remedy="name each once"))
        return self


class Privacy(Section):
    """What a privacy budget is reckoned for: opinions up to ``sensitivity`` apart, at the chance ``delta``."""

    sensitivity: Positive = 1.0
    delta: Annotated[float, Field(gt=0, lt=1)] = 1e-5
