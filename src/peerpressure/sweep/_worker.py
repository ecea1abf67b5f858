"""A worker process: ``python -m peerpressure.sweep._worker`` reads batches from its input and writes answers.

It is a separate program rather than a ``multiprocessing`` process: the caller's script is not imported again, and
Ctrl-C at a terminal reaches only the parent.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import IO, Any, Never

from peerpressure.support.progress import announcing
from peerpressure.sweep._results import write_result
from peerpressure.sweep._work import Computed, compute
from peerpressure.sweep.plan import Unit


def main() -> None:
    """Compute batches for the parent at the other end of the pipes until it closes them."""
    # Windows has no sessions, so Ctrl-C reaches workers too; the parent decides when they end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Output of the task must not mix with the answers, nor with the output of a command.
    answers = os.fdopen(os.dup(1), "wb")
    # At the level of file descriptors, which redirects output of compiled libraries as well.
    os.dup2(2, 1)
    batches: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()
    # The first line is what all batches have in common; a parent that dies before it ends the worker without a word.
    first = sys.stdin.buffer.readline()
    if not first.endswith(b"\n"):
        return
    setting = json.loads(first)
    threading.Thread(target=_listen, args=(sys.stdin.buffer, batches), daemon=True).start()
    _send(answers, {"ready": os.getpid()})
    with announcing(lambda text: _send(answers, {"announcement": text})):
        _work(setting, batches, answers)


def _work(setting: dict[str, Any], batches: queue.SimpleQueue[list[Any]], answers: IO[bytes]) -> Never:
    while True:
        try:
            # One answer per batch; result files are written before it, so a unit that is reported as done has its file.
            _send(answers, {"computed": [_serve(setting, Unit(*unit)) for unit in batches.get()]})
        except OSError as error:
            # The disk is full or not writable: no fault of the unit, and every other worker meets it too, so the parent
            # stops.
            _send(answers, {"unwritten": str(error)})


def _listen(orders: IO[bytes], batches: queue.SimpleQueue[list[Any]]) -> None:
    """Queue batches, and end the process with its parent, even in the middle of a unit."""
    try:
        for line in orders:
            # A parent that was killed may have sent a part.
            if line.endswith(b"\n"):
                batches.put(json.loads(line))
    finally:
        # sys.exit would only end this thread, and would wait for the unit that the main thread is computing.
        os._exit(0)


def _serve(setting: dict[str, Any], unit: Unit) -> Computed:
    """Compute a unit and write its rows, which then need not travel."""
    computed = compute(setting["task"], unit, setting["local"])
    if computed.rows is not None:
        write_result(Path(setting["folder"]), setting["fingerprint"], unit, computed.rows)
    return computed._replace(rows=None)


def _send(answers: IO[bytes], message: dict[str, Any]) -> None:
    try:
        answers.write(json.dumps(message).encode() + b"\n")
        answers.flush()
    except OSError:
        os._exit(0)  # the parent is gone


if __name__ == "__main__":
    main()
