"""Keeps compiled kernels on disk honest.

numba stores a compiled kernel beside its source and compiles anew when that one file changes. The kernels here inline
functions from their neighbours, so an edit or an upgrade of a neighbour must throw the stored code away too.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from peerpressure import affine


def _newest_source() -> float:
    sources = [*Path(__file__).parent.glob("*.py"), Path(affine.__file__)]
    return max(source.stat().st_mtime for source in sources)


def discard_stale_caches(*kernels: Any) -> None:
    """Delete the stored code of these kernels where any source of the engine is newer."""
    newest = _newest_source()
    for kernel in kernels:
        folder = Path(kernel.stats.cache_path)
        stem = f"{Path(kernel.py_func.__code__.co_filename).stem}.{kernel.py_func.__qualname__}-"
        for index in folder.glob(f"{stem}*.nbi"):
            # Another process may be doing the same, or the folder may be read-only: then it is theirs to mend.
            with contextlib.suppress(OSError):
                if index.stat().st_mtime < newest:
                    index.unlink()
