"""Filter and generalised least squares: what they can tell apart, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.recovery import Observation, Prior, answers_of, recover
from tests.builders import random_model


def test_gains_that_vanish_in_the_last_digits_do_no_harm() -> None:
    model = random_model(6, 1, noise=pp.Gaussian(1.0), pressure=pp.StretchedExponential(), start=np.zeros(6))
    run = pp.simulate(model, 3000, 2, seed=4)
    assert model.update(3000).gain.max() < 1e-14
    early = answers_of(run, model, Observation(times=range(1, 301)))
    kalman, innovations = (recover(early, model, method).value for method in ("kalman", "innovations"))
    np.testing.assert_allclose(kalman, innovations, atol=1e-6)
    late = recover(run, model, "kalman")
    assert (late.std < 1 / np.sqrt(1000)).all()
    assert (np.abs(late.residuals()) < 5 * late.std).all()


def test_agents_that_look_alike_are_not_told_apart() -> None:
    model = pp.Model(pp.networks.star(6), np.arange(6.0), [1.0, 1.0, 1.0, 1.0, 2.0, 3.0], noise=pp.Gaussian(1.0))
    run = pp.simulate(model, 30, 3, seed=1)
    hub = max(model.network.labels, key=lambda label: model.network.degrees[model.network.index(label)])
    data = answers_of(run, model, Observation(agents=[hub]))
    for method in ("gls", "kalman"):
        estimate = recover(data, model, method)
        np.testing.assert_array_equal(estimate.identified, [True, False, False, False, True, True])
        assert estimate.rank == 4
        assert np.isinf(estimate.condition)
        assert np.isinf(estimate.variance[1:4]).all()
        # Their sum is identified, and so are they once there is a prior.
        ones = np.array([0.0, 1.0, 1.0, 1.0, 0.0, 0.0])
        error = estimate.residuals() @ ones
        assert (np.abs(error) < 5 * np.sqrt(ones @ estimate.covariance @ ones)).all()
        assert recover(data, model, method, prior=Prior(2.0, 9.0)).identified.all()


def test_news_travels_one_edge_a_step() -> None:
    model = pp.Model(pp.networks.path(6), np.zeros(6), noise=pp.Gaussian(1.0), start=np.zeros(6))
    data = answers_of(pp.simulate(model, 4), model, Observation(agents=[0]))
    np.testing.assert_array_equal(recover(data, model, "kalman").identified, [True, True, True, True, False, False])


def test_outputs_of_another_model_are_refused_where_noise_leaves_no_room() -> None:
    model = pp.Model(pp.networks.path(4), np.arange(4.0))
    other = pp.Model(pp.networks.path(4), np.arange(4.0), stubbornness=3.0)
    data = answers_of(pp.simulate(model, 20), other)
    for method in ("gls", "kalman"):
        with pytest.raises(pp.errors.InvalidInputError, match="follow the model"):
            recover(data, other, method)
