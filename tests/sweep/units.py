"""Unit functions that the tests sweep over; workers import them by path."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from peerpressure.support import progress

PATH = "tests.sweep.units"


def hold(folder: Path, results: int) -> None:
    """Let units that know of a sweep's folder wait as soon as there are so many results in it."""
    written = Path(f"{folder}.held")
    written.write_text(str(results), "utf-8")
    written.replace(f"{folder}.gate")


def release(folder: Path) -> None:
    """Let all of them go on."""
    Path(f"{folder}.gate").unlink()


def held(folder: str) -> bool:
    """Whether units of a sweep in this folder have to wait."""
    with contextlib.suppress(FileNotFoundError):
        return len(list(Path(folder).glob("units/*/*.json"))) >= int(Path(f"{folder}.gate").read_text("utf-8"))
    return False


def noisy(parameters: dict[str, Any], seed: int) -> list[dict[str, Any]]:
    """Return rows that show any change of seed, parameters or order, with awkward floats among them."""
    while held(parameters.get("folder", "")):
        time.sleep(0.01)
    time.sleep(parameters.get("seconds", 0.0))
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = [
        {"step": step, "value": parameters["a"] * rng.normal(), "seed": seed, "note": "ä,\n" if step else None}
        for step in range(2)
    ]
    return [*rows, {"step": 2, "value": math.inf, "extra": np.float64(rng.random()) / 3}]


def picky(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    """Raise for a = 2 until a file says that all is well."""
    if parameters["a"] == 2 and not Path(parameters["switch"]).exists():
        raise ValueError("two is one too many\nby a second line")
    return {"value": seed % 1000}


def deadly(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    """Kill its own worker for a = 2, the first ``lives`` times."""
    scar = Path(parameters["scars"]) / str(len(os.listdir(parameters["scars"])))
    if parameters["a"] == 2 and int(scar.name) < parameters["lives"]:
        scar.touch()
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    return {"value": seed % 1000}


def gated(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    """Wait until a file opens the gate, but for the first units."""
    while parameters["a"] > 2 and not Path(parameters["gate"]).exists():
        time.sleep(0.01)
    return {"value": seed % 1000}


def bulky(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return a row of a given length."""
    return {"text": "x" * parameters["a"]}


def untidy(parameters: dict[str, Any], seed: int) -> Any:
    """Return what is no row, by kind."""
    return {"list": [1, 2], "array": {"x": np.ones(2)}, "name": {1: 2}, "taken": {"a": 1}}[parameters["a"]]


def threads(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return how many threads a worker would use."""
    return {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")}


def compiling(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    """Announce a compilation, as the engine does."""
    progress.announce(progress.COMPILING)
    progress.announce("")
    return {"value": parameters["a"]}
