"""The method that can read the outputs is taken by default, and the estimate says which."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.networks import barabasi_albert

NETWORK = barabasi_albert(10, 2, seed=1)
MODEL = pp.Model(NETWORK, np.linspace(0, 1, 10), pressure=0.5, noise=pp.Gaussian(0.2))
RUN = pp.simulate(MODEL, 60, seed=1)
assert RUN.states is not None
GAPS = np.array(RUN.states)
GAPS[0, 7, 3] = GAPS[0, 20, 5] = np.nan
VIEWS = {
    "complete": (RUN, None, "innovations", ""),
    "gaps": (replace(RUN, states=GAPS), None, "kalman", "answers are missing"),
    "some agents": (RUN, pp.Observation(agents=[0, 1, 2]), "kalman", "3 of 10 agents are observed"),
    "some steps": (RUN, pp.Observation(times=range(1, 60, 3)), "kalman", "steps are missing"),
    "rounding": (RUN, pp.Observation(rounding=0.05), "kalman", "answers are rounded to 0.05"),
}


@pytest.mark.parametrize("view", VIEWS)
def test_the_method_that_can_read_the_outputs_is_chosen(view: str) -> None:
    data, look, method, why = VIEWS[view]
    estimate = pp.recover(data, MODEL, observation=look)
    expected = pp.recover(data, MODEL, method, look)
    assert estimate.method == method
    assert method in str(estimate).splitlines()[0]
    assert why in estimate.note
    np.testing.assert_array_equal(estimate.value, expected.value)
    np.testing.assert_array_equal(estimate.std, expected.std)


@pytest.mark.parametrize("view", VIEWS)
def test_noise_of_unknown_size_is_estimated(view: str) -> None:
    data, look, method, _ = VIEWS[view]
    unknown = pp.Model(NETWORK, pressure=0.5)
    estimate = pp.recover(data, unknown, observation=look)
    assert estimate.method == method
    assert "noise of unknown size" in estimate.note
    assert isinstance(estimate.model.noise, pp.Gaussian)
    assert abs(float(estimate.model.noise.std) - 0.2) < 0.05
    assert np.abs(estimate.residuals(MODEL.x0) / estimate.std).max() < 4


def test_outputs_without_noise_that_a_model_explains_are_left_alone() -> None:
    quiet = replace(MODEL, noise=pp.NoNoise())
    assert pp.recover(pp.simulate(quiet, 20), quiet).std.max() < 1e-6
    with pytest.raises(InvalidInputError):
        pp.recover(RUN, quiet)


def test_too_few_outputs_for_the_noise_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"noise of unknown size.*give the model its noise"):
        pp.recover(RUN, pp.Model(NETWORK, pressure=0.5), observation=pp.Observation(times=[1]))
