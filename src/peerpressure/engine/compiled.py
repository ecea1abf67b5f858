"""Invalidation of compiled kernels on disk.

numba stores a compiled kernel beside its source and recompiles it when that one file changes. The kernels here inline
functions from other modules, so that an edit or an upgrade of one of those must invalidate the stored code, too.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from peerpressure import affine
from peerpressure.progress import announce_compilation


def _newest_source() -> float:
    # The formulas of ``affine`` are inlined into every kernel, although they are outside of this package.
    sources = [*Path(__file__).parent.glob("*.py"), Path(affine.__file__)]
    return max(source.stat().st_mtime for source in sources)


def discard_stale_caches(*kernels: Any) -> None:
    """Delete the stored code of these kernels where any source of the engine is newer."""
    announce_compilation()
    newest = _newest_source()
    for kernel in kernels:
        folder = Path(kernel.stats.cache_path)
        # numba's own naming: file stem, qualified name, then line number and Python version, which the pattern leaves
        # open.
        stem = f"{Path(kernel.py_func.__code__.co_filename).stem}.{kernel.py_func.__qualname__}-"
        # Without its index (.nbi) numba ignores the machine code (.nbc), and overwrites it at the next compilation.
        for index in folder.glob(f"{stem}*.nbi"):
            # Another process may delete it at the same time, and the folder may be read-only; neither is an error here.
            with contextlib.suppress(OSError):
                if index.stat().st_mtime < newest:
                    index.unlink()
