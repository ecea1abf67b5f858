"""Work that can be called off: a token says whether it is still wanted, and every step of a model asks."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import ClassVar, final

from peerpressure.explorer.refusals import OverdueError, WithdrawnError
from peerpressure.schedules import Growth, Schedule
from peerpressure.schedules.base import Array


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
