"""The observer of complete outputs: closed forms, a dense oracle, and what happens at a million agents."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import peerpressure as pp
from peerpressure.noise import Temporal
from peerpressure.privacy import exposure
from peerpressure.recovery import Observation, Prior, information, recover
from peerpressure.recovery._innovations import innovations
from peerpressure.recovery._observation import outputs_of
from peerpressure.recovery.least_squares import SymmetricOperator, time_weights
from tests.builders import random_model
from tests.recovery.cases import STARTS, STEPS, dense_regression, small_model

TWO: dict[str, Any] = {"hidden": [1.0, 2.0], "noise": pp.Gaussian(1.0)}
LAWS: dict[str, Any] = {
    "gaussian": pp.Gaussian,
    "laplace": pp.Laplace,
    "uniform": pp.noise.Uniform,
    "student": pp.StudentT,
}
REGULAR = ("white", "scaled over time", "by agent", "ar1", "negative ar1")


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("noise", REGULAR)
def test_equals_dense_generalised_least_squares(noise: str, start: str) -> None:
    model = small_model(noise, start)
    run = pp.simulate(model, STEPS, 3, seed=1)
    Q, cov, y = dense_regression(model, run, Observation())
    J = Q.T @ np.linalg.solve(cov, Q)
    x = np.linalg.solve(J, Q.T @ np.linalg.solve(cov, y))
    estimate = recover(run, model)
    np.testing.assert_allclose(estimate.value, x.T, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(estimate.covariance @ np.eye(model.n), np.linalg.inv(J), rtol=1e-8, atol=1e-10)


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
    phi=st.floats(-0.9, 0.9),
    exponent=st.floats(-1.0, 1.0),
    times=st.sets(st.integers(1, 30), min_size=1, max_size=12),
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


@pytest.mark.parametrize("start", ["hidden", "given"])
@pytest.mark.parametrize("prior", [None, Prior(0.2, 0.5)])
def test_large_networks_take_another_road_to_the_same_place(
    start: str, prior: Prior | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = random_model(60, noise=pp.Gaussian(0.8), start="hidden" if start == "hidden" else np.zeros(60))
    data = outputs_of(pp.simulate(model, 12, 2, seed=1), model)
    dense = innovations(model, data, prior)
    monkeypatch.setattr(import_module("peerpressure.recovery._innovations"), "DENSE_LIMIT", 10)
    large = innovations(model, data, prior)
    np.testing.assert_allclose(large.value, dense.value, atol=1e-8)
    np.testing.assert_allclose(large.variance_of(range(60)), dense.variance, rtol=1e-8)
    np.testing.assert_allclose(large.variance, dense.variance, rtol=0.3)


def test_pressure_beyond_all_digits_ends_what_can_be_read() -> None:
    model = random_model(6, pressure=pp.Power(12.0), noise=pp.Gaussian(1.0), start=np.zeros(6))
    estimate = recover(pp.simulate(model, 40, 500, seed=1), model)
    assert (estimate.variance > 1 / 40).all()
    np.testing.assert_allclose((estimate.residuals() ** 2).mean(axis=0), estimate.variance, rtol=0.35)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("temporal", ["white", pp.AR1(0.6)])
def test_p_values_are_uniform_when_the_model_is_right(name: str, temporal: Temporal) -> None:
    laws: dict[str, Any] = {
        "gaussian": pp.Gaussian,
        "laplace": pp.Laplace,
        "uniform": pp.noise.Uniform,
        "student": pp.StudentT,
    }
    model = random_model(20, noise=laws[name](1.0, temporal=temporal))
    # Noise that is not Gaussian takes an integral for each output.
    few = name in ("laplace", "student")
    p = recover(pp.simulate(model, 30, 50 if few else 1000, seed=3), model).goodness_of_fit
    assert p is not None
    assert abs(np.mean(p < 0.5) - 0.5) < (0.25 if few else 0.08)
    assert np.mean(p < 0.01) < (0.08 if few else 0.02)


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
            assert "another model" in str(estimate)


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


def test_refuses_large_networks_that_need_a_dense_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("peerpressure.recovery._innovations"), "DENSE_LIMIT", 5)
    model = small_model("frozen")
    with pytest.raises(pp.errors.TooLargeError, match="at most 5 agents"):
        recover(pp.simulate(model, STEPS), model)
    with pytest.raises(pp.errors.TooLargeError, match="correlated prior"):
        recover(pp.simulate(small_model(), STEPS), small_model(), prior=Prior(0.0, np.eye(7) + 0.1))


def as_if_large(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("_innovations", "_information", "_estimate"):
        monkeypatch.setattr(import_module(f"peerpressure.recovery.{module}"), "DENSE_LIMIT", 5)


def test_unidentified_agents_of_a_large_network_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first step of a star with ρ = 1/√(n − 1) is singular. The last agent of the path has forgotten x₀ by step 2.
    star = pp.Model(pp.networks.star(10), np.linspace(0, 1, 10), 1.0, pp.Constant(1 / 3), pp.Gaussian(1.0))
    forgetful = pp.Adaptation(1.0, [0.1] * 9 + [1.0])
    path = pp.Model(pp.networks.path(10), star.x0, 1.0, pp.Constant(1.0), pp.Gaussian(1.0), adaptation=forgetful)
    for model, steps, rank in ((star, 1, 9), (path, 4, 10)):
        run = pp.simulate(model, steps, seed=1)
        dense, bound, table = recover(run, model), information(model, steps), exposure(model, steps).table
        with monkeypatch.context() as large_context:
            as_if_large(large_context)
            large, probed = innovations(model, outputs_of(run, model)), information(model, steps)
            np.testing.assert_allclose(exposure(model, steps).table["cramer_rao"], table["cramer_rao"], rtol=1e-6)
        np.testing.assert_array_equal(large.identified, dense.identified)
        np.testing.assert_array_equal(probed.identified, bound.identified)
        assert large.rank == dense.rank == rank
        np.testing.assert_allclose(large.variance_of(range(10)), dense.variance, rtol=1e-6)
        assert [probed.of(agent) for agent in range(10)] == pytest.approx([bound.of(agent) for agent in range(10)])
        np.testing.assert_array_equal(np.isinf(large.variance), np.isinf(dense.variance))


@pytest.mark.parametrize("prior", [None, Prior(0.3, 2.0)])
def test_known_starts_of_some_in_a_large_network(prior: Prior | None, monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(30, noise=pp.Gaussian(0.5))
    run = pp.simulate(model, 6, 2, seed=1)
    states = np.array(run.states)
    states[:, 0, ::3] = np.nan
    data = outputs_of(pp.Trajectory(**(vars(run) | {"states": states})), model, Observation(sees_start=True))
    dense = innovations(model, data, prior)
    as_if_large(monkeypatch)
    large = innovations(model, data, prior)
    # A dense matrix of all agents would not fit in memory.
    assert isinstance(large.covariance, SymmetricOperator)
    assert large.rank == dense.rank == 30
    np.testing.assert_allclose(large.value, dense.value, atol=1e-9)
    np.testing.assert_allclose(large.variance_of(range(30)), dense.variance, atol=1e-12)
    np.testing.assert_allclose(large.covariance @ np.eye(30), dense.covariance @ np.eye(30), atol=1e-9)


def test_information_agrees_with_the_estimate() -> None:
    model = small_model("ar1")
    estimate = recover(pp.simulate(model, STEPS), model)
    np.testing.assert_allclose(information(model, STEPS).bound, estimate.variance, rtol=1e-9)


def test_many_agents_in_seconds() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    model = pp.Model(
        pp.networks.barabasi_albert(n, 2, seed=1), rng.uniform(size=n), rng.uniform(0.5, 1, n), noise=pp.Gaussian(1.0)
    )
    estimate = recover(pp.simulate(model, 100, seed=1), model)
    assert np.mean(estimate.residuals() ** 2) == pytest.approx(0.0094, rel=0.1)
    assert estimate.goodness_of_fit is not None
    assert estimate.goodness_of_fit[0] > 1e-4
