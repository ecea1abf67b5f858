"""Noise for a budget: calibrating and accounting undo each other."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.privacy import budget, calibrate, delay_pressure
from peerpressure.theory import consensus_error
from tests.builders import random_model

N, T = 7, 12
KINDS = {
    "white": pp.Gaussian(),
    "by agent": pp.Gaussian(np.linspace(1, 2, N)),
    "growing": pp.Gaussian(time_scale=pp.Power(0.7)),
    "ar1": pp.Gaussian(temporal=pp.AR1(0.9)),
}


@pytest.mark.parametrize("noise", KINDS.values(), ids=KINDS)
@settings(deadline=None, max_examples=6)
@given(st.floats(0.01, 20.0), st.floats(0.1, 5.0))
def test_gaussian_budgets_are_met_exactly(noise: pp.noise.Noise, value: float, sensitivity: float) -> None:
    model = random_model(N, noise=noise)
    for name in ("epsilon", "mu", "information"):
        asked: dict[str, Any] = {name: value}
        calibrated = calibrate(model, T, sensitivity=sensitivity, **asked)
        assert getattr(calibrated.budget, name) == pytest.approx(value, rel=1e-6)
        assert getattr(budget(calibrated.model, T, sensitivity), name) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("noise", [pp.Laplace(), pp.Laplace(np.linspace(1, 2, N)), pp.StudentT(df=4.0)])
@pytest.mark.parametrize("start", ["hidden", np.zeros(N)], ids=["hidden", "public"])
def test_other_laws_meet_epsilon_from_the_safe_side(noise: pp.noise.Noise, start: object) -> None:
    calibrated = calibrate(random_model(N, noise=noise, start=start), T, epsilon=0.8)
    assert calibrated.budget.epsilon <= 0.8 * (1 + 1e-9)
    assert calibrated.budget.epsilon == pytest.approx(0.8, rel=1e-4)


def test_ratios_of_agents_are_kept() -> None:
    std = np.linspace(1, 2, N)
    calibrated = calibrate(random_model(N, noise=pp.Gaussian(std)), T, mu=0.3)
    np.testing.assert_allclose(np.asarray(calibrated.std) / std, np.asarray(calibrated.std)[0])


def test_a_silent_model_gets_white_gaussian_noise() -> None:
    calibrated = calibrate(random_model(N, start=np.zeros(N)), 25, mu=0.5)
    assert calibrated.std == pytest.approx(10.0)
    assert isinstance(calibrated.model.noise, pp.Gaussian)
    assert calibrated.rms_error == consensus_error(calibrated.model, 25)
    assert str(calibrated).startswith("noise of standard deviation 10 leaves the consensus mode")


def test_a_mask_costs_the_same_at_every_horizon() -> None:
    model = random_model(N, noise=pp.Gaussian(temporal="frozen"), start=np.zeros(N))
    assert [calibrate(model, steps, mu=2.0).std for steps in (1, 10, 100)] == [0.5] * 3
    by_agent = replace(model, noise=pp.Gaussian(np.linspace(1, 2, N), temporal="frozen"))
    assert "by agent" in str(calibrate(by_agent, 5, information=3.0))


def test_information_is_a_budget_for_any_smooth_law() -> None:
    model = random_model(N, noise=pp.noise.Custom(stats.logistic()), start=np.zeros(N))
    assert calibrate(model, T, information=2.0).budget.information == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize(
    ("noise", "asked", "message"),
    [
        (pp.Gaussian(), {}, "give one budget: epsilon, mu or information, got none"),
        (pp.Gaussian(), {"mu": 1.0, "epsilon": 1.0}, "got epsilon, mu; leave the others out"),
        (pp.Gaussian(), {"mu": 0.0}, "mu must be a finite number above 0"),
        (pp.Gaussian(), {"epsilon": -1.0}, "ε must be a finite number above 0"),
        (pp.Gaussian(), {"information": math.inf}, "information must be a finite number above 0"),
        (pp.Gaussian(), {"epsilon": 1.0, "delta": 0.0}, "δ must lie strictly between 0 and 1"),
        (pp.Laplace(), {"mu": 1.0}, "μ is a budget for Gaussian noise"),
        (pp.noise.Custom(stats.logistic()), {"epsilon": 1.0}, "ask for an information instead"),
        (pp.noise.Uniform(), {"epsilon": 1.0}, "no amount of this noise meets a budget"),
        (pp.noise.Rademacher(), {"information": 1.0}, "no amount of this noise meets a budget"),
        (pp.Gaussian(temporal="frozen"), {"mu": 1.0}, "or delay its peer pressure"),
        (pp.Gaussian([0.0, *[1.0] * (N - 1)]), {"mu": 1.0}, "every agent needs noise at every step"),
    ],
)
def test_bad_input(noise: pp.noise.Noise, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        calibrate(random_model(N, noise=noise), T, **asked)


def test_the_remedy_for_a_mask_works() -> None:
    model = random_model(N, noise=pp.Gaussian(temporal="frozen"))
    assert calibrate(delay_pressure(model, T), T, mu=0.25).std == 4.0


@pytest.mark.parametrize("noise", [pp.Gaussian(), pp.Gaussian(temporal="frozen"), pp.Laplace()], ids=str)
def test_the_optimal_schedule_under_a_budget_keeps_it_and_is_the_most_accurate(noise: pp.noise.Noise) -> None:
    rng = np.random.default_rng(4)
    network = pp.networks.barabasi_albert(15, 2, seed=1)
    model = pp.Model(network, rng.uniform(size=15), rng.uniform(0.5, 1, 15), noise=noise)
    calibrated = calibrate(model, 12, epsilon=4.0, optimal_pressure=True)
    assert budget(calibrated.model, 12).epsilon == pytest.approx(4.0)
    assert calibrated.optimum is not None
    assert calibrated.model.pressure == calibrated.optimum.schedule
    # Nobody responds to the hidden start, so the noise is that of any delayed schedule.
    assert float(calibrated.model.pressure(1)) == 0
    delayed = calibrate(delay_pressure(model, 12), 12, epsilon=4.0)
    np.testing.assert_allclose(calibrated.std, delayed.std)
    distances = [one.rms_distance for one in calibrated.optimum.alternatives.values()]
    assert calibrated.optimum.rms_distance <= min(distances)
    assert calibrated.rms_error < delayed.rms_error or noise.is_frozen
    # A public start reveals nothing, and its first pressure is free.
    public = calibrate(replace(model, start=np.full(15, 0.5)), 12, epsilon=4.0, optimal_pressure=True)
    assert float(public.model.pressure(1)) > 0


@pytest.mark.parametrize("start", [{}, {"start": np.full(8, 0.5)}], ids=["hidden", "given"])
def test_an_optimal_pressure_tells_nothing_of_hidden_opinions(start: dict[str, Any]) -> None:
    """It is public, so it must be the same whatever the agents think."""
    model = random_model(8, noise=pp.Gaussian(1.0), **start)
    other = replace(model, hidden=np.square(model.x0) + np.eye(8)[3])
    schedules = [calibrate(one, 12, epsilon=1.0, optimal_pressure=True).model.pressure for one in (model, other)]
    assert schedules[0] == schedules[1]
