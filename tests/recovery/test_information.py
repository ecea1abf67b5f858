"""Fisher information: a dense oracle, closed forms, and that seeing more never tells less."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import linalg, sparse

import peerpressure as pp
from peerpressure.recovery import Observation, information
from peerpressure.recovery.limits import DENSE_LIMIT
from tests.builders import random_model
from tests.recovery.cases import STARTS, STEPS, VIEWS, dense_regression, small_model


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("noise", ["white", "by agent", "ar1", "negative ar1"])
def test_equals_the_dense_joint_law(noise: str, start: str, view: str) -> None:
    model = small_model(noise, start)
    Q, cov, _ = dense_regression(model, pp.simulate(model, STEPS), VIEWS[view])
    told = information(model, STEPS, VIEWS[view])
    free = VIEWS[view].resolve(model, range(STEPS + 1)).free
    J = Q.T @ np.linalg.solve(cov, Q)
    matrix = told.matrix @ np.eye(model.n)
    np.testing.assert_allclose(matrix[np.ix_(free, free)], J, rtol=1e-7, atol=1e-8 * np.abs(J).max())
    np.testing.assert_allclose(told.bound[free], np.linalg.inv(J).diagonal(), rtol=1e-6)
    known = np.setdiff1d(np.arange(model.n), free)
    assert (told.bound[known] == 0).all()
    assert np.isinf(told.diagonal[known]).all()


@given(seed=st.integers(0, 50), data=st.data())
@settings(max_examples=25, deadline=None)
def test_seeing_more_never_tells_less(seed: int, data: st.DataObject) -> None:
    kinds = [pp.Gaussian(0.5), pp.Gaussian(0.5, temporal=pp.AR1(0.7)), pp.Gaussian(0.5, temporal="frozen")]
    model = random_model(6, seed, noise=data.draw(st.sampled_from(kinds)))
    less = data.draw(st.sets(st.integers(0, 5), min_size=1, max_size=5))
    more = less | data.draw(st.sets(st.integers(0, 5)))
    times = sorted(data.draw(st.sets(st.integers(1, 8), min_size=1)))
    bounds = [
        information(model, steps, view).bound
        for steps, view in (
            (8, Observation(agents=sorted(less), times=times, rounding=0.1)),
            (8, Observation(agents=sorted(less), times=times)),
            (8, Observation(agents=sorted(more), times=times)),
            (8, Observation(agents=sorted(more))),
            (9, Observation(agents=sorted(more))),
            (9, Observation()),
            (9, Observation(sees_start=True)),
        )
    ]
    for blind, sharp in pairwise(bounds):
        assert (sharp <= blind * (1 + 1e-6) + 1e-9).all()


def test_closed_forms() -> None:
    given_start = random_model(9, noise=pp.Gaussian(2.0), start=np.zeros(9))
    np.testing.assert_allclose(information(given_start, 50).bound, 4 / 50)
    assert information(given_start, 50).of(3) == pytest.approx(50 / 4)
    model = random_model(9, noise=pp.Gaussian(2.0), pressure=pp.Linear())
    F = np.eye(9) + (model.network.adjacency / model.s[:, None]).toarray()
    J = (49 * np.eye(9) + F.T @ F) / 4
    np.testing.assert_allclose(information(model, 50).matrix @ np.eye(9), J)
    np.testing.assert_allclose(information(model, 50).diagonal, J.diagonal())


def test_a_large_network_has_an_operator() -> None:
    rng = np.random.default_rng(0)
    n = 2100
    model = pp.Model(
        pp.networks.barabasi_albert(n, 2, seed=1), np.zeros(n), rng.uniform(0.5, 1, n), noise=pp.Gaussian(1.0)
    )
    told = information(model, 30)
    F = sparse.eye_array(n) + sparse.diags_array(1 / model.s) @ model.network.adjacency
    J = (29 * sparse.eye_array(n) + F.T @ F).toarray()
    np.testing.assert_allclose(told.diagonal, J.diagonal())
    # The lower half of the inverse, from Cholesky factors.
    half, failed = linalg.lapack.dpotri(linalg.cholesky(J, lower=True), lower=1)
    assert not failed
    inverse = np.tril(half) + np.tril(half, -1).T
    np.testing.assert_allclose(told.covariance @ np.eye(n)[:, :4], inverse[:, :4], atol=1e-10)
    np.testing.assert_allclose(told.bound.mean(), inverse.diagonal().mean(), rtol=0.01)


def test_what_is_not_seen_may_not_be_identified() -> None:
    model = pp.Model(pp.networks.k2(), hidden=[0.0, 0.0], noise=pp.Gaussian(1.0))
    told = information(model, 1)
    assert not told.identified.any()
    assert told.of(0) == 0
    assert "nobody identified" in repr(told)
    sharp = information(model, 5, Observation(sees_start=True))
    assert sharp.of(0) == np.inf
    assert "2 identified" in repr(sharp)


def test_refuses_bad_steps_and_large_partial_views() -> None:
    model = small_model()
    for steps in (-1, 1.5, True):
        with pytest.raises(pp.errors.InvalidInputError, match="steps must be a whole number"):
            information(model, steps)  # type: ignore[arg-type]
    n = 1500
    large = pp.Model(pp.networks.cycle(n), np.zeros(n), noise=pp.Gaussian(1.0))
    with pytest.raises(pp.errors.TooLargeError, match="at most 1000 agents, got 1500"):
        information(large, 5, Observation(agents=[0]))


def test_the_information_about_one_agent_is_exact_however_many_there_are() -> None:
    """Beyond the dense limit J is an operator; a hub's bound must still be the inverse of J at its place."""
    n = DENSE_LIMIT + 100
    model = random_model(n, weighted=False, noise=pp.Gaussian(1.0))
    info = information(model, 10)
    hub = int(np.argmax(model.network.degrees))
    J = np.asarray(info.matrix @ np.eye(n))
    column = linalg.solve(J, np.eye(n)[:, hub], assume_a="pos")
    np.testing.assert_allclose(info.of(hub), 1 / column[hub], rtol=1e-6)
