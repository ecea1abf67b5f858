"""Opinions that adapt: tables against runs without noise, ensembles and closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from peerpressure import Linear, Model, NoNoise, simulate
from peerpressure.recovery import information
from peerpressure.reproduction import TwoTimescalesResult, forgetting, two_timescales
from peerpressure.reproduction._adaptation import adapting_at, information_over_time
from peerpressure.reproduction.design import (
    NORMAL_95,
    consensus_errors,
    public_and_hidden_errors,
    scale_free_model,
)
from peerpressure.theory.propagation import consensus_mode

RATES = (0.02, 0.2, 1.0)


@pytest.fixture(scope="module")
def found() -> TwoTimescalesResult:
    return two_timescales(seed=5, steps=200, replications=40, agents=15, rates=RATES)


@pytest.fixture(scope="module")
def forgotten() -> dict[str, pd.DataFrame]:
    return forgetting(seed=5, steps=50, replications=60, agents=10).tables()


@pytest.fixture(scope="module")
def plain() -> Model:
    model = scale_free_model(5, agents=15)
    return replace(model, pressure=Linear.tuned(model.network, model.s))


def test_means_are_the_path_without_noise(found: TwoTimescalesResult) -> None:
    for rate, opinions in found.opinions.groupby("rate"):
        run = simulate(replace(adapting_at(found.model, float(rate)), noise=NoNoise()), 200)
        assert run.states is not None
        assert run.hidden is not None
        lowest = int(np.argmin(found.model.x0))
        for kind, path in (("public", run.states), ("hidden", run.hidden)):
            own = opinions.query(f"agent == 'lowest' and kind == '{kind}'")
            np.testing.assert_allclose(own["mean"], path[0, own["time"], lowest], rtol=1e-12)


def test_bands_are_those_of_an_ensemble(found: TwoTimescalesResult) -> None:
    own = found.opinions.query("rate == 0.1 and agent == 'highest' and kind == 'hidden'").iloc[-1]
    run = simulate(adapting_at(found.model, 0.1), 200, 2_000, seed=8, record="final")
    assert run.final.hidden is not None
    sample = run.final.hidden[:, int(np.argmax(found.model.x0))]
    std = (own["high"] - own["low"]) / (2 * NORMAL_95)
    # The standard error of a deviation of normal numbers is its √(1/2n).
    assert sample.std(ddof=1) == pytest.approx(std, rel=5 / np.sqrt(2 * sample.size))
    assert abs(sample.mean() - own["mean"]) < 5 * std / np.sqrt(sample.size)


def test_runs_converge_to_the_predicted_limit(found: TwoTimescalesResult) -> None:
    law = found.consensus_limit
    assert ((law["sampled_mean"] - law["mean"]).abs() < 5 * law["standard_error"]).all()
    # Slower rates lead to v, and keep less noise.
    off = (law["mean"] - law["consensus_value"]).abs()
    assert off.is_monotonic_increasing
    assert law["std"].is_monotonic_increasing
    assert (found.sampled_limit.groupby("rate").size() == 40).all()


def test_disagreement_is_that_of_an_ensemble(plain: Model) -> None:
    model, times = adapting_at(plain, 0.05), np.array([5, 30])
    run, mode = simulate(model, 30, 2_000, seed=3), consensus_mode(model)
    assert run.states is not None
    assert run.hidden is not None
    for errors, path in zip(public_and_hidden_errors(model, times), (run.states, run.hidden), strict=True):
        state = path[:, times]
        squares = mode((state - mode(state)[..., None]) ** 2)
        error = squares.std(axis=0) / np.sqrt(len(squares))
        assert (np.abs(squares.mean(axis=0) - errors.weighted_disagreement**2) < 5 * error).all()


def test_errors_of_public_opinions_do_not_depend_on_whether_hidden_ones_are_computed(plain: Model) -> None:
    model, times = adapting_at(plain, 0.05), np.array([1, 20])
    public, _ = public_and_hidden_errors(model, times)
    single = consensus_errors(model, times)
    for name in ("bias", "std", "weighted_disagreement", "weighted_distance"):
        np.testing.assert_allclose(getattr(public, name), getattr(single, name), rtol=1e-9)


def test_hidden_opinions_agree_exactly_where_the_sum_of_rates_diverges(found: TwoTimescalesResult) -> None:
    ends = {rate: own.iloc[-1] for rate, own in found.decreasing.groupby("rate")}
    assert {rate for rate, end in ends.items() if end["sum_diverges"]} == {"0.01", "0.5/t"}
    start = found.decreasing["hidden"].iloc[0]
    assert ends["0.5/t^2"]["hidden"] > 0.4 * start
    assert ends["0.5/t"]["hidden"] < 0.15 * start
    # The disagreement decreases like the retention, Π (1 − 1/2k), which falls like t^(−1/2).
    late = found.decreasing.query("rate == '0.5/t' and time > 50")
    slope = np.polyfit(np.log(late["time"]), np.log(late["hidden"]), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.03)


def test_information_is_the_librarys_and_stays_below_its_limit(forgotten: dict[str, pd.DataFrame]) -> None:
    start = np.full(10, 0.5)
    for rate, told in forgotten["forgetting_information"].groupby("rate"):
        model = replace(scale_free_model(5, agents=10), start=start)
        model = adapting_at(model, float(rate)) if rate else model
        for row in told.query("time in (1, 5, 50)").itertuples():
            known = information(model, int(row.time)).of(model.network.labels[0])
            assert row.information == pytest.approx(known * 0.25**2, rel=1e-9)
            assert row.retention == pytest.approx((1 - rate) ** row.time)
        assert (told["information"] < told["limit"]).all()
        pd.testing.assert_frame_equal(information_over_time(model, 50), told.reset_index(drop=True))


def test_errors_of_current_opinions_are_those_of_initial_ones_times_retention(
    forgotten: dict[str, pd.DataFrame],
) -> None:
    errors = forgotten["forgetting_recovery"].set_index(["rate", "target", "steps"])["variance"].sort_index()
    for rate in (0.0, 0.01, 0.1):
        first, now = errors[rate, "initial"], errors[rate, "current"]
        np.testing.assert_allclose(now, (1 - rate) ** (2 * first.index.to_numpy()) * first, rtol=1e-9)
        shares = (1 - rate) ** np.arange(50)
        assert first[50] == pytest.approx(1 / np.sum(shares**2))


def test_sampled_errors_agree_with_the_exact_ones(forgotten: dict[str, pd.DataFrame]) -> None:
    errors = forgotten["forgetting_recovery"]
    assert ((errors["sampled"] - errors["variance"]).abs() < 5 * errors["standard_error"]).all()
