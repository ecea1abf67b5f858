"""What is on the disk: tables as CSV that read back as they were, a manifest that says what made them, whole files."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias

from peerpressure.files import replacing
from peerpressure.version import __version__

if TYPE_CHECKING:
    import pandas as pd


MANIFEST: Final = "manifest.json"
Files: TypeAlias = Mapping[str, bytes]  # by path below the folder
Content: TypeAlias = (
    bytes | Callable[[IO[bytes]], None]
)  # what is too large to be held at once is written by a function
PART = 1_000_000  # rows of a long table that are made at a time


def to_csv(table: pd.DataFrame) -> bytes:
    """Return a table as CSV; numbers are written in full, so that they read back to the last bit."""
    return bytes(table.to_csv(index=False, lineterminator="\n").encode())


def write_csv(tables: Iterable[pd.DataFrame], file: IO[bytes]) -> None:
    """Write tables with the same columns as one CSV."""
    for k, table in enumerate(tables):
        file.write(table.to_csv(index=False, lineterminator="\n", header=k == 0).encode())


def from_csv(data: bytes) -> pd.DataFrame:
    """Return the table that ``to_csv`` wrote, to the last bit; only an empty cell is a missing value."""
    import pandas as pd

    # Read by hand, for pandas' own reader steps the last bit or not, as its version has it.
    names, *rows = csv.reader(io.StringIO(data.decode(), newline=""))
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return pd.DataFrame({name: _typed(column) for name, column in zip(names, columns, strict=True)})


def _typed(texts: Sequence[str]) -> list[Any]:
    """Return a column's values as booleans, whole numbers, numbers or texts, whatever fits them all."""
    if texts and set(texts) <= {"True", "False"}:
        return [text == "True" for text in texts]
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return [kind(text) if text or kind is int else math.nan for text in texts]
    return [text or None for text in texts]


def request_key(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what results depend on: the request, the version, and the very sources, which a version may not tell."""
    return {"version": __version__, "sources": _sources(), **request}


def _sources() -> str:
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def manifest(key: Mapping[str, Any], files: Files) -> bytes:
    """Return what to write beside the files: what made them, and a hash of each."""
    content = {"made_with": dict(key), "files": {name: _hash(data) for name, data in sorted(files.items())}}
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def stored(folder: Path, key: Mapping[str, Any]) -> tuple[dict[str, bytes], frozenset[str]]:
    """Return those files that the same request made and nobody touched since, and the names of those it lacks."""
    try:
        content = json.loads((folder / MANIFEST).read_bytes())
        hashes = dict(content["files"]) if content["made_with"] == dict(key) else {}
    except (OSError, ValueError, KeyError, TypeError):
        # No manifest, or one that no run of ours left whole: there is nothing to trust.
        hashes = {}
    kept = {name: data for name, known in hashes.items() if (data := _read(folder / name)) and _hash(data) == known}
    return kept, frozenset(hashes) - set(kept)


def publish(folder: Path, files: Mapping[str, Content]) -> list[Path]:
    """Put files in their places one by one, each whole, in the given order; what is there already stays untouched."""
    written = []
    for name, data in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if callable(data):
            with replacing(target) as file:
                data(file)
        elif _read(target) != data:
            with replacing(target) as file:
                file.write(data)
        written.append(target)
    return written


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
