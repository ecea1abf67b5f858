"""Residuals of a larger graph against their exact law."""

from __future__ import annotations

import numpy as np
import pytest

from peerpressure import Gaussian, Model, StudentT
from peerpressure.errors import InvalidInputError
from peerpressure.networks import cycle
from peerpressure.reproduction import ResidualsResult, residuals


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
