"""Larger noise: the exact law, its fitted powers, and samples of both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from peerpressure import Linear, simulate
from peerpressure.reproduction import NoiseLevelsResult, noise_levels
from peerpressure.reproduction.design import scale_free_model


@pytest.fixture(scope="module")
def result() -> NoiseLevelsResult:
    return noise_levels(seed=4, replications=200, steps=600, levels=[0.5, 5.0], model=scale_free_model(4, agents=30))


def test_rms_distance_splits_into_disagreement_bias_and_deviation(result: NoiseLevelsResult) -> None:
    law = result.law
    squares = law["weighted_disagreement"] ** 2 + law["bias"] ** 2 + law["std"] ** 2
    np.testing.assert_allclose(law["weighted_distance"] ** 2, squares, rtol=1e-9)


def test_noise_adds_variance_and_leaves_the_bias(result: NoiseLevelsResult) -> None:
    small, large = (group.reset_index() for _, group in result.law.groupby("noise"))
    np.testing.assert_array_equal(small["bias"], large["bias"])
    np.testing.assert_allclose(large["std"], 10 * small["std"])


def test_powers_are_the_predicted_ones_at_every_level(result: NoiseLevelsResult) -> None:
    fits = result.exponents.set_index(["noise", "quantity", "source"])
    for level in (0.5, 5.0):
        assert fits.loc[(level, "bias", "exact"), "exponent"] == pytest.approx(result.model.kappa, rel=0.02)
        assert fits.loc[(level, "weighted_disagreement", "exact"), "exponent"] == pytest.approx(1, rel=0.01)
        for quantity in ("weighted_distance", "weighted_disagreement"):
            exact, sampled = (fits.loc[(level, quantity, source)] for source in ("exact", "sampled"))
            assert abs(sampled["exponent"] - exact["exponent"]) < 4 * sampled["standard_error"] + 0.002


def test_paths_are_runs_between_their_extremes(result: NoiseLevelsResult) -> None:
    assert (result.paths["minimum"] <= result.paths["maximum"]).all()
    silent = simulate(replace(result.model, noise=result.model.noise.__class__(0.0)), 600, record="summaries")
    assert silent.maximum is not None
    last = result.paths.query("noise == 0.5").iloc[-1]
    assert last["expected_maximum"] == pytest.approx(silent.maximum[0, -1])


def test_a_tuned_schedule_lets_noise_set_the_rate() -> None:
    model = scale_free_model(4, agents=30)
    tuned = replace(model, pressure=Linear.tuned(model.network, model.s))
    fits = noise_levels(seed=4, replications=2, steps=600, levels=[0.001, 5.0], model=tuned).exponents
    small, large = fits.query("quantity == 'weighted_distance' and source == 'exact'")["exponent"]
    assert small > large + 0.2
