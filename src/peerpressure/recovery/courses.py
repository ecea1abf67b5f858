"""Courses of peer pressure that a record can tell apart: their parameters, where to search, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from peerpressure.immutable import read_only
from peerpressure.recovery.panel import Panel
from peerpressure.schedules import Constant, Linear, Power, Schedule, Table
from peerpressure.step import Array

ADAPTING = "+adaptation"
# Pressure times the mean degree over stubbornness: outside of these nothing of it, or of anything else, is seen.
_WEAKEST, _STRONGEST = np.log(1e-5), np.log(1e5)
# Logit of an adaptation rate: at the lower end it is 0.0001, and at the upper end 0.999.
RATE_RANGE = (-9.0, 7.0)
# Beyond ±3, pressure vanishes or dominates after a few steps, and data cannot resolve the exponent.
_STEEPEST = 3.0
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
    edges = piece_starts(panel.steps[1:])
    if edges.size > 1:
        made["pieces"] = _pieces(panel, edges, weight)
    # With two scored rows, two parameters are a level for each row, which the pieces are already.
    if panel.length < 3:
        made.pop("power")
    return made


def no_course() -> Course:
    """Return the course without peer pressure."""
    return Course(
        (), lambda z, t: np.zeros(t.size), np.zeros((1, 0)), (), lambda z: np.zeros(0), lambda z: Constant(0.0)
    )


def _pieces(panel: Panel, edges: NDArray[np.int64], weight: float) -> Course:
    piece = np.searchsorted(edges, panel.steps[1:], side="right") - 1
    starts = np.array([c + p * np.log(edges / edges[0]) for c in np.linspace(-4, 3, 6) for p in (0.0, 0.5, 1.0)])

    def table(z: Array) -> Schedule:
        # Steps before the first scored one have the pressure of its piece.
        before = np.full(int(panel.steps[1]) - 1, np.exp(z[0]) / weight)
        return Table(np.concatenate([before, np.exp(z)[piece] / weight]))

    return Course(
        tuple(f"pressure from step {edge}" for edge in edges),
        lambda z, t: np.exp(z)[piece] / weight,
        np.clip(starts, _WEAKEST, _STRONGEST),
        ((_WEAKEST, _STRONGEST),) * edges.size,
        lambda z: np.exp(z) / weight,
        table,
    )


def piece_starts(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first steps of pieces of time, each twice as long as the one before."""
    first, last = int(steps[0]), int(steps[-1])
    powers = 2 ** np.arange(63)
    inside = powers[(powers > first) & (powers <= last)]
    # A last piece of one row among many would have a level of its own that one row determines.
    if inside.size and last - inside[-1] + 1 < min(3, steps.size // 2):
        inside = inside[:-1]
    return np.concatenate([[first], inside]).astype(np.int64)


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


def search_charge(panel: Panel) -> float:
    """Return the charge for the choice among the ways to respond to neighbours, on the scale of −2 log likelihood.

    With so many ways, one of them explains chance more often than a single one would.
    """
    # Courses with pressure, and DeGroot's average; "none" is no way to respond.
    return 2 * float(np.log(len(courses(panel))))


def criterion(panel: Panel, k: int, log_likelihood: float, *, responds: bool) -> float:
    """Return Schwarz's criterion on the scored answers, with the charge for ways to respond to neighbours."""
    charge = search_charge(panel) if responds else 0.0
    return k * float(np.log(panel.count)) + charge - 2 * log_likelihood


def common_parameters(panel: Panel) -> int:
    """Return the number of parameters of the family without pressure: coefficients of first answers, λ and σ."""
    return int(panel.regressors.shape[1]) + 2
