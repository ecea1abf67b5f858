"""Verdicts, limits and rates where agents without neighbours keep their public opinions, against long recursions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure import diagnose
from peerpressure.errors import InvalidInputError
from peerpressure.networks import TemporalNetwork, edge_markovian, failing_edges, gossip, path
from peerpressure.theory import Outcome, consensus_limit, fixed_point, optimal_schedule
from tests.theory.reasons import known

Array = NDArray[np.float64]
N = 5
RNG = np.random.default_rng(0)
HIDDEN, STUBBORNNESS = RNG.normal(size=N), RNG.uniform(0.5, 2, N)
CONTACTS = [(1, 0, 1), (2, 1, 2), (2, 3, 4), (2, 2, 3), (2, 1, 3), (3, 0, 4), (5, 2, 3), (6, 0, 2)]
PERIOD = 6


def contacts(**settings: Any) -> TemporalNetwork:
    weighted = [(t, i, j, 1 + 0.3 * i) for t, i, j in CONTACTS]
    return TemporalNetwork.from_contacts(weighted, n=N, **{"repeat": True} | settings)


def model_of(pressure: Any, network: TemporalNetwork | None = None, **parts: Any) -> pp.Model:
    return pp.Model(network or contacts(), HIDDEN, STUBBORNNESS, pressure, **parts)


def followed(model: pp.Model, slope: float, steps: int) -> tuple[Array, Array]:
    """Return mean and covariance of y after so many steps under ρ_t = slope·t, by the definition."""
    temporal = known(model.temporal_network)
    adjacency = [temporal.at(t).toarray() for t in range(1, PERIOD + 1)]
    y, P, sigma = model.start_state, np.zeros((N, N)), model.noise.deviations(N)
    for t in range(1, steps + 1):
        A = adjacency[(t - 1) % PERIOD]
        d, rho = A.sum(axis=1), slope * t
        g = np.where(d > 0, model.s / (model.s + rho * d), 0.0)
        C = np.where(d > 0, rho / (model.s + rho * d), 0.0)[:, None] * A + np.diag((d == 0) * 1.0)
        y = g * model.x0 + C @ y
        if not model.noise.is_zero:
            P = C @ P @ C.T + np.diag((g * sigma) ** 2)
    return y, P


def codes(verdict: Any) -> set[str]:
    return {reason.code for reason in verdict.reasons}


def test_silence_does_not_speak() -> None:
    kept, own = diagnose(model_of("t")), diagnose(model_of("t", isolated="own"))
    assert (kept.outcome, own.outcome) == (Outcome.BIASED_CONSENSUS, Outcome.PERIODIC)
    assert "isolated_at_times" in codes(kept)
    assert "isolated_at_times" in codes(own)
    for verdict in (kept, own):
        assert known(verdict.connectivity).isolated == pytest.approx(0.6)
        assert known(verdict.connectivity).isolated_agents == N


@pytest.mark.parametrize(("ratio", "exponent"), [(0.5, 0.5), (2.0, 1.0)])
def test_the_limit_and_the_rate_are_those_of_a_long_recursion(ratio: float, exponent: float) -> None:
    kappa = diagnose(model_of("t")).kappa
    model = model_of(pp.Linear(kappa / ratio))
    limit = consensus_limit(model)
    assert limit.std == limit.residual == 0
    early, late = (pp.simulate(model, T, record="final").final.public[0].mean() for T in (30_000, 120_000))
    assert np.log((early - limit.mean) / (late - limit.mean)) / np.log(4) == pytest.approx(exponent, abs=0.02)
    np.testing.assert_allclose(pp.simulate(model, 600).final.public[0], followed(model, kappa / ratio, 600)[0])


def test_the_weights_of_the_limit_are_those_of_the_products() -> None:
    """c = Σ w x/Σ w over active (t, i), w = φ_t s/d_t, φ_t invariant under the product of the steps behind t."""
    temporal, total, weighted = contacts(), 0.0, 0.0
    P = []
    for t in range(1, PERIOD + 1):
        A = temporal.at(t).toarray()
        d = A.sum(axis=1)
        P.append(np.where(d[:, None] > 0, A / np.where(d > 0, d, 1)[:, None], np.eye(N)))
    for t in range(PERIOD):
        # y_t is multiplied by the steps after t, once around the period.
        product = np.eye(N)
        for k in range(t + 1, t + 1 + PERIOD):
            product = P[k % PERIOD] @ product
        values, vectors = np.linalg.eig(product.T)
        phi = np.real(vectors[:, np.argmax(np.real(values))])
        d = temporal.degrees_at(t + 1)
        w = np.where(d > 0, phi / phi.sum() * STUBBORNNESS / np.where(d > 0, d, 1), 0.0)
        total, weighted = total + float(w.sum()), weighted + float(w @ HIDDEN)
    model = model_of("t")
    assert consensus_limit(model).mean == pytest.approx(weighted / total, rel=1e-10)
    assert diagnose(model).kappa == pytest.approx(total / PERIOD, rel=1e-10)


def test_the_variance_is_that_of_a_long_recursion() -> None:
    kappa = diagnose(model_of("t")).kappa
    model = model_of(pp.Linear(kappa), noise=pp.Gaussian(0.5))
    law = known(diagnose(model).rate.variance)
    assert law.exponent == 1
    assert law.constant == pytest.approx(6000 * np.diag(followed(model, kappa, 6000)[1]).mean(), rel=0.01)


@pytest.mark.parametrize("adaptation", [None, 0.2, pp.Adaptation(0.2, [1, 0, 1, 1, 1])])
@pytest.mark.parametrize("pressure", ["0.05*t", "t^2"])
def test_limits_without_a_closed_form_are_reached(pressure: str, adaptation: Any) -> None:
    model = model_of(pressure, adaptation=adaptation)
    final = pp.simulate(model, 12_000, record="final").final.public[0]
    limit = consensus_limit(model)
    assert np.abs(final - limit.mean).max() < 5e-3 + limit.residual
    assert diagnose(model).outcome is Outcome.BIASED_CONSENSUS


def test_bounded_pressure_leaves_the_cycle_of_the_recursion() -> None:
    verdict = diagnose(model_of(2.0))
    assert verdict.outcome is Outcome.PERIODIC
    states = known(pp.simulate(model_of(2.0), 600).states)
    (found,) = [reason.values for reason in verdict.reasons if reason.code == "cycle"]
    assert found["low"] == pytest.approx(states[0, -PERIOD:].min(), abs=1e-8)
    assert found["high"] == pytest.approx(states[0, -PERIOD:].max(), abs=1e-8)
    np.testing.assert_allclose(verdict.law.at(600), states[0, 600], atol=1e-8)
    np.testing.assert_allclose(verdict.law.at(599), states[0, 599], atol=1e-8)
    with pytest.raises(InvalidInputError, match="no agent must keep its public opinion"):
        fixed_point(model_of(2.0), 1)


def test_exchanged_opinions_that_never_mix() -> None:
    # Two pairs who meet in turn exchange what they show, and nobody averages anything.
    network = TemporalNetwork.from_contacts([(1, 0, 1), (2, 1, 2), (3, 2, 3), (4, 3, 4)], n=N, repeat=True)
    assert diagnose(model_of("t^2", network)).outcome is Outcome.PERIODIC
    slow = diagnose(model_of("t", network))
    final = pp.simulate(model_of("0.1*t", network), 12_000, record="final").final.public[0]
    assert slow.outcome is Outcome.BIASED_CONSENSUS
    assert np.abs(final - consensus_limit(model_of("0.1*t", network)).mean).max() < 1e-2


def test_a_record_that_ends_leaves_the_last_opinions() -> None:
    over = contacts(repeat=False)
    for parts in ({}, {"noise": pp.Gaussian(0.3)}, {"adaptation": 0.2, "noise": pp.Gaussian(0.3)}):
        model = model_of("t", over, **parts)
        verdict = diagnose(model)
        assert verdict.outcome is Outcome.DISAGREEMENT
        assert {"components", "own_opinions"} <= codes(verdict)
        last = pp.simulate(replace(model, noise=pp.NoNoise()), over.last_change, record="final").final.public[0]
        assert known(verdict.connectivity).values[:3] == pytest.approx(last[:3].tolist())
    # The start is not forgotten, though all opinions are equal.
    equal = replace(model_of("t", over), hidden=np.ones(N), start=np.zeros(N))
    assert diagnose(equal).outcome is Outcome.DISAGREEMENT


def test_gossip_comes_to_the_mean_by_stubbornness_chance_and_weight() -> None:
    base = pp.Network.from_edges([(0, 1), (1, 2), (2, 3), (3, 4), (0, 2)], [1.0, 2.0, 0.5, 1.0, 3.0])
    chances = np.array([0.1, 0.3, 0.2, 0.25, 0.15])
    i, j, w = base.edges()
    b = STUBBORNNESS * np.bincount(np.r_[i, j], np.tile(chances / w, 2), minlength=N)
    network = gossip(base, 400, seed=3, probabilities=chances)
    verdict, model = diagnose(model_of("0.05*t", network)), model_of("0.05*t", network)
    assert verdict.outcome is Outcome.BIASED_CONSENSUS
    assert verdict.kappa == pytest.approx(b.sum() / N)
    limit = consensus_limit(model).mean
    assert limit == pytest.approx(b @ HIDDEN / b.sum())
    # The mean over all sequences of pairs, and one of them.
    y = HIDDEN
    for r in 0.05 * np.arange(1, 6001):
        mean = y.copy()
        for p, a, c, weight in zip(chances, i, j, w, strict=True):
            for one, other in ((a, c), (c, a)):
                share = STUBBORNNESS[one] / (STUBBORNNESS[one] + r * weight)
                mean[one] += p * (share * HIDDEN[one] + (1 - share) * y[other] - y[one])
        y = mean
    np.testing.assert_allclose(y, limit, atol=1e-2)
    long = model_of("0.05*t", gossip(base, 30_000, seed=4, probabilities=chances))
    np.testing.assert_allclose(pp.simulate(long, 30_000, record="final").final.public[0], limit, atol=3e-2)


def test_exchanges_at_random_are_known_where_steps_are_independent() -> None:
    base = path(N)
    network, fails = gossip(base, 200, seed=1), failing_edges(base, 0.5, 200, seed=1)
    for model, outcome in (
        # At high pressure two agents who meet exchange their public opinions, and nobody averages anything.
        (model_of("t^2", network), Outcome.DISAGREEMENT),
        (model_of("t", network, adaptation=0.1), Outcome.BIASED_CONSENSUS),
        (model_of("t", fails, isolated="keep"), Outcome.BIASED_CONSENSUS),
        (model_of("t", fails), Outcome.DISAGREEMENT),
    ):
        assert diagnose(model).outcome is outcome
    remembers = edge_markovian(base, 0.2, 0.3, 200, seed=1)
    verdict = diagnose(model_of("t", remembers, isolated="keep"))
    assert verdict.outcome is Outcome.UNKNOWN
    assert "not_covered" in codes(verdict)


@pytest.mark.parametrize("name", ["gossip", "failing"])
def test_the_mean_of_a_random_network_under_bounded_pressure(name: str) -> None:
    steps, base = 30_000, path(N)
    network = gossip(base, steps, seed=1) if name == "gossip" else failing_edges(base, 0.6, steps, seed=1)
    model = model_of(2.0, network, isolated="keep")
    verdict = diagnose(model)
    assert verdict.outcome is Outcome.DISAGREEMENT
    (found,) = [reason.values for reason in verdict.reasons if reason.code == "apart"]
    states = known(pp.simulate(model, 30_000).states)
    mean = states[0, 1000:].mean(axis=0)
    assert found["low"] == pytest.approx(mean.min(), abs=0.03)
    assert found["high"] == pytest.approx(mean.max(), abs=0.03)


def test_the_optimal_schedule_knows_who_keeps() -> None:
    model = model_of("t", noise=pp.Gaussian(0.3))
    optimum = optimal_schedule(model, 18, know_hidden=True)
    states = pp.moments(replace(model, pressure=optimum.schedule), 18)
    error = (states.mean[-1] - model.consensus_value) ** 2 + states.variance[-1]
    assert optimum.rms_distance == pytest.approx(float(np.sqrt(error.mean())), rel=1e-6)
    plain = pp.moments(model, 18)
    assert error.mean() < ((plain.mean[-1] - model.consensus_value) ** 2 + plain.variance[-1]).mean()
