"""One network over several processes: each steps agents of its own, and only the opinions of their neighbours travel.

Noise is a function of (seed, replicate, step, agent), so a process needs nothing else of the others, and results are
those of one process, bit for bit. The arrays of a process begin with neighbours of smaller numbers, go on with its own
agents, and end with neighbours of larger numbers: neighbours of an agent keep their order, in which they are summed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.networks import Network, TemporalNetwork
from peerpressure.simulation.engine import runner
from peerpressure.simulation.engine.arguments import AgentArrays, Clock, Graph
from peerpressure.simulation.engine.plan import BLOCK, CHUNK, OwnAgents, RunPlan, RunResult, plan_blocks
from peerpressure.simulation.engine.runner import ProcessorRun, equal_parts, on_threads
from peerpressure.simulation.processes import SharedFailure, awaiting_interruption, delivered, joined

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

Ranges: TypeAlias = list[tuple[int, int]]
_SUMMARIES = 1  # the tag of messages with summaries; those with opinions have 0


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The places of one process: neighbours below, padded to whole chunks, its own agents, and neighbours above.

    ``numbers`` are those of the agents at all places, −1 in the padding; ``first``…``last``−1 are the process's own.
    """

    numbers: NDArray[np.int64]
    begin: int
    first: int
    last: int

    @classmethod
    def of(cls, columns: NDArray[np.integer[Any]], first: int, last: int) -> Neighbourhood:
        """Return the places of agents first…last−1, whose neighbours are ``columns``, in any order and repeated."""
        outside = np.unique(columns[(columns < first) | (columns >= last)]).astype(np.int64)
        cut = int(np.searchsorted(outside, first))
        padding = np.full(-cut % CHUNK, -1)
        numbers = np.concatenate([padding, outside[:cut], np.arange(first, last), outside[cut:]])
        return cls(numbers, padding.size + cut, first, last)

    @property
    def own(self) -> slice:
        """The places of the process's own agents."""
        return slice(self.begin, self.begin + self.last - self.first)

    @property
    def outside(self) -> NDArray[np.int64]:
        """The places of agents whom other processes step."""
        places = np.flatnonzero(self.numbers >= 0)
        return places[(places < self.own.start) | (places >= self.own.stop)]

    def places(self, numbers: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Return where agents are who have a place here."""
        # The padding is smaller than all numbers, so these are in ascending order.
        return np.searchsorted(self.numbers, numbers)

    def take(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of agents, on the last axis, at their places; the padding repeats those of the last."""
        return np.take(values, self.numbers, axis=-1)

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of the process's own agents, on the last axis, at their places, and 0 at others."""
        spread = np.zeros((*values.shape[:-1], self.numbers.size), values.dtype)
        spread[..., self.own] = values
        return spread

    def rows(self, matrix: csr_array) -> csr_array:
        """Return the matrix of all places from the rows of the own agents, whose columns are numbers of agents."""
        before, after = self.begin, self.numbers.size - self.own.stop
        starts = np.concatenate([np.zeros(before, np.int64), matrix.indptr, np.full(after, matrix.indptr[-1])])
        size = self.numbers.size
        return csr_array((matrix.data, self.places(matrix.indices), starts), shape=(size, size))


@dataclass(frozen=True, eq=False)
class ModelPart:
    """The share of one process: the places of its agents and their neighbours, and a model of these.

    ``cuts`` are the first agents of all processes and, at the end, the number of all agents; ``has_silent_steps`` is
    that of the whole model.
    """

    comm: Intracomm
    places: Neighbourhood
    model: Model
    cuts: tuple[int, ...]
    has_silent_steps: bool

    @classmethod
    def of(cls, model: Model, comm: Intracomm) -> ModelPart:
        """Return this process's share of a model that all of them have."""
        cuts = cut_agents(model.network.adjacency.indptr, comm.size)
        first, last = cuts[comm.rank : comm.rank + 2]
        A = model.network.adjacency[first:last]
        places = Neighbourhood.of(A.indices, first, last)
        return cls(comm, places, _part_of_model(model, A, places), cuts, model.has_silent_steps)

    @property
    def agents(self) -> int:
        """How many agents there are in all processes."""
        return self.cuts[-1]

    @property
    def share(self) -> OwnAgents:
        """Which places hold the process's own agents."""
        places = self.places
        return OwnAgents(
            places.first - places.begin, places.own.start, places.own.stop, self.agents, self.has_silent_steps
        )


def run(
    comm: Intracomm,
    plan: RunPlan,
    start: NDArray[Any],
    memory: NDArray[Any] | None,
    report: Callable[[int], None],
    hidden_state: NDArray[Any] | None = None,
) -> RunResult:
    """Make the plan's steps, each process those of a part of the agents, and return the whole result to all of them."""
    if comm.size == 1:
        return runner.run(plan, start, memory, report, hidden_state)
    part = ModelPart.of(plan.model, comm)
    places, own = part.places, slice(part.places.first, part.places.last)
    recorded = np.flatnonzero((plan.agents >= own.start) & (plan.agents < own.stop))
    several = plan.deviation is not None and np.size(plan.deviation) > 1
    share = replace(
        plan,
        model=part.model,
        agents=places.places(plan.agents[recorded]),
        deviation=places.take(np.asarray(plan.deviation)) if several else plan.deviation,
        part=part.share,
    )
    states = [None if state is None else state[..., own] for state in (start, memory, hidden_state)]
    assert states[0] is not None
    return _whole(comm, run_part(part, share, states[0], states[1], report, states[2]), recorded)


def run_part(
    part: ModelPart,
    plan: RunPlan,
    start: NDArray[Any],
    memory: NDArray[Any] | None,
    report: Callable[[int], None],
    hidden_state: NDArray[Any] | None = None,
) -> RunResult:
    """Make the plan's steps together with the other processes, and return the result of the own agents.

    ``start``, ``memory`` and ``hidden_state`` are those of the own agents, too.
    """
    if part.comm.size == 1:
        return runner.run(replace(plan, part=None), start, memory, report, hidden_state)
    failure = SharedFailure(part.comm)
    with awaiting_interruption(failure):
        return PartRun(failure, part, plan, start, memory, hidden_state).finish(report)


def cut_agents(starts: NDArray[np.integer[Any]], count: int) -> tuple[int, ...]:
    """Cut agents, whose neighbours begin at ``starts``, into one part a process, of about the same work."""
    require_chunks(starts.size - 1, count)
    parts = equal_parts(starts, count, CHUNK)
    ends = [end for _, end in parts]
    # Where few agents have most of the edges, a process may be left without any: each gets a chunk at least.
    for k in range(count - 1):
        ends[k] = max(ends[k], (k + 1) * CHUNK)
    for k in range(count - 2, -1, -1):
        ends[k] = min(ends[k], -(-(starts.size - 1) // CHUNK) * CHUNK - (count - 1 - k) * CHUNK)
    return 0, *ends


def require_chunks(agents: int, count: int) -> None:
    """Raise an error unless each of so many processes can have agents of its own."""
    most = -(-agents // CHUNK)
    if count > most:
        rule = f"agents are divided among processes in chunks of {CHUNK:,}, at least one for each"
        got = f"{count} processes for {agents:,} agents"
        raise InvalidInputError(message(rule, got=got, remedy=f"use at most {most}"))


def _part_of_model(model: Model, rows: csr_array, places: Neighbourhood) -> Model:
    """Return a model of the agents who have a place, in which only those of the process listen to others.

    Its parts are set as they are, because they have been checked, and the constructor would drop what changes nothing
    for these agents but does for others.
    """
    changed: dict[str, Any] = {
        "network": Network(places.rows(rows), directed=True, signed=True),
        "hidden": places.take(model.x0),
        "stubbornness": places.take(model.stubbornness),
        "start": "hidden" if isinstance(model.start, str) else places.take(model.start),
        "temporal_network": _part_of_temporal_network(model.temporal_network, places),
    }
    if np.ndim(model.noise.std):
        changed["noise"] = replace(model.noise, std=places.take(np.asarray(model.noise.std)))
    if model.adaptation is not None and np.ndim(model.adaptation.adaptation_weight):
        weight = places.take(np.asarray(model.adaptation.adaptation_weight))
        changed["adaptation"] = replace(model.adaptation, adaptation_weight=weight)
    if model.activation is not None:
        changed["activation"] = replace(model.activation, values=places.take(np.asarray(model.activation.values)))
    part = object.__new__(Model)
    for field in fields(Model):
        object.__setattr__(part, field.name, changed.get(field.name, getattr(model, field.name)))
    return part


def _part_of_temporal_network(network: TemporalNetwork | None, places: Neighbourhood) -> TemporalNetwork | None:
    """Return the changes of edges that an agent of the process has."""
    if network is None:
        return None
    own = [(end >= places.first) & (end < places.last) for end in (network.sources, network.targets)]
    # Who only is listened to has no row that changes.
    kept = own[0] if network.directed else own[0] | own[1]
    sources, targets = (places.places(end[kept]) for end in (network.sources, network.targets))
    events = network.event_times[kept], sources, targets, network.weights[kept]
    return TemporalNetwork(
        *events,
        n=places.numbers.size,
        period=network.period,
        isolated=network.isolated,
        directed=network.directed,
    )


class _Exchange:
    """Messages of one step: opinions of own agents to the processes that need them, and those of neighbours back."""

    def __init__(self, part: ModelPart, widths: int, dtype: np.dtype[Any]) -> None:
        comm, places = part.comm, part.places
        outside = places.outside
        wanted = np.ascontiguousarray(places.numbers[outside])
        owners = np.searchsorted(part.cuts[1:], wanted, side="right")
        # Who needs which of this process's agents: asked once, and in the same order at every step.
        receive = np.bincount(owners, minlength=comm.size)
        send = np.empty_like(receive)
        comm.Alltoall(receive, send)
        asked = delivered(comm, wanted, owners)
        self.asked = asked - places.first + places.begin
        # Where neighbours of smaller and of larger numbers are: side by side, in the order in which they come.
        below = int(np.searchsorted(wanted, places.first))
        self.places = slice(places.begin - below, places.begin), slice(places.own.stop, places.numbers.size)
        self.incoming = np.empty((outside.size, widths), dtype)
        self.outgoing = np.empty((asked.size, widths), dtype)
        self.requests = [
            *self._requests(comm.Recv_init, self.incoming, receive),
            *self._requests(comm.Send_init, self.outgoing, send),
        ]

    @staticmethod
    def _requests(make: Callable[..., Any], buffer: NDArray[Any], counts: NDArray[np.int64]) -> Iterator[Any]:
        """Yield a request for each process, whose rows of the buffer follow each other."""
        for rank, (begin, end) in enumerate(itertools.pairwise(np.concatenate([[0], counts.cumsum()]))):
            if end > begin:
                yield make(buffer[begin:end], rank)

    def begin(self, fields: Iterable[NDArray[Any]]) -> None:
        """Send the opinions of own agents, (agents, width) for each block of replicates, and await the others'."""
        for field, part in self._columns(fields, self.outgoing):
            # All places are within the field: checking them would take a copy.
            np.take(field, self.asked, axis=0, out=part, mode="clip")
        for request in self.requests:
            request.Start()

    def end(self, fields: Iterable[NDArray[Any]]) -> None:
        """Wait for all messages, and write the opinions of neighbours to their places."""
        for request in self.requests:
            request.Wait()
        below, above = self.places
        cut = below.stop - below.start
        for field, part in self._columns(fields, self.incoming):
            field[below], field[above] = part[:cut], part[cut:]

    @staticmethod
    def _columns(fields: Iterable[NDArray[Any]], buffer: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Yield each field with its columns of a buffer."""
        column = 0
        for field in fields:
            yield field, buffer[:, column : column + field.shape[1]]
            column += field.shape[1]

    def close(self) -> None:
        """Give up the requests."""
        for request in self.requests:
            request.Free()


class PartRun(ProcessorRun):
    """The arrays of one process of a run while it lasts. ``start``, ``memory`` and ``hidden_state`` are its own."""

    def __init__(
        self,
        failure: SharedFailure,
        part: ModelPart,
        plan: RunPlan,
        start: NDArray[Any],
        memory: NDArray[Any] | None,
        hidden_state: NDArray[Any] | None,
    ) -> None:
        self.failure, self.comm, self.places = failure, part.comm, part.places
        places = [None if state is None else part.places.spread(state) for state in (start, memory, hidden_state)]
        # What takes memory or fails comes first, since the others wait for this process from then on.
        failure.attempt(super().__init__, plan, *places)
        failure.agree()
        self.exchange = _Exchange(part, sum(block.width for block in self.blocks), plan.dtype)
        self.inner, self.outer = self._ranges()

    def _cuts(self) -> Iterable[tuple[int, int, int, int]]:
        # The same in all processes, whatever the numbers of their agents: blocks are parts of messages.
        return plan_blocks(self.plan.replicates, BLOCK, 1)

    @property
    def _agents_at_once(self) -> int:
        # As many in all processes, which come to the end of a segment together.
        return max(1, self.share.agents // self.comm.size)

    def _slowest(self, seconds: float) -> float:
        return max(self.comm.allgather(seconds))

    def _ranges(self) -> tuple[Ranges, Ranges]:
        """Return ranges of own agents without neighbours elsewhere, and all other ranges, in whole chunks."""
        if self.neighbour_sums is not None:
            return [], self._cut([(self.share.begin, self.share.end)], BLOCK)
        A = self.plan.model.network.adjacency
        elsewhere = (A.indices < self.share.begin) | (A.indices >= self.share.end)
        before = np.concatenate([[0], np.cumsum(elsewhere)])
        ends = np.append(np.arange(self.share.begin, self.share.end, CHUNK), self.share.end)
        needy = np.diff(before[A.indptr[ends]]) > 0
        runs = [0, *(np.flatnonzero(np.diff(needy)) + 1), needy.size]
        ranges = [(int(ends[a]), int(ends[b]), bool(needy[a])) for a, b in itertools.pairwise(runs)]
        inner, outer = ([(begin, end) for begin, end, is_needy in ranges if is_needy == kind] for kind in (False, True))
        return self._cut(inner, CHUNK), self._cut(outer, CHUNK)

    def _cut(self, ranges: Ranges, unit: int) -> Ranges:
        """Cut ranges further, to let all threads share them."""
        agents = sum(end - begin for begin, end in ranges)
        size = max(unit, -(-agents // (self.plan.threads * unit)) * unit)
        return [
            (max(begin, at), min(end, at + size))
            for begin, end in ranges
            for at in range(begin // unit * unit, end, size)
        ]

    def finish(self, report: Callable[[int], None]) -> RunResult:
        """Make all steps, together with the other processes, and return what was recorded of the own agents."""
        with closing(self.exchange), self._pool() as pool:
            self.failure.attempt(self._record_start)
            self._pass_on_summaries(0)
            for begin, end in self._segments():
                self._advance(begin, end, pool)
                self.failure.attempt(report, end - self.plan.start_step)
                self.failure.agree()
        self.failure.agree()
        return self._result()

    def _advance(self, begin: int, end: int, pool: Executor | None) -> None:
        clock, slots = self._clock(begin, end), self._slots(begin, end)
        network = None
        if self.temporal is not None:
            self.failure.attempt(self.temporal.look_ahead, begin, end)
            network = self.temporal.copied()
        for q in range(end - begin):
            one = clock.part(q, q + 1)
            fields = [block.states[0, (one.first - 1) & 1].reshape(-1, block.width) for block in self.blocks]
            self.exchange.begin(fields)
            if self.temporal is not None:
                self.failure.attempt(self.temporal.change, network, q)
            if self.drawn_by_python:
                for block in self.blocks:
                    self.failure.attempt(self._draw_custom, block, one.first)
            # While messages travel, those agents are stepped who need none.
            self.failure.attempt(self._step, one, slots[q : q + 1], network, self.inner, pool)
            self.exchange.end(fields)
            self.failure.attempt(self._step, one, slots[q : q + 1], network, self.outer, pool)
            self._pass_on_summaries(int(slots[q]))
        if self.temporal is not None:
            self.failure.attempt(self.temporal.arrive)

    def _step(
        self,
        clock: Clock,
        slots: NDArray[np.int64],
        network: tuple[Graph, AgentArrays] | None,
        ranges: Ranges,
        pool: Executor | None,
    ) -> None:
        """Make one step of the agents in these ranges."""
        for block in self.blocks:
            if self.neighbour_sums is not None and block.width == 1:
                public, places = block.states[0, (clock.first - 1) & 1], self._cut([(0, self.plan.model.n)], BLOCK)
                on_threads(pool, partial(self.neighbour_sums.spread, public), places)
            parts = network or self._network(block), clock, self._records(block, slots)
            on_threads(pool, partial(self._call, block, *parts), ranges)

    def _pass_on_summaries(self, slot: int) -> None:
        """Add up the summaries of a step in the order of the agents: each process continues what it gets from the last.

        Nobody waits for the result, which only the last process has until the run ends.
        """
        if slot < 0 or not self.plan.keep_summaries:
            return
        chunks = slice(self.share.begin // CHUNK, -(-self.share.end // CHUNK))
        own = np.concatenate([block.partial[chunks] for block in self.blocks], axis=2)
        so_far = np.empty(own.shape[1:])
        if self.comm.rank:
            self.comm.Recv(so_far, self.comm.rank - 1, _SUMMARIES)
            own = np.concatenate([so_far[None], own])
        # Accumulated one by one: sums in another order have other bits.
        so_far[:] = own[:, 0].min(axis=0), own[:, 1].max(axis=0), np.add.accumulate(own[:, 2])[-1]
        if self.comm.rank + 1 < self.comm.size:
            self.comm.Send(so_far, self.comm.rank + 1, _SUMMARIES)
            return
        column = 0
        for block in self.blocks:
            low, high, total = so_far[:, column : column + block.lanes]
            self.summaries[block.rows, slot] = np.stack([low, high, total / self.share.agents], axis=1)
            column += block.width

    def _result(self) -> RunResult:
        result, own = super()._result(), self.places.own
        if result.summaries is not None:
            self.comm.Bcast(result.summaries, self.comm.size - 1)
        finals = (result.final, result.memory, result.final_hidden)
        final, memory, hidden = (None if part is None else np.ascontiguousarray(part[:, own]) for part in finals)
        assert final is not None
        return replace(result, final=final, memory=memory, final_hidden=hidden)


def _whole(comm: Intracomm, result: RunResult, recorded: NDArray[np.int64]) -> RunResult:
    """Return what all processes have recorded, in all of them; ``recorded`` are places among the agents asked for."""

    def whole(part: NDArray[Any] | None) -> NDArray[Any] | None:
        return None if part is None else joined(comm, part)

    order = np.argsort(joined(comm, recorded))
    final, memory, hidden = map(whole, (result.final, result.memory, result.final_hidden))
    states, path = (
        None if part is None else part if np.all(np.diff(order) == 1) else np.ascontiguousarray(part[..., order])
        for part in map(whole, (result.states, result.hidden))
    )
    assert final is not None
    return RunResult(states, result.summaries, final, memory, path, hidden)
