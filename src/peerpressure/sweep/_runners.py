"""The runners of a sweep: worker processes on this machine, or a Dask cluster, behind one interface of futures.

`run_on` is the only loop. It needs no more of a runner than `Runner` has: how many batches it computes at a time, a
future for each batch, and an error of its own if the worker of a batch has died. Local workers write result files
themselves. Results from a cluster travel back, and the loop writes their files.

Executors of the standard library do not serve here: when one of its processes dies, a ProcessPoolExecutor gives up all
batches and does not tell which one did it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from pathlib import Path
from typing import Any, Protocol, TypeAlias, final

from peerpressure.errors import message
from peerpressure.support.progress import announce
from peerpressure.sweep._ledger import SweepError, UnitOutcome, no_room
from peerpressure.sweep._results import write_result
from peerpressure.sweep._work import Computed, Work, compute
from peerpressure.sweep.plan import Plan, Unit
from peerpressure.version import __version__

_POLL_SECONDS = 1.0  # between two looks at scheduler and workers of a cluster
# Workers that die before their first message point to a broken environment, in which every other one dies too.
_MOST_FALSE_STARTS = 3
_CONNECT_SECONDS = 30.0  # as long as Dask itself waits, for a scheduler on a busy machine
# A worker that restarts takes some seconds; after a minute without any, waiting longer is unlikely to help.
_NO_WORKERS_SECONDS = 60.0
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

Batch: TypeAlias = list[Unit]
Answer: TypeAlias = Future[list[Computed]]


class WorkerDeathError(Exception):
    """The worker of a batch died while it computed; the text says how."""


class Runner(Protocol):
    """What computes batches."""

    prefetch: int
    """Batches under way for each that is being computed."""

    def lanes(self) -> int:
        """Return how many batches are computed at a time, at present; raise SweepError if nothing can be computed."""
        ...

    def submit(self, batch: Batch) -> Answer:
        """Begin to compute a batch."""
        ...

    def result(self, answer: Answer) -> list[Computed]:
        """Return what was computed; raise WorkerDeathError if its worker died, and SweepError if all is lost."""
        ...


def run_on(runner: Runner, work: Work, plan: Plan, folder: Path) -> None:
    """Compute all units."""
    out: dict[Answer, Batch] = {}
    lanes = 0
    while not work.finished:
        # While a cluster has no worker, batches keep their size.
        if (now := runner.lanes()) not in (0, lanes):
            work.expect(lanes=now)
        lanes = now
        # A bounded number of batches under way also bounds what must be computed again if all of them are lost.
        while len(out) < runner.prefetch * lanes and (batch := work.take()):
            out[runner.submit(batch)] = batch
        if not out:
            time.sleep(_POLL_SECONDS)
        for answer in wait(out, _POLL_SECONDS, FIRST_COMPLETED).done:
            batch = out.pop(answer)
            try:
                computed = runner.result(answer)
            except WorkerDeathError as death:
                work.lost(batch, str(death))
            else:
                work.record([_keep(folder, plan, *pair) for pair in zip(batch, computed, strict=True)])


def _keep(folder: Path, plan: Plan, unit: Unit, computed: Computed) -> UnitOutcome:
    if computed.rows is not None:
        try:
            write_result(folder, plan.fingerprint.digest, unit, computed.rows)
        except OSError as error:
            raise no_room(str(error)) from error
    return UnitOutcome(unit.key, computed.seconds, computed.traceback)


# On this machine


@final
class Worker:
    """The parent's end of a worker process. Messages are lines of JSON through its pipes, which every system has."""

    def __init__(self, announced: Callable[[], None]) -> None:
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
        self.announcement = ""
        self._announced = announced

    def ask(self, question: object) -> dict[str, Any]:
        """Send a message and return the answer; raise WorkerDeathError if there will be none."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        # A pipe of a dead process is closed, and a killed one may leave half a line, which is not JSON.
        with contextlib.suppress(OSError, ValueError):
            self.process.stdin.write(json.dumps(question).encode() + b"\n")
            self.process.stdin.flush()
            for line in self.process.stdout:
                answer: dict[str, Any] = json.loads(line)
                if "announcement" not in answer:
                    return answer
                self.announcement = answer["announcement"]
                self._announced()
        raise WorkerDeathError(self.end())

    def end(self) -> str:
        """Kill the process, which leaves result files intact, and return how it ended."""
        # Results are written to a temporary file and renamed, so a kill at any moment leaves no partial result.
        self.process.kill()
        code = self.process.wait()
        for pipe in filter(None, (self.process.stdin, self.process.stdout)):
            # What a dead process has not read cannot be flushed any more.
            with contextlib.suppress(OSError):
                pipe.close()
        return f"the worker died of signal {-code}" if code < 0 else f"the worker ended with exit code {code}"


@final
class LocalWorkers:
    """Processes of one thread each, started when there is a batch for them; dead ones are replaced."""

    prefetch = 1

    def __init__(self, plan: Plan, folder: Path, size: int) -> None:
        place, local = str(folder.resolve()), dict(plan.local)
        fingerprint = plan.fingerprint.digest
        self._setting = {"task": plan.task, "folder": place, "fingerprint": fingerprint, "local": local}
        self._size = size
        self._workers: list[Worker] = []
        self._idle: list[Worker] = []
        self._false_starts = 0
        self._closed = False
        # No worker may be started once all are ended.
        self._starting = threading.Lock()

    def lanes(self) -> int:
        """Return the number of processes."""
        return self._size

    def submit(self, batch: Batch) -> Answer:
        """Give a batch to an idle worker or a new one."""
        answer: Answer = Future()
        # Not every system can wait for several pipes, so a thread waits for each. A daemon does not keep the program
        # alive, however it ends.
        threading.Thread(target=self._answer, args=(batch, answer), daemon=True).start()
        return answer

    def result(self, answer: Answer) -> list[Computed]:
        """Return what was computed."""
        return answer.result()

    def close(self) -> None:
        """End all workers at once: a unit may run for hours, and an interrupt must return."""
        with self._starting:
            self._closed = True
        for worker in tuple(self._workers):
            worker.end()

    def _answer(self, batch: Batch, answer: Answer) -> None:
        try:
            worker = self._take()
            told = worker.ask(batch)
            self._idle.append(worker)
            # Every other worker meets a full disk too, so the sweep stops.
            if "unwritten" in told:
                raise no_room(told["unwritten"])
            answer.set_result([Computed(*one) for one in told["computed"]])
        except BaseException as error:
            answer.set_exception(error)

    def _take(self) -> Worker:
        """Return a worker that waits for a batch."""
        while self._idle:
            worker = self._idle.pop()
            if worker.process.poll() is None:
                return worker
        return self._start()

    def _start(self) -> Worker:
        while True:
            with self._starting:
                if self._closed:
                    raise WorkerDeathError("the sweep has ended")
                worker = Worker(self._announce)
                self._workers.append(worker)
            try:
                worker.ask(self._setting)
            # Before its first batch: no unit is to blame.
            except WorkerDeathError as death:
                self._false_starts += 1
                if self._false_starts >= _MOST_FALSE_STARTS:
                    rule, got = "workers must be able to start", f"{self._false_starts} that did not ({death})"
                    raise SweepError(message(rule, got=got, remedy="see above why")) from None
            else:
                self._false_starts = 0
                return worker

    def _announce(self) -> None:
        # One that has finished must not withdraw what another still does.
        busy = (worker.announcement for worker in self._workers if worker.process.poll() is None)
        announce(next(filter(None, busy), ""))


def run_locally(work: Work, plan: Plan, folder: Path, workers: int) -> None:
    """Compute all units in up to ``workers`` processes of one thread each."""
    with contextlib.closing(LocalWorkers(plan, folder, workers)) as runner:
        run_on(runner, work, plan, folder)


# On a cluster


def compute_batch(task: str, version: str, local: Mapping[str, str], units: Batch) -> list[Computed]:
    """Compute units on a worker of the cluster."""
    # Another version may compute other numbers, which the fingerprint of the result would not reveal.
    if version != __version__:
        rule = f"workers must have version {version} of peerpressure"
        raise SweepError(message(rule, got=__version__, remedy="install the same version on all machines"))
    return [compute(task, unit, local) for unit in units]


def run_on_dask(work: Work, plan: Plan, folder: Path, address: str) -> None:
    """Compute all units on the cluster whose scheduler is at ``address``."""
    with _connected(address) as client:
        run_on(Cluster(client, plan), work, plan, folder)


@final
class Cluster:
    """The workers of a Dask cluster; Dask computes the batches of a dead one again."""

    prefetch = 2  # with one, threads would wait for messages

    def __init__(self, client: Any, plan: Plan) -> None:
        self._client, self._plan = client, plan
        self._futures: dict[Answer, Any] = {}
        self._threads = 0
        # The monotonic clock may start at 0, and the first call is to check at once.
        self._checked = -_POLL_SECONDS
        self._last_seen = time.monotonic()

    def lanes(self) -> int:
        """Return the number of threads; at intervals it is checked that scheduler and workers are alive."""
        now = time.monotonic()
        if now < self._checked + _POLL_SECONDS:
            return self._threads
        if self._client.status != "running":
            raise _gone("a scheduler that went away")
        self._checked = now
        try:
            self._threads = sum(self._client.nthreads().values())
        # The scheduler may go away while it is asked.
        except (CancelledError, OSError, TimeoutError) as error:
            raise _gone(f"a scheduler that went away ({error})") from error
        self._last_seen = now if self._threads else self._last_seen
        if now > self._last_seen + _NO_WORKERS_SECONDS:
            rule = "a cluster must have workers"
            raise SweepError(message(rule, got="none for a minute", remedy="start some and run the sweep again"))
        return self._threads

    def submit(self, batch: Batch) -> Answer:
        """Send a batch to the scheduler."""
        common = (self._plan.task, self._plan.fingerprint.version, dict(self._plan.local))
        # pure=False: a batch that is taken back and submitted again must not be answered from Dask's cache by its
        # arguments.
        future = self._client.submit(compute_batch, *common, batch, pure=False)
        # Not by Dask's own executor, whose future stays open forever if its result is lost on the way.
        answer: Answer = Future()
        # Referenced until its result is there: Dask cancels a task as soon as no client refers to its future.
        self._futures[answer] = future
        # The callback runs in a thread of Dask, so it only says that the batch is finished.
        future.add_done_callback(lambda _: answer.set_result([]))
        return answer

    def result(self, answer: Answer) -> list[Computed]:
        """Return what was computed."""
        from distributed import KilledWorker

        future = self._futures.pop(answer)
        try:
            if future.cancelled():
                raise CancelledError("cancelled")
            computed: list[Computed] = future.result()
        # Dask tries a batch on several workers before it raises this; the batch is then split to find the unit.
        except KilledWorker as error:
            raise WorkerDeathError("workers of the cluster died") from error
        except (CancelledError, OSError, TimeoutError) as error:
            raise _gone(f"a scheduler that went away ({error})") from error
        return computed


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
