"""What regression makes of two agents: estimates of x₀ = (1, 2) beside every covariance that has been claimed for them.

Tables
------
two_agents_estimates
    method (ols, innovations), replicate, agent_1, agent_2: one estimate of x₀ in each row.
two_agents_covariances
    method (ols, innovations), kind, variance_1, covariance, variance_2, centre_1, centre_2, smallest_eigenvalue,
    largest_eigenvalue, uncertainty (the standard error of variance_1; 0 if the row is exact). Kinds of ols:
    printed_limit is 4/(π²−8)·[[1, −1], [−1, 1]], singular; homoskedastic is σ₀²(QQᵀ)⁻¹ after these steps; textbook is
    σ̂²(QQᵀ)⁻¹ with the fitted residuals' σ̂², as regression software prints it; exact is what the estimate really has;
    empirical is that of the sampled estimates. Innovations has exact and empirical.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.networks import k2
from peerpressure.noise import Gaussian
from peerpressure.recovery import Estimate, recover
from peerpressure.reproduction import printed
from peerpressure.reproduction.regression import OlsLaw, ols_law
from peerpressure.reproduction.streams import enough, stream
from peerpressure.simulation import simulate
from peerpressure.theory.two_agents import gram_inverse_limit

SEED = 14


@final
@dataclass(frozen=True, eq=False)
class TwoAgentsResult:
    """Estimates of two hidden opinions by two methods from the same runs, and the law of the first."""

    law: OlsLaw
    ols: Estimate
    innovations: Estimate

    @property
    def model(self) -> Model:
        """The model that was run."""
        return self.law.model

    @property
    def noise_variance(self) -> float:
        """σ₀² of either agent."""
        return float(self.model.noise.deviations(2)[0] ** 2)

    @property
    def homoskedastic(self) -> NDArray[np.float64]:
        """σ₀²(QQᵀ)⁻¹, which would be the covariance if every output had an error of its own, of variance σ₀²."""
        return self.noise_variance * self.law.solution.inverse

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the estimates and the covariances."""
        return {
            "two_agents_estimates": pd.concat([_estimates(e) for e in (self.ols, self.innovations)], ignore_index=True),
            "two_agents_covariances": pd.DataFrame(self._covariances()),
        }

    def _covariances(self) -> list[dict[str, Any]]:
        x0, limit = self.model.x0, self.noise_variance * gram_inverse_limit()
        assert self.ols.homoskedastic_covariance is not None, "a hundred outputs leave degrees of freedom"
        best = np.asarray(self.innovations.covariance @ np.eye(2))
        return [
            _covariance("ols", "printed_limit", limit, x0),
            _covariance("ols", "homoskedastic", self.homoskedastic, x0),
            _covariance("ols", "textbook", self.ols.homoskedastic_covariance, x0),
            _covariance("ols", "exact", self.law.covariance, x0),
            _empirical(self.ols),
            _covariance("innovations", "exact", best, x0),
            _empirical(self.innovations),
        ]


def two_agents_recovery(
    seed: int = SEED,
    replications: int = printed.REPLICATIONS,
    *,
    steps: int = printed.STEPS,
    model: Model | None = None,
) -> TwoAgentsResult:
    """Estimate the opinions of two agents with s = 1 under ρ_t = t from every run, by regression and by innovations.

    >>> found = two_agents_recovery(replications=10)
    >>> round(float(found.law.covariance[0, 0]), 2), round(float(found.homoskedastic[0, 0]), 2)
    (1.6, 2.19)
    """
    chosen = model or Model(k2(), printed.TWO_AGENTS_HIDDEN, noise=Gaussian(printed.TWO_AGENTS_NOISE))
    run = simulate(chosen, steps, enough(replications, "two agents"), seed=stream(seed, "two agents"))
    law = ols_law(chosen, steps)
    return TwoAgentsResult(law, recover(chosen, run, "ols"), recover(chosen, run, "innovations"))


def _estimates(estimate: Estimate) -> pd.DataFrame:
    first, second = estimate.value.T
    rows = np.arange(first.size)
    return pd.DataFrame({"method": estimate.method, "replicate": rows, "agent_1": first, "agent_2": second})


def _covariance(
    method: str, kind: str, matrix: NDArray[np.float64], centre: NDArray[np.float64], uncertainty: float = 0.0
) -> dict[str, Any]:
    smallest, largest = np.linalg.eigvalsh(matrix)
    return {
        "method": method,
        "kind": kind,
        "variance_1": matrix[0, 0],
        "covariance": matrix[0, 1],
        "variance_2": matrix[1, 1],
        "centre_1": centre[0],
        "centre_2": centre[1],
        "smallest_eigenvalue": smallest,
        "largest_eigenvalue": largest,
        "uncertainty": uncertainty,
    }


def _empirical(estimate: Estimate) -> dict[str, Any]:
    matrix = np.cov(estimate.value.T)
    # Of a normal sample; the estimates are linear in normal noise.
    uncertainty = float(matrix[0, 0] * np.sqrt(2 / (len(estimate.value) - 1)))
    return _covariance(estimate.method, "empirical", matrix, estimate.value.mean(axis=0), uncertainty)
