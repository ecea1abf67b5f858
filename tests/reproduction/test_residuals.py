"""Residuals of a larger graph against their exact law."""

from __future__ import annotations

import numpy as np
import pytest

from peerpressure import Gaussian, Model, StudentT
from peerpressure.errors import InvalidInputError
from peerpressure.networks import cycle
from peerpressure.reproduction import ResidualsResult, _regression, residuals
from peerpressure.reproduction._regression import anderson_darling


@pytest.fixture(scope="module")
def result() -> ResidualsResult:
    return residuals(seed=2, replications=400, agents=40, steps=40)


def test_each_agent_has_its_exact_deviation(result: ResidualsResult) -> None:
    agents = result.tables()["residual_agents"]
    z = (agents["std"] / agents["exact_std"] - 1) * np.sqrt(2 * 399)
    assert np.abs(z).max() < 5
    z = agents["mean_residual"] / agents["exact_std_of_mean"]
    assert np.abs(z).max() < 5


def test_all_residuals_are_in_the_table(result: ResidualsResult) -> None:
    table = result.tables()["residuals"]
    assert len(table) == 400 * 40
    row = table.query("replicate == 7 and agent == 3")
    assert row["residual"].iloc[0] == result.residuals[7, 2]


def test_normal_noise_leaves_normal_scores_and_a_mixture_with_heavier_tails(result: ResidualsResult) -> None:
    table = result.tables()["residual_normality"].set_index("sample")
    assert table.loc["whitened", "shapiro_p"] > 1e-4
    assert table.loc["whitened", "anderson_p"] > 1e-4
    assert abs(table.loc["whitened", "std"] - 1) < 4 / np.sqrt(2 * 39)
    assert table.loc["mean_vector", "exact_excess_kurtosis"] > 0.1


def test_agents_who_are_alike_make_no_mixture() -> None:
    model = Model(cycle(24), np.arange(24) / 24, noise=Gaussian(1.0))
    table = residuals(replications=3, steps=20, model=model).tables()["residual_normality"]
    assert table["exact_excess_kurtosis"].abs().max() < 1e-9


def test_heavy_tails_are_found_out() -> None:
    model = Model(cycle(201), np.zeros(201), noise=StudentT(df=2.2))
    table = residuals(seed=1, replications=2, steps=2, model=model).tables()["residual_normality"].set_index("sample")
    assert table.loc["whitened", "shapiro_p"] < 1e-3


def test_one_replicate_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="2 or more, got 1"):
        residuals(replications=1)


def test_the_test_of_anderson_and_darling_is_that_of_the_literature() -> None:
    from scipy import stats

    generator = np.random.default_rng(5)
    for sample in (np.arange(20.0), generator.normal(size=100), generator.exponential(size=30)):
        known = stats.goodness_of_fit(
            stats.norm, sample, statistic="ad", n_mc_samples=2, rng=np.random.default_rng(1)
        ).statistic
        # SciPy fits the deviation by maximum likelihood in this function, and not in ``anderson``.
        assert anderson_darling(sample)[0] == pytest.approx(known, rel=0.1)
    # Stephens' critical values of the modified statistic, 0.631, 0.752, 0.873 and 1.035 for 10, 5, 2.5 and 1 %.
    grid = stats.norm.ppf((np.arange(1, 100_001) - 0.5) / 100_000)
    for critical, level in ((0.631, 0.10), (0.752, 0.05), (0.873, 0.025), (1.035, 0.01)):
        assert _regression._stephens(critical) == pytest.approx(level, rel=0.03)
    assert anderson_darling(grid)[1] > 0.99
    assert anderson_darling(np.r_[np.zeros(2_000), 1e6])[1] == 0.0
    # The pieces of the approximation meet.
    for bound in (0.2, 0.34, 0.6):
        assert _regression._stephens(bound - 1e-9) == pytest.approx(_regression._stephens(bound + 1e-9), abs=0.01)
