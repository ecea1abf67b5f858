"""What an observer has in hand: the seen part of a run, checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model
from peerpressure.recovery.continuous import on_grid
from peerpressure.recovery.observation import Observation, Positions, ResolvedObservation
from peerpressure.sde import SDE
from peerpressure.trajectory import Trajectory

Array: TypeAlias = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Outputs:
    """Seen outputs Y with where and when they were seen.

    ``values`` is (replicates, T, k) for the T steps ``seen.times`` and the k agents ``seen.agents``, NaN where an
    output is missing; ``present`` (T, k) says where it is not, alike in all replicates. ``known`` (replicates, n) is
    the x₀ of agents who showed it at step 0, and NaN for the agents ``seen.free`` that an estimator must find. The last
    ``copies`` replicates are perturbed copies of the first, which measure rounding errors and are no data.
    """

    seen: ResolvedObservation
    values: NDArray[Any]
    present: NDArray[np.bool_]
    known: Array
    replicates: NDArray[np.int64]
    copies: int = 0

    @property
    def complete(self) -> bool:
        """Whether every output from step 1 to the last is seen, as it was."""
        seen = self.seen
        return seen.everyone and seen.uninterrupted and seen.rounding == 0 and bool(self.present.all())

    def at(self, row: int) -> Array:
        """Return the outputs of the step ``seen.times[row]`` as doubles, (replicates, k)."""
        return np.asarray(self.values[:, row], dtype=np.float64)


def outputs_of(model: Model | SDE, trajectory: Trajectory, observation: Observation | None = None) -> Outputs:
    """Return what the observer sees of a run, refusing what the model cannot have shown.

    Steps of an SDE are those of its grid.
    """
    if isinstance(model, SDE):
        return outputs_of(model.model, on_grid(model, trajectory), observation)
    _refuse_real_times(trajectory)
    states = _states_of(model, trajectory)
    look = observation or Observation()
    if look.agents is None and trajectory.agents.size < model.n:
        look = replace(look, agents=trajectory.labels)
    seen = look.resolve(model, trajectory.times)
    columns = _columns(model, trajectory, seen.agents)
    values = _part(states, np.searchsorted(trajectory.times, seen.times), columns)
    present = _present(values, seen.times)
    known = _known(model, seen, states, columns) if seen.sees_start else np.full((states.shape[0], model.n), np.nan)
    free = np.flatnonzero(np.isnan(known[0]))
    if not present.any() and free.size == model.n:
        remedy = "look at steps and agents that the data hold"
        raise InvalidInputError(complain("an observer must see an output", got="only missing ones", remedy=remedy))
    return Outputs(replace(seen, free=free), values, present, known, trajectory.replicates)


def _refuse_real_times(trajectory: Trajectory) -> None:
    times = np.asarray(trajectory.times, dtype=np.float64)
    off = np.flatnonzero(times != np.rint(times))
    if off.size:
        rule = "a model's outputs must come at whole steps"
        remedy = "pass the SDE that the run was made with"
        raise InvalidInputError(complain(rule, got=f"t = {times[off[0]]:g}", remedy=remedy))


def _states_of(model: Model, trajectory: Trajectory) -> NDArray[Any]:
    other = trajectory.model.network
    if other.n != model.n or other.labels != model.network.labels:
        rule = f"the run must be of the model's {model.n} agents, under the same labels"
        got = f"a run of {other.n}" if other.n != model.n else "other labels"
        raise InvalidInputError(complain(rule, got=got, remedy="pass the model of the run, or one on its network"))
    if trajectory.states is None:
        remedy = "simulate with record='all' or Record(agents=[...])"
        raise InvalidInputError(complain("recovery needs recorded states", got="a run without them", remedy=remedy))
    return trajectory.states


def _columns(model: Model, trajectory: Trajectory, agents: Positions) -> Positions:
    """Return where the seen agents stand among the recorded ones, who may be in any order."""
    order = np.argsort(trajectory.agents)
    missing = np.setdiff1d(agents, trajectory.agents)
    if missing.size:
        names = ", ".join(repr(model.network.labels[i]) for i in missing[:5])
        remedy = "add them to Record(agents=[...]), or observe the recorded ones"
        rule = f"observed agents must be among the {trajectory.agents.size} recorded ones"
        raise InvalidInputError(complain(rule, got=f"{names} ({missing.size} in all)", remedy=remedy))
    return np.asarray(order[np.searchsorted(trajectory.agents, agents, sorter=order)], dtype=np.int64)


def _part(states: NDArray[Any], rows: Positions, columns: Positions) -> NDArray[Any]:
    """Return states[:, rows, columns] as a view where that is possible: outputs can fill the memory."""
    picked = states[:, _stretch(rows, states.shape[1])]
    return picked[:, :, _stretch(columns, states.shape[2])]


def _stretch(positions: Positions, size: int) -> slice | Positions:
    if positions.size and np.array_equal(positions, np.arange(positions[0], positions[0] + positions.size)):
        return slice(int(positions[0]), int(positions[0]) + positions.size)
    return positions


def _present(values: NDArray[Any], times: Positions) -> NDArray[np.bool_]:
    """Return where outputs are there, without an array of that size when all of them are."""
    shape = values.shape[1:]
    gaps: dict[int, NDArray[np.bool_]] = {}
    for row in range(shape[0]):
        finite = np.isfinite(values[:, row])
        if finite.all():
            continue
        if np.isinf(values[:, row]).any() or (finite != finite[0]).any():
            raise InvalidInputError(_uneven(int(times[row]), infinite=bool(np.isinf(values[:, row]).any())))
        gaps[row] = finite[0]
    if not gaps:
        return np.broadcast_to(np.True_, shape)
    present = np.ones(shape, dtype=bool)
    for row, there in gaps.items():
        present[row] = there
    return present


def _uneven(step: int, *, infinite: bool) -> str:
    if infinite:
        rule, remedy = "outputs must be finite, or NaN where they are missing", "repair or remove it"
        return complain(rule, got=f"an infinite one at step {step}", remedy=remedy)
    rule = "outputs must be missing at the same places in all replicates"
    return complain(rule, got=f"different ones at step {step}", remedy="recover the replicates one at a time")


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
    bad = np.argwhere(off > seen.rounding / 2 + 8 * precision * np.maximum(1.0, np.abs(given)))
    if bad.size:
        row, column = bad[0]
        agent = model.network.labels[seen.agents[column]]
        rule = f"a model with a start of its own must show it at step 0, {given[column]:.6g} for agent {agent!r}"
        remedy = "pass the model that the run came from, or do not look at step 0"
        raise InvalidInputError(complain(rule, got=f"{start[row, column]:.6g}", remedy=remedy))
