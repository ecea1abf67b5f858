"""Files: atomic writing, reading of bytes and text, errors that name the file, and sizes in words."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import os
import re
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from zipfile import BadZipFile

from peerpressure.errors import FileFormatError, InvalidInputError, PeerPressureError, message

# What the readers of compressed and plain files raise for truncated or corrupted content.
DAMAGE = (OSError, EOFError, ValueError, BadZipFile, zlib.error)

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


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
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} PB"


def require_pyarrow(file: str | Path) -> None:
    """Raise an error that names the remedy if Parquet files can be neither read nor written."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        remedy = "pip install pyarrow (peerpressure[parquet] brings it), or use .csv"
        raise FileFormatError(
            message("Parquet files need pyarrow, which is not installed", got=Path(file).name, remedy=remedy)
        ) from error


@contextlib.contextmanager
def naming(
    file: str | Path, what: str, damage: type[Exception] | tuple[type[Exception], ...] = DAMAGE
) -> Iterator[None]:
    """Add the name of the file to every error.

    ``what`` names the kind of file, such as "a network file"; ``damage`` lists the exceptions of a damaged file.
    """
    try:
        yield
    except InvalidInputError as error:
        # Same class, because callers catch the specific error.
        raise type(error)(f"{file}: {error}") from None
    except FileNotFoundError:
        raise _format_error(f"{what} must exist", file, "check the path") from None
    except PeerPressureError as error:
        raise FileFormatError(f"{file}: {error}") from None
    except damage as error:
        rule, remedy = f"{file} must be readable as {Path(file).suffix}", "check that the suffix tells its format"
        raise _format_error(rule, f"{type(error).__name__}: {error}", remedy) from error


def read_bytes(file: Path) -> bytes:
    """Return the content of a file, decompressed if its suffix is .gz."""
    if file.suffix.lower() != ".gz":
        return file.read_bytes()
    import psutil

    # A few kilobytes of gzip may expand to gigabytes.
    limit = psutil.virtual_memory().available // 8
    with gzip.open(file) as stream:
        # One byte more than allowed, which distinguishes a file of just that size from a larger one.
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise _format_error("a table must fit into memory", f"more than {limit} bytes", "use a larger machine")
    return data


def decode_text(data: bytes) -> tuple[str, str | None]:
    """Return the text of a file, and its encoding if that is a conclusion.

    UTF-8, and UTF-16 by its byte order mark, are recognised with certainty. Other bytes beyond ASCII are those of
    Windows-1252, which contains Latin-1, unless some of them are valid UTF-8: then the file is damaged.
    """
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = None
    try:
        # utf-8-sig drops the byte order mark of Excel, which would become part of the first name.
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        # The line is what a user can look up; an offset in bytes is not.
        line = data.count(b"\n", 0, error.start) + 1
        rule, got = "a table must be UTF-8 text", f"byte 0x{data[error.start]:02x} on line {line}"
        refused = _format_error(rule, got, "save it as UTF-8 (in Excel: CSV UTF-8)")
        if wide or not data.decode("utf-8", errors="ignore").isascii():
            raise refused from None
        try:
            text, encoding = data.decode("cp1252"), "Windows-1252"
        except UnicodeDecodeError:
            raise refused from None
        # Control characters occur in binary files only.
        if _CONTROL.search(text):
            raise refused from None
    # UTF-16 without a mark decodes as UTF-8 with a zero after each letter.
    if "\0" in text:
        raise _format_error("a table must be UTF-8 text", "zero bytes", "save it as UTF-8")
    return text, encoding


def _format_error(rule: str, got: object, remedy: str) -> FileFormatError:
    return FileFormatError(message(rule, got=got, remedy=remedy))
