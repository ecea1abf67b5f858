"""Maximum likelihood of each noise law: as good as theory says, and no better than it can be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

import peerpressure as pp
from peerpressure.recovery import Observation, Prior, answers_of
from peerpressure.recovery._laws import laplace, likelihood
from tests.builders import random_model

REPLICATES = 800
LAWS: dict[str, pp.noise.Noise] = {
    "laplace": pp.Laplace(0.7),
    "uniform": pp.noise.Uniform(0.7),
    "student": pp.StudentT(0.7, df=3.0),
    "custom": pp.noise.Custom(stats.logistic(scale=0.3)),
    "laplace over time": pp.Laplace(0.7, time_scale=pp.Power(0.3)),
    "uniform over time": pp.noise.Uniform(0.7, time_scale=pp.Power(0.3)),
    "student by agent": pp.StudentT(np.array([0.2, 0.7, 1.1, 2.0]), time_scale=pp.Power(-0.3)),
}
# How far the variance at 150 steps may be from that of the large-sample law; the median approaches it slowly.
SLACK = {"laplace": 0.2, "laplace over time": 0.2, "uniform over time": 0.05, "uniform": 0.0}


def four(noise: pp.noise.Noise) -> pp.Model:
    return random_model(4, 3, noise=noise)


@pytest.mark.parametrize("law", LAWS)
def test_estimates_are_unbiased_with_the_variance_of_theory(law: str) -> None:
    model = four(LAWS[law])
    replicates = REPLICATES // 5 if law == "custom" else REPLICATES
    estimate = likelihood(model, answers_of(pp.simulate(model, 150, replicates, seed=2), model))
    error = estimate.residuals() / estimate.std
    assert (np.abs(error.mean(axis=0)) < 5 * 1.2 / np.sqrt(replicates)).all()
    kurtosis = 6 if law.startswith("uniform") else 3.5
    spread = 5 * np.sqrt((kurtosis - 1) / error.size)
    assert -spread < (error**2).mean() - 1 < spread + SLACK.get(law, 0.05)


def test_variances_are_those_of_the_cramer_rao_bound() -> None:
    nu, variance = 3.0, {}
    for law in (pp.StudentT(1.0, df=nu), pp.Laplace(1.0)):
        model = four(law)
        variance[law.law] = likelihood(model, answers_of(pp.simulate(model, 100, seed=5), model)).variance
    np.testing.assert_allclose(variance["student"], (nu - 2) / nu * (nu + 3) / (nu + 1) / 99, rtol=1e-12)
    # The median halves the variance of the mean.
    np.testing.assert_allclose(variance["laplace"], 0.5 / 99, rtol=1e-12)


def test_coin_flips_are_undone_exactly() -> None:
    model = four(pp.noise.Rademacher(0.7))
    run = pp.simulate(model, 60, 20, seed=6)
    estimate = likelihood(model, answers_of(run, model))
    np.testing.assert_allclose(estimate.residuals(), 0.0, atol=1e-10)
    assert (estimate.std < 1e-8).all()
    brief = answers_of(pp.simulate(model, 3, 4000, seed=7), model)
    short = likelihood(model, brief)
    np.testing.assert_allclose(short.variance, 0.7**2 / 2)
    assert abs(np.mean(short.residuals() ** 2) / (0.7**2 / 2) - 1) < 5 / np.sqrt(short.value.size)
    growing = four(pp.noise.Rademacher(0.7, time_scale=pp.Linear()))
    exact = likelihood(growing, answers_of(pp.simulate(growing, 3, 50, seed=8), growing))
    np.testing.assert_allclose(exact.residuals(), 0.0, atol=1e-10)
    assert (exact.variance == 0).all()


def test_only_steps_seen_from_beginning_to_end_count() -> None:
    model = random_model(12, 3, noise=pp.Laplace(0.7), start=np.zeros(12))
    run = pp.simulate(model, 50, 3, seed=2)
    whole = likelihood(model, answers_of(run, model))
    seen = [i for i in range(12) if i != 11]
    partial = likelihood(model, answers_of(run, model, Observation(agents=seen)))
    near = set(model.network.adjacency[[11]].indices.tolist()) | {11}
    # At step 1 the start is known, so whoever is seen himself has one step that is seen whole.
    np.testing.assert_array_equal(np.flatnonzero(~partial.identified), [11])
    away = [i for i in range(12) if i not in near]
    np.testing.assert_allclose(partial.value[:, away], whole.value[:, away], atol=1e-9)
    assert np.isinf(partial.variance[11])
    assert run.states is not None
    states = run.states.copy()
    states[:, 20, 0] = np.nan
    holed = likelihood(model, answers_of(replace(run, states=states), model))
    assert holed.identified.all()
    assert holed.variance[0] > whole.variance[0]


def test_an_agent_without_noise_is_known() -> None:
    model = four(pp.Laplace(np.array([0.0, 1.0, 1.0, 1.0])))
    estimate = likelihood(model, answers_of(pp.simulate(model, 20, 3, seed=1), model))
    np.testing.assert_allclose(estimate.residuals()[:, 0], 0.0, atol=1e-9)
    assert estimate.variance[0] == 0


def test_a_prior_is_combined_in_the_best_linear_way() -> None:
    model = four(pp.Laplace(0.7))
    data = answers_of(pp.simulate(model, 10, 3, seed=1), model)
    plain = likelihood(model, data)
    shrunk = likelihood(model, data, Prior(0.2, 0.5))
    share = 0.5 / (0.5 + plain.variance)
    np.testing.assert_allclose(shrunk.value, 0.2 + share * (plain.value - 0.2), atol=1e-10)
    np.testing.assert_allclose(shrunk.variance, (1 - share) * 0.5, atol=1e-10)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12), st.integers(0, 2**32))
def test_the_weighted_median_minimises_the_weighted_distance(values: list[float], seed: int) -> None:
    xi = np.array(values)[None, :, None]
    sigma = np.random.default_rng(seed).choice([0.5, 1.0, 3.0], size=(len(values), 1))
    found, _ = laplace(xi, sigma, np.ones_like(sigma, dtype=bool), pp.Laplace(1.0))

    def cost(x: float) -> float:
        return float((np.abs(xi[0] - x) / sigma).sum())

    assert cost(float(found[0, 0])) <= min(cost(x) for x in values) * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize(
    ("noise", "match"),
    [
        (pp.Laplace(1.0, temporal=pp.AR1(0.5)), "fresh noise"),
        (pp.noise.Uniform(1.0, temporal="frozen"), "fresh noise"),
        (pp.noise.Custom(stats.expon(), centre=True), "whole line"),
    ],
)
def test_laws_without_a_likelihood_here_are_refused(noise: pp.noise.Noise, match: str) -> None:
    model = four(noise)
    with pytest.raises(pp.errors.InvalidInputError, match=match):
        likelihood(model, answers_of(pp.simulate(model, 9), model))


@pytest.mark.parametrize("noise", [pp.noise.Uniform(0.1), pp.noise.Rademacher(0.1)])
def test_outputs_that_bounded_noise_cannot_make_are_refused(noise: pp.noise.Noise) -> None:
    model = four(noise)
    run = pp.simulate(four(pp.Gaussian(1.0)), 30)
    with pytest.raises(pp.errors.InvalidInputError, match="can make"):
        likelihood(model, answers_of(run, model))


def test_rounded_outputs_have_no_exact_likelihood() -> None:
    model = four(pp.Laplace(1.0))
    with pytest.raises(pp.errors.InvalidInputError, match="kalman"):
        likelihood(model, answers_of(pp.simulate(model, 9), model, Observation(rounding=0.1)))


@pytest.mark.parametrize(("law", "steps"), [(law, 3) for law in LAWS] + [("laplace", 12)])
def test_intervals_cover_at_any_number_of_steps(law: str, steps: int) -> None:
    model = four(LAWS[law])
    replicates = 200
    estimate = likelihood(model, answers_of(pp.simulate(model, steps, replicates, seed=12), model))
    for level in (0.5, 0.95):
        low, high = estimate.interval(level)
        share = np.mean((low <= model.x0) & (model.x0 <= high))
        assert abs(share - level) < 5 * np.sqrt(level * (1 - level) / (4 * replicates))


def test_an_interval_is_that_of_the_normalised_likelihood() -> None:
    model = four(pp.Laplace(0.7))
    run = pp.simulate(model, 6, 2, seed=3)
    assert run.states is not None
    low, high = likelihood(model, answers_of(run, model)).interval(0.9)
    # Directly: the noise that each x₀ implies, step by step, on a fine grid.
    x = np.linspace(-12, 12, 200_001)
    for row, states in enumerate(run.states):
        for agent in range(model.n):
            height = np.zeros_like(x)
            # y₀ = x₀ is not observed, so step 1 does not tell what the agent alone would show.
            for t in range(2, 7):
                update = model.update(t)
                wish = (states[t] - update.coupling @ states[t - 1]) / update.gain
                height += stats.laplace(scale=0.7 / np.sqrt(2)).logpdf(wish[agent] - x)
            share = np.cumsum(np.exp(height - height.max()))
            expected = x[np.searchsorted(share / share[-1], [0.05, 0.95])]
            np.testing.assert_allclose([low[row, agent], high[row, agent]], expected, atol=3e-3)


def test_intervals_where_there_is_no_noise_no_output_or_a_choice_of_two() -> None:
    silent = four(pp.Laplace(np.array([0.0, 1.0, 1.0, 1.0])))
    estimate = likelihood(silent, answers_of(pp.simulate(silent, 20, 3, seed=1), silent))
    low, high = estimate.interval()
    np.testing.assert_array_equal(low[:, 0], high[:, 0])
    assert (low[:, 1:] < high[:, 1:]).all()
    model = four(pp.Laplace(1.0))
    partial = likelihood(model, answers_of(pp.simulate(model, 9), model, Observation(agents=[0, 1])))
    low, high = partial.interval()
    np.testing.assert_array_equal(np.isinf(high - low)[0], ~partial.identified)
    coin = four(pp.noise.Rademacher(0.7))
    low, high = likelihood(coin, answers_of(pp.simulate(coin, 3, 200, seed=7), coin)).interval()
    assert ((low - 1e-9 <= coin.x0) & (coin.x0 <= high + 1e-9)).all()
    assert {round(float(w), 6) for w in np.unique((high - low).round(6))} == {0.0, 1.4}
