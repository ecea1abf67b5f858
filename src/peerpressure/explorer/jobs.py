"""The job queue: a few threads, a bound on waiting jobs, and for each tab and route only the newest job.

A job is cancelled through its ``CancellationToken``, which is the ``should_stop`` callback of all that the job calls.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, final

import numpy as np

from peerpressure.errors import CancelledError, message
from peerpressure.explorer.memory import give_back
from peerpressure.explorer.protocol import Limits, RequestError, SupersededError, TimeLimitError
from peerpressure.progress import cancellable

Client: TypeAlias = tuple[str, str]  # a tab and a route
Result = TypeVar("Result")


@final
@dataclass(eq=False)
class CancellationToken:
    """Signals a job to stop: once it is cancelled, or ``seconds`` after it was started."""

    seconds: float
    # An event, because it is set by the thread of the event loop and read by the thread of the job.
    _cancelled: threading.Event = field(default_factory=threading.Event, repr=False)
    _started: float | None = None

    def start(self) -> None:
        """Start the clock; time in the queue does not count."""
        # The monotonic clock does not jump when the system's time is set.
        self._started = time.monotonic()

    def cancel(self) -> None:
        """Stop the job at its next check."""
        self._cancelled.set()

    def should_stop(self) -> bool:
        """Return whether the job is to stop."""
        overdue = self._started is not None and time.monotonic() - self._started > self.seconds
        return self._cancelled.is_set() or overdue

    def reason(self) -> SupersededError | TimeLimitError:
        """Return the error that states why the job was stopped."""
        # A cancelled job may be overdue as well; the cancellation is the more useful answer.
        return SupersededError() if self._cancelled.is_set() else TimeLimitError(self.seconds)


@final
@dataclass(frozen=True, eq=False)
class _Job:
    """The newest job of a client: its token, its future, and an event that wakes the waiting request."""

    token: CancellationToken
    future: Future[Any]
    superseded: asyncio.Event

    def cancel(self) -> None:
        """Stop the job at its next check; one that has not started never will."""
        # The token reaches a running job, and cancelling the future prevents one that still waits.
        self.token.cancel()
        self.future.cancel()


@final
class JobQueue:
    """Threads that run the jobs of all tabs; a new job of a client supersedes the one before it."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        # NumPy and compiled loops release the global lock: threads suffice, and models need not be copied to processes.
        self._pool = ThreadPoolExecutor(limits.workers, thread_name_prefix="explorer")
        self._newest: dict[Client, _Job] = {}
        self._lock = threading.Lock()
        self._pending = 0
        self._closed = False

    @property
    def pending(self) -> int:
        """The number of jobs that run or wait."""
        return self._pending

    async def submit(
        self, client: Client, work: Callable[[], Result], disconnected: Callable[[], Awaitable[None]] | None = None
    ) -> Result:
        """Run ``work`` in a thread and return its result.

        The job is cancelled when the same client submits another one, or when ``disconnected``, which waits for the
        client to go away, returns.
        """
        # One tab can wait for one answer of each route: moving a slider makes every answer but the last obsolete.
        self.cancel(client)
        token, superseded = CancellationToken(self.limits.seconds), asyncio.Event()
        future = self._enqueue(token, work)
        self._newest[client] = job = _Job(token, future, superseded)
        answer = asyncio.wrap_future(future)
        # Reading an exception that nobody waits for any more keeps asyncio from logging it.
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        waiting = [superseded.wait()] + ([] if disconnected is None else [disconnected()])
        cancellations: list[asyncio.Future[Any]] = [asyncio.ensure_future(one) for one in waiting]
        try:
            # Twice the time limit: the job may have waited in the queue first.
            await asyncio.wait([answer, *cancellations], timeout=2 * token.seconds, return_when=asyncio.FIRST_COMPLETED)
            if any(one.done() for one in cancellations):
                raise SupersededError
        finally:
            for one in cancellations:
                one.cancel()
            # Also after success, where it does nothing, and if the request itself is cancelled: the thread must end.
            job.cancel()
            # A newer job may have taken this place already.
            if self._newest.get(client) is job:
                del self._newest[client]
        if not answer.done():
            raise TimeLimitError(token.seconds)
        return answer.result()

    def cancel(self, client: Client) -> None:
        """Cancel the client's job, if it has one; a job that has not started leaves the queue at once."""
        if client in self._newest:
            self._newest[client].superseded.set()
            self._newest[client].cancel()

    def close(self) -> None:
        """Cancel all jobs and accept no more; threads end at their next check."""
        self._closed = True
        for client in [*self._newest]:
            self.cancel(client)
        # Solvers in C cannot be cancelled; waiting for them would delay the end of the server.
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _enqueue(self, token: CancellationToken, work: Callable[[], Result]) -> Future[Result]:
        if self._closed:
            raise SupersededError
        # Counted under a lock, since the callback that subtracts runs in the thread that finishes the job.
        with self._lock:
            if self._pending >= self.limits.waiting:
                rule = f"at most {self.limits.waiting} requests may wait for an answer at a time"
                raise RequestError(429, message(rule, got="one more", remedy="try again in a moment"))
            self._pending += 1
        future = self._pool.submit(_run, token, work)
        # The callback also runs for futures that are cancelled while they wait, so the count is never too high.
        future.add_done_callback(self._leave)
        return future

    def _leave(self, _: Future[Any]) -> None:
        with self._lock:
            self._pending -= 1
        # The answer is on its way already, and is not delayed.
        give_back()


def _run(token: CancellationToken, work: Callable[[], Result]) -> Result:
    token.start()
    try:
        # Numbers out of range become part of the answer; NumPy need not warn about them on the console.
        with cancellable(token.should_stop), np.errstate(all="ignore"):
            return work()
    except CancelledError:
        raise token.reason() from None
