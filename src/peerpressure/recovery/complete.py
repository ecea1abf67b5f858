"""What complete outputs say of x₀: the same for every run of a model, so that it is known before one is seen.

J = i·D + weight·Bᵀ D B with D = diag(1/std²), i the information in what each agent tells of itself at unit deviation,
and B the row of the first step where the start is not known; facts free of noise stand beside it as exact rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import TooLargeError, complain
from peerpressure.model import Model
from peerpressure.recovery.prior import Prior
from peerpressure.recovery.solve import DENSE_LIMIT
from peerpressure.recovery.start_row import StartRow, start_row
from peerpressure.recovery.time_weights import TimeWeights

Array: TypeAlias = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Complete:
    """The information about x₀ in complete outputs; ``weights`` average what agents tell of themselves."""

    model: Model
    weights: TimeWeights
    row: StartRow | None

    @cached_property
    def information(self) -> Array:
        """The information that each agent tells of itself at unit deviation, (n,); infinite if x₀ shows through."""
        silent = np.where(self.weights.legible, np.inf, 0.0)
        return np.broadcast_to(silent if self.model.noise.is_zero else self.weights.information, (self.model.n,))

    @cached_property
    def precision(self) -> Array:
        """1/std² of each agent, and 0 for those without noise, whose facts are exact; (n,)."""
        std = self.model.noise.deviations(self.model.n)
        return np.divide(1.0, std**2, out=np.zeros(self.model.n), where=std > 0)

    @cached_property
    def own(self) -> Array:
        """What each agent tells of itself through its noise, i/std², 0 where it is exact or nothing; (n,)."""
        return np.where(self.shown, 0.0, self.information) * self.precision

    @property
    def shown(self) -> NDArray[np.bool_]:
        """Whose x₀ shows through, (n,)."""
        return np.isinf(self.information)

    @property
    def quiet(self) -> NDArray[np.bool_]:
        """Who has no noise, (n,)."""
        return np.asarray(self.precision == 0)

    @property
    def separate(self) -> bool:
        """Whether each agent's outputs speak of that agent alone."""
        return self.row is None or bool(self.shown.all())

    @property
    def variance(self) -> Array:
        """The error variance of each agent's own average, where outputs are ``separate``; (n,)."""
        std = self.model.noise.deviations(self.model.n)
        silent = np.where(self.information > 0, 0.0, np.inf)
        noisy = (self.information > 0) & ~self.shown
        return np.divide(std**2, self.information, out=silent, where=noisy)

    @property
    def has_exact_rows(self) -> bool:
        """Whether some fact about x₀ is free of noise."""
        exact = self.quiet | self.shown
        return bool(exact.any()) or (self.row is not None and np.isinf(self.row.weight))

    def diagonal(self) -> Array:
        """Return the diagonal of J, (n,)."""
        return self.own + self.row.diagonal(self.precision) if self._row_is_noisy() and self.row else self.own

    def apply(self, columns: Array) -> Array:
        """Return J applied to columns, (n, b)."""
        own = self.own[:, None] * columns
        return own + self.row.apply(self.precision, columns) if self._row_is_noisy() and self.row else own

    def exact_rows(self) -> tuple[Array, NDArray[np.int64], NDArray[np.int64]]:
        """Return exact rows (m, n): of agents who show through, then of the first step, and the agents of either."""
        quiet = np.flatnonzero(self.quiet)
        own = np.flatnonzero((self.quiet & self.weights.legible) | self.shown)
        first = quiet[:0] if self.row is None else (quiet if self._row_is_noisy() else np.arange(self.model.n))
        units = np.zeros((own.size, self.model.n))
        units[np.arange(own.size), own] = 1.0
        rows = units if self.row is None else np.concatenate([units, self.row.matrix[first].toarray()])
        return rows, own, first

    def _row_is_noisy(self) -> bool:
        return self.row is not None and np.isfinite(self.row.weight)


def complete(model: Model, weights: TimeWeights, *, first_step: bool) -> Complete:
    """Return what complete outputs say; ``first_step`` if step 1 is seen but the start is not known."""
    later, share = (int(weights.times[0]), weights.share[0]) if weights.times.size else (None, np.ones(1))
    return Complete(model, weights, start_row(model, later, share) if first_step else None)


def refuse_large(problem: Complete, prior: Prior | None) -> None:
    """Refuse what needs a dense matrix of more agents than are fit for one."""
    n = problem.model.n
    if n <= DENSE_LIMIT or not (problem.has_exact_rows or (prior is not None and not prior.is_diagonal)):
        return
    what = "a correlated prior" if not problem.has_exact_rows else "agents or steps free of noise and an unseen start"
    rule = f"{what} can be dealt with for at most {DENSE_LIMIT} agents"
    raise TooLargeError(complain(rule, got=n, remedy="give the model its start, or use a prior of variances"))
