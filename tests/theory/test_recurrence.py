"""Closed classes of networks that change, their absolute probability sequences, and the limits that follow."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.networks import TemporalNetwork, barabasi_albert, cycle
from peerpressure.noise import AR1, Gaussian, Noise
from peerpressure.schedules import Constant, Power
from peerpressure.theory import _recurrence
from peerpressure.theory._recurrence import (
    AbsoluteProbability,
    OpinionChain,
    RecurrentNetworks,
    absolute_probability,
    opinion_chain,
    periodic_fixed_point,
    periodic_limit,
    recurrent_networks,
)
from peerpressure.theory.propagation import moments
from tests.theory.reasons import known

from .changing import AGENTS, CHANGING, in_rounds
from .laws import mean_path


def build(network: TemporalNetwork, pressure: object = 1.0, noise: Noise | None = None) -> Model:
    rng = np.random.default_rng(3)
    hidden, s = rng.uniform(size=network.n), rng.uniform(0.5, 1, network.n)
    return Model(network, hidden, s, pressure, **({} if noise is None else {"noise": noise}))  # type: ignore[arg-type]


def recurring(model: Model) -> RecurrentNetworks:
    return known(recurrent_networks(model))


def closed(name: str, *, adapts: bool = False, memory: bool = True, own_opinion: bool = False) -> OpinionChain:
    everybody = np.ones(AGENTS, dtype=np.bool_)
    networks = recurring(build(CHANGING[name]))
    return opinion_chain(networks, everybody & adapts, everybody & memory, own_opinion=own_opinion)


@pytest.mark.parametrize(
    ("name", "adapts", "own_opinion", "count", "absorbing"),
    [
        ("star and ring", False, False, 1, 0),
        ("two closed classes", False, False, 2, 0),
        ("two closed classes", True, False, 2, 0),
        ("two closed classes", True, True, 1, 0),
        ("two closed classes", False, True, 6, 6),
        ("isolated", False, False, 2, 1),
        ("one alone", False, False, 1, 1),
        ("in turn", False, False, 3, 3),
        ("isolated", True, False, 1, 0),
        ("pairs", False, False, 2, 0),
        ("groups", False, False, 3, 1),
        ("ends", False, False, 6, 6),
    ],
)
def test_no_transition_leaves_a_closed_class(
    name: str, adapts: bool, own_opinion: bool, count: int, absorbing: int
) -> None:
    found = closed(name, adapts=adapts, own_opinion=own_opinion)
    assert found.count == count
    assert np.count_nonzero(found.absorbing) == absorbing
    for number in range(found.count):
        states = found.states(number)
        leads_to = found.matrix[states].indices
        assert set(leads_to.tolist()) <= set(states.tolist())


def test_the_period_of_a_closed_class_is_two_on_a_bipartite_graph() -> None:
    nobody, everybody = np.zeros(7, dtype=np.bool_), np.ones(7, dtype=np.bool_)
    for network, period in ((barabasi_albert(7, 1, seed=1), 2), (barabasi_albert(7, 2, seed=1), 1), (cycle(7), 1)):
        networks = recurring(Model(network, hidden=np.zeros(7)))
        assert opinion_chain(networks, nobody, everybody, own_opinion=False).period(0) == period
    assert closed("two closed classes").period(0) == closed("star and ring").period(0) == 2  # that of the networks
    # On a bipartite graph an opinion returns to its agent after an even number of steps: three networks take two turns.
    path = [(0, 1), (1, 2), (2, 3)]
    ring = in_rounds(path, path, [*path, (0, 3)], n=4)
    networks = recurring(build(ring))
    assert opinion_chain(networks, nobody[:4], everybody[:4], own_opinion=False).period(0) == 6


def test_opinions_without_memory_repeat_public_ones() -> None:
    # At η = 1 an isolated agent shows its last public opinion.
    with_memory = closed("isolated", adapts=True)
    without = closed("isolated", adapts=True, memory=False)
    # The hidden opinion of the isolated agent comes from itself in any case.
    assert with_memory.matrix.nnz == without.matrix.nnz + 2 * AGENTS - 1
    assert without.count == 1


def test_recurrent_networks_are_those_of_a_period_or_the_last() -> None:
    periodic, settled = recurring(build(CHANGING["isolated"])), recurring(build(CHANGING["groups"]))
    assert (periodic.count, periodic.begin, periodic.index(6)) == (2, 1, 1)
    assert (settled.count, settled.begin, settled.index(9)) == (1, 2, 0)
    assert periodic.intermittent.any()
    assert not settled.intermittent.any()
    assert settled.components()[0] == 3
    np.testing.assert_array_equal(periodic.isolated[1], [False] * 5 + [True])


@pytest.mark.parametrize("name", ["star and ring", "settles"])
def test_the_absolute_probability_sequence_is_invariant(name: str) -> None:
    model = build(CHANGING[name])
    networks = recurring(model)
    omega = known(absolute_probability(model, networks))
    for k in range(networks.count):
        P = networks.adjacency[k].toarray() / networks.degrees[k][:, None]
        np.testing.assert_allclose(omega.probability[k] @ P, omega.probability[k - 1], atol=1e-14)
        assert omega.probability[k].sum() == pytest.approx(1.0)
    np.testing.assert_allclose(omega.rates, omega.probability * model.s / networks.degrees, rtol=1e-12)


def test_a_constant_network_is_attracted_to_the_consensus_value() -> None:
    model = build(TemporalNetwork.constant(barabasi_albert(40, 2, seed=1)))
    omega = known(absolute_probability(model, recurring(model)))
    assert omega.kappa == pytest.approx(model.kappa, rel=1e-12)
    assert omega.value(model.x0) == pytest.approx(model.consensus_value, rel=1e-12)


def test_a_hub_that_comes_and_goes_counts_for_more_than_its_stubbornness() -> None:
    model = Model(CHANGING["star and ring"], hidden=np.eye(AGENTS)[0])
    omega = known(absolute_probability(model, recurring(model)))
    assert omega.value(model.x0) == pytest.approx(1 / 3)
    assert model.consensus_value == pytest.approx(1 / 6)
    late = mean_path(Model(CHANGING["star and ring"], model.x0, pressure=Power(0.7)), 20_000)[0][-1]
    np.testing.assert_allclose(late, 1 / 3, atol=2e-3)


def random_networks(seed: int, n: int, count: int) -> TemporalNetwork:
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        A = np.triu(rng.uniform(0.3, 3, (n, n)) * (rng.random((n, n)) < 0.3), 1)
        A[np.arange(n - 1), np.arange(1, n)] = rng.uniform(0.3, 3, n - 1)
        graphs.append(A + A.T)
    return TemporalNetwork.from_snapshots(graphs, period=count)


@pytest.mark.parametrize("seed", range(3))
def test_slow_pressure_leads_to_the_value_of_the_sequence(seed: int) -> None:
    model = build(random_networks(seed, 8, 3), Power(0.5))
    omega = known(absolute_probability(model, recurring(model)))
    value = omega.value(model.x0)
    early, late = (mean_path(model, steps)[0][-1] for steps in (500, 8_000))
    # 16 times the steps bring four times the pressure, and a fourth of the distance.
    assert np.abs(late - value).max() < 0.3 * np.abs(early - value).max()
    assert abs(late.mean() - value) < 0.2 * abs(value - model.consensus_value)


def test_eigenvectors_suffice_for_large_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(random_networks(1, 40, 4))
    networks = recurring(model)
    dense = absolute_probability(model, networks)
    monkeypatch.setattr(_recurrence, "DENSE", 10)
    sparse = absolute_probability(model, networks)
    assert dense is not None
    assert sparse is not None
    np.testing.assert_allclose(sparse.probability, dense.probability, atol=1e-12)


@pytest.mark.parametrize("noise", [Gaussian(0.5), Gaussian(0.5, temporal=AR1(0.7)), Gaussian(0.5, temporal=AR1(-0.7))])
def test_noise_counts_as_the_sequence_says(noise: Noise) -> None:
    model = build(random_networks(2, 6, 3), Power(0.5), noise)
    omega = known(absolute_probability(model, recurring(model)))
    T = 3000
    variance = moments(model, T, of=omega.probability[recurring(model).index(T)]).variance[0, 0]
    assert variance == pytest.approx(
        omega.kappa
        * omega.noise(model.noise.deviations(model.n), model.noise.autocorrelation) ** 2
        / (2 * float(model.pressure(T))),
        rel=0.03,
    )


def test_frozen_noise_counts_by_its_mean_weight() -> None:
    model = build(random_networks(2, 6, 3), noise=Gaussian(0.5, temporal="frozen"))
    omega = absolute_probability(model, recurring(model))
    assert isinstance(omega, AbsoluteProbability)
    expected = 0.5 * np.linalg.norm(omega.influence) / omega.influence.sum()
    assert omega.noise(model.noise.deviations(model.n), model.noise.autocorrelation) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["two closed classes", "isolated", "in turn", "star and ring", "groups"])
def test_periodic_limits_are_the_late_public_opinions(name: str) -> None:
    model = build(CHANGING[name], Power(0.7))
    states = known(periodic_limit(model, recurring(model)))
    shown = mean_path(model, 10_000)[0]
    expected: NDArray[np.float64] = states[[recurring(model).index(t) for t in (9_999, 10_000)]]
    np.testing.assert_allclose(shown[-2:], expected, atol=5e-3)
    early = mean_path(model, 100)[0][-2:]
    assert np.abs(shown[-2:] - expected).max() < 0.3 * np.abs(early - expected).max()


@pytest.mark.parametrize("name", ["two closed classes", "isolated", "star and ring"])
def test_bounded_pressure_converges_to_a_periodic_fixed_point(name: str) -> None:
    model = build(CHANGING[name], Constant(3.0))
    states = known(periodic_fixed_point(model, recurring(model)))
    np.testing.assert_allclose(mean_path(model, 1000)[0][-2:], states, atol=1e-9)
