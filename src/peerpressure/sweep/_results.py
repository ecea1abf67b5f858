"""Results of a sweep: one checksummed file per unit, the table of all units, and the status.

``units/ab/abcd….json`` holds ``{"checksum":…,"unit":{…}}``, where the checksum is that of the text of the unit.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, final

from peerpressure.errors import FileFormatError, message
from peerpressure.support.files import expanded, remove_leftovers, replacing, table_format
from peerpressure.support.provenance import SCHEMA_VERSION
from peerpressure.sweep._ledger import (
    DamagedSweepError,
    Ledger,
    OtherSweepError,
    UnfinishedSweepError,
    damaged,
    is_held,
    open_ledger,
)
from peerpressure.sweep.plan import REPLICATION, Fingerprint, Plan, Unit, canonical, hash_bytes, hash_text, unit_key

if TYPE_CHECKING:
    import pandas as pd


# A status lists at most this many failures, since it is polled; the ledger keeps all of them.
_MOST_FAILURES = 100
UNITS = "units"
_AGAIN = "run the sweep again to recompute this unit"
_FILE = re.compile(r"([0-9a-f]{32})\.json")
# The checksum comes first and covers the exact text after it: verification does not depend on how JSON is formatted.
# Files of earlier versions have no version of their schema.
_HEAD = re.compile(
    rb'\{(?:"schema_version":1,)?"checksum":"([0-9a-f]{32})",'
    rb'"unit":(\{"fingerprint":"([0-9a-f]{32})","key":"([0-9a-f]{32})",)'
)


class UnitResult(NamedTuple):
    """The rows of a unit, with the unit's description."""

    fingerprint: str
    key: str
    parameters: dict[str, Any]
    replication: int
    rows: list[dict[str, Any]]


def result_path(folder: Path, key: str) -> Path:
    """Return the file of a unit's result; 256 folders share them, to keep each small enough to list."""
    return folder / UNITS / key[:2] / f"{key}.json"


def write_result(folder: Path, fingerprint: str, unit: Unit, rows: str) -> None:
    """Write the rows of a unit, given as JSON."""
    # Joined as text: rows and parameters are JSON already, and parsing them again would cost time and could change
    # digits.
    body = (
        f'{{"fingerprint":"{fingerprint}","key":"{unit.key}","parameters":{unit.parameters},'
        f'"replication":{unit.replication},"rows":{rows}}}'
    )
    path = result_path(folder, unit.key)
    # Workers create folders concurrently, hence exist_ok.
    path.parent.mkdir(parents=True, exist_ok=True)
    # A run of the whole sweep removes what others left, once for all units.
    with replacing(path, clear=False) as file:
        file.write(f'{{"schema_version":{SCHEMA_VERSION},"checksum":"{hash_text(body)}","unit":{body}}}'.encode())


def read_result(folder: Path, key: str, fingerprint: Fingerprint) -> UnitResult:
    """Read the result of a unit; raise DamagedSweepError for a damaged file."""
    try:
        body, _ = _verified(folder, key)
        # Extra or missing fields raise TypeError here, which counts as damage.
        result = UnitResult(**json.loads(bytes(body)))
        # The point in the table is that of the parameters, so these must be the unit's.
        if unit_key(fingerprint.task, canonical(result.parameters), result.replication) != key:
            raise ValueError("the result of another unit")
    except (OSError, ValueError, TypeError) as error:
        rule, got = "a result file must be as it was written", f"{result_path(folder, key)} ({error})"
        raise DamagedSweepError(message(rule, got=got, remedy=_AGAIN)) from error
    return result


def _verified(folder: Path, key: str) -> tuple[memoryview, str]:
    """Return the text of a unit's result and its fingerprint; raise if the bytes are not those that were written."""
    data = result_path(folder, key).read_bytes()
    head = _HEAD.match(data)
    if head is None or not data.endswith(b"}"):
        raise ValueError("other bytes than were written")
    body = memoryview(data)[head.start(2) : -1]
    if hash_bytes(body) != head[1].decode():
        raise ValueError("other bytes than were written")
    # An intact file under another name, such as a copy, would otherwise enter the table at the wrong point.
    if head[4].decode() != key:
        raise ValueError("the result of another unit")
    return body, head[3].decode()


def held_fingerprint(folder: Path, key: str) -> str | None:
    """Return the fingerprint in the result file of a unit; None if the file is missing or damaged."""
    try:
        return _verified(folder, key)[1]
    except (OSError, ValueError):
        return None


def damaged_keys(folder: Path, keys: Iterable[str], fingerprint: Fingerprint) -> set[str]:
    """Return the units whose result files are missing, damaged, or of another sweep."""
    # The texts are not parsed, so this takes little more than reading the files.
    digest = fingerprint.digest
    return {key for key in keys if held_fingerprint(folder, key) != digest}


def kept_keys(folder: Path) -> set[str]:
    """Return the keys of all units that have a result file."""
    return {match[1] for entry in _entries(folder) if (match := _FILE.fullmatch(entry.name))}


def remove_parts(folder: Path) -> None:
    """Delete half-written files of killed processes."""
    for shard in _shards(folder):
        remove_leftovers(shard)


def remove_results(folder: Path) -> None:
    """Delete all result files and nothing else."""
    remove_parts(folder)
    for key in kept_keys(folder):
        result_path(folder, key).unlink(missing_ok=True)


def _shards(folder: Path) -> list[Path]:
    # Only folders of this module's form; callers match the names and never touch other files in the folder.
    return sorted((folder / UNITS).glob("[0-9a-f][0-9a-f]"))


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    for shard in _shards(folder):
        with os.scandir(shard) as entries:
            yield from entries


def collect(folder: str | os.PathLike[str], *, plan: Plan | None = None, partial: bool = False) -> pd.DataFrame:
    """Return the table of a finished sweep, in the order of its plan.

    The table does not depend on how the units were computed.

    Parameters
    ----------
    folder : path-like
        Folder of the sweep.
    plan : Plan, optional
        The plan that the folder must hold.
    partial : bool, default False
        Whether to return the finished units of an unfinished sweep.

    Returns
    -------
    pandas.DataFrame
        A column per axis, the replication, and the columns of the task.

    Raises
    ------
    UnfinishedSweepError
        If the sweep is not finished and ``partial`` is not set.
    DamagedSweepError
        If the ledger or a result file is damaged.
    OtherSweepError
        If a result belongs to another task, version or seed, or the folder holds another plan.

    See Also
    --------
    write_table : Writes the table to a file.

    Examples
    --------
    ::

        collect("results").columns.tolist()
    """
    where = expanded(folder)
    with open_ledger(where) as ledger:
        _check_plan(ledger, plan, where)
        # Read in one go: a running sweep may change the ledger while the result files are read below.
        fingerprint, states = ledger.fingerprint(), ledger.states()
        if fingerprint is None:
            raise damaged("no plan")
        axes, keys = ledger.table_order()
        labels = ledger.labels()
    done = [key for key in keys if states.get(key) == "done"]
    if len(done) < len(keys) and not partial:
        failed = sum(state == "failed" for state in states.values())
        got = f"{len(done)} of {len(keys)} done, {failed} failed"
        remedy = "run it again (with failed units retried), or ask for the partial table"
        raise UnfinishedSweepError(message("a sweep must be finished to be collected", got=got, remedy=remedy))
    return _frame(axes, list(_records(where, axes, done, fingerprint, labels)))


def _check_plan(ledger: Ledger, plan: Plan | None, folder: Path) -> None:
    """Refuse results of another plan, such as that of a sweep file before it was edited."""
    if plan is None or ledger.holds(plan):
        return
    states = ledger.states() if ledger.fingerprint() == plan.fingerprint else {}
    there = sum(states.get(unit.key) == "done" for unit in plan.units)
    rule = f"results in {folder} must be of the sweep as it is described now"
    got = f"those of another version, which has {there:,} of its {len(plan):,} units"
    raise OtherSweepError(message(rule, got=got, remedy="run the sweep, or name the folder for the results in it"))


def write_table(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table as .csv or .parquet, atomically; floats read back exactly.

    Parameters
    ----------
    table : pandas.DataFrame
        The table.
    path : path-like
        The file, whose suffix decides the format.

    Raises
    ------
    FileFormatError
        If the suffix is another one, pyarrow is missing for Parquet, or Parquet has no type for a column.

    See Also
    --------
    collect : The table of a sweep.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> from pathlib import Path
    >>> from peerpressure.sweep import write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(pd.DataFrame({"spread": [0.5]}), Path(folder, "table.csv"))
    ...     Path(folder, "table.csv").read_text().split()
    ['spread', '0.5']
    """
    kind = table_format(path)
    with replacing(expanded(path)) as file:
        if kind == "csv":
            # A fixed line terminator gives the same bytes on all systems; pandas writes floats with their shortest
            # exact repr.
            file.write(table.to_csv(index=False, lineterminator="\n").encode())
        else:
            _write_parquet(table, file)


def _write_parquet(table: pd.DataFrame, file: IO[bytes]) -> None:
    from pyarrow import ArrowException

    try:
        table.to_parquet(file, index=False, engine="pyarrow")
    except ArrowException as error:
        # A column of Parquet has one type; labels of agents and values of an axis may be numbers and texts.
        rule, remedy = "a column of a Parquet file must have one type", "write the table as .csv"
        raise FileFormatError(message(rule, got=error, remedy=remedy)) from error


def _records(
    folder: Path, axes: Sequence[str], keys: Sequence[str], held: Fingerprint, labels: Mapping[str, Mapping[str, str]]
) -> Iterator[dict[str, Any]]:
    digest = held.digest
    for key in keys:
        result = read_result(folder, key, held)
        if result.fingerprint != digest:
            rule = f"all results in {folder} must be of one task, version and seed"
            raise OtherSweepError(message(rule, got=f"another at unit {key}", remedy=_AGAIN))
        cells = {name: _cell(result.parameters[name], labels.get(name, {})) for name in axes}
        point = cells | {REPLICATION: result.replication}
        # Tasks are not allowed to repeat parameter names, so no column overwrites another.
        yield from (point | row for row in result.rows)


def _cell(value: object, labels: Mapping[str, str]) -> object:
    """Return a parameter as a cell: its label, if it has one; another list or table becomes JSON."""
    if labels:
        return labels.get(canonical(value), value)
    return json.dumps(value, sort_keys=True) if isinstance(value, (list, dict)) else value


def _frame(axes: Sequence[str], records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    # Columns of the task in the order of first appearance; units may return different ones.
    names = dict.fromkeys([*axes, REPLICATION, *(name for record in records for name in record)])
    return pd.DataFrame({name: _column([record.get(name) for record in records]) for name in names})


def _column(values: Sequence[Any]) -> pd.Series:
    import pandas as pd

    present = [value for value in values if value is not None]
    # Whole numbers with gaps stay whole numbers: floats lose digits above 2⁵³.
    if len(present) == len(values) or not present or not all(type(value) is int for value in present):
        return pd.Series(values)
    # Int64 is pandas' integer type with missing values; larger integers stay Python objects.
    return pd.Series(values, dtype="Int64" if max(map(abs, present)) < 2**63 else object)


class Failure(NamedTuple):
    """A unit that raised.

    Attributes
    ----------
    key : str
        Key of the unit.
    parameters : str
        Its parameters as JSON.
    replication : int
        Its replication, from 0.
    error : str
        First line of the error.

    See Also
    --------
    SweepStatus : Has the first failures.

    Examples
    --------
    >>> from peerpressure.sweep import Failure
    >>> Failure("3f2a", '{"noise": 0.1}', 0, "ValueError: no").error
    'ValueError: no'
    """

    key: str
    parameters: str
    replication: int
    error: str


@final
@dataclass(frozen=True)
class SweepStatus:
    """The number of units in each state, the first failures, and an estimate of the remaining time.

    Attributes
    ----------
    planned, running, done, failed : int
        Number of units in each state.
    failures : tuple of Failure
        The first failures.
    seconds_left : float or None
        Estimate in seconds; None before the first unit is done.
    active : bool
        Whether a process runs the sweep.
    damaged : int, default 0
        Units among the planned ones that were done and whose result files are missing or not as they were written.
    recomputed : int, default 0
        Such units that this run has computed again.

    See Also
    --------
    status : Returns it.

    Examples
    --------
    >>> from peerpressure.sweep import SweepStatus
    >>> print(SweepStatus(planned=0, running=0, done=2, failed=0, failures=(), seconds_left=0.0, active=False))
    2 of 2 done, 0 failed, 0 running
    """

    planned: int
    running: int
    done: int
    failed: int
    failures: tuple[Failure, ...]
    seconds_left: float | None
    active: bool
    damaged: int = 0
    recomputed: int = 0

    @property
    def total(self) -> int:
        """The number of units in the plan."""
        return self.planned + self.running + self.done + self.failed

    @property
    def complete(self) -> bool:
        """Whether every unit is done."""
        return self.done == self.total

    def __str__(self) -> str:
        waits = self.seconds_left is not None and self.planned + self.running > 0
        left = f", about {self.seconds_left:.0f} s left" if waits else ""
        counts = f"{self.done} of {self.total} done, {self.failed} failed, {self.running} running{left}"
        return counts + self._damage()

    def _damage(self) -> str:
        if self.damaged:
            return f"; {self.planned} to compute, {self.damaged} of them damaged: run the sweep again"
        return f"; {self.recomputed} computed again, since their files were damaged" if self.recomputed else ""


def status(folder: str | os.PathLike[str], *, plan: Plan | None = None) -> SweepStatus:
    """Return the status of a sweep, whether or not a process runs it.

    Parameters
    ----------
    folder : path-like
        Folder of the sweep.
    plan : Plan, optional
        The plan that the folder must hold.

    Returns
    -------
    SweepStatus
        Counts of units by state, failures, and an estimate of the remaining time.

    Raises
    ------
    OtherSweepError
        If the folder holds another plan.
    SweepError
        If the folder contains no sweep, or its ledger cannot be read.

    See Also
    --------
    run_sweep : Runs or continues a sweep.

    Examples
    --------
    ::

        print(status("results"))
    """
    where = expanded(folder)
    with open_ledger(where) as ledger:
        _check_plan(ledger, plan, where)
        held = ledger.fingerprint()
        done = [key for key, state in ledger.states().items() if state == "done"]
        lost = set() if held is None else damaged_keys(where, done, held)
        # A process that runs the sweep may have settled some of them in the meantime.
        return read_status(ledger, active=is_held(where), damaged=lost)


def read_status(
    ledger: Ledger, *, active: bool, damaged: Collection[str] = (), recomputed: Collection[str] = ()
) -> SweepStatus:
    """Return the status from an open ledger; damaged units count as planned, recomputed ones if they are done."""
    states = ledger.states()
    lost, again = (sum(states.get(key) == "done" for key in keys) for keys in (damaged, recomputed))
    counts = ledger.counts()
    counts |= {"done": counts["done"] - lost, "planned": counts["planned"] + lost}
    failures = tuple(
        Failure(key, parameters, replication, first_line(text))
        for key, parameters, replication, text in ledger.failures(_MOST_FAILURES)
    )
    waiting, typical = counts["planned"] + counts["running"], ledger.mean_seconds()
    # Assumes that the remaining units are like the finished ones, and that workers share them evenly.
    left = None if typical is None else waiting * typical / ledger.workers()
    return SweepStatus(**counts, failures=failures, seconds_left=left, active=active, damaged=lost, recomputed=again)


def first_line(report: str) -> str:
    r"""Return the line of a traceback that names the error.

    >>> first_line("Traceback …:\n  File …\n    boom()\nValueError: no such\nluck\n")
    'ValueError: no such'
    """
    lines = [line for line in report.splitlines() if line.strip()]
    # Lines of frames are indented; the first line after the last of them is the error. Its message may have more lines.
    after = [i for i, line in enumerate(lines) if line.startswith("  ")]
    return lines[min(after[-1] + 1, len(lines) - 1) if after else 0] if lines else "unknown"
