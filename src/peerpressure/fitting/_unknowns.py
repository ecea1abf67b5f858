"""Unknown parameters of a model: which can be fitted and in which coordinates, and the result of a fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.adaptation import Adaptation
from peerpressure.errors import InvalidInputError, message
from peerpressure.immutable import read_only
from peerpressure.model import Model
from peerpressure.noise import AR1, Gaussian
from peerpressure.recovery.estimate import Estimate
from peerpressure.recovery.limits import FIT_PIECES
from peerpressure.schedules import Constant, Linear, Power, Table
from peerpressure.statespace import discrete_model
from peerpressure.step import Array

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from peerpressure.recovery._diagnostics import FitDiagnostics
    from peerpressure.recovery.observation import Outputs


UNKNOWNS = (
    "std",
    "agent_std",
    "stubbornness",
    "constant",
    "slope",
    "exponent",
    "pressure",
    "adaptation",
    "autocorrelation",
    "measurement_noise",
)
# At most one of these can be unknown.
PRESSURES = ("constant", "slope", "exponent", "pressure")
# In their order in the vector of shared coordinates. "spread" is that of hidden opinions where these are random. "std"
# is last, because it is often maximised in closed form.
SHARED = (*PRESSURES, "adaptation", "autocorrelation", "measurement_noise", "spread", "std")


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


@final
@read_only
@dataclass(frozen=True, eq=False)
class LikelihoodFit:
    """Parameters and hidden opinions, with the intervals of their profile likelihoods.

    Attributes
    ----------
    estimate : Estimate
        The hidden opinions. An estimate has one covariance for all replicates, here the mean of theirs.
    parameters : mapping of str to UnknownParameter
        The unknown parameters by name.
    hidden : UnknownParameter
        The hidden opinions again, with the standard errors and intervals of each replicate, (replicates, agents).
    log_likelihood : array, (replicates,)
        Maximum of the likelihood over all unknowns, for comparisons between models.
    level : float
        Confidence level of the intervals.
    failures : tuple of str or None
        For each replicate, why it could not be fitted; its numbers are NaN.
    pieces : array of int
        First steps of the pieces on which an unknown "pressure" is constant.
    notes : tuple of str
        What a reader must know of the result: parameters that are not identified, and doubts about the outputs.
    data : Outputs or None
        The outputs.
    rows : array of bool, (steps, agents), or None
        The outputs that the likelihood scores: those of an agent who is observed together with all of its neighbours of
        the step before. All others are given. None if all outputs are scored, seen through rounding or measurement
        noise.
    tests : callable or None
        Function that tests a model on these rows.

    See Also
    --------
    fit : Returns fits.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, simulate
    >>> from peerpressure.networks import cycle
    >>> from peerpressure.fitting import fit
    >>> truth = Model(cycle(6), hidden=range(6), pressure=0.5, noise=Gaussian(0.5))
    >>> unknown = Model(cycle(6), noise=Gaussian(1.0))
    >>> estimate = fit(simulate(truth, 100, seed=1), unknown, ("std", "constant"))
    >>> low, high = estimate.interval()["constant"]
    >>> bool(low[0] < 0.5 < high[0])
    True
    >>> estimate.number_of_parameters
    8
    """

    estimate: Estimate
    parameters: Mapping[str, UnknownParameter]
    hidden: UnknownParameter
    log_likelihood: Array
    level: float = 0.95
    failures: tuple[str | None, ...] = ()
    pieces: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    notes: tuple[str, ...] = ()
    data: Outputs | None = None
    rows: NDArray[np.bool_] | None = None
    tests: Callable[[Model, Outputs, NDArray[np.bool_]], FitDiagnostics] | None = None

    @property
    def number_of_parameters(self) -> int:
        """How many numbers are fitted in a replicate: the unknown parameters, and each hidden opinion that is free.

        Hidden opinions behind rounded or measured answers are random, and count as two, their mean and spread.
        """
        own = sum(1 if p.value.ndim == 1 else p.value.shape[1] for p in self.parameters.values())
        return own + (2 if self.rows is None else self.estimate.rank - self._known)

    @property
    def number_of_outputs(self) -> int:
        """How many outputs of a replicate the likelihood scores, given all others."""
        if self.rows is not None:
            return int(self.rows.sum())
        return 0 if self.data is None else int(self.data.present.sum())

    @property
    def _known(self) -> int:
        """How many hidden opinions are read off the start."""
        return 0 if self.data is None else self.estimate.model.n - self.data.seen.free.size

    @property
    def aic(self) -> Array:
        """Akaike's criterion 2k − 2 log L with k the number of parameters, (replicates,)."""
        return 2 * self.number_of_parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> Array:
        """Schwarz's criterion k log N − 2 log L with N the number of outputs, (replicates,)."""
        return self.number_of_parameters * float(np.log(max(self.number_of_outputs, 1))) - 2 * self.log_likelihood

    @property
    def value(self) -> dict[str, Array]:
        """The estimates by name, hidden opinions included."""
        return {name: p.value for name, p in self._all.items()}

    @property
    def std(self) -> dict[str, Array]:
        """The standard errors by name, those of hidden opinions included."""
        return {name: p.std for name, p in self._all.items()}

    @property
    def _all(self) -> dict[str, UnknownParameter]:
        return {**self.parameters, "hidden": self.hidden}

    def interval(self, level: float | None = None) -> dict[str, tuple[Array, Array]]:
        """Return the ends of the intervals by name, those of hidden opinions included.

        Parameters
        ----------
        level : float, optional
            The level of the fit, which is the default.

        Returns
        -------
        dict of str to tuple of arrays
            Lower and upper ends.

        Raises
        ------
        InvalidInputError
            If the fit has another level: each end is a search of its own.
        """
        if level is not None and level != self.level:
            rule = f"intervals of this fit have the level {self.level:g}"
            raise InvalidInputError(message(rule, got=level, remedy=f"fit again with level={level}"))
        return {name: (p.low, p.high) for name, p in self._all.items()}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the hidden opinion of each agent in the first replicate with its interval.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes of pyplot by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from peerpressure.drawing.results import by_agent

        own = self.hidden
        names = [str(label) for label in self.estimate.model.network.labels]
        return by_agent(ax, names, {"estimate": (own.value[0], own.low[0], own.high[0])}, "hidden opinion")

    @property
    def model(self) -> Model:
        """The model with the estimates of the first replicate, as ``model_of`` returns it."""
        return self.model_of(0)

    def model_of(self, replicate: int = 0) -> Model:
        """Return the model with the estimates of one replicate, ready for runs, estimates and budgets.

        Hidden opinions are left out where some agent has too few steps for one. A pressure in pieces becomes a table
        that ends with the record.

        Parameters
        ----------
        replicate : int, default 0
            Position of the replicate.

        Returns
        -------
        Model
            The fitted model.

        Raises
        ------
        InvalidInputError
            If the replicate could not be fitted.
        """
        if not 0 <= replicate < len(self.failures) or self.failures[replicate] is not None:
            rule = f"a fitted model is that of one of the {len(self.failures)} replicates, and one that could be fitted"
            why = self.failures[replicate] if 0 <= replicate < len(self.failures) else "no such replicate"
            raise InvalidInputError(message(rule, got=f"{replicate} ({why})", remedy="choose another"))
        at = {name: p.value[replicate] for name, p in self.parameters.items()}
        last = 0 if self.data is None else self.data.seen.last
        hidden = self.hidden.value[replicate]
        known = hidden if np.isfinite(hidden).all() else None
        return replace(with_values(self.estimate.model, at, self.pieces, last), hidden=known)

    @property
    def diagnostics(self) -> FitDiagnostics | None:
        """Tests of the fitted model of the first replicate on the rows that the fit scored, given all others.

        Its log-likelihood is comparable with that of the fit: the same outputs at the estimates, which differ a little
        from the maximum of the likelihood. None for outputs with rounding or measurement noise.
        """
        if self.tests is None or self.data is None or self.rows is None:
            return None
        first = replace(
            self.data, values=self.data.values[:1], known=self.data.known[:1], replicates=self.data.replicates[:1]
        )
        return replace(self.tests(self.model, first, self.rows), estimated=tuple(self.parameters))

    def summary(self) -> str:
        """Return the parameters with their intervals, the likelihood, and what a reader must know, line by line.

        Returns
        -------
        str
            The text that ``print`` shows.
        """
        return str(self)

    @property
    def identifiable(self) -> NDArray[np.bool_]:
        """In which replicates the outputs determine every unknown parameter, (replicates,)."""
        settled = np.array([reason is None for reason in self.failures], dtype=bool)
        for parameter in self.parameters.values():
            settled &= parameter.identified.reshape(settled.size, -1).all(axis=1)
        return settled

    def to_dataframe(self) -> pandas.DataFrame:
        """Return tidy rows of the parameters, and of the hidden opinions after them.

        Returns
        -------
        pandas.DataFrame
            Columns ``parameter``, ``agent`` (the first step of a piece of pressure; None for a parameter that all
            share), ``replicate``, ``value``, ``std``, ``low``, ``high`` and ``identified``.
        """
        import pandas

        agents = self.estimate.model.network.labels
        rows = []
        for name, p in self._all.items():
            labels = list(self.pieces) if name == "pressure" else agents
            columns = [np.atleast_2d(a.T).T for a in (p.value, p.std, p.low, p.high, p.identified)]
            for replicate, of in enumerate(zip(*columns, strict=True)):
                own = labels if p.value.ndim == 2 else [None]
                rows += [(name, label, replicate, *cells) for label, *cells in zip(own, *of, strict=True)]
        names = ["parameter", "agent", "replicate", "value", "std", "low", "high", "identified"]
        table = pandas.DataFrame(rows, columns=names)
        # As numbers, labels beside None would become floats, and None NaN.
        labels = pandas.Series([row[1] for row in rows], dtype=object, index=table.index)
        return table.assign(agent=labels)

    def __repr__(self) -> str:
        failed = sum(reason is not None for reason in self.failures)
        parts = [f"{self.log_likelihood.size} replicate" + "s" * (self.log_likelihood.size != 1)]
        parts += [f"{failed} failed"] * bool(failed)
        parts += [_described(name, p) for name, p in self.parameters.items()] or ["no parameters"]
        return f"LikelihoodFit({', '.join(parts)})"

    def __str__(self) -> str:
        lines = [f"Fit of {', '.join(self.parameters) or 'hidden opinions'} to {self._size()}"]
        lines += [f"  {_described(name, p)}" for name, p in self.parameters.items()]
        several = " (means over replicates)" if self.log_likelihood.size > 1 else ""
        numbers = (float(np.nanmean(part)) for part in (self.log_likelihood, self.aic, self.bic))
        lines.append("  log-likelihood {:.6g}, AIC {:.6g}, BIC {:.6g}".format(*numbers) + several)
        lines += [f"  note  {note}" for note in self.notes]
        return "\n".join(lines)

    def _size(self) -> str:
        failed = sum(reason is not None for reason in self.failures)
        count = f" in each of {len(self.failures)} replicates" * (len(self.failures) > 1)
        lost = f", {failed} of which failed" * bool(failed)
        return f"{self.number_of_outputs:,} outputs, {self.number_of_parameters:,} numbers{count}{lost}"


def with_values(model: Model, values: Mapping[str, Any], pieces: NDArray[np.int64], last: int) -> Model:
    """Return the model with values of its unknowns; a pressure in pieces is a table up to the last step."""
    noise, changes = model.noise, dict[str, Any]()
    for name in ("std", "agent_std"):
        if name in values:
            own = np.asarray(values[name])
            noise = replace(noise, std=_plain(np.where(np.isnan(own), noise.std, own)))
    if "autocorrelation" in values:
        noise = replace(noise, temporal=AR1(float(values["autocorrelation"])))
    if "constant" in values:
        changes["pressure"] = Constant(float(values["constant"]))
    if "slope" in values:
        assert isinstance(model.pressure, Linear)
        changes["pressure"] = replace(model.pressure, slope=float(values["slope"]))
    if "exponent" in values:
        assert isinstance(model.pressure, Power)
        changes["pressure"] = replace(model.pressure, exponent=float(values["exponent"]))
    if "pressure" in values:
        piece = np.searchsorted(pieces, np.arange(1, last + 1), side="right") - 1
        changes["pressure"] = Table(np.asarray(values["pressure"])[np.maximum(piece, 0)])
    if "adaptation" in values:
        weight = adaptation_of(model, 1.0).adaptation_weight
        changes["adaptation"] = Adaptation(float(values["adaptation"]), weight)
    if "stubbornness" in values:
        # Agents of whom nothing is known keep that of the model.
        own = np.asarray(values["stubbornness"])
        changes["stubbornness"] = np.where(np.isnan(own), model.s, own)
    return replace(model, noise=noise, **changes)


def _plain(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else np.asarray(value)


def notes_on(parameters: Mapping[str, UnknownParameter], failures: Sequence[str | None]) -> tuple[str, ...]:
    """Return a sentence for each parameter that some replicate does not identify, or not distinguish from a limit."""
    fitted = np.array([reason is None for reason in failures], dtype=bool)
    notes = []
    for name, p in parameters.items():
        lost = _in_some(~p.identified, fitted)
        if lost.any():
            notes.append(f"{name} is not identified{_where(lost, fitted)}{_WHY.get(name, '')}")
        low, high = COORDINATES[name].limits if name in COORDINATES else (-np.inf, np.inf)
        ends = _in_some(p.low <= low, fitted), _in_some(p.high >= high, fitted)
        for reached, other, limit in zip(ends, ends[::-1], _LIMITS.get(name, ()), strict=False):
            # An interval that reaches from limit to limit says nothing at all, which is said above.
            only = reached & ~other
            if only.any():
                notes.append(f"{name} is not distinguishable from {limit}{_where(only, fitted)}")
    return tuple(notes)


def _in_some(where: NDArray[np.bool_], fitted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return in which of the fitted replicates something holds of an agent or a piece."""
    return np.asarray(where.reshape(fitted.size, -1).any(axis=1) & fitted)


def _where(replicates: NDArray[np.bool_], fitted: NDArray[np.bool_]) -> str:
    return "" if fitted.sum() == 1 else f" in {int(replicates.sum())} of {int(fitted.sum())} replicates"


# What the ends of legal ranges are, in words: the lower one, and the upper one where there is any.
_LIMITS: Mapping[str, tuple[str, ...]] = {
    "adaptation": ("no adaptation", "complete adaptation"),
    "slope": ("no peer pressure",),
    "pressure": ("no peer pressure on a piece of time",),
}
# What makes a parameter hard to identify, and what helps.
_WHY: Mapping[str, str] = {
    "adaptation": ": its likelihood is not bounded within the range; a longer record with less noise may identify it",
}


def _described(name: str, p: UnknownParameter) -> str:
    low, value, high = (np.nan if np.isnan(a).all() else np.nanmedian(a) for a in (p.low, p.value, p.high))
    # Medians hide a single infinite end; the share that is not identified is stated instead.
    lost = np.mean(~p.identified)
    note = f", not identified in {lost:.0%}" if lost else ""
    return f"{name} {value:.4g} ({low:.4g} to {high:.4g}{note})" + " (median)" * (p.value.ndim == 2)


# Coordinates whose start follows from the others.
_SCALES = ("measurement_noise", "spread", "std")


class Coordinate(NamedTuple):
    """A scale on which a parameter is unbounded, the search range on it, and the ends of the legal range."""

    to: Callable[[float], float]
    back: Callable[[float], float]
    low: float
    high: float
    limits: tuple[float, float]


_POSITIVE = Coordinate(np.log, np.exp, np.log(1e-6), np.log(1e6), (0.0, np.inf))
_SCALE = Coordinate(np.log, np.exp, -80.0, 80.0, (0.0, np.inf))
COORDINATES: Mapping[str, Coordinate] = {
    "std": _SCALE,
    "measurement_noise": _SCALE,
    "spread": _SCALE,
    "constant": _POSITIVE,
    "slope": _POSITIVE,
    "pressure": _POSITIVE,
    # Beyond ±4, ρ_t vanishes or dominates after a few steps, and data cannot resolve the exponent.
    "exponent": Coordinate(float, float, -4.0, 4.0, (-np.inf, np.inf)),
    "adaptation": Coordinate(lambda p: np.log(p / (1 - p)), lambda z: 1 / (1 + np.exp(-z)), -14.0, 7.0, (0.0, 1.0)),
    "autocorrelation": Coordinate(np.arctanh, np.tanh, -8.0, 8.0, (-1.0, 1.0)),
}


class Shared(NamedTuple):
    """What all agents share at one point: ρ (T, 1), η (last, n) or None, φ, and log σ, None if it is maximised."""

    rho: Array
    rate: Array | None
    phi: float
    log_std: float | None


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
            name for name in SHARED if name in self.names for _ in range(self.pieces.size if name == "pressure" else 1)
        )

    @property
    def closed_form_std(self) -> bool:
        """Whether the best σ at given other parameters is a formula; not where it decides about stubbornness."""
        return "std" in self and "stubbornness" not in self

    def shared(self, z: Array) -> Shared:
        """Return what the coordinates stand for; NaN for log σ is one that is to be maximised."""
        at: dict[str, list[float]] = {}
        for name, value in zip(self.coordinates, z, strict=True):
            at.setdefault(name, []).append(float(value))
        values = {name: [COORDINATES[name].back(v) for v in of] for name, of in at.items() if name != "std"}
        phi = values["autocorrelation"][0] if "autocorrelation" in values else self.model.noise.autocorrelation
        log_std: float | None = None
        if "std" in at:
            log_std = None if np.isnan(at["std"][0]) else at["std"][0]
        elif "agent_std" not in self:
            # Proportions of std between agents are in the relative scale, so only the mean std is a parameter.
            log_std = self._given_log_std
        return Shared(self._rho(values), self._rate(values), phi, log_std)

    def noise_of_outputs(self, values: Mapping[str, Array]) -> Array:
        """Return the standard deviation of fresh noise in each output, (T, n), at values of the unknowns by name."""
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

    def _rho(self, values: Mapping[str, list[float]]) -> Array:
        t = self.times.astype(np.float64)[:, None]
        schedule = self.model.pressure
        if "constant" in values:
            return np.full(t.shape, values["constant"][0])
        if "slope" in values:
            assert isinstance(schedule, Linear)
            # A negative offset leaves ρ = 0 until the line is above 0, as the schedule itself does.
            return np.maximum(values["slope"][0] * t + schedule.offset, 0.0)
        if "exponent" in values:
            assert isinstance(schedule, Power)
            return np.asarray(schedule.scale * t ** values["exponent"][0])
        if "pressure" in values:
            return np.array(values["pressure"])[self._piece_of_rows][:, None]
        return self._given_rho

    @cached_property
    def _given_log_std(self) -> float:
        return float(np.log(self.model.noise.deviations(self.model.n).mean()))

    @cached_property
    def _piece_of_rows(self) -> NDArray[np.int64]:
        """The piece of an unknown pressure that each step is in, (T,)."""
        return np.maximum(np.searchsorted(self.pieces, self.times, side="right") - 1, 0)

    @cached_property
    def _given_rho(self) -> Array:
        """ρ of the model itself, (T, 1)."""
        return np.asarray(self.model.pressure(self.times.astype(np.float64)[:, None]), dtype=np.float64)

    def _rate(self, values: Mapping[str, list[float]]) -> Array | None:
        """Return η, (last, n), or None if nobody adapts."""
        if "adaptation" not in values:
            return self._given_rate
        rate = np.full((int(self.times[-1]), 1), values["adaptation"][0]) * self._adaptation_weights
        return rate if rate.any() else None

    @cached_property
    def _given_rate(self) -> Array | None:
        """η of the model itself; searches ask for it at every point."""
        pace = adaptation_of(self.model, 0.0).pace(np.arange(1, int(self.times[-1]) + 1))
        rate = np.asarray(pace[:, None] * adaptation_of(self.model, 0.0).adaptation_weights(self.model.n))
        return rate if rate.any() else None

    @cached_property
    def _adaptation_weights(self) -> Array:
        return adaptation_of(self.model, 1.0).adaptation_weights(self.model.n)

    def starts(self) -> Array:
        """Return points that span the plausible range, (points, coordinates), from which a search begins."""
        names = self.coordinates
        # A quarter of a decade, or of an exponent, per step where this is the only unknown; coarser along with others.
        fine = 1 if len([name for name in names if name not in _SCALES]) == 1 else 3
        ranges: dict[str, Array] = {
            "constant": np.log(10.0) * np.linspace(-4, 4, 33)[::fine],
            "slope": np.log(10.0) * np.linspace(-4, 4, 33)[::fine],
            "exponent": np.linspace(-4, 4, 33)[::fine],
            "adaptation": np.array([COORDINATES["adaptation"].to(v) for v in (0.003, 0.01, 0.03, 0.1, 0.3, 0.8)]),
            "autocorrelation": np.arctanh([-0.7, -0.4, 0.0, 0.4, 0.7, 0.9]),
            **dict.fromkeys(("measurement_noise", "spread", "std"), np.array([np.nan])),
        }
        grids = [ranges[name] for name in names if name != "pressure"]
        # Without shared unknowns there is one point without coordinates.
        every = list(product(*grids))
        points = np.array(every, dtype=np.float64).reshape(len(every), len(grids))
        if "pressure" not in names:
            return points
        # Levels of power laws: any of them is near enough for a search to find the free course.
        middle = np.log(self.pieces.astype(np.float64))
        courses = np.array([c + p * middle for c in np.log(10.0) * np.linspace(-3, 2, 6) for p in (0.0, 0.5, 1.0)])
        return np.array([np.concatenate([course, point]) for course in courses for point in points])


def unknowns(
    model: Model, names: Sequence[str], times: NDArray[np.int64], pieces: Sequence[int] | None = None
) -> Unknowns:
    """Return the unknowns, after checking that outputs of the model at these times can determine them."""
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
    for name, kind in (("slope", Linear), ("exponent", Power)):
        if name in names and not isinstance(model.pressure, kind):
            rule = f"an unknown {name} needs {kind.__name__} peer pressure"
            raise InvalidInputError(message(rule, got=str(model.pressure), remedy=f"drop {name!r} from unknown"))
    how = adaptation_of(model, 1.0)
    if "adaptation" in names and not isinstance(how.rate, Constant):
        rule = "an unknown adaptation is one constant rate"
        raise InvalidInputError(message(rule, got=str(how), remedy="use a constant rate in the model"))
    if len(set(PRESSURES) & set(names)) > 1:
        rule = f"at most one of {', '.join(PRESSURES)} can be unknown"
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
