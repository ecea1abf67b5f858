"""Each of the four outcomes, on graphs drawn from a fixed seed: the simulated runs do what the verdict says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.networks import Network, barabasi_albert, erdos_renyi, watts_strogatz
from peerpressure.noise import Gaussian, Laplace, Noise
from peerpressure.schedules import Constant, Linear, Power, Schedule, StretchedExponential
from peerpressure.simulation import simulate
from peerpressure.theory import Outcome, consensus_limit, consensus_mode, diagnose, fixed_point, moments

DRAW = np.random.default_rng(20240)
SEEDS = [int(seed) for seed in DRAW.integers(0, 2**31, 3)]
RUNS = 200
# Two-sided tail of 1e-5: a false alarm in a hundred thousand numbers compared.
SIGMAS = 4.5


def odd_graph(seed: int) -> Network:
    """Return one of three kinds of graph with odd cycles."""
    kinds = [
        barabasi_albert(int(20 + seed % 20), 2, seed=seed),
        erdos_renyi(30, 0.2, seed=seed),
        watts_strogatz(24, 4, 0.3, seed=seed),
    ]
    return next(g for g in kinds[seed % 3 :] + kinds if not g.is_bipartite)


def tree(seed: int) -> Network:
    return barabasi_albert(int(15 + seed % 20), 1, seed=seed)


def make(network: Network, pressure: Schedule, seed: int, noise: Noise) -> Model:
    rng = np.random.default_rng(seed)
    return Model(network, rng.uniform(size=network.n), rng.uniform(0.5, 1, network.n), pressure, noise)


def shown(model: Model, steps: int, seed: int) -> NDArray[np.float64]:
    return simulate(model, steps, RUNS, seed=seed, record="final").final.public


def mode_distance(model: Model, public: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.abs(public @ consensus_mode(model).weights - model.consensus_value))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("graph", [odd_graph, tree])
def test_consensus_on_the_value(graph: object, seed: int) -> None:
    network = odd_graph(seed) if graph is odd_graph else tree(seed)
    rng = np.random.default_rng(seed)
    pressure = Linear.tuned(network, rng.uniform(0.5, 1, network.n))
    model = make(network, pressure, seed, Gaussian(0.5))
    assert diagnose(model).outcome is Outcome.CONSENSUS
    early, late = shown(model, 100, seed), shown(model, 6400, seed)
    # Spread and distance both close, 64 times the steps bringing at least a factor of 4.
    assert np.mean(np.ptp(late, axis=1)) < np.mean(np.ptp(early, axis=1)) / 4
    assert np.mean(mode_distance(model, late)) < np.mean(mode_distance(model, early)) / 4
    assert np.abs(late - model.consensus_value).max() < 0.1


@pytest.mark.parametrize("seed", SEEDS)
def test_consensus_on_a_biased_consensus(seed: int) -> None:
    model = make(odd_graph(seed), Power(1.5), seed, Laplace(0.5))
    assert diagnose(model).outcome is Outcome.BIASED_CONSENSUS
    early, late = shown(model, 400, seed), shown(model, 3200, seed)
    assert np.ptp(late, axis=1).max() < 0.01
    # The runs agree within themselves, far more closely than they come to v, and waiting does not help.
    assert np.mean(mode_distance(model, late)) > 5 * np.mean(np.ptp(late, axis=1))
    assert np.mean(mode_distance(model, late)) > 0.7 * np.mean(mode_distance(model, early))
    limit = consensus_limit(model)
    agreed = late.mean(axis=1)
    assert abs(agreed.mean() - limit.mean) < SIGMAS * limit.std / np.sqrt(RUNS) + 2e-3
    # The mean of agents at a finite time is not quite the limit, hence the allowance.
    assert agreed.std() == pytest.approx(limit.std, rel=SIGMAS * np.sqrt(1.5 / RUNS))


@pytest.mark.parametrize("seed", SEEDS)
def test_permanent_oscillation(seed: int) -> None:
    model = make(tree(seed), StretchedExponential(), seed, Gaussian(0.5))
    assert diagnose(model).outcome is Outcome.OSCILLATION
    sides = model.network.sides
    assert sides is not None

    def gap(steps: int) -> NDArray[np.float64]:
        public = shown(model, steps, seed)
        return np.asarray(public[:, sides].mean(axis=1) - public[:, ~sides].mean(axis=1))

    gaps = [gap(steps) for steps in (1000, 1001, 3000)]
    # The same seed makes the same runs, so each run's gap can be followed: it changes sign and stays.
    np.testing.assert_allclose(gaps[1], -gaps[0], atol=1e-4)
    np.testing.assert_allclose(gaps[2], gaps[0], atol=1e-4)
    assert np.sqrt(np.mean(gaps[0] ** 2)) > 0.02


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("graph", [odd_graph, tree])
def test_stationary_spread(graph: object, seed: int) -> None:
    network = odd_graph(seed) if graph is odd_graph else tree(seed)
    model = make(network, Constant(2.0), seed, Gaussian(0.3))
    assert diagnose(model).outcome is Outcome.DISAGREEMENT
    early, late = shown(model, 300, seed), shown(model, 1200, seed)
    assert np.mean(np.ptp(late, axis=1)) == pytest.approx(np.mean(np.ptp(early, axis=1)), rel=0.1)
    std = moments(model, 300, times=[300]).std[-1]
    standard_score = np.abs(late.mean(axis=0) - fixed_point(model, 1)) / (std / np.sqrt(RUNS))
    assert standard_score.max() < SIGMAS


@pytest.mark.parametrize("seed", SEEDS)
def test_agents_agree_on_frozen_noise(seed: int) -> None:
    network = odd_graph(seed)
    model = make(network, Linear(0.2), seed, Gaussian(0.5, temporal="frozen"))
    assert diagnose(model).outcome is Outcome.BIASED_CONSENSUS
    public = shown(model, 3000, seed)
    left = 0.5 * np.linalg.norm(model.s) / model.s.sum()
    assert np.ptp(public, axis=1).max() < 0.1 * left
    agreed = public.mean(axis=1) - model.consensus_value
    assert agreed.std() == pytest.approx(left, rel=SIGMAS / np.sqrt(2 * RUNS))
