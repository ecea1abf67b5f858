"""Kills of sweeps and runs at random moments: ``python -m tests.sweep.kill_matrix [KILLS] [SEED]``, some minutes.

A sweep of 320 units is killed again and again by each signal and resumed; its table must have the bytes of one that was
left alone. So must the table of one whose parts run at the same time. A run that replaces the results of another is
killed as well; its folder must hold all files of one of them.
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
from collections.abc import Iterator
from pathlib import Path

from .running import environment, results, wait_until

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
UNITS = 320
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
    subprocess.run(command(*arguments), env=environment(), stdout=subprocess.DEVNULL, check=True)


@contextlib.contextmanager
def started(*arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command, which ends with the block at the latest."""
    process = subprocess.Popen(
        command(*arguments), env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the content of all files, except for netCDF, whose bytes contain addresses, and for dates and times."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != "provenance.json"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths if path.suffix != ".nc"}


def kill_sweeps(folder: Path, kills: int, moments: random.Random) -> Counter[str]:
    """Kill a sweep by each signal, and compare what is finished afterwards with one that was left alone."""
    (folder / "scenario.toml").write_text(SCENARIO.format(seed=1))
    file = folder / "sweep.toml"
    file.write_text(SWEEP)
    complete("sweep", file, "--workers", 2, "--out", folder / "alone")
    complete("sweep", "collect", folder / "alone")
    found: Counter[str] = Counter()
    for number in SIGNALS:
        out = folder / number.name
        targets = sorted(moments.choices(range(UNITS), k=kills))
        for target in targets:
            with started("sweep", file, "--workers", 2, "--out", out) as process:
                wait_until(lambda: results(out) >= target or process.poll() is not None, 300)  # noqa: B023
                time.sleep(moments.uniform(0, 0.5 if target == 0 else 0.05))
                found[f"{number.name} of a sweep"] += process.poll() is None
                process.send_signal(number)
                process.wait()
        complete("sweep", file, "--workers", 2, "--out", out)
        complete("sweep", "collect", out)
        found["sweeps with other bytes"] += (out / "table.csv").read_bytes() != (
            folder / "alone/table.csv"
        ).read_bytes()
        found["files left behind"] += len(list(out.rglob("*.part")))
        print(dict(found), flush=True)
    return found


def kill_parts(folder: Path, kills: int, moments: random.Random) -> Counter[str]:
    """Kill parts of a sweep that run at the same time, and compare what they merge into with a sweep left alone."""
    file, out, found = folder / "sweep.toml", folder / "parts", Counter[str]()
    targets = sorted(moments.choices(range(UNITS), k=kills))
    for k, target in enumerate(targets):
        parts = [("sweep", file, "--workers", 1, "--out", out, "--shard", f"{part}/2") for part in (1, 2)]
        with started(*parts[0]) as one, started(*parts[1]) as other:
            both = (one, other)
            wait_until(lambda: results(out) >= target or all(each.poll() is not None for each in both), 300)  # noqa: B023
            time.sleep(moments.uniform(0, 0.5 if target == 0 else 0.05))
            number = SIGNALS[k % len(SIGNALS)]
            for process in moments.sample(both, k=moments.choice((1, 2))):
                found[f"{number.name} of a part"] += process.poll() is None
                process.send_signal(number)
                process.wait()
    complete("sweep", file, "--workers", 2, "--out", out)
    complete("sweep", "collect", out)
    found["sweeps with other bytes"] += (out / "table.csv").read_bytes() != (folder / "alone/table.csv").read_bytes()
    found["files left behind"] += len([*out.rglob("*.part"), *out.rglob("shards")])
    print(dict(found), flush=True)
    return found


def kill_runs(folder: Path, kills: int, moments: random.Random) -> Counter[str]:
    """Kill runs that replace the results of another one: the folder has all files of the one or of the other."""
    places = []
    for seed in (1, 2):
        file = folder / f"run{seed}.toml"
        file.write_text(SCENARIO.format(seed=seed))
        begin = time.monotonic()
        complete("run", file, "--out", folder / f"seed{seed}")
        places.append((file, files_of(folder / f"seed{seed}"), time.monotonic() - begin))
    (_, old, _), (other, new, seconds) = places
    out, found = folder / "killed", Counter[str]()
    for k in range(kills):
        # The results of the first run, which the second one replaces.
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(folder / "seed1", out)
        # Half of them late, while files are drawn and written.
        late = moments.uniform(0.6, 1.05) if k % 2 else moments.uniform(0.0, 1.0)
        number = SIGNALS[k % len(SIGNALS)]
        with started("run", other, "--out", out) as process:
            time.sleep(late * seconds)
            found[f"{number.name} of a run"] += process.poll() is None
            process.send_signal(number)
            process.wait()
        held = files_of(out)
        found["folders of neither run"] += held not in (old, new)
        found["finished all the same"] += held == new
    complete("run", other, "--out", out)
    found["folders of neither run"] += files_of(out) != new
    found["files left behind"] += len(list(folder.glob(".*")))
    print(dict(found), flush=True)
    return found


def main() -> None:
    kills, seed = (int(given) for given in (*sys.argv[1:3], *("60", "0")[len(sys.argv) - 1 :]))
    moments = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        found = kill_sweeps(Path(place), -(-kills // len(SIGNALS)), moments)
        found += kill_parts(Path(place), -(-kills // len(SIGNALS)), moments)
        found += kill_runs(Path(place), max(kills // 4, 3), moments)
    wrong = [name for name in ("sweeps with other bytes", "folders of neither run", "files left behind") if found[name]]
    sys.exit(f"wrong: {wrong}" if wrong else 0)


if __name__ == "__main__":
    main()
