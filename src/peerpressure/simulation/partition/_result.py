"""The result of a run of a model in parts: what was recorded of the agents of one process."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, InvalidInputError, message
from peerpressure.simulation.files import reading_archive, write_archive
from peerpressure.simulation.partition._reader import part_name
from peerpressure.simulation.processes import Together, joined
from peerpressure.simulation.trajectory import State, fields_from, parts_of
from peerpressure.support.files import expanded
from peerpressure.support.immutable import read_only
from peerpressure.version import __version__

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

Array = NDArray[Any]


@final
@read_only
@dataclass(frozen=True, eq=False)
class PartTrajectory:
    """One process's part of a run: the records of its own agents, and summaries of all.

    Attributes
    ----------
    cuts : tuple of int
        The first agent of each process, and the number of all agents at the end.
    part : int
        Which of the parts this is.
    seed : int
        The seed of the noise.
    replicates : array of int, shape (replicates,)
        The numbers of the replicates.
    times : array of int, shape (times,)
        The recorded steps.
    agents : array of int
        Numbers of the recorded agents that are this process's own.
    states : array of shape (replicates, times, agents) or None
        Public opinions of these agents; None if they were not recorded.
    hidden : array of shape (replicates, times, agents) or None
        Their hidden opinions, where these adapt and states were recorded.
    minimum, maximum, mean : array of shape (replicates, times) or None
        Summaries over the agents of all processes, the same everywhere.
    final : State
        The final state of all own agents, from which a run of the same parts can be resumed.
    version : str
        The version of the package that made the run.

    See Also
    --------
    PartitionedModel.simulate : Returns one.

    Examples
    --------
    >>> from mpi4py import MPI  # doctest: +SKIP
    >>> from peerpressure.simulation.partition import PartTrajectory
    >>> run = PartTrajectory.load("run", MPI.COMM_WORLD)  # doctest: +SKIP
    """

    cuts: tuple[int, ...]
    part: int
    seed: int
    replicates: NDArray[np.int64]
    times: NDArray[np.int64]
    agents: NDArray[np.int64]
    states: Array | None
    hidden: Array | None
    minimum: NDArray[np.float64] | None
    maximum: NDArray[np.float64] | None
    mean: NDArray[np.float64] | None
    final: State
    version: str = field(default=__version__)

    @property
    def n(self) -> int:
        """Number of agents in all processes."""
        return self.cuts[-1]

    @property
    def first(self) -> int:
        """The first agent of this process."""
        return self.cuts[self.part]

    @property
    def last(self) -> int:
        """One more than the last agent of this process."""
        return self.cuts[self.part + 1]

    @property
    def spread(self) -> NDArray[np.float64] | None:
        """The spread max − min over the agents of all processes; (replicates, times)."""
        return None if self.minimum is None or self.maximum is None else self.maximum - self.minimum

    def gathered(
        self, comm: Intracomm, name: Literal["states", "hidden", "agents", "public"] = "states"
    ) -> NDArray[Any]:
        """Return what all processes have recorded, in all of them, if it fits; all of them call this.

        Parameters
        ----------
        comm : mpi4py.MPI.Intracomm
            The processes of the run.
        name : {"states", "hidden", "agents", "public"}, default "states"
            Recorded public opinions, recorded hidden opinions, the numbers of the recorded agents, or public opinions
            of all agents after the last step.

        Returns
        -------
        array
            The parts of all processes side by side, with the agents on the last axis.

        Raises
        ------
        InvalidInputError
            If it was not recorded.
        """
        part: Array | None = self.final.public if name == "public" else getattr(self, name, None)
        if name not in ("states", "hidden", "agents", "public") or part is None:
            rule, remedy = "only what was recorded can be gathered", "record it, or gather 'public'"
            raise InvalidInputError(message(rule, got=repr(name), remedy=remedy))
        return joined(comm, part)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write this part to a file of its own in a folder, which the other processes share.

        Parameters
        ----------
        folder : str or PathLike
            The folder, which is made if it does not exist.
        """
        place = expanded(folder)
        place.mkdir(parents=True, exist_ok=True)
        facts, arrays = parts_of(self)
        facts |= {"cuts": self.cuts, "part": self.part}
        write_archive(place / part_name(self.part), facts, arrays)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], comm: Intracomm) -> PartTrajectory:
        """Read what each process has saved; as many processes call this as have saved it.

        Parameters
        ----------
        folder : str or PathLike
            A folder that ``save`` wrote to.
        comm : mpi4py.MPI.Intracomm
            The processes.

        Returns
        -------
        PartTrajectory
            The part of this process.

        Raises
        ------
        FileFormatError
            If a file is missing or damaged, or the run had another number of processes.
        """
        together = Together(comm)
        with together.checking():
            run = cls._read(expanded(folder) / part_name(together.comm.rank))
            if len(run.cuts) - 1 != together.comm.size:
                rule, got = f"a run of {len(run.cuts) - 1} processes is read by as many", together.comm.size
                raise FileFormatError(message(rule, got=got, remedy="start that many"))
        return run

    @classmethod
    def _read(cls, file: Path) -> PartTrajectory:
        with reading_archive(file) as (facts, arrays):
            return cls(cuts=tuple(facts["cuts"]), part=facts["part"], **fields_from(facts, arrays))
