"""Units computed by processes of this machine, which write the result files themselves."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias, final

from peerpressure.errors import message
from peerpressure.sweep._ledger import Outcome, SweepError, no_room
from peerpressure.sweep._plan import Plan, Unit
from peerpressure.sweep._work import Work

_LOOK_AROUND = 1.0  # seconds after which a death is noticed even if no pipe told
_MOST_FALSE_STARTS = 3
# One thread each: workers share the cores among themselves, and sums do not depend on the number of cores.
_ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
    ),
    "1",
)


@final
class Worker:
    """The parent's end of a worker process, and the batch that it works on.

    Messages are lines of JSON through the pipes of the process, which every system has. Pipes cannot be waited for
    everywhere, so a thread puts what the worker says into ``heard``, and None when there is nothing more to come.
    """

    def __init__(self, setting: Mapping[str, str], heard: queue.SimpleQueue[Heard]) -> None:
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "peerpressure.sweep._worker"],
            env={**os.environ, **_ONE_THREAD, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.ready = False
        self.batch: list[Unit] = []
        threading.Thread(target=self._listen, args=(heard,), daemon=True).start()
        self._tell(setting)

    def give(self, batch: list[Unit]) -> None:
        """Send a batch to compute."""
        self.batch = batch
        self._tell(batch)

    def end(self) -> str:
        """End the process at once, which no result file minds, and say how it ended."""
        self.process.kill()
        code = self.process.wait()
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        return f"the worker died of signal {-code}" if code < 0 else f"the worker ended with exit code {code}"

    def _tell(self, message: object) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            self.process.kill()  # the listener finds it dead

    def _listen(self, heard: queue.SimpleQueue[Heard]) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines, contextlib.suppress(ValueError):
            # A worker that was killed may leave half a line, which is no JSON.
            for line in lines:
                heard.put((self, json.loads(line)))
        heard.put((self, None))


Heard: TypeAlias = tuple[Worker, dict[str, Any] | None]


@final
class Crew:
    """As many workers as there is work for; the dead are replaced."""

    def __init__(self, work: Work, setting: Mapping[str, str], size: int) -> None:
        self.workers: list[Worker] = []
        self._heard: queue.SimpleQueue[Heard] = queue.SimpleQueue()
        self._work, self._setting, self._size = work, setting, size
        self._false_starts = 0

    def employ(self) -> None:
        """Give a batch to every idle worker, and start workers until there are enough for what is left."""
        for worker in self.workers:
            if worker.ready and not worker.batch and (batch := self._work.take(f"process {worker.process.pid}")):
                worker.give(batch)
        starting = sum(not worker.ready for worker in self.workers)
        while len(self.workers) < self._size and starting < self._work.left:
            self.workers.append(Worker(self._setting, self._heard))
            starting += 1

    def look(self) -> None:
        """Wait until some worker has something to say, and see to it."""
        try:
            worker, answer = self._heard.get(timeout=_LOOK_AROUND)
        except queue.Empty:
            dead = [worker for worker in self.workers if worker.process.poll() is not None]
        else:
            if answer is not None:
                self._hear(worker, answer)
            dead = [worker] if answer is None else []
        for worker in dead:
            if worker in self.workers:
                self._bury(worker)

    def _hear(self, worker: Worker, answer: dict[str, Any]) -> None:
        if worker not in self.workers:
            return  # its units were given to others
        if "unwritten" in answer:
            raise no_room(answer["unwritten"])
        worker.ready, worker.batch, self._false_starts = True, [], 0
        self._work.record([Outcome(*outcome) for outcome in answer.get("outcomes", ())])

    def _bury(self, worker: Worker) -> None:
        self.workers.remove(worker)
        how = worker.end()
        self._work.lost(worker.batch, how)
        self._false_starts += not worker.ready
        if self._false_starts >= _MOST_FALSE_STARTS:
            rule = "workers must be able to start"
            raise SweepError(message(rule, got=f"{self._false_starts} that did not ({how})", remedy="see above why"))


def run_locally(work: Work, plan: Plan, folder: Path, workers: int) -> None:
    """Compute all units in up to ``workers`` processes of one thread each."""
    fingerprint = plan.fingerprint.digest
    setting = {"task": plan.task, "folder": str(folder.resolve()), "fingerprint": fingerprint}
    work.expect(lanes=workers)
    crew = Crew(work, setting, workers)
    try:
        while not work.finished:
            crew.employ()
            crew.look()
    finally:
        for worker in crew.workers:
            worker.end()
