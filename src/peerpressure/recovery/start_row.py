"""What the first step says of x₀ when the start is hidden and not seen.

y_1/g_1 = F x₀ + ε_1 with F = S⁻¹(S + ρ₁A): x₀ enters twice, through the agent itself and through its neighbours'
start. Given the next ε, what is left of ε_1 is independent of all later noise, so that the first step is one more
row: B x₀ = r + noise of variance std²·(1 − φ²), B = F/scale_1 − φ p_2/scale_2, with p_2 the own share of x₀ by then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.model import Model
from peerpressure.theory.adjoint import persistence

Array: TypeAlias = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class StartRow:
    """The row B = first · F − later · p, with ``weight`` 1/(1 − φ²) for unit deviation, infinite if it is exact."""

    matrix: sparse.csr_array
    first: float
    later: float
    weight: float

    def observed(self, first: Array, later: Array | None) -> Array:
        """Return r of shape (n, replicates) from y_1/g_1 and what the next step that is used tells."""
        return self.first * first - (self.later * later if later is not None else 0.0)

    def apply(self, precision: Array, columns: Array) -> Array:
        """Return weight · Bᵀ diag(precision) B applied to columns (n, b)."""
        return np.asarray(self.weight * (self.matrix.T @ (precision[:, None] * (self.matrix @ columns))))

    def diagonal(self, precision: Array) -> Array:
        """Return the diagonal of weight · Bᵀ diag(precision) B."""
        return np.asarray(self.weight * (self.matrix.multiply(self.matrix).T @ precision))


def start_row(model: Model, later_step: int | None, share: Array) -> StartRow:
    """Return the row of the first step; ``later_step`` is the next one used, if any, and ``share`` (·,) its p."""
    update = model.update(1)
    scale = float(model.noise.scale(1))
    phi = persistence(model.noise) ** (later_step - 1) if later_step is not None else 0.0
    following = float(model.noise.scale(later_step)) if phi and later_step is not None else 1.0
    if scale == 0:
        first, later, weight = 1.0, 0.0, np.inf
    else:
        later = phi / following if following else 0.0
        first, weight = 1 / scale, 1 / (1 - phi**2) if abs(phi) < 1 else np.inf
    n = model.n
    both = (
        sparse.diags_array(np.full(n, first - later * share))
        + sparse.diags_array(first * update.coupling_scale / update.gain) @ update.adjacency
    )
    return StartRow(sparse.csr_array(both), first, later, weight)
