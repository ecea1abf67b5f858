"""Checkpoints of a run in parts: states from which it is resumed, and records, one file a part and stretch of steps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.simulation.files import reading_archive, write_archive
from peerpressure.simulation.partition._result import PartTrajectory
from peerpressure.simulation.processes import Together
from peerpressure.simulation.trajectory import RECORDED, State, final_from, parts_of

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
