"""Atomic writing of files."""

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
    """
    target = Path(path)
    try:
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
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~umask())
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def umask() -> int:
    """Return the umask of this process, which Python can only read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
