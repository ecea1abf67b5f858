"""Courses of peer pressure that a record can tell apart: their parameters, where to search, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, final

import numpy as np
from scipy import special

from peerpressure.fitting._record import Panel
from peerpressure.immutable import read_only
from peerpressure.schedules import Constant, Linear, Power, Schedule
from peerpressure.step import Array

ADAPTING = "+adaptation"
# Rows after the first from which powers of time, and adaptation under pressure, are told from anything else.
TELLING_ROWS = 10
# Pressure times the mean degree over stubbornness: outside of these nothing of it, or of anything else, is seen.
_WEAKEST, _STRONGEST = np.log(1e-5), np.log(1e4)
# Logit of an adaptation rate: at the lower end it is 1e-6; beyond 0.9 there are no opinions but the last answers.
RATE_RANGE = (-14.0, float(special.logit(0.9)))
# Beyond ±3, pressure vanishes or dominates after a few steps, and data cannot resolve the exponent.
_STEEPEST = 3.0
# How near to the end of its range a coordinate is at this end.
_EDGE = 0.01
# Logits of the rates of adaptation from which a search begins.
FIRST_RATES = (-6.0, -4.0, -3.0, -2.0, 0.0)

Bounds: TypeAlias = tuple[tuple[float, float], ...]


class Course(NamedTuple):
    """A course of peer pressure: its names of parameters, its values, where to search, and its schedule."""

    names: tuple[str, ...]
    rho: Callable[[Array, Array], Array]
    starts: Array
    bounds: Bounds
    values: Callable[[Array], Array]
    schedule: Callable[[Array], Schedule]


def courses(panel: Panel) -> dict[str, Course]:
    """Return the courses of peer pressure by name that a record can tell apart."""
    t = panel.steps[1:].astype(np.float64)
    weight = float(panel.slope.mean()) or 1.0
    middle = float(np.exp(np.log(t).mean()))
    scales = np.linspace(-4.0, 4.0, 9)
    reach = (_WEAKEST, _STRONGEST)
    level = (reach, (-_STEEPEST, _STEEPEST))
    made = {
        "none": no_course(),
        "constant": Course(
            ("pressure",),
            lambda z, t: np.full(t.size, np.exp(z[0]) / weight),
            scales[:, None],
            (reach,),
            lambda z: np.exp(z) / weight,
            lambda z: Constant(float(np.exp(z[0]) / weight)),
        ),
        "linear": Course(
            ("slope",),
            lambda z, t: np.exp(z[0]) / (weight * middle) * t,
            scales[:, None],
            (reach,),
            lambda z: np.exp(z) / (weight * middle),
            lambda z: Linear(float(np.exp(z[0]) / (weight * middle))),
        ),
        "power": Course(
            ("scale", "exponent"),
            lambda z, t: np.exp(z[0]) / weight * (t / middle) ** z[1],
            np.array([(c, p) for c in scales[::2] for p in (-0.5, 0.0, 0.5, 1.0, 1.5)]),
            level,
            lambda z: np.array([np.exp(z[0]) / weight * middle ** -z[1], z[1]]),
            lambda z: Power(float(z[1]), float(np.exp(z[0]) / weight * middle ** -z[1])),
        ),
    }
    # A few rows tell an exponent neither from a level nor from noise.
    if panel.length < TELLING_ROWS:
        made.pop("power")
    return made


def no_course() -> Course:
    """Return the course without peer pressure."""
    return Course(
        (), lambda z, t: np.zeros(t.size), np.zeros((1, 0)), (), lambda z: np.zeros(0), lambda z: Constant(0.0)
    )


@final
@read_only
@dataclass(frozen=True, eq=False)
class ParameterTable:
    """Parameters of one rival: estimates, standard errors, and ends of intervals, all of shape (k,)."""

    names: tuple[str, ...]
    value: Array
    std: Array
    low: Array
    high: Array


def own_values(course: Course, z: Array, *, adapts: bool) -> Array:
    """Return the parameters of a rival at its coordinates: those of the course, and the rate of adaptation after them.

    Further coordinates are left out.
    """
    count = len(course.names)
    own = course.values(z[:count])
    return np.append(own, special.expit(z[count])) if adapts else np.asarray(own)


def own_ranges(course: Course, *, adapts: bool) -> Bounds:
    """Return the range of each of these coordinates that is searched."""
    return course.bounds + (RATE_RANGE,) * adapts


def at_the_edge(course: Course, z: Array, *, adapts: bool) -> str:
    """Return the parameter that is at the end of its range, where no record can tell it; empty if there is none.

    Without pressure, or without adaptation, a model is one of its cases, which is identified.
    """
    names, ranges = course.names + ("adaptation",) * adapts, own_ranges(course, adapts=adapts)
    for name, value, (low, high) in zip(names, z, ranges, strict=False):
        if value > high - _EDGE or (name == "exponent" and value < low + _EDGE):
            return name
    return ""


def embedded(part: Course, z: Array, whole: Course, *, adapts: bool) -> Array | None:
    """Return coordinates of a model as those of a more general one, None if it is no case of that.

    Coordinates of ``part`` are those of its course and, if there is one more, of its rate of adaptation.
    """
    count = len(part.names)
    if z.size > count and not adapts:
        return None
    rate = [z[count] if z.size > count else RATE_RANGE[0]] * adapts
    if part.names == whole.names:
        return np.array([*z[:count], *rate])
    if not part.names:
        # As good as no pressure.
        return np.array([whole.bounds[0][0], *np.zeros(len(whole.names) - 1), *rate])
    exponent = {"pressure": 0.0, "slope": 1.0}.get(part.names[0])
    return None if len(whole.names) != 2 or exponent is None else np.array([z[0], exponent, *rate])


def shown_ends(course: Course, z: Array, ends: Array, side: int, *, adapts: bool) -> Array:
    """Return ends of intervals on the scale of the model; an end of the search range is one of the legal range."""
    names, ranges = course.names + ("adaptation",) * adapts, own_ranges(course, adapts=adapts)
    shown = np.empty(len(names))
    for k, (name, end) in enumerate(zip(names, ends, strict=True)):
        moved = z.copy()
        moved[k] = end
        shown[k] = own_values(course, moved, adapts=adapts)[k]
        if side == 0 and end <= ranges[k][0]:
            shown[k] = -np.inf if name == "exponent" else 0.0
        if side == 1 and end >= ranges[k][1]:
            shown[k] = 1.0 if name == "adaptation" else np.inf
    return shown


def criterion(panel: Panel, k: int, log_likelihood: float) -> float:
    """Return Schwarz's criterion on the scored answers."""
    return k * float(np.log(panel.count)) - 2 * log_likelihood


def common_parameters(panel: Panel) -> int:
    """Return the number of parameters of the family without pressure: coefficients of first answers, λ and σ."""
    return int(panel.regressors.shape[1]) + 2
