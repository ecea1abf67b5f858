"""The observer of complete outputs: closed forms, a dense oracle, and what happens at a million agents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import peerpressure as pp
from peerpressure.recovery import Observation, recover
from peerpressure.recovery.least_squares import time_weights
from tests.builders import random_model
from tests.recovery.cases import STEPS, small_model

TWO: dict[str, Any] = {"hidden": [1.0, 2.0], "noise": pp.Gaussian(1.0)}


def test_two_agents_whose_start_is_known() -> None:
    model = pp.Model(pp.networks.k2(), start=[0.0, 0.0], **TWO)
    np.testing.assert_allclose(recover(pp.simulate(model, 100), model).variance, 0.01)


def test_two_agents_whose_start_is_not_seen() -> None:
    model = pp.Model(pp.networks.k2(), **TWO)
    F = np.array([[1.0, 1.0], [1.0, 1.0]])
    expected = np.linalg.inv(99 * np.eye(2) + F.T @ F).diagonal()
    np.testing.assert_allclose(recover(pp.simulate(model, 100), model).variance, expected)


def test_one_step_tells_two_agents_from_a_known_start_apart_but_not_from_an_unseen_one() -> None:
    known, unseen = pp.Model(pp.networks.k2(), start=[0.0, 0.0], **TWO), pp.Model(pp.networks.k2(), **TWO)
    assert recover(pp.simulate(known, 1), known).identified.all()
    estimate = recover(pp.simulate(unseen, 1), unseen)
    assert not estimate.identified.any()
    assert estimate.rank == 1
    assert np.isinf(estimate.variance).all()


def test_a_held_mask_does_not_cover_a_start_from_the_hidden_opinions() -> None:
    """Neighbours' bare x₀ enters at step 1, and the mask cancels between steps 1 and 2."""
    network = pp.networks.complete(5)
    mask = pp.Gaussian(1.0, temporal="frozen")
    model = pp.Model(network, hidden=np.arange(5.0), noise=mask)
    estimate = recover(pp.simulate(model, 2, 3, seed=1), model)
    np.testing.assert_allclose(estimate.value, np.tile(model.x0, (3, 1)), atol=1e-9)
    np.testing.assert_allclose(estimate.variance, 0, atol=1e-12)
    covered = pp.Model(network, hidden=np.arange(5.0), noise=mask, start=np.zeros(5))
    np.testing.assert_allclose(recover(pp.simulate(covered, 200), covered).variance, 1.0)


def test_a_mask_that_changes_its_size_is_no_mask() -> None:
    noise = pp.Gaussian(1.0, time_scale=pp.Power(-0.5), temporal="frozen")
    model = random_model(6, noise=noise, start=np.zeros(6))
    estimate = recover(pp.simulate(model, 5), model)
    np.testing.assert_allclose(estimate.value[0], model.x0, atol=1e-9)
    # The mask cancels, and the last digits of the outputs are all that is left of its size.
    assert (estimate.std < 1e-12).all()


@given(
    phi=st.floats(-0.9, 0.9), exponent=st.floats(-1.0, 1.0), times=st.sets(st.integers(1, 30), min_size=1, max_size=12)
)
@settings(max_examples=60, deadline=None)
def test_time_weights_are_the_best_linear_ones(phi: float, exponent: float, times: set[int]) -> None:
    noise = pp.Gaussian(1.0, time_scale=pp.Power(exponent), temporal=pp.AR1(phi))
    t = np.array(sorted(times))
    K = noise.time_covariance(t)
    ones = np.ones(t.size)
    information_ = ones @ np.linalg.solve(K, ones)
    weights = time_weights(noise, t)
    assert weights.information == pytest.approx(information_, rel=1e-8)
    np.testing.assert_allclose(weights.weights[:, 0], np.linalg.solve(K, ones) / information_, rtol=1e-6, atol=1e-9)


def test_pressure_beyond_all_digits_ends_what_can_be_read() -> None:
    model = random_model(6, pressure=pp.Power(12.0), noise=pp.Gaussian(1.0), start=np.zeros(6))
    estimate = recover(pp.simulate(model, 40, 500, seed=1), model)
    assert (estimate.variance > 1 / 40).all()
    np.testing.assert_allclose((estimate.residuals() ** 2).mean(axis=0), estimate.variance, rtol=0.35)


def test_another_model_is_noticed() -> None:
    model = random_model(20, noise=pp.Gaussian(1.0))
    run = pp.simulate(model, 50, seed=1)
    for other in (
        pp.Model(model.network, model.hidden, model.stubbornness * 1.5, model.pressure, model.noise),
        pp.Model(model.network, model.hidden, model.stubbornness, "1.2*t", model.noise),
        pp.Model(model.network, model.hidden, model.stubbornness, model.pressure, pp.Gaussian(1.2)),
    ):
        for method in ("innovations", "ols"):
            estimate = recover(run, other, method)
            assert estimate.goodness_of_fit is not None
            assert estimate.goodness_of_fit[0] < 1e-4
            assert "the model does not fit the data" in str(estimate)


@pytest.mark.parametrize("noise", [pp.NoNoise(), pp.noise.Uniform(0.1), pp.Gaussian(1.0, temporal="frozen")])
def test_outputs_that_the_model_cannot_show_are_refused(noise: pp.noise.Noise) -> None:
    model = random_model(8, noise=noise)
    recover(pp.simulate(model, 20), model)
    made_by = pp.Model(model.network, model.hidden, model.stubbornness, noise=pp.Gaussian(2.0))
    with pytest.raises(pp.errors.InvalidInputError, match="no hidden opinion explains"):
        recover(pp.simulate(made_by, 20), model)


def test_refuses_what_it_cannot_undo() -> None:
    model = small_model()
    run = pp.simulate(model, STEPS)
    for view, words in (
        (Observation(agents=[0, 1]), "all agents, got 2 of 7"),
        (Observation(rounding=0.1), "rounded to 0.1"),
        (Observation(times=[1, 2, 4]), "every step from 1 on, got 3 steps from 1 to 4"),
        (Observation(first_step=3), "every step from 1 on"),
    ):
        with pytest.raises(pp.errors.InvalidInputError, match=words):
            recover(run, model, "innovations", observation=view)
