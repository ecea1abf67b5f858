"""Outputs that were made elsewhere, as a run of the system that is taken to have made them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model
from peerpressure.outputs import read_frame
from peerpressure.sde import SDE
from peerpressure.tables import naming
from peerpressure.trajectory import Trajectory

ROUNDING = 1e-6  # by how much of a step a time may miss the one that it stands for


def read_outputs(path: str | Path, system: Model | SDE) -> Trajectory:
    """Return the outputs in a file, laid out as ``Trajectory.from_csv`` takes them; an SDE has real times."""
    if isinstance(system, Model):
        return Trajectory.from_csv(path, system)
    import pandas as pd

    with naming(path, "a file of outputs"):
        frame = read_frame(path, system.model)
        steps = pd.to_numeric(frame["time"], errors="coerce").to_numpy(dtype=np.float64) / system.step
        off = np.flatnonzero(~(np.abs(steps - np.rint(steps)) <= ROUNDING))
        if off.size:
            rule = f"outputs must be seen at multiples of the step {system.step:g}"
            got = f"time {frame['time'].iloc[off[0]]} in line {frame.index[off[0]]}"
            raise InvalidInputError(complain(rule, got=got, remedy="set the step of [time] to that of the outputs"))
        run = Trajectory.from_dataframe(frame.assign(time=np.rint(steps)), system.model)
    return replace(run, times=run.times * np.float64(system.step))
