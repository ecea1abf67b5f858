"""What a run leaves behind: states or summaries, where it ended, and all that is needed to run it again."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.version import __version__

if TYPE_CHECKING:
    import pandas
    import xarray

Array: TypeAlias = NDArray[Any]
SUMMARIES = ("minimum", "maximum", "mean", "spread", "distance")


@final
@dataclass(frozen=True, eq=False)
class State:
    """Where a run stands: the step, what agents show, (replicates, agents), and the memory of correlated noise.

    ``hidden`` is what agents hold after this step, in the same shape, where hidden opinions adapt. ``seed`` and
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
    not recorded. ``final`` is always there. Where hidden opinions adapt, ``hidden`` has the shape of ``states`` and
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
                message(
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
                message(rule, got=f"{self.agents.size} others", remedy="add it to Record(agents=[...])")
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
            "network": repr(self.model.network if self.model.temporal_network is None else self.model.temporal_network),
            "pressure": str(self.model.pressure),
            "noise": str(self.model.noise),
            "consensus_value": self.model.consensus_value,
        } | {name: text for name, text in extensions.items() if text is not None}

    def to_xarray(self) -> xarray.Dataset:
        """Return an xarray Dataset with dimensions replicate, time and agent, and the provenance as attributes.

        ``hidden`` is what agents held at first, and ``held``, where opinions adapt, what they hold at each time.
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
        from peerpressure.storage import save_trajectory

        save_trajectory(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Trajectory:
        """Read what ``save`` wrote."""
        from peerpressure.storage import load_trajectory

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
        from peerpressure.storage import run_from_frame

        return cls(model=model, **run_from_frame(frame, model))

    @classmethod
    def from_csv(cls, path: str | Path, model: Model) -> Trajectory:
        """Return the outputs in a table of text, laid out as ``from_dataframe`` takes them; errors name its lines.

        Separator, decimal sign and the names of columns may be others, as long as it is clear which is meant.
        """
        from peerpressure.storage import read_frame
        from peerpressure.tables import naming

        with naming(path, "a file of outputs"):
            return cls.from_dataframe(read_frame(path, model), model)

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
