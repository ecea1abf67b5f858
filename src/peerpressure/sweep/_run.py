"""The verb that runs a sweep: plan, ledger, result files and runner brought together."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from peerpressure.errors import InvalidInputError, message
from peerpressure.progress import reporter
from peerpressure.sweep._ledger import (
    DamagedSweepError,
    Ledger,
    OtherSweepError,
    holding,
    open_ledger,
    remove_ledger,
    set_aside,
)
from peerpressure.sweep._plan import Fingerprint, Plan
from peerpressure.sweep._results import (
    SweepStatus,
    kept_keys,
    read_result,
    read_status,
    remove_leftovers,
    remove_results,
    result_path,
)
from peerpressure.sweep._work import Work, load_task

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
    """Compute the units of a plan that ``folder`` does not hold yet, and return how it went.

    Units run in ``workers`` processes (one per core by default), or on the Dask cluster at the address ``dask``. The
    sweep may be interrupted or killed at any time and run again; finished units are not computed twice. A unit that
    raises is recorded and left alone until ``retry_failed``. ``fresh`` first deletes what the folder holds.
    """
    where = Path(folder)
    load_task(plan.task)
    lanes = _checked_workers(workers, dask)
    with holding(where):
        remove_leftovers(where)
        if fresh:
            remove_ledger(where)
            remove_results(where)
        try:
            return _run(plan, where, lanes, dask, retry_failed, progress)
        except DamagedSweepError:
            # The plan says what the units are and their files what is done: a new ledger loses nothing but failures.
            set_aside(where)
            return _run(plan, where, lanes, dask, retry_failed, progress)


def _run(
    plan: Plan, folder: Path, workers: int, dask: str | None, retry_failed: bool, progress: Progress
) -> SweepStatus:
    with open_ledger(folder, create=True) as ledger:
        ledger.check()
        _refuse_other(ledger.fingerprint(), plan.fingerprint, folder)
        # The files are read before the plan is registered, so that a refusal leaves the ledger as it was.
        kept = kept_keys(folder)
        found = _finished_unmarked(ledger, plan, folder, kept)
        ledger.register(plan)
        _settle(ledger, kept, found, retry_failed)
        states = ledger.states()
        units = [unit for unit in plan.units if states[unit.key] == "planned"]
        done = sum(state == "done" for state in states.values())
        try:
            with reporter(progress, len(plan)) as report:
                report(done)
                _compute(Work(ledger, units, done, report), plan, folder, workers, dask)
        finally:
            ledger.mark("planned", [key for key, state in ledger.states().items() if state == "running"])
        return read_status(ledger, active=False)


def _compute(work: Work, plan: Plan, folder: Path, workers: int, dask: str | None) -> None:
    if work.finished:
        return
    if dask is not None:
        from peerpressure.sweep._dask import run_on_dask

        run_on_dask(work, plan, folder, dask)
    else:
        from peerpressure.sweep._local import run_locally

        run_locally(work, plan, folder, workers)


def _finished_unmarked(ledger: Ledger, plan: Plan, folder: Path, kept: set[str]) -> list[str]:
    """Return the units whose results outlived a killed process or a lost ledger."""
    states = ledger.states()
    unmarked = [unit.key for unit in plan.units if unit.key in kept and states.get(unit.key) != "done"]
    return [key for key in unmarked if _usable(folder, key, plan.fingerprint)]


def _settle(ledger: Ledger, kept: set[str], found: list[str], retry_failed: bool) -> None:
    """Bring the ledger into line with the result files, and put back what nobody computes any more."""
    again = {"running", "failed"} if retry_failed else {"running"}
    states = ledger.states().items()
    ledger.mark("planned", [key for key, state in states if state in again or (state == "done" and key not in kept)])
    ledger.mark("done", found)


def _usable(folder: Path, key: str, fingerprint: Fingerprint) -> bool:
    """Return whether a result file is whole; one that is not makes room for a new one."""
    try:
        result = read_result(folder, key, fingerprint)
    except DamagedSweepError:
        result_path(folder, key).unlink()
        return False
    if result.fingerprint != fingerprint.digest:
        raise OtherSweepError(_other(folder, "results of another version or seed"))
    return True


def _refuse_other(held: Fingerprint | None, wanted: Fingerprint, folder: Path) -> None:
    if held is not None and held != wanted:
        names = [name for name in Fingerprint._fields if getattr(held, name) != getattr(wanted, name)]
        differences = (f"{name} {getattr(held, name)}, not {getattr(wanted, name)}" for name in names)
        raise OtherSweepError(_other(folder, f"results of {' and '.join(differences)}"))


def _other(folder: Path, got: str) -> str:
    rule = f"all results in {folder} must be of one task, version and seed"
    return message(rule, got=got, remedy="choose another folder, or start fresh, which deletes these results")


def _checked_workers(workers: int | None, dask: str | None) -> int:
    if workers is None:
        from peerpressure.engine.plan import available_threads

        return available_threads()
    if dask is not None:
        rule = "a sweep runs in local workers or on a Dask cluster"
        raise InvalidInputError(message(rule, got="both", remedy="leave workers out: the cluster has its own"))
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InvalidInputError(message("workers must be 1 or more", got=repr(workers), remedy="pass a whole number"))
    return workers
