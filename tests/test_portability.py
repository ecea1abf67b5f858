"""Nothing here needs a Unix: what Windows lacks is blocked, or looked for in the sources."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sources import FILES, ROOT, nodes
from tests.waiting import line_of, run, started

if sys.platform != "linux":
    pytest.skip("imitates Windows by means of Linux", allow_module_level=True)

# What the modules os, signal and subprocess have on Unix only, and what opens files by descriptors.
UNIX = set(
    re.findall(
        r"\w+",
        """
    fork forkpty getuid geteuid getgid getpgid setsid killpg mkfifo uname statvfs getloadavg nice chown lchown chroot
    sync wait3 wait4 waitid O_DIRECTORY O_NOFOLLOW sched_getaffinity sched_setaffinity posix_fallocate lockf sysconf
    pathconf fdatasync SIGKILL SIGHUP SIGALRM SIGUSR1 SIGQUIT alarm setitimer pause pthread_kill
    """,
    )
)
UNIX_ARGUMENTS = {"pass_fds", "preexec_fn"}
UNIX_MODULES = ("fcntl", "resource", "termios", "pwd", "grp", "tty", "pty", "syslog", "posix")
# Windows in a few lines: its modules are not those of Unix, and its locks are those of regions of a file.
WINDOWS = f"""
import builtins, os, subprocess, sys, types

load = builtins.__import__
def load_unless_unix(name, names=None, *args, **kwargs):
    # The standard library and other packages have their own ways to do without.
    if name in {UNIX_MODULES!r} and str((names or {{}}).get("__file__")).startswith({str(ROOT)!r}):
        raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
    return load(name, names, *args, **kwargs)

def locking(fd, mode, size):
    # Windows locks files that are open for reading, too, and the locks of Unix end when any of these is closed.
    try:
        os.lockf(os.open(f"/proc/self/fd/{{fd}}", os.O_RDWR), os.F_TLOCK, size)
    except OSError as error:
        raise PermissionError(13, "Permission denied") from error

start = subprocess.Popen.__init__
def popen(self, *args, **kwargs):
    if {{"pass_fds", "preexec_fn"}} & {{name for name, value in kwargs.items() if value}}:
        raise ValueError("not supported on Windows platforms")
    start(self, *args, **kwargs)

builtins.__import__ = load_unless_unix
sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_NBLCK=2)
subprocess.Popen.__init__ = popen
"""
SCENARIO = """[network]
generator = "cycle"
n = 5
[noise]
law = "gaussian"
[run]
steps = 9
[output]
figures = false
report = false
"""
SWEEP = "scenario = 'study.toml'\n[[axis]]\nfield = 'noise.std'\nvalues = [0.5, 1.0]\n[measure]\nnames = ['spread']\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sitecustomize.py").write_text(WINDOWS, encoding="utf-8")
    (tmp_path / "study.toml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    """Return an environment in which Python, and what it starts, is as on Windows."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT.parent)])}


def on_windows(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "-c", *command], cwd=folder, env=environment(folder))


def test_every_module_can_be_imported_and_every_command_works_without_unix(folder: Path) -> None:
    names = [".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in FILES]
    names = [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]
    commands = [
        ["diagnose", "--network", "cycle:5", "--json"],
        ["check", "study.toml"],
        ["run", "study.toml"],
        ["sweep", "run", "sweep.toml", "--workers", "1"],
        ["sweep", "status", "sweep.toml"],
        ["sweep", "collect", "sweep.toml"],
    ]
    code = (
        "import importlib, json, sys\nfrom peerpressure import cli\nnames, commands = map(json.loads, sys.argv[1:])\n"
        "for name in names: importlib.import_module(name)\n"
        # The state of pyplot is the user's.
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "print([cli.invoke(words) for words in commands])"
    )
    done = on_windows(folder, code, json.dumps(names), json.dumps(commands))
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, [str([0] * len(commands))]), done.stderr
    assert (folder / "sweep-results" / "table.csv").read_text(encoding="utf-8").count("\n") == 3


HOLD = """
import pathlib, sys
from peerpressure.sweep._ledger import SweepBusyError, holding, is_held
print(is_held(pathlib.Path("there")))
try:
    with holding(pathlib.Path("there")):
        print("held", flush=True)
        sys.stdin.read()
except SweepBusyError as error:
    print(error)
"""


def test_the_lock_of_windows_ends_with_its_process(folder: Path) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with started([sys.executable, "-c", HOLD], cwd=folder, env=environment(folder), **pipes) as holder:
        assert [line_of(holder) for _ in range(2)] == ["False\n", "held\n"]
        busy, message = on_windows(folder, HOLD).stdout.splitlines()
        assert busy == "True"
        assert f"process {holder.pid} on" in message
    assert on_windows(folder, HOLD).stdout.splitlines() == ["False", "held"]


def test_nothing_is_called_that_windows_lacks() -> None:
    for path in FILES:
        # What is asked for with hasattr may be used.
        asked = {node.value for node in nodes(path) if isinstance(node, ast.Constant)}
        attributes = [node for node in nodes(path) if isinstance(node, ast.Attribute)]
        used = {one.attr for one in attributes if isinstance(one.value, ast.Name) and one.value.id in ("os", "signal")}
        arguments = {node.arg for node in nodes(path) if isinstance(node, ast.keyword)}
        assert not (used & UNIX) - asked, path
        assert not arguments & UNIX_ARGUMENTS, path
