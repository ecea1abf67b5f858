"""What a run keeps, the memory that it takes, and what to ask for instead where that is too much."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.sde import Method
from peerpressure.sde.transitions import law_bytes
from peerpressure.simulation import zarr_stores
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
        if not isinstance(self.every, (int, np.integer)) or isinstance(self.every, bool) or self.every < 1:
            raise InvalidInputError(
                message(
                    "every must be a whole number of steps, 1 or more",
                    got=self.every,
                    remedy="use 1 for all steps",
                )
            )
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

    def recorded(self, *, agents: int | None = None) -> int:
        """Return the bytes of all that is kept but the final state, of so many agents."""
        keep, times = self.keep, 2 + len(_steps_between(self.first, self.first + self.steps, self.keep))
        agents = self.agents if agents is None else agents
        # Exact paths are drawn in float64, with their summaries, and then rounded.
        exact, rounded = self.method == "exact", self.dtype != np.float64
        number = 8 + self.dtype.itemsize * rounded if exact else self.dtype.itemsize
        states = agents * number * (1 + self.model.layout.has_hidden)
        entry = _ENTRY * (exact or self.device == "gpu")
        return times * (self.replicates.size * (states + _SUMMARIES * (keep.summaries or exact)) + _STEP + entry)

    @cached_property
    def working(self) -> int:
        """The bytes that a run works with if it records nothing, its final state among them."""
        return self._taken(0)

    def total(self) -> int:
        """Return the bytes at the peak of the run."""
        return self._taken(self.recorded())

    def on_disk(self) -> int:
        """Return the bytes at the peak of the run if its states are written to a store block by block."""
        times = 2 + len(_steps_between(self.first, self.first + self.steps, self.keep))
        # Steps and times of the records, their copies, and summaries, which are in memory at the end.
        kept = times * (4 * _STEP + _SUMMARIES * self.replicates.size * self.keep.summaries)
        return self.working + kept + 3 * zarr_stores.BLOCK_BYTES

    def _taken(self, recorded: int) -> int:
        from peerpressure.simulation.engine.footprint import Footprint

        used = Footprint(self.model, self.replicates, self.dtype, self.threads, self.steps, self.method)
        if self.device == "gpu":
            # It steps in its own memory, in batches if need be; only final states are here.
            return recorded + used.final()
        if self.method == "exact":
            at = self.model.layout
            # The states, and a copy of those of the agents that are kept.
            return recorded + used.final() + 8 * self.replicates.size * (at.states + self.agents) + law_bytes(at)
        return used.total(recorded)


# Remedies


def in_python(keep: Record, agents: str = "") -> str:
    """Return a record as an argument; ``agents`` is how to write those of which there are fewer.

    >>> in_python(Record(states=False)), in_python(Record(summaries=False, every=10))
    ("record='summaries'", 'Record(summaries=False, every=10)')
    """
    word = next((word for word in _WORDS if as_record(word) == keep and not agents), None)
    parts = [f"{name}={value}" for name, value, usual in _fields(keep) if value != usual]
    return f"record={word!r}" if word else f"Record({', '.join([*parts, *([f'agents={agents}'] if agents else [])])})"


def in_toml(keep: Record, agents: str = "") -> str:
    """Return a record as a key of a scenario.

    >>> in_toml(Record(states=False)), in_toml(Record(summaries=False, every=10))
    ("record = 'summaries'", 'record = { summaries = false, every = 10 }')
    """
    word = next((word for word in _WORDS if as_record(word) == keep and not agents), None)
    parts = [f"{name} = {str(value).lower()}" for name, value, usual in _fields(keep) if value != usual]
    parts += [f"agents = {agents}"] if agents else []
    return f"record = {word!r}" if word else f"record = {{ {', '.join(parts)} }}"


def _fields(keep: Record) -> list[tuple[str, object, object]]:
    return [("states", keep.states, True), ("summaries", keep.summaries, True), ("every", keep.every, 1)]


@final
@dataclass(frozen=True)
class Words:
    """How remedies are written: a record, fewer replicates, and single precision or a run on disk if there is one."""

    record: Callable[[Record, str], str]
    replicates: str
    single: str
    disk: str = ""


PYTHON_WORDS = Words(in_python, "replicates=range(...)", "dtype='float32'", "out='run.zarr'")
SCENARIO_WORDS = Words(in_toml, "replicates = ...", "")


def require_run_memory(size: RunSize, words: Words, processes: int = 1) -> None:
    """Raise if a run does not fit in memory, with remedies in the words of a call or of a file.

    So many processes, each of which returns a whole result, share the memory of the machine.
    """
    memory, needed = free_memory(), size.total()
    if processes > 1:
        memory = memory._replace(free=memory.free // processes, place=f"in memory for each of {processes} processes")
    if needed > memory.free:
        raise too_large(memory, needed, what="a run", remedy=remedy(size, memory.free, words))


def remedy(size: RunSize, free: int, words: Words) -> str:
    """Return what to ask for instead; everything that is offered fits, and is less than what was asked for."""
    records = [*_smaller_records(size, free - size.working, words)]
    options = [f"record less: {' or '.join(records)}"] if records else []
    count = _most_replicates(size, free)
    if count:
        options.append(f"run fewer replicates at a time, {words.replicates}, up to {count:,}")
    single = replace(size, dtype=np.dtype(np.float32))
    if words.single and size.dtype != single.dtype and single.total() <= free:
        options.append(f"use {words.single}")
    if words.disk and size.agents and size.on_disk() <= min(free, size.total() - 1):
        options.append(f"write it to disk, {words.disk}")
    return "; or ".join(options) or _all_at_once(size, free, words)


def _smaller_records(size: RunSize, room: int, words: Words) -> Iterator[str]:
    """Yield records that fit in so many bytes, in words."""
    keep, some = size.keep, "" if size.keep.agents is None else "[...]"
    every = _least_interval(size, room)
    if every:
        yield words.record(replace(keep, every=every, agents=None), some)
    if keep.states:
        none, one = size.recorded(agents=0), size.recorded(agents=1)
        count = _rounded_down((room - none) // (one - none))
        if 0 < count < size.agents:
            yield f"{words.record(replace(keep, agents=None), '[...]')} of up to {count:,} agents"
        summaries = Record(states=False, every=keep.every)
        if replace(size, keep=summaries).recorded() <= room:
            yield words.record(summaries, "")
    final = as_record("final")
    if (keep.states or keep.summaries) and replace(size, keep=final).recorded() <= room:
        yield words.record(final, "")


def _least_interval(size: RunSize, room: int) -> int:
    """Return the least interval between records that fit, rounded up, or 0 if there is none."""
    longer = range(size.keep.every + 1, size.steps)
    if not (size.keep.states or size.keep.summaries) or not longer:
        return 0

    def fits(every: int) -> bool:
        return replace(size, keep=replace(size.keep, every=every)).recorded() <= room

    place = bisect_left(longer, True, key=fits)
    every = _rounded_up(longer[place]) if place < len(longer) else 0
    return every if every < size.steps else 0


def _most_replicates(size: RunSize, free: int) -> int:
    """Return how many replicates fit, rounded down, or 0 if none does."""
    fewer = range(1, size.replicates.size)
    count = bisect_left(fewer, True, key=lambda k: replace(size, replicates=size.replicates[:k]).total() > free)
    return _rounded_down(count)


def _rounded_up(number: int) -> int:
    """Return a number with one digit that is not 0.

    >>> _rounded_up(37), _rounded_up(40), _rounded_up(91)
    (40, 40, 100)
    """
    unit = int("1" + "0" * (len(str(number)) - 1))
    return -(-number // unit) * unit


def _rounded_down(number: int) -> int:
    unit = int("1" + "0" * (len(str(number)) - 1))
    return max(0, number // unit * unit)


def _all_at_once(size: RunSize, free: int, words: Words) -> str:
    """Return the smallest run of this model, if it fits."""
    final, single = as_record("final"), np.dtype(np.float32 if words.single else size.dtype)
    if replace(size, keep=final, replicates=size.replicates[:1], dtype=single).total() > free:
        return "run a smaller network, or use a larger machine"
    parts = [
        (size.keep.states or size.keep.summaries, words.record(final, "")),
        (size.replicates.size > 1, f"fewer replicates at a time, {words.replicates}"),
        (size.dtype != single, words.single),
    ]
    return f"combine {' with '.join(text for helps, text in parts if helps)}"
