"""Who listens to whom for ever, in a temporal network: the steps that recur, and their closed classes.

Under high pressure an agent shows the mean of what its neighbours showed in the step before, and its own opinion where
it has none. So what it shows can be followed back from (agent, step) to (neighbour, step before). That way ends with
an agent who was isolated, or in a *closed class*: agents in steps that no step leads out of. One closed class makes one
value. That every pair meets in time is not enough for it: where agents never hear themselves, two closed classes can
pass through the same agents in turn, as they do on the two sides of a bipartite graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from peerpressure.model import Model, Vector

Places: TypeAlias = NDArray[np.int64]

# Agents times steps of a period that are looked at as a whole.
LARGEST = 2**23


@final
@dataclass(frozen=True, eq=False)
class Rounds:
    """The networks that recur for ever from step ``begin`` on: those of a period, or the last one alone.

    ``degrees`` has shape (steps, agents), and ``union`` joins all who ever meet again.
    """

    adjacency: tuple[sparse.csr_array, ...]
    degrees: Vector
    union: sparse.csr_array
    begin: int

    @property
    def count(self) -> int:
        """The number of steps after which they repeat."""
        return len(self.adjacency)

    @property
    def alone(self) -> NDArray[np.bool_]:
        """Who has no neighbour in which round, shape (steps, agents)."""
        return np.asarray(self.degrees == 0)

    @property
    def isolated(self) -> bool:
        """Whether some who meet others are alone in between, again and again: then they show their own opinion."""
        return bool(np.any(np.any(self.alone, axis=0) & ~np.all(self.alone, axis=0)))

    def index(self, t: int) -> int:
        """Return which of the steps is in force at a time t ≥ begin."""
        return (t - self.begin) % self.count

    def groups(self) -> tuple[int, NDArray[np.int32]]:
        """Return the number of groups that never meet again, and the group of every agent."""
        count, group = csgraph.connected_components(self.union, directed=False)
        return int(count), group


def recurring_rounds(model: Model) -> Rounds | None:
    """Return the steps that recur for ever, or None where a period is too long to be looked at as a whole."""
    temporal_network = model.temporal_network
    if temporal_network is None or temporal_network.period is None:
        last = 1 if temporal_network is None else temporal_network.last_change
        A = model.adjacency_at(last)
        return Rounds((A,), model.degrees_at(last)[None], A, last)
    if temporal_network.period * model.n > LARGEST:
        return None
    times = range(1, temporal_network.period + 1)
    degrees = np.stack([temporal_network.degrees_at(t) for t in times])
    return Rounds(tuple(temporal_network.at(t) for t in times), degrees, model.network.adjacency, 1)


@final
@dataclass(frozen=True, eq=False)
class ClosedClasses:
    """The closed sets to which all that is shown can be traced back.

    A place is round·agents + agent for what is shown; as many places follow for what is held. An entry of ``graph`` is
    1 + the number of steps that a step goes back. ``label`` names the set of every place, ``closed`` those that no
    step leads out of.
    """

    graph: sparse.csr_array
    label: NDArray[np.int32]
    closed: NDArray[np.int64]

    @property
    def count(self) -> int:
        """The number of closed sets."""
        return int(self.closed.size)

    def places(self, number: int) -> Places:
        """Return the places of one closed set."""
        return np.flatnonzero(self.label == self.closed[number])

    def speakers(self, agents: int) -> NDArray[np.int64]:
        """Return one agent of every closed set, where there are so many in all."""
        first = np.empty(int(self.label.max()) + 1, dtype=np.int64)
        first[self.label[::-1]] = np.arange(self.label.size)[::-1]
        return np.asarray(first[self.closed] % agents)

    @cached_property
    def ends(self) -> NDArray[np.bool_]:
        """Which closed sets are one place that leads nowhere: a constant opinion that is shown, or pulls, as it is."""
        leads_nowhere = np.diff(self.graph.indptr) == 0
        return np.isin(self.closed, self.label[leads_nowhere])

    def has_loners(self, rounds: Rounds) -> bool:
        """Say whether agents who are alone at times have a part in a closed set, and with them all of their noise."""
        alone = np.flatnonzero(rounds.alone & ~np.all(rounds.alone, axis=0))
        return bool(np.any(np.isin(self.label[alone], self.closed)))

    def turns(self, number: int) -> int:
        """Return after how many steps a closed set comes back to itself: 2 on a bipartite graph, 1 if all mix.

        It is the greatest common divisor of the lengths of all its cycles.
        """
        places = self.places(number)
        inside = sparse.csr_array(self.graph[places][:, places])
        depth = _depths(inside)
        starts = np.repeat(np.arange(places.size), np.diff(inside.indptr))
        around = depth[starts] + inside.data - 1 - depth[inside.indices]
        return int(np.gcd.reduce(np.abs(around)))


def closed_classes(
    rounds: Rounds, adapts: NDArray[np.bool_], remembers: NDArray[np.bool_], *, weak: bool
) -> ClosedClasses:
    """Return the closed sets of what is shown, and of what is held by those whose opinions adapt.

    ``remembers`` says whose opinion keeps a part of itself in a step. With ``weak`` an agent's own opinion counts in
    every step, as it does under a bounded pressure, or in the long run where Σ 1/ρ_t diverges; without, only where
    it is alone.
    """
    n, count = rounds.degrees.shape[1], rounds.count
    shown = np.arange(count * n).reshape(count, n)
    held, before = shown + shown.size, np.roll(shown, 1, axis=0)
    steps = [(shown[k][_rows(A)], before[k][A.indices], 1) for k, A in enumerate(rounds.adjacency)]
    hears_itself = np.ones_like(rounds.alone) if weak else rounds.alone
    # An opinion that never moves has one place for all steps, and leads nowhere.
    held = np.where(adapts, held, held[0])
    steps.append((shown[hears_itself], held[hears_itself], 0))
    steps.append((held[:, adapts].ravel(), before[:, adapts].ravel(), 1))
    kept = adapts & remembers
    steps.append((held[:, kept].ravel(), np.roll(held, 1, axis=0)[:, kept].ravel(), 1))
    return _closed(steps, shown.size)


def _rows(matrix: sparse.csr_array) -> NDArray[np.int64]:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _closed(steps: list[tuple[Places, Places, int]], shown: int) -> ClosedClasses:
    starts, ends = (np.concatenate([step[side] for step in steps]).astype(np.int64) for side in (0, 1))
    lags = np.concatenate([np.full(step[0].size, step[2]) for step in steps])
    graph = sparse.csr_array((lags + 1, (starts, ends)), shape=(2 * shown, 2 * shown))
    _, label = csgraph.connected_components(graph, directed=True, connection="strong")
    is_left = np.zeros(int(label.max()) + 1, dtype=np.bool_)
    is_left[label[starts[label[starts] != label[ends]]]] = True
    # Hidden opinions that nothing shown leads back to do not count.
    reached = np.unique(label[np.concatenate([np.arange(shown), ends])])
    return ClosedClasses(graph, label, reached[~is_left[reached]])


def _depths(graph: sparse.csr_array) -> NDArray[np.int64]:
    """Return how many steps each place lies behind the first, along a tree of steps."""
    _, above = csgraph.breadth_first_order(graph, 0, directed=True)
    above[0] = 0
    depth = np.asarray(graph[above, np.arange(above.size)], dtype=np.int64).ravel() - 1
    depth[0] = 0
    # Doubling the jump each time sums along every way to the root in log2(depth) gathers, not a loop.
    while np.any(above):
        depth = depth + depth[above]
        above = above[above]
    return depth
