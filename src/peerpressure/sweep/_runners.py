"""The runners of a sweep: worker processes on this machine, or a Dask cluster, behind one interface of futures.

`run_on` is the only loop. It needs no more of a runner than `Runner` has: how many batches it computes at a time, a
future for each batch, and an error of its own if the worker of a batch has died. Local workers write result files
themselves. Results from a cluster travel back, and the loop writes their files.

When one of its processes dies, the pool of the standard library gives up all batches and does not tell which one did
it: it is started again, and the units that were under way are handed out one by one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import SpawnContext
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeAlias, final

from peerpressure.errors import message
from peerpressure.support.progress import announce, announcing, deaf_children, end_with_parent
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
        most = 1 if work.has_suspects else runner.prefetch * lanes
        while len(out) < most and (batch := work.take()):
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


class _Tracked(SpawnContext):
    """Processes that are spawned, since threads of a compiled run do not survive a fork; all of them are known."""

    def __init__(self) -> None:
        super().__init__()
        self.processes: list[Any] = []

    def Process(self, *arguments: Any, **options: Any) -> Any:  # type: ignore[override]
        """Return a process that is about to be started."""
        self.processes.append(super().Process(*arguments, **options))
        return self.processes[-1]


@contextlib.contextmanager
def _starting() -> Iterator[None]:
    """Start processes in this block that have one thread each, and neither Ctrl-C nor the caller's script reach."""
    main, before = sys.modules["__main__"], {name: os.environ.get(name) for name in _ONE_THREAD}
    # A spawned process would run the script again, which a task does not need.
    sys.modules["__main__"] = ModuleType("__main__")
    os.environ.update(_ONE_THREAD)
    try:
        with deaf_children():
            yield
    finally:
        sys.modules["__main__"] = main
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@final
class LocalWorkers:
    """A pool of processes, started when there is a batch for them, and again when one of them has died."""

    prefetch = 1

    def __init__(self, plan: Plan, folder: Path, size: int) -> None:
        self._setting = (plan.task, str(folder.resolve()), plan.fingerprint.digest, dict(plan.local))
        self._size = size
        self._false_starts = 0
        self._death = ""
        self._pools: dict[Answer, ProcessPoolExecutor] = {}
        self._begin()

    def _begin(self) -> None:
        self._context = _Tracked()
        self._heard: list[int | str] = []
        # Without a lock, which a process that is killed could hold forever: short messages do not mix in a pipe.
        receiver, self._sender = self._context.Pipe(duplex=False)
        threading.Thread(target=_listen, args=(receiver, self._heard), daemon=True).start()
        # Its semaphores start a process as well.
        with _starting():
            self._pool = ProcessPoolExecutor(self._size, self._context, initializer=_prepare, initargs=(self._sender,))

    def lanes(self) -> int:
        """Return the number of processes."""
        return self._size

    def submit(self, batch: Batch) -> Answer:
        """Give a batch to the pool."""
        try:
            with _starting():
                answer = self._pool.submit(compute_and_write, *self._setting, batch)
        # A process that dies while the next one is started takes along what that one needs, which is an OSError.
        except (BrokenProcessPool, OSError) as error:
            answer = Future()
            answer.set_exception(BrokenProcessPool(str(error)))
        self._pools[answer] = self._pool
        return answer

    def result(self, answer: Answer) -> list[Computed]:
        """Return what was computed."""
        pool = self._pools.pop(answer)
        try:
            return answer.result()
        except BrokenProcessPool as error:
            # A pool gives up all batches when one of its processes dies, and is started again for the first of them.
            if pool is self._pool:
                self._restart(str(error))
            raise WorkerDeathError(self._death) from None
        except OSError as error:
            raise no_room(str(error)) from error

    def _restart(self, error: str) -> None:
        self._end()
        codes = [process.exitcode for process in self._context.processes if process.exitcode is not None]
        # The pool ends the others by SIGTERM.
        code = next((code for code in codes if code != -signal.SIGTERM), -signal.SIGTERM if codes else None)
        if code is None:
            self._death = error
        else:
            self._death = (
                f"the worker died of signal {-code}" if code < 0 else f"the worker ended with exit code {code}"
            )
        # A process that has said nothing has not begun with a batch, so no unit is to blame.
        self._false_starts = 0 if self._heard else self._false_starts + 1
        self._begin()
        if self._false_starts >= _MOST_FALSE_STARTS:
            rule, got = "workers must be able to start", f"{self._false_starts} pools that did not ({self._death})"
            raise SweepError(message(rule, got=got, remedy="see above why"))

    def close(self) -> None:
        """End all processes at once: a unit may run for hours, and an interrupt must return."""
        # Results are written to a temporary file and renamed, so a kill at any moment leaves no partial result.
        for process in self._context.processes:
            if process.pid is not None:
                process.kill()
        self._end()

    def _end(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._sender.send(None)
        self._sender.close()


def _listen(receiver: Any, heard: list[int | str]) -> None:
    """Announce what processes announce, until their pool ends."""
    with receiver:
        while (said := receiver.recv()) is not None:
            heard.append(said)
            if isinstance(said, str):
                announce(said)


_FOR_GOOD = contextlib.ExitStack()


def _prepare(sender: Any) -> None:
    """Begin a process of the pool."""
    end_with_parent()
    # Output of the task must not mix with that of a command; by descriptors, which redirects compiled libraries too.
    os.dup2(2, 1)

    def tell(said: int | str) -> None:
        # Whoever listens may have been killed, with which this process ends without a word.
        with contextlib.suppress(BrokenPipeError):
            sender.send(said)

    tell(os.getpid())
    _FOR_GOOD.enter_context(announcing(tell))


def compute_and_write(
    task: str, folder: str, fingerprint: str, local: Mapping[str, str], units: Batch
) -> list[Computed]:
    """Compute units and write their rows, which then need not travel."""
    done = []
    for unit in units:
        computed = compute(task, unit, local)
        # Before the answer, so a unit that is reported as done has its file.
        if computed.rows is not None:
            write_result(Path(folder), fingerprint, unit, computed.rows)
        done.append(computed._replace(rows=None))
    return done


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
