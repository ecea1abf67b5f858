"""What a run keeps, and the memory that it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.sde import Method
from peerpressure.sde.transitions import law_bytes
from peerpressure.support.parameters import whole
from peerpressure.support.resources import free_memory, too_large

_DOUBLE = np.dtype(np.float64)
_WORDS = ("all", "summaries", "final")
# Bytes of the three summaries, of a recorded step, and of its entry in a table of steps.
_SUMMARIES, _STEP, _ENTRY = 24, 8, 150


@final
@dataclass(frozen=True)
class Record:
    """What a run keeps: the start, every ``every``-th step, and the last; the final state is always kept.

    Parameters
    ----------
    states : bool, default True
        Whether public opinions are kept, and hidden ones if they adapt.
    summaries : bool, default True
        Whether the minimum, maximum and mean over agents are kept, from which spread and distance to the consensus
        value follow.
    every : int, default 1
        Number of steps between records, 1 or more.
    agents : sequence of labels, optional
        The agents whose states are kept; all by default.

    Raises
    ------
    InvalidInputError
        If ``every`` is not a whole number of at least 1, or an agent is listed twice.

    See Also
    --------
    simulate : Takes a record, or a word for a common one.
    Trajectory : What was recorded.

    Examples
    --------
    >>> from peerpressure import Record
    >>> Record(every=10, agents=[0, 3])
    Record(states=True, summaries=True, every=10, agents=(0, 3))
    """

    states: bool = True
    summaries: bool = True
    every: int = 1
    agents: Sequence[Hashable] | None = None

    def __post_init__(self) -> None:
        whole(self.every, "every", least=1)
        if self.agents is not None:
            # A tuple makes the record hashable and consumes a generator only once.
            object.__setattr__(self, "agents", tuple(self.agents))
            self._check_distinct(self.agents)

    @staticmethod
    def _check_distinct(agents: Sequence[Hashable]) -> None:
        # The states of a repeated agent would be recorded twice, and appear twice in every table of the run.
        if twice := [agent for agent, times in Counter(agents).items() if times > 1]:
            rule = "recorded agents must differ"
            raise InvalidInputError(message(rule, got=f"{twice[0]!r} twice", remedy="list each once"))


def as_record(value: Record | str) -> Record:
    """Return a record as it is, or the one that a word names: 'all', 'summaries' or 'final'."""
    if isinstance(value, Record):
        return value
    if value in _WORDS:
        return Record(states=value == "all", summaries=value != "final")
    rule = "record must be 'all', 'summaries', 'final' or a Record"
    raise InvalidInputError(message(rule, got=repr(value), remedy="for instance Record(every=10, agents=[0, 3])"))


def _steps_between(first: int, last: int, keep: Record) -> range:
    """Return the recorded steps between the first and the last."""
    if not (keep.states or keep.summaries):
        # Nothing is kept between the start and the final state.
        return range(0)
    # Multiples of ``every`` counted from step 0: a resumed run records the same steps as an uninterrupted one.
    return range(first - first % keep.every + keep.every, last, keep.every)


def recorded_steps(first: int, last: int, keep: Record) -> NDArray[np.int64]:
    """Return the recorded steps, the first and the last among them."""
    inner = _steps_between(first, last, keep)
    # Without steps the start is also the last state, and is recorded once.
    end = inner.start + (len(inner) + (last > first)) * inner.step
    # One array without copies, for there may be billions of steps.
    steps = np.arange(inner.start - inner.step, end, inner.step, dtype=np.int64)
    steps[0], steps[-1] = first, last
    return steps


# Memory


@final
@dataclass(frozen=True, eq=False)
class RunSize:
    """A run that is asked for; ``method`` is how an equation in continuous time is stepped."""

    model: Model
    steps: int
    replicates: NDArray[np.int64]
    keep: Record
    first: int = 0
    dtype: np.dtype[Any] = _DOUBLE
    threads: int = 1
    method: Method | None = None
    device: str = "cpu"

    @cached_property
    def agents(self) -> int:
        """The number of agents whose states are kept."""
        keep, network = self.keep, self.model.network
        return 0 if not keep.states else network.n if keep.agents is None else network.indices(keep.agents).size

    def recorded(self) -> int:
        """Return the bytes of all that is kept but the final state."""
        keep, times = self.keep, 2 + len(_steps_between(self.first, self.first + self.steps, self.keep))
        # Exact paths are drawn in float64, with their summaries, and then rounded.
        exact, rounded = self.method == "exact", self.dtype != np.float64
        number = 8 + self.dtype.itemsize * rounded if exact else self.dtype.itemsize
        states = self.agents * number * (1 + self.model.layout.has_hidden)
        entry = _ENTRY * (exact or self.device == "gpu")
        return times * (self.replicates.size * (states + _SUMMARIES * (keep.summaries or exact)) + _STEP + entry)

    def total(self) -> int:
        """Return the bytes at the peak of the run."""
        from peerpressure.simulation.engine.footprint import Footprint

        recorded = self.recorded()
        used = Footprint(self.model, self.replicates, self.dtype, self.threads, self.steps, self.method)
        if self.device == "gpu":
            # It steps in its own memory, in batches if need be; only final states are here.
            return recorded + used.final()
        if self.method == "exact":
            at = self.model.layout
            # The states, and a copy of those of the agents that are kept.
            return recorded + used.final() + 8 * self.replicates.size * (at.states + self.agents) + law_bytes(at)
        return used.total(recorded)


# What to ask for instead of a run that does not fit, of simulate and in a scenario.
SMALLER_RUN = (
    "record less, as record='summaries', record='final' or Record(every=10, agents=[...]) do; run fewer replicates at "
    "a time; use dtype='float32'; or write the run to disk, out='run.zarr'"
)
SMALLER_SCENARIO = (
    "record less, as record = 'summaries', record = 'final' or record = { every = 10, agents = [...] } do, or run "
    "fewer replicates"
)


def require_run_memory(size: RunSize, remedy: str, processes: int = 1) -> None:
    """Raise if a run does not fit in memory; so many processes, each with a whole result, share that of the machine."""
    memory, needed = free_memory(), size.total()
    if processes > 1:
        memory = memory._replace(free=memory.free // processes, place=f"in memory for each of {processes} processes")
    if needed > memory.free:
        raise too_large(memory, needed, what="a run", remedy=remedy)
