"""Atomic writing of files, their sizes in words, and what Parquet files need."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from peerpressure.errors import FileFormatError, message


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a temporary binary file that replaces ``path`` if the block succeeds, and is deleted otherwise.

    The new content is synced before the file is renamed, so an interrupted or killed writer leaves the old file
    unchanged.

    Raises
    ------
    FileFormatError
        If the file cannot be written.
    """
    target = Path(path)
    try:
        # In the folder of the target: a rename is atomic only within one file system.
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        remedy = "write to a folder that exists and may be written to"
        raise FileFormatError(
            message("a file must have a place to go", got=f"{target} ({error.strerror})", remedy=remedy)
        ) from error
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            # Before the rename, or a power failure could leave the new name with no content.
            os.fsync(file.fileno())
        # mkstemp creates files that only their owner can read; this restores what open() would have given.
        os.chmod(name, 0o666 & ~umask())
        os.replace(name, target)
    # KeyboardInterrupt as well: no partial file may be left behind.
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        # A full disk is an error of this package, as a missing folder is; an error with a message of its own stays.
        if isinstance(error, OSError) and not isinstance(error, FileFormatError):
            rule, remedy = f"{target} must be writable", "check that its disk has room"
            raise FileFormatError(message(rule, got=error.strerror or error, remedy=remedy)) from error
        raise


def umask() -> int:
    """Return the umask of this process, which Python can only read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def amount(size: float) -> str:
    """Return a number of bytes with a unit.

    >>> amount(2_722_720_000)
    '2.72 GB'
    """
    # Decimal units, as disks and file managers count.
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def require_pyarrow(file: str | Path) -> None:
    """Raise an error that names the remedy if Parquet files can be neither read nor written."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        remedy = "pip install pyarrow (peerpressure[parquet] brings it), or use .csv"
        raise FileFormatError(
            message("Parquet files need pyarrow, which is not installed", got=Path(file).name, remedy=remedy)
        ) from error
