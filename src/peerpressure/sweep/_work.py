"""The remaining units of a sweep: handed out in batches, computed, and recorded in the ledger."""

from __future__ import annotations

import importlib
import json
import math
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np

from peerpressure.errors import InvalidInputError, message
from peerpressure.sweep._ledger import Ledger, UnitOutcome
from peerpressure.sweep.plan import REPLICATION, Unit

# Seconds of computation per batch, long enough that sending and recording it is a small share of the time.
BATCH_SECONDS = 0.1
# Bounds what is lost, and recomputed one by one, when a worker dies.
_LARGEST_BATCH = 1000
# A worker may also be killed for a reason outside of the unit, such as another process that fills the memory.
_MOST_DEATHS = 3
# Characters at the end of a traceback, where the error is; deep recursion would otherwise fill the ledger.
_LONGEST_REPORT = 20_000
Task: TypeAlias = Callable[[dict[str, Any], int], Mapping[str, Any] | Iterable[Mapping[str, Any]]]


@final
class Work:
    """Hands out units in batches long enough to be worth a message, and updates the ledger."""

    def __init__(self, ledger: Ledger, units: Iterable[Unit], done: int, report: Callable[[int], None]) -> None:
        self._lanes = 1
        self._ledger = ledger
        self._waiting = deque(units)
        # Units that were under way when a worker died; any one of them may have killed it.
        self._suspects: deque[Unit] = deque()
        self._alone = ""
        self._out: set[str] = set()
        self._deaths: Counter[str] = Counter()
        # Moving average of the seconds per unit; None until the first outcome, when the size of a batch is still a
        # guess.
        self._seconds: float | None = None
        self._done = done
        self._report = report

    def expect(self, lanes: int) -> None:
        """Set how many batches are computed at a time."""
        self._lanes = lanes
        self._ledger.set_workers(lanes)

    @property
    def finished(self) -> bool:
        """Whether every unit has been returned."""
        return not (self._waiting or self._suspects or self._out)

    @property
    def has_suspects(self) -> bool:
        """Whether units wait to be computed alone, or one is: the next death then tells which one caused it."""
        return bool(self._suspects or self._alone)

    @property
    def left(self) -> int:
        """The number of units that are not handed out yet."""
        return len(self._waiting) + len(self._suspects)

    def take(self) -> list[Unit]:
        """Return the next batch, marked as running; empty if all units are handed out."""
        if self._suspects:
            batch = [self._suspects.popleft()]
            self._alone = batch[0].key
        else:
            batch = [self._waiting.popleft() for _ in range(min(self._batch_size(), len(self._waiting)))]
        if batch:
            self._ledger.begin(unit.key for unit in batch)
            self._out |= {unit.key for unit in batch}
        return batch

    def record(self, outcomes: Sequence[UnitOutcome]) -> None:
        """Record outcomes."""
        if not outcomes:
            return
        self._ledger.finish(outcomes)
        # A set of keys, not a counter: the outcome of a batch that was taken back must not be subtracted twice.
        self._out -= {outcome.key for outcome in outcomes}
        self._alone = self._alone if self._alone in self._out else ""
        known = [outcome.seconds for outcome in outcomes if outcome.seconds is not None]
        if known:
            typical = sum(known) / len(known)
            # Units near each other in the plan take similar times, so recent batches count more than the mean over the
            # sweep.
            self._seconds = typical if self._seconds is None else 0.7 * self._seconds + 0.3 * typical
        self._done += sum(outcome.traceback is None for outcome in outcomes)
        self._report(self._done)

    def lost(self, batch: Sequence[Unit], how: str) -> None:
        """Take back the batch of a dead worker; a unit that repeatedly kills its worker is recorded as failed."""
        # Among several the unit that killed the worker is not known, so none is charged with the death.
        if self._alone == batch[0].key:
            self._deaths[self._alone] += 1
            self._alone = ""
        hopeless = [unit for unit in batch if self._deaths[unit.key] >= _MOST_DEATHS]
        again = [unit for unit in batch if self._deaths[unit.key] < _MOST_DEATHS]
        report = f"{how} while computing this unit, {_MOST_DEATHS} times in a row"
        # How long it computed died with its worker; a 0 would make later batches too large.
        self.record([UnitOutcome(unit.key, None, report) for unit in hopeless])
        self._ledger.mark("planned", [unit.key for unit in again])
        self._out -= {unit.key for unit in again}
        self._suspects.extend(again)

    def _batch_size(self) -> int:
        # The first unit measures how long a unit takes.
        if self._seconds is None:
            return 1
        # At most half of a fair share: batches shrink towards the end, and the workers finish at about the same time.
        fair = math.ceil(len(self._waiting) / (2 * self._lanes))
        return max(1, min(math.ceil(BATCH_SECONDS / max(self._seconds, 1e-6)), fair, _LARGEST_BATCH))


class Computed(NamedTuple):
    """The result of a unit: its rows as JSON, or the traceback of its exception, and the seconds it took.

    Both are None if the worker has written the rows to their file.
    """

    rows: str | None
    traceback: str | None
    seconds: float


def load_task(path: str) -> Task:
    """Return the function at ``module:function``."""
    module, _, name = path.partition(":")
    # Imported by name in each process: the task itself need not be pickled.
    try:
        task: Task = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        rule = "a task must be an importable function"
        raise InvalidInputError(message(rule, got=f"{path} ({error})", remedy="check module and name")) from error
    return task


def compute(task: str, unit: Unit, local: Mapping[str, str]) -> Computed:
    """Compute a unit; its exceptions, except interruptions, become part of the result.

    ``local`` are further parameters, on which the result does not depend.
    """
    begin = time.perf_counter()
    rows = report = None
    try:
        parameters = json.loads(unit.parameters)
        taken = {*parameters, REPLICATION}
        rows = _rows_text(load_task(task)(parameters | local, unit.seed), taken)
    # A task that calls sys.exit fails like one that raises; KeyboardInterrupt still ends the process.
    except (Exception, SystemExit):
        report = traceback.format_exc()[-_LONGEST_REPORT:]
    return Computed(rows, report, time.perf_counter() - begin)


def _rows_text(given: Mapping[str, Any] | Iterable[Mapping[str, Any]], taken: set[str]) -> str:
    """Return tidy rows as JSON whose floats, infinities and NaN among them, read back to the last bit."""
    rows = [given] if isinstance(given, Mapping) else list(given)
    # Unlike parameters, results may be nan or infinite, so allow_nan keeps its default.
    return json.dumps([_plain_row(row, taken) for row in rows], separators=(",", ":"))


def _plain_row(row: object, taken: set[str]) -> dict[str, Any]:
    if not isinstance(row, Mapping) or not all(isinstance(name, str) for name in row):
        rule = "a task must return a row, or rows, of named values"
        raise InvalidInputError(message(rule, got=f"{row!r:.200}", remedy="return dictionaries"))
    if both := taken & row.keys():
        rule = "a row must not repeat the name of a parameter"
        raise InvalidInputError(message(rule, got=sorted(both), remedy="the table has a column for it already"))
    return {name: _plain_value(name, value) for name, value in row.items()}


def _plain_value(name: str, value: object) -> object:
    # NumPy scalars become Python numbers, whose repr is the shortest text that reads back to the same double.
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is not None and not isinstance(plain, (bool, int, float, str)):
        rule = f"the value of {name!r} must be one number, text or boolean"
        raise InvalidInputError(message(rule, got=f"{value!r:.200}", remedy="give each value a row or a name"))
    return plain
