"""Who listens to whom for ever, in a temporal network: the steps that recur, and their closed classes.

Under high pressure an agent shows the mean of what its neighbours showed in the step before, and its own opinion where
it has none. So what it shows can be followed back from (agent, step) to (neighbour, step before). That way ends with
an agent who was isolated, or in a *closed class*: agents in steps that no step leads out of. One closed class makes one
value. That every pair meets in time is not enough for it: where agents never hear themselves, two closed classes can
pass through the same agents in turn, as they do on the two sides of a bipartite graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

from peerpressure.model import Model, Vector
from peerpressure.progress import checkpoint

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


# The common value of agents who listen to each other, and what moves it.
#
# With P_t = D_t⁻¹A_t one step is y_t = P_t y_{t−1} + D_t⁻¹S(ξ_t − y_t)/ρ_t. Weights ω_t ≥ 0 with Σ ω_t = 1 that go back
# by ω_{t−1} = P_tᵀω_t make m_t = ω_t·y_t obey
#
#     m_t = m_{t−1} + (1/ρ_t) Σ w_t (ξ_t − y_t),        w_t = ω_t s/d_t.
#
# So near agreement m is drawn to the mean of the opinions with weights w, at the rate κ/ρ_t with κ = Σ w. On a constant
# network ω = d/Σd and w = s/Σd, which gives v = Σ s x₀/Σ s. Where degrees change from step to step ω is not d/Σd, and
# the value that agents are drawn to is not v, though every network is symmetric.

# Up to this size all columns of a period's map are worked out; above, a few of its vectors do.
DENSE = 200


@final
@dataclass(frozen=True, eq=False)
class Mode:
    """A common value m_t = ω_t·y_t of some agents, over the steps that recur.

    ``weights`` holds ω and ``pull`` holds w, shape (steps, agents).
    """

    weights: Vector
    pull: Vector

    @property
    def influence(self) -> Vector:
        """The mean of w over the steps, shape (agents,): how much each opinion counts."""
        return np.asarray(self.pull.mean(axis=0))

    @property
    def kappa(self) -> float:
        """The rate κ: the start loses a share κ/ρ_t in a step."""
        return float(self.influence.sum())

    def value(self, opinions: Vector) -> float:
        """Return the mean of opinions that m is drawn to."""
        return float(self.influence @ opinions / self.influence.sum())

    def noise(self, model: Model) -> float:
        """Return the deviation that noise gives the drawn value in one step, as it counts in the long run.

        White noise counts by the mean square of w over the steps, one draw held for ever by the mean of w; AR(1) noise
        of coefficient φ by Σ_k φ^|k| w_t w_{t+k}.
        """
        phi, deviations = model.noise.autocorrelation, model.noise.deviations(model.n)
        if phi == 1:
            return float(np.linalg.norm(self.influence * deviations) / self.kappa)
        shares = np.fft.fft(self.pull * deviations, axis=0)
        # The spectrum of AR(1) noise at the frequencies of the period.
        angle = 2 * np.pi * np.arange(self.pull.shape[0]) / self.pull.shape[0]
        density = (1 - phi**2) / (1 - 2 * phi * np.cos(angle) + phi**2)
        power = (np.abs(shares) ** 2).sum(axis=1) @ density / self.pull.shape[0] ** 2
        return float(np.sqrt(power) / self.kappa)


def mode_of(model: Model, rounds: Rounds, places: Places | None = None) -> Mode | None:
    """Return the common value of a closed class, by default of all agents; None if it cannot be worked out."""
    count, n = rounds.degrees.shape
    inside = np.ones((count, n), dtype=np.bool_)
    if places is not None:
        inside = np.isin(np.arange(count * n), places).reshape(count, n)
    weights = np.zeros((count, n))
    if count == 1:
        degrees = np.where(inside, rounds.degrees, 0.0)
        weights = degrees / degrees.sum()
    else:
        last = _invariant(rounds, np.flatnonzero(inside[-1]))
        if last is None:
            return None
        weights[-1] = last
        for k in range(count - 1, 0, -1):
            weights[k - 1] = _back(rounds, k, weights[k])
    degrees = np.where(inside, rounds.degrees, 1.0)
    return Mode(weights, weights * model.s / degrees)


def _back(rounds: Rounds, k: int, weights: Vector) -> Vector:
    """Return Pᵀω of one step."""
    degrees = np.where(rounds.degrees[k] > 0, rounds.degrees[k], 1.0)
    shares = weights / (degrees if weights.ndim == 1 else degrees[:, None])
    return np.asarray(rounds.adjacency[k] @ shares)


def _invariant(rounds: Rounds, agents: Places) -> Vector | None:
    """Return the weights of the last step that a whole period leaves as they are, on the agents of a closed class."""

    def period(weights: Vector) -> Vector:
        for k in range(rounds.count - 1, -1, -1):
            weights = _back(rounds, k, weights)
        return weights

    n, size = rounds.degrees.shape[1], agents.size
    found = np.zeros(n)
    if size <= DENSE:
        columns = sparse.csc_array((np.ones(size), (agents, np.arange(size))), shape=(n, size)).toarray()
        through = period(columns)[agents]
        # One vector is left as it is; adding its sum makes the system regular.
        found[agents] = np.linalg.solve(np.eye(size) - through + 1.0, np.ones(size))
        return found
    start = np.zeros(n)
    start[agents] = 1.0 / size

    def within(part: Vector) -> Vector:
        checkpoint()
        whole = np.zeros(n)
        whole[agents] = part
        return period(whole)[agents]

    operator = LinearOperator((size, size), matvec=within, dtype=np.float64)
    try:
        # Where a closed class is periodic, other values lie on the unit circle, but none as far to the right.
        _, vectors = eigs(operator, k=1, which="LR", v0=start[agents], tol=1e-13, maxiter=2_000)
    except ArpackNoConvergence:
        return None
    part = np.abs(np.real(vectors[:, 0]))
    found[agents] = part / part.sum()
    return found


# The states that a network which changes for ever goes round in, on average over the noise.

# Sweeps through the period, and products in all, after which a cycle that has not closed is given up.
MOST_SWEEPS = 20_000
MOST_WORK = 3e8
CLOSED = 1e-10
# A pressure that is bounded but still changes is looked at here.
LATE = 1_000_000


def cycle_of_circles(model: Model, rounds: Rounds) -> Vector | None:
    """Return the mean of what each agent shows in each recurring round as ρ_t → ∞ with Σ 1/ρ_t = ∞, or None.

    Hidden opinions are constant. Every closed class settles on the value that it is drawn to, isolated agents show
    their opinion, and all others a mixture of these: the mean of what their neighbours showed in the step before. The
    shape is (steps, agents).
    """
    count, n = rounds.degrees.shape
    nobody = np.zeros(n, dtype=np.bool_)
    closed = closed_classes(rounds, nobody, ~nobody, weak=False)
    known: Vector = np.where(rounds.alone, model.x0, np.nan).ravel()
    for number in np.flatnonzero(~closed.ends):
        places = closed.places(int(number))
        mode = mode_of(model, rounds, places)
        if mode is None:
            return None
        known[places] = mode.value(model.x0)
    known = known.reshape(count, n)
    start = np.full(n, model.consensus_value)
    degrees = np.where(rounds.alone, 1.0, rounds.degrees)

    def step(k: int, state: Vector) -> Vector:
        return np.asarray(np.where(np.isnan(known[k]), rounds.adjacency[k] @ state / degrees[k], known[k]))

    return _closed_cycle(model, rounds, start, step)


def cycle_of_spread(model: Model, rounds: Rounds) -> Vector | None:
    """Return the mean of what each agent shows in each recurring round under a bounded pressure, or None.

    It is the step trip that the noiseless steps close to, shape (steps, agents); hidden opinions are constant.
    """
    late = LATE - rounds.index(LATE)
    updates = [model.update(late + k) for k in range(rounds.count)]
    return _closed_cycle(model, rounds, model.x0, lambda k, state: updates[k](state))


def _closed_cycle(model: Model, rounds: Rounds, start: Vector, step: Callable[[int, Vector], Vector]) -> Vector | None:
    work = float(sum(A.nnz for A in rounds.adjacency) + 10 * rounds.degrees.size)
    scale = float(np.ptp(model.x0)) or 1.0
    states, state = np.empty_like(rounds.degrees), start
    for _ in range(int(min(MOST_SWEEPS, MOST_WORK / work + 1))):
        checkpoint()
        before = state
        for k in range(rounds.count):
            state = step(k, state)
            states[k] = state
        if np.abs(state - before).max() <= CLOSED * scale:
            return states
    return None
