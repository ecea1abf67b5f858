"""Which parameters of a model are unknown, what outputs must have to settle them, and how ρ depends on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model, Vector
from peerpressure.noises import Gaussian, White
from peerpressure.recovery.parameters import UNKNOWNS
from peerpressure.schedules import Linear, Power


@final
@dataclass(frozen=True, eq=False)
class Course:
    """ρ_t with its first and second derivative in the slope or the exponent, (T, 1) each."""

    rho: Vector
    first: Vector
    second: Vector


@final
@dataclass(frozen=True, eq=False)
class Unknowns:
    """A model some of whose parameters are unknown; their values in it are not used."""

    model: Model
    names: tuple[str, ...]

    @property
    def std(self) -> bool:
        """Whether the standard deviation of noise is unknown; the proportions between agents are not."""
        return "std" in self.names

    @property
    def stubbornness(self) -> bool:
        """Whether every agent's stubbornness is unknown."""
        return "stubbornness" in self.names

    @property
    def pressure(self) -> str | None:
        """The unknown parameter of peer pressure."""
        return next((name for name in ("slope", "exponent") if name in self.names), None)

    def candidates(self) -> Vector:
        """Return a wide grid of values of the unknown parameter of peer pressure."""
        if self.pressure == "exponent":
            return np.linspace(-4, 4, 33)
        slopes = np.logspace(-4, 4, 33)
        assert isinstance(self.model.pressure, Linear)
        return slopes[slopes > -self.model.pressure.offset]

    def course(self, times: NDArray[np.int64], value: float | None) -> Course:
        """Return ρ at these times, for a value of its unknown parameter."""
        t = times.astype(np.float64)[:, None]
        schedule = self.model.pressure
        if value is None:
            return Course(schedule(t), np.zeros_like(t), np.zeros_like(t))
        if self.pressure == "slope":
            assert isinstance(schedule, Linear)
            return Course(value * t + schedule.offset, t, np.zeros_like(t))
        assert isinstance(schedule, Power)
        rho = schedule.scale * t**value
        return Course(rho, rho * np.log(t), rho * np.log(t) ** 2)

    def settled(self, present: NDArray[np.bool_], known: NDArray[np.bool_], degrees: Vector) -> NDArray[np.bool_]:
        """Return which agents have steps enough for their own unknowns, (n,), refusing too few steps in all.

        Only a step in which an agent has neighbours, ``degrees`` (T, n) not 0, tells how stubborn it is.
        """
        steps = present.sum(axis=0)
        own = (~known).astype(int) + self.stubbornness
        enough = np.asarray(steps >= np.maximum(own, 1))
        if self.stubbornness:
            enough &= (present & (degrees > 0)).any(axis=0)
        shared = int(self.std) + (self.pressure is not None)
        spare = int((steps - own)[enough].sum())
        if not enough.any() or spare < shared:
            rule = f"each agent needs {int(own.max())} steps or more that are seen from beginning to end, "
            rule += f"and all together {shared} more" if shared else "for what is unknown of it alone"
            got = f"at most {int(steps.max(initial=0))} for an agent"
            raise InvalidInputError(complain(rule, got=got, remedy="observe longer, or take less as unknown"))
        return enough


def unknowns(model: Model, names: Sequence[str]) -> Unknowns:
    """Return the unknowns, refusing those that no output of the model could ever settle."""
    wrong = [name for name in names if name not in UNKNOWNS]
    if isinstance(names, str) or wrong:
        rule = f"unknowns must be among {', '.join(UNKNOWNS)}"
        got = repr(names) if isinstance(names, str) else ", ".join(map(repr, wrong))
        raise InvalidInputError(complain(rule, got=got, remedy="for instance unknown=('std', 'stubbornness')"))
    _refuse_other_kind(model)
    _refuse_other_noise(model)
    for name, kind in (("slope", Linear), ("exponent", Power)):
        if name in names and not isinstance(model.pressure, kind):
            rule = f"an unknown {name} needs {kind.__name__} peer pressure"
            raise InvalidInputError(complain(rule, got=str(model.pressure), remedy=f"drop {name!r} from unknown"))
    if {"slope", "stubbornness"} <= set(names) and isinstance(model.pressure, Linear) and not model.pressure.offset:
        rule = "slope and stubbornness cannot both be unknown: multiplying all of them by one factor changes nothing"
        remedy = "fix the slope, which sets the unit of stubbornness, or fix the stubbornness"
        raise InvalidInputError(complain(rule, got="both", remedy=remedy))
    return Unknowns(model, tuple(dict.fromkeys(names)))


def _refuse_other_kind(model: object) -> None:
    if not isinstance(model, Model):
        rule = "unknown parameters are fitted in discrete time, to a Model"
        remedy = "recover the hidden opinions alone, or fit a Model"
        raise InvalidInputError(complain(rule, got=type(model).__name__, remedy=remedy))


def _refuse_other_noise(model: Model) -> None:
    noise = model.noise
    quiet = not noise.deviations(model.n).all()
    if not isinstance(noise, Gaussian) or not isinstance(noise.temporal, White) or quiet:
        rule = "unknown parameters are fitted under white Gaussian noise that every agent has"
        remedy = "take the parameters as known, or use Gaussian noise"
        raise InvalidInputError(complain(rule, got=str(noise), remedy=remedy))
