"""Rows A x₀ = b + e in several unknowns, each of which is predicted from those before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from peerpressure.recovery._limits import NEGLIGIBLE

Array: TypeAlias = NDArray[np.float64]


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
