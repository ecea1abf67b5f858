"""The paper's regression on one model: its exact law, and sampled residuals without factoring anything twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.recovery.design import Design
from peerpressure.recovery.observation import Observation
from peerpressure.recovery.outputs import outputs_of
from peerpressure.recovery.solve import Solution, solve
from peerpressure.simulation import simulate

Array: TypeAlias = NDArray[np.float64]
# Numbers that a batch of replicates may hold in its states: 64 MB.
BATCH_NUMBERS = 2**23


@final
@dataclass(frozen=True, eq=False)
class OlsLaw:
    """Least squares on y_t = Q_t x₀ + e_t, t = 1…steps: normal matrix H and exact covariance of x̂, (n, n) each."""

    model: Model
    steps: int
    design: Design
    solution: Solution
    H: Array
    covariance: Array

    def residuals(self, replications: int, seed: int) -> Array:
        """Return x̂ − x₀ for so many simulated runs, (replications, n)."""
        return np.concatenate(list(self._batches(replications, seed)))

    def _batches(self, replications: int, seed: int) -> Iterator[Array]:
        size = max(1, BATCH_NUMBERS // ((self.steps + 1) * self.model.n))
        for first in range(0, replications, size):
            chosen = range(first, min(first + size, replications))
            run = simulate(self.model, self.steps, chosen, seed=seed)
            rows = self.design.observed(outputs_of(self.model, run))
            yield self.solution.value(self.H, self.design.adjoint(rows).T) - self.model.x0


def ols_law(model: Model, steps: int) -> OlsLaw:
    """Return the law of the regression; H and the covariance depend on the model alone, never on what was shown."""
    seen = Observation().resolve(model, np.arange(steps + 1))
    design = Design(model, seen, np.ones((seen.times.size, model.n), dtype=bool))
    H, V = design.matrices()
    solution = solve(H)
    return OlsLaw(model, steps, design, solution, H, solution.inverse @ V @ solution.inverse)


def variance_over_agents(vectors: Array) -> Array:
    """Return the sample variance over the entries of each vector, with n − 1; (…, n) → (…)."""
    return np.asarray(vectors.var(axis=-1, ddof=1))


def expected_variance(covariance: Array) -> tuple[float, float]:
    """Return mean and standard deviation of the sample variance over the entries of r ~ N(0, covariance).

    It is rᵀMr/(n − 1) with M = I − 11ᵀ/n, so that its mean is tr(MΣ)/(n − 1), for any law of that covariance, and its
    variance 2 tr((MΣ)²)/(n − 1)².

    >>> mean, std = expected_variance(np.eye(3))
    >>> round(mean, 12), round(std, 12)
    (1.0, 1.0)
    """
    n = covariance.shape[0]
    centred = covariance - covariance.mean(axis=0)
    return float(np.trace(centred) / (n - 1)), float(np.sqrt(2 * np.sum(centred * centred.T)) / (n - 1))
