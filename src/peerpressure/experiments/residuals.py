"""How far the regression misses each of a hundred agents, and whether the misses look normal.

Tables
------
residuals
    replicate, agent (from 1), residual: estimate minus truth, for every replicate and agent.
residual_agents
    agent, degree, stubbornness, mean_residual (over replicates), std (over replicates), exact_std (of one residual),
    exact_std_of_mean.
residual_normality
    sample, size, mean, std, exact_std, skewness, excess_kurtosis, exact_excess_kurtosis, shapiro, shapiro_p, anderson,
    anderson_p. Samples: mean_vector (the mean residual of each agent; mean and std are the normal fit), whitened (the
    same made independent and of unit variance by its exact covariance, for which alone the p-values are those of
    independent draws).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerpressure.experiments import printed
from peerpressure.experiments.convergence import SEED, agents_drawn
from peerpressure.experiments.ols_law import OlsLaw, expected_variance, ols_law
from peerpressure.experiments.replications import enough
from peerpressure.experiments.streams import stream
from peerpressure.model import Model
from peerpressure.networks import barabasi_albert
from peerpressure.noises import Gaussian

EDGES = 2


@final
@dataclass(frozen=True, eq=False)
class ResidualsResult:
    """Residual vectors of the regression, (replications, agents), and their exact law."""

    law: OlsLaw
    residuals: NDArray[np.float64]

    @property
    def replications(self) -> int:
        """How many vectors there are."""
        return int(self.residuals.shape[0])

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return every residual, the agents, and the tests of normality."""
        rows, n = self.residuals.shape
        everything = {
            "replicate": np.repeat(np.arange(rows), n),
            "agent": np.tile(np.arange(1, n + 1), rows),
            "residual": self.residuals.ravel(),
        }
        return {
            "residuals": pd.DataFrame(everything),
            "residual_agents": self._agents(),
            "residual_normality": pd.DataFrame([self._mean_vector(), self._whitened()]),
        }

    def _agents(self) -> pd.DataFrame:
        model, std = self.law.model, np.sqrt(np.diag(self.law.covariance))
        return pd.DataFrame(
            {
                "agent": np.arange(1, model.n + 1),
                "degree": model.network.degrees.astype(int),
                "stubbornness": model.s,
                "mean_residual": self.residuals.mean(axis=0),
                "std": self.residuals.std(axis=0, ddof=1),
                "exact_std": std,
                "exact_std_of_mean": std / np.sqrt(self.replications),
            }
        )

    def _mean_vector(self) -> dict[str, Any]:
        """Agents differ in variance, so that even jointly normal residuals mix to a law with heavier tails."""
        expected, _ = expected_variance(self.law.covariance / self.replications)
        variances = np.diag(self.law.covariance)
        kurtosis = 3 * float(np.mean(variances**2) / np.mean(variances) ** 2 - 1)
        return _tested("mean_vector", self.residuals.mean(axis=0), np.sqrt(expected), kurtosis)

    def _whitened(self) -> dict[str, Any]:
        factor = np.linalg.cholesky(self.law.covariance / self.replications)
        return _tested("whitened", np.linalg.solve(factor, self.residuals.mean(axis=0)), 1.0, 0.0)


def residuals(
    seed: int = SEED,
    replications: int = printed.REPLICATIONS,
    *,
    agents: int = printed.RESIDUAL_AGENTS,
    steps: int = printed.STEPS,
    model: Model | None = None,
) -> ResidualsResult:
    """Regress the outputs of a scale-free graph with normal noise on x₀, in many runs.

    >>> residuals(replications=5, agents=20).tables()["residual_normality"]["sample"].tolist()
    ['mean_vector', 'whitened']
    """
    network = barabasi_albert(agents, EDGES, seed=seed)
    chosen = model or Model(network, *agents_drawn(agents, seed), noise=Gaussian(printed.TWO_AGENTS_NOISE))
    law = ols_law(chosen, steps)
    return ResidualsResult(law, law.residuals(enough(replications, "residuals"), stream(seed, "residuals")))


def _tested(name: str, sample: NDArray[np.float64], exact_std: float, exact_kurtosis: float) -> dict[str, Any]:
    from scipy import stats
    from statsmodels.stats.diagnostic import normal_ad  # type: ignore[import-untyped,unused-ignore]

    shapiro, anderson = stats.shapiro(sample), normal_ad(sample)
    return {
        "sample": name,
        "size": sample.size,
        "mean": sample.mean(),
        "std": sample.std(ddof=1),
        "exact_std": exact_std,
        "skewness": stats.skew(sample),
        "excess_kurtosis": stats.kurtosis(sample),
        "exact_excess_kurtosis": exact_kurtosis,
        "shapiro": shapiro.statistic,
        "shapiro_p": shapiro.pvalue,
        "anderson": anderson[0],
        "anderson_p": anderson[1],
    }
