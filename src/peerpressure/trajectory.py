"""What a run leaves behind: states or summaries, where it ended, and all that is needed to run it again."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from .errors import FileFormatError, InvalidInputError, complain
from .model import Model
from .version import __version__

if TYPE_CHECKING:
    import pandas
    import xarray

Array: TypeAlias = NDArray[Any]
SUMMARIES = ("minimum", "maximum", "mean", "spread", "distance")


@final
@dataclass(frozen=True, eq=False)
class State:
    """Where a run stands: the step, what agents show, (replicates, agents), and the memory of correlated noise.

    ``hidden`` is what agents hold after this step, in the same shape, where hidden opinions give way. ``seed`` and
    ``replicates`` say whose noise led here, and with which noise a run from here goes on; None leaves both open.
    """

    step: int
    public: Array
    memory: Array | None = None
    hidden: Array | None = None
    seed: int | None = None
    replicates: NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        return f"State(step {self.step}, public {self.public.shape})"


@final
@dataclass(frozen=True, eq=False)
class Trajectory:
    """One run of a model in one or more replicates.

    ``times`` are the recorded steps and ``agents`` the recorded agents (as indices); ``states`` is (replicates, times,
    agents), and ``minimum``, ``maximum`` and ``mean`` over all agents are (replicates, times); each is None if it was
    not recorded. ``final`` is always there. Where hidden opinions give way, ``hidden`` has the shape of ``states`` and
    is what agents hold once they have shown that state. In continuous time ``times`` are real, and ``equation`` says
    which equation and which steps the run took.
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

    @property
    def spread(self) -> NDArray[np.float64] | None:
        """How far agents are from one another: max − min; (replicates, times)."""
        if self.minimum is None or self.maximum is None:
            return None
        return self.maximum - self.minimum

    @property
    def distance(self) -> NDArray[np.float64] | None:
        """How far the farthest agent is from the consensus value v: max |y_i − v|; (replicates, times)."""
        if self.minimum is None or self.maximum is None:
            return None
        v = self.model.consensus_value
        return np.maximum(self.maximum - v, v - self.minimum)

    @property
    def labels(self) -> list[Any]:
        """The users' names of the recorded agents."""
        return [self.model.network.labels[i] for i in self.agents]

    def path(self, agent: Any) -> Array:
        """Return what one agent showed, (replicates, times)."""
        if self.states is None:
            raise InvalidInputError(
                complain(
                    "a path needs recorded states",
                    got="a run without them",
                    remedy="use record='all' or Record(agents=[...])",
                )
            )
        index = self.model.network.index(agent)
        where = np.flatnonzero(self.agents == index)
        if not where.size:
            rule = f"agent {agent!r} must be among the recorded ones"
            raise InvalidInputError(
                complain(rule, got=f"{self.agents.size} others", remedy="add it to Record(agents=[...])")
            )
        return np.asarray(self.states[:, :, where[0]])

    def provenance(self) -> dict[str, Any]:
        """Say in plain values where this run came from."""
        extensions = {
            "adaptation": None if self.model.adaptation is None else str(self.model.adaptation),
            "equation": self.equation,
        }
        return {
            "software": f"peerpressure {self.version}",
            "seed": self.seed,
            "network": repr(self.model.network if self.model.evolution is None else self.model.evolution),
            "pressure": str(self.model.pressure),
            "noise": str(self.model.noise),
            "consensus_value": self.model.consensus_value,
        } | {name: text for name, text in extensions.items() if text is not None}

    def to_xarray(self) -> xarray.Dataset:
        """Return an xarray Dataset with dimensions replicate, time and agent, and the provenance as attributes.

        ``hidden`` is what agents held at first, and ``held``, where opinions give way, what they hold at each time.
        """
        import xarray

        variables: dict[str, Any] = {
            name: (("replicate", "time"), values) for name in SUMMARIES if (values := getattr(self, name)) is not None
        }
        coordinates: dict[str, Any] = {"replicate": self.replicates, "time": self.times}
        if self.states is not None:
            variables["public"] = (("replicate", "time", "agent"), self.states)
            variables["hidden"] = (("agent",), self.model.x0[self.agents])
            coordinates["agent"] = _coordinate(self.labels)
        if self.hidden is not None:
            variables["held"] = (("replicate", "time", "agent"), self.hidden)
        facts = self.provenance()
        if self.seed >= 2**31:
            facts["seed"] = str(self.seed)  # netCDF 3 has no larger numbers
        return xarray.Dataset(variables, coords=coordinates, attrs=facts)

    def to_dataframe(self) -> pandas.DataFrame:
        """Return tidy rows: one for each replicate, time and agent if states were kept, else for each summary."""
        data = self.to_xarray()
        if self.states is not None:
            data = data[["public"] if self.hidden is None else ["public", "held"]]
        return data.to_dataframe().reset_index()

    def save(self, path: str | Path) -> None:
        """Write everything to one .npz file, without pickle; a reader never sees half of it."""
        from .storage import save_trajectory

        save_trajectory(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Trajectory:
        """Read what ``save`` wrote."""
        from .storage import load_trajectory

        return load_trajectory(path)

    @classmethod
    def from_dataframe(cls, frame: pandas.DataFrame, model: Model) -> Trajectory:
        """Return outputs that were made elsewhere as a run of the model, with seed −1 for there is none.

        Either tidy rows with columns ``time``, ``agent`` and ``public``, or one column for each agent beside
        ``time``; ``replicate`` is optional in both. What is missing becomes NaN.

        >>> import pandas
        >>> from peerpressure.networks import Network
        >>> model = Model(Network([[0, 1], [1, 0]], labels=["ann", "bob"]), hidden=[0.0, 0.0])
        >>> Trajectory.from_dataframe(pandas.DataFrame({"time": [1, 2], "ann": [0.5, 0.4], "bob": [0.1, None]}), model)
        Trajectory(replicates 1, steps 1–2, agents 2, seed -1, kept: states, final state)
        """
        return cls(model=model, **_run_from_rows(_tidy(frame), model))

    @classmethod
    def from_csv(cls, path: str | Path, model: Model) -> Trajectory:
        """Return the outputs in a CSV file, laid out as ``from_dataframe`` takes them; errors name its lines."""
        import pandas

        try:
            frame = pandas.read_csv(path)
        except (OSError, ValueError) as error:
            rule = "outputs must be in a readable CSV file"
            remedy = "check the path, and that the first line names the columns"
            raise FileFormatError(complain(rule, got=f"{path} ({error})", remedy=remedy)) from error
        # The first line holds the names, so that row 0 stands in line 2.
        return cls.from_dataframe(frame.set_axis(range(2, len(frame) + 2), axis=0), model)

    def __repr__(self) -> str:
        kept = [name for name in ("states", "minimum") if getattr(self, name) is not None]
        what = {"states": "states", "minimum": "summaries"}
        return (
            f"Trajectory(replicates {self.replicates.size}, steps {self.times[0]}–{self.times[-1]}, "
            f"agents {self.model.n}, seed {self.seed}, "
            f"kept: {', '.join([what[name] for name in kept] + ['final state'])})"
        )


def _coordinate(labels: list[Any]) -> list[Any]:
    """Return labels that an index can hold: as they are if all are numbers or all are text, else their text."""
    kinds = {type(label) for label in labels}
    return labels if len(kinds) == 1 and kinds <= {int, float, str} else [str(label) for label in labels]


def _tidy(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return one row for each output, with columns replicate, time, agent and public."""
    columns = set(frame.columns)
    if "time" not in columns or frame.empty:
        rule = "outputs must come with a column 'time' and at least one row"
        got = f"{len(frame)} rows with columns {', '.join(map(repr, list(frame.columns)[:6]))}"
        remedy = "use columns time, agent, public, or time and one column for each agent"
        raise InvalidInputError(complain(rule, got=got, remedy=remedy))
    keys = [name for name in ("replicate", "time") if name in columns]
    wide = not {"agent", "public"} <= columns
    rows = frame.melt(keys, var_name="agent", value_name="public", ignore_index=False) if wide else frame
    return rows if "replicate" in columns else rows.assign(replicate=0)


def _run_from_rows(rows: pandas.DataFrame, model: Model) -> dict[str, Any]:
    """Return the parts of a trajectory from tidy rows, refusing the first rows that make no sense."""
    whole = {name: _numbers(rows, name, lambda v: (v >= 0) & (v == np.floor(v))) for name in ("replicate", "time")}
    public = _numbers(rows, "public", lambda v: ~np.isinf(v), missing=True)
    agent = _positions(rows, model)
    replicates, r = np.unique(whole["replicate"].astype(np.int64), return_inverse=True)
    times, t = np.unique(whole["time"].astype(np.int64), return_inverse=True)
    agents, a = np.unique(agent, return_inverse=True)
    place = np.ravel_multi_index((r, t, a), shape := (replicates.size, times.size, agents.size))
    _refuse_rows(rows, np.bincount(place, minlength=1)[place] > 1, "each agent must show one output at a time")
    states = np.full(shape, np.nan)
    states.flat[place] = public
    final = np.full((replicates.size, model.n), np.nan)
    final[:, agents] = states[:, -1]
    parts: dict[str, Any] = {"replicates": replicates, "times": times, "agents": agents, "states": states}
    return parts | dict.fromkeys(("minimum", "maximum", "mean")) | {"seed": -1, "final": State(int(times[-1]), final)}


def _numbers(rows: pandas.DataFrame, name: str, legal: Any, *, missing: bool = False) -> NDArray[np.float64]:
    """Return a column as numbers, refusing rows where it holds another thing or an illegal value."""
    import pandas

    given = rows[name]
    values = pandas.to_numeric(given, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    absent = given.isna().to_numpy()
    text = np.isnan(values) & ~(absent if missing else np.zeros_like(absent))
    kind = "a number" if missing else "a whole number, 0 or more"
    _refuse_rows(rows, text | (~np.isnan(values) & ~legal(values)), f"{name} must be {kind}", name)
    return np.asarray(values)


def _positions(rows: pandas.DataFrame, model: Model) -> NDArray[np.int64]:
    """Return the positions of the agents; a label may also be given as its text, as a file has it."""
    labels = model.network.labels
    known: dict[Any, int] = {str(label): i for i, label in enumerate(labels)}
    known |= {label: i for i, label in enumerate(labels)}
    found = rows["agent"].map(known).to_numpy(dtype=np.float64, na_value=np.nan)
    _refuse_rows(rows, np.isnan(found), "agents must be ones of the model's network", "agent")
    return np.asarray(found, dtype=np.int64)


def _refuse_rows(rows: pandas.DataFrame, bad: Array, rule: str, column: str | None = None) -> None:
    where = np.flatnonzero(bad)
    if where.size:
        first = rows.iloc[where[:5]]
        value = "" if column is None else f"{first[column].tolist()[0]!r} in "
        named = ", ".join(map(str, first.index))
        got = f"{value}row {named}" + (f" and {where.size - 5} more" if where.size > 5 else "")
        raise InvalidInputError(complain(rule, got=got, remedy="repair or remove them; leave a missing output empty"))
