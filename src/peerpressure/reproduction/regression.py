"""The paper's linear model ⟨σ²⟩ ~ β₀ + β₁|V| + β₂·regressor, fitted, and as it was printed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.networks import barabasi_albert
from peerpressure.noise import Gaussian
from peerpressure.recovery._least_squares import Solution, solve
from peerpressure.recovery._observation import Observation, outputs_of
from peerpressure.recovery._regression import Design
from peerpressure.reproduction import printed
from peerpressure.reproduction.convergence import SEED, agents_drawn
from peerpressure.reproduction.printed import TERMS
from peerpressure.reproduction.streams import enough, stream
from peerpressure.simulation import simulate

# σ₀ itself, for which the printed numbers fit together, and σ₀², which is what their label says.
REGRESSORS = ("noise", "noise_variance")
COLUMNS = ("estimate", "standard_error", "t", "p", "low", "high")


def fit(cells: pd.DataFrame, response: str, regressor: str) -> pd.DataFrame:
    """Return one row for each term: estimate, standard error, t, p and the ends of the 95 % interval."""
    import statsmodels.api as sm  # type: ignore[import-untyped,unused-ignore]

    design = np.column_stack([np.ones(len(cells)), cells["agents"], cells[regressor]])
    found = sm.OLS(cells[response].to_numpy(), design).fit()
    low, high = np.asarray(found.conf_int(alpha=0.05)).T
    columns = dict(zip(COLUMNS, (found.params, found.bse, found.tvalues, found.pvalues, low, high), strict=True))
    return pd.DataFrame({"term": TERMS, **columns})


def printed_fit(edges: int) -> pd.DataFrame:
    """Return the printed table for graphs with so many edges per step."""
    rows = [printed.REGRESSIONS[edges][term] for term in TERMS]
    return pd.DataFrame({"term": TERMS, **{name: [getattr(row, name) for row in rows] for name in COLUMNS}})


def error_ratio(cells: pd.DataFrame, regressor: str) -> float:
    """Return the standard error of the intercept over that of the slope, which the design alone decides."""
    design = np.column_stack([np.ones(len(cells)), cells["agents"], cells[regressor]])
    variances = np.diag(np.linalg.inv(design.T @ design))
    return float(np.sqrt(variances[0] / variances[2]))


# The paper's regression on one model: its exact law, and sampled residuals without factoring anything twice.

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


# How far the regression misses each of a hundred agents, and whether the misses look normal.
#
# Tables
# ------
# residuals
#     replicate, agent (from 1), residual: estimate minus truth, for every replicate and agent.
# residual_agents
#     agent, degree, stubbornness, mean_residual (over replicates), std (over replicates), exact_std (of one residual),
#     exact_std_of_mean.
# residual_normality
#     sample, size, mean, std, exact_std, skewness, excess_kurtosis, exact_excess_kurtosis, shapiro, shapiro_p,
#     anderson,
#     anderson_p. Samples: mean_vector (the mean residual of each agent; mean and std are the normal fit), whitened (the
#     same made independent and of unit variance by its exact covariance, for which alone the p-values are those of
#     independent draws).

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
