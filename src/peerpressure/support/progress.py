"""Progress and cancellation of long computations.

The verbs of the library take a callback ``should_stop``. ``cancellable`` makes it the callback of everything that the
verb calls, and ``check_cancelled`` calls it. The functions in between need no argument for it. A model calls
``check_cancelled`` at every step that is read from it, and an engine between two blocks of steps.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache
from typing import TypeAlias

from peerpressure.errors import CancelledError, InvalidInputError

ShouldStop: TypeAlias = Callable[[], bool]
COMPILING = "compiling once, a few seconds"
# One callback for each block of ``cancellable`` that is open, the outermost first.
# A context variable and not a global: computations in other threads or tasks have callbacks of their own.
_CALLBACKS: ContextVar[tuple[ShouldStop, ...]] = ContextVar("should_stop", default=())


@contextlib.contextmanager
def cancellable(should_stop: ShouldStop | None, *, at_once: bool = True) -> Iterator[None]:
    """Let ``should_stop`` cancel the work of the block, besides the callbacks that can cancel it already.

    It is asked before the work begins, unless ``at_once`` is False.

    >>> with cancellable(lambda: True):
    ...     print("never")
    Traceback (most recent call last):
    peerpressure.errors.CancelledError: the computation was cancelled by should_stop; start it again for a result
    """
    given: object = should_stop
    if given is not None and not callable(given):
        remedy = "pass a function without arguments that returns True to cancel"
        raise InvalidInputError("should_stop must be a function", got=repr(given), remedy=remedy)
    token = _CALLBACKS.set(_CALLBACKS.get() if should_stop is None else (*_CALLBACKS.get(), should_stop))
    try:
        # A job that was cancelled in the queue does no work at all.
        if at_once:
            check_cancelled()
        yield
    finally:
        # Also after an error, or a later computation in this thread would inherit the callback.
        _CALLBACKS.reset(token)


def check_cancelled() -> None:
    """Raise ``CancelledError`` if the computation that calls this is to stop; what a callback raises propagates."""
    for should_stop in _CALLBACKS.get():
        if should_stop():
            raise CancelledError("the computation was cancelled by should_stop; start it again for a result")


@contextlib.contextmanager
def deaf_children() -> Iterator[None]:
    """Start processes in this block that Ctrl-C does not reach; whoever starts them ends them.

    A terminal sends the signal to children as well, and each would print a traceback.
    """
    # Blocked signals are inherited, and one that arrives meanwhile is delivered to this process afterwards. Windows has
    # no such mask.
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    _start_tracker()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_tracker() -> None:
    """Start the process that removes semaphores after a kill, before a child starts it: that unblocks the signal."""
    from multiprocessing import resource_tracker

    # It would warn of what it removes, in a terminal whose command is long over, and takes over the options of Python.
    sys.warnoptions.append("ignore:resource_tracker:UserWarning")
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.pop()


def end_with_parent() -> None:
    """End this process, which another one has started, as soon as that ends, however it does."""
    from multiprocessing import parent_process

    def wait() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            # sys.exit would only end this thread.
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextlib.contextmanager
def reporter(
    progress: bool | Callable[[int, int], None], total: int, what: str = "steps"
) -> Iterator[Callable[[int], None]]:
    """Give a function that is called with the number of steps done, out of ``total``; each call may cancel.

    ``True`` displays a bar named ``what`` on a terminal, and prints a line for each tenth elsewhere, such as in
    notebooks and logs. A callable is called with (done, total).
    """
    with _display(progress, total, what) as show:

        def report(done: int) -> None:
            show(done)
            check_cancelled()

        yield report


@contextlib.contextmanager
def _display(progress: bool | Callable[[int, int], None], total: int, what: str) -> Iterator[Callable[[int], None]]:
    if callable(progress):
        yield lambda done: progress(done, total)
    elif progress and on_terminal():
        # Imported here, because most calls need no bar and the import is slow.
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=total)
            with announcing(lambda text: bar.update(task, description=text or what)):
                yield lambda done: bar.update(task, completed=done)
    elif progress:
        yield _tenths(total, what)
    else:
        yield lambda done: None


def on_terminal() -> bool:
    """Return whether a bar can be shown; in a file or pipe it would be a stream of control characters."""
    return sys.stderr.isatty()


def _tenths(total: int, what: str) -> Callable[[int], None]:
    """Return a function that prints a line whenever another tenth is done."""
    printed = 0

    def show(done: int) -> None:
        nonlocal printed
        tenth = 10 * done // max(total, 1)
        if tenth > printed:
            printed = tenth
            print(f"{what}: {done:,} of {total:,}", file=sys.stderr, flush=True)

    return show


# The display of a command's progress, which is notified when compilation begins and ends.
_DISPLAYS: list[Callable[[str], None]] = []


@contextlib.contextmanager
def announcing(show: Callable[[str], None]) -> Iterator[None]:
    """Call ``show`` with a text when numba begins to compile, and with an empty one when it ends."""
    _DISPLAYS.append(show)
    try:
        yield
    finally:
        _DISPLAYS.remove(show)


def announce(text: str) -> None:
    """Show a text on all displays that are open, an empty one in order to withdraw the last."""
    for show in tuple(_DISPLAYS):
        show(text)


@cache
def announce_compilation() -> None:
    """Announce what numba compiles from now on, which takes much longer than the first steps.

    Modules that compile call this; a display need not load numba. Loading from disk is quick and is not reported.
    """
    from numba.core import event

    class Announcement(event.Listener):  # type: ignore[misc]  # numba has no types
        # Functions that a kernel calls are compiled while the kernel is.
        depth = 0

        def on_start(self, event: object) -> None:
            self.depth += 1
            announce(COMPILING)

        def on_end(self, event: object) -> None:
            self.depth -= 1
            if not self.depth:
                announce("")

    event.register("numba:compile", Announcement())
