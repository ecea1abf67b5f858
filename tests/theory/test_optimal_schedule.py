"""Optimal schedules: the distance and its gradient, the minimum, and what it is compared with."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from peerpressure.errors import CancelledError, InvalidInputError, ModelError, TooLargeError
from peerpressure.model import Model
from peerpressure.model.step import Array
from peerpressure.networks import barabasi_albert, complete, cycle, failing_edges, k2, named, path
from peerpressure.noise import AR1, Gaussian, Noise, NoNoise
from peerpressure.schedules import Linear, Table
from peerpressure.sde import SDE
from peerpressure.theory import consensus_error, optimal_schedule, tuning
from peerpressure.theory.tuning import HorizonDistance, optimum, tuned_line

from .laws import law_after, rms_distance

STEPS, AGENTS = 6, 7
GRAPH = barabasi_albert(AGENTS, 2, seed=2)
CHANGING = failing_edges(GRAPH, 0.4, steps=STEPS, seed=1)
NOISES: tuple[Noise, ...] = (
    NoNoise(),
    Gaussian(np.linspace(0.0, 0.5, AGENTS), time_scale="t^0.3"),
    Gaussian(0.3, temporal=AR1(0.6)),
    Gaussian(0.3, temporal="frozen", time_scale="1/t"),
)
FAMILIES = list(itertools.product((GRAPH, CHANGING), NOISES, ("hidden", "given"), (None, 0.2)))


def build(case: tuple[object, ...]) -> tuple[Model, np.ndarray]:
    network, noise, start, adaptation = case
    rng = np.random.default_rng(4)
    begin = "hidden" if start == "hidden" else rng.uniform(0, 2, AGENTS)
    hidden, s = rng.uniform(size=AGENTS), rng.uniform(0.3, 2, AGENTS)
    model = Model(network, hidden, s, noise=noise, start=begin, adaptation=adaptation)  # type: ignore[arg-type]
    return model, rng.normal(0, 1, STEPS) + np.log(np.arange(1, STEPS + 1))


@pytest.mark.parametrize("case", FAMILIES, ids=range(len(FAMILIES)))
def test_the_distance_is_that_of_the_exact_law_and_its_gradient_is_right(
    case: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, log_rho = build(case)
    known = HorizonDistance(model, STEPS, know_hidden=True)
    under = replace(model, pressure=Table(np.exp(log_rho)))
    assert np.sqrt(known.value(log_rho)) == pytest.approx(rms_distance(under, STEPS), rel=1e-12)
    h, unit = 1e-5, np.eye(STEPS)
    for distance in (known, HorizonDistance(model, STEPS)):
        value, gradient = distance.value_and_gradient(log_rho)
        assert value == distance.value(log_rho)
        differences = [(distance.value(log_rho + h * e) - distance.value(log_rho - h * e)) / (2 * h) for e in unit]
        np.testing.assert_allclose(gradient, differences, rtol=0, atol=1e-6 * np.abs(gradient).max())
    # In segments, as where memory is short.
    monkeypatch.setattr(tuning, "_CACHE_MAX_FLOATS", 3 * AGENTS**2)
    again = HorizonDistance(model, STEPS, know_hidden=True)
    assert again._segment < STEPS
    np.testing.assert_allclose(again.value_and_gradient(log_rho)[1], known.value_and_gradient(log_rho)[1], rtol=1e-9)


def test_the_distance_needs_nobodys_hidden_opinion() -> None:
    model, log_rho = build((GRAPH, NOISES[1], "hidden", None))
    under = replace(model, pressure=Table(np.exp(log_rho)))
    # Weights Q of hidden opinions, column by column, and the formula with the variance of opinions alone.
    quiet = [replace(under, hidden=one, noise=NoNoise()) for one in np.eye(AGENTS)]
    Q = np.stack([law_after(one, STEPS)[0][:AGENTS] for one in quiet], axis=1)
    noise = np.diag(law_after(under, STEPS)[1])[:AGENTS]
    tau2 = np.var(model.x0, ddof=1)
    expected = np.mean(tau2 * np.sum((Q - model.s / model.s.sum()) ** 2, axis=1) + noise)
    assert HorizonDistance(model, STEPS).value(log_rho) == pytest.approx(expected, rel=1e-12)
    # The distance of some agents is theirs, whoever else there is.
    few = HorizonDistance(model, STEPS, agents=[1, 4]).value(log_rho)
    parts = [HorizonDistance(model, STEPS, agents=[one]).value(log_rho) for one in (1, 4)]
    assert few == pytest.approx(np.mean(parts))


def with_variance(network: object, std: float) -> Model:
    rng = np.random.default_rng(23)
    n = network.n  # type: ignore[attr-defined]
    s, x = rng.uniform(0.5, 1, n), rng.uniform(size=n)
    x /= np.std(x, ddof=1) * np.sqrt(12)  # of the variance of U[0, 1]
    return Model(network, x, s, noise=Gaussian(std))  # type: ignore[arg-type]


# RMS distances under ρ = t, κt, the best line and the optimum, found before with numerical gradients.
PUBLISHED = [
    (barabasi_albert(60, 2, seed=1), 0.1, 30, (0.0142, 0.0215, 0.0119, 0.0051)),
    (named("karate"), 0.1, 100, (0.0189, 0.0083, 0.0065, 0.0033)),
]


@pytest.mark.parametrize(("network", "std", "steps", "expected"), PUBLISHED, ids=range(len(PUBLISHED)))
def test_optimal_distances_are_the_published_ones(
    network: object, std: float, steps: int, expected: tuple[float, ...]
) -> None:
    model = with_variance(network, std)
    best = optimal_schedule(model, steps)
    simple = best.alternatives
    distances = [*(simple[name].rms_distance for name in ("t", "tuned", "line")), best.rms_distance]
    # Stubbornness and random networks are others than those of the table.
    np.testing.assert_allclose(distances, expected, rtol=0.2)
    assert best.converged
    assert best.slope < 1e-3
    assert best.rms_distance < simple["averaging"].rms_distance <= simple["line"].rms_distance
    assert simple["averaging"].rms_distance < 1.15 * best.rms_distance
    # It ends in a burst, under which agents hardly hear themselves.
    values = best.schedule.values
    gain = model.s / (model.s + values[-3] * model.network.degrees)
    assert gain.max() < 0.01
    assert values[-3] > 20 * values[2]


def test_the_schedule_keeps_its_promise_for_the_opinions_of_the_model() -> None:
    model = with_variance(barabasi_albert(20, 2, seed=3), 0.2)
    known, unknown = optimal_schedule(model, 15, know_hidden=True), optimal_schedule(model, 15)
    actual = [rms_distance(replace(model, pressure=found.schedule), 15) for found in (known, unknown)]
    assert actual[0] == pytest.approx(known.rms_distance, rel=1e-9)
    assert actual[0] < actual[1]


@pytest.mark.parametrize("network", [path(6), complete(5), cycle(5)], ids=["path", "complete", "cycle"])
def test_every_start_leads_to_about_the_same_minimum(network: object) -> None:
    for std in (0.05, 2.0):
        model = with_variance(network, std)
        distance = HorizonDistance(model, 12)
        found = [optimum(distance, Linear(model.kappa * c)).rms_distance for c in (0.1, 1.0, 10.0, 100.0)]
        assert max(found) < 1.03 * min(found)


def test_what_agrees_from_the_start_stays_so() -> None:
    model = Model(complete(4), hidden=np.full(4, 3.0))
    assert optimal_schedule(model, 5).rms_distance == 0
    far = Model(complete(4), hidden=np.full(4, 3.0), start=np.arange(4.0))
    assert optimal_schedule(far, 5).rms_distance < 1e-9
    # With noise the public start is worth more than all that follows, and pressure keeps it.
    noisy = optimal_schedule(replace(model, noise=Gaussian(1.0)), 5)
    assert noisy.rms_distance < 1e-4


def test_one_step_has_a_schedule_too() -> None:
    best = optimal_schedule(Model(k2(), hidden=[0.0, 1.0]), 1)
    # y_1 = (x_0 + ρ x_1)/(1 + ρ) is v at ρ = 1.
    np.testing.assert_allclose(best.schedule.values, [1.0], rtol=1e-3)
    assert best.rms_distance < 1e-4


def test_limits_are_checked_first() -> None:
    model = with_variance(complete(5), 0.1)
    with pytest.raises(ModelError, match="discrete time"):
        optimal_schedule(SDE(model), 5)  # type: ignore[arg-type]
    with pytest.raises(TooLargeError, match="steps"):
        optimal_schedule(model, 10**6)
    with pytest.raises(InvalidInputError, match="at least 1"):
        optimal_schedule(model, 0)
    with pytest.raises(CancelledError):
        optimal_schedule(model, 5, should_stop=lambda: True)


@pytest.mark.parametrize("gamma", [-0.3, 0.2])
def test_the_tuned_line_is_the_best_for_noise_that_grows(gamma: float) -> None:
    rng = np.random.default_rng(1)
    network = barabasi_albert(20, 2, seed=1)
    noise = Gaussian(0.5, time_scale=f"t^({gamma})")
    # Equal opinions, so only noise counts.
    model = Model(network, np.zeros(20), rng.uniform(0.5, 1, 20), noise=noise)
    best = tuned_line(model)
    assert best.slope == pytest.approx(model.kappa / (1 - 2 * gamma))
    errors = [consensus_error(replace(model, pressure=Linear(c * best.slope)), 1500) for c in (0.7, 1.0, 1.4)]
    assert errors[1] == min(errors)
    plain = consensus_error(replace(model, pressure=Linear(model.kappa)), 1500)
    assert plain / errors[1] == pytest.approx(1 / np.sqrt(1 - 4 * gamma**2), rel=0.1)


def test_pressure_may_be_delayed() -> None:
    model = with_variance(barabasi_albert(12, 2, seed=3), 0.3)
    best = optimal_schedule(model, 10, know_hidden=True, delayed=True)
    schedules = [best.schedule, *(one.schedule for one in best.alternatives.values())]
    expected = [best.rms_distance, *(one.rms_distance for one in best.alternatives.values())]
    assert [float(one(1)) for one in schedules] == [0.0] * 5
    actual = [rms_distance(replace(model, pressure=one), 10) for one in schedules]
    np.testing.assert_allclose(actual, expected, rtol=1e-9)
    assert best.rms_distance > optimal_schedule(model, 10, know_hidden=True).rms_distance


@pytest.mark.parametrize("know_hidden", [False, True])
def test_agents_whose_weights_are_proportional_are_merged_without_error(know_hidden: bool) -> None:
    rng = np.random.default_rng(1)
    model = Model(
        barabasi_albert(50, 2, seed=1), hidden=rng.random(50), stubbornness=rng.uniform(0.5, 2, 50), noise=Gaussian(1.0)
    )
    distance = HorizonDistance(model, 400, know_hidden=know_hidden, agents=np.arange(0, 50, 7))
    log_rho = Linear(0.3).log(np.arange(1, 401))
    # The value with its gradient follows every agent to the start.
    assert distance.value(log_rho) == pytest.approx(distance.value_and_gradient(log_rho)[0], rel=1e-12)


@pytest.mark.parametrize("know_hidden", [False, True])
def test_a_search_over_some_agents_comes_close_to_that_over_all(
    know_hidden: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = barabasi_albert(64, 3, seed=1)
    model = Model(network, np.random.default_rng(0).uniform(size=64), noise=Gaussian(0.1))
    best = optimal_schedule(model, 8, know_hidden=know_hidden)
    monkeypatch.setattr(tuning, "_SAMPLED_WORK", 0)
    passes: list[int] = []
    value_and_gradient = tuning.HorizonDistance.value_and_gradient

    def counting(distance: tuning.HorizonDistance, log_rho: Array) -> tuple[float, Array]:
        passes.append(distance.targets.size)
        return value_and_gradient(distance, log_rho)

    monkeypatch.setattr(tuning.HorizonDistance, "value_and_gradient", counting)
    searched = optimal_schedule(model, 8, know_hidden=know_hidden)
    # One pass for all agents, at the end.
    assert (passes.count(64), passes.count(48)) == (1, len(passes) - 1)
    # Either search ends within a thousandth of the least distance.
    assert best.rms_distance * (1 - 1e-3) <= searched.rms_distance < 1.02 * best.rms_distance
    # What is returned is that of all agents.
    exact = tuning.HorizonDistance(model, 8, know_hidden=know_hidden)
    log_rho = searched.schedule.log(np.arange(1, 9))
    assert searched.rms_distance == pytest.approx(math.sqrt(exact.value(log_rho)), rel=1e-9)
    assert searched.alternatives["t"].rms_distance == pytest.approx(best.alternatives["t"].rms_distance, rel=1e-12)
