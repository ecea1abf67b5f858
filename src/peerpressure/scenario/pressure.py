"""[pressure]: a named schedule with its parameters, a table, a formula in t, or the tuned one."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, Tag, model_validator

from peerpressure.model import PerAgent
from peerpressure.networks import Network
from peerpressure.scenario.section import Numbers, Positive, Section, alternatives, key_of, tag
from peerpressure.schedules import Linear, Schedule, schedule_from_dict


class Named(Section):
    """A schedule by its kind; it is built where it is read, so that its own rules hold at once."""

    kind: str

    def schedule(self) -> Schedule:
        """Return the schedule itself."""
        return schedule_from_dict(self.model_dump())

    @model_validator(mode="after")
    def _can_be_built(self) -> Named:
        self.schedule()
        return self


class ConstantPressure(Named):
    """The same at all times."""

    kind: Literal["constant"] = "constant"
    value: Annotated[float, Field(ge=0)]


class LinearPressure(Named):
    """ρ_t = slope·t + offset."""

    kind: Literal["linear"] = "linear"
    slope: Positive = 1.0
    offset: float = 0.0


class PowerPressure(Named):
    """ρ_t = scale·t^exponent."""

    kind: Literal["power"] = "power"
    exponent: float
    scale: Positive = 1.0


class LogarithmicPressure(Named):
    """ρ_t = scale·log(1 + t)."""

    kind: Literal["logarithmic"] = "logarithmic"
    scale: Positive = 1.0


class StretchedPressure(Named):
    """ρ_t = base^(t^exponent)."""

    kind: Literal["stretched_exponential"] = "stretched_exponential"
    base: Annotated[float, Field(gt=1)] = 2.0
    exponent: Positive = 0.5


class TablePressure(Named):
    """ρ_1, ρ_2, … one by one."""

    kind: Literal["table"] = "table"
    values: Numbers


class FormulaPressure(Named):
    """A formula in t; ``kind`` may be left out."""

    kind: Literal["formula"] = "formula"
    formula: Annotated[str, Field(min_length=1)]

    def schedule(self) -> Schedule:
        """Return the formula as a schedule."""
        return schedule_from_dict({"kind": "formula", "text": self.formula})


class TunedPressure(Section):
    """ρ_t = κt with κ = Σs/Σd, which averages noise away at the ideal rate."""

    kind: Literal["tuned"] = "tuned"


_KINDS = ("constant", "linear", "power", "logarithmic", "stretched_exponential", "table", "formula")


def _choose(value: Any) -> str | None:
    key, word = key_of(value, "kind", "formula") or (None, None)
    if key == "formula":
        return tag("formula")
    return tag(str(word)) if word in (*_KINDS, "tuned") else None


def choose_scale(value: Any) -> str | None:
    """Return the tag of the schedule that a value is, if it is one that needs no agents."""
    chosen = _choose(value)
    return None if chosen == tag("tuned") else chosen


Given: TypeAlias = (
    Annotated[ConstantPressure, Tag("<constant>")]
    | Annotated[LinearPressure, Tag("<linear>")]
    | Annotated[PowerPressure, Tag("<power>")]
    | Annotated[LogarithmicPressure, Tag("<logarithmic>")]
    | Annotated[StretchedPressure, Tag("<stretched_exponential>")]
    | Annotated[TablePressure, Tag("<table>")]
    | Annotated[FormulaPressure, Tag("<formula>")]
)
_REMEDY = "for instance kind = 'linear', or formula = 't*log(1 + t)'"
PressureSection: TypeAlias = Annotated[
    Given | Annotated[TunedPressure, Tag("<tuned>")],
    alternatives(_choose, f"pressure must have a formula, or a kind: {', '.join(_KINDS)} or tuned", _REMEDY),
]
ScaleSection: TypeAlias = Annotated[
    Given,
    alternatives(choose_scale, f"a scale over time must have a formula, or a kind: {', '.join(_KINDS)}", _REMEDY),
]


def schedule_of(section: Named | TunedPressure, network: Network, stubbornness: float | PerAgent) -> Schedule:
    """Return the schedule that a section stands for; the tuned one needs to know the agents."""
    if isinstance(section, TunedPressure):
        return Linear.tuned(network, stubbornness)
    return section.schedule()
