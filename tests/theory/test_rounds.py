"""Closed classes in networks that change, the weights of their common values, and what these are drawn to."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.networks import TemporalNetwork, barabasi_albert, cycle
from peerpressure.noise import AR1, Gaussian, Noise
from peerpressure.schedules import Constant, Power
from peerpressure.theory import _recurrence
from peerpressure.theory._moments import moments
from peerpressure.theory._recurrence import (
    ClosedClasses,
    Mode,
    Rounds,
    closed_classes,
    cycle_of_circles,
    cycle_of_spread,
    mode_of,
    recurring_rounds,
)

from .changing import AGENTS, CHANGING, in_rounds, mean_path


def build(network: TemporalNetwork, pressure: object = 1.0, noise: Noise | None = None) -> Model:
    rng = np.random.default_rng(3)
    hidden, s = rng.uniform(size=network.n), rng.uniform(0.5, 1, network.n)
    return Model(network, hidden, s, pressure, **({} if noise is None else {"noise": noise}))  # type: ignore[arg-type]


def recurring(model: Model) -> Rounds:
    rounds = recurring_rounds(model)
    assert rounds is not None
    return rounds


def closed(name: str, *, adapts: bool = False, remembers: bool = True, weak: bool = False) -> ClosedClasses:
    everybody = np.ones(AGENTS, dtype=np.bool_)
    rounds = recurring(build(CHANGING[name]))
    return closed_classes(rounds, everybody & adapts, everybody & remembers, weak=weak)


@pytest.mark.parametrize(
    ("name", "adapts", "weak", "count", "ends"),
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
def test_circles_are_what_no_step_back_leads_out_of(name: str, adapts: bool, weak: bool, count: int, ends: int) -> None:
    found = closed(name, adapts=adapts, weak=weak)
    assert found.count == count
    assert np.count_nonzero(found.ends) == ends
    for number in range(found.count):
        places = found.places(number)
        leads_to = found.graph[places].indices
        assert set(leads_to.tolist()) <= set(places.tolist())


def test_a_circle_turns_as_the_sides_of_a_bipartite_graph_do() -> None:
    nobody, everybody = np.zeros(7, dtype=np.bool_), np.ones(7, dtype=np.bool_)
    for network, turns in ((barabasi_albert(7, 1, seed=1), 2), (barabasi_albert(7, 2, seed=1), 1), (cycle(7), 1)):
        rounds = recurring(Model(network, hidden=np.zeros(7)))
        assert closed_classes(rounds, nobody, everybody, weak=False).turns(0) == turns
    assert closed("two closed classes").turns(0) == closed("star and ring").turns(0) == 2  # one period
    # On a path what an agent hears comes back after an even number of steps, so that three steps turn twice.
    ring = in_rounds([(0, 1), (1, 2), (2, 3)], [(0, 1), (1, 2), (2, 3)], [(0, 1), (1, 2), (2, 3)], n=4)
    rounds = recurring(build(ring))
    assert closed_classes(rounds, nobody[:4], everybody[:4], weak=False).turns(0) == 6


def test_opinions_without_memory_hand_on_what_was_said() -> None:
    # Who believes all that it says shows, when alone, what it showed before.
    with_memory = closed("isolated", adapts=True)
    without = closed("isolated", adapts=True, remembers=False)
    assert with_memory.graph.nnz == without.graph.nnz + 2 * AGENTS
    assert without.count == 1


def test_rounds_that_recur_are_those_of_a_period_or_the_last() -> None:
    periodic, settled = recurring(build(CHANGING["isolated"])), recurring(build(CHANGING["groups"]))
    assert (periodic.count, periodic.begin, periodic.index(6)) == (2, 1, 1)
    assert (settled.count, settled.begin, settled.index(9)) == (1, 2, 0)
    assert (periodic.isolated, settled.isolated) == (True, False)
    assert settled.groups()[0] == 3
    np.testing.assert_array_equal(periodic.alone[1], [False] * 5 + [True])


@pytest.mark.parametrize("name", ["star and ring", "settles"])
def test_the_weights_of_a_common_value_go_back_into_themselves(name: str) -> None:
    model = build(CHANGING[name])
    rounds = recurring(model)
    mode = mode_of(model, rounds)
    assert mode is not None
    for k in range(rounds.count):
        P = rounds.adjacency[k].toarray() / rounds.degrees[k][:, None]
        np.testing.assert_allclose(mode.weights[k] @ P, mode.weights[k - 1], atol=1e-14)
        assert mode.weights[k].sum() == pytest.approx(1.0)
    np.testing.assert_allclose(mode.pull, mode.weights * model.s / rounds.degrees, rtol=1e-12)


def test_a_constant_network_is_drawn_to_the_consensus_value() -> None:
    model = build(TemporalNetwork.constant(barabasi_albert(40, 2, seed=1)))
    mode = mode_of(model, recurring(model))
    assert mode is not None
    assert mode.kappa == pytest.approx(model.kappa, rel=1e-12)
    assert mode.value(model.x0) == pytest.approx(model.consensus_value, rel=1e-12)


def test_a_hub_that_comes_and_goes_counts_for_more_than_its_stubbornness() -> None:
    model = Model(CHANGING["star and ring"], hidden=np.eye(AGENTS)[0])
    mode = mode_of(model, recurring(model))
    assert mode is not None
    assert mode.value(model.x0) == pytest.approx(1 / 3)
    assert model.consensus_value == pytest.approx(1 / 6)
    late = mean_path(Model(CHANGING["star and ring"], model.x0, pressure=Power(0.7)), 20_000)[0][-1]
    np.testing.assert_allclose(late, 1 / 3, atol=2e-3)


def random_rounds(seed: int, n: int, count: int) -> TemporalNetwork:
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        A = np.triu(rng.uniform(0.3, 3, (n, n)) * (rng.random((n, n)) < 0.3), 1)
        A[np.arange(n - 1), np.arange(1, n)] = rng.uniform(0.3, 3, n - 1)
        graphs.append(A + A.T)
    return TemporalNetwork.from_snapshots(graphs, period=count)


@pytest.mark.parametrize("seed", range(3))
def test_slow_pressure_leads_to_the_value_of_the_mode(seed: int) -> None:
    model = build(random_rounds(seed, 8, 3), Power(0.5))
    mode = mode_of(model, recurring(model))
    assert mode is not None
    value = mode.value(model.x0)
    early, late = (mean_path(model, steps)[0][-1] for steps in (500, 8_000))
    # 16 times the steps bring four times the pressure, and a fourth of the distance.
    assert np.abs(late - value).max() < 0.3 * np.abs(early - value).max()
    assert abs(late.mean() - value) < 0.2 * abs(value - model.consensus_value)


def test_few_vectors_do_for_large_circles(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(random_rounds(1, 40, 4))
    rounds = recurring(model)
    dense = mode_of(model, rounds)
    monkeypatch.setattr(_recurrence, "DENSE", 10)
    sparse = mode_of(model, rounds)
    assert dense is not None
    assert sparse is not None
    np.testing.assert_allclose(sparse.weights, dense.weights, atol=1e-12)


@pytest.mark.parametrize("noise", [Gaussian(0.5), Gaussian(0.5, temporal=AR1(0.7)), Gaussian(0.5, temporal=AR1(-0.7))])
def test_noise_counts_as_the_mode_says(noise: Noise) -> None:
    model = build(random_rounds(2, 6, 3), Power(0.5), noise)
    mode = mode_of(model, recurring(model))
    assert mode is not None
    T = 3000
    variance = moments(model, T, of=mode.weights[recurring(model).index(T)]).variance[0, 0]
    assert variance == pytest.approx(mode.kappa * mode.noise(model) ** 2 / (2 * float(model.pressure(T))), rel=0.03)


def test_a_mask_counts_by_its_mean_weight() -> None:
    model = build(random_rounds(2, 6, 3), noise=Gaussian(0.5, temporal="frozen"))
    mode = mode_of(model, recurring(model))
    assert isinstance(mode, Mode)
    expected = 0.5 * np.linalg.norm(mode.influence) / mode.influence.sum()
    assert mode.noise(model) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["two closed classes", "isolated", "in turn", "star and ring", "groups"])
def test_cycles_of_circles_are_what_late_rounds_show(name: str) -> None:
    model = build(CHANGING[name], Power(0.7))
    states = cycle_of_circles(model, recurring(model))
    assert states is not None
    shown = mean_path(model, 10_000)[0]
    expected: NDArray[np.float64] = states[[recurring(model).index(t) for t in (9_999, 10_000)]]
    np.testing.assert_allclose(shown[-2:], expected, atol=5e-3)
    early = mean_path(model, 100)[0][-2:]
    assert np.abs(shown[-2:] - expected).max() < 0.3 * np.abs(early - expected).max()


@pytest.mark.parametrize("name", ["two closed classes", "isolated", "star and ring"])
def test_bounded_pressure_goes_round_in_the_cycle_of_its_steps(name: str) -> None:
    model = build(CHANGING[name], Constant(3.0))
    states = cycle_of_spread(model, recurring(model))
    assert states is not None
    np.testing.assert_allclose(mean_path(model, 1000)[0][-2:], states, atol=1e-9)
