"""What an observer observes: which agents, at which steps, with which rounding, and who updated."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.model.statespace import System, checked_system, discrete_model
from peerpressure.model.step import Array
from peerpressure.recovery.data import observations_of, refuse_model, run_of
from peerpressure.simulation.trajectory import Trajectory
from peerpressure.simulation.zarr_stores import StoredArray
from peerpressure.support.results import one_line, read_only

if TYPE_CHECKING:
    from peerpressure.recovery.data import Record

    Data: TypeAlias = "Record | Answers"

Positions: TypeAlias = NDArray[np.int64]
# Times are multiples of the step computed in floating point; this fraction of a step is far above their rounding error
# and far below a step.
_TIME_TOLERANCE = 1e-6
# Units in the last place by which a value on a grid may be off: that of its own decimal digits, and of the arithmetic.
_GRID_DIGITS = 4.0


@final
@one_line
@dataclass(frozen=True)
class Observation:
    """Which agents are observed and when; by default all agents at every recorded step from 1 on.

    In a model that starts from its hidden opinions, y₀ = x₀ without noise: an observer of y₀ knows x₀ and nothing is
    left to estimate. By default y₀ is therefore not seen, and an estimate from a record that has y₀ says in its note
    that this was not used. In a model with a ``start`` of its own, y₀ is part of the model: the observer knows it in
    any case, and it contains no information about x₀.

    Parameters
    ----------
    agents : sequence of labels, optional
        The observed agents; all by default.
    times : sequence of int, optional
        The observed steps; by default all that were recorded.
    first_step : int, default 0
        Steps before this one are not observed.
    sees_start : bool, default False
        Whether y₀ is observed.
    rounding : float, default 0.0
        Spacing of the values that the observer sees, in units of opinion: answers are rounded to its multiples, half to
        even, unless they are all on a grid of that spacing already, as data that came rounded are. The loss is treated
        as independent noise of variance rounding²/12 on each answer, which is good while the noise of a step is wider
        than the spacing; the note of an estimate says where it is not.
    scale : (float, float), optional
        First and last point of the scale on which people answer, ``(1, 5)`` for five points. Neighbouring points are 1
        apart, or ``rounding`` if that is given. Answers mean opinions nearest to them, and the end points everything
        beyond. `fit` takes such answers as ordered categories, other methods as rounded numbers. Answers off the points
        are moved to the nearest one; answers beyond the ends are an error, since they usually stand for something
        else.

    Raises
    ------
    InvalidInputError
        If a step is not a whole number of at least 0, ``rounding`` is negative or not finite, ``scale`` has fewer than
        three points, or step 0 is among the times and ``sees_start`` is False.

    See Also
    --------
    recover : Estimates hidden opinions from what is observed.
    privacy.exposure : What an observer learns.

    Examples
    --------
    >>> from peerpressure import Observation
    >>> Observation(agents=["ann"], times=[1, 2, 5])
    Observation(agents=['ann'], times=[1, 2, 5], first_step=0, sees_start=False, rounding=0.0)
    >>> Observation(scale=(1, 5)).rounding
    1.0
    """

    agents: Sequence[Hashable] | None = None
    times: Sequence[int] | None = None
    first_step: int = 0
    sees_start: bool = False
    rounding: float = 0.0
    scale: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.agents is not None:
            _refuse_text(self.agents)
            # Tuples make the frozen dataclass hashable and independent of the caller's list.
            object.__setattr__(self, "agents", tuple(self.agents))
        if self.times is not None:
            object.__setattr__(self, "times", tuple(_whole(t, "an observed step") for t in self.times))
        object.__setattr__(self, "first_step", _whole(self.first_step, "first_step"))
        if not (isinstance(self.rounding, (int, float, np.number)) and 0 <= float(self.rounding) < np.inf):
            remedy = "use 0 for answers that are seen as they are"
            rule = "rounding must be a finite spacing, not negative"
            raise InvalidInputError(message(rule, got=repr(self.rounding), remedy=remedy))
        if self.scale is not None:
            object.__setattr__(self, "rounding", float(self.rounding) or 1.0)
            object.__setattr__(self, "scale", _ends(self.scale, self.rounding))
        if self.times is not None and 0 in self.times and not self.sees_start:
            remedy = "let the observer see the start, or leave 0 out of the times"
            raise InvalidInputError(
                message("step 0 is observed only with sees_start", got="0 among the times", remedy=remedy),
                argument="sees_start",
            )

    def resolve(self, model: Model, times: ArrayLike) -> ResolvedObservation:
        """Return this observation as positions and steps of a run.

        Parameters
        ----------
        model : Model
            The model that has the agents.
        times : array_like of int
            Steps that the run recorded.

        Returns
        -------
        ResolvedObservation
            Sorted positions and steps.

        Raises
        ------
        InvalidInputError
            If an agent or a step is unknown, or nothing that is observed depends on x₀.
        """
        recorded = np.unique(np.asarray(times, dtype=np.int64))
        agents = self._positions(model)
        steps = self._steps(recorded)
        from_hidden = isinstance(model.start, str)
        start_seen = bool(steps.size) and steps[0] == 0
        reveals = start_seen and from_hidden and self.rounding == 0
        free = np.setdiff1d(np.arange(model.n), agents) if reveals else np.arange(model.n)
        # An exact y₀ = x₀ is known and not estimated, and a y₀ given by the model has no information; only a rounded
        # y₀ = x₀ is a noisy measurement.
        rows = steps if start_seen and from_hidden and self.rounding > 0 else steps[steps > 0]
        if not rows.size and not reveals:
            got = f"{'only step 0' if steps.size else 'no step'} of the recorded {_span(recorded)}"
            remedy = "look at recorded steps from 1 on"
            raise InvalidInputError(message("an observer must see something of x₀", got=got, remedy=remedy))
        return ResolvedObservation(model.n, agents, rows, free, bool(start_seen), float(self.rounding), self.scale)

    def _positions(self, model: Model) -> Positions:
        if self.agents is None:
            return np.arange(model.n)
        positions = model.network.indices(self.agents)
        if not positions.size:
            remedy = "name at least one, or leave agents out to see all"
            raise InvalidInputError(message("an observer must see an agent", got="none", remedy=remedy))
        return _distinct(positions, [model.network.labels[i] for i in positions], "agents")

    def _steps(self, recorded: Positions) -> Positions:
        earliest = max(self.first_step, 0 if self.sees_start else 1)
        if self.times is None:
            return recorded[recorded >= earliest]
        wanted = _distinct(np.array(self.times, dtype=np.int64), self.times, "times")
        missing = np.setdiff1d(wanted, recorded)
        if missing.size:
            rule = f"observed steps must be among the {recorded.size} recorded ones, {_span(recorded)}"
            raise InvalidInputError(
                message(rule, got=", ".join(map(str, missing[:5])), remedy="record them, or leave them out of times")
            )
        return wanted[wanted >= earliest]


@final
@read_only
@dataclass(frozen=True, eq=False)
class ResolvedObservation:
    """An observation of a given model and run, as sorted integer arrays.

    Attributes
    ----------
    n : int
        Number of agents of the model.
    agents : array of int, shape (k,)
        Positions of the observed agents.
    times : array of int, shape (T,)
        Steps whose answers depend on x₀: 1 or later, and 0 only where a hidden start is observed with rounding.
    free : array of int, shape (f,)
        Positions of the agents whose x₀ is to be estimated; that of the others is known from step 0.
    sees_start : bool
        Whether y₀ is observed.
    rounding : float
        Spacing of the observed values, in units of opinion.
    scale : (float, float) or None
        First and last point of the scale of answers.

    See Also
    --------
    Observation.resolve : Computes it.

    Examples
    --------
    >>> from peerpressure import Model, Observation
    >>> from peerpressure.networks import path
    >>> seen = Observation(agents=[2, 0]).resolve(Model(path(3), hidden=[0.0, 0.0, 1.0]), [0, 1, 2])
    >>> seen.agents, seen.times
    (array([0, 2]), array([1, 2]))
    """

    n: int
    agents: Positions
    times: Positions
    free: Positions
    sees_start: bool
    rounding: float
    scale: tuple[float, float] | None = None

    @property
    def last(self) -> int:
        """The last observed step; 0 if only the start is observed."""
        return int(self.times[-1]) if self.times.size else 0

    @property
    def everyone(self) -> bool:
        """Whether all agents are observed."""
        return self.agents.size == self.n

    @property
    def uninterrupted(self) -> bool:
        """Whether every step from 1 to the last is observed."""
        return self.times.size > 0 and self.times[0] <= 1 and self.times.size == self.last - int(self.times[0]) + 1

    @property
    def noise_variance(self) -> float:
        """The variance of the observation noise that rounding adds to every answer."""
        # Variance of a uniform error between −rounding/2 and rounding/2.
        return self.rounding**2 / 12


def _whole(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        rule = f"{name} must be a whole number, 0 or more"
        raise InvalidInputError(message(rule, got=repr(value), remedy="count steps from 0, the start"))
    return int(value)


def _ends(scale: object, spacing: float) -> tuple[float, float]:
    """Return the ends of a scale of answers, after checking that there are points between them."""
    try:
        low, high = (float(end) for end in scale)  # type: ignore[attr-defined]  # checked here
    except (TypeError, ValueError):
        low = high = np.nan
    points = (high - low) / spacing + 1
    # Two points have one cut point, which leaves the unit of opinions open.
    if not (np.isfinite(points) and points > 2.5 and abs(points - np.rint(points)) < 1e-6):
        rule = f"a scale must be its first and last point, with others between them that are {spacing:g} apart"
        remedy = "name 1 and 5 for five points, and a rounding of 0.5 for answers half a point apart"
        raise InvalidInputError(message(rule, got=repr(scale), remedy=remedy))
    return low, high


def _refuse_text(agents: object) -> None:
    if isinstance(agents, (str, bytes)) or not hasattr(agents, "__iter__"):
        rule = "agents must be a sequence of labels"
        raise InvalidInputError(message(rule, got=repr(agents), remedy=f"for one agent use [{agents!r}]"))


def _distinct(values: Positions, names: Sequence[object], what: str) -> Positions:
    """Return the values sorted; raise an error for duplicates."""
    unique, first, count = np.unique(values, return_index=True, return_counts=True)
    if unique.size < values.size:
        twice = ", ".join(repr(names[i]) for i in first[count > 1][:5])
        raise InvalidInputError(message(f"observed {what} must differ", got=f"{twice} twice", remedy="list each once"))
    return np.asarray(unique, dtype=np.int64)


def _span(recorded: Positions) -> str:
    return f"{recorded[0]}–{recorded[-1]}" if recorded.size else "none"


@final
@read_only
@dataclass(frozen=True, eq=False)
class Answers:
    """Observed answers Y, with the agents and steps that they belong to.

    Attributes
    ----------
    seen : ResolvedObservation
        The T observed steps and k observed agents.
    values : array of shape (replicates, T, k)
        Answers at the steps ``seen.times`` of the agents ``seen.agents``; NaN where one is missing.
    present : array of bool, shape (T, k)
        Where answers are not missing, common to all replicates.
    known : array of shape (replicates, n)
        The x₀ that is known from step 0, and NaN for the agents ``seen.free`` to be estimated.
    replicates : array of int, shape (replicates,)
        Numbers of the replicates.
    copies : int, default 0
        How many of the last replicates are perturbed copies of the first, which measure rounding errors and are no
        data.
    leaves_start : bool, default False
        Whether the run has y₀ = x₀ of observed agents and the observer does not see it, although no steps were chosen.

    See Also
    --------
    answers_of : Selects them from a run.

    Examples
    --------
    >>> from peerpressure import Model, Observation, simulate
    >>> from peerpressure.networks import path
    >>> from peerpressure.recovery import answers_of
    >>> model = Model(path(3), hidden=[0.0, 0.0, 1.0])
    >>> answers_of(simulate(model, steps=10), model, Observation(agents=[0, 2])).values.shape
    (1, 10, 2)
    """

    seen: ResolvedObservation
    values: NDArray[Any]
    present: NDArray[np.bool_]
    known: Array
    replicates: NDArray[np.int64]
    copies: int = 0
    leaves_start: bool = False

    @property
    def complete(self) -> bool:
        """Whether every answer from step 1 to the last is observed exactly."""
        seen = self.seen
        return seen.everyone and seen.uninterrupted and seen.rounding == 0 and bool(self.present.all())

    def at(self, row: int) -> Array:
        """Return the answers of one step as doubles.

        Parameters
        ----------
        row : int
            Position of the step in ``seen.times``.

        Returns
        -------
        array of shape (replicates, k)
            Answers; NaN where one is missing.
        """
        return np.asarray(self.values[:, row], dtype=np.float64)


def answers_of(data: Data, model: System, observation: Observation | None = None) -> Answers:
    """Check a run, table, array or file, and return it as observations of a model.

    Parameters
    ----------
    data : Trajectory, Answers, pandas.DataFrame, xarray.Dataset, array or path
        A run with recorded states, or answers in any form that `observations_of` takes. `Answers` are returned as they
        are.
    model : Model or SDE
        The model of the run; the steps of an SDE are those of its grid.
    observation : Observation, optional
        Which agents are observed and when; by default all that is recorded from step 1 on.

    Returns
    -------
    Answers
        The observed values, with where and when they were observed.

    Raises
    ------
    InvalidInputError
        If the data have other agents, times off the grid, no recorded states, or a start that the model rules out.

    See Also
    --------
    observations_of : Reads data in any form.
    recover : Estimate the hidden opinions from a run.

    Examples
    --------
    >>> from peerpressure import Model, Observation, simulate
    >>> from peerpressure.networks import k2
    >>> from peerpressure.recovery import answers_of
    >>> model = Model(k2(), hidden=[1.0, 2.0])
    >>> answers_of(simulate(model, steps=3, record="all"), model, Observation(agents=[0])).values.shape
    (1, 3, 1)
    """
    if isinstance(data, Answers):
        return observed_already(data, checked_system(model), observation)
    run = observations_of(data, model)
    return selected(run, checked_system(model), observation)


def selected(run: Trajectory, system: System, observation: Observation | None) -> Answers:
    """Return what an observation selects of a run."""
    trajectory, model = on_grid(system, run), system.model
    states = _states_of(model, trajectory)
    look = observation or Observation()
    if look.agents is None and trajectory.agents.size < model.n:
        # A run may have recorded a part of the agents; the default observes these.
        look = replace(look, agents=trajectory.labels)
    seen = look.resolve(model, trajectory.times)
    columns = _columns(model, trajectory, seen.agents)
    picked = _part(states, np.searchsorted(trajectory.times, seen.times), columns)
    values = answered(picked, seen.rounding, seen.scale, seen.times)
    present = _present(values, seen.times)
    known = _known(model, seen, states, columns) if seen.sees_start else np.full((states.shape[0], model.n), np.nan)
    # Not ``seen.free``: an observed y₀ may be missing (NaN) for some agents, which are then to be estimated.
    free = np.flatnonzero(np.isnan(known[0]))
    if not present.any() and free.size == model.n:
        remedy = "look at steps and agents that the data hold"
        raise InvalidInputError(message("an observer must see an answer", got="only missing ones", remedy=remedy))
    chosen = look.sees_start or look.first_step > 0 or look.times is not None
    has_start = trajectory.times[:1] == 0 and isinstance(model.start, str) and np.isfinite(states[:, 0, columns]).any()
    return Answers(
        replace(seen, free=free),
        values,
        present,
        known,
        trajectory.replicates,
        leaves_start=bool(has_start) and not chosen,
    )


def observed(data: Data, model: System, observation: Observation | None) -> tuple[System, Answers]:
    """Return the model given who updated, and what is observed of the data: how every estimator begins."""
    refuse_model(data)
    system = checked_system(model)
    if isinstance(data, Answers):
        if system.model.activation is not None and system.model.activation.is_random:
            rule = "who updated is read off a run, which has all agents and its start"
            raise InvalidInputError(message(rule, got="Answers", remedy=f"pass the run, or {_TABLE}"))
        return system, observed_already(data, system, observation)
    run, _ = run_of(data, system)
    system = given_who_updated(run, system, observation)
    return system, selected(run, system, observation)


def blank_outputs(system: System, seen: ResolvedObservation) -> tuple[System, Answers]:
    """Return a system with these transitions and answers of it, all of them 0, for what does not depend on answers."""
    # They must be possible, since exact equations are checked: with all opinions 0, answers of 0 are.
    zeros, model = np.zeros(system.n), system.model
    blank = replace(model, hidden=zeros, start="hidden" if isinstance(model.start, str) else zeros)
    known = np.zeros((1, system.n))
    known[:, seen.free] = np.nan
    shape = (seen.times.size, seen.agents.size)
    outputs = Answers(seen, np.zeros((1, *shape)), np.ones(shape, dtype=bool), known, np.zeros(1, dtype=np.int64))
    return system.with_model(blank), outputs


def observed_already(data: Answers, system: System, observation: Observation | None) -> Answers:
    """Return answers that were selected before, after checking that they are of the model's agents."""
    if observation is not None:
        rule, remedy = "an observation selects from a run", "pass the run, or the observation to answers_of"
        raise InvalidInputError(message(rule, got="one of Answers, which are selected already", remedy=remedy))
    if data.seen.n != system.model.n:
        rule, remedy = f"answers must be of the model's {system.model.n} agents", "select them with this model"
        raise InvalidInputError(message(rule, got=data.seen.n, remedy=remedy))
    return data


def on_grid(system: System, trajectory: Trajectory) -> Trajectory:
    """Return the run with its times counted in steps of the system."""
    h = system.step
    steps = np.asarray(trajectory.times, dtype=np.float64) / h
    whole = np.rint(steps)
    off = np.flatnonzero(np.abs(steps - whole) > _TIME_TOLERANCE)
    if off.size:
        rule = "answers must come at whole steps" if h == 1 else f"answers must come at multiples of the step {h:g}"
        remedy = "pass the SDE that the run was made with, and with its step"
        raise InvalidInputError(message(rule, got=f"t = {trajectory.times[off[0]]:g}", remedy=remedy))
    return replace(trajectory, times=whole.astype(np.int64))


def _states_of(model: Model, trajectory: Trajectory) -> NDArray[Any]:
    other = trajectory.model.network
    if other.n != model.n or other.labels != model.network.labels:
        rule = f"the run must be of the model's {model.n} agents, under the same labels"
        got = f"a run of {other.n}" if other.n != model.n else "other labels"
        raise InvalidInputError(message(rule, got=got, remedy="pass the model of the run, or one on its network"))
    if trajectory.states is None:
        remedy = "simulate with all states recorded, or those of some agents"
        raise InvalidInputError(
            message("recovery needs recorded states", got="a run without them", remedy=remedy), argument="record"
        )
    return trajectory.states


def _columns(model: Model, trajectory: Trajectory, agents: Positions) -> Positions:
    """Return the columns of the observed agents among the recorded ones, which may be in any order."""
    order = np.argsort(trajectory.agents)
    missing = np.setdiff1d(agents, trajectory.agents)
    if missing.size:
        names = ", ".join(repr(model.network.labels[i]) for i in missing[:5])
        remedy = "record them too, or observe the recorded ones"
        rule = f"observed agents must be among the {trajectory.agents.size} recorded ones"
        raise InvalidInputError(message(rule, got=f"{names} ({missing.size} in all)", remedy=remedy))
    # `searchsorted` needs sorted values, and the sorter maps the result back to the order of recording.
    return np.asarray(order[np.searchsorted(trajectory.agents, agents, sorter=order)], dtype=np.int64)


def _part(states: Any, rows: Positions, columns: Positions) -> Any:
    """Return states[:, rows, columns] as a view where that is possible: answers can fill the memory, or exceed it."""
    whole = isinstance(_stretch(columns, states.shape[2]), slice) and columns.size == states.shape[2]
    if isinstance(states, StoredArray) and whole and isinstance(_stretch(rows, states.shape[1]), slice) and rows.size:
        # Read step by step, when a step is asked for.
        return states.times(int(rows[0]), int(rows[-1]) + 1)
    picked = states[:, _stretch(rows, states.shape[1])]
    return picked[:, :, _stretch(columns, states.shape[2])]


def answered(
    values: NDArray[Any], spacing: float, scale: tuple[float, float] | None, times: NDArray[Any]
) -> NDArray[Any]:
    """Return answers, (R, T, k), as the observer sees them: as they are, rounded, or as points of a scale."""
    if scale is None:
        return _rounded(values, spacing)
    low, high = scale
    if not _is_on_grid(values, spacing, low):
        _check_within(values, low, high)
        # Opinions that were simulated: beyond the ends people answer with the ends.
        answers = low + spacing * np.rint((np.asarray(values, dtype=np.float64) - low) / spacing)
        return np.clip(answers, low, high)
    beyond = np.argwhere(np.isfinite(values) & ((values < low - spacing / 2) | (values > high + spacing / 2)))
    if beyond.size:
        replicate, row, column = beyond[0]
        rule = f"answers must lie on the scale from {low:g} to {high:g}"
        more = f", and {len(beyond) - 1} more" if len(beyond) > 1 else ""
        got = f"{values[replicate, row, column]:g} at step {times[row]}{more}"
        remedy = "check the scale, and leave codes of missing answers empty"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))
    return values


def _check_within(values: NDArray[Any], low: float, high: float) -> None:
    """Raise if all answers lie on one side of a scale, which then is not theirs."""
    least, most = np.nanmin(values, initial=np.inf), np.nanmax(values, initial=-np.inf)
    if least <= most and (most < low or least > high):
        rule, got = f"answers must lie on the scale from {low:g} to {high:g}", f"{least:g} to {most:g}"
        raise InvalidInputError(message(rule, got=got, remedy="declare the scale on which they are, or none"))


def _rounded(values: NDArray[Any], spacing: float) -> NDArray[Any]:
    """Return the answers on the grid that the observer sees, as they are if they came on one of its spacing."""
    if not spacing or _is_on_grid(values, spacing, 0.0):
        return values
    finite = np.isfinite(values)
    first = float(values[np.unravel_index(np.argmax(finite), finite.shape)])
    # The grid of data need not contain 0: of answers 0.5, 1.5 and 2.5, rounding to 0, 2 and 2 would make others. Equal
    # values are no evidence of such a grid.
    if (np.abs(values - first)[finite] > spacing / 2).any() and _is_on_grid(values, spacing, first):
        return values
    rounded = spacing * np.rint(np.asarray(values, dtype=np.float64) / spacing)
    return rounded.astype(values.dtype, copy=False)


def _is_on_grid(values: NDArray[Any], spacing: float, origin: float) -> bool:
    """Return whether all answers differ from the origin by multiples of the spacing, to the precision of their type."""
    digits = _GRID_DIGITS * np.finfo(values.dtype).eps
    for row in range(values.shape[1]):
        there = np.asarray(values[:, row], dtype=np.float64)
        # Infinite values are an error of their own, found later.
        there = there[np.isfinite(there)]
        steps = (there - origin) / spacing
        if (np.abs(steps - np.rint(steps)) > digits * (1 + (np.abs(there) + abs(origin)) / spacing)).any():
            return False
    return True


def _stretch(positions: Positions, size: int) -> slice | Positions:
    # A slice makes a view; an index array would copy the states.
    if positions.size and np.array_equal(positions, np.arange(positions[0], positions[0] + positions.size)):
        return slice(int(positions[0]), int(positions[0]) + positions.size)
    return positions


def _present(values: NDArray[Any], times: Positions) -> NDArray[np.bool_]:
    """Return where answers are there, without an array of that size when all of them are."""
    shape = values.shape[1:]
    gaps: dict[int, NDArray[np.bool_]] = {}
    # One step at a time: a mask of all answers would need an eighth of their memory, and mostly be True everywhere.
    for row in range(shape[0]):
        finite = np.isfinite(values[:, row])
        if finite.all():
            continue
        # Estimators share one design, and so one covariance, between replicates; gaps must coincide for that.
        if np.isinf(values[:, row]).any() or (finite != finite[0]).any():
            raise InvalidInputError(_uneven(int(times[row]), infinite=bool(np.isinf(values[:, row]).any())))
        gaps[row] = finite[0]
    if not gaps:
        # A read-only view of one byte.
        return np.broadcast_to(np.True_, shape)
    present = np.ones(shape, dtype=bool)
    for row, there in gaps.items():
        present[row] = there
    return present


def _uneven(step: int, *, infinite: bool) -> str:
    if infinite:
        rule, remedy = "answers must be finite, or NaN where they are missing", "repair or remove it"
        return message(rule, got=f"an infinite one at step {step}", remedy=remedy)
    rule = "answers must be missing at the same places in all replicates"
    return message(rule, got=f"different ones at step {step}", remedy="recover the replicates one at a time")


def _known(model: Model, seen: ResolvedObservation, states: NDArray[Any], columns: Positions) -> Array:
    """Return the x₀ that is read off y₀, having checked y₀ against a start that the model gives."""
    start = np.asarray(states[:, 0, columns], dtype=np.float64)
    known = np.full((states.shape[0], model.n), np.nan)
    if not isinstance(model.start, str):
        _refuse_other_start(model, seen, start, np.finfo(states.dtype).eps)
    elif seen.rounding == 0:
        there = np.isfinite(start)
        if np.isinf(start).any() or (there != there[0]).any():
            raise InvalidInputError(_uneven(0, infinite=bool(np.isinf(start).any())))
        known[:, seen.agents] = start
    return known


def _refuse_other_start(model: Model, seen: ResolvedObservation, start: Array, precision: float) -> None:
    given = model.start_state[seen.agents]
    off = np.abs(np.nan_to_num(start - given))
    # Rounding moves a value by up to half its spacing; the rest allows for the precision of the recorded dtype.
    bad = np.argwhere(off > seen.rounding / 2 + 8 * precision * np.maximum(1.0, np.abs(given)))
    if bad.size:
        row, column = bad[0]
        agent = model.network.labels[seen.agents[column]]
        rule = f"a model with a start of its own must show it at step 0, {given[column]:.6g} for agent {agent!r}"
        remedy = "pass the model that the run came from, or do not look at step 0"
        raise InvalidInputError(message(rule, got=f"{start[row, column]:.6g}", remedy=remedy))


# Who updated at each step of a run, read off its public opinions.

_TABLE = "give a table of who updated as the model's activation, replace(model, activation=table)"


def who_updated(data: Record, model: Model) -> NDArray[np.bool_]:
    """Return who updated at each step of a run: the agents whose public opinions changed.

    An agent who updates shows new noise, and noise that has a density never leaves the opinion exactly as it was.

    Parameters
    ----------
    data : Trajectory, pandas.DataFrame, xarray.Dataset, array or path
        A run in which all agents are recorded at every step, in any form that `observations_of` takes; its step 0 may
        be missing where the model gives the start.
    model : Model
        The model of the run, with noise that has a density for every agent.

    Returns
    -------
    array of bool, shape (replicates, steps, agents)
        For each replicate a table, which is a legal ``activation`` of a model.

    Raises
    ------
    InvalidInputError
        If an answer is missing, or an update might leave an opinion as it is: with noise of some agent 0, or of a law
        that takes separate values.

    See Also
    --------
    recover : Does this if it is random who updates, for one replicate.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, simulate
    >>> from peerpressure.networks import k2
    >>> from peerpressure.recovery import who_updated
    >>> model = Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(0.1), activation="single")
    >>> who_updated(simulate(model, 50, seed=1), model).sum(axis=2).max()
    np.int64(1)
    """
    refuse_model(data)
    model, rule = discrete_model(model), "who updated is read off noise that has a density, of every agent"
    separate = not hasattr(model.noise.unit().dist, "pdf")
    if separate or model.noise.is_zero or not model.noise.deviations(model.n).all():
        raise InvalidInputError(message(rule, got=str(model.noise), remedy=_TABLE))
    run = observations_of(data, model)
    states, first = run.states, int(run.times[0]) if run.times.size else 0
    whole = states is not None and np.array_equal(run.agents, np.arange(model.n))
    known = first == 0 or (first == 1 and not isinstance(model.start, str))
    if states is None or not (whole and known and np.array_equal(run.times, np.arange(first, first + run.times.size))):
        rule = "who updated is read off a run in which all agents are recorded at every step, with its start"
        raise InvalidInputError(message(rule, got=repr(run)[:120], remedy=f"record all, or {_TABLE}"))
    if not np.isfinite(states).all():
        raise InvalidInputError(message("who updated is read off complete answers", got="missing ones", remedy=_TABLE))
    if first == 1:
        start = np.broadcast_to(model.start_state.astype(states.dtype), (states.shape[0], 1, model.n))
        states = np.concatenate([start, states], axis=1)
    return np.asarray(states[:, 1:] != states[:, :-1])


def given_who_updated(run: Trajectory, system: System, observation: Observation | None) -> System:
    """Return the model given who updated in a run, if that is random; the system itself elsewhere."""
    activation = system.model.activation
    if activation is None or not activation.is_random:
        return system
    look = observation or Observation()
    if look.agents is not None or look.rounding:
        rule = "who updated is read off the exact answers of all agents"
        got = "rounding" if look.rounding else "some agents"
        raise InvalidInputError(message(rule, got=got, remedy=_TABLE))
    masks = who_updated(run, system.model)
    if np.any(masks != masks[0]):
        rule = "with random updates replicates have estimates of different precision, and are recovered one at a time"
        remedy = "simulate one replicate alone"
        raise InvalidInputError(message(rule, got=f"{len(masks)} replicates", remedy=remedy), argument="replicates")
    return replace(system.model, activation=masks[0])
