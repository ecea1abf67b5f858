"""Sections [pressure], [noise] and [time], derived from the schedules and the noise laws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from peerpressure.model import Model
from peerpressure.model.statespace import System
from peerpressure.noise import LAWS, Noise, noise_from_dict, noise_in_words
from peerpressure.scenario.section import (
    Choice,
    Feature,
    Positive,
    Section,
    alternatives,
    derived,
    key_of,
    real,
    tag,
    takes,
    union_of,
)
from peerpressure.schedules import SCHEDULES, Schedule, schedule_from_dict
from peerpressure.sde import SDE, Method
from peerpressure.support.parameters import summary
from peerpressure.theory import optimal_schedule
from peerpressure.theory.tuning import tuned_line


class ScheduleSection(Section):
    """A schedule by its kind; the schedule is built on validation, so its own rules apply at once."""

    kind: str

    def schedule(self) -> Schedule:
        """Return the schedule."""
        return schedule_from_dict(self.model_dump())

    @model_validator(mode="after")
    def _can_be_built(self) -> ScheduleSection:
        # The result is discarded; building it only raises what the types cannot express, such as a formula that does
        # not parse.
        self.schedule()
        return self


class TunedSection(Section):
    """ρ_t = κt/(1 − 2γ) with κ = Σs/Σd, which averages noise of scale t^γ away at the optimal rate."""

    kind: Literal["tuned"] = "tuned"


class OptimalSection(Section):
    """The schedule under which agents are closest to v at the end of the run."""

    kind: Literal["optimal"] = "optimal"


# Schedules that depend on the model, so the section itself has none.
DERIVED: dict[str, type[Section]] = {"tuned": TunedSection, "optimal": OptimalSection}


SCHEDULE_SECTIONS = {
    kind: derived(ScheduleSection, kind, member, member.parameters, key="kind", description=summary(member))
    for kind, member in SCHEDULES.items()
}


def choose_schedule(value: Any) -> str | None:
    """Return the tag of the schedule that a table describes; a formula needs no kind."""
    key, word = key_of(value, "kind", "formula") or (None, None)
    kind = "formula" if key == "formula" else str(word)
    return kind if kind in SCHEDULE_SECTIONS else None


def _choose_pressure(value: Any) -> str | None:
    _, word = key_of(value, "kind") or (None, None)
    return str(word) if word in tuple(DERIVED) else choose_schedule(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)


def _pressure_table(value: Any) -> Any:
    """Return a number or a text as the table that it stands for: a constant, a name, or a formula."""
    if _is_number(value):
        return {"kind": "constant", "value": value}
    return ({"kind": value} if value in DERIVED else {"formula": value}) if isinstance(value, str) else value


_KINDS = ", ".join(SCHEDULE_SECTIONS)
_EXAMPLE = "for instance kind = 'linear', or formula = 't*log(1 + t)'"
# Type checkers cannot evaluate unions that are computed at run time, so they get the common base class.
if TYPE_CHECKING:
    AnySchedule: TypeAlias = ScheduleSection
    PressureSection: TypeAlias = ScheduleSection | TunedSection | OptimalSection
    ScaleSection: TypeAlias = ScheduleSection
else:
    AnySchedule = union_of(SCHEDULE_SECTIONS)
    PressureSection = Annotated[
        AnySchedule | Annotated[TunedSection, tag("tuned")] | Annotated[OptimalSection, tag("optimal")],
        alternatives(
            _choose_pressure,
            f"pressure must be a number, or have a formula, or a kind: {', '.join([_KINDS, *DERIVED])}",
            _EXAMPLE,
            kind=[*SCHEDULE_SECTIONS, *DERIVED],
        ),
        BeforeValidator(_pressure_table),
    ]
    ScaleSection = Annotated[
        AnySchedule,
        alternatives(
            choose_schedule,
            f"a scale over time must have a formula, or a kind: {_KINDS}",
            _EXAMPLE,
            kind=SCHEDULE_SECTIONS,
        ),
    ]


def derived_schedule(section: TunedSection | OptimalSection, model: Model, steps: int) -> Schedule:
    """Return a schedule that depends on the model, and the optimal one also on the length of the run."""
    return tuned_line(model) if isinstance(section, TunedSection) else optimal_schedule(model, steps).schedule


class AR1Section(Section):
    """AR(1) noise with this coefficient φ, u_t = φ u_{t−1} + √(1−φ²) z_t."""

    ar1: Annotated[float, Field(gt=-1, lt=1)]


def _choose_temporal(value: Any) -> str | None:
    return "word" if isinstance(value, str) else "ar1" if key_of(value, "ar1") else None


TemporalSection: TypeAlias = Annotated[
    Annotated[Literal["white", "frozen"], tag("word")] | Annotated[AR1Section, tag("ar1")],
    alternatives(_choose_temporal, "temporal must be 'white', 'frozen' or { ar1 = 0.8 }", "the default is 'white'"),
]


class LawSection(Section):
    """Noise of a law; it is built on validation, so its own rules apply at once."""

    law: str

    def noise(self) -> Noise:
        """Return the noise."""
        return noise_from_dict(self._values())

    def _values(self) -> dict[str, Any]:
        values = self.model_dump()
        if "temporal" in values:
            kind = values["temporal"]
            # The file has a word or one number; the noise laws have a table with a kind.
            values["temporal"] = (
                {"kind": kind} if isinstance(kind, str) else {"kind": "ar1", "coefficient": kind["ar1"]}
            )
        return values

    @model_validator(mode="after")
    def _can_be_built(self) -> LawSection:
        self.noise()
        return self


class CustomLawSection(LawSection):
    """A distribution of scipy.stats by its name and its parameters."""

    def _values(self) -> dict[str, Any]:
        values = super()._values()
        # SciPy's positional parameters are not offered: names are readable and checked.
        return values | {"args": [], "kwds": values.pop("parameters")}


# Keys of all laws whose constructors take them, declared once.
_OVER_TIME: dict[str, Any] = {
    "temporal": (TemporalSection, "white"),
    "time_scale": (ScaleSection, SCHEDULE_SECTIONS["constant"].model_validate({"value": 1.0})),
}


def _law_section(law: str, member: type[Noise]) -> type[LawSection]:
    base, more = LawSection, _OVER_TIME if takes(member, "temporal") else {}
    if law == "custom":
        base, more = CustomLawSection, {"parameters": (dict[str, float], Field(default_factory=dict))} | more
    return derived(base, law, member, member.parameters, key="law", description=summary(member), more=more)


LAW_SECTIONS = {law: _law_section(law, member) for law, member in LAWS.items()}


def _noise_table(value: Any) -> Any:
    """Return a text or a number as the table that it stands for: a law in words, or Gaussian noise of this size."""
    return noise_in_words(str(value)) if _is_number(value) or isinstance(value, str) else value


def _choose_noise(value: Any) -> str | None:
    _, law = key_of(value, "law") or (None, None)
    # A tuple compares with ==; a set or dict would raise for an unhashable value such as a list.
    return str(law) if law in tuple(LAW_SECTIONS) else None


if TYPE_CHECKING:
    NoiseSection: TypeAlias = LawSection
else:
    NoiseSection = Annotated[
        union_of(LAW_SECTIONS),
        alternatives(
            _choose_noise,
            f"noise must have a law: {', '.join(LAW_SECTIONS)}",
            "for instance law = 'gaussian'",
            law=LAW_SECTIONS,
        ),
        BeforeValidator(_noise_table),
    ]


class Time(Section):
    """Continuous time: the model as a stochastic differential equation, recorded every ``step`` of time.

    ``scaling`` is the factor in front of the noise, and ``method`` the way in which paths are drawn. With
    ``continuous = false`` time is discrete, and the other keys are ignored.
    """

    continuous: bool = True
    step: Positive = 0.1
    scaling: Literal["printed", "model"] = "printed"
    method: Method = "auto"

    def system(self, model: Model) -> System:
        """Return the model, or its stochastic differential equation where time is continuous."""
        return SDE(model, self.step, self.scaling, self.method) if self.continuous else model


# How a page offers them.

TUNED = Choice(
    "tuned", "Tuned to this network", "ρ_t = κt with κ = Σs/Σd: all past public opinions have the same weight."
)
OPTIMAL = Choice(
    "optimal", "Optimal for this run", "Agents are closest to v at the end of the run: slow growth, then averaging."
)
TEMPORALS: tuple[Choice, ...] = (
    Choice("white", "White", "A new draw at every step, as in the paper."),
    Choice(
        "ar1",
        "AR(1)",
        "A share φ of the last draw stays in the next.",
        (real("ar1", "coefficient φ", -0.99, 0.99, 0.8, 0.01),),
    ),
    Choice("frozen", "Frozen", "Drawn once for each agent: it never averages out."),
)
TIME = Feature(
    "Continuous time",
    "A stochastic differential equation instead of steps.",
    (
        Choice(
            "printed",
            "As printed",
            "Noise is that of the paper's equation: divided by stubbornness.",
            (real("step", "time between records", 0.01, 1.0, 0.1, 0.01, log=True),),
            fixed={"continuous": True, "scaling": "printed"},
        ),
        Choice(
            "model",
            "As in steps",
            "Noise has the size that it has in the discrete model.",
            (real("step", "time between records", 0.01, 1.0, 0.1, 0.01, log=True),),
            fixed={"continuous": True, "scaling": "model"},
        ),
    ),
)
