"""The job queue: a few threads, a bound on waiting jobs, and for each tab and route only the newest job.

A job is cancelled through its ``CancellationToken``, which is the ``should_stop`` callback of all that the job calls.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, TypeVar, final

import numpy as np
from anyio import CancelScope, CapacityLimiter, create_task_group, current_time, to_thread

from peerpressure.errors import CancelledError, message
from peerpressure.explorer.protocol import Limits, RequestError, SupersededError, TimeLimitError
from peerpressure.support.progress import cancellable, check_cancelled

Client: TypeAlias = tuple[str, str]  # a tab and a route
Result = TypeVar("Result")


# Memory that jobs have freed goes back to the system. By itself the GNU C library, which has a heap for each thread,
# would keep most of it; other C libraries have no such functions.

# Numbers of the settings in malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
HEAPS = 2
# Larger arrays get pages of their own, which go back as soon as they are freed. The default grows with use.
LARGE = 256 * 1024


@cache
def _libc() -> Any:
    """Return the C library if it can give memory back, else None."""
    try:
        library = ctypes.CDLL(None)
        return library if library.malloc_trim and library.mallopt else None
    # Windows has no library of this name, and other systems lack the functions.
    except (OSError, TypeError, AttributeError):
        return None


def keep_little() -> None:
    """Set up the memory of this process for a server: few heaps, and pages of their own for large arrays."""
    library = _libc()
    if library is not None:
        for setting, value in ((_ARENA_MAX, HEAPS), (_MMAP_THRESHOLD, LARGE), (_TRIM_THRESHOLD, LARGE)):
            library.mallopt(setting, value)


def give_back() -> None:
    """Return freed memory to the system, which takes less than a millisecond if there is little of it."""
    library = _libc()
    if library is not None:
        library.malloc_trim(0)


@final
@dataclass(eq=False)
class CancellationToken:
    """Signals a job to stop: once it is cancelled, or ``seconds`` after it was started."""

    seconds: float
    scope: CancelScope | None = None
    # Set by the thread of the event loop and read by the thread of the job.
    _cancelled: bool = False
    _started: float | None = None

    @property
    def started(self) -> bool:
        """Whether its job runs, or has run, in a thread."""
        return self._started is not None

    def start(self) -> None:
        """Start the clock; time in the queue does not count."""
        # The monotonic clock does not jump when the system's time is set.
        self._started = time.monotonic()

    def cancel(self) -> None:
        """Stop the job at its next check, and whoever waits for it at once."""
        self._cancelled = True
        if self.scope is not None:
            self.scope.cancel()

    def should_stop(self) -> bool:
        """Return whether the job is to stop."""
        overdue = self._started is not None and time.monotonic() - self._started > self.seconds
        return self._cancelled or overdue

    def reason(self) -> SupersededError | TimeLimitError:
        """Return the error that states why the job was stopped."""
        # A cancelled job may be overdue as well; the cancellation is the more useful answer.
        return SupersededError() if self._cancelled else TimeLimitError(self.seconds)


@final
class JobQueue:
    """Threads that run the jobs of all tabs; a new job of a client supersedes the one before it."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        # NumPy and compiled loops release the global lock: threads suffice, and models need not be copied to processes.
        self._threads = CapacityLimiter(limits.workers)
        self._newest: dict[Client, CancellationToken] = {}
        # A thread leaves this set when it ends, which may be long after its job was cancelled.
        self._open: set[CancellationToken] = set()
        self._closed = False

    @property
    def pending(self) -> int:
        """The number of jobs that run or wait."""
        return len(self._open)

    async def submit(
        self, client: Client, work: Callable[[], Result], disconnected: Callable[[], Awaitable[None]] | None = None
    ) -> Result:
        """Run ``work`` in a thread and return its result.

        The job is cancelled when the same client submits another one, or when ``disconnected``, which waits for the
        client to go away, returns.
        """
        # One tab can wait for one answer of each route: moving a slider makes every answer but the last obsolete.
        self.cancel(client)
        if self._closed:
            raise SupersededError
        if self.pending >= self.limits.waiting:
            rule = f"at most {self.limits.waiting} requests may wait for an answer at a time"
            raise RequestError(429, message(rule, got="one more", remedy="try again in a moment"))
        token = CancellationToken(self.limits.seconds)
        self._newest[client] = token
        self._open.add(token)
        try:
            return await self._result(token, work, disconnected)
        finally:
            # Also if the request itself is cancelled: the thread must end.
            token.cancel()
            if not token.started:
                self._open.discard(token)
            # A newer job may have taken this place already.
            if self._newest.get(client) is token:
                del self._newest[client]

    async def _result(
        self, token: CancellationToken, work: Callable[[], Result], disconnected: Callable[[], Awaitable[None]] | None
    ) -> Result:
        results: list[Result | Exception] = []

        async def leave() -> None:
            if disconnected is not None:
                await disconnected()
                token.cancel()

        async with create_task_group() as group:
            token.scope = group.cancel_scope
            # Twice the time limit: the job may have waited in the queue first.
            group.cancel_scope.deadline = current_time() + 2 * token.seconds
            group.start_soon(leave)
            results.append(
                await to_thread.run_sync(self._run, token, work, limiter=self._threads, abandon_on_cancel=True)
            )
            group.cancel_scope.cancel()
        if not results:
            raise token.reason()
        # Returned rather than raised in the group, which would wrap it.
        if isinstance(results[0], Exception):
            raise results[0]
        return results[0]

    def _run(self, token: CancellationToken, work: Callable[[], Result]) -> Result | Exception:
        token.start()
        try:
            # Numbers out of range become part of the answer; NumPy need not warn about them on the console.
            with cancellable(token.should_stop), np.errstate(all="ignore"):
                check_cancelled()
                return work()
        except CancelledError:
            return token.reason()
        except Exception as error:
            return error
        finally:
            self._open.discard(token)
            give_back()

    def cancel(self, client: Client) -> None:
        """Cancel the client's job, if it has one; a job that has not started leaves the queue at once."""
        if client in self._newest:
            self._newest[client].cancel()

    def close(self) -> None:
        """Cancel all jobs and accept no more; threads end at their next check."""
        self._closed = True
        for client in [*self._newest]:
            self.cancel(client)
