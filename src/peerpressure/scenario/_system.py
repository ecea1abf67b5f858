"""[pressure]: a named schedule with its parameters, a table, a formula in t, or the tuned one."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, Tag, model_validator

from peerpressure.model import Model, PerAgent
from peerpressure.networks import Network
from peerpressure.noise import Noise, noise_from_dict
from peerpressure.scenario._section import Numbers, OneOrMany, Positive, Section, alternatives, key_of, tag
from peerpressure.schedules import Linear, Schedule, schedule_from_dict
from peerpressure.sde import SDE


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


def _choose_pressure(value: Any) -> str | None:
    key, word = key_of(value, "kind", "formula") or (None, None)
    if key == "formula":
        return tag("formula")
    return tag(str(word)) if word in (*_KINDS, "tuned") else None


def choose_scale(value: Any) -> str | None:
    """Return the tag of the schedule that a value is, if it is one that needs no agents."""
    chosen = _choose_pressure(value)
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
    alternatives(_choose_pressure, f"pressure must have a formula, or a kind: {', '.join(_KINDS)} or tuned", _REMEDY),
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


# [noise]: a law, its standard deviation, its scale over time and its temporal kind.


class CarriedOver(Section):
    """AR(1) noise: this share of the last draw is carried over."""

    ar1: Annotated[float, Field(gt=-1, lt=1)]


def _choose_temporal(value: Any) -> str | None:
    return tag("word") if isinstance(value, str) else tag("ar1") if key_of(value, "ar1") else None


TemporalSection: TypeAlias = Annotated[
    Annotated[Literal["white", "frozen"], Tag("<word>")] | Annotated[CarriedOver, Tag("<ar1>")],
    alternatives(_choose_temporal, "temporal must be 'white', 'frozen' or { ar1 = 0.8 }", "the default is 'white'"),
]


class _Drawn(Section):
    """Noise that is drawn from some law."""

    law: str
    std: OneOrMany | None = 1.0
    temporal: TemporalSection = "white"
    time_scale: ScaleSection = ConstantPressure(value=1.0)

    def noise(self) -> Noise:
        """Return the noise itself."""
        return noise_from_dict(self.model_dump(exclude={"temporal", "time_scale"}) | self._through_time())

    def _through_time(self) -> dict[str, Any]:
        if isinstance(self.temporal, CarriedOver):
            kind: dict[str, Any] = {"kind": "ar1", "coefficient": self.temporal.ar1}
        else:
            kind = {"kind": self.temporal}
        return {"temporal": kind, "time_scale": self.time_scale.schedule().to_dict()}

    @model_validator(mode="after")
    def _can_be_built(self) -> _Drawn:
        self.noise()
        return self


class PlainNoise(_Drawn):
    """A law without parameters of its own."""

    law: Literal["gaussian", "laplace", "uniform", "rademacher"]
    std: OneOrMany = 1.0


class StudentNoise(_Drawn):
    """Student's t, heavy-tailed."""

    law: Literal["student"] = "student"
    std: OneOrMany = 1.0
    df: Annotated[float, Field(gt=2)] = 5.0


class CustomNoise(_Drawn):
    """A distribution of scipy.stats by name; without ``std`` it keeps its own."""

    law: Literal["custom"] = "custom"
    std: OneOrMany | None = None
    distribution: Annotated[str, Field(min_length=1)]
    parameters: dict[str, float] = Field(default_factory=dict)
    centre: bool = False

    def noise(self) -> Noise:
        """Return the noise itself."""
        values = {"law": self.law, "std": self.std, "centre": self.centre, "distribution": self.distribution}
        return noise_from_dict(values | {"args": [], "kwds": self.parameters} | self._through_time())


class Silence(Section):
    """No noise: everyone says what it means."""

    law: Literal["none"] = "none"

    def noise(self) -> Noise:
        """Return no noise."""
        return noise_from_dict({"law": "none"})


_LAWS = ("gaussian", "laplace", "uniform", "rademacher")


def _choose_noise(value: Any) -> str | None:
    _, law = key_of(value, "law") or (None, None)
    return tag("plain") if law in _LAWS else tag(str(law)) if law in ("student", "custom", "none") else None


NoiseSection: TypeAlias = Annotated[
    Annotated[PlainNoise, Tag("<plain>")]
    | Annotated[StudentNoise, Tag("<student>")]
    | Annotated[CustomNoise, Tag("<custom>")]
    | Annotated[Silence, Tag("<none>")],
    alternatives(
        _choose_noise,
        f"noise must have a law: {', '.join(_LAWS)}, student, custom or none",
        "for instance law = 'gaussian'",
    ),
]


# [time]: continuous time, and the steps in which it is walked.


class Time(Section):
    """Time that flows: the model as a stochastic differential equation, recorded every ``step`` of time.

    ``scaling`` says what stands before the noise, and ``method`` how paths are drawn. ``continuous = false`` goes back
    to steps and keeps the other keys for later.
    """

    continuous: bool = True
    step: Positive = 0.1
    scaling: Literal["printed", "model"] = "printed"
    method: Literal["auto", "exact", "euler"] = "auto"

    def flow(self, model: Model) -> Model | SDE:
        """Return the model as it runs in this time."""
        return SDE(model, self.step, self.scaling, self.method) if self.continuous else model
