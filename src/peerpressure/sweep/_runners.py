"""The runners of a sweep: worker processes on this machine, or a Dask cluster.

Local workers write result files themselves. Results from a cluster travel back, and the parent writes their files and
the ledger; Dask recomputes the batches of a dead worker, and after a dead scheduler the ledger knows what is left.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, TypeAlias, final

from peerpressure.errors import message
from peerpressure.progress import announce
from peerpressure.sweep._ledger import SweepError, UnitOutcome, no_room
from peerpressure.sweep._results import write_result
from peerpressure.sweep._work import Computed, Work, compute
from peerpressure.sweep.plan import Plan, Unit
from peerpressure.version import __version__

_POLL_SECONDS = 1.0  # after which a death is noticed even if no pipe reports it
# Workers that die before their first message point to a broken environment, in which every other one dies too.
_MOST_FALSE_STARTS = 3
_CONNECT_SECONDS = 10.0
# A worker that restarts takes some seconds; after a minute without any, waiting longer is unlikely to help.
_NO_WORKERS_SECONDS = 60.0
_AHEAD = 2  # batches per thread of a cluster; with one, threads would wait for messages
# One thread each: workers share the cores, and sums do not depend on the number of cores.
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

    Messages are lines of JSON through the pipes of the process, which every system has. Not every system can wait for
    several pipes, so a thread puts the worker's messages into ``inbox``, and None after the last one.
    """

    def __init__(self, setting: Mapping[str, Any], inbox: queue.SimpleQueue[Message]) -> None:
        # The worker imports the task as the parent would, also from the current directory, for which sys.path has "".
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self.process = subprocess.Popen(
            # -P leaves the working directory out of the worker's own path, which PYTHONPATH sets completely.
            [sys.executable, "-P", "-m", "peerpressure.sweep._worker"],
            env={**os.environ, **_ONE_THREAD, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # A session of its own: Ctrl-C at the terminal goes to the parent's process group only.
            start_new_session=True,
        )
        self.ready = False
        self.announcement = ""
        self.batch: list[Unit] = []
        # Started before the first message is sent, because a full pipe could otherwise block both sides.
        threading.Thread(target=self._listen, args=(inbox,), daemon=True).start()
        self._send(setting)

    def give(self, batch: list[Unit]) -> None:
        """Send a batch to compute."""
        self.batch = batch
        self._send(batch)

    def end(self) -> str:
        """Kill the process, which leaves result files intact, and return how it ended."""
        # Results are written to a temporary file and renamed, so a kill at any moment leaves no partial result.
        self.process.kill()
        code = self.process.wait()
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        return f"the worker died of signal {-code}" if code < 0 else f"the worker ended with exit code {code}"

    def _send(self, message: object) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            self.process.kill()  # the listener notices

    def _listen(self, inbox: queue.SimpleQueue[Message]) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines, contextlib.suppress(ValueError):
            # A killed worker may leave half a line, which is not JSON.
            for line in lines:
                inbox.put((self, json.loads(line)))
        inbox.put((self, None))


Message: TypeAlias = tuple[Worker, dict[str, Any] | None]


@final
class Pool:
    """As many workers as there is work for; dead ones are replaced."""

    def __init__(self, work: Work, setting: Mapping[str, Any], size: int) -> None:
        self.workers: list[Worker] = []
        self._inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._work, self._setting, self._size = work, setting, size
        self._false_starts = 0

    def assign(self) -> None:
        """Give a batch to every idle worker, and start workers until there are enough for what is left."""
        for worker in self.workers:
            if worker.ready and not worker.batch and (batch := self._work.take(f"process {worker.process.pid}")):
                worker.give(batch)
        # Importing the package takes a while. Counting the workers under way prevents one more start per call of
        # assign.
        starting = sum(not worker.ready for worker in self.workers)
        while len(self.workers) < self._size and starting < self._work.left:
            self.workers.append(Worker(self._setting, self._inbox))
            starting += 1

    def wait(self) -> None:
        """Wait for a message of some worker, and handle it."""
        try:
            worker, answer = self._inbox.get(timeout=_POLL_SECONDS)
        except queue.Empty:
            dead = [worker for worker in self.workers if worker.process.poll() is not None]
        else:
            if answer is not None:
                self._receive(worker, answer)
            dead = [worker] if answer is None else []
        for worker in dead:
            if worker in self.workers:
                self._remove(worker)

    def _receive(self, worker: Worker, answer: dict[str, Any]) -> None:
        # Its messages may still be queued after its removal; recording them would count units twice.
        if worker not in self.workers:
            return  # its units were reassigned
        if "unwritten" in answer:
            raise no_room(answer["unwritten"])
        if "announcement" in answer:
            # One that has finished must not withdraw what another still does.
            worker.announcement = answer["announcement"]
            announce(next((other.announcement for other in self.workers if other.announcement), ""))
            return
        worker.ready, worker.batch, self._false_starts = True, [], 0
        self._work.record([UnitOutcome(*outcome) for outcome in answer.get("outcomes", ())])

    def _remove(self, worker: Worker) -> None:
        self.workers.remove(worker)
        # After an orderly exit kill does nothing, so one path serves dead and finished workers.
        how = worker.end()
        self._work.lost(worker.batch, how)
        self._false_starts += not worker.ready
        if self._false_starts >= _MOST_FALSE_STARTS:
            rule = "workers must be able to start"
            raise SweepError(message(rule, got=f"{self._false_starts} that did not ({how})", remedy="see above why"))


def run_locally(work: Work, plan: Plan, folder: Path, workers: int) -> None:
    """Compute all units in up to ``workers`` processes of one thread each."""
    fingerprint = plan.fingerprint.digest
    place, local = str(folder.resolve()), dict(plan.local)
    setting = {"task": plan.task, "folder": place, "fingerprint": fingerprint, "local": local}
    work.expect(lanes=workers)
    pool = Pool(work, setting, workers)
    try:
        while not work.finished:
            pool.assign()
            pool.wait()
    finally:
        # No orderly shutdown: a unit may run for hours, and an interrupt must return at once.
        for worker in pool.workers:
            worker.end()


def compute_batch(task: str, version: str, local: Mapping[str, str], units: list[Unit]) -> list[Computed]:
    """Compute units on a worker of the cluster."""
    # Another version may compute other numbers, which the fingerprint of the result would not reveal.
    if version != __version__:
        rule = f"workers must have version {version} of peerpressure"
        raise SweepError(message(rule, got=__version__, remedy="install the same version on all machines"))
    return [compute(task, unit, local) for unit in units]


def run_on_dask(work: Work, plan: Plan, folder: Path, address: str) -> None:
    """Compute all units on the cluster whose scheduler is at ``address``."""
    with _connected(address) as client:
        cluster = Cluster(client, work, plan, folder)
        while not work.finished:
            cluster.check()
            cluster.submit()
            cluster.wait()


@final
class Cluster:
    """The batches that a cluster is computing."""

    def __init__(self, client: Any, work: Work, plan: Plan, folder: Path) -> None:
        self._client, self._work, self._plan, self._folder = client, work, plan, folder
        # Futures are referenced here: Dask cancels a task as soon as no client refers to its future.
        self._out: dict[str, tuple[Any, list[Unit]]] = {}
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._threads = 0
        # The monotonic clock may start at 0, and the first call is to check at once.
        self._checked = -_POLL_SECONDS
        self._last_seen = time.monotonic()

    def check(self) -> None:
        """Check at intervals whether scheduler and workers are alive, and how many threads they have."""
        now = time.monotonic()
        if now < self._checked + _POLL_SECONDS:
            return
        if self._client.status != "running":
            raise _gone("a scheduler that went away")
        self._checked, before = now, self._threads
        try:
            self._threads = sum(self._client.nthreads().values())
        # The scheduler may go away while it is asked.
        except (CancelledError, OSError, TimeoutError) as error:
            raise _gone(f"a scheduler that went away ({error})") from error
        self._last_seen = now if self._threads else self._last_seen
        # 0 lanes would divide by zero in the size of a batch; while no worker is there, the last number is kept.
        if self._threads not in (0, before):
            self._work.expect(lanes=self._threads)
        if now > self._last_seen + _NO_WORKERS_SECONDS:
            rule = "a cluster must have workers"
            raise SweepError(message(rule, got="none for a minute", remedy="start some and run the sweep again"))

    def submit(self) -> None:
        """Keep every thread of the cluster busy."""
        # A bounded number of batches in flight also bounds what must be recomputed if the scheduler dies.
        while len(self._out) < _AHEAD * self._threads and (batch := self._work.take("dask")):
            common = (self._plan.task, self._plan.fingerprint.version, dict(self._plan.local))
            # pure=False: a batch that is taken back and submitted again must not be answered from Dask's cache by its
            # arguments.
            future = self._client.submit(compute_batch, *common, batch, pure=False)
            self._out[future.key] = future, batch
            # The callback runs in Dask's thread, so it only puts the future into a queue, and the ledger stays with one
            # thread.
            future.add_done_callback(self._finished.put)

    def wait(self) -> None:
        """Wait for a finished batch, and keep its results."""
        try:
            future = self._finished.get(timeout=_POLL_SECONDS)
        except queue.Empty:
            return
        _, batch = self._out.pop(future.key)
        computed = _result(future)
        if computed is None:
            self._work.lost(batch, "workers of the cluster died")
        else:
            self._work.record([self._keep(unit, result) for unit, result in zip(batch, computed, strict=True)])

    def _keep(self, unit: Unit, computed: Computed) -> UnitOutcome:
        if computed.rows is not None:
            try:
                write_result(self._folder, self._plan.fingerprint.digest, unit, computed.rows)
            except OSError as error:
                raise no_room(str(error)) from error
        return UnitOutcome(unit.key, computed.seconds, computed.traceback)


def _result(future: Any) -> list[Computed] | None:
    """Return the results of a batch; None if Dask gave it up because its workers died one after the other."""
    from distributed import KilledWorker

    try:
        if future.cancelled():
            raise CancelledError("cancelled")
        result: list[Computed] = future.result()
    # Dask tries a batch on several workers before it raises this; the batch is then split to find the unit.
    except KilledWorker:
        return None
    except (CancelledError, OSError, TimeoutError) as error:
        raise _gone(f"a scheduler that went away ({error})") from error
    return result


@contextlib.contextmanager
def _without_reports() -> Iterator[None]:
    """Silence Dask's reports of a lost connection, which is one error of the sweep."""
    # Dask gives several of its loggers a level and a handler of their own.
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextlib.contextmanager
def _connected(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError as error:
        rule, remedy = "a cluster needs Dask", "pip install distributed pyarrow"
        raise SweepError(message(rule, got="an installation without it", remedy=remedy)) from error
    connect: Any = Client  # untyped
    # After the import, by which Dask sets up its loggers, and until the client is closed.
    with _without_reports():
        try:
            # set_as_default=False leaves the Dask client of a calling notebook in place.
            client = connect(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise _gone(f"no scheduler at {address} ({error})") from error
        try:
            yield client
        finally:
            # close waits for the scheduler, which may be gone.
            client.close(timeout=2)


def _gone(got: str) -> SweepError:
    remedy = "start it and run the sweep again: finished units are kept"
    return SweepError(message("the scheduler of the cluster must be reachable", got=got, remedy=remedy))
