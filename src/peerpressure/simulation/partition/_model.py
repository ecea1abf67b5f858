"""A model on a network of which each process holds its own part."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from peerpressure.errors import InvalidInputError, ModelError, message
from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.noise import Noise, as_noise
from peerpressure.schedules import Linear, Schedule
from peerpressure.simulation import Progress, carried_out, plan_of, require_finite, starting_state
from peerpressure.simulation.engine.parts import ModelPart, run_part
from peerpressure.simulation.engine.plan import RunPlan
from peerpressure.simulation.partition._network import PartitionedNetwork
from peerpressure.simulation.partition._result import Checkpoints, PartTrajectory, joined_records
from peerpressure.simulation.processes import Together, digest_of
from peerpressure.simulation.recording import Record, as_record, recorded_steps
from peerpressure.simulation.trajectory import MOST_STEPS, RECORDED, State
from peerpressure.support.files import expanded
from peerpressure.support.parameters import whole
from peerpressure.support.progress import ShouldStop
from peerpressure.support.seeds import Seed

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

Numbers: TypeAlias = NDArray[np.int64]
OwnValues: TypeAlias = float | ArrayLike | Callable[[Numbers], ArrayLike]
_EVERY = 1000  # steps between checkpoints


@final
@dataclass(frozen=True, eq=False, init=False, repr=False)
class PartitionedModel:
    """A model whose agents are divided among processes, none of which holds all of them.

    What is given for each agent is given for the agents of this process, as an array in their order, or as a function
    that takes an array of agents' numbers and returns a number for each; one number holds for all agents.

    Parameters
    ----------
    network : PartitionedNetwork
        The network, which does not change over time.
    hidden : array_like of shape (own agents,) or callable
        Hidden opinions x₀ of the own agents.
    stubbornness : float, array_like or callable, default 1.0
        Weight s > 0 of an agent's own opinion; ∞ for a zealot.
    pressure : Schedule, float, str or sequence of float, default ``Linear()``
        Peer pressure ρ_t, as of a ``Model``.
    noise : Noise, float, str, array_like or callable, optional
        Noise ε_t, as of a ``Model``. Arrays and functions are standard deviations of Gaussian noise; the ``std`` of a
        ``Noise`` is one number, or an array of the own agents.
    start : float, array_like, callable or "hidden", default "hidden"
        Public opinions y₀ at time 0.
    adaptation : Adaptation, Schedule, float or str, optional
        Rate at which hidden opinions adapt, one for all agents.
    activation : float or "single", optional
        The probability with which each agent updates at a step, or one agent at a time.

    Attributes
    ----------
    part : ModelPart
        The share of this process.

    Raises
    ------
    ModelError
        If a number is missing, not finite or out of range, in any process.

    See Also
    --------
    peerpressure.simulate : Divides a whole model, given ``comm``.

    Examples
    --------
    >>> import numpy as np
    >>> from mpi4py import MPI  # doctest: +SKIP
    >>> from peerpressure.simulation.partition import PartitionedModel, PartitionedNetwork
    >>> network = PartitionedNetwork.watts_strogatz(10**9, 6, 0.05, seed=1, comm=MPI.COMM_WORLD)  # doctest: +SKIP
    >>> model = PartitionedModel(network, hidden=lambda i: np.sin(i), noise=0.1)  # doctest: +SKIP
    """

    part: ModelPart

    def __init__(
        self,
        network: PartitionedNetwork,
        hidden: OwnValues,
        stubbornness: OwnValues = 1.0,
        pressure: Schedule | float | str | Sequence[float] = Linear(),  # noqa: B008 — frozen, so sharing it is safe
        noise: Noise | str | OwnValues | None = None,
        start: OwnValues | str = "hidden",
        adaptation: Adaptation | Schedule | float | str | None = None,
        *,
        activation: float | Literal["single"] | None = None,
    ) -> None:
        together = Together(network.comm)
        with together.checking():
            given: tuple[Any, ...] = activation, getattr(adaptation, "adaptation_weight", None)
            if any(np.ndim(values) for values in given):
                rule = "activation and adaptation of a model in parts are the same for all agents"
                raise ModelError(
                    message(rule, got="one for each", remedy="divide a whole Model with PartitionedModel.of")
                )
            places = network.places

            def own(name: str, values: OwnValues, fill: float, *, infinite: bool = False) -> NDArray[np.float64]:
                spread = np.full(places.numbers.size, fill)
                spread[places.own] = _own_values(name, values, network, infinite=infinite)
                return spread

            model = Model(
                network.local,
                own("hidden", hidden, 0.0),
                own("stubbornness", stubbornness, 1.0, infinite=True),
                pressure,
                _own_noise(noise, partial(own, "noise", fill=1.0)),
                start if isinstance(start, str) else own("start", start, 0.0),
                adaptation,
                activation=activation,
            )
            degrees = model.network.degrees[places.own]
        silent = any(together.comm.allgather(not bool(degrees.min())))
        object.__setattr__(self, "part", ModelPart(together.comm, places, model, network.cuts, silent))

    @classmethod
    def of(cls, model: Model, comm: Intracomm) -> PartitionedModel:
        """Return the part of a model that all processes have, with everything that a ``Model`` may have.

        Parameters
        ----------
        model : Model
            The whole model.
        comm : mpi4py.MPI.Intracomm
            The processes.

        Returns
        -------
        PartitionedModel
            The part of this process.
        """
        together = Together(comm)
        with together.checking():
            part = ModelPart.of(model, together.comm)
        made = object.__new__(cls)
        object.__setattr__(made, "part", part)
        return made

    @property
    def n(self) -> int:
        """Number of agents in all processes."""
        return self.part.agents

    @property
    def agents(self) -> Numbers:
        """The numbers of this process's own agents."""
        return np.arange(self.part.places.first, self.part.places.last)

    def simulate(
        self,
        steps: int,
        replicates: int | Sequence[int] | None = None,
        *,
        seed: Seed = None,
        record: Record | str = "summaries",
        start: State | PartTrajectory | None = None,
        dtype: DTypeLike | None = None,
        threads: int | None = None,
        progress: Progress = False,
        should_stop: ShouldStop | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: int = _EVERY,
    ) -> PartTrajectory:
        """Run the model together with the other processes, and return what was recorded of the own agents.

        All processes call this with the same arguments. An error in one of them, or Ctrl-C, ends all.

        Parameters
        ----------
        steps : int
            The number of steps, at least 0.
        replicates : int or sequence of int, optional
            How many replicates, or their numbers; one by default.
        seed : int, numpy.random.Generator or None, optional
            The seed of the noise.
        record : Record or {"all", "summaries", "final"}, default "summaries"
            What is kept. Agents of a ``Record`` are given by their numbers, and each process keeps its own.
        start : State or PartTrajectory, optional
            A run of the same parts to resume, or its ``final`` state.
        dtype : {float64, float32}, optional
            Precision of the states.
        threads : int, optional
            The number of threads of this process, by default its share of the cores of its machine.
        progress : bool or callable, default False
            Reports progress in process 0.
        should_stop : callable, optional
            Called between blocks of steps; all processes are cancelled if one returns True.
        checkpoint : str or PathLike, optional
            A folder to which state and records are written every so many steps, one file a process. Where it has some
            of this run, the run is resumed from the last state that all processes have written.
        every : int, default 1000
            The number of steps between checkpoints.

        Returns
        -------
        PartTrajectory
            The records of the own agents, summaries of all, and the final state of the own agents.

        Raises
        ------
        InvalidInputError
            If an argument is invalid, or the checkpoints are those of another run.
        TooLargeError
            If the run does not fit in memory.
        CancelledError
            If ``should_stop`` returns True in a process.
        FileFormatError
            If a checkpoint cannot be written or read.
        """
        together = Together(self.part.comm)
        with together.checking():
            keep = as_record(record)
            begin = self._begin(start)
            local = replace(keep, agents=None if keep.agents is None else self._places(keep).tolist())
            asked = (replicates, seed, local, dtype, threads)
            plan = plan_of(self.part.model, begin, steps, *asked, together=together)
            plan = replace(plan, agents=self._places(keep), part=self.part.share)
            whole(every, "every", least=1, most=MOST_STEPS)
        together.require_equal(self._identity(plan) | {"steps": steps, "replicates": plan.replicates})
        run = partial(self._run, together=together, should_stop=should_stop)
        if checkpoint is None:
            return run(plan, begin, progress)
        place = Checkpoints(expanded(checkpoint), together, self._digests(plan, begin, keep))
        return self._run_on(place, plan, begin, keep, every, run, progress)

    def _run_on(
        self,
        place: Checkpoints,
        plan: RunPlan,
        begin: State,
        keep: Record,
        every: int,
        run: Callable[[RunPlan, State, Progress], PartTrajectory],
        progress: Progress,
    ) -> PartTrajectory:
        """Run on from the last checkpoint, if there is one, and write one every so many steps."""
        first, last = plan.start_step, plan.start_step + plan.steps
        state, stretches = place.resumed(first, last)
        step = first if state is None else state.step
        while state is None or step < last:
            end = min(step - (step - first) % every + every, last)
            leg = replace(plan, start_step=step, steps=end - step, times=recorded_steps(step, end, keep))
            done = run(
                leg, begin if state is None else self._spread(state), _shifted(progress, step - first, plan.steps)
            )
            place.write(done)
            stretches.append({name: part for name in ("times", *RECORDED) if (part := getattr(done, name)) is not None})
            state, step = done.final, end
        return self._result(plan, state, joined_records(stretches, plan.times))

    def _run(
        self, plan: RunPlan, begin: State, progress: Progress, *, together: Together, should_stop: ShouldStop | None
    ) -> PartTrajectory:
        own = self.part.places.own
        state = _each(begin, lambda part: part[..., own])
        result = carried_out(plan, state, partial(run_part, self.part), progress, should_stop, together)
        with together.checking():
            require_finite(plan, result.final, self.part.places.first)
        records: dict[str, Any] = {"states": result.states, "hidden": result.hidden}
        if result.summaries is not None:
            records |= zip(("minimum", "maximum", "mean"), np.moveaxis(result.summaries, 2, 0), strict=True)
        final = result.final, result.memory, result.final_hidden
        reached = State(plan.start_step + plan.steps, *final, plan.seed, plan.replicates, 1.0)
        return self._result(plan, reached, records)

    def _result(self, plan: RunPlan, final: State, records: Mapping[str, Any]) -> PartTrajectory:
        return PartTrajectory(
            cuts=self.part.cuts,
            part=self.part.comm.rank,
            seed=plan.seed,
            replicates=plan.replicates,
            times=plan.times,
            agents=self.part.places.numbers[plan.agents],
            final=final,
            states=records.get("states"),
            hidden=records.get("hidden"),
            minimum=records.get("minimum"),
            maximum=records.get("maximum"),
            mean=records.get("mean"),
        )

    def _begin(self, start: object) -> State:
        """Return the state to begin with, at all places of this process."""
        state = start.final if isinstance(start, PartTrajectory) else start
        if state is not None and not isinstance(state, State):
            rule, got = "start must be a PartTrajectory or a State of the own agents", type(state).__name__
            raise InvalidInputError(message(rule, got=got, remedy="pass a run of these parts, or its final state"))
        own = self.part.places.last - self.part.places.first
        if state is not None and state.public.shape[-1] != own:
            rule, got = f"the start must be of the {own:,} agents of this process", f"{state.public.shape[-1]:,} agents"
            raise InvalidInputError(message(rule, got=got, remedy="start from a run of these parts"))
        return starting_state(self.part.model, 1, None if state is None else self._spread(state), 0)

    def _spread(self, state: State) -> State:
        return _each(state, self.part.places.spread)

    def _places(self, keep: Record) -> Numbers:
        """Return the places of the own agents that are recorded."""
        places = self.part.places
        if keep.agents is None:
            return np.arange(places.own.start, places.own.stop)
        numbers = np.asarray([*keep.agents])
        if numbers.size and (numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= self.n):
            rule = f"agents of a model in parts have the numbers 0 to {self.n - 1:,}"
            raise InvalidInputError(message(rule, got=repr(keep.agents)[:80], remedy="record agents by their numbers"))
        own = numbers[(numbers >= places.first) & (numbers < places.last)].astype(np.int64)
        return places.places(own)

    def _identity(self, plan: RunPlan) -> dict[str, Any]:
        """Return, by their names for users, the values on which all processes of a run must agree."""
        model = plan.model
        noise, adaptation, activation = model.noise, model.adaptation, model.activation
        kinds = noise.law, noise.shape, str(noise.temporal), str(noise.time_scale)
        rules = str(getattr(adaptation, "rate", None)), str(getattr(activation, "kind", None))
        return {
            "model": (self.part.cuts, str(model.pressure), *kinds, *rules),
            "seed": plan.seed,
            "record": (plan.times, plan.keep_states, plan.keep_summaries),
            "dtype": plan.dtype,
        }

    def _digests(self, plan: RunPlan, begin: State, keep: Record) -> dict[str, str]:
        """Return what a run that is resumed must have in common with this one."""
        model = plan.model
        A = model.network.adjacency
        arrays = A.indptr, A.indices, A.data, model.x0, model.stubbornness, np.asarray(model.noise.std)
        common = self._identity(plan) | {"record": keep, "replicates": plan.replicates}
        common |= {"start": (begin.step, begin.public), "part of the model": arrays}
        return {name: digest_of(value) for name, value in common.items()}

    def __repr__(self) -> str:
        return f"PartitionedModel({self.n:,} agents in {self.part.comm.size} parts; here {self.part.model!r})"


def _each(state: State, change: Callable[[NDArray[Any]], NDArray[Any]]) -> State:
    """Return a state with all its arrays changed."""
    memory, hidden = (None if part is None else change(part) for part in (state.memory, state.hidden))
    return replace(state, public=change(state.public), memory=memory, hidden=hidden)


def _shifted(progress: Progress, done: int, steps: int) -> Progress:
    """Return progress that counts the steps before a stretch as well."""
    return (lambda count, _: progress(done + count, steps)) if callable(progress) else progress


def _own_values(name: str, values: OwnValues, network: PartitionedNetwork, *, infinite: bool) -> NDArray[np.float64]:
    """Return one number for each agent of this process, after checking them."""
    given = values(network.agents) if callable(values) else values
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty((0, 0))
    own = network.last - network.first
    if array.shape not in ((), (own,)) or (name == "hidden" and not array.ndim):
        rule = (
            f"{name} must be one number for each of the {own:,} agents of this process, or a function of their numbers"
        )
        got = f"shape {np.shape(given)}" if array.ndim < 2 else type(given).__name__
        raise ModelError(message(rule, got=got, remedy="give those of agents first to last − 1"))
    bad = np.flatnonzero(np.isnan(array) | (~np.isfinite(array) & (not infinite)))
    if bad.size:
        got = f"{array.flat[bad[0]]:g} at agent {network.first + int(bad[0])} ({bad.size} such here)"
        raise ModelError(message(f"{name} must be finite", got=got, remedy="fill in what is missing"))
    if name == "stubbornness" and (array <= 0).any():
        worst = int(np.flatnonzero(array <= 0)[0])
        got = f"{array.flat[worst]:g} at agent {network.first + worst}"
        raise ModelError(message("stubbornness must be positive", got=got, remedy="use a small positive value"))
    return np.broadcast_to(array, (own,))


def _own_noise(noise: Any, own: Callable[[Any], NDArray[np.float64]]) -> Any:
    """Return noise whose deviations, where each agent has its own, are at all places of the process."""
    if callable(noise) and not isinstance(noise, Noise):
        return own(noise)
    if isinstance(noise, (str, Noise)) or noise is None or not np.ndim(noise):
        made = as_noise(noise)
        return replace(made, std=own(made.std)) if np.ndim(made.std) else made
    return own(noise)
