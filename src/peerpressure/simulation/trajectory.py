"""The result of a run: recorded states or summaries, the final state, and what is needed to run it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, InvalidInputError, message
from peerpressure.model import Model
from peerpressure.simulation import files, outputs, zarr_stores
from peerpressure.support.dates import is_calendar
from peerpressure.support.files import expanded, naming, replacing
from peerpressure.support.namespaces import from_above
from peerpressure.support.parameters import whole
from peerpressure.support.results import read_only
from peerpressure.support.text import HtmlPage, html_sketch, html_table
from peerpressure.version import __version__

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes

Array: TypeAlias = NDArray[Any]
# Spread and largest distance are derived from the extremes and not stored.
SUMMARIES = ("minimum", "maximum", "mean", "spread", "max_distance")
# What may be recorded of a run; None where it was not.
RECORDED = ("states", "hidden", "minimum", "maximum", "mean")
# What netCDF files and Zarr stores call the arrays of an archive.
_STORED = {"replicates": "replicate", "times": "time", "states": "public", "final": "final_public"}
_STORED |= {"memory": "final_memory", "agents": "recorded_agents"}
_SKETCHED_AGENTS, _SKETCHED_TIMES = 25, 120  # in the sketch of a notebook
MOST_STEPS = 2**32 - 1  # the step is one word of the counter that the noise is made from


def seed_number(value: object) -> int:
    """Return a seed of the noise, which is two words of its counter."""
    return whole(value, "the seed", least=0, most=2**64 - 1)


def replicate_numbers(values: object) -> NDArray[np.int64]:
    """Return distinct numbers of replicates."""
    try:
        chosen = np.asarray(values)
    except ValueError:  # rows of unequal length
        chosen = np.empty(0)
    legal = (
        chosen.ndim == 1 and chosen.size and chosen.dtype.kind in "iu" and chosen.min() >= 0 and chosen.max() < 2**32
    )
    # Sorting millions of numbers takes seconds, and most callers count upwards.
    if not legal or (np.any(np.diff(chosen) <= 0) and np.unique(chosen).size != chosen.size):
        rule = "replicates must be a count, or distinct numbers from 0 on"
        raise InvalidInputError(message(rule, got=repr(values), remedy="for instance 50 or range(20, 40)"))
    return chosen.astype(np.int64)


def _opinions(name: str, values: object, shape: tuple[int, ...] | None = None) -> Array:
    try:
        array = np.asarray(values)
    except ValueError:  # rows of unequal length
        array = np.empty(0, dtype=object)
    legal = array.ndim in (1, 2) and array.size if shape is None else array.shape == shape
    if array.dtype.kind not in "biuf" or not legal:
        wanted = "(replicates, agents) or (agents,)" if shape is None else f"{shape}, that of the public ones"
        rule = f"{name} opinions of a state must be real numbers of shape {wanted}"
        got = f"{array.dtype} of shape {array.shape}"
        raise InvalidInputError(message(rule, got=got, remedy="pass those of a run's final state"))
    return array if array.dtype in (np.float64, np.float32) else array.astype(np.float64)


@final
@read_only
@dataclass(frozen=True, eq=False)
class State:
    """The state of a run after a step, from which it can be resumed.

    Parameters
    ----------
    step : int
        The step t after which this is the state.
    public : array of shape (replicates, agents) or (agents,)
        Public opinions y_t.
    memory : array of the shape of ``public``, optional
        Noise u_t, where it is AR(1).
    hidden : array of the shape of ``public``, optional
        Hidden opinions x_{t+1} after step t, if they adapt.
    seed, replicates : int and array of int, optional
        The noise that led here, with which the run is resumed; left out, a run from here may take any.
    step_length : float, optional
        Time from one step to the next, which a run that is resumed keeps: 1 for a ``Model``, the step of an ``SDE``.

    Raises
    ------
    InvalidInputError
        If a number or a shape is invalid.
    """

    step: int
    public: Array
    memory: Array | None = None
    hidden: Array | None = None
    seed: int | None = None
    replicates: NDArray[np.int64] | None = None
    step_length: float | None = None

    def __post_init__(self) -> None:
        # Checked here, because the engine's kernels do not check shapes.
        set_field = object.__setattr__
        set_field(self, "step", whole(self.step, "the step of a state", least=0, most=MOST_STEPS))
        set_field(self, "public", _opinions("public", self.public))
        for name in ("memory", "hidden"):
            if getattr(self, name) is not None:
                set_field(self, name, _opinions(name, getattr(self, name), self.public.shape))
        if self.seed is not None:
            set_field(self, "seed", seed_number(self.seed))
        if self.replicates is not None:
            set_field(self, "replicates", replicate_numbers(self.replicates))
            if self.public.ndim == 2 and self.replicates.size != len(self.public):
                rule = f"the {len(self.public)} rows of a state must have one replicate number each"
                raise InvalidInputError(message(rule, got=self.replicates.size, remedy="leave replicates out"))

    def __repr__(self) -> str:
        return f"State(step {self.step}, public {self.public.shape})"


def contents(*, hidden: bool) -> str:
    """Return a line for files of a run: whether they contain hidden opinions, and that its noise can be repeated.

    >>> contents(hidden=True)
    'contains hidden opinions and the seed of all noise: for study, not for release'
    """
    return f"contains {'hidden opinions and ' if hidden else ''}the seed of all noise: for study, not for release"


@final
@read_only
@dataclass(frozen=True, eq=False)
class Trajectory:
    """One run of a model in one or more replicates, as ``simulate`` returns it.

    Attributes
    ----------
    model : Model
        The model that was run.
    seed : int
        The seed of its noise; −1 for answers that were not simulated here.
    replicates : array of int, shape (replicates,)
        The numbers of the replicates.
    times : array of shape (times,)
        The recorded steps, of which the first and the last are always there; real times for an ``SDE``.
    agents : array of int, shape (agents,)
        Indices of the recorded agents.
    states : array of shape (replicates, times, agents) or None
        Public opinions y_t; None if they were not recorded.
    minimum, maximum, mean : array of shape (replicates, times) or None
        Summaries over all agents; None if they were not recorded.
    final : State
        The final state, which is always kept.
    version : str
        The version of the package that made the run.
    hidden : array or None
        Hidden opinions. If they adapt, x_{t+1} after each recorded step, in the shape of ``states``, or None if
        states were not recorded; if they are constant, x₀ of shape (agents,), or None if the model does not
        know them. ``model.x0`` has the initial ones.
    equation : str or None
        Which equation and steps were taken, for an ``SDE``.
    step_error : float or None
        For an ``SDE``, an estimate from above of the error that its steps leave in mean and variance: of a variance as
        a share of itself (of the largest one, for agents without noise of their own), of a mean as a share of the range
        of opinions. 0 for exact paths; None for Euler steps, whose error is not estimated, and for a ``Model``.

    See Also
    --------
    simulate : Run a model.
    Record : Select what is kept.

    Examples
    --------
    >>> from peerpressure import Model, simulate
    >>> from peerpressure.networks import path
    >>> run = simulate(Model(path(3), hidden=[0.0, 0.0, 1.0]), steps=100)
    >>> run.states.shape
    (1, 101, 3)
    >>> run.spread[0, [0, -1]].round(3)
    array([1.   , 0.016])
    """

    model: Model
    seed: int
    replicates: NDArray[np.int64]
    times: NDArray[np.int64] | NDArray[np.float64]
    agents: NDArray[np.int64]
    states: Array | None
    minimum: NDArray[np.float64] | None
    maximum: NDArray[np.float64] | None
    mean: NDArray[np.float64] | None
    final: State
    version: str = field(default=__version__)
    hidden: Array | None = None
    equation: str | None = None
    step_error: float | None = None

    def __post_init__(self) -> None:
        known = self.model.hidden
        if self.hidden is None and self.model.adaptation is None and known is not None:
            # Filled in for callers that plot or export hidden opinions, whether they adapt or not.
            object.__setattr__(self, "hidden", known[self.agents])

    @property
    def hidden_path(self) -> Array | None:
        """Recorded hidden opinions over time, (replicates, times, agents); None if they are constant."""
        return self.hidden if self.hidden is not None and self.hidden.ndim == 3 else None

    @property
    def spread(self) -> NDArray[np.float64] | None:
        """The spread max − min over agents; (replicates, times)."""
        if self.minimum is None or self.maximum is None:
            return None
        return self.maximum - self.minimum

    @property
    def max_distance(self) -> NDArray[np.float64] | None:
        """The largest distance max |y_i − v| of an agent from the consensus value v; (replicates, times).

        Where closed classes or camps have values of their own, distances are those of agents from their own limits as
        ρ → ∞, and None unless the states of all agents are recorded. None also where hidden opinions, and so v, are
        unknown.
        """
        if self.model.hidden is None:
            return None
        v = self.model.target
        if not isinstance(v, float):
            if self.states is None or self.agents.size < self.model.n:
                return None
            if zarr_stores.is_stored(self.states):
                parts = [np.abs(part - v[self.agents]).max(axis=2) for _, part in self.states.blocks()]
                return np.concatenate(parts, axis=1)
            # One replicate at a time, because all states may fill most of the memory.
            return np.array([np.abs(path - v[self.agents]).max(axis=1) for path in self.states])
        if self.minimum is None or self.maximum is None:
            return None
        # The farthest agent is the lowest or the highest one: the extremes suffice, and no state need be recorded.
        return np.maximum(self.maximum - v, v - self.minimum)

    @property
    def labels(self) -> list[Any]:
        """The labels of the recorded agents."""
        return [self.model.network.labels[i] for i in self.agents]

    def path(self, agent: Any) -> Array:
        """Return the public opinion of one agent, given by its label; (replicates, times).

        Parameters
        ----------
        agent : label
            One of ``labels``.

        Returns
        -------
        array of shape (replicates, times)
            Public opinions y_t of the agent.

        Raises
        ------
        InvalidInputError
            If states were not recorded, or not those of this agent.
        """
        if self.states is None:
            remedy = "record all states, or those of some agents"
            raise InvalidInputError(message("a path needs recorded states", got="a run without them", remedy=remedy))
        index = self.model.network.index(agent)
        # Position among the recorded agents, which may be few and in any order.
        where = np.flatnonzero(self.agents == index)
        if not where.size:
            rule = f"agent {agent!r} must be among the recorded ones"
            raise InvalidInputError(message(rule, got=f"{self.agents.size} others", remedy="record it too"))
        return np.asarray(self.states[:, :, where[0]])

    def plot(self, ax: Axes | None = None, replicate: int = 0) -> Axes:
        """Draw public opinions over time: a line for each recorded agent, coloured by its hidden opinion if known.

        Without recorded states the mean of all agents is drawn, in a band from the lowest to the highest. A dotted
        line is the consensus value v.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes of pyplot by default.
        replicate : int, default 0
            Position of the replicate, from 0.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        InvalidInputError
            If there is no such replicate, or neither states nor summaries were recorded.

        Examples
        --------
        >>> from peerpressure import Model, simulate
        >>> from peerpressure.networks import path
        >>> run = simulate(Model(path(3), hidden=[0.0, 0.0, 1.0]), steps=100)
        >>> run.plot().get_xlabel()
        'time $t$'
        """
        from peerpressure.plotting.results import extremes, paths

        row = whole(replicate, "the position of a replicate", least=0, most=self.replicates.size - 1)
        known = self.model.hidden
        v = None if known is None or not isinstance(self.model.target, float) else self.model.target
        if self.states is not None:
            shades = None if known is None else known[self.agents]
            return paths(ax, self.times, self.states[row], shades, v)
        if self.minimum is None or self.maximum is None or self.mean is None:
            rule, remedy = "a picture needs opinions over time", "record states or summaries"
            raise InvalidInputError(message(rule, got="a final state only", remedy=remedy))
        return extremes(ax, self.times, self.minimum[row], self.maximum[row], self.mean[row], v)

    def to_html(self, path: str | Path | None = None) -> HtmlPage:
        """Return the run as a page of the explorer that needs no server: network, playback, curves and estimates.

        The page is one file without links to others, which opens from disk and, as the last line of a cell, in a
        notebook. It shows the first replicate agent by agent, with summaries of up to 20; of a large network or a long
        run it holds a part, and says so. It contains hidden opinions.

        Parameters
        ----------
        path : str or Path, optional
            A file to write it to, such as "run.html".

        Returns
        -------
        HtmlPage
            The page; ``str`` gives its text.

        Raises
        ------
        InvalidInputError
            If states were not recorded, or hidden opinions are unknown.
        FileFormatError
            If the file cannot be written.

        See Also
        --------
        Trajectory.plot : Public opinions over time, as a figure.

        Examples
        --------
        >>> from peerpressure import Model, simulate
        >>> from peerpressure.networks import path
        >>> run = simulate(Model(path(3), hidden=[0.0, 0.0, 1.0]), steps=100)
        >>> str(run.to_html())[:15]
        '<!doctype html>'
        """
        page: HtmlPage = from_above("explorer.recorded", "run_page")(self)
        if path is not None:
            with replacing(path) as file:
                file.write(str(page).encode())
        return page

    def provenance(self) -> dict[str, Any]:
        """Return in plain values what this run is of: software, seed and the parts of the model.

        Returns
        -------
        dict of str to str, int or float
            Software with its version, seed, and what ``Model.description`` returns; for an ``SDE`` also
            ``equation`` and ``step_error``.
        """
        facts = {"software": f"peerpressure {self.version}", "seed": self.seed} | self.model.description()
        if self.equation is not None:
            facts["equation"] = self.equation
        # netCDF has no None.
        return facts if self.step_error is None else facts | {"step_error": self.step_error}

    def to_xarray(self) -> xarray.Dataset:
        """Return an xarray Dataset with dimensions replicate, time and agent, and the provenance as attributes.

        On a network with topics there is a dimension topic, too.

        If states were recorded, ``public`` has them, ``hidden`` is ``Trajectory.hidden``, with dimension agent only
        if hidden opinions are constant, and ``initial_hidden`` has x₀.

        Returns
        -------
        xarray.Dataset
            The recorded states and summaries.
        """
        import xarray

        variables, coordinates, facts = self._arrays()
        return xarray.Dataset(variables, coords=coordinates, attrs=facts)

    def write_netcdf(self, file: IO[bytes], facts: Mapping[str, str] | None = None) -> None:
        """Write the data set that ``to_xarray`` returns to an open file, as netCDF-4.

        Parameters
        ----------
        file : binary file object
            A file that is open for writing and reading, such as mode "w+b" gives.
        facts : mapping of str to str, optional
            Further attributes.
        """
        variables, coordinates, attributes = self._arrays()
        files.write_netcdf(file, variables, coordinates, attributes | dict(facts or {}))

    def _arrays(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Return variables and coordinates with their dimensions and attributes, and the provenance."""
        variables: dict[str, Any] = {
            name: (("replicate", "time"), values) for name in SUMMARIES if (values := getattr(self, name)) is not None
        }
        coordinates: dict[str, Any] = {"replicate": self.replicates, "time": self.times}
        if self.states is None or self.agents.size < self.model.n:
            # The recorded states have no final one of all agents.
            coordinates["member"] = coordinate_of([*self.model.network.labels])
            final = {"final_public": self.final.public, "final_hidden": self.final.hidden}
            variables |= {name: (("replicate", "member"), v) for name, v in final.items() if v is not None}
        if self.states is not None:
            # Only with states, since summaries have no agent axis.
            axes = self._agent_axes()
            coordinates |= axes
            known = self.model.hidden
            initial = None if known is None else known[self.agents]
            recorded = {"public": self.states, "hidden": self.hidden, "initial_hidden": initial}
            for name, values in recorded.items():
                if values is not None:
                    over = ("replicate", "time")[: values.ndim - 1]
                    shape = (*values.shape[:-1], *map(len, axes.values()))
                    variables[name] = ((*over, *axes), values.reshape(shape))
        shown = self.states is not None and self.model.hidden is not None
        facts = self.provenance() | {"contents": contents(hidden=shown)}
        facts |= {"Conventions": files.CONVENTIONS, "title": "public and hidden opinions of agents in a network"}
        if self.seed >= 2**31:
            facts["seed"] = str(self.seed)  # netCDF 3 has no larger numbers
        describe = files.described
        variables = {name: (*variable, describe(name)) for name, variable in variables.items()}
        return variables, {name: ((name,), v, describe(name)) for name, v in coordinates.items()}, facts

    def _agent_axes(self) -> dict[str, list[Any]]:
        """Return the coordinates of the recorded agents: one axis, or two where they are some agents on some topics."""
        network = self.model.network
        if network.topics:
            who, what = np.divmod(self.agents, len(network.topics))
            agents, topics = (list(dict.fromkeys(part.tolist())) for part in (who, what))
            pairs = np.add.outer(np.array(agents) * len(network.topics), topics)
            if np.array_equal(pairs.ravel(), self.agents):
                names = {"agent": [network.agents[i] for i in agents], "topic": [network.topics[p] for p in topics]}
                return {axis: coordinate_of(labels) for axis, labels in names.items()}
        return {"agent": coordinate_of(self.labels)}

    def to_dataframe(self) -> pandas.DataFrame:
        """Return tidy rows: one for each replicate, time and agent if states were kept, else for each summary.

        Hidden opinions have a column where they change over time.

        Returns
        -------
        pandas.DataFrame
            Columns ``replicate``, ``time``, ``agent`` and ``public``, with ``topic`` on a network with topics and
            ``hidden`` where it changes; without states ``replicate``, ``time``, ``minimum``, ``maximum`` and ``mean``.
        """
        # Final states have no axis of time and would be repeated for every step.
        data = self.to_xarray().drop_dims("member", errors="ignore")
        if self.states is not None:
            # Summaries have no agent axis and would be repeated for every agent.
            data = data[["public"] if self.hidden_path is None else ["public", "hidden"]]
        return data.to_dataframe().reset_index()

    def save(self, path: str | Path) -> None:
        """Write everything to one .npz file, without pickle; a reader never sees half of it.

        Parameters
        ----------
        path : str or Path
            The file, by custom with the ending .npz.
        """
        model_facts, model_arrays = self.model.parts()
        # Together with the model these suffice to resume the run from the file.
        facts, arrays = parts_of(self)
        facts |= model_facts | {"equation": self.equation, "step_error": self.step_error}
        arrays |= model_arrays
        files.write_archive(path, facts, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Trajectory:
        """Read what ``save`` wrote, or open a store that ``simulate(..., out=...)`` wrote.

        Parameters
        ----------
        path : str or Path
            A file that ``save`` wrote, or the folder of a Zarr store.

        Returns
        -------
        Trajectory
            An equal run, which ``simulate`` can resume. States of a store stay on disk: ``states`` is then indexed like
            an array, and reads what is asked for.

        Raises
        ------
        FileFormatError
            If the file is missing, damaged or of another format.
        """
        if zarr_stores.is_store(expanded(path)):
            facts, stored = zarr_stores.read_store(path)
            own = {name.removeprefix("model_"): values for name, values in stored.items() if name.startswith("model_")}
            arrays = stored | own
            arrays |= {name: arrays.get(there) for name, there in _STORED.items()}
            return cls._restored(facts, arrays, Model.from_parts(facts["model"], own))
        with files.reading_archive(expanded(path)) as (facts, arrays):
            return cls._restored(facts, arrays, Model.from_parts(facts, arrays))

    @classmethod
    def _restored(cls, facts: Mapping[str, Any], arrays: Mapping[str, Any], model: Model) -> Trajectory:
        own = {"model": model, "equation": facts["equation"], "step_error": facts["step_error"]}
        return cls(**own, **fields_from(facts, arrays))

    @classmethod
    def from_netcdf(cls, path: str | Path, model: Model) -> Trajectory:
        """Read a run.nc as a run of its model, which the scenario beside it describes.

        Parameters
        ----------
        path : str or Path
            A file that ``write_netcdf`` wrote, such as the run.nc of a results folder.
        model : Model
            The model that was run.

        Returns
        -------
        Trajectory
            The run as it was recorded. The noise memory of its final state is not stored: to resume a run, use
            ``save`` and ``load``.

        Raises
        ------
        FileFormatError
            If the file is missing, damaged, or the run of another model.

        Examples
        --------
        >>> import tempfile
        >>> from peerpressure import Model, Trajectory, simulate
        >>> from peerpressure.networks import k2
        >>> model = Model(k2(), hidden=[0.0, 1.0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with open(f"{folder}/run.nc", "w+b") as file:
        ...         simulate(model, steps=3).write_netcdf(file)
        ...     print(Trajectory.from_netcdf(f"{folder}/run.nc", model))
        Trajectory(replicates 1, steps 0–3, agents 2, seed 0, kept: states, summaries, final state)
        """
        arrays, facts = files.read_netcdf(expanded(path))
        try:
            return cls(**_stored_parts(arrays, facts, model))
        except (KeyError, ValueError, TypeError) as error:
            rule, remedy = f"{path} must be a run of the model", "take the scenario.toml of the same folder"
            raise FileFormatError(message(rule, got=error, remedy=remedy)) from error

    @classmethod
    def from_dataframe(
        cls, frame: pandas.DataFrame, model: Model, step: str | None = None, origin: object = None
    ) -> Trajectory:
        """Return answers that were not simulated here as a run of the model, with seed −1.

        Parameters
        ----------
        frame : pandas.DataFrame
            Tidy rows with columns ``time``, ``agent`` and ``public``, one column for each agent beside ``time``, or one
            for each wave (wave1, wave2, …, or dates) beside ``agent``; ``replicate`` is optional. Other usual names,
            such as ``date``, ``name`` and ``opinion``, are
            accepted if there is no doubt. Missing answers become NaN. Agents are found by their labels or, where
            that is unambiguous, by the texts of these. For a model with topics there is a column ``topic``.
        model : Model
            The model that is taken to have made the answers.
        step : str, optional
            Length of a step, such as "1 day" or "15 min", if times are dates or Unix times; "wave" numbers the times
            1, 2, 3 in their order. By default times count steps, and columns that are waves are numbered.
        origin : date or str, optional
            Date of step 0; by default the first time is step 1.

        Returns
        -------
        Trajectory
            A run with recorded states.

        Raises
        ------
        InvalidInputError
            If columns are missing, rows have unknown agents, other things than numbers, or an answer twice, times lie
            between two steps, or there are several topics although the model has none.

        Examples
        --------
        >>> import pandas
        >>> from peerpressure import Model, Network, Trajectory
        >>> model = Model(Network([[0, 1], [1, 0]], labels=["ann", "bob"]), hidden=[0.0, 0.0])
        >>> wide = pandas.DataFrame({"time": [1, 2], "ann": [0.5, 0.4], "bob": [0.1, None]})
        >>> Trajectory.from_dataframe(wide, model)
        Trajectory(replicates 1, steps 1–2, agents 2, seed -1, kept: states, final state)
        >>> days = wide.assign(time=["2024-01-31", "2024-02-02"])
        >>> Trajectory.from_dataframe(days, model, step="1 day").times
        array([1, 3])
        """
        named = outputs.with_roles(frame, model, calendar=is_calendar(step))
        frame, _ = outputs.on_steps(named, step, origin)
        parts = outputs.outputs_from_frame(frame, model)
        # No seed: a run from here takes noise of its own.
        final = State(int(parts["times"][-1]), parts.pop("final"))
        return cls(model=model, seed=-1, minimum=None, maximum=None, mean=None, final=final, **parts)

    @classmethod
    def from_csv(cls, path: str | Path, model: Model, step: str | None = None, origin: object = None) -> Trajectory:
        """Return the answers in a table, laid out as ``from_dataframe`` takes them; errors name its lines.

        Separator, decimal sign and names of columns may differ, as long as their meaning is clear; the table may be
        compressed with gzip, or be a Parquet file.

        Parameters
        ----------
        path : str or Path
            The table: text with a separator, compressed or not, or a Parquet file.
        model : Model
            The model whose agents the answers belong to.
        step : str, optional
            Length of a step where times are dates or Unix times, such as "1 day"; by default times count steps.
        origin : date or str, optional
            Date of step 0; by default the first time is step 1.

        Returns
        -------
        Trajectory
            The answers with seed −1; gaps are NaN.

        Raises
        ------
        FileFormatError
            If the table cannot be read.
        InvalidInputError
            If a column is missing, or an agent, a time or a number is not valid.
        """
        with naming(path, "a file of answers"):
            frame, _ = outputs.read_frame(path, model, calendar=is_calendar(step))
            return cls.from_dataframe(frame, model, step, origin)

    def __repr__(self) -> str:
        kept = [name for name in ("states", "minimum") if getattr(self, name) is not None]
        what = {"states": "states", "minimum": "summaries"}
        return (
            f"Trajectory(replicates {self.replicates.size}, steps {self.times[0]}–{self.times[-1]}, "
            f"agents {self.model.n}, seed {self.seed}, "
            f"kept: {', '.join([what[name] for name in kept] + ['final state'])}"
            f"{'' if self.equation is None else '; ' + self.equation})"
        )

    def _repr_html_(self) -> str:
        final = self.final.public
        rows = [
            ("replicates", f"{self.replicates.size:,}, seed {self.seed}"),
            ("agents", f"{self.model.n:,}"),
            ("time", f"{self.times[0]:g} to {self.times[-1]:g}, {self.times.size:,} recorded"),
            ("mean of final public opinions", f"{np.nanmean(final):.4g}"),
            ("spread, max − min, over replicates", f"{np.nanmean(np.ptp(final, axis=1)):.3g}"),
        ]
        equation = [] if self.equation is None else [("equation", self.equation)]
        return f"<div>{html_table([*rows, *equation], 'Trajectory')}{self._sketch()}</div>"

    def _sketch(self) -> str:
        """Return public opinions over time in the first replicate: of some agents, or least, mean and largest."""
        paths: list[Array] = [part[0] for part in (self.minimum, self.mean, self.maximum) if part is not None]
        if self.states is not None:
            paths = list(self.states[0, :, _spaced(self.agents.size, _SKETCHED_AGENTS)])
        shown = _spaced(self.times.size, _SKETCHED_TIMES)
        lines = [list(zip(self.times[shown].tolist(), path[shown].tolist(), strict=True)) for path in paths]
        return html_sketch(lines, "public opinions over time")


def parts_of(run: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the plain values and the arrays of a run, or of a part of one, but for its model."""
    end: State = run.final
    facts = {"version": run.version, "seed": run.seed, "step": end.step, "step_length": end.step_length}
    arrays = {name: getattr(run, name) for name in ("replicates", "times", "agents", *RECORDED)}
    arrays |= {"final": end.public, "memory": end.memory, "final_hidden": end.hidden}
    # None is left out, because an archive without pickle has arrays only.
    return facts, {name: values for name, values in arrays.items() if values is not None}


def fields_from(facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a run from what ``parts_of`` returns."""
    return {
        "seed": facts["seed"],
        "version": facts["version"],
        "final": final_from(facts, arrays),
        **{name: arrays[name] for name in ("replicates", "times", "agents")},
        **{name: arrays.get(name) for name in RECORDED},
    }


def final_from(facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> State:
    """Return the final state of a run from what ``parts_of`` returns."""
    # Outputs that were not simulated here have no noise to go on with.
    simulated = facts["seed"] >= 0
    return State(
        facts["step"],
        arrays["final"],
        arrays.get("memory"),
        arrays.get("final_hidden"),
        seed=facts["seed"] if simulated else None,
        replicates=arrays["replicates"] if simulated else None,
        step_length=facts["step_length"],
    )


def _spaced(size: int, most: int) -> NDArray[np.int64]:
    """Return so many places among ``size``, the first and the last included, or all of them."""
    return np.unique(np.linspace(0, size - 1, min(size, most)).round().astype(np.int64))


def _stored_parts(arrays: Mapping[str, Array], facts: Mapping[str, Any], model: Model) -> dict[str, Any]:
    """Return the fields of a run from the variables and attributes of a netCDF file."""
    times, replicates, states = arrays["time"], arrays["replicate"], arrays.get("public")
    count, n = replicates.size, model.n
    recorded = np.arange(n)
    if states is not None:
        states = states.reshape(count, times.size, -1)
        recorded = _recorded_agents(arrays, model)
    hidden = arrays.get("hidden") if states is not None else None
    # Constant ones have the axes of agents and topics only.
    adapting = hidden is not None and hidden.ndim > 1 + ("topic" in arrays)
    if hidden is not None:
        hidden = hidden.reshape(count, times.size, -1) if adapting else hidden.ravel()
    public = arrays["final_public"] if states is None or recorded.size < n else states[:, -1]
    last = arrays.get("final_hidden")
    if last is None and hidden is not None and adapting:
        last = hidden[:, -1]
    if public.shape != (count, n):
        raise ValueError(f"{public.shape[-1]} agents, not {n}")
    # A continuous time is the number of the step times its length, which the final state does not need.
    final = State(round(float(times[-1])), public, hidden=last)
    return {
        "model": model,
        "seed": int(facts["seed"]),
        "replicates": replicates,
        "times": times,
        "agents": recorded,
        "states": states,
        **{name: arrays.get(name) for name in ("minimum", "maximum", "mean")},
        "final": final,
        "version": str(facts["software"]).partition(" ")[2],
        "hidden": hidden,
        "equation": facts.get("equation"),
        "step_error": facts.get("step_error"),
    }


def _recorded_agents(arrays: Mapping[str, Array], model: Model) -> NDArray[np.int64]:
    """Return the positions of the agents whose states a file has."""
    axes = [[_text(label) for label in arrays[axis].tolist()] for axis in ("agent", "topic") if axis in arrays]
    names = [
        tuple(map(str, label)) if isinstance(label, tuple) and len(axes) == 2 else (str(label),)
        for label in model.network.labels
    ]
    places = {name: k for k, name in enumerate(names)}
    return np.array([places[name] for name in product(*axes)], dtype=np.int64)


def _text(label: object) -> str:
    return label.decode() if isinstance(label, bytes) else str(label)


def coordinate_of(labels: list[Any]) -> list[Any]:
    """Return labels that fit into an index: as they are if all are numbers or all are text, else their text."""
    # A mixed index would be of dtype object, which netCDF cannot store.
    kinds = {type(label) for label in labels}
    return labels if len(kinds) == 1 and kinds <= {int, float, str} else [str(label) for label in labels]
