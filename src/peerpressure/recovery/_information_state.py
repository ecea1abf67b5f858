"""The information state: linear equations in x₀ that follow from answers, exact ones and ones with unit noise.

No prior is needed: directions of x₀ that no equation determines stay undetermined, and the posterior lists them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from peerpressure.errors import ContradictionError, message
from peerpressure.model import Model
from peerpressure.model.statespace import System
from peerpressure.model.step import Array
from peerpressure.recovery._prior import Prior
from peerpressure.recovery.estimate import Estimate, estimate_from
from peerpressure.recovery.least_squares import is_identified, separate_noise
from peerpressure.recovery.limits import COARSE, CONTRADICTION, ILLEGIBLE, NEGLIGIBLE, ROUNDING_ALLOWANCE

if TYPE_CHECKING:
    from peerpressure.recovery.observation import Answers


@final
@dataclass(frozen=True, eq=False)
class GaussianPosterior:
    """The posterior of x₀, or of a linear image of it: Gaussian, and improper in some directions.

    ``mean`` is (replicates, m), the covariance R Rᵀ + V with ``root`` R (m, r) and ``noise`` V (m, m), and
    ``null_space`` (m, k) spans the k directions that the answers leave open; an entry with a negligible share in them
    counts as identified, with an error of that share of ``size``, the size of opinions. The root is what images are
    made from: where it has large entries that cancel, rounding errors leave too large a variance, not a negative one.
    """

    mean: Array
    root: Array
    noise: Array
    null_space: Array
    size: float = 1.0

    @property
    def covariance(self) -> Array:
        """The covariance, (m, m)."""
        root = self._whole_root
        return np.asarray(root @ root.T + self.noise)

    @property
    def _whole_root(self) -> Array:
        shares = np.where(self.identified[:, None], self.size * self.null_space, 0.0)
        return np.concatenate([self.root, shares], axis=1)

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Whether each entry is identified, (m,)."""
        return is_identified(self.null_space)

    @property
    def variance(self) -> Array:
        """The variance of each entry, ∞ where it is not identified, (m,)."""
        own = np.square(self._whole_root).sum(axis=1) + np.maximum(self.noise.diagonal(), 0.0)
        return np.where(self.identified, own, np.inf)

    def part(self, entries: slice) -> GaussianPosterior:
        """Return the posterior of some of the entries, without a reference to the others."""
        own, noise = self.root[entries].copy(), self.noise[entries, entries].copy()
        return GaussianPosterior(self.mean[:, entries], own, noise, self.null_space[entries], self.size)

    def given(self, entries: NDArray[np.int64], values: Array) -> GaussianPosterior:
        """Return the posterior where some entries are known, (entries, replicates), and determine no other ones."""
        mean, root, noise, null_space = (part.copy() for part in (self.mean, self.root, self.noise, self.null_space))
        mean[:, entries], root[entries], null_space[entries] = values.T, 0.0, 0.0
        noise[entries], noise[:, entries] = 0.0, 0.0
        return GaussianPosterior(mean, root, noise, null_space, self.size)

    def image(self, constant: Array, matrix: Array, noise: Array) -> GaussianPosterior:
        """Return the posterior of c + B x₀ + e with e ~ N(0, V): mean c + B x̂, covariance B P Bᵀ + V."""
        return GaussianPosterior(
            constant + self.mean @ matrix.T,
            matrix @ self.root,
            matrix @ self.noise @ matrix.T + noise,
            matrix @ self.null_space,
            self.size,
        )


@final
@dataclass(frozen=True, eq=False)
class PosteriorFit:
    """The posterior of x₀, and its condition: the variance of the worst direction over the best, ∞ if one is open."""

    posterior: GaussianPosterior
    condition: float


@final
@dataclass(frozen=True, eq=False)
class InformationState:
    """Facts E θ = f and A θ = b + e with e ~ N(0, I), as augmented rows [E | f] and [A | b].

    θ has ``n`` unknowns: x₀ and, if noise is frozen, ``frozen_draws`` more, the draws of that noise. These are
    constants like x₀ but have a normal law, with standard deviation ``unit``, the size of answers, which gives all
    unknowns one size. Rows of E have length one, and ``rounding`` (rows of E,) is how far each f may be off. The
    columns after the first ``n`` are the right-hand sides, one for each replicate. Keeping A rather than AᵀA keeps
    twice the digits, which is what distinguishes an agent that is barely observed from one that is not observed at all.
    ``size`` is the size of opinions, as far as answers show it.
    """

    n: int
    exact: Array
    rounding: Array
    noisy: Array
    unit: float
    size: float
    frozen_draws: int = 0

    @classmethod
    def empty(cls, n: int, replicates: int, unit: float, frozen_draws: int = 0) -> InformationState:
        """Return the state before any fact about n unknowns, the last of which are frozen draws."""
        empty = np.empty((0, n + replicates))
        return cls(n, empty, np.zeros(0), empty, unit, unit, frozen_draws)

    def condition(self, exact: Array, rounding: Array, noisy: Array) -> InformationState:
        """Return the state given more facts as augmented rows; ``rounding`` is the error of each exact f."""
        length = np.linalg.norm(exact[:, : self.n], axis=1)
        # Exact equations have no noise to set their scale; unit length makes their errors and residuals comparable.
        certain = np.concatenate([self.exact, exact / length[:, None]])
        errors = np.concatenate([self.rounding, rounding / length])
        # Compressing at 2n rows and not at every step makes the cost of orthogonalisation O(n²) per row on average.
        if len(certain) > 2 * self.n:
            chosen = _orthogonalised(certain, errors, self.n, self.size).rows
            certain, errors = certain[chosen], errors[chosen]
        kept = self._compressed(np.concatenate([self.noisy, noisy]))
        size = max(self.size, float(np.abs(certain[:, self.n :]).max(initial=0.0)))
        return InformationState(self.n, certain, errors, kept, self.unit, size, self.frozen_draws)

    def _compressed(self, rows: Array) -> Array:
        """Return n rows equivalent to many, by a QR factorisation."""
        # The same amortisation; QR acts on the rows themselves, so the condition number is not squared.
        if len(rows) <= 2 * self.n:
            return rows
        Q, triangle = np.linalg.qr(rows[:, : self.n])
        # The part of b outside the range of A is the same for every x₀.
        return np.concatenate([triangle, Q.T @ rows[:, self.n :]], axis=1)

    def about_hidden(self) -> tuple[Array, Array]:
        """Return what the facts say about x₀ alone: exact rows (·, agents) and rows with unit noise (·, agents)."""
        hidden = self.n - self.frozen_draws
        if not self.frozen_draws:
            return self.exact[:, :hidden], self.noisy[:, :hidden]
        rows = np.concatenate([self.exact, self.noisy])
        # A mask is noise of variance unit²; noisy facts have another such noise of their own.
        own = np.eye(len(rows))[:, len(self.exact) :]
        exact, _, noisy = separate_noise(
            rows[:, :hidden], np.concatenate([rows[:, hidden : self.n], own], axis=1), hidden
        )
        return exact, noisy

    def solve(self) -> PosteriorFit:
        """Return min ‖A θ − b‖² subject to E θ = f, with its covariance Z(ZᵀAᵀAZ)⁺Zᵀ, Z the null space of E.

        Rounding errors δ of f move the estimate by M δ, which adds M Cov(δ) Mᵀ to the covariance.
        """
        known = _orthogonalised(self.exact, self.rounding, self.n, self.size)
        # Equations with a large rounding error are treated as measurements with that error, not as constraints.
        drawn = np.eye(self.n, self.noisy.shape[1])[self.n - self.frozen_draws :] / self.unit
        facts = np.concatenate([self.noisy, known.coarse, drawn])
        A, b = facts[:, : self.n], facts[:, self.n :]
        basis, free = known.basis, known.free
        # Null-space method: a particular solution of the constraints, then least squares in their null space. A large
        # weight on exact rows instead would lose as many digits as the weight has.
        fixed = basis.T @ known.values
        rest, unknown, values = _pseudo_inverse(A @ free, known.tolerance, float(np.linalg.norm(A)))
        mean = fixed + free @ (rest @ (b - A @ fixed))
        spread = free @ rest
        # The constraints enter through the particular solution and through the right-hand side b − A·fixed.
        moved = (basis.T - spread @ (A @ basis.T)) @ known.errors
        root = np.concatenate([spread, moved], axis=1)
        posterior = GaussianPosterior(mean.T, root, np.zeros((self.n, self.n)), free @ unknown, self.size)
        hidden = spread[: self.n - self.frozen_draws]
        sizes = 1 / values if not self.frozen_draws else _singular_values(hidden)
        # Exact facts are as good as they are independent of one another.
        independence = _singular_values(self.exact[known.rows, : self.n])
        condition = np.inf if unknown.size else max(_squared_ratio(sizes), _squared_ratio(independence))
        return PosteriorFit(posterior, condition)


def _singular_values(matrix: Array) -> Array:
    return np.asarray(np.linalg.svd(matrix, compute_uv=False), dtype=np.float64)


def _squared_ratio(values: Array) -> float:
    """Return the squared ratio of the largest and the least of the values that are not 0."""
    positive = values[values > NEGLIGIBLE * values.max(initial=0.0)]
    return float((positive.max() / positive.min()) ** 2) if positive.size else 1.0


@final
@dataclass(frozen=True, eq=False)
class Constraints:
    """Exact facts solved for: V θ = c with an orthonormal ``basis`` V (k, n) and ``values`` c (k, replicates).

    ``errors`` is a root of the covariance of the rounding errors in c, (k, k). ``free`` spans the null space of V.
    ``coarse`` are augmented rows of facts with a large rounding error, divided by it; ``rows`` are the positions of
    the facts that were used, and ``tolerance`` is by how much the null space may be off.
    """

    basis: Array
    values: Array
    errors: Array
    free: Array
    coarse: Array
    rows: list[int]
    tolerance: float


def _orthogonalised(exact: Array, rounding: Array, n: int, size: float) -> Constraints:
    """Solve the exact facts, each time the one that says most beyond the earlier ones, compared with its error.

    The part of every other fact in that direction is subtracted. What is left over, of length l < 1, has the error of
    both divided by l: where that reaches the size of the opinions themselves, the facts determine nothing more.
    """
    left, part, rest = exact[:, :n].copy(), exact[:, n:].copy(), np.arange(len(exact))
    # Errors of the facts used so far in what is left of each fact; its own is independent of them.
    inherited = np.zeros((len(exact), 0))
    basis, values, rows = np.empty((0, n)), part[:0], list[int]()
    while rest.size and len(basis) < n:
        length = np.linalg.norm(left[rest], axis=1)
        total = np.hypot(rounding[rest], np.linalg.norm(inherited[rest], axis=1))
        useful = length > np.maximum(NEGLIGIBLE, total / (ILLEGIBLE * size))
        if not useful.any():
            break
        # Facts without any error come first, the longest of them, and in the order of time where they are alike.
        ratio = np.divide(length, np.maximum(total, NEGLIGIBLE**2 * length), out=np.zeros_like(length), where=useful)
        best = int(np.argmax(ratio))
        row, rest = int(rest[best]), np.concatenate([rest[:best], rest[best + 1 :]])
        direction = left[row] / length[best]
        # Gram–Schmidt twice is enough: one pass loses orthogonality in proportion to 1/length, the second restores it
        # to machine precision.
        direction -= basis.T @ (basis @ direction)
        direction /= np.linalg.norm(direction)
        value, error = part[row] / length[best], np.append(inherited[row], rounding[row]) / length[best]
        share = left[rest] @ direction
        left[rest] -= share[:, None] * direction
        part[rest] -= share[:, None] * value
        inherited = np.concatenate([inherited, np.zeros((len(exact), 1))], axis=1)
        inherited[rest] -= share[:, None] * error
        inherited[row] = error
        basis, values, rows = (
            np.concatenate([basis, direction[None]]),
            np.concatenate([values, value[None]]),
            [*rows, row],
        )
    # What is left of the others must fit: nothing new about θ, but a check that the answers are those of the model.
    total = np.hypot(rounding[rest], np.linalg.norm(inherited[rest], axis=1))
    _check_consistent(part[rest], size, total)
    error = np.linalg.norm(inherited[rows], axis=1)
    # A direction with a large error is not fixed but measured, with noise of that size.
    sharp = error <= COARSE * size
    coarse = np.concatenate([basis, values], axis=1)[~sharp] / error[~sharp, None]
    # The right singular vectors beyond the rank are an orthonormal basis of the null space.
    free = np.linalg.svd(basis[sharp])[2][int(sharp.sum()) :].T if sharp.any() else np.eye(n)
    tolerance = max(NEGLIGIBLE, float(error[sharp].max(initial=0.0)) / size)
    return Constraints(basis[sharp], values[sharp], inherited[rows][sharp], free, coarse, rows, tolerance)


def _pseudo_inverse(matrix: Array, tolerance: float, size: float) -> tuple[Array, Array, Array]:
    """Return the pseudo-inverse, an orthonormal basis of the null space, and the singular values that are not 0.

    Those up to ``tolerance``, as a share of the largest, count as 0, and so do rounding errors of a product whose
    factors are of a ``size``.
    """
    rows, columns = matrix.shape
    if not matrix.size:
        return np.zeros((columns, rows)), np.eye(columns), np.empty(0)
    # The reduced V of a wide matrix lacks the null space. A tall matrix has a square V in either case, and the full U
    # would be rows × rows.
    left, values, right = np.linalg.svd(matrix, full_matrices=columns > rows)
    # Singular values of A, not eigenvalues of AᵀA: 1e-10 here corresponds to 1e-20 there, below double precision.
    least = max(tolerance * values[0], 8 * columns * np.finfo(np.float64).eps * size)
    rank = int(np.count_nonzero(values > least))
    return (right[:rank].T / values[:rank]) @ left[:, :rank].T, right[rank:].T, values[:rank]


def _check_consistent(residual: Array, size: float, rounding: Array) -> None:
    excess = np.abs(residual).max(axis=1, initial=0.0) - ROUNDING_ALLOWANCE * rounding
    if excess.max(initial=0.0) > CONTRADICTION * size:
        rule = "answers must follow the model where it leaves no room for noise"
        remedy = "check that model, start and answers belong together, or declare the rounding of answers"
        got = f"a mismatch of {np.abs(residual[excess.argmax()]).max():.3g}"
        raise ContradictionError(message(rule, got=got, remedy=remedy), argument="rounding")


def frozen_draw_count(system: System) -> int:
    """Return the number of frozen draws of the noise, which are unknown constants."""
    return system.n if system.model.noise.is_frozen and system.layout.has_memory else 0


def prior_information(model: Model, data: Answers, prior: Prior | None, frozen_draws: int = 0) -> InformationState:
    """Return the information state before any step: opinions observed at the start, and the prior."""
    n, replicates = model.n, data.known.shape[0]
    known = np.flatnonzero(~np.isnan(data.known[0]))
    nothing = np.zeros((n, frozen_draws))
    exact = np.concatenate([np.eye(n), nothing, data.known.T], axis=1)[known]
    noisy = np.empty((0, n + frozen_draws + replicates))
    if prior is not None:
        prior = prior.in_order(model.network.labels)
        root = np.linalg.cholesky(prior.covariance(n))
        means = np.tile(prior.means(n)[:, None], replicates)
        # L⁻¹x₀ = L⁻¹m + e has unit noise, so a prior is n more noisy rows and needs no case of its own.
        noisy = np.linalg.solve(root, np.concatenate([np.eye(n), nothing, means], axis=1))
    nothing_yet = InformationState.empty(n + frozen_draws, replicates, size_of(data), frozen_draws)
    return nothing_yet.condition(exact, np.zeros(known.size), noisy)


def size_of(data: Answers) -> float:
    """Return the size of the answers, 1 where all of them are 0."""
    return float(np.nanmax(np.abs(data.values), initial=0.0)) or 1.0


def estimate_of(model: Model, data: Answers, method: str, state: InformationState) -> Estimate:
    """Return the posterior of x₀ as an estimate."""
    solution, free = state.solve(), data.seen.free
    posterior = solution.posterior.part(slice(0, model.n))
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


# Rows A x₀ = b + e in several unknowns, each of which is predicted from those before it.


@final
@dataclass(frozen=True, eq=False)
class RecursiveRows:
    """Rows R x₀ = z + e with unit noise, taken in so far.

    R determines the span of ``known`` (f, r) and leaves that of ``open`` (f, f − r) undetermined; R · known is square
    and invertible. Like an information state, but it predicts the rows that come next.
    """

    matrix: Array
    values: Array
    known: Array
    open: Array

    @classmethod
    def of(cls, matrix: Array, replicates: int) -> RecursiveRows:
        """Return rows with values of 0."""
        return _spanned(matrix, np.zeros((len(matrix), replicates)))

    def residuals(self, A: Array, b: Array) -> Array:
        """Return the residuals of new rows, (m, replicates), one after another; NaN where a row determines x₀ anew."""
        out = np.full(b.shape, np.nan)
        M, predicted = _contrasts(A @ self.open, np.linalg.norm(A, axis=1))
        if M.size:
            # A x̂ = C z with C = A V (R V)⁻¹, and the covariance of M (b − A x̂) is M (I + C Cᵀ) Mᵀ.
            C = np.linalg.solve((self.matrix @ self.known).T, (A @ self.known).T).T
            root = np.asarray(np.linalg.qr(np.concatenate([M, M @ C], axis=1).T, mode="r")).T
            root = root * np.where(root.diagonal() < 0, -1.0, 1.0)
            out[predicted] = linalg.solve_triangular(root, M @ (b - C @ self.values), lower=True)
        return out

    def condition(self, A: Array, b: Array) -> RecursiveRows:
        """Return the rows with new ones taken in."""
        Q, R = np.linalg.qr(np.concatenate([self.matrix, A]))
        z = Q.T @ np.concatenate([self.values, b])
        if not self.open.size:
            return RecursiveRows(R, z, self.known, self.open)
        return _spanned(R, z)


def _spanned(matrix: Array, values: Array) -> RecursiveRows:
    """Return rows compressed to as many as they have rank."""
    f = matrix.shape[1]
    if not matrix.size:
        return RecursiveRows(np.zeros((0, f)), values[:0], np.zeros((f, 0)), np.eye(f))
    left, size, right = np.linalg.svd(matrix)
    rank = int((size > NEGLIGIBLE * size[0]).sum())
    if rank == f:
        return RecursiveRows(matrix, values, np.eye(f), np.zeros((f, 0)))
    rows = size[:rank, None] * right[:rank]
    return RecursiveRows(rows, left[:, :rank].T @ values, right[:rank].T, right[rank:].T)


def _contrasts(D: Array, size: Array) -> tuple[Array, list[int]]:
    """Return M with M D = 0 and a row for each row of D that those before it span, and which rows these are."""
    m, f = D.shape
    M, spanned, chosen = np.eye(m), list[int](), list[int]()
    basis, triangle = np.zeros((0, f)), np.zeros((0, 0))
    for i, d in enumerate(D):
        share = basis @ d
        left = d - basis.T @ share
        again = basis @ left
        share, left = share + again, left - basis.T @ again
        length = float(np.linalg.norm(left))
        if length > NEGLIGIBLE * size[i]:
            chosen.append(i)
            basis = np.concatenate([basis, left[None] / length])
            triangle = np.pad(triangle, ((0, 1), (0, 1)))
            triangle[-1] = [*share, length]
            continue
        spanned.append(i)
        if chosen:
            M[i, chosen] = -linalg.solve_triangular(triangle.T, share)
    return M[spanned], spanned
