"""What is known of x₀: linear facts that hold exactly, and linear facts blurred by noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model, Vector
from peerpressure.noises import Gaussian
from peerpressure.recovery.estimate import Estimate, estimate_from
from peerpressure.recovery.outputs import Outputs
from peerpressure.recovery.prior import Prior

# A direction of x₀ whose information is this much smaller, as a deviation, than that of the best is not identified.
_RANK_TOLERANCE = 1e-10
# An agent that takes part in an unidentified direction by more than this is not identified.
SHARE_TOLERANCE = 1e-6
# Exact facts that contradict one another by more than this, relative to their size, are no outputs of the model.
_CONTRADICTION = 1e-4


@final
@dataclass(frozen=True, eq=False)
class Belief:
    """A Gaussian belief about x₀, or about a linear image of it, that may be void in some directions.

    ``mean`` is (replicates, m), ``covariance`` (m, m), and ``loose`` (m, k) spans the k directions of which nothing is
    known.
    """

    mean: Vector
    covariance: Vector
    loose: Vector

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Whether each entry is identified, (m,)."""
        return np.asarray(np.linalg.norm(self.loose, axis=1) <= SHARE_TOLERANCE)

    @property
    def variance(self) -> Vector:
        """The variance of each entry, ∞ where it is not identified, (m,)."""
        return np.where(self.identified, self.covariance.diagonal(), np.inf)

    def part(self, entries: slice) -> Belief:
        """Return the belief about some of the entries, which keeps nothing of the others alive."""
        return Belief(self.mean[:, entries], self.covariance[entries, entries].copy(), self.loose[entries])

    def image(self, constant: Vector, matrix: Vector, covariance: Vector) -> Belief:
        """Return the belief about c + B x₀ + e with e ~ N(0, V): mean c + B x̂, covariance B P Bᵀ + V."""
        spread = matrix @ self.covariance @ matrix.T + covariance
        return Belief(constant + self.mean @ matrix.T, spread, matrix @ self.loose)


@final
@dataclass(frozen=True, eq=False)
class Solution:
    """A belief about x₀ with what the facts say of themselves.

    ``condition`` compares the variances of the worst and the best direction, ∞ if nothing is known of one; ``misfit``
    (replicates,) is the sum of squares left over, χ² with ``spare`` degrees of freedom if the noise is Gaussian.
    """

    belief: Belief
    condition: float
    misfit: Vector
    spare: int

    @property
    def consistency(self) -> Vector:
        """The two-sided p-value of the facts, (replicates,); 1 if they leave nothing to compare."""
        from scipy import special

        if not self.spare:
            return np.ones_like(self.misfit)
        below, above = special.chdtr(self.spare, self.misfit), special.chdtrc(self.spare, self.misfit)
        return np.asarray(2 * np.minimum(below, above))


@final
@dataclass(frozen=True, eq=False)
class Knowledge:
    """Facts E x₀ = f and A x₀ = b + e with e ~ N(0, I), as augmented rows [E | f] and [A | b].

    The columns after the first ``n`` hold the right-hand sides, one for each replicate. Keeping A rather than AᵀA
    keeps twice the digits, which is what tells an agent that is barely seen from one that is not seen at all.
    ``dropped`` (replicates,) and ``count`` are the sum of squares and the number of blurred facts compressed away.
    """

    n: int
    exact: Vector
    blurred: Vector
    dropped: Vector
    count: int = 0

    @classmethod
    def none(cls, n: int, replicates: int) -> Knowledge:
        """Return the state of knowing nothing."""
        empty = np.empty((0, n + replicates))
        return cls(n, empty, empty, np.zeros(replicates))

    def learn(self, exact: Vector, blurred: Vector) -> Knowledge:
        """Return this knowledge with more augmented rows of both kinds."""
        # Once compressed, rows that say the same become rounding errors, which must not be scaled up again.
        sharp, mismatch = self._compressed(np.concatenate([self.exact, _unit_rows(exact, self.n)]))
        _refuse_contradiction(np.sqrt(mismatch), sharp[:, self.n :])
        rows = np.concatenate([self.blurred, blurred])
        kept, left_over = self._compressed(rows)
        return Knowledge(self.n, sharp, kept, self.dropped + left_over, self.count + len(rows) - len(kept))

    def _compressed(self, rows: Vector) -> tuple[Vector, Vector]:
        """Return n rows that say the same as many, by an orthogonal turn, and the squares that it leaves behind."""
        if len(rows) <= 2 * self.n:
            return rows, np.zeros(rows.shape[1] - self.n)
        turn, triangle = np.linalg.qr(rows[:, : self.n])
        values = rows[:, self.n :]
        turned = turn.T @ values
        left_over = np.square(values - turn @ turned).sum(axis=0)
        return np.concatenate([triangle, turned], axis=1), left_over

    def solve(self) -> Solution:
        """Return min ‖A x₀ − b‖² subject to E x₀ = f, with its covariance Z(ZᵀAᵀAZ)⁺Zᵀ, Z the null space of E."""
        E, f = self.exact[:, : self.n], self.exact[:, self.n :]
        inverse, free, _ = _pseudo_inverse(E)
        fixed = inverse @ f
        _refuse_contradiction(E @ fixed - f, f)
        A, b = self.blurred[:, : self.n], self.blurred[:, self.n :]
        rest, unknown, values = _pseudo_inverse(A @ free)
        mean = fixed + free @ (rest @ (b - A @ fixed))
        spread = free @ rest
        misfit = self.dropped + np.square(A @ mean - b).sum(axis=0)
        belief = Belief(mean.T, spread @ spread.T, free @ unknown)
        condition = float((values[0] / values[-1]) ** 2) if values.size else 1.0
        condition = np.inf if unknown.size else condition
        return Solution(belief, condition, misfit, self.count + len(A) - values.size)


def _unit_rows(rows: Vector, n: int) -> Vector:
    """Return augmented rows with weights of length one, as exact facts have no other scale."""
    return np.asarray(rows / np.linalg.norm(rows[:, :n], axis=1, keepdims=True))


def _pseudo_inverse(matrix: Vector) -> tuple[Vector, Vector, Vector]:
    """Return the pseudo-inverse, an orthonormal basis of the null space, and the singular values that are not 0."""
    rows, columns = matrix.shape
    if not matrix.size:
        return np.zeros((columns, rows)), np.eye(columns), np.empty(0)
    left, values, right = np.linalg.svd(matrix, full_matrices=columns > rows)
    rank = int(np.count_nonzero(values > _RANK_TOLERANCE * values[0]))
    return (right[:rank].T / values[:rank]) @ left[:, :rank].T, right[rank:].T, values[:rank]


def _refuse_contradiction(residual: Vector, size: Vector) -> None:
    worst = float(np.abs(residual).max(initial=0.0))
    if worst > _CONTRADICTION * max(1.0, float(np.abs(size).max(initial=0.0))):
        rule = "outputs must follow the model where it leaves no room for noise"
        remedy = "check that model, start and outputs belong together, or say how outputs were rounded"
        raise InvalidInputError(complain(rule, got=f"a mismatch of {worst:.3g}", remedy=remedy))


def known_before(model: Model, data: Outputs, prior: Prior | None) -> Knowledge:
    """Return what is known of x₀ before any step: opinions shown at the start, and the prior."""
    n, replicates = model.n, data.known.shape[0]
    known = np.flatnonzero(~np.isnan(data.known[0]))
    exact = np.concatenate([np.eye(n)[known], data.known[:, known].T], axis=1)
    blurred = np.empty((0, n + replicates))
    if prior is not None:
        root = np.linalg.cholesky(prior.covariance(n))
        means = np.tile(prior.means(n)[:, None], replicates)
        blurred = np.linalg.solve(root, np.concatenate([np.eye(n), means], axis=1))
    return Knowledge.none(n, replicates).learn(exact, blurred)


def estimate_of(model: Model, data: Outputs, method: str, knowledge: Knowledge) -> Estimate:
    """Return what is known of x₀ as an estimate."""
    solution, free = knowledge.solve(), data.seen.free
    belief = solution.belief
    return estimate_from(
        model,
        data,
        method,
        belief.mean[:, free],
        belief.covariance[np.ix_(free, free)],
        identified=belief.identified[free],
        rank=free.size - belief.loose.shape[1],
        condition=solution.condition,
        # Other laws leave sums of squares that are not χ².
        consistency=solution.consistency if isinstance(model.noise, Gaussian) else None,
    )
