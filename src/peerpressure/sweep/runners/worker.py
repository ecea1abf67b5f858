"""A worker process: ``python -m peerpressure.sweep.runners.worker FD`` reads batches from a pipe and answers.

A process of its own rather than one of ``multiprocessing``, so that a caller's script is not imported again, and
Ctrl-C at a terminal reaches the parent only.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from peerpressure.sweep.plan import Unit
from peerpressure.sweep.results import write_result

from .compute import compute


def main() -> None:
    """Serve the parent at the other end of the pipe until it hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe: Connection[Any, Any] = Connection(int(sys.argv[1]))
    batches: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()
    setting = json.loads(pipe.recv_bytes())
    threading.Thread(target=_listen, args=(pipe, batches), daemon=True).start()
    _send(pipe, {"ready": os.getpid()})
    while True:
        try:
            _send(pipe, {"outcomes": [_serve(setting, Unit(*unit)) for unit in batches.get()]})
        except OSError as error:
            _send(pipe, {"unwritten": str(error)})


def _listen(pipe: Connection[Any, Any], batches: queue.SimpleQueue[list[Any]]) -> None:
    """Pass batches on, and end the process with its parent, even in the middle of a unit."""
    try:
        while True:
            batches.put(json.loads(pipe.recv_bytes()))
    except (EOFError, OSError):
        os._exit(0)


def _serve(setting: dict[str, str], unit: Unit) -> tuple[str, float, str | None]:
    computed = compute(setting["task"], unit)
    if computed.rows is not None:
        write_result(Path(setting["folder"]), setting["fingerprint"], unit, computed.rows)
    return unit.key, computed.seconds, computed.traceback


def _send(pipe: Connection[Any, Any], message: dict[str, Any]) -> None:
    try:
        pipe.send_bytes(json.dumps(message).encode())
    except OSError:
        os._exit(0)  # the parent is gone


if __name__ == "__main__":
    main()
