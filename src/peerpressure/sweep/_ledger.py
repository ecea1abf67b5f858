"""The ledger of a sweep: its units and their states in SQLite, the lock of the folder, and the errors of sweeps.

Write-ahead logging lets other processes read the status while a sweep runs. A commit does not wait for the disk: after
a power cut the last commits may be lost, and the result files determine what is done.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple, final

from peerpressure.errors import InvalidInputError, PeerPressureError, message
from peerpressure.sweep.plan import Fingerprint, Plan, canonical


class SweepError(PeerPressureError):
    """A sweep cannot start or continue."""


class MissingSweepError(SweepError, InvalidInputError):
    """A folder contains no sweep."""


class SweepBusyError(SweepError):
    """Another process runs the same sweep."""


class OtherSweepError(SweepError):
    """A folder contains results of another task, version or seed."""


class DamagedSweepError(SweepError):
    """The ledger or a result file is damaged."""


class UnfinishedSweepError(SweepError):
    """The table of a sweep was requested before all its units were finished."""


def damaged(why: str) -> DamagedSweepError:
    """Return the error for a damaged ledger."""
    remedy = "run the sweep again: the ledger is rebuilt from the results on disk"
    return DamagedSweepError(message("the ledger must be as it was written", got=why, remedy=remedy))


def no_room(got: str) -> SweepError:
    """Return the error for a disk that is full or not writable."""
    remedy = "free some space, or see who may write there, and run the sweep again"
    return SweepError(message("results must be written to disk", got=got, remedy=remedy))


LOCK = "lock"
SHARDS = "shards"  # the folder of the ledgers of parts
_TRIES = 5  # a status command holds the lock for an instant
_PLACE = 2**30  # the byte that Windows locks: a locked byte cannot be read, so it lies beyond the text


@contextlib.contextmanager
def holding(folder: Path) -> Iterator[None]:
    """Lock the sweep in ``folder`` against other processes during the block.

    The operating system releases the lock however the process ends, so a lock is never stale; the file only names
    its holder.
    """
    with _lock_file(folder) as file:
        _acquire(file, folder)
        # Only the holder of the lock writes, so the name in the file is that of the process that runs the sweep.
        try:
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
        except OSError as error:
            raise no_room(f"{folder} ({error.strerror})") from error
        try:
            yield
        finally:
            # The file stays: if it were removed, two processes could each lock a file of this name.
            file.truncate(0)


@contextlib.contextmanager
def sharing(folder: Path) -> Iterator[None]:
    """Lock the sweep in ``folder`` against processes that run all of it; others may compute parts of it."""
    with _lock_file(folder) as file:
        _acquire(file, folder, shared=True)
        yield


def _lock_file(folder: Path) -> IO[bytes]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Append mode creates the file but does not truncate it: until the lock is acquired the text names another
        # process.
        return open(folder / LOCK, "ab+", buffering=0)
    except OSError as error:
        got = f"{folder} ({error.strerror})"
        raise SweepError(
            message("a sweep needs a folder to write to", got=got, remedy="choose another folder")
        ) from error


def is_held(folder: Path) -> bool:
    """Return whether a process runs the sweep."""
    try:
        with open(folder / LOCK, "rb", buffering=0) as file:
            # Shared: two simultaneous status commands must not take each other for a running sweep.
            _lock(file, shared=True)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _acquire(file: IO[bytes], folder: Path, *, shared: bool = False) -> None:
    for _ in range(_TRIES):
        try:
            _lock(file, shared=shared)
            return
        except BlockingIOError:
            # Together a quarter of a second, much longer than a status command takes the lock.
            time.sleep(0.05)
    file.seek(0)
    holder = file.read().decode() or "another process"
    rule = f"one process at a time may run the sweep in {folder}"
    raise SweepBusyError(message(rule, got=f"{holder} at work on it", remedy="wait for it, or end it and run again"))


# Locks of the operating system, not a file with a process id: ids are reused, and a killed process removes nothing.
try:
    import fcntl
except ImportError:
    import msvcrt

    def _lock(file: IO[bytes], *, shared: bool = False) -> None:
        """Lock a file until it is closed, or raise BlockingIOError at once; Windows has no shared locks."""
        file.seek(_PLACE)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError as error:
            raise BlockingIOError(*error.args) from error

else:

    def _lock(file: IO[bytes], *, shared: bool = False) -> None:
        """Lock a file until it is closed, or raise BlockingIOError at once."""
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


STATES = ("planned", "running", "done", "failed")
LEDGER = "ledger.sqlite"
_PATIENCE = 30.0  # seconds to wait for another process's write
# The parameters are stored as text to list failures without the plan.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unit (
    key TEXT PRIMARY KEY,
    position INTEGER,  -- in the table; none when a former plan had this unit and the present one has not
    parameters TEXT NOT NULL,
    replication INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'planned' CHECK (state IN ('planned', 'running', 'done', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    traceback TEXT,
    seconds REAL
) WITHOUT ROWID;
"""
# An upsert keeps state, attempts and traceback of a unit that an earlier plan had already.
_REGISTER = """
INSERT INTO unit (key, position, parameters, replication) VALUES (?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET position = excluded.position, parameters = excluded.parameters,
                                replication = excluded.replication
"""


class UnitOutcome(NamedTuple):
    """The outcome of a unit: the seconds it took, if they are known, and the traceback if it raised."""

    key: str
    seconds: float | None
    traceback: str | None


@contextlib.contextmanager
def open_ledger(folder: Path, *, create: bool = False) -> Iterator[Ledger]:
    """Open the ledger of a sweep, once SQLite has checked its file; errors of SQLite become a SweepError."""
    path = folder / LEDGER
    if not create and not path.is_file():
        rule, remedy = "the folder must hold results of a sweep", "run the sweep, or name its folder"
        if (folder / SHARDS).is_dir():
            rule = "the parts of a sweep must be merged"
            remedy = "when all have ended, run it without a part: what they have finished is kept"
        raise MissingSweepError(message(rule, got=folder, remedy=remedy))
    try:
        # Autocommit: transactions are explicit, in _transaction, and sqlite3 opens none implicitly.
        with contextlib.closing(sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            # In WAL mode NORMAL cannot corrupt the file; it only gives up the durability of the last commits.
            connection.execute("PRAGMA synchronous = NORMAL")
            if create:
                connection.executescript(_SCHEMA)
            ledger = Ledger(connection)
            ledger.check()
            yield ledger
    # A programming error of the caller, such as use after closing, is no damage and must not rebuild the ledger.
    except sqlite3.ProgrammingError:
        raise
    except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite may quote damaged text in its own message
        raise _translated(error, path) from error


def set_aside(folder: Path) -> None:
    """Rename a damaged ledger, to make room for a new one from plan and result files."""
    path = folder / LEDGER
    # The log belongs to the damaged file; SQLite would replay it into the new ledger.
    for end in ("-wal", "-shm"):
        path.with_name(LEDGER + end).unlink(missing_ok=True)
    if path.exists():
        path.replace(path.with_name(LEDGER + ".damaged"))


def shard_folder(folder: Path, number: int, of: int) -> Path:
    """Return where the ledger of a part is: each has its own, since SQLite cannot share one between machines."""
    return folder / SHARDS / f"{number}-of-{of}"


def shard_folders(folder: Path) -> list[Path]:
    """Return the folders of all parts that have been run and not merged yet."""
    return sorted((folder / SHARDS).glob("*-of-*"))


def remove_shards(folder: Path) -> None:
    """Delete the ledgers of parts, under the lock of the whole sweep: no part is running."""
    for place in shard_folders(folder):
        remove_ledger(place)
        for name in (LOCK, LEDGER + ".damaged"):
            (place / name).unlink(missing_ok=True)
    # Files of others in these folders stay.
    for place in (*shard_folders(folder), folder / SHARDS):
        with contextlib.suppress(OSError):
            place.rmdir()


def remove_ledger(folder: Path) -> None:
    """Delete a ledger."""
    for end in ("", "-wal", "-shm"):
        (folder / (LEDGER + end)).unlink(missing_ok=True)


@final
class Ledger:
    """An open ledger; ``open_ledger`` makes one."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def check(self) -> None:
        """Raise DamagedSweepError if the file is damaged."""
        # SQLite's quick check ignores the order of keys, on which look-ups depend.
        (verdict,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise damaged(verdict)

    def fingerprint(self) -> Fingerprint | None:
        """Return the fingerprint of the results; None if no plan was registered."""
        facts = self._facts()
        if not facts:
            return None
        # Ledgers from before there was a choice have no line for it.
        kind = facts.get("random_numbers", "independent")
        return Fingerprint(facts["task"], facts["version"], int(facts["seed"]), kind)

    def register(self, plan: Plan) -> None:
        """Replace the units of the ledger by those of a plan; known states are kept."""
        facts = {name: str(value) for name, value in plan.fingerprint._asdict().items()}
        facts |= {"axes": json.dumps(list(plan.axes)), "labels": json.dumps(_label_of_value(plan))}
        # Registering millions of units takes long; a repeated run of the same plan skips it.
        if facts.items() <= self._facts().items() and self.holds(plan):
            return
        facts["workers"] = "1"
        rows = ((unit.key, i, unit.parameters, unit.replication) for i, unit in enumerate(plan.units))
        with self._transaction() as connection:
            # Units of an earlier plan stay in the ledger without a position: a later plan may contain them again.
            connection.execute("UPDATE unit SET position = NULL")
            connection.executemany(_REGISTER, rows)
            connection.executemany("INSERT OR REPLACE INTO fact VALUES (?, ?)", facts.items())

    def holds(self, plan: Plan) -> bool:
        """Return whether the ledger is of a plan: of its units, in their order, with its seed."""
        keys = [unit.key for unit in plan.units]
        return self.fingerprint() == plan.fingerprint and self.table_order() == (list(plan.axes), keys)

    def states(self) -> dict[str, str]:
        """Return the state of each unit of the plan, in its order."""
        query = "SELECT key, state FROM unit WHERE position IS NOT NULL ORDER BY position"
        return dict(self._connection.execute(query))

    def table_order(self) -> tuple[list[str], list[str]]:
        """Return axes and keys of the final table."""
        query = "SELECT key FROM unit WHERE position IS NOT NULL ORDER BY position"
        return json.loads(self._facts()["axes"]), [key for (key,) in self._connection.execute(query)]

    def labels(self) -> dict[str, dict[str, str]]:
        """Return the labels of the values of axes that have some, by the canonical texts of the values."""
        labels: dict[str, dict[str, str]] = json.loads(self._facts()["labels"])
        return labels

    def begin(self, keys: Iterable[str]) -> None:
        """Mark units as running."""
        query = "UPDATE unit SET state = 'running', attempts = attempts + 1 WHERE key = ?"
        self._change(query, [(key,) for key in keys])

    def finish(self, outcomes: Iterable[UnitOutcome]) -> None:
        """Mark units as done or failed."""
        query = "UPDATE unit SET state = ?, seconds = ?, traceback = ? WHERE key = ?"
        self._change(query, [("failed" if o.traceback else "done", o.seconds, o.traceback, o.key) for o in outcomes])

    def mark(self, state: str, keys: Iterable[str]) -> None:
        """Set the state of units, from their files or back to planned."""
        self._change("UPDATE unit SET state = ?, traceback = NULL WHERE key = ?", [(state, key) for key in keys])

    def set_workers(self, number: int) -> None:
        """Record how many units are computed at a time."""
        self._change("UPDATE fact SET value = ? WHERE name = 'workers'", [(str(number),)])

    def workers(self) -> int:
        """Return how many units are, or were, computed at a time."""
        return int(self._facts().get("workers", "1"))

    def counts(self) -> dict[str, int]:
        """Return how many units of the plan are in each state."""
        query = "SELECT state, count(*) FROM unit WHERE position IS NOT NULL GROUP BY state"
        counts = dict(self._connection.execute(query))
        return {state: counts.get(state, 0) for state in STATES}

    def mean_seconds(self) -> float | None:
        """Return the mean duration of a finished unit."""
        query = "SELECT avg(seconds) FROM unit WHERE state = 'done' AND position IS NOT NULL"
        # Failed units are left out: the time until an error is no evidence for the duration of a unit that succeeds.
        (mean,) = self._connection.execute(query).fetchone()
        return None if mean is None else float(mean)

    def failures(self, limit: int) -> list[tuple[str, str, int, str]]:
        """Return (key, parameters, replication, traceback) of the first failed units."""
        query = """SELECT key, parameters, replication, coalesce(traceback, '') FROM unit
                   WHERE state = 'failed' AND position IS NOT NULL ORDER BY position LIMIT ?"""
        return self._connection.execute(query, (limit,)).fetchall()

    def _facts(self) -> Mapping[str, str]:
        return dict(self._connection.execute("SELECT name, value FROM fact"))

    def _change(self, query: str, rows: Sequence[tuple[object, ...]]) -> None:
        with self._transaction() as connection:
            # Fewer changed rows than keys means that units are missing, which an UPDATE does not report by itself.
            if rows and connection.executemany(query, rows).rowcount != len(rows):
                raise damaged("units that are missing")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        # IMMEDIATE takes the write lock at the start; a deferred transaction could fail halfway when it first writes.
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        # BaseException: Ctrl-C between the statements must not leave a transaction open.
        except BaseException:
            self._connection.rollback()
            raise
        self._connection.commit()


def _label_of_value(plan: Plan) -> dict[str, dict[str, str]]:
    return {
        name: dict(zip(map(canonical, plan.values[name]), texts, strict=True)) for name, texts in plan.labels.items()
    }


def _translated(error: Exception, path: Path) -> SweepError:
    # Errors without a code, such as text that is not UTF-8, come from damaged content.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    # A file that was cut short is an I/O error for SQLite, but no sign of a full disk.
    if code == sqlite3.SQLITE_IOERR_SHORT_READ:
        return damaged(f"{path} ({error})")
    # Extended error codes have the primary code in their low byte.
    if code & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return no_room(f"{path} ({error})")
    if code & 0xFF in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY):
        rule = "the ledger must be open to this process"
        return SweepError(message(rule, got=f"{path} ({error})", remedy="see who owns it or has it open"))
    return damaged(f"{path} ({error})")
