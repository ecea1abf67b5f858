"""The paper's regression of public on hidden opinions: its exact law, its residuals, and the case of two agents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd
from scipy import special

from peerpressure.model import Model
from peerpressure.model.affine import coefficients
from peerpressure.model.step import Array
from peerpressure.networks import barabasi_albert, k2
from peerpressure.noise import Gaussian
from peerpressure.recovery import Estimate, Observation, answers_of, recover
from peerpressure.recovery._regression import RegressionDesign
from peerpressure.recovery.least_squares import Solution, solve
from peerpressure.reproduction import printed
from peerpressure.reproduction.design import SEED, agents_drawn, check_replications, stream
from peerpressure.simulation import simulate
from peerpressure.theory.two_agents import gram_inverse_limit

# Bound on the states of a batch of replicates, in numbers of eight bytes: 64 MB.
BATCH_NUMBERS = 2**23
EDGES = 2


@final
@dataclass(frozen=True, eq=False)
class OlsLaw:
    """Ordinary least squares on y_t = Q_t x₀ + e_t, t = 1…steps.

    ``H`` is the normal matrix Σ Q_tᵀQ_t and ``covariance`` the exact covariance of x̂, (n, n) each.
    """

    model: Model
    steps: int
    design: RegressionDesign
    solution: Solution
    H: Array
    covariance: Array

    def residuals(self, replications: int, seed: int) -> Array:
        """Return x̂ − x₀ of simulated runs, (replications, n)."""
        return np.concatenate(list(self._batches(replications, seed)))

    def _batches(self, replications: int, seed: int) -> Iterator[Array]:
        size = max(1, BATCH_NUMBERS // ((self.steps + 1) * self.model.n))
        for first in range(0, replications, size):
            chosen = range(first, min(first + size, replications))
            # Noise depends on the replicate's number, so the residuals do not depend on the size of the batches.
            run = simulate(self.model, self.steps, chosen, seed=seed)
            rows = self.design.observed(answers_of(run, self.model))
            # The normal equations Hx̂ = Σ Q_tᵀ(y_t − offset), with one column per replicate.
            yield self.solution.value(self.H, self.design.adjoint(rows).T) - self.model.x0


def ols_law(model: Model, steps: int, first_step: int = 1) -> OlsLaw:
    """Return the law of the regression on outputs from ``first_step`` on; it does not depend on their values."""
    # Every agent is observed at every step, with no entry missing.
    everything = Observation(first_step=first_step).resolve(model, np.arange(steps + 1))
    design = RegressionDesign(model, everything, np.ones((everything.times.size, model.n), dtype=bool))
    # H = Σ Q_tᵀQ_t and V = Cov(Σ Q_tᵀe_t). The errors e_t accumulate and are correlated in time, so the
    # covariance of x̂ is the sandwich H⁻¹VH⁻¹ and not σ²H⁻¹.
    H, V = design.matrices()
    # Factored once: every batch of residuals reuses the solution.
    solution = solve(H)
    return OlsLaw(model, steps, design, solution, H, solution.inverse @ V @ solution.inverse)


def regression_covariances(models: Sequence[Model], steps: int) -> Array:
    """Return the covariance of ``ols_law`` for models of one size, pressure and unit noise at once, (models, n, n).

    Dense matrices of all models in one array: for small graphs several times faster than one law after another.
    """
    s, degrees = (np.stack(own)[:, :, None] for own in ([m.s for m in models], [m.network.degrees for m in models]))
    A = np.stack([m.network.adjacency.toarray() for m in models])
    identity, one = np.eye(models[0].n), np.ones_like(s)
    Q, kept = np.broadcast_to(identity, A.shape), []
    for t in range(1, steps + 1):
        gain, scale = coefficients(one / models[0].pressure(t), one, s, degrees)
        Q = gain * identity + scale * (A @ Q)
        kept.append((Q, gain, scale))
    H, V, M = (np.zeros_like(A) for _ in range(3))
    # Backwards, M_t = Q_t + C_{t+1}ᵀ M_{t+1} is the weight of the noise of step t in all outputs from t on.
    back = M
    for Q, gain, scale in reversed(kept):
        M = Q + back
        H += Q.swapaxes(1, 2) @ Q
        noise = gain * M
        V += noise.swapaxes(1, 2) @ noise
        back = A.swapaxes(1, 2) @ (scale * M)
    inverse = np.linalg.inv(H)
    return np.asarray(inverse @ V @ inverse)


def variance_over_agents(vectors: Array) -> Array:
    """Return the sample variance over the entries of each vector, with n − 1; (…, n) → (…)."""
    return np.asarray(vectors.var(axis=-1, ddof=1))


def expected_variance(covariance: Array) -> tuple[float, float]:
    """Return mean and standard deviation of the sample variance over the entries of r ~ N(0, Σ).

    The sample variance is rᵀMr/(n − 1) with M = I − 11ᵀ/n. Its mean is tr(MΣ)/(n − 1), for any law of covariance Σ,
    and its variance is 2 tr((MΣ)²)/(n − 1)².

    >>> mean, std = expected_variance(np.eye(3))
    >>> round(mean, 12), round(std, 12)
    (1.0, 1.0)
    """
    n = covariance.shape[0]
    # MΣ with M = I − 11ᵀ/n subtracts the mean of each column; (MΣ)² has the trace Σ_ij (MΣ)_ij (MΣ)_ji.
    centred = covariance - covariance.mean(axis=0)
    return float(np.trace(centred) / (n - 1)), float(np.sqrt(2 * np.sum(centred * centred.T)) / (n - 1))


@final
@dataclass(frozen=True, eq=False)
class ResidualsResult:
    """Residual vectors of the regression, (replications, agents), and their exact law."""

    law: OlsLaw
    residuals: Array

    @property
    def replications(self) -> int:
        """The number of residual vectors."""
        return int(self.residuals.shape[0])

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tidy tables of the experiment.

        Tables
        ------
        residuals
            replicate, agent (from 1), residual: estimate minus truth, for every replicate and agent.
        residual_agents
            agent, degree, stubbornness, mean_residual (over replicates), std (over replicates), exact_std (of one
            residual), exact_std_of_mean.
        residual_normality
            sample, size, mean, std, exact_std, skewness, excess_kurtosis, exact_excess_kurtosis, shapiro, shapiro_p,
            anderson, anderson_p. The sample mean_vector is the mean residual of each agent; mean and std are the
            normal fit. The sample whitened is mean_vector made independent and of unit variance by its exact
            covariance; only its p-values are those of independent draws.
        """
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
        # Agents differ in variance, so even jointly normal residuals mix to a law with heavier tails.
        expected, _ = expected_variance(self.law.covariance / self.replications)
        variances = np.diag(self.law.covariance)
        # A mixture of N(0, vᵢ) has fourth moment 3·mean(v²) and variance mean(v): excess 3(mean(v²)/mean(v)² − 1).
        kurtosis = 3 * float(np.mean(variances**2) / np.mean(variances) ** 2 - 1)
        return _normality("mean_vector", self.residuals.mean(axis=0), np.sqrt(expected), kurtosis)

    def _whitened(self) -> dict[str, Any]:
        # The mean over replicates is N(0, Σ/R); L⁻¹ of Σ/R = LLᵀ makes its entries independent standard normal scores,
        # which is what the tests of normality assume.
        factor = np.linalg.cholesky(self.law.covariance / self.replications)
        return _normality("whitened", np.linalg.solve(factor, self.residuals.mean(axis=0)), 1.0, 0.0)


def residuals(
    seed: int = SEED,
    replications: int = printed.REPLICATIONS,
    *,
    agents: int = printed.RESIDUAL_AGENTS,
    steps: int = printed.STEPS,
    model: Model | None = None,
) -> ResidualsResult:
    """Estimate the hidden opinions of a scale-free graph by regression, in many runs.

    Parameters
    ----------
    seed : int, default 14
        Seed of graph, agents and noise.
    replications : int, default 100
        Number of runs, 2 or more.
    agents : int, default 100
        Number of agents.
    steps : int, default 100
        Observed steps of each run.
    model : Model, optional
        A model to use in place of the scale-free one.

    Returns
    -------
    ResidualsResult
        Residual vectors and their exact law; its ``tables`` method documents the columns.

    Raises
    ------
    InvalidInputError
        If there are fewer than two replications.

    See Also
    --------
    two_agents_recovery : The same regression on two agents, beside innovations.
    sweep_ba : The same regression over graph sizes and noise levels.

    Examples
    --------
    >>> residuals(replications=5, agents=20).tables()["residual_normality"]["sample"].tolist()
    ['mean_vector', 'whitened']
    """
    network = barabasi_albert(agents, EDGES, seed=seed)
    chosen = model or Model(network, *agents_drawn(agents, seed), noise=Gaussian(printed.TWO_AGENTS_NOISE))
    law = ols_law(chosen, steps)
    return ResidualsResult(law, law.residuals(check_replications(replications, "residuals"), stream(seed, "residuals")))


def anderson_darling(sample: Array) -> tuple[float, float]:
    """Return Anderson and Darling's statistic A² for a normal law with estimated mean and variance, and its p-value.

    The p-value is Stephens' approximation, four exponentials of quadratics in A²(1 + 0.75/n + 2.25/n²).

    >>> statistic, p = anderson_darling(np.arange(20.0))
    >>> round(statistic, 4), round(p, 4)
    (0.2207, 0.8064)
    """
    n = sample.size
    scores = (np.sort(sample) - sample.mean()) / sample.std(ddof=1)
    # log Φ from both ends: 1 − Φ would cancel in the upper tail.
    low, high = special.log_ndtr(scores), special.log_ndtr(-scores[::-1])
    statistic = float(-n - np.mean((2 * np.arange(1, n + 1) - 1) * (low + high)))
    return statistic, _stephens(statistic * (1 + 0.75 / n + 2.25 / n**2))


# D'Agostino and Stephens (1986), table 4.9: upper bound of A², coefficients, and whether the value is 1 − p.
_STEPHENS = (
    (0.2, (-13.436, 101.14, -223.73), True),
    (0.34, (-8.318, 42.796, -59.938), True),
    (0.6, (0.9177, -4.279, -1.38), False),
    # Beyond 13 the quadratic would rise again; p is then below 1e-20.
    (13.0, (1.2937, -5.709, 0.0186), False),
)


def _stephens(a: float) -> float:
    """Return the p-value of the modified statistic."""
    for bound, (c, b, q), below in _STEPHENS:
        if a < bound:
            value = float(np.exp(c + b * a + q * a**2))
            return 1 - value if below else value
    return 0.0


def _normality(name: str, sample: Array, exact_std: float, exact_kurtosis: float) -> dict[str, Any]:
    # Imported here: slow to load, and only this table needs it.
    from scipy import stats

    shapiro, anderson = stats.shapiro(sample), anderson_darling(sample)
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


@final
@dataclass(frozen=True, eq=False)
class TwoAgentsResult:
    """Estimates of two hidden opinions by regression and by innovations, and the exact law of the regression."""

    law: OlsLaw
    ols: Estimate
    innovations: Estimate

    @property
    def model(self) -> Model:
        """The simulated model."""
        return self.law.model

    @property
    def noise_variance(self) -> float:
        """The noise variance σ₀² of each agent."""
        return float(self.model.noise.deviations(2)[0] ** 2)

    @property
    def homoskedastic(self) -> Array:
        """σ₀²(QQᵀ)⁻¹, the covariance if the errors of all outputs were independent with variance σ₀²."""
        return self.noise_variance * self.law.solution.inverse

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tidy tables of the experiment.

        Tables
        ------
        two_agents_estimates
            method (ols, innovations), replicate, agent_1, agent_2: one estimate of x₀ per row.
        two_agents_covariances
            method (ols, innovations), kind, variance_1, covariance, variance_2, centre_1, centre_2,
            smallest_eigenvalue, largest_eigenvalue, uncertainty (standard error of variance_1; 0 if the row is exact).
            Kinds of ols: printed_limit is 4/(π²−8)·[[1, −1], [−1, 1]], singular; homoskedastic is σ₀²(QQᵀ)⁻¹ after
            these steps; textbook is σ̂²(QQᵀ)⁻¹ with the σ̂² of the fitted residuals, as regression software prints it;
            exact is the true covariance; empirical is that of the sampled estimates. Innovations has exact and
            empirical.
        """
        return {
            "two_agents_estimates": pd.concat([_estimates(e) for e in (self.ols, self.innovations)], ignore_index=True),
            "two_agents_covariances": pd.DataFrame(self._covariances()),
        }

    def _covariances(self) -> list[dict[str, Any]]:
        x0, limit = self.model.x0, self.noise_variance * gram_inverse_limit()
        assert self.ols.homoskedastic_covariance is not None, "a hundred outputs leave degrees of freedom"
        # The covariance may be an operator; a product with I makes it a matrix.
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
    """Estimate the hidden opinions of two agents by regression and by innovations.

    The agents have s = 1 and x₀ = (1, 2), and the pressure is ρ_t = t.

    Parameters
    ----------
    seed : int, default 14
        Seed of the noise.
    replications : int, default 100
        Number of runs, 2 or more.
    steps : int, default 100
        Observed steps of each run.
    model : Model, optional
        A model of two agents to use in place of this one.

    Returns
    -------
    TwoAgentsResult
        Estimates, and every covariance claimed for them; its ``tables`` method documents the columns.

    Raises
    ------
    InvalidInputError
        If there are fewer than two replications.

    See Also
    --------
    residuals : The same regression on a larger graph.

    Examples
    --------
    >>> study = two_agents_recovery(replications=10)
    >>> round(float(study.law.covariance[0, 0]), 2), round(float(study.homoskedastic[0, 0]), 2)
    (1.6, 2.19)
    """
    chosen = model or Model(k2(), printed.TWO_AGENTS_HIDDEN, noise=Gaussian(printed.TWO_AGENTS_NOISE))
    # Both methods use the same runs: the comparison is paired.
    run = simulate(chosen, steps, check_replications(replications, "two agents"), seed=stream(seed, "two agents"))
    law = ols_law(chosen, steps)
    return TwoAgentsResult(law, recover(run, chosen, "ols"), recover(run, chosen, "innovations"))


def _estimates(estimate: Estimate) -> pd.DataFrame:
    first, second = estimate.value.T
    rows = np.arange(first.size)
    return pd.DataFrame({"method": estimate.method, "replicate": rows, "agent_1": first, "agent_2": second})


def _covariance(method: str, kind: str, matrix: Array, centre: Array, uncertainty: float = 0.0) -> dict[str, Any]:
    # The smallest eigenvalue exposes the singularity of the printed limit, which the entries do not.
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
    # The standard error of a normal sample's variance: the estimates are linear in normal noise.
    uncertainty = float(matrix[0, 0] * np.sqrt(2 / (len(estimate.value) - 1)))
    return _covariance(estimate.method, "empirical", matrix, estimate.value.mean(axis=0), uncertainty)
