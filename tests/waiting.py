"""Waiting in tests: for something with a name, for as long as there is progress, and never by the clock alone.

A slow or busy machine makes everything late and nothing wrong, so no test says how long something may take. It says
what shows that work goes on, and fails when nothing has moved for half a minute. What a test has started is gone when
the test is over, and also when the process that runs the tests is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest

T = TypeVar("T")
PATIENCE = 30.0  # seconds without progress
PROCESSOR_LIMIT = 600.0  # seconds of the processor; only a process without an end uses so many
PAUSE = 0.02  # seconds between two looks at what is waited for
GLANCE = 0.5  # seconds after which who is woken by what is waited for looks at progress
LOOKS = 60  # at progress, of which each takes some milliseconds, before patience ends
PR_SET_PDEATHSIG = 1  # of Linux: the signal that a process gets when the one that started it has ended


def wait_until(
    holds: Callable[[], T],
    what: str,
    *,
    progress: Callable[[], object] | None = None,
    show: Callable[[], str] = str,
    pause: Callable[[float], object] = time.sleep,
    patience: float | None = None,
) -> T:
    """Wait until a condition holds, and return what it gives.

    Parameters
    ----------
    holds : callable
        Anything true ends the waiting.
    what : str
        What is waited for, in words for the failure.
    progress : callable, optional
        Anything that changes while work goes on. The default is the processor time of the processes that this one
        has started.
    show : callable, optional
        What is to be seen, for the failure.
    pause : callable, optional
        How to let time pass.
    patience : float, optional
        Seconds without progress after which the test fails, 30 unless given.
    """
    progress = progress or processor_time_of_children
    patience = PATIENCE if patience is None else patience
    seen: object = None
    since = looked = time.monotonic()
    while not (result := holds()):
        pause(PAUSE)
        if (now := time.monotonic()) - looked < patience / LOOKS:
            continue
        looked, before, seen = now, seen, progress()
        if seen != before:
            since = now
        elif now - since > patience:
            pytest.fail(f"waited for {what}; nothing has moved for {patience:.0f} s. {show()}".rstrip())
    return result


def processor_time(pid: int) -> float:
    """Return the processor seconds of a process and of all that it has started; what is gone counts as nothing."""
    total = 0.0
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        total += float(sum(process.cpu_times()[:4]))  # its own, and of those it has waited for
        for child in process.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                total += sum(child.cpu_times()[:2])
    return total


def processor_time_of_children() -> float:
    """Return the processor seconds of all processes that this one has started."""
    own = psutil.Process().cpu_times()
    return processor_time(os.getpid()) - float(own.user + own.system)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@contextlib.contextmanager
def started(command: Sequence[str | Path], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a process in a group of its own; the whole group is gone at the end of the block."""
    options = {"text": True, "stdin": subprocess.DEVNULL} | options
    if os.name == "posix":
        options |= {"start_new_session": True, "preexec_fn": _die_with_parent}
    process = subprocess.Popen([str(part) for part in command], **options)
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[str]) -> None:
    """Kill a process and its group, and close its pipes."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def wait_for_end(process: subprocess.Popen[str], show: Callable[[], str] = str, servers: Sequence[int] = ()) -> int:
    """Wait until a process has ended, which may itself wait for work of servers, and return its status."""
    used = _work_of([process.pid, *servers], f"{process.args!r}", show=show)
    wait_until(lambda: process.poll() is not None, f"the end of {process.args!r}", progress=used, show=show)
    assert process.returncode is not None
    return process.returncode


def _work_of(
    pids: Sequence[int], what: str, before: float = 0.0, unit: float = 1e-3, show: Callable[[], str] = str
) -> Callable[[], int]:
    """Return what tells the processor time of processes, in units of seconds, and fails where it has no end."""

    def used() -> int:
        seconds = sum(map(processor_time, pids)) - before
        if seconds > PROCESSOR_LIMIT:
            pytest.fail(f"{what} has no end: it used {seconds:.0f} s of the processor. {show()}".rstrip())
        return round(seconds / unit)

    return used


def _work_here(what: str) -> Callable[[], int]:
    # The thread that waits uses some milliseconds in half a minute itself.
    return _work_of([os.getpid()], what, before=processor_time(os.getpid()), unit=0.25)


def wait_for_event(event: threading.Event, what: str) -> None:
    """Wait until another thread sets an event, for as long as this process or one that it has started is at work."""
    wait_until(event.is_set, what, progress=_work_here(what), pause=lambda _: event.wait(GLANCE))


def result_of(future: Future[T], what: str) -> T:
    """Return the result of a future, for as long as this process or one that it has started is at work."""
    wait_until(future.done, what, progress=_work_here(what), pause=lambda _: futures.wait([future], GLANCE))
    return future.result()


def in_thread(work: Callable[[], T], what: str) -> T:
    """Return the result of work in a thread of its own, which is left behind if it makes no progress."""
    future: Future[T] = Future()

    def run_it() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # it belongs to whoever waits
            future.set_exception(error)

    threading.Thread(target=run_it, daemon=True).start()
    return result_of(future, what)


def line_of(process: subprocess.Popen[str]) -> str:
    """Wait for the next line that a process prints, and return it; an empty one is the end of what it prints."""
    assert process.stdout is not None
    pool = ThreadPoolExecutor(1)
    line = pool.submit(process.stdout.readline)
    try:
        wait_until(line.done, f"a line of {process.args!r}", progress=lambda: processor_time(process.pid))
    except BaseException:
        process.kill()  # who reads its output would wait for ever
        raise
    finally:
        pool.shutdown(wait=False)
    return line.result()


def run(
    command: Sequence[str | Path],
    *,
    text: str = "",
    encoding: str = "utf-8",
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    servers: Sequence[int] = (),
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Run a process to its end, with a text as its input, and return its status and what it printed."""

    def read(file: Path) -> str:
        return file.read_bytes().decode(encoding, errors="replace")

    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as files:
        given, out, err = (Path(folder, name) for name in ("in", "out", "err"))
        given.write_text(text, encoding, newline="")
        places = {
            "stdin": files.enter_context(given.open("rb")),
            "stdout": files.enter_context(out.open("wb")),
            "stderr": files.enter_context(err.open("wb")),
        }
        with started(command, env=env, cwd=cwd, **(places | options)) as process:
            status = wait_for_end(process, lambda: f"It printed: {read(out)}{read(err)}", servers)
        return subprocess.CompletedProcess(process.args, status, read(out), read(err))
