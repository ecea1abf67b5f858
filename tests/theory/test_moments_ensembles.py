"""Exact moments against large simulated ensembles, within five standard errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from peerpressure.model import Model
from peerpressure.networks import barabasi_albert
from peerpressure.noise import AR1, Custom, Frozen, Gaussian, Laplace, Noise, Rademacher, StudentT, Uniform
from peerpressure.propagation import consensus_mode, difference, mean, moments
from peerpressure.schedules import Constant, Linear, Power, Schedule, StretchedExponential
from peerpressure.simulation import simulate

AGENTS, STEPS, REPLICATES = 6, 15, 100_000
BY_AGENT = np.linspace(0.2, 1.5, AGENTS)
NOISES: list[Noise] = [
    Gaussian(1.0),
    Laplace(BY_AGENT),
    Uniform(1.0, time_scale=Power(0.3)),
    StudentT(1.0, df=12.0),
    Rademacher(1.0),
    Custom(stats.logistic(scale=0.3)),
    Gaussian(BY_AGENT, temporal=AR1(0.8)),
    Gaussian(1.0, temporal=AR1(-0.6), time_scale=Power(-0.5)),
    Laplace(0.5, temporal=AR1(0.5)),
    Gaussian(1.0, temporal=Frozen()),
    Uniform(BY_AGENT, temporal=Frozen(), time_scale=Power(0.2)),
]
SCHEDULES: list[Schedule] = [Linear(0.4), Constant(1.5), Power(1.5), StretchedExponential()]


def assert_same_law(sample: NDArray[np.float64], mean: NDArray[np.float64], variance: NDArray[np.float64]) -> None:
    """Compare sample moments (replicates, values) with exact ones by their standard errors."""
    centred = sample - mean
    error = np.sqrt(variance / len(sample))
    assert np.all(np.abs(centred.mean(axis=0)) <= 5 * error + 1e-12)
    squares = centred**2
    error = squares.std(axis=0) / np.sqrt(len(sample))
    assert np.all(np.abs(squares.mean(axis=0) - variance) <= 5 * error + 1e-12)


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_moments_match_simulation(noise: Noise) -> None:
    rng = np.random.default_rng(8)
    pressure = SCHEDULES[NOISES.index(noise) % len(SCHEDULES)]
    network = barabasi_albert(AGENTS, 2, seed=4)
    model = Model(network, rng.normal(size=AGENTS), rng.uniform(0.5, 1, AGENTS), pressure, noise)
    # A custom law is drawn by its own, much slower inverse.
    replicates = REPLICATES // 20 if isinstance(noise, Custom) else REPLICATES
    sample = simulate(model, STEPS, replicates, seed=11, record="final").final.public
    exact = moments(model, STEPS)
    assert_same_law(sample, exact.mean[-1], exact.variance[-1])
    functionals = [consensus_mode(model), mean(model), difference(model, 0, 5)]
    some = moments(model, STEPS, of=functionals)
    assert_same_law(np.stack([f(sample) for f in functionals], axis=1), some.mean[0], some.variance[0])


@pytest.mark.parametrize("pressure", SCHEDULES, ids=str)
def test_covariances_match_simulation(pressure: Schedule) -> None:
    rng = np.random.default_rng(9)
    noise = Gaussian(BY_AGENT, temporal=AR1(0.7))
    model = Model(barabasi_albert(AGENTS, 1, seed=4), rng.normal(size=AGENTS), 0.8, pressure, noise)
    sample = simulate(model, STEPS, REPLICATES, seed=12, record="final").final.public
    exact = moments(model, STEPS)
    centred = sample - exact.mean[-1]
    products = centred[:, :, None] * centred[:, None, :]
    error = products.std(axis=0) / np.sqrt(REPLICATES)
    assert np.all(np.abs(products.mean(axis=0) - exact.covariance) <= 5 * error)
