"""Models on directed, disconnected and signed networks: engine, moments, continuous time and recovery."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm, solve_continuous_lyapunov

import peerpressure as pp
from peerpressure.model.statespace import transition
from peerpressure.privacy._mechanisms import averaging_matrix
from peerpressure.recovery import information, recover
from peerpressure.sde import SDE
from peerpressure.sde.moments import gaussian_path, moments_of, stationary
from peerpressure.theory import contraction, fixed_point, moments, optimal_schedule
from tests.general_networks import MATRICES, far_state, model, network, step
from tests.oracles import dense_states, outputs_law

KINDS = list(MATRICES)
NOISE = pp.Gaussian(0.7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("replicates", [1, 20])
def test_engine_follows_the_definition(kind: str, replicates: int) -> None:
    one = model(kind, noise=NOISE, pressure="2^sqrt(t)")
    run = pp.simulate(one, 40, seed=3, replicates=replicates, record="all")
    expected = dense_states(one, 40, replicates - 1, 3)
    np.testing.assert_allclose(np.asarray(run.states)[-1], expected, rtol=1e-10, atol=1e-12)


def test_infinite_pressure_leaves_those_who_listen_to_nobody_alone() -> None:
    one = model("silent", pressure="2^(2000*t)")
    run = pp.simulate(one, 3, record="final")
    silent = one.network.degrees == 0
    np.testing.assert_array_equal(run.final.public[0][silent], one.x0[silent])
    assert np.all(np.isfinite(run.final.public))
    np.testing.assert_array_equal(one.update(1).gain[silent], 1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_adjoint_is_the_transpose(kind: str) -> None:
    one = model(kind, noise=pp.Gaussian(1.0, temporal=pp.AR1(0.5)), adaptation=0.2)
    now = transition(one, 3)
    eye = np.eye(now.layout.states)
    np.testing.assert_allclose(now.adjoint(eye), now.forward(eye).T, atol=1e-14)
    plain = one.update(3)
    np.testing.assert_allclose(plain.couple_adjoint(np.eye(one.n)), plain.coupling.toarray().T, atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", ["hidden", 0.3])
def test_moments_are_exact(kind: str, start: Any) -> None:
    one, T = model(kind, noise=NOISE, start=start), 12
    law = outputs_law(one, T, first=T)
    result = moments(one, T)
    np.testing.assert_allclose(result.mean[-1], law.c + law.B @ one.x0, atol=1e-12)
    np.testing.assert_allclose(result.covariance, law.covariance, atol=1e-12)
    some = moments(one, T, of=pp.theory.opinion_difference(one, 0, 1))
    weights = np.eye(one.n)[0] - np.eye(one.n)[1]
    np.testing.assert_allclose(some.variance[-1], weights @ law.covariance @ weights, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_fixed_point_and_contraction(kind: str) -> None:
    one = model(kind, pressure="10^t")
    L = np.diag(np.abs(MATRICES[kind]).sum(axis=1)) - MATRICES[kind]
    for t in (1, 5, 9):
        y = np.linalg.solve(np.diag(one.s) + 10.0**t * L, one.s * one.x0)
        np.testing.assert_allclose(fixed_point(one, t), y, atol=1e-6)
        np.testing.assert_allclose(one.update(t)(fixed_point(one, t)), fixed_point(one, t), atol=1e-12)
    np.testing.assert_allclose(fixed_point(one, 40), one.consensus_state, atol=1e-12)
    _, C = step(MATRICES[kind], one.s, 10.0)
    assert np.isclose(float(contraction(one, 1, exact=True)), np.abs(np.linalg.eigvals(C)).max())
    assert np.isclose(float(contraction(one, 1)), np.abs(C).sum(axis=1).max())


@pytest.mark.parametrize("kind", KINDS)
def test_consensus_state_is_where_slow_pressure_leads(kind: str) -> None:
    one = model(kind, pressure=pp.Power(0.5))
    error = [np.abs(far_state(one, kind, T) - one.consensus_state).max() for T in (2_000, 8_000)]
    assert error[1] < 0.2
    assert error[1] < 0.85 * error[0]


@pytest.mark.parametrize("kind", KINDS)
def test_continuous_time(kind: str) -> None:
    one = model(kind, noise=NOISE, pressure=2.0, start=0.1)
    sde, n = SDE(one, scaling="model"), one.n
    g, C = step(MATRICES[kind], one.s, 2.0)
    B, G = np.eye(n) - C, g * 0.7
    mean, covariance = next(gaussian_path(sde, np.array([1.5])))
    F = expm(-1.5 * B)
    rest = np.linalg.solve(B, g * one.x0)
    np.testing.assert_allclose(mean, rest + F @ (0.1 - rest), atol=1e-8)
    at_rest = solve_continuous_lyapunov(B, np.diag(G**2))
    np.testing.assert_allclose(covariance, at_rest - F @ at_rest @ F.T, atol=1e-8)
    result = moments_of(sde, np.eye(n)[:2], 1.5)
    np.testing.assert_allclose(result.covariance, covariance[:2, :2], atol=1e-8)
    np.testing.assert_allclose(result.mean[-1], mean[:2], atol=1e-8)
    for got, expected in zip(stationary(sde, 1.0), (rest, at_rest), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-10)
    run = moments(sde, 20)
    np.testing.assert_allclose(run.mean[-1], next(gaussian_path(sde, np.array([20 * sde.step])))[0], atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["ols", "innovations", "kalman", "gls"])
def test_observers_are_as_good_as_they_say(kind: str, method: str) -> None:
    one, T = model(kind, noise=NOISE, start=0.2, pressure=pp.Linear(0.5)), 6
    run, law = pp.simulate(one, T, seed=5), outputs_law(one, T)
    estimate = recover(run, one, method)
    weights = np.eye(T * one.n) if method == "ols" else np.linalg.inv(law.covariance)
    G = np.linalg.inv(law.B.T @ weights @ law.B) @ law.B.T @ weights
    np.testing.assert_allclose(estimate.value[0], G @ (np.asarray(run.states)[0, 1:].ravel() - law.c), atol=1e-7)
    np.testing.assert_allclose(np.asarray(estimate.covariance @ np.eye(one.n)), G @ law.covariance @ G.T, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_partial_observers(kind: str) -> None:
    one, T = model(kind, noise=NOISE, start=0.2, pressure=pp.Linear(0.5)), 8
    run = pp.simulate(one, T, seed=5)
    prior = pp.recovery.Prior(0.0, 1.0)
    J = np.eye(one.n) + outputs_law(one, T, range(one.n // 2)).information()
    view = pp.recovery.Observation(agents=list(one.network.labels[: one.n // 2]))
    estimate = recover(run, one, "kalman", observation=view, prior=prior)
    np.testing.assert_allclose(np.asarray(estimate.covariance @ np.eye(one.n)), np.linalg.inv(J), atol=1e-8)
    assert information(one, T, observation=view).matrix.shape == (one.n, one.n)


def test_what_needs_an_undirected_network_says_so() -> None:
    for build in (pp.TemporalNetwork.constant, lambda given: pp.TemporalNetwork.from_snapshots([given, given])):
        with pytest.raises(pp.errors.NetworkError, match="temporal networks have no negative weights"):
            build(network("balanced"))
    for kind in ("strong", "balanced"):
        with pytest.raises(pp.errors.NetworkError, match="temporal networks are undirected"):
            pp.networks.failing_edges(network(kind), 0.2, 5, seed=1)
        with pytest.raises(pp.errors.InvalidInputError, match="undirected, unsigned"):
            averaging_matrix(model(kind))


def test_best_schedules_on_a_directed_network() -> None:
    one = model("strong", noise=pp.Gaussian(0.1))
    best = optimal_schedule(one, 12)
    pressure = best.schedule(np.arange(1, 13))
    tuned = pp.Model(one.network, one.hidden, one.stubbornness, best.schedule, one.noise)
    law = outputs_law(tuned, 12, first=12)
    w = network("strong").left_null_vector * one.s
    off = np.var(one.x0, ddof=1) * ((law.B - w / w.sum()) ** 2).sum(axis=1)
    assert np.isclose(best.rms_distance, np.sqrt(np.mean(off + np.diag(law.covariance))), rtol=1e-6)
    assert pressure.shape == (12,)
    for kind in ("two classes", "disconnected", "balanced", "silent"):
        with pytest.raises(pp.errors.ModelError, match="one consensus value for all agents"):
            optimal_schedule(model(kind), 12)


@pytest.mark.parametrize("kind", KINDS)
def test_information_and_insiders(kind: str) -> None:
    one, T = model(kind, noise=NOISE, start=0.2, pressure=pp.Linear(0.5)), 4
    found = information(one, T).matrix @ np.eye(one.n)
    np.testing.assert_allclose(found, outputs_law(one, T).information(), rtol=1e-7, atol=1e-9)
    definition = pp.privacy.Definition(one, T, observed=pp.recovery.Observation(agents=[0]), insiders=[1])
    heard = (np.arange(one.n) < 2) | (MATRICES[kind][1] != 0)
    np.testing.assert_array_equal(definition.is_observed, heard)


@pytest.mark.parametrize("kind", ["strong", "two classes", "unbalanced"])
def test_what_the_first_step_leaks(kind: str) -> None:
    # Neighbours hear y₀ = x₀: their first outputs have shifts of ρ₁A_ji/s_j, in units of their noise.
    one = model(kind, noise=NOISE, pressure=pp.Linear(0.5))
    F = np.eye(one.n) + 0.5 * MATRICES[kind] / one.s[:, None]
    found = pp.privacy.budget(one, 3).table["information"]
    np.testing.assert_allclose(found, ((F**2).sum(axis=0) + 2) / 0.49, rtol=1e-12)
