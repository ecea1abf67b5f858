"""The least-squares kernel: whitening, rank-revealing solutions with exact constraints, conjugate gradients, threads.

All tolerances are those of ``limits``. Small systems are solved through symmetric eigenvalues (normal equations) or a
pivoted QR factorisation (rows with correlated, possibly singular noise); large ones by conjugate gradients, with
covariances as operators. The noise of an agent is ε_t = std · scale_t · u_t with u_t = φ u_{t−1} + √(1−φ²) w_t.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from peerpressure.errors import PeerPressureError, TooLargeError, contrast, message
from peerpressure.model.step import Array
from peerpressure.noise import Noise
from peerpressure.recovery import limits
from peerpressure.recovery._prior import Prior
from peerpressure.recovery.limits import (
    CG_ITERATIONS,
    CG_TOLERANCE,
    COVARIANCE_TOLERANCE,
    EIGENVALUE_TOLERANCE,
    EXACT_RANK_TOLERANCE,
    NEGLIGIBLE,
    NOISE_TOLERANCE,
    NULL_TOLERANCE,
    SHARE_TOLERANCE,
    WRONG_DIGITS,
)
from peerpressure.support.progress import check_cancelled

# Whitening, and the best average of an agent's own series r_t = π_t x₀ + ε_t. The share π_t of x₀ in the series is 1
# if hidden opinions are constant, and falls if they adapt.

Times: TypeAlias = NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class Whitening:
    """The map from noise of unit std at increasing times, gaps allowed, to independent draws of unit variance.

    With v_t = ε_t/scale_t, the draws are v_1 and (v_t − link_t v_{t−1})/√(1 − link_t²), where link_t is φ to the power
    of the time since the last step. ``link`` and ``scale`` are (T,); link_1 = 0.
    """

    link: Array
    scale: Array

    @classmethod
    def of(cls, noise: Noise, times: Times) -> Whitening:
        """Return the whitening of this noise at these times."""
        link = np.zeros(times.size)
        # An AR(1) process sampled with gaps is AR(1) again with correlation φ^gap, so missing steps need no imputation.
        link[1:] = noise.autocorrelation ** np.diff(times)
        return cls(link, noise.scale(times))

    def apply(self, series: Array) -> Array:
        """Return the whitened series, (T, m); ∞ where it changes and noise does not, or has no size."""
        v = divide(series, self.scale[:, None])
        # Differences of infinities would be NaN, which hides that the series contradicts the noise.
        if not np.isfinite(v).all():
            return v
        out = v.copy()
        # The first entry has unit variance as it stands, since the process is stationary.
        out[1:] = divide(v[1:] - self.link[1:, None] * v[:-1], innovation_std(self.link[1:, None]))
        return out

    def adjoint(self, draws: Array) -> Array:
        """Return the transposed map of draws, (T, m), where it is finite."""
        # The whitening matrix is lower bidiagonal, so its transpose couples each step to the next one.
        pushed = draws / innovation_std(self.link)[:, None]
        out = pushed.copy()
        out[:-1] -= self.link[1:, None] * pushed[1:]
        return np.asarray(out / self.scale[:, None])


def whiten_pair(now: Any, before: Any, link: Any) -> Any:
    """Return (v_t − link v_{t−1})/√(1 − link²), for numbers, arrays or sparse matrices."""
    return (now - link * before) * (1 / innovation_std(link))


def innovation_std(phi: Any) -> Any:
    """Return √(1−φ²), the standard deviation of what is new in u_t."""
    # The product loses no digits near |φ| = 1, where 1 − φ² cancels.
    return np.sqrt((1 - phi) * (1 + phi))


def divide(move: Array | float, std: Array | float) -> Array:
    """Return move/std; a move without noise to hide it counts as ∞, and no move as 0."""
    m, d = np.broadcast_arrays(np.asarray(move, dtype=np.float64), np.asarray(std, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        # 0/0 is 0: an agent without noise and without a change is consistent with the model.
        return np.where(m == 0, 0.0, m / d)


@final
@dataclass(frozen=True, eq=False)
class TimeWeights:
    """The best linear unbiased average Σ w_t r_t of an agent with unit std, variance 1/information.

    ``times`` (T,) are the steps that it is taken over; w = K⁻¹π/(πᵀK⁻¹π) and information = πᵀK⁻¹π with K the covariance
    of the noise over time, infinite where some combination of the r_t is free of noise. ``weights`` and ``pi`` are
    (T, agents) and ``information`` (agents,), or have one column for all agents alike.
    """

    times: Times
    weights: Array
    information: Array
    pi: Array
    whitening: Whitening

    @property
    def legible(self) -> NDArray[np.bool_]:
        """Agents whose x₀ could be read off if there were no noise, (agents,)."""
        return np.asarray(self.pi.max(axis=0, initial=0.0) >= NEGLIGIBLE)


def time_weights(noise: Noise, times: Times, pi: Array | None = None) -> TimeWeights:
    """Return the weights for increasing times, (T,), gaps allowed; without ``pi`` (T, ·) opinions are constant."""
    pi = np.ones((times.size, 1)) if pi is None else pi
    whitening = Whitening.of(noise, times)
    # Steps without noise and frozen noise have a singular covariance K, so K⁻¹ does not exist and the weights are
    # limits.
    if (whitening.scale == 0).any():
        weights, information = _noiseless(noise, times, whitening.scale, pi)
    elif noise.is_frozen:
        weights, information = _frozen(whitening.scale, pi)
    else:
        regressor = whitening.apply(pi)
        information = np.einsum("ij,ij->j", regressor, regressor)
        # With whitening W, K⁻¹ = WᵀW: the weights take O(T) operations and no T × T matrix.
        weights = whitening.adjoint(regressor) / np.where(information > 0, information, 1.0)
    return TimeWeights(times, weights, information, pi, whitening)


def _noiseless(noise: Noise, times: Times, scale: Array, pi: Array) -> tuple[Array, Array]:
    """Return weights and information where steps without noise reveal x₀, as far as it still has a share in them."""
    noisy = scale > 0
    # Among noiseless steps any weights are exact; weights in proportion to π minimise the effect of rounding errors.
    revealing = np.where(noisy[:, None] | (pi < NEGLIGIBLE), 0.0, pi)
    size = np.einsum("ij,ij->j", revealing, revealing)
    # The remaining steps have no scale of 0, so the recursion ends after one level.
    rest = time_weights(noise, times[noisy], pi[noisy])
    others = np.zeros_like(pi)
    others[noisy] = rest.weights
    known = size > 0
    return np.where(known, revealing / np.where(known, size, 1.0), others), np.where(known, np.inf, rest.information)


def _frozen(scale: Array, pi: Array) -> tuple[Array, Array]:
    """Return weights and information for frozen noise, r_t = π_t x₀ + scale_t u."""
    if not scale.size:
        return pi, np.zeros(pi.shape[1])
    # Divided by its scale, the noise of every step is the same draw u, and only the weight of x₀ differs.
    ratio = pi / scale[:, None]
    # The two steps with the most different weights give the least amplification of rounding errors.
    low, high, each = np.argmin(ratio, axis=0), np.argmax(ratio, axis=0), np.arange(pi.shape[1])
    smallest, largest = ratio[low, each], ratio[high, each]
    # With equal weights all steps repeat one measurement with noise u, and its information is that of a single step.
    alike = largest - smallest <= NEGLIGIBLE * largest
    mean = np.divide(1 / scale.size, pi, out=np.zeros_like(pi), where=alike & (pi > 0))
    # Two different sizes of the same draw, beside the same opinion, cancel it.
    cancelling = np.zeros_like(pi)
    cancelling[high, each] = 1 / scale[high]
    # Subtracted in place, because low and high coincide where all ratios are equal.
    cancelling[low, each] -= 1 / scale[low]
    cancelling /= np.where(alike, 1.0, largest - smallest)
    return np.where(alike, mean, cancelling), np.where(alike, largest**2, np.inf)


# Random probes of a stochastic diagonal; 64 give an error of about √(2/64), 18 %, of the off-diagonal mass of a row.
# They are multiplied in blocks of 8: several columns share each pass over the matrix, and memory stays at 8 n. Unit
# vectors come in larger blocks, for there may be one for each agent.
PROBES, PROBE_BLOCK, UNIT_BLOCK = 64, 8, 256
# Random vectors of a null space, whose dimension is known if it is smaller than their number.
NULL_PROBES = 4


@final
@dataclass(frozen=True, eq=False)
class SymmetricOperator:
    """A symmetric n × n matrix given by its action on columns, (n, b) → (n, b), with a stochastic diagonal.

    Products are exact. ``diagonal`` is the mean of z ∘ Mz over ``PROBES`` random sign vectors z, always the same ones
    (Hutchinson's estimator): entry i is off by about √(2 Σ_{j≠i} M_ij²/PROBES), little where the matrix is nearly
    diagonal. ``diagonal_at`` is exact, and so is the whole diagonal where its ``entries`` are given. ``quadratic``
    returns cᵀMc of each column, (n, b) → (b,), where there is a shorter way to it than the product.
    """

    n: int
    apply: Callable[[Array], Array]
    entries: Array | None = None
    quadratic: Callable[[Array], Array] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return (self.n, self.n)

    def __matmul__(self, other: Array) -> Array:
        columns = np.asarray(other, dtype=np.float64)
        return self.apply(columns[:, None])[:, 0] if columns.ndim == 1 else self.apply(columns)

    def scaled(self, share: Array) -> SymmetricOperator:
        """Return diag(share) · M · diag(share) for shares (n,)."""
        s, form = share[:, None], self.quadratic
        return SymmetricOperator(
            self.n,
            lambda columns: s * self.apply(s * columns),
            None if self.entries is None else share**2 * self.entries,
            None if form is None else lambda columns: form(s * columns),
        )

    def embedded(self, at: NDArray[np.int64], n: int) -> SymmetricOperator:
        """Return the n × n operator that is this one on the rows and columns ``at``, and 0 elsewhere."""

        def apply(columns: Array) -> Array:
            out = np.zeros((n, columns.shape[1]))
            out[at] = self.apply(columns[at])
            return out

        entries = None
        if self.entries is not None:
            entries = np.zeros(n)
            entries[at] = self.entries
        form = self.quadratic
        return SymmetricOperator(n, apply, entries, None if form is None else lambda columns: form(columns[at]))

    def diagonal_at(self, positions: NDArray[np.int64]) -> Array:
        """Return exact entries of the diagonal, (positions,)."""
        if self.entries is not None:
            return np.asarray(self.entries[positions])
        entries = np.empty(positions.size)
        for begin in range(0, positions.size, UNIT_BLOCK):
            block = positions[begin : begin + UNIT_BLOCK]
            units = np.zeros((self.n, block.size))
            units[block, np.arange(block.size)] = 1.0
            entries[begin : begin + block.size] = (
                np.einsum("ij,ij->j", units, self.apply(units)) if self.quadratic is None else self.quadratic(units)
            )
        return entries

    def diagonal(self) -> Array:
        """Return the diagonal, (n,), estimated unless it was given."""
        if self.entries is not None:
            return self.entries
        # A fixed seed makes the diagonal a property of the matrix: printing an estimate twice gives the same numbers.
        random = np.random.default_rng(0)
        total = np.zeros(self.n)
        for _ in range(PROBES // PROBE_BLOCK):
            # Random signs have the least variance of all probes with independent entries: the diagonal itself adds
            # none.
            signs = random.choice([-1.0, 1.0], size=(self.n, PROBE_BLOCK))
            total += np.einsum("ij,ij->i", signs, self.apply(signs))
        return total / PROBES


@final
@dataclass(frozen=True, eq=False)
class Identification:
    """Which of f unknowns a large system determines, (f,), and how many directions, at least where ``is_bound``."""

    identified: NDArray[np.bool_]
    rank: int
    is_bound: bool = False

    @property
    def note(self) -> str:
        """What the rank is, where it is not exact."""
        return "rank is a lower bound" if self.is_bound else ""

    def restrict(self, operator: SymmetricOperator) -> SymmetricOperator:
        """Return the operator on what is identified, 0 on the rest: only there does an inverse exist."""
        return operator if self.identified.all() else operator.scaled(self.identified.astype(np.float64))


def identify(
    apply: Callable[[Array], Array], solve: Callable[[Array], Array], diagonal: Array, *, evident: bool
) -> Identification:
    """Return what a positive semidefinite matrix (f, f) determines, by products and solutions of consistent systems.

    For random z, the solution x of H x = H z differs from z by a random vector of the null space: an agent takes part
    in it, with probability 1, if and only if it is not identified. ``evident`` says that all are.
    """
    f = diagonal.size
    if evident:
        return Identification(np.ones(f, dtype=bool), f)
    scale = np.sqrt(diagonal)[:, None]
    # A fixed seed: whether an agent is identified must not change from call to call.
    z = np.random.default_rng(0).standard_normal((f, NULL_PROBES)) / scale
    left = scale * (z - solve(apply(z)))
    identified = np.linalg.norm(left, axis=1) < NULL_TOLERANCE
    # As many random vectors of the null space as it has dimensions span it, and one more is their combination.
    nullity = int((np.linalg.svd(left[~identified], compute_uv=False) > NULL_TOLERANCE * np.sqrt(f)).sum())
    complete = nullity < NULL_PROBES
    return Identification(identified, f - nullity if complete else int(identified.sum()), is_bound=not complete)


@final
@dataclass(frozen=True, eq=False)
class Solution:
    """The solution of J x = rhs: x = fixed + G (rhs − J fixed), with G the inverse of J as far as it has one.

    ``fixed`` (replicates, f) satisfies the exact constraints; ``inverse`` is G, (f, f); ``null_space`` (f, r) spans
    what neither J nor the constraints determine, and ``constrained`` (f, f) projects on what the constraints do.
    """

    fixed: Array
    constrained: Array
    inverse: Array
    null_space: Array
    condition: float

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Which unknowns are determined, (f,)."""
        return is_identified(self.null_space)

    @property
    def rank(self) -> int:
        """How many directions are determined."""
        return int(self.null_space.shape[0] - self.null_space.shape[1])

    def value(self, J: Array, rhs: Array) -> Array:
        """Return x, (replicates, f), for right-hand sides (replicates, f)."""
        # J is symmetric, so fixed @ J is (J fixedᵀ)ᵀ; replicates are rows throughout.
        return np.asarray(self.fixed + (rhs - self.fixed @ J) @ self.inverse)


class Solved(NamedTuple):
    """What equations say of f unknowns: ``value`` (replicates, f), its covariance, and what they determine."""

    value: Array
    covariance: Any
    identified: NDArray[np.bool_]
    rank: int
    condition: float
    note: str = ""


@final
@dataclass(frozen=True, eq=False)
class Equations:
    """Normal equations J x = r of f unknowns with exact ones E x = c beside them: dense for few unknowns, else not.

    ``apply`` returns J times columns, (f, b), ``matrix`` is J itself where it is known, and ``diagonal`` (f,) its
    diagonal; ``right`` is r, (f, replicates). ``rows`` are E (m, f) and ``values`` c (replicates, m), of which only
    dense equations have any. ``uncancelled`` (f,) is the diagonal of J before information was subtracted from it, to
    which rounding errors in J are relative. ``evident`` says that J determines all unknowns; False is no answer.
    """

    apply: Callable[[Array], Array]
    diagonal: Array
    right: Array
    rows: Array | None = None
    values: Array | None = None
    matrix: Array | None = None
    uncancelled: Array | None = None
    evident: bool = False

    @property
    def is_dense(self) -> bool:
        """Whether a full covariance of the unknowns is formed."""
        return self.diagonal.size <= limits.DENSE_LIMIT

    @cached_property
    def J(self) -> Array:
        """The matrix."""
        return self.apply(np.eye(self.diagonal.size)) if self.matrix is None else self.matrix

    def with_prior(self, known: Array, prior: Prior | None) -> Equations:
        """Return the equations of the unknown opinions, those that are NaN in ``known``, with a prior of all."""
        if prior is None:
            return self
        means, rest = prior.given(known)
        f, apply, uncancelled = self.diagonal.size, self.apply, self.uncancelled
        if not self.is_dense and not rest.is_diagonal:
            rule = f"a correlated prior is supported for at most {limits.DENSE_LIMIT:,} agents"
            raise TooLargeError(message(rule, got=f"{f:,}", remedy="use a prior of variances"))
        added = 1 / rest.variances(f) if rest.is_diagonal else np.linalg.inv(rest.variance)
        columns, own = (added[:, None], added) if rest.is_diagonal else (added, added.diagonal())

        def with_prior(x: Array) -> Array:
            return apply(x) + (columns * x if rest.is_diagonal else columns @ x)

        return replace(
            self,
            apply=with_prior,
            diagonal=self.diagonal + own,
            right=self.right + (columns * means.T if rest.is_diagonal else columns @ means.T),
            matrix=None if self.matrix is None else self.matrix + (np.diag(own) if rest.is_diagonal else added),
            uncancelled=None if uncancelled is None else uncancelled + own,
            evident=True,
        )

    def among(self, free: NDArray[np.int64], known: Array) -> Equations:
        """Return the equations of some unknowns, given the others in ``known`` (replicates, f), NaN where unknown."""
        f, apply = self.diagonal.size, self.apply
        if free.size == f:
            return self
        others = np.setdiff1d(np.arange(f), free)
        given = np.nan_to_num(known)

        def part(columns: Array) -> Array:
            every = np.zeros((f, columns.shape[1]))
            every[free] = columns
            return apply(every)[free]

        rows, values = self.rows, self.values
        if rows is not None and values is not None:
            rows, values = rows[:, free], values - given[:, others] @ rows[:, others].T
        right = (self.right - apply(given.T))[free]
        return Equations(part, self.diagonal[free], right, rows, values, evident=self.evident)

    def solved(self) -> Solved:
        """Return the solution, with a covariance that is an operator where there are too many unknowns for a matrix."""
        return self._dense() if self.is_dense else self._iterated()

    def _dense(self) -> Solved:
        scale = None if self.uncancelled is None else np.sqrt(np.where(self.uncancelled > 0, self.uncancelled, 1.0))
        found = solve(self.J, self.rows, self.values, scale)
        value = found.value(self.J, self.right.T)
        return Solved(value, found.inverse, found.identified, found.rank, found.condition)

    def _iterated(self) -> Solved:
        # A diagonal of nothing but rounding errors is that of an unknown without information: it is not inverted.
        uncancelled = self.diagonal if self.uncancelled is None else self.uncancelled
        informed = (self.diagonal > NEGLIGIBLE * uncancelled)[:, None]
        # Jacobi's preconditioner; 1 avoids a division by 0.
        scale, whole = np.where(informed[:, 0], self.diagonal, 1.0), bool(informed.all())

        def apply(columns: Array) -> Array:
            return self.apply(columns) if whole else np.where(informed, self.apply(informed * columns), 0.0)

        def invert(columns: Array) -> Array:
            return conjugate_gradients(apply, columns if whole else informed * columns, scale)[0]

        value, condition = conjugate_gradients(apply, self.right if whole else informed * self.right, scale)
        known = identify(apply, invert, scale, evident=self.evident)
        # Each product is a solution. The covariance itself would be a dense matrix.
        covariance = known.restrict(SymmetricOperator(scale.size, invert))
        condition = condition if known.identified.all() else math.inf
        return Solved(value.T, covariance, known.identified, known.rank, condition, known.note)


def is_identified(null_space: Array) -> NDArray[np.bool_]:
    """Return which unknowns take no part in the directions (f, r) that are left undetermined, (f,)."""
    # The rows of an orthonormal null space do not depend on which basis was chosen for it.
    return np.asarray(np.linalg.norm(null_space, axis=1) < SHARE_TOLERANCE)


def solve(
    J: Array, exact: Array | None = None, exact_values: Array | None = None, scale: Array | None = None
) -> Solution:
    """Factor J, subject to exact · x = exact_values; shapes (f, f), (m, f) and (replicates, m).

    With a ``scale`` (f,), eigenvalues of J are compared with its square, and not with the largest of them.
    """
    f = J.shape[0]
    values = np.zeros((1, 0)) if exact_values is None else exact_values
    if exact is None or not exact.size:
        inverse, null_space, condition = symmetric_inverse(J, scale, None if scale is None else NEGLIGIBLE)
        return Solution(np.zeros((1, f)), np.zeros((f, f)), inverse, null_space, condition)
    length = np.linalg.norm(exact, axis=1)
    # Exact equations have no scale of their own. Normalising a row that consists of rounding error only would give it
    # the weight of a true constraint, so such rows get weight 0.
    weight = np.divide(1.0, length, out=np.zeros_like(length), where=length > NEGLIGIBLE * length.max())
    rows = exact * weight[:, None]
    # The full V is needed: its last columns span the null space of the constraints, in which J is inverted.
    left, singular, right = np.linalg.svd(rows, full_matrices=True)
    # The error of singular values grows with the dimensions of the matrix, and so does the tolerance.
    rank = int((singular > singular[0] * max(rows.shape) * EXACT_RANK_TOLERANCE).sum())
    fixed = ((values * weight) @ left[:, :rank] / singular[:rank]) @ right[:rank]
    rest = right[rank:].T
    # The constraints fix the other directions exactly: their variance is 0 whatever J is there.
    left_over = rest.T @ J @ rest
    # What the constraints leave may be nothing but the rounding errors of these products, which are no information.
    size, tolerance = np.abs(rest), 16 * f * EIGENVALUE_TOLERANCE
    products = np.einsum("ik,ij,jk->k", size, np.abs(J), size, optimize=True)
    own = left_over.diagonal()
    size = np.where(own > tolerance * products, own, products)
    inverse, null_space, condition = symmetric_inverse(left_over, np.sqrt(np.where(size > 0, size, 1.0)), tolerance)
    constrained = right[:rank].T @ right[:rank]
    return Solution(fixed, constrained, rest @ inverse @ rest.T, rest @ null_space, condition)


def symmetric_inverse(
    J: Array, scale: Array | None = None, tolerance: float | None = None
) -> tuple[Array, Array, float]:
    """Return the pseudo-inverse of a symmetric J, its null space (f, r), and the condition of J.

    Unknowns are first divided by ``scale`` (f,), the root of the diagonal unless given. Otherwise an agent with little
    noise would make one with much noise appear unidentified. Eigenvalues up to ``tolerance`` count as 0; by
    default it is that of rounding.
    """
    f = J.shape[0]
    if not f:
        return np.zeros((0, 0)), np.zeros((0, 0)), 1.0
    if scale is None:
        scale = np.sqrt(np.where(J.diagonal() > 0, J.diagonal(), 1.0))
    # All eigenvectors are needed, for which divide and conquer is the fastest LAPACK driver.
    values, vectors = linalg.eigh(J / scale[:, None] / scale, driver="evd")
    keep = values > (f * EIGENVALUE_TOLERANCE * max(values[-1], 0.0) if tolerance is None else tolerance)
    kept, lost = vectors[:, keep] / scale[:, None], vectors[:, ~keep] / scale[:, None]
    # Undoing the scaling spoils orthonormality, on which `is_identified` relies.
    null_space = np.linalg.qr(lost)[0] if lost.size else lost
    # The condition of the scaled matrix, which a mere change of units does not alter.
    condition = float(values[-1] / values[0]) if keep.all() else np.inf
    return np.asarray((kept / values[keep]) @ kept.T), np.asarray(null_space), condition


def covariance_root(covariance: Array) -> Array:
    """Return L with L Lᵀ = covariance, of as many columns as it has rank."""
    # Eigenvalues and not Cholesky, because noise may be perfectly correlated and the covariance singular.
    scale = np.sqrt(np.where(covariance.diagonal() > 0, covariance.diagonal(), 1.0))
    values, vectors = linalg.eigh(covariance / scale[:, None] / scale)
    noisy = values > max(values[-1], 0.0) * values.size * COVARIANCE_TOLERANCE
    return np.asarray(scale[:, None] * vectors[:, noisy] * np.sqrt(values[noisy]))


def separate_noise(facts: Array, L: Array, n: int) -> tuple[Array, Array, Array]:
    """Return facts A x₀ = b + L e, with e ~ N(0, I), as exact ones, their errors, and ones with independent unit noise.

    ``facts`` (m, n + replicates) are augmented rows [A | b] and L is (m, draws), of any rank. With LᵀΠ = U [R₁ R₂;
    0 R₃], the first rows divided by R₁ᵀ have unit noise; what they explain of the others is all noise but for R₃, which
    may be a rounding error of 0, or be what it seems to be. Errors are no smaller than those of rounding.
    """
    # Rows are scaled to unit noise first: pivoting must compare correlations and not sizes.
    size = np.linalg.norm(L, axis=1)
    noisy = size > 0
    scaled = facts[noisy] / size[noisy, None]
    plain = _rounding(np.abs(facts[~noisy]), facts, n)
    if not scaled.size:
        return *_informative(facts, plain, n), facts[:0]
    # Pivoting takes the row with the most remaining noise each time, which makes the diagonal decrease and reveals the
    # rank. The factor of L itself has twice the digits of one of L Lᵀ.
    triangle, order = linalg.qr((L[noisy] / size[noisy, None]).T, mode="r", pivoting=True)
    pivots = np.abs(triangle.diagonal())
    rank = int(np.count_nonzero(pivots > NOISE_TOLERANCE * pivots[0]))
    whitened = linalg.solve_triangular(triangle[:rank, :rank], scaled[order[:rank]], trans="T")
    # The noise of the remaining rows is a combination of that of the first ones, so subtracting these cancels it.
    exact = scaled[order[rank:]] - triangle[:rank, rank:].T @ whitened
    # R₃ is below the tolerance but need not be 0. Passing it on as an error keeps exact rows from being overstated.
    # What was subtracted may be much larger than what is left, and so may be its last digits.
    gross = np.abs(scaled[order[rank:]]) + np.abs(triangle[:rank, rank:]).T @ np.abs(whitened)
    left = np.maximum(np.linalg.norm(triangle[rank:, rank:], axis=0), _rounding(gross, facts, n))
    return *_informative(np.concatenate([facts[~noisy], exact]), np.concatenate([plain, left]), n), whitened


def _rounding(gross: Array, facts: Array, n: int) -> Array:
    """Return the rounding error of rows of this magnitude, whose first n columns multiply opinions."""
    size = float(np.abs(facts[:, n:]).max(initial=0.0)) or 1.0
    values = gross[:, n:].max(axis=1, initial=0.0)
    return np.asarray(WRONG_DIGITS * np.finfo(np.float64).eps * (values + size * np.linalg.norm(gross[:, :n], axis=1)))


def _informative(exact: Array, errors: Array, n: int) -> tuple[Array, Array]:
    """Return the exact facts that involve x₀ at all, with their errors."""
    # A row without x₀ is a relation among answers: no information, and a division by 0 when rows are normalised.
    kept = np.linalg.norm(exact[:, :n], axis=1) > NEGLIGIBLE
    return np.asarray(exact[kept]), np.asarray(errors[kept])


def conjugate_gradients(
    apply: Callable[[Array], Array],
    rhs: Array,
    preconditioner: Array | Callable[[Array], Array],
    *,
    tolerance: float = CG_TOLERANCE,
    max_iter: int = CG_ITERATIONS,
    rough: bool = False,
) -> tuple[Array, float]:
    """Return x with apply(x) = rhs for columns (f, b), and an estimate of the preconditioned condition number.

    Unlike SciPy's ``cg``, every column has its own step size. The ``preconditioner`` is a positive diagonal
    (f,), or a function that solves a similar system, possibly inexactly: then directions are made conjugate to the last
    one explicitly [1]_. Raises if not converged after ``max_iter`` iterations, unless ``rough`` is true.

    References
    ----------
    .. [1] Golub & Ye (1999), Inexact preconditioned conjugate gradient method with inner-outer iteration. SIAM J. Sci.
       Comput. 21.
    """
    inexact = callable(preconditioner)
    # All columns share one product per iteration, the expensive operation; only the scalars differ.
    x, r = np.zeros_like(rhs), rhs.copy()
    z = _preconditioned(preconditioner, r)
    p, rz = z.copy(), np.einsum("ij,ij->j", r, z)
    # Convergence in the norm of the preconditioned residual, the quantity that the iteration computes anyway.
    goal = tolerance**2 * rz
    steps: list[tuple[float, float]] = []
    for _ in range(max_iter):
        check_cancelled()
        if (rz <= goal).all():
            return x, _condition(steps)
        Ap = apply(p)
        curvature = np.einsum("ij,ij->j", p, Ap)
        # A column of zeros has curvature 0; a step of 0 leaves it unchanged while the others go on.
        alpha = np.divide(rz, curvature, out=np.zeros_like(rz), where=curvature > 0)
        x += alpha * p
        r -= alpha * Ap
        z = _preconditioned(preconditioner, r)
        after = np.einsum("ij,ij->j", r, z)
        # With a fixed preconditioner, −α zᵀAp is rᵀz of the next iteration.
        towards = -alpha * np.einsum("ij,ij->j", z, Ap) if inexact else after
        beta = np.divide(towards, rz, out=np.zeros_like(rz), where=rz > 0)
        # Coefficients of the first column only: they define the Lanczos matrix, whose extreme eigenvalues approximate
        # those of the operator. After convergence they are ratios of rounding errors.
        if rz[0] > goal[0] and alpha[0] > 0:
            steps.append((float(alpha[0]), max(float(beta[0]), 0.0)))
        p, rz = z + beta * p, after
    if rough:
        return x, _condition(steps)
    left = math.sqrt(float(np.divide(rz, goal, out=np.zeros_like(rz), where=goal > 0).max())) * tolerance
    goal_text, left_text = contrast(tolerance, left, digits=1)
    rule = (
        f"conjugate gradients must reach a residual of {goal_text} in {max_iter:,} iterations, for which the answers "
        "must say enough of every agent"
    )
    remedy = "give a prior, or observe more agents or steps"
    raise PeerPressureError(message(rule, got=left_text, remedy=remedy))


def _preconditioned(preconditioner: Array | Callable[[Array], Array], r: Array) -> Array:
    return preconditioner(r) if callable(preconditioner) else np.asarray(r / preconditioner[:, None])


def _condition(steps: list[tuple[float, float]]) -> float:
    """Return the ratio of the extreme Ritz values, from the coefficients of conjugate gradients."""
    if not steps:
        return 1.0
    alpha, beta = np.array(steps).T
    # The standard relation between conjugate gradients and Lanczos tridiagonalisation.
    main = 1 / alpha
    main[1:] += beta[:-1] / alpha[:-1]
    values = linalg.eigvalsh_tridiagonal(main, np.sqrt(beta[:-1]) / alpha[:-1])
    return float(values[-1] / max(values[0], 1e-300))


# Threads of linear algebra: small matrices are faster on one.
#
# NumPy and SciPy bring a library of linear algebra each, with threads of its own that wait for work by spinning. A
# filter calls both in turn on small matrices, and the threads of one then hold up those of the other: by a factor of
# four on two cores.
