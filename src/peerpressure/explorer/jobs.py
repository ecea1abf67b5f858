"""Work that can be called off: a token says whether it is still wanted, and every step of a model asks."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, TypeVar, final

import numpy as np

from peerpressure.errors import message
from peerpressure.explorer.limits import Limits
from peerpressure.explorer.requests import OverdueError, RequestError, WithdrawnError
from peerpressure.schedules import Growth, Schedule
from peerpressure.schedules._base import Array


@final
@dataclass(eq=False)
class CancellationToken:
    """One piece of work: somebody waits for it, for so many seconds from its beginning."""

    seconds: float
    _withdrawn: threading.Event = field(default_factory=threading.Event, repr=False)
    _begun: float | None = None

    def begin(self) -> None:
        """Start the clock."""
        self._begun = time.monotonic()

    def withdraw(self) -> None:
        """Say that nobody waits any more."""
        self._withdrawn.set()

    def hurried(self, seconds: float) -> CancellationToken:
        """Return the token of a part of the work, which begins now and is not waited for as long."""
        return CancellationToken(seconds, self._withdrawn, time.monotonic())

    def check(self) -> None:
        """Stop the work that calls this if it is not wanted any more, or has taken too long."""
        if self._withdrawn.is_set():
            raise WithdrawnError("superseded")
        if self._begun is not None and time.monotonic() - self._begun > self.seconds:
            raise OverdueError(self.seconds)


@final
@dataclass(frozen=True, eq=False)
class Watched(Schedule):
    """A schedule that asks, whenever it is looked at, whether the work that looks is still wanted.

    Every reading of a model takes ρ_t step by step, so that each of them can be called off without a word about it.
    """

    inner: Schedule
    token: CancellationToken
    kind: ClassVar[str] = "watched"

    def pressure(self, t: Array) -> Array:
        """Return the pressure, or stop the work."""
        self.token.check()
        return self.inner.pressure(t)

    def log_pressure(self, t: Array) -> Array:
        """Return its logarithm."""
        return self.inner.log_pressure(t)

    @property
    def growth(self) -> Growth:
        """How the schedule grows."""
        return self.inner.growth

    @property
    def formula_text(self) -> str:
        """How it reads."""
        return self.inner.formula_text


# Where work is done: a few threads, a short queue, and for each tab and question only the newest token.

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
                raise RequestError(429, message(rule, got="one more", remedy="ask again in a moment"))
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
