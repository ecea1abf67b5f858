"""The paper's regression and its weighted cousin, against dense matrices and closed forms."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.errors import PeerPressureError
from peerpressure.recovery import METHODS, Observation, Prior, outputs_of, recover
from peerpressure.recovery.least_squares import conjugate_gradients
from tests.builders import random_model
from tests.recovery.cases import NOISES, STARTS, STEPS, VIEWS, dense_design, dense_regression, small_model


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("noise", NOISES)
def test_sweeps_are_the_dense_regression(noise: str, start: str, view: str) -> None:
    model = small_model(noise, start)
    run = pp.simulate(model, STEPS, 2, seed=1)
    Q, cov, y = dense_regression(model, run, VIEWS[view])
    design = dense_design(model, run, VIEWS[view])
    shape = (design.seen.times.size, design.seen.agents.size)
    W = np.random.default_rng(0).uniform(0.5, 2.0, shape)
    np.testing.assert_allclose(design.columns().reshape(Q.shape), Q, atol=1e-13)
    rows = np.random.default_rng(1).normal(size=(*shape, 3))
    np.testing.assert_allclose(design.adjoint(rows), Q.T @ rows.reshape(-1, 3), atol=1e-12)
    np.testing.assert_allclose(design.covary(rows).reshape(-1, 3), cov @ rows.reshape(-1, 3), atol=1e-12)
    H, V = design.matrices(W)
    weighted = Q * W.reshape(-1, 1)
    np.testing.assert_allclose(H, Q.T @ weighted, atol=1e-12)
    np.testing.assert_allclose(V, weighted.T @ cov @ weighted, atol=1e-12)
    full = VIEWS[view].resolve(model, run.times).times
    assert np.array_equal(full, design.seen.times)
    np.testing.assert_allclose(design.observed(outputs_of(run, model, VIEWS[view])).reshape(y.shape), y, atol=1e-12)


@pytest.mark.parametrize(("steps", "exact", "printed"), [(100, 1.59903, 2.19033), (1000, 1.70100, 2.14457)])
def test_two_agents(steps: int, exact: float, printed: float) -> None:
    """The difference of two agents has f_t = (t+1)e_t = ε_t − f_{t−1}, which gives the variance in closed form."""
    model = pp.Model(pp.networks.k2(), hidden=[1.0, 2.0], noise=pp.Gaussian(1.0))
    run = pp.simulate(model, steps, 20, seed=1)
    estimate = recover(run, model, "ols")
    np.testing.assert_allclose(estimate.variance, exact, rtol=1e-5)
    design = dense_design(model, run, Observation())
    np.testing.assert_allclose(np.linalg.inv(design.matrices()[0]).diagonal(), printed, rtol=1e-5)
    alternating, total = np.zeros(steps + 2), np.zeros(steps + 2)
    for u in range(steps, 0, -1):
        alternating[u] = (u % 2 == 0) / (u + 1) ** 2 - alternating[u + 1]
        total[u] = 1 / (u + 1) + total[u + 1]
    scale = sum(1 / (t + 1) ** 2 for t in range(2, steps + 1, 2))
    closed = ((alternating**2).sum() / scale**2 + (total**2).sum() / steps**2) / 2
    np.testing.assert_allclose(estimate.variance, closed, rtol=1e-9)


def test_homoskedastic_covariance_is_the_textbooks() -> None:
    model = small_model()
    run = pp.simulate(model, STEPS, seed=2)
    Q, _, y = dense_regression(model, run, Observation())
    x, rss, _, _ = np.linalg.lstsq(Q, y[:, 0], rcond=None)
    estimate = recover(run, model, "ols")
    np.testing.assert_allclose(estimate.value[0], x, atol=1e-9)
    textbook = rss[0] / (Q.shape[0] - Q.shape[1]) * np.linalg.inv(Q.T @ Q)
    assert estimate.homoskedastic_covariance is not None
    np.testing.assert_allclose(estimate.homoskedastic_covariance, textbook, rtol=1e-7)
    assert recover(run, model, "wls").homoskedastic_covariance is None


@pytest.mark.parametrize("start", ["hidden", "given"])
def test_conjugate_gradients_agree_with_normal_equations(start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(50, noise=pp.Gaussian(1.0), start="hidden" if start == "hidden" else np.ones(50))
    data = outputs_of(pp.simulate(model, 40, 3, seed=1), model)
    dense = METHODS["ols"].estimate(model, data, None)
    as_if_large(monkeypatch)
    large = METHODS["ols"].estimate(model, data, None)
    np.testing.assert_allclose(large.value, dense.value, atol=1e-6)
    np.testing.assert_allclose(large.variance_of([0, 7, 33]), dense.variance[[0, 7, 33]], rtol=1e-6)
    assert "conjugate gradients" in str(large)
    assert 1 < large.condition < 1e6


def as_if_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat networks of more than five agents as too large for dense matrices."""
    for module in ("_regression", "_innovations", "_information", "_estimate"):
        monkeypatch.setattr(import_module(f"peerpressure.recovery.{module}"), "DENSE_LIMIT", 5)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("noise", ["white", "ar1", "frozen"])
def test_single_variances_are_those_of_the_dense_regression(
    noise: str, view: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small_model(noise)
    run = pp.simulate(model, STEPS, 2, seed=1)
    Q, cov, y = dense_regression(model, run, VIEWS[view])
    G = np.linalg.inv(Q.T @ Q)
    as_if_large(monkeypatch)
    data = outputs_of(run, model, VIEWS[view])
    large = METHODS["ols"].estimate(model, data, None)
    free = data.seen.free
    np.testing.assert_allclose(large.value[:, free].T, G @ Q.T @ y, atol=1e-6)
    np.testing.assert_allclose(large.variance_of(free), (G @ Q.T @ cov @ Q @ G).diagonal(), rtol=1e-6)
    assert large.identified.all()
    assert large.rank == 7
    known = np.setdiff1d(np.arange(7), free)
    assert (large.variance_of(known) == 0).all()


def test_a_single_variance_takes_one_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("peerpressure.recovery._regression")
    as_if_large(monkeypatch)
    model = random_model(40, noise=pp.Gaussian(1.0))
    large = METHODS["ols"].estimate(model, outputs_of(pp.simulate(model, 10, seed=1), model), None)
    solved, solve = [], module.NormalEquations.solve

    def counting(self: Any, rhs: Any) -> Any:
        solved.append(rhs.shape[1])
        return solve(self, rhs)

    monkeypatch.setattr(module.NormalEquations, "solve", counting)
    large.variance_of([0, 7, 33])
    assert sum(solved) == 3


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("steps", [10, 100])
def test_few_steps_precondition_many(start: str, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("peerpressure.recovery._regression")
    model = random_model(300, noise=pp.Gaussian(1.0), start="hidden" if start == "hidden" else np.ones(300))
    data = outputs_of(pp.simulate(model, steps, seed=1), model)
    design = module.design_of(model, data)
    products, forward = [0], module.RegressionDesign.forward

    def counting(self: Any, z: Any) -> Any:
        products[0] += self.seen.last
        return forward(self, z)

    monkeypatch.setattr(module.RegressionDesign, "forward", counting)
    normal, rhs = module.NormalEquations(design), design.adjoint(design.observed(data))
    found = normal.solve(rhs)
    nested, products[0] = products[0], 0
    conjugate_gradients(normal.apply, rhs, normal.diagonal)
    assert nested <= (0.7 if steps > 10 else 1.0) * products[0]
    H = design.matrices()[0]
    np.testing.assert_allclose(found, np.linalg.solve(H, rhs), atol=1e-6)
    scale = np.sqrt(normal.diagonal)
    assert 1 / 3 < normal.condition(rhs) / np.linalg.cond(H / scale / scale[:, None]) < 3


def test_unidentified_agents_of_a_large_network_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # Leaves of a star that are not observed enter the outputs only through their sum.
    model = pp.Model(pp.networks.star(12), np.linspace(0, 1, 12), noise=pp.Gaussian(0.5))
    run, look = pp.simulate(model, 20, seed=1), Observation(agents=range(9))
    dense = recover(run, model, "ols", look)
    as_if_large(monkeypatch)
    large = recover(run, model, "ols", look)
    np.testing.assert_array_equal(large.identified, np.arange(12) < 9)
    np.testing.assert_array_equal(large.identified, dense.identified)
    assert large.rank == dense.rank == 10
    np.testing.assert_allclose(large.variance_of(range(12)), dense.variance, rtol=1e-6)
    # Estimated from random probes, within a stated error, and infinite for the others.
    np.testing.assert_allclose(large.variance[:9], dense.variance[:9], rtol=0.7)
    assert np.isinf(large.variance[9:]).all()


def test_the_rank_of_a_large_network_is_a_bound_where_much_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    model = pp.Model(pp.networks.star(12), np.linspace(0, 1, 12), noise=pp.Gaussian(0.5))
    run, look = pp.simulate(model, 20, seed=1), Observation(agents=range(6))
    dense = recover(run, model, "ols", look)
    as_if_large(monkeypatch)
    large = recover(run, model, "ols", look)
    np.testing.assert_array_equal(large.identified, dense.identified)
    assert dense.rank == 7
    assert large.rank == 6
    assert "rank is a lower bound" in large.note


def test_weights_are_the_inverse_variances() -> None:
    model = small_model("by agent")
    run = pp.simulate(model, STEPS, seed=2)
    Q, cov, y = dense_regression(model, run, VIEWS["some agents"])
    W = np.diag(1 / cov.diagonal())
    G = np.linalg.inv(Q.T @ W @ Q)
    estimate = recover(run, model, "wls", VIEWS["some agents"])
    np.testing.assert_allclose(estimate.value[0], G @ Q.T @ W @ y[:, 0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(estimate.covariance @ np.eye(7), G @ Q.T @ W @ cov @ W @ Q @ G, rtol=1e-6, atol=1e-9)


def test_large_networks_are_refused_where_a_dense_matrix_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    as_if_large(monkeypatch)
    model = small_model()
    run = pp.simulate(model, STEPS)
    for method, prior in (("wls", None), ("snapshot", None), ("ols", Prior(0.0, 1.0))):
        with pytest.raises(pp.errors.TooLargeError, match="at most 5 agents, got 7"):
            recover(run, model, method, prior=prior)


def test_snapshot_uses_the_last_step_alone() -> None:
    model = small_model()
    run = pp.simulate(model, STEPS, 2, seed=1)
    last = Observation(times=[STEPS])
    ours = recover(run, model, "snapshot")
    np.testing.assert_allclose(ours.value, recover(run, model, "snapshot", last).value)
    Q, cov, y = dense_regression(model, run, last)
    J = Q.T @ np.linalg.solve(cov, Q)
    np.testing.assert_allclose(ours.value.T, np.linalg.solve(J, Q.T @ np.linalg.solve(cov, y)), rtol=1e-6)
    np.testing.assert_allclose(ours.covariance @ np.eye(7), np.linalg.inv(J), rtol=1e-6, atol=1e-7)


def test_too_many_iterations_are_an_error_that_says_how_far_they_came() -> None:
    # The eigenvalues spread over ten orders of magnitude, each of which takes an iteration of its own.
    eigenvalues = np.geomspace(1e-10, 1.0, 40)[:, None]
    with pytest.raises(PeerPressureError, match=r"residual of 1e-11 in 7 iterations.*, got \d.*; give a prior"):
        conjugate_gradients(lambda x: eigenvalues * x, np.ones((40, 1)), np.ones(40), max_iter=7)
