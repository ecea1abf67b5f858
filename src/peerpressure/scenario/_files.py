"""Files of a scenario: observed answers as runs of a system, and the room that results take in memory and on disk."""

from __future__ import annotations

import math
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from peerpressure.errors import FileFormatError, InvalidInputError, first_few, message
from peerpressure.model.statespace import System
from peerpressure.recovery import observations_of
from peerpressure.scenario import Scenario
from peerpressure.simulation import run_size
from peerpressure.simulation.files import is_run, run_in
from peerpressure.simulation.outputs import by_topic, multiples, on_steps, read_frame
from peerpressure.simulation.recording import SMALLER_SCENARIO, require_run_memory
from peerpressure.simulation.trajectory import Trajectory
from peerpressure.support.dates import is_calendar
from peerpressure.support.files import declared_inputs, naming
from peerpressure.support.provenance import MAX_COPY
from peerpressure.support.resources import Memory, amount, require_memory


class ObservedOutputs(NamedTuple):
    """Outputs of a file, and how the file was read.

    Attributes
    ----------
    runs : dict of str to Trajectory
        One run for each topic, with the name "" if there are no topics, or the model has them itself.
    description : str
        How the file was read: separator, columns, and the steps of dates.

    See Also
    --------
    read_answers : Reads them.

    Examples
    --------
    >>> from peerpressure.scenario import ObservedOutputs
    >>> ObservedOutputs(runs={}, description="separated by commas").description
    'separated by commas'
    """

    runs: dict[str, Trajectory]
    description: str


def read_answers(path: str | Path, system: System, step: str | None = None, origin: object = None) -> ObservedOutputs:
    r"""Return the answers in a file as runs of the system, one for each topic; an SDE has real times.

    Parameters
    ----------
    path : str or Path
        A file as ``Trajectory.from_csv`` reads it, which may have a column ``topic``; or a stored run: a file .nc or
        .npz, or the results folder of a run.
    system : Model or SDE
        The system that is assumed to have produced the answers.
    step, origin : optional
        As for ``Trajectory.from_dataframe``. All topics have the same origin.

    Returns
    -------
    ObservedOutputs
        The answers, as ``recover`` takes them, by topic.

    Raises
    ------
    FileFormatError
        If the file cannot be read.
    InvalidInputError
        If a time is not a multiple of the step, or a stored run is given one.

    See Also
    --------
    recover : Estimates hidden opinions from a run.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from peerpressure import Model
    >>> from peerpressure.scenario import read_answers
    >>> from peerpressure.networks import k2
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "outputs.csv")
    ...     _ = file.write_text("time,agent,public\n0,0,1.0\n0,1,2.0\n")
    ...     read_answers(file, Model(k2(), [1.0, 2.0])).runs[""].states
    array([[[1., 2.]]])
    """
    if is_run(run_in(Path(path))):
        if step is not None or origin is not None:
            rule, got = "times of a stored run count steps already", "a step or an origin"
            raise InvalidInputError(message(rule, got=got, remedy="leave it out, or pass a table with dates"))
        return ObservedOutputs({"": observations_of(path, system)}, "a stored run")
    model, length = system.model, system.step if system.is_continuous else None
    with naming(path, "a file of answers"):
        frame, words = read_frame(path, model, calendar=is_calendar(step))
        if length is not None and step is None:
            frame = multiples(frame, length)
        frame, clock = on_steps(frame, step, origin)
        # A model with topics explains all of them at once.
        topics = {"": frame} if model.network.topics else by_topic(frame)
        runs = {topic: Trajectory.from_dataframe(part, model) for topic, part in topics.items()}
    if length is not None:
        # Steps identify times exactly; real times follow after the check that each agent has one value per step.
        runs = {topic: replace(run, times=run.times * np.float64(length)) for topic, run in runs.items()}
    parts = [words] + ([] if clock is None else [clock])
    if "" not in topics:
        parts.append(f"topics {first_few(map(repr, topics), len(topics))}")
    return ObservedOutputs(runs, "; ".join(parts))


# Memory and disk space that a scenario takes, compared with what is free before any work is done.

NUMBER = 20  # characters of a number in a table, with all its digits
PAGES = 5_000_000  # bytes of figures and report, which do not grow with the run


def check_room(scenario: Scenario, out: Path) -> str:
    """Return what a scenario takes in memory and on disk, as text.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    out : Path
        Folder of the results, which need not exist.

    Returns
    -------
    str
        Both sizes in words.

    Raises
    ------
    TooLargeError
        If memory or disk has less than that free.
    FileFormatError
        If the folder cannot be written.

    See Also
    --------
    Experiment : Carries out a scenario.

    Examples
    --------
    >>> from pathlib import Path
    >>> from peerpressure.scenario import check_room
    >>> from peerpressure.scenario import scenario_from
    >>> check_room(scenario_from({"network": {"generator": "k2"}, "run": {"steps": 9}}), Path("."))
    '... of memory, up to ... on disk'
    """
    asked = scenario.run
    size = run_size(scenario.system(), asked.steps, asked.replicates, asked.recording())
    require_run_memory(size, SMALLER_SCENARIO)
    disk = disk_needed(scenario)
    _check_disk(out, disk)
    return f"{amount(size.total())} of memory, up to {amount(disk)} on disk"


def disk_needed(scenario: Scenario) -> int:
    """Return an upper estimate of the bytes that the results of a scenario take on disk."""
    keep, replicates = scenario.run.recording(), scenario.run.replicates
    n, output = scenario.graph.n, scenario.output
    # An upper estimate before anything is simulated: a run that fills the disk would lose hours of work.
    agents = n if keep.agents is None else scenario.graph.indices(keep.agents).size
    times = math.ceil(scenario.run.steps / keep.every) + 1
    opinions = 1 + (scenario.agents.adaptation is not None)  # public, and hidden if they adapt
    label = 1 + max(len(str(name)) for name in scenario.graph.labels)
    methods = 0 if scenario.observe is None else len(scenario.observe.methods)
    rows = replicates * times
    # States are binary doubles of 8 bytes, summaries both binary and text; compression, which shrinks them, is not
    # relied on.
    total = rows * agents * 8 * opinions * keep.states + rows * (40 + 40 + NUMBER * (1 + 4 * opinions)) * keep.summaries
    total += rows * agents * (16 + label + NUMBER * opinions) * (output.states and keep.states)
    total += n * (label + 10 * NUMBER) + replicates * n * (label + 24 + 3 * NUMBER) * methods
    if scenario.observe is not None and scenario.observe.unknown_network is not None:
        total += n * n * (2 * label + 3 * NUMBER)
    total += scenario.run.steps * 32 * (scenario.temporal_network is not None)
    total += scenario.agent_network.edge_rows * (2 * label + 2 * NUMBER)
    # The final state of all agents, and copies of the inputs.
    total += replicates * n * 8 * opinions * (not keep.states or agents < n)
    sizes = [path.stat().st_size for path in declared_inputs() if path.is_file()]
    total += sum(size for size in sizes if size <= MAX_COPY)
    return total + PAGES * (output.figures or output.report) + 50_000


def _check_disk(out: Path, needed: int) -> None:
    # The folder may not exist yet; the disk is that of its nearest existing ancestor.
    there = next(place for place in (out, *out.absolute().parents) if place.exists())
    try:
        # Writing is the only reliable test of permissions. An existing folder is tested beside it, where results are
        # written before they take its place.
        with tempfile.TemporaryDirectory(dir=there.parent if there == out else there):
            free = shutil.disk_usage(there).free
    except OSError as error:
        raise no_place(out, error) from error
    disk = Memory(free, f" in {there}", "on the disk")
    remedy = "record less, run fewer replicates, name another folder with --out, or free some room"
    require_memory(needed, what="results", remedy=remedy, memory=disk)


def no_place(out: Path, error: OSError) -> FileFormatError:
    """Return the error for a folder that cannot be written.

    Parameters
    ----------
    out : Path
        The folder.
    error : OSError
        What the system said.

    Returns
    -------
    FileFormatError
        The error to raise.

    See Also
    --------
    check_room : Checks a folder before a run.

    Examples
    --------
    >>> from pathlib import Path
    >>> from peerpressure.scenario import no_place
    >>> str(no_place(Path("results"), PermissionError(13, "Permission denied")))
    'results must have a place to go, got results (Permission denied); name a folder that may be written to'
    """
    rule, remedy = "results must have a place to go", "name a folder that may be written to"
    return FileFormatError(message(rule, got=f"{out} ({error.strerror})", remedy=remedy))
