"""Two agents: every claimed covariance against closed forms, dense algebra and many replicates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from peerpressure.reproduction import two_agents_recovery
from tests.oracles import gram_inverse
from tests.reproduction.test_ols_law import dense_law


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return two_agents_recovery(seed=3, replications=4_000).tables()


def covariance(tables: dict[str, pd.DataFrame], method: str, kind: str) -> pd.Series:
    return tables["two_agents_covariances"].set_index(["method", "kind"]).loc[(method, kind)]


def test_the_printed_limit_is_singular(tables: dict[str, pd.DataFrame]) -> None:
    limit = covariance(tables, "ols", "printed_limit")
    assert limit["variance_1"] == pytest.approx(4 / (np.pi**2 - 8))
    assert limit["covariance"] == -limit["variance_1"]
    assert limit["smallest_eigenvalue"] == pytest.approx(0, abs=1e-12)


def test_homoskedastic_and_exact_covariances_are_right(tables: dict[str, pd.DataFrame]) -> None:
    model = two_agents_recovery(replications=2).model
    _, exact = dense_law(model, 100)
    assert covariance(tables, "ols", "exact")["variance_1"] == pytest.approx(exact[0, 0], rel=1e-9)
    assert covariance(tables, "ols", "exact")["covariance"] == pytest.approx(exact[0, 1], rel=1e-9)
    assumed = gram_inverse(100)
    assert covariance(tables, "ols", "homoskedastic")["variance_1"] == pytest.approx(assumed[0, 0], rel=1e-9)


@pytest.mark.parametrize("method", ["ols", "innovations"])
def test_replicates_have_the_exact_covariance_and_centre(tables: dict[str, pd.DataFrame], method: str) -> None:
    exact, empirical = (covariance(tables, method, kind) for kind in ("exact", "empirical"))
    assert abs(empirical["variance_1"] - exact["variance_1"]) < 4 * empirical["uncertainty"]
    assert abs(empirical["centre_1"] - 1) < 4 * np.sqrt(exact["variance_1"] / 4_000)
    assert abs(empirical["centre_2"] - 2) < 4 * np.sqrt(exact["variance_2"] / 4_000)


def test_the_best_observer_has_about_one_over_t(tables: dict[str, pd.DataFrame]) -> None:
    assert covariance(tables, "innovations", "exact")["variance_1"] == pytest.approx(0.01, rel=0.02)
