"""Outputs that were made elsewhere, as a run of the system that is taken to have made them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from peerpressure.diffusion import Diffusion
from peerpressure.errors import FileFormatError, InvalidInputError, complain
from peerpressure.model import Model
from peerpressure.trajectory import Trajectory

ROUNDING = 1e-6  # by how much of a step a time may miss the one that it stands for


def read_outputs(path: str | Path, system: Model | Diffusion) -> Trajectory:
    """Return the outputs in a CSV file, laid out as ``Trajectory.from_csv`` takes them; a Diffusion has real times."""
    if isinstance(system, Model):
        return Trajectory.from_csv(path, system)
    import pandas as pd

    try:
        frame = pd.read_csv(path)
        steps = frame["time"].to_numpy(dtype=np.float64) / system.step
    except (OSError, ValueError, KeyError) as error:
        rule, remedy = "outputs must be in a CSV file with a column of times", "check the path and the first line"
        raise FileFormatError(complain(rule, got=f"{path} ({error})", remedy=remedy)) from error
    off = np.flatnonzero(~(np.abs(steps - np.rint(steps)) <= ROUNDING))
    if off.size:
        rule = f"outputs must be seen at multiples of the step {system.step:g}"
        got = f"time {frame['time'].iloc[off[0]]} in line {off[0] + 2}"
        raise InvalidInputError(complain(rule, got=got, remedy="set the step of [time] to that of the outputs"))
    lines = range(2, len(frame) + 2)
    run = Trajectory.from_dataframe(frame.assign(time=np.rint(steps)).set_axis(lines, axis=0), system.model)
    return replace(run, times=run.times * np.float64(system.step))
