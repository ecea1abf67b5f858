"""Where work is done: a few threads, a short queue, and for each tab and question only the newest token."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, final

import numpy as np

from peerpressure.errors import complain
from peerpressure.explorer.cancellation import CancellationToken
from peerpressure.explorer.limits import Limits
from peerpressure.explorer.refusals import OverdueError, RequestError, WithdrawnError

Place: TypeAlias = tuple[str, str]
Found = TypeVar("Found")


@final
@dataclass(frozen=True, eq=False)
class _Job:
    """What was asked from a place last: its token, the work, and how to tell that nobody waits any more."""

    token: CancellationToken
    work: Future[Any]
    withdrawn: asyncio.Event

    def end(self) -> None:
        """Stop the work at its next step; if it has not begun, it never will."""
        self.token.withdraw()
        self.work.cancel()


@final
class JobQueue:
    """Threads that work for all tabs; whoever asks the same again withdraws what was asked before."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._pool = ThreadPoolExecutor(limits.workers, thread_name_prefix="explorer")
        self._newest: dict[Place, _Job] = {}
        self._lock = threading.Lock()
        self._taken = 0
        self._closed = False

    @property
    def taken(self) -> int:
        """How many pieces of work are being done or wait."""
        return self._taken

    async def do(
        self,
        place: Place,
        work: Callable[[CancellationToken], Found],
        gone: Callable[[], Awaitable[None]] | None = None,
    ) -> Found:
        """Return what the work finds.

        It is withdrawn when ``place``, a tab and a question, is taken again, or when ``gone`` ends, which is to wait
        for whoever asked to go away.
        """
        self.withdraw(place)
        token, withdrawn = CancellationToken(self.limits.seconds), asyncio.Event()
        future = self._submit(token, work)
        self._newest[place] = job = _Job(token, future, withdrawn)
        answer = asyncio.wrap_future(future)
        # A result that nobody waits for any more is dropped without complaint.
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        reasons = [withdrawn.wait()] + ([] if gone is None else [gone()])
        called_off: list[asyncio.Future[Any]] = [asyncio.ensure_future(reason) for reason in reasons]
        try:
            # Twice the time of the work itself: it may have had to wait for its turn.
            await asyncio.wait([answer, *called_off], timeout=2 * token.seconds, return_when=asyncio.FIRST_COMPLETED)
            if any(reason.done() for reason in called_off):
                raise WithdrawnError("superseded")
        finally:
            for reason in called_off:
                reason.cancel()
            job.end()
            if self._newest.get(place) is job:
                del self._newest[place]
        if not answer.done():
            raise OverdueError(token.seconds)
        return answer.result()

    def withdraw(self, place: Place) -> None:
        """Call off what was asked from there last; what has not begun yet makes room at once."""
        if place in self._newest:
            self._newest[place].withdrawn.set()
            self._newest[place].end()

    def close(self) -> None:
        """Call everything off, and take up nothing more; threads end with the step that they are at."""
        self._closed = True
        for place in [*self._newest]:
            self.withdraw(place)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _submit(self, token: CancellationToken, work: Callable[[CancellationToken], Found]) -> Future[Found]:
        if self._closed:
            raise WithdrawnError("the explorer has ended")
        with self._lock:
            if self._taken >= self.limits.waiting:
                rule = f"at most {self.limits.waiting} questions may wait for an answer at a time"
                raise RequestError(429, complain(rule, got="one more", remedy="ask again in a moment"))
            self._taken += 1
        future = self._pool.submit(_begin, token, work)
        future.add_done_callback(self._leave)
        return future

    def _leave(self, _: Future[Any]) -> None:
        with self._lock:
            self._taken -= 1


def _begin(token: CancellationToken, work: Callable[[CancellationToken], Found]) -> Found:
    token.begin()
    token.check()
    # Numbers out of range are found in the results and told to whoever asked, not to the console.
    with np.errstate(all="ignore"):
        return work(token)
