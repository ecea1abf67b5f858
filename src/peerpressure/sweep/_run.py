"""``run_sweep``: computes the units of a plan with a ledger, result files and a runner."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from peerpressure.errors import InvalidInputError, message
from peerpressure.support.files import declare_output, expanded
from peerpressure.support.progress import reporter
from peerpressure.sweep._ledger import (
    LEDGER,
    LOCK,
    DamagedSweepError,
    Ledger,
    OtherSweepError,
    SweepError,
    UnitOutcome,
    holding,
    open_ledger,
    remove_ledger,
    remove_shards,
    set_aside,
    shard_folder,
    shard_folders,
    sharing,
)
from peerpressure.sweep._results import (
    UNITS,
    SweepStatus,
    held_fingerprint,
    kept_keys,
    read_status,
    remove_parts,
    remove_results,
)
from peerpressure.sweep._work import Work, load_task
from peerpressure.sweep.plan import Fingerprint, Plan

Progress: TypeAlias = bool | Callable[[int, int], None]


def run_sweep(
    plan: Plan,
    folder: str | os.PathLike[str],
    *,
    workers: int | None = None,
    dask: str | None = None,
    retry_failed: bool = False,
    fresh: bool = False,
    progress: Progress = False,
) -> SweepStatus:
    """Compute the units of a plan that a folder does not contain yet.

    A sweep may be interrupted or killed at any time and run again; finished units are not computed twice. Result files
    are verified first, and units whose files are missing or damaged are computed again.

    Parameters
    ----------
    plan : Plan
        The units. Parts of one plan may run at the same time in one folder, also on several machines that share it;
        when they have ended, a run of the whole plan merges them and computes what is left.
    folder : path-like
        Folder of the ledger and the result files.
    workers : int, optional
        Number of processes, by default one per core.
    dask : str, optional
        Address of a Dask scheduler, in place of processes.
    retry_failed : bool, default False
        Whether units that raised in an earlier run are computed again.
    fresh : bool, default False
        Whether to delete the content of the folder first.
    progress : bool or callable, default False
        True displays a bar on a terminal, and prints a line for each tenth in notebooks and logs; a function is called
        with (finished units, units).

    Returns
    -------
    SweepStatus
        Counts of units by state, and the failures.

    Raises
    ------
    SweepBusyError
        If another process runs the sweep.
    OtherSweepError
        If the folder contains results of another task, version or seed, or of the other kind of random numbers.
    SweepError
        If the sweep cannot start or continue.
    InvalidInputError
        If an option does not fit, such as a fresh start of one part.

    See Also
    --------
    status : How far a sweep is.
    collect : The table of a finished sweep.

    Examples
    --------
    ::

        plan = Plan("mymodule:task", axes={"noise": [0.1, 1.0]}, replications=5)
        print(run_sweep(plan, "results", workers=4))
    """
    where = expanded(folder)
    home = where if plan.shard is None else shard_folder(where, *plan.shard)
    if fresh and plan.shard is not None:
        rule, remedy = "a part of a sweep must leave the results of others", "delete them before the parts are started"
        raise InvalidInputError(message(rule, got="a fresh start", remedy=remedy))
    # Other files in the folder are never touched.
    for name in (home / LOCK, home / LEDGER, where / UNITS):
        declare_output(name)
    # Imported here to report a wrong path before any folder is made or worker started.
    load_task(plan.task)
    lanes = _checked_workers(workers, dask)

    def run() -> SweepStatus:
        return _run(plan, home, where, lanes, dask, retry_failed, progress)

    with _locked(where, home):
        # Safe under the lock of the whole sweep only: another run's temporary files look the same.
        if plan.shard is None:
            remove_parts(where)
        if fresh:
            remove_ledger(where)
            remove_shards(where)
            remove_results(where)
        try:
            return run()
        except DamagedSweepError:
            # Plan and result files determine what is left: a new ledger loses nothing but the failures.
            set_aside(home)
            return run()


@contextlib.contextmanager
def _locked(folder: Path, home: Path) -> Iterator[None]:
    """Lock a sweep, or one of its parts, which lets other parts run at the same time."""
    with contextlib.ExitStack() as locks:
        if home != folder:
            locks.enter_context(sharing(folder))
        locks.enter_context(holding(home))
        yield


def _run(
    plan: Plan, home: Path, folder: Path, workers: int, dask: str | None, retry_failed: bool, progress: Progress
) -> SweepStatus:
    with open_ledger(home, create=True) as ledger:
        _check_same(ledger.fingerprint(), plan.fingerprint, folder)
        # The files are read before the plan is registered: an error leaves the ledger as it was.
        intact, lost = _verify(ledger, plan, folder)
        ledger.register(plan)
        # Register first, then settle: the plan may contain units that the ledger did not know, which have files
        # already.
        _settle(ledger, intact, retry_failed)
        if plan.shard is None:
            _merge(ledger, plan, folder, retry_failed)
        states = ledger.states()
        units = [unit for unit in plan.units if states[unit.key] == "planned"]
        done = sum(state == "done" for state in states.values())
        try:
            with reporter(progress, len(plan), "units") as report:
                report(done)
                # A failure of one unit is part of the outcome; what raises here stops the sweep as a whole.
                _compute(Work(ledger, units, done, report), plan, folder, workers, dask)
        finally:
            # Also after an exception: the workers are dead, so nothing is running, and the status must not claim it.
            ledger.mark("planned", [key for key, state in ledger.states().items() if state == "running"])
        return read_status(ledger, active=False, recomputed=lost)


def _merge(ledger: Ledger, plan: Plan, folder: Path, retry_failed: bool) -> None:
    """Take over the failures of parts, whose results are in the folder already, and delete their ledgers."""
    for place in shard_folders(folder):
        # The ledger of a part that cannot be read costs only its failures, which are computed again.
        with contextlib.suppress(SweepError), open_ledger(place) as part:
            if part.fingerprint() == plan.fingerprint and not retry_failed:
                states = ledger.states()
                failed = [(key, report) for key, *_, report in part.failures(len(states))]
                open_units = [UnitOutcome(key, None, report) for key, report in failed if states.get(key) == "planned"]
                ledger.finish(open_units)
    remove_shards(folder)


def _compute(work: Work, plan: Plan, folder: Path, workers: int, dask: str | None) -> None:
    if work.finished:
        return
    if dask is not None:
        # The runners import subprocess machinery or Dask, which a finished sweep does not need.
        from peerpressure.sweep._runners import run_on_dask

        run_on_dask(work, plan, folder, dask)
    else:
        from peerpressure.sweep._runners import run_locally

        run_locally(work, plan, folder, workers)


def _verify(ledger: Ledger, plan: Plan, folder: Path) -> tuple[set[str], set[str]]:
    """Return the units whose result files are intact, and those whose results are lost: files missing or damaged."""
    kept, wanted, states = kept_keys(folder), plan.fingerprint.digest, ledger.states()
    intact, lost = set(), set()
    for unit in plan.units:
        held = held_fingerprint(folder, unit.key) if unit.key in kept else None
        done = states.get(unit.key) == "done"
        # If the ledger vouches for a result, a file of another sweep is a damaged one. If it does not, the folder
        # may be that of the other sweep, whose results must stay.
        if held not in (None, wanted) and not done:
            raise OtherSweepError(_other(folder, "results of another version or seed, or of other random numbers"))
        if held == wanted:
            intact.add(unit.key)
        elif done or unit.key in kept:
            lost.add(unit.key)
    return intact, lost


def _settle(ledger: Ledger, intact: set[str], retry_failed: bool) -> None:
    """Make the ledger agree with the result files, and reset units that no process computes any more."""
    again = {"running", "failed"} if retry_failed else {"running"}
    states = ledger.states().items()
    # A done unit without an intact file is planned again: the file, not the ledger, is the result. A damaged one stays
    # until it is replaced.
    ledger.mark("planned", [key for key, state in states if state in again or (state == "done" and key not in intact)])
    ledger.mark("done", [key for key, state in states if state != "done" and key in intact])


def _check_same(held: Fingerprint | None, wanted: Fingerprint, folder: Path) -> None:
    if held is not None and held != wanted:
        names = [name for name in Fingerprint._fields if getattr(held, name) != getattr(wanted, name)]
        differences = (f"{name} {getattr(held, name)}, not {getattr(wanted, name)}" for name in names)
        # The one difference that a sweep file can undo.
        undo = f", or set random_numbers to '{held.random_numbers}'" if names == ["random_numbers"] else ""
        raise OtherSweepError(_other(folder, f"results of {' and '.join(differences)}", undo))


def _other(folder: Path, got: str, undo: str = "") -> str:
    rule = f"all results in {folder} must be of one task, version, seed and kind of random numbers"
    return message(rule, got=got, remedy=f"choose another folder, or start fresh, which deletes these results{undo}")


def _checked_workers(workers: int | None, dask: str | None) -> int:
    if workers is None:
        from peerpressure.support.resources import available_cores

        # Cores that this process may use, which containers and batch systems restrict.
        return available_cores()
    if dask is not None:
        rule = "a sweep runs in local workers or on a Dask cluster"
        raise InvalidInputError(message(rule, got="both", remedy="leave workers out: the cluster has its own"))
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InvalidInputError(message("workers must be 1 or more", got=repr(workers), remedy="pass a whole number"))
    return workers
