"""agents.adaptation: how far hidden opinions adapt to what is said in public."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, Field, Tag, model_validator

from peerpressure.adaptation import Adaptation
from peerpressure.networks import Network
from peerpressure.scenario.draws import FromColumn, TwoCamps, UniformDraw, choose_draw, values_of
from peerpressure.scenario.pressure import Given, Named, choose_scale
from peerpressure.scenario.section import Section, Share, alternatives, tag
from peerpressure.schedules import Schedule


def _checked(formula: str) -> str:
    Adaptation(formula)
    return formula


Formula: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_checked)]


def _choose_rate(value: Any) -> str | None:
    if isinstance(value, int | float | str):
        return tag("text") if isinstance(value, str) else tag("number")
    return choose_scale(value)


def _choose_susceptibility(value: Any) -> str | None:
    chosen = choose_draw(value)
    return None if chosen in (tag("word"), tag("normal")) else chosen


Rate: TypeAlias = Annotated[
    Annotated[Share, Tag("<number>")] | Annotated[Formula, Tag("<text>")] | Given,
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
        _choose_susceptibility,
        "adaptation_weight must be a number from 0 to 1, a list, a law (uniform or two_camps) or a file",
        "for instance { law = 'two_camps', share = 0.3 }, by which 3 of 10 agents adapt and the others never do",
    ),
]


def _rate_of(rate: float | str | Named) -> Schedule | float | str:
    return rate.schedule() if isinstance(rate, Named) else rate


class AdaptationTable(Section):
    """η_t of an agent: a ``rate``, the same for all, times the agent's own ``adaptation_weight``."""

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
        "for instance 0.01: in every step a hundredth of the way to what the agent has just said",
    ),
]


def adaptation_of(part: float | str | AdaptationTable | None, network: Network, seed: int) -> Adaptation | None:
    """Return how far hidden opinions adapt; None where they do not."""
    if part is None:
        return None
    if not isinstance(part, AdaptationTable):
        return Adaptation(part)
    adaptation_weight: Any = values_of(part.adaptation_weight, "adaptation_weight", network, seed)
    return Adaptation(_rate_of(part.rate), adaptation_weight)
