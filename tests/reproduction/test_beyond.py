"""Beyond the paper: each table against what is known of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from peerpressure.reproduction import beyond


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return beyond(seed=6, replications=100, agents=12).tables()


def test_samples_agree_with_exact_variances(tables: dict[str, pd.DataFrame]) -> None:
    observers = tables["observers"]
    z = (observers["sampled"] - observers["variance"]) / observers["standard_error"]
    assert np.abs(z).max() < 5


def test_the_best_observer_beats_regression_and_goes_on_learning(tables: dict[str, pd.DataFrame]) -> None:
    observers = tables["observers"].set_index(["network", "observer", "steps"])["variance"].sort_index()
    for network in ("two_agents", "scale_free"):
        best, ols = observers[network, "innovations"], observers[network, "ols"]
        assert (best < ols).all()
        assert best[1_000] == pytest.approx(1e-3, rel=0.02)
        assert ols[1_000] > 0.9 * ols[100]


def test_the_tuned_schedule_wins_in_the_end_and_meets_the_ideal(tables: dict[str, pd.DataFrame]) -> None:
    schedules = tables["schedules"]
    last = schedules.query("steps == 3000").set_index("schedule")
    assert last.loc["κt", "gain"] > 2
    assert last.loc["κt", "std"] == pytest.approx(last.loc["κt", "ideal"], rel=0.01)
    z = (schedules["sampled_rms"] - schedules["rms"]) / schedules["standard_error"]
    assert np.abs(z).max() < 5


def test_observing_more_agents_tells_more_about_all(tables: dict[str, pd.DataFrame]) -> None:
    partial = tables["partial_observers"]
    observed, hidden = (
        partial[partial["group"] == group].set_index("fraction") for group in ("observed", "unobserved")
    )
    assert (observed.loc[hidden.index, "ratio"] < hidden["ratio"]).all()
    assert partial["ratio"].between(0, 1).all()
    assert observed.loc[1.0, "agents"] == 12


def test_only_growing_or_frozen_noise_bounds_the_information(tables: dict[str, pd.DataFrame]) -> None:
    spent = tables["privacy_over_time"].set_index(["design", "steps"])
    assert spent.loc[("white", 1_000), "information"] == pytest.approx(1_000 / 100)
    assert spent.loc[("frozen", 1_000), "information"] == spent.loc[("frozen", 1), "information"]
    assert spent.loc[("growing", 1_000), "information"] < 6 * spent.loc[("growing", 1), "information"]
    assert spent.loc[("white", 1_000), "rms_error"] < spent.loc[("frozen", 1_000), "rms_error"]
