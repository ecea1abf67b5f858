"""Rates and biased consensus: tables against closed forms, identities and the runs themselves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from peerpressure import Linear, Model, Power
from peerpressure.reproduction._convergence import approach, biased_consensus, contraction_products, tuning
from peerpressure.reproduction.design import log_spaced_times, scale_free_model


@pytest.fixture(scope="module")
def model() -> Model:
    return scale_free_model(seed=5, agents=40)


def test_two_agents_under_linear_pressure_have_product_one_over_t_plus_one() -> None:
    table = contraction_products(500, [Linear()])
    np.testing.assert_allclose(table["product"], 1 / (table["time"] + 1), rtol=1e-12)
    assert table["sum_diverges"].all()


def test_fast_schedules_have_a_finite_sum_and_a_positive_product() -> None:
    table = contraction_products(500, [Power(1.5)])
    assert not table["sum_diverges"].any()
    assert table["product"].iloc[-1] > 0.1


def test_rms_distance_splits_into_disagreement_and_error_on_every_path(model: Model) -> None:
    paths = approach(model, 300, paths=3, seed=2)["approach_paths"]
    squares = paths["weighted_disagreement"] ** 2 + paths["error"] ** 2
    np.testing.assert_allclose(paths["weighted_distance"] ** 2, squares, rtol=1e-9)
    assert sorted(paths["path"].unique()) == [0, 1, 2]


def test_simulated_paths_follow_the_exact_law(model: Model) -> None:
    paths = approach(model, 300, paths=400, seed=2)
    exact, last = paths["approach_exact"].iloc[-1], paths["approach_paths"].query("time == 300")
    std = (exact["error_high"] - exact["error_low"]) / (2 * stats.norm.ppf(0.975))
    assert abs(last["error"].mean() - exact["error"]) < 4 * std / np.sqrt(len(last))
    # The standard deviation of a variance estimate of normal numbers is √(2/n) of it.
    assert last["error"].var() == pytest.approx(std**2, rel=4 * np.sqrt(2 / len(last)))
    for name in ("weighted_distance", "weighted_disagreement"):
        squares = last[name] ** 2
        assert abs(squares.mean() - exact[name] ** 2) < 4 * squares.std() / np.sqrt(len(last))


def test_tuning_meets_the_ideal_and_the_plain_schedule_does_not(model: Model) -> None:
    last = tuning(model, 3_000).query("time == 3000").set_index("schedule")
    assert last.loc["κt", "std"] == pytest.approx(last.loc["κt", "ideal"], rel=0.01)
    assert last.loc["κt", "rms"] < 1.1 * last.loc["κt", "ideal"]
    assert last.loc["t", "rms"] > 3 * last.loc["κt", "rms"]


def test_plain_linear_pressure_loses_its_bias_at_the_slow_rate(model: Model) -> None:
    plain = tuning(model, 10_000).query("schedule == 't' and time > 100")
    exponent = np.polyfit(np.log(plain["time"]), np.log(plain["bias"].abs()), 1)[0]
    assert exponent == pytest.approx(-model.kappa, rel=0.03)


def test_biased_consensus_follows_its_predicted_law(model: Model) -> None:
    found = biased_consensus(model, replicates=1_000, steps=600, seed=3)
    law = found["biased_consensus_law"].iloc[0]
    assert law["consensus_value"] == model.consensus_value
    assert stats.kstest(found["biased_consensus"]["value"], stats.norm(law["mean"], law["std"]).cdf).pvalue > 1e-4


def test_log_spaced_times_hold_both_ends() -> None:
    times = log_spaced_times(10_000)
    assert (times[0], times[-1]) == (1, 10_000)
    assert (np.diff(times) > 0).all()
