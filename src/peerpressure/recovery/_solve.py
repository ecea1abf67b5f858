"""A covariance that is too large to write down, known by what it does to vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from peerpressure.errors import PeerPressureError

Array: TypeAlias = NDArray[np.float64]
PROBES = 64
AT_ONCE = 8


@final
@dataclass(frozen=True, eq=False)
class Implicit:
    """A symmetric n × n matrix given by its action on columns, (n, b) → (n, b).

    Products are exact. ``diagonal`` is estimated from ``PROBES`` random signs z as the mean of z ∘ Mz, always the same
    ones; entry i is off by about √(2 Σ_{j≠i} M_ij²/PROBES), little where the matrix is nearly diagonal. Single entries
    are exact through a product with a unit vector, and so is the whole diagonal where its ``entries`` are given.
    """

    n: int
    apply: Callable[[Array], Array]
    entries: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return (self.n, self.n)

    def __matmul__(self, other: Array) -> Array:
        columns = np.asarray(other, dtype=np.float64)
        return self.apply(columns[:, None])[:, 0] if columns.ndim == 1 else self.apply(columns)

    def diagonal(self) -> Array:
        """Return the diagonal, (n,), estimated unless it was given."""
        if self.entries is not None:
            return self.entries
        random = np.random.default_rng(0)
        total = np.zeros(self.n)
        for _ in range(PROBES // AT_ONCE):
            signs = random.choice([-1.0, 1.0], size=(self.n, AT_ONCE))
            total += np.einsum("ij,ij->i", signs, self.apply(signs))
        return total / PROBES


# Solving for x₀: dense with rank and exact constraints, or by conjugate gradients where matrices do not fit.

# An unknown that takes part in an unidentified direction by more than this is not identified.
SHARE_TOLERANCE = 1e-7
DENSE_LIMIT = 2_000  # agents whose full covariance is formed; beyond, operators take over


@final
@dataclass(frozen=True, eq=False)
class Solution:
    """The answer to J x = rhs: x = fixed + G (rhs − J fixed), with G the inverse of J as far as it has one.

    ``fixed`` (replicates, f) meets the exact constraints; ``inverse`` is G, (f, f); ``unreached`` (f, r) spans what
    neither J nor the constraints touch, and ``pinned`` (f, f) projects on what the constraints settle.
    """

    fixed: Array
    pinned: Array
    inverse: Array
    unreached: Array
    condition: float

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Which unknowns are pinned down, (f,)."""
        return np.asarray(np.linalg.norm(self.unreached, axis=1) < SHARE_TOLERANCE)

    @property
    def rank(self) -> int:
        """How many directions are pinned down."""
        return int(self.unreached.shape[0] - self.unreached.shape[1])

    def value(self, J: Array, rhs: Array) -> Array:
        """Return x, (replicates, f), for right-hand sides (replicates, f)."""
        return np.asarray(self.fixed + (rhs - self.fixed @ J) @ self.inverse)


def solve(J: Array, exact: Array | None = None, exact_values: Array | None = None) -> Solution:
    """Factor J, subject to exact · x = exact_values; shapes (f, f), (m, f) and (replicates, m)."""
    f = J.shape[0]
    values = np.zeros((1, 0)) if exact_values is None else exact_values
    if exact is None or not exact.size:
        inverse, unreached, condition = _inverse(J)
        return Solution(np.zeros((1, f)), np.zeros((f, f)), inverse, unreached, condition)
    scale = np.linalg.norm(exact, axis=1)
    # Exact facts have no scale of their own; those that are all rounding error are none.
    weight = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 1e-10 * scale.max())
    rows = exact * weight[:, None]
    left, singular, right = np.linalg.svd(rows, full_matrices=True)
    rank = int((singular > singular[0] * max(rows.shape) * 1e-13).sum())
    fixed = ((values * weight) @ left[:, :rank] / singular[:rank]) @ right[:rank]
    rest = right[rank:].T
    inverse, unreached, condition = _inverse(rest.T @ J @ rest)
    pinned = right[:rank].T @ right[:rank]
    return Solution(fixed, pinned, rest @ inverse @ rest.T, rest @ unreached, condition)


def _inverse(J: Array) -> tuple[Array, Array, float]:
    """Return a symmetric (pseudo-)inverse, the null space (f, r), and the condition of what is inverted."""
    f = J.shape[0]
    if not f:
        return np.zeros((0, 0)), np.zeros((0, 0)), 1.0
    # Unknowns are put on one scale first, so that a quiet agent does not make a loud one look unidentified.
    scale = np.sqrt(np.where(J.diagonal() > 0, J.diagonal(), 1.0))
    scaled = J / scale[:, None] / scale
    values, vectors = linalg.eigh(scaled, driver="evd")
    keep = values > f * 4e-16 * max(values[-1], 0.0)
    if not keep.any():
        return np.zeros((f, f)), np.eye(f), np.inf
    kept = vectors[:, keep] / scale[:, None]
    unreached = vectors[:, ~keep] / scale[:, None]
    basis = np.linalg.qr(unreached)[0] if unreached.size else unreached
    condition = float(values[keep][-1] / values[keep][0]) if keep.all() else np.inf
    return np.asarray((kept / values[keep]) @ kept.T), np.asarray(basis), condition


def split(covariance: Array) -> tuple[Array, Array]:
    """Return (W, N): W Σ Wᵀ = I on the noisy directions of Σ, and N spans those without noise; rows (·, m)."""
    scale = np.sqrt(np.where(covariance.diagonal() > 0, covariance.diagonal(), 1.0))
    values, vectors = linalg.eigh(covariance / scale[:, None] / scale)
    noisy = values > max(values[-1], 0.0) * values.size * 1e-14
    rows = vectors.T / scale
    return rows[noisy] / np.sqrt(values[noisy])[:, None], rows[~noisy]


def conjugate_gradients(
    apply: Callable[[Array], Array], rhs: Array, diagonal: Array, *, tolerance: float = 1e-11, most: int = 20_000
) -> tuple[Array, float]:
    """Return x with apply(x) = rhs for columns (f, b), and an estimate of the preconditioned condition number.

    Each column has step sizes of its own; ``diagonal`` (f,) preconditions.
    """
    x, r = np.zeros_like(rhs), rhs.copy()
    z = r / diagonal[:, None]
    p, rz = z.copy(), np.einsum("ij,ij->j", r, z)
    goal = tolerance**2 * rz
    steps: list[tuple[float, float]] = []
    for _ in range(most):
        if (rz <= goal).all():
            return x, _condition(steps)
        Ap = apply(p)
        curvature = np.einsum("ij,ij->j", p, Ap)
        alpha = np.divide(rz, curvature, out=np.zeros_like(rz), where=curvature > 0)
        x += alpha * p
        r -= alpha * Ap
        z = r / diagonal[:, None]
        after = np.einsum("ij,ij->j", r, z)
        beta = np.divide(after, rz, out=np.zeros_like(rz), where=rz > 0)
        if rz[0] > goal[0] and alpha[0] > 0:
            steps.append((float(alpha[0]), float(beta[0])))
        p, rz = z + beta * p, after
    raise PeerPressureError(
        f"the estimate did not converge in {most} iterations: the outputs say too little of some agent; "
        "use a prior, or observe more"
    )


def _condition(steps: list[tuple[float, float]]) -> float:
    """Return the ratio of the extreme Ritz values, from the coefficients of conjugate gradients."""
    if not steps:
        return 1.0
    alpha, beta = np.array(steps).T
    main = 1 / alpha
    main[1:] += beta[:-1] / alpha[:-1]
    values = linalg.eigvalsh_tridiagonal(main, np.sqrt(beta[:-1]) / alpha[:-1])
    return float(values[-1] / max(values[0], 1e-300))
