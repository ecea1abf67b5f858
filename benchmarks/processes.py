"""Work in other processes: a little program in a fresh interpreter, and a study that several processes share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
# Libraries that would start a thread for each core in each of the processes.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def fresh(program: str, cache: Path | None = None) -> dict[str, Any]:
    """Return the JSON object that ``program`` prints last."""
    environment = dict(os.environ)
    if cache is not None:
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment |= {"NUMBA_CACHE_DIR": str(cache / "kernels"), "PYTHONPYCACHEPREFIX": str(cache / "bytecode")}
    # Errors are for whoever has started the benchmarks.
    done = subprocess.run([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def spread(task: Callable[..., T], items: Sequence[tuple[Any, ...]], jobs: int) -> list[T]:
    """Return ``task(*item)`` of each item, computed by several processes; the task is a function of a module."""
    if jobs == 1:
        return [task(*item) for item in items]
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        return [future.result() for future in [pool.submit(task, *item) for item in items]]
