"""Large networks: states that are not seen are eliminated step by step, until only x₀ is left.

The unseen states of a step meet only those of the next one or two, so that a dense front of these, and of the x₀ that
they touch, passes through time; whatever touches no unseen state stays sparse. A step costs the cube of the front.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from peerpressure.errors import TooLargeError, complain
from peerpressure.model import Vector
from peerpressure.recovery.adoption import Turn
from peerpressure.recovery.sparse_states import Rows, SparseStates

# Unknowns that may meet in one step; a step of this size takes about ten seconds on two cores.
LARGEST_FRONT = 6_000


@final
@dataclass(frozen=True, eq=False)
class Normal:
    """The normal equations J x₀ = r of the f free agents: J = ``sparse_part`` + ``dense_part`` on ``touched``.

    ``gross`` (f,) is what the diagonal of J was before states were eliminated: rounding errors in J are relative to it.
    """

    sparse_part: Any
    touched: NDArray[np.int64]
    dense_part: Vector
    right: Vector
    gross: Vector

    def apply(self, columns: Vector) -> Vector:
        """Return J times columns, (f, b)."""
        product = np.asarray(self.sparse_part @ columns)
        product[self.touched] += self.dense_part @ columns[self.touched]
        return product

    def diagonal(self) -> Vector:
        """Return the diagonal of J, (f,)."""
        values = np.array(self.sparse_part.diagonal())
        values[self.touched] += self.dense_part.diagonal()
        return values

    def matrix(self) -> Vector:
        """Return J as a dense matrix, (f, f)."""
        J = np.asarray(self.sparse_part.toarray())
        J[np.ix_(self.touched, self.touched)] += self.dense_part
        return J


@final
@dataclass(eq=False)
class Front:
    """The states still to be eliminated, oldest first, and the touched x₀: their information and right-hand side.

    Where opinions adapt, so many ``carriers`` of what was adopted unseen stand before the states.
    """

    touched: NDArray[np.int64]
    replicates: int
    times: list[tuple[int, int]] = field(default_factory=list)
    carriers: int = 0
    matrix: Vector = field(init=False)
    right: Vector = field(init=False)
    gross: Vector = field(init=False)

    def __post_init__(self) -> None:
        self.gross = np.zeros(self.touched.size)
        self.matrix = np.zeros((self.touched.size, self.touched.size))
        self.right = np.zeros((self.touched.size, self.replicates))

    def admit(self, t: int, count: int) -> None:
        """Make room for the unseen states of a step, between the older ones and x₀."""
        at = self._states()
        self.times.append((t, count))
        self.matrix = np.insert(np.insert(self.matrix, [at] * count, 0.0, axis=0), [at] * count, 0.0, axis=1)
        self.right = np.insert(self.right, [at] * count, 0.0, axis=0)

    def add(self, rows: Rows) -> None:
        """Take in the rows of one step."""
        empty = [sparse.csr_array((rows.values.shape[0], size)) for _, size in self.times]
        blocks = [rows.states.get(t, nothing) for (t, _), nothing in zip(self.times, empty, strict=True)]
        nobody = sparse.csr_array((rows.values.shape[0], self.carriers))
        carried = nobody if rows.carried is None else rows.carried
        A = sparse.hstack([carried, *blocks, rows.hidden[:, self.touched]], format="csr")
        added = (A.T @ A).toarray()
        self.matrix += added
        self.right += A.T @ rows.values
        self.gross += added.diagonal()[len(added) - self.touched.size :]

    def eliminate_before(self, t: int) -> None:
        """Eliminate the states older than t."""
        while self.times and self.times[0][0] < t:
            _, size = self.times.pop(0)
            self._eliminate(size)

    def absorb(self, turn: Turn) -> None:
        """Turn the oldest states into carriers, and eliminate what is then done with."""
        _, size = self.times.pop(0)
        first = self.carriers
        old, new = turn.old, first + turn.new
        for array in (self.matrix, self.matrix.T, self.right):
            one, other = array[old], array[new]
            array[old] = turn.cosine[:, None] * one + turn.sine[:, None] * other
            array[new] = turn.cosine[:, None] * other - turn.sine[:, None] * one
        carriers = np.concatenate([np.arange(first), first + turn.first])[turn.order]
        order = np.concatenate([new, carriers, np.arange(first + size, len(self.matrix))])
        self.matrix, self.right = self.matrix[np.ix_(order, order)], self.right[order]
        self.carriers = carriers.size
        self._eliminate(new.size)

    def finish(self) -> None:
        """Eliminate all that is left but x₀."""
        self._eliminate(self._states())
        self.times, self.carriers = [], 0

    def _states(self) -> int:
        return self.carriers + sum(size for _, size in self.times)

    def _eliminate(self, size: int) -> None:
        """Eliminate the foremost unknowns: J ← J_bb − J_ba J_aa⁻¹ J_ab."""
        if size:
            factor = linalg.cholesky(self.matrix[:size, :size], lower=True)
            side = np.concatenate([self.matrix[:size, size:], self.right[:size]], axis=1)
            half = linalg.solve_triangular(factor, side, lower=True)
            rest = half.shape[1] - self.replicates
            self.matrix = self.matrix[size:, size:] - half[:, :rest].T @ half[:, :rest]
            self.right = self.right[size:] - half[:, :rest].T @ half[:, rest:]


def eliminate(problem: SparseStates) -> Normal:
    """Return the normal equations of x₀ after all unseen states are eliminated."""
    f, replicates = problem.data.seen.free.size, problem.data.values.shape[0]
    touched = _touched(problem)
    front = Front(touched, replicates)
    J, right = sparse.csr_array((f, f)), np.zeros((f, replicates))
    for rows in problem:
        newest = max(rows.states, default=0)
        if newest and all(newest != t for t, _ in front.times):
            if rows.turn is not None:
                front.absorb(rows.turn)
            else:
                front.eliminate_before(newest - problem.reach)
            front.admit(newest, problem.unseen(newest).size)
        met = rows.touching()
        if met.any():
            front.add(rows.part(met))
        if not met.all():
            plain = rows.part(~met)
            J = J + plain.hidden.T @ plain.hidden
            right += plain.hidden.T @ plain.values
    front.finish()
    right[touched] += front.right
    gross = np.array(J.diagonal())
    gross[touched] += front.gross
    return Normal(sparse.csr_array(J), touched, front.matrix, right, gross)


def _touched(problem: SparseStates) -> NDArray[np.int64]:
    """Return the free agents whose x₀ stands in a row with an unseen state, refusing a front that is too wide."""
    found = np.zeros(problem.data.seen.free.size, dtype=bool)
    widest = 0
    for rows in problem:
        part = rows.part(rows.touching())
        found[part.hidden.indices] = True
        widest = max(widest, sum(matrix.shape[1] for matrix in rows.unknown))
    width = widest + int(found.sum())
    if width > LARGEST_FRONT:
        rule = f"at most {LARGEST_FRONT:,} unseen states and hidden opinions may meet in one step"
        remedy = "observe more agents, leave no gaps in time, or use method='ols', which takes any size"
        raise TooLargeError(complain(rule, got=f"{width:,}", remedy=remedy))
    return np.flatnonzero(found)
