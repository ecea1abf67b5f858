"""Generalised least squares against the joint Gaussian law, written out."""

from __future__ import annotations

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.recovery import Observation, Prior, outputs_of, recover
from peerpressure.recovery._regression import gls
from tests.recovery.cases import AGENTS, STARTS, STEPS, VIEWS, dense_regression, small_model

PRIOR = Prior(0.3, 0.8)


@pytest.mark.parametrize("view", [name for name in VIEWS if name != "some with their start"])
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("noise", ["white", "scaled over time", "by agent", "ar1", "negative ar1"])
def test_a_prior_gives_the_conditional_mean_of_the_joint_law(noise: str, start: str, view: str) -> None:
    model = small_model(noise, start)
    run = pp.simulate(model, STEPS, 3, seed=5)
    Q, V, Y = dense_regression(model, run, VIEWS[view])
    P = 0.8 * np.eye(AGENTS)
    gain = np.linalg.solve(Q @ P @ Q.T + V, Q @ P).T
    estimate = gls(model, outputs_of(run, model, VIEWS[view]), PRIOR)
    np.testing.assert_allclose(estimate.value.T, 0.3 + gain @ (Y - Q @ np.full((AGENTS, 1), 0.3)), atol=1e-8)
    np.testing.assert_allclose(np.asarray(estimate.covariance), P - gain @ Q @ P, atol=1e-9)


@pytest.mark.parametrize("noise", ["white", "ar1", "by agent"])
def test_without_a_prior_it_is_the_textbook_formula(noise: str) -> None:
    model = small_model(noise)
    run = pp.simulate(model, STEPS, 3, seed=6)
    Q, V, Y = dense_regression(model, run, Observation())
    W = np.linalg.inv(V)
    estimate = gls(model, outputs_of(run, model), None)
    np.testing.assert_allclose(np.asarray(estimate.covariance), np.linalg.inv(Q.T @ W @ Q), rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(estimate.value.T, np.linalg.solve(Q.T @ W @ Q, Q.T @ W @ Y), atol=1e-8)


def test_what_noise_does_not_reach_is_found_exactly() -> None:
    quiet = small_model("some without")
    run = pp.simulate(quiet, STEPS, 2, seed=1)
    estimate = gls(quiet, outputs_of(run, quiet))
    np.testing.assert_allclose(estimate.variance[[0, 3]], 0.0, atol=1e-12)
    np.testing.assert_allclose(estimate.value[:, [0, 3]], np.tile(quiet.x0[[0, 3]], (2, 1)), atol=1e-8)
    silent = pp.Model(pp.networks.path(4), [1.0, 2.0, 3.0, 4.0], [0.5, 1.0, 1.5, 2.0])
    one_agent = outputs_of(pp.simulate(silent, 9), silent, Observation(agents=[0]))
    np.testing.assert_allclose(gls(silent, one_agent).value[0], silent.x0, atol=1e-5)


def test_p_values_are_uniform_under_the_model_and_tiny_under_another() -> None:
    model = small_model("ar1")
    run = pp.simulate(model, STEPS, 2000, seed=8)
    estimate = recover(run, model, "gls", VIEWS["some agents"])
    p = estimate.diagnostics.tests["size"] if estimate.diagnostics else None
    assert p is not None
    assert abs(p.mean() - 0.5) < 4 * np.sqrt(1 / 12 / 2000)
    assert abs(np.mean(p < 0.1) - 0.1) < 4 * np.sqrt(0.09 / 2000)
    louder = pp.Model(model.network, model.x0, model.s, noise=pp.Gaussian(0.1))
    other = recover(run, louder, "gls", VIEWS["some agents"]).goodness_of_fit
    assert other is not None
    assert other.max() < 1e-6


def test_a_system_that_is_too_large_is_refused_with_a_way_out() -> None:
    model = pp.Model(pp.networks.cycle(100), np.zeros(100), noise=pp.Gaussian(1.0))
    with pytest.raises(pp.errors.TooLargeError, match="kalman"):
        gls(model, outputs_of(pp.simulate(model, 50), model))
