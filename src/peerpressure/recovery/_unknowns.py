"""Unknown parameters of a model: which can be fitted, and the result of a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model, Vector
from peerpressure.noise import Gaussian
from peerpressure.recovery._estimate import Estimate
from peerpressure.schedules import Linear, Power

if TYPE_CHECKING:
    import pandas


UNKNOWNS = ("std", "stubbornness", "slope", "exponent")


@final
@dataclass(frozen=True, eq=False)
class UnknownParameter:
    """One unknown: ``value`` and ``std`` are (replicates,), or (replicates, n) where each agent has its own.

    ``identified`` is True where the outputs determine it; elsewhere the standard error is infinite.
    """

    value: Vector
    std: Vector

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Where the outputs determine the parameter."""
        return np.isfinite(self.std)


@final
@dataclass(frozen=True, eq=False)
class LikelihoodFit:
    """Parameters and x₀ at the maximum of their joint likelihood.

    Standard errors are those of the observed information, the exact second derivative at the maximum. They differ a
    little from one replicate to the next; the covariance of ``estimate`` is their mean over replicates, and
    ``hidden_std`` (replicates, n) has them one by one. ``log_likelihood`` is (replicates,).
    """

    estimate: Estimate
    parameters: Mapping[str, UnknownParameter]
    hidden_std: Vector
    log_likelihood: Vector

    @property
    def identifiable(self) -> NDArray[np.bool_]:
        """In which replicates the outputs determine every unknown, (replicates,)."""
        settled = np.ones(self.log_likelihood.shape, dtype=bool)
        for parameter in self.parameters.values():
            settled &= parameter.identified.reshape(settled.size, -1).all(axis=1)
        return settled

    def to_dataframe(self) -> pandas.DataFrame:
        """Return tidy rows: parameter, agent (None for one that all share), replicate, value, std."""
        import pandas

        labels = self.estimate.model.network.labels
        rows = [
            (name, labels[column] if parameter.value.ndim == 2 else None, replicate, value, std)
            for name, parameter in self.parameters.items()
            for replicate, (values, deviations) in enumerate(zip(parameter.value, parameter.std, strict=True))
            for column, (value, std) in enumerate(zip(np.atleast_1d(values), np.atleast_1d(deviations), strict=True))
        ]
        return pandas.DataFrame(rows, columns=["parameter", "agent", "replicate", "value", "std"])

    def __repr__(self) -> str:
        parts = [
            f"{name} {np.median(p.value):.4g} ± {np.median(p.std):.2g}" + " (median agent)" * (p.value.ndim == 2)
            for name, p in self.parameters.items()
        ]
        size = f"{self.log_likelihood.size} replicate" + "s" * (self.log_likelihood.size != 1)
        return f"LikelihoodFit({size}, {', '.join(parts) or 'no parameters'})"


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
            # Steps of ¼; beyond ±4, ρ_t vanishes or dominates after a few steps, and data cannot resolve the
            # exponent.
            return np.linspace(-4, 4, 33)
        # A quarter of a decade per step: the slope is a scale, so the grid is geometric.
        slopes = np.logspace(-4, 4, 33)
        assert isinstance(self.model.pressure, Linear)
        # ρ_1 = slope + offset must be positive, also for a negative offset.
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
        # d/dp t^p = t^p log t; at t = 1 the exponent has no effect, and both derivatives are 0.
        return Course(rho, rho * np.log(t), rho * np.log(t) ** 2)

    def settled(self, present: NDArray[np.bool_], known: NDArray[np.bool_], degrees: Vector) -> NDArray[np.bool_]:
        """Return which agents have enough steps for their own unknowns, (n,), after checking their total.

        Only a step in which an agent has neighbours, ``degrees`` (T, n) not 0, depends on its stubbornness.
        """
        steps = present.sum(axis=0)
        own = (~known).astype(int) + self.stubbornness
        # An agent with as many steps as unknowns is fitted exactly: it determines them but adds nothing to the shared
        # ones.
        enough = np.asarray(steps >= np.maximum(own, 1))
        if self.stubbornness:
            # Isolated agents do not depend on s, so it would be a flat direction of the likelihood.
            enough &= (present & (degrees > 0)).any(axis=0)
        shared = int(self.std) + (self.pressure is not None)
        # Degrees of freedom left for the parameters that all agents share.
        spare = int((steps - own)[enough].sum())
        if not enough.any() or spare < shared:
            rule = f"each agent needs {int(own.max())} steps or more that are seen from beginning to end, "
            rule += f"and all together {shared} more" if shared else "for what is unknown of it alone"
            got = f"at most {int(steps.max(initial=0))} for an agent"
            raise InvalidInputError(message(rule, got=got, remedy="observe longer, or take less as unknown"))
        return enough


def unknowns(model: Model, names: Sequence[str]) -> Unknowns:
    """Return the unknowns, after checking that outputs of the model can determine them."""
    wrong = [name for name in names if name not in UNKNOWNS]
    if isinstance(names, str) or wrong:
        rule = f"unknowns must be among {', '.join(UNKNOWNS)}"
        got = repr(names) if isinstance(names, str) else ", ".join(map(repr, wrong))
        raise InvalidInputError(message(rule, got=got, remedy="for instance unknown=('std', 'stubbornness')"))
    _check_discrete(model)
    _check_noise(model)
    for name, kind in (("slope", Linear), ("exponent", Power)):
        if name in names and not isinstance(model.pressure, kind):
            rule = f"an unknown {name} needs {kind.__name__} peer pressure"
            raise InvalidInputError(message(rule, got=str(model.pressure), remedy=f"drop {name!r} from unknown"))
    # With an offset the factor is fixed by ρ_t − slope·t, and both can be identified.
    if {"slope", "stubbornness"} <= set(names) and isinstance(model.pressure, Linear) and not model.pressure.offset:
        rule = "slope and stubbornness cannot both be unknown: multiplying all of them by one factor changes nothing"
        remedy = "fix the slope, which sets the unit of stubbornness, or fix the stubbornness"
        raise InvalidInputError(message(rule, got="both", remedy=remedy))
    # Without duplicates, in the order in which they were named.
    return Unknowns(model, tuple(dict.fromkeys(names)))


def _check_discrete(model: object) -> None:
    if not isinstance(model, Model):
        rule = "unknown parameters are fitted in discrete time, to a Model"
        remedy = "recover the hidden opinions alone, or fit a Model"
        raise InvalidInputError(message(rule, got=type(model).__name__, remedy=remedy))


def _check_noise(model: Model) -> None:
    noise = model.noise
    quiet = not noise.deviations(model.n).all()
    if not isinstance(noise, Gaussian) or noise.autocorrelation or quiet:
        rule = "unknown parameters are fitted under white Gaussian noise that every agent has"
        remedy = "take the parameters as known, or use Gaussian noise"
        raise InvalidInputError(message(rule, got=str(noise), remedy=remedy))
