"""Observed outputs in a file, as runs of a system: one for each topic, in discrete or continuous time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from peerpressure.dates import ROUNDING
from peerpressure.errors import InvalidInputError, first_few, message
from peerpressure.files import naming
from peerpressure.model import Model
from peerpressure.sde import SDE
from peerpressure.storage import by_topic, on_steps, read_frame
from peerpressure.trajectory import Trajectory

if TYPE_CHECKING:
    import pandas as pd


class ObservedOutputs(NamedTuple):
    """Outputs of a file, and how the file was read.

    Attributes
    ----------
    runs : dict of str to Trajectory
        One run for each topic, with the name "" if there are no topics.
    description : str
        How the file was read: separator, columns, and the steps of dates.

    See Also
    --------
    read_outputs : Reads them.

    Examples
    --------
    >>> from peerpressure.measures import ObservedOutputs
    >>> ObservedOutputs(runs={}, description="separated by commas").description
    'separated by commas'
    """

    runs: dict[str, Trajectory]
    description: str


def read_outputs(
    path: str | Path, system: Model | SDE, step: str | None = None, origin: object = None
) -> ObservedOutputs:
    r"""Return the outputs in a file as runs of the system, one for each topic; an SDE has real times.

    Parameters
    ----------
    path : str or Path
        A file as ``Trajectory.from_csv`` reads it, which may have a column ``topic``.
    system : Model or SDE
        The system that is assumed to have produced the outputs.
    step, origin : optional
        As for ``Trajectory.from_dataframe``. All topics have the same origin.

    Returns
    -------
    ObservedOutputs
        The outputs, as ``recover`` takes them, by topic.

    Raises
    ------
    FileFormatError
        If the file cannot be read.
    InvalidInputError
        If a time is not a multiple of the step.

    See Also
    --------
    recover : Estimates hidden opinions from a run.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from peerpressure import Model
    >>> from peerpressure.measures import read_outputs
    >>> from peerpressure.networks import k2
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "outputs.csv")
    ...     _ = file.write_text("time,agent,public\n0,0,1.0\n0,1,2.0\n")
    ...     read_outputs(file, Model(k2(), [1.0, 2.0])).runs[""].states
    array([[[1., 2.]]])
    """
    model, length = (system.model, system.step) if isinstance(system, SDE) else (system, None)
    with naming(path, "a file of outputs"):
        frame, words = read_frame(path, model)
        if length is not None and step is None:
            frame = _multiples(frame, length)
        frame, clock = on_steps(frame, step, origin)
        topics = by_topic(frame)
        runs = {topic: Trajectory.from_dataframe(part, model) for topic, part in topics.items()}
    if length is not None:
        # Steps identify times exactly; real times follow after the check that each agent has one value per step.
        runs = {topic: replace(run, times=run.times * np.float64(length)) for topic, run in runs.items()}
    parts = [words] + ([] if clock is None else [clock])
    if "" not in topics:
        parts.append(f"topics {first_few(map(repr, topics), len(topics))}")
    return ObservedOutputs(runs, "; ".join(parts))


def _multiples(frame: pd.DataFrame, step: float) -> pd.DataFrame:
    """Return the outputs with the number of the step in place of a real time."""
    import pandas as pd

    # Text that is no number becomes nan, and the negated comparison below reports it like any other time.
    steps = pd.to_numeric(frame["time"], errors="coerce").to_numpy(dtype=np.float64) / step
    # Times such as 0.3 at a step of 0.1 are not exact multiples in floating point.
    off = np.flatnonzero(~(np.abs(steps - np.rint(steps)) <= ROUNDING))
    if off.size:
        rule = f"outputs must be seen at multiples of the step {step:g}"
        got = f"time {frame['time'].iloc[off[0]]} in line {frame.index[off[0]]}"
        remedy = "set the step of [time] to that of the outputs, or for dates the length of a step"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))
    return frame.assign(time=np.rint(steps))
