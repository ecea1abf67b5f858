"""The result of a run of a model in parts, and its checkpoints: one file a part, from which the run is resumed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import FileFormatError, InvalidInputError, message
from peerpressure.simulation.files import reading_archive, write_archive
from peerpressure.simulation.partition._files import part_name
from peerpressure.simulation.processes import Together, joined
from peerpressure.simulation.trajectory import RECORDED, State, fields_from, final_from, parts_of
from peerpressure.support.files import expanded
from peerpressure.support.results import read_only
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


Records = Mapping[str, Any]


class Checkpoints:
    """The folder of a run, in which each process has files of its own.

    ``identity`` is what a run that is resumed must have in common with the one that wrote the files, by its names for
    users.
    """

    def __init__(self, folder: Path, together: Together, identity: Mapping[str, str]) -> None:
        self.folder, self.together, self.identity = folder, together, dict(identity)
        self.rank = together.comm.rank

    def _file(self, kind: str, step: int) -> Path:
        return self.folder / f"{kind}-{step:010d}.part-{self.rank}.npz"

    def _steps(self, kind: str) -> list[int]:
        pattern = re.compile(rf"{kind}-(\d{{10}})\.part-{self.rank}\.npz")
        found = (pattern.fullmatch(path.name) for path in self.folder.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def resumed(self, first: int, last: int) -> tuple[State | None, list[Records]]:
        """Return the newest state that all processes have, and the records before it."""
        with self.together.checking():
            self.folder.mkdir(parents=True, exist_ok=True)
            own = set(self._steps("state"))
        common = set.intersection(*self.together.comm.allgather(own))
        if not common:
            return None, []
        with self.together.checking():
            state = self._state(max(common))
            if not first < state.step <= last:
                rule, got = f"the run in {self.folder} has reached step {state.step}", f"{first} to {last}"
                raise InvalidInputError(message(rule, got=got, remedy="ask for that many steps, or name a new folder"))
            return state, self._records(first, state.step)

    def _state(self, step: int) -> State:
        with reading_archive(self._file("state", step)) as (facts, arrays):
            found = facts["identity"]
            state = final_from(facts, arrays)
        for name, value in self.identity.items():
            if found.get(name) != value:
                rule, got = f"a run is resumed with the same {name}", f"another than that of {self.folder}"
                raise InvalidInputError(message(rule, got=got, remedy="restore it, or name a new folder"))
        return state

    def _records(self, first: int, last: int) -> list[Records]:
        """Return the records of stretches of steps that lead from one step to another."""
        stretches: list[Records] = []
        for step in self._steps("records"):
            if step <= last:
                with reading_archive(self._file("records", step)) as (_, arrays):
                    stretches.append(arrays)
        begins, ends = ([int(one["times"][k]) for one in stretches] for k in (0, -1))
        if [first, *ends] != [*begins, last]:
            rule, got = "records must lead from the start of the run to its last state", f"gaps in {self.folder}"
            raise InvalidInputError(message(rule, got=got, remedy="restore the files, or name a new folder"))
        return stretches

    def write(self, run: PartTrajectory) -> None:
        """Write a stretch of steps, and delete older states once all processes have written theirs."""
        step = run.final.step
        facts, arrays = parts_of(run)
        records = {name: arrays.pop(name) for name in ("times", *RECORDED) if name in arrays}
        with self.together.checking():
            write_archive(self._file("records", step), {}, records)
            # Last, because a state says that everything before it is there.
            write_archive(self._file("state", step), facts | {"identity": self.identity}, arrays)
        for old in self._steps("state"):
            if old != step:
                self._file("state", old).unlink(missing_ok=True)


def joined_records(stretches: list[Records], times: NDArray[np.int64]) -> dict[str, Any]:
    """Return one record of these steps from those of stretches that follow each other."""
    at = np.concatenate([one["times"] for one in stretches])
    # Each has its first and last step, which the run as a whole need not record.
    _, first = np.unique(at, return_index=True)
    kept = first[np.isin(at[first], times)]
    names = [name for name in RECORDED if name in stretches[-1]]
    return {
        name: np.ascontiguousarray(np.concatenate([one[name] for one in stretches], axis=1)[:, kept]) for name in names
    }
