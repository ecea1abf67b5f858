"""Predicted limits against long exact runs, simulation, and their own convergence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from peerpressure.errors import InvalidInputError
from peerpressure.model import Model
from peerpressure.networks import Network, barabasi_albert, complete, cycle
from peerpressure.noise import AR1, Frozen, Gaussian, Laplace, Noise, NoNoise
from peerpressure.schedules import Constant, Linear, Power, Schedule, StretchedExponential, Table
from peerpressure.simulation import simulate
from peerpressure.theory._limits import predicted_limit, tail_after
from peerpressure.theory._moments import moments

NETWORKS = {"odd": barabasi_albert(20, 2, seed=3), "tree": barabasi_albert(20, 1, seed=3)}
BY_AGENT = np.linspace(0.2, 1.0, 20)
NOISES: dict[str, Noise] = {
    "none": NoNoise(),
    "white": Gaussian(BY_AGENT),
    "over time": Gaussian(1.0, time_scale=Power(-0.2)),
    "ar1": Laplace(0.5, temporal=AR1(0.6)),
    "frozen": Gaussian(BY_AGENT, temporal=Frozen()),
}


def build(network: Network, pressure: Schedule, noise: Noise) -> Model:
    rng = np.random.default_rng(7)
    return Model(network, rng.uniform(size=network.n), rng.uniform(0.5, 1, network.n), pressure, noise)


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_limits_match_exact_moments_of_long_runs(network: Network, noise: Noise) -> None:
    model = build(network, StretchedExponential(), noise)
    limit = predicted_limit(model, tolerance=1e-9)
    exact = moments(model, 2001, times=[2000, 2001])
    for row, t in enumerate((2000, 2001)):
        mean, std = limit.shown(t)
        np.testing.assert_allclose(exact.mean[row], mean, atol=1e-7)
        np.testing.assert_allclose(exact.std[row], std, atol=1e-7)
    if limit.oscillates:
        # Any two agents of different sides show the two values at an odd time, the other way round.
        i, j = (int(np.argmax(limit.side == side)) for side in (1, 0))
        np.testing.assert_allclose(exact.covariance[i, j], limit.covariance[0, 1], atol=1e-7)


@pytest.mark.parametrize("pressure", [Power(1.5), Power(1.2), Power(2.0)], ids=str)
@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_the_residual_covers_the_change_to_a_finer_answer(network: Network, noise: Noise, pressure: Schedule) -> None:
    model = build(network, pressure, noise)
    coarse, fine = predicted_limit(model, tolerance=1e-3), predicted_limit(model, tolerance=1e-5)
    assert fine.horizon >= coarse.horizon
    assert np.abs(coarse.mean - fine.mean).max() <= 2 * coarse.residual + fine.residual + 1e-12
    assert np.abs(coarse.std - fine.std).max() <= 3 * (coarse.residual + fine.residual) + 1e-12


@pytest.mark.parametrize("pressure", [StretchedExponential(), Power(1.5)], ids=str)
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
@pytest.mark.parametrize("steps", [3000, 3001])
def test_limits_match_simulation(network: Network, pressure: Schedule, steps: int) -> None:
    model = build(network, pressure, Gaussian(0.5))
    limit = predicted_limit(model)
    replicates = 1000
    sample = simulate(model, steps, replicates, seed=5, record="final").final.public
    mean, std = limit.shown(steps)
    # At this time a share of about 2κ/√t of the way is still to come under t^1.5.
    ahead = tail_after(model, steps).change
    slack = ahead * np.abs(mean - model.consensus_value).max()
    assert np.all(np.abs(sample.mean(axis=0) - mean) <= 5 * std / np.sqrt(replicates) + slack + 1e-4)
    assert np.all(np.abs(sample.std(axis=0) / std - 1) <= 5 / np.sqrt(2 * replicates) + ahead)
    values = sample[:, [int(np.argmax(limit.shown(steps)[0] == value)) for value in limit.mean]]
    if limit.oscillates:
        expected = limit.covariance[0, 1] / np.prod(limit.std)
        assert abs(np.corrcoef(values.T)[0, 1] - expected) <= 5 / np.sqrt(replicates)
    else:
        assert np.ptp(sample, axis=1).max() < 1e-3


def test_an_odd_cycle_agrees_and_a_tree_does_not() -> None:
    odd = predicted_limit(build(NETWORKS["odd"], StretchedExponential(), NoNoise()))
    tree = predicted_limit(build(NETWORKS["tree"], StretchedExponential(), NoNoise()))
    assert not odd.oscillates
    assert tree.oscillates
    assert abs(tree.mean[0] - tree.mean[1]) > 1e-3
    np.testing.assert_array_equal(tree.shown(4)[0], tree.mean[tree.side])
    np.testing.assert_array_equal(tree.shown(5)[0], tree.mean[1 - tree.side])


def test_barely_summable_pressure_ends_near_the_consensus_value() -> None:
    limit = predicted_limit(build(NETWORKS["odd"], Power(1.02), Gaussian(1.0)))
    assert limit.mean[0] == pytest.approx(limit.consensus_value, abs=1e-3)
    assert limit.std[0] < 1e-3


def test_opinions_may_be_shifted_and_scaled() -> None:
    model = build(NETWORKS["tree"], Power(1.5), Gaussian(1.0))
    before, after = predicted_limit(model), predicted_limit(replace(model, hidden=3 * model.x0 - 5))
    np.testing.assert_allclose(after.mean, 3 * before.mean - 5, atol=1e-5)
    np.testing.assert_allclose(after.std, before.std, atol=1e-5)


def test_the_start_matters_for_ever() -> None:
    model = build(complete(5), Power(2.0), NoNoise())
    high = predicted_limit(replace(model, start=np.full(5, 100.0)))
    assert high.mean[0] > predicted_limit(model).mean[0] + 1


@pytest.mark.parametrize(("exponent", "T"), [(1.5, 50), (1.2, 50), (3.0, 20)])
def test_the_tail_sums_what_is_left(exponent: float, T: int) -> None:
    model = build(cycle(5), Power(exponent), NoNoise())
    tail = tail_after(model, T)
    t = np.arange(T + 1, 10**6, dtype=np.float64)
    rest = model.kappa * (10**6 - 0.5) ** (1 - exponent) / (exponent - 1)
    assert tail.change == pytest.approx(
        np.log1p(model.kappa * t**-exponent).sum() + rest, rel=0.1 * exponent**2 / T**2 + 1e-6
    )
    assert tail.held == pytest.approx(tail.give, rel=1e-8)


def test_a_result_reads_well() -> None:
    text = repr(predicted_limit(build(NETWORKS["tree"], StretchedExponential(), Gaussian(1.0))))
    assert text.startswith("PredictedLimit(sides ")
    assert "consensus value" in text


@pytest.mark.parametrize(
    ("pressure", "message"),
    [
        (Linear(), "drawn to the consensus value"),
        (Power(0.5), "drawn to the consensus value"),
        (Constant(2.0), "stationary disagreement"),
        (Table([1.0, 2.0, 4.0]), "closed form"),
    ],
    ids=str,
)
def test_other_fates_are_named(pressure: Schedule, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        predicted_limit(build(cycle(5), pressure, NoNoise()))


def test_noise_that_grows_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="stays bounded"):
        predicted_limit(build(cycle(5), Power(1.5), Gaussian(1.0, time_scale=Power(0.5))))
