"""Real processes for the tests: a parent that runs a sweep and can be killed, and a Dask cluster."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil

from peerpressure.sweep import Plan, collect, write_table
from tests.waiting import end, line_of, started, wait_until

from .units import PATH

ROOT = Path(__file__).parents[2]
_PROGRAM = """
import json, sys
from peerpressure.sweep import Plan, run_sweep
plan, shard, folder, options = json.loads(sys.argv[1])
run_sweep(Plan(**plan).part(*shard) if shard else Plan(**plan), folder, **options)
"""
# A scheduler and workers as ``python -m dask`` starts them, but forked, since Dask is long in loading. The process that
# has loaded it says which ones it has started, and ends them with its input, also if whoever runs the tests was killed.
_CLUSTER = """
import json, os, signal, sys
from distributed.cli import dask_scheduler, dask_worker
def started(command, arguments):
    if number := os.fork():
        return number
    command.main(arguments + ["--no-dashboard"])
file, *worker = json.loads(sys.argv[1])
print(started(dask_scheduler.main, ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", file]))
options = ["--scheduler-file", file, "--nthreads", "1", "--no-nanny", *worker]
print(started(dask_worker.main, options), started(dask_worker.main, options), flush=True)
sys.stdin.read()
os.killpg(0, signal.SIGKILL)
"""


def noisy_plan(count: int = 12, seconds: float = 0.0, **changes: object) -> Plan:
    """Return a plan of ``2 count`` quick units."""
    parts: dict[str, object] = {"base": {"seconds": seconds}, "axes": {"a": list(range(count))}, "replications": 2}
    return Plan(f"{PATH}:noisy", **(parts | changes))  # type: ignore[arg-type]


def csv(folder: Path) -> bytes:
    """Return the table of a sweep as it is written."""
    target = folder / "table.csv"
    write_table(collect(folder), target)
    return target.read_bytes()


@contextlib.contextmanager
def parent(
    plan: Plan, folder: Path, shard: tuple[int, int] | None = None, **options: object
) -> Iterator[subprocess.Popen[str]]:
    """Run a sweep, or a part of it, in a process of its own; whatever is left of it ends with the block."""
    parts = {name: getattr(plan, name) for name in ("task", "base", "axes", "replications", "seed", "local")}
    command = [sys.executable, "-c", _PROGRAM, json.dumps([parts, shard, str(folder), options])]
    with started(command, cwd=ROOT, env=environment(), stderr=subprocess.PIPE) as process:
        yield process


def environment() -> dict[str, str]:
    """Return an environment in which the tests' own units can be imported."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Return the worker processes of a parent."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [child for child in psutil.Process(process.pid).children() if "spawn_main" in " ".join(child.cmdline())]
    return []


def results(folder: Path) -> int:
    """Return how many units have a result file."""
    return len(list(folder.glob("units/*/*.json")))


class Cluster:
    """A Dask scheduler and two workers of one thread, each a process that can be killed."""

    def __init__(self, folder: Path) -> None:
        file = folder / "scheduler.json"
        arguments = json.dumps([str(file), "--local-directory", str(folder)])
        self._starter = subprocess.Popen(
            [sys.executable, "-c", _CLUSTER, arguments],
            cwd=ROOT,
            env=environment(),
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            numbers = [int(text) for line in (1, 2) for text in line_of(self._starter).split()]
            self.scheduler, *self.workers = map(psutil.Process, numbers)
            wait_until(lambda: file.exists() and file.read_text().endswith("}"), "a scheduler")
        except BaseException:
            # Whoever waits for the cluster has nothing to close yet.
            self.close()
            raise
        self.address: str = json.loads(file.read_text())["address"]

    def close(self) -> None:
        """End all of it."""
        end(self._starter)
