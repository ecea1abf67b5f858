"""Work in other processes: a little program in a fresh interpreter, and a study that several processes share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar, get_origin, get_type_hints

import numpy as np

from .settings import Settings

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


def spread(task: Callable[..., T], items: Sequence[tuple[Any, ...]], settings: Settings) -> list[T]:
    """Return ``task(*item)`` of each item, computed by several processes; the task is a function of a module.

    Results that ``settings.kept`` has are not computed again, and each new one is added to it at once.
    """
    keys = [json.dumps([task.__module__, task.__name__, *item], default=str) for item in items]
    known = _kept(settings.kept)
    missing = {key: item for key, item in zip(keys, items, strict=True) if key not in known}
    for key, found in _computed(task, missing, settings.jobs):
        # The same numbers with and without a file: what has been written is what is read.
        line = json.dumps([key, found], default=np.ndarray.tolist)
        known[key] = json.loads(line)[1]
        if settings.kept is not None:
            with settings.kept.open("a", encoding="utf-8") as file:
                file.write(f"\n{line}")
    shape = get_type_hints(task)["return"]
    return [_shaped(shape, known[key]) for key in keys]


def _kept(file: Path | None) -> dict[str, Any]:
    """Return the results of former runs; the last line may be torn, where a run was killed."""
    known: dict[str, Any] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file is not None and file.exists() else ():
        with suppress(json.JSONDecodeError):
            key, found = json.loads(line)
            known[key] = found
    return known


def _computed(task: Callable[..., T], items: Mapping[str, tuple[Any, ...]], jobs: int) -> Iterator[tuple[str, T]]:
    if jobs == 1:
        yield from ((key, task(*item)) for key, item in items.items())
    elif items:
        os.environ.update(dict.fromkeys(_THREADS, "1"))
        with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
            waiting = {pool.submit(task, *item): key for key, item in items.items()}
            for done in as_completed(waiting):
                yield waiting[done], done.result()


def _shaped(shape: Any, found: Any) -> Any:
    """Return plain values as the tuple, named tuple or array that a task returns."""
    fields = get_type_hints(shape) if hasattr(shape, "_fields") else {}
    if fields:
        return shape(*(_shaped(one, value) for one, value in zip(fields.values(), found, strict=True)))
    if get_origin(shape) is np.ndarray:
        return np.asarray(found)
    return tuple(found) if get_origin(shape) is tuple else found
