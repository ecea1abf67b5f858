"""One process at a time works on a sweep.

The operating system holds the lock and lets go of it when the process ends in whatever way, so a lock is never stale;
the file only tells who holds it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from peerpressure.errors import complain

from .errors import SweepBusyError, SweepError, no_room

_NAME = "lock"
_TRIES = 5  # a status command may look at the lock for an instant
_PLACE = 2**30  # the byte that Windows locks: nobody can read a locked one, so it lies beyond the text


@contextlib.contextmanager
def holding(folder: Path) -> Iterator[None]:
    """Keep others from running the sweep in ``folder`` while the block lasts."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / _NAME, "ab+", buffering=0)  # noqa: SIM115 — closed below, after the block
    except OSError as error:
        got = f"{folder} ({error.strerror})"
        raise SweepError(
            complain("a sweep needs a folder to write to", got=got, remedy="choose another folder")
        ) from error
    with file:
        _acquire(file, folder)
        try:
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
        except OSError as error:
            raise no_room(f"{folder} ({error.strerror})") from error
        try:
            yield
        finally:
            # The file stays: were it removed, two processes could each lock a file of this name.
            file.truncate(0)


def is_held(folder: Path) -> bool:
    """Return whether some process is at work on the sweep."""
    try:
        with open(folder / _NAME, "rb", buffering=0) as file:
            _lock(file, shared=True)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _acquire(file: IO[bytes], folder: Path) -> None:
    for _ in range(_TRIES):
        try:
            _lock(file)
            return
        except BlockingIOError:
            time.sleep(0.05)
    file.seek(0)
    holder = file.read().decode() or "another process"
    rule = f"one process at a time may run the sweep in {folder}"
    raise SweepBusyError(complain(rule, got=f"{holder} at work on it", remedy="wait for it, or end it and run again"))


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
