"""The paper's regression and its weighted cousin, against dense matrices and closed forms."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.errors import PeerPressureError
from peerpressure.recovery import answers_of, recover
from peerpressure.recovery.least_squares import conjugate_gradients
from tests.builders import random_model
from tests.recovery.cases import STEPS, seen_rows, small_model


@pytest.mark.parametrize(("steps", "exact"), [(100, 1.59903), (1000, 1.70100)])
def test_two_agents(steps: int, exact: float) -> None:
    """The difference of two agents has f_t = (t+1)e_t = ε_t − f_{t−1}, which gives the variance in closed form."""
    model = pp.Model(pp.networks.k2(), hidden=[1.0, 2.0], noise=pp.Gaussian(1.0))
    run = pp.simulate(model, steps, 20, seed=1)
    estimate = recover(run, model, "ols")
    np.testing.assert_allclose(estimate.variance, exact, rtol=1e-5)
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
    rows, y = seen_rows(model, answers_of(run, model))
    Q = rows.B
    x, rss, _, _ = np.linalg.lstsq(Q, y[:, 0], rcond=None)
    estimate = recover(run, model, "ols")
    np.testing.assert_allclose(estimate.value[0], x, atol=1e-9)
    textbook = rss[0] / (Q.shape[0] - Q.shape[1]) * np.linalg.inv(Q.T @ Q)
    assert estimate.homoskedastic_covariance is not None
    np.testing.assert_allclose(estimate.homoskedastic_covariance, textbook, rtol=1e-7)
    assert recover(run, model, "wls").homoskedastic_covariance is None


@pytest.mark.parametrize("steps", [10, 100])
def test_few_steps_precondition_many(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("peerpressure.recovery._regression")
    model = random_model(150, noise=pp.Gaussian(1.0))
    data = answers_of(pp.simulate(model, steps, seed=1), model)
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


def test_too_many_iterations_are_an_error_that_says_how_far_they_came() -> None:
    # The eigenvalues spread over ten orders of magnitude, each of which takes an iteration of its own.
    eigenvalues = np.geomspace(1e-10, 1.0, 40)[:, None]
    with pytest.raises(PeerPressureError, match=r"residual of 1e-11 in 7 iterations.*, got \d.*; give a prior"):
        conjugate_gradients(lambda x: eigenvalues * x, np.ones((40, 1)), np.ones(40), max_iter=7)
