"""The recipes of the page on clusters run as they stand, with stand-ins for the commands of SLURM."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from peerpressure.cli import invoke
from peerpressure.sweep import _runners
from tests.in_process import Pool
from tests.waiting import line_of, run, started

from .running import ROOT, environment

PAGE = ROOT / "docs" / "howto" / "cluster.md"
SCENARIO = '[network]\ngenerator = "cycle"\nn = 8\n[noise]\nlaw = "gaussian"\nstd = 0.5\n[run]\nsteps = 20\n'
# Measures without a run: what simulates takes longer to load than to compute.
SWEEP = """scenario = "scenario.toml"
replications = 3
[[axis]]
field = "noise.std"
values = [0.1, 0.2]
[measure]
names = ["consensus_limit", "exact_error"]
"""
# Runs a script at once, an array as processes at the same time, and returns when all have ended.
SBATCH = """#!{python}
import os, re, subprocess, sys
*options, script = sys.argv[1:]
given = dict(re.findall(r"^#SBATCH --([a-z-]+)=(.*)$", open(script).read(), flags=re.MULTILINE))
first, last = map(int, given.get("array", "1-1").split("-"))
after = [option.rpartition(":")[2] for option in options if option.startswith("--dependency=")]
assert all(os.path.exists("ended-" + job) for job in after), "it depends on a job that has not ended"
common = {{"SLURM_SUBMIT_DIR": os.getcwd(), "SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": given["cpus-per-task"],
          "SLURM_NTASKS": given.get("ntasks", "1"), "SLURM_ARRAY_TASK_COUNT": str(last - first + 1)}}
tasks = [
    subprocess.Popen(["bash", os.path.abspath(script)], stdout=sys.stderr, cwd="/",
                     env=os.environ | common | {{"SLURM_ARRAY_TASK_ID": str(number)}})
    for number in range(first, last + 1)
]
ended = [task.wait() for task in tasks]
open("ended-41", "w").close()
print("41" if "--parsable" in options else "Submitted batch job 41")
sys.exit(max(ended))
"""
# Runs a command once for each task, and ends these with itself.
SRUN = """#!{python}
import os, signal, subprocess, sys
tasks = [subprocess.Popen(sys.argv[1:]) for _ in range(int(os.environ["SLURM_NTASKS"]))]
signal.signal(signal.SIGTERM, lambda *_: [task.kill() for task in tasks])
sys.exit(max(task.wait() for task in tasks))
"""


# The command as a copy of a process that has loaded everything, which takes longer than the commands of the page: a
# program sends its arguments, folder, environment and streams, and waits for the status.
COMMAND = """#!{python} -IS
import json, os, socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect({place!r})
asked = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(line, [len(asked).to_bytes(4, "big")], [0, 1, 2])
line.sendall(asked)
sys.exit(line.recv(1)[0])
"""
COPIES = """
import json, os, socket, sys
import pandas
from peerpressure import cli, scenario, theory
from peerpressure.scenario import load_sweep
from peerpressure.sweep import collect, run_sweep
with socket.socket(socket.AF_UNIX) as door:
    door.bind(sys.argv[1])
    door.listen()
    print("ready", flush=True)
    while True:
        line, _ = door.accept()
        if os.fork():
            line.close()
            continue
        size, streams, *_ = socket.recv_fds(line, 4, 3)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")
        with line.makefile("rb") as text:
            arguments, folder, environment = json.loads(text.read(int.from_bytes(size, "big")))
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        status = cli.invoke(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        line.send(bytes([status]))
        os._exit(0)
"""


class Command(NamedTuple):
    """A program, and the process that does its work."""

    text: str
    server: int


@pytest.fixture(scope="module")
def command() -> Iterator[Command]:
    """The program that stands in for ``peerpressure``."""
    with contextlib.ExitStack() as opened:
        # The path of a socket may have a hundred characters, which a folder of tests may have already.
        place = str(Path(opened.enter_context(tempfile.TemporaryDirectory(dir="/tmp")), "door"))
        program = [sys.executable, "-c", COPIES, place]
        process = opened.enter_context(started(program, env=environment(), stdout=subprocess.PIPE))
        assert line_of(process) == "ready\n"
        yield Command(COMMAND.format(python=sys.executable, place=place), process.pid)


def recipes() -> dict[str, str]:
    """Return the scripts on the page by the name of their jobs, and the lines that submit them, smaller."""
    found = re.findall(r"^```bash\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    named = {(re.findall(r"--job-name=(\w+)", text) or ["submit"])[0]: text for text in found}
    smaller = {"--array=1-20": "--array=1-2", "--cpus-per-task=4": "--cpus-per-task=1", "--ntasks=32": "--ntasks=2"}
    for long, short in smaller.items():
        assert any(long in text for text in named.values())
        named = {name: text.replace(long, short) for name, text in named.items()}
    return named


@pytest.fixture
def study(tmp_path: Path, command: Command) -> Path:
    """Return a folder with a sweep, the scripts of the page, and stand-ins for SLURM and the command."""
    for name, text in recipes().items():
        (tmp_path / f"{name}.sh").write_text(text, encoding="utf-8")
    (tmp_path / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    programs = {
        "sbatch": SBATCH.format(python=sys.executable),
        "srun": SRUN.format(python=sys.executable),
        "python": f'#!/bin/sh\nexec "{sys.executable}" "$@"\n',
        "peerpressure": command.text,
    }
    (tmp_path / "bin").mkdir()
    for name, text in programs.items():
        (tmp_path / "bin" / name).write_text(text, encoding="utf-8")
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def shell(folder: Path, server: int, *command: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
    return run(command, cwd=folder, env=environment() | {"PATH": path}, servers=[server])


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The table of the same sweep on one machine."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    (folder / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_runners, "ProcessPoolExecutor", Pool)
        assert invoke(["sweep", "run", str(folder / "sweep.toml"), "--workers", "1", "--out", str(folder / "out")]) == 0
    assert invoke(["sweep", "collect", str(folder / "out")]) == 0
    return (folder / "out" / "table.csv").read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="SLURM runs on Linux, and its scripts are those of bash")
def test_the_array_of_jobs_gives_the_table_of_one_machine(study: Path, command: Command, alone: bytes) -> None:
    done = shell(study, command.server, "bash", "submit.sh")
    assert done.returncode == 0, done.stderr
    assert (study / "table.csv").read_bytes() == alone
    assert not list(study.rglob("shards"))


@pytest.mark.skipif(sys.platform == "win32", reason="SLURM runs on Linux, and its scripts are those of bash")
def test_the_job_with_dask_lives_until_the_work_is_done(study: Path, command: Command, alone: bytes) -> None:
    done = shell(study, command.server, "sbatch", "dask.sh")
    assert done.returncode == 0, done.stderr
    assert (study / "table.csv").read_bytes() == alone
    assert not list(study.glob("scheduler-*"))
