"""Nothing here needs a Unix: what Windows lacks is blocked, or looked for in the sources."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sources import FILES, ROOT, nodes

if sys.platform != "linux":
    pytest.skip("imitates Windows by means of Linux", allow_module_level=True)

# What the modules os, signal and subprocess have on Unix only, and what opens files by descriptors.
UNIX = {
    *("fork", "forkpty", "getuid", "geteuid", "getgid", "getpgid", "setsid", "killpg", "mkfifo", "uname", "statvfs"),
    *(
        "getloadavg",
        "nice",
        "chown",
        "lchown",
        "chroot",
        "sync",
        "wait3",
        "wait4",
        "waitid",
        "O_DIRECTORY",
        "O_NOFOLLOW",
    ),
    *("sched_getaffinity", "sched_setaffinity", "posix_fallocate", "lockf", "sysconf", "pathconf", "fdatasync"),
    *("SIGKILL", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGQUIT", "alarm", "setitimer", "pause", "pthread_kill"),
}
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


def command(folder: Path, code: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT.parent)])}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_every_module_can_be_imported_and_every_command_works_without_unix(folder: Path) -> None:
    names = [".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in FILES]
    names = [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]
    commands = [
        ["diagnose", "--graph", "cycle:5", "--json"],
        ["check", "study.toml"],
        ["run", "study.toml"],
        ["run", "study.toml"],  # over what is there
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
    process = command(folder, code, json.dumps(names), json.dumps(commands))
    out, err = process.communicate()
    assert (process.returncode, out.splitlines()[-1:]) == (0, [str([0] * len(commands))]), err
    assert (folder / "sweep-results" / "table.csv").read_text(encoding="utf-8").count("\n") == 3


HOLD = """
import pathlib, sys, time
from peerpressure.sweep._ledger import holding
with holding(pathlib.Path("there")):
    print("held", flush=True)
    time.sleep(60)
"""
TRY = """
import pathlib
from peerpressure.sweep._ledger import SweepBusyError
from peerpressure.sweep._ledger import holding, is_held
print(is_held(pathlib.Path("there")))
try:
    with holding(pathlib.Path("there")):
        print("free")
except SweepBusyError as error:
    print(error)
"""


def test_the_lock_of_windows_ends_with_its_process(folder: Path) -> None:
    holder = command(folder, HOLD)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        busy, message = command(folder, TRY).communicate()[0].splitlines()
        assert busy == "True"
        assert f"process {holder.pid} on" in message
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.communicate()
    assert command(folder, TRY).communicate()[0].splitlines() == ["False", "free"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_called_that_windows_lacks(path: Path) -> None:
    # What is asked for with hasattr may be used.
    asked = {node.value for node in nodes(path) if isinstance(node, ast.Constant)}
    used = {
        node.attr
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("os", "signal")
    }
    arguments = {node.arg for node in nodes(path) if isinstance(node, ast.keyword)}
    assert not (used & UNIX) - asked
    assert not arguments & UNIX_ARGUMENTS
