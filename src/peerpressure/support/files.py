"""Files: paths, atomic writing, reading of bytes and text, and errors that name the file."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, Literal, TypeVar, final
from zipfile import BadZipFile

from peerpressure.errors import FileFormatError, InvalidInputError, PeerPressureError, TooLargeError
from peerpressure.support.resources import free_memory, too_large

# Windows has no such locks.
try:
    import fcntl as _fcntl
except ImportError:
    fcntl: Any = None
else:
    fcntl = _fcntl

Descriptor = TypeVar("Descriptor", int, int | None)

# What the readers of compressed and plain files raise for truncated or corrupted content.
DAMAGE = (OSError, EOFError, ValueError, BadZipFile, zlib.error)

TEXT_COPIES = 8  # bytes in memory, at the peak of reading a table, for each byte of its text

_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path in which a leading ``~`` is the home folder.

    >>> expanded("~/study") == Path.home() / "study"
    True
    """
    text = os.fspath(path)
    full = Path(os.path.expanduser(text))
    # A name without a separator, such as that of a backup, may begin with the sign.
    if text.startswith("~") and full == Path(text) and len(full.parts) > 1:
        rule, remedy = "a path with ~ must be in the home folder of a user", f"write ./{text} for a folder of that name"
        raise InvalidInputError(rule, got=text, remedy=remedy)
    return full


def relative_path(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> str:
    """Return a path as seen from a folder; absolute if they have only the root of the file system in common.

    >>> relative_path("study/people.csv", "study/results")
    '../people.csv'
    """
    # Links to folders are followed, because .. leaves the folder that a link leads to.
    full = os.path.join(os.path.realpath(Path(path).parent), Path(path).name)
    place = os.path.realpath(folder)
    try:
        shared = Path(os.path.commonpath([full, place]))
    except ValueError:
        # On different drives of Windows.
        return full
    # A relative path lets both be moved together.
    return full if shared == Path(shared.anchor) else Path(os.path.relpath(full, place)).as_posix()


# What a command reads and writes: no file may be both.


@final
class _Guard:
    """The inputs and the declared outputs of a command, by their absolute paths, as they were spelled."""

    def __init__(self) -> None:
        self.inputs: dict[Path, str] = {}
        self.outputs: dict[Path, str] = {}

    def check(self, output: Path, source: Path) -> None:
        """Raise if an input is the output, or lies in it."""
        real = source.resolve()
        if same_file(source, output):
            what = "the same file as the input"
        elif any(same_file(folder, output) for folder in (*source.parents, *real.parents)):
            what = "the folder of the input"
        else:
            return
        rule, remedy = "a result must not take the place of what it is made from", "write it somewhere else"
        got = f"{self.outputs.get(output, output)}, {what} {self.inputs[source]}"
        raise InvalidInputError(rule, got=got, remedy=remedy)


_GUARD: ContextVar[_Guard | None] = ContextVar("_GUARD", default=None)


@contextlib.contextmanager
def guarding_inputs() -> Iterator[None]:
    """Refuse to write, during the block, to what is read in it.

    Inputs are declared with `declare_input`. Outputs that take long to make are declared with `declare_output` before
    that work; any other is refused when `replacing` would write it.
    """
    token = _GUARD.set(_Guard())
    try:
        yield
    finally:
        _GUARD.reset(token)


def declare_input(path: str | os.PathLike[str]) -> None:
    """Declare a file that is read; raise InvalidInputError if it is an output, or in a folder that is one."""
    guard = _GUARD.get()
    if guard is not None:
        # Absolute, because the working directory may change.
        source = Path(os.path.abspath(path))
        guard.inputs[source] = os.fspath(path)
        for output in guard.outputs:
            guard.check(output, source)


def declared_inputs() -> list[Path]:
    """Return the files that have been declared as inputs so far, by their absolute paths, in that order."""
    guard = _GUARD.get()
    return [] if guard is None else list(guard.inputs)


def declare_output(path: str | os.PathLike[str]) -> None:
    """Declare a file that is written, or a folder that is replaced; raise InvalidInputError if an input would be."""
    guard = _GUARD.get()
    if guard is not None:
        guard.outputs[Path(os.path.abspath(path))] = os.fspath(path)
        check_output(path)


def check_output(path: str | os.PathLike[str]) -> None:
    """Raise InvalidInputError if writing to a file, or replacing a folder, would replace a declared input."""
    guard = _GUARD.get()
    if guard is not None:
        for source in guard.inputs:
            guard.check(Path(os.path.abspath(path)), source)


def require_new_folder(folder: Path, what: str) -> None:
    """Raise an error for a folder with files, which might be other than those of what is written there."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        rule = f"{what} is written to a folder of its own"
        raise InvalidInputError(rule, got=f"{folder}, which is not empty", remedy="name a new folder")


def same_file(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one file or folder that exists."""
    try:
        # The system compares them, because links, spellings and, on some systems, cases differ.
        return os.path.samefile(one, other)
    except OSError:
        # One of them does not exist, and so cannot be lost.
        return False


@contextlib.contextmanager
def replacing(path: str | Path, *, clear: bool = True) -> Iterator[IO[bytes]]:
    """Open a temporary binary file that replaces ``path`` if the block succeeds, and is deleted otherwise.

    The new content is synced before the file is renamed, so an interrupted or killed writer leaves the old file
    unchanged. What killed writers of the same file left is removed, unless ``clear`` is false.
    """
    target = expanded(path)
    check_output(target)
    try:
        if clear:
            remove_leftovers(target.parent, target.name)
        handle, name = _new_part(target, _make_file)
    except OSError as error:
        remedy = "write to a folder that exists and may be written to"
        raise FileFormatError(
            "a file must have a place to go", got=f"{target} ({error.strerror})", remedy=remedy
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
            if target.is_dir():
                remedy = "move the folder of this name away"
            raise FileFormatError(rule, got=error.strerror or error, remedy=remedy) from error
        raise


@contextlib.contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Make a hidden folder beside a target, which other processes leave alone during the block; remove leftovers."""
    remove_leftovers(target.parent, target.name)
    handle, name = _new_part(target, _make_folder)
    try:
        yield Path(name)
    finally:
        if handle is not None:
            os.close(handle)


def remove_leftovers(folder: Path, name: str | None = None) -> None:
    """Remove what killed processes left of writing files and folders: all in a folder, or those of one name.

    A process that is still writing holds a lock on its part. Systems without such locks do not delete open files.
    """
    pattern = re.compile(rf"\.{'.*' if name is None else re.escape(name)}\.[a-z0-9_]{{8}}\.part")
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        parts = [Path(entry.path) for entry in entries if pattern.fullmatch(entry.name) and not entry.is_symlink()]
        for part in parts:
            with contextlib.suppress(OSError):
                _remove_unless_locked(part)


def _remove_unless_locked(part: Path) -> None:
    handle = os.open(part, os.O_RDONLY) if fcntl is not None else None
    try:
        if handle is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not part.is_dir():
            part.unlink()
        elif handle is not None:
            shutil.rmtree(part)
    finally:
        if handle is not None:
            os.close(handle)


def _make_file(target: Path) -> tuple[int, str]:
    # In the folder of the target: a rename is atomic only within one file system.
    return tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")


def _make_folder(target: Path) -> tuple[int | None, str]:
    name = tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    return None if fcntl is None else os.open(name, os.O_RDONLY), name


def _new_part(target: Path, make: Callable[[Path], tuple[Descriptor, str]]) -> tuple[Descriptor, str]:
    """Make a hidden file or folder beside a target, locked while this process lives."""
    while True:
        handle, name = make(target)
        if handle is not None and fcntl is not None:
            # Some file systems have no locks.
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
        # Another process may have removed it before it was locked.
        if os.path.exists(name):
            return handle, name
        if handle is not None:
            os.close(handle)


def umask() -> int:
    """Return the umask of this process, which Python can only read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def require_pyarrow(file: str | Path) -> None:
    """Raise an error that names the remedy if Parquet files can be neither read nor written."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        remedy = "pip install pyarrow, or use .csv"
        raise FileFormatError(
            "Parquet files need pyarrow, which is not installed", got=Path(file).name, remedy=remedy
        ) from error


def table_format(path: str | os.PathLike[str]) -> Literal["csv", "parquet"]:
    """Return the format in which a table is written to a file, which its suffix decides.

    >>> table_format("estimates.CSV")
    'csv'
    """
    file = Path(path)
    match file.suffix.lower():
        case ".csv":
            return "csv"
        case ".parquet":
            require_pyarrow(file)
            return "parquet"
        case _:
            rule = "a table is written as .csv or .parquet"
            raise FileFormatError(rule, got=file.name, remedy="end the name in one of them")


@contextlib.contextmanager
def naming(
    file: str | Path, what: str, damage: type[Exception] | tuple[type[Exception], ...] = DAMAGE
) -> Iterator[None]:
    """Add the name of the file to every error.

    ``what`` names the kind of file, such as "a network file"; ``damage`` lists the exceptions of a damaged file.
    """
    try:
        yield
    except (InvalidInputError, TooLargeError) as error:
        # Same class, because callers catch the specific error.
        raise type(error)(f"{file}: {error}") from None
    except FileNotFoundError:
        raise FileFormatError(f"{what} must exist", got=file, remedy="check the path") from None
    except PeerPressureError as error:
        raise FileFormatError(f"{file}: {error}") from None
    except damage as error:
        rule, remedy = f"{file} must be readable as {Path(file).suffix}", "check that the suffix tells its format"
        raise FileFormatError(rule, got=f"{type(error).__name__}: {error}", remedy=remedy) from error


def read_bytes(file: Path) -> bytes:
    """Return the content of a file, decompressed if its suffix is .gz."""
    if file.suffix.lower() != ".gz":
        return file.read_bytes()
    # A few kilobytes of gzip may expand to gigabytes.
    memory = free_memory()
    limit = memory.free // TEXT_COPIES
    with gzip.open(file) as stream:
        # One byte more than allowed, which distinguishes a file of just that size from a larger one.
        data = stream.read(limit + 1)
    if len(data) > limit:
        # The rest of the file was not read, so its size is not known.
        raise too_large(memory, "more than that", what="a table", remedy="split the file, or use a larger machine")
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
        refused = FileFormatError(rule, got=got, remedy="save it as UTF-8 (in Excel: CSV UTF-8)")
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
        raise FileFormatError("a table must be UTF-8 text", got="zero bytes", remedy="save it as UTF-8")
    return text, encoding
