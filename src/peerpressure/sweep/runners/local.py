"""Units computed by processes of this machine, which write the result files themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, final

from peerpressure.errors import complain
from peerpressure.sweep.errors import SweepError, no_room
from peerpressure.sweep.ledger import Outcome
from peerpressure.sweep.plan import Plan, Unit
from peerpressure.sweep.work import Work

_LOOK_AROUND = 1.0  # seconds after which a death is noticed even if the pipe did not tell
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
    """The parent's end of a worker process, and the batch that it works on."""

    def __init__(self, setting: Mapping[str, str]) -> None:
        self.pipe, theirs = Pipe()
        with theirs:
            command = [sys.executable, "-P", "-m", "peerpressure.sweep.runners.worker", str(theirs.fileno())]
            path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
            self.process = subprocess.Popen(
                command,
                env={**os.environ, **_ONE_THREAD, "PYTHONPATH": path},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=2,  # what a task prints must not mix with what a command prints
                start_new_session=True,
            )
        self.ready = False
        self.batch: list[Unit] = []
        self._tell(setting)

    def give(self, batch: list[Unit]) -> None:
        """Send a batch to compute."""
        self.batch = batch
        self._tell(batch)

    def answer(self) -> dict[str, Any] | None:
        """Return what the worker says; None if it is dead."""
        try:
            if self.pipe.poll():
                answer: dict[str, Any] = json.loads(self.pipe.recv_bytes())
                return answer
        except (EOFError, OSError):
            self.process.kill()
            return None
        return {} if self.process.poll() is None else None

    def end(self) -> str:
        """End the process at once, which no result file minds, and say how it ended."""
        self.pipe.close()
        self.process.kill()
        code = self.process.wait()
        return f"the worker died of signal {-code}" if code < 0 else f"the worker ended with exit code {code}"

    def _tell(self, message: object) -> None:
        try:
            self.pipe.send_bytes(json.dumps(message).encode())
        except OSError:
            self.process.kill()  # the next look finds it dead


@final
class Crew:
    """As many workers as there is work for; the dead are replaced."""

    def __init__(self, work: Work, setting: Mapping[str, str], size: int) -> None:
        self.workers: list[Worker] = []
        self._work, self._setting, self._size = work, setting, size
        self._false_starts = 0

    def employ(self) -> None:
        """Give a batch to every idle worker, and start workers until there are enough for what is left."""
        for worker in self.workers:
            if worker.ready and not worker.batch and (batch := self._work.take(f"process {worker.process.pid}")):
                worker.give(batch)
        starting = sum(not worker.ready for worker in self.workers)
        while len(self.workers) < self._size and starting < self._work.left:
            self.workers.append(Worker(self._setting))
            starting += 1

    def look(self) -> None:
        """Wait until some worker has something to say, and see to it."""
        pipes: list[Connection[Any, Any]] = [worker.pipe for worker in self.workers]
        heard = wait(pipes, timeout=_LOOK_AROUND)
        for worker in [worker for worker in self.workers if not heard or worker.pipe in heard]:
            answer = worker.answer()
            if answer is None:
                self._bury(worker)
            elif answer:
                self._hear(worker, answer)

    def _hear(self, worker: Worker, answer: dict[str, Any]) -> None:
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
            raise SweepError(complain(rule, got=f"{self._false_starts} that did not ({how})", remedy="see above why"))


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
