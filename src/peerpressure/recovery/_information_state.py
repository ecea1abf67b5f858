"""The information state: linear equations in x₀ that follow from outputs, exact ones and ones with unit noise.

No prior is needed: directions of x₀ that no equation determines stay undetermined, and the posterior lists them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model, Vector
from peerpressure.recovery._estimate import Estimate, estimate_from
from peerpressure.recovery._least_squares import is_identified
from peerpressure.recovery._limits import COARSE, CONTRADICTION, NEGLIGIBLE, ROUNDING_ALLOWANCE
from peerpressure.recovery._observation import Outputs
from peerpressure.recovery._prior import Prior


@final
@dataclass(frozen=True, eq=False)
class GaussianPosterior:
    """The posterior of x₀, or of a linear image of it: Gaussian, and improper in some directions.

    ``mean`` is (replicates, m), ``covariance`` (m, m), and ``null_space`` (m, k) spans the k directions that
    the outputs leave open.
    """

    mean: Vector
    covariance: Vector
    null_space: Vector

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Whether each entry is identified, (m,)."""
        return is_identified(self.null_space)

    @property
    def variance(self) -> Vector:
        """The variance of each entry, ∞ where it is not identified, (m,)."""
        return np.where(self.identified, self.covariance.diagonal(), np.inf)

    def part(self, entries: slice) -> GaussianPosterior:
        """Return the posterior of some of the entries, without a reference to the others."""
        return GaussianPosterior(
            self.mean[:, entries], self.covariance[entries, entries].copy(), self.null_space[entries]
        )

    def image(self, constant: Vector, matrix: Vector, covariance: Vector) -> GaussianPosterior:
        """Return the posterior of c + B x₀ + e with e ~ N(0, V): mean c + B x̂, covariance B P Bᵀ + V."""
        spread = matrix @ self.covariance @ matrix.T + covariance
        return GaussianPosterior(constant + self.mean @ matrix.T, spread, matrix @ self.null_space)


@final
@dataclass(frozen=True, eq=False)
class PosteriorFit:
    """The posterior of x₀, with how well it is determined and how well the facts fit.

    ``condition`` compares the variances of the worst and the best direction, ∞ if one is left open; ``misfit``
    (replicates,) is the residual sum of squares, χ² with ``spare`` degrees of freedom if the noise is Gaussian.
    """

    posterior: GaussianPosterior
    condition: float
    misfit: Vector
    spare: int


@final
@dataclass(frozen=True, eq=False)
class InformationState:
    """Facts E x₀ = f and A x₀ = b + e with e ~ N(0, I), as augmented rows [E | f] and [A | b].

    Rows of E have length one, and ``rounding`` (rows of E,) is how far each f may be off. The columns after the first
    ``n`` are the right-hand sides, one for each replicate. Keeping A rather than AᵀA keeps twice the digits, which is
    what distinguishes an agent that is barely observed from one that is not observed at all. ``dropped``
    (replicates,) and ``count`` are the sum of squares and the number of noisy facts compressed away.
    """

    n: int
    exact: Vector
    rounding: Vector
    noisy: Vector
    dropped: Vector
    count: int = 0

    @classmethod
    def empty(cls, n: int, replicates: int) -> InformationState:
        """Return the state before any fact."""
        empty = np.empty((0, n + replicates))
        return cls(n, empty, np.zeros(0), empty, np.zeros(replicates))

    def condition(self, exact: Vector, rounding: Vector, noisy: Vector) -> InformationState:
        """Return the state given more facts as augmented rows; ``rounding`` is the error of each exact f."""
        length = np.linalg.norm(exact[:, : self.n], axis=1)
        # Exact equations have no noise to set their scale; unit length makes their errors and residuals comparable.
        certain = np.concatenate([self.exact, exact / length[:, None]])
        errors = np.concatenate([self.rounding, rounding / length])
        # Compressing at 2n rows and not at every step makes the cost of orthogonalisation O(n²) per row on average.
        if len(certain) > 2 * self.n:
            chosen = _orthogonalised(certain, errors, self.n).rows
            certain, errors = certain[chosen], errors[chosen]
        rows = np.concatenate([self.noisy, noisy])
        kept, left_over = self._compressed(rows)
        return InformationState(
            self.n, certain, errors, kept, self.dropped + left_over, self.count + len(rows) - len(kept)
        )

    def _compressed(self, rows: Vector) -> tuple[Vector, Vector]:
        """Return n rows equivalent to many, by a QR factorisation, and the residual squares that it leaves."""
        # The same amortisation; QR acts on the rows themselves, so the condition number is not squared.
        if len(rows) <= 2 * self.n:
            return rows, np.zeros(rows.shape[1] - self.n)
        Q, triangle = np.linalg.qr(rows[:, : self.n])
        values = rows[:, self.n :]
        rotated = Q.T @ values
        # The part of b outside the range of A is the same for every x₀: it is dropped from the rows but belongs to the
        # χ².
        left_over = np.square(values - Q @ rotated).sum(axis=0)
        return np.concatenate([triangle, rotated], axis=1), left_over

    def solve(self) -> PosteriorFit:
        """Return min ‖A x₀ − b‖² subject to E x₀ = f, with its covariance Z(ZᵀAᵀAZ)⁺Zᵀ, Z the null space of E.

        Rounding errors δ of f move the estimate by M δ, which adds M Cov(δ) Mᵀ to the covariance.
        """
        known = _orthogonalised(self.exact, self.rounding, self.n)
        # Equations with a large rounding error are treated as measurements with that error, not as constraints.
        facts = np.concatenate([self.noisy, known.coarse])
        A, b = facts[:, : self.n], facts[:, self.n :]
        basis, free = known.basis, known.free
        # Null-space method: a particular solution of the constraints, then least squares in their null space. A large
        # weight on exact rows instead would lose as many digits as the weight has.
        fixed = basis.T @ known.values
        rest, unknown, values = _pseudo_inverse(A @ free)
        mean = fixed + free @ (rest @ (b - A @ fixed))
        spread = free @ rest
        # The constraints enter through the particular solution and through the right-hand side b − A·fixed.
        moved = (basis.T - spread @ (A @ basis.T)) @ known.errors
        misfit = self.dropped + np.square(A @ mean - b).sum(axis=0)
        posterior = GaussianPosterior(mean.T, spread @ spread.T + moved @ moved.T, free @ unknown)
        condition = max(float((values[0] / values[-1]) ** 2) if values.size else 1.0, known.condition)
        # `values` excludes the singular values of 0, so the ratio above ignores undetermined directions.
        condition = np.inf if unknown.size else condition
        return PosteriorFit(posterior, condition, misfit, self.count + len(A) - values.size)


@final
@dataclass(frozen=True, eq=False)
class Constraints:
    """Exact facts solved for: V x₀ = c with an orthonormal ``basis`` V (k, n) and ``values`` c (k, replicates).

    ``errors`` is a root of the covariance of the rounding errors in c, (k, k). ``free`` spans the null space of V.
    ``coarse`` are augmented rows of facts with a large rounding error, divided by it; ``rows`` are the positions of
    independent facts, and ``condition`` is the largest factor by which an error grew, squared.
    """

    basis: Vector
    values: Vector
    errors: Vector
    free: Vector
    coarse: Vector
    rows: list[int]
    condition: float


def _orthogonalised(exact: Vector, rounding: Vector, n: int) -> Constraints:
    """Solve the exact facts one by one, the most precise first, so that a coarse one spoils no precise one.

    Of each fact the part in the span of earlier ones is subtracted. What is left over, of length l < 1, has the error
    of both divided by l.
    """
    basis, values, errors = np.empty((0, n)), np.empty((0, exact.shape[1] - n)), np.empty((0, 0))
    coarse, rows, condition = [exact[:0]], list[int](), 1.0
    # Tolerances are relative to the opinions, but not below 1, since all values may be 0.
    size = max(1.0, float(np.abs(exact[:, n:]).max(initial=0.0)))
    # Stable, so that equations of equal error are used in the order of time and results do not depend on the sort.
    for row in np.argsort(rounding, kind="stable").tolist():
        weights, value = exact[row, :n], exact[row, n:]
        share = basis @ weights
        left = weights - basis.T @ share
        # Gram–Schmidt twice is enough: one pass loses orthogonality in proportion to 1/length, the second restores it
        # to machine precision.
        again = basis @ left
        share, left = share + again, left - basis.T @ again
        length = float(np.linalg.norm(left))
        # Rounding errors are independent between equations, so each one adds a column to the root of their covariance.
        part, error = value - share @ values, np.concatenate([-share @ errors, [rounding[row]]])
        total = float(np.linalg.norm(error))
        # Linearly dependent on earlier equations: nothing new about x₀, but a check that the outputs fit the model.
        if length <= NEGLIGIBLE:
            _check_consistent(part, size, total)
            continue
        rows.append(row)
        # Dividing by a small length amplifies the error; beyond this the equation would fix a direction wrongly.
        if total > COARSE * size * length:
            coarse.append(np.concatenate([left, part])[None] / total)
            continue
        condition = max(condition, 1 / length**2)
        basis = np.concatenate([basis, left[None] / length])
        values = np.concatenate([values, part[None] / length])
        errors = np.pad(errors, ((0, 1), (0, 1)))
        errors[-1] = error / length
    # The right singular vectors beyond the rank are an orthonormal basis of the null space.
    free = np.linalg.svd(basis)[2][len(basis) :].T if len(basis) else np.eye(n)
    return Constraints(basis, values, errors, free, np.concatenate(coarse), rows, condition)


def _pseudo_inverse(matrix: Vector) -> tuple[Vector, Vector, Vector]:
    """Return the pseudo-inverse, an orthonormal basis of the null space, and the singular values that are not 0."""
    rows, columns = matrix.shape
    if not matrix.size:
        return np.zeros((columns, rows)), np.eye(columns), np.empty(0)
    # The reduced V of a wide matrix lacks the null space. A tall matrix has a square V in either case, and the full U
    # would be rows × rows.
    left, values, right = np.linalg.svd(matrix, full_matrices=columns > rows)
    # Singular values of A, not eigenvalues of AᵀA: 1e-10 here corresponds to 1e-20 there, below double precision.
    rank = int(np.count_nonzero(values > NEGLIGIBLE * values[0]))
    return (right[:rank].T / values[:rank]) @ left[:, :rank].T, right[rank:].T, values[:rank]


def _check_consistent(residual: Vector, size: float, rounding: float) -> None:
    worst = float(np.abs(residual).max(initial=0.0))
    if worst > CONTRADICTION * size + ROUNDING_ALLOWANCE * rounding:
        rule = "outputs must follow the model where it leaves no room for noise"
        remedy = "check that model, start and outputs belong together, or say how outputs were rounded"
        raise InvalidInputError(message(rule, got=f"a mismatch of {worst:.3g}", remedy=remedy))


def prior_information(model: Model, data: Outputs, prior: Prior | None) -> InformationState:
    """Return the information state before any step: opinions observed at the start, and the prior."""
    n, replicates = model.n, data.known.shape[0]
    known = np.flatnonzero(~np.isnan(data.known[0]))
    exact = np.concatenate([np.eye(n)[known], data.known[:, known].T], axis=1)
    noisy = np.empty((0, n + replicates))
    if prior is not None:
        root = np.linalg.cholesky(prior.covariance(n))
        means = np.tile(prior.means(n)[:, None], replicates)
        # L⁻¹x₀ = L⁻¹m + e has unit noise, so a prior is n more noisy rows and needs no case of its own.
        noisy = np.linalg.solve(root, np.concatenate([np.eye(n), means], axis=1))
    return InformationState.empty(n, replicates).condition(exact, np.zeros(known.size), noisy)


def estimate_of(model: Model, data: Outputs, method: str, state: InformationState) -> Estimate:
    """Return the posterior of x₀ as an estimate."""
    solution, free = state.solve(), data.seen.free
    posterior = solution.posterior
    return estimate_from(
        model,
        data,
        method,
        posterior.mean[:, free],
        posterior.covariance[np.ix_(free, free)],
        identified=posterior.identified[free],
        rank=free.size - posterior.null_space.shape[1],
        condition=solution.condition,
    )
