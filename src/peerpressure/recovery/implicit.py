"""A covariance that is too large to write down, known by what it does to vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

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
