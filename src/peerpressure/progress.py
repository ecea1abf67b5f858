"""Progress of long work: a bar on a terminal's error stream, a caller's own function, or nothing."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def reporter(progress: bool | Callable[[int, int], None], total: int) -> Iterator[Callable[[int], None]]:
    """Give a function to be told how many of ``total`` steps are done.

    ``True`` shows a bar if the error stream is a terminal; a callable is called with (done, total).
    """
    if callable(progress):
        yield lambda done: progress(done, total)
    elif progress and sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("steps", total=total)
            yield lambda done: bar.update(task, completed=done)
    else:
        yield lambda done: None
