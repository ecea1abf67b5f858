"""[noise]: a law, its standard deviation, its scale over time and its temporal kind."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, Tag, model_validator

from peerpressure.noises import Noise, noise_from_dict
from peerpressure.scenario.pressure import ConstantPressure, ScaleSection
from peerpressure.scenario.section import OneOrMany, Section, alternatives, key_of, tag


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


def _choose(value: Any) -> str | None:
    _, law = key_of(value, "law") or (None, None)
    return tag("plain") if law in _LAWS else tag(str(law)) if law in ("student", "custom", "none") else None


NoiseSection: TypeAlias = Annotated[
    Annotated[PlainNoise, Tag("<plain>")]
    | Annotated[StudentNoise, Tag("<student>")]
    | Annotated[CustomNoise, Tag("<custom>")]
    | Annotated[Silence, Tag("<none>")],
    alternatives(
        _choose, f"noise must have a law: {', '.join(_LAWS)}, student, custom or none", "for instance law = 'gaussian'"
    ),
]
