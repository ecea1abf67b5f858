"""Result files: tables as lossless CSV, a manifest of what made them, and atomic writing."""

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

from peerpressure.support.files import replacing
from peerpressure.support.provenance import json_text, source_hash
from peerpressure.version import __version__

if TYPE_CHECKING:
    import pandas as pd


MANIFEST: Final = "manifest.json"
Files: TypeAlias = Mapping[str, bytes]  # by path below the folder
Content: TypeAlias = bytes | Callable[[IO[bytes]], None]  # a function writes what is too large for memory
PART = 1_000_000  # rows of a long table that are built at a time


def to_csv(table: pd.DataFrame) -> bytes:
    """Return a table as CSV; numbers have all their digits and read back exactly."""
    # Pandas writes the shortest text that reads back to the same double. A fixed line ending keeps the bytes, and
    # hence the hashes, independent of the operating system.
    return bytes(table.to_csv(index=False, lineterminator="\n").encode())


def write_csv(tables: Iterable[pd.DataFrame], file: IO[bytes]) -> None:
    """Write tables with the same columns as one CSV."""
    for k, table in enumerate(tables):
        file.write(table.to_csv(index=False, lineterminator="\n", header=k == 0).encode())


def from_csv(data: bytes) -> pd.DataFrame:
    """Return the table that ``to_csv`` wrote, exactly; only an empty cell is a missing value."""
    import pandas as pd

    # Versions of pandas differ in whether their reader rounds the last bit, so it is not used.
    names, *rows = csv.reader(io.StringIO(data.decode(), newline=""))
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return pd.DataFrame({name: _typed(column) for name, column in zip(names, columns, strict=True)})


def _typed(texts: Sequence[str]) -> list[Any]:
    """Return a column's values as booleans, integers, floats or texts, the first type that fits them all."""
    # Before numbers, since neither int nor float reads these words.
    if texts and set(texts) <= {"True", "False"}:
        return [text == "True" for text in texts]
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            # An empty cell is NaN among floats; int("") raises, so a column with gaps becomes float.
            return [kind(text) if text or kind is int else math.nan for text in texts]
    return [text or None for text in texts]


def request_key(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what results depend on: the request, the version, and a hash of the sources, which change in between."""
    return {"version": __version__, "sources": source_hash(), **request}


def manifest(key: Mapping[str, Any], files: Files) -> bytes:
    """Return the manifest: what made the files, and a hash of each."""
    hashes = {name: _hash(data) for name, data in sorted(files.items())}
    return json_text({"made_with": dict(key), "files": hashes}).encode()


def stored(folder: Path, key: Mapping[str, Any]) -> tuple[dict[str, bytes], frozenset[str]]:
    """Return the unchanged files that the same request made, and the names of those that are missing or changed."""
    try:
        content = json.loads((folder / MANIFEST).read_bytes())
        # Another request, version or source makes all files stale.
        hashes = dict(content["files"]) if content["made_with"] == dict(key) else {}
    except (OSError, ValueError, KeyError, TypeError):
        # Without a valid manifest no file can be trusted.
        hashes = {}
    kept = {name: data for name, known in hashes.items() if (data := _read(folder / name)) and _hash(data) == known}
    return kept, frozenset(hashes) - set(kept)


def publish(folder: Path, files: Mapping[str, Content]) -> list[Path]:
    """Write files one by one, each atomically, in the given order; a file with the same content stays untouched."""
    written = []
    for name, data in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if callable(data):
            with replacing(target) as file:
                data(file)
        # An untouched file keeps its time: tools that compare times do not run again.
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
