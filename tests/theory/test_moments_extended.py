"""Moments where opinions adapt, networks change or time is continuous: a dense oracle, base cases and ensembles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from peerpressure.adaptation import Adaptation
from peerpressure.errors import InvalidInputError
from peerpressure.model import Model
from peerpressure.networks import Network, TemporalNetwork, barabasi_albert, cycle, k2
from peerpressure.noise import AR1, Frozen, Gaussian, Laplace, Noise, NoNoise, Uniform
from peerpressure.propagation import _recursions, agent, consensus_mode, mean, moments
from peerpressure.schedules import Constant, Formula, Linear, Power, Schedule
from peerpressure.sde import SDE
from peerpressure.simulation import simulate
from peerpressure.step import Array

from .changing import CHANGING

AGENTS, STEPS = 6, 9
BY_AGENT = np.linspace(0.1, 1.5, AGENTS)
NOISES: dict[str, Noise] = {
    "none": NoNoise(),
    "white": Gaussian(BY_AGENT, time_scale=Power(0.3)),
    "ar1": Gaussian(0.6, temporal=AR1(0.8)),
    "negative ar1": Laplace(BY_AGENT, temporal=AR1(-0.5), time_scale=Power(-0.2)),
    "frozen": Gaussian(0.9, temporal=Frozen(), time_scale=Formula("2 + t")),
}
RATES: dict[str, Adaptation | None] = {
    "constant opinions": None,
    "one rate": Adaptation(0.3),
    "by agent": Adaptation("0.7/t", [0.0, 1.0, 0.4, 0.0, 0.9, 0.2]),
    "believing what is said": Adaptation(1.0),
}
NETWORKS: dict[str, Network | TemporalNetwork] = {
    "constant": barabasi_albert(AGENTS, 2, seed=4),
    "periodic": CHANGING["isolated"],
    "settling": CHANGING["groups"],
}
SCHEDULES: dict[str, Schedule] = {"linear": Linear(0.6), "constant": Constant(2.0), "overflow": Formula("t^400")}


def build(network: Network | TemporalNetwork, rate: Adaptation | None, noise: Noise, pressure: Schedule) -> Model:
    rng = np.random.default_rng(7)
    hidden, s, start = rng.normal(size=AGENTS), rng.uniform(0.3, 2, AGENTS), rng.normal(size=AGENTS)
    return Model(network, hidden, s, pressure, noise, start, rate)


def dense(model: Model, T: int) -> tuple[Array, Array]:
    """Return mean and covariance of (y_T, x_{T+1}) from all noises together, with every 2n × 2n matrix written out."""
    n, S, one = model.n, np.diag(model.s), np.eye(model.n)
    maps, inputs = [], []
    for t in range(1, T + 1):
        A = model.adjacency_at(t).toarray()
        D = np.diag(A.sum(axis=1))
        # Divided by 1 + ρ, so an infinite pressure is ordinary; the remnant of relief serves agents without one.
        rho = float(model.pressure(t))
        relief, weight = (1e-150, 1.0) if np.isinf(rho) else (1 / (1 + rho), rho / (1 + rho))
        inverse = np.linalg.inv(relief * S + weight * D)
        G, C = inverse @ (relief * S), inverse @ (weight * A)
        E = np.diag(np.zeros(n) if model.adaptation is None else model.adaptation.at(t, n))
        maps.append(np.block([[C, G], [E @ C, one - E + E @ G]]))
        inputs.append(np.vstack([G, E @ G]))
    through = np.eye(2 * n)
    Q: list[Array] = []
    for M, N in zip(maps[::-1], inputs[::-1], strict=True):
        Q.insert(0, through @ N)
        through = through @ M
    weights = np.stack(Q)
    K, sigma = model.noise.time_covariance(np.arange(1, T + 1)), model.noise.deviations(n)
    covariance = np.einsum("tai,tu,i,ubi->ab", weights, K, sigma**2, weights, optimize=True)
    return through @ np.concatenate([model.start_state, model.x0]), covariance


@pytest.mark.parametrize("pressure", SCHEDULES.values(), ids=SCHEDULES)
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
@pytest.mark.parametrize("rate", RATES.values(), ids=RATES)
@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_moments_match_the_dense_joint_map(
    noise: Noise, rate: Adaptation | None, network: Network | TemporalNetwork, pressure: Schedule
) -> None:
    model = build(network, rate, noise, pressure)
    rows = np.random.default_rng(3).normal(size=(3, 2 * AGENTS))
    joint = moments(model, STEPS, what="joint")
    some = moments(model, STEPS, of=rows, times=[0, 1, 2, 5, STEPS], what="joint")
    close: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12}
    for T in (0, 1, 2, 5, STEPS):
        start = np.concatenate([model.start_state, model.x0])
        expected, covariance = dense(model, T) if T else (start, np.zeros((2 * AGENTS, 2 * AGENTS)))
        np.testing.assert_allclose(joint.mean[T], expected, **close)
        np.testing.assert_allclose(joint.variance[T], np.diag(covariance), **close)
        at = list(some.times).index(T)
        np.testing.assert_allclose(some.mean[at], rows @ expected, **close)
        np.testing.assert_allclose(some.variance[at], np.einsum("ki,ij,kj->k", rows, covariance, rows), **close)
    np.testing.assert_allclose(joint.covariance, covariance, **close)
    np.testing.assert_allclose(some.covariance, rows @ covariance @ rows.T, **close)
    public, hidden = moments(model, STEPS), moments(model, STEPS, what="hidden")
    np.testing.assert_allclose(public.covariance, covariance[:AGENTS, :AGENTS], **close)
    np.testing.assert_allclose(hidden.mean[-1], expected[AGENTS:], **close)
    np.testing.assert_allclose(hidden.covariance, covariance[AGENTS:, AGENTS:], **close)
    held = moments(model, STEPS, of=mean(model), what="hidden")
    np.testing.assert_allclose(held.mean[0, 0], expected[AGENTS:].mean(), **close)


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_extensions_of_nothing_change_nothing(noise: Noise) -> None:
    base = build(NETWORKS["constant"], None, noise, Linear(0.6))
    temporal = build(TemporalNetwork.constant(base.network), Adaptation(0.0), noise, Linear(0.6))
    for extended in (replace(base, adaptation=Adaptation(0.0)), replace(temporal, adaptation=None), temporal):
        ours, theirs = moments(extended, STEPS), moments(base, STEPS)
        np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(ours.covariance, theirs.covariance, rtol=1e-12, atol=1e-14)
        some = moments(extended, STEPS, of=consensus_mode(extended))
        np.testing.assert_allclose(some.std, moments(base, STEPS, of=consensus_mode(base)).std, rtol=1e-12)
        held = moments(extended, STEPS, what="hidden")
        np.testing.assert_allclose(held.mean, np.tile(base.x0, (STEPS + 1, 1)), rtol=1e-12)
        assert not np.any(held.variance)


ENSEMBLES = [
    (network, rate, noise)
    for network in ("constant", "periodic", "settling")
    for rate in ("constant opinions", "one rate", "by agent")
    for noise in (Gaussian(1.0), Laplace(0.5, temporal=AR1(0.6)), Uniform(0.8, temporal=Frozen()))
    if network != "constant" or rate != "constant opinions"
]


@pytest.mark.parametrize(("network", "rate", "noise"), ENSEMBLES, ids=str)
def test_moments_match_simulation(network: str, rate: str, noise: Noise) -> None:
    model, replicates = build(NETWORKS[network], RATES[rate], noise, Linear(0.4)), 40_000
    final = simulate(model, 15, replicates, seed=11, record="final").final
    exact = moments(model, 15, what="joint")
    held = final.public * 0 + model.x0 if final.hidden is None else final.hidden
    centred = np.concatenate([final.public, held], axis=1) - exact.mean[-1]
    error = exact.std[-1] / np.sqrt(replicates)
    assert np.all(np.abs(centred.mean(axis=0)) <= 5 * error + 1e-12)
    # Mean and deviation of the products of any two.
    means, squares = centred.T @ centred / replicates, (centred**2).T @ centred**2 / replicates
    error = np.sqrt(np.maximum(squares - means**2, 0.0) / replicates)
    assert np.all(np.abs(means - exact.covariance) <= 5 * error + 1e-12)


@settings(max_examples=30, deadline=None)
@given(st.floats(-5, 5), st.floats(-5, 5), st.sampled_from(sorted(NETWORKS)), st.floats(0, 1))
def test_opinions_may_be_shifted_and_scaled(a: float, b: float, network: str, rate: float) -> None:
    model = build(NETWORKS[network], Adaptation(rate), NOISES["ar1"], Linear(0.7))
    moved = replace(model, hidden=a * model.x0 + b, start=a * model.start_state + b)
    before, after = moments(model, 5, what="joint"), moments(moved, 5, what="joint")
    np.testing.assert_allclose(after.mean, a * before.mean + b, rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(after.covariance, before.covariance)


@pytest.mark.parametrize("block", [1, 3 * AGENTS, 10**6])
@pytest.mark.parametrize("few", [0, 100])
def test_splitting_the_work_changes_nothing(monkeypatch: pytest.MonkeyPatch, block: int, few: int) -> None:
    model = build(NETWORKS["periodic"], RATES["by agent"], NOISES["ar1"], Linear())
    rows = np.random.default_rng(1).normal(size=(2, 2 * AGENTS))
    whole = moments(model, 9, of=rows, times=range(10), what="joint")
    monkeypatch.setattr(_recursions, "BLOCK", block)
    monkeypatch.setattr(_recursions, "MAX_EINSUM_ROWS", few)
    split = moments(model, 9, of=rows, times=range(10), what="joint")
    np.testing.assert_allclose(split.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(split.variance, whole.variance, rtol=1e-12)
    np.testing.assert_allclose(split.covariance, whole.covariance, rtol=1e-12)


def test_an_agent_alone_shows_what_it_holds() -> None:
    model = build(CHANGING["isolated"], RATES["one rate"], Gaussian(0.5), Power(3.0))
    joint = moments(model, 8, what="joint")
    # In step 8 agent 5 has no neighbour: what it shows is what it held before, and its noise in full.
    before = moments(model, 7, what="hidden")
    assert joint.mean[-1, 5] == pytest.approx(before.mean[-1, 5])
    assert joint.variance[-1, 5] == pytest.approx(before.variance[-1, 5] + 0.25)


def test_names_tell_what_is_shown_from_what_is_held() -> None:
    model = Model(Network.from_edges([("ann", "bob")]), hidden=[0.0, 1.0], adaptation=0.5)
    assert moments(model, 2, what="joint").names == (
        ("public", "ann"),
        ("public", "bob"),
        ("hidden", "ann"),
        ("hidden", "bob"),
    )
    assert moments(model, 2, what="hidden").names == ("ann", "bob")


def test_what_is_asked_for_must_be_there() -> None:
    model = build(NETWORKS["constant"], RATES["one rate"], NoNoise(), Linear())
    with pytest.raises(InvalidInputError, match="'public', 'hidden' or 'joint'"):
        moments(model, 2, what="secret")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="each of the 12 agents"):
        moments(model, 2, of=mean(model), what="joint")
    large = Model(cycle(1001), hidden=np.zeros(1001), adaptation=0.1)
    with pytest.raises(InvalidInputError, match="up to 1,000 agents"):
        moments(large, 1)
    assert moments(large, 1, of=mean(large), what="hidden").mean.shape == (1, 1)


@pytest.fixture
def process() -> SDE:
    rng = np.random.default_rng(2)
    model = Model(barabasi_albert(5, 2, seed=1), rng.normal(size=5), rng.uniform(0.5, 1, 5), Linear(), Gaussian(0.5))
    return SDE(model, step=0.25)


def test_continuous_time_counts_steps_and_answers_in_time(process: SDE) -> None:
    every = moments(process, 8)
    np.testing.assert_allclose(every.times, 0.25 * np.arange(9))
    np.testing.assert_allclose(every.mean[0], process.start_state, rtol=1e-14)
    assert not np.any(every.variance[0])
    some = moments(process, 8, of=[agent(process, 0), consensus_mode(process)], times=[0.7, 2.0])
    last = moments(process, 8, times=[0.7, 2.0])
    weights = consensus_mode(process).weights
    np.testing.assert_allclose(some.mean[:, 0], last.mean[:, 0], rtol=1e-8)
    np.testing.assert_allclose(some.mean[:, 1], last.mean @ weights, rtol=1e-8)
    np.testing.assert_allclose(some.variance[-1, 1], weights @ last.covariance @ weights, rtol=1e-7)
    np.testing.assert_allclose(every.mean[-1], last.mean[-1], rtol=1e-8)
    assert "t = 0…2 (9 times)" in repr(every)


def test_continuous_moments_match_simulation(process: SDE) -> None:
    replicates = 20_000
    sample = simulate(process, 8, replicates, seed=3, record="final").final.public
    exact = moments(process, 8)
    assert np.all(np.abs(sample.mean(axis=0) - exact.mean[-1]) <= 5 * exact.std[-1] / np.sqrt(replicates))
    np.testing.assert_allclose(sample.std(axis=0), exact.std[-1], rtol=5 / np.sqrt(2 * replicates))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"times": [2.1]}, "from 0 to 2"),
        ({"times": [-0.1]}, "from 0 to 2"),
        ({"times": []}, "from 0 to 2"),
        ({"times": [np.nan]}, "from 0 to 2"),
        ({"times": "late"}, "real times"),
    ],
)
def test_bad_questions_in_continuous_time_are_refused(process: SDE, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        moments(process, 8, **arguments)


def test_a_last_time_may_be_rounded() -> None:
    process = SDE(Model(k2(), hidden=[0.0, 1.0]), step=0.1)
    assert moments(process, 3, times=[0.3]).times[-1] == 3 * 0.1
