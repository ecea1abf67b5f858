"""The filter against generalised least squares in one piece, and against the dense joint law of all states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.recovery import Estimate, Observation, Outputs, Prior, outputs_of
from peerpressure.recovery._innovations import innovations
from peerpressure.recovery._kalman import kalman, kalman_filter, kalman_smoother
from peerpressure.recovery._regression import gls
from peerpressure.resources import Memory
from tests.builders import random_model
from tests.recovery.cases import AGENTS, NOISES, STARTS, STEPS, VIEWS, Array, small_model

PRIORS = {"diffuse": None, "prior": Prior(0.3, np.linspace(0.2, 2.0, AGENTS))}


def with_holes(run: pp.Trajectory, share: float, seed: int = 0) -> pp.Trajectory:
    """Return the run with some outputs missing, alike in all replicates."""
    assert run.states is not None
    states = run.states.copy()
    states[:, np.random.default_rng(seed).random(states.shape[1:]) < share] = np.nan
    return replace(run, states=states)


def assert_same(one: Estimate, other: Estimate, tolerance: float = 1e-8) -> None:
    who = one.identified
    np.testing.assert_array_equal(who, other.identified)
    assert one.rank == other.rank
    np.testing.assert_allclose(one.value[:, who], other.value[:, who], rtol=tolerance, atol=tolerance)
    found, wanted = ((e.covariance @ np.eye(e.model.n))[np.ix_(who, who)] for e in (one, other))
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * (1 + np.abs(wanted).max(initial=0.0)))


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("noise", NOISES)
def test_the_filter_is_generalised_least_squares(noise: str, start: str, prior: str) -> None:
    model = small_model(noise, start)
    run = pp.simulate(model, STEPS, 3, seed=2)
    # Each view meets every noise, start and prior, with and without missing outputs.
    odd = list(NOISES).index(noise) + list(STARTS).index(start) + list(PRIORS).index(prior)
    for k, view in enumerate(VIEWS.values(), start=odd):
        data = outputs_of(with_holes(run, 0.3) if k % 2 else run, model, view)
        assert_same(kalman(model, data, PRIORS[prior]), gls(model, data, PRIORS[prior]))


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("noise", NOISES)
def test_complete_outputs_need_no_filter(noise: str, start: str) -> None:
    model = small_model(noise, start)
    data = outputs_of(pp.simulate(model, 40, 3, seed=3), model)
    for prior in PRIORS.values():
        one, other = kalman(model, data, prior), innovations(model, data, prior)
        np.testing.assert_allclose(one.value, other.value, atol=1e-8)
        np.testing.assert_allclose(one.variance, other.variance, atol=1e-8)


def test_gains_that_vanish_in_the_last_digits_do_no_harm() -> None:
    model = random_model(6, 1, noise=pp.Gaussian(1.0), pressure=pp.StretchedExponential(), start=np.zeros(6))
    run = pp.simulate(model, 3000, 4, seed=4)
    assert model.update(3000).gain.max() < 1e-14
    early = outputs_of(run, model, Observation(times=range(1, 801)))
    np.testing.assert_allclose(kalman(model, early).value, innovations(model, early).value, atol=1e-6)
    late = kalman(model, outputs_of(run, model))
    assert (late.std < 1 / np.sqrt(1000)).all()
    assert (np.abs(late.residuals()) < 5 * late.std).all()


def test_stated_covariance_is_the_true_one() -> None:
    model = small_model("ar1")
    run = with_holes(pp.simulate(model, STEPS, 4000, seed=7), 0.2, seed=3)
    estimate = kalman(model, outputs_of(run, model, Observation(agents=[0, 2, 3, 4, 6])))
    who = estimate.identified
    errors = estimate.residuals()[:, who]
    stated = np.asarray(estimate.covariance)[np.ix_(who, who)]
    size = np.sqrt(np.outer(stated.diagonal(), stated.diagonal()) + stated**2) / np.sqrt(len(errors))
    assert (np.abs(errors.T @ errors / len(errors) - stated) < 5 * size).all()


def test_agents_that_look_alike_are_not_told_apart() -> None:
    model = pp.Model(pp.networks.star(6), np.arange(6.0), [1.0, 1.0, 1.0, 1.0, 2.0, 3.0], noise=pp.Gaussian(1.0))
    run = pp.simulate(model, 30, 3, seed=1)
    hub = max(model.network.labels, key=lambda label: model.network.degrees[model.network.index(label)])
    data = outputs_of(run, model, Observation(agents=[hub]))
    for method in (gls, kalman):
        estimate = method(model, data)
        np.testing.assert_array_equal(estimate.identified, [True, False, False, False, True, True])
        assert estimate.rank == 4
        assert np.isinf(estimate.condition)
        assert np.isinf(estimate.variance[1:4]).all()
        # Their sum is identified, and so are they once there is a prior.
        ones = np.array([0.0, 1.0, 1.0, 1.0, 0.0, 0.0])
        error = estimate.residuals() @ ones
        assert (np.abs(error) < 5 * np.sqrt(ones @ estimate.covariance @ ones)).all()
        assert method(model, data, Prior(2.0, 9.0)).identified.all()


def test_news_travels_one_edge_a_step() -> None:
    model = pp.Model(pp.networks.path(6), np.zeros(6), noise=pp.Gaussian(1.0), start=np.zeros(6))
    data = outputs_of(pp.simulate(model, 4), model, Observation(agents=[0]))
    np.testing.assert_array_equal(kalman(model, data).identified, [True, True, True, True, False, False])


def everything(model: pp.Model, data: Outputs, steps: int) -> tuple[Array, Array, Array]:
    """Return B, c and L of z = c + B x₀ + L e for z = (y_0, …, y_steps), by brute force."""
    n = model.n
    times = np.arange(1, steps + 1)
    root = np.linalg.cholesky(model.noise.time_covariance(times) + 1e-14 * np.eye(steps))
    hidden = isinstance(model.start, str)
    B, c, L = np.eye(n) * hidden, (0 if hidden else 1) * model.start_state, np.zeros((n, steps, n))
    rows = [(B, c, L)]
    for t in times:
        C = model.update(int(t)).coupling.toarray()
        gain = np.diag(model.update(int(t)).gain)
        B, c, L = C @ B + gain, C @ c, np.einsum("ij,jtk->itk", C, L)
        for k in range(steps):
            L[:, k] += root[t - 1, k] * gain @ np.diag(model.noise.deviations(n))
        rows.append((B, c, L))
    return (
        np.concatenate([b for b, _, _ in rows]),
        np.concatenate([c for _, c, _ in rows]),
        np.concatenate([noise.reshape(n, -1) for _, _, noise in rows]),
    )


@pytest.mark.parametrize("rounding", [0.0, 0.4])
@pytest.mark.parametrize("noise", ["white", "ar1", "by agent", "negative ar1"])
def test_the_smoother_is_the_dense_conditional_law(noise: str, rounding: float) -> None:
    model = small_model(noise, "given")
    view = Observation(agents=[0, 2, 3, 6], times=[1, 2, 5, 6, 8], rounding=rounding)
    data = outputs_of(with_holes(pp.simulate(model, STEPS, 3, seed=4), 0.1), model, view)
    B, c, L = everything(model, data, data.seen.last)
    prior = Prior(0.1, 0.7)
    mean = np.concatenate([np.full(AGENTS, 0.1), c + B @ np.full(AGENTS, 0.1)])
    root = (
        np.concatenate([np.eye(AGENTS) * np.sqrt(0.7), B * np.sqrt(0.7)]),
        np.concatenate([0 * B[:AGENTS] @ L[:AGENTS], L]),
    )
    joint = root[0] @ root[0].T + root[1] @ root[1].T
    where = [
        AGENTS * (1 + int(t)) + int(agent)
        for row, t in enumerate(data.seen.times)
        for agent in data.seen.agents[data.present[row]]
    ]
    V = joint[np.ix_(where, where)] + data.seen.noise_variance * np.eye(len(where))
    gain = np.linalg.solve(V, joint[where]).T
    centre = mean[:, None] + gain @ (data.values[:, data.present].T - mean[where][:, None])
    spread = joint - gain @ joint[where]
    path = kalman_smoother(data, model, prior)
    for t in path.times:
        block = slice(AGENTS * (1 + t), AGENTS * (2 + t))
        np.testing.assert_allclose(path.public.mean[:, t].T, centre[block], atol=1e-7)
        np.testing.assert_allclose(path.public.covariance[t], spread[block, block], atol=1e-7)
        np.testing.assert_allclose(path.hidden.mean[:, t].T, centre[:AGENTS], atol=1e-7)
    np.testing.assert_allclose(path.hidden.covariance[0], spread[:AGENTS, :AGENTS], atol=1e-7)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("noise", ["white", "ar1", "frozen"])
def test_the_filter_knows_at_each_time_what_is_known_by_then(noise: str, prior: str) -> None:
    model = small_model(noise)
    run = pp.simulate(model, STEPS, 3, seed=5)
    agents = [0, 2, 3, 6]
    path = kalman_filter(outputs_of(run, model, Observation(agents=agents)), model, PRIORS[prior])
    for t in range(1, STEPS + 1):
        until = outputs_of(run, model, Observation(agents=agents, times=range(1, t + 1)))
        whole = gls(model, until, PRIORS[prior])
        np.testing.assert_array_equal(path.hidden.identified[t], whole.identified)
        np.testing.assert_allclose(path.hidden.variance[t], whole.variance, atol=1e-8)
        who = whole.identified
        np.testing.assert_allclose(path.hidden.mean[:, t, who], whole.value[:, who], atol=1e-8)
        smooth = kalman_smoother(until, model, PRIORS[prior])
        np.testing.assert_allclose(smooth.public.variance[t], path.public.variance[t], atol=1e-8)
    np.testing.assert_allclose(path.public.std[1:, agents], 0.0, atol=1e-7)
    assert run.states is not None
    np.testing.assert_allclose(path.public.mean[:, 1:][:, :, agents], run.states[:, 1:, agents], atol=1e-8)


def test_beliefs_about_unseen_states_are_calibrated() -> None:
    model = small_model("white")
    run = pp.simulate(model, STEPS, 3000, seed=6)
    path = kalman_smoother(outputs_of(run, model, Observation(agents=[0, 2, 3, 4, 6])), model)
    assert run.states is not None
    error = (run.states[:, 4] - path.public.mean[:, 4])[:, [1, 5]] / path.public.std[4, [1, 5]]
    assert (np.abs((error**2).mean(axis=0) - 1) < 5 * np.sqrt(2 / 3000)).all()


def test_outputs_of_another_model_are_refused_where_noise_leaves_no_room() -> None:
    model = pp.Model(pp.networks.path(4), np.arange(4.0))
    other = pp.Model(pp.networks.path(4), np.arange(4.0), stubbornness=3.0)
    data = outputs_of(pp.simulate(model, 20), other)
    for method in (gls, kalman):
        with pytest.raises(pp.errors.InvalidInputError, match="follow the model"):
            method(other, data)


def test_beliefs_over_time_must_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peerpressure.resources.free_memory", lambda: Memory(10**9))
    model = pp.Model(pp.networks.cycle(400), np.zeros(400), noise=pp.Gaussian(1.0))
    data = outputs_of(pp.simulate(model, 400), model)
    for path in (kalman_filter, kalman_smoother):
        with pytest.raises(pp.errors.TooLargeError, match="kalman"):
            path(data, model)
