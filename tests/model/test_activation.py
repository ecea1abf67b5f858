"""Asynchronous updates: who updates, exact moments over who does, declarations, scenarios."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.errors import ModelError
from peerpressure.scenario import parse_scenario
from peerpressure.simulation.engine import plan
from tests.builders import NOISES, N, random_model
from tests.oracles import Array, dense_run, who_updates
from tests.simulation.test_extended_simulation import ACTIVATIONS

SEED = 2**40 + 3


def test_large_networks_share_agents_among_threads_and_skip_idle_chunks() -> None:
    n = 110_000
    network = pp.networks.cycle(n)
    hidden = np.random.default_rng(0).random(n)
    for activation in (0.3, "single"):
        model = pp.Model(network, hidden, noise=pp.Gaussian(1.0), activation=activation)
        one, two = (pp.simulate(model, 3, seed=5, threads=count, record="all").states for count in (1, 2))
        np.testing.assert_array_equal(one, two)
        assert one is not None
        updated = (one[0, 1:] != one[0, :-1]).mean(axis=1)
        np.testing.assert_allclose(updated, 1 / n if activation == "single" else 0.3, atol=0.005)


@pytest.mark.parametrize("replicates", [1, 16])
def test_hidden_opinions_adapt_where_nobody_of_a_whole_chunk_updates(replicates: int) -> None:
    n, steps, rate = 2 * plan.CHUNK, 6, 0.25
    hidden, start = np.linspace(0, 1, n), np.linspace(3, 2, n)
    first_only = np.zeros((steps, n), bool)
    first_only[:, 0] = True
    parts: dict[str, Any] = {"start": start, "noise": 0.5, "activation": first_only, "adaptation": rate}
    run = pp.simulate(pp.Model(pp.networks.cycle(n), hidden, **parts), steps, replicates, record="final")
    # The others keep their public opinions, to which their hidden ones come closer by the same share at each step.
    assert run.final.hidden is not None
    expected = start + (1 - rate) ** steps * (hidden - start)
    np.testing.assert_array_equal(run.final.public[:, 1:], np.broadcast_to(start[1:], (replicates, n - 1)))
    np.testing.assert_allclose(run.final.hidden[:, 1:], np.broadcast_to(expected[1:], (replicates, n - 1)), atol=1e-14)


@pytest.mark.parametrize("replicates", [1, 16])
def test_correlated_noise_runs_on_where_nobody_of_a_whole_chunk_updates(replicates: int) -> None:
    n, steps = 2 * plan.CHUNK, 5
    noise = pp.Gaussian(0.5, temporal=pp.AR1(0.7))
    everybody = pp.Model(pp.networks.cycle(n), np.zeros(n), noise=noise)
    none: Any = np.zeros((steps, n), bool)
    memory, idle = (
        pp.simulate(one, steps, replicates, seed=SEED).final.memory
        for one in (everybody, replace(everybody, activation=none))
    )
    assert memory is not None
    assert idle is not None
    np.testing.assert_array_equal(memory, idle)


def test_noise_is_that_of_the_synchronous_model_and_frequencies_are_the_probabilities() -> None:
    model = random_model(noise=pp.Gaussian(0.5), pressure=0.0, activation=ACTIVATIONS["each"])
    runs = pp.simulate(model, 400, replicates=16, seed=1).states
    synchronous = pp.simulate(model.synchronous, 400, replicates=16, seed=1).states
    assert runs is not None
    assert synchronous is not None
    updated = runs[:, 1:] != runs[:, :-1]
    # Without pressure an update shows the opinion with its noise.
    np.testing.assert_array_equal(runs[:, 1:][updated], synchronous[:, 1:][updated])
    q = ACTIVATIONS["each"]
    z = (updated.mean(axis=(0, 1)) - q) / np.sqrt(q * (1 - q) / 6400)
    assert np.abs(z).max() < 4.5
    single = random_model(pressure=0.0, noise=pp.Gaussian(0.5), activation="single")
    chosen = np.concatenate([who_updates(single, 400, k, 1) for k in range(3)])
    assert (chosen.sum(axis=1) == 1).all()
    assert chosen.mean(axis=0).max() < 2.2 / N


# Moments.


def mixture(model: pp.Model, steps: int) -> tuple[Array, Array]:
    """Return mean and covariance of (y_T, x_{T+1}) by a sum over all masks of all steps."""
    n, phi, activation = model.n, model.noise.autocorrelation, model.activation
    assert activation is not None
    options = [(np.eye(n)[i], 1 / n) for i in range(n)]
    if activation.kind == "independent":
        every = itertools.product([0.0, 1.0], repeat=n)
        q = np.asarray(activation.values)
        options = [(np.array(mask), float(np.prod(np.where(mask, q, 1 - q)))) for mask in every]
    A, one, draw = model.network.adjacency.toarray(), np.eye(n), np.sqrt(1 - phi**2)
    parts = [(1.0, np.concatenate([model.start_state, model.x0, np.zeros(n)]), np.diag([0.0] * 2 * n + [1.0] * n))]
    for t in range(1, steps + 1):
        rho, d = float(model.pressure(t)), A.sum(axis=1)
        g, C = model.s / (model.s + rho * d), (rho / (model.s + rho * d))[:, None] * A
        sigma = g * model.noise.deviations(n) * float(model.noise.scale(t))
        eta = np.diag(np.zeros(n) if model.adaptation is None else model.adaptation.at(t, n))
        following = []
        for mask, chance in options:
            B, F, G = np.diag(mask), np.zeros((3 * n, 3 * n)), np.zeros((3 * n, n))
            F[:n] = np.hstack([one - B + B @ C, B * g, phi * B * sigma])
            F[n : 2 * n] = eta @ F[:n]
            F[n : 2 * n, n : 2 * n] += one - eta
            F[2 * n :, 2 * n :] = phi * one
            G[:n], G[2 * n :] = draw * B * sigma, draw * one
            G[n : 2 * n] = eta @ G[:n]
            following += [(w * chance, F @ mean, F @ P @ F.T + G @ G.T) for w, mean, P in parts]
        parts = following
    mean = sum((w * m for w, m, _ in parts), np.zeros(3 * n))
    second = sum((w * (P + np.outer(m - mean, m - mean)) for w, m, P in parts), np.zeros((3 * n, 3 * n)))
    return mean[: 2 * n], second[: 2 * n, : 2 * n]


@pytest.mark.parametrize("noise", ["none", "gaussian", "ar1", "frozen", "scaled over time"])
@pytest.mark.parametrize("activation", [0.4, [0.2, 0.7, 1.0], "single"])
@pytest.mark.parametrize("adaptation", [None, 0.2])
def test_moments_are_those_of_the_mixture_over_all_masks(activation: Any, adaptation: Any, noise: str) -> None:
    network = pp.Network([[0, 1, 0.5], [0.3, 0, 0], [0.8, 0.2, 0]], directed=True)
    parts = {"noise": NOISES[noise], "activation": activation, "adaptation": adaptation, "start": [1.0, -1.0, 0.3]}
    model = pp.Model(network, [0.0, 1.0, 3.0], [0.5, 1.0, 2.0], "0.5*t", **parts)
    steps = 4 if activation == "single" else 3
    mean, P = mixture(model, steps)
    result = pp.moments(model, steps, what="joint")
    np.testing.assert_allclose(result.mean[-1], mean, atol=1e-13)
    np.testing.assert_allclose(result.covariance, P, atol=1e-13)
    weights = np.random.default_rng(0).normal(size=(2, 6))
    sums = pp.moments(model, steps, of=weights, what="joint", times=[1, steps])
    np.testing.assert_allclose(sums.covariance, weights @ P @ weights.T, atol=1e-12)
    np.testing.assert_allclose(sums.variance[-1], np.diag(weights @ P @ weights.T), atol=1e-12)
    np.testing.assert_allclose(sums.mean[-1], weights @ mean, atol=1e-12)


def test_moments_of_a_table_are_those_of_its_run() -> None:
    model = random_model(activation=ACTIVATIONS["table"])
    np.testing.assert_allclose(pp.moments(model, 30).mean, dense_run(model, 30, 0, 0)[0], atol=1e-13)
    noisy = replace(model, noise=pp.Gaussian(1.0))
    both = pp.moments(noisy, 30).covariance, pp.moments(noisy, 30, of=np.eye(N)).covariance
    np.testing.assert_allclose(*both, atol=1e-14)


def test_moments_of_large_networks_are_refused_where_it_is_random_who_updates() -> None:
    model = pp.Model(pp.networks.cycle(2_001), np.zeros(2_001), activation=0.5)
    for of in (None, pp.theory.consensus_mode(model)):
        with pytest.raises(pp.errors.InvalidInputError, match="table of who updates"):
            pp.moments(model, 3, of=of)


# Declarations.


def test_everybody_is_none_and_models_survive_their_parts() -> None:
    assert random_model(activation=1.0).activation is None
    assert random_model(activation=np.ones(N)).activation is None
    for value in ACTIVATIONS.values():
        model = random_model(activation=value)
        again = pp.Model.from_parts(*model.parts())
        assert again.activation == model.activation
        assert str(model.activation) in repr(model)
        assert model.description()["activation"] == str(model.activation)
        assert replace(model, pressure=pp.Constant(2.0)).activation == model.activation


def test_probabilities_are_matched_by_label() -> None:
    network = pp.Network.from_edges([("a", "b"), ("b", "c")])
    model = pp.Model(network, {"a": 1.0, "b": 2.0, "c": 3.0}, activation={"c": 0.3, "a": 0.1, "b": 0.2})
    assert model.activation is not None
    np.testing.assert_array_equal(model.activation.values, [0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, "above 0 and at most 1, got 0"),
        (1.5, "above 0 and at most 1, got 1.5"),
        (float("nan"), "activation must be finite"),
        ([0.5, 0.5], "one number for each of the 23 agents, got 2 numbers"),
        ("everyone", "'single', or a table of 0 and 1, got 'everyone'"),
        (np.ones((3, 4)), r"a column for each of the 23 agents, got shape \(3, 4\)"),
        (np.full((3, N), 0.5), "must hold 0 and 1, got .*0.5.* at step 1"),
        (pp.Model(pp.networks.k2(), [0, 1], activation=0.5).activation, "that of the 23 agents, got that of 2"),
    ],
)
def test_errors_name_rule_and_value(value: Any, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        random_model(activation=value)


def test_what_needs_the_map_of_a_step_says_so() -> None:
    model = random_model(activation=0.5, noise=pp.Gaussian(1.0), start=0.0)
    calls: list[Callable[[], object]] = [
        lambda: model.update(1),
        lambda: pp.SDE(model),
        lambda: pp.privacy.budget(model, 5),
        lambda: pp.recovery.information(model, 5),
        lambda: pp.theory.optimal_schedule(model, 5),
        lambda: pp.theory.consensus_rate(model),
    ]
    for call in calls:
        with pytest.raises(ModelError, match=r"got each agent updates with probability 0\.5"):
            call()
    with pytest.raises(ModelError, match="table of 45 steps, got step 46"):
        pp.simulate(random_model(activation=ACTIVATIONS["table"]), 46)


# Scenarios.


@pytest.mark.parametrize(
    "value", ["0.5", "'single'", "[0.5, 1.0]", "[[1, 0], [0, 1], [1, 1]]", "{ law = 'uniform', low = 0.2, high = 0.4 }"]
)
def test_scenarios_say_who_updates(value: str, tmp_path: Path) -> None:
    scenario = parse_scenario(f"[network]\ngenerator = 'k2'\n[agents]\nactivation = {value}\n[run]\nsteps = 3")
    model = scenario.model()
    assert model.activation is not None
    assert parse_scenario(scenario.to_toml()).model().activation == model.activation
    run = pp.simulate(model, 3, seed=1)
    run.save(tmp_path / "run.npz")
    assert pp.Trajectory.load(tmp_path / "run.npz").model.activation == model.activation


@pytest.mark.parametrize(
    ("value", "words"),
    [("1.5", "at most 1"), ("'both'", "single"), ("[[1, 0]]", "table of 1 steps, got step 3"), ("true", "activation")],
)
def test_scenarios_report_wrong_activations(value: str, words: str) -> None:
    with pytest.raises(pp.errors.PeerPressureError, match=words):
        parse_scenario(f"[network]\ngenerator = 'k2'\n[agents]\nactivation = {value}\n[run]\nsteps = 3")


def test_tuned_pressure_follows_the_slower_rate() -> None:
    text = "[network]\ngenerator = 'k2'\n[agents]\nactivation = 'single'\n[pressure]\nkind = 'tuned'\n[run]\nsteps = 3"
    model = parse_scenario(text).model()
    assert isinstance(model.pressure, pp.Linear)
    assert model.pressure.slope == pytest.approx(model.kappa)
    assert model.kappa == pytest.approx(model.synchronous.kappa / 2)
