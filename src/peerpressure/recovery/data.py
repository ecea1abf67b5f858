"""Data in the forms that people have them: runs, data frames, arrays and files, all read as one run of a model."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.errors import FileFormatError, InvalidInputError, message
from peerpressure.model import Model
from peerpressure.model.statespace import System, checked_system, is_system
from peerpressure.networks import Network, TemporalNetwork
from peerpressure.simulation import files, outputs
from peerpressure.simulation.trajectory import State, Trajectory
from peerpressure.support.dates import is_calendar
from peerpressure.support.files import naming

if TYPE_CHECKING:
    import pandas
    import xarray

    Record: TypeAlias = Trajectory | pandas.DataFrame | xarray.Dataset | xarray.DataArray | NDArray[Any] | str | Path

FORMS = "a run, a data frame, an array of shape (steps, agents), or the path of a table or a saved run"


def observations_of(data: Record, model: System | Network | TemporalNetwork | None = None) -> Trajectory:
    """Return data in any accepted form as a run with the agents of a model or a network.

    Every estimator reads its data with this function. Agents are found by their labels, and missing answers are NaN.

    Parameters
    ----------
    data : Trajectory, pandas.DataFrame, xarray.Dataset, xarray.DataArray, array or path
        A run as it is. A data frame with tidy rows (``time``, ``agent``, ``public``, and ``replicate`` if there are
        several), with one column for each agent and the steps in a column ``time`` or in the index, or with one row
        for each person and a column for each wave (wave1, wave2, …), which are numbered in their order. An array of
        shape (steps, agents) or (replicates, steps, agents), in the order of the agents. The path of a table that
        ``Trajectory.from_csv`` reads, of a run that ``Trajectory.save`` wrote (.npz), of a netCDF file (.nc), of one
        that ``simulate`` wrote to disk (.zarr), or of a folder that ``peerpressure run`` wrote. Rows without times,
        which are those of an array and of a data frame with the default index, are steps 1, 2, 3 and so on, unless the
        first row is the start of the model.
    model : Model, SDE, Network or TemporalNetwork, optional
        The model that is taken to have made the answers, or only its network. Without one, agents are those that the
        data name, on a network without edges.

    Returns
    -------
    Trajectory
        The answers; those that were not simulated here have seed −1.

    Raises
    ------
    InvalidInputError
        If the data have another form, or agents, times or numbers that the model does not allow; also if the model was
        passed first.
    FileFormatError
        If a file cannot be read.

    See Also
    --------
    answers_of : What an observer sees of them.

    Examples
    --------
    >>> import pandas
    >>> from peerpressure import Network
    >>> from peerpressure.recovery import observations_of
    >>> wide = pandas.DataFrame({"ann": [0.5, 0.4], "bob": [0.1, None]}, index=[1, 2])
    >>> observations_of(wide, Network([[0, 1], [1, 0]], labels=["ann", "bob"])).states
    array([[[0.5, 0.1],
            [0.4, nan]]])
    """
    return read_observations(data, model)[0]


def read_observations(
    data: Record,
    model: System | Network | TemporalNetwork | None = None,
    step: str | None = None,
    origin: object = None,
) -> tuple[Trajectory, str]:
    r"""Return data as `observations_of` does, with dates as steps, and how a table was read.

    Parameters
    ----------
    data : Trajectory, pandas.DataFrame, xarray.Dataset, xarray.DataArray, array or path
        As for `observations_of`.
    model : Model, SDE, Network or TemporalNetwork, optional
        As for `observations_of`.
    step, origin : optional
        As for ``Trajectory.from_dataframe``, for a table or a data frame with dates.

    Returns
    -------
    run : Trajectory
        The answers.
    description : str
        How a file was read: separator, columns, and the steps of dates; empty for data in memory without dates.

    Raises
    ------
    InvalidInputError
        As for `observations_of`, or if a length of a step is given for data that have no dates.

    See Also
    --------
    observations_of : The answers alone.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from peerpressure.recovery import read_observations
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "survey.csv")
    ...     _ = file.write_text("name,wave1,wave2\nann,0.5,0.4\nbob,0.1,\n")
    ...     run, description = read_observations(file)
    >>> description
    "separated by commas, agent from 'name', a column for each of 2 waves, 'wave1', 'wave2' as steps 1 to 2"
    """
    refuse_model(data)
    return run_of(data, None if model is None else _system(model), step, origin)


def run_of(
    given: object, system: System | None, step: str | None = None, origin: object = None
) -> tuple[Trajectory, str]:
    """Return data as `read_observations` does, of a system that was checked."""
    if isinstance(given, (str, os.PathLike)):
        return _from_path(Path(given), system, step, origin)
    if _is_from(given, "pandas", "DataFrame"):
        return _from_frame(given, system, step, origin)
    if step is not None or origin is not None:
        rule, got = "a length of a step belongs to a table with times", type(given).__name__
        raise InvalidInputError(message(rule, got=f"a {got}", remedy="leave step and origin out"))
    if isinstance(given, Trajectory):
        return given, ""
    if isinstance(given, np.ndarray):
        return _from_array(given, system or _unlinked(range(given.shape[-1] if given.ndim else 0))), ""
    if _is_from(given, "xarray", "Dataset", "DataArray"):
        return _from_xarray(given, system), ""
    raise InvalidInputError(message("data must be " + FORMS, got=type(given).__name__, remedy="convert them first"))


def single(run: Trajectory, row: int) -> Trajectory:
    """Return one replicate of a run with states, by its position."""
    assert run.states is not None, "states were recorded"
    final = State(run.final.step, run.final.public[row : row + 1])
    return replace(
        run,
        replicates=run.replicates[row : row + 1],
        states=run.states[row : row + 1],
        minimum=None,
        maximum=None,
        mean=None,
        hidden=None if run.hidden is None or run.hidden.ndim == 3 else run.hidden,
        final=final,
    )


def refuse_model(data: object, other: str = "model") -> None:
    """Raise an error for a model or a network in the place of the data, where the other argument is one of them."""
    if is_system(data) or _network_of(data) is not None:
        rule, remedy = f"data come first, and the {other} after them", f"call it as function(data, {other}, ...)"
        raise InvalidInputError(message(rule, got=f"a {type(data).__name__} first", remedy=remedy))


def _network_of(value: Any) -> Network | None:
    """Return a network, or that of all edges over time of one that changes."""
    network = getattr(value, "aggregate", value)
    return network if isinstance(network, Network) else None


def _system(model: Any) -> System:
    return checked_system(model) if _network_of(model) is None else Model(model)


def _unlinked(labels: Iterable[Hashable]) -> Model:
    """Return a model of agents without edges, for data of which only the agents are known."""
    names = list(labels)
    if not names:
        raise InvalidInputError(message("data must name agents", got="none", remedy=outputs.LAYOUT))
    return Model(Network(sparse.csr_array((len(names), len(names))), labels=names))


def _is_from(value: object, package: str, *names: str) -> bool:
    """Return whether a value is of a class of a package, which need not be imported to tell."""
    return any(kind.__module__.partition(".")[0] == package and kind.__name__ in names for kind in type(value).__mro__)


def _from_path(path: Path, system: System | None, step: str | None, origin: object) -> tuple[Trajectory, str]:
    path = files.run_in(path)
    if files.is_run(path):
        if step is not None or origin is not None:
            rule, got = "times of a stored run count steps already", "a step or an origin"
            raise InvalidInputError(message(rule, got=got, remedy="leave it out, or pass a table with dates"))
        return _from_run(path, system), "a stored run"
    with naming(path, "a file of answers"):
        frame, words = outputs.read_frame(path, None if system is None else system.model, calendar=is_calendar(step))
        run, clock = _from_frame(frame, system, step, origin)
    return run, "; ".join(filter(None, [words, clock]))


def _from_run(path: Path, system: System | None) -> Trajectory:
    if path.suffix.lower() in (*files.SAVED, *files.STORES):
        return Trajectory.load(path)
    return _from_netcdf(path, system)


def _from_netcdf(path: Path, system: System | None) -> Trajectory:
    import xarray

    try:
        with xarray.open_dataset(path, engine="h5netcdf") as stored:
            loaded = stored.load()
    except FileNotFoundError:
        raise FileFormatError(message("a file of answers must exist", got=path, remedy="check the path")) from None
    except (OSError, ValueError, KeyError) as error:
        remedy = "pass a file that peerpressure run or Trajectory.to_xarray wrote"
        raise FileFormatError(
            message("a netCDF file must be readable", got=f"{path} ({error})", remedy=remedy)
        ) from error
    return _from_xarray(loaded, system)


def _from_xarray(given: Any, system: System | None) -> Trajectory:
    array = given
    if _is_from(given, "xarray", "Dataset"):
        if "public" not in given:
            got = f"variables {', '.join(map(str, given.data_vars)) or 'none'}"
            remedy = "rename the one that has the answers, or record states"
            raise InvalidInputError(message("a data set must have a variable 'public'", got=got, remedy=remedy))
        array = given["public"]
    if not {"time", "agent"} <= set(array.dims):
        rule, got = "an array of xarray must have dimensions time and agent", ", ".join(map(str, array.dims))
        raise InvalidInputError(message(rule, got=got, remedy="rename its dimensions"))
    return _from_frame(array.rename("public").to_dataframe()[["public"]].reset_index(), system)[0]


def _from_frame(
    frame: pandas.DataFrame, given: System | None, step: str | None = None, origin: object = None
) -> tuple[Trajectory, str]:
    import pandas

    if frame.index.nlevels > 1 or frame.index.name is not None:
        # Names of an index are columns that happen to be in front.
        frame = _named_by_time(frame.index.names[0], frame.reset_index(), given)
    elif not isinstance(frame.index, pandas.RangeIndex) and not outputs.has_agents(
        frame, None if given is None else given.model
    ):
        # Persons beside their waves.
        beside = frame.reset_index()
        frame = beside if outputs.waves_of(beside, None if given is None else given.model) is not None else frame
    named = outputs.with_roles(frame, None if given is None else given.model, calendar=is_calendar(step))
    system = _unlinked(outputs.agents_in(named)) if given is None else given
    model = system.model
    if "time" not in named.columns and not {"agent", "public"} <= set(named.columns):
        named = named.assign(time=_times_of(named, system))
    if system.is_continuous and step is None:
        named = outputs.multiples(named, system.step)
    named, clock = outputs.on_steps(named, step, origin)
    run = Trajectory.from_dataframe(named, model)
    return replace(run, times=run.times * np.float64(system.step)) if system.is_continuous else run, clock or ""


def _named_by_time(index: object, frame: pandas.DataFrame, given: System | None) -> pandas.DataFrame:
    """Return a wide frame with the name "time" in place of that of its index, unless it means something else."""
    model = None if given is None else given.model
    if outputs.waves_of(frame, model) is not None:
        return frame
    labels = set() if model is None else set(map(str, model.network.agents))
    roles = set(outputs.with_roles(frame, model).columns)
    is_wide = "time" not in roles and not {"agent", "public"} <= roles
    return frame.rename(columns={index: "time"}) if is_wide and str(index) not in labels | {"replicate"} else frame


def _times_of(frame: pandas.DataFrame, system: System) -> NDArray[Any] | list[Any]:
    """Return the times of the rows of a wide frame that has no column of times: its index, unless that only counts."""
    model = system.model
    rows = np.arange(len(frame))
    if list(frame.index) != list(rows) or "replicate" in frame.columns:
        return list(frame.index)
    start = _as_numbers(frame, model)
    return (rows + (0 if start is not None and _is_start(start, model) else 1)) * system.step


def _as_numbers(frame: pandas.DataFrame, model: Model) -> NDArray[np.float64] | None:
    """Return the first row in the order of the agents; None if it does not have them all."""
    by_name = {str(name): k for k, name in enumerate(frame.columns)}
    places = [by_name.get(str(label)) for label in model.network.agents]
    if not len(frame) or None in places:
        return None
    try:
        return np.array([frame.iat[0, k] for k in places], dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _is_start(row: NDArray[Any], model: Model) -> bool:
    """Return whether a row of answers is the start of the model to the last digit, which noise never is."""
    if isinstance(model.start, str) and model.hidden is None:
        return False
    return bool(np.array_equal(np.asarray(row, dtype=np.float64), model.start_state)) and bool(np.ptp(row))


def _from_array(values: NDArray[Any], system: System) -> Trajectory:
    model = system.model
    if (
        values.ndim not in (2, 3)
        or values.shape[-1] != model.n
        or not values.shape[-2]
        or values.dtype.kind not in "biuf"
    ):
        rule = f"an array of answers must have shape (steps, {model.n}) or (replicates, steps, {model.n})"
        got = f"{values.dtype} of shape {values.shape}"
        remedy = "transpose it, or pass a data frame with one column for each observed agent"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))
    states = values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
    states = states[None] if states.ndim == 2 else states
    first = 0 if all(_is_start(each[0], model) for each in states) else 1
    return run_of_states(system, np.arange(first, first + states.shape[1]), states)


def run_of_states(system: System, steps: NDArray[Any], states: NDArray[Any]) -> Trajectory:
    """Return public opinions of all agents at some steps, (replicates, T, n), as a run of unknown origin."""
    return Trajectory(
        model=system.model,
        seed=-1,
        replicates=np.arange(states.shape[0]),
        times=steps * system.step,
        agents=np.arange(system.n),
        states=states,
        minimum=None,
        maximum=None,
        mean=None,
        final=State(int(steps[-1]), states[:, -1]),
    )
