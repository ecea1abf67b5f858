"""The law of the regression against dense algebra, the estimator itself, and simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from peerpressure import Gaussian, Model, simulate
from peerpressure.networks import barabasi_albert
from peerpressure.recovery import recover
from peerpressure.reproduction import _regression
from peerpressure.reproduction._regression import expected_variance, ols_law, variance_over_agents
from peerpressure.reproduction.design import agents_drawn
from tests.oracles import outputs_law

STEPS = 30


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(barabasi_albert(12, 2, seed=3), *agents_drawn(12, 3), noise=Gaussian(0.7))


def dense_law(model: Model, steps: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Stack every Q_t and every weight of every noise, and regress by the textbook."""
    law = outputs_law(model, steps)
    spread = np.linalg.lstsq(law.B, law.L, rcond=None)[0]
    return law.B.T @ law.B, spread @ spread.T


def test_normal_matrix_and_covariance_are_those_of_dense_algebra(model: Model) -> None:
    law, (H, covariance) = ols_law(model, STEPS), dense_law(model, STEPS)
    np.testing.assert_allclose(law.H, H, rtol=1e-11)
    np.testing.assert_allclose(law.covariance, covariance, rtol=1e-7, atol=1e-12)


def test_residuals_are_the_estimators_own(model: Model) -> None:
    run = simulate(model, STEPS, 6, seed=9)
    estimate = recover(run, model, "ols")
    np.testing.assert_allclose(ols_law(model, STEPS).residuals(6, 9), estimate.residuals(), atol=1e-10)


def test_batches_do_not_show(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    law = ols_law(model, STEPS)
    whole = law.residuals(7, 9)
    monkeypatch.setattr(_regression, "BATCH_NUMBERS", 3 * (STEPS + 1) * model.n)
    np.testing.assert_allclose(law.residuals(7, 9), whole, atol=1e-12)


def test_residuals_do_not_depend_on_the_opinions(model: Model) -> None:
    other = replace(model, hidden=np.linspace(-5, 5, model.n))
    ours, theirs = (ols_law(m, STEPS).residuals(4, 2) for m in (model, other))
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_the_variance_over_agents_has_its_expected_moments(model: Model) -> None:
    law = ols_law(model, STEPS)
    mean, std = expected_variance(law.covariance)
    sampled = variance_over_agents(law.residuals(4_000, 5))
    assert abs(sampled.mean() - mean) < 4 * std / np.sqrt(sampled.size)
    # A sum of squared normals has fourth moments of its own: 6 % is above four standard errors of its deviation.
    assert sampled.std() == pytest.approx(std, rel=0.1)
