"""Estimates and priors as things in the hand: numbers, tables, text, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.recovery import METHODS, Prior, recover
from tests.recovery.cases import STEPS, small_model


def test_numbers_of_an_estimate() -> None:
    model = small_model()
    estimate = recover(pp.simulate(model, STEPS, 400, seed=1), model)
    np.testing.assert_allclose(estimate.std**2, estimate.variance)
    np.testing.assert_allclose(estimate.variance_of([2, 0]), estimate.variance[[2, 0]])
    np.testing.assert_allclose(estimate.residuals(), estimate.value - model.x0)
    np.testing.assert_allclose(estimate.residuals(np.zeros(7)), estimate.value)
    low, high = estimate.interval(0.9)
    inside = np.mean((low <= model.x0) & (model.x0 <= high))
    assert abs(inside - 0.9) < 0.03


@pytest.mark.parametrize("method", METHODS)
def test_reads_well(method: str) -> None:
    model = small_model()
    estimate = recover(pp.simulate(model, STEPS, 3, seed=1), model, method)
    text = str(estimate)
    assert text.startswith(f"Hidden opinions of 7 agents by {method}, 3 replicates")
    assert "and 1 more" in text
    assert "the model fits the data" in text
    assert max(map(len, text.splitlines())) <= 100
    assert estimate._repr_html_().count("<tr>") == len(text.splitlines()) - 1
    rows = estimate.to_dataframe()
    assert list(rows.columns) == ["replicate", "agent", "value", "std", "identified"]
    assert len(rows) == 21


def test_labels_are_escaped() -> None:
    network = pp.Network([[0, 1], [1, 0]], labels=["<b>", "b"])
    model = pp.Model(network, hidden=[0.0, 1.0], noise=pp.Gaussian(1.0))
    assert "&lt;b&gt;" in recover(pp.simulate(model, 5), model)._repr_html_()


def test_unidentified_agents_are_said_to_be() -> None:
    model = pp.Model(pp.networks.k2(), hidden=[0.0, 1.0], noise=pp.Gaussian(1.0))
    estimate = recover(pp.simulate(model, 1), model, "ols")
    assert "0 of 2 agents, rank 1" in str(estimate)
    assert "not identified" in str(estimate)
    assert np.isinf(estimate.std).all()


def test_uniform_prior_matches_moments() -> None:
    prior = Prior.uniform(-1.0, 3.0)
    assert float(prior.mean) == 1.0
    assert float(prior.variance) == pytest.approx(16 / 12)
    assert prior.is_diagonal
    np.testing.assert_array_equal(prior.covariance(2), np.eye(2) * 16 / 12)


def test_prior_given_some_opinions_is_the_conditional_law() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    P, m = root @ root.T + np.eye(4), rng.normal(size=4)
    known = np.array([[np.nan, 0.3, np.nan, -1.0], [np.nan, 0.1, np.nan, 2.0]])
    means, rest = Prior(m, P).given(known)
    precision = np.linalg.inv(P)[np.ix_([0, 2], [0, 2])]
    np.testing.assert_allclose(rest.variance, np.linalg.inv(precision))
    cross = np.linalg.inv(P)[np.ix_([0, 2], [1, 3])]
    expected = m[[0, 2]] - (known[:, [1, 3]] - m[[1, 3]]) @ (np.linalg.solve(precision, cross)).T
    np.testing.assert_allclose(means, expected)
    assert "correlated" in repr(Prior(m, P))


BAD: dict[str, tuple[Any, Any, str]] = {
    "no variance": (0.0, 0.0, "variance of a prior must be positive, got 0"),
    "negative": (0.0, [1.0, -1.0], "must be positive, got -1"),
    "text": ("a", 1.0, "mean of a prior must be finite"),
    "nan": (0.0, float("nan"), "variance of a prior must be finite"),
    "matrix of means": (np.eye(2), 1.0, "mean of a prior"),
    "not square": (0.0, np.ones((2, 3)), "square and symmetric"),
    "not symmetric": (0.0, [[1.0, 0.5], [0.0, 1.0]], "square and symmetric"),
    "not definite": (0.0, [[1.0, 2.0], [2.0, 1.0]], "positive definite, got smallest eigenvalue -1"),
    "sizes": ([0.0, 1.0], [1.0, 1.0, 1.0], "got 2 means and 3 variances"),
}


@pytest.mark.parametrize("case", BAD)
def test_priors_refuse(case: str) -> None:
    mean, variance, words = BAD[case]
    with pytest.raises(pp.errors.InvalidInputError, match=words):
        Prior(mean, variance)


def test_priors_of_other_agents_are_refused() -> None:
    model = small_model()
    with pytest.raises(pp.errors.InvalidInputError, match="one for each of the 7 agents, got 3 of them"):
        recover(pp.simulate(model, STEPS), model, prior=Prior([0.0, 1.0, 2.0], 1.0))
    with pytest.raises(pp.errors.InvalidInputError, match="from a lower to a higher"):
        Prior.uniform(1.0, 0.0)


@pytest.mark.parametrize("level", [0, 1, 95, "0.95", float("nan"), None])
def test_a_level_is_a_number_between_0_and_1(level: Any) -> None:
    model = pp.Model(pp.networks.k2(), hidden=[1.0, 2.0], noise=pp.Gaussian(1.0), pressure=0.5)
    run = pp.simulate(model, 50, seed=1)
    for ask in (recover(run, model).interval, pp.infer_network(run, 0.5).interval):
        with pytest.raises(pp.errors.InvalidInputError, match="strictly between 0 and 1"):
            ask(level)
