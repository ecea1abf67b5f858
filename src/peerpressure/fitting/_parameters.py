"""The table of parameters that can be unknown: each row says all that the fit, the command line and the docs need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from types import MappingProxyType
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.statespace import discrete_model
from peerpressure.model.step import Array
from peerpressure.noise import AR1, Gaussian
from peerpressure.recovery.limits import FIT_PIECES
from peerpressure.schedules import Constant, Linear, Power, Schedule, Table
from peerpressure.support.results import read_only


@final
@read_only
@dataclass(frozen=True, eq=False)
class UnknownParameter:
    """One unknown: all arrays are (replicates,), or (replicates, k) where each agent or piece of time has its own.

    That of a single replicate has arrays of shape (k,).

    Attributes
    ----------
    value, std : array
        The estimate and its standard error, from the curvature at the maximum; ∞ where the likelihood is flat.
    low, high : array
        Ends of the confidence interval. An infinite end, or one at the end of the legal range, means that the data do
        not bound the parameter on that side.
    identified : array of bool
        Where the curvature is positive and the interval is bounded on both sides; a lower end of 0 is a bound, of a
        parameter that may be absent. Along with a stubbornness or noise of every agent, an adaptation is also not
        identified where its likelihood is highest at an end of the range, or where the modified and the plain
        likelihood have different maxima; its standard error is then ∞ and its interval the legal range.
    """

    value: Array
    std: Array
    low: Array
    high: Array
    identified: NDArray[np.bool_]


class Coordinate(NamedTuple):
    """A scale on which a parameter is unbounded, the search range on it, and the ends of the legal range."""

    to: Callable[[Any], Any]
    back: Callable[[Any], Any]
    low: float
    high: float
    limits: tuple[float, float]

    def parameter(
        self, z: Array, variance: Array, ends: Array, *, sure: bool | NDArray[np.bool_] = True, factor: Any = 1.0
    ) -> UnknownParameter:
        """Return parameters at coordinates (k,) with variances and ends (k, 2), infinite where nothing bounds them."""
        # The derivative of the parameter by its coordinate carries the standard error over.
        slope = (self.back(z + 1e-6) - self.back(z - 1e-6)) / 2e-6
        low, high = (np.where(np.isinf(end), to, self.back(end)) for end, to in zip(ends.T, self.limits, strict=True))
        std = np.where(sure, np.abs(slope) * np.sqrt(variance), np.inf)
        bounded = self.bounds(low, high) & sure
        return UnknownParameter(self.back(z) * factor, std * factor, low * factor, high * factor, bounded)

    def bounds(self, low: Array, high: Array) -> NDArray[np.bool_]:
        """Return where intervals of the parameter are bounded."""
        # A lower end of 0 bounds a parameter that may be absent; the other ends of legal ranges bound nothing.
        return np.asarray(((low > self.limits[0]) | (low == 0)) & (high < self.limits[1]))


class Shared(NamedTuple):
    """What all agents share at one point: ρ (T, 1), η (last, n) or None, φ, and log σ, None if it is maximised."""

    rho: Array
    rate: Array | None = None
    phi: float = 0.0
    log_std: float | None = None


class Unknown(NamedTuple):
    """A row of the table.

    ``words`` say what is unknown; a row without any is not for users. ``into`` puts a value into a model, in which each
    step has its piece of time. Of a parameter that all agents share, ``enter`` puts values into what they share,
    ``starts`` are coordinates from which a search begins; without any they follow from the others, and a search goes
    no further than ``width`` from them. A parameter without a ``scale`` is one of each agent, which formulas find.
    ``needs`` is the peer pressure that has it, ``limits`` are the ends of the legal range in words, and ``why`` says
    what makes it hard to identify.
    """

    words: str
    into: Callable[[Model, Any, NDArray[np.int64]], Model]
    scale: Coordinate | None = None
    enter: Callable[[Shared, Unknowns, Array], Shared] | None = None
    starts: Array | tuple[()] = ()
    width: tuple[float, float] = (np.inf, np.inf)
    is_pressure: bool = False
    needs: type[Schedule] | None = None
    limits: tuple[str, ...] = ()
    why: str = ""


def _with_std(model: Model, value: Any, piece: NDArray[np.int64]) -> Model:
    own = np.where(np.isnan(value), model.noise.std, value)
    return replace(model, noise=replace(model.noise, std=float(own) if own.ndim == 0 else own))


def _with_stubbornness(model: Model, value: Any, piece: NDArray[np.int64]) -> Model:
    # Agents of whom nothing is known keep that of the model.
    return replace(model, stubbornness=np.where(np.isnan(value), model.s, value))


def _with_pressure(field: str) -> Callable[[Model, Any, NDArray[np.int64]], Model]:
    """Return a function that replaces one parameter of the peer pressure."""

    def into(model: Model, value: Any, piece: NDArray[np.int64]) -> Model:
        # Every course is a dataclass with this field, which the type of all courses does not tell.
        course: Any = model.pressure
        return replace(model, pressure=replace(course, **{field: float(value)}))

    return into


def _with_adaptation(model: Model, value: Any, piece: NDArray[np.int64]) -> Model:
    return replace(model, adaptation=Adaptation(float(value), adaptation_of(model, 1.0).adaptation_weight))


def _enter_slope(shared: Shared, of: Unknowns, value: Array) -> Shared:
    course = of.model.pressure
    assert isinstance(course, Linear)
    # A negative offset leaves ρ = 0 until the line is above 0, as the schedule itself does.
    return shared._replace(rho=np.maximum(value[0] * of.t + course.offset, 0.0))


def _enter_exponent(shared: Shared, of: Unknowns, value: Array) -> Shared:
    course = of.model.pressure
    assert isinstance(course, Power)
    return shared._replace(rho=np.asarray(course.scale * of.t ** value[0]))


def _enter_adaptation(shared: Shared, of: Unknowns, value: Array) -> Shared:
    rate = np.full((int(of.times[-1]), 1), value[0]) * of.adaptation_weights
    return shared._replace(rate=rate if rate.any() else None)


def _enter_std(shared: Shared, of: Unknowns, value: Array) -> Shared:
    return shared._replace(log_std=None if np.isnan(value[0]) else float(np.log(value[0])))


def _unused(shared: Shared, of: Unknowns, value: Array) -> Shared:
    return shared


# Beyond ±4, ρ_t vanishes or dominates after a few steps, and data cannot resolve the exponent.
EXPONENT = Coordinate(np.positive, np.positive, -4.0, 4.0, (-np.inf, np.inf))
POSITIVE = Coordinate(np.log, np.exp, np.log(1e-6), np.log(1e6), (0.0, np.inf))
_SCALE = Coordinate(np.log, np.exp, -80.0, 80.0, (0.0, np.inf))
# Beyond 0.999, and below 1e-6, nothing changes any more.
RATE = Coordinate(special.logit, special.expit, -14.0, 7.0, (0.0, 1.0))
# A quarter of a decade, or of an exponent, per step.
_DECADES = np.log(10.0) * np.linspace(-4, 4, 33)

# Shared parameters are in their order in the vector of coordinates, σ last, because it is often maximised in closed
# form; those of each agent follow.
PARAMETERS: Mapping[str, Unknown] = {
    "constant": Unknown(
        "peer pressure that is the same at all steps",
        lambda model, value, piece: replace(model, pressure=Constant(float(value))),
        POSITIVE,
        lambda shared, of, value: shared._replace(rho=np.full(of.t.shape, value[0])),
        _DECADES,
        is_pressure=True,
    ),
    "slope": Unknown(
        "slope of Linear peer pressure",
        _with_pressure("slope"),
        POSITIVE,
        _enter_slope,
        _DECADES,
        is_pressure=True,
        needs=Linear,
        limits=("no peer pressure",),
    ),
    "exponent": Unknown(
        "exponent of Power peer pressure",
        _with_pressure("exponent"),
        EXPONENT,
        _enter_exponent,
        np.linspace(-4, 4, 33),
        is_pressure=True,
        needs=Power,
    ),
    "pressure": Unknown(
        "peer pressure of any course, constant on pieces of time",
        lambda model, value, piece: replace(model, pressure=Table(np.asarray(value)[piece])),
        POSITIVE,
        lambda shared, of, value: shared._replace(rho=value[of.piece_of_rows][:, None]),
        is_pressure=True,
        limits=("no peer pressure on a piece of time",),
    ),
    "adaptation": Unknown(
        "constant rate of adaptation; weights of agents are those of the model",
        _with_adaptation,
        RATE,
        _enter_adaptation,
        RATE.to(np.array([0.003, 0.01, 0.03, 0.1, 0.3, 0.8])),
        limits=("no adaptation", "complete adaptation"),
        why=": its likelihood is not bounded within the range; a longer record with less noise may identify it",
    ),
    "autocorrelation": Unknown(
        "autocorrelation of AR(1) noise",
        lambda model, value, piece: replace(model, noise=replace(model.noise, temporal=AR1(float(value)))),
        Coordinate(np.arctanh, np.tanh, -8.0, 8.0, (-1.0, 1.0)),
        lambda shared, of, value: shared._replace(phi=float(value[0])),
        np.arctanh([-0.7, -0.4, 0.0, 0.4, 0.7, 0.9]),
    ),
    "measurement_noise": Unknown(
        "standard deviation of errors in what is observed, to which nobody responds",
        lambda model, value, piece: model,
        _SCALE,
        _unused,
        width=(5.0, 4.0),
    ),
    # Of hidden opinions, where these are random.
    "spread": Unknown("", lambda model, value, piece: model, _SCALE, _unused, width=(6.0, 4.0)),
    "std": Unknown(
        "standard deviation of noise; proportions between agents are those of the model",
        _with_std,
        _SCALE,
        _enter_std,
        width=(6.0, 6.0),
    ),
    "agent_std": Unknown("standard deviation of every agent's noise", _with_std),
    "stubbornness": Unknown("stubbornness of every agent", _with_stubbornness),
}
NO_PARAMETERS: Mapping[str, UnknownParameter] = MappingProxyType({})
# What can be named as unknown, and what all agents share, by name.
UNKNOWNS = tuple(name for name, row in PARAMETERS.items() if row.words)
COORDINATES = {name: row.scale for name, row in PARAMETERS.items() if row.scale is not None}


def with_values(model: Model, values: Mapping[str, Any], pieces: NDArray[np.int64], last: int) -> Model:
    """Return the model with values of its unknowns; a pressure in pieces is a table up to the last step."""
    piece = _pieces_of(pieces, np.arange(1, last + 1))
    for name, value in values.items():
        model = PARAMETERS[name].into(model, value, piece)
    return model


def _pieces_of(pieces: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the piece that each step is in."""
    return np.maximum(np.searchsorted(pieces, times, side="right") - 1, 0)


@final
@dataclass(frozen=True, eq=False)
class Unknowns:
    """A model some of whose parameters are unknown; their values in it are not used."""

    model: Model
    names: tuple[str, ...]
    times: NDArray[np.int64]
    pieces: NDArray[np.int64]

    def __contains__(self, name: str) -> bool:
        return name in self.names

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """The name of each shared coordinate, one for each piece of an unknown pressure."""
        return tuple(
            name
            for name in COORDINATES
            if name in self.names
            for _ in range(self.pieces.size if name == "pressure" else 1)
        )

    @property
    def own(self) -> tuple[str, ...]:
        """The unknowns of which every agent has one."""
        return tuple(name for name in self.names if PARAMETERS[name].scale is None)

    def is_vector(self, name: str) -> bool:
        """Return whether agents or pieces of time have numbers of their own."""
        proportions = name == "std" and np.ndim(self.model.noise.std) > 0
        return name in self.own or name == "pressure" or proportions

    @property
    def closed_form_std(self) -> bool:
        """Whether the best σ at given other parameters is a formula; not where it decides about stubbornness."""
        return "std" in self and "stubbornness" not in self

    @cached_property
    def std_of_agents(self) -> Any:
        """The std of agents relative to their mean, 1 where all have the same."""
        std = self.model.noise.deviations(self.model.n)
        return std / std.mean() if np.ndim(self.model.noise.std) else 1.0

    def shared(self, z: Array) -> Shared:
        """Return what the coordinates stand for; NaN for log σ is one that is to be maximised."""
        shared = self._given
        for row, at in self._places:
            assert row.scale is not None
            assert row.enter is not None
            shared = row.enter(shared, self, row.scale.back(z[at]))
        return shared

    @cached_property
    def _places(self) -> tuple[tuple[Unknown, slice], ...]:
        """The rows of the shared coordinates, and where these are."""
        names = self.coordinates
        first = {name: names.index(name) for name in names}
        return tuple((PARAMETERS[name], slice(at, at + names.count(name))) for name, at in first.items())

    @cached_property
    def _given(self) -> Shared:
        """What the model itself says of parameters that are known; searches ask for it at every point."""
        model, how, rho, rate = self.model, adaptation_of(self.model, 0.0), np.zeros((0, 1)), np.zeros((0, 1))
        if not any(PARAMETERS[name].is_pressure for name in self.names):
            rho = np.asarray(model.pressure(self.t), dtype=np.float64)
        if "adaptation" not in self:
            pace = how.pace(np.arange(1, int(self.times[-1]) + 1))
            rate = np.asarray(pace[:, None] * how.adaptation_weights(model.n))
        # Proportions of std between agents are in the relative scale, so only the mean std is a parameter.
        log_std = None if "agent_std" in self else float(np.log(model.noise.deviations(model.n).mean()))
        return Shared(rho, rate if rate.any() else None, model.noise.autocorrelation, log_std)

    @cached_property
    def t(self) -> Array:
        """The steps as a column of floats."""
        return self.times.astype(np.float64)[:, None]

    @cached_property
    def piece_of_rows(self) -> NDArray[np.int64]:
        """The piece of an unknown pressure that each step is in, (T,)."""
        return _pieces_of(self.pieces, self.times)

    @cached_property
    def adaptation_weights(self) -> Array:
        """The weights of agents, by which a common rate is multiplied."""
        return adaptation_of(self.model, 1.0).adaptation_weights(self.model.n)

    def noise_of_outputs(self, values: Mapping[str, Array]) -> Array:
        """Return the standard deviation of fresh noise in each answer, (T, n), at values of the unknowns by name."""
        model, n = self.model, self.model.n
        # Stds of agents in given proportions have one coordinate, their mean.
        means = {name: np.atleast_1d(np.mean(v) if name == "std" else v) for name, v in values.items()}
        z = [COORDINATES[name].to(v) for name in dict.fromkeys(self.coordinates) for v in means[name]]
        shared = self.shared(np.array(z))
        pull = shared.rho / np.asarray(values.get("stubbornness", model.s))
        degrees = np.array([model.degrees_at(int(t)) for t in self.times]).reshape(-1, n)
        std = values.get("agent_std", values.get("std", model.noise.deviations(n)))
        fresh = np.sqrt(1 - shared.phi**2) * model.noise.scale(self.times)[:, None] * std
        return np.asarray(fresh / (1 + pull * degrees))

    def starts(self) -> Array:
        """Return points that span the plausible range, (points, coordinates), from which a search begins."""
        rows = [PARAMETERS[name] for name in self.coordinates if name != "pressure"]
        # Coarser where there are several.
        coarse = sum(bool(len(row.starts)) for row in rows) + ("pressure" in self) > 1
        nowhere = np.array([np.nan])
        grids = [row.starts[:: 3 if coarse and row.is_pressure else 1] if len(row.starts) else nowhere for row in rows]
        # Without shared unknowns there is one point without coordinates.
        every = list(product(*grids))
        points = np.array(every, dtype=np.float64).reshape(len(every), len(grids))
        if "pressure" not in self:
            return points
        # Levels of power laws: any of them is near enough for a search to find the free course.
        middle = np.log(self.pieces.astype(np.float64))
        courses = np.array([c + p * middle for c in np.log(10.0) * np.linspace(-3, 2, 6) for p in (0.0, 0.5, 1.0)])
        return np.array([np.concatenate([course, point]) for course in courses for point in points])


def unknowns(
    model: Model, names: Sequence[str], times: NDArray[np.int64], pieces: Sequence[int] | None = None
) -> Unknowns:
    """Return the unknowns, after checking that answers of the model at these times can determine them."""
    wrong = [name for name in names if name not in UNKNOWNS]
    if isinstance(names, str) or wrong:
        rule = f"unknowns must be among {', '.join(UNKNOWNS)}"
        got = repr(names) if isinstance(names, str) else ", ".join(map(repr, wrong))
        raise InvalidInputError(message(rule, got=got, remedy="for instance std and stubbornness"))
    discrete_model(model, "a fit of unknown parameters")
    _check_noise(model, names)
    _check_kinds(model, names)
    _check_scales(model, set(names))
    # Without duplicates, in the order in which they were named.
    return Unknowns(model, tuple(dict.fromkeys(names)), times, _pieces(times, pieces))


def adaptation_of(model: Model, otherwise: float) -> Adaptation:
    """Return the model's adaptation, or one of all agents alike at another rate if it has none."""
    return model.adaptation or Adaptation(otherwise)


def doubling_pieces(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return first steps 1, 2, 4, … of the pieces that have observed steps."""
    powers = 2 ** np.arange(int(np.log2(times[-1])) + 1)
    # A piece without an observed step has no data.
    return np.array([t for t in powers if ((times >= t) & (times < 2 * t)).any()], dtype=np.int64)


def _pieces(times: NDArray[np.int64], pieces: Sequence[int] | None) -> NDArray[np.int64]:
    """Return the first steps of the pieces: given, or doubling, since schedules change ever more slowly."""
    if not times.size:
        return times
    if pieces is None:
        return doubling_pieces(times)
    first = np.array(pieces, dtype=np.int64)
    ends = np.append(first[1:], times[-1] + 1)
    seen = [((times >= a) & (times < b)).any() for a, b in zip(first, ends, strict=True)]
    if not first.size or first[0] > times[0] or not all(seen) or first.size > FIT_PIECES:
        rule = f"pieces must be 1 to {FIT_PIECES} increasing steps, with observed ones in each, the first at or before"
        rule += f" step {times[0]}"
        raise InvalidInputError(message(rule, got=str(list(pieces)), remedy="for instance pieces=(1, 5, 20)"))
    return first


def _check_noise(model: Model, names: Sequence[str]) -> None:
    noise = model.noise
    quiet = not noise.deviations(model.n).all()
    if not isinstance(noise, Gaussian) or noise.is_frozen or quiet:
        rule = "unknown parameters are fitted under white or AR(1) Gaussian noise that every agent has"
        remedy = "take the parameters as known, or use Gaussian noise"
        raise InvalidInputError(message(rule, got=str(noise), remedy=remedy))


def _check_kinds(model: Model, names: Sequence[str]) -> None:
    for name in names:
        kind = PARAMETERS[name].needs
        if kind is not None and not isinstance(model.pressure, kind):
            rule = f"an unknown {name} needs {kind.__name__} peer pressure"
            raise InvalidInputError(message(rule, got=str(model.pressure), remedy=f"drop {name!r} from unknown"))
    how = adaptation_of(model, 1.0)
    if "adaptation" in names and not isinstance(how.rate, Constant):
        rule = "an unknown adaptation is one constant rate"
        raise InvalidInputError(message(rule, got=str(how), remedy="use a constant rate in the model"))
    pressures = [name for name, row in PARAMETERS.items() if row.is_pressure]
    if len(set(pressures) & set(names)) > 1:
        rule = f"at most one of {', '.join(pressures)} can be unknown"
        raise InvalidInputError(message(rule, got=", ".join(names), remedy="'pressure' contains the others"))


def _check_scales(model: Model, names: set[str]) -> None:
    """Raise an error where a common factor of several unknowns changes nothing, or hardly anything."""
    # With an offset the factor is fixed by ρ_t − slope·t, and both can be identified.
    free_slope = "slope" in names and isinstance(model.pressure, Linear) and not model.pressure.offset
    if "stubbornness" in names and (free_slope or names & {"pressure", "constant"}):
        rule = "stubbornness and the size of peer pressure cannot both be unknown: a common factor changes nothing"
        remedy = "fix the pressure, which sets the unit of stubbornness, or fix the stubbornness"
        raise InvalidInputError(message(rule, got="both", remedy=remedy))
    if "agent_std" in names and names & {"std", "stubbornness"}:
        rule = (
            "agent_std cannot be unknown together with std, which it contains, or with stubbornness: an agent's std, "
        )
        rule += "stubbornness and hidden opinion have a common factor that only the first steps depend on"
        remedy = "take one std as common to all agents, or fix the stubbornness"
        raise InvalidInputError(message(rule, got=", ".join(sorted(names)), remedy=remedy))
