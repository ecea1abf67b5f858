"""Units computed by a Dask cluster; results travel back, and the parent writes their files and the ledger.

Dask computes the batches of a dead worker elsewhere. A dead scheduler forgets them all, but the ledger does not.
"""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, final

from peerpressure.errors import message
from peerpressure.sweep._ledger import Outcome, SweepError, no_room
from peerpressure.sweep._plan import Plan, Unit
from peerpressure.sweep._results import write_result
from peerpressure.sweep._work import Computed, Work, compute
from peerpressure.version import __version__

_CONNECT_SECONDS = 10.0
_NO_WORKERS_SECONDS = 60.0
_AHEAD = 2  # batches per thread, so that none waits for a message
_LOOK_AROUND = 1.0


def compute_batch(task: str, version: str, units: list[Unit]) -> list[Computed]:
    """Compute units on a worker of the cluster."""
    if version != __version__:
        rule = f"workers must have version {version} of peerpressure"
        raise SweepError(message(rule, got=__version__, remedy="install the same version on all machines"))
    return [compute(task, unit) for unit in units]


def run_on_dask(work: Work, plan: Plan, folder: Path, address: str) -> None:
    """Compute all units on the cluster whose scheduler is at ``address``."""
    with _connected(address) as client:
        cluster = Cluster(client, work, plan, folder)
        while not work.finished:
            cluster.look_around()
            cluster.submit()
            cluster.hear()


@final
class Cluster:
    """The batches that are out on a cluster."""

    def __init__(self, client: Any, work: Work, plan: Plan, folder: Path) -> None:
        self._client, self._work, self._plan, self._folder = client, work, plan, folder
        self._out: dict[str, tuple[Any, list[Unit]]] = {}
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._threads = 0
        self._looked = -_LOOK_AROUND
        self._last_seen = time.monotonic()

    def look_around(self) -> None:
        """Now and then, see whether scheduler and workers are there, and how many threads they have."""
        now = time.monotonic()
        if now < self._looked + _LOOK_AROUND:
            return
        if self._client.status != "running":
            raise _gone("a scheduler that went away")
        self._looked, before = now, self._threads
        self._threads = sum(self._client.nthreads().values())
        self._last_seen = now if self._threads else self._last_seen
        if self._threads not in (0, before):
            self._work.expect(lanes=self._threads)
        if now > self._last_seen + _NO_WORKERS_SECONDS:
            rule = "a cluster must have workers"
            raise SweepError(message(rule, got="none for a minute", remedy="start some and run the sweep again"))

    def submit(self) -> None:
        """Keep every thread of the cluster in work."""
        while len(self._out) < _AHEAD * self._threads and (batch := self._work.take("dask")):
            version = self._plan.fingerprint.version
            future = self._client.submit(compute_batch, self._plan.task, version, batch, pure=False)
            self._out[future.key] = future, batch
            future.add_done_callback(self._finished.put)

    def hear(self) -> None:
        """Wait for a batch to come back, and keep what it gave."""
        try:
            future = self._finished.get(timeout=_LOOK_AROUND)
        except queue.Empty:
            return
        _, batch = self._out.pop(future.key)
        computed = _result(future)
        if computed is None:
            self._work.lost(batch, "workers of the cluster died")
        else:
            self._work.record([self._keep(unit, result) for unit, result in zip(batch, computed, strict=True)])

    def _keep(self, unit: Unit, computed: Computed) -> Outcome:
        if computed.rows is not None:
            try:
                write_result(self._folder, self._plan.fingerprint.digest, unit, computed.rows)
            except OSError as error:
                raise no_room(str(error)) from error
        return Outcome(unit.key, computed.seconds, computed.traceback)


def _result(future: Any) -> list[Computed] | None:
    """Return what a batch gave; None if Dask gave it up because its workers died one after the other."""
    from distributed import KilledWorker

    try:
        if future.cancelled():
            raise CancelledError("cancelled")
        result: list[Computed] = future.result()
    except KilledWorker:
        return None
    except (CancelledError, OSError, TimeoutError) as error:
        raise _gone(f"a scheduler that went away ({error})") from error
    return result


@contextlib.contextmanager
def _connected(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError as error:
        rule, remedy = "a cluster needs Dask", "pip install 'peerpressure[cluster]'"
        raise SweepError(message(rule, got="an installation without it", remedy=remedy)) from error
    connect: Any = Client  # it has no types
    try:
        client = connect(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise _gone(f"no scheduler at {address} ({error})") from error
    try:
        yield client
    finally:
        client.close(timeout=2)


def _gone(got: str) -> SweepError:
    remedy = "start it and run the sweep again: finished units are kept"
    return SweepError(message("the scheduler of the cluster must be there", got=got, remedy=remedy))
