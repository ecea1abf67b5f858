"""Courses of peer pressure that a record can tell apart, with or without adaptation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, final

import numpy as np
from scipy import special

from peerpressure.fitting._parameters import EXPONENT, POSITIVE, RATE, UnknownParameter
from peerpressure.fitting._record import LEAST_ROWS, Panel
from peerpressure.model.step import Array
from peerpressure.schedules import Constant, Linear, Power, Schedule

ADAPTING = "+adaptation"
# Rows after the first from which powers of time, and adaptation under pressure, are told from anything else.
TELLING_ROWS = 10
# Pressure times the mean degree over stubbornness: outside of these nothing of it, or of anything else, is seen.
_SIZES = float(np.log(1e-5)), float(np.log(1e4))
# Beyond ±3, pressure vanishes or dominates after a few steps, and data cannot resolve the exponent.
_EXPONENTS = (-3.0, 3.0)
# Beyond 0.9 there are no opinions but the last answers.
_RATES = RATE.low, float(special.logit(0.9))
# The scales of parameters, other than those of sizes.
_SCALES = {"exponent": EXPONENT, "adaptation": RATE}
# Step of derivatives of parameters by their coordinates.
_STEP = 1e-3
# How near to the end of its range a coordinate is at this end.
_EDGE = 0.01
# Coordinates from which a search begins.
_FIRST_SIZES = np.linspace(-4.0, 4.0, 9)
_FIRST_EXPONENTS = (-0.5, 0.0, 0.5, 1.0, 1.5)
_FIRST_RATES: tuple[float, ...] = (-6.0, -4.0, -3.0, -2.0, 0.0)
# Names of the parameters of each course, and the exponent of time in it where that is known.
COURSES: dict[str, tuple[tuple[str, ...], float | None]] = {
    "none": ((), 0.0),
    "constant": (("pressure",), 0.0),
    "linear": (("slope",), 1.0),
    "power": (("scale", "exponent"), None),
}

Bounds: TypeAlias = tuple[tuple[float, float], ...]


@final
@dataclass(frozen=True)
class Course:
    """A power of time ρ_t = c t^p, with c = 0, or p = 0, 1 or unknown, and a rate of adaptation where there is one.

    Its coordinates are log c · ``weight`` · ``middle``^p, by which courses of all exponents have a common scale, p
    where it is unknown, and the logit of the rate. ``weight`` is the mean degree over stubbornness.
    """

    name: str
    weight: float
    middle: float
    adapts: bool = False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its parameters, one for each coordinate."""
        return COURSES[self.name][0] + ("adaptation",) * self.adapts

    @cached_property
    def _pressures(self) -> int:
        return len(COURSES[self.name][0])

    @cached_property
    def _exponent(self) -> float | None:
        return COURSES[self.name][1]

    @cached_property
    def bounds(self) -> Bounds:
        """The range of each coordinate that is searched."""
        return (_SIZES, _EXPONENTS)[: self._pressures] + (_RATES,) * self.adapts

    def starts(self, most: int | None = None, rates: slice = slice(None)) -> Array:
        """Return points from which a search begins, (points, coordinates): about as many courses, with some rates."""
        points: list[tuple[float, ...]] = [()]
        if self._pressures == 1:
            points = [(c,) for c in _FIRST_SIZES]
        elif self._pressures:
            points = [(c, p) for c in _FIRST_SIZES[::2] for p in _FIRST_EXPONENTS]
        points = points[:: max(1, len(points) // (most or len(points)))]
        adapting: list[tuple[float, ...]] = [(rate,) for rate in _FIRST_RATES[rates]] if self.adapts else [()]
        every = [point + rate for point in points for rate in adapting]
        return np.array(every, dtype=np.float64).reshape(len(every), len(self.names))

    def _power(self, z: Array) -> tuple[float, float]:
        """Return the scale, at the middle of the record, and the exponent."""
        scale = float(np.exp(z[0])) / self.weight if self._pressures else 0.0
        return scale, float(z[1]) if self._exponent is None else self._exponent

    def rho(self, z: Array, t: Array) -> Array:
        """Return the pressure at steps."""
        scale, exponent = self._power(z)
        return np.asarray(scale * (t / self.middle) ** exponent) if exponent else np.full(t.size, scale)

    def rate(self, z: Array) -> float:
        """Return the rate of adaptation."""
        return float(RATE.back(z[self._pressures])) if self.adapts else 0.0

    def values(self, z: Array) -> Array:
        """Return the parameters at coordinates, of which further ones are left out."""
        scale, exponent = self._power(z)
        own = [scale * self.middle**-exponent, exponent][: self._pressures]
        return np.array(own + [self.rate(z)] * self.adapts)

    def schedule(self, z: Array) -> Schedule:
        """Return the peer pressure at coordinates."""
        scale, exponent = self._power(z)
        size = scale * self.middle**-exponent
        if self.name == "power":
            return Power(exponent, size)
        return Linear(size) if exponent else Constant(size)

    def unidentified(self, z: Array) -> str:
        """Return the parameter at the end of its range, where the data cannot determine it; empty if there is none.

        Without pressure, or without adaptation, a model is one of its cases, which is identified.
        """
        for name, value, (low, high) in zip(self.names, z, self.bounds, strict=False):
            if value > high - _EDGE or (name == "exponent" and value < low + _EDGE):
                return name
        return ""

    def of_part(self, part: Course, z: Array) -> Array | None:
        """Return coordinates of another course as those of this one, None if it is no case of this."""
        if part.adapts > self.adapts:
            return None
        rate, size = [z[part._pressures] if part.adapts else _RATES[0]] * self.adapts, [*z[: part._pressures]]
        if part.name == self.name:
            return np.array([*size, *rate])
        if part.name == "none":
            # As good as no pressure.
            return np.array([_SIZES[0], 0.0][: self._pressures] + rate)
        return np.array([*size, COURSES[part.name][1], *rate]) if self.name == "power" else None

    def parameters(self, z: Array, std: Array, ends: Array) -> dict[str, UnknownParameter]:
        """Return the parameters at coordinates with these standard errors (k,) and ends of intervals (k, 2)."""
        made = {}
        for k, (name, searched) in enumerate(zip(self.names, self.bounds, strict=True)):
            scale = _SCALES.get(name, POSITIVE)
            value, low, high, above, below = (
                self._moved(z, k, to) for to in (z[k], *ends[k], z[k] + _STEP, z[k] - _STEP)
            )
            # An end of the search range stands for one of the legal range.
            low = np.where(ends[k, 0] > searched[0], low, scale.limits[0])
            high = np.where(ends[k, 1] < searched[1], high, scale.limits[1])
            error = np.abs(above - below) / (2 * _STEP) * std[k]
            made[name] = UnknownParameter(value, error, low, high, scale.bounds(low, high) & np.isfinite(error))
        return made

    def _moved(self, z: Array, k: int, to: float) -> Array:
        """Return a parameter where its coordinate is another, (1,)."""
        return self.values(np.array([*z[:k], to, *z[k + 1 :]]))[k : k + 1]


def course_of(panel: Panel, name: str) -> Course:
    """Return the course of a name, in units that suit the record."""
    middle = float(np.exp(np.log(panel.steps[1:].astype(np.float64)).mean()))
    return Course(name.removesuffix(ADAPTING), float(panel.slope.mean()) or 1.0, middle, name.endswith(ADAPTING))


def course_names(panel: Panel) -> tuple[str, ...]:
    """Return the courses of peer pressure that a record can tell apart, each with adaptation after it."""
    many = panel.length >= TELLING_ROWS
    # A few rows tell an exponent neither from a level nor from noise.
    names = [name for name in COURSES if name == "none" or (panel.slope.any() and (many or name != "power"))]
    adapting = {name for name in names if many or (name == "none" and panel.length > LEAST_ROWS - 1)}
    return tuple(each for name in names for each in (name, name + ADAPTING) if each == name or name in adapting)
