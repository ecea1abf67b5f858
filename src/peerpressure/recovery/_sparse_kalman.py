"""The Kalman estimate of large networks: unobserved states are eliminated step by step from a sparse system.

u_t = (y_t − C_t y_{t−1} − g_t ∘ x_t)/(g_t σ_t) has unit variance, and so has (u_t − φ u_{t−1})/√(1−φ²), for AR(1) noise
independently in time: one row for each agent and step, in x₀ and in the states that are not observed. Observed states
move to the right-hand side. x_t is x₀, or π_{t−1} x₀ + (1 − η_{t−1}) k_{t−2} + η_{t−1} y_{t−1} if opinions adapt,
with the adopted part k_t = (1 − η_t) k_{t−1} + η_t y_t.

The unobserved states of a step meet only those of the next one or two. A dense front of these, and of the x₀ that
they meet, passes through time; rows without an unobserved state stay sparse. A step costs the cube of the front.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from peerpressure.errors import TooLargeError, message
from peerpressure.model import Model
from peerpressure.model.statespace import ModelTransition, initial_state, model_transitions, retained, transition
from peerpressure.model.step import Array
from peerpressure.recovery import limits
from peerpressure.recovery._prior import Prior
from peerpressure.recovery.estimate import Estimate, estimate_from
from peerpressure.recovery.least_squares import Equations, whiten_pair
from peerpressure.recovery.limits import MIN_SIGNIFICANT
from peerpressure.support.progress import check_cancelled

if TYPE_CHECKING:
    from peerpressure.recovery.observation import Answers


Agents: TypeAlias = NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class GivensRotation:
    """How the unobserved answers of a step become memories, as of `AdoptedPart`.

    The pairs ``old`` (places among the memories) and ``new`` (places among the unobserved) are rotated by an angle with
    this ``cosine`` and ``sine``; ``first`` are the places of answers that become memories as they are; ``order`` sorts
    old and first memories by agent.
    """

    old: Agents
    new: Agents
    cosine: Array
    sine: Array
    first: Agents
    order: Agents


@final
@dataclass(frozen=True, eq=False)
class AdoptedPart:
    """The adopted part k = ``observed`` + ``size`` ∘ v, (n, replicates) and (agents,).

    k accumulates all public opinions of an agent, observed or not. Of its unobserved answers only one combination still
    matters, its memory v: one unknown for each of ``agents``, those that were ever unobserved. A new unobserved answer
    y is combined by a Givens rotation of the pair (v, y) into the new memory and what is orthogonal to it, which is
    then eliminated.
    """

    agents: Agents
    size: Array
    observed: Array

    @classmethod
    def nothing(cls, n: int, replicates: int) -> AdoptedPart:
        """Return the adopted part at the start."""
        return cls(np.arange(0), np.zeros(0), np.zeros((n, replicates)))

    def after(self, rate: Array, unseen: Agents, public: Array) -> tuple[AdoptedPart, GivensRotation]:
        """Return the adopted part after one more step, and what becomes of its unobserved answers.

        ``rate`` (n,) is η; ``public`` (n, replicates) are the answers, 0 for the ``unseen`` agents.
        """
        observed = self.observed + rate[:, None] * (public - self.observed)
        size = (1 - rate[self.agents]) * self.size
        _, old, new = np.intersect1d(self.agents, unseen, assume_unique=True, return_indices=True)
        first = np.setdiff1d(np.arange(unseen.size), new)
        # k contains kept·v + added·y. Any rotation leaves the least-squares problem unchanged; this angle puts all of
        # it on the new memory. The orthogonal component then occurs in no later row and can be eliminated now.
        kept, added = size[old], rate[unseen[new]]
        # hypot does not overflow or underflow where the sum of squares does: kept decays geometrically with time.
        length = np.hypot(kept, added)
        where = length > 0
        # Angle 0 where both weights are 0: the pair stays as it is, and division by 0 is avoided.
        cosine = np.divide(kept, length, out=np.ones_like(length), where=where)
        sine = np.divide(added, length, out=np.zeros_like(length), where=where)
        size[old] = length
        agents = np.concatenate([self.agents, unseen[first]])
        # `Front.rotate` permutes its memories by the same order: rows and front agree.
        order = np.argsort(agents)
        sizes = np.concatenate([size, rate[unseen[first]]])
        return AdoptedPart(agents[order], sizes[order], observed), GivensRotation(old, new, cosine, sine, first, order)


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """Rows Σ_s A_s y_s + K v + X x₀ = b + unit noise: ``states`` has A_s by time s, ``values`` b, (rows, replicates).

    ``carried`` is K, if opinions adapt; ``rotation`` is how memories were made from those of the step before.
    """

    states: Mapping[int, Any]
    hidden: Any
    values: Array
    carried: Any = None
    rotation: GivensRotation | None = None

    @property
    def unknown(self) -> list[Any]:
        """All matrices on what is neither observed nor x₀."""
        # A memory is an unknown like a state: a row with one must go to the front.
        return [*self.states.values(), *([] if self.carried is None else [self.carried])]

    def touching(self) -> NDArray[np.bool_]:
        """Return which rows touch a state at all."""
        coupled = np.zeros(self.values.shape[0], dtype=bool)
        for matrix in self.unknown:
            # Stored entries per row of a CSR matrix; an explicit zero counts, which is harmless here.
            coupled |= np.diff(matrix.indptr) > 0
        return coupled

    def part(self, chosen: NDArray[np.bool_]) -> Rows:
        """Return some of the rows."""
        states = {s: A[chosen] for s, A in self.states.items()}
        carried = None if self.carried is None else self.carried[chosen]
        return Rows(states, self.hidden[chosen], self.values[chosen], carried, self.rotation)


def _refusal(model: Model, last: int) -> tuple[str, str] | None:
    """Return the rule that a model breaks, and what it has instead; None if its states can be eliminated."""
    noise = model.noise
    # Rows are divided by the noise, and whitening by √(1−φ²): neither may be 0. The dense filter treats exact rows,
    # this elimination does not.
    least = float(noise.deviations(model.n).min()) * float(noise.scale(np.arange(1, last + 1)).min(initial=1))
    if least == 0 or abs(noise.autocorrelation) == 1:
        rule = "partial answers of a large network need fresh noise at every step"
        return rule, "frozen noise" if least else "agents or steps without noise"
    # Whitening would make rows reach two adopted parts back, and the memories rotate only one step at a time.
    if noise.autocorrelation and model.layout.has_hidden:
        return "partial answers of a large network whose opinions adapt need white noise", str(noise)
    if model.keeps:
        return "partial answers of a large network need noise in all of them", "agents who keep their opinions"
    return None


def is_quicker(model: Model, data: Answers) -> bool:
    """Return whether elimination takes less work than a dense filter, and loses no digits that the filter would keep.

    Measured on four kinds of networks of 30 to 300 agents, with all, 95 % and half of them observed: a step of the
    filter takes the time of 1e6 + 3 m³ units for a state of m numbers, and one of the elimination 4e6 + f³/4 for a
    front of f.
    """
    if data.seen.noise_variance or _refusal(model, data.seen.last) is not None:
        return False
    unseen = model.n - int(data.present.sum(axis=1).min(initial=model.n))
    times = data.seen.times
    if np.any(np.diff(times, prepend=0) > 1):
        # Nobody is observed at a step in between.
        unseen = model.n
    # The states of a step with those before them, and the x₀ of their agents and of whom these hear.
    neighbours = 1 + model.network.adjacency.nnz / model.n
    steps = 2 if model.noise.autocorrelation else 1
    front = (steps + model.layout.has_hidden) * unseen + min(model.n, neighbours * unseen)
    filtered = 1e6 + 3.0 * model.layout.states**3
    return 4e6 + front**3 / 4 < filtered and _is_significant(model, data)


def _is_significant(model: Model, data: Answers) -> bool:
    """Return whether the noise of every answer is far above its last digits, so nothing must be left out."""
    size = float(np.nanmax(np.abs(data.values), initial=0.0))
    last_digit = float(np.finfo(data.values.dtype).eps) * size
    steps = model_transitions(model, range(1, data.seen.last + 1))
    return all(float(step.noise_std.min()) > MIN_SIGNIFICANT * last_digit for step in steps)


@final
@dataclass(frozen=True, eq=False)
class SparseStates:
    """All least-squares rows of the answers of a model, step by step."""

    model: Model
    data: Answers

    def __post_init__(self) -> None:
        refusal = _refusal(self.model, self.data.seen.last)
        if refusal is not None:
            rule, got = refusal
            remedy = "use complete answers with the method innovations, or a smaller network"
            raise TooLargeError(
                message(rule, got=f"{got} among {self.model.n} agents", remedy=remedy), argument="method"
            )

    @property
    def lags(self) -> int:
        """How many steps before its own a row involves."""
        # u_t involves y_t and y_{t−1}; the whitened difference with u_{t−1} involves y_{t−2} as well.
        return 2 if self.model.noise.autocorrelation else 1

    @cached_property
    def _row_of(self) -> dict[int, int]:
        return {int(t): row for row, t in enumerate(self.data.seen.times)}

    def unseen(self, t: int) -> NDArray[np.int64]:
        """Return the agents whose state at t is unknown; rounded answers leave all unknown."""
        n = self.model.n
        # With observation noise the true y_t stays unknown, and the answer becomes a noisy row of its own (`_rounded`).
        if self.data.seen.noise_variance or t not in self._row_of:
            return np.arange(n)
        return np.setdiff1d(np.arange(n), self.data.seen.agents[self.data.present[self._row_of[t]]])

    def __iter__(self) -> Iterator[Rows]:
        """Yield the rows of steps 0 (if it is observed with rounding), 1, 2, …."""
        if 0 in self._row_of:
            yield self._rounded(0)
        yield from self._adapting() if self.model.layout.has_hidden else self._constant()

    def _adapting(self) -> Iterator[Rows]:
        """Yield the rows of opinions that adapt; ``rate`` is η_{t−1} and ``adopted`` k_{t−2}."""
        n, replicates = self.model.n, self.data.values.shape[0]
        # π_0, …, π_T; opinions before the first step retain all of x₀.
        pi = np.broadcast_to(retained(self.model, self.data.seen.last), (self.data.seen.last + 1, n))
        adopted, rotation, rate = AdoptedPart.nothing(n, replicates), None, np.zeros(n)
        for t in range(1, self.data.seen.last + 1):
            step = transition(self.model, t)
            states, hidden = _unit_noise(step, t)
            followed, kept, own = (_columns_times(hidden, part) for part in (rate, 1 - rate, pi[t - 1]))
            # x_t = π x₀ + (1 − η) k_{t−2} + η y_{t−1}: the η y_{t−1} term merges with the coupling of the same state,
            # and the rest goes through the memories.
            rows = self._split(states | {t - 1: states[t - 1] + followed}, own)
            carried = _columns_times(sparse.csr_array(kept[:, adopted.agents]), adopted.size)
            yield replace(rows, values=rows.values - kept @ adopted.observed, carried=carried, rotation=rotation)
            if self.data.seen.noise_variance and t in self._row_of:
                yield self._rounded(t)
            # y_0 is not adopted: the first adaptation step follows y_1, so k_{−1} and k_0 are 0.
            if t > 1:
                unseen = self.unseen(t - 1)
                adopted, rotation = adopted.after(rate, unseen, self._seen_part(t - 1, unseen))
            if step.update.adaptation_rate is not None:
                rate = step.update.adaptation_rate

    def _constant(self) -> Iterator[Rows]:
        phi = self.model.noise.autocorrelation
        before: tuple[dict[int, Any], Any] | None = None
        for t in range(1, self.data.seen.last + 1):
            now = _unit_noise(transition(self.model, t), t)
            yield self._split(*(_whitened(now, before, phi) if before else now))
            # Without autocorrelation whitening is the identity, and the extra block of y_{t−2} would only widen the
            # front.
            before = now if phi else None
            if self.data.seen.noise_variance and t in self._row_of:
                yield self._rounded(t)

    def _split(self, states: dict[int, Any], hidden: Any) -> Rows:
        """Return rows in the unknowns only."""
        n, replicates = self.model.n, self.data.values.shape[0]
        values = np.zeros((n, replicates))
        unknown: dict[int, Any] = {}
        for s, matrix in states.items():
            # y_0 = x₀: the coefficients of the state add to those of x₀.
            if s == 0 and initial_state(self.model).starts_from_hidden:
                hidden = hidden + matrix
            elif s == 0:
                values -= (matrix @ self.model.start_state)[:, None]
            else:
                columns = self.unseen(s)
                unknown[s] = sparse.csr_array(matrix[:, columns])
                values -= matrix @ self._seen_part(s, columns)
        return self._without_known(unknown, sparse.csr_array(hidden), values)

    def _seen_part(self, s: int, unseen: NDArray[np.int64]) -> Array:
        state = np.zeros((self.model.n, self.data.values.shape[0]))
        if unseen.size < self.model.n:
            state[self.data.seen.agents] = self.data.at(self._row_of[s]).T
            # NaN of missing answers would spread through the product with the coupling matrix.
            state[unseen] = 0.0
        return state

    def _rounded(self, t: int) -> Rows:
        """Return y_t/s = answer/s + unit noise, with s the std of the observation noise."""
        there = self.data.present[self._row_of[t]]
        # Every row has unit noise, so plain normal equations AᵀA are the information.
        weight = 1 / np.sqrt(self.data.seen.noise_variance)
        each = sparse.csr_array(weight * sparse.eye_array(self.model.n, format="csr")[self.data.seen.agents[there]])
        values = weight * self.data.at(self._row_of[t])[:, there].T
        nothing = sparse.csr_array(each.shape)
        return self._without_known({t: each} if t else {}, nothing if t else each, values)

    def _without_known(self, states: dict[int, Any], hidden: Any, values: Array) -> Rows:
        # NaN marks the free agents; as zeros they contribute nothing to the right-hand side.
        known = np.nan_to_num(self.data.known)
        free = self.data.seen.free
        return Rows(states, sparse.csr_array(hidden[:, free]), values - hidden @ known.T)


def _columns_times(matrix: Any, factors: Array) -> Any:
    return sparse.csr_array(matrix @ sparse.diags_array(factors, format="csr"))


def _unit_noise(step: ModelTransition, t: int) -> tuple[dict[int, Any], Any]:
    """Return u_t as matrices on the states of t and t − 1 and on x₀."""
    weight = sparse.diags_array(1 / step.noise_std, format="csr")
    hidden = sparse.diags_array(-step.update.gain / step.noise_std, format="csr")
    return {t: weight, t - 1: -weight @ step.update.coupling}, hidden


def _whitened(now: tuple[dict[int, Any], Any], before: tuple[dict[int, Any], Any], phi: float) -> Any:
    """Return (u_t − φ u_{t−1})/√(1−φ²)."""
    # The two rows involve different times; an empty matrix of the same shape and format keeps `whiten_pair` uniform.
    empty = 0 * now[1]
    times = sorted({*now[0], *before[0]}, reverse=True)
    states = {s: whiten_pair(now[0].get(s, empty), before[0].get(s, empty), phi) for s in times}
    return states, whiten_pair(now[1], before[1], phi)


@final
@dataclass(eq=False)
class Front:
    """The states still to be eliminated, oldest first, and the coupled x₀: their information and right-hand side.

    ``states`` (s, s) is the information about the states, ``sides`` (s, coupled + replicates) that which they share
    with x₀, and their right-hand side; ``hidden`` (coupled, coupled) is the information about x₀, of which only the
    lower triangle counts, and ``right`` its right-hand side. If opinions adapt, so many ``memories`` of what was
    adopted unseen stand before the states.
    """

    coupled: NDArray[np.int64]
    replicates: int
    times: list[tuple[int, int]] = field(default_factory=list)
    memories: int = 0
    states: Array = field(init=False)
    sides: Array = field(init=False)
    hidden: Array = field(init=False)
    right: Array = field(init=False)
    uncancelled: Array = field(init=False)
    squares: Array = field(init=False)
    log_det: float = 0.0

    def __post_init__(self) -> None:
        width = self.coupled.size
        self.uncancelled = np.zeros(width)
        self.states, self.sides = np.zeros((0, 0)), np.zeros((0, width + self.replicates))
        # x₀ is never eliminated, and its block is the largest: it is updated in place, in the order of BLAS.
        self.hidden, self.right = np.zeros((width, width), order="F"), np.zeros((width, self.replicates))
        self.squares = np.zeros(self.replicates)

    def admit(self, t: int, count: int) -> None:
        """Make room for the unseen states of a step, after the older ones."""
        self.times.append((t, count))
        self.states = np.pad(self.states, ((0, count), (0, count)))
        self.sides = np.pad(self.sides, ((0, count), (0, 0)))

    def add(self, rows: Rows) -> None:
        """Take in the rows of one step."""
        empty = [sparse.csr_array((rows.values.shape[0], size)) for _, size in self.times]
        blocks = [rows.states.get(t, nothing) for (t, _), nothing in zip(self.times, empty, strict=True)]
        nobody = sparse.csr_array((rows.values.shape[0], self.memories))
        A = sparse.hstack([nobody if rows.carried is None else rows.carried, *blocks], format="csr")
        X = rows.hidden[:, self.coupled]
        width = self.coupled.size
        # Products are formed sparse, where rows have about one entry per neighbour, and only the result is dense.
        self.states += (A.T @ A).toarray()
        self.sides[:, :width] += (A.T @ X).toarray()
        self.sides[:, width:] += A.T @ rows.values
        self.right += X.T @ rows.values
        own = sparse.coo_array(X.T @ X)
        # Each place occurs once in a product of matrices in canonical form.
        self.hidden[own.row, own.col] += own.data
        self.squares += np.square(rows.values).sum(axis=0)
        # Eliminations subtract from the diagonal of x₀ later; the sum before them is the scale of the rounding error.
        self.uncancelled += own.diagonal()

    def eliminate_before(self, t: int) -> None:
        """Eliminate the states older than t."""
        while self.times and self.times[0][0] < t:
            _, size = self.times.pop(0)
            self._eliminate(size)

    def rotate(self, rotation: GivensRotation) -> None:
        """Rotate the oldest states into memories, and eliminate what is orthogonal to these."""
        _, size = self.times.pop(0)
        first = self.memories
        old, new = rotation.old, first + rotation.new
        # Congruence: rows, columns (through the transposed view, in place) and the sides.
        for array in (self.states, self.states.T, self.sides):
            # Index arrays copy, so the first assignment does not change what the second one reads.
            one, other = array[old], array[new]
            array[old] = rotation.cosine[:, None] * one + rotation.sine[:, None] * other
            array[new] = rotation.cosine[:, None] * other - rotation.sine[:, None] * one
        memories = np.concatenate([np.arange(first), first + rotation.first])[rotation.order]
        # Orthogonal components first, since `_eliminate` works on the leading block; then memories and states.
        order = np.concatenate([new, memories, np.arange(first + size, len(self.states))])
        self.states, self.sides = self.states[np.ix_(order, order)], self.sides[order]
        self.memories = memories.size
        self._eliminate(new.size)

    def finish(self) -> None:
        """Eliminate all that is left but x₀, and fill the upper triangle of its information."""
        self._eliminate(len(self.states))
        self.times, self.memories = [], 0
        self.hidden = np.tril(self.hidden) + np.tril(self.hidden, -1).T

    def _eliminate(self, size: int) -> None:
        """Eliminate the foremost unknowns: J ← J_bb − J_ba J_aa⁻¹ J_ab."""
        if not size:
            return
        check_cancelled()
        # Every state has a row with unit noise and coefficient 1/σ, so the leading block is positive definite.
        factor = linalg.cholesky(self.states[:size, :size], lower=True, check_finite=False)
        # With half = L⁻¹J_ab, J_ba J_aa⁻¹ J_ab is halfᵀ half, symmetric by construction.
        half, sides = (
            linalg.solve_triangular(factor, part, lower=True, check_finite=False)
            for part in (self.states[:size, size:], self.sides[:size])
        )
        width = self.coupled.size
        self.states = self.states[size:, size:] - half.T @ half
        self.sides = self.sides[size:] - half.T @ sides
        shared = sides[:, :width]
        # In place and of one triangle only: half the work of a product, and no copy of the largest block.
        self.hidden = linalg.blas.dsyrk(-1.0, shared, beta=1.0, c=self.hidden, trans=1, lower=1, overwrite_c=1)
        self.right -= shared.T @ sides[:, width:]
        self.squares -= np.square(sides[:, width:]).sum(axis=0)
        self.log_det += 2 * float(np.log(factor.diagonal()).sum())


@final
@dataclass(frozen=True, eq=False)
class Eliminated:
    """The ``equations`` of the free agents' x₀ that are left, and what the likelihood needs besides.

    ``squares`` (replicates,) is the sum of squares of all rows at x₀ = 0 and at the best states, and ``log_det`` the
    logarithm of the determinant of what was eliminated.
    """

    equations: Equations
    squares: Array
    log_det: float


def eliminate(problem: SparseStates) -> Eliminated:
    """Return the equations of x₀ after all unseen states are eliminated."""
    f, replicates = problem.data.seen.free.size, problem.data.values.shape[0]
    coupled = _coupled(problem)
    front = Front(coupled, replicates)
    J, right = sparse.csr_array((f, f)), np.zeros((f, replicates))
    for rows in problem:
        # Rounded answers come as a second set of rows of the same step and need no new states.
        newest = max(rows.states, default=0)
        if newest and all(newest != t for t, _ in front.times):
            if rows.rotation is not None:
                front.rotate(rows.rotation)
            else:
                # Older states occur in no row still to come. Eliminating as early as possible keeps the front narrow.
                front.eliminate_before(newest - problem.lags)
            front.admit(newest, problem.unseen(newest).size)
        touching = rows.touching()
        if touching.any():
            front.add(rows.part(touching))
        if not touching.all():
            plain = rows.part(~touching)
            # Rows in x₀ only cause no fill-in, so their normal equations stay sparse for any number of agents.
            J = J + plain.hidden.T @ plain.hidden
            right += plain.hidden.T @ plain.values
            front.squares += np.square(plain.values).sum(axis=0)
    front.finish()
    right[coupled] += front.right
    uncancelled = np.array(J.diagonal())
    uncancelled[coupled] += front.uncancelled
    J, dense = sparse.csr_array(J), front.hidden

    def apply(columns: Array) -> Array:
        product = np.asarray(J @ columns)
        product[coupled] += dense @ columns[coupled]
        return product

    diagonal, matrix = np.array(J.diagonal()), None
    diagonal[coupled] += dense.diagonal()
    if f <= limits.DENSE_LIMIT:
        matrix = np.asarray(J.toarray())
        matrix[np.ix_(coupled, coupled)] += dense
    return Eliminated(
        Equations(apply, diagonal, right, matrix=matrix, uncancelled=uncancelled), front.squares, front.log_det
    )


def _coupled(problem: SparseStates) -> NDArray[np.int64]:
    """Return the free agents whose x₀ is in a row with an unobserved state; raise an error if the front is too wide."""
    coupled = np.zeros(problem.data.seen.free.size, dtype=bool)
    widest = 0
    for rows in problem:
        part = rows.part(rows.touching())
        coupled[part.hidden.indices] = True
        # A pass over all rows before any dense matrix is allocated: an error after minutes of work would be worse than
        # computing the rows twice.
        widest = max(widest, sum(matrix.shape[1] for matrix in rows.unknown))
    width = widest + int(coupled.sum())
    if width > limits.FRONT_LIMIT:
        rule = f"at most {limits.FRONT_LIMIT:,} unobserved states and hidden opinions may meet in one step"
        remedy = "observe more agents, leave no gaps in time, or use the method ols, which takes any size"
        raise TooLargeError(message(rule, got=f"{width:,}", remedy=remedy), argument="method")
    return np.flatnonzero(coupled)


def sparse_estimate(model: Model, data: Answers, prior: Prior | None) -> Estimate:
    """Return the estimate x̂₀ = (J + P⁻¹)⁻¹(r + P⁻¹m), the best linear unbiased one if there is no prior."""
    equations = eliminate(SparseStates(model, data)).equations.with_prior(data.known, prior)
    return estimate_from(model, data, "kalman", **equations.solved()._asdict())
