"""Waiting ends when there is no progress, says what it waited for, and leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from tests.waiting import (
    PATIENCE,
    in_thread,
    line_of,
    processor_time,
    result_of,
    run,
    started,
    wait_for_end,
    wait_for_event,
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


def test_a_process_that_runs_to_its_end_is_read_as_it_ended() -> None:
    program = "import sys; print(input().upper()); print('aside', file=sys.stderr); sys.exit(3)"
    done = run([sys.executable, "-c", program], text="words\n")
    assert (done.returncode, done.stdout.strip(), done.stderr.strip()) == (3, "WORDS", "aside")


def test_a_process_that_sleeps_makes_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.waiting.PATIENCE", 1.0)
    with pytest.raises(pytest.fail.Exception, match=r"the end of .* It printed: asleep"):
        run([sys.executable, "-c", ASLEEP])


def test_a_line_that_does_not_come_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    with started([sys.executable, "-c", ASLEEP], stdout=subprocess.PIPE) as process:
        assert line_of(process) == "asleep\n"
        monkeypatch.setattr("tests.waiting.PATIENCE", 0.5)
        with pytest.raises(pytest.fail.Exception, match="a line of"):
            line_of(process)


def test_a_process_without_an_end_is_told_by_its_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.waiting.PROCESSOR_LIMIT", 0.2)
    with pytest.raises(pytest.fail.Exception, match="has no end"):
        run([sys.executable, "-c", "while True: pass"])


def test_work_in_another_thread_is_waited_for_while_the_processor_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    # A clock that goes on with the work, however busy the machine is: the work takes longer than patience.
    clock = SimpleNamespace(monotonic=lambda: 60 * time.process_time())
    monkeypatch.setattr("tests.waiting.time", clock)
    said, done = threading.Event(), Future[str]()

    def work() -> None:
        began = time.process_time()
        while 60 * (time.process_time() - began) < 2 * PATIENCE:
            pass
        said.set()
        done.set_result("done")

    threading.Thread(target=work, daemon=True).start()
    wait_for_event(said, "a word")
    assert result_of(done, "the result") == "done"
    assert in_thread(lambda: "done", "a thread") == "done"
    with pytest.raises(KeyError):
        in_thread(lambda: os.environ["MISSING"], "an error")


def test_a_thread_that_does_nothing_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.waiting.PATIENCE", 0.6)
    monkeypatch.setattr("tests.waiting.GLANCE", 0.05)
    with pytest.raises(pytest.fail.Exception, match="waited for a word"):
        wait_for_event(threading.Event(), "a word")
    with pytest.raises(pytest.fail.Exception, match="waited for a result"):
        result_of(Future[str](), "a result")
    with pytest.raises(pytest.fail.Exception, match="waited for a thread"):
        in_thread(threading.Event().wait, "a thread")


def test_a_thread_without_an_end_is_told_by_its_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.waiting.PROCESSOR_LIMIT", 0.2)
    enough = threading.Event()

    def work() -> None:
        while not enough.is_set():
            pass

    with pytest.raises(pytest.fail.Exception, match="a thread has no end"):
        in_thread(work, "a thread")
    enough.set()


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
