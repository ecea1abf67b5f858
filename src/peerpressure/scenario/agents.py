"""[agents]: hidden opinions, stubbornness, where agents start, and how far what they hold adapts."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, Tag

from peerpressure.scenario.adaptation import AdaptationSection
from peerpressure.scenario.draws import FromColumn, NormalDraw, TwoCamps, UniformDraw, choose_draw
from peerpressure.scenario.section import Numbers, Positive, Section, alternatives, tag


def _choose_hidden(value: Any) -> str | None:
    chosen = choose_draw(value)
    return None if chosen in (tag("number"), tag("word")) else chosen


def _choose_stubbornness(value: Any) -> str | None:
    chosen = choose_draw(value)
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
    """Who the agents are: what they think, how much they mind it, what they show first, and whether they adapt."""

    hidden: Hidden = UniformDraw()
    stubbornness: Stubbornness = 1.0
    start: Start = "hidden"
    adaptation: Annotated[
        AdaptationSection | None, Field(description="leave it out for hidden opinions that stay as they are")
    ] = None
