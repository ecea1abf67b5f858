"""Waiting ends when there is no progress, says what it waited for, and leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path

import psutil
import pytest

from tests.waiting import (
    line_of,
    processor_time,
    started,
    wait_for_end,
    wait_until,
)

ASLEEP = "import time; print('asleep', flush=True); time.sleep(1000)"
STARTS = f"""import subprocess, sys
print(subprocess.Popen([sys.executable, '-c', {ASLEEP!r}], stdout=subprocess.DEVNULL).pid, flush=True)
input()"""
TESTS = f"""import subprocess, sys, time
from tests.waiting import started
with started([sys.executable, '-c', {ASLEEP!r}], stdout=subprocess.DEVNULL) as inner:
    print(inner.pid, flush=True)
    time.sleep(1000)"""


def test_waiting_goes_on_while_there_is_progress_and_returns_what_was_waited_for() -> None:
    looks = count()
    assert wait_until(lambda: next(looks) > 49, "look 49", progress=lambda: next(looks), patience=0.0)


def test_waiting_without_progress_fails_with_what_was_waited_for_and_seen() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"waited for rain; .* Blue sky\."):
        wait_until(lambda: False, "rain", progress=lambda: "still", show=lambda: "Blue sky.", patience=0.05)


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@pytest.mark.skipif(os.name != "posix", reason="groups of processes are those of POSIX")
def test_what_a_process_has_started_is_gone_with_it() -> None:
    with started([sys.executable, "-c", STARTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        grandchild = int(line_of(process))
        assert processor_time(process.pid) > 0
    wait_until(lambda: gone(grandchild), "the end of a process that a process has started")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent was killed")
def test_a_process_dies_with_whoever_runs_the_tests() -> None:
    root = Path(__file__).parent.parent
    with started([sys.executable, "-c", TESTS], stdout=subprocess.PIPE, cwd=root) as process:
        inner = int(line_of(process))
        os.kill(process.pid, signal.SIGKILL)
        wait_for_end(process)
        wait_until(lambda: gone(inner), "the end of a process whose parent was killed")
