"""Kills of sweeps and runs at random moments: ``python -m tests.sweep.kill_matrix [KILLS] [SEED]``, some minutes.

A sweep of 320 units is killed and resumed again and again: its parent by each signal, its workers, parts that run at
the same time, and parent, worker and scheduler of a Dask cluster. Its table must have the bytes of one that was left
alone, and no unit that was done may be computed again. A run that replaces the results of another is killed as well;
its folder must hold all files of one of them. The table at the end has a row for each kind of kill.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from tests import waiting
from tests.waiting import wait_for_end, wait_until

from .running import Cluster, environment, results, workers_of

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
UNITS = 320
COLUMNS = ("kills", "wrong bytes", "lost units", "files left behind")
SCENARIO = """[network]
generator = "cycle"
n = 12
[noise]
law = "gaussian"
std = 0.5
[run]
steps = 400
seed = {seed}
"""
SWEEP = """scenario = "scenario.toml"
replications = 5
[[axis]]
field = "noise.std"
values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
[[axis]]
field = "run.steps"
values = [100, 200, 300, 400, 500, 600, 700, 800]
[measure]
names = ["spread", "mean"]
"""


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "peerpressure", *map(str, arguments)]


def complete(*arguments: object) -> None:
    """Run a command to its end."""
    done = waiting.run(command(*arguments), env=environment())
    assert done.returncode == 0, done.stderr


def started(*arguments: object) -> AbstractContextManager[subprocess.Popen[str]]:
    """Start a command, which ends with the block at the latest."""
    quiet = subprocess.DEVNULL
    return waiting.started(command(*arguments), env=environment(), stdout=quiet, stderr=quiet)


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the content of all files, except for netCDF, whose bytes contain addresses, and for dates and times."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != "provenance.json"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths if path.suffix != ".nc"}


Found = Counter[str]
Kill = Callable[[subprocess.Popen[str], random.Random], bool]


def signalled(number: signal.Signals) -> Kill:
    """Return what sends a signal to the parent, and waits for its end."""

    def kill(process: subprocess.Popen[str], moments: random.Random) -> bool:
        alive = process.poll() is None
        process.send_signal(number)
        process.wait()
        return alive

    return kill


def kill_worker(process: subprocess.Popen[str], moments: random.Random) -> bool:
    """Kill a worker of the pool; its parent goes on for a while, with another worker."""
    workers = workers_of(process)
    if workers:
        with contextlib.suppress(Exception):  # it may just have ended
            moments.choice(workers).kill()
    time.sleep(moments.uniform(0, 0.3))
    return bool(workers)


def times_of(out: Path) -> dict[Path, int]:
    """Return when each result was written; a result that is computed again is a file of another time."""
    return {path: path.stat().st_mtime_ns for path in out.glob("units/*/*.json")}


def lost(before: dict[Path, int], out: Path) -> int:
    """Return how many results are not there any more, or were computed again."""
    now = times_of(out)
    return sum(now.get(path) != written for path, written in before.items())


def finish(file: Path, out: Path, found: Found, alone: bytes) -> None:
    """Finish a sweep that was killed, and compare it with one that was left alone."""
    done = times_of(out)
    complete("sweep", file, "--workers", 2, "--out", out)
    complete("sweep", "collect", out)
    found["lost units"] += lost(done, out)
    found["wrong bytes"] += (out / "table.csv").read_bytes() != alone
    found["files left behind"] += len([*out.rglob("*.part"), *out.rglob("shards")])


def moment(out: Path, target: int, moments: random.Random, *processes: subprocess.Popen[str]) -> None:
    """Wait until so many units are done, and some time more."""
    wait_until(lambda: results(out) >= target or all(one.poll() is not None for one in processes), f"{target} results")
    time.sleep(moments.uniform(0, 0.5 if target == 0 else 0.05))


def kill_sweep(file: Path, out: Path, kill: Kill, targets: list[int], moments: random.Random, alone: bytes) -> Found:
    """Kill a sweep at each of the targets, and finish it."""
    found = Found()
    for target in targets:
        before = times_of(out)
        with started("sweep", file, "--workers", 2, "--out", out) as process:
            moment(out, target, moments, process)
            found["kills"] += kill(process, moments)
        found["lost units"] += lost(before, out)
    finish(file, out, found, alone)
    return found


def kill_parts(file: Path, out: Path, targets: list[int], moments: random.Random, alone: bytes) -> Found:
    """Kill parts of a sweep that run at the same time, and merge them."""
    found = Found()
    for k, target in enumerate(targets):
        before = times_of(out)
        parts = [("sweep", file, "--workers", 1, "--out", out, "--shard", f"{part}/2") for part in (1, 2)]
        with started(*parts[0]) as one, started(*parts[1]) as other:
            moment(out, target, moments, one, other)
            for process in moments.sample((one, other), k=moments.choice((1, 2))):
                found["kills"] += signalled(SIGNALS[k % len(SIGNALS)])(process, moments)
        found["lost units"] += lost(before, out)
    finish(file, out, found, alone)
    return found


def kill_on_dask(file: Path, out: Path, who: str, targets: list[int], moments: random.Random, alone: bytes) -> Found:
    """Kill the parent, a worker or the scheduler of a sweep on a cluster of two workers."""
    found = Found()
    for k, target in enumerate(targets):
        before, place = times_of(out), out.with_name(f"{out.name}-{k}")
        place.mkdir()
        cluster = Cluster(place)
        try:
            with started("sweep", file, "--dask", cluster.address, "--out", out) as process:
                moment(out, target, moments, process)
                alive = process.poll() is None
                if who == "parent":
                    signalled(SIGNALS[k % len(SIGNALS)])(process, moments)
                elif who == "worker":
                    cluster.workers[moments.randrange(2)].kill()
                    # The other worker takes over.
                    wait_for_end(process)
                else:
                    cluster.scheduler.kill()
                    wait_for_end(process)
                found["kills"] += alive
        finally:
            cluster.close()
        found["lost units"] += lost(before, out)
        # A worker's death ends no sweep, so the next one begins anew.
        if who == "worker" and k + 1 < len(targets):
            finish(file, out, found, alone)
            shutil.rmtree(out)
    finish(file, out, found, alone)
    return found


def kill_runs(folder: Path, kills: int, moments: random.Random) -> Found:
    """Kill runs that replace the results of another one: the folder has all files of the one or of the other."""
    # One file, which is edited in between: a run refuses to replace the results of another file.
    file = folder / "run.toml"
    for seed in (1, 2):
        file.write_text(SCENARIO.format(seed=seed))
        begin = time.monotonic()
        complete("run", file, "--out", folder / f"seed{seed}")
        seconds = time.monotonic() - begin
    old, new = (files_of(folder / f"seed{seed}") for seed in (1, 2))
    out, found = folder / "killed", Found()
    for k in range(kills):
        # The results of the first run, which the second one replaces.
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(folder / "seed1", out)
        # Half of them late, while files are drawn and written.
        late = moments.uniform(0.6, 1.05) if k % 2 else moments.uniform(0.0, 1.0)
        with started("run", file, "--out", out) as process:
            time.sleep(late * seconds)
            found["kills"] += signalled(SIGNALS[k % len(SIGNALS)])(process, moments)
        found["wrong bytes"] += files_of(out) not in (old, new)
    complete("run", file, "--out", out)
    found["wrong bytes"] += files_of(out) != new
    found["files left behind"] += len(list(folder.glob(".*")))
    return found


def matrix(folder: Path, kills: int, moments: random.Random) -> Iterator[tuple[str, Found]]:
    """Yield each kind of kill, and what was found."""
    (folder / "scenario.toml").write_text(SCENARIO.format(seed=1))
    file = folder / "sweep.toml"
    file.write_text(SWEEP)
    complete("sweep", file, "--workers", 2, "--out", folder / "alone")
    complete("sweep", "collect", folder / "alone")
    alone = (folder / "alone/table.csv").read_bytes()

    def targets(count: int) -> list[int]:
        return sorted(moments.choices(range(UNITS - 20), k=count))

    for number in SIGNALS:
        kind = f"pool, parent by {number.name}"
        yield kind, kill_sweep(file, folder / number.name, signalled(number), targets(kills), moments, alone)
    yield "pool, worker by SIGKILL", kill_sweep(file, folder / "workers", kill_worker, targets(kills), moments, alone)
    yield "parts, one or both by each signal", kill_parts(file, folder / "parts", targets(kills), moments, alone)
    for who in ("parent", "worker", "scheduler"):
        how = "by each signal" if who == "parent" else "by SIGKILL"
        yield f"Dask, {who} {how}", kill_on_dask(file, folder / who, who, targets(kills), moments, alone)
    yield "run that replaces another, by each signal", kill_runs(folder, kills, moments)


def main() -> None:
    kills, seed = (int(given) for given in (*sys.argv[1:3], *("12", "0")[len(sys.argv) - 1 :]))
    print(f"| kind | {' | '.join(COLUMNS)} |\n|---|{'---:|' * len(COLUMNS)}", flush=True)
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        for kind, found in matrix(Path(place), kills, random.Random(seed)):
            print(f"| {kind} | {' | '.join(str(found[name]) for name in COLUMNS)} |", flush=True)
            wrong += sum(found[name] for name in COLUMNS[1:])
    sys.exit(f"{wrong} wrong" if wrong else 0)


if __name__ == "__main__":
    main()
