"""Limits where Σ 1/ρ_t converges, against long exact runs, simulation, and their own convergence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError
from peerpressure.model import Model
from peerpressure.networks import Network, TemporalNetwork, barabasi_albert, complete, cycle
from peerpressure.noise import AR1, Frozen, Gaussian, Laplace, Noise, NoNoise
from peerpressure.schedules import Constant, Formula, Linear, Power, Schedule, StretchedExponential, Table
from peerpressure.simulation import simulate
from peerpressure.theory import ConsensusLimit, Outcome, consensus_limit, diagnose, moments
from peerpressure.theory._classification import classify
from peerpressure.theory._conserved import Tail, tails
from tests.theory.changing import mean_path

NETWORKS = {"odd": barabasi_albert(20, 2, seed=3), "tree": barabasi_albert(20, 1, seed=3)}
BY_AGENT = np.linspace(0.2, 1.0, 20)
NOISES: dict[str, Noise] = {
    "none": NoNoise(),
    "white": Gaussian(BY_AGENT),
    "over time": Gaussian(1.0, time_scale=Power(-0.2)),
    "ar1": Laplace(0.5, temporal=AR1(0.6)),
    "frozen": Gaussian(BY_AGENT, temporal=Frozen()),
    "growing": Gaussian(BY_AGENT, time_scale=Power(0.4)),
    "growing, frozen": Gaussian(BY_AGENT, time_scale=Power(0.1), temporal=Frozen()),
}


def build(network: Network, pressure: Schedule, noise: Noise) -> Model:
    rng = np.random.default_rng(7)
    return Model(network, rng.uniform(size=network.n), rng.uniform(0.5, 1, network.n), pressure, noise)


def tail_after(model: Model, T: int) -> Tail:
    long_run = classify(model)
    assert long_run.omega is not None
    return tails(long_run, long_run.omega, [T])[0]


def values(limit: ConsensusLimit) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and deviations of the one value, or of the two that alternate."""
    if limit.phases is None:
        return np.array([limit.mean]), np.array([limit.std])
    return limit.phases.mean, limit.phases.std


def at(limit: ConsensusLimit, t: int, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and deviation of every agent at a late time."""
    return (np.full(n, limit.mean), np.full(n, limit.std)) if limit.phases is None else limit.phases.at(t)


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_limits_match_exact_moments_of_long_runs(network: Network, noise: Noise) -> None:
    model = build(network, StretchedExponential(), noise)
    limit = consensus_limit(model, tolerance=1e-9)
    exact = moments(model, 2001, times=[2000, 2001])
    for row, t in enumerate((2000, 2001)):
        mean, std = at(limit, t, model.n)
        np.testing.assert_allclose(exact.mean[row], mean, atol=1e-7)
        np.testing.assert_allclose(exact.std[row], std, atol=1e-7)
    if limit.phases is not None:
        # Any two agents of different sides show the two values at an odd time, the other way round.
        i, j = (int(np.argmax(limit.phases.side == side)) for side in (1, 0))
        np.testing.assert_allclose(exact.covariance[i, j], limit.phases.covariance[0, 1], atol=1e-7)


@pytest.mark.parametrize("pressure", [Power(1.5), Power(1.2), Power(2.0)], ids=str)
@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_the_residual_covers_the_change_to_a_finer_answer(network: Network, noise: Noise, pressure: Schedule) -> None:
    model = build(network, pressure, noise)
    coarse, fine = consensus_limit(model, tolerance=1e-3), consensus_limit(model, tolerance=1e-5)
    assert fine.horizon >= coarse.horizon
    (coarse_mean, coarse_std), (fine_mean, fine_std) = values(coarse), values(fine)
    assert np.abs(coarse_mean - fine_mean).max() <= 2 * coarse.residual + fine.residual + 1e-12
    assert np.abs(coarse_std - fine_std).max() <= 3 * (coarse.residual + fine.residual) + 1e-12


@pytest.mark.parametrize("pressure", [StretchedExponential(), Power(1.5)], ids=str)
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
@pytest.mark.parametrize("steps", [3000, 3001])
def test_limits_match_simulation(network: Network, pressure: Schedule, steps: int) -> None:
    model = build(network, pressure, Gaussian(0.5))
    limit = consensus_limit(model)
    replicates = 1000
    sample = simulate(model, steps, replicates, seed=5, record="final").final.public
    mean, std = at(limit, steps, model.n)
    # At this time a share of about 2κ/√t of the way is still to come under t^1.5.
    ahead = tail_after(model, steps).change
    slack = ahead * np.abs(mean - model.consensus_value).max()
    assert np.all(np.abs(sample.mean(axis=0) - mean) <= 5 * std / np.sqrt(replicates) + slack + 1e-4)
    assert np.all(np.abs(sample.std(axis=0) / std - 1) <= 5 / np.sqrt(2 * replicates) + ahead)
    if limit.phases is not None:
        pair = sample[:, [int(np.argmax(mean == value)) for value in limit.phases.mean]]
        expected = limit.phases.covariance[0, 1] / np.prod(limit.phases.std)
        assert abs(np.corrcoef(pair.T)[0, 1] - expected) <= 5 / np.sqrt(replicates)
    else:
        assert np.ptp(sample, axis=1).max() < 1e-3


def test_an_odd_cycle_agrees_and_a_tree_does_not() -> None:
    odd = consensus_limit(build(NETWORKS["odd"], StretchedExponential(), NoNoise()))
    tree = consensus_limit(build(NETWORKS["tree"], StretchedExponential(), NoNoise()))
    assert odd.phases is None
    phases = tree.phases
    assert phases is not None
    assert abs(phases.mean[0] - phases.mean[1]) > 1e-3
    assert tree.mean == pytest.approx(phases.mean.mean())
    np.testing.assert_array_equal(phases.at(4)[0], phases.mean[phases.side])
    np.testing.assert_array_equal(phases.at(5)[0], phases.mean[1 - phases.side])


def test_barely_summable_pressure_ends_near_the_consensus_value() -> None:
    model = build(NETWORKS["odd"], Power(1.02), Gaussian(1.0))
    limit = consensus_limit(model)
    assert limit.mean == pytest.approx(model.consensus_value, abs=1e-3)
    assert limit.std < 1e-3


def test_opinions_may_be_shifted_and_scaled() -> None:
    model = build(NETWORKS["tree"], Power(1.5), Gaussian(1.0))
    before, after = consensus_limit(model), consensus_limit(replace(model, hidden=3 * model.x0 - 5))
    (mean_after, std_after), (mean, std) = values(after), values(before)
    np.testing.assert_allclose(mean_after, 3 * mean - 5, atol=1e-5)
    np.testing.assert_allclose(std_after, std, atol=1e-5)


def test_the_start_matters_for_ever() -> None:
    model = build(complete(5), Power(2.0), NoNoise())
    high = consensus_limit(replace(model, start=np.full(5, 100.0)))
    assert high.mean > consensus_limit(model).mean + 1


@pytest.mark.parametrize(("exponent", "T"), [(1.5, 50), (1.2, 50), (3.0, 20)])
def test_the_tail_sums_what_is_left(exponent: float, T: int) -> None:
    model = build(cycle(5), Power(exponent), NoNoise())
    tail = tail_after(model, T)
    t = np.arange(T + 1, 10**6, dtype=np.float64)
    rest = model.kappa * (10**6 - 0.5) ** (1 - exponent) / (exponent - 1)
    assert tail.change == pytest.approx(np.log1p(model.kappa * t**-exponent).sum() + rest, rel=1e-6)
    assert tail.keep == pytest.approx(np.exp(-tail.change), rel=1e-12)
    assert tail.give.sum() == pytest.approx(1 - tail.keep, rel=1e-9)


def test_a_result_reads_well() -> None:
    limit = consensus_limit(build(NETWORKS["tree"], StretchedExponential(), Gaussian(1.0)))
    (first, second), (first_std, second_std) = values(limit)
    assert str(limit) == f"{first:.4g} ± {first_std:.2g} and {second:.4g} ± {second_std:.2g}"


@pytest.mark.parametrize(
    ("pressure", "message"),
    [
        (Constant(2.0), "disagreement"),
        (Table([1.0, 2.0, 4.0]), "closed form"),
    ],
    ids=str,
)
def test_other_outcomes_are_named(pressure: Schedule, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        consensus_limit(build(cycle(5), pressure, NoNoise()))


@pytest.mark.parametrize("pressure", [Linear(), Power(0.5)], ids=str)
def test_pressure_that_forgets_the_start_leads_to_the_consensus_value(pressure: Schedule) -> None:
    model = build(cycle(5), pressure, NoNoise())
    assert consensus_limit(model) == ConsensusLimit(model.consensus_value, 0.0)


def test_noise_that_adds_up_for_ever_has_no_limit() -> None:
    frozen = Gaussian(1.0, time_scale=Power(0.5), temporal=Frozen())
    for noise in (frozen, Gaussian(1.0, time_scale=Power(0.8))):
        with pytest.raises(InvalidInputError, match="finite Σ σ_t²/ρ_t²"):
            consensus_limit(build(cycle(5), Power(1.2), noise))


def test_a_bipartite_network_at_rest_after_changes_has_two_phases() -> None:
    path, star = np.diag(np.ones(3), 1), np.zeros((4, 4))
    star[0, 1:] = 1
    changing = TemporalNetwork.from_snapshots([star + star.T, path + path.T], period=None)
    model = Model(changing, [0.0, 1.0, 3.0, 7.0], [1.0, 0.5, 2.0, 1.0], Power(2), Gaussian(0.3))
    limit = consensus_limit(model, tolerance=1e-7)
    assert limit.phases is not None
    state = mean_path(model, 20_000)[0][-1]
    assert limit.phases.at(20_000)[0] == pytest.approx(state, abs=5e-4)
    assert diagnose(model).outcome is Outcome.OSCILLATION
    # Pressure that nearly forgets the start leaves nothing of the difference.
    assert (
        diagnose(replace(model, pressure=Formula("0.01*1.02^t"), noise=NoNoise())).outcome is Outcome.BIASED_CONSENSUS
    )


@pytest.mark.parametrize("pressure", ["t^2*(1 + t - 2*floor(t/2))", "exp(t)*(1 + t - 2*floor(t/2))"])
@pytest.mark.parametrize("options", [{}, {"adaptation": 0.1}, {"activation": 0.5}], ids=str)
def test_pressure_that_counts_steps_is_not_read_where_steps_are_lost(pressure: str, options: dict[str, Any]) -> None:
    # Far out 1 + t − 2·floor(t/2) is 0 in doubles, and its product with an infinite power not a number.
    model = Model(complete(5), np.linspace(0, 1, 5), pressure=pressure, noise=Gaussian(0.3), **options)
    verdict = diagnose(model)
    late = moments(model, 400)
    if verdict.consensus_limit is not None:
        limit = verdict.consensus_limit
        assert limit.mean == pytest.approx(late.mean[-1].mean(), abs=limit.residual + 0.02)
    assert verdict.outcome is not Outcome.UNKNOWN or options
