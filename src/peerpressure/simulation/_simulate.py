"""Simulation: ``simulate`` checks its arguments, plans the run, and has an engine make its steps."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from peerpressure.errors import InvalidInputError, PeerPressureError, contrast, message
from peerpressure.model import Model
from peerpressure.model.statespace import System, checked_system
from peerpressure.noise import Gaussian
from peerpressure.sde import SDE, Method, TaylorScheme
from peerpressure.sde.transitions import require_law_memory
from peerpressure.simulation.processes import Together
from peerpressure.simulation.recording import (
    SMALLER_RUN,
    Record as Record,  # noqa: PLC0414, exported from here as well
    RunSize,
    as_record,
    recorded_steps,
    require_run_memory,
)
from peerpressure.simulation.trajectory import (
    MOST_STEPS,
    State,
    Trajectory,
    coordinate_of,
    replicate_numbers,
    seed_number,
)
from peerpressure.simulation.zarr_stores import StorePlan, StoreWriter
from peerpressure.support.files import expanded
from peerpressure.support.parameters import whole
from peerpressure.support.progress import ShouldStop, cancellable, reporter
from peerpressure.support.resources import available_cores
from peerpressure.support.seeds import Seed, drawn_seed

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

    from peerpressure.simulation.engine.plan import RunPlan, RunResult

Progress: TypeAlias = bool | Callable[[int, int], None]
_MOST_REPLICATES = 2**24  # in one call; any number of calls can share a larger ensemble
_BRANCH = "to branch off with other noise, start from State(step, public)"


def simulate(
    model: System,
    steps: int,
    replicates: int | Sequence[int] | None = None,
    *,
    seed: Seed = None,
    record: Record | str = "all",
    start: State | Trajectory | None = None,
    start_step: int = 0,
    dtype: DTypeLike | None = None,
    device: str = "cpu",
    threads: int | None = None,
    progress: Progress = False,
    should_stop: ShouldStop | None = None,
    comm: Intracomm | None = None,
    out: str | Path | None = None,
) -> Trajectory:
    """Run a model for a number of steps in independent replicates.

    The noise of replicate r at step t for agent i depends only on (seed, r, t, i): the same seed gives the same bits
    whatever the number of threads.

    Parameters
    ----------
    model : Model or SDE
        The model, in discrete or continuous time; steps of an ``SDE`` have its own length.
    steps : int
        The number of steps, at least 0.
    replicates : int or sequence of int, optional
        How many replicates, or their numbers: ``range(20, 40)`` gives rows 20 to 39 of a larger run. One by default.
    seed : int, numpy.random.Generator or None, optional
        The seed of the noise, or a generator from which one is drawn. None is the seed of the run that is resumed, and
        0 for a new one.
    record : Record or {"all", "summaries", "final"}, default "all"
        What is kept.
    start : State or Trajectory, optional
        A run to resume, or its ``final`` state. It brings its seed, its replicate numbers and its length of a step, and
        the result is that of one longer run; other values raise an error. A new ``State`` without them branches off
        with fresh noise.
    start_step : int, default 0
        The step to which the model's own start belongs, where ``start`` is left out.
    dtype : {float64, float32}, optional
        Precision of the states; by default that of the run that is resumed, else float64.
    device : {"cpu", "gpu"}, default "cpu"
        "gpu" draws the same noise on an NVIDIA accelerator; states then agree to rounding. An ``SDE`` must have
        ``method="euler"`` there.
    threads : int, optional
        The number of threads, by default the cores that this process may use, divided by the processes of ``comm``
        that share them.
    progress : bool or callable, default False
        True displays a bar on a terminal, and prints a line for each tenth in notebooks and logs; a function is called
        with (steps done, steps).
    should_stop : callable, optional
        Called between blocks of steps; the run is cancelled if it returns True.
    comm : mpi4py.MPI.Intracomm, optional
        Processes among which the agents are divided, such as ``MPI.COMM_WORLD``. All of them call this with the same
        arguments, and each returns the whole result, which is that of one process, bit for bit. An error in one of
        them, or Ctrl-C, ends all. Needs mpi4py. For a network that no process can hold see
        ``partition.PartitionedModel``.
    out : str or Path, optional
        A Zarr store, ``run.zarr``, to which the record is written block by block, where it does not fit in memory. The
        same call continues a run that was interrupted, with the same bits. It needs the extra ``zarr``.

    Returns
    -------
    Trajectory
        What was recorded, and the final state. With ``out``, states stay on disk, and reading a part of them reads that
        part only.

    Raises
    ------
    InvalidInputError
        If an argument is invalid, or does not agree with the run that is resumed.
    TooLargeError
        If the run does not fit in memory.
    CancelledError
        If ``should_stop`` returns True.

    See Also
    --------
    moments : Exact mean and variance, without sampling.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, simulate
    >>> from peerpressure.networks import k2
    >>> run = simulate(Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(1.0)), steps=100, replicates=3, seed=1)
    >>> run.states.shape
    (3, 101, 2)
    """
    if out is not None:
        if comm is not None:
            rule, remedy = "a run is shared by processes or written to a store", "leave out comm=..., or out=..."
            raise InvalidInputError(message(rule, got="comm and out", remedy=remedy))
        same: dict[str, Any] = {"dtype": dtype, "device": device, "threads": threads, "should_stop": should_stop}
        return _streamed(
            checked_system(model), steps, expanded(out), replicates, seed, as_record(record), start, start_step,
            progress, same,
        )  # fmt: skip
    together = None if comm is None else Together(comm)
    with nullcontext() if together is None else together.checking():
        task = _task_of(model, steps, replicates, seed, record, start, start_step, dtype, device, threads, together)
    if together is not None:
        together.require_equal(_identity(task))
    plan, equation, scheme = task.plan, task.equation, task.scheme
    run = _execute(plan, task.begin, task.engine, progress, should_stop, together)
    if equation is None:
        return run
    error = _step_error(equation, scheme)
    # Steps become times after the run; the engine counts whole steps, which the counter of the noise needs.
    times = plan.times * np.float64(equation.step)
    return replace(run, times=times, equation=_in_words(equation, error), step_error=error)


class _Task(NamedTuple):
    """A run that is about to start: the plan, the state to begin with, and what makes the steps."""

    plan: RunPlan
    begin: State
    engine: Callable[..., RunResult]
    equation: SDE | None
    scheme: TaylorScheme | None


def _task_of(
    model: System,
    steps: int,
    replicates: int | Sequence[int] | None,
    seed: Seed,
    record: Record | str,
    start: State | Trajectory | None,
    start_step: int,
    dtype: DTypeLike | None,
    device: str,
    threads: int | None,
    together: Together | None,
) -> _Task:
    """Check the arguments of ``simulate``, and return what they ask for."""
    length = checked_system(model).step
    equation, model = model if isinstance(model, SDE) else None, model.model
    method = None if equation is None else equation.path_method
    if equation is not None and method == "exact":
        require_law_memory(equation)
    begin = starting_state(model, length, start, start_step)
    plan = plan_of(
        model, begin, steps, replicates, seed, record, dtype, threads, method=method, device=device, together=together
    )
    if equation is None:
        return _Task(plan, begin, _engine(device, together, model.n), None, None)
    # An Euler step is the discrete step with a pace, so the same kernels serve both.
    # The kernels multiply noise by √h, which for correlated noise is h.
    pace, root = equation.step, np.sqrt(equation.step) if equation.noise.has_memory else 1.0
    plan = replace(plan, pace=pace, deviation=root * equation.deviations)
    scheme = TaylorScheme(equation) if method == "taylor" else None
    return _Task(plan, begin, _continuous(equation, scheme, device, together), equation, scheme)


def plan_of(
    model: Model,
    begin: State,
    steps: int,
    replicates: int | Sequence[int] | None,
    seed: Seed,
    record: Record | str,
    dtype: DTypeLike | None,
    threads: int | None,
    *,
    method: Method | None = None,
    device: str = "cpu",
    together: Together | None = None,
) -> RunPlan:
    """Check what is asked of a run from a state, which may determine the replicates and the seed, and plan it."""
    steps = whole(steps, "steps", least=0, most=MOST_STEPS)
    chosen = _replicate_numbers(replicates, begin)
    asked = (_seed(seed, begin), as_record(record), begin.step, _precision(dtype, begin), threads)
    return _plan(model, steps, chosen, *asked, method=method, device=device, together=together)


def _identity(task: _Task) -> dict[str, Any]:
    """Return, by their names for users, the values on which all processes of a run must agree."""
    plan, model = task.plan, task.plan.model
    parts = (model.pressure, model.noise, model.adaptation, model.activation, task.equation and task.equation.step)
    return {
        "model": tuple(map(str, parts)),
        "network": model.network.adjacency.indptr,
        "hidden opinions": model.hidden,
        "stubbornness": model.stubbornness,
        "start": task.begin.public,
        "seed": plan.seed,
        "steps": (plan.start_step, plan.steps),
        "replicates": plan.replicates,
        "record": (plan.times, plan.agents, plan.keep_states, plan.keep_summaries),
        "dtype": plan.dtype,
    }


def _streamed(
    system: System,
    steps: int,
    out: Path,
    replicates: int | Sequence[int] | None,
    seed: Seed,
    keep: Record,
    start: State | Trajectory | None,
    start_step: int,
    progress: Progress,
    options: dict[str, Any],
) -> Trajectory:
    """Make the steps block by block, each of which is written before the next, and return the run on disk."""
    if not (keep.states or keep.summaries):
        rule, remedy = "a run on disk needs a record", "record states or summaries, or keep the run in memory"
        raise InvalidInputError(message(rule, got="the last step only", remedy=remedy))
    steps = whole(steps, "steps", least=0, most=MOST_STEPS)
    begin = starting_state(system.model, system.step, start, start_step)
    chosen = _replicate_numbers(replicates, begin)
    begin, numbers = replace(begin, seed=_seed(seed, begin), replicates=chosen), chosen.tolist()
    precision = _precision(options["dtype"], begin)
    marks = recorded_steps(begin.step, begin.step + steps, keep)
    writer = StoreWriter(_store_plan(system, out, begin, marks, keep, precision))
    state, own = begin, writer.state
    if writer.records:
        parts: dict[str, Any] = {name: own.get(name) for name in ("public", "memory", "hidden")}
        state = replace(begin, step=int(marks[writer.records - 1]), **parts)
    same = {**options, "dtype": precision, "record": keep}
    with reporter(progress, steps) as report:
        while writer.records < marks.size:
            last = min(writer.records + writer.plan.block, marks.size)
            done = state.step - begin.step
            report_more = partial(_shifted, report, done)
            count = int(marks[last - 1]) - state.step
            run = simulate(system, count, numbers, seed=begin.seed, start=state, progress=report_more, **same)
            state = run.final
            # The first record of a block is the last one of the block before.
            writer.write(_block_of(run, first=0 if not writer.records else 1), _numbers_of(state))
    writer.finish(_numbers_of(state))
    return Trajectory.load(out)


def _shifted(report: Callable[[int], None], before: int, done: int, _: int) -> None:
    report(before + done)


def _store_plan(
    system: System, out: Path, begin: State, marks: NDArray[np.int64], keep: Record, precision: np.dtype[Any]
) -> StorePlan:
    """Return what the store of a run has: the same parts as a file that ``Trajectory.save`` writes."""
    model = system.model
    assert begin.replicates is not None
    agents = np.arange(model.n) if keep.agents is None else model.network.indices(keep.agents)
    facts, arrays = model.parts()
    error = words = None
    if isinstance(system, SDE):
        error = _step_error(system, TaylorScheme(system) if system.path_method == "taylor" else None)
        words = _in_words(system, error)
    blank = Trajectory(
        model, begin.seed or 0, begin.replicates, marks, agents if keep.states else agents[:0], None, None, None, None,
        begin, equation=words,
    )  # fmt: skip
    content = io.BytesIO()
    everything: dict[str, Any] = {"recorded_agents": agents} | _start_arrays(begin) | arrays
    np.savez(content, **everything)
    states = ("public", *(("hidden",) if model.adaptation is not None else ())) if keep.states else ()
    return StorePlan(
        path=out,
        facts={
            "model": facts, "seed": begin.seed, "step": int(marks[-1]), "step_length": begin.step_length,
            "version": blank.version, "equation": blank.equation, "step_error": error,
            "dtype": str(precision),
        },
        attributes=blank.provenance(),
        model=content.getvalue(),
        coordinates={
            "replicate": begin.replicates,
            "time": marks if not system.is_continuous else marks * np.float64(system.step),
            "agent": np.array(coordinate_of(blank.labels)) if keep.states else np.zeros(0, np.int64),
        },
        variables=(*states, *(("minimum", "maximum", "mean") if keep.summaries else ())),
        dtype=precision,
        members=model.n,
    )  # fmt: skip


def _start_arrays(begin: State) -> dict[str, NDArray[Any]]:
    """Return where a run starts, which is a part of what determines it."""
    parts = {"begin_public": begin.public, "begin_memory": begin.memory, "begin_hidden": begin.hidden}
    return {name: values for name, values in parts.items() if values is not None}


def _step_error(equation: SDE, scheme: TaylorScheme | None) -> float | None:
    """Return the estimated error of the steps of an equation, as ``Trajectory.step_error`` says."""
    return scheme.error if scheme else None if equation.path_method == "euler" else 0.0


def _block_of(run: Trajectory, first: int) -> dict[str, NDArray[Any]]:
    """Return the records of a run from position ``first`` on, by the names that a store has for them."""
    parts = {"public": run.states, "hidden": run.hidden_path, "minimum": run.minimum, "maximum": run.maximum}
    return {name: part[:, first:] for name, part in (parts | {"mean": run.mean}).items() if part is not None}


def _numbers_of(state: State) -> dict[str, NDArray[Any] | None]:
    return {"public": state.public, "memory": state.memory, "hidden": state.hidden}


def simulate_preferred(
    model: Model,
    steps: int,
    runs: int,
    preferred: Callable[[int, slice], NDArray[np.float64]],
    *,
    record: Record,
    threads: int | None = None,
    progress: Progress = False,
    should_stop: ShouldStop | None = None,
) -> Trajectory:
    """Run a model whose preferred opinions x + ε are given for each step, as ``RunPlan.preferred`` says.

    Hidden opinions and noise of the model are not used: each state is a function of preferred opinions and of the state
    before it.
    """
    blank = np.zeros(model.n)
    start = blank if isinstance(model.start, str) else model.start
    # fma(1·gain, x + ε, gain·0) is gain·(x + ε), rounded once.
    moved = replace(model, hidden=blank, noise=Gaussian(1.0), start=start)
    begin = State(0, moved.start_state, step_length=moved.step)
    plan = _plan(moved, steps, np.arange(runs), 0, record, 0, np.dtype(np.float64), threads)
    return _execute(replace(plan, preferred=preferred), begin, _engine("cpu"), progress, should_stop)


def starting_state(model: Model, length: float, start: State | Trajectory | None, start_step: int) -> State:
    """Return the state to begin with: the model's own, or where another run ended."""
    step = whole(start_step, "start_step", least=0, most=MOST_STEPS)
    if start is None:
        hidden = model.x0 if model.layout.has_hidden else None
        return State(step, model.start_state, hidden=hidden, step_length=length)
    state: object = start.final if isinstance(start, Trajectory) else start
    if not isinstance(state, State):
        remedy = "pass a Trajectory or its final state; a vector of opinions belongs in the model's start"
        raise InvalidInputError(
            message("start must be a Trajectory or a State", got=type(start).__name__, remedy=remedy)
        )
    # The last axis is that of the agents, with or without replicates.
    if state.public.shape[-1] != model.n:
        rule = f"the start must be of the model's {model.n} agents"
        raise InvalidInputError(
            message(rule, got=f"{state.public.shape[-1]} agents", remedy="start from a run of this model")
        )
    if model.layout.has_hidden and state.hidden is None:
        rule = "a run of opinions that adapt must start with hidden opinions"
        raise InvalidInputError(message(rule, got="a state without them", remedy="start from a run of this model"))
    if not all(np.isfinite(part).all() for part in (state.public, state.hidden, state.memory) if part is not None):
        rule = "a run must start from the opinions of all agents, as finite numbers"
        remedy = "start from a simulated run; answers from a file may have gaps"
        raise InvalidInputError(message(rule, got="a start with missing or infinite ones", remedy=remedy))
    # 0 is the default, which an explicit 0 cannot be distinguished from.
    if step not in (0, state.step):
        rule = f"start_step must agree with the start, which is at step {state.step}"
        raise InvalidInputError(message(rule, got=step, remedy="leave start_step out"))
    # Steps are counted from time 0; with another length the run would jump to another time.
    if state.step and state.step_length is not None and state.step_length != length:
        own, other = contrast(state.step_length, length, digits=6)
        rule = f"a run is resumed with steps of its own length, {own}"
        raise InvalidInputError(message(rule, got=other, remedy=f"use that length; {_BRANCH}"))
    return replace(state, step_length=length)


def _seed(seed: Seed, begin: State) -> int:
    """Return the seed: the start's own where it has one, else what is asked for, else 0."""
    if seed is None:
        return 0 if begin.seed is None else begin.seed
    number = seed_number(drawn_seed(seed))
    # With another seed the noise of earlier and later steps would not be that of any single run.
    if begin.seed not in (None, number):
        rule = f"a run is resumed with its own seed, {begin.seed}"
        raise InvalidInputError(message(rule, got=number, remedy=f"leave seed out; {_BRANCH}"))
    return number


def _replicate_numbers(replicates: int | Sequence[int] | None, begin: State) -> NDArray[np.int64]:
    """Return the replicate numbers: the start's own where it has any, else what is asked for."""
    rows = begin.public.shape[0] if begin.public.ndim == 2 else None
    own = begin.replicates
    if isinstance(replicates, (int, np.integer)) or replicates is None:
        count = whole((rows or 1) if replicates is None else replicates, "replicates", least=1, most=_MOST_REPLICATES)
        # A count is how many, not which: a start with numbers of its own keeps them.
        chosen = own if own is not None and own.size == count else np.arange(count)
    else:
        chosen = replicate_numbers(replicates)
    if rows not in (None, chosen.size):
        rule = f"the start holds {rows} replicates, and the run must have as many"
        raise InvalidInputError(message(rule, got=chosen.size, remedy="leave replicates out"))
    # The same for replicates: row r continues with the noise of replicate r only if the numbers agree.
    if own is not None and not np.array_equal(own, chosen):
        rule = f"a run is resumed with its own replicates, {_listed(own)}"
        raise InvalidInputError(message(rule, got=_listed(chosen), remedy=f"leave replicates out; {_BRANCH}"))
    return chosen


def _listed(numbers: NDArray[np.int64]) -> str:
    shown = ", ".join(map(str, numbers[:5].tolist()))
    return shown if numbers.size <= 5 else f"{shown}, … ({numbers.size} in all)"


def _precision(dtype: DTypeLike | None, begin: State) -> np.dtype[Any]:
    """Return the precision: what is asked for, else that of the run that is resumed, else float64."""
    if dtype is None:
        return np.dtype(np.float64) if begin.seed is None else begin.public.dtype
    try:
        precision = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        precision = np.dtype(object)
    if precision not in (np.dtype(np.float64), np.dtype(np.float32)):
        rule = "dtype must be float64 or float32"
        raise InvalidInputError(message(rule, got=repr(dtype), remedy="float64 is the default"))
    return precision


def _plan(
    model: Model,
    steps: int,
    replicates: NDArray[np.int64],
    seed: int,
    keep: Record,
    first: int,
    precision: np.dtype[Any],
    threads: int | None,
    *,
    method: Method | None = None,
    device: str = "cpu",
    together: Together | None = None,
) -> RunPlan:
    from peerpressure.simulation.engine.plan import RunPlan

    last = first + steps
    if last > MOST_STEPS:
        raise InvalidInputError(message(f"a run may reach step {MOST_STEPS}", got=last, remedy="make fewer steps"))
    cores = available_cores() if together is None else together.cores
    threads = cores if threads is None else whole(threads, "threads", least=1, most=4096)
    # Before the times are made into an array, which may be too large itself.
    size = RunSize(model, steps, replicates, keep, first, precision, threads, method, device)
    require_run_memory(size, SMALLER_RUN, 1 if together is None else together.on_machine)
    return RunPlan(
        model=model,
        seed=seed,
        start_step=first,
        steps=steps,
        replicates=replicates,
        dtype=precision,
        times=recorded_steps(first, last, keep),
        agents=np.arange(model.n) if keep.agents is None else model.network.indices(keep.agents),
        keep_states=keep.states,
        keep_summaries=keep.summaries,
        threads=threads,
    )


def run_size(system: System, steps: int, replicates: int, keep: Record) -> RunSize:
    """Return the size of a run of float64 on all cores."""
    method = system.path_method
    chosen = np.arange(replicates)
    return RunSize(system.model, steps, chosen, keep, threads=available_cores(), method=method)


def _engine(device: str, together: Together | None = None, agents: int = 0) -> Callable[..., RunResult]:
    if together is not None:
        if device != "cpu":
            rule, remedy = "several processes share a network on processors, device='cpu'", "leave comm out"
            raise InvalidInputError(message(rule, got=repr(device), remedy=remedy))
        from peerpressure.simulation.engine import parts

        parts.require_chunks(agents, together.comm.size)
        return partial(parts.run, together.comm)
    if device == "cpu":
        # Imported on first use: numba is slow to import, and other parts of the package do not need it.
        from peerpressure.simulation.engine import runner

        return runner.run
    if device == "gpu":
        from peerpressure.simulation.engine import gpu

        return gpu.run
    raise InvalidInputError(message("device must be 'cpu' or 'gpu'", got=repr(device), remedy="'cpu' is the default"))


def _in_words(equation: SDE, error: float | None) -> str:
    scaling = "as printed" if equation.scaling == "printed" else "as in the discrete model"
    kind = {
        "exact": "exact steps",
        "taylor": f"Taylor steps (mean and variance to about {100 * (error or 0.0):.1g} %)",
        "euler": "Euler steps (error of first order, not estimated)",
    }[equation.path_method]
    return f"continuous time, {kind} of {equation.step:g}, noise {scaling}"


def _continuous(
    equation: SDE, scheme: TaylorScheme | None, device: str, together: Together | None
) -> Callable[..., RunResult]:
    """Return the engine that makes the steps of the equation's method."""
    if equation.path_method == "euler":
        return _engine(device, together, equation.model.n)
    if together is not None:
        rule = f"{equation.path_method} paths are drawn by one process"
        raise InvalidInputError(message(rule, got="comm", remedy="use SDE(..., method='euler'), or leave comm out"))
    if device != "cpu":
        rule = f"{equation.path_method} paths are drawn on the processor, device='cpu'"
        remedy = "use SDE(..., method='euler') elsewhere"
        raise InvalidInputError(message(rule, got=repr(device), remedy=remedy))
    if scheme is None:
        return _exact(equation)
    from peerpressure.simulation.engine import taylor

    return partial(taylor.run, parts=scheme.parts)


def _exact(equation: SDE) -> Callable[..., RunResult]:
    """Return the engine that draws from the exact law of each step."""
    from peerpressure.sde import exact_paths
    from peerpressure.simulation.engine.plan import RunResult

    def run(
        plan: RunPlan,
        start: NDArray[Any],
        memory: NDArray[Any] | None,
        report: Callable[[int], None],
        hidden: NDArray[Any] | None,
    ) -> RunResult:
        paths = exact_paths(
            equation,
            plan.steps,
            replicates=plan.replicates,
            seed=plan.seed,
            start=start,
            hidden=hidden,
            memory=memory,
            start_step=plan.start_step,
            times=plan.times,
            # No agents instead of all where states are not recorded, which saves their memory.
            agents=plan.agents if plan.keep_states else plan.agents[:0],
            report=report,
        )
        # Exact paths are drawn in float64, and rounded once here.
        parts = {"states": paths.states, "hidden": paths.hidden} if plan.keep_states else {}
        kept = {"final": paths.final, "memory": paths.memory, "final_hidden": paths.final_hidden, **parts}
        # Without a copy of records that have the precision; final states are views of an array that is let go.
        rounded = {
            name: None if part is None else part.astype(plan.dtype, copy=name not in parts)
            for name, part in kept.items()
        }
        nothing = {"states": None, "hidden": None, "summaries": paths.summaries if plan.keep_summaries else None}
        return RunResult(**(nothing | rounded))

    return run


def require_finite(plan: RunPlan, final: NDArray[Any], first: int = 0) -> None:
    """Raise an error unless all numbers of a final state, (replicates, agents), are finite; ``first`` is agent 0's."""
    # A value that is not finite spreads to the neighbours at each step, so the final state reveals it. A few rows at
    # a time, with little memory beside them.
    rows = max(1, 2**20 // final.shape[1])
    if all(bool(np.isfinite(final[k : k + rows]).all()) for k in range(0, len(final), rows)):
        return
    bad = int(np.flatnonzero(~np.isfinite(final).all(axis=0))[0])
    name = plan.model.network.labels[bad] if plan.part is None else first + bad
    raise PeerPressureError(
        f"the public state of agent {name!r} left the range of {plan.dtype}; rescale hidden opinions and noise"
    )


def carried_out(
    plan: RunPlan,
    begin: State,
    run: Callable[..., RunResult],
    progress: Progress,
    should_stop: ShouldStop | None,
    together: Together | None = None,
) -> RunResult:
    """Have an engine make the steps of a plan, with progress in one process and cancellation in any."""
    # An engine only calls ``report``, which checks for cancellation as well, so it needs no code for that.
    # Memory has one row for each replicate, also where all of them start from the same state.
    rows = (plan.replicates.size, begin.public.shape[-1])
    memory = None if begin.memory is None else np.broadcast_to(begin.memory, rows)
    shown = progress if together is None or together.comm.rank == 0 else False
    # Processes ask when all of them are at the same step: one that left at once would leave the others waiting.
    with cancellable(should_stop, at_once=together is None), reporter(shown, plan.steps) as report:
        return run(plan, begin.public, memory, report, begin.hidden)


def _execute(
    plan: RunPlan,
    begin: State,
    run: Callable[..., RunResult],
    progress: Progress,
    should_stop: ShouldStop | None,
    together: Together | None = None,
) -> Trajectory:
    result = carried_out(plan, begin, run, progress, should_stop, together)
    require_finite(plan, result.final)
    summaries = None if result.summaries is None else tuple(np.moveaxis(result.summaries, 2, 0))
    # The engine writes the three side by side, (replicates, times, 3).
    minimum, maximum, mean = summaries or (None, None, None)
    return Trajectory(
        model=plan.model,
        seed=plan.seed,
        replicates=plan.replicates,
        times=plan.times,
        agents=plan.agents,
        states=result.states,
        minimum=minimum,
        maximum=maximum,
        mean=mean,
        hidden=result.hidden,
        final=State(
            plan.start_step + plan.steps,
            result.final,
            result.memory,
            result.final_hidden,
            seed=plan.seed,
            replicates=plan.replicates,
            step_length=begin.step_length,
        ),
    )
