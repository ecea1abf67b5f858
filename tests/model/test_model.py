"""The model's own facts: the affine map, its energy, its values, and what it refuses."""

from __future__ import annotations

import dataclasses
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import peerpressure as pp
from peerpressure.networks import k2
from tests.builders import SCHEDULES, random_model


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("t", [1, 2, 17])
def test_the_update_is_a_weighted_mean(schedule: str, t: int) -> None:
    """Gain and coupling are non-negative and sum to 1 over what an agent hears, itself included."""
    model = random_model(pressure=SCHEDULES[schedule])
    update = model.update(t)
    rho = float(model.pressure(t))
    np.testing.assert_allclose(update.gain, model.s / (model.s + rho * model.network.degrees), rtol=1e-14)
    coupling = update.coupling.toarray()
    assert (coupling >= 0).all()
    np.testing.assert_allclose(coupling.sum(axis=1) + update.gain, 1.0, rtol=1e-13)


def test_the_map_its_matrix_and_its_adjoint_agree() -> None:
    model = random_model()
    update, rng = model.update(3), np.random.default_rng(0)
    C = update.coupling.toarray()
    for shape in ((23,), (23, 4)):
        y, v, noise = rng.normal(size=shape), rng.normal(size=shape), rng.normal(size=shape)
        gain, x0 = (update.gain, model.x0) if y.ndim == 1 else (update.gain[:, None], model.x0[:, None])
        np.testing.assert_allclose(update(y, noise), gain * (x0 + noise) + C @ y, atol=1e-13)
        np.testing.assert_allclose(update.couple_adjoint(v), C.T @ v, atol=1e-13)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1000), t=st.integers(1, 100), move=st.floats(-5, 5), agent=st.integers(0, 22))
def test_the_update_minimises_every_agents_energy(seed: int, t: int, move: float, agent: int) -> None:
    model, rng = random_model(seed=seed), np.random.default_rng(seed)
    before, noise = rng.normal(size=23), rng.normal(size=23)
    best = model.update(t)(before, noise)
    other = best.copy()
    other[agent] += move
    least = model.hamiltonian(t, before, best, model.x0 + noise)
    energy = model.hamiltonian(t, before, other, model.x0 + noise)
    assert energy[agent] >= least[agent] - 1e-12 * (1 + abs(least[agent]))
    # The energy is quadratic with curvature s + ρd, so moving by m costs exactly half of that times m².
    cost = 0.5 * (model.s[agent] + float(model.pressure(t)) * model.network.degrees[agent]) * move**2
    np.testing.assert_allclose(energy[agent] - least[agent], cost, rtol=1e-6, atol=1e-8)


def test_energy_against_its_definition() -> None:
    model, rng = random_model(), np.random.default_rng(4)
    before, y, xi = rng.normal(size=(3, 23))
    A, rho = model.network.adjacency.toarray(), 5.0
    expected = [
        0.5 * model.s[i] * (xi[i] - y[i]) ** 2 + sum(0.5 * rho * A[i, j] * (before[j] - y[i]) ** 2 for j in range(23))
        for i in range(23)
    ]
    np.testing.assert_allclose(model.hamiltonian(5, before, y, xi), expected, rtol=1e-10)


def test_energy_keeps_its_precision_near_consensus() -> None:
    model = pp.Model(k2(), hidden=[1.0, 1.0], pressure=2.0)
    before, y = np.full(2, 1e6), np.array([1e6 + 1e-3, 1e6])
    near = model.hamiltonian(1, before, y, y)
    np.testing.assert_allclose(near, [(y[0] - 1e6) ** 2, 0.0], rtol=1e-12)


def test_distrust_costs_energy_by_the_distance_to_the_opposite_opinion() -> None:
    model = pp.Model(pp.Network([[0, -2.0], [-2.0, 0]], signed=True), hidden=[1.0, 0.5])
    before = np.array([0.3, -0.7])
    best = model.update(3)(before)
    np.testing.assert_allclose(
        model.hamiltonian(3, before, best, model.x0),
        0.5 * (model.x0 - best) ** 2 + 0.5 * 3 * 2 * (-before[::-1] - best) ** 2,
    )
    for step in (-0.1, 0.1):
        assert np.all(
            model.hamiltonian(3, before, best + step, model.x0) > model.hamiltonian(3, before, best, model.x0)
        )


def test_consensus_value_and_kappa() -> None:
    model = random_model()
    np.testing.assert_allclose(model.consensus_value, (model.s * model.x0).sum() / model.s.sum(), rtol=1e-13)
    np.testing.assert_allclose(model.kappa, model.s.sum() / model.network.degrees.sum(), rtol=1e-14)


def test_models_are_frozen_and_keep_their_own_copies() -> None:
    hidden = np.zeros(2)
    model = pp.Model(pp.networks.k2(), hidden=hidden)
    hidden[0] = 9.0
    assert model.x0[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        model.x0[0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.hidden = np.ones(2)  # type: ignore[misc]


def test_shorthands() -> None:
    model = pp.Model(pp.networks.k2(), hidden=[1, 2], stubbornness=2, pressure="2*t")
    assert model.s.tolist() == [2.0, 2.0]
    assert float(model.pressure(3)) == 6.0
    assert "2 agents" in repr(model)


@pytest.mark.parametrize(
    ("given", "noise"),
    [
        (0.3, pp.Gaussian(0.3)),
        (np.float32(0.5), pp.Gaussian(0.5)),
        (np.array(0.5), pp.Gaussian(0.5)),
        ("gaussian:0.3", pp.Gaussian(0.3)),
        ("0.3", pp.Gaussian(0.3)),
        ("laplace:0.3", pp.Laplace(0.3)),
        ("student:1:5", pp.StudentT(1.0, df=5.0)),
        ("none", pp.NoNoise()),
        (None, pp.NoNoise()),
        ([0.1, 0.2], pp.Gaussian([0.1, 0.2])),
        ({"bob": 0.2, "ann": 0.1}, pp.Gaussian([0.1, 0.2])),
        (pd.Series({"bob": 0.2, "ann": 0.1}), pp.Gaussian([0.1, 0.2])),
    ],
)
def test_noise_in_a_few_words(given: Any, noise: pp.noise.Noise) -> None:
    model = pp.Model(pp.Network.from_edges([("ann", "bob")]), [1.0, 2.0], noise=given)
    assert model.noise == noise
    assert dataclasses.replace(model, start=np.zeros(2)).noise == noise


def test_noise_for_each_topic() -> None:
    network = pp.networks.k2().with_topics(["tax", "rent"])
    model = pp.Model(network, np.zeros((2, 2)), noise=[[0.1, 0.2], [0.3, 0.4]])
    assert model.noise == pp.Gaussian([0.1, 0.2, 0.3, 0.4])
    assert pp.Model(network, np.zeros((2, 2)), noise=[0.1, 0.2]).noise == pp.Gaussian([0.1, 0.1, 0.2, 0.2])


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"hidden": [1.0]}, "2 agents, got 1 number;"),
        ({"hidden": 1.0}, "2 agents, got shape"),
        ({"hidden": [1.0, np.nan]}, "nan at agent 1"),
        ({"hidden": ["a", "b"]}, "one number for each agent"),
        ({"stubbornness": [1.0, 0.0]}, "positive, got 0 at agent 1"),
        ({"stubbornness": -1.0}, "positive"),
        ({"stubbornness": np.nan}, "finite"),
        ({"pressure": object()}, "schedule|pressure"),
        ({"noise": object()}, "noise must be a Noise, a standard deviation, a law in words or None, got <object"),
        ({"noise": True}, "noise must be a Noise, .*got True"),
        ({"noise": -1.0}, "finite and not negative"),
        ({"noise": "gauss:1"}, "noise must be a law"),
        ({"noise": "gaussian:much"}, "std must be a number"),
        ({"noise": {0: 1.0}}, "noise: each agent must have a value by its label"),
        ({"noise": [1.0]}, "noise must hold one number for each of the 2 agents"),
        ({"start": "public"}, "'hidden'"),
        ({"start": [0.0, 0.0, 0.0]}, "start must hold"),
        ({"network": nx.path_graph(2)}, "from_networkx"),
    ],
)
def test_bad_models_are_refused_by_name(parts: dict[str, Any], says: str) -> None:
    with pytest.raises(pp.PeerPressureError, match=f"(?i){says}"):
        pp.Model(**(dict[str, Any](network=pp.networks.k2(), hidden=[1.0, 2.0]) | parts))


def test_each_piece_of_a_network_has_a_value_of_its_own() -> None:
    pieces = pp.Network.from_edges([(0, 1), (2, 3)])
    model = pp.Model(pieces, hidden=[0.0, 1.0, 2.0, 4.0], stubbornness=[1.0, 3.0, 1.0, 1.0])
    np.testing.assert_allclose(model.consensus_state, [0.75, 0.75, 3.0, 3.0])
    assert pp.diagnose(model).outcome is pp.theory.Outcome.CLUSTERS


def test_parts_that_change_nothing_are_normalised_away() -> None:
    network = pp.networks.cycle(5)
    for adaptation in (0.0, pp.Adaptation(0.1, 0.0), pp.Adaptation("1/t", [0.0] * 5)):
        model = pp.Model(pp.TemporalNetwork.constant(network), np.arange(5.0), adaptation=adaptation)
        assert model.is_plain
        assert (model.network.adjacency != network.adjacency).nnz == 0
        assert repr(model) == repr(pp.Model(network, np.arange(5.0)))
    with pytest.raises(pp.errors.ModelError, match="one for each of the 5 agents"):
        pp.Model(network, np.arange(5.0), adaptation=pp.Adaptation(0.0, [0.1, 0.2]))


def test_a_table_of_zero_rates_may_still_adapt_later() -> None:
    model = pp.Model(pp.networks.k2(), [0.0, 1.0], adaptation=pp.Adaptation([0.0, 0.0]))
    assert not model.is_plain
