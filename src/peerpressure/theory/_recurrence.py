"""Recurrent classes of a network that changes, and the absolute probability sequence of each.

Under high pressure the public opinion of an agent is the mean of its neighbours' in the step before. Without a
neighbour it is the agent's own hidden opinion, or the public opinion that it keeps. So public opinions follow the
backward products of a Markov chain whose states are pairs (agent, step): from (agent, step) to (neighbour, step
before). The chain ends in a state of an isolated agent, or in a *closed communicating class*. One closed class gives
one limit. Joint connectivity is not enough for it: without self-loops, two closed classes can pass through the same
agents alternately, as they do on the two sides of a bipartite graph.

References
----------
.. [1] A. Jadbabaie, J. Lin, A. S. Morse, "Coordination of groups of mobile autonomous agents using nearest neighbor
   rules", IEEE Trans. Autom. Control 48 (2003).
.. [2] B. Touri, A. Nedić, "On ergodicity, infinite flow, and consensus in random models", IEEE Trans. Autom. Control
   56 (2011).
.. [3] A. Kolmogoroff, "Zur Theorie der Markoffschen Ketten", Math. Ann. 112 (1936).
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

from peerpressure.model import Model
from peerpressure.model.step import Array
from peerpressure.networks.chain import communicating_classes, phases
from peerpressure.networks.classes import is_colouring, odd_depths
from peerpressure.support.progress import check_cancelled
from peerpressure.theory._regime import LATE_TIME

States: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]

# Largest number of agents times steps of a period that is analysed as a whole: the graph of states has twice as many
# nodes, and an edge for every neighbour in every step.
LARGEST = 2**23


@final
@dataclass(frozen=True, eq=False)
class RecurrentNetworks:
    """The networks that recur forever from step ``begin`` on: those of a period, or only the last one.

    ``degrees`` has shape (steps, agents), and ``union`` joins all agents who are ever connected again. Agents who keep
    their public opinion in a step, marked in ``kept``, listen to themselves alone: they have a loop there, of a weight
    that is usual for their degrees.
    """

    adjacency: tuple[sparse.csr_array, ...]
    degrees: Array
    union: sparse.csr_array
    begin: int
    kept: Mask

    @property
    def count(self) -> int:
        """The number of steps after which the networks repeat."""
        return len(self.adjacency)

    @property
    def is_static(self) -> bool:
        """Whether one network is in force from the first step on."""
        return self.count == self.begin == 1

    @cached_property
    def sides(self) -> Mask:
        """The side of each agent in its component of the union, where that is bipartite; shape (agents,)."""
        _, label = self.components()
        return odd_depths(self.union, np.unique(label, return_index=True)[1].astype(np.int32))

    @property
    def is_bipartite(self) -> bool:
        """Whether every edge of every network links the two sides of a component."""
        return is_colouring(self.union, self.sides)

    @property
    def isolated(self) -> Mask:
        """Which agent has no neighbour in which step, and shows its own opinion, shape (steps, agents)."""
        return np.asarray(self.degrees == 0)

    @property
    def silent(self) -> Mask:
        """Which agent has no neighbour in which step, whatever it shows, shape (steps, agents)."""
        return self.isolated | self.kept

    @property
    def keeps_forever(self) -> Mask:
        """Which agents keep one public opinion forever, shape (agents,)."""
        return np.asarray(np.all(self.kept, axis=0))

    @property
    def intermittent(self) -> Mask:
        """Which agents show their own opinion in some recurring steps, and neighbours in others, shape (agents,)."""
        return np.asarray(np.any(self.isolated, axis=0) & ~np.all(self.isolated, axis=0))

    def index(self, t: int) -> int:
        """Return which of the networks is in force at a time t ≥ begin."""
        return (t - self.begin) % self.count

    def components(self) -> tuple[int, NDArray[np.int32]]:
        """Return the number of components of the union, and the component of every agent."""
        count, label = csgraph.connected_components(self.union, directed=False)
        return int(count), label


def recurrent_networks(model: Model) -> RecurrentNetworks | None:
    """Return the networks that recur forever, or None where a period is too long to be analysed as a whole."""
    temporal_network = model.temporal_network
    if temporal_network is None or temporal_network.period is None:
        last = 1 if temporal_network is None else temporal_network.last_change
        A = model.adjacency_at(last)
        # Networks before the last change act on the start only; they do not recur.
        return _with_loops(model, (A,), model.degrees_at(last)[None], A, last)
    if temporal_network.period * model.n > LARGEST:
        return None
    times = range(1, temporal_network.period + 1)
    degrees = np.stack([temporal_network.degrees_at(t) for t in times])
    return _with_loops(model, tuple(temporal_network.at(t) for t in times), degrees, model.network.adjacency, 1)


def _with_loops(
    model: Model, adjacency: tuple[sparse.csr_array, ...], degrees: Array, union: sparse.csr_array, begin: int
) -> RecurrentNetworks:
    """Return the networks, with loops where agents keep their public opinions."""
    kept = (degrees == 0) & (model.isolated == "keep")
    if not kept.any():
        return RecurrentNetworks(adjacency, degrees, union, begin, kept)
    active = (~kept).sum(axis=0)
    usual = np.where(active, degrees.sum(axis=0) / np.maximum(active, 1), 1.0)
    loops = np.where(kept, usual, 0.0)
    looped = tuple(sparse.csr_array(A + sparse.diags_array(row)) for A, row in zip(adjacency, loops, strict=True))
    union = sparse.csr_array(union + sparse.diags_array(loops.max(axis=0)))
    return RecurrentNetworks(looped, degrees + loops, union, begin, kept)


@final
@dataclass(frozen=True, eq=False)
class OpinionChain:
    """The chain of opinions as pressure reaches its limit, and the closed classes that public opinions come from.

    A state is step·agents + agent for the public opinion after a step of the period; as many states follow for the
    hidden opinions after it. Every transition goes one step back. ``label`` names the communicating class of every
    state, and ``closed`` the classes that no transition leaves and to which some public opinion can be traced back.
    """

    matrix: sparse.csr_array
    label: NDArray[np.int32]
    closed: NDArray[np.int64]

    @property
    def count(self) -> int:
        """The number of closed classes."""
        return int(self.closed.size)

    def states(self, number: int) -> States:
        """Return the states of one closed class."""
        return np.flatnonzero(self.label == self.closed[number])

    def representatives(self, agents: int) -> States:
        """Return one agent of every closed class, of so many agents in all."""
        first = np.empty(int(self.label.max()) + 1, dtype=np.int64)
        # With repeated indices the last assignment remains, so reversing gives the first state of every class.
        first[self.label[::-1]] = np.arange(self.label.size)[::-1]
        return np.asarray(first[self.closed] % agents)

    @cached_property
    def absorbing(self) -> Mask:
        """Which closed classes are one absorbing state: a hidden opinion that never moves."""
        # A state without an outgoing transition is an opinion that nothing changes.
        leads_nowhere = np.diff(self.matrix.indptr) == 0
        return np.isin(self.closed, self.label[leads_nowhere])

    def includes_isolated(self, networks: RecurrentNetworks) -> bool:
        """Whether agents who are isolated at times belong to a closed class, and all of their noise with them."""
        alone = np.flatnonzero(networks.isolated & networks.intermittent)
        return bool(np.any(np.isin(self.label[alone], self.closed)))

    def period(self, number: int) -> int:
        """Return the period of a closed class, which is 2 on a bipartite graph, and 1 on other connected graphs."""
        return phases(self.matrix, self.states(number))[0]


def opinion_chain(networks: RecurrentNetworks, adapts: Mask, memory: Mask, *, own_opinion: bool) -> OpinionChain:
    """Return the chain of public opinions, and of the hidden opinions of agents who adapt.

    ``memory``: whose hidden opinion is not fully replaced in a step, η < 1. ``own_opinion``: whether an agent's own
    opinion counts in every step, as under bounded pressure, or in the long run where Σ 1/ρ_t diverges; otherwise it
    counts only where the agent is isolated, and never where that agent keeps its public opinion.
    """
    n, count = networks.degrees.shape[1], networks.count
    # Numbers of states in 32 bits where they fit, as SciPy has them: there are some for every edge.
    public = np.arange(count * n, dtype=np.int32 if 2 * count * n < 2**31 else np.int64).reshape(count, n)
    # A hidden opinion that never moves has one state for all steps, which is absorbing.
    hidden = np.where(adapts, public, public[0]) + public.dtype.type(public.size)
    # The step before the first of a period is the last one.
    heard, own = np.roll(public, 1, axis=0), np.roll(hidden, 1, axis=0)
    starts, ends = [], []
    hears_itself = ~networks.kept if own_opinion else networks.isolated
    for k, A in enumerate(networks.adjacency):
        rows = np.repeat(np.arange(n, dtype=public.dtype), np.diff(A.indptr))
        alone = np.flatnonzero(hears_itself[k])
        # A hidden opinion adapts to the public one of its step, and so comes from where that does, or from itself.
        for states, who in ((public[k], np.ones(n, np.bool_)), (hidden[k], adapts)):
            heeding = slice(None) if who.all() else who[rows]
            starts += [states[rows[heeding]], states[alone[who[alone]]]]
            ends += [heard[k][A.indices[heeding]], own[k][alone[who[alone]]]]
        # With η = 1 the hidden opinion is replaced completely.
        starts.append(hidden[k][adapts & memory])
        ends.append(own[k][adapts & memory])
    rows, columns = np.concatenate(starts), np.concatenate(ends)
    shape = (2 * public.size, 2 * public.size)
    matrix = sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=shape)
    label, closed = communicating_classes(matrix)
    # Hidden opinions that no public opinion can be traced back to do not count.
    reached = np.zeros(closed.size, np.bool_)
    reached[label[public.ravel()]] = reached[label[columns]] = True
    return OpinionChain(matrix, label, np.flatnonzero(reached & closed))


# Up to this size the map of a period is formed as a dense matrix; above, Arnoldi iteration finds its invariant vector.
DENSE = 200


@final
@dataclass(frozen=True, eq=False)
class AbsoluteProbability:
    """Kolmogorov's absolute probability sequence ω_t of a closed class, over the steps that recur.

    With P_t = D_t⁻¹A_t one step is y_t = P_t y_{t−1} + D_t⁻¹S(ξ_t − y_t)/ρ_t. Weights ω_t ≥ 0 with Σ ω_t = 1 and
    ω_{t−1} = P_tᵀω_t make the common value m_t = ω_t·y_t obey

        m_t = m_{t−1} + (1/ρ_t) Σ w_t (ξ_t − y_t),        w_t = ω_t s/d_t.

    So near agreement m is attracted to the mean of the opinions with weights w, at the rate κ/ρ_t with κ = Σ w. On a
    constant network ω = d/Σd and w = s/Σd, which gives v = Σ s x₀/Σ s. Where degrees change from step to step ω is not
    d/Σd, and the limit is not v, though every network is symmetric.

    ``probability`` is ω and ``rates`` is w, shape (steps, agents).
    """

    probability: Array
    rates: Array

    @cached_property
    def influence(self) -> Array:
        """The mean of w over the steps, shape (agents,): the weight of each opinion."""
        return np.asarray(self.rates.mean(axis=0))

    @cached_property
    def kappa(self) -> float:
        """The rate κ: the start loses a share κ/ρ_t in a step."""
        return float(self.influence.sum())

    def value(self, opinions: Array) -> float:
        """Return the weighted mean of opinions that m is attracted to."""
        return float(self.influence @ opinions / self.influence.sum())

    def noise(self, deviations: Array, phi: float) -> float:
        """Return the deviation that the noise of one step gives that mean, as it counts in the long run.

        White noise counts by the mean square of w over the steps, constant noise (φ = 1) by the mean of w, and AR(1)
        noise of coefficient φ by Σ_k φ^|k| w_t w_{t+k}.
        """
        # With constant weights the sum over lags is the geometric series Σ φ^|k| = (1 + φ)/(1 − φ).
        if phi == 1 or self.rates.shape[0] == 1:
            factor = 1.0 if phi == 1 else np.sqrt((1 + phi) / (1 - phi))
            return float(factor * np.linalg.norm(self.influence * deviations) / self.kappa)
        # By Parseval's theorem the sum over all lags is one over the frequencies of the period: O(T log T) instead of
        # O(T²).
        shares = np.fft.fft(self.rates * deviations, axis=0)
        # The spectrum of AR(1) noise at the frequencies of the period.
        angle = 2 * np.pi * np.arange(self.rates.shape[0]) / self.rates.shape[0]
        density = (1 - phi**2) / (1 - 2 * phi * np.cos(angle) + phi**2)
        power = (np.abs(shares) ** 2).sum(axis=1) @ density / self.rates.shape[0] ** 2
        return float(np.sqrt(power) / self.kappa)


def absolute_probability(
    model: Model, networks: RecurrentNetworks, states: States | None = None
) -> AbsoluteProbability | None:
    """Return the absolute probability sequence of a closed class, by default of all agents; None if not computed."""
    count, n = networks.degrees.shape
    activation = model.activation
    if activation is not None and count == 1 and states is None:
        # Who updates rarely counts for longer, and moves by a share of a step.
        share = model.mode_weights * activation.probabilities
        degrees = np.where(model.network.degrees > 0, model.network.degrees, 1.0)
        return AbsoluteProbability(model.mode_weights[None], (share * model.s / degrees)[None])
    # On one symmetric network reversibility gives ω = d/Σd without any linear algebra.
    if count == 1 and states is None and not model.network.directed:
        total = networks.degrees.sum()
        return AbsoluteProbability(networks.degrees / total, model.s[None] / total)
    inside = np.ones((count, n), dtype=np.bool_)
    if states is not None:
        inside = np.isin(np.arange(count * n), states).reshape(count, n)
    omega = np.zeros((count, n))
    if count == 1:
        degrees = np.where(inside, networks.degrees, 0.0)
        # Only static networks are directed; ℓd is the stationary law of D⁻¹A.
        degrees = degrees * model.network.left_null_vector if model.network.directed else degrees
        omega = degrees / degrees.sum()
    else:
        last = _invariant(networks, np.flatnonzero(inside[-1]))
        if last is None:
            return None
        omega[-1] = last
        for k in range(count - 1, 0, -1):
            # Backwards in time, since ω_{t−1} = P_tᵀω_t; one vector determines all others.
            omega[k - 1] = _back(networks, k, omega[k])
    # Outside of the class ω is 0 and the degree may be 0; 1 avoids 0/0. An opinion that is kept gives no weight to x.
    degrees = np.where(inside, networks.degrees, 1.0)
    return AbsoluteProbability(omega, np.where(networks.kept, 0.0, omega * model.s / degrees))


def _back(networks: RecurrentNetworks, k: int, omega: Array) -> Array:
    """Return Pᵀω of one step."""
    degrees = np.where(networks.degrees[k] > 0, networks.degrees[k], 1.0)
    shares = omega / (degrees if omega.ndim == 1 else degrees[:, None])
    # A is symmetric, so A D⁻¹ω is Pᵀω without a transpose.
    return np.asarray(networks.adjacency[k] @ shares)


def _invariant(networks: RecurrentNetworks, agents: States) -> Array | None:
    """Return the ω of the last step that a whole period leaves unchanged, on the agents of a closed class."""

    def period(omega: Array) -> Array:
        for k in range(networks.count - 1, -1, -1):
            omega = _back(networks, k, omega)
        return omega

    n, size = networks.degrees.shape[1], agents.size
    shares = np.zeros(n)
    if size <= DENSE:
        columns = sparse.csc_array((np.ones(size), (agents, np.arange(size))), shape=(n, size)).toarray()
        through = period(columns)[agents]
        # I − P̄ᵀ is singular along the invariant vector only. Adding the matrix of ones replaces that zero by the
        # normalisation Σω = 1, and the solution is ω itself.
        shares[agents] = np.linalg.solve(np.eye(size) - through + 1.0, np.ones(size))
        return shares
    start = np.zeros(n)
    start[agents] = 1.0 / size

    def within(part: Array) -> Array:
        check_cancelled()
        whole = np.zeros(n)
        whole[agents] = part
        return period(whole)[agents]

    operator = LinearOperator((size, size), matvec=within, dtype=np.float64)
    try:
        # A periodic class has other eigenvalues on the unit circle, but none as far to the right.
        _, vectors = eigs(operator, k=1, which="LR", v0=start[agents], tol=1e-13, maxiter=2_000)
    except ArpackNoConvergence:
        return None
    # An eigenvector has an arbitrary sign; by Perron–Frobenius its entries all have the same one.
    part = np.abs(np.real(vectors[:, 0]))
    shares[agents] = part / part.sum()
    return shares


# Sweeps through the period, and products in all, after which a cycle that has not converged is abandoned.
MOST_SWEEPS = 20_000
MOST_WORK = 3e8
CLOSED = 1e-10


def periodic_limit(model: Model, networks: RecurrentNetworks) -> Array | None:
    """Return the mean public opinions in each recurring step as ρ_t → ∞ with divergent Σ 1/ρ_t; None if not computed.

    Hidden opinions are constant. Every closed class converges to its own value, the public opinion of an isolated agent
    is its hidden one, and transient agents have a mixture of these: the mean of their neighbours' public opinions in
    the step before. The shape is (steps, agents).
    """
    if networks.keeps_forever.any():
        # What these keep depends on the steps before.
        return None
    count, n = networks.degrees.shape
    nobody = np.zeros(n, dtype=np.bool_)
    closed = opinion_chain(networks, nobody, ~nobody, own_opinion=False)
    # NaN marks transient states, the only ones that the sweeps below have to compute.
    known: Array = np.where(networks.isolated, model.x0, np.nan).ravel()
    for number in np.flatnonzero(~closed.absorbing):
        states = closed.states(int(number))
        sequence = absolute_probability(model, networks, states)
        if sequence is None:
            return None
        known[states] = sequence.value(model.x0)
    known = known.reshape(count, n)
    start = np.full(n, model.consensus_value)
    degrees = np.where(networks.isolated, 1.0, networks.degrees)

    def step(k: int, state: Array) -> Array:
        return np.asarray(np.where(np.isnan(known[k]), networks.adjacency[k] @ state / degrees[k], known[k]))

    return _closed_cycle(model, networks, start, step)


def periodic_fixed_point(model: Model, networks: RecurrentNetworks) -> Array | None:
    """Return the mean public opinions in each recurring step under bounded pressure, or None if not computed.

    It is the cycle that the noise-free steps converge to, shape (steps, agents); hidden opinions are constant.
    """
    # A late time at the beginning of a period, where bounded pressure has reached its limit.
    late = LATE_TIME - networks.index(LATE_TIME)
    updates = [model.update(late + k) for k in range(networks.count)]
    return _closed_cycle(model, networks, model.x0, lambda k, state: updates[k](state))


def _closed_cycle(
    model: Model, networks: RecurrentNetworks, start: Array, step: Callable[[int, Array], Array]
) -> Array | None:
    work = float(sum(A.nnz for A in networks.adjacency) + 10 * networks.degrees.size)
    # Changes are compared with the range of opinions, so adding a constant to all of them changes nothing.
    scale = float(np.ptp(model.x0)) or 1.0
    states, state = np.empty_like(networks.degrees), start
    for _ in range(int(min(MOST_SWEEPS, MOST_WORK / work + 1))):
        check_cancelled()
        before = state
        for k in range(networks.count):
            state = step(k, state)
            states[k] = state
        if np.abs(state - before).max() <= CLOSED * scale:
            return states
    return None
