"""Privacy where opinions adapt, networks change or time is continuous, against joint laws and closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.privacy import DESIGNS, Noisy, budget, calibrate, delay_pressure, exposure, frontier
from peerpressure.privacy._definition import start_term
from peerpressure.privacy._shifts import leaks_at_first_step, model_shifts
from peerpressure.recovery import Observation, Prior, answers_of, information
from peerpressure.sde import SDE
from tests.builders import random_model
from tests.oracles import outputs_law, unknown_opinions
from tests.recovery.cases import AGENTS, FACTORS, KINDS, STARTS, VIEWS, extended, seen_rows

T = 6


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("noise", ["by agent", "negative ar1"])
@pytest.mark.parametrize("kind", ["static", *KINDS])
def test_a_budget_counts_what_the_joint_law_tells(kind: str, noise: str, start: str) -> None:
    model = extended(kind, noise, start)
    for steps in (1, T):
        J = outputs_law(model, steps).information().diagonal()
        table = budget(model, steps, public_start=True).table
        np.testing.assert_allclose(table["information"], J, rtol=1e-8)
        np.testing.assert_allclose(table["mu"], np.sqrt(J), rtol=1e-8)


@pytest.mark.parametrize("noise", ["white", "ar1"])
def test_nothing_that_moves_costs_nothing(noise: str) -> None:
    base = extended("plain", noise)
    still = replace(base, adaptation=pp.Adaptation(0.0))
    temporal = replace(base, temporal_network=pp.TemporalNetwork.constant(base.network))
    for other in (still, temporal):
        for column in ("information", "own_information", "epsilon"):
            np.testing.assert_allclose(budget(other, T).table[column], budget(base, T).table[column], rtol=1e-12)
        one, two = (exposure(m, T, observed=[0, 1, 5]).table["ratio"] for m in (base, other))
        np.testing.assert_allclose(one, two, rtol=1e-10)


def test_forgetting_is_a_promise_for_ever() -> None:
    rate, sigma = 0.2, 3.0
    model = random_model(6, noise=pp.Gaussian(sigma), start=np.zeros(6), adaptation=rate)
    limit = 1 / (1 - (1 - rate) ** 2) / sigma**2
    budgets = [budget(model, steps).information for steps in (1, 10, 100, 5000)]
    assert budgets == sorted(budgets)
    assert budgets[-1] == pytest.approx(limit, rel=1e-12)
    assert budget(replace(model, adaptation=None), 5000).information == pytest.approx(5000 / sigma**2)
    # So does the ε of Laplace noise, which is composed draw by draw.
    laplace = replace(model, noise=pp.Laplace(sigma))
    early, late = (budget(laplace, steps).table.iloc[0] for steps in (60, 200))
    assert late["epsilon_basic"] == pytest.approx(np.sqrt(2) / sigma / rate, rel=1e-6)
    assert late["epsilon"] == pytest.approx(early["epsilon"], rel=1e-3)


def test_calibrated_noise_serves_every_later_horizon() -> None:
    model = random_model(6, noise=pp.Gaussian(1.0), start=np.zeros(6), adaptation=0.2)
    calibrated = calibrate(model, 400, mu=0.5)
    assert calibrated.std == pytest.approx(2 / np.sqrt(1 - 0.8**2), rel=1e-9)
    assert budget(calibrated.model, 4000).mu == pytest.approx(0.5, rel=1e-9)
    assert calibrated.model.adaptation == model.adaptation


def test_a_held_mask_gives_itself_away_as_opinions_fade() -> None:
    model = extended("adapting", "frozen", "given")
    infinite = np.isinf(model_shifts(model, 2).squares)
    np.testing.assert_array_equal(infinite, FACTORS > 0)
    np.testing.assert_allclose(model_shifts(model, 1).squares, 1 / 0.49)
    with pytest.raises(
        pp.errors.InvalidInputError, match="hides nothing from an observer of all agents where hidden opinions adapt"
    ):
        calibrate(model, 5, mu=1.0, public_start=True)
    assert np.isinf(exposure(model, 5, public_start=True).table["nats"][FACTORS > 0]).all()


def test_who_is_alone_at_first_is_not_heard() -> None:
    network = pp.TemporalNetwork.from_events([(1, 0, 1), (3, 1, 2)], n=3)
    model = pp.Model(network, hidden=[0.0, 1.0, 2.0], noise=pp.Gaussian(1.0))
    assert leaks_at_first_step(model)
    np.testing.assert_allclose(budget(model, 5).table["information"], outputs_law(model, 5).information().diagonal())
    assert budget(model, 5).table["information"].iloc[2] == pytest.approx(5.0)
    later = pp.Model(pp.TemporalNetwork.from_events([(2, 0, 1), (3, 1, 2)], n=3), model.x0, noise=model.noise)
    assert not leaks_at_first_step(later)
    assert "no agent responds" in start_term(later)
    np.testing.assert_allclose(budget(later, 5).table["information"], 5.0)


@pytest.mark.parametrize("view", ["all", "gaps"])
@pytest.mark.parametrize("noise", ["ar1", "frozen"])
@pytest.mark.parametrize("kind", ["static", "temporal", "both"])
def test_exposure_is_the_conditional_law(kind: str, noise: str, view: str) -> None:
    model = extended(kind, noise, "given" if kind == "temporal" else "hidden")
    data = answers_of(pp.simulate(model, 9), model, VIEWS[view])
    rows, y = seen_rows(model, data)
    # Beliefs about agents are correlated.
    prior = 0.6 * np.eye(AGENTS) + 0.2
    _, covariance = unknown_opinions(rows).given(rows, y, np.zeros(AGENTS), prior)
    told = exposure(model, 9, VIEWS[view], Prior(0.0, prior), public_start=True).table
    # The oracle squares deviations, and so has half the digits where a mask leaves nothing unknown.
    rounding = 1e-6 if noise == "frozen" else 1e-12
    np.testing.assert_allclose(told["posterior_variance"], covariance.diagonal(), rtol=1e-6, atol=rounding)
    np.testing.assert_allclose(told["ratio"], covariance.diagonal() / 0.8, rtol=1e-6, atol=2 * rounding)
    np.testing.assert_allclose(told["cramer_rao"], information(model, 9, VIEWS[view]).bound, rtol=1e-6, atol=1e-12)


def test_neighbours_of_any_time_count_as_neighbours() -> None:
    network = pp.TemporalNetwork.from_events([(1, 0, 1), (3, 1, 2), (4, 0, 1, 0.0)], n=3)
    model = pp.Model(network, hidden=[0.0, 1.0, 2.0], noise=pp.Gaussian(1.0))
    table = exposure(model, 6, observed=[0, 1]).table
    assert table["neighbourhood_seen"].tolist() == [True, False, False]


def test_designs_that_follow_the_model_follow_it_all_the_way() -> None:
    noisy = [design for design in DESIGNS if isinstance(design, Noisy)]
    for kind in KINDS:
        model = extended(kind)
        trade_off = frontier(model, [T], [0.5], noisy)
        white = trade_off.table.iloc[0]
        own = replace(delay_pressure(model, T), noise=pp.Gaussian(float(white["std"])))
        assert budget(own, T).mu == pytest.approx(0.5)
        exact = pp.moments(own, T, of=pp.theory.consensus_mode(own))
        assert white["bias"] == pytest.approx(float(exact.mean[-1, 0]) - model.consensus_value)
        assert white["deviation"] == pytest.approx(float(exact.std[-1, 0]))
        if model.temporal_network is not None:
            with pytest.raises(pp.errors.InvalidInputError, match="one network for all times"):
                frontier(model, [T], [0.5])


def test_continuous_time_has_a_budget_and_an_exposure() -> None:
    model = random_model(5, noise=pp.Gaussian(0.5), start=np.linspace(-1, 1, 5), pressure=pp.Linear(0.5))
    sde = SDE(model, step=0.25)
    J = information(sde, 16).matrix @ np.eye(5)
    table = budget(sde, 16, sensitivity=2.0, public_start=True).table
    assert list(table.columns) == ["information", "mu", "zcdp", "epsilon", "information_limit", "epsilon_limit"]
    np.testing.assert_allclose(table["information"], J.diagonal())
    np.testing.assert_allclose(table["mu"], 2 * np.sqrt(J.diagonal()))
    seen = exposure(sde, 16, prior=Prior(0.0, 0.4), public_start=True).table
    expected = np.linalg.inv(J + np.eye(5) / 0.4).diagonal()
    np.testing.assert_allclose(seen["posterior_variance"], expected, rtol=1e-7)
    partial = exposure(sde, 16, Observation(agents=[1]), Prior(0.0, 0.4), public_start=True).table
    assert (partial["ratio"] >= seen["ratio"] - 1e-9).all()
    assert "declared to be public" in start_term(sde)
    assert "close to it" in budget(replace(sde, model=replace(model, start="hidden")), 4).definition.terms["start"]
    for refused in (lambda: calibrate(sde, 4, mu=1.0), lambda: frontier(sde, 4, [1.0])):  # type: ignore[arg-type]
        with pytest.raises(pp.errors.InvalidInputError, match="defined for a Model, in discrete time, got SDE"):
            refused()
