"""The units that are left, handed out in batches, and what comes back."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import final

from .ledger import Ledger, Outcome
from .plan import Unit

BATCH_SECONDS = 0.1
_LARGEST_BATCH = 1000
_MOST_DEATHS = 3


@final
class Work:
    """Hands out units in batches long enough to be worth a message, and keeps the ledger."""

    def __init__(self, ledger: Ledger, units: Iterable[Unit], done: int, report: Callable[[int], None]) -> None:
        self._lanes = 1
        self._ledger = ledger
        self._waiting = deque(units)
        self._suspects: deque[Unit] = deque()
        self._out: set[str] = set()
        self._deaths: Counter[str] = Counter()
        self._seconds: float | None = None
        self._done = done
        self._report = report

    def expect(self, lanes: int) -> None:
        """Note how many batches are computed at a time."""
        self._lanes = lanes
        self._ledger.set_workers(lanes)

    @property
    def finished(self) -> bool:
        """Whether every unit came back."""
        return not (self._waiting or self._suspects or self._out)

    @property
    def left(self) -> int:
        """The number of units that nobody works on yet."""
        return len(self._waiting) + len(self._suspects)

    def take(self, worker: str) -> list[Unit]:
        """Return the next batch, now marked as running; nothing if all units are given out."""
        # Units that were out when a worker died go one at a time, so that the next death names the culprit.
        if self._suspects:
            batch = [self._suspects.popleft()]
        else:
            batch = [self._waiting.popleft() for _ in range(min(self._batch_size(), len(self._waiting)))]
        if batch:
            self._ledger.begin((unit.key for unit in batch), worker)
            self._out |= {unit.key for unit in batch}
        return batch

    def record(self, outcomes: Sequence[Outcome]) -> None:
        """Note what came back."""
        if not outcomes:
            return
        self._ledger.finish(outcomes)
        self._out -= {outcome.key for outcome in outcomes}
        typical = sum(outcome.seconds for outcome in outcomes) / len(outcomes)
        self._seconds = typical if self._seconds is None else 0.7 * self._seconds + 0.3 * typical
        self._done += sum(outcome.traceback is None for outcome in outcomes)
        self._report(self._done)

    def lost(self, batch: Sequence[Unit], how: str) -> None:
        """Take back a batch whose worker died; a unit that kills again and again is given up."""
        if len(batch) == 1:
            self._deaths[batch[0].key] += 1
        hopeless = [unit for unit in batch if self._deaths[unit.key] >= _MOST_DEATHS]
        again = [unit for unit in batch if self._deaths[unit.key] < _MOST_DEATHS]
        report = f"{how} while computing this unit, {_MOST_DEATHS} times in a row"
        self.record([Outcome(unit.key, 0.0, report) for unit in hopeless])
        self._ledger.mark("planned", [unit.key for unit in again])
        self._out -= {unit.key for unit in again}
        self._suspects.extend(again)

    def _batch_size(self) -> int:
        if self._seconds is None:
            return 1
        fair = math.ceil(len(self._waiting) / (2 * self._lanes))
        return max(1, min(math.ceil(BATCH_SECONDS / max(self._seconds, 1e-6)), fair, _LARGEST_BATCH))
